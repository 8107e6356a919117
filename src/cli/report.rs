//! What the user is told: diagnostics and remarks on stderr, results on stdout.
//!
//! ```text
//! error[E0201]: unknown name `heigth`
//!  --> terrain.itp:3:5
//!   …
//!
//! error: 1 error in terrain.itp
//! ```

use super::Outcome;
use super::args::Cli;
use super::files::why;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Severity, Style, render};
use crate::source::Sources;
use clap::ColorChoice;
use clap::builder::styling::{self, AnsiColor};
use std::fmt::Write as _;
use std::io::{ErrorKind, IsTerminal, Write, stderr, stdout};

/// No one reads more diagnostics than that; the rest are counted.
const MOST_SHOWN: usize = 100;

/// What has been told so far.
pub(super) struct Report {
    style: Style,
    quiet: bool,
    shown: usize,
    errors: usize,
    warnings: usize,
    /// Nobody reads standard output any more.
    unread: bool,
    /// Scripts with diagnostics, as the user wrote them.
    scripts: Vec<String>,
}

impl Report {
    /// Nothing told yet; `--color` and `--quiet` say how to tell it.
    pub(super) fn new(cli: &Cli) -> Report {
        let style = style(cli.color);
        Report {
            style,
            quiet: cli.quiet,
            shown: 0,
            errors: 0,
            warnings: 0,
            unread: false,
            scripts: Vec::new(),
        }
    }

    /// Writes results to stdout. A reader that has gone away wanted no more, which is no failure.
    pub(super) fn print(&mut self, text: &str) -> Outcome {
        let mut out = stdout().lock();
        match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            Ok(()) => Outcome::Done,
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.unread = true;
                Outcome::Done
            }
            Err(error) => {
                let message = format!("cannot write to standard output: {}", why(&error));
                self.fail("standard output", Diagnostic::new(Code::E0003, message))
            }
        }
    }

    /// Whether whoever read standard output has gone.
    pub(super) fn is_unread(&self) -> bool {
        self.unread
    }

    /// Whether only errors are told.
    pub(super) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// How diagnostics are rendered.
    pub(super) fn style(&self) -> Style {
        self.style
    }

    /// What went wrong, rendered already.
    pub(super) fn tell(&self, text: &str) {
        tell(text);
    }

    /// A remark, unless the user wants quiet.
    pub(super) fn say(&self, text: &str) {
        if !self.quiet {
            tell(text);
        }
    }

    /// A failure that has no place in a source.
    pub(super) fn fail(&mut self, script: &str, diagnostic: Diagnostic) -> Outcome {
        let mut diagnostics = Diagnostics::default();
        diagnostics.push(diagnostic);
        self.diagnostics(script, &Sources::default(), diagnostics)
    }

    /// Everything that is wrong with a script.
    pub(super) fn diagnostics(
        &mut self,
        script: &str,
        sources: &Sources,
        diagnostics: Diagnostics,
    ) -> Outcome {
        let outcome = if diagnostics.has_errors() { Outcome::Failed } else { Outcome::Done };
        let wanted = |diagnostic: &Diagnostic| !self.quiet || diagnostic.code.severity() == Severity::Error;
        let list: Vec<Diagnostic> = diagnostics.into_sorted().into_iter().filter(wanted).collect();
        if !list.is_empty() && !self.scripts.iter().any(|known| known == script) {
            self.scripts.push(script.to_owned());
        }
        let mut text = String::new();
        for diagnostic in &list {
            self.count(diagnostic.code.severity());
            if self.shown < MOST_SHOWN {
                self.shown += 1;
                let _ = write!(text, "{}\n\n", render(diagnostic, sources, self.style));
            }
        }
        if !text.is_empty() {
            tell(text.strip_suffix('\n').unwrap_or(&text));
        }
        outcome
    }

    fn count(&mut self, severity: Severity) {
        match severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
        }
    }

    /// How many there were.
    pub(super) fn finish(self) {
        let count = self.errors + self.warnings;
        if count > self.shown {
            tell(&format!("… and {} more\n", count - self.shown));
        }
        if count > 0 {
            tell(&self.headline());
        }
    }

    /// `error: 3 errors, 1 warning in terrain.itp`, coloured as diagnostics are.
    fn headline(&self) -> String {
        let (severity, colour) = match self.errors {
            0 => (Severity::Warning, AnsiColor::BrightYellow),
            _ => (Severity::Error, AnsiColor::BrightRed),
        };
        let (word, bold) = (colour.on_default().bold(), styling::Style::new().bold());
        let summary = self.summary();
        match self.style {
            Style::Plain => format!("{severity}: {summary}"),
            Style::Coloured => format!("{word}{severity}{word:#}{bold}: {summary}{bold:#}"),
        }
    }

    /// `3 errors, 1 warning in terrain.itp`
    fn summary(&self) -> String {
        let parts = [counted(self.errors, "error"), counted(self.warnings, "warning")];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let place = match self.scripts.as_slice() {
            [one] => one.clone(),
            several => format!("{} files", several.len()),
        };
        format!("{} in {place}", parts.join(", "))
    }
}

/// `2 errors`, nothing for none.
fn counted(count: usize, what: &str) -> Option<String> {
    (count > 0).then(|| plural(count, what))
}

/// `1 tensor`, `2 tensors`
pub(super) fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Writes to stderr; when even that fails there is no one left to tell.
fn tell(text: &str) {
    let _ = stderr().lock().write_all(format!("{text}\n").as_bytes());
}

fn style(colour: ColorChoice) -> Style {
    let unset = |name: &str| std::env::var_os(name).is_none_or(|value| value.is_empty());
    let dumb = || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    let coloured = match colour {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => stderr().is_terminal() && unset("NO_COLOR") && !dumb(),
    };
    if coloured { Style::Coloured } else { Style::Plain }
}
