//! A zarr array on the disk -> any box of it.
//!
//! ```text
//! read_box([0..32, 0..300, 0..300])   ->   the chunks that it meets, each decoded and copied from
//! ```

use super::chain::{Chain, Coder, unsqueeze};
use super::metadata::{Metadata, parse};
use super::shard::Bytes;
use crate::graph::types::Element;
use crate::index::Interval;
use crate::index::walk::{copy_box, points};
use crate::io::disk as fs;
use crate::io::error::{Fault, IoError, Result, fault};
use crate::io::source::Source;
use crate::io::{Array, Expect, expected, shape};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Bytes of `zarr.json`, at the most.
const LONGEST_METADATA: u64 = 4 << 20;

/// An array whose chunks are read when they are needed.
#[derive(Debug)]
pub struct ZarrArray {
    path: PathBuf,
    metadata: Metadata,
}

type Place<'p> = dyn FnMut(&[u8], &[Interval]) + 'p;

impl ZarrArray {
    /// Reads what an array is; no chunk is looked at.
    pub fn open(path: &Path) -> std::result::Result<ZarrArray, IoError> {
        let open = || {
            let metadata = parse(&metadata_text(path)?)?;
            Ok(ZarrArray { path: path.to_owned(), metadata })
        };
        open().map_err(|fault: Fault| fault.reading(path))
    }

    /// Opens an array that is what a script declares.
    pub fn open_expected(path: &Path, expect: &Expect<'_>) -> std::result::Result<ZarrArray, IoError> {
        let array = ZarrArray::open(path)?;
        let fits = expected(array.element(), array.shape(), expect);
        fits.map(|()| array).map_err(|fault| fault.reading(path))
    }

    /// Type of the elements.
    pub fn element(&self) -> Element {
        self.metadata.element
    }

    /// Size of each dimension.
    pub fn shape(&self) -> &[i64] {
        &self.metadata.shape
    }

    /// Bytes that are read at once while a box is: a chunk, as it is and decoded, and indexes of shards; a shard that is
    /// compressed as a whole is unpacked, too.
    pub fn chunk_bytes(&self) -> u64 {
        let bytes = |chunk: &[i64]| shape::bytes(self.metadata.element, chunk).unwrap_or(u64::MAX);
        let (mut chain, mut chunk, mut indexes) = (&self.metadata.chain, &self.metadata.chunk, 0u64);
        while let Coder::Shard(shard) = &chain.coder {
            let unpacked = if chain.squeeze.is_empty() { 0 } else { bytes(chunk) };
            indexes = indexes.saturating_add(shard.index_bytes()).saturating_add(unpacked);
            (chain, chunk) = (&shard.chain, &shard.chunk);
        }
        bytes(chunk).saturating_mul(2).saturating_add(indexes)
    }

    /// Which data it is: what `zarr.json` says, and the names, sizes and times of all files.
    pub fn identity(&self) -> Vec<u8> {
        let mut text = metadata_text(&self.path).unwrap_or_default();
        let mut queue = vec![self.path.clone()];
        let mut files = Vec::new();
        while let Some(folder) = queue.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let (path, Ok(about)) = (entry.path(), entry.metadata()) else { continue };
                let changed = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
                files.push(format!("{} {} {:?}\n", path.display(), about.len(), changed));
                if about.is_dir() {
                    queue.push(path);
                }
            }
        }
        files.sort();
        text.extend(files);
        text.into_bytes()
    }

    /// All elements.
    pub fn read(&self) -> std::result::Result<Array, IoError> {
        let region: Vec<Interval> = self.shape().iter().map(|size| Interval::trusted(0, size - 1)).collect();
        let data = self.read_box(&region)?;
        Ok(Array { element: self.element(), shape: self.shape().to_vec(), data })
    }

    /// The elements of a box, whose coordinates count from the first element of the array.
    pub fn read_box(&self, region: &[Interval]) -> std::result::Result<Vec<u8>, IoError> {
        let read = || {
            let lens: Vec<i64> = region.iter().map(|range| range.len().unwrap_or(0)).collect();
            let size = shape::bytes(self.element(), &lens)?;
            let mut out = shape::zeroed(size)?;
            if self.metadata.fill.iter().any(|byte| *byte != 0) {
                out.chunks_exact_mut(self.metadata.fill.len())
                    .for_each(|to| to.copy_from_slice(&self.metadata.fill));
            }
            if size > 0 {
                self.fill_box(region, &mut out)?;
            }
            Ok(out)
        };
        read().map_err(|fault: Fault| fault.reading(&self.path))
    }

    fn fill_box(&self, region: &[Interval], out: &mut [u8]) -> Result<()> {
        let inside =
            region.iter().zip(self.shape()).all(|(range, size)| range.first() >= 0 && range.last() < *size);
        if !inside {
            return Err(fault(format!("has the shape {:?}, and no box {region:?}", self.shape())));
        }
        let (element, size) = (self.element(), self.element().bytes() as usize);
        let mut place = |data: &[u8], chunk: &[Interval]| {
            copy_box((data, chunk), (&mut *out, region), &meet(chunk, region), size);
        };
        for number in points(&numbers(region, &self.metadata.chunk, &vec![0; region.len()])) {
            let path = self.path.join(self.metadata.keys.path(&number));
            let bytes = match Source::open(&path) {
                Err(Fault::System(error)) if error.kind() == ErrorKind::NotFound => continue,
                source => Bytes::File(source?),
            };
            let chunk = chunk_box(&number, &self.metadata.chunk, &vec![0; region.len()]);
            let decoded = decode(&self.metadata.chain, bytes, element, &chunk, region, &mut place);
            decoded.map_err(|fault| in_chunk(fault, &number))?;
        }
        Ok(())
    }
}

