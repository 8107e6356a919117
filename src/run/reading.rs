//! A read of the compiled engine that is planned: it knows its pieces, and runs.
//!
//! ```text
//! u8[0:100000, 0:100000]   ->   671 rows at a time: each slab is a run of its own
//! heat[0:500, 0:4000, 0:4000]   ->   a step at a time: one run, which hands on each step
//! ```
//!
//! A result that fits is one piece, and one that goes to memory always is.

use super::inputs::loaded_bytes;
use super::job::{Control, Job, Planned, Sink};
use super::ledger::{Counts, Ledger};
use super::memory::{Buffer, Memory, Place, copy, fill_blank};
use super::meter::{Meter, Told, work_of};
use super::sets::Before;
use super::slabs::Cutting;
use super::stats::{Bytes, Plan, Stats, Tiles, Windows, add_windows};
use super::summary::{self, Done};
use super::tiled::{Asked, Common, Scene, failed};
use crate::access::footprint::Region;
use crate::diagnostic::{Code, Diagnostic, Result, quoted};
use crate::index::Interval;
use crate::plan::bands::{Ring, Slot};
use crate::plan::grid::volume;
use crate::plan::peak::{Peak, peak};
use crate::plan::print::print;
use crate::plan::readers::Division;
use crate::plan::recurrence::recurrence;
use crate::plan::timeline::{Timeline, timeline};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of a slab, at the most.
const SLAB: u64 = 64 << 20;
/// Bytes of a result that is made in one piece although it is large, because slabs would compute shared tiles again.
const PIECE: u64 = 1 << 30;

/// A read that is ready to run.
pub(super) struct Reading {
    common: Arc<Common>,
    job: Job,
    asked: Asked,
    whole: Whole,
    pieces: Pieces,
    bytes: u64,
}

/// All that is planned of a read besides its pieces.
#[derive(Clone)]
pub(super) struct Whole {
    pub(super) division: Arc<Division>,
    /// What is written into variables first.
    pub(super) before: Arc<Before>,
    /// Windows that the read itself computes.
    pub(super) windows: Arc<Vec<(Arc<str>, Windows)>>,
    pub(super) plan: Arc<Plan>,
}

impl Reading {
    /// A read whose plan is known; it is made in one piece.
    pub(super) fn known(common: Arc<Common>, job: Job, asked: Asked, whole: Whole) -> Reading {
        let bytes = volume(&asked.region) as u64 * job.view.element.bytes();
        Reading { common, job, asked, whole, pieces: Pieces::One, bytes }
    }

    pub(super) fn job(&self) -> &Job {
        &self.job
    }

    pub(super) fn asked(&self) -> &Asked {
        &self.asked
    }

    /// What is planned, if the read is made in one piece and neither variables nor windows have to do with it.
    pub(super) fn plain_whole(&self) -> Option<Whole> {
        let Whole { before, plan, .. } = &self.whole;
        let plain = before.is_nothing() && plan.windows.is_empty();
        match self.pieces {
            Pieces::One => plain.then(|| self.whole.clone()),
            Pieces::Slabs(..) | Pieces::Steps(_) => None,
        }
    }

    /// The first of several slabs.
    fn first_slab(&self) -> Option<Division> {
        match &self.pieces {
            Pieces::Slabs(cutting, _) => self.asked.divide(&cutting.first(), &self.job.limits).ok(),
            Pieces::One | Pieces::Steps(_) => None,
        }
    }
}

impl Planned for Reading {
    fn plan(&self) -> &Plan {
        &self.whole.plan
    }

    fn text(&self) -> String {
        let (threads, name) = (self.job.limits.threads, &self.job.view.name);
        match self.first_slab() {
            Some(slab) => format!("{name}: in slabs, of which this is the first\n{}", print(&slab, threads)),
            None => print(&self.whole.division, threads),
        }
    }

    fn timeline(&self) -> Option<Timeline> {
        let slab = self.first_slab();
        Some(timeline(slab.as_ref().unwrap_or(&self.whole.division), self.job.limits.threads))
    }

