//! The cases of views.jsonl: chains of movement ops over a row-major array.

use crate::{Outcome, same};
use itp::index::chain::{Chain, Pushed};
use itp::index::fold::{Folded, fold};
use itp::index::{Movement, View};
use serde_json::{Value, json};

type Check = Result<(), String>;

pub(crate) fn check(case: &Value) -> Outcome {
    check_chain(case).into()
}

fn check_chain(case: &Value) -> Check {
    let mut chain = Chain::row_major(&ints(&case["base_shape"])).unwrap();
    let mut copy_at = Value::Null;
    for (at, op) in case["ops"].as_array().unwrap().iter().enumerate() {
        match chain.push(&movement(op)) {
            Ok(Pushed::SameView) => {}
            Ok(Pushed::NewView) => copy_at = if copy_at.is_null() { json!(at) } else { copy_at },
            Err(error) => {
                same("status", &json!("error"), &case["status"]).map_err(|e| format!("{e} ({error})"))?;
                same("error_at", &json!(at), &case["error_at"])?;
                return same("error_kind", &json!(error.kind.as_str()), &case["error_kind"]);
            }
        }
    }
    let status = if copy_at.is_null() { "view" } else { "copy" };
    same("status", &json!(status), &case["status"])?;
    same("copy_at", &copy_at, &case["copy_at"])?;
    check_result(&chain, case)?;
    check_folded(&chain, case)
}

fn check_result(chain: &Chain, case: &Value) -> Check {
    same("shape", &json!(chain.shape()), &case["shape"])?;
    if let Some(view) = chain.as_view() {
        let canonical = view.canonical();
        same("strides", &json!(canonical.strides), &case["strides"])?;
        same("offset", &json!(canonical.offset), &case["offset"])?;
    }
    check_torch(chain, &case["torch"])?;
    let stack: Vec<Value> = chain.stages().iter().map(|stage| described(&stage.view.canonical())).collect();
    same("view_stack", &json!(stack), &case["view_stack"])?;
    same("is_contiguous", &json!(chain.last().is_contiguous()), &case["is_contiguous"])?;
    same("numpy_c_contiguous", &json!(chain.last().is_contiguous()), &case["numpy_c_contiguous"])?;
    same("numel", &json!(chain.last().len()), &case["numel"])?;
    same("injective", &json!(chain.is_injective()), &case["injective"])?;
    let gather: Vec<i64> = chain.gather().map(|element| element.unwrap_or(-1)).collect();
    same("gather", &json!(gather), &case["gather"])
}

/// Strides as torch itself has them, where torch does not copy.
fn check_torch(chain: &Chain, torch: &Value) -> Check {
    let Some(view) = chain.as_view().filter(|_| torch["copy_at"].is_null()) else { return Ok(()) };
    same("torch strides", &json!(view.strides), &torch["strides"])?;
    same("torch offset", &json!(view.offset), &torch["offset"])?;
    same("torch is_contiguous", &json!(view.is_contiguous()), &torch["is_contiguous"])
}

fn check_folded(chain: &Chain, case: &Value) -> Check {
    let folded = fold(chain);
    let affine = match &folded {
        Some(Folded::View(view)) => json!({"strides": view.strides, "offset": view.offset}),
        Some(Folded::Masked { .. } | Folded::Padding) | None => Value::Null,
    };
    same("affine", &affine, &case["affine"])?;
    let masked = match &folded {
        Some(Folded::Masked { view, mask }) => {
            json!({"strides": view.strides, "offset": view.offset, "mask": mask})
        }
        Some(Folded::Padding) => json!({"all_invalid": true}),
        Some(Folded::View(_)) | None => Value::Null,
    };
    same("masked_affine", &masked, case.get("masked_affine").unwrap_or(&Value::Null))?;
    match case.get("tinygrad_st") {
        Some(tracker) if tracker["n_views"] == 1 => check_tinygrad(chain, folded, &tracker["views"][0]),
        Some(_) | None => Ok(()),
    }
}

/// A single view of tinygrad is our folded view, and its mask our mask.
fn check_tinygrad(chain: &Chain, folded: Option<Folded>, expected: &Value) -> Check {
    let shape = chain.shape();
    let nothing = json!({"shape": shape, "strides": vec![0; shape.len()], "offset": 0, "mask": vec![(0, 0); shape.len()]});
    let ours = match folded {
        Some(Folded::View(view)) => with_mask(&view, Value::Null),
        Some(Folded::Masked { view, mask }) => with_mask(&view, json!(mask)),
        Some(Folded::Padding) => nothing,
        None => Value::Null,
    };
    same("tinygrad_st", &ours, expected)
}

fn with_mask(view: &View, mask: Value) -> Value {
    json!({"shape": view.shape, "strides": view.strides, "offset": view.offset, "mask": mask})
}

fn described(view: &View) -> Value {
    json!({"shape": view.shape, "strides": view.strides, "offset": view.offset})
}

fn movement(op: &Value) -> Movement {
    let number = |key: &str| op[key].as_i64().unwrap();
    let list = |key: &str| ints(&op[key]);
    match op["op"].as_str().unwrap() {
        "reshape" => Movement::Reshape(list("shape")),
        "permute" => Movement::Permute(list("order")),
        "expand" => Movement::Expand(list("shape")),
        "shrink" => Movement::Shrink(pairs(&op["bounds"])),
        "flip" => Movement::Flip(list("axes")),
        "pad" => Movement::Pad(pairs(&op["pads"])),
        "slice" => Movement::Slice {
            axis: number("axis"),
            start: number("start"),
            stop: number("stop"),
            step: number("step"),
        },
        "unfold" => Movement::Unfold { axis: number("axis"), size: number("size"), step: number("step") },
        "diagonal" => {
            Movement::Diagonal { axis1: number("axis1"), axis2: number("axis2"), offset: number("offset") }
        }
        "as_strided" => Movement::AsStrided {
            shape: list("shape"),
            strides: list("strides"),
            offset: op["offset"].as_i64(),
        },
        other => panic!("unknown op {other}"),
    }
}

fn ints(value: &Value) -> Vec<i64> {
    value.as_array().unwrap().iter().map(|x| x.as_i64().unwrap()).collect()
}

fn pairs(value: &Value) -> Vec<(i64, i64)> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| (pair[0].as_i64().unwrap(), pair[1].as_i64().unwrap()))
        .collect()
}
