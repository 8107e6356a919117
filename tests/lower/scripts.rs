//! Small scripts for everything that lowering does.

use crate::{check, program};
use itp::graph::body::TensorId;
use itp::loops::lower::lower;

/// Some tensors to read from.
const SOURCES: &str = "
input p: f32[y: inf, x: inf]
input q: f32[y: 0..9, x: 0..13]
input k: i64[y: inf, x: inf]
input u: u8[y: inf, x: inf]
input h: f16[y: inf, x: inf]
input d: f64[y: inf, x: inf]
input line: f32[x: 0..24]
input i: f32[y: inf, x: inf, c: 3]
";

#[track_caller]
fn bodies(scripts: &[&str]) {
    for script in scripts {
        assert!(check(script, &format!("{SOURCES}\n{script}\n")) > 0, "{script}");
    }
}

/// A pointwise tensor with that body for each.
#[track_caller]
fn plain(element: &str, exprs: &[&str]) {
    let scripts: Vec<String> =
        exprs.iter().map(|expr| format!("tensor t: {element}[y: inf, x: inf] = {expr}")).collect();
    bodies(&scripts.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn reads() {
    plain(
        "f32",
        &[
            "p[y, x]",
            "p[y + 1, 2 * x - 3] + p[x, -y]",
            "p[y, 5] + p[3, x] + p[2, 2]",
            "p[y // 2 - 1 + 2 * (y % 2), x // 3]",
            "p[y * y, x] - p[y, x % 7]",
            "p[y - x, y + x]",
            "p[y, -x] * p[-y, 3 * x + y]",
            "q.clamp()[y - 1, x + 2]",
            "f32(u[y, x]) + f32(h[y, x]) + f32(d[y, x])",
        ],
    );
}

/// Rows that divide their coordinates alike share what is made of the quotients.
#[test]
fn cells_of_a_lattice() {
    plain(
        "f32",
        &[
            "{ let f = f32(y) * 0.125; let i = floor(f); rand(i64(i), x) * (f - i) + rand(i64(i) + 1, x) * (1 - f + i) }",
            "rand(y // 8, x // 32) * p[y, x] + rand(y // 8 + 1, x)",
            "rand(y // 9, x) + rand(y // 64, x) * f32(y % 9)",
            "p[y // 8, x] * sqrt(abs(p[y // 8 + 1, x])) + f32(y)",
        ],
    );
}

/// Planes of a few coordinates are made together where they share what they read, and only if all of them are asked for.
#[test]
fn planes_together() {
    let scripts = [
        "tensor t: f32[c: 3, y: inf, x: inf] = p[y, x] / (1 + abs(p[y + 1, x])) * p[c + y, x]",
        "tensor t: f32[c: -1..2, y: inf, x: inf] = p[y, x] * sqrt(abs(p[y, x - 1])) + c",
        "tensor t: f32[c: 3, y: inf, x: inf] = { let s = p[y, x] * p[y, x]; \
             if c == 0 then s else if c == 1 then sqrt(s) else s - p[y, x + 1] }",
        "tensor t: u8[y: inf, c: 4, x: inf] = if c < 2 then u[y, x] // 3 else u[y, x + c]",
        "tensor t: f32[z: 0..2, c: 2, x: inf] = p[0, x] * f32(z) + p[1, x] * f32(c)",
        "tensor t: f32[c: 3, y: 0..9, x: 0..13] = q[y, x] / 3 + q.clamp()[y, x + c]",
    ];
    bodies(&scripts);
    let text = format!("{SOURCES}\n{}\n", scripts[0]);
    let program = program("planes", &text);
    let at = program.graph.tensors.iter().position(|tensor| &*tensor.name == "t").unwrap();
    let lowered = lower(&program.graph, TensorId(at as u32), &program.accesses.tensors[at]).unwrap();
    assert!(lowered.jam.is_some_and(|jam| jam.makes_planes && jam.rows == 3), "{:?}", lowered.jam);
}

/// Channels that lie side by side are made together, in whole boxes as in others.
#[test]
fn channels_together() {
    let scripts = [
        "tensor t: f32[y: inf, x: inf, c: 3] = (i[y, x - 1, c] + i[y, x + 1, c]) / 2",
        "tensor t: f32[y: inf, x: inf, c: 3] = p[y, x] * i[y, x, 2 - c] + f32(c)",
        "tensor t: u8[y: inf, x: inf, c: -1..3] = u8(i[y, x, clamp(c, 0, 2)] * 9) + u[y, x + c]",
        "tensor t: f64[x: 0..13, c: 2] = f64(q[3, x]) * d[c, x]",
        "tensor t: f32[z: 0..2, y: inf, c: 3, x: 4] = i[y, z, c] * p[y, x] + i[y, z, x % 3]",
        "tensor t: f32[c: 3, y: inf, x: inf] = i[y, x, c] - i[y, x - 1, c]",
        "tensor t: f32[y: inf, x: inf, c: 3] = if c == 1 then i[y, x, 0] * 2 else p[y, x] / (1 + abs(p[y, x + 1]))",
        "tensor t: f32[y: inf, x: inf, c: 3] = sum(j in 0..3) i[y, x, j] * f32(j + c)",
        "tensor t: f32[y: inf, x: inf] = 0.3 * i[y, x, 0] + 0.59 * i[y, x, 1] + 0.11 * i[y, x, 2]",
        "tensor t: f32[y: inf, x: inf, c: 3] = rand(y // 8, x // 32, c) + i[-y, -x, c]",
    ];
    bodies(&scripts);
    for (script, rows) in [(scripts[0], 3), (scripts[2], 4), (scripts[5], 3)] {
        let program = program("channels", &format!("{SOURCES}\n{script}\n"));
        let at = program.graph.tensors.iter().position(|tensor| &*tensor.name == "t").unwrap();
        let lowered = lower(&program.graph, TensorId(at as u32), &program.accesses.tensors[at]).unwrap();
        assert!(
            lowered.jam.is_some_and(|jam| jam.makes_planes && jam.rows == rows),
            "{script}: {:?}",
            lowered.jam
        );
    }
}

#[test]
fn reads_that_depend_on_data() {
    plain(
        "f32",
        &[
            "p[y + i64(clamp(p[y, x] * 9, -3, 3)), x]",
            "p[y, x + i64(clamp(p[y, x], -4, 4))]",
            "p[k[y, x] % 5, x]",
            "line[clamp(k[y, x], 0, 23)]",
            "line[u[y, x] % 24]",
            "p[y + k[y, 0] % 3, x + k[0, x] % 3]",
            "p[i64(u[i64(u[y, x]), x]), x]",
        ],
    );
}

#[test]
fn selections() {
    plain(
        "f32",
        &[
            "if x > 3 then p[y, x - 4] else 0",
            "if y > 0 then p[y, x] else p[y, x + 1]",
            "if y >= 0 and y < 9 and x >= 0 and x < 13 then q[y, x] else -1",
            "if y >= 0 and y < 9 then (if x >= 0 and x < 13 then q[y, x] else 1) else 2",
            "if p[y, x] > 0 then p[y, x + 1] else p[y + 1, x]",
            "if y == 0 then p[0, x] else (if y < 0 then p[-y, x] else p[y, -x]) + p[0, x]",
            "select(x > 2, p[y, x], 1) + (if x > 2 then p[y, x] else p[y, -x])",
            "if x >= 0 and x < 24 then line[x] else (if y >= 0 and y < 24 then line[y] else 0.5)",
            "if y > 1 then (sum(i in 0..200) p[y, x + i]) else p[y, x]",
            "if k[y, 0] > 0 then p[y, x] else p[x, y]",
        ],
    );
}

#[test]
fn reductions() {
    for function in ["sum", "product", "min", "max"] {
        plain(
            "f32",
            &[
                &format!("{function}(i in -1..=1) p[y + i, x]"),
                &format!("{function}(i in -1..=1, j in 0..4) p[y + i, x + j] * 0.5"),
                &format!("{function}(i in 0..150) p[y, x + i]"),
                &format!("{function}(i in 0..15, j in 0..20) p[y + i, x - 2 * j]"),
                &format!("{function}(i in 3..3) p[y, x + i]"),
                &format!("{function}(i in 0..130) p[i, 0]"),
                &format!("{function}(i in 0..130) p[i, y] * p[y, i]"),
                &format!("({function}(i in 0..140) p[y, i]) + ({function}(i in 0..140) p[i, x])"),
                &format!("{function}(i in 0..140) ({function}(j in 0..3) p[y + j, x + i])"),
                &format!("{function}(i in 0..3) ({function}(j in 0..140) p[y + j, x + i])"),
                &format!("{function}(i in 0..140) (if i > y then p[y, x] else p[y, i])"),
            ],
        );
    }
}

#[test]
fn other_reductions() {
    plain(
        "f32",
        &[
            "mean(i in -1..=1) p[y, x + i]",
            "mean(i in 0..200) p[y, x + i]",
            "if any(i in 0..3) p[y, x + i] > 6 then 1 else 0",
            "if all(i in 0..200) p[y, x + i] > -7.9 then 1 else 0",
            "if any(i in 0..200) p[y, i] > 7.9 then p[y, x] else 0",
            "if all(i in 2..2) p[y, x + i] > 6 then 1 else 0",
        ],
    );
    plain(
        "i64",
        &[
            "argmin(i in -3..=3) p[y, x + i]",
            "argmax(i in 0..200) p[y, x + i]",
            "argmin(i in 0..200) p[y, i]",
            "argmax(i in 5..5) p[y, x + i]",
            "argmax(i in 0..6) p[y, x + i] / p[y, x]",
            "sum(i in 0..300) k[y, x] * i",
            "product(i in 1..20) i * x + y",
        ],
    );
}

#[test]
fn arithmetic() {
    plain(
        "f32",
        &[
            "x / 10 + y",
            "sin(x / 7) * exp(y / 100) + atan2(f32(y), f32(x))",
            "pow(abs(p[y, x]), 1.5) + log(abs(p[y, x]) + 1)",
            "rand(y, x, 3) + f32(hash(x))",
            "f32(hash(u[y, x], y))",
            "p[y, x] // 0.75 + p[y, x] % 0.75",
            "fma(p[y, x], p[y, x + 1], 2) - p[y, x] * 3",
            "round(p[y, x]) + floor(p[y, x]) + trunc(p[y, x]) + sign(p[y, x])",
            "sin(x / 7) + (sum(i in 0..200) sin(i + p[y, x]))",
        ],
    );
    plain(
        "u8",
        &["u[y, x] + u[y, x + 1] * 3", "u8(x)", "min(u[y, x], 9) // 2", "u[y, x] >> 3 ^ u[y, x - 1]"],
    );
    plain(
        "i64",
        &["k[y, x] * x // 3 % 7", "x ** 3 - y", "k[y, x] // k[x, y]", "popcount(k[y, x]) + abs(k[y, x])"],
    );
    plain("f64", &["d[y, x] * x / 3", "sqrt(abs(d[y, x])) + f64(p[y, x])", "sin(d[y, x]) + x"]);
    plain("f16", &["h[y, x] * 0.3 + x", "f16(p[y, x] * 1000)", "f16(x) / 3"]);
    plain("bool", &["p[y, x] > 0", "u[y, x] == 0 or x > y", "not (p[y, x] < p[x, y])"]);
}

#[test]
fn tables() {
    bodies(&[
        "let g = [0.25, 0.5, 0.25]\ntensor t: f32[y: inf, x: inf] = sum(i in 0..3) g[i] * p[y, x + i - 1]",
        "let g = [[1, 2, 3], [4, 5, 6]]\ntensor t: f32[y: inf, x: inf] = sum(i in 0..2, j in 0..3) g[i, j] * p[y + i, x + j]",
        "let g = [[1, 2, 3], [4, 5, 6]]\ntensor t: i64[y: inf, x: inf] = g[y % 2, x % 3]",
        "let g = [[1, 2, 3], [4, 5, 6]]\ntensor t: i64[y: inf, x: inf] = if x >= 0 and x < 3 then g[y % 2, x] else -1",
        "let g = [3, 1, 2]\ntensor t: f32[y: inf, x: inf] = p[g[y % 3], x]",
        "let g = [1, 2, 3]\ntensor t: u8[y: inf, x: inf] = u8(g[u[y, x] % 3])",
    ]);
}

#[test]
fn views() {
    bodies(&[
        "view v = q.pad([1..2, 3..1], 7)",
        "view v = q.reshape([13, 9])",
        "view v = q.reshape([3, 39]).flip([0])",
        "view v = q.flatten()",
        "view v = q.wrap()",
        "view v = q.mirror()",
        "view v = q.reflect()",
        "view v = q.fill(0.5)",
        "view v = q.clamp().stride([2, 3]).translate_by([5, -3])",
        "view v = p.permute([x, y]).flip([y])",
        "view v = p.diagonal([y, x], d)",
        "view v = q.oindex({y: [3, 1, 4]})",
        "view v = q.vindex({y: [3, 1, 4], x: [0, 12, 5]}, e)",
        "view v = q[2, :]",
        "view v = q[2, 3]",
        "view v = p[0:10:2, -7:6:2]",
        "view v = q.add_dim(c)",
        "view v = q[0:1, :].expand([4, 13])",
        "view v = q.as_strided([4, 5], [3, 2], 7)",
        "view v = q.shrink([2..5, 1..9]).pad([1..1, 1..1], 2).reshape([5, 2, 5]).wrap()",
        "view v = h.flip([x])",
        "view v = u[0:4, 0:6].pad([1..1, 1..1], 9)",
        "tensor t: f32[y: inf, x: inf] = q.pad([1..2, 3..1], 7).wrap()[y, x]",
        "tensor t: f32[y: inf, x: inf] = q.mirror()[y + x, x] + q.reflect()[y, x - 5]",
        "tensor t: f32[y: inf, x: inf] = q.oindex({y: [3, 1, 4]}).wrap()[y, x]",
        "tensor t: f32[y: inf, x: inf] = q.reshape([13, 9]).clamp()[y, x]",
    ]);
}

#[test]
fn scalars_and_many_dimensions() {
    bodies(&[
        "tensor t: f32[] = 4.5",
        "tensor t: f32[] = sum(y in 0..9, x in 0..13) q[y, x]",
        "tensor s: f32[] = max(y in 0..9, x in 0..13) q[y, x]\ntensor t: f32[y: inf, x: inf] = p[y, x] / s[]",
        "tensor t: f32[a: 2, b: 3, c: inf, e: inf] = p[c + a, e - b] * q[a, b]",
        "tensor t: f32[x: inf] = line.wrap()[x] + x",
        "tensor t: f32[y: inf, x: inf, c: 3] = p[y, x] * c",
    ]);
}

#[test]
fn windows() {
    for blend in
        ["sum", "product", "min", "max", "first", "last", "mean", "(old, new) => old * 0.5 + new init 3"]
    {
        for element in ["f32", "f16", "f64", "i32"] {
            let cast = |text: &str| format!("{element}({text})");
            let custom = blend.starts_with('(');
            // Integers are added up for a mean in a stage of their own, in 64 bits: see plan/stages.rs.
            let whole_mean = blend == "mean" && element == "i32";
            if custom && element != "f32" || whole_mean {
                continue;
            }
            bodies(&[
                &format!(
                    "tensor t: {element}[y: inf, x: inf] window [5, 7] stride [3, 4] offset [-1, 2] as [i, j] blend {blend} = {}",
                    cast("p[y, x] + i * index(y) - j * index(x)")
                ),
                &format!(
                    "tensor t: {element}[y: inf, x: inf] window [3, 3] stride [4, 5] as [i, j] take b = p window [6, 8] stride [4, 6] offset [-1, -1] blend {blend} = {}",
                    cast("b[i + 2, 2 * j] * (if i > 1 then b[i - 1, j] else 1)")
                ),
            ]);
        }
    }
    bodies(&[
        "tensor t: f32[k: 2, y: inf, x: inf] window [2, 6, 6] stride [2, 4, 4] as [c, i, j] take b = p window [6, 6] stride [4, 4] map [y, x] = if c == 0 then b[i, j] else i * j",
        "tensor t: f32[y: inf, x: inf] window [6, 6] stride [4, 4] as [i, j] take b = p window [6, 6] stride [4, 4] map [x, y] take c = p window [6, 6] map [_, _] = b[j, i] + c[i, j]",
        "tensor t: f32[y: inf, x: inf] window [4, 4] as [i, j] take b = q.mirror() window [4, 4] = b[i, j]",
        "tensor t: f32[y: 0..12, x: 0..12] window [4, 4] as [i, j] blend mean = p[y, x]",
        "tensor t: i32[y: inf, x: inf] window [4, 4] stride [2, 2] as [i, j] blend (old, new) => max(old, new) - 1 init 5 = i32(k[y, x])",
    ]);
}

#[test]
fn recurrences() {
    bodies(&[
        "tensor r: f32[t: 0..50, y: inf, x: inf] = if t == 0 then p[y, x] else r[t-1, y, x] + 0.2 * (r[t-1, y+1, x] + r[t-1, y-1, x] - 2 * r[t-1, y, x])",
        "tensor r: f32[t: 0..inf, x: inf] = if t < 2 then p[t, x] else r[t-1, x] - r[t-2, x + 1]",
        "tensor r: u8[t: 3..20, x: 0..16] = if t == 3 then u[0, x] else r.wrap([x])[t - 1, x - 1] ^ r.wrap([x])[t - 1, x + 1]",
        "tensor t: f32[n: 0..40] = if n == 0 then 1 else t[n - 1] * 0.5 + line.clamp()[n]",
        "tensor r: f16[t: 0..9, x: inf] = if t == 0 then h[0, x] else r[t-1, x] * 0.7 + r[t-1, x - 1]",
    ]);
}
