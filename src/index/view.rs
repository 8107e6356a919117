//! Views: shape, strides and offset over a row of storage.
//!
//! ```text
//! [2, 3]:(3, 1)+0     permute [1, 0]  ->  [3, 2]:(1, 3)+0     flip [0]  ->  [3, 2]:(-1, 3)+2
//! ```
//!
//! Element `i` lies at `offset + Σ strides[k] * i[k]`. Every movement op maps a view to a view, except a pad, and a
//! reshape whose new axes would have to step unevenly; torch's view rule decides the latter.

use super::array::advance;
use super::interval::gcd;
use super::movement::{Movement, MovementError, MovementErrorKind as Kind, axis, count, fail, infer_shape};
use super::reshape::{reshape_strides, row_major_strides};
use std::fmt;

/// A strided window on storage. Strides of axes of size 0 or 1 are as torch would have them; see [`View::canonical`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct View {
    /// Elements along each axis.
    pub shape: Vec<i64>,
    /// Elements of storage from one index to the next; may be negative, 0 repeats.
    pub strides: Vec<i64>,
    /// Element of storage at index 0.
    pub offset: i64,
}

/// What a movement op makes of a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moved {
    /// Another view of the same storage.
    View(View),
    /// No view can say it.
    NotAView(NotAView),
}

/// Why an op leaves the world of strides, and the shape that it gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAView {
    /// A reshape to this shape would need uneven steps.
    Reshape(Vec<i64>),
    /// Cells before and after each axis have no storage.
    Pad(Vec<(i64, i64)>),
}

type Result<T> = std::result::Result<T, MovementError>;

/// The largest view whose elements are looked at one by one when no closed form decides.
pub(crate) const MAX_ENUMERATED: i64 = 1 << 16;

impl View {
    /// The whole of a row-major array.
    pub fn row_major(shape: &[i64]) -> Result<View> {
        if let Some(size) = shape.iter().find(|&&size| size < 0) {
            return fail(Kind::ReshapeNegative, format!("a size of {size}"));
        }
        count(shape)?;
        Ok(View { shape: shape.to_vec(), strides: row_major_strides(shape)?, offset: 0 })
    }

    /// How many elements.
    pub fn len(&self) -> i64 {
        // An empty view may have other axes whose product does not fit.
        if self.is_empty() { 0 } else { self.shape.iter().product() }
    }

    /// Whether it has no element.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// The element of storage at an index, which must be in range.
    pub fn at(&self, index: &[i64]) -> i64 {
        self.offset + self.strides.iter().zip(index).map(|(stride, i)| stride * i).sum::<i64>()
    }

