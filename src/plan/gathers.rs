//! The tiles of other groups that the tasks of a group hold, member by member: tables both ways.
//!
//! ```text
//! tasks of 10 rows read a[y - 1 .. y + 1], tiles of a have 4 rows      by task: 0..=2, 2..=5, …      by tile: 0, 0, 0..=1, …
//! ```
//!
//! What a task needs along one dimension of a source follows one of the task's own numbers, so that there are two tables
//! per dimension. Where needs move evenly ([`spans`](super::spans)) a table is a few numbers, and the second one is
//! found in the first by halves.

use super::grid::Grid;
use super::group::{PlanError, Role};
use super::needs::Motion;
use super::readers::{Depth, Division, each};
use super::recurrence::recurrence;
use super::spans::Spans;
use super::stop::Stop;
use crate::access::footprint::Region;
use crate::index::Interval;
use std::collections::BTreeMap;

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
    /// By the number of the task along `with`; and by tile the numbers that read it.
    Listed { with: usize, spans: Spans, numbers: Numbers },
    /// There are too many to list them. They move one way, so that neighbours read a tile.
    Moves { with: usize, up: bool },
}

/// The numbers of tasks that read a tile.
#[derive(Debug)]
enum Numbers {
    /// Neighbours, found in what each number reads, which moves this way.
    Neighbours { up: bool },
    /// Tiles in order, each with a run of numbers that read it.
    Runs(Vec<(i64, Interval)>),
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
            Motion::With { dim: with, up } if few(group.grid.numbers[with]) && few(grid.numbers[dim]) => {
                let spans = Spans::starting_at(group.grid.numbers[with].first());
                Along::Listed { with, spans, numbers: Numbers::Neighbours { up } }
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
        for (_, spans, turned) in gathers.iter_mut().flat_map(|gather| gather.listed(with)) {
            spans.shrink();
            if let Numbers::Neighbours { up } = *turned
                && !spans.moves(up)
            {
                *turned = Numbers::Runs(turned_round(spans));
            }
        }
    }
    Ok(())
}

