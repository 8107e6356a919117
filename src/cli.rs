//! The command line: arguments -> files, text on stdout, diagnostics on stderr, and an exit code.
//!
//! ```text
//! $ itp check terrain.itp
//! error[E0201]: unknown name `heigth`
//!   …
//! error: 1 error in terrain.itp          (exit code 1)
//! ```
//!
//! [`args`] says what can be written, [`values`] reads single values; a file per command does the work, with
//! [`files`] for reading and writing, [`report`] for telling and [`worker`] for the thread it all runs on. Those that
//! compute share [`session`], a compiled script with its data, [`progress`], [`numbers`] and [`table`].

pub mod args;
mod bench;
mod check;
mod emit;
mod explain;
mod files;
mod fmt;
mod graph;
mod new;
mod numbers;
pub mod picture;
mod plan;
mod progress;
pub mod repl;
mod report;
mod run;
#[cfg(feature = "serve")]
mod serve;
mod script;
mod source;
#[cfg(feature = "zarr")]
mod store;
mod stream;
mod stream_args;
mod session;
mod table;
mod trace;
mod tree;
pub mod values;
mod worker;

use crate::diagnostic::{Code, Diagnostic};
use args::{Cli, Command};
use report::Report;
use std::process::ExitCode;

/// How a command ended; several files end as the worst of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    /// All is well: exit code 0.
    Done,
    /// The script, its data or the run failed, and a diagnostic says why: exit code 1.
    Failed,
    /// The command line is wrong: exit code 2.
    Misused,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> ExitCode {
        match outcome {
            Outcome::Done => ExitCode::SUCCESS,
            Outcome::Failed => ExitCode::from(1),
            Outcome::Misused => ExitCode::from(2),
        }
    }
}

/// Does what the process's arguments say; wrong ones and `--help` end the process here.
pub fn main() -> ExitCode {
    let cli = args::parse(std::env::args_os().collect()).unwrap_or_else(|error| error.exit());
    worker::tell_panics_in_one_line();
    worker::end_without_memory();
    worker::fail_on_large_files();
    #[cfg(debug_assertions)]
    if let Err(message) = worker::fail_on_demand() {
        return worker::refuse(&message);
    }
    worker::on_big_stack(move || perform(cli)).unwrap_or(Outcome::Failed).into()
}

fn perform(cli: Cli) -> Outcome {
    let mut report = Report::new(&cli);
    let outcome = dispatch(&cli.command, &mut report);
    report.finish();
    outcome
}

/// A command that this build was made without.
#[cfg(not(feature = "serve"))]
fn later(command: &str, report: &mut Report) -> Outcome {
    let message = format!("this build has no `itp {command}`");
    let help = "use `itp run FILE --read SLICE`, which prints or writes any part of a script";
    report.fail("the command line", Diagnostic::new(Code::E0903, message).help(help))
}

#[cfg(feature = "lsp")]
fn lsp(report: &mut Report) -> Outcome {
    match crate::lsp::serve(files::library_file) {
        Ok(crate::lsp::Ended::Properly) => Outcome::Done,
        Ok(crate::lsp::Ended::Abruptly) => Outcome::Failed,
        Err(message) => report.fail("the editor", Diagnostic::new(Code::E0001, message)),
    }
}

fn dispatch(command: &Command, report: &mut Report) -> Outcome {
    match command {
        Command::Run(args) => run::run(args, report),
        Command::Plan(args) => plan::plan(args, report),
        Command::Check(args) => check::check(args, report),
        Command::Fmt(args) => fmt::fmt(args, report),
        Command::Emit(args) => emit::emit(args, report),
        Command::Graph(args) => graph::graph(args, report),
        Command::Explain(args) => explain::explain(args, report),
        Command::Bench(args) => bench::bench(args, report),
        Command::Tree(args) => tree::tree(args, report),
        Command::Repl(args) => repl::repl(args, report),
        #[cfg(feature = "serve")]
        Command::Serve(args) => serve::serve(args, report),
        #[cfg(not(feature = "serve"))]
        Command::Serve(_) => later("serve", report),
        #[cfg(feature = "zarr")]
        Command::Store(args) => store::store(args, report),
        Command::Stream(args) => stream::stream(args, report),
        #[cfg(feature = "lsp")]
        Command::Lsp(_) => lsp(report),
        Command::New(args) => new::new(args, report),
        Command::Completions { shell } => report.print(&args::completions(*shell)),
    }
}
