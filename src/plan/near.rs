//! What stages need of each other where coordinates are not astronomical.
//!
//! ```text
//! far[x] = blur[5 * x // 3]      5 * x wraps beyond 2^60: up to there, blur moves on by 5 for every 3 of x
//! ```
//!
//! Whatever the coordinate, what a box of `far` needs is found box by box. Where no coordinate of a request lies beyond
//! [`NEAR`], it moves in closed form, so that tiles of `blur` are freed when they are passed.

use super::group::Needed;
use super::needs::{Needs, needs_by};
use super::stages::Stages;
use crate::access::tensor_access;
use crate::diagnostic::Diagnostics;
use crate::graph::body::TensorId;
use crate::graph::{Tensor, TensorKind};
use crate::index::{Dim, Domain, Interval};
use std::sync::Arc;

/// The last coordinate that is near, on either side.
const NEAR: i64 = 1 << 40;

fn nearby() -> Interval {
    Interval::trusted(-NEAR, NEAR)
}

/// These stages with what they need of each other near the origin; `None` where that is the same everywhere.
pub fn near(stages: &Stages) -> Option<Stages> {
    let mut near: Option<Stages> = None;
    for at in 0..stages.graph.tensors.len() {
        let id = TensorId(at as u32);
        let Some(needs) = needs_near(stages, id) else { continue };
        near.get_or_insert_with(|| stages.clone()).needs[at] = Arc::new(needs);
    }
    near
}

/// Whether all of these boxes are near.
pub fn are_near(boxes: &Needed) -> bool {
    boxes.values().flatten().all(|range| nearby().contains_interval(*range))
}

/// What a body needs there, if it needs something by no rule of one coordinate elsewhere.
fn needs_near(stages: &Stages, id: TensorId) -> Option<Needs> {
    let tensor = stages.tensor(id);
    let free = |needs: &Needs| needs.sources.iter().filter(|need| need.is_free()).count();
    let known = free(&stages.needs[id.index()]);
    if known == 0 || !matches!(tensor.kind, TensorKind::Pointwise(_)) {
        return None;
    }
    let access = tensor_access(&stages.graph, &cut(tensor)?, &mut Diagnostics::default());
    Some(needs_by(stages, id, &access)).filter(|needs| free(needs) < known)
}

/// The tensor with its coordinates near the origin only.
fn cut(tensor: &Tensor) -> Option<Tensor> {
    let dims = tensor.domain.dims().iter().map(|dim| Dim::explicit(dim.enforced().intersect(nearby())));
    let domain = Domain::new(dims.collect()).ok()?;
    Some(Tensor { domain, ..tensor.clone() })
}
