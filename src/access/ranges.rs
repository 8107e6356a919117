//! The range of every node: intervals for integers, lowest and highest value for floats.
//!
//! ```text
//! i64(clamp(d[y, x], -8, 8))      the clamp is in -8.0..=8.0 and never NaN, the cast in -8..9
//! u8(v)                           0..256, whatever v is
//! ```
//!
//! Ranges depend on the conditions under which a node is used ([`Guards`]).

mod quotients;

use super::blocks::{Moved, moved_by_block};
use super::bounds::{Known, bound};
use super::exact::{Ends, I64, Space, extremes};
use super::guards::{ALWAYS, Facts, Guards, PathId};
use super::integers::{int_binary, int_power, interval, small};
use super::linear::{Atom, Forms, Linear};
use super::{Driver, Reach};
use crate::graph::body::{Body, Coord, MathFn, NodeId, Op, ReduceFn};
use crate::graph::scalar::{self, BinaryFn, Scalar, UnaryFn};
use crate::graph::types::{Element, Ty};
use crate::index::interval::{ceil_div, floor_div};
use crate::index::{INF, Interval, Window};
use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};

/// The values of a float node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FloatRange {
    /// Lowest value.
    pub lo: f64,
    /// Highest value.
    pub hi: f64,
    /// It may be NaN as well.
    pub nan: bool,
}

/// The values of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// An integer, or a bool as 0 and 1.
    Int(Interval),
    /// A float.
    Float(FloatRange),
}

/// Ranges of the nodes of one body, worked out when asked for.
pub struct Ranges<'b> {
    body: &'b Body,
    /// Linear forms of the integer nodes.
    pub forms: Forms,
    /// Conditions.
    pub guards: Guards,
    facts: HashMap<PathId, Facts>,
    known: HashMap<(PathId, NodeId), Range>,
    /// Conditions that were looked at, once for every path that they are on.
    looked_at: usize,
}

/// Ranges by node and path that are worked out before selections stop opening paths.
const MAX_KNOWN: usize = 50_000;
/// Conditions that are looked at before they do: of a hundred selections inside each other there are thousands of paths.
const MAX_LOOKED_AT: usize = 200_000;

const ANY: FloatRange = FloatRange { lo: f64::NEG_INFINITY, hi: f64::INFINITY, nan: true };

impl<'b> Ranges<'b> {
    /// Ranges of `body` when coordinates lie in `domains`; absent ones are unbounded.
    pub fn new(body: &'b Body, root: NodeId, windows: &[Window], domains: HashMap<Coord, Interval>) -> Self {
        Ranges::within(body, root, windows, domains, Space::Whole)
    }

    /// The same where coordinates without bounds lie in `space`.
    pub fn within(
        body: &'b Body,
        root: NodeId,
        windows: &[Window],
        domains: HashMap<Coord, Interval>,
        space: Space,
    ) -> Self {
        let (forms, guards) = (Forms::new(body, windows, domains, space), Guards::new(body, root));
        let (facts, known) = (HashMap::new(), HashMap::new());
        let mut ranges = Ranges { body, forms, guards, facts, known, looked_at: 0 };
        for (id, node) in body.nodes() {
            ranges.forms.add(body, id);
            if node.ty == Ty::Strong(Element::I64) && ranges.is_opaque(id) {
                let values = ranges.int(ALWAYS, id);
                ranges.forms.note(id, values);
            }
        }
        ranges
    }

    /// The values of an integer node where the conditions of `path` hold.
    pub fn int(&mut self, path: PathId, id: NodeId) -> Interval {
        self.ensure(path, id);
        self.int_now(path, id)
    }

    /// The values of a form.
    pub fn form(&mut self, path: PathId, form: &Linear) -> Interval {
        self.learn(path);
        self.node_atoms(form).into_iter().for_each(|node| self.ensure(path, node));
        self.bounded(path, form)
    }

