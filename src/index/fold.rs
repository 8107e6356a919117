//! Folds a stack of views into one view, or one view behind a box-shaped guard.
//!
//! ```text
//! [6, 4]  permute [1, 0]  reshape [8, 3]  reshape [4, 6]    two views, yet all of it is  [4, 6]:(1, 4)+0
//! [4]     pad [2..2]      reshape [4, 2]                    [4, 2]:(2, 1)-2  where the first index is in 1..3
//! ```
//!
//! Walking inwards, the position in the elements of each stage is affine in the outer index. It is split into the
//! axes of that stage by division with remainder: the coefficients are read off at one corner and its neighbours, and
//! if no axis overflows anywhere in the box, the split is affine too (a number has only one such representation).
//! Pads become conditions `lo <= affine < hi`, which must cut the box down to a box. Where this fails although a
//! view exists (digits that carry but cancel), small results are settled by looking at every element.

use super::array::advance;
use super::chain::{Chain, Stage};
use super::view::{MAX_ENUMERATED, View};

/// A chain in one piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Folded {
    /// A view of the base, in canonical form.
    View(View),
    /// A view of the base where the index is in the box `mask`, padding elsewhere. The view may reach outside
    /// the storage where the mask forbids it.
    Masked {
        /// Strides are 0 along axes where the mask has size 1.
        view: View,
        /// `lo..hi` of each axis.
        mask: Vec<(i64, i64)>,
    },
    /// Padding everywhere.
    Padding,
}

/// The chain as one piece, or `None` if it is none, or too large and irregular to tell.
pub fn fold(chain: &Chain) -> Option<Folded> {
    let shape = chain.shape();
    if let Some(view) = chain.as_view().or(Some(chain.last()).filter(|view| view.is_empty())) {
        return Some(Folded::View(view.canonical()));
    }
    let solved = walk_inwards(chain).or_else(|| enumerate(chain))?;
    match solved {
        Region::Nothing => Some(Folded::Padding),
        Region::Box(guarded) => guarded.into_folded(shape),
    }
}

/// `offset + Σ strides[k] * index[k]`.
#[derive(Clone, Debug)]
struct Row {
    offset: i64,
    strides: Vec<i64>,
}

/// An affine map that holds in a box, and padding outside.
struct Guarded {
    /// `lo..hi` of each index, never empty.
    bounds: Vec<(i64, i64)>,
    row: Row,
}

/// Where the result is not padding.
enum Region {
    Nothing,
    Box(Guarded),
}

/// One axis of a stage, after axes that act as one have been merged.
#[derive(Clone, Copy)]
struct Axis {
    size: i64,
    stride: i64,
    before: i64,
    after: i64,
}

impl Guarded {
    fn into_folded(self, shape: &[i64]) -> Option<Folded> {
        let whole = self.bounds.iter().zip(shape).all(|(&(lo, hi), &size)| lo == 0 && hi == size);
        let row = self.row.without_fixed(&self.bounds)?;
        let view = View { shape: shape.to_vec(), strides: row.strides, offset: row.offset };
        Some(if whole { Folded::View(view.canonical()) } else { Folded::Masked { view, mask: self.bounds } })
    }
}

impl Row {
    /// The value at an index; `None` if it does not fit.
    fn at(&self, index: impl Iterator<Item = i64>) -> Option<i64> {
        let step = |sum: i64, (stride, i): (&i64, i64)| sum.checked_add(stride.checked_mul(i)?);
        self.strides.iter().zip(index).try_fold(self.offset, step)
    }

    /// The row with those strides that has `value` at the low corner.
    fn through(value: i64, strides: Vec<i64>, bounds: &[(i64, i64)]) -> Option<Row> {
        let offset = Row { offset: 0, strides: strides.clone() }.at(bounds.iter().map(|b| b.0))?;
        Some(Row { offset: value.checked_sub(offset)?, strides })
    }

    /// The smallest and largest value over a box.
    fn range(&self, bounds: &[(i64, i64)]) -> Option<(i64, i64)> {
        let low = |(&(lo, hi), &stride): (&(i64, i64), &i64)| if stride < 0 { hi - 1 } else { lo };
        let high = |(&(lo, hi), &stride): (&(i64, i64), &i64)| if stride < 0 { lo } else { hi - 1 };
        let pairs = || bounds.iter().zip(&self.strides);
        Some((self.at(pairs().map(low))?, self.at(pairs().map(high))?))
    }

