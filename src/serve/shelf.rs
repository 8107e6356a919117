//! A script in a file -> engines: one for every set of parameters that is in use, all made anew when the file is saved.
//!
//! ```text
//! terrain.itp                     edition 1: { }  {seed: 8}  {seed: 9}
//! … saved with a mistake in it    edition 2: the mistake, and the engines of edition 1
//! … saved again                   edition 3: { }
//! ```
//!
//! What is kept between reads is kept by each engine, up to its part of [`STORE`].

use super::Options;
use super::answer::{Refusal, busy};
use crate::diagnostic::{Diagnostic, Style, render, to_json};
use crate::engine::files::{Folder, read_script, shown};
use crate::engine::{Engine, Error};
use crate::graph::{InputSource, TensorKind};
use crate::io::disk;
use crate::source::Sources;
use serde_json::Value;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::watch;

/// Bytes of results that all engines keep together.
const STORE: u64 = 384 << 20;
/// Engines that are kept; the one used longest ago goes first.
const MOST: usize = 4;

/// A file that has not changed for this long is written.
const SETTLED: Duration = Duration::from_millis(30);
/// How often that is looked at before the file is read as it is.
const LOOKS: u32 = 20;

/// Names and values of parameters, in order of their names.
pub(super) type Settings = Vec<(String, String)>;

/// The script and what became of it.
pub(super) struct Shelf {
    options: Options,
    state: Mutex<State>,
    number: watch::Sender<u64>,
}

struct State {
    /// Counts how often the script was read.
    number: u64,
    stamps: Stamps,
    /// What the page is told about the script as it is now.
    diagnostics: Vec<Value>,
    /// What ran last, which may be an older script.
    edition: Option<Arc<Edition>>,
}

/// A script that compiles, with engines for it.
pub(super) struct Edition {
    /// Changes with everything that its elements depend on, parameters apart.
    pub(super) digest: u64,
    options: Options,
    text: String,
    slots: Mutex<Vec<(Settings, Arc<Slot>)>>,
}

type Slot = OnceLock<Result<Arc<Variant>, Error>>;

/// An engine, and what is found out with it once.
pub(super) struct Variant {
    pub(super) engine: Engine,
    /// Ranges of layers, by what they were asked for.
    pub(super) ranges: Mutex<BTreeMap<String, (f64, f64)>>,
    /// What tiles compute by themselves, by what they were asked for.
    pub(super) alone: Mutex<BTreeMap<String, Arc<OnceLock<f64>>>>,
}

impl Variant {
    fn new(engine: Engine) -> Variant {
        Variant { engine, ranges: Mutex::default(), alone: Mutex::default() }
    }
}

/// When files were saved last, and how long they are.
type Stamps = Vec<(PathBuf, Option<(SystemTime, u64)>)>;

impl Shelf {
    /// Reads the script, whatever is wrong with it.
    pub(super) fn open(options: Options) -> Shelf {
        let empty = State { number: 0, stamps: Vec::new(), diagnostics: Vec::new(), edition: None };
        let shelf = Shelf { options, state: Mutex::new(empty), number: watch::Sender::new(0) };
        shelf.load();
        shelf
    }

    /// Reads the script again if one of its files was saved.
    pub(super) fn look(&self) {
        let stamps = self.lock().stamps.clone();
        if stamps.iter().any(|(path, stamp)| stamp_of(path) != *stamp) {
            wait_until_written(&stamps);
            self.load();
        }
    }

    /// Tells when the script was read again.
    pub(super) fn news(&self) -> watch::Receiver<u64> {
        self.number.subscribe()
    }

    /// How often the script was read, what is to be said about it, and what runs.
    pub(super) fn now(&self) -> (u64, Vec<Value>, Option<Arc<Edition>>) {
        let state = self.lock();
        (state.number, state.diagnostics.clone(), state.edition.clone())
    }

    /// What runs.
    pub(super) fn edition(&self) -> Result<Arc<Edition>, Refusal> {
        self.lock().edition.clone().ok_or_else(|| busy("the script does not compile"))
    }

    /// As the user wrote its path.
    pub(super) fn name(&self) -> String {
        shown(&self.options.file)
    }

