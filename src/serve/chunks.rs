//! A layer -> a zarr v3 array that is never written: its chunks are computed when they are asked for.
//!
//! ```text
//! tensor height: f32[y: inf, x: 0..100]     shape [2^48, 100], chunks [128, 128], "origin": [-2^47, 0]
//! ```
//!
//! Zarr counts from 0 and ends somewhere: element i of the array is the coordinate `origin + i`, and a dimension
//! without end shows 2^48 elements.

use super::answer::{Refusal, missing};
use crate::graph::types::Element;
use crate::graph::view::View;
use crate::index::domain::DimRef;
use crate::index::ops::Slice;
use crate::index::{INF, Interval};
use serde_json::{Value, json};

/// Elements that are shown of a dimension without end.
const MOST: i64 = 1 << 48;
/// Elements of a chunk along its last two long dimensions.
const SIDE: i64 = 128;
/// Dimensions up to this length are whole in every chunk.
const SHORT: i64 = 16;

/// How a layer is cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chunks {
    /// Coordinate of element 0, per dimension.
    origin: Vec<i64>,
    shape: Vec<i64>,
    /// Sizes of a chunk.
    pub(super) chunk: Vec<i64>,
}

/// How `view` is cut.
pub(super) fn chunks(view: &View) -> Chunks {
    let spans: Vec<(i64, i64)> = view.intervals().into_iter().map(span).collect();
    let shape: Vec<i64> = spans.iter().map(|(_, len)| *len).collect();
    Chunks { origin: spans.iter().map(|(first, _)| *first).collect(), chunk: sizes(&shape), shape }
}

/// First coordinate and number of elements that are shown of an interval.
fn span(interval: Interval) -> (i64, i64) {
    match (interval.lower(), interval.upper()) {
        (None, None) => (-MOST / 2, MOST),
        (Some(lower), None) => (lower, MOST.min(INF - 2 - lower)),
        (None, Some(upper)) => (upper - MOST.min(upper + INF - 2), MOST.min(upper + INF - 2)),
        (Some(lower), Some(upper)) => (lower, (upper - lower).clamp(0, MOST)),
    }
}

fn sizes(shape: &[i64]) -> Vec<i64> {
    let long: Vec<usize> = (0..shape.len()).filter(|dim| shape[*dim] > SHORT).collect();
    let size = |dim: usize| match long.iter().rev().position(|at| *at == dim) {
        None => shape[dim].max(1),
        Some(0) if long.len() == 1 => SIDE * SIDE,
        Some(0 | 1) => SIDE,
        Some(_) => 1,
    };
    (0..shape.len()).map(size).collect()
}

/// The group that all layers are in.
pub(super) fn group(name: &str) -> Value {
    json!({"zarr_format": 3, "node_type": "group", "attributes": {"script": name}})
}

/// The metadata of a layer.
pub(super) fn metadata(view: &View) -> Value {
    let chunks = chunks(view);
    let labels = view.domain().dims().iter().map(|dim| match dim.label.as_str() {
        "" => Value::Null,
        label => label.into(),
    });
    json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": chunks.shape,
        "data_type": data_type(view.element),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks.chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": if view.element == Element::Bool { json!(false) } else { json!(0) },
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "dimension_names": labels.collect::<Vec<_>>(),
        "attributes": {"origin": chunks.origin},
    })
}

fn data_type(element: Element) -> &'static str {
    match element {
        Element::Bool => "bool",
        Element::U8 => "uint8",
        Element::U16 => "uint16",
        Element::U32 => "uint32",
        Element::U64 => "uint64",
        Element::I8 => "int8",
        Element::I16 => "int16",
        Element::I32 => "int32",
        Element::I64 => "int64",
        Element::F16 => "float16",
        Element::F32 => "float32",
        Element::F64 => "float64",
    }
}

/// `c/4/7` -> the part of the layer that is in that chunk.
pub(super) fn part(view: &View, key: &str) -> Result<View, Refusal> {
    let chunks = chunks(view);
    let slices = numbers(key, &chunks).and_then(|numbers| slices(&chunks, &numbers));
    let slices = slices.ok_or_else(|| missing(format!("there is no `{key}`")))?;
    let dims: Vec<DimRef> = (0..slices.len() as i64).map(DimRef::Position).collect();
    view.mapped(|map| map.slice(&dims, &slices)).map_err(missing)
}