    /// The same values over the box, with stride 0 along axes that have one index only.
    fn without_fixed(mut self, bounds: &[(i64, i64)]) -> Option<Row> {
        for (stride, &(lo, hi)) in self.strides.iter_mut().zip(bounds) {
            if hi - lo == 1 {
                self.offset = self.offset.checked_add(stride.checked_mul(lo)?)?;
                *stride = 0;
            }
        }
        Some(self)
    }
}

/// Composes the stages from the outermost to the base; `None` where the positions do not split evenly.
fn walk_inwards(chain: &Chain) -> Option<Region> {
    let (last, inner) = chain.stages().split_last()?;
    let bounds: Vec<(i64, i64)> = last.view.shape.iter().map(|&size| (0, size)).collect();
    let row = Row { offset: last.view.offset, strides: last.view.strides.clone() };
    let mut guarded = Guarded { row: row.without_fixed(&bounds)?, bounds };
    for stage in inner.iter().rev() {
        match step_through(stage, guarded)? {
            Region::Nothing => return Some(Region::Nothing),
            Region::Box(next) => guarded = next,
        }
    }
    Some(Region::Box(guarded))
}

/// From positions among the padded elements of `stage` to positions in what lies below it.
fn step_through(stage: &Stage, outer: Guarded) -> Option<Region> {
    let axes = merged_axes(stage);
    let digits = split(&outer, &axes)?;
    let mut bounds = outer.bounds;
    if !tighten(&mut bounds, &digits, &axes)? {
        return Some(Region::Nothing);
    }
    let mut row = Row { offset: stage.view.offset, strides: vec![0; bounds.len()] };
    for (digit, axis) in digits.iter().zip(&axes) {
        row.offset =
            row.offset.checked_add((digit.offset.checked_sub(axis.before)?).checked_mul(axis.stride)?)?;
        for (sum, &stride) in row.strides.iter_mut().zip(&digit.strides) {
            *sum = sum.checked_add(stride.checked_mul(axis.stride)?)?;
        }
    }
    Some(Region::Box(Guarded { row: row.without_fixed(&bounds)?, bounds }))
}

/// The axes of a stage, outermost first, where neighbours that are contiguous below and not padded between are one.
fn merged_axes(stage: &Stage) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    let view = &stage.view;
    for ((&size, &stride), (before, after)) in view.shape.iter().zip(&view.strides).zip(stage.pads()) {
        let axis = Axis { size, stride, before, after };
        let merged = axes.last().and_then(|outer| outer.merge(axis));
        if let Some(merged) = merged {
            axes.pop();
            axes.push(merged);
        } else {
            axes.push(axis);
        }
    }
    axes
}

impl Axis {
    fn padded(self) -> i64 {
        self.size + self.before + self.after
    }

    /// The two as one axis, if stepping along `inner` off its end is a step along `self`.
    fn merge(self, inner: Axis) -> Option<Axis> {
        if inner.before != 0 || inner.after != 0 {
            return None;
        }
        if inner.size == 1 {
            return Some(self);
        }
        let contiguous = self.size == 1 || Some(self.stride) == inner.stride.checked_mul(inner.size);
        let n = inner.size;
        contiguous.then_some(Axis {
            size: self.size * n,
            stride: inner.stride,
            before: self.before * n,
            after: self.after * n,
        })
    }
}

/// The position along each axis as an affine map of the outer index, if each is one over the whole box.
fn split(outer: &Guarded, axes: &[Axis]) -> Option<Vec<Row>> {
    let corner = outer.row.at(outer.bounds.iter().map(|b| b.0))?;
    let start = digits(corner, axes);
    let mut strides = vec![vec![0; outer.bounds.len()]; axes.len()];
    for (k, &step) in outer.row.strides.iter().enumerate() {
        let next = digits(corner.checked_add(step)?, axes);
        for (stride, (a, b)) in strides.iter_mut().zip(next.iter().zip(&start)) {
            stride[k] = a - b;
        }
    }
    let row = |(value, strides): (i64, Vec<i64>)| Row::through(value, strides, &outer.bounds);
    let rows: Vec<Row> = start.into_iter().zip(strides).map(row).collect::<Option<_>>()?;
    let stays = |(row, axis): (&Row, &Axis)| {
        row.range(&outer.bounds).is_some_and(|(lo, hi)| 0 <= lo && hi < axis.padded())
    };
    rows.iter().zip(axes).all(stays).then_some(rows)
}

/// `flat` as one position per axis.
fn digits(flat: i64, axes: &[Axis]) -> Vec<i64> {
    let mut rest = flat;
    let mut digits: Vec<i64> = axes
        .iter()
        .rev()
        .map(|axis| {
            let digit = rest % axis.padded();
            rest /= axis.padded();
            digit
        })
        .collect();
    digits.reverse();
    digits
}

