//! Composition: reads through a view of a view become reads through one view.
//!
//! ```text
//! outer  [a: 0..10] -> [3 + 2*a]     inner  [x: -inf*..inf*] -> [x - 4]
//! outer.compose(inner)  =  [x: 4..14] -> [-5 + 2*x]
//! ```
//!
//! Bounds travel from the outer domain to the inner inputs first: an explicit inner bound must respect them,
//! an implicit one takes them over. Then the inner maps are substituted into the outer ones.

use super::array::IndexArray;
use super::domain::{Dim, Domain};
use super::error::{Result, invalid, out_of_range};
use super::interval::Interval;
use super::transform::{Affine, ArrayMap, OutputMap, Term, Transform, add, mul, sub, swap_implicit};

impl Transform {
    /// `x -> self(inner(x))`.
    ///
    /// It is out of range when `inner` can reach a coordinate outside the enforced bounds of `self`;
    /// entries of index arrays are checked when they are read.
    pub fn compose(&self, inner: &Transform) -> Result<Transform> {
        if inner.outputs().len() != self.rank() {
            let (from, to) = (inner.outputs().len(), self.rank());
            return Err(invalid(format!(
                "a transform to {from} dimensions cannot feed one from {to} dimensions"
            )));
        }
        let domain = propagate(self.domain(), inner)?;
        self.substitute(&Transform::unnormalised(domain, inner.outputs().to_vec()))?.collapsed()
    }

    /// `x -> self(maps(x))` over `domain`, where the caller answers for the bounds.
    pub(crate) fn rewrite(&self, domain: Domain, maps: Vec<Affine>) -> Result<Transform> {
        let outputs = maps.into_iter().map(OutputMap::Affine).collect();
        self.substitute(&Transform::normal(domain, outputs))
    }

    /// Puts the maps of `inner` in place of the input coordinates, keeping the domain of `inner`.
    fn substitute(&self, inner: &Transform) -> Result<Transform> {
        let put = |output: &OutputMap| match output {
            OutputMap::Affine(affine) => self.substitute_affine(affine, inner),
            OutputMap::Array(map) => self.substitute_array(map, inner),
        };
        let with_place =
            |(i, output)| put(output).map_err(|e| e.context(format_args!("output dimension {i}")));
        let outputs = self.outputs().iter().enumerate().map(with_place).collect::<Result<_>>()?;
        Ok(Transform::normal(inner.domain().clone(), outputs))
    }

    fn substitute_affine(&self, affine: &Affine, inner: &Transform) -> Result<OutputMap> {
        if let &[Term { dim, stride }] = affine.terms()
            && let OutputMap::Array(map) = &inner.outputs()[dim]
        {
            let nothing = inner.domain().is_explicitly_empty();
            let scaled = || self.scale_array(affine.offset(), stride, dim, map).map(OutputMap::Array);
            return if nothing { Ok(OutputMap::constant(0)) } else { scaled() };
        }
        let part = |term: &Term| Some((term.stride, inner.outputs()[term.dim].as_affine()?));
        match affine.terms().iter().map(part).collect::<Option<Vec<_>>>() {
            Some(parts) => {
                let constant = Affine::constant(affine.offset());
                let sum = parts.into_iter().try_fold(constant, |sum, (stride, map)| sum.plus(stride, map));
                sum.map(OutputMap::Affine)
            }
            None => self.tabulate_sum(affine, inner).map(OutputMap::table),
        }
    }

    /// A sum in which an index array takes part can only be said by a table.
    fn tabulate_sum(&self, affine: &Affine, inner: &Transform) -> Result<IndexArray> {
        let dependencies = affine.terms().iter().flat_map(|term| inner.outputs()[term.dim].dependencies());
        tabulate(inner, dependencies, |point| {
            affine.terms().iter().try_fold(affine.offset(), |sum, term| {
                add(sum, mul(term.stride, self.coordinate(term.dim, inner, point)?)?)
            })
        })
    }

