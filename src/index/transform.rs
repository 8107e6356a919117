//! Index transforms: from the coordinates of a view to the coordinates of what it is a view of.
//!
//! ```text
//! img[c, 2*y - x + 1]     [y: 4, x: 4] -> [7, 1 + 2*y - x]        an affine map per output dimension
//! img.oindex({y: [3, 1]}) [_: 2, x: inf] -> [table(_), x]         or an index array
//! ```
//!
//! A transform is a domain and one output map per dimension of the target. `compose` substitutes one into
//! another (see the `compose` module), so any chain of views is one transform, independent of sizes.

use super::array::IndexArray;
use super::domain::{Dim, Domain, rank_mismatch};
use super::error::{Result, invalid, out_of_range};
use super::interval::Interval;
use std::fmt;

/// `stride * in[dim]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Term {
    /// Position of the input dimension.
    pub dim: usize,
    /// Never 0.
    pub stride: i64,
}

/// `offset + Σ stride * in[dim]`; without terms it is a constant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Affine {
    offset: i64,
    /// Strictly ascending dimensions, no stride 0.
    terms: Vec<Term>,
}

/// `offset + stride * table[in]`, where entries outside `range` are errors when they are read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArrayMap {
    /// Added to each entry times `stride`.
    pub offset: i64,
    /// Multiplies each entry.
    pub stride: i64,
    /// One axis per input dimension.
    pub array: IndexArray,
    /// The entries that may be used.
    pub range: Interval,
}

/// How one coordinate of the target follows from the input coordinates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum OutputMap {
    /// A constant or an affine map.
    Affine(Affine),
    /// A table.
    Array(ArrayMap),
}

/// A map from every coordinate of a domain to coordinates of a target.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Transform {
    domain: Domain,
    outputs: Vec<OutputMap>,
}

impl Affine {
    /// `offset + Σ terms`: terms of one dimension are added up, those that vanish are dropped.
    pub fn new(offset: i64, terms: impl IntoIterator<Item = Term>) -> Result<Self> {
        let mut sorted: Vec<Term> = terms.into_iter().collect();
        sorted.sort_by_key(|term| term.dim);
        let mut merged: Vec<Term> = Vec::with_capacity(sorted.len());
        for term in sorted {
            match merged.last_mut() {
                Some(last) if last.dim == term.dim => last.stride = add(last.stride, term.stride)?,
                Some(_) | None => merged.push(term),
            }
        }
        merged.retain(|term| term.stride != 0);
        Ok(Affine { offset, terms: merged })
    }

    /// The same value everywhere.
    pub fn constant(offset: i64) -> Self {
        Affine { offset, terms: Vec::new() }
    }

    /// `offset + stride * in[dim]`.
    pub fn single(offset: i64, stride: i64, dim: usize) -> Self {
        let terms = if stride == 0 { Vec::new() } else { vec![Term { dim, stride }] };
        Affine { offset, terms }
    }

    /// `in[dim]`.
    pub fn dim(dim: usize) -> Self {
        Affine::single(0, 1, dim)
    }

    /// The value where every input is 0.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// The terms by ascending dimension.
    pub fn terms(&self) -> &[Term] {
        &self.terms
    }

    /// The stride along a dimension, 0 when the map does not depend on it.
    pub fn stride(&self, dim: usize) -> i64 {
        self.terms.iter().find(|term| term.dim == dim).map_or(0, |term| term.stride)
    }

    /// The value at a point.
    pub fn eval(&self, point: &[i64]) -> Result<i64> {
        self.terms.iter().try_fold(self.offset, |sum, term| add(sum, mul(term.stride, point[term.dim])?))
    }

    /// The hull of its values over a box of intervals.
    pub fn range(&self, intervals: impl Fn(usize) -> Interval) -> Result<Interval> {
        let start = Interval::point(self.offset)?;
        let step = |sum: Interval, term: &Term| sum.add(intervals(term.dim).scale(term.stride)?);
        Ok(self.terms.iter().try_fold(start, step)?)
    }