    /// The lowest and the highest value of a form, also beyond the index space; none if a part of it has no bounds, or
    /// if it could wrap.
    pub fn ends(&mut self, path: PathId, form: &Linear) -> Option<Ends> {
        let values = self.form(path, form);
        if values.is_bounded() {
            return (!values.is_empty()).then(|| (values.first().into(), values.last().into()));
        }
        let bounded = Cell::new(true);
        let ends = extremes(form, &self.forms.floors, &|atom| {
            let range = self.atom(path, atom);
            bounded.set(bounded.get() && range.is_bounded());
            (range.first().into(), range.last().into())
        });
        (bounded.get() && I64.0 <= ends.0 && ends.1 <= I64.1).then_some(ends)
    }

    /// The reach of `stride · ⌊coord / per⌋ + rest`, for a `per` with more residues than are told apart.
    pub fn moved_by_block(&mut self, path: PathId, form: &Linear) -> Option<Reach> {
        self.learn(path);
        self.node_atoms(form).into_iter().for_each(|node| self.ensure(path, node));
        let (atom, sum) = (|atom| self.atom(path, atom), |terms: &[_]| self.facts[&path].form(terms));
        let known = Known { atom: &atom, sum: &sum };
        let Moved { coord, per, stride, range } = moved_by_block(form, &self.forms.floors, known)?;
        Some(Reach { driver: Some(Driver { coord, stride, per }), range, clip: None })
    }

    /// The values of a coordinate.
    pub fn coord(&mut self, path: PathId, coord: Coord) -> Interval {
        self.learn(path);
        self.facts[&path].coord(coord, &|coord| self.forms.domain(coord))
    }

    /// `max(e, lo)` or `min(e, hi)` with a constant: the form of `e`, if that is its value, and where it is held.
    pub fn limited(&mut self, path: PathId, id: NodeId) -> Option<(Linear, Interval)> {
        let Op::Binary(function @ (BinaryFn::Min | BinaryFn::Max), a, b) = self.body.node(id).op else {
            return None;
        };
        let constant = |id| self.forms.get(id).as_constant();
        let (inside, end) = match (constant(a), constant(b)) {
            (None, Some(end)) => (a, end),
            (Some(end), None) => (b, end),
            _ => return None,
        };
        let limit = if function == BinaryFn::Max { (end, INF) } else { (-INF, end) };
        self.int(path, inside);
        let exact = self.is_exact(path, inside);
        Some((self.forms.get(inside).clone(), Interval::closed(limit.0, limit.1).ok()?)).filter(|_| exact)
    }

    /// Whether the conditions of `path` can hold at all.
    pub fn possible(&mut self, path: PathId) -> bool {
        self.learn(path);
        let facts = &self.facts[&path];
        !facts.contradictory && !facts.coords.values().any(|range| range.is_empty())
    }

    fn learn(&mut self, path: PathId) {
        if !self.facts.contains_key(&path) {
            let conditions = self.guards.conditions(path);
            self.looked_at += conditions.len();
            let facts = Facts::new(self.body, &self.forms, &conditions);
            self.facts.insert(path, facts);
        }
    }

    /// Works out everything that `id` depends on, children first.
    fn ensure(&mut self, path: PathId, id: NodeId) {
        if self.known.contains_key(&(path, id)) {
            return;
        }
        self.learn(path);
        let mut stack = vec![id];
        let mut needed = BTreeSet::from([id]);
        while let Some(next) = stack.pop() {
            for arg in self.depends_on(next) {
                if !self.known.contains_key(&(path, arg)) && needed.insert(arg) {
                    stack.push(arg);
                }
            }
        }
        for id in needed {
            let range = self.evaluate(path, id);
            self.known.insert((path, id), range);
        }
    }

    /// The nodes whose ranges the range of `id` is made from; arms of selections and insides of reductions are another
    /// path's.
    fn depends_on(&self, id: NodeId) -> Vec<NodeId> {
        let node = self.body.node(id);
        if node.ty.is_int() && !self.is_opaque(id) {
            return self.node_atoms(self.forms.get(id));
        }
        let apart = matches!(node.op, Op::Select(..) | Op::Reduce { .. } | Op::Read { .. } | Op::Hash(_));
        if apart || node.ty == Ty::Strong(Element::Bool) { Vec::new() } else { node.op.args() }
    }

