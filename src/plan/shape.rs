//! How large tiles and bands are.
//!
//! ```text
//! f32[y: inf, x: inf], 4096 × 4096 asked for      tiles 128 × 4096, bands of 4 rows
//! ```
//!
//! Rows as long as the caches allow, because what a task computes beyond its tile lies at the ends of rows; rows
//! enough that little is computed again above and below; tiles enough that every worker has some.

use super::bands::task;
use super::grid::{Grid, volume};
use super::group::{Group, Needed, Request};
use super::needs::{Need, closed_form};
use super::recurrence::recurrence;
use super::scattered::cut_scattered;
use super::stages::Stages;
use crate::access::footprint::Region;
use crate::access::order::{LoopOrder, loop_order, planes};
use crate::access::{Driver, Reach, TensorAccess};
use crate::graph::body::{Coord, TensorId};
use crate::graph::{Recurrence, Tensor, TensorKind};
use crate::index::Interval;
use std::collections::BTreeSet;

/// Elements of a tile, about.
const TILE: i64 = 1 << 19;
/// Coordinates of a tile along its last dimension, at the most, where there are others along which it has some.
const ROW: i64 = 4096;
/// Elements that a tile has if its rows are so long that every worker has several such: fewer take less time than what is
/// done once per tile.
const FEW: i64 = 1 << 16;
/// Tiles that a worker has then, at the least.
const SEVERAL: i64 = 8;
/// The same where a source is read across its rows: each of them is a page of its own.
const ACROSS: i64 = 512;
/// Elements of an input that a tile reads, about, if others read them, too: part of a third-level cache.
const NEAR: u128 = 1 << 20;
/// Dimensions up to this length are not cut.
const SHORT: i64 = 16;
/// Rows that go across their source are not cut below this.
const LANES: i64 = 64;
/// Bytes of the steps of a recurrence that are held at once, about.
const STEPS: u64 = 256 << 20;
/// Bytes of all rings of a task, about: part of a second-level cache.
const RINGS: u128 = 512 << 10;

/// The tiles of a group that makes `region` of `target`.
pub fn grid(stages: &Stages, request: &Request, target: TensorId, region: &Region) -> Grid {
    let rank = region.len();
    let tensor = stages.tensor(target);
    if let Some(call) = stages.hosts.get(&target) {
        // A host function makes one window at a time, whole.
        let whole = |dim: usize| tensor.domain.dims()[dim].interval;
        let region = (0..rank)
            .map(|dim| if dim < call.numbers { region[dim] } else { whole(dim) })
            .collect::<Region>();
        let sizes = region.iter().map(|range| range.len().unwrap_or(1).max(1));
        let shape = sizes.enumerate().map(|(dim, size)| if dim < call.numbers { 1 } else { size }).collect();
        return Grid::new(region, vec![0; rank], shape);
    }
    let (access, dims) = (&stages.accesses[target.index()], tensor.domain.intervals());
    let order = loop_order(access, &dims);
    let together = order.beside.or_else(|| planes(access, &dims)).map(|planes| planes.dim);
    let alone = |dim: usize| Some(dim) != together && falls_apart(stages, target, dim as u32);
    let apart: Vec<bool> = (0..rank).map(alone).collect();
    let mut shape = default_shape(region, &apart, &order, request.threads);
    keep_near(stages, target, region, &order, &mut shape);
    cut_scattered(stages, target, region, &mut shape);
    let bounded = |dim: usize| tensor.domain.dims()[dim].interval.is_bounded();
    if let Some(chunk) = &tensor.chunk {
        let endless = (0..rank).filter(|dim| !bounded(*dim));
        endless.zip(chunk).for_each(|(dim, size)| shape[dim] = (*size).max(1));
    }
    if let Some(tile) = &request.tile {
        let skip = rank.saturating_sub(tile.len());
        let tile = &tile[tile.len().saturating_sub(rank)..];
        shape[skip..].iter_mut().zip(tile).for_each(|(own, size)| *own = (*size).max(1));
    }
    if let Some(recurrence) = recurrence(stages, target) {
        shape = whole_steps(region, recurrence, tensor.element.bytes());
    }
    let asked = target == request.target;
    // What fits into one tile is one, wherever it starts.
    let one = |dim: usize| region[dim].len().is_some_and(|len| len <= shape[dim]);
    let starts = |dim: usize| if asked || one(dim) { region[dim].first() } else { 0 };
    let origin = (0..rank).map(starts).collect();
    for (size, range) in shape.iter_mut().zip(region) {
        *size = (*size).min(range.len().unwrap_or(1).max(1) + if asked { 0 } else { i64::MAX / 8 });
    }
    shape.iter_mut().zip(region).for_each(|(size, range)| {
        if *size > 1 << 40 {
            *size = range.len().unwrap_or(1).max(1);
        }
    });
    Grid::new(region.clone(), origin, shape)
}

