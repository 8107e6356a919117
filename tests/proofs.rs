//! Reads that stay inside must be accepted, those that can leave must not: one line each.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use itp::compile::{Options, Stage, compile, emit};
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
    let codes = diagnostics.into_sorted().into_iter().map(|diagnostic| diagnostic.code.to_string());
    codes.filter(|code| code.starts_with('E')).collect()
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
        "tensor t: f32[x: inf] = h[(x % 25 + 3) % 20]",
        "tensor t: f32[x: inf] = h[(x % 5 + 3) % 6 + 14]",
        "tensor t: f32[x: inf] = h[(x // 3 + x % 5) % 20]",
        "tensor t: f32[x: inf] = h[((x % 7 + 3) % 5 + x) % 20]",
        "tensor t: f32[x: inf] = h[(2 * (x % 7) + 3 * x) % 20]",
        "tensor t: f32[x: inf] = g[(x % 5 + 3) % 3]",
        "tensor t: f32[x: 6] = h[(x % 5 + 3) % 6]",
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
        "input a: f32[z: 4..inf]\ntensor t: f32[x: inf] = a[max(x + i64(clamp(w[x], -3, 3)), 4)]",
        "input a: f32[z: -inf..9]\ntensor t: f32[x: inf] = a[min(max(x + i64(clamp(w[x], -3, 3)), -99), 8)]",
    ]);
    refused("E0501", &["input a: f32[z: 4..inf]\ntensor t: f32[x: inf] = a[max(x + i64(w[x]), 4)]"]);
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

/// Coordinates lie in ±(2^62 - 2), so `2 * x` never wraps, `4 * x` may: what is compared or divided must not.
#[test]
fn far_coordinates_wrap() {
    let half = "tensor u: f32[x: 3..inf] = 1\ntensor v: f32[x: 0..inf] = 1\n";
    let far = |tensor: &str| format!("{half}{tensor}");
    refused(
        "E0502",
        &[
            "tensor t: f32[x: 0..inf] = h[(x * 2 ** 62) // 2 ** 62]",
            "tensor t: f32[x: 0..40] = h[(x * 2 ** 62) // 2 ** 61]",
            &far("tensor t: f32[x: inf] = v[max(4 * x, 0) - max(-4 * x, 0)]"),
            &far("tensor t: f32[x: inf] = v[(3 * x) // 2]"),
            &far("tensor t: f32[x: 0..inf] = v[(3 * x) // 2 - 1]"),
            &far("tensor t: f32[x: 0..inf] = v[(x * 2 ** 50) // 2]"),
            &far("tensor t: f32[x: 0..inf] = v[x * x]"),
            "tensor t: f32[x: 0..inf] = h[min(3 * x, 20)]",
            "tensor t: f32[x: inf] = h[i64(clamp(f64(4 * x) * 0 + 5, 0, 9)) + min(max(4 * x, -9223372036854775808), 0)]",
        ],
    );
    // Where these wrap, nobody asks; who does is told (see `far_reads_are_checked_again`).
    inside(&[
        &far("tensor t: f32[x: inf] = if 4 * x < 10 then 0 else u[x]"),
        &far("tensor t: f32[x: inf] = v[abs(4 * x)]"),
        &far("tensor t: f32[x: 0..inf] = v[(3 * x) // 2] + v[(7 * x + 3) // 5] + v[(3 * x + 2) % 4]"),
        &far("tensor t: f32[y: 0..inf, x: 0..inf] = v[(3 * x + 5 * y) // 2] + v[(3 * x) // 2 + y]"),
        "tensor t: f32[x: 0..inf] = h[min(3 * x, 19)]",
    ]);
    inside(&[
        "tensor t: f32[x: 0..4] = h[(x * 2 ** 60) // 2 ** 60]",
        &far("tensor t: f32[x: inf] = if 2 * x < 5 then 0 else u[x]"),
        &far("tensor t: f32[x: -1000..1000] = if 4 * x < 10 then 0 else u[x]"),
        &far("tensor t: f32[x: inf] = if x > -1000 and x < 1000 and 4 * x >= 10 then u[x] else 0"),
        &far("tensor t: f32[x: 0..inf] = v[x // 2] + v[4 * x] + v[(2 * x + 1) // 3]"),
        "tensor t: f32[x: inf] = w[(3 * x) // 2] + w[x // 2 - 1 + 2 * (x % 2)]",
        "tensor t: f32[x: 0..13] = h[(3 * x) // 2]",
        "tensor t: f32[x: inf] = if x >= 0 and x < 13 then h[(3 * x) // 2] else 0",
        "tensor t: f32[x: inf] = { let k = i64(clamp(w[x], -5, 5)); if k + 1 >= 0 then h[k + 1] else w[(x + k) // 2] }",
        "tensor t: f32[y: inf] window [256] stride [192] offset [-32] as [i] = if y >= 0 and y < 20 then h[y] else 0",
    ]);
}

