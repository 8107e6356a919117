//! Bodies that can leave out what a format does not store, on data that is mostly its fill: the same bits as the
//! interpreter, which knows no formats.
#![cfg(feature = "jit")]

use crate::ONE_AT_A_TIME;
use crate::rng::Rng;
use itp::Engine;
use itp::graph::scalar::Scalar;
use itp::graph::types::Element;
use itp::io::{Array, store_scalar};
use itp::run::Kind;

/// Scripts of a plain run; of a campaign, `ITP_DIFF_SEEDS` says which.
const CASES: std::ops::Range<u64> = 0..250;

/// Results that read `a`, `b`, `m`, `n` (matrices) and `v` (a row); T is the type, F the fill, K the range of x.
const BODIES: [&str; 50] = [
    "tensor r: T[y: Y] = sum(k in K) a[y, k] * v[k]",
    "tensor r: T[y: Y] = sum(k in K) v[k] * a[y, k]",
    "tensor r: T[y: Y] = sum(k in K) T(2) * a[y, k]",
    "tensor r: T[y: Y] = sum(k in K) a[y, k]",
    "tensor r: T[x: K] = sum(k in Y) a[k, x]",
    "tensor r: T[y: Y] = sum(k in K) if m[y, k] then v[k] else 0",
    "tensor r: T[y: Y] = sum(k in K) if m[y, k] then a[y, k] * v[k] else 0",
    "tensor r: T[k: 2] = sum(i in Y, j in K) if m[i, j] then a[i, j] else 0",
    "tensor r: T[k: 2] = (sum(i in Y, j in K) a[i, j] * b[i, j]) + k",
    "tensor r: T[y: Y] = min(k in K) a[y, k] + v[k]",
    "tensor r: T[y: Y] = max(k in K) a[y, k]",
    "tensor r: T[y: Y] = product(k in K) a[y, k]",
    "tensor r: T[y: Y] = sum(k in K) a[y, k] * a[y, k]",
    "tensor r: T[y: Y] = sum(k in K) min(a[y, k], v[k])",
    "tensor r: i64[y: Y] = argmin(k in K) a[y, k]",
    "tensor r: i64[y: Y] = argmax(k in K) a[y, k]",
    "tensor r: bool[y: Y] = any(k in K) m[y, k] and n[y, k]",
    "tensor r: bool[y: Y] = all(k in K) m[y, k] or n[y, k]",
    "tensor r: T[y: Y] = sum(k in -20..20) if k >= LO and k < HI then a[y, k] else 0",
    "tensor r: T[y: Y, x: K] = if m[y, x] then a[y, x] else 0",
    "tensor r: T[y: Y, x: K] = if m[y, x] and n[y, x] then v[x] * 2 else F",
    "tensor r: T[y: Y, x: K] = a[y, x] + b[y, x]",
    "tensor r: T[y: Y, x: K] = a[y, x] * b[y, x]",
    "tensor r: T[y: Y, x: K] = max(a[y, x], b[y, x])",
    "tensor r: bool[y: Y, x: K] = m[y, x] or not n[y, x]",
    "tensor r: bool[y: Y, x: K] = m[y, x] ^ n[y, x]",
    "tensor r: T[y: Y, x: K] = sum(j in -1..=1, i in -1..=1) a.fill(F)[y + j, x + i]",
    "tensor r: bool[y: Y, x: K] = any(j in -1..=1, i in -2..=2) m.clamp()[y + j, x + i]",
    "tensor r: T[y: Y, x: K] = if m[y, x] then (sum(i in -1..=1) b.wrap()[y, x + i]) else 0",
    "tensor r: T[y: Y] = sum(k in K) a[y, k] + b[y, k]",
    "tensor r: T[y: Y] = max(k in K) max(a[y, k], b[y, k])",
    "tensor r: T[y: Y] = sum(k in K) a[y, k] * a[y, k] * b[y, k]",
    "tensor r: T[y: Y] = sum(k in K) if m[y, k] and n[y, k] then v[k] else 0",
    "tensor r: T[y: Y] = sum(k in K) if m[y, k] or n[y, k] then a[y, k] else 0",
    "tensor r: T[y: Y] = sum(k in K) if m[y, k] ^ n[y, k] then v[k] * 2 else 0",
    "tensor r: bool[y: Y] = any(k in K) m[y, k] or n[y, k]",
    "tensor r: bool[y: Y] = all(k in K) not m[y, k]",
    "tensor r: T[y: Y] = (sum(k in K) a[y, k] * v[k]) - (sum(k in K) b[y, k]) + (max(k in K) a[y, k])",
    "tensor r: T[x: K] = sum(k in Y) a[k, x] * v[x]",
    "tensor r: T[x: K] = sum(k in Y) a[k, x] * b[k, x] + a[k, x]",
    "tensor r: i64[x: K] = argmax(k in Y) a[k, x]",
    "tensor r: T[x: K] = sum(k in Y) if m[k, x] then a[k, x] else 0",
    "tensor r: T[y: Y, x: Y] = sum(k in K) a[y, k] * b[x, k]",
    "tensor r: T[y: Y] = sum(k in -20..20) a.fill(F)[y, k] + b.fill(F)[y + 1, k]",
    "tensor r: T[y: Y, x: K] = sum(k in -70..70) a.fill(F)[y, x + k] * T(k % 3)",
    "tensor r: T[y: Y, x: K] = sum(k in -3..130) if m.fill(false)[y, x + k] then a.fill(F)[y, x + k - 1] else 0",
    "tensor r: bool[y: Y, x: K] = any(j in -2..3, i in -30..30) m.fill(false)[y + j, x + i] and n.fill(false)[y, x - i]",
    "tensor r: T[y: Y] = sum(k in K) b[y, k] * (sum(j in K) a[y, j] * v[j])",
    "tensor w: T[x: K] = v[x] + v[x]  tensor r: T[y: Y] = sum(k in K) a[y, k] * w[k]",
    "tensor s: T[y: Y, x: K] FORMAT = if m[y, x] then a[y, x] else F  tensor r: T[y: Y] = sum(k in K) s[y, k] * v[k]",
];

