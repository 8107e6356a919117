//! Tiles -> the tiles of copies that are half as long along every axis but the first, level after level.
//!
//! ```text
//! level 0, tiles 256×256:   (0, 0) (0, 1) (1, 0) (1, 1)   ->   level 1: tile (0, 0), a quarter from each
//! ```
//!
//! At the edge, two elements that would be one are one; an element without a neighbour is halved alone.

use super::halve::{Shrink, shrink_rows};
use super::zarr::shape;
use crate::graph::types::Element;
use crate::io::error::{Fault, fault};
use crate::io::zarr::ChunkWriter;
use crate::stream::{Complete, Tiling};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, PoisonError};

/// The smaller copies of one stream.
pub(super) struct Pyramid {
    element: Element,
    shrink: Shrink,
    /// Level 0, which others write.
    base: Tiling,
    levels: Vec<Level>,
}

struct Level {
    tiling: Tiling,
    writer: ChunkWriter,
    /// Tiles that have some of their parts, and how many are missing.
    live: Mutex<BTreeMap<Vec<u64>, Half>>,
}

/// A tile that has not all of its parts.
struct Half {
    data: Vec<u8>,
    /// Parts that are still to come.
    missing: u64,
}

impl Pyramid {
    /// An error if tiles cannot be halved.
    pub(super) fn check(tiling: &Tiling) -> Result<(), Fault> {
        if tiling.tile()[1..].iter().all(|size| size.is_multiple_of(2)) {
            return Ok(());
        }
        let wrong = fault(format!("has tiles of {:?}, which cannot be halved", tiling.tile()));
        Err(wrong.help("choose tiles of even sizes along every axis but the first, or no pyramid"))
    }

    /// How the levels above the first are cut: up to the one that is a single tile.
    pub(super) fn tilings(base: &Tiling) -> Vec<Tiling> {
        let mut tilings: Vec<Tiling> = Vec::new();
        let mut last = base.clone();
        while last.epoch_tiles() > 1 {
            let inner: Vec<u64> = last.inner().iter().map(|size| size.div_ceil(2)).collect();
            let Ok(next) = Tiling::new(base.frames(), &inner, base.tile()) else { break };
            tilings.push(next.clone());
            last = next;
        }
        tilings
    }

    pub(super) fn new(
        base: &Tiling,
        element: Element,
        shrink: Shrink,
        writers: Vec<(Tiling, ChunkWriter)>,
    ) -> Pyramid {
        let level = |(tiling, writer)| Level { tiling, writer, live: Mutex::default() };
        Pyramid { element, shrink, base: base.clone(), levels: writers.into_iter().map(level).collect() }
    }

    /// Bytes of all tiles that are incomplete at once, at the most: of each level those that a row of tiles below goes into.
    pub(super) fn bytes(&self) -> u64 {
        let tile = self.base.tile_elements().saturating_mul(self.element.bytes());
        let below = std::iter::once(&self.base).chain(self.levels.iter().map(|level| &level.tiling));
        let live = below.zip(&self.levels).map(|(below, _)| {
            let counts: Vec<u64> = (1..below.rank()).map(|axis| below.count(axis)).collect();
            let pairs = counts
                .split_first()
                .map(|(first, rest)| Tiling::new(Some(*first), rest, &vec![2; counts.len()]));
            pairs.and_then(Result::ok).map_or(1, |pairs| pairs.peak() + 1)
        });
        live.sum::<u64>().saturating_mul(tile)
    }

    /// Takes in a tile of level 0.
    pub(super) fn add(&self, tile: &Complete) -> io::Result<()> {
        self.climb(0, &tile.number, &tile.data)
    }

    /// Puts a tile into its place in a level, and what that completes into the levels above.
    fn climb(&self, mut at: usize, number: &[u64], data: &[u8]) -> io::Result<()> {
        let mut complete = self.place(at, number, data);
        while let Some((number, data)) = complete {
            self.levels[at].writer.put(&number, &data)?;
            at += 1;
            complete = self.place(at, &number, &data);
        }
        Ok(())
    }

