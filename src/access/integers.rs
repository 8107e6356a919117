//! What integer operations do to intervals.
//!
//! ```text
//! x ** 3 with x in -2..3      -8..9         x * y with x in 0..4, y in -1..2      -3..4
//! ```
//!
//! The arithmetic of the language wraps: where a result could leave the index space, nothing is known about it.

use crate::graph::scalar::BinaryFn;
use crate::index::{INF, Interval};

/// `lo..=hi`, if both are coordinates.
pub(super) fn interval(lo: Option<i128>, hi: Option<i128>) -> Option<Interval> {
    let fits =
        |value: i128| i64::try_from(value).ok().filter(|value| value.unsigned_abs() < INF.unsigned_abs());
    Interval::closed(fits(lo?)?, fits(hi?)?).ok()
}

/// `lo..hi`, or all integers where that is none.
pub(super) fn small(lo: i64, hi: i64) -> Interval {
    Interval::new(lo, hi).unwrap_or(Interval::all())
}

/// The values of an integer operation on values in `a` and `b`; `None` where it may wrap or nothing is known.
pub(super) fn int_binary(function: BinaryFn, a: Interval, b: Interval) -> Option<Interval> {
    match function {
        // What has no end may wrap.
        BinaryFn::Add => a.add(b).ok().filter(|sum| sum.is_bounded()),
        BinaryFn::Sub => a.sub(b).ok().filter(|difference| difference.is_bounded()),
        BinaryFn::Mul => a.mul(b).ok().filter(|product| product.is_bounded()),
        BinaryFn::Pow => powers(a, b),
        BinaryFn::Shl => shifted(a, b),
        BinaryFn::Min => Some(a.min(b)),
        BinaryFn::Max => Some(a.max(b)),
        BinaryFn::FloorDiv => match b.single() {
            Some(by) if by > 0 => Some(a.floor_div(by)),
            _ => b.lower().filter(|lo| *lo > 0).map(|_| a.hull(small(-1, 1))),
        },
        BinaryFn::Rem => match (b.lower(), b.upper()) {
            (Some(lo), Some(hi)) if lo > 0 => Some(small(0, hi - 1)),
            (Some(_), Some(hi)) if hi <= 0 => Some(small(b.first() + 1, 1)),
            _ => None,
        },
        BinaryFn::And => {
            let mask = [a, b]
                .into_iter()
                .filter(|side| side.lower().is_some_and(|lo| lo >= 0))
                .filter_map(Interval::upper)
                .min();
            mask.map(|hi| small(0, hi))
        }
        BinaryFn::Or | BinaryFn::Xor => {
            let both = a.lower().is_some_and(|lo| lo >= 0) && b.lower().is_some_and(|lo| lo >= 0);
            let top = a.upper().max(b.upper()).filter(|_| both && a.is_bounded() && b.is_bounded())?;
            u64::try_from(top).ok()?.checked_next_power_of_two().map(|top| small(0, top as i64))
        }
        BinaryFn::Shr => a.lower().filter(|lo| *lo >= 0).map(|_| a.hull(small(0, 1))),
        _ => None,
    }
}

/// `a ** n`: odd powers keep the order of integers, even ones that of their magnitudes. `None` where it may wrap.
pub(super) fn int_power(a: Interval, n: u32) -> Option<Interval> {
    if a.is_empty() || !a.is_bounded() {
        return a.is_empty().then_some(a);
    }
    let at = |x: i64| i128::from(x).checked_pow(n);
    let (first, last) = (at(a.first())?, at(a.last())?);
    let least = if a.contains(0) { at(0)?.min(first).min(last) } else { first.min(last) };
    interval(Some(least), Some(first.max(last)))
}

/// `a ** b` for exponents from 0 up: with a base of whatever sign, the extremes are those of the last two exponents.
fn powers(a: Interval, b: Interval) -> Option<Interval> {
    let (lo, hi) = (b.lower().filter(|lo| *lo >= 0)?, b.upper()? - 1);
    let last = u32::try_from(hi).ok()?;
    let exponents = [u32::try_from(lo).ok()?, last.saturating_sub(1).max(lo as u32), last];
    let ranges = exponents.map(|n| int_power(a, n));
    let ranges: Option<Vec<Interval>> = ranges.into_iter().collect();
    ranges?.into_iter().reduce(Interval::hull)
}

/// `a << b` for counts inside the width.
fn shifted(a: Interval, b: Interval) -> Option<Interval> {
    let (lo, hi) = (b.lower().filter(|lo| *lo >= 0)?, b.upper().filter(|hi| *hi <= 62)? - 1);
    let by = Interval::new(1i64 << lo, (1i64 << hi) + 1).ok()?;
    a.mul(by).ok().filter(|product| product.is_bounded())
}
