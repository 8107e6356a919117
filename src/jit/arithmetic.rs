//! Operations on values of the loop IR: scalars stay scalars, ramps stay ramps, the rest works on lanes.
//!
//! ```text
//! add One(a) One(b)           one scalar iadd
//! add Ramp(x, 1) One(y)       one scalar iadd: Ramp(x + y, 1)
//! add Quad(a) One(b)          splat b, then a vector iadd
//! ```

use super::code::Code;
use super::ints::{self, Int};
use super::lanes::{Val, scalar_type};
use super::{divide, floats};
use crate::graph::scalar::{BinaryFn, Scalar, UnaryFn};
use crate::graph::types::Element;
use crate::seeded::{self, Bug};
use cranelift_codegen::ir::{InstBuilder, Value};

/// An operand: where it is, and what it is if that is known.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    pub(super) val: Val,
    pub(super) known: Option<Scalar>,
}

impl Operand {
    /// The value of an integer constant.
    fn int(self) -> Option<i64> {
        self.known.and_then(Scalar::as_int).map(|value| value as i64)
    }
}

/// What `function` makes of a value.
pub(super) fn unary(code: &mut Code<'_>, function: UnaryFn, element: Element, a: Val) -> Val {
    if let (UnaryFn::Neg, Val::Ramp(first, step)) = (function, a) {
        return Val::Ramp(code.ins().ineg(first), step.wrapping_neg());
    }
    let [a] = meet(code, element, [a]);
    match (element, function) {
        (Element::Bool, UnaryFn::Not) => a.map(|mask| code.negate(mask)),
        (Element::Bool, _) => a.map(|mask| {
            let int = code.mask_to_int(mask);
            let int = ints::unary(code, function, Int::of(element), int);
            code.int_to_mask(int)
        }),
        (Element::F16 | Element::F32 | Element::F64, _) => a.map(|part| floats::unary(code, function, part)),
        (_, UnaryFn::FloatBits) => a.map(|part| code.bits_as_floats(part)),
        (_, _) => a.map(|part| ints::unary(code, function, Int::of(element), part)),
    }
}

/// What `function` makes of two values of one type.
pub(super) fn binary(code: &mut Code<'_>, function: BinaryFn, element: Element, args: [Operand; 2]) -> Val {
    let short = ramp(code, function, element, args).or_else(|| by_constant(code, function, element, args));
    if let Some(short) = short {
        return short;
    }
    let args = meet(code, element, args.map(|arg| arg.val));
    let result = lift(args, |[a, b]| match element {
        Element::F16 | Element::F32 | Element::F64 => floats::binary(code, function, a, b),
        Element::Bool => bool_binary(code, function, a, b),
        _ => ints::binary(code, function, Int::of(element), a, b),
    });
    if function.is_comparison() { code.bool_mask(result) } else { result }
}

/// All of them as scalars, or all in registers.
fn meet<const N: usize>(code: &mut Code<'_>, element: Element, vals: [Val; N]) -> [Val; N] {
    let scalar = vals.iter().all(|val| matches!(val, Val::One(_)));
    if scalar { vals } else { vals.map(|val| code.spread(element, val)) }
}

/// Applies `f` to the parts of values that met.
fn lift<const N: usize>(vals: [Val; N], mut f: impl FnMut([Value; N]) -> Value) -> Val {
    let parts = vals.map(Val::parts);
    let results: Vec<Value> =
        (0..parts[0].len()).map(|at| f(parts.each_ref().map(|parts| parts[at]))).collect();
    match vals[0] {
        Val::One(_) => Val::One(results[0]),
        Val::Ramp(..) | Val::Quad(_) | Val::Pairs(..) => Val::from_registers(&results),
    }
}

