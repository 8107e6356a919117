//! Rows that are jammed once more, for groups in which all of them divide their coordinates alike.
//!
//! ```text
//! for j in 0..(hi - lo) // 4                     for j in 0..(hi - lo) // 4
//!   row x in a..b                                  if the four y // 64 are the same
//!     hash(y // 64, x) * weight(y), four times       row x in a..b
//!                                                      hash(y // 64, x) once, four products
//!                                                  else
//!                                                    row x in a..b as before
//! ```
//!
//! Noise on a lattice is made like this: `i64(floor(y * scale))` is the number of a cell, which many rows share. Where
//! quotients are the same, so is all that is computed from them: the bits are those of the rows on their own.

use super::{Choice, Jammer, Nest, Work, agree, follow, new, tall};
use crate::graph::scalar::BinaryFn;
use crate::loops::ir::{Kernel, Op, Statement, ValueId};
use crate::loops::passes::simplify::Values;
use std::collections::BTreeSet;

/// Rows that a quotient stays the same for, at the least: groups of them would not have it in common otherwise.
const CELL: i128 = 8;

/// The kernel with rows jammed, in groups that divide alike in another way, if that leaves at most three quarters of the
/// work which other groups are; what a row takes on its own, and what they take, is known.
pub(super) fn alike(kernel: &Kernel, rows: usize, [one, general]: [Work; 2]) -> Option<(Kernel, Choice)> {
    if !(0..kernel.values.len()).any(|at| is_quotient(kernel, ValueId(at as u32))) {
        return None;
    }
    let made = |tall: Option<Work>| {
        let mut jammer = Jammer { alike: Some(Work::default()), tall, ..Jammer::new(kernel, rows) };
        jammer.outside(&kernel.body);
        jammer
    };
    let little = |jammer: &Jammer<'_>| {
        jammer.alike.filter(|less| less.total() > 0 && less.total() * 4 <= general.total() * 3)
    };
    let tall = made(Some(Work::default()));
    let less = little(&tall)?;
    let jammer = if tall.tall.is_some_and(|work| tall::pays(work, less)) { tall } else { made(None) };
    let choice = Choice {
        rows,
        makes_planes: false,
        apart: one.times(rows),
        jammed: general,
        alike: Some(less),
        tall: jammer.tall,
    };
    Some((jammer.simplifier.builder.finish(), choice))
}

/// Whether a value is the same for several coordinates that follow each other: a number of a cell.
fn is_quotient(kernel: &Kernel, id: ValueId) -> bool {
    let value = kernel.value(id);
    let known = |id: ValueId| match kernel.value(id).op {
        Op::Const(value) => value.as_int().unwrap_or(0),
        _ => 0,
    };
    match value.op {
        Op::Cast(from) => !value.element.is_float() && kernel.value(from).element.is_float(),
        Op::Binary(BinaryFn::Shr, _, by) => known(by) >= CELL.ilog2().into(),
        Op::Binary(BinaryFn::FloorDiv, _, by) => known(by) >= CELL,
        _ => false,
    }
}

/// The quotients of the rows' coordinate.
pub(super) fn quotients(kernel: &Kernel, nest: &Nest<'_>) -> Vec<ValueId> {
    let mut moving = BTreeSet::from([nest.looped.var]);
    let mut found = Vec::new();
    for statement in &nest.looped.body.statements {
        let Statement::Let(id) = statement else { continue };
        follow(kernel, *id, &mut moving);
        if moving.contains(id) && is_quotient(kernel, *id) {
            found.push(*id);
        }
    }
    found
}

impl Jammer<'_> {
    /// The rows of a group, made in two ways if they may divide alike and somebody asks for that; the work of the general one.
    pub(super) fn group(&mut self, nest: &Nest<'_>, base: ValueId, copies: &mut [Values]) -> Work {
        let mut quotients = quotients(self.simplifier.kernel, nest);
        quotients.retain(|id| !agree(copies, *id));
        if self.alike.is_none() || quotients.is_empty() {
            return self.row(nest.main, copies);
        }
        let condition = self.divide_alike(&quotients, copies);
        self.simplifier.builder.open_block();
        let mut same = self.same(nest, base, &copies[0], (&quotients, copies.len()));
        let less = self.row(nest.main, &mut same);
        let then = self.simplifier.builder.close_block();
        self.simplifier.builder.open_block();
        let work = self.row(nest.main, copies);
        let otherwise = self.simplifier.builder.close_block();
        self.simplifier.builder.choose(condition, (then, Vec::new()), (otherwise, Vec::new()));
        self.alike.iter_mut().for_each(|all| *all += less);
        work
    }

    /// The values outside of so many rows that have the quotients of the first.
    pub(super) fn same(
        &mut self,
        nest: &Nest<'_>,
        base: ValueId,
        first: &Values,
        (quotients, count): (&[ValueId], usize),
    ) -> Vec<Values> {
        let known: Vec<(ValueId, ValueId)> = quotients.iter().map(|id| (*id, new(first, *id))).collect();
        (0..count).map(|at| self.uniform(nest, base, at, &known)).collect()
    }

    /// Whether all copies have the quotients of the first.
    pub(super) fn divide_alike(&mut self, quotients: &[ValueId], copies: &[Values]) -> ValueId {
        let mut all = None;
        for (id, copy) in quotients.iter().flat_map(|id| copies[1..].iter().map(move |copy| (*id, copy))) {
            let (own, first) = (new(copy, id), new(&copies[0], id));
            let same = self.simplifier.builder.binary(BinaryFn::Eq, own, first);
            all = Some(match all {
                Some(all) => self.simplifier.builder.binary(BinaryFn::And, all, same),
                None => same,
            });
        }
        all.expect("there are quotients, of several rows")
    }
}
