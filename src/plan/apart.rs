//! Reads that move differently, apart: so that no box spans from one to the other.
//!
//! ```text
//! rise[y, x] = height[y, x] - height[0, 0]        read at y = 10^9
//!
//! rise[y, x] = height[y, x] - height'[0, 0]       height' is height once more, of which one element is needed
//! ```
//!
//! What such a copy reads is copied as well, down to data. Copies cost compile time, so the caller uses these stages
//! only where a request needs far less with them.

use super::group::order;
use super::needs::{Motion, needs, read_motion};
use super::stages::Stages;
use crate::graph::body::{NodeId, TensorId};
use crate::graph::{TensorKind, WindowBody};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Copies of a stage, at the most.
const MOST_COPIES: usize = 3;

/// A copy of a stage: which stage, which copy.
type Copies = BTreeMap<(TensorId, usize), TensorId>;

/// These stages with reads apart that move differently; `None` if no stage has such reads of one source.
pub fn set_apart(stages: &Stages) -> Option<Stages> {
    let mut split = stages.clone();
    let mut copies = Copies::new();
    for at in 0..stages.graph.tensors.len() {
        let id = TensorId(at as u32);
        let apart = reads_apart(stages, id);
        for (source, copy) in apart.values().copied().collect::<BTreeSet<_>>() {
            copy_all(stages, &mut split, source, copy, &mut copies);
        }
        if !apart.is_empty() {
            redirect(&mut split, id, |read, source| apart.get(&read).map_or(source, |copy| copies[copy]));
        }
    }
    if copies.is_empty() {
        return None;
    }
    split.needs = (0..split.graph.tensors.len()).map(|at| Arc::new(needs(&split, TensorId(at as u32)))).collect();
    split.kept = split.graph.tensors.len();
    Some(split)
}

/// The reads of a stage that move in another way than most do of that source, and the copy that each is to read.
fn reads_apart(stages: &Stages, id: TensorId) -> BTreeMap<NodeId, (TensorId, usize)> {
    let mut ways: BTreeMap<TensorId, Vec<Vec<Motion>>> = BTreeMap::new();
    let mut apart = BTreeMap::new();
    let reads = stages.accesses[id.index()].reads.iter();
    let reads = reads.filter(|access| access.tensor != id && !is_data(stages, access.tensor));
    let mut reads: Vec<_> = reads.map(|access| (access, read_motion(stages, id, access))).collect();
    let still = |motion: &[Motion]| motion.iter().filter(|motion| **motion == Motion::Still).count();
    // What moves most keeps the stage itself.
    reads.sort_by_key(|(access, motion)| (still(motion), access.read));
    for (access, motion) in reads {
        let known = ways.entry(access.tensor).or_default();
        let way = known.iter().position(|way| *way == motion).unwrap_or_else(|| {
            known.push(motion);
            known.len() - 1
        });
        if way > 0 {
            apart.insert(access.read, (access.tensor, way.min(MOST_COPIES)));
        }
    }
    apart
}

fn is_data(stages: &Stages, id: TensorId) -> bool {
    match stages.tensor(id).kind {
        TensorKind::Input(_) => !stages.hosts.contains_key(&id),
        TensorKind::Var(_) => true,
        TensorKind::Pointwise(_) | TensorKind::Windowed(_) => false,
    }
}

/// Copies a stage and everything it reads.
fn copy_all(stages: &Stages, split: &mut Stages, target: TensorId, number: usize, copies: &mut Copies) {
    for id in order(stages, target) {
        if is_data(stages, id) || copies.contains_key(&(id, number)) {
            continue;
        }
        let copy = TensorId(split.graph.tensors.len() as u32);
        split.graph.tensors.push(stages.tensor(id).clone());
        split.accesses.push(stages.accesses[id.index()].clone());
        copies.insert((id, number), copy);
        let copied = |source: TensorId| copies.get(&(source, number)).copied().unwrap_or(source);
        if let Some(call) = stages.hosts.get(&id) {
            let mut call = call.clone();
            call.takes.iter_mut().for_each(|take| *take = copied(*take));
            split.hosts.insert(copy, call);
        }
        redirect(split, copy, |_, source| copied(source));
    }
}

/// Makes the reads of a stage reads of other stages.
fn redirect(stages: &mut Stages, id: TensorId, to: impl Fn(NodeId, TensorId) -> TensorId) {
    match &mut stages.graph.tensors[id.index()].kind {
        TensorKind::Pointwise(pointwise) => pointwise.body.body.redirect(&to),
        TensorKind::Windowed(windowed) => match &mut windowed.body {
            WindowBody::Expr(body) => body.body.redirect(&to),
            WindowBody::Extern { .. } => {}
        },
        TensorKind::Input(_) | TensorKind::Var(_) => {}
    }
    let mut access = (*stages.accesses[id.index()]).clone();
    access.reads.iter_mut().for_each(|access| access.tensor = to(access.read, access.tensor));
    stages.accesses[id.index()] = Arc::new(access);
}
