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
    SAMPLES.iter().map(|parts| work(stages, target, &tile(parts))).max().unwrap_or(0)
}

/// A source is made together with its only reader, about, if it has no more than so many times the elements.
const TOGETHER: u128 = 2;
/// Such sources that are looked at, one after the other.
const DEEP: usize = 4;

/// What it takes to compute the sources of a box; of an only source that is made with it, the sources of that, too.
fn work(stages: &Stages, target: TensorId, tile: &Region) -> u128 {
    let (mut reader, mut region, mut all) = (target, tile.clone(), 0u128);
    for _ in 0..=DEEP {
        let sources = needed(stages, reader, &stages.needs[reader.index()], &region).into_iter();
        let mut computed: Vec<_> = sources.filter(|(id, _)| !stages.is_at_hand(*id)).collect();
        let each = computed.iter().map(|(id, own)| volume(own).saturating_mul(weight(stages, *id)));
        all = each.fold(all, u128::saturating_add);
        let only = if computed.len() == 1 { computed.pop() } else { None };
        let together = |(id, own): &(TensorId, Region)| {
            let plain = body_of(stages, *id).is_some() && stages.tensor(*id).format.is_none();
            plain && volume(own) <= volume(&region).saturating_mul(TOGETHER)
        };
        let Some(next) = only.filter(together) else { break };
        (reader, region) = next;
    }
    all
}
