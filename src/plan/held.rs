//! What a task holds besides the tiles that it reads, at the most: one task of every kind is looked at.
//!
//! ```text
//! 1000 tiles of 8 rows that read a row above and below, of 0..8000      the first, the last, and all the others
//! ```
//!
//! Tasks are of one kind if their tiles are as large, and what they may need is, too. Each dimension of that follows one
//! number of the task ([`task_ranges`](super::group::task_ranges)), so that kinds are found dimension by dimension.

use super::bands::{Task, task, widest_task};
use super::group::{Group, PlanError};
use super::peak::{Effort, held_bytes};
use super::readers::{Division, each};
use super::recurrence::recurrence;
use super::rows::period;
use crate::index::Interval;
use std::collections::BTreeMap;

/// Kinds of tasks that are looked at, at the most.
const KINDS: usize = 1 << 12;
/// Places that are looked at one after the other, where there are too many.
const NEAR: i64 = 64;

/// The most that one task of a group holds besides tiles.
pub(super) fn most_held(division: &Division, group: usize, effort: Effort) -> Result<u64, PlanError> {
    let listed = &division.groups[group];
    let bytes = |task: &Task| held_bytes(division, listed, task);
    let (stages, boxes) = (&division.stages, &division.boxes);
    let mut most = 0;
    if listed.grid.count() <= effort.looked_at {
        for place in 0..listed.grid.count() {
            division.stop.check()?;
            let tile = listed.grid.tile(&listed.grid.number(place));
            most = most.max(bytes(&task(stages, listed, boxes, tile)));
        }
        return Ok(most);
    }
    let rank = listed.grid.numbers.len();
    let kinds = (0..rank).map(|dim| kinds_along(division, group, dim, effort));
    let kinds: Vec<Vec<i64>> = kinds.collect::<Result<_, PlanError>>()?;
    for number in combined(&kinds) {
        division.stop.check()?;
        most = most.max(bytes(&widest_task(stages, listed, boxes, listed.grid.tile(&number))));
    }
    Ok(most)
}

/// One number of every kind along a dimension.
fn kinds_along(division: &Division, group: usize, dim: usize, effort: Effort) -> Result<Vec<i64>, PlanError> {
    let listed = &division.groups[group];
    let numbers = listed.grid.numbers[dim];
    let mut at: Vec<i64> = listed.grid.numbers.iter().map(|numbers| numbers.first()).collect();
    let align = alignment(division, listed, dim);
    let mut kinds: BTreeMap<Vec<i64>, i64> = BTreeMap::new();
    for number in looked_at(numbers, effort.listed) {
        division.stop.check()?;
        at[dim] = number;
        let tile = listed.grid.range(dim, number);
        let needs = division.ranges(group, &at);
        let lens = needs.iter().flatten().chain([&tile]).map(|range| range.len().unwrap_or(i64::MAX));
        let start = match align {
            Align::Any => 0,
            Align::Period(period) => tile.first().rem_euclid(period),
            Align::Each => number,
        };
        kinds.entry(lens.chain([start]).collect()).or_insert(number);
    }
    Ok(kinds.into_values().collect())
}

/// All numbers along a dimension, or of very many the first, the last and some between.
fn looked_at(numbers: Interval, most: u128) -> impl Iterator<Item = i64> {
    let (first, last) = (numbers.first(), numbers.last());
    let middle = first + (last - first) / 2;
    let ranges = match numbers.len().unwrap_or(i64::MAX) as u128 <= most {
        true => [first..last + 1, 0..0, 0..0],
        false => [first..first + NEAR, middle..middle + NEAR, last - NEAR..last + 1],
    };
    ranges.into_iter().flatten().filter(move |number| numbers.contains(*number))
}

/// Which part of where a tile begins says how many rows of its members are held at once.
enum Align {
    /// None.
    Any,
    /// Its place in a period.
    Period(i64),
    /// All of it.
    Each,
}

fn alignment(division: &Division, group: &Group, dim: usize) -> Align {
    let steps = recurrence(&division.stages, group.target).is_some();
    let one_band = group.stream != Some(dim) || group.grid.shape[dim] <= group.band;
    let streams = group.members.iter().any(|member| member.stream.is_some());
    match period(&division.stages, group) {
        _ if !steps && (one_band || !streams) => Align::Any,
        Some(period) if !steps => Align::Period(period),
        Some(_) | None => Align::Each,
    }
}

/// Every choice of one number per dimension; of very many, some evenly.
fn combined(kinds: &[Vec<i64>]) -> Vec<Vec<i64>> {
    let count = kinds.iter().map(Vec::len).fold(1usize, usize::saturating_mul);
    let step = count / KINDS + 1;
    let choices: Vec<Interval> =
        kinds.iter().map(|kinds| Interval::trusted(0, kinds.len() as i64 - 1)).collect();
    let (mut combined, mut next) = (Vec::new(), 0usize);
    each(&choices, |choice| {
        if next % step == 0 {
            combined.push(choice.iter().zip(kinds).map(|(at, kinds)| kinds[*at as usize]).collect());
        }
        next += 1;
    });
    combined
}
