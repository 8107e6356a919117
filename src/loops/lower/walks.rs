//! A reduction along the stored elements of a row, instead of along every element.
//!
//! ```text
//! sum(k in 0..9) a[y, k] * b[k]        a: ptr 0 1 3, idx 1 0 2, values 7 5 6
//!
//! for e in ptr[y]..ptr[y + 1]
//!   k = idx[e]                         entries: one step each; runs: a loop from lo[e] to hi[e]
//!   acc = fma values[e] b[k] acc
//! ```
//!
//! The buffer of the source holds values by entry, and the pitches of its box count rows. Three buffers follow the
//! output: where each row begins, the coordinate of every entry or where its run begins, and where its run ends.

use super::reductions::Reduction;
use super::{Bound, Lowerer, key};
use crate::access::skip::Walk;
use crate::graph::scalar::{BinaryFn, Scalar};
use crate::graph::types::Element;
use crate::loops::ir::{Buffer, BufferId, LoopKind, ValueId};
use std::collections::HashMap;

/// The buffers that a walk adds: begins of rows, coordinates, and ends of runs.
pub(super) fn arrays(walk: &Walk) -> Vec<Buffer> {
    vec![Buffer { element: Element::U32, written: false }; if walk.runs { 3 } else { 2 }]
}

impl<'g> Lowerer<'g> {
    /// The walk, if it is along this reduction.
    pub(super) fn walked_by(&self, reduction: &Reduction<'_, '_>) -> Option<&'g Walk> {
        // Functions of the library have bodies of their own, without accesses.
        self.walk.filter(|walk| reduction.source.access.is_some() && walk.inner == reduction.inner)
    }

    /// The state after the stored elements of a row.
    pub(super) fn walk_along(
        &mut self,
        reduction: &Reduction<'_, '_>,
        walk: &Walk,
        bound: &Bound,
        state: Vec<ValueId>,
    ) -> Vec<ValueId> {
        let row = self.row_of(reduction, walk, bound);
        let one = self.builder.int(1);
        let next = self.builder.binary(BinaryFn::Add, row, one);
        let (first, end) = (self.number(0, row), self.number(0, next));
        let (open, carried) = self.builder.open_loop(LoopKind::Serial, first, end, &state);
        self.scopes.push(HashMap::new());
        let value = self.stored(walk, open.var);
        let start = self.variable(walk, 1, open.var);
        let next = if walk.runs {
            let end = self.variable(walk, 2, open.var);
            self.along_run(reduction, walk, bound, (start, end, value), carried)
        } else {
            self.at_entry(reduction, walk, bound, (start, value), carried)
        };
        self.scopes.pop();
        self.builder.close_loop(open, &next)
    }

    fn along_run(
        &mut self,
        reduction: &Reduction<'_, '_>,
        walk: &Walk,
        bound: &Bound,
        (start, end, value): (ValueId, ValueId, ValueId),
        state: Vec<ValueId>,
    ) -> Vec<ValueId> {
        let (open, carried) = self.builder.open_loop(LoopKind::Serial, start, end, &state);
        self.scopes.push(HashMap::new());
        let next = self.at_entry(reduction, walk, bound, (open.var, value), carried);
        self.scopes.pop();
        self.builder.close_loop(open, &next)
    }

    /// One step, in which the read of the source is known.
    fn at_entry(
        &mut self,
        reduction: &Reduction<'_, '_>,
        walk: &Walk,
        bound: &Bound,
        (at, value): (ValueId, ValueId),
        state: Vec<ValueId>,
    ) -> Vec<ValueId> {
        let mut bound = bound.clone();
        bound.insert(walk.var, at);
        let read = key(reduction.source, walk.read, &bound);
        self.scopes.last_mut().expect("a loop is open").insert(read, value);
        self.step(reduction, &bound, state)
    }

    /// The value of an entry; a bool that is stored is what the fill is not.
    fn stored(&mut self, walk: &Walk, entry: ValueId) -> ValueId {
        let tensor = self.graph.tensor(walk.tensor);
        match &tensor.format {
            Some(format) if tensor.element == Element::Bool => {
                self.builder.number(Scalar::bool(!format.fill.is_true()))
            }
            Some(_) | None => self.builder.load(self.values(walk), entry, self.arms),
        }
    }

    fn values(&self, walk: &Walk) -> BufferId {
        let source = self.sources.iter().position(|known| *known == walk.tensor);
        BufferId(source.expect("every source has a buffer") as u32)
    }

    /// An entry of one of the arrays that follow the output.
    fn number(&mut self, array: usize, at: ValueId) -> ValueId {
        let buffer = BufferId((self.sources.len() + 1 + array) as u32);
        let number = self.builder.load(buffer, at, self.arms);
        self.builder.cast(number, Element::I64)
    }

    /// What the variable is at a coordinate of the box.
    fn variable(&mut self, walk: &Walk, array: usize, entry: ValueId) -> ValueId {
        let coord = self.number(array, entry);
        let buffer = self.values(walk).index();
        let rank = self.graph.tensor(walk.tensor).domain.rank();
        let origin = self.builder.arg(self.layout.origin(buffer, rank - 1));
        let offset = self.builder.int(walk.offset);
        let moved = self.builder.binary(BinaryFn::Sub, origin, offset);
        self.builder.binary(BinaryFn::Add, coord, moved)
    }

    /// The number of the row that is read.
    fn row_of(&mut self, reduction: &Reduction<'_, '_>, walk: &Walk, bound: &Bound) -> ValueId {
        let access = reduction.source.access.expect("only a tensor's own body reads");
        let at = access.reads.binary_search_by_key(&walk.read, |read| read.read);
        let read = &access.reads[at.expect("every read has an access")];
        let guarded = !read.conditions.iter().all(|condition| self.conditions.contains(condition));
        let buffer = self.values(walk).index();
        let mut parts = Vec::new();
        for (dim, form) in read.map.iter().enumerate().take(read.map.len() - 1) {
            let mut terms = self.terms(reduction.source, form, bound);
            if guarded {
                let coord = self.sum(terms);
                terms = vec![self.clamped(buffer, dim, coord)];
            }
            parts.push(self.place(buffer, dim, terms));
        }
        self.sum(parts)
    }
}
