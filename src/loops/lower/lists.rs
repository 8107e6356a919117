//! Lists of stored elements in loop IR: the entries of a row, the part of it that a window covers, and one element of it.
//!
//! ```text
//! a: ptr 0 1 3, lo 1 0 2, values 7 5 6
//!
//! row 1: entries 1..3        within 1..9: entries 2..3        element 2: entry 2, 6; element 1: none, the fill
//! ```
//!
//! Four buffers per list follow the output: where each row begins, the coordinate of every entry or where its run begins,
//! where its run ends, and its value. The pitches of a list's box count rows. A list has an entry even if it has none, so
//! that loads whose value is not used stay inside.

use super::{Bound, Lowerer, Source};
use crate::access::Access;
use crate::access::skip::{Cursor, List, Walk};
use crate::graph::Graph;
use crate::graph::body::NodeId;
use crate::graph::scalar::{BinaryFn, Scalar, UnaryFn};
use crate::graph::types::Element;
use crate::loops::ir::{Buffer, BufferId, LoopKind, ValueId};
use std::collections::HashMap;

/// The arrays of a list, in the order of their buffers.
#[derive(Clone, Copy)]
pub(super) enum Array {
    Begins,
    First,
    Ends,
    Values,
}

/// Buffers per list.
const ARRAYS: usize = 4;

/// The buffers of a list.
pub(super) fn arrays(graph: &Graph, list: &List) -> [Buffer; ARRAYS] {
    let buffer = |element| Buffer { element, written: false };
    let numbers = Element::U32;
    [buffer(numbers), buffer(numbers), buffer(numbers), buffer(graph.tensor(list.tensor).element)]
}

/// The dimensions of a source in the order of a list: rows are numbered along all but the last.
fn dims(rank: usize, along: usize) -> impl Iterator<Item = usize> {
    (0..rank).filter(move |dim| *dim != along).chain([along])
}

/// What is stored of a row.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// Entry of the lists.
    pub(super) list: usize,
    /// The first entry, and one past the last.
    pub(super) first: ValueId,
    pub(super) end: ValueId,
    /// What the variable is at coordinate 0 of the list.
    pub(super) shift: ValueId,
    /// Whether entries may reach beyond what the variable does.
    pub(super) clipped: bool,
}

