//! What a tensor is computed from: every tensor that it reads, and that those read.

use super::Graph;
use super::body::{Op, TensorId};
use super::resolve_weak::Resolved;
use std::collections::BTreeSet;

/// The tensors of `from`, and all that lies upstream of them. What `set` items read is not followed.
pub fn upstream(graph: &Graph, from: impl IntoIterator<Item = TensorId>) -> BTreeSet<TensorId> {
    let mut queue: Vec<TensorId> = from.into_iter().collect();
    let mut found = BTreeSet::new();
    while let Some(reader) = queue.pop() {
        if found.insert(reader) {
            queue.extend(graph.reads_of(reader));
        }
    }
    found
}

/// The tensors that a body reads, as often as it has nodes that read them.
pub fn reads(body: &Resolved) -> impl Iterator<Item = TensorId> + '_ {
    body.body.nodes().filter_map(|(_, node)| match node.op {
        Op::Read { tensor, .. } => Some(tensor),
        _ => None,
    })
}