/// Cuts the box down to where no digit is in a pad: `Some(false)` if nothing is left, `None` if what is left is no box.
fn tighten(bounds: &mut [(i64, i64)], digits: &[Row], axes: &[Axis]) -> Option<bool> {
    let conditions = || digits.iter().zip(axes).filter(|(_, axis)| axis.before != 0 || axis.after != 0);
    // Each round narrows what the one before has left; a handful suffices for anything regular.
    for _ in 0..4 {
        for (digit, axis) in conditions() {
            let (lo, hi) = digit.range(bounds)?;
            let (first, last) = (axis.before, axis.before + axis.size - 1);
            if hi < first || last < lo {
                return Some(false);
            }
            narrow(bounds, digit, hi - first, last - lo);
            if bounds.iter().any(|(lo, hi)| lo >= hi) {
                return Some(false);
            }
        }
    }
    let holds = |(digit, axis): (&Row, &Axis)| {
        digit.range(bounds).is_some_and(|(lo, hi)| axis.before <= lo && hi < axis.before + axis.size)
    };
    conditions().all(holds).then_some(true)
}

/// Drops the indices that alone take the digit further from its largest value than `from_top`, or further from its
/// smallest than `from_bottom`.
fn narrow(bounds: &mut [(i64, i64)], digit: &Row, from_top: i64, from_bottom: i64) {
    for ((lo, hi), &stride) in bounds.iter_mut().zip(&digit.strides).filter(|(_, stride)| **stride != 0) {
        let (down, up) = (from_top / stride.abs(), from_bottom / stride.abs());
        let (old_lo, old_hi) = (*lo, *hi);
        let (from_hi, from_lo) = if stride > 0 { (down, up) } else { (up, down) };
        *lo = old_lo.max(old_hi - 1 - from_hi);
        *hi = old_hi.min(old_lo.saturating_add(from_lo).saturating_add(1));
    }
}

/// Looks at every element of a small result; `None` if it is large, or no box, or not affine.
fn enumerate(chain: &Chain) -> Option<Region> {
    let shape = chain.shape();
    if chain.last().len() > MAX_ENUMERATED {
        return None;
    }
    let mut bounds: Vec<(i64, i64)> = shape.iter().map(|&size| (size, 0)).collect();
    let mut valid = 0i64;
    let mut index = vec![0; shape.len()];
    for element in chain.gather() {
        if element.is_some() {
            valid += 1;
            for ((lo, hi), &i) in bounds.iter_mut().zip(&index) {
                (*lo, *hi) = ((*lo).min(i), (*hi).max(i + 1));
            }
        }
        advance(&mut index, shape);
    }
    if valid == 0 {
        return Some(Region::Nothing);
    }
    let volume: i64 = bounds.iter().map(|(lo, hi)| hi - lo).product();
    let row = fit(chain, &bounds).filter(|_| volume == valid)?;
    Some(Region::Box(Guarded { row, bounds }))
}

/// The affine map that agrees with the chain at every index of the box.
fn fit(chain: &Chain, bounds: &[(i64, i64)]) -> Option<Row> {
    let mut index: Vec<i64> = bounds.iter().map(|b| b.0).collect();
    let corner = chain.element(&index)?;
    let mut strides = vec![0; bounds.len()];
    for (k, &(lo, hi)) in bounds.iter().enumerate() {
        if hi - lo > 1 {
            index[k] = lo + 1;
            strides[k] = chain.element(&index)? - corner;
            index[k] = lo;
        }
    }
    let row = Row::through(corner, strides, bounds)?;
    let sizes: Vec<i64> = bounds.iter().map(|(lo, hi)| hi - lo).collect();
    let mut relative = vec![0; sizes.len()];
    for _ in 0..sizes.iter().product() {
        let at: Vec<i64> = relative.iter().zip(bounds).map(|(i, b)| i + b.0).collect();
        if chain.element(&at) != row.at(at.iter().copied()) {
            return None;
        }
        advance(&mut relative, &sizes);
    }
    Some(row)
}

#[cfg(test)]
mod tests {
    use super::super::chain::fold_movement;
    use super::super::movement::{Movement, Ranges};
    use super::*;

    fn check(shape: &[i64], movements: &[Movement], expect: &str) {
        let folded = match fold(&fold_movement(shape, movements).unwrap()) {
            None => "none".to_owned(),
            Some(Folded::Padding) => "padding".to_owned(),
            Some(Folded::View(view)) => view.to_string(),
            Some(Folded::Masked { view, mask }) => format!("{view} where [{}]", Ranges(&mask)),
        };
        assert_eq!(folded, expect);
    }

