//! Elements as they come -> runs of them that stay side by side in a tile, and when each tile begins and ends.
//!
//! ```text
//! rows of 4, tiles of 2×2:   1 2 3 4 5   ->   tile 0 begins: 1 2 at 0,  tile 1 begins: 3 4 at 0,  tile 0: 5 at 2
//! ```
//!
//! Tiles begin in the order of their ranks, and end in it. The runs of one tile come in the order in which they lie in it,
//! so whoever takes them may write a file from its beginning to its end.

use super::tiling::Tiling;
use std::ops::Range;

/// What takes the runs of a stream.
pub trait TakeRuns<'b> {
    /// Why it cannot.
    type Error;

    /// The first element of a tile comes next.
    fn begin(&mut self, rank: u64) -> Result<(), Self::Error>;

    /// Elements of a tile, after that many bytes of it.
    fn run(&mut self, rank: u64, offset: usize, bytes: &'b [u8]) -> Result<(), Self::Error>;

    /// The last element of a tile has come.
    fn end(&mut self, rank: u64) -> Result<(), Self::Error>;
}

/// A stream that is being cut.
#[derive(Clone, Debug)]
pub struct Runs {
    /// The tiles with rows as long as can be.
    rows: Tiling,
    /// Bytes of an element.
    element: usize,
    /// Elements of a step along axis 0.
    frame: u64,
    /// Elements that have come.
    cursor: u64,
    /// Ranks of tiles that have begun and not ended.
    live: Range<u64>,
    row: Row,
}

/// Where the next element goes, as far as it is the same for a row.
#[derive(Clone, Debug, Default)]
struct Row {
    /// Coordinates of the collapsed axes.
    coords: Vec<u64>,
    /// Rank of the tile that the row begins in.
    rank: u64,
    /// Elements of a tile before this row of it.
    offset: u64,
    /// Whether tiles begin here, and end here.
    first: bool,
    last: bool,
    /// Whether tiles end here along all axes slower than that of the rows.
    slower_last: bool,
    /// Where tiles end along the axis of the rows.
    end: u64,
}

impl Row {
    /// The row that the element at `cursor` is in.
    fn at(rows: &Tiling, cursor: u64) -> Row {
        let coords = rows.coords(cursor);
        let mut row = Row { first: true, last: true, ..Row::default() };
        for (axis, at) in coords.iter().enumerate().take(rows.rank() - 1) {
            let (size, number) = (rows.tile()[axis], at / rows.tile()[axis]);
            let range = rows.range(axis, number);
            row.rank = if axis == 0 { number } else { row.rank * rows.count(axis) + number };
            row.offset = row.offset * size + at % size;
            row.first &= *at == range.start;
            (row.slower_last, row.end) = (row.last, range.end);
            row.last &= at + 1 == range.end;
        }
        row.rank *= rows.count(rows.rank() - 1);
        row.offset *= rows.tile()[rows.rank() - 1];
        Row { coords, ..row }
    }

    /// Goes to the next row, which begins at `cursor`: most often it is in the same tiles.
    fn advance(&mut self, rows: &Tiling, cursor: u64) {
        let last = self.coords.len() - 1;
        let at = last.checked_sub(1).map(|axis| self.coords[axis] + 1).filter(|at| *at < self.end);
        let Some(at) = at else {
            *self = Row::at(rows, cursor);
            return;
        };
        self.coords[last - 1] = at;
        self.coords[last] = 0;
        self.offset += rows.tile()[last];
        self.first = false;
        self.last = self.slower_last && at + 1 == self.end;
    }
}

impl Runs {
    /// A stream of which nothing has come, of elements of that many bytes.
    pub fn new(tiling: &Tiling, element: usize) -> Runs {
        let rows = tiling.collapsed();
        let row = Row::at(&rows, 0);
        Runs { rows, element, frame: tiling.frame_elements(), cursor: 0, live: 0..0, row }
    }

    /// The tiles, with rows as long as can be: runs are at most as long.
    pub fn rows(&self) -> &Tiling {
        &self.rows
    }

    /// Elements that have come.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    /// Ranks of the tiles that have begun and not ended.
    pub fn live(&self) -> Range<u64> {
        self.live.clone()
    }

    /// Elements that may still come.
    pub fn remaining(&self) -> u64 {
        self.rows.elements().map_or(u64::MAX, |all| all - self.cursor)
    }

    /// Takes whole elements, and hands on their runs; how many bytes it took, which is fewer than there are only at the
    /// end of the stream.
    pub fn append<'b, T: TakeRuns<'b>>(&mut self, bytes: &'b [u8], to: &mut T) -> Result<usize, T::Error> {
        let most = (bytes.len() / self.element).min(usize::try_from(self.remaining()).unwrap_or(usize::MAX));
        let mut rest = &bytes[..most * self.element];
        let last = self.rows.rank() - 1;
        while !rest.is_empty() {
            let at = self.row.coords[last];
            let left = match self.rows.inner().last() {
                Some(size) => size - at,
                None => self.remaining(),
            };
            let now = (rest.len() / self.element).min(usize::try_from(left).unwrap_or(usize::MAX));
            let (row, later) = rest.split_at(now * self.element);
            self.row_of(row, at, to)?;
            self.advance(now as u64);
            rest = later;
        }
        Ok(most * self.element)
    }

    /// Hands on a part of a row, which begins at `at`, run by run: a run lies in one tile.
    fn row_of<'b, T: TakeRuns<'b>>(
        &mut self,
        row: &'b [u8],
        mut at: u64,
        to: &mut T,
    ) -> Result<(), T::Error> {
        let axis = self.rows.rank() - 1;
        let size = self.rows.tile()[axis];
        let mut rest = row;
        let mut column = at / size;
        let mut within = at % size;
        while !rest.is_empty() {
            let (rank, end) = (self.row.rank + column, self.rows.range(axis, column).end);
            let bytes = rest.len().min((end - at) as usize * self.element);
            let (run, later) = rest.split_at(bytes);
            if self.row.first && within == 0 {
                debug_assert_eq!(rank, self.live.end, "ranks begin in order");
                self.live.end = rank + 1;
                to.begin(rank)?;
            }
            to.run(rank, (self.row.offset + within) as usize * self.element, run)?;
            at += (bytes / self.element) as u64;
            if self.row.last && at == end {
                debug_assert_eq!(rank, self.live.start, "ranks end in order");
                self.live.start = rank + 1;
                to.end(rank)?;
            }
            (rest, column, within) = (later, column + 1, 0);
        }
        Ok(())
    }

    /// Goes on by elements of the row.
    fn advance(&mut self, elements: u64) {
        self.cursor += elements;
        let last = self.rows.rank() - 1;
        self.row.coords[last] += elements;
        if self.rows.inner().last().is_some_and(|size| self.row.coords[last] == *size) {
            self.row.advance(&self.rows, self.cursor);
        }
    }

    /// What the end of the stream finds.
    pub fn closed(&self) -> Closed {
        let frame = self.frame.max(1);
        let partial = self.live.end - self.live.start;
        Closed { frames: self.cursor / frame, leftover: self.cursor % frame, partial }
    }
}

/// What the end of a stream found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Complete steps along axis 0.
    pub frames: u64,
    /// Elements after the last complete step.
    pub leftover: u64,
    /// Tiles that were handed on incomplete.
    pub partial: u64,
}