/// Quotients and remainders of quotients and remainders, by small numbers and by large ones.
#[test]
fn remainders_of_remainders() {
    inside(&[
        "tensor t: f32[x: inf] = h[x % 40 // 2]",
        "tensor t: f32[x: inf] = h[(x // 3) % 20]",
        "tensor t: f32[x: inf] = h[(x // 3) % 4 + (x // 12) % 16]",
        "tensor t: f32[x: inf] = h[x % 12 // 5 + 17]",
        "tensor t: f32[x: inf] = h[x % 5000 // 250]",
        "tensor t: f32[x: inf] = h[x % 6000 // 3 % 1000 // 50]",
        "tensor t: f32[x: inf] = h[(x // 700) % 20]",
        "tensor t: f32[x: 0..20] = h[x - x % 5000 // 2]",
        "tensor t: f32[x: 0..20] = h[x - x % 7 // 2]",
        "tensor t: f32[y: 0..5, x: 0..40] = h[(x + y) % 7 * 2 + x // 7]",
        "tensor t: f32[x: 0..20] = h[x // 4 * 4 + x % 4]",
        "tensor t: f32[x: 0..20] = h[x // 4 * 4 + 3 - x % 4]",
        "tensor t: f32[x: 0..20] = h[x // 10 * 10 + x % 10 // 5 * 5 + 4 - x % 5]",
        "tensor t: f32[x: inf] = h[x & 31 >> 1]",
        "tensor t: f32[x: inf] = p[x // 48 % 64, x % 48]",
        "tensor t: f32[n: 3072] = p[n // 48, n % 48]",
        "tensor t: f32[n: 3072] = p[n // 96 * 2 + n % 96 // 48, n % 48]",
        "tensor a: f32[x: 0..inf] = 1\ntensor t: f32[x: 0..inf] = a[x - x % 5000 // 2] + a[x - x % 5000]",
        "tensor a: f32[x: 0..6001] = 1\ntensor t: f32[x: 0..12000] = a[x - x % 5000 // 2 - x // 2]",
    ]);
    refused(
        "E0502",
        &[
            "tensor t: f32[x: inf] = h[x % 41 // 2]",
            "tensor t: f32[x: inf] = h[(x // 3) % 21]",
            "tensor t: f32[x: inf] = h[x % 12 // 5 + 18]",
            "tensor t: f32[x: inf] = h[x % 5001 // 250]",
            "tensor t: f32[x: inf] = h[x % 6000 // 3 % 1001 // 50]",
            "tensor t: f32[x: 0..22] = h[x - x % 7 // 2]",
            "tensor t: f32[x: -1..20] = h[x // 4 * 4 + 3 - x % 4]",
            "tensor t: f32[y: 0..5, x: 0..63] = h[(x + y) % 7 * 2 + x // 7]",
            "tensor t: f32[n: 3073] = p[n // 96 * 2 + n % 96 // 48, n % 48]",
            "tensor a: f32[x: 0..inf] = 1\ntensor t: f32[x: 0..inf] = a[x - x % 5000 - 1]",
        ],
    );
}

/// In a windowed body a coordinate is a sum, of which the condition speaks as a whole.
#[test]
fn conditions_in_windows() {
    let head = "input u: f32[x: 10]\ntensor t: f32[y: inf] window [256] stride [192] offset [-32] as [i] = ";
    let odd = "input u: f32[x: 10]\ntensor t: f32[y: inf] window [7] stride [5] offset [3] as [i] = ";
    for head in [head, odd] {
        let with = |body: &str| format!("{head}{body}");
        inside(&[
            &with("if y >= 0 and y < 20 then u[y // 2] else 0"),
            &with("if y >= 0 and y < 10 then u[y] + u[9 - y] else 0"),
            &with("if y >= 0 and y < 19 then u[(y + 1) // 2] else 0"),
            &with("if y > 0 and y <= 40 then u[(y - 1) // 4] + u[(y - 1) % 10] else 0"),
            &with("if y >= 0 and y < 20 then u[y // 2] + u[y // 3 + y % 3] else 0"),
        ]);
        refused(
            "E0502",
            &[
                &with("if y >= 0 and y <= 20 then u[y // 2] else 0"),
                &with("if y >= -1 and y < 20 then u[y // 2] else 0"),
                &with("if y >= 0 and y < 20 then u[(y + 1) // 2] else 0"),
                &with("if y < 20 then u[y // 2] else 0"),
            ],
        );
    }
}