/// Cuts tiles that read a lot of an input that other stages read, too, so that it is still near when those do.
fn keep_near(stages: &Stages, target: TensorId, region: &Region, order: &LoopOrder, shape: &mut [i64]) {
    let needs = &stages.needs[target.index()];
    let readers = |source: TensorId| {
        stages.needs.iter().filter(|needs| needs.sources.iter().any(|need| need.source == source)).count()
    };
    let read_of = |need: &Need, shape: &[i64]| {
        let tile = region.iter().zip(shape).map(|(range, size)| {
            Interval::trusted(range.first(), range.last().min(range.first().saturating_add(size - 1)))
        });
        volume(&closed_form(stages, target, need, &tile.collect::<Region>()))
    };
    let dense = |source: TensorId| {
        let source = stages.tensor(source);
        matches!(source.kind, TensorKind::Input(_)) && source.format.is_none()
    };
    let much = needs.sources.iter().filter(|need| dense(need.source) && read_of(need, shape) > NEAR);
    let common: Vec<&Need> = much.filter(|need| readers(need.source) > 1).collect();
    let read = |shape: &[i64]| common.iter().map(|need| read_of(need, shape)).max().unwrap_or(0);
    let rows = shape.len().saturating_sub(1);
    // What goes across its source takes the more rows of it the longer its own are.
    let (cut, short) = if order.across { (rows..shape.len(), LANES) } else { (0..rows, SHORT) };
    while let Some(dim) = cut.clone().find(|dim| shape[*dim] > short).filter(|_| read(shape) > NEAR) {
        let (before, whole) = (read(shape), shape[dim]);
        shape[dim] = (whole + 1) / 2;
        if read(shape) >= before {
            shape[dim] = whole;
            return;
        }
    }
}

/// The shape of the tiles of a tensor when much of it is asked for by one worker, and its dimensions belong together.
pub fn usual_tile(tensor: &Tensor) -> Vec<i64> {
    const MUCH: i64 = 1 << 20;
    let dims = tensor.domain.dims().iter();
    let region: Region = dims
        .map(|dim| {
            Some(dim.interval).filter(|own| own.is_bounded()).unwrap_or(Interval::trusted(0, MUCH - 1))
        })
        .collect();
    let order = loop_order(&TensorAccess::default(), &tensor.domain.intervals());
    let mut shape = default_shape(&region, &vec![false; region.len()], &order, 1);
    let endless = tensor.domain.dims().iter().enumerate().filter(|(_, dim)| !dim.interval.is_bounded());
    let sizes = endless.zip(tensor.chunk.iter().flatten());
    sizes.for_each(|((dim, _), size)| shape[dim] = (*size).max(1));
    shape
}

/// Steps of a recurrence are made whole, by all workers together: tiles of their own would begin at the first step
/// each, and compute again what their neighbours do. Only what is very large is cut, into few.
fn whole_steps(region: &Region, recurrence: &Recurrence, element: u64) -> Vec<i64> {
    let len = |dim: usize| region[dim].len().unwrap_or(1).max(1);
    let others = || (0..region.len()).filter(|dim| *dim != recurrence.dim);
    let held = (recurrence.reach as u64 + 1).next_power_of_two().saturating_mul(element);
    let mut shape: Vec<i64> = (0..region.len()).map(len).collect();
    let bytes = |shape: &[i64]| others().fold(held, |bytes, dim| bytes.saturating_mul(shape[dim] as u64));
    while bytes(&shape) > STEPS
        && let Some(longest) = others().max_by_key(|dim| shape[*dim]).filter(|dim| shape[*dim] >= 2 * ROW)
    {
        shape[longest] = (shape[longest] + 1) / 2;
    }
    (0..region.len()).map(|dim| if shape[dim] == len(dim) { i64::MAX / 4 } else { shape[dim] }).collect()
}

/// Whether the coordinates of a dimension have nothing to do with each other: one of the target needs just one of every
/// stage before it, as channels do that are blurred each for itself.
fn falls_apart(stages: &Stages, target: TensorId, dim: u32) -> bool {
    let mut seen = BTreeSet::new();
    let mut queue = vec![(target, dim)];
    while let Some((id, dim)) = queue.pop() {
        if !seen.insert((id, dim)) {
            continue;
        }
        if matches!(stages.tensor(id).kind, TensorKind::Windowed(_)) || recurrence(stages, id).is_some() {
            return false;
        }
        for read in &stages.accesses[id.index()].reads {
            match followed(&read.reach, dim) {
                Some(own) => queue.push((read.tensor, own)),
                None if matches!(
                    stages.tensor(read.tensor).kind,
                    TensorKind::Input(_) | TensorKind::Var(_)
                ) => {}
                None => return false,
            }
        }
    }
    true
}

