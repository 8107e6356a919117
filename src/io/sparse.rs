//! A sparse matrix as scipy saves it -> the places and values of what it stores.
//!
//! ```text
//! scipy.sparse.save_npz("a.npz", a, compressed=False)      a zip archive of npy files:
//! csr   indptr 0 1 3, indices 1 0 2, data 7 5 6, shape 2 3
//! coo   row 0 1 1, col 1 0 2, data 7 5 6, shape 2 3        (or coords, one row for each dimension)
//! ```
//!
//! Everything is checked: places inside the shape, in order, none twice.

use super::error::{Result, fault};
use super::shape::count;
use super::source::Source;
use super::{Array, Expect, Fault, IoError, expected, npy};
use crate::graph::types::Element;
use std::path::Path;

/// Elements of a matrix, each with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coordinates {
    /// Size of each dimension.
    pub shape: Vec<i64>,
    /// Row-major places, strictly rising.
    pub at: Vec<u64>,
    /// One element per place, little-endian.
    pub values: Vec<u8>,
}

/// Reads the file when it holds a matrix of the declared type and shape.
pub fn read_sparse(path: &Path, expect: &Expect<'_>) -> std::result::Result<Coordinates, IoError> {
    let read = || {
        let members = members(&mut Source::open(path)?)?;
        let mut archive = Archive { path, members };
        archive.matrix(expect)
    };
    read().map_err(|fault: Fault| fault.reading(path))
}

/// A file inside the archive.
struct Member {
    name: String,
    start: u64,
    size: u64,
}

struct Archive<'p> {
    path: &'p Path,
    members: Vec<Member>,
}

const END: &[u8; 4] = b"PK\x05\x06";
const ENTRY: &[u8; 4] = b"PK\x01\x02";
const LOCAL: &[u8; 4] = b"PK\x03\x04";
/// Bytes of the end record, of an entry and of a local header, before their names.
const SIZES: [u64; 3] = [22, 46, 30];

