//! What many elements compute alike -> a stage of its own, over what it depends on.
//!
//! ```text
//! tensor even: f32[y: 4096, x: 4096] = a[y, x] / (sum(j in 0..4096) a[j, x])
//!
//! even.sum[x] = sum(j in 0..4096) a[j, x]       once per column, not once per element
//! even[y, x] = a[y, x] / even.sum[x]
//! ```
//!
//! A reduction is lifted that depends on fewer coordinates than its body has, on quotients of them (`x // 32`) or on the
//! numbers of windows, if that leaves far less to compute. Conditions around it are not lifted with it: it stays where
//! it is unless its reads lie inside without them.

use super::inline::times;
use super::seamless::empty_like;
use super::stages::Stages;
use crate::access::footprint::body_footprint;
use crate::access::linear::{Atom, Linear};
use crate::graph::body::{Body, Coord, NodeId, Op, TensorId};
use crate::graph::resolve_weak::Resolved;
use crate::graph::scalar::{BinaryFn, Scalar};
use crate::graph::types::{Element, Ty};
use crate::graph::{Pointwise, Tensor, TensorKind, WindowBody};
use crate::index::{Dim, Domain, Interval, Window};
use crate::source::Span;
use std::collections::{BTreeMap, BTreeSet};

/// Operations per element that have to be saved.
const WORTH: u128 = 256;
/// Reductions of a body that are looked at, at the most.
const MOST: usize = 64;
/// How many elements of a dimension without end share what does not depend on it.
const ENDLESS: u128 = 1 << 40;

const INDEX: Ty = Ty::Strong(Element::I64);

/// Lifts the reductions of a stage for which that pays.
pub(super) fn lift(stages: &mut Stages, id: TensorId) {
    let owner = stages.tensor(id).clone();
    let (body, windows) = match &owner.kind {
        TensorKind::Pointwise(Pointwise { body, recurrence: None }) => (body, &[][..]),
        TensorKind::Windowed(windowed) => match &windowed.body {
            WindowBody::Expr(body) => (body, &windowed.windows.dims[..]),
            WindowBody::Extern { .. } => return,
        },
        TensorKind::Pointwise(_) | TensorKind::Input(_) | TensorKind::Var(_) => return,
    };
    let used = body.body.nodes().zip(times(&body.body, body.root)).filter(|(_, times)| times.is_some());
    let reductions = used.filter(|((_, node), _)| matches!(node.op, Op::Reduce { .. }));
    let reductions: Vec<NodeId> = reductions.map(|((id, _), _)| id).take(MOST).collect();
    if reductions.is_empty() {
        return;
    }
    let forms = &stages.accesses[id.index()].forms.clone();
    let shared = Shared { owner: &owner, body: &body.body, windows, forms, free: free(&body.body) };
    let mut lifted = BTreeMap::new();
    for node in reductions {
        if let Some(axes) = shared.axes(node).filter(|axes| shared.pays(node, axes))
            && let Some(tensor) = add(stages, &shared, node, &axes, &lifted)
        {
            lifted.insert(node, Lifted { tensor, axes });
        }
    }
    if !lifted.is_empty() {
        let rest = copied(&body.body, body.root, &[], &lifted);
        stages.set_expression(id, rest);
    }
}

/// A reduction that has become a stage.
struct Lifted {
    tensor: TensorId,
    axes: Vec<Axis>,
}

/// A number that a reduction depends on: a dimension of its stage.
#[derive(Clone, Debug, PartialEq)]
enum Axis {
    /// A coordinate, or the variable of a reduction around it.
    Coord(Coord),
    /// A node: the quotient of a coordinate moved by an offset.
    Quotient { node: NodeId, dim: u32, offset: i64, by: i64 },
}

impl Axis {
    /// The node that it is.
    fn node(&self) -> Option<NodeId> {
        match self {
            Axis::Quotient { node, .. } => Some(*node),
            Axis::Coord(_) => None,
        }
    }

    /// The dimension that it says something about; none if it is the variable of a reduction.
    fn dim(&self) -> Option<u32> {
        match self {
            Axis::Quotient { dim, .. } => Some(*dim),
            Axis::Coord(Coord::Global(dim) | Coord::Local(dim) | Coord::Window(dim)) => Some(*dim),
            Axis::Coord(Coord::Bound(_)) => None,
        }
    }
}

/// A body whose reductions are looked at.
struct Shared<'b> {
    owner: &'b Tensor,
    body: &'b Body,
    windows: &'b [Window],
    /// The linear form of every integer node.
    forms: &'b BTreeMap<NodeId, Linear>,
    /// Variables of reductions around a node that it depends on.
    free: Vec<BTreeSet<u32>>,
}

