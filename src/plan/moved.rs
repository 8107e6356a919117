//! A plan for one place -> the same plan at another.
//!
//! ```text
//! soft[y, x] = sum(i in -2..=2) rows[y + i, x]      soft 0..512, 0..512  needs  rows -2..514, 0..512
//!                                                   soft 7..519, 9..521  needs  rows  5..521, 9..521
//! ```
//!
//! To plan a small box takes longer than to compute it, and boxes of one size are mostly planned alike wherever they
//! lie. That holds where every read moves along with the reader, one by one, whatever its coordinates are, and where
//! tensors go on for ever along the dimensions that move: [`steady`] finds out. Nothing else is moved.

use super::group::order;
use super::needs::varies;
use super::readers::Division;
use super::stages::Stages;
use super::stop::Stop;
use crate::access::Access;
use crate::access::exact::NEAR;
use crate::access::footprint::Region;
use crate::access::linear::{Atom, Linear};
use crate::graph::body::{Coord, TensorId};
use crate::graph::{Pointwise, TensorKind};
use crate::index::Interval;
use std::collections::BTreeMap;

/// How a plan moves along with the box that is asked for.
#[derive(Debug)]
pub struct Steady {
    /// Per stage and dimension of it, the dimension of the target that it moves with, if it moves.
    with: BTreeMap<TensorId, Vec<Option<usize>>>,
    /// Per dimension of the target, whether it has to stay: something that moves with it ends.
    stays: Vec<bool>,
}

/// How far to move, per dimension of the target.
pub type Distance = Vec<i64>;

/// How the plan of a request moves, if it is the same at other places.
pub fn steady(division: &Division) -> Option<Steady> {
    let [group] = &division.groups[..] else { return None };
    let stages = &division.stages;
    let rank = stages.tensor(group.target).domain.rank();
    let mut with = BTreeMap::from([(group.target, (0..rank).map(Some).collect::<Vec<_>>())]);
    for id in order(stages, group.target).into_iter().rev() {
        let own = with.get(&id)?.clone();
        for read in plain_reads(stages, id)? {
            let moves = read.map.iter().map(|form| Some(moved_by(form)?.and_then(|dim| own[dim])));
            let moves: Vec<Option<usize>> = moves.collect::<Option<_>>()?;
            if *with.entry(read.tensor).or_insert_with(|| moves.clone()) != moves {
                return None;
            }
        }
    }
    let all_near = division.boxes.values().all(|region| is_near(region));
    let all_needed = with.keys().eq(division.boxes.keys());
    let mut stays = vec![false; rank];
    for (id, moves) in &with {
        let dims = stages.tensor(*id).domain.dims().iter().zip(moves);
        let ends = dims.filter(|(dim, _)| dim.enforced() != Interval::all());
        ends.filter_map(|(_, with)| *with).for_each(|dim| stays[dim] = true);
    }
    (all_near && all_needed).then_some(Steady { with, stays })
}

/// The reads of a plain body, if it does not depend on coordinates whether they happen.
fn plain_reads(stages: &Stages, id: TensorId) -> Option<&[Access]> {
    let TensorKind::Pointwise(Pointwise { body, recurrence: None }) = &stages.tensor(id).kind else {
        return None;
    };
    let reads = &stages.accesses[id.index()].reads[..];
    let varies = varies(&body.body);
    let always = |read: &Access| read.conditions.iter().all(|(node, _)| !varies[node.index()]);
    reads.iter().all(always).then_some(reads)
}

/// The coordinate of the reader that moves one of a source, one by one: `y + i - 2` moves with y, `i` with none.
///
/// None of `2 * y`, `y + x`, `y // 2`, and what is computed in other ways.
fn moved_by(form: &Linear) -> Option<Option<usize>> {
    let mut by = None;
    for (atom, factor) in &form.terms {
        match atom {
            Atom::Coord(Coord::Global(dim)) if *factor == 1 && by.is_none() => by = Some(*dim as usize),
            Atom::Coord(Coord::Bound(_)) => {}
            Atom::Coord(_) | Atom::Floor(_) | Atom::Node(_) => return None,
        }
    }
    Some(by)
}

/// Farther out, plans are looked at more closely.
fn is_near(region: &[Interval]) -> bool {
    region.iter().all(|range| range.first() >= -NEAR && range.last() <= NEAR)
}

impl Steady {
    /// How far a box lies from another, if plans can be moved from there to here.
    pub fn distance(&self, from: &[Interval], to: &[Interval]) -> Option<Distance> {
        let dims = from.iter().zip(to).zip(&self.stays);
        dims.map(|((from, to), stays)| {
            let far = to.first().checked_sub(from.first())?;
            let moves = from.len() == to.len() && !(*stays && far != 0);
            moves.then_some(far)
        })
        .collect()
    }

    /// The plan at another place; none where fresh ones are looked at more closely.
    pub fn moved(&self, division: &Division, by: &[i64], stop: Stop) -> Option<Division> {
        let mut boxes = division.boxes.clone();
        for (id, region) in &mut boxes {
            let moves = self.with[id].iter().map(|with| with.map_or(0, |dim| by[dim]));
            *region =
                region.iter().zip(moves).map(|(range, by)| range.shift(by).ok()).collect::<Option<_>>()?;
        }
        let mut groups = division.groups.clone();
        for group in &mut groups {
            group.grid.region = boxes[&group.target].clone();
            group.grid.origin.iter_mut().zip(by).for_each(|(origin, by)| *origin += by);
        }
        let near = boxes.values().all(|region: &Region| is_near(region));
        near.then(|| Division { stages: division.stages.clone(), boxes, groups, stop })
    }
}