fn number(bytes: &[u8], at: usize, size: usize) -> u64 {
    bytes[at..at + size].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// The files of an archive whose files are stored as they are.
fn members(source: &mut Source) -> Result<Vec<Member>> {
    let not_zip = || fault("is not a zip archive");
    let tail = source.len.min(SIZES[0] + u64::from(u16::MAX));
    let bytes = source.bytes(source.len - tail, tail)?;
    let end = bytes.windows(4).rposition(|four| four == END).ok_or_else(not_zip)?;
    if bytes.len() < end + SIZES[0] as usize {
        return Err(not_zip());
    }
    let (count, mut at) = (number(&bytes, end + 10, 2), number(&bytes, end + 16, 4));
    let mut members = Vec::new();
    for _ in 0..count {
        let entry = source.bytes(at, SIZES[1])?;
        if !entry.starts_with(ENTRY) {
            return Err(not_zip());
        }
        let [name, extra, comment] = [28, 30, 32].map(|field| number(&entry, field, 2));
        if number(&entry, 10, 2) != 0 {
            return Err(fault("is compressed").help("save it with `compressed=False`"));
        }
        let (size, local) = (number(&entry, 24, 4), number(&entry, 42, 4));
        let text = String::from_utf8_lossy(&source.bytes(at + SIZES[1], name)?).into_owned();
        let header = source.bytes(local, SIZES[2])?;
        if !header.starts_with(LOCAL) || size == u64::from(u32::MAX) || local == u64::from(u32::MAX) {
            return Err(fault("is an archive of 4 GiB or more, or not one"));
        }
        let start = local + SIZES[2] + number(&header, 26, 2) + number(&header, 28, 2);
        members.push(Member { name: text, start, size });
        at += SIZES[1] + name + extra + comment;
    }
    Ok(members)
}

impl Archive<'_> {
    fn member(&self, name: &str) -> Result<Option<Source>> {
        let found = self.members.iter().find(|member| member.name.strip_suffix(".npy") == Some(name));
        found.map(|member| Source::open(self.path)?.inside(member.start, member.size)).transpose()
    }

    fn array(&self, name: &str) -> Result<Array> {
        let lacks = || fault(format!("has no array `{name}`")).help("save it with `scipy.sparse.save_npz`");
        let mut source = self.member(name)?.ok_or_else(lacks)?;
        let header = npy::header(&mut source)?;
        npy::read(&mut source, &Expect { element: header.element, shape: &header.shape })
    }

    /// Whole numbers, none below 0.
    fn numbers(&self, name: &str) -> Result<Vec<u64>> {
        let array = self.array(name)?;
        let width = array.element.bytes() as usize;
        if !matches!(array.element, Element::I32 | Element::I64) {
            return Err(fault(format!("has an array `{name}` of {}, not of whole numbers", array.element)));
        }
        let values = array.data.chunks_exact(width).map(|bytes| number(bytes, 0, width));
        let limit = 1u64 << (8 * width - 1);
        let all: Option<Vec<u64>> = values.map(|value| (value < limit).then_some(value)).collect();
        all.ok_or_else(|| fault(format!("has a number below 0 in `{name}`")))
    }

    fn matrix(&mut self, expect: &Expect<'_>) -> Result<Coordinates> {
        let shape: Vec<i64> = self.numbers("shape")?.into_iter().map(|size| size as i64).collect();
        let data = self.array("data")?;
        expected(data.element, &shape, expect)?;
        // From here on every place is below the number of elements, and no product of sizes wraps.
        count(&shape)?;
        let at = match self.member("indptr")? {
            Some(_) => self.compressed(&shape)?,
            None => self.listed(&shape)?,
        };
        if at.len() != data.elements() || data.shape.len() != 1 {
            return Err(fault(format!("has {} places for {} elements", at.len(), data.elements())));
        }
        if !at.is_sorted_by(|a, b| a < b) {
            let sort = "sort it first: `a.sum_duplicates()`, and for coo `a.tocsr()`";
            return Err(fault("has places out of order, or twice").help(sort));
        }
        Ok(Coordinates { shape, at, values: data.data })
    }

    /// The places of rows that are listed one after the other.
    fn compressed(&self, shape: &[i64]) -> Result<Vec<u64>> {
        let kind = self.member("format")?.map(|mut source| source.bytes(0, source.len)).transpose()?;
        // Bytes, or characters of four bytes each.
        let is_csr =
            kind.is_some_and(|bytes| bytes.ends_with(b"csr") || bytes.ends_with(b"c\0\0\0s\0\0\0r\0\0\0"));
        let [rows, columns] = shape[..] else { return Err(fault("is not a matrix of two dimensions")) };
        if !is_csr {
            return Err(fault("is not by rows").help("save it as `a.tocsr()` or `a.tocoo()`"));
        }
        let (starts, indices) = (self.numbers("indptr")?, self.numbers("indices")?);
        let ordered = starts.len() as i64 == rows + 1 && starts.is_sorted() && starts.first() == Some(&0);
        if !ordered || starts.last() != Some(&(indices.len() as u64)) {
            return Err(fault("has rows that do not begin where they should"));
        }
        if indices.iter().any(|column| *column >= columns as u64) {
            return Err(fault(format!("has a column beyond {columns}")));
        }
        let mut at = Vec::with_capacity(indices.len());
        for (row, ends) in starts.windows(2).enumerate() {
            let first = row as u64 * columns as u64;
            at.extend(indices[ends[0] as usize..ends[1] as usize].iter().map(|column| first + column));
        }
        Ok(at)
    }

    /// The places of elements that are listed with all their coordinates.
    fn listed(&self, shape: &[i64]) -> Result<Vec<u64>> {
        let dims: Vec<Vec<u64>> = match self.member("coords")? {
            Some(_) => {
                let all = self.numbers("coords")?;
                let count = all.len() / shape.len().max(1);
                all.chunks(count.max(1)).map(<[u64]>::to_vec).collect()
            }
            None => vec![self.numbers("row")?, self.numbers("col")?],
        };
        let alike = dims.len() == shape.len() && dims.iter().all(|dim| dim.len() == dims[0].len());
        let inside = || dims.iter().zip(shape).all(|(dim, size)| dim.iter().all(|at| *at < *size as u64));
        if !alike || !inside() {
            return Err(fault("has coordinates beyond its shape"));
        }
        let place = |entry: usize| {
            dims.iter().zip(shape).fold(0u64, |place, (dim, size)| place * *size as u64 + dim[entry])
        };
        Ok((0..dims.first().map_or(0, Vec::len)).map(place).collect())
    }
}
