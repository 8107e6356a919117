//! The movement ops that are affine, as ops on index transforms, so that they work without bounds too.
//!
//! ```text
//! smooth: [y: inf, x: inf]
//! smooth.permute([x, y]).flip([y])     [x: inf, y: inf] -> [-y, x]
//! [x: 3..8].flip([x])                  [x: 3..8] -> [10 - x]
//! [x: 3..8].shrink([4..6])             [x: 2] -> [4 + x]
//! ```

use super::array::IndexArray;
use super::domain::{Dim, DimRef, Domain};
use super::error::{Result, invalid};
use super::interval::Interval;
use super::ops::{Bound, Slice};
use super::transform::{Affine, Term, Transform, swap_implicit};

impl Transform {
    /// Turns dimensions round: lo..hi keeps its coordinates, an unbounded dimension maps i to -i.
    pub fn flip(&self, dims: &[DimRef]) -> Result<Transform> {
        let selected = self.domain().select(dims)?;
        let mut new = self.domain().dims().to_vec();
        let mut maps: Vec<Affine> = (0..self.rank()).map(Affine::dim).collect();
        for at in selected {
            let interval = new[at].interval;
            let sum = if interval.is_bounded() { interval.first() + interval.last() } else { 0 };
            let turned = if interval.is_bounded() { interval } else { interval.neg() };
            new[at] = swap_implicit(new[at].with_interval(turned));
            maps[at] = Affine::single(sum, -1, at);
        }
        self.rewrite(Domain::new(new)?, maps)
    }

    /// All dimensions in another order.
    pub fn permute(&self, dims: &[DimRef]) -> Result<Transform> {
        let order = self.domain().select(dims)?;
        if order.len() != self.rank() {
            return Err(invalid(format!("an order of {} dimensions for {}", order.len(), self.rank())));
        }
        self.reorder(&order)
    }

    /// Repeats dimensions of size 1, and adds dimensions in front. `None` keeps a dimension as it is;
    /// a repeated dimension keeps its origin, an added one starts at 0.
    pub fn expand(&self, sizes: &[Option<i64>]) -> Result<Transform> {
        let added = sizes.len().checked_sub(self.rank());
        let added =
            added.ok_or_else(|| invalid(format!("{} sizes for {} dimensions", sizes.len(), self.rank())))?;
        let mut dims = Vec::with_capacity(sizes.len());
        for (i, size) in sizes[..added].iter().enumerate() {
            let size = size.ok_or_else(|| invalid(format!("added dimension {i} needs a size")))?;
            dims.push(Dim::explicit(Interval::sized(0, size)?));
        }
        let mut maps = Vec::with_capacity(self.rank());
        for (i, (dim, &size)) in self.domain().dims().iter().zip(&sizes[added..]).enumerate() {
            let (new, map) = expand_dim(dim, size, added + i)?;
            dims.push(new);
            maps.push(map);
        }
        self.rewrite(Domain::new(dims)?, maps)
    }

    /// Restricts to ranges of coordinates and moves each origin to 0; `None` leaves a dimension alone.
    pub fn shrink(&self, dims: &[DimRef], ranges: &[Option<Interval>]) -> Result<Transform> {
        let bounds = |range: &Option<Interval>| {
            range.map_or_else(Slice::default, |r| Slice { start: r.lower(), stop: r.upper(), step: None })
        };
        let slices: Vec<Slice> = ranges.iter().map(bounds).collect();
        let origin: Vec<Option<i64>> =
            ranges.iter().map(|range| range.and_then(|r| r.lower().map(|_| 0))).collect();
        self.slice(dims, &slices)?.translate_to(dims, &origin)
    }

    /// Drops every dimension that has exactly one coordinate.
    pub fn squeeze(&self) -> Result<Transform> {
        let dims = self.domain().dims();
        let single = |(at, dim): (usize, &Dim)| Some((position(at), dim.interval.single()?));
        let (refs, indices): (Vec<DimRef>, Vec<i64>) = dims.iter().enumerate().filter_map(single).unzip();
        self.index(&refs, &indices)
    }

    /// The language's `.diagonal([y, x], d)`: the new dimension comes first, with that label.
    pub fn diagonal_labelled(&self, dims: &[DimRef], label: &str) -> Result<Transform> {
        self.diagonal(dims)?.label(&[DimRef::Position(0)], &[label.to_owned()])
    }

    /// The language's `.add_dim(label)`: a dimension `0*..1*` in front.
    pub fn add_dim(&self, label: &str) -> Result<Transform> {
        self.add_new(&[0])?.label(&[DimRef::Position(0)], &[label.to_owned()])
    }

    /// The language's `.implicit([y])`: neither bound is enforced any more.
    pub fn implicit(&self, dims: &[DimRef]) -> Result<Transform> {
        self.mark_bounds_implicit(dims, Bound::Implicit, Bound::Implicit)
    }

    /// The language's `.vindex({…}, label)`: joint indexing by lists, with the new dimension labelled.
    pub fn vindex_labelled(&self, dims: &[DimRef], arrays: &[IndexArray], label: &str) -> Result<Transform> {
        self.vindex(dims, arrays)?.label(&[DimRef::Position(0)], &[label.to_owned()])
    }

