//! Reads on both sides of a seam, apart: so that no box spans from one end of a wrapped source to the other.
//!
//! ```text
//! ring[x] = sum(i in -2..=2) a[(x + i) % 1000000]                                                read at x = 0
//!
//! ring[x] = sum(i in -2..=2) if (x + i) % 2000000 < 1000000 then a[(x + i) % 1000000] else a'[(x + i) % 1000000]
//! ```
//!
//! What lies next to each other on both sides of a seam is in copies of the source that follow each other, of which one
//! is even and one odd. What is read at odd copies is [set apart](super::apart) afterwards.

use super::group::order;
use super::spread::Writer;
use super::stages::Stages;
use crate::access::linear::{Atom, Floor, Linear};
use crate::access::{Access, TensorAccess};
use crate::graph::body::{Body, Coord, NodeId, Obligation, Op, TensorId};
use crate::graph::resolve_weak::Resolved;
use crate::graph::scalar::{BinaryFn, Scalar};
use crate::graph::types::{Element, Ty};
use crate::source::Span;
use std::collections::BTreeMap;

/// Seams of one read, at the most: all combinations of their sides are written.
pub(super) const MOST_SEAMS: usize = 4;
/// Nodes of a body beyond which its reads stay.
const MOST_NODES: usize = 1 << 12;

const INDEX: Ty = Ty::Strong(Element::I64);

/// At which seams along each dimension of a stage its odd side is meant, one bit each.
pub(super) type Sides = u64;

/// The bit of a seam along a dimension: the first one of a read, the second one of it, ….
pub(super) fn bit(dim: usize, seam: usize) -> Sides {
    1 << ((dim * MOST_SEAMS + seam) % 64)
}

/// The sides of the reads that were written, by their arms.
#[derive(Clone, Debug, Default)]
pub(super) struct Seams {
    sides: BTreeMap<(TensorId, u32), Sides>,
}

impl Seams {
    /// The sides of a read of a stage, if it was written.
    pub(super) fn of(&self, stages: &Stages, id: TensorId, read: NodeId) -> Option<Sides> {
        match &stages.tensor(id).body()?.body.node(read).op {
            Op::Read { arm, .. } => self.sides.get(&(id, *arm)).copied(),
            _ => None,
        }
    }
}

/// A division whose quotient a coordinate jumps with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seam {
    /// Along which dimension of the source.
    pub(super) dim: usize,
    /// Which division.
    pub(super) floor: u32,
}

/// These stages with reads across seams written once per side, as far as `target` needs them; `None` if there are none.
pub(super) fn at_seams(
    stages: &Stages,
    target: TensorId,
    near: &BTreeMap<TensorId, Vec<u64>>,
) -> Option<(Stages, Seams)> {
    let mut written: Option<(Stages, Seams)> = None;
    for id in order(stages, target) {
        let access = &stages.accesses[id.index()];
        let others = access.reads.iter().filter(|read| read.tensor != id && !stages.is_at_hand(read.tensor));
        let seams = others.map(|read| (read.read, seams(access, read, &near[&read.tensor])));
        let seams: BTreeMap<NodeId, Vec<Seam>> =
            seams.filter(|(_, seams)| (1..=MOST_SEAMS).contains(&seams.len())).collect();
        let short = |body: &&Resolved| !seams.is_empty() && body.body.len() <= MOST_NODES;
        let Some(body) = stages.tensor(id).body().filter(short) else { continue };
        let mut sewer = Sewer::new(&body.body, &access.floors);
        let body = sewer.body(body, &seams);
        if body.body.len() > MOST_NODES {
            continue;
        }
        let (stages, seams) = written.get_or_insert_with(|| (stages.clone(), Seams::default()));
        seams.sides.extend(sewer.sides.iter().map(|(arm, sides)| ((id, *arm), *sides)));
        if let Some(own) = stages.graph.tensors[id.index()].body_mut() {
            *own = body;
        }
        stages.analyse(id);
    }
    written
}

/// Where a read jumps further than what is near: its coordinates are remainders there.
pub(super) fn seams(access: &TensorAccess, read: &Access, near: &[u64]) -> Vec<Seam> {
    let mut seams = Vec::new();
    for (dim, form) in read.map.iter().enumerate() {
        for (atom, factor) in &form.terms {
            let Atom::Floor(floor) = *atom else { continue };
            let divided = &access.floors[floor as usize];
            let jumps = factor.unsigned_abs() > near[dim] && is_remainder(form, *factor, divided);
            if jumps && follows_coordinates(&divided.form, &access.floors) {
                seams.push(Seam { dim, floor });
            }
        }
    }
    seams
}

/// Whether a form is a multiple of the remainder of a division that moves, and perhaps something besides.
fn is_remainder(form: &Linear, factor: i64, Floor { form: inside, by }: &Floor) -> bool {
    let moves = |(atom, _): &(Atom, i64)| matches!(atom, Atom::Coord(Coord::Global(_) | Coord::Window(_)));
    let times = -(factor / by);
    let has = |(atom, own): &(Atom, i64)| {
        form.terms.iter().any(|(other, factor)| other == atom && own.checked_mul(times) == Some(*factor))
    };
    factor % by == 0
        && by.checked_mul(2).is_some()
        && inside.terms.iter().any(moves)
        && inside.terms.iter().all(has)
}

/// Whether a form is made of nothing but coordinates, also where those are divided.
fn follows_coordinates(form: &Linear, floors: &[Floor]) -> bool {
    form.terms.iter().all(|(atom, _)| match atom {
        Atom::Coord(_) => true,
        Atom::Floor(number) => follows_coordinates(&floors[*number as usize].form, floors),
        Atom::Node(_) => false,
    })
}

