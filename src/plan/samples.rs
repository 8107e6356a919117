//! A source that is read at some of every so many elements -> a stage of just those.
//!
//! ```text
//! light[y, x] = height[y, x + 1] - height[y, x - 1]        far[y, x] = light[1000 * y, 1000 * x]
//!
//! far[y, x] = height'[2, y, x] - height'[0, y, x]          height'[i, y, x] = height[1000 * y, 1000 * x + i - 1]
//! ```
//!
//! A dimension of the source along which `step · q + place` is read, the places being fewer than the step, becomes two: the
//! place, unless there is only one, and `q`. All readers share the stage, so nothing is computed twice, and what the stage
//! itself reads is sampled in turn. Along other dimensions it is the source.

use super::stages::Stages;
use crate::access::linear::{Atom, Linear};
use crate::graph::body::{Body, Coord, NodeId, Op, TensorId};
use crate::graph::resolve_weak::Resolved;
use crate::graph::scalar::{BinaryFn, Scalar};
use crate::graph::types::{Element, Ty};
use crate::index::interval::{finite, floor_div};
use crate::index::{Dim, Domain, Interval};
use crate::source::Span;

/// How a source becomes samples.
pub(super) struct Samples {
    source: TensorId,
    axes: Vec<Axis>,
}

/// What becomes of one dimension of the source.
enum Axis {
    /// It stays.
    Whole,
    /// `step · q + place`.
    Stepped {
        /// May be negative.
        step: i64,
        /// Places that are read, relative to `step · q`.
        places: Interval,
        /// Where `q` lies.
        numbers: Interval,
    },
}

/// A coordinate of a read as `step · (coordinate + ahead) + rest`.
struct Stepping {
    step: i64,
    /// The coordinate of the reader that moves it.
    coord: Coord,
    ahead: i64,
    rest: Linear,
    /// What the rest can be.
    places: Interval,
    /// Where `coordinate + ahead` lies.
    numbers: Interval,
}

/// Samples of a source for all of its readers; `None` if they leave nothing out between steps.
pub(super) fn samples(stages: &Stages, source: TensorId, readers: &[TensorId]) -> Option<Samples> {
    let rank = stages.tensor(source).domain.rank();
    let axes: Vec<Axis> = (0..rank).map(|dim| axis(stages, source, readers, dim)).collect();
    axes.iter().any(|axis| matches!(axis, Axis::Stepped { .. })).then_some(Samples { source, axes })
}

fn axis(stages: &Stages, source: TensorId, readers: &[TensorId], dim: usize) -> Axis {
    stepped_axis(stages, source, readers, dim).unwrap_or(Axis::Whole)
}

fn stepped_axis(stages: &Stages, source: TensorId, readers: &[TensorId], dim: usize) -> Option<Axis> {
    let mut all: Option<(i64, Interval, Interval)> = None;
    for reader in readers {
        for access in stages.accesses[reader.index()].reads.iter().filter(|read| read.tensor == source) {
            let own = stepping(stages, *reader, &access.map[dim])?;
            all = match all {
                None => Some((own.step, own.places, own.numbers)),
                Some((step, ..)) if step != own.step => return None,
                Some((step, places, numbers)) => {
                    Some((step, places.hull(own.places), numbers.hull(own.numbers)))
                }
            };
        }
    }
    let (step, places, numbers) = all?;
    let fewer = places.len()? < step.checked_abs()?;
    // All of it must be elements of the source: a number of one reader with a place of another may be none.
    let reached = numbers.scale(step).ok()?.add(places).ok()?;
    let inside = stages.tensor(source).readable()[dim].contains_interval(reached);
    (fewer && inside).then_some(Axis::Stepped { step, places, numbers })
}

