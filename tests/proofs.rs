//! Reads that stay inside must be accepted, those that can leave must not: one line each.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use itp::compile::{Options, compile};
use itp::diagnostic::Diagnostics;
use itp::graph::modules::NoFiles;
use itp::source::Sources;

const SETUP: &str = "
input h: f32[x: 20]
input p: f32[y: 64, x: 48]
input w: f32[x: inf]
let g = [1, 2, 3]
";

/// The codes of the errors that a tensor gets.
fn codes(tensor: &str) -> Vec<String> {
    let mut sources = Sources::default();
    let root = sources.add("test.itp", format!("{SETUP}\n{tensor}\n"));
    let mut diagnostics = Diagnostics::default();
    compile(&mut sources, root, &NoFiles, &Options::default(), &mut diagnostics);
    diagnostics.into_sorted().iter().map(|diagnostic| diagnostic.code.to_string()).collect()
}

#[track_caller]
fn inside(tensors: &[&str]) {
    for tensor in tensors {
        assert_eq!(codes(tensor), Vec::<String>::new(), "{tensor}");
    }
}

#[track_caller]
fn refused(code: &str, tensors: &[&str]) {
    for tensor in tensors {
        assert!(codes(tensor).iter().any(|found| found == code), "{tensor}: {:?}", codes(tensor));
    }
}

#[test]
fn linear_coordinates() {
    inside(&[
        "tensor t: f32[x: 19] = h[x + 1]",
        "tensor t: f32[x: 10] = h[2 * x + 1]",
        "tensor t: f32[x: 20] = h[19 - x]",
        "tensor t: f32[x: 18] = sum(i in 0..3) h[x + i] * g[i]",
    ]);
    refused(
        "E0502",
        &[
            "tensor t: f32[x: 20] = h[x + 1]",
            "tensor t: f32[x: -1..20] = h[x]",
            "tensor t: f32[x: inf] = h[x]",
        ],
    );
}

#[test]
fn magnitudes_and_remainders() {
    inside(&[
        "tensor t: f32[x: -19..20] = h[abs(x)]",
        "tensor t: f32[x: -19..20] = h[max(x, -x)]",
        "tensor t: f32[x: inf] = h[min(abs(x), 19)]",
        "tensor t: f32[x: inf] = h[abs(x) % 20]",
        "tensor t: f32[x: inf] = h[(x * x) % 20]",
        "tensor t: f32[x: inf] = h[(x * x + 7) % 20]",
        "tensor t: f32[x: inf] = h[x % 20]",
        "tensor t: f32[x: inf] = h[x & 15]",
        "tensor t: f32[x: inf] = h[i64(hash(x)) % 20]",
        "tensor t: f32[x: inf] = h[5 + (x * x) % 15]",
        "tensor t: f32[x: inf] = h[x - x // 20 * 20]",
    ]);
    refused("E0502", &["tensor t: f32[x: -20..20] = h[abs(x)]", "tensor t: f32[x: inf] = h[(x * x) % 21]"]);
    // The cast of -inf is the smallest i64, whose magnitude wraps to itself.
    refused("E0501", &["tensor t: f32[x: inf] = h[min(abs(i64(w[x])), 19)]"]);
}

#[test]
fn conditions() {
    inside(&[
        "tensor t: f32[x: inf] = if x >= 0 and x < 20 then h[x] else 0",
        "tensor t: f32[x: inf] = if x < 0 or x > 19 then 0 else h[x]",
        "tensor t: f32[y: 20, x: 20] = if x < y then h[y - x] else 0",
        "tensor t: f32[x: inf] = { let v = w[x]; if v >= 0 and v < 20 then h[i64(v)] else 0 }",
        "tensor t: f32[x: inf] = if w[x] > 0 and w[x] < 20 then h[i64(w[x])] else 0",
        "tensor t: f32[x: inf] = { let k = i64(clamp(w[x], -5, 5)); if k >= 0 then h[k] else 0 }",
    ]);
    refused(
        "E0502",
        &[
            "tensor t: f32[x: inf] = if x >= 0 and x <= 20 then h[x] else 0",
            "tensor t: f32[x: inf] = { let v = w[x]; if v >= 0 and v <= 20 then h[i64(v)] else 0 }",
        ],
    );
}

