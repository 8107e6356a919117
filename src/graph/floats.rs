//! What each primitive operation makes of floats: the part of [`scalar`](super::scalar) that f32 and f64 share.
//!
//! ```text
//! -7.5 % 2 = 0.5      7.5 % -2 = -0.5      sign(-0.0) = -0.0      min(1, NaN) = NaN, min(NaN, 1) = 1
//! ```

use super::scalar::{BinaryFn, UnaryFn};

/// In f64; for an f32 argument every one of these is exact, so the way back rounds nothing.
pub(super) fn float_unary(function: UnaryFn, a: f64) -> f64 {
    match function {
        UnaryFn::Neg => -a,
        UnaryFn::Abs => a.abs(),
        UnaryFn::Sign => {
            if a > 0.0 {
                1.0
            } else if a < 0.0 {
                -1.0
            } else {
                a
            }
        }
        UnaryFn::Floor => a.floor(),
        UnaryFn::Ceil => a.ceil(),
        UnaryFn::Round => a.round_ties_even(),
        UnaryFn::Trunc => a.trunc(),
        UnaryFn::Sqrt => a.sqrt(),
        UnaryFn::RoundF16 => round_f16(a),
        UnaryFn::Not | UnaryFn::Popcount | UnaryFn::Bits | UnaryFn::FloatBits => {
            unreachable!("not a function from float to float")
        }
    }
}

/// The nearest f16 value, ties to even, overflow to infinity.
fn round_f16(a: f64) -> f64 {
    let magnitude = a.abs();
    if !a.is_finite() || magnitude == 0.0 {
        return a;
    }
    let exponent = (magnitude.to_bits() >> 52) as i32 - 1023;
    let ulp = 2f64.powi(exponent.max(-14) - 10);
    let rounded = (magnitude / ulp).round_ties_even() * ulp;
    (if rounded >= 65520.0 { f64::INFINITY } else { rounded }).copysign(a)
}

/// The float arithmetic that both widths share.
pub(super) trait Float:
    Copy
    + PartialOrd
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
    + std::ops::Rem<Output = Self>
{
    const ZERO: Self;
    fn floor(self) -> Self;
    fn abs(self) -> Self;
    fn copysign(self, sign: Self) -> Self;
}

macro_rules! float {
    ($t:ident) => {
        impl Float for $t {
            const ZERO: Self = 0.0;
            fn floor(self) -> Self {
                $t::floor(self)
            }
            fn abs(self) -> Self {
                $t::abs(self)
            }
            fn copysign(self, sign: Self) -> Self {
                $t::copysign(self, sign)
            }
        }
    };
}
float!(f32);
float!(f64);

/// What a function makes of two floats; nothing of comparisons.
pub(super) fn float_binary<T: Float>(function: BinaryFn, a: T, b: T) -> Option<T> {
    Some(match function {
        BinaryFn::Add => a + b,
        BinaryFn::Sub => a - b,
        BinaryFn::Mul => a * b,
        BinaryFn::Div => a / b,
        BinaryFn::FloorDiv => (a / b).floor(),
        BinaryFn::Rem => float_rem(a, b),
        BinaryFn::Min => {
            if a < b {
                a
            } else {
                b
            }
        }
        BinaryFn::Max => {
            if a > b {
                a
            } else {
                b
            }
        }
        BinaryFn::Eq | BinaryFn::Ne | BinaryFn::Lt | BinaryFn::Le | BinaryFn::Gt | BinaryFn::Ge => {
            return None;
        }
        BinaryFn::Pow | BinaryFn::Shl | BinaryFn::Shr | BinaryFn::And | BinaryFn::Xor | BinaryFn::Or => {
            unreachable!("not an operation on floats")
        }
    })
}

/// The remainder with the divisor's sign, exact but where the divisor is added to a smaller number of the other sign,
/// which rounds: as Python's and NumPy's. `a % ±inf` is `a` or the divisor, by sign, `a % 0` is NaN, and so is `±inf % b`.
fn float_rem<T: Float>(a: T, b: T) -> T {
    let (rest, divisor) = ((a % b).abs(), b.abs());
    let other_side = rest != T::ZERO && (a < T::ZERO) != (b < T::ZERO);
    (if other_side { divisor - rest } else { rest }).copysign(b)
}
