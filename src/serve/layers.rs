//! The tensors and views of a script -> what can be looked at, and what the page is told about it.
//!
//! ```text
//! tensor sheet: f32[c: 3, y: inf, x: inf]      {"name": "sheet", "element": "f32", "dims": [{"label": "c", …}, …], …}
//! output "a.png" = sheet[…] range 0..1         "range": [0, 1]
//! ```

use super::answer::{Refusal, missing};
use super::opening::{looks, opening};
use crate::diagnostic::{any_of, closest, quoted};
use crate::engine::Engine;
use crate::graph::modules::ModuleId;
use crate::graph::types::Element;
use crate::graph::view::View;
use crate::graph::{Graph, Param, Pointwise, Tensor, TensorKind};
use crate::index::Dim;
use serde_json::{Value, json};
use std::sync::Arc;

/// A tensor or a view of the script that has dimensions.
pub(super) struct Layer {
    /// All of it.
    pub(super) view: Arc<View>,
    /// What it is, in the words of the language.
    kind: &'static str,
    doc: Vec<Arc<str>>,
}

/// Everything that can be looked at, in the order of the script: tensors first, then views.
pub(super) fn layers(graph: &Graph) -> Vec<Layer> {
    let tensors = graph.iter().filter(|(_, tensor)| tensor.module == ModuleId(0)).map(|(id, tensor)| {
        let view = View::whole(tensor.name.clone(), id, tensor.element, tensor.domain.clone());
        Layer { view: Arc::new(view), kind: kind(tensor), doc: tensor.doc.clone() }
    });
    let views = graph.views.iter().map(|named| Layer {
        view: named.view.clone(),
        kind: "view",
        doc: named.doc.clone(),
    });
    tensors.chain(views).filter(|layer| layer.view.rank() > 0).collect()
}

/// Names that a refusal lists at the most.
const LISTED: usize = 8;

/// The layer with that name.
pub(super) fn find(graph: &Graph, name: &str) -> Result<Layer, Refusal> {
    let mut all = layers(graph);
    if let Some(at) = all.iter().position(|layer| &*layer.view.name == name) {
        return Ok(all.swap_remove(at));
    }
    let close = closest(name, all.iter().map(|layer| &*layer.view.name));
    let names = || any_of(all.iter().map(|layer| &*layer.view.name).take(LISTED));
    let hint = match close {
        Some(close) => format!("; there is {}", quoted(close)),
        None if all.is_empty() => String::new(),
        None => format!("; there is {}", names()),
    };
    Err(missing(format!("the script has no tensor or view {}{hint}", quoted(name))))
}

fn kind(tensor: &Tensor) -> &'static str {
    match &tensor.kind {
        TensorKind::Input(_) => "input",
        TensorKind::Var(_) => "var",
        TensorKind::Pointwise(Pointwise { recurrence: Some(_), .. }) => "recurrence",
        TensorKind::Pointwise(Pointwise { recurrence: None, .. }) => "tensor",
        TensorKind::Windowed(_) => "windowed",
    }
}

/// Layers and parameters of a compiled script, and what the page opens with.
pub(super) fn describe(engine: &Engine) -> Value {
    let graph = &engine.program().graph;
    let layers: Vec<Value> = layers(graph).iter().map(|layer| layer_json(layer, graph)).collect();
    let params: Vec<Value> = graph.params.iter().map(param_json).collect();
    json!({"layers": layers, "params": params, "opening": opening(graph)})
}

fn layer_json(layer: &Layer, graph: &Graph) -> Value {
    let view = &layer.view;
    let (colormap, range) = looks(graph, &view.name);
    json!({
        "name": &*view.name,
        "kind": layer.kind,
        "element": view.element.name(),
        "dims": view.domain().dims().iter().map(dim_json).collect::<Vec<_>>(),
        "doc": joined(&layer.doc),
        "colormap": colormap.as_deref(),
        "range": range,
    })
}

/// Bounds are text: they need all of their 64 bits.
fn dim_json(dim: &Dim) -> Value {
    json!({
        "label": dim.label,
        "lower": dim.interval.lower().map(|bound| bound.to_string()),
        "upper": dim.interval.upper().map(|bound| bound.to_string()),
    })
}

fn param_json(param: &Param) -> Value {
    let element = param.value.element();
    let kind = match element {
        Element::Bool => "bool",
        _ if element.is_float() => "float",
        _ => "int",
    };
    json!({"name": &*param.name, "kind": kind, "value": param.value.to_string(), "doc": joined(&param.doc)})
}

fn joined(doc: &[Arc<str>]) -> String {
    doc.join("\n")
}
