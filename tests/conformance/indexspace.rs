//! The cases of indexspace.jsonl: chains of ops, pairs of domains, alignment and JSON.

use crate::{Outcome, numpy, same};
use itp::index::align::align;
use itp::index::array::IndexArray;
use itp::index::domain::DimRef;
use itp::index::json::{
    array_from_json, array_to_json, domain_from_json, domain_to_json, transform_from_json, transform_to_json,
};
use itp::index::ops::{Bound, Slice};
use itp::index::transform::ArrayMap;
use itp::index::{Domain, INF, IndexError, Interval, OutputMap, Term, Transform};
use serde_json::{Value, json};

type Check = Result<(), String>;

pub(crate) fn check(case: &Value) -> Outcome {
    let outcome = match case["kind"].as_str().unwrap() {
        "chain" => check_chain(case),
        "domain_pair" => check_pair(case),
        "align" => check_align(case),
        "json" => check_json(case),
        kind => Err(format!("unknown kind {kind}")),
    };
    outcome.into()
}

fn check_chain(case: &Value) -> Check {
    let base = domain_from_json(&case["base"]).unwrap();
    let ops = case["ops"].as_array().unwrap();
    let mut transform = Transform::identity(base);
    for (i, op) in ops.iter().enumerate() {
        match apply(&transform, op) {
            Ok(next) => transform = next,
            Err(error) => return check_failure(case, i, &error),
        }
    }
    if case["status"] == "error" {
        return Err(format!(
            "should fail at op {} with {}, but gives {transform}",
            case["error_at"], case["error"]["kind"]
        ));
    }
    if case.get("quirk").is_some() {
        return same("documented domain", &documented(transform.domain()), &case["documented_domain"]);
    }
    check_transform(&transform, case)?;
    check_points(&transform, &case["points"])
}

fn check_failure(case: &Value, at: usize, error: &IndexError) -> Check {
    if case["status"] != "error" {
        return Err(format!("op {at} fails: {error}"));
    }
    same("error_at", &json!(at), &case["error_at"])?;
    check_kind(error, case)
}

fn check_kind(error: &IndexError, case: &Value) -> Check {
    same("error kind", &json!(error.kind.to_string()), &case["error"]["kind"])
        .map_err(|e| format!("{e} ({error})"))
}

fn check_transform(transform: &Transform, case: &Value) -> Check {
    same("domain", &described(transform.domain()), &case["domain"])?;
    let outputs = case["output"].as_array().unwrap();
    same("output rank", &transform.outputs().len(), &outputs.len())?;
    for (i, (ours, expected)) in transform.outputs().iter().zip(outputs).enumerate() {
        check_output(ours, expected).map_err(|e| format!("output {i}: {e}"))?;
    }
    let written = transform_to_json(transform).map_err(|e| e.to_string())?;
    same("json", &comparable(&written), &comparable(&case["json"]))?;
    let read_back = transform_from_json(&written).map_err(|e| e.to_string())?;
    same("json read back and written", &transform_to_json(&read_back).map_err(|e| e.to_string())?, &written)
}

/// The JSON with index arrays replaced by their shapes without the axes that broadcasting may add or drop;
/// their entries are compared in `check_output`.
fn comparable(value: &Value) -> Value {
    let mut value = value.clone();
    for output in value.get_mut("output").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(array) = output.get_mut("index_array") {
            *array = json!("compared entry by entry");
        }
    }
    value
}

fn check_output(ours: &OutputMap, expected: &Value) -> Check {
    match ours {
        OutputMap::Affine(affine) => {
            let described = match affine.terms() {
                [] => json!({"method": "constant", "offset": affine.offset()}),
                &[Term { dim, stride }] => {
                    json!({"method": "single_input_dimension", "offset": affine.offset(), "stride": stride, "input_dimension": dim})
                }
                terms => return Err(format!("a map of {} inputs", terms.len())),
            };
            same("map", &described, expected)
        }
        OutputMap::Array(map) => check_array(map, expected),
    }
}

fn check_array(map: &ArrayMap, expected: &Value) -> Check {
    same("method", &json!("array"), &expected["method"])?;
    same("offset", &json!(map.offset), &expected["offset"])?;
    same("stride", &json!(map.stride), &expected["stride"])?;
    same("index_range", &json!([lower(map.range), inclusive_upper(map.range)]), &expected["index_range"])?;
    let shape: Vec<i64> = ints(&expected["index_array_shape"]);
    let entries = flat(&expected["index_array"]);
    let theirs = IndexArray::new(shape, entries).map_err(|e| e.to_string())?;
    same("index_array", &broadcast(&map.array, theirs.shape()), &broadcast(&theirs, map.array.shape()))
}