/// Powers and products of coordinates with bounds have bounds.
#[test]
fn powers_and_products() {
    inside(&[
        "tensor t: f32[x: -2..3] = h[x ** 2] + h[x * x] + h[x ** 4] + h[9 + x ** 3]",
        "tensor t: f32[x: 0..5] = h[x ** 2] + h[1 << x] + h[2 ** x] + h[x ** 0]",
        "tensor t: f32[y: 4, x: 7] = h[x * y] + h[(x - 3) * y + 9] + h[abs(x - 3) * y]",
        "tensor t: f32[y: 4, x: 7] = h[max(x, y) * min(x, y)] + h[select(x > y, x * y, y * y)]",
        "tensor t: f32[x: inf] = h[clamp(x, -4, 4) ** 2] + h[clamp(x, 0, 2) ** clamp(x, 0, 4)]",
        "tensor t: f32[x: inf] = w[x ** 3] + w[x * x] + w[x * x * x - x] + w[abs(x) * x]",
    ]);
    refused(
        "E0502",
        &[
            "tensor t: f32[x: -2..3] = h[x ** 3]",
            "tensor t: f32[x: -5..3] = h[x ** 2]",
            "tensor t: f32[x: 0..6] = h[1 << x]",
            "tensor t: f32[y: 5, x: 7] = h[x * y]",
            "tensor t: f32[x: 0..inf] = h[x ** 2]",
            "tensor t: f32[x: 0..inf] = h[min(x ** 2, 19)]",
        ],
    );
}

/// Two slices of one tensor are two promises, though they read the same element.
#[test]
fn slices_are_proven_each() {
    refused("E0502", &["tensor t: f32[x: 20] = h[0:20][x] + h[0:5][x]"]);
}

#[test]
fn unbounded_sums_of_data_wrap() {
    let data = "input d: u64[x: 20]\ninput e: u64[x: 20]\n";
    refused(
        "E0502",
        &[&format!(
            "{data}tensor t: f32[x: 20] = h[5:20][i64(min(max(d[x], u64(5)) + max(e[x], u64(5)), u64(19)))]"
        )],
    );
    refused(
        "E0502",
        &[
            &format!(
                "{data}tensor t: f32[x: 20] = h[5:20][i64(min(sum(i in 0..2) max(d[i], u64(5)), u64(19)))]"
            ),
            "tensor t: f32[x: 1..inf] = h[min(max(x * x, -9), 19)]",
        ],
    );
}

/// Ranges of floats are rounded as the values are: once in a fused product and sum, before a floor in a quotient.
#[test]
fn floats_round_as_their_values() {
    // 10 · 0.1 rounds to 1, but the exact product is just above.
    refused("E0502", &["tensor t: f32[x: 11] = h.translate_to([0])[0:1][i64(ceil(f64(x) * 0.1 - 1.0))]"]);
    refused(
        "E0502",
        &["input q: f32[x: 20]\ntensor t: f32[x: 20] = h[0:5][i64(clamp(q[x], 0, 16777215) // 3355443.0)]"],
    );
}

/// The rest of a division by a float lies between 0 and the divisor whatever is divided; adding may round it to the divisor.
#[test]
fn float_remainders() {
    inside(&[
        "tensor t: f32[x: 0..40000] = h[i64(f32(x) % 19.5)]",
        "tensor t: f32[x: inf] = h[i64(f32(x) % 19.5)]",
        "tensor t: f32[x: inf] = h[i64(w[x] % 19.5)]",
        "tensor t: f32[x: inf] = h[i64(9.0 + w[x] % (f32(x % 9) - 9.0))]",
        "tensor t: f32[x: inf] = h[i64(9.5 + w[x] % (f32(x % 18) - 9.0))]",
    ]);
    refused(
        "E0502",
        &["tensor t: f32[x: inf] = h[i64(w[x] % 20.0)]", "tensor t: f32[x: inf] = h[i64(w[x] % -19.5)]"],
    );
}

