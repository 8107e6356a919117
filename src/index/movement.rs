//! Movement ops over bounded shapes, and what can be wrong with them.
//!
//! ```text
//! [2, 6]  reshape [3, -1]  ->  [3, 4]        permute [1, 0]  ->  [4, 3]
//! ```
//!
//! Axes may be counted from the back (`-1` is the last). How an op changes strides and offset is in the `view` module.

use std::fmt;

/// One movement op; sizes and positions are in elements, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Movement {
    /// The same elements in row-major order under another shape; one size may be -1 and is inferred.
    Reshape(Vec<i64>),
    /// Axes in another order.
    Permute(Vec<i64>),
    /// Axes of size 1 repeated; -1 keeps an axis; further axes may be added in front.
    Expand(Vec<i64>),
    /// `lo..hi` of each axis.
    Shrink(Vec<(i64, i64)>),
    /// Axes turned round.
    Flip(Vec<i64>),
    /// Cells added before and after, per axis.
    Pad(Vec<(i64, i64)>),
    /// Every `step`-th element of an axis from `start` up to `stop`; backwards if the step is negative, and then
    /// a stop of -1 is before the first element.
    Slice {
        /// Which axis.
        axis: i64,
        /// First element.
        start: i64,
        /// One past the last, in the direction of the step.
        stop: i64,
        /// Distance, not 0.
        step: i64,
    },
    /// Windows along an axis; the position in the window becomes the last axis.
    Unfold {
        /// Which axis.
        axis: i64,
        /// Elements in a window.
        size: i64,
        /// Distance between windows.
        step: i64,
    },
    /// The diagonal of two axes, as the last axis.
    Diagonal {
        /// The first axis.
        axis1: i64,
        /// The second axis.
        axis2: i64,
        /// How far above the main diagonal, below if negative.
        offset: i64,
    },
    /// Any strides over the storage; `None` keeps the offset.
    AsStrided {
        /// Size of each axis.
        shape: Vec<i64>,
        /// Elements of storage between neighbours.
        strides: Vec<i64>,
        /// Element of storage where the view starts.
        offset: Option<i64>,
    },
    /// Drops every axis of size 1.
    Squeeze,
    /// One axis with all elements.
    Flatten,
}

/// What is wrong with a movement op; prints as a word such as `reshape_size`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MovementErrorKind {
    /// An axis that does not exist.
    BadAxis,
    /// An axis given twice.
    DuplicateAxis,
    /// Not each axis exactly once.
    NotPermutation,
    /// Not one entry per axis.
    Arity,
    /// More than one size of -1.
    ReshapeManyInferred,
    /// A size below -1.
    ReshapeNegative,
    /// A size of -1 beside a size of 0 could be anything.
    ReshapeAmbiguous,
    /// Another number of elements.
    ReshapeSize,
    /// Fewer axes than before.
    ExpandRank,
    /// An added axis without a size.
    ExpandNewNegative,
    /// An axis that is not of size 1.
    ExpandMismatch,
    /// A range outside the axis.
    ShrinkRange,
    /// A negative number of cells.
    PadNegative,
    /// A step of 0.
    ZeroStep,
    /// A slice outside the axis.
    SliceRange,
    /// A window step that is not positive.
    UnfoldStep,
    /// A window larger than the axis.
    UnfoldSize,
    /// The diagonal of an axis with itself.
    DiagonalSameAxis,
    /// A negative size.
    AsStridedNegativeSize,
    /// Elements outside the storage.
    AsStridedOutOfBounds,
    /// More elements than 64 bits can count.
    Overflow,
}

/// A movement op that cannot apply, and why, in words fit for a diagnostic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovementError {
    /// The kind, for programs.
    pub kind: MovementErrorKind,
    /// One line with both numbers, for people.
    pub message: String,
}

impl MovementErrorKind {
    /// The word for it in recorded data and machine-readable output.
    pub fn as_str(self) -> &'static str {
        match self {
            MovementErrorKind::BadAxis => "bad_axis",
            MovementErrorKind::DuplicateAxis => "dup_axis",
            MovementErrorKind::NotPermutation => "not_permutation",
            MovementErrorKind::Arity => "arity",
            MovementErrorKind::ReshapeManyInferred => "reshape_many_inferred",
            MovementErrorKind::ReshapeNegative => "reshape_negative",
            MovementErrorKind::ReshapeAmbiguous => "reshape_ambiguous",
            MovementErrorKind::ReshapeSize => "reshape_size",
            MovementErrorKind::ExpandRank => "expand_rank",
            MovementErrorKind::ExpandNewNegative => "expand_new_neg",
            MovementErrorKind::ExpandMismatch => "expand_mismatch",
            MovementErrorKind::ShrinkRange => "shrink_range",
            MovementErrorKind::PadNegative => "pad_negative",
            MovementErrorKind::ZeroStep => "zero_step",
            MovementErrorKind::SliceRange => "slice_range",
            MovementErrorKind::UnfoldStep => "unfold_step",
            MovementErrorKind::UnfoldSize => "unfold_size",
            MovementErrorKind::DiagonalSameAxis => "diag_same_axis",
            MovementErrorKind::AsStridedNegativeSize => "as_strided_negative_size",
            MovementErrorKind::AsStridedOutOfBounds => "as_strided_oob",
            MovementErrorKind::Overflow => "overflow",
        }
    }
}

