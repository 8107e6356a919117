//! The interpreter as an engine: slow, obvious, and what the compiled one is held against.
//!
//! ```text
//! blur[0:2, 0:3]   ->   element (0, 0), element (0, 1), …   each by definition
//! ```
//!
//! It has no tiles, so its numbers are trivial: the result counts as one tile, of which it holds what it hands on at a
//! time, and what it remembers is not counted.

use super::inputs::{BoxSource, InputData};
use super::job::{Backend, Control, HostCall, Job, Planned, Sink, World, array_type, call_host};
use super::stats::{Bytes, Plan, Stats, Tiles, Windows};
use crate::access::footprint::Region;
use crate::compile::Program;
use crate::diagnostic::{Code, Diagnostic, Result, quoted};
use crate::graph::body::TensorId;
use crate::graph::scalar::Scalar;
use crate::graph::types::Element;
use crate::graph::uses::uses;
use crate::graph::{TensorKind, WindowBody};
use crate::index::Interval;
use crate::index::walk::points;
use crate::interp::{Host, Interp, STACK_BYTES, WindowCall};
use crate::io::{Array, scalar_at, store_scalar};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Elements that are handed on at a time.
const PORTION: usize = 4096;

/// The reference engine for one program.
#[derive(Debug)]
pub struct Reference {
    program: Arc<Program>,
}

impl Reference {
    /// An engine that interprets `program`.
    pub fn new(program: Arc<Program>) -> Reference {
        Reference { program }
    }
}

impl Backend for Reference {
    fn name(&self) -> &'static str {
        "interp"
    }

    fn plan(&self, job: Job) -> Result<Box<dyn Planned>> {
        let elements = elements_of(&job)?;
        let bytes_peak = elements.min(PORTION as u64) * job.view.element.bytes();
        let plan = Plan { tiles: 1, live_peak: 1, bytes_peak, recompute_factor: 1.0, ..Plan::default() };
        Ok(Box::new(Interpreted { program: self.program.clone(), job, plan, elements }))
    }
}

/// How many elements a read has.
fn elements_of(job: &Job) -> Result<u64> {
    let shape = job.view.domain().shape().unwrap_or_default();
    let count = shape.iter().try_fold(1u64, |count, len| count.checked_mul(*len as u64));
    count.ok_or_else(|| {
        let array = array_type(job.view.element, &shape);
        Box::new(Diagnostic::new(
            Code::E1007,
            format!("{} has more than 2^64 elements: {array}", quoted(&job.view.name)),
        ))
    })
}

struct Interpreted {
    program: Arc<Program>,
    job: Job,
    plan: Plan,
    elements: u64,
}

impl Planned for Interpreted {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn text(&self) -> String {
        format!("{}: {} elements, one by one\n", self.job.view.name, self.elements)
    }

    /// Runs on a thread of its own, which has the stack that chains of tensors need.
    fn run(&self, sink: &mut dyn Sink, control: &Control<'_>) -> Result<Stats> {
        std::thread::scope(|scope| {
            let builder = std::thread::Builder::new().name("interp".to_owned()).stack_size(STACK_BYTES);
            let thread = builder.spawn_scoped(scope, || self.interpret(sink, control));
            let thread = thread.map_err(|error| failed(format!("no thread can be started: {error}")))?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

fn failed(message: String) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(Code::E1009, message))
}

impl Interpreted {
    fn interpret(&self, sink: &mut dyn Sink, control: &Control<'_>) -> Result<Stats> {
        let outside = Outside {
            program: &self.program,
            world: &self.job.world,
            control,
            loaded: RefCell::default(),
            cause: RefCell::new(None),
        };
        let start = control.trace.map(|trace| trace.now());
        let computed = self.compute(&outside, sink);
        if let (Some(trace), Some(start)) = (control.trace, start) {
            trace.record(self.job.view.name.to_string(), 0, start, 1);
        }
        match computed {
            Ok(stats) => Ok(stats),
            Err(Stop::Sink(diagnostic)) => Err(diagnostic),
            Err(Stop::Interp(message)) => Err(outside.cause.take().unwrap_or_else(|| failed(message))),
        }
    }

    fn compute(&self, outside: &Outside<'_>, sink: &mut dyn Sink) -> Computed<Stats> {
        let view = &self.job.view;
        let graph = &self.program.graph;
        let uses = uses(graph, view.base);
        let mut interp = Interp::after(graph, outside, uses.sets.iter().map(|at| &graph.sets[*at]))?;
        for write in self.job.world.writes.iter().filter(|write| uses.tensors.contains(&write.target.base)) {
            interp.put(&write.target, |at| element_at(&write.data, at))?;
        }
        let dims: Vec<Interval> = view.domain().dims().iter().map(|dim| dim.interval).collect();
        let (mut buffer, mut done) = (Vec::new(), 0);
        for coords in points(&dims) {
            let value = interp.view_element(view, &coords)?;
            store_scalar(view.element, value, &mut buffer);
            done += 1;
            if done % PORTION as u64 == 0 || done == self.elements {
                sink.write(&buffer).map_err(Stop::Sink)?;
                buffer.clear();
                (outside.control.progress)(done, self.elements);
            }
        }
        let counted = |count: &dyn Fn(TensorId) -> usize| -> Vec<(Arc<str>, u64)> {
            let counts = graph.iter().map(|(id, tensor)| (tensor.name.clone(), count(id) as u64));
            counts.filter(|(_, count)| *count > 0).collect()
        };
        Ok(self.stats(counted(&|id| interp.windows(id)), counted(&|id| interp.computed(id))))
    }

    fn stats(&self, windows: Vec<(Arc<str>, u64)>, computed: Vec<(Arc<str>, u64)>) -> Stats {
        let windows = windows.into_iter().map(|(name, computed)| (name, Windows { computed, reused: 0 }));
        let bytes = self.plan.bytes_peak;
        let output = self.elements.saturating_mul(self.job.view.element.bytes());
        Stats {
            windows: windows.collect(),
            computed,
            tiles: Tiles { computed: 1, freed: 1, live_peak: 1, live_peak_planned: 1, live_end: 0 },
            bytes: Bytes { peak: bytes, peak_planned: bytes, output, kept: 0 },
            threads: 1,
            engine: "interp",
            elements: self.elements,
            ..Stats::default()
        }
    }
}

/// Why the interpreter stopped.
enum Stop {
    /// The destination takes no more.
    Sink(Box<Diagnostic>),
    /// Its own words; a diagnostic may be kept beside.
    Interp(String),
}

type Computed<T> = std::result::Result<T, Stop>;

impl From<String> for Stop {
    fn from(message: String) -> Stop {
        Stop::Interp(message)
    }
}

/// What the interpreter asks for.
struct Outside<'a> {
    program: &'a Program,
    world: &'a World,
    control: &'a Control<'a>,
    /// Inputs that were not in memory before.
    loaded: RefCell<BTreeMap<TensorId, Arc<Array>>>,
    /// The diagnostic behind the last error.
    cause: RefCell<Option<Box<Diagnostic>>>,
}

impl Outside<'_> {
    fn keep(&self, diagnostic: Box<Diagnostic>) -> String {
        let message = diagnostic.message.clone();
        self.cause.replace(Some(diagnostic));
        message
    }

