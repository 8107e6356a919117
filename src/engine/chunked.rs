//! Inputs in zarr arrays: opened when a read is planned, their chunks read when a part of it is computed.

use super::data::unread;
use crate::diagnostic::Result;
use crate::graph::Tensor;
use crate::index::Interval;
use crate::io::Expect;
use crate::io::zarr::ZarrArray;
use crate::run::inputs::{BoxSource, InputData};
use std::path::Path;
use std::sync::Arc;

struct Chunked {
    array: ZarrArray,
    /// For messages, and for where the first element is.
    tensor: Tensor,
}

/// Opens the array of an input, when it is what the script declares.
pub(super) fn open(tensor: &Tensor, path: &Path, expect: &Expect<'_>) -> Result<InputData> {
    let array = ZarrArray::open_expected(path, expect).map_err(|error| unread(tensor, error))?;
    Ok(InputData::OnDemand(Arc::new(Chunked { array, tensor: tensor.clone() })))
}

impl BoxSource for Chunked {
    fn read_box(&self, region: &[Interval]) -> Result<Vec<u8>> {
        let dims = region.iter().zip(self.tensor.domain.dims());
        let shifted = dims.map(|(range, dim)| {
            let first = dim.interval.first();
            // Both lie inside of the domain, so their distance fits.
            Interval::trusted(range.first() - first, range.last() - first)
        });
        self.array.read_box(&shifted.collect::<Vec<_>>()).map_err(|error| unread(&self.tensor, error))
    }

    fn identity(&self) -> Option<Vec<u8>> {
        Some(self.array.identity())
    }

    fn beside(&self, _: &[Interval]) -> u64 {
        self.array.chunk_bytes()
    }
}
