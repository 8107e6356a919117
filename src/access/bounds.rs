//! How far a linear form reaches when each atom has a range.
//!
//! Forms with floor divisions are split by residue, so that resampling idioms are exact:
//!
//! ```text
//! 2·x - 3·⌊x / 2⌋ - 1  with x in 0..10      x = 2k:   k - 1  in -1..4
//!                                           x = 2k+1: k + 1  in  1..6     together -1..6
//! ```

use super::linear::{Atom, Floor, Linear};
use crate::graph::body::Coord;
use crate::index::Interval;
use crate::index::interval::{ceil_div, floor_div};
use std::collections::BTreeMap;

/// At most this many residues are told apart; beyond, each floor division is bounded on its own.
const MAX_RESIDUES: i64 = 512;

/// Up to this many residues are told apart even where quotient and remainder would do: they are exact for `⌊2·x / 3⌋` too.
const FEW_RESIDUES: i64 = 16;

/// The values of `form` when the atoms take values in `range`; all integers where that overflows.
pub fn bound(form: &Linear, floors: &[Floor], range: &mut dyn FnMut(Atom) -> Interval) -> Interval {
    let by_residue = case_count(form, floors).is_some_and(|cases| cases <= FEW_RESIDUES);
    let by_block = if by_residue { None } else { block_bound(form, floors, range) };
    by_block.or_else(|| split_bound(form, floors, range)).unwrap_or_else(|| plain_bound(form, floors, range))
}

/// Each atom on its own, but for remainders: `form - by · ⌊form / by⌋` is in `0..by` whatever the form is.
fn plain_bound(form: &Linear, floors: &[Floor], range: &mut dyn FnMut(Atom) -> Interval) -> Interval {
    let apart = apart_bound(form, floors, range);
    let Some((rest, remainder)) = take_remainder(form, floors) else { return apart };
    let rest = plain_bound(&rest, floors, range).add(remainder).unwrap_or(Interval::all());
    apart.intersect(rest)
}

fn apart_bound(form: &Linear, floors: &[Floor], range: &mut dyn FnMut(Atom) -> Interval) -> Interval {
    let mut sum = point(form.offset);
    for (atom, factor) in &form.terms {
        let values = match atom {
            Atom::Floor(floor) => {
                let Floor { form, by } = &floors[*floor as usize];
                bound(form, floors, range).floor_div(*by)
            }
            Atom::Coord(_) | Atom::Node(_) => range(*atom),
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

/// A form with one floor division of `g`, which is `by · q + r` with r in `0..by`, as `rest + a · q + b · r`.
///
/// Exact without looking at residues: q is that of the first value of `g`, or of the last, or r is anything.
///
/// ```text
/// x % 5000 + ⌊x / 5000⌋  with x in 10..12000     10..5000,  then 1..5001,  then 2..2002
/// ```
fn block_bound(form: &Linear, floors: &[Floor], range: &mut dyn FnMut(Atom) -> Interval) -> Option<Interval> {
    let Blocks { rest, inside, by, quotient, remainder } = blocks(form, floors)?;
    let values = bound(inside, floors, range);
    let whole = plain_bound(&rest, floors, range);
    if values.is_empty() || whole.is_empty() {
        return Some(Interval::new(0, 0).expect("0..0 is an interval"));
    }
    let (mut first, mut end) =
        (values.lower().map(|lo| floor_div(lo, by)), values.upper().map(|hi| ceil_div(hi, by)));
    let mut hull: Option<Interval> = None;
    let mut add = |q: Interval, r: Interval| -> Option<()> {
        let part = q.scale(quotient).ok()?.add(r.scale(remainder).ok()?).ok()?;
        hull = Some(hull.map_or(part, |hull| hull.hull(part)));
        Some(())
    };
    let mut block = |q: i64| {
        let start = q.checked_mul(by)?;
        let r = values.intersect(Interval::sized(start, by).ok()?).shift(start.checked_neg()?).ok()?;
        add(Interval::point(q).ok()?, r)
    };
    if let Some(q) = first {
        block(q)?;
        first = Some(q + 1);
    }
    if let Some(q) = end.filter(|end| first.is_none_or(|first| first < *end)) {
        block(q - 1)?;
        end = Some(q - 1);
    }
    if first.zip(end).is_none_or(|(first, end)| first < end) {
        add(Interval::bounds(first, end).ok()?, Interval::new(0, by).ok()?)?;
    }
    hull?.add(whole).ok()
}

/// `rest + quotient · q + remainder · r`, where what is divided is `by · q + r`.
pub struct Blocks<'f> {
    /// What has nothing to do with the floor division.
    pub rest: Linear,
    /// What is divided.
    pub inside: &'f Linear,
    /// By what, at least 2.
    pub by: i64,
    /// The factor of the quotient.
    pub quotient: i64,
    /// The factor of the remainder.
    pub remainder: i64,
}

/// The form by quotient and remainder, if it has one floor division and the rest has nothing in common with that.
pub fn blocks<'f>(form: &Linear, floors: &'f [Floor]) -> Option<Blocks<'f>> {
    let mut divided = form.terms.iter().filter_map(|(atom, factor)| match atom {
        Atom::Floor(number) => Some((*atom, &floors[*number as usize], *factor)),
        Atom::Coord(_) | Atom::Node(_) => None,
    });
    let (atom, Floor { form: inside, by }, factor) = divided.next()?;
    if divided.next().is_some() {
        return None;
    }
    let (first, step) = *inside.terms.first()?;
    let own = form.terms.iter().find(|(atom, _)| *atom == first).map_or(0, |(_, factor)| *factor);
    let remainder = own.checked_div(step)?;
    let rest =
        form.plus(remainder.checked_neg()?, inside)?.plus(factor.checked_neg()?, &Linear::atom(atom))?;
    let apart = rest.terms.iter().all(|(atom, _)| inside.terms.iter().all(|(other, _)| atom != other));
    let quotient = remainder.checked_mul(*by)?.checked_add(factor)?;
    apart.then_some(Blocks { rest, inside, by: *by, quotient, remainder })
}

