//! Boxes in any format -> the stored elements of every row of a box, in one form: what kernels go along.
//! A row goes along any dimension: along the last it is a row of the box, along another a column.
//!
//! ```text
//! 0 7 0 / 5 0 6    entries: ptr 0 1 3, lo 1 0 2, values 7 5 6
//! 0 7 7 / 5 0 0    runs:    ptr 0 1 2, lo 1 0, hi 3 1, values 7 5
//! ```
//!
//! Rows are numbered row-major over all dimensions but the one they go along; coordinates count from the corner of the
//! box.

use super::Frozen;
use super::levels::Stored;
use super::walk::Span;
use crate::index::Interval;
use std::borrow::Cow;
use std::ops::Deref;

/// What is stored of every row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows<'f> {
    /// The box, the dimension that rows go along last.
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

/// Rows that others share, or that are made for one reader.
#[derive(Clone, Debug)]
pub enum Listing<'f> {
    /// They are kept elsewhere.
    Shared(&'f Rows<'f>),
    /// They go with it.
    Own(Rows<'f>),
}

impl<'f> Deref for Listing<'f> {
    type Target = Rows<'f>;

    fn deref(&self) -> &Rows<'f> {
        match self {
            Listing::Shared(rows) => rows,
            Listing::Own(rows) => rows,
        }
    }
}

/// What a row is listed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    /// The rows along a dimension of a box that the parts make up, each element in one of them.
    pub fn gather(region: &[Interval], along: usize, kind: Kind, parts: &[Part<'f>]) -> Rows<'f> {
        if let ([part], Kind::Entries) = (parts, kind)
            && along + 1 == region.len()
            && let Some(rows) = Rows::borrowed(region, *part)
        {
            return rows;
        }
        let order: Vec<usize> = (0..region.len()).filter(|dim| *dim != along).chain([along]).collect();
        let mut found = Found { region, order, kind, list: Vec::new(), values: Vec::new() };
        parts.iter().for_each(|part| found.add(*part));
        found.rows()
    }

    /// The arrays of a format as they are, if they have this form.
    pub fn borrowed(region: &[Interval], part: Part<'f>) -> Option<Rows<'f>> {
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

    /// The same in memory of its own.
    pub fn into_owned(self) -> Rows<'static> {
        fn own<T: Clone>(array: Cow<'_, [T]>) -> Cow<'static, [T]> {
            Cow::Owned(array.into_owned())
        }
        let Rows { region, ptr, lo, hi, values } = self;
        Rows { region, ptr: own(ptr), lo: own(lo), hi: own(hi), values: own(values) }
    }

    /// Whether these are rows along a dimension of a box.
    pub fn is_of(&self, region: &[Interval], along: usize) -> bool {
        let order = (0..region.len()).filter(|dim| *dim != along).chain([along]);
        order.map(|dim| region[dim]).eq(self.region.iter().copied())
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
    /// The dimensions in the order of the list, the one that it goes along last.
    order: Vec<usize>,
    kind: Kind,
    list: Vec<Entry>,
    values: Vec<u8>,
}

impl Found<'_> {
    fn add(&mut self, part: Part<'_>) {
        let (Some(last), Some(own)) = (self.region.last(), part.region.last()) else { return };
        let outer = outermost(self.region, part.region);
        let mut coords: Vec<i64> = vec![0; self.region.len()];
        part.frozen.walk_within(outer, |number, span| {
            if !self.locate(number, part.region, &mut coords) {
                return;
            }
            let lo = (own.first() + i64::from(span.lo)).max(last.first());
            let hi = (own.first() + i64::from(span.hi)).min(last.last() + 1);
            if lo < hi {
                let skipped = (lo - own.first()) as u32 - span.lo;
                let at = span.at + skipped * span.step;
                self.stretch(&mut coords, (lo, hi), Span { at, ..span }, part.frozen);
            }
        });
    }

    /// The coordinates of a row with that number in a part, but for the last; false if it is not in the box.
    fn locate(&self, mut number: u64, part: &[Interval], coords: &mut [i64]) -> bool {
        for (dim, own) in part.iter().enumerate().rev().skip(1) {
            let size = own.len().unwrap_or(1).max(1) as u64;
            coords[dim] = own.first() + (number % size) as i64;
            number /= size;
        }
        let inside = coords.iter().zip(self.region).take(part.len() - 1);
        inside.into_iter().all(|(at, range)| range.contains(*at))
    }

    fn stretch(&mut self, coords: &mut [i64], (lo, hi): (i64, i64), span: Span, frozen: &Frozen) {
        let last = coords.len() - 1;
        if self.kind == Kind::Runs && span.step == 0 && self.order[last] == last {
            coords[last] = lo;
            return self.push(coords, (hi - lo) as u32, frozen.value(span.at));
        }
        for (step, x) in (lo..hi).enumerate() {
            let value = frozen.value(span.at + span.step * step as u32);
            if value != frozen.fill {
                coords[last] = x;
                self.push(coords, 1, value);
            }
        }
    }

    fn push(&mut self, coords: &[i64], len: u32, value: &[u8]) {
        let place = |dim: usize| (coords[dim] - self.region[dim].first()) as u64;
        let (along, outer) = self.order.split_last().expect("a box has dimensions");
        let row =
            outer.iter().fold(0, |row, dim| row * self.region[*dim].len().unwrap_or(1) as u64 + place(*dim));
        let lo = place(*along) as u32;
        self.list.push((row, lo, lo + len, (self.values.len() / value.len()) as u32));
        self.values.extend_from_slice(value);
    }

    fn rows<'f>(self) -> Rows<'f> {
        let Found { region, order, kind, mut list, values } = self;
        let width = values.len() / list.len().max(1);
        let (_, outer) = order.split_last().expect("a box has dimensions");
        let rows: usize = outer.iter().map(|dim| region[*dim].len().unwrap_or(1) as usize).product();
        let mut ptr = vec![0u32; rows + 1];
        list.iter().for_each(|(row, ..)| ptr[*row as usize + 1] += 1);
        (0..rows).for_each(|row| ptr[row + 1] += ptr[row]);
        let mut sorted = values;
        if !list.is_sorted() {
            list = by_row(&list, &ptr);
            sorted =
                list.iter().flat_map(|(.., at)| &sorted[*at as usize * width..][..width]).copied().collect();
        }
        // There is something to look at even if nothing is stored.
        if list.is_empty() {
            list.push((0, 0, 0, 0));
            sorted = vec![0; 8];
        }
        let hi = if kind == Kind::Runs { list.iter().map(|(_, _, hi, _)| *hi).collect() } else { Vec::new() };
        Rows {
            region: order.iter().map(|dim| region[*dim]).collect(),
            ptr: Cow::Owned(ptr),
            lo: Cow::Owned(list.iter().map(|(_, lo, ..)| *lo).collect()),
            hi: Cow::Owned(hi),
            values: Cow::Owned(sorted),
        }
    }
}

/// One entry of a list: row, first coordinate, one past the last, and number of the value.
type Entry = (u64, u32, u32, u32);

/// Entries in the order of rows. Those of a row mostly come in order, as they do in one box; then it takes one pass.
fn by_row(list: &[Entry], ptr: &[u32]) -> Vec<Entry> {
    let mut next = ptr.to_vec();
    let mut sorted = vec![(0, 0, 0, 0); list.len()];
    for entry in list {
        let place = &mut next[entry.0 as usize];
        sorted[*place as usize] = *entry;
        *place += 1;
    }
    if !sorted.is_sorted() {
        sorted.sort_unstable();
    }
    sorted
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
