//! Stages -> groups: what is computed together, tile by tile.
//!
//! ```text
//! a -> b -> c -> output        one group: a task makes one tile of the output, with rows of a, b, c of its own
//! a -> sum of all of a         two groups: tiles of a are shared by the tasks that read them
//! ```
//!
//! A stage is private to the group that reads it, unless several do, or tasks would compute too much of it again.

use super::blocking::set_passes;
use super::cells::bands_from;
use super::grid::{Grid, volume};
use super::inline::weight;
use super::needs::{Motion, closed_form, needed};
use super::passes::Passes;
use super::recurrence::{Steps, recurrence, steps};
use super::stages::Stages;
use super::stop::Stop;
use super::taller::in_tall_tiles;
use crate::access::exact::NEAR;
use crate::access::footprint::{Region, footprint, include, intersection};
use crate::access::order::loop_order;
use crate::access::skip::List;
use crate::graph::TensorKind;
use crate::graph::body::TensorId;
use crate::graph::view::dimension_name;
use crate::index::Interval;
use std::collections::{BTreeMap, BTreeSet};

/// Stages that are computed together.
#[derive(Clone, Debug)]
pub struct Group {
    /// What its tasks make.
    pub target: TensorId,
    /// One task per tile.
    pub grid: Grid,
    /// Everything else that its tasks hold, sources first.
    pub members: Vec<Member>,
    /// Where each of them stands.
    pub places: BTreeMap<TensorId, usize>,
    /// The dimension of the target along which a task goes in bands.
    pub stream: Option<usize>,
    /// Coordinates per band: of a recurrence, steps per pass.
    pub band: i64,
    /// The coordinate, modulo the band, at which bands begin; at the first one of a task if there is none.
    pub from: Option<i64>,
    /// How a recurrence goes over its steps.
    pub passes: Option<Passes>,
    /// Why it is not part of the group that reads it; empty for what is asked for.
    pub why: &'static str,
    /// Lists of what is stored that tasks may make of their sources in formats.
    pub lists: BTreeSet<List>,
}

/// A stage inside a group.
#[derive(Clone, Debug)]
pub struct Member {
    /// Which.
    pub tensor: TensorId,
    /// Where its elements come from.
    pub role: Role,
    /// The dimension along which it is brought up to date band by band; without one it is made whole at the start.
    pub stream: Option<usize>,
    /// How each of its dimensions follows those of the target.
    pub motion: Vec<Motion>,
    /// Who reads it inside the group: a member, or the target after the last of them.
    pub readers: Vec<usize>,
}

/// Where the elements of a member come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Its kernel.
    Compute,
    /// Tiles that another group makes.
    Gather(usize),
    /// A variable: its value, and what was written.
    Fill,
    /// An input, which is in memory.
    Resident,
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Of which stage.
    pub target: TensorId,
    /// Which box.
    pub region: Region,
    /// Workers.
    pub threads: usize,
    /// A tile shape over the last dimensions, instead of the planner's.
    pub tile: Option<Vec<i64>>,
    /// Ends the planning.
    pub stop: Stop,
}

/// Boxes that a request needs, by tensor.
pub type Needed = BTreeMap<TensorId, Region>;

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// The request cannot be planned, in words.
    Cannot(String),
    /// Nobody wants it any more.
    Stopped,
}

/// The stages that `target` needs, sources first, itself last.
pub fn order(stages: &Stages, target: TensorId) -> Vec<TensorId> {
    let mut order = Vec::new();
    let mut seen = BTreeSet::from([target]);
    let mut stack = vec![(target, 0)];
    while let Some((id, next)) = stack.pop() {
        match stages.needs[id.index()].sources.get(next) {
            None => order.push(id),
            Some(need) => {
                stack.push((id, next + 1));
                if seen.insert(need.source) {
                    stack.push((need.source, 0));
                }
            }
        }
    }
    order
}

