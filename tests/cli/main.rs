//! The `itp` binary as its users meet it: transcripts, exit codes, files and pipes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod commands;
mod errors;
#[cfg(unix)]
mod faults;
mod failures;
mod folder;
mod formatting;
mod help;
#[cfg(target_os = "linux")]
mod hostile;
mod limits;
#[cfg(feature = "lsp")]
mod lsp;
mod modules;
#[cfg(feature = "zarr")]
mod python;
mod repl;
mod runs;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "zarr")]
mod store;
#[cfg(feature = "zarr")]
mod stream;
#[cfg(all(unix, feature = "repl"))]
mod terminal;
