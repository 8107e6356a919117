//! The remainder of floats is exact whatever the quotient is: against arithmetic on whole numbers, in every width.

use crate::operators::{bytes_of, specials};
use crate::{checked, compare};
use itp::graph::scalar::{BinaryFn, Scalar, binary};
use itp::graph::types::Element;
use itp::loops::parse::parse;

/// A number above 0 as digits times a power of two.
fn digits(value: f64) -> (u64, i32) {
    let (exponent, rest) = ((value.to_bits() >> 52) as i32 & 0x7ff, value.to_bits() & ((1 << 52) - 1));
    if exponent == 0 { (rest, -1074) } else { (rest | 1 << 52, exponent - 1075) }
}

/// The remainder of two numbers above 0, which every float type holds that holds both.
fn whole_remainder(a: f64, b: f64) -> f64 {
    let ((a_digits, a_power), (b_digits, b_power)) = (digits(a), digits(b));
    let (digits, power) = if a_power >= b_power {
        let doubled = |rest: u64, _| rest * 2 % b_digits;
        ((b_power..a_power).fold(a_digits % b_digits, doubled), b_power)
    } else {
        let shift = (b_power - a_power) as u32;
        (
            if shift < 64 {
                (u128::from(a_digits) % (u128::from(b_digits) << shift)) as u64
            } else {
                a_digits
            },
            a_power,
        )
    };
    // In two factors, both of which are floats.
    digits as f64 * 2f64.powi(power / 2) * 2f64.powi(power - power / 2)
}

/// As Python has it: the exact remainder, plus the divisor where that has the other sign.
fn expected(element: Element, a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() || a.is_infinite() || b == 0.0 {
        return f64::NAN;
    }
    let rest = match (a == 0.0, b.is_infinite()) {
        (true, _) => 0.0,
        (_, true) => a.abs(),
        _ => whole_remainder(a.abs(), b.abs()),
    };
    let rest = match (rest == 0.0, a.is_sign_negative() == b.is_sign_negative(), element) {
        (true, ..) | (_, true, _) => rest,
        (_, _, Element::F32) => (b.abs() as f32 - rest as f32).into(),
        _ => b.abs() - rest,
    };
    rest.copysign(b)
}

