//! The session: items and expressions in any order -> values, and a script that grows.
//!
//! ```text
//! tensor b: f32[x: inf] = a[x] / 2     `b` waits for `a`
//! tensor a: f32[x: inf] = x            both are there
//! b[0:4]                               computed, and kept
//! tensor a: f32[x: inf] = 2 * x        a and b changed; what was kept of others stays
//! ```
//!
//! Nothing here knows a terminal: a line goes in, a [`Reply`] comes out. Whatever fails leaves the session as it was.

use super::commands;
use super::highlight::words_of;
use super::pieces::{Inputs, Piece, is_command, pieces, script, with};
use super::screen::Screen;
use crate::cli::files::Folder;
use crate::cli::progress::Progress;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Severity, Style, quoted, render};
use crate::engine::{Cancel, Engine, Error, Shared};
use crate::graph::Graph;
use crate::graph::definition::{Definition, definitions};
use crate::source::Sources;
use crate::syntax::{WordKind, starts_item};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes of results that a session keeps.
const KEPT: u64 = 256 << 20;

/// What a session answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Values, tables, pictures.
    pub out: String,
    /// What went wrong, or may not be meant.
    pub told: String,
    /// What comes next.
    pub then: Then,
}

/// What comes after a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Then {
    /// The next line.
    #[default]
    Next,
    /// The next line; but this one failed.
    Failed,
    /// The end.
    Quit,
}

/// An answer, or why there is none, rendered.
pub(super) type Told = Result<String, String>;

/// Items, what they are compiled to, and what was computed.
pub struct Session {
    pub(super) pieces: Vec<Piece>,
    /// Items that need names which nobody has defined yet.
    pub(super) waiting: Vec<Piece>,
    /// Parameters that `:set` gave another value.
    pub(super) settings: BTreeMap<String, String>,
    pub(super) shared: Shared,
    pub(super) engine: Engine,
    pub(super) folder: PathBuf,
    pub(super) threads: Option<usize>,
    pub(super) memory: Option<u64>,
    /// What tiles in the store are of, as far as it was ever known.
    pub(super) seen: BTreeMap<Arc<str>, Arc<str>>,
    /// How results are shown.
    pub screen: Screen,
    pub(super) style: Style,
    pub(super) progress: Option<Arc<Progress>>,
    /// Warnings of items that nobody has seen yet.
    pub(super) warned: String,
}

impl Session {
    /// An empty session; files that items name are looked for in `folder`.
    pub fn new(folder: PathBuf, screen: Screen, style: Style) -> Result<Session, Error> {
        let shared = Shared::new(KEPT);
        let engine = Engine::builder().share(&shared).slices_from("<typed>").compile("")?;
        Ok(Session {
            pieces: Vec::new(),
            waiting: Vec::new(),
            settings: BTreeMap::new(),
            shared,
            engine,
            folder,
            threads: None,
            memory: None,
            seen: BTreeMap::new(),
            screen,
            style,
            progress: None,
            warned: String::new(),
        })
    }

    /// Shows how far long reads are.
    pub(in crate::cli) fn watch(&mut self, progress: Arc<Progress>) {
        self.engine.on_progress(progress.listener());
        self.progress = Some(progress);
    }

    /// What stops whatever is being computed.
    pub fn cancel(&self) -> Cancel {
        self.shared.cancel()
    }

    /// Answers to one or more inputs.
    pub fn enter(&mut self, text: &str) -> Reply {
        let mut inputs = Inputs::default();
        let mut whole: Vec<String> = text.lines().flat_map(|line| inputs.line(line)).collect();
        whole.extend(inputs.end());
        let mut reply = Reply::default();
        for input in whole {
            self.cancel().reset();
            let one = self.answer(&input);
            reply.out.push_str(&one.out);
            reply.told.push_str(&one.told);
            reply.then = if one.then == Then::Next { reply.then } else { one.then };
            if one.then == Then::Quit {
                break;
            }
        }
        reply
    }

    /// The answer to one input.
    fn answer(&mut self, input: &str) -> Reply {
        if is_command(input) && commands::is_quit(input) {
            return Reply { then: Then::Quit, ..Reply::default() };
        }
        let answer = self.told(input);
        let warned = std::mem::take(&mut self.warned);
        match answer {
            Ok(out) => Reply { out: line(out), told: warned, ..Reply::default() },
            Err(told) => Reply { told: warned + &line(told), then: Then::Failed, ..Reply::default() },
        }
    }

    fn told(&mut self, input: &str) -> Told {
        if is_command(input) {
            return commands::perform(self, input);
        }
        if words_of(input).iter().all(|word| word.kind == WordKind::Comment) {
            return Ok(String::new());
        }
        if !starts_item(input) {
            return self.evaluate(input).map_err(|told| self.without_colon(input).unwrap_or(told));
        }
        let new = pieces(input).map_err(|(sources, diagnostics)| self.several(diagnostics, &sources))?;
        self.define(new)
    }

