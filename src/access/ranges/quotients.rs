//! The smaller or larger of two integers that divide the same, quotient by quotient.
//!
//! ```text
//! min(r, 9 - r) with r = x % 10, x in -2..3      x in -2..0: r in 8..10, 0..2;  x in 0..3: r in 0..3      together 0..3
//! ```
//!
//! That is what a mirror reads across its edge, where `r` alone may be anything.

use super::Ranges;
use crate::access::bounds::{Known, bound};
use crate::access::guards::PathId;
use crate::access::integers::int_binary;
use crate::access::linear::{Atom, Floor, Linear};
use crate::graph::body::NodeId;
use crate::graph::scalar::BinaryFn;
use crate::index::Interval;

/// Quotients that are told apart: a mirror at both ends of a picture has four.
const MOST_QUOTIENTS: i64 = 4;

impl Ranges<'_> {
    /// The smaller or larger of two forms with one division in common, if its quotient has a few values.
    pub(super) fn by_quotient(
        &self,
        path: PathId,
        function: BinaryFn,
        a: NodeId,
        b: NodeId,
    ) -> Option<Interval> {
        let extreme = matches!(function, BinaryFn::Min | BinaryFn::Max);
        if !extreme || !self.is_exact(path, a) || !self.is_exact(path, b) {
            return None;
        }
        let forms = [self.forms.get(a), self.forms.get(b)];
        let number = common_floor(forms[0], forms[1])?;
        let Floor { form: inside, by } = &self.forms.floors[number as usize];
        let values = self.bounded(path, inside);
        let quotients = values.is_bounded().then(|| values.floor_div(*by))?;
        if !(2..=MOST_QUOTIENTS).contains(&quotients.len()?) {
            return None;
        }
        let atom = |atom| self.atom(path, atom);
        let mut hull: Option<Interval> = None;
        for quotient in quotients.first()..=quotients.last() {
            let whole = Interval::sized(quotient.checked_mul(*by)?, *by).ok()?;
            let inner = values.intersect(whole).shift(inside.offset.checked_neg()?).ok()?;
            let sum = |terms: &[(Atom, i64)]| {
                let known = self.facts[&path].form(terms);
                let own = multiple_of(terms, &inside.terms).and_then(|times| inner.scale(times).ok());
                known.into_iter().chain(own).reduce(Interval::intersect)
            };
            let ends = forms.map(|form| {
                let there = form.with(Atom::Floor(number), quotient)?;
                Some(bound(&there, &self.forms.floors, Known { atom: &atom, sum: &sum }))
            });
            let [Some(a), Some(b)] = ends else { return None };
            let values = int_binary(function, a, b)?;
            hull = Some(hull.map_or(values, |hull| hull.hull(values)));
        }
        hull
    }
}

/// The only floor division of two forms, if both have it and no other.
fn common_floor(a: &Linear, b: &Linear) -> Option<u32> {
    let floors = |form: &Linear| -> Vec<u32> {
        let number = |(atom, _): &(Atom, i64)| match atom {
            Atom::Floor(number) => Some(*number),
            Atom::Coord(_) | Atom::Node(_) => None,
        };
        form.terms.iter().filter_map(number).collect()
    };
    match (&floors(a)[..], &floors(b)[..]) {
        ([a], [b]) if a == b => Some(*a),
        _ => None,
    }
}

/// How many times `of` the terms are, if they are that.
fn multiple_of(terms: &[(Atom, i64)], of: &[(Atom, i64)]) -> Option<i64> {
    let ((_, first), (_, unit)) = (terms.first()?, of.first()?);
    let times = first.checked_div(*unit)?;
    let same = |((atom, factor), (own, unit)): (&(Atom, i64), &(Atom, i64))| {
        atom == own && unit.checked_mul(times) == Some(*factor)
    };
    (terms.len() == of.len() && terms.iter().zip(of).all(same)).then_some(times)
}
