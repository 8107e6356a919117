//! Selections: a branch where the whole row agrees, else both arms and a choice per element.
//!
//! ```text
//! if y > 0 then a[y, x] else b[y, x]       if v3 { load b0 … } else { load b1 … }
//! if x > 0 then a[y, x] else b[y, x]       select v4 v5 v6, both loaded at clamped coordinates
//! ```

use super::{Bound, Lowerer, Source};
use crate::graph::body::{NodeId, Op};
use crate::loops::ir::{Block, ValueId};
use std::collections::{BTreeSet, HashMap};

/// Branches nest at most this deep.
const MOST_ARMS: usize = 6;
/// Kernels that have more values than this many times the nodes of their body, and some, get no more branches: arms
/// compute anew what they need, and code must not grow faster than what it is made of.
const TIMES: usize = 8;
const SMALL: usize = 1_000;

impl Lowerer<'_> {
    pub(super) fn select(
        &mut self,
        source: &Source<'_>,
        (condition, a, b): (NodeId, NodeId, NodeId),
        bound: &Bound,
    ) -> ValueId {
        let chosen = self.node(source, condition, bound);
        if let Some(value) = self.builder.constant(chosen) {
            return self.node(source, if value.is_true() { a } else { b }, bound);
        }
        if !self.branches(source, chosen, (a, b)) {
            let (a, b) = (self.node(source, a, bound), self.node(source, b, bound));
            return self.builder.select(chosen, a, b);
        }
        let then = self.arm(source, (condition, true), a, bound);
        let otherwise = self.arm(source, (condition, false), b, bound);
        self.builder.choose(chosen, then, otherwise)[0]
    }

    /// Whether a selection becomes a branch: its condition is the same for a whole row, and an arm reads. Others compute
    /// both arms, and so do those deep inside others, since each arm computes anew what it needs.
    pub(super) fn branches(&self, source: &Source<'_>, condition: ValueId, (a, b): (NodeId, NodeId)) -> bool {
        let reads = source.reads[a.index()] || source.reads[b.index()];
        let room = self.builder.count() < TIMES * source.body.len() + SMALL;
        reads && room && self.builder.home(condition) < self.row && self.conditions.len() < MOST_ARMS
    }

    /// What both arms of a branch compute whatever they choose in turn: it comes before the branch, once.
    pub(super) fn shared(&self, source: &Source<'_>, (a, b): (NodeId, NodeId), bound: &Bound) -> Vec<NodeId> {
        let (then, otherwise) = (self.surely(source, a, bound), self.surely(source, b, bound));
        then.intersection(&otherwise).copied().collect()
    }

    /// The nodes that are not known yet and that a node needs, whatever is selected.
    fn surely(&self, source: &Source<'_>, id: NodeId, bound: &Bound) -> BTreeSet<NodeId> {
        let (mut found, mut queue) = (BTreeSet::new(), vec![id]);
        while let Some(id) = queue.pop() {
            if self.known(source, id, bound).is_some() || !found.insert(id) {
                continue;
            }
            match &source.body.node(id).op {
                Op::Select(condition, ..) => queue.push(*condition),
                Op::Reduce { .. } => {}
                op => queue.extend(op.args()),
            }
        }
        found
    }

    fn arm(
        &mut self,
        source: &Source<'_>,
        condition: (NodeId, bool),
        id: NodeId,
        bound: &Bound,
    ) -> (Block, Vec<ValueId>) {
        let outer = self.arms;
        self.builder.open_block();
        self.scopes.push(HashMap::new());
        self.conditions.push(condition);
        self.arms = self.builder.depth();
        let value = self.node(source, id, bound);
        self.arms = outer;
        self.conditions.pop();
        self.scopes.pop();
        (self.builder.close_block(), vec![value])
    }
}
