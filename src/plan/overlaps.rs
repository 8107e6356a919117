//! Windows that overlap -> a body like any other, and that as part of its reader.
//!
//! ```text
//! tensor parts: f32[x: inf] window [256] stride [192] as [i] = a[x] * g[index(x)] * ramp[i]
//! tensor out: f32[x: inf] = 0.5 * parts[x]
//!
//! parts[x] = { let sum = 0;
//!              let sum = if x % 192 < 64 then sum + a[x] * g[x // 192 - 1] * ramp[x % 192 + 192] else sum;
//!              sum + a[x] * g[x // 192] * ramp[x % 192] }
//! ```
//!
//! Along every dimension an element has a few windows at the most; they are folded in the order of their numbers, as
//! blending says, so that the bits are the same. Lowering cuts rows where the conditions change (`loops/lower/strips.rs`):
//! each way in which windows overlap has straight-line code, and no sum is kept in memory.

use super::inline::{applied, body_of, inlined};
use super::seamless::empty_like;
use super::stages::Stages;
use crate::access::guards::ALWAYS;
use crate::access::linear::{Atom, Linear};
use crate::access::ranges::Ranges;
use crate::graph::body::{Body, Coord, NodeId, Op, TensorId};
use crate::graph::resolve_weak::Resolved;
use crate::graph::scalar::{BinaryFn, Scalar};
use crate::graph::types::{Element, Ty};
use crate::graph::{BlendKind, Tensor, WindowBody, Windowed};
use crate::index::{Dim, Domain, Interval, Window};
use crate::source::Span;
use std::collections::HashMap;
use std::sync::Arc;

/// Windows that an element may have, at the most.
const MOST_WINDOWS: i64 = 4;
/// Steps between windows, at the least: along the row, and across it.
const LEAST_STEPS: [i64; 2] = [64, 8];
/// Nodes of the body that is made, at the most.
const MOST_NODES: usize = 400;
/// The same where it is made for another reason than speed.
const MOST_WRITTEN: i64 = 1 << 12;

const INDEX: Ty = Ty::Strong(Element::I64);
const TRUTH: Ty = Ty::Strong(Element::Bool);

/// The body of a blended tensor without windows, if an element has few of them and rows are cut where that pays.
pub(super) fn overlapped(tensor: &Tensor, windowed: &Windowed) -> Option<Resolved> {
    let WindowBody::Expr(resolved) = &windowed.body else { return None };
    let dims = dims(tensor, windowed)?;
    let last = dims.len().checked_sub(1)?;
    let wide = |(at, dim): (usize, &Along)| {
        dim.count == 1 || dim.window.stride() >= LEAST_STEPS[usize::from(at != last)]
    };
    let all = count(&dims);
    let small = (2..=MOST_WINDOWS).contains(&all) && resolved.body.len() * all as usize <= MOST_NODES;
    let pays = small
        && dims.iter().all(|dim| dim.whole && dim.window.stride() <= dim.window.size())
        && dims.iter().enumerate().all(wide)
        && tensor.format.is_none()
        && !has_reductions(&resolved.body)
        && !matches!(windowed.blend.kind, BlendKind::Custom(_));
    if pays { blended(tensor, windowed, dims) } else { None }
}

/// The body of a blended tensor without windows, whether or not that pays, unless it is too long.
pub(super) fn written_out(tensor: &Tensor, windowed: &Windowed) -> Option<Resolved> {
    let WindowBody::Expr(resolved) = &windowed.body else { return None };
    let dims = dims(tensor, windowed)?;
    let nodes = (resolved.body.len() as i64).saturating_mul(count(&dims));
    if nodes <= MOST_WRITTEN { blended(tensor, windowed, dims) } else { None }
}

fn dims(tensor: &Tensor, windowed: &Windowed) -> Option<Vec<Along>> {
    windowed.windows.dims.iter().zip(tensor.domain.dims()).map(|(window, dim)| along(*window, dim)).collect()
}

/// How many windows an element has at the most.
fn count(dims: &[Along]) -> i64 {
    dims.iter().fold(1, |all, dim| all.saturating_mul(dim.count))
}

