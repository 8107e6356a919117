//! Shape and tile of a stream -> when every tile begins and ends, and how many are alive at once.
//!
//! ```text
//! shape 5×7, tile 2×3     tile (0, 2) has one column: elements 6 and 13, the first to the last of them
//!                         3 tiles are alive at the most, so tile (1, 0) takes the slot of tile (0, 0)
//! ```
//!
//! Axis 0 is the slowest, and may have no end. Positions count elements of the stream; strides are those of the real
//! shape, never padded to whole tiles. Tiles begin and end in the order of their ranks, so the live ones are neighbours.

use std::fmt;
use std::ops::Range;

/// Most elements that a stream is counted to.
const MOST: u64 = 1 << 62;
/// Dimensions at the most, more than any file format has.
const MOST_AXES: usize = 32;

/// The product of sizes, unless it is more than can be counted.
fn few<'s>(mut sizes: impl Iterator<Item = &'s u64>) -> Option<u64> {
    sizes.try_fold(1u64, |product, size| product.checked_mul(*(size).max(&1)).filter(|n| *n <= MOST))
}

/// How a stream is cut into tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// Size along axis 0; none if it has no end.
    frames: Option<u64>,
    /// Sizes along the other axes.
    inner: Vec<u64>,
    /// Tile sizes along all axes, at least 1.
    tile: Vec<u64>,
}

/// Why a stream cannot be cut that way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TilingError(pub String);

impl fmt::Display for TilingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TilingError {}

impl Tiling {
    /// Tiles of the size `tile` over `frames` frames, or frames without end, of the shape `inner`.
    pub fn new(frames: Option<u64>, inner: &[u64], tile: &[u64]) -> Result<Tiling, TilingError> {
        let wrong = |why: String| Err(TilingError(why));
        if tile.len() != inner.len() + 1 {
            return wrong(format!(
                "the tile has {} dimensions, but the stream has {}",
                tile.len(),
                inner.len() + 1
            ));
        }
        if tile.len() > MOST_AXES {
            return wrong(format!("{} dimensions are more than {MOST_AXES}", tile.len()));
        }
        if tile.contains(&0) {
            return wrong("a tile cannot have a size of 0".to_owned());
        }
        let tiling = Tiling { frames, inner: inner.to_vec(), tile: tile.to_vec() };
        let all = few([frames.unwrap_or(1)].iter().chain(inner));
        let step = few([tile[0]].iter().chain(inner));
        match (all, step, few(tile.iter())) {
            (Some(_), Some(_), Some(_)) => Ok(tiling),
            _ => wrong(format!("tiles of {tile:?} over {inner:?} have more than 2^62 elements")),
        }
    }

    /// How many axes there are.
    pub fn rank(&self) -> usize {
        self.tile.len()
    }

    /// Sizes of a whole tile.
    pub fn tile(&self) -> &[u64] {
        &self.tile
    }

    /// Size of axis 0, if it has an end.
    pub fn frames(&self) -> Option<u64> {
        self.frames
    }

    /// Sizes of the other axes.
    pub fn inner(&self) -> &[u64] {
        &self.inner
    }

    /// Elements of a whole tile, which is what a slot has room for.
    pub fn tile_elements(&self) -> u64 {
        self.tile.iter().product()
    }

    /// Elements of one step along axis 0.
    pub fn frame_elements(&self) -> u64 {
        self.inner.iter().product()
    }

    /// Elements of the stream, if it has an end.
    pub fn elements(&self) -> Option<u64> {
        self.frames.map(|frames| frames * self.frame_elements())
    }

    /// Size along an axis; beyond everything where there is no end.
    fn size(&self, axis: usize) -> u64 {
        if axis == 0 { self.frames.unwrap_or(MOST) } else { self.inner[axis - 1] }
    }

    /// Distance of neighbours along an axis, in elements of the stream.
    pub fn stride(&self, axis: usize) -> u64 {
        self.inner[axis..].iter().product()
    }

