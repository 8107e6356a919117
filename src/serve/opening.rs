//! The first output of a script -> what the page opens with.
//!
//! ```text
//! output "a.png" = s[9, 1, 0:512, 64:128]      {"layer": "s", "dims": [2, 3], "at": {"0": "9", "1": "1"},
//!                                               "region": {"2": ["0", "512"], "3": ["64", "128"]}}
//! ```
//!
//! An output that is more than a slice of its layer opens the layer, wherever that begins.

use super::layers::{Layer, layers};
use crate::graph::{Graph, Output};
use crate::index::{OutputMap, Transform};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// How a dimension of a layer is met by an output. Numbers are coordinates of the layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Met {
    /// It is cut there.
    At(i128),
    /// A dimension of the output runs along it.
    Along { dim: usize, lower: i128, upper: i128 },
}

/// What the page opens with; nothing if no output shows a layer.
pub(super) fn opening(graph: &Graph) -> Option<Value> {
    let layers = layers(graph);
    graph.outputs.iter().find_map(|output| {
        let layer = layers.iter().find(|layer| layer.view.name == output.view.name)?;
        Some(opened(layer, output))
    })
}

fn opened(layer: &Layer, output: &Output) -> Value {
    let met = layer.view.as_transform().zip(output.view.as_transform());
    let met = met
        .and_then(|(layer, output)| (0..layer.domain().rank()).map(|dim| meet(layer, output, dim)).collect());
    let met: Vec<Met> = met.unwrap_or_default();
    let (mut at, mut region) = (Map::new(), Map::new());
    for (dim, met) in met.iter().enumerate() {
        match met {
            Met::At(number) => _ = at.insert(dim.to_string(), number.to_string().into()),
            Met::Along { lower, upper, .. } => {
                _ = region.insert(dim.to_string(), json!([lower.to_string(), upper.to_string()]));
            }
        }
    }
    json!({"layer": &*layer.view.name, "dims": dims(&met, layer, output), "at": at, "region": region})
}

/// How an output meets a dimension of a layer, where both are slices of one tensor.
fn meet(layer: &Transform, output: &Transform, dim: usize) -> Option<Met> {
    let runs =
        |map: &OutputMap| single(map).is_some_and(|(_, term)| term.is_some_and(|(known, _)| known == dim));
    let place = layer.outputs().iter().position(runs)?;
    let (start, term) = single(&layer.outputs()[place])?;
    let (_, stride) = term?;
    let number = |coordinate: i128| (coordinate - start).div_euclid(stride);
    let (offset, along) = single(output.outputs().get(place)?)?;
    let Some((dim, step)) = along else { return Some(Met::At(number(offset))) };
    let interval = output.domain().dims()[dim].interval;
    let ends = [interval.lower()?, interval.upper()? - 1].map(|end| number(offset + step * i128::from(end)));
    Some(Met::Along { dim, lower: ends[0].min(ends[1]), upper: ends[0].max(ends[1]) + 1 })
}

/// The offset of a map, and the dimension and stride of its only term; none if it has several, or is a table.
fn single(map: &OutputMap) -> Option<(i128, Option<(usize, i128)>)> {
    let map = map.as_affine()?;
    match map.terms() {
        [] => Some((map.offset().into(), None)),
        [term] => Some((map.offset().into(), Some((term.dim, term.stride.into())))),
        _ => None,
    }
}

/// Rows and columns of the layer, after the colours if there are some; nothing if the output is no plane of it.
fn dims(met: &[Met], layer: &Layer, output: &Output) -> Vec<usize> {
    let shape = output.view.domain().shape().unwrap_or_default();
    let colour = |len: i64| len == 3 || len == 4;
    let wanted: Vec<usize> = match shape[..] {
        [len, _, _] if output.kind.is_image() && colour(len) => vec![0, 1, 2],
        [_, _, _] if output.kind.is_image() => vec![2, 0, 1],
        [_] if met.len() > 1 => return Vec::new(),
        _ => (shape.len().saturating_sub(2)..shape.len()).collect(),
    };
    let along =
        |wanted: &usize| met.iter().position(|met| matches!(met, Met::Along { dim, .. } if dim == wanted));
    let mut dims: Vec<usize> = wanted.iter().filter_map(along).collect();
    if dims.len() < wanted.len() {
        return Vec::new();
    }
    // Tiles take all the elements of a dimension as colours.
    let len = |dim: usize| layer.view.domain().dims()[dim].interval.len().unwrap_or(0);
    if dims.len() == 3 && !colour(len(dims[0])) {
        dims.remove(0);
    }
    dims
}

/// The colour map and range of a layer: those of its first image, which is grey where it does not say.
pub(super) fn looks(graph: &Graph, name: &str) -> (Option<Arc<str>>, Option<(f64, f64)>) {
    let (map, range) = graph.looks(name);
    let shown = |output: &Output| output.kind.is_image() && *output.view.name == *name;
    let grey = graph.outputs.iter().find(|output| shown(output)).map(|_| "grey".into());
    (map.or(grey), range)
}
