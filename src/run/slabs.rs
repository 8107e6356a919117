//! A box -> slabs that are made one after the other, in row-major order.
//!
//! ```text
//! u8[0:100000, 0:100000]   ->   671 rows, 671 rows, …, 21 rows: 64 MB at a time
//! ```
//!
//! The outermost dimensions are cut to one coordinate, the next one into runs, the inner ones are whole.

use crate::access::footprint::Region;
use crate::index::Interval;
use crate::plan::grid::volume;

/// How a result is cut.
#[derive(Clone, Debug)]
pub struct Cutting {
    region: Region,
    /// Bytes of an element.
    pub element: u64,
    /// The dimension that is cut into runs, if one is.
    dim: Option<usize>,
    /// Its coordinates in a slab.
    run: i64,
}

impl Cutting {
    /// Cuts a box of elements of that many bytes into slabs of at most `most` bytes, or of one element.
    pub fn new(region: &Region, element: u64, most: u64) -> Cutting {
        let len = |dim: usize| region[dim].len().unwrap_or(1).max(1) as u64;
        let (mut dim, mut inner) = (region.len(), element);
        while dim > 0 && inner.saturating_mul(len(dim - 1)) <= most {
            dim -= 1;
            inner *= len(dim);
        }
        let run = (most / inner.max(1)).max(1) as i64;
        Cutting { region: region.clone(), element, dim: dim.checked_sub(1), run }
    }

    /// The same with runs that are whole tiles of these sizes, where they are longer than one.
    pub fn along(mut self, tile: &[i64]) -> Cutting {
        if let Some(size) =
            self.dim.and_then(|cut| tile.get(cut)).filter(|size| (1..=self.run).contains(*size))
        {
            self.run -= self.run % size;
        }
        self
    }

    /// The slab that begins at these coordinates of the dimensions that are cut.
    fn slab(&self, at: &[i64]) -> Region {
        let mut slab = self.region.clone();
        if let Some(cut) = self.dim {
            (0..cut).for_each(|dim| slab[dim] = Interval::trusted(at[dim], at[dim]));
            let last = (at[cut] + self.run - 1).min(self.region[cut].last());
            slab[cut] = Interval::trusted(at[cut], last);
        }
        slab
    }

    fn start(&self) -> Vec<i64> {
        self.region.iter().map(|range| range.first()).collect()
    }

    /// The first slab, which is as large as any.
    pub fn first(&self) -> Region {
        self.slab(&self.start())
    }

    /// Runs that the cut dimension is cut into.
    fn runs(&self) -> i64 {
        self.dim.map_or(1, |cut| (self.region[cut].len().unwrap_or(1).max(1) - 1) / self.run + 1)
    }

    /// The last slab, which may be smaller.
    pub fn last(&self) -> Region {
        let mut at: Vec<i64> = self.region.iter().map(|range| range.last()).collect();
        if let Some(cut) = self.dim {
            at[cut] = self.region[cut].first() + (self.runs() - 1) * self.run;
        }
        self.slab(&at)
    }

    /// Slabs that show what all of them are like: at both ends, next to them, and in the middle.
    pub fn samples(&self) -> Vec<Region> {
        let Some(cut) = self.dim else { return vec![self.first()] };
        let place = |dim: usize, sample: usize| {
            let (first, step) = (self.region[dim].first(), if dim == cut { self.run } else { 1 });
            let last = (self.region[dim].len().unwrap_or(1).max(1) - 1) / step;
            first + step * [0, 1.min(last), last / 2, (last - 1).max(0), last][sample]
        };
        let slab = |sample: usize| self.slab(&(0..=cut).map(|dim| place(dim, sample)).collect::<Vec<_>>());
        let mut samples: Vec<Region> = (0..5).map(slab).collect();
        samples.dedup();
        samples
    }

    /// Bytes of the largest slab.
    pub fn largest(&self) -> u64 {
        volume(&self.first()) as u64 * self.element
    }

    /// What all slabs have together if one has `first` and the last of every run has `last`.
    pub fn total(&self, first: u128, last: u128) -> u128 {
        let each = first.saturating_mul(self.runs() as u128 - 1).saturating_add(last);
        each.saturating_mul(self.dim.map_or(1, |cut| volume(&self.region[..cut])))
    }

    /// All slabs, in order.
    pub fn slabs(&self) -> impl Iterator<Item = Region> {
        let mut next = Some(self.start());
        std::iter::from_fn(move || {
            let at = next.take()?;
            next = self.after(at.clone());
            Some(self.slab(&at))
        })
    }

    /// Where the slab after the one that begins `at` begins.
    fn after(&self, mut at: Vec<i64>) -> Option<Vec<i64>> {
        let mut dim = self.dim?;
        at[dim] += self.run;
        while at[dim] > self.region[dim].last() {
            at[dim] = self.region[dim].first();
            dim = dim.checked_sub(1)?;
            at[dim] += 1;
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sizes: &[i64], element: u64, expect: &[&[i64]]) {
        let region: Region = sizes.iter().map(|size| Interval::trusted(5, 4 + size)).collect();
        let cutting = Cutting::new(&region, element, 64 << 20);
        let slabs: Vec<Region> = cutting.slabs().collect();
        let shapes: Vec<Vec<i64>> =
            slabs.iter().map(|slab| slab.iter().map(|range| range.len().unwrap_or(0)).collect()).collect();
        assert_eq!(shapes, expect);
        assert_eq!((&slabs[0], slabs.last()), (&cutting.first(), Some(&cutting.last())));
        assert!(cutting.samples().iter().all(|sample| slabs.contains(sample)));
        let volumes: u128 = slabs.iter().map(|slab| volume(slab)).sum();
        assert_eq!(volumes, volume(&region));
        assert_eq!(cutting.total(1, 1), slabs.len() as u128);
    }

    #[test]
    fn results_are_cut_where_they_become_too_large() {
        check(&[], 8, &[&[]]);
        check(&[10, 10], 4, &[&[10, 10]]);
        check(&[5, 1 << 25], 1, &[&[2, 1 << 25], &[2, 1 << 25], &[1, 1 << 25]]);
        check(&[2, (1 << 26) + 1], 1, &[&[1, 1 << 26], &[1, 1], &[1, 1 << 26], &[1, 1]]);
        check(&[2, 3, 1 << 23], 4, &[&[1, 2, 1 << 23], &[1, 1, 1 << 23], &[1, 2, 1 << 23], &[1, 1, 1 << 23]]);
    }

    #[test]
    fn runs_are_whole_tiles_where_they_are_long_enough() {
        let region: Region = [1000, 1 << 16].map(|size| Interval::trusted(0, size - 1)).to_vec();
        let run = |tile: &[i64]| Cutting::new(&region, 1, 40 << 16).along(tile).first()[0].len();
        assert_eq!([run(&[16, 16]), run(&[40, 1]), run(&[64, 64])], [Some(32), Some(40), Some(40)]);
    }
}
