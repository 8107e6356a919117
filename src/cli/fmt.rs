//! `itp fmt`: scripts -> the same scripts in canonical layout.

use super::Outcome;
use super::args::FmtArgs;
use super::files;
use super::report::Report;
use super::script::Script;
use super::values::is_stdin;
use crate::diagnostic::Diagnostics;
use crate::syntax;
use std::path::Path;

/// Formats every script; one that has syntax errors stays as it is.
pub(super) fn fmt(args: &FmtArgs, report: &mut Report) -> Outcome {
    let outcomes =
        args.files.iter().map(|file| fmt_file(file, args, report).unwrap_or_else(|outcome| outcome));
    outcomes.max().unwrap_or(Outcome::Done)
}

fn fmt_file(file: &Path, args: &FmtArgs, report: &mut Report) -> Result<Outcome, Outcome> {
    let script = Script::open_or_tell(file, report)?;
    let mut diagnostics = Diagnostics::default();
    let formatted = syntax::format(&script.sources, script.root, &mut diagnostics);
    let outcome = report.diagnostics(&script.name, &script.sources, diagnostics);
    let formatted = formatted.ok_or(outcome)?;
    let changed = *formatted != *script.text();
    if args.check {
        let listed =
            if changed { report.print(&format!("{}\n", script.name)).max(Outcome::Failed) } else { outcome };
        return Ok(listed);
    }
    if args.stdout || is_stdin(file) {
        return Ok(report.print(&formatted));
    }
    let written = if changed { files::write(file, &formatted) } else { Ok(()) };
    written.map_err(|diagnostic| report.fail(&script.name, *diagnostic)).map(|()| outcome)
}
