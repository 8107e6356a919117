//! The remainder of floats in lanes, bit for bit as that of the [narrow code](crate::jit::remainder), in the same steps.
//!
//! ```text
//! rest = a - floor(a / b) * b, and one |b| more where that is below 0
//! unless |rest| < |b| in all lanes { rest = |a|; while rest >= |b| in some lane { less of it } }
//! ```

use super::allocate::{Allocator, in_pool, plain};
use super::arithmetic::{GREATER_OR_EQUAL, LESS, NOT_EQUAL, NOT_LESS, UNORDERED};
use super::evex::{Operands, Rm, When};
use super::ops::{self, Encoding};
use super::program::{Class, Inst, Part, Program, Shape};
use super::select::{Lanes, Refused, Selector};
use crate::jit::remainder::{DOUBLE, SINGLE};

/// Tables of `vpternlog`, whose bits are numbered by those of the destination, the second and the third operand.
const FIRST_BY_BOTH: u8 = 0b0111_1000;
const SECOND_WHERE_THIRD: u8 = 0b1101_1000;
const FIRST_WHERE_THIRD: u8 = 0b1110_0100;
const WHOLE_BELOW: u8 = 8 | 1;
const TOWARD_ZERO: u8 = 8 | 3;

impl Selector<'_> {
    pub(super) fn float_remainder(&mut self, a: Lanes, b: Lanes) -> Result<Lanes, Refused> {
        let (encoding, parts) = match a {
            Lanes::Two(..) => (&ops::DIVPD, vec![Part::Low, Part::High]),
            Lanes::One(_) | Lanes::Mask(_) => (&ops::DIVPS, vec![Part::All]),
        };
        let mut parts = parts.into_iter();
        self.each(&[a, b], |program, args| {
            program.hold_remainders(encoding.wide);
            let part = parts.next().expect("one for each register");
            program.vector(Shape::Remainder(part), encoding, args, None)
        })
    }
}

impl Program {
    /// Puts what remainders need into the pool: the sign, all but the sign, the exponent, how far exponents may lie
    /// apart, what makes divisors large, and 0.
    fn hold_remainders(&mut self, wide: u8) {
        self.remainders[usize::from(wide)] = if wide == 1 {
            let large = DOUBLE.large.to_bits();
            [DOUBLE.sign, !DOUBLE.sign, DOUBLE.exponent, DOUBLE.apart, large, 0]
                .map(|bits| self.pooled(&bits.to_le_bytes()))
        } else {
            let large = u64::from((SINGLE.large as f32).to_bits());
            [SINGLE.sign, !SINGLE.sign, SINGLE.exponent, SINGLE.apart, large, 0]
                .map(|bits| self.pooled(&(bits as u32).to_le_bytes()))
        };
    }
}

/// The registers of a remainder, and its constants.
#[derive(Clone, Copy)]
struct Places {
    wide: bool,
    a: u8,
    b: u8,
    /// What is left, and while that is made less, quotients.
    rest: u8,
    /// The divisor without its sign, and that times a power of two, so that it has all its bits.
    size: u8,
    large: u8,
    /// What is left of the step before.
    last: u8,
    multiple: u8,
    far: u8,
    some: u8,
    /// The lanes that count; 0 for all.
    counted: u8,
    sign: Rm,
    magnitude: Rm,
    exponent: Rm,
    apart: Rm,
    enlarging: Rm,
    zero: Rm,
}

