//! A box cut into tiles: which numbers they have, and which coordinates each covers.
//!
//! ```text
//! tiles of 4 from 0 over 5..11      numbers 1..=2      tile 1: 5..8      tile 2: 8..11
//! ```

use crate::access::footprint::Region;
use crate::index::Interval;
use crate::index::interval::floor_div;

/// Tiles over a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// What is covered.
    pub region: Region,
    /// Where tile 0 starts, per dimension.
    pub origin: Vec<i64>,
    /// Coordinates per tile, at least 1.
    pub shape: Vec<i64>,
    /// The numbers of the tiles that meet the region.
    pub numbers: Vec<Interval>,
}

impl Grid {
    /// Tiles of `shape`, the first of which starts at `origin`, over a bounded box.
    pub fn new(region: Region, origin: Vec<i64>, shape: Vec<i64>) -> Self {
        let numbers = region.iter().zip(&origin).zip(&shape).map(|((range, origin), shape)| {
            if range.is_empty() {
                return Interval::trusted(0, -1);
            }
            let number = |at: i64| floor_div(at - origin, *shape);
            Interval::trusted(number(range.first()), number(range.last()))
        });
        let numbers = numbers.collect();
        Grid { region, origin, shape, numbers }
    }

    /// The number of the tile in the middle.
    pub fn middle(&self) -> Vec<i64> {
        self.along(|_| 1, 2)
    }

    /// The number of the tile that lies `at` of so many equal parts of the way from the first to the last, along each
    /// dimension.
    pub fn along(&self, at: impl Fn(usize) -> i64, parts: i64) -> Vec<i64> {
        let place = |way: i64, at: i64| way / parts * at + way % parts * at / parts;
        let numbers = self.numbers.iter().enumerate();
        numbers.map(|(dim, of)| of.first() + place(of.last() - of.first(), at(dim))).collect()
    }

    /// The coordinates of a tile.
    pub fn tile(&self, number: &[i64]) -> Region {
        (0..number.len()).map(|dim| self.range(dim, number[dim])).collect()
    }

    /// The coordinates of the tiles with that number along one dimension.
    pub fn range(&self, dim: usize, number: i64) -> Interval {
        let (first, region) = (self.origin[dim] + number * self.shape[dim], self.region[dim]);
        let last = first.saturating_add(self.shape[dim] - 1).min(region.last());
        Interval::trusted(first.max(region.first()).min(last + 1), last)
    }

    /// The numbers of the tiles that meet a range along one dimension.
    pub fn meeting(&self, dim: usize, range: Interval) -> Interval {
        if range.is_empty() {
            return Interval::trusted(0, -1);
        }
        let number = |at: i64| floor_div(at - self.origin[dim], self.shape[dim]);
        Interval::trusted(number(range.first()), number(range.last())).intersect(self.numbers[dim])
    }

    /// How many tiles there are.
    pub fn count(&self) -> u128 {
        self.numbers.iter().map(|numbers| numbers.len().unwrap_or(0) as u128).fold(1, u128::saturating_mul)
    }

    /// The number of the tile at a place in row-major order.
    pub fn number(&self, mut place: u128) -> Vec<i64> {
        let mut number = vec![0; self.numbers.len()];
        for dim in (0..number.len()).rev() {
            let len = self.numbers[dim].len().unwrap_or(1).max(1) as u128;
            number[dim] = self.numbers[dim].first() + (place % len) as i64;
            place /= len;
        }
        number
    }

    /// The place of the tile with that number.
    pub fn place(&self, number: &[i64]) -> u128 {
        let dims = self.numbers.iter().zip(number);
        dims.fold(0, |place, (numbers, at)| {
            place * numbers.len().unwrap_or(1).max(1) as u128 + (at - numbers.first()) as u128
        })
    }

    /// Elements of the largest tile.
    pub fn largest(&self) -> u128 {
        let dims = self.shape.iter().zip(&self.region);
        let sides = dims.map(|(shape, range)| (*shape).min(range.len().unwrap_or(i64::MAX)) as u128);
        sides.fold(1, u128::saturating_mul)
    }
}

/// Elements of a bounded box.
pub fn volume(region: &[Interval]) -> u128 {
    region.iter().map(|range| range.len().unwrap_or(i64::MAX).max(0) as u128).fold(1, u128::saturating_mul)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_the_region_once() {
        let region = vec![Interval::new(5, 11).expect("a range"), Interval::new(-3, 4).expect("a range")];
        let grid = Grid::new(region.clone(), vec![0, 0], vec![4, 5]);
        assert_eq!(grid.count(), 4);
        let tiles: Vec<Region> = (0..grid.count()).map(|place| grid.tile(&grid.number(place))).collect();
        assert_eq!(tiles.iter().map(|tile| volume(tile)).sum::<u128>(), volume(&region));
        assert_eq!(format!("{:?}", tiles[0]), "[5..8, -3..0]");
        assert!((0..grid.count()).all(|place| grid.place(&grid.number(place)) == place));
        assert_eq!(grid.meeting(0, Interval::new(7, 8).expect("a range")), Interval::trusted(1, 1));
    }

    /// Everything about tiles along one dimension, held against what each coordinate says.
    fn check((from, to): (i64, i64), origin: i64, shape: i64) {
        let grid = Grid::new(vec![Interval::trusted(from, to - 1)], vec![origin], vec![shape]);
        let number = |at: i64| (at - origin).div_euclid(shape);
        let mut numbers: Vec<i64> = (from..to).map(number).collect();
        numbers.dedup();
        assert_eq!(grid.count(), numbers.len() as u128);
        for number_of in &numbers {
            let range = grid.range(0, *number_of);
            let own: Vec<i64> = (from..to).filter(|at| number(*at) == *number_of).collect();
            assert_eq!((range.first()..=range.last()).collect::<Vec<_>>(), own);
        }
        if let Some(before) = numbers.len().checked_sub(1) {
            assert_eq!(grid.middle(), [numbers[before / 2]]);
            assert_eq!(grid.largest(), shape.min(to - from) as u128);
        }
        for (lo, hi) in (from - 3..to + 3).flat_map(|lo| (lo..to + 3).map(move |hi| (lo, hi))) {
            let meeting = grid.meeting(0, Interval::trusted(lo, hi - 1));
            let mut own: Vec<i64> = (lo..hi).map(number).filter(|at| numbers.contains(at)).collect();
            own.dedup();
            assert_eq!((meeting.first()..=meeting.last()).collect::<Vec<_>>(), own, "{lo}..{hi} of {grid:?}");
        }
    }

    #[test]
    fn a_part_of_the_way_is_rounded_down() {
        let grid = Grid::new(vec![Interval::trusted(0, 31)], vec![0], vec![4]);
        assert_eq!([0, 1, 2, 3, 4].map(|at| grid.along(|_| at, 4)[0]), [0, 1, 3, 5, 7]);
    }

    #[test]
    fn tiles_beside_the_region_hold_nothing() {
        let grid = Grid::new(vec![Interval::trusted(0, 4)], vec![0], vec![4]);
        assert_eq!([-2, 0, 1, 3].map(|number| grid.range(0, number).len()), [0, 4, 1, 0].map(Some));
    }

    #[test]
    fn tiles_are_what_their_coordinates_say() {
        for range in [(5, 11), (-3, 4), (7, 8), (2, 2)] {
            for origin in [-2, 0, 3] {
                [1, 4, 5, 20].into_iter().for_each(|shape| check(range, origin, shape));
            }
        }
        assert_eq!(volume(&[Interval::trusted(0, 4), Interval::trusted(3, 2)]), 0);
    }
}
