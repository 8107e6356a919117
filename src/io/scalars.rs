//! One element in memory <-> one value of the language.
//!
//! ```text
//! f16 [00 3c]   <->   Scalar::f32(1.0)        f16 computes as f32
//! bool [01]     <->   Scalar::bool(true)
//! ```

use super::half;
use crate::graph::scalar::Scalar;
use crate::graph::types::Element;

/// The value of an element that lies in `bytes`, in the type it computes in; NaNs are canonical.
pub fn scalar_at(element: Element, bytes: &[u8]) -> Scalar {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(word);
    match element {
        Element::F64 => Scalar::f64(f64::from_bits(bits)),
        Element::F32 => Scalar::f32(f32::from_bits(bits as u32)),
        Element::F16 => Scalar::f32(half::to_f32(bits as u16)),
        Element::Bool => Scalar::bool(bits != 0),
        Element::U8 | Element::U16 | Element::U32 | Element::U64 => Scalar::int(element, bits.into()),
        Element::I8 | Element::I16 | Element::I32 | Element::I64 => Scalar::int(element, bits.into()),
    }
}

/// Appends a value as an element of that type; it has the type that the element computes in.
pub fn store_scalar(element: Element, value: Scalar, to: &mut Vec<u8>) {
    let float = value.as_float().unwrap_or_default();
    let bits = match element {
        Element::F64 => float.to_bits(),
        Element::F32 => (float as f32).to_bits().into(),
        Element::F16 => half::from_f32(float as f32).into(),
        Element::Bool | Element::U8 | Element::U16 | Element::U32 | Element::U64 => int_bits(value),
        Element::I8 | Element::I16 | Element::I32 | Element::I64 => int_bits(value),
    };
    to.extend_from_slice(&bits.to_le_bytes()[..element.bytes() as usize]);
}

fn int_bits(value: Scalar) -> u64 {
    value.as_int().unwrap_or_default() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_the_way_through_bytes() {
        let check = |element: Element, value: Scalar| {
            let mut bytes = Vec::new();
            store_scalar(element, value, &mut bytes);
            assert_eq!(bytes.len() as u64, element.bytes());
            assert_eq!(scalar_at(element, &bytes), value, "{element}");
        };
        for element in Element::ALL.into_iter().filter(|element| !element.is_float()) {
            let (lo, hi) = element.int_range().expect("not a float");
            check(element, Scalar::int(element, lo));
            check(element, Scalar::int(element, hi));
        }
        check(Element::F16, Scalar::f32(-1.5));
        check(Element::F32, Scalar::f32(f32::MIN_POSITIVE));
        check(Element::F32, Scalar::f32(f32::NAN));
        check(Element::F64, Scalar::f64(f64::NEG_INFINITY));
    }
}