/// The box of every stage that a request needs, exactly.
pub fn needed_boxes(stages: &Stages, request: &Request) -> Result<Needed, PlanError> {
    asked_inside(stages, request)?;
    let mut boxes = Needed::from([(request.target, request.region.clone())]);
    for id in order(stages, request.target).into_iter().rev() {
        request.stop.check()?;
        let Some(region) = boxes.get(&id).cloned().filter(|region| volume(region) > 0) else { continue };
        let tensor = stages.tensor(id);
        let work = work_box(stages, id, &region);
        if work.iter().any(|range| !range.is_bounded()) {
            let why = match recurrence(stages, id) {
                Some(_) => "each step back needs more of it",
                None => "where it is read has no bounds inside the index space",
            };
            return Err(PlanError::Cannot(format!(
                "`{}` would have to be computed without end: {why}",
                tensor.name
            )));
        }
        windows_fit(stages, id, &work)?;
        let found = match stages.hosts.contains_key(&id) {
            true => needed(stages, id, &stages.needs[id.index()], &work),
            false => footprint(tensor, &work).map_err(|overflow| {
                PlanError::Cannot(format!(
                    "a window of `{}` would reach {}, which is no coordinate",
                    tensor.name, overflow.value
                ))
            })?,
        };
        still_inside(stages, id, &work, &found)?;
        for (source, found) in found {
            if source == id || found.iter().any(|range| range.is_empty()) {
                continue;
            }
            include(&mut boxes, source, found);
        }
    }
    Ok(boxes)
}

/// What a body reads is proven for its own domain: outside, its kernel would read memory that is not there.
fn asked_inside(stages: &Stages, request: &Request) -> Result<(), PlanError> {
    let tensor = stages.tensor(request.target);
    let mut dims = tensor.domain.dims().iter().zip(tensor.readable()).zip(&request.region);
    match dims.find(|((_, has), asked)| !asked.is_empty() && !has.contains_interval(**asked)) {
        None => Ok(()),
        Some(((dim, has), asked)) => {
            let (name, along) = (&tensor.name, dimension_name(dim));
            Err(PlanError::Cannot(format!("{asked} of `{name}` is asked for along {along}, which has {has}")))
        }
    }
}

/// Reads are proven for near coordinates; farther out, arithmetic may wrap and lead anywhere.
fn still_inside(stages: &Stages, id: TensorId, work: &[Interval], found: &Needed) -> Result<(), PlanError> {
    let near = Interval::new(-NEAR, NEAR).unwrap_or(Interval::all());
    if work.iter().all(|range| near.contains_interval(*range)) {
        return Ok(());
    }
    for (source, needed) in found {
        let (tensor, name) = (stages.tensor(*source), &stages.tensor(id).name);
        let mut dims = tensor.domain.dims().iter().zip(tensor.readable()).zip(needed);
        if let Some(((dim, has), needed)) = dims.find(|((_, has), needed)| !has.contains_interval(**needed)) {
            return Err(PlanError::Cannot(format!(
                "`{name}` would read {needed} of `{}` along {}, which has {has}: its arithmetic wraps this far out",
                tensor.name,
                dimension_name(dim)
            )));
        }
    }
    Ok(())
}

/// Every window that a box touches must have all of its coordinates.
fn windows_fit(stages: &Stages, id: TensorId, region: &[Interval]) -> Result<(), PlanError> {
    let tensor = stages.tensor(id);
    for before in stages.joined.get(&id).into_iter().flatten() {
        let blended = footprint(before, region).into_iter().flatten();
        let mut blended = blended.filter(|(source, _)| stages.overlapping.contains(source));
        blended.try_for_each(|(source, region)| windows_fit(stages, source, &region))?;
    }
    let windowed = match &tensor.kind {
        TensorKind::Windowed(windowed) => &**windowed,
        TensorKind::Input(_) | TensorKind::Var(_) | TensorKind::Pointwise(_) => {
            let Some(windowed) = stages.seamless.get(&id) else { return Ok(()) };
            &**windowed
        }
    };
    let leaves = |dim: usize, value: i128| {
        PlanError::Cannot(format!(
            "a window of `{}` would reach {value} along dimension {dim}, which is no coordinate",
            tensor.name
        ))
    };
    for (dim, window) in windowed.windows.dims.iter().enumerate() {
        let touching = window.touching(region[dim]).map_err(|overflow| leaves(dim, overflow.value))?;
        let inside = window
            .inside(tensor.domain.dims()[dim].interval)
            .map_err(|overflow| leaves(dim, overflow.value))?;
        let numbers = touching.intersect(inside);
        if !numbers.is_empty() {
            window.hull(numbers).map_err(|overflow| leaves(dim, overflow.value))?;
        }
    }
    Ok(())
}

