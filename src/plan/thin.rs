//! Sources that are read at few of their elements -> computed there only, as parts of their readers or as samples.
//!
//! ```text
//! map[y, x] = 2 * height[1000 * y, x]      height[y, x] = rand(y, x)
//!
//! map[y, x] = 2 * rand(1000 * y, x)        nothing between the thousandth rows is computed
//! ```
//!
//! What several reads share becomes a stage of its own ([`samples`](super::samples)); anything else is computed where it
//! is read ([`inline`](super::inline)).

use super::fuse::operations;
use super::grid::volume;
use super::group::{Needed, Request, needed_boxes, order};
use super::inline::{body_of, inlined, reads_per_element};
use super::samples::{Samples, samples};
use super::stages::Stages;
use crate::graph::body::TensorId;
use std::collections::BTreeSet;

/// Nodes of a body that is made, at the most.
const MOST_NODES: usize = 4000;
/// A source is inlined when its box has this many times the elements that are read of it.
const WASTE: u128 = 2;
/// It is sampled when its box has this many times the samples, in percent.
const WORTH_SAMPLING: u128 = 125;
/// Samples that are read at several places may be so many more than the reads, in percent: each read that is inlined is
/// one more copy of the source's code.
const WORTH_SHARING: u128 = 150;

/// How a source is computed less.
enum Way {
    Inline,
    Sample(Samples),
}

/// Stages that compute less for a request, where boxes would hold far more than is read of them; `None` where none does.
/// The target must be a stage of this request only.
pub fn thinned(stages: &Stages, request: &Request) -> Option<Stages> {
    let mut current: Option<Stages> = None;
    loop {
        let known = current.as_ref().unwrap_or(stages);
        let Ok(boxes) = needed_boxes(known, request) else { return current };
        let order = order(known, request.target);
        // Readers before sources, so that all reads of a source are known when its turn comes.
        let next = order.iter().rev().find_map(|source| {
            let readers = readers(known, &order, &boxes, *source);
            let own = readers.iter().all(|reader| reader.index() >= known.kept);
            let way = if own { way(known, &boxes, *source, &readers)? } else { return None };
            applied(known, *source, &readers, &way)
        });
        match next {
            Some(next) => current = Some(next),
            None => return current,
        }
    }
}

/// Whether there is a source of the target's own that [`thinned`] would compute less of.
pub fn reads_sparsely(stages: &Stages, request: &Request) -> bool {
    let Ok(boxes) = needed_boxes(stages, request) else { return false };
    let order = order(stages, request.target);
    let needs = &stages.needs[request.target.index()];
    let sources: BTreeSet<TensorId> = needs.sources.iter().map(|need| need.source).collect();
    sources.into_iter().any(|source| {
        let readers = readers(stages, &order, &boxes, source);
        readers == [request.target] && way(stages, &boxes, source, &readers).is_some()
    })
}

/// What it takes to compute these boxes, in operations.
pub fn cost(stages: &Stages, boxes: &Needed) -> u128 {
    let own = |(id, region): (&TensorId, &Vec<_>)| volume(region).saturating_mul(operations(stages, *id));
    boxes.iter().map(own).fold(0, u128::saturating_add)
}

fn readers(stages: &Stages, order: &[TensorId], boxes: &Needed, source: TensorId) -> Vec<TensorId> {
    let reads = |reader: &&TensorId| {
        boxes.contains_key(reader)
            && stages.needs[reader.index()].sources.iter().any(|need| need.source == source)
    };
    order.iter().filter(reads).copied().collect()
}

/// The best way to compute less of a source than its box.
fn way(stages: &Stages, boxes: &Needed, source: TensorId, readers: &[TensorId]) -> Option<Way> {
    body_of(stages, source).filter(|_| stages.tensor(source).format.is_none() && !readers.is_empty())?;
    let region = boxes.get(&source)?;
    let (mut reads, mut once) = (0u128, readers.len() == 1);
    for reader in readers {
        let times = *reads_per_element(body_of(stages, *reader)?).get(&source)?;
        once &= times == 1;
        reads = reads.saturating_add(times.saturating_mul(volume(&boxes[reader])));
    }
    let held = volume(region);
    let inline = held > reads.saturating_mul(WASTE);
    let samples = samples(stages, source, readers).filter(|samples| {
        let count = samples.count(region);
        let shared = count < reads || (!once && count <= reads.saturating_mul(WORTH_SHARING) / 100);
        held > count.saturating_mul(WORTH_SAMPLING) / 100 && (shared || !inline)
    });
    samples.map(Way::Sample).or(inline.then_some(Way::Inline))
}

/// The stages with a source computed that way; `None` if bodies would become too large.
fn applied(stages: &Stages, source: TensorId, readers: &[TensorId], way: &Way) -> Option<Stages> {
    let (inner, tensor) = (body_of(stages, source)?, stages.tensor(source));
    match way {
        Way::Inline => {
            let mut next = stages.clone();
            for reader in readers {
                let body = inlined(body_of(stages, *reader)?, source, inner, tensor.element);
                if body.body.len() > MOST_NODES {
                    return None;
                }
                next.set_body(*reader, body);
            }
            Some(next)
        }
        Way::Sample(samples) => {
            let (domain, body) = samples.stage(tensor)?;
            let body = inlined(&body, source, inner, tensor.element);
            let (mut next, own) = stages.with_body(&tensor.name, tensor.span, tensor.element, domain, body);
            for reader in readers {
                next.set_body(*reader, samples.redirected(stages, *reader, own)?);
            }
            Some(next)
        }
    }
}
