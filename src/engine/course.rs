//! Outputs that follow streams, block by block, and the recurrences that they read, frame by frame.
//!
//! ```text
//! tensor calm: f32[t: 0..inf, x: 640] = if t == 0 then cam[0, x] else 0.9 * calm[t - 1, x] + 0.1 * cam[t, x]
//! output "calm.npy" = calm[0:, :]
//!
//! rows 0..64 ask for frames 0..64 of calm, which wait: frame 0 is made, then 1 from it, …; then the rows are copied
//! ```
//!
//! A recurrence over a stream is a stream of its own, whose next frame is a map of the frames before it
//! ([`crate::graph::stepwise`]). What asks for frames that are not there yet fails; they are made, and it is asked again.

use super::Engine;
use super::error::{Error, Result};
use super::growing::{Growing, Staged};
use super::streams::{Asked, StreamInput, rows_of};
use crate::compile::Program;
use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::graph::body::TensorId;
use crate::graph::uses::uses;
use crate::graph::view::View;
use crate::index::Interval;
use crate::run;
use crate::run::inputs::InputData;
use crate::run::stats::Stats;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

/// How far from the first a frame is that needs as much as any.
const FAR: i64 = 1 << 20;

/// What was asked of streams.
type AskedOf = BTreeMap<TensorId, Asked>;

/// A recurrence that is made frame by frame.
pub(super) struct Recurring {
    /// Its frames.
    id: TensorId,
    stream: Arc<StreamInput>,
    /// The map to the next of them.
    next: Arc<View>,
    /// Streams that it is made of.
    sources: BTreeSet<TensorId>,
    /// Frames that the last one was made of, by stream.
    needed: BTreeMap<TensorId, Interval>,
    /// Whether a frame is being made.
    busy: bool,
}

impl Recurring {
    fn step(&self, engine: &Engine, step: i64) -> Result<Arc<View>> {
        let row = rows_of(&self.next, Interval::trusted(step, step));
        row.map(Arc::new).map_err(|diagnostic| engine.error(diagnostic))
    }

    /// Bytes that making a frame takes, with the frames of its sources that wait while a block of rows is computed.
    pub(super) fn peak(&self, engine: &Engine, rows: i64) -> Result<u64> {
        let frames = self.sources.iter().filter_map(|id| engine.streams.get(id));
        let frames = frames.map(|stream| stream.frame_bytes()).fold(0, u64::saturating_add);
        let far = self.stream.next_frame().unwrap_or(0) + FAR;
        let step = engine.plan_view(self.step(engine, far)?)?.plan().bytes_peak;
        Ok(step.saturating_add(frames.saturating_mul(rows.max(0) as u64)))
    }
}

impl Engine {
    /// The same script with recurrences over streams as streams of their own; none if there are no such recurrences.
    pub(super) fn stepwise(&self) -> Result<Option<(Engine, Vec<Recurring>)>> {
        let Some((program, made)) = self.program.stepwise() else { return Ok(None) };
        let mut engine = self.with_program(program)?;
        let mut recurring = Vec::new();
        for (id, next) in made {
            let stream = StreamInput::new(engine.program.graph.tensor(id), None);
            let stream = Arc::new(stream.map_err(|diagnostic| self.error(diagnostic))?);
            engine.streams.insert(id, stream.clone());
            engine.world.inputs.insert(id, InputData::OnDemand(stream.clone()));
            let graph = &engine.program.graph;
            let tensor = graph.tensor(next);
            let view = View::whole(tensor.name.clone(), next, tensor.element, tensor.domain.clone());
            let sources = uses(graph, next).tensors;
            let (next, needed) = (Arc::new(view), BTreeMap::new());
            recurring.push(Recurring { id, stream, next, sources, needed, busy: false });
        }
        Ok(Some((engine, recurring)))
    }

    /// Another program with the data and the options of this one, which keeps no results.
    fn with_program(&self, program: Program) -> Result<Engine> {
        let program = Arc::new(program);
        let backend = run::backend(self.choice.clone(), program.clone());
        Ok(Engine {
            backend: backend.map_err(|diagnostic| self.error(diagnostic))?,
            program,
            choice: self.choice.clone(),
            sources: self.sources.clone(),
            warnings: Vec::new(),
            slices: self.slices,
            folder: self.folder.clone(),
            kept: None,
            #[cfg(feature = "zarr")]
            disk: self.disk.clone(),
            limits: self.limits.clone(),
            world: self.world.clone(),
            files: self.files.clone(),
            loaded: Mutex::default(),
            known_files: self.known_files.clone(),
            streams: self.streams.clone(),
            cancel: self.cancel.clone(),
            progress: self.progress.clone(),
            trace: self.trace.clone(),
            compile_seconds: self.compile_seconds,
        })
    }
}

