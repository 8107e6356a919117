//! `itp graph`: a script -> its pipeline as SVG, DOT or Mermaid.

use super::Outcome;
use super::args::GraphArgs;
use super::files;
use super::picture::picture;
use super::report::Report;
use super::script::Script;
use super::values::PictureKind;
use crate::picture::{to_dot, to_mermaid, to_svg};

/// Draws the pipeline.
pub(super) fn graph(args: &GraphArgs, report: &mut Report) -> Outcome {
    drawn(args, report).unwrap_or_else(|outcome| outcome)
}

fn drawn(args: &GraphArgs, report: &mut Report) -> Result<Outcome, Outcome> {
    let mut script = Script::open_or_tell(&args.file, report)?;
    let program = script.compile_or_tell(&[], report)?;
    let picture = picture(&program);
    let Some((path, kind)) = &args.out else { return Ok(report.print(&to_dot(&picture))) };
    let text = match kind {
        PictureKind::Svg => to_svg(&picture),
        PictureKind::Dot => to_dot(&picture),
        PictureKind::Mermaid => to_mermaid(&picture),
    };
    let written = files::write(path, &text);
    written.map_err(|diagnostic| report.fail(&files::shown(path), *diagnostic)).map(|()| Outcome::Done)
}
