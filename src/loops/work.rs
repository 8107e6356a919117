//! How often loops run, as far as their bounds are constants.
//!
//! ```text
//! for i in 0..1000  for j in 0..50  …      50000 times: what one element of `sum(i in 0..1000, j in 0..50) …` takes
//! ```

use super::ir::{Block, For, Kernel, Op, Statement, ValueId};

/// Loops that take fewer steps than this, with those inside, run to their end.
const LONG: u64 = 1 << 20;
/// Steps, with those inside, after which a long loop looks whether it is to go on.
const PERIOD: u64 = 1 << 16;

/// Steps of the loops with constant bounds in a kernel: what one element takes, about.
pub fn steps(kernel: &Kernel) -> u64 {
    within(kernel, &kernel.body)
}

/// After how many of its own steps a long loop looks whether it is to go on, a power of two; none for short ones.
pub fn poll_period(kernel: &Kernel, looped: &For) -> Option<u64> {
    let inside = within(kernel, &looped.body);
    let all = count(kernel, looped)?.saturating_mul(inside);
    let period = (PERIOD / inside.max(1)).max(1);
    (all >= LONG).then(|| period.next_power_of_two())
}

/// Steps of a loop whose bounds are constants.
fn count(kernel: &Kernel, looped: &For) -> Option<u64> {
    let constant = |id: ValueId| {
        let Op::Const(value) = kernel.value(id).op else { return None };
        value.as_int()
    };
    let steps = constant(looped.hi)? - constant(looped.lo)?;
    Some(u64::try_from(steps.max(0)).unwrap_or(u64::MAX))
}

/// Steps that a block takes: 1, or those of its loops.
fn within(kernel: &Kernel, block: &Block) -> u64 {
    let steps = block.statements.iter().map(|statement| match statement {
        Statement::Let(_) | Statement::Store(..) => 0,
        Statement::For(looped) => {
            count(kernel, looped).unwrap_or(1).saturating_mul(within(kernel, &looped.body))
        }
        Statement::If(choice) => within(kernel, &choice.then).max(within(kernel, &choice.otherwise)),
    });
    steps.fold(0, u64::saturating_add).max(1)
}