/// Outputs on their way along streams.
pub(super) struct Course<'e> {
    pub(super) engine: &'e Engine,
    pub(super) recurring: Vec<Recurring>,
    pub(super) stats: Stats,
}

impl Course<'_> {
    /// Advances an output by as many rows as frames allow; at the end of a stream that may be none.
    pub(super) fn advance(&mut self, output: &mut Growing<'_>) -> Result<()> {
        let (mut rows, engine) = (output.next_rows(), self.engine);
        while rows > 0 {
            let (done, asked) = self.attempt(&mut || output.advance(engine, rows))?;
            match done {
                Ok(more) => {
                    self.stats.add(&more);
                    output.advanced(rows, &asked);
                    return Ok(());
                }
                Err(error) if output.needs_all() || !is_over(&asked) => return Err(error),
                Err(_) => rows /= 2,
            }
        }
        output.stop();
        Ok(())
    }

    /// Runs what reads streams, as often as it waits for frames of recurrences, which are made meanwhile.
    fn attempt<T>(&mut self, run: &mut dyn FnMut() -> Result<T>) -> Result<(Result<T>, AskedOf)> {
        loop {
            let done = run();
            let asked: AskedOf =
                self.engine.streams.iter().map(|(id, stream)| (*id, stream.asked())).collect();
            let awaited = asked.iter().filter(|(_, asked)| asked.awaited);
            let awaited: Vec<(TensorId, i64)> =
                awaited.filter_map(|(id, asked)| Some((*id, asked.frames?.last()))).collect();
            if done.is_ok() || awaited.is_empty() {
                return Ok((done, asked));
            }
            for (id, last) in awaited {
                self.make_frames(id, last)?;
            }
        }
    }

    /// Makes frames of a recurrence up to one, or as many as its streams allow.
    fn make_frames(&mut self, id: TensorId, last: i64) -> Result<()> {
        let Some(at) = self.recurring.iter().position(|recurring| recurring.id == id) else { return Ok(()) };
        while let Some(step) = self.recurring[at].stream.next_frame().filter(|step| *step <= last) {
            if std::mem::replace(&mut self.recurring[at].busy, true) {
                return Err(self.waits_for_itself(at, step));
            }
            let prepared = self.engine.prepare_view(self.recurring[at].step(self.engine, step)?)?;
            let (done, asked) = self.attempt(&mut || {
                let mut frame = Staged::default();
                prepared.run(&mut frame).map(|stats| (stats, frame))
            })?;
            let recurring = &mut self.recurring[at];
            recurring.busy = false;
            match done {
                Ok((stats, frame)) => {
                    self.stats.add(&stats);
                    recurring.needed = frames_of(&asked);
                    recurring.stream.made(Some(frame.into_bytes()));
                }
                Err(_) if is_over(&asked) => recurring.stream.made(None),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A step reads earlier ones alone, so this is no fault of a script.
    fn waits_for_itself(&self, at: usize, step: i64) -> Error {
        let name = quoted(&self.recurring[at].next.name);
        let message = format!("frame {step} of {name} waits for itself");
        self.engine.error(Diagnostic::new(Code::E1010, message))
    }

    /// Forgets frames that nobody will ask for, as far as one can tell from what was asked for last.
    pub(super) fn forget_frames(&self, growing: &[Growing<'_>]) {
        let running = || growing.iter().filter(|output| !output.has_ended());
        if running().any(|output| !output.has_begun()) {
            return;
        }
        let wanted = self.wanted(running().map(Growing::base));
        for (id, stream) in &self.engine.streams {
            let made = self.recurring.iter().filter(|recurring| wanted.contains(&recurring.id));
            let made = made.filter_map(|recurring| Some(recurring.needed.get(id)?.first()));
            let lowest = running().filter_map(|output| output.lowest(*id)).chain(made).min();
            if let Some(lowest) = lowest {
                stream.forget_before(lowest);
            }
        }
    }

    /// The tensors that some are computed from, the sources of recurrences included.
    fn wanted(&self, bases: impl Iterator<Item = TensorId>) -> BTreeSet<TensorId> {
        let graph = &self.engine.program.graph;
        let mut found: BTreeSet<TensorId> = bases.flat_map(|base| uses(graph, base).tensors).collect();
        loop {
            let before = found.len();
            for recurring in &self.recurring {
                if found.contains(&recurring.id) {
                    found.extend(&recurring.sources);
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }
}

/// Whether a stream ended before what was asked of it.
fn is_over(asked: &AskedOf) -> bool {
    asked.values().any(|asked| asked.over)
}

/// The frames that were asked for, by stream.
pub(super) fn frames_of(asked: &AskedOf) -> BTreeMap<TensorId, Interval> {
    asked.iter().filter_map(|(id, asked)| Some((*id, asked.frames?))).collect()
}