impl Lowerer<'_> {
    /// The value of a read that is looked up.
    pub(super) fn look_up(
        &mut self,
        source: &Source<'_>,
        read: &Access,
        list: usize,
        bound: &Bound,
    ) -> ValueId {
        let (row, along) = (self.row_number(source, read, list, bound), self.list(list).dim);
        let terms = self.terms(source, &read.map[along], bound);
        let coord = self.sum(terms);
        let origin = self.origin(list);
        let coord = self.builder.binary(BinaryFn::Sub, coord, origin);
        let (first, end) = self.entries(list, row);
        let after = self.search(list, (first, end), coord);
        let (zero, one) = (self.builder.int(0), self.builder.int(1));
        let at = self.builder.binary(BinaryFn::Sub, after, one);
        let some = self.builder.binary(BinaryFn::Gt, after, first);
        let at = self.builder.binary(BinaryFn::Max, at, zero);
        let reaches = if self.list(list).runs {
            let hi = self.number(list, Array::Ends, at);
            self.builder.binary(BinaryFn::Lt, coord, hi)
        } else {
            let own = self.number(list, Array::First, at);
            self.builder.binary(BinaryFn::Eq, coord, own)
        };
        let hit = self.builder.binary(BinaryFn::And, some, reaches);
        let (stored, fill) = (self.stored(list, at), self.fill(list));
        self.builder.select(hit, stored, fill)
    }

    /// The first entry after those that begin at a coordinate or before, by halves.
    fn search(&mut self, list: usize, (first, end): (ValueId, ValueId), coord: ValueId) -> ValueId {
        let (zero, one) = (self.builder.int(0), self.builder.int(1));
        let count = self.builder.binary(BinaryFn::Sub, end, first);
        let bits = self.bits_of(count);
        let most = self.builder.binary(BinaryFn::Sub, bits, one);
        let half = self.builder.binary(BinaryFn::Shl, one, most);
        let (open, carried) = self.builder.open_loop(LoopKind::Serial, zero, bits, &[zero, half]);
        self.scopes.push(HashMap::new());
        let (so_far, half) = (carried[0], carried[1]);
        let further = self.builder.binary(BinaryFn::Add, so_far, half);
        let near = self.builder.binary(BinaryFn::Min, further, count);
        let at = self.builder.binary(BinaryFn::Sub, near, one);
        let at = self.builder.binary(BinaryFn::Add, first, at);
        let own = self.number(list, Array::First, at);
        let before = self.builder.binary(BinaryFn::Le, own, coord);
        let fits = self.builder.binary(BinaryFn::Le, further, count);
        let goes = self.builder.binary(BinaryFn::And, before, fits);
        let so_far = self.builder.select(goes, further, so_far);
        let half = self.builder.binary(BinaryFn::Shr, half, one);
        self.scopes.pop();
        let after = self.builder.close_loop(open, &[so_far, half])[0];
        self.builder.binary(BinaryFn::Add, first, after)
    }

    /// How many binary digits a number below 2^53 has, from the exponent that it has as a float; less than 1 for 0.
    fn bits_of(&mut self, count: ValueId) -> ValueId {
        let float = self.builder.cast(count, Element::F64);
        let bits = self.builder.unary(UnaryFn::Bits, float);
        let bits = self.builder.cast(bits, Element::I64);
        let (mantissa, bias) = (self.builder.int(52), self.builder.int(1022));
        let exponent = self.builder.binary(BinaryFn::Shr, bits, mantissa);
        self.builder.binary(BinaryFn::Sub, exponent, bias)
    }

    /// Where the variable of a walk goes.
    pub(super) fn range(&mut self, source: &Source<'_>, walk: &Walk) -> (ValueId, ValueId) {
        let binder = &source.body.binders[walk.var as usize];
        (self.builder.int(binder.lo), self.builder.int(binder.hi))
    }

    pub(super) fn list(&self, list: usize) -> List {
        self.walks.expect("a list belongs to walks").lists[list]
    }

    /// The value of an entry; a bool that is stored is what the fill is not.
    pub(super) fn stored(&mut self, list: usize, entry: ValueId) -> ValueId {
        if self.graph.tensor(self.list(list).tensor).element == Element::Bool {
            let fill = self.fill(list);
            return self.builder.unary(UnaryFn::Not, fill);
        }
        // Where a stretch is empty, nothing is read.
        let here = self.builder.depth();
        self.builder.load(self.array(list, Array::Values), entry, here)
    }

    /// What is not stored.
    pub(super) fn fill(&mut self, list: usize) -> ValueId {
        let tensor = self.graph.tensor(self.list(list).tensor);
        let fill = tensor.format.as_ref().map_or(Scalar::bool(false), |format| format.fill);
        self.builder.number(fill.cast(tensor.element.computed()))
    }

    fn array(&self, list: usize, array: Array) -> BufferId {
        BufferId((self.sources.len() + 1 + ARRAYS * list + array as usize) as u32)
    }

    /// An entry of an array.
    pub(super) fn number(&mut self, list: usize, array: Array, at: ValueId) -> ValueId {
        let number = self.builder.load(self.array(list, array), at, self.arms);
        self.builder.cast(number, Element::I64)
    }

    /// What the variable is at an entry of an array of coordinates.
    pub(super) fn place_in(&mut self, row: Row, array: Array, at: ValueId) -> ValueId {
        let coord = self.number(row.list, array, at);
        self.builder.binary(BinaryFn::Add, coord, row.shift)
    }

    /// The box of a list among those of buffers.
    fn box_of(&self, list: usize) -> usize {
        self.sources.len() + 1 + list
    }

    /// The coordinate along a list that it counts from.
    fn origin(&mut self, list: usize) -> ValueId {
        let rank = self.graph.tensor(self.list(list).tensor).domain.rank();
        self.builder.arg(self.layout.origin(self.box_of(list), rank - 1))
    }

    /// The entries of a row.
    fn entries(&mut self, list: usize, row: ValueId) -> (ValueId, ValueId) {
        let one = self.builder.int(1);
        let next = self.builder.binary(BinaryFn::Add, row, one);
        (self.number(list, Array::Begins, row), self.number(list, Array::Begins, next))
    }

    /// What is stored of the row that a cursor goes along, as far as the variable reaches.
    pub(super) fn row(&mut self, source: &Source<'_>, walk: &Walk, cursor: &Cursor, bound: &Bound) -> Row {
        let (list, read) = (cursor.list, access(source, cursor.read));
        let number = self.row_number(source, read, list, bound);
        let (first, end) = self.entries(list, number);
        let terms = self.terms(source, &cursor.offset, bound);
        let (offset, origin) = (self.sum(terms), self.origin(list));
        let shift = self.builder.binary(BinaryFn::Sub, origin, offset);
        if cursor.whole {
            return Row { list, first, end, shift, clipped: false };
        }
        let (lo, hi) = self.range(source, walk);
        let [lo, hi] = [lo, hi].map(|end| self.builder.binary(BinaryFn::Sub, end, shift));
        let one = self.builder.int(1);
        let [before, last] = [lo, hi].map(|end| self.builder.binary(BinaryFn::Sub, end, one));
        let (from, to) = match self.list(list).runs {
            // The run before may reach into the range.
            true => {
                let after = self.search(list, (first, end), lo);
                let one_less = self.builder.binary(BinaryFn::Sub, after, one);
                (self.builder.binary(BinaryFn::Max, one_less, first), self.search(list, (first, end), last))
            }
            false => (self.search(list, (first, end), before), self.search(list, (first, end), last)),
        };
        Row { list, first: from, end: to, shift, clipped: true }
    }

    /// The number of the row of a list that is read.
    fn row_number(&mut self, source: &Source<'_>, read: &Access, list: usize, bound: &Bound) -> ValueId {
        let guarded = !read.conditions.iter().all(|condition| self.conditions.contains(condition));
        let (buffer, mut parts) = (self.box_of(list), Vec::new());
        let outer = dims(read.map.len(), self.list(list).dim).take(read.map.len() - 1);
        for (at, dim) in outer.enumerate() {
            let mut terms = self.terms(source, &read.map[dim], bound);
            if guarded {
                let coord = self.sum(terms);
                terms = vec![self.clamped(buffer, at, coord)];
            }
            terms.push(self.before_origin(buffer, at));
            let place = self.sum(terms);
            let pitch = self.builder.arg(self.layout.origin(buffer, at) + 3);
            parts.push(self.builder.binary(BinaryFn::Mul, place, pitch));
        }
        self.sum(parts)
    }
}

/// The access of a read.
fn access<'s>(source: &Source<'s>, read: NodeId) -> &'s Access {
    let access = source.access.expect("only a tensor's own body reads");
    access.read(read).expect("every read has an access")
}
