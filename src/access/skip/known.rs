//! What a node is when some reads are known constants.
//!
//! ```text
//! a[y, k] * b[k] with a 0.0     a zero of either sign if b is finite, else anything
//! m[y, x] and n[y, x] with m false     false
//! ```

use crate::graph::Graph;
use crate::graph::body::{Body, NodeId, Op, ReduceFn};
use crate::graph::fold::identity;
use crate::graph::scalar::{self, BinaryFn, Scalar, UnaryFn};
use crate::graph::types::Element;

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Known {
    /// This, bit by bit.
    Exact(Scalar),
    /// A float zero, of either sign.
    Zero,
    /// Neither NaN nor infinite; any integer.
    Finite,
    /// Not NaN.
    Number,
    /// Nothing.
    Anything,
}

impl Known {
    /// Zero, of either sign.
    pub(super) fn is_zero(self) -> bool {
        match self {
            Known::Zero => true,
            Known::Exact(value) => value.to_f64() == 0.0,
            Known::Finite | Known::Number | Known::Anything => false,
        }
    }

    fn is_finite(self) -> bool {
        match self {
            Known::Zero | Known::Finite => true,
            Known::Exact(value) => value.to_f64().is_finite(),
            Known::Number | Known::Anything => false,
        }
    }

    /// Not NaN.
    pub(super) fn is_number(self) -> bool {
        match self {
            Known::Zero | Known::Finite | Known::Number => true,
            Known::Exact(value) => !value.to_f64().is_nan(),
            Known::Anything => false,
        }
    }

    /// What is known of one of two values.
    fn or(self, other: Known) -> Known {
        match () {
            () if self == other => self,
            () if self.is_zero() && other.is_zero() && self.is_float() && other.is_float() => Known::Zero,
            () if self.is_finite() && other.is_finite() => Known::Finite,
            () if self.is_number() && other.is_number() => Known::Number,
            () => Known::Anything,
        }
    }

    fn is_float(self) -> bool {
        match self {
            Known::Exact(value) => value.element().is_float(),
            Known::Zero | Known::Finite | Known::Number | Known::Anything => true,
        }
    }

    /// The same without a bound on its size.
    fn unbounded(self) -> Known {
        if self.is_number() { Known::Number } else { Known::Anything }
    }
}

/// What a body is looked at with.
pub(super) struct Judge<'j> {
    pub(super) graph: &'j Graph,
    pub(super) body: &'j Body,
    /// Reads that have a known value.
    pub(super) fills: &'j [(NodeId, Scalar)],
    /// Other reads give finite numbers.
    pub(super) finite: bool,
}

impl Judge<'_> {
    /// What is known of a node.
    pub(super) fn known(&self, id: NodeId) -> Known {
        let mut all: Vec<Known> = Vec::with_capacity(id.index() + 1);
        for (at, _) in self.body.nodes().take(id.index() + 1) {
            let known = self.node(at, &all);
            all.push(known);
        }
        all[id.index()]
    }

    fn node(&self, id: NodeId, all: &[Known]) -> Known {
        let node = self.body.node(id);
        let Some(element) = node.ty.strong() else { return Known::Anything };
        let of = |id: &NodeId| all[id.index()];
        match &node.op {
            Op::Const(value) => Known::Exact(*value),
            Op::Coord(_) | Op::Hash(_) => Known::Finite,
            Op::Arg(_) | Op::Math(..) => untold(element),
            Op::Read { tensor, .. } => match self.fills.iter().find(|(read, _)| *read == id) {
                Some((_, fill)) => Known::Exact(*fill),
                None if self.finite || !self.graph.tensor(*tensor).element.is_float() => Known::Finite,
                None => Known::Anything,
            },
            Op::Table(table, _) => {
                let values = &self.body.tables[table.index()].values;
                let finite = values.iter().all(|value| value.to_f64().is_finite());
                if finite { Known::Finite } else { untold(element) }
            }
            Op::Unary(function, a) => unary(*function, element, of(a)),
            Op::Binary(function, a, b) => binary(*function, element, of(a), of(b)),
            Op::Fma(a, b, c) => fma(of(a), of(b), of(c)),
            Op::Cast(a) => cast(element, of(a), self.body.ty(*a).strong()),
            Op::Select(condition, a, b) => match of(condition) {
                Known::Exact(value) => of(if value.is_true() { a } else { b }),
                Known::Zero | Known::Finite | Known::Number | Known::Anything => of(a).or(of(b)),
            },
            Op::Reduce { function, vars, body } => self.reduced(*function, vars, element, *body, of(body)),
        }
    }

    fn reduced(&self, function: ReduceFn, vars: &[u32], element: Element, inner: NodeId, of: Known) -> Known {
        let steps = vars.iter().map(|var| &self.body.binders[*var as usize]);
        let empty = steps.into_iter().any(|binder| binder.hi <= binder.lo);
        let Some(own) = self.body.ty(inner).strong() else { return Known::Anything };
        let combine = match function {
            ReduceFn::ArgMin | ReduceFn::ArgMax => return Known::Finite,
            _ if empty => return Known::Exact(identity(function, own)),
            ReduceFn::Sum if of.is_zero() => return Known::Exact(identity(ReduceFn::Sum, own)),
            ReduceFn::Sum => return untold(element),
            ReduceFn::Product => BinaryFn::Mul,
            ReduceFn::Min => BinaryFn::Min,
            ReduceFn::Max => BinaryFn::Max,
            ReduceFn::Any => BinaryFn::Or,
            ReduceFn::All => BinaryFn::And,
        };
        let Known::Exact(value) = of else { return untold(element) };
        // What a second step does not change, no later one does.
        let once = scalar::binary(combine, identity(function, own), value);
        let twice = scalar::binary(combine, once, value);
        if once == twice { Known::Exact(once) } else { untold(element) }
    }
}

