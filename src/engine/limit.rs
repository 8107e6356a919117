//! How much memory a read may take, and what would fit if it takes more.
//!
//! ```text
//! `m` needs 41943040 bytes at its peak, but the limit is 16777216
//!   = help: use `--threads 1 --tile 128,128`, which needs 12582912 bytes; or read less, or raise `--memory`
//! ```
//!
//! Where fewer threads than there are would do, fewer do it, without a word.

use crate::diagnostic::{Code, Diagnostic, Result, quoted};
use crate::graph::{FileKind, Tensor};
use crate::index::{Domain, Interval, Transform};
use crate::run::job::{Backend, Job, Limits, Planned};
use std::path::Path;
use std::sync::Arc;

/// Reads that take less than this are not held against the memory of the machine.
const SMALL: u64 = 64 << 20;

/// The bytes that a read may take at its peak: what the host says, else most of what the machine has left.
pub(super) fn memory_limit(limits: &Limits, peak: u64) -> Option<u64> {
    limits.memory.or_else(|| if peak < SMALL { None } else { Some(available()? / 5 * 4) })
}

/// An error for an input that is larger than a read may take, before its file is opened: a small one may unpack to it. A
/// zarr array comes box by box, and may be larger than memory.
pub(super) fn has_room(input: &Tensor, path: &Path, limits: &Limits) -> Result<()> {
    if cfg!(feature = "zarr") && FileKind::of(&path.to_string_lossy()) == Some(FileKind::Zarr) {
        return Ok(());
    }
    let sizes = input.domain.shape().unwrap_or_default();
    let bytes = sizes.iter().fold(input.element.bytes(), |bytes, size| bytes.saturating_mul(*size as u64));
    match memory_limit(limits, bytes).filter(|limit| bytes > *limit && input.format.is_none()) {
        None => Ok(()),
        Some(limit) => {
            let message =
                format!("input {} has {bytes} bytes, but the limit is {limit}", quoted(&input.name));
            Diagnostic::new(Code::E1005, message).at(input.span, "").help("raise `--memory`").err()
        }
    }
}

/// Bytes that the machine could give, if it tells.
fn available() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The error for a read that takes more than it may.
pub(super) fn too_large(backend: &dyn Backend, job: &Job, peak: u64, limit: u64) -> Diagnostic {
    let name = quoted(&job.view.name);
    let message = format!("{name} needs {peak} bytes at its peak, but the limit is {limit}");
    let help = match fitting(backend, job, limit) {
        Some(fits) => format!("use {fits}; or read less, or raise `--memory`"),
        None => match fitting_rows(backend, job, limit) {
            Some(rows) => format!("read {rows}, or raise `--memory`"),
            None => "read less, or raise `--memory`".to_owned(),
        },
    };
    Diagnostic::new(Code::E1005, message).help(help)
}

/// The same job, done by half as many threads, or a quarter, or one, as soon as that takes no more than it may.
pub(super) fn with_fewer_threads(backend: &dyn Backend, job: &Job, limit: u64) -> Option<Box<dyn Planned>> {
    let halves = std::iter::successors(Some(job.limits.threads / 2), |threads| Some(threads / 2));
    halves.take_while(|threads| *threads > 0).find_map(|threads| {
        let limits = Limits { threads, ..job.limits.clone() };
        let planned = backend.plan(Job { limits, ..job.clone() }).ok()?;
        (planned.plan().bytes_peak <= limit).then_some(planned)
    })
}

/// What a job needs at its peak.
fn peak(backend: &dyn Backend, job: Job) -> Option<u64> {
    Some(backend.plan(job).ok()?.plan().bytes_peak)
}

/// Smaller tiles with which the same read fits, on one thread.
fn fitting(backend: &dyn Backend, job: &Job, limit: u64) -> Option<String> {
    [128, 32].into_iter().find_map(|side| {
        let limits = Limits { threads: 1, tile: Some(vec![side, side]), ..job.limits.clone() };
        let peak = peak(backend, Job { limits, ..job.clone() })?;
        (peak <= limit).then(|| format!("`--threads 1 --tile {side},{side}`, which needs {peak} bytes"))
    })
}

/// How much of its longest dimension can be read at a time.
fn fitting_rows(backend: &dyn Backend, job: &Job, limit: u64) -> Option<String> {
    let dims = job.view.domain().dims();
    let len = |dim: usize| dims[dim].interval.len().unwrap_or(0);
    let dim = (0..dims.len()).rev().max_by_key(|dim| len(*dim))?;
    let mut rows = len(dim) / 2;
    while rows > 0 {
        let view = job.view.mapped(|map| {
            let mut dims = map.domain().dims().to_vec();
            let first = dims[dim].interval.first();
            dims[dim] = dims[dim].with_interval(Interval::sized(first, rows)?);
            Transform::new(Domain::new(dims)?, map.outputs().to_vec())
        });
        let view = Arc::new(view.ok()?);
        if peak(backend, Job { view, ..job.clone() }).is_some_and(|peak| peak <= limit) {
            let name = match dims[dim].label.as_str() {
                "" => format!("dimension {dim}"),
                label => quoted(label),
            };
            return Some(format!("at most {rows} of {name} at a time"));
        }
        rows /= 2;
    }
    None
}
