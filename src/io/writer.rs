//! The elements of one output, in row-major order and any portions -> its file.
//!
//! ```text
//! write -> [spool] -> convert -> encode -> file beside the target -> rename
//! ```
//!
//! The spool is there only when the first element cannot be converted before the last is known.

use super::convert::Convert;
use super::csv::Csv;
use super::encode::{Encode, Out, Plain};
use super::error::{Fault, IoError, Result, array_type, fault};
use super::npz::Npz;
use super::replace::Replace;
#[cfg(feature = "zarr")]
use super::replace::ReplaceFolder;
use super::shape::{Frame, Order, bytes};
use super::spool::Spool;
use super::{npy, png, tiff};
use crate::graph::types::Element;
use crate::graph::{FileKind, OutputOptions};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Bytes that are converted at a time.
const BLOCK: usize = 1 << 20;

/// The type that the elements of an output have in its file; none if the options make no sense for it.
pub fn stored_element(kind: FileKind, element: Element, options: &OutputOptions) -> Option<Element> {
    Convert::new(kind, element, options).ok().map(|convert| convert.file)
}

/// Where the first element of an output is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Its coordinates; without any, zeros.
    pub origin: Vec<i64>,
    /// Names of the dimensions; an empty one is no name.
    pub labels: Vec<String>,
}

/// One output file. Nothing is visible under its name before [`Writer::finish`]; dropped earlier, it never was.
pub struct Writer {
    path: PathBuf,
    stages: Stages,
    /// Of what is written, before any conversion.
    element: Element,
    shape: Vec<i64>,
    total: u64,
    done: u64,
}

/// The way of the elements to the disk; the file is closed before it is renamed or removed.
struct Stages {
    spool: Option<Spool>,
    /// Planes that the spool joins.
    planes: u16,
    pipeline: Pipeline,
    replace: Target,
}

/// What takes its name at the end.
enum Target {
    File(Replace),
    #[cfg(feature = "zarr")]
    Folder(ReplaceFolder),
}

impl Target {
    fn commit(self) -> Result<()> {
        match self {
            Target::File(file) => file.commit(),
            #[cfg(feature = "zarr")]
            Target::Folder(folder) => folder.commit(),
        }
    }
}

/// From the elements in the order of the file to its bytes.
struct Pipeline {
    convert: Convert,
    encoder: Box<dyn Encode>,
    spare: Vec<u8>,
}

impl Writer {
    /// Prepares the file `path` for an array of `shape`; options that make no sense for it are found here.
    pub fn create(
        path: &Path,
        kind: FileKind,
        element: Element,
        shape: &[i64],
        options: &OutputOptions,
    ) -> std::result::Result<Writer, IoError> {
        Writer::create_at(path, kind, element, shape, options, &Place::default())
    }

    /// The same, for an array whose first element has coordinates: kinds of file that can say so do.
    pub fn create_at(
        path: &Path,
        kind: FileKind,
        element: Element,
        shape: &[i64],
        options: &OutputOptions,
        place: &Place,
    ) -> std::result::Result<Writer, IoError> {
        let create = || {
            let total = bytes(element, shape)?;
            let stages = match kind {
                FileKind::Zarr => Stages::zarr(path, element, shape, options, place)?,
                FileKind::Npy
                | FileKind::Npz
                | FileKind::Raw
                | FileKind::Csv
                | FileKind::Png
                | FileKind::Tiff => Stages::new(path, kind, element, shape, options)?,
            };
            Ok(Writer { path: path.to_owned(), stages, element, shape: shape.to_vec(), total, done: 0 })
        };
        create().map_err(|fault: Fault| fault.writing(path))
    }

    /// Bytes that it gathers before it writes them, at the most: chunks of a zarr array.
    pub fn gathered_bytes(&self) -> u64 {
        self.stages.pipeline.encoder.gathered_bytes()
    }

    /// Takes the next elements in row-major order, any number of them.
    pub fn write(&mut self, bytes: &[u8]) -> std::result::Result<(), IoError> {
        let end = self.done.saturating_add(bytes.len() as u64);
        if end > self.total || !end.is_multiple_of(self.element.bytes()) {
            return Err(self.wrong_length(end).writing(&self.path));
        }
        for block in bytes.chunks(BLOCK) {
            self.stages.write(block).map_err(|fault| fault.writing(&self.path))?;
        }
        self.done = end;
        Ok(())
    }

