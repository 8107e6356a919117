//! How far a linear form reaches when each atom has a range.
//!
//! Forms with floor divisions are split by residue, or into quotients and remainders, so that resampling idioms are
//! exact:
//!
//! ```text
//! 2·x - 3·⌊x / 2⌋ - 1  with x in 0..10      x = 2k:   k - 1  in -1..4
//!                                           x = 2k+1: k + 1  in  1..6     together -1..6
//! ```

use super::blocks::block_bound;
use super::linear::{Atom, Floor, Linear};
use super::residues::{case_count, residues};
use crate::index::Interval;
use crate::index::interval::{ceil_div, floor_div};

/// Up to this many residues are told apart even where quotient and remainder would do: they are exact for `⌊2·x / 3⌋` too.
const FEW_RESIDUES: i64 = 16;

/// The range of a sum of terms, if something is known about it as a whole.
type Sums<'k> = dyn Fn(&[(Atom, i64)]) -> Option<Interval> + 'k;

/// What is known where a form is bounded.
#[derive(Clone, Copy)]
pub struct Known<'k> {
    /// The range of a coordinate or a node.
    pub atom: &'k dyn Fn(Atom) -> Interval,
    /// The range of a sum of terms that a condition speaks of.
    pub sum: &'k Sums<'k>,
}

impl Known<'_> {
    /// What conditions say about a form, its offset included.
    pub fn form(&self, form: &Linear) -> Option<Interval> {
        (self.sum)(&form.terms).and_then(|known| known.shift(form.offset).ok())
    }
}

/// The values of `form`; all integers where that overflows.
pub fn bound(form: &Linear, floors: &[Floor], known: Known<'_>) -> Interval {
    let by_residue = case_count(form, floors).is_some_and(|cases| cases <= FEW_RESIDUES);
    let by_block = if by_residue { None } else { block_bound(form, floors, known) };
    let found = by_block
        .or_else(|| split_bound(form, floors, known))
        .unwrap_or_else(|| plain_bound(form, floors, known));
    let whole = multiple_bound(form, floors, known).map_or(found, |values| found.intersect(values));
    known.form(form).map_or(whole, |values| whole.intersect(values))
}

/// What conditions say about a multiple of the form: `b · ⌊g / b⌋` is g less a remainder in `0..b`.
///
/// ```text
/// 96·w + ⌊i / 2⌋  where 192·w + i is in 0..20      twice that is 192·w + i - r, in -1..20, so it is in 0..10
/// ```
fn multiple_bound(form: &Linear, floors: &[Floor], known: Known<'_>) -> Option<Interval> {
    let (mut whole, mut times, mut less) = (form.clone(), 1i64, point(0));
    while let Some((number, factor)) = last_floor(&whole) {
        let Floor { form: inside, by } = &floors[number as usize];
        let others = whole.plus(factor.checked_neg()?, &Linear::atom(Atom::Floor(number)))?;
        whole = others.times(*by)?.plus(factor, inside)?;
        let remainder = Interval::new(0, *by).ok()?.scale(factor).ok()?;
        less = less.scale(*by).ok()?.add(remainder).ok()?;
        times = times.checked_mul(*by)?;
    }
    let values = known.form(&whole).filter(|_| times > 1)?;
    values.sub(less).ok()?.preimage(0, times).ok()
}

/// The floor division of the form that was noted last, and its factor: what it divides has only earlier ones in it.
fn last_floor(form: &Linear) -> Option<(u32, i64)> {
    form.terms.iter().rev().find_map(|(atom, factor)| match atom {
        Atom::Floor(number) => Some((*number, *factor)),
        Atom::Coord(_) | Atom::Node(_) => None,
    })
}

/// Each atom on its own, but for remainders: `form - by · ⌊form / by⌋` is in `0..by` whatever the form is.
fn plain_bound(form: &Linear, floors: &[Floor], known: Known<'_>) -> Interval {
    let apart = apart_bound(form, floors, known);
    let Some((rest, remainder)) = take_remainder(form, floors) else { return apart };
    let rest = plain_bound(&rest, floors, known).add(remainder).unwrap_or(Interval::all());
    apart.intersect(rest)
}

