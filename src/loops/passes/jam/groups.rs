//! Into which groups rows are divided that are computed together: fours, twos, blocks of 16, or all planes.

use super::nests::{Nest, Way, across};
use super::{BLOCK, Jammer, Together};
use crate::access::order::Planes;
use crate::graph::scalar::BinaryFn;
use crate::loops::ir::{Op, ValueId};

impl Jammer<'_> {
    /// How many groups of rows `lo..hi` has: coordinates are so small that their difference does not wrap. Whole ones,
    /// but for blocks, the last of which lies over the one before it: it stores the same there once more.
    pub(super) fn groups(&mut self, lo: ValueId, hi: ValueId) -> ValueId {
        if let Some(together) = self.together {
            return self.all_planes(together, lo, hi);
        }
        let length = self.simplifier.binary(BinaryFn::Sub, hi, lo);
        let zero = self.simplifier.builder.int(0);
        let shift = self.simplifier.builder.int(self.rows.trailing_zeros().into());
        if self.rows == BLOCK {
            let up = self.simplifier.builder.int(BLOCK as i64 - 1);
            let raised = self.simplifier.binary(BinaryFn::Add, length, up);
            let groups = self.simplifier.binary(BinaryFn::Shr, raised, shift);
            let few = self.are_few(lo, hi);
            return self.simplifier.builder.select(few, zero, groups);
        }
        let groups = self.simplifier.binary(BinaryFn::Shr, length, shift);
        self.simplifier.binary(BinaryFn::Max, groups, zero)
    }

    /// 1 if `lo..hi` are all planes and memory is as it has to be, else 0: for the rest there is no code that makes them
    /// together.
    fn all_planes(&mut self, together: &Together, lo: ValueId, hi: ValueId) -> ValueId {
        let Planes { first, count, .. } = together.planes;
        let ends = [(lo, first), (hi, first + count as i64)];
        let args = self.given(together);
        let args = args.into_iter().map(|(id, number)| (self.simplifier.get(id), number));
        let wanted: Vec<(ValueId, i64)> = ends.into_iter().chain(args).collect();
        let builder = &mut self.simplifier.builder;
        let [one, zero] = [1, 0].map(|number| builder.int(number));
        let mut all = one;
        for (value, number) in wanted {
            let number = builder.int(number);
            let same = builder.binary(BinaryFn::Eq, value, number);
            all = builder.select(same, all, zero);
        }
        all
    }

    /// The arguments that are known in the code for all planes, as far as the kernel uses them.
    pub(super) fn given(&self, together: &Together) -> Vec<(ValueId, i64)> {
        let values = self.simplifier.kernel.values.iter().enumerate();
        let known = values.filter_map(|(id, value)| {
            let Op::Arg(at) = value.op else { return None };
            let (_, number) = together.given.iter().find(|(given, _)| *given == at as usize)?;
            Some((ValueId(id as u32), *number))
        });
        known.collect()
    }

    /// Whether `lo..hi` has fewer rows than a group.
    fn are_few(&mut self, lo: ValueId, hi: ValueId) -> ValueId {
        let length = self.simplifier.binary(BinaryFn::Sub, hi, lo);
        let rows = self.simplifier.builder.int(self.rows as i64);
        self.simplifier.builder.binary(BinaryFn::Lt, length, rows)
    }

    /// The first row of a group of `lo..hi`. Blocks go up through their source, which is what processors foresee: from
    /// the last one to the first where rows go down it.
    pub(super) fn base(&mut self, nest: &Nest<'_>, (lo, hi): (ValueId, ValueId), group: ValueId) -> ValueId {
        if let Some(together) = self.together {
            return self.simplifier.builder.int(together.planes.first);
        }
        if self.rows != BLOCK {
            return self.after(lo, group);
        }
        let rows = self.simplifier.builder.int(self.rows as i64);
        let last = self.simplifier.binary(BinaryFn::Sub, hi, rows);
        if across(self.simplifier.kernel, nest) == Some(Way::Down) {
            let moved = self.simplifier.binary(BinaryFn::Mul, group, rows);
            let base = self.simplifier.binary(BinaryFn::Sub, last, moved);
            return self.simplifier.binary(BinaryFn::Max, base, lo);
        }
        let base = self.after(lo, group);
        self.simplifier.binary(BinaryFn::Min, base, last)
    }

    /// The first row of `lo..hi` that is in no group.
    pub(super) fn rest(&mut self, (lo, hi): (ValueId, ValueId), groups: ValueId) -> ValueId {
        if self.rows != BLOCK {
            return self.after(lo, groups);
        }
        let few = self.are_few(lo, hi);
        self.simplifier.builder.select(few, lo, hi)
    }

    /// The row after that many groups.
    pub(super) fn after(&mut self, lo: ValueId, groups: ValueId) -> ValueId {
        let rows = self.simplifier.builder.int(self.rows as i64);
        let moved = self.simplifier.binary(BinaryFn::Mul, groups, rows);
        self.simplifier.binary(BinaryFn::Add, lo, moved)
    }
}
