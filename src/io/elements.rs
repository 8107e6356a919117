//! Blocks of elements: one type -> another by the cast rules of the language, any type -> f64, and byte order.
//!
//! ```text
//! f32 [1.5, -3.0, 300.0]   as u8   [1, 0, 255]        truncated and saturated
//! i32 [-1, 256]            as u8   [255, 0]           wrapped
//! ```
//!
//! The definition is `Scalar::cast`; this does the same for many elements at a time and is tested against it.

use super::half;
use crate::graph::types::Element;

/// A value between two types.
#[derive(Clone, Copy)]
pub(super) enum Number {
    /// An integer, or a bool as 0 or 1.
    Int(i128),
    /// A float, exactly.
    Float(f64),
}

/// How one element type lies in memory.
trait Sample {
    const BYTES: usize;
    fn load(bytes: &[u8]) -> Number;
    fn store(number: Number, bytes: &mut [u8]);
}

struct Bool;
struct F16;

macro_rules! int_sample {
    ($($t:ident)*) => { $(
        impl Sample for $t {
            const BYTES: usize = size_of::<$t>();
            fn load(bytes: &[u8]) -> Number {
                Number::Int($t::from_le_bytes(bytes.try_into().expect("as long as the type")).into())
            }
            fn store(number: Number, bytes: &mut [u8]) {
                let value = match number {
                    Number::Int(value) => value as $t,
                    Number::Float(value) => value as $t,
                };
                bytes.copy_from_slice(&value.to_le_bytes());
            }
        }
    )* };
}
int_sample!(u8 u16 u32 u64 i8 i16 i32 i64);

macro_rules! float_sample {
    ($($t:ident)*) => { $(
        impl Sample for $t {
            const BYTES: usize = size_of::<$t>();
            fn load(bytes: &[u8]) -> Number {
                Number::Float($t::from_le_bytes(bytes.try_into().expect("as long as the type")).into())
            }
            fn store(number: Number, bytes: &mut [u8]) {
                let value = match number {
                    Number::Int(value) => value as $t,
                    Number::Float(value) if value.is_nan() => $t::NAN,
                    Number::Float(value) => value as $t,
                };
                bytes.copy_from_slice(&value.to_le_bytes());
            }
        }
    )* };
}
float_sample!(f32 f64);

impl Sample for Bool {
    const BYTES: usize = 1;
    fn load(bytes: &[u8]) -> Number {
        Number::Int((bytes[0] != 0).into())
    }
    fn store(number: Number, bytes: &mut [u8]) {
        bytes[0] = match number {
            Number::Int(value) => (value != 0).into(),
            Number::Float(value) => (value != 0.0).into(),
        };
    }
}

impl Sample for F16 {
    const BYTES: usize = 2;
    fn load(bytes: &[u8]) -> Number {
        Number::Float(half::to_f32(u16::from_le_bytes([bytes[0], bytes[1]])).into())
    }
    /// f16 computes as f32: a value is rounded to that first.
    fn store(number: Number, bytes: &mut [u8]) {
        let value = match number {
            Number::Int(value) => value as f32,
            Number::Float(value) => value as f32,
        };
        bytes.copy_from_slice(&half::from_f32(value).to_le_bytes());
    }
}

/// Runs `$body` with `$t` standing for the [`Sample`] of `$element`.
macro_rules! with_sample {
    ($element:expr, $t:ident => $body:expr) => {
        with_sample!($element, $t => $body, Bool Bool, U8 u8, U16 u16, U32 u32, U64 u64,
            I8 i8, I16 i16, I32 i32, I64 i64, F16 F16, F32 f32, F64 f64)
    };
    ($element:expr, $t:ident => $body:expr, $($variant:ident $sample:ident),*) => {
        match $element {
            $(Element::$variant => {
                type $t = $sample;
                $body
            })*
        }
    };
}

/// Bytes of one element, as memory counts.
pub(super) fn size(element: Element) -> usize {
    element.bytes() as usize
}

/// Replaces `out` by the elements of `bytes`, cast from one type to another.
pub(super) fn cast(from: Element, to: Element, bytes: &[u8], out: &mut Vec<u8>) {
    with_sample!(from, S => with_sample!(to, D => cast_block::<S, D>(bytes, out)));
}

fn cast_block<S: Sample, D: Sample>(bytes: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.resize(bytes.len() / S::BYTES * D::BYTES, 0);
    for (source, target) in bytes.chunks_exact(S::BYTES).zip(out.chunks_exact_mut(D::BYTES)) {
        D::store(S::load(source), target);
    }
}

/// Replaces `out` by the elements of `bytes`, each as the nearest f64.
pub fn to_f64(element: Element, bytes: &[u8], out: &mut Vec<f64>) {
    with_sample!(element, S => f64_block::<S>(bytes, out));
}

