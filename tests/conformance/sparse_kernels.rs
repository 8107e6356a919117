//! Kernels over sparse arrays, computed by scripts whose tensors have formats: the values are those of numpy and scipy.
//!
//! Every case runs in several formats, as inputs and as tensors that are computed, on tiles of several sizes.

use crate::{Outcome, same};
use itp::Engine;
use itp::graph::types::Element;
use itp::io::Array;
use serde_json::Value;

/// Formats of a matrix, `FILL` left open.
const FORMATS: [&str; 9] = [
    "dense(dense(element(FILL)))",
    "dense(sparse_list(element(FILL)))",
    "sparse_list(sparse_list(element(FILL)))",
    "sparse_coo(2, element(FILL))",
    "dense(sparse_dict(element(FILL)))",
    "dense(sparse_bytemap(element(FILL)))",
    "dense(run_list(element(FILL)))",
    "dense(sparse_band(element(FILL)))",
    "sparse_list(dense(element(FILL)))",
];

/// Numbers in rows, null as `none`.
fn matrix(value: &Value, none: f64) -> (Vec<i64>, Vec<f64>) {
    let number = |value: &Value| value.as_f64().unwrap_or(none);
    match value.as_array() {
        None => (vec![1], vec![number(value)]),
        Some(rows) if rows.iter().all(|row| !row.is_array()) => {
            (vec![rows.len() as i64], rows.iter().map(number).collect())
        }
        Some(rows) => {
            let all: Vec<f64> =
                rows.iter().flat_map(|row| row.as_array().unwrap().iter().map(number)).collect();
            (vec![rows.len() as i64, rows[0].as_array().unwrap().len() as i64], all)
        }
    }
}

fn array(element: Element, (shape, values): (Vec<i64>, Vec<f64>)) -> Array {
    let data = values.iter().flat_map(|value| match element {
        Element::F32 => (*value as f32).to_le_bytes().to_vec(),
        Element::F64 => value.to_le_bytes().to_vec(),
        Element::Bool => vec![u8::from(*value != 0.0)],
        _ => (*value as i64).to_le_bytes().to_vec(),
    });
    Array { element, shape, data: data.collect() }
}

/// A shape and its elements.
type Dense = (Vec<i64>, Vec<f64>);

/// A script, its data, and what it gives.
struct Run<'r> {
    script: String,
    inputs: Vec<(&'r str, Array)>,
}

impl Run<'_> {
    /// Reads whole tensors, on tiles of a size that differs from script to script.
    fn check(&self, expected: &[(&str, Element, Dense)]) -> Result<(), String> {
        let tile = [[1, 3], [2, 2], [64, 64]][self.script.len() % 3];
        let built = Engine::builder().threads(2).tile(tile).store(0).compile(&self.script);
        let mut engine = built.map_err(|error| error.to_string())?;
        for (input, array) in &self.inputs {
            engine.bind_array(input, array.clone()).map_err(|error| error.to_string())?;
        }
        for (name, element, expect) in expected {
            let slice = format!("{name}[{}]", vec![":"; expect.0.len()].join(", "));
            let found = engine.read_array(&slice).map_err(|error| error.to_string())?;
            same(
                &format!("{name} on {tile:?} of {}", self.script),
                &found,
                &array(*element, expect.clone()),
            )?;
        }
        Ok(())
    }
}

/// Every format that is tried, as an input and as a tensor that is computed.
fn each_format(fill: &str, check: impl Fn(&str, bool) -> Result<(), String>) -> Outcome {
    let all = FORMATS
        .iter()
        .flat_map(|format| [(format.replace("FILL", fill), false), (format.replace("FILL", fill), true)]);
    all.into_iter().try_for_each(|(format, computed)| check(&format, computed)).into()
}

/// `a` in a format: data that has one, or a tensor that copies it.
fn source(name: &str, ty: &str, dims: &str, format: &str, computed: bool) -> String {
    let labels: String =
        dims.split(',').map(|dim| dim.split(':').next().unwrap().trim()).collect::<Vec<_>>().join(", ");
    match computed {
        false => format!("input {name}: {ty}[{dims}] format {format}\n"),
        true => format!(
            "input {name}_: {ty}[{dims}]\ntensor {name}: {ty}[{dims}] format {format} = {name}_[{labels}]\n"
        ),
    }
}

fn bound<'n>(name: &'n str, computed: bool, names: &'n [&'n str]) -> &'n str {
    if computed {
        names.iter().find(|known| known.trim_end_matches('_') == name && known.ends_with('_')).unwrap()
    } else {
        name
    }
}

const NAMES: [&str; 4] = ["a_", "b_", "m_", "n_"];

