//! Reductions and windows that read far apart, step by step: so that no box spans from one step to the next.
//!
//! ```text
//! far[x] = sum(i in 0..3) w[x + 100000000 * i]
//!
//! far[x] = ((0 + w[x]) + w[x + 100000000]) + w[x + 200000000]
//! ```
//!
//! The places may come from a table or a choice, `w[x + places[i]]`, but not from data. Windows of an element whose takes
//! lie far apart become a sum like this one, too ([`written_out`]). What is read far apart is [set apart](super::apart) afterwards.

use super::apart::NEAR;
use super::group::order;
use super::overlaps::written_out;
use super::seams::Seams;
use super::stages::Stages;
use crate::access::linear::Atom;
use crate::graph::TensorKind;
use crate::graph::body::{Body, Coord, NodeId, Op, ReduceFn, TensorId};
use crate::graph::fold::{Step, factors, identity, step};
use crate::graph::resolve_weak::Resolved;
use crate::graph::scalar::Scalar;
use crate::graph::types::{Element, Ty};
use std::collections::{BTreeMap, BTreeSet};

/// Steps of a reduction beyond which it stays one.
const MOST_STEPS: i64 = 64;
/// The same of those that tell where their extreme is: each step chooses twice, inside all choices before it.
const MOST_CHOICES: i64 = 16;
/// Nodes of a body beyond which its reductions stay.
const MOST_NODES: usize = 1 << 12;

/// These stages with such reductions of all that `target` needs written out; `None` if there are none.
pub(super) fn spread(
    stages: &Stages,
    target: TensorId,
    near: &BTreeMap<TensorId, Vec<u64>>,
    seams: &Seams,
) -> Option<Stages> {
    let mut spread: Option<Stages> = None;
    for id in order(stages, target) {
        if let TensorKind::Windowed(windowed) = &stages.tensor(id).kind
            && windows_move_far(stages, id)
            && let Some(body) = written_out(stages.tensor(id), windowed)
        {
            let spread = spread.get_or_insert_with(|| stages.clone());
            spread.without_windows(id, body, windowed);
        }
        let here = spread.as_ref().unwrap_or(stages);
        let far = far_variables(here, id, near, seams);
        let body = here.tensor(id).body().filter(|_| !far.is_empty());
        let Some(written) = body.and_then(|body| write_out(body, &far)) else { continue };
        let spread = spread.get_or_insert_with(|| stages.clone());
        if let Some(body) = spread.graph.tensors[id.index()].body_mut() {
            *body = written;
        }
        spread.analyse(id);
    }
    spread
}

/// Whether the next window reads another stage further away than what is near.
fn windows_move_far(stages: &Stages, id: TensorId) -> bool {
    let of_window = |(atom, factor): &(Atom, i64)| match atom {
        Atom::Coord(Coord::Window(_)) => factor.unsigned_abs() > NEAR,
        Atom::Coord(_) => false,
        Atom::Floor(_) | Atom::Node(_) => true,
    };
    let reads = stages.accesses[id.index()].reads.iter();
    let mut others = reads.filter(|read| read.tensor != id && !stages.is_at_hand(read.tensor));
    others.any(|read| read.map.iter().any(|form| form.terms.iter().any(of_window)))
}

/// Variables of reductions that move a read of another stage further from step to step than what is near.
fn far_variables(
    stages: &Stages,
    id: TensorId,
    near: &BTreeMap<TensorId, Vec<u64>>,
    seams: &Seams,
) -> BTreeSet<u32> {
    let Some(Resolved { body, .. }) = stages.tensor(id).body() else { return BTreeSet::new() };
    let reads = stages.accesses[id.index()].reads.iter();
    let others = reads.filter(|read| read.tensor != id && !stages.is_at_hand(read.tensor));
    let mut far = BTreeSet::new();
    for read in others {
        // What jumps at a seam does not do so from step to step.
        let sewn = seams.of(stages, id, read.read).is_some();
        let coords = body.node(read.read).op.args().into_iter().zip(read.reach.iter().zip(&read.map));
        for ((coord, (reach, form)), near) in coords.zip(&near[&read.tensor]) {
            let steps =
                |var: &u32| body.binders[*var as usize].hi.saturating_sub(body.binders[*var as usize].lo);
            let step = |var: &u32| form.factor(Atom::Coord(Coord::Bound(*var))).unsigned_abs();
            let apart = |var: &u32| match sewn {
                true => step(var) > *near,
                false => reach.range.len().is_none_or(|len| len / steps(var).max(1) > *near as i64),
            };
            far.extend(moved_by(body, coord).into_iter().filter(apart));
        }
    }
    far
}