/// An implicit bound is not enforced, but what is stored ends there.
#[test]
fn implicit_bounds_of_stored_data() {
    let stored = "input im: f32[y: 0..4*, x: 3]\nvar va: f32[y: 0..4*] = 0\ninput ex: f32[y: 4]\n";
    let with = |tensor: &str| format!("{stored}{tensor}");
    refused(
        "E0502",
        &[
            &with("tensor t: f32[y: 5, x: 3] = im[y, x]"),
            &with("tensor t: f32[y: 5] = va[y]"),
            &with("tensor t: f32[y: 5] = ex.implicit([y])[y]"),
            &with("tensor t: f32[y: 5] = ex.implicit([y])[0:5][y]"),
            &with("view v = ex.implicit([y])[-1:3]\ntensor t: f32[y: 0..3] = v[y - 1]"),
            &with("tensor t: f32[y: 5] = ex.implicit([y]).flip([y])[y]"),
            &with("tensor a: f32[y: 4] = ex[y]\ntensor t: f32[y: 5] = a.implicit([y])[y]"),
            &with("tensor t: f32[y: 8] window [8] as [i] take b = ex.implicit([y]) window [8] = b[i]"),
            &with("tensor t: f32[y: 8] window [8] take b = ex.implicit([y]) window [8] = extern \"f\"(b)"),
            &with("output \"a.npy\" = ex.implicit([y])[0:5]"),
            &with("output \"a.npy\" = im[0:5, :]"),
            &with("set va[0:5] = 1"),
        ],
    );
    inside(&[
        &with("tensor t: f32[y: 4, x: 3] = im[y, x]"),
        &with("tensor t: f32[y: 4] = va[y] + ex.implicit([y])[y]"),
        &with("tensor t: f32[y: 9] = if y < 4 then va[y] else 0"),
        &with("tensor t: f32[y: inf] = va.clamp()[y] + ex.implicit([y]).wrap()[y]"),
        &with("tensor a: f32[y: 0..4*] = y\ntensor t: f32[y: 5] = a[y]"),
        &with("tensor t: f32[y: 4, x: 3] = im.add_dim(c)[0, y, x]"),
        &with("output \"a.npy\" = ex.implicit([y])[0:4]"),
        &with("set va[0:4] = 1"),
    ]);
}

#[test]
fn large_remainders() {
    let big = "input b: f32[x: 10000]\n";
    inside(&[
        &format!("{big}tensor t: f32[x: inf] = b[x % 5000 + 4999]"),
        &format!("{big}tensor t: f32[x: 0..5000] = b[x % 5000 + x]"),
        &format!("{big}tensor t: f32[x: 0..15000] = b[x % 5000 + x // 5000]"),
        &format!("{big}tensor t: f32[y: 100, x: inf] = b[100 * (x % 100) + y] + b[(x + 3 * y) % 10000]"),
        &format!("{big}tensor t: f32[y: 5000, x: inf] = b[x % 5000 + y] + b[(x % 5000 + y) % 7000]"),
    ]);
    refused(
        "E0502",
        &[
            &format!("{big}tensor t: f32[x: 0..15001] = b[x % 5000 + x // 5000 + 4999]"),
            &format!("{big}tensor t: f32[x: 0..5001] = b[x % 5001 + x]"),
        ],
    );
}

#[test]
fn negative_divisors() {
    inside(&[
        "tensor t: f32[x: -39..1] = h[x // -2]",
        "tensor t: f32[x: -38..1] = h[(x - 1) // -2]",
        "tensor t: f32[x: inf] = h[-(x % -20)]",
        "tensor t: f32[x: inf] = w[x // -2] + w[x % -3]",
    ]);
    refused("E0502", &["tensor t: f32[x: -40..1] = h[x // -2]", "tensor t: f32[x: inf] = h[-(x % -21)]"]);
}

#[test]
fn only_the_selected_arm_has_a_value() {
    inside(&[
        "let v = sum(i in 0..5) if i < 2 then g[i] else 0\ntensor t: f32[x: 20] = h[x - v + 3]",
        "let v = if 2 > 1 then 3 else sum(i in 0..9) g[i]\ntensor t: f32[x: 17] = h[x + v]",
    ]);
    refused("E0504", &["let v = sum(i in 0..5) if i < 4 then g[i] else 0\ntensor t: f32[x: 20] = h[x - v]"]);
}

