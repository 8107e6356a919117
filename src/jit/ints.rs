//! Integer arithmetic on parts: wrapping at the width of the type, whatever the width of the lane.
//!
//! ```text
//! u8: add a b    iadd in 32 bits, then band 0xff: 200 + 100 = 44
//! i8: add a b    iadd in 32 bits, then the sign of bit 7 fills the rest
//! ```
//!
//! A lane has 32 or 64 bits; a narrower integer lies in it sign- or zero-extended (*canonical*), a bool as 0 or 1.

use super::code::Code;
use super::divide;
use crate::graph::scalar::{BinaryFn, UnaryFn};
use crate::graph::types::Element;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16};
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value};

/// An integer type; bool is an unsigned integer of one bit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Int {
    pub(super) bits: u32,
    pub(super) signed: bool,
}

impl Int {
    pub(super) fn of(element: Element) -> Int {
        debug_assert!(!element.is_float());
        Int { bits: element.bits(), signed: element.is_signed() }
    }

    /// The bits that belong to the type.
    pub(super) fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }
}

/// Brings a value that has left the range of its type back into it.
pub(super) fn canonical(code: &mut Code<'_>, int: Int, a: Value) -> Value {
    let ty = code.ty(a);
    let unused = ty.lane_bits() - int.bits.min(ty.lane_bits());
    if unused == 0 {
        a
    } else if !int.signed {
        code.and_with(a, int.mask())
    } else if ty.is_vector() {
        let shifted = code.shift_left(a, unused);
        code.shift_right_signed(shifted, unused)
    } else {
        let narrow = code.ins().ireduce(if int.bits == 8 { I8 } else { I16 }, a);
        code.ins().sextend(ty, narrow)
    }
}

/// What `function` makes of an integer part.
pub(super) fn unary(code: &mut Code<'_>, function: UnaryFn, int: Int, a: Value) -> Value {
    match function {
        UnaryFn::Neg => {
            let negated = code.ins().ineg(a);
            canonical(code, int, negated)
        }
        UnaryFn::Abs if int.signed => {
            let size = code.ins().iabs(a);
            canonical(code, int, size)
        }
        UnaryFn::Sign => sign(code, int, a),
        UnaryFn::Not => {
            let last = code.and_with(a, 1);
            let one = code.constant(code.ty(a), 1);
            code.ins().bxor(last, one)
        }
        UnaryFn::Popcount => {
            let own = code.and_with(a, int.mask());
            code.each_lane(own, own, |code, lane, _| code.ins().popcnt(lane))
        }
        UnaryFn::Abs | UnaryFn::Floor | UnaryFn::Ceil | UnaryFn::Round | UnaryFn::Trunc => a,
        UnaryFn::Sqrt | UnaryFn::Bits | UnaryFn::FloatBits | UnaryFn::RoundF16 => {
            unreachable!("verified: not a function from integers to integers")
        }
    }
}

fn sign(code: &mut Code<'_>, int: Int, a: Value) -> Value {
    let ty = code.ty(a);
    let (one, minus_one) = (code.constant(ty, 1), code.constant(ty, u64::MAX));
    let is_zero = code.compare_with(IntCC::Equal, a, 0);
    let is_below = code.compare_with(IntCC::SignedLessThan, a, 0);
    let rest = if int.signed { code.select(is_below, minus_one, one) } else { one };
    let zero = code.constant(ty, 0);
    code.select(is_zero, zero, rest)
}

/// What `function` makes of two integer parts; comparisons give a mask.
pub(super) fn binary(code: &mut Code<'_>, function: BinaryFn, int: Int, a: Value, b: Value) -> Value {
    let result = match function {
        BinaryFn::Add => code.ins().iadd(a, b),
        BinaryFn::Sub => code.ins().isub(a, b),
        BinaryFn::Mul => code.ins().imul(a, b),
        BinaryFn::And => code.ins().band(a, b),
        BinaryFn::Xor => code.ins().bxor(a, b),
        BinaryFn::Or => code.ins().bor(a, b),
        BinaryFn::FloorDiv => divide::floor_div(code, int, a, b),
        BinaryFn::Rem => divide::remainder(code, int, a, b),
        BinaryFn::Pow => return pow(code, int, a, b),
        BinaryFn::Shl | BinaryFn::Shr => code.each_lane(a, b, |code, a, b| shift(code, function, int, a, b)),
        BinaryFn::Min | BinaryFn::Max => {
            let less = compare(code, BinaryFn::Lt, int, a, b);
            return if function == BinaryFn::Min { code.select(less, a, b) } else { code.select(less, b, a) };
        }
        BinaryFn::Eq | BinaryFn::Ne | BinaryFn::Lt | BinaryFn::Le | BinaryFn::Gt | BinaryFn::Ge => {
            return compare(code, function, int, a, b);
        }
        BinaryFn::Div => unreachable!("verified: `div` is float division"),
    };
    canonical(code, int, result)
}

