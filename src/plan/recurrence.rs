//! Which boxes of earlier steps a recurrence needs, growing backwards from the box that is asked for.
//!
//! ```text
//! h[t, x] reads h[t - 1, x - 1], h[t - 1, x + 1]      t = 9: 0..10     t = 8: -1..11     …     t = 0: -9..19
//! ```
//!
//! A box that grows alike with every step is known in closed form; any other is worked out step by step.

use super::needs::{Need, closed_form};
use super::stages::Stages;
use crate::access::footprint::{Region, footprint};
use crate::graph::body::TensorId;
use crate::graph::{Recurrence, TensorKind};
use crate::index::Interval;

/// The boxes of every step that a box of a recurrence needs.
#[derive(Clone, Debug)]
pub struct Steps {
    /// The dimension that steps.
    pub dim: usize,
    /// From the first step to the last one that is asked for.
    pub range: Interval,
    boxes: Boxes,
}

#[derive(Clone, Debug)]
enum Boxes {
    /// More with every step back.
    Growing {
        asked: Region,
        /// How much per step, per dimension: below, above.
        growth: Vec<(i64, i64)>,
        /// Where it never grows beyond.
        limit: Region,
    },
    /// One by one, from the first step on; none where a step is not needed.
    Listed(Vec<Option<Region>>),
    /// From the last step back until they are always the same.
    Settled(Vec<Region>),
}

/// Steps that are worked out one by one, at the most.
const MOST_LISTED: i64 = 1 << 16;
/// Of those, as many as are worked out exactly; of more, every dimension is looked at for itself.
const MOST_EXACT: i64 = 1 << 10;

/// The recurrence of a stage, if it is one.
pub fn recurrence(stages: &Stages, id: TensorId) -> Option<&Recurrence> {
    match &stages.tensor(id).kind {
        TensorKind::Pointwise(pointwise) => pointwise.recurrence.as_ref(),
        TensorKind::Input(_) | TensorKind::Var(_) | TensorKind::Windowed(_) => None,
    }
}

/// The steps that `region` of a recurrence needs.
pub fn steps(stages: &Stages, id: TensorId, own: &Need, dim: usize, region: &[Interval]) -> Steps {
    let domain: Region = stages.tensor(id).domain.dims().iter().map(|dim| dim.interval).collect();
    let range = Interval::trusted(domain[dim].first().min(region[dim].first()), region[dim].last());
    let regular = |at: usize| at == dim || own.grows(at, region);
    let boxes = if (0..region.len()).all(regular) {
        growing(stages, id, own, dim, region)
    } else if range.len().is_none_or(|len| len > MOST_EXACT)
        && let Some(boxes) = settled(stages, id, own, dim, region)
    {
        Boxes::Settled(boxes)
    } else if range.len().is_some_and(|len| len <= MOST_LISTED) {
        Boxes::Listed(listed(stages, id, own, range, region))
    } else {
        Boxes::Growing { asked: domain.clone(), growth: vec![(0, 0); domain.len()], limit: domain }
    };
    Steps { dim, range, boxes }
}

fn growing(stages: &Stages, id: TensorId, own: &Need, dim: usize, region: &[Interval]) -> Boxes {
    let next = closed_form(stages, id, own, region);
    let growth = (0..region.len()).map(|at| match at == dim {
        true => (0, 0),
        false => {
            let reach = own.reach_of(at, region, stages, id);
            let below = (region[at].first() - reach.first()).max(0);
            (below, (reach.last() - region[at].last()).max(0))
        }
    });
    let growth = growth.collect();
    let limit = (0..region.len()).map(|at| stages.tensor(id).domain.dims()[at].enforced().hull(next[at]));
    Boxes::Growing { asked: region.to_vec(), growth, limit: limit.collect() }
}

/// The boxes of steps, going back, where what a step needs does not depend on which it is; none if they never settle.
fn settled(
    stages: &Stages,
    id: TensorId,
    own: &Need,
    dim: usize,
    region: &[Interval],
) -> Option<Vec<Region>> {
    let reach = usize::try_from(recurrence(stages, id)?.reach).ok()?;
    let asked = region[dim].len().and_then(|len| usize::try_from(len).ok()).unwrap_or(usize::MAX);
    let follows = |at: usize| at != dim && own.follows(at, dim);
    if (0..region.len()).any(follows) {
        return None;
    }
    let mut boxes: Vec<Region> = vec![region.to_vec()];
    while boxes.len() < MOST_LISTED as usize {
        let recent = &boxes[boxes.len().saturating_sub(reach)..];
        let needs = recent.iter().map(|later| closed_form(stages, id, own, later));
        let needs = needs.chain((boxes.len() < asked).then(|| region.to_vec()));
        let mut next = needs.reduce(|a, b| a.iter().zip(&b).map(|(a, b)| a.hull(*b)).collect())?;
        next[dim] = region[dim];
        // Steps that are asked for need no less than those before them.
        if boxes.len() > reach && recent.iter().all(|later| *later == next) {
            return Some(boxes);
        }
        boxes.push(next);
    }
    None
}

