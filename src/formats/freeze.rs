//! Entries -> levels, from the outermost level inwards.
//!
//! ```text
//! at 1 3 5 of 2 x 3    dense: positions [1], [3 5]    sparse_list: ptr 0 1 3, idx 1 0 2, positions [1], [3], [5]
//! ```
//!
//! A position is a range of entries: those that lie under it. Each level splits every position by the coordinate along
//! its own dimension, and decides which coordinates become positions of the next level: all, those that have entries,
//! those between the first and the last that have some, or the first of each run of equal ones.

use super::levels::Stored;
use super::{Entries, Frozen, TooLarge, fill_bytes};
use crate::graph::types::Element;
use crate::graph::{Format, Level};
use crate::pages::prefer_large;
use std::ops::Range;

/// The entries in a format whose fill is what they are not.
pub fn freeze(entries: &Entries, format: &Format, element: Element) -> Result<Frozen, TooLarge> {
    let fill = fill_bytes(format, element);
    let mut positions = vec![Position { start: 0, end: number(entries.at.len() as u64)? }];
    let (mut levels, mut dim) = (Vec::with_capacity(format.levels.len()), 0);
    for level in &format.levels {
        let dims = dim..dim + level.dims();
        dim = dims.end;
        let (stored, children) = Splitting::new(entries, dims).level(*level, &positions)?;
        number(children.len() as u64)?;
        levels.push(stored);
        positions = children;
    }
    let said = format.pattern && levels.last().is_some_and(Stored::holds_entries_only);
    let values = if said { Vec::new() } else { leaf(entries, &positions, &fill) };
    let (shape, stored) = (entries.shape.clone(), entries.at.len() as u64);
    Ok(Frozen { format: format.clone(), element, shape, levels, values, fill, stored })
}

/// Numbers are 32 bits wide.
fn number(count: u64) -> Result<u32, TooLarge> {
    u32::try_from(count).map_err(|_| TooLarge)
}

/// The entries under a position.
#[derive(Clone, Copy)]
struct Position {
    start: u32,
    end: u32,
}

impl Position {
    fn entries(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    fn is_fill(self) -> bool {
        self.start == self.end
    }
}

fn leaf(entries: &Entries, positions: &[Position], fill: &[u8]) -> Vec<u8> {
    let mut values = roomy(positions.len() * entries.width);
    for position in positions {
        let value = if position.is_fill() { fill } else { entries.value(position.start as usize) };
        values.extend_from_slice(value);
    }
    values
}

/// An empty vector with room for so many. What is gone along from end to end lies in large pages, as inputs do.
fn roomy<T>(count: usize) -> Vec<T> {
    let room = Vec::with_capacity(count);
    prefer_large(&room);
    room
}

fn narrowed(coords: &[u64]) -> Vec<u32> {
    let mut narrow = roomy(coords.len());
    narrow.extend(coords.iter().map(|coord| *coord as u32));
    narrow
}

/// How positions are split by the coordinates along some dimensions.
struct Splitting<'e> {
    entries: &'e Entries,
    sizes: Vec<u32>,
    /// Coordinates in all, and elements under each.
    size: u64,
    inner: u64,
}

impl<'e> Splitting<'e> {
    fn new(entries: &'e Entries, dims: Range<usize>) -> Self {
        let volume = |sizes: &[u32]| sizes.iter().map(|size| u64::from(*size)).product();
        let sizes = entries.shape[dims.clone()].to_vec();
        Splitting { entries, size: volume(&sizes), inner: volume(&entries.shape[dims.end..]), sizes }
    }

    fn level(&self, level: Level, positions: &[Position]) -> Result<(Stored, Vec<Position>), TooLarge> {
        match level {
            Level::Dense => self.dense(positions),
            Level::SparseList => self.list(positions),
            Level::SparseDict => self.dict(positions),
            Level::SparseCoo(_) => self.coo(positions),
            Level::SparseBytemap => self.bytemap(positions),
            Level::RunList => self.runs(positions),
            Level::SparseBand => self.band(positions),
        }
    }

    fn one_size(&self) -> u32 {
        self.sizes.first().copied().unwrap_or(1)
    }

    /// The coordinate of an entry.
    fn coord(&self, entry: u32) -> u64 {
        self.entries.at[entry as usize] / self.inner.max(1) % self.size.max(1)
    }

