//! A division -> what people and tools are told about it before it runs.

use super::data::Measure;
use super::inputs::{InputData, resident};
use super::job::World;
use super::sparse::hold;
use super::stats::{Plan, Ring, Stored, Windows, add_count, add_windows};
use crate::access::footprint::Region;
use crate::access::skip::{List, Needs, Skip};
use crate::graph::TensorKind;
use crate::graph::body::TensorId;
use crate::graph::weights::operations;
use crate::plan::bands::{Task, task};
use crate::plan::grid::volume;
use crate::plan::group::{Group, Role, work_box};
use crate::plan::peak::Peak;
use crate::plan::readers::Division;
use crate::plan::stages::Stages;
use crate::plan::windows::{numbers, with_fused};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What was computed, by tensor of the script.
#[derive(Default)]
pub struct Done {
    /// Windows.
    pub windows: Vec<(Arc<str>, Windows)>,
    /// Elements.
    pub computed: Vec<(Arc<str>, u64)>,
}

impl Done {
    /// This, and more.
    pub fn add(&mut self, more: Done) {
        more.windows.iter().for_each(|(name, own)| add_windows(&mut self.windows, name, *own));
        more.computed.iter().for_each(|(name, own)| add_count(&mut self.computed, name, *own));
    }
}

/// What was computed for a `set`, which counted these elements; those that it writes are none.
pub fn done(division: &Division, set: TensorId, elements: &[u64]) -> Done {
    let mut elements = elements.to_vec();
    elements[set.index()] = 0;
    Done { windows: touched(division), computed: computed(&division.stages, set, &elements) }
}

/// The numbers of a plan: `slab` is the first of several pieces or all of it, `output` the bytes of that piece, `inputs`
/// those of inputs.
pub fn plan(
    division: &Division,
    slab: &Division,
    tiles: u128,
    held: Peak,
    (output, inputs): (u64, u64),
) -> Plan {
    let middles: Vec<Task> = slab.groups.iter().map(|group| middle(slab, group)).collect();
    let mut lines = notes(slab, &middles, inputs);
    let (part, all) = (slab.groups.last(), division.groups.last());
    if let (Some(part), Some(all)) = (part, all)
        && part.grid.region != all.grid.region
    {
        let shape: Vec<String> =
            part.grid.region.iter().map(|range| range.len().unwrap_or(0).to_string()).collect();
        lines.insert(0, format!("in slabs of {}, each with", shape.join("×")));
    }
    Plan {
        windows: touched(division),
        tiles: u64::try_from(tiles).unwrap_or(u64::MAX),
        live_peak: held.tiles,
        bytes_peak: held.bytes().saturating_add(output).saturating_add(inputs),
        bytes_compiling: bytes_compiling(division),
        elements: elements(division),
        recompute_factor: recompute(slab, &middles) * again(division, slab),
        kernels: kernels(division),
        rings: rings(slab),
        notes: lines,
    }
}

fn middle(division: &Division, group: &Group) -> Task {
    task(&division.stages, group, &division.boxes, group.grid.tile(&group.grid.middle()))
}

/// Elements that are needed of everything that is computed.
fn elements(division: &Division) -> u64 {
    let computed = division.boxes.iter().filter(|(id, _)| {
        matches!(division.stages.tensor(**id).kind, TensorKind::Pointwise(_) | TensorKind::Windowed(_))
    });
    let elements = computed.map(|(id, region)| volume(&work_box(&division.stages, *id, region)));
    elements.fold(0, u128::saturating_add).min(u64::MAX.into()) as u64
}

/// Bytes of inputs, which are in memory before the run.
///
/// Those in formats are listed by row, once for all along each dimension, or by each of `threads` workers.
pub fn inputs(division: &Division, world: &World, threads: usize) -> u64 {
    let bytes = resident(world, division).map(|id| {
        let tensor = division.stages.tensor(id);
        let elements = tensor.domain.shape().map_or(0, |shape| shape.iter().product::<i64>());
        let dense = (elements as u64).saturating_mul(tensor.element.bytes());
        let Some(data) = world.inputs.get(&id).and_then(InputData::whole) else { return dense };
        let Some(frozen) = data.as_frozen() else { return dense };
        let thawed = if data.dense().is_some() || thaws(division, world, id) { dense } else { 0 };
        let listed = data.listing().saturating_mul(threads.max(tensor.domain.rank() + 1) as u64);
        frozen.bytes().saturating_add(thawed).saturating_add(listed)
    });
    bytes.fold(0, u64::saturating_add)
}

