//! A source that is read at few of its elements -> part of its reader's body.
//!
//! ```text
//! map[y, x] = 2 * height[1000 * y, x]      height[y, x] = rand(y, x)
//!
//! map[y, x] = 2 * rand(1000 * y, x)        nothing between the thousandth rows is computed
//! ```

use super::stages::Stages;
use crate::graph::body::{Body, Coord, NodeId, Op, TensorId};
use crate::graph::resolve_weak::Resolved;
use crate::graph::scalar::UnaryFn;
use crate::graph::types::{Element, Ty};
use crate::graph::{Pointwise, TensorKind};
use crate::source::Span;
use std::collections::BTreeMap;

/// The body of a stage that is plain arithmetic on coordinates and sources.
pub(super) fn body_of(stages: &Stages, id: TensorId) -> Option<&Resolved> {
    match &stages.tensor(id).kind {
        TensorKind::Pointwise(Pointwise { body, recurrence: None }) => Some(body),
        TensorKind::Pointwise(_) | TensorKind::Input(_) | TensorKind::Var(_) | TensorKind::Windowed(_) => {
            None
        }
    }
}

/// Reads that an element of a stage takes, reductions counted in full; at least 1.
pub(super) fn weight(stages: &Stages, id: TensorId) -> u128 {
    let Some(body) = stages.tensor(id).body() else { return 1 };
    reads_per_element(body).into_values().fold(0, u128::saturating_add).max(1)
}

/// How often an element reads every source, reductions counted in full.
pub(super) fn reads_per_element(resolved: &Resolved) -> BTreeMap<TensorId, u128> {
    let mut reads = BTreeMap::new();
    let times = times(&resolved.body, resolved.root);
    for ((_, node), times) in resolved.body.nodes().zip(times) {
        if let (Op::Read { tensor, .. }, Some(times)) = (&node.op, times) {
            *reads.entry(*tensor).or_insert(0) += times;
        }
    }
    reads
}

/// How often every node is computed for one value of a root, steps of reductions counted in full; none for those that it
/// has nothing to do with.
pub(super) fn times(body: &Body, root: NodeId) -> Vec<Option<u128>> {
    let mut times: Vec<Option<u128>> = vec![None; body.len()];
    times[root.index()] = Some(1);
    for (id, node) in body.nodes().rev() {
        let Some(own) = times[id.index()] else { continue };
        let inner = match &node.op {
            Op::Reduce { vars, .. } => {
                let steps = vars.iter().map(|var| &body.binders[*var as usize]);
                steps.map(|var| var.hi.saturating_sub(var.lo).max(0) as u128).fold(own, u128::saturating_mul)
            }
            _ => own,
        };
        for arg in node.op.args() {
            let known = &mut times[arg.index()];
            *known = Some(known.map_or(inner, |known| known.max(inner)));
        }
    }
    times
}

/// The body of a reader with every read of `source` replaced by the body of `source`.
pub(super) fn inlined(reader: &Resolved, source: TensorId, inner: &Resolved, element: Element) -> Resolved {
    let mut merger = Merger { body: Body::default(), arms: 0 };
    let root = merger.add(reader, Given::Nothing, Some((source, inner, element)));
    Resolved { body: merger.body, root }
}

/// What a function of two values, which reads nothing, makes of two nodes of a body.
pub(super) fn applied(body: &mut Body, function: &Resolved, args: [NodeId; 2]) -> NodeId {
    let mut merger = Merger { body: std::mem::take(body), arms: 0 };
    let root = merger.add(function, Given::Args(args), None);
    *body = merger.body;
    root
}

/// What stands for leaves of a body that is added.
#[derive(Clone, Copy)]
enum Given<'n> {
    Nothing,
    Coords(&'n [NodeId]),
    Args([NodeId; 2]),
}

struct Merger {
    body: Body,
    /// Arms so far: those of every copy are numbered apart.
    arms: u32,
}

impl Merger {
    /// Adds the nodes of a body.
    fn add(
        &mut self,
        resolved: &Resolved,
        given: Given<'_>,
        replace: Option<(TensorId, &Resolved, Element)>,
    ) -> NodeId {
        let binders = self.body.binders.len() as u32;
        self.body.binders.extend(resolved.body.binders.iter().cloned());
        let tables: Vec<_> =
            resolved.body.tables.iter().map(|table| self.body.table(table.clone())).collect();
        let first_arm = self.arms;
        self.arms += arms(&resolved.body);
        let mut new: Vec<NodeId> = Vec::with_capacity(resolved.body.len());
        for (_, node) in resolved.body.nodes() {
            let id = match (&node.op, given, replace) {
                (Op::Coord(Coord::Global(dim)), Given::Coords(at), _) => at[*dim as usize],
                (Op::Arg(number), Given::Args(args), _) => args[*number as usize],
                (Op::Read { tensor, coords, .. }, _, Some((source, inner, element))) if *tensor == source => {
                    let at: Vec<NodeId> = coords.iter().map(|coord| new[coord.index()]).collect();
                    let value = self.add(inner, Given::Coords(&at), None);
                    self.stored(value, element, node.span)
                }
                _ => {
                    let mut op = node.op.clone().with_args(|arg| new[arg.index()]);
                    match &mut op {
                        Op::Coord(Coord::Bound(var)) => *var += binders,
                        Op::Reduce { vars, .. } => vars.iter_mut().for_each(|var| *var += binders),
                        Op::Table(table, _) => *table = tables[table.index()],
                        Op::Read { arm, .. } => *arm += first_arm,
                        _ => {}
                    }
                    self.body.push(op, node.ty, node.span)
                }
            };
            new.push(id);
        }
        new[resolved.root.index()]
    }

    /// What comes back after a value was stored: f16 rounds. A cast to its own type keeps a product out of a sum: what
    /// was rounded on its own stays so.
    fn stored(&mut self, value: NodeId, element: Element, span: Span) -> NodeId {
        let ty = Ty::Strong(element.computed());
        match element {
            Element::F16 => self.body.push(Op::Unary(UnaryFn::RoundF16, value), ty, span),
            _ => self.body.push(Op::Cast(value), ty, span),
        }
    }
}

/// One more than the largest arm.
fn arms(body: &Body) -> u32 {
    let arms = body.nodes().map(|(_, node)| match node.op {
        Op::Read { arm, .. } => arm + 1,
        _ => 1,
    });
    arms.max().unwrap_or(1)
}
