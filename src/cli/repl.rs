//! `itp repl`: lines -> items of a growing script, values, pictures.
//!
//! ```text
//! > tensor height: f32[y: inf, x: inf] = sin(y / 9) + cos(x / 7)
//! > height[0:2, 0:3]
//! f32[y: 0..2, x: 0..3]
//!   y\x       0       1       2
//!     0       1  0.9898  0.9595
//!     1  1.1109  1.1007  1.0703
//! ```
//!
//! - [`state`] is the session, [`pieces`] the script as it grows, [`commands`] and [`inspect`] what starts with `:`;
//! - [`evaluate`] and [`table`] show values, [`draw`], [`graphics`] and [`plot`] draw them on a [`screen`];
//! - [`complete`] and [`highlight`] help whoever types; `terminal` and `piped` are the two ways in.

pub mod commands;
pub mod complete;
pub mod draw;
mod evaluate;
mod graphics;
pub mod highlight;
mod inspect;
pub mod pieces;
mod piped;
pub mod plot;
pub mod screen;
pub mod state;
pub mod table;
#[cfg(feature = "repl")]
mod terminal;

pub use screen::Screen;
pub use state::{Reply, Session, Then};

use super::Outcome;
use super::args::ReplArgs;
use super::files::{self, why};
use super::progress::Progress;
use super::report::Report;
use super::session::failed;
use crate::diagnostic::Style;
use screen::Colours;
use signal_hook::consts::SIGINT;
use std::io::{IsTerminal, stdin, stdout};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Runs a session on the terminal, or on a pipe.
pub(super) fn repl(args: &ReplArgs, report: &mut Report) -> Outcome {
    ran(args, report).unwrap_or_else(|outcome| outcome)
}

fn ran(args: &ReplArgs, report: &mut Report) -> Result<Outcome, Outcome> {
    let (style, screen) = (report.style(), screen(report.style()));
    let session = Session::new(PathBuf::from("."), screen, style);
    let mut session = session.map_err(|error| failed("the session", error, report))?;
    session.watch(Arc::new(Progress::new(report.is_quiet())));
    if let Some(path) = &args.file {
        opened(&mut session, path, report)?;
    }
    Ok(interact(&mut session, style, report))
}

#[cfg(feature = "repl")]
fn interact(session: &mut Session, style: Style, report: &mut Report) -> Outcome {
    if stdin().is_terminal() { terminal::run(session, style, report) } else { piped::run(session, report) }
}

/// Without a line editor a terminal is read as a pipe is.
#[cfg(not(feature = "repl"))]
fn interact(session: &mut Session, _: Style, report: &mut Report) -> Outcome {
    piped::run(session, report)
}

/// Ctrl-C ends what is being computed. A line editor takes the signal for itself when it is made, so this comes after.
fn listen(session: &Session, report: &mut Report) {
    if let Err(error) = signal_hook::flag::register(SIGINT, session.cancel().flag()) {
        report.say(&format!("Ctrl-C ends the session: signals cannot be listened to: {}", why(&error)));
    }
}

/// Begins with the items of a script.
fn opened(session: &mut Session, path: &Path, report: &mut Report) -> Result<(), Outcome> {
    let text =
        files::read_script(path).map_err(|diagnostic| report.fail(&files::shown(path), *diagnostic))?;
    match session.load(&text, path) {
        Ok(told) => report.say(&told),
        Err(told) => {
            report.say(&told);
            return Err(Outcome::Failed);
        }
    }
    Ok(())
}

fn screen(style: Style) -> Screen {
    if !stdout().is_terminal() {
        return Screen::plain();
    }
    let screen = Screen::terminal(&|name| std::env::var(name).ok());
    match style {
        Style::Coloured => screen,
        Style::Plain => Screen { colours: Colours::None, ..Screen::plain() },
    }
}

/// Results to stdout, faults to stderr.
fn show_reply(reply: &Reply, report: &mut Report) -> Outcome {
    if !reply.told.is_empty() {
        report.tell(reply.told.trim_end());
    }
    if reply.out.is_empty() { Outcome::Done } else { report.print(&reply.out) }
}
