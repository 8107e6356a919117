//! How many steps of a recurrence go over its elements at once, and how many workers share them.
//!
//! ```text
//! f32[t, y: 4096, x: 4096] that reads one row up and down      8 steps per pass, in blocks of 8 rows
//! ```
//!
//! Steps that fit into a second-level cache stay there anyway. Of larger ones each would be read from memory and written
//! to it; in a pass of eight that happens once for eight. Workers wait for each other between passes, so that those of
//! small steps meet less often, too.

use super::grid::volume;
use super::group::{Group, Needed, Request, work_box};
use super::inline::weight;
use super::passes::{Cut, Passes, WHOLE};
use super::recurrence::recurrence;
use super::stages::Stages;
use crate::access::footprint::Region;
use crate::diagnostic::bytes;
use crate::graph::Recurrence;

/// Steps per pass that are tried, most first: more save next to nothing.
const TRIED: [i64; 3] = [8, 4, 2];
/// Steps per pass, at the most, whoever asks.
const MOST: i64 = 64;
/// Coordinates that a step may lie behind the one before.
const STEEP: i64 = 1 << 20;
/// Coordinates of a block along a dimension that is cut, but for the last one: the first of these that fits.
const ROWS: [i64; 4] = [64, 32, 16, 8];
/// The same along the last dimension: as many as fit, in multiples of this.
const ROW: i64 = 256;
/// Bytes of a second-level cache.
const CACHE: u128 = 1 << 20;
/// Bytes that a block touches: part of it.
const BLOCK: u128 = CACHE / 8 * 5;
/// Reads per worker and pass that are worth meeting for.
const SHARE: u128 = 1 << 20;
/// What workers may do one after the other at seams, as a part of all.
const SEAMS: i64 = 16;

/// Decides how a recurrence goes over its steps.
pub(super) fn set_passes(stages: &Stages, request: &Request, group: &mut Group, boxes: &Needed) {
    let Some(recurrence) = recurrence(stages, group.target) else { return };
    let passes = Question::new(stages, request, group, boxes, recurrence).answer();
    group.band = passes.steps;
    group.passes = Some(passes);
}

/// What the answer depends on.
struct Question<'p> {
    request: &'p Request,
    /// Dimension of the steps.
    time: usize,
    /// A box that holds all of them.
    hull: Region,
    /// Bytes per element of a step and of those that it reads.
    element: u128,
    /// Bytes per element of everything that a block touches.
    touched: u128,
    /// Reads that an element takes.
    reads: u128,
    /// Dimensions along which steps can follow each other, not cut.
    slanted: Vec<Cut>,
    /// A source that is made anew for every step.
    renewed: Option<String>,
}