/// Affine arithmetic on ramps, in one scalar.
fn ramp(code: &mut Code<'_>, function: BinaryFn, element: Element, [a, b]: [Operand; 2]) -> Option<Val> {
    if !matches!(element, Element::I64 | Element::U64) {
        return None;
    }
    match (function, a.val, b.val) {
        (_, Val::One(_), Val::One(_)) => None,
        (BinaryFn::Add | BinaryFn::Sub, a, b) => {
            let ((x, step), (y, other)) = (affine(a)?, affine(b)?);
            Some(match function {
                BinaryFn::Add => Val::Ramp(code.ins().iadd(x, y), step.wrapping_add(other)),
                _ => Val::Ramp(code.ins().isub(x, y), step.wrapping_sub(other)),
            })
        }
        (BinaryFn::Mul, Val::Ramp(first, step), Val::One(scale)) => {
            b.int().map(|by| Val::Ramp(code.ins().imul(first, scale), step.wrapping_mul(by)))
        }
        (BinaryFn::Mul, Val::One(scale), Val::Ramp(first, step)) => {
            a.int().map(|by| Val::Ramp(code.ins().imul(scale, first), step.wrapping_mul(by)))
        }
        (BinaryFn::Shl, Val::Ramp(first, step), Val::One(count)) => {
            b.int().map(|by| Val::Ramp(code.ins().ishl(first, count), step.wrapping_shl(by as u32 & 63)))
        }
        _ => None,
    }
}

/// The first lane and the step of what is the same for all lanes or a ramp.
fn affine(val: Val) -> Option<(Value, i64)> {
    match val {
        Val::One(scalar) => Some((scalar, 0)),
        Val::Ramp(first, step) => Some((first, step)),
        Val::Quad(_) | Val::Pairs(..) => None,
    }
}

/// Shifts of all lanes by one count, and division by a power of two.
fn by_constant(
    code: &mut Code<'_>,
    function: BinaryFn,
    element: Element,
    [a, b]: [Operand; 2],
) -> Option<Val> {
    if !element.is_int() {
        return None;
    }
    let int = Int::of(element);
    match (function, b.val) {
        (BinaryFn::Shl | BinaryFn::Shr, Val::One(count)) => {
            let [a] = meet(code, element, [a.val]);
            Some(a.map(|part| ints::shift(code, function, int, part, count)))
        }
        (BinaryFn::FloorDiv | BinaryFn::Rem, _) => {
            let power = divide::power_of_two(b.known?)?;
            let [a] = meet(code, element, [a.val]);
            Some(a.map(|part| divide::by_power_of_two(code, function, int, part, power)))
        }
        _ => None,
    }
}

/// Logic on masks; the rest as one-bit integers.
fn bool_binary(code: &mut Code<'_>, function: BinaryFn, a: Value, b: Value) -> Value {
    match function {
        BinaryFn::And => code.ins().band(a, b),
        BinaryFn::Or => code.ins().bor(a, b),
        BinaryFn::Xor | BinaryFn::Ne => code.ins().bxor(a, b),
        _ => {
            let (a, b) = (code.mask_to_int(a), code.mask_to_int(b));
            let result = ints::binary(code, function, Int::of(Element::Bool), a, b);
            if function.is_comparison() { result } else { code.int_to_mask(result) }
        }
    }
}

/// `a * b + c` with one rounding.
pub(super) fn fma(code: &mut Code<'_>, element: Element, args: [Val; 3]) -> Val {
    let args = meet(code, element, args);
    lift(args, |[a, b, c]| {
        if seeded::active(Bug::ProductNotFused) {
            let product = code.ins().fmul(a, b);
            return code.ins().fadd(product, c);
        }
        code.ins().fma(a, b, c)
    })
}

/// `a` where `condition` is true, else `b`.
pub(super) fn select(code: &mut Code<'_>, element: Element, condition: Val, a: Val, b: Val) -> Val {
    match (condition, a, b) {
        (Val::One(condition), Val::One(a), Val::One(b)) => Val::One(code.ins().select(condition, a, b)),
        (Val::One(condition), Val::Ramp(a, step), Val::Ramp(b, other)) if step == other => {
            Val::Ramp(code.ins().select(condition, a, b), step)
        }
        _ => {
            let mask = code.mask_for(element, condition);
            let (a, b) = (code.spread(element, a), code.spread(element, b));
            lift([mask, a, b], |[mask, a, b]| code.select(mask, a, b))
        }
    }
}

/// A constant.
pub(super) fn constant(code: &mut Code<'_>, value: Scalar) -> Val {
    let ty = scalar_type(value.element());
    Val::One(match value.as_float() {
        Some(number) => code.float(ty, number),
        None => code.constant(ty, value.as_int().unwrap_or_default() as u64),
    })
}
