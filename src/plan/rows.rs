//! How many rows of its members a task holds at once, without going through all of its bands.
//!
//! ```text
//! r[t, x] = r[t - 1, x] + a[t - 1, x] + b[t // 2, x]      10^7 steps: three of them tell that a and b hold one row each
//! ```
//!
//! What a band needs follows the band: rows are `stride · ⌊band / per⌋ + range`, and as many are held in one band as in
//! the band that comes `per` later, or ever more, or ever fewer. So the first ones and the last ones tell.

use super::bands::{Bands, Task};
use super::group::Group;
use super::needs::Need;
use super::stages::Stages;
use crate::access::footprint::Region;
use crate::graph::body::TensorId;
use crate::index::Interval;

/// Bands that are gone through one by one.
const WALKED: i64 = 1 << 10;
/// The same where what they need follows no rule; beyond that, all rows are held.
const MOST_WALKED: i64 = 1 << 16;
/// Bands after which the pattern has repeated, at the most.
const MOST_PERIOD: i64 = 1 << 8;

/// The most rows that have to be held of every member.
pub(super) fn most_rows(stages: &Stages, group: &Group, task: &Task) -> Vec<i64> {
    let streams =
        group.members.iter().zip(&task.slots).any(|(member, slot)| member.stream.is_some() && slot.is_some());
    let bands = Bands::count(group, task);
    if !streams {
        vec![1; group.members.len()]
    } else if bands <= WALKED {
        walked(stages, group, task)
    } else if let Some(period) = period(stages, group) {
        sampled(stages, group, task, period)
    } else if bands <= MOST_WALKED {
        walked(stages, group, task)
    } else {
        vec![i64::MAX; group.members.len()]
    }
}

/// Goes through the bands as they are, and as they would be from the start on: a task of which another one of its shape
/// has longer bands holds as much as that.
fn walked(stages: &Stages, group: &Group, task: &Task) -> Vec<i64> {
    let whole = most_of(group, Bands::from_the_start(stages, group, task));
    if group.from.is_none() {
        return whole;
    }
    let own = most_of(group, Bands::new(stages, group, task));
    whole.into_iter().zip(own).map(|(a, b)| a.max(b)).collect()
}

fn most_of(group: &Group, mut bands: Bands<'_>) -> Vec<i64> {
    let mut most = vec![1; group.members.len()];
    while bands.advance().is_some() {
        for (most, held) in most.iter_mut().zip(bands.held()) {
            *most = (*most).max(held.len().unwrap_or(1));
        }
    }
    most
}

/// What a member reads of another along the dimension that streams.
fn streamed<'s>(stages: &'s Stages, group: &'s Group) -> impl Iterator<Item = (TensorId, &'s Need, usize)> {
    group.members.iter().filter_map(|member| Some((member, member.stream?))).flat_map(move |(member, dim)| {
        let readers = member.readers.iter().map(|reader| reader_of(group, *reader));
        readers.filter_map(move |id| Some((id, stages.needs[id.index()].of(member.tensor)?, dim)))
    })
}

/// The tensor of a member, or the target after the last of them.
pub(super) fn reader_of(group: &Group, reader: usize) -> TensorId {
    group.members.get(reader).map_or(group.target, |member| member.tensor)
}

/// After how many coordinates of the target every need has moved on by whole steps; none if one follows no such rule.
pub(super) fn period(stages: &Stages, group: &Group) -> Option<i64> {
    let mut period = 1i64;
    for (id, need, dim) in streamed(stages, group) {
        period = period.checked_mul(need.period(dim, stages, id)?)?;
    }
    (period <= MOST_PERIOD).then_some(period)
}

/// Looks at bands of a whole period at either end, each as if it were the first: that one holds most.
fn sampled(stages: &Stages, group: &Group, task: &Task, period: i64) -> Vec<i64> {
    let mut most = vec![1; group.members.len()];
    let all = Bands::range(group, task);
    for place in 0..period {
        for start in [all.first() + place, all.last() - place] {
            let last = start.saturating_add(group.band - 1);
            let rows = full_rows(stages, group, task, Interval::trusted(start, last));
            for (most, rows) in most.iter_mut().zip(rows) {
                *most = (*most).max(rows.len().unwrap_or(1));
            }
        }
    }
    most
}

/// The rows of every member that a band needs of which nothing is there, wherever members end.
fn full_rows(stages: &Stages, group: &Group, task: &Task, band: Interval) -> Vec<Interval> {
    let mut rows = vec![Interval::EMPTY; group.members.len()];
    for at in (0..group.members.len()).rev() {
        let (Some(dim), Some(_)) = (group.members[at].stream, &task.slots[at]) else { continue };
        for reader in &group.members[at].readers {
            let Some(region) = full_region(group, task, &rows, *reader, band) else { continue };
            let id = reader_of(group, *reader);
            let Some(need) = stages.needs[id.index()].of(group.members[at].tensor) else { continue };
            let own = need.reach_of(dim, &region, stages, id);
            rows[at] = if rows[at].is_empty() { own } else { rows[at].hull(own) };
        }
    }
    rows
}

/// The box of a reader in such a band.
fn full_region(
    group: &Group,
    task: &Task,
    rows: &[Interval],
    reader: usize,
    band: Interval,
) -> Option<Region> {
    let (region, stream, rows) = match group.members.get(reader) {
        Some(member) => (&task.slots[reader].as_ref()?.region, member.stream, rows[reader]),
        None => (&task.tile, group.stream, band),
    };
    let mut region = region.clone();
    region[stream?] = rows;
    Some(region)
}
