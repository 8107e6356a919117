//! A reduction along the stored elements of rows, instead of along every element.
//!
//! ```text
//! sum(k in 0..9) a[y, k] * v[k]        a: ptr 0 1 3, lo 1 0 2, values 7 5 6
//!
//! for e in ptr[y]..ptr[y + 1]
//!   k = lo[e]                          entries: one step each; runs: a loop from lo[e] to hi[e]
//!   acc = fma values[e] v[k] acc
//! ```
//!
//! Several rows are gone along together: every step takes the next stretch that is stored in all of them, or in one of
//! them, computes along it, and goes on in the rows whose stretch ends there.
//!
//! ```text
//! sum(k in 0..9) a[y, k] * b[y, k]
//!
//! for step in 0..entries of both rows      carries p in a, q in b
//!   start = max a.lo[p] b.lo[q]            next = min a.hi[p] b.hi[q]
//!   for k in start..next                   once, or not at all
//!     acc = fma a.values[p] b.values[q] acc
//!   p += a.hi[p] <= next                   q += b.hi[q] <= next
//! ```

use super::lists::{Array, Row};
use super::reductions::Reduction;
use super::{Bound, Lowerer, key};
use crate::access::skip::{Visits, Walk};
use crate::graph::scalar::BinaryFn;
use crate::graph::types::Element;
use crate::loops::ir::{LoopKind, ValueId};
use std::collections::HashMap;

/// Beyond every coordinate.
const FAR: i64 = 1 << 62;

/// An entry of a row, or a run: where it begins and ends, and whether there was one left.
#[derive(Clone, Copy)]
struct Stretch {
    at: ValueId,
    lo: ValueId,
    hi: ValueId,
    live: ValueId,
}

/// What a step along several rows does.
struct Common {
    /// The stretch that is visited.
    start: ValueId,
    end: ValueId,
    /// For every row whether it is stored there, if that is a question.
    inside: Vec<Option<ValueId>>,
    /// For every row whether its stretch ends there.
    ends: Vec<ValueId>,
}

