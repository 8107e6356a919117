//! Proofs against the truth: whatever a coordinate reaches, a tensor without that element refuses the read.
//!
//! ```text
//! h[abs(x) % 5 - 2] with x in -20..20 reaches 2, so it must be refused for h: -2..2
//! ```

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use itp::access::exact::NEAR;
use itp::compile::{Options, Program, compile};
use itp::diagnostic::Diagnostics;
use itp::graph::body::TensorId;
use itp::graph::modules::NoFiles;
use itp::graph::scalar::Scalar;
use itp::interp::{Host, Interp, WindowCall};
use itp::source::Sources;
use proptest::prelude::*;

/// Data with everything in it that a float can be.
struct Data;

const FLOATS: [f32; 12] =
    [0.0, 1.0, -1.0, 0.1, 2.5, -7.5, 300.0, 1e10, -1e30, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];

impl Host for Data {
    fn input(&self, _: TensorId, at: &[i64]) -> Result<Scalar, String> {
        Ok(Scalar::f32(FLOATS[at[0].rem_euclid(12) as usize]))
    }

    fn call(&self, call: &WindowCall<'_>) -> Result<Vec<Scalar>, String> {
        Err(format!("no function {}", call.name))
    }
}

fn program(script: &str) -> Option<Program> {
    let mut sources = Sources::default();
    let root = sources.add("test.itp", script);
    compile(&mut sources, root, &NoFiles, &Options::default(), &mut Diagnostics::default())
}

const HEAD: &str = "input w: f32[x: inf]\nlet g = [4, -3, 7]\n";

/// A coordinate, the condition it is read under, and where x lies.
#[derive(Clone, Debug)]
struct Case {
    coord: String,
    condition: String,
    domain: &'static str,
}

/// All of a bounded domain, or what is worth trying of an unbounded one: farther out, reads are checked again.
fn points(domain: &str) -> Vec<i64> {
    let tried = [0, 1, 2, 3, 7, 19, 20, 1000, (1 << 31) + 1, (1 << 32) + 5, NEAR / 2 + 3, NEAR - 1, NEAR];
    match domain {
        "-13..14" => (-13..14).collect(),
        "0..30" => (0..30).collect(),
        "0..inf" => tried.to_vec(),
        _ => tried.iter().flat_map(|at| [*at, -at]).collect(),
    }
}

/// The smallest and the largest value of the coordinate where the condition holds.
fn truth(case: &Case) -> Option<(i64, i64)> {
    let Case { coord, condition, domain } = case;
    let script = format!(
        "{HEAD}tensor e: i64[y: 4, x: {domain}] = {coord}\ntensor c: i64[y: 4, x: {domain}] = if {condition} then 1 else 0\n"
    );
    let program = program(&script)?;
    let mut interp = Interp::new(&program.graph, &Data).ok()?;
    let id = |name: &str| program.graph.iter().find(|(_, tensor)| &*tensor.name == name).unwrap().0;
    let (e, c) = (id("e"), id("c"));
    let mut values = Vec::new();
    for at in points(domain).into_iter().flat_map(|x| (0..4).map(move |y| [y, x])) {
        if interp.element(c, &at).ok()?.as_int() == Some(1) {
            values.push(interp.element(e, &at).ok()?.as_int()? as i64);
        }
    }
    Some((*values.iter().min()?, *values.iter().max()?))
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (-6i64..12).prop_map(|n| format!("({n})")),
        1 => prop::sample::select(vec!["(2 ** 31)", "(2 ** 61)", "(2 ** 62)", "(-(2 ** 63))"]).prop_map(str::to_owned),
    ]
}

fn condition(int: BoxedStrategy<String>) -> impl Strategy<Value = String> + Clone {
    let compare = prop::sample::select(vec!["<", "<=", ">", ">=", "==", "!="]);
    let one =
        (int.clone(), compare, number(), int.clone(), any::<bool>()).prop_map(|(a, op, n, b, constant)| {
            if constant { format!("({a} {op} {n})") } else { format!("({a} {op} {b})") }
        });
    let float = (prop::sample::select(vec!["<", ">=", "=="]), -3i64..9)
        .prop_map(|(op, n)| format!("(w[x] {op} {n})"));
    let leaf = prop_oneof![4 => one, 1 => float].boxed();
    prop_oneof![
        3 => leaf.clone(),
        2 => (leaf.clone(), prop::sample::select(vec!["and", "or"]), leaf.clone())
            .prop_map(|(a, op, b)| format!("({a} {op} {b})")),
        1 => leaf.prop_map(|a| format!("(not {a})")),
    ]
    .boxed()
}