/// The variables of reductions that a coordinate follows, if it follows no data.
fn moved_by(body: &Body, coord: NodeId) -> Vec<u32> {
    let (mut stack, mut seen, mut vars) = (vec![coord], BTreeSet::from([coord]), Vec::new());
    while let Some(id) = stack.pop() {
        match &body.node(id).op {
            Op::Coord(Coord::Bound(var)) => vars.push(*var),
            Op::Read { .. } | Op::Reduce { .. } => return Vec::new(),
            op => stack.extend(op.args().into_iter().filter(|arg| seen.insert(*arg))),
        }
    }
    vars
}

/// The body without reductions over these variables, as long as it stays short.
fn write_out(resolved: &Resolved, far: &BTreeSet<u32>) -> Option<Resolved> {
    let mut written: Option<Resolved> = None;
    while let Some(next) = unrolled(written.as_ref().unwrap_or(resolved), far) {
        written = Some(next);
    }
    written
}

/// The body with its last such reduction written out.
fn unrolled(Resolved { body, root }: &Resolved, far: &BTreeSet<u32>) -> Option<Resolved> {
    let steps = |vars: &[u32]| {
        let each = vars.iter().map(|var| &body.binders[*var as usize]).map(|var| (var.hi - var.lo).max(0));
        each.fold(1, i64::saturating_mul)
    };
    let short = |function: ReduceFn, vars: &[u32]| {
        let most = if matches!(step(function), Step::Keep(_)) { MOST_CHOICES } else { MOST_STEPS };
        let steps = steps(vars);
        steps <= most && body.len().saturating_mul(steps as usize) <= MOST_NODES
    };
    let reduce = body.nodes().rev().find_map(|(id, node)| match &node.op {
        Op::Reduce { function, vars, .. } if vars.iter().any(|var| far.contains(var)) => {
            short(*function, vars).then_some(id)
        }
        _ => None,
    })?;
    let mut writer = Writer::new(body);
    for (id, node) in body.nodes() {
        let new =
            if id == reduce { writer.write(reduce) } else { writer.copy(id, &node.op, &BTreeMap::new()) };
        writer.to.push(new);
    }
    writer.oblige(&BTreeMap::new());
    Some(swept(&writer.body, writer.to[root.index()]))
}

/// Writes one body into another.
pub(super) struct Writer<'b> {
    pub(super) from: &'b Body,
    pub(super) body: Body,
    /// Where each node went.
    pub(super) to: Vec<NodeId>,
}

impl<'b> Writer<'b> {
    pub(super) fn new(from: &'b Body) -> Self {
        let mut body = Body::default();
        (body.tables, body.binders) = (from.tables.clone(), from.binders.clone());
        Writer { from, body, to: Vec::new() }
    }

    /// The node on copies of its arguments; integers that are known are numbers.
    pub(super) fn copy(&mut self, id: NodeId, op: &Op, here: &BTreeMap<NodeId, NodeId>) -> NodeId {
        let to = &self.to;
        let op = op.clone().with_args(|arg| here.get(&arg).copied().unwrap_or_else(|| to[arg.index()]));
        let (ty, span) = (self.from.ty(id), self.from.node(id).span);
        let op = self.entry(&op).filter(|value| ty == Ty::Strong(value.element())).map_or(op, Op::Const);
        match op {
            Op::Unary(function, a) => self.body.unary(function, a, ty, span),
            Op::Binary(function, a, b) => self.body.binary(function, a, b, ty, span),
            Op::Select(condition, a, b) => self.body.select(condition, a, b, ty, span),
            Op::Cast(a) => self.body.cast(a, ty, span),
            op => self.body.push(op, ty, span),
        }
    }

    fn entry(&self, op: &Op) -> Option<Scalar> {
        let Op::Table(table, args) = op else { return None };
        let table = &self.body.tables[table.0 as usize];
        let mut at = 0;
        for (arg, size) in args.iter().zip(&table.shape) {
            let place = self.body.constant_int(*arg).filter(|place| (0..*size).contains(place))?;
            at = at * size + place;
        }
        table.values.get(at as usize).copied()
    }