    fn is_opaque(&self, id: NodeId) -> bool {
        self.forms.get(id).terms == [(Atom::Node(self.forms.first(id)), 1)]
    }

    /// The nodes that a form is made of besides coordinates.
    pub fn node_atoms(&self, form: &Linear) -> Vec<NodeId> {
        let mut nodes = Vec::new();
        let mut queue = vec![form];
        while let Some(form) = queue.pop() {
            for (atom, _) in &form.terms {
                match atom {
                    Atom::Node(id) => nodes.push(*id),
                    Atom::Floor(floor) => queue.push(&self.forms.floors[*floor as usize].form),
                    Atom::Coord(_) => {}
                }
            }
        }
        nodes
    }

    fn int_now(&self, path: PathId, id: NodeId) -> Interval {
        match self.known.get(&(path, id)) {
            Some(Range::Int(range)) => *range,
            _ => type_range(self.body.ty(id)),
        }
    }

    fn float_now(&self, path: PathId, id: NodeId) -> FloatRange {
        match self.known.get(&(path, id)) {
            Some(Range::Float(range)) => *range,
            _ => ANY,
        }
    }

    fn evaluate(&mut self, path: PathId, id: NodeId) -> Range {
        let node = self.body.node(id);
        match node.ty {
            Ty::Strong(Element::Bool) => Range::Int(type_range(node.ty)),
            ty if ty.is_float() => Range::Float(self.float_node(path, id)),
            _ if self.is_opaque(id) => {
                let range = self.opaque_int(path, id);
                let own = type_range(node.ty);
                let fits = own.contains_interval(range);
                Range::Int(self.constrained(path, &self.forms.get(id).terms, if fits { range } else { own }))
            }
            ty => {
                let form = self.forms.get(id);
                Range::Int(if self.is_exact(path, id) { self.bounded(path, form) } else { type_range(ty) })
            }
        }
    }

    /// Whether the form of a node is its value: narrow integers that may wrap have no form.
    fn is_exact(&self, path: PathId, id: NodeId) -> bool {
        let range = |atom| self.atom(path, atom);
        self.body.ty(id) != Ty::Strong(Element::I64) || self.forms.fits(self.body, self.forms.get(id), &range)
    }

    /// What an atom can be where the conditions of `path` hold.
    fn atom(&self, path: PathId, atom: Atom) -> Interval {
        match atom {
            Atom::Coord(coord) => self.facts[&path].coord(coord, &|coord| self.forms.domain(coord)),
            Atom::Node(id) => self.int_now(path, id),
            Atom::Floor(_) => Interval::all(),
        }
    }

    /// The values of a form whose nodes are known.
    fn bounded(&self, path: PathId, form: &Linear) -> Interval {
        let (atom, sum) = (|atom| self.atom(path, atom), |terms: &[_]| self.facts[&path].form(terms));
        bound(form, &self.forms.floors, Known { atom: &atom, sum: &sum })
    }

    fn constrained(&self, path: PathId, terms: &[(Atom, i64)], range: Interval) -> Interval {
        self.facts[&path].form(terms).map_or(range, |known| range.intersect(known))
    }