/// Whether something that reads an input in a format looks at every element, so that it is thawed.
///
/// What hangs on data that is still to be computed is taken to be as walks need it.
pub(super) fn thaws(division: &Division, world: &World, input: TensorId) -> bool {
    let stages = &division.stages;
    let reads = |id: &&TensorId| stages.needs[id.index()].sources.iter().any(|need| need.source == input);
    !division.boxes.keys().filter(reads).all(|reader| {
        let skip = stages.skip(*reader);
        let walks = skip.as_ref().and_then(Skip::walks).filter(|walks| !walks.is_dense(input));
        let mut needs = walks.into_iter().flat_map(|walks| &walks.walks).flat_map(|walk| &walk.needs);
        let there = |list: &List| world.inputs.contains_key(&list.tensor) || is_made(division, list.tensor);
        walks.is_some_and(|walks| walks.lists.iter().all(there))
            && needs.all(|needs| hold(needs, |tensor| known(division, world, needs, tensor)))
    })
}

/// What the elements of a source are like, as far as that is known before the run.
fn known(division: &Division, world: &World, needs: &Needs, tensor: TensorId) -> Option<Measure> {
    match world.inputs.get(&tensor) {
        Some(data) if needs.stored == Some(tensor) => data.stored(),
        Some(data) => data.measure(),
        None => is_made(division, tensor).then_some(Measure::NOTHING),
    }
}

/// Whether a tensor is made before what reads it: of one that nobody needs there are no lists to go along.
fn is_made(division: &Division, tensor: TensorId) -> bool {
    division.groups.iter().any(|group| group.target == tensor)
}

/// What formats make of tensors: tiles that were frozen, and inputs.
pub fn formats(division: &Division, world: &World, counts: &[(u64, u64)]) -> Vec<Stored> {
    let mut list = Vec::new();
    for (id, (dense, bytes)) in counts.iter().enumerate().map(|(at, count)| (TensorId(at as u32), *count)) {
        let tensor = division.stages.tensor(id);
        let Some(format) = &tensor.format else { continue };
        let (dense, bytes) = match world.inputs.get(&id).and_then(InputData::as_frozen) {
            Some(frozen) if division.boxes.contains_key(&id) => (frozen.dense_bytes(), frozen.bytes()),
            Some(_) | None => (dense, bytes),
        };
        if dense > 0 {
            let tensor = tensor.name.clone();
            list.push(Stored { tensor, format: format.to_string(), bytes, dense });
        }
    }
    list
}

/// Windows that the result touches, by tensor of the script; those of copies of a stage are added up.
pub fn touched(division: &Division) -> Vec<(Arc<str>, Windows)> {
    let mut counts = Vec::new();
    let boxes = division.boxes.iter().map(|(id, region)| (*id, region.clone()));
    for (id, region) in &with_fused(division, boxes) {
        let Some(all) = window_count(division, *id, region) else { continue };
        let inside = division.groups.iter().find_map(|group| {
            let member = group.members.iter().position(|member| member.tensor == *id)?;
            Some(in_tasks(division, group, member, all))
        });
        let computed = inside.unwrap_or(all).min(u64::MAX.into()) as u64;
        add_windows(&mut counts, &division.stages.tensor(*id).name, Windows { computed, reused: 0 });
    }
    let own = |name: Arc<str>| name.strip_suffix(".sum").map_or(name.clone(), Arc::from);
    counts.into_iter().map(|(name, windows)| (own(name), windows)).collect()
}

/// Tasks that are gone through one by one; of more, all are taken to be like the one in the middle.
const MOST_TASKS: u128 = 1 << 10;

