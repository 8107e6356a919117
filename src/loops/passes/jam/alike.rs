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

use super::nests::{Nest, follow};
use super::{Choice, Jammer, Work, agree, new, tall};
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

#[cfg(test)]
mod tests {
    use crate::loops::passes::jam::tests::{agree, check, kernel};
    use crate::loops::passes::jam::{jam, jammed};
    use crate::loops::passes::sweep::sweep;

    /// A cell of eight rows; what is made of its number is made once where four rows are in it.
    const CELLS: &str = "v9: i64 = const 0
v10: i64 = const 3
v11: i64 = shr v5 v10
v12: f32 = cast v11
v13: f32 = cast v5
row v14 in v9..v2
  v15: i64 = add v6 v14
  v16: f32 = load b0 v14
  v17: f32 = mul v16 v12
  v18: f32 = sqrt v17
  v19: f32 = mul v18 v18
  v20: f32 = sub v19 v16
  v21: f32 = fma v20 v13 v16
  store b1 v15 v21
";

    #[test]
    fn rows_of_a_cell_share_what_is_made_of_its_number() {
        let expect = "4 rows at a time: 1 loads instead of 4, 20 operations instead of 20, 8 where they divide alike, 12 where 8 rows do";
        check(CELLS, expect);
        let text = sweep(jam(&kernel(CELLS), None).0).to_string();
        let counts = (text.matches("row ").count(), text.matches("sqrt").count());
        assert_eq!(counts, (4, 1 + 1 + 4 + 1), "{text}");
    }

    /// A cell of which eight rows are asked for, of which four are left, and two of which none has four.
    #[test]
    fn two_groups_of_a_cell_go_together() {
        let kernel = kernel(CELLS);
        let (after, choice) = jam(&kernel, None);
        assert_eq!(choice.tall.map(|work| work.operations), Some(4 + 8));
        agree(&kernel, &after);
        let (four, _) = jammed(&kernel, 4);
        assert_eq!(four.to_string().matches("row ").count() + 2, after.to_string().matches("row ").count());
    }

    #[test]
    fn cells_of_few_rows_are_not_looked_for() {
        let small = CELLS.replace("const 3", "const 2");
        check(&small, "4 rows at a time: 1 loads instead of 4, 20 operations instead of 20");
    }

    #[test]
    fn rounding_down_makes_cells() {
        let body = "v9: i64 = const 0
v10: f32 = const 0.125
v11: f32 = cast v5
v12: f32 = mul v11 v10
v13: f32 = floor v12
v14: i64 = cast v13
v15: f32 = cast v14
row v16 in v9..v2
  v17: i64 = add v6 v16
  v18: f32 = load b0 v16
  v19: f32 = mul v18 v15
  v20: f32 = sqrt v19
  v21: f32 = fma v20 v11 v18
  store b1 v17 v21
";
        let expect = "4 rows at a time: 1 loads instead of 4, 12 operations instead of 12, 6 where they divide alike, 10 where 8 rows do";
        check(body, expect);
    }
}
