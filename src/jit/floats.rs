//! Float arithmetic on parts, bit for bit that of [`scalar`](crate::graph::scalar), but for the bits of NaNs.
//!
//! ```text
//! min a b    fcmp lt a b; select: one minps, and its NaN rule is the language's
//! ```
//!
//! Which NaN comes out of an operation shows only in `bits` and in stores; those make it canonical.

use super::code::Code;
use super::{half, remainder};
use crate::graph::scalar::{BinaryFn, UnaryFn};
use crate::seeded::{self, Bug};
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::types::F32;
use cranelift_codegen::ir::{InstBuilder, Value};

/// What `function` makes of a float part; `bits` gives an integer part.
pub(super) fn unary(code: &mut Code<'_>, function: UnaryFn, a: Value) -> Value {
    match function {
        UnaryFn::Neg => code.ins().fneg(a),
        UnaryFn::Abs => code.ins().fabs(a),
        UnaryFn::Sign => sign(code, a),
        UnaryFn::Floor => code.ins().floor(a),
        UnaryFn::Ceil => code.ins().ceil(a),
        UnaryFn::Round => code.ins().nearest(a),
        UnaryFn::Trunc => code.ins().trunc(a),
        UnaryFn::Sqrt => code.ins().sqrt(a),
        UnaryFn::RoundF16 => {
            let bits = half::encode(code, a);
            half::decode(code, bits)
        }
        UnaryFn::Bits => {
            let canonical = canonical(code, a);
            code.bits_as_ints(canonical)
        }
        UnaryFn::Not | UnaryFn::Popcount | UnaryFn::FloatBits => {
            unreachable!("verified: not a function of floats")
        }
    }
}

/// 1, -1, or the zero or NaN itself.
fn sign(code: &mut Code<'_>, a: Value) -> Value {
    let ty = code.ty(a);
    let (zero, one, minus_one) = (code.float(ty, 0.0), code.float(ty, 1.0), code.float(ty, -1.0));
    let (above, below) = (less(code, zero, a), less(code, a, zero));
    let rest = code.select(below, minus_one, a);
    code.select(above, one, rest)
}

/// The part with every NaN replaced by the one that memory shows.
pub(super) fn canonical(code: &mut Code<'_>, a: Value) -> Value {
    let ty = code.ty(a);
    let nan = code.constant(ty, if ty.lane_type() == F32 { 0x7fc0_0000 } else { 0x7ff8_0000_0000_0000 });
    let is_nan = code.compare_floats(FloatCC::Unordered, a, a);
    code.select(is_nan, nan, a)
}

fn less(code: &mut Code<'_>, a: Value, b: Value) -> Value {
    code.compare_floats(FloatCC::LessThan, a, b)
}

/// What `function` makes of two float parts; comparisons give a mask.
pub(super) fn binary(code: &mut Code<'_>, function: BinaryFn, a: Value, b: Value) -> Value {
    match function {
        BinaryFn::Add => code.ins().fadd(a, b),
        BinaryFn::Sub => code.ins().fsub(a, b),
        BinaryFn::Mul => code.ins().fmul(a, b),
        BinaryFn::Div => code.ins().fdiv(a, b),
        BinaryFn::FloorDiv => floor_div(code, a, b),
        BinaryFn::Rem => remainder::remainder(code, a, b),
        BinaryFn::Min => {
            let (a, b) = sides(a, b);
            let smaller = less(code, a, b);
            code.select(smaller, a, b)
        }
        BinaryFn::Max => {
            let (a, b) = sides(a, b);
            let larger = less(code, b, a);
            code.select(larger, a, b)
        }
        BinaryFn::Eq => code.compare_floats(FloatCC::Equal, a, b),
        BinaryFn::Ne => code.compare_floats(FloatCC::NotEqual, a, b),
        BinaryFn::Lt => less(code, a, b),
        BinaryFn::Le => code.compare_floats(FloatCC::LessThanOrEqual, a, b),
        BinaryFn::Gt => less(code, b, a),
        BinaryFn::Ge => code.compare_floats(FloatCC::LessThanOrEqual, b, a),
        BinaryFn::Pow | BinaryFn::Shl | BinaryFn::Shr | BinaryFn::And | BinaryFn::Xor | BinaryFn::Or => {
            unreachable!("verified: not an operation on floats")
        }
    }
}

/// The sides of `min` and `max`: of NaNs and zeros the second is kept.
fn sides(a: Value, b: Value) -> (Value, Value) {
    if seeded::active(Bug::NanInMinMax) { (b, a) } else { (a, b) }
}

pub(super) fn floor_div(code: &mut Code<'_>, a: Value, b: Value) -> Value {
    let quotient = code.ins().fdiv(a, b);
    if seeded::active(Bug::DivisionTruncates) {
        return code.ins().trunc(quotient);
    }
    code.ins().floor(quotient)
}