/// Windows that tasks compute themselves of one member: far fewer than `all` if what they read lies far apart.
fn in_tasks(division: &Division, group: &Group, member: usize, all: u128) -> u128 {
    let id = group.members[member].tensor;
    let count = |task: &Task| {
        let slot = task.slots[member].as_ref();
        slot.and_then(|slot| window_count(division, id, &slot.region)).unwrap_or(0)
    };
    let tiles = group.grid.count();
    let about = count(&middle(division, group)).saturating_mul(tiles);
    if about.saturating_mul(2) > all || tiles > MOST_TASKS && about == 0 {
        return all;
    }
    if tiles > MOST_TASKS {
        return about;
    }
    let tasks = (0..tiles).map(|place| group.grid.tile(&group.grid.number(place)));
    tasks.map(|tile| count(&task(&division.stages, group, &division.boxes, tile))).sum::<u128>().min(all)
}

/// How many windows touch a box of a tensor that has windows.
fn window_count(division: &Division, id: TensorId, region: &Region) -> Option<u128> {
    Some(volume(&numbers(&division.stages, id, region)?))
}

/// Elements that stages of the script and samples of them computed, copies of a stage together; `counts` are by id. A
/// target that is a view has none.
pub fn computed(stages: &Stages, target: TensorId, counts: &[u64]) -> Vec<(Arc<str>, u64)> {
    let mut list = Vec::new();
    let all = stages.graph.tensors.iter().zip(counts).enumerate();
    let view = target.index() >= stages.kept && stages.original(target) == target;
    let own = all.filter(|(at, _)| !view || *at != target.index());
    for (_, (tensor, count)) in own.filter(|(_, (_, count))| **count > 0) {
        add_count(&mut list, &tensor.name, *count);
    }
    list
}

fn kernels(division: &Division) -> u64 {
    let members = division.groups.iter().flat_map(|group| &group.members);
    let computed = members.filter(|member| member.role == Role::Compute).count();
    let hosts =
        division.groups.iter().filter(|group| division.stages.hosts.contains_key(&group.target)).count();
    (computed + division.groups.len() - hosts) as u64
}

/// Bytes that the code of a few small kernels takes while it is made, and the compiler for it.
const COMPILER: u64 = 16 << 20;
/// Bytes that a kernel takes per operation while it is compiled: up to two thirds of this for sums of some 20 kinds of terms, each as
/// long as it may be (2026-11-19, 128 and 512 bits).
const COMPILED: u64 = 1_500;
/// Bytes per operation that are left of it.
const CODE: u64 = 200;

/// What compiling takes, at the most: kernels are compiled one after the other.
fn bytes_compiling(division: &Division) -> u64 {
    let math = &division.stages.graph.math;
    let operations = |id: TensorId| -> u64 {
        let bodies = division.stages.tensor(id).bodies();
        let all =
            bodies.iter().map(|resolved| operations(&resolved.body, |call| Some(math.get(call)?.0.len())));
        all.sum::<usize>() as u64
    };
    let members = division.groups.iter().flat_map(|group| group.members.iter().map(|member| member.tensor));
    let all: BTreeSet<TensorId> = members.chain(division.groups.iter().map(|group| group.target)).collect();
    let all: Vec<u64> = all.into_iter().map(operations).collect();
    match all.iter().max() {
        Some(most) => COMPILER + COMPILED * most + CODE * all.iter().sum::<u64>(),
        None => 0,
    }
}

/// How often slabs need what they share with their neighbours.
fn again(division: &Division, slab: &Division) -> f64 {
    let asked =
        |division: &Division| division.groups.last().map_or(1.0, |group| volume(&group.grid.region) as f64);
    let needed =
        |division: &Division| division.boxes.values().map(|region| volume(region) as f64).sum::<f64>();
    let slabs = asked(division) / asked(slab).max(1.0);
    (needed(slab) * slabs / needed(division).max(1.0)).max(1.0)
}

