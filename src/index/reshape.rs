//! torch's view rule: when a reshape is a view, and which strides it has.
//!
//! The old axes fall into runs that are contiguous among themselves; each run must be cut exactly by new axes.
//!
//! ```text
//! [2, 3, 4]:(12, 4, 1)  one run of 24 elements      any shape of 24 elements
//! [3, 4]:(1, 3)         two runs, of 3 and of 4     [3, 2, 2] yes, [2, 6] no
//! ```

use super::movement::{MovementError, MovementErrorKind as Kind, fail};
use super::view::View;

type Result<T> = std::result::Result<T, MovementError>;

/// Elements between neighbours of a row-major array; axes of size 0 count as 1, as in torch.
pub(crate) fn row_major_strides(shape: &[i64]) -> Result<Vec<i64>> {
    let mut strides = vec![0; shape.len()];
    let mut step = 1i64;
    for (stride, &size) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        let Some(next) = step.checked_mul(size.max(1)) else {
            return fail(Kind::Overflow, format!("the shape {shape:?} has too many elements"));
        };
        step = next;
    }
    Ok(strides)
}

/// The strides of `view` under another shape with as many elements, if strides can say it.
pub(crate) fn reshape_strides(view: &View, shape: &[i64]) -> Result<Option<Vec<i64>>> {
    if view.is_empty() {
        return if view.shape == shape {
            Ok(Some(view.strides.clone()))
        } else {
            row_major_strides(shape).map(Some)
        };
    }
    let mut strides = vec![1; shape.len()];
    let mut open = shape.len();
    for (elements, step) in contiguous_runs(view) {
        let mut covered = 1;
        while open > 0 && (covered < elements || shape[open - 1] == 1) {
            open -= 1;
            strides[open] = step.saturating_mul(covered);
            covered *= shape[open];
        }
        if covered != elements {
            return Ok(None);
        }
    }
    Ok((open == 0).then_some(strides))
}

/// The runs of contiguous axes from the last to the first: elements in the run, and its innermost stride.
fn contiguous_runs(view: &View) -> Vec<(i64, i64)> {
    let Some(&innermost) = view.strides.last() else { return vec![(1, 1)] };
    let mut runs = Vec::new();
    let (mut elements, mut step) = (1, innermost);
    for at in (0..view.shape.len()).rev() {
        elements *= view.shape[at];
        let Some(next) = at.checked_sub(1) else { break };
        if view.shape[next] != 1 && view.strides[next] != step.saturating_mul(elements) {
            runs.push((elements, step));
            (elements, step) = (1, view.strides[next]);
        }
    }
    runs.push((elements, step));
    runs
}
