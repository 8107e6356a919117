//! What `run`, `plan` and `bench` share: a script and options -> an engine that is ready to read.
//!
//! ```text
//! blur.itp --set gain=3 --bind photo=sky.npy --memory 1G   ->   Session { engine, … }
//! ```

use super::Outcome;
use super::args::{EngineKind, RunOptions, ScriptOptions};
use super::files;
use super::numbers;
use super::progress::Progress;
use super::report::Report;
use super::script::Script;
use super::source::{Origin, Source};
use super::trace::Spans;
use super::values::is_stdin;
use crate::compile::Program;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, closest, quoted};
use crate::engine::{Builder, Engine, Error, Prepared, Sketch};
use crate::graph::view::View;
use crate::graph::{Output, TensorKind};
use crate::io;
use crate::run::Kind;
use crate::run::job::{Trace, cancelled};
use crate::run::stats::Stats;
use crate::source::Sources;
use crate::syntax;
use serde_json::Value;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A compiled script with its data.
pub(super) struct Session {
    /// As the user wrote its path.
    pub(super) name: String,
    pub(super) engine: Engine,
    pub(super) progress: Arc<Progress>,
    trace: Option<Arc<Mutex<Spans>>>,
    start: Instant,
}

/// Compiles the script with its options and tells everything that is wrong.
pub(super) fn open(
    file: &Path,
    reads: &[String],
    script: &ScriptOptions,
    options: &RunOptions,
    report: &mut Report,
) -> Result<Session, Outcome> {
    let start = Instant::now();
    check_slices(reads, report)?;
    for path in options.stats_json.iter().chain(&options.trace).filter(|path| !is_stdin(path)) {
        files::can_write(path).map_err(|diagnostic| report.fail(&files::shown(path), *diagnostic))?;
    }
    let opened = Script::open_or_tell(file, report)?;
    let Script { name, sources, root, folder } = opened;
    let built = builder(script, options).compile_with(sources, root, &folder, folder.path.clone());
    let mut engine = built.map_err(|error| failed(&name, error, report))?;
    match reads {
        [] => tell_warnings(&name, engine.warnings(), &engine, report),
        _ => tell_warnings(&name, engine.warnings_for_reads(), &engine, report),
    }
    refuse_store(&name, options, report)?;
    check_bindings(&name, engine.program(), script, report)?;
    let streams = engine.stream_inputs();
    let stop = if streams.is_empty() { engine.cancel().flag() } else { Arc::new(AtomicBool::new(false)) };
    for (input, path) in
        script.bindings.iter().filter(|(input, _)| !streams.iter().any(|name| **name == **input))
    {
        engine.bind_file(input, path).map_err(|error| failed(&name, error, report))?;
    }
    bind_streams(&mut engine, (file, &name), script, &stop, report)?;
    let progress = Arc::new(Progress::new(report.is_quiet()));
    engine.on_progress(progress.listener());
    let trace = options.trace.as_ref().map(|path| Arc::new(Mutex::new(Spans::of(path))));
    if let Some(spans) = trace.clone() {
        let take = move |event| spans.lock().unwrap_or_else(PoisonError::into_inner).add(&event);
        engine.record(Arc::new(Trace::handed(move || micros(start), take)));
    }
    let ending = if streams.is_empty() { Ending::Soon } else { Ending::Orderly };
    stop_on_signals(stop, ending, &name, report)?;
    Ok(Session { name, engine, progress, trace, start })
}

/// Gives streams what `--bind` says, or standard input, which only one can have.
fn bind_streams(
    engine: &mut Engine,
    (file, name): (&Path, &str),
    script: &ScriptOptions,
    stop: &Arc<AtomicBool>,
    report: &mut Report,
) -> Result<(), Outcome> {
    let mut taken = is_stdin(file).then(|| "the script".to_owned());
    for input in engine.stream_inputs() {
        let bound = script.bindings.iter().find(|(name, _)| **name == *input);
        let origin = bound.map_or(Origin::Stdin, |(_, text)| Origin::bound(text));
        if origin == Origin::Stdin
            && let Some(other) = taken.replace(quoted(&input))
        {
            let message = format!("{} and {other} cannot both come from standard input", quoted(&input));
            let help = format!("add `--bind {input}=path`, or a port: `--bind {input}=tcp:9000`");
            return Err(report.fail(name, Diagnostic::new(Code::E1001, message).help(help)));
        }
        let source = Source::open(origin, report)?.stopping(stop.clone());
        engine.bind_stream(&input, source).map_err(|error| failed(name, error, report))?;
    }
    Ok(())
}

fn micros(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX)
}

