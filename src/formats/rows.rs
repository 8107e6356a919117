//! Boxes in any format -> the stored elements of every row of a box, in one form: what kernels go along.
//!
//! ```text
//! 0 7 0 / 5 0 6    entries: ptr 0 1 3, lo 1 0 2, values 7 5 6
//! 0 7 7 / 5 0 0    runs:    ptr 0 1 2, lo 1 0, hi 3 1, values 7 5
//! ```
//!
//! Rows are numbered row-major over all dimensions but the last; coordinates count from the corner of the box.

use super::Frozen;
use super::levels::Stored;
use super::walk::Span;
use crate::index::Interval;
use std::borrow::Cow;

/// What is stored of every row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows<'f> {
    /// The box.
    pub region: Vec<Interval>,
    /// Where the elements of a row begin; one more than there are rows.
    pub ptr: Cow<'f, [u32]>,
    /// The coordinate of every element, or the first of every run.
    pub lo: Cow<'f, [u32]>,
    /// One past the last of every run; empty where there are elements.
    pub hi: Cow<'f, [u32]>,
    /// One per element or run; of bools, which all differ from the fill, there may be none.
    pub values: Cow<'f, [u8]>,
}

/// What a row is listed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Element by element.
    Entries,
    /// Runs of one value.
    Runs,
}

/// A box in a format, and where it lies.
#[derive(Clone, Copy, Debug)]
pub struct Part<'f> {
    /// What it holds.
    pub frozen: &'f Frozen,
    /// Which coordinates.
    pub region: &'f [Interval],
}

impl<'f> Rows<'f> {
    /// The rows of a box that the parts make up, each element in one of them.
    pub fn gather(region: &[Interval], kind: Kind, parts: &[Part<'f>]) -> Rows<'f> {
        if let ([part], Kind::Entries) = (parts, kind)
            && let Some(rows) = Rows::borrowed(region, *part)
        {
            return rows;
        }
        let mut found = Found { region, kind, list: Vec::new(), values: Vec::new() };
        parts.iter().for_each(|part| found.add(*part));
        found.rows()
    }

    /// The arrays of a format as they are, if they have this form.
    fn borrowed(region: &[Interval], part: Part<'f>) -> Option<Rows<'f>> {
        let (Stored::List { ptr, idx, .. }, outer) = part.frozen.levels.split_last()? else { return None };
        let dense = outer.iter().all(|level| matches!(level, Stored::Dense { .. }));
        let whole = region.last()? == part.region.last()? && part.frozen.stored > 0;
        (dense && whole).then(|| Rows {
            region: part.region.to_vec(),
            ptr: Cow::Borrowed(ptr),
            lo: Cow::Borrowed(idx),
            hi: Cow::Borrowed(&[]),
            values: Cow::Borrowed(&part.frozen.values),
        })
    }

    /// The number of the row at coordinates, of which the last is not looked at.
    pub fn row(&self, coords: &[i64]) -> Option<usize> {
        let outer = &self.region[..self.region.len() - 1];
        let inside = outer.iter().zip(coords).all(|(range, at)| range.contains(*at));
        let place =
            |row: i64, (range, at): (&Interval, &i64)| row * range.len().unwrap_or(1) + at - range.first();
        inside.then(|| outer.iter().zip(coords).fold(0, place) as usize)
    }

    /// The stretches of a row in coordinates, `lo..hi` each.
    pub fn stretches(&self, row: usize) -> impl Iterator<Item = (i64, i64)> + '_ {
        let first = self.region.last().map_or(0, |range| range.first());
        let entries = self.ptr[row] as usize..self.ptr[row + 1] as usize;
        entries.map(move |entry| {
            let lo = self.lo[entry];
            let hi = self.hi.get(entry).copied().unwrap_or(lo + 1);
            (first + i64::from(lo), first + i64::from(hi))
        })
    }
}

/// Elements or runs as they are found.
struct Found<'r> {
    region: &'r [Interval],
    kind: Kind,
    /// Row, first coordinate, one past the last, and number of the value.
    list: Vec<(u64, u32, u32, u32)>,
    values: Vec<u8>,
}

impl Found<'_> {
    fn add(&mut self, part: Part<'_>) {
        let (Some(last), Some(own)) = (self.region.last(), part.region.last()) else { return };
        let outer = outermost(self.region, part.region);
        part.frozen.walk_within(outer, |number, span| {
            let Some(row) = self.row(number, part.region) else { return };
            let lo = (own.first() + i64::from(span.lo)).max(last.first());
            let hi = (own.first() + i64::from(span.hi)).min(last.last() + 1);
            if lo < hi {
                let skipped = (lo - own.first()) as u32 - span.lo;
                let lo = (lo - last.first()) as u32;
                let clipped =
                    Span { lo, hi: (hi - last.first()) as u32, at: span.at + skipped * span.step, ..span };
                self.stretch(row, clipped, part.frozen);
            }
        });
    }

