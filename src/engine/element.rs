//! Rust's types <-> the element types of the language.
//!
//! ```text
//! f32 <-> f32      bool <-> bool      F16 <-> f16 (as its 16 bits)
//! ```

use crate::graph::types::Element;
use crate::io::{Array, half_bits, half_value};
use crate::run::blank::Memory;
#[cfg(target_endian = "little")]
use crate::run::blank::filled;
use ndarray::{ArrayBase, ArrayD, Data, Dimension, IxDyn};

/// A Rust type that is an element type of the language: `bool`, `u8` to `u64`, `i8` to `i64`, [`F16`], `f32`, `f64`.
pub trait Elem: Copy + Default + Send + Sync + sealed::Sealed + 'static {
    /// Its name in the language.
    const ELEMENT: Element;

    /// Lets `fill` write the bytes of elements: little-endian, a bool as 0 or 1, an f16 as its 16 bits.
    ///
    /// Numbers are written where they are; `bool` and [`F16`] pass through a buffer.
    #[doc(hidden)]
    fn fill_bytes<E>(elements: &mut [Self], fill: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<(), E>;

    /// So many elements, whose bytes `fill` writes, in an empty vector that has room for them.
    #[doc(hidden)]
    fn filled<S, E>(
        mut room: Vec<Self>,
        count: usize,
        fill: impl FnOnce(&mut Memory<'_>) -> Result<S, E>,
    ) -> Result<Vec<Self>, E> {
        room.resize(count, Self::default());
        Self::fill_bytes(&mut room, |bytes| fill(&mut Memory::new(bytes)).map(drop))?;
        Ok(room)
    }

    /// Appends the bytes of an element.
    #[doc(hidden)]
    fn store(self, to: &mut Vec<u8>);

    /// The element that lies in `bytes`.
    #[doc(hidden)]
    fn load(bytes: &[u8]) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

/// A 16-bit float as its bits; it computes as `f32`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct F16(pub u16);

impl From<f32> for F16 {
    /// The nearest one, ties to even.
    fn from(value: f32) -> F16 {
        F16(half_bits(value))
    }
}

impl From<F16> for f32 {
    fn from(value: F16) -> f32 {
        half_value(value.0)
    }
}

macro_rules! numbers {
    ($($t:ident $element:ident)*) => { $(
        impl sealed::Sealed for $t {}

        impl Elem for $t {
            const ELEMENT: Element = Element::$element;

            fn fill_bytes<E>(
                elements: &mut [Self],
                fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
            ) -> Result<(), E> {
                fill(bytemuck::cast_slice_mut(elements))?;
                // Nothing to do where numbers are little-endian anyway.
                if cfg!(target_endian = "big") {
                    elements.iter_mut().for_each(|e| *e = $t::from_le_bytes(e.to_ne_bytes()));
                }
                Ok(())
            }

            #[cfg(target_endian = "little")]
            fn filled<S, E>(
                room: Vec<Self>,
                count: usize,
                fill: impl FnOnce(&mut Memory<'_>) -> Result<S, E>,
            ) -> Result<Vec<Self>, E> {
                Ok(filled(room, count, fill)?.0)
            }

            fn store(self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }

            fn load(bytes: &[u8]) -> Self {
                $t::from_le_bytes(bytes.try_into().expect("as many bytes as the type has"))
            }
        }
    )* };
}
numbers!(u8 U8 u16 U16 u32 U32 u64 U64 i8 I8 i16 I16 i32 I32 i64 I64 f32 F32 f64 F64);

/// Fills through a buffer, for types that not every pattern of bytes is a value of.
fn fill_through_buffer<T: Elem, E>(
    elements: &mut [T],
    fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
) -> Result<(), E> {
    let size = T::ELEMENT.bytes() as usize;
    let mut bytes = vec![0; elements.len() * size];
    fill(&mut bytes)?;
    elements.iter_mut().zip(bytes.chunks_exact(size)).for_each(|(element, bytes)| *element = T::load(bytes));
    Ok(())
}

impl sealed::Sealed for bool {}

impl Elem for bool {
    const ELEMENT: Element = Element::Bool;

    fn fill_bytes<E>(elements: &mut [Self], fill: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<(), E> {
        fill_through_buffer(elements, fill)
    }

    fn store(self, to: &mut Vec<u8>) {
        to.push(self.into());
    }

    fn load(bytes: &[u8]) -> Self {
        bytes[0] != 0
    }
}

impl sealed::Sealed for F16 {}

impl Elem for F16 {
    const ELEMENT: Element = Element::F16;

    fn fill_bytes<E>(elements: &mut [Self], fill: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<(), E> {
        fill_through_buffer(elements, fill)
    }

    fn store(self, to: &mut Vec<u8>) {
        self.0.store(to);
    }

    fn load(bytes: &[u8]) -> Self {
        F16(u16::load(bytes))
    }
}

/// An ndarray as bytes with a type and a shape, row-major whatever its layout.
pub(super) fn to_array<T: Elem, S: Data<Elem = T>, D: Dimension>(from: &ArrayBase<S, D>) -> Array {
    let mut data = Vec::with_capacity(from.len() * T::ELEMENT.bytes() as usize);
    from.iter().for_each(|element| element.store(&mut data));
    Array { element: T::ELEMENT, shape: from.shape().iter().map(|len| *len as i64).collect(), data }
}

/// The array as an ndarray, when its elements are `T`; the other type when they are not.
pub(super) fn from_array<T: Elem>(array: &Array) -> Result<ArrayD<T>, Element> {
    if array.element != T::ELEMENT {
        return Err(array.element);
    }
    let elements = array.data.chunks_exact(T::ELEMENT.bytes() as usize).map(T::load).collect();
    let shape: Vec<usize> = array.shape.iter().map(|len| *len as usize).collect();
    ArrayD::from_shape_vec(IxDyn(&shape), elements).map_err(|_| array.element)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn arrays_survive_the_way_through_bytes() {
        fn check<T: Elem + PartialEq + std::fmt::Debug>(values: [T; 2]) {
            let from = array![[values[0]], [values[1]]];
            let bytes = to_array(&from.t());
            assert_eq!((bytes.element, bytes.shape.as_slice()), (T::ELEMENT, [1, 2].as_slice()));
            assert_eq!(from_array::<T>(&bytes), Ok(from.t().to_owned().into_dyn()));
            let mut filled = [T::default(); 2];
            let copied = T::fill_bytes(&mut filled, |to| {
                to.copy_from_slice(&bytes.data);
                Ok::<(), ()>(())
            });
            assert_eq!((copied, filled), (Ok(()), values));
        }
        check([true, false]);
        check([3u8, 255]);
        check([3u16, 65535]);
        check([3u32, u32::MAX]);
        check([3u64, u64::MAX]);
        check([-3i8, 127]);
        check([-3i16, i16::MIN]);
        check([-3i32, i32::MIN]);
        check([-3i64, i64::MIN]);
        check([F16::from(1.5), F16::from(-0.0)]);
        check([1.5f32, f32::INFINITY]);
        check([-0.25f64, f64::MAX]);
        assert_eq!(from_array::<u8>(&to_array(&array![1.0f32])), Err(Element::F32));
    }
}