fn stepping(stages: &Stages, reader: TensorId, form: &Linear) -> Option<Stepping> {
    let global = |(atom, _): &&(Atom, i64)| matches!(atom, Atom::Coord(Coord::Global(_)));
    let (atom, step) = *form.terms.iter().filter(global).max_by_key(|(_, factor)| factor.unsigned_abs())?;
    let Atom::Coord(coord) = atom else { return None };
    let mut rest = form.plus(step.checked_neg()?, &Linear::atom(atom))?;
    let places = range_of(stages, reader, &rest)?;
    // The places nearest to 0: two reads that lie a step apart are neighbours at one place.
    let middle = places.first().checked_add(places.len()? / 2)?;
    let width = step.checked_abs()?;
    let ahead = floor_div(middle.checked_add(width / 2)?, width) * step.signum();
    let back = step.checked_mul(ahead)?;
    rest.offset = rest.offset.checked_sub(back)?;
    let places = places.shift(back.checked_neg()?).ok()?;
    let numbers = coordinate_range(stages, reader, coord)?.shift(ahead).ok()?;
    Some(Stepping { step, coord, ahead, rest, places, numbers })
}

/// What a form of coordinates and reduction variables can be; `None` if there are others in it, or it has no bounds.
fn range_of(stages: &Stages, reader: TensorId, form: &Linear) -> Option<Interval> {
    let mut range = Interval::point(form.offset).ok()?;
    for (atom, factor) in &form.terms {
        let Atom::Coord(coord) = atom else { return None };
        range = range.add(coordinate_range(stages, reader, *coord)?.scale(*factor).ok()?).ok()?;
    }
    (range.is_bounded() && !range.is_empty()).then_some(range)
}

fn coordinate_range(stages: &Stages, reader: TensorId, coord: Coord) -> Option<Interval> {
    match coord {
        Coord::Global(dim) => Some(stages.tensor(reader).domain.dims()[dim as usize].interval),
        Coord::Bound(var) => {
            let binder = &super::inline::body_of(stages, reader)?.body.binders[var as usize];
            Interval::new(binder.lo, binder.hi).ok()
        }
        Coord::Local(_) | Coord::Window(_) => None,
    }
}

impl Samples {
    /// How many elements there are of them, if `held` is needed of the source; at least one number beyond both ends is
    /// counted nowhere.
    pub(super) fn count(&self, held: &[Interval]) -> u128 {
        let along = |(axis, held): (&Axis, &Interval)| {
            let len = held.len().unwrap_or(i64::MAX) as u128;
            match axis {
                Axis::Whole => len,
                Axis::Stepped { step, places, .. } => {
                    let count = places.len().unwrap_or(i64::MAX) as u128;
                    let step = u128::from(step.unsigned_abs());
                    (len.saturating_sub(count) / step + 1).saturating_mul(count)
                }
            }
        };
        self.axes.iter().zip(held).map(along).fold(1, u128::saturating_mul)
    }

    /// The stage: its domain, and its body, which reads the source. Places come first.
    pub(super) fn stage(&self, source: &crate::graph::Tensor) -> Option<(Domain, Resolved)> {
        let (mut dims, mut body) = (Vec::new(), Indices::new(source.span));
        let mut places = Vec::new();
        for axis in &self.axes {
            if let Axis::Stepped { places: range, .. } = axis
                && range.single().is_none()
            {
                places.push(body.coord(Coord::Global(dims.len() as u32)));
                dims.push(Dim::explicit(Interval::sized(0, range.len()?).ok()?));
            }
        }
        let mut places = places.into_iter();
        let mut coords = Vec::new();
        for (axis, dim) in self.axes.iter().zip(source.domain.dims()) {
            let own = body.coord(Coord::Global(dims.len() as u32));
            match axis {
                Axis::Whole => {
                    dims.push(Dim::explicit(dim.enforced()));
                    coords.push(own);
                }
                Axis::Stepped { step, places: range, numbers } => {
                    dims.push(Dim::explicit(*numbers));
                    let mut place = body.number(range.first());
                    if range.single().is_none() {
                        place = body.op(BinaryFn::Add, places.next()?, place);
                    }
                    let step = body.number(*step);
                    let start = body.op(BinaryFn::Mul, own, step);
                    coords.push(body.op(BinaryFn::Add, start, place));
                }
            }
        }
        let ty = Ty::Strong(source.element.computed());
        let root = body.body.push(Op::Read { tensor: self.source, coords, arm: 0 }, ty, source.span);
        Some((Domain::new(dims).ok()?, Resolved { body: body.body, root }))
    }

