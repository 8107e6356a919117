//! Commands that look at a session and change nothing: types, documentation, stages, plans, tiles.

use super::commands::{needs, no_tensor};
use super::evaluate::{Subject, domain_of};
use super::pieces::script;
use super::state::{Session, Told};
use crate::cli::picture::picture;
use crate::cli::plan::lanes_table;
use crate::cli::report::plural;
use crate::cli::values::{self, PictureKind};
use crate::cli::{files, numbers};
use crate::compile::{self, Options, Show, Stage};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, closest, quoted};
use crate::engine::Engine;
use crate::graph::body::TensorId;
use crate::graph::meanings::{self, VIEW_OPS};
use crate::graph::upstream::upstream;
use crate::graph::vocabulary::{built_in, built_in_meanings, view_ops};
use crate::graph::{Graph, TensorKind};
use crate::picture::{to_dot, to_mermaid, to_svg};
use crate::run::job::Trace;
use crate::source::Sources;
use std::sync::Arc;

pub(super) fn type_of(session: &mut Session, argument: &str) -> Told {
    if argument.is_empty() {
        return Err(needs(session, "an expression", ":type height"));
    }
    if let Some((element, domain)) = domain_of(&session.engine.program().graph, argument) {
        return Ok(format!("{element}{domain}"));
    }
    let meaning = session.engine.program().graph.names.meaning(argument, session.engine.sources());
    if let Some(meaning) = meaning.filter(|meaning| meaning.called) {
        return Ok(meaning.head);
    }
    Ok(match session.subject(argument)? {
        Subject::Part(view) | Subject::Endless(view) => format!("{}{}", view.element, view.domain()),
        Subject::Value(_, element) => element.to_string(),
    })
}

pub(super) fn doc(session: &mut Session, argument: &str) -> Told {
    let (engine, name) = (&session.engine, argument.trim_start_matches('.'));
    let own = engine.program().graph.names.meaning(name, engine.sources());
    if let Some(meaning) = own.filter(|_| !argument.starts_with('.')) {
        let lines = meaning.doc.iter().map(|line| format!("\n  {}", line.trim()));
        let lines: String = lines.collect();
        return Ok(meaning.head + lines.trim_end());
    }
    let function = built_in().find(|(known, _)| *known == name && !argument.starts_with('.'));
    let op = view_ops().find(|(known, _)| *known == name);
    let function = function.map(|(name, call)| match built_in_meanings(name) {
        none if none.is_empty() => format!("{call}  a cast"),
        all => {
            all.iter().map(|(call, meaning)| format!("{call}\n  {meaning}")).collect::<Vec<_>>().join("\n")
        }
    });
    let meaning = |name| meanings::of(VIEW_OPS, name).map_or("", |(_, meaning)| meaning);
    let op = op.map(|(name, call)| format!(".{call}  of views\n  {}", meaning(name)));
    let lines: Vec<String> = function.into_iter().chain(op).collect();
    if !lines.is_empty() {
        return Ok(lines.join("\n"));
    }
    let names = engine.program().graph.names.meanings(engine.sources());
    let known = names.iter().map(|meaning| &*meaning.name).chain(built_in().map(|(name, _)| name));
    let message = format!("there is nothing called {}", quoted(name));
    let diagnostic = Diagnostic::new(Code::E0201, message);
    Err(session.fault(match closest(name, known) {
        Some(close) => diagnostic.help(format!("write `:doc {close}`")),
        None => diagnostic.help("write `use noise` first if it is in a module"),
    }))
}

pub(super) fn plan(session: &mut Session, argument: &str) -> Told {
    if argument.is_empty() {
        return Err(needs(session, "a slice", ":plan height[0:512, 0:512]"));
    }
    let view = session.slice(argument)?;
    let sketch = session.engine.sketch_view(view).map_err(|error| session.error(error))?;
    let table = sketch.timeline().map(|timeline| lanes_table(&timeline)).unwrap_or_default();
    Ok(format!("{}\n{}{table}", numbers::shaped(sketch.view()), numbers::plan_lines(sketch.plan())))
}

