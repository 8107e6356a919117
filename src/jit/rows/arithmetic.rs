//! Floats and integers in lanes, bit for bit the arithmetic of [`scalar`](crate::graph::scalar).

use super::ops::{self, Encoding};
use super::program::Shape;
use super::select::{Lanes, Refused, Selector};
use crate::graph::scalar::{BinaryFn, Scalar, UnaryFn};
use crate::graph::types::Element;
use crate::seeded::{self, Bug};

type Result<T> = std::result::Result<T, Refused>;

/// Predicates of `vcmpps`, all but the last quiet for NaN in what they give.
pub(super) const EQUAL: u8 = 0;
pub(super) const LESS: u8 = 17;
pub(super) const LESS_OR_EQUAL: u8 = 18;
pub(super) const NOT_EQUAL: u8 = 4;
pub(super) const UNORDERED: u8 = 3;
pub(super) const ORDERED: u8 = 7;
pub(super) const NOT_LESS: u8 = 21;
pub(super) const GREATER_OR_EQUAL: u8 = 29;
const GREATER: u8 = 30;

const COMPARE_FLOATS: [&Encoding; 2] = [&ops::CMPPS, &ops::CMPPD];
/// Divisors for which the way by the inverse is exact.
const ORDINARY: std::ops::RangeInclusive<f64> = 9.094947017729282e-13..=1099511627776.0;
const SIGN: (u32, u64) = (1 << 31, 1 << 63);

