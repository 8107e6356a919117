//! The typing rules, one line each: what a body becomes, or which error it is. Weak numbers follow section 4 of the
//! language: computed in i64 or in the float type they meet, converted as a whole, each use on its own.

use itp::compile::{self, Options};
use itp::diagnostic::Diagnostics;
use itp::graph::modules::NoFiles;
use itp::graph::print;
use itp::source::Sources;

const PRELUDE: &str = "
input u: u8[x: inf]
input s: i32[x: inf]
input h: f16[x: inf]
input f: f32[x: inf]
input d: f64[x: inf]
input m: bool[x: inf]
let third = 1 / 3
let eps = (1 + 1e-9) - 1
let big = 2 ** 62
param tenth = 0.1
param gain: f32 = 0.1
param count = 7
let k = [0.1, 0.5, 1]
let ints = [1, 300]
let bytes = [u8(1), 2]
fn twice(a) = a + a
fn tenths(a) = a * 0.1
fn typed(a: f32) = a
fn promised(a) -> u8 = a
";

/// The nodes of the body of a tensor of that type, `; ` between them, or the codes of its errors.
fn body(element: &str, expr: &str) -> String {
    let mut sources = Sources::default();
    let root = sources.add("types.itp", format!("{PRELUDE}tensor t: {element}[x: 0..100] = {expr}\n"));
    let mut diagnostics = Diagnostics::default();
    let Some(program) = compile::compile(&mut sources, root, &NoFiles, &Options::default(), &mut diagnostics)
    else {
        return diagnostics.into_sorted().iter().map(|error| error.code.id()).collect::<Vec<_>>().join(" ");
    };
    let text = print::print(&program.graph, Some("t"));
    text.lines().skip(1).map(str::trim).collect::<Vec<_>>().join("; ")
}

#[track_caller]
fn check(element: &str, expr: &str, expect: &str) {
    assert_eq!(body(element, expr), expect, "{element}: {expr}");
}

#[test]
fn weak_integers_run_in_i64_and_are_converted_as_a_whole() {
    check("i64", "x + 1", "v0: i64 = x; v1: i64 = 1; v2: i64 = add v0 v1; yield v2");
    check("u8", "x + 1", "v0: i64 = x; v1: i64 = 1; v2: i64 = add v0 v1; v3: u8 = cast v2; yield v3");
    check("f32", "x + 1", "v0: i64 = x; v1: i64 = 1; v2: i64 = add v0 v1; v3: f32 = cast v2; yield v3");
    check(
        "f64",
        "x * 3 + 1",
        "v0: i64 = x; v1: i64 = 3; v2: i64 = mul v0 v1; v3: i64 = 1; v4: i64 = add v2 v3; v5: f64 = cast v4; yield v5",
    );
    check("f32", "7 // 2", "v0: i64 = 3; v1: f32 = cast v0; yield v1");
    check("bool", "x > 3", "v0: i64 = x; v1: i64 = 3; v2: bool = gt v0 v1; yield v2");
    check("u8", "300", "v0: u8 = 44; yield v0");
    check("f32", "0xffffffffffffffff", "v0: i64 = -1; v1: f32 = cast v0; yield v1");
    check("u8", "u[x] + 1", "v0: i64 = x; v1: u8 = read t0[v0]; v2: u8 = 1; v3: u8 = add v1 v2; yield v3");
    check("u8", "u[x] + 300", "v0: i64 = x; v1: u8 = read t0[v0]; v2: u8 = 44; v3: u8 = add v1 v2; yield v3");
    check(
        "u8",
        "u[x] + (x + 1)",
        "v0: i64 = x; v1: i64 = 1; v2: u8 = read t0[v0]; v3: i64 = add v0 v1; v4: u8 = cast v3; v5: u8 = add v2 v4; yield v5",
    );
    check(
        "u8",
        "(x + 1) * u[x]",
        "v0: i64 = x; v1: i64 = 1; v2: i64 = add v0 v1; v3: u8 = read t0[v0]; v4: u8 = cast v2; v5: u8 = mul v4 v3; yield v5",
    );
    check(
        "i32",
        "s[x] - x",
        "v0: i64 = x; v1: i32 = read t1[v0]; v2: i32 = cast v0; v3: i32 = sub v1 v2; yield v3",
    );
    check(
        "f32",
        "f[x] + x * x",
        "v0: i64 = x; v1: f32 = read t3[v0]; v2: i64 = mul v0 v0; v3: f32 = cast v2; v4: f32 = add v1 v3; yield v4",
    );
}

