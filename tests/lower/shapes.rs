//! How a buffer may lie in memory.

use itp::index::Interval;
use itp::loops::lower::{BufferBox, BufferDim};

/// A way to lay out a box.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Dense,
    /// Gaps between rows, and room around the box.
    Loose,
    /// Rings of rows in every dimension but the last.
    Ring,
}

pub(crate) const SHAPES: [Shape; 3] = [Shape::Dense, Shape::Loose, Shape::Ring];

/// A buffer for a box, and how many elements it has.
pub(crate) fn shaped(shape: Shape, region: &[Interval]) -> (BufferBox, i64) {
    let mut pitch = 1;
    let mut dims = Vec::new();
    for (at, range) in region.iter().enumerate().rev() {
        let (lo, end) = (range.first(), range.last() + 1);
        let is_last = at + 1 == region.len();
        let (origin, end, mask, length) = match shape {
            Shape::Loose => (lo - 2, end + 1, -1, end + 2 - (lo - 2)),
            Shape::Ring if !is_last => {
                let rows = (end - lo).unsigned_abs().next_power_of_two() as i64;
                (lo - 3, end, rows - 1, rows)
            }
            Shape::Dense | Shape::Ring => (lo, end, -1, end - lo),
        };
        dims.push(BufferDim { origin, end, mask, pitch });
        pitch *= length;
    }
    dims.reverse();
    (BufferBox { dims }, pitch)
}
