//! One value of an element type, and what each primitive operation makes of it.
//!
//! This is the definition of the arithmetic: constant evaluation uses it, and both engines are tested against it.
//! Everything is total: division by zero, overflow and NaN have defined results.

use super::floats::{float_binary, float_unary};
use super::types::Element;
use std::fmt;

/// A value and its type; integers are kept sign- or zero-extended, floats as their bits, f16 never occurs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scalar {
    element: Element,
    bits: u64,
}

/// Operations on one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are those of the language")]
pub enum UnaryFn {
    Neg,
    Not,
    Abs,
    Sign,
    Floor,
    Ceil,
    Round,
    Trunc,
    Sqrt,
    Popcount,
    /// A float's bits as an unsigned integer of the same width.
    Bits,
    /// The float with those bits.
    FloatBits,
    /// Rounds an f32 to the nearest f16 value.
    RoundF16,
}

/// Operations on two values of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are those of the language")]
pub enum BinaryFn {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Rem,
    /// Integers only; a float power is a math function.
    Pow,
    Shl,
    Shr,
    And,
    Xor,
    Or,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Min,
    Max,
}

impl UnaryFn {
    /// As the text forms print it.
    pub fn name(self) -> &'static str {
        match self {
            UnaryFn::Neg => "neg",
            UnaryFn::Not => "not",
            UnaryFn::Abs => "abs",
            UnaryFn::Sign => "sign",
            UnaryFn::Floor => "floor",
            UnaryFn::Ceil => "ceil",
            UnaryFn::Round => "round",
            UnaryFn::Trunc => "trunc",
            UnaryFn::Sqrt => "sqrt",
            UnaryFn::Popcount => "popcount",
            UnaryFn::Bits => "bits",
            UnaryFn::FloatBits => "float_bits",
            UnaryFn::RoundF16 => "f16",
        }
    }

    /// The type of the result for an argument of type `element`.
    pub fn result(self, element: Element) -> Element {
        match self {
            UnaryFn::Bits => match element {
                Element::F64 => Element::U64,
                _ => Element::U32,
            },
            UnaryFn::FloatBits => match element {
                Element::U64 | Element::I64 => Element::F64,
                _ => Element::F32,
            },
            UnaryFn::Neg
            | UnaryFn::Not
            | UnaryFn::Abs
            | UnaryFn::Sign
            | UnaryFn::Floor
            | UnaryFn::Ceil
            | UnaryFn::Round
            | UnaryFn::Trunc
            | UnaryFn::Sqrt
            | UnaryFn::Popcount
            | UnaryFn::RoundF16 => element,
        }
    }
}

impl BinaryFn {
    /// As the text forms print it.
    pub fn name(self) -> &'static str {
        match self {
            BinaryFn::Add => "add",
            BinaryFn::Sub => "sub",
            BinaryFn::Mul => "mul",
            BinaryFn::Div => "div",
            BinaryFn::FloorDiv => "floordiv",
            BinaryFn::Rem => "rem",
            BinaryFn::Pow => "pow",
            BinaryFn::Shl => "shl",
            BinaryFn::Shr => "shr",
            BinaryFn::And => "and",
            BinaryFn::Xor => "xor",
            BinaryFn::Or => "or",
            BinaryFn::Eq => "eq",
            BinaryFn::Ne => "ne",
            BinaryFn::Lt => "lt",
            BinaryFn::Le => "le",
            BinaryFn::Gt => "gt",
            BinaryFn::Ge => "ge",
            BinaryFn::Min => "min",
            BinaryFn::Max => "max",
        }
    }

    /// The result is a bool whatever the arguments are.
    pub fn is_comparison(self) -> bool {
        matches!(
            self,
            BinaryFn::Eq | BinaryFn::Ne | BinaryFn::Lt | BinaryFn::Le | BinaryFn::Gt | BinaryFn::Ge
        )
    }
}

impl Scalar {
    /// A bool.
    pub fn bool(value: bool) -> Self {
        Scalar { element: Element::Bool, bits: value.into() }
    }

