//! Loads and stores: from the type in memory to the one in registers and back, one element or four.
//!
//! ```text
//! load b0 at Ramp(x, 1)     one load of four elements, widened to 32-bit lanes if they are narrow
//! load b0 at Ramp(x, -1)    the four elements before it, reversed
//! load b0 at Ramp(x, 2)     four loads of one element each; so for offsets that differ in any other way
//! load b0 at One(x)         one element for all lanes
//! store b1 at Ramp(x, 2), and at the element after each: the lanes in turn, in two stores of four elements
//! ```

use super::code::Code;
use super::lanes::{LANES, Val};
use super::{floats, half};
use crate::graph::types::Element;
use crate::loops::woven::orders;
use crate::seeded::{self, Bug};
use cranelift_codegen::ir::types::{F32, F32X4, F64, F64X2, I8X16, I16X8, I32, I32X4, I64, I64X2};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};

/// Elements in memory.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    /// Where the first is.
    pub(super) base: Value,
    pub(super) element: Element,
    pub(super) flags: MemFlagsData,
}

/// The lanes in reverse, for registers of four and of two.
const REVERSED_QUAD: [u8; 16] = [12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3];
const REVERSED_PAIR: [u8; 16] = [8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7];

/// The low byte, or the low half, of each of four lanes.
const LOW_BYTES: [u8; 16] = [0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12];
const LOW_HALVES: [u8; 16] = [0, 1, 4, 5, 8, 9, 12, 13, 0, 1, 4, 5, 8, 9, 12, 13];

impl Memory {
    /// The elements at these offsets.
    pub(super) fn load(self, code: &mut Code<'_>, offset: Val) -> Val {
        let raw = match offset {
            Val::One(offset) => Val::One(self.load_one(code, offset)),
            Val::Ramp(first, 1) => self.load_four(code, first),
            Val::Ramp(last, -1) => {
                let first = code.add_with(last, (1 - LANES) as u64);
                let lanes = self.load_four(code, first);
                reversed(code, lanes)
            }
            Val::Ramp(..) | Val::Quad(_) | Val::Pairs(..) => {
                let lanes = code.scalars(offset).map(|offset| self.load_one(code, offset));
                code.lanes_of(lanes)
            }
        };
        match self.element {
            Element::Bool => raw.map(|part| code.int_to_mask(part)),
            Element::F16 => raw.map(|part| half::decode(code, part)),
            Element::F32 | Element::F64 => raw,
            Element::U8 | Element::U16 | Element::U32 | Element::U64 => raw,
            Element::I8 | Element::I16 | Element::I32 | Element::I64 => raw,
        }
    }

    /// Writes `val` at these offsets.
    pub(super) fn store(self, code: &mut Code<'_>, offset: Val, val: Val) {
        let val = match offset {
            Val::One(_) => val,
            Val::Ramp(..) | Val::Quad(_) | Val::Pairs(..) => code.spread(self.element.computed(), val),
        };
        let raw = self.raw(code, val);
        match (offset, raw) {
            (Val::One(offset), Val::One(scalar)) => self.store_one(code, offset, scalar),
            (Val::Ramp(first, 1), _) => self.store_four(code, first, raw),
            (Val::Ramp(last, -1), _) => {
                let first = code.add_with(last, (1 - LANES) as u64);
                let lanes = reversed(code, raw);
                self.store_four(code, first, lanes);
            }
            _ => {
                let (offsets, scalars) = (code.scalars(offset), code.scalars(raw));
                for (offset, scalar) in offsets.into_iter().zip(scalars) {
                    self.store_one(code, offset, scalar);
                }
            }
        }
    }

    /// Writes the lanes of several values in turn, from the offset `first` on.
    pub(super) fn store_in_turn(self, code: &mut Code<'_>, first: Value, vals: &[Val]) {
        let parts: Vec<Vec<Value>> = vals
            .iter()
            .map(|val| {
                let lanes = code.spread(self.element.computed(), *val);
                self.raw(code, lanes).parts()
            })
            .collect();
        let count = parts[0].len();
        let mut registers = Vec::with_capacity(vals.len() * count);
        for part in 0..count {
            let sources: Vec<Value> = parts.iter().map(|parts| parts[part]).collect();
            registers.extend(in_turn(code, &sources, LANES as usize / count));
        }
        for (at, four) in registers.chunks(count).enumerate() {
            let first = code.add_with(first, at as u64 * LANES as u64);
            self.store_four(code, first, Val::from_registers(four));
        }
    }

    /// A value as memory shows it: NaNs alike, bools and f16 as their bits.
    fn raw(self, code: &mut Code<'_>, val: Val) -> Val {
        match self.element {
            Element::Bool => val.map(|part| code.mask_to_int(part)),
            Element::F16 => val.map(|part| half::encode(code, part)),
            Element::F32 | Element::F64 if seeded::active(Bug::NanNotCanonical) => val,
            Element::F32 | Element::F64 => val.map(|part| floats::canonical(code, part)),
            Element::U8 | Element::U16 | Element::U32 | Element::U64 => val,
            Element::I8 | Element::I16 | Element::I32 | Element::I64 => val,
        }
    }

    /// Where an element is: an address and a displacement, which the processor adds for nothing.
    fn address(self, code: &mut Code<'_>, offset: Value) -> (Value, i32) {
        let size = self.element.bytes() as i64;
        let displaced =
            |constant: i64| i32::try_from(constant.checked_mul(size)?).ok().filter(|at| *at < i32::MAX - 16);
        let split =
            code.constant_term(offset).and_then(|(rest, constant)| Some((rest, displaced(constant)?)));
        let (offset, displacement) = split.unwrap_or((offset, 0));
        let bytes = code.shift_left(offset, size.trailing_zeros());
        (code.ins().iadd(self.base, bytes), displacement)
    }