const LEVELS: [&str; 6] =
    ["dense", "sparse_list", "sparse_dict", "sparse_bytemap", "run_list", "sparse_band"];

/// A script, the sizes of its data, and which part of it is the fill.
struct Case {
    rng: Rng,
    element: Element,
    fill: Scalar,
    text: String,
    sizes: (i64, i64),
}

fn format(rng: &mut Rng, leaf: &str) -> String {
    if rng.chance(15) {
        return format!("format sparse_coo(2, {leaf})");
    }
    let outer = if rng.chance(50) { "dense" } else { rng.pick(&LEVELS) };
    format!("format {outer}({}({leaf}))", rng.pick(&LEVELS))
}

fn case(seed: u64) -> Case {
    let mut rng = Rng::new(seed ^ 0xf0f0);
    let element =
        rng.pick(&[Element::F32, Element::F32, Element::F64, Element::F16, Element::I32, Element::U8]);
    let fill = match rng.below(6) {
        0 if element.is_float() => "inf",
        1 if element.is_float() => "-0.0",
        2 => "1",
        _ => "0",
    };
    let value = fill.parse::<f64>().unwrap_or(f64::INFINITY);
    let scalar = match element.is_float() {
        true => Scalar::float(element.computed(), value),
        false => Scalar::int(element, value as i128),
    };
    let (y, x) = (rng.within(-3, 3), rng.within(-3, 3));
    let sizes = (rng.within(1, 6), rng.within(1, 9));
    let (rows, range) = (format!("{y}..{}", y + sizes.0), format!("{x}..{}", x + sizes.1));
    let mut text = String::new();
    for (name, ty, leaf) in
        [("a", element.name(), true), ("b", element.name(), true), ("m", "bool", false), ("n", "bool", false)]
    {
        let leaf = if leaf { format!("element({ty}({fill}))") } else { "pattern".to_owned() };
        let format = if rng.chance(85) { format(&mut rng, &leaf) } else { String::new() };
        text += &match rng.chance(50) {
            true => format!("input {name}: {ty}[y: {rows}, x: {range}] {format}\n"),
            false => format!(
                "input {name}_: {ty}[y: {rows}, x: {range}]\ntensor {name}: {ty}[y: {rows}, x: {range}] {format} = {name}_[y, x]\n"
            ),
        };
    }
    text += &format!("input v: {}[x: {range}]\n", element.name());
    let own = format(&mut rng, &format!("element({}({fill}))", element.name()));
    let body = rng.pick(&BODIES).replace("FORMAT", &own).replace("LO", &x.to_string());
    let body = body.replace("HI", &(x + sizes.1).to_string()).replace('Y', &rows).replace('K', &range);
    let body = body.replace('T', element.name()).replace('F', &format!("{}({fill})", element.name()));
    text += &body;
    Case { rng, element, fill: scalar, text, sizes }
}

