//! The float functions of `std/math.itp` through the real front end: constants are worked out with them, so their
//! values can be read back. docs/math-errors.md has the errors over all inputs; this ties them to what the compiler runs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use itp::compile::{Options, compile};
use itp::diagnostic::Diagnostics;
use itp::graph::modules::NoFiles;
use itp::source::Sources;

/// The values of parameters `p0`, `p1`, … with these initialisers.
fn values(element: &str, expressions: &[String]) -> Vec<f64> {
    let params = expressions.iter().enumerate().map(|(i, text)| format!("param p{i}: {element} = {text}\n"));
    let mut sources = Sources::default();
    let root = sources.add("math.itp", params.collect::<String>());
    let mut diagnostics = Diagnostics::default();
    let program = compile(&mut sources, root, &NoFiles, &Options::default(), &mut diagnostics);
    let program = program.unwrap_or_else(|| panic!("{:?}", diagnostics.into_sorted()));
    program.graph.params.iter().map(|param| param.value.to_f64()).collect()
}

type OneArgument = (&'static str, fn(f64) -> f64);

const ONE: [OneArgument; 14] = [
    ("rsqrt", |x| 1.0 / x.sqrt()),
    ("exp", f64::exp),
    ("exp2", f64::exp2),
    ("log", f64::ln),
    ("log2", f64::log2),
    ("sin", f64::sin),
    ("cos", f64::cos),
    ("tan", f64::tan),
    ("asin", f64::asin),
    ("acos", f64::acos),
    ("atan", f64::atan),
    ("sinh", f64::sinh),
    ("cosh", f64::cosh),
    ("tanh", f64::tanh),
];

type TwoArguments = (&'static str, fn(f64, f64) -> f64);

const TWO: [TwoArguments; 3] = [("pow", f64::powf), ("atan2", f64::atan2), ("hypot", f64::hypot)];

const POINTS: [f64; 12] = [0.0, 0.25, -0.25, 0.5, -0.75, 1.0, 1.5, -2.5, 10.0, -33.25, 1000.5, 65536.25];

fn ulps(found: f64, expect: f64, single: bool) -> f64 {
    if found.is_nan() && expect.is_nan() || found == expect {
        return 0.0;
    }
    let spacing = |x: f64| {
        let exponent = ((x.abs().to_bits() >> 52) as i32 - 1023).max(if single { -126 } else { -1022 });
        f64::from(exponent - if single { 23 } else { 52 }).exp2()
    };
    ((found - expect) / spacing(expect)).abs()
}

#[track_caller]
fn check(element: &str, calls: Vec<(String, f64)>, most: f64) {
    let (texts, expected): (Vec<String>, Vec<f64>) = calls.into_iter().unzip();
    let found = values(element, &texts);
    assert_eq!(found.len(), texts.len());
    for ((text, found), expect) in texts.iter().zip(found).zip(expected) {
        let single = element == "f32";
        let overflow = single && expect.abs() > f64::from(f32::MAX);
        let expect = if overflow { expect.signum() * f64::INFINITY } else { expect };
        assert!(ulps(found, expect, single) <= most, "{element} {text} is {found:e}, expected {expect:e}");
    }
}

#[test]
fn functions_of_one_argument_are_close() {
    for element in ["f32", "f64"] {
        let call = |(name, f): &OneArgument| POINTS.map(|x| (format!("{name}({x:?})"), f(x)));
        // The oracle is correct to about an ulp of its own.
        check(element, ONE.iter().flat_map(call).collect(), if element == "f32" { 4.0 } else { 5.0 });
    }
}

#[test]
fn functions_of_two_arguments_are_close() {
    for element in ["f32", "f64"] {
        let pairs = || POINTS.into_iter().flat_map(|x| POINTS.map(|y| (x, y)));
        let call = |(name, f): &TwoArguments| {
            let (name, f) = (*name, *f);
            pairs().map(move |(x, y)| (format!("{name}({x:?}, {y:?})"), f(x, y)))
        };
        check(element, TWO.iter().flat_map(call).collect(), if element == "f32" { 4.0 } else { 5.0 });
    }
}

#[test]
fn special_values_follow_the_standard() {
    let text = |name: &str| format!("1 / {name}");
    let found = values(
        "f64",
        &[
            "exp(-inf)",
            "exp(inf)",
            "log(0.0)",
            "log(-1.0)",
            "sqrt(-1.0)",
            "pow(0.0, 0.0)",
            "atan2(-0.0, -1.0)",
            "tanh(inf)",
        ]
        .map(str::to_owned),
    );
    let pi = std::f64::consts::PI;
    let expect = [0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::NAN, 1.0, -pi, 1.0];
    for (found, expect) in found.iter().zip(expect) {
        assert!(ulps(*found, expect, false) <= 2.0, "{found} {expect}");
    }
    let signed = values("f64", &[text("sin(-0.0)"), text("exp(-inf)"), text("atan(-0.0)")]);
    assert_eq!(signed, [f64::NEG_INFINITY, f64::INFINITY, f64::NEG_INFINITY]);
}

/// Constants are worked out with the same remainder as elements, and the same quotient, which is rounded before its floor.
#[test]
fn remainders_of_constants_are_exact() {
    let texts = [
        "1e300 % 7",
        "-1e300 % 7",
        "7 % 1e-300",
        "5.0 % inf",
        "-5.0 % inf",
        "1 / (6.0 % -3)",
        "1.0 % 0.1",
        "1.0 // 0.1",
    ];
    let found = values("f64", &texts.map(str::to_owned));
    let expect = [
        1e300 % 7.0,
        7.0 - 1e300 % 7.0,
        7.0 % 1e-300,
        5.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1.0 % 0.1,
        10.0,
    ];
    assert_eq!(found, expect);
}
