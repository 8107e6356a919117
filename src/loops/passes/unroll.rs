//! Unrolls loops inside rows that go along a source which the row goes across: sixteen neighbours are loaded together.
//!
//! ```text
//! row x in lo..hi                        row x in lo..hi
//!   for j in 0..256                        for g in 0..16
//!     carry s                                carry s
//!     load b0 at 192 * x + j                 load b0 at 192 * x + 16 * g, …, at 192 * x + 16 * g + 15
//!     next s + …                             next ((s + …) + …) + …
//! ```
//!
//! The steps keep their order. Those that make no whole group come first.

use super::copy::{Copier, add, binary, int};
use crate::graph::scalar::BinaryFn;
use crate::graph::types::Element;
use crate::loops::ir::{Block, Carry, For, Kernel, LoopKind, Op, Statement, Value, ValueId};
use crate::loops::vary::growth;

/// Steps that become one.
const STEPS: i64 = 16;
/// Loops of more steps than this are left as they are, since they look whether they are to end.
const LONGEST: i64 = 1 << 15;
/// Bodies of more statements than this are left as they are.
const LARGEST: usize = 60;

/// The kernel with such loops unrolled.
pub fn unroll(mut kernel: Kernel) -> Kernel {
    let body = std::mem::take(&mut kernel.body);
    kernel.body = outside(&mut kernel, body);
    kernel
}

fn outside(kernel: &mut Kernel, block: Block) -> Block {
    let statements = block.statements.into_iter().map(|statement| match statement {
        Statement::For(mut looped) => {
            looped.body = match looped.kind {
                LoopKind::Serial => outside(kernel, looped.body),
                LoopKind::Row => in_row(kernel, looped.var, looped.body),
            };
            Statement::For(looped)
        }
        Statement::If(mut choice) => {
            choice.then = outside(kernel, choice.then);
            choice.otherwise = outside(kernel, choice.otherwise);
            Statement::If(choice)
        }
        Statement::Let(_) | Statement::Store(..) => statement,
    });
    Block { statements: statements.collect() }
}

fn in_row(kernel: &mut Kernel, row: ValueId, block: Block) -> Block {
    let mut statements = Vec::with_capacity(block.statements.len());
    for statement in block.statements {
        match statement {
            Statement::For(looped) => match range(kernel, row, &looped) {
                Some(range) => unrolled(kernel, &looped, range, &mut statements),
                None => statements.push(Statement::For(looped)),
            },
            Statement::Let(_) | Statement::Store(..) | Statement::If(_) => statements.push(statement),
        }
    }
    Block { statements }
}

/// The bounds of a loop that is to be unrolled.
fn range(kernel: &Kernel, row: ValueId, looped: &For) -> Option<(i64, i64)> {
    let (lo, hi) = constant_range(kernel, looped)?;
    let is_plain = |statement: &Statement| matches!(statement, Statement::Let(_));
    let fits = looped.body.statements.len() <= LARGEST && looped.body.statements.iter().all(is_plain);
    let steps = (STEPS..=LONGEST).contains(&hi.checked_sub(lo)?);
    (fits && steps && loads_across(kernel, row, looped).next().is_some()).then_some((lo, hi))
}

/// The bounds of a loop, if they are constants.
pub(super) fn constant_range(kernel: &Kernel, looped: &For) -> Option<(i64, i64)> {
    let bound = |id: ValueId| match kernel.value(id).op {
        Op::Const(value) => value.as_int().and_then(|value| i64::try_from(value).ok()),
        _ => None,
    };
    bound(looped.lo).zip(bound(looped.hi))
}

/// The offsets of loads along which a loop inside a row goes, and which the row goes across.
pub(super) fn loads_across<'k>(
    kernel: &'k Kernel,
    row: ValueId,
    looped: &'k For,
) -> impl Iterator<Item = ValueId> + 'k {
    let [down, along] = [looped.var, row].map(|var| growth(kernel, var));
    looped.body.statements.iter().filter_map(move |statement| {
        let Statement::Let(id) = statement else { return None };
        let Op::Load(_, offset) = kernel.value(*id).op else { return None };
        let apart = along[offset.index()].is_none_or(|step| step.unsigned_abs() > 2);
        (apart && matches!(down[offset.index()], Some(1 | -1))).then_some(offset)
    })
}