    /// What to say to someone who types `quit`, or `show height[0:9, 0:9]`, and has nothing of that name.
    fn without_colon(&self, input: &str) -> Option<String> {
        let input = input.trim();
        let word = input.split_whitespace().next().filter(|word| commands::is_name(word))?;
        let known = self.pieces.iter().chain(&self.waiting).any(|piece| piece.name.as_deref() == Some(word));
        let message = format!("{} is no name here, but a command", quoted(word));
        let diagnostic = Diagnostic::new(Code::E0102, message).help(format!("write `:{input}`"));
        (!known).then(|| self.fault(diagnostic))
    }

    /// Takes items in, and tells what changed. A parameter that is declared anew has its own value again.
    pub(super) fn define(&mut self, new: Vec<Piece>) -> Told {
        let before = self.settings.clone();
        let names = new.iter().filter_map(|piece| piece.name.as_ref());
        names.for_each(|name| _ = self.settings.remove(&**name));
        self.defined(new).inspect_err(|_| self.settings = before)
    }

    fn defined(&mut self, new: Vec<Piece>) -> Told {
        let replaced = |piece: &Piece| new.iter().any(|new| new.key.is_some() && new.key == piece.key);
        let waiting: Vec<Piece> = self.waiting.iter().filter(|piece| !replaced(piece)).cloned().collect();
        let all = with(self.pieces.clone(), &new);
        let together = with(all.clone(), &waiting);
        if let Ok(engine) = self.build(&together, "") {
            let came = self.come(&waiting);
            self.waiting.clear();
            return Ok(came + &self.commit(together, engine));
        }
        match self.build(&all, "") {
            Ok(engine) => {
                self.waiting = waiting;
                let changed = self.commit(all, engine);
                Ok(self.take_waiting() + &changed)
            }
            Err(error) => match missing(&error) {
                Some(names) => {
                    self.waiting = with(waiting, &new);
                    Ok(wait_text(&new, &names, &error))
                }
                None => Err(self.error(error)),
            },
        }
    }

    /// Takes in the waiting items that can be compiled by now, one by one.
    fn take_waiting(&mut self) -> String {
        let mut text = String::new();
        loop {
            let tried = self.waiting.iter().enumerate().find_map(|(at, piece)| {
                let all = with(self.pieces.clone(), std::slice::from_ref(piece));
                Some((at, self.build(&all, "").ok()?, all))
            });
            let Some((at, engine, all)) = tried else { return text };
            let piece = self.waiting.remove(at);
            text += &self.come(&[piece]);
            text += &self.commit(all, engine);
        }
    }

    fn come(&self, pieces: &[Piece]) -> String {
        let names: Vec<String> = pieces.iter().map(|piece| quoted(&piece_name(piece))).collect();
        match names.len() {
            0 => String::new(),
            1 => format!("{} is defined now\n", names[0]),
            _ => format!("{} are defined now\n", names.join(", ")),
        }
    }

    /// Goes on with other items, and tells which tensors are others than before.
    fn commit(&mut self, pieces: Vec<Piece>, engine: Engine) -> String {
        self.note_series();
        let more = pieces.strip_prefix(&self.pieces[..]).unwrap_or_default();
        if !more.is_empty() && more.iter().all(Piece::is_set) {
            engine.inherit(&self.engine);
        }
        let old = by_name(&self.engine.program().graph);
        let new = by_name(&engine.program().graph);
        let changed = new.iter().filter(|(name, now)| old.get(*name).is_some_and(|before| before != *now));
        let changed: Vec<String> = changed.map(|(name, _)| name.to_string()).collect();
        self.warned += &self.new_warnings(&engine);
        self.pieces = pieces;
        self.engine = engine;
        if changed.is_empty() { String::new() } else { format!("changed: {}\n", changed.join(", ")) }
    }

    /// What another engine warns of that this one did not, rendered.
    pub(super) fn new_warnings(&self, engine: &Engine) -> String {
        let known: BTreeSet<_> =
            self.engine.warnings_for_reads().map(|one| subject(one, &self.engine)).collect();
        let new = engine.warnings_for_reads().filter(|one| !known.contains(&subject(one, engine)));
        new.map(|one| render(one, engine.sources(), self.style) + "\n").collect()
    }

    /// Compiles again with other settings.
    pub(super) fn rebuild(&mut self) -> Told {
        let engine = self.build(&self.pieces, "").map_err(|error| self.error(error))?;
        Ok(self.commit(self.pieces.clone(), engine))
    }