#[test]
fn division() {
    check("f32", "x / 2", "v0: i64 = x; v1: f32 = cast v0; v2: f32 = 2.0; v3: f32 = div v1 v2; yield v3");
    check("f64", "x / 2", "v0: i64 = x; v1: f64 = cast v0; v2: f64 = 2.0; v3: f64 = div v1 v2; yield v3");
    check(
        "f16",
        "x / 2",
        "v0: i64 = x; v1: f32 = cast v0; v2: f32 = 2.0; v3: f32 = div v1 v2; v4: f32 = f16 v3; yield v4",
    );
    check("i32", "x / 2", "E0404");
    check("u8", "u[x] / 2", "E0402");
    check("i32", "s[x] / s[x]", "E0402");
    check(
        "f32",
        "x / 2 + f[x]",
        "v0: i64 = x; v1: f32 = cast v0; v2: f32 = 2.0; v3: f32 = div v1 v2; v4: f32 = read t3[v0]; v5: f32 = add v3 v4; yield v5",
    );
    check(
        "f64",
        "x / 2 + d[x]",
        "v0: i64 = x; v1: f64 = cast v0; v2: f64 = 2.0; v3: f64 = div v1 v2; v4: f64 = read t4[v0]; v5: f64 = add v3 v4; yield v5",
    );
    check(
        "bool",
        "x / 2 > 1",
        "v0: i64 = x; v1: f32 = cast v0; v2: f32 = 2.0; v3: f32 = div v1 v2; v4: f32 = 1.0; v5: bool = gt v3 v4; yield v5",
    );
    check(
        "f32",
        "f[x] / 2",
        "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = 2.0; v3: f32 = div v1 v2; yield v3",
    );
    check("i32", "x // 2", "v0: i64 = x; v1: i64 = 2; v2: i64 = floordiv v0 v1; v3: i32 = cast v2; yield v3");
    check(
        "i32",
        "s[x] // 2",
        "v0: i64 = x; v1: i32 = read t1[v0]; v2: i32 = 2; v3: i32 = floordiv v1 v2; yield v3",
    );
    check(
        "f32",
        "f[x] // 2",
        "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = 2.0; v3: f32 = floordiv v1 v2; yield v3",
    );
    check("f32", "x % 3", "v0: i64 = x; v1: i64 = 3; v2: i64 = rem v0 v1; v3: f32 = cast v2; yield v3");
    check(
        "f32",
        "x / 2 % 1",
        "v0: i64 = x; v1: f32 = cast v0; v2: f32 = 2.0; v3: f32 = div v1 v2; v4: f32 = 1.0; v5: f32 = rem v3 v4; yield v5",
    );
}

#[test]
fn weak_floats_take_the_type_they_meet() {
    check("f32", "0.1", "v0: f32 = 0.1; yield v0");
    check("f64", "0.1", "v0: f64 = 0.1; yield v0");
    check("f16", "0.1", "v0: f32 = 0.1; v1: f32 = f16 v0; yield v1");
    check(
        "f64",
        "f64(f[x] * 0.1)",
        "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = 0.1; v3: f32 = mul v1 v2; v4: f64 = cast v3; yield v4",
    );
    check(
        "f64",
        "d[x] * 0.1",
        "v0: i64 = x; v1: f64 = read t4[v0]; v2: f64 = 0.1; v3: f64 = mul v1 v2; yield v3",
    );
    check("u8", "u[x] * 0.5", "E0402");
    check("u8", "0.5", "E0404");
    check("i64", "x * 0.5", "E0404");
    check("f32", "1 + 0.5", "v0: f32 = 0.5; v1: f32 = 1.0; v2: f32 = add v1 v0; yield v2");
    check(
        "u8",
        "u8(0.5 + x)",
        "v0: i64 = x; v1: f32 = 0.5; v2: f32 = cast v0; v3: f32 = add v1 v2; v4: u8 = cast v3; yield v4",
    );
}

#[test]
fn strong_types_never_mix() {
    check("f32", "f[x] + u[x]", "E0401");
    check("f64", "f[x] + d[x]", "E0401");
    check("f32", "f[x] + d[x]", "E0401");
    check("u8", "s[x]", "E0404");
    check("f32", "s[x]", "E0404");
    check("f64", "f[x]", "E0404");
    check("f32", "f[x]", "v0: i64 = x; v1: f32 = read t3[v0]; yield v1");
    check("i32", "u[x] + s[x]", "E0401");
    check("f32", "m[x]", "E0404");
    check("bool", "f[x]", "E0404");
}

#[test]
fn casts() {
    check("f32", "f32(u[x])", "v0: i64 = x; v1: u8 = read t0[v0]; v2: f32 = cast v1; yield v2");
    check("u8", "u8(f[x])", "v0: i64 = x; v1: f32 = read t3[v0]; v2: u8 = cast v1; yield v2");
    check(
        "u8",
        "u8(x / 2)",
        "v0: i64 = x; v1: f32 = cast v0; v2: f32 = 2.0; v3: f32 = div v1 v2; v4: u8 = cast v3; yield v4",
    );
    check("u8", "u8(u[x])", "v0: i64 = x; v1: u8 = read t0[v0]; yield v1");
    check(
        "f64",
        "f64(x / 3)",
        "v0: i64 = x; v1: f64 = cast v0; v2: f64 = 3.0; v3: f64 = div v1 v2; yield v3",
    );
    check(
        "f32",
        "f32(d[x] / 3)",
        "v0: i64 = x; v1: f64 = read t4[v0]; v2: f64 = 3.0; v3: f64 = div v1 v2; v4: f32 = cast v3; yield v4",
    );
    check("f64", "f64(1 / 3)", "v0: f64 = 1.0; v1: f64 = 3.0; v2: f64 = div v0 v1; yield v2");
    check(
        "f32",
        "f32(f64(1 / 3))",
        "v0: f64 = 1.0; v1: f64 = 3.0; v2: f64 = div v0 v1; v3: f32 = cast v2; yield v3",
    );
    check("i64", "i64(u[x])", "v0: i64 = x; v1: u8 = read t0[v0]; v2: i64 = cast v1; yield v2");
    check("u8", "u8(s[x])", "v0: i64 = x; v1: i32 = read t1[v0]; v2: u8 = cast v1; yield v2");
    check("bool", "bool(f[x])", "v0: i64 = x; v1: f32 = read t3[v0]; v2: bool = cast v1; yield v2");
    check("f32", "f32(m[x])", "v0: i64 = x; v1: bool = read t5[v0]; v2: f32 = cast v1; yield v2");
    check("u8", "u8(m[x])", "v0: i64 = x; v1: bool = read t5[v0]; v2: u8 = cast v1; yield v2");
    check("f32", "f16(f[x])", "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = f16 v1; yield v2");
}