fn compare(code: &mut Code<'_>, function: BinaryFn, int: Int, a: Value, b: Value) -> Value {
    let condition = match (function, int.signed) {
        (BinaryFn::Eq, _) => IntCC::Equal,
        (BinaryFn::Ne, _) => IntCC::NotEqual,
        (BinaryFn::Lt, true) => IntCC::SignedLessThan,
        (BinaryFn::Le, true) => IntCC::SignedLessThanOrEqual,
        (BinaryFn::Gt, true) => IntCC::SignedGreaterThan,
        (BinaryFn::Ge, true) => IntCC::SignedGreaterThanOrEqual,
        (BinaryFn::Lt, false) => IntCC::UnsignedLessThan,
        (BinaryFn::Le, false) => IntCC::UnsignedLessThanOrEqual,
        (BinaryFn::Gt, false) => IntCC::UnsignedGreaterThan,
        (BinaryFn::Ge, false) => IntCC::UnsignedGreaterThanOrEqual,
        (other, _) => unreachable!("`{}` is no comparison", other.name()),
    };
    code.compare(condition, a, b)
}

/// Shifts a part by one scalar count, modulo the width of the type.
pub(super) fn shift(code: &mut Code<'_>, function: BinaryFn, int: Int, a: Value, count: Value) -> Value {
    let count = code.and_with(count, u64::from(int.bits.next_power_of_two() - 1));
    let shifted = match function {
        BinaryFn::Shl => code.ins().ishl(a, count),
        _ if int.signed => code.ins().sshr(a, count),
        _ => code.ins().ushr(a, count),
    };
    canonical(code, int, shifted)
}

/// Squares and multiplies until the exponents of all lanes are used up; a negative one is `1 // (a ** -b)`.
fn pow(code: &mut Code<'_>, int: Int, a: Value, b: Value) -> Value {
    let ty = code.ty(a);
    let size = if int.signed { code.ins().iabs(b) } else { b };
    let one = code.constant(ty, 1);
    let (looped, done) = (code.builder.create_block(), code.builder.create_block());
    let [result, square, rest] = [(); 3].map(|()| code.builder.append_block_param(looped, ty));
    let power = code.builder.append_block_param(done, ty);
    code.ins().jump(looped, &[one, a, size].map(BlockArg::Value));

    code.builder.switch_to_block(looped);
    let odd = code.and_with(rest, 1);
    let odd = code.int_to_mask(odd);
    let product = code.ins().imul(result, square);
    let next_result = code.select(odd, product, result);
    let next_square = code.ins().imul(square, square);
    let next_rest = code.shift_right(rest, 1);
    let goes_on = if ty.is_vector() { code.ins().vany_true(next_rest) } else { code.int_to_mask(next_rest) };
    let again = [next_result, next_square, next_rest].map(BlockArg::Value);
    code.ins().brif(goes_on, looped, &again, done, &[BlockArg::Value(next_result)]);

    code.builder.switch_to_block(done);
    let power = canonical(code, int, power);
    if int.signed { reciprocal_where_negative(code, b, power) } else { power }
}

/// `1 // power` where `b` is negative: 1 of 1, -1 of what is below 0, else 0.
fn reciprocal_where_negative(code: &mut Code<'_>, b: Value, power: Value) -> Value {
    let ty = code.ty(power);
    let (one, minus_one) = (code.constant(ty, 1), code.constant(ty, u64::MAX));
    let is_one = code.compare_with(IntCC::Equal, power, 1);
    let is_below = code.compare_with(IntCC::SignedLessThan, power, 0);
    let reciprocal = code.keep(is_below, minus_one);
    let reciprocal = code.select(is_one, one, reciprocal);
    let is_negative = code.compare_with(IntCC::SignedLessThan, b, 0);
    code.select(is_negative, reciprocal, power)
}
