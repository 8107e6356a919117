//! Reads that move differently, apart: so that no box spans from one to the other.
//!
//! ```text
//! rise[y, x] = height[y, x] - height[0, 0]        read at y = 10^9
//!
//! rise[y, x] = height[y, x] - height'[0, 0]       height' is height once more, of which one element is needed
//! ```
//!
//! So are reads that move alike, but far from each other: `p[x] - p[x - 100000000]`, the steps of a
//! [reduction](super::spread), and what lies on both sides of a [seam](super::seams).
//!
//! What such a copy reads is copied as well, down to data. Copies cost compile time, so the caller uses these stages
//! only where a request needs far less with them.

use super::group::order;
use super::needs::needs;
use super::seams::{MOST_SEAMS, Seam, Sides, at_seams, bit, is_behind, seams};
use super::spread::spread;
use super::stages::Stages;
use crate::access::linear::{Atom, Linear};
use crate::access::{Access, TensorAccess};
use crate::graph::TensorKind;
use crate::graph::body::{Body, Coord, NodeId, Op, TensorId};
use crate::graph::resolve_weak::Resolved;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Stages that are made, at the most; reads beyond share those of the script.
const MOST_MADE: usize = 1000;

/// Reads that move alike share a copy if no coordinate of theirs is further apart than this, or than [windows](nearness) are.
pub(super) const NEAR: u64 = 1 << 8;
/// The same at the least, however close windows lie.
const NEXT: u64 = 2;

/// A copy of a stage: of those with number 0 and no odd side the stage itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Twin {
    of: TensorId,
    /// Which of those that are read in different ways.
    number: usize,
    /// On which sides of the seams it lies.
    sides: Sides,
}

impl Twin {
    fn is_made(&self) -> bool {
        self.number != 0 || self.sides != 0
    }
}

/// How a read moves.
struct Way {
    reader: TensorId,
    /// What moves each of its coordinates.
    moved_by: Vec<Vec<(Atom, i64)>>,
    /// Where each of its coordinates starts.
    offsets: Vec<i64>,
    /// How far each of them may be from those of others that share its copy.
    near: Vec<u64>,
}

impl Way {
    fn is_near(&self, other: &Way) -> bool {
        let near = |((a, b), near): ((&i64, &i64), &u64)| a.abs_diff(*b) <= *near;
        self.reader == other.reader
            && self.moved_by == other.moved_by
            && self.offsets.iter().zip(&other.offsets).zip(&self.near).all(near)
    }
}

/// How far reads of each stage may lie apart along each dimension and still be near, of all that `target` needs.
///
/// Between reads that are further apart than windows lie windows that nobody asks for:
///   `w[x] + w[x + 100]`, w in windows of 64:  near is 64, and w is read as two
/// What is computed from windows is as near as they are, along the dimension where they lie furthest apart.
pub(super) fn nearness(stages: &Stages, target: TensorId) -> BTreeMap<TensorId, Vec<u64>> {
    let mut all: BTreeMap<TensorId, Vec<u64>> = BTreeMap::new();
    for id in order(stages, target) {
        let sources = stages.needs[id.index()].sources.iter().filter_map(|need| all.get(&need.source));
        let inherited = sources.filter_map(|near| near.iter().max().copied()).fold(NEAR, u64::min);
        let near = match &stages.tensor(id).kind {
            TensorKind::Windowed(windowed) => {
                let strides = windowed.windows.dims.iter().map(|window| window.stride().unsigned_abs());
                strides.map(|stride| stride.clamp(NEXT, inherited)).collect()
            }
            TensorKind::Pointwise(_) | TensorKind::Input(_) | TensorKind::Var(_) => {
                vec![inherited; stages.tensor(id).domain.rank()]
            }
        };
        all.insert(id, near);
    }
    all
}

