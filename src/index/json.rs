//! TensorStore's JSON of domains and transforms, read and written.
//!
//! ```json
//! {"input_inclusive_min": [-3, 0], "input_exclusive_max": [5, ["+inf"]], "input_labels": ["y", "x"],
//!  "output": [{"input_dimension": 1, "stride": 2}, {"offset": 7}]}
//! ```
//!
//! A bound in a list of its own is implicit. What is written is canonical: bounds that are all implicit and
//! unbounded, empty labels and identity outputs are left out.

use super::array::IndexArray;
use super::domain::{Dim, Domain, MAX_RANK};
use super::error::{Result, invalid};
use super::interval::{INF, Interval};
use super::transform::{Affine, ArrayMap, OutputMap, Term, Transform};
use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// What the members of a domain are called; transforms put `input_` in front.
struct Keys {
    rank: &'static str,
    inclusive_min: &'static str,
    inclusive_max: &'static str,
    exclusive_max: &'static str,
    shape: &'static str,
    labels: &'static str,
}

const DOMAIN: Keys = Keys {
    rank: "rank",
    inclusive_min: "inclusive_min",
    inclusive_max: "inclusive_max",
    exclusive_max: "exclusive_max",
    shape: "shape",
    labels: "labels",
};

const INPUT: Keys = Keys {
    rank: "input_rank",
    inclusive_min: "input_inclusive_min",
    inclusive_max: "input_inclusive_max",
    exclusive_max: "input_exclusive_max",
    shape: "input_shape",
    labels: "input_labels",
};

/// One bound as written: a number and whether it stands in a list of its own.
type WrittenBound = (i64, bool);

/// How the upper bounds are written.
enum Upper {
    Inclusive(Vec<WrittenBound>),
    Exclusive(Vec<WrittenBound>),
    Shape(Vec<WrittenBound>),
    Absent,
}

/// Reads a domain: `{"inclusive_min": […], "exclusive_max": […], "labels": […]}`.
pub fn domain_from_json(value: &Value) -> Result<Domain> {
    let object = as_object(value)?;
    check_members(object, &DOMAIN.all())?;
    read_domain(object, &DOMAIN)
}

/// Reads a transform; without `output` it is the identity.
pub fn transform_from_json(value: &Value) -> Result<Transform> {
    let object = as_object(value)?;
    let mut known = INPUT.all().to_vec();
    known.push("output");
    check_members(object, &known)?;
    let domain = read_domain(object, &INPUT)?;
    match object.get("output") {
        None => Ok(Transform::identity(domain)),
        Some(outputs) => {
            let outputs = as_list(outputs, "output")?
                .iter()
                .map(|o| read_output(o, domain.rank()))
                .collect::<Result<_>>()?;
            Transform::new(domain, outputs)
        }
    }
}

/// Writes a domain.
pub fn domain_to_json(domain: &Domain) -> Value {
    Value::Object(write_domain(domain, &DOMAIN))
}

/// Writes a transform; a map in several inputs cannot be written, TensorStore has none.
pub fn transform_to_json(transform: &Transform) -> Result<Value> {
    let mut object = write_domain(transform.domain(), &INPUT);
    if *transform != Transform::identity(transform.domain().clone()) {
        let outputs = transform.outputs().iter().map(write_output).collect::<Result<Vec<_>>>()?;
        object.insert("output".to_owned(), Value::Array(outputs));
    }
    Ok(Value::Object(object))
}

impl Keys {
    fn all(&self) -> [&'static str; 6] {
        [self.rank, self.inclusive_min, self.inclusive_max, self.exclusive_max, self.shape, self.labels]
    }
}

fn as_object(value: &Value) -> Result<&Object> {
    value.as_object().ok_or_else(|| invalid(format!("expected an object, not {value}")))
}

fn as_list<'a>(value: &'a Value, member: &str) -> Result<&'a [Value]> {
    value
        .as_array()
        .map(Vec::as_slice)
        .ok_or_else(|| invalid(format!("`{member}` must be a list, not {value}")))
}

fn check_members(object: &Object, known: &[&str]) -> Result<()> {
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(invalid(format!("unknown member `{key}`"))),
        None => Ok(()),
    }
}

