//! Windows of tensors and takes, checked: sizes, strides and offsets as integers, maps as dimensions.

use super::view::View;
use crate::index::Window;
use crate::source::Span;
use std::sync::Arc;

/// One window per dimension of a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Windows {
    /// Outermost dimension first.
    pub dims: Vec<Window>,
    /// Names of the local coordinates, `_` where there is none.
    pub locals: Vec<Arc<str>>,
}

/// `take b = source window […] map […]`
#[derive(Clone, Debug)]
pub struct Take {
    /// What the body calls it.
    pub name: Arc<str>,
    /// What it is a slice of.
    pub source: View,
    /// Elements per dimension of the source.
    pub sizes: Vec<i64>,
    /// How far it moves per window.
    pub stride: Vec<i64>,
    /// Where window 0 starts.
    pub offset: Vec<i64>,
    /// Which dimension's window number moves it; `None` stays at window 0.
    pub map: Vec<Option<usize>>,
    /// The whole clause.
    pub span: Span,
}
