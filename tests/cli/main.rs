//! The `itp` binary as its users meet it: transcripts, exit codes, files and pipes.

mod commands;
mod errors;
mod failures;
mod folder;
mod formatting;
mod help;
mod limits;
mod modules;
#[cfg(feature = "zarr")]
mod python;
mod runs;
#[cfg(feature = "zarr")]
mod stream;
