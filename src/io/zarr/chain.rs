//! The bytes of a chunk -> its elements, and back, through its codecs.
//!
//! ```text
//! [bytes little, zstd]        file -> zstd -> elements
//! [transpose, bytes, crc32c]  file -> checksum -> elements -> moved into row-major order
//! ```
//!
//! The size of everything is known before it is decoded, and nothing grows beyond it.

use super::blosc;
use super::crc::crc32c;
use super::shard::Shard;
use crate::graph::types::Element;
use crate::index::Interval;
use crate::index::walk::each;
use crate::io::elements::{clean_bools, swap_bytes};
use crate::io::error::{Result, fault};
use crate::io::shape::room;
use flate2::Compression as GzipLevel;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::io::{Read, Write};

/// The codecs of a chunk, in the order of encoding.
#[derive(Debug)]
pub(super) struct Chain {
    /// Which dimension of the chunk stands where in the file.
    pub(super) order: Option<Vec<usize>>,
    pub(super) coder: Coder,
    pub(super) squeeze: Vec<Squeeze>,
}

/// How elements become bytes.
#[derive(Debug)]
pub(super) enum Coder {
    Bytes { big_endian: bool },
    Shard(Box<Shard>),
}

/// How bytes become other bytes; levels matter for writing alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Squeeze {
    Gzip(u8),
    Zstd(u8),
    Crc32c,
    /// Only read: how it compressed is said in every chunk.
    Blosc,
}

/// Bytes that a codec adds to what it was given, if that is always the same.
fn added(squeeze: Squeeze) -> Option<u64> {
    match squeeze {
        Squeeze::Gzip(_) | Squeeze::Zstd(_) | Squeeze::Blosc => None,
        Squeeze::Crc32c => Some(4),
    }
}

/// Undoes the codecs that come after the elements; `expected` bytes should be left, or any number if that is unknown.
pub(super) fn unsqueeze(squeeze: &[Squeeze], mut bytes: Vec<u8>, expected: Option<u64>) -> Result<Vec<u8>> {
    for (at, codec) in squeeze.iter().enumerate().rev() {
        let before = squeeze[..at].iter().map(|codec| added(*codec));
        let size = before.fold(expected, |size, added| size.and_then(|size| added.map(|added| size + added)));
        bytes = match codec {
            Squeeze::Gzip(_) => bounded(&mut MultiGzDecoder::new(&bytes[..]), size, "gzip")?,
            Squeeze::Zstd(_) => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(&bytes[..])?;
                bounded(&mut decoder, size, "zstd")?
            }
            Squeeze::Crc32c => checked(bytes)?,
            Squeeze::Blosc => blosc::decode(&bytes, size.unwrap_or(UNKNOWN))?,
        };
    }
    match expected {
        Some(expected) if bytes.len() as u64 != expected => {
            Err(fault(format!("has a chunk of {} bytes instead of {expected}", bytes.len())))
        }
        Some(_) | None => Ok(bytes),
    }
}

/// Bytes of something compressed twice, at the most.
const UNKNOWN: u64 = 1 << 31;

/// Everything that a decoder has, but no more than it should.
pub(super) fn bounded(decoder: &mut dyn Read, size: Option<u64>, codec: &str) -> Result<Vec<u8>> {
    let most = size.unwrap_or(UNKNOWN);
    // A liar gets a little at a time: memory is asked for as bytes come.
    let mut bytes = room(most.min(1 << 20))?;
    let read = decoder.take(most.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| fault(format!("has a chunk that is no {codec}: {error}")))?;
    if bytes.len() as u64 > most {
        return Err(fault(format!("has a chunk with more than the {most} bytes it should have")));
    }
    Ok(bytes)
}

/// Removes the checksum at the end, when it is right.
pub(super) fn checked(mut bytes: Vec<u8>) -> Result<Vec<u8>> {
    let Some(at) = bytes.len().checked_sub(4) else {
        return Err(fault("has a chunk without its checksum"));
    };
    let (data, sum) = bytes.split_at(at);
    if crc32c(data).to_le_bytes() != sum {
        return Err(fault("has a chunk whose checksum is wrong"));
    }
    bytes.truncate(at);
    Ok(bytes)
}

