//! Levels -> stretches of rows, in row-major order: what readers go along instead of every element.
//!
//! ```text
//! 0 7 0 / 5 0 6   as dense(sparse_list)   ->   row 0: 1..2, row 1: 0..1, row 1: 2..3
//! ```

use super::Frozen;
use super::levels::Children;
use std::ops::Range;

/// A stretch of a row: coordinates `lo..hi`, whose values are at positions `at`, `at + step`, ….
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first coordinate.
    pub lo: u32,
    /// One past the last.
    pub hi: u32,
    /// The position of the first value.
    pub at: u32,
    /// 0 if they all have the same value, else 1.
    pub step: u32,
}

impl Frozen {
    /// Visits every stretch that may hold other elements than the fill, with the number of its row.
    pub fn walk(&self, visit: impl FnMut(u64, Span)) {
        self.walk_within(0..u64::MAX, visit);
    }

    /// The same, of those at these coordinates of the first dimension; of a single dimension all are visited.
    pub fn walk_within(&self, outer: Range<u64>, mut visit: impl FnMut(u64, Span)) {
        match self.levels.len() {
            _ if self.stored == 0 => {}
            0 => visit(0, Span { lo: 0, hi: 1, at: 0, step: 0 }),
            _ => self.children(0, 0, |children| {
                let below: u64 =
                    self.shape[1..self.format.levels[0].dims()].iter().map(|n| u64::from(*n)).product();
                let within = outer.start.saturating_mul(below)..outer.end.saturating_mul(below);
                let within = if self.shape.len() < 2 { 0..u64::MAX } else { within };
                let (lo, hi) = (children.lo.max(within.start), children.hi.min(within.end));
                if lo < hi {
                    let skipped = (lo - children.lo) as u32;
                    let at = children.at + children.step * skipped;
                    self.descend(0, 0, Children { lo, hi, at, ..children }, &mut visit);
                }
            }),
        }
    }

    fn children(&self, level: usize, position: u32, visit: impl FnMut(Children)) {
        self.levels[level].children(position, visit);
    }

    /// Goes down from children of a level; as deep as there are levels, at most one per dimension.
    fn descend(&self, level: usize, base: u64, children: Children, visit: &mut dyn FnMut(u64, Span)) {
        let base = base * self.levels[level].size();
        if level + 1 == self.levels.len() {
            return self.stretch(base, children, visit);
        }
        for (step, coord) in (children.lo..children.hi).enumerate() {
            let child = children.at + children.step * step as u32;
            self.children(level + 1, child, |below| self.descend(level + 1, base + coord, below, visit));
        }
    }

    fn stretch(&self, base: u64, children: Children, visit: &mut dyn FnMut(u64, Span)) {
        let Children { lo, hi, at, step } = children;
        if step == 0 && self.value(at) == self.fill {
            return;
        }
        let row = u64::from(self.shape.last().copied().unwrap_or(1)).max(1);
        let (start, len) = (base + lo, (hi - lo) as u32);
        let lo = (start % row) as u32;
        visit(start / row, Span { lo, hi: lo + len, at, step });
    }

    /// All elements, in row-major order; `None` if there is no memory for them.
    pub fn thaw(&self) -> Option<Vec<u8>> {
        let width = self.element.bytes() as usize;
        let mut data = repeated(&self.fill, usize::try_from(self.dense_bytes()).ok()?)?;
        let row = self.shape.last().copied().unwrap_or(1) as usize;
        self.walk(|number, span| {
            let start = (number as usize * row + span.lo as usize) * width;
            self.expand(span, &mut data[start..][..(span.hi - span.lo) as usize * width]);
        });
        Some(data)
    }

    /// Writes the elements of a stretch.
    pub fn expand(&self, span: Span, to: &mut [u8]) {
        let width = self.element.bytes() as usize;
        if span.step == 1 && !self.values.is_empty() {
            to.copy_from_slice(&self.values[span.at as usize * width..][..to.len()]);
            return;
        }
        let value = self.value(span.at);
        match value {
            [byte] => to.fill(*byte),
            _ => to.chunks_exact_mut(width).for_each(|element| element.copy_from_slice(value)),
        }
    }
}

/// As many bytes, one value after the other; `None` if there is no memory for them.
fn repeated(value: &[u8], bytes: usize) -> Option<Vec<u8>> {
    let mut data = Vec::new();
    data.try_reserve_exact(bytes).ok()?;
    data.extend_from_slice(&value[..value.len().min(bytes)]);
    while data.len() < bytes {
        data.extend_from_within(..data.len().min(bytes - data.len()));
    }
    Some(data)
}