fn read_domain(object: &Object, keys: &Keys) -> Result<Domain> {
    let rank = read_rank(object, keys)?;
    let lower = read_bounds(object, keys.inclusive_min, Some(-INF), None)?;
    let upper = read_upper(object, keys)?;
    let labels = read_labels(object, keys.labels)?;
    let mut dims = Vec::with_capacity(rank);
    for at in 0..rank {
        let dim = read_dim(lower.as_ref().map(|bounds| bounds[at]), upper.at(at))?;
        dims.push(dim.labelled(labels.get(at).cloned().unwrap_or_default()));
    }
    Domain::new(dims)
}

/// The rank on which every member present agrees.
fn read_rank(object: &Object, keys: &Keys) -> Result<usize> {
    let mut rank = None;
    for key in keys.all() {
        let Some(value) = object.get(key) else { continue };
        let said = if key == keys.rank { read_size(value)? } else { as_list(value, key)?.len() };
        if said > MAX_RANK {
            return Err(invalid(format!(
                "`{key}` has {said} dimensions, but at most {MAX_RANK} are possible"
            )));
        }
        if rank.is_some_and(|rank| rank != said) {
            return Err(invalid(format!("`{key}` has {said} dimensions, not {}", rank.unwrap_or_default())));
        }
        rank = Some(said);
    }
    rank.ok_or_else(|| invalid(format!("one of `{}` is needed", keys.all().join("`, `"))))
}

fn read_size(value: &Value) -> Result<usize> {
    strict_integer(value).and_then(|n| usize::try_from(n).map_err(|_| invalid(format!("a rank of {n}"))))
}

fn read_upper(object: &Object, keys: &Keys) -> Result<Upper> {
    let inclusive = read_bounds(object, keys.inclusive_max, None, Some(INF))?;
    let exclusive = read_bounds(object, keys.exclusive_max, None, Some(INF + 1))?;
    let shape = read_bounds(object, keys.shape, None, Some(i64::MAX))?;
    match (inclusive, exclusive, shape) {
        (None, None, None) => Ok(Upper::Absent),
        (Some(bounds), None, None) => Ok(Upper::Inclusive(bounds)),
        (None, Some(bounds), None) => Ok(Upper::Exclusive(bounds)),
        (None, None, Some(bounds)) => Ok(Upper::Shape(bounds)),
        (_, _, _) => {
            let (a, b, c) = (keys.inclusive_max, keys.exclusive_max, keys.shape);
            Err(invalid(format!("only one of `{a}`, `{b}`, `{c}` may be given")))
        }
    }
}

/// The same choice with the bound of one dimension.
enum UpperBound {
    Inclusive(WrittenBound),
    Exclusive(WrittenBound),
    Size(WrittenBound),
    Absent,
}

impl Upper {
    fn at(&self, at: usize) -> UpperBound {
        match self {
            Upper::Inclusive(bounds) => UpperBound::Inclusive(bounds[at]),
            Upper::Exclusive(bounds) => UpperBound::Exclusive(bounds[at]),
            Upper::Shape(bounds) => UpperBound::Size(bounds[at]),
            Upper::Absent => UpperBound::Absent,
        }
    }
}

fn read_dim(lower: Option<WrittenBound>, upper: UpperBound) -> Result<Dim> {
    // A shape alone starts at 0; otherwise what is not written is unbounded and implicit.
    let default = if matches!(upper, UpperBound::Size(_)) { (0, false) } else { (-INF, true) };
    let (first, implicit_lower) = lower.unwrap_or(default);
    let (interval, implicit_upper) = match upper {
        UpperBound::Inclusive((last, implicit)) => (Interval::closed(first, last)?, implicit),
        UpperBound::Exclusive((end, implicit)) => (Interval::new(first, end)?, implicit),
        UpperBound::Size((i64::MAX, implicit)) => (Interval::closed(first, INF)?, implicit),
        UpperBound::Size((size, implicit)) => (Interval::sized(first, size)?, implicit),
        UpperBound::Absent => (Interval::closed(first, INF)?, true),
    };
    Ok(Dim { implicit_lower, implicit_upper, ..Dim::explicit(interval) })
}