    fn opaque_int(&mut self, path: PathId, id: NodeId) -> Interval {
        let body = self.body;
        let own = type_range(body.ty(id));
        let of = |id| self.int_now(path, id);
        match &body.node(id).op {
            Op::Unary(function, a) => match function {
                UnaryFn::Abs => self.magnitude(path, *a),
                UnaryFn::Sign => small(-1, 2),
                UnaryFn::Popcount => small(0, 65),
                UnaryFn::Neg => of(*a).neg(),
                _ => own,
            },
            Op::Binary(BinaryFn::Mul, a, b) if self.forms.first(*a) == self.forms.first(*b) => {
                int_power(of(*a), 2).unwrap_or(own)
            }
            Op::Binary(function, a, b) => {
                let range = int_binary(*function, of(*a), of(*b)).unwrap_or(own);
                let also = [self.halved(path, *function, *a, *b), self.by_quotient(path, *function, *a, *b)];
                also.into_iter().flatten().fold(range, Interval::intersect)
            }
            Op::Select(condition, a, b) => {
                let (yes, no) = self.arms(path, *condition);
                let ranges =
                    [(yes, *a), (no, *b)].map(|(arm, id)| self.possible(arm).then(|| self.int(arm, id)));
                match ranges {
                    [Some(a), Some(b)] => a.hull(b),
                    [Some(one), None] | [None, Some(one)] => one,
                    [None, None] => own,
                }
            }
            Op::Cast(a) => match body.ty(*a) {
                Ty::Strong(Element::Bool) => small(0, 2),
                ty if ty.is_float() => from_float(self.float_now(path, *a), body.ty(id)),
                // A large u64 is a negative i64.
                Ty::Strong(Element::U64) if !of(*a).is_bounded() => own,
                _ => wrapped(of(*a), body.ty(id)).unwrap_or_else(|| of(*a)),
            },
            Op::Table(table, at) => {
                let values = &body.tables[table.index()].values;
                let read = match at[..] {
                    [at] => entries(of(at), values.len()),
                    _ => 0..values.len(),
                };
                let values: Vec<i128> = values[read].iter().filter_map(|value| value.as_int()).collect();
                interval(values.iter().min().copied(), values.iter().max().copied()).unwrap_or(own)
            }
            Op::Reduce { function, vars, body: inner } => self.reduced(path, *function, vars, *inner, own),
            _ => own,
        }
    }

    fn reduced(
        &mut self,
        path: PathId,
        function: ReduceFn,
        vars: &[u32],
        inner: NodeId,
        own: Interval,
    ) -> Interval {
        let count = self.count(vars);
        let inside = self.guards.inside(path, vars);
        match function {
            ReduceFn::ArgMin | ReduceFn::ArgMax => {
                let var = &self.body.binders[vars[0] as usize];
                small(var.lo, var.hi.max(var.lo.saturating_add(1)))
            }
            ReduceFn::Min | ReduceFn::Max if count > 0 => self.int(inside, inner),
            ReduceFn::Sum if count == 0 => small(0, 1),
            // What has no end may wrap.
            ReduceFn::Sum => {
                let sum = self.int(inside, inner).scale(count).ok();
                sum.filter(|sum| sum.is_bounded()).unwrap_or(own)
            }
            ReduceFn::Min | ReduceFn::Max | ReduceFn::Product | ReduceFn::Any | ReduceFn::All => own,
        }
    }

    /// `abs`: not negative, unless the argument is data that could be the smallest integer, whose magnitude wraps.
    fn magnitude(&self, path: PathId, a: NodeId) -> Interval {
        let range = self.int_now(path, a);
        let ends = self.forms.extremes(self.body, self.forms.get(a), &|atom| self.atom(path, atom));
        let smallest = range.lower().is_none() && ends.0 <= i128::from(i64::MIN);
        if smallest || !self.is_exact(path, a) {
            return Interval::all();
        }
        range.max(range.neg()).max(small(0, 1))
    }

    /// The smaller of two integers is at most half their sum, the larger at least: exact where one mirrors the other.
    fn halved(&self, path: PathId, function: BinaryFn, a: NodeId, b: NodeId) -> Option<Interval> {
        if !self.is_exact(path, a) || !self.is_exact(path, b) {
            return None;
        }
        let sum = self.forms.get(a).plus(1, self.forms.get(b))?;
        let sum = self.bounded(path, &sum);
        match function {
            BinaryFn::Min => Interval::bounds(None, Some(floor_div(sum.upper()? - 1, 2) + 1)).ok(),
            BinaryFn::Max => Interval::bounds(Some(ceil_div(sum.lower()?, 2)), None).ok(),
            _ => None,
        }
    }