    /// This map plus `factor` times another.
    pub(crate) fn plus(&self, factor: i64, other: &Affine) -> Result<Affine> {
        let scaled = other.terms.iter().map(|t| Ok(Term { dim: t.dim, stride: mul(t.stride, factor)? }));
        let terms = self.terms.iter().copied().map(Ok).chain(scaled).collect::<Result<Vec<_>>>()?;
        Affine::new(add(self.offset, mul(other.offset, factor)?)?, terms)
    }
}

impl ArrayMap {
    /// The value at a position counted from the domain's first corner.
    pub(crate) fn eval(&self, position: &[i64]) -> Result<i64> {
        let entry =
            self.array.get(position).ok_or_else(|| out_of_range("position outside the index array"))?;
        self.value(entry)
    }

    fn value(&self, entry: i64) -> Result<i64> {
        if !self.range.contains(entry) {
            return Err(out_of_range(format!("index {entry} of an index array is outside {}", self.range)));
        }
        add(self.offset, mul(entry, self.stride)?)
    }

    /// A table with one entry is a constant.
    pub(crate) fn collapsed(self) -> Result<OutputMap> {
        match self.array.single() {
            Some(entry) => Ok(OutputMap::constant(self.value(entry)?)),
            None => Ok(OutputMap::Array(self)),
        }
    }
}

impl OutputMap {
    /// The same value everywhere.
    pub fn constant(offset: i64) -> Self {
        OutputMap::Affine(Affine::constant(offset))
    }

    /// The plain table `array`, with every entry allowed.
    pub fn table(array: IndexArray) -> Self {
        OutputMap::Array(ArrayMap { offset: 0, stride: 1, array, range: Interval::all() })
    }

    /// The affine map, if it is one.
    pub fn as_affine(&self) -> Option<&Affine> {
        match self {
            OutputMap::Affine(affine) => Some(affine),
            OutputMap::Array(_) => None,
        }
    }

    /// The input dimensions whose coordinates matter.
    pub fn dependencies(&self) -> Vec<usize> {
        match self {
            OutputMap::Affine(affine) => affine.terms.iter().map(|term| term.dim).collect(),
            OutputMap::Array(map) => map.array.dependencies().collect(),
        }
    }

    /// The value at a point of `domain`.
    pub(crate) fn eval(&self, domain: &Domain, point: &[i64]) -> Result<i64> {
        match self {
            OutputMap::Affine(affine) => affine.eval(point),
            OutputMap::Array(map) => map.eval(&relative(domain, point)?),
        }
    }
}

/// `point` counted from the first corner; 0 along dimensions without one.
fn relative(domain: &Domain, point: &[i64]) -> Result<Vec<i64>> {
    let from_first = |(dim, &x): (&Dim, &i64)| dim.interval.lower().map_or(Ok(0), |first| sub(x, first));
    domain.dims().iter().zip(point).map(from_first).collect()
}

impl Transform {
    /// A transform from its parts: terms must name dimensions of `domain`, and an index array must have one axis
    /// per dimension, of the dimension's size or of size 1; it cannot depend on implicit or unbounded dimensions.
    pub fn new(domain: Domain, outputs: Vec<OutputMap>) -> Result<Self> {
        for (i, output) in outputs.iter().enumerate() {
            match output {
                OutputMap::Affine(affine) => check_terms(affine, domain.rank()),
                OutputMap::Array(map) => check_array(&map.array, &domain),
            }
            .map_err(|e| e.context(format_args!("output dimension {i}")))?;
        }
        Ok(Transform::normal(domain, outputs))
    }

    /// A transform whose parts fit each other. Tables over an empty domain become constants.
    pub(crate) fn normal(domain: Domain, mut outputs: Vec<OutputMap>) -> Self {
        if domain.is_explicitly_empty() {
            for output in outputs.iter_mut().filter(|output| output.as_affine().is_none()) {
                *output = OutputMap::constant(0);
            }
        }
        Transform { domain, outputs }
    }

    /// Parts that fit each other, with tables kept even over an empty domain, to be substituted into something.
    pub(crate) fn unnormalised(domain: Domain, outputs: Vec<OutputMap>) -> Self {
        Transform { domain, outputs }
    }

