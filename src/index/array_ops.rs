//! Indexing with lists of coordinates.
//!
//! ```text
//! a.oindex({y: [3, 1], x: [0, 5, 2]})   every y with every x: a domain of 2 by 3
//! a.vindex({y: [3, 1], x: [0, 5]})      pairs: (3, 0) and (1, 5), one new dimension in front
//! ```

use super::array::{IndexArray, broadcast_shape};
use super::domain::{Dim, DimRef, Domain};
use super::error::{Result, invalid};
use super::interval::Interval;
use super::transform::{Affine, OutputMap, Transform};

impl Transform {
    /// Outer indexing: each selected dimension is replaced by the axes of its table.
    pub fn oindex(&self, dims: &[DimRef], arrays: &[IndexArray]) -> Result<Transform> {
        let tables = self.tables(dims, arrays)?;
        let mut new: Vec<Dim> = Vec::new();
        let mut starts = Vec::with_capacity(self.rank());
        for (dim, table) in self.domain().dims().iter().zip(&tables) {
            starts.push(new.len());
            match table {
                Some(table) => new.extend(axes(table.shape())?),
                None => new.push(dim.clone()),
            }
        }
        let rank = new.len();
        let output = |(&start, table): (&usize, &Option<&IndexArray>)| match table {
            Some(table) => place(table, start, rank),
            None => Ok(OutputMap::Affine(Affine::dim(start))),
        };
        let outputs = starts.iter().zip(&tables).map(output).collect::<Result<_>>()?;
        self.compose(&Transform::normal(Domain::new(new)?, outputs))
    }

    /// Joint indexing: the tables broadcast together, and their axes come first.
    pub fn vindex(&self, dims: &[DimRef], arrays: &[IndexArray]) -> Result<Transform> {
        let tables = self.tables(dims, arrays)?;
        let joint = broadcast_shape(arrays.iter().map(IndexArray::shape))?;
        let mut new = axes(&joint)?;
        let mut outputs = Vec::with_capacity(self.rank());
        let rank = joint.len() + tables.iter().filter(|table| table.is_none()).count();
        for (dim, table) in self.domain().dims().iter().zip(&tables) {
            match table {
                Some(table) => outputs.push(place(table, joint.len() - table.shape().len(), rank)?),
                None => {
                    outputs.push(OutputMap::Affine(Affine::dim(new.len())));
                    new.push(dim.clone());
                }
            }
        }
        self.compose(&Transform::normal(Domain::new(new)?, outputs))
    }

    /// The table of each dimension, or `None` for the dimensions left alone.
    fn tables<'a>(&self, dims: &[DimRef], arrays: &'a [IndexArray]) -> Result<Vec<Option<&'a IndexArray>>> {
        let selected = self.domain().select(dims)?;
        if selected.len() != arrays.len() {
            return Err(invalid(format!("{} index arrays for {} dimensions", arrays.len(), selected.len())));
        }
        let mut tables = vec![None; self.rank()];
        for (&at, array) in selected.iter().zip(arrays) {
            tables[at] = Some(array);
        }
        Ok(tables)
    }
}

/// New dimensions `0..n` without labels.
fn axes(shape: &[i64]) -> Result<Vec<Dim>> {
    shape.iter().map(|&size| Ok(Dim::explicit(Interval::sized(0, size)?))).collect()
}

/// The table as an output map over `rank` dimensions, its axes at `start`.
fn place(table: &IndexArray, start: usize, rank: usize) -> Result<OutputMap> {
    let mut shape = vec![1; rank];
    shape[start..start + table.shape().len()].copy_from_slice(table.shape());
    Ok(OutputMap::table(table.reshaped(shape)?))
}

#[cfg(test)]
mod tests {
    use super::super::json::transform_from_json;
    use super::*;
    use serde_json::json;

    fn base() -> Transform {
        transform_from_json(&json!({"input_shape": [4, 6], "input_labels": ["y", "x"]})).unwrap()
    }

    fn list(data: &[i64]) -> IndexArray {
        IndexArray::new(vec![i64::try_from(data.len()).unwrap()], data.to_vec()).unwrap()
    }

    fn y_and_x() -> [DimRef; 2] {
        [DimRef::Position(0), DimRef::Label("x".to_owned())]
    }

    #[test]
    fn outer_indexing_takes_every_pair() {
        let t = base().oindex(&y_and_x(), &[list(&[3, 1]), list(&[0, 5, 2])]).unwrap();
        assert_eq!(t.to_string(), "[_: 2, _: 3] -> [table(#0), table(#1)]");
        assert_eq!(t.apply(&[1, 2]).unwrap(), [1, 2]);
    }

    #[test]
    fn joint_indexing_takes_them_in_step() {
        let t = base().vindex(&y_and_x(), &[list(&[3, 1]), list(&[0, 5])]).unwrap();
        assert_eq!([t.apply(&[0]).unwrap(), t.apply(&[1]).unwrap()], [[3, 0], [1, 5]]);
        let error = base().vindex(&y_and_x(), &[list(&[3, 1]), list(&[0, 5, 2])]).unwrap_err();
        assert_eq!(error.message, "index arrays of sizes 2 and 3 do not go together");
    }

    #[test]
    fn entries_are_checked_when_they_are_read() {
        let t = base().oindex(&y_and_x()[..1], &[list(&[0, 9])]).unwrap();
        assert_eq!(t.apply(&[0, 5]).unwrap(), [0, 5]);
        assert_eq!(t.apply(&[1, 5]).unwrap_err().message, "index 9 of an index array is outside 0..4");
    }
}
