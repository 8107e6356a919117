//! The ops on index transforms: each takes a view and gives the view after one more step.
//!
//! ```text
//! [x: 10].slice(x, 2:8)           [x: 2..8] -> [x]          slicing keeps coordinates
//! [x: 10].slice(x, 7:0:-2)        [x: -3..1] -> [1 - 2*x]   a step divides the origin, rounded toward 0
//! [x: 10].stride(x, 2)            [x: 5] -> [2*x]           anchored at 0
//! [x: 10].translate_by(x, 3)      [x: 3..13] -> [-3 + x]
//! ```
//!
//! They follow TensorStore, except that a slice with a negative step keeps the implicit bounds its
//! documentation promises. `None` in a list leaves that dimension alone.

use super::domain::{Dim, DimRef, Domain, resolve_position};
use super::error::{Result, invalid, out_of_range};
use super::interval::{INF, Interval, is_finite};
use super::transform::{Affine, OutputMap, Transform, sub, swap_implicit};

/// The bounds of one slice, each `None` where the script leaves it out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// First coordinate.
    pub start: Option<i64>,
    /// One past the last coordinate, in the direction of the step.
    pub stop: Option<i64>,
    /// Distance between coordinates, 1 if left out.
    pub step: Option<i64>,
}

/// Which implicitness to set on a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Leave it as it is.
    Keep,
    /// Enforce it.
    Explicit,
    /// Do not enforce it.
    Implicit,
}

impl Transform {
    /// Moves the domain by some distance: `new[i + by] = old[i]`.
    pub fn translate_by(&self, dims: &[DimRef], by: &[Option<i64>]) -> Result<Transform> {
        self.translate(dims, by, |_, by| Ok(by))
    }

    /// Moves the domain back by some distance: `new[i - by] = old[i]`.
    pub fn translate_backward_by(&self, dims: &[DimRef], by: &[Option<i64>]) -> Result<Transform> {
        self.translate(dims, by, |_, by| sub(0, by))
    }

    /// Moves the domain so that it starts at `to`; it must be bounded below.
    pub fn translate_to(&self, dims: &[DimRef], to: &[Option<i64>]) -> Result<Transform> {
        self.translate(dims, to, |dim, to| {
            if !is_finite(to) {
                return Err(out_of_range(format!("origin {to} is outside the index range of ±(2^62 - 2)")));
            }
            let first = dim.interval.lower();
            first
                .map(|first| to - first)
                .ok_or_else(|| invalid(format!("`{dim}` has no lower bound to move to {to}")))
        })
    }

    fn translate(
        &self,
        dims: &[DimRef],
        values: &[Option<i64>],
        distance: impl Fn(&Dim, i64) -> Result<i64>,
    ) -> Result<Transform> {
        self.remap(dims, values, |at, dim, &value| {
            let Some(value) = value else { return Ok((dim.clone(), Affine::dim(at))) };
            let by = distance(dim, value)?;
            Ok((dim.with_interval(dim.interval.shift(by)?), Affine::single(sub(0, by)?, 1, at)))
        })
    }

    /// `new[i] = old[stride * i]`: the coordinates that are multiples of the stride.
    pub fn stride(&self, dims: &[DimRef], strides: &[Option<i64>]) -> Result<Transform> {
        let strided = self.remap(dims, strides, |at, dim, &stride| {
            let stride = stride.unwrap_or(1);
            if stride == 0 {
                return Err(invalid(format!("a stride of 0 for dimension {at}, `{dim}`")));
            }
            let new = dim.with_interval(dim.interval.preimage(0, stride)?);
            Ok((if stride < 0 { swap_implicit(new) } else { new }, Affine::single(0, stride, at)))
        })?;
        strided.collapsed()
    }

    /// Replaces the selected dimensions one by one, keeping rank and order.
    fn remap<V>(
        &self,
        refs: &[DimRef],
        values: &[V],
        change: impl Fn(usize, &Dim, &V) -> Result<(Dim, Affine)>,
    ) -> Result<Transform> {
        let selected = self.select_with(refs, values.len())?;
        let mut dims = self.domain().dims().to_vec();
        let mut maps: Vec<Affine> = (0..dims.len()).map(Affine::dim).collect();
        for (&at, value) in selected.iter().zip(values) {
            (dims[at], maps[at]) = change(at, &dims[at], value)?;
        }
        self.rewrite(Domain::new(dims)?, maps)
    }

