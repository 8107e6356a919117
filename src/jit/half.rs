//! f16 in memory, f32 in registers: the two conversions, on parts of 32-bit lanes.
//!
//! ```text
//! decode 0x3c00  =  1.0        encode 1.0      =  0x3c00
//! decode 0x0001  =  2^-24      encode 65520.0  =  0x7c00, infinity
//! ```
//!
//! Processors convert by themselves, but Cranelift has no opcode for it.

use super::code::Code;
use super::floats;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::F32;
use cranelift_codegen::ir::{InstBuilder, Value};

/// Bits of an f32 that f16 has no place for.
const MANTISSA: u32 = 23 - 10;
/// Difference between the biases of the exponents, in place.
const REBIAS: u64 = (127 - 15) << 23;
/// Magnitude bits of 2^16, from where on all is infinite or NaN.
const TOO_LARGE: u64 = (127 + 16) << 23;
/// Magnitude bits of 2^-14, below which f16 is denormal.
const DENORMAL: u64 = (127 - 14) << 23;
/// Bits of 0.5, whose last place is worth 2^-24, as is that of an f16 denormal.
const HALF: u64 = 126 << 23;

/// The f32 of f16 bits in the low half of 32-bit lanes.
pub(super) fn decode(code: &mut Code<'_>, bits: Value) -> Value {
    let magnitude = code.and_with(bits, 0x7fff);
    let sign = code.and_with(bits, 0x8000);
    let sign = code.shift_left(sign, 16);
    let shifted = code.shift_left(magnitude, MANTISSA);
    // The multiplication rebiases the exponent, and normalises denormals on the way; it is exact.
    let small = code.bits_as_floats(shifted);
    let scale = code.float(code.ty(small), 2f64.powi(127 - 15));
    let scaled = code.ins().fmul(small, scale);
    let scaled = code.bits_as_ints(scaled);
    let endless = code.or_with(shifted, 0x7f80_0000);
    let is_finite = code.compare_with(IntCC::SignedLessThan, magnitude, 0x7c00);
    let magnitude = code.select(is_finite, scaled, endless);
    let all = code.ins().bor(magnitude, sign);
    code.bits_as_floats(all)
}

/// The bits of the nearest f16, ties to even, in the low half of 32-bit lanes.
pub(super) fn encode(code: &mut Code<'_>, value: Value) -> Value {
    debug_assert_eq!(code.ty(value).lane_type(), F32);
    let value = floats::canonical(code, value);
    let bits = code.bits_as_ints(value);
    let magnitude = code.and_with(bits, 0x7fff_ffff);
    let (normal, denormal) = (encode_normal(code, magnitude), encode_denormal(code, magnitude));
    let endless = encode_endless(code, magnitude);
    let is_small = code.compare_with(IntCC::SignedLessThan, magnitude, DENORMAL);
    let is_large = code.compare_with(IntCC::SignedGreaterThanOrEqual, magnitude, TOO_LARGE);
    let result = code.select(is_small, denormal, normal);
    let result = code.select(is_large, endless, result);
    let sign = code.shift_right(bits, 16);
    let sign = code.and_with(sign, 0x8000);
    code.ins().bor(result, sign)
}

/// Rounds by adding just below half a place, and one more if the place is odd; a carry moves on to the exponent.
fn encode_normal(code: &mut Code<'_>, magnitude: Value) -> Value {
    let odd = code.shift_right(magnitude, MANTISSA);
    let odd = code.and_with(odd, 1);
    let round = (1 << (MANTISSA - 1)) - 1;
    let rebiased = code.add_with(magnitude, u64::wrapping_sub(round, REBIAS));
    let rounded = code.ins().iadd(rebiased, odd);
    code.shift_right(rounded, MANTISSA)
}

/// Lets the addition of 0.5 round to multiples of 2^-24.
fn encode_denormal(code: &mut Code<'_>, magnitude: Value) -> Value {
    let value = code.bits_as_floats(magnitude);
    let half = code.constant(code.ty(value), HALF);
    let sum = code.ins().fadd(value, half);
    let sum = code.bits_as_ints(sum);
    code.add_with(sum, HALF.wrapping_neg())
}

/// Infinity or NaN.
fn encode_endless(code: &mut Code<'_>, magnitude: Value) -> Value {
    let ty = code.ty(magnitude);
    let (nan, infinity) = (code.constant(ty, 0x7e00), code.constant(ty, 0x7c00));
    let is_nan = code.compare_with(IntCC::SignedGreaterThan, magnitude, 0x7f80_0000);
    code.select(is_nan, nan, infinity)
}
