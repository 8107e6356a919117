//! Two groups of rows as one, where all their rows divide their coordinates alike.
//!
//! ```text
//! for j in 0..groups                        for p in 0..(groups + 1) // 2
//!   if the four y // 64 are the same          if there are two groups, and all eight y // 64 are the same
//!     row x: hash once, four products           row x: hash once, eight products
//!   else                                      else
//!     row x as before                           for j in 0..min(2, groups - 2 * p)
//!                                                 if the four are the same … else …
//! ```
//!
//! What is made of a cell's number is made once for all rows of a group ([`alike`](super::alike)): the more there are, the
//! less it costs each. Rows that lie in two cells are still done four at a time.

use super::nests::Nest;
use super::{Jammer, LARGEST, Work};
use crate::graph::scalar::{BinaryFn, Scalar};
use crate::loops::ir::{LoopKind, ValueId};
use crate::loops::passes::simplify::Values;

/// Groups that are done as one.
const GROUPS: usize = 2;

/// Whether rows of two groups are done together: that has to leave at most seven eighths of the work, as no registers may be
/// left for more rows, and more code has to be compiled.
pub(super) fn pays(tall: Work, alike: Work) -> bool {
    tall.total() > 0 && tall.total() <= LARGEST && tall.total() * 8 <= alike.total() * GROUPS * 7
}

impl Jammer<'_> {
    /// All groups of rows, two at a time where they divide alike; the work of a general one.
    pub(super) fn pairs(
        &mut self,
        nest: &Nest<'_>,
        lo: ValueId,
        groups: ValueId,
        quotients: &[ValueId],
    ) -> Work {
        let [zero, one] = [0, 1].map(|at| self.simplifier.builder.int(at));
        let up = self.simplifier.binary(BinaryFn::Add, groups, one);
        let pairs = self.simplifier.binary(BinaryFn::Shr, up, one);
        let (open, _) = self.simplifier.open_loop(LoopKind::Serial, zero, pairs, &[]);
        let two = self.simplifier.builder.int(GROUPS as i64);
        let before = self.simplifier.binary(BinaryFn::Mul, open.var, two);
        let base = self.after(lo, before);
        let left = self.simplifier.binary(BinaryFn::Sub, groups, before);
        let is_one = self.are_one(nest, base, left, quotients);
        self.simplifier.builder.open_block();
        let first = self.uniform(nest, base, 0, &[]);
        let mut same = self.same(nest, base, &first, (quotients, self.rows * GROUPS));
        let tall = self.row(nest.main, &mut same);
        let then = self.simplifier.builder.close_block();
        self.simplifier.builder.open_block();
        let count = self.simplifier.binary(BinaryFn::Min, left, two);
        let (each, _) = self.simplifier.open_loop(LoopKind::Serial, zero, count, &[]);
        let own = self.after(base, each.var);
        let mut copies = self.copies(nest, own, self.rows);
        let work = self.group(nest, own, &mut copies);
        self.simplifier.close_loop(each, &[]);
        let otherwise = self.simplifier.builder.close_block();
        self.simplifier.builder.choose(is_one, (then, Vec::new()), (otherwise, Vec::new()));
        self.simplifier.close_loop(open, &[]);
        self.tall.iter_mut().for_each(|all| *all += tall);
        work
    }

    /// Whether there are two groups, whose rows all divide alike. What the second loads for that, it loads only if it is
    /// there.
    fn are_one(&mut self, nest: &Nest<'_>, base: ValueId, left: ValueId, quotients: &[ValueId]) -> ValueId {
        let one = self.simplifier.builder.int(1);
        let are_two = self.simplifier.builder.binary(BinaryFn::Gt, left, one);
        self.simplifier.builder.open_block();
        let copies = self.copies(nest, base, self.rows * GROUPS);
        let alike = self.divide_alike(quotients, &copies);
        let then = self.simplifier.builder.close_block();
        self.simplifier.builder.open_block();
        let never = self.simplifier.builder.number(Scalar::bool(false));
        let otherwise = self.simplifier.builder.close_block();
        let chosen = self.simplifier.builder.choose(are_two, (then, vec![alike]), (otherwise, vec![never]));
        chosen[0]
    }

    /// The values outside of rows, for so many rows from `base` on.
    pub(super) fn copies(&mut self, nest: &Nest<'_>, base: ValueId, count: usize) -> Vec<Values> {
        (0..count).map(|at| self.uniform(nest, base, at, &[])).collect()
    }
}