    /// The elements of storage in row-major order.
    pub fn elements(&self) -> impl Iterator<Item = i64> + '_ {
        let mut index = vec![0; self.shape.len()];
        (0..self.len()).map(move |_| {
            let element = self.at(&index);
            advance(&mut index, &self.shape);
            element
        })
    }

    /// The one way to write it: stride 0 along axes of size 1; no strides and no offset when it is empty.
    #[must_use]
    pub fn canonical(&self) -> View {
        let empty = self.is_empty();
        let stride = |(&size, &stride): (&i64, &i64)| if empty || size == 1 { 0 } else { stride };
        let strides = self.shape.iter().zip(&self.strides).map(stride).collect();
        View { shape: self.shape.clone(), strides, offset: if empty { 0 } else { self.offset } }
    }

    /// Whether its elements lie side by side in row-major order, wherever they start.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        self.is_empty()
            || self.shape.iter().zip(&self.strides).rev().filter(|&(&size, _)| size != 1).all(
                |(&size, &stride)| {
                    let fits = stride == expected;
                    expected *= size;
                    fits
                },
            )
    }

    /// Smallest and largest element of storage it touches, or `None` when it is empty.
    pub fn extent(&self) -> Option<(i64, i64)> {
        if self.is_empty() {
            return None;
        }
        let reach = |(&size, &stride): (&i64, &i64)| (size - 1) * stride;
        let reaches = self.shape.iter().zip(&self.strides).map(reach);
        Some(reaches.fold((self.offset, self.offset), |(lo, hi), r| (lo + r.min(0), hi + r.max(0))))
    }

    /// Whether no element of storage appears twice, so that writing through the view is safe.
    ///
    /// Exact for up to two axes and for up to 65536 elements; a larger view whose axes interlock counts as unsafe.
    pub fn is_injective(&self) -> bool {
        let mut axes: Vec<(i64, i64)> = self
            .shape
            .iter()
            .zip(&self.strides)
            .filter(|&(&n, _)| n > 1)
            .map(|(&n, s)| (s.abs(), n))
            .collect();
        axes.sort_unstable();
        if self.is_empty() || nested(&axes) {
            return true;
        }
        if let [(a, n), (b, m)] = axes[..] {
            // Two axes meet where a * i == b * j, first at the least common multiple.
            return a != 0 && {
                let g = gcd(a, b);
                b / g >= n || a / g >= m
            };
        }
        self.len() <= MAX_ENUMERATED && all_different(self.elements())
    }

    /// What `movement` makes of it; `storage` is how many elements there are to look at.
    pub fn apply(&self, movement: &Movement, storage: i64) -> Result<Moved> {
        match movement {
            Movement::Reshape(shape) => self.reshape(&infer_shape(shape, self.len())?),
            Movement::Flatten => self.reshape(&[self.len()]),
            Movement::Pad(pads) => self.pad(pads),
            Movement::Permute(order) => self.permute(order).map(Moved::View),
            Movement::Expand(shape) => self.expand(shape).map(Moved::View),
            Movement::Shrink(ranges) => self.shrink(ranges).map(Moved::View),
            Movement::Flip(axes) => self.flip(axes).map(Moved::View),
            &Movement::Slice { axis, start, stop, step } => {
                self.slice(axis, start, stop, step).map(Moved::View)
            }
            &Movement::Unfold { axis, size, step } => self.unfold(axis, size, step).map(Moved::View),
            &Movement::Diagonal { axis1, axis2, offset } => {
                self.diagonal(axis1, axis2, offset).map(Moved::View)
            }
            Movement::AsStrided { shape, strides, offset } => {
                as_strided(shape, strides, offset.unwrap_or(self.offset), storage).map(Moved::View)
            }
            Movement::Squeeze => Ok(Moved::View(self.squeeze())),
        }
    }

    fn rank(&self) -> usize {
        self.shape.len()
    }

    fn reshape(&self, shape: &[i64]) -> Result<Moved> {
        Ok(match reshape_strides(self, shape)? {
            Some(strides) => Moved::View(View { shape: shape.to_vec(), strides, offset: self.offset }),
            None => Moved::NotAView(NotAView::Reshape(shape.to_vec())),
        })
    }

    fn pad(&self, pads: &[(i64, i64)]) -> Result<Moved> {
        self.check_arity(pads.len())?;
        if let Some((before, after)) = pads.iter().find(|&&(before, after)| before < 0 || after < 0) {
            return fail(Kind::PadNegative, format!("{before} cells before and {after} after"));
        }
        if pads.iter().all(|&pad| pad == (0, 0)) {
            return Ok(Moved::View(self.clone()));
        }
        Ok(Moved::NotAView(NotAView::Pad(pads.to_vec())))
    }

    fn check_arity(&self, entries: usize) -> Result<()> {
        if entries == self.rank() {
            return Ok(());
        }
        fail(Kind::Arity, format!("{entries} entries for {} axes", self.rank()))
    }

    fn permute(&self, order: &[i64]) -> Result<View> {
        let axes = order.iter().map(|&at| axis(at, self.rank())).collect::<Result<Vec<_>>>()?;
        let once = (0..self.rank()).all(|at| axes.iter().filter(|&&a| a == at).count() == 1);
        if axes.len() != self.rank() || !once {
            return fail(
                Kind::NotPermutation,
                format!("{order:?} does not name each of {} axes once", self.rank()),
            );
        }
        let pick = |list: &[i64]| axes.iter().map(|&at| list[at]).collect();
        Ok(View { shape: pick(&self.shape), strides: pick(&self.strides), offset: self.offset })
    }

    fn expand(&self, target: &[i64]) -> Result<View> {
        let Some(added) = target.len().checked_sub(self.rank()) else {
            return fail(Kind::ExpandRank, format!("{} sizes for {} axes", target.len(), self.rank()));
        };
        let (mut shape, mut strides) = (Vec::new(), Vec::new());
        for ((&size, &stride), &wanted) in self.shape.iter().zip(&self.strides).zip(&target[added..]) {
            let (size, stride) = expand_axis(size, stride, wanted)?;
            shape.push(size);
            strides.push(stride);
        }
        for &wanted in target[..added].iter().rev() {
            if wanted < 0 {
                return fail(Kind::ExpandNewNegative, format!("an added axis of size {wanted}"));
            }
            // As in torch, an added axis of size 1 steps over everything behind it.
            let behind =
                shape.first().zip(strides.first()).map_or(0, |(&size, &stride)| stride.saturating_mul(size));
            strides.insert(0, if wanted == 1 { behind } else { 0 });
            shape.insert(0, wanted);
        }
        count(&shape)?;
        Ok(View { shape, strides, offset: self.offset })
    }

    fn shrink(&self, ranges: &[(i64, i64)]) -> Result<View> {
        self.check_arity(ranges.len())?;
        let mut view = self.clone();
        for (at, &(lo, hi)) in ranges.iter().enumerate() {
            let size = self.shape[at];
            if lo < 0 || hi < lo || size < hi {
                return fail(Kind::ShrinkRange, format!("{lo}..{hi} is not within 0..{size} of axis {at}"));
            }
            view.shape[at] = hi - lo;
            view.offset = step_to(view.offset, lo, self.strides[at]);
        }
        Ok(view)
    }

    fn flip(&self, axes: &[i64]) -> Result<View> {
        let mut view = self.clone();
        let resolved = axes.iter().map(|&at| axis(at, self.rank())).collect::<Result<Vec<_>>>()?;
        for (i, &at) in resolved.iter().enumerate() {
            if resolved[..i].contains(&at) {
                return fail(Kind::DuplicateAxis, format!("axis {at} is flipped twice"));
            }
            view.offset = step_to(view.offset, (view.shape[at] - 1).max(0), view.strides[at]);
            view.strides[at] = view.strides[at].saturating_neg();
        }
        Ok(view)
    }

    fn slice(&self, at: i64, start: i64, stop: i64, step: i64) -> Result<View> {
        let at = axis(at, self.rank())?;
        let size = self.shape[at];
        if step == 0 {
            return fail(Kind::ZeroStep, format!("a step of 0 along axis {at}"));
        }
        let fits = if step > 0 {
            0 <= start && start <= stop && stop <= size
        } else {
            -1 <= stop && stop <= start && start < size
        };
        if !fits {
            return fail(
                Kind::SliceRange,
                format!("{start}:{stop}:{step} is not within 0..{size} of axis {at}"),
            );
        }
        let elements = (stop - start).unsigned_abs().div_ceil(step.unsigned_abs());
        let mut view = self.clone();
        view.shape[at] = i64::try_from(elements).expect("no more than the axis has");
        if elements > 0 || step > 0 {
            view.offset = step_to(view.offset, start, self.strides[at]);
        }
        view.strides[at] = self.strides[at].saturating_mul(step);
        Ok(view)
    }

    fn unfold(&self, at: i64, size: i64, step: i64) -> Result<View> {
        let at = axis(at, self.rank())?;
        if step <= 0 {
            return fail(Kind::UnfoldStep, format!("windows every {step} elements"));
        }
        if size < 0 || size > self.shape[at] {
            return fail(
                Kind::UnfoldSize,
                format!("windows of {size} elements along axis {at} of size {}", self.shape[at]),
            );
        }
        let mut view = self.clone();
        let Some(windows) = ((self.shape[at] - size) / step).checked_add(1) else {
            return fail(Kind::Overflow, format!("too many windows of {size} elements every {step}"));
        };
        view.shape[at] = windows;
        view.strides[at] = self.strides[at].saturating_mul(step);
        view.shape.push(size);
        view.strides.push(self.strides[at]);
        count(&view.shape)?;
        Ok(view)
    }

    fn diagonal(&self, axis1: i64, axis2: i64, offset: i64) -> Result<View> {
        let (a, b) = (axis(axis1, self.rank())?, axis(axis2, self.rank())?);
        if a == b {
            return fail(Kind::DiagonalSameAxis, format!("the diagonal of axis {a} with itself"));
        }
        let (skip_a, skip_b) = (offset.saturating_neg().max(0), offset.max(0));
        let len = (self.shape[a].saturating_sub(skip_a)).min(self.shape[b].saturating_sub(skip_b)).max(0);
        let mut view = self.clone();
        if len > 0 {
            view.offset = step_to(step_to(view.offset, skip_a, self.strides[a]), skip_b, self.strides[b]);
        }
        for at in [a.max(b), a.min(b)] {
            view.shape.remove(at);
            view.strides.remove(at);
        }
        view.shape.push(len);
        view.strides.push(self.strides[a].saturating_add(self.strides[b]));
        Ok(view)
    }

    fn squeeze(&self) -> View {
        let kept = || (0..self.rank()).filter(|&at| self.shape[at] != 1);
        let pick = |list: &[i64]| kept().map(|at| list[at]).collect();
        View { shape: pick(&self.shape), strides: pick(&self.strides), offset: self.offset }
    }
}