/// Bounds that may be written `"-inf"` or `"+inf"` where that makes sense, and must not lie beyond it.
fn read_bounds(
    object: &Object,
    key: &str,
    least: Option<i64>,
    most: Option<i64>,
) -> Result<Option<Vec<WrittenBound>>> {
    let Some(value) = object.get(key) else { return Ok(None) };
    let read = |value: &Value| match value.as_array().map(Vec::as_slice) {
        Some([inner]) => Ok((read_bound(inner, least, most)?, true)),
        Some(_) => Err(invalid(format!("an implicit bound is a list of one, not {value}"))),
        None => Ok((read_bound(value, least, most)?, false)),
    };
    as_list(value, key)?.iter().map(read).collect::<Result<_>>().map(Some)
}

fn read_bound(value: &Value, least: Option<i64>, most: Option<i64>) -> Result<i64> {
    let bound = match value.as_str() {
        Some("-inf") => least,
        Some("+inf") => most,
        Some(digits) => digits.trim().parse().ok(),
        None => strict_integer(value).ok(),
    };
    let fits =
        |&bound: &i64| least.is_none_or(|least| bound >= least) && most.is_none_or(|most| bound <= most);
    bound.filter(fits).ok_or_else(|| invalid(format!("{value} is not a bound")))
}

/// A number without a fraction that fits 64 bits.
fn strict_integer(value: &Value) -> Result<i64> {
    let whole =
        |x: f64| (x.fract() == 0.0 && (-(2f64.powi(63))..2f64.powi(63)).contains(&x)).then_some(x as i64);
    let integer = value.as_i64().or_else(|| value.as_f64().filter(|_| !value.is_u64()).and_then(whole));
    integer.ok_or_else(|| invalid(format!("expected an integer, not {value}")))
}

fn read_labels(object: &Object, key: &str) -> Result<Vec<String>> {
    let Some(value) = object.get(key) else { return Ok(Vec::new()) };
    let text = |value: &Value| {
        value.as_str().map(str::to_owned).ok_or_else(|| invalid(format!("a label must be text, not {value}")))
    };
    as_list(value, key)?.iter().map(text).collect()
}

fn read_output(value: &Value, rank: usize) -> Result<OutputMap> {
    let object = as_object(value)?;
    check_members(object, &["offset", "stride", "input_dimension", "index_array", "index_array_bounds"])?;
    let number = |key: &str, default: i64| object.get(key).map_or(Ok(default), strict_integer);
    let (offset, stride) = (number("offset", 0)?, number("stride", 1)?);
    match (object.get("input_dimension"), object.get("index_array")) {
        (Some(_), Some(_)) => Err(invalid("only one of `input_dimension`, `index_array` may be given")),
        (Some(_), None) if object.contains_key("index_array_bounds") => Err(bounds_without_array()),
        (Some(dim), None) => {
            Ok(OutputMap::Affine(Affine::single(offset, stride, read_dimension(dim, rank)?)))
        }
        (None, Some(array)) => read_array(offset, stride, array, object.get("index_array_bounds")),
        (None, None) if object.contains_key("stride") => {
            Err(invalid("`stride` needs `input_dimension` or `index_array`"))
        }
        (None, None) if object.contains_key("index_array_bounds") => Err(bounds_without_array()),
        (None, None) => Ok(OutputMap::constant(offset)),
    }
}

/// The input dimension of an output; a stride of 0 makes a constant, but the dimension must exist all the same.
fn read_dimension(value: &Value, rank: usize) -> Result<usize> {
    let dim = strict_integer(value)?;
    let known = usize::try_from(dim).ok().filter(|&dim| dim < rank);
    known.ok_or_else(|| invalid(format!("input dimension {dim} does not exist, there are {rank}")))
}

fn bounds_without_array() -> super::IndexError {
    invalid("`index_array_bounds` needs `index_array`")
}

fn read_array(offset: i64, stride: i64, array: &Value, bounds: Option<&Value>) -> Result<OutputMap> {
    let range =
        bounds.map_or(Ok(Interval::all()), |bounds| match as_list(bounds, "index_array_bounds")? {
            [lo, hi] => Interval::closed(
                read_bound(lo, Some(-INF), Some(INF))?,
                read_bound(hi, Some(-INF), Some(INF))?,
            ),
            _ => Err(invalid(format!("`index_array_bounds` needs two bounds, not {bounds}"))),
        })?;
    let array = array_from_json(array)?;
    Ok(OutputMap::Array(ArrayMap { offset, stride, array, range }))
}