    /// All of an input, read once.
    fn whole(
        &self,
        tensor: TensorId,
        source: &dyn BoxSource,
        shape: Vec<i64>,
    ) -> std::result::Result<Arc<Array>, String> {
        if let Some(array) = self.loaded.borrow().get(&tensor) {
            return Ok(array.clone());
        }
        let declared = self.program.graph.tensor(tensor);
        let region: Region = declared.domain.dims().iter().map(|dim| dim.interval).collect();
        let data = source.read_box(&region).map_err(|diagnostic| self.keep(diagnostic))?;
        let array = Arc::new(Array { element: declared.element, shape, data });
        self.loaded.borrow_mut().insert(tensor, array.clone());
        Ok(array)
    }

    /// The takes of an extern tensor as arrays.
    fn takes(&self, call: &WindowCall<'_>) -> Vec<Array> {
        let TensorKind::Windowed(windowed) = &self.program.graph.tensor(call.tensor).kind else {
            return Vec::new();
        };
        let WindowBody::Extern { args, .. } = &windowed.body else { return Vec::new() };
        let array = |(arg, values): (&usize, &Vec<Scalar>)| {
            let take = &windowed.takes[*arg];
            array_of(take.source.element, take.sizes.clone(), values)
        };
        args.iter().zip(call.takes).map(array).collect()
    }
}

impl Host for Outside<'_> {
    fn input(&self, tensor: TensorId, coords: &[i64]) -> std::result::Result<Scalar, String> {
        let declared = self.program.graph.tensor(tensor);
        let data = self.world.inputs.get(&tensor);
        let data = data.ok_or_else(|| format!("input {} has no data", quoted(&declared.name)))?;
        let held;
        let array = match (data, declared.domain.shape()) {
            (InputData::Whole(data), _) => {
                data.array(|_| Ok(())).map_err(|diagnostic| self.keep(diagnostic))?
            }
            (InputData::OnDemand(source), Some(shape)) => {
                held = self.whole(tensor, &**source, shape)?;
                &*held
            }
            (InputData::OnDemand(source), None) => {
                let points =
                    coords.iter().map(|at| Interval::point(*at)).collect::<std::result::Result<Region, _>>();
                let element = source.read_box(&points.map_err(|error| error.to_string())?);
                return Ok(scalar_at(
                    declared.element,
                    &element.map_err(|diagnostic| self.keep(diagnostic))?,
                ));
            }
        };
        let dims = declared.domain.dims().iter().zip(&array.shape).zip(coords);
        let position = dims.fold(0, |at, ((dim, len), coord)| at * len + coord - dim.interval.first());
        Ok(element_at(array, position as usize))
    }

    fn call(&self, call: &WindowCall<'_>) -> std::result::Result<Vec<Scalar>, String> {
        let tensor = &self.program.graph.tensor(call.tensor).name;
        let host = self.world.hosts.get(call.name);
        let host = host.ok_or_else(|| format!("host function {} is not registered", quoted(call.name)))?;
        let takes = self.takes(call);
        let asked = HostCall {
            name: call.name,
            tensor,
            window: call.number,
            takes: &takes,
            element: call.element,
            size: call.size,
        };
        let window = call_host(&**host, &asked).map_err(|diagnostic| self.keep(diagnostic))?;
        Ok((0..window.elements()).map(|at| element_at(&window, at)).collect())
    }

    fn go_on(&self) -> std::result::Result<(), String> {
        self.control.check().map_err(|diagnostic| self.keep(diagnostic))
    }
}

fn element_at(array: &Array, position: usize) -> Scalar {
    let bytes = array.element.bytes() as usize;
    scalar_at(array.element, &array.data[position * bytes..][..bytes])
}

fn array_of(element: Element, shape: Vec<i64>, values: &[Scalar]) -> Array {
    let mut data = Vec::with_capacity(values.len() * element.bytes() as usize);
    values.iter().for_each(|value| store_scalar(element, *value, &mut data));
    Array { element, shape, data }
}
