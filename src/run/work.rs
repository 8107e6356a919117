//! One task, done: members brought up to date band by band, then the target.

use super::data::Measure;
use super::inputs::{InputData, Loaded};
use super::job::{Control, HostCall, World, call_host};
use super::kernels::Kernel;
use super::ledger::Ledger;
use super::memory::{Buffer, Memory, Place, copy, expand, meet};
use super::meter::Meter;
use super::spare::{Scratch, Spare};
use super::sparse::Listed;
use super::stage::Ready;
use super::summary::thaws;
use super::vars::Vars;
use crate::access::footprint::Region;
use crate::diagnostic::{Code, Diagnostic, Result, quoted};
use crate::faults;
use crate::formats::Frozen;
use crate::graph::body::TensorId;
use crate::index::Interval;
use crate::io::Array;
use crate::loops::lower::{BufferBox, BufferDim};
use crate::plan::bands::{Band, Bands, Slot, Task, task};
use crate::plan::grid::volume;
use crate::plan::group::{Group, Role};
use crate::plan::peak::held_bytes;
use crate::plan::readers::Division;
use crate::plan::reuse::buffers;
use crate::seeded::{self, Bug};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// What every task of a run sees.
pub struct Work<'r> {
    /// What is computed by whom.
    pub division: &'r Division,
    /// The code of every computed stage.
    pub kernels: &'r BTreeMap<TensorId, Arc<Kernel>>,
    /// Memory that workers take, and give back.
    pub spare: &'r Spare,
    /// Boxes of inputs that are not in memory as a whole.
    pub loaded: &'r Loaded,
    /// Inputs and host functions.
    pub world: &'r World,
    /// What was written into variables.
    pub vars: &'r Vars,
    /// To be stopped.
    pub control: &'r Control<'r>,
    /// What is held.
    pub ledger: &'r Ledger,
    /// Workers that may share a task.
    pub threads: usize,
    /// Bytes that may be held.
    pub memory: Option<u64>,
    /// Where inputs in formats lie.
    pub corners: &'r BTreeMap<TensorId, Region>,
    /// Told what is done.
    pub meter: &'r Meter<'r>,
    /// Told when a step of a recurrence is in the result, before a later one is.
    pub stepped: Option<&'r Stepped<'r>>,
}

/// Told about the box of a step.
pub type Stepped<'r> = dyn Fn(&Region) -> Result<()> + Sync + 'r;

/// Elements that tasks share once they are complete.
#[derive(Debug)]
pub struct Tile {
    /// Which.
    pub region: Region,
    /// The elements.
    pub content: Content,
    /// What they are like, once someone has asked.
    pub(super) measure: OnceLock<Measure>,
}

/// How the elements of a tile lie in memory.
#[derive(Debug)]
pub enum Content {
    /// Without gaps.
    Dense(Buffer),
    /// In the format of the tensor; never more bytes than dense.
    Frozen(Frozen),
}

impl Tile {
    /// The dense elements, if they are.
    fn dense(&self) -> Option<&Buffer> {
        match &self.content {
            Content::Dense(buffer) => Some(buffer),
            Content::Frozen(_) => None,
        }
    }
}

/// The tiles that a task reads, by the group that made them.
pub type Sources = BTreeMap<usize, Vec<Arc<Tile>>>;

/// A task that is being done: whose, what it reads, and where that lies.
pub(super) struct Desk<'d> {
    pub(super) group: &'d Group,
    pub(super) task: &'d Task,
    pub(super) tiles: &'d Sources,
    pub(super) held: &'d Held<'d>,
}

/// Where the members of a task lie.
pub(super) struct Held<'m> {
    pub(super) places: Vec<Option<Place<'m>>>,
    /// Members that lie in one tile and are read where they are.
    in_tile: Vec<bool>,
    /// What is stored of members in formats.
    pub(super) listed: &'m Listed<'m>,
    /// The steps of a recurrence.
    pub(super) own: Option<Place<'m>>,
    /// For sources of which nothing is needed.
    pub(super) nothing: Memory<'m>,
}

impl Slot {
    /// Where its elements lie in its memory.
    pub(super) fn layout(&self) -> BufferBox {
        let shape = self.room();
        let mut pitch = 1;
        let mut dims: Vec<BufferDim> = Vec::with_capacity(shape.len());
        for (dim, range) in self.region.iter().enumerate().rev() {
            let mask = self.ring.filter(|ring| ring.dim == dim).map_or(-1, |ring| ring.rows - 1);
            dims.push(BufferDim { origin: range.first(), end: range.last() + 1, mask, pitch });
            pitch *= shape[dim];
        }
        dims.reverse();
        BufferBox { dims }
    }
}

