//! Laws of the index core, checked on random inputs against brute force.

#![allow(clippy::unwrap_used, missing_docs)] // helpers of a test: a panic is its failure

use itp::index::array::IndexArray;
use itp::index::chain::{Chain, fold_movement};
use itp::index::domain::DimRef;
use itp::index::fold::{Folded, fold};
use itp::index::interval::{ceil_div, floor_div, floor_rem};
use itp::index::json::{domain_from_json, domain_to_json, transform_from_json, transform_to_json};
use itp::index::layout::{delinearise, linearise};
use itp::index::ops::Slice;
use itp::index::{
    Affine, Dim, Domain, INF, IndexErrorKind, Interval, Movement, OutputMap, Term, Transform, View, Window,
};
use proptest::prelude::*;

// ---------------------------------------------------------------- intervals

fn interval() -> impl Strategy<Value = Interval> {
    (-9i64..9, 0i64..7).prop_map(|(lo, len)| Interval::sized(lo, len).unwrap())
}

fn members(interval: Interval) -> impl Iterator<Item = i64> {
    interval.first()..=interval.last()
}

/// The smallest interval with all of these in it; `None` for nothing.
fn hull_of(values: impl IntoIterator<Item = i64>) -> Option<(i64, i64)> {
    values
        .into_iter()
        .fold(None, |hull, x| Some(hull.map_or((x, x), |(lo, hi): (i64, i64)| (lo.min(x), hi.max(x)))))
}

fn ends(interval: Interval) -> Option<(i64, i64)> {
    (!interval.is_empty()).then(|| (interval.first(), interval.last()))
}

fn pairs(a: Interval, b: Interval) -> impl Iterator<Item = (i64, i64)> {
    members(a).flat_map(move |x| members(b).map(move |y| (x, y)))
}

proptest! {
    #[test]
    fn arithmetic_on_intervals_is_the_hull_of_the_values(a in interval(), b in interval(), c in interval(), k in -5i64..6) {
        prop_assert_eq!(ends(a.add(b).unwrap()), hull_of(pairs(a, b).map(|(x, y)| x + y)));
        prop_assert_eq!(ends(a.sub(b).unwrap()), hull_of(pairs(a, b).map(|(x, y)| x - y)));
        prop_assert_eq!(ends(a.mul(b).unwrap()), hull_of(pairs(a, b).map(|(x, y)| x * y)));
        prop_assert_eq!(ends(a.min(b)), hull_of(pairs(a, b).map(|(x, y)| x.min(y))));
        prop_assert_eq!(ends(a.max(b)), hull_of(pairs(a, b).map(|(x, y)| x.max(y))));
        let clamped = pairs(a, b).flat_map(|(x, lo)| members(c).map(move |hi| x.max(lo).min(hi)));
        prop_assert_eq!(ends(a.clamp(b, c)), hull_of(clamped));
        prop_assert_eq!(ends(a.neg()), hull_of(members(a).map(|x| -x)));
        prop_assert_eq!(ends(a.shift(k).unwrap()), hull_of(members(a).map(|x| x + k)));
        prop_assert_eq!(ends(a.scale(k).unwrap()), hull_of(members(a).map(|x| x * k)));
        prop_assert_eq!(ends(a.image(3, k).unwrap()), hull_of(members(a).map(|x| 3 + k * x)));
        prop_assert_eq!(ends(a.floor_div(k)), hull_of(members(a).map(|x| floor_div(x, k))));
    }

    #[test]
    fn remainders_lie_in_the_interval(a in interval(), k in -5i64..6) {
        let rem = a.rem(k);
        prop_assert!(members(a).all(|x| rem.contains(floor_rem(x, k))));
        prop_assert!(members(a).all(|x| k == 0 || x == k * floor_div(x, k) + floor_rem(x, k)));
        prop_assert!(members(a).all(|x| ceil_div(x, k) == -floor_div(-x, k)));
        prop_assert_eq!(rem.is_empty(), a.is_empty());
        prop_assert!(rem.len().unwrap() <= k.abs().max(1));
    }

    #[test]
    fn sets_of_coordinates(a in interval(), b in interval(), offset in -9i64..9, stride in -4i64..5) {
        prop_assert_eq!(ends(a.hull(b)), hull_of(members(a).chain(members(b))));
        prop_assert_eq!(ends(a.intersect(b)), hull_of(members(a).filter(|&x| b.contains(x))));
        prop_assert_eq!(a.contains_interval(b), members(b).all(|x| a.contains(x)));
        let preimage = a.preimage(offset, stride).unwrap();
        for x in -40..40 {
            prop_assert_eq!(preimage.contains(x), a.contains(offset + stride * x), "{} at {}", preimage, x);
        }
    }

    #[test]
    fn open_ends_bound_every_member(a in interval(), b in interval(), lower in any::<bool>(), k in -4i64..5) {
        let open = if lower { Interval::bounds(None, a.upper()) } else { Interval::bounds(a.lower(), None) }.unwrap();
        let far = if lower { a.last() - 1000 } else { a.first() + 1000 };
        for y in members(b) {
            prop_assert!(open.add(b).unwrap().contains(far + y));
            prop_assert!(open.mul(b).unwrap().contains(far * y));
            prop_assert!(open.min(b).contains(far.min(y)) && open.max(b).contains(far.max(y)));
        }
        prop_assert!(open.floor_div(k).contains(floor_div(far, k)) && open.rem(k).contains(floor_rem(far, k)));
        prop_assert!(open.scale(k).unwrap().contains(far * k) && open.neg().contains(-far));
        prop_assert_eq!(open.neg().neg(), open);
    }

    #[test]
    fn overflow_is_an_error_at_the_edge(x in INF - 20..INF, y in 0i64..40) {
        let (a, b) = (Interval::point(x).unwrap(), Interval::point(y).unwrap());
        prop_assert_eq!(a.add(b).is_ok(), x + y < INF);
        prop_assert_eq!(a.shift(y).is_ok(), x + y < INF);
        prop_assert_eq!(a.neg().sub(b).is_ok(), x + y < INF);
        prop_assert_eq!(a.mul(b).is_ok(), y < 2);
    }
}

