//! The session on a terminal: lines are edited, completed and coloured; Ctrl-C stops a computation, Ctrl-D ends.
//!
//! All that is known of the line editor is in here.

use super::complete::{Vocabulary, complete, hint};
use super::highlight::highlight;
use super::pieces::is_command;
use super::state::{Session, Then};
use super::{listen, show_reply};
use crate::cli::Outcome;
use crate::cli::files::folder_of;
use crate::cli::report::Report;
use crate::diagnostic::Style;
use crate::syntax::goes_on;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::{Hint, Hinter};
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// What the editor asks about a line.
struct Guide {
    vocabulary: Vocabulary,
    style: Style,
}

/// Reads lines until the end; an error only ends a line.
pub(super) fn run(session: &mut Session, style: Style, report: &mut Report) -> Outcome {
    let config = Config::builder().completion_type(CompletionType::List).auto_add_history(true);
    let config = config.max_history_size(10_000).map(|config| config.build()).unwrap_or_default();
    let Ok(mut editor) = Editor::<Guide, FileHistory>::with_config(config) else {
        return super::piped::run(session, report);
    };
    listen(session, report);
    let history = history_path();
    if let Some(path) = &history {
        _ = editor.load_history(path);
    }
    report.say("itp: type items and expressions, `:help` for commands, Ctrl-D to leave");
    lines(session, &mut editor, history.as_deref(), style, report)
}

fn lines(
    session: &mut Session,
    editor: &mut Editor<Guide, FileHistory>,
    history: Option<&Path>,
    style: Style,
    report: &mut Report,
) -> Outcome {
    loop {
        editor.set_helper(Some(Guide { vocabulary: session.vocabulary(), style }));
        if let Some((columns, rows)) = editor.dimensions() {
            session.screen.columns = columns.into();
            session.screen.rows = rows.into();
        }
        match editor.readline("> ") {
            Ok(line) => {
                if let Some(path) = history {
                    keep(editor, path);
                }
                let reply = session.enter(&line);
                show_reply(&reply, report);
                if reply.then == Then::Quit {
                    return Outcome::Done;
                }
            }
            // The line is given up, the session is not.
            Err(ReadlineError::Interrupted) => {}
            Err(_) => return Outcome::Done,
        }
    }
}

/// Writes what is new for the next session, however this one ends; that this fails is no reason to fail.
fn keep(editor: &mut Editor<Guide, FileHistory>, path: &Path) {
    if let Some(folder) = path.parent() {
        _ = std::fs::create_dir_all(folder);
    }
    _ = editor.append_history(path);
}

/// Where lines are kept from session to session.
fn history_path() -> Option<PathBuf> {
    let state = || folder_of("XDG_STATE_HOME").or_else(|| Some(folder_of("HOME")?.join(".local/state")));
    folder_of("ITP_HISTORY").or_else(|| Some(state()?.join("itp/history")))
}

impl Completer for Guide {
    type Candidate = String;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(complete(&self.vocabulary, line, pos))
    }
}

/// What stands dimly behind the end of a line.
struct Dim {
    text: String,
    /// It can be taken over into the line.
    can_be_taken: bool,
}

impl Hint for Dim {
    fn display(&self) -> &str {
        &self.text
    }

    fn completion(&self) -> Option<&str> {
        self.can_be_taken.then_some(self.text.as_str())
    }
}

/// Stands in the empty line below an item that is not over.
const GOES_ON: &str = "  … goes on; an empty line ends it, Ctrl-C gives it up";

impl Hinter for Guide {
    type Hint = Dim;

    fn hint(&self, line: &str, pos: usize, _: &Context<'_>) -> Option<Dim> {
        if pos < line.len() {
            return None;
        }
        if line.ends_with('\n') {
            return Some(Dim { text: GOES_ON.to_owned(), can_be_taken: false });
        }
        hint(&self.vocabulary, line).map(|text| Dim { text, can_be_taken: true })
    }
}

impl Highlighter for Guide {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        match self.style {
            Style::Coloured => Cow::Owned(highlight(line)),
            Style::Plain => Cow::Borrowed(line),
        }
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(format!("\x1b[90m{hint}\x1b[0m"))
    }

    fn highlight_char(&self, _: &str, _: usize, _: CmdKind) -> bool {
        self.style == Style::Coloured
    }
}

impl Validator for Guide {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let input = context.input();
        // An empty line ends whatever is open.
        let open = !is_command(input) && goes_on(input) && !input.ends_with("\n");
        Ok(if open { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}

impl Helper for Guide {}