#[test]
fn f16_is_stored_and_computes_as_f32() {
    check("f16", "h[x]", "v0: i64 = x; v1: f32 = read t2[v0]; v2: f32 = f16 v1; yield v2");
    check("f32", "h[x]", "v0: i64 = x; v1: f32 = read t2[v0]; yield v1");
    check(
        "f16",
        "h[x] + 1",
        "v0: i64 = x; v1: f32 = read t2[v0]; v2: f32 = 1.0; v3: f32 = add v1 v2; v4: f32 = f16 v3; yield v4",
    );
    check(
        "f16",
        "h[x] * h[x] + h[x]",
        "v0: i64 = x; v1: f32 = read t2[v0]; v2: f32 = fma v1 v1 v1; v3: f32 = f16 v2; yield v3",
    );
    check("f16", "f[x]", "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = f16 v1; yield v2");
    check(
        "f32",
        "h[x] + f[x]",
        "v0: i64 = x; v1: f32 = read t2[v0]; v2: f32 = read t3[v0]; v3: f32 = add v1 v2; yield v3",
    );
    check("f64", "h[x] + d[x]", "E0401");
}

#[test]
fn constants_are_computed_in_f64_and_rounded_at_each_use() {
    check("f32", "third", "v0: f32 = 0.33333334; yield v0");
    check("f64", "third", "v0: f64 = 0.3333333333333333; yield v0");
    check(
        "f64",
        "third * x",
        "v0: i64 = x; v1: f64 = 0.3333333333333333; v2: f64 = cast v0; v3: f64 = mul v1 v2; yield v3",
    );
    check("u8", "third", "E0404");
    check(
        "f32",
        "third + f[x]",
        "v0: i64 = x; v1: f32 = 0.33333334; v2: f32 = read t3[v0]; v3: f32 = add v1 v2; yield v3",
    );
    check("f64", "gain", "E0404");
    check("f32", "gain", "v0: f32 = 0.1; yield v0");
    check("f64", "f64(gain)", "v0: f32 = 0.1; v1: f64 = cast v0; yield v1");
    check("f32", "tenth", "v0: f32 = 0.1; yield v0");
    check("f64", "tenth", "v0: f64 = 0.1; yield v0");
    check("u8", "u[x] + tenth", "E0402");
    check(
        "u8",
        "u[x] + count",
        "v0: i64 = x; v1: u8 = read t0[v0]; v2: u8 = 7; v3: u8 = add v1 v2; yield v3",
    );
    check("f32", "count / 2", "v0: f32 = 7.0; v1: f32 = 2.0; v2: f32 = div v0 v1; yield v2");
    check("f32", "eps", "v0: f32 = 1.0000001e-9; yield v0");
    check(
        "f32",
        "(1 + 1e-9) - 1",
        "v0: f32 = 1e-9; v1: f32 = 1.0; v2: f32 = add v1 v0; v3: f32 = sub v2 v1; yield v3",
    );
    check("i64", "big", "v0: i64 = 4611686018427387904; yield v0");
    check("f32", "big", "v0: i64 = 4611686018427387904; v1: f32 = cast v0; yield v1");
}

#[test]
fn weakness_passes_through_lets_and_functions() {
    check(
        "f64",
        "{ let a = x / 3; f64(f32(a)) + a }",
        "v0: i64 = x; v1: f32 = cast v0; v2: f32 = 3.0; v3: f32 = div v1 v2; v4: f64 = cast v0; v5: f64 = 3.0; v6: f64 = div v4 v5; v7: f64 = cast v3; v8: f64 = add v7 v6; yield v8",
    );
    check(
        "f32",
        "{ let a = 0.1; f[x] * a + f32(d[x] * a) }",
        "v0: i64 = x; v1: f32 = 0.1; v2: f64 = 0.1; v3: f32 = read t3[v0]; v4: f64 = read t4[v0]; v5: f64 = mul v4 v2; v6: f32 = cast v5; v7: f32 = fma v3 v1 v6; yield v7",
    );
    check(
        "u8",
        "{ let a = x + 1; u[x] + a }",
        "v0: i64 = x; v1: i64 = 1; v2: i64 = add v0 v1; v3: u8 = read t0[v0]; v4: u8 = cast v2; v5: u8 = add v3 v4; yield v5",
    );
    check("f32", "twice(x)", "v0: i64 = x; v1: i64 = add v0 v0; v2: f32 = cast v1; yield v2");
    check("f32", "twice(f[x])", "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = add v1 v1; yield v2");
    check("u8", "twice(u[x])", "v0: i64 = x; v1: u8 = read t0[v0]; v2: u8 = add v1 v1; yield v2");
    check("f64", "tenths(x)", "v0: i64 = x; v1: f64 = 0.1; v2: f64 = cast v0; v3: f64 = mul v2 v1; yield v3");
    check(
        "f32",
        "tenths(f[x])",
        "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = 0.1; v3: f32 = mul v1 v2; yield v3",
    );
    check("u8", "tenths(u[x])", "E0402");
    check("f32", "typed(x)", "v0: i64 = x; v1: f32 = cast v0; yield v1");
    check("f32", "typed(u[x])", "E0407");
    check("f64", "f64(typed(0.1))", "v0: f32 = 0.1; v1: f64 = cast v0; yield v1");
    check("u8", "promised(x)", "v0: i64 = x; v1: u8 = cast v0; yield v1");
    check("u8", "promised(x / 2)", "E0407");
    check(
        "f32",
        "f[x] + third * tenths(1)",
        "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = 0.33333334; v3: f32 = 0.1; v4: f32 = 1.0; v5: f32 = mul v4 v3; v6: f32 = fma v2 v5 v1; yield v6",
    );
}

