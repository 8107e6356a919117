//! Sums along the rows of a source -> kept the other way round, so that its rows are lanes.
//!
//! ```text
//! rows[y, k] = mean(j in 0..256) a[y, 192 * k + j]        lanes along k lie 192 elements apart
//!
//! rows.turned[k, y] = mean(j in 0..256) a[y, 192 * k + j]     lanes along y are rows of a, all of them as many as there are
//! rows[y, k] = rows.turned[k, y]                              which its readers read themselves
//! ```
//!
//! Either way sixteen lines of memory are turned in registers, but there are more rows than windows, and what windows
//! share is read while it is in the cache.

use super::inline::{body_of, inlined};
use super::stages::Stages;
use crate::access::linear::{Atom, Linear};
use crate::graph::body::{Body, Coord, Op, TensorId};
use crate::graph::resolve_weak::Resolved;
use crate::graph::types::{Element, Ty};
use crate::graph::{Pointwise, TensorKind};
use crate::index::Domain;

/// How far lanes lie apart, at the least, and over how many elements of a row is summed.
const LEAST_STEP: i64 = 16;
const LEAST_SUM: i64 = 64;

/// Turns such stages, and lets their readers read what is kept.
pub(super) fn turn(stages: &mut Stages) {
    for at in 0..stages.graph.tensors.len() {
        let id = TensorId(at as u32);
        if let Some(body) = body_of(stages, id).filter(|body| is_apart(stages, id, body)).cloned() {
            turn_stage(stages, id, &body);
        }
    }
}

fn turn_stage(stages: &mut Stages, id: TensorId, body: &Resolved) {
    let owner = stages.tensor(id).clone();
    let last = owner.domain.rank() - 1;
    let mut dims = owner.domain.dims().to_vec();
    dims.swap(last - 1, last);
    let Ok(domain) = Domain::new(dims) else { return };
    let kind = TensorKind::Pointwise(Pointwise { body: swapped(body, last), recurrence: None });
    let turned = stages.add_stage(&format!("{}.turned", owner.name), &owner, domain, kind);
    let read = read_of(turned, owner.element, last, &owner);
    for reader in 0..stages.graph.tensors.len() {
        let reader = TensorId(reader as u32);
        let reads = stages.accesses[reader.index()].reads.iter().any(|read| read.tensor == id);
        if let Some(old) = body_of(stages, reader).filter(|_| reads) {
            let new = inlined(old, id, &read, owner.element);
            stages.set_body(reader, new);
        }
    }
    stages.set_body(id, read);
}

/// The body with its last two coordinates exchanged.
fn swapped(resolved: &Resolved, last: usize) -> Resolved {
    let mut copy = super::seamless::empty_like(&resolved.body);
    let mut new = Vec::with_capacity(resolved.body.len());
    for (_, node) in resolved.body.nodes() {
        let op = match node.op.clone() {
            Op::Coord(Coord::Global(dim)) if dim as usize == last => {
                Op::Coord(Coord::Global(last as u32 - 1))
            }
            Op::Coord(Coord::Global(dim)) if dim as usize + 1 == last => {
                Op::Coord(Coord::Global(last as u32))
            }
            op => op.with_args(|arg| new[arg.index()]),
        };
        new.push(copy.push(op, node.ty, node.span));
    }
    Resolved { root: new[resolved.root.index()], body: copy }
}

/// A body that reads what was turned.
fn read_of(turned: TensorId, element: Element, last: usize, owner: &crate::graph::Tensor) -> Resolved {
    let mut body = Body::default();
    let order = (0..last - 1).chain([last, last - 1]);
    let coords = order
        .map(|dim| body.push(Op::Coord(Coord::Global(dim as u32)), Ty::Strong(Element::I64), owner.span));
    let coords = coords.collect();
    let root =
        body.push(Op::Read { tensor: turned, coords, arm: 0 }, Ty::Strong(element.computed()), owner.span);
    Resolved { body, root }
}

/// Whether a stage sums along the rows of its only source, and its own lanes lie apart in them.
fn is_apart(stages: &Stages, id: TensorId, resolved: &Resolved) -> bool {
    let tensor = stages.tensor(id);
    let (Some(last), [read]) = (tensor.domain.rank().checked_sub(1), &stages.accesses[id.index()].reads[..])
    else {
        return false;
    };
    let Some((along, outer)) = read.map.split_last() else { return false };
    if last == 0
        || tensor.format.is_some()
        || !read.conditions.is_empty()
        || stages.tensor(read.tensor).format.is_some()
    {
        return false;
    }
    let length = |var: u32| {
        let binder = &resolved.body.binders[var as usize];
        binder.hi.saturating_sub(binder.lo)
    };
    let sums = |(atom, factor): &(Atom, i64)| match atom {
        Atom::Coord(Coord::Bound(var)) => *factor == 1 && length(*var) >= LEAST_SUM,
        _ => false,
    };
    let steps = |(atom, factor): &(Atom, i64)| {
        *atom == Atom::Coord(Coord::Global(last as u32)) && *factor >= LEAST_STEP
    };
    let rows = |form: &Linear| form.terms == [(Atom::Coord(Coord::Global(last as u32 - 1)), 1)];
    along.terms.len() == 2
        && along.terms.iter().any(sums)
        && along.terms.iter().any(steps)
        && outer.last().is_some_and(rows)
        && outer[..outer.len() - 1]
            .iter()
            .all(|form| !form.terms.iter().any(|(atom, _)| *atom == Atom::Coord(Coord::Global(last as u32))))
}