/// Whether a remainder is of what lies before a seam where that of the coordinate itself is after it: `(x - 1) % 100` is
/// next to `x % 100`, though it divides `x + 99`.
pub(super) fn is_behind(Floor { form, by }: &Floor) -> bool {
    form.offset > by / 2
}

/// Writes a body with reads once per side.
struct Sewer<'b> {
    writer: Writer<'b>,
    floors: &'b [Floor],
    /// The arm of the next read.
    arm: u32,
    sides: BTreeMap<u32, Sides>,
    /// What a read became.
    reads: BTreeMap<NodeId, Vec<NodeId>>,
}

impl<'b> Sewer<'b> {
    fn new(body: &'b Body, floors: &'b [Floor]) -> Self {
        let arms = body.nodes().filter_map(|(_, node)| match node.op {
            Op::Read { arm, .. } => Some(arm + 1),
            _ => None,
        });
        let arm = arms.max().unwrap_or(0);
        Sewer { writer: Writer::new(body), floors, arm, sides: BTreeMap::new(), reads: BTreeMap::new() }
    }

    fn body(&mut self, Resolved { body, root }: &Resolved, seams: &BTreeMap<NodeId, Vec<Seam>>) -> Resolved {
        for (id, node) in body.nodes() {
            let new = match seams.get(&id) {
                Some(seams) => self.read(id, seams),
                None => self.writer.copy(id, &node.op, &BTreeMap::new()),
            };
            self.writer.to.push(new);
        }
        for obligation in body.obligations() {
            let own = vec![self.writer.to[obligation.read.index()]];
            for read in self.reads.get(&obligation.read).unwrap_or(&own) {
                let coord = self.writer.to[obligation.coord.index()];
                self.writer.body.oblige(Obligation { read: *read, coord, ..obligation.clone() });
            }
        }
        Resolved { body: std::mem::take(&mut self.writer.body), root: self.writer.to[root.index()] }
    }

    fn read(&mut self, id: NodeId, seams: &[Seam]) -> NodeId {
        let from = self.writer.from;
        let span = from.node(id).span;
        let to = &self.writer.to;
        let read = from.node(id).op.clone().with_args(|arg| to[arg.index()]);
        let conditions: Vec<NodeId> = seams.iter().map(|seam| self.is_even(*seam, span)).collect();
        let mut values: Vec<NodeId> = Vec::new();
        for number in 0..1u32 << seams.len() {
            let mut sides = 0;
            for (at, seam) in seams.iter().enumerate() {
                let along = seams[..at].iter().filter(|other| other.dim == seam.dim).count();
                if (number >> at & 1 == 1) != is_behind(&self.floors[seam.floor as usize]) {
                    sides |= bit(seam.dim, along);
                }
            }
            let mut read = read.clone();
            if let Op::Read { arm, .. } = &mut read {
                *arm = self.arm;
            }
            self.sides.insert(self.arm, sides);
            self.arm += 1;
            values.push(self.writer.body.push(read, from.ty(id), span));
        }
        self.reads.insert(id, values.clone());
        for condition in conditions {
            let pairs = values.chunks(2);
            let chosen = pairs.map(|pair| Op::Select(condition, pair[0], pair[1])).collect::<Vec<_>>();
            values = chosen.into_iter().map(|op| self.writer.body.push(op, from.ty(id), span)).collect();
        }
        values[0]
    }

    /// Whether the quotient of a seam is even: the remainder by twice as much is less than half of that.
    fn is_even(&mut self, seam: Seam, span: Span) -> NodeId {
        let Floor { form, by } = &self.floors[seam.floor as usize];
        let divided = self.sum(form, span);
        let twice = self.int(2 * by, span);
        let remainder = self.writer.body.push(Op::Binary(BinaryFn::Rem, divided, twice), INDEX, span);
        let half = self.int(*by, span);
        let truth = Ty::Strong(Element::Bool);
        self.writer.body.push(Op::Binary(BinaryFn::Lt, remainder, half), truth, span)
    }

    fn sum(&mut self, form: &Linear, span: Span) -> NodeId {
        let mut sum = None;
        for (atom, factor) in &form.terms {
            let value = match atom {
                Atom::Coord(coord) => self.writer.body.push(Op::Coord(*coord), INDEX, span),
                Atom::Floor(number) => {
                    let Floor { form, by } = &self.floors[*number as usize];
                    let inside = self.sum(form, span);
                    self.op(BinaryFn::FloorDiv, inside, *by, span)
                }
                Atom::Node(_) => unreachable!("what is divided at a seam follows coordinates alone"),
            };
            let value = if *factor == 1 { value } else { self.op(BinaryFn::Mul, value, *factor, span) };
            sum = Some(match sum {
                None => value,
                Some(sum) => self.writer.body.push(Op::Binary(BinaryFn::Add, sum, value), INDEX, span),
            });
        }
        match sum {
            None => self.int(form.offset, span),
            Some(sum) if form.offset == 0 => sum,
            Some(sum) => self.op(BinaryFn::Add, sum, form.offset, span),
        }
    }

    fn op(&mut self, function: BinaryFn, a: NodeId, by: i64, span: Span) -> NodeId {
        let by = self.int(by, span);
        self.writer.body.push(Op::Binary(function, a, by), INDEX, span)
    }

    fn int(&mut self, value: i64, span: Span) -> NodeId {
        self.writer.body.strong(Scalar::i64(value), span)
    }
}