    /// The number in this box of a row with that number in a part.
    fn row(&self, mut number: u64, part: &[Interval]) -> Option<u64> {
        let (mut row, mut rows) = (0, 1);
        for (range, own) in self.region.iter().zip(part).rev().skip(1) {
            let size = own.len().unwrap_or(1).max(1) as u64;
            let at = own.first() + (number % size) as i64;
            number /= size;
            if !range.contains(at) {
                return None;
            }
            row += (at - range.first()) as u64 * rows;
            rows *= range.len().unwrap_or(1).max(1) as u64;
        }
        Some(row)
    }

    fn stretch(&mut self, row: u64, span: Span, frozen: &Frozen) {
        if self.kind == Kind::Runs && span.step == 0 {
            return self.push(row, span.lo, span.hi, frozen.value(span.at));
        }
        for (step, x) in (span.lo..span.hi).enumerate() {
            let value = frozen.value(span.at + span.step * step as u32);
            if value != frozen.fill {
                self.push(row, x, x + 1, value);
            }
        }
    }

    fn push(&mut self, row: u64, lo: u32, hi: u32, value: &[u8]) {
        self.list.push((row, lo, hi, (self.values.len() / value.len()) as u32));
        self.values.extend_from_slice(value);
    }

    fn rows<'f>(mut self) -> Rows<'f> {
        let width = self.values.len() / self.list.len().max(1);
        if !self.list.is_sorted() {
            self.list.sort_unstable();
            let sorted = self.list.iter().flat_map(|(.., at)| &self.values[*at as usize * width..][..width]);
            self.values = sorted.copied().collect();
        }
        let outer = self.region.split_last().map_or(&[][..], |(_, outer)| outer);
        let rows: usize = outer.iter().map(|range| range.len().unwrap_or(1) as usize).product();
        let mut ptr = vec![0u32; rows + 1];
        self.list.iter().for_each(|(row, ..)| ptr[*row as usize + 1] += 1);
        (0..rows).for_each(|row| ptr[row + 1] += ptr[row]);
        let runs = self.kind == Kind::Runs;
        let hi = if runs { self.list.iter().map(|(_, _, hi, _)| *hi).collect() } else { Vec::new() };
        Rows {
            region: self.region.to_vec(),
            ptr: Cow::Owned(ptr),
            lo: Cow::Owned(self.list.iter().map(|(_, lo, ..)| *lo).collect()),
            hi: Cow::Owned(hi),
            values: Cow::Owned(self.values),
        }
    }
}

/// The coordinates along the first dimension of a part that a box reaches, counted from the part's own.
pub fn outermost(region: &[Interval], part: &[Interval]) -> std::ops::Range<u64> {
    if part.len() < 2 {
        return 0..u64::MAX;
    }
    let both = region[0].intersect(part[0]);
    if both.is_empty() {
        return 0..0;
    }
    let from = |at: i64| (at - part[0].first()) as u64;
    from(both.first())..from(both.last()) + 1
}
