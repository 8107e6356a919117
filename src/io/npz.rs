//! An array -> a zip archive with one npy file in it, `arr_0.npy`, stored without compression.
//!
//! ```text
//! local header | npy header, elements | central directory: the same once more | end record
//! ```
//!
//! All sizes are known beforehand; only the checksum is not, and is put into the local header at the end. Archives
//! that reach 4 GiB say their sizes in zip64 records.

use super::encode::{Encode, Out};
use flate2::Crc;
use std::io::{self, Seek, SeekFrom, Write};

const NAME: &str = "arr_0.npy";
const TOO_LARGE: u64 = u32::MAX as u64;
/// Where the checksum is in the local header.
const CHECKSUM_AT: u64 = 14;
/// The first day that the format can express: files with the same content have the same bytes.
const DATE: u16 = 1 << 5 | 1;

/// Writes the archive.
pub(super) struct Npz {
    out: Out,
    crc: Crc,
    /// Bytes of the npy file.
    size: u64,
}

impl Npz {
    /// Starts the archive; `size` bytes of elements will follow the npy header.
    pub(super) fn new(mut out: Out, npy_header: &[u8], size: u64) -> io::Result<Npz> {
        let size = size + npy_header.len() as u64;
        out.write_all(&local_header(size))?;
        let mut npz = Npz { out, crc: Crc::new(), size };
        npz.write(npy_header)?;
        Ok(npz)
    }
}

impl Encode for Npz {
    fn write(&mut self, elements: &[u8]) -> io::Result<()> {
        self.crc.update(elements);
        self.out.write_all(elements)
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        let crc = self.crc.sum();
        let directory_at = local_header(self.size).len() as u64 + self.size;
        let directory = central_header(crc, self.size);
        self.out.write_all(&directory)?;
        self.out.write_all(&end_records(directory_at, directory.len() as u64))?;
        self.out.seek(SeekFrom::Start(CHECKSUM_AT))?;
        self.out.write_all(&crc.to_le_bytes())?;
        self.out.flush()
    }
}

/// Little-endian fields, one after the other.
#[derive(Default)]
struct Record(Vec<u8>);

impl Record {
    fn short(mut self, values: &[u16]) -> Self {
        values.iter().for_each(|value| self.0.extend(value.to_le_bytes()));
        self
    }

    fn long(mut self, values: &[u32]) -> Self {
        values.iter().for_each(|value| self.0.extend(value.to_le_bytes()));
        self
    }

    fn wide(mut self, values: &[u64]) -> Self {
        values.iter().for_each(|value| self.0.extend(value.to_le_bytes()));
        self
    }

    fn text(mut self, text: &str) -> Self {
        self.0.extend(text.as_bytes());
        self
    }
}

/// A size as 32 bits; all ones say that a zip64 record has it.
fn clipped(size: u64) -> u32 {
    size.min(TOO_LARGE) as u32
}

/// Both sizes in 64 bits, where 32 are not enough.
fn extra(size: u64) -> Vec<u8> {
    if size < TOO_LARGE { Vec::new() } else { Record::default().short(&[1, 16]).wide(&[size, size]).0 }
}

fn version(size: u64) -> u16 {
    if size < TOO_LARGE { 20 } else { 45 }
}

/// Version, flags, method 0 (stored), time, date, checksum, sizes and the length of the name: both headers have it.
fn common(record: Record, crc: u32, size: u64) -> Record {
    record
        .short(&[version(size), 0, 0, 0, DATE])
        .long(&[crc, clipped(size), clipped(size)])
        .short(&[NAME.len() as u16, extra(size).len() as u16])
}

fn local_header(size: u64) -> Vec<u8> {
    let mut header = common(Record::default().long(&[0x0403_4b50]), 0, size).text(NAME).0;
    header.extend(extra(size));
    header
}

fn central_header(crc: u32, size: u64) -> Vec<u8> {
    let start = Record::default().long(&[0x0201_4b50]).short(&[version(size)]);
    // No comment, first disk, no attributes, and the file starts at 0.
    let mut header = common(start, crc, size).short(&[0, 0, 0]).long(&[0, 0]).text(NAME).0;
    header.extend(extra(size));
    header
}

/// Where the directory is and how long; first in 64 bits, where 32 are not enough.
fn end_records(directory_at: u64, directory: u64) -> Vec<u8> {
    let mut end = Record::default();
    if directory_at >= TOO_LARGE {
        let here = directory_at + directory;
        end = end.long(&[0x0606_4b50]).wide(&[44]).short(&[45, 45]).long(&[0, 0]).wide(&[
            1,
            1,
            directory,
            directory_at,
        ]);
        end = end.long(&[0x0706_4b50, 0]).wide(&[here]).long(&[1]);
    }
    end.long(&[0x0605_4b50])
        .short(&[0, 0, 1, 1])
        .long(&[clipped(directory), clipped(directory_at)])
        .short(&[0])
        .0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_archives_say_so() {
        let small = local_header(100);
        assert_eq!((small.len(), &small[18..22]), (30 + NAME.len(), &100u32.to_le_bytes()[..]));
        let large = local_header(5 << 30);
        assert_eq!((large.len(), &large[18..22]), (50 + NAME.len(), &[255; 4][..]));
        assert!(large.ends_with(&(5u64 << 30).to_le_bytes()));
        assert_eq!(end_records(100, 60).len(), 22);
        assert_eq!(end_records(5 << 30, 60).len(), 56 + 20 + 22);
    }
}