    /// Puts a tile of the level below into its place; the tile that it completes, if it does and there is the level.
    fn place(&self, at: usize, number: &[u64], data: &[u8]) -> Option<(Vec<u64>, Vec<u8>)> {
        let level = self.levels.get(at)?;
        let below = at.checked_sub(1).map_or(&self.base, |below| &self.levels[below].tiling);
        let to: Vec<u64> =
            number.iter().enumerate().map(|(axis, at)| if axis == 0 { *at } else { at / 2 }).collect();
        let parts = |axis: usize| (below.count(axis) - 2 * to[axis]).min(2);
        let mut live = level.live.lock().unwrap_or_else(PoisonError::into_inner);
        let half = live.entry(to.clone()).or_insert_with(|| Half {
            data: vec![0; data.len()],
            missing: (1..below.rank()).map(parts).product(),
        });
        self.halve(below, number, data, &mut half.data);
        half.missing = half.missing.saturating_sub(1);
        if half.missing > 0 {
            return None;
        }
        live.remove(&to).map(|half| (to, half.data))
    }

    /// Halves a tile into its part of `target`, row by row.
    fn halve(&self, below: &Tiling, number: &[u64], data: &[u8], target: &mut [u8]) {
        let (tile, size) = (below.tile(), self.element.bytes() as usize);
        let lens: Vec<u64> = (0..tile.len())
            .map(|axis| below.range(axis, number[axis]))
            .map(|range| range.end - range.start)
            .collect();
        let last = tile.len() - 1;
        let half = |axis: usize| if axis == 0 { lens[0] } else { lens[axis].div_ceil(2) };
        let (long, short) = (lens[last] as usize * size, half(last) as usize * size);
        let mut rows: Vec<&[u8]> = Vec::new();
        let mut at = vec![0; tile.len()];
        loop {
            rows.clear();
            gather(&at, &lens, tile, |place| rows.push(&data[place * size..][..long]));
            let place = at.iter().enumerate().fold(0, |place, (axis, at)| {
                let offset = if axis == 0 { 0 } else { number[axis] % 2 * tile[axis] / 2 };
                place * tile[axis] + offset + at
            }) as usize;
            shrink_rows(self.element, self.shrink, &rows, &mut target[place * size..][..short]);
            let Some(axis) = (0..last).rev().find(|axis| at[*axis] + 1 < half(*axis)) else { return };
            at[axis] += 1;
            at[axis + 1..].fill(0);
        }
    }

    /// Says how long the levels are.
    pub(super) fn describe(&self, frames: u64) -> io::Result<()> {
        self.levels.iter().try_for_each(|level| level.writer.describe(&shape(frames, &level.tiling)))
    }

    /// Writes what is incomplete, and ends.
    pub(super) fn finish(&self, frames: u64) -> io::Result<()> {
        for (at, level) in self.levels.iter().enumerate() {
            let live = std::mem::take(&mut *level.live.lock().unwrap_or_else(PoisonError::into_inner));
            for (number, half) in live {
                level.writer.put(&number, &half.data)?;
                self.climb(at + 1, &number, &half.data)?;
            }
        }
        self.levels.iter().try_for_each(|level| level.writer.finish(&shape(frames, &level.tiling)))
    }
}

/// Visits the first elements of the rows of a tile that become the row `at` of the half.
fn gather(at: &[u64], lens: &[u64], tile: &[u64], mut visit: impl FnMut(usize)) {
    let last = at.len() - 1;
    for corner in 0..1usize << last.saturating_sub(1) {
        let coord = |axis: usize| match axis {
            0 => at[0],
            axis if axis == last => 0,
            axis => 2 * at[axis] + (corner >> (last - 1 - axis) & 1) as u64,
        };
        if (0..last).all(|axis| coord(axis) < lens[axis]) {
            visit((0..=last).fold(0, |place, axis| place * tile[axis] + coord(axis)) as usize);
        }
    }
}
