//! The rules of docs/architecture.md that a program can check: who may use whom, and what every file looks like.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "tidy/dependencies.rs"]
mod dependencies;

/// Each module of the crate and the modules it may use, in the order of the data: nothing uses what stands below it.
const MAY_USE: &[(&str, &[&str])] = &[
    ("source", &[]),
    ("seeded", &[]),
    ("faults", &[]),
    ("sync", &[]),
    ("pages", &[]),
    ("diagnostic", &["source"]),
    ("index", &[]),
    ("syntax", &["source", "diagnostic"]),
    ("graph", &["source", "diagnostic", "index", "syntax"]),
    ("access", &["source", "diagnostic", "index", "graph"]),
    ("compile", &["source", "diagnostic", "syntax", "graph", "access", "loops", "jit"]),
    ("loops", &["seeded", "index", "graph", "access"]),
    ("interp", &["index", "graph"]),
    ("jit", &["seeded", "graph", "loops"]),
    ("stream", &["pages"]),
    ("io", &["faults", "pages", "index", "graph", "stream"]),
    ("formats", &["pages", "index", "graph", "io"]),
    ("plan", &["seeded", "source", "diagnostic", "index", "graph", "access"]),
    ("tiles", &["faults", "sync", "index", "graph", "access", "plan"]),
    (
        "run",
        &[
            "seeded",
            "faults",
            "sync",
            "pages",
            "source",
            "diagnostic",
            "index",
            "graph",
            "access",
            "compile",
            "loops",
            "interp",
            "jit",
            "io",
            "formats",
            "plan",
            "tiles",
        ],
    ),
    (
        "engine",
        &[
            "pages",
            "source",
            "diagnostic",
            "index",
            "graph",
            "compile",
            "stream",
            "io",
            "formats",
            "plan",
            "run",
            "tiles",
        ],
    ),
    ("picture", &[]),
    ("lsp", &["source", "diagnostic", "index", "syntax", "graph", "access", "compile", "plan", "engine"]),
    ("serve", &["source", "diagnostic", "index", "graph", "compile", "io", "engine"]),
    (
        "cli",
        &[
            "faults",
            "pages",
            "source",
            "diagnostic",
            "index",
            "syntax",
            "graph",
            "access",
            "compile",
            "loops",
            "interp",
            "stream",
            "io",
            "plan",
            "run",
            "engine",
            "picture",
            "lsp",
            "serve",
        ],
    ),
];

/// Crates that one module keeps to itself.
const KEPT_INSIDE: &[(&str, &str)] = &[
    ("petgraph", "graph"),
    ("lalrpop_util", "syntax"),
    ("logos", "syntax"),
    ("annotate_snippets", "diagnostic"),
    ("png", "io"),
    ("flate2", "io"),
    ("zstd", "io"),
    ("ndarray", "engine"),
    ("bytemuck", "engine"),
    ("indicatif", "cli"),
    ("signal_hook", "cli"),
    ("rustyline", "cli"),
    ("lsp_server", "lsp"),
    ("lsp_types", "lsp"),
    ("axum", "serve"),
    ("tokio", "serve"),
];

/// What only the outer modules and the reading and writing of files may touch.
const OUTSIDE_WORLD: [&str; 4] = ["std::fs", "std::env::", "std::time", "std::process"];

/// How long a call took decides how much the next one does; who waits looks up now and then.
const LOOKS_AT_THE_CLOCK: [&str; 2] = ["src/run/kernels.rs", "src/tiles/flights.rs"];

/// The one way to files; others read what the system says about itself, or make a folder for a history.
const TOUCHES_FILES: [&str; 4] =
    ["src/io/disk.rs", "src/engine/limit.rs", "src/cli/bench.rs", "src/cli/repl/terminal.rs"];

const LONGEST_FILE: usize = 500;
const LONGEST_FUNCTION: usize = 60;

struct File {
    path: PathBuf,
    text: String,
}

