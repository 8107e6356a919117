//! The scripts of the infinite-tensor family, read for read, against what the Python library answered: values by every
//! engine, whatever the tiles and the workers, and no more windows than the library computed.
//!
//! `ITP_CONFORMANCE_DIR` may name a folder with other cases (its `infinite_tensor/index.json` is run).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use itp::engine::Engine;
use itp::io::{Array, scalar_at};
use itp::run::Kind;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    let given = std::env::var_os("ITP_CONFORMANCE_DIR").map(PathBuf::from);
    let base = given.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance"));
    base.join("infinite_tensor")
}

/// One read of a script and what the library answered.
struct Case {
    id: String,
    script: PathBuf,
    read: String,
    expected: PathBuf,
    exact: bool,
    rtol: f64,
    atol: f64,
    /// Windows that the library computed, per tensor.
    windows: Vec<(String, u64)>,
}

fn cases() -> Vec<Case> {
    let folder = folder();
    let index: Value = serde_json::from_str(&fs::read_to_string(folder.join("index.json")).unwrap()).unwrap();
    let mut cases = Vec::new();
    for script in index.as_array().unwrap() {
        let path = |value: &Value| folder.join(value.as_str().unwrap());
        for read in script["reads"].as_array().unwrap() {
            let windows = read["windows"].as_object().into_iter().flatten();
            cases.push(Case {
                id: script["id"].as_str().unwrap().to_owned(),
                script: path(&script["script"]),
                read: read["read"].as_str().unwrap().to_owned(),
                expected: path(&read["expected"]),
                exact: read["exact"].as_bool().unwrap(),
                rtol: read["rtol"].as_f64().unwrap(),
                atol: read["atol"].as_f64().unwrap(),
                windows: windows.map(|(name, count)| (name.clone(), count.as_u64().unwrap())).collect(),
            });
        }
    }
    assert!(!cases.is_empty());
    cases
}

/// The shape and the elements of a little-endian `.npy` file of a float or integer type.
fn npy(path: &Path) -> (String, Vec<f64>) {
    let bytes = fs::read(path).unwrap();
    let header_len = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = std::str::from_utf8(&bytes[10..10 + header_len]).unwrap();
    let data = &bytes[10 + header_len..];
    assert!(header.contains("'fortran_order': False"), "{header}");
    let kind = header.split("'descr': '").nth(1).unwrap().split('\'').next().unwrap();
    let shape = header.split("'shape': (").nth(1).unwrap().split(')').next().unwrap();
    let elements = match kind {
        "<f4" => data.chunks(4).map(|c| f32::from_le_bytes(c.try_into().unwrap()).into()).collect(),
        "<f8" => data.chunks(8).map(|c| f64::from_le_bytes(c.try_into().unwrap())).collect(),
        "<i4" => data.chunks(4).map(|c| i32::from_le_bytes(c.try_into().unwrap()).into()).collect(),
        "<i8" => data.chunks(8).map(|c| i64::from_le_bytes(c.try_into().unwrap()) as f64).collect(),
        "|u1" => data.iter().map(|byte| f64::from(*byte)).collect(),
        other => panic!("unknown element type {other} in {}", path.display()),
    };
    (shape.replace([',', ' '], "x").trim_matches('x').replace("xx", "x"), elements)
}

fn shape(sizes: &[i64]) -> String {
    sizes.iter().map(i64::to_string).collect::<Vec<_>>().join("x")
}

impl Case {
    /// What is wrong with values.
    fn wrong(&self, found_shape: &str, found: &[f64]) -> Option<String> {
        let (expected_shape, expected) = npy(&self.expected);
        if found_shape != expected_shape {
            return Some(format!("shape {found_shape}, expected {expected_shape}"));
        }
        let (exact, rtol, atol) = (self.exact, self.rtol, self.atol);
        let same = |a: f64, b: f64| {
            a == b || (a.is_nan() && b.is_nan()) || (!exact && (a - b).abs() <= atol + rtol * b.abs())
        };
        let wrong = found.iter().zip(&expected).position(|(a, b)| !same(*a, *b));
        wrong.map(|at| format!("element {at} is {}, expected {}", found[at], expected[at]))
    }