    /// One element; bools and f16 as their bits in an i32.
    fn load_one(self, code: &mut Code<'_>, offset: Value) -> Value {
        let ((at, by), flags) = (self.address(code, offset), self.flags);
        match self.element {
            Element::Bool | Element::U8 => code.ins().uload8(I32, flags, at, by),
            Element::I8 => code.ins().sload8(I32, flags, at, by),
            Element::U16 | Element::F16 => code.ins().uload16(I32, flags, at, by),
            Element::I16 => code.ins().sload16(I32, flags, at, by),
            Element::U32 | Element::I32 => code.ins().load(I32, flags, at, by),
            Element::U64 | Element::I64 => code.ins().load(I64, flags, at, by),
            Element::F32 => code.ins().load(F32, flags, at, by),
            Element::F64 => code.ins().load(F64, flags, at, by),
        }
    }

    /// One u32 as an i64.
    pub(super) fn load_index(self, code: &mut Code<'_>, offset: Value) -> Value {
        let (at, by) = self.address(code, offset);
        code.ins().uload32(self.flags, at, by)
    }

    /// Four elements that follow each other, in lanes.
    fn load_four(self, code: &mut Code<'_>, first: Value) -> Val {
        let ((at, by), flags) = (self.address(code, first), self.flags);
        match self.element {
            Element::Bool | Element::U8 | Element::I8 => {
                let bytes = code.ins().load(I32, flags, at, by);
                let bytes = code.ins().scalar_to_vector(I32X4, bytes);
                let bytes = code.bits_as(I8X16, bytes);
                let halves = self.widen(code, bytes);
                Val::Quad(self.widen(code, halves))
            }
            Element::U16 | Element::I16 | Element::F16 => {
                let halves = code.ins().load(I64, flags, at, by);
                let halves = code.ins().scalar_to_vector(I64X2, halves);
                let halves = code.bits_as(I16X8, halves);
                Val::Quad(self.widen(code, halves))
            }
            Element::U32 | Element::I32 => Val::Quad(code.ins().load(I32X4, flags, at, by)),
            Element::F32 => Val::Quad(code.ins().load(F32X4, flags, at, by)),
            Element::U64 | Element::I64 => {
                Val::Pairs(code.ins().load(I64X2, flags, at, by), code.ins().load(I64X2, flags, at, by + 16))
            }
            Element::F64 => {
                Val::Pairs(code.ins().load(F64X2, flags, at, by), code.ins().load(F64X2, flags, at, by + 16))
            }
        }
    }

    fn widen(self, code: &mut Code<'_>, lanes: Value) -> Value {
        if self.element.is_signed() { code.ins().swiden_low(lanes) } else { code.ins().uwiden_low(lanes) }
    }

    fn store_one(self, code: &mut Code<'_>, offset: Value, scalar: Value) {
        let ((at, by), flags) = (self.address(code, offset), self.flags);
        match self.element.bytes() {
            1 => code.ins().istore8(flags, scalar, at, by),
            2 => code.ins().istore16(flags, scalar, at, by),
            _ => code.ins().store(flags, scalar, at, by),
        };
    }

    fn store_four(self, code: &mut Code<'_>, first: Value, lanes: Val) {
        let ((at, by), flags) = (self.address(code, first), self.flags);
        let packed: Vec<Value> = match (self.element.bytes(), lanes) {
            (1, Val::Quad(lanes)) => {
                let bytes = code.shuffle(I32X4, lanes, lanes, &LOW_BYTES);
                vec![code.lane(bytes, 0)]
            }
            (2, Val::Quad(lanes)) => {
                let halves = code.shuffle(I64X2, lanes, lanes, &LOW_HALVES);
                vec![code.lane(halves, 0)]
            }
            _ => lanes.parts(),
        };
        for (part, offset) in packed.into_iter().zip([0, 16]) {
            code.ins().store(flags, part, at, by + offset);
        }
    }
}

/// The lanes of registers in turn, in as many registers.
fn in_turn(code: &mut Code<'_>, sources: &[Value], count: usize) -> Vec<Value> {
    let ty = code.ty(sources[0]);
    let mut registers = Vec::with_capacity(sources.len());
    for orders in orders(sources.len(), count) {
        let next = sources[1..].iter().zip(orders);
        registers.push(next.fold(sources[0], |reg, (source, order)| {
            let size = 16 / count;
            let bytes = order.iter().flat_map(|lane| lane * size..(lane + 1) * size);
            let bytes: Vec<u8> = bytes.map(|byte| byte as u8).collect();
            let bytes = bytes.try_into().expect("a register has 16 bytes");
            code.shuffle(ty, reg, *source, &bytes)
        }));
    }
    registers
}

fn reversed(code: &mut Code<'_>, lanes: Val) -> Val {
    match lanes {
        Val::Quad(part) => Val::Quad(code.shuffle(code.ty(part), part, part, &REVERSED_QUAD)),
        Val::Pairs(low, high) => {
            let ty = code.ty(low);
            let [low, high] = [low, high].map(|part| code.shuffle(ty, part, part, &REVERSED_PAIR));
            Val::Pairs(high, low)
        }
        Val::One(_) | Val::Ramp(..) => lanes,
    }
}
