//! What callers and engines share: one read of a view, the data outside of the script, where the elements go, and how
//! the run is watched and stopped.
//!
//! ```text
//! Backend::plan(Job)  ->  Planned           no element is computed, the memory is known
//! Planned::run(Sink, Control)  ->  Stats    row-major bytes go to the sink
//! ```
//!
//! Elements are bytes as in files: row-major, little-endian, a bool is a byte 0 or 1, an f16 its 16 bits.

use super::blank::Blank;
use super::inputs::InputData;
use super::kept::cut;
use super::stats::{Plan, Stats};
use crate::access::footprint::view_footprint;
use crate::access::{leaves_stored, space};
use crate::compile::Program;
use crate::diagnostic::{Code, Diagnostic, Result, quoted};
use crate::graph::body::TensorId;
use crate::graph::types::Element;
use crate::graph::view::View;
use crate::io::Array;
use crate::plan::stop::Stop;
use crate::plan::timeline::Timeline;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Runs the reads of one compiled script; made once per program, so it may keep kernels between reads.
pub trait Backend: Send + Sync {
    /// As `--engine` and the statistics call it.
    fn name(&self) -> &'static str;

    /// Works out what a read takes, without computing an element.
    fn plan(&self, job: Job) -> Result<Box<dyn Planned>>;
}

/// A read that is ready to run, any number of times.
pub trait Planned: Send + Sync {
    /// What is known before the run.
    fn plan(&self) -> &Plan;

    /// The same as text: groups, order, who reads what last, the peak.
    fn text(&self) -> String;

    /// When tiles are made and freed, from the first task on; none if nothing is made in tiles.
    fn timeline(&self) -> Option<Timeline> {
        None
    }

    /// Computes the elements and hands them to `sink`; the times in the result are the caller's to fill in.
    fn run(&self, sink: &mut dyn Sink, control: &Control<'_>) -> Result<Stats>;
}

/// One read: every element of a bounded view.
#[derive(Clone, Debug)]
pub struct Job {
    /// What is read; the box is its domain.
    pub view: Arc<View>,
    /// The data that the script does not have.
    pub world: Arc<World>,
    /// How it runs.
    pub limits: Limits,
}

/// An error for a read that a bound which is not enforced lets leave its tensor, since nothing is proven there, or that
/// needs elements outside the index space.
pub fn stays_inside(program: &Program, view: &View) -> Result<()> {
    let Program { graph, accesses } = program;
    let (reader, span) = (format!("a read of {}", quoted(&view.name)), graph.tensor(view.base).span);
    let region = || cut(view).or_else(|| view_footprint(view, &view.intervals(), span));
    let wrong = leaves_stored(graph, view, span, &reader)
        .or_else(|| space::shown_outside(view, span))
        .or_else(|| space::leaves(graph, accesses, view.base, region()?));
    wrong.map_or(Ok(()), Diagnostic::err)
}

/// How a run is bounded; no result depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Workers, at least 1.
    pub threads: usize,
    /// A plan that needs more bytes is refused by the caller before it runs.
    pub memory: Option<u64>,
    /// Tile shape over the unbounded dimensions, outermost first, instead of the script's and the planner's.
    pub tile: Option<Vec<i64>>,
    /// Ends the planning, with [`Code::E1006`].
    pub stop: Stop,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { threads: 1, memory: None, tile: None, stop: Stop::default() }
    }
}

/// The data outside of a script. What a read needs of it has been checked to be there, with its declared type and shape.
#[derive(Clone, Default)]
pub struct World {
    /// Grows whenever inputs or host functions change.
    pub generation: u64,
    /// The data of inputs, by tensor.
    pub inputs: BTreeMap<TensorId, InputData>,
    /// Functions for `extern`, by name.
    pub hosts: BTreeMap<Arc<str>, Arc<dyn HostFn>>,
    /// Done after the `set` items of the script, in this order.
    pub writes: Vec<Write>,
    /// How many writes there were, those that later ones made needless included.
    pub written: u64,
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let inputs: Vec<_> = self.inputs.keys().collect();
        let hosts: Vec<_> = self.hosts.keys().collect();
        write!(f, "World {{ inputs: {inputs:?}, hosts: {hosts:?}, writes: {} }}", self.writes.len())
    }
}

/// Elements that the host writes into a variable, through a view that shows each of them once.
#[derive(Clone, Debug)]
pub struct Write {
    /// Where they go; elements that a pad made go nowhere.
    pub target: Arc<View>,
    /// One for every element of the view.
    pub data: Arc<Array>,
    /// Later writes have higher numbers; the first one has 1.
    pub number: u64,
}

/// A function of the host program that an `extern` body names.
pub trait HostFn: Send + Sync {
    /// One whole window of a tensor.
    fn call(&self, call: &HostCall<'_>) -> std::result::Result<Array, String>;
}

/// What a host function is asked for.
#[derive(Clone, Copy, Debug)]
pub struct HostCall<'a> {
    /// The name in the script's `extern`.
    pub name: &'a str,
    /// The tensor that the window belongs to.
    pub tensor: &'a str,
    /// Which window, per dimension.
    pub window: &'a [i64],
    /// The slices that the script takes for it, in the order of the arguments.
    pub takes: &'a [Array],
    /// Element type that the result must have.
    pub element: Element,
    /// Shape that the result must have.
    pub size: &'a [i64],
}

