//! Conversions: saturating from floats, wrapping between integers, rounding to floats.
//!
//! ```text
//! cast 300.7f32 to u8   fcvt_to_sint_sat gives 300, clamped to 255
//! cast -1i8 to u16      already 0xffffffff in its lane; band 0xffff
//! ```
//!
//! Where Cranelift has no instruction for four lanes, [`wide`] helps, or each lane is converted by itself.

use super::code::Code;
use super::divide::{UPPER_HALF, quad_to_doubles};
use super::ints::{self, Int};
use super::lanes::{Val, lane_type, scalar_type};
use super::wide;
use crate::graph::types::Element;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32, F32X4, F64, I32, I32X4, I64};
use cranelift_codegen::ir::{InstBuilder, Type, Value};

/// Converts a value.
pub(super) fn cast(code: &mut Code<'_>, from: Element, to: Element, val: Val) -> Val {
    match val {
        _ if from == to => val,
        Val::One(scalar) => Val::One(cast_scalar(code, from, to, scalar)),
        Val::Ramp(first, step) => cast_ramp(code, from, to, (first, step)),
        Val::Quad(_) | Val::Pairs(..) => cast_lanes(code, from, to, val),
    }
}

/// Converts one scalar.
pub(super) fn cast_scalar(code: &mut Code<'_>, from: Element, to: Element, a: Value) -> Value {
    if from == Element::Bool {
        let int = code.mask_to_int(a);
        return cast_scalar(code, Element::U32, to, int);
    }
    match (from.is_float(), to) {
        (true, Element::Bool) => float_to_bool(code, a),
        (false, Element::Bool) => code.int_to_mask(a),
        (true, _) if to.is_float() => float_to_float(code, scalar_type(to), a),
        (false, _) if to.is_float() => int_to_float(code, Int::of(from), scalar_type(to), a),
        (true, _) => float_to_int(code, Int::of(to), scalar_type(to), a),
        (false, _) => int_to_int(code, Int::of(from), Int::of(to), scalar_type(to), a),
    }
}

/// Everything but zero is true, NaN too.
fn float_to_bool(code: &mut Code<'_>, a: Value) -> Value {
    let zero = code.float(code.ty(a), 0.0);
    code.compare_floats(FloatCC::NotEqual, a, zero)
}

fn float_to_float(code: &mut Code<'_>, to: Type, a: Value) -> Value {
    match (code.ty(a), to) {
        (F32, F64) => code.ins().fpromote(F64, a),
        (F64, F32) => code.ins().fdemote(F32, a),
        _ => a,
    }
}

/// Rounds to nearest, ties to even.
fn int_to_float(code: &mut Code<'_>, from: Int, to: Type, a: Value) -> Value {
    if from.signed { code.ins().fcvt_from_sint(to, a) } else { code.ins().fcvt_from_uint(to, a) }
}

/// Works for scalars and for four f32 lanes.
fn float_to_int(code: &mut Code<'_>, to: Int, ty: Type, a: Value) -> Value {
    if to.bits < 32 {
        let wide = code.ins().fcvt_to_sint_sat(ty, a);
        return clamp(code, to, wide);
    }
    if to.signed { code.ins().fcvt_to_sint_sat(ty, a) } else { code.ins().fcvt_to_uint_sat(ty, a) }
}

/// Brings i32 lanes into the range of a narrower type.
fn clamp(code: &mut Code<'_>, to: Int, a: Value) -> Value {
    let ty = code.ty(a);
    let (lo, hi) = if to.signed { (!(to.mask() >> 1), to.mask() >> 1) } else { (0, to.mask()) };
    let (lo, hi) = (code.constant(ty, lo), code.constant(ty, hi));
    let below = code.compare(IntCC::SignedLessThan, a, lo);
    let raised = code.select(below, lo, a);
    let above = code.compare(IntCC::SignedGreaterThan, a, hi);
    code.select(above, hi, raised)
}