    /// The coordinates of a position that have entries, and those entries.
    fn groups(&self, position: Position) -> impl Iterator<Item = (u64, Position)> + '_ {
        let mut next = position.start;
        std::iter::from_fn(move || {
            let start = next;
            if start == position.end {
                return None;
            }
            let coord = self.coord(start);
            next += 1;
            while next < position.end && self.coord(next) == coord {
                next += 1;
            }
            Some((coord, Position { start, end: next }))
        })
    }

    /// Every coordinate of a position in a range, those without entries too.
    fn every(&self, position: Position, coords: Range<u64>, mut visit: impl FnMut(Position)) {
        let mut next = coords.start;
        let blank = |at: u32| Position { start: at, end: at };
        for (coord, group) in self.groups(position) {
            (next..coord).for_each(|_| visit(blank(group.start)));
            visit(group);
            next = coord + 1;
        }
        (next..coords.end).for_each(|_| visit(blank(position.end)));
    }

    /// As many positions as there are coordinates, if they can be numbered.
    fn room(&self, positions: &[Position]) -> Result<usize, TooLarge> {
        let count = self.size.checked_mul(positions.len() as u64).ok_or(TooLarge)?;
        Ok(number(count)? as usize)
    }

    fn dense(&self, positions: &[Position]) -> Result<(Stored, Vec<Position>), TooLarge> {
        let mut children = Vec::with_capacity(self.room(positions)?);
        positions
            .iter()
            .for_each(|position| self.every(*position, 0..self.size, |child| children.push(child)));
        Ok((Stored::Dense { size: self.one_size() }, children))
    }

    /// The coordinates that have entries: where each position begins, the coordinates, and their entries.
    fn sparse(&self, positions: &[Position]) -> (Vec<u32>, Vec<u64>, Vec<Position>) {
        let (mut ptr, mut idx, mut children) = (vec![0], Vec::new(), Vec::new());
        for position in positions {
            for (coord, group) in self.groups(*position) {
                idx.push(coord);
                children.push(group);
            }
            ptr.push(children.len() as u32);
        }
        (ptr, idx, children)
    }

    fn list(&self, positions: &[Position]) -> Result<(Stored, Vec<Position>), TooLarge> {
        let (ptr, idx, children) = self.sparse(positions);
        let idx = narrowed(&idx);
        Ok((Stored::List { size: self.one_size(), ptr, idx }, children))
    }

    fn dict(&self, positions: &[Position]) -> Result<(Stored, Vec<Position>), TooLarge> {
        let (ptr, idx, children) = self.sparse(positions);
        let idx = narrowed(&idx);
        let val = (0..idx.len() as u32).collect();
        Ok((Stored::Dict { size: self.one_size(), ptr, idx, val }, children))
    }

    fn coo(&self, positions: &[Position]) -> Result<(Stored, Vec<Position>), TooLarge> {
        let (ptr, places, children) = self.sparse(positions);
        let mut tbl = vec![Vec::with_capacity(places.len()); self.sizes.len()];
        for mut place in places {
            for (dim, size) in self.sizes.iter().enumerate().rev() {
                tbl[dim].push((place % u64::from(*size)) as u32);
                place /= u64::from(*size);
            }
        }
        Ok((Stored::Coo { sizes: self.sizes.clone(), ptr, tbl }, children))
    }

    fn bytemap(&self, positions: &[Position]) -> Result<(Stored, Vec<Position>), TooLarge> {
        let room = self.room(positions)?;
        let (mut ptr, mut srt, mut children) = (vec![0], Vec::new(), Vec::with_capacity(room));
        for (number, position) in positions.iter().enumerate() {
            srt.extend(self.groups(*position).map(|(coord, _)| (number as u32, coord as u32)));
            ptr.push(srt.len() as u32);
            self.every(*position, 0..self.size, |child| children.push(child));
        }
        let tbl = children.iter().map(|child| !child.is_fill()).collect();
        Ok((Stored::ByteMap { size: self.one_size(), ptr, tbl, srt }, children))
    }

    fn runs(&self, positions: &[Position]) -> Result<(Stored, Vec<Position>), TooLarge> {
        let (mut ptr, mut right, mut children) = (vec![0], Vec::new(), Vec::<Position>::new());
        for position in positions {
            let first = children.len();
            let mut end = 0;
            let mut add = |child: Position, last: u32| match children.last() {
                Some(known) if children.len() > first && self.same(*known, child) => {
                    *right.last_mut().expect("every child has a run") = last;
                }
                _ => {
                    children.push(child);
                    right.push(last);
                }
            };
            for (coord, group) in self.groups(*position) {
                if coord > end {
                    add(Position { start: group.start, end: group.start }, coord as u32 - 1);
                }
                add(group, coord as u32);
                end = coord + 1;
            }
            if end < self.size {
                add(Position { start: position.end, end: position.end }, self.one_size() - 1);
            }
            ptr.push(children.len() as u32);
        }
        Ok((Stored::Runs { size: self.one_size(), ptr, right }, children))
    }

    /// Whether the same elements lie under two positions, bit by bit.
    fn same(&self, a: Position, b: Position) -> bool {
        let inside = |entry: usize| self.entries.at[entry] % self.inner.max(1);
        a.entries().len() == b.entries().len()
            && a.entries()
                .zip(b.entries())
                .all(|(a, b)| inside(a) == inside(b) && self.entries.value(a) == self.entries.value(b))
    }

    fn band(&self, positions: &[Position]) -> Result<(Stored, Vec<Position>), TooLarge> {
        let (mut last, mut ofs, mut children) = (Vec::new(), vec![0], Vec::new());
        for position in positions {
            if position.is_fill() {
                last.push(0);
            } else {
                let (lo, hi) = (self.coord(position.start), self.coord(position.end - 1));
                self.every(*position, lo..hi + 1, |child| children.push(child));
                last.push(hi as u32);
            }
            ofs.push(number(children.len() as u64)?);
        }
        Ok((Stored::Band { size: self.one_size(), last, ofs }, children))
    }
}
