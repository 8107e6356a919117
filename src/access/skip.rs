//! Which elements of a source in a format a body need not look at.
//!
//! ```text
//! sum(k in 0..9) a[y, k] * b[k]          a holds 0 mostly: walk along the stored k, if every b[k] is finite
//! if m[y, x] then a[y, x] else 0         m holds false mostly: compute where m is stored, 0 is everywhere else
//! sum(k in 0..9) a[y, k] + 1             1 is added for every k: nothing can be left out
//! ```
//!
//! No value may depend on a format. What is left out must leave every bit of the result as it is, and [`known`] says
//! whether it does: `0 * b` is nothing only beside finite numbers, `min` forgets a NaN at the next element, and a fused
//! product that is too small to be seen can leave a -0.0 behind, which the next +0.0 would turn. What hangs on the data
//! becomes a condition ([`Needs`]) that the engine looks at before it skips.

mod known;

use super::linear::{Atom, Linear};
use super::{Access, TensorAccess};
use crate::graph::body::{Body, Coord, NodeId, Op, ReduceFn, TensorId};
use crate::graph::fold::identity;
use crate::graph::resolve_weak::Resolved;
use crate::graph::scalar::{BinaryFn, Scalar, UnaryFn};
use crate::graph::types::{Element, Ty};
use crate::graph::{Format, Graph, Level};
use crate::index::Interval;
use known::{Judge, Known};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// How a body reads its sources that have a format.
#[derive(Clone, Debug, PartialEq)]
pub enum Skip {
    /// A reduction goes along the stored elements of one of them.
    Walk(Walk),
    /// Only elements near stored ones are computed.
    Cover(Cover),
    /// Everything is looked at; why, for each of them.
    Dense(Vec<(TensorId, String)>),
}

impl Skip {
    /// The reduction that goes along stored elements.
    pub fn walk(&self) -> Option<&Walk> {
        match self {
            Skip::Walk(walk) => Some(walk),
            Skip::Cover(_) | Skip::Dense(_) => None,
        }
    }
}

/// A reduction whose innermost variable goes along the stored elements of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// Whose elements.
    pub tensor: TensorId,
    /// The one read of it.
    pub read: NodeId,
    /// What is reduced there.
    pub inner: NodeId,
    /// The innermost variable.
    pub var: u32,
    /// The last coordinate of the read is the variable plus this.
    pub offset: i64,
    /// Where the last coordinate lies.
    pub range: Interval,
    /// Runs of one value are stored, rather than elements.
    pub runs: bool,
    /// What must be true of the data.
    pub needs: Needs,
}

/// Conditions on data under which elements can be left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Needs {
    /// Tensors without NaN and infinities.
    pub finite: BTreeSet<TensorId>,
    /// The factors of a fused product, whose smallest magnitudes must not vanish in it.
    pub factors: Option<[Vec<Factor>; 2]>,
    /// What the product of the smallest factors must reach: then products are multiples of the least number of the
    /// type, and no sum of them rounds to -0.0.
    pub visible: f64,
}

/// What a factor of a product can be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Factor {
    /// An element of a tensor.
    Of(TensorId),
    /// This number, or one that is larger.
    Number(f64),
}

/// A body that is a constant where its sources hold nothing but their fills.
#[derive(Clone, Debug, PartialEq)]
pub struct Cover {
    /// Reads whose stored elements matter: an element is computed if one lies at its place moved by something in the box.
    pub reads: Vec<(TensorId, Vec<Interval>)>,
    /// The value everywhere else.
    pub background: Scalar,
}