fn apart_bound(form: &Linear, floors: &[Floor], known: Known<'_>) -> Interval {
    let mut sum = point(form.offset);
    for (atom, factor) in &form.terms {
        let values = match atom {
            Atom::Floor(floor) => {
                let Floor { form, by } = &floors[*floor as usize];
                bound(form, floors, known).floor_div(*by)
            }
            Atom::Coord(_) | Atom::Node(_) => (known.atom)(*atom),
        };
        if values.is_empty() {
            return values;
        }
        sum = values.scale(*factor).and_then(|scaled| sum.add(scaled)).unwrap_or(Interval::all());
    }
    sum
}

/// The form without one of its remainders, and the range of that remainder.
///
/// The last one first: what is divided has only earlier floor divisions in it, so this comes to an end.
fn take_remainder(form: &Linear, floors: &[Floor]) -> Option<(Linear, Interval)> {
    form.terms.iter().rev().find_map(|(atom, factor)| {
        let Atom::Floor(number) = atom else { return None };
        let Floor { form: inside, by } = &floors[*number as usize];
        let times = (factor % by == 0).then(|| -(factor / by))?;
        let remainder = inside.plus(by.checked_neg()?, &Linear::atom(*atom))?;
        let rest = form.plus(times.checked_neg()?, &remainder)?;
        let values = Interval::new(0, *by).ok()?.scale(times).ok()?;
        Some((rest, values))
    })
}

fn point(x: i64) -> Interval {
    Interval::point(x).unwrap_or(Interval::all())
}

/// Case by case over the residues of the coordinates inside floor divisions; `None` if there are none or too many.
fn split_bound(form: &Linear, floors: &[Floor], known: Known<'_>) -> Option<Interval> {
    let mut hull: Option<Interval> = None;
    for case in residues(form, floors)? {
        let mut values = point(case.form.offset);
        let mut possible = case.places.iter().all(|(coord, modulus, residue)| {
            quotients((known.atom)(Atom::Coord(*coord)), *modulus, *residue).is_some()
        });
        for (atom, factor) in &case.form.terms {
            let range = match atom {
                Atom::Coord(coord) => match case.place(*coord) {
                    Some((modulus, residue)) => quotients((known.atom)(*atom), modulus, residue),
                    None => Some((known.atom)(*atom)),
                },
                Atom::Floor(_) | Atom::Node(_) => Some((known.atom)(*atom)),
            };
            let Some(range) = range else {
                possible = false;
                break;
            };
            values = values.add(range.scale(*factor).ok()?).ok()?;
        }
        if possible {
            hull = Some(hull.map_or(values, |hull| hull.hull(values)));
        }
    }
    Some(hull.unwrap_or_else(|| Interval::new(0, 0).expect("0..0 is an interval")))
}