/// A value of that type, of which nothing else is known.
fn untold(element: Element) -> Known {
    if element.is_float() { Known::Anything } else { Known::Finite }
}

fn unary(function: UnaryFn, element: Element, a: Known) -> Known {
    match (function, a) {
        (_, Known::Exact(value)) => Known::Exact(scalar::unary(function, value)),
        _ if !element.is_float() => Known::Finite,
        (
            UnaryFn::Neg | UnaryFn::Abs | UnaryFn::Floor | UnaryFn::Ceil | UnaryFn::Round | UnaryFn::Trunc,
            a,
        ) => a,
        (UnaryFn::RoundF16, a) => a.unbounded(),
        _ => Known::Anything,
    }
}

fn binary(function: BinaryFn, element: Element, a: Known, b: Known) -> Known {
    if let (Known::Exact(x), Known::Exact(y)) = (a, b) {
        return Known::Exact(scalar::binary(function, x, y));
    }
    if !element.is_float() || function.is_comparison() {
        return integers(function, a, b);
    }
    match function {
        BinaryFn::Mul => product(a, b),
        BinaryFn::Add | BinaryFn::Sub if a.is_zero() && b.is_zero() => Known::Zero,
        BinaryFn::Add | BinaryFn::Sub if is_infinite(a) && b.is_finite() => a,
        BinaryFn::Add if is_infinite(b) && a.is_finite() => b,
        BinaryFn::Add | BinaryFn::Sub if a.is_finite() && b.is_finite() => Known::Number,
        BinaryFn::Min | BinaryFn::Max => a.or(b),
        _ => Known::Anything,
    }
}

fn is_infinite(known: Known) -> bool {
    matches!(known, Known::Exact(value) if value.as_float().is_some_and(f64::is_infinite))
}

/// Integers and bools: nothing times anything is nothing, and so on.
fn integers(function: BinaryFn, a: Known, b: Known) -> Known {
    for known in [a, b] {
        let Known::Exact(value) = known else { continue };
        let (zero, ones) = (value.as_int() == Some(0), value.element() == Element::Bool && value.is_true());
        match function {
            BinaryFn::Mul | BinaryFn::And if zero => return known,
            BinaryFn::Or if ones => return known,
            _ => {}
        }
    }
    Known::Finite
}

fn product(a: Known, b: Known) -> Known {
    match () {
        () if a.is_zero() && b.is_finite() || b.is_zero() && a.is_finite() => Known::Zero,
        () if a.is_finite() && b.is_finite() => Known::Number,
        () => Known::Anything,
    }
}

fn fma(a: Known, b: Known, c: Known) -> Known {
    if let (Known::Exact(x), Known::Exact(y), Known::Exact(z)) = (a, b, c) {
        return Known::Exact(scalar::fma(x, y, z));
    }
    match (product(a, b), c) {
        (Known::Zero, c) if c.is_zero() => Known::Zero,
        (Known::Zero, Known::Exact(value)) if !value.to_f64().is_nan() => c,
        (Known::Zero, Known::Finite) => Known::Finite,
        (Known::Zero | Known::Number, c) if c.is_finite() => Known::Number,
        _ => Known::Anything,
    }
}

fn cast(element: Element, a: Known, from: Option<Element>) -> Known {
    match a {
        Known::Exact(value) => Known::Exact(value.cast(element)),
        Known::Zero if element.is_float() => Known::Zero,
        Known::Zero => Known::Exact(Scalar::int(Element::I64, 0).cast(element)),
        _ if !element.is_float() => Known::Finite,
        Known::Finite if from.is_none_or(|from| !from.is_float() || from == element) => Known::Finite,
        Known::Finite | Known::Number | Known::Anything => a.unbounded(),
    }
}
