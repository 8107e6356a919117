//! Conversions in lanes: saturating from floats, wrapping between integers, rounding to floats.

use super::affine::Motion;
use super::arithmetic::{GREATER_OR_EQUAL, NOT_EQUAL, ORDERED};
use super::evex::Bits;
use super::ops::{self, Encoding};
use super::program::{Reg, Shape};
use super::select::{Lanes, Refused, Selector, is_wide};
use crate::graph::types::Element;
use crate::loops::ir::{Op, ValueId};

type Result<T> = std::result::Result<T, Refused>;

impl Selector<'_> {
    /// The conversion `id` of `a`.
    pub(super) fn cast_value(&mut self, id: ValueId, a: ValueId) -> Result<Lanes> {
        let (from, to) = (self.element(a), self.element(id));
        if self.changes(a) && matches!(self.motions.of(a), Motion::Moves(_)) {
            return Err("a number that changes in a loop inside the row");
        }
        if let Motion::Moves(step) = self.motions.of(a)
            && i32::try_from(step).is_ok()
            && to.is_int()
            && !is_wide(to)
        {
            let lanes = self.narrow_ramp(a, step);
            return self.wrapped(to, Lanes::One(lanes));
        }
        if let Some(float) = self.float_below(id, a) {
            let Lanes::One(float) = self.value(float)? else { return Err("an f32 in two registers") };
            let low = self.program.vector(Shape::LowWords, &ops::CVTTPS2DQ, &[float], None);
            return self.wrapped(to, Lanes::One(low));
        }
        let lanes = self.value(a)?;
        self.cast(from, to, lanes)
    }

    /// The f32 whose conversion to i64 is converted once more, to at most 32 bits: nobody needs the rest.
    pub(super) fn float_below(&self, id: ValueId, a: ValueId) -> Option<ValueId> {
        let Op::Cast(float) = self.kernel.value(a).op else { return None };
        let (from, over, to) = (self.element(float), self.element(a), self.element(id));
        let narrow = to.is_int() && !is_wide(to) && over == Element::I64 && from == Element::F32;
        (narrow && self.motions.of(float) == Motion::Lanes).then_some(float)
    }

    fn cast(&mut self, from: Element, to: Element, a: Lanes) -> Result<Lanes> {
        match (from, to) {
            _ if from == to => Ok(a),
            (Element::Bool, _) => self.bool_to_any(to, a),
            (_, Element::Bool) => self.any_to_bool(from, a),
            _ if from.is_float() && to.is_float() => self.float_to_float(to, a),
            _ if from.is_float() => self.float_to_int(to, a),
            _ if to.is_float() => self.int_to_float(from, to, a),
            _ => self.int_to_int(from, to, a),
        }
    }

    fn bool_to_any(&mut self, to: Element, a: Lanes) -> Result<Lanes> {
        let Lanes::Mask(mask) = a else { return Err("a bool that is no mask") };
        let one = match to {
            Element::F16 | Element::F32 => Lanes::One(self.narrow_constant(1f32.to_bits())),
            Element::F64 => {
                let one = self.wide_constant(1f64.to_bits());
                Lanes::Two(one, one)
            }
            Element::I64 | Element::U64 => {
                let one = self.wide_constant(1);
                Lanes::Two(one, one)
            }
            _ => Lanes::One(self.narrow_constant(1)),
        };
        self.keep(mask, one)
    }

    /// Everything but zero is true, NaN too.
    fn any_to_bool(&mut self, from: Element, a: Lanes) -> Result<Lanes> {
        if from.is_float() {
            let zero = self.float(a, 0.0);
            return Ok(Lanes::Mask(self.compare([&ops::CMPPS, &ops::CMPPD], NOT_EQUAL, a, zero)?));
        }
        let encoding = if is_wide(from) { &ops::TESTQ } else { &ops::TESTD };
        let masks = self.each(&[a, a], |program, args| program.mask(Shape::Two, encoding, args, None))?;
        Ok(Lanes::Mask(self.joined_mask(masks)))
    }

    fn float_to_float(&mut self, to: Element, a: Lanes) -> Result<Lanes> {
        match (a, is_wide(to)) {
            (Lanes::One(a), true) => Ok(self.widened(a, &ops::CVTPS2PD)),
            (Lanes::Two(..), false) => self.narrowed(a, &ops::CVTPD2PS, Shape::One),
            _ => Ok(a),
        }
    }

    fn float_to_int(&mut self, to: Element, a: Lanes) -> Result<Lanes> {
        if is_wide(to) {
            let doubles = self.float_to_float(Element::F64, a)?;
            return self.doubles_to_wide(to, doubles);
        }
        if let Lanes::Two(..) = a {
            return self.doubles_to_narrow(to, a);
        }
        let zero = self.float(a, 0.0);
        if !to.is_signed() {
            // The second operand of a maximum is what becomes of NaN.
            let raised = self.two([&ops::MAXPS, &ops::MAXPD], a, zero)?;
            if to == Element::U32 {
                return self.one([&ops::CVTTPS2UDQ, &ops::CVTTPD2UQQ], raised, None);
            }
            let most = self.float(a, ((1u32 << to.bits()) - 1).into());
            let inside = self.two([&ops::MINPS, &ops::MINPD], raised, most)?;
            return self.one([&ops::CVTTPS2DQ, &ops::CVTTPD2QQ], inside, None);
        }
        let whole = self.one([&ops::CVTTPS2DQ, &ops::CVTTPD2QQ], a, None)?;
        let end = self.float(a, 2f64.powi(31));
        let whole = self.saturated(a, whole, end, i32::MAX.into())?;
        if to == Element::I32 {
            return Ok(whole);
        }
        let most = (1i64 << (to.bits() - 1)) - 1;
        let (least, most) = (self.int(a, -most - 1), self.int(a, most));
        let raised = self.two([&ops::MAXSD, &ops::MAXSQ], whole, least)?;
        self.two([&ops::MINSD, &ops::MINSQ], raised, most)
    }

    /// What the processor's conversion of `a` leaves out: the largest integer from `end` on, and 0 for NaN.
    fn saturated(&mut self, a: Lanes, whole: Lanes, end: Lanes, most: i64) -> Result<Lanes> {
        let most = self.int(a, most);
        let above = self.compare([&ops::CMPPS, &ops::CMPPD], GREATER_OR_EQUAL, a, end)?;
        let whole = self.blend(above, most, whole)?;
        let ordered = self.compare([&ops::CMPPS, &ops::CMPPD], ORDERED, a, a)?;
        self.keep(ordered, whole)
    }

    fn doubles_to_wide(&mut self, to: Element, a: Lanes) -> Result<Lanes> {
        if !to.is_signed() {
            let zero = self.float(a, 0.0);
            let raised = self.two([&ops::MAXPS, &ops::MAXPD], a, zero)?;
            return self.one([&ops::CVTTPS2UDQ, &ops::CVTTPD2UQQ], raised, None);
        }
        let whole = self.one([&ops::CVTTPS2DQ, &ops::CVTTPD2QQ], a, None)?;
        let end = self.float(a, 2f64.powi(63));
        self.saturated(a, whole, end, i64::MAX)
    }

    fn doubles_to_narrow(&mut self, to: Element, a: Lanes) -> Result<Lanes> {
        let (least, most) = to.int_range().ok_or("an integer type without a range")?;
        let ordered = self.compare([&ops::CMPPS, &ops::CMPPD], ORDERED, a, a)?;
        let known = self.keep(ordered, a)?;
        let (least, most) = (self.float(a, least as f64), self.float(a, most as f64));
        let raised = self.two([&ops::MAXPS, &ops::MAXPD], known, least)?;
        let inside = self.two([&ops::MINPS, &ops::MINPD], raised, most)?;
        let encoding = if to == Element::U32 { &ops::CVTTPD2UDQ } else { &ops::CVTTPD2DQ };
        self.narrowed(inside, encoding, Shape::One)
    }

    /// Rounds to nearest, ties to even.
    fn int_to_float(&mut self, from: Element, to: Element, a: Lanes) -> Result<Lanes> {
        let signed = from != Element::U32 && from != Element::U64;
        match (a, is_wide(to)) {
            (Lanes::One(_), false) if signed => self.one([&ops::CVTDQ2PS, &ops::CVTQQ2PD], a, None),
            (Lanes::One(_), false) => self.one([&ops::CVTUDQ2PS, &ops::CVTUQQ2PD], a, None),
            (Lanes::One(a), true) => Ok(self.ints_as_doubles(from, a)),
            (_, true) if signed => self.one([&ops::CVTDQ2PS, &ops::CVTQQ2PD], a, None),
            (_, true) => self.one([&ops::CVTUDQ2PS, &ops::CVTUQQ2PD], a, None),
            (_, false) if signed => self.narrowed(a, &ops::CVTQQ2PS, Shape::One),
            (_, false) => self.narrowed(a, &ops::CVTUQQ2PS, Shape::One),
        }
    }

    fn int_to_int(&mut self, from: Element, to: Element, a: Lanes) -> Result<Lanes> {
        match (a, is_wide(to)) {
            (Lanes::One(a), true) if from.is_signed() => Ok(self.widened(a, &ops::MOVSXDQ)),
            (Lanes::One(a), true) => Ok(self.widened(a, &ops::MOVZXDQ)),
            (Lanes::Two(..), false) => {
                let low = self.narrowed(a, &ops::MOVQD, Shape::Reversed)?;
                self.wrapped(to, low)
            }
            (Lanes::One(_), false) => self.wrapped(to, a),
            _ => Ok(a),
        }
    }

    // --- between one register and two ---

    /// 32-bit integers as f64.
    pub(super) fn ints_as_doubles(&mut self, from: Element, a: Reg) -> Lanes {
        self.widened(a, if from == Element::U32 { &ops::CVTUDQ2PD } else { &ops::CVTDQ2PD })
    }

    /// Both halves of 32-bit lanes, converted to 64 bits.
    pub(super) fn widened(&mut self, a: Reg, encoding: &'static Encoding) -> Lanes {
        let low = self.program.vector(Shape::One, encoding, &[a], None);
        let upper = match self.bits {
            Bits::B512 => &ops::UPPER512,
            Bits::B256 => &ops::UPPER256,
        };
        let upper = self.program.vector(Shape::Reversed, upper, &[a], Some(1));
        Lanes::Two(low, self.program.vector(Shape::One, encoding, &[upper], None))
    }

    /// 64-bit lanes, converted to 32 bits.
    pub(super) fn narrowed(&mut self, a: Lanes, encoding: &'static Encoding, shape: Shape) -> Result<Lanes> {
        let Lanes::Two(low, high) = a else { return Err("lanes of 32 bits") };
        let low = self.program.vector(shape, encoding, &[low], None);
        let high = self.program.vector(shape, encoding, &[high], None);
        Ok(Lanes::One(self.joined(low, high)))
    }

    /// The lower halves of two registers in one.
    pub(super) fn joined(&mut self, low: Reg, high: Reg) -> Reg {
        let join = match self.bits {
            Bits::B512 => &ops::JOIN512,
            Bits::B256 => &ops::JOIN256,
        };
        self.program.vector(Shape::Two, join, &[low, high], Some(1))
    }
}
