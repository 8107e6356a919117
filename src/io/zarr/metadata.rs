//! `zarr.json` -> what the array is, or what is wrong with it; and back.
//!
//! ```text
//! {"zarr_format": 3, "node_type": "array", "shape": [256, 1024, 1024], "data_type": "uint16", …}   ->   Metadata
//! ```
//!
//! Every number is checked here, before a chunk is looked at: no chunk has more bytes than can be read at once.

use super::chain::{Chain, Coder, Squeeze};
use super::shard::Shard;
use crate::graph::scalar::Scalar;
use crate::graph::types::Element;
use crate::io::elements::from_f64;
use crate::io::error::{Result, fault};
use crate::io::scalars::store_scalar;
use crate::io::shape;
use serde_json::{Value, json};

/// Bytes of a decoded chunk, at the most: chunks are read whole.
pub(in crate::io) const LARGEST_CHUNK: u64 = 1 << 31;
/// Shards in shards, at the most.
const MOST_NESTED: usize = 3;
const MOST_AXES: usize = 32;

/// What `zarr.json` says.
#[derive(Debug)]
pub(super) struct Metadata {
    pub(super) element: Element,
    pub(super) shape: Vec<i64>,
    pub(super) chunk: Vec<i64>,
    pub(super) keys: Keys,
    /// The bytes of an element that no chunk holds.
    pub(super) fill: Vec<u8>,
    pub(super) chain: Chain,
}

/// How the file of a chunk is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keys {
    /// Whether names begin with `c`.
    prefix: bool,
    separator: char,
}

impl Keys {
    /// As everything is written here.
    pub(super) const DEFAULT: Keys = Keys { prefix: true, separator: '/' };

    /// The path of a chunk below the array's folder.
    pub(super) fn path(self, number: &[i64]) -> String {
        let numbers = number.iter().map(i64::to_string);
        let words: Vec<String> = self.prefix.then(|| "c".to_owned()).into_iter().chain(numbers).collect();
        if words.is_empty() { "0".to_owned() } else { words.join(&self.separator.to_string()) }
    }
}

/// How a new array is laid out.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Type of the elements.
    pub element: Element,
    /// Shape of a chunk.
    pub chunk: Vec<i64>,
    /// Shape of the files that chunks are gathered in, a multiple of theirs; without it every chunk is a file.
    pub shard: Option<Vec<i64>>,
    /// What chunks are compressed with.
    pub compression: Compression,
    /// Coordinates of the first element.
    pub origin: Vec<i64>,
    /// Names of the dimensions; an empty one is no name.
    pub labels: Vec<String>,
}

/// What chunks are compressed with, and how hard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// `gzip`, level 0 to 9.
    Gzip(u8),
    /// `zstd`, level 1 to 22.
    Zstd(u8),
    /// Not at all, with a checksum.
    Checksum,
}

impl Compression {
    /// The codec of that name, with a level or its usual one.
    pub fn named(name: &str, level: Option<i64>) -> std::result::Result<Compression, String> {
        let level = |usual: u8, most: u8| match level {
            None => Ok(usual),
            Some(level) => u8::try_from(level)
                .ok()
                .filter(|level| *level <= most)
                .ok_or_else(|| format!("has the codec {name}({level}), but its levels are 0 to {most}")),
        };
        match name {
            "none" => Ok(Compression::None),
            "gzip" => level(5, 9).map(Compression::Gzip),
            "zstd" => level(1, 22).map(Compression::Zstd),
            "crc32c" => Ok(Compression::Checksum),
            other => Err(format!("has the codec `{other}`, which is not written")),
        }
    }

    pub(super) fn squeeze(self) -> Vec<Squeeze> {
        match self {
            Compression::None => Vec::new(),
            Compression::Gzip(level) => vec![Squeeze::Gzip(level)],
            Compression::Zstd(level) => vec![Squeeze::Zstd(level)],
            Compression::Checksum => vec![Squeeze::Crc32c],
        }
    }

    fn json(self) -> Option<Value> {
        match self {
            Compression::None => None,
            Compression::Gzip(level) => Some(json!({"name": "gzip", "configuration": {"level": level}})),
            Compression::Zstd(level) => {
                Some(json!({"name": "zstd", "configuration": {"level": level, "checksum": false}}))
            }
            Compression::Checksum => Some(json!({"name": "crc32c"})),
        }
    }
}

