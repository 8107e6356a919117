//! Which boxes are compared: small and odd ones, at the edges of domains, on both sides of 0 and far out.

use itp::graph::{Tensor, TensorKind};
use itp::index::{Domain, Interval};

/// First coordinate and length, inside an unbounded dimension.
const ANYWHERE: [(i64, i64); 4] = [(-3, 5), (1_000_003, 1), (-(1 << 40) - 5, 3), (7, 10)];
/// The same for the row.
const ALONG: [(i64, i64); 4] = [(-2, 9), (-(1 << 41) + 1, 5), (1_000_001, 17), (3, 1)];

/// Boxes of a domain.
pub(crate) fn regions(domain: &Domain) -> Vec<Vec<Interval>> {
    let last = domain.rank().saturating_sub(1);
    let choices = if domain.rank() == 0 { 1 } else { ANYWHERE.len() };
    let region = |choice: usize| {
        let dims = domain.dims().iter().enumerate();
        dims.map(|(at, dim)| {
            let (lo, len) = if at == last { ALONG[choice] } else { ANYWHERE[(choice + at) % ANYWHERE.len()] };
            inside(dim.interval, lo, len, choice)
        })
        .collect()
    };
    let mut regions: Vec<Vec<Interval>> = (0..choices).map(region).collect();
    regions.retain(|region: &Vec<Interval>| region.iter().all(|range| !range.is_empty()));
    regions.dedup();
    regions
}

/// A range of that length: at the start, the end or the middle of a domain that has them.
fn inside(domain: Interval, lo: i64, len: i64, choice: usize) -> Interval {
    let at = match (domain.lower(), domain.upper(), choice % 3) {
        (Some(first), _, 0) => first,
        (Some(first), Some(end), 1) => (end - len).max(first),
        (Some(first), Some(end), _) => first + (end - first) / 2,
        (Some(first), None, _) => first + choice as i64,
        (None, Some(end), _) => end - len,
        (None, None, _) => lo,
    };
    Interval::sized(at, len).unwrap().intersect(domain)
}

/// A recurrence is computed one step at a time, not far from where it starts.
pub(crate) fn regions_of(tensor: &Tensor) -> Vec<Vec<Interval>> {
    let mut regions = regions(&tensor.domain);
    let TensorKind::Pointwise(pointwise) = &tensor.kind else { return regions };
    let Some(recurrence) = &pointwise.recurrence else { return regions };
    let domain = tensor.domain.dims()[recurrence.dim].interval;
    let first = domain.lower().unwrap_or(0);
    for (step, region) in regions.iter_mut().enumerate() {
        region[recurrence.dim] = Interval::point((first + step as i64).min(domain.last())).unwrap();
    }
    regions
}