/// What has to be computed of a stage so that a box of it is there: for a recurrence, all steps before.
pub fn work_box(stages: &Stages, id: TensorId, region: &[Interval]) -> Region {
    steps_of(stages, id, region).map_or_else(|| region.to_vec(), |steps| steps.hull())
}

/// The steps of a recurrence that a box needs.
pub fn steps_of(stages: &Stages, id: TensorId, region: &[Interval]) -> Option<Steps> {
    let recurrence = recurrence(stages, id)?;
    let own = stages.needs[id.index()].own.as_ref()?;
    Some(steps(stages, id, own, recurrence.dim, region))
}

/// Splits what a request needs into groups, sources first; the last one makes what is asked for.
pub fn groups(stages: &Stages, request: &Request, boxes: &Needed) -> Result<Vec<Group>, PlanError> {
    let grid = super::shape::grid(stages, request, request.target, &boxes[&request.target]);
    let usual = groups_in(stages, request, boxes, grid)?;
    in_tall_tiles(stages, request, boxes, usual, |grid| groups_in(stages, request, boxes, grid))
}

/// The same, with tiles for what is asked for.
fn groups_in(
    stages: &Stages,
    request: &Request,
    boxes: &Needed,
    grid: Grid,
) -> Result<Vec<Group>, PlanError> {
    let order = order(stages, request.target);
    let mut former = Former {
        stages,
        request,
        boxes,
        groups: Vec::new(),
        home: BTreeMap::new(),
        read_in: BTreeMap::new(),
        samples: Vec::new(),
        weights: Vec::new(),
        measured: measured(stages, boxes),
    };
    former.open(request.target, grid, "");
    for id in order.iter().rev().skip(1).filter(|id| boxes.contains_key(id)) {
        request.stop.check()?;
        former.place(*id);
    }
    former.finish(&order)
}

struct Former<'s> {
    stages: &'s Stages,
    request: &'s Request,
    boxes: &'s Needed,
    /// The last one first.
    groups: Vec<Group>,
    /// The group that computes a stage.
    home: BTreeMap<TensorId, usize>,
    /// The groups that read a stage.
    read_in: BTreeMap<TensorId, BTreeSet<usize>>,
    /// Per group: what a tile in the middle needs.
    samples: Vec<Needed>,
    /// Per group: the reads that an element of its target takes.
    weights: Vec<u128>,
    /// Stages that have to be there as a whole before readers know whether they go along stored elements.
    measured: BTreeSet<TensorId>,
}

/// Work that may be done again before a stage is shared: this many times what is needed, in percent.
const MOST_AGAIN: u128 = 150;
/// Why a stage is shared of which more would be done again.
pub(super) const AGAIN: &str = "tiles would compute much of it again";

