//! Which conditions hold where a node is used, and what they say about coordinates.
//!
//! ```text
//! if x > 0 and x < n then a[x - 1] else 0      where a is read, x is in 1..n
//! if t == 0 then … else h[t - 1]               with t in 0..50: where h is read, t is in 1..50
//! if x % 200 < 100 then a[x % 100] else 0      with x in -2..3: where a is read, x is in 0..3
//! ```
//!
//! A node that is used in several places keeps the conditions that all of them share.

use super::bounds::{Known, bound};
use super::linear::{Atom, Floor, Forms, Linear};
use crate::graph::body::{Body, Coord, NodeId, Op};
use crate::graph::scalar::{BinaryFn, UnaryFn};
use crate::graph::types::{Element, Ty};
use crate::index::Interval;
use crate::index::interval::floor_rem;
use std::collections::{BTreeMap, HashMap};

/// A list of conditions, innermost last; 0 is the empty one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathId(pub u32);

/// One more condition on top of another path.
#[derive(Clone, Copy, Debug)]
struct Path {
    parent: PathId,
    condition: NodeId,
    holds: bool,
    depth: u32,
}

/// The paths of a body and the one that each node is on.
#[derive(Debug)]
pub struct Guards {
    paths: Vec<Path>,
    children: HashMap<(PathId, NodeId, bool), PathId>,
    of: Vec<Option<PathId>>,
    /// Per node, which variables of reductions occur in it, one bit each; several may share a bit.
    variables: Vec<u64>,
}

/// What the conditions of a path say.
#[derive(Clone, Debug)]
pub struct Facts {
    /// One of them is a comparison between constants that does not hold: they never hold together.
    pub contradictory: bool,
    /// Where coordinates lie, where that is narrower than their domain.
    pub coords: BTreeMap<Coord, Interval>,
    /// Where forms without offset lie: the terms and the range of their sum.
    pub forms: Vec<(Vec<(Atom, i64)>, Interval)>,
    /// Where floats lie that were compared with constants: lowest and highest, never NaN.
    pub floats: BTreeMap<NodeId, (f64, f64)>,
}

/// `a function b`, which holds or does not.
#[derive(Clone, Copy, Debug)]
struct Comparison {
    function: BinaryFn,
    holds: bool,
    a: NodeId,
    b: NodeId,
}

/// No conditions.
pub const ALWAYS: PathId = PathId(0);

impl Guards {
    /// Walks from the root to the leaves; the arms of a selection add its condition.
    pub fn new(body: &Body, root: NodeId) -> Self {
        let start = Path { parent: ALWAYS, condition: root, holds: true, depth: 0 };
        let (children, variables) = (HashMap::new(), variables(body));
        let mut guards = Guards { paths: vec![start], children, of: vec![None; body.len()], variables };
        guards.of[root.index()] = Some(ALWAYS);
        for id in (0..=root.index()).rev() {
            let Some(path) = guards.of[id] else { continue };
            match &body.node(NodeId(id as u32)).op {
                Op::Select(condition, then, otherwise) => {
                    guards.used(*condition, path);
                    let (yes, no) =
                        (guards.child(path, *condition, true), guards.child(path, *condition, false));
                    guards.used(*then, yes);
                    guards.used(*otherwise, no);
                }
                Op::Reduce { vars, body, .. } => {
                    let inside = guards.inside(path, vars);
                    guards.used(*body, inside);
                }
                op => op.args().into_iter().for_each(|arg| guards.used(arg, path)),
            }
        }
        guards
    }

    /// The conditions under which a node is used; `None` if it is not.
    pub fn of(&self, id: NodeId) -> Option<PathId> {
        self.of[id.index()]
    }

    /// `path` and one more condition.
    pub fn child(&mut self, path: PathId, condition: NodeId, holds: bool) -> PathId {
        let depth = self.paths[path.0 as usize].depth + 1;
        let next = PathId(self.paths.len() as u32);
        let child = *self.children.entry((path, condition, holds)).or_insert(next);
        if child == next {
            self.paths.push(Path { parent: path, condition, holds, depth });
        }
        child
    }

