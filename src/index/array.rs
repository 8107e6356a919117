//! Index arrays: tables of coordinates with one axis per dimension of a domain.
//!
//! ```text
//! domain [i: 3, x: inf]    table of shape [3, 1] = [[4], [0], [2]]     depends on i alone
//! ```
//!
//! An axis of size 1 means that the table does not depend on that dimension, whatever the dimension's size.

use super::error::{Result, invalid};
use std::sync::Arc;

/// The most entries that an index array may have: 2^24.
pub const MAX_ENTRIES: i64 = 1 << 24;

/// A row-major table of coordinates; cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IndexArray {
    shape: Vec<i64>,
    data: Arc<[i64]>,
}

impl IndexArray {
    /// A table with those axes; `data` is row-major and as long as the axes say.
    pub fn new(shape: Vec<i64>, data: Vec<i64>) -> Result<Self> {
        let entries = count(&shape)?;
        if usize::try_from(entries) != Ok(data.len()) {
            return Err(invalid(format!(
                "an index array of shape {shape:?} needs {entries} entries, not {}",
                data.len()
            )));
        }
        Ok(IndexArray { shape, data: data.into() })
    }

    /// A table filled by calling `entry` at each position in row-major order.
    pub fn from_fn(shape: Vec<i64>, mut entry: impl FnMut(&[i64]) -> Result<i64>) -> Result<Self> {
        let entries = count(&shape)?;
        let mut data = Vec::with_capacity(usize::try_from(entries).expect("counted to at most MAX_ENTRIES"));
        let mut at = vec![0; shape.len()];
        for _ in 0..entries {
            data.push(entry(&at)?);
            advance(&mut at, &shape);
        }
        Ok(IndexArray { shape, data: data.into() })
    }

    /// Size of each axis; 1 where the table does not depend on the dimension.
    pub fn shape(&self) -> &[i64] {
        &self.shape
    }

    /// The entries in row-major order.
    pub fn entries(&self) -> &[i64] {
        &self.data
    }

    /// Whether entries differ along that dimension.
    pub fn depends_on(&self, dim: usize) -> bool {
        self.shape[dim] != 1
    }

    /// The dimensions it depends on.
    pub fn dependencies(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.shape.len()).filter(|&dim| self.depends_on(dim))
    }

    /// The only entry of a table that depends on nothing.
    pub fn single(&self) -> Option<i64> {
        match *self.data {
            [entry] => Some(entry),
            _ => None,
        }
    }

    /// The entry at a position counted from 0; positions along axes of size 1 are ignored.
    pub fn get(&self, position: &[i64]) -> Option<i64> {
        let mut flat = 0;
        for (&size, &at) in self.shape.iter().zip(position) {
            let at = if size == 1 { 0 } else { at };
            if at < 0 || at >= size {
                return None;
            }
            flat = flat * size + at;
        }
        self.data.get(usize::try_from(flat).ok()?).copied()
    }

    /// The same entries under another shape with as many entries.
    pub(crate) fn reshaped(&self, shape: Vec<i64>) -> Result<Self> {
        IndexArray::new(shape, self.data.to_vec())
    }
}

/// The next position in row-major order, wrapping to the first.
pub(crate) fn advance(at: &mut [i64], shape: &[i64]) {
    for (i, &size) in at.iter_mut().zip(shape).rev() {
        *i += 1;
        if *i < size {
            return;
        }
        *i = 0;
    }
}

/// The number of entries of that shape, at most [`MAX_ENTRIES`].
fn count(shape: &[i64]) -> Result<i64> {
    let product = shape.iter().try_fold(1i64, |n, &size| n.checked_mul(size)).filter(|&n| n <= MAX_ENTRIES);
    match product {
        Some(n) if shape.iter().all(|&size| size >= 0) => Ok(n),
        Some(_) | None => {
            Err(invalid(format!("an index array of shape {shape:?} exceeds {MAX_ENTRIES} entries")))
        }
    }
}

/// The shape that all of these broadcast to, aligned at the last axis.
pub(crate) fn broadcast_shape<'a>(shapes: impl IntoIterator<Item = &'a [i64]>) -> Result<Vec<i64>> {
    let mut joint: Vec<i64> = Vec::new();
    for shape in shapes {
        let missing = shape.len().saturating_sub(joint.len());
        joint.splice(0..0, std::iter::repeat_n(1, missing));
        let start = joint.len() - shape.len();
        for (size, &other) in joint[start..].iter_mut().zip(shape) {
            if *size != other && *size != 1 && other != 1 {
                return Err(invalid(format!("index arrays of sizes {size} and {other} do not go together")));
            }
            *size = if *size == 1 { other } else { *size };
        }
    }
    Ok(joint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_of_size_one_are_ignored() {
        let table = IndexArray::new(vec![3, 1], vec![4, 0, 2]).unwrap();
        assert_eq!([table.get(&[0, 77]), table.get(&[2, -5]), table.get(&[3, 0])], [Some(4), Some(2), None]);
        assert_eq!(table.dependencies().collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn beyond_an_axis_there_is_nothing() {
        let table = IndexArray::new(vec![2, 3], (0..6).collect()).unwrap();
        assert_eq!([table.get(&[0, 2]), table.get(&[1, 0])], [Some(2), Some(3)]);
        assert_eq!([table.get(&[0, 3]), table.get(&[1, -1]), table.get(&[2, 0])], [None; 3]);
    }

    #[test]
    fn shapes_broadcast_from_the_right() {
        let check = |a: &[i64], b: &[i64], expect: Option<&[i64]>| {
            assert_eq!(broadcast_shape([a, b]).ok().as_deref(), expect);
        };
        check(&[3], &[2, 1], Some(&[2, 3]));
        check(&[], &[4], Some(&[4]));
        check(&[2], &[3], None);
        check(&[0], &[1], Some(&[0]));
    }

    #[test]
    fn sizes_are_checked() {
        assert!(IndexArray::new(vec![2, 2], vec![1]).is_err());
        assert!(IndexArray::from_fn(vec![1 << 20, 1 << 20], |_| Ok(0)).is_err());
        assert!(IndexArray::from_fn(vec![-1], |_| Ok(0)).is_err());
    }
}
