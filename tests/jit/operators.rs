//! Every operator × every element type × special values: in rows of all lengths, as uniform values, as constants.

use crate::{checked, compare};
use itp::graph::scalar::{BinaryFn, Scalar};
use itp::graph::types::Element;
use itp::loops::execute::write_element;
use itp::loops::ir::Kernel;
use itp::loops::parse::{BINARY, UNARY, parse};
use itp::loops::verify::verify;

/// Values at which arithmetic has corners.
pub(crate) fn specials(element: Element) -> Vec<Scalar> {
    if let Some((lo, hi)) = element.int_range() {
        let small =
            [0, 1, -1, 2, -2, 3, 7, -7, 8, 15, 31, 33, 63, 100, 12345, -12345, (1 << 24) + 1, (1 << 53) + 1];
        let large = [hi, hi - 1, hi / 2 + 1, lo, lo + 1, hi - (hi >> 25), hi / 3];
        let mut values: Vec<Scalar> =
            small.iter().chain(&large).map(|value| Scalar::int(element, *value)).collect();
        values.sort();
        values.dedup();
        return values;
    }
    let plain =
        [0.0, 0.1, 0.5, 1.5, 2.5, 3.0, 7.3, 100.49, 127.5, 255.5, 2049.0, 2051.0, 65504.0, 65519.0, 65520.0];
    let tiny = [1e-45, 5e-324, 1.1e-38, 3e-310, 4.4703484e-8, 6.0975e-5, 2e-8];
    let huge = [1e30, 1e308, f64::from(f32::MAX), f64::INFINITY, f64::NAN];
    let powers = [-25, -24, -15, -14, 0, 7, 8, 15, 16, 23, 24, 31, 32, 50, 52, 53, 63, 64]
        .map(|power| 2f64.powi(power));
    let around =
        powers.iter().flat_map(|power| [*power, (*power as f32).next_down().into(), power.next_down()]);
    let positive = plain.into_iter().chain(tiny).chain(huge).chain(around);
    positive.flat_map(|value| [value, -value]).map(|value| Scalar::float(element, value)).collect()
}

pub(crate) fn bytes_of(element: Element, values: &[Scalar]) -> Vec<u8> {
    let size = element.bytes() as usize;
    let mut bytes = vec![0; values.len() * size];
    for (value, place) in values.iter().zip(bytes.chunks_mut(size)) {
        write_element(element, *value, place);
    }
    bytes
}

/// Kernels and the buffers to run them on.
#[derive(Default)]
struct Suite {
    kernels: Vec<Kernel>,
    inputs: Vec<Vec<Vec<u8>>>,
}

impl Suite {
    /// Adds a kernel of one argument, its length, if the laws allow it.
    fn add(&mut self, text: &str, buffers: Vec<Vec<u8>>) {
        let kernel = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        if verify(&kernel).is_ok() {
            self.kernels.push(kernel);
            self.inputs.push(buffers);
        }
    }

    /// Runs all of them, over their whole buffers and over short rows.
    fn run(&self, name: &str, at_least: usize) {
        assert!(self.kernels.len() >= at_least, "{name}: only {} kernels", self.kernels.len());
        let modules = checked(&self.kernels);
        let mut elements = 0;
        for (at, (kernel, inputs)) in self.kernels.iter().zip(&self.inputs).enumerate() {
            let out = inputs.len() - 1;
            let whole = inputs[out].len() as i64 / kernel.buffers[out].element.bytes() as i64;
            for length in (0..=19).chain([31, 33, whole]) {
                compare(&modules, at, kernel, &[length.min(whole)], inputs);
                elements += length;
            }
        }
        println!("{name}: {} kernels, {elements} elements", self.kernels.len());
    }
}

/// Every pair of special values.
fn pairs(element: Element) -> (Vec<Scalar>, Vec<Scalar>) {
    let values = specials(element);
    values.iter().flat_map(|a| values.iter().map(move |b| (*a, *b))).unzip()
}

fn result(function: BinaryFn, element: Element) -> Element {
    if function.is_comparison() { Element::Bool } else { element }
}

fn elements() -> impl Iterator<Item = Element> {
    Element::ALL.into_iter().filter(|element| *element != Element::F16)
}

#[test]
fn binary_operators_in_rows() {
    let mut suite = Suite::default();
    for (element, function) in elements().flat_map(|element| BINARY.map(|function| (element, function))) {
        let (r, op) = (result(function, element), function.name());
        let text = format!(
            "kernel a(n)\n  b0: {element} in\n  b1: {element} in\n  b2: {r} out\n  v0: i64 = const 0\n  \
             v1: i64 = arg 0\n  row v2 in v0..v1\n    v3: {element} = load b0 v2\n    v4: {element} = load b1 v2\n    \
             v5: {r} = {op} v3 v4\n    store b2 v2 v5\n"
        );
        let (a, b) = pairs(element);
        let out = vec![0xaa; a.len() * r.bytes() as usize];
        suite.add(&text, vec![bytes_of(element, &a), bytes_of(element, &b), out]);
    }
    suite.run("binary, both in lanes", 190);
}