    /// The conditions of a path that hold inside a reduction over `vars`: reductions of one range share a variable, and
    /// what is said about it outside is about another one.
    pub fn inside(&self, path: PathId, vars: &[u32]) -> PathId {
        let bits = vars.iter().fold(0, |bits, var| bits | bit(*var));
        let (mut clean, mut at) = (path, path);
        while at != ALWAYS {
            let Path { parent, condition, .. } = self.paths[at.0 as usize];
            if self.variables[condition.index()] & bits != 0 {
                clean = parent;
            }
            at = parent;
        }
        clean
    }

    /// The conditions of a path as (condition, whether it holds), innermost first.
    pub fn conditions(&self, mut path: PathId) -> Vec<(NodeId, bool)> {
        let mut conditions = Vec::new();
        while path != ALWAYS {
            let Path { parent, condition, holds, .. } = self.paths[path.0 as usize];
            conditions.push((condition, holds));
            path = parent;
        }
        conditions
    }

    fn used(&mut self, id: NodeId, path: PathId) {
        let shared = self.of[id.index()].map_or(path, |known| self.common(known, path));
        self.of[id.index()] = Some(shared);
    }

    fn common(&self, mut a: PathId, mut b: PathId) -> PathId {
        let at = |path: PathId| self.paths[path.0 as usize];
        while a != b {
            if at(a).depth >= at(b).depth {
                a = at(a).parent;
            } else {
                b = at(b).parent;
            }
        }
        a
    }
}