    /// The selected positions, of which there must be as many as values.
    fn select_with(&self, refs: &[DimRef], values: usize) -> Result<Vec<usize>> {
        let selected = self.domain().select(refs)?;
        if selected.len() != values {
            return Err(invalid(format!("{values} values for {} dimensions", selected.len())));
        }
        Ok(selected)
    }

    /// Restricts dimensions to slices. Without a step coordinates stay; with one the new origin is start/step
    /// rounded toward 0. A slice that leaves enforced bounds is out of range, never clipped.
    pub fn slice(&self, dims: &[DimRef], slices: &[Slice]) -> Result<Transform> {
        let selected = self.select_with(dims, slices.len())?;
        let mut inner = Transform::identity(self.domain().clone()).into_parts();
        for (&at, &slice) in selected.iter().zip(slices) {
            let dim = &self.domain().dims()[at];
            let (new, map) =
                slice_dim(dim, slice, at).map_err(|e| e.context(format_args!("slicing `{dim}`")))?;
            inner.0[at] = new;
            inner.1[at] = OutputMap::Affine(map);
        }
        self.compose(&Transform::normal(Domain::new(inner.0)?, inner.1))
    }

    fn into_parts(self) -> (Vec<Dim>, Vec<OutputMap>) {
        (self.domain().dims().to_vec(), self.outputs().to_vec())
    }

    /// Fixes dimensions at a coordinate each, and drops them.
    pub fn index(&self, dims: &[DimRef], indices: &[i64]) -> Result<Transform> {
        let selected = self.select_with(dims, indices.len())?;
        let kept = self.others(&selected);
        let place = |at: usize| match selected.iter().position(|&s| s == at) {
            Some(i) => Affine::constant(indices[i]),
            None => Affine::dim(kept.iter().position(|&k| k == at).expect("a dimension is selected or kept")),
        };
        self.compose_affine(self.pick(&kept), (0..self.rank()).map(place))
    }

    /// The positions that are not selected, in order.
    fn others(&self, selected: &[usize]) -> Vec<usize> {
        (0..self.rank()).filter(|at| !selected.contains(at)).collect()
    }

    fn pick(&self, positions: &[usize]) -> Vec<Dim> {
        positions.iter().map(|&at| self.domain().dims()[at].clone()).collect()
    }

    fn compose_affine(&self, dims: Vec<Dim>, maps: impl Iterator<Item = Affine>) -> Result<Transform> {
        let outputs = maps.map(OutputMap::Affine).collect();
        self.compose(&Transform::normal(Domain::new(dims)?, outputs))
    }

    /// Adds dimensions `0*..1*` at these positions of the new rank; nothing depends on them.
    pub fn add_new(&self, positions: &[i64]) -> Result<Transform> {
        let rank = self.rank() + positions.len();
        let blank = Domain::new(vec![Dim::free(); rank])?;
        let refs: Vec<DimRef> = positions.iter().map(|&at| DimRef::Position(at)).collect();
        let added = blank.select(&refs)?;
        let mut old = self.domain().dims().iter();
        let kept: Vec<usize> = (0..rank).filter(|at| !added.contains(at)).collect();
        let dim = |at: usize| if kept.contains(&at) { old.next().cloned() } else { Some(Dim::added()) };
        let dims = (0..rank).filter_map(dim).collect();
        self.compose_affine(dims, kept.iter().map(|&at| Affine::dim(at)))
    }

    /// Renames dimensions; an empty label removes it.
    pub fn label(&self, dims: &[DimRef], labels: &[String]) -> Result<Transform> {
        let selected = self.select_with(dims, labels.len())?;
        let mut new = self.domain().dims().to_vec();
        for (&at, label) in selected.iter().zip(labels) {
            new[at].label.clone_from(label);
        }
        Ok(Transform::normal(Domain::new(new)?, self.outputs().to_vec()))
    }