/// The dimension of what is read that goes along with a dimension of the reader, one by one.
fn followed(reach: &[Reach], dim: u32) -> Option<u32> {
    let driver = Some(Driver { coord: Coord::Global(dim), stride: 1, per: 1 });
    let own = reach.iter().position(|reach| reach.driver == driver && reach.range.len() == Some(1))?;
    let alone = reach.iter().filter(|reach| reach.driver.is_some_and(|by| by.coord == Coord::Global(dim)));
    (alone.count() == 1).then_some(own as u32)
}

fn default_shape(region: &Region, apart: &[bool], order: &LoopOrder, threads: usize) -> Vec<i64> {
    let rank = region.len();
    let len = |dim: usize| region[dim].len().unwrap_or(1).max(1);
    let mut shape = vec![1; rank];
    // Channels and the like are whole in every tile, if readers need several of them, and else on their own: what a
    // task holds of its sources is so much less.
    let short = |dim: usize| dim + 1 < rank && len(dim) <= SHORT && !apart[dim];
    let mut left = TILE;
    for dim in (0..rank).filter(|dim| short(*dim)) {
        shape[dim] = len(dim);
        left = (left / shape[dim]).max(1);
    }
    let row = order.dims.last().copied();
    let all = (0..rank).map(len).fold(1, i64::saturating_mul);
    let others = all / row.filter(|dim| *dim < rank).map_or(1, len);
    let most = (FEW / others).min(all / others / (SEVERAL * threads.max(1) as i64));
    let longest = if order.across { ACROSS } else { ROW.max(most) };
    let inner_first = order.dims.iter().copied().rev().filter(|dim| *dim < rank);
    for dim in inner_first.filter(|dim| !short(*dim)) {
        let most = if Some(dim) == row { longest } else { left.max(1) };
        // A little more than a tile is still one tile.
        shape[dim] = if len(dim) <= most + most / 2 { len(dim) } else { most };
        left /= shape[dim].max(1);
    }
    share(&mut shape, region, threads);
    shape
}

/// Cuts tiles until every worker has several, as long as that leaves them large enough.
fn share(shape: &mut [i64], region: &Region, threads: usize) {
    let tiles = |shape: &[i64]| -> i64 {
        let counts =
            shape.iter().zip(region).map(|(size, range)| (range.len().unwrap_or(1) + size - 1) / size);
        counts.fold(1, i64::saturating_mul)
    };
    let wanted = if threads > 1 { 4 * threads as i64 } else { 1 };
    while tiles(shape) < wanted && shape.iter().fold(1i64, |n, size| n.saturating_mul(*size)) > 1 << 15 {
        let rows = shape.len().saturating_sub(1);
        let Some(dim) = (0..rows).find(|dim| shape[*dim] > 1).or((!shape.is_empty()).then_some(rows)) else {
            return;
        };
        shape[dim] = (shape[dim] + 1) / 2;
    }
}

/// Sets the rows per band: as many as rings that stay in the caches have room for. Where even a few rows are too long
/// for that, and half as long ones are not, tiles are half as wide, unless somebody wants them as they are.
pub fn set_band(stages: &Stages, request: &Request, group: &mut Group, boxes: &Needed) {
    let wanted = request.tile.is_some() || stages.tensor(group.target).chunk.is_some();
    if fit_band(stages, group, boxes) || wanted {
        return;
    }
    let mut shape = group.grid.shape.clone();
    let Some(row) = shape.last_mut().filter(|row| (ROW / 2..=2 * ROW).contains(&**row)) else { return };
    *row = (*row + 1) / 2;
    let halves = Grid::new(group.grid.region.clone(), group.grid.origin.clone(), shape);
    let whole = std::mem::replace(&mut group.grid, halves);
    if !fit_band(stages, group, boxes) {
        group.grid = whole;
    }
}

/// Sets the rows per band; false if their rings are too large however few they are.
fn fit_band(stages: &Stages, group: &mut Group, boxes: &Needed) -> bool {
    [64, 32, 16, 8, 4].into_iter().any(|rows| {
        group.band = rows;
        ring_bytes(stages, group, boxes) <= RINGS
    })
}

/// Bytes of all rings of a task in the middle, as long as it goes on.
fn ring_bytes(stages: &Stages, group: &Group, boxes: &Needed) -> u128 {
    let mut tile = group.grid.tile(&group.grid.middle());
    if let Some(dim) = group.stream {
        let (first, last) = (tile[dim].first(), tile[dim].last());
        tile[dim] = Interval::trusted(first, last.min(first + 4 * group.band - 1));
    }
    let task = task(stages, group, boxes, tile);
    let rings = group.members.iter().zip(&task.slots).filter(|(member, _)| member.stream.is_some());
    let bytes = rings.map(|(member, slot)| {
        let elements = slot.as_ref().map_or(0, |slot| slot.elements());
        elements.saturating_mul(stages.tensor(member.tensor).element.bytes().into())
    });
    bytes.fold(0, u128::saturating_add)
}