#[test]
fn comparisons() {
    check("bool", "x == 3", "v0: i64 = x; v1: i64 = 3; v2: bool = eq v0 v1; yield v2");
    check("bool", "u[x] < 3", "v0: i64 = x; v1: u8 = read t0[v0]; v2: u8 = 3; v3: bool = lt v1 v2; yield v3");
    check("bool", "u[x] < 3.5", "E0402");
    check(
        "bool",
        "f[x] < x",
        "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = cast v0; v3: bool = lt v1 v2; yield v3",
    );
    check(
        "bool",
        "f[x] < 0.1",
        "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = 0.1; v3: bool = lt v1 v2; yield v3",
    );
    check(
        "bool",
        "d[x] < 0.1",
        "v0: i64 = x; v1: f64 = read t4[v0]; v2: f64 = 0.1; v3: bool = lt v1 v2; yield v3",
    );
    check("bool", "f[x] < d[x]", "E0401");
    check(
        "bool",
        "m[x] == m[x + 1]",
        "v0: i64 = x; v1: i64 = 1; v2: bool = read t5[v0]; v3: i64 = add v0 v1; v4: bool = read t5[v3]; v5: bool = eq v2 v4; yield v5",
    );
    check("bool", "m[x] < m[x + 1]", "E0403");
    check("bool", "m[x] == 1", "E0403");
    check("bool", "0.1 < 0.2", "v0: f32 = 0.1; v1: f32 = 0.2; v2: bool = lt v0 v1; yield v2");
    check(
        "f64",
        "if 0.1 < 0.2 then d[x] else 0",
        "v0: i64 = x; v1: f64 = 0.1; v2: f64 = 0.2; v3: bool = lt v1 v2; v4: f64 = read t4[v0]; v5: f64 = 0.0; v6: f64 = select v3 v4 v5; yield v6",
    );
}

#[test]
fn logic_and_bits() {
    check(
        "bool",
        "m[x] and not m[x + 1] or m[x]",
        "v0: i64 = x; v1: i64 = 1; v2: bool = read t5[v0]; v3: i64 = add v0 v1; v4: bool = read t5[v3]; v5: bool = not v4; v6: bool = and v2 v5; v7: bool = or v6 v2; yield v7",
    );
    check(
        "bool",
        "m[x] & m[x + 1] | m[x] ^ m[x]",
        "v0: i64 = x; v1: i64 = 1; v2: bool = read t5[v0]; v3: i64 = add v0 v1; v4: bool = read t5[v3]; v5: bool = and v2 v4; v6: bool = xor v2 v2; v7: bool = or v5 v6; yield v7",
    );
    check(
        "u8",
        "u[x] & 15 | 1",
        "v0: i64 = x; v1: u8 = read t0[v0]; v2: u8 = 15; v3: u8 = and v1 v2; v4: u8 = 1; v5: u8 = or v3 v4; yield v5",
    );
    check("u8", "u[x] and 1", "E0403");
    check("bool", "not u[x]", "E0403");
    check(
        "u8",
        "u[x] << 2 >> x",
        "v0: i64 = x; v1: u8 = read t0[v0]; v2: u8 = 2; v3: u8 = shl v1 v2; v4: u8 = cast v0; v5: u8 = shr v3 v4; yield v5",
    );
    check("u8", "f[x] << 2", "E0407");
    check("i64", "x << 2", "v0: i64 = x; v1: i64 = 2; v2: i64 = shl v0 v1; yield v2");
    check("f32", "m[x] + 1", "E0403");
}