/// Elements computed per element needed, judged by the tasks in the middle.
fn recompute(division: &Division, middles: &[Task]) -> f64 {
    let (mut made, mut needed) = (0.0, 0.0);
    for (group, task) in division.groups.iter().zip(middles) {
        let tasks = group.grid.count() as f64;
        let own = task
            .steps
            .as_ref()
            .map_or_else(|| volume(&task.tile) as f64, |(steps, _)| volume(&steps.hull()) as f64);
        made += own * tasks;
        needed += volume(&work_box(&division.stages, group.target, &division.boxes[&group.target])) as f64;
        for (member, slot) in group.members.iter().zip(&task.slots) {
            if let (Role::Compute, Some(slot)) = (member.role, slot) {
                made += volume(&slot.region) as f64 * tasks;
                needed += volume(&division.boxes[&member.tensor]) as f64;
            }
        }
    }
    if needed > 0.0 { (made / needed).max(1.0) } else { 1.0 }
}

fn rings(division: &Division) -> Vec<Ring> {
    let mut rings = Vec::new();
    for group in &division.groups {
        let task = middle(division, group);
        let own = task.steps.iter().map(|(_, slot)| (group.target, slot, "steps"));
        let members = group.members.iter().zip(&task.slots);
        let members = members.filter_map(|(member, slot)| Some((member.tensor, slot.as_ref()?, "rows")));
        for (id, slot, what) in own.chain(members) {
            let Some(ring) = slot.ring else { continue };
            let tensor = division.stages.tensor(id);
            let bytes = slot.elements().saturating_mul(tensor.element.bytes().into());
            let bytes = bytes.min(u64::MAX.into()) as u64;
            rings.push(Ring { tensor: tensor.name.clone(), rows: ring.rows as u64, what, bytes });
        }
    }
    rings
}

/// `1 tile`, `3 tiles of 256×2048`
fn counted(count: u128, shape: &str) -> String {
    let of = if shape.is_empty() { String::new() } else { format!(" of {shape}") };
    format!("{count} {}{of}", if count == 1 { "tile" } else { "tiles" })
}

fn notes(division: &Division, middles: &[Task], inputs: u64) -> Vec<String> {
    let mut notes = Vec::new();
    for (group, task) in division.groups.iter().zip(middles) {
        let name = |id: TensorId| division.stages.tensor(id).name.clone();
        let shape: Vec<String> = group.grid.shape.iter().map(i64::to_string).collect();
        let tiles = counted(group.grid.count(), &shape.join("×"));
        let shared = if group.why.is_empty() { String::new() } else { format!(", shared: {}", group.why) };
        notes.push(format!("{}: {tiles}{shared}", name(group.target)));
        notes.extend(group.passes.iter().map(|passes| format!("  {passes}")));
        for (member, slot) in group.members.iter().zip(&task.slots) {
            let Some(slot) = slot else { continue };
            let held = match (member.role, slot.ring) {
                (Role::Resident, _) => "in memory".to_owned(),
                (Role::Gather(_), _) => "from its tiles".to_owned(),
                (Role::Fill, _) => "variable".to_owned(),
                (Role::Compute, Some(ring)) => format!("ring of {} rows", ring.rows),
                (Role::Compute, None) => {
                    let shape: Vec<String> = slot.shape().iter().map(i64::to_string).collect();
                    if shape.is_empty() {
                        "one element".to_owned()
                    } else {
                        format!("whole box of {}", shape.join("×"))
                    }
                }
            };
            notes.push(format!("  reads {}: {held}", name(member.tensor)));
        }
        let computed = group.members.iter().filter(|member| member.role == Role::Compute);
        for id in computed.map(|member| member.tensor).chain([group.target]) {
            for fused in division.stages.fused.get(&id).into_iter().flatten() {
                let shifts = match fused.shifts {
                    0 => String::new(),
                    shifts => format!(" and {shifts} shifted along the row"),
                };
                notes.push(format!(
                    "  {} computes {} itself: {} elements for {}{shifts}, {} operations each; costs {}, keeping it {}",
                    name(id),
                    name(fused.source),
                    fused.times,
                    fused.group,
                    fused.work,
                    fused.costs[0],
                    fused.costs[1]
                ));
            }
        }
    }
    if inputs > 0 {
        notes.push(format!("inputs in memory: {inputs} bytes"));
    }
    notes
}
