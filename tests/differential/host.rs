//! The world outside a generated script: data for its inputs and the host functions it may name.

use crate::rng::Rng;
use itp::graph::body::TensorId;
use itp::graph::scalar::{BinaryFn, Scalar, UnaryFn, binary, unary};
use itp::graph::types::Element;
use itp::graph::{Graph, TensorKind};
use itp::interp::{Host, WindowCall};
use itp::io::{Array, scalar_at, store_scalar};
use itp::run::job::{HostCall, HostFn};

/// The host functions that scripts may name.
pub(crate) const FUNCTIONS: [&str; 4] = ["ramp", "first", "reversed", "total"];

/// Data for every input of a graph; one that is another's by name is the same in every script of a seed.
pub(crate) struct World {
    /// By tensor.
    inputs: Vec<Option<Data>>,
}

/// The elements of an input in row-major order, the first one at its lowest corner.
struct Data {
    corner: Vec<i64>,
    sizes: Vec<i64>,
    elements: Vec<Scalar>,
}

impl World {
    pub(crate) fn new(graph: &Graph, seed: u64) -> Self {
        let inputs = graph.iter().map(|(_, tensor)| {
            let TensorKind::Input(_) = tensor.kind else { return None };
            let dims = || tensor.domain.dims().iter().map(|dim| dim.interval);
            let sizes: Vec<i64> = dims().map(|range| range.len().expect("inputs are bounded")).collect();
            let name: u64 = tensor.name.bytes().fold(seed, |all, byte| all * 31 + u64::from(byte));
            let mut rng = Rng::new(name);
            let count: i64 = sizes.iter().product();
            let elements = (0..count).map(|_| datum(&mut rng, tensor.element)).collect();
            Some(Data { corner: dims().map(|range| range.first()).collect(), sizes, elements })
        });
        World { inputs: inputs.collect() }
    }
}

/// A value that likes the ends of its type.
fn datum(rng: &mut Rng, element: Element) -> Scalar {
    const FLOATS: [f64; 14] = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        0.0,
        -0.0,
        1e-40,
        -5e-324,
        1e-6,
        65504.0,
        3.4e38,
        -1e300,
        1.0,
        -1.0,
        0.5,
    ];
    let special = rng.chance(20);
    match element {
        Element::Bool => Scalar::bool(rng.chance(50)),
        _ if element.is_float() => {
            let value = if special { rng.pick(&FLOATS) } else { rng.within(-4000, 4000) as f64 / 64.0 };
            let value = Scalar::float(element, value);
            if element == Element::F16 { unary(UnaryFn::RoundF16, value) } else { value }
        }
        _ => {
            let (lo, hi) = element.int_range().expect("an integer type");
            let near = rng.within(-20, 20);
            let wide = i128::from(rng.next());
            Scalar::int(element, if special { rng.pick(&[lo, hi, 0, -1, lo + 1, wide]) } else { near.into() })
        }
    }
}

impl Host for World {
    fn input(&self, tensor: TensorId, coords: &[i64]) -> Result<Scalar, String> {
        let data = self.inputs.get(tensor.index()).and_then(Option::as_ref).ok_or("not an input")?;
        let mut at = 0;
        for ((coord, corner), size) in coords.iter().zip(&data.corner).zip(&data.sizes) {
            if !(0..*size).contains(&(coord - corner)) {
                return Err(format!("an input is read at {coords:?}, outside of {corner}.."));
            }
            at = at * size + coord - corner;
        }
        Ok(data.elements[at as usize])
    }

    fn call(&self, call: &WindowCall<'_>) -> Result<Vec<Scalar>, String> {
        window(call.name, call.takes, call.size, call.element)
    }
}

/// One window of a host function.
fn window(name: &str, takes: &[Vec<Scalar>], size: &[i64], element: Element) -> Result<Vec<Scalar>, String> {
    let count: i64 = size.iter().product();
    let first = takes.first().filter(|take| !take.is_empty()).ok_or("a take is missing")?;
    let at = |place: i64| first[place as usize % first.len()];
    let value = |place: i64| match name {
        "ramp" => Ok(Scalar::i64(place * 3 - 4)),
        "first" => Ok(at(place)),
        "reversed" => Ok(at(count - 1 - place)),
        "total" => Ok(total(takes, place as usize, element)),
        _ => Err(format!("no host function `{name}`")),
    };
    (0..count).map(|place| value(place).map(|value| value.cast(element))).collect()
}

/// The same functions, over bytes.
pub(crate) struct Functions;

impl HostFn for Functions {
    fn call(&self, call: &HostCall<'_>) -> Result<Array, String> {
        let takes = call.takes.iter().map(|take| {
            let elements = take.data.chunks_exact(take.element.bytes() as usize);
            elements.map(|bytes| scalar_at(take.element, bytes)).collect()
        });
        let takes: Vec<Vec<Scalar>> = takes.collect();
        let mut data = Vec::new();
        for value in window(call.name, &takes, call.size, call.element)? {
            let value = if call.element == Element::F16 { unary(UnaryFn::RoundF16, value) } else { value };
            store_scalar(call.element, value, &mut data);
        }
        Ok(Array { element: call.element, shape: call.size.to_vec(), data })
    }
}

impl World {
    /// The data of every input, by name.
    pub(crate) fn arrays(&self, graph: &Graph) -> Vec<(String, Array)> {
        let inputs = graph.iter().filter_map(|(id, tensor)| {
            let data = self.inputs[id.index()].as_ref()?;
            let mut bytes = Vec::new();
            data.elements.iter().for_each(|value| store_scalar(tensor.element, *value, &mut bytes));
            let array = Array { element: tensor.element, shape: data.sizes.clone(), data: bytes };
            Some((tensor.name.to_string(), array))
        });
        inputs.collect()
    }
}

/// The sum of one element of each take, in the type of the result.
fn total(takes: &[Vec<Scalar>], place: usize, element: Element) -> Scalar {
    let values = takes.iter().map(|take| take[place % take.len()].cast(element));
    let function = if element == Element::Bool { BinaryFn::Xor } else { BinaryFn::Add };
    values.reduce(|a, b| binary(function, a, b)).expect("there is a take")
}
