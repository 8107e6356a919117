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
use crate::loops::ir::{Block, For, Kernel, Op, Statement, ValueId};
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
    /// Of the values in lanes, those that are 64-bit integers which grow by a number times a value that is still.
    paces: HashMap<ValueId, Pace>,
}

/// How a value grows from step to step, where only the run will tell how much: by `times` times `by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::jit) struct Pace {
    pub(in crate::jit) by: ValueId,
    pub(in crate::jit) times: i64,
}

impl<'k> Motions<'k> {
    /// Those of a row, or of a loop inside one, along its variable.
    pub(in crate::jit) fn new(kernel: &'k Kernel, looped: &For) -> Self {
        let known = HashMap::from([(looped.var, Motion::Moves(1))]);
        let mut motions = Motions { kernel, known, paces: HashMap::new() };
        motions.block(&looped.body);
        motions
    }

    fn block(&mut self, block: &Block) {
        for statement in &block.statements {
            match statement {
                Statement::Let(id) => self.placed(*id),
                Statement::Store(..) => {}
                Statement::For(inner) => {
                    let lanes = inner.carried.iter().flat_map(|carry| [carry.carried, carry.result]);
                    self.known.extend(lanes.map(|id| (id, Motion::Lanes)));
                    self.block(&inner.body);
                }
                Statement::If(choice) => {
                    self.known.extend(choice.results.iter().map(|(id, _, _)| (*id, Motion::Lanes)));
                    self.block(&choice.then);
                    self.block(&choice.otherwise);
                }
            }
        }
    }

    fn placed(&mut self, id: ValueId) {
        let motion = self.motion(id);
        self.known.insert(id, motion);
        if let Some(pace) = self.pace(id).filter(|_| motion == Motion::Lanes) {
            self.paces.insert(id, pace);
        }
    }

    /// How a value in lanes grows, if it does so evenly.
    pub(in crate::jit) fn pace_of(&self, id: ValueId) -> Option<Pace> {
        self.paces.get(&id).copied()
    }

    /// Whether one number at the start of the row says what a value is in all its steps.
    pub(in crate::jit) fn is_even(&self, id: ValueId) -> bool {
        self.of(id) != Motion::Lanes || self.paces.contains_key(&id)
    }

    fn pace(&self, id: ValueId) -> Option<Pace> {
        let value = self.kernel.value(id);
        if value.element != Element::I64 {
            return None;
        }
        let still = |id: ValueId| self.of(id) == Motion::Still;
        match value.op {
            Op::Binary(BinaryFn::Add, a, b) if still(b) => self.pace_of(a),
            Op::Binary(BinaryFn::Add, a, b) if still(a) => self.pace_of(b),
            Op::Binary(BinaryFn::Sub, a, b) if still(b) => self.pace_of(a),
            Op::Binary(BinaryFn::Add, a, b) => {
                let (a, b) = (self.pace_of(a)?, self.pace_of(b)?);
                (a.by == b.by).then_some(Pace { by: a.by, times: a.times.wrapping_add(b.times) })
            }
            Op::Binary(BinaryFn::Mul, a, b) => match (self.of(a), self.of(b)) {
                (Motion::Moves(times), Motion::Still) => Some(Pace { by: b, times }),
                (Motion::Still, Motion::Moves(times)) => Some(Pace { by: a, times }),
                (Motion::Lanes, Motion::Still) => self.faster(a, b),
                (Motion::Still, Motion::Lanes) => self.faster(b, a),
                _ => None,
            },
            _ => None,
        }
    }

    /// The pace of `a` times a constant.
    fn faster(&self, a: ValueId, by: ValueId) -> Option<Pace> {
        let (pace, by) = (self.pace_of(a)?, self.constant(by)?);
        Some(Pace { times: pace.times.wrapping_mul(by), ..pace })
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
