//! A blosc frame -> the bytes in it: how many arrays that others wrote are compressed. It is only read.
//!
//! ```text
//! header     what compressed it and how bytes were shuffled, size of an element, of all that is in it and of a block
//! starts     where each block begins, unless the bytes were only copied
//! block      one stream, or one per byte of an element: its size, then its bytes, as they are if that is their size
//! ```
//!
//! Whoever wrote the frame may lie: every place is looked at before it is used, and nothing grows beyond its block.

use super::chain::bounded;
use crate::io::error::{Fault, Result, fault};
use crate::io::shape::room;
use flate2::read::ZlibDecoder;

/// Where the starts of blocks begin.
const HEADER: usize = 16;
/// A block is split into streams if elements have so many bytes at the most, and there are so many of them.
const MOST_STREAMS: usize = 16;
const LEAST_ELEMENTS: usize = 128;

// Flags of a frame; three bits above them say what compressed it.
const SHUFFLED: u8 = 1;
const COPIED: u8 = 2;
const BITS_SHUFFLED: u8 = 4;
const NOT_SPLIT: u8 = 16;
const CODEC: u8 = 5;

/// What the first bytes of a frame say.
struct Frame<'f> {
    all: &'f [u8],
    flags: u8,
    /// Bytes of an element.
    width: usize,
    /// Bytes of a block but the last.
    block: usize,
}

/// The bytes in a frame, `most` or fewer.
pub(super) fn decode(all: &[u8], most: u64) -> Result<Vec<u8>> {
    let [_, _, flags, width] = *all.first_chunk().ok_or_else(broken)?;
    let (bytes, block) = (number(all, 4)?, number(all, 8)?);
    let frame = Frame { all, flags, width: usize::from(width).max(1), block };
    if bytes as u64 > most {
        return Err(fault(format!("has a chunk with more than the {most} bytes it should have")));
    }
    if flags & COPIED != 0 {
        return Ok(part(all, HEADER, bytes)?.to_vec());
    }
    // A liar gets a little at a time: memory is asked for as blocks come.
    let mut out = room(bytes.min(1 << 20) as u64)?;
    for start in (HEADER..).step_by(4) {
        let size = block.min(bytes - out.len());
        if size == 0 {
            break;
        }
        let streams = frame.streams(number(all, start)?, size)?;
        frame.unshuffle(&streams, &mut out);
    }
    if out.len() == bytes { Ok(out) } else { Err(broken()) }
}

fn broken() -> Fault {
    fault("has a chunk that is no blosc frame")
}

/// Some bytes of a frame.
fn part(all: &[u8], at: usize, len: usize) -> Result<&[u8]> {
    at.checked_add(len).and_then(|end| all.get(at..end)).ok_or_else(broken)
}

/// A number of 32 bits.
fn number(all: &[u8], at: usize) -> Result<usize> {
    let bytes = part(all, at, 4)?.first_chunk().ok_or_else(broken)?;
    Ok(u32::from_le_bytes(*bytes) as usize)
}

impl Frame<'_> {
    /// The bytes of a block as they were compressed.
    fn streams(&self, mut at: usize, size: usize) -> Result<Vec<u8>> {
        let split = self.flags & NOT_SPLIT == 0
            && size == self.block
            && self.width <= MOST_STREAMS
            && size / self.width >= LEAST_ELEMENTS;
        let count = if split { self.width } else { 1 };
        let (each, mut out) = (size / count, Vec::new());
        for _ in 0..count {
            let len = number(self.all, at)?;
            let stream = part(self.all, at + 4, len)?;
            at += 4 + len;
            match len == each {
                true => out.extend_from_slice(stream),
                false => out.extend(self.expanded(stream, each)?),
            }
        }
        if out.len() == size { Ok(out) } else { Err(broken()) }
    }

    /// What a stream was before it was compressed.
    fn expanded(&self, mut stream: &[u8], size: usize) -> Result<Vec<u8>> {
        let most = Some(size as u64);
        match self.flags >> CODEC {
            1 => lz4(stream, size).ok_or_else(broken),
            3 => bounded(&mut ZlibDecoder::new(stream), most, "zlib"),
            4 => bounded(&mut zstd::stream::read::Decoder::with_buffer(&mut stream)?, most, "zstd"),
            other => Err(fault(format!(
                "has chunks of blosc that `{}` compressed, which is not read here",
                ["blosclz", "lz4", "snappy"].get(usize::from(other)).unwrap_or(&"?")
            ))
            .help("save it with `zstd`, `gzip`, `blosc` with `lz4` or `zstd`, or no compression")),
        }
    }

    /// Adds the bytes of a block in the order of its elements.
    fn unshuffle(&self, block: &[u8], out: &mut Vec<u8>) {
        let elements = block.len() / self.width;
        let whole = elements * self.width;
        if self.flags & BITS_SHUFFLED != 0 && elements.is_multiple_of(8) {
            unshuffle_bits(&block[..whole], self.width, out);
        } else if self.flags & SHUFFLED != 0 && self.width > 1 {
            let places = (0..elements).flat_map(|at| (0..self.width).map(move |byte| byte * elements + at));
            out.extend(places.map(|place| block[place]));
        } else {
            out.extend_from_slice(&block[..whole]);
        }
        out.extend_from_slice(&block[whole..]);
    }
}

