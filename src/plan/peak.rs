//! How many tiles and bytes are held at once, before anything runs.
//!
//! ```text
//! a 0, a 1, result 0, a 2, result 1, …      three tiles with one worker: two of a, one of the result
//! ```
//!
//! Up to some thousand tasks the plan walks through them; beyond that it counts the tiles that live during a row of
//! results ([`lives`](super::lives)), which is never too few.

use super::bands::Task;
use super::grid::volume;
use super::group::{Group, PlanError, Role};
use super::held::most_held;
use super::lives::{Lives, is_even, lives, slowest};
use super::order::Order;
use super::readers::{Depth, Division, Readers};
use super::reuse::buffers;
use crate::graph::body::TensorId;
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
    /// Bytes that workers hold besides, and large tables of who reads what.
    pub scratch_bytes: u64,
    /// Tiles that are made in all: where tasks are too many to walk through, also those that nobody reads.
    pub made: u128,
}

impl Peak {
    /// The most of both.
    pub fn hull(self, other: Peak) -> Peak {
        Peak {
            tiles: self.tiles.max(other.tiles),
            tile_bytes: self.tile_bytes.max(other.tile_bytes),
            scratch_bytes: self.scratch_bytes.max(other.scratch_bytes),
            made: self.made.max(other.made),
        }
    }

    /// Bytes of tiles and of workers.
    pub fn bytes(&self) -> u64 {
        self.tile_bytes.saturating_add(self.scratch_bytes)
    }
}

/// How much of a request is gone through for its peak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Tasks that are walked through one by one, at the most.
    pub walked: u128,
    /// Numbers along a dimension that are listed, at the most.
    pub listed: u128,
    /// Tasks of a group that are looked at one by one for what they hold, at the most; of more, one of each kind.
    pub looked_at: u128,
}

impl Effort {
    /// Some milliseconds.
    pub const USUAL: Effort = Effort { walked: 1 << 14, listed: 1 << 18, looked_at: 1 << 10 };
}

/// The peak of a request that `threads` workers run.
pub fn peak(division: &Division, threads: usize) -> Result<Peak, PlanError> {
    peak_within(division, threads, Effort::USUAL)
}

/// The same with that much effort: less of it gives no smaller peak.
pub fn peak_within(division: &Division, threads: usize, effort: Effort) -> Result<Peak, PlanError> {
    let tasks = division.tiles();
    let workers = u64::try_from(tasks.min(threads as u128)).unwrap_or(1);
    let scratch = scratch_of_all(division, workers, effort)?;
    let peak = match division.groups.len() {
        1 => Peak { tiles: workers, made: tasks, ..Peak::default() },
        _ if tasks <= effort.walked => walked(division, threads)?,
        _ => Peak { made: tasks, ..counted(division, threads, effort)? },
    };
    Ok(Peak { scratch_bytes: peak.scratch_bytes.saturating_add(scratch), ..peak })
}