#[test]
fn alternatives_unify() {
    check(
        "u8",
        "min(u[x], 3)",
        "v0: i64 = x; v1: u8 = read t0[v0]; v2: u8 = 3; v3: u8 = min v1 v2; yield v3",
    );
    check(
        "f32",
        "min(f[x], 0.1)",
        "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = 0.1; v3: f32 = min v1 v2; yield v3",
    );
    check(
        "f32",
        "max(x, 1, 2.5)",
        "v0: i64 = x; v1: f32 = 2.5; v2: f32 = cast v0; v3: f32 = 1.0; v4: f32 = max v2 v3; v5: f32 = max v4 v1; yield v5",
    );
    check("u8", "min(u[x], 0.5)", "E0402");
    check("u8", "max(u[x], s[x])", "E0401");
    check(
        "u8",
        "clamp(u[x], 1, x)",
        "v0: i64 = x; v1: u8 = read t0[v0]; v2: u8 = 1; v3: u8 = max v1 v2; v4: u8 = cast v0; v5: u8 = min v3 v4; yield v5",
    );
    check(
        "f32",
        "clamp(x, 0, 1)",
        "v0: i64 = x; v1: i64 = 0; v2: i64 = 1; v3: i64 = max v0 v1; v4: i64 = min v3 v2; v5: f32 = cast v4; yield v5",
    );
    check(
        "f32",
        "clamp(x / 2, 0, 1)",
        "v0: i64 = x; v1: f32 = cast v0; v2: f32 = 2.0; v3: f32 = div v1 v2; v4: f32 = 0.0; v5: f32 = max v3 v4; v6: f32 = 1.0; v7: f32 = min v5 v6; yield v7",
    );
    check(
        "f32",
        "select(x > 0, f[x], 0)",
        "v0: i64 = x; v1: i64 = 0; v2: bool = gt v0 v1; v3: f32 = read t3[v0]; v4: f32 = 0.0; v5: f32 = select v2 v3 v4; yield v5",
    );
    check(
        "u8",
        "if m[x] then u[x] else 3",
        "v0: i64 = x; v1: bool = read t5[v0]; v2: u8 = read t0[v0]; v3: u8 = 3; v4: u8 = select v1 v2 v3; yield v4",
    );
    check(
        "f32",
        "if m[x] then 1 else 0.5",
        "v0: i64 = x; v1: bool = read t5[v0]; v2: f32 = 0.5; v3: f32 = 1.0; v4: f32 = select v1 v3 v2; yield v4",
    );
    check("u8", "if m[x] then u[x] else 0.5", "E0402");
    check("f32", "if m[x] then u[x] else f[x]", "E0401");
    check(
        "bool",
        "if m[x] then m[x + 1] else x > 3",
        "v0: i64 = x; v1: i64 = 1; v2: bool = read t5[v0]; v3: i64 = add v0 v1; v4: bool = read t5[v3]; v5: i64 = 3; v6: bool = gt v0 v5; v7: bool = select v2 v4 v6; yield v7",
    );
    check("f32", "if m[x] then m[x] else 1", "E0403");
    check("f32", "if x then 1 else 2", "E0403");
}

#[test]
fn reductions() {
    check(
        "u8",
        "sum(i in 0..4) u[x + i]",
        "v0: i64 = x; v1: i64 = i; v2: i64 = add v0 v1; v3: u8 = read t0[v2]; v4: u8 = sum(i in 0..4) v3; yield v4",
    );
    check("f32", "sum(i in 0..4) i", "v0: i64 = i; v1: i64 = sum(i in 0..4) v0; v2: f32 = cast v1; yield v2");
    check(
        "i64",
        "sum(i in 0..4) x * i",
        "v0: i64 = x; v1: i64 = i; v2: i64 = mul v0 v1; v3: i64 = sum(i in 0..4) v2; yield v3",
    );
    check(
        "f32",
        "sum(i in 0..4) f[x + i] * 0.1",
        "v0: i64 = x; v1: i64 = i; v2: i64 = add v0 v1; v3: f32 = read t3[v2]; v4: f32 = 0.1; v5: f32 = mul v3 v4; v6: f32 = sum(i in 0..4) v5; yield v6",
    );
    check(
        "f32",
        "mean(i in 0..4) f[x + i]",
        "v0: i64 = x; v1: i64 = i; v2: i64 = add v0 v1; v3: f32 = read t3[v2]; v4: f32 = sum(i in 0..4) v3; v5: f32 = 4.0; v6: f32 = div v4 v5; yield v6",
    );
    check(
        "f32",
        "mean(i in 0..4) x + i",
        "v0: i64 = x; v1: i64 = i; v2: i64 = add v0 v1; v3: f32 = cast v2; v4: f32 = sum(i in 0..4) v3; v5: f32 = 4.0; v6: f32 = div v4 v5; yield v6",
    );
    check("u8", "mean(i in 0..4) u[x + i]", "E0408");
    check(
        "f32",
        "mean(i in 0..4, j in 0..3) f[x + i + j]",
        "v0: i64 = x; v1: i64 = i; v2: i64 = j; v3: i64 = add v0 v1; v4: i64 = add v3 v2; v5: f32 = read t3[v4]; v6: f32 = sum(i in 0..4, j in 0..3) v5; v7: f32 = 12.0; v8: f32 = div v6 v7; yield v8",
    );
    check(
        "u8",
        "max(i in 0..4) u[x + i]",
        "v0: i64 = x; v1: i64 = i; v2: i64 = add v0 v1; v3: u8 = read t0[v2]; v4: u8 = max(i in 0..4) v3; yield v4",
    );
    check(
        "bool",
        "any(i in 0..4) m[x + i]",
        "v0: i64 = x; v1: i64 = i; v2: i64 = add v0 v1; v3: bool = read t5[v2]; v4: bool = any(i in 0..4) v3; yield v4",
    );
    check("bool", "any(i in 0..4) u[x + i]", "E0403");
    check("u8", "sum(i in 0..4) m[x + i]", "E0403");
    check(
        "i64",
        "argmin(i in 0..4) f[x + i]",
        "v0: i64 = x; v1: i64 = i; v2: i64 = add v0 v1; v3: f32 = read t3[v2]; v4: i64 = argmin(i in 0..4) v3; yield v4",
    );
    check(
        "u8",
        "argmax(i in 0..4) u[x + i]",
        "v0: i64 = x; v1: i64 = i; v2: i64 = add v0 v1; v3: u8 = read t0[v2]; v4: i64 = argmax(i in 0..4) v3; v5: u8 = cast v4; yield v5",
    );
    check(
        "u8",
        "u[x] + (argmax(i in 0..4) f[x + i])",
        "v0: i64 = x; v1: u8 = read t0[v0]; v2: i64 = i; v3: i64 = add v0 v2; v4: f32 = read t3[v3]; v5: i64 = argmax(i in 0..4) v4; v6: u8 = cast v5; v7: u8 = add v1 v6; yield v7",
    );
    check(
        "f32",
        "product(i in 1..4) i / 2",
        "v0: i64 = i; v1: f32 = cast v0; v2: f32 = 2.0; v3: f32 = div v1 v2; v4: f32 = product(i in 1..4) v3; yield v4",
    );
}