pub(crate) fn kernels(case: &Value) -> Outcome {
    // Every format with one type, and either bound or computed: which differs from case to case.
    let elements = [("i64", Element::I64), ("f64", Element::F64), ("f32", Element::F32)];
    let number = case["name"].as_str().unwrap().bytes().map(usize::from).sum::<usize>();
    let checked = FORMATS.iter().enumerate().try_for_each(|(at, format)| {
        let (ty, element) = elements[(number + at) % 3];
        products(case, (ty, element), &format.replace("FILL", "0"), (number / 2 + at) % 2 == 0)
    });
    checked.into()
}

fn products(
    case: &Value,
    (ty, element): (&str, Element),
    format: &str,
    computed: bool,
) -> Result<(), String> {
    let number = |key: &str| matrix(&case[key], 0.0);
    let shape = number("A").0;
    let (h, w) = (shape[0], shape[1]);
    let dims = format!("y: {h}, x: {w}");
    let kernel = number("conv3x3_kernel").1;
    let kernel: Vec<String> =
        kernel.chunks(3).map(|row| format!("[{}, {}, {}]", row[0], row[1], row[2])).collect();
    let (a, b) = (source("a", ty, &dims, format, computed), source("b", ty, &dims, format, computed));
    let zero = if element == Element::I64 { "0" } else { "0.0" };
    let script = format!(
        "{a}{b}input v: {ty}[x: {w}]  input s: {ty}[x: {w}] format sparse_list(element({zero}))
        let k = [{}]
        tensor spmv: {ty}[y: {h}] = sum(k in 0..{w}) a[y, k] * v[k]
        tensor spmspv: {ty}[y: {h}] = sum(k in 0..{w}) a[y, k] * s[k]
        tensor mul: {ty}[{dims}] format {format} = a[y, x] * b[y, x]
        tensor add: {ty}[{dims}] = a[y, x] + b[y, x]
        tensor maximum: {ty}[{dims}] = max(a[y, x], b[y, x])
        tensor total: {ty}[k: 1] = sum(y in 0..{h}, x in 0..{w}) a[y, x]
        tensor row_sums: {ty}[y: {h}] = sum(x in 0..{w}) a[y, x]
        tensor col_sums: {ty}[x: {w}] = sum(y in 0..{h}) a[y, x]
        tensor spgemm: {ty}[y: {h}, x: {h}] = sum(k in 0..{w}) a[y, k] * b[x, k]
        tensor turned: {ty}[y: {w}, x: {h}] = a[x, y]
        tensor conv: {ty}[{dims}] = sum(j in 0..3, i in 0..3) a.fill(0)[y + j - 1, x + i - 1] * {ty}(k[j, i])
        tensor masked: {ty}[{dims}] = if a[y, x] != 0 then conv[y, x] else 0
        tensor cut: {ty}[y: {}, x: {}] = a[y + 1, x + 1]
        tensor shifted: {ty}[{dims}] = a.fill(0)[y - 1, x - 1]",
        kernel.join(", "),
        h - 1,
        w - 1,
    );
    let inputs = vec![
        (bound("a", computed, &NAMES), array(element, number("A"))),
        (bound("b", computed, &NAMES), array(element, number("B"))),
        ("v", array(element, number("x"))),
        ("s", array(element, number("x_sparse"))),
    ];
    let run = Run { script, inputs };
    let names = [
        ("spmv", "spmv"),
        ("spmspv", "spmspv"),
        ("mul", "mul"),
        ("add", "add"),
        ("maximum", "maximum"),
        ("total", "sum"),
        ("row_sums", "row_sums"),
        ("col_sums", "col_sums"),
        ("spgemm", "spgemm_A_Bt"),
        ("turned", "transpose"),
        ("conv", "conv3x3_correlate_zero_pad"),
        ("masked", "conv3x3_masked_to_stored"),
        ("cut", "sparse_window_1_to_end"),
        ("shifted", "shifted_by_1_1_fill0"),
    ];
    // Products of floats may be -0.0 where the data has 0: they are held against integers alone.
    let exact = |key: &str| {
        element == Element::I64
            || !matches!(key, "mul" | "conv3x3_correlate_zero_pad" | "conv3x3_masked_to_stored")
    };
    let names = names.iter().filter(|(_, key)| exact(key));
    run.check(&names.map(|(name, key)| (*name, element, number(key))).collect::<Vec<_>>())
}

pub(crate) fn min_plus(case: &Value) -> Outcome {
    each_format("inf", |format, computed| {
        let (shape, values) = matrix(&case["A"], f64::INFINITY);
        let (h, w) = (shape[0], shape[1]);
        let a = source("a", "f64", &format!("y: {h}, x: {w}"), format, computed);
        let script =
            format!("{a}input v: f64[x: {w}]\ntensor p: f64[y: {h}] = min(k in 0..{w}) a[y, k] + v[k]");
        let inputs = vec![
            (bound("a", computed, &NAMES), array(Element::F64, (shape, values))),
            ("v", array(Element::F64, matrix(&case["x"], f64::INFINITY))),
        ];
        Run { script, inputs }.check(&[("p", Element::F64, matrix(&case["y"], f64::INFINITY))])
    })
}