    fn arms(&mut self, path: PathId, condition: NodeId) -> (PathId, PathId) {
        // Every selection doubles the paths below it: beyond a point its condition is not looked at any more.
        if self.known.len() > MAX_KNOWN || self.looked_at > MAX_LOOKED_AT {
            return (path, path);
        }
        let arms = (self.guards.child(path, condition, true), self.guards.child(path, condition, false));
        self.learn(arms.0);
        self.learn(arms.1);
        arms
    }

    fn count(&self, vars: &[u32]) -> i64 {
        let lengths = vars.iter().map(|var| &self.body.binders[*var as usize]);
        lengths.map(|var| var.hi.saturating_sub(var.lo).max(0)).fold(1, i64::saturating_mul)
    }

    fn float_node(&mut self, path: PathId, id: NodeId) -> FloatRange {
        let range = self.unrounded_float(path, id);
        let round = |value: f64| rounded(value, self.body.ty(id));
        let range = FloatRange { lo: round(range.lo), hi: round(range.hi), nan: range.nan };
        match self.facts[&path].floats.get(&self.forms.first(id)) {
            Some((lo, hi)) => FloatRange { lo: range.lo.max(*lo), hi: range.hi.min(*hi), nan: false },
            None => range,
        }
    }

    fn unrounded_float(&mut self, path: PathId, id: NodeId) -> FloatRange {
        let (body, ty) = (self.body, self.body.ty(id));
        let of = |id| self.float_now(path, id);
        match &body.node(id).op {
            Op::Const(value) => constant_float(*value),
            Op::Unary(function, a) => float_unary(*function, of(*a)),
            Op::Binary(function, a, b) => float_binary(*function, of(*a), of(*b), ty),
            Op::Fma(a, b, c) => fused(of(*a), of(*b), of(*c), ty),
            Op::Select(condition, a, b) => {
                let (yes, no) = self.arms(path, *condition);
                self.ensure(yes, *a);
                self.ensure(no, *b);
                self.float_now(yes, *a).hull(self.float_now(no, *b))
            }
            Op::Cast(a) if body.ty(*a).is_float() => of(*a),
            Op::Cast(a) => {
                let values = self.int_now(path, *a);
                let once = |end: i64| if is_single(ty) { f64::from(end as f32) } else { end as f64 };
                let end = |bound: Option<i64>, infinite: f64| bound.map_or(infinite, once);
                let (lo, hi) = (
                    end(values.lower(), f64::NEG_INFINITY),
                    end(values.upper().map(|hi| hi - 1), f64::INFINITY),
                );
                FloatRange { lo, hi, nan: false }
            }
            Op::Math(function, _) => math(*function),
            Op::Table(table, _) => {
                let values = body.tables[table.index()].values.iter().map(|value| constant_float(*value));
                values.reduce(FloatRange::hull).unwrap_or(ANY)
            }
            Op::Reduce { function: ReduceFn::Min | ReduceFn::Max, vars, body: inner }
                if self.count(vars) > 0 =>
            {
                let inside = self.guards.inside(path, vars);
                self.ensure(inside, *inner);
                self.float_now(inside, *inner)
            }
            _ => ANY,
        }
    }
}

/// What a narrow type makes of numbers that all lie equally many times its values away.
fn wrapped(values: Interval, ty: Ty) -> Option<Interval> {
    let (lo, hi) = ty.strong()?.int_range().filter(|_| values.is_bounded() && !values.is_empty())?;
    let width = hi - lo + 1;
    let [first, last] = [values.first(), values.last()].map(i128::from);
    let times = (first - lo).div_euclid(width);
    ((last - lo).div_euclid(width) == times)
        .then(|| interval(Some(first - times * width), Some(last - times * width)))
        .flatten()
}