    /// Changes which bounds are enforced. A dimension that an index array depends on cannot become implicit.
    pub fn mark_bounds_implicit(&self, dims: &[DimRef], lower: Bound, upper: Bound) -> Result<Transform> {
        let selected = self.domain().select(dims)?;
        let mut new = self.domain().dims().to_vec();
        if lower == Bound::Implicit || upper == Bound::Implicit {
            self.check_no_table(&selected)?;
        }
        for &at in &selected {
            new[at].implicit_lower = lower.apply(new[at].implicit_lower);
            new[at].implicit_upper = upper.apply(new[at].implicit_upper);
        }
        Ok(Transform::normal(Domain::new(new)?, self.outputs().to_vec()))
    }

    fn check_no_table(&self, selected: &[usize]) -> Result<()> {
        let uses = |at: usize| {
            self.outputs().iter().any(|o| o.as_affine().is_none() && o.dependencies().contains(&at))
        };
        match selected.iter().find(|&&at| uses(at)) {
            Some(at) => Err(invalid(format!(
                "dimension {at} selects entries of an index array, so its bounds are explicit"
            ))),
            None => Ok(()),
        }
    }

    /// Walks several dimensions in step: they become one, without a label, in front.
    pub fn diagonal(&self, dims: &[DimRef]) -> Result<Transform> {
        let selected = self.domain().select(dims)?;
        let kept = self.others(&selected);
        let walked = self.pick(&selected);
        let common = walked.iter().fold(Interval::all(), |all, dim| all.intersect(dim.interval));
        let diagonal = Dim {
            implicit_lower: walked.iter().all(|dim| dim.implicit_lower),
            implicit_upper: walked.iter().all(|dim| dim.implicit_upper),
            ..Dim::explicit(common)
        };
        let new = [vec![diagonal], self.pick(&kept)].concat();
        let place = |at: usize| Affine::dim(kept.iter().position(|&k| k == at).map_or(0, |i| i + 1));
        self.rewrite(Domain::new(new)?, (0..self.rank()).map(place).collect())
    }

    /// Moves dimensions to target positions, the others keep their order. One target for several dimensions is
    /// where the first of them goes.
    pub fn transpose(&self, dims: &[DimRef], targets: &[i64]) -> Result<Transform> {
        let selected = self.domain().select(dims)?;
        let targets = self.targets(selected.len(), targets)?;
        let mut others = self.others(&selected).into_iter();
        let source = |at: usize| match targets.iter().position(|&t| t == at) {
            Some(i) => Some(selected[i]),
            None => others.next(),
        };
        let order: Vec<usize> = (0..self.rank()).filter_map(source).collect();
        self.reorder(&order)
    }

    /// The dimensions in another order: dimension `i` of the result is dimension `order[i]`.
    pub(crate) fn reorder(&self, order: &[usize]) -> Result<Transform> {
        let place = |at: usize| Affine::dim(order.iter().position(|&from| from == at).unwrap_or(0));
        self.rewrite(Domain::new(self.pick(order))?, (0..self.rank()).map(place).collect())
    }

    fn targets(&self, selected: usize, targets: &[i64]) -> Result<Vec<usize>> {
        if let &[start] = targets {
            let start = resolve_position(start, self.rank() - selected + 1)?;
            return Ok((start..start + selected).collect());
        }
        if targets.len() != selected {
            return Err(invalid(format!("{} target positions for {selected} dimensions", targets.len())));
        }
        let refs: Vec<DimRef> = targets.iter().map(|&at| DimRef::Position(at)).collect();
        self.domain().select(&refs)
    }

    /// Restricts to the coordinates of another domain, matched by label, or by position where one side has no labels.
    pub fn slice_domain(&self, other: &Domain) -> Result<Transform> {
        let mut dims = self.domain().dims().to_vec();
        let matches = self.match_dims(other, &mut dims)?;
        for (new, &at) in other.dims().iter().zip(&matches) {
            if !dims[at].enforced().contains_interval(new.interval) {
                return Err(out_of_range(format!("`{new}` is outside `{}`", dims[at])));
            }
            dims[at] = Dim { label: std::mem::take(&mut dims[at].label), ..Dim::explicit(new.interval) };
        }
        let maps = (0..self.rank()).map(Affine::dim).collect();
        self.rewrite(Domain::new(dims)?, maps)
    }

