//! Tiles, in any order -> the chunks of a zarr array.
//!
//! ```text
//! put([0, 3, 1], elements)   ->   cam.zarr/c/0/3/1, or a part of the shard cam.zarr/c/0/0/0
//! ```
//!
//! `zarr.json` speaks only of what is there whole, and is itself replaced as a whole: whoever looks at an array that grows, or
//! that a killed process left, sees one that is right and shorter. So chunks need no other name while they are written.

use super::chain::squeezed;
use super::crc::crc32c;
use super::metadata::{Compression, Keys, Layout, print};
use crate::io::disk::{self as fs, File};
use crate::io::ingest::{TileFile, write_file};
use crate::io::replace::{beside_plain, forget};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Bytes of a chunk from which on room is taken for it before it is written.
const LARGE: u64 = 1 << 20;

/// A zarr array that is being written.
#[derive(Debug)]
pub struct ChunkWriter {
    root: PathBuf,
    layout: Layout,
    /// Chunks along each dimension that there will be.
    counts: Vec<u64>,
    shards: Mutex<BTreeMap<Vec<i64>, OpenShard>>,
}

/// A shard that has not all of its chunks.
#[derive(Debug)]
struct OpenShard {
    path: PathBuf,
    /// Offset and bytes of each chunk.
    index: Vec<(u64, u64)>,
    len: u64,
    /// Chunks that are still to come.
    missing: u64,
}

const NOT_THERE: (u64, u64) = (u64::MAX, u64::MAX);

impl ChunkWriter {
    /// An array in the folder `root`, which is there; `counts` chunks will come along each dimension.
    pub fn new(root: &Path, layout: Layout, counts: Vec<u64>) -> ChunkWriter {
        ChunkWriter { root: root.to_owned(), layout, counts, shards: Mutex::default() }
    }

    /// Writes the elements of a whole chunk; from any thread.
    pub fn put(&self, number: &[u64], data: &[u8]) -> io::Result<()> {
        let number: Vec<i64> =
            number.iter().take(self.layout.chunk.len()).map(|number| *number as i64).collect();
        let squeezed = squeezed(&self.layout.compression.squeeze(), data)?;
        let bytes = squeezed.as_deref().unwrap_or(data);
        match &self.layout.shard {
            Some(shard) => self.add(&number, shard, bytes),
            None => write_chunk(&self.root.join(Keys::DEFAULT.path(&number)), bytes),
        }
    }

    /// Whether chunks are files, and as they are in memory.
    pub fn is_plain(&self) -> bool {
        self.layout.shard.is_none() && self.layout.compression == Compression::None
    }

    /// Makes the file of a chunk of that many bytes, which come one after the other.
    pub fn open_chunk(&self, number: &[u64], bytes: u64) -> io::Result<TileFile> {
        let number: Vec<i64> = number.iter().map(|number| *number as i64).collect();
        let path = self.root.join(Keys::DEFAULT.path(&number));
        new_chunk(&path, bytes).map(|file| TileFile { file, path })
    }

    /// Says what is there: an array of that shape.
    pub fn describe(&self, shape: &[i64]) -> io::Result<()> {
        write_file(&self.root.join("zarr.json"), print(&self.layout, shape).as_bytes())
    }

    /// Completes the shards, and says what is there.
    pub fn finish(&self, shape: &[i64]) -> io::Result<()> {
        // Those after one that fails stay, and are removed at the end.
        let mut shards = self.shards.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((number, shard)) = shards.pop_first() {
            self.complete(&number, &shard)?;
        }
        self.describe(shape)
    }

    /// Bytes of a compressed chunk, at the most, which are held beside the chunk.
    pub fn squeezed_bytes(&self, chunk: u64) -> u64 {
        if self.layout.compression == Compression::None { 0 } else { chunk.saturating_add(chunk / 64 + 1024) }
    }

    /// Adds a chunk to its shard.
    fn add(&self, number: &[i64], sizes: &[i64], bytes: &[u8]) -> io::Result<()> {
        let grid: Vec<i64> =
            sizes.iter().zip(&self.layout.chunk).map(|(shard, chunk)| shard / chunk).collect();
        let shard: Vec<i64> = number.iter().zip(&grid).map(|(number, count)| number / count).collect();
        let place =
            number.iter().zip(&grid).fold(0, |place, (at, count)| place * count + at % count) as usize;
        let mut shards = self.shards.lock().unwrap_or_else(PoisonError::into_inner);
        let open = match shards.entry(shard.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(self.open(&shard, &grid)?),
        };
        File::append(&open.path)?.write_all(bytes)?;
        open.index[place] = (open.len, bytes.len() as u64);
        open.len += bytes.len() as u64;
        open.missing = open.missing.saturating_sub(1);
        if open.missing == 0 {
            let open = shards.remove(&shard).expect("it is there");
            self.complete(&shard, &open)?;
        }
        Ok(())
    }

    fn open(&self, shard: &[i64], grid: &[i64]) -> io::Result<OpenShard> {
        let path = self.root.join(Keys::DEFAULT.path(shard));
        let (_, temporary) = with_folder(&path, || beside_plain(&path))?;
        let chunks =
            |dim: usize| (self.counts[dim] - shard[dim] as u64 * grid[dim] as u64).min(grid[dim] as u64);
        let missing = (0..grid.len()).map(chunks).product();
        let places = grid.iter().product::<i64>() as usize;
        Ok(OpenShard { path: temporary, index: vec![NOT_THERE; places], len: 0, missing })
    }

    /// Gives a shard its index and its name, or removes it.
    fn complete(&self, number: &[i64], shard: &OpenShard) -> io::Result<()> {
        let completed = self.name(number, shard);
        forget(&shard.path);
        completed.inspect_err(|_| _ = fs::remove_file(&shard.path))
    }

    /// Writes the index behind the chunks, and gives the shard its name.
    fn name(&self, number: &[i64], shard: &OpenShard) -> io::Result<()> {
        let entry = |(offset, size): &(u64, u64)| [offset.to_le_bytes(), size.to_le_bytes()].concat();
        let mut index: Vec<u8> = shard.index.iter().flat_map(entry).collect();
        index.extend(crc32c(&index).to_le_bytes());
        File::append(&shard.path)?.write_all(&index)?;
        fs::rename(&shard.path, self.root.join(Keys::DEFAULT.path(number)))
    }
}

impl Drop for ChunkWriter {
    fn drop(&mut self) {
        for shard in self.shards.get_mut().unwrap_or_else(PoisonError::into_inner).values() {
            let _ = fs::remove_file(&shard.path);
            forget(&shard.path);
        }
    }
}

/// Writes a chunk that was not there; what could not be written as a whole is removed.
fn write_chunk(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = new_chunk(path, bytes.len() as u64)?;
    file.write_all(bytes).inspect_err(|_| _ = fs::remove_file(path))
}

/// Makes the file of a chunk, with room for that many bytes.
fn new_chunk(path: &Path, bytes: u64) -> io::Result<File> {
    let file = with_folder(path, || File::create_new(path))?;
    if bytes >= LARGE {
        file.reserve(bytes);
    }
    Ok(file)
}

/// Makes something in a folder, and the folder if it is not there yet.
fn with_folder<T>(path: &Path, make: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match make() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            make()
        }
        made => made,
    }
}