    fn run(&self, sink: &mut dyn Sink, control: &Control<'_>) -> Result<Stats> {
        let limits = &self.job.limits;
        let parts = self.parts(sink.memory().is_some());
        let total = parts.saturating_add(self.common.pending(&self.whole.before, &self.job.world)).max(1);
        let done = AtomicU64::new(0);
        let progress = |more: u64| {
            let now = done.fetch_add(more, Ordering::Relaxed) + more;
            (control.progress)(now, total);
        };
        let ready = self.common.vars(&self.whole.before, &self.job.world, control, limits, &progress)?;
        let ledger = Ledger::new(self.asked.stages.graph.tensors.len());
        let kernels = self.asked.kernels(&self.common);
        let (spare, world) = (&self.common.spare, &*self.job.world);
        let scene = Scene { kernels, spare, world, vars: &ready.vars, control, limits, ledger: &ledger };
        let inputs = summary::inputs(&self.whole.division, world, limits.threads) + ready.vars.bytes();
        ledger.hold(inputs);
        let memory = sink.memory();
        let planned = if memory.is_some() { self.in_memory()? } else { self.planned() };
        let done = match memory {
            _ if self.bytes == 0 => Ok(()),
            Some(blank) => {
                let _held = ledger.holding(self.bytes);
                let division = &self.whole.division;
                fill_blank(blank, |memory| scene.compute(division, memory, parts, &progress))
            }
            None => match &self.pieces {
                Pieces::One => self.in_one(sink, &scene, parts, &progress),
                Pieces::Slabs(cutting, room) => self.in_slabs(cutting, *room, sink, &scene, &progress),
                Pieces::Steps(slot) => {
                    self.in_steps(slot, sink, &scene, &Meter::new(&self.whole.division, parts, &progress))
                }
            },
        };
        ledger.release(inputs + ledger.thawed());
        debug_assert!(ledger.is_empty(), "everything is given back, however a run ends: {ledger:?}");
        done?;
        let mut counts = ledger.counts();
        counts.bytes_peak = counts.bytes_peak.max(ready.peak);
        Ok(self.stats(&counts, planned, ready.done))
    }
}

/// How a result is handed on.
enum Pieces {
    /// All at once.
    One,
    /// Slabs of rows that are planned and made one after the other, each in that much room.
    Slabs(Cutting, Room),
    /// Step by step of a recurrence, whose last steps lie in this.
    Steps(Slot),
}

/// What a slab may hold at once, with its result and the data that it loads.
#[derive(Clone, Copy, Debug)]
struct Room {
    tiles: u64,
    bytes: u64,
}

impl Room {
    fn of(held: Peak, output: u64, loaded: u64) -> Room {
        Room { tiles: held.tiles, bytes: held.bytes().saturating_add(output).saturating_add(loaded) }
    }
}

/// Bytes of one step.
fn step_bytes(slot: &Slot, element: u64) -> u64 {
    volume(&slot.region[1..]).saturating_mul(element.into()).min(u64::MAX.into()) as u64
}

impl Reading {
    /// Plans a read.
    pub(super) fn new(common: Arc<Common>, job: Job, asked: Asked) -> Result<Reading> {
        let element = job.view.element.bytes();
        let bytes = volume(&asked.region).saturating_mul(element.into());
        let Ok(bytes) = u64::try_from(bytes) else {
            let name = quoted(&job.view.name);
            return Diagnostic::new(Code::E1007, format!("{name} has more than 2^64 bytes")).err();
        };
        let division = asked.divide(&asked.region, &job.limits)?;
        let (threads, world) = (job.limits.threads, &job.world);
        let before = common.before(job.view.base, &division, world, &job.limits)?;
        let resident = summary::inputs(&division, world, threads);
        let at_once = |output: u64| -> Result<Plan> {
            let inputs = resident.saturating_add(loaded_bytes(world, &division));
            let held = peak(&division, threads).map_err(failed)?;
            Ok(summary::plan(&division, &division, held.made, held, (output, inputs)))
        };
        let (pieces, mut plan) = match ways(&division, &asked.region, element) {
            Way::Whole => (Pieces::One, at_once(bytes)?),
            Way::Steps(slot) => {
                let output = step_bytes(&slot, element).saturating_mul(2);
                (Pieces::Steps(slot), at_once(output)?)
            }
            Way::Slabs(cutting) => {
                let first = asked.divide(&cutting.first(), &job.limits)?;
                let (mut peaks, mut loaded) = (Vec::new(), 0);
                for sample in cutting.samples() {
                    let slab = asked.divide(&sample, &job.limits)?;
                    peaks.push(peak(&slab, threads).map_err(failed)?);
                    loaded = loaded.max(loaded_bytes(world, &slab));
                }
                let held = peaks.iter().copied().fold(Peak::default(), Peak::hull);
                let [made, last] = [peaks.first(), peaks.last()].map(|peak| peak.map_or(0, |peak| peak.made));
                let (tiles, output) = (cutting.total(made, last), cutting.largest());
                let plan =
                    summary::plan(&division, &first, tiles, held, (output, resident.saturating_add(loaded)));
                (Pieces::Slabs(cutting, Room::of(held, output, loaded)), plan)
            }
        };
        plan.bytes_peak = before.peak.max(plan.bytes_peak.saturating_add(before.held));
        let windows = Arc::new(plan.windows.clone());
        before.windows.iter().for_each(|(name, more)| add_windows(&mut plan.windows, name, *more));
        let (division, before, plan) = (Arc::new(division), Arc::new(before), Arc::new(plan));
        let whole = Whole { division, before, windows, plan };
        Ok(Reading { common, job, asked, whole, pieces, bytes })
    }