/// The initial value, and what each window of an element makes of it.
fn blended(tensor: &Tensor, windowed: &Windowed, dims: Vec<Along>) -> Option<Resolved> {
    let WindowBody::Expr(resolved) = &windowed.body else { return None };
    let span = resolved.body.node(resolved.root).span;
    let mut maker = Maker { body: empty_like(&resolved.body), dims, span, arms: 0 };
    let mut value = maker.body.strong(windowed.blend.init, span);
    let ty = maker.body.ty(value);
    for steps in maker.combinations(&windowed.blend.kind) {
        let own = maker.window(resolved, &steps);
        let met = maker.met(&windowed.blend.kind, value, own)?;
        if maker.body.ty(own) != ty || maker.body.ty(met) != ty {
            return None;
        }
        value = maker.where_it_is(&steps, met, value, ty);
    }
    Some(settled(&Resolved { body: maker.body, root: value }, &tensor.domain))
}

/// Loops inside windows are longer than what is saved.
fn has_reductions(body: &Body) -> bool {
    body.nodes().any(|(_, node)| matches!(node.op, Op::Reduce { .. }))
}

/// The windows along a dimension.
#[derive(Clone, Copy)]
struct Along {
    window: Window,
    /// Their numbers.
    numbers: Interval,
    /// How many of them an element has at the most.
    count: i64,
    /// Whether the windows inside reach both ends.
    whole: bool,
}

/// The windows along a dimension, unless there are too many of them to count.
fn along(window: Window, dim: &Dim) -> Option<Along> {
    let numbers = window.inside(dim.interval).ok()?;
    let covered = || !numbers.is_empty() && window.hull(numbers) == Ok(dim.interval);
    let whole = dim.enforced() == dim.interval && (dim.interval == Interval::all() || covered());
    let count = window.size().checked_add(window.stride() - 1)? / window.stride();
    Some(Along { window, numbers, count, whole })
}

/// Builds a body.
struct Maker {
    body: Body,
    dims: Vec<Along>,
    span: Span,
    /// Arms so far: those of every window are numbered apart.
    arms: u32,
}

impl Maker {
    /// By how many steps each window of an element lies behind its last one, in the order in which they are met.
    fn combinations(&self, blend: &BlendKind) -> Vec<Vec<i64>> {
        let mut all = vec![Vec::new()];
        for dim in &self.dims {
            let steps = || (0..dim.count).rev();
            all = all
                .iter()
                .flat_map(|first: &Vec<i64>| steps().map(|at| [&first[..], &[at]].concat()))
                .collect();
        }
        if matches!(blend, BlendKind::First) {
            all.reverse();
        }
        all
    }

    /// What a window makes of what was there; a mean is no fold, but a sum that is divided afterwards.
    fn met(&mut self, blend: &BlendKind, old: NodeId, new: NodeId) -> Option<NodeId> {
        let function = match blend {
            BlendKind::Sum => BinaryFn::Add,
            BlendKind::Product => BinaryFn::Mul,
            BlendKind::Min => BinaryFn::Min,
            BlendKind::Max => BinaryFn::Max,
            BlendKind::First | BlendKind::Last => return Some(new),
            BlendKind::Custom(resolved) => return Some(applied(&mut self.body, resolved, [old, new])),
            BlendKind::Mean => return None,
        };
        Some(self.body.push(Op::Binary(function, old, new), self.body.ty(old), self.span))
    }

    fn int(&mut self, value: i64) -> NodeId {
        self.body.strong(Scalar::i64(value), self.span)
    }

    fn op(&mut self, function: BinaryFn, a: NodeId, by: i64) -> NodeId {
        let by = self.int(by);
        self.body.push(Op::Binary(function, a, by), INDEX, self.span)
    }

    /// The coordinate from the first window on: divided by the stride it is the number of the last window.
    fn offset_from_first(&mut self, dim: usize) -> NodeId {
        let coord = self.body.push(Op::Coord(Coord::Global(dim as u32)), INDEX, self.span);
        match self.dims[dim].window.offset() {
            0 => coord,
            offset => self.op(BinaryFn::Sub, coord, offset),
        }
    }

