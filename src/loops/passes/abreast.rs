//! Rows that sum windows along a source which they go across: a strip of them goes along all windows before the next.
//!
//! ```text
//! for k in 0..23                          for s in 0..(hi - lo + 15) // 16
//!   row y in lo..hi                         for k in 0..23
//!     for j in 0..256                         row y in lo + 16 * s..min(lo + 16 * s + 16, hi)
//!       load b0 at row y, 192 * k + j           for j in 0..256
//!                                                 load b0 at row y, 192 * k + j
//! ```
//!
//! Every step of every row makes an element of its own, as in all nests over a box, so their order shows nowhere as long as
//! none reads what another stores.
//!
//! Sixteen rows of memory are then read from one end to the other, which processors foresee, and what windows share is
//! read again at once. The other way round each window of each row is a short piece of memory that begins unforeseen.

use super::copy::{add, binary, int, placed};
use super::unroll::{constant_range, loads_across};
use crate::graph::scalar::BinaryFn;
use crate::graph::types::Element;
use crate::loops::ir::{Block, BufferId, For, Kernel, LoopKind, Op, Statement, Value, ValueId};
use crate::loops::vary::growth;
use std::collections::BTreeSet;

/// Rows of a strip: the lanes of a register.
const STRIP: i64 = 16;

/// The kernel with such loops in strips.
pub(super) fn abreast(mut kernel: Kernel) -> Kernel {
    let body = std::mem::take(&mut kernel.body);
    kernel.body = block(&mut kernel, body);
    kernel
}

fn block(kernel: &mut Kernel, block: Block) -> Block {
    let statements = block.statements.into_iter().flat_map(|statement| match statement {
        Statement::For(looped) if looped.kind == LoopKind::Serial => serial(kernel, looped),
        statement => vec![statement],
    });
    Block { statements: statements.collect() }
}

fn serial(kernel: &mut Kernel, mut looped: Box<For>) -> Vec<Statement> {
    let alone = |at: &usize| goes_along(kernel, &looped, *at) && !reads_its_own(kernel, &looped.body);
    if let Some(at) = only_row(&looped).filter(alone) {
        return strips(kernel, looped, at);
    }
    looped.body = block(kernel, looped.body);
    vec![Statement::For(looped)]
}

/// Where the row of a loop stands that has nothing else to do, in the same bounds in every step.
fn only_row(looped: &For) -> Option<usize> {
    let is_plain = |statement: &Statement| matches!(statement, Statement::Let(_));
    let at = looped.body.statements.iter().position(|statement| !is_plain(statement))?;
    let Statement::For(row) = &looped.body.statements[at] else { return None };
    let alone = looped.body.statements[at + 1..].iter().all(is_plain) && looped.carried.is_empty();
    let mut own = BTreeSet::from([looped.var]);
    placed(&looped.body, &mut own);
    let still = !own.contains(&row.lo) && !own.contains(&row.hi);
    (row.kind == LoopKind::Row && alone && still).then_some(at)
}

/// Whether a buffer is loaded from and stored to.
fn reads_its_own(kernel: &Kernel, block: &Block) -> bool {
    let (mut values, mut stores) = (BTreeSet::new(), BTreeSet::new());
    placed(block, &mut values);
    stored(block, &mut stores);
    values.iter().any(|id| matches!(&kernel.value(*id).op, Op::Load(buffer, _) if stores.contains(buffer)))
}

/// The buffers that a block stores to.
fn stored(block: &Block, buffers: &mut BTreeSet<BufferId>) {
    for statement in &block.statements {
        match statement {
            Statement::Let(_) => {}
            Statement::Store(buffer, ..) => _ = buffers.insert(*buffer),
            Statement::For(looped) => stored(&looped.body, buffers),
            Statement::If(choice) => {
                [&choice.then, &choice.otherwise].into_iter().for_each(|arm| stored(arm, buffers))
            }
        }
    }
}

/// Whether steps of the loop move what a loop inside the row goes along by no more than that is long.
fn goes_along(kernel: &Kernel, looped: &For, at: usize) -> bool {
    let Statement::For(row) = &looped.body.statements[at] else { return false };
    let moves = growth(kernel, looped.var);
    row.body.statements.iter().any(|statement| {
        let Statement::For(inner) = statement else { return false };
        let Some((lo, hi)) = constant_range(kernel, inner) else { return false };
        let near = |offset: ValueId| {
            moves[offset.index()].is_some_and(|step| step != 0 && step.unsigned_abs() <= lo.abs_diff(hi))
        };
        loads_across(kernel, row.var, inner).any(near)
    })
}