    /// An f32; NaNs are canonical.
    pub fn f32(value: f32) -> Self {
        let bits = if value.is_nan() { 0x7fc0_0000 } else { value.to_bits() };
        Scalar { element: Element::F32, bits: bits.into() }
    }

    /// An f64; NaNs are canonical.
    pub fn f64(value: f64) -> Self {
        let bits = if value.is_nan() { 0x7ff8_0000_0000_0000 } else { value.to_bits() };
        Scalar { element: Element::F64, bits }
    }

    /// An i64.
    pub fn i64(value: i64) -> Self {
        Scalar { element: Element::I64, bits: value as u64 }
    }

    /// The integer (or bool) `value`, wrapped to the width of `element`.
    pub fn int(element: Element, value: i128) -> Self {
        debug_assert!(!element.is_float());
        let unused = 128 - element.bits();
        let shifted = value << unused;
        let wrapped =
            if element.is_signed() { shifted >> unused } else { ((shifted as u128) >> unused) as i128 };
        Scalar { element, bits: wrapped as u64 }
    }

    /// The float `value`, rounded to `element`.
    pub fn float(element: Element, value: f64) -> Self {
        match element.computed() {
            Element::F64 => Scalar::f64(value),
            _ => Scalar::f32(value as f32),
        }
    }

    /// Its type.
    pub fn element(self) -> Element {
        self.element
    }

    /// Its bits, as they are kept.
    pub fn bits(self) -> u64 {
        self.bits
    }

    /// The value of an integer or bool.
    pub fn as_int(self) -> Option<i128> {
        if self.element.is_float() {
            None
        } else if self.element.is_signed() {
            Some((self.bits as i64).into())
        } else {
            Some(self.bits.into())
        }
    }

    /// The value of a float, exactly.
    pub fn as_float(self) -> Option<f64> {
        match self.element {
            Element::F64 => Some(f64::from_bits(self.bits)),
            Element::F32 | Element::F16 => Some(f32::from_bits(self.bits as u32).into()),
            _ => None,
        }
    }

    /// The nearest f64 of any number.
    pub fn to_f64(self) -> f64 {
        self.as_float().unwrap_or_else(|| self.as_int().unwrap_or_default() as f64)
    }

    /// True for a bool that is true.
    pub fn is_true(self) -> bool {
        self.element == Element::Bool && self.bits != 0
    }

    /// Converts by the rules of section 4: saturating from floats, wrapping between integers, rounding to floats.
    pub fn cast(self, to: Element) -> Scalar {
        let to = to.computed();
        match (self.as_float(), to) {
            (Some(value), Element::Bool) => Scalar::bool(value != 0.0 || value.is_nan()),
            (Some(value), Element::F32 | Element::F64 | Element::F16) => Scalar::float(to, value),
            (Some(value), _) => Scalar::int(to, saturate(value, to)),
            (None, Element::F32 | Element::F16) => Scalar::f32(self.as_int().unwrap_or_default() as f32),
            (None, Element::F64) => Scalar::f64(self.as_int().unwrap_or_default() as f64),
            (None, Element::Bool) => Scalar::bool(self.bits != 0),
            (None, _) => Scalar::int(to, self.as_int().unwrap_or_default()),
        }
    }
}

/// Truncates toward zero into the range of `to`; NaN is 0.
fn saturate(value: f64, to: Element) -> i128 {
    let (lo, hi) = to.int_range().expect("an integer type");
    (value as i128).clamp(lo, hi)
}

/// What `function` makes of `a`.
pub fn unary(function: UnaryFn, a: Scalar) -> Scalar {
    match (function, a.element) {
        (UnaryFn::Bits, Element::F64) => Scalar { element: Element::U64, bits: a.bits },
        (UnaryFn::Bits, _) => Scalar { element: Element::U32, bits: a.bits },
        (UnaryFn::FloatBits, element) if element.bits() == 64 => Scalar::f64(f64::from_bits(a.bits)),
        (UnaryFn::FloatBits, _) => Scalar::f32(f32::from_bits(a.bits as u32)),
        (_, Element::F64) => Scalar::f64(float_unary(function, f64::from_bits(a.bits))),
        (UnaryFn::Sqrt, _) => Scalar::f32(f32::from_bits(a.bits as u32).sqrt()),
        (_, Element::F32 | Element::F16) => {
            Scalar::f32(float_unary(function, f32::from_bits(a.bits as u32).into()) as f32)
        }
        (_, element) => Scalar::int(element, int_unary(function, a)),
    }
}

