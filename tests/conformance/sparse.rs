//! Levels of formats as Finch stores them: arrays, printed trees, and that no conversion loses a value.
//!
//! The data has every array twice: `rowmajor0` is ours; `finch` counts from 1 and has the last axis outermost, so its
//! trees are those of the transposed array.

use crate::{Outcome, same};
use itp::formats::{Convention, Entries, Frozen, Stored, fill_bytes, freeze, tree};
use itp::graph::scalar::Scalar;
use itp::graph::types::Element;
use itp::graph::{Format, Level};
use itp::io::{scalar_at, store_scalar};
use serde_json::{Value, json};

/// Levels of Finch that the language does not have.
const UNKNOWN: [&str; 5] =
    ["SparseRunList", "SparseBlockList", "SparsePoint", "SparseInterval", "merge=false"];

/// Whether a format can be written in the language.
pub(crate) fn is_ours(format: &str) -> bool {
    !UNKNOWN.iter().any(|level| format.contains(level))
}

/// An array of the data, as bytes of our own.
struct Case {
    shape: Vec<u32>,
    element: Element,
    fill: Scalar,
    data: Vec<u8>,
}

/// One case: all its formats, or the first that differs.
pub(crate) fn check(case: &Value) -> Outcome {
    let formats = case["formats"].as_object().unwrap();
    let ours: Vec<_> = formats.iter().filter(|(name, _)| is_ours(name)).collect();
    let checked = ours.iter().try_for_each(|(name, expected)| {
        check_format(case, name, expected).map_err(|why| format!("{name}: {why}"))
    });
    checked.and_then(|()| check_conversions(case, &ours)).into()
}

fn check_format(case: &Value, name: &str, expected: &Value) -> Result<(), String> {
    let pattern = name.contains("Pattern");
    let own = read(case, pattern);
    let stored = frozen(&own, name);
    same("arrays", &arrays(&stored), &expected["rowmajor0"]["levels_root_first"])?;
    same("thawed", &stored.thaw().unwrap(), &own.data)?;
    let turned = transposed(&own);
    let text = tree(&frozen(&turned, name), &Convention::Finch);
    same("tree", &text.trim_end(), &expected["finch"]["tree"].as_str().unwrap())
}

/// Every format converted to every other one is what freezing gives.
fn check_conversions(case: &Value, formats: &[(&String, &Value)]) -> Result<(), String> {
    let own = read(case, false);
    let names = formats.iter().map(|(name, _)| name.as_str()).filter(|name| !name.contains("Pattern"));
    let all: Vec<Frozen> = names.map(|name| frozen(&own, name)).collect();
    for from in &all {
        for to in &all {
            let converted = from.convert(&to.format).map_err(|why| format!("{why:?}"))?;
            same(&format!("{} to {}", from.format, to.format), &converted, to)?;
        }
    }
    Ok(())
}

fn read(case: &Value, pattern: bool) -> Case {
    let element = match case["dtype"].as_str().unwrap() {
        _ if pattern => Element::Bool,
        "float64" => Element::F64,
        "float32" => Element::F32,
        "int64" => Element::I64,
        "int32" => Element::I32,
        "uint8" => Element::U8,
        "bool" => Element::Bool,
        other => panic!("{other}"),
    };
    let value = |value: &Value| scalar(if pattern { Element::F64 } else { element }, value);
    let shape = case["shape"].as_array().unwrap().iter().map(|size| size.as_u64().unwrap() as u32).collect();
    let mut data = Vec::new();
    for one in case["dense_row_major"].as_array().unwrap() {
        let one = if pattern { value(one).cast(Element::Bool) } else { value(one) };
        store_scalar(element, one, &mut data);
    }
    let fill = if pattern { Scalar::bool(false) } else { value(&case["fill"]) };
    Case { shape, element, fill, data }
}

fn scalar(element: Element, value: &Value) -> Scalar {
    let float = match value {
        Value::String(text) => text.parse().unwrap(),
        Value::Bool(bool) => f64::from(u8::from(*bool)),
        _ => value.as_f64().unwrap(),
    };
    match element {
        Element::F64 | Element::F32 => Scalar::float(element, float),
        Element::Bool => Scalar::bool(float != 0.0),
        _ => Scalar::int(element, value.as_i64().unwrap().into()),
    }
}

