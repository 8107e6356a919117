//! Ranges of coordinates, bounded or not, and checked arithmetic on them.
//!
//! ```text
//! x in 0..10        2 * x - 3  is in  -3..16
//! x in 5..inf       -x         is in  -inf..-4
//! ```
//!
//! Coordinates are i64 in -(2^62-2)..=2^62-2; ±(2^62-1) stand for ±infinity and are never coordinates.
//! An interval is kept closed (`first..=last`), which makes negation symmetric; an empty one has
//! `last == first - 1`, so that it still has a place (`a[13:13]` has the domain 13..13).
//! An unbounded end stays unbounded through every operation; a finite end that leaves the range is [`Overflow`].

use super::error::{IndexError, Overflow, invalid};
use std::fmt;

/// Stands for infinity: 2^62 - 1. The finite coordinates are -(INF-1)..=INF-1.
pub const INF: i64 = (1 << 62) - 1;

/// A range of coordinates, possibly empty, possibly without end.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interval {
    /// Smallest coordinate, or -INF.
    first: i64,
    /// Largest coordinate, or INF; `first - 1` when empty.
    last: i64,
}

/// Whether `x` is a coordinate, as opposed to ±infinity or a number beyond.
pub fn is_finite(x: i64) -> bool {
    -INF < x && x < INF
}

/// `x` as a coordinate, or the overflow it is.
pub fn finite(x: i128) -> Result<i64, Overflow> {
    match i64::try_from(x) {
        Ok(small) if is_finite(small) => Ok(small),
        Ok(_) | Err(_) => Err(Overflow { value: x }),
    }
}

/// `a / b` rounded down; 0 when `b` is 0, as the language defines `//`.
pub fn floor_div(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let quotient = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient }
}

/// The greatest common divisor; that of a number and 0 is the number.
pub fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a as i64
}

/// `a / b` rounded up; 0 when `b` is 0.
pub fn ceil_div(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let quotient = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) == (b < 0) { quotient + 1 } else { quotient }
}

/// `a - b * floor_div(a, b)`, which takes the sign of `b`; 0 when `b` is 0.
pub fn floor_rem(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let rest = a.wrapping_rem(b);
    if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
}

// Not the traits of the same names: most of these can overflow, and an operator cannot say so.
#[allow(clippy::should_implement_trait)]
impl Interval {
    /// `lo..hi`, half open. `lo == -INF` and `hi == INF + 1` are unbounded; `hi == INF` is the bound
    /// just above the largest coordinate. [`Interval::bounds`] says the same without sentinels.
    pub fn new(lo: i64, hi: i64) -> Result<Self, IndexError> {
        let last = if hi == INF + 1 { INF } else { hi.saturating_sub(1) };
        Interval::closed(lo, last).map_err(|_| invalid(format!("{lo}..{hi} is not a range of coordinates")))
    }

    /// `lower..upper`, half open, where `None` is unbounded: the inverse of [`Interval::lower`] and [`Interval::upper`].
    pub fn bounds(lower: Option<i64>, upper: Option<i64>) -> Result<Self, IndexError> {
        Interval::new(lower.unwrap_or(-INF), upper.unwrap_or(INF + 1))
    }

    /// `first..=last`, where -INF and INF are unbounded ends.
    pub fn closed(first: i64, last: i64) -> Result<Self, IndexError> {
        let ends_fit = (-INF..INF).contains(&first) && -INF < last && last <= INF;
        if ends_fit && last >= first - 1 {
            Ok(Interval { first, last })
        } else {
            Err(invalid(format!("{first}..={last} is not a range of coordinates")))
        }
    }

    /// `lo..lo + len`.
    pub fn sized(lo: i64, len: i64) -> Result<Self, IndexError> {
        let message = || invalid(format!("{lo} with {len} elements is not a range of coordinates"));
        let last = lo.checked_add(len).and_then(|end| end.checked_sub(1)).ok_or_else(message)?;
        if len < 0 { Err(message()) } else { Interval::closed(lo, last).map_err(|_| message()) }
    }

