//! Elements as they come, any number at a time -> complete tiles.
//!
//! ```
//! use itp::stream::{Complete, Scatter, Tiling};
//!
//! let tiling = Tiling::new(None, &[4], &[2, 2])?;      // rows of 4 without end, tiles of 2×2
//! let mut scatter = Scatter::new(tiling, 1)?;
//! let mut tiles = Vec::new();
//! let mut keep = |tile: Complete| { tiles.push(tile.data.clone()); Ok::<_, ()>(tile.data) };
//! scatter.append(&[1, 2, 3, 4, 5], &mut keep).unwrap();
//! scatter.append(&[6, 7, 8, 9], &mut keep).unwrap();   // completes both tiles, and begins a third
//! assert_eq!(scatter.live(), 2..3);
//! scatter.close(&mut keep).unwrap();                   // the third has one element, and zeros
//! assert_eq!(tiles, [[1, 2, 5, 6], [3, 4, 7, 8], [9, 0, 0, 0]]);
//! # Ok::<(), itp::stream::TilingError>(())
//! ```
//!
//! There are as many slots as tiles live at once, and a tile of rank r lies in slot r modulo their number. An append is
//! split wherever a tile ends, so that its slot is empty when the next tile begins. What takes a complete tile gives
//! back memory for another: it may be the same, or that of a tile which has been written meanwhile.

use super::runs::{Closed, Runs, TakeRuns};
use super::tiling::{Tiling, TilingError};
use crate::pages::prefer_large;
use std::hint::black_box;
use std::ops::Range;

/// A tile whose elements are all there, or were when the stream was closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Complete {
    /// Its number along each axis.
    pub number: Vec<u64>,
    /// Elements of the stream in it; fewer than it could have where the stream was closed early.
    pub received: u64,
    /// A whole tile, row-major; zeros where the stream has no element.
    pub data: Vec<u8>,
}

/// A stream on its way into tiles.
#[derive(Debug)]
pub struct Scatter {
    runs: Runs,
    slots: Slots,
}

/// The memory of tiles that live.
#[derive(Debug)]
struct Slots {
    tiling: Tiling,
    /// The same with rows as long as can be.
    rows: Tiling,
    /// Bytes of an element.
    element: usize,
    ring: Vec<Vec<u8>>,
    /// Rank of a tile that lies in the first slot, as late as none that lives is before it.
    base: u64,
}

impl Scatter {
    /// An empty stream of elements of that many bytes; an error if the slots do not fit into memory.
    pub fn new(tiling: Tiling, element: usize) -> Result<Scatter, TilingError> {
        let runs = Runs::new(&tiling, element);
        let ring = ring(&tiling, element).ok_or_else(|| too_large(&tiling, element))?;
        let slots = Slots { tiling, rows: runs.rows().clone(), element, ring, base: 0 };
        Ok(Scatter { runs, slots })
    }

    /// How it is cut.
    pub fn tiling(&self) -> &Tiling {
        &self.slots.tiling
    }

    /// Elements that have come.
    pub fn cursor(&self) -> u64 {
        self.runs.cursor()
    }

    /// Ranks of the tiles that have begun and not ended.
    pub fn live(&self) -> Range<u64> {
        self.runs.live()
    }

    /// Elements that may still come.
    pub fn remaining(&self) -> u64 {
        self.runs.remaining()
    }

    /// Takes whole elements, and hands on the tiles that they complete; how many bytes it took, which is fewer than there
    /// are only at the end of the stream.
    pub fn append<E>(
        &mut self,
        bytes: &[u8],
        take: &mut impl FnMut(Complete) -> Result<Vec<u8>, E>,
    ) -> Result<usize, E> {
        self.runs.append(bytes, &mut Filling { slots: &mut self.slots, take })
    }

    /// Hands on the tiles that have begun, in order; the stream is at its end.
    pub fn close<E>(mut self, take: &mut impl FnMut(Complete) -> Result<Vec<u8>, E>) -> Result<Closed, E> {
        for rank in self.live() {
            let number = self.slots.tiling.tile_at(rank);
            let received = self.slots.tiling.received(&number, self.cursor());
            let mut data = std::mem::take(self.slots.of(rank));
            self.slots.clear_missing(rank, self.cursor(), &mut data);
            take(Complete { number, received, data })?;
        }
        Ok(self.runs.closed())
    }
}

