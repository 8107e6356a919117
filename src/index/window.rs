//! Sliding windows along one dimension: which windows there are, and which coordinates they cover.
//!
//! ```text
//! size 256 stride 192 offset -32      window w covers  -32 + 192*w .. 224 + 192*w
//! coordinate 170 is covered by windows 0..2, the range 0..512 is touched by windows -1..3
//! ```
//!
//! All arithmetic is exact; a window number or coordinate outside ±(2^62 - 2) is an overflow.

use super::error::{Overflow, Result, invalid};
use super::interval::{INF, Interval, finite};
use std::fmt;

/// Windows of `size` coordinates, `stride` apart, window 0 starting at `offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// Coordinates in a window, at least 1.
    size: i64,
    /// Distance from one window to the next, at least 1.
    stride: i64,
    /// Where window 0 starts.
    offset: i64,
}

impl Window {
    /// Windows from their parts; size and stride must be positive, all three finite.
    pub fn new(size: i64, stride: i64, offset: i64) -> Result<Window> {
        if size < 1 || stride < 1 {
            return Err(invalid(format!(
                "a window of size {size} and stride {stride}, both must be at least 1"
            )));
        }
        for part in [size, stride, offset] {
            finite(part.into())?;
        }
        Ok(Window { size, stride, offset })
    }

    /// Coordinates in a window.
    pub fn size(self) -> i64 {
        self.size
    }

    /// Distance from one window to the next.
    pub fn stride(self) -> i64 {
        self.stride
    }

    /// Where window 0 starts.
    pub fn offset(self) -> i64 {
        self.offset
    }

    /// The coordinates of window `w`.
    pub fn range(self, w: i64) -> std::result::Result<Interval, Overflow> {
        let first = i128::from(self.offset) + i128::from(w) * i128::from(self.stride);
        let last = finite(first + i128::from(self.size) - 1)?;
        Ok(Interval::trusted(finite(first)?, last))
    }

    /// The coordinates of all of these windows, gaps included.
    pub fn hull(self, windows: Interval) -> std::result::Result<Interval, Overflow> {
        let span = Interval::trusted(0, self.size - 1);
        windows.scale(self.stride)?.shift(self.offset)?.add(span)
    }

    /// The windows that cover the coordinate `x`; empty in a gap.
    pub fn covering(self, x: i64) -> std::result::Result<Interval, Overflow> {
        self.touching(Interval::point(x)?)
    }

    /// The windows that have a coordinate in `range`.
    pub fn touching(self, range: Interval) -> std::result::Result<Interval, Overflow> {
        // Window w touches first..=last when it starts at or before last and ends at or after first.
        self.starting_between(range, 1 - i128::from(self.size), 0)
    }

    /// The windows that lie wholly inside `range`.
    pub fn inside(self, range: Interval) -> std::result::Result<Interval, Overflow> {
        self.starting_between(range, 0, 1 - i128::from(self.size))
    }

    /// The first window that lies wholly inside `range`, if there is a first one.
    pub fn first_inside(self, range: Interval) -> std::result::Result<Option<i64>, Overflow> {
        let windows = self.inside(range)?;
        Ok(windows.lower().filter(|_| !windows.is_empty()))
    }

    /// The last window that lies wholly inside `range`, if there is a last one.
    pub fn last_inside(self, range: Interval) -> std::result::Result<Option<i64>, Overflow> {
        let windows = self.inside(range)?;
        Ok(windows.upper().filter(|_| !windows.is_empty()).map(|end| end - 1))
    }

    /// The first window that covers a coordinate of `bounds` which no window inside `bounds` covers, if there is one.
    ///
    /// Windows of 4 every 4 over 0..10: windows 0 and 1 lie inside, window 2 alone covers 8 and 9 and sticks out.
    pub fn first_sticking_out(self, bounds: Interval) -> std::result::Result<Option<i64>, Overflow> {
        let (touching, inside) = (self.touching(bounds)?, self.inside(bounds)?);
        if touching.is_empty() || inside.is_empty() {
            return Ok(touching.lower().filter(|_| !touching.is_empty()));
        }
        // Below the first window inside there is a gap up to its start, above the last one from its end on.
        if let (Some(first), Some(lo)) = (inside.lower(), bounds.lower())
            && lo < self.range(first)?.first()
            && touching.first() < first
        {
            return Ok(Some(touching.first()));
        }
        if let (Some(end), Some(hi)) = (inside.upper(), bounds.upper())
            && self.range(end - 1)?.last() + 1 < hi
            && touching.last() >= end
        {
            return Ok(Some(end));
        }
        Ok(None)
    }

    /// The windows whose first coordinate is in `range`, with its ends moved by `lower` and `upper`.
    fn starting_between(
        self,
        range: Interval,
        lower: i128,
        upper: i128,
    ) -> std::result::Result<Interval, Overflow> {
        let stride = i128::from(self.stride);
        let from_offset = |end: i64, by: i128| i128::from(end) + by - i128::from(self.offset);
        let first = match range.lower() {
            Some(first) => finite(-(-from_offset(first, lower)).div_euclid(stride))?,
            None => -INF,
        };
        if range.is_empty() {
            return Ok(Interval::trusted(first, first - 1));
        }
        let last = match range.upper() {
            Some(end) => finite(from_offset(end - 1, upper).div_euclid(stride))?,
            None => INF,
        };
        Ok(Interval::trusted(first, last.max(first - 1)))
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "size {} stride {} offset {}", self.size, self.stride, self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seamless() -> Window {
        Window::new(256, 192, -32).unwrap()
    }

    fn check(windows: std::result::Result<Interval, Overflow>, expect: &str) {
        assert_eq!(windows.unwrap().to_string(), expect);
    }

    #[test]
    fn windows_that_touch_cover_and_fit() {
        let range = Interval::new(0, 512).unwrap();
        check(seamless().range(1), "160..416");
        check(seamless().touching(range), "-1..3");
        check(seamless().inside(range), "1..2");
        check(seamless().covering(170), "0..2");
        check(seamless().hull(Interval::new(0, 3).unwrap()), "-32..608");
        check(seamless().touching(Interval::new(160, 160).unwrap()), "0..0");
    }

    #[test]
    fn gaps_are_covered_by_nothing() {
        let sparse = Window::new(2, 5, 0).unwrap();
        check(sparse.covering(6), "1..2");
        check(sparse.covering(8), "2..2");
        assert_eq!(sparse.first_inside(Interval::new(1, 6).unwrap()), Ok(None));
    }

    #[test]
    fn unbounded_ranges_have_unbounded_windows() {
        let half = Interval::bounds(Some(0), None).unwrap();
        check(seamless().touching(half), "-1..inf");
        check(seamless().inside(Interval::all()), "-inf..inf");
        assert_eq!(seamless().first_inside(half), Ok(Some(1)));
        assert_eq!(seamless().last_inside(half), Ok(None));
    }

    #[test]
    fn parts_are_checked() {
        assert!(
            Window::new(0, 1, 0).is_err() && Window::new(1, 0, 0).is_err() && Window::new(1, 1, INF).is_err()
        );
        assert!(seamless().range(INF - 1).is_err());
    }
}
