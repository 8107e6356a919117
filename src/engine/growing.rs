//! An output that is written some rows at a time, as a stream goes on.
//!
//! ```text
//! calm[1:inf, :, :]   rows 1..33, rows 33..65, …, and the few that the last frames allow
//! ```

use super::course::frames_of;
use super::error::Result;
use super::output::unwritten;
use super::streams::{Asked, rows_of};
use super::{Engine, Prepared};
use crate::diagnostic::{self, Code, Diagnostic, quoted};
use crate::graph::body::TensorId;
use crate::graph::view::View;
use crate::graph::{FileKind, Output};
use crate::index::Interval;
#[cfg(feature = "zarr")]
use crate::io::ingest::Ingest;
use crate::io::ingest::NpyRows;
use crate::io::{IoError, Writer};
use crate::run::job::Sink;
use crate::run::stats::Stats;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Bytes of rows that are computed at a time, about.
const BLOCK: u64 = 16 << 20;
/// Rows of a block, at the most, unless the script says how many a chunk has.
const MOST_ROWS: i64 = 64;
/// Bytes of rows that are computed at a time where chunks have many rows, about.
const MOST: u64 = 64 << 20;
/// How many blocks away it is looked whether rows need as much as the first.
const FAR: i64 = 4096;

/// An output on its way.
pub(super) struct Growing<'e> {
    output: &'e Output,
    file: File,
    /// The row that comes next; its dimension is the first.
    next: i64,
    block: i64,
    peak: u64,
    /// Frames that the last rows needed, by stream; none before the first rows.
    needed: Option<BTreeMap<TensorId, Interval>>,
    /// Whether no more rows can come.
    ended: bool,
}

/// Elements that wait until all of their rows are there.
#[derive(Default)]
pub(super) struct Staged(Vec<u8>);

