//! An open input file and its length: every read is checked against the length before memory is asked for.

use super::disk::{self, File};
use super::error::{Result, fault};
use super::shape::room;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// A regular file that is being read.
pub(super) struct Source {
    file: File,
    /// Where it begins in the file.
    base: u64,
    /// Bytes in it.
    pub(super) len: u64,
}

impl Source {
    /// Opens a regular file; a pipe or a device could block or never end.
    pub(super) fn open(path: &Path) -> Result<Source> {
        let kind = disk::metadata(path)?;
        if kind.is_dir() {
            return Err(fault("is a folder, not a file"));
        }
        if !kind.is_file() {
            return Err(fault("is not a regular file"));
        }
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        Ok(Source { file, base: 0, len })
    }

    /// A file that is part of this one.
    pub(super) fn inside(self, start: u64, size: u64) -> Result<Source> {
        let len = self.within(start, size)?;
        Ok(Source { base: self.base + start, len, ..self })
    }

    /// Exactly `size` bytes from `start`.
    pub(super) fn bytes(&mut self, start: u64, size: u64) -> Result<Vec<u8>> {
        let mut data = room(self.within(start, size)?)?;
        self.file.seek(SeekFrom::Start(self.base + start))?;
        (&self.file).take(size).read_to_end(&mut data)?;
        if (data.len() as u64) < size {
            return Err(fault(format!("became shorter while it was read: {} bytes of {size}", data.len())));
        }
        Ok(data)
    }

    /// A reader of the `size` bytes from `start`.
    pub(super) fn part(&mut self, start: u64, size: u64) -> Result<impl BufRead + '_> {
        let size = self.within(start, size)?;
        self.file.seek(SeekFrom::Start(self.base + start))?;
        Ok(BufReader::with_capacity(1 << 16, &self.file).take(size))
    }

    /// A reader of the whole file that can seek.
    pub(super) fn whole(&mut self) -> Result<BufReader<&File>> {
        self.file.rewind()?;
        Ok(BufReader::with_capacity(1 << 16, &self.file))
    }

    /// `size`, when that many bytes from `start` are inside the file.
    fn within(&self, start: u64, size: u64) -> Result<u64> {
        match start.checked_add(size) {
            Some(end) if end <= self.len => Ok(size),
            _ => Err(fault(format!(
                "ends early: {size} bytes from byte {start} on are needed, but it has {}",
                self.len
            ))),
        }
    }
}