    fn last_number(&mut self, dim: usize) -> NodeId {
        let coord = self.offset_from_first(dim);
        self.op(BinaryFn::FloorDiv, coord, self.dims[dim].window.stride())
    }

    /// The place inside the last window.
    fn remainder(&mut self, dim: usize) -> NodeId {
        let coord = self.offset_from_first(dim);
        self.op(BinaryFn::Rem, coord, self.dims[dim].window.stride())
    }

    /// What the window that is so many steps behind makes of an element.
    fn window(&mut self, resolved: &Resolved, steps: &[i64]) -> NodeId {
        let first_arm = self.arms;
        let mut new: Vec<NodeId> = Vec::with_capacity(resolved.body.len());
        for (_, node) in resolved.body.nodes() {
            let id = match node.op.clone() {
                Op::Coord(Coord::Window(dim)) => {
                    let last = self.last_number(dim as usize);
                    self.op(BinaryFn::Sub, last, steps[dim as usize])
                }
                Op::Coord(Coord::Local(dim)) => {
                    let stride = self.dims[dim as usize].window.stride();
                    let place = self.remainder(dim as usize);
                    self.op(BinaryFn::Add, place, steps[dim as usize] * stride)
                }
                op => {
                    let mut op = op.with_args(|arg| new[arg.index()]);
                    if let Op::Read { arm, .. } = &mut op {
                        *arm += first_arm;
                        self.arms = self.arms.max(*arm + 1);
                    }
                    self.body.push(op, node.ty, node.span)
                }
            };
            new.push(id);
        }
        new[resolved.root.index()]
    }

    /// One value where there is a window so many steps behind, else another.
    fn where_it_is(&mut self, steps: &[i64], then: NodeId, otherwise: NodeId, ty: Ty) -> NodeId {
        let mut value = then;
        for (dim, back) in steps.iter().enumerate().rev() {
            for condition in self.conditions(dim, *back) {
                value = self.body.push(Op::Select(condition, value, otherwise), ty, self.span);
            }
        }
        value
    }

    /// When there is a window so many steps behind the last one along a dimension.
    fn conditions(&mut self, dim: usize, back: i64) -> Vec<NodeId> {
        let Along { window, numbers, count, whole } = self.dims[dim];
        let mut conditions = Vec::new();
        let compare = |maker: &mut Maker, function, a, b| {
            let b = maker.int(b);
            maker.body.push(Op::Binary(function, a, b), TRUTH, maker.span)
        };
        let left = window.size() - back * window.stride();
        if left < window.stride() {
            let place = self.remainder(dim);
            conditions.push(compare(self, BinaryFn::Lt, place, left));
        }
        if let Some(first) = numbers.lower().filter(|_| back > 0 || !whole) {
            let last = self.last_number(dim);
            conditions.push(compare(self, BinaryFn::Ge, last, first + back));
        }
        if let Some(end) = numbers.upper().filter(|_| back + 1 < count || !whole) {
            let last = self.last_number(dim);
            conditions.push(compare(self, BinaryFn::Lt, last, end + back));
        }
        conditions
    }
}

/// Makes blended tensors part of the only reader that they have, where that reads them at its own coordinates.
pub(super) fn join(stages: &mut Stages) {
    for id in stages.in_order() {
        while let Some(source) = joinable(stages, id) {
            let (Some(reader), Some(inner)) = (body_of(stages, id), body_of(stages, source)) else { break };
            let body = inlined(reader, source, inner, stages.tensor(source).element);
            let body = settled(&body, &stages.tensor(id).domain);
            let before = Arc::new(stages.tensor(id).clone());
            stages.joined.entry(id).or_default().push(before);
            stages.set_body(id, body);
        }
    }
}

