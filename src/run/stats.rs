//! Numbers about a run, before it and after it; [`to_json`](Stats::to_json) gives what `--stats-json` and
//! `plan --json` write.
//!
//! ```text
//! {"seconds": {"compile": 0.01, …}, "windows": {"smooth": {"computed": 12, "reused": 0}}, "tiles": {…}, …}
//! ```

use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What a run would do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// Per tensor that is stored or blended, sources first.
    pub windows: Vec<(Arc<str>, Windows)>,
    /// Tiles that are computed.
    pub tiles: u64,
    /// Tiles that live at the same time, at the most.
    pub live_peak: u64,
    /// Bytes that are held at the same time, at the most.
    pub bytes_peak: u64,
    /// Bytes that making machine code takes besides, at the most, before the first tile.
    pub bytes_compiling: u64,
    /// Elements that are needed, of all tensors that are computed.
    pub elements: u64,
    /// Elements computed per element needed; 1 when nothing is computed twice.
    pub recompute_factor: f64,
    /// Kernels that are compiled.
    pub kernels: u64,
    /// Rings of rows and steps inside groups.
    pub rings: Vec<Ring>,
    /// More lines for people: halos, groups and the like.
    pub notes: Vec<String>,
}

/// Rows or steps of a tensor that a group keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Whose rows.
    pub tensor: Arc<str>,
    /// How many.
    pub rows: u64,
    /// `rows`, or `steps` of a recurrence.
    pub what: &'static str,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// Windows, or other units of work, of one tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// Computed, those computed again included.
    pub computed: u64,
    /// Found computed when they were needed.
    pub reused: u64,
}

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stats {
    /// Times, as far as they are known.
    pub seconds: Seconds,
    /// Per tensor, sources first.
    pub windows: Vec<(Arc<str>, Windows)>,
    /// Tiles of all tensors.
    pub tiles: Tiles,
    /// Memory and output.
    pub bytes: Bytes,
    /// Workers.
    pub threads: u64,
    /// `jit` or `interp`.
    pub engine: &'static str,
    /// Width of the vectors that the kernels were compiled for; 0 without kernels.
    pub vector_bits: u64,
    /// Elements of the result.
    pub elements: u64,
    /// Elements computed, those computed again included, per tensor and hidden stage; empty where none are counted.
    pub computed: Vec<(Arc<str>, u64)>,
    /// What formats saved, per tensor that has one and was stored.
    pub formats: Vec<Stored>,
    /// Results kept between reads.
    pub store: Store,
}

/// The elements of a tensor that has a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Whose.
    pub tensor: Arc<str>,
    /// Its format, as a script writes it.
    pub format: String,
    /// Bytes of its tiles, or of all of it, in that format.
    pub bytes: u64,
    /// Bytes that the same elements have when they are dense.
    pub dense: u64,
}

/// The store of results, after a read; it is not part of what the run holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Store {
    /// Bytes that it holds.
    pub bytes: u64,
    /// Elements of the result that were there and were not computed.
    pub reused: u64,
}

/// Wall-clock time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the names of the stages")]
pub struct Seconds {
    pub compile: f64,
    pub plan: f64,
    pub run: f64,
    pub total: f64,
}

/// Tiles in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Tiles {
    pub computed: u64,
    pub freed: u64,
    pub live_peak: u64,
    pub live_peak_planned: u64,
    pub live_end: u64,
}

/// Bytes in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Bytes {
    pub peak: u64,
    pub peak_planned: u64,
    pub output: u64,
    /// What workers keep for the next run, which is not part of the peak.
    pub kept: u64,
}

impl Plan {
    /// The object that `plan --json` writes.
    pub fn to_json(&self) -> Value {
        let ring = |ring: &Ring| json!({"tensor": &*ring.tensor, "rows": ring.rows, "bytes": ring.bytes});
        json!({
            "windows": windows_json(&self.windows),
            "tiles": self.tiles,
            "live_peak": self.live_peak,
            "bytes_peak": self.bytes_peak,
            "bytes_compiling": self.bytes_compiling,
            "elements": self.elements,
            "recompute_factor": self.recompute_factor,
            "kernels": self.kernels,
            "rings": self.rings.iter().map(ring).collect::<Vec<_>>(),
        })
    }
}