    /// Each coordinate to itself.
    pub fn identity(domain: Domain) -> Self {
        let outputs = (0..domain.rank()).map(|dim| OutputMap::Affine(Affine::dim(dim))).collect();
        Transform { domain, outputs }
    }

    /// The coordinates it is defined on.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// One map per dimension of the target.
    pub fn outputs(&self) -> &[OutputMap] {
        &self.outputs
    }

    /// Number of input dimensions.
    pub fn rank(&self) -> usize {
        self.domain.rank()
    }

    /// Whether no output is an index array.
    pub fn is_affine(&self) -> bool {
        self.outputs.iter().all(|output| output.as_affine().is_some())
    }

    /// The target coordinates of one point; an error outside enforced bounds.
    pub fn apply(&self, point: &[i64]) -> Result<Vec<i64>> {
        if point.len() != self.rank() {
            return Err(invalid(format!("{} coordinates for {} dimensions", point.len(), self.rank())));
        }
        for (i, (dim, &x)) in self.domain.dims().iter().zip(point).enumerate() {
            if !dim.enforced().contains(x) {
                return Err(out_of_range(format!("index {x} is outside dimension {i}, `{dim}`")));
            }
        }
        self.outputs.iter().map(|output| output.eval(&self.domain, point)).collect()
    }

    /// Whether everything it reaches lies in `target`, index arrays included: what a reader asks once a chain is folded.
    ///
    /// Composition alone does not promise it: entries of an index array are checked when they are read, and those
    /// for a dimension that no output looks at never are (as in TensorStore).
    pub fn check_within(&self, target: &Domain) -> Result<()> {
        if self.outputs.len() != target.rank() {
            return Err(rank_mismatch(self.outputs.len(), target.rank()));
        }
        if self.domain.dims().iter().any(|dim| dim.interval.is_empty()) {
            return Ok(());
        }
        for (i, (output, dim)) in self.outputs.iter().zip(target.dims()).enumerate() {
            let range = self.output_range(output).map_err(|e| e.context(format_args!("dimension {i}")))?;
            if !dim.enforced().contains_interval(range) {
                return Err(out_of_range(format!("dimension {i} is read over {range}, but it is `{dim}`")));
            }
        }
        Ok(())
    }

    /// The hull of the values of one of its outputs; an error if an entry of an index array may not be used.
    fn output_range(&self, output: &OutputMap) -> Result<Interval> {
        match output {
            OutputMap::Affine(affine) => affine.range(|dim| self.domain.dims()[dim].interval),
            OutputMap::Array(map) => {
                let mut hull = Interval::trusted(0, -1);
                for &entry in map.array.entries() {
                    hull = hull.hull(Interval::point(map.value(entry)?)?);
                }
                Ok(hull)
            }
        }
    }

    /// The transform that undoes this one: needs unit strides, each input in at most one output, no tables,
    /// and an explicit single coordinate for each input that no output uses.
    pub fn inverse(&self) -> Result<Transform> {
        let mut dims = Vec::with_capacity(self.outputs.len());
        let mut maps: Vec<Option<Affine>> = vec![None; self.rank()];
        for (i, output) in self.outputs.iter().enumerate() {
            dims.push(self.inverted_dim(i, output, &mut maps)?);
        }
        let unmapped = |(at, map): (usize, Option<Affine>)| match map {
            Some(map) => Ok(OutputMap::Affine(map)),
            None => self.only_coordinate(at),
        };
        let outputs = maps.into_iter().enumerate().map(unmapped).collect::<Result<_>>()?;
        Ok(Transform::normal(Domain::new(dims)?, outputs))
    }

