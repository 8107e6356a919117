//! A script that was opened: its text among the sources of a compilation, and the folder of the files it uses.

use super::Outcome;
use super::files::{self, Folder};
use super::report::Report;
use crate::compile::{self, Options, Program};
use crate::diagnostic::{Diagnostics, Result};
use crate::source::{SourceId, Sources};
use std::path::Path;
use std::sync::Arc;

/// One script of the command line.
pub(super) struct Script {
    /// As the user wrote its path.
    pub(super) name: String,
    /// Its text, and whatever its compilation adds.
    pub(super) sources: Sources,
    /// The script itself.
    pub(super) root: SourceId,
    /// Where the files are that it uses.
    pub(super) folder: Folder,
}

impl Script {
    /// Reads the script at `path`, `-` for standard input.
    pub(super) fn open(path: &Path) -> Result<Script> {
        let (name, text) = (files::shown(path), files::read_script(path)?);
        let mut sources = Sources::default();
        let root = sources.add(name.as_str(), text);
        Ok(Script { name, sources, root, folder: Folder::of(path) })
    }

    /// Reads it and tells when that fails.
    pub(super) fn open_or_tell(path: &Path, report: &mut Report) -> std::result::Result<Script, Outcome> {
        Script::open(path).map_err(|diagnostic| report.fail(&files::shown(path), *diagnostic))
    }

    /// Its text.
    pub(super) fn text(&self) -> Arc<str> {
        self.sources.get(self.root).text.clone()
    }

    /// Compiles it.
    pub(super) fn compile(
        &mut self,
        settings: &[(String, String)],
        diagnostics: &mut Diagnostics,
    ) -> Option<Program> {
        let options = Options { settings, ..Options::default() };
        compile::compile(&mut self.sources, self.root, &self.folder, &options, diagnostics)
    }

    /// Compiles it and tells everything that is wrong with it.
    pub(super) fn compile_or_tell(
        &mut self,
        settings: &[(String, String)],
        report: &mut Report,
    ) -> std::result::Result<Program, Outcome> {
        let mut diagnostics = Diagnostics::default();
        let program = self.compile(settings, &mut diagnostics);
        let outcome = report.diagnostics(&self.name, &self.sources, diagnostics);
        program.ok_or(outcome)
    }
}
