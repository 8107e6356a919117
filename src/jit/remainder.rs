//! The remainder of floats, exact whatever the quotient is.
//!
//! ```text
//! t = a - floor(a / b) * b        rounded once; where |t| < |b| nothing was lost, which is so nearly always
//! r = |a|                         elsewhere: as long as r >= |b|, a multiple of b goes off, by a power of two and by a
//!                                 quotient of so few bits that the rest is exact
//! ```

use super::code::Code;
use super::floats::floor_div;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::F32;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Type, Value};

/// How floats of a type are written in bits; [`rows`](super::rows) takes its constants from here, too.
#[derive(Clone, Copy)]
pub(super) struct Format {
    pub(super) sign: u64,
    pub(super) exponent: u64,
    /// Two exponents that lie as far apart have a quotient that its type holds as a whole number.
    pub(super) apart: u64,
    /// A divisor times this one has all its bits; numbers below that have a quotient which its type holds.
    pub(super) large: f64,
}

pub(super) const SINGLE: Format =
    Format { sign: 1 << 31, exponent: 0xff << 23, apart: 22 << 23, large: 16_777_216.0 };
pub(super) const DOUBLE: Format =
    Format { sign: 1 << 63, exponent: 0x7ff << 52, apart: 51 << 52, large: 9_007_199_254_740_992.0 };

fn format(ty: Type) -> Format {
    if ty.lane_type() == F32 { SINGLE } else { DOUBLE }
}

/// The remainder with the divisor's sign.
pub(super) fn remainder(code: &mut Code<'_>, a: Value, b: Value) -> Value {
    let format = format(code.ty(a));
    let b_bits = code.bits_as_ints(b);
    let (sign, size) = (code.and_with(b_bits, format.sign), code.ins().fabs(b));
    let (rest, far) = once(code, (a, b), sign, size);
    let rest = code.branch(far, |_| vec![rest], |code| vec![step_by_step(code, format, (a, b), size)])[0];
    let bits = code.bits_as_ints(rest);
    let bits = code.and_with(bits, !format.sign);
    let signed = code.ins().bor(bits, sign);
    code.bits_as_floats(signed)
}

/// The remainder by one quotient, as if the divisor were positive, and whether that is not it in some lane.
///
/// A number that is a whole multiple of `b` away from `a`, and nearer to 0 than `b`, needs no more bits than `b` has: so what
/// one rounding leaves there was not rounded. A quotient of too many bits leaves more.
fn once(code: &mut Code<'_>, (a, b): (Value, Value), sign: Value, size: Value) -> (Value, Value) {
    let quotient = floor_div(code, a, b);
    let quotient = code.ins().fneg(quotient);
    let rest = code.ins().fma(quotient, b, a);
    let bits = code.bits_as_ints(rest);
    let bits = code.ins().bxor(bits, sign);
    let rest = code.bits_as_floats(bits);
    let distance = code.ins().fabs(rest);
    let near = code.compare_floats(FloatCC::LessThan, distance, size);
    let far = code.negate(near);
    (not_below_zero(code, rest, size), code.any(far))
}

/// A quotient that was rounded up leaves less than nothing.
fn not_below_zero(code: &mut Code<'_>, rest: Value, divisor: Value) -> Value {
    let zero = code.float(code.ty(rest), 0.0);
    let below = code.compare_floats(FloatCC::LessThan, rest, zero);
    let corrected = code.ins().fadd(rest, divisor);
    code.select(below, corrected, rest)
}

/// The remainder as if the divisor were positive, for numbers of every size.
fn step_by_step(code: &mut Code<'_>, format: Format, (a, b): (Value, Value), size: Value) -> Value {
    let ty = code.ty(a);
    let (unordered, sum) = (code.compare_floats(FloatCC::Unordered, a, b), code.ins().fadd(a, b));
    let all = code.ins().fabs(a);
    let all = code.select(unordered, sum, all);
    let large = code.float(ty, format.large);
    let large = code.ins().fmul(size, large);

    let [head, step, done] = [(); 3].map(|()| code.builder.create_block());
    [head, step, done].into_iter().for_each(|block| code.builder.set_cold_block(block));
    code.ins().jump(head, &[BlockArg::Value(all)]);
    let rest = code.builder.append_block_param(head, ty);
    code.builder.switch_to_block(head);
    let far = code.compare_floats(FloatCC::GreaterThanOrEqual, rest, size);
    let some = code.any(far);
    code.ins().brif(some, step, &[], done, &[]);
    code.builder.switch_to_block(step);
    let less = one_step(code, format, rest, (size, large));
    let less = code.select(far, less, rest);
    code.ins().jump(head, &[BlockArg::Value(less)]);
    code.builder.switch_to_block(done);
    on_side_of(code, (a, b), rest, size)
}

/// What is left of `rest` when the largest multiple goes off whose quotient has so few bits that nothing is lost: one of
/// the divisor itself, or of its many bits `large` with a larger exponent.
fn one_step(code: &mut Code<'_>, format: Format, rest: Value, (size, large): (Value, Value)) -> Value {
    let (bits, large_bits) = (code.bits_as_ints(rest), code.bits_as_ints(large));
    let exponent = code.and_with(bits, format.exponent);
    let exponent = code.add_with(exponent, format.apart.wrapping_neg());
    let larger = code.compare(IntCC::SignedGreaterThan, exponent, large_bits);
    let exponent = code.select(larger, exponent, large_bits);
    let (exponent, digits) =
        (code.and_with(exponent, format.exponent), code.and_with(large_bits, !format.exponent));
    let multiple = code.ins().bor(exponent, digits);
    let multiple = code.bits_as_floats(multiple);
    let is_small = code.compare_floats(FloatCC::LessThan, rest, large);
    let multiple = code.select(is_small, size, multiple);
    let quotient = code.ins().fdiv(rest, multiple);
    let quotient = code.ins().trunc(quotient);
    let quotient = code.ins().fneg(quotient);
    let less = code.ins().fma(quotient, multiple, rest);
    not_below_zero(code, less, multiple)
}

/// Where the signs differ, what is missing of the divisor.
fn on_side_of(code: &mut Code<'_>, (a, b): (Value, Value), rest: Value, size: Value) -> Value {
    let (a, b) = (code.bits_as_ints(a), code.bits_as_ints(b));
    let (signs, zero) = (code.ins().bxor(a, b), code.float(code.ty(rest), 0.0));
    let differ = code.compare_with(IntCC::SignedLessThan, signs, 0);
    let some = code.compare_floats(FloatCC::NotEqual, rest, zero);
    let other_side = code.ins().band(differ, some);
    let missing = code.ins().fsub(size, rest);
    code.select(other_side, missing, rest)
}