pub(crate) fn graphs(case: &Value) -> Outcome {
    each_format("0", |format, computed| {
        let adj = matrix(&case["adj"], 0.0);
        let n = adj.0[0];
        let a = source("a", "i64", &format!("y: {n}, x: {n}"), format, computed);
        let script = format!(
            "{a}tensor degrees: i64[y: {n}] = sum(x in 0..{n}) a[y, x]
            tensor paths: i64[y: {n}, x: {n}] format {format} = sum(k in 0..{n}) a[y, k] * a[k, x]
            tensor closed: i64[y: {n}] = sum(x in 0..{n}) paths[y, x] * a[y, x]
            tensor triangles: i64[k: 1] = (sum(y in 0..{n}) closed[y]) // 6"
        );
        let inputs = vec![(bound("a", computed, &NAMES), array(Element::I64, adj))];
        let expected = ["degrees", "triangles"].map(|name| (name, Element::I64, matrix(&case[name], 0.0)));
        Run { script, inputs }.check(&expected)
    })
}

/// The runs of a mask as a dense mask.
fn dense_runs(runs: &Value, shape: &[i64]) -> (Vec<i64>, Vec<f64>) {
    let mut all = vec![0.0; (shape[0] * shape[1]) as usize];
    for (y, row) in runs.as_array().unwrap().iter().enumerate() {
        for run in row.as_array().unwrap() {
            let (lo, hi) = (run[0].as_u64().unwrap() as usize, run[1].as_u64().unwrap() as usize);
            all[y * shape[1] as usize..][lo..hi].fill(1.0);
        }
    }
    (shape.to_vec(), all)
}

pub(crate) fn masks(case: &Value) -> Outcome {
    let formats = [
        "dense(run_list(pattern))",
        "dense(run_list(element(false)))",
        "dense(sparse_list(pattern))",
        "sparse_coo(2, pattern)",
    ];
    let all = formats.iter().flat_map(|format| [(format, false), (format, true)]);
    all.into_iter().try_for_each(|(format, computed)| mask(case, format, computed)).into()
}

fn mask(case: &Value, format: &str, computed: bool) -> Result<(), String> {
    let (shape, _) = matrix(&case["a"], 0.0);
    let (h, w) = (shape[0], shape[1]);
    let dims = format!("y: {h}, x: {w}");
    let (m, n) = (source("m", "bool", &dims, format, computed), source("n", "bool", &dims, format, computed));
    let script = format!(
        "{m}{n}input img: i64[{dims}]
        tensor both: bool[{dims}] format {format} = m[y, x] and n[y, x]
        tensor either: bool[{dims}] format {format} = m[y, x] or n[y, x]
        tensor one: bool[{dims}] = m[y, x] ^ n[y, x]
        tensor none: bool[{dims}] format dense(run_list(element(true))) = not m[y, x]
        tensor back: bool[{dims}] = not none[y, x]
        tensor grown: bool[{dims}] = m[y, x] or m.fill(false)[y - 1, x] or m.fill(false)[y + 1, x]
            or m.fill(false)[y, x - 1] or m.fill(false)[y, x + 1]
        tensor worn: bool[{dims}] = m[y, x] and m.fill(false)[y - 1, x] and m.fill(false)[y + 1, x]
            and m.fill(false)[y, x - 1] and m.fill(false)[y, x + 1]
        tensor lit: i64[k: 1] = sum(y in 0..{h}, x in 0..{w}) if m[y, x] then img[y, x] else 0
        tensor count: i64[k: 1] = sum(y in 0..{h}, x in 0..{w}) i64(m[y, x])
        tensor cut: i64[{dims}] = if both[y, x] then img[y, x] else 0"
    );
    let bools = |key: &str| array(Element::Bool, matrix(&case[key], 0.0));
    let inputs = vec![
        (bound("m", computed, &NAMES), bools("a")),
        (bound("n", computed, &NAMES), bools("b")),
        ("img", array(Element::I64, matrix(&case["img"], 0.0))),
    ];
    let names = [
        ("both", "and_runs"),
        ("either", "or_runs"),
        ("one", "xor_runs"),
        ("none", "not_a_runs"),
        ("back", "a_runs"),
        ("grown", "dilate_cross_runs"),
        ("worn", "erode_cross_runs"),
    ];
    let runs = names.map(|(name, key)| (name, Element::Bool, dense_runs(&case[key], &shape)));
    let sums = [("lit", "masked_sum"), ("count", "masked_count")];
    let sums = sums.map(|(name, key)| (name, Element::I64, matrix(&case[key], 0.0)));
    Run { script, inputs }.check(&[&runs[..], &sums[..]].concat())
}