    /// `offset + stride * table`, where the table stays as it is and its range learns of the bounds of `self`.
    fn scale_array(&self, offset: i64, stride: i64, dim: usize, map: &ArrayMap) -> Result<ArrayMap> {
        let allowed = self.domain().dims()[dim].enforced().preimage(map.offset, map.stride)?;
        Ok(ArrayMap {
            offset: add(offset, mul(map.offset, stride)?)?,
            stride: mul(map.stride, stride)?,
            array: map.array.clone(),
            range: map.range.intersect(allowed),
        })
    }

    fn substitute_array(&self, map: &ArrayMap, inner: &Transform) -> Result<OutputMap> {
        if inner.domain().is_explicitly_empty() {
            return Ok(OutputMap::constant(0));
        }
        let dependencies = map.array.dependencies().flat_map(|dim| inner.outputs()[dim].dependencies());
        let mut position = vec![0; self.rank()];
        let array = tabulate(inner, dependencies, |point| {
            for dim in map.array.dependencies() {
                let first = self.domain().dims()[dim].interval.first();
                position[dim] = sub(self.coordinate(dim, inner, point)?, first)?;
            }
            map.array.get(&position).ok_or_else(|| out_of_range("position outside the index array"))
        })?;
        Ok(OutputMap::Array(ArrayMap { array, ..map.clone() }))
    }

    /// The coordinate of `self` that `inner` gives at a point, which must be within bounds.
    fn coordinate(&self, dim: usize, inner: &Transform, point: &[i64]) -> Result<i64> {
        let x = inner.outputs()[dim].eval(inner.domain(), point)?;
        let bounds = &self.domain().dims()[dim];
        if bounds.enforced().contains(x) {
            return Ok(x);
        }
        Err(out_of_range(format!("index {x} of an index array is outside dimension {dim}, `{bounds}`")))
    }

    /// Tables with a single entry become constants.
    pub(crate) fn collapsed(self) -> Result<Transform> {
        let collapse = |output: &OutputMap| match output {
            OutputMap::Affine(_) => Ok(output.clone()),
            OutputMap::Array(map) => map.clone().collapsed(),
        };
        let outputs = self.outputs().iter().map(collapse).collect::<Result<_>>()?;
        Ok(Transform::normal(self.domain().clone(), outputs))
    }
}

/// A table over the dimensions of `over` that are listed, filled by `entry` at each point.
fn tabulate(
    over: &Transform,
    dependencies: impl IntoIterator<Item = usize>,
    mut entry: impl FnMut(&[i64]) -> Result<i64>,
) -> Result<IndexArray> {
    let dims = over.domain().dims();
    let mut shape = vec![1; dims.len()];
    let mut point: Vec<i64> = dims.iter().map(|dim| dim.interval.lower().unwrap_or(0)).collect();
    for dim in dependencies {
        let bounds = &dims[dim];
        let explicit = !bounds.implicit_lower && !bounds.implicit_upper;
        let size = bounds.interval.len().filter(|_| explicit);
        shape[dim] = size
            .ok_or_else(|| invalid(format!("an index array would depend on dimension {dim}, `{bounds}`")))?;
    }
    let origin = point.clone();
    IndexArray::from_fn(shape, |at| {
        for ((x, &first), &i) in point.iter_mut().zip(&origin).zip(at) {
            *x = first + i;
        }
        entry(&point)
    })
}

