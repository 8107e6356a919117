//! A stage whose rows go across its source, made in blocks that stay in the cache and then go out in one stream.
//!
//! ```text
//! b[y, x] = a[x, y]      columns 0..16 of the block: 16 rows of a, read from end to end; then columns 16..32; …
//!                        then the block, row by row, past the cache
//! ```
//!
//! Made row by row it would take lines of as many rows of the source as it has columns, which no prefetcher foresees.

use super::job::cancelled;
use super::memory::{LARGE, Place, stream};
use super::slabs::Cutting;
use super::stage::Ready;
use super::work::Work;
use crate::access::footprint::Region;
use crate::diagnostic::Result;
use crate::index::Interval;
use crate::plan::grid::volume;

/// Bytes of a block, about: part of a second-level cache.
const BLOCK: u64 = 512 << 10;
/// Its columns, at the most.
const COLUMNS: i64 = 256;
/// Columns that are made together: a register of 32-bit lanes.
const STRIP: i64 = 16;

/// Whether a box is made in blocks.
pub(super) fn is_worth_a_block(ready: &Ready<'_>, region: &Region) -> bool {
    let lowered = &ready.kernel.lowered;
    let element = ready.call.written().bytes as u128;
    lowered.goes_across()
        && lowered.own.is_none()
        && lowered.walks.is_none()
        && ready.cover.is_none()
        && !lowered.windowed
        && ready.call.written().size() >= LARGE
        && volume(region) * element >= u128::from(BLOCK) / 4
}

impl Work<'_> {
    /// Computes a box of a stage block by block.
    pub(super) fn across(&self, ready: &Ready<'_>, region: &Region) -> Result<()> {
        let (lowered, out) = (&ready.kernel.lowered, ready.call.written());
        let mut memory = self.spare.tile(BLOCK.into())?;
        for columns in runs(region[region.len() - 1], COLUMNS) {
            let mut part = region.clone();
            part[region.len() - 1] = columns;
            let elements = BLOCK / out.bytes as u64;
            let cutting = Cutting::new(&lowered.order.iter().map(|dim| part[*dim]).collect(), 1, elements);
            for cut in cutting.slabs() {
                lowered.order.iter().zip(cut).for_each(|(dim, range)| part[*dim] = range);
                let block = Place::dense(memory.memory_mut(), &part, out.bytes);
                self.block(ready, &block, &part)?;
                stream(&block, out, &part);
            }
        }
        self.spare.keep(memory);
        Ok(())
    }

    /// Computes a block, strip by strip.
    fn block(&self, ready: &Ready<'_>, block: &Place<'_>, part: &Region) -> Result<()> {
        let mut call = ready.call.into_place(&ready.kernel.lowered, &ready.sources, block.clone());
        let mut strip = part.clone();
        for columns in runs(part[part.len() - 1], STRIP) {
            self.control.check()?;
            strip[part.len() - 1] = columns;
            if !call.run(&strip, &[], &self.control.cancel) {
                return Err(cancelled());
            }
        }
        Ok(())
    }
}

/// A range in runs of at most that many coordinates.
fn runs(range: Interval, most: i64) -> impl Iterator<Item = Interval> {
    let firsts = (range.first()..=range.last()).step_by(most as usize);
    firsts.map(move |first| Interval::trusted(first, (first + most - 1).min(range.last())))
}