fn point(x: i64) -> Interval {
    Interval::point(x).unwrap_or(Interval::all())
}

/// Case by case over the residues of the coordinates inside floor divisions; `None` if there are none or too many.
fn split_bound(form: &Linear, floors: &[Floor], range: &mut dyn FnMut(Atom) -> Interval) -> Option<Interval> {
    let mut hull: Option<Interval> = None;
    for case in residues(form, floors)? {
        let mut values = point(case.form.offset);
        let mut possible = case.places.iter().all(|(coord, modulus, residue)| {
            quotients(range(Atom::Coord(*coord)), *modulus, *residue).is_some()
        });
        for (atom, factor) in &case.form.terms {
            let range = match atom {
                Atom::Coord(coord) => match case.place(*coord) {
                    Some((modulus, residue)) => quotients(range(*atom), modulus, residue),
                    None => Some(range(*atom)),
                },
                Atom::Floor(_) | Atom::Node(_) => Some(range(*atom)),
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

/// A form where each coordinate inside a floor division is `modulus · k + residue`.
#[derive(Debug)]
pub struct Case {
    /// Per such coordinate: itself, its modulus, its residue.
    pub places: Vec<(Coord, i64, i64)>,
    /// Without floor divisions; such a coordinate stands for its k.
    pub form: Linear,
}

impl Case {
    /// The ends of an atom of the case, from those of the atom itself.
    pub fn ends(&self, atom: Atom, (lo, hi): (i128, i128)) -> (i128, i128) {
        let place = match atom {
            Atom::Coord(coord) => self.place(coord),
            Atom::Floor(_) | Atom::Node(_) => None,
        };
        let (modulus, residue) = place.map_or((1, 0), |(modulus, residue)| (modulus.into(), residue.into()));
        (-(residue - lo).div_euclid(modulus), (hi - residue).div_euclid(modulus))
    }

    fn place(&self, coord: Coord) -> Option<(i64, i64)> {
        self.places.iter().find(|(own, ..)| *own == coord).map(|(_, modulus, residue)| (*modulus, *residue))
    }
}

/// The form for every combination of residues; `None` without floor divisions, or when there are too many cases.
pub fn residues(form: &Linear, floors: &[Floor]) -> Option<Vec<Case>> {
    let cases = case_count(form, floors)?;
    let moduli = moduli(form, floors)?;
    (0..cases).map(|case| substitute(form, floors, &moduli, case)).collect()
}

/// How many combinations of residues there are; `None` without floor divisions, or when there are too many.
fn case_count(form: &Linear, floors: &[Floor]) -> Option<i64> {
    let moduli = moduli(form, floors)?;
    let cases = moduli.values().try_fold(1i64, |n, modulus| n.checked_mul(*modulus))?;
    (!moduli.is_empty() && cases <= MAX_RESIDUES).then_some(cases)
}

/// Per coordinate inside a floor division, a modulus after which every floor division repeats.
fn moduli(form: &Linear, floors: &[Floor]) -> Option<BTreeMap<Coord, i64>> {
    let mut moduli = BTreeMap::new();
    for (atom, _) in &form.terms {
        let Atom::Floor(floor) = atom else { continue };
        let Floor { form, by } = &floors[*floor as usize];
        for (atom, factor) in &form.terms {
            let Atom::Coord(coord) = atom else { return None };
            let modulus = by / gcd(*by, *factor);
            let known = moduli.entry(*coord).or_insert(1);
            *known =
                i64::checked_mul(*known / gcd(*known, modulus), modulus).filter(|n| *n <= MAX_RESIDUES)?;
        }
    }
    Some(moduli)
}

fn substitute(form: &Linear, floors: &[Floor], moduli: &BTreeMap<Coord, i64>, mut case: i64) -> Option<Case> {
    let mut places = Vec::new();
    for (coord, modulus) in moduli {
        places.push((*coord, *modulus, case % modulus));
        case /= modulus;
    }
    let case = Case { places, form: Linear::constant(form.offset) };
    let mut sum = case.form.clone();
    for (atom, factor) in &form.terms {
        let part = match atom {
            Atom::Floor(floor) => {
                let Floor { form, by } = &floors[*floor as usize];
                let inside = expand(form, &case)?;
                let terms = inside.terms.iter().map(|(atom, factor)| (*atom, factor / by)).collect();
                Linear { offset: floor_div(inside.offset, *by), terms }
            }
            Atom::Coord(_) | Atom::Node(_) => expand(&Linear::atom(*atom), &case)?,
        };
        sum = sum.plus(*factor, &part)?;
    }
    Some(Case { form: sum, ..case })
}

/// The form with every such coordinate replaced by `modulus · k + residue`.
fn expand(form: &Linear, case: &Case) -> Option<Linear> {
    let mut sum = Linear::constant(form.offset);
    for (atom, factor) in &form.terms {
        let place = match atom {
            Atom::Coord(coord) => case.place(*coord),
            Atom::Floor(_) | Atom::Node(_) => None,
        };
        let (modulus, residue) = place.unwrap_or((1, 0));
        sum = sum.plus(*factor, &Linear { offset: residue, terms: vec![(*atom, modulus)] })?;
    }
    Some(sum)
}

/// The k with `modulus · k + residue` in `values`.
fn quotients(values: Interval, modulus: i64, residue: i64) -> Option<Interval> {
    let lo = values.lower().map(|lo| ceil_div(lo - residue, modulus));
    let hi = values.upper().map(|hi| floor_div(hi - 1 - residue, modulus) + 1);
    let k = Interval::bounds(lo, hi).ok()?;
    (!k.is_empty()).then_some(k)
}

fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with trying every coordinate of two ranges.
    #[track_caller]
    fn check(form: &Linear, floors: &[Floor], x: (i64, i64), y: (i64, i64)) {
        let value = |form: &Linear, x: i64, y: i64| {
            form.terms.iter().map(|(atom, factor)| factor * coordinate(*atom, x, y)).sum::<i64>()
                + form.offset
        };
        let whole = |x: i64, y: i64| {
            let floor = |number: u32| {
                floor_div(value(&floors[number as usize].form, x, y), floors[number as usize].by)
            };
            let part = |(atom, factor): &(Atom, i64)| match atom {
                Atom::Floor(number) => factor * floor(*number),
                Atom::Coord(_) | Atom::Node(_) => factor * coordinate(*atom, x, y),
            };
            form.terms.iter().map(part).sum::<i64>() + form.offset
        };
        let all = (x.0..x.1).flat_map(|x| (y.0..y.1).map(move |y| whole(x, y)));
        let all: Vec<i64> = all.collect();
        let expect = Interval::new(*all.iter().min().unwrap(), all.iter().max().unwrap() + 1).unwrap();
        let range = |(lo, hi)| Interval::new(lo, hi).unwrap();
        let found = bound(form, floors, &mut |atom| if atom == X { range(x) } else { range(y) });
        assert_eq!(found, expect, "{form:?} {floors:?} {x:?} {y:?}");
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

    #[test]
    fn blocks_are_exact_without_residues() {
        let by = Floor { form: Linear { offset: 2, terms: vec![(X, 1)] }, by: 7 };
        for (own, floor) in [(1, -7), (1, 1), (0, 3), (-2, 5), (3, -4)] {
            let terms = [(X, own), (Atom::Floor(0), floor)].into_iter().filter(|(_, factor)| *factor != 0);
            let form = Linear { offset: 5, terms: terms.collect() };
            assert!(blocks(&form, std::slice::from_ref(&by)).is_some());
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
