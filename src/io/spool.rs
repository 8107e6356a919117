//! Elements that wait on the disk until the last one has come: for the range of all values, or to join planes.

use super::disk::File;
use super::elements::to_f64;
use super::error::Result;
use super::replace::nameless;
use super::shape::join_planes;
use crate::graph::types::Element;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Elements of one plane that are held in memory at a time.
const BLOCK: usize = 1 << 16;

/// The elements written so far, and their range.
pub(super) struct Spool {
    file: BufWriter<File>,
    element: Element,
    values: Vec<f64>,
    /// Smallest and largest finite value; the wrong way round while there is none.
    range: (f64, f64),
}

impl Spool {
    /// A spool on the disk that `target` will be on.
    pub(super) fn create(target: &Path, element: Element) -> Result<Spool> {
        Ok(Spool {
            file: BufWriter::new(nameless(target)?),
            element,
            values: Vec::new(),
            range: (f64::INFINITY, f64::NEG_INFINITY),
        })
    }

    /// Takes the next elements.
    pub(super) fn write(&mut self, elements: &[u8]) -> Result<()> {
        to_f64(self.element, elements, &mut self.values);
        let finite = self.values.iter().filter(|value| value.is_finite());
        self.range = finite.fold(self.range, |(lo, hi), value| (value.min(lo), value.max(hi)));
        Ok(self.file.write_all(elements)?)
    }

    /// Smallest and largest finite value.
    pub(super) fn range(&self) -> (f64, f64) {
        self.range
    }

    /// Gives all elements back in blocks; of several planes the samples of a pixel side by side.
    pub(super) fn replay(self, planes: u16, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let size = self.element.bytes() as usize;
        let mut file = self.file.into_inner().map_err(|error| error.into_error())?;
        let plane = file.stream_position()? / u64::from(planes);
        let mut blocks = vec![Vec::new(); planes.into()];
        let mut joined = Vec::new();
        for at in (0..plane).step_by(BLOCK * size) {
            let length = (plane - at).min((BLOCK * size) as u64);
            for (number, block) in blocks.iter_mut().enumerate() {
                block.resize(length as usize, 0);
                file.seek(SeekFrom::Start(number as u64 * plane + at))?;
                file.read_exact(block)?;
            }
            join_planes(&blocks, size, &mut joined);
            take(&joined)?;
        }
        Ok(())
    }
}
