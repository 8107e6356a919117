//! The tiles of other groups that the tasks of a group hold, member by member: tables both ways.
//!
//! ```text
//! tasks of 10 rows read a[y - 1 .. y + 1], tiles of a have 4 rows      by task: 0..=2, 2..=5, …      by tile: 0, 0, 0..=1, …
//! ```
//!
//! What a task needs along one dimension of a source follows one of the task's own numbers, so that there are two tables
//! per dimension.

use super::grid::Grid;
use super::group::{PlanError, Role};
use super::needs::Motion;
use super::readers::{Depth, Division, each};
use super::recurrence::recurrence;
use super::stop::Stop;
use crate::access::footprint::Region;
use crate::index::Interval;

/// The tiles of another group that the tasks of a group hold, through one member.
#[derive(Debug)]
pub(super) struct Gather {
    /// The group whose tasks read.
    pub(super) reader: usize,
    /// Through which of its members.
    pub(super) member: usize,
    /// The group whose tiles they are.
    pub(super) source: usize,
    tiles: Tiles,
}

#[derive(Debug)]
enum Tiles {
    /// Each dimension of the source for itself.
    Along(Vec<Along>),
    /// By task, for a recurrence that is cut: all its steps follow from all numbers of a task.
    Each(Vec<Region>),
}

/// The tiles along one dimension of a source.
#[derive(Debug)]
enum Along {
    /// Every task reads the same.
    Same(Interval),
    /// By the number of the task along `with`; and by tile the numbers that read it, in runs.
    Listed { with: usize, spans: Vec<Interval>, numbers: Vec<Vec<Interval>> },
    /// There are too many to list them. They move one way, so that neighbours read a tile.
    Moves { with: usize, up: bool },
}

/// Tasks of a group.
pub(super) enum Tasks {
    /// Per dimension of their numbers, in runs.
    Runs(Vec<Vec<Interval>>),
    /// By their places.
    Places(Vec<u128>),
}

/// What the tasks of a group hold of others.
pub(super) fn gathers(
    division: &Division,
    reader: usize,
    depth: Depth,
    stop: &Stop,
) -> Result<Vec<Gather>, PlanError> {
    let group = &division.groups[reader];
    let mut gathers = Vec::new();
    for (member, listed) in group.members.iter().enumerate() {
        if let Role::Gather(source) = listed.role {
            gathers.push(Gather { reader, member, source, tiles: Tiles::Along(Vec::new()) });
        }
    }
    let count = group.grid.count();
    if gathers.is_empty() || count == 0 {
        return Ok(gathers);
    }
    let cut = recurrence(&division.stages, group.target).is_some() && count > 1;
    if cut && count <= depth.listed {
        let ranges: Vec<Vec<Region>> =
            (0..count).map(|place| division.ranges(reader, &group.grid.number(place))).collect();
        for gather in &mut gathers {
            let grid = &division.groups[gather.source].grid;
            let tiles = ranges.iter().map(|ranges| meeting(grid, &ranges[gather.member]));
            gather.tiles = Tiles::Each(tiles.collect());
        }
    } else {
        follow(division, reader, depth, &mut gathers);
        list(division, reader, stop, &mut gathers)?;
    }
    Ok(gathers)
}

/// Finds out what each dimension follows.
fn follow(division: &Division, reader: usize, depth: Depth, gathers: &mut [Gather]) {
    let group = &division.groups[reader];
    let first: Vec<i64> = group.grid.numbers.iter().map(|numbers| numbers.first()).collect();
    let few = |numbers: Interval| numbers.len().unwrap_or(i64::MAX) as u128 <= depth.listed;
    let start = division.ranges(reader, &first);
    for gather in gathers {
        let grid = &division.groups[gather.source].grid;
        let motion = group.members[gather.member].motion.iter().enumerate();
        let dims = motion.map(|(dim, motion)| match *motion {
            Motion::Still | Motion::Free => Along::Same(grid.meeting(dim, start[gather.member][dim])),
            Motion::With { dim: with, .. } if few(group.grid.numbers[with]) && few(grid.numbers[dim]) => {
                Along::Listed { with, spans: Vec::new(), numbers: Vec::new() }
            }
            Motion::With { dim: with, up } => Along::Moves { with, up },
        });
        gather.tiles = Tiles::Along(dims.collect());
    }
}