/// One operand is the same for the whole row: loaded outside, once from each side.
#[test]
fn binary_operators_with_uniform_operands() {
    let mut suite = Suite::default();
    for (element, function) in elements().flat_map(|element| BINARY.map(|function| (element, function))) {
        let (r, op) = (result(function, element), function.name());
        let values = specials(element);
        for (at, order) in [(3, "v4 v5"), (5, "v5 v4"), (7, "v4 v4")] {
            let text = format!(
                "kernel a(n)\n  b0: {element} in\n  b1: {element} in\n  b2: {r} out\n  v0: i64 = const 0\n  \
                 v1: i64 = arg 0\n  v2: i64 = const {at}\n  row v3 in v0..v1\n    v4: {element} = load b1 v2\n    \
                 v5: {element} = load b0 v3\n    v6: {r} = {op} {order}\n    store b2 v3 v6\n"
            );
            let out = vec![0xaa; values.len() * r.bytes() as usize];
            let mut others = values.clone();
            others.rotate_left(at % values.len());
            others.resize(8, values[0]);
            suite.add(&text, vec![bytes_of(element, &values), bytes_of(element, &others), out]);
        }
    }
    suite.run("binary, one uniform", 570);
}

/// One operand is a constant, so that short cuts for it are tried.
#[test]
fn integer_operators_with_constants() {
    let mut suite = Suite::default();
    let functions =
        [BinaryFn::FloorDiv, BinaryFn::Rem, BinaryFn::Mul, BinaryFn::Shl, BinaryFn::Shr, BinaryFn::Pow];
    for element in elements().filter(|element| element.is_int()) {
        let values = specials(element);
        for (function, constant) in
            functions.iter().flat_map(|f| values.iter().map(move |value| (*f, *value)))
        {
            let text = format!(
                "kernel a(n)\n  b0: {element} in\n  b1: {element} out\n  v0: i64 = const 0\n  v1: i64 = arg 0\n  \
                 v2: {element} = const {constant}\n  row v3 in v0..v1\n    v4: {element} = load b0 v3\n    \
                 v5: {element} = {} v4 v2\n    store b1 v3 v5\n",
                function.name()
            );
            let bytes = bytes_of(element, &values);
            suite.add(&text, vec![bytes.clone(), bytes]);
        }
    }
    suite.run("integers and constants", 700);
}

#[test]
fn unary_operators() {
    let mut suite = Suite::default();
    for (element, function) in elements().flat_map(|element| UNARY.map(|function| (element, function))) {
        let (r, op) = (function.result(element), function.name());
        let text = format!(
            "kernel a(n)\n  b0: {element} in\n  b1: {r} out\n  v0: i64 = const 0\n  v1: i64 = arg 0\n  \
             row v2 in v0..v1\n    v3: {element} = load b0 v2\n    v4: {r} = {op} v3\n    store b1 v2 v4\n"
        );
        let values = specials(element);
        let out = vec![0xaa; values.len() * r.bytes() as usize];
        suite.add(&text, vec![bytes_of(element, &values), out]);
    }
    suite.run("unary", 100);
}

/// Conversions between all types, f16 in memory among them, which also tries every kind of load and store.
#[test]
fn conversions() {
    let mut suite = Suite::default();
    for (from, to) in Element::ALL.iter().flat_map(|from| Element::ALL.map(|to| (*from, to))) {
        let (a, b) = (from.computed(), to.computed());
        let text = format!(
            "kernel a(n)\n  b0: {from} in\n  b1: {to} out\n  v0: i64 = const 0\n  v1: i64 = arg 0\n  \
             row v2 in v0..v1\n    v3: {a} = load b0 v2\n    v4: {b} = cast v3\n    store b1 v2 v4\n"
        );
        let values = specials(a);
        let out = vec![0xaa; values.len() * to.bytes() as usize];
        suite.add(&text, vec![bytes_of(from, &values), out]);
    }
    suite.run("conversions", 144);
}

/// Every bit pattern of f16, and f32 patterns around each of its rounding borders.
#[test]
fn every_f16() {
    let text = "kernel a(n)\n  b0: f16 in\n  b1: f32 in\n  b2: f32 out\n  b3: f16 out\n  v0: i64 = const 0\n  \
                v1: i64 = arg 0\n  row v2 in v0..v1\n    v3: f32 = load b0 v2\n    store b2 v2 v3\n    \
                v4: f32 = load b1 v2\n    store b3 v2 v4\n";
    let halves: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    let kernel = parse(text).unwrap();
    let modules = checked(std::slice::from_ref(&kernel));
    for nudge in [0u32, 1, 0xfff, 0x1000, 0x1001, 0x1fff] {
        let borders =
            (0..=u16::MAX).map(|at| (u32::from(at) << 16).wrapping_add(u32::from(at) << 13) ^ nudge);
        let floats: Vec<u8> = borders.flat_map(u32::to_le_bytes).collect();
        let out = (vec![0; floats.len()], vec![0; halves.len()]);
        compare(&modules, 0, &kernel, &[1 << 16], &[halves.clone(), floats, out.0, out.1]);
    }
}
