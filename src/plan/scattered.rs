//! Tiles of one or a few elements, where what they read lies far apart.
//!
//! ```text
//! far[x] = w[1000000 * x], 100 elements asked for      100 tiles of 1, each with one element of w; not one with 99 million
//! ```
//!
//! A task computes a box of what it reads. It takes some time besides, so tiles become small only where that saves more.

use super::grid::volume;
use super::inline::{body_of, weight};
use super::needs::needed;
use super::stages::Stages;
use crate::access::footprint::Region;
use crate::graph::body::TensorId;
use crate::index::Interval;

/// Elements of windows that take about as long to compute as a task does besides.
const TASK: u128 = 1 << 8;
/// Elements that are read of others for one that is made, from which on it is looked into.
const MANY: u128 = 8;
/// What is saved at the least: as many times the work.
const WORTH: u128 = 2;

/// Makes tiles smaller along dimensions where they read far more than they need.
pub(super) fn cut_scattered(stages: &Stages, target: TensorId, region: &Region, shape: &mut [i64]) {
    let elements = |shape: &[i64]| shape.iter().fold(1u128, |all, size| all.saturating_mul(*size as u128));
    let cost = |shape: &[i64]| (read(stages, target, region, shape).saturating_add(TASK), elements(shape));
    // Whether the work for an element is so many times less.
    let is_less = |a: (u128, u128), times: u128, b: (u128, u128)| {
        a.0.saturating_mul(times).saturating_mul(b.1) < b.0.saturating_mul(a.1)
    };
    let whole = cost(shape);
    if whole.0 <= whole.1.saturating_mul(MANY).saturating_add(MANY * TASK) {
        return;
    }
    for dim in 0..shape.len() {
        let sizes = std::iter::successors(Some(1i64), |size| size.checked_mul(4));
        let tried = sizes.take_while(|size| *size < shape[dim]).map(|size| {
            let mut smaller = shape.to_vec();
            smaller[dim] = size;
            smaller
        });
        let best = tried
            .map(|shape| (cost(&shape), shape))
            .reduce(|best, next| if is_less(next.0, 1, best.0) { next } else { best });
        if let Some((less, smaller)) = best
            && is_less(less, WORTH, cost(shape))
        {
            shape.copy_from_slice(&smaller);
        }
    }
}

/// Where tiles are looked at, the part of every dimension by turns: 0 is its beginning, 2 its end.
const SAMPLES: [[i64; 2]; 4] = [[1, 1], [0, 0], [2, 2], [0, 2]];

/// Elements of others that a tile needs, each as many as its own reads: the most of some tiles.
fn read(stages: &Stages, target: TensorId, region: &Region, shape: &[i64]) -> u128 {
    let place = |range: &Interval, size: i64, part: i64| {
        let last = (range.len().unwrap_or(1).max(1) - 1) / size;
        let number = last / 2 * part + last % 2 * (part / 2);
        let first = range.first().saturating_add(size.saturating_mul(number));
        Interval::trusted(first, first.saturating_add(size - 1).min(range.last()))
    };
    let tile = |parts: &[i64; 2]| {
        let dims = region.iter().zip(shape).zip(parts.iter().cycle());
        dims.map(|((range, size), part)| place(range, *size, *part)).collect::<Region>()
    };
    SAMPLES.iter().map(|parts| work(stages, target, &tile(parts), DEEP)).max().unwrap_or(0)
}

/// Sources of sources that are looked at, this many after each other.
const DEEP: usize = 4;
/// A source is made together with its reader, about, if it has no more than so many times the elements.
const TOGETHER: u128 = 2;

/// What it takes to compute the sources of a box, and those of sources that are made with it.
fn work(stages: &Stages, target: TensorId, tile: &Region, deep: usize) -> u128 {
    let sources = needed(stages, target, &stages.needs[target.index()], tile).into_iter();
    let computed = sources.filter(|(id, _)| !stages.is_at_hand(*id));
    let each = computed.map(|(id, region)| {
        let own = volume(&region).saturating_mul(weight(stages, id));
        let together = deep > 0
            && volume(&region) <= volume(tile).saturating_mul(TOGETHER)
            && body_of(stages, id).is_some()
            && stages.tensor(id).format.is_none();
        own.saturating_add(if together { work(stages, id, &region, deep - 1) } else { 0 })
    });
    each.fold(0, u128::saturating_add)
}