impl Former<'_> {
    /// A new group for a stage.
    fn open(&mut self, target: TensorId, grid: Grid, why: &'static str) {
        let sample = grid.tile(&grid.middle());
        let sample = work_box(self.stages, target, &sample);
        let group = self.groups.len();
        self.samples.push(BTreeMap::from([(target, sample)]));
        self.weights.push(weight(self.stages, target));
        let (members, places) = (Vec::new(), BTreeMap::new());
        self.groups.push(Group {
            target,
            grid,
            members,
            places,
            stream: None,
            band: 1,
            from: None,
            passes: None,
            why,
            lists: BTreeSet::new(),
        });
        self.settle(target, group);
    }

    /// A group computes a stage, and so a task in the middle of it needs what the stage does.
    fn settle(&mut self, id: TensorId, group: usize) {
        self.home.insert(id, group);
        let needs = &self.stages.needs[id.index()];
        for need in &needs.sources {
            self.read_in.entry(need.source).or_default().insert(group);
        }
        let Some(region) = self.samples[group].get(&id) else { return };
        for (source, found) in needed(self.stages, id, needs, region) {
            let Some(all) = self.boxes.get(&source) else { continue };
            include(&mut self.samples[group], source, intersection(&found, all));
        }
    }

    /// Finds the group of a stage, all of whose readers have theirs.
    fn place(&mut self, id: TensorId) {
        let groups = self.read_in.remove(&id).unwrap_or_default();
        if self.stages.is_data(id) {
            return;
        }
        match self.why_shared(id, &groups) {
            Some(why) => {
                let grid = super::shape::grid(self.stages, self.request, id, &self.boxes[&id]);
                self.open(id, grid, why);
            }
            None => self.settle(id, *groups.first().expect("a stage that is needed has readers")),
        }
    }

    fn why_shared(&self, id: TensorId, groups: &BTreeSet<usize>) -> Option<&'static str> {
        if self.stages.hosts.contains_key(&id) {
            return Some("a host function makes it window by window");
        }
        if recurrence(self.stages, id).is_some() {
            return Some("it is computed step by step");
        }
        if self.stages.tensor(id).format.is_some() {
            return Some("it is kept in a format");
        }
        if self.measured.contains(&id) {
            return Some("beside it only stored elements are read, if it is finite");
        }
        let [group] = groups.iter().copied().collect::<Vec<_>>()[..] else {
            return Some("several groups read it");
        };
        let grid = &self.groups[group].grid;
        let sample = self.samples[group].get(&id)?;
        let (own, all) = (volume(sample), volume(&self.boxes[&id]));
        let again = own.saturating_mul(grid.count()) > all.saturating_mul(MOST_AGAIN) / 100;
        let work = own.saturating_mul(weight(self.stages, id));
        let small = work <= grid.largest().saturating_mul(self.weights[group]) / 8;
        (again && !small).then_some(AGAIN)
    }

    /// Turns the groups round, and lists who is in which.
    fn finish(mut self, order: &[TensorId]) -> Result<Vec<Group>, PlanError> {
        let last = self.groups.len() - 1;
        let home: BTreeMap<TensorId, usize> =
            self.home.iter().map(|(id, group)| (*id, last - group)).collect();
        self.groups.reverse();
        let targets: BTreeMap<TensorId, usize> =
            self.groups.iter().enumerate().map(|(at, group)| (group.target, at)).collect();
        let ranks: BTreeMap<TensorId, usize> =
            order.iter().enumerate().map(|(rank, id)| (*id, rank)).collect();
        let mut computed: Vec<Vec<TensorId>> = vec![Vec::new(); self.groups.len()];
        for id in order {
            home.get(id).into_iter().for_each(|at| computed[*at].push(*id));
        }
        for (group, computed) in self.groups.iter_mut().zip(&computed) {
            self.request.stop.check()?;
            list_members(self.stages, self.boxes, &ranks, &targets, computed, group);
            group.lists = computed.iter().flat_map(|id| lists(self.stages, *id)).collect();
            set_streams(self.stages, self.request, group, self.boxes);
            set_passes(self.stages, self.request, group, self.boxes);
        }
        Ok(self.groups)
    }
}

/// Computed stages whose elements decide whether readers may go along stored elements.
fn measured(stages: &Stages, boxes: &Needed) -> BTreeSet<TensorId> {
    let formats = stages.graph.tensors.iter().any(|tensor| tensor.format.is_some());
    let readers = boxes.keys().filter(|_| formats);
    let asked = readers.flat_map(|id| stages.skip(*id).map(|skip| skip.asks()).unwrap_or_default());
    asked.filter(|id| !stages.is_data(*id)).collect()
}

/// What a stage goes along of its sources in formats.
fn lists(stages: &Stages, id: TensorId) -> Vec<List> {
    stages.skip(id).map(|skip| skip.lists()).unwrap_or_default()
}

