//! The elements of an output, row by row -> a zarr array: a stream with an end.
//!
//! ```text
//! output "hills.zarr" = smooth[-256:256, 0:512] chunk [64, 64] codec zstd(3)
//! ```

use super::metadata::{Compression, Layout};
use super::write::ChunkWriter;
use crate::graph::OutputOptions;
use crate::graph::types::Element;
use crate::io::encode::Encode;
use crate::io::error::{Result, fault};
use crate::io::writer::Place;
use crate::stream::scatter::SLOT_BESIDE;
use crate::stream::{Scatter, Tiling};
use std::io;
use std::path::Path;

/// Bytes of all chunks that are made at once, at the most, unless the script chooses their shape.
const ROOM: u64 = 64 << 20;
/// Elements along the two innermost dimensions of a chunk.
const SIDE: i64 = 512;

/// An array on its way into chunks.
pub(in crate::io) struct Output {
    scatter: Scatter,
    writer: ChunkWriter,
    shape: Vec<i64>,
    /// Bytes of all chunks that are incomplete at once.
    beside: u64,
}

impl Output {
    /// An array in the folder `root`, which is there.
    pub(in crate::io) fn new(
        root: &Path,
        element: Element,
        shape: &[i64],
        options: &OutputOptions,
        place: &Place,
    ) -> Result<Output> {
        let chunk = chunk_of(element, shape, options)?;
        let (name, level) = options.codec.as_ref().map_or(("zstd", None), |(name, level)| (&**name, *level));
        let compression = Compression::named(name, level)
            .map_err(|why| fault(why).help("write `codec none`, `codec gzip` or `codec zstd`"))?;
        let tiling = tiling(shape, &chunk)?;
        let counts = (0..shape.len()).map(|axis| tiling.count(axis)).collect();
        let tile = tiling.tile_elements().saturating_mul(element.bytes());
        let beside = tile.saturating_add(SLOT_BESIDE).saturating_mul(tiling.peak());
        let scatter = Scatter::new(tiling, element.bytes() as usize).map_err(|error| fault(error.0))?;
        let origin =
            if place.origin.len() == shape.len() { place.origin.clone() } else { vec![0; shape.len()] };
        let layout =
            Layout { element, chunk, shard: None, compression, origin, labels: place.labels.clone() };
        let writer = ChunkWriter::new(root, layout, counts);
        let beside = beside.saturating_add(writer.squeezed_bytes(tile));
        Ok(Output { scatter, writer, shape: shape.to_vec(), beside })
    }
}

fn chunk_of(element: Element, shape: &[i64], options: &OutputOptions) -> Result<Vec<i64>> {
    match &options.chunk {
        Some(chunk) if chunk.iter().any(|size| *size < 1) => {
            Err(fault(format!("cannot have chunks of {chunk:?}")).help("write sizes of at least 1"))
        }
        Some(chunk) => Ok(chunk.clone()),
        None => Ok(default_chunk(element, shape)),
    }
}

/// Squares of the innermost dimensions, as long as a row of them is not too much.
fn default_chunk(element: Element, shape: &[i64]) -> Vec<i64> {
    let inner = |dim: usize| dim + 2 >= shape.len();
    let side = if shape.len() == 1 { SIDE * SIDE } else { SIDE };
    let mut chunk: Vec<i64> =
        (0..shape.len()).map(|dim| if inner(dim) { side.min(shape[dim]).max(1) } else { 1 }).collect();
    if let [.., rows, columns] = &mut chunk[..] {
        let row = (shape[shape.len() - 1].max(*columns) as u64).saturating_mul(element.bytes());
        while *rows > 1 && row.saturating_mul(*rows as u64) > ROOM {
            *rows /= 2;
        }
    }
    chunk
}

fn tiling(shape: &[i64], chunk: &[i64]) -> Result<Tiling> {
    let unsigned = |sizes: &[i64]| sizes.iter().map(|size| *size as u64).collect::<Vec<u64>>();
    let (shape, chunk) = (unsigned(shape), unsigned(chunk));
    let tiling = match &shape[..] {
        [] => Tiling::new(Some(1), &[], &[1]),
        [frames, inner @ ..] => Tiling::new(Some(*frames), inner, &chunk),
    };
    tiling.map_err(|error| fault(format!("cannot be cut into chunks: {error}")))
}

impl Encode for Output {
    fn write(&mut self, elements: &[u8]) -> io::Result<()> {
        let writer = &self.writer;
        self.scatter
            .append(elements, &mut |tile| writer.put(&tile.number, &tile.data).map(|()| tile.data))
            .map(|_| ())
    }

    fn beside(&self) -> u64 {
        self.beside
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let Output { scatter, writer, shape, .. } = *self;
        scatter.close(&mut |tile| writer.put(&tile.number, &tile.data).map(|()| tile.data))?;
        writer.finish(&shape)
    }
}