impl Stats {
    /// The object that `--stats-json` writes.
    pub fn to_json(&self) -> Value {
        let Stats { seconds, tiles, bytes, .. } = self;
        json!({
            "seconds": {"compile": seconds.compile, "plan": seconds.plan, "run": seconds.run, "total": seconds.total},
            "windows": windows_json(&self.windows),
            "tiles": {
                "computed": tiles.computed, "freed": tiles.freed, "live_peak": tiles.live_peak,
                "live_peak_planned": tiles.live_peak_planned, "live_end": tiles.live_end,
            },
            "bytes": {"peak": bytes.peak, "peak_planned": bytes.peak_planned, "output": bytes.output, "kept": bytes.kept},
            "threads": self.threads,
            "engine": self.engine,
            "vector_bits": self.vector_bits,
            "elements": self.elements,
            "store": {"bytes": self.store.bytes, "reused": self.store.reused},
            "formats": self.formats.iter().map(format_json).collect::<Map<_, _>>(),
            "computed": self.computed.iter().map(|(name, count)| (name.to_string(), json!(count))).collect::<Map<_, _>>(),
        })
    }

    /// Takes in another run of the same program: counts add up, peaks are the higher one.
    pub fn add(&mut self, other: &Stats) {
        self.seconds.compile = self.seconds.compile.max(other.seconds.compile);
        self.seconds.plan += other.seconds.plan;
        self.seconds.run += other.seconds.run;
        for (name, windows) in &other.windows {
            add_windows(&mut self.windows, name, *windows);
        }
        self.tiles.computed += other.tiles.computed;
        self.tiles.freed += other.tiles.freed;
        self.tiles.live_peak = self.tiles.live_peak.max(other.tiles.live_peak);
        self.tiles.live_peak_planned = self.tiles.live_peak_planned.max(other.tiles.live_peak_planned);
        self.tiles.live_end += other.tiles.live_end;
        self.bytes.peak = self.bytes.peak.max(other.bytes.peak);
        self.bytes.peak_planned = self.bytes.peak_planned.max(other.bytes.peak_planned);
        self.bytes.output += other.bytes.output;
        self.bytes.kept = self.bytes.kept.max(other.bytes.kept);
        self.threads = self.threads.max(other.threads);
        self.engine = other.engine;
        self.vector_bits = self.vector_bits.max(other.vector_bits);
        self.elements += other.elements;
        self.store.bytes = self.store.bytes.max(other.store.bytes);
        self.store.reused += other.store.reused;
        for more in &other.formats {
            match self.formats.iter_mut().find(|known| known.tensor == more.tensor) {
                Some(known) => {
                    known.bytes += more.bytes;
                    known.dense += more.dense;
                }
                None => self.formats.push(more.clone()),
            }
        }
        for (name, count) in &other.computed {
            add_count(&mut self.computed, name, *count);
        }
    }
}

/// Adds to the count of a name, which is listed once.
pub fn add_count(list: &mut Vec<(Arc<str>, u64)>, name: &Arc<str>, more: u64) {
    match list.iter_mut().find(|(known, _)| known == name) {
        Some((_, count)) => *count += more,
        None => list.push((name.clone(), more)),
    }
}

pub(super) fn add_windows(list: &mut Vec<(Arc<str>, Windows)>, name: &Arc<str>, more: Windows) {
    match list.iter_mut().find(|(known, _)| known == name) {
        Some((_, windows)) => {
            windows.computed = windows.computed.saturating_add(more.computed);
            windows.reused += more.reused;
        }
        None => list.push((name.clone(), more)),
    }
}

fn format_json(stored: &Stored) -> (String, Value) {
    let Stored { tensor, format, bytes, dense } = stored;
    (tensor.to_string(), json!({"format": format, "bytes": bytes, "dense": dense}))
}

fn windows_json(windows: &[(Arc<str>, Windows)]) -> Value {
    let entry = |(name, windows): &(Arc<str>, Windows)| {
        (name.to_string(), json!({"computed": windows.computed, "reused": windows.reused}))
    };
    Value::Object(windows.iter().map(entry).collect::<Map<_, _>>())
}
