//! Which tiles a task reads, and which tasks read a tile.
//!
//! ```text
//! tasks of 10 rows read a[y - 1 .. y + 1], tiles of a have 4 rows      task 0: tiles 0 to 2     tile 2: tasks 0 and 1
//! ```
//!
//! [`gathers`](super::gathers) has the tables. A shared tile that nobody reads is never made, and reads nothing: whether a reader is made
//! is asked from the result backwards, once per tile.

use super::bands::widest_task;
use super::fuse::operations;
use super::gathers::{Gather, gathers};
use super::grid::volume;
use super::group::{Group, Needed, PlanError, Role, task_ranges, task_regions, work_box};
use super::peak::{Effort, held_bytes};
use super::stages::Stages;
use super::stop::Stop;
use crate::access::footprint::Region;
pub use crate::index::walk::each;
use std::collections::HashMap;
use std::sync::Arc;

/// A request, divided up: who computes what.
#[derive(Debug)]
pub struct Division {
    /// Of the script, and the view that is asked for.
    pub stages: Arc<Stages>,
    /// What is needed of every stage.
    pub boxes: Needed,
    /// Sources first; the last one makes what is asked for.
    pub groups: Vec<Group>,
    /// Ends the planning.
    pub stop: Stop,
}

/// A tile: which group makes it, and its number.
pub type TileId = (usize, Vec<i64>);

/// The same by its place in row-major order.
pub type Place = (usize, u128);

/// Tasks that are looked at for what all of them take: both ends of each dimension, and between at so many equal parts.
const PLACES: i64 = 4;

impl Division {
    /// Tiles of all groups.
    pub fn tiles(&self) -> u128 {
        self.groups.iter().map(|group| group.grid.count()).fold(0, u128::saturating_add)
    }

    /// What the task of a tile may need of every member of its group, each dimension for itself.
    pub fn ranges(&self, group: usize, number: &[i64]) -> Vec<Region> {
        let group = &self.groups[group];
        let work = work_box(&self.stages, group.target, &group.grid.tile(number));
        task_ranges(&self.stages, group, &self.boxes, &work)
    }

    /// Operations of all tasks, and elements that they copy from tiles of other groups, if some of them are like the
    /// others.
    pub fn cost(&self) -> u128 {
        self.groups.iter().map(|group| self.cost_of(group)).fold(0, u128::saturating_add)
    }

    fn cost_of(&self, group: &Group) -> u128 {
        let mut elements = vec![0u128; group.members.len()];
        let (mut seen, all) = (0u128, volume(&group.grid.region));
        for tile in places(group) {
            seen = seen.saturating_add(volume(&tile));
            let work = work_box(&self.stages, group.target, &tile);
            let regions = task_regions(&self.stages, group, &self.boxes, &work);
            let each = elements.iter_mut().zip(&regions);
            each.for_each(|(all, own)| *all = all.saturating_add(own.as_ref().map_or(0, |own| volume(own))));
        }
        let own = volume(&work_box(&self.stages, group.target, &self.boxes[&group.target]));
        let own = own.saturating_mul(operations(&self.stages, group.target));
        let members = group.members.iter().zip(elements).map(|(member, some)| {
            let elements = of_all(some, seen, all);
            match member.role {
                Role::Gather(_) | Role::Fill => elements,
                Role::Compute => elements.saturating_mul(operations(&self.stages, member.tensor)),
                Role::Resident => 0,
            }
        });
        members.fold(own, u128::saturating_add)
    }

    /// The most bytes that a plan counts for a task besides tiles where it takes each dimension of what that reads for
    /// itself, as it does where there are too many tasks to look at.
    pub fn widest(&self) -> u128 {
        let many = self.groups.iter().filter(|group| group.grid.count() > Effort::USUAL.looked_at);
        let tasks = many.flat_map(|group| places(group).map(move |tile| (group, tile)));
        let bytes = tasks.map(|(group, tile)| {
            held_bytes(self, group, &widest_task(&self.stages, group, &self.boxes, tile))
        });
        bytes.max().unwrap_or(0).into()
    }

    /// The number of a tile.
    pub fn tile(&self, (group, place): Place) -> TileId {
        (group, self.groups[group].grid.number(place))
    }
}

/// Tiles of tasks that stand for all: each end of a dimension beside other places of the next, which may have little at
/// its own ends.
fn places(group: &Group) -> impl Iterator<Item = Region> {
    (0..=PLACES).map(|at| {
        let place = |dim: usize| at * (dim as i64 % PLACES + 1) % (PLACES + 1);
        group.grid.tile(&group.grid.along(place, PLACES))
    })
}

/// What all elements take if `seen` of them take `some`. Tiles at an end may be slivers: they count for as much as they are.
pub fn of_all(some: u128, seen: u128, all: u128) -> u128 {
    let seen = seen.max(1);
    some.saturating_mul(all / seen).saturating_add(some.saturating_mul(all % seen) / seen)
}