/// Tiles in order, each with a run of numbers whose span holds it.
fn turned_round(spans: &Spans) -> Vec<(i64, Interval)> {
    let mut runs: Vec<(i64, Interval)> = Vec::new();
    let mut starts: BTreeMap<i64, i64> = BTreeMap::new();
    let mut before = Interval::EMPTY;
    let end = std::iter::once((spans.end(), Interval::EMPTY));
    for (number, span) in spans.iter().chain(end) {
        starts.extend(without(span, before).map(|tile| (tile, number)));
        let gone = without(before, span).filter_map(|tile| Some((tile, starts.remove(&tile)?)));
        runs.extend(gone.map(|(tile, start)| (tile, Interval::trusted(start, number - 1))));
        before = span;
    }
    runs.sort_unstable_by_key(|(tile, run)| (*tile, run.first()));
    runs.shrink_to_fit();
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

/// Bytes of a table that are not counted.
const LITTLE: u64 = 1 << 12;
/// Numbers that are looked at for what a table of all would take.
const NEAR: i64 = 64;

/// Bytes of a box in a table that has one per task.
fn each_bytes(rank: usize) -> usize {
    size_of::<Region>() + rank * size_of::<Interval>()
}

impl Gather {
    /// The dimensions that are listed by the number along `with`: which they are, and both their lists.
    fn listed(&mut self, with: usize) -> impl Iterator<Item = (usize, &mut Spans, &mut Numbers)> {
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
                Along::Listed { with: own, spans, .. } if *own == with => Some(spans.iter().collect()),
                Along::Listed { .. } | Along::Same(_) | Along::Moves { .. } => None,
            },
        }
    }

    /// Bytes of the tables.
    fn bytes(&self) -> u64 {
        let bytes: usize = match &self.tiles {
            Tiles::Each(tiles) => tiles.iter().map(|region| each_bytes(region.len())).sum(),
            Tiles::Along(dims) => dims.iter().map(Along::bytes).sum(),
        };
        bytes as u64
    }

    /// Bytes of the tables, but for what is too little to count.
    pub(super) fn counted_bytes(&self) -> u64 {
        Some(self.bytes()).filter(|bytes| *bytes > LITTLE).unwrap_or(0)
    }

    /// The same of the tables that a run will have, which may go deeper than this one: about so many where needs move
    /// evenly, else as many as there usually can be.
    pub(super) fn bytes_of_run(&self, division: &Division, is_even: bool) -> u64 {
        let Tiles::Along(dims) = &self.tiles else { return self.counted_bytes() };
        let (reader, source) = (&division.groups[self.reader], &division.groups[self.source]);
        let cut = recurrence(&division.stages, reader.target).is_some();
        let mut bytes = self.bytes();
        if let Some(tasks) = Some(reader.grid.count()).filter(|tasks| cut && *tasks <= Depth::RUN.listed) {
            bytes = (tasks as u64).saturating_mul(each_bytes(dims.len()) as u64);
        }
        for (dim, along) in dims.iter().enumerate() {
            let Along::Moves { with, .. } = along else { continue };
            let len = |numbers: Interval| numbers.len().unwrap_or(i64::MAX) as u64;
            let (tasks, tiles) = (len(reader.grid.numbers[*with]), len(source.grid.numbers[dim]));
            if u128::from(tasks.max(tiles)) > Depth::RUN.listed {
                continue;
            }
            bytes = bytes.saturating_add(match is_even {
                true => (tasks / NEAR as u64 + 1) * self.bytes_near(division, dim, *with),
                false => Spans::most_bytes(tasks) + tiles * size_of::<(i64, Interval)>() as u64,
            });
        }
        if bytes > LITTLE { bytes } else { 0 }
    }

    /// Bytes of a table of so many numbers as are looked at, the most of both ends and the middle.
    fn bytes_near(&self, division: &Division, dim: usize, with: usize) -> u64 {
        let (reader, source) = (&division.groups[self.reader], &division.groups[self.source]);
        let numbers = reader.grid.numbers[with];
        let mut number: Vec<i64> = reader.grid.numbers.iter().map(|numbers| numbers.first()).collect();
        let middle = numbers.first() + (numbers.last() - numbers.first()) / 2;
        let tables = [numbers.first(), middle, numbers.last() - NEAR + 1].map(|start| {
            let mut spans = Spans::starting_at(start);
            for at in (start..start + NEAR).filter(|at| numbers.contains(*at)) {
                number[with] = at;
                let ranges = division.ranges(self.reader, &number);
                spans.push(source.grid.meeting(dim, ranges[self.member][dim]));
            }
            spans.bytes() as u64
        });
        tables.into_iter().max().unwrap_or(0)
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
        let mut ranges = None;
        let spans = dims.iter().enumerate().map(|(dim, along)| match along {
            Along::Same(span) => *span,
            Along::Listed { with, spans, .. } => spans.of(number[*with]),
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
                Along::Listed { with, spans, numbers: Numbers::Neighbours { up } } => {
                    let found = bisect(spans.some(), *up, at, &|number| spans.of(number));
                    tasks[*with] = in_both(&tasks[*with], &[found]);
                }
                Along::Listed { with, numbers: Numbers::Runs(runs), .. } => {
                    let from = runs.partition_point(|(tile, _)| *tile < at);
                    let own = runs[from..].iter().take_while(|(tile, _)| *tile == at);
                    tasks[*with] = in_both(&tasks[*with], &own.map(|(_, run)| *run).collect::<Vec<_>>());
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

impl Along {
    fn bytes(&self) -> usize {
        match self {
            Along::Same(_) | Along::Moves { .. } => 0,
            Along::Listed { spans, numbers: Numbers::Neighbours { .. }, .. } => spans.bytes(),
            Along::Listed { spans, numbers: Numbers::Runs(runs), .. } => {
                spans.bytes() + size_of_val(runs.as_slice())
            }
        }
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