/// The first steps, so that whole groups are left, then the loop over those.
fn unrolled(kernel: &mut Kernel, looped: &For, (lo, hi): (i64, i64), to: &mut Vec<Statement>) {
    let (groups, few) = ((hi - lo) / STEPS, (hi - lo) % STEPS);
    let [start, first, zero, end] = [lo, lo + few, 0, groups].map(|number| int(kernel, number, to));
    let inits = looped.carried.iter().map(|carry| carry.init).collect();
    let inits = steps(kernel, looped, (start, few), inits, to);
    let var = add(kernel, Value { op: Op::Var, element: Element::I64 });
    let fresh = looped.carried.iter().map(|carry| {
        let element = kernel.value(carry.init).element;
        add(kernel, Value { op: Op::Carried, element })
    });
    let fresh: Vec<ValueId> = fresh.collect();
    let mut body = Vec::new();
    let by = int(kernel, STEPS, &mut body);
    let far = binary(kernel, BinaryFn::Mul, var, by, &mut body);
    let base = binary(kernel, BinaryFn::Add, far, first, &mut body);
    let next = steps(kernel, looped, (base, STEPS), fresh.clone(), &mut body);
    let carried = looped.carried.iter().enumerate().map(|(at, carry)| {
        let (init, carried, next) = (inits[at], fresh[at], next[at]);
        Carry { init, carried, next, result: carry.result }
    });
    let (carried, body) = (carried.collect(), Block { statements: body });
    to.push(Statement::For(Box::new(For { kind: looped.kind, var, lo: zero, hi: end, carried, body })));
}

/// Some steps from a value of the variable on, and what they hand on.
fn steps(
    kernel: &mut Kernel,
    looped: &For,
    (base, count): (ValueId, i64),
    mut state: Vec<ValueId>,
    to: &mut Vec<Statement>,
) -> Vec<ValueId> {
    for step in 0..count {
        let step = int(kernel, step, to);
        let place = binary(kernel, BinaryFn::Add, base, step, to);
        let mut copier = Copier::new(kernel);
        copier.set(looped.var, place);
        looped.carried.iter().zip(&state).for_each(|(carry, now)| copier.set(carry.carried, *now));
        to.extend(copier.block(&looped.body).statements);
        state = looped.carried.iter().map(|carry| copier.get(carry.next)).collect();
    }
    state
}

#[cfg(test)]
mod tests {
    use super::unroll;
    use crate::loops::parse::parse;
    use crate::loops::passes::sweep::sweep;
    use crate::loops::verify::verify;

    #[track_caller]
    fn check(steps: i64, apart: i64, expect: [usize; 2]) {
        let text = format!(
            "kernel a(n)
  b0: f32 in
  b1: f32 out
  v0: i64 = const 0
  v1: i64 = arg 0
  v2: i64 = const {steps}
  v3: i64 = const {apart}
  v4: f32 = const 0
  row v5 in v0..v1
    v6: i64 = mul v5 v3
    for v7 in v0..v2
      carry v8: f32 = v4
      v9: i64 = add v6 v7
      v10: f32 = load b0 v9
      v11: f32 = add v8 v10
      next v11 -> v12
    store b1 v5 v12
"
        );
        let kernel = sweep(unroll(parse(&text).expect("parses")));
        verify(&kernel).expect("keeps the laws");
        let text = kernel.to_string();
        assert_eq!([text.matches("for ").count(), text.matches("load ").count()], expect, "{text}");
    }

    #[test]
    fn steps_across_the_row_are_taken_together() {
        check(256, 192, [1, 16]);
        check(259, 192, [1, 19]);
        check(256, 1, [1, 1]);
        check(15, 192, [1, 1]);
    }
}