/// The values of an integer type; ends beyond the index space count as unbounded.
pub fn type_range(ty: Ty) -> Interval {
    if ty == Ty::Strong(Element::U64) {
        return Interval::bounds(Some(0), None).unwrap_or(Interval::all());
    }
    let range = ty.strong().and_then(Element::int_range);
    range.and_then(|(lo, hi)| interval(Some(lo), Some(hi))).unwrap_or(Interval::all())
}

/// A float cast to an integer type: truncated, saturated, NaN to 0.
fn from_float(range: FloatRange, to: Ty) -> Interval {
    let (lowest, highest) = to.strong().and_then(Element::int_range).expect("an integer type");
    let end = |value: f64| (value as i128).clamp(lowest, highest);
    let finite =
        |value: i128| i64::try_from(value).ok().filter(|value| value.unsigned_abs() < INF.unsigned_abs());
    let values = Interval::bounds(finite(end(range.lo)), finite(end(range.hi)).map(|hi| hi + 1))
        .unwrap_or(Interval::all());
    if range.nan { values.hull(small(0, 1)) } else { values }
}

fn is_single(ty: Ty) -> bool {
    ty == Ty::Strong(Element::F32)
}

/// A value as a float type holds it.
fn rounded(value: f64, ty: Ty) -> f64 {
    if is_single(ty) { f64::from(value as f32) } else { value }
}

fn constant_float(value: Scalar) -> FloatRange {
    let value = value.to_f64();
    if value.is_nan() { ANY } else { FloatRange { lo: value, hi: value, nan: false } }
}

impl FloatRange {
    fn new(lo: f64, hi: f64) -> Self {
        if lo.is_nan() || hi.is_nan() { ANY } else { FloatRange { lo, hi, nan: false } }
    }

    fn hull(self, other: FloatRange) -> FloatRange {
        FloatRange { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi), nan: self.nan || other.nan }
    }

    fn is_finite(self) -> bool {
        self.lo.is_finite() && self.hi.is_finite()
    }
}

fn float_unary(function: UnaryFn, a: FloatRange) -> FloatRange {
    let monotone = |f: fn(f64) -> f64| FloatRange { lo: f(a.lo), hi: f(a.hi), nan: a.nan };
    match function {
        UnaryFn::Neg => FloatRange { lo: -a.hi, hi: -a.lo, nan: a.nan },
        UnaryFn::Abs => {
            let lo = if a.lo <= 0.0 && a.hi >= 0.0 { 0.0 } else { a.lo.abs().min(a.hi.abs()) };
            FloatRange { lo, hi: a.lo.abs().max(a.hi.abs()), nan: a.nan }
        }
        UnaryFn::Sign => FloatRange { lo: -1.0, hi: 1.0, nan: a.nan },
        UnaryFn::Floor => monotone(f64::floor),
        UnaryFn::Ceil => monotone(f64::ceil),
        UnaryFn::Round => monotone(f64::round_ties_even),
        UnaryFn::Trunc => monotone(f64::trunc),
        UnaryFn::Sqrt => {
            FloatRange { lo: a.lo.max(0.0).sqrt(), hi: a.hi.max(0.0).sqrt(), nan: a.nan || a.lo < 0.0 }
        }
        UnaryFn::RoundF16 => monotone(|value| scalar::unary(UnaryFn::RoundF16, Scalar::f64(value)).to_f64()),
        UnaryFn::Not | UnaryFn::Popcount | UnaryFn::Bits | UnaryFn::FloatBits => ANY,
    }
}