/// What is free in every node of the variables of reductions: inside of one, its own are bound.
fn free(body: &Body) -> Vec<BTreeSet<u32>> {
    let mut free: Vec<BTreeSet<u32>> = Vec::with_capacity(body.len());
    for (_, node) in body.nodes() {
        let mut own: BTreeSet<u32> = match node.op {
            Op::Coord(Coord::Bound(var)) => BTreeSet::from([var]),
            _ => BTreeSet::new(),
        };
        node.op.args().into_iter().for_each(|arg| own.extend(&free[arg.index()]));
        if let Op::Reduce { vars, .. } = &node.op {
            vars.iter().for_each(|var| _ = own.remove(var));
        }
        free.push(own);
    }
    free
}

impl Shared<'_> {
    /// The quotient of a coordinate by a constant, which is the same for as many elements.
    fn quotient(&self, id: NodeId) -> Option<Axis> {
        let Op::Binary(BinaryFn::FloorDiv, a, b) = self.body.node(id).op else { return None };
        let by = self.body.constant_int(b).filter(|by| *by > 1 && self.windows.is_empty())?;
        let form = self.forms.get(&a)?;
        match form.terms[..] {
            [(Atom::Coord(Coord::Global(dim)), 1)] => {
                Some(Axis::Quotient { node: id, dim, offset: form.offset, by })
            }
            _ => None,
        }
    }

    /// What a reduction depends on; none if several numbers say something about one dimension and not all of their
    /// combinations are there, or if one variable is that of a reduction around it and of one inside.
    fn axes(&self, reduction: NodeId) -> Option<Vec<Axis>> {
        let free = &self.free[reduction.index()];
        let mut found: Vec<Axis> = free.iter().map(|var| Axis::Coord(Coord::Bound(*var))).collect();
        let mut seen = BTreeSet::new();
        let mut stack = vec![reduction];
        while let Some(id) = stack.pop() {
            if !seen.insert(id) {
                continue;
            }
            let node = self.body.node(id);
            match &node.op {
                Op::Arg(_) => return None,
                Op::Reduce { vars, .. } if vars.iter().any(|var| free.contains(var)) => return None,
                Op::Coord(Coord::Bound(_)) => {}
                Op::Coord(coord) => found.push(Axis::Coord(*coord)),
                op => match self.quotient(id) {
                    Some(quotient) => found.push(quotient),
                    None => stack.extend(op.args()),
                },
            }
        }
        // Constants are computed once per kernel as they are.
        let is_read = |id: &NodeId| matches!(self.body.node(*id).op, Op::Read { .. });
        if found.is_empty() && !seen.iter().any(is_read) {
            return None;
        }
        self.settled(found)
    }

    /// One axis per dimension, or the number of a window and the place in it.
    fn settled(&self, mut found: Vec<Axis>) -> Option<Vec<Axis>> {
        for dim in 0..self.owner.domain.rank() as u32 {
            let about = |axis: &Axis| axis.dim() == Some(dim);
            let own: Vec<Axis> = found.iter().filter(|axis| about(axis)).cloned().collect();
            let window = [Coord::Window(dim), Coord::Local(dim)].map(Axis::Coord);
            if own.len() < 2 || own.iter().all(|axis| window.contains(axis)) {
                continue;
            }
            if !self.windows.is_empty() {
                return None;
            }
            found.retain(|axis| !about(axis));
            found.push(Axis::Coord(Coord::Global(dim)));
        }
        let order = |axis: &Axis| match axis {
            Axis::Coord(Coord::Bound(var)) => (u32::MAX, *var),
            axis => (axis.dim().unwrap_or(u32::MAX), u32::from(matches!(axis, Axis::Coord(Coord::Local(_))))),
        };
        found.sort_by_key(order);
        Some(found)
    }

    /// Whether lifting leaves far less to compute. What is the same for all steps of a reduction around it is computed once
    /// per element as it is.
    fn pays(&self, reduction: NodeId, axes: &[Axis]) -> bool {
        let mut sharing: u128 = 1;
        for dim in 0..self.owner.domain.rank() as u32 {
            let places = self.places(dim);
            let told = axes.iter().filter(|axis| axis.dim() == Some(dim)).map(|axis| match axis {
                Axis::Quotient { by, .. } => places / *by as u128,
                Axis::Coord(Coord::Global(_)) => places,
                Axis::Coord(_) => self.values(axis).map_or(1, count),
            });
            sharing = sharing.saturating_mul((places / told.fold(1, u128::saturating_mul).max(1)).max(1));
        }
        let work = times(self.body, reduction).into_iter().flatten().fold(0, u128::saturating_add);
        work.saturating_mul(sharing.saturating_sub(1)) >= WORTH.saturating_mul(sharing)
    }

    /// How often elements are computed along a dimension: once per coordinate, or per window and place in it.
    fn places(&self, dim: u32) -> u128 {
        let values = |coord: Coord| self.values(&Axis::Coord(coord)).map_or(1, count);
        match self.windows.is_empty() {
            true => values(Coord::Global(dim)),
            false => values(Coord::Window(dim)).saturating_mul(values(Coord::Local(dim))),
        }
    }

    /// The values of an axis; none if they cannot be told.
    fn values(&self, axis: &Axis) -> Option<Interval> {
        let enforced = |dim: u32| self.owner.domain.dims()[dim as usize].enforced();
        match axis {
            Axis::Quotient { dim, offset, by, .. } => {
                Some(enforced(*dim).shift(*offset).ok()?.floor_div(*by))
            }
            Axis::Coord(Coord::Global(dim)) => Some(enforced(*dim)),
            Axis::Coord(Coord::Local(dim)) => Interval::sized(0, self.windows[*dim as usize].size()).ok(),
            Axis::Coord(Coord::Window(dim)) => self.windows[*dim as usize].inside(enforced(*dim)).ok(),
            Axis::Coord(Coord::Bound(var)) => {
                let binder = &self.body.binders[*var as usize];
                Interval::new(binder.lo, binder.hi.max(binder.lo)).ok()
            }
        }
    }
}