impl fmt::Display for MovementErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for MovementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for MovementError {}

/// The op as the language writes it, without a receiver: `.flip([0])`.
impl fmt::Display for Movement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Movement::Reshape(shape) => write!(f, ".reshape({shape:?})"),
            Movement::Permute(order) => write!(f, ".permute({order:?})"),
            Movement::Expand(shape) => write!(f, ".expand({shape:?})"),
            Movement::Shrink(ranges) => write!(f, ".shrink([{}])", Ranges(ranges)),
            Movement::Flip(axes) => write!(f, ".flip({axes:?})"),
            Movement::Pad(pads) => write!(f, ".pad([{}])", Ranges(pads)),
            Movement::Slice { axis, start, stop, step } => write!(f, ".slice({axis}, {start}:{stop}:{step})"),
            Movement::Unfold { axis, size, step } => write!(f, ".unfold({axis}, {size}, {step})"),
            Movement::Diagonal { axis1, axis2, offset } => {
                write!(f, ".diagonal([{axis1}, {axis2}], {offset})")
            }
            Movement::AsStrided { shape, strides, offset: Some(offset) } => {
                write!(f, ".as_strided({shape:?}, {strides:?}, {offset})")
            }
            Movement::AsStrided { shape, strides, offset: None } => {
                write!(f, ".as_strided({shape:?}, {strides:?})")
            }
            Movement::Squeeze => f.write_str(".squeeze()"),
            Movement::Flatten => f.write_str(".flatten()"),
        }
    }
}

/// Prints `0..2, 1..4`.
pub(crate) struct Ranges<'a>(pub(crate) &'a [(i64, i64)]);

impl fmt::Display for Ranges<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (lo, hi)) in self.0.iter().enumerate() {
            write!(f, "{}{lo}..{hi}", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// A [`MovementError`] of that kind.
pub(crate) fn fail<T>(kind: MovementErrorKind, message: impl Into<String>) -> Result<T, MovementError> {
    Err(MovementError { kind, message: message.into() })
}

/// The axis `at` of `rank`, counted from the back when negative.
pub(crate) fn axis(at: i64, rank: usize) -> Result<usize, MovementError> {
    let n = i64::try_from(rank).unwrap_or(i64::MAX);
    match usize::try_from(if at < 0 { at.saturating_add(n) } else { at }) {
        Ok(axis) if axis < rank => Ok(axis),
        Ok(_) | Err(_) => {
            fail(MovementErrorKind::BadAxis, format!("axis {at} does not exist, there are {rank} axes"))
        }
    }
}

/// The number of elements of a shape.
pub(crate) fn count(shape: &[i64]) -> Result<i64, MovementError> {
    if shape.contains(&0) {
        return Ok(0);
    }
    let product = shape.iter().try_fold(1i64, |n, &size| n.checked_mul(size));
    product.map_or_else(
        || fail(MovementErrorKind::Overflow, format!("the shape {shape:?} has too many elements")),
        Ok,
    )
}

/// The shape that `reshape` asks for, with a size of -1 worked out.
pub(crate) fn infer_shape(shape: &[i64], elements: i64) -> Result<Vec<i64>, MovementError> {
    use MovementErrorKind as Kind;
    let inferred = shape.iter().filter(|&&size| size == -1).count();
    if inferred > 1 {
        return fail(
            Kind::ReshapeManyInferred,
            format!("{inferred} sizes are -1, but only one can be inferred"),
        );
    }
    if let Some(size) = shape.iter().find(|&&size| size < -1) {
        return fail(Kind::ReshapeNegative, format!("a size of {size}"));
    }
    let known: Vec<i64> = shape.iter().copied().filter(|&size| size != -1).collect();
    let rest = count(&known)?;
    if inferred == 1 && rest == 0 {
        return fail(
            Kind::ReshapeAmbiguous,
            format!("-1 in {shape:?} could be anything, since another size is 0"),
        );
    }
    let fits = if inferred == 1 { elements % rest == 0 } else { elements == rest };
    if !fits {
        return fail(Kind::ReshapeSize, format!("{elements} elements cannot be reshaped to {shape:?}"));
    }
    let fill = |&size: &i64| if size == -1 { elements / rest } else { size };
    Ok(shape.iter().map(fill).collect())
}