    #[test]
    fn a_detour_through_another_shape_folds() {
        let there_and_back =
            [Movement::Permute(vec![1, 0]), Movement::Reshape(vec![8, 3]), Movement::Reshape(vec![4, 6])];
        check(&[6, 4], &there_and_back, "shape [4, 6] strides [1, 4] offset 0");
        check(&[6, 4], &there_and_back[..2], "none");
    }

    #[test]
    fn sizes_do_not_matter() {
        let n = 1 << 20;
        let ops = [
            Movement::Permute(vec![1, 0]),
            Movement::Flatten,
            Movement::Reshape(vec![n, n]),
            Movement::Shrink(vec![(5, 9), (7, n)]),
        ];
        check(&[n, n], &ops, "shape [4, 1048569] strides [1, 1048576] offset 7340037");
        let turned = [Movement::Flip(vec![0]), ops[0].clone(), Movement::Flatten, ops[2].clone()];
        check(&[n, n], &turned, "shape [1048576, 1048576] strides [1, -1048576] offset 1099510579200");
        let odd = [ops[0].clone(), Movement::Flatten, Movement::Reshape(vec![2 * n, n / 2])];
        check(&[n, n], &odd, "none");
    }

    #[test]
    fn neighbours_act_as_one_axis() {
        let ops = [Movement::Permute(vec![2, 0, 1]), Movement::Flatten, Movement::Reshape(vec![4, 1 << 20])];
        check(&[1 << 10, 1 << 10, 4], &ops, "shape [4, 1048576] strides [1, 4] offset 0");
        // Not those with a pad between them.
        let ops = [Movement::Pad(vec![(0, 0), (1, 0)]), Movement::Flatten, Movement::Shrink(vec![(1, 4)])];
        check(&[2, 3], &ops, "shape [3] strides [1] offset 0");
        // And nobody goes over the end of an axis.
        let ops = [Movement::Permute(vec![1, 0]), Movement::Flatten, Movement::Shrink(vec![(0, 4)])];
        check(&[3, 2], &ops, "none");
    }

    #[test]
    fn pads_become_a_box() {
        check(
            &[4],
            &[Movement::Pad(vec![(2, 2)]), Movement::Reshape(vec![4, 2])],
            "shape [4, 2] strides [2, 1] offset -2 where [1..3, 0..2]",
        );
        check(&[7], &[Movement::Pad(vec![(0, 2)]), Movement::Reshape(vec![3, 3])], "none");
        let pairs = Movement::Unfold { axis: 0, size: 2, step: 1 };
        check(&[4], &[Movement::Pad(vec![(2, 1)]), Movement::Shrink(vec![(2, 7)]), pairs], "none");
        check(&[3], &[Movement::Pad(vec![(0, 2)]), Movement::Shrink(vec![(3, 5)])], "padding");
        check(
            &[3],
            &[Movement::Pad(vec![(1, 2)]), Movement::Shrink(vec![(1, 4)])],
            "shape [3] strides [1] offset 0",
        );
    }

    #[test]
    fn pads_of_any_size_become_a_box() {
        let n = 1 << 20;
        let pairs = [Movement::Pad(vec![(2, 2)]), Movement::Reshape(vec![n / 2 + 2, 2])];
        check(&[n], &pairs, "shape [524290, 2] strides [2, 1] offset -2 where [1..524289, 0..2]");
        let back = [pairs[0].clone(), pairs[1].clone(), Movement::Flip(vec![0, 1])];
        check(&[n], &back, "shape [524290, 2] strides [-2, -1] offset 1048577 where [1..524289, 0..2]");
        let less = [pairs[0].clone(), Movement::Shrink(vec![(1, n + 4)])];
        check(&[n], &less, "shape [1048579] strides [1] offset -1 where [1..1048577]");
        let pads = Movement::Pad(vec![(1, 1), (0, 0)]);
        let row = |row| [Movement::Permute(vec![1, 0]), pads.clone(), Movement::Shrink(vec![row, (0, n)])];
        check(&[n, 2], &row((0, 1)), "padding");
        check(&[n, 2], &row((3, 4)), "padding");
    }

    #[test]
    fn carries_that_cancel_are_found_by_looking() {
        let odd = Movement::AsStrided { shape: vec![2, 2, 2], strides: vec![5, 3, 1], offset: Some(0) };
        check(
            &[10],
            &[odd, Movement::Flatten, Movement::Shrink(vec![(3, 6)])],
            "shape [3] strides [1] offset 4",
        );
    }
}