fn files() -> Vec<File> {
    let mut found = Vec::new();
    let mut queue = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = queue.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                queue.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push(File { path, text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

impl File {
    /// The top-level module it belongs to: `graph` for src/graph/body.rs.
    fn module(&self) -> String {
        let below = self.path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap();
        let first = below.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
        first.trim_end_matches(".rs").to_owned()
    }

    /// The lines before its unit tests.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(at, line)| (at + 1, line));
        lines.take_while(|(_, line)| !line.starts_with("#[cfg(test)]"))
    }
}

/// `crate::graph::body` names the module `graph`; so does `use crate::{graph, …}` on one line.
fn used_modules(line: &str) -> Vec<String> {
    let mut used = Vec::new();
    for part in line.split("crate::").skip(1) {
        let names = part.strip_prefix('{').map_or(part, |list| list.split('}').next().unwrap_or(list));
        let listed = part.starts_with('{');
        let names: Vec<&str> = if listed { names.split(',').collect() } else { vec![names] };
        let word = |name: &str| {
            name.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
        };
        used.extend(names.into_iter().map(word));
    }
    used
}

#[test]
fn modules_use_only_what_they_may() {
    let table: BTreeMap<&str, &[&str]> = MAY_USE.iter().copied().collect();
    let mut wrong = Vec::new();
    for file in files() {
        let module = file.module();
        if module == "lib" || module == "main" {
            continue;
        }
        let Some(allowed) = table.get(module.as_str()) else {
            wrong.push(format!("{}: module `{module}` is not in the table", file.path.display()));
            continue;
        };
        for (number, line) in file.code().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            for used in used_modules(line) {
                let known = table.contains_key(used.as_str());
                if known && used != module && !allowed.contains(&used.as_str()) {
                    wrong.push(format!("{}:{number}: `{module}` may not use `{used}`", file.path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn crates_and_the_outside_world_stay_where_they_belong() {
    let mut wrong = Vec::new();
    for file in files() {
        let module = file.module();
        for (number, line) in file.code().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let place = format!("{}:{number}", file.path.display());
            for (name, home) in KEPT_INSIDE.iter().copied() {
                let at_home = module == home || (name == "bytemuck" && file.path.ends_with("run/blank.rs"));
                if !at_home && line.contains(&format!("{name}::")) {
                    wrong.push(format!("{place}: `{name}` belongs to `{home}`"));
                }
            }
            let allowed = |name: &str| {
                name == "std::time" && LOOKS_AT_THE_CLOCK.iter().any(|path| file.path.ends_with(path))
            };
            let outside = OUTSIDE_WORLD.iter().find(|name| line.contains(**name) && !allowed(name));
            if let Some(name) =
                outside.filter(|_| !["cli", "engine", "io", "main", "serve"].contains(&module.as_str()))
            {
                wrong.push(format!("{place}: `{name}` belongs to `cli`, `engine`, `io` and `serve`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every call can be made to fail there (tests/faults).
#[test]
fn files_are_touched_in_one_place() {
    let mut wrong = Vec::new();
    for file in files().iter().filter(|file| !TOUCHES_FILES.iter().any(|path| file.path.ends_with(path))) {
        let lines = file.code().filter(|(_, line)| line.contains("std::fs"));
        wrong.extend(lines.map(|(number, _)| {
            format!("{}:{number}: `std::fs` belongs to src/io/disk.rs", file.path.display())
        }));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_says_what_it_is_and_stays_small() {
    let mut wrong = Vec::new();
    for file in files() {
        let name = file.path.display();
        if !file.text.starts_with("//!") {
            wrong.push(format!("{name}: does not start with a `//!` head"));
        }
        let lines =
            file.code().filter(|(_, line)| !line.trim().is_empty() && !line.trim_start().starts_with("//"));
        let count = lines.count();
        if count > LONGEST_FILE {
            wrong.push(format!("{name}: {count} code lines, at most {LONGEST_FILE}"));
        }
        wrong.extend(long_functions(&file));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Functions from their `fn` line to the closing brace of the same indentation.
fn long_functions(file: &File) -> Vec<String> {
    let mut long = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in file.code() {
        let indent = line.len() - line.trim_start().len();
        let starts = line.contains("fn ")
            && line.trim_start().starts_with(['f', 'p', 'c', 'u'])
            && !line.trim_end().ends_with(';');
        if starts && !line.trim_end().ends_with('}') {
            open = Some((number, " ".repeat(indent) + "}"));
        } else if let Some((start, close)) = &open
            && line == close
        {
            if number - start > LONGEST_FUNCTION {
                long.push(format!("{}:{start}: a function of {} lines", file.path.display(), number - start));
            }
            open = None;
        }
    }
    long
}

#[test]
fn nothing_is_left_unfinished() {
    let marks = ["todo!(", "unimplemented!(", "TODO", "FIXME", "XXX", "dbg!("];
    let mut wrong = Vec::new();
    for file in files() {
        for (number, line) in file.text.lines().enumerate() {
            if let Some(mark) = marks.iter().find(|mark| line.contains(**mark)) {
                wrong.push(format!("{}:{}: {mark}", file.path.display(), number + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
