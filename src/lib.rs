//! itp: infinite tensor pipelines.

pub mod diagnostic;
pub mod source;
pub mod syntax;