impl NotAView {
    /// The shape after the op, given the shape before it.
    pub fn shape(&self, before: &[i64]) -> Result<Vec<i64>> {
        match self {
            NotAView::Reshape(shape) => Ok(shape.clone()),
            NotAView::Pad(pads) => {
                let sum = |(&size, &(lo, hi)): (&i64, &(i64, i64))| size.checked_add(lo)?.checked_add(hi);
                let shape: Option<Vec<i64>> = before.iter().zip(pads).map(sum).collect();
                shape.map_or_else(|| fail(Kind::Overflow, format!("pads of {pads:?} are too large")), Ok)
            }
        }
    }
}

/// `offset + index * stride`. It saturates only where no element is: strides along axes of size 0 or 1 may be anything.
fn step_to(offset: i64, index: i64, stride: i64) -> i64 {
    offset.saturating_add(index.saturating_mul(stride))
}

fn expand_axis(size: i64, stride: i64, wanted: i64) -> Result<(i64, i64)> {
    if wanted == -1 || wanted == size {
        Ok((size, stride))
    } else if size == 1 && wanted >= 0 {
        Ok((wanted, 0))
    } else {
        fail(Kind::ExpandMismatch, format!("an axis of size {size} cannot be expanded to {wanted}"))
    }
}

fn as_strided(shape: &[i64], strides: &[i64], offset: i64, storage: i64) -> Result<View> {
    if shape.len() != strides.len() {
        return fail(Kind::Arity, format!("{} strides for {} axes", strides.len(), shape.len()));
    }
    if let Some(size) = shape.iter().find(|&&size| size < 0) {
        return fail(Kind::AsStridedNegativeSize, format!("a size of {size}"));
    }
    let reach = |(&size, &stride): (&i64, &i64)| i128::from(size - 1) * i128::from(stride);
    let reaches = || shape.iter().zip(strides).map(reach);
    let empty = shape.contains(&0);
    let lowest = i128::from(offset) + if empty { 0 } else { reaches().map(|r| r.min(0)).sum() };
    let highest = i128::from(offset) + reaches().map(|r| r.max(0)).sum::<i128>();
    if lowest < 0 || (!empty && highest >= i128::from(storage)) {
        let message = format!("elements {lowest} to {highest} of a storage of {storage}");
        return fail(Kind::AsStridedOutOfBounds, message);
    }
    count(shape)?;
    Ok(View { shape: shape.to_vec(), strides: strides.to_vec(), offset })
}

