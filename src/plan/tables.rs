//! What a window computes from one place inside it alone -> a table.
//!
//! ```text
//! tensor soft: f32[x: inf] window [256] stride [192] as [i]  = photo[192 * index(x) + i] * (1 - abs(i - 127.5) / 128)
//!
//! = photo[…] * t0[i]          256 numbers, which all windows share
//! ```
//!
//! Weights of windows are made like this, and every row of every window would compute them once more.

use super::seamless::empty_like;
use crate::graph::body::{Body, Coord, MathFn, NodeId, Op, Table, TableId};
use crate::graph::evaluate::{Library, evaluate};
use crate::graph::resolve_weak::Resolved;
use crate::graph::scalar::Scalar;
use crate::graph::types::{Element, Ty};
use crate::graph::{Graph, WindowBody, Windowed};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Operations that a table is worth.
const FEW: u64 = 4;
/// Operations that may be spent on tables of one body: sizes of windows times nodes.
const MOST: u64 = 1 << 20;

/// What a node depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    /// Constants.
    Nothing,
    /// The place inside a window along one dimension; so many operations make the node of it.
    Place { dim: u32, operations: u64 },
    /// Anything else.
    More,
}

/// The body with tables, if it is worth some.
pub(super) fn with_tables(windowed: &Windowed, graph: &Graph) -> Option<Resolved> {
    let WindowBody::Expr(Resolved { body, root }) = &windowed.body else { return None };
    let from = dependences(body);
    let size = |dim: u32| windowed.windows.dims[dim as usize].size();
    let dim_of = |id: NodeId| match (from[id.index()], body.ty(id).strong()) {
        (From::Place { dim, operations }, Some(Element::F32 | Element::F64)) if operations >= FEW => {
            Some(dim)
        }
        _ => None,
    };
    // Those that something else uses: what tables are made of needs none.
    let others = body.nodes().filter(|(id, _)| dim_of(*id).is_none());
    let used = others.flat_map(|(_, node)| node.op.args()).chain([*root]);
    let used: BTreeMap<NodeId, u32> = used.filter_map(|id| Some((id, dim_of(id)?))).collect();
    let work = used.values().map(|dim| (size(*dim) as u64).saturating_mul(body.len() as u64));
    if used.is_empty() || work.fold(0, u64::saturating_add) > MOST {
        return None;
    }
    let mut copy = empty_like(body);
    let mut new: Vec<NodeId> = Vec::with_capacity(body.len());
    for (id, node) in body.nodes() {
        let place = used.get(&id).map(|dim| (*dim, size(*dim)));
        let table = place.and_then(|(dim, size)| {
            let values = (0..size).map(|place| value_at(body, &from, (id, dim), place, graph));
            Some((dim, values.collect::<Option<Vec<Scalar>>>()?))
        });
        let op = match table {
            Some((dim, values)) => {
                let place = copy.push(Op::Coord(Coord::Local(dim)), Ty::Strong(Element::I64), node.span);
                Op::Table(table_of(&mut copy, values, node.ty), vec![place])
            }
            None => node.op.clone().with_args(|arg| new[arg.index()]),
        };
        new.push(copy.push(op, node.ty, node.span));
    }
    Some(Resolved { body: copy, root: new[root.index()] })
}

/// The table of a body with these entries.
fn table_of(body: &mut Body, values: Vec<Scalar>, ty: Ty) -> TableId {
    let known = body
        .tables
        .iter()
        .position(|table| table.values == values && table.ty == ty && table.shape.len() == 1);
    let at = known.unwrap_or_else(|| {
        let shape = vec![values.len() as i64];
        body.tables.push(Arc::new(Table { name: "places".into(), shape, values, ty }));
        body.tables.len() - 1
    });
    TableId(at as u32)
}

/// What every node depends on.
fn dependences(body: &Body) -> Vec<From> {
    let mut from: Vec<From> = Vec::with_capacity(body.len());
    for (_, node) in body.nodes() {
        from.push(match &node.op {
            Op::Const(_) => From::Nothing,
            Op::Coord(Coord::Local(dim)) => From::Place { dim: *dim, operations: 0 },
            Op::Coord(Coord::Global(_) | Coord::Window(_) | Coord::Bound(_)) => From::More,
            Op::Arg(_) | Op::Read { .. } | Op::Reduce { .. } => From::More,
            Op::Table(..)
            | Op::Hash(_)
            | Op::Math(..)
            | Op::Cast(_)
            | Op::Select(..)
            | Op::Fma(..)
            | Op::Binary(..)
            | Op::Unary(..) => joined(node.op.args(), &from),
        });
    }
    from
}

/// What one operation on such operands depends on.
fn joined(args: Vec<NodeId>, from: &[From]) -> From {
    let mut all = From::Nothing;
    for arg in args {
        all = match (all, from[arg.index()]) {
            (From::Nothing, other) | (other, From::Nothing) => other,
            (From::Place { dim, operations }, From::Place { dim: other, operations: more })
                if dim == other =>
            {
                From::Place { dim, operations: operations.saturating_add(more) }
            }
            _ => From::More,
        };
    }
    match all {
        From::Place { dim, operations } => From::Place { dim, operations: operations.saturating_add(1) },
        From::Nothing | From::More => all,
    }
}

/// The value of a node at one place inside the window.
fn value_at(
    body: &Body,
    from: &[From],
    (id, dim): (NodeId, u32),
    place: i64,
    graph: &Graph,
) -> Option<Scalar> {
    let mut at = empty_like(body);
    let mut new: Vec<Option<NodeId>> = Vec::with_capacity(id.index() + 1);
    for (old, node) in body.nodes().take(id.index() + 1) {
        let known = match from[old.index()] {
            From::Nothing => true,
            From::Place { dim: own, .. } => own == dim,
            From::More => false,
        };
        let copied = known.then(|| {
            let op = match &node.op {
                Op::Coord(_) => Op::Const(Scalar::i64(place)),
                op => op.clone().with_args(|arg| new[arg.index()].unwrap_or(arg)),
            };
            at.push(op, node.ty, node.span)
        });
        new.push(copied);
    }
    evaluate(&at, new[id.index()]?, &mut Functions(graph)).ok()
}

/// The math functions of a graph.
struct Functions<'g>(&'g Graph);

impl Library for Functions<'_> {
    fn function(&mut self, function: MathFn, element: Element) -> Option<Arc<(Body, NodeId)>> {
        self.0.math.get(&(function, element)).cloned()
    }
}