fn int_to_int(code: &mut Code<'_>, from: Int, to: Int, ty: Type, a: Value) -> Value {
    let resized = match (code.ty(a), ty) {
        (I32, I64) if from.signed => code.ins().sextend(I64, a),
        (I32, I64) => code.ins().uextend(I64, a),
        (I64, I32) => code.ins().ireduce(I32, a),
        _ => a,
    };
    ints::canonical(code, to, resized)
}

/// Between 64-bit integers a ramp stays one; in 32 bits it wraps lane by lane.
fn cast_ramp(code: &mut Code<'_>, from: Element, to: Element, ramp: (Value, i64)) -> Val {
    match to {
        Element::I64 | Element::U64 => Val::Ramp(ramp.0, ramp.1),
        Element::U8 | Element::U16 | Element::U32 | Element::I8 | Element::I16 | Element::I32 => {
            let lanes = code.narrow_ramp(ramp.0, ramp.1);
            Val::Quad(ints::canonical(code, Int::of(to), lanes))
        }
        Element::F16 | Element::F32 | Element::F64 => wide::ramp_to_floats(code, from, to, ramp),
        Element::Bool => {
            let lanes = code.spread(from, Val::Ramp(ramp.0, ramp.1));
            cast_lanes(code, from, to, lanes)
        }
    }
}

/// Converts four lanes.
fn cast_lanes(code: &mut Code<'_>, from: Element, to: Element, val: Val) -> Val {
    if from == Element::Bool {
        let int = val.map(|mask| code.mask_to_int(mask));
        return if to == Element::U32 { int } else { cast_lanes(code, Element::U32, to, int) };
    }
    if to == Element::Bool {
        let mask =
            val.map(|part| if from.is_float() { float_to_bool(code, part) } else { code.int_to_mask(part) });
        return code.bool_mask(mask);
    }
    match (lane_type(from), lane_type(to), val) {
        (I32, I32, Val::Quad(a)) => Val::Quad(ints::canonical(code, Int::of(to), a)),
        (I64, I64, _) | (F32, F32, _) | (F64, F64, _) => val,
        (I32, F32, Val::Quad(a)) => Val::Quad(int_to_float(code, Int::of(from), F32X4, a)),
        (F32, I32, Val::Quad(a)) => Val::Quad(float_to_int(code, Int::of(to), I32X4, a)),
        (I32, I64, Val::Quad(a)) => widen(code, Int::of(from), a),
        (I64, I32, Val::Pairs(low, high)) => {
            let lanes = code.low_words(low, high);
            Val::Quad(ints::canonical(code, Int::of(to), lanes))
        }
        (I32, F64, Val::Quad(a)) => {
            let (low, high) = quad_to_doubles(code, Int::of(from), a);
            Val::Pairs(low, high)
        }
        (F32, F64, _) => promote(code, val),
        (F64, F32, _) => demote(code, val),
        (I64, F32 | F64, _) => wide::to_floats(code, from, to, val),
        (F32 | F64, I64, _) => wide::to_ints(code, from, to, val),
        _ => wide::each_lane(code, from, to, val),
    }
}

fn widen(code: &mut Code<'_>, from: Int, a: Value) -> Val {
    if from.signed {
        return Val::Pairs(code.ins().swiden_low(a), code.ins().swiden_high(a));
    }
    Val::Pairs(code.ins().uwiden_low(a), code.ins().uwiden_high(a))
}

/// Four f32 lanes as f64.
pub(super) fn promote(code: &mut Code<'_>, val: Val) -> Val {
    let Val::Quad(lanes) = val else { unreachable!("f32 lies in one register") };
    let upper = code.shuffle(F32X4, lanes, lanes, &UPPER_HALF);
    Val::Pairs(code.ins().fvpromote_low(lanes), code.ins().fvpromote_low(upper))
}

/// Four f64 lanes as f32, rounded to nearest.
pub(super) fn demote(code: &mut Code<'_>, val: Val) -> Val {
    let Val::Pairs(low, high) = val else { unreachable!("f64 lies in two registers") };
    let (low, high) = (code.ins().fvdemote(low), code.ins().fvdemote(high));
    let lower_halves = [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23];
    Val::Quad(code.shuffle(F32X4, low, high, &lower_halves))
}