impl Case {
    /// Mostly the fill; sometimes only numbers that are easy to add, so that conditions hold.
    fn data(&mut self, element: Element, shape: Vec<i64>, tame: bool) -> Array {
        let (count, mut data) = (shape.iter().product::<i64>(), Vec::new());
        let stored = self.rng.pick(&[0, 10, 30, 90]);
        for _ in 0..count {
            let value = match element {
                Element::Bool => Scalar::bool(self.rng.chance(stored)),
                _ if !self.rng.chance(stored) => self.fill,
                _ => self.number(tame),
            };
            store_scalar(element, value, &mut data);
        }
        Array { element, shape, data }
    }

    fn number(&mut self, tame: bool) -> Scalar {
        const WILD: [f64; 9] =
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1e-30, -1e-38, -1e-300, 65504.0];
        let small = self.rng.within(-8, 8);
        match self.element.is_float() {
            true if tame || self.rng.chance(60) => Scalar::float(self.element.computed(), small as f64 / 4.0),
            true => Scalar::float(self.element.computed(), self.rng.pick(&WILD)),
            false => Scalar::int(self.element, small.rem_euclid(9).into()),
        }
    }

    fn read(&self, kind: Kind, tile: Option<[i64; 2]>, arrays: &[(String, Array)]) -> Array {
        let mut builder = Engine::builder().kind(kind).threads(2).store(0);
        if let Some(tile) = tile {
            builder = builder.tile(tile);
        }
        let mut engine = builder.compile(&self.text).unwrap_or_else(|error| panic!("{}\n{error}", self.text));
        for (name, array) in arrays {
            let inputs = engine.program().graph.tensors.iter().map(|tensor| tensor.name.to_string());
            let found = inputs.into_iter().find(|known| known == &format!("{name}_")).unwrap_or(name.clone());
            engine.bind_array(&found, array.clone()).unwrap_or_else(|error| panic!("{}\n{error}", self.text));
        }
        let slice = if self.text.contains("r: ") && self.is_matrix() { "r[:, :]" } else { "r[:]" };
        let prepared = engine.prepare(slice).unwrap_or_else(|error| panic!("{}\n{error}", self.text));
        let (array, stats) = prepared.read_array().unwrap_or_else(|error| panic!("{}\n{error}", self.text));
        let bytes = stats.bytes;
        assert!(kind == Kind::Interp || bytes.peak <= bytes.peak_planned, "{bytes:?}\n{}", self.text);
        array
    }

    fn is_matrix(&self) -> bool {
        let result = self.text.rsplit("tensor r: ").next().expect("there is a result");
        result.split(']').next().is_some_and(|dims| dims.contains(','))
    }
}

#[test]
fn formats_change_no_bit() {
    let _turn = ONE_AT_A_TIME.lock();
    for seed in crate::seeds(CASES) {
        let mut case = case(seed);
        let (h, w) = case.sizes;
        let tame = case.rng.chance(60);
        let names = [("a", case.element), ("b", case.element), ("m", Element::Bool), ("n", Element::Bool)];
        let mut arrays: Vec<(String, Array)> = Vec::new();
        for (name, element) in names {
            arrays.push((name.to_owned(), case.data(element, vec![h, w], tame)));
        }
        arrays.push(("v".to_owned(), case.data(case.element, vec![w], tame)));
        let tile = case.rng.chance(70).then(|| [case.rng.within(1, 5), case.rng.within(1, 5)]);
        let expected = case.read(Kind::Interp, None, &arrays);
        let found = case.read(Kind::Jit, tile, &arrays);
        assert_eq!(found, expected, "seed {seed}, tile {tile:?}\n{}\n{arrays:?}", case.text);
    }
}

