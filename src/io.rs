//! Files -> arrays, and arrays -> files.
//!
//! ```no_run
//! use itp::graph::{FileKind, OutputOptions, types::Element};
//! use itp::io::{Expect, Writer, read};
//! use std::path::Path;
//!
//! let array = read(Path::new("in.npy"), &Expect { element: Element::F32, shape: &[480, 640] })?;
//! let mut writer = Writer::create(Path::new("out.png"), FileKind::Png, Element::F32, &[480, 640], &OutputOptions::default())?;
//! writer.write(&array.data)?;
//! writer.finish()?;
//! # Ok::<(), itp::io::IoError>(())
//! ```
//!
//! Reading believes nothing: a file is what the script declares, or an error that shows both; every size in a header is
//! checked against the declaration and the file before memory is asked for. Writing loses nothing: an output is the old
//! file or the new one, whole, and never in memory as a whole.
//!
//! - `zarr` reads and writes arrays in chunks, of which there may be more than memory;
//! - [`npy`], [`png`], [`tiff`] know their format in both directions, [`npz`] and [`csv`] are written only, raw files are
//!   the elements and nothing else;
//! - [`convert`] decides what pixels or numbers become of the elements, with [`colormap`] and [`spool`] where needed;
//! - [`replace`] makes the new file take the place of the old one, [`writer`] puts all this in order;
//! - [`disk`] is the way to all files, so that tests can make any call fail.

mod colormap;
mod convert;
mod csv;
pub mod disk;
mod elements;
mod encode;
mod error;
mod half;
pub mod ingest;
mod npy;
mod npz;
mod png;
mod replace;
mod scalars;
mod shape;
mod source;
mod sparse;
mod spool;
#[cfg(feature = "zarr")]
pub mod store;
mod tiff;
mod writer;
#[cfg(feature = "zarr")]
pub mod zarr;

pub use colormap::{Colours, colours};
pub use elements::to_f64 as floats_of;
pub use error::IoError;
pub use half::{from_f32 as half_bits, to_f32 as half_value};
pub use npy::header_bytes as npy_header;
pub use png::rgba_file;
pub use replace::{Pieces, nameless, remove_temporary, write_whole};
pub use scalars::{scalar_at, store_scalar};
pub use sparse::{Coordinates, read_sparse};
pub use writer::{Place, Writer, stored_element};

use crate::graph::FileKind;
use crate::graph::types::Element;
use error::{Fault, Result, array_type, fault};
use source::Source;
use std::path::Path;

/// An array in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Type of the elements.
    pub element: Element,
    /// Size of each dimension.
    pub shape: Vec<i64>,
    /// Elements in row-major order, little-endian; a bool is a byte 0 or 1, an f16 its 16 bits.
    pub data: Vec<u8>,
}

impl Array {
    /// How many elements it has.
    pub fn elements(&self) -> usize {
        self.data.len() / self.element.bytes() as usize
    }
}

/// What a script declares about an input.
#[derive(Clone, Copy, Debug)]
pub struct Expect<'a> {
    /// Type of the elements.
    pub element: Element,
    /// Size of each dimension.
    pub shape: &'a [i64],
}

/// Reads the file `path`, of the kind that its ending names, when it is exactly what `expect` says.
///
/// An image with channels may be declared with them last, as files have them, or first.
pub fn read(path: &Path, expect: &Expect<'_>) -> std::result::Result<Array, IoError> {
    if FileKind::of(&path.to_string_lossy()) == Some(FileKind::Zarr) {
        return read_zarr(path, expect);
    }
    let read = || {
        let kind = input_kind(path)?;
        let source = &mut Source::open(path)?;
        match kind {
            InputKind::Npy => npy::read(source, expect),
            InputKind::Png => png::read(source, expect),
            InputKind::Tiff => tiff::read(source, expect),
            InputKind::Raw => read_raw(source, expect),
        }
    };
    read().map_err(|fault: Fault| fault.reading(path))
}