// ---------------------------------------------------------------- domains

fn dim() -> impl Strategy<Value = Dim> {
    (interval(), any::<bool>(), any::<bool>()).prop_map(|(interval, implicit_lower, implicit_upper)| Dim {
        implicit_lower,
        implicit_upper,
        ..Dim::explicit(interval)
    })
}

fn domain(rank: usize) -> impl Strategy<Value = Domain> {
    prop::collection::vec(dim(), rank).prop_map(|dims| Domain::new(dims).unwrap())
}

proptest! {
    #[test]
    fn hulls_and_intersections_of_domains(a in domain(2), b in domain(2)) {
        let (hull, common) = (a.hull(&b).unwrap(), a.intersect(&b).unwrap());
        for at in 0..2 {
            let (x, y) = (a.dims()[at].interval, b.dims()[at].interval);
            prop_assert_eq!(ends(hull.dims()[at].interval), hull_of(members(x).chain(members(y))));
            prop_assert_eq!(ends(common.dims()[at].interval), hull_of(members(x).filter(|&i| y.contains(i))));
        }
        prop_assert_eq!(domain_from_json(&domain_to_json(&hull)).unwrap(), hull);
    }
}

// ---------------------------------------------------------------- transforms

/// A dimension that nothing leaves: what composition may narrow, but never refuse.
fn boundless() -> Dim {
    Dim::explicit(Interval::all())
}

fn output(rank: usize) -> impl Strategy<Value = OutputMap> {
    let terms = prop::collection::vec((0..rank, -3i64..4), 0..3);
    (-9i64..9, terms).prop_map(|(offset, terms)| {
        let terms = terms.into_iter().map(|(dim, stride)| Term { dim, stride });
        OutputMap::Affine(Affine::new(offset, terms).unwrap())
    })
}