    /// Tiles along an axis; as good as without end where the stream has none.
    pub fn count(&self, axis: usize) -> u64 {
        self.size(axis).div_ceil(self.tile[axis])
    }

    /// Coordinates that a tile has along an axis.
    pub fn range(&self, axis: usize, number: u64) -> Range<u64> {
        let size = self.size(axis);
        let start = number.saturating_mul(self.tile[axis]).min(size);
        start..start.saturating_add(self.tile[axis]).min(size)
    }

    /// Position of the first element of a tile.
    pub fn first(&self, tile: &[u64]) -> u64 {
        (0..self.rank()).map(|axis| self.range(axis, tile[axis]).start * self.stride(axis)).sum()
    }

    /// Position of the last element of a tile; of a whole one along an axis without end.
    pub fn last(&self, tile: &[u64]) -> u64 {
        (0..self.rank()).map(|axis| (self.range(axis, tile[axis]).end - 1) * self.stride(axis)).sum()
    }

    /// Elements of the stream in a tile; ragged ones have fewer.
    pub fn elements_of(&self, tile: &[u64]) -> u64 {
        let len = |axis: usize| {
            let range = self.range(axis, tile[axis]);
            range.end - range.start
        };
        (0..self.rank()).map(len).product()
    }

    /// Positions of all elements in the tiles with one number along axis 0: an epoch. When it ends, no tile of it lives.
    pub fn epoch(&self, number: u64) -> Range<u64> {
        let (range, frame) = (self.range(0, number), self.frame_elements());
        range.start * frame..range.end * frame
    }

    /// Tiles of an epoch.
    pub fn epoch_tiles(&self) -> u64 {
        (1..self.rank()).map(|axis| self.count(axis)).product()
    }

    /// Tiles that are alive at once, at the most: those beside each other along the axes faster than the slowest one
    /// that a tile has two coordinates of. Along slower axes one tile ends before the next begins.
    pub fn peak(&self) -> u64 {
        let thick = |axis: &usize| self.tile[*axis].min(self.size(*axis)) >= 2;
        let slowest = (0..self.rank()).find(thick);
        slowest
            .map_or(1, |axis| (axis + 1..self.rank()).map(|faster| self.count(faster)).product::<u64>())
            .max(1)
    }

    /// The number of a tile in lexicographic order, which is the order in which tiles begin, and end.
    pub fn rank_of(&self, tile: &[u64]) -> u64 {
        (0..self.rank())
            .fold(0, |rank, axis| if axis == 0 { tile[0] } else { rank * self.count(axis) + tile[axis] })
    }

    /// The tile of a rank.
    pub fn tile_at(&self, mut rank: u64) -> Vec<u64> {
        let mut tile = vec![0; self.rank()];
        for axis in (1..self.rank()).rev() {
            tile[axis] = rank % self.count(axis).max(1);
            rank /= self.count(axis).max(1);
        }
        tile[0] = rank;
        tile
    }

    /// The slot of a tile, among as many as live at once.
    pub fn slot(&self, rank: u64) -> u64 {
        rank % self.peak()
    }

    /// Coordinates of the element at a position.
    pub fn coords(&self, mut position: u64) -> Vec<u64> {
        let mut coords = vec![0; self.rank()];
        for axis in (1..self.rank()).rev() {
            coords[axis] = position % self.size(axis).max(1);
            position /= self.size(axis).max(1);
        }
        coords[0] = position;
        coords
    }

    /// Elements of a tile that are among the first `cursor` of the stream.
    pub fn received(&self, tile: &[u64], cursor: u64) -> u64 {
        let at = self.coords(cursor);
        let ranges: Vec<Range<u64>> = (0..self.rank()).map(|axis| self.range(axis, tile[axis])).collect();
        let mut received = 0;
        for (axis, range) in ranges.iter().enumerate() {
            let below = at[axis].clamp(range.start, range.end) - range.start;
            received +=
                below * ranges[axis + 1..].iter().map(|faster| faster.end - faster.start).product::<u64>();
            if !range.contains(&at[axis]) {
                break;
            }
        }
        received
    }