impl Staged {
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

impl Sink for Staged {
    fn write(&mut self, bytes: &[u8]) -> diagnostic::Result<()> {
        if self.0.try_reserve_exact(bytes.len()).is_err() {
            return Diagnostic::new(Code::E1005, format!("{} bytes cannot be allocated", bytes.len())).err();
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

enum File {
    /// Of a shape that is known.
    Known(Box<Writer>),
    /// A zarr array that grows.
    #[cfg(feature = "zarr")]
    Chunks(Box<Ingest>),
    /// A npy file that grows.
    Rows(Box<NpyRows>),
}

impl Sink for File {
    fn write(&mut self, bytes: &[u8]) -> diagnostic::Result<()> {
        let written = match self {
            File::Known(writer) => writer.write(bytes),
            #[cfg(feature = "zarr")]
            File::Chunks(ingest) => ingest.append(bytes).map(|_| ()),
            File::Rows(rows) => rows.append(bytes),
        };
        written.map_err(unwritten)
    }
}

impl<'e> Growing<'e> {
    /// Makes the file, and plans a first block.
    pub(super) fn create(engine: &Engine, output: &'e Output) -> Result<Growing<'e>> {
        let dims = output.view.domain().dims();
        let row = dims.iter().skip(1).map(|dim| dim.interval.len().unwrap_or(1).max(1) as u64);
        let row = row.fold(output.view.element.bytes(), u64::saturating_mul);
        let some = |bytes: u64| ((bytes / row.max(1)) as i64).max(1);
        let chunk = output.options.chunk.as_ref().and_then(|chunk| chunk.first().copied());
        let block = chunk.map_or(some(BLOCK).min(MOST_ROWS), |chunk| chunk.clamp(1, some(MOST)));
        let next = dims.first().map_or(0, |dim| dim.interval.first());
        let (file, room) = open(engine, output, block)?;
        let mut growing = Growing { output, file, next, block, peak: 0, needed: None, ended: false };
        let staged = row.saturating_mul(growing.next_rows().max(0) as u64);
        growing.peak = growing.planned_peak(engine)?.saturating_add(room).saturating_add(staged);
        Ok(growing)
    }

    /// What any block of rows takes: the first ones tell, and one far away shows that it stays so.
    fn planned_peak(&self, engine: &Engine) -> Result<u64> {
        let mut near = 0;
        for at in 0..3 {
            let first = self.next + at * self.block;
            if at == 0 || self.end().is_none_or(|end| first + self.block <= end) {
                near = self.rows(engine, first, self.next_rows())?.plan().bytes_peak.max(near);
            }
        }
        if self.end().is_some() {
            return Ok(near);
        }
        let far = self.next + FAR * self.block;
        let there = engine.plan_view(self.view(engine, far, self.block)?)?.plan().bytes_peak;
        if there <= near.saturating_mul(2) {
            return Ok(near.max(there));
        }
        let message = format!(
            "{} needs more and more of its streams: {near} bytes for the first rows, {there} bytes for row {far}",
            quoted(&self.output.view.name)
        );
        let diagnostic = Diagnostic::new(Code::E1010, message).at(self.output.span, "");
        Err(engine.error(diagnostic.help("write the stream to a file with `itp stream`, and read that")))
    }

    /// Bytes at the peak.
    pub(super) fn peak(&self) -> u64 {
        self.peak
    }

    /// Rows that are computed at a time.
    pub(super) fn block(&self) -> i64 {
        self.block
    }

    /// Whether it is wrong without any of its rows.
    pub(super) fn needs_all(&self) -> bool {
        matches!(self.file, File::Known(_))
    }

    fn end(&self) -> Option<i64> {
        self.output
            .view
            .domain()
            .dims()
            .first()
            .map_or(Some(1), |dim| dim.interval.upper().map(|_| dim.interval.last() + 1))
    }

    /// Rows that are to come next, at the most.
    pub(super) fn next_rows(&self) -> i64 {
        self.end().map_or(self.block, |end| self.block.min(end - self.next))
    }

    fn view(&self, engine: &Engine, first: i64, rows: i64) -> Result<Arc<View>> {
        if self.output.view.rank() == 0 {
            return Ok(self.output.view.clone());
        }
        let cut = rows_of(&self.output.view, Interval::trusted(first, first + rows - 1));
        cut.map(Arc::new).map_err(|diagnostic| engine.error(diagnostic))
    }

    fn rows<'p>(&self, engine: &'p Engine, first: i64, rows: i64) -> Result<Prepared<'p>> {
        engine.prepare_view(self.view(engine, first, rows)?)
    }

    /// Computes and writes rows. They are written when all of them are there: a stream may end in between.
    pub(super) fn advance(&mut self, engine: &Engine, rows: i64) -> Result<Stats> {
        let prepared = self.rows(engine, self.next, rows)?;
        let mut staged = Staged::default();
        let stats = prepared.run(&mut staged)?;
        self.file.write(&staged.0).map_err(|diagnostic| engine.error(diagnostic))?;
        Ok(stats)
    }

    /// Takes note of rows that are written, and of what they needed.
    pub(super) fn advanced(&mut self, rows: i64, asked: &BTreeMap<TensorId, Asked>) {
        self.next += rows;
        self.ended = self.next_rows() <= 0;
        self.needed = Some(frames_of(asked));
    }

    /// Takes note that no more rows can come.
    pub(super) fn stop(&mut self) {
        self.ended = true;
    }

    /// Whether it has all of its rows.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Whether it has some of its rows.
    pub(super) fn has_begun(&self) -> bool {
        self.needed.is_some()
    }

    /// The highest frame that it has needed, so that outputs can go on side by side.
    pub(super) fn reached(&self) -> i64 {
        self.needed.iter().flatten().map(|(_, frames)| frames.last()).max().unwrap_or(i64::MIN)
    }

    /// The lowest frame of a stream that it needed last.
    pub(super) fn lowest(&self, stream: TensorId) -> Option<i64> {
        Some(self.needed.as_ref()?.get(&stream)?.first())
    }

    /// What it shows.
    pub(super) fn base(&self) -> TensorId {
        self.output.view.base
    }

    /// Where it is written.
    pub(super) fn path(&self) -> &'e str {
        &self.output.path
    }

    /// Completes the file; how many rows it has.
    pub(super) fn finish(self, engine: &Engine) -> Result<i64> {
        let first = self.output.view.domain().dims().first().map_or(0, |dim| dim.interval.first());
        let rows = self.next - first;
        let finished = match self.file {
            File::Known(writer) => writer.finish(),
            #[cfg(feature = "zarr")]
            File::Chunks(ingest) => ingest.close().map(|_| ()),
            File::Rows(npy) => npy.close().map(|_| ()),
        };
        finished.map_err(|error| engine.error(unwritten(error)))?;
        Ok(rows)
    }
}

/// The file of an output, and the bytes that it takes.
fn open(engine: &Engine, output: &Output, block: i64) -> Result<(File, u64)> {
    let (view, path) = (&output.view, Path::new(&*output.path));
    if view.domain().shape().is_some() {
        let prepared = engine.prepare_view(view.clone())?;
        let writer = prepared.writer(path, output.kind, &output.options);
        return Ok((File::Known(Box::new(writer.map_err(|error| engine.error(unwritten(error)))?)), 0));
    }
    let inner: Vec<i64> =
        view.domain().dims()[1..].iter().map(|dim| dim.interval.len().unwrap_or(0)).collect();
    let made = match output.kind {
        _ if output.options.element.is_some() => Err(IoError::new(format!(
            "{} grows with a stream, and `type` is for outputs with an end",
            quoted(&output.path)
        ))
        .help("cast in the script")),
        FileKind::Npy => {
            NpyRows::create(path, view.element, &inner).map(|rows| (File::Rows(Box::new(rows)), 0))
        }
        FileKind::Zarr => chunks(output, &inner, block),
        FileKind::Npz | FileKind::Raw | FileKind::Csv | FileKind::Png | FileKind::Tiff => {
            Err(IoError::new(format!("{} cannot grow with a stream", quoted(&output.path)))
                .help("write a `.zarr` or `.npy` file"))
        }
    };
    made.map_err(|error| {
        let diagnostic = Diagnostic::new(Code::E0003, error.message).at(output.span, "");
        engine.error(error.help.into_iter().fold(diagnostic, Diagnostic::help))
    })
}

#[cfg(feature = "zarr")]
fn chunks(output: &Output, inner: &[i64], block: i64) -> std::result::Result<(File, u64), IoError> {
    use crate::io::ingest::{ZarrPlan, ZarrSink, peak_bytes};
    use crate::io::zarr::Compression;
    use crate::stream::Tiling;
    let (view, path) = (&output.view, Path::new(&*output.path));
    let wrong = |why: String| IoError::new(format!("{} {why}", quoted(&output.path)));
    let (codec, level) =
        output.options.codec.as_ref().map_or(("zstd", None), |(name, level)| (&**name, *level));
    let tile: Vec<u64> = match &output.options.chunk {
        Some(chunk) => chunk.iter().map(|size| (*size).max(0) as u64).collect(),
        None => [block].iter().chain(inner).map(|size| (*size).clamp(1, 512) as u64).collect(),
    };
    let inner: Vec<u64> = inner.iter().map(|size| *size as u64).collect();
    let tiling =
        Tiling::new(None, &inner, &tile).map_err(|error| wrong(format!("cannot be cut: {error}")))?;
    let plan = ZarrPlan {
        element: view.element,
        compression: Compression::named(codec, level).map_err(wrong)?,
        shard: None,
        shrink: None,
        labels: view.domain().dims().iter().map(|dim| dim.label.to_string()).collect(),
    };
    let sink = Arc::new(ZarrSink::create(path, &tiling, plan)?);
    let bytes = view.element.bytes() as usize;
    let peak = peak_bytes(&tiling, bytes, 1, &*sink);
    Ok((File::Chunks(Box::new(Ingest::new(path, tiling, bytes, 1, sink)?)), peak))
}

#[cfg(not(feature = "zarr"))]
fn chunks(output: &Output, _: &[i64], _: i64) -> std::result::Result<(File, u64), IoError> {
    let message = format!("{} is a zarr array, which this build knows nothing of", quoted(&output.path));
    Err(IoError::new(message).help("write a `.npy` file"))
}