/// How a pointwise body reads its sources in formats; `None` if it has none.
pub fn skip(graph: &Graph, resolved: &Resolved, access: &TensorAccess, rank: usize) -> Option<Skip> {
    let formats: BTreeMap<TensorId, &Format> = access
        .reads
        .iter()
        .filter_map(|read| Some((read.tensor, graph.tensor(read.tensor).format.as_ref()?)))
        .collect();
    if formats.is_empty() {
        return None;
    }
    let sight = Sight { graph, resolved, access, formats };
    let mut reasons = Vec::new();
    for tensor in sight.formats.keys() {
        match sight.walk(*tensor) {
            Ok(walk) => return Some(Skip::Walk(walk)),
            Err(why) => reasons.push((*tensor, why)),
        }
    }
    Some(sight.cover(rank).map_or(Skip::Dense(reasons), Skip::Cover))
}

/// A body, its reads, and the formats of what it reads.
struct Sight<'s> {
    graph: &'s Graph,
    resolved: &'s Resolved,
    access: &'s TensorAccess,
    formats: BTreeMap<TensorId, &'s Format>,
}

impl Sight<'_> {
    fn body(&self) -> &Body {
        &self.resolved.body
    }

    /// The reduction that goes along the stored elements of a source, or why there is none.
    fn walk(&self, tensor: TensorId) -> Result<Walk, String> {
        let mut reads = self.access.reads.iter().filter(|read| read.tensor == tensor);
        let (Some(read), None) = (reads.next(), reads.next()) else {
            return Err("it is read at several places".to_owned());
        };
        let Some((reduce, function, vars, inner)) = self.reduction(read.read) else {
            return Err("it is not read in one reduction, outside of others".to_owned());
        };
        let var = *vars.last().expect("a reduction has variables");
        let offset = along(read, var).ok_or("its last coordinate is not the innermost variable")?;
        let needs = self.needs(read, reduce, function, inner)?;
        let binder = &self.body().binders[var as usize];
        let range = Interval::new(binder.lo + offset, binder.hi + offset).map_err(|_| "it has no bounds")?;
        let runs = self.formats[&tensor].levels.last() == Some(&Level::RunList);
        Ok(Walk { tensor, read: read.read, inner, var, offset, range, runs, needs })
    }

    /// The one reduction that a read is in.
    fn reduction(&self, read: NodeId) -> Option<(NodeId, ReduceFn, Vec<u32>, NodeId)> {
        let mut found = None;
        for (id, node) in self.body().nodes() {
            let Op::Reduce { function, vars, body } = &node.op else { continue };
            if !self.reaches(*body, read) {
                continue;
            }
            if found.replace((id, *function, vars.clone(), *body)).is_some() {
                return None;
            }
        }
        found.filter(|(reduce, ..)| self.is_outermost(*reduce) && !self.reads_outside(read, *reduce))
    }

    fn is_outermost(&self, reduce: NodeId) -> bool {
        let mut others = self.body().nodes().filter(|(id, _)| *id != reduce);
        others.all(|(_, node)| !matches!(node.op, Op::Reduce { body, .. } if self.reaches(body, reduce)))
    }

    /// Whether the root depends on a node other than through another.
    fn reads_outside(&self, node: NodeId, except: NodeId) -> bool {
        self.search(self.resolved.root, node, Some(except))
    }

    fn reaches(&self, from: NodeId, to: NodeId) -> bool {
        self.search(from, to, None)
    }

    fn search(&self, from: NodeId, to: NodeId, except: Option<NodeId>) -> bool {
        let (mut stack, mut seen) = (vec![from], BTreeSet::from([from]));
        while let Some(id) = stack.pop() {
            if Some(id) == except {
                continue;
            }
            if id == to {
                return true;
            }
            stack.extend(self.body().node(id).op.args().into_iter().filter(|arg| seen.insert(*arg)));
        }
        false
    }

    /// What must be true of the data so that the fill adds nothing to a reduction.
    fn needs(
        &self,
        read: &Access,
        reduce: NodeId,
        function: ReduceFn,
        inner: NodeId,
    ) -> Result<Needs, String> {
        let fill = self.formats[&read.tensor].fill;
        let fills = [(read.read, fill)];
        let at_fill = |finite| Judge { graph: self.graph, body: self.body(), fills: &fills, finite };
        let element = self.body().ty(inner).strong().ok_or("it has no type")?;
        let nothing = |known: Known| adds_nothing(function, element, known);
        let mut needs = Needs::default();
        let floats = self.floats(inner);
        if !nothing(at_fill(false).known(inner)) {
            if !nothing(at_fill(true).known(inner)) {
                return Err("what its fill adds to the reduction is not nothing".to_owned());
            }
            needs.finite = floats.iter().copied().filter(|tensor| *tensor != read.tensor).collect();
        }
        if matches!(function, ReduceFn::Min | ReduceFn::Max) && element.is_float() {
            let all = Judge { graph: self.graph, body: self.body(), fills: &[], finite: true };
            if !all.known(inner).is_number() {
                return Err("a NaN in the reduction would not be forgotten at the next element".to_owned());
            }
            needs.finite = floats;
        }
        if function == ReduceFn::Sum && element.is_float() {
            needs.factors = self.fused(inner)?;
            // Two significands of p bits make one of 2p: 2^-149 and 2^-1074 are the least numbers.
            needs.visible = if element == Element::F64 { 2f64.powi(-960) } else { 2f64.powi(-100) };
        }
        debug_assert!(self.reaches(reduce, inner), "a reduction depends on what it reduces");
        Ok(needs)
    }

    /// Float tensors that a node reads.
    fn floats(&self, node: NodeId) -> BTreeSet<TensorId> {
        let reads = self.access.reads.iter().filter(|read| self.reaches(node, read.read));
        reads.map(|read| read.tensor).filter(|tensor| self.graph.tensor(*tensor).element.is_float()).collect()
    }

    /// The factors of a sum's product, which is added before it is rounded.
    fn fused(&self, inner: NodeId) -> Result<Option<[Vec<Factor>; 2]>, String> {
        let Op::Binary(BinaryFn::Mul, a, b) = self.body().node(inner).op else { return Ok(None) };
        let [mut left, mut right] = [Vec::new(), Vec::new()];
        if self.factor(a, &mut left) && self.factor(b, &mut right) {
            return Ok(Some([left, right]));
        }
        Err("its products are not of elements and numbers: one too small to be seen would leave -0.0"
            .to_owned())
    }

    /// Collects what a factor can be; false if that is not known.
    fn factor(&self, id: NodeId, found: &mut Vec<Factor>) -> bool {
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            let node = self.body().node(id);
            match &node.op {
                Op::Read { tensor, .. } => found.push(Factor::Of(*tensor)),
                Op::Const(value) => found.push(Factor::Number(value.to_f64())),
                Op::Cast(a) if self.body().ty(*a).is_float() => {
                    // To a smaller type numbers may vanish.
                    if self.body().ty(*a) == Ty::Strong(Element::F64) && node.ty != self.body().ty(*a) {
                        return false;
                    }
                    stack.push(*a);
                }
                Op::Cast(_) => found.push(Factor::Number(1.0)),
                Op::Unary(UnaryFn::Neg | UnaryFn::Abs, a) => stack.push(*a),
                Op::Select(_, a, b) => stack.extend([*a, *b]),
                _ => return false,
            }
        }
        true
    }

    /// A constant beside the stored elements of sources that are read near the place that is computed.
    fn cover(&self, rank: usize) -> Option<Cover> {
        let near = self.access.reads.iter().filter(|read| self.formats.contains_key(&read.tensor));
        let near = near.filter_map(|read| Some((read, self.moved(read, rank)?)));
        let (mut fills, mut reads) = (Vec::new(), Vec::new());
        for (read, moved) in near {
            fills.push((read.read, self.formats[&read.tensor].fill));
            reads.push((read.tensor, moved));
        }
        let judge = Judge { graph: self.graph, body: self.body(), fills: &fills, finite: false };
        match judge.known(self.resolved.root) {
            Known::Exact(background) if !reads.is_empty() => Some(Cover { reads, background }),
            _ => None,
        }
    }

    /// How far from its own place, per dimension, a body reads; `None` if that is not a box.
    fn moved(&self, read: &Access, rank: usize) -> Option<Vec<Interval>> {
        if read.map.len() != rank || rank == 0 {
            return None;
        }
        let dims = read.map.iter().enumerate();
        dims.map(|(dim, form)| self.moved_along(form, dim as u32)).collect()
    }

    fn moved_along(&self, form: &Linear, dim: u32) -> Option<Interval> {
        let (mut lo, mut hi, mut own) = (form.offset, form.offset, false);
        for (atom, factor) in &form.terms {
            match atom {
                Atom::Coord(Coord::Global(with)) if *with == dim && *factor == 1 => own = true,
                Atom::Coord(Coord::Bound(var)) => {
                    let binder = &self.body().binders[*var as usize];
                    let (a, b) = (binder.lo.checked_mul(*factor)?, (binder.hi - 1).checked_mul(*factor)?);
                    (lo, hi) = (lo.checked_add(a.min(b))?, hi.checked_add(a.max(b))?);
                }
                Atom::Coord(_) | Atom::Floor(_) | Atom::Node(_) => return None,
            }
        }
        own.then(|| Interval::new(lo, hi.checked_add(1)?).ok()).flatten()
    }
}