/// Runs on their way into slots.
struct Filling<'s, F> {
    slots: &'s mut Slots,
    take: &'s mut F,
}

impl<E, F: FnMut(Complete) -> Result<Vec<u8>, E>> TakeRuns<'_> for Filling<'_, F> {
    type Error = E;

    fn begin(&mut self, rank: u64) -> Result<(), E> {
        self.slots.begin(rank);
        Ok(())
    }

    fn run(&mut self, rank: u64, offset: usize, bytes: &[u8]) -> Result<(), E> {
        self.slots.of(rank)[offset..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn end(&mut self, rank: u64) -> Result<(), E> {
        let number = self.slots.tiling.tile_at(rank);
        let received = self.slots.tiling.elements_of(&number);
        let data = std::mem::take(self.slots.of(rank));
        *self.slots.of(rank) = (self.take)(Complete { number, received, data })?;
        self.slots.ended(rank);
        Ok(())
    }
}

impl Slots {
    /// The slot of a tile.
    fn of(&mut self, rank: u64) -> &mut Vec<u8> {
        let (slot, slots) = ((rank - self.base) as usize, self.ring.len());
        &mut self.ring[if slot < slots { slot } else { slot - slots }]
    }

    /// Tiles up to this one have ended.
    fn ended(&mut self, rank: u64) {
        let slots = self.ring.len() as u64;
        if rank + 1 - self.base == slots {
            self.base += slots;
        }
    }

    fn begin(&mut self, rank: u64) {
        let number = self.rows.tile_at(rank);
        if self.rows.elements_of(&number) < self.rows.tile_elements() {
            let mut slot = std::mem::take(self.of(rank));
            clear_beyond(&self.rows, &number, self.element, &mut slot);
            *self.of(rank) = slot;
        }
    }

    /// Zeros where a tile that was in the slot before has left its elements.
    fn clear_missing(&self, rank: u64, cursor: u64, data: &mut [u8]) {
        let number = self.rows.tile_at(rank);
        let sizes = self.rows.tile();
        let last = sizes.len() - 1;
        let row = sizes[last] as usize * self.element;
        for (at, bytes) in data.chunks_exact_mut(row).enumerate() {
            let start = row_position(&self.rows, &number, at as u64);
            let there = cursor.saturating_sub(start).min(sizes[last]) as usize;
            bytes[there * self.element..].fill(0);
        }
    }
}

/// Zeros where a tile reaches beyond the array: what a tile that was there before has left.
fn clear_beyond(rows: &Tiling, number: &[u64], element: usize, data: &mut [u8]) {
    let (sizes, last) = (rows.tile(), number.len() - 1);
    let extents = (0..=last).map(|axis| rows.range(axis, number[axis]));
    let extents: Vec<u64> = extents.map(|range| range.end - range.start).collect();
    let inside = extents[last] as usize * element;
    for (at, row) in data.chunks_exact_mut(sizes[last] as usize * element).enumerate() {
        let mut at = at as u64;
        let beyond = (0..last).rev().any(|axis| {
            let coord = at % sizes[axis];
            at /= sizes[axis];
            coord >= extents[axis]
        });
        row[if beyond { 0 } else { inside }..].fill(0);
    }
}

/// Position in the stream of the first element in row `at` of a tile.
fn row_position(rows: &Tiling, number: &[u64], mut at: u64) -> u64 {
    let last = number.len() - 1;
    let mut position = number[last] * rows.tile()[last];
    for axis in (0..last).rev() {
        let (size, start) = (rows.tile()[axis], number[axis] * rows.tile()[axis]);
        position += (start + at % size) * rows.stride(axis);
        at /= size;
    }
    position
}

/// Bytes that a slot takes beside its elements, about: where it is, and what the allocator notes.
pub const SLOT_BESIDE: u64 = 48;

/// The slots, if there is room for all of them.
fn ring(tiling: &Tiling, element: usize) -> Option<Vec<Vec<u8>>> {
    let bytes = usize::try_from(tiling.tile_elements()).ok()?.checked_mul(element)?;
    let slots = usize::try_from(tiling.peak()).ok()?;
    // Few large slots or many small ones: both are asked for as a whole first.
    reserve(slots.checked_mul(bytes.checked_add(SLOT_BESIDE as usize)?)?)?;
    let mut ring = Vec::new();
    ring.try_reserve_exact(slots).ok()?;
    for _ in 0..slots {
        ring.push(slot(bytes)?);
    }
    Some(ring)
}

/// Memory for a tile, which nobody has touched yet; none if there is no such memory.
pub fn slot(bytes: usize) -> Option<Vec<u8>> {
    reserve(bytes)?;
    let slot = vec![0; bytes];
    prefer_large(&slot);
    Some(slot)
}

/// Whether the system would give that much memory.
fn reserve(bytes: usize) -> Option<()> {
    let mut memory = Vec::<u8>::new();
    memory.try_reserve_exact(bytes).ok()?;
    black_box(memory);
    Some(())
}

fn too_large(tiling: &Tiling, element: usize) -> TilingError {
    let (slots, elements) = (tiling.peak(), tiling.tile_elements());
    TilingError(format!("{slots} tiles of {elements} elements of {element} bytes do not fit into memory"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The tile cut out of the array as a whole, with zeros around.
    fn cut(tiling: &Tiling, element: usize, number: &[u64], elements: u64) -> Vec<u8> {
        (0..tiling.tile_elements())
            .flat_map(|mut at| {
                let mut position = 0;
                for axis in (0..tiling.rank()).rev() {
                    let size = tiling.tile()[axis];
                    let (coord, range) = (number[axis] * size + at % size, tiling.range(axis, number[axis]));
                    if !range.contains(&coord) {
                        return vec![0; element];
                    }
                    position += coord * tiling.stride(axis);
                    at /= size;
                }
                if position < elements { value(element, position) } else { vec![0; element] }
            })
            .collect()
    }

    /// The bytes of an element; none of them is 0.
    fn value(element: usize, position: u64) -> Vec<u8> {
        (0..element as u64).map(|byte| ((position + 7 * byte) % 251) as u8 + 1).collect()
    }

    proptest! {
        #[test]
        fn tiles_are_cut_out_of_the_whole(
            axes in proptest::collection::vec((1u64..7, 1u64..8), 1..4),
            endless in any::<bool>(),
            element in 1usize..4,
            appends in proptest::collection::vec(1usize..40, 1..20),
        ) {
            let (shape, tile): (Vec<u64>, Vec<u64>) = axes.into_iter().unzip();
            let frames = (!endless).then_some(shape[0]);
            let tiling = Tiling::new(frames, &shape[1..], &tile).unwrap();
            let mut scatter = Scatter::new(tiling.clone(), element).unwrap();
            prop_assert_eq!(tiling.frames(), frames);
            let mut tiles = Vec::new();
            let mut keep = |tile: Complete| { tiles.push(tile.clone()); Ok::<_, ()>(tile.data) };
            let mut cursor = 0;
            for append in appends {
                let bytes: Vec<u8> = (cursor..cursor + append as u64).flat_map(|at| value(element, at)).collect();
                let taken = scatter.append(&bytes, &mut keep).unwrap();
                prop_assert_eq!(taken % element, 0);
                let taken = (taken / element) as u64;
                prop_assert_eq!(taken, (append as u64).min(tiling.elements().map_or(u64::MAX, |all| all - cursor)));
                cursor += taken;
                prop_assert_eq!(scatter.cursor(), cursor);
            }
            let live = scatter.live();
            let closed = scatter.close(&mut keep).unwrap();
            prop_assert_eq!(closed.partial, live.end - live.start);
            prop_assert_eq!(closed.frames * tiling.frame_elements() + closed.leftover, cursor);
            for (rank, tile) in tiles.iter().enumerate() {
                prop_assert_eq!(&tile.number, &tiling.tile_at(rank as u64));
                prop_assert_eq!(&tile.data, &cut(&tiling, element, &tile.number, cursor));
                prop_assert_eq!(tile.received, tiling.received(&tile.number, cursor));
            }
            prop_assert_eq!(tiles.iter().map(|tile| tile.received).sum::<u64>(), cursor);
        }
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        let tiling = Tiling::new(None, &[1 << 30], &[1 << 31, 1]).unwrap();
        assert!(Scatter::new(tiling, 8).unwrap_err().0.contains("do not fit into memory"));
        let one = Tiling::new(None, &[1], &[1 << 47, 1]).unwrap();
        assert!(Scatter::new(one, 1).unwrap_err().0.contains("do not fit into memory"));
    }
}
