//! Makes a copy of a kernel for sources that are boxes and no rings, where rows go across them.
//!
//! ```text
//! row x in lo..hi                                     if a.0.mask == -1
//!   load b0 at ((x - a.0) & a.0.mask) * a.0.pitch       row x in lo..hi
//!                                                         load b0 at (x - a.0) * a.0.pitch
//!                                                     else
//!                                                       as before
//! ```
//!
//! Then offsets grow evenly along the row. Rings turn round along other dimensions, so the copy is what runs; the rest
//! keeps the kernel right for every layout.

use super::copy::{Copier, add, placed};
use crate::graph::scalar::{BinaryFn, Scalar};
use crate::graph::types::Element;
use crate::loops::ir::{Block, If, Kernel, LoopKind, Op, Statement, Value, ValueId};
use std::collections::{BTreeMap, BTreeSet};

/// Kernels that would have more values than this stay as they are.
const LARGEST: usize = 6_000;

/// The kernel, with a choice around what masks along rows make uneven.
pub fn dense(mut kernel: Kernel) -> Kernel {
    let start = kernel.body.statements.iter().take_while(|statement| matches!(statement, Statement::Let(_)));
    let start = start.count();
    let (masks, masked) = masked(&kernel, &kernel.body.statements[..start]);
    if masks.is_empty() || 2 * kernel.values.len() > LARGEST {
        return kernel;
    }
    let mut statements = std::mem::take(&mut kernel.body.statements);
    let otherwise = Block { statements: statements.split_off(start) };
    let condition = all_ones(&mut kernel, &masks, &mut statements);
    let mut copier = Copier::new(&mut kernel);
    copier.replaced = masked;
    let then = copier.block(&otherwise);
    statements.push(Statement::If(Box::new(If { condition, then, otherwise, results: Vec::new() })));
    kernel.body = Block { statements };
    kernel
}

/// Masks that are arguments, among what comes first, and the values along rows that they are applied to, by result.
fn masked(kernel: &Kernel, first: &[Statement]) -> (BTreeSet<ValueId>, BTreeMap<ValueId, ValueId>) {
    let args = first.iter().filter_map(|statement| match statement {
        Statement::Let(id) => matches!(kernel.value(*id).op, Op::Arg(_)).then_some(*id),
        Statement::For(_) | Statement::If(_) | Statement::Store(..) => None,
    });
    let (args, mut inside): (BTreeSet<ValueId>, _) = (args.collect(), BTreeSet::new());
    in_rows(&kernel.body, &mut inside);
    let (mut masks, mut masked) = (BTreeSet::new(), BTreeMap::new());
    for id in inside {
        let Op::Binary(BinaryFn::And, a, b) = kernel.value(id).op else { continue };
        let (place, mask) = if args.contains(&b) { (a, b) } else { (b, a) };
        if args.contains(&mask) {
            masks.insert(mask);
            masked.insert(id, place);
        }
    }
    (masks, masked)
}

/// The values of rows, and of loops inside them.
fn in_rows(block: &Block, inside: &mut BTreeSet<ValueId>) {
    for statement in &block.statements {
        match statement {
            Statement::For(looped) if looped.kind == LoopKind::Row => placed(&looped.body, inside),
            Statement::For(looped) => in_rows(&looped.body, inside),
            Statement::If(choice) => {
                in_rows(&choice.then, inside);
                in_rows(&choice.otherwise, inside);
            }
            Statement::Let(_) | Statement::Store(..) => {}
        }
    }
}

/// Whether all masks are -1.
fn all_ones(kernel: &mut Kernel, masks: &BTreeSet<ValueId>, statements: &mut Vec<Statement>) -> ValueId {
    let mut new = |op: Op, element: Element| {
        let id = add(kernel, Value { op, element });
        statements.push(Statement::Let(id));
        id
    };
    let ones = new(Op::Const(Scalar::i64(-1)), Element::I64);
    let whole: Vec<ValueId> =
        masks.iter().map(|mask| new(Op::Binary(BinaryFn::Eq, *mask, ones), Element::Bool)).collect();
    let both = |a: ValueId, b: ValueId| new(Op::Binary(BinaryFn::And, a, b), Element::Bool);
    whole.into_iter().reduce(both).expect("there is a mask")
}

#[cfg(test)]
mod tests {
    use super::dense;
    use crate::loops::parse::parse;
    use crate::loops::passes::sweep::sweep;
    use crate::loops::verify::verify;

    #[test]
    fn boxes_need_no_masks() {
        let text = "kernel a(n, mask, pitch)
  b0: f32 in
  b1: f32 out
  v0: i64 = const 0
  v1: i64 = arg 0
  v2: i64 = arg 1
  v3: i64 = arg 2
  row v4 in v0..v1
    v5: i64 = and v4 v2
    v6: i64 = mul v5 v3
    v7: f32 = load b0 v6
    store b1 v4 v7
";
        let kernel = sweep(dense(parse(text).expect("parses")));
        verify(&kernel).expect("keeps the laws");
        let text = kernel.to_string();
        assert_eq!((text.matches("row ").count(), text.matches(" and ").count()), (2, 1), "{text}");
    }
}
