//! Reading through a view: its steps as index arithmetic around a read of its base.
//!
//! ```text
//! img.clamp()[y - 1, x]       read img[min(max(y - 1, 0), 511), min(max(x, 0), 511)]
//! img.pad([1..1], 0)[x]       if x - 1 >= 0 and x - 1 < 512 then img[x - 1] else 0
//! ```

use super::body::{Body, Coord, NodeId, Op, Table};
use super::contract::contract;
use super::elaborate::unify;
use super::resolve_weak::{Resolved, resolve_weak};
use super::scalar::{BinaryFn, Scalar};
use super::types::{Element, Ty};
use super::view::{Boundary, Step, View, dimension_label, row_major};
use super::window::Take;
use crate::index::transform::ArrayMap;
use crate::index::{Affine, Domain, Interval, OutputMap, Transform};
use crate::source::Span;
use std::collections::HashMap;
use std::sync::Arc;

/// Arms of `if`, numbered: reads in different arms stay apart, so that each keeps its own proof.
#[derive(Debug, Default)]
pub(super) struct Arms {
    /// By outer arm, condition, and which of the two.
    numbers: HashMap<(u32, NodeId, bool), u32>,
}

impl Arms {
    /// The arm of a condition inside another arm; 0 is outside of all.
    pub(super) fn enter(&mut self, outer: u32, condition: NodeId, holds: bool) -> u32 {
        let fresh = self.numbers.len() as u32 + 1;
        *self.numbers.entry((outer, condition, holds)).or_insert(fresh)
    }
}

/// A walk from the coordinates of a view to a read, as nodes of a body.
pub(super) struct Walk<'w> {
    pub body: &'w mut Body,
    pub arms: &'w mut Arms,
    /// The arm it happens in.
    pub arm: u32,
    /// Where the read was written.
    pub span: Span,
    /// Coordinates on the way, and where they must lie so that what follows of them are coordinates.
    pub limits: Vec<Limit>,
}

/// A coordinate that a step of a view moves, and where that leads to a coordinate.
pub(super) struct Limit {
    pub coord: NodeId,
    pub range: Interval,
    /// The dimension, as messages call it.
    pub dim: Arc<str>,
}

/// What a walk ends in.
pub(super) struct Followed {
    /// The element of the view.
    pub value: NodeId,
    /// The read of its base.
    pub read: NodeId,
    /// The coordinates of that read.
    pub coords: Vec<NodeId>,
    /// What must hold on the way.
    pub limits: Vec<Limit>,
}

/// The view as a body of its own, over its own coordinates.
pub fn view_body(view: &View, span: Span) -> Resolved {
    let mut body = Body::default();
    let coord = |dim: usize| Op::Coord(Coord::Global(dim as u32));
    let coords = (0..view.rank()).map(|dim| body.push(coord(dim), Ty::WeakInt, span)).collect();
    let root = Walk { body: &mut body, arms: &mut Arms::default(), arm: 0, span, limits: Vec::new() }
        .read(view, coords)
        .value;
    contract(&resolve_weak(&body, root, view.element, Element::F32))
}

/// A take as a body over the `rank` window numbers and the place inside the take.
pub fn take_body(take: &Take, rank: usize) -> Resolved {
    let (mut body, span) = (Body::default(), take.span);
    let mut walk = Walk { body: &mut body, arms: &mut Arms::default(), arm: 0, span, limits: Vec::new() };
    let coords = (0..take.sizes.len()).map(|dim| {
        let place = walk.coord(rank + dim);
        let offset = walk.body.weak_int(take.offset[dim], span);
        let start = match take.map[dim] {
            None => offset,
            Some(driver) => {
                let number = walk.coord(driver);
                let moved = walk.scaled(number, take.stride[dim]);
                walk.int(BinaryFn::Add, moved, offset)
            }
        };
        walk.int(BinaryFn::Add, start, place)
    });
    let coords = coords.collect();
    let root = walk.read(&take.source, coords).value;
    contract(&resolve_weak(&body, root, take.source.element, Element::F32))
}

