//! NaNs as memory shows them, all alike.
//!
//! ```text
//! store b1 v3 (v5 + v6)            r2 = vrangeps nan r1        one instruction: what was computed is no signalling NaN
//! store b1 v3 v5, a load           k0 = vcmpps r1 r1; r2 = k0 ? nan : r1
//! store b1 v3 (f32(v4) * 0.5)      r1 itself, which is a number: an integer's, and far from the end of what floats hold
//! ```
//!
//! `vrangeps` gives the lesser of two numbers; of a NaN that is quiet and a number the number, of two such NaNs the first.
//! A NaN that signals (only memory has such) would come through, made quiet. Its fourth bit keeps the sign of what it chose.

use super::ops::{self, Encoding};
use super::program::{Home, Program, Reg, Shape};
use super::select::{Lanes, Refused, Selector};
use crate::graph::scalar::{BinaryFn, UnaryFn};
use crate::graph::types::Element;
use crate::loops::ir::{Op, ValueId};
use crate::seeded::{self, Bug};

type Result<T> = std::result::Result<T, Refused>;

/// The lesser one, with its own sign.
const LESSER: u8 = 0b0100;
/// What the bounds of a number have to stay below, so that nothing of it overflows an f32.
const FAR: f64 = 1e30;
/// How many operations deep a value is looked into.
const DEEP: usize = 4;

impl Selector<'_> {
    /// The lanes of a float as memory shows it.
    pub(super) fn shown(&mut self, value: ValueId) -> Result<Lanes> {
        let lanes = self.value(value)?;
        if self.size(value, DEEP).is_some() { Ok(lanes) } else { self.canonical(lanes) }
    }

    /// Every NaN as the one that memory shows.
    pub(super) fn canonical(&mut self, a: Lanes) -> Result<Lanes> {
        if seeded::active(Bug::NanNotCanonical) {
            return Ok(a);
        }
        let nan = self.like(a, 0x7fc0_0000, 0x7ff8_0000_0000_0000);
        if a.parts().into_iter().all(|part| is_quiet(&self.program, part)) {
            let range = if matches!(a, Lanes::Two(..)) { &ops::RANGEPD } else { &ops::RANGEPS };
            return self
                .each(&[nan, a], |program, args| program.vector(Shape::Two, range, args, Some(LESSER)));
        }
        let is_nan = self.compare([&ops::CMPPS, &ops::CMPPD], 3, a, a)?;
        self.blend(is_nan, nan, a)
    }

    /// A bound of the magnitude of a value that is surely a number, if it is found within so many operations.
    fn size(&self, id: ValueId, deep: usize) -> Option<f64> {
        let deep = deep.checked_sub(1)?;
        let value = self.kernel.value(id);
        let size = match value.op {
            Op::Const(number) => number.as_float().filter(|number| number.is_finite()).map(f64::abs),
            Op::Cast(a) => match self.element(a).int_range() {
                Some((lo, hi)) => Some(lo.unsigned_abs().max(hi.unsigned_abs()) as f64),
                None => self.size(a, deep),
            },
            Op::Unary(UnaryFn::Neg | UnaryFn::Abs, a) => self.size(a, deep),
            Op::Binary(BinaryFn::Mul, a, b) => Some(self.size(a, deep)? * self.size(b, deep)?),
            Op::Binary(BinaryFn::Add | BinaryFn::Sub, a, b) => {
                Some(self.size(a, deep)? + self.size(b, deep)?)
            }
            Op::Fma(a, b, c) => Some(self.size(a, deep)? * self.size(b, deep)? + self.size(c, deep)?),
            _ => None,
        };
        // Those of 16 bits end much earlier.
        size.filter(|size| *size < FAR && matches!(value.element, Element::F32 | Element::F64))
    }
}

/// Whether a register holds no signalling NaN: arithmetic makes NaNs quiet.
fn is_quiet(program: &Program, reg: Reg) -> bool {
    const ARITHMETIC: [Encoding; 16] = [
        ops::ADDPS,
        ops::ADDPD,
        ops::SUBPS,
        ops::SUBPD,
        ops::MULPS,
        ops::MULPD,
        ops::DIVPS,
        ops::DIVPD,
        ops::SQRTPS,
        ops::SQRTPD,
        ops::RNDPS,
        ops::RNDPD,
        ops::FMA231PS,
        ops::FMA231PD,
        ops::RANGEPS,
        ops::RANGEPD,
    ];
    let maker = |reg: Reg| program.insts.iter().rev().find(|inst| inst.dst == Some(reg));
    program.homes[reg.index()] == Home::Computed
        && maker(reg).is_some_and(|inst| inst.mask.is_none() && ARITHMETIC.contains(inst.encoding))
}