    /// Remembers the names of what is in the store.
    pub(super) fn note_series(&mut self) {
        for series in self.engine.kept() {
            if let Some(id) = series.tensor {
                let name = self.engine.program().graph.tensor(id).name.clone();
                self.seen.insert(series.word, name);
            }
        }
    }

    /// An engine for pieces and one more text.
    pub(super) fn build(&self, pieces: &[Piece], more: &str) -> Result<Engine, Error> {
        let mut sources = Sources::default();
        let root = sources.add("<session>", script(pieces) + more);
        // A lone value is asked for once.
        let shared = if more.is_empty() { self.shared.clone() } else { self.shared.keeping_nothing() };
        let mut builder = Engine::builder().share(&shared).slices_from("<typed>").settings_from(":set");
        for (name, value) in &self.settings {
            builder = builder.set(name, value);
        }
        if let Some(threads) = self.threads {
            builder = builder.threads(threads);
        }
        if let Some(memory) = self.memory {
            builder = builder.memory(memory);
        }
        let folder = Folder { path: self.folder.clone() };
        let mut engine = builder.compile_with(sources, root, &folder, self.folder.clone())?;
        if let Some(progress) = &self.progress {
            engine.on_progress(progress.listener());
        }
        Ok(engine)
    }

    /// What an engine found, rendered.
    pub(super) fn error(&self, error: Error) -> String {
        let (diagnostics, sources) = error.into_parts();
        self.several(diagnostics, &sources)
    }

    /// One diagnostic without a place, rendered.
    pub(super) fn fault(&self, diagnostic: Diagnostic) -> String {
        render(&diagnostic, &Sources::default(), self.style)
    }

    pub(super) fn several(&self, diagnostics: Diagnostics, sources: &Sources) -> String {
        let errors =
            diagnostics.into_sorted().into_iter().filter(|one| one.code.severity() == Severity::Error);
        let texts: Vec<String> = errors.map(|one| render(&one, sources, self.style)).collect();
        let waits = self.waiting_note(&texts);
        texts.join("\n\n") + &waits
    }

    /// Says of names that an error is about that they wait for others.
    fn waiting_note(&self, texts: &[String]) -> String {
        let names = self.waiting.iter().filter_map(|piece| piece.name.as_ref());
        let named = names.filter(|name| texts.iter().any(|text| text.contains(&format!("`{name}`"))));
        named.map(|name| format!("\n  = note: `{name}` is typed, but still waits for other names")).collect()
    }
}

/// What a warning is about, wherever it stands: items that are typed later move it.
fn subject<'a>(warning: &'a Diagnostic, engine: &'a Engine) -> (Code, &'a str, Vec<&'a str>) {
    let texts = warning.labels.iter().map(|label| engine.sources().text(label.span)).collect();
    (warning.code, &warning.message, texts)
}

/// A text that ends with its line, if there is any.
fn line(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn piece_name(piece: &Piece) -> String {
    match (&piece.name, &piece.key) {
        (Some(name), _) => name.to_string(),
        (None, Some(key)) => key.clone(),
        (None, None) => piece.text.lines().next().unwrap_or_default().to_owned(),
    }
}

/// The names that are missing, when nothing else is wrong; each with what may be meant.
fn missing(error: &Error) -> Option<BTreeSet<String>> {
    let errors = error.diagnostics().iter().filter(|one| one.code.severity() == Severity::Error);
    let name = |one: &Diagnostic| {
        let named =
            one.message.strip_prefix("unknown name ").or(one.message.strip_prefix("unknown function "))?;
        let meant = one.help.iter().find_map(|help| help.strip_prefix("write ")?.split(',').next());
        let meant = meant.map(|name| format!(" (or is it {name}?)")).unwrap_or_default();
        (one.code == Code::E0201).then(|| format!("{named}{meant}"))
    };
    errors.map(name).collect()
}

fn wait_text(new: &[Piece], names: &BTreeSet<String>, error: &Error) -> String {
    let new: Vec<String> = new.iter().map(|piece| quoted(&piece_name(piece))).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let verb = if new.len() == 1 { "waits" } else { "wait" };
    // A window's own coordinates are named, not declared: whoever waits for them waits for ever.
    let unnamed = |one: &Diagnostic| one.help.iter().find(|help| help.starts_with("add `as ")).cloned();
    let help = error.diagnostics().iter().find_map(unnamed);
    let help = help.map(|help| format!("  = help: {help}\n")).unwrap_or_default();
    format!("{} {verb} for {}\n{help}", new.join(", "), names.join(", "))
}

/// What every tensor of the script itself is.
fn by_name(graph: &Graph) -> BTreeMap<Arc<str>, Definition> {
    let all = definitions(graph, &|_| 0);
    let own = graph.iter().filter(|(_, tensor)| tensor.module.0 == 0);
    own.map(|(id, tensor)| (tensor.name.clone(), all[id.index()])).collect()
}
