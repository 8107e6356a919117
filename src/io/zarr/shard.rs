//! Chunks in a chunk: a file with an index -> the bytes of one of them.
//!
//! ```text
//! chunk, chunk, …, index: (offset, bytes) per chunk, (2^64-1, 2^64-1) where there is none, checksum
//! ```

use super::chain::{Chain, checked};
use crate::io::error::{Result, fault};
use crate::io::source::Source;

/// How chunks lie in a shard.
#[derive(Debug)]
pub(super) struct Shard {
    /// Shape of a chunk in it.
    pub(super) chunk: Vec<i64>,
    /// Chunks along each dimension.
    pub(super) grid: Vec<i64>,
    pub(super) chain: Chain,
    /// Whether the index has a checksum.
    pub(super) checked: bool,
    /// Where the index is.
    pub(super) at_start: bool,
    pub(super) big_endian: bool,
}

/// Bytes that are there in part or as a whole.
pub(super) enum Bytes {
    File(Source),
    Memory(Vec<u8>),
}

impl Bytes {
    fn len(&self) -> u64 {
        match self {
            Bytes::File(source) => source.len,
            Bytes::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Some of them.
    pub(super) fn range(&mut self, start: u64, size: u64) -> Result<Vec<u8>> {
        match self {
            Bytes::File(source) => source.bytes(start, size),
            Bytes::Memory(bytes) => {
                let range = start..start.saturating_add(size);
                let range = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
                let part = range.and_then(|(start, end)| bytes.get(start..end));
                part.map(<[u8]>::to_vec).ok_or_else(|| fault("has a shard that ends early"))
            }
        }
    }

    /// All of them.
    pub(super) fn whole(mut self) -> Result<Vec<u8>> {
        let len = self.len();
        match self {
            Bytes::Memory(bytes) => Ok(bytes),
            Bytes::File(_) => self.range(0, len),
        }
    }
}

/// Where chunks of a shard are.
pub(super) struct Index {
    bytes: Vec<u8>,
    big_endian: bool,
}

impl Index {
    /// Offset and bytes of a chunk; none where there is none.
    pub(super) fn of(&self, place: usize) -> Option<(u64, u64)> {
        let number = |at: usize| {
            let eight = self.bytes.as_chunks::<8>().0[at];
            if self.big_endian { u64::from_be_bytes(eight) } else { u64::from_le_bytes(eight) }
        };
        Some((number(2 * place), number(2 * place + 1))).filter(|entry| *entry != (u64::MAX, u64::MAX))
    }
}

/// Bytes of an entry of the index.
const ENTRY: u64 = 16;

impl Shard {
    /// Bytes of the index.
    pub(super) fn index_bytes(&self) -> u64 {
        let count = self.grid.iter().fold(1u64, |count, size| count.saturating_mul(*size as u64));
        count.saturating_mul(ENTRY).saturating_add(if self.checked { 4 } else { 0 })
    }

    /// Reads the index.
    pub(super) fn index(&self, bytes: &mut Bytes) -> Result<Index> {
        let size = self.index_bytes();
        let Some(end) = bytes.len().checked_sub(size) else {
            return Err(fault(format!(
                "has a shard of {} bytes, fewer than its index of {size}",
                bytes.len()
            )));
        };
        let index = bytes.range(if self.at_start { 0 } else { end }, size)?;
        let bytes = if self.checked { checked(index)? } else { index };
        Ok(Index { bytes, big_endian: self.big_endian })
    }

    /// The place of a chunk in the index.
    pub(super) fn place(&self, number: &[i64]) -> usize {
        number
            .iter()
            .zip(&self.grid)
            .fold(0, |place, (number, count)| place * *count as usize + *number as usize)
    }
}