/// The entries of the array spread over its axes and those of the other.
fn broadcast(array: &IndexArray, other: &[i64]) -> (Vec<i64>, Vec<i64>) {
    let pick = |(&a, &b): (&i64, &i64)| if a == 1 { b } else { a };
    let shape: Vec<i64> = array.shape().iter().zip(other).map(pick).collect();
    let spread = IndexArray::from_fn(shape.clone(), |at| Ok(array.get(at).unwrap())).unwrap();
    (shape, spread.entries().to_vec())
}

fn flat(value: &Value) -> Vec<i64> {
    match value.as_array() {
        Some(list) => list.iter().flat_map(flat).collect(),
        None => vec![value.as_i64().unwrap()],
    }
}

fn check_points(transform: &Transform, points: &Value) -> Check {
    for point in points.as_array().unwrap() {
        let at: Vec<i64> = ints(&point["in"]);
        match transform.apply(&at) {
            Ok(out) => same(&format!("point {at:?}"), &json!(out), &point["out"])?,
            Err(error) if point.get("error").is_some() => check_kind(&error, point)?,
            Err(error) => return Err(format!("point {at:?} fails: {error}")),
        }
    }
    Ok(())
}

fn check_pair(case: &Value) -> Check {
    let (a, b) = (domain_from_json(&case["a"]).unwrap(), domain_from_json(&case["b"]).unwrap());
    check_domain("hull", a.hull(&b), &case["hull"])?;
    check_domain("intersect", a.intersect(&b), &case["intersect"])
}

fn check_domain(what: &str, ours: Result<Domain, IndexError>, expected: &Value) -> Check {
    match ours {
        Ok(domain) => same(what, &described(&domain), expected),
        Err(error) if expected.get("error").is_some() => check_kind(&error, expected),
        Err(error) => Err(format!("{what} fails: {error}")),
    }
}

fn check_align(case: &Value) -> Check {
    let (source, target) =
        (domain_from_json(&case["source"]).unwrap(), domain_from_json(&case["target"]).unwrap());
    let transform = match align(&source, &target) {
        Ok(transform) => transform,
        Err(error) if case["status"] == "error" => return check_kind(&error, case),
        Err(error) => return Err(format!("fails: {error}")),
    };
    same("status", &case["status"], &json!("ok"))?;
    let shape = target.shape().unwrap();
    same("target_shape", &json!(shape), &case["target_shape"])?;
    let origin: Vec<i64> = target.dims().iter().map(|dim| dim.interval.first()).collect();
    let strides = row_major(&source.shape().unwrap());
    let received = IndexArray::from_fn(shape, |at| {
        let point: Vec<i64> = at.iter().zip(&origin).map(|(i, first)| i + first).collect();
        let from = transform.apply(&point)?;
        let position = source.dims().iter().zip(&from).map(|(dim, x)| x - dim.interval.first());
        Ok(position.zip(&strides).map(|(x, stride)| x * stride).sum())
    });
    same("received", &json!(received.unwrap().entries()), &case["received"])
}

fn row_major(shape: &[i64]) -> Vec<i64> {
    (0..shape.len()).map(|i| shape[i + 1..].iter().product()).collect()
}

fn check_json(case: &Value) -> Check {
    let failed = |error: IndexError| match case["status"] == "error" {
        true => check_kind(&error, case),
        false => Err(format!("fails: {error}")),
    };
    if case["type"] == "domain" {
        return match domain_from_json(&case["input"]) {
            Ok(domain) => {
                same("domain", &described(&domain), &case["domain"])?;
                same("json", &domain_to_json(&domain), &case["json"])
            }
            Err(error) => failed(error),
        };
    }
    match transform_from_json(&case["input"]) {
        Ok(transform) => {
            same("status", &json!("ok"), &case["status"])?;
            check_transform(&transform, case)?;
            same("json", &transform_to_json(&transform).unwrap(), &case["json"])
        }
        Err(error) => failed(error),
    }
}

/// A domain in the long form of the data.
fn described(domain: &Domain) -> Value {
    let each = |f: fn(&itp::index::Dim) -> Value| domain.dims().iter().map(f).collect::<Value>();
    json!({
        "rank": domain.rank(),
        "origin": each(|dim| json!(dim.interval.first())),
        "shape": each(|dim| json!(dim.interval.last() - dim.interval.first() + 1)),
        "inclusive_min": each(|dim| lower(dim.interval)),
        "exclusive_max": each(|dim| upper(dim.interval)),
        "implicit_lower": each(|dim| json!(dim.implicit_lower)),
        "implicit_upper": each(|dim| json!(dim.implicit_upper)),
        "labels": each(|dim| json!(dim.label)),
    })
}