#[test]
fn views_take_maps() {
    let same = "tensor t: f32[y: 64, x: 48] = ";
    inside(&[
        &format!("{same}p.flip({{y: true, x: false}})[y, x] + p.permute({{y: x, x: y}})[x, y]"),
        &format!("{same}p.clamp({{y: true}})[y - 1, x] + p.fill(0, {{x: true}})[y, x + 1]"),
        &format!("{same}p.permute({{0: 1, 1: 0}}).wrap({{x: 2 > 1}})[x + 5, y]"),
        "tensor t: f32[d: 48] = p.diagonal({y: true, x: true}, d)[d]",
        "tensor t: f32[y: 32, x: 96] = p.reshape({y: 32, x: -1})[y, x]",
        "tensor t: f32[y: 64, x: 12, z: 4] = p.reshape({x: 48})[y, 4 * x + z]",
        "tensor t: f32[y: 4, x: 24] = p.permute([x, y]).as_strided({x: 4, y: 24}, {x: 2}, 3)[y, x]",
    ]);
    refused("E0502", &[&format!("{same}p.clamp({{y: true}})[y, x - 1]")]);
    refused("E0606", &[&format!("{same}p.flip({{y: 1}})[y, x]")]);
    refused("E0607", &[&format!("{same}p.permute({{y: x}})[y, x]")]);
}

#[test]
fn lists_leave_dimensions_alone() {
    let same = "tensor t: f32[y: 64, x: 48] = ";
    inside(&[
        &format!("{same}p.flip([_, x])[y, x] + p.permute([_, 1])[y, x] + p.clamp([_, x])[y, x - 9]"),
        "tensor t: f32[y: 64, x: 12, z: 4] = p.reshape([_, 12, 4])[y, x, z]",
        "tensor t: f32[y: 63, x: 2] = p.as_strided([63, 2], [_, 1], 46)[y, x]",
    ]);
    refused(
        "E0606",
        &[
            "tensor t: f32[y: 64, x: 48] = p.reshape([64, 48, _])[y, x, 0]",
            "tensor t: f32[y: 64] = p.clamp()[0:64, 0:64].as_strided([64], [_])[y]",
        ],
    );
    refused("E0607", &[&format!("{same}p.permute([_, 0])[y, x]")]);
}

/// Twelve views of views share their index arithmetic; so does the text of it.
#[test]
fn shared_arithmetic_is_printed_once() {
    let step = |n: i64| {
        format!("view v{n} = v{}[0:{}, 0:{}].mirror().translate_by([1, 1])\n", n - 1, 64 - n, 48 - n)
    };
    let views: String = (1..13).map(step).collect();
    let script = format!("input v0: f32[y: 64, x: 48]\n{views}tensor t: f32[y: inf, x: inf] = v12[y, x]");
    let mut sources = Sources::default();
    let root = sources.add("test.itp", script);
    let options = Options::default();
    let mut diagnostics = Diagnostics::default();
    let text =
        emit(Stage::Access, &mut sources, root, &NoFiles, &options, Default::default(), &mut diagnostics)
            .unwrap();
    assert!(text.len() < 20_000, "{} characters", text.len());
    assert!(text.contains("\n    where "), "{text}");
}

/// Reductions of one range share a variable: what a condition says about one of them says nothing about another.
#[test]
fn conditions_on_one_reduction_do_not_hold_in_another() {
    refused(
        "E0502",
        &[
            "tensor t: f32[x: 9] = { let s = sum(k in 0..5) h[k * 5]; sum(i in 0..5) if i < 3 then s else 0 }",
            "tensor t: f32[x: 9] = { let s = max(k in 0..5) k * 5; sum(i in 0..5) if i < 3 then h[s] else 0 }",
            "tensor t: f32[x: 9] = { let s = max(k in 0..5) k * 5; sum(i in 0..5) if h[i] > 2 and i < 3 then h[s] else 0 }",
        ],
    );
    inside(&[
        "tensor t: f32[x: 9] = { let s = sum(k in 0..5) h[k * 4]; sum(i in 0..5) if i < 3 then s else 0 }",
        "tensor t: f32[x: inf] = if x >= 0 and x < 10 then sum(i in 0..5) (if i < 3 then h[x + 5 * i - 4 * i] else 0) else 0",
        "tensor t: f32[x: inf] = if x >= 0 and x < 10 then h[max(k in 0..5) (k + x)] else 0",
    ]);
}