    /// No coordinate.
    pub const EMPTY: Interval = Interval { first: 0, last: -1 };

    /// Every coordinate.
    pub const fn all() -> Self {
        Interval { first: -INF, last: INF }
    }

    /// The one coordinate `x`.
    pub fn point(x: i64) -> Result<Self, Overflow> {
        finite(x.into()).map(|x| Interval { first: x, last: x })
    }

    /// An interval whose ends the caller has checked; an empty one may end just below the coordinates.
    pub(crate) fn trusted(first: i64, last: i64) -> Self {
        debug_assert!((-INF..INF).contains(&first) && (first - 1..=INF).contains(&last), "{first}..={last}");
        Interval { first, last }
    }

    /// The smallest coordinate; -INF when unbounded below.
    pub fn first(self) -> i64 {
        self.first
    }

    /// The largest coordinate; INF when unbounded above, `first - 1` when empty.
    pub fn last(self) -> i64 {
        self.last
    }

    /// The lower end, or `None` when unbounded.
    pub fn lower(self) -> Option<i64> {
        (self.first != -INF).then_some(self.first)
    }

    /// The exclusive upper end, or `None` when unbounded.
    pub fn upper(self) -> Option<i64> {
        (self.last != INF).then_some(self.last + 1)
    }

    /// Whether it has no coordinate.
    pub fn is_empty(self) -> bool {
        self.last < self.first
    }

    /// Whether both ends are finite.
    pub fn is_bounded(self) -> bool {
        self.first != -INF && self.last != INF
    }

    /// How many coordinates, or `None` when unbounded.
    pub fn len(self) -> Option<i64> {
        self.is_bounded().then(|| self.last - self.first + 1)
    }

    /// Its only coordinate, if it has exactly one.
    pub fn single(self) -> Option<i64> {
        (self.first == self.last && is_finite(self.first)).then_some(self.first)
    }

    /// Whether the coordinate `x` is in it; infinity never is.
    pub fn contains(self, x: i64) -> bool {
        is_finite(x) && self.first <= x && x <= self.last
    }

    /// Whether every coordinate of `inner` is in it; an empty interval is in any.
    pub fn contains_interval(self, inner: Interval) -> bool {
        inner.is_empty() || (self.first <= inner.first && inner.last <= self.last)
    }

    /// The smallest interval with both in it; an empty one adds nothing.
    #[must_use]
    pub fn hull(self, other: Interval) -> Interval {
        if self.is_empty() {
            other
        } else if other.is_empty() {
            self
        } else {
            Interval { first: self.first.min(other.first), last: self.last.max(other.last) }
        }
    }

    /// What both have in common; when that is nothing, the empty interval at the larger lower end.
    #[must_use]
    pub fn intersect(self, other: Interval) -> Interval {
        let first = self.first.max(other.first);
        Interval { first, last: self.last.min(other.last).max(first - 1) }
    }

    /// `{x clamped into limits}`, where `limits` has a coordinate.
    #[must_use]
    pub fn clamp_into(self, limits: Interval) -> Interval {
        let inside = |end: i64| end.max(limits.first).min(limits.last);
        if self.is_empty() { self } else { Interval { first: inside(self.first), last: inside(self.last) } }
    }

    /// `{-x}`.
    #[must_use]
    pub fn neg(self) -> Interval {
        if self.is_empty() {
            // An empty interval stays a pair of neighbouring ends: n..n becomes -n..-n.
            return Interval { first: -self.first, last: -self.first - 1 };
        }
        Interval { first: -self.last, last: -self.first }
    }

    /// `{x + y}`.
    pub fn add(self, other: Interval) -> Result<Interval, Overflow> {
        if self.is_empty() || other.is_empty() {
            return Ok(self.emptied());
        }
        let first = add_ends(self.first, other.first)?;
        Ok(Interval { first, last: add_ends(self.last, other.last)? })
    }

