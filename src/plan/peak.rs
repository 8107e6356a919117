//! How many tiles and bytes are held at once, before anything runs.
//!
//! ```text
//! a 0, a 1, result 0, a 2, result 1, …      three tiles with one worker: two of a, one of the result
//! ```
//!
//! Up to some thousand tasks the plan walks through them; beyond that it counts the tiles between the first and the
//! last row of results that reads them, which is never too few.

use super::bands::{Task, task};
use super::grid::volume;
use super::group::{Group, PlanError, Role};
use super::needs::Motion;
use super::order::Order;
use super::readers::{Depth, Division, Readers, each};
use super::reuse::buffers;
use crate::graph::{Level, Tensor};
use crate::index::Interval;
use std::collections::{HashMap, VecDeque};

/// What is held at once, at the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// Tiles that are held or being made.
    pub tiles: u64,
    /// Bytes of tiles that are held.
    pub tile_bytes: u64,
    /// Bytes that workers hold besides.
    pub scratch_bytes: u64,
}

impl Peak {
    /// Bytes of tiles and of workers.
    pub fn bytes(&self) -> u64 {
        self.tile_bytes.saturating_add(self.scratch_bytes)
    }
}

/// Tasks that the plan walks through one by one.
const WALKED: u128 = 4096;

/// The peak of a request that `threads` workers run.
pub fn peak(division: &Division, threads: usize) -> Result<Peak, PlanError> {
    let tasks = division.tiles();
    let workers = u64::try_from(tasks.min(threads as u128)).unwrap_or(1);
    let (tiles, tile_bytes) = match division.groups.len() {
        1 => (workers, 0),
        _ if tasks <= WALKED => walked(division, threads)?,
        _ => counted(division, threads)?,
    };
    Ok(Peak { tiles, tile_bytes, scratch_bytes: scratch_of_all(division, workers)? })
}

/// What workers hold besides tiles when each does the task that holds most; a group has no more workers than tasks.
fn scratch_of_all(division: &Division, workers: u64) -> Result<u64, PlanError> {
    let each = division.groups.iter().map(|group| Ok((scratch(division, group)?, group.grid.count())));
    let mut each: Vec<(u64, u128)> = each.collect::<Result<_, PlanError>>()?;
    each.sort_unstable_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    let (mut left, mut total) = (u128::from(workers), 0u64);
    for (bytes, tasks) in each {
        let own = tasks.min(left);
        total = total.saturating_add(bytes.saturating_mul(own as u64));
        left -= own;
    }
    Ok(total)
}

/// Walks through the order; a task ends when as many later ones have begun as there are other workers.
fn walked(division: &Division, threads: usize) -> Result<(u64, u64), PlanError> {
    let mut order = Order::new(division, &division.stop)?;
    let mut alive: HashMap<u64, (u64, u64)> = HashMap::new();
    let mut running: VecDeque<(Vec<u64>, bool)> = VecDeque::new();
    let (mut bytes, mut results, mut most, mut most_bytes) = (0u64, 0u64, 0, 0);
    while let Some(step) = order.next(division) {
        division.stop.check()?;
        if running.len() == threads
            && let Some((sources, result)) = running.pop_front()
        {
            results -= u64::from(result);
            for source in sources {
                let Some((left, size)) = alive.get_mut(&source) else { continue };
                *left = left.saturating_sub(1);
                if *left == 0 {
                    bytes -= *size;
                    alive.remove(&source);
                }
            }
        }
        let group = &division.groups[step.tile.0];
        let result = step.tile.0 + 1 == division.groups.len();
        if !result {
            let size = tile_bytes(division, group, &group.grid.tile(&step.tile.1));
            alive.insert(step.number, (step.readers.max(1), size));
            bytes += size;
        }
        results += u64::from(result);
        running.push_back((step.sources, result));
        most = most.max(alive.len() as u64 + results);
        most_bytes = most_bytes.max(bytes);
    }
    Ok((most, most_bytes))
}

fn element_bytes(division: &Division, group: &Group) -> u64 {
    division.stages.tensor(group.target).element.bytes()
}

/// Bytes of a tile, at the most: dense while it is made, then in its format, which may take more.
pub fn tile_bytes(division: &Division, group: &Group, tile: &[Interval]) -> u64 {
    let tensor = division.stages.tensor(group.target);
    let shape = tile.iter().map(|range| range.len().unwrap_or(0).max(0) as u64);
    stored_bytes(tensor, &shape.collect::<Vec<_>>())
}