/// A blended tensor that nobody else reads, and this one at its own coordinates, or at constants.
fn joinable(stages: &Stages, id: TensorId) -> Option<TensorId> {
    let reader = body_of(stages, id)?;
    let access = &stages.accesses[id.index()];
    access.reads.iter().map(|read| read.tensor).find(|source| {
        let own = |form: &Linear| match form.terms[..] {
            [] => true,
            [(Atom::Coord(Coord::Global(_)), 1)] => form.offset == 0,
            _ => false,
        };
        let mut reads = access.reads.iter().filter(|read| read.tensor == *source);
        let others = stages.accesses.iter().enumerate().filter(|(other, _)| *other != id.index());
        let mut others = others.flat_map(|(_, access)| &access.reads);
        stages.overlapping.contains(source)
            && reads.all(|read| read.conditions.is_empty() && read.map.iter().all(own))
            && !others.any(|read| read.tensor == *source)
            && body_of(stages, *source)
                .is_some_and(|body| body.body.len() * 2 + reader.body.len() <= 2 * MOST_NODES)
    })
}

/// The body without selections whose condition is the same everywhere in a domain.
fn settled(resolved: &Resolved, domain: &Domain) -> Resolved {
    let body = &resolved.body;
    let known = decided(resolved, domain);
    let chosen = |id: NodeId| match body.node(id).op {
        Op::Select(condition, then, otherwise) => {
            known.get(&condition).map(|holds| if *holds { then } else { otherwise })
        }
        _ => None,
    };
    let mut used = vec![false; body.len()];
    used[resolved.root.index()] = true;
    for (id, node) in body.nodes().rev().filter(|(id, _)| id.index() <= resolved.root.index()) {
        if used[id.index()] {
            let args = chosen(id).map_or_else(|| node.op.args(), |only| vec![only]);
            args.into_iter().for_each(|arg| used[arg.index()] = true);
        }
    }
    let mut copy = empty_like(body);
    let mut new: Vec<NodeId> = Vec::with_capacity(body.len());
    for (id, node) in body.nodes() {
        let value = match chosen(id) {
            Some(only) if used[id.index()] => new[only.index()],
            _ if used[id.index()] => {
                let op = node.op.clone().with_args(|arg| new[arg.index()]);
                copy.push(op, node.ty, node.span)
            }
            _ => NodeId(0),
        };
        new.push(value);
    }
    Resolved { root: new[resolved.root.index()], body: copy }
}

/// Comparisons of integers that have one outcome everywhere in a domain.
fn decided(resolved: &Resolved, domain: &Domain) -> HashMap<NodeId, bool> {
    let body = &resolved.body;
    let dims = domain.dims().iter().enumerate();
    let domains = dims.map(|(at, dim)| (Coord::Global(at as u32), dim.enforced())).collect();
    let mut ranges = Ranges::new(body, resolved.root, &[], domains);
    let mut known = HashMap::new();
    for (id, node) in body.nodes() {
        let Op::Binary(function, a, b) = node.op else { continue };
        if body.ty(a) == INDEX && function.is_comparison() {
            let (a, b) = (ranges.int(ALWAYS, a), ranges.int(ALWAYS, b));
            known.extend(outcome(function, a, b).map(|holds| (id, holds)));
        }
    }
    known
}

/// What a comparison of any two numbers of these ranges gives, if that is always the same.
fn outcome(function: BinaryFn, a: Interval, b: Interval) -> Option<bool> {
    if a.is_empty() || b.is_empty() || !a.is_bounded() || !b.is_bounded() {
        return None;
    }
    let (below, above) = (a.last() < b.first(), a.first() > b.last());
    let same = a.single().is_some() && a == b;
    let (up_to, from) = (a.last() <= b.first(), a.first() >= b.last());
    let (yes, no) = match function {
        BinaryFn::Lt => (below, from),
        BinaryFn::Le => (up_to, above),
        BinaryFn::Gt => (above, up_to),
        BinaryFn::Ge => (from, below),
        BinaryFn::Eq => (same, below || above),
        BinaryFn::Ne => (below || above, same),
        _ => return None,
    };
    if yes { Some(true) } else { no.then_some(false) }
}
