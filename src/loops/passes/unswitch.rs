//! Takes choices out of loops that do not change their outcome.
//!
//! ```text
//! for y in lo..hi                        if c
//!   row x in a..b                          for y in lo..hi
//!     if c { … } else { … }                  row x in a..b { … }
//!                                        else
//!                                          for y in lo..hi
//!                                            row x in a..b { … }
//! ```
//!
//! What is left in the rows is straight-line code, for which there are wide vectors.

use super::copy::{Copier, placed};
use crate::loops::ir::{Block, For, If, Kernel, Statement, ValueId};
use std::collections::BTreeSet;

/// Kernels that would have more values than this keep their choices where they are.
const LARGEST: usize = 3_000;

/// The kernel with its choices outside of loops; values of what was copied have no place any more.
pub fn unswitch(mut kernel: Kernel) -> Kernel {
    let body = std::mem::take(&mut kernel.body);
    kernel.body = unswitched(&mut kernel, body);
    kernel
}

fn unswitched(kernel: &mut Kernel, block: Block) -> Block {
    let statements = block.statements.into_iter().map(|statement| match statement {
        Statement::For(mut looped) => {
            looped.body = unswitched(kernel, looped.body);
            chosen_outside(kernel, *looped)
        }
        Statement::If(mut choice) => {
            choice.then = unswitched(kernel, choice.then);
            choice.otherwise = unswitched(kernel, choice.otherwise);
            Statement::If(choice)
        }
        Statement::Let(_) | Statement::Store(..) => statement,
    });
    Block { statements: statements.collect() }
}

/// The loop, inside of the choice that its body makes alike in every step.
fn chosen_outside(kernel: &mut Kernel, looped: For) -> Statement {
    let condition = if looped.carried.is_empty() { steady_condition(&looped.body) } else { None };
    let Some(condition) = condition.filter(|_| kernel.values.len() + 2 * size(&looped.body) <= LARGEST)
    else {
        return Statement::For(Box::new(looped));
    };
    let arm = |kernel: &mut Kernel, outcome: bool| {
        let mut copier = Copier::new(kernel);
        copier.known.insert(condition, outcome);
        let copied = copier.looped(&looped);
        // There may be more choices to take out.
        Block { statements: vec![chosen_outside(kernel, copied)] }
    };
    let (then, otherwise) = (arm(kernel, true), arm(kernel, false));
    Statement::If(Box::new(If { condition, then, otherwise, results: Vec::new() }))
}

/// A condition of a choice in a block which the block itself does not compute.
fn steady_condition(block: &Block) -> Option<ValueId> {
    let mut inside = BTreeSet::new();
    placed(block, &mut inside);
    block.statements.iter().find_map(|statement| match statement {
        Statement::If(choice) if !inside.contains(&choice.condition) => Some(choice.condition),
        _ => None,
    })
}

fn size(block: &Block) -> usize {
    let mut inside = BTreeSet::new();
    placed(block, &mut inside);
    inside.len()
}

#[cfg(test)]
mod tests {
    use super::unswitch;
    use crate::loops::parse::parse;
    use crate::loops::passes::sweep::sweep;
    use crate::loops::verify::verify;

    #[test]
    fn choices_leave_their_loops() {
        let text = "kernel a(n, c)
  b0: f32 in
  b1: f32 out
  v0: i64 = const 0
  v1: i64 = arg 0
  v2: i64 = arg 1
  v3: bool = eq v2 v0
  for v4 in v0..v1
    row v5 in v0..v1
      if v3
        v6: f32 = load b0 v5
      else
        v7: f32 = const 1
      give v8: f32 = v6 else v7
      store b1 v5 v8
";
        let kernel = parse(text).unwrap_or_else(|error| panic!("{error}"));
        let kernel = sweep(unswitch(kernel));
        verify(&kernel).expect("keeps the laws");
        let text = kernel.to_string();
        let at = |word: &str| text.find(word).unwrap_or(usize::MAX);
        assert!(at("  if ") < at("  for "), "{text}");
        assert_eq!((text.matches("if v").count(), text.matches("row ").count()), (1, 2), "{text}");
    }
}