    /// The dimension of the inverse that output `i` becomes; records the map back.
    fn inverted_dim(&self, i: usize, output: &OutputMap, maps: &mut [Option<Affine>]) -> Result<Dim> {
        let refuse = |why: String| invalid(format!("output dimension {i} cannot be inverted: {why}"));
        let affine = output.as_affine().ok_or_else(|| refuse("it is an index array".to_owned()))?;
        let &[Term { dim, stride }] = affine.terms() else {
            if affine.terms().is_empty() {
                return Ok(Dim::explicit(Interval::point(affine.offset)?));
            }
            return Err(refuse(format!("it depends on {} dimensions", affine.terms().len())));
        };
        if stride.unsigned_abs() != 1 {
            return Err(refuse(format!("its stride is {stride}, not 1 or -1")));
        }
        if maps[dim].is_some() {
            return Err(refuse(format!("dimension {dim} is used by another output too")));
        }
        maps[dim] = Some(Affine::single(mul(affine.offset, -stride)?, stride, i));
        let input = &self.domain.dims()[dim];
        let dim = input.with_interval(input.interval.image(affine.offset, stride)?);
        Ok(if stride < 0 { swap_implicit(dim) } else { dim })
    }

    /// The constant that an unused input of the inverse must be.
    fn only_coordinate(&self, at: usize) -> Result<OutputMap> {
        let dim = &self.domain.dims()[at];
        match dim.interval.single() {
            Some(x) if !dim.implicit_lower && !dim.implicit_upper => Ok(OutputMap::constant(x)),
            Some(_) | None => Err(invalid(format!(
                "dimension {at}, `{dim}`, is not used by any output, so it cannot be inverted"
            ))),
        }
    }
}

/// Lower and upper trade places, as they do under a negative stride.
pub(crate) fn swap_implicit(dim: Dim) -> Dim {
    Dim { implicit_lower: dim.implicit_upper, implicit_upper: dim.implicit_lower, ..dim }
}

fn check_terms(affine: &Affine, rank: usize) -> Result<()> {
    match affine.terms.iter().find(|term| term.dim >= rank) {
        Some(term) => Err(invalid(format!("input dimension {} does not exist, there are {rank}", term.dim))),
        None => Ok(()),
    }
}

fn check_array(array: &IndexArray, domain: &Domain) -> Result<()> {
    if array.shape().len() != domain.rank() {
        let (axes, rank) = (array.shape().len(), domain.rank());
        return Err(invalid(format!("an index array has {axes} axes, but the domain has {rank} dimensions")));
    }
    for dim in array.dependencies() {
        let (size, bounds) = (array.shape()[dim], &domain.dims()[dim]);
        if bounds.interval.len() != Some(size) {
            return Err(invalid(format!(
                "an index array has size {size} along dimension {dim}, which is `{bounds}`"
            )));
        }
        if bounds.implicit_lower || bounds.implicit_upper {
            return Err(invalid(format!(
                "an index array depends on dimension {dim}, `{bounds}`, whose bounds are implicit"
            )));
        }
    }
    Ok(())
}

/// `a + b`, or the error that says they do not fit 64 bits.
pub(crate) fn add(a: i64, b: i64) -> Result<i64> {
    a.checked_add(b).ok_or_else(|| invalid(format!("{a} + {b} overflows")))
}

pub(crate) fn sub(a: i64, b: i64) -> Result<i64> {
    a.checked_sub(b).ok_or_else(|| invalid(format!("{a} - {b} overflows")))
}

pub(crate) fn mul(a: i64, b: i64) -> Result<i64> {
    a.checked_mul(b).ok_or_else(|| invalid(format!("{a} * {b} overflows")))
}

impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> [", self.domain)?;
        for (i, output) in self.outputs.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            match output {
                OutputMap::Affine(affine) => write_affine(f, &self.domain, affine)?,
                OutputMap::Array(map) => write_array(f, &self.domain, map)?,
            }
        }
        f.write_str("]")
    }
}

/// `y`, or `#1` for a dimension without a label.
fn dim_name(domain: &Domain, dim: usize) -> String {
    match domain.dims()[dim].label.as_str() {
        "" => format!("#{dim}"),
        label => label.to_owned(),
    }
}