impl<'g> Lowerer<'g> {
    /// The walk of a reduction, if it has one.
    pub(super) fn walked_by(&self, reduction: &Reduction<'_, '_>) -> Option<&'g Walk> {
        // Functions of the library have bodies of their own, without accesses.
        self.walks?.along(reduction.reduce).filter(|_| reduction.source.access.is_some())
    }

    /// The state after all that is stored.
    pub(super) fn walk_along(
        &mut self,
        reduction: &Reduction<'_, '_>,
        walk: &Walk,
        bound: &Bound,
        state: Vec<ValueId>,
    ) -> Vec<ValueId> {
        let rows = walk.cursors.iter().map(|cursor| self.row(reduction.source, walk, cursor, bound));
        let rows: Vec<Row> = rows.collect();
        match rows[..] {
            [row] => self.along_row(reduction, walk, row, bound, state),
            _ => self.along_rows(reduction, walk, &rows, bound, state),
        }
    }

    /// Goes along one row. One entry per step of the loop: every array is then read by one instruction, which is what
    /// processors know a stream by and read ahead of.
    fn along_row(
        &mut self,
        reduction: &Reduction<'_, '_>,
        walk: &Walk,
        row: Row,
        bound: &Bound,
        state: Vec<ValueId>,
    ) -> Vec<ValueId> {
        let (open, carried) = self.builder.open_loop(LoopKind::Serial, row.first, row.end, &state);
        self.scopes.push(HashMap::new());
        let next = if self.list(row.list).runs {
            let [lo, hi] = [Array::First, Array::Ends].map(|array| self.place_in(row, array, open.var));
            let (lo, hi) = self.clip(reduction, walk, row, (lo, hi));
            self.along_stretch(reduction, walk, &[(row, open.var, None)], (lo, hi), bound, carried)
        } else {
            self.at_entry(reduction, walk, (row, open.var), bound, carried)
        };
        self.scopes.pop();
        self.builder.close_loop(open, &next)
    }

    /// The step at an entry of the one row.
    fn at_entry(
        &mut self,
        reduction: &Reduction<'_, '_>,
        walk: &Walk,
        (row, entry): (Row, ValueId),
        bound: &Bound,
        state: Vec<ValueId>,
    ) -> Vec<ValueId> {
        let raw = self.number(row.list, Array::First, entry);
        let at = self.builder.binary(BinaryFn::Add, raw, row.shift);
        self.apart.insert(at, (raw, row.shift));
        self.at(reduction, walk, &[(row, entry, None)], at, bound, state)
    }

    /// Goes along several rows together.
    fn along_rows(
        &mut self,
        reduction: &Reduction<'_, '_>,
        walk: &Walk,
        rows: &[Row],
        bound: &Bound,
        state: Vec<ValueId>,
    ) -> Vec<ValueId> {
        let zero = self.builder.int(0);
        let steps = self.steps(walk, rows);
        let start = self.builder.int(-FAR);
        let inits: Vec<ValueId> =
            [start].into_iter().chain(rows.iter().map(|row| row.first)).chain(state).collect();
        let (open, carried) = self.builder.open_loop(LoopKind::Serial, zero, steps, &inits);
        self.scopes.push(HashMap::new());
        let (so_far, places, state) =
            (carried[0], &carried[1..=rows.len()], carried[1 + rows.len()..].to_vec());
        let found: Vec<Stretch> =
            rows.iter().zip(places).map(|(row, place)| self.stretch(reduction, walk, *row, *place)).collect();
        let common = match walk.visits {
            Visits::All => self.common_to_all(&found),
            Visits::Any => self.common_to_any(so_far, &found),
        };
        let stored = rows.iter().zip(&found).zip(common.inside);
        let stored: Vec<_> = stored.map(|((row, found), inside)| (*row, found.at, inside)).collect();
        let (start, next) = (common.start, common.end);
        let after = self.along_stretch(reduction, walk, &stored, (start, next), bound, state);
        let advanced = places.iter().zip(common.ends).map(|(place, ends)| {
            let step = self.builder.cast(ends, Element::I64);
            self.builder.binary(BinaryFn::Add, *place, step)
        });
        let advanced: Vec<ValueId> = advanced.collect();
        let all: Vec<ValueId> = [next].into_iter().chain(advanced).chain(after).collect();
        self.scopes.pop();
        self.builder.close_loop(open, &all).split_off(1 + rows.len())
    }

    /// How many steps it takes along rows, at the most: each ends a stretch, or, where one row is enough, begins one.
    fn steps(&mut self, walk: &Walk, rows: &[Row]) -> ValueId {
        let lengths: Vec<ValueId> =
            rows.iter().map(|row| self.builder.binary(BinaryFn::Sub, row.end, row.first)).collect();
        let all = self.sum(lengths);
        let runs = rows.iter().any(|row| self.list(row.list).runs);
        let times = self.builder.int(if runs && walk.visits == Visits::Any { 2 } else { 1 });
        self.builder.binary(BinaryFn::Mul, all, times)
    }

    /// The part that all stretches share; those that end first are done. Nothing is shared once a row has no more, and
    /// whether it has is asked beside the way from one step to the next.
    fn common_to_all(&mut self, found: &[Stretch]) -> Common {
        let start = self.extreme(BinaryFn::Max, found.iter().map(|found| found.lo));
        let next = self.extreme(BinaryFn::Min, found.iter().map(|found| found.hi));
        let live = self.extreme(BinaryFn::And, found.iter().map(|found| found.live));
        let end = self.builder.select(live, next, start);
        let mut ends = Vec::new();
        for (at, own) in found.iter().enumerate() {
            let others = found.iter().enumerate().filter(|(other, _)| *other != at);
            let first = others.map(|(_, other)| self.builder.binary(BinaryFn::Le, own.hi, other.hi));
            let first: Vec<ValueId> = first.collect();
            ends.push(self.extreme(BinaryFn::And, first));
        }
        Common { start, end, inside: vec![None; found.len()], ends }
    }

    /// The next part in which no stretch begins or ends, from where the last one ended.
    fn common_to_any(&mut self, so_far: ValueId, found: &[Stretch]) -> Common {
        let far = self.builder.int(FAR);
        let beyond = |lowerer: &mut Self, value, live| lowerer.builder.select(live, value, far);
        let los: Vec<ValueId> = found.iter().map(|found| beyond(self, found.lo, found.live)).collect();
        let his: Vec<ValueId> = found.iter().map(|found| beyond(self, found.hi, found.live)).collect();
        let first = self.extreme(BinaryFn::Min, los.iter().copied());
        let start = self.builder.binary(BinaryFn::Max, so_far, first);
        let (mut inside, mut bounds) = (Vec::new(), Vec::new());
        for (lo, hi) in los.iter().zip(&his) {
            let begun = self.builder.binary(BinaryFn::Le, *lo, start);
            bounds.push(self.builder.select(begun, *hi, *lo));
            inside.push(Some(begun));
        }
        let end = self.extreme(BinaryFn::Min, bounds);
        let ends = his.into_iter().map(|hi| self.builder.binary(BinaryFn::Le, hi, end)).collect();
        Common { start, end, inside, ends }
    }

    /// All values in one.
    fn extreme(&mut self, function: BinaryFn, values: impl IntoIterator<Item = ValueId>) -> ValueId {
        let mut values = values.into_iter();
        let first = values.next().expect("there are several rows");
        values.fold(first, |so_far, value| self.builder.binary(function, so_far, value))
    }

    /// The entry of a row at a place, the last one if there is none.
    fn stretch(&mut self, reduction: &Reduction<'_, '_>, walk: &Walk, row: Row, place: ValueId) -> Stretch {
        let (zero, one) = (self.builder.int(0), self.builder.int(1));
        let live = self.builder.binary(BinaryFn::Lt, place, row.end);
        let last = self.builder.binary(BinaryFn::Sub, row.end, one);
        let last = self.builder.binary(BinaryFn::Max, last, zero);
        let at = self.builder.binary(BinaryFn::Min, place, last);
        let lo = self.place_in(row, Array::First, at);
        let hi = match self.list(row.list).runs {
            true => self.place_in(row, Array::Ends, at),
            false => self.builder.binary(BinaryFn::Add, lo, one),
        };
        let (lo, hi) = self.clip(reduction, walk, row, (lo, hi));
        Stretch { at, lo, hi, live }
    }

    /// The part of a run that the variable reaches; entries are taken from there only.
    fn clip(
        &mut self,
        reduction: &Reduction<'_, '_>,
        walk: &Walk,
        row: Row,
        (lo, hi): (ValueId, ValueId),
    ) -> (ValueId, ValueId) {
        if !row.clipped || !self.list(row.list).runs {
            return (lo, hi);
        }
        let (first, end) = self.range(reduction.source, walk);
        (self.builder.binary(BinaryFn::Max, lo, first), self.builder.binary(BinaryFn::Min, hi, end))
    }

    /// The steps of a stretch, all at the same entries; each with whether it is stored there, if that is a question.
    fn along_stretch(
        &mut self,
        reduction: &Reduction<'_, '_>,
        walk: &Walk,
        entries: &[(Row, ValueId, Option<ValueId>)],
        (lo, hi): (ValueId, ValueId),
        bound: &Bound,
        state: Vec<ValueId>,
    ) -> Vec<ValueId> {
        let (open, carried) = self.builder.open_loop(LoopKind::Serial, lo, hi, &state);
        self.scopes.push(HashMap::new());
        let next = self.at(reduction, walk, entries, open.var, bound, carried);
        self.scopes.pop();
        self.builder.close_loop(open, &next)
    }

    /// One step, in which the reads of what is gone along are known.
    fn at(
        &mut self,
        reduction: &Reduction<'_, '_>,
        walk: &Walk,
        entries: &[(Row, ValueId, Option<ValueId>)],
        at: ValueId,
        bound: &Bound,
        state: Vec<ValueId>,
    ) -> Vec<ValueId> {
        let mut bound = bound.clone();
        bound.insert(walk.var, at);
        for (cursor, (row, entry, inside)) in walk.cursors.iter().zip(entries) {
            let stored = self.stored(row.list, *entry);
            let value = inside.map_or(stored, |inside| {
                let fill = self.fill(row.list);
                self.builder.select(inside, stored, fill)
            });
            let read = key(reduction.source, cursor.read, &bound);
            self.scopes.last_mut().expect("a loop is open").insert(read, value);
        }
        self.step(reduction, &bound, state)
    }
}
