//! `itp check`: scripts -> what is wrong with them, for people or, one JSON object per line, for tools.

use super::Outcome;
use super::args::CheckArgs;
use super::files;
use super::report::{Report, plural};
use super::script::Script;
use crate::compile::Program;
use crate::diagnostic::{Diagnostic, Diagnostics, to_json};
use crate::source::Sources;
use serde_json::Value;
use std::path::Path;

/// What came of one script.
struct Checked {
    name: String,
    sources: Sources,
    program: Option<Program>,
    diagnostics: Diagnostics,
}

/// Checks every script.
pub(super) fn check(args: &CheckArgs, report: &mut Report) -> Outcome {
    let tell = if args.json { tell_tools } else { tell_people };
    args.files.iter().map(|file| tell(check_file(file), report)).max().unwrap_or(Outcome::Done)
}

fn check_file(file: &Path) -> Checked {
    let mut diagnostics = Diagnostics::default();
    let Some(mut script) = diagnostics.take(Script::open(file)) else {
        return Checked { name: files::shown(file), sources: Sources::default(), program: None, diagnostics };
    };
    let program = script.compile(&[], &mut diagnostics);
    Checked { name: script.name, sources: script.sources, program, diagnostics }
}

fn tell_people(checked: Checked, report: &mut Report) -> Outcome {
    let Checked { name, sources, program, diagnostics } = checked;
    let outcome = report.diagnostics(&name, &sources, diagnostics);
    if let Some(program) = program {
        let tensors = plural(program.graph.tensors.len(), "tensor");
        let outputs = plural(program.graph.outputs.len(), "output");
        report.say(&format!("{name}: ok ({tensors}, {outputs})"));
    }
    outcome
}

fn tell_tools(checked: Checked, report: &mut Report) -> Outcome {
    let Checked { name, sources, diagnostics, .. } = checked;
    let outcome = if diagnostics.has_errors() { Outcome::Failed } else { Outcome::Done };
    let lines = diagnostics.into_sorted().into_iter();
    let text: String = lines.map(|diagnostic| json_line(&diagnostic, &sources, &name)).collect();
    report.print(&text).max(outcome)
}

/// A diagnostic without a place is about the script as a whole, and says so in `file`.
fn json_line(diagnostic: &Diagnostic, sources: &Sources, script: &str) -> String {
    let line = to_json(diagnostic, sources);
    if diagnostic.primary().is_some() {
        return line + "\n";
    }
    let mut value: Value = serde_json::from_str(&line).expect("a diagnostic is written as valid JSON");
    value["file"] = script.into();
    format!("{value}\n")
}