/// What the kernel of `r` says it leaves out.
fn note(body: &str) -> String {
    use itp::compile::{Options, Show, Stage, emit};
    let head = "input a: f32[y: 4, x: 9] format dense(sparse_list(element(0)))
        input m: bool[y: 4, x: 9] format dense(run_list(pattern))
        input s: f32[y: 4, x: 9] format dense(sparse_list(element(inf)))
        input b: f32[x: 9] format sparse_list(element(0))
        input v: f32[x: 9]\n";
    let mut sources = itp::source::Sources::default();
    let root = sources.add("a.itp", format!("{head}{body}"));
    let (options, show) = (Options::default(), Show { tensor: Some("r"), after: None });
    let mut diagnostics = itp::diagnostic::Diagnostics::default();
    let loader = itp::graph::modules::NoFiles;
    let text = emit(Stage::Loops, &mut sources, root, &loader, &options, show, &mut diagnostics).unwrap();
    text.lines().filter_map(|line| line.strip_prefix("; r ")).collect::<Vec<_>>().join("; ")
}

#[test]
fn kernels_say_what_they_leave_out() {
    let check = |body: &str, expect: &str| assert_eq!(note(body), expect, "{body}");
    check("tensor r: f32[y: 4] = sum(k in 0..9) if m[y, k] then v[k] else 0", "walks the stored runs of m");
    check(
        "tensor r: f32[y: 4] = sum(k in 0..9) a[y, k] * v[k]",
        "walks the stored entries of a, if nothing in v is infinite or NaN",
    );
    check(
        "tensor r: f32[y: 4] = min(k in 0..9) s[y, k] + v[k]",
        "walks the stored entries of s, if nothing in s and v is infinite or NaN",
    );
    check(
        "tensor r: f32[y: 4, x: 9] = if m[y, x] then v[x] else 2",
        "is computed where m is stored, 2.0 elsewhere",
    );
    check(
        "tensor r: f32[y: 4] = sum(k in 0..9) a[y, k] + 1",
        "looks at every element of a: what its fill adds to the reduction is not nothing",
    );
    check(
        "tensor r: f32[y: 4, x: 9] = a[y, x] * v[x]",
        "looks at every element of a: the result is not one known number where only its fill is read",
    );
    check("tensor r: f32[x: 9] = sum(k in 0..4) a[k, x]", "walks the stored entries by column of a");
    check(
        "tensor r: f32[y: 4] = sum(k in 0..9) if m[y, k] then a[y, k] else 0",
        "walks the stored entries and runs of m and a",
    );
    check(
        "tensor r: f32[y: 4] = sum(k in 0..9) a[y, k] + f32(m[y, k])",
        "walks the stored entries and runs of a or m",
    );
    check(
        "tensor r: f32[y: 4] = sum(k in 0..9) a[y, k] * b[k]",
        "walks the stored entries of a, and looks up b, if nothing in b is infinite or NaN",
    );
    check(
        "tensor r: f32[y: 4, x: 9] = sum(k in 0..300) a.fill(0)[y, x + k]",
        "walks the stored entries of a",
    );
    check(
        "tensor r: f32[y: 4, x: 9] = sum(k in 0..3) a.fill(0)[y, x + k] * v[k]",
        "is computed where a is stored, 0.0 elsewhere, if nothing in v is infinite or NaN",
    );
    check(
        "tensor r: f32[y: 4] = sum(k in 0..4) a[y, 2 * k]",
        "looks at every element of a: it is read in steps of 2",
    );
    check(
        "tensor r: f32[z: 1] = sum(k in 0..4) a[k, k]",
        "looks at every element of a: more than one of its coordinates is the innermost variable",
    );
    check(
        "tensor r: f32[y: 4] = sum(k in 0..9) a[y, clamp(i64(v[k]), 0, 8)]",
        "looks at every element of a: one of its coordinates is divided, or depends on data",
    );
    check(
        "tensor r: f32[y: 4] = sum(k in 0..9) a[y, 0] * v[k]",
        "looks at every element of a: no coordinate of it is the innermost variable",
    );
    check(
        "tensor r: f32[y: 4, x: 9] window [2, 3] as [i, j] take b = a window [2, 3] = b[i, j]",
        "looks at every element of a: windows are computed whole",
    );
    check(
        "tensor r: f32[y: 4, x: 9] = if y == 0 then a[0, x] else r[y - 1, x] + a[y, x]",
        "looks at every element of a: a recurrence computes every element of a step",
    );
    check(
        "tensor r: f32[y: 9, x: 4] = a[x, y]",
        "looks at every element of a: it is not read at a fixed distance from the place that is computed",
    );
}