impl<'p> Question<'p> {
    fn new(
        stages: &Stages,
        request: &'p Request,
        group: &Group,
        boxes: &Needed,
        recurrence: &Recurrence,
    ) -> Question<'p> {
        let (target, time) = (group.target, recurrence.dim);
        let hull = work_box(stages, target, &boxes[&target]);
        let own = stages.needs[target.index()].own.as_ref();
        let slope = |dim: usize| own?.slope(dim, &hull).filter(|slope| *slope <= STEEP);
        let others = (0..hull.len()).filter(|dim| *dim != time);
        let slanted = others.filter_map(|dim| Some(Cut { dim, size: WHOLE, slope: slope(dim)? })).collect();
        let held = (recurrence.reach as u128 + 1).next_power_of_two();
        let element = held.saturating_mul(stages.tensor(target).element.bytes().into());
        let step = volume(&hull) / hull[time].len().unwrap_or(1).max(1) as u128;
        // Sources that are as large as a step are looked at beside it.
        let beside = group.members.iter().filter(|member| volume(&boxes[&member.tensor]) >= step / 2);
        let touched =
            beside.map(|member| u128::from(stages.tensor(member.tensor).element.bytes())).sum::<u128>();
        let renewed = group.members.iter().find(|member| member.stream.is_some());
        let renewed = renewed.map(|member| stages.tensor(member.tensor).name.to_string());
        let reads = weight(stages, target);
        Question { request, time, hull, element, touched: element + touched, reads, slanted, renewed }
    }

    fn len(&self, dim: usize) -> i64 {
        self.hull[dim].len().unwrap_or(1).max(1)
    }

    /// Elements of a step.
    fn step(&self) -> u128 {
        volume(&self.hull) / self.len(self.time) as u128
    }

    fn answer(&self) -> Passes {
        let held = self.step().saturating_mul(self.element);
        let (held_bytes, cache) = (bytes(held.min(u64::MAX.into()) as u64), bytes(CACHE as u64));
        match self.asked(self.time) {
            _ if self.len(self.time) == 1 => return self.one_by_one("there is no other".to_owned()),
            Some(1) => return self.one_by_one("one was asked for".to_owned()),
            Some(steps) if !self.slanted.is_empty() => {
                let sized = |cut: &Cut| Cut { size: self.asked(cut.dim).unwrap_or(WHOLE), ..*cut };
                let cuts = self.slanted.iter().map(sized).collect();
                return self.passes(steps, cuts, "as many were asked for".to_owned());
            }
            Some(_) | None => {}
        }
        if let Some(name) = &self.renewed {
            return self.one_by_one(format!("`{name}` is needed anew for each"));
        }
        if self.slanted.is_empty() {
            return self.one_by_one("no dimension is read at a fixed distance".to_owned());
        }
        if held <= CACHE && self.workers(TRIED[0]) == 1 {
            return self.one_by_one(format!("{held_bytes} of them stay in a cache of {cache}"));
        }
        for steps in TRIED {
            let workers = self.workers(steps);
            if workers > 1 && !self.slanted.iter().any(|cut| self.has_room(cut, steps, workers)) {
                continue;
            }
            if held <= CACHE {
                return self.passes(steps, self.slanted.clone(), "workers meet less often".to_owned());
            }
            if let Some(cuts) = self.blocks(steps) {
                let why = format!("{held_bytes} of them do not stay in a cache of {cache}, blocks do");
                return self.passes(steps, cuts, why);
            }
        }
        self.one_by_one("a step reads too far for blocks that stay in the cache".to_owned())
    }

    /// What was asked for along a dimension, as part of a tile.
    fn asked(&self, dim: usize) -> Option<i64> {
        let tile = self.request.tile.as_ref()?;
        Some(tile[(dim + tile.len()).checked_sub(self.hull.len())?].max(1))
    }

    fn one_by_one(&self, why: String) -> Passes {
        let others = (0..self.hull.len()).filter(|dim| *dim != self.time);
        let cuts = others.map(|dim| Cut { dim, size: WHOLE, slope: 0 }).collect();
        self.passes(1, cuts, why)
    }

    /// Passes of up to so many steps, all about as long.
    fn passes(&self, steps: i64, cuts: Vec<Cut>, why: String) -> Passes {
        let all = self.len(self.time);
        let count = (all - 1) / steps.min(MOST) + 1;
        let steps = (all - 1) / count + 1;
        Passes { steps, cuts, workers: self.workers(steps), why }
    }

    /// Workers that a pass is worth.
    fn workers(&self, steps: i64) -> usize {
        let reads = self.step().saturating_mul(self.reads).saturating_mul(steps as u128);
        let worth = usize::try_from(reads / SHARE).unwrap_or(usize::MAX);
        worth.clamp(1, self.request.threads.max(1))
    }

    /// Whether workers can share a dimension without doing much one after the other.
    fn has_room(&self, cut: &Cut, steps: i64, workers: usize) -> bool {
        self.len(cut.dim) >= SEAMS * steps * cut.slope * (workers as i64 - 1)
    }

    /// Blocks that stay in the cache, if there are any: the slowest dimensions are cut first, rows last.
    fn blocks(&self, steps: i64) -> Option<Vec<Cut>> {
        let mut cuts = self.slanted.clone();
        for at in 0..cuts.len() {
            for size in self.sizes(&cuts, at, steps) {
                cuts[at].size = size;
                if self.block_bytes(&cuts, steps) <= BLOCK {
                    return Some(cuts);
                }
            }
        }
        None
    }

    /// Sizes of blocks that are tried along a cut, the last of them the least.
    fn sizes(&self, cuts: &[Cut], at: usize, steps: i64) -> Vec<i64> {
        if cuts[at].dim + 1 < self.hull.len() {
            return ROWS.to_vec();
        }
        let mut narrow = cuts.to_vec();
        narrow[at].size = ROW;
        let fit = BLOCK / self.block_bytes(&narrow, steps).max(1);
        vec![fit.clamp(1, 1 << 20) as i64 * ROW]
    }

    /// Bytes that the steps of a block touch.
    fn block_bytes(&self, cuts: &[Cut], steps: i64) -> u128 {
        let others = (0..self.hull.len()).filter(|dim| *dim != self.time);
        let lens = others.map(|dim| match cuts.iter().find(|cut| cut.dim == dim) {
            Some(cut) => cut.size.saturating_add((steps + 1) * cut.slope).min(self.len(dim)),
            None => self.len(dim),
        });
        lens.fold(self.touched, |bytes, len| bytes.saturating_mul(len as u128))
    }
}