    fn wrong_array(&self, array: &Array) -> Option<String> {
        let bytes = array.element.bytes() as usize;
        let elements = array.data.chunks(bytes).map(|bytes| scalar_at(array.element, bytes).to_f64());
        self.wrong(&shape(&array.shape), &elements.collect::<Vec<_>>())
    }

    fn told(&self, what: &str) -> String {
        format!("{} {}: {what}", self.id, self.read)
    }
}

/// Ways of running: the interpreter first, then tiles of many shapes, each with several numbers of workers.
fn engines(script: &Path) -> Vec<(String, Engine)> {
    let open = |kind: Kind, threads: usize, tile: Option<&[i64]>| {
        let mut builder = Engine::builder().kind(kind).threads(threads);
        if let Some(tile) = tile {
            builder = builder.tile(tile.iter().copied());
        }
        let engine = builder.open(script).unwrap_or_else(|error| panic!("{error}"));
        (format!("{kind:?}, {threads} threads, tile {tile:?}"), engine)
    };
    let tiles: [Option<&[i64]>; 5] =
        [None, Some(&[1, 1, 1, 1]), Some(&[3, 5]), Some(&[7]), Some(&[1 << 40, 1 << 40])];
    let jit = tiles.into_iter().flat_map(|tile| [1, 2, 4].map(|threads| open(Kind::Jit, threads, tile)));
    [open(Kind::Interp, 1, None)].into_iter().chain(jit).collect()
}

#[test]
fn every_read_agrees() {
    let (mut failures, mut reads, mut runs) = (Vec::new(), 0, 0);
    let mut opened: Option<(PathBuf, Vec<(String, Engine)>)> = None;
    for case in cases() {
        if opened.as_ref().is_none_or(|(script, _)| *script != case.script) {
            opened = Some((case.script.clone(), engines(&case.script)));
        }
        let (_, engines) = opened.as_ref().unwrap();
        reads += 1;
        let mut first: Option<Array> = None;
        for (way, engine) in engines {
            runs += 1;
            let (array, stats) = engine.prepare(&case.read).unwrap().read_array().unwrap();
            let told = |what: &str| case.told(&format!("{way}: {what}"));
            failures.extend(case.wrong_array(&array).map(|what| told(&what)));
            if first.get_or_insert_with(|| array.clone()).data != array.data {
                failures.push(told("other bits than the interpreter"));
            }
            if stats.tiles.live_end != 0 || stats.tiles.computed != stats.tiles.freed {
                failures.push(told(&format!("{:?}", stats.tiles)));
            }
            for (name, most) in &case.windows {
                let computed = stats.windows.iter().find(|(known, _)| **known == **name);
                let computed = computed.map_or(0, |(_, windows)| windows.computed);
                if engine.backend_name() == "jit" && computed > *most {
                    failures
                        .push(told(&format!("{computed} windows of {name}, the library computes {most}")));
                }
            }
        }
    }
    println!("infinite_tensor: {reads} reads ran, {runs} runs, {} failures, 0 left out", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_command_line_agrees() {
    let folder = std::env::temp_dir().join(format!("itp-infinite-tensor-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let mut failures = Vec::new();
    let ways: [&[&str]; 4] = [
        &["--threads", "1"],
        &["--threads", "2", "--tile", "3,5"],
        &["--threads", "4", "--tile", "1"],
        &["--engine", "interp"],
    ];
    for (case, way) in cases().iter().step_by(5).zip(ways.into_iter().cycle()) {
        let out = folder.join("x.npy");
        let ran = Command::new(env!("CARGO_BIN_EXE_itp"))
            .args(["run".as_ref(), case.script.as_os_str(), "--read".as_ref(), case.read.as_ref()])
            .args(["--out".as_ref(), out.as_os_str()])
            .args(way)
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", case.told(&String::from_utf8_lossy(&ran.stderr)));
        let (shape, found) = npy(&out);
        failures.extend(case.wrong(&shape, &found).map(|what| case.told(&format!("{way:?}: {what}"))));
        fs::remove_file(&out).unwrap();
    }
    fs::remove_dir_all(&folder).unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