fn f64_block<S: Sample>(bytes: &[u8], out: &mut Vec<f64>) {
    out.clear();
    out.extend(bytes.chunks_exact(S::BYTES).map(|source| match S::load(source) {
        Number::Int(value) => value as f64,
        Number::Float(value) => value,
    }));
}

/// Replaces `out` by `values`, cast to `to`.
pub(super) fn from_f64(to: Element, values: &[f64], out: &mut Vec<u8>) {
    with_sample!(to, D => store_block::<D>(values, out));
}

fn store_block<D: Sample>(values: &[f64], out: &mut Vec<u8>) {
    out.clear();
    out.resize(values.len() * D::BYTES, 0);
    for (value, target) in values.iter().zip(out.chunks_exact_mut(D::BYTES)) {
        D::store(Number::Float(*value), target);
    }
}

/// The value of one element.
pub(super) fn load(element: Element, bytes: &[u8]) -> Number {
    with_sample!(element, S => S::load(bytes))
}

/// Turns big-endian elements into little-endian ones, or back.
pub(super) fn swap_bytes(element: Element, bytes: &mut [u8]) {
    match element.bytes() {
        1 => {}
        2 => bytes.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1)),
        size => bytes.chunks_exact_mut(size as usize).for_each(<[u8]>::reverse),
    }
}

/// Makes every byte of a bool array that is not 0 a 1, as the rest of the program takes for granted.
pub(super) fn clean_bools(element: Element, bytes: &mut [u8]) {
    if element == Element::Bool {
        bytes.iter_mut().for_each(|byte| *byte = (*byte != 0).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::scalar::{Scalar, UnaryFn, unary};

    /// Values where something turns over, as bytes of `element`.
    fn samples(element: Element) -> Vec<u8> {
        let floats = [
            0.0,
            -0.0,
            0.4,
            0.5,
            1.0,
            1.5,
            -1.0,
            -3.9,
            127.5,
            128.0,
            255.0,
            255.9,
            256.0,
            300.7,
            65504.0,
            65520.0,
            65535.5,
            65536.0,
            1e-7,
            1e-40,
            2147483647.0,
            2147483648.0,
            4294967296.0,
            9.3e18,
            1.9e19,
            -9.3e18,
            1e40,
            1e300,
            -1e300,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
        ];
        let mut bytes = Vec::new();
        if element.is_float() {
            from_f64(element, &floats, &mut bytes);
        } else {
            let (lo, hi) = element.int_range().unwrap();
            for value in [lo, lo + 1, hi / 3, hi / 2, hi - 1, hi, 0, 1, (1 << 24) + 1, (1 << 53) + 1] {
                let mut one = vec![0; size(element)];
                let value = value.clamp(lo, hi);
                with_sample!(element, S => S::store(Number::Int(value), &mut one));
                bytes.extend(one);
            }
        }
        bytes
    }

    fn scalar(element: Element, bytes: &[u8]) -> Scalar {
        match load(element, bytes) {
            Number::Int(value) => Scalar::int(element, value),
            Number::Float(value) => Scalar::float(element, value),
        }
    }

    #[test]
    fn casts_are_those_of_the_language() {
        for from in Element::ALL {
            let bytes = samples(from);
            for to in Element::ALL {
                let mut out = Vec::new();
                cast(from, to, &bytes, &mut out);
                for (source, target) in bytes.chunks_exact(size(from)).zip(out.chunks_exact(size(to))) {
                    let value = scalar(from, source);
                    let expect = value.cast(to);
                    let expect = if to == Element::F16 { unary(UnaryFn::RoundF16, expect) } else { expect };
                    assert_eq!(scalar(to, target), expect, "{value:?} as {to}");
                }
            }
        }
    }

    #[test]
    fn a_cast_to_the_same_type_changes_nothing_but_odd_bools() {
        for element in Element::ALL {
            let bytes = samples(element);
            let mut out = Vec::new();
            cast(element, element, &bytes, &mut out);
            assert_eq!(out, bytes, "{element}");
        }
        let mut odd = vec![0, 7, 1];
        clean_bools(Element::Bool, &mut odd);
        assert_eq!(odd, [0, 1, 1]);
    }

    #[test]
    fn bytes_swap_within_each_element() {
        let mut bytes = vec![1, 2, 3, 4, 5, 6, 7, 8];
        swap_bytes(Element::U16, &mut bytes);
        assert_eq!(bytes, [2, 1, 4, 3, 6, 5, 8, 7]);
        swap_bytes(Element::U16, &mut bytes);
        swap_bytes(Element::F64, &mut bytes);
        assert_eq!(bytes, [8, 7, 6, 5, 4, 3, 2, 1]);
        swap_bytes(Element::I8, &mut bytes);
        assert_eq!(bytes, [8, 7, 6, 5, 4, 3, 2, 1]);
    }
}
