//! The text form of the checked graph, `itp emit --stage graph`.
//!
//! ```text
//! t1 = smooth: f32[y: inf, x: inf] <- t0
//!     v0: i64 = y
//!     v1: f32 = read t0[v0, v2]
//!     yield v1
//! ```

use super::body::{Body, Coord, NodeId, Op, TensorId};
use super::resolve_weak::Resolved;
use super::view::View;
use super::{BlendKind, Graph, InputSource, Tensor, TensorKind, WindowBody, Windowed};
use crate::index::Dim;
use std::collections::BTreeSet;
use std::fmt::Write;

/// The whole graph, or one tensor of it.
pub fn print(graph: &Graph, tensor: Option<&str>) -> String {
    let mut out = String::new();
    if let Some(name) = tensor {
        let found = graph.iter().filter(|(_, tensor)| &*tensor.name == name);
        found.for_each(|(id, tensor)| print_tensor(&mut out, id, tensor));
        return out;
    }
    for param in &graph.params {
        let _ = writeln!(out, "param {} = {}", param.name, param.value);
    }
    for (id, tensor) in graph.iter() {
        print_tensor(&mut out, id, tensor);
    }
    for named in &graph.views {
        let _ = writeln!(out, "view {} = {}", named.view.name, view_text(&named.view));
    }
    for set in &graph.sets {
        let _ = writeln!(out, "set {}", view_text(&set.target));
        print_body(&mut out, &set.body, &labels(set.target.domain().dims()), &[]);
    }
    for output in &graph.outputs {
        let _ = writeln!(out, "output {:?} = {}", output.path, view_text(&output.view));
    }
    out
}

/// One tensor, as [`print`] shows it.
pub fn print_tensor(out: &mut String, id: TensorId, tensor: &Tensor) {
    let reads: BTreeSet<TensorId> =
        tensor.bodies().iter().flat_map(|resolved| read_by(&resolved.body)).collect();
    let reads: Vec<_> = reads.iter().map(ToString::to_string).collect();
    let from = if reads.is_empty() { String::new() } else { format!(" <- {}", reads.join(", ")) };
    let _ = writeln!(out, "{id} = {}: {}{}{from}", tensor.name, tensor.element, tensor.domain);
    if let Some(chunk) = &tensor.chunk {
        let _ = writeln!(out, "    chunk {chunk:?}");
    }
    if let Some(format) = &tensor.format {
        let _ = writeln!(out, "    format {format}");
    }
    let labels = labels(tensor.domain.dims());
    match &tensor.kind {
        TensorKind::Input(InputSource::Host) => out.push_str("    input from the host\n"),
        TensorKind::Input(InputSource::Stream) => out.push_str("    input from a stream\n"),
        TensorKind::Input(InputSource::File(path)) => _ = writeln!(out, "    input from {path:?}"),
        TensorKind::Var(value) => _ = writeln!(out, "    var {value}"),
        TensorKind::Pointwise(pointwise) => {
            if let Some(recurrence) = &pointwise.recurrence {
                let _ = writeln!(
                    out,
                    "    recurrence along {} reach {}",
                    labels[recurrence.dim], recurrence.reach
                );
            }
            print_body(out, &pointwise.body, &labels, &[]);
        }
        TensorKind::Windowed(windowed) => print_windowed(out, windowed, &labels),
    }
}

fn print_windowed(out: &mut String, windowed: &Windowed, labels: &[String]) {
    let locals: Vec<String> = windowed.windows.locals.iter().map(ToString::to_string).collect();
    let part =
        |get: fn(&crate::index::Window) -> i64| windowed.windows.dims.iter().map(get).collect::<Vec<_>>();
    let (size, stride, offset) = (part(|w| w.size()), part(|w| w.stride()), part(|w| w.offset()));
    let _ =
        writeln!(out, "    window {size:?} stride {stride:?} offset {offset:?} as [{}]", locals.join(", "));
    for take in &windowed.takes {
        let map: Vec<_> = take.map.iter().map(|dim| dim.map_or("_", |dim| labels[dim].as_str())).collect();
        let _ = writeln!(
            out,
            "    take {} = {} window {:?} stride {:?} offset {:?} map [{}]",
            take.name,
            view_text(&take.source),
            take.sizes,
            take.stride,
            take.offset,
            map.join(", ")
        );
    }
    let name = windowed.blend.kind.name();
    let _ = writeln!(out, "    blend {name} init {}", windowed.blend.init);
    if let BlendKind::Custom(body) = &windowed.blend.kind {
        print_body(out, body, &[], &[]);
    }
    match &windowed.body {
        WindowBody::Expr(body) => print_body(out, body, labels, &locals),
        WindowBody::Extern { name, args } => {
            let args: Vec<_> = args.iter().map(|arg| windowed.takes[*arg].name.to_string()).collect();
            let _ = writeln!(out, "    extern {name:?}({})", args.join(", "));
        }
    }
}