    /// `{x - y}`.
    pub fn sub(self, other: Interval) -> Result<Interval, Overflow> {
        self.add(other.neg())
    }

    /// `{x * y}`, where an unbounded end times 0 is 0.
    pub fn mul(self, other: Interval) -> Result<Interval, Overflow> {
        if self.is_empty() || other.is_empty() {
            return Ok(self.emptied());
        }
        let mut corners = [0; 4];
        for (i, corner) in corners.iter_mut().enumerate() {
            let a = if i & 1 == 0 { self.first } else { self.last };
            let b = if i & 2 == 0 { other.first } else { other.last };
            *corner = mul_ends(a, b)?;
        }
        let [a, b, c, d] = corners;
        Ok(Interval { first: a.min(b).min(c).min(d), last: a.max(b).max(c).max(d) })
    }

    /// `{x + by}`; an empty interval moves too.
    pub fn shift(self, by: i64) -> Result<Interval, Overflow> {
        let first = shift_end(self.first, by)?;
        let last = if self.is_empty() { finite(i128::from(first) - 1)? } else { shift_end(self.last, by)? };
        Ok(Interval { first, last })
    }

    /// `{x * factor}` as an interval: the hull of the multiples.
    pub fn scale(self, factor: i64) -> Result<Interval, Overflow> {
        if self.is_empty() { Ok(self.emptied()) } else { self.image(0, factor) }
    }

    /// `{x // divisor}`, rounded down; 0 when the divisor is 0, as in the language.
    #[must_use]
    pub fn floor_div(self, divisor: i64) -> Interval {
        if self.is_empty() {
            return self.emptied();
        }
        let (a, b) = (div_end(self.first, divisor), div_end(self.last, divisor));
        Interval { first: a.min(b), last: a.max(b) }
    }

    /// `{x % divisor}` with the divisor's sign; 0 when the divisor is 0.
    ///
    /// Exact within one period (`10..13 % 8` is 2..5), else the whole period. A divisor beyond the
    /// coordinates could give anything, so it gives everything.
    #[must_use]
    pub fn rem(self, divisor: i64) -> Interval {
        if self.is_empty() {
            return self.emptied();
        }
        if divisor.unsigned_abs() >= INF.unsigned_abs() {
            return Interval::all();
        }
        let one_period = self.is_bounded() && floor_div(self.first, divisor) == floor_div(self.last, divisor);
        if divisor == 0 || one_period {
            let (a, b) = (floor_rem(self.first, divisor), floor_rem(self.last, divisor));
            return Interval { first: a.min(b), last: a.max(b) };
        }
        let extreme = divisor - divisor.signum();
        Interval { first: extreme.min(0), last: extreme.max(0) }
    }

    /// `{min(x, y)}`.
    #[must_use]
    pub fn min(self, other: Interval) -> Interval {
        if self.is_empty() || other.is_empty() {
            return self.emptied();
        }
        Interval { first: self.first.min(other.first), last: self.last.min(other.last) }
    }

    /// `{max(x, y)}`.
    #[must_use]
    pub fn max(self, other: Interval) -> Interval {
        if self.is_empty() || other.is_empty() {
            return self.emptied();
        }
        Interval { first: self.first.max(other.first), last: self.last.max(other.last) }
    }

    /// `{min(max(x, lo), hi)}`, the language's `clamp`.
    #[must_use]
    pub fn clamp(self, lo: Interval, hi: Interval) -> Interval {
        self.max(lo).min(hi)
    }

    /// `{offset + stride * x}`: where an affine map sends this interval (its hull).
    pub fn image(self, offset: i64, stride: i64) -> Result<Interval, Overflow> {
        if self.is_empty() {
            // The end that was lower stays where it is mapped to, and becomes the upper one under a negative stride.
            let end = affine_end(self.first, offset, stride)?;
            let first = if stride < 0 { finite(i128::from(end) + 1)? } else { end };
            return Ok(Interval { first, last: first - 1 });
        }
        let (a, b) = (affine_end(self.first, offset, stride)?, affine_end(self.last, offset, stride)?);
        Ok(Interval { first: a.min(b), last: a.max(b) })
    }