/// Bytes of a box of that shape, dense or in the tensor's format, whichever is more.
fn stored_bytes(tensor: &Tensor, shape: &[u64]) -> u64 {
    let elements = shape.iter().copied().fold(1, u64::saturating_mul);
    let dense = elements.saturating_mul(tensor.element.bytes());
    let Some(format) = &tensor.format else { return dense };
    let (mut positions, mut numbers, mut sizes) = (1u64, 0u64, shape);
    for level in &format.levels {
        let (own, rest) = sizes.split_at(level.dims().min(sizes.len()));
        let below = own.iter().copied().fold(positions, u64::saturating_mul);
        // Four bytes per number: one and a bit per position, and so many per child.
        let (each, child) = match level {
            Level::Dense => (0, 0),
            Level::SparseList | Level::RunList => (1, 1),
            Level::SparseDict => (1, 2),
            Level::SparseCoo(dims) => (1, *dims as u64),
            Level::SparseBytemap => (1, 3),
            Level::SparseBand => (2, 0),
        };
        let level =
            (positions.saturating_add(1)).saturating_mul(each).saturating_add(below.saturating_mul(child));
        numbers = numbers.saturating_add(level);
        (positions, sizes) = (below, rest);
    }
    dense.max(numbers.saturating_mul(4).saturating_add(dense))
}

/// For every shared group the tiles that two neighbouring rows of results, and those in flight, read.
fn counted(division: &Division, threads: usize) -> Result<(u64, u64), PlanError> {
    let (mut tiles, mut bytes) = (threads as u64, 0u64);
    let alive = alive_at_once(division)?;
    for (group, alive) in division.groups.iter().zip(alive).take(division.groups.len() - 1) {
        let alive = alive.min(group.grid.count()).saturating_add(threads as u128);
        let alive = alive.min(u64::MAX.into()) as u64;
        tiles = tiles.saturating_add(alive);
        let shape: Vec<u64> = group.grid.shape.iter().map(|size| *size as u64).collect();
        let whole = stored_bytes(division.stages.tensor(group.target), &shape);
        let largest = group.grid.largest().min(u64::MAX.into()) as u64;
        let largest = largest.saturating_mul(element_bytes(division, group));
        let formatted = division.stages.tensor(group.target).format.is_some();
        bytes = bytes.saturating_add(alive.saturating_mul(if formatted { whole } else { largest }));
    }
    Ok((tiles, bytes))
}

/// By group, the tiles that wait for readers, at the most: where only the result reads them, those of two rows of it.
fn alive_at_once(division: &Division) -> Result<Vec<u128>, PlanError> {
    let groups = &division.groups;
    let mut along: Vec<Vec<u128>> = groups.iter().map(|group| vec![0; group.grid.numbers.len()]).collect();
    let readers = Readers::new(division, Depth::Look, &division.stop)?;
    for (at, reader) in groups.iter().enumerate() {
        let slowest = reader.grid.numbers.iter().position(|numbers| numbers.len().unwrap_or(1) > 1);
        for (member, listed) in reader.members.iter().enumerate() {
            let Role::Gather(shared) = listed.role else { continue };
            for (dim, along) in along[shared].iter_mut().enumerate() {
                let all = groups[shared].grid.numbers[dim].len().unwrap_or(0) as u128;
                let own = match listed.motion[dim] {
                    Motion::With { dim: with, .. } if Some(with) == slowest && at + 1 == groups.len() => {
                        let listed = readers.most_alive(at, shared, dim, with);
                        listed.unwrap_or_else(|| two_rows(division, at, member, dim, with)).min(all)
                    }
                    Motion::With { .. } | Motion::Still | Motion::Free => all,
                };
                *along = (*along).max(own);
            }
        }
    }
    Ok(along.into_iter().map(|along| along.into_iter().fold(1, u128::saturating_mul)).collect())
}

