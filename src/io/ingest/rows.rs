//! A stream -> one npy file: rows stay rows, so no tile is needed.
//!
//! ```text
//! frames without end   ->   cam.npy, whose header is written last, when their number is known
//! ```

use crate::graph::types::Element;
use crate::io::disk::File;
use crate::io::error::{Fault, IoError};
use crate::io::npy::padded_header;
use crate::io::replace::Replace;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A npy file that grows.
pub struct NpyRows {
    path: PathBuf,
    replace: Replace,
    file: File,
    element: Element,
    inner: Vec<i64>,
    bytes: u64,
}

impl NpyRows {
    /// A file at `path` for steps of the shape `inner`; it has its name when it is closed.
    pub fn create(path: &Path, element: Element, inner: &[i64]) -> Result<NpyRows, IoError> {
        let create = || {
            let replace = Replace::create(path)?;
            let mut file = replace.handle()?;
            file.write_all(&padded_header(element, &shape(i64::MAX, inner)))?;
            Ok(NpyRows { path: path.to_owned(), replace, file, element, inner: inner.to_vec(), bytes: 0 })
        };
        create().map_err(|fault: Fault| fault.writing(path))
    }

    /// Takes the next bytes.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        self.bytes += bytes.len() as u64;
        self.file.write_all(bytes).map_err(|error| Fault::System(error).writing(&self.path))
    }

    /// Bytes of an element that has not come as a whole.
    pub fn torn(&self) -> usize {
        (self.bytes % self.element.bytes()) as usize
    }

    /// Completes the last step with zeros, and gives the file its name; how many whole steps came, and bytes of whole
    /// elements after them. What came of one more element is no value, and is left out.
    pub fn close(mut self) -> Result<(u64, u64), IoError> {
        let step = self.inner.iter().product::<i64>().max(1) as u64 * self.element.bytes();
        let torn = self.torn() as u64;
        let whole = self.bytes - torn;
        let (frames, leftover) = (whole / step, whole % step);
        let mut close = || -> io::Result<()> {
            if torn > 0 {
                let end = self.file.seek(SeekFrom::Current(-(torn as i64)))?;
                self.file.set_len(end)?;
            }
            if leftover > 0 {
                io::copy(&mut io::Read::take(io::repeat(0), step - leftover), &mut self.file)?;
            }
            self.file.seek(SeekFrom::Start(0))?;
            let frames = frames + u64::from(leftover > 0);
            self.file.write_all(&padded_header(self.element, &shape(frames as i64, &self.inner)))
        };
        let closed = close().map_err(Fault::System).and_then(|()| self.replace.commit());
        closed.map(|()| (frames, leftover)).map_err(|fault| fault.writing(&self.path))
    }
}

fn shape(frames: i64, inner: &[i64]) -> Vec<i64> {
    [frames].into_iter().chain(inner.iter().copied()).collect()
}