fn int_unary(function: UnaryFn, a: Scalar) -> i128 {
    let value = a.as_int().expect("an integer");
    match function {
        UnaryFn::Neg => -value,
        UnaryFn::Not => !value & 1,
        UnaryFn::Abs => value.abs(),
        UnaryFn::Sign => value.signum(),
        UnaryFn::Popcount => {
            let unused = 64 - a.element.bits();
            i128::from((a.bits << unused).count_ones())
        }
        UnaryFn::Floor | UnaryFn::Ceil | UnaryFn::Round | UnaryFn::Trunc => value,
        UnaryFn::Sqrt | UnaryFn::Bits | UnaryFn::FloatBits | UnaryFn::RoundF16 => {
            unreachable!("not a function of integers")
        }
    }
}

/// What `function` makes of `a` and `b`, which have one type.
pub fn binary(function: BinaryFn, a: Scalar, b: Scalar) -> Scalar {
    debug_assert_eq!(a.element, b.element);
    match a.element {
        Element::F64 => float_binary(function, f64::from_bits(a.bits), f64::from_bits(b.bits))
            .map_or_else(|| compare(function, f64::from_bits(a.bits), f64::from_bits(b.bits)), Scalar::f64),
        Element::F32 | Element::F16 => {
            let (x, y) = (f32::from_bits(a.bits as u32), f32::from_bits(b.bits as u32));
            float_binary(function, x, y).map_or_else(|| compare(function, x, y), Scalar::f32)
        }
        element => {
            let (x, y) = (a.as_int().expect("an integer"), b.as_int().expect("an integer"));
            int_binary(function, element, x, y)
                .map_or_else(|| compare(function, x, y), |value| Scalar::int(element, value))
        }
    }
}

fn compare<T: PartialOrd>(function: BinaryFn, a: T, b: T) -> Scalar {
    Scalar::bool(match function {
        BinaryFn::Eq => a == b,
        BinaryFn::Ne => a != b,
        BinaryFn::Lt => a < b,
        BinaryFn::Le => a <= b,
        BinaryFn::Gt => a > b,
        BinaryFn::Ge => a >= b,
        _ => unreachable!("not a comparison"),
    })
}

fn int_binary(function: BinaryFn, element: Element, a: i128, b: i128) -> Option<i128> {
    let count = b as u32 & (element.bits().next_power_of_two() - 1);
    Some(match function {
        BinaryFn::Add => a + b,
        BinaryFn::Sub => a - b,
        BinaryFn::Mul => a.wrapping_mul(b),
        BinaryFn::FloorDiv => floor_div(a, b),
        BinaryFn::Rem => a - floor_div(a, b) * b - if b == 0 { a } else { 0 },
        BinaryFn::Pow => int_pow(element, a, b),
        BinaryFn::Shl => a << count,
        BinaryFn::Shr => a >> count,
        BinaryFn::And => a & b,
        BinaryFn::Xor => a ^ b,
        BinaryFn::Or => a | b,
        BinaryFn::Min => a.min(b),
        BinaryFn::Max => a.max(b),
        BinaryFn::Eq | BinaryFn::Ne | BinaryFn::Lt | BinaryFn::Le | BinaryFn::Gt | BinaryFn::Ge => {
            return None;
        }
        BinaryFn::Div => unreachable!("`/` is float division"),
    })
}

/// Toward minus infinity; 0 when `b` is 0.
fn floor_div(a: i128, b: i128) -> i128 {
    if b == 0 { 0 } else { a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0) }
}

/// Wraps at the width of `element`; a negative exponent is `1 // (a ** -b)`.
fn int_pow(element: Element, a: i128, b: i128) -> i128 {
    let wrap = |value| Scalar::int(element, value).as_int().expect("an integer");
    let (mut result, mut square, mut rest) = (1, a, b.unsigned_abs());
    while rest > 0 {
        if rest & 1 == 1 {
            result = wrap(i128::wrapping_mul(result, square));
        }
        square = wrap(square.wrapping_mul(square));
        rest >>= 1;
    }
    if b < 0 { floor_div(1, result) } else { result }
}