fn affine_transform(from: usize, to: usize) -> impl Strategy<Value = Transform> {
    prop::collection::vec(output(from), to).prop_map(move |outputs| {
        Transform::new(Domain::new(vec![boundless(); from]).unwrap(), outputs).unwrap()
    })
}

/// Over `0..4` along each dimension: a table in one of them, plain maps else.
fn table_transform(from: usize, to: usize) -> impl Strategy<Value = Transform> {
    let entries = prop::collection::vec(-5i64..6, 4);
    (prop::collection::vec(output(from), to), 0..to, 0..from, entries).prop_map(
        move |(mut outputs, at, dim, entries)| {
            let mut shape = vec![1; from];
            shape[dim] = 4;
            outputs[at] = OutputMap::table(IndexArray::new(shape, entries).unwrap());
            Transform::new(Domain::of_shape(&vec![4; from]).unwrap(), outputs).unwrap()
        },
    )
}

fn points(rank: usize) -> impl Strategy<Value = Vec<Vec<i64>>> {
    prop::collection::vec(prop::collection::vec(0i64..4, rank), 1..12)
}

/// Unit strides, each input once: what an inverse exists for.
fn invertible() -> impl Strategy<Value = Transform> {
    let order = Just(vec![0usize, 1, 2]).prop_shuffle();
    let parts = prop::collection::vec((-9i64..9, any::<bool>()), 3);
    (domain(3), order, parts).prop_map(|(domain, order, parts)| {
        let map = |(&dim, &(offset, flip)): (&usize, &(i64, bool))| {
            OutputMap::Affine(Affine::single(offset, if flip { -1 } else { 1 }, dim))
        };
        let outputs = order.iter().zip(&parts).map(map).collect();
        Transform::new(domain, outputs).unwrap()
    })
}

proptest! {
    #[test]
    fn composition_is_function_composition(outer in affine_transform(2, 3), inner in affine_transform(3, 2), at in points(3)) {
        let both = outer.compose(&inner).unwrap();
        for point in at {
            prop_assert_eq!(both.apply(&point).unwrap(), outer.apply(&inner.apply(&point).unwrap()).unwrap());
        }
    }

    #[test]
    fn composition_with_tables(outer in affine_transform(2, 3), inner in table_transform(2, 2), at in points(2)) {
        let both = outer.compose(&inner).unwrap();
        for point in at {
            prop_assert_eq!(both.apply(&point).unwrap(), outer.apply(&inner.apply(&point).unwrap()).unwrap());
        }
    }

    /// An entry outside a dimension that no output looks at goes unnoticed, as in TensorStore.
    #[test]
    fn tables_of_tables_fail_where_the_steps_fail(outer in table_transform(2, 2), inner in table_transform(2, 2), at in points(2)) {
        let uses = |dim: usize| outer.outputs().iter().any(|output| output.dependencies().contains(&dim));
        let uses_all = uses(0) && uses(1);
        match outer.compose(&inner) {
            Ok(both) => for point in at {
                match inner.apply(&point).and_then(|middle| outer.apply(&middle)) {
                    Ok(expected) => prop_assert_eq!(both.apply(&point).unwrap(), expected),
                    Err(_) => prop_assert!(!uses_all || both.apply(&point).is_err()),
                }
            },
            Err(error) => prop_assert_eq!(error.kind, IndexErrorKind::OutOfRange),
        }
    }

    #[test]
    fn an_inverse_undoes(transform in invertible()) {
        let inverse = transform.inverse().unwrap();
        let dims = transform.domain().dims();
        let corners = [dims.iter().map(|d| d.interval.first()).collect::<Vec<_>>(), dims.iter().map(|d| d.interval.last()).collect()];
        for corner in corners.iter().filter(|corner| transform.domain().allows(corner)) {
            let there = transform.apply(corner).unwrap();
            prop_assert_eq!(&inverse.apply(&there).unwrap(), corner);
        }
        prop_assert_eq!(inverse.inverse().unwrap(), transform);
    }

    #[test]
    fn transforms_survive_json(domain in domain(3), table in table_transform(2, 2), offset in -9i64..9, stride in -3i64..4) {
        let single = OutputMap::Affine(Affine::single(offset, stride, 1));
        let plain = Transform::new(domain, vec![single, OutputMap::constant(offset)]).unwrap();
        prop_assert_eq!(transform_from_json(&transform_to_json(&plain).unwrap()).unwrap(), plain);
        if let Ok(json) = transform_to_json(&table) {
            prop_assert_eq!(transform_from_json(&json).unwrap(), table);
        }
    }

    #[test]
    fn ops_keep_every_coordinate_they_show(
        dims in prop::collection::vec((-6i64..6, 1i64..6), 2),
        ops in prop::collection::vec((0usize..9, -4i64..5, -4i64..5, 0i64..2), 1..6),
    ) {
        let dims = dims.into_iter().map(|(lo, len)| Dim::explicit(Interval::sized(lo, len).unwrap())).collect();
        let base = Domain::new(dims).unwrap();
        let mut transform = Transform::identity(base.clone());
        for op in ops {
            // Index arrays may hold anything, so a chain is asked before it is read.
            match apply_op(&transform, op) {
                Ok(next) if next.is_affine() && op.0 < 8 => transform = next,
                Ok(next) if next.check_within(&base).is_ok() => transform = next,
                Ok(_) | Err(_) => {}
            }
            for point in all_points(transform.domain()) {
                prop_assert!(base.allows(&transform.apply(&point).unwrap()), "{} at {:?}", transform, point);
            }
        }
        if let Some(view) = linearise(&transform, &base) {
            let strides = View::row_major(&base.shape().unwrap()).unwrap();
            let flat = |point: &Vec<i64>| {
                let at: Vec<i64> = transform.apply(point).unwrap().iter().zip(base.dims()).map(|(x, d)| x - d.interval.first()).collect();
                strides.at(&at)
            };
            prop_assert_eq!(view.elements().collect::<Vec<_>>(), all_points(transform.domain()).iter().map(flat).collect::<Vec<_>>());
        }
    }
}