/// Fills in the lists.
fn list(division: &Division, reader: usize, stop: &Stop, gathers: &mut [Gather]) -> Result<(), PlanError> {
    let group = &division.groups[reader];
    for (with, numbers) in group.grid.numbers.iter().enumerate() {
        if !gathers.iter_mut().any(|gather| gather.listed(with).next().is_some()) {
            continue;
        }
        let mut at: Vec<i64> = group.grid.numbers.iter().map(|numbers| numbers.first()).collect();
        for number in numbers.first()..=numbers.last() {
            stop.check()?;
            at[with] = number;
            let ranges = division.ranges(reader, &at);
            for gather in &mut *gathers {
                let (grid, own) = (&division.groups[gather.source].grid, &ranges[gather.member]);
                gather.listed(with).for_each(|(dim, spans, _)| spans.push(grid.meeting(dim, own[dim])));
            }
        }
        for gather in &mut *gathers {
            let grid = &division.groups[gather.source].grid;
            let turn = |(dim, spans, turned): (usize, &mut Vec<Interval>, &mut Vec<Vec<Interval>>)| {
                *turned = turned_round(numbers.first(), spans, grid.numbers[dim]);
            };
            gather.listed(with).for_each(turn);
        }
    }
    Ok(())
}

/// For each of `tiles` the numbers whose span holds it, in runs; `spans` are those of `first` and the numbers after it.
fn turned_round(first: i64, spans: &[Interval], tiles: Interval) -> Vec<Vec<Interval>> {
    let mut runs: Vec<Vec<Interval>> = vec![Vec::new(); tiles.len().unwrap_or(0) as usize];
    let mut starts = vec![first; runs.len()];
    let mut before = Interval::EMPTY;
    for (number, span) in (first..).zip(spans.iter().copied().chain([Interval::EMPTY])) {
        for tile in without(span, before) {
            starts[(tile - tiles.first()) as usize] = number;
        }
        for tile in without(before, span) {
            let at = (tile - tiles.first()) as usize;
            runs[at].push(Interval::trusted(starts[at], number - 1));
        }
        before = span;
    }
    runs
}

/// What is in one range and not in the other.
fn without(all: Interval, other: Interval) -> impl Iterator<Item = i64> {
    let both = all.intersect(other);
    let (below, above) = match (all.is_empty(), both.is_empty()) {
        (true, _) => (0..0, 0..0),
        (false, true) => (all.first()..all.last() + 1, 0..0),
        (false, false) => (all.first()..both.first(), both.last() + 1..all.last() + 1),
    };
    below.chain(above)
}

fn meeting(grid: &Grid, ranges: &[Interval]) -> Region {
    ranges.iter().enumerate().map(|(dim, range)| grid.meeting(dim, *range)).collect()
}

impl Gather {
    /// The dimensions that are listed by the number along `with`: which they are, and both their lists.
    fn listed(
        &mut self,
        with: usize,
    ) -> impl Iterator<Item = (usize, &mut Vec<Interval>, &mut Vec<Vec<Interval>>)> {
        let dims = match &mut self.tiles {
            Tiles::Along(dims) => dims.as_mut_slice(),
            Tiles::Each(_) => &mut [],
        };
        dims.iter_mut().enumerate().filter_map(move |(dim, along)| match along {
            Along::Listed { with: own, spans, numbers } if *own == with => Some((dim, spans, numbers)),
            Along::Listed { .. } | Along::Same(_) | Along::Moves { .. } => None,
        })
    }

    /// By the number of the task along `with`, the tiles along `dim`, where that number alone tells and they are listed.
    pub(super) fn spans(&self, division: &Division, dim: usize, with: usize) -> Option<Vec<(i64, Interval)>> {
        let grid = &division.groups[self.reader].grid;
        match &self.tiles {
            Tiles::Each(tiles) => {
                let place = |at: usize| grid.number(at as u128)[with];
                Some(tiles.iter().enumerate().map(|(at, region)| (place(at), region[dim])).collect())
            }
            Tiles::Along(dims) => match dims.get(dim)? {
                Along::Listed { with: own, spans, .. } if *own == with => {
                    Some((grid.numbers[with].first()..).zip(spans.iter().copied()).collect())
                }
                Along::Listed { .. } | Along::Same(_) | Along::Moves { .. } => None,
            },
        }
    }

    /// Whether the tiles along `dim` move with the number along `with`, but there are too many to list them.
    pub(super) fn moves(&self, dim: usize, with: usize) -> bool {
        match &self.tiles {
            Tiles::Each(_) => false,
            Tiles::Along(dims) => {
                matches!(dims.get(dim), Some(Along::Moves { with: own, .. }) if *own == with)
            }
        }
    }

    /// The tiles that a task holds.
    pub(super) fn read_by_task(&self, division: &Division, place: u128, number: &[i64]) -> Region {
        let dims = match &self.tiles {
            Tiles::Each(tiles) => return tiles[place as usize].clone(),
            Tiles::Along(dims) => dims,
        };
        let group = &division.groups[self.reader];
        let mut ranges = None;
        let spans = dims.iter().enumerate().map(|(dim, along)| match along {
            Along::Same(span) => *span,
            Along::Listed { with, spans, .. } => {
                spans[(number[*with] - group.grid.numbers[*with].first()) as usize]
            }
            Along::Moves { .. } => {
                let ranges = ranges.get_or_insert_with(|| division.ranges(self.reader, number));
                division.groups[self.source].grid.meeting(dim, ranges[self.member][dim])
            }
        });
        spans.collect()
    }