    /// A reduction step by step, as [`fold`](crate::graph::fold) defines it.
    fn write(&mut self, reduce: NodeId) -> NodeId {
        let from = self.from;
        let Op::Reduce { function, vars, body: inner } = &from.node(reduce).op else {
            unreachable!("only reductions are written out");
        };
        let (span, ty) = (from.node(reduce).span, from.ty(*inner));
        let element = ty.strong().expect("bodies are resolved");
        let first = from.binders[vars[0] as usize].lo;
        let mut best = self.body.strong(identity(*function, element), span);
        let mut value = match step(*function) {
            Step::Combine(_) => best,
            Step::Keep(_) => self.body.strong(Scalar::i64(first), span),
        };
        let inside = inside(from, *inner, vars);
        for places in places(from, vars) {
            let here = self.write_step(&inside, &places);
            let of =
                |node: NodeId, to: &[NodeId]| here.get(&node).copied().unwrap_or_else(|| to[node.index()]);
            let next = of(*inner, &self.to);
            match step(*function) {
                Step::Combine(combine) => {
                    let op = match factors(from, *function, *inner) {
                        Some((a, b)) => Op::Fma(of(a, &self.to), of(b, &self.to), value),
                        None => Op::Binary(combine, value, next),
                    };
                    value = self.body.push(op, ty, span);
                }
                Step::Keep(beats) => {
                    let bool = Ty::Strong(Element::Bool);
                    let better = self.body.push(Op::Binary(beats, next, best), bool, span);
                    let at = self.body.strong(Scalar::i64(places[&vars[0]]), span);
                    value = self.body.push(Op::Select(better, at, value), from.ty(reduce), span);
                    best = self.body.push(Op::Select(better, next, best), ty, span);
                }
            }
        }
        value
    }

    /// What depends on the variables, where they have these values.
    fn write_step(
        &mut self,
        inside: &BTreeSet<NodeId>,
        places: &BTreeMap<u32, i64>,
    ) -> BTreeMap<NodeId, NodeId> {
        let mut here = BTreeMap::new();
        for id in inside {
            let node = self.from.node(*id);
            let new = match &node.op {
                Op::Coord(Coord::Bound(var)) => self.body.strong(Scalar::i64(places[var]), node.span),
                op => self.copy(*id, op, &here),
            };
            here.insert(*id, new);
        }
        self.oblige(&here);
        here
    }

    /// What must hold of reads that were written: of all, or of those that are here.
    fn oblige(&mut self, here: &BTreeMap<NodeId, NodeId>) {
        for obligation in self.from.obligations() {
            let mut obligation = obligation.clone();
            let of = |id: NodeId| here.get(&id).or(self.to.get(id.index())).copied();
            let concerns = here.is_empty() || here.contains_key(&obligation.read);
            if let (true, Some(read), Some(coord)) = (concerns, of(obligation.read), of(obligation.coord)) {
                (obligation.read, obligation.coord) = (read, coord);
                self.body.oblige(obligation);
            }
        }
    }
}

/// Nodes below `inner` that depend on the variables.
fn inside(body: &Body, inner: NodeId, vars: &[u32]) -> BTreeSet<NodeId> {
    let mut inside = BTreeSet::new();
    for id in needed(body, inner) {
        let op = &body.node(id).op;
        let is_variable = matches!(op, Op::Coord(Coord::Bound(var)) if vars.contains(var));
        if is_variable || op.args().iter().any(|arg| inside.contains(arg)) {
            inside.insert(id);
        }
    }
    inside
}

/// A node, all that it is made of, and what must be proven of that.
fn needed(body: &Body, root: NodeId) -> BTreeSet<NodeId> {
    let mut seen = BTreeSet::new();
    add_below(body, root, &mut seen);
    for obligation in body.obligations() {
        if seen.contains(&obligation.read) {
            add_below(body, obligation.coord, &mut seen);
        }
    }
    seen
}

fn add_below(body: &Body, root: NodeId, seen: &mut BTreeSet<NodeId>) {
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        if seen.insert(id) {
            stack.extend(body.node(id).op.args());
        }
    }
}

/// The values of the variables, step by step, the last one fastest.
fn places(body: &Body, vars: &[u32]) -> Vec<BTreeMap<u32, i64>> {
    vars.iter().fold(vec![BTreeMap::new()], |places, var| {
        let range = &body.binders[*var as usize];
        let with = |place: &BTreeMap<u32, i64>, value| {
            let mut place = place.clone();
            place.insert(*var, value);
            place
        };
        places.iter().flat_map(|place| (range.lo..range.hi).map(move |value| with(place, value))).collect()
    })
}

/// The body without what its value does not need.
fn swept(body: &Body, root: NodeId) -> Resolved {
    let needed = needed(body, root);
    let mut writer = Writer::new(body);
    let mut kept = BTreeMap::new();
    for id in &needed {
        let new = writer.copy(*id, &body.node(*id).op, &kept);
        kept.insert(*id, new);
    }
    writer.oblige(&kept);
    Resolved { root: kept[&root], body: writer.body }
}