/// Says in which chunk something was wrong.
fn in_chunk(fault: Fault, number: &[i64]) -> Fault {
    match fault {
        Fault::Wrong { predicate, help, holds } => {
            Fault::Wrong { predicate: format!("{predicate} (chunk {number:?})"), help, holds }
        }
        Fault::System(_) => fault,
    }
}

fn metadata_text(path: &Path) -> Result<String> {
    let json = path.join("zarr.json");
    let mut source = match Source::open(&json) {
        Err(Fault::System(error)) if error.kind() == ErrorKind::NotFound => return Err(no_metadata(path)),
        source => source?,
    };
    if source.len > LONGEST_METADATA {
        return Err(fault(format!("has a zarr.json of {} bytes, more than {LONGEST_METADATA}", source.len)));
    }
    let bytes = source.bytes(0, source.len)?;
    String::from_utf8(bytes).map_err(|_| fault("has a zarr.json that is no text"))
}

fn no_metadata(path: &Path) -> Fault {
    if path.join(".zarray").exists() {
        return fault("is a zarr array of version 2, and version 3 is read")
            .help("convert it: `zarr.create_array(\"new.zarr\", data=old, zarr_format=3)`");
    }
    if path.is_dir() {
        return fault("is a folder without zarr.json");
    }
    Fault::System(ErrorKind::NotFound.into())
}

/// Hands every decoded chunk that meets `part` to `place`, with its box.
fn decode(
    chain: &Chain,
    mut bytes: Bytes,
    element: Element,
    chunk: &[Interval],
    part: &[Interval],
    place: &mut Place<'_>,
) -> Result<()> {
    let shard = match &chain.coder {
        Coder::Bytes { big_endian } => {
            let data = chain.elements(bytes.whole()?, element, chunk, *big_endian)?;
            place(&data, chunk);
            return Ok(());
        }
        Coder::Shard(shard) => shard,
    };
    if !chain.squeeze.is_empty() {
        bytes = Bytes::Memory(unsqueeze(&chain.squeeze, bytes.whole()?, None)?);
    }
    let origin: Vec<i64> = chunk.iter().map(|range| range.first()).collect();
    let index = shard.index(&mut bytes)?;
    for number in points(&numbers(&meet(chunk, part), &shard.chunk, &origin)) {
        if let Some((start, size)) = index.of(shard.place(&number)) {
            let inner = Bytes::Memory(bytes.range(start, size)?);
            decode(&shard.chain, inner, element, &chunk_box(&number, &shard.chunk, &origin), part, place)?;
        }
    }
    Ok(())
}

/// The numbers of the chunks that a box meets; chunk 0 begins at `origin`.
fn numbers(region: &[Interval], chunk: &[i64], origin: &[i64]) -> Vec<Interval> {
    let dims = region.iter().zip(chunk).zip(origin);
    dims.map(|((range, size), origin)| match range.is_empty() {
        true => *range,
        false => Interval::trusted((range.first() - origin) / size, (range.last() - origin) / size),
    })
    .collect()
}

fn chunk_box(number: &[i64], chunk: &[i64], origin: &[i64]) -> Vec<Interval> {
    let dims = number.iter().zip(chunk).zip(origin);
    dims.map(|((number, size), origin)| {
        let first = origin + number * size;
        Interval::trusted(first, first + size - 1)
    })
    .collect()
}

fn meet(a: &[Interval], b: &[Interval]) -> Vec<Interval> {
    a.iter().zip(b).map(|(a, b)| a.intersect(*b)).collect()
}
