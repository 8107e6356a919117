//! In which order the loops over a box go: along the memory of what is read.
//!
//! ```text
//! b[y, x] = a[y - 1, x] + a[y, x]                  y, x
//! b[c, y, x] = a[y, x, c]                          y, c, x     rows go across a, and c along it
//! b[v, u, y, x] = a[16 * v + y, 64 * u + x]        v, y, u, x  as a lies in memory
//! b[y, x, c: 3] = a[y, x - 1, c] + a[y, x, c]      y, c, x     rows of pixels, all three channels together
//! ```
//!
//! What is written need not be waited for, what is read has to be there.

use super::TensorAccess;
use super::linear::{Atom, Linear};
use crate::graph::body::Coord;
use crate::index::Interval;

/// The dimensions of a box in the order of their loops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopOrder {
    /// That of the outermost loop first; the last is the row.
    pub dims: Vec<usize>,
    /// Whether rows go across a source, and the loop around them along it.
    pub across: bool,
    /// Channels that lie side by side in what is written, or in a source that rows go across: the loop over them is next
    /// to the row, and they are made together.
    pub beside: Option<Planes>,
}

/// Coordinates of a dimension whose planes are made together.
const PLANES: std::ops::RangeInclusive<i64> = 2..=4;

/// A dimension of a few coordinates, such as channels, and what it begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planes {
    /// Which dimension.
    pub dim: usize,
    /// Its first coordinate.
    pub first: i64,
    /// How many it has.
    pub count: usize,
}

impl Planes {
    /// The same order with this dimension next to the row.
    pub fn last_in(self, order: &[usize]) -> Vec<usize> {
        let (row, outer) = order.split_last().map_or((None, &[][..]), |(row, outer)| (Some(*row), outer));
        let others = outer.iter().copied().filter(|dim| *dim != self.dim);
        others.chain([self.dim]).chain(row).collect()
    }
}

/// The planes of a dimension of few coordinates.
fn few(dims: &[Interval], dim: usize) -> Option<Planes> {
    let interval = dims[dim];
    let count = interval.len().filter(|len| PLANES.contains(len))?;
    Some(Planes { dim, first: interval.first(), count: count as usize })
}

/// A dimension whose planes may have more in common than rows do: of few coordinates, read by all of them alike where
/// something that is read lacks it (`out[c, y, x] = gain[y, x] * a[c, y, x]`).
pub fn planes(access: &TensorAccess, dims: &[Interval]) -> Option<Planes> {
    let order = loop_order(access, dims);
    let row = dims.len().checked_sub(1).filter(|_| !order.across && order.beside.is_none())?;
    (0..row).find_map(|dim| {
        let lacks = |map: &[Linear]| !map.iter().any(|form| moves_with(form, dim));
        let shared = access.reads.iter().any(|read| lacks(&read.map));
        few(dims, dim).filter(|_| shared)
    })
}

/// The order of the loops over a box of a tensor with these dimensions.
///
/// Channels that lie side by side in memory are made together, along the dimension next to them: rows of a few elements
/// would hardly be rows.
pub fn loop_order(access: &TensorAccess, dims: &[Interval]) -> LoopOrder {
    let order = row_order(access, dims.len().max(1));
    let Some(row) = dims.len().checked_sub(1).filter(|row| *row > 0) else { return order };
    let last = few(dims, row).filter(|_| few(dims, row - 1).is_none()).map(|planes| (planes, row - 1));
    let grain = order.dims[row - 1];
    let read = few(dims, grain).filter(|_| order.across).map(|planes| (planes, row));
    match last.or(read) {
        Some((planes, row)) => {
            let outer = (0..dims.len()).filter(|dim| ![planes.dim, row].contains(dim));
            let dims = outer.chain([planes.dim, row]).collect();
            LoopOrder { dims, across: false, beside: Some(planes) }
        }
        None => order,
    }
}

/// The order of the loops over a box with so many dimensions, at least one, whose rows go along the last one.
///
/// Next to the row comes the one along which the elements of a source follow each other, where the row itself goes
/// across them: its rows are then made together, from the same lines of the cache. What reads one element alone goes
/// through its source from front to back.
pub fn row_order(access: &TensorAccess, rank: usize) -> LoopOrder {
    let row = rank - 1;
    let grain = access.reads.iter().find_map(|read| {
        let (last, outer) = read.map.split_last()?;
        let across = outer.iter().any(|form| moves_with(form, row)) && !moves_with(last, row);
        (0..row).rev().find(|dim| moves_with(last, *dim)).filter(|_| across)
    });
    let alone = match &access.reads[..] {
        [only] if grain.is_none() => as_stored(&only.map, row),
        _ => None,
    };
    let outer = alone.unwrap_or_else(|| (0..row).filter(|dim| Some(*dim) != grain).chain(grain).collect());
    LoopOrder { dims: outer.into_iter().chain([row]).collect(), across: grain.is_some(), beside: None }
}

/// The dimensions outside the row in the order in which a source lies in memory, if each of them moves one coordinate of it.
fn as_stored(map: &[Linear], row: usize) -> Option<Vec<usize>> {
    let mut places = Vec::with_capacity(row);
    for dim in 0..row {
        let mut moved = map.iter().enumerate().filter_map(|(at, form)| Some((at, factor(form, dim)?)));
        let (at, factor) = moved.next()?;
        // The further a step goes, the further outside.
        places.push((at, std::cmp::Reverse(factor), dim));
        if moved.next().is_some() {
            return None;
        }
    }
    places.sort_unstable();
    Some(places.into_iter().map(|(_, _, dim)| dim).collect())
}

