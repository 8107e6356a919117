//! `itp plan`: a script -> what running it would take, as a table, as JSON, or drawn; no element is computed.
//!
//! ```text
//! smooth[0:512, 0:512]  512×512 f32
//!   tiles      12, 4 live at the peak
//!   …
//!   tensor   tiles    each   alive
//!   height       8  64×516       3
//!   smooth       4  64×512       1
//! ```

use super::Outcome;
use super::args::PlanArgs;
use super::files;
use super::numbers;
use super::progress::Progress;
use super::report::{Report, plural};
use super::session::{self, Session, merged};
use crate::engine::Sketch;
use crate::graph::view::View;
use crate::graph::{Graph, TensorKind};
use crate::picture::{Chart, ChartLane, NodeKind, to_timeline_svg};
use crate::plan::timeline::{Lane, Life, Timeline};
use serde_json::json;
use std::sync::Arc;

/// Says what a run would do.
pub(super) fn plan(args: &PlanArgs, report: &mut Report) -> Outcome {
    planned(args, report).unwrap_or_else(|outcome| outcome)
}

fn planned(args: &PlanArgs, report: &mut Report) -> Result<Outcome, Outcome> {
    let session = session::open(&args.file, &args.read, &args.script, &args.options, report)?;
    session::remark_run_options(&args.options, "plan", report);
    let describe = if args.json { as_json } else { as_text };
    let mut text = String::new();
    let mut charts = Vec::new();
    for (name, view) in &session.reads(&args.read, report)? {
        let sketch = sketched(&session, name, view, report)?;
        text.push_str(&describe(name, &sketch));
        if args.out.is_some() {
            charts.push(chart(&session.engine.program().graph, name, &sketch));
        }
    }
    if let Some(path) = &args.out {
        let written = files::write(path, &to_timeline_svg(&charts));
        written.map_err(|diagnostic| report.fail(&files::shown(path), *diagnostic))?;
    }
    Ok(report.print(&text))
}

/// Plans a read; a long plan is waited for with a sign that it goes on.
fn sketched(session: &Session, name: &str, view: &Arc<View>, report: &mut Report) -> Result<Sketch, Outcome> {
    let waiting = Progress::waiting(report.is_quiet(), &format!("planning {name}"));
    let sketch = session.sketch(view.clone(), report);
    waiting.end();
    sketch
}

fn as_text(name: &str, sketch: &Sketch) -> String {
    let facts = numbers::plan_lines(sketch.plan());
    let table = sketch.timeline().map(|timeline| lanes_table(&timeline)).unwrap_or_default();
    format!("{name}  {}\n{facts}{table}", numbers::shaped(sketch.view()))
}

/// One object per read, each on a line.
fn as_json(name: &str, sketch: &Sketch) -> String {
    format!("{}\n", merged(json!({"read": name}), sketch.plan().to_json()))
}

/// What is computed in tiles: how many, how large, and how many of them are alive at once.
pub(super) fn lanes_table(timeline: &Timeline) -> String {
    let head = ["tensor", "tiles", "each", "alive"].map(str::to_owned);
    let row = |lane: &Lane| {
        [lane.name.to_string(), lane.count.to_string(), lane.shape.clone(), lane.most_alive().to_string()]
    };
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(timeline.lanes.iter().map(row)).collect();
    let wide = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let [name, count, each, alive] = [0, 1, 2, 3].map(wide);
    let lines = rows.iter().map(|row| {
        format!("  {:<name$}  {:>count$}  {:>each$}  {:>alive$}\n", row[0], row[1], row[2], row[3])
    });
    lines.collect()
}

/// The lives of tiles, to be drawn.
fn chart(graph: &Graph, name: &str, sketch: &Sketch) -> Chart {
    let (plan, timeline) = (sketch.plan(), sketch.timeline().unwrap_or_default());
    let tiles = timeline.lanes.iter().map(|lane| ChartLane {
        name: lane.name.to_string(),
        about: format!("{} of {}", counted(lane, "tile"), lane.shape),
        kind: kind(graph, &lane.name),
        bars: bars(lane, |life| format!("made by task {}, alive until task {}", life.from, life.to)),
    });
    let windows = timeline.windows.iter().map(|lane| ChartLane {
        name: lane.name.to_string(),
        about: format!("{} of {}", counted(lane, "window"), lane.shape),
        kind: NodeKind::Windowed,
        bars: bars(lane, |life| match life.to - life.from {
            1 => format!("a window of task {}", life.from),
            _ => format!("a window of tasks {} to {}", life.from, life.to - 1),
        }),
    });
    let shown = timeline.alive.len();
    let mut notes = vec![format!(
        "{} at the peak, {:.3} elements computed per element needed",
        numbers::bytes(plan.bytes_peak),
        plan.recompute_factor
    )];
    notes.extend(plan.rings.iter().map(|ring| format!("ring of {}", numbers::ring(ring))));
    if timeline.tasks > shown as u128 {
        notes.push(format!("the first {shown} of {} tasks", timeline.tasks));
    }
    Chart {
        title: format!(
            "{name}: {}, {} at the most alive",
            plural(usize::try_from(plan.tiles).unwrap_or(usize::MAX), "tile"),
            plan.live_peak
        ),
        lanes: tiles.chain(windows).collect(),
        alive: timeline.alive,
        notes,
    }
}

/// `12 tiles`
fn counted(lane: &Lane, noun: &str) -> String {
    plural(usize::try_from(lane.count).unwrap_or(usize::MAX), noun)
}

/// What is said of each, and when it begins and ends.
fn bars(lane: &Lane, about: impl Fn(&Life) -> String) -> Vec<(String, u64, u64)> {
    let bar = |life: &Life| (format!("{} {:?}: {}", lane.name, life.tile, about(life)), life.from, life.to);
    lane.lives.iter().map(bar).collect()
}

fn kind(graph: &Graph, name: &str) -> NodeKind {
    let tensor = graph.tensors.iter().find(|tensor| *tensor.name == *name);
    match tensor.map(|tensor| &tensor.kind) {
        Some(TensorKind::Input(_)) => NodeKind::Input,
        Some(TensorKind::Var(_)) => NodeKind::Var,
        Some(TensorKind::Windowed(_)) => NodeKind::Windowed,
        Some(TensorKind::Pointwise(pointwise)) if pointwise.recurrence.is_some() => NodeKind::Recurrence,
        Some(TensorKind::Pointwise(_)) | None => NodeKind::Tensor,
    }
}