fn float(int: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec!["f32", "f64"]);
    (kind, int, 0..16usize, 0..4usize, -4i64..9, 1i64..9).prop_map(|(ty, int, op, from, n, m)| {
        let data = format!("{ty}(w[x])");
        let near = format!("clamp({data}, {n}, {})", n + m);
        let whole = format!("{ty}({int})");
        let a = [&data, &near, &whole, &near][from];
        match op {
            0 => format!("floor({a} * 0.1 - {n})"),
            1 => format!("ceil({a} * 0.1 - {n})"),
            2 => format!("({a} // 0.3)"),
            3 => format!("({a} % {m}.5)"),
            4 => format!("max(min({a}, {m}), {n})"),
            5 => format!("min({m}, max({n}, {a}))"),
            6 => format!("sqrt(abs({a}))"),
            7 => format!("({a} / {m} + {near} * {near})"),
            8 => format!("({near} - {near} * 3.7)"),
            9 => format!("(if {a} > {n} then {near} else {m}.25)"),
            10 => format!("fma({near}, 0.7, {a})"),
            11 => format!("round({a} * 2.5)"),
            12 => format!("abs({a} - {m})"),
            13 => format!("sign({a}) * {near}"),
            14 => format!("({near} / ({near} + 0.5))"),
            _ => format!("trunc({near} * sin({a}) * 5)"),
        }
    })
}

fn integer() -> BoxedStrategy<String> {
    let leaf =
        prop_oneof![5 => Just("x".to_owned()), 2 => number(), 1 => Just("g[x % 3]".to_owned())].boxed();
    leaf.prop_recursive(3, 24, 3, |int| {
        let int = int.boxed();
        let binary = (int.clone(), int.clone(), number(), any::<bool>(), 0..12usize);
        let binary = binary.prop_map(|(a, other, n, constant, op)| {
            let b = if constant { n } else { other };
            let signs = ["+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>"];
            match signs.get(op) {
                Some(sign) => format!("({a} {sign} {b})"),
                None => format!("{}({a}, {b})", ["min", "max"][op - 10]),
            }
        });
        let unary = (int.clone(), 0..19usize, 1i64..9).prop_map(|(a, op, n)| match op {
            0 => format!("abs({a})"),
            1 => format!("(-{a})"),
            2 => format!("i64(u8({a}))"),
            3 => format!("i64(i8({a}) + i8(100))"),
            4 => format!("i64(u32({a}) // u32({n}))"),
            5 => format!("i64(u64({a}) % u64({n}))"),
            6 => format!("i64(u64({a}) // u64({n}))"),
            7 => format!("clamp({a}, {}, {n})", -n),
            8 => format!("(max(i in 0..4) ({a} + i * {n}) % 9)"),
            9 => format!("(sum(i in -2..3) if i < {} then {a} * i else min({a}, 5))", n - 4),
            10 => format!("(argmax(i in 0..5) {a} * i)"),
            11 => format!("({a} // {n} + {a} % {n})"),
            12 => format!("popcount({a})"),
            13 => format!("({a} % {} // {})", n * 300, n + 1),
            14 => format!("({a} - {a} % {} // 2 + {a} // 7 % {n})", n * 100),
            15 => format!("({a} // {n} % {} + {a} % 6 // 4)", n + 2),
            16 => format!("({a} ** {})", n % 4),
            17 => format!("({a} * {a} - {a})"),
            _ => format!("g[clamp({a}, 0, 2)]"),
        });
        let choice = (condition(int.clone()), int.clone(), int.clone())
            .prop_map(|(c, a, b)| format!("(if {c} then {a} else {b})"));
        let cast = float(int.clone()).prop_map(|a| format!("i64({a})"));
        prop_oneof![6 => binary, 3 => unary, 2 => choice, 2 => cast]
    })
    .boxed()
}

fn case() -> impl Strategy<Value = Case> {
    let domain = prop::sample::select(vec!["-13..14", "0..30", "inf", "0..inf"]);
    let bounded = (integer(), -9i64..9, 1i64..20)
        .prop_map(|(a, lo, size)| format!("min(max({a}, {lo}), {})", lo + size));
    let coord = prop_oneof![2 => integer(), 1 => bounded];
    (coord, condition(integer()), domain).prop_map(|(coord, condition, domain)| Case {
        coord,
        condition,
        domain,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_reached_and_not_there_is_refused(case in case()) {
        let Some((lo, hi)) = truth(&case) else { return Ok(()) };
        let far = (1i64 << 62) - 4;
        if lo == hi || lo < -far || hi > far {
            return Ok(());
        }
        let Case { coord, condition, domain } = &case;
        for (from, to) in [(lo, hi), (lo + 1, hi + 1)] {
            let script = format!(
                "{HEAD}input h: f32[x: {from}..{to}]\n\
                 tensor t: f32[y: 4, x: {domain}] = if {condition} then h[{coord}] else 0\n"
            );
            prop_assert!(program(&script).is_none(), "reaches {lo}..={hi}:\n{script}");
        }
    }
}