impl Facts {
    /// What `conditions` say about coordinates and nodes, which lie at least where `forms` knows them to be.
    pub fn new(body: &Body, forms: &Forms, conditions: &[(NodeId, bool)]) -> Self {
        let mut facts = Facts {
            contradictory: false,
            coords: BTreeMap::new(),
            forms: Vec::new(),
            floats: BTreeMap::new(),
        };
        let mut queue = conditions.to_vec();
        let mut comparisons = Vec::new();
        while let Some((condition, holds)) = queue.pop() {
            match body.node(condition).op {
                Op::Const(value) => facts.contradictory |= value.is_true() != holds,
                Op::Unary(UnaryFn::Not, a) => queue.push((a, !holds)),
                Op::Binary(BinaryFn::And, a, b) if holds => queue.extend([(a, true), (b, true)]),
                Op::Binary(BinaryFn::Or, a, b) if !holds => queue.extend([(a, false), (b, false)]),
                Op::Binary(function, a, b) if function.is_comparison() => match body.ty(a) {
                    Ty::Strong(element) if element.is_int() => {
                        comparisons.push(Comparison { function, holds, a, b });
                    }
                    Ty::Strong(element) if element.is_float() && holds => {
                        facts.compare_floats(body, function, forms.first(a), forms.first(b))
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        facts.compare(body, forms, comparisons);
        facts
    }

    /// Learns from comparisons whose sides do not wrap; what some of them say may show that others do not.
    fn compare(&mut self, body: &Body, forms: &Forms, mut comparisons: Vec<Comparison>) {
        let domain = |coord| forms.domain(coord);
        let mut different = Vec::new();
        while !comparisons.is_empty() {
            let exact =
                |id| body.ty(id) != Ty::Strong(Element::I64) || self.is_exact(body, forms, forms.get(id));
            let (sound, waiting): (Vec<_>, Vec<_>) =
                comparisons.into_iter().partition(|comparison| exact(comparison.a) && exact(comparison.b));
            if sound.is_empty() {
                break;
            }
            for comparison in &sound {
                self.compare_ints(forms, comparison, &mut different);
                self.bound_unsigned(body, forms, comparison);
            }
            self.divide(body, forms);
            self.spread(&domain);
            comparisons = waiting;
        }
        self.exclude(different, &domain);
    }

    /// Whether a form has its value where these facts hold, and does not wrap.
    fn is_exact(&self, body: &Body, forms: &Forms, form: &Linear) -> bool {
        forms.fits(body, form, &|atom| match atom {
            Atom::Coord(coord) => self.coord(coord, &|coord| forms.domain(coord)),
            Atom::Floor(_) | Atom::Node(_) => forms.range_of(body, atom),
        })
    }

    fn compare_ints(
        &mut self,
        forms: &Forms,
        Comparison { function, holds, a, b }: &Comparison,
        different: &mut Vec<Linear>,
    ) {
        let Some(difference) = forms.get(*a).plus(-1, forms.get(*b)) else { return };
        let range = match (function, holds) {
            (BinaryFn::Lt, true) | (BinaryFn::Ge, false) => Interval::bounds(None, Some(0)),
            (BinaryFn::Le, true) | (BinaryFn::Gt, false) => Interval::bounds(None, Some(1)),
            (BinaryFn::Gt, true) | (BinaryFn::Le, false) => Interval::bounds(Some(1), None),
            (BinaryFn::Ge, true) | (BinaryFn::Lt, false) => Interval::bounds(Some(0), None),
            (BinaryFn::Eq, true) | (BinaryFn::Ne, false) => Interval::new(0, 1),
            _ if difference.as_constant() == Some(0) => return self.contradictory = true,
            _ => return different.push(difference),
        };
        let shifted = range.ok().and_then(|range| range.shift(difference.offset.checked_neg()?).ok());
        match shifted {
            // `range` is now where the sum of no terms would have to be.
            Some(range) if difference.terms.is_empty() => self.contradictory |= !range.contains(0),
            Some(range) => self.forms.push((difference.terms, range)),
            None => {}
        }
    }

    /// A `u64` that is less than a constant is the same number as an `i64`, and not below 0.
    fn bound_unsigned(&mut self, body: &Body, forms: &Forms, comparison: &Comparison) {
        let Comparison { function, holds, a, b } = *comparison;
        let (small, large, strict) = match (function, holds) {
            (BinaryFn::Lt, true) | (BinaryFn::Ge, false) => (a, b, 1),
            (BinaryFn::Le, true) | (BinaryFn::Gt, false) | (BinaryFn::Eq, true) | (BinaryFn::Ne, false) => {
                (a, b, 0)
            }
            (BinaryFn::Gt, true) | (BinaryFn::Le, false) => (b, a, 1),
            (BinaryFn::Ge, true) | (BinaryFn::Lt, false) => (b, a, 0),
            _ => return,
        };
        let (Some(signed), Some(most)) = (forms.as_signed(small), forms.get(large).as_constant()) else {
            return;
        };
        let range = Interval::closed(0, most - strict).ok();
        let shifted = range.and_then(|range| range.shift(signed.offset.checked_neg()?).ok());
        if let Some(range) = shifted.filter(|_| self.is_exact(body, forms, signed)) {
            self.forms.push((signed.terms.clone(), range));
        }
    }

    /// Carries what is known about remainders over to what is divided: its ends are where it has such a remainder.
    ///
    /// ```text
    /// x in -2..3 and x % 200 < 100      x in 0..3
    /// ```
    fn divide(&mut self, body: &Body, forms: &Forms) {
        let known = self.forms.iter().filter_map(|(terms, range)| {
            let (number, turned) = remainder(terms, &forms.floors)?;
            Some((number, if turned { range.neg() } else { *range }))
        });
        // What is divided has only earlier divisions in it.
        let mut known: Vec<(u32, Interval)> = known.collect();
        known.sort_by_key(|(number, _)| *number);
        for (number, range) in known {
            let Floor { form, by } = &forms.floors[number as usize];
            let (Ok(range), Ok(all)) = (range.shift(form.offset), Interval::new(0, *by)) else { continue };
            let atom = |atom| match atom {
                Atom::Coord(coord) => self.coord(coord, &|coord| forms.domain(coord)),
                Atom::Floor(_) | Atom::Node(_) => forms.range_of(body, atom),
            };
            let values = bound(form, &forms.floors, Known { atom: &atom, sum: &|terms| self.form(terms) });
            let narrowed = with_remainder(values, *by, range.intersect(all));
            self.contradictory |= narrowed.is_empty();
            if narrowed != values
                && let Some(narrowed) = form.offset.checked_neg().and_then(|by| narrowed.shift(by).ok())
            {
                self.forms.push((form.terms.clone(), narrowed));
            }
        }
    }

    fn compare_floats(&mut self, body: &Body, function: BinaryFn, a: NodeId, b: NodeId) {
        let constant =
            |id| body.constant(id).and_then(|value| value.as_float()).filter(|value| !value.is_nan());
        let (node, bound, below) = match (constant(a), constant(b)) {
            (None, Some(bound)) => (a, bound, matches!(function, BinaryFn::Lt | BinaryFn::Le)),
            (Some(bound), None) => (b, bound, matches!(function, BinaryFn::Gt | BinaryFn::Ge)),
            _ => return,
        };
        // NaN differs from everything, so `!=` says nothing about it.
        if function == BinaryFn::Ne {
            return;
        }
        let (lo, hi) = self.floats.entry(node).or_insert((f64::NEG_INFINITY, f64::INFINITY));
        let strict = matches!(function, BinaryFn::Lt | BinaryFn::Gt);
        let step = |bound: f64, up: bool| if strict { neighbour(bound, body.ty(node), up) } else { bound };
        match function {
            BinaryFn::Eq => (*lo, *hi) = (lo.max(bound), hi.min(bound)),
            _ if below => *hi = hi.min(step(bound, false)),
            _ => *lo = lo.max(step(bound, true)),
        }
    }

    /// Carries what is known about sums over to each coordinate in them.
    fn spread(&mut self, domain: &dyn Fn(Coord) -> Interval) {
        for _ in 0..2 {
            for (terms, range) in self.forms.clone() {
                for (atom, factor) in &terms {
                    let Atom::Coord(coord) = atom else { continue };
                    let others = terms.iter().filter(|(other, _)| other != atom);
                    let mut rest = Interval::new(0, 1).expect("0..1 is an interval");
                    for (other, factor) in others {
                        let values = match other {
                            Atom::Coord(other) => self.coord(*other, domain),
                            Atom::Floor(_) | Atom::Node(_) => Interval::all(),
                        };
                        rest = values
                            .scale(*factor)
                            .and_then(|values| rest.add(values))
                            .unwrap_or(Interval::all());
                    }
                    let Ok(scaled) = range.sub(rest) else { continue };
                    let Ok(values) = scaled.preimage(0, *factor) else { continue };
                    let narrowed = self.coord(*coord, domain).intersect(values);
                    self.coords.insert(*coord, narrowed);
                }
            }
        }
    }

    /// A value that a coordinate does not have narrows it at an end; in order, so that one may follow the other.
    fn exclude(&mut self, different: Vec<Linear>, domain: &dyn Fn(Coord) -> Interval) {
        let mut values: Vec<(Coord, i64)> = different.iter().filter_map(excluded).collect();
        values.sort_unstable();
        for (coord, value) in values.iter().chain(values.iter().rev()) {
            let known = self.coord(*coord, domain);
            let narrowed = match (known.lower(), known.upper()) {
                (Some(lo), upper) if lo == *value => Interval::bounds(Some(lo + 1), upper),
                (lower, Some(hi)) if hi - 1 == *value => Interval::bounds(lower, Some(hi - 1)),
                _ => continue,
            };
            let nothing = Interval::new(*value, *value).unwrap_or(known);
            self.coords.insert(*coord, narrowed.unwrap_or(nothing));
        }
    }

    /// Where a coordinate lies.
    pub fn coord(&self, coord: Coord, domain: &dyn Fn(Coord) -> Interval) -> Interval {
        self.coords.get(&coord).copied().unwrap_or_else(|| domain(coord))
    }

    /// What is known about a form with these very terms, up to a factor.
    pub fn form(&self, terms: &[(Atom, i64)]) -> Option<Interval> {
        let mut known: Option<Interval> = None;
        for (own, range) in &self.forms {
            let Some(factor) = multiple(own, terms) else { continue };
            let Ok(range) = range.scale(factor) else { continue };
            known = Some(known.map_or(range, |known| known.intersect(range)));
        }
        known
    }
}

fn bit(var: u32) -> u64 {
    1 << (var % 64)
}

/// Which variables of reductions occur in each node.
fn variables(body: &Body) -> Vec<u64> {
    let mut variables: Vec<u64> = Vec::with_capacity(body.len());
    for (_, node) in body.nodes() {
        let own = match &node.op {
            Op::Coord(Coord::Bound(var)) => bit(*var),
            op => op.args().iter().fold(0, |bits, arg| bits | variables[arg.index()]),
        };
        variables.push(own);
    }
    variables
}

/// The floor division whose remainder these terms are, up to its offset, and whether they are the negative of that.
fn remainder(terms: &[(Atom, i64)], floors: &[Floor]) -> Option<(u32, bool)> {
    terms.iter().find_map(|(atom, factor)| {
        let Atom::Floor(number) = atom else { return None };
        let floor = &floors[*number as usize];
        let turned = *factor > 0;
        let divided = Linear { offset: 0, terms: floor.form.terms.clone() };
        let own = divided.plus(floor.by.checked_neg()?, &Linear::atom(*atom))?;
        let own = if turned { own.times(-1)? } else { own };
        (own.terms == terms).then_some((*number, turned))
    })
}

/// From the first to the last of these values whose remainder by `by` lies in `remainders`.
fn with_remainder(values: Interval, by: i64, remainders: Interval) -> Interval {
    if values.is_empty() || remainders.is_empty() {
        return Interval::EMPTY;
    }
    let (least, most) = (remainders.first(), remainders.last());
    let up = |value: i64| match floor_rem(value, by) {
        rest if rest < least => value.saturating_add(least - rest),
        rest if rest > most => value.saturating_add(by - rest + least),
        _ => value,
    };
    let down = |value: i64| match floor_rem(value, by) {
        rest if rest > most => value.saturating_sub(rest - most),
        rest if rest < least => value.saturating_sub(rest + by - most),
        _ => value,
    };
    let lo = values.lower().map(up);
    let end = values.upper().map(|end| down(end - 1) + 1);
    if lo.zip(end).is_some_and(|(lo, end)| lo >= end) {
        return Interval::EMPTY;
    }
    Interval::bounds(lo, end).unwrap_or(values)
}

/// The value of a coordinate at which a form is 0.
fn excluded(form: &Linear) -> Option<(Coord, i64)> {
    match form.terms[..] {
        [(Atom::Coord(coord), factor)] if form.offset.checked_rem(factor)? == 0 => {
            Some((coord, form.offset.checked_div(factor)?.checked_neg()?))
        }
        _ => None,
    }
}

/// The next float of a type above or below: what `<` leaves.
fn neighbour(value: f64, ty: Ty, up: bool) -> f64 {
    match (ty, up) {
        (Ty::Strong(Element::F64), true) => value.next_up(),
        (Ty::Strong(Element::F64), false) => value.next_down(),
        (_, true) => f64::from((value as f32).next_up()),
        (_, false) => f64::from((value as f32).next_down()),
    }
}

/// The factor that makes `own` into `terms`.
fn multiple(own: &[(Atom, i64)], terms: &[(Atom, i64)]) -> Option<i64> {
    let (&(_, first), &(_, target)) = (own.first()?, terms.first()?);
    let factor = target.checked_div(first)?;
    let same = |((a, x), (b, y)): (&(Atom, i64), &(Atom, i64))| a == b && x.checked_mul(factor) == Some(*y);
    (own.len() == terms.len() && factor != 0 && own.iter().zip(terms).all(same)).then_some(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_a_remainder_end_where_they_have_one() {
        for (by, least, most) in [(2, 1, 1), (5, 0, 2), (5, 2, 4), (6, 3, 3), (7, 0, 6)] {
            let remainders = Interval::closed(least, most).unwrap();
            for lo in -9..9 {
                for hi in lo..lo + 12 {
                    let mut values = (lo..hi).filter(|value| remainders.contains(floor_rem(*value, by)));
                    let expect = values.next().map_or(Interval::EMPTY, |first| {
                        Interval::closed(first, values.next_back().unwrap_or(first)).unwrap()
                    });
                    let found = with_remainder(Interval::new(lo, hi).unwrap(), by, remainders);
                    assert_eq!(found, expect, "{lo}..{hi} by {by} in {remainders}");
                }
            }
        }
    }
}