/// Whether each axis steps over all that the smaller ones reach; axes are (stride, size) by ascending stride.
fn nested(axes: &[(i64, i64)]) -> bool {
    let mut reach = 0i64;
    axes.iter().all(|&(stride, size)| {
        let clear = stride > reach;
        reach = reach.saturating_add(stride.saturating_mul(size - 1));
        clear
    })
}

/// Whether no number comes twice.
pub(crate) fn all_different(numbers: impl Iterator<Item = i64>) -> bool {
    let mut sorted: Vec<i64> = numbers.collect();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shape {:?} strides {:?} offset {}", self.shape, self.strides, self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(shape: &[i64], movements: &[Movement], expect: &str) {
        let mut view = View::row_major(shape).unwrap();
        for movement in movements {
            view = match view.apply(movement, shape.iter().product()) {
                Ok(Moved::View(view)) => view,
                Ok(Moved::NotAView(why)) => return assert_eq!(format!("{why:?}"), expect),
                Err(error) => return assert_eq!(format!("{}: {error}", error.kind), expect),
            };
        }
        assert_eq!(view.to_string(), expect);
    }

    #[test]
    fn ops_that_only_move_strides() {
        let turned = [Movement::Permute(vec![1, 0]), Movement::Flip(vec![0])];
        check(&[2, 3], &turned, "shape [3, 2] strides [-1, 3] offset 2");
        check(
            &[4],
            &[Movement::Slice { axis: 0, start: 3, stop: -1, step: -2 }],
            "shape [2] strides [-2] offset 3",
        );
        check(
            &[6],
            &[Movement::Unfold { axis: 0, size: 4, step: 2 }],
            "shape [2, 4] strides [2, 1] offset 0",
        );
        check(
            &[6],
            &[Movement::Unfold { axis: 0, size: 0, step: 1 }],
            "shape [7, 0] strides [1, 1] offset 0",
        );
        check(
            &[3, 4],
            &[Movement::Diagonal { axis1: 0, axis2: 1, offset: 1 }],
            "shape [3] strides [5] offset 1",
        );
        check(&[1, 3], &[Movement::Expand(vec![2, 4, 3])], "shape [2, 4, 3] strides [0, 0, 1] offset 0");
        check(&[3], &[Movement::Expand(vec![0, 3])], "shape [0, 3] strides [0, 1] offset 0");
        check(&[], &[Movement::Expand(vec![1, 4])], "shape [1, 4] strides [0, 0] offset 0");
        check(&[1, 3, 1], &[Movement::Squeeze], "shape [3] strides [1] offset 0");
        let nothing = |step| Movement::Slice { axis: 0, start: 2, stop: 2, step };
        check(&[4], &[nothing(1)], "shape [0] strides [1] offset 2");
        check(&[4], &[nothing(-1)], "shape [0] strides [-1] offset 0");
    }

    #[test]
    fn a_reshape_cuts_contiguous_runs() {
        let turned = Movement::Permute(vec![1, 0]);
        check(
            &[3, 4],
            &[turned.clone(), Movement::Reshape(vec![2, 2, -1])],
            "shape [2, 2, 3] strides [2, 1, 4] offset 0",
        );
        check(&[3, 4], &[turned.clone(), Movement::Flatten], "Reshape([12])");
        check(&[3, 4], &[turned, Movement::Pad(vec![(0, 1), (2, 0)])], "Pad([(0, 1), (2, 0)])");
    }

    #[test]
    fn errors_say_both_numbers() {
        check(&[16], &[Movement::Reshape(vec![17])], "reshape_size: 16 elements cannot be reshaped to [17]");
        check(
            &[2, 5],
            &[Movement::Shrink(vec![(0, 3), (0, 5)])],
            "shrink_range: 0..3 is not within 0..2 of axis 0",
        );
        let cut = |lo, hi| [Movement::Shrink(vec![(lo, hi)])];
        check(&[4], &cut(-1, 2), "shrink_range: -1..2 is not within 0..4 of axis 0");
        check(&[4], &cut(3, 2), "shrink_range: 3..2 is not within 0..4 of axis 0");
        let back = Movement::Slice { axis: 0, start: 4, stop: 1, step: -1 };
        check(&[4], &[back], "slice_range: 4:1:-1 is not within 0..4 of axis 0");
        check(&[3], &[Movement::Expand(vec![-1, 3])], "expand_new_neg: an added axis of size -1");
        check(&[2], &[Movement::Flip(vec![1])], "bad_axis: axis 1 does not exist, there are 1 axes");
        let beyond = Movement::AsStrided { shape: vec![3], strides: vec![2], offset: Some(1) };
        check(&[5], &[beyond], "as_strided_oob: elements 1 to 5 of a storage of 5");
    }

    /// The elements of a view, and whether it says that none comes twice.
    fn safe(shape: &[i64], strides: &[i64]) -> (View, bool) {
        let view = View { shape: shape.to_vec(), strides: strides.to_vec(), offset: 0 };
        let safe = view.is_injective();
        (view, safe)
    }

    #[test]
    fn writes_are_safe_when_no_element_comes_twice() {
        let ways = |most: i64| (2..5).flat_map(move |n| (0..most).map(move |stride| (n, stride)));
        for ((n, a), (m, b)) in ways(8).flat_map(|one| ways(8).map(move |other| (one, other))) {
            let (view, safe) = safe(&[n, m], &[a, -b]);
            assert_eq!(safe, all_different(view.elements()), "{view}");
        }
        assert!(safe(&[1, 5], &[0, 1]).1 && safe(&[0, 5], &[0, 0]).1);
        assert!(safe(&[2, 2, 2], &[4, 6, 7]).1 && !safe(&[2, 2, 2], &[1, 2, 3]).1);
        assert!(safe(&[1 << 10, 1 << 10, 4], &[1 << 12, 4, 1]).1, "however large");
    }

    #[test]
    fn a_view_reaches_from_its_smallest_element_to_its_largest() {
        let view = View { shape: vec![3, 2, 4], strides: vec![-2, 3, 0], offset: 9 };
        assert_eq!(view.extent(), view.elements().min().zip(view.elements().max()));
        assert_eq!(View { shape: vec![0, 2], strides: vec![9, 9], offset: 9 }.extent(), None);
    }

    #[test]
    fn strides_where_nothing_is_may_be_anything() {
        let empty = Movement::AsStrided { shape: vec![0, 5], strides: vec![1, i64::MAX], offset: Some(0) };
        let ops = [
            empty,
            Movement::Shrink(vec![(0, 0), (4, 5)]),
            Movement::Flip(vec![0, 1]),
            Movement::Reshape(vec![0]),
        ];
        check(&[4], &ops, "shape [0] strides [1] offset 9223372036854775807");
    }
}
