//! numpy-style indexing, which the language does not have, translated into one composition.
//!
//! Terms are read from left to right. Integers fix a dimension, slices keep it, `newaxis` adds one, arrays replace theirs:
//! each on its own (`oindex`), or all together in front (`vindex`), or where the first stood if they are neighbours (`default`).

use crate::indexspace::integer;
use itp::index::array::IndexArray;
use itp::index::json::array_from_json;
use itp::index::ops::{Slice, slice_dim};
use itp::index::{Affine, Dim, Domain, IndexError, IndexErrorKind, Interval, OutputMap, Transform};
use serde_json::Value;

/// One output map, to be finished once the number of new dimensions is known.
enum Pending {
    Map(Affine),
    /// A table whose axes start at this new dimension; joint tables count from the joint axes' end.
    Table(IndexArray, usize),
}

struct Builder<'a> {
    old: &'a [Dim],
    dims: Vec<Dim>,
    maps: Vec<Pending>,
    /// Where the joint axes start and what shape they have.
    joint: Option<(usize, Vec<i64>)>,
}

pub(crate) fn apply(transform: &Transform, op: &Value) -> Result<Transform, IndexError> {
    let mode = op["mode"].as_str().unwrap();
    let terms = op["terms"].as_array().unwrap();
    let arrays = terms.iter().map(tables).collect::<Result<Vec<_>, _>>()?;
    let used: usize = terms.iter().zip(&arrays).map(|(term, tables)| consumed(term, tables)).sum();
    let rank = transform.rank();
    if used > rank || terms.iter().filter(|term| *term == "...").count() > 1 {
        return Err(invalid(format!("{used} terms for {rank} dimensions")));
    }
    let shape = if mode == "oindex" { Vec::new() } else { joint_shape(&arrays)? };
    let mut builder =
        Builder { old: transform.domain().dims(), dims: Vec::new(), maps: Vec::new(), joint: None };
    if mode == "vindex" || (mode == "default" && !neighbours(terms, &arrays)) {
        builder.add_joint(&shape)?;
    }
    for (term, tables) in terms.iter().zip(arrays) {
        builder.term(term, tables, mode, &shape, rank - used)?;
    }
    while builder.maps.len() < rank {
        builder.keep();
    }
    let rank = builder.dims.len();
    let joint_end = builder.joint.as_ref().map_or(0, |(start, shape)| start + shape.len());
    let finish = |pending| finish(pending, rank, joint_end, mode);
    let outputs = builder.maps.into_iter().map(finish).collect::<Result<_, _>>()?;
    transform.compose(&Transform::new(Domain::new(builder.dims)?, outputs)?)
}

fn invalid(message: String) -> IndexError {
    IndexError { kind: IndexErrorKind::InvalidArgument, message }
}

/// The tables of an array term: one, or one per axis of a boolean array; none for other terms.
fn tables(term: &Value) -> Result<Vec<IndexArray>, IndexError> {
    if let Some(array) = term.get("array") {
        return Ok(vec![array_from_json(array)?]);
    }
    let Some(mask) = term.get("bool") else { return Ok(Vec::new()) };
    let mut hits = Vec::new();
    let depth = collect_true(mask, &mut Vec::new(), &mut hits);
    let along = |axis: usize| {
        let data: Vec<i64> = hits.iter().map(|hit: &Vec<i64>| hit[axis]).collect();
        IndexArray::new(vec![i64::try_from(data.len()).unwrap()], data)
    };
    (0..depth).map(along).collect()
}

/// Collects the positions of `true`; gives the number of axes.
fn collect_true(mask: &Value, at: &mut Vec<i64>, hits: &mut Vec<Vec<i64>>) -> usize {
    let Some(list) = mask.as_array() else {
        if mask == true {
            hits.push(at.clone());
        }
        return 0;
    };
    let mut depth = 0;
    for (i, inner) in list.iter().enumerate() {
        at.push(i64::try_from(i).unwrap());
        depth = collect_true(inner, at, hits);
        at.pop();
    }
    depth + 1
}

