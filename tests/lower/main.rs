//! Kernels that lowering makes, against the interpreter: every element of many boxes, bit for bit.
//!
//! For each box the interpreter is asked first. The source buffers then hold what it asked for, and poison everywhere
//! else, as boxes, as boxes with gaps and as rings; `execute` and the Cranelift engine must agree with it on all three.

#![cfg(feature = "jit")]
#![expect(unsafe_code, reason = "running machine code is unsafe, and so is memory with guards around it")]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../jit/buffers.rs"]
mod buffers;
mod check;
mod host;
mod limits;
#[path = "../jit/machine.rs"]
mod machine;
mod regions;
#[path = "../jit/scan.rs"]
mod scan;
mod scripts;
mod shapes;

use check::check_program;
use itp::compile::{Options, Program, compile};
use itp::diagnostic::Diagnostics;
use itp::graph::modules::NoFiles;
use itp::source::Sources;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Kernels whose code was looked through so far.
static SCANNED: AtomicU64 = AtomicU64::new(0);

fn program(name: &str, script: &str) -> Program {
    let mut sources = Sources::default();
    let root = sources.add(name, script);
    let mut diagnostics = Diagnostics::default();
    let program = compile(&mut sources, root, &NoFiles, &Options::default(), &mut diagnostics);
    program.unwrap_or_else(|| panic!("{name}: {:#?}\n{script}", diagnostics.into_sorted()))
}

/// Checks every tensor with a body, every view and every output of a script; gives how many boxes were compared.
fn check(name: &str, script: &str) -> usize {
    check_program(name, &mut program(name, script))
}

/// Checks the scripts of a folder; gives how many there are.
fn check_folder(folder: &str) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "itp"));
    files.sort();
    let mut boxes = 0;
    for path in &files {
        boxes += check(&path.file_name().unwrap().to_string_lossy(), &fs::read_to_string(path).unwrap());
    }
    println!("{} scripts, {boxes} boxes, {} kernels so far", files.len(), SCANNED.load(Ordering::Relaxed));
    assert!(boxes > files.len());
    files.len()
}

#[test]
fn examples() {
    assert!(check_folder("examples") >= 17);
}

#[test]
fn conformance_scripts() {
    assert!(check_folder("tests/conformance/infinite_tensor") >= 19);
}