    /// Which of our dimensions each dimension of `other` restricts; takes labels over where we have none.
    fn match_dims(&self, other: &Domain, dims: &mut [Dim]) -> Result<Vec<usize>> {
        let has_labels = |domain: &Domain| domain.dims().iter().any(|dim| !dim.label.is_empty());
        if has_labels(other) && has_labels(self.domain()) {
            return match_labels(other, self.domain());
        }
        if other.rank() != self.rank() {
            let (ours, theirs) = (self.rank(), other.rank());
            return Err(invalid(format!(
                "{theirs} dimensions cannot restrict {ours} without labels on both"
            )));
        }
        if has_labels(other) {
            for (dim, new) in dims.iter_mut().zip(other.dims()) {
                dim.label.clone_from(&new.label);
            }
        }
        Ok((0..other.rank()).collect())
    }
}

/// Labelled dimensions match by label, the others in order.
fn match_labels(other: &Domain, ours: &Domain) -> Result<Vec<usize>> {
    let mut unlabelled =
        ours.dims().iter().enumerate().filter(|(_, dim)| dim.label.is_empty()).map(|(at, _)| at);
    let mut any_unlabelled = false;
    let mut find = |dim: &Dim| {
        if !dim.label.is_empty() {
            return ours
                .position(&dim.label)
                .ok_or_else(|| invalid(format!("no dimension of {ours} has the label `{}`", dim.label)));
        }
        any_unlabelled = true;
        unlabelled
            .next()
            .ok_or_else(|| invalid(format!("{other} has more dimensions without a label than {ours}")))
    };
    let matches: Vec<usize> = other.dims().iter().map(&mut find).collect::<Result<_>>()?;
    if any_unlabelled && other.rank() != ours.rank() {
        return Err(invalid(format!(
            "{other} has dimensions without a label, so it needs {} dimensions",
            ours.rank()
        )));
    }
    Ok(matches)
}

impl Bound {
    fn apply(self, implicit: bool) -> bool {
        match self {
            Bound::Keep => implicit,
            Bound::Explicit => false,
            Bound::Implicit => true,
        }
    }
}

/// The dimension after a slice, and the map back to the old coordinate.
pub fn slice_dim(dim: &Dim, slice: Slice, at: usize) -> Result<(Dim, Affine)> {
    let step = slice.step.unwrap_or(1);
    if step == 0 || step == i64::MIN {
        return Err(invalid(format!("a step of {step}")));
    }
    let towards = if step > 0 { dim.clone() } else { swap_implicit(dim.clone()) };
    let (from, to) = if step > 0 {
        (dim.interval.first(), dim.interval.last())
    } else {
        (dim.interval.last(), dim.interval.first())
    };
    let start = slice.start.unwrap_or(from);
    // The last coordinate that may be reached; infinity is its own last.
    let end = slice.stop.map_or(to, |stop| if is_finite(stop) { stop - step.signum() } else { stop });
    let covered = if step > 0 { Interval::closed(start, end) } else { Interval::closed(end, start) };
    if step.abs() != 1 && !is_finite(start) {
        return Err(invalid(format!("a step of {step} needs a finite start")));
    }
    let covered = covered?;
    if !dim.enforced().contains_interval(covered) {
        return Err(out_of_range(format!("{covered} is outside {}", dim.enforced())));
    }
    let origin = start / step;
    let interval = match end.abs() {
        INF => Interval::closed(origin, INF)?,
        _ => Interval::closed(origin, origin + steps(covered, step.abs()) - 1)?,
    };
    let new = Dim {
        interval,
        implicit_lower: towards.implicit_lower && slice.start.is_none(),
        implicit_upper: towards.implicit_upper && slice.stop.is_none(),
        label: towards.label,
    };
    Ok((new, Affine::single(start - origin * step, step, at)))
}