/// The domain of `inner` once everything that it reaches must lie in `outer`.
fn propagate(outer: &Domain, inner: &Transform) -> Result<Domain> {
    let empty = inner.domain().is_explicitly_empty();
    let mut inferred: Vec<Option<Dim>> = vec![None; inner.rank()];
    for (i, (map, bounds)) in affine_outputs(inner, outer) {
        match map.terms() {
            [] if empty => {}
            [] => check_constant(i, map.offset(), bounds)?,
            &[Term { dim, stride }] => {
                let bounds = pull_back(bounds, map.offset(), stride)?;
                let merged = inferred[dim]
                    .as_ref()
                    .map_or_else(|| bounds.clone(), |known| bounds.prefer_explicit(known));
                inferred[dim] = Some(merged);
            }
            // Several inputs share these bounds; they are checked once the inputs are known.
            [_, _, ..] => {}
        }
    }
    let pairs = inner.domain().dims().iter().zip(&inferred);
    let dims: Vec<Dim> = pairs
        .map(|(dim, inferred)| inferred.as_ref().map_or_else(|| dim.clone(), |i| narrow(dim, i)))
        .collect();
    let domain = Domain::new(dims)?;
    if !empty {
        check_inputs(&domain, &inferred)?;
        check_sums(outer, inner, &domain)?;
    }
    Ok(domain)
}

fn affine_outputs<'a>(
    inner: &'a Transform,
    outer: &'a Domain,
) -> impl Iterator<Item = (usize, (&'a Affine, &'a Dim))> {
    let pairs = inner.outputs().iter().zip(outer.dims()).enumerate();
    pairs.filter_map(|(i, (output, bounds))| Some((i, (output.as_affine()?, bounds))))
}

fn check_constant(i: usize, x: i64, bounds: &Dim) -> Result<()> {
    if bounds.enforced().contains(x) {
        return Ok(());
    }
    Err(out_of_range(format!("index {x} is outside dimension {i}, `{bounds}`")))
}

/// The bounds of the input of `offset + stride * input` whose value has `bounds`.
fn pull_back(bounds: &Dim, offset: i64, stride: i64) -> Result<Dim> {
    let interval = bounds.interval.preimage(offset, stride)?;
    let dim = Dim { interval, label: String::new(), ..bounds.clone() };
    Ok(if stride < 0 { swap_implicit(dim) } else { dim })
}

/// The bounds of one input: its own explicit ends, else those inferred.
fn narrow(dim: &Dim, inferred: &Dim) -> Dim {
    let first = if dim.implicit_lower { inferred.interval.first() } else { dim.interval.first() };
    let last = if dim.implicit_upper { inferred.interval.last() } else { dim.interval.last() };
    Dim {
        interval: Interval::trusted(first, last.max(first - 1)),
        implicit_lower: dim.implicit_lower && inferred.implicit_lower,
        implicit_upper: dim.implicit_upper && inferred.implicit_upper,
        label: dim.label.clone(),
    }
}

/// Each input must stay within what was inferred for it.
fn check_inputs(domain: &Domain, inferred: &[Option<Dim>]) -> Result<()> {
    for (i, (dim, inferred)) in domain.dims().iter().zip(inferred).enumerate() {
        let allowed = inferred.as_ref().map_or(Interval::all(), Dim::enforced);
        if !allowed.contains_interval(dim.interval) {
            let interval = dim.interval;
            return Err(out_of_range(format!(
                "{interval} of dimension {i} is outside {allowed}, which is all there is"
            )));
        }
    }
    Ok(())
}