fn extreme() -> impl Strategy<Value = i64> {
    let near = |edge: i64| [edge.saturating_sub(1), edge, edge.saturating_add(1)];
    let edges = [i64::MIN, -INF, 0, INF, i64::MAX].into_iter().flat_map(near).collect::<Vec<_>>();
    prop_oneof![prop::sample::select(edges), any::<i64>(), -5i64..6]
}

proptest! {
    /// Checked arithmetic everywhere: whatever the numbers, an op gives an error or a well-formed transform.
    #[test]
    fn extreme_numbers_are_errors_or_well_formed(
        lo in extreme(), hi in extreme(), ops in prop::collection::vec((0usize..9, extreme(), extreme(), 0i64..2), 1..6),
    ) {
        let interval = Interval::new(lo, hi).unwrap_or(Interval::all());
        let mut transform = Transform::identity(Domain::new(vec![Dim::explicit(interval), Dim::free()]).unwrap());
        for op in ops {
            if let Ok(next) = apply_op(&transform, op) {
                transform = next;
            }
            let empty = |dim: &Dim| dim.interval.is_empty();
            let valid = |dim: &Dim| Interval::closed(dim.interval.first(), dim.interval.last()).is_ok();
            prop_assert!(transform.domain().dims().iter().all(|dim| empty(dim) || valid(dim)), "{}", transform);
            if let Ok(json) = transform_to_json(&transform) {
                prop_assert!(transform.domain().dims().iter().any(empty) || transform_from_json(&json).is_ok());
            }
            let _ = (transform.inverse(), transform.check_within(transform.domain()), transform.apply(&[op.1, op.2]));
        }
    }

    /// The same for movement ops: a view that comes out lies in its storage.
    #[test]
    fn extreme_movements_are_errors_or_in_storage(
        ops in prop::collection::vec((0usize..7, extreme(), extreme(), extreme()), 1..6),
    ) {
        let mut chain = Chain::row_major(&[2, 3]).unwrap();
        for (kind, a, b, c) in ops {
            let _ = chain.push(&extreme_movement(kind, a, b, c));
            if let Some((lo, hi)) = chain.as_view().and_then(View::extent) {
                prop_assert!(0 <= lo && hi < 6);
            }
            let _ = (fold(&chain), chain.last().is_contiguous(), chain.is_injective());
        }
    }
}

