//! `itp new`: a name -> a starter script that checks, runs, and is in canonical layout.

use super::Outcome;
use super::args::NewArgs;
use super::files;
use super::report::Report;
use std::path::Path;

/// `NAME` stands for the name of the script.
const STARTER: &str = include_str!("starter.itp");

/// Writes the script, unless a file of that name is there.
pub(super) fn new(args: &NewArgs, report: &mut Report) -> Outcome {
    let shown = files::shown(&args.name);
    if let Err(diagnostic) = files::create(&args.name, &starter(&args.name)) {
        return report.fail(&shown, *diagnostic);
    }
    report.say(&format!("{shown}: written; try `itp run {shown}`"));
    Outcome::Done
}

fn starter(path: &Path) -> String {
    let name = path.file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
    STARTER.replace("NAME", &name)
}