/// The box of every step, from what the step after it reads.
fn listed(
    stages: &Stages,
    id: TensorId,
    own: &Need,
    range: Interval,
    region: &[Interval],
) -> Vec<Option<Region>> {
    let Some(Recurrence { dim, .. }) = recurrence(stages, id).cloned() else { return Vec::new() };
    let exact = range.len().is_some_and(|len| len <= MOST_EXACT);
    let read = |region: &[Interval]| match exact {
        true => footprint(stages.tensor(id), region).unwrap_or_default().remove(&id),
        false => Some(closed_form(stages, id, own, region)),
    };
    let place = |step: i64| (step - range.first()) as usize;
    let mut boxes: Vec<Option<Region>> = vec![None; range.len().unwrap_or(0) as usize];
    let add = |boxes: &mut Vec<Option<Region>>, step: i64, found: &[Interval]| {
        let mut found = found.to_vec();
        found[dim] = Interval::trusted(step, step);
        let known = boxes[place(step)].take();
        boxes[place(step)] = Some(match known {
            None => found,
            Some(known) => known.iter().zip(&found).map(|(a, b)| a.hull(*b)).collect(),
        });
    };
    for step in region[dim].first()..=region[dim].last() {
        add(&mut boxes, step, region);
    }
    for step in (range.first()..=range.last()).rev() {
        let Some(needed) = &boxes[place(step)] else { continue };
        let Some(found) = read(needed) else { continue };
        let earlier =
            found[dim].intersect(Interval::trusted(range.first(), (step - 1).max(range.first() - 1)));
        for earlier in earlier.first()..=earlier.last() {
            add(&mut boxes, earlier, &found);
        }
    }
    boxes
}

impl Steps {
    /// The box at one step, with that step as its only coordinate along the recurrence; none if it is not needed.
    pub fn at(&self, step: i64) -> Option<Region> {
        match &self.boxes {
            Boxes::Listed(boxes) => boxes[(step - self.range.first()) as usize].clone(),
            Boxes::Settled(boxes) => {
                let back = usize::try_from(self.range.last() - step).unwrap_or(usize::MAX);
                let mut region = boxes.get(back).or(boxes.last())?.clone();
                region[self.dim] = Interval::trusted(step, step);
                Some(region)
            }
            Boxes::Growing { asked, growth, limit } => {
                let mut region = grown(asked, growth, limit, self.range.last() - step);
                region[self.dim] = Interval::trusted(step, step);
                Some(region)
            }
        }
    }

    /// The next pass over up to `most` steps, from `next` on; of several steps that are asked for each has its own, so
    /// that it can be handed on before the one after it comes.
    pub fn pass(&self, next: i64, most: i64, asked: Interval) -> Option<Interval> {
        let first = (next..=self.range.last()).find(|step| self.needs(*step))?;
        let last = first.saturating_add(most - 1).min(self.range.last());
        let alone = asked.len() != Some(1) && last >= asked.first();
        Some(Interval::trusted(first, if alone { first.max(asked.first() - 1) } else { last }))
    }

    /// Whether a step is needed at all.
    fn needs(&self, step: i64) -> bool {
        match &self.boxes {
            Boxes::Listed(boxes) => boxes[(step - self.range.first()) as usize].is_some(),
            Boxes::Settled(_) | Boxes::Growing { .. } => true,
        }
    }

    /// A box that holds those of some steps.
    pub fn hull_of(&self, range: Interval) -> Region {
        let boxes = (range.first()..=range.last()).filter_map(|step| self.at(step));
        let hull = |a: Region, b: Region| a.iter().zip(&b).map(|(a, b)| a.hull(*b)).collect();
        boxes.reduce(hull).unwrap_or_default()
    }

    /// A box that holds those of all steps.
    pub fn hull(&self) -> Region {
        match &self.boxes {
            Boxes::Listed(boxes) => {
                let hull = |a: Region, b: &Region| a.iter().zip(b).map(|(a, b)| a.hull(*b)).collect();
                let mut all = boxes.iter().flatten();
                let first = all.next().cloned().unwrap_or_default();
                all.fold(first, hull)
            }
            Boxes::Settled(boxes) => {
                let hull = |a: Region, b: &Region| a.iter().zip(b).map(|(a, b)| a.hull(*b)).collect();
                let mut region = boxes.iter().fold(boxes[0].clone(), hull);
                region[self.dim] = self.range;
                region
            }
            Boxes::Growing { asked, growth, limit } => {
                let mut region = grown(asked, growth, limit, self.range.last() - self.range.first());
                region[self.dim] = self.range;
                region
            }
        }
    }
}

fn grown(asked: &Region, growth: &[(i64, i64)], limit: &Region, back: i64) -> Region {
    let dims = asked.iter().zip(growth).zip(limit);
    let grown = dims.map(|((asked, (below, above)), limit)| {
        let first = asked.first().saturating_sub(below.saturating_mul(back)).max(limit.first());
        let last = asked.last().saturating_add(above.saturating_mul(back)).min(limit.last());
        Interval::trusted(first.min(asked.first()), last.max(asked.last()))
    });
    grown.collect()
}