    fn load(&self) {
        // Taken before the script is read, so that a save in between is seen.
        let root = vec![stamped(self.options.file.clone())];
        let (stamps, diagnostics, edition) = match open(&self.options) {
            Ok((edition, variant)) => {
                let engine = &variant.engine;
                let stamps = root.into_iter().chain(files_of(engine, &self.options).map(stamped)).collect();
                let warnings: Vec<Diagnostic> = engine.warnings_for_reads().cloned().collect();
                let warnings = told(&warnings, engine.sources());
                (stamps, warnings, Some(Arc::new(edition.with(variant))))
            }
            Err(error) => {
                // What the script used before is watched on: the mistake may be there.
                let known = self.lock().stamps.clone().into_iter().skip(1);
                let stamps = root.into_iter().chain(known.map(|(path, _)| stamped(path))).collect();
                (stamps, told(error.diagnostics(), error.sources()), None)
            }
        };
        let mut state = self.lock();
        state.stamps = stamps;
        state.diagnostics = diagnostics;
        state.edition = edition.or(state.edition.take());
        state.number += 1;
        self.number.send_replace(state.number);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(options: &Options) -> Result<(Edition, Variant), Error> {
    let engine = compile(options, &options.settings)?;
    let text = engine.sources().iter().next().map(|source| source.text.to_string()).unwrap_or_default();
    let digest = digest(&engine, options);
    let edition = Edition { digest, options: options.clone(), text, slots: Mutex::default() };
    Ok((edition, Variant::new(engine)))
}

impl Edition {
    /// The same with an engine for the parameters that the script and the command line give.
    fn with(self, variant: Variant) -> Edition {
        let slot = Slot::from(Ok(Arc::new(variant)));
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).push((Vec::new(), Arc::new(slot)));
        self
    }

    /// The engine for parameters that a request gives, made now if need be.
    pub(super) fn variant(&self, settings: &Settings) -> Result<Arc<Variant>, Refusal> {
        let slot = self.slot(settings);
        let variant = slot.get_or_init(|| {
            let all: Settings = self.options.settings.iter().chain(settings).cloned().collect();
            let engine = compile_text(&self.options, &all, &self.text)?;
            Ok(Arc::new(Variant::new(engine)))
        });
        Ok(variant.clone()?)
    }

    /// Where that engine is or will be; it is now the one that was used last.
    fn slot(&self, settings: &Settings) -> Arc<Slot> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let known = slots.iter().position(|(known, _)| known == settings);
        let entry = known.map(|at| slots.remove(at)).unwrap_or_else(|| (settings.clone(), Arc::default()));
        let slot = entry.1.clone();
        slots.push(entry);
        if slots.len() > MOST {
            slots.remove(0);
        }
        slot
    }
}

/// Compiles the script as its file is now.
pub(super) fn compile(options: &Options, settings: &[(String, String)]) -> Result<Engine, Error> {
    let text =
        read_script(&options.file).map_err(|diagnostic| Error::new(*diagnostic, &Sources::default()))?;
    compile_text(options, settings, &text)
}

fn compile_text(options: &Options, settings: &[(String, String)], text: &str) -> Result<Engine, Error> {
    // Requests are many and small: each is read by one thread, and several at a time.
    let builder = Engine::builder().threads(1).memory(options.memory).store(STORE / MOST as u64);
    let builder = builder.slices_from("read=");
    let builder = settings.iter().fold(builder, |builder, (name, value)| builder.set(name, value));
    let mut sources = Sources::default();
    let root = sources.add(shown(&options.file), text);
    let folder = Folder::of(&options.file);
    let mut engine = builder.compile_with(sources, root, &folder, folder.path.clone())?;
    for (input, path) in &options.bindings {
        engine.bind_file(input, path)?;
    }
    Ok(engine)
}

/// Diagnostics as the page shows them: the fields of `check --json`, and the text for people.
fn told(diagnostics: &[Diagnostic], sources: &Sources) -> Vec<Value> {
    let tell = |diagnostic: &Diagnostic| {
        let mut value: Value = serde_json::from_str(&to_json(diagnostic, sources)).unwrap_or_default();
        value["text"] = render(diagnostic, sources, Style::Plain).into();
        value
    };
    diagnostics.iter().map(tell).collect()
}

/// The files besides the script that its elements depend on.
fn files_of<'a>(engine: &'a Engine, options: &'a Options) -> impl Iterator<Item = PathBuf> + 'a {
    let folder = Folder::of(&options.file).path;
    let used = engine.sources().iter().skip(1).map(|source| PathBuf::from(&source.name));
    let inputs = engine.program().graph.tensors.iter().filter_map(|tensor| match &tensor.kind {
        TensorKind::Input(InputSource::File(path)) => Some(PathBuf::from(&**path)),
        TensorKind::Input(_) | TensorKind::Var(_) | TensorKind::Pointwise(_) | TensorKind::Windowed(_) => {
            None
        }
    });
    let bound = options.bindings.iter().map(|(_, path)| PathBuf::from(path));
    used.chain(inputs).map(move |path| folder.join(path)).chain(bound).filter(|path| path.is_file())
}

/// Editors empty a file before they write it: waits until files stay as they are, or long enough.
fn wait_until_written(stamps: &Stamps) {
    let look = || stamps.iter().map(|(path, _)| stamp_of(path)).collect::<Vec<_>>();
    let mut before = look();
    for _ in 0..LOOKS {
        std::thread::sleep(SETTLED);
        let now = look();
        if now == before && now.iter().all(Option::is_some) {
            return;
        }
        before = now;
    }
}

fn stamped(path: PathBuf) -> (PathBuf, Option<(SystemTime, u64)>) {
    let stamp = stamp_of(&path);
    (path, stamp)
}

fn stamp_of(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = disk::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// A number for the texts and files that elements depend on.
fn digest(engine: &Engine, options: &Options) -> u64 {
    let mut hasher = DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    options.settings.hash(&mut hasher);
    for source in engine.sources().iter() {
        (&source.name, &source.text).hash(&mut hasher);
    }
    for (path, stamp) in files_of(engine, options).map(stamped) {
        (path, stamp).hash(&mut hasher);
    }
    hasher.finish()
}
