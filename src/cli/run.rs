//! `itp run`: a script -> its output files, or slices of its tensors as files or text.

use super::Outcome;
use super::args::RunArgs;
use super::files;
use super::numbers;
use super::report::{Report, plural};
use super::session::{self, Session};
use super::table::table;
use crate::diagnostic::quoted;
use crate::engine::{Prepared, Result as Ran, Streamed};
use crate::graph::{FileKind, OutputOptions};
use crate::run::stats::Stats;
use serde_json::json;
use std::path::Path;

/// Writes the outputs, or computes slices.
pub(super) fn run(args: &RunArgs, report: &mut Report) -> Outcome {
    done(args, report).unwrap_or_else(|outcome| outcome)
}

fn done(args: &RunArgs, report: &mut Report) -> Result<Outcome, Outcome> {
    let session = session::open(&args.file, &args.read, &args.script, &args.options, report)?;
    let mut stats = Stats { engine: session.engine.backend_name(), ..Stats::default() };
    if args.read.is_empty() && !session.engine.stream_inputs().is_empty() {
        write_streamed(&session, &mut stats, report)?;
    } else if args.read.is_empty() {
        write_outputs(&session, &mut stats, report)?;
    } else {
        read_slices(&session, args, &mut stats, report)?;
    }
    session.account(stats, json!({}), &args.options, report)?;
    Ok(Outcome::Done)
}

/// Writes the outputs of a script with streams, as long as frames come.
fn write_streamed(session: &Session, stats: &mut Stats, report: &mut Report) -> Result<(), Outcome> {
    let streamed = session.engine.save_streamed(&mut |news| report.say(&told(&session.name, news)));
    stats.add(&streamed.map_err(|error| session::failed(&session.name, error, report))?);
    Ok(())
}

/// What is said about a stream.
fn told(script: &str, news: Streamed<'_>) -> String {
    match news {
        Streamed::Begins { peak, rows } => {
            format!(
                "{script}: {} at a time, peak {}",
                plural(rows.max(0) as usize, "row"),
                numbers::bytes(peak)
            )
        }
        Streamed::LeftOver { input, leftover, frame } => {
            format!(
                "{script}: {} ended with {leftover} of {frame} bytes of one more frame, which are left out",
                quoted(input)
            )
        }
        Streamed::Written { path, rows } => format!("{path}: {}", plural(rows.max(0) as usize, "row")),
    }
}

/// Everything is planned before anything runs, so that what is missing is told at once.
fn write_outputs(session: &Session, stats: &mut Stats, report: &mut Report) -> Result<(), Outcome> {
    let outputs = &session.engine.program().graph.outputs;
    if outputs.is_empty() {
        report.say(&format!("{}: the script has no `output`; read a slice with `--read`", session.name));
    }
    let prepared = outputs.iter().map(|output| session.prepare_output(output, report));
    let prepared: Vec<Prepared<'_>> = prepared.collect::<Result<_, _>>()?;
    for (output, prepared) in outputs.iter().zip(&prepared) {
        let fits = prepared.can_save(Path::new(&*output.path), output.kind, &output.options);
        fits.map_err(|error| session::failed(&session.name, error, report))?;
    }
    for (output, prepared) in outputs.iter().zip(&prepared) {
        let save = || prepared.save(Path::new(&*output.path), output.kind, &output.options);
        let shown = numbers::stored(prepared.view(), output.kind, &output.options);
        stats.add(&watched(session, &output.path, &shown, save, report)?);
    }
    Ok(())
}

fn read_slices(
    session: &Session,
    args: &RunArgs,
    stats: &mut Stats,
    report: &mut Report,
) -> Result<(), Outcome> {
    let prepared = args.read.iter().map(|slice| session.prepare(slice, report));
    let prepared: Vec<Prepared<'_>> = prepared.collect::<Result<_, _>>()?;
    for (path, prepared) in args.out.iter().zip(&prepared) {
        let fits = prepared.can_save(path, kind_of(path), &OutputOptions::default());
        fits.map_err(|error| session::failed(&session.name, error, report))?;
    }
    for (at, (slice, prepared)) in args.read.iter().zip(&prepared).enumerate() {
        stats.add(&match args.out.get(at) {
            Some(path) => write_slice(session, prepared, path, report)?,
            None => print_slice(session, prepared, slice, report)?,
        });
    }
    Ok(())
}

fn write_slice(
    session: &Session,
    prepared: &Prepared<'_>,
    path: &Path,
    report: &mut Report,
) -> Result<Stats, Outcome> {
    let (kind, options) = (kind_of(path), OutputOptions::default());
    let shown = numbers::stored(prepared.view(), kind, &options);
    watched(session, &files::shown(path), &shown, || prepared.save(path, kind, &options), report)
}

fn kind_of(path: &Path) -> FileKind {
    FileKind::of(&path.to_string_lossy()).expect("the command line has checked the ending")
}

/// Prints type, domain and elements of a slice.
fn print_slice(
    session: &Session,
    prepared: &Prepared<'_>,
    slice: &str,
    report: &mut Report,
) -> Result<Stats, Outcome> {
    let mut array = None;
    let read = || {
        let (read, stats) = prepared.read_array()?;
        array = Some(read);
        Ok(stats)
    };
    let stats = watched(session, slice, &numbers::shaped(prepared.view()), read, report)?;
    let elements = array.as_ref().map(table).unwrap_or_default();
    let text = format!("{slice}: {}{}\n{elements}\n", prepared.element(), prepared.domain());
    match report.print(&text) {
        Outcome::Done => Ok(stats),
        failed => Err(failed),
    }
}

/// Runs with a progress bar, and tells how it ended.
fn watched(
    session: &Session,
    name: &str,
    shaped: &str,
    run: impl FnOnce() -> Ran<Stats>,
    report: &mut Report,
) -> Result<Stats, Outcome> {
    session.progress.begin(name);
    let stats = run();
    session.progress.end();
    let stats = stats.map_err(|error| session::failed(&session.name, error, report))?;
    report.say(&numbers::account(name, shaped, &stats));
    Ok(stats)
}