/// Everything that the computed stages of a group, its target among them, read, and they themselves, sources first.
fn list_members(
    stages: &Stages,
    boxes: &Needed,
    ranks: &BTreeMap<TensorId, usize>,
    targets: &BTreeMap<TensorId, usize>,
    computed: &[TensorId],
    group: &mut Group,
) {
    let sources = |id: &TensorId| stages.needs[id.index()].sources.iter().map(|need| need.source);
    let read = computed.iter().flat_map(sources);
    let inside = read.chain(computed.iter().copied().filter(|id| *id != group.target));
    let inside: BTreeSet<(usize, TensorId)> =
        inside.filter(|id| boxes.contains_key(id)).map(|id| (ranks[&id], id)).collect();
    group.places = inside.iter().enumerate().map(|(place, (_, id))| (*id, place)).collect();
    let own: BTreeSet<TensorId> = computed.iter().copied().collect();
    for (_, id) in inside {
        let role = match (own.contains(&id), targets.get(&id)) {
            (true, _) => Role::Compute,
            (false, Some(other)) => Role::Gather(*other),
            (false, None) => match stages.tensor(id).kind {
                TensorKind::Var(_) => Role::Fill,
                TensorKind::Input(_) | TensorKind::Pointwise(_) | TensorKind::Windowed(_) => Role::Resident,
            },
        };
        let (stream, motion, readers) = (None, Vec::new(), Vec::new());
        group.members.push(Member { tensor: id, role, stream, motion, readers });
    }
    // The target stands after the last of its members.
    for reader in computed {
        let place = group.places.get(reader).copied().unwrap_or(group.members.len());
        for source in sources(reader) {
            let Some(at) = group.places.get(&source) else { continue };
            group.members[*at].readers.push(place);
        }
    }
}

/// The dimension of the loop around rows, or around channels that are made together.
fn around_rows(stages: &Stages, target: TensorId) -> Option<usize> {
    let rank = stages.tensor(target).domain.rank();
    let order = loop_order(&stages.accesses[target.index()], &stages.tensor(target).domain.intervals());
    match order.beside {
        Some(_) => rank.checked_sub(3).map(|place| order.dims[place]),
        None => rank.checked_sub(2),
    }
}

/// Decides along which dimension every member streams, readers first.
fn set_streams(stages: &Stages, request: &Request, group: &mut Group, boxes: &Needed) {
    let time = recurrence(stages, group.target).map(|recurrence| recurrence.dim);
    group.stream = time.or_else(|| around_rows(stages, group.target));
    let host = stages.hosts.contains_key(&group.target);
    if host {
        group.stream = None;
    }
    for at in (0..group.members.len()).rev() {
        let (motion, stream) = follow(stages, group, at);
        group.members[at].motion = motion;
        group.members[at].stream = stream;
    }
    let streams = group.members.iter().any(|member| member.stream.is_some());
    match (time, streams) {
        (Some(_), _) => group.band = 1,
        (None, false) => group.band = i64::MAX,
        (None, true) => {
            super::shape::set_band(stages, request, group, boxes);
            group.from = bands_from(stages, group, boxes);
        }
    }
}

/// How a member follows the target, and the dimension along which it can follow the bands.
fn follow(stages: &Stages, group: &Group, at: usize) -> (Vec<Motion>, Option<usize>) {
    let member = &group.members[at];
    let rank = stages.tensor(member.tensor).domain.rank();
    let mut motion: Option<Vec<Motion>> = None;
    let mut streams: Vec<Option<usize>> = Vec::new();
    for reader in &member.readers {
        let (id, reader_motion, reader_stream) = match group.members.get(*reader) {
            Some(member) => (member.tensor, member.motion.clone(), member.stream),
            None => (group.target, identity(stages.tensor(group.target).domain.rank()), group.stream),
        };
        let Some(need) = stages.needs[id.index()].of(member.tensor) else { continue };
        let own: Vec<Motion> = need.dims.iter().map(|dim| through(dim.motion, &reader_motion)).collect();
        motion = Some(match motion {
            None => own,
            Some(known) => {
                known.into_iter().zip(own).map(|(a, b)| if a == b { a } else { Motion::Free }).collect()
            }
        });
        let along: Vec<(usize, bool)> = (0..rank)
            .filter_map(|dim| match need.dims[dim].motion {
                Motion::With { dim: with, up } if Some(with) == reader_stream => Some((dim, up)),
                Motion::Still | Motion::With { .. } | Motion::Free => None,
            })
            .collect();
        let free = need.is_free();
        streams.push(match along[..] {
            [(dim, true)] if dim + 1 < rank && !free => Some(dim),
            _ => None,
        });
    }
    let stream =
        streams.first().copied().flatten().filter(|first| streams.iter().all(|own| *own == Some(*first)));
    let stream = stream.filter(|_| member.role != Role::Resident);
    (motion.unwrap_or_else(|| vec![Motion::Still; rank]), stream)
}

