//! `itp emit`: a script -> the text form of one stage of its compilation.

use super::Outcome;
use super::args::EmitArgs;
use super::report::Report;
use super::script::Script;
use super::session;
use crate::compile::{self, Options, Program, Show};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, closest, quoted};

/// Prints the stage.
pub(super) fn emit(args: &EmitArgs, report: &mut Report) -> Outcome {
    emitted(args, report).unwrap_or_else(|outcome| outcome)
}

fn emitted(args: &EmitArgs, report: &mut Report) -> Result<Outcome, Outcome> {
    let mut script = Script::open_or_tell(&args.file, report)?;
    session::refuse_run_options(&script.name, &args.options, "emit", report)?;
    if args.tensor.is_some() || !args.script.bindings.is_empty() {
        find_names(args, &mut script, report)?;
    }
    let mut diagnostics = Diagnostics::default();
    let options = Options { settings: &args.script.settings };
    let Script { name, sources, root, folder } = &mut script;
    let show = Show { tensor: args.tensor.as_deref(), after: args.after };
    let text = compile::emit(args.stage, sources, *root, folder, &options, show, &mut diagnostics);
    let outcome = report.diagnostics(name, sources, diagnostics);
    Ok(report.print(&text.ok_or(outcome)?).max(outcome))
}

/// The names that options give must be the script's; its own faults are told by the stage itself.
fn find_names(args: &EmitArgs, script: &mut Script, report: &mut Report) -> Result<(), Outcome> {
    let program = script.compile(&args.script.settings, &mut Diagnostics::default());
    let Some(program) = program else { return Ok(()) };
    session::check_bindings(&script.name, &program, &args.script, report)?;
    match args.tensor.as_deref().and_then(|name| unknown_tensor(name, &program)) {
        Some(diagnostic) => Err(report.fail(&script.name, diagnostic)),
        None => Ok(()),
    }
}

fn unknown_tensor(name: &str, program: &Program) -> Option<Diagnostic> {
    let tensors = program.graph.tensors.iter().map(|tensor| &*tensor.name);
    let known: Vec<&str> = tensors.chain(program.graph.views.iter().map(|named| &*named.view.name)).collect();
    if known.contains(&name) {
        return None;
    }
    let diagnostic = Diagnostic::new(Code::E0201, format!("the script has no tensor {}", quoted(name)));
    let close = closest(name, known.iter().copied());
    Some(match close {
        Some(close) => diagnostic.help(format!("write `--tensor {close}`")),
        None => diagnostic,
    })
}
