//! The passes over kernels, in order; the laws are checked after each.
//!
//! ```text
//! lower       a body as a kernel; folds constants, shares and hoists as it goes
//! simplify    (x + 3) - 3  ->  x
//! split       rows, where reads need no clamping
//! sweep       values that nobody uses, and gaps in their numbers, go
//! ```

pub mod simplify;
pub mod split;
pub mod sweep;

use super::ir::Kernel;
use super::verify::verify;

/// One pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pass {
    /// Lowering itself.
    Lower,
    /// Identities of integers.
    Simplify,
    /// Rows without clamps in their middle.
    Split,
    /// Removes what is not used.
    Sweep,
}

impl Pass {
    /// Every pass, in the order they run.
    pub const ALL: [Pass; 4] = [Pass::Lower, Pass::Simplify, Pass::Split, Pass::Sweep];

    /// As `--after` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Pass::Lower => "lower",
            Pass::Simplify => "simplify",
            Pass::Split => "split",
            Pass::Sweep => "sweep",
        }
    }

    /// The pass with that name.
    pub fn parse(name: &str) -> Option<Pass> {
        Pass::ALL.into_iter().find(|pass| pass.name() == name)
    }

    fn apply(self, kernel: Kernel) -> Kernel {
        match self {
            Pass::Lower => kernel,
            Pass::Simplify => simplify::simplify(&kernel),
            Pass::Split => split::split(kernel),
            Pass::Sweep => sweep::sweep(kernel),
        }
    }
}

/// A kernel as lowering made it, after the passes up to `last`.
pub fn run(kernel: Kernel, last: Pass) -> Kernel {
    Pass::ALL.into_iter().filter(|pass| *pass <= last).fold(kernel, |kernel, pass| {
        let kernel = pass.apply(kernel);
        debug_assert_eq!(verify(&kernel), Ok(()), "after `{}`:\n{kernel}", pass.name());
        kernel
    })
}