fn write_affine(f: &mut fmt::Formatter<'_>, domain: &Domain, affine: &Affine) -> fmt::Result {
    let mut empty = affine.offset == 0 && !affine.terms.is_empty();
    if !empty {
        write!(f, "{}", affine.offset)?;
    }
    for term in &affine.terms {
        let sign = match (empty, term.stride < 0) {
            (true, false) => "",
            (true, true) => "-",
            (false, false) => " + ",
            (false, true) => " - ",
        };
        let factor = term.stride.unsigned_abs();
        let times = if factor == 1 { String::new() } else { format!("{factor}*") };
        write!(f, "{sign}{times}{}", dim_name(domain, term.dim))?;
        empty = false;
    }
    Ok(())
}

fn write_array(f: &mut fmt::Formatter<'_>, domain: &Domain, map: &ArrayMap) -> fmt::Result {
    let names: Vec<String> = map.array.dependencies().map(|dim| dim_name(domain, dim)).collect();
    if map.offset != 0 {
        write!(f, "{} + ", map.offset)?;
    }
    if map.stride != 1 {
        write!(f, "{}*", map.stride)?;
    }
    write!(f, "table({})", names.join(", "))
}

impl fmt::Debug for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::super::json::transform_from_json;
    use super::*;
    use serde_json::json;

    #[test]
    fn inverses_need_unit_strides() {
        let check = |input: serde_json::Value, expect: &str| {
            let inverse = transform_from_json(&input).unwrap().inverse();
            assert_eq!(inverse.map_or_else(|e| e.message, |t| t.to_string()), expect);
        };
        let dims = |outputs: serde_json::Value| json!({"input_shape": [3, [4]], "input_labels": ["y", "x"], "output": outputs});
        check(
            dims(json!([{"input_dimension": 1, "stride": -1, "offset": 5}, {"input_dimension": 0}])),
            "[x: 2*..6, y: 3] -> [y, 5 - x]",
        );
        check(
            dims(json!([{"input_dimension": 1}, {"input_dimension": 0, "stride": 2}])),
            "output dimension 1 cannot be inverted: its stride is 2, not 1 or -1",
        );
        check(
            dims(json!([{"input_dimension": 1}])),
            "dimension 0, `y: 3`, is not used by any output, so it cannot be inverted",
        );
    }

    #[test]
    fn points_outside_enforced_bounds_are_errors() {
        let t =
            transform_from_json(&json!({"input_inclusive_min": [[0]], "input_exclusive_max": [4]})).unwrap();
        assert_eq!(t.apply(&[-7]).unwrap(), [-7]);
        assert_eq!(t.apply(&[4]).unwrap_err().message, "index 4 is outside dimension 0, `_: 0*..4`");
        assert_eq!(t.apply(&[]).unwrap_err().message, "0 coordinates for 1 dimensions");
    }

    #[test]
    fn everything_that_is_reached_can_be_checked() {
        let target = Domain::of_shape(&[6]).unwrap();
        let check = |output: serde_json::Value, expect: &str| {
            let t = transform_from_json(&json!({"input_shape": [3], "output": [output]})).unwrap();
            assert_eq!(t.check_within(&target).map_or_else(|e| e.message, |()| "fine".to_owned()), expect);
        };
        check(json!({"input_dimension": 0, "stride": -2, "offset": 4}), "fine");
        check(json!({"input_dimension": 0, "stride": 3}), "dimension 0 is read over 0..7, but it is `_: 6`");
        check(json!({"index_array": [5, 0, 6]}), "dimension 0 is read over 0..7, but it is `_: 6`");
        let forbidden = "dimension 0: index 5 of an index array is outside 0..5";
        check(json!({"index_array": [5, 0, 1], "index_array_bounds": [0, 4]}), forbidden);
    }

    #[test]
    fn terms_of_one_dimension_add_up() {
        let terms = [(1, 2), (0, 3), (1, -2)].map(|(dim, stride)| Term { dim, stride });
        assert_eq!(Affine::new(7, terms).unwrap(), Affine::single(7, 3, 0));
        assert!(Affine::new(0, [Term { dim: 0, stride: i64::MAX }, Term { dim: 0, stride: 1 }]).is_err());
    }
}
