//! Integer division that rounds down, on parts; never a trap.
//!
//! ```text
//! 7 // 2 = 3    -7 // 2 = -4    7 // 0 = 0    -7 % 2 = 1    7 % 0 = 0    i32 min // -1 = i32 min
//! ```
//!
//! Lanes of 32 bits divide as f64, which is exact: a quotient that is not whole lies at least `1 / b` from a whole
//! number, and its rounding error is below that. Lanes of 64 bits divide one by one, by their sizes and a divisor that is
//! not 0.

use super::code::Code;
use super::ints::Int;
use crate::graph::scalar::{BinaryFn, Scalar};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{F64X2, I32X4, I64X2};
use cranelift_codegen::ir::{InstBuilder, Value};

/// The low words of two registers of two lanes.
pub(super) const LOW_WORDS: [u8; 16] = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];
/// The upper half of a register, twice.
pub(super) const UPPER_HALF: [u8; 16] = [8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15];

/// Toward minus infinity; 0 when the divisor is 0.
pub(super) fn floor_div(code: &mut Code<'_>, int: Int, a: Value, b: Value) -> Value {
    if code.ty(a) == I32X4 {
        return quad_quotient(code, int, a, b);
    }
    code.each_lane(a, b, |code, a, b| scalar_division(code, int, a, b).0)
}

/// With the sign of the divisor; 0 when the divisor is 0.
pub(super) fn remainder(code: &mut Code<'_>, int: Int, a: Value, b: Value) -> Value {
    if code.ty(a) == I32X4 {
        let quotient = quad_quotient(code, int, a, b);
        let product = code.ins().imul(quotient, b);
        let rest = code.ins().isub(a, product);
        let some = code.int_to_mask(b);
        return code.keep(some, rest);
    }
    code.each_lane(a, b, |code, a, b| scalar_division(code, int, a, b).1)
}

/// The exponent, if the divisor is a power of two that its type holds as a positive number.
pub(super) fn power_of_two(divisor: Scalar) -> Option<u32> {
    let divisor = divisor.as_int().filter(|divisor| *divisor > 0)?;
    (divisor.count_ones() == 1).then(|| divisor.trailing_zeros())
}

/// Division by `2 ^ power`: a shift, and the bits that it drops.
pub(super) fn by_power_of_two(
    code: &mut Code<'_>,
    function: BinaryFn,
    int: Int,
    a: Value,
    power: u32,
) -> Value {
    match function {
        BinaryFn::Rem => code.and_with(a, (1 << power) - 1),
        _ if int.signed => code.shift_right_signed(a, power),
        _ => code.shift_right(a, power),
    }
}

/// Quotient and remainder of scalars, by the sizes of both: the smallest number has a size, so only 0 is no divisor.
fn scalar_division(code: &mut Code<'_>, int: Int, a: Value, b: Value) -> (Value, Value) {
    let some = code.int_to_mask(b);
    let quotient = if int.signed { signed_quotient(code, a, b) } else { harmless_quotient(code, a, b) };
    let product = code.ins().imul(quotient, b);
    let rest = code.ins().isub(a, product);
    (code.keep(some, quotient), code.keep(some, rest))
}

/// Where signs differ the quotient of the sizes is negative, and one less where something is left.
fn signed_quotient(code: &mut Code<'_>, a: Value, b: Value) -> Value {
    let (size, divisor) = (code.ins().iabs(a), code.ins().iabs(b));
    let quotient = harmless_quotient(code, size, divisor);
    let product = code.ins().imul(quotient, divisor);
    let rest = code.ins().isub(size, product);
    let left = code.int_to_mask(rest);
    let (negative, less) = (code.ins().ineg(quotient), code.ins().bnot(quotient));
    let down = code.select(left, less, negative);
    let signs = code.ins().bxor(a, b);
    let differ = code.compare_with(IntCC::SignedLessThan, signs, 0);
    code.select(differ, down, quotient)
}

/// Of numbers without a sign, by 1 instead of 0. Cranelift looks at the divisor of `sdiv` once more, and traps; it does
/// not at that of `udiv`, and the processor traps at no other divisor than 0.
fn harmless_quotient(code: &mut Code<'_>, a: Value, b: Value) -> Value {
    let one = code.constant(code.ty(b), 1);
    let some = code.int_to_mask(b);
    let divisor = code.select(some, b, one);
    code.ins().udiv(a, divisor)
}

/// Four quotients at once, by way of f64.
fn quad_quotient(code: &mut Code<'_>, int: Int, a: Value, b: Value) -> Value {
    let ((a_low, a_high), (b_low, b_high)) = (quad_to_doubles(code, int, a), quad_to_doubles(code, int, b));
    let (low, high) = (whole_quotient(code, a_low, b_low), whole_quotient(code, a_high, b_high));
    let quotient = code.shuffle(I32X4, low, high, &LOW_WORDS);
    let some = code.int_to_mask(b);
    code.keep(some, quotient)
}

/// The two halves of a register of four integers, as f64.
pub(super) fn quad_to_doubles(code: &mut Code<'_>, int: Int, a: Value) -> (Value, Value) {
    let upper = code.shuffle(I32X4, a, a, &UPPER_HALF);
    (low_to_doubles(code, int, a), low_to_doubles(code, int, upper))
}

fn low_to_doubles(code: &mut Code<'_>, int: Int, a: Value) -> Value {
    if int.signed {
        let wide = code.ins().swiden_low(a);
        return code.ins().fcvt_from_sint(F64X2, wide);
    }
    let wide = code.ins().uwiden_low(a);
    code.ins().fcvt_from_uint(F64X2, wide)
}

/// The quotient rounded down, as an integer in the low word of each lane.
fn whole_quotient(code: &mut Code<'_>, a: Value, b: Value) -> Value {
    let quotient = code.ins().fdiv(a, b);
    let whole = code.ins().floor(quotient);
    // In 1.5 * 2^52 the last place is worth 1: adding it leaves the integer in the low bits, two's complement.
    let magic = code.float(F64X2, 6_755_399_441_055_744.0);
    let shifted = code.ins().fadd(whole, magic);
    code.bits_as(I64X2, shifted)
}