/// `a * b + c` with one rounding.
pub fn fma(a: Scalar, b: Scalar, c: Scalar) -> Scalar {
    match a.element {
        Element::F64 => {
            Scalar::f64(f64::from_bits(a.bits).mul_add(f64::from_bits(b.bits), f64::from_bits(c.bits)))
        }
        _ => Scalar::f32(
            f32::from_bits(a.bits as u32)
                .mul_add(f32::from_bits(b.bits as u32), f32::from_bits(c.bits as u32)),
        ),
    }
}

/// The integer hash of the language: each argument is one word, folded in by a multiplication and a shift.
///
/// ```text
/// word = lo ^ (hi ^ sign(lo)) * 0xc2b2ae35      so that an argument that fits 32 bits is its low word alone
/// h    = 0x9e3779b9 ^ count;  per argument: h = (h ^ word) * 0x7feb352d, h ^= h >> 15
/// end:   h *= 0x846ca68b, h ^= h >> 16
/// ```
pub fn hash(args: &[i64]) -> u32 {
    let mut h = 0x9e37_79b9 ^ args.len() as u32;
    for arg in args {
        let (lo, hi) = (*arg as i32, (*arg >> 32) as i32);
        let word = lo as u32 ^ ((hi ^ (lo >> 31)) as u32).wrapping_mul(0xc2b2_ae35);
        h = (h ^ word).wrapping_mul(0x7feb_352d);
        h ^= h >> 15;
    }
    h = h.wrapping_mul(0x846c_a68b);
    h ^ (h >> 16)
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.element {
            Element::Bool => write!(f, "{}", self.bits != 0),
            Element::F64 => write!(f, "{:?}", f64::from_bits(self.bits)),
            Element::F32 | Element::F16 => write!(f, "{:?}", f32::from_bits(self.bits as u32)),
            _ => write!(f, "{}", self.as_int().unwrap_or_default()),
        }
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}{}", self.element)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(element: Element, value: i128) -> Scalar {
        Scalar::int(element, value)
    }

    #[track_caller]
    fn check_int(function: BinaryFn, element: Element, a: i128, b: i128, expect: i128) {
        assert_eq!(
            binary(function, int(element, a), int(element, b)),
            int(element, expect),
            "{function:?} {a} {b}"
        );
    }

    #[track_caller]
    fn check_f32(function: BinaryFn, a: f32, b: f32, expect: f32) {
        assert_eq!(
            binary(function, Scalar::f32(a), Scalar::f32(b)),
            Scalar::f32(expect),
            "{function:?} {a} {b}"
        );
    }

    #[test]
    fn integer_division_floors_and_is_total() {
        for (a, b, quotient, rest) in
            [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (5, 0, 0, 0)]
        {
            check_int(BinaryFn::FloorDiv, Element::I32, a, b, quotient);
            check_int(BinaryFn::Rem, Element::I32, a, b, rest);
        }
        check_int(BinaryFn::FloorDiv, Element::I32, i32::MIN.into(), -1, i32::MIN.into());
        check_int(BinaryFn::Rem, Element::I64, i64::MIN.into(), -1, 0);
        check_int(BinaryFn::FloorDiv, Element::U64, u64::MAX.into(), 2, (u64::MAX / 2).into());
    }

    #[test]
    fn integers_wrap_and_shift_modulo_their_width() {
        check_int(BinaryFn::Add, Element::U8, 200, 100, 44);
        check_int(BinaryFn::Mul, Element::U64, u64::MAX.into(), u64::MAX.into(), 1);
        check_int(BinaryFn::Shl, Element::U8, 1, 9, 2);
        check_int(BinaryFn::Shr, Element::I8, -128, 7, -1);
        check_int(BinaryFn::Pow, Element::I64, 2, -1, 0);
        check_int(BinaryFn::Pow, Element::I64, -1, -3, -1);
        check_int(BinaryFn::Pow, Element::U8, 3, 6, 217);
        assert_eq!(unary(UnaryFn::Abs, int(Element::I8, -128)), int(Element::I8, -128));
        assert_eq!(unary(UnaryFn::Popcount, int(Element::I8, -1)), int(Element::I8, 8));
    }

    #[test]
    fn float_remainder_takes_the_sign_of_the_divisor() {
        for (a, b, expect) in [(5.5, 2.0, 1.5), (-5.5, 2.0, 0.5), (5.5, -2.0, -0.5), (-5.5, -2.0, -1.5)] {
            check_f32(BinaryFn::Rem, a, b, expect);
        }
        check_f32(BinaryFn::Rem, 1.0, 0.0, f32::NAN);
        check_f32(BinaryFn::Rem, 5.0, f32::INFINITY, 5.0);
        check_f32(BinaryFn::Rem, -5.0, f32::INFINITY, f32::INFINITY);
        check_f32(BinaryFn::FloorDiv, -1.0, 4.0, -1.0);
    }

    #[test]
    fn min_and_max_are_selects() {
        check_f32(BinaryFn::Min, f32::NAN, 1.0, 1.0);
        check_f32(BinaryFn::Min, 1.0, f32::NAN, f32::NAN);
        check_f32(BinaryFn::Max, -0.0, 0.0, 0.0);
        check_f32(BinaryFn::Max, 0.0, -0.0, -0.0);
    }

    #[test]
    fn nans_are_canonical() {
        let root = |value: Scalar| unary(UnaryFn::Bits, unary(UnaryFn::Sqrt, value));
        assert_eq!(root(Scalar::f32(-1.0)), int(Element::U32, 0x7fc0_0000));
        assert_eq!(root(Scalar::f64(-1.0)), int(Element::U64, 0x7ff8_0000_0000_0000));
    }

    #[test]
    fn casts_saturate_wrap_and_round() {
        let cast = |value: f32, to| Scalar::f32(value).cast(to);
        assert_eq!(cast(300.7, Element::U8), int(Element::U8, 255));
        assert_eq!(cast(-3.9, Element::I32), int(Element::I32, -3));
        assert_eq!(cast(f32::NAN, Element::I64), int(Element::I64, 0));
        assert_eq!(cast(f32::NAN, Element::Bool), Scalar::bool(true));
        assert_eq!(cast(f32::INFINITY, Element::U64), int(Element::U64, u64::MAX.into()));
        assert_eq!(int(Element::I64, 300).cast(Element::U8), int(Element::U8, 44));
        assert_eq!(int(Element::I64, (1 << 24) + 1).cast(Element::F32), Scalar::f32(16_777_216.0));
        assert_eq!(
            int(Element::U64, u64::MAX.into()).cast(Element::F32),
            Scalar::f32(18_446_744_073_709_551_615.0)
        );
    }

    #[test]
    fn f16_rounds_to_nearest_even() {
        let round = |value: f32| unary(UnaryFn::RoundF16, Scalar::f32(value));
        assert_eq!(round(2049.0), Scalar::f32(2048.0));
        assert_eq!(round(2051.0), Scalar::f32(2052.0));
        assert_eq!(round(65519.0), Scalar::f32(65504.0));
        assert_eq!(round(65520.0), Scalar::f32(f32::INFINITY));
        assert_eq!(round(2f32.powi(-25)), Scalar::f32(0.0));
        assert_eq!(round(3.0 * 2f32.powi(-26)), Scalar::f32(2f32.powi(-24)));
    }

    #[test]
    fn hash_spreads_over_all_bits() {
        let mut ones = [0u32; 32];
        for y in -64..64 {
            for x in -64..64 {
                let h = hash(&[y, x]);
                (0..32).for_each(|bit| ones[bit] += h >> bit & 1);
            }
        }
        assert!(ones.iter().all(|n| (7700..8700).contains(n)), "{ones:?}");
        assert_ne!(hash(&[1, 2]), hash(&[2, 1]));
        assert_ne!(hash(&[0]), hash(&[0, 0]));
        assert_ne!(hash(&[1]), hash(&[1 + (1 << 32)]));
    }
}
