//! What a reduction makes of the values of its body, one after the other: the definition, for every engine.
//!
//! ```text
//! argmax(i in 0..3) v[i]      from (0, -inf): 5 at 0 -> (0, 5), 7 at 1 -> (1, 7), 7 at 2 -> (1, 7)      1
//! ```

use super::body::{Body, NodeId, Op, ReduceFn};
use super::scalar::{self, BinaryFn, Scalar};
use super::types::Element;

/// A reduction on its way.
#[derive(Clone, Debug)]
pub struct Fold {
    function: ReduceFn,
    /// What it gives if there is no more.
    value: Scalar,
    /// The extreme so far, for argmin and argmax.
    best: Scalar,
}

/// How a reduction takes in a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// What there is so far comes first.
    Combine(BinaryFn),
    /// The value of the variable where this first holds for the new value and the extreme so far.
    Keep(BinaryFn),
}

/// How `function` takes in a value.
pub fn step(function: ReduceFn) -> Step {
    match function {
        ReduceFn::Sum => Step::Combine(BinaryFn::Add),
        ReduceFn::Product => Step::Combine(BinaryFn::Mul),
        ReduceFn::Min => Step::Combine(BinaryFn::Min),
        ReduceFn::Max => Step::Combine(BinaryFn::Max),
        ReduceFn::Any => Step::Combine(BinaryFn::Or),
        ReduceFn::All => Step::Combine(BinaryFn::And),
        ReduceFn::ArgMin => Step::Keep(BinaryFn::Lt),
        ReduceFn::ArgMax => Step::Keep(BinaryFn::Gt),
    }
}

/// The factors of a product of floats that is summed up: they are multiplied and added in one rounding.
pub fn factors(body: &Body, function: ReduceFn, inner: NodeId) -> Option<(NodeId, NodeId)> {
    match body.node(inner).op {
        Op::Binary(BinaryFn::Mul, a, b) if function == ReduceFn::Sum && body.ty(inner).is_float() => {
            Some((a, b))
        }
        _ => None,
    }
}

/// What a reduction over nothing gives.
pub fn identity(function: ReduceFn, element: Element) -> Scalar {
    let extreme = |sign: f64| match element.int_range() {
        Some((lo, hi)) => Scalar::int(element, if sign < 0.0 { lo } else { hi }),
        None => Scalar::float(element, sign * f64::INFINITY),
    };
    match function {
        ReduceFn::Sum => Scalar::i64(0).cast(element),
        ReduceFn::Product => Scalar::i64(1).cast(element),
        ReduceFn::Min | ReduceFn::ArgMin => extreme(1.0),
        ReduceFn::Max | ReduceFn::ArgMax => extreme(-1.0),
        ReduceFn::Any => Scalar::bool(false),
        ReduceFn::All => Scalar::bool(true),
    }
}

impl Fold {
    /// Before the first value, which has that type; `first` is where its first variable starts.
    pub fn new(function: ReduceFn, element: Element, first: i64) -> Fold {
        let best = identity(function, element);
        let value = match step(function) {
            Step::Combine(_) => best,
            Step::Keep(_) => Scalar::i64(first),
        };
        Fold { function, value, best }
    }

    /// Takes in a value, at that value of the first variable.
    pub fn add(&mut self, value: Scalar, at: i64) {
        match step(self.function) {
            Step::Combine(combine) => self.value = scalar::binary(combine, self.value, value),
            Step::Keep(beats) if scalar::binary(beats, value, self.best).is_true() => {
                self.best = value;
                self.value = Scalar::i64(at);
            }
            Step::Keep(_) => {}
        }
    }

    /// Takes in the product of two [`factors`].
    pub fn add_product(&mut self, a: Scalar, b: Scalar) {
        self.value = scalar::fma(a, b, self.value);
    }

    /// What it gives.
    pub fn value(&self) -> Scalar {
        self.value
    }
}