/// A sum of several inputs must stay in bounds over the whole domain.
fn check_sums(outer: &Domain, inner: &Transform, domain: &Domain) -> Result<()> {
    for (i, (map, bounds)) in affine_outputs(inner, outer) {
        if map.terms().len() < 2 || bounds.enforced() == Interval::all() {
            continue;
        }
        let range = map.range(|dim| domain.dims()[dim].interval)?;
        if !bounds.enforced().contains_interval(range) {
            return Err(out_of_range(format!("dimension {i} is read over {range}, but it is `{bounds}`")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::json::transform_from_json;
    use super::super::{IndexErrorKind, Interval};
    use super::*;

    fn read(text: &str) -> Transform {
        transform_from_json(&serde_json::from_str(text).unwrap()).unwrap()
    }

    fn check(outer: &str, inner: &str, expect: &str) {
        assert_eq!(read(outer).compose(&read(inner)).unwrap().to_string(), expect);
    }

    #[test]
    fn implicit_bounds_take_over_what_is_below() {
        let outer = r#"{"input_shape": [10], "output": [{"input_dimension": 0, "offset": 3, "stride": 2}]}"#;
        check(
            outer,
            r#"{"input_rank": 1, "output": [{"input_dimension": 0, "offset": -4}]}"#,
            "[_: 4..14] -> [-5 + 2*#0]",
        );
        check(
            outer,
            r#"{"input_rank": 1, "output": [{"input_dimension": 0, "stride": -3}]}"#,
            "[_: -3..1] -> [3 - 6*#0]",
        );
    }

    #[test]
    fn explicit_bounds_must_fit() {
        let outer = read(r#"{"input_shape": [10]}"#);
        let error =
            outer.compose(&read(r#"{"input_inclusive_min": [-1], "input_exclusive_max": [4]}"#)).unwrap_err();
        assert_eq!(error.kind, IndexErrorKind::OutOfRange);
        assert_eq!(error.message, "-1..4 of dimension 0 is outside 0..10, which is all there is");
    }

    #[test]
    fn several_inputs_add_up() {
        let windows = Affine::new(-2, [Term { dim: 0, stride: 3 }, Term { dim: 1, stride: 1 }]).unwrap();
        let inner =
            Transform::new(Domain::of_shape(&[4, 5]).unwrap(), vec![OutputMap::Affine(windows)]).unwrap();
        let unbounded = Transform::identity(Domain::new(vec![Dim::explicit(Interval::all())]).unwrap());
        let both = unbounded
            .stride(&[super::super::domain::DimRef::Position(0)], &[Some(2)])
            .unwrap()
            .compose(&inner);
        assert_eq!(both.unwrap().to_string(), "[_: 4, _: 5] -> [-4 + 6*#0 + 2*#1]");
        let bounded = Transform::identity(Domain::of_shape(&[12]).unwrap());
        let error = bounded.compose(&inner).unwrap_err();
        assert_eq!(error.message, "dimension 0 is read over -2..12, but it is `_: 12`");
    }

    #[test]
    fn sums_of_three_inputs_must_fit() {
        let sum = Affine::new(0, (0..3).map(|dim| Term { dim, stride: 1 })).unwrap();
        let inner =
            Transform::new(Domain::of_shape(&[4, 4, 4]).unwrap(), vec![OutputMap::Affine(sum)]).unwrap();
        let over = |size| Transform::identity(Domain::of_shape(&[size]).unwrap()).compose(&inner);
        assert_eq!(over(10).unwrap().to_string(), "[_: 4, _: 4, _: 4] -> [#0 + #1 + #2]");
        assert_eq!(over(9).unwrap_err().kind, IndexErrorKind::OutOfRange);
    }

    #[test]
    fn a_table_needs_both_ends() {
        let over = |implicit_lower, implicit_upper| {
            let dim = Dim { implicit_lower, implicit_upper, ..Dim::explicit(Interval::sized(2, 3).unwrap()) };
            let over = Transform::identity(Domain::new(vec![dim]).unwrap());
            tabulate(&over, [0], |point| Ok(point[0])).ok().map(|table| table.entries().to_vec())
        };
        assert_eq!(over(false, false), Some(vec![2, 3, 4]));
        assert_eq!([over(true, false), over(false, true), over(true, true)], [None, None, None]);
    }

    #[test]
    fn tables_are_read_through() {
        let outer = r#"{"input_shape": [3], "output": [{"index_array": [7, 8, 9]}]}"#;
        check(
            outer,
            r#"{"input_shape": [2], "output": [{"input_dimension": 0, "offset": 1}]}"#,
            "[_: 2] -> [table(#0)]",
        );
        check(outer, r#"{"input_shape": [2], "output": [{"offset": 1}]}"#, "[_: 2] -> [8]");
        let error = read(outer)
            .compose(&read(r#"{"input_shape": [2], "output": [{"index_array": [0, 3]}]}"#))
            .unwrap_err();
        assert_eq!(
            error.message,
            "output dimension 0: index 3 of an index array is outside dimension 0, `_: 3`"
        );
    }
}