#[test]
fn functions() {
    check("f32", "abs(f[x])", "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = abs v1; yield v2");
    check("u8", "abs(u[x])", "v0: i64 = x; v1: u8 = read t0[v0]; v2: u8 = abs v1; yield v2");
    check("i64", "abs(x)", "v0: i64 = x; v1: i64 = abs v0; yield v1");
    check("f32", "sign(x)", "v0: i64 = x; v1: i64 = sign v0; v2: f32 = cast v1; yield v2");
    check("f32", "sqrt(x)", "v0: i64 = x; v1: f32 = cast v0; v2: f32 = sqrt v1; yield v2");
    check("f64", "sqrt(d[x])", "v0: i64 = x; v1: f64 = read t4[v0]; v2: f64 = sqrt v1; yield v2");
    check("f32", "sqrt(u[x])", "E0407");
    check(
        "f32",
        "floor(x / 2)",
        "v0: i64 = x; v1: f32 = cast v0; v2: f32 = 2.0; v3: f32 = div v1 v2; v4: f32 = floor v3; yield v4",
    );
    check("i64", "floor(x / 2)", "E0404");
    check(
        "f32",
        "pow(f[x], 0.5)",
        "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = 0.5; v3: f32 = pow v1 v2; yield v3",
    );
    check(
        "f64",
        "pow(d[x], 0.1)",
        "v0: i64 = x; v1: f64 = read t4[v0]; v2: f64 = 0.1; v3: f64 = pow v1 v2; yield v3",
    );
    check(
        "f32",
        "atan2(f[x], 1)",
        "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = 1.0; v3: f32 = atan2 v1 v2; yield v3",
    );
    check("f32", "sin(m[x])", "E0407");
    check(
        "f32",
        "fract(f[x])",
        "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = floor v1; v3: f32 = sub v1 v2; yield v3",
    );
    check(
        "f32",
        "lerp(f[x], 1, 0.25)",
        "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = 0.25; v3: f32 = 1.0; v4: f32 = sub v3 v1; v5: f32 = fma v4 v2 v1; yield v5",
    );
    check(
        "f32",
        "fma(f[x], 2, 1)",
        "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = 2.0; v3: f32 = 1.0; v4: f32 = fma v1 v2 v3; yield v4",
    );
}

#[test]
fn bits_of_floats() {
    check("u32", "bits(f[x])", "v0: i64 = x; v1: f32 = read t3[v0]; v2: u32 = bits v1; yield v2");
    check("u64", "bits(d[x])", "v0: i64 = x; v1: f64 = read t4[v0]; v2: u64 = bits v1; yield v2");
    check("u32", "bits(0.5)", "v0: f32 = 0.5; v1: u32 = bits v0; yield v1");
    check("u32", "bits(x)", "v0: i64 = x; v1: f32 = cast v0; v2: u32 = bits v1; yield v2");
    check("u64", "u64(bits(0.5))", "v0: f32 = 0.5; v1: u32 = bits v0; v2: u64 = cast v1; yield v2");
    check(
        "f64",
        "d[x] + (if bits(0.5) > 3 then 0.5 else 0.25)",
        "v0: i64 = x; v1: f64 = read t4[v0]; v2: f64 = 0.5; v3: u64 = bits v2; v4: u64 = 3; v5: bool = gt v3 v4; v6: f64 = 0.25; v7: f64 = select v5 v2 v6; v8: f64 = add v1 v7; yield v8",
    );
    check(
        "f32",
        "f32(d[x] + (if bits(x) > 3 then 0.5 else 0.25))",
        "v0: i64 = x; v1: f64 = read t4[v0]; v2: f32 = cast v0; v3: u32 = bits v2; v4: u32 = 3; v5: bool = gt v3 v4; v6: f64 = 0.5; v7: f64 = 0.25; v8: f64 = select v5 v6 v7; v9: f64 = add v1 v8; v10: f32 = cast v9; yield v10",
    );
    check("u32", "bits(u[x])", "E0407");
    check("f32", "float_bits(u32(x))", "v0: i64 = x; v1: u32 = cast v0; v2: f32 = float_bits v1; yield v2");
    check("f64", "float_bits(u64(x))", "v0: i64 = x; v1: u64 = cast v0; v2: f64 = float_bits v1; yield v2");
    check("f32", "float_bits(x)", "v0: i64 = x; v1: u32 = cast v0; v2: f32 = float_bits v1; yield v2");
    check("f64", "float_bits(x)", "v0: i64 = x; v1: u64 = cast v0; v2: f64 = float_bits v1; yield v2");
    check("f32", "float_bits(u[x])", "E0407");
    check("u8", "popcount(u[x])", "v0: i64 = x; v1: u8 = read t0[v0]; v2: u8 = popcount v1; yield v2");
    check("u8", "popcount(f[x])", "E0407");
}

