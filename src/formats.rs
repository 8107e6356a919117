//! Boxes of elements in formats: what a complete tile is frozen into, and what readers walk.
//!
//! ```text
//! format dense(sparse_list(element(0)))
//!
//! 0 7 0        dense          2 rows
//! 5 0 6   ->   sparse_list    ptr 0 1 3, idx 1 0 2
//!              element        7 5 6
//! ```
//!
//! The life of a tile: its elements are assembled as [`Entries`], in row-major order; [`freeze`] turns them into levels
//! when they are complete; [`Frozen::thaw`] makes a dense box of them again, for `set` and for readers that cannot skip.
//! What is equal to the fill bit by bit is not an entry, so -0.0 and NaN are, beside a fill of 0.0. A level numbers the
//! *positions* of the level below: children of position 0 first, then those of position 1.
//!
//! - [`entries`]: elements that are not the fill, as a sorted list;
//! - [`levels`]: the arrays of every kind of level, and the children of a position;
//! - [`freeze`](mod@freeze): entries -> levels;
//! - [`walk`]: levels -> stretches of rows, in order;
//! - [`rows`]: boxes in any format -> rows in one form, for kernels;
//! - [`mod@tree`]: levels -> text; `float`: the text of a float in it.

pub mod entries;
mod float;
pub mod freeze;
pub mod levels;
pub mod rows;
pub mod tree;
pub mod walk;

pub use entries::Entries;
pub use freeze::freeze;
pub use levels::Stored;
pub use rows::Rows;
pub use tree::{Convention, tree};
pub use walk::Span;

use crate::graph::Format;
use crate::graph::types::Element;

/// A box of elements, stored in a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frozen {
    /// Its levels, as written.
    pub format: Format,
    /// What an element is.
    pub element: Element,
    /// Coordinates along every dimension.
    pub shape: Vec<u32>,
    /// The arrays of every level, outermost first.
    pub levels: Vec<Stored>,
    /// The value of every position of the innermost level; nothing where being stored says it.
    pub values: Vec<u8>,
    /// The value that is not stored, as bytes.
    pub fill: Vec<u8>,
    /// Elements that are not the fill.
    pub stored: u64,
}

/// A box has more positions than its arrays can number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

impl Frozen {
    /// Bytes of its arrays; nothing is stored of a box that holds the fill alone.
    pub fn bytes(&self) -> u64 {
        if self.stored == 0 {
            return 0;
        }
        self.levels.iter().map(Stored::bytes).sum::<u64>() + self.values.len() as u64
    }

    /// Bytes that its elements have when they are dense.
    pub fn dense_bytes(&self) -> u64 {
        let elements = self.shape.iter().map(|size| u64::from(*size)).fold(1, u64::saturating_mul);
        elements.saturating_mul(self.element.bytes())
    }

    /// The value at a position of the innermost level.
    pub fn value(&self, position: u32) -> &[u8] {
        let width = self.element.bytes() as usize;
        if self.values.is_empty() { &[1] } else { &self.values[position as usize * width..][..width] }
    }

    /// The same elements in another format, which has the same fill.
    pub fn convert(&self, format: &Format) -> Result<Frozen, TooLarge> {
        freeze(&self.entries(), format, self.element)
    }
}

/// The bytes of a format's fill in a tensor of that type.
pub fn fill_bytes(format: &Format, element: Element) -> Vec<u8> {
    let mut bytes = Vec::new();
    crate::io::store_scalar(element, format.fill, &mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Level;
    use crate::graph::scalar::Scalar;

    fn frozen(levels: &[Level], shape: &[u32], values: &[f32]) -> Frozen {
        let format = Format { levels: levels.to_vec(), fill: Scalar::f32(0.0), pattern: false };
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        let entries = Entries::of_dense(shape, &fill_bytes(&format, Element::F32), &data);
        let frozen = freeze(&entries, &format, Element::F32).unwrap();
        assert_eq!(frozen.thaw().unwrap(), data, "{format}");
        frozen
    }

    #[test]
    fn only_the_fill_is_left_out() {
        let found = frozen(&[Level::SparseList], &[5], &[0.0, -0.0, f32::NAN, 1.0, 0.0]);
        assert_eq!(found.levels, [Stored::List { size: 5, ptr: vec![0, 3], idx: vec![1, 2, 3] }]);
        assert_eq!((found.stored, found.bytes()), (3, 5 * 4 + 3 * 4));
    }

    #[test]
    fn a_box_of_fill_takes_nothing() {
        for level in
            [Level::Dense, Level::SparseList, Level::SparseBytemap, Level::RunList, Level::SparseBand]
        {
            assert_eq!(frozen(&[Level::Dense, level], &[2, 3], &[0.0; 6]).bytes(), 0, "{level:?}");
        }
    }

    #[test]
    fn rows_go_along_any_dimension() {
        use crate::index::Interval;
        use rows::{Kind, Part};
        let values = [0.0, 7.0, 0.0, 5.0, 0.0, 6.0, 0.0, 0.0, 8.0];
        let region = [Interval::trusted(10, 12), Interval::trusted(-1, 1)];
        for levels in [[Level::Dense, Level::SparseList], [Level::SparseList, Level::RunList]] {
            let frozen = frozen(&levels, &[3, 3], &values);
            let part = [Part { frozen: &frozen, region: &region }];
            let listed = |along| {
                let rows = Rows::gather(&region, along, Kind::Entries, &part);
                let values: Vec<f32> =
                    rows.values.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)).collect();
                (rows.ptr.to_vec(), rows.lo.to_vec(), values)
            };
            assert_eq!(
                listed(1),
                (vec![0, 1, 3, 4], vec![1, 0, 2, 2], vec![7.0, 5.0, 6.0, 8.0]),
                "{levels:?}"
            );
            assert_eq!(
                listed(0),
                (vec![0, 1, 2, 4], vec![1, 0, 1, 2], vec![5.0, 7.0, 6.0, 8.0]),
                "{levels:?}"
            );
        }
    }

    #[test]
    fn a_walk_can_keep_to_some_rows() {
        let values = [0.0, 7.0, 0.0, 5.0, 0.0, 6.0, 0.0, 0.0, 8.0];
        for levels in [[Level::Dense, Level::SparseList], [Level::SparseList, Level::RunList]] {
            let mut found = Vec::new();
            frozen(&levels, &[3, 3], &values)
                .walk_within(1..2, |row, span| found.push((row, span.lo, span.hi)));
            assert_eq!(found, [(1, 0, 1), (1, 2, 3)], "{levels:?}");
        }
    }
}