fn extreme_movement(kind: usize, a: i64, b: i64, c: i64) -> Movement {
    match kind {
        0 => Movement::AsStrided { shape: vec![a, b], strides: vec![b, c], offset: Some(c) },
        1 => Movement::Pad(vec![(a, b), (0, c)]),
        2 => Movement::Slice { axis: a, start: b, stop: c, step: a },
        3 => Movement::Unfold { axis: a, size: b, step: c },
        4 => Movement::Diagonal { axis1: 0, axis2: 1, offset: a },
        5 => Movement::Expand(vec![a, b, c]),
        _ => Movement::Reshape(vec![a, b, c]),
    }
}

fn apply_op(
    t: &Transform,
    (op, a, b, at): (usize, i64, i64, i64),
) -> Result<Transform, itp::index::IndexError> {
    let dim = [DimRef::Position(at)];
    match op {
        0 => t.translate_by(&dim, &[Some(a)]),
        1 => t.stride(&dim, &[Some(if a == 0 { 1 } else { a })]),
        2 => {
            t.slice(&dim, &[Slice { start: Some(a), stop: Some(b), step: Some(if a <= b { 2 } else { -1 }) }])
        }
        3 => t.flip(&dim),
        4 => t.transpose(&dim, &[0]),
        5 => t.shrink(&dim, &[Some(Interval::new(a.min(b), a.max(b))?)]),
        6 => t.diagonal(&[DimRef::Position(0), DimRef::Position(1)]),
        7 => t.expand(&[Some(2), None, None]),
        _ => t.oindex(&dim, &[IndexArray::new(vec![2], vec![a, b])?]),
    }
}

fn all_points(domain: &Domain) -> Vec<Vec<i64>> {
    let extend = |points: Vec<Vec<i64>>, dim: &Dim| {
        points
            .iter()
            .flat_map(|point| members(dim.interval).map(move |x| [point.as_slice(), &[x]].concat()))
            .collect()
    };
    domain.dims().iter().fold(vec![Vec::new()], extend)
}

// ---------------------------------------------------------------- movement chains

/// A dense array of base indices, -1 in pads: what the ops mean without any strides.
#[derive(Clone, Debug, PartialEq)]
struct Dense {
    shape: Vec<i64>,
    data: Vec<i64>,
}

impl Dense {
    fn at(&self, index: &[i64]) -> i64 {
        let flat = self.shape.iter().zip(index).fold(0, |flat, (size, i)| flat * size + i);
        self.data[usize::try_from(flat).unwrap()]
    }

    fn build(shape: Vec<i64>, at: impl Fn(&[i64]) -> i64) -> Dense {
        let data = View::row_major(&shape).unwrap().len();
        let index = |flat: i64| {
            let mut rest = flat;
            let mut index: Vec<i64> = shape
                .iter()
                .rev()
                .map(|&n| {
                    let i = rest % n;
                    rest /= n;
                    i
                })
                .collect();
            index.reverse();
            index
        };
        let data = (0..data).map(|flat| at(&index(flat))).collect();
        Dense { shape, data }
    }