fn float_binary(function: BinaryFn, a: FloatRange, b: FloatRange, ty: Ty) -> FloatRange {
    let nan = a.nan || b.nan || !a.is_finite() || !b.is_finite();
    let with = |range: FloatRange| FloatRange { nan: range.nan || nan, ..range };
    match function {
        BinaryFn::Add => with(FloatRange::new(a.lo + b.lo, a.hi + b.hi)),
        BinaryFn::Sub => with(FloatRange::new(a.lo - b.hi, a.hi - b.lo)),
        BinaryFn::Mul => with(corners(a, b, |x, y| x * y)),
        BinaryFn::Div if b.lo > 0.0 || b.hi < 0.0 => with(corners(a, b, |x, y| x / y)),
        BinaryFn::FloorDiv if b.lo > 0.0 || b.hi < 0.0 => {
            with(corners(a, b, |x, y| rounded(x / y, ty).floor()))
        }
        // From 0 to the divisor, which rounding may reach.
        BinaryFn::Rem => {
            FloatRange { lo: b.lo.min(0.0), hi: b.hi.max(0.0), nan: nan || (b.lo <= 0.0 && b.hi >= 0.0) }
        }
        // min(a, b) is b when a is NaN, and b's NaN when b is.
        BinaryFn::Min => {
            FloatRange { lo: a.lo.min(b.lo), hi: if a.nan { b.hi } else { a.hi.min(b.hi) }, nan: b.nan }
        }
        BinaryFn::Max => {
            FloatRange { lo: if a.nan { b.lo } else { a.lo.max(b.lo) }, hi: a.hi.max(b.hi), nan: b.nan }
        }
        _ => ANY,
    }
}

/// `a * b + c`, rounded once: at the ends of `c` it is extreme at the corners of the product.
fn fused(a: FloatRange, b: FloatRange, c: FloatRange, ty: Ty) -> FloatRange {
    let nan = [a, b, c].iter().any(|range| range.nan || !range.is_finite());
    let at = |x: f64, y: f64, z: f64| {
        if is_single(ty) { f64::from((x as f32).mul_add(y as f32, z as f32)) } else { x.mul_add(y, z) }
    };
    let products = [(a.lo, b.lo), (a.lo, b.hi), (a.hi, b.lo), (a.hi, b.hi)];
    let (lows, highs) = (products.map(|(x, y)| at(x, y, c.lo)), products.map(|(x, y)| at(x, y, c.hi)));
    if lows.iter().chain(&highs).any(|value| value.is_nan()) {
        return ANY;
    }
    let lo = lows.into_iter().fold(f64::INFINITY, f64::min);
    FloatRange { lo, hi: highs.into_iter().fold(f64::NEG_INFINITY, f64::max), nan }
}

fn corners(a: FloatRange, b: FloatRange, f: impl Fn(f64, f64) -> f64) -> FloatRange {
    let values = [f(a.lo, b.lo), f(a.lo, b.hi), f(a.hi, b.lo), f(a.hi, b.hi)];
    if values.iter().any(|value| value.is_nan()) {
        return ANY;
    }
    FloatRange::new(
        values.into_iter().fold(f64::INFINITY, f64::min),
        values.into_iter().fold(f64::NEG_INFINITY, f64::max),
    )
}

/// What a math function gives whatever its arguments are; a little wider than the truth, for its last bits.
fn math(function: MathFn) -> FloatRange {
    let (lo, hi) = match function {
        MathFn::Sin | MathFn::Cos | MathFn::Tanh => (-1.000_001, 1.000_001),
        MathFn::Atan | MathFn::Asin => (-1.570_797, 1.570_797),
        MathFn::Acos => (0.0, 3.141_594),
        MathFn::Atan2 => (-3.141_594, 3.141_594),
        MathFn::Exp | MathFn::Exp2 | MathFn::Cosh | MathFn::Hypot => (0.0, f64::INFINITY),
        MathFn::Rsqrt | MathFn::Log | MathFn::Log2 | MathFn::Pow | MathFn::Tan | MathFn::Sinh => return ANY,
    };
    FloatRange { lo, hi, nan: true }
}

/// The entries of a list that a coordinate of it can be; all where that is none of them, which is an error elsewhere.
fn entries(at: Interval, len: usize) -> std::ops::Range<usize> {
    let inside = at.intersect(Interval::trusted(0, len as i64 - 1));
    if inside.is_empty() { 0..len } else { inside.first() as usize..inside.last() as usize + 1 }
}
