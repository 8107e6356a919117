//! What a kernel is made of, before it is decided how its loops go.
//!
//! ```text
//! out[y, x, c: 3] = a[y, x - 1, c] + a[y, x, c]      for y, for c, row x: the three channels together, with their
//!                                                    number as pitch known in the code for whole boxes
//! out[c: 3, y, x] = gain[y, x] * a[c, y, x]          for y, for c, row x, where that is less work than for c, for y
//! ```

use super::layout::Layout;
use super::strips::{Strip, strips};
use super::{Lowered, Lowerer, Target};
use crate::access::order::{Planes, loop_order, planes, row_order};
use crate::access::skip::Walks;
use crate::access::{Driver, TensorAccess};
use crate::graph::body::{Coord, TensorId};
use crate::graph::resolve_weak::Resolved;
use crate::graph::{Graph, TensorKind};
use crate::index::Interval;
use crate::loops::passes::jam::Together;
use crate::loops::passes::residues::LARGEST_PERIOD;
use crate::loops::passes::{self, Pass};
use std::collections::BTreeSet;

/// A body, and the box of what it fills.
#[derive(Clone, Copy)]
pub(super) struct Draft<'d> {
    pub(super) graph: &'d Graph,
    pub(super) resolved: &'d Resolved,
    pub(super) access: &'d TensorAccess,
    pub(super) target: &'d Target<'d>,
    /// What goes along stored elements.
    pub(super) walks: Option<&'d Walks>,
}

/// The dimensions of a box, that of the outermost loop first, and the one whose planes are made together.
struct Order {
    dims: Vec<usize>,
    planes: Option<Planes>,
}

impl Draft<'_> {
    /// Its kernel, as it is after a pass.
    pub(super) fn lower(&self, last: Pass) -> Lowered {
        if let Some(beside) = self.beside() {
            return self.in_order(&beside, last);
        }
        let rows = Order { dims: row_order(self.access, self.rank().max(1)).dims, planes: None };
        if let Some(planes) = self.planes() {
            let together = Order { dims: planes.last_in(&rows.dims), planes: Some(planes) };
            let [apart, jammed] = [&rows, &together].map(|order| self.in_order(order, Pass::Jam).jam);
            if apart.zip(jammed).is_some_and(|(apart, jammed)| jammed.makes_planes && jammed.is_less(&apart))
            {
                return self.in_order(&together, last);
            }
        }
        self.in_order(&rows, last)
    }

    /// How the loop over each dimension is cut: not where windows or stored elements are gone along.
    pub(super) fn strips(&self) -> Vec<Option<Strip>> {
        match self.target.windows.is_empty() && self.walks.is_none() {
            true => strips(&self.resolved.body, self.access, &self.target.dims),
            false => vec![None; self.rank()],
        }
    }

    fn rank(&self) -> usize {
        self.target.dims.len()
    }

    /// The planes of a tensor that may be made together.
    fn planes(&self) -> Option<Planes> {
        let may = self.walks.is_none() && self.target.windows.is_empty() && self.target.tensor.is_some();
        planes(self.access, &self.target.dims).filter(|_| may)
    }

    /// The order for channels that lie side by side, unless a recurrence steps along them or along the row, or rows are
    /// cut into strips.
    fn beside(&self) -> Option<Order> {
        let order = loop_order(self.access, &self.target.dims);
        let planes = order.beside.filter(|_| self.walks.is_none())?;
        let inner = &order.dims[order.dims.len() - 2..];
        let steps = self.target.tensor.and_then(|id| match &self.graph.tensor(id).kind {
            TensorKind::Pointwise(pointwise) => pointwise.recurrence.as_ref(),
            TensorKind::Input(_) | TensorKind::Var(_) | TensorKind::Windowed(_) => None,
        });
        let apart = steps.is_none_or(|steps| !inner.contains(&steps.dim));
        let cut = self.strips().iter().any(Option::is_some);
        (apart && !cut).then_some(Order { dims: order.dims, planes: Some(planes) })
    }

    /// The kernel with its loops in an order.
    fn in_order(&self, order: &Order, last: Pass) -> Lowered {
        let sources: BTreeSet<TensorId> = self.access.reads.iter().map(|read| read.tensor).collect();
        let sources: Vec<TensorId> = sources.into_iter().collect();
        let mut lowerer = Lowerer::new(self, &sources, order.dims.clone());
        lowerer.kernel(self.resolved, self.access, self.target);
        let Lowerer { builder, layout, order: dims, strips, .. } = lowerer;
        // Rows that are cut into strips have loops of their own around them.
        let together = order.planes.filter(|_| strips.iter().all(Option::is_none)).map(|planes| {
            let given = self.known(&sources, &layout, planes);
            Together { planes, given }
        });
        let passed = passes::run(builder.finish(), together.as_ref(), last);
        let own = sources.iter().position(|source| Some(*source) == self.target.tensor);
        Lowered {
            kernel: passed.kernel,
            sources,
            own,
            rank: self.rank(),
            order: dims.into_iter().filter(|dim| *dim < self.rank()).collect(),
            windowed: !self.target.windows.is_empty(),
            jam: passed.jam,
            walks: self.walks.cloned(),
            layout,
        }
    }

    /// Arguments that are known where channels lie side by side: boxes of all of them have their number as pitch, and no
    /// ring goes along the dimension before.
    fn known(&self, sources: &[TensorId], layout: &Layout, planes: Planes) -> Vec<(usize, i64)> {
        let written = (planes.dim + 1 == self.rank()).then_some((sources.len(), planes.count as i64));
        let read = sources.iter().enumerate().filter_map(|(buffer, id)| {
            let last = self.graph.tensor(*id).domain.dims().last()?.interval;
            let count = last.len().filter(|count| *count <= LARGEST_PERIOD)?;
            self.reads_all(*id, last, planes).then_some((buffer, count))
        });
        let close = written.into_iter().chain(read);
        let places = close.filter_map(|(buffer, count)| Some((layout.before_last(buffer)?, count)));
        places.flat_map(|(at, count)| [(at + 2, -1), (at + 3, count)]).collect()
    }

    /// Whether the reads of a source need all of its last dimension for all planes.
    fn reads_all(&self, source: TensorId, all: Interval, planes: Planes) -> bool {
        let own = Coord::Global(planes.dim as u32);
        let reads = self.access.reads.iter().filter(|read| read.tensor == source);
        let ranges = reads.filter_map(|read| read.reach.last()).map(|reach| match reach.driver {
            Some(Driver { coord, stride: 1 | -1, per: 1 }) if coord == own => all,
            Some(_) => Interval::all(),
            None => reach.range,
        });
        ranges.reduce(Interval::hull).is_some_and(|range| range.contains_interval(all))
    }
}
