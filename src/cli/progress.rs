//! How far a run is: a bar on a terminal, once a run takes longer than a second.
//!
//! ```text
//! hills.png ━━━━━━━━━━━━━━━╸          58 %  2 s left
//! ```
//!
//! Until the first part of a run is done, a sign shows that it goes on.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Runs that are over by then need no bar.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a sign moves.
const TICK: Duration = Duration::from_millis(100);

/// The bar of the run that is under way, if there is one to see it.
pub(super) struct Progress {
    seen: bool,
    state: Mutex<State>,
}

struct State {
    name: String,
    start: Instant,
    /// Until there is a bar.
    waiting: Option<Waiting>,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// No run yet; nothing is ever drawn where it is quiet or no terminal.
    pub(super) fn new(quiet: bool) -> Progress {
        let state = State { name: String::new(), start: Instant::now(), waiting: None, bar: None };
        Progress { seen: !quiet && stderr().is_terminal(), state: Mutex::new(state) }
    }

    /// Something begins that cannot tell how far it is; after a second, a sign shows that it goes on.
    pub(super) fn waiting(quiet: bool, name: &str) -> Waiting {
        let over = Arc::new(AtomicBool::new(false));
        if quiet || !stderr().is_terminal() {
            return Waiting { over, thread: None };
        }
        let (name, done) = (name.to_owned(), over.clone());
        let thread = std::thread::Builder::new().name("waiting".to_owned());
        Waiting { over, thread: thread.spawn(move || show_waiting(&name, &done)).ok() }
    }

    /// A run begins; its bar is called `name`.
    pub(super) fn begin(&self, name: &str) {
        self.end();
        let waiting = self.seen.then(|| Progress::waiting(false, name));
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = State { name: name.to_owned(), start: Instant::now(), waiting, bar: None };
    }

    /// The run is over, and its bar goes away.
    pub(super) fn end(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = state.waiting.take() {
            waiting.end();
        }
        if let Some(bar) = state.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// What an engine tells how far it is.
    pub(super) fn listener(self: &Arc<Self>) -> impl Fn(u64, u64) + Send + Sync + 'static {
        let progress = self.clone();
        move |done, total| progress.advance(done, total)
    }

    fn advance(&self, done: u64, total: u64) {
        if !self.seen {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.start.elapsed() < PATIENCE {
            return;
        }
        if let Some(waiting) = state.waiting.take() {
            waiting.end();
        }
        let (name, start) = (state.name.clone(), state.start);
        let bar = state.bar.get_or_insert_with(|| bar(&name, start));
        bar.set_length(total);
        bar.set_position(done);
    }
}

/// A sign that something goes on.
pub(super) struct Waiting {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Waiting {
    /// It is over, and the sign goes away.
    pub(super) fn end(self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread {
            thread.thread().unpark();
            _ = thread.join();
        }
    }
}

fn show_waiting(name: &str, over: &AtomicBool) {
    let start = Instant::now();
    while start.elapsed() < PATIENCE && !over.load(Ordering::Relaxed) {
        std::thread::park_timeout(PATIENCE);
    }
    if over.load(Ordering::Relaxed) {
        return;
    }
    let spinner = ProgressBar::new_spinner().with_elapsed(start.elapsed());
    spinner.set_message(name.to_owned());
    spinner.enable_steady_tick(TICK);
    while !over.load(Ordering::Relaxed) {
        std::thread::park_timeout(TICK);
    }
    spinner.finish_and_clear();
}

fn bar(name: &str, start: Instant) -> ProgressBar {
    let template = "{prefix} {bar:30} {percent:>3} %  {eta} left";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_elapsed(start.elapsed());
    bar.set_style(style.progress_chars("━╸ "));
    bar.set_prefix(name.to_owned());
    bar
}