fn count(values: Interval) -> u128 {
    values.len().map_or(ENDLESS, |len| len.max(1) as u128)
}

/// The stage of a reduction; none if it would read outside of a source.
fn add(
    stages: &mut Stages,
    shared: &Shared<'_>,
    reduction: NodeId,
    axes: &[Axis],
    lifted: &BTreeMap<NodeId, Lifted>,
) -> Option<TensorId> {
    let mut region: Vec<Interval> = axes.iter().map(|axis| shared.values(axis)).collect::<Option<_>>()?;
    if region.is_empty() {
        region.push(Interval::point(0).ok()?);
    }
    let body = copied(shared.body, reduction, axes, lifted);
    for (source, needed) in body_footprint(&body, &region, &[], &[]) {
        let readable = stages.tensor(source).readable();
        if !readable.iter().zip(&needed).all(|(has, needed)| has.contains_interval(*needed)) {
            return None;
        }
    }
    let node = shared.body.node(reduction);
    let (Op::Reduce { function, .. }, Some(element)) = (&node.op, node.ty.strong()) else { return None };
    let domain = Domain::new(region.into_iter().map(Dim::explicit).collect()).ok()?;
    let name = format!("{}.{}", shared.owner.name, function.name());
    let kind = TensorKind::Pointwise(Pointwise { body, recurrence: None });
    Some(stages.add(&name, node.span, element, domain, kind))
}

/// What is left of a body, or of one of its reductions over these axes, where others are read.
fn copied(old: &Body, root: NodeId, axes: &[Axis], lifted: &BTreeMap<NodeId, Lifted>) -> Resolved {
    let mut copy = Copy { old, axes, lifted, body: empty_like(old), new: BTreeMap::new() };
    for id in copy.used(root) {
        let new = copy.made(id);
        copy.new.insert(id, new);
    }
    Resolved { root: copy.new[&root], body: copy.body }
}

/// Makes a body of parts of another one.
struct Copy<'b> {
    old: &'b Body,
    axes: &'b [Axis],
    lifted: &'b BTreeMap<NodeId, Lifted>,
    body: Body,
    new: BTreeMap<NodeId, NodeId>,
}

impl Copy<'_> {
    /// The nodes that are copied.
    fn used(&self, root: NodeId) -> BTreeSet<NodeId> {
        let (mut used, mut stack) = (BTreeSet::new(), vec![root]);
        while let Some(id) = stack.pop() {
            if !used.insert(id) || self.place(id).is_some() {
                continue;
            }
            match self.lifted.get(&id) {
                Some(lifted) => stack.extend(lifted.axes.iter().filter_map(Axis::node)),
                None => stack.extend(self.old.node(id).op.args()),
            }
        }
        used
    }

    /// Which axis a node is.
    fn place(&self, id: NodeId) -> Option<usize> {
        self.axes.iter().position(|axis| match (axis, &self.old.node(id).op) {
            (Axis::Quotient { node, .. }, _) => *node == id,
            (Axis::Coord(own), Op::Coord(coord)) => own == coord,
            (Axis::Coord(_), _) => false,
        })
    }

    fn made(&mut self, id: NodeId) -> NodeId {
        let node = self.old.node(id);
        let op = match (self.place(id), self.lifted.get(&id)) {
            (Some(place), _) => Op::Coord(Coord::Global(place as u32)),
            (None, Some(Lifted { tensor, axes })) => {
                let mut coords: Vec<NodeId> = axes.iter().map(|axis| self.number(axis, node.span)).collect();
                if coords.is_empty() {
                    coords.push(self.body.strong(Scalar::i64(0), node.span));
                }
                Op::Read { tensor: *tensor, coords, arm: 0 }
            }
            (None, None) => node.op.clone().with_args(|arg| self.new[&arg]),
        };
        self.body.push(op, node.ty, node.span)
    }

    /// An axis of another stage.
    fn number(&mut self, axis: &Axis, span: Span) -> NodeId {
        match axis {
            Axis::Quotient { node, .. } => self.new[node],
            Axis::Coord(coord) => {
                let place = self.axes.iter().position(|own| own == axis);
                let coord = place.map_or(*coord, |place| Coord::Global(place as u32));
                self.body.push(Op::Coord(coord), INDEX, span)
            }
        }
    }
}