fn builder(script: &ScriptOptions, options: &RunOptions) -> Builder {
    // Nothing is read twice by one command.
    let mut builder = Engine::builder().store(0).slices_from("--read");
    #[cfg(feature = "zarr")]
    if let Some(folder) = &options.store {
        builder = builder.store_folder(folder);
    }
    for (name, value) in &script.settings {
        builder = builder.set(name, value);
    }
    if let Some(threads) = options.threads {
        builder = builder.threads(threads.into());
    }
    if let Some(memory) = options.memory {
        builder = builder.memory(memory);
    }
    if let Some(tile) = &options.tile {
        builder = builder.tile(tile.0.iter().map(|size| i64::from(*size)));
    }
    // For comparing widths; anything else than a number counts as not said.
    let bits = std::env::var("ITP_VECTOR_BITS").ok().and_then(|bits| bits.parse().ok());
    if let Some(bits) = bits {
        builder = builder.vector_bits(bits);
    }
    match options.engine {
        Some(EngineKind::Jit) => builder.kind(Kind::Jit),
        Some(EngineKind::Interp) => builder.kind(Kind::Interp),
        None => builder,
    }
}

pub(super) fn tell_warnings<'a>(
    name: &str,
    warnings: impl IntoIterator<Item = &'a Diagnostic>,
    engine: &Engine,
    report: &mut Report,
) {
    let mut diagnostics = Diagnostics::default();
    warnings.into_iter().for_each(|warning| diagnostics.push(warning.clone()));
    report.diagnostics(name, engine.sources(), diagnostics);
}

#[cfg(feature = "zarr")]
fn refuse_store(_: &str, _: &RunOptions, _: &mut Report) -> Result<(), Outcome> {
    Ok(())
}

#[cfg(not(feature = "zarr"))]
fn refuse_store(name: &str, options: &RunOptions, report: &mut Report) -> Result<(), Outcome> {
    if options.store.is_none() {
        return Ok(());
    }
    let message = "this build cannot keep tiles on the disk";
    Err(report.fail(name, Diagnostic::new(Code::E0903, message).help("leave out `--store`")))
}

/// How what is being done ends when a signal asks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Within a fifth of a second, wherever it is: planning, compiling, in a host function, or waiting for a disk.
    Soon,
    /// In order, whatever that takes: streams write what has arrived. A second Ctrl-C ends them at once.
    Orderly,
}

/// Ctrl-C and a polite end set the flag; whatever happens then, no half file is left.
pub(super) fn stop_on_signals(
    flag: Arc<AtomicBool>,
    ending: Ending,
    name: &str,
    report: &mut Report,
) -> Result<(), Outcome> {
    let seen = Arc::new(AtomicBool::new(false));
    let register = |signal: i32, flag: &Arc<AtomicBool>| signal_hook::flag::register(signal, flag.clone());
    let registered = register(SIGINT, &flag)
        .and_then(|_| register(SIGINT, &seen))
        .and_then(|_| register(SIGTERM, &flag))
        .and_then(|id| if ending == Ending::Soon { register(SIGTERM, &seen) } else { Ok(id) });
    let watched = registered.and_then(|_| {
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || watch(&seen, ending))
    });
    watched.map(|_| ()).map_err(|error| {
        let message = format!("signals cannot be listened to: {}", files::why(&error));
        report.fail(name, Diagnostic::new(Code::E1009, message))
    })
}

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(20);
/// How long a run that was cancelled may take to end by itself.
const GRACE: Duration = Duration::from_millis(120);
/// Programs that start others often send a signal twice: that is one.
const TWICE: Duration = Duration::from_millis(100);
/// How a shell says that Ctrl-C ended a process.
const INTERRUPTED: i32 = 130;
/// Whether it was told what an engine found.
static TOLD: AtomicBool = AtomicBool::new(false);

/// Waits for signals, and ends the process if it does not end by itself.
fn watch(seen: &AtomicBool, ending: Ending) {
    let mut first: Option<Instant> = None;
    loop {
        std::thread::sleep(LOOK);
        let signal = seen.swap(false, Ordering::Relaxed);
        match (first, ending) {
            (None, _) => first = signal.then(Instant::now),
            (Some(first), Ending::Soon) if first.elapsed() >= GRACE => {
                io::remove_temporary();
                if !TOLD.swap(true, Ordering::Relaxed) {
                    let cancelled = cancelled();
                    let _ = writeln!(std::io::stderr(), "error[{}]: {}", cancelled.code, cancelled.message);
                }
                std::process::exit(1);
            }
            (Some(first), Ending::Orderly) if signal && first.elapsed() >= TWICE => {
                io::remove_temporary();
                std::process::exit(INTERRUPTED);
            }
            (Some(_), Ending::Soon | Ending::Orderly) => {}
        }
    }
}

/// Tells what an engine found.
pub(super) fn failed(name: &str, error: Error, report: &mut Report) -> Outcome {
    let (diagnostics, sources) = error.into_parts();
    TOLD.store(true, Ordering::Relaxed);
    report.diagnostics(name, &sources, diagnostics);
    Outcome::Failed
}