/// Reads nested lists of integers as a table; all lists at one depth must be equally long.
pub fn array_from_json(value: &Value) -> Result<IndexArray> {
    let mut shape = Vec::new();
    let mut level: Vec<&Value> = vec![value];
    while level.first().is_some_and(|first| first.is_array()) {
        let lists = level.iter().map(|list| as_list(list, "index_array")).collect::<Result<Vec<_>>>()?;
        let size = lists[0].len();
        if shape.len() == MAX_RANK || lists.iter().any(|list| list.len() != size) {
            return Err(invalid("the lists of an index array are not equally long, or too deep"));
        }
        shape.push(i64::try_from(size).expect("a list fits memory"));
        level = lists.into_iter().flatten().collect();
    }
    let data = level.into_iter().map(strict_integer).collect::<Result<_>>()?;
    IndexArray::new(shape, data)
}

/// Writes a table as nested lists.
pub fn array_to_json(array: &IndexArray) -> Value {
    let mut level: Vec<Value> = array.entries().iter().map(|&entry| json!(entry)).collect();
    let sizes: Vec<usize> =
        array.shape().iter().map(|&n| usize::try_from(n).expect("sizes are not negative")).collect();
    for (axis, &size) in sizes.iter().enumerate().rev() {
        let lists = sizes[..axis].iter().product();
        let mut rest = level.into_iter();
        level = (0..lists).map(|_| Value::Array(rest.by_ref().take(size).collect())).collect();
    }
    level.pop().unwrap_or(Value::Array(Vec::new()))
}

fn write_domain(domain: &Domain, keys: &Keys) -> Object {
    let mut object = Object::new();
    let upper = |dim: &Dim| (dim.interval.upper(), "+inf", dim.implicit_upper);
    let lower = |dim: &Dim| (dim.interval.lower(), "-inf", dim.implicit_lower);
    insert_bounds(&mut object, keys.exclusive_max, domain.dims().iter().map(upper).collect());
    insert_bounds(&mut object, keys.inclusive_min, domain.dims().iter().map(lower).collect());
    if domain.dims().iter().any(|dim| !dim.label.is_empty()) {
        let labels: Vec<&str> = domain.dims().iter().map(|dim| dim.label.as_str()).collect();
        object.insert(keys.labels.to_owned(), json!(labels));
    }
    if object.is_empty() {
        object.insert(keys.rank.to_owned(), json!(domain.rank()));
    }
    object
}

/// Adds bounds unless all of them are implicit and unbounded.
fn insert_bounds(object: &mut Object, key: &str, bounds: Vec<(Option<i64>, &str, bool)>) {
    if bounds.iter().all(|(bound, _, implicit)| bound.is_none() && *implicit) {
        return;
    }
    let write = |(bound, unbounded, implicit): (Option<i64>, &str, bool)| {
        let bound = bound.map_or_else(|| json!(unbounded), |bound| json!(bound));
        if implicit { json!([bound]) } else { bound }
    };
    object.insert(key.to_owned(), bounds.into_iter().map(write).collect());
}

fn write_output(output: &OutputMap) -> Result<Value> {
    let mut object = Object::new();
    let (offset, stride) = match output {
        OutputMap::Affine(affine) => (affine.offset(), write_term(affine, &mut object)?),
        OutputMap::Array(map) => {
            write_array(map, &mut object);
            (map.offset, map.stride)
        }
    };
    if offset != 0 {
        object.insert("offset".to_owned(), json!(offset));
    }
    if stride != 1 {
        object.insert("stride".to_owned(), json!(stride));
    }
    Ok(Value::Object(object))
}

/// Adds the input dimension, if any, and gives the stride to write.
fn write_term(affine: &Affine, object: &mut Object) -> Result<i64> {
    match affine.terms() {
        [] => Ok(1),
        &[Term { dim, stride }] => {
            object.insert("input_dimension".to_owned(), json!(dim));
            Ok(stride)
        }
        terms => Err(invalid(format!("a map of {} inputs has no JSON form", terms.len()))),
    }
}

