//! f16 by hand: 16 bits -> the f32 of that value, and an f32 -> the 16 bits nearest to it, ties to even.
//!
//! ```text
//! 0 01111 0000000000   1.0        sign, 5 bits of exponent with bias 15, 10 bits of fraction
//! 0 00000 0000000001   2^-24      exponent 0: no hidden one
//! 0 11111 0000000000   inf        a fraction other than 0: NaN
//! ```

/// 2^-24, the smallest f16 above 0.
const UNIT: f32 = f32::from_bits(103 << 23);

/// The only NaN that is stored.
pub(super) const NAN: u16 = 0x7e00;

/// Exact: every f16 is an f32.
pub fn to_f32(bits: u16) -> f32 {
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (bits >> 10 & 0x1f, bits & 0x3ff);
    match (exponent, fraction) {
        (0x1f, 0) => sign * f32::INFINITY,
        (0x1f, _) => f32::NAN,
        (0, _) => sign * f32::from(fraction) * UNIT,
        (_, _) => f32::from_bits(
            u32::from(bits >> 15) << 31 | (u32::from(exponent) + 112) << 23 | u32::from(fraction) << 13,
        ),
    }
}

/// The nearest f16, ties to even; 65520 and above become infinity.
pub fn from_f32(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    match magnitude {
        0x7f80_0001.. => NAN,
        0x477f_f000.. => sign | 0x7c00,
        // Normal numbers: shift the bias from 127 to 15, then drop 13 bits; a carry runs into the exponent as it should.
        0x3880_0000.. => sign | round_off(magnitude - (112 << 23), 13) as u16,
        // Subnormals: count units of 2^-24.
        0x3300_0000.. => {
            let exponent = magnitude >> 23;
            let significand = magnitude & 0x007f_ffff | 0x0080_0000;
            sign | round_off(significand, 126 - exponent) as u16
        }
        _ => sign,
    }
}

/// `value / 2^shift`, to nearest, ties to even.
fn round_off(value: u32, shift: u32) -> u32 {
    let half = 1u32 << (shift - 1);
    let odd = value >> shift & 1;
    (value + half - 1 + odd) >> shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::scalar::{Scalar, UnaryFn, unary};

    #[test]
    fn every_f16_survives_the_way_through_f32() {
        for bits in 0..=u16::MAX {
            let value = to_f32(bits);
            let expect = if value.is_nan() { NAN } else { bits };
            assert_eq!(from_f32(value), expect, "{bits:#x} is {value}");
        }
    }

    #[test]
    fn rounds_like_the_arithmetic_of_the_language() {
        let check = |value: f32| {
            let expect = unary(UnaryFn::RoundF16, Scalar::f32(value));
            assert_eq!(Scalar::f32(to_f32(from_f32(value))), expect, "{value:e}");
        };
        // Every exponent, with fractions around each place where the rounding turns.
        for exponent in 0u32..=255 {
            for top in 0u32..64 {
                for low in [0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x3000, 0x1_ffff] {
                    let bits = exponent << 23 | (top << 17) ^ low;
                    check(f32::from_bits(bits));
                    check(f32::from_bits(bits | 1 << 31));
                }
            }
        }
    }
}