/// What workers hold besides tiles when each does the task that holds most; a group has no more workers than tasks.
fn scratch_of_all(division: &Division, workers: u64, effort: Effort) -> Result<u64, PlanError> {
    let groups = division.groups.iter().enumerate();
    let each = groups.map(|(at, group)| Ok((most_held(division, at, effort)?, group.grid.count())));
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

/// Walks through the order; a task ends when as many later ones have begun as there are other workers. The tiles and bytes
/// that are held at the most, those of tables, and the tiles that are made.
fn walked(division: &Division, threads: usize) -> Result<Peak, PlanError> {
    let mut order = Order::new(division, &division.stop)?;
    let mut alive: HashMap<u64, (u64, u64)> = HashMap::new();
    let mut running: VecDeque<(Vec<u64>, bool)> = VecDeque::new();
    let (mut bytes, mut results, mut most, mut most_bytes, mut made) = (0u64, 0u64, 0, 0, 0);
    while let Some(step) = order.next(division) {
        division.stop.check()?;
        made += 1;
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
    Ok(Peak { tiles: most, tile_bytes: most_bytes, scratch_bytes: order.table_bytes(), made })
}

fn element_bytes(division: &Division, group: &Group) -> u64 {
    division.stages.tensor(group.target).element.bytes()
}

/// Bytes that a tile takes besides its elements: what the schedule knows of it. It is about that for tiles of one element.
pub const TILE_BESIDE: u64 = 1 << 10;

/// Bytes of a tile, at the most: dense while it is made, then in its format, which may take more; with those beside it.
pub fn tile_bytes(division: &Division, group: &Group, tile: &[Interval]) -> u64 {
    let tensor = division.stages.tensor(group.target);
    let shape = tile.iter().map(|range| range.len().unwrap_or(0).max(0) as u64);
    stored_bytes(tensor, &shape.collect::<Vec<_>>())
}

/// Bytes of a tile of that shape, dense or in the tensor's format, whichever is more.
fn stored_bytes(tensor: &Tensor, shape: &[u64]) -> u64 {
    element_room(tensor, shape).saturating_add(TILE_BESIDE)
}

/// The same of its elements alone.
fn element_room(tensor: &Tensor, shape: &[u64]) -> u64 {
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

/// The tiles that live during a row of results, and those in flight, at the row that has most, and the bytes of tables.
fn counted(division: &Division, threads: usize, effort: Effort) -> Result<Peak, PlanError> {
    let result = division.groups.last().expect("a request has a group");
    let depth = Depth { listed: effort.listed, ..Depth::LOOK };
    let readers = Readers::new(division, depth, &division.stop)?;
    let rows = slowest(result).map_or(Interval::trusted(0, 0), |dim| result.grid.numbers[dim]);
    let in_row = result.grid.count() / (rows.len().unwrap_or(1).max(1) as u128);
    // Workers that are behind have begun with a row before the one that the foremost has come to.
    let behind = (threads as u128).saturating_sub(1).div_ceil(in_row.max(1)).min(1 << 40) as i64;
    let mut always = [threads as u128, 0];
    let mut changes: Vec<(i64, bool, [u128; 2])> = Vec::new();
    let lives = lives(division, &readers, behind + 1);
    for (group, lives) in division.groups.iter().zip(lives).take(division.groups.len() - 1) {
        let bytes = u128::from(largest_tile(division, group));
        let rest =
            |dim: usize| group.grid.count() / (group.grid.numbers[dim].len().unwrap_or(1).max(1) as u128);
        match lives {
            Lives::All => add(&mut always, group.grid.count(), bytes),
            Lives::Few { dim, most } => add(&mut always, rest(dim).saturating_mul(most), bytes),
            Lives::Rows { dim, rows } => {
                for life in rows.into_iter().filter(|life| !life.is_empty()) {
                    let tiles = rest(dim);
                    let change = [tiles, tiles.saturating_mul(bytes)];
                    changes.push((life.first(), true, change));
                    changes.push((life.last().saturating_add(behind + 1), false, change));
                }
            }
        }
    }
    let [tiles, tile_bytes] = most_at_once(always, changes).map(|most| most.min(u64::MAX.into()) as u64);
    let scratch_bytes = readers.bytes_of_run(division, |group| is_even(division, group));
    Ok(Peak { tiles, tile_bytes, scratch_bytes, made: 0 })
}

fn add(sum: &mut [u128; 2], tiles: u128, bytes: u128) {
    sum[0] = sum[0].saturating_add(tiles);
    sum[1] = sum[1].saturating_add(tiles.saturating_mul(bytes));
}

/// The most of both at any time: what is added at a time (`true`), and taken away.
fn most_at_once(always: [u128; 2], mut changes: Vec<(i64, bool, [u128; 2])>) -> [u128; 2] {
    changes.sort_unstable();
    let (mut now, mut most) = (always, always);
    for (_, more, change) in changes {
        for ((now, most), change) in now.iter_mut().zip(&mut most).zip(change) {
            *now = if more { now.saturating_add(change) } else { now.saturating_sub(change) };
            *most = (*most).max(*now);
        }
    }
    most
}

/// Bytes of the largest tile of a group.
fn largest_tile(division: &Division, group: &Group) -> u64 {
    let grid = &group.grid;
    let sides = grid.shape.iter().zip(&grid.region);
    let shape = sides.map(|(size, range)| (*size).min(range.len().unwrap_or(i64::MAX)).max(0) as u64);
    stored_bytes(division.stages.tensor(group.target), &shape.collect::<Vec<_>>())
}

/// Bytes that a task holds besides the tiles it reads.
pub fn held_bytes(division: &Division, group: &Group, task: &Task) -> u64 {
    let own = task.steps.as_ref().map_or(0, |(_, slot)| {
        (slot.elements().min(u64::MAX.into()) as u64).saturating_mul(element_bytes(division, group))
    });
    let formats =
        freezing_bytes(division, group, &task.tile).saturating_add(listing_bytes(division, group, task));
    let held = [own, formats, calling_bytes(division, group, task)];
    held.into_iter().fold(buffers(&division.stages, group, task).total(), u64::saturating_add)
}

/// What a host function is given, and what it gives back.
fn calling_bytes(division: &Division, group: &Group, task: &Task) -> u64 {
    let Some(call) = division.stages.hosts.get(&group.target) else { return 0 };
    let take = |take: &TensorId| Some((*take, &task.slots[*group.places.get(take)?].as_ref()?.region));
    let arrays = call.takes.iter().filter_map(take).chain([(group.target, &task.tile)]);
    let bytes = arrays.map(|(id, region)| {
        let elements = volume(region).min(u64::MAX.into()) as u64;
        elements.saturating_mul(division.stages.tensor(id).element.bytes())
    });
    bytes.fold(0, u64::saturating_add)
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

/// The stored elements of tiles in formats, listed by row: begins of rows, two coordinates and a value each, once for
/// each dimension along which they follow each other.
fn listing_bytes(division: &Division, group: &Group, task: &Task) -> u64 {
    let bytes = group.lists.iter().filter_map(|list| {
        let at = *group.places.get(&list.tensor)?;
        let region =
            &task.slots[at].as_ref().filter(|_| matches!(group.members[at].role, Role::Gather(_)))?.region;
        let elements = volume(region).min(u64::MAX.into()) as u64;
        // There are no more rows than elements, and one begin more than rows.
        let width = division.stages.tensor(list.tensor).element.bytes();
        Some(elements.saturating_mul(12 + width).saturating_add(4))
    });
    bytes.fold(0, u64::saturating_add)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::fuse::Rows;
    use super::super::group::{Request, groups, needed_boxes};
    use super::super::stages::stages;
    use super::super::stop::Stop;
    use super::*;
    use crate::compile::{Options, compile};
    use crate::diagnostic::Diagnostics;
    use crate::graph::modules::NoFiles;
    use crate::source::Sources;
    use std::sync::Arc;

    /// Who computes what of a box of the last tensor of a script.
    pub(in crate::plan) fn divided(script: &str, region: &[(i64, i64)], tile: &[i64]) -> Division {
        let mut sources = Sources::default();
        let root = sources.add("divided.itp", script);
        let mut diagnostics = Diagnostics::default();
        let program = compile(&mut sources, root, &NoFiles, &Options::default(), &mut diagnostics);
        let program = program.unwrap_or_else(|| panic!("{:?}", diagnostics.into_sorted()));
        let stages = Arc::new(stages(&program.graph, &program.accesses, Rows::Ahead).unwrap());
        let target = program.graph.iter().last().unwrap().0;
        let region = region.iter().map(|(from, to)| Interval::new(*from, *to).unwrap()).collect();
        let stop = Stop::default();
        let request = Request { target, region, threads: 1, tile: Some(tile.to_vec()), stop };
        let boxes = needed_boxes(&stages, &request).unwrap();
        let groups = groups(&stages, &request, &boxes).unwrap();
        Division { stages, boxes, groups, stop: Stop::default() }
    }

    /// Goes through no task, but lists what tasks read along every dimension.
    const LISTED: Effort = Effort { walked: 0, listed: 1 << 20, looked_at: 0 };
    /// Does not even list them.
    const LEAST: Effort = Effort { walked: 0, listed: 0, looked_at: 0 };

    /// Tasks of 4 rows read 16 rows of a source that is computed once: five tiles of it, of 256 bytes.
    pub(in crate::plan) const ROWS: &str = "
        tensor a: f32[y: inf, x: inf] = sum(k in 0..50) sin(f32(y * k + x))
        tensor b: f32[y: inf, x: inf] = sum(k in -2..=2) a[y + 3 * k, x]";

    #[test]
    fn what_lives_during_rows_is_counted_exactly() {
        let tall = divided(ROWS, &[(0, 64), (0, 16)], &[4, 16]);
        let wide = divided(ROWS, &[(0, 64), (0, 64)], &[4, 16]);
        // Workers, then rows of tiles that live: five, one more per row that workers are behind, and two where none are listed.
        let cases =
            [(&tall, 1, [5, 7], 1), (&tall, 4, [8, 10], 1), (&wide, 4, [6, 8], 4), (&wide, 9, [7, 9], 4)];
        for (division, threads, rows, in_row) in cases {
            for (effort, rows) in [LISTED, LEAST].into_iter().zip(rows) {
                let tiles = rows * in_row;
                let peak = Peak {
                    tiles: tiles + threads as u64,
                    tile_bytes: tiles * (256 + TILE_BESIDE),
                    scratch_bytes: 1024 * threads as u64,
                    made: division.tiles(),
                };
                assert_eq!(peak_within(division, threads, effort).unwrap(), peak, "{threads}, {effort:?}");
            }
        }
    }

    #[test]
    fn tasks_hold_what_formats_take() {
        let script = "
            tensor a: f32[y: inf, x: inf] format dense(sparse_list(element(0.0))) =
                if y % 3 == 0 then sum(k in 0..50) sin(f32(y * k + x)) else 0
            tensor b: f32[y: inf, x: inf] = sum(k in -2..=2) a[y + 3 * k, x]";
        let division = divided(script, &[(0, 24), (0, 16)], &[4, 16]);
        let freezing =
            |group: &Group| freezing_bytes(&division, group, &group.grid.tile(&group.grid.middle()));
        assert_eq!(division.groups.iter().map(freezing).collect::<Vec<_>>(), [64 * (24 + 2 * 4), 0]);
        // A box of 16 rows, its elements listed by row, and five tiles: 64 elements, as many places, and 5 ends of rows each.
        let scratch_bytes = 256 * 4 + 256 * (12 + 4) + 4;
        let peak = Peak {
            tiles: 6,
            tile_bytes: 5 * (64 * 4 + (64 + 5) * 4 + TILE_BESIDE),
            scratch_bytes,
            made: division.tiles(),
        };
        assert_eq!(peak_within(&division, 1, Effort::USUAL).unwrap(), peak);
    }
}
