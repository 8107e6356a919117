//! A large result -> slabs: boxes of rows, in row-major order, that are made and handed on one after the other.
//!
//! ```text
//! 3 × 100 × 100 in slabs of 2,000 elements      0, 0..20 · 0, 20..40 · … · 2, 80..100
//! ```

use crate::access::footprint::Region;
use crate::index::Interval;
use crate::plan::grid::Grid;

/// Bytes of a slab, at the most, unless one row has more.
pub const SLAB: u64 = 64 << 20;

/// The slabs of a box: the outermost dimensions are cut to one, the next into runs, the inner ones are whole.
#[derive(Clone, Debug)]
pub struct Slabs {
    grid: Grid,
    /// The dimension that is cut into runs.
    cut: usize,
}

impl Slabs {
    /// Cuts a bounded box of elements of that many bytes.
    pub fn new(region: &Region, element: u64) -> Self {
        let len = |dim: usize| region[dim].len().unwrap_or(1).max(1);
        let (mut inner, mut dim) = (element.max(1), region.len());
        while dim > 1 && inner.saturating_mul(len(dim - 1) as u64) <= SLAB {
            dim -= 1;
            inner *= len(dim) as u64;
        }
        let cut = dim.saturating_sub(1);
        let run = ((SLAB / inner).max(1) as i64).min(region.get(cut).map_or(1, |_| len(cut)));
        let size = |dim: usize| match dim.cmp(&cut) {
            std::cmp::Ordering::Less => 1,
            std::cmp::Ordering::Equal => run,
            std::cmp::Ordering::Greater => len(dim),
        };
        let origin = region.iter().map(|range| range.first()).collect();
        let shape = (0..region.len()).map(size).collect();
        Slabs { grid: Grid::new(region.clone(), origin, shape), cut }
    }

    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = Region> {
        (0..self.grid.count()).map(|place| self.grid.tile(&self.grid.number(place)))
    }

    /// The first, which is as large as any.
    pub fn first(&self) -> Region {
        self.grid.tile(&self.grid.number(0))
    }

    /// The last, which may be smaller.
    pub fn last(&self) -> Region {
        self.grid.tile(&self.grid.number(self.grid.count().saturating_sub(1)))
    }

    /// The sum over all slabs of something that each has `full` of, but the last of every run `rest`.
    pub fn sum(&self, full: u64, rest: u64) -> u64 {
        let counts = self.grid.numbers.iter().map(|numbers: &Interval| numbers.len().unwrap_or(0) as u64);
        let counts: Vec<u64> = counts.collect();
        let outer: u64 = counts[..self.cut].iter().fold(1, |n, count| n.saturating_mul(*count));
        let runs = counts.get(self.cut).copied().unwrap_or(1);
        outer.saturating_mul(full.saturating_mul(runs.saturating_sub(1)).saturating_add(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::grid::volume;

    #[test]
    fn slabs_follow_one_another() {
        let range = |n| Interval::new(0, n).expect("a range");
        let region = vec![range(3), range(100_000), range(1000)];
        let slabs = Slabs::new(&region, 4);
        let all: Vec<Region> = slabs.iter().collect();
        assert_eq!(all.iter().map(|slab| volume(slab)).sum::<u128>(), volume(&region));
        assert!(all.iter().all(|slab| volume(slab) * 4 <= SLAB.into()));
        assert_eq!((all[0].clone(), all[all.len() - 1].clone()), (slabs.first(), slabs.last()));
        assert_eq!(slabs.sum(1, 1), all.len() as u64);
        let starts: Vec<(i64, i64)> = all.iter().map(|slab| (slab[0].first(), slab[1].first())).collect();
        assert!(starts.is_sorted());
    }
}
