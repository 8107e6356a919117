//! itp: infinite tensor pipelines.
//!
//! A script in, arrays out, through [`Engine`]; the modules stand in the order of the data, and [`compile`] is the list
//! of stages.
//!
//! ```
//! use itp::compile::{Options, compile};
//! use itp::diagnostic::Diagnostics;
//! use itp::graph::modules::NoFiles;
//! use itp::source::Sources;
//!
//! let mut sources = Sources::default();
//! let root = sources.add("ramp.itp", "tensor ramp: f32[x: inf] = x / 10");
//! let mut diagnostics = Diagnostics::default();
//! let program = compile(&mut sources, root, &NoFiles, &Options::default(), &mut diagnostics);
//! assert_eq!(program.unwrap().graph.tensors.len(), 1);
//! ```

pub mod source;
pub mod seeded;
pub mod faults;
pub mod sync;
pub mod pages;
pub mod diagnostic;
pub mod index;
pub mod syntax;
pub mod graph;
pub mod access;
pub mod compile;
pub mod loops;
pub mod interp;
pub mod stream;
pub mod io;
#[cfg(feature = "jit")]
pub mod jit;
pub mod formats;
pub mod plan;
pub mod tiles;
pub mod run;
pub mod engine;
pub mod picture;
#[cfg(feature = "lsp")]
pub mod lsp;
#[cfg(feature = "serve")]
pub mod serve;
pub mod cli;

pub use engine::Engine;