    /// Windows along one dimension: `new[…, w, …, i] = old[…, first + w * step + i, …]` for the windows that fit,
    /// with the position in the window as the last dimension.
    pub fn unfold(&self, dim: &DimRef, size: i64, step: i64) -> Result<Transform> {
        let at = self.domain().select(std::slice::from_ref(dim))?[0];
        let old = &self.domain().dims()[at];
        let len = old.interval.len().ok_or_else(|| invalid(format!("`{old}` has no end to unfold")))?;
        if step < 1 || size < 0 || size > len {
            return Err(invalid(format!(
                "windows of {size} elements every {step} do not fit {len} elements"
            )));
        }
        let mut dims = self.domain().dims().to_vec();
        dims[at] = dims[at].with_interval(Interval::sized(0, (len - size) / step + 1)?);
        dims.push(Dim::explicit(Interval::sized(0, size)?));
        let mut maps: Vec<Affine> = (0..self.rank()).map(Affine::dim).collect();
        let terms = [Term { dim: at, stride: step }, Term { dim: self.rank(), stride: 1 }];
        maps[at] = Affine::new(old.interval.first(), terms)?;
        self.rewrite(Domain::new(dims)?, maps)
    }
}

fn position(at: usize) -> DimRef {
    DimRef::Position(i64::try_from(at).expect("ranks are at most 32"))
}

/// One dimension of `expand`, and the map back to the old coordinate; it becomes dimension `at`.
fn expand_dim(dim: &Dim, size: Option<i64>, at: usize) -> Result<(Dim, Affine)> {
    let Some(size) = size.filter(|&size| dim.interval.len() != Some(size)) else {
        return Ok((dim.clone(), Affine::dim(at)));
    };
    match dim.interval.single() {
        Some(x) => {
            let new = Dim::explicit(Interval::sized(x, size)?).labelled(dim.label.clone());
            Ok((new, Affine::constant(x)))
        }
        None => Err(invalid(format!(
            "`{dim}` cannot be expanded to {size} elements, only a dimension of size 1 can"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::json::domain_from_json;
    use super::*;

    fn plane() -> Transform {
        let inf = || Dim::explicit(Interval::all());
        Transform::identity(Domain::new(vec![inf().labelled("y"), inf().labelled("x")]).unwrap())
    }

    fn label(name: &str) -> DimRef {
        DimRef::Label(name.to_owned())
    }

    fn check(result: Result<Transform>, expect: &str) {
        assert_eq!(result.map_or_else(|e| e.message, |t| t.to_string()), expect);
    }

    fn bounded(json: serde_json::Value) -> Transform {
        Transform::identity(domain_from_json(&json).unwrap())
    }

    #[test]
    fn movement_over_the_unbounded_is_one_transform() {
        let turned = plane().permute(&[label("x"), label("y")]).unwrap().flip(&[label("y")]).unwrap();
        let slice = Slice { start: Some(0), stop: Some(10), step: None };
        check(turned.slice(&[label("x")], &[slice]), "[x: 10, y: inf] -> [-y, x]");
        check(plane().permute(&[label("x")]), "an order of 1 dimensions for 2");
    }

    #[test]
    fn flip_keeps_a_bounded_domain() {
        let t = bounded(serde_json::json!({"inclusive_min": [3], "exclusive_max": [[8]]}));
        check(t.flip(&[DimRef::Position(0)]), "[_: 3*..8] -> [10 - #0]");
        let half = bounded(serde_json::json!({"inclusive_min": [3], "exclusive_max": ["+inf"]}));
        check(half.flip(&[DimRef::Position(0)]), "[_: -inf..-2] -> [-#0]");
    }

    #[test]
    fn shrink_expand_squeeze_and_unfold() {
        let t = bounded(
            serde_json::json!({"inclusive_min": [3, 5], "exclusive_max": [8, 6], "labels": ["x", "c"]}),
        );
        check(t.shrink(&[label("x")], &[Interval::new(4, 6).ok()]), "[x: 2, c: 5..6] -> [4 + x, c]");
        check(t.expand(&[Some(2), None, Some(4)]), "[_: 2, x: 3..8, c: 5..9] -> [x, 5]");
        check(
            t.expand(&[Some(2), None]),
            "`x: 3..8` cannot be expanded to 2 elements, only a dimension of size 1 can",
        );
        check(t.squeeze(), "[x: 3..8] -> [x, 5]");
        check(t.unfold(&label("x"), 3, 2), "[x: 2, c: 5..6, _: 3] -> [3 + 2*x + #2, c]");
        check(t.unfold(&label("x"), 5, 1), "[x: 1, c: 5..6, _: 5] -> [3 + x + #2, c]");
        check(t.unfold(&label("x"), 0, 1), "[x: 6, c: 5..6, _: 0] -> [3 + x + #2, c]");
        for (size, step) in [(6, 1), (-1, 1), (3, 0), (3, -1)] {
            let expect = format!("windows of {size} elements every {step} do not fit 5 elements");
            check(t.unfold(&label("x"), size, step), &expect);
        }
    }

    #[test]
    fn the_language_names_new_dimensions() {
        let t = bounded(serde_json::json!({"shape": [4, 6], "labels": ["y", "x"]}));
        check(t.diagonal_labelled(&[label("y"), label("x")], "d"), "[d: 4] -> [d, d]");
        check(t.add_dim("c"), "[c: 0*..1*, y: 4, x: 6] -> [y, x]");
        let tables =
            [IndexArray::new(vec![2], vec![3, 1]).unwrap(), IndexArray::new(vec![2], vec![0, 5]).unwrap()];
        check(t.vindex_labelled(&[label("y"), label("x")], &tables, "i"), "[i: 2] -> [table(i), table(i)]");
        check(t.implicit(&[label("y")]), "[y: 0*..4*, x: 6] -> [y, x]");
    }
}
