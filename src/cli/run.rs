//! `itp run`, `itp plan`, `itp bench`: everything up to the run itself, which is not there yet.

use super::Outcome;
use super::args::{BenchArgs, PlanArgs, RunArgs, ScriptOptions};
use super::report::Report;
use super::script::Script;
use crate::compile::Program;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, closest, quoted};
use crate::graph::TensorKind;
use crate::source::Sources;
use crate::syntax;
use std::path::Path;

/// Writes the outputs, or computes slices.
pub(super) fn run(args: &RunArgs, report: &mut Report) -> Outcome {
    prepared(&args.file, &args.read, &args.script, report).unwrap_or_else(|outcome| outcome)
}

/// Says what a run would do.
pub(super) fn plan(args: &PlanArgs, report: &mut Report) -> Outcome {
    prepared(&args.file, &args.read, &args.script, report).unwrap_or_else(|outcome| outcome)
}

/// Measures runs.
pub(super) fn bench(args: &BenchArgs, report: &mut Report) -> Outcome {
    prepared(&args.file, &args.read, &args.script, report).unwrap_or_else(|outcome| outcome)
}

/// Checks the slices, the script and the names that options give.
fn prepared(
    file: &Path,
    reads: &[String],
    options: &ScriptOptions,
    report: &mut Report,
) -> Result<Outcome, Outcome> {
    check_slices(reads, report)?;
    let mut script = Script::open_or_tell(file, report)?;
    let program = script.compile_or_tell(&options.settings, report)?;
    check_bindings(&script, &program, options, report)?;
    let message = "running is not available yet: this version checks, formats, shows and draws scripts";
    let help = "use `itp check`, `itp emit` or `itp graph`";
    Err(report.fail(&script.name, Diagnostic::new(Code::E0903, message).help(help)))
}

/// A slice that does not parse is a wrong command line, whatever the script.
fn check_slices(reads: &[String], report: &mut Report) -> Result<(), Outcome> {
    for read in reads {
        let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
        let source = sources.add("--read", read.as_str());
        if syntax::parse_slice(&sources, source, &mut diagnostics).is_none() {
            report.diagnostics("--read", &sources, diagnostics);
            return Err(Outcome::Misused);
        }
    }
    Ok(())
}

/// `--bind` must name inputs of the script.
pub(super) fn check_bindings(
    script: &Script,
    program: &Program,
    options: &ScriptOptions,
    report: &mut Report,
) -> Result<(), Outcome> {
    let inputs = program.graph.tensors.iter().filter(|tensor| matches!(tensor.kind, TensorKind::Input(_)));
    let inputs: Vec<&str> = inputs.map(|tensor| &*tensor.name).collect();
    match options.bindings.iter().find(|(name, _)| !inputs.contains(&name.as_str())) {
        Some((name, _)) => Err(report.fail(&script.name, unknown_input(name, &inputs))),
        None => Ok(()),
    }
}

fn unknown_input(name: &str, inputs: &[&str]) -> Diagnostic {
    let diagnostic = Diagnostic::new(Code::E0201, format!("the script has no input {}", quoted(name)));
    match (closest(name, inputs.iter().copied()), inputs) {
        (Some(close), _) => diagnostic.help(format!("write `--bind {close}=…`")),
        (None, []) => diagnostic.help("remove `--bind`: the script declares no `input`"),
        (None, inputs) => diagnostic.help(format!("choose one of {}", inputs.join(", "))),
    }
}