/// These stages with reads apart that move differently, as far as `target` needs them; `None` if it needs none such.
pub fn set_apart(stages: &Stages, target: TensorId) -> Option<Stages> {
    let near = nearness(stages, target);
    let (sewn, written) = at_seams(stages, target, &near).unzip();
    let (stages, written) = (sewn.as_ref().unwrap_or(stages), written.unwrap_or_default());
    let spread = spread(stages, target, &near, &written);
    let stages = spread.as_ref().unwrap_or(stages);
    let mut copier =
        Copier { stages, split: stages.clone(), ids: BTreeMap::new(), ways: BTreeMap::new(), count: 0 };
    let first = Twin { of: target, number: 0, sides: 0 };
    copier.ids.insert(first, target);
    let mut queue = vec![first];
    let mut redirected: BTreeMap<TensorId, BTreeMap<NodeId, TensorId>> = BTreeMap::new();
    while let Some(reader) = queue.pop() {
        let id = copier.ids[&reader];
        let reads = &stages.accesses[reader.of.index()];
        for access in &reads.reads {
            if access.tensor == reader.of || stages.is_at_hand(access.tensor) {
                continue;
            }
            let own = written.of(stages, reader.of, access.read);
            let near = &near[&access.tensor];
            let map = if own.is_some() { between_seams(access, reads, near) } else { access.map.clone() };
            let way = Way {
                reader: reader.of,
                moved_by: map.iter().map(moved_by).collect(),
                offsets: map.iter().map(|form| form.offset).collect(),
                near: near.clone(),
            };
            let sides = own.unwrap_or(0) ^ carried(stages, reader, access.read);
            let source = copier.copy_for(reader, access.tensor, way, sides);
            let known = copier.ids.contains_key(&source);
            let source_id = copier.id_of(source);
            redirected.entry(id).or_default().insert(access.read, source_id);
            if !known {
                queue.push(source);
            }
        }
        queue.extend(copier.takes(reader));
    }
    if !copier.ids.keys().any(Twin::is_made) {
        return None;
    }
    let mut split = copier.split;
    for (copy, id) in copier.ids.iter().filter(|(copy, id)| copy.of != **id) {
        redirect(&mut split, *id, |_, source| if source == copy.of { *id } else { source });
    }
    for (id, reads) in redirected {
        redirect(&mut split, id, |read, source| reads.get(&read).copied().unwrap_or(source));
    }
    split.needs =
        (0..split.graph.tensors.len()).map(|at| Arc::new(needs(&split, TensorId(at as u32)))).collect();
    split.kept = split.graph.tensors.len();
    Some(split)
}

struct Copier<'s> {
    stages: &'s Stages,
    split: Stages,
    ids: BTreeMap<Twin, TensorId>,
    /// The ways in which copies with a number read a stage, and which number each way gets.
    ways: BTreeMap<(TensorId, usize), Vec<(Way, usize)>>,
    count: usize,
}

impl Copier<'_> {
    /// The copy of a source that a read is to read: the first way keeps the reader's own copy of it.
    fn copy_for(&mut self, reader: Twin, source: TensorId, way: Way, sides: Sides) -> Twin {
        let known = self.ways.entry((source, reader.number)).or_default();
        let full = self.split.graph.tensors.len() - self.stages.graph.tensors.len() >= MOST_MADE;
        let sides = if full { 0 } else { sides };
        if let Some((_, number)) = known.iter().find(|(known, _)| known.is_near(&way)) {
            return Twin { of: source, number: *number, sides };
        }
        let number = if full {
            0
        } else if known.is_empty() {
            reader.number
        } else {
            self.count += 1;
            self.count
        };
        known.push((way, number));
        Twin { of: source, number, sides }
    }

    /// The tensor that is a copy; made if it is not there.
    fn id_of(&mut self, copy: Twin) -> TensorId {
        if let Some(id) = self.ids.get(&copy) {
            return *id;
        }
        let id = match copy.is_made() {
            false => copy.of,
            true => {
                let id = TensorId(self.split.graph.tensors.len() as u32);
                self.split.graph.tensors.push(self.stages.tensor(copy.of).clone());
                self.split.accesses.push(self.stages.accesses[copy.of.index()].clone());
                self.split.inherit(id, copy.of);
                id
            }
        };
        self.ids.insert(copy, id);
        id
    }

    /// The takes of a host function are copied with it.
    fn takes(&mut self, reader: Twin) -> Vec<Twin> {
        let Some(call) = self.stages.hosts.get(&reader.of) else { return Vec::new() };
        let copies: Vec<Twin> = call.takes.iter().map(|take| Twin { of: *take, ..reader }).collect();
        let fresh = copies.iter().copied().filter(|copy| !self.ids.contains_key(copy)).collect();
        let mut call = call.clone();
        call.takes = copies.into_iter().map(|copy| self.id_of(copy)).collect();
        self.split.hosts.insert(self.ids[&reader], call);
        fresh
    }
}