    fn apply(&self, op: &Movement) -> Dense {
        match op {
            Movement::Reshape(shape) => self.with_shape(shape.clone()),
            Movement::Flatten => self.with_shape(vec![i64::try_from(self.data.len()).unwrap()]),
            Movement::Squeeze => self.with_shape(self.shape.iter().copied().filter(|&n| n != 1).collect()),
            Movement::Permute(order) => {
                self.permute(&order.iter().map(|&axis| position(axis)).collect::<Vec<_>>())
            }
            Movement::Expand(target) => self.expand(target),
            Movement::Shrink(ranges) => Dense::build(ranges.iter().map(|r| r.1 - r.0).collect(), |i| {
                self.at(&i.iter().zip(ranges).map(|(x, r)| x + r.0).collect::<Vec<_>>())
            }),
            Movement::Flip(axes) => {
                self.along(position(axes[0]), self.shape[position(axes[0])], |i, n| n - 1 - i)
            }
            Movement::Pad(pads) => self.pad(pads),
            &Movement::Slice { axis, start, stop, step } => {
                let count = (stop - start).unsigned_abs().div_ceil(step.unsigned_abs());
                self.along(position(axis), i64::try_from(count).unwrap(), |i, _| start + step * i)
            }
            &Movement::Unfold { axis, size, step } => self.unfold(position(axis), size, step),
            &Movement::Diagonal { axis1, axis2, offset } => {
                self.diagonal(position(axis1), position(axis2), offset)
            }
            Movement::AsStrided { .. } => panic!("covered by the conformance data"),
        }
    }

    fn with_shape(&self, shape: Vec<i64>) -> Dense {
        Dense { shape, data: self.data.clone() }
    }

    /// Replaces one axis: its new size, and the old position of each new one.
    fn along(&self, axis: usize, size: i64, old: impl Fn(i64, i64) -> i64) -> Dense {
        let mut shape = self.shape.clone();
        shape[axis] = size;
        Dense::build(shape, |i| {
            let mut index = i.to_vec();
            index[axis] = old(i[axis], self.shape[axis]);
            self.at(&index)
        })
    }

    fn permute(&self, order: &[usize]) -> Dense {
        Dense::build(order.iter().map(|&axis| self.shape[axis]).collect(), |i| {
            let mut old = vec![0; i.len()];
            order.iter().zip(i).for_each(|(&axis, &x)| old[axis] = x);
            self.at(&old)
        })
    }

    fn expand(&self, target: &[i64]) -> Dense {
        let added = target.len() - self.shape.len();
        let clip = |(&x, &n): (&i64, &i64)| x.min(n - 1);
        Dense::build(target.to_vec(), |i| {
            self.at(&i[added..].iter().zip(&self.shape).map(clip).collect::<Vec<_>>())
        })
    }

    fn pad(&self, pads: &[(i64, i64)]) -> Dense {
        Dense::build(self.shape.iter().zip(pads).map(|(n, p)| n + p.0 + p.1).collect(), |i| {
            let old: Vec<i64> = i.iter().zip(pads).map(|(x, p)| x - p.0).collect();
            let inside = old.iter().zip(&self.shape).all(|(&x, &n)| 0 <= x && x < n);
            if inside { self.at(&old) } else { -1 }
        })
    }

    fn unfold(&self, axis: usize, size: i64, step: i64) -> Dense {
        let mut shape = self.shape.clone();
        shape[axis] = (shape[axis] - size) / step + 1;
        shape.push(size);
        Dense::build(shape, |i| {
            let (&within, old) = i.split_last().unwrap();
            let mut old = old.to_vec();
            old[axis] = old[axis] * step + within;
            self.at(&old)
        })
    }

    fn diagonal(&self, a: usize, b: usize, offset: i64) -> Dense {
        let others: Vec<usize> = (0..self.shape.len()).filter(|&axis| axis != a && axis != b).collect();
        let on_diagonal = |i: &i64| *i < self.shape[a] && (0..self.shape[b]).contains(&(i + offset));
        let starts: Vec<i64> = (0..self.shape[a]).filter(on_diagonal).collect();
        let mut shape: Vec<i64> = others.iter().map(|&axis| self.shape[axis]).collect();
        shape.push(i64::try_from(starts.len()).unwrap());
        Dense::build(shape, |i| {
            let (&last, rest) = i.split_last().unwrap();
            let mut old = vec![0; self.shape.len()];
            others.iter().zip(rest).for_each(|(&axis, &x)| old[axis] = x);
            (old[a], old[b]) = (starts[position(last)], starts[position(last)] + offset);
            self.at(&old)
        })
    }
}