/// What is added to a variable to make the last coordinate of a read, if no other coordinate depends on it.
fn along(read: &Access, var: u32) -> Option<i64> {
    let atom = Atom::Coord(Coord::Bound(var));
    let (last, outer) = read.map.split_last()?;
    let alone = last.terms == [(atom, 1)];
    let apart = outer.iter().all(|form| {
        // A quotient or a value of its own may hide the variable.
        form.terms.iter().all(|(own, _)| *own != atom && matches!(own, Atom::Coord(_)))
    });
    (alone && apart).then_some(last.offset)
}

/// Whether combining a value that is known leaves every state of a reduction as it is, bit by bit.
///
/// A float sum starts at +0.0 and is never -0.0, so zeros of both signs add nothing; see [`Needs::factors`] for the one
/// way around that.
fn adds_nothing(function: ReduceFn, element: Element, known: Known) -> bool {
    match (function, known) {
        (ReduceFn::Sum, known) if known.is_zero() => true,
        (ReduceFn::ArgMin, Known::Exact(value)) => value == identity(ReduceFn::Min, element),
        (ReduceFn::ArgMax, Known::Exact(value)) => value == identity(ReduceFn::Max, element),
        (ReduceFn::Sum, _) => false,
        (_, Known::Exact(value)) => value == identity(function, element),
        (_, Known::Zero | Known::Finite | Known::Number | Known::Anything) => false,
    }
}

