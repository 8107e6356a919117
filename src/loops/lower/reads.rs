//! Reads: the offset of an element, what moves along the row apart from what does not.
//!
//! ```text
//! a[y - 1, 2 * x + 3]      ((y - 1 - a.0) & a.0.mask) * a.0.pitch + (3 - a.1)   once per row,   + 2 * x   along it
//! ```

use super::{Bound, Lowerer, Source};
use crate::access::linear::{Atom, Linear};
use crate::graph::body::{NodeId, TensorId};
use crate::graph::scalar::BinaryFn;
use crate::graph::types::Element;
use crate::loops::ir::{BufferId, ValueId};

impl Lowerer<'_> {
    pub(super) fn read(
        &mut self,
        source: &Source<'_>,
        id: NodeId,
        tensor: TensorId,
        bound: &Bound,
    ) -> ValueId {
        let access = source.access.expect("only a tensor's own body reads");
        let read = access.read(id).expect("every read has an access");
        if let Some(list) = self.walks.and_then(|walks| walks.looked_up(id)) {
            return self.look_up(source, read, list, bound);
        }
        let buffer =
            self.sources.iter().position(|known| *known == tensor).expect("every source has a buffer");
        let holds = |condition| self.conditions.contains(condition) || self.settled.contains(condition);
        let guarded = !read.conditions.iter().all(holds);
        let mut parts = Vec::new();
        for (dim, form) in read.map.iter().enumerate() {
            let mut terms = self.terms(source, form, bound);
            if guarded {
                let coord = self.sum(terms);
                terms = vec![self.clamped(buffer, dim, coord)];
            }
            self.parts(buffer, dim, terms, &mut parts);
        }
        let offset = self.offset(parts);
        self.builder.load(BufferId(buffer as u32), offset, self.arms)
    }

    /// The parts of the offset along one dimension. Those of the last one stay apart, so that all that does not move
    /// along the row is summed up before it.
    pub(super) fn parts(&mut self, buffer: usize, dim: usize, terms: Vec<ValueId>, parts: &mut Vec<ValueId>) {
        if self.layout.is_last(buffer, dim) {
            parts.extend(terms);
            parts.push(self.before_origin(buffer, dim));
        } else {
            parts.push(self.place(buffer, dim, terms));
        }
    }

    /// The sum of the parts of an offset. Constants come last: `row + x` is shared, and the processor adds the rest.
    pub(super) fn offset(&mut self, parts: Vec<ValueId>) -> ValueId {
        let (constants, others): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|part| self.builder.constant(*part).is_some());
        let (constant, moving) = (self.sum(constants), self.sum(others));
        self.builder.binary(BinaryFn::Add, moving, constant)
    }

    /// A coordinate moved into the buffer's box: the value read there is not used.
    pub(super) fn clamped(&mut self, buffer: usize, dim: usize, coord: ValueId) -> ValueId {
        let origin = self.layout.origin(buffer, dim);
        let (first, end) = (self.builder.arg(origin), self.builder.arg(origin + 1));
        let one = self.builder.int(1);
        let last = self.builder.binary(BinaryFn::Sub, end, one);
        let lowered = self.builder.binary(BinaryFn::Min, coord, last);
        self.builder.binary(BinaryFn::Max, lowered, first)
    }

    /// The terms of a linear form, the constant one included.
    pub(super) fn terms(&mut self, source: &Source<'_>, form: &Linear, bound: &Bound) -> Vec<ValueId> {
        let mut terms = vec![self.builder.int(form.offset)];
        for (atom, factor) in &form.terms {
            let value = match atom {
                Atom::Coord(coord) => self.coord(*coord, bound),
                Atom::Node(id) => {
                    let value = self.node(source, *id, bound);
                    self.builder.cast(value, Element::I64)
                }
                Atom::Floor(floor) if let Some(quotient) = self.quotient(*floor) => quotient,
                Atom::Floor(floor) => {
                    let floor = &source.access.expect("forms come with accesses").floors[*floor as usize];
                    let inside = self.terms(source, &floor.form, bound);
                    let inside = self.sum(inside);
                    let by = self.builder.int(floor.by);
                    self.builder.binary(BinaryFn::FloorDiv, inside, by)
                }
            };
            let factor = self.builder.int(*factor);
            let (moving, still) = self.apart.get(&value).map_or((value, None), |(a, b)| (*a, Some(*b)));
            let parts = [Some(moving), still].into_iter().flatten();
            terms.extend(parts.map(|part| self.builder.binary(BinaryFn::Mul, part, factor)));
        }
        terms
    }

    /// Adds up values, those of outer blocks first, so that partial sums stay outside.
    pub(super) fn sum(&mut self, mut terms: Vec<ValueId>) -> ValueId {
        terms.sort_by_key(|term| self.builder.home(*term));
        let zero = self.builder.int(0);
        terms.into_iter().fold(zero, |sum, term| self.builder.binary(BinaryFn::Add, sum, term))
    }
}