impl Allocator<'_> {
    /// dst = a % b
    pub(super) fn remainder(&mut self, at: usize, inst: &Inst, part: Part) {
        let wide = inst.encoding.wide == 1;
        let [a, b] = [0, 1].map(|arg| self.ensure(inst.args[arg]));
        let counted = self.lanes_mask(part);
        let [rest, size, large, last, multiple] = [(); 5].map(|()| self.locked_place(Class::Vector));
        let [far, some] = [(); 2].map(|()| self.locked_place(Class::Mask));
        let constants = self.program.remainders[usize::from(wide)].map(|at| Rm::Broadcast(in_pool(at)));
        let [sign, magnitude, exponent, apart, enlarging, zero] = constants;
        let numbers = Places {
            wide,
            a,
            b,
            rest,
            size,
            large,
            last,
            multiple,
            far,
            some,
            counted,
            sign,
            magnitude,
            exponent,
            apart,
            enlarging,
            zero,
        };
        self.once(&numbers);
        let near = self.bytes.jump_forward(When::Zero);
        self.step_by_step(&numbers);
        self.bytes.land(near);
        self.ternary(&numbers, rest, b, sign, SECOND_WHERE_THIRD);
        self.release(at, inst);
        self.take(inst.dst.expect("a result"), rest);
    }

    fn locked_place(&mut self, class: Class) -> u8 {
        let place = self.free(class);
        self.locked.push((class, place));
        place
    }

    /// The remainder by one quotient; the zero flag says that it is that in all lanes.
    fn once(&mut self, places: &Places) {
        let Places { a, b, rest, size, last, far, counted, .. } = *places;
        self.operation(places, &ops::DIVPS, &ops::DIVPD, plain(rest, a, Rm::Register(b)));
        self.whole(places, rest, WHOLE_BELOW);
        self.operation(places, &ops::FNMA213PS, &ops::FNMA213PD, plain(rest, b, Rm::Register(a)));
        self.ternary(places, rest, b, places.sign, FIRST_BY_BOTH);
        self.operation(places, &ops::ANDD, &ops::ANDQ, plain(size, b, places.magnitude));
        self.operation(places, &ops::ANDD, &ops::ANDQ, plain(last, rest, places.magnitude));
        self.compared(places, (far, counted), NOT_LESS, last, Rm::Register(size));
        self.not_below_zero(places, size);
        self.bytes.mask(&ops::KTEST, &plain(far, 0, Rm::Register(far)));
    }

    fn step_by_step(&mut self, places: &Places) {
        let Places { a, b, rest, size, large, last, multiple, far, some, counted, .. } = *places;
        let register = Rm::Register;
        self.operation(places, &ops::ANDD, &ops::ANDQ, plain(last, a, places.magnitude));
        self.compared(places, (some, 0), UNORDERED, a, register(b));
        let sum = Operands { mask: some, ..plain(last, a, register(b)) };
        self.operation(places, &ops::ADDPS, &ops::ADDPD, sum);
        self.operation(places, &ops::MULPS, &ops::MULPD, plain(large, size, places.enlarging));
        self.compared(places, (far, counted), GREATER_OR_EQUAL, last, register(size));
        // A step changes nothing where nothing is far, so that the first one needs no look.
        let start = self.bytes.here();
        self.one_step(places);
        let less = Operands { mask: far, ..plain(last, 0, register(rest)) };
        self.operation(places, &ops::MOVPS, &ops::MOVPD, less);
        self.compared(places, (far, counted), GREATER_OR_EQUAL, last, register(size));
        self.bytes.mask(&ops::KTEST, &plain(far, 0, register(far)));
        self.bytes.jump_back(When::NotZero, start);
        // Where signs differ, what is missing of the divisor.
        self.operation(places, &ops::XORD, &ops::XORQ, plain(multiple, a, register(b)));
        self.operation(places, &ops::TESTD, &ops::TESTQ, plain(some, multiple, places.sign));
        self.compared(places, (some, some), NOT_EQUAL, last, places.zero);
        let missing = Operands { mask: some, ..plain(last, size, register(last)) };
        self.operation(places, &ops::SUBPS, &ops::SUBPD, missing);
        self.bytes.vector(&ops::MOVPS, self.bits, &plain(rest, 0, register(last)));
    }

    /// What a step leaves of `last`, in `rest`.
    fn one_step(&mut self, places: &Places) {
        let Places { rest, size, large, last, multiple, some, exponent, .. } = *places;
        let register = Rm::Register;
        self.operation(places, &ops::ANDD, &ops::ANDQ, plain(multiple, last, exponent));
        self.operation(places, &ops::SUBD, &ops::SUBQ, plain(multiple, multiple, places.apart));
        self.operation(places, &ops::MAXSD, &ops::MAXSQ, plain(multiple, multiple, register(large)));
        self.ternary(places, multiple, large, exponent, FIRST_WHERE_THIRD);
        self.compared(places, (some, 0), LESS, last, register(large));
        let itself = Operands { mask: some, ..plain(multiple, 0, register(size)) };
        self.operation(places, &ops::MOVPS, &ops::MOVPD, itself);
        self.operation(places, &ops::DIVPS, &ops::DIVPD, plain(rest, last, register(multiple)));
        self.whole(places, rest, TOWARD_ZERO);
        self.operation(places, &ops::FNMA213PS, &ops::FNMA213PD, plain(rest, multiple, register(last)));
        self.not_below_zero(places, multiple);
    }

    /// A quotient that was rounded up leaves less than nothing in `rest`.
    fn not_below_zero(&mut self, places: &Places, divisor: u8) {
        let Places { rest, some, .. } = *places;
        self.compared(places, (some, 0), LESS, rest, places.zero);
        let corrected = Operands { mask: some, ..plain(rest, rest, Rm::Register(divisor)) };
        self.operation(places, &ops::ADDPS, &ops::ADDPD, corrected);
    }

    fn operation(&mut self, places: &Places, narrow: &Encoding, wide: &Encoding, operands: Operands) {
        self.bytes.vector(if places.wide { wide } else { narrow }, self.bits, &operands);
    }

    /// `to`, within another mask, if that is not 0.
    fn compared(&mut self, places: &Places, (to, within): (u8, u8), predicate: u8, a: u8, b: Rm) {
        let operands = Operands { mask: within, imm: Some(predicate), ..plain(to, a, b) };
        self.operation(places, &ops::CMPPS, &ops::CMPPD, operands);
    }

    fn ternary(&mut self, places: &Places, to: u8, second: u8, third: Rm, table: u8) {
        let operands = Operands { imm: Some(table), ..plain(to, second, third) };
        self.operation(places, &ops::TERND, &ops::TERNQ, operands);
    }

    fn whole(&mut self, places: &Places, number: u8, mode: u8) {
        let operands = Operands { imm: Some(mode), ..plain(number, 0, Rm::Register(number)) };
        self.operation(places, &ops::RNDPS, &ops::RNDPD, operands);
    }
}
