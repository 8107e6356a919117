//! Which values of a row are the same for all its steps, which grow by a constant, and which are lanes.
//!
//! ```text
//! row v2 in v0..v1
//!   v3: i64 = add v2 v9       moves: 1 per step
//!   v4: i64 = mul v3 v8       moves: 3 per step, with v8 = 3
//!   v5: f32 = load b0 v4      lanes
//! ```

use crate::graph::scalar::BinaryFn;
use crate::graph::scalar::UnaryFn;
use crate::graph::types::Element;
use crate::loops::ir::{Kernel, Op, ValueId};
use std::collections::HashMap;

/// What a value is along the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::jit) enum Motion {
    /// The same for all steps.
    Still,
    /// A 64-bit integer that grows by this much per step.
    Moves(i64),
    /// Anything else.
    Lanes,
}

/// What the values of a row are; those from outside are still.
pub(in crate::jit) struct Motions<'k> {
    kernel: &'k Kernel,
    known: HashMap<ValueId, Motion>,
}

impl<'k> Motions<'k> {
    /// Those of the row with this variable; `placed` are the values of its body, in order.
    pub(in crate::jit) fn new(
        kernel: &'k Kernel,
        var: ValueId,
        placed: impl Iterator<Item = ValueId>,
    ) -> Self {
        let mut motions = Motions { kernel, known: HashMap::from([(var, Motion::Moves(1))]) };
        for id in placed {
            let motion = motions.motion(id);
            motions.known.insert(id, motion);
        }
        motions
    }

    pub(in crate::jit) fn of(&self, id: ValueId) -> Motion {
        self.known.get(&id).copied().unwrap_or(Motion::Still)
    }

    fn motion(&self, id: ValueId) -> Motion {
        let value = self.kernel.value(id);
        let args = value.op.args();
        if args.iter().all(|arg| self.of(*arg) == Motion::Still) {
            return Motion::Still;
        }
        let is_wide = |id: ValueId| matches!(self.kernel.value(id).element, Element::I64 | Element::U64);
        if !is_wide(id) || !args.iter().all(|arg| is_wide(*arg)) {
            return Motion::Lanes;
        }
        let step = match value.op {
            Op::Unary(UnaryFn::Neg, a) => self.step(a).map(i64::wrapping_neg),
            Op::Binary(BinaryFn::Add, a, b) => self.both(a, b, i64::wrapping_add),
            Op::Binary(BinaryFn::Sub, a, b) => self.both(a, b, i64::wrapping_sub),
            Op::Binary(BinaryFn::Mul, a, b) => match (self.constant(a), self.constant(b)) {
                (_, Some(by)) => self.step(a).map(|step| step.wrapping_mul(by)),
                (Some(by), _) => self.step(b).map(|step| step.wrapping_mul(by)),
                _ => None,
            },
            Op::Binary(BinaryFn::Shl, a, b) => {
                self.constant(b).and_then(|by| self.step(a).map(|step| step.wrapping_shl(by as u32 & 63)))
            }
            Op::Cast(a) => self.step(a),
            _ => None,
        };
        step.map_or(Motion::Lanes, Motion::Moves)
    }

    fn step(&self, id: ValueId) -> Option<i64> {
        match self.of(id) {
            Motion::Still => Some(0),
            Motion::Moves(step) => Some(step),
            Motion::Lanes => None,
        }
    }

    fn both(&self, a: ValueId, b: ValueId, f: fn(i64, i64) -> i64) -> Option<i64> {
        Some(f(self.step(a)?, self.step(b)?))
    }

    fn constant(&self, id: ValueId) -> Option<i64> {
        match self.kernel.value(id).op {
            Op::Const(value) => value.as_int().map(|value| value as i64),
            _ => None,
        }
    }
}