/// The k with `modulus · k + residue` in `values`.
fn quotients(values: Interval, modulus: i64, residue: i64) -> Option<Interval> {
    let lo = values.lower().map(|lo| ceil_div(lo - residue, modulus));
    let hi = values.upper().map(|hi| floor_div(hi - 1 - residue, modulus) + 1);
    let k = Interval::bounds(lo, hi).ok()?;
    (!k.is_empty()).then_some(k)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::body::Coord;

    /// Compares with trying every coordinate of two ranges.
    #[track_caller]
    fn check(form: &Linear, floors: &[Floor], x: (i64, i64), y: (i64, i64)) {
        let all = (x.0..x.1).flat_map(|x| (y.0..y.1).map(move |y| value(form, floors, x, y)));
        let all: Vec<i64> = all.collect();
        let expect = Interval::new(*all.iter().min().unwrap(), all.iter().max().unwrap() + 1).unwrap();
        let range = |(lo, hi)| Interval::new(lo, hi).unwrap();
        let atom = |atom| if atom == X { range(x) } else { range(y) };
        let found = bound(form, floors, Known { atom: &atom, sum: &|_| None });
        assert_eq!(found, expect, "{form:?} {floors:?} {x:?} {y:?}");
    }

    fn value(form: &Linear, floors: &[Floor], x: i64, y: i64) -> i64 {
        let part = |(atom, factor): &(Atom, i64)| match atom {
            Atom::Floor(number) => {
                let Floor { form, by } = &floors[*number as usize];
                factor * floor_div(value(form, floors, x, y), *by)
            }
            Atom::Coord(_) | Atom::Node(_) => factor * coordinate(*atom, x, y),
        };
        form.terms.iter().map(part).sum::<i64>() + form.offset
    }

    const X: Atom = Atom::Coord(Coord::Global(1));
    const Y: Atom = Atom::Coord(Coord::Global(0));

    fn coordinate(atom: Atom, x: i64, y: i64) -> i64 {
        if atom == X { x } else { y }
    }

    #[test]
    fn resampling_idioms_are_exact() {
        let half = Floor { form: Linear::atom(X), by: 2 };
        let up = Linear { offset: -1, terms: vec![(X, 2), (Atom::Floor(0), -3)] };
        for lo in -5..5 {
            for hi in lo + 1..lo + 8 {
                check(&up, std::slice::from_ref(&half), (lo, hi), (0, 1));
            }
        }
    }

    /// `⌊(x % m) / n⌋` and what is made of it, by residue for a small `m` and by remainder for a large one.
    #[test]
    fn remainders_of_remainders_are_exact() {
        for (m, n) in [(12, 5), (7, 3), (6, 2), (600, 7), (1000, 30)] {
            let outer = Floor { form: Linear::atom(X), by: m };
            let rest = Linear { offset: 0, terms: vec![(X, 1), (Atom::Floor(0), -m)] };
            let floors = [outer, Floor { form: rest, by: n }];
            for terms in [vec![(Atom::Floor(1), 1)], vec![(X, 1), (Atom::Floor(1), -1)]] {
                let form = Linear { offset: 1, terms };
                for (lo, hi) in [(0, 1), (0, 5), (3, 40), (-30, 12), (0, 1300), (-700, 2900)] {
                    check(&form, &floors, (lo, hi), (0, 1));
                }
            }
        }
    }

    #[test]
    fn conditions_on_a_sum_reach_its_quotient() {
        let form = Linear { offset: 0, terms: vec![(Y, 96), (Atom::Floor(0), 1)] };
        let floors = [Floor { form: Linear::atom(X), by: 2 }];
        let sum =
            |terms: &[(Atom, i64)]| (terms == [(Y, 192), (X, 1)]).then(|| Interval::new(0, 20).unwrap());
        let known = Known { atom: &|_| Interval::all(), sum: &sum };
        assert_eq!(bound(&form, &floors, known), Interval::new(0, 10).unwrap());
    }

    #[test]
    fn blocks_are_exact_without_residues() {
        let by = Floor { form: Linear { offset: 2, terms: vec![(X, 1)] }, by: 7 };
        for (own, floor) in [(1, -7), (1, 1), (0, 3), (-2, 5), (3, -4)] {
            let terms = [(X, own), (Atom::Floor(0), floor)].into_iter().filter(|(_, factor)| *factor != 0);
            let form = Linear { offset: 5, terms: terms.collect() };
            for (lo, hi) in [(0, 1), (0, 5), (0, 6), (3, 40), (-30, 12), (-2, 5), (5, 12)] {
                check(&form, std::slice::from_ref(&by), (lo, hi), (0, 1));
            }
        }
    }

    #[test]
    fn two_coordinates_in_one_floor_are_exact() {
        let floor = Floor { form: Linear { offset: 1, terms: vec![(Y, 2), (X, 3)] }, by: 4 };
        let form = Linear { offset: 5, terms: vec![(Y, -1), (X, 1), (Atom::Floor(0), 2)] };
        check(&form, std::slice::from_ref(&floor), (-7, 9), (-3, 6));
        check(&form, &[floor], (2, 3), (4, 9));
    }
}
