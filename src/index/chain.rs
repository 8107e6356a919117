//! Chains of movement ops: one view as long as strides can say it, then a stack of views.
//!
//! ```text
//! [5, 5]  permute [1, 0]   [5, 5]:(1, 5)+0
//!         reshape [25]     no view: a second one, [25]:(1)+0, over the 25 elements of the first in row-major order
//!         shrink [3..9]    the second becomes [6]:(1)+3
//! ```
//!
//! A pad also starts a new view, over the padded elements. [`super::fold`] finds out whether the whole stack is
//! one view after all.

use super::array::advance;
use super::movement::{Movement, MovementError, count};
use super::view::{MAX_ENUMERATED, Moved, NotAView, View, all_different};

/// One view of the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Over the base for the first stage, over the row-major elements of the stage before for the others.
    pub view: View,
    /// What made the next stage necessary; `None` for the last one.
    pub end: Option<NotAView>,
}

/// A chain of movement ops over a row-major base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// Never empty; the last one has no `end`.
    stages: Vec<Stage>,
    /// Elements that the last stage looks at.
    storage: i64,
}

/// The op of a chain that cannot apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainError {
    /// Its position in the chain.
    pub at: usize,
    /// What is wrong with it.
    pub error: MovementError,
}

/// Applies all of `movements` to a row-major array of that shape.
pub fn fold_movement(shape: &[i64], movements: &[Movement]) -> Result<Chain, ChainError> {
    let mut chain = Chain::row_major(shape).map_err(|error| ChainError { at: 0, error })?;
    for (at, movement) in movements.iter().enumerate() {
        chain.push(movement).map_err(|error| ChainError { at, error })?;
    }
    Ok(chain)
}

impl Chain {
    /// No ops yet: a whole row-major array.
    pub fn row_major(shape: &[i64]) -> Result<Chain, MovementError> {
        let view = View::row_major(shape)?;
        Ok(Chain { storage: view.len(), stages: vec![Stage { view, end: None }] })
    }

    /// The stack, from the base outwards.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// The outermost view.
    pub fn last(&self) -> &View {
        &self.stages.last().expect("a chain has at least one stage").view
    }

    /// The shape of the result.
    pub fn shape(&self) -> &[i64] {
        &self.last().shape
    }

    /// The view of the base that it is, if no op had to leave strides.
    pub fn as_view(&self) -> Option<&View> {
        if self.stages.len() == 1 { Some(self.last()) } else { None }
    }

    /// Applies one more op, and says whether the outermost view could follow it.
    pub fn push(&mut self, movement: &Movement) -> Result<Pushed, MovementError> {
        match self.last().apply(movement, self.storage)? {
            Moved::View(view) => {
                self.last_stage().view = view;
                Ok(Pushed::SameView)
            }
            Moved::NotAView(end) => {
                let shape = end.shape(self.shape())?;
                let view = View::row_major(&shape)?;
                self.storage = count(&shape)?;
                self.last_stage().end = Some(end);
                self.stages.push(Stage { view, end: None });
                Ok(Pushed::NewView)
            }
        }
    }

    fn last_stage(&mut self) -> &mut Stage {
        self.stages.last_mut().expect("a chain has at least one stage")
    }

    /// The element of the base at an index of the result, or `None` in a pad.
    pub fn element(&self, index: &[i64]) -> Option<i64> {
        let (last, inner) = self.stages.split_last()?;
        let mut flat = last.view.at(index);
        for stage in inner.iter().rev() {
            flat = stage.element(flat)?;
        }
        Some(flat)
    }

    /// All elements of the result in row-major order, `None` in pads.
    pub fn gather(&self) -> impl Iterator<Item = Option<i64>> + '_ {
        let mut index = vec![0; self.shape().len()];
        (0..self.last().len()).map(move |_| {
            let element = self.element(&index);
            advance(&mut index, self.shape());
            element
        })
    }

    /// Whether no element of the base appears twice.
    ///
    /// Exact for results of up to 65536 elements; beyond that a stack counts as safe only if each of its views is.
    pub fn is_injective(&self) -> bool {
        if let Some(view) = self.as_view() {
            return view.is_injective();
        }
        if self.last().len() <= MAX_ENUMERATED {
            return all_different(self.gather().flatten());
        }
        self.stages.iter().all(|stage| stage.view.is_injective())
    }
}

/// How an op was taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The outermost view changed.
    SameView,
    /// The op needed a new view on top.
    NewView,
}

impl Stage {
    /// Cells before and after each axis that the next stage sees.
    pub(crate) fn pads(&self) -> Vec<(i64, i64)> {
        match &self.end {
            Some(NotAView::Pad(pads)) => pads.clone(),
            Some(NotAView::Reshape(_)) | None => vec![(0, 0); self.view.shape.len()],
        }
    }

    /// What lies below element `flat` of the row-major padded result of this stage.
    fn element(&self, flat: i64) -> Option<i64> {
        // Strides where nothing is may be anything.
        if self.view.is_empty() {
            return None;
        }
        let mut rest = flat;
        let mut below = self.view.offset;
        for ((&size, &stride), (before, after)) in
            self.view.shape.iter().zip(&self.view.strides).zip(self.pads()).rev()
        {
            let padded = size + before + after;
            let position = rest % padded - before;
            rest /= padded;
            if position < 0 || position >= size {
                return None;
            }
            below += position * stride;
        }
        Some(below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reshape_across_runs_starts_a_new_view() {
        let ops = [Movement::Permute(vec![1, 0]), Movement::Flatten, Movement::Shrink(vec![(3, 9)])];
        let chain = fold_movement(&[5, 5], &ops).unwrap();
        let views: Vec<String> = chain.stages().iter().map(|stage| stage.view.to_string()).collect();
        assert_eq!(views, ["shape [5, 5] strides [1, 5] offset 0", "shape [6] strides [1] offset 3"]);
        let elements: Vec<Option<i64>> = chain.gather().collect();
        assert_eq!(elements, [15, 20, 1, 6, 11, 16].map(Some));
        assert_eq!(chain.as_view(), None);
        let turned = fold_movement(&[5, 5], &ops[..1]).unwrap();
        assert_eq!(turned.as_view(), Some(turned.last()));
    }

    #[test]
    fn pads_have_no_element() {
        let chain = fold_movement(&[2], &[Movement::Pad(vec![(1, 2)]), Movement::Flip(vec![0])]).unwrap();
        assert_eq!(chain.gather().collect::<Vec<_>>(), [None, None, Some(1), Some(0), None]);
        assert!(chain.is_injective());
    }

    #[test]
    fn pads_around_nothing_are_pads_wherever_nothing_is() {
        let nothing =
            Movement::AsStrided { shape: vec![0, 3], strides: vec![1, i64::MAX], offset: Some(i64::MAX) };
        let chain = fold_movement(&[6], &[nothing, Movement::Pad(vec![(0, 1), (0, 0)])]).unwrap();
        assert_eq!(chain.gather().collect::<Vec<_>>(), [None; 3]);
    }

    #[test]
    fn an_error_names_the_op() {
        let error = fold_movement(&[2, 3], &[Movement::Flatten, Movement::Reshape(vec![4])]).unwrap_err();
        assert_eq!((error.at, error.error.to_string().as_str()), (1, "6 elements cannot be reshaped to [4]"));
    }
}
