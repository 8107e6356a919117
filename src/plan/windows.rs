//! A division -> the windows that its tasks compute, also those of stages that are computed inside of others.
//!
//! ```text
//! parts: windows 0 and 1 in task 0, 1 and 2 in task 1        1 is computed by both, and lives from 0 to 2
//! ```

use super::bands::task;
use super::group::Role;
use super::readers::{Division, TileId};
use super::stages::Stages;
use super::timeline::{Lane, Life};
use crate::access::footprint::{Region, footprint, windows};
use crate::graph::body::TensorId;
use crate::graph::{TensorKind, Windowed};
use crate::index::{Interval, Overflow};
use std::collections::BTreeMap;

/// Windows of a tensor that are told apart; of more the first are.
const MOST: usize = 512;

/// Boxes of stages, and those of what is computed in their readers.
pub fn with_fused(
    division: &Division,
    boxes: impl IntoIterator<Item = (TensorId, Region)>,
) -> BTreeMap<TensorId, Region> {
    let mut found: BTreeMap<TensorId, Region> = BTreeMap::new();
    let mut queue: Vec<_> = boxes.into_iter().collect();
    while let Some((id, region)) = queue.pop() {
        for before in division.stages.joined.get(&id).into_iter().flatten() {
            queue.extend(
                footprint(before, &region)
                    .into_iter()
                    .flatten()
                    .filter(|(source, _)| division.stages.overlapping.contains(source)),
            );
        }
        for fused in division.stages.fused.get(&id).into_iter().flatten() {
            let own = region.iter().enumerate().filter(|(dim, _)| Some(*dim) != fused.lacks);
            let dims = own.map(|(_, range)| range).zip(&fused.reach);
            let moved: Result<Region, Overflow> = dims.map(|(range, reach)| range.add(*reach)).collect();
            queue.extend(moved.ok().map(|region| (fused.source, region)));
        }
        match found.get_mut(&id) {
            Some(known) => known.iter_mut().zip(region).for_each(|(known, range)| *known = known.hull(range)),
            None => _ = found.insert(id, region),
        }
    }
    found
}

/// How a stage is made of windows, if it is.
fn windowed(stages: &Stages, id: TensorId) -> Option<&Windowed> {
    match &stages.tensor(id).kind {
        TensorKind::Windowed(windowed) => Some(windowed),
        TensorKind::Input(_) | TensorKind::Var(_) | TensorKind::Pointwise(_) => {
            stages.seamless.get(&id).map(|windowed| &**windowed)
        }
    }
}

/// The numbers of the windows that a box of a stage touches, per dimension, if it is made of windows.
pub fn numbers(stages: &Stages, id: TensorId, region: &[Interval]) -> Option<Vec<Interval>> {
    windows(stages.tensor(id), windowed(stages, id)?, region).ok()
}

/// The windows that tasks compute, in the order in which they begin: a lane per tensor that has any.
pub(super) fn lanes(division: &Division, tasks: &[TileId]) -> Vec<Lane> {
    let mut tensors: BTreeMap<TensorId, BTreeMap<Vec<i64>, Life>> = BTreeMap::new();
    for (at, tile) in (0..).zip(tasks) {
        for (id, region) in with_fused(division, computed(division, tile)) {
            let Some(numbers) = numbers(&division.stages, id, &region) else { continue };
            let known = tensors.entry(id).or_default();
            let room = MOST.saturating_sub(known.len());
            for window in every(&numbers, room) {
                let life = Life { tile: window.clone(), from: at, to: at + 1 };
                known.entry(window).or_insert(life).to = at + 1;
            }
        }
    }
    let lane = |(id, windows): (TensorId, BTreeMap<Vec<i64>, Life>)| {
        let mut lives: Vec<Life> = windows.into_values().collect();
        lives.sort_by_key(|life| life.from);
        Lane {
            name: division.stages.tensor(id).name.clone(),
            count: lives.len() as u128,
            shape: sizes(&division.stages, id),
            lives,
        }
    };
    tensors.into_iter().map(lane).collect()
}

/// The boxes that a task computes: its tile, and what it holds for it alone.
fn computed(division: &Division, (group, tile): &TileId) -> Vec<(TensorId, Region)> {
    let group = &division.groups[*group];
    let task = task(&division.stages, group, &division.boxes, group.grid.tile(tile));
    let own = group.members.iter().zip(task.slots).filter(|(member, _)| member.role == Role::Compute);
    let members = own.filter_map(|(member, slot)| Some((member.tensor, slot?.region)));
    members.chain([(group.target, task.tile)]).collect()
}

/// `96×96`
fn sizes(stages: &Stages, id: TensorId) -> String {
    let dims = windowed(stages, id).map_or(&[][..], |windowed| &windowed.windows.dims);
    dims.iter().map(|window| window.size().to_string()).collect::<Vec<_>>().join("×")
}

/// The first of all combinations of numbers, the last dimension fastest.
fn every(numbers: &[Interval], most: usize) -> Vec<Vec<i64>> {
    let mut found = vec![Vec::new()];
    for range in numbers {
        let along = range.first()..=range.last();
        let longer =
            |start: Vec<i64>| along.clone().take(most).map(move |number| [&start[..], &[number]].concat());
        found = found.into_iter().flat_map(longer).take(most).collect();
    }
    found
}