/// The coordinates of a read on one side of its seams, where it moves on without jumps.
fn between_seams(access: &Access, reads: &TensorAccess, near: &[u64]) -> Vec<Linear> {
    let mut map = access.map.clone();
    for Seam { dim, floor } in seams(reads, access, near) {
        let form = &mut map[dim];
        let factor = form.factor(Atom::Floor(floor));
        form.terms.retain(|(atom, _)| *atom != Atom::Floor(floor));
        if is_behind(&reads.floors[floor as usize]) {
            form.offset = form.offset.saturating_add(factor);
        }
    }
    map
}

/// The sides of a reader, along what a read follows of its coordinates.
fn carried(stages: &Stages, reader: Twin, read: NodeId) -> Sides {
    let Some(Resolved { body, .. }) = stages.tensor(reader.of).body().filter(|_| reader.sides != 0) else {
        return 0;
    };
    let coords = body.node(read).op.args().into_iter().enumerate();
    let mut sides = 0;
    for (dim, coord) in coords {
        let followed = followed(body, coord);
        for seam in 0..MOST_SEAMS {
            let odd = followed.iter().filter(|own| reader.sides & bit(**own as usize, seam) != 0).count() % 2;
            sides |= if odd == 1 { bit(dim, seam) } else { 0 };
        }
    }
    sides
}

/// The dimensions of the reader that a coordinate follows, other than through data.
fn followed(body: &Body, coord: NodeId) -> BTreeSet<u32> {
    let (mut stack, mut seen, mut dims) = (vec![coord], BTreeSet::from([coord]), BTreeSet::new());
    while let Some(id) = stack.pop() {
        match &body.node(id).op {
            Op::Coord(Coord::Global(dim) | Coord::Window(dim) | Coord::Local(dim)) => _ = dims.insert(*dim),
            Op::Read { .. } => {}
            op => stack.extend(op.args().into_iter().filter(|arg| seen.insert(*arg))),
        }
    }
    dims
}

/// The part of a coordinate that follows the reader's.
fn moved_by(form: &Linear) -> Vec<(Atom, i64)> {
    let follows = |(atom, _): &&(Atom, i64)| match atom {
        Atom::Coord(Coord::Global(_) | Coord::Window(_)) | Atom::Floor(_) | Atom::Node(_) => true,
        Atom::Coord(Coord::Local(_) | Coord::Bound(_)) => false,
    };
    form.terms.iter().filter(follows).copied().collect()
}

/// Makes the reads of a stage reads of other stages.
fn redirect(stages: &mut Stages, id: TensorId, to: impl Fn(NodeId, TensorId) -> TensorId) {
    if let Some(resolved) = stages.graph.tensors[id.index()].body_mut() {
        resolved.body.redirect(&to);
    }
    let mut access = (*stages.accesses[id.index()]).clone();
    access.reads.iter_mut().for_each(|access| access.tensor = to(access.read, access.tensor));
    stages.accesses[id.index()] = Arc::new(access);
}
