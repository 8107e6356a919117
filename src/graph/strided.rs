//! Which views are strided windows into row-major storage, and which may be written through.
//!
//! ```text
//! volume.permute([x, y, z]).flip([x])      shape [6, 5, 4] strides [-1, 6, 30] offset 5
//! image.reshape([3, 8]) after a slice      not strided: the rows do not follow each other
//! ```

use super::view::{Step, View, row_major};
use crate::index::{self, Domain, Interval, Movement, OutputMap, Transform, view::Moved};

impl View {
    /// Shape, strides and offset of the view in the row-major storage of its base, or why there are none.
    pub fn strided(&self, base: &Domain) -> Result<index::View, String> {
        let shape = base
            .shape()
            .ok_or_else(|| format!("`{base}` has no end, so there is no storage to stride through"))?;
        let mut view = index::View::row_major(&shape).map_err(|error| error.to_string())?;
        let mut origin: Vec<i64> = base.dims().iter().map(|dim| dim.interval.first()).collect();
        for step in self.steps().iter().rev() {
            (view, origin) = match step {
                Step::Map(map) => through_map(&view, &origin, map)?,
                Step::Flat { shape, strides, offset, .. } => through_flat(&view, shape, strides, *offset)?,
                Step::Boundary { .. } => return Err("coordinates outside are folded inside".into()),
                Step::Mask { .. } => return Err("elements outside have a value of their own".into()),
            };
        }
        Ok(view.canonical())
    }
}

/// The view, and the coordinate its first element has.
type Placed = (index::View, Vec<i64>);

fn through_map(view: &index::View, origin: &[i64], map: &Transform) -> Result<Placed, String> {
    let shape = map.domain().shape().ok_or_else(|| format!("`{}` has no end", map.domain()))?;
    let first: Vec<i64> = map.domain().dims().iter().map(|dim| dim.interval.first()).collect();
    let mut strides = vec![0i128; shape.len()];
    let mut offset = i128::from(view.offset);
    for ((output, stride), origin) in map.outputs().iter().zip(&view.strides).zip(origin) {
        let OutputMap::Affine(affine) = output else {
            return Err("an index array picks the elements".into());
        };
        let stride = i128::from(*stride);
        offset += stride * (i128::from(affine.offset()) - i128::from(*origin));
        for term in affine.terms() {
            strides[term.dim] += stride * i128::from(term.stride);
            offset += stride * i128::from(term.stride) * i128::from(first[term.dim]);
        }
    }
    let small = |n: i128| i64::try_from(n).map_err(|_| "its strides leave the index space".to_owned());
    let strides = strides.into_iter().map(small).collect::<Result<_, _>>()?;
    Ok((index::View { shape, strides, offset: small(offset)? }, first))
}

fn through_flat(view: &index::View, shape: &[i64], strides: &[i64], offset: i64) -> Result<Placed, String> {
    let origin = vec![0; shape.len()];
    if view.is_contiguous() {
        let moved =
            index::View { shape: shape.to_vec(), strides: strides.to_vec(), offset: view.offset + offset };
        return Ok((moved, origin));
    }
    let is_reshape = offset == 0 && strides == row_major(shape);
    match view.apply(&Movement::Reshape(shape.to_vec()), i64::MAX) {
        Ok(Moved::View(moved)) if is_reshape => Ok((moved, origin)),
        _ => Err(format!("no strides walk shape {:?} strides {:?} as {shape:?}", view.shape, view.strides)),
    }
}

/// Whether every element of the view is another one of the base; else why not.
pub fn writable(view: &View, base: &Domain) -> Result<(), String> {
    if let Ok(strided) = view.strided(base) {
        return if strided.is_injective() { Ok(()) } else { Err("it shows an element twice".into()) };
    }
    view.steps().iter().try_for_each(|step| match step {
        Step::Map(map) => injective(map),
        Step::Flat { shape, strides, offset, .. } => {
            let flat = index::View { shape: shape.clone(), strides: strides.clone(), offset: *offset };
            if flat.is_injective() { Ok(()) } else { Err("it shows an element twice".into()) }
        }
        Step::Boundary { .. } => Err("a boundary shows an element many times".into()),
        Step::Mask { .. } => Err("the elements outside are not its own".into()),
    })
}

/// Index arrays are looked through entry by entry up to this many elements.
const MAX_ENUMERATED: i64 = 1 << 20;

fn injective(map: &Transform) -> Result<(), String> {
    if !map.is_affine() {
        return injective_by_walk(map);
    }
    // Number the box that the map reaches row by row: then the map is one strided view of those numbers.
    let shape = map.domain().shape().ok_or("it has no end")?;
    let ranges = map.outputs().iter().map(|output| reach(map, output)).collect::<Option<Vec<_>>>();
    let ranges = ranges.ok_or("its coordinates leave the index space")?;
    let lengths: Vec<i64> = ranges.iter().map(|range| range.len().unwrap_or(1)).collect();
    let mut strides = vec![0i64; shape.len()];
    for (output, weight) in map.outputs().iter().zip(row_major(&lengths)) {
        for term in output.as_affine().into_iter().flat_map(|affine| affine.terms()) {
            strides[term.dim] = strides[term.dim].saturating_add(weight.saturating_mul(term.stride));
        }
    }
    let view = index::View { shape, strides, offset: 0 };
    if view.is_injective() { Ok(()) } else { Err("it shows an element twice".into()) }
}

fn reach(map: &Transform, output: &OutputMap) -> Option<Interval> {
    output.as_affine()?.range(|dim| map.domain().dims()[dim].interval).ok()
}

fn injective_by_walk(map: &Transform) -> Result<(), String> {
    let shape = map.domain().shape().ok_or("it has no end")?;
    let count = shape.iter().try_fold(1i64, |n, len| n.checked_mul(*len)).filter(|n| *n <= MAX_ENUMERATED);
    let count = count.ok_or("it has too many elements to check its index arrays")?;
    let strides = row_major(&shape);
    let mut seen = std::collections::BTreeSet::new();
    for number in 0..count {
        let place = strides.iter().zip(&shape).zip(map.domain().dims());
        let point: Vec<i64> =
            place.map(|((stride, len), dim)| dim.interval.first() + number / stride % len).collect();
        let target = map.apply(&point).map_err(|error| error.message)?;
        if !seen.insert(target) {
            return Err("it shows an element twice".into());
        }
    }
    Ok(())
}