/// The text of `zarr.json` for an array of that shape.
pub(super) fn print(layout: &Layout, shape: &[i64]) -> String {
    format!("{:#}\n", layout_json(layout, shape))
}

/// The same as a value, to be added to.
pub(in crate::io) fn layout_json(layout: &Layout, shape: &[i64]) -> Value {
    let bytes = match layout.element.bytes() {
        1 => json!({"name": "bytes"}),
        _ => json!({"name": "bytes", "configuration": {"endian": "little"}}),
    };
    let mut codecs = vec![bytes];
    codecs.extend(layout.compression.json());
    if layout.shard.is_some() {
        let index = json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]);
        let inner = json!({"chunk_shape": layout.chunk, "codecs": codecs, "index_codecs": index, "index_location": "end"});
        codecs = vec![json!({"name": "sharding_indexed", "configuration": inner})];
    }
    let fill = match layout.element {
        Element::Bool => json!(false),
        element if element.is_float() => json!(0.0),
        _ => json!(0),
    };
    let names: Vec<Option<&str>> =
        layout.labels.iter().map(|name| Some(name.as_str()).filter(|name| !name.is_empty())).collect();
    let mut array = json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": type_name(layout.element),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": layout.shard.as_ref().unwrap_or(&layout.chunk)}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill,
        "codecs": codecs,
        "attributes": {"itp": {"origin": layout.origin}},
    });
    if names.iter().any(Option::is_some) {
        array["dimension_names"] = json!(names);
    }
    array
}

const TYPES: [(&str, Element); 12] = [
    ("bool", Element::Bool),
    ("uint8", Element::U8),
    ("uint16", Element::U16),
    ("uint32", Element::U32),
    ("uint64", Element::U64),
    ("int8", Element::I8),
    ("int16", Element::I16),
    ("int32", Element::I32),
    ("int64", Element::I64),
    ("float16", Element::F16),
    ("float32", Element::F32),
    ("float64", Element::F64),
];

fn type_name(element: Element) -> &'static str {
    TYPES.iter().find(|(_, known)| *known == element).map(|(name, _)| *name).expect("every type has a name")
}

/// Reads the text of `zarr.json`.
pub(super) fn parse(text: &str) -> Result<Metadata> {
    let json: Value = serde_json::from_str(text)
        .map_err(|error| fault(format!("has a zarr.json that is no JSON: {error}")))?;
    let array = json.as_object().ok_or_else(|| fault("has a zarr.json that is no object"))?;
    match (array.get("zarr_format").and_then(Value::as_u64), array.get("node_type").and_then(Value::as_str)) {
        (Some(3), Some("array")) => {}
        (Some(3), Some("group")) => {
            return Err(fault("is a zarr group, not an array").help("name an array in it: `group.zarr/name`"));
        }
        (version, kind) => {
            return Err(fault(format!("has a zarr.json of format {version:?} and kind {kind:?}")));
        }
    }
    understood(array)?;
    let element = element(&array["data_type"])?;
    let shape = sizes(&array["shape"], "shape", 0)?;
    shape::bytes(element, &shape)?;
    let (grid, configuration) = named(&array["chunk_grid"], "chunk_grid")?;
    if grid != "regular" {
        return Err(fault(format!("has a chunk grid `{grid}`, and only regular ones are read")));
    }
    let chunk = sizes(&configuration["chunk_shape"], "chunk_shape", 1)?;
    if chunk.len() != shape.len() {
        return Err(fault(format!("has the shape {shape:?}, but chunks of the shape {chunk:?}")));
    }
    let chain = chain(&array["codecs"], element, &chunk, 0)?;
    let fill = fill(&array["fill_value"], element)?;
    Ok(Metadata { element, shape, chunk, keys: keys(&array["chunk_key_encoding"])?, fill, chain })
}

