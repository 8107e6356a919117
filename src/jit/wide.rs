//! Conversions between four 64-bit integers and four floats, for which there are no instructions.
//!
//! ```text
//! x: i64 in -2^50..2^50    bits of 1.5 * 2^52, plus x, as an f64, minus 1.5 * 2^52: exactly x
//! y: f64 in -2^50..2^50    y rounded toward 0, plus 1.5 * 2^52, as bits, minus those of 1.5 * 2^52: exactly y
//! ```
//!
//! Coordinates are that small but for a few, so the code looks at its four lanes and converts them at once if they
//! are, and one by one if not. Both ways give the same bits.

use super::casts::{cast, cast_scalar, demote, promote};
use super::code::Code;
use super::lanes::{Val, lane_type};
use crate::graph::types::Element;
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::types::{F32, F64X2};
use cranelift_codegen::ir::{InstBuilder, Value};

/// 1.5 * 2^52, whose last place is worth 1.
const MAGIC: f64 = 6_755_399_441_055_744.0;
/// What is smaller than `2 ^ NEAR` is converted at once.
const NEAR: u32 = 50;
/// The first lane of a ramp of i32 is smaller than `2 ^ SMALL`, its step than `2 ^ SMALL_STEP`.
const SMALL: u32 = 30;
const SMALL_STEP: u32 = 27;

/// Integers of 64 bits to f32 or f64.
pub(super) fn to_floats(code: &mut Code<'_>, from: Element, to: Element, ints: Val) -> Val {
    let far = ints.map(|part| far_int(code, from, part));
    let near = |code: &mut Code<'_>| {
        let doubles = ints.map(|part| near_to_double(code, part));
        if lane_type(to) == F32 { demote(code, doubles) } else { doubles }
    };
    unless(code, far, near, |code| each_lane(code, from, to, ints))
}

/// A ramp to f32 or f64: if its scalar is small, all lanes are i32, and there are instructions for those.
pub(super) fn ramp_to_floats(code: &mut Code<'_>, from: Element, to: Element, ramp: (Value, i64)) -> Val {
    let (first, step) = ramp;
    let lanes = Val::Ramp(first, step);
    let steady = step.unsigned_abs() < 1 << SMALL_STEP && (from.is_signed() || step >= 0);
    if !steady {
        let lanes = code.spread(from, lanes);
        return to_floats(code, from, to, lanes);
    }
    let shifted = if from.is_signed() { code.add_with(first, 1 << SMALL) } else { first };
    let far = code.shift_right(shifted, if from.is_signed() { SMALL + 1 } else { SMALL });
    let near = |code: &mut Code<'_>| {
        let narrow = code.narrow_ramp(first, step);
        cast(code, Element::I32, to, Val::Quad(narrow))
    };
    branch(code, far, near, |code| {
        let lanes = code.spread(from, lanes);
        to_floats(code, from, to, lanes)
    })
}

/// f32 or f64 to integers of 64 bits.
pub(super) fn to_ints(code: &mut Code<'_>, from: Element, to: Element, floats: Val) -> Val {
    let doubles = if lane_type(from) == F32 { promote(code, floats) } else { floats };
    let far = doubles.map(|part| far_double(code, to, part));
    let near = |code: &mut Code<'_>| doubles.map(|part| near_to_int(code, part));
    unless(code, far, near, |code| each_lane(code, from, to, floats))
}

/// Converts lane by lane.
pub(super) fn each_lane(code: &mut Code<'_>, from: Element, to: Element, val: Val) -> Val {
    let scalars = code.scalars(val).map(|scalar| cast_scalar(code, from, to, scalar));
    code.lanes_of(scalars)
}

/// Something other than 0 in lanes that are not near.
fn far_int(code: &mut Code<'_>, from: Element, part: Value) -> Value {
    let shifted = if from.is_signed() { code.add_with(part, 1 << NEAR) } else { part };
    code.shift_right(shifted, NEAR + 1)
}

/// The mask of lanes that are not near, or below what an unsigned integer holds, or NaN.
fn far_double(code: &mut Code<'_>, to: Element, part: Value) -> Value {
    let (size, end) = (code.ins().fabs(part), code.float(F64X2, 2f64.powi(NEAR as i32)));
    let mut near = code.compare_floats(FloatCC::LessThan, size, end);
    if !to.is_signed() {
        let zero = code.float(F64X2, 0.0);
        let held = code.compare_floats(FloatCC::GreaterThanOrEqual, part, zero);
        near = code.ins().band(near, held);
    }
    code.negate(near)
}

fn near_to_double(code: &mut Code<'_>, part: Value) -> Value {
    let sum = code.add_with(part, MAGIC.to_bits());
    let (sum, magic) = (code.bits_as_floats(sum), code.float(F64X2, MAGIC));
    code.ins().fsub(sum, magic)
}

fn near_to_int(code: &mut Code<'_>, part: Value) -> Value {
    let (whole, magic) = (code.ins().trunc(part), code.float(F64X2, MAGIC));
    let sum = code.ins().fadd(whole, magic);
    let sum = code.bits_as_ints(sum);
    code.add_with(sum, MAGIC.to_bits().wrapping_neg())
}

/// `near`, unless a lane of `far` is not 0; then `otherwise`. Both have the same registers.
fn unless<'f>(
    code: &mut Code<'f>,
    far: Val,
    near: impl FnOnce(&mut Code<'f>) -> Val,
    otherwise: impl FnOnce(&mut Code<'f>) -> Val,
) -> Val {
    let some = far.parts().into_iter().reduce(|a, b| code.ins().bor(a, b)).expect("lanes have parts");
    let some = code.any(some);
    branch(code, some, near, otherwise)
}

/// `near`, unless the scalar `far` is not 0; then `otherwise`. Both have the same registers.
fn branch<'f>(
    code: &mut Code<'f>,
    far: Value,
    near: impl FnOnce(&mut Code<'f>) -> Val,
    otherwise: impl FnOnce(&mut Code<'f>) -> Val,
) -> Val {
    let parts = code.branch(far, |code| near(code).parts(), |code| otherwise(code).parts());
    Val::from_registers(&parts)
}