    /// The tasks that hold a tile, if there are any; whether they are made is another question.
    pub(super) fn readers(&self, division: &Division, tile: &[i64]) -> Option<Tasks> {
        let dims = match &self.tiles {
            Tiles::Along(dims) => dims,
            Tiles::Each(tiles) => {
                let holds = |region: &Region| region.iter().zip(tile).all(|(range, at)| range.contains(*at));
                let places = tiles.iter().enumerate().filter(|(_, region)| holds(region));
                return Some(Tasks::Places(places.map(|(place, _)| place as u128).collect()));
            }
        };
        let grid = &division.groups[self.reader].grid;
        let mut tasks: Vec<Vec<Interval>> = grid.numbers.iter().map(|numbers| vec![*numbers]).collect();
        for (dim, along) in dims.iter().enumerate() {
            let at = tile[dim];
            match along {
                Along::Same(span) if span.contains(at) => {}
                Along::Same(_) => return None,
                Along::Listed { with, numbers, .. } => {
                    let first = division.groups[self.source].grid.numbers[dim].first();
                    tasks[*with] = in_both(&tasks[*with], &numbers[(at - first) as usize]);
                }
                Along::Moves { with, up } => {
                    let found = self.neighbours(division, dim, (*with, *up), at);
                    tasks[*with] = in_both(&tasks[*with], &[found]);
                }
            }
        }
        tasks.iter().all(|runs| !runs.is_empty()).then_some(Tasks::Runs(tasks))
    }

    /// The numbers along the dimension that moves what they need whose need meets tile `at`.
    fn neighbours(&self, division: &Division, dim: usize, (with, up): (usize, bool), at: i64) -> Interval {
        let grid = &division.groups[self.reader].grid;
        let first: Vec<i64> = grid.numbers.iter().map(|numbers| numbers.first()).collect();
        let span = |number: i64| {
            let mut place = first.clone();
            place[with] = number;
            let ranges = division.ranges(self.reader, &place);
            division.groups[self.source].grid.meeting(dim, ranges[self.member][dim])
        };
        bisect(grid.numbers[with], up, at, &span)
    }
}

impl Tasks {
    /// How many there are.
    pub(super) fn count(&self) -> u128 {
        let long = |run: &Interval| run.len().unwrap_or(0) as u128;
        match self {
            Tasks::Places(places) => places.len() as u128,
            Tasks::Runs(dims) => {
                dims.iter().map(|runs| runs.iter().map(long).sum()).fold(1, u128::saturating_mul)
            }
        }
    }

    /// Visits the place of every one of them.
    pub(super) fn each(&self, grid: &Grid, mut visit: impl FnMut(u128)) {
        match self {
            Tasks::Places(places) => places.iter().copied().for_each(visit),
            Tasks::Runs(dims) => {
                let choices = dims.iter().map(|runs| Interval::trusted(0, runs.len() as i64 - 1));
                each(&choices.collect::<Region>(), |choice| {
                    let region = choice.iter().zip(dims).map(|(at, runs)| runs[*at as usize]);
                    each(&region.collect::<Region>(), |number| visit(grid.place(number)));
                });
            }
        }
    }
}

/// What two lists of runs have in common.
fn in_both(some: &[Interval], others: &[Interval]) -> Vec<Interval> {
    let pairs = some.iter().flat_map(|a| others.iter().map(|b| a.intersect(*b)));
    pairs.filter(|run| !run.is_empty()).collect()
}

/// The numbers whose span holds `at`; spans move one way.
fn bisect(numbers: Interval, up: bool, at: i64, span: &dyn Fn(i64) -> Interval) -> Interval {
    let (first, last) = (numbers.first(), numbers.last());
    let len = last - first + 1;
    let number = |place: i64| if up { first + place } else { last - place };
    let start = partition(len, |place| span(number(place)).last() < at);
    let end = partition(len, |place| span(number(place)).first() <= at);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reads_a_tile_is_found_by_halves() {
        let numbers = Interval::trusted(-3, 12);
        for (per, wide) in [(1, 0), (1, 2), (2, 1), (3, 5)] {
            for up in [true, false] {
                let moved = |number: i64| if up { number / per } else { -number / per };
                let span = |number: i64| Interval::trusted(moved(number), moved(number) + wide);
                for at in -20..20 {
                    let found = bisect(numbers, up, at, &span);
                    let all: Vec<i64> = (-3..=12).filter(|number| span(*number).contains(at)).collect();
                    assert_eq!(
                        (found.first()..=found.last()).collect::<Vec<_>>(),
                        all,
                        "{at}, {per}, {wide}"
                    );
                }
            }
        }
    }
}