#[test]
fn boundaries_fold_inside() {
    let kinds = ["clamp", "wrap", "mirror", "reflect"];
    for kind in kinds {
        inside(&[&format!("tensor t: f32[y: inf, x: inf] = p.{kind}()[y - 1, x + 2]")]);
    }
}

#[test]
fn data_that_could_be_anything() {
    inside(&[
        "tensor t: f32[x: inf] = w[x + i64(clamp(w[x], -8, 8))]",
        "tensor t: f32[x: inf] = h[u8(w[x]) % 20]",
    ]);
    refused("E0501", &["tensor t: f32[x: inf] = w[i64(w[x])]", "tensor t: f32[x: inf] = w[x + i32(w[x])]"]);
    refused("E0504", &["tensor t: f32[x: inf] = g[u8(w[x])]"]);
}

#[test]
fn what_is_not_constant_is_not_taken_for_one() {
    refused(
        "E0204",
        &[
            "tensor t: i64[x: 3] = sum(i in 0..3, j in 0..i) j",
            "fn tri(n) = sum(j in 0..n) j\ntensor t: i64[x: 3] = sum(i in 1..3) tri(i)",
            "let v = sum(i in 0..1000000000000000000, j in 0..0) 1",
        ],
    );
}

#[test]
fn arithmetic_that_wraps_is_not_trusted() {
    refused("E0502", &["input v: u8[x: 10]\ntensor t: f32[x: 10] = h.shrink([0..1])[v[x] >> 9]"]);
    refused(
        "E0502",
        &[
            "tensor t: f32[x: inf] = { let v = min(5.0, max(3.0, w[x])); if v != 4.0 then h[3:6][i64(v)] else 0 }",
        ],
    );
    refused("E0501", &["tensor t: f32[x: inf] = h[i64(min(5.0, min(rsqrt(w[x]), 5.0)))]"]);
    // A difference of u64 wraps far up, and is negative as an i64 beyond 2^63.
    refused("E0502", &["tensor t: f32[x: 20] = h.translate_by([-5])[i64((u64(x) - u64(5)) // u64(2))]"]);
    refused(
        "E0502",
        &["tensor t: f32[x: 20] = { let d = u64(x) - u64(5); if d >= u64(3) then h[d] else 0 }"],
    );
    inside(&[
        "input v: u64[x: 20]\ntensor t: f32[x: 20] = h[min(v[x], u64(9))]",
        "input v: u64[x: 20]\ntensor t: f32[x: 20] = if v[x] < u64(10) then h[v[x]] else 0",
    ]);
    // Far numbers are answered, whatever the answer is.
    for far in ["9223372036854775808 - x != 0", "x + 9223372036854775808 != 0", "-x < 3"] {
        codes(&format!("tensor t: f32[x: inf] = if {far} then w[x * 9223372036854775808] else 2"));
    }
}

#[test]
fn functions_that_double_end() {
    let doubling: String = (1..40).map(|n| format!("fn f{n}(x) = f{}(x) + f{}(x)\n", n - 1, n - 1)).collect();
    refused("E0902", &[&format!("fn f0(x) = x\n{doubling}tensor t: f32[x: inf] = f39(x)")]);
}

#[test]
fn long_chains_are_answered() {
    let step = |n: usize| format!("let v{} = if w[{n}] > {n} then v{n} else v{n} + 1;\n", n + 1);
    let choices: String = (0..30).map(step).collect();
    codes(&format!("tensor t: f32[x: 10] = {{ let v0 = 0;\n{choices} h[v30] }}"));
    let step = |n: usize| format!("let a{} = (a{n} + 1) // 2 + a{n} % 3;\n", n + 1);
    let divisions: String = (0..30).map(step).collect();
    codes(&format!("tensor t: f32[x: inf] = {{ let a0 = x;\n{divisions} w[a30] }}"));
}

#[test]
fn far_bounds_are_refused() {
    let far = "input q: u8[x: -2305843009213693952..4611686018427387902]";
    for kind in ["mirror", "reflect", "wrap"] {
        refused("E0312", &[&format!("{far}\ntensor t: u8[x: inf] = q.{kind}()[x]")]);
    }
    refused("E0408", &["tensor t: f32[x: 3] = sum(i in 9223372036854775806..=9223372036854775807) 1"]);
}