    /// `{x : offset + stride * x is in self}`.
    ///
    /// ```text
    /// 0..10 with 1 + 3x   gives   0..3
    /// ```
    pub fn preimage(self, offset: i64, stride: i64) -> Result<Interval, Overflow> {
        if self == Interval::all() {
            return Ok(self);
        }
        if stride == 0 {
            return Ok(if self.contains(offset) { Interval::all() } else { self.emptied() });
        }
        let mirrored = if stride < 0 { self.neg() } else { self };
        let (lower, upper) = (mirrored.first, mirrored.last);
        let step = i128::from(stride).abs();
        let shift = i128::from(offset) * i128::from(stride.signum());
        let first = if lower == -INF { -INF } else { finite(-(-reach(lower, shift)?).div_euclid(step))? };
        if self.is_empty() {
            return Ok(Interval { first, last: first - 1 });
        }
        let last = if upper == INF { INF } else { finite(reach(upper, shift)?.div_euclid(step))? };
        Ok(Interval { first, last })
    }

    /// The coordinates that `offset + stride · x` takes to coordinates.
    ///
    /// ```text
    /// 4 * x     at most 2^60 - 1 either way: beyond that it leaves the index space
    /// ```
    pub fn into_space(offset: i128, stride: i64) -> Interval {
        let (most, step) = (i128::from(INF) - 1, i128::from(stride).abs());
        if step == 0 {
            return Interval::all();
        }
        let offset = offset * i128::from(stride.signum());
        let (first, last) = (-(most + offset).div_euclid(step), (most - offset).div_euclid(step));
        let end = |end: i128| if end.abs() >= most { INF * end.signum() as i64 } else { end as i64 };
        Interval { first: end(first), last: end(last) }
    }

    /// The empty interval at this one's place.
    fn emptied(self) -> Interval {
        let first = if self.first == -INF { 0 } else { self.first };
        Interval { first, last: first - 1 }
    }
}

/// `end - offset`, which must fit 64 bits as every step of the computation must.
fn reach(end: i64, offset: i128) -> Result<i128, Overflow> {
    let value = i128::from(end) - offset;
    if i64::try_from(value).is_ok() { Ok(value) } else { Err(Overflow { value }) }
}

fn shift_end(end: i64, by: i64) -> Result<i64, Overflow> {
    if end.abs() == INF { Ok(end) } else { finite(i128::from(end) + i128::from(by)) }
}

/// The sum of two lower or two upper ends; infinity wins.
fn add_ends(a: i64, b: i64) -> Result<i64, Overflow> {
    if b.abs() == INF { Ok(b) } else { shift_end(a, b) }
}

fn mul_ends(a: i64, b: i64) -> Result<i64, Overflow> {
    if a.abs() >= INF || b.abs() >= INF {
        Ok(INF * a.signum() * b.signum())
    } else {
        finite(i128::from(a) * i128::from(b))
    }
}

fn affine_end(end: i64, offset: i64, stride: i64) -> Result<i64, Overflow> {
    if stride == 0 {
        finite(offset.into())
    } else if end.abs() == INF {
        Ok(end * stride.signum())
    } else {
        finite(i128::from(end) * i128::from(stride) + i128::from(offset))
    }
}

fn div_end(end: i64, divisor: i64) -> i64 {
    if end.abs() == INF { end * divisor.signum() } else { floor_div(end, divisor) }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lower() {
            Some(lo) => write!(f, "{lo}..")?,
            None => f.write_str("-inf..")?,
        }
        match self.upper() {
            Some(hi) => write!(f, "{hi}"),
            None => f.write_str("inf"),
        }
    }
}

