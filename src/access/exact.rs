//! Whether a linear form stays inside i64: then the wrapping arithmetic of the language has the form's value.
//!
//! ```text
//! 2·x + 1    with x any coordinate, ±(2^62 - 2)      at most 2^63 - 3: exact
//! 4·x                                                up to 2^64: may wrap
//! x - 20·⌊x / 20⌋                                    0..20: exact, though each part alone goes far
//! ```

use super::bounds::{Known, bound};
use super::linear::{Atom, Floor, Linear};
use super::residues::residues;
use crate::index::{INF, Interval, Window};

/// Lowest and highest value, both inclusive.
pub type Ends = (i128, i128);

/// The integers of 64 bits.
pub const I64: Ends = (i64::MIN as i128, i64::MAX as i128);

/// The coordinates.
const COORDINATES: Ends = (1 - INF as i128, INF as i128 - 1);

/// Up to here, either way, coordinates are what people ask for.
pub const NEAR: i64 = 1 << 40;

/// Where coordinates without bounds are taken to lie.
///
/// `t[(3 * x) // 2]` with t and x in `0..inf` is right, though `3 * x` wraps beyond 2^63: there, what it would have
/// read lies outside the index space. Such a read is proven for near coordinates, and checked again when a box is asked
/// for that goes further.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Space {
    /// Anywhere in the index space.
    #[default]
    Whole,
    /// Within [`NEAR`], and as much again for windows that stick out.
    Near,
}

impl Space {
    /// The lowest and the highest coordinate.
    pub fn coordinates(self) -> Ends {
        match self {
            Space::Whole => COORDINATES,
            Space::Near => (-2 * i128::from(NEAR), 2 * i128::from(NEAR)),
        }
    }

    /// The numbers of windows that start at a coordinate.
    pub fn window_numbers(self, window: &Window) -> Ends {
        let (lo, hi) = self.coordinates();
        let (stride, offset) = (i128::from(window.stride()).max(1), i128::from(window.offset()));
        (-(offset - lo).div_euclid(stride), (hi - offset).div_euclid(stride))
    }
}

/// Whether every value of `form` is an i64, when atoms lie between `ends`.
pub fn fits(form: &Linear, floors: &[Floor], ends: &dyn Fn(Atom) -> Ends) -> bool {
    let inside = |(lo, hi): Ends| I64.0 <= lo && hi <= I64.1;
    if inside(extremes(form, floors, ends)) {
        return true;
    }
    let range = |atom| {
        let (lo, hi) = ends(atom);
        let finite = |end: i128| i64::try_from(end).ok().filter(|end| end.unsigned_abs() < INF as u64);
        Interval::bounds(finite(lo), finite(hi).map(|hi| hi + 1)).unwrap_or(Interval::all())
    };
    bound(form, floors, Known { atom: &range, sum: &|_| None }).is_bounded()
        || residues(form, floors).is_some_and(|cases| {
            cases.iter().all(|case| inside(extremes(&case.form, floors, &|atom| case.ends(atom, ends(atom)))))
        })
}

/// The lowest and the highest value of a form when its atoms take theirs independently.
pub fn extremes(form: &Linear, floors: &[Floor], ends: &dyn Fn(Atom) -> Ends) -> Ends {
    form.terms.iter().fold((form.offset.into(), form.offset.into()), |sum, (atom, factor)| {
        let (lo, hi) = match atom {
            Atom::Floor(number) => {
                let Floor { form, by } = &floors[*number as usize];
                let (lo, hi) = extremes(form, floors, ends);
                (lo.div_euclid((*by).into()), hi.div_euclid((*by).into()))
            }
            Atom::Coord(_) | Atom::Node(_) => ends(*atom),
        };
        let (a, b) = (lo.saturating_mul((*factor).into()), hi.saturating_mul((*factor).into()));
        (sum.0.saturating_add(a.min(b)), sum.1.saturating_add(a.max(b)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::body::Coord;

    #[track_caller]
    fn check(offset: i64, terms: &[(Atom, i64)], floors: &[Floor], expect: bool) {
        let form = Linear { offset, terms: terms.to_vec() };
        assert_eq!(fits(&form, floors, &|_| COORDINATES), expect, "{form:?}");
    }

    #[test]
    fn coordinates_may_be_doubled() {
        let (x, y) = (Atom::Coord(Coord::Global(0)), Atom::Coord(Coord::Global(1)));
        check(3, &[(x, 2)], &[], true);
        check(4, &[(x, 2)], &[], false);
        check(0, &[(x, 1), (y, -1)], &[], true);
        check(0, &[(x, 3)], &[], false);
        check(0, &[(x, -4)], &[], false);
    }

    #[test]
    fn what_cancels_does_not_count() {
        let x = Atom::Coord(Coord::Global(0));
        let by = |by| [Floor { form: Linear::atom(x), by }];
        check(0, &[(x, 1), (Atom::Floor(0), -20)], &by(20), true);
        check(-1, &[(x, 2), (Atom::Floor(0), -3)], &by(2), true);
        check(0, &[(x, 3), (Atom::Floor(0), -2)], &by(2), true);
        check(0, &[(x, 4), (Atom::Floor(0), -2)], &by(2), false);
    }
}