/// A domain in the form of `documented_domain`.
fn documented(domain: &Domain) -> Value {
    let dim = |dim: &itp::index::Dim| {
        json!({
            "inclusive_min": lower(dim.interval), "exclusive_max": upper(dim.interval),
            "implicit_lower": dim.implicit_lower, "implicit_upper": dim.implicit_upper, "label": dim.label,
        })
    };
    domain.dims().iter().map(dim).collect()
}

fn lower(interval: Interval) -> Value {
    interval.lower().map_or(json!("-inf"), |bound| json!(bound))
}

fn upper(interval: Interval) -> Value {
    interval.upper().map_or(json!("+inf"), |bound| json!(bound))
}

fn inclusive_upper(interval: Interval) -> Value {
    interval.upper().map_or(json!("+inf"), |bound| json!(bound - 1))
}

fn ints<T: TryFrom<i64>>(value: &Value) -> Vec<T> {
    value.as_array().unwrap().iter().map(|x| T::try_from(x.as_i64().unwrap()).ok().unwrap()).collect()
}

/// Applies one recorded op.
fn apply(transform: &Transform, op: &Value) -> Result<Transform, IndexError> {
    let dims = || dim_refs(&op["dims"]);
    let list = |key: &str| values(&op[key], dims().len());
    match op["op"].as_str().unwrap() {
        "translate_by" => transform.translate_by(&dims(), &list("by")),
        "translate_backward_by" => transform.translate_backward_by(&dims(), &list("by")),
        "translate_to" => transform.translate_to(&dims(), &list("to")),
        "stride" => transform.stride(&dims(), &list("strides")),
        "slice" => transform.slice(&dims(), &slices(&list("start"), &list("stop"), &list("step"))),
        "index" => {
            transform.index(&dims(), &list("indices").into_iter().map(Option::unwrap).collect::<Vec<_>>())
        }
        "transpose" => transform.transpose(&dims(), &targets(&op["target"])),
        "diagonal" => transform.diagonal(&dims()),
        "add_new" => transform.add_new(&ints(&op["dims"])),
        "label" => transform.label(&dims(), &texts(&op["labels"])),
        "mark_bounds_implicit" => {
            transform.mark_bounds_implicit(&dims(), bound(&op["lower"]), bound(&op["upper"]))
        }
        "oindex" => transform.oindex(&dims(), &arrays(&op["arrays"])?),
        "vindex" => transform.vindex(&dims(), &arrays(&op["arrays"])?),
        "compose" => transform.compose(&transform_from_json(&op["transform"])?),
        "slice_domain" => transform.slice_domain(&domain_from_json(&op["domain"])?),
        "numpy" => numpy::apply(transform, op),
        other => panic!("unknown op {other}"),
    }
}

fn dim_refs(value: &Value) -> Vec<DimRef> {
    let dim = |dim: &Value| match dim.as_str() {
        Some(label) => DimRef::Label(label.to_owned()),
        None => DimRef::Position(dim.as_i64().unwrap()),
    };
    value.as_array().unwrap().iter().map(dim).collect()
}

/// One optional integer per dimension; a single value counts for all.
fn values(value: &Value, dims: usize) -> Vec<Option<i64>> {
    match value.as_array() {
        Some(list) => list.iter().map(integer).collect(),
        None => vec![integer(value); dims],
    }
}

pub(crate) fn integer(value: &Value) -> Option<i64> {
    match value.as_str() {
        Some("-inf") => Some(-INF),
        Some("+inf") => Some(INF),
        Some(other) => panic!("not a bound: {other}"),
        None => value.as_i64(),
    }
}

fn slices(start: &[Option<i64>], stop: &[Option<i64>], step: &[Option<i64>]) -> Vec<Slice> {
    let long = start.len().max(stop.len()).max(step.len());
    let at = |list: &[Option<i64>], i: usize| list.get(i).copied().flatten();
    (0..long).map(|i| Slice { start: at(start, i), stop: at(stop, i), step: at(step, i) }).collect()
}

fn targets(value: &Value) -> Vec<i64> {
    value.as_i64().map_or_else(|| ints(value), |one| vec![one])
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|label| label.as_str().unwrap().to_owned()).collect()
}

fn bound(value: &Value) -> Bound {
    match value.as_bool() {
        None => Bound::Keep,
        Some(true) => Bound::Implicit,
        Some(false) => Bound::Explicit,
    }
}

fn arrays(value: &Value) -> Result<Vec<IndexArray>, IndexError> {
    value.as_array().unwrap().iter().map(array_from_json).collect()
}

/// Kept so that a change of the array writer shows up here.
#[test]
fn arrays_survive_a_round_trip() {
    let nested = json!([[1, 2, 3], [4, 5, 6]]);
    assert_eq!(array_to_json(&array_from_json(&nested).unwrap()), nested);
}