impl Walk<'_> {
    fn coord(&mut self, dim: usize) -> NodeId {
        self.body.push(Op::Coord(Coord::Global(dim as u32)), Ty::WeakInt, self.span)
    }

    /// A read of `view` at `coords`.
    pub(super) fn read(&mut self, view: &View, coords: Vec<NodeId>) -> Followed {
        let followed = self.follow(view, view.steps(), coords, self.arm);
        Followed { limits: std::mem::take(&mut self.limits), ..followed }
    }

    /// What a map of the language moves, it moves alone: one coordinate to one.
    fn limit(&mut self, map: &Transform, coords: &[NodeId]) {
        for output in map.outputs() {
            let OutputMap::Affine(affine) = output else { continue };
            let [term] = affine.terms() else { continue };
            let (range, dim) =
                (Interval::into_space(affine.offset().into(), term.stride), &map.domain().dims()[term.dim]);
            if !range.contains_interval(dim.enforced()) {
                let dim = dimension_label(term.dim, dim);
                self.limits.push(Limit { coord: coords[term.dim], range, dim });
            }
        }
    }

    fn follow(&mut self, view: &View, steps: &[Step], mut coords: Vec<NodeId>, arm: u32) -> Followed {
        for (at, step) in steps.iter().enumerate() {
            coords = match step {
                Step::Map(map) => {
                    self.limit(map, &coords);
                    let outputs = map.outputs().iter();
                    outputs.map(|output| self.map_output(map.domain(), output, &coords)).collect()
                }
                Step::Flat { strides, offset, storage, .. } => {
                    self.unravel(strides, *offset, storage, &coords)
                }
                Step::Boundary { kinds, bounds } => {
                    let dims = kinds.iter().zip(bounds).zip(&coords);
                    dims.map(|((kind, bounds), coord)| self.fold_coordinate(*kind, *bounds, *coord)).collect()
                }
                Step::Mask { bounds, value } => {
                    return self.masked(view, &steps[at + 1..], (bounds, *value), coords, arm);
                }
            };
        }
        let ty = Ty::Strong(view.element.computed());
        let read = self.body.push(Op::Read { tensor: view.base, coords: coords.clone(), arm }, ty, self.span);
        Followed { value: read, read, coords, limits: Vec::new() }
    }

    /// Inside the bounds the rest of the steps, outside them the value.
    fn masked(
        &mut self,
        view: &View,
        rest: &[Step],
        (bounds, value): (&[Interval], Scalar),
        coords: Vec<NodeId>,
        arm: u32,
    ) -> Followed {
        let condition = self.inside(bounds, &coords);
        let inner_arm = self.arms.enter(arm, condition, true);
        let inner = self.follow(view, rest, coords, inner_arm);
        let outer = self.body.strong(value, self.span);
        let ty = Ty::Strong(view.element.computed());
        Followed { value: self.body.select(condition, inner.value, outer, ty, self.span), ..inner }
    }

    fn inside(&mut self, bounds: &[Interval], coords: &[NodeId]) -> NodeId {
        let mut all = self.body.strong(Scalar::bool(true), self.span);
        let bool = Ty::Strong(Element::Bool);
        for (bounds, coord) in bounds.iter().zip(coords) {
            for (bound, compare) in [(bounds.lower(), BinaryFn::Ge), (bounds.upper(), BinaryFn::Lt)] {
                let Some(bound) = bound else { continue };
                let bound = self.body.weak_int(bound, self.span);
                let test = self.body.binary(compare, *coord, bound, bool, self.span);
                let first = self.body.constant(all).is_some_and(Scalar::is_true);
                all = if first { test } else { self.body.binary(BinaryFn::And, all, test, bool, self.span) };
            }
        }
        all
    }

    fn map_output(&mut self, domain: &Domain, output: &OutputMap, coords: &[NodeId]) -> NodeId {
        match output {
            OutputMap::Affine(affine) => self.affine(affine, coords),
            OutputMap::Array(map) => self.array_entry(domain, map, coords),
        }
    }

    fn affine(&mut self, affine: &Affine, coords: &[NodeId]) -> NodeId {
        let offset = self.body.weak_int(affine.offset(), self.span);
        affine.terms().iter().fold(offset, |sum, term| {
            let scaled = self.scaled(coords[term.dim], term.stride);
            self.int(BinaryFn::Add, scaled, sum)
        })
    }

    /// `offset + stride * entry` of an index array, which becomes a table of the body.
    fn array_entry(&mut self, domain: &Domain, map: &ArrayMap, coords: &[NodeId]) -> NodeId {
        let used: Vec<usize> = map.array.dependencies().collect();
        let shape: Vec<i64> = used.iter().map(|dim| map.array.shape()[*dim]).collect();
        let values = map.array.entries().iter().map(|entry| Scalar::i64(*entry)).collect();
        let table = Table { name: "index array".into(), shape, values, ty: Ty::WeakInt };
        let id = self.body.table(table.into());
        let places = used.iter().map(|dim| {
            let first = domain.dims()[*dim].interval.first();
            let first = self.body.weak_int(first, self.span);
            self.int(BinaryFn::Sub, coords[*dim], first)
        });
        let places = places.collect();
        let entry = self.body.push(Op::Table(id, places), Ty::WeakInt, self.span);
        let scaled = self.scaled(entry, map.stride);
        let offset = self.body.weak_int(map.offset, self.span);
        self.int(BinaryFn::Add, scaled, offset)
    }

    /// The coordinates in a row-major box of the element at a position.
    fn unravel(
        &mut self,
        strides: &[i64],
        offset: i64,
        storage: &[Interval],
        coords: &[NodeId],
    ) -> Vec<NodeId> {
        let offset = self.body.weak_int(offset, self.span);
        let position = strides.iter().zip(coords).fold(offset, |sum, (stride, coord)| {
            let scaled = self.scaled(*coord, *stride);
            self.int(BinaryFn::Add, scaled, sum)
        });
        let shape: Vec<i64> = storage.iter().map(|range| range.len().unwrap_or(1)).collect();
        let steps = row_major(&shape);
        let dims = storage.iter().zip(&shape).zip(steps).enumerate();
        let dims = dims.map(|(at, ((range, size), step))| {
            let step = self.body.weak_int(step, self.span);
            let quotient = self.int(BinaryFn::FloorDiv, position, step);
            let size = self.body.weak_int(*size, self.span);
            let rest = if at == 0 { quotient } else { self.int(BinaryFn::Rem, quotient, size) };
            let first = self.body.weak_int(range.first(), self.span);
            self.int(BinaryFn::Add, rest, first)
        });
        dims.collect()
    }

    fn fold_coordinate(&mut self, kind: Option<Boundary>, bounds: Interval, coord: NodeId) -> NodeId {
        let Some(kind) = kind else { return coord };
        match (kind, bounds.lower(), bounds.upper()) {
            (Boundary::Clamp, lo, hi) => {
                let raised = lo.map_or(coord, |lo| self.int_with(BinaryFn::Max, coord, lo));
                hi.map_or(raised, |hi| self.int_with(BinaryFn::Min, raised, hi - 1))
            }
            (Boundary::Wrap, Some(lo), Some(hi)) => self.folded(coord, lo, hi - lo, None),
            (Boundary::Mirror, Some(lo), Some(hi)) => {
                self.folded(coord, lo, 2 * (hi - lo), Some(2 * (hi - lo) - 1))
            }
            (Boundary::Reflect, Some(lo), Some(hi)) if hi - lo == 1 => self.body.weak_int(lo, self.span),
            (Boundary::Reflect, Some(lo), Some(hi)) => {
                self.folded(coord, lo, 2 * (hi - lo - 1), Some(2 * (hi - lo - 1)))
            }
            (Boundary::Mirror, Some(lo), None) => self.turned(BinaryFn::Max, coord, 2 * lo - 1),
            (Boundary::Reflect, Some(lo), None) => self.turned(BinaryFn::Max, coord, 2 * lo),
            (Boundary::Mirror, None, Some(hi)) => self.turned(BinaryFn::Min, coord, 2 * hi - 1),
            (Boundary::Reflect, None, Some(hi)) => self.turned(BinaryFn::Min, coord, 2 * hi - 2),
            (Boundary::Wrap | Boundary::Mirror | Boundary::Reflect, _, _) => coord,
        }
    }

    /// `lo + m` with `m = (coord - lo) % period`, or `lo + min(m, top - m)` where the way back counts down.
    fn folded(&mut self, coord: NodeId, lo: i64, period: i64, top: Option<i64>) -> NodeId {
        let from_zero = self.int_with(BinaryFn::Sub, coord, lo);
        let phase = self.int_with(BinaryFn::Rem, from_zero, period);
        let folded = top.map_or(phase, |top| self.turned(BinaryFn::Min, phase, top));
        self.int_with(BinaryFn::Add, folded, lo)
    }

    /// `f(coord, top - coord)`
    fn turned(&mut self, function: BinaryFn, coord: NodeId, top: i64) -> NodeId {
        let top = self.body.weak_int(top, self.span);
        let back = self.int(BinaryFn::Sub, top, coord);
        self.int(function, coord, back)
    }

    pub(super) fn scaled(&mut self, node: NodeId, factor: i64) -> NodeId {
        self.int_with(BinaryFn::Mul, node, factor)
    }

    fn int_with(&mut self, function: BinaryFn, a: NodeId, b: i64) -> NodeId {
        let b = self.body.weak_int(b, self.span);
        self.int(function, a, b)
    }

    /// Index arithmetic; adding 0 and multiplying by 1 leave no trace.
    pub(super) fn int(&mut self, function: BinaryFn, a: NodeId, b: NodeId) -> NodeId {
        let is = |node, value| self.body.constant_int(node) == Some(value);
        match function {
            BinaryFn::Add if is(a, 0) => return b,
            BinaryFn::Add | BinaryFn::Sub if is(b, 0) => return a,
            BinaryFn::Mul | BinaryFn::FloorDiv if is(b, 1) => return a,
            _ => {}
        }
        let ty = unify(self.body.ty(a), self.body.ty(b)).expect("both are i64 or weak integers");
        self.body.binary(function, a, b, ty, self.span)
    }
}