impl Selector<'_> {
    pub(super) fn float_unary(&mut self, function: UnaryFn, a: Lanes) -> Result<Lanes> {
        let round =
            |selector: &mut Self, mode: u8| selector.one([&ops::RNDPS, &ops::RNDPD], a, Some(8 | mode));
        match function {
            UnaryFn::Neg => {
                let sign = self.like(a, SIGN.0, SIGN.1);
                self.two([&ops::XORD, &ops::XORQ], a, sign)
            }
            UnaryFn::Abs => {
                let rest = self.like(a, !SIGN.0, !SIGN.1);
                self.two([&ops::ANDD, &ops::ANDQ], a, rest)
            }
            UnaryFn::Round => round(self, 0),
            UnaryFn::Floor => round(self, 1),
            UnaryFn::Ceil => round(self, 2),
            UnaryFn::Trunc => round(self, 3),
            UnaryFn::Sqrt => self.one([&ops::SQRTPS, &ops::SQRTPD], a, None),
            UnaryFn::Sign => {
                let [zero, one, minus] = [0.0, 1.0, -1.0].map(|value| self.float(a, value));
                let above = self.compare(COMPARE_FLOATS, GREATER, a, zero)?;
                let below = self.compare(COMPARE_FLOATS, LESS, a, zero)?;
                let rest = self.blend(below, minus, a)?;
                self.blend(above, one, rest)
            }
            UnaryFn::Bits => self.canonical(a),
            UnaryFn::RoundF16 => {
                let a = self.canonical(a)?;
                let Lanes::One(a) = a else { return Err("f16 of f64") };
                let half = self.program.vector(Shape::Reversed, &ops::CVTPS2PH, &[a], Some(0));
                Ok(Lanes::One(self.program.vector(Shape::One, &ops::CVTPH2PS, &[half], None)))
            }
            UnaryFn::Not | UnaryFn::Popcount | UnaryFn::FloatBits => Err("not a function of floats"),
        }
    }

    pub(super) fn float_binary(
        &mut self,
        function: BinaryFn,
        a: Lanes,
        b: Lanes,
        known: Option<Scalar>,
    ) -> Result<Lanes> {
        let predicate = match function {
            BinaryFn::Add => return self.two([&ops::ADDPS, &ops::ADDPD], a, b),
            BinaryFn::Sub => return self.two([&ops::SUBPS, &ops::SUBPD], a, b),
            BinaryFn::Mul => return self.two([&ops::MULPS, &ops::MULPD], a, b),
            BinaryFn::Div => return self.quotient(a, b, known),
            BinaryFn::Min | BinaryFn::Max => {
                let (a, b) = if seeded::active(Bug::NanInMinMax) { (b, a) } else { (a, b) };
                let least = [&ops::MINPS, &ops::MINPD];
                let encodings = if function == BinaryFn::Min { least } else { [&ops::MAXPS, &ops::MAXPD] };
                return self.two(encodings, a, b);
            }
            BinaryFn::FloorDiv => return self.floor_quotient(a, b),
            BinaryFn::Rem => return self.float_remainder(a, b),
            BinaryFn::Eq => EQUAL,
            BinaryFn::Ne => NOT_EQUAL,
            BinaryFn::Lt => LESS,
            BinaryFn::Le => LESS_OR_EQUAL,
            BinaryFn::Gt => GREATER,
            BinaryFn::Ge => GREATER_OR_EQUAL,
            BinaryFn::Pow | BinaryFn::Shl | BinaryFn::Shr | BinaryFn::And | BinaryFn::Xor | BinaryFn::Or => {
                return Err("not an operation on floats");
            }
        };
        Ok(Lanes::Mask(self.compare(COMPARE_FLOATS, predicate, a, b)?))
    }

    /// A quotient. Division by a constant is a product and its correction, but for numbers far from 1.
    fn quotient(&mut self, a: Lanes, b: Lanes, known: Option<Scalar>) -> Result<Lanes> {
        let known = known.and_then(Scalar::as_float);
        let Some(divisor) = known.filter(|divisor| ORDINARY.contains(&divisor.abs())) else {
            return self.two([&ops::DIVPS, &ops::DIVPD], a, b);
        };
        let is_power = divisor.abs().to_bits().trailing_zeros() >= 52;
        let inverse = match a {
            Lanes::Two(..) => 1.0 / divisor,
            Lanes::One(_) | Lanes::Mask(_) => (1.0 / divisor as f32).into(),
        };
        let inverse = self.float(a, inverse);
        if is_power {
            return self.two([&ops::MULPS, &ops::MULPD], a, inverse);
        }
        let encoding = if matches!(a, Lanes::Two(..)) { &ops::DIVPD } else { &ops::DIVPS };
        self.each(&[a, b, inverse], |program, args| program.vector(Shape::Divide, encoding, args, None))
    }

    fn floor_quotient(&mut self, a: Lanes, b: Lanes) -> Result<Lanes> {
        let quotient = self.two([&ops::DIVPS, &ops::DIVPD], a, b)?;
        let mode = if seeded::active(Bug::DivisionTruncates) { 3 } else { 1 };
        self.one([&ops::RNDPS, &ops::RNDPD], quotient, Some(8 | mode))
    }

    // --- integers ---

    /// Brings a value that has left the range of its type back into it.
    pub(super) fn wrapped(&mut self, element: Element, a: Lanes) -> Result<Lanes> {
        let unused = 32 - element.bits().min(32);
        if unused == 0 {
            return Ok(a);
        }
        if !element.is_signed() {
            let mask = self.int(a, (1 << element.bits()) - 1);
            return self.two([&ops::ANDD, &ops::ANDQ], a, mask);
        }
        let shifted = self.shift(6, a, unused)?;
        self.shift(4, shifted, unused)
    }

    /// Shifts by a constant: 6 left, 2 right, 4 right with the sign.
    pub(super) fn shift(&mut self, which: u8, a: Lanes, count: u32) -> Result<Lanes> {
        let encoding = match (a, which) {
            (Lanes::Two(..), 4) => &ops::SHIFTQA,
            (Lanes::Two(..), _) => &ops::SHIFTQ,
            _ => &ops::SHIFTD,
        };
        let shape = Shape::Shift(which);
        self.each(&[a], |program, args| program.vector(shape, encoding, args, Some(count as u8)))
    }

    pub(super) fn int_unary(&mut self, function: UnaryFn, element: Element, a: Lanes) -> Result<Lanes> {
        let zero = self.int(a, 0);
        match function {
            UnaryFn::Neg => {
                let negated = self.two([&ops::SUBD, &ops::SUBQ], zero, a)?;
                self.wrapped(element, negated)
            }
            UnaryFn::Abs if element.is_signed() => {
                let size = self.one([&ops::ABSD, &ops::ABSQ], a, None)?;
                self.wrapped(element, size)
            }
            UnaryFn::Sign => {
                let (one, minus) = (self.int(a, 1), self.int(a, -1));
                if !element.is_signed() {
                    return self.two([&ops::MINUD, &ops::MINUQ], a, one);
                }
                let least = self.two([&ops::MINSD, &ops::MINSQ], a, one)?;
                self.two([&ops::MAXSD, &ops::MAXSQ], least, minus)
            }
            UnaryFn::Not => {
                let one = self.int(a, 1);
                let last = self.two([&ops::ANDD, &ops::ANDQ], a, one)?;
                self.two([&ops::XORD, &ops::XORQ], last, one)
            }
            UnaryFn::FloatBits
            | UnaryFn::Abs
            | UnaryFn::Floor
            | UnaryFn::Ceil
            | UnaryFn::Round
            | UnaryFn::Trunc => Ok(a),
            UnaryFn::Popcount => Err("population counts"),
            UnaryFn::Sqrt | UnaryFn::Bits | UnaryFn::RoundF16 => Err("not a function of integers"),
        }
    }

    pub(super) fn int_binary(
        &mut self,
        function: BinaryFn,
        element: Element,
        a: Lanes,
        b: Lanes,
        known: Option<Scalar>,
    ) -> Result<Lanes> {
        let signed = element.is_signed();
        let encodings: [&'static Encoding; 2] = match function {
            BinaryFn::Add => [&ops::ADDD, &ops::ADDQ],
            BinaryFn::Sub => [&ops::SUBD, &ops::SUBQ],
            BinaryFn::Mul => [&ops::MULD, &ops::MULQ],
            BinaryFn::And => [&ops::ANDD, &ops::ANDQ],
            BinaryFn::Xor => [&ops::XORD, &ops::XORQ],
            BinaryFn::Or => [&ops::ORD, &ops::ORQ],
            BinaryFn::Min if signed => [&ops::MINSD, &ops::MINSQ],
            BinaryFn::Min => [&ops::MINUD, &ops::MINUQ],
            BinaryFn::Max if signed => [&ops::MAXSD, &ops::MAXSQ],
            BinaryFn::Max => [&ops::MAXUD, &ops::MAXUQ],
            BinaryFn::Shl | BinaryFn::Shr => return self.shifted(function, element, a, b, known),
            BinaryFn::FloorDiv | BinaryFn::Rem => return self.divided(function, element, a, b, known),
            BinaryFn::Eq | BinaryFn::Ne | BinaryFn::Lt | BinaryFn::Le | BinaryFn::Gt | BinaryFn::Ge => {
                return self.int_comparison(function, signed, a, b);
            }
            BinaryFn::Pow => return Err("integer powers"),
            BinaryFn::Div => return Err("not an operation on integers"),
        };
        let result = self.two(encodings, a, b)?;
        match function {
            BinaryFn::Add | BinaryFn::Sub | BinaryFn::Mul => self.wrapped(element, result),
            _ => Ok(result),
        }
    }

    fn int_comparison(&mut self, function: BinaryFn, signed: bool, a: Lanes, b: Lanes) -> Result<Lanes> {
        let predicate = match function {
            BinaryFn::Eq => 0,
            BinaryFn::Lt => 1,
            BinaryFn::Le => 2,
            BinaryFn::Ne => 4,
            BinaryFn::Ge => 5,
            _ => 6,
        };
        let encodings = if signed { [&ops::CMPD, &ops::CMPQ] } else { [&ops::CMPUD, &ops::CMPUQ] };
        Ok(Lanes::Mask(self.compare(encodings, predicate, a, b)?))
    }

    /// Shifts by a count modulo the width of the type.
    fn shifted(
        &mut self,
        function: BinaryFn,
        element: Element,
        a: Lanes,
        b: Lanes,
        known: Option<Scalar>,
    ) -> Result<Lanes> {
        let modulus = u64::from(element.bits().next_power_of_two() - 1);
        let signed = element.is_signed();
        let shifted = match known.and_then(Scalar::as_int) {
            Some(count) => {
                let which = match function {
                    BinaryFn::Shl => 6,
                    _ if signed => 4,
                    _ => 2,
                };
                self.shift(which, a, (count as u64 & modulus) as u32)?
            }
            None => {
                let modulus = self.int(b, modulus as i64);
                let count = self.two([&ops::ANDD, &ops::ANDQ], b, modulus)?;
                let encodings = match function {
                    BinaryFn::Shl => [&ops::SLLVD, &ops::SLLVQ],
                    _ if signed => [&ops::SRAVD, &ops::SRAVQ],
                    _ => [&ops::SRLVD, &ops::SRLVQ],
                };
                self.two(encodings, a, count)?
            }
        };
        self.wrapped(element, shifted)
    }

    fn divided(
        &mut self,
        function: BinaryFn,
        element: Element,
        a: Lanes,
        b: Lanes,
        known: Option<Scalar>,
    ) -> Result<Lanes> {
        let divisor = known.and_then(Scalar::as_int).filter(|divisor| *divisor > 0);
        if let Some(divisor) = divisor.filter(|divisor| divisor.count_ones() == 1) {
            if function == BinaryFn::Rem {
                let mask = self.int(a, (divisor - 1) as i64);
                return self.two([&ops::ANDD, &ops::ANDQ], a, mask);
            }
            return self.shift(if element.is_signed() { 4 } else { 2 }, a, divisor.trailing_zeros());
        }
        let (Lanes::One(a_reg), Lanes::One(b_reg)) = (a, b) else {
            return Err("division of 64-bit integers");
        };
        let (a_wide, b_wide) = (self.ints_as_doubles(element, a_reg), self.ints_as_doubles(element, b_reg));
        let quotient = self.two([&ops::DIVPS, &ops::DIVPD], a_wide, b_wide)?;
        let quotient = self.one([&ops::RNDPS, &ops::RNDPD], quotient, Some(8 | 1))?;
        let to_ints = if element.is_signed() { &ops::CVTTPD2DQ } else { &ops::CVTTPD2UDQ };
        let quotient = self.narrowed(quotient, to_ints, Shape::One)?;
        let some = self.program.mask(Shape::Two, &ops::TESTD, &[b_reg, b_reg], None);
        let result = match function {
            BinaryFn::FloorDiv => self.wrapped(element, quotient)?,
            _ => {
                let product = self.two([&ops::MULD, &ops::MULQ], quotient, b)?;
                let rest = self.two([&ops::SUBD, &ops::SUBQ], a, product)?;
                self.wrapped(element, rest)?
            }
        };
        self.keep(some, result)
    }
}