#[test]
fn hash_and_rand() {
    check("u32", "hash(x, 3)", "v0: i64 = x; v1: i64 = 3; v2: u32 = hash v0 v1; yield v2");
    check(
        "u32",
        "hash(u[x])",
        "v0: i64 = x; v1: u8 = read t0[v0]; v2: i64 = cast v1; v3: u32 = hash v2; yield v3",
    );
    check("u8", "hash(x)", "E0404");
    check("f32", "hash(x)", "E0404");
    check("u32", "hash(f[x])", "E0407");
    check(
        "f32",
        "rand(x)",
        "v0: i64 = x; v1: u32 = hash v0; v2: u32 = 8; v3: u32 = shr v1 v2; v4: f32 = cast v3; v5: f32 = 5.9604645e-8; v6: f32 = mul v4 v5; yield v6",
    );
    check(
        "f64",
        "rand(x)",
        "v0: i64 = x; v1: u32 = hash v0; v2: u32 = 8; v3: u32 = shr v1 v2; v4: f64 = cast v3; v5: f64 = 5.960464477539063e-8; v6: f64 = mul v4 v5; yield v6",
    );
    check(
        "f64",
        "d[x] + rand(x)",
        "v0: i64 = x; v1: f64 = read t4[v0]; v2: u32 = hash v0; v3: u32 = 8; v4: u32 = shr v2 v3; v5: f64 = cast v4; v6: f64 = 5.960464477539063e-8; v7: f64 = fma v5 v6 v1; yield v7",
    );
    check("u8", "rand(x)", "E0404");
}

#[test]
fn coordinates_are_integers_of_any_type() {
    check(
        "f32",
        "f[u[x]]",
        "v0: i64 = x; v1: u8 = read t0[v0]; v2: i64 = cast v1; v3: f32 = read t3[v2]; yield v3",
    );
    check("f32", "f[s[x]]", "E0501");
    check(
        "f32",
        "f[x + u[x]]",
        "v0: i64 = x; v1: u8 = read t0[v0]; v2: u8 = cast v0; v3: u8 = add v2 v1; v4: i64 = cast v3; v5: f32 = read t3[v4]; yield v5",
    );
    check("f32", "f[x / 2]", "E0406");
    check(
        "f32",
        "f[i64(x / 2) - i64(x / 2)]",
        "v0: i64 = x; v1: f32 = cast v0; v2: f32 = 2.0; v3: f32 = div v1 v2; v4: i64 = cast v3; v5: i64 = sub v4 v4; v6: f32 = read t3[v5]; yield v6",
    );
}

#[test]
fn products_in_sums_are_contracted() {
    check(
        "f32",
        "f[x] * 2 + 1",
        "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = 2.0; v3: f32 = 1.0; v4: f32 = fma v1 v2 v3; yield v4",
    );
    check(
        "f32",
        "1 + f[x] * 2",
        "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = 2.0; v3: f32 = 1.0; v4: f32 = fma v1 v2 v3; yield v4",
    );
    check(
        "f32",
        "f[x] * 2 - 1",
        "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = 2.0; v3: f32 = 1.0; v4: f32 = -1.0; v5: f32 = fma v1 v2 v4; yield v5",
    );
    check(
        "f32",
        "1 - f[x] * 2",
        "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = 2.0; v3: f32 = 1.0; v4: f32 = neg v1; v5: f32 = fma v4 v2 v3; yield v5",
    );
    check(
        "f32",
        "f[x] * 2 + f[x + 1] * 3",
        "v0: i64 = x; v1: i64 = 1; v2: f32 = read t3[v0]; v3: f32 = 2.0; v4: i64 = add v0 v1; v5: f32 = read t3[v4]; v6: f32 = 3.0; v7: f32 = mul v5 v6; v8: f32 = fma v2 v3 v7; yield v8",
    );
    check(
        "f32",
        "f[x] * 2 - f[x + 1] * 3",
        "v0: i64 = x; v1: i64 = 1; v2: f32 = read t3[v0]; v3: f32 = 2.0; v4: i64 = add v0 v1; v5: f32 = read t3[v4]; v6: f32 = 3.0; v7: f32 = mul v5 v6; v8: f32 = neg v7; v9: f32 = fma v2 v3 v8; yield v9",
    );
    check(
        "f32",
        "f[x] * f[x + 1] + f[x + 2] - f[x] * f[x]",
        "v0: i64 = x; v1: i64 = 1; v2: f32 = read t3[v0]; v3: i64 = add v0 v1; v4: f32 = read t3[v3]; v5: i64 = 2; v6: i64 = add v0 v5; v7: f32 = read t3[v6]; v8: f32 = fma v2 v4 v7; v9: f32 = neg v2; v10: f32 = fma v9 v2 v8; yield v10",
    );
    check(
        "i64",
        "x * 2 + 1",
        "v0: i64 = x; v1: i64 = 2; v2: i64 = mul v0 v1; v3: i64 = 1; v4: i64 = add v2 v3; yield v4",
    );
    check(
        "u8",
        "u[x] * 2 + 1",
        "v0: i64 = x; v1: u8 = read t0[v0]; v2: u8 = 2; v3: u8 = mul v1 v2; v4: u8 = 1; v5: u8 = add v3 v4; yield v5",
    );
    check(
        "f32",
        "x * 2 + 1",
        "v0: i64 = x; v1: i64 = 2; v2: i64 = mul v0 v1; v3: i64 = 1; v4: i64 = add v2 v3; v5: f32 = cast v4; yield v5",
    );
    check(
        "f32",
        "x / 2 * 3 + 1",
        "v0: i64 = x; v1: f32 = cast v0; v2: f32 = 2.0; v3: f32 = div v1 v2; v4: f32 = 3.0; v5: f32 = 1.0; v6: f32 = fma v3 v4 v5; yield v6",
    );
}

