//! Diagnostics and the texts they point into -> one error that prints as the command line would print it.
//!
//! ```text
//! error[E0201]: unknown name `heigth`
//!  --> terrain.itp:3:5
//!   …
//! ```

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Severity, Style, render};
use crate::source::Sources;
use std::fmt;

/// Why a script does not compile or run, or data does not fit.
#[derive(Clone, Debug)]
pub struct Error {
    diagnostics: Vec<Diagnostic>,
    sources: Box<Sources>,
}

/// A value, or an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(diagnostic: Diagnostic, sources: &Sources) -> Error {
        Error { diagnostics: vec![diagnostic], sources: Box::new(sources.clone()) }
    }

    pub(super) fn several(diagnostics: Diagnostics, sources: Sources) -> Error {
        Error { diagnostics: diagnostics.into_sorted(), sources: Box::new(sources) }
    }

    /// What is wrong, by place in the script; the first error is [`Error::code`]'s.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The texts that the places of the diagnostics are in.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The number of the first error.
    pub fn code(&self) -> Option<Code> {
        let error = |diagnostic: &&Diagnostic| diagnostic.code.severity() == Severity::Error;
        self.diagnostics.iter().find(error).map(|diagnostic| diagnostic.code)
    }

    /// True when the run was cancelled, so that nothing is wrong.
    pub fn is_cancelled(&self) -> bool {
        self.code() == Some(Code::E1006)
    }

    /// Everything in it, for someone who renders it.
    pub fn into_parts(self) -> (Diagnostics, Sources) {
        let mut diagnostics = Diagnostics::default();
        self.diagnostics.into_iter().for_each(|diagnostic| diagnostics.push(diagnostic));
        (diagnostics, *self.sources)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> =
            self.diagnostics.iter().map(|one| render(one, &self.sources, Style::Plain)).collect();
        f.write_str(&texts.join("\n\n"))
    }
}

impl std::error::Error for Error {}
