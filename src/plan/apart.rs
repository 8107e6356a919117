//! Reads that move differently, apart: so that no box spans from one to the other.
//!
//! ```text
//! rise[y, x] = height[y, x] - height[0, 0]        read at y = 10^9
//!
//! rise[y, x] = height[y, x] - height'[0, 0]       height' is height once more, of which one element is needed
//! ```
//!
//! So are reads that move alike, but far from each other: `p[x] - p[x - 100000000]`, and the steps of a
//! [reduction](super::spread).
//!
//! What such a copy reads is copied as well, down to data. Copies cost compile time, so the caller uses these stages
//! only where a request needs far less with them.

use super::group::order;
use super::needs::needs;
use super::spread::spread;
use super::stages::Stages;
use crate::access::linear::{Atom, Linear};
use crate::graph::TensorKind;
use crate::graph::body::{Coord, NodeId, TensorId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Stages that are made, at the most; reads beyond share those of the script.
const MOST_MADE: usize = 1000;

/// Reads that move alike share a copy if no coordinate of theirs is further apart than this, or than [windows](nearness) are.
pub(super) const NEAR: u64 = 1 << 8;
/// The same at the least, however close windows lie.
const NEXT: u64 = 2;

/// A stage, and which copy of it; 0 is the stage itself.
type Copy = (TensorId, usize);

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
    let spread = spread(stages, target, &near);
    let stages = spread.as_ref().unwrap_or(stages);
    let mut copier =
        Copier { stages, split: stages.clone(), ids: BTreeMap::new(), ways: BTreeMap::new(), count: 0 };
    copier.ids.insert((target, 0), target);
    let mut queue = vec![(target, 0)];
    let mut reads: BTreeMap<TensorId, BTreeMap<NodeId, TensorId>> = BTreeMap::new();
    while let Some(reader) = queue.pop() {
        let id = copier.ids[&reader];
        for access in &stages.accesses[reader.0.index()].reads {
            if access.tensor == reader.0 || stages.is_at_hand(access.tensor) {
                continue;
            }
            let way = Way {
                reader: reader.0,
                moved_by: access.map.iter().map(moved_by).collect(),
                offsets: access.map.iter().map(|form| form.offset).collect(),
                near: near[&access.tensor].clone(),
            };
            let source = copier.copy_for(reader, access.tensor, way);
            let known = copier.ids.contains_key(&source);
            let source_id = copier.id_of(source);
            reads.entry(id).or_default().insert(access.read, source_id);
            if !known {
                queue.push(source);
            }
        }
        queue.extend(copier.takes(reader));
    }
    if copier.count == 0 {
        return None;
    }
    let mut split = copier.split;
    for (copy, id) in copier.ids.iter().filter(|((original, _), id)| original != *id) {
        redirect(&mut split, *id, |_, source| if source == copy.0 { *id } else { source });
    }
    for (id, reads) in reads {
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
    ids: BTreeMap<Copy, TensorId>,
    /// The ways in which a copy is read, and which copy each way gets.
    ways: BTreeMap<Copy, Vec<(Way, usize)>>,
    count: usize,
}

impl Copier<'_> {
    /// The copy of a source that a read is to read: the first way keeps the reader's own copy of it.
    fn copy_for(&mut self, reader: Copy, source: TensorId, way: Way) -> Copy {
        let known = self.ways.entry((source, reader.1)).or_default();
        if let Some((_, number)) = known.iter().find(|(known, _)| known.is_near(&way)) {
            return (source, *number);
        }
        let number = match self.split.graph.tensors.len() - self.stages.graph.tensors.len() {
            MOST_MADE.. => 0,
            _ if known.is_empty() => reader.1,
            _ => {
                self.count += 1;
                self.count
            }
        };
        known.push((way, number));
        (source, number)
    }

    /// The tensor that is a copy; made if it is not there.
    fn id_of(&mut self, copy: Copy) -> TensorId {
        if let Some(id) = self.ids.get(&copy) {
            return *id;
        }
        let (original, number) = copy;
        let id = match number {
            0 => original,
            _ => {
                let id = TensorId(self.split.graph.tensors.len() as u32);
                self.split.graph.tensors.push(self.stages.tensor(original).clone());
                self.split.accesses.push(self.stages.accesses[original.index()].clone());
                self.split.inherit(id, original);
                id
            }
        };
        self.ids.insert(copy, id);
        id
    }

    /// The takes of a host function are copied with it.
    fn takes(&mut self, reader: Copy) -> Vec<Copy> {
        let Some(call) = self.stages.hosts.get(&reader.0) else { return Vec::new() };
        let copies: Vec<Copy> = call.takes.iter().map(|take| (*take, reader.1)).collect();
        let fresh = copies.iter().copied().filter(|copy| !self.ids.contains_key(copy)).collect();
        let mut call = call.clone();
        call.takes = copies.into_iter().map(|copy| self.id_of(copy)).collect();
        self.split.hosts.insert(self.ids[&reader], call);
        fresh
    }
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