#[test]
fn powers() {
    check("i64", "x ** 2", "v0: i64 = x; v1: i64 = 2; v2: i64 = pow v0 v1; yield v2");
    check("u8", "u[x] ** 2", "v0: i64 = x; v1: u8 = read t0[v0]; v2: u8 = 2; v3: u8 = pow v1 v2; yield v3");
    check("f32", "f[x] ** 2", "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = mul v1 v1; yield v2");
    check(
        "f32",
        "f[x] ** 2 + 1",
        "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = 1.0; v3: f32 = fma v1 v1 v2; yield v3",
    );
    check(
        "f32",
        "f[x] ** -1",
        "v0: i64 = x; v1: i64 = 1; v2: f32 = read t3[v0]; v3: f32 = cast v1; v4: f32 = div v3 v2; yield v4",
    );
    check("f32", "f[x] ** 0", "v0: i64 = 1; v1: f32 = cast v0; yield v1");
    check(
        "f32",
        "f[x] ** 0.5",
        "v0: i64 = x; v1: f32 = read t3[v0]; v2: f32 = 0.5; v3: f32 = pow v1 v2; yield v3",
    );
    check("f32", "x ** 2", "v0: i64 = x; v1: i64 = 2; v2: i64 = pow v0 v1; v3: f32 = cast v2; yield v3");
    check(
        "f32",
        "(x / 2) ** 3",
        "v0: i64 = x; v1: f32 = cast v0; v2: f32 = 2.0; v3: f32 = div v1 v2; v4: f32 = mul v3 v3; v5: f32 = mul v3 v4; yield v5",
    );
    check("i64", "2 ** 3 ** 2", "v0: i64 = 512; yield v0");
    check("i64", "2 ** -1", "v0: i64 = 0; yield v0");
    check("u8", "u[x] ** 0.5", "E0402");
}

#[test]
fn tables() {
    check("f32", "k[0]", "v0: f32 = 0.1; yield v0");
    check("f64", "k[1]", "v0: f64 = 0.5; yield v0");
    check(
        "f32",
        "k[clamp(x, 0, 2)]",
        "v0: i64 = x; v1: i64 = 0; v2: i64 = 2; v3: i64 = max v0 v1; v4: i64 = min v3 v2; v5: f32 = table k[v4]; yield v5",
    );
    check(
        "f64",
        "k[clamp(x, 0, 2)]",
        "v0: i64 = x; v1: i64 = 0; v2: i64 = 2; v3: i64 = max v0 v1; v4: i64 = min v3 v2; v5: f64 = table k[v4]; yield v5",
    );
    check("u8", "k[0]", "E0404");
    check(
        "f32",
        "f[x] * k[clamp(x, 0, 2)]",
        "v0: i64 = x; v1: i64 = 0; v2: f32 = read t3[v0]; v3: i64 = 2; v4: i64 = max v0 v1; v5: i64 = min v4 v3; v6: f32 = table k[v5]; v7: f32 = mul v2 v6; yield v7",
    );
    check(
        "u8",
        "u[x] + ints[clamp(x, 0, 1)]",
        "v0: i64 = x; v1: i64 = 0; v2: i64 = 1; v3: u8 = read t0[v0]; v4: i64 = max v0 v1; v5: i64 = min v4 v2; v6: i64 = table ints[v5]; v7: u8 = cast v6; v8: u8 = add v3 v7; yield v8",
    );
    check("f32", "ints[0] / 3", "v0: f32 = 1.0; v1: f32 = 3.0; v2: f32 = div v0 v1; yield v2");
    check(
        "u8",
        "bytes[clamp(x, 0, 1)]",
        "v0: i64 = x; v1: i64 = 0; v2: i64 = 1; v3: i64 = max v0 v1; v4: i64 = min v3 v2; v5: u8 = table bytes[v4]; yield v5",
    );
    check("f32", "bytes[0]", "E0404");
}
