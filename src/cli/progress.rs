//! How far a run is: a bar on a terminal, once a run takes longer than a second.
//!
//! ```text
//! hills.png ━━━━━━━━━━━━━━━╸          58 %  2 s left
//! ```

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Runs that are over by then need no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// The bar of the run that is under way, if there is one to see it.
pub(super) struct Progress {
    seen: bool,
    state: Mutex<State>,
}

struct State {
    name: String,
    start: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// No run yet; nothing is ever drawn where it is quiet or no terminal.
    pub(super) fn new(quiet: bool) -> Progress {
        let state = State { name: String::new(), start: Instant::now(), bar: None };
        Progress { seen: !quiet && stderr().is_terminal(), state: Mutex::new(state) }
    }

    /// A run begins; its bar is called `name`.
    pub(super) fn begin(&self, name: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = State { name: name.to_owned(), start: Instant::now(), bar: None };
    }

    /// The run is over, and its bar goes away.
    pub(super) fn end(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
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
        let (name, start) = (state.name.clone(), state.start);
        let bar = state.bar.get_or_insert_with(|| bar(&name, start));
        bar.set_length(total);
        bar.set_position(done);
    }
}

fn bar(name: &str, start: Instant) -> ProgressBar {
    let template = "{prefix} {bar:30} {percent:>3} %  {eta} left";
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_elapsed(start.elapsed());
    bar.set_style(style.progress_chars("━╸ "));
    bar.set_prefix(name.to_owned());
    bar
}
