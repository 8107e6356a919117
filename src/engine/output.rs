//! Outputs and slices -> files, whole or not at all.

use super::error::Result;
use super::limit::memory_limit;
use super::{Engine, Prepared};
use crate::diagnostic::{self, Code, Diagnostic, quoted};
use crate::graph::{FileKind, OutputOptions};
use crate::io::{IoError, Place, Writer};
use crate::run::job::Sink;
use crate::run::stats::Stats;
use std::path::Path;

impl Engine {
    /// Writes every output of the script, in order; relative paths start where the process runs.
    pub fn save_outputs(&self) -> Result<Stats> {
        let mut stats = Stats::default();
        let outputs = &self.program.graph.outputs;
        let prepared = outputs.iter().map(|output| self.prepare_view(output.view.clone()));
        let prepared: Vec<Prepared<'_>> = prepared.collect::<Result<_>>()?;
        for (output, prepared) in outputs.iter().zip(&prepared) {
            prepared.can_save(Path::new(&*output.path), output.kind, &output.options)?;
        }
        for (output, prepared) in outputs.iter().zip(&prepared) {
            stats.add(&prepared.save(Path::new(&*output.path), output.kind, &output.options)?);
        }
        Ok(stats)
    }
}

impl Prepared<'_> {
    /// Whether the elements could be written to a file, found out before anything is computed: the folder is there, the
    /// file may be replaced, the options mean something for its kind.
    pub fn can_save(&self, path: &Path, kind: FileKind, options: &OutputOptions) -> Result<()> {
        let writer = self.writer(path, kind, options);
        let writer = writer.map_err(|error| self.engine.error(unwritten(error)))?;
        self.has_room(path, writer.beside()).map_err(|diagnostic| self.engine.error(diagnostic))
    }

    /// An error if what a file holds until it can be written is more than there is beside the read.
    fn has_room(&self, path: &Path, beside: u64) -> diagnostic::Result<()> {
        let peak = self.plan().bytes_peak.saturating_add(beside);
        match memory_limit(&self.engine.limits, peak) {
            Some(limit) if beside > 0 && peak > limit => {
                let file = quoted(&path.display().to_string());
                let message = format!(
                    "{file} needs {peak} bytes at its peak, {beside} of them for chunks that are incomplete at \
                     once, but the limit is {limit}"
                );
                Diagnostic::new(Code::E1005, message)
                    .help("choose chunks that are shorter along the first dimension, or raise `--memory`")
                    .err()
            }
            Some(_) | None => Ok(()),
        }
    }

    pub(super) fn writer(
        &self,
        path: &Path,
        kind: FileKind,
        options: &OutputOptions,
    ) -> std::result::Result<Writer, IoError> {
        let dims = self.domain().dims();
        let place = Place {
            origin: dims.iter().map(|dim| dim.interval.first()).collect(),
            labels: dims.iter().map(|dim| dim.label.to_string()).collect(),
        };
        Writer::create_at(path, kind, self.element(), &self.shape(), options, &place)
    }

    /// Writes the elements to a file; when anything fails, the file is as it was.
    pub fn save(&self, path: &Path, kind: FileKind, options: &OutputOptions) -> Result<Stats> {
        let engine = self.engine;
        let writer = self.writer(path, kind, options);
        let writer = writer.map_err(|error| engine.error(unwritten(error)))?;
        let beside = writer.beside();
        let mut sink = ToFile { writer };
        let mut stats = self.run(&mut sink)?;
        stats.bytes.peak = stats.bytes.peak.saturating_add(beside);
        stats.bytes.peak_planned = stats.bytes.peak_planned.saturating_add(beside);
        sink.writer.finish().map_err(|error| engine.error(unwritten(error)))?;
        Ok(stats)
    }
}

struct ToFile {
    writer: Writer,
}

impl Sink for ToFile {
    fn write(&mut self, bytes: &[u8]) -> diagnostic::Result<()> {
        self.writer.write(bytes).map_err(unwritten)
    }
}

pub(super) fn unwritten(error: IoError) -> Box<Diagnostic> {
    let diagnostic = Diagnostic::new(Code::E0003, error.message);
    Box::new(error.help.into_iter().fold(diagnostic, Diagnostic::help))
}