/// The numbers of a chunk; an array that is a single number has none.
fn numbers(key: &str, chunks: &Chunks) -> Option<Vec<i64>> {
    let rest = key.strip_prefix('c')?;
    let plain = |number: &str| number == "0" || !number.starts_with(['0', '+', '-']);
    let numbers = rest.split('/').skip(1).map(|number| number.parse().ok().filter(|_| plain(number)));
    let numbers: Vec<i64> = numbers.collect::<Option<_>>()?;
    (numbers.len() == chunks.shape.len()).then_some(numbers)
}

fn slices(chunks: &Chunks, numbers: &[i64]) -> Option<Vec<Slice>> {
    let slice = |(dim, number): (usize, &i64)| {
        let first = number.checked_mul(chunks.chunk[dim]).filter(|first| *first < chunks.shape[dim])?;
        let end = (first + chunks.chunk[dim]).min(chunks.shape[dim]);
        let start = Some(chunks.origin[dim] + first);
        Some(Slice { start, stop: Some(chunks.origin[dim] + end), step: None })
    };
    numbers.iter().enumerate().map(slice).collect()
}

/// The bytes of a whole chunk: zeros stand where the layer has ended.
pub(super) fn padded(data: Vec<u8>, shape: &[i64], chunk: &[i64], element: usize) -> Vec<u8> {
    if shape == chunk {
        return data;
    }
    let size = |lens: &[i64]| lens.iter().product::<i64>() as usize;
    let mut whole = vec![0; size(chunk) * element];
    let row = shape.last().map_or(1, |len| *len as usize) * element;
    let ranges: Vec<Interval> = shape.iter().map(|len| Interval::trusted(0, len - 1)).collect();
    let mut rows = data.chunks_exact(row.max(1));
    crate::index::walk::rows(&ranges, |at| {
        let place = at.iter().zip(chunk).fold(0, |place, (at, len)| place * len + at) as usize * element;
        if let Some(from) = rows.next() {
            whole[place..place + row].copy_from_slice(from);
        }
    });
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_without_end_have_an_origin() {
        let check = |lower, upper, expect| {
            assert_eq!(span(Interval::bounds(lower, upper).unwrap()), expect, "{lower:?} {upper:?}");
        };
        check(None, None, (-(1 << 47), 1 << 48));
        check(Some(-5), None, (-5, 1 << 48));
        check(None, Some(7), (7 - (1 << 48), 1 << 48));
        check(Some(-5), Some(7), (-5, 12));
        check(Some(INF - 10), None, (INF - 10, 8));
    }

    #[test]
    fn chunks_are_planes_of_the_last_long_dimensions() {
        let check = |shape: &[i64], expect: &[i64]| assert_eq!(sizes(shape), expect);
        check(&[1 << 48, 1 << 48], &[128, 128]);
        check(&[3, 1 << 48, 1 << 48], &[3, 128, 128]);
        check(&[1 << 48, 3, 100, 50], &[1, 3, 128, 128]);
        check(&[1 << 48], &[128 * 128]);
        check(&[5, 0], &[5, 1]);
    }

    #[test]
    fn keys_are_numbers_inside() {
        let chunks = Chunks { origin: vec![-5, 0], shape: vec![200, 3], chunk: vec![128, 3] };
        let check = |key: &str, expect: Option<(i64, i64)>| {
            let slices = numbers(key, &chunks).and_then(|numbers| slices(&chunks, &numbers));
            let first = slices.map(|slices| (slices[0].start.unwrap(), slices[0].stop.unwrap()));
            assert_eq!(first, expect, "{key}");
        };
        check("c/0/0", Some((-5, 123)));
        check("c/1/0", Some((123, 195)));
        for key in [
            "c/2/0",
            "c/0/1",
            "c/0",
            "c/0/0/0",
            "c/-1/0",
            "c/+1/0",
            "c/01/0",
            "d/0/0",
            "c",
            "c/99999999999999999999/0",
        ] {
            check(key, None);
        }
    }

    #[test]
    fn ends_are_filled_up() {
        let data = vec![1, 2, 3, 4];
        assert_eq!(padded(data.clone(), &[2, 2], &[2, 2], 1), data);
        assert_eq!(padded(data.clone(), &[2, 2], &[3, 3], 1), [1, 2, 0, 3, 4, 0, 0, 0, 0]);
        assert_eq!(padded(data, &[1, 2], &[2, 3], 2), [1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0]);
    }
}