    /// Completes the file, brings it to the disk and gives it its name.
    pub fn finish(self) -> std::result::Result<(), IoError> {
        if self.done != self.total {
            return Err(self.wrong_length(self.done).writing(&self.path));
        }
        self.stages.finish().map_err(|fault| fault.writing(&self.path))
    }

    fn wrong_length(&self, given: u64) -> Fault {
        let (array, total) = (array_type(self.element, &self.shape), self.total);
        fault(format!("was given {given} bytes, but {array} has {total}"))
    }
}

impl Stages {
    fn new(
        path: &Path,
        kind: FileKind,
        element: Element,
        shape: &[i64],
        options: &OutputOptions,
    ) -> Result<Stages> {
        let convert = Convert::new(kind, element, options)?;
        let image = if kind.is_image() { Some(Frame::of_output(shape)?) } else { None };
        if convert.is_coloured() && shape.len() != 2 {
            return Err(fault(format!(
                "needs the shape (y, x) for a colour map, but the output has {shape:?}"
            )));
        }
        let replace = Replace::create(path)?;
        let planes = match image {
            Some((frame, Order::Planar)) => frame.channels,
            Some((_, Order::Chunky)) | None => 1,
        };
        let waits = convert.waits() || planes > 1;
        let spool = if waits { Some(Spool::create(replace.target(), element)?) } else { None };
        let out = BufWriter::with_capacity(1 << 16, replace.handle()?);
        let encoder = encoder(out, kind, &convert, shape, image.map(|(frame, _)| frame))?;
        let pipeline = Pipeline { convert, encoder, spare: Vec::new() };
        Ok(Stages { spool, planes, pipeline, replace: Target::File(replace) })
    }

    #[cfg(feature = "zarr")]
    fn zarr(
        path: &Path,
        element: Element,
        shape: &[i64],
        options: &OutputOptions,
        place: &Place,
    ) -> Result<Stages> {
        let convert = Convert::new(FileKind::Zarr, element, options)?;
        let replace = ReplaceFolder::create(path)?;
        let encoder =
            Box::new(super::zarr::Output::new(replace.folder(), convert.file, shape, options, place)?);
        let pipeline = Pipeline { convert, encoder, spare: Vec::new() };
        Ok(Stages { spool: None, planes: 1, pipeline, replace: Target::Folder(replace) })
    }

    #[cfg(not(feature = "zarr"))]
    fn zarr(_: &Path, _: Element, _: &[i64], _: &OutputOptions, _: &Place) -> Result<Stages> {
        Err(super::no_zarr())
    }

    fn write(&mut self, elements: &[u8]) -> Result<()> {
        match &mut self.spool {
            Some(spool) => spool.write(elements),
            None => self.pipeline.write(elements),
        }
    }

    fn finish(mut self) -> Result<()> {
        if let Some(spool) = self.spool.take() {
            self.pipeline.convert.set_range(spool.range());
            spool.replay(self.planes, |elements| self.pipeline.write(elements))?;
        }
        self.pipeline.encoder.finish()?;
        self.replace.commit()
    }
}

impl Pipeline {
    fn write(&mut self, elements: &[u8]) -> Result<()> {
        let converted = self.convert.apply(elements, &mut self.spare);
        Ok(self.encoder.write(converted)?)
    }
}

fn encoder(
    out: Out,
    kind: FileKind,
    convert: &Convert,
    shape: &[i64],
    frame: Option<Frame>,
) -> Result<Box<dyn Encode>> {
    let element = convert.file;
    let frame = frame.map(|frame| if convert.is_coloured() { Frame { channels: 3, ..frame } } else { frame });
    let not_an_image = || fault("is not an image");
    Ok(match kind {
        FileKind::Npy => Box::new(Plain::new(out, &npy::header_bytes(element, shape))?),
        FileKind::Npz => Box::new(Npz::new(out, &npy::header_bytes(element, shape), bytes(element, shape)?)?),
        FileKind::Raw => Box::new(Plain::new(out, &[])?),
        FileKind::Csv => Box::new(Csv::new(out, element, shape)),
        FileKind::Png => Box::new(png::Encoder::new(out, frame.ok_or_else(not_an_image)?, element)?),
        FileKind::Tiff => Box::new(Plain::new(out, &tiff::head(frame.ok_or_else(not_an_image)?, element))?),
        FileKind::Zarr => unreachable!("a zarr array is a folder"),
    })
}