/// An error if something is said that has to be understood and is not, or something is missing.
fn understood(array: &serde_json::Map<String, Value>) -> Result<()> {
    const KNOWN: [&str; 11] = [
        "zarr_format",
        "node_type",
        "shape",
        "data_type",
        "chunk_grid",
        "chunk_key_encoding",
        "fill_value",
        "codecs",
        "attributes",
        "storage_transformers",
        "dimension_names",
    ];
    if let Some(missing) = KNOWN[..8].iter().find(|key| !array.contains_key(**key)) {
        return Err(fault(format!("has a zarr.json without `{missing}`")));
    }
    let optional = |value: &Value| value["must_understand"] == json!(false);
    if let Some((key, _)) =
        array.iter().find(|(key, value)| !KNOWN.contains(&key.as_str()) && !optional(value))
    {
        return Err(fault(format!("has a zarr.json with `{key}`, which is not known")));
    }
    match array.get("storage_transformers").and_then(Value::as_array) {
        Some(list) if !list.is_empty() => Err(fault("has storage transformers, which are not known")),
        Some(_) | None => Ok(()),
    }
}

fn element(value: &Value) -> Result<Element> {
    let found = value.as_str().and_then(|name| TYPES.iter().find(|(known, _)| *known == name));
    found.map(|(_, element)| *element).ok_or_else(|| {
        fault(format!("has elements of the type {value}, which the language has not"))
            .help("save it as another type")
    })
}

fn sizes(value: &Value, what: &str, least: i64) -> Result<Vec<i64>> {
    let size = |size: &Value| size.as_i64().filter(|size| (least..1 << 62).contains(size));
    let sizes = value.as_array().and_then(|list| list.iter().map(size).collect::<Option<Vec<i64>>>());
    match sizes {
        Some(sizes) if sizes.len() <= MOST_AXES => Ok(sizes),
        _ => Err(fault(format!("has the {what} {}", brief(value)))),
    }
}

/// A value as messages show it, which may come from anywhere.
fn brief(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 60 { text } else { text.chars().take(60).chain("…".chars()).collect() }
}

/// The name and configuration of an extension; a name alone has none.
fn named<'v>(value: &'v Value, what: &str) -> Result<(&'v str, &'v Value)> {
    let name = value.as_str().or_else(|| value["name"].as_str());
    name.map(|name| (name, &value["configuration"]))
        .ok_or_else(|| fault(format!("has the {what} {}", brief(value))))
}

fn keys(value: &Value) -> Result<Keys> {
    let (name, configuration) = named(value, "chunk_key_encoding")?;
    let separator = match &configuration["separator"] {
        Value::Null => None,
        Value::String(text) if text == "/" || text == "." => text.chars().next(),
        other => return Err(fault(format!("has the separator {} in names of chunks", brief(other)))),
    };
    match name {
        "default" => Ok(Keys { prefix: true, separator: separator.unwrap_or('/') }),
        "v2" => Ok(Keys { prefix: false, separator: separator.unwrap_or('.') }),
        other => Err(fault(format!("names its chunks by `{other}`, which is not known"))),
    }
}

fn fill(value: &Value, element: Element) -> Result<Vec<u8>> {
    let wrong = || fault(format!("has the fill value {}, which is no {element}", brief(value)));
    let mut bytes = Vec::new();
    match value {
        Value::Bool(value) if element == Element::Bool => bytes.push((*value).into()),
        Value::Number(number) if element.is_float() => {
            from_f64(element, &[number.as_f64().ok_or_else(wrong)?], &mut bytes);
        }
        Value::String(text) if element.is_float() => return fill_word(text, element).ok_or_else(wrong),
        Value::Number(number) if element != Element::Bool => {
            let value = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
            let (lo, hi) = element.int_range().ok_or_else(wrong)?;
            let value = value.filter(|value| (lo..=hi).contains(value)).ok_or_else(wrong)?;
            store_scalar(element, Scalar::int(element, value), &mut bytes);
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => {
            return Err(wrong());
        }
    }
    Ok(bytes)
}

/// `NaN`, `Infinity`, or the bits as `0x7fc00000`.
fn fill_word(text: &str, element: Element) -> Option<Vec<u8>> {
    let size = element.bytes() as usize;
    if let Some(digits) = text.strip_prefix("0x") {
        let bits = u64::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 2 * size)?;
        return Some(bits.to_le_bytes()[..size].to_vec());
    }
    let value = match text {
        "NaN" => f64::NAN,
        "Infinity" => f64::INFINITY,
        "-Infinity" => f64::NEG_INFINITY,
        _ => return None,
    };
    let mut bytes = Vec::new();
    from_f64(element, &[value], &mut bytes);
    Some(bytes)
}

