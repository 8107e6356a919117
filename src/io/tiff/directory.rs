//! The first directory of a TIFF file -> its values by tag.
//!
//! `256 SHORT 1 640` says that the width is 640; values that do not fit the entry lie elsewhere and are fetched when
//! they are asked for, no more of them than the asker can use.

use super::tags::{LONG, LONG8, SHORT};
use crate::io::error::{Fault, Result, fault};
use crate::io::source::Source;
use std::collections::BTreeMap;

/// Real files have a few dozen.
const MOST_ENTRIES: u64 = 4096;

/// Byte order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endian {
    Little,
    Big,
}

/// Width of offsets: classic TIFF has 4 bytes, BigTIFF 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Width {
    Four,
    Eight,
}

/// The entries of the first image.
pub(super) struct Directory {
    pub(super) endian: Endian,
    width: Width,
    entries: BTreeMap<u16, Entry>,
}

#[derive(Clone, Copy)]
struct Entry {
    /// Type of the values.
    kind: u16,
    count: u64,
    /// The values themselves, or where they are.
    field: [u8; 8],
}

impl Endian {
    /// The unsigned number that up to eight bytes are.
    fn number(self, bytes: &[u8]) -> u64 {
        let join = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        match self {
            Endian::Little => bytes.iter().rev().fold(0, join),
            Endian::Big => bytes.iter().fold(0, join),
        }
    }
}

impl Width {
    fn bytes(self) -> usize {
        match self {
            Width::Four => 4,
            Width::Eight => 8,
        }
    }
}

impl Directory {
    /// Reads the header and the first directory.
    pub(super) fn read(source: &mut Source) -> Result<Directory> {
        let head = source.bytes(0, source.len.min(16))?;
        let endian = match head.get(..2) {
            Some(b"II") => Endian::Little,
            Some(b"MM") => Endian::Big,
            _ => return Err(not_tiff()),
        };
        let number = |range: std::ops::Range<usize>| head.get(range).map(|bytes| endian.number(bytes));
        let (width, start) = match (number(2..4), number(4..8), number(8..16)) {
            (Some(42), Some(start), _) => (Width::Four, start),
            (Some(43), Some(_), Some(start)) if number(4..6) == Some(8) => (Width::Eight, start),
            _ => return Err(not_tiff()),
        };
        let entries = entries(source, endian, width, start)?;
        Ok(Directory { endian, width, entries })
    }

    /// Whether the tag is there.
    pub(super) fn has(&self, tag: u16) -> bool {
        self.entries.contains_key(&tag)
    }

    /// The values of an integer tag, none when it is not there; an error when there are more than `most`.
    pub(super) fn values(&self, source: &mut Source, tag: u16, most: u64) -> Result<Vec<u64>> {
        let Some(entry) = self.entries.get(&tag) else { return Ok(Vec::new()) };
        let size = match entry.kind {
            1 => 1,
            SHORT => 2,
            LONG => 4,
            LONG8 => 8,
            kind => {
                return Err(fault(format!("has a tag {tag} of the type {kind}, which is not an integer")));
            }
        };
        if entry.count > most {
            return Err(fault(format!(
                "has {} values in the tag {tag}, at most {most} make sense",
                entry.count
            )));
        }
        let field = &entry.field[..self.width.bytes()];
        let total = entry.count.checked_mul(size).ok_or_else(not_tiff)?;
        let bytes = match field.get(..total as usize) {
            Some(inside) => inside.to_vec(),
            None => source.bytes(self.endian.number(field), total)?,
        };
        Ok(bytes.chunks_exact(size as usize).map(|value| self.endian.number(value)).collect())
    }

    /// The value of a tag with one value, or `default` when it is not there.
    pub(super) fn value(&self, source: &mut Source, tag: u16, default: u64) -> Result<u64> {
        Ok(self.values(source, tag, 1)?.first().copied().unwrap_or(default))
    }

    /// The value of a tag that says the same for each sample, or `default`.
    pub(super) fn uniform(&self, source: &mut Source, tag: u16, default: u64) -> Result<u64> {
        let values = self.values(source, tag, u16::MAX.into())?;
        let first = values.first().copied().unwrap_or(default);
        match values.iter().find(|value| **value != first) {
            Some(other) => {
                Err(fault(format!("has samples of different kinds: the tag {tag} is {first} and {other}")))
            }
            None => Ok(first),
        }
    }
}

fn not_tiff() -> Fault {
    fault("is not a tiff file")
}

fn entries(source: &mut Source, endian: Endian, width: Width, start: u64) -> Result<BTreeMap<u16, Entry>> {
    let (count_size, entry_size) = match width {
        Width::Four => (2, 12),
        Width::Eight => (8, 20),
    };
    let count = endian.number(&source.bytes(start, count_size)?);
    if count > MOST_ENTRIES {
        return Err(fault(format!("has a directory of {count} entries, at most {MOST_ENTRIES} are allowed")));
    }
    let table = source.bytes(start + count_size, count * entry_size)?;
    Ok(table.chunks_exact(entry_size as usize).map(|bytes| entry(bytes, endian, width)).collect())
}

fn entry(bytes: &[u8], endian: Endian, width: Width) -> (u16, Entry) {
    let size = width.bytes();
    let (head, field) = bytes.split_at(4 + size);
    let mut entry =
        Entry { kind: endian.number(&head[2..4]) as u16, count: endian.number(&head[4..]), field: [0; 8] };
    entry.field[..size].copy_from_slice(field);
    (endian.number(&head[..2]) as u16, entry)
}
