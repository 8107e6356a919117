//! What all kinds of output file have in common: elements in row-major order in, the bytes of one file out.

use super::disk::File;
use std::io::{self, BufWriter, Write};

/// Where the bytes go; writes larger than its buffer pass straight through.
pub(super) type Out = BufWriter<File>;

/// One kind of file.
pub(super) trait Encode: Send {
    /// Takes the next elements, little-endian, of the type that the file has.
    fn write(&mut self, elements: &[u8]) -> io::Result<()>;

    /// Bytes that it gathers before it writes them, at the most, where that is more than a few rows or blocks.
    fn gathered_bytes(&self) -> u64 {
        0
    }

    /// Writes what comes after the last element, and leaves nothing in a buffer.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// Some bytes first, then the elements as they are: npy and tiff, and raw with nothing first.
pub(super) struct Plain {
    out: Out,
}

impl Plain {
    pub(super) fn new(mut out: Out, head: &[u8]) -> io::Result<Plain> {
        out.write_all(head)?;
        Ok(Plain { out })
    }
}

impl Encode for Plain {
    fn write(&mut self, elements: &[u8]) -> io::Result<()> {
        self.out.write_all(elements)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.out.flush()
    }
}