    /// Parts of progress that the result counts as: the work for it, or the elements that slabs hand on.
    fn parts(&self, in_memory: bool) -> u64 {
        match &self.pieces {
            Pieces::Slabs(cutting, _) if !in_memory => self.bytes / cutting.element,
            Pieces::One | Pieces::Steps(_) | Pieces::Slabs(..) => work_of(&self.whole.division),
        }
    }

    /// Tiles and bytes at the peak, as planned.
    fn planned(&self) -> (u64, u64) {
        (self.whole.plan.live_peak, self.whole.plan.bytes_peak)
    }

    /// The same where the result goes to memory that is there: a large one is made in one piece, too.
    fn in_memory(&self) -> Result<(u64, u64)> {
        match self.pieces {
            Pieces::One => return Ok(self.planned()),
            Pieces::Slabs(..) | Pieces::Steps(_) => {}
        }
        let held = peak(&self.whole.division, self.job.limits.threads).map_err(failed)?;
        let resident = summary::inputs(&self.whole.division, &self.job.world, self.job.limits.threads);
        let loaded = loaded_bytes(&self.job.world, &self.whole.division);
        let others = [self.bytes, resident, loaded, self.whole.before.held];
        let bytes = others.into_iter().fold(held.bytes(), u64::saturating_add);
        Ok((held.tiles, bytes.max(self.whole.before.peak)))
    }

    /// Hands the result on in one piece.
    fn in_one(&self, sink: &mut dyn Sink, scene: &Scene<'_>, parts: u64, told: &Told<'_>) -> Result<()> {
        let mut buffer = Buffer::new(self.bytes.into())?;
        let _held = scene.ledger.holding(self.bytes);
        let data = &mut buffer.bytes_mut()[..self.bytes as usize];
        scene.compute(&self.whole.division, Memory::of_mut(data), parts, told)?;
        sink.write(data)
    }

    /// Hands the result on slab by slab. Those between the ones that were planned may need more, where conditions say
    /// so: they are cut until they need no more than was said.
    fn in_slabs(
        &self,
        cutting: &Cutting,
        room: Room,
        sink: &mut dyn Sink,
        scene: &Scene<'_>,
        told: &Told<'_>,
    ) -> Result<()> {
        let mut buffer = Buffer::default();
        for slab in cutting.slabs() {
            let mut left = vec![slab];
            while let Some(region) = left.pop() {
                let bytes = volume(&region) as u64 * cutting.element;
                let division = self.asked.divide(&region, &self.job.limits)?;
                let needs = self.room_for(&division, bytes)?;
                if needs.tiles > room.tiles || needs.bytes > room.bytes {
                    let [first, second] =
                        halves(&region).ok_or_else(|| self.no_room(&region, needs, room))?;
                    left.extend([second, first]);
                    continue;
                }
                buffer.resize(bytes.into())?;
                let _held = scene.ledger.holding(bytes);
                let data = &mut buffer.bytes_mut()[..bytes as usize];
                scene.compute(&division, Memory::of_mut(data), bytes / cutting.element, told)?;
                sink.write(data)?;
            }
        }
        Ok(())
    }

    /// What a slab with a result of so many bytes holds.
    fn room_for(&self, slab: &Division, bytes: u64) -> Result<Room> {
        let held = peak(slab, self.job.limits.threads).map_err(failed)?;
        Ok(Room::of(held, bytes, loaded_bytes(&self.job.world, slab)))
    }

    fn no_room(&self, element: &Region, needs: Room, room: Room) -> Box<Diagnostic> {
        let (name, at) = (&self.job.view.name, element.iter().map(|range| range.first().to_string()));
        let place = quoted(&format!("{name}[{}]", at.collect::<Vec<_>>().join(", ")));
        let message =
            format!("{place} alone needs {} bytes, more than the {} of the plan", needs.bytes, room.bytes);
        Box::new(Diagnostic::new(Code::E1005, message).help("read what is before it and after it apart"))
    }