fn random() -> impl FnMut() -> u64 {
    let mut state = 88_172_645_463_325_252u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

/// Pairs of special values; of any bits; whose quotients are small, or hardly hold in their type; and of few bits.
fn pairs(element: Element, count: usize) -> Vec<(Scalar, Scalar)> {
    let values = specials(element);
    let mut pairs: Vec<_> = values.iter().flat_map(|a| values.iter().map(move |b| (*a, *b))).collect();
    let mut next = random();
    let mut any = || match element {
        Element::F32 => Scalar::f32(f32::from_bits(next() as u32)),
        _ => Scalar::f64(f64::from_bits(next())),
    };
    let digits = if element == Element::F32 { 24 } else { 53 };
    for at in 0..count {
        let (a, b) = (any(), any());
        let number = |value: Scalar| value.to_f64();
        let whole = (number(any()).to_bits() % 2000) as f64 - 1000.0;
        let near = |times: f64| Scalar::float(element, number(b) * times);
        let tiny = Scalar::float(element, number(a) * f64::MIN_POSITIVE);
        pairs.push(match at % 8 {
            0..3 => (a, b),
            3 => (near(whole), b),
            4 => (near(2f64.powi(digits) + whole), b),
            5 => (Scalar::float(element, whole / 8.0), Scalar::float(element, (at % 97) as f64 / 16.0 - 3.0)),
            6 => (a, Scalar::float(element, whole)),
            _ => (tiny, b),
        });
    }
    pairs
}

#[test]
fn remainders_are_exact() {
    for element in [Element::F32, Element::F64] {
        for (a, b) in pairs(element, 200_000) {
            let found = binary(BinaryFn::Rem, a, b);
            let expect = Scalar::float(element, expected(element, a.to_f64(), b.to_f64()));
            assert_eq!(found, expect, "{a} % {b}");
        }
    }
}

fn kernel(element: Element, body: &str) -> String {
    format!(
        "kernel a(n)\n  b0: {element} in\n  b1: {element} in\n  b2: {element} out\n  v0: i64 = const 0\n  \
         v1: i64 = arg 0\n{}",
        body.replace("FLOAT", &element.to_string())
    )
}

/// Along a row and in a loop of scalars; with others under way; in a loop inside a row that carries it.
const BODIES: [&str; 4] = [
    "  row v2 in v0..v1\n    v3: FLOAT = load b0 v2\n    v4: FLOAT = load b1 v2\n    v5: FLOAT = rem v3 v4\n    \
     store b2 v2 v5\n",
    "  for v2 in v0..v1\n    v3: FLOAT = load b0 v2\n    v4: FLOAT = load b1 v2\n    v5: FLOAT = rem v3 v4\n    \
     store b2 v2 v5\n",
    "  v2: FLOAT = const 360\n  row v3 in v0..v1\n    v4: FLOAT = load b0 v3\n    v5: FLOAT = load b1 v3\n    \
     v6: FLOAT = rem v4 v2\n    v7: FLOAT = rem v5 v4\n    v8: FLOAT = rem v6 v7\n    v9: FLOAT = rem v2 v8\n    \
     v10: FLOAT = add v9 v7\n    v11: FLOAT = min v10 v6\n    store b2 v3 v11\n",
    "  v2: i64 = const 3\n  row v3 in v0..v1\n    v4: FLOAT = load b0 v3\n    v5: FLOAT = load b1 v3\n    \
     for v6 in v0..v2\n      carry v7: FLOAT = v4\n      carry v8: FLOAT = v5\n      v9: FLOAT = rem v7 v8\n      \
     v10: FLOAT = rem v8 v9\n      next v9 -> v11\n      next v10 -> v12\n    store b2 v3 v11\n",
];

#[test]
fn every_width_has_the_same_remainders() {
    for element in [Element::F32, Element::F64] {
        let pairs = pairs(element, 40_000);
        let (a, b): (Vec<Scalar>, Vec<Scalar>) = pairs.into_iter().unzip();
        let buffers = [&a, &b].map(|values| bytes_of(element, values));
        for body in BODIES {
            let text = kernel(element, body);
            let kernel = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let modules = checked(std::slice::from_ref(&kernel));
            let inputs = [buffers[0].clone(), buffers[1].clone(), vec![0xaa; buffers[0].len()]];
            for length in (0..40).chain([a.len() as i64]) {
                compare(&modules, 0, &kernel, &[length], &inputs);
            }
        }
    }
}

/// One lane that needs many steps, at every place of a register, among others that need none.
#[test]
fn one_lane_in_many_steps() {
    for element in [Element::F32, Element::F64] {
        let huge = if element == Element::F32 { f64::from(f32::MAX) } else { f64::MAX };
        let tiny = if element == Element::F32 { 1e-44 } else { 5e-323 };
        let text = kernel(element, BODIES[0]);
        let kernel = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let modules = checked(std::slice::from_ref(&kernel));
        for at in 0..33 {
            let lane =
                |own: usize, far: f64, near: f64| Scalar::float(element, if own == at { far } else { near });
            let a: Vec<Scalar> = (0..33).map(|own| lane(own, huge, own as f64 - 7.5)).collect();
            let b: Vec<Scalar> = (0..33).map(|own| lane(own, tiny, 3.0)).collect();
            let bytes = [&a, &b].map(|values| bytes_of(element, values));
            compare(&modules, 0, &kernel, &[33], &[bytes[0].clone(), bytes[1].clone(), bytes[0].clone()]);
        }
    }
}

/// A loop that carries as much as one may, and uses more constants than there are registers.
#[test]
fn remainders_among_many_registers() {
    let lines = |count: usize, line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
    let body = [
        "  v2: i64 = const 4\n".to_owned(),
        lines(24, &|at| format!("  v{}: f32 = const {}.5\n", 3 + at, at + 1)),
        "  row v27 in v0..v1\n    v28: f32 = load b0 v27\n    v29: f32 = load b1 v27\n    for v30 in v0..v2\n".to_owned(),
        lines(12, &|at| format!("      carry v{}: f32 = v{}\n", 31 + at, 28 + at % 2)),
        lines(12, &|at| format!("      v{}: f32 = add v{} v{}\n", 43 + at, 31 + (at + 1) % 12, 3 + at)),
        lines(12, &|at| format!("      v{}: f32 = rem v{} v{}\n", 55 + at, 43 + at, 15 + at)),
        lines(12, &|at| format!("      next v{} -> v{}\n", 55 + at, 67 + at)),
        lines(11, &|at| format!("    v{}: f32 = add v{} v{}\n", 79 + at, 68 + at, if at == 0 { 67 } else { 78 + at })),
        "    store b2 v27 v89\n".to_owned(),
    ];
    let text = kernel(Element::F32, &body.concat());
    let kernel = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let (a, b): (Vec<Scalar>, Vec<Scalar>) = pairs(Element::F32, 1000).into_iter().unzip();
    let bytes = [&a, &b].map(|values| bytes_of(Element::F32, values));
    let modules = checked(std::slice::from_ref(&kernel));
    compare(&modules, 0, &kernel, &[a.len() as i64], &[bytes[0].clone(), bytes[1].clone(), bytes[0].clone()]);
}