/// The nodes of a body and its value.
pub fn print_body(out: &mut String, resolved: &Resolved, labels: &[String], locals: &[String]) {
    let body = &resolved.body;
    for (id, node) in body.nodes() {
        let _ = writeln!(out, "    {id}: {} = {}", node.ty, op_text(body, &node.op, labels, locals));
    }
    let _ = writeln!(out, "    yield {}", resolved.root);
}

fn op_text(body: &Body, op: &Op, labels: &[String], locals: &[String]) -> String {
    let list = |ids: &[NodeId], separator: &str| {
        ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(separator)
    };
    match op {
        Op::Const(value) => value.to_string(),
        Op::Coord(coord) => coord_text(body, *coord, labels, locals),
        Op::Arg(number) => format!("arg {number}"),
        Op::Unary(function, a) => format!("{} {a}", function.name()),
        Op::Binary(function, a, b) => format!("{} {a} {b}", function.name()),
        Op::Fma(a, b, c) => format!("fma {a} {b} {c}"),
        Op::Select(c, a, b) => format!("select {c} {a} {b}"),
        Op::Cast(a) => format!("cast {a}"),
        Op::Math(function, args) => format!("{} {}", function.name(), list(args, " ")),
        Op::Hash(args) => format!("hash {}", list(args, " ")),
        Op::Read { tensor, coords, .. } => format!("read {tensor}[{}]", list(coords, ", ")),
        Op::Table(table, coords) => {
            format!("table {}[{}]", body.tables[table.index()].name, list(coords, ", "))
        }
        Op::Reduce { function, vars, body: inner } => {
            let vars = vars.iter().map(|var| &body.binders[*var as usize]);
            let vars: Vec<_> = vars.map(|var| format!("{} in {}..{}", var.name, var.lo, var.hi)).collect();
            format!("{}({}) {inner}", function.name(), vars.join(", "))
        }
    }
}

/// `y`, `window y`, `dy`
pub fn coord_text(body: &Body, coord: Coord, labels: &[String], locals: &[String]) -> String {
    let at = |names: &[String], dim: u32| match names.get(dim as usize).map(String::as_str) {
        Some(name) if name != "_" => name.to_owned(),
        _ => format!("d{dim}"),
    };
    match coord {
        Coord::Global(dim) => at(labels, dim),
        Coord::Local(dim) => match locals.get(dim as usize).map(String::as_str) {
            Some(name) if name != "_" => name.to_owned(),
            _ => format!("local {}", at(labels, dim)),
        },
        Coord::Window(dim) => format!("index({})", at(labels, dim)),
        Coord::Bound(var) => body.binders[var as usize].name.to_string(),
    }
}

/// The labels of dimensions, `_` where there is none.
pub fn labels(dims: &[Dim]) -> Vec<String> {
    dims.iter().map(|dim| if dim.label.is_empty() { "_".to_owned() } else { dim.label.clone() }).collect()
}

/// `t0 map [y: 0..10] -> [y]; boundary …`, the steps from the view to its base.
pub fn view_text(view: &View) -> String {
    let steps = view.steps().iter().filter(|step| !step.is_identity());
    let steps: Vec<_> = steps.map(ToString::to_string).collect();
    if steps.is_empty() {
        format!("{} {}", view.base, view.domain())
    } else {
        format!("{} {}", view.base, steps.join("; "))
    }
}

fn read_by(body: &Body) -> Vec<TensorId> {
    let reads = body.nodes().filter_map(|(_, node)| match node.op {
        Op::Read { tensor, .. } => Some(tensor),
        _ => None,
    });
    reads.collect()
}