/// One line per source that has a format, for the text form of kernels.
pub fn print(graph: &Graph, name: &str, skip: &Skip) -> String {
    let called = |tensor: &TensorId| graph.tensor(*tensor).name.clone();
    let mut out = String::new();
    match skip {
        Skip::Walk(walk) => {
            let what = if walk.runs { "runs" } else { "entries" };
            let _ = write!(out, "; {name} walks the stored {what} of {}", called(&walk.tensor));
            let finite: Vec<_> = walk.needs.finite.iter().map(called).collect();
            if !finite.is_empty() {
                let _ = write!(out, ", if nothing in {} is infinite or NaN", finite.join(" and "));
            }
            out.push('\n');
        }
        Skip::Cover(cover) => {
            let sources: BTreeSet<_> = cover.reads.iter().map(|(tensor, _)| called(tensor)).collect();
            let sources: Vec<_> = sources.iter().map(|name| &**name).collect();
            let near = sources.join(" or ");
            let _ =
                writeln!(out, "; {name} is computed where {near} is stored, {} elsewhere", cover.background);
        }
        Skip::Dense(reasons) => {
            for (tensor, why) in reasons {
                let _ = writeln!(out, "; {name} looks at every element of {}: {why}", called(tensor));
            }
        }
    }
    out
}
