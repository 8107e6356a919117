//! What a read of a tensor may ask for: the tensors it is computed from, and the `set` items that come before it.
//!
//! ```text
//! var m = 0   set m[0:4] = a[x]   tensor t = m[x]   tensor u = 1      t uses m, a and the `set`; u uses none of them
//! ```

use super::body::TensorId;
use super::upstream::reads;
use super::{Graph, TensorKind};
use std::collections::BTreeSet;

/// What a read uses, of itself or through others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// The tensor that is read included.
    pub tensors: BTreeSet<TensorId>,
    /// Places of `set` items that write a variable among the tensors.
    pub sets: BTreeSet<usize>,
}

impl Uses {
    /// The variables among the tensors.
    pub fn variables(&self, graph: &Graph) -> BTreeSet<TensorId> {
        let is_variable = |id: &TensorId| matches!(graph.tensor(*id).kind, TensorKind::Var(_));
        self.tensors.iter().copied().filter(is_variable).collect()
    }
}

/// What a read of `base` uses; what a `set` reads is needed by everybody who reads what it writes.
pub fn uses(graph: &Graph, base: TensorId) -> Uses {
    let mut queue = vec![base];
    let mut uses = Uses::default();
    while let Some(reader) = queue.pop() {
        if !uses.tensors.insert(reader) {
            continue;
        }
        queue.extend(graph.reads_of(reader));
        for (at, set) in graph.sets.iter().enumerate().filter(|(_, set)| set.target.base == reader) {
            uses.sets.insert(at);
            queue.extend(reads(&set.body));
        }
    }
    uses
}
