//! A name -> what an editor shows when the mouse rests on it.
//!
//! ```text
//! tensor smooth: f32[y: inf, x: inf]
//! reads `height`: window 5×5, halo y 2 before and 2 after, x 2 before and 2 after
//! tile 128×4096, 2.1 MB
//! ```

use super::analysis::{Analysis, Compiled};
use super::occurrences::{Local, Meaning};
use crate::access::print::{InferredWindow, inferred_windows, print_views};
use crate::diagnostic::bytes;
use crate::graph::body::TensorId;
use crate::graph::meanings::VIEW_OPS;
use crate::graph::modules::{ModuleId, Symbol};
use crate::graph::vocabulary::built_in_meanings;
use crate::graph::{InputSource, Tensor, TensorKind, Windowed};
use crate::index::Dim;
use crate::plan::shape::usual_tile;
use crate::source::Span;
use crate::syntax::ast::{Ast, Item, ItemKind};

/// What is known about a name, as Markdown.
pub(super) fn hover(analysis: &Analysis, span: Span, meaning: Meaning) -> String {
    match meaning {
        Meaning::Item(symbol) => item(analysis, symbol),
        Meaning::Local(at, local) => self::local(analysis, at, local),
        Meaning::Builtin => {
            let meanings = built_in_meanings(analysis.sources.text(span)).into_iter();
            let parts = meanings.map(|(call, meaning)| format!("{}\n\n{meaning}", code(call)));
            parts.collect::<Vec<_>>().join("\n\n")
        }
        Meaning::Type => {
            format!("{}\n\nan element type, and a cast to it", code(analysis.sources.text(span)))
        }
        Meaning::ViewOp(at) => {
            let (_, usage, meaning) = VIEW_OPS[at];
            format!("{}\n\n{meaning}\n\na view operation: it moves no data", code(&format!(".{usage}")))
        }
        Meaning::Word(usage, meaning) => format!("{}\n\n{meaning}", code(usage)),
    }
}

fn code(text: &str) -> String {
    format!("```itp\n{text}\n```")
}

/// What an item is, its `##` lines, and what the compiler found out about it.
pub(super) fn item(analysis: &Analysis, symbol: Symbol) -> String {
    let item = analysis.modules.item(symbol);
    let ast = &analysis.modules.get(symbol.module).ast;
    let mut parts = vec![code(&heading(analysis, symbol, ast, item))];
    if !item.doc.is_empty() {
        parts.push(item.doc.join("\n"));
    }
    if let (Some(compiled), Some(name)) = (&analysis.program, item.kind.name()) {
        parts.extend(facts(compiled, symbol.module, &name.name));
    }
    if symbol.module != ModuleId(0) {
        parts.push(format!("from {}", analysis.sources.get(ast.source).name));
    }
    parts.join("\n\n")
}

/// The item without its body: `fn ramp(i, n)`, `tensor smooth: f32[y: inf, x: inf]`.
pub(super) fn heading(analysis: &Analysis, symbol: Symbol, ast: &Ast, item: &Item) -> String {
    let start = item.span.start;
    let until = |end: u32| {
        let text = analysis.sources.text(Span { source: ast.source, start, end });
        text.trim_end().trim_end_matches('=').split_whitespace().collect::<Vec<_>>().join(" ")
    };
    match &item.kind {
        ItemKind::Tensor(tensor) => until(tensor.ty.span.end),
        ItemKind::Input { .. } | ItemKind::Use(_) | ItemKind::Output { .. } | ItemKind::Set { .. } => {
            until(item.span.end)
        }
        ItemKind::Var { .. } | ItemKind::Param { .. } | ItemKind::Let { .. } | ItemKind::Window { .. } => {
            cut(&until(item.span.end))
        }
        ItemKind::Fn(function) => until(ast.span(function.body).start),
        ItemKind::View { name, .. } => match view_type(analysis, symbol.module, &name.name) {
            Some(ty) => format!("view {}: {ty}", name.name),
            None => cut(&until(item.span.end)),
        },
    }
}

