//! What must be true of the data so that a reduction may leave out elements.
//!
//! ```text
//! sum(k in 0..9) a[y, k] * v[k]      a at its fill 0: v must be finite, and no product may vanish
//! ```

use super::Sight;
use super::known::{Judge, Known};
use crate::graph::body::{NodeId, Op, ReduceFn, TensorId};
use crate::graph::fold::identity;
use crate::graph::scalar::{BinaryFn, Scalar, UnaryFn};
use crate::graph::types::{Element, Ty};
use std::collections::BTreeSet;

/// Conditions on data under which elements can be left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Needs {
    /// Tensors without NaN and infinities.
    pub finite: BTreeSet<TensorId>,
    /// The factors of a fused product, whose smallest magnitudes must not vanish in it.
    pub factors: Option<[Vec<Factor>; 2]>,
    /// What the product of the smallest factors must reach: then products are multiples of the least number of the
    /// type, and no sum of them rounds to -0.0.
    pub visible: f64,
    /// The tensor of which nothing but stored elements is met.
    pub stored: Option<TensorId>,
}

/// What a factor of a product can be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Factor {
    /// An element of a tensor.
    Of(TensorId),
    /// This number, or one that is larger.
    Number(f64),
}

impl Needs {
    /// The tensors whose elements it is about.
    pub fn asks(&self) -> impl Iterator<Item = TensorId> {
        let factors = self.factors.iter().flatten().flatten().filter_map(|factor| match factor {
            Factor::Of(tensor) => Some(*tensor),
            Factor::Number(_) => None,
        });
        self.finite.iter().copied().chain(factors)
    }
}

impl Sight<'_> {
    /// What must be true so that a reduction may leave out where all these reads give their fills.
    pub(super) fn needs(
        &self,
        (function, inner): (ReduceFn, NodeId),
        fills: &[(NodeId, Scalar)],
    ) -> Result<Needs, String> {
        let at_fill = |finite| Judge { graph: self.graph, body: self.body(), fills, finite };
        let element = self.body().ty(inner).strong().ok_or("it has no type")?;
        let nothing = |known: Known| adds_nothing(function, element, known);
        let mut needs = Needs::default();
        if !nothing(at_fill(false).known(inner)) {
            if !nothing(at_fill(true).known(inner)) {
                return Err("what its fill adds to the reduction is not nothing".to_owned());
            }
            needs.finite = self.floats(inner, |read| fills.iter().all(|(id, _)| *id != read));
        }
        if matches!(function, ReduceFn::Min | ReduceFn::Max) && element.is_float() {
            let all = Judge { graph: self.graph, body: self.body(), fills: &[], finite: true };
            if !all.known(inner).is_number() {
                return Err("a NaN in the reduction would not be forgotten at the next element".to_owned());
            }
            needs.finite = self.floats(inner, |_| true);
        }
        if function == ReduceFn::Sum && element.is_float() {
            needs.factors = self.fused(inner)?;
            // Two significands of p bits make one of 2p: 2^-149 and 2^-1074 are the least numbers.
            needs.visible = if element == Element::F64 { 2f64.powi(-960) } else { 2f64.powi(-100) };
        }
        Ok(needs)
    }

    /// Float tensors that a node reads, by those of its reads that count.
    fn floats(&self, node: NodeId, counts: impl Fn(NodeId) -> bool) -> BTreeSet<TensorId> {
        let reads =
            self.access.reads.iter().filter(|read| counts(read.read) && self.reaches(node, read.read));
        reads.map(|read| read.tensor).filter(|tensor| self.graph.tensor(*tensor).element.is_float()).collect()
    }

    /// The factors of a sum's product, which is added before it is rounded.
    fn fused(&self, inner: NodeId) -> Result<Option<[Vec<Factor>; 2]>, String> {
        let Op::Binary(BinaryFn::Mul, a, b) = self.body().node(inner).op else { return Ok(None) };
        let [mut left, mut right] = [Vec::new(), Vec::new()];
        if self.factor(a, &mut left) && self.factor(b, &mut right) {
            return Ok(Some([left, right]));
        }
        Err("its products are not of elements and numbers: one too small to be seen would leave -0.0"
            .to_owned())
    }

    /// Collects what a factor can be; false if that is not known.
    fn factor(&self, id: NodeId, found: &mut Vec<Factor>) -> bool {
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            let node = self.body().node(id);
            match &node.op {
                Op::Read { tensor, .. } => found.push(Factor::Of(*tensor)),
                Op::Const(value) => found.push(Factor::Number(value.to_f64())),
                Op::Cast(a) if self.body().ty(*a).is_float() => {
                    // To a smaller type numbers may vanish.
                    if self.body().ty(*a) == Ty::Strong(Element::F64) && node.ty != self.body().ty(*a) {
                        return false;
                    }
                    stack.push(*a);
                }
                Op::Cast(_) => found.push(Factor::Number(1.0)),
                Op::Unary(UnaryFn::Neg | UnaryFn::Abs, a) => stack.push(*a),
                Op::Select(_, a, b) => stack.extend([*a, *b]),
                _ => return false,
            }
        }
        true
    }
}

/// Whether combining a value that is known leaves every state of a reduction as it is, bit by bit.
///
/// A float sum starts at +0.0 and is never -0.0, so zeros of both signs add nothing; see [`Needs::factors`] for the one
/// way around that.
fn adds_nothing(function: ReduceFn, element: Element, known: Known) -> bool {
    match (function, known) {
        (ReduceFn::Sum, known) if known.is_zero() => true,
        (ReduceFn::ArgMin, Known::Exact(value)) => value == identity(ReduceFn::Min, element),
        (ReduceFn::ArgMax, Known::Exact(value)) => value == identity(ReduceFn::Max, element),
        (ReduceFn::Sum, _) => false,
        (_, Known::Exact(value)) => value == identity(function, element),
        (_, Known::Zero | Known::Finite | Known::Number | Known::Anything) => false,
    }
}