/// Calls a host function and makes sure that its window has the type and shape that the script says.
pub fn call_host(host: &dyn HostFn, call: &HostCall<'_>) -> Result<Array> {
    let place = format!("window {:?} of {}", call.window, quoted(call.tensor));
    let failed = |why: String| {
        Diagnostic::new(Code::E1004, format!("host function {} failed for {place}: {why}", quoted(call.name)))
    };
    let array = host.call(call).map_err(|why| Box::new(failed(why)))?;
    let bytes = array.shape.iter().try_fold(array.element.bytes(), |n, len| n.checked_mul(*len as u64));
    if array.element == call.element && array.shape == call.size && bytes == Some(array.data.len() as u64) {
        return Ok(array);
    }
    let (given, wanted) = (array_type(array.element, &array.shape), array_type(call.element, call.size));
    let message = format!("host function {} gave {given} for {place}, which is {wanted}", quoted(call.name));
    Diagnostic::new(Code::E1004, message).help(format!("return exactly {wanted}")).err()
}

/// `f32[3, 4]`: an array's type as messages show it.
pub fn array_type(element: Element, shape: &[i64]) -> String {
    format!("{element}{shape:?}")
}

/// Where the elements of a read go.
pub trait Sink: Send {
    /// Takes the next elements in row-major order, any whole number of them.
    fn write(&mut self, bytes: &[u8]) -> Result<()>;

    /// The whole destination where it is memory: an engine may fill it in any order, and then writes nothing.
    fn memory(&mut self) -> Option<Blank<'_>> {
        None
    }
}

/// How a run is watched and stopped.
#[derive(Clone)]
pub struct Control<'a> {
    /// Once true, the run ends soon with [`Code::E1006`].
    pub cancel: Arc<AtomicBool>,
    /// Told how many elements, or other equal parts, are done of how many; from any thread.
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
    /// Where spans of work are recorded, if someone wants them.
    pub trace: Option<&'a Trace>,
}

impl Control<'_> {
    /// An error once the run is to end.
    pub fn check(&self) -> Result<()> {
        if self.cancel.load(Ordering::Relaxed) { Err(cancelled()) } else { Ok(()) }
    }
}

/// The error that ends a cancelled run.
pub fn cancelled() -> Box<Diagnostic> {
    Box::new(Diagnostic::new(Code::E1006, "the run was cancelled"))
}

/// What happens in runs, on threads, with a clock from outside.
pub struct Trace {
    clock: Box<dyn Fn() -> u64 + Send + Sync>,
    /// Whether everything that happens to a tile is recorded, or only that it is computed.
    detailed: bool,
    told: Mutex<Told>,
}

/// Where events go.
enum Told {
    /// They are kept, for whoever asks afterwards.
    Kept(Vec<Event>),
    /// They are handed on as they come.
    Handed(Box<dyn FnMut(Event) + Send>),
}

/// What happens to a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It is computed.
    Compute,
    /// A task reads it, or a read finds it in the store.
    Reuse,
    /// Its memory is given back, or it is handed on.
    Free,
}

/// Something that happened, in a span of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What it was.
    pub what: What,
    /// To which tile, such as `smooth [0, 3]`.
    pub name: String,
    /// Number of the worker, from 0.
    pub worker: usize,
    /// Microseconds since the trace began.
    pub start: u64,
    /// Microseconds that it took.
    pub duration: u64,
    /// Tiles that live then; the one that is computed counts.
    pub live: u64,
}

impl Trace {
    /// A trace whose `clock` gives microseconds since it began.
    pub fn new(clock: impl Fn() -> u64 + Send + Sync + 'static) -> Trace {
        Trace { clock: Box::new(clock), detailed: false, told: Mutex::new(Told::Kept(Vec::new())) }
    }

    /// The same, which keeps nothing: `take` has each event when it is over, so not in the order in which they began.
    pub fn handed(
        clock: impl Fn() -> u64 + Send + Sync + 'static,
        take: impl FnMut(Event) + Send + 'static,
    ) -> Trace {
        Trace { told: Mutex::new(Told::Handed(Box::new(take))), ..Trace::new(clock) }
    }

    /// A trace of everything, whose time is the number of looks at its clock: the same for every run on one worker.
    pub fn detailed() -> Trace {
        let looks = AtomicU64::new(0);
        let clock = move || looks.fetch_add(1, Ordering::Relaxed);
        Trace { detailed: true, ..Trace::new(clock) }
    }

    /// Microseconds since the trace began.
    pub fn now(&self) -> u64 {
        (self.clock)()
    }

    /// Records that `worker` computed `name` from `start` until now; `live` tiles were there.
    pub fn record(&self, name: String, worker: usize, start: u64, live: u64) {
        let duration = self.now().saturating_sub(start);
        self.add(Event { what: What::Compute, name, worker, start, duration, live });
    }

    /// Records something that takes no time, if anybody wants to know.
    pub fn note(&self, what: What, name: impl FnOnce() -> String, live: u64) {
        if self.detailed {
            let start = self.now();
            self.add(Event { what, name: name(), worker: 0, start, duration: 0, live });
        }
    }

    fn add(&self, event: Event) {
        match &mut *self.told() {
            Told::Kept(events) => events.push(event),
            Told::Handed(take) => take(event),
        }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One line per event, without times.
    pub fn text(&self) -> String {
        let line = |event: &Event| {
            let what = match event.what {
                What::Compute => "compute",
                What::Reuse => "reuse",
                What::Free => "free",
            };
            format!("{what:<8}{}, {} live\n", event.name, event.live)
        };
        self.events().iter().map(line).collect()
    }

    /// Everything that was recorded and kept so far, by start.
    pub fn events(&self) -> Vec<Event> {
        let mut events = match &*self.told() {
            Told::Kept(events) => events.clone(),
            Told::Handed(_) => Vec::new(),
        };
        events.sort_by_key(|event| (event.start, event.worker));
        events
    }
}