/// Bits lie as rows, one per bit of an element: the first bits of all elements, then the second ones.
fn unshuffle_bits(block: &[u8], width: usize, out: &mut Vec<u8>) {
    let row = block.len() / width / 8;
    for at in 0..row * 8 {
        for byte in 0..width {
            let bit = |bit: usize| ((block[(byte * 8 + bit) * row + at / 8] >> (at % 8)) & 1) << bit;
            out.push((0..8).map(bit).fold(0, |bits, bit| bits | bit));
        }
    }
}

/// The bytes of a block of lz4: literals, and copies of what is there already, in turn. None if that is not `size` bytes.
fn lz4(stream: &[u8], size: usize) -> Option<Vec<u8>> {
    let (mut out, mut at) = (Vec::new(), 0);
    loop {
        let token = *stream.get(at)?;
        at += 1;
        let literals = length(stream, &mut at, token >> 4)?;
        out.extend_from_slice(stream.get(at..at.checked_add(literals)?)?);
        at += literals;
        if at == stream.len() {
            return (out.len() == size).then_some(out);
        }
        let back = usize::from(u16::from_le_bytes(*stream.get(at..)?.first_chunk()?));
        at += 2;
        let mut left = length(stream, &mut at, token & 15)?.checked_add(4)?;
        let from = out.len().checked_sub(back).filter(|_| back > 0)?;
        if left > size.checked_sub(out.len())? {
            return None;
        }
        // A copy may reach into itself: what it has made so far is there for the rest of it.
        while left > 0 {
            let step = left.min(out.len() - from);
            out.extend_from_within(from..from + step);
            left -= step;
        }
    }
}

/// A length of four bits, and bytes that are added to it as long as everything is full.
fn length(stream: &[u8], at: &mut usize, bits: u8) -> Option<usize> {
    let (mut length, mut more) = (usize::from(bits), bits == 15);
    while more {
        let byte = *stream.get(*at)?;
        *at += 1;
        length = length.checked_add(usize::from(byte))?;
        more = byte == 255;
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    // What numcodecs 0.17 made of 320 numbers of 16 bits, and of the first 170 in blocks of 128 bytes.
    const SPLIT: &str = "0201210280020000800200005a000000140000001f0000001f0701002c1f0801002c1f0901002c1f0a01002c1f0b0100\
        27500b0b0b0b0b1f0000001f0001002c1f0101002c1f0201002c1f0301002c1f04010027500404040404";
    const BLOCKS: &str = "020131025401000080000000580000001c0000003000000044000000100000001f0701002c1f00010027500000000000\
        100000001f0801002c1f01010027500101010101100000001f090100161f02010011500202020202";
    const BITS: &str = "0201940280020000800200004b000000140000003300000028b52ffd6080014d010062810206e00f00604c0a14c07f0b\
        a0d078ff1d5029311e44533a53e2dcd20689b269a9b6a3ce66fe3b";
    const PLAIN: &str = "02016002800200008002000046000000140000001500000078da6367601f50c8c138b0909389320800124d0561150000\
        0078dae364e2a40872310f2ce46619580800f3dc0861";
    const OTHER: &str = "0201010280020000800200006400000014000000240000002307070707e03203010708e03500010809e0350001090ae0\
        3500010a0be03300020b0b0b240000002300000000e03203010001e03500010102e03500010203e03500010304e03300\
        02040404";

    fn bytes(hex: &str) -> Vec<u8> {
        let digits = hex.as_bytes().as_chunks::<2>().0.iter();
        digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
    }

    fn numbers() -> Vec<u8> {
        (0..320u16).flat_map(|at| (at / 64 * 257 + 7).to_le_bytes()).collect()
    }

    #[test]
    fn frames_of_every_kind_are_read() {
        for (frame, len) in [(SPLIT, 640), (BLOCKS, 340), (BITS, 640), (PLAIN, 640)] {
            assert_eq!(decode(&bytes(frame), len).unwrap(), numbers()[..len as usize], "{frame}");
            assert!(decode(&bytes(frame), len - 1).is_err(), "{frame}");
        }
        let copied = [2, 1, COPIED, 2, 3, 0, 0, 0, 3, 0, 0, 0, 19, 0, 0, 0, 7, 8, 9];
        assert_eq!(decode(&copied, 3).unwrap(), [7, 8, 9]);
        let error = decode(&bytes(OTHER), 640).unwrap_err().reading(std::path::Path::new("a"));
        assert!(error.message.contains("`blosclz`"), "{}", error.message);
    }

    #[test]
    fn frames_that_lie_are_refused() {
        for frame in [SPLIT, BLOCKS, BITS, PLAIN].map(bytes) {
            (0..frame.len()).for_each(|len| assert!(decode(&frame[..len], 640).is_err(), "cut to {len}"));
            for (at, bit) in (0..frame.len()).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
                let mut wrong = frame.clone();
                wrong[at] ^= 1 << bit;
                let _ = decode(&wrong, 640).map(|found| assert!(found.len() <= 640));
            }
        }
    }

    #[test]
    fn copies_reach_into_themselves() {
        // Three literals, nine more bytes from three before; then two literals.
        assert_eq!(lz4(&[0x35, 1, 2, 3, 3, 0, 0x20, 8, 9], 14).unwrap()[9..], [1, 2, 3, 8, 9]);
        assert_eq!(lz4(&[0x35, 1, 2, 3, 4, 0, 0x20, 8, 9], 14), None, "from before the beginning");
        assert_eq!(lz4(&[0x35, 1, 2, 3, 0, 0, 0x20, 8, 9], 14), None, "from where nothing is yet");
        assert_eq!(lz4(&[0x35, 1, 2, 3, 3, 0, 0x20, 8, 9], 13), None, "more than there should be");
    }
}
