//! Inputs made of hashes: every element is some number, the same each time.

use itp::compile::Program;
use itp::graph::body::TensorId;
use itp::graph::scalar::{Scalar, hash};
use itp::graph::types::Element;
use itp::interp::{Host, WindowCall};

pub(crate) struct Hashes {
    elements: Vec<Element>,
}

impl Hashes {
    pub(crate) fn new(program: &Program) -> Self {
        Hashes { elements: program.graph.tensors.iter().map(|tensor| tensor.element).collect() }
    }
}

impl Host for Hashes {
    fn input(&self, tensor: TensorId, coords: &[i64]) -> Result<Scalar, String> {
        Ok(some(self.elements[tensor.index()], hash(coords)))
    }

    fn call(&self, call: &WindowCall<'_>) -> Result<Vec<Scalar>, String> {
        let takes = call.takes.iter().flatten().map(|value| value.to_f64() as i64);
        let seed = takes.fold(call.name.len() as i64, |a, b| a ^ b);
        let count: i64 = call.size.iter().product();
        Ok((0..count).map(|at| some(call.element, hash(&[seed, at]))).collect())
    }
}

/// A number of a type: any integer; floats are small, some of them whole, some zero of either sign.
pub(crate) fn some(element: Element, bits: u32) -> Scalar {
    let small = f64::from(bits >> 8) / f64::from(1 << 20) - 8.0;
    let value = match bits % 16 {
        0 => 0.0,
        1 => -0.0,
        2..6 => small.round(),
        _ => small,
    };
    match element {
        Element::F16 | Element::F32 | Element::F64 => Scalar::f64(value).cast(element),
        Element::Bool => Scalar::bool(bits % 2 == 1),
        Element::U8 | Element::U16 | Element::U32 | Element::U64 => Scalar::int(element, bits.into()),
        Element::I8 | Element::I16 | Element::I32 | Element::I64 => {
            Scalar::int(element, (i128::from(bits)) - (1 << 31))
        }
    }
}