    /// The same tiles over fewer axes: an axis that every tile has the whole of goes into the one before it.
    ///
    /// `shape [9, 4, 6], tile [2, 2, 6]` becomes `shape [9, 24], tile [2, 12]`: elements that stay side by side in a tile
    /// make one longer row.
    pub fn collapsed(&self) -> Tiling {
        let mut tiling = self.clone();
        while let [.., size] = tiling.inner[..]
            && size == tiling.tile[tiling.inner.len()]
        {
            tiling.inner.pop();
            tiling.tile.pop();
            *tiling.tile.last_mut().expect("axis 0 stays") *= size;
            match tiling.inner.last_mut() {
                Some(slower) => *slower *= size,
                None => tiling.frames = tiling.frames.map(|frames| frames * size),
            }
        }
        tiling
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tiling(shape: &[u64], tile: &[u64]) -> Tiling {
        Tiling::new(Some(shape[0]), &shape[1..], tile).unwrap()
    }

    #[test]
    fn ragged_tiles_end_where_their_last_real_element_is() {
        let ragged = tiling(&[5, 7], &[2, 3]);
        assert_eq!((ragged.first(&[0, 2]), ragged.last(&[0, 2])), (6, 13));
        assert_eq!((ragged.first(&[2, 2]), ragged.last(&[2, 2])), (34, 34));
        assert_eq!((ragged.epoch(2), ragged.peak()), (28..35, 3));
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        let check = |frames: Option<u64>, inner: &[u64], tile: &[u64], expect: &str| {
            let error = Tiling::new(frames, inner, tile).unwrap_err();
            assert!(error.0.contains(expect), "{error}");
        };
        check(None, &[4], &[1], "the tile has 1 dimensions, but the stream has 2");
        check(None, &[4], &[1, 0], "size of 0");
        check(None, &[u64::MAX, u64::MAX], &[1, 1, 1], "more than 2^62");
        check(Some(u64::MAX), &[1], &[1, 1], "more than 2^62");
        check(None, &[], &[u64::MAX], "more than 2^62");
    }

    proptest! {
        #[test]
        fn tiles_are_what_their_elements_say(
            axes in proptest::collection::vec((1u64..7, 1u64..8), 1..4), part in 0.0..1.0f64
        ) {
            let (shape, tile): (Vec<u64>, Vec<u64>) = axes.into_iter().unzip();
            let tiling = tiling(&shape, &tile);
            let total = tiling.elements().unwrap();
            let cursor = (part * total as f64) as u64;
            let of = |position: u64| -> Vec<u64> {
                tiling.coords(position).iter().zip(&tile).map(|(at, size)| at / size).collect()
            };
            let count: u64 = (0..shape.len()).map(|axis| tiling.count(axis)).product();
            for rank in 0..count {
                let number = tiling.tile_at(rank);
                prop_assert_eq!(tiling.rank_of(&number), rank);
                let own: Vec<u64> = (0..total).filter(|position| of(*position) == number).collect();
                prop_assert_eq!(tiling.first(&number), own[0]);
                prop_assert_eq!(tiling.last(&number), own[own.len() - 1]);
                prop_assert_eq!(tiling.elements_of(&number), own.len() as u64);
                let received = own.iter().filter(|position| **position < cursor).count();
                prop_assert_eq!(tiling.received(&number, cursor), received as u64);
            }
            let live = |position: u64| {
                let tiles = (0..count).map(|rank| tiling.tile_at(rank));
                tiles.filter(|tile| (tiling.first(tile)..=tiling.last(tile)).contains(&position)).count() as u64
            };
            prop_assert_eq!((0..total).map(live).max(), Some(tiling.peak()));
        }
    }
}
