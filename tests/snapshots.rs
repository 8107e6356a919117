//! Every example at every stage, as text that a person has read once and a diff shows from then on.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use itp::compile::{self, Options, Show, Stage};
use itp::diagnostic::{Diagnostics, Style, render};
use itp::graph::modules::NoFiles;
use itp::source::Sources;
use std::fs;
use std::path::{Path, PathBuf};

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "itp")).collect();
    files.sort();
    files
}

fn emit(path: &Path, stage: Stage) -> String {
    let mut sources = Sources::default();
    let name = path.file_name().unwrap().to_string_lossy();
    let root = sources.add(name, fs::read_to_string(path).unwrap());
    let mut diagnostics = Diagnostics::default();
    let text = compile::emit(
        stage,
        &mut sources,
        root,
        &NoFiles,
        &Options::default(),
        Show::default(),
        &mut diagnostics,
    );
    let problems = diagnostics.into_sorted();
    let problems: Vec<String> =
        problems.iter().map(|problem| render(problem, &sources, Style::Plain)).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
    text.expect("a clean script gives text at every stage")
}

fn snapshot(stage: Stage) {
    let files = examples();
    assert!(files.len() >= 10, "only {} examples", files.len());
    insta::with_settings!({ snapshot_path => "snapshots/examples", prepend_module_to_snapshot => false, omit_expression => true }, {
        for path in files {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            insta::assert_snapshot!(format!("{name}.{}", stage.name()), emit(&path, stage));
        }
    });
}

#[test]
fn tokens() {
    snapshot(Stage::Tokens);
}

#[test]
fn ast() {
    snapshot(Stage::Ast);
}

#[test]
fn graph() {
    snapshot(Stage::Graph);
}

#[test]
fn access() {
    snapshot(Stage::Access);
}

#[test]
fn views() {
    snapshot(Stage::Views);
}

#[test]
fn loops() {
    snapshot(Stage::Loops);
}

/// What the code generator gets depends on the machine in its details, so two small programs stand for all.
#[cfg(all(feature = "jit", target_arch = "x86_64"))]
#[test]
fn clif() {
    insta::with_settings!({ snapshot_path => "snapshots/examples", prepend_module_to_snapshot => false, omit_expression => true }, {
        for name in ["blur", "lut"] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{name}.itp"));
            insta::assert_snapshot!(format!("{name}.clif"), emit(&path, Stage::Clif));
        }
    });
}

#[cfg(feature = "jit")]
#[test]
fn asm() {
    for path in examples() {
        let text = emit(&path, Stage::Asm);
        assert!(text.lines().count() > 20, "{}:\n{text}", path.display());
    }
}

/// A chain with shared rows, a recurrence, windows over shared tiles, and a result in slabs.
#[cfg(feature = "jit")]
const READS: [(&str, &str, &[i64]); 4] = [
    ("blur", "edges[0:64, 0:64]", &[16, 64]),
    ("heat", "glow[0:3, 0:64, 0:64]", &[]),
    ("seamless", "seamless[0:64, 0:256]", &[32, 128]),
    ("hills", "smooth[0:100000, 0:100000]", &[]),
];

#[cfg(feature = "jit")]
fn engine(name: &str, tile: &[i64]) -> itp::Engine {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{name}.itp"));
    let builder = itp::Engine::builder().threads(1).store(0);
    let builder = if tile.is_empty() { builder } else { builder.tile(tile.iter().copied()) };
    builder.open(path).unwrap_or_else(|error| panic!("{error}"))
}

#[cfg(feature = "jit")]
#[test]
fn plan() {
    insta::with_settings!({ snapshot_path => "snapshots/examples", prepend_module_to_snapshot => false, omit_expression => true }, {
        for (name, read, tile) in READS {
            let text = engine(name, tile).sketch(read).unwrap_or_else(|error| panic!("{error}")).text();
            insta::assert_snapshot!(format!("{name}.plan"), format!("# {read}, tiles of {tile:?}\n{text}"));
        }
    });
}

#[cfg(feature = "jit")]
#[test]
fn trace() {
    insta::with_settings!({ snapshot_path => "snapshots/examples", prepend_module_to_snapshot => false, omit_expression => true }, {
        for (name, read, tile) in &READS[..3] {
            let mut engine = engine(name, tile);
            let trace = std::sync::Arc::new(itp::run::job::Trace::detailed());
            engine.record(trace.clone());
            engine.read_array(read).unwrap_or_else(|error| panic!("{error}"));
            insta::assert_snapshot!(format!("{name}.trace"), format!("# {read}, tiles of {tile:?}\n{}", trace.text()));
        }
    });
}

#[test]
fn every_stage_is_snapshotted() {
    let names = Stage::ALL.map(Stage::name);
    let expect = ["tokens", "ast", "graph", "access", "views", "loops", "clif", "asm", "plan", "trace"];
    assert_eq!(names, expect);
}
