//! Values of the loop IR in registers: one for all lanes, a ramp, or one per lane.
//!
//! ```text
//! row v2 in v0..v1           v2 is Ramp(x, 1): lanes x, x+1, x+2, x+3, kept as the scalar x
//!   v3: i64 = mul v2 v9      with v9 = 3, Ramp(3 * x, 3): still one scalar instruction
//!   v4: f32 = load b0 v3     Quad: one register of four lanes
//! ```
//!
//! f32, bool and integers of up to 32 bits lie in 32-bit lanes, one register for a row's four lanes; f64, i64 and u64
//! need two registers of two. A bool is a mask. In scalar code integers of up to 32 bits are an i32, bools an i8.

use super::code::Code;
use super::divide::LOW_WORDS;
use crate::graph::types::Element;
use cranelift_codegen::ir::types::{F32, F32X4, F64, F64X2, I8, I32, I32X4, I64, I64X2};
use cranelift_codegen::ir::{InstBuilder, Type, Value};

/// Lanes of a row that are computed at once.
pub(super) const LANES: i64 = 4;

/// Where a value of the loop IR is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Val {
    /// A scalar: the same for every lane.
    One(Value),
    /// A 64-bit integer that grows by a constant from lane to lane; the scalar is that of the first lane.
    Ramp(Value, i64),
    /// Four lanes of 32 bits.
    Quad(Value),
    /// Two lanes of 64 bits, and two more.
    Pairs(Value, Value),
}

/// The type of one lane of an element, or of its scalar, but for bools.
pub(super) fn lane_type(element: Element) -> Type {
    match element {
        Element::Bool | Element::U8 | Element::U16 | Element::U32 => I32,
        Element::I8 | Element::I16 | Element::I32 => I32,
        Element::U64 | Element::I64 => I64,
        Element::F16 | Element::F32 => F32,
        Element::F64 => F64,
    }
}

/// The type of a scalar.
pub(super) fn scalar_type(element: Element) -> Type {
    if element == Element::Bool { I8 } else { lane_type(element) }
}

/// The types of the registers that hold four lanes.
pub(super) fn register_types(element: Element) -> &'static [Type] {
    match lane_type(element) {
        F32 => &[F32X4],
        F64 => &[F64X2, F64X2],
        I64 => &[I64X2, I64X2],
        _ => &[I32X4],
    }
}

impl Val {
    /// The CLIF values it is made of; a ramp must have been spread.
    pub(super) fn parts(self) -> Vec<Value> {
        match self {
            Val::One(part) | Val::Quad(part) => vec![part],
            Val::Pairs(low, high) => vec![low, high],
            Val::Ramp(..) => unreachable!("a ramp was not spread"),
        }
    }

    /// Lanes from one register of four or two of two.
    pub(super) fn from_registers(registers: &[Value]) -> Val {
        match registers {
            [low, high] => Val::Pairs(*low, *high),
            _ => Val::Quad(registers[0]),
        }
    }

    /// Applies `f` to each part; a ramp must have been spread.
    pub(super) fn map(self, mut f: impl FnMut(Value) -> Value) -> Val {
        match self {
            Val::One(part) => Val::One(f(part)),
            Val::Quad(part) => Val::Quad(f(part)),
            Val::Pairs(low, high) => Val::Pairs(f(low), f(high)),
            Val::Ramp(..) => unreachable!("a ramp was not spread"),
        }
    }
}

impl Code<'_> {
    /// The four lanes of `val` in registers.
    pub(super) fn spread(&mut self, element: Element, val: Val) -> Val {
        match val {
            Val::One(scalar) if element == Element::Bool => {
                let int = self.ins().uextend(I32, scalar);
                let lanes = self.ins().splat(I32X4, int);
                Val::Quad(self.int_to_mask(lanes))
            }
            Val::One(scalar) => {
                let types = register_types(element);
                let lanes = self.ins().splat(types[0], scalar);
                Val::from_registers(&vec![lanes; types.len()])
            }
            Val::Ramp(first, step) => {
                let [low, high] = [[0, 1], [2, 3]].map(|lanes| self.ramp_pair(first, step, lanes));
                Val::Pairs(low, high)
            }
            Val::Quad(_) | Val::Pairs(..) => val,
        }
    }

    fn ramp_pair(&mut self, first: Value, step: i64, lanes: [i64; 2]) -> Value {
        let steps = lanes.map(|lane| lane.wrapping_mul(step).to_le_bytes()).concat();
        let (first, steps) = (self.ins().splat(I64X2, first), self.vector(I64X2, &steps));
        self.ins().iadd(first, steps)
    }

    /// A ramp, wrapped to 32-bit lanes.
    pub(super) fn narrow_ramp(&mut self, first: Value, step: i64) -> Value {
        let steps = [0, 1, 2, 3].map(|lane| (step as i32).wrapping_mul(lane).to_le_bytes()).concat();
        let first = self.ins().ireduce(I32, first);
        let (first, steps) = (self.ins().splat(I32X4, first), self.vector(I32X4, &steps));
        self.ins().iadd(first, steps)
    }

    /// The lanes of a value as four scalars; of a mask as four numbers, 0 or not.
    pub(super) fn scalars(&mut self, val: Val) -> [Value; 4] {
        match val {
            Val::One(scalar) => [scalar; 4],
            Val::Ramp(first, step) => {
                [0, 1, 2, 3].map(|lane| self.add_with(first, step.wrapping_mul(lane) as u64))
            }
            Val::Quad(lanes) => [0, 1, 2, 3].map(|lane| self.lane(lanes, lane)),
            Val::Pairs(low, high) => {
                [(low, 0), (low, 1), (high, 0), (high, 1)].map(|(part, lane)| self.lane(part, lane))
            }
        }
    }

    /// Four scalars as lanes.
    pub(super) fn lanes_of(&mut self, scalars: [Value; 4]) -> Val {
        if self.ty(scalars[0]).bits() == 32 {
            return Val::Quad(self.gather_lanes(&scalars));
        }
        let [a, b, c, d] = scalars;
        Val::Pairs(self.gather_lanes(&[a, b]), self.gather_lanes(&[c, d]))
    }

    /// Four masks of 32-bit lanes from those of 64-bit lanes; also the low words of 64-bit integers.
    pub(super) fn low_words(&mut self, low: Value, high: Value) -> Value {
        self.shuffle(I32X4, low, high, &LOW_WORDS)
    }

    /// A mask as the comparison of other parts gave it, as the mask of a bool.
    pub(super) fn bool_mask(&mut self, mask: Val) -> Val {
        match mask {
            Val::Pairs(low, high) => Val::Quad(self.low_words(low, high)),
            Val::One(_) | Val::Ramp(..) | Val::Quad(_) => mask,
        }
    }

    /// A bool as masks that are as wide as the lanes of an element.
    pub(super) fn mask_for(&mut self, element: Element, condition: Val) -> Val {
        match (self.spread(Element::Bool, condition), register_types(element)) {
            (Val::Quad(mask), [_, _]) => {
                Val::Pairs(self.ins().swiden_low(mask), self.ins().swiden_high(mask))
            }
            (mask, _) => mask,
        }
    }
}
