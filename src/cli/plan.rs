//! `itp plan`: a script -> what running it would take, as text or JSON; no element is computed.

use super::Outcome;
use super::args::PlanArgs;
use super::numbers;
use super::report::Report;
use super::session::{self, Session, merged};
use crate::engine::Prepared;
use serde_json::json;

/// Says what a run would do.
pub(super) fn plan(args: &PlanArgs, report: &mut Report) -> Outcome {
    planned(args, report).unwrap_or_else(|outcome| outcome)
}

fn planned(args: &PlanArgs, report: &mut Report) -> Result<Outcome, Outcome> {
    let session = session::open(&args.file, &args.read, &args.script, &args.options, report)?;
    session::refuse_run_options(&session.name, &args.options, "plan", report)?;
    let describe = if args.json { as_json } else { as_text };
    let reads = reads(&session, &args.read, report)?;
    if reads.is_empty() {
        report.say(&format!("{}: the script has no `output`; plan a slice with `--read`", session.name));
    }
    let text: String = reads.iter().map(|(name, prepared)| describe(name, prepared)).collect();
    Ok(report.print(&text))
}

/// The slices that were asked for, else the outputs of the script.
fn reads<'s>(
    session: &'s Session,
    slices: &[String],
    report: &mut Report,
) -> Result<Vec<(String, Prepared<'s>)>, Outcome> {
    let mut reads = Vec::new();
    for slice in slices {
        reads.push((slice.clone(), session.prepare(slice, report)?));
    }
    let outputs = session.engine.program().graph.outputs.iter().filter(|_| slices.is_empty());
    for output in outputs {
        reads.push((output.path.to_string(), session.prepare_output(output, report)?));
    }
    Ok(reads)
}

fn as_text(name: &str, prepared: &Prepared<'_>) -> String {
    format!("{name}  {}\n{}", numbers::shaped(prepared), numbers::plan_lines(prepared.plan()))
}

/// One object per read, each on a line.
fn as_json(name: &str, prepared: &Prepared<'_>) -> String {
    format!("{}\n", merged(json!({"read": name}), prepared.plan().to_json()))
}
