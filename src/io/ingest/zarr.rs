//! Tiles of a stream -> a zarr array that can be read while it grows, and smaller copies of it.
//!
//! ```text
//! cam.zarr             the array; with a pyramid a group of arrays, `0` the array itself, `1` half as high and wide, …
//! ```

use super::folder::{new_folder, write_file};
use super::halve::Shrink;
use super::pyramid::Pyramid;
use super::{TileFile, TileSink};
use crate::graph::types::Element;
use crate::io::disk as fs;
use crate::io::error::{Fault, IoError, fault};
use crate::io::zarr::{ChunkWriter, Compression, LARGEST_CHUNK, Layout};
use crate::stream::{Complete, Tiling};
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};

/// How the array is to be.
#[derive(Clone, Debug, PartialEq)]
pub struct ZarrPlan {
    /// Type of the elements.
    pub element: Element,
    /// What chunks are compressed with.
    pub compression: Compression,
    /// Shape of the files that chunks are gathered in.
    pub shard: Option<Vec<i64>>,
    /// How smaller copies are made, if they are.
    pub shrink: Option<Shrink>,
    /// Names of the dimensions.
    pub labels: Vec<String>,
}

/// A zarr array, or a group of them.
pub struct ZarrSink {
    array: ChunkWriter,
    tiling: Tiling,
    /// Steps along axis 0 that a shard has, or a tile.
    step: u64,
    pyramid: Option<Pyramid>,
    tile_bytes: u64,
}

impl ZarrSink {
    /// A new array at `path`, of length 0.
    pub fn create(path: &Path, tiling: &Tiling, plan: ZarrPlan) -> Result<ZarrSink, IoError> {
        let create = || {
            let layout = layout(tiling, &plan)?;
            if plan.shrink.is_some() {
                Pyramid::check(tiling)?;
            }
            new_folder(path)?;
            let (root, pyramid) = match plan.shrink {
                None => (path.to_owned(), None),
                Some(shrink) => (level_folder(path, 0)?, Some(pyramid(path, tiling, &layout, shrink)?)),
            };
            let step = layout.shard.as_ref().map_or(tiling.tile()[0], |shard| shard[0] as u64);
            let tile_bytes = tiling.tile_elements() * plan.element.bytes();
            let array = ChunkWriter::new(&root, layout, counts(tiling));
            let sink = ZarrSink { array, tiling: tiling.clone(), step, pyramid, tile_bytes };
            sink.describe(0)?;
            Ok(sink)
        };
        create().map_err(|fault: Fault| fault.writing(path))
    }

    fn describe(&self, frames: u64) -> io::Result<()> {
        self.array.describe(&shape(frames, &self.tiling))?;
        self.pyramid.as_ref().map_or(Ok(()), |pyramid| pyramid.describe(frames))
    }
}

fn counts(tiling: &Tiling) -> Vec<u64> {
    (0..tiling.rank()).map(|axis| tiling.count(axis)).collect()
}

pub(super) fn shape(frames: u64, tiling: &Tiling) -> Vec<i64> {
    [frames].iter().chain(tiling.inner()).map(|size| *size as i64).collect()
}

fn layout(tiling: &Tiling, plan: &ZarrPlan) -> Result<Layout, Fault> {
    let chunk: Vec<i64> = tiling.tile().iter().map(|size| *size as i64).collect();
    if let Some(shard) = &plan.shard {
        let fits = shard.len() == chunk.len()
            && shard.iter().zip(&chunk).all(|(shard, tile)| *shard > 0 && shard % tile == 0);
        if !fits {
            let wrong = fault(format!("has shards of {shard:?}, which tiles of {chunk:?} do not divide"));
            return Err(wrong.help("choose a multiple of the tile along every dimension"));
        }
    }
    let (shard, labels) = (plan.shard.clone(), plan.labels.clone());
    let origin = vec![0; chunk.len()];
    Ok(Layout { element: plan.element, chunk, shard, compression: plan.compression, origin, labels })
}

fn level_folder(path: &Path, level: usize) -> io::Result<PathBuf> {
    let folder = path.join(level.to_string());
    fs::create_dir(&folder).map(|()| folder)
}

/// The smaller copies, and the group that says so.
fn pyramid(path: &Path, tiling: &Tiling, layout: &Layout, shrink: Shrink) -> Result<Pyramid, Fault> {
    let mut writers = Vec::new();
    for (at, level) in Pyramid::tilings(tiling).into_iter().enumerate() {
        let root = level_folder(path, at + 1)?;
        let layout = Layout { shard: None, ..layout.clone() };
        let counts = counts(&level);
        writers.push((level, ChunkWriter::new(&root, layout, counts)));
    }
    let datasets: Vec<Value> = (0..=writers.len()).map(|level| dataset(level, tiling.rank())).collect();
    let axes: Vec<Value> = (0..tiling.rank()).map(|axis| axis_json(layout, axis)).collect();
    let group = json!({
        "zarr_format": 3,
        "node_type": "group",
        "attributes": {"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets, "type": shrink.name()}]}},
    });
    write_file(&path.join("zarr.json"), format!("{group:#}\n").as_bytes())?;
    Ok(Pyramid::new(tiling, layout.element, shrink, writers))
}

fn dataset(level: usize, rank: usize) -> Value {
    let scale: Vec<f64> =
        (0..rank).map(|axis| if axis == 0 { 1.0 } else { (1u64 << level) as f64 }).collect();
    json!({"path": level.to_string(), "coordinateTransformations": [{"type": "scale", "scale": scale}]})
}

fn axis_json(layout: &Layout, axis: usize) -> Value {
    let name = layout.labels.get(axis).filter(|name| !name.is_empty()).cloned();
    let name = name.unwrap_or_else(|| {
        ["t", "z", "y", "x"]
            .get((axis + 4).wrapping_sub(layout.chunk.len()))
            .map_or_else(|| format!("d{axis}"), |name| (*name).to_owned())
    });
    json!({"name": name, "type": if axis == 0 { "time" } else { "space" }})
}

impl TileSink for ZarrSink {
    fn put(&self, tile: &Complete) -> io::Result<()> {
        self.array.put(&tile.number, &tile.data)?;
        self.pyramid.as_ref().map_or(Ok(()), |pyramid| pyramid.add(tile))
    }

    fn in_pieces(&self) -> bool {
        // Larger chunks are refused by readers, too, and for lack of memory before the first byte.
        self.pyramid.is_none() && self.array.is_plain() && self.tile_bytes <= LARGEST_CHUNK
    }

    fn open(&self, number: &[u64]) -> io::Result<TileFile> {
        self.array.open_chunk(number, self.tile_bytes)
    }

    fn reached(&self, frames: u64) -> io::Result<()> {
        if frames.is_multiple_of(self.step) { self.describe(frames) } else { Ok(()) }
    }

    fn finish(&self, frames: u64) -> io::Result<()> {
        self.array.finish(&shape(frames, &self.tiling))?;
        self.pyramid.as_ref().map_or(Ok(()), |pyramid| pyramid.finish(frames))
    }

    fn beside(&self) -> u64 {
        let pyramid = self.pyramid.as_ref().map_or(0, Pyramid::bytes);
        self.array.squeezed_bytes(self.tile_bytes).saturating_add(pyramid)
    }
}
