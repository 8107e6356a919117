//! Which boxes of earlier steps a recurrence needs, growing backwards from the box that is asked for.
//!
//! ```text
//! h[t, x] reads h[t - 1, x - 1], h[t - 1, x + 1]      t = 9: 0..10     t = 8: -1..11     …     t = 0: -9..19
//! ```

use super::needs::{Motion, Need, closed_form};
use super::stages::Stages;
use crate::access::footprint::Region;
use crate::graph::body::TensorId;
use crate::graph::{Recurrence, TensorKind};
use crate::index::{INF, Interval};

/// The boxes of every step that a box of a recurrence needs.
#[derive(Clone, Debug)]
pub struct Steps {
    /// The dimension that steps.
    pub dim: usize,
    /// From the first step to the last one that is asked for.
    pub range: Interval,
    /// What is asked for.
    asked: Region,
    /// How much the box grows per step back, per dimension: (below, above).
    growth: Vec<(i64, i64)>,
    /// Where it never grows beyond.
    limit: Region,
}

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
    let range = Interval::trusted(domain[dim].first(), region[dim].last());
    let next = closed_form(stages, id, own, region);
    let growth = (0..region.len()).map(|at| match own.dims[at].motion {
        _ if at == dim => (0, 0),
        Motion::With { dim, up: true } if dim == at && moves_one_by_one(stages, id, own, at, region) => {
            let below = (region[at].first() - next[at].first()).max(0);
            (below, (next[at].last() - region[at].last()).max(0))
        }
        Motion::Still => (INF, INF),
        Motion::With { .. } | Motion::Free => (INF, INF),
    });
    let growth: Vec<(i64, i64)> = growth.collect();
    let limit = (0..region.len()).map(|at| match own.dims[at].motion {
        Motion::Still => next[at].hull(region[at]).intersect(domain[at]),
        Motion::With { .. } | Motion::Free => domain[at],
    });
    Steps { dim, range, asked: region.to_vec(), growth, limit: limit.collect() }
}

/// Whether a shifted box needs the same, shifted: then growth per step is constant.
fn moves_one_by_one(stages: &Stages, id: TensorId, own: &Need, at: usize, region: &[Interval]) -> bool {
    // Far inside there is no domain that clips what is needed.
    let need = |first: i64, last: i64| {
        let mut moved = region.to_vec();
        moved[at] = Interval::trusted(first, last);
        own.reach_of(at, &moved, stages, id)
    };
    let (a, b, c) = (need(0, 0), need(1, 1), need(0, 1));
    a.is_bounded() && b.first() == a.first() + 1 && b.last() == a.last() + 1 && c == a.hull(b)
}

impl Steps {
    /// The box at one step, with that step as its only coordinate along the recurrence.
    pub fn at(&self, step: i64) -> Region {
        let back = self.range.last() - step;
        let mut region = self.grown(back);
        region[self.dim] = Interval::trusted(step, step);
        region
    }

    /// A box that holds those of all steps.
    pub fn hull(&self) -> Region {
        let mut region = self.grown(self.range.last() - self.range.first());
        region[self.dim] = self.range;
        region
    }

    fn grown(&self, back: i64) -> Region {
        let dims = self.asked.iter().zip(&self.growth).zip(&self.limit);
        let grown = dims.map(|((asked, (below, above)), limit)| {
            let first = asked.first().saturating_sub(below.saturating_mul(back)).max(limit.first());
            let last = asked.last().saturating_add(above.saturating_mul(back)).min(limit.last());
            Interval::trusted(first.min(asked.first()), last.max(asked.last()))
        });
        grown.collect()
    }
}
