//! Results that are kept between reads: elements that were computed -> tiles in a store that may forget them.
//!
//! ```text
//! smooth[0:300, 0:300]      nothing is kept: all is computed, and put into 9 tiles of 128×128
//! smooth[0:300, 100:400]    200 columns are there, 100 are computed
//! ```
//!
//! A tile need not be complete: it knows the boxes of it that are there. Tiles are never changed, only replaced, so
//! whoever holds one may go on reading it. Forgetting a tile is always allowed: what is missing is computed again.
//!
//! - [`boxes`]: what of a box is missing, in few boxes;
//! - [`flights`]: who computes which tile right now, so that nobody else does;
//! - [`memory`]: the store that keeps what was used last, up to a number of bytes.

pub mod boxes;
pub mod flights;
pub mod memory;

use crate::access::footprint::Region;
use crate::faults;
use crate::graph::types::Element;
use crate::index::Interval;
use crate::index::walk::copy_box;
use crate::plan::grid::{Grid, volume};
use boxes::{meet, merged, without};
use std::sync::Arc;

/// Which tile: of what, and its number along each dimension.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TileKey {
    /// What it is a tile of, in words that mean one thing only.
    pub series: Arc<str>,
    /// Its number per dimension.
    pub number: Vec<i64>,
}

/// What tiles of a series are.
#[derive(Clone, Debug)]
pub struct About {
    /// What the script calls it.
    pub name: Arc<str>,
    /// Type of the elements.
    pub element: Element,
    /// How they are cut.
    pub grid: Grid,
    /// Whether its word means the same to every process: nothing depends on what only this one knows.
    pub lasting: bool,
}

/// Elements of a box, as far as they are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tile {
    region: Region,
    /// Boxes whose elements are there; no two share one.
    held: Vec<Region>,
    /// Bytes of an element.
    element: usize,
    data: Vec<u8>,
}

/// Boxes of a tile that comes from outside, at the most: whoever asks for elements looks at all of them.
pub const MOST_BOXES: usize = 1_000;

/// Where tiles are kept. It may forget any of them at any time.
pub trait TileStore: Send + Sync {
    /// Is told what a series is before a tile of it is asked for; called again whenever it is read.
    fn describe(&self, _series: &Arc<str>, _about: &About) {}

    /// The tile with that key, if it is there.
    fn get(&self, key: &TileKey) -> Option<Arc<Tile>>;

    /// Keeps a tile instead of the one with the same key; others may have to go.
    fn put(&self, key: TileKey, tile: Arc<Tile>);

    /// Forgets a tile.
    fn remove(&self, key: &TileKey);

    /// What it holds, in order.
    fn tiles(&self) -> Vec<(TileKey, Arc<Tile>)>;

    /// Bytes that it holds.
    fn bytes(&self) -> u64;

    /// Bytes that it may hold.
    fn limit(&self) -> u64;

    /// Whether it keeps whatever it is given, so that no read is too large for it as long as its parts are not.
    fn keeps_all(&self) -> bool {
        false
    }
}

impl Tile {
    /// A tile without elements; `None` if there is no room for it.
    pub fn empty(region: Region, element: usize) -> Option<Tile> {
        let bytes = usize::try_from(volume(&region)).ok()?.checked_mul(element)?;
        let mut data = Vec::new();
        data.try_reserve_exact(bytes).ok().filter(|()| !faults::strikes(faults::Place::Memory))?;
        data.resize(bytes, 0);
        Some(Tile { region, held: Vec::new(), element, data })
    }

    /// A tile whose elements lie in `data`, row-major, as far as they are in `held`; `None` if that does not fit, and if
    /// boxes share elements or are more than [`MOST_BOXES`].
    pub fn with(region: Region, held: Option<Vec<Region>>, element: usize, data: Vec<u8>) -> Option<Tile> {
        let bytes = usize::try_from(volume(&region)).ok()?.checked_mul(element)?;
        let inside = |held: &Region| {
            held.len() == region.len()
                && held
                    .iter()
                    .zip(&region)
                    .all(|(held, all)| !held.is_empty() && all.contains_interval(*held))
        };
        let held = held.unwrap_or_else(|| vec![region.clone()]);
        let apart = |(at, one): (usize, &Region)| held[..at].iter().all(|other| meet(one, other).is_none());
        let few = held.len() <= MOST_BOXES && held.iter().all(inside) && held.iter().enumerate().all(apart);
        let fits = data.len() == bytes && few;
        fits.then_some(Tile { region, held, element, data })
    }

