//! How long the code of a kernel will be, before any of it is made.
//!
//! ```text
//! v5: i64 = floordiv v3 v4      140 instructions: two in each of four lanes by hand, and once more for the steps that are left
//! v6: f32 = add v5 v2           3
//! ```
//!
//! Bodies of thousands of operations are made by programs, not by people. What is too long in lanes is done step by step.

use super::nest::WideRow;
use crate::graph::scalar::{BinaryFn, UnaryFn};
use crate::graph::types::Element;
use crate::loops::ir::{Block, Kernel, LoopKind, Op, Statement, ValueId};

/// Instructions of all rows without wide code when they are done in lanes, about.
pub(super) fn in_lanes(kernel: &Kernel, rows: &[Option<WideRow>]) -> usize {
    let mut rows = rows.iter();
    outside(kernel, &kernel.body, &mut || rows.next().is_some_and(Option::is_some))
}

/// Those of the rows in a block, of which `is_wide` says one after the other whether it has wide code.
fn outside(kernel: &Kernel, block: &Block, is_wide: &mut impl FnMut() -> bool) -> usize {
    let sizes = block.statements.iter().map(|statement| match statement {
        Statement::Let(_) | Statement::Store(..) => 0,
        Statement::For(looped) if looped.kind == LoopKind::Row => {
            if is_wide() {
                0
            } else {
                inside(kernel, &looped.body)
            }
        }
        Statement::For(looped) => outside(kernel, &looped.body, is_wide),
        Statement::If(choice) => {
            outside(kernel, &choice.then, is_wide) + outside(kernel, &choice.otherwise, is_wide)
        }
    });
    sizes.sum()
}

/// Those of a block of a row.
fn inside(kernel: &Kernel, block: &Block) -> usize {
    let sizes = block.statements.iter().map(|statement| match statement {
        Statement::Let(id) => value(kernel, *id),
        Statement::Store(..) => 1,
        Statement::For(looped) => inside(kernel, &looped.body),
        Statement::If(choice) => inside(kernel, &choice.then) + inside(kernel, &choice.otherwise),
    });
    sizes.sum()
}

/// Those of a value: as many as CLIF has of them for sums of a thousand terms, divided by the terms (2026-11-19).
fn value(kernel: &Kernel, id: ValueId) -> usize {
    let element = kernel.value(id).element;
    let wide = |element: Element| matches!(element, Element::I64 | Element::U64);
    let of = |id: ValueId| kernel.value(id).element;
    let divides = |function| matches!(function, BinaryFn::FloorDiv | BinaryFn::Rem | BinaryFn::Pow);
    match kernel.value(id).op {
        Op::Const(_) | Op::Arg(_) | Op::Var | Op::Carried | Op::Result => 1,
        Op::Binary(function, ..) if divides(function) && !element.is_float() => 140,
        Op::Binary(BinaryFn::Rem, ..) => 45,
        Op::Unary(UnaryFn::RoundF16, _) => 110,
        Op::Cast(a) if of(a).is_float() != element.is_float() && (wide(of(a)) || wide(element)) => 60,
        Op::Binary(BinaryFn::Mul, ..) | Op::Select(..) if wide(element) => 10,
        _ if wide(element) || element == Element::F64 => 6,
        _ => 3,
    }
}