impl<'r> Work<'r> {
    /// Computes a tile into `out`, from the tiles of other groups.
    pub fn task(
        &self,
        group: usize,
        number: &[i64],
        tiles: &Sources,
        scratch: &mut Scratch,
        out: &Place<'_>,
    ) -> Result<()> {
        let listed = &self.division.groups[group];
        let tile = listed.grid.tile(number);
        let task = task(&self.division.stages, listed, &self.division.boxes, tile);
        let bytes = held_bytes(self.division, listed, &task);
        let _held = self.ledger.holding(bytes);
        assert!(!faults::strikes(faults::Place::Worker), "it was to fail on demand");
        let elements =
            task.steps.as_ref().map_or_else(|| volume(&task.tile), |(steps, _)| volume(&steps.hull()));
        let mut done = || {
            self.on_memory(listed, &task, tiles, scratch, |desk| match &task.steps {
                _ if self.division.stages.hosts.contains_key(&listed.target) => {
                    self.host_task(desk, number, out)
                }
                Some(_) => self.steps(desk, out),
                None => self.bands(desk, out),
            })
        };
        match self.kernels.get(&listed.target) {
            Some(kernel) => kernel.pace.task(elements, done),
            None => done(),
        }
    }

    /// Does a task with memory for everything that it reads.
    fn on_memory(
        &self,
        group: &Group,
        task: &Task,
        tiles: &Sources,
        scratch: &mut Scratch,
        job: impl FnOnce(&Desk<'_>) -> Result<()>,
    ) -> Result<()> {
        let nothing = Buffer::new(16)?;
        // Steps and host functions read formats as if they were dense.
        let walks = task.steps.is_none() && !self.division.stages.hosts.contains_key(&group.target);
        let listed = if walks { self.listed(group, task, tiles) } else { Listed::default() };
        let held = self.held(group, task, tiles, &listed, scratch, nothing.memory())?;
        job(&Desk { group, task, tiles, held: &held })
    }

    fn bands(&self, desk: &Desk<'_>, out: &Place<'_>) -> Result<()> {
        let Desk { group, task, held, .. } = *desk;
        let (mut members, mut target) =
            (self.ready_members(group, held), self.ready(group, group.target, held, out));
        let mut bands = Bands::new(&self.division.stages, group, task);
        while let Some(band) = bands.advance() {
            self.control.check()?;
            self.members(desk, band, &mut members)?;
            self.stage(&mut target, &band.target)?;
            self.meter.add(volume(&band.target) as u64);
        }
        Ok(())
    }

    /// Memory for every member of a task.
    pub(super) fn held<'m>(
        &self,
        group: &Group,
        task: &Task,
        tiles: &'m Sources,
        listed: &'m Listed<'m>,
        scratch: &'m mut Scratch,
        nothing: Memory<'m>,
    ) -> Result<Held<'m>>
    where
        'r: 'm,
    {
        let stages = &self.division.stages;
        let bytes = |id: TensorId| stages.tensor(id).element.bytes() as usize;
        let tile = |at: usize| match (group.members[at].role, &task.slots[at]) {
            (Role::Gather(other), Some(slot)) => whole(tiles.get(&other), &slot.region),
            _ => None,
        };
        let dense = |at: usize| listed.is_dense(group.members[at].tensor);
        let put = |at: usize| tile(at).is_none() && dense(at);
        let buffers = buffers(stages, group, task);
        scratch.buffers.resize_with(buffers.count() + 1, Buffer::default);
        let steps = buffers.count();
        for (buffer, memory) in scratch.buffers[..steps].iter_mut().enumerate() {
            memory.resize(buffers.bytes(buffer, put))?;
        }
        if let Some((_, slot)) = &task.steps {
            scratch.buffers[steps].resize(slot.elements().saturating_mul(bytes(group.target) as u128))?;
        }
        let memory: Vec<Memory<'m>> = scratch.buffers.iter_mut().map(Buffer::memory_mut).collect();
        let place = |slot: &Slot, buffer: usize, id: TensorId| Place {
            memory: memory[buffer],
            layout: slot.layout(),
            bytes: bytes(id),
        };
        let own = task.steps.as_ref().map(|(_, slot)| place(slot, steps, group.target));
        let places = group.members.iter().enumerate().map(|(at, member)| {
            let slot = task.slots[at].as_ref().filter(|_| dense(at))?;
            Some(match (tile(at), buffers.of[at]) {
                (Some((tile, buffer)), _) => {
                    Ok(Place::dense(buffer.memory(), &tile.region, bytes(member.tensor)))
                }
                (None, Some(buffer)) => Ok(place(slot, buffer, member.tensor)),
                (None, None) => self.resident(member.tensor),
            })
        });
        let places = places.map(Option::transpose).collect::<Result<_>>()?;
        let in_tile = (0..group.members.len()).map(|at| !put(at));
        Ok(Held { places, in_tile: in_tile.collect(), listed, own, nothing })
    }

