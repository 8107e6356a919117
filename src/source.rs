//! Source text and positions in it.
//!
//! `Sources` owns every text of one compilation (the script, the files it uses, the standard library);
//! a [`Span`] is a byte range of one of them.

use std::fmt;
use std::sync::Arc;

/// One text of a compilation; prints as `f0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(pub u32);

/// A half-open byte range of one source.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The text it is a range of.
    pub source: SourceId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A name, a text and where its lines start.
#[derive(Clone, Debug)]
pub struct Source {
    /// Shown in diagnostics: the path as the user wrote it, or `std/noise.itp`.
    pub name: String,
    /// The whole text, at most [`MAX_SOURCE_BYTES`].
    pub text: Arc<str>,
    line_starts: Vec<u32>,
}

/// The largest script that is read: 16 MiB.
pub const MAX_SOURCE_BYTES: usize = 16 << 20;

/// All texts of one compilation.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    list: Vec<Source>,
}

impl fmt::Debug for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "f{}", self.0)
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}:{}..{}", self.source, self.start, self.end)
    }
}

impl Span {
    /// The bytes `start..end` of `source`.
    pub fn new(source: SourceId, start: usize, end: usize) -> Self {
        let clip = |n: usize| u32::try_from(n).expect("sources are at most 16 MiB");
        Span { source, start: clip(start), end: clip(end) }
    }

    /// The smallest span that covers both; both are of one source.
    pub fn to(self, other: Span) -> Span {
        debug_assert_eq!(self.source, other.source);
        Span { source: self.source, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// As a range for slicing the text.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl Source {
    fn new(name: String, text: Arc<str>) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        let line_starts = std::iter::once(0).chain(newlines.map(|(i, _)| i as u32 + 1)).collect();
        Source { name, text, line_starts }
    }

    /// Line and column of a byte, both counted from 1, the column in characters.
    pub fn line_column(&self, byte: u32) -> (usize, usize) {
        let line = self.line_starts.partition_point(|start| *start <= byte) - 1;
        let from = self.line_starts[line] as usize;
        let to = (byte as usize).min(self.text.len());
        let column = self.text.get(from..to).map_or(to - from, |before| before.chars().count());
        (line + 1, column + 1)
    }
}

impl Sources {
    /// Takes a text in and names it.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<Arc<str>>) -> SourceId {
        self.list.push(Source::new(name.into(), text.into()));
        SourceId(self.list.len() as u32 - 1)
    }

    /// The source with that id.
    pub fn get(&self, id: SourceId) -> &Source {
        &self.list[id.0 as usize]
    }

    /// All of them, in the order in which they were taken in.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.list.iter()
    }

    /// The text under a span.
    pub fn text(&self, span: Span) -> &str {
        &self.get(span.source).text[span.range()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one() {
        let mut sources = Sources::default();
        let id = sources.add("a.itp", "ab\nçd\n");
        let at = |byte| sources.get(id).line_column(byte);
        assert_eq!([at(0), at(2), at(3), at(5), at(7)], [(1, 1), (1, 3), (2, 1), (2, 2), (3, 1)]);
    }
}
