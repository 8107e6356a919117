//! The arrays of a level, and the children of a position in it.
//!
//! ```text
//! sparse_list   ptr 0 1 3, idx 1 0 2     position 1 has the children 1 and 2, at the coordinates 0 and 2
//! ```
//!
//! `ptr` is half open, `right` and `last` are inclusive, everything counts from 0.

/// How one level is stored; sizes are those of its dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    /// Every coordinate of every position.
    Dense {
        /// Coordinates.
        size: u32,
    },
    /// Sorted coordinates.
    List {
        /// Coordinates.
        size: u32,
        /// Where the children of a position begin; one more than there are positions.
        ptr: Vec<u32>,
        /// The coordinate of every child.
        idx: Vec<u32>,
    },
    /// Sorted tuples of coordinates.
    Coo {
        /// Coordinates of each of its dimensions.
        sizes: Vec<u32>,
        /// Where the children of a position begin.
        ptr: Vec<u32>,
        /// For each dimension the coordinate of every child.
        tbl: Vec<Vec<u32>>,
    },
    /// Coordinates that say where their child is.
    Dict {
        /// Coordinates.
        size: u32,
        /// Where the coordinates of a position begin.
        ptr: Vec<u32>,
        /// Coordinates, sorted when frozen.
        idx: Vec<u32>,
        /// The child of each.
        val: Vec<u32>,
    },
    /// A byte per coordinate, and a child for each.
    ByteMap {
        /// Coordinates.
        size: u32,
        /// Where the pairs of a position begin in `srt`.
        ptr: Vec<u32>,
        /// Whether a coordinate is stored.
        tbl: Vec<bool>,
        /// Position and coordinate of what is stored.
        srt: Vec<(u32, u32)>,
    },
    /// Runs of coordinates that have the same child.
    Runs {
        /// Coordinates.
        size: u32,
        /// Where the runs of a position begin.
        ptr: Vec<u32>,
        /// The last coordinate of every run.
        right: Vec<u32>,
    },
    /// One stretch of coordinates.
    Band {
        /// Coordinates.
        size: u32,
        /// The last coordinate of every position, 0 if it has none.
        last: Vec<u32>,
        /// Where the children of a position begin.
        ofs: Vec<u32>,
    },
}

/// Children of a position: those at coordinates `lo..hi`, numbered from `at` in steps of `step` (0: all the same).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Children {
    /// The first coordinate; of a level with several dimensions, their row-major place.
    pub lo: u64,
    /// One past the last.
    pub hi: u64,
    /// The position of the first.
    pub at: u32,
    /// 0 or 1.
    pub step: u32,
}

impl Stored {
    /// How many coordinates a position can have.
    pub fn size(&self) -> u64 {
        match self {
            Stored::Dense { size }
            | Stored::List { size, .. }
            | Stored::Dict { size, .. }
            | Stored::ByteMap { size, .. }
            | Stored::Runs { size, .. }
            | Stored::Band { size, .. } => u64::from(*size),
            Stored::Coo { sizes, .. } => sizes.iter().map(|size| u64::from(*size)).product(),
        }
    }

    /// Bytes of its arrays.
    pub fn bytes(&self) -> u64 {
        let words = match self {
            Stored::Dense { .. } => 0,
            Stored::List { ptr, idx, .. } => ptr.len() + idx.len(),
            Stored::Coo { ptr, tbl, .. } => ptr.len() + tbl.iter().map(Vec::len).sum::<usize>(),
            Stored::Dict { ptr, idx, val, .. } => ptr.len() + idx.len() + val.len(),
            Stored::ByteMap { ptr, tbl, srt, .. } => {
                return (4 * ptr.len() + tbl.len() + 8 * srt.len()) as u64;
            }
            Stored::Runs { ptr, right, .. } => ptr.len() + right.len(),
            Stored::Band { last, ofs, .. } => last.len() + ofs.len(),
        };
        4 * words as u64
    }

    /// Whether every position of the level below holds something that is stored.
    pub fn holds_entries_only(&self) -> bool {
        match self {
            Stored::List { .. } | Stored::Coo { .. } | Stored::Dict { .. } => true,
            Stored::Dense { .. } | Stored::ByteMap { .. } | Stored::Runs { .. } | Stored::Band { .. } => {
                false
            }
        }
    }

    /// Visits the children of a position in order.
    pub fn children(&self, position: u32, mut visit: impl FnMut(Children)) {
        let p = position as usize;
        let mut one = |at: u64, child: u32| visit(Children { lo: at, hi: at + 1, at: child, step: 0 });
        match self {
            Stored::Dense { size } => {
                visit(Children { lo: 0, hi: u64::from(*size), at: position * size, step: 1 });
            }
            Stored::List { ptr, idx, .. } => {
                (ptr[p]..ptr[p + 1]).for_each(|child| one(u64::from(idx[child as usize]), child));
            }
            Stored::Dict { ptr, idx, val, .. } => {
                let entries = ptr[p] as usize..ptr[p + 1] as usize;
                entries.for_each(|entry| one(u64::from(idx[entry]), val[entry]));
            }
            Stored::Coo { sizes, ptr, tbl } => {
                let place = |child: usize| {
                    let coords = sizes.iter().zip(tbl);
                    coords.fold(0, |place, (size, tbl)| place * u64::from(*size) + u64::from(tbl[child]))
                };
                (ptr[p]..ptr[p + 1]).for_each(|child| one(place(child as usize), child));
            }
            Stored::ByteMap { size, ptr, srt, .. } => {
                let entries = &srt[ptr[p] as usize..ptr[p + 1] as usize];
                entries.iter().for_each(|(_, x)| one(u64::from(*x), position * size + x));
            }
            Stored::Runs { ptr, right, .. } => {
                let mut lo = 0;
                for run in ptr[p]..ptr[p + 1] {
                    let hi = u64::from(right[run as usize]) + 1;
                    visit(Children { lo, hi, at: run, step: 0 });
                    lo = hi;
                }
            }
            Stored::Band { last, ofs, .. } => {
                let (count, hi) = (u64::from(ofs[p + 1] - ofs[p]), u64::from(last[p]) + 1);
                if count > 0 {
                    visit(Children { lo: hi - count, hi, at: ofs[p], step: 1 });
                }
            }
        }
    }
}
