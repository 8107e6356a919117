//! Holds the index core against recorded answers of TensorStore, torch, numpy and tinygrad.
//!
//! Each line of a data file, or each of its `cases`, is one case. All cases run; then every failure is printed with its id and what differs.
//! `ITP_CONFORMANCE_DIR` names another folder with files of the same names; tests/conformance/README.md tells their origin.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)] // helpers of a test: a panic is its failure

#[path = "conformance/indexspace.rs"]
mod indexspace;
#[path = "conformance/numpy.rs"]
mod numpy;
#[path = "conformance/sparse.rs"]
mod sparse;
#[path = "conformance/sparse_kernels.rs"]
mod sparse_kernels;
#[path = "conformance/stream.rs"]
mod stream;
#[path = "conformance/views.rs"]
mod views;

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What became of one line.
pub(crate) enum Outcome {
    Passed,
    Failed(String),
}

#[derive(Default)]
struct Tally {
    ran: usize,
    passed: usize,
}

fn folder() -> PathBuf {
    let default = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    std::env::var_os("ITP_CONFORMANCE_DIR").map_or_else(default, PathBuf::from)
}

fn run(file: &str, check: fn(&Value) -> Outcome) {
    let path = folder().join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut families: BTreeMap<String, Tally> = BTreeMap::new();
    let mut failures = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let case: Value = serde_json::from_str(line).unwrap();
        let tally = families.entry(case["family"].as_str().unwrap().to_owned()).or_default();
        tally.ran += 1;
        match check(&case) {
            Outcome::Passed => tally.passed += 1,
            Outcome::Failed(why) => failures.push(format!("{}: {why}", case["id"].as_str().unwrap())),
        }
    }
    report(file, &families);
    assert!(!families.is_empty(), "{} has no cases", path.display());
    assert!(failures.is_empty(), "{} of {file} failed:\n{}", failures.len(), failures.join("\n"));
}

/// A file that is one object: the cases are in `list`, each with a name.
fn run_list(file: &str, list: &str, check: fn(&Value) -> Outcome) {
    let path = folder().join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let all: Value = serde_json::from_str(&text).unwrap();
    let cases = all[list].as_array().unwrap();
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| match check(case) {
            Outcome::Passed => None,
            Outcome::Failed(why) => Some(format!("{}: {why}", case["name"])),
        })
        .collect();
    let passed = cases.len() - failures.len();
    println!("{file:<18} {list:<14} ran {:>4}  passed {passed:>4}  left out    0", cases.len());
    assert!(!cases.is_empty(), "{} has no {list}", path.display());
    assert!(failures.is_empty(), "{} of {file} failed:\n{}", failures.len(), failures.join("\n"));
}

fn report(file: &str, families: &BTreeMap<String, Tally>) {
    for (family, Tally { ran, passed }) in families {
        println!("{file:<18} {family:<14} ran {ran:>4}  passed {passed:>4}  left out    0");
    }
    let (ran, passed) = families.values().fold((0, 0), |(r, p), t| (r + t.ran, p + t.passed));
    println!("{file:<18} {:<14} ran {ran:>4}  passed {passed:>4}  left out    0", "all");
}

/// Fails with both sides unless they are equal.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(what: &str, ours: &T, expected: &T) -> Result<(), String> {
    if ours == expected { Ok(()) } else { Err(format!("{what}: ours {ours:?}, expected {expected:?}")) }
}

impl From<Result<(), String>> for Outcome {
    fn from(result: Result<(), String>) -> Self {
        result.map_or_else(Outcome::Failed, |()| Outcome::Passed)
    }
}

#[test]
fn index_space_like_tensorstore() {
    run("indexspace.jsonl", indexspace::check);
}

#[test]
fn views_like_torch_and_numpy() {
    run("views.jsonl", views::check);
}

#[test]
fn tiles_of_streams_as_counted_one_by_one() {
    run_list("stream_tiles.json", "cases", stream::check_tiles);
}

#[test]
fn appends_of_any_size_as_counted_one_by_one() {
    run_list("stream_append.json", "cases", stream::check_append);
}

#[test]
fn levels_like_finch() {
    run_list("sparse_levels.json", "cases", sparse::check);
}

#[test]
fn sparse_kernels_like_scipy() {
    run_list("sparse_kernels.json", "kernels", sparse_kernels::kernels);
}

#[test]
fn sparse_graphs_and_semirings_like_scipy() {
    run_list("sparse_kernels.json", "graphs", sparse_kernels::graphs);
    run_list("sparse_kernels.json", "min_plus_spmv", sparse_kernels::min_plus);
}

#[test]
fn masks_like_scipy() {
    run_list("sparse_kernels.json", "masks", sparse_kernels::masks);
}