/// A blend sees two values: what it does with them is proven as well.
#[test]
fn blends() {
    let blend = |expr: &str| {
        format!("tensor t: f32[x: inf] window [4] stride [2] as [i] blend (old, new) => {expr} init 0 = i")
    };
    inside(&[&blend("old + g[clamp(i64(new), 0, 2)]")]);
    refused("E0504", &[&blend("old + g[clamp(i64(new), 0, 3)]"), &blend("old + g[u8(new)]")]);
    refused("E0313", &[&blend("old + h[clamp(i64(new), 0, 9)]"), &blend("old + h.clamp()[i64(new)]")]);
}

/// A condition between constants that does not hold keeps what it guards from happening.
#[test]
fn reads_that_never_happen_are_not_refused() {
    inside(&[
        "tensor t: f32[x: 20] = if 2 < 1 then h[99] else 0",
        "tensor t: f32[x: 20] = if x != x then h[99] else 0",
        "tensor t: f32[x: 20] = if x + 1 > x then 0 else h[x + 1]",
        "tensor t: f32[x: 20] = if x + 1 > x or w[x] > 3 then 0 else h[99]",
        "view v = h.fill(0)[-6:-4]\ntensor t: f32[x: -6..-4] = v[x]",
        "tensor a: f32[z: -2..2, w: -3..6] = 1\nview s = a.fill(-1.5)[-4:2, -6]\ntensor t: f32[x: -4..2] = s[x]",
        "tensor a: f32[z: -2..2, w: -3..6] = 1
         view s = a.fill(-1.5)[-4:2, -6]
         view v = s.pad([1..1], inf).add_dim(n).pad([0..2, 2..0], 0.1)
         tensor t: f32[y: 0..2, x: 0..10] = v[y, x]",
    ]);
    refused(
        "E0502",
        &[
            "tensor t: f32[x: 20] = if 1 < 2 then h[99] else 0",
            "tensor t: f32[x: 20] = if x == x then h[99] else 0",
            "tensor t: f32[x: 20] = if x + 1 > x then h[x + 1] else 0",
            "tensor t: f32[x: 20] = if x + 1 < x and w[x] > 3 then 0 else h[99]",
        ],
    );
}

#[test]
fn a_set_reads_its_own_target_inside() {
    let var = "var c: i32[y: 4, x: 6] = 7";
    let set = |body: &str| format!("{var}\nset c[0:2, :] = {body}");
    inside(&[&set("c[y + 2, x] + c[y, x]"), &set("c[3, 5]")]);
    refused("E0502", &[&set("c[y + 3, x]"), &set("c[y + 1000000000, x]"), &set("c[3 + 40, x]")]);
    refused("E0502", &[&set("c.flip([x])[y, x + 100]")]);
    refused("E0501", &["var d: i32[x: 5] = 0\nset d[0:2] = d[i64(d[x + 1]) * 100000000]"]);
}

#[test]
fn coordinates_end_with_the_index_space() {
    inside(&[
        "tensor t: f32[x: inf] = w[4 * x]",
        "view c = w.stride([4])\ntensor t: f32[x: inf] = c[x]",
        "view c = w.stride([4])\ntensor t: f32[x: 0..inf] = c[x * 1_000_000]",
        "view c = w.translate_by([5])\ntensor t: f32[x: inf] = c[x]",
        "tensor t: f32[x: 2] = w[x * 4611686018427387902]",
        "view c = w.stride([4611686018427387902])\ntensor t: f32[x: -1..2] = c[x]",
        "tensor t: f32[x: 9] = if x < 2 then w[x * 4611686018427387902] else 0",
    ]);
    refused(
        "E0505",
        &[
            "tensor t: f32[x: 3] = w[x * 4611686018427387902]",
            "view c = w.stride([4611686018427387902])\ntensor t: f32[x: 3] = c[x * 4611686018427387902]",
            "view c = w.stride([4611686018427387902])\ntensor t: f32[x: -2..1] = c[x]",
            "view c = w.translate_by([-4611686018427387902])\ntensor t: f32[x: 3] = c[x]",
            "view c = w.flip([x]).stride([4]).translate_by([8])\ntensor t: f32[x: 9] = c[x * (1 << 58)]",
            "tensor t: f32[x: 40] window [4] as [i] take b = w window [4] stride [1 << 60] = b[i]",
        ],
    );
}
