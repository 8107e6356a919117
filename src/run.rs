//! A read of a view -> its elements: what every engine is asked, and what it answers with.
//!
//! ```text
//! Job { smooth[0:512, 0:512], World { inputs, hosts, writes } }  --plan-->  Planned  --run-->  bytes, Stats
//! ```
//!
//! - [`job`] are the types that callers and engines share;
//! - [`stats`] is what is known about a run before it (a [`stats::Plan`]) and after it ([`stats::Stats`]);
//! - [`reference`] is the interpreter as an engine; [`backend`] chooses.

pub mod job;
pub mod reference;
pub mod stats;

use crate::compile::Program;
use crate::diagnostic::{Code, Diagnostic, Result};
use job::Backend;
use std::sync::Arc;

/// What runs the loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Machine code, tile by tile.
    Jit,
    /// The reference, element by element.
    Interp,
}

/// The engine of that kind for a program; without a kind, the fastest there is.
pub fn backend(kind: Option<Kind>, program: Arc<Program>) -> Result<Arc<dyn Backend>> {
    match kind {
        Some(Kind::Interp) | None => Ok(Arc::new(reference::Reference::new(program))),
        Some(Kind::Jit) => Diagnostic::new(Code::E0903, "the compiled engine is not available yet")
            .help("use the reference engine: `--engine interp`")
            .err(),
    }
}