    /// The body of a reader with reads of the samples, which are the stage `own`.
    pub(super) fn redirected(&self, stages: &Stages, reader: TensorId, own: TensorId) -> Option<Resolved> {
        let resolved = super::inline::body_of(stages, reader)?;
        let access = &stages.accesses[reader.index()];
        let mut indices = Indices::new(stages.tensor(reader).span);
        indices.body.tables = resolved.body.tables.clone();
        indices.body.binders = resolved.body.binders.clone();
        let mut new: Vec<NodeId> = Vec::with_capacity(resolved.body.len());
        for (id, node) in resolved.body.nodes() {
            let op = match &node.op {
                Op::Read { tensor, coords, arm } if *tensor == self.source => {
                    let kept: Vec<NodeId> = coords.iter().map(|coord| new[coord.index()]).collect();
                    let coords = self.coords(stages, reader, &access.read(id)?.map, &kept, &mut indices)?;
                    Op::Read { tensor: own, coords, arm: *arm }
                }
                op => op.clone().with_args(|arg| new[arg.index()]),
            };
            new.push(indices.body.push(op, node.ty, node.span));
        }
        Some(Resolved { root: new[resolved.root.index()], body: indices.body })
    }

    /// Where a read of the source finds its element among the samples.
    fn coords(
        &self,
        stages: &Stages,
        reader: TensorId,
        map: &[Linear],
        kept: &[NodeId],
        indices: &mut Indices,
    ) -> Option<Vec<NodeId>> {
        let (mut places, mut rest) = (Vec::new(), Vec::new());
        for ((axis, form), kept) in self.axes.iter().zip(map).zip(kept) {
            match axis {
                Axis::Whole => rest.push(*kept),
                Axis::Stepped { places: range, .. } => {
                    let own = stepping(stages, reader, form)?;
                    let place = Linear { offset: own.rest.offset.checked_sub(range.first())?, ..own.rest };
                    if range.single().is_none() {
                        places.push(indices.form(&place)?);
                    }
                    let number = Linear { offset: own.ahead, ..Linear::atom(Atom::Coord(own.coord)) };
                    rest.push(indices.form(&number)?);
                }
            }
        }
        places.append(&mut rest);
        Some(places)
    }
}

/// A body to which index arithmetic is added.
struct Indices {
    body: Body,
    span: Span,
}

impl Indices {
    fn new(span: Span) -> Indices {
        Indices { body: Body::default(), span }
    }

    fn coord(&mut self, coord: Coord) -> NodeId {
        self.body.push(Op::Coord(coord), Ty::Strong(Element::I64), self.span)
    }

    fn number(&mut self, value: i64) -> NodeId {
        self.body.strong(Scalar::i64(value), self.span)
    }

    fn op(&mut self, function: BinaryFn, a: NodeId, b: NodeId) -> NodeId {
        self.body.binary(function, a, b, Ty::Strong(Element::I64), self.span)
    }

    /// A form of coordinates; its numbers are small.
    fn form(&mut self, form: &Linear) -> Option<NodeId> {
        let mut sum = self.number(finite(form.offset.into()).ok()?);
        for (atom, factor) in &form.terms {
            let Atom::Coord(coord) = atom else { return None };
            let (own, factor) = (self.coord(*coord), self.number(*factor));
            let scaled = self.op(BinaryFn::Mul, own, factor);
            sum = self.op(BinaryFn::Add, scaled, sum);
        }
        Some(sum)
    }
}