/// The most tiles along a dimension that two neighbouring rows of tasks read, looked for at the ends and between.
fn two_rows(division: &Division, reader: usize, member: usize, dim: usize, with: usize) -> u128 {
    let group = &division.groups[reader];
    let Role::Gather(shared) = group.members[member].role else { return 0 };
    let numbers = group.grid.numbers[with];
    let mut number: Vec<i64> = group.grid.numbers.iter().map(|numbers| numbers.first()).collect();
    let mut span = |at: i64| {
        number[with] = at;
        let ranges = division.ranges(reader, &number);
        division.groups[shared].grid.meeting(dim, ranges[member][dim])
    };
    let middle = numbers.first() + (numbers.last() - numbers.first()) / 2;
    let starts = [numbers.first(), middle, numbers.last() - 64];
    let places = starts.into_iter().flat_map(|start| (0..64).map(move |step| start + step));
    let places = places.filter(|at| numbers.contains(*at) && numbers.contains(at + 1));
    let lengths = places.map(|at| {
        let both = span(at).hull(span(at + 1));
        both.len().unwrap_or(0) as u128
    });
    // One more on either side for places that were not looked at.
    lengths.max().unwrap_or(1) + 2
}

/// Tasks of a group that are all looked at; of more, the corners, the middle, and some between.
const FEW: u128 = 256;

/// The most that one task of a group holds besides tiles.
fn scratch(division: &Division, group: &Group) -> Result<u64, PlanError> {
    let count = group.grid.count();
    let step = (count / FEW).max(1);
    let between =
        (0..count).step_by(usize::try_from(step).unwrap_or(usize::MAX)).map(|place| group.grid.number(place));
    let beyond = if step > 1 { corners(group) } else { Vec::new() };
    let numbers = between.chain(beyond);
    let mut most = 0;
    for number in numbers {
        division.stop.check()?;
        let task = task(&division.stages, group, &division.boxes, group.grid.tile(&number));
        most = most.max(held_bytes(division, group, &task));
    }
    Ok(most)
}

/// The first, the middle and the last tile along every dimension.
fn corners(group: &Group) -> Vec<Vec<i64>> {
    let ends = group.grid.numbers.iter().map(|numbers| {
        let middle = numbers.first() + (numbers.last() - numbers.first()) / 2;
        let mut ends = vec![numbers.first(), middle, numbers.last()];
        ends.dedup();
        ends
    });
    let ends: Vec<Vec<i64>> = ends.collect();
    let places: Vec<Interval> = ends.iter().map(|ends| Interval::trusted(0, ends.len() as i64 - 1)).collect();
    let mut corners = Vec::new();
    each(&places, |place| {
        if corners.len() < FEW as usize {
            corners.push(place.iter().zip(&ends).map(|(at, ends)| ends[*at as usize]).collect());
        }
    });
    corners
}

/// Bytes that a task holds besides the tiles it reads.
pub fn held_bytes(division: &Division, group: &Group, task: &Task) -> u64 {
    let own = task.steps.as_ref().map_or(0, |(_, slot)| {
        (slot.elements().min(u64::MAX.into()) as u64).saturating_mul(element_bytes(division, group))
    });
    let formats =
        freezing_bytes(division, group, &task.tile).saturating_add(listing_bytes(division, group, task));
    buffers(&division.stages, group, task).total().saturating_add(own).saturating_add(formats)
}

/// Bytes per element that freezing takes besides the element itself: its place, and two ranges of entries.
const FREEZING: u64 = 24;

/// What freezing a tile takes beside it, at the most: its entries, positions, and what it is frozen into.
pub fn freezing_bytes(division: &Division, group: &Group, tile: &[Interval]) -> u64 {
    let tensor = division.stages.tensor(group.target);
    if tensor.format.is_none() || group.why.is_empty() {
        return 0;
    }
    let elements = volume(tile).min(u64::MAX.into()) as u64;
    elements.saturating_mul(FREEZING + 2 * tensor.element.bytes())
}

/// The stored elements of tiles in formats, listed by row: begins of rows, two coordinates and a value each.
fn listing_bytes(division: &Division, group: &Group, task: &Task) -> u64 {
    let members = group.members.iter().zip(&task.slots);
    let bytes = members.filter_map(|(member, slot)| {
        let tensor = division.stages.tensor(member.tensor);
        let listed = tensor.format.is_some() && matches!(member.role, Role::Gather(_));
        let region = &slot.as_ref().filter(|_| listed)?.region;
        let elements = volume(region).min(u64::MAX.into()) as u64;
        // There are no more rows than elements, and one begin more than rows.
        Some(elements.saturating_mul(12 + tensor.element.bytes()).saturating_add(4))
    });
    bytes.fold(0, u64::saturating_add)
}