fn position(axis: i64) -> usize {
    usize::try_from(axis).unwrap()
}

/// Turns random numbers into an op that is valid for the shape.
fn movement_for(shape: &[i64], kind: usize, a: usize, b: usize) -> Movement {
    let rank = shape.len();
    let wrap = |n: usize, size: i64| i64::try_from(n).unwrap() % (size + 1);
    let axis = if rank == 0 { 0 } else { i64::try_from(a % rank).unwrap() };
    let range = |i: usize, n: i64| {
        let (x, y) = (wrap(a + i, n), wrap(b + 2 * i, n));
        (x.min(y), x.max(y))
    };
    let size = if rank == 0 { 0 } else { shape[a % rank] };
    match kind {
        0 => Movement::Reshape(regrouped(shape, a)),
        1 => Movement::Permute((0..rank).map(|i| i64::try_from((i + a) % rank).unwrap()).collect()),
        2 => Movement::Expand(shape.iter().map(|&n| if n == 1 { 2 } else { n }).collect()),
        3 => Movement::Shrink(shape.iter().enumerate().map(|(i, &n)| range(i, n)).collect()),
        4 if rank > 0 => Movement::Flip(vec![axis]),
        5 => Movement::Pad((0..rank).map(|i| (wrap(a + i, 2), wrap(b + i, 1))).collect()),
        6 if size > 0 => Movement::Slice { axis, start: size - 1, stop: -1, step: -1 - wrap(b, 2) },
        7 if size > 0 && rank < 4 => {
            Movement::Unfold { axis, size: 1 + wrap(b, size - 1), step: 1 + wrap(b, 1) }
        }
        8 => Movement::Squeeze,
        9 if rank > 1 => {
            let axis2 = i64::try_from((a + 1) % rank).unwrap();
            Movement::Diagonal { axis1: axis, axis2, offset: wrap(b, 2) - 1 }
        }
        _ => Movement::Flatten,
    }
}

/// A shape with as many elements: the first two axes merged, or a factor split off the last one.
fn regrouped(shape: &[i64], a: usize) -> Vec<i64> {
    match shape {
        [first, second, rest @ ..] if a.is_multiple_of(2) => [&[first * second], rest].concat(),
        [rest @ .., last] if last % 2 == 0 => [rest, &[last / 2, 2]].concat(),
        [rest @ .., last] if last % 3 == 0 => [rest, &[3, last / 3]].concat(),
        _ => [shape, &[1]].concat(),
    }
}

proptest! {
    #[test]
    fn chains_gather_what_the_ops_mean(
        base in prop::collection::vec(1i64..5, 1..4),
        ops in prop::collection::vec((0usize..11, 0usize..60, 0usize..60), 1..7),
    ) {
        let mut chain = Chain::row_major(&base).unwrap();
        let mut dense = Dense { shape: base.clone(), data: chain.last().elements().collect() };
        let mut movements = Vec::new();
        for (kind, a, b) in ops {
            if dense.data.len() > 2000 || dense.shape.contains(&0) {
                break;
            }
            let movement = movement_for(&dense.shape, kind, a, b);
            chain.push(&movement).unwrap();
            dense = dense.apply(&movement);
            movements.push(movement);
        }
        prop_assert_eq!(&fold_movement(&base, &movements).unwrap(), &chain);
        prop_assert_eq!(chain.shape(), &dense.shape[..]);
        prop_assert_eq!(chain.gather().map(|e| e.unwrap_or(-1)).collect::<Vec<_>>(), dense.data.clone());
        let mut seen: Vec<i64> = dense.data.iter().copied().filter(|&x| x >= 0).collect();
        seen.sort_unstable();
        prop_assert_eq!(chain.is_injective(), seen.windows(2).all(|w| w[0] != w[1]));
        check_fold(&chain, &dense);
        if let Some(view) = chain.as_view().filter(|view| !view.is_empty()) {
            let transform = delinearise(view).unwrap();
            let flat = Domain::of_shape(&[base.iter().product()]).unwrap();
            prop_assert_eq!(linearise(&transform, &flat).unwrap(), view.clone());
            let row_major = dense.data.windows(2).all(|w| w[1] == w[0] + 1);
            prop_assert_eq!(view.is_contiguous(), row_major);
        }
    }
}