/// Long constants are shown by their beginning.
fn cut(text: &str) -> String {
    const LONGEST: usize = 100;
    let mut shown: String = text.chars().take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

/// `f32[y: 4, x: 8]`, if the script compiled.
pub(super) fn view_type(analysis: &Analysis, module: ModuleId, name: &str) -> Option<String> {
    let views = &analysis.program.as_ref()?.program.graph.views;
    let named = views.iter().find(|named| *named.view.name == *name).filter(|_| module == ModuleId(0))?;
    Some(format!("{}{}", named.view.element, named.view.domain()))
}

fn facts(compiled: &Compiled, module: ModuleId, name: &str) -> Vec<String> {
    let graph = &compiled.program.graph;
    if let Some((id, tensor)) =
        graph.iter().find(|(_, tensor)| *tensor.name == *name && tensor.module == module)
    {
        return vec![tensor_facts(compiled, id, tensor).join("  \n")];
    }
    if module != ModuleId(0) {
        return Vec::new();
    }
    if let Some(param) = graph.params.iter().find(|param| *param.name == *name) {
        return vec![format!(
            "`{}` of type `{}`; change it with `--set {name}=…`",
            param.value,
            param.value.element()
        )];
    }
    let views = print_views(graph, &compiled.sources, Some(name));
    let lines: Vec<&str> =
        views.lines().skip(1).take_while(|line| line.starts_with(' ')).map(str::trim).collect();
    if lines.is_empty() { Vec::new() } else { vec![format!("```text\n{}\n```", lines.join("\n"))] }
}

fn tensor_facts(compiled: &Compiled, id: TensorId, tensor: &Tensor) -> Vec<String> {
    let graph = &compiled.program.graph;
    let mut lines = vec![format!("domain `{}`", tensor.domain)];
    match &tensor.kind {
        TensorKind::Input(InputSource::File(path)) => lines.push(format!("read from `{path}`")),
        TensorKind::Input(InputSource::Host) => lines.push("bound by the host, or with `--bind`".to_owned()),
        TensorKind::Input(InputSource::Stream) => lines.push("data that arrives".to_owned()),
        TensorKind::Var(value) => lines.push(format!("`{value}` where nothing was written")),
        TensorKind::Windowed(windowed) => lines.extend(window_facts(windowed)),
        TensorKind::Pointwise(pointwise) => {
            let steps = |own: &crate::graph::Recurrence| {
                let label = &tensor.domain.dims()[own.dim].label;
                format!(
                    "recurrence along `{label}`, {} back",
                    crate::diagnostic::counted(own.reach as usize, "step")
                )
            };
            lines.extend(pointwise.recurrence.as_ref().map(steps));
        }
    }
    for (source, window) in inferred_windows(&compiled.program.accesses.tensors[id.index()]) {
        if source != id {
            lines.push(reads(graph.tensor(source), &window));
        }
    }
    lines.push(tile(tensor));
    lines
}

fn window_facts(windowed: &Windowed) -> Vec<String> {
    let of = |part: fn(crate::index::Window) -> i64| {
        let sizes: Vec<i64> = windowed.windows.dims.iter().map(|window| part(*window)).collect();
        format!("{sizes:?}")
    };
    let (size, stride, offset) = (of(|w| w.size()), of(|w| w.stride()), of(|w| w.offset()));
    let window = format!("window `{size}` stride `{stride}` offset `{offset}`");
    vec![window, format!("windows blend by `{}` from `{}`", windowed.blend.kind.name(), windowed.blend.init)]
}

/// `reads height: window 5×5, halo y 2 before and 2 after`
fn reads(source: &Tensor, (size, stride, offset): &InferredWindow) -> String {
    let halo = |(at, dim): (usize, &Dim)| {
        let (before, after) = (-offset[at], size[at] - 1 + offset[at]);
        let moved = stride[at] == 1 && (before != 0 || after != 0);
        let label = if dim.label.is_empty() { at.to_string() } else { dim.label.clone() };
        moved.then(|| format!("{label} {before} before and {after} after"))
    };
    let halos: Vec<String> = source.domain.dims().iter().enumerate().filter_map(halo).collect();
    let halo = if halos.is_empty() { String::new() } else { format!(", halo {}", halos.join(", ")) };
    format!("reads `{}`: window {}{halo}", source.name, times(size))
}

fn tile(tensor: &Tensor) -> String {
    let shape = usual_tile(tensor);
    let elements = shape.iter().fold(1u64, |n, size| n.saturating_mul(*size as u64));
    format!("tile {}, {}", times(&shape), bytes(elements.saturating_mul(tensor.element.bytes())))
}

fn times(sizes: &[i64]) -> String {
    let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    sizes.join("×")
}

fn local(analysis: &Analysis, at: Span, local: Local) -> String {
    let name = analysis.sources.text(at);
    let what = match local {
        Local::Label => "a dimension; in a body, the global coordinate along it",
        Local::Coordinate => "a coordinate inside the window, from 0",
        Local::Take => "a slice of its source, indexed from 0",
        Local::Let => "a value of this block",
        Local::Variable => "a variable of the reduction",
        Local::Argument => "an argument of the function",
        Local::Blended => "a value that the blend combines",
    };
    let ty = take_type(analysis, at).map(|ty| format!(": {ty}")).unwrap_or_default();
    format!("{}\n\n{what}", code(&format!("{name}{ty}")))
}

/// `f32[256, 256]` for the take whose name is at `at`.
pub(super) fn take_type(analysis: &Analysis, at: Span) -> Option<String> {
    let compiled = analysis.program.as_ref()?;
    let name = analysis.sources.text(at);
    let owner = analysis.item_at(at.start as usize)?.kind.name()?;
    let tensor = compiled.program.graph.tensors.iter().find(|tensor| tensor.name == owner.name)?;
    let TensorKind::Windowed(windowed) = &tensor.kind else { return None };
    let take = windowed.takes.iter().find(|take| *take.name == *name)?;
    Some(format!("{}{:?}", take.source.element, take.sizes))
}
