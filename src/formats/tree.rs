//! Levels -> the text of a tree, in the way of Finch's `tensor_tree`.
//!
//! ```text
//! 2×3-Tensor
//! └─ Dense [0:2,:]
//!    ├─ [0, :]: SparseList (0) [0:3]
//!    │  └─ [1]: 7
//!    └─ [1, :]: SparseList (0) [0:3]
//!       ├─ [0]: 5
//!       └─ [2]: 6
//! ```
//!
//! Of more than four children the first two and the last two are shown.

use super::float::float;
use super::levels::{Children, Stored};
use super::{Frozen, fill_bytes};
use crate::graph::types::Element;
use crate::io::scalar_at;
use std::fmt::Write;

/// How coordinates are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Convention {
    /// As in a script: outermost dimension first, half-open ranges, counted from the box's own corner.
    Coordinates(Vec<i64>),
    /// As Finch does: outermost dimension last, inclusive ranges, counted from 1.
    Finch,
}

/// Children that are shown at the beginning and at the end.
const SHOWN: usize = 2;

/// The tree of a frozen box.
pub fn tree(frozen: &Frozen, convention: &Convention) -> String {
    let mut sizes: Vec<String> = frozen.shape.iter().map(u32::to_string).collect();
    if *convention == Convention::Finch {
        sizes.reverse();
    }
    let mut printer = Printer { frozen, convention, out: format!("{}-Tensor\n", sizes.join("×")) };
    printer.node("", "└─ ", "", 0, 0);
    printer.children("   ", 0, 0);
    printer.out
}

struct Printer<'f> {
    frozen: &'f Frozen,
    convention: &'f Convention,
    out: String,
}

impl Printer<'_> {
    fn node(&mut self, prefix: &str, glyph: &str, key: &str, level: usize, position: u32) {
        let label = self.label(level, position);
        let _ = writeln!(self.out, "{prefix}{glyph}{key}{label}");
    }

    /// What lies under a position, as deep as there are levels.
    fn children(&mut self, prefix: &str, level: usize, position: u32) {
        let Some(stored) = self.frozen.levels.get(level) else { return };
        let found = listed(stored, position);
        let count = found.len();
        for (at, child) in found.into_iter().enumerate() {
            let last = at + 1 == count;
            let glyph = if last { "└─ " } else { "├─ " };
            if count > 2 * SHOWN && at == SHOWN {
                let _ = writeln!(self.out, "{prefix}├─ ⋮");
            }
            if count > 2 * SHOWN && (SHOWN..count - SHOWN).contains(&at) {
                continue;
            }
            let key = format!("{}: ", self.key(level, child));
            self.node(prefix, glyph, &key, level + 1, child.at);
            let below = format!("{prefix}{}", if last { "   " } else { "│  " });
            self.children(&below, level + 1, child.at);
        }
    }

    /// The first dimension of a level.
    fn dim(&self, level: usize) -> usize {
        self.frozen.format.levels[..level].iter().map(|level| level.dims()).sum()
    }

    fn label(&self, level: usize, position: u32) -> String {
        let Frozen { element, fill, format, .. } = self.frozen;
        let Some(stored) = self.frozen.levels.get(level) else {
            return value(*element, self.frozen.value(position));
        };
        let fill = if format.pattern { fill_bytes(format, Element::Bool) } else { fill.clone() };
        let range = self.range(self.dim(level));
        match stored {
            Stored::Dense { .. } => format!("{} {range}", name(stored)),
            Stored::List { .. }
            | Stored::Coo { .. }
            | Stored::Dict { .. }
            | Stored::ByteMap { .. }
            | Stored::Runs { .. }
            | Stored::Band { .. } => format!("{} ({}) {range}", name(stored), value(*element, &fill)),
        }
    }

    /// The range of a dimension, and that there are others inside it.
    fn range(&self, dim: usize) -> String {
        let (size, below) = (i64::from(self.frozen.shape[dim]), self.frozen.shape.len() - dim - 1);
        match self.convention {
            Convention::Finch => format!("[{}1:{size}]", ":,".repeat(below)),
            Convention::Coordinates(origin) => {
                format!("[{}:{}{}]", origin[dim], origin[dim] + size, ",:".repeat(below))
            }
        }
    }

    /// The coordinates of a child.
    fn key(&self, level: usize, child: Children) -> String {
        let dim = self.dim(level);
        let dims = self.frozen.format.levels[level].dims();
        let below = self.frozen.shape.len() - dim - dims;
        let mut parts: Vec<String> = match (&self.frozen.levels[level], self.convention) {
            (Stored::Runs { .. }, Convention::Finch) => vec![format!("{}:{}", child.lo + 1, child.hi)],
            (Stored::Runs { .. }, Convention::Coordinates(origin)) => {
                vec![format!("{}:{}", origin[dim] + child.lo as i64, origin[dim] + child.hi as i64)]
            }
            _ => self.coords(dim..dim + dims, child.lo),
        };
        parts.extend(vec![":".to_owned(); below]);
        if *self.convention == Convention::Finch {
            parts.reverse();
        }
        format!("[{}]", parts.join(", "))
    }

    fn coords(&self, dims: std::ops::Range<usize>, mut place: u64) -> Vec<String> {
        let mut coords = Vec::new();
        for dim in dims.rev() {
            let size = u64::from(self.frozen.shape[dim]).max(1);
            let first = match self.convention {
                Convention::Finch => 1,
                Convention::Coordinates(origin) => origin[dim],
            };
            coords.push((first + (place % size) as i64).to_string());
            place /= size;
        }
        coords.reverse();
        coords
    }
}

/// The children of a position one by one; a run is one.
fn listed(stored: &Stored, position: u32) -> Vec<Children> {
    let mut found = Vec::new();
    stored.children(position, |children| {
        if children.step == 0 {
            found.push(children);
            return;
        }
        let one =
            |(step, lo): (usize, u64)| Children { lo, hi: lo + 1, at: children.at + step as u32, step: 0 };
        found.extend((children.lo..children.hi).enumerate().map(one));
    });
    found
}

fn name(stored: &Stored) -> String {
    match stored {
        Stored::Dense { .. } => "Dense".to_owned(),
        Stored::List { .. } => "SparseList".to_owned(),
        Stored::Coo { sizes, .. } => format!("SparseCOO{{{}}}", sizes.len()),
        Stored::Dict { .. } => "SparseDict".to_owned(),
        Stored::ByteMap { .. } => "SparseByteMap".to_owned(),
        Stored::Runs { .. } => "RunList".to_owned(),
        Stored::Band { .. } => "SparseBand".to_owned(),
    }
}

/// A value as Julia writes it.
fn value(element: Element, bytes: &[u8]) -> String {
    let scalar = scalar_at(element, bytes);
    scalar.as_float().map_or_else(|| scalar.to_string(), |value| float(element, value))
}