fn check_fold(chain: &Chain, dense: &Dense) {
    match fold(chain) {
        None => {}
        Some(Folded::Padding) => assert!(dense.data.iter().all(|&x| x == -1)),
        Some(Folded::View(view)) => assert_eq!(view.elements().collect::<Vec<_>>(), dense.data),
        Some(Folded::Masked { view, mask }) => {
            let inside = |i: &[i64]| i.iter().zip(&mask).all(|(&x, &(lo, hi))| lo <= x && x < hi);
            let masked = Dense::build(dense.shape.clone(), |i| if inside(i) { view.at(i) } else { -1 });
            assert_eq!(&masked, dense);
        }
    }
}

// ---------------------------------------------------------------- windows

fn window() -> impl Strategy<Value = Window> {
    (1i64..9, 1i64..9, -9i64..9).prop_map(|(size, stride, offset)| Window::new(size, stride, offset).unwrap())
}

proptest! {
    #[test]
    fn window_ranges_are_brute_force(window in window(), range in interval(), far in prop::sample::select(vec![0, 1i64 << 40, -(1i64 << 60)])) {
        let range = range.shift(far).unwrap();
        let near = far / window.stride();
        let numbers = || near - 60..near + 60;
        let covers = |w: i64| window.range(w).unwrap();
        let touching = numbers().filter(|&w| !covers(w).intersect(range).is_empty());
        prop_assert_eq!(ends(window.touching(range).unwrap()), hull_of(touching.clone()));
        prop_assert_eq!(window.touching(range).unwrap().len().unwrap(), i64::try_from(touching.count()).unwrap());
        let inside = numbers().filter(|&w| !range.is_empty() && range.contains_interval(covers(w)));
        prop_assert_eq!(ends(window.inside(range).unwrap()), hull_of(inside.clone()));
        prop_assert_eq!(window.first_inside(range).unwrap(), inside.clone().next());
        prop_assert_eq!(window.last_inside(range).unwrap(), inside.clone().next_back());
        let covering = numbers().filter(|&w| covers(w).contains(range.first()));
        prop_assert_eq!(ends(window.covering(range.first()).unwrap()), hull_of(covering));
        let stuck = numbers().find(|&w| {
            let lost = |x: i64| covers(w).contains(x) && !inside.clone().any(|w| covers(w).contains(x));
            !range.is_empty() && (range.first()..=range.last()).any(lost)
        });
        prop_assert_eq!(window.first_sticking_out(range).unwrap(), stuck);
        let windows = Interval::sized(near, 3).unwrap();
        let hull = covers(near).hull(covers(near + 2));
        prop_assert_eq!(window.hull(windows).unwrap(), hull);
    }

    #[test]
    fn windows_at_the_edge_are_exact_or_an_overflow(window in window(), below in 0i64..40) {
        let edge = INF - 1 - below;
        let w = floor_div(edge - window.offset(), window.stride());
        match window.range(w) {
            Ok(range) => prop_assert!(range.first() <= edge && range.last() < INF),
            Err(overflow) => prop_assert!(overflow.value >= i128::from(INF)),
        }
        let touching = window.touching(Interval::closed(edge, INF - 1).unwrap());
        if let Ok(touching) = touching {
            for number in touching.lower().into_iter().chain(touching.upper().map(|end| end - 1)).filter(|_| !touching.is_empty()) {
                let first = i128::from(number) * i128::from(window.stride()) + i128::from(window.offset());
                prop_assert!(first < i128::from(INF) && first + i128::from(window.size()) > i128::from(edge));
            }
        }
        let half = Interval::bounds(Some(0), None).unwrap();
        prop_assert_eq!(window.touching(half).unwrap().upper(), None);
    }
}