pub(super) fn graph(session: &mut Session, argument: &str) -> Told {
    if argument.is_empty() {
        return Ok(graph_text(&session.engine.program().graph));
    }
    let message = |why: String| Diagnostic::new(Code::E0003, why).help("write `:graph hills.svg`");
    let (path, kind) = values::picture(argument).map_err(|why| session.fault(message(why)))?;
    let picture = picture(session.engine.program());
    let text = match kind {
        PictureKind::Svg => to_svg(&picture),
        PictureKind::Dot => to_dot(&picture),
        PictureKind::Mermaid => to_mermaid(&picture),
    };
    files::write(&path, &text).map_err(|diagnostic| session.fault(*diagnostic))?;
    Ok(format!("wrote {}", files::shown(&path)))
}

/// Tensors, each after what it reads, and views.
fn graph_text(graph: &Graph) -> String {
    let name = |id: TensorId| graph.tensor(id).name.to_string();
    let mut lines: Vec<(String, String, String)> = Vec::new();
    for id in &graph.order {
        let tensor = graph.tensor(*id);
        let from = graph.reads_of(*id).map(name).collect::<Vec<_>>().join(", ");
        let from = match &tensor.kind {
            TensorKind::Input(_) => "input".to_owned(),
            TensorKind::Var(_) => "var".to_owned(),
            TensorKind::Pointwise(_) | TensorKind::Windowed(_) if from.is_empty() => String::new(),
            TensorKind::Pointwise(_) | TensorKind::Windowed(_) => format!("<- {from}"),
        };
        lines.push((tensor.name.to_string(), format!("{}{}", tensor.element, tensor.domain), from));
    }
    for named in &graph.views {
        let view = &named.view;
        let about = format!("view of {}", name(view.base));
        lines.push((view.name.to_string(), format!("{}{}", view.element, view.domain()), about));
    }
    let wide = |part: fn(&(String, String, String)) -> &String| {
        lines.iter().map(|line| part(line).chars().count()).max().unwrap_or(0)
    };
    let (names, types) = (wide(|line| &line.0), wide(|line| &line.1));
    let lines = lines.iter().map(|(name, ty, from)| format!("{name:<names$}  {ty:<types$}  {from}"));
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}

pub(super) fn views(session: &mut Session, argument: &str) -> Told {
    let text = emitted(session, Stage::Views, argument)?;
    if text.is_empty() && !argument.is_empty() {
        let message = format!("{} is no view, and no view of it is written", quoted(argument));
        let help = "write `:views` for all of them";
        return Err(session.fault(Diagnostic::new(Code::E0201, message).help(help)));
    }
    Ok(text)
}

pub(super) fn ir(session: &mut Session, argument: &str) -> Told {
    let (name, rest) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
    match Stage::parse(name) {
        Some(Stage::Plan) => {
            let view = session.slice(rest)?;
            Ok(session.engine.sketch_view(view).map_err(|error| session.error(error))?.text())
        }
        Some(Stage::Trace) => traced(session, rest),
        Some(Stage::Views) => views(session, rest.trim()),
        Some(stage) => stage_of(session, stage, rest.trim()),
        None => {
            let names: Vec<&str> = Stage::ALL.iter().map(|stage| stage.name()).collect();
            if let Some(close) = closest(name, names.iter().copied()) {
                let unknown = Diagnostic::new(Code::E0102, format!("there is no stage {}", quoted(name)));
                return Err(session.fault(unknown.help(format!("write `:ir {close}`"))));
            }
            Err(needs(session, &format!("a stage: one of {}", names.join(", ")), ":ir loops smooth"))
        }
    }
}

/// A stage of one tensor, or of all; a slice stands for its tensor, since only reads have places.
fn stage_of(session: &mut Session, stage: Stage, argument: &str) -> Told {
    let end = argument.find(['[', '.']).unwrap_or(argument.len());
    let name = &argument[..end];
    let graph = &session.engine.program().graph;
    let view = graph.views.iter().find(|named| &*named.view.name == name);
    let tensor = view.map_or(name, |named| &*graph.tensor(named.view.base).name).to_owned();
    if !name.is_empty() && !graph.tensors.iter().any(|known| *known.name == tensor) {
        let command = format!(":ir {} ", stage.name());
        return Err(no_tensor(session, name, &command, "write `:graph` for all of them"));
    }
    emitted(session, stage, &tensor)
}