/// Element type and shape of the file `path`, from its header alone; images have their channels last.
pub fn describe(path: &Path) -> std::result::Result<(Element, Vec<i64>), IoError> {
    if FileKind::of(&path.to_string_lossy()) == Some(FileKind::Zarr) {
        return zarr_header(path);
    }
    let describe = || {
        let kind = input_kind(path)?;
        let source = &mut Source::open(path)?;
        match kind {
            InputKind::Npy => npy::header(source).map(|header| (header.element, header.shape)),
            InputKind::Png => png::describe(source).map(|(element, frame)| (element, frame.shape())),
            InputKind::Tiff => tiff::describe(source).map(|(element, frame)| (element, frame.shape())),
            InputKind::Raw => {
                Err(fault("has no header that says what it holds").help("declare its type and shape"))
            }
        }
    };
    describe().map_err(|fault: Fault| fault.reading(path))
}

/// The kinds of file that can be read.
enum InputKind {
    Npy,
    Png,
    Tiff,
    Raw,
}

fn input_kind(path: &Path) -> Result<InputKind> {
    let endings = "give it an ending that says what it is: .npy, .png, .tif, .zarr or .raw";
    let only_written = |name: &str| {
        Err(fault(format!("is a {name} file, and those are not read")).help("save it as `.npy`"))
    };
    match FileKind::of(&path.to_string_lossy()) {
        Some(FileKind::Npy) => Ok(InputKind::Npy),
        Some(FileKind::Png) => Ok(InputKind::Png),
        Some(FileKind::Tiff) => Ok(InputKind::Tiff),
        Some(FileKind::Raw) => Ok(InputKind::Raw),
        Some(FileKind::Npz) => only_written("npz"),
        Some(FileKind::Csv) => only_written("csv"),
        Some(FileKind::Zarr) => Err(fault("is a zarr array, not a file")),
        None => Err(fault("has an ending that names no kind of file").help(endings)),
    }
}

#[cfg(feature = "zarr")]
fn read_zarr(path: &Path, expect: &Expect<'_>) -> std::result::Result<Array, IoError> {
    zarr::ZarrArray::open_expected(path, expect)?.read()
}

#[cfg(not(feature = "zarr"))]
fn read_zarr(path: &Path, _: &Expect<'_>) -> std::result::Result<Array, IoError> {
    Err(no_zarr().reading(path))
}

#[cfg(feature = "zarr")]
fn zarr_header(path: &Path) -> std::result::Result<(Element, Vec<i64>), IoError> {
    zarr::ZarrArray::open(path).map(|array| (array.element(), array.shape().to_vec()))
}

#[cfg(not(feature = "zarr"))]
fn zarr_header(path: &Path) -> std::result::Result<(Element, Vec<i64>), IoError> {
    Err(no_zarr().reading(path))
}

#[cfg(not(feature = "zarr"))]
fn no_zarr() -> Fault {
    fault("is a zarr array, which this build of the program knows nothing of")
        .help("build it with the feature `zarr`")
}

fn read_raw(source: &mut Source, expect: &Expect<'_>) -> Result<Array> {
    let (has, needs) = (source.len, shape::bytes(expect.element, expect.shape)?);
    if has != needs {
        let declared = array_type(expect.element, expect.shape);
        return Err(fault(format!("has {has} bytes, but the declaration says {declared}, which is {needs}")));
    }
    let mut data = source.bytes(0, needs)?;
    elements::clean_bools(expect.element, &mut data);
    Ok(Array { element: expect.element, shape: expect.shape.to_vec(), data })
}

/// An error unless the file holds what is declared.
fn expected(element: Element, shape: &[i64], expect: &Expect<'_>) -> Result<()> {
    if (element, shape) == (expect.element, expect.shape) {
        Ok(())
    } else {
        Err(mismatch(element, shape, expect))
    }
}

/// The same of a picture, whose colours may be declared first.
fn mismatched_picture(element: Element, shape: &[i64], expect: &Expect<'_>) -> Fault {
    match (mismatch(element, shape, expect), shape, expect.shape) {
        (Fault::Wrong { predicate, help, .. }, [rows, columns, colours], [_, y, x])
            if (rows, columns) == (y, x) =>
        {
            let holds = Some((element, vec![*colours, *rows, *columns]));
            Fault::Wrong { predicate, help, holds }
        }
        (fault, _, _) => fault,
    }
}

fn mismatch(element: Element, shape: &[i64], expect: &Expect<'_>) -> Fault {
    let (found, declared) = (array_type(element, shape), array_type(expect.element, expect.shape));
    let predicate = format!("holds {found}, but the declaration says {declared}");
    Fault::Wrong { predicate, help: None, holds: Some((element, shape.to_vec())) }
}
