//! `cargo bench --bench compiler`: scripts -> how long each part of the compiler takes on them.
//!
//! ```text
//! script           parse    check   access    lower  machine     total   (microseconds)
//! w1_blur           23.7   2006.2     14.4     51.1    785.0    2880.4
//! ```
//!
//! Each is the fastest of several calls; `check` does not count the parsing of the script itself. The scripts are those
//! of examples/ and benches/peers/itp/; words on the command line choose among their names.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "a program for people at a terminal")]

use itp::access::{self, Accesses};
use itp::diagnostic::Diagnostics;
use itp::graph::modules::Loader;
use itp::graph::{self, Graph};
use itp::jit::{self, JitOptions};
use itp::loops::ir::Kernel;
use itp::loops::lower::lower;
use itp::source::{SourceId, Sources};
use itp::syntax;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long each part is repeated.
const PATIENCE: Duration = Duration::from_millis(60);
const FOLDERS: [&str; 2] = ["examples", "benches/peers/itp"];

/// A script and the files beside it.
struct Script {
    path: PathBuf,
    text: String,
}

impl Loader for Script {
    fn load(&self, path: &str) -> Result<String, String> {
        fs::read_to_string(self.path.with_file_name(path)).map_err(|error| error.to_string())
    }
}

impl Script {
    fn open(path: PathBuf) -> Script {
        let text = fs::read_to_string(&path).expect("the script was listed");
        Script { path, text }
    }

    fn name(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn sources(&self) -> (Sources, SourceId) {
        let mut sources = Sources::default();
        let root = sources.add(self.name(), self.text.as_str());
        (sources, root)
    }

    fn parse(&self) -> syntax::ast::Ast {
        let (sources, root) = self.sources();
        syntax::parse(&sources, root, &mut Diagnostics::default())
    }

    /// Parses too: a script and what it uses are checked together.
    fn check(&self) -> Graph {
        let (mut sources, root) = self.sources();
        graph::check(&mut sources, root, self, ("--set", &[]), &mut Diagnostics::default())
            .expect("the script is right")
    }

    /// Microseconds of each part.
    fn measure(&self) -> [f64; 5] {
        let parse = fastest(|| self.parse());
        let check = fastest(|| self.check());
        let graph = self.check();
        let access = fastest(|| access::infer(&graph, &mut Diagnostics::default()));
        let accesses = access::infer(&graph, &mut Diagnostics::default());
        let lowered = fastest(|| kernels(&graph, &accesses));
        let kernels = kernels(&graph, &accesses);
        let machine = fastest(|| jit::compile(&kernels, &JitOptions::default()).expect("kernels compile"));
        [parse, check - parse, access, lowered, machine]
    }
}

/// The kernel of every tensor that has a body.
fn kernels(graph: &Graph, accesses: &Accesses) -> Vec<Kernel> {
    let tensors = graph.iter();
    let lowered = tensors.filter_map(|(id, _)| lower(graph, id, &accesses.tensors[id.index()]));
    lowered.map(|lowered| lowered.kernel).collect()
}

/// Microseconds of the fastest of as many calls as there is patience for, at least three.
fn fastest<T>(mut call: impl FnMut() -> T) -> f64 {
    let (start, mut best, mut count) = (Instant::now(), Duration::MAX, 0);
    while count < 3 || start.elapsed() < PATIENCE {
        let before = Instant::now();
        let result = std::hint::black_box(call());
        best = best.min(before.elapsed());
        drop(result);
        count += 1;
    }
    best.as_secs_f64() * 1e6
}

/// The scripts of a folder that do something on their own.
fn scripts(folder: &str) -> Vec<Script> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(folder).expect("the folder is part of the project");
    let paths = entries.map(|entry| entry.expect("folders can be listed").path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "itp")).collect();
    paths.sort();
    paths.into_iter().map(Script::open).filter(|script| script.text.contains("\ntensor ")).collect()
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    println!("script           parse    check   access    lower  machine     total   (microseconds)");
    for script in FOLDERS.into_iter().flat_map(scripts).filter(|script| chosen(&script.name())) {
        let parts = script.measure();
        let cells: String = parts.iter().map(|part| format!("{part:9.1}")).collect();
        println!("{:13}{cells}{:10.1}", script.name(), parts.iter().sum::<f64>());
    }
}
