//! `itp plan`: a script -> what running it would take, as text or JSON; no element is computed.

use super::Outcome;
use super::args::PlanArgs;
use super::numbers;
use super::report::Report;
use super::session::{self, merged};
use crate::engine::Sketch;
use serde_json::json;

/// Says what a run would do.
pub(super) fn plan(args: &PlanArgs, report: &mut Report) -> Outcome {
    planned(args, report).unwrap_or_else(|outcome| outcome)
}

fn planned(args: &PlanArgs, report: &mut Report) -> Result<Outcome, Outcome> {
    let session = session::open(&args.file, &args.read, &args.script, &args.options, report)?;
    session::refuse_run_options(&session.name, &args.options, "plan", report)?;
    let describe = if args.json { as_json } else { as_text };
    let mut text = String::new();
    for (name, view) in session.reads(&args.read, report)? {
        text.push_str(&describe(&name, &session.sketch(view, report)?));
    }
    Ok(report.print(&text))
}

fn as_text(name: &str, sketch: &Sketch) -> String {
    format!("{name}  {}\n{}", numbers::shaped(sketch.view()), numbers::plan_lines(sketch.plan()))
}

/// One object per read, each on a line.
fn as_json(name: &str, sketch: &Sketch) -> String {
    format!("{}\n", merged(json!({"read": name}), sketch.plan().to_json()))
}