/// Answers questions about who reads what.
#[derive(Debug)]
pub struct Readers {
    gathers: Vec<Gather>,
    /// By group, those of its tasks.
    reads: Vec<Vec<usize>>,
    /// By group, those that hold its tiles.
    read_by: Vec<Vec<usize>>,
    /// How many tasks read a tile, where that was asked.
    counts: HashMap<Place, u64>,
    /// Looks at who may read a tile, so far.
    looks: u64,
    depth: Depth,
}

/// How far it is gone into who reads what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth {
    /// Numbers along a dimension that are listed, at the most; beyond that, tasks that read a tile are neighbours.
    pub listed: u128,
    /// Readers of a tile that are looked at one by one, at the most; beyond that, all are made.
    pub asked: u128,
}

impl Depth {
    /// For a run, which goes through all of it.
    pub const RUN: Depth = Depth { listed: 1 << 20, asked: u128::MAX };
    /// For a look at the first tasks of a request, however large it is.
    pub const LOOK: Depth = Depth { listed: 1 << 12, asked: 1 << 12 };
}

impl Readers {
    /// For a request.
    pub fn new(division: &Division, depth: Depth, stop: &Stop) -> Result<Self, PlanError> {
        let groups = division.groups.len();
        let mut all = Readers {
            gathers: Vec::new(),
            reads: vec![Vec::new(); groups],
            read_by: vec![Vec::new(); groups],
            counts: HashMap::new(),
            looks: 0,
            depth,
        };
        for reader in 0..groups {
            for gather in gathers(division, reader, depth, stop)? {
                all.reads[reader].push(all.gathers.len());
                all.read_by[gather.source].push(all.gathers.len());
                all.gathers.push(gather);
            }
        }
        Ok(all)
    }

    /// The tiles of other groups that a task holds while it runs, once per member that reads them.
    pub fn sources(&self, division: &Division, (group, place): Place) -> Vec<Place> {
        let mut tiles = Vec::new();
        if self.reads[group].is_empty() {
            return tiles;
        }
        let number = division.groups[group].grid.number(place);
        for gather in self.reads[group].iter().map(|at| &self.gathers[*at]) {
            let grid = &division.groups[gather.source].grid;
            let region = gather.read_by_task(division, place, &number);
            each(&region, |tile| tiles.push((gather.source, grid.place(tile))));
        }
        tiles
    }

    /// How many tasks read a tile.
    pub fn count(&mut self, division: &Division, tile: Place) -> u64 {
        let mut stack = vec![tile];
        while let Some(next) = stack.last().copied() {
            let mut unknown = Vec::new();
            let count = match self.counts.get(&next) {
                Some(_) => None,
                None => Some(self.counted(division, next, &mut unknown)),
            };
            self.looks += 1;
            if unknown.is_empty() {
                stack.pop();
                count.map(|count| self.counts.insert(next, count));
            }
            stack.extend(unknown);
        }
        self.counts[&tile]
    }

    /// Looks at who may read a tile, so far: a measure of the work that went into it.
    pub fn looks(&self) -> u64 {
        self.looks
    }

    /// A tile is made: nobody will ask about it again.
    pub fn forget(&mut self, tile: Place) {
        self.counts.remove(&tile);
    }

    /// The readers of a tile, as far as it is known which of them are made; the others are listed.
    fn counted(&self, division: &Division, (group, place): Place, unknown: &mut Vec<Place>) -> u64 {
        let number = division.groups[group].grid.number(place);
        let mut count = 0u64;
        for gather in self.of(group) {
            let Some(tasks) = gather.readers(division, &number) else { continue };
            let all = tasks.count();
            if gather.reader + 1 == division.groups.len() || all > self.depth.asked {
                count = count.saturating_add(u64::try_from(all).unwrap_or(u64::MAX));
                continue;
            }
            tasks.each(&division.groups[gather.reader].grid, |task| {
                match self.counts.get(&(gather.reader, task)) {
                    Some(readers) => count += u64::from(*readers > 0),
                    None => unknown.push((gather.reader, task)),
                }
            });
        }
        count
    }

    /// Bytes of the tables, but for small ones.
    pub fn bytes(&self) -> u64 {
        self.gathers.iter().map(Gather::counted_bytes).fold(0, u64::saturating_add)
    }

    /// Bytes of the tables of a run, if these were made for a plan; `is_even` says of a group that its needs move evenly.
    pub(super) fn bytes_of_run(&self, division: &Division, is_even: impl Fn(usize) -> bool) -> u64 {
        let bytes = self.gathers.iter().map(|gather| gather.bytes_of_run(division, is_even(gather.reader)));
        bytes.fold(0, u64::saturating_add)
    }

    /// What holds the tiles of a group.
    pub(super) fn of(&self, source: usize) -> impl Iterator<Item = &Gather> {
        self.read_by[source].iter().map(|at| &self.gathers[*at])
    }
}