/// The loop, once per strip of its row.
fn strips(kernel: &mut Kernel, mut looped: Box<For>, at: usize) -> Vec<Statement> {
    let Statement::For(row) = &mut looped.body.statements[at] else { return vec![Statement::For(looped)] };
    let (mut before, mut body) = (Vec::new(), Vec::new());
    let [zero, up, shift, strip] =
        [0, STRIP - 1, STRIP.ilog2().into(), STRIP].map(|number| int(kernel, number, &mut before));
    let length = binary(kernel, BinaryFn::Sub, row.hi, row.lo, &mut before);
    let raised = binary(kernel, BinaryFn::Add, length, up, &mut before);
    let count = binary(kernel, BinaryFn::Shr, raised, shift, &mut before);
    let var = add(kernel, Value { op: Op::Var, element: Element::I64 });
    let moved = binary(kernel, BinaryFn::Mul, var, strip, &mut body);
    let from = binary(kernel, BinaryFn::Add, row.lo, moved, &mut body);
    let end = binary(kernel, BinaryFn::Add, from, strip, &mut body);
    row.hi = binary(kernel, BinaryFn::Min, end, row.hi, &mut body);
    row.lo = from;
    body.push(Statement::For(looped));
    let body = Block { statements: body };
    let strips = For { kind: LoopKind::Serial, var, lo: zero, hi: count, carried: Vec::new(), body };
    before.push(Statement::For(Box::new(strips)));
    before
}

#[cfg(test)]
mod tests {
    use super::abreast;
    use crate::loops::execute::execute;
    use crate::loops::ir::Kernel;
    use crate::loops::parse::parse;
    use crate::loops::passes::sweep::sweep;
    use crate::loops::verify::verify;

    /// Sums of 4 elements of rows of `pitch`, every `step`, three of them; the rows are lanes.
    fn windows(step: i64, pitch: i64) -> Kernel {
        let text = format!(
            "kernel a(lo, hi)
  b0: f32 in
  b1: f32 out
  v0: i64 = arg 0
  v1: i64 = arg 1
  v2: i64 = const 0
  v3: i64 = const 3
  v4: i64 = const 4
  v5: i64 = const {step}
  v6: i64 = const {pitch}
  v7: i64 = const 40
  v8: f32 = const 0
  for v9 in v2..v3
    v10: i64 = mul v9 v5
    v11: i64 = mul v9 v7
    row v12 in v0..v1
      v13: i64 = mul v12 v6
      v14: i64 = add v13 v10
      for v15 in v2..v4
        carry v16: f32 = v8
        v17: i64 = add v14 v15
        v18: f32 = load b0 v17
        v19: f32 = add v16 v18
        next v19 -> v20
      v21: i64 = add v11 v12
      store b1 v21 v20
"
        );
        parse(&text).expect("parses")
    }

    fn ran(kernel: &Kernel, lo: i64, hi: i64) -> Vec<u8> {
        let input = (0..600u16).flat_map(|at| f32::from(at * 37 % 96).to_le_bytes()).collect();
        let mut buffers = vec![input, vec![7; 4 * 120]];
        execute(kernel, &[lo, hi], &mut buffers).expect("stays inside");
        buffers.remove(1)
    }

    #[test]
    fn windows_that_touch_are_gone_along_in_strips() {
        for (step, pitch, strips) in
            [(3, 12, true), (4, 12, true), (5, 14, false), (3, 1, false), (0, 12, false)]
        {
            let before = windows(step, pitch);
            let after = sweep(abreast(before.clone()));
            verify(&after).expect("keeps the laws");
            let text = after.to_string();
            assert_eq!(text.matches("for ").count(), if strips { 3 } else { 2 }, "{step} {pitch}\n{text}");
            let own = parse(&before.to_string().replace("load b0 v17", "load b1 v17")).expect("parses");
            assert_eq!(
                sweep(abreast(own.clone())).to_string(),
                sweep(own).to_string(),
                "rows may read each other"
            );
            for (lo, hi) in [(0, 0), (0, 1), (0, 16), (1, 17), (3, 40), (9, 2), (30, 40)] {
                assert_eq!(ran(&before, lo, hi), ran(&after, lo, hi), "{lo}..{hi}:\n{after}");
            }
        }
    }
}
