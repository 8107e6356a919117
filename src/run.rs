//! A read of a view -> its elements: what every engine is asked, and what it answers with.
//!
//! ```text
//! Job { smooth[0:512, 0:512], World { inputs, hosts, writes } }  --plan-->  Planned  --run-->  bytes, Stats
//! ```
//!
//! - [`job`] are the types that callers and engines share;
//! - [`stats`] is what is known about a run before it (a [`stats::Plan`]) and after it ([`stats::Stats`]);
//! - [`kept`] stands before an engine and keeps what it computed;
//! - [`reference`] is the interpreter as an engine; [`backend`] chooses.

#[cfg(feature = "jit")]
mod across;
pub mod blank;
#[cfg(feature = "jit")]
mod board;
pub mod data;
#[cfg(feature = "jit")]
mod elsewhere;
#[cfg(feature = "jit")]
mod gate;
pub mod inputs;
pub mod job;
pub mod kept;
#[cfg(feature = "jit")]
pub mod kernels;
#[cfg(feature = "jit")]
pub mod ledger;
#[cfg(feature = "jit")]
pub mod memory;
#[cfg(feature = "jit")]
pub mod meter;
#[cfg(feature = "jit")]
mod reading;
pub mod reference;
#[cfg(feature = "jit")]
pub mod schedule;
#[cfg(feature = "jit")]
mod sets;
#[cfg(feature = "jit")]
pub mod slabs;
#[cfg(feature = "jit")]
pub mod spare;
#[cfg(feature = "jit")]
mod sparse;
#[cfg(feature = "jit")]
mod stage;
pub mod stats;
#[cfg(feature = "jit")]
mod steps;
#[cfg(feature = "jit")]
pub mod summary;
#[cfg(feature = "jit")]
pub mod tiled;
#[cfg(feature = "jit")]
pub mod vars;
#[cfg(feature = "jit")]
pub mod work;

use crate::compile::Program;
use crate::diagnostic::Result;
#[cfg(not(feature = "jit"))]
use crate::diagnostic::{Code, Diagnostic};
use job::Backend;
#[cfg(feature = "jit")]
pub use kernels::Codes;
use std::sync::Arc;

/// Machine code that engines share; there is none in this build.
#[cfg(not(feature = "jit"))]
#[derive(Default)]
pub struct Codes;

#[cfg(not(feature = "jit"))]
impl Codes {
    /// How many kernels have code here.
    pub fn count(&self) -> usize {
        0
    }
}

/// What runs the loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Machine code, tile by tile.
    Jit,
    /// The reference, element by element.
    Interp,
}

/// What an engine is made with.
#[derive(Clone, Default)]
pub struct Choice {
    /// Which one; without it, the fastest there is.
    pub kind: Option<Kind>,
    /// Vectors have at most that many bits.
    pub vector_bits: Option<u32>,
    /// Machine code that other engines may have made already.
    pub codes: Option<Arc<Codes>>,
}

/// The engine for a program.
pub fn backend(choice: Choice, program: Arc<Program>) -> Result<Arc<dyn Backend>> {
    match choice.kind {
        Some(Kind::Interp) => Ok(Arc::new(reference::Reference::new(program))),
        Some(Kind::Jit) | None => compiled(choice, program),
    }
}

#[cfg(feature = "jit")]
fn compiled(choice: Choice, program: Arc<Program>) -> Result<Arc<dyn Backend>> {
    let vectors = crate::jit::Vectors::at_most(choice.vector_bits.unwrap_or(u32::MAX));
    Ok(Arc::new(tiled::Tiled::new(program, vectors, choice.codes)?))
}

/// Without the compiler, the reference is the fastest there is.
#[cfg(not(feature = "jit"))]
fn compiled(choice: Choice, program: Arc<Program>) -> Result<Arc<dyn Backend>> {
    match choice.kind {
        Some(_) => Diagnostic::new(Code::E0903, "this build has no compiled engine")
            .help("build with the feature `jit`, or use the reference engine: `--engine interp`")
            .err(),
        None => Ok(Arc::new(reference::Reference::new(program))),
    }
}
