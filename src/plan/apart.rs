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
use super::needs::needs;
use super::stages::Stages;
use crate::access::linear::{Atom, Linear};
use crate::graph::body::{Coord, NodeId, TensorId};
use crate::graph::{TensorKind, WindowBody};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Copies of a stage, at the most.
const MOST_COPIES: usize = 8;

/// A copy of a stage: which stage, which copy.
type Copies = BTreeMap<(TensorId, usize), TensorId>;

/// These stages with reads apart that move differently, as far as `target` needs them; `None` if it needs none such.
pub fn set_apart(stages: &Stages, target: TensorId) -> Option<Stages> {
    let mut split = stages.clone();
    let mut copies = Copies::new();
    let mut ways = BTreeMap::new();
    for id in order(stages, target) {
        let apart = reads_apart(stages, id, &mut ways);
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
    split.needs =
        (0..split.graph.tensors.len()).map(|at| Arc::new(needs(&split, TensorId(at as u32)))).collect();
    split.kept = split.graph.tensors.len();
    Some(split)
}

/// How a read moves: who reads, and what moves each of its coordinates.
type Way = (TensorId, Vec<Vec<(Atom, i64)>>);

/// The reads of a stage that move in another way than the first of that source, and the copy that each is to read.
fn reads_apart(
    stages: &Stages,
    id: TensorId,
    ways: &mut BTreeMap<TensorId, Vec<Way>>,
) -> BTreeMap<NodeId, (TensorId, usize)> {
    let mut apart = BTreeMap::new();
    for access in &stages.accesses[id.index()].reads {
        if access.tensor == id || is_data(stages, access.tensor) {
            continue;
        }
        let known = ways.entry(access.tensor).or_default();
        let way = (id, access.map.iter().map(moved_by).collect());
        let number = known.iter().position(|known| *known == way).unwrap_or_else(|| {
            known.push(way);
            known.len() - 1
        });
        if number > 0 {
            apart.insert(access.read, (access.tensor, number.min(MOST_COPIES)));
        }
    }
    apart
}

/// The part of a coordinate that follows the reader's.
fn moved_by(form: &Linear) -> Vec<(Atom, i64)> {
    let follows = |(atom, _): &&(Atom, i64)| match atom {
        Atom::Coord(Coord::Global(_) | Coord::Window(_)) | Atom::Floor(_) | Atom::Node(_) => true,
        Atom::Coord(Coord::Local(_) | Coord::Bound(_)) => false,
    };
    form.terms.iter().filter(follows).copied().collect()
}

/// Inputs are in memory as a whole: any of their elements are at hand.
fn is_data(stages: &Stages, id: TensorId) -> bool {
    match stages.tensor(id).kind {
        TensorKind::Input(_) => !stages.hosts.contains_key(&id),
        TensorKind::Var(_) | TensorKind::Pointwise(_) | TensorKind::Windowed(_) => false,
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
        if matches!(stages.tensor(id).kind, TensorKind::Var(_)) {
            split.copied.insert(copy, id);
        }
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