    /// Hands the result of a recurrence on step by step, each as soon as it is there.
    fn in_steps(&self, slot: &Slot, sink: &mut dyn Sink, scene: &Scene<'_>, meter: &Meter<'_>) -> Result<()> {
        let element = self.job.view.element.bytes();
        let (mut ring, mut plane) = (Buffer::new(slot.elements() * u128::from(element))?, Buffer::default());
        let step = step_bytes(slot, element);
        plane.resize(step.into())?;
        let _held = scene.ledger.holding(2 * step);
        let out = Place { memory: ring.memory_mut(), layout: slot.layout(), bytes: element as usize };
        let sink = Mutex::new((sink, plane));
        let hand_on = |region: &Region| {
            let (sink, plane) = &mut *sink.lock().unwrap_or_else(PoisonError::into_inner);
            copy(&out, &Place::dense(plane.memory_mut(), region, out.bytes), region);
            sink.write(&plane.bytes_mut()[..step as usize])
        };
        scene.compute_into(&self.whole.division, &out, Some(&hand_on), meter)
    }

    fn stats(&self, counts: &Counts, (tiles, bytes): (u64, u64), mut done: Done) -> Stats {
        let computed = summary::computed(&self.asked.stages, self.asked.target, &counts.elements);
        done.add(Done { windows: self.whole.windows.to_vec(), computed });
        Stats {
            windows: done.windows,
            tiles: Tiles {
                computed: counts.made,
                freed: counts.freed,
                live_peak: counts.tiles_peak,
                live_peak_planned: tiles,
                live_end: counts.made - counts.freed,
            },
            bytes: Bytes {
                peak: counts.bytes_peak,
                peak_planned: bytes,
                output: self.bytes,
                kept: self.common.spare.bytes(),
            },
            threads: self.job.limits.threads as u64,
            engine: "jit",
            vector_bits: counts.vector_bits,
            elements: self.bytes / self.job.view.element.bytes(),
            computed: done.computed,
            formats: summary::formats(&self.whole.division, &self.job.world, &counts.stored),
            ..Stats::default()
        }
    }
}

/// The two halves of a box along its first dimension that has any, in row-major order.
fn halves(region: &Region) -> Option<[Region; 2]> {
    let len = |range: &Interval| range.len().unwrap_or(i64::MAX);
    let dim = region.iter().position(|range| len(range) > 1)?;
    let (first, last) = (region[dim].first(), region[dim].last());
    let middle = first + len(&region[dim]) / 2;
    let half = |range: Interval| {
        let mut half = region.clone();
        half[dim] = range;
        half
    };
    Some([half(Interval::trusted(first, middle - 1)), half(Interval::trusted(middle, last))])
}

/// How a result can be handed on.
enum Way {
    Whole,
    Slabs(Cutting),
    Steps(Slot),
}

/// The way of a result whose elements have so many bytes.
fn ways(division: &Division, region: &Region, element: u64) -> Way {
    let bytes = volume(region).saturating_mul(element.into());
    if bytes <= SLAB.into() || division.groups.len() > 1 && bytes <= PIECE.into() {
        return Way::Whole;
    }
    let slabs = || Way::Slabs(Cutting::new(region, element, SLAB));
    steps(division, element).map_or_else(slabs, Way::Steps)
}

/// The slab in the middle of a result that is handed on in slabs.
pub(super) fn middle_slab(division: &Division, region: &Region, element: u64) -> Option<Region> {
    match ways(division, region, element) {
        Way::Whole | Way::Steps(_) => None,
        Way::Slabs(cutting) => {
            let samples = cutting.samples();
            samples.get(samples.len() / 2).cloned()
        }
    }
}

/// Where the last steps of a result lie that is a recurrence with its steps outermost, made in one go.
fn steps(division: &Division, element: u64) -> Option<Slot> {
    let group = division.groups.last()?;
    let outermost = recurrence(&division.stages, group.target)?.dim == 0;
    let region = group.grid.region.clone();
    let ring = Some(Ring { dim: 0, rows: 1 }).filter(|_| region.len() > 1);
    let slot = Slot { region, ring, spare: 0 };
    let fits = ring.is_some() && step_bytes(&slot, element) <= PIECE;
    (outermost && fits && group.grid.count() == 1).then_some(slot)
}