/// How many coordinates a walk over `covered` visits.
fn steps(covered: Interval, step: i64) -> i64 {
    let len = covered.last() - covered.first() + 1;
    len / step + i64::from(len % step != 0)
}

#[cfg(test)]
mod tests {
    use super::super::array::IndexArray;
    use super::*;

    fn base(lo: Option<i64>, hi: Option<i64>) -> Transform {
        let dim = Dim::explicit(Interval::bounds(lo, hi).unwrap()).labelled("x");
        Transform::identity(Domain::new(vec![dim]).unwrap())
    }

    fn x() -> [DimRef; 1] {
        [DimRef::Label("x".to_owned())]
    }

    fn sliced(t: &Transform, start: i64, stop: i64, step: i64) -> Result<Transform> {
        t.slice(&x(), &[Slice { start: Some(start), stop: Some(stop), step: Some(step) }])
    }

    fn check(result: Result<Transform>, expect: &str) {
        assert_eq!(result.map_or_else(|e| format!("{}: {e}", e.kind), |t| t.to_string()), expect);
    }

    #[test]
    fn slices_keep_coordinates_and_steps_divide_them() {
        let t = base(Some(-10), Some(10));
        check(sliced(&t, 2, 8, 1), "[x: 2..8] -> [x]");
        check(sliced(&t, -7, 6, 2), "[x: -3..4] -> [-1 + 2*x]");
        check(sliced(&t, 7, 0, -2), "[x: -3..1] -> [1 - 2*x]");
        check(sliced(&t, 50, 50, 1), "[x: 50..50] -> [x]");
    }

    #[test]
    fn slices_never_clip() {
        let t = base(Some(0), Some(10));
        check(sliced(&t, 3, 12, 1), "OUT_OF_RANGE: slicing `x: 10`: 3..12 is outside 0..10");
        check(sliced(&t, 5, 3, 1), "INVALID_ARGUMENT: slicing `x: 10`: 5..=2 is not a range of coordinates");
        check(sliced(&t, 5, 3, 0), "INVALID_ARGUMENT: slicing `x: 10`: a step of 0");
    }

    #[test]
    fn strides_are_anchored_at_zero() {
        check(base(Some(-3), Some(8)).stride(&x(), &[Some(2)]), "[x: -1..4] -> [2*x]");
        check(base(None, None).stride(&x(), &[Some(-3)]), "[x: inf] -> [-3*x]");
        check(
            base(None, None).stride(&x(), &[Some(0)]),
            "INVALID_ARGUMENT: a stride of 0 for dimension 0, `x: inf`",
        );
    }

    #[test]
    fn translations_move_the_domain() {
        check(base(Some(0), Some(10)).translate_by(&x(), &[Some(3)]), "[x: 3..13] -> [-3 + x]");
        check(base(Some(4), None).translate_to(&x(), &[Some(0)]), "[x: 0..inf] -> [4 + x]");
        check(
            base(None, Some(5)).translate_to(&x(), &[Some(0)]),
            "INVALID_ARGUMENT: `x: -inf..5` has no lower bound to move to 0",
        );
        check(base(Some(0), Some(10)).translate_by(&x(), &[]), "INVALID_ARGUMENT: 0 values for 1 dimensions");
    }

    #[test]
    fn implicit_ends_follow_a_negative_step() {
        let t = base(Some(0), Some(10)).mark_bounds_implicit(&x(), Bound::Keep, Bound::Implicit).unwrap();
        let backwards = t.slice(&x(), &[Slice { start: None, stop: Some(4), step: Some(-1) }]);
        check(backwards, "[x: -9*..-4] -> [-x]");
    }

    #[test]
    fn bounds_of_tables_stay_enforced() {
        let table = IndexArray::new(vec![2], vec![3, 1]).unwrap();
        let t = base(Some(0), Some(10)).vindex(&x(), &[table]).unwrap();
        let marked = |lower, upper| t.mark_bounds_implicit(&[DimRef::Position(0)], lower, upper);
        assert!(
            marked(Bound::Implicit, Bound::Keep).is_err() && marked(Bound::Keep, Bound::Implicit).is_err()
        );
        assert!(marked(Bound::Explicit, Bound::Keep).is_ok());
    }
}