/// How far a form moves with the coordinate of a dimension, if it does.
fn factor(form: &Linear, dim: usize) -> Option<u64> {
    let own = form.terms.iter().find(|(atom, _)| is_coord(atom, dim));
    own.map(|(_, factor)| factor.unsigned_abs())
}

/// Whether a form follows the coordinate of a dimension.
fn moves_with(form: &Linear, dim: usize) -> bool {
    factor(form, dim).is_some()
}

fn is_coord(atom: &Atom, dim: usize) -> bool {
    match atom {
        Atom::Coord(Coord::Global(own) | Coord::Local(own)) => *own as usize == dim,
        Atom::Coord(Coord::Window(_) | Coord::Bound(_)) | Atom::Floor(_) | Atom::Node(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Access, Reach};
    use crate::graph::body::{NodeId, TensorId};

    /// Of a body that reads one element per map; each form is a list of dimensions and factors.
    #[track_caller]
    fn check(maps: &[&[&[(u32, i64)]]], rank: usize, dims: &[usize], across: bool) {
        let order = row_order(&access(maps), rank);
        assert_eq!(order, LoopOrder { dims: dims.to_vec(), across, beside: None });
    }

    fn access(maps: &[&[&[(u32, i64)]]]) -> TensorAccess {
        let form = |terms: &&[(u32, i64)]| {
            let terms = terms.iter().map(|(dim, factor)| (Atom::Coord(Coord::Global(*dim)), *factor));
            Linear { offset: 0, terms: terms.collect() }
        };
        let reads = maps.iter().enumerate().map(|(at, map)| Access {
            read: NodeId(at as u32),
            tensor: TensorId(0),
            map: map.iter().map(form).collect(),
            reach: vec![Reach { driver: None, range: Interval::all(), clip: None }; map.len()],
            global: vec![None; map.len()],
            conditions: Vec::new(),
        });
        TensorAccess { reads: reads.collect(), ..TensorAccess::default() }
    }

    #[test]
    fn loops_go_along_what_is_read() {
        check(&[], 3, &[0, 1, 2], false);
        check(&[&[&[(0, 1)], &[(1, 1)]]], 2, &[0, 1], false);
        // b[c, y, x] = a[y, x, c]
        check(&[&[&[(1, 1)], &[(2, 1)], &[(0, 1)]]], 3, &[1, 0, 2], true);
        // b[v, u, y, x] = a[16 * v + y, x - 64 * u]
        check(&[&[&[(0, 16), (2, 1)], &[(1, -64), (3, 1)]]], 4, &[0, 2, 1, 3], false);
        // One that moves nothing, one that moves two, and two reads: as the result lies.
        check(&[&[&[(1, 1)], &[(2, 1)]]], 3, &[0, 1, 2], false);
        check(&[&[&[(1, 1)], &[(1, 1), (0, 1)], &[(2, 1)]]], 3, &[0, 1, 2], false);
        let swapped: &[&[(u32, i64)]] = &[&[(1, 1)], &[(0, 1)], &[(2, 1)]];
        check(&[swapped], 3, &[1, 0, 2], false);
        check(&[swapped, swapped], 3, &[0, 1, 2], false);
    }

    /// A copy whose source has the coordinates of the result at these places, for a result of that shape; none is endless.
    #[track_caller]
    fn check_beside(places: &[u32], shape: &[Option<i64>], dims: &[usize], beside: Option<(usize, usize)>) {
        let terms: Vec<[(u32, i64); 1]> = places.iter().map(|place| [(*place, 1)]).collect();
        let map: Vec<&[(u32, i64)]> = terms.iter().map(|term| &term[..]).collect();
        let interval = |len: &Option<i64>| len.map_or(Interval::all(), |len| Interval::trusted(0, len - 1));
        let domain: Vec<Interval> = shape.iter().map(interval).collect();
        let order = loop_order(&access(&[&map]), &domain);
        assert_eq!(order.dims, dims);
        assert_eq!(order.beside.map(|planes| (planes.dim, planes.count)), beside);
    }

    #[test]
    fn channels_are_next_to_the_row() {
        let (far, few) = (None, Some(3));
        check_beside(&[0, 1, 2], &[far, far, few], &[0, 2, 1], Some((2, 3)));
        check_beside(&[0, 1], &[far, Some(4)], &[1, 0], Some((1, 4)));
        // b[c, y, x] = a[y, x, c]
        check_beside(&[1, 2, 0], &[few, far, far], &[1, 0, 2], Some((0, 3)));
        // Five are too many, one has no neighbours, and a picture of three columns has no rows to go along.
        check_beside(&[0, 1, 2], &[far, far, Some(5)], &[0, 1, 2], None);
        check_beside(&[0, 1, 2], &[far, far, Some(1)], &[0, 1, 2], None);
        check_beside(&[0, 1, 2], &[far, few, few], &[0, 1, 2], None);
        check_beside(&[0], &[few], &[0], None);
    }
}
