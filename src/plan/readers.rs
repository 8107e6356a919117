//! Which tasks read a tile: from what a task needs, turned round.
//!
//! ```text
//! tasks of 10 rows read a[y - 1 .. y + 1], tiles of a have 4 rows      tile 2 (8..12): tasks 0 and 1
//! ```
//!
//! What a task needs moves one way with its number, so the tasks that read a tile are neighbours, found by bisection.

use super::group::{Group, Needed, Role, task_ranges, work_box};
use super::needs::Motion;
use super::stages::Stages;
use crate::access::footprint::Region;
use crate::index::Interval;
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
}

/// A tile: which group makes it, and its number.
pub type TileId = (usize, Vec<i64>);

/// Answers questions about readers, and remembers the answers.
#[derive(Debug, Default)]
pub struct Readers {
    tasks: HashMap<(usize, usize, usize, i64), Interval>,
}

/// Grids up to this length are searched one by one.
const FEW: i64 = 32;

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

    /// The tiles of other groups that a task holds while it runs.
    pub fn sources(&self, group: usize, number: &[i64]) -> Vec<TileId> {
        let members = &self.groups[group].members;
        if !members.iter().any(|member| matches!(member.role, Role::Gather(_))) {
            return Vec::new();
        }
        let ranges = self.ranges(group, number);
        let mut tiles = Vec::new();
        for (member, ranges) in members.iter().zip(&ranges) {
            let Role::Gather(other) = member.role else { continue };
            let numbers =
                ranges.iter().enumerate().map(|(dim, range)| self.groups[other].grid.meeting(dim, *range));
            each(&numbers.collect::<Region>(), |tile| tiles.push((other, tile.to_vec())));
        }
        tiles
    }
}

impl Readers {
    /// How many tasks read a tile.
    pub fn count(&mut self, division: &Division, (group, number): &TileId) -> u64 {
        let mut count = 0u64;
        for reader in group + 1..division.groups.len() {
            for (at, member) in division.groups[reader].members.iter().enumerate() {
                if member.role == Role::Gather(*group) {
                    let tasks = self.tasks(division, reader, at, number);
                    count =
                        count.saturating_add(tasks.map_or(0, |tasks| self.made(division, reader, &tasks)));
                }
            }
        }
        count
    }

    /// The tasks of a group that read a tile through one member, if there are any.
    fn tasks(&mut self, division: &Division, reader: usize, member: usize, number: &[i64]) -> Option<Region> {
        let group = &division.groups[reader];
        let mut tasks: Region = group.grid.numbers.clone();
        for (dim, at) in number.iter().enumerate() {
            let motion = group.members[member].motion[dim];
            let own = match motion {
                Motion::Free => continue,
                Motion::Still | Motion::With { .. } => self.along(division, reader, member, dim, *at),
            };
            match motion {
                Motion::With { dim, .. } => tasks[dim] = tasks[dim].intersect(own),
                Motion::Still | Motion::Free if own.is_empty() => return None,
                Motion::Still | Motion::Free => {}
            }
        }
        Some(tasks)
    }

    /// Of those, how many there are: a shared tile that nobody reads is never made, and reads nothing.
    fn made(&mut self, division: &Division, reader: usize, tasks: &Region) -> u64 {
        let count = super::grid::volume(tasks).min(u64::MAX.into()) as u64;
        let last = reader + 1 == division.groups.len();
        if last || count > 4096 {
            return count;
        }
        let mut made = 0;
        each(tasks, |task| {
            if self.count(division, &(reader, task.to_vec())) > 0 {
                made += 1;
            }
        });
        made
    }

    /// The numbers of the tasks, along the dimension that moves what they need, whose need meets tile `at`.
    fn along(&mut self, division: &Division, reader: usize, member: usize, dim: usize, at: i64) -> Interval {
        let key = (reader, member, dim, at);
        if let Some(known) = self.tasks.get(&key) {
            return *known;
        }
        let group = &division.groups[reader];
        let found = match group.members[member].motion[dim] {
            Motion::With { dim: with, up } => {
                let numbers = group.grid.numbers[with];
                let span = |number: i64| spanned(division, reader, member, dim, Some((with, number)));
                bisect(numbers, up, at, &span)
            }
            Motion::Still | Motion::Free => {
                let span = spanned(division, reader, member, dim, None);
                if span.contains(at) { Interval::trusted(0, 0) } else { Interval::EMPTY }
            }
        };
        self.tasks.insert(key, found);
        found
    }
}

/// The tiles along `dim` that a task needs; `place` sets one of its numbers, the others are the first.
fn spanned(
    division: &Division,
    reader: usize,
    member: usize,
    dim: usize,
    place: Option<(usize, i64)>,
) -> Interval {
    let group = &division.groups[reader];
    let mut number: Vec<i64> = group.grid.numbers.iter().map(|numbers| numbers.first()).collect();
    if let Some((with, at)) = place {
        number[with] = at;
    }
    let Role::Gather(other) = group.members[member].role else { return Interval::EMPTY };
    let ranges = division.ranges(reader, &number);
    division.groups[other].grid.meeting(dim, ranges[member][dim])
}

/// The numbers whose span holds `at`; spans move one way.
fn bisect(numbers: Interval, up: bool, at: i64, span: &dyn Fn(i64) -> Interval) -> Interval {
    let (first, last) = (numbers.first(), numbers.last());
    let len = last - first + 1;
    let number = |place: i64| if up { first + place } else { last - place };
    let (start, end) = if len <= FEW {
        let holds = |place: &i64| span(number(*place)).contains(at);
        let start = (0..len).find(holds).unwrap_or(len);
        let end = (0..len).rev().find(holds).map_or(start, |place| place + 1);
        (start, end)
    } else {
        let start = partition(len, |place| span(number(place)).last() < at);
        let end = partition(len, |place| span(number(place)).first() <= at);
        (start, end)
    };
    match start < end {
        false => Interval::EMPTY,
        true if up => Interval::trusted(number(start), number(end - 1)),
        true => Interval::trusted(number(end - 1), number(start)),
    }
}

/// The first place where `before` is false; it is true before some place and false after.
fn partition(len: i64, before: impl Fn(i64) -> bool) -> i64 {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}