impl Session {
    /// Plans a read and tells when that fails.
    pub(super) fn prepare(&self, slice: &str, report: &mut Report) -> Result<Prepared<'_>, Outcome> {
        self.engine.prepare(slice).map_err(|error| failed(&self.name, error, report))
    }

    /// Plans an output of the script and tells when that fails.
    pub(super) fn prepare_output(
        &self,
        output: &Output,
        report: &mut Report,
    ) -> Result<Prepared<'_>, Outcome> {
        let prepared = self.engine.prepare_view(output.view.clone());
        prepared.map_err(|error| failed(&self.name, error, report))
    }

    /// The slices that were asked for, else the outputs of the script, each with its name.
    pub(super) fn reads(
        &self,
        slices: &[String],
        report: &mut Report,
    ) -> Result<Vec<(String, Arc<View>)>, Outcome> {
        let mut reads = Vec::new();
        for slice in slices {
            let view = self.engine.view(slice).map_err(|error| failed(&self.name, error, report))?;
            reads.push((slice.clone(), view));
        }
        let outputs = self.engine.program().graph.outputs.iter().filter(|_| slices.is_empty());
        reads.extend(outputs.map(|output| (output.path.to_string(), output.view.clone())));
        if reads.is_empty() {
            report.say(&format!("{}: the script has no `output`; name a slice with `--read`", self.name));
        }
        Ok(reads)
    }

    /// Plans a read that is not going to run, and tells when that fails.
    pub(super) fn sketch(&self, view: Arc<View>, report: &mut Report) -> Result<Sketch, Outcome> {
        self.engine.sketch_view(view).map_err(|error| failed(&self.name, error, report))
    }

    /// Says once what went wrong with kept tiles.
    #[cfg(feature = "zarr")]
    fn tell_store(&self, options: &RunOptions, report: &Report) {
        let (trouble, folder) =
            (self.engine.store_trouble(), options.store.as_deref().map(files::shown).unwrap_or_default());
        if trouble.damaged > 0 {
            let tiles = super::report::plural(trouble.damaged as usize, "tile");
            report.say(&format!("warning: {tiles} in {} damaged, computed again", quoted(&folder)));
        }
        if let Some(why) = trouble.unwritten {
            report.say(&format!("warning: not all tiles could be kept in {}: {why}", quoted(&folder)));
        }
    }

    #[cfg(not(feature = "zarr"))]
    fn tell_store(&self, _: &RunOptions, _: &Report) {}

    /// What every run leaves behind: `--stats`, `--time`, `--stats-json` with `more` fields, `--trace`.
    pub(super) fn account(
        &self,
        mut stats: Stats,
        more: Value,
        options: &RunOptions,
        report: &mut Report,
    ) -> Result<(), Outcome> {
        stats.seconds.total = self.start.elapsed().as_secs_f64();
        self.tell_store(options, report);
        if options.stats {
            report.say(&numbers::stats_table(&stats));
        }
        if options.time {
            report.say(&numbers::times(&stats.seconds));
        }
        if let Some(path) = &options.stats_json {
            let json = merged(stats.to_json(), more);
            written(path, &format!("{json:#}\n"), report)?;
        }
        match (&options.trace, &self.trace) {
            (Some(path), Some(spans)) => {
                let finished = spans.lock().unwrap_or_else(PoisonError::into_inner).finish();
                finished.map_err(|error| report.fail(&files::shown(path), files::unwritable(path, &error)))
            }
            (Some(_), None) | (None, _) => Ok(()),
        }
    }
}

/// The first object with the fields of the second; objects inside are merged too.
pub(super) fn merged(mut to: Value, more: Value) -> Value {
    if let (Value::Object(to), Value::Object(more)) = (&mut to, more) {
        for (key, value) in more {
            match to.get_mut(&key) {
                Some(old) => *old = merged(old.take(), value),
                None => _ = to.insert(key, value),
            }
        }
    }
    to
}

fn written(path: &Path, text: &str, report: &mut Report) -> Result<(), Outcome> {
    if is_stdin(path) {
        return match report.print(text) {
            Outcome::Done => Ok(()),
            failed => Err(failed),
        };
    }
    files::write(path, text).map_err(|diagnostic| report.fail(&files::shown(path), *diagnostic))
}

/// Options that tell about a run are there for all commands; where nothing runs they have nothing to tell.
pub(super) fn remark_run_options(options: &RunOptions, command: &str, report: &Report) {
    let given = [
        (options.stats, "--stats"),
        (options.stats_json.is_some(), "--stats-json"),
        (options.trace.is_some(), "--trace"),
        (options.time, "--time"),
    ];
    for (_, option) in given.into_iter().filter(|(given, _)| *given) {
        let why = format!("tells about a run, and `itp {command}` runs nothing: use `itp run`");
        report.say(&format!("note: `{option}` {why}\n"));
    }
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
    script: &str,
    program: &Program,
    options: &ScriptOptions,
    report: &mut Report,
) -> Result<(), Outcome> {
    let inputs = program.graph.tensors.iter().filter(|tensor| matches!(tensor.kind, TensorKind::Input(_)));
    let inputs: Vec<&str> = inputs.map(|tensor| &*tensor.name).collect();
    match options.bindings.iter().find(|(name, _)| !inputs.contains(&name.as_str())) {
        Some((name, _)) => Err(report.fail(script, unknown_input(name, &inputs))),
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