/// The codecs of chunks of that shape.
fn chain(value: &Value, element: Element, chunk: &[i64], nested: usize) -> Result<Chain> {
    let bytes = shape::bytes(element, chunk)?;
    if bytes > LARGEST_CHUNK && nested > 0 {
        return Err(fault(format!(
            "has chunks of {bytes} bytes, more than {LARGEST_CHUNK}, which is read at once"
        )));
    }
    let list = value.as_array().ok_or_else(|| fault(format!("has the codecs {}", brief(value))))?;
    let (mut order, mut coder, mut squeeze) = (None, None, Vec::new());
    for codec in list {
        let (name, configuration) = named(codec, "codec")?;
        match (name, &coder) {
            ("transpose", None) if order.is_none() => {
                order = Some(transposition(configuration, chunk.len())?)
            }
            ("bytes", None) => {
                coder = Some(Coder::Bytes { big_endian: configuration["endian"] == json!("big") })
            }
            ("sharding_indexed", None) if order.is_none() && nested < MOST_NESTED => {
                coder = Some(Coder::Shard(Box::new(shard(configuration, element, chunk, nested + 1)?)));
            }
            ("gzip", Some(_)) => squeeze.push(Squeeze::Gzip(5)),
            ("zstd", Some(_)) => squeeze.push(Squeeze::Zstd(1)),
            ("crc32c", Some(_)) => squeeze.push(Squeeze::Crc32c),
            ("blosc", Some(_)) => squeeze.push(Squeeze::Blosc),
            (other, _) => {
                let known = "save it with `zstd`, `gzip`, `blosc` or no compression";
                return Err(fault(format!(
                    "has the codec `{}`, which is not read here",
                    brief(&json!(other))
                ))
                .help(known));
            }
        }
    }
    let coder = coder.ok_or_else(|| fault("has codecs that make no bytes of the elements"))?;
    let whole = matches!(coder, Coder::Bytes { .. }) || !squeeze.is_empty();
    if whole && bytes > LARGEST_CHUNK {
        return Err(fault(format!(
            "has chunks of {bytes} bytes, more than {LARGEST_CHUNK}, which is read at once"
        )));
    }
    Ok(Chain { order, coder, squeeze })
}

fn transposition(configuration: &Value, rank: usize) -> Result<Vec<usize>> {
    let order = sizes(&configuration["order"], "transposition", 0)?;
    let order: Vec<usize> = order.into_iter().map(|at| at as usize).collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted == (0..rank).collect::<Vec<_>>() {
        return Ok(order);
    }
    Err(fault(format!("has the transposition {order:?}, but {rank} dimensions")))
}

fn shard(configuration: &Value, element: Element, shard: &[i64], nested: usize) -> Result<Shard> {
    let chunk = sizes(&configuration["chunk_shape"], "chunk_shape of a shard", 1)?;
    let fits =
        chunk.len() == shard.len() && shard.iter().zip(&chunk).all(|(shard, chunk)| shard % chunk == 0);
    if !fits {
        return Err(fault(format!("has shards of {shard:?}, which chunks of {chunk:?} do not divide")));
    }
    let chain = chain(&configuration["codecs"], element, &chunk, nested)?;
    let index_codecs = configuration["index_codecs"].as_array().map_or(&[][..], |list| list);
    let names: Vec<&str> = index_codecs
        .iter()
        .map(|codec| named(codec, "codec").map(|(name, _)| name))
        .collect::<Result<_>>()?;
    let checked = match names[..] {
        ["bytes"] => false,
        ["bytes", "crc32c"] => true,
        _ => return Err(fault(format!("has shards whose index is coded by {}", brief(&json!(names))))),
    };
    let at_start = configuration["index_location"] == json!("start");
    let big_endian = index_codecs[0]["configuration"]["endian"] == json!("big");
    let grid: Vec<i64> = shard.iter().zip(&chunk).map(|(shard, chunk)| shard / chunk).collect();
    if shape::bytes(Element::U64, &grid)? > LARGEST_CHUNK / 4 {
        return Err(fault(format!("has shards of {grid:?} chunks, too many to list")));
    }
    Ok(Shard { chunk, grid, chain, checked, at_start, big_endian })
}