impl fmt::Debug for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(actual: Interval, expect: &str) {
        assert_eq!(actual.to_string(), expect);
    }

    fn iv(lo: i64, hi: i64) -> Interval {
        Interval::new(lo, hi).unwrap()
    }

    #[test]
    fn prints_half_open_with_words_for_the_unbounded() {
        check(iv(-3, 8), "-3..8");
        check(Interval::all(), "-inf..inf");
        check(Interval::bounds(Some(5), None).unwrap(), "5..inf");
        check(iv(13, 13), "13..13");
    }

    #[test]
    fn ends_are_coordinates_or_open() {
        assert!(Interval::closed(-INF, -INF).is_err() && Interval::closed(INF, INF).is_err());
        assert!(Interval::EMPTY.is_empty());
        let below = Interval::bounds(None, Some(5)).unwrap();
        assert!(!below.is_bounded() && !below.neg().is_bounded() && iv(0, 5).is_bounded());
    }

    #[test]
    fn what_is_empty_has_a_place() {
        check(iv(5, 5).image(3, 0).unwrap(), "3..3");
        check(iv(5, 5).image(0, -1).unwrap(), "-4..-4");
        check(iv(5, 9).mul(iv(3, 3)).unwrap(), "5..5");
        check(Interval::all().mul(iv(3, 3)).unwrap(), "0..0");
    }

    #[test]
    fn what_maps_into_the_space_ends_where_it_leaves_it() {
        for (offset, stride) in [(0, 4), (0, -4), (1, 1), (-1, 1), (7, -3), (1 << 61, 5), (-5, 1 << 61)] {
            let space = Interval::into_space(offset, stride);
            let inside = |x: i64| finite(offset + i128::from(stride) * i128::from(x)).is_ok();
            for (end, beyond) in [(space.first(), -1), (space.last(), 1)] {
                let open = end.abs() == INF;
                assert!(inside(if open { end - beyond } else { end }), "{offset} + {stride} * {end}");
                assert!(open || !inside(end + beyond), "{offset} + {stride} * {end}");
            }
        }
        check(Interval::into_space(9, 0), "-inf..inf");
        check(Interval::into_space(1, 1), "-inf..4611686018427387902");
    }

    #[test]
    fn unbounded_ends_stay_unbounded() {
        let up = Interval::bounds(Some(5), None).unwrap();
        check(up.neg(), "-inf..-4");
        check(up.shift(-7).unwrap(), "-2..inf");
        check(up.scale(3).unwrap(), "15..inf");
        check(up.mul(iv(-1, 1)).unwrap(), "-inf..1");
        check(up.floor_div(-2), "-inf..-2");
        check(up.rem(4), "0..4");
        check(Interval::all().scale(0).unwrap(), "0..1");
        check(iv(0, 1).mul(Interval::all()).unwrap(), "0..1");
    }

    #[test]
    fn finite_ends_overflow() {
        let edge = Interval::point(INF - 1).unwrap();
        assert_eq!(edge.shift(1), Err(Overflow { value: i128::from(INF) }));
        assert!(edge.scale(2).is_err() && edge.add(edge).is_err() && edge.mul(edge).is_err());
        assert!(Interval::point(INF).is_err());
        check(edge.neg(), "-4611686018427387902..-4611686018427387901");
    }

    #[test]
    fn remainders_are_exact_within_a_period() {
        check(iv(10, 13).rem(8), "2..5");
        check(iv(6, 10).rem(8), "0..8");
        check(iv(-3, -1).rem(-8), "-3..-1");
        check(iv(1, 9).rem(0), "0..1");
    }

    #[test]
    fn preimages_round_inwards() {
        check(iv(0, 10).preimage(1, 3).unwrap(), "0..3");
        check(iv(0, 10).preimage(0, -3).unwrap(), "-3..1");
        check(iv(7, 8).preimage(0, 2).unwrap(), "4..4");
        check(iv(5, 5).preimage(0, -1).unwrap(), "-5..-5");
        assert!(iv(0, 10).preimage(i64::MIN, 1).is_err());
    }
}
