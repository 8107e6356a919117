//! The session on a pipe: lines in, answers out, no prompt; what failed is told, and the next line is read, until there is none
//! or nobody reads the answers.

use super::pieces::Inputs;
use super::state::{Session, Then};
use super::{listen, show_reply};
use crate::cli::Outcome;
use crate::cli::report::Report;
use std::io::{BufRead, stdin};

/// Reads lines until the end; it failed if one of them did.
pub(super) fn run(session: &mut Session, report: &mut Report) -> Outcome {
    listen(session, report);
    let mut inputs = Inputs::default();
    let mut outcome = Outcome::Done;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = stdin().lock().read_until(b'\n', &mut line).unwrap_or(0);
        let text = String::from_utf8_lossy(&line);
        let whole = if read == 0 {
            inputs.end().into_iter().collect()
        } else {
            inputs.line(text.trim_end_matches(['\n', '\r']))
        };
        for input in whole {
            let reply = session.enter(&input);
            let shown = show_reply(&reply, report);
            match reply.then {
                Then::Next => outcome = outcome.max(shown),
                Then::Failed => outcome = outcome.max(Outcome::Failed),
                Then::Quit => return outcome,
            }
        }
        if read == 0 || report.is_unread() {
            return outcome;
        }
    }
}