    /// All of its elements, row-major; those that are not there are anything.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Whether all elements are there.
    pub fn is_whole(&self) -> bool {
        self.held.iter().map(|held| volume(held)).sum::<u128>() == volume(&self.region)
    }

    /// Which elements it is for.
    pub fn region(&self) -> &Region {
        &self.region
    }

    /// The boxes whose elements are there.
    pub fn held(&self) -> &[Region] {
        &self.held
    }

    /// Whether all elements of a box are there.
    pub fn holds(&self, region: &Region) -> bool {
        let mut left = vec![region.clone()];
        for held in &self.held {
            left = left.iter().flat_map(|region| without(region, held)).collect();
        }
        left.is_empty()
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> u64 {
        (self.data.len() + size_of::<Tile>()) as u64
    }

    /// Takes in the elements that it shares with a row-major box.
    pub fn fill(&mut self, region: &[Interval], data: &[u8]) {
        let Some(part) = meet(&self.region, region) else { return };
        copy_box((data, region), (&mut self.data, &self.region), &part, self.element);
        let mut held: Vec<Region> = self.held.iter().flat_map(|held| without(held, &part)).collect();
        held.push(part);
        self.held = merged(held);
    }

    /// Hands the elements that are there to a row-major box, as far as it has them.
    pub fn copy_to(&self, region: &[Interval], data: &mut [u8]) {
        for part in self.held.iter().filter_map(|held| meet(held, region)) {
            copy_box((&self.data, &self.region), (data, region), &part, self.element);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(ranges: &[(i64, i64)]) -> Region {
        ranges.iter().map(|(lo, hi)| Interval::trusted(*lo, hi - 1)).collect()
    }

    #[test]
    fn boxes_from_outside_are_few_and_apart_and_inside() {
        let fits = |held: &[&[(i64, i64)]]| {
            let held = held.iter().map(|ranges| region(ranges)).collect();
            Tile::with(region(&[(0, 40), (0, 40)]), Some(held), 1, vec![0; 1600]).is_some()
        };
        assert!(fits(&[&[(0, 2), (0, 40)], &[(2, 3), (0, 40)]]));
        assert!(!fits(&[&[(0, 2), (0, 40)], &[(1, 3), (39, 40)]]));
        assert!(!fits(&[&[(0, 2), (0, 41)]]));
        assert!(!fits(&[&[(0, 2)]]));
        assert!(!fits(&[&[(0, 0), (0, 40)]]));
        let cells: Vec<[(i64, i64); 2]> =
            (0..1600).map(|at| [(at / 40, at / 40 + 1), (at % 40, at % 40 + 1)]).collect();
        let cells: Vec<&[(i64, i64)]> = cells.iter().map(|cell| &cell[..]).collect();
        assert!(fits(&cells[..MOST_BOXES]));
        assert!(!fits(&cells[..=MOST_BOXES]));
    }

    #[test]
    fn a_tile_gives_back_what_it_was_given() {
        let mut tile = Tile::empty(region(&[(0, 4), (0, 4)]), 1).expect("there is room");
        tile.fill(&region(&[(-1, 2), (2, 5)]), &[0, 0, 0, 1, 2, 0, 3, 4, 0]);
        assert_eq!(tile.held(), [region(&[(0, 2), (2, 4)])]);
        assert_eq!(
            (tile.is_whole(), tile.data()),
            (false, &[0, 0, 1, 2, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0][..])
        );
        let mut row = [9; 4];
        tile.copy_to(&region(&[(1, 2), (0, 4)]), &mut row);
        assert_eq!(row, [9, 9, 3, 4]);
        tile.fill(&region(&[(0, 2), (0, 3)]), &[5, 6, 7, 8, 9, 10]);
        assert_eq!(tile.held(), [region(&[(0, 2), (0, 4)])]);
        tile.copy_to(&region(&[(1, 2), (0, 4)]), &mut row);
        assert_eq!(row, [8, 9, 10, 4]);
        tile.fill(&region(&[(0, 4), (0, 4)]), &[1; 16]);
        assert!(tile.is_whole());
        assert_eq!(tile.region(), &region(&[(0, 4), (0, 4)]));
        assert_eq!(tile.bytes(), 16 + size_of::<Tile>() as u64);
    }
}
