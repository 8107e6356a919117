//! The scripts of the infinite-tensor family, read for read, against what the Python library answered.
//!
//! `ITP_CONFORMANCE_DIR` may name a folder with other cases (its `infinite_tensor/index.json` is run).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use itp::compile::{Options, Program, compile};
use itp::diagnostic::{Diagnostics, Style, render};
use itp::graph::body::TensorId;
use itp::graph::modules::NoFiles;
use itp::graph::scalar::Scalar;
use itp::graph::{self, view::View};
use itp::interp::{Host, Interp, WindowCall};
use itp::source::Sources;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

struct NoHost;

impl Host for NoHost {
    fn input(&self, _: TensorId, _: &[i64]) -> Result<Scalar, String> {
        Err("these scripts have no inputs".into())
    }

    fn call(&self, call: &WindowCall<'_>) -> Result<Vec<Scalar>, String> {
        Err(format!("no host function {}", call.name))
    }
}

fn folder() -> PathBuf {
    let given = std::env::var_os("ITP_CONFORMANCE_DIR").map(PathBuf::from);
    let base = given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance"));
    base.join("infinite_tensor")
}

struct Case {
    sources: Sources,
    program: Program,
}

fn load(path: &Path) -> Case {
    let mut sources = Sources::default();
    let root = sources.add(path.display().to_string(), fs::read_to_string(path).unwrap());
    let mut diagnostics = Diagnostics::default();
    let program = compile(&mut sources, root, &NoFiles, &Options::default(), &mut diagnostics);
    let problems = diagnostics.into_sorted();
    let shown: Vec<String> = problems.iter().map(|problem| render(problem, &sources, Style::Plain)).collect();
    Case { program: program.unwrap_or_else(|| panic!("{}", shown.join("\n"))), sources }
}

fn read(case: &mut Case, text: &str) -> Vec<Scalar> {
    let mut diagnostics = Diagnostics::default();
    let view = graph::slice(&case.program.graph, &mut case.sources, text, &mut diagnostics);
    let view = view.unwrap_or_else(|| panic!("{text}: {:?}", diagnostics.into_sorted()));
    let mut interp = Interp::new(&case.program.graph, &NoHost).unwrap();
    points(&view).iter().map(|point| interp.view_element(&view, point).unwrap()).collect()
}

fn points(view: &View) -> Vec<Vec<i64>> {
    let mut points = vec![Vec::new()];
    for dim in view.domain().dims() {
        let range = dim.interval.first()..=dim.interval.last();
        let longer = points
            .iter()
            .flat_map(|point: &Vec<i64>| range.clone().map(|at| [point.as_slice(), &[at]].concat()));
        points = longer.collect();
    }
    points
}

/// The elements of a little-endian `.npy` file of a float or integer type.
fn npy(path: &Path) -> Vec<f64> {
    let bytes = fs::read(path).unwrap();
    let header_len = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..10 + header_len]).unwrap();
    let data = &bytes[10 + header_len..];
    assert!(header.contains("'fortran_order': False"), "{header}");
    let kind = header.split("'descr': '").nth(1).unwrap().split('\'').next().unwrap();
    match kind {
        "<f4" => data.chunks(4).map(|c| f32::from_le_bytes(c.try_into().unwrap()).into()).collect(),
        "<f8" => data.chunks(8).map(|c| f64::from_le_bytes(c.try_into().unwrap())).collect(),
        "<i4" => data.chunks(4).map(|c| i32::from_le_bytes(c.try_into().unwrap()).into()).collect(),
        "<i8" => data.chunks(8).map(|c| i64::from_le_bytes(c.try_into().unwrap()) as f64).collect(),
        "|u1" => data.iter().map(|byte| f64::from(*byte)).collect(),
        other => panic!("unknown element type {other} in {}", path.display()),
    }
}

fn differences(found: &[Scalar], expect: &[f64], exact: bool, rtol: f64, atol: f64) -> Option<String> {
    if found.len() != expect.len() {
        return Some(format!("{} elements, expected {}", found.len(), expect.len()));
    }
    let same = |a: f64, b: f64| {
        a == b || (a.is_nan() && b.is_nan()) || (!exact && (a - b).abs() <= atol + rtol * b.abs())
    };
    let wrong = found.iter().zip(expect).enumerate().find(|(_, (a, b))| !same(a.to_f64(), **b));
    wrong.map(|(at, (a, b))| format!("element {at} is {a}, expected {b}"))
}

#[test]
fn every_read_agrees() {
    let folder = folder();
    let index: Value = serde_json::from_str(&fs::read_to_string(folder.join("index.json")).unwrap()).unwrap();
    let (mut ran, mut failures) = (0, Vec::new());
    for case in index.as_array().unwrap() {
        let mut loaded = load(&folder.join(case["script"].as_str().unwrap()));
        for wanted in case["reads"].as_array().unwrap() {
            let text = wanted["read"].as_str().unwrap();
            let expect = npy(&folder.join(wanted["expected"].as_str().unwrap()));
            let (rtol, atol) = (wanted["rtol"].as_f64().unwrap(), wanted["atol"].as_f64().unwrap());
            let found = read(&mut loaded, text);
            ran += 1;
            if let Some(problem) =
                differences(&found, &expect, wanted["exact"].as_bool().unwrap(), rtol, atol)
            {
                failures.push(format!("{} {text}: {problem}", case["id"]));
            }
        }
    }
    println!("infinite_tensor: {ran} reads ran, {} passed, 0 left out", ran - failures.len());
    assert!(failures.is_empty() && ran > 0, "{}", failures.join("\n"));
}
