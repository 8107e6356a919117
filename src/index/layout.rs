//! Between transforms and views: a transform over row-major storage is a shape, strides and an offset.
//!
//! ```text
//! base [y: 4, x: 6] row-major,  [i: 2..5] -> [1, 2*i]      shape [3] strides [2] offset 10
//! ```

use super::domain::Domain;
use super::error::{Result, invalid};
use super::transform::{Affine, OutputMap, Term, Transform};
use super::view::View;

/// The view of a row-major array over the bounded domain `base` that `transform` is; its index starts at 0 at the
/// transform's first corner. `None` if the transform has index arrays, or a domain is unbounded, or it does not fit.
pub fn linearise(transform: &Transform, base: &Domain) -> Option<View> {
    let storage = View::row_major(&base.shape()?).ok()?;
    let shape = transform.domain().shape()?;
    if transform.outputs().len() != base.rank() {
        return None;
    }
    let mut flat = Affine::constant(0);
    for ((output, dim), &stride) in transform.outputs().iter().zip(base.dims()).zip(&storage.strides) {
        let from_first = output.as_affine()?.plus(-1, &Affine::constant(dim.interval.first())).ok()?;
        flat = flat.plus(stride, &from_first).ok()?;
    }
    let corner: Vec<i64> = transform.domain().dims().iter().map(|dim| dim.interval.first()).collect();
    let strides = (0..shape.len()).map(|dim| flat.stride(dim)).collect();
    Some(View { offset: flat.eval(&corner).ok()?, shape, strides })
}

/// The view as a transform from `0..n` along each axis to the one dimension of the storage.
pub fn delinearise(view: &View) -> Result<Transform> {
    if view.shape.len() != view.strides.len() {
        return Err(invalid(format!("{} strides for {} axes", view.strides.len(), view.shape.len())));
    }
    let terms = view.strides.iter().enumerate().map(|(dim, &stride)| Term { dim, stride });
    let flat = Affine::new(view.offset, terms)?;
    Transform::new(Domain::of_shape(&view.shape)?, vec![OutputMap::Affine(flat)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transform_over_rows_is_a_view() {
        let base = Domain::of_shape(&[4, 6]).unwrap();
        let inner =
            Domain::new(vec![super::super::Dim::explicit(super::super::Interval::new(0, 3).unwrap())])
                .unwrap();
        let outputs = vec![OutputMap::constant(1), OutputMap::Affine(Affine::single(1, 2, 0))];
        let view = linearise(&Transform::new(inner, outputs).unwrap(), &base).unwrap();
        assert_eq!(view.to_string(), "shape [3] strides [2] offset 7");
        assert_eq!(delinearise(&view).unwrap().to_string(), "[_: 3] -> [7 + 2*#0]");
    }
}