/// Adds the table, and its range where it forbids an entry.
fn write_array(map: &ArrayMap, object: &mut Object) {
    object.insert("index_array".to_owned(), array_to_json(&map.array));
    let forbids = |&entry: &i64| map.range != Interval::all() && !map.range.contains(entry);
    if map.array.entries().iter().any(forbids) {
        let lower = map.range.lower().map_or(json!("-inf"), |bound| json!(bound));
        let upper = map.range.upper().map_or(json!("+inf"), |bound| json!(bound - 1));
        object.insert("index_array_bounds".to_owned(), json!([lower, upper]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: Value, expect: &str) {
        let read = transform_from_json(&input).map_or_else(|e| e.message, |t| t.to_string());
        assert_eq!(read, expect);
    }

    #[test]
    fn reads_bounds_in_every_form() {
        check(json!({"input_shape": [3, [4]]}), "[_: 3, _: 4*] -> [#0, #1]");
        check(json!({"input_inclusive_min": ["3"], "input_inclusive_max": [5.0]}), "[_: 3..6] -> [#0]");
        check(json!({"input_exclusive_max": ["+inf"]}), "[_: -inf*..inf] -> [#0]");
        check(json!({"input_shape": ["+inf"]}), "[_: 0..inf] -> [#0]");
    }

    #[test]
    fn refuses_what_makes_no_sense() {
        check(
            json!({"input_rank": 1, "output": [{"stride": 2}]}),
            "`stride` needs `input_dimension` or `index_array`",
        );
        check(
            json!({"input_rank": 1, "output": [{"input_dimension": 1, "stride": 0}]}),
            "input dimension 1 does not exist, there are 1",
        );
        check(json!({"input_rank": 1, "foo": 1}), "unknown member `foo`");
        check(
            json!({"input_rank": 1, "output": [{"input_dimension": 0, "index_array_bounds": [0, 1]}]}),
            "`index_array_bounds` needs `index_array`",
        );
        check(
            json!({"input_rank": 1, "output": [{"index_array_bounds": [0, 1]}]}),
            "`index_array_bounds` needs `index_array`",
        );
        check(json!({"input_rank": 1, "output": [{"offset": 2.5}]}), "expected an integer, not 2.5");
        check(
            json!({"input_shape": [3], "output": [{"index_array": [[1, 2], [3], [4, 5, 6]]}]}),
            "the lists of an index array are not equally long, or too deep",
        );
        check(json!({"input_exclusive_max": [i64::MAX]}), "9223372036854775807 is not a bound");
        check(json!({"input_rank": 2, "input_shape": [3]}), "`input_shape` has 1 dimensions, not 2");
        check(
            json!({"input_shape": [5], "input_exclusive_max": [5]}),
            "only one of `input_inclusive_max`, `input_exclusive_max`, `input_shape` may be given",
        );
        check(
            json!({"input_shape": [2], "output": [{"index_array": [[1], 2]}]}),
            "`index_array` must be a list, not 2",
        );
        check(json!({"input_labels": ["x", "x"]}), "label `x` names two dimensions");
        assert!(transform_from_json(&json!({"input_rank": 32})).is_ok());
        check(json!({"input_rank": 33}), "`input_rank` has 33 dimensions, but at most 32 are possible");
    }

    #[test]
    fn writes_what_is_needed_and_no_more() {
        let input = json!({"input_inclusive_min": [["-inf"]], "input_exclusive_max": [["+inf"]]});
        let transform = transform_from_json(&input).unwrap();
        assert_eq!(transform_to_json(&transform).unwrap(), json!({"input_rank": 1}));
        let sum = Affine::new(0, [Term { dim: 0, stride: 1 }, Term { dim: 1, stride: 2 }]).unwrap();
        let sum = Transform::new(Domain::of_shape(&[2, 2]).unwrap(), vec![OutputMap::Affine(sum)]).unwrap();
        assert_eq!(transform_to_json(&sum).unwrap_err().message, "a map of 2 inputs has no JSON form");
    }
}
