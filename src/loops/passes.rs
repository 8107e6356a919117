//! The passes over kernels, in order; the laws are checked after each.
//!
//! ```text
//! lower       a body as a kernel; folds constants, shares and hoists as it goes
//! simplify    (x + 3) - 3  ->  x
//! split       rows, where reads need no clamping
//! jam         four rows at a time, where they share what they read or compute
//! residues    rows that divide their coordinate by 2, 3 or 4: one row for all residues
//! unroll      loops inside rows that go along what the row goes across: sixteen steps at a time, in strips of rows
//! dense       a copy of the kernel for sources that are no rings, where rows go across them
//! unswitch    choices that a loop makes alike in every step go around it
//! narrow      integers of 64 bits in 32, where nobody can tell
//! order       statements of rows, so that few values are held at once
//! sweep       values that nobody uses, and gaps in their numbers, go
//! ```

mod abreast;
mod copy;
pub mod dense;
pub mod jam;
pub mod narrow;
pub mod order;
mod ranges;
pub mod residues;
pub mod simplify;
pub mod split;
pub mod sweep;
pub mod unroll;
pub mod unswitch;

use super::ir::Kernel;
use super::verify::verify;
use jam::Together;

/// One pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pass {
    /// Lowering itself.
    Lower,
    /// Identities of integers.
    Simplify,
    /// Rows without clamps in their middle.
    Split,
    /// Rows that share are computed together.
    Jam,
    /// Rows that divide their coordinate, by residue.
    Residues,
    /// Sixteen steps of a loop inside a row.
    Unroll,
    /// Without rings.
    Dense,
    /// Choices around loops.
    Unswitch,
    /// Integers in 32 bits.
    Narrow,
    /// Few values at once.
    Order,
    /// Removes what is not used.
    Sweep,
}

impl Pass {
    /// Every pass, in the order they run.
    pub const ALL: [Pass; 11] = [
        Pass::Lower,
        Pass::Simplify,
        Pass::Split,
        Pass::Jam,
        Pass::Residues,
        Pass::Unroll,
        Pass::Dense,
        Pass::Unswitch,
        Pass::Narrow,
        Pass::Order,
        Pass::Sweep,
    ];

    /// As `--after` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Pass::Lower => "lower",
            Pass::Simplify => "simplify",
            Pass::Split => "split",
            Pass::Jam => "jam",
            Pass::Residues => "residues",
            Pass::Unroll => "unroll",
            Pass::Dense => "dense",
            Pass::Unswitch => "unswitch",
            Pass::Narrow => "narrow",
            Pass::Order => "order",
            Pass::Sweep => "sweep",
        }
    }

    /// The pass with that name.
    pub fn parse(name: &str) -> Option<Pass> {
        Pass::ALL.into_iter().find(|pass| pass.name() == name)
    }

    fn apply(self, passed: &mut Passed, together: Option<&Together>) {
        let kernel = std::mem::take(&mut passed.kernel);
        passed.kernel = match self {
            Pass::Lower => kernel,
            Pass::Simplify => sweep::sweep(simplify::simplify(&kernel)),
            Pass::Split => split::split(kernel),
            Pass::Jam => {
                let (kernel, choice) = jam::jam(&kernel, together);
                passed.jam = Some(choice);
                kernel
            }
            Pass::Residues => residues::residues(kernel),
            Pass::Unroll => sweep::sweep(unroll::unroll(abreast::abreast(kernel))),
            Pass::Dense => dense::dense(kernel),
            Pass::Unswitch => sweep::sweep(unswitch::unswitch(kernel)),
            Pass::Narrow => narrow::narrow(&kernel),
            Pass::Order => order::order(sweep::sweep(kernel)),
            Pass::Sweep => sweep::sweep(kernel),
        }
    }
}

/// A kernel, and what the passes chose for it.
#[derive(Clone, Debug)]
pub struct Passed {
    /// As the last pass left it.
    pub kernel: Kernel,
    /// How many rows are computed together, if that pass has run.
    pub jam: Option<jam::Choice>,
}

/// A kernel as lowering made it, after the passes up to `last`; the planes of a dimension may be made together, whose loop
/// is the one around the row.
pub fn run(kernel: Kernel, together: Option<&Together>, last: Pass) -> Passed {
    let mut passed = Passed { kernel, jam: None };
    for pass in Pass::ALL.into_iter().filter(|pass| *pass <= last) {
        pass.apply(&mut passed, together);
        debug_assert_eq!(verify(&passed.kernel), Ok(()), "after `{}`:\n{}", pass.name(), passed.kernel);
    }
    passed
}
