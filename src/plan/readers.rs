//! Which tiles a task reads, and which tasks read a tile.
//!
//! ```text
//! tasks of 10 rows read a[y - 1 .. y + 1], tiles of a have 4 rows      task 0: tiles 0 to 2     tile 2: tasks 0 and 1
//! ```
//!
//! What a task needs along one dimension of a source follows one of the task's own numbers, so that both ways are
//! tables, one per dimension. A shared tile that nobody reads is never made, and reads nothing: whether a reader is made
//! is asked from the result backwards, once per tile.

use super::grid::Grid;
use super::group::{Group, Needed, PlanError, Role, task_ranges, work_box};
use super::needs::Motion;
use super::recurrence::recurrence;
use super::stages::Stages;
use super::stop::Stop;
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
    /// Ends the planning.
    pub stop: Stop,
}

/// A tile: which group makes it, and its number.
pub type TileId = (usize, Vec<i64>);

/// The same by its place in row-major order.
pub type Place = (usize, u128);

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

    /// The number of a tile.
    pub fn tile(&self, (group, place): Place) -> TileId {
        (group, self.groups[group].grid.number(place))
    }
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
pub enum Depth {
    /// For a run, which goes through all of it.
    Run,
    /// For a look at the first tasks of a request, however large it is.
    Look,
}

impl Depth {
    /// Numbers along a dimension that are listed, at the most; beyond that, tasks that read a tile are neighbours.
    fn listed(self) -> u128 {
        match self {
            Depth::Run => 1 << 20,
            Depth::Look => 1 << 12,
        }
    }

    /// Readers of a tile that are looked at one by one, at the most; beyond that, all are made.
    fn asked(self) -> u128 {
        match self {
            Depth::Run => u128::MAX,
            Depth::Look => 1 << 12,
        }
    }
}

/// The tiles of another group that the tasks of a group hold, through one member.
#[derive(Debug)]
struct Gather {
    reader: usize,
    member: usize,
    source: usize,
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
enum Tasks {
    /// Per dimension of their numbers, in runs.
    Runs(Vec<Vec<Interval>>),
    /// By their places.
    Places(Vec<u128>),
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
        for gather in self.read_by[group].iter().map(|at| &self.gathers[*at]) {
            let Some(tasks) = gather.readers(division, &number) else { continue };
            let all = tasks.count();
            if gather.reader + 1 == division.groups.len() || all > self.depth.asked() {
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

    /// The most tiles along a dimension of `source` that wait for tasks of `reader`, or are read by them, while these go
    /// from one number along `with` to the next; none if they are not listed.
    pub fn most_alive(&self, reader: usize, source: usize, dim: usize, with: usize) -> Option<u128> {
        let gather =
            self.reads[reader].iter().map(|at| &self.gathers[*at]).find(|own| own.source == source)?;
        let Tiles::Along(dims) = &gather.tiles else { return None };
        let Along::Listed { with: own, numbers, .. } = &dims[dim] else { return None };
        if *own != with {
            return None;
        }
        let lives = numbers.iter().filter_map(|runs| Some((runs.first()?.first(), runs.last()?.last())));
        let mut changes: Vec<(i64, i64)> =
            lives.flat_map(|(from, to)| [(from - 1, 1), (to + 1, -1)]).collect();
        changes.sort_unstable();
        let (mut alive, mut most) = (0i64, 0);
        for (_, change) in changes {
            alive += change;
            most = most.max(alive);
        }
        Some(most as u128)
    }
}

/// What the tasks of a group hold of others.
fn gathers(division: &Division, reader: usize, depth: Depth, stop: &Stop) -> Result<Vec<Gather>, PlanError> {
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
    if cut && count <= depth.listed() {
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
    let few = |numbers: Interval| numbers.len().unwrap_or(i64::MAX) as u128 <= depth.listed();
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

    /// The tiles that a task holds.
    fn read_by_task(&self, division: &Division, place: u128, number: &[i64]) -> Region {
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
    fn readers(&self, division: &Division, tile: &[i64]) -> Option<Tasks> {
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
    fn count(&self) -> u128 {
        let long = |run: &Interval| run.len().unwrap_or(0) as u128;
        match self {
            Tasks::Places(places) => places.len() as u128,
            Tasks::Runs(dims) => {
                dims.iter().map(|runs| runs.iter().map(long).sum()).fold(1, u128::saturating_mul)
            }
        }
    }

    /// Visits the place of every one of them.
    fn each(&self, grid: &Grid, mut visit: impl FnMut(u128)) {
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