/// How many old dimensions a term takes.
fn consumed(term: &Value, tables: &[IndexArray]) -> usize {
    match term.as_str() {
        Some("newaxis" | "...") => 0,
        Some(_) | None => tables.len().max(1),
    }
}

fn joint_shape(arrays: &[Vec<IndexArray>]) -> Result<Vec<i64>, IndexError> {
    let mut joint: Vec<i64> = Vec::new();
    for shape in arrays.iter().filter_map(|tables| tables.first()).map(IndexArray::shape) {
        while joint.len() < shape.len() {
            joint.insert(0, 1);
        }
        let start = joint.len() - shape.len();
        for (size, &other) in joint[start..].iter_mut().zip(shape) {
            if *size != 1 && other != 1 && *size != other {
                return Err(invalid(format!("index arrays of sizes {size} and {other} do not go together")));
            }
            *size = if *size == 1 { other } else { *size };
        }
    }
    Ok(joint)
}

/// Whether no slice, ellipsis or new axis stands between two arrays.
fn neighbours(terms: &[Value], arrays: &[Vec<IndexArray>]) -> bool {
    let is_array: Vec<bool> = arrays.iter().map(|tables| !tables.is_empty()).collect();
    let first = is_array.iter().position(|&a| a);
    let last = is_array.iter().rposition(|&a| a);
    let (Some(first), Some(last)) = (first, last) else { return true };
    (first..last).all(|i| is_array[i] || terms[i].is_i64())
}

impl Builder<'_> {
    fn term(
        &mut self,
        term: &Value,
        tables: Vec<IndexArray>,
        mode: &str,
        shape: &[i64],
        spare: usize,
    ) -> Result<(), IndexError> {
        if term == "newaxis" {
            self.dims.push(Dim::added());
        } else if term == "..." {
            (0..spare).for_each(|_| self.keep());
        } else if let Some(index) = integer(term).filter(|_| term.is_i64()) {
            self.maps.push(Pending::Map(Affine::constant(index)));
        } else if let Some(bounds) = term.get("slice") {
            self.slice(bounds)?;
        } else if mode == "oindex" {
            let start = self.dims.len();
            self.add_axes(tables[0].shape())?;
            self.maps.extend(tables.into_iter().map(|table| Pending::Table(table, start)));
        } else {
            if self.joint.is_none() {
                self.add_joint(shape)?;
            }
            self.maps.extend(tables.into_iter().map(|table| Pending::Table(table, 0)));
        }
        Ok(())
    }

    fn keep(&mut self) {
        self.maps.push(Pending::Map(Affine::dim(self.dims.len())));
        self.dims.push(self.old[self.maps.len() - 1].clone());
    }

    fn slice(&mut self, bounds: &Value) -> Result<(), IndexError> {
        let at = |i: usize| integer(&bounds[i]);
        let slice = Slice { start: at(0), stop: at(1), step: at(2) };
        let (dim, map) = slice_dim(&self.old[self.maps.len()], slice, self.dims.len())?;
        self.dims.push(dim);
        self.maps.push(Pending::Map(map));
        Ok(())
    }

    fn add_joint(&mut self, shape: &[i64]) -> Result<(), IndexError> {
        self.joint = Some((self.dims.len(), shape.to_vec()));
        self.add_axes(shape)
    }

    fn add_axes(&mut self, shape: &[i64]) -> Result<(), IndexError> {
        for &size in shape {
            self.dims.push(Dim::explicit(Interval::sized(0, size)?));
        }
        Ok(())
    }
}

fn finish(pending: Pending, rank: usize, joint_end: usize, mode: &str) -> Result<OutputMap, IndexError> {
    match pending {
        Pending::Map(affine) => Ok(OutputMap::Affine(affine)),
        Pending::Table(table, start) => {
            let axes = table.shape().len();
            let start = if mode == "oindex" { start } else { joint_end - axes };
            let mut shape = vec![1; rank];
            shape[start..start + axes].copy_from_slice(table.shape());
            Ok(OutputMap::table(IndexArray::new(shape, table.entries().to_vec())?))
        }
    }
}