/// Applies codecs to the bytes of a chunk.
pub(super) fn squeezed(squeeze: &[Squeeze], bytes: &[u8]) -> std::io::Result<Option<Vec<u8>>> {
    let mut done: Option<Vec<u8>> = None;
    for codec in squeeze {
        let from = done.as_deref().unwrap_or(bytes);
        done = Some(match codec {
            Squeeze::Gzip(level) => {
                let mut encoder = GzEncoder::new(Vec::new(), GzipLevel::new((*level).into()));
                encoder.write_all(from)?;
                encoder.finish()?
            }
            Squeeze::Zstd(level) => zstd::bulk::compress(from, (*level).into())?,
            Squeeze::Crc32c => [from, &crc32c(from).to_le_bytes()].concat(),
            Squeeze::Blosc => return Err(std::io::Error::other("blosc is only read")),
        });
    }
    Ok(done)
}

impl Chain {
    /// The elements of a chunk in row-major order, from the bytes of a coder that is not a shard.
    pub(super) fn elements(
        &self,
        bytes: Vec<u8>,
        element: Element,
        chunk: &[Interval],
        big_endian: bool,
    ) -> Result<Vec<u8>> {
        let count: u64 = chunk.iter().map(|range| range.len().unwrap_or(0) as u64).product();
        let mut data = unsqueeze(&self.squeeze, bytes, Some(count * element.bytes()))?;
        if big_endian {
            swap_bytes(element, &mut data);
        }
        clean_bools(element, &mut data);
        match &self.order {
            Some(order) => transposed(&data, order, chunk, element.bytes() as usize),
            None => Ok(data),
        }
    }
}

/// Elements that lie in the order of other dimensions -> row-major ones.
fn transposed(data: &[u8], order: &[usize], chunk: &[Interval], size: usize) -> Result<Vec<u8>> {
    let lens: Vec<usize> = chunk.iter().map(|range| range.len().unwrap_or(0) as usize).collect();
    let mut strides = vec![0; lens.len()];
    let mut stride = size;
    for dim in order.iter().rev() {
        strides[*dim] = stride;
        stride *= lens[*dim];
    }
    let mut out = room(data.len() as u64)?;
    each(chunk, |at| {
        let places = at.iter().zip(chunk).zip(&strides);
        let place: usize = places.map(|((at, range), stride)| (at - range.first()) as usize * stride).sum();
        out.extend_from_slice(&data[place..][..size]);
    });
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_undo_themselves() {
        let data: Vec<u8> = (0..=255).cycle().take(5000).collect();
        let chains: [&[Squeeze]; 5] = [
            &[Squeeze::Gzip(6)],
            &[Squeeze::Zstd(3)],
            &[Squeeze::Crc32c],
            &[Squeeze::Zstd(1), Squeeze::Crc32c],
            &[Squeeze::Crc32c, Squeeze::Gzip(1), Squeeze::Zstd(1)],
        ];
        for chain in chains {
            let bytes = squeezed(chain, &data).unwrap().unwrap();
            assert_eq!(unsqueeze(chain, bytes.clone(), Some(5000)).unwrap(), data);
            assert!(unsqueeze(chain, bytes.clone(), Some(4999)).is_err(), "{chain:?} is too long");
            assert!(unsqueeze(chain, bytes.clone(), Some(5001)).is_err(), "{chain:?} is too short");
            assert!(
                unsqueeze(chain, bytes[..bytes.len() / 2].to_vec(), Some(5000)).is_err(),
                "{chain:?} is cut"
            );
        }
        assert_eq!(squeezed(&[], &data).unwrap(), None);
    }

    #[test]
    fn dimensions_move_back() {
        let chunk = [Interval::trusted(4, 5), Interval::trusted(0, 2)];
        // Written with the last dimension first: columns one after the other.
        let rows = transposed(&[1, 4, 2, 5, 3, 6], &[1, 0], &chunk, 1).unwrap();
        assert_eq!(rows, [1, 2, 3, 4, 5, 6]);
    }
}