/// The same array with its dimensions in the opposite order.
fn transposed(case: &Case) -> Case {
    let shape: Vec<u32> = case.shape.iter().rev().copied().collect();
    let width = case.element.bytes() as usize;
    let mut data = vec![0; case.data.len()];
    for (mut at, element) in case.data.chunks_exact(width).enumerate() {
        let mut place = 0;
        for size in case.shape.iter().rev().map(|size| *size as usize) {
            place = place * size + at % size;
            at /= size;
        }
        data[place * width..][..width].copy_from_slice(element);
    }
    Case { shape, element: case.element, fill: case.fill, data }
}

fn frozen(case: &Case, name: &str) -> Frozen {
    let format = parse(name, case.fill);
    let entries = Entries::of_dense(&case.shape, &fill_bytes(&format, case.element), &case.data);
    freeze(&entries, &format, case.element).unwrap()
}

/// `Dense(SparseCOO{2}(Element()))`
fn parse(name: &str, fill: Scalar) -> Format {
    let mut words = name.split('(').filter(|word| !word.is_empty());
    let mut levels = Vec::new();
    let pattern = loop {
        levels.push(match words.next().unwrap().trim_end_matches(')') {
            "Dense" => Level::Dense,
            "SparseList" => Level::SparseList,
            "SparseDict" => Level::SparseDict,
            "SparseByteMap" => Level::SparseBytemap,
            "RunList" => Level::RunList,
            "SparseBand" => Level::SparseBand,
            "Element" => break false,
            "Pattern" => break true,
            coo => {
                let dims = coo.trim_start_matches("SparseCOO{").trim_end_matches('}');
                Level::SparseCoo(dims.parse().unwrap())
            }
        });
    };
    Format { levels, fill, pattern }
}

/// The levels as the data writes them.
fn arrays(frozen: &Frozen) -> Value {
    let mut all: Vec<Value> = frozen.levels.iter().map(level).collect();
    let width = frozen.element.bytes() as usize;
    let values = frozen.values.chunks_exact(width).map(|bytes| value(scalar_at(frozen.element, bytes)));
    all.push(match frozen.format.pattern {
        true => json!({"level": "Pattern"}),
        false => json!({"level": "Element", "val": values.collect::<Vec<Value>>()}),
    });
    Value::Array(all)
}

fn value(scalar: Scalar) -> Value {
    match (scalar.as_float(), scalar.element()) {
        (Some(float), _) if float.is_finite() => json!(float),
        (Some(float), _) => json!(format!("{float}").to_lowercase()),
        (None, Element::Bool) => json!(scalar.is_true()),
        (None, _) => json!(scalar.as_int().unwrap() as i64),
    }
}

fn level(stored: &Stored) -> Value {
    match stored {
        Stored::Dense { size } => json!({"level": "Dense", "shape": size}),
        Stored::List { size, ptr, idx } => {
            json!({"level": "SparseList", "shape": size, "ptr": ptr, "idx": idx})
        }
        Stored::Coo { sizes, ptr, tbl } => {
            json!({"level": format!("SparseCOO{{{}}}", sizes.len()), "shape": sizes, "ptr": ptr, "tbl": tbl})
        }
        Stored::Dict { size, ptr, idx, val } => {
            json!({"level": "SparseDict", "shape": size, "ptr": ptr, "idx": idx, "val": val})
        }
        Stored::ByteMap { size, ptr, tbl, srt } => {
            let tbl: Vec<u8> = tbl.iter().map(|stored| u8::from(*stored)).collect();
            json!({"level": "SparseByteMap", "shape": size, "ptr": ptr, "tbl": tbl, "srt": srt})
        }
        Stored::Runs { size, ptr, right } => {
            json!({"level": "RunList", "merge": true, "shape": size, "ptr": ptr, "right_inclusive": right})
        }
        Stored::Band { size, last, ofs } => {
            json!({"level": "SparseBand", "shape": size, "idx_last_inclusive": last, "ofs": ofs})
        }
    }
}