/// What a read does, tile by tile, on one thread and with nothing kept.
fn traced(session: &Session, slice: &str) -> Told {
    let view = session.slice(slice)?;
    let trace = Arc::new(Trace::detailed());
    let mut sources = Sources::default();
    let root = sources.add("<session>", script(&session.pieces));
    let mut builder = Engine::builder().store(0).threads(1);
    for (name, value) in &session.settings {
        builder = builder.set(name, value);
    }
    let folder = files::Folder { path: session.folder.clone() };
    let engine = builder.compile_with(sources, root, &folder, session.folder.clone());
    let mut engine = engine.map_err(|error| session.error(error))?;
    engine.record(trace.clone());
    engine
        .prepare_view(view)
        .and_then(|prepared| prepared.read_array())
        .map_err(|error| session.error(error))?;
    Ok(trace.text())
}

fn emitted(session: &Session, stage: Stage, tensor: &str) -> Told {
    let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
    let root = sources.add("<session>", script(&session.pieces));
    let settings: Vec<(String, String)> =
        session.settings.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let folder = files::Folder { path: session.folder.clone() };
    let show = Show { tensor: (!tensor.is_empty()).then_some(tensor), after: None };
    let options = Options { settings: &settings, ..Options::default() };
    let text = compile::emit(stage, &mut sources, root, &folder, &options, show, &mut diagnostics);
    text.ok_or_else(|| session.several(diagnostics, &sources))
}

/// What is kept: tiles by tensor, and the tensors that would be computed from them.
pub(super) fn tiles(session: &mut Session, _: &str) -> Told {
    session.note_series();
    let graph = &session.engine.program().graph;
    let mut lines = Vec::new();
    for series in session.engine.kept() {
        let (name, need) = match (series.tensor, session.seen.get(&series.word)) {
            (Some(id), _) => (graph.tensor(id).name.to_string(), needed_by(graph, id)),
            (None, Some(name)) => (name.to_string(), "nobody: it is defined otherwise by now".to_owned()),
            (None, None) => ("?".to_owned(), "nobody".to_owned()),
        };
        let count = |count: u128, what: &str| plural(usize::try_from(count).unwrap_or(usize::MAX), what);
        let (tiles, elements) = (count(series.tiles.into(), "tile"), count(series.elements, "element"));
        let size = format!("{tiles}, {elements}, {}", numbers::bytes(series.bytes));
        lines.push((name, size, need));
    }
    if lines.is_empty() {
        return Ok("nothing is kept".to_owned());
    }
    lines.sort();
    let wide = |part: fn(&(String, String, String)) -> &String| {
        lines.iter().map(|line| part(line).chars().count()).max().unwrap_or(0)
    };
    let (names, sizes) = (wide(|line| &line.0), wide(|line| &line.1));
    let lines = lines.iter().map(|(name, size, need)| format!("{name:<names$}  {size:<sizes$}  {need}\n"));
    Ok(lines.collect())
}

/// The tensors of the session that read one, directly or not.
fn needed_by(graph: &Graph, base: TensorId) -> String {
    let reads = |id: &TensorId| *id != base && upstream(graph, [*id]).contains(&base);
    let readers: Vec<&str> =
        graph.order.iter().filter(|id| reads(id)).map(|id| &*graph.tensor(*id).name).collect();
    if readers.is_empty() {
        "for reads of it".to_owned()
    } else {
        format!("needed by {}", readers.join(", "))
    }
}

/// Elements whose tree is shown, at the most.
const MOST_SHOWN: usize = 4096;

pub(super) fn tree(session: &mut Session, argument: &str) -> Told {
    if argument.is_empty() {
        return Err(needs(session, "a slice", ":tree weights[0:8, 0:8]"));
    }
    let view = session.slice(argument)?;
    let shape = view.domain().shape().unwrap_or_default();
    let elements = shape.iter().try_fold(1_i64, |product, len| product.checked_mul(*len));
    if elements.is_none_or(|elements| elements > MOST_SHOWN as i64) {
        let message = format!("a tree of more than {MOST_SHOWN} elements is too long");
        return Err(session.fault(Diagnostic::new(Code::E0102, message).help("read a smaller part")));
    }
    let (array, _) = session.elements(argument, &view)?;
    session.engine.tree_of(&view, &array).map_err(|error| session.error(error))
}