    fn resident(&self, input: TensorId) -> Result<Place<'r>> {
        let tensor = self.division.stages.tensor(input);
        let bytes = tensor.element.bytes() as usize;
        if let Some((region, data)) = self.loaded.get(&input) {
            return Ok(Place::dense(Memory::of(data), region, bytes));
        }
        let InputData::Whole(data) = &self.world.inputs[&input] else {
            unreachable!("what is not in memory was loaded before the first task");
        };
        let array: &'r Array = data.array(|more| self.may_thaw(input, more))?;
        let region: Region = tensor.domain.dims().iter().map(|dim| dim.interval).collect();
        Ok(Place::dense(Memory::of(&array.data), &region, bytes))
    }

    /// Takes note of an input that has to be thawed, unless the plan has: something infinite or too small came to where
    /// stored elements were to be gone along.
    fn may_thaw(&self, input: TensorId, bytes: u64) -> Result<()> {
        if thaws(self.division, self.world, input) {
            return Ok(());
        }
        let limit = self.memory.unwrap_or(u64::MAX);
        let needed = self.ledger.held().saturating_add(bytes);
        if needed > limit {
            let name = quoted(&self.division.stages.tensor(input).name);
            let message = format!("all of {name} needs {needed} bytes, but the limit is {limit}");
            return Diagnostic::new(Code::E1005, message)
                .help("what it is multiplied by holds infinity, NaN or tiny numbers; read less, or raise `--memory`")
                .err();
        }
        self.ledger.thaw(bytes);
        Ok(())
    }

    /// Brings members up to what a band needs.
    fn members(&self, desk: &Desk<'_>, band: &Band, ready: &mut [Option<Ready<'_>>]) -> Result<()> {
        for (at, region) in band.members().enumerate() {
            if let Some(region) = region {
                self.member(desk, at, region, ready[at].as_mut())?;
            }
        }
        Ok(())
    }

    /// Makes a box of a member.
    pub(super) fn member(
        &self,
        desk: &Desk<'_>,
        at: usize,
        region: &Region,
        ready: Option<&mut Ready<'_>>,
    ) -> Result<()> {
        let Desk { group, tiles, held, .. } = *desk;
        let member = &group.members[at];
        let Some(place) = &held.places[at] else { return Ok(()) };
        match member.role {
            Role::Resident => {}
            Role::Fill => {
                let stages = &self.division.stages;
                self.vars.read(&stages.graph, stages.original(member.tensor), region, place);
            }
            Role::Gather(_) if held.in_tile[at] => {}
            Role::Gather(other) => gather(tiles.get(&other), region, place),
            Role::Compute => return ready.map_or(Ok(()), |ready| self.stage(ready, region)),
        }
        Ok(())
    }

    /// Calls a host function for one window.
    fn host_task(&self, desk: &Desk<'_>, number: &[i64], out: &Place<'_>) -> Result<()> {
        let Desk { group, task, held, .. } = *desk;
        let stages = &self.division.stages;
        let (host, tile) = (&stages.hosts[&group.target], &task.tile);
        let mut ready = self.ready_members(group, held);
        let mut bands = Bands::new(stages, group, task);
        while let Some(band) = bands.advance() {
            self.members(desk, band, &mut ready)?;
        }
        let takes = host.takes.iter().map(|take| {
            let tensor = stages.tensor(*take);
            let at = group.places.get(take).copied();
            let region =
                at.and_then(|at| task.slots[at].as_ref()).map(|slot| slot.region.clone()).unwrap_or_default();
            let shape: Vec<i64> =
                region[host.numbers.min(region.len())..].iter().map(|r| r.len().unwrap_or(0)).collect();
            let bytes = tensor.element.bytes() as usize;
            let mut data = vec![0; volume(&region) as usize * bytes];
            if let Some(from) = at.and_then(|at| held.places[at].as_ref()) {
                copy(from, &Place::dense(Memory::of_mut(&mut data), &region, bytes), &region);
            }
            Array { element: tensor.element, shape, data }
        });
        let takes: Vec<Array> = takes.collect();
        let owner = stages.tensor(host.owner);
        let size: Vec<i64> = tile[host.numbers..].iter().map(|range| range.len().unwrap_or(0)).collect();
        let called = HostCall {
            name: &host.function,
            tensor: &owner.name,
            window: &number[..host.numbers],
            takes: &takes,
            element: owner.element,
            size: &size,
        };
        let array = call_host(&*self.world.hosts[&host.function], &called)?;
        self.ledger.computed(group.target, volume(tile));
        copy(&Place::dense(Memory::of(&array.data), tile, out.bytes), out, tile);
        self.meter.add(volume(tile) as u64);
        Ok(())
    }
}

/// The one dense tile that holds a whole box.
fn whole<'t>(tiles: Option<&'t Vec<Arc<Tile>>>, region: &[Interval]) -> Option<(&'t Tile, &'t Buffer)> {
    let holds =
        |tile: &&Arc<Tile>| tile.region.iter().zip(region).all(|(all, part)| all.contains_interval(*part));
    let tile = tiles?.iter().find(holds)?;
    Some((tile, tile.dense()?))
}

/// Copies a box together from tiles.
fn gather(tiles: Option<&Vec<Arc<Tile>>>, region: &Region, to: &Place<'_>) {
    let most = if seeded::active(Bug::OneTileOnly) { 1 } else { usize::MAX };
    for tile in tiles.into_iter().flatten().take(most) {
        if let Some(part) = meet(&tile.region, region) {
            match &tile.content {
                Content::Dense(buffer) => {
                    copy(&Place::dense(buffer.memory(), &tile.region, to.bytes), to, &part);
                }
                Content::Frozen(frozen) => expand(frozen, &tile.region, to, &part),
            }
        }
    }
}