fn identity(rank: usize) -> Vec<Motion> {
    (0..rank).map(|dim| Motion::With { dim, up: true }).collect()
}

fn through(own: Motion, reader: &[Motion]) -> Motion {
    match own {
        Motion::Still | Motion::Free => own,
        Motion::With { dim, up } => match reader[dim] {
            Motion::With { dim, up: outer } => Motion::With { dim, up: up == outer },
            other @ (Motion::Still | Motion::Free) => other,
        },
    }
}

/// What a task needs of every member; `None` where it needs nothing.
pub fn task_regions(
    stages: &Stages,
    group: &Group,
    boxes: &Needed,
    work: &[Interval],
) -> Vec<Option<Region>> {
    let mut regions: Vec<Option<Region>> = vec![None; group.members.len()];
    let readers = (0..group.members.len()).rev().filter(|at| group.members[*at].role == Role::Compute);
    for reader in std::iter::once(None).chain(readers.map(Some)) {
        let (id, region) = match reader {
            None => (group.target, Some(work.to_vec())),
            Some(at) => (group.members[at].tensor, regions[at].clone()),
        };
        let Some(region) = region else { continue };
        for (source, found) in needed(stages, id, &stages.needs[id.index()], &region) {
            let Some(at) = group.places.get(&source).copied() else { continue };
            let found = intersection(&found, &boxes[&source]);
            if found.iter().any(|range| range.is_empty()) {
                continue;
            }
            regions[at] = Some(match regions[at].take() {
                None => found,
                Some(hull) => hull.iter().zip(&found).map(|(a, b)| a.hull(*b)).collect(),
            });
        }
    }
    regions
}

/// What a task may need of every member, each dimension for itself: never less than [`task_regions`], and each
/// dimension follows one dimension of the task, or none.
pub fn task_ranges(stages: &Stages, group: &Group, boxes: &Needed, work: &[Interval]) -> Vec<Region> {
    let empty = |member: &Member| vec![Interval::EMPTY; stages.tensor(member.tensor).domain.rank()];
    let mut ranges: Vec<Region> = group.members.iter().map(empty).collect();
    let readers = (0..group.members.len()).rev().filter(|at| group.members[*at].role == Role::Compute);
    for reader in std::iter::once(None).chain(readers.map(Some)) {
        let (id, region) = match reader {
            None => (group.target, work.to_vec()),
            Some(at) => (group.members[at].tensor, ranges[at].clone()),
        };
        for need in &stages.needs[id.index()].sources {
            let Some(at) = group.places.get(&need.source).copied() else { continue };
            let found = closed_form(stages, id, need, &region);
            let motion = &group.members[at].motion;
            // What moves in no such way is what any task may need.
            let free = motion.contains(&Motion::Free);
            let whole = || if id == group.target { &group.grid.region } else { &boxes[&id] };
            let any = free.then(|| closed_form(stages, id, need, &work_box(stages, id, whole())));
            for (dim, known) in ranges[at].iter_mut().enumerate() {
                let own = any.as_ref().filter(|_| motion[dim] == Motion::Free).unwrap_or(&found)[dim];
                let own = own.intersect(boxes[&need.source][dim]);
                *known = if own.is_empty() { *known } else { known.hull(own) };
            }
        }
    }
    ranges
}
