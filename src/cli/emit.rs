//! `itp emit`: a script -> the text form of one stage of its compilation.

use super::Outcome;
use super::args::EmitArgs;
use super::report::Report;
use super::script::Script;
use super::session::{self, Session};
use crate::compile::{self, Options, Program, Show, Stage};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, closest, quoted};
use crate::graph::view::View;
use crate::run::job::{Sink, Trace};
use std::sync::Arc;

/// Prints the stage.
pub(super) fn emit(args: &EmitArgs, report: &mut Report) -> Outcome {
    emitted(args, report).unwrap_or_else(|outcome| outcome)
}

fn emitted(args: &EmitArgs, report: &mut Report) -> Result<Outcome, Outcome> {
    if args.stage.is_of_a_read() {
        return of_reads(args, report);
    }
    let mut script = Script::open_or_tell(&args.file, report)?;
    session::remark_run_options(&args.options, "emit", report);
    if args.tensor.is_some() || !args.script.bindings.is_empty() {
        find_names(args, &mut script, report)?;
    }
    let mut diagnostics = Diagnostics::default();
    let options = Options { settings: &args.script.settings, ..Options::default() };
    let Script { name, sources, root, folder } = &mut script;
    let show = Show { tensor: args.tensor.as_deref(), after: args.after };
    let text = compile::emit(args.stage, sources, *root, folder, &options, show, &mut diagnostics);
    let outcome = report.diagnostics(name, sources, diagnostics);
    Ok(report.print(&text.ok_or(outcome)?).max(outcome))
}

/// Plans or traces reads, on one thread unless the command line says otherwise, so that the text is the same anywhere.
fn of_reads(args: &EmitArgs, report: &mut Report) -> Result<Outcome, Outcome> {
    let mut options = args.options.clone();
    options.threads = Some(options.threads.unwrap_or(1));
    let mut session = session::open(&args.file, &args.read, &args.script, &options, report)?;
    session::remark_run_options(&options, "emit", report);
    let mut text = String::new();
    for (name, view) in session.reads(&args.read, report)? {
        text.push_str(&format!("# {name}\n"));
        let told = match args.stage == Stage::Trace {
            true => traced(&mut session, view, report)?,
            false => session.sketch(view, report)?.text(),
        };
        text.push_str(&told);
    }
    Ok(report.print(&text))
}

/// Tiles that a read may have to be traced: each is some lines of text.
const MOST_TRACED: u64 = 1 << 16;

fn traced(session: &mut Session, view: Arc<View>, report: &mut Report) -> Result<String, Outcome> {
    let tiles = session.sketch(view.clone(), report)?.plan().tiles;
    if tiles > MOST_TRACED {
        let message = format!("a trace of {tiles} tiles is too long, {MOST_TRACED} is the most");
        let diagnostic = Diagnostic::new(Code::E0903, message).help("trace a smaller slice with `--read`");
        return Err(report.fail(&session.name, diagnostic));
    }
    let trace = Arc::new(Trace::detailed());
    session.engine.record(trace.clone());
    let ran = session.engine.prepare_view(view).and_then(|prepared| prepared.run(&mut Nowhere));
    ran.map_err(|error| session::failed(&session.name, error, report))?;
    Ok(trace.text())
}

/// Where elements go that nobody wants.
struct Nowhere;

impl Sink for Nowhere {
    fn write(&mut self, _: &[u8]) -> crate::diagnostic::Result<()> {
        Ok(())
    }
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
