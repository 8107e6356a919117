//! A checked graph -> stages: what is computed on its own, in simple kinds only.
//!
//! ```text
//! tensor m: f16[x: inf] window [4] stride [2] blend mean = …
//!
//! m.windows: f32, windows blended by sum        m: f16 = m.windows[x] / count(x)
//! ```
//!
//! Means, f16 windows and host functions become hidden tensors, windows without seams plain bodies, so that everything below knows inputs, variables,
//! bodies, blended windows and host calls, and nothing else.

use super::fuse::{Fused, Rows, fuse};
use super::lifted::lift;
use super::needs::{Needs, needs};
use super::overlaps::{join, overlapped};
use super::seamless::without_windows;
use super::tables::with_tables;
use super::turned::turn;
use crate::access::skip::{Skip, skip};
use crate::access::{Accesses, TensorAccess, tensor_access};
use crate::diagnostic::Diagnostics;
use crate::graph::body::{Body, Coord, NodeId, Op, TensorId};
use crate::graph::follow::{take_body, view_body};
use crate::graph::resolve_weak::Resolved;
use crate::graph::scalar::{BinaryFn, Scalar};
use crate::graph::types::{Element, Ty};
use crate::graph::view::View;
use crate::graph::window::Take;
use crate::graph::{
    Blend, BlendKind, Graph, InputSource, Pointwise, Tensor, TensorKind, WindowBody, Windowed,
};
use crate::index::{Dim, Domain, IndexError, Interval, Window};
use crate::source::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A graph of simple stages; a stage is known by the id of its tensor.
#[derive(Clone, Debug)]
pub struct Stages {
    /// The script's tensors, then the hidden ones.
    pub graph: Graph,
    /// How each reads the others.
    pub accesses: Vec<Arc<TensorAccess>>,
    /// What each needs of the others, in closed form.
    pub needs: Vec<Arc<Needs>>,
    /// Tensors whose elements a host function makes, window by window.
    pub hosts: BTreeMap<TensorId, HostCall>,
    /// Stages that are copies of others.
    pub copied: BTreeMap<TensorId, TensorId>,
    /// The windows of tensors that are computed without them.
    pub seamless: BTreeMap<TensorId, Arc<Windowed>>,
    /// Those of them whose windows overlap.
    pub overlapping: BTreeSet<TensorId>,
    /// What a tensor was before a blended tensor became part of it.
    pub joined: BTreeMap<TensorId, Vec<Arc<Tensor>>>,
    /// What each computes of its sources itself, because that is cheaper than to keep it.
    pub fused: BTreeMap<TensorId, Vec<Fused>>,
    /// How many of them belong to the script; the others were added for one request.
    pub kept: usize,
}

/// A host function that makes whole windows.
///
/// The tensor has the window numbers as its first dimensions and the place inside the window as the others.
#[derive(Clone, Debug)]
pub struct HostCall {
    /// The name it is registered under.
    pub function: Arc<str>,
    /// The tensor of the script that it is the body of.
    pub owner: TensorId,
    /// Dimensions that are window numbers.
    pub numbers: usize,
    /// Its arguments: tensors over window numbers and places.
    pub takes: Vec<TensorId>,
}

/// Splits every tensor of the graph into simple stages, for code whose rows can do so much.
pub fn stages(graph: &Graph, accesses: &Accesses, rows: Rows) -> Result<Stages, IndexError> {
    let declared = graph.tensors.len();
    let accesses = accesses.tensors.iter().cloned().map(Arc::new).collect();
    let mut stages = Stages {
        graph: computed(graph),
        accesses,
        needs: Vec::new(),
        hosts: BTreeMap::new(),
        copied: BTreeMap::new(),
        seamless: BTreeMap::new(),
        overlapping: BTreeSet::new(),
        joined: BTreeMap::new(),
        fused: BTreeMap::new(),
        kept: declared,
    };
    for at in 0..declared {
        let id = TensorId(at as u32);
        lift(&mut stages, id);
        if let TensorKind::Windowed(windowed) = stages.graph.tensor(id).kind.clone() {
            stages.split(id, &windowed)?;
        }
    }
    let all = (0..stages.graph.tensors.len()).map(|at| Arc::new(needs(&stages, TensorId(at as u32))));
    stages.needs = all.collect();
    turn(&mut stages);
    join(&mut stages);
    stages.kept = stages.graph.tensors.len();
    fuse(&mut stages, rows);
    Ok(stages)
}

/// What stages need of a graph, which is copied with them; items that nobody computes stay behind.
fn computed(graph: &Graph) -> Graph {
    Graph { views: Vec::new(), outputs: Vec::new(), sets: Vec::new(), ..graph.clone() }
}

impl Stages {
    /// The tensor with that id.
    pub fn tensor(&self, id: TensorId) -> &Tensor {
        self.graph.tensor(id)
    }

    /// All of them, sources before their readers.
    pub fn in_order(&self) -> Vec<TensorId> {
        let mut order: Vec<TensorId> = Vec::with_capacity(self.graph.tensors.len());
        let mut seen = vec![false; self.graph.tensors.len()];
        for at in 0..self.graph.tensors.len() {
            let mut stack = vec![(TensorId(at as u32), false)];
            while let Some((id, ready)) = stack.pop() {
                if ready {
                    order.push(id);
                } else if !std::mem::replace(&mut seen[id.index()], true) {
                    stack.push((id, true));
                    let reads = self.accesses[id.index()].reads.iter();
                    stack.extend(reads.map(|read| (read.tensor, false)));
                }
            }
        }
        order
    }

    /// Notes of a copy of a stage what is known of that.
    pub fn inherit(&mut self, copy: TensorId, original: TensorId) {
        self.copied.insert(copy, self.original(original));
        if let Some(windowed) = self.seamless.get(&original).cloned() {
            self.seamless.insert(copy, windowed);
        }
        if let Some(before) = self.joined.get(&original).cloned() {
            self.joined.insert(copy, before);
        }
    }

    /// How a stage reads its sources in formats.
    pub fn skip(&self, id: TensorId) -> Option<Skip> {
        skip(&self.graph, self.tensor(id), &self.accesses[id.index()])
    }

    /// Whether a stage is an input or a variable, which nobody computes.
    pub fn is_data(&self, id: TensorId) -> bool {
        self.is_at_hand(id) || matches!(self.tensor(id).kind, TensorKind::Var(_))
    }

    /// Whether a stage is in memory as a whole, any of its elements at hand: an input. Boxes of variables are put together.
    pub fn is_at_hand(&self, id: TensorId) -> bool {
        matches!(self.tensor(id).kind, TensorKind::Input(_)) && !self.hosts.contains_key(&id)
    }

    /// The stage that a stage holds the elements of: itself, or what it is a copy of.
    pub fn original(&self, id: TensorId) -> TensorId {
        self.copied.get(&id).copied().unwrap_or(id)
    }

    /// These stages and one more: the elements of a view.
    pub fn with_view(&self, view: &View, span: Span) -> (Stages, TensorId) {
        let mut stages = self.clone();
        let kind = TensorKind::Pointwise(Pointwise { body: view_body(view, span), recurrence: None });
        let id = stages.add(&view.name.clone(), span, view.element, view.domain().clone(), kind);
        stages.needs.push(Arc::new(needs(&stages, id)));
        (stages, id)
    }

    /// These stages and one more: a body over a box.
    pub fn with_body(
        &self,
        name: &str,
        span: Span,
        element: Element,
        domain: Domain,
        body: Resolved,
    ) -> (Stages, TensorId) {
        let mut stages = self.clone();
        let kind = TensorKind::Pointwise(Pointwise { body, recurrence: None });
        let id = stages.add(name, span, element, domain, kind);
        stages.needs.push(Arc::new(needs(&stages, id)));
        (stages, id)
    }

    /// A hidden stage, before it is known what stages need.
    pub(super) fn add(
        &mut self,
        name: &str,
        span: Span,
        element: Element,
        domain: Domain,
        kind: TensorKind,
    ) -> TensorId {
        let id = TensorId(self.graph.tensors.len() as u32);
        let module = self.graph.tensors.first().map(|tensor| tensor.module).unwrap_or_default();
        self.graph.tensors.push(Tensor {
            name: name.into(),
            doc: Vec::new(),
            span,
            module,
            element,
            domain,
            chunk: None,
            format: None,
            kind,
        });
        self.accesses.push(Arc::new(TensorAccess::default()));
        self.analyse(id);
        id
    }

    /// A hidden stage beside another one.
    pub(super) fn add_stage(
        &mut self,
        name: &str,
        beside: &Tensor,
        domain: Domain,
        kind: TensorKind,
    ) -> TensorId {
        let id = self.add(name, beside.span, beside.element, domain, kind);
        self.needs.push(Arc::new(needs(self, id)));
        id
    }

    /// Gives a stage another body, for the same values.
    pub fn set_body(&mut self, id: TensorId, body: Resolved) {
        self.set_kind(id, TensorKind::Pointwise(Pointwise { body, recurrence: None }));
        self.needs[id.index()] = Arc::new(needs(self, id));
    }

    /// The same for one that may have windows, before it is known what stages need.
    pub(super) fn set_expression(&mut self, id: TensorId, body: Resolved) {
        let kind = match self.tensor(id).kind.clone() {
            TensorKind::Windowed(windowed) => {
                TensorKind::Windowed(Box::new(Windowed { body: WindowBody::Expr(body), ..*windowed }))
            }
            TensorKind::Pointwise(_) | TensorKind::Input(_) | TensorKind::Var(_) => {
                TensorKind::Pointwise(Pointwise { body, recurrence: None })
            }
        };
        self.set_kind(id, kind);
    }

    fn set_kind(&mut self, id: TensorId, kind: TensorKind) {
        self.graph.tensors[id.index()].kind = kind;
        self.analyse(id);
    }

    pub(super) fn analyse(&mut self, id: TensorId) {
        // Hidden bodies read inside by construction; there is nothing to say to the user.
        let access = tensor_access(&self.graph, self.graph.tensor(id), &mut Diagnostics::default());
        self.accesses[id.index()] = Arc::new(access);
    }

    fn split(&mut self, id: TensorId, windowed: &Windowed) -> Result<(), IndexError> {
        let mut windowed = windowed.clone();
        if let WindowBody::Extern { name, args } = windowed.body.clone() {
            let takes: Vec<Arc<Take>> = args.iter().map(|arg| windowed.takes[*arg].clone()).collect();
            windowed.body = WindowBody::Expr(self.host_windows(id, &windowed, &name, &takes)?);
            self.set_kind(id, TensorKind::Windowed(Box::new(windowed.clone())));
        }
        if let Some(body) = without_windows(self.tensor(id), &windowed, &self.accesses[id.index()]) {
            self.without_windows(id, body, &windowed);
            return Ok(());
        }
        if let Some(body) = with_tables(&windowed, &self.graph) {
            windowed.body = WindowBody::Expr(body);
            self.set_kind(id, TensorKind::Windowed(Box::new(windowed.clone())));
        }
        let element = self.tensor(id).element;
        if element == element.computed() && self.overlap(id, &windowed) {
            return Ok(());
        }
        let mean = matches!(windowed.blend.kind, BlendKind::Mean);
        if mean || element != element.computed() {
            self.accumulate(id, windowed, mean);
        }
        Ok(())
    }

    /// Makes windows that overlap a body without them; false if they stay.
    fn overlap(&mut self, id: TensorId, windowed: &Windowed) -> bool {
        let hosts = self.accesses[id.index()].reads.iter().any(|read| self.hosts.contains_key(&read.tensor));
        let Some(body) = overlapped(self.tensor(id), windowed).filter(|_| !hosts) else { return false };
        self.without_windows(id, body, windowed);
        self.overlapping.insert(id);
        true
    }

    /// Makes a body for the same values of a tensor that has windows.
    pub(super) fn without_windows(&mut self, id: TensorId, body: Resolved, windowed: &Windowed) {
        self.set_kind(id, TensorKind::Pointwise(Pointwise { body, recurrence: None }));
        self.seamless.insert(id, Arc::new(windowed.clone()));
    }

    /// A hidden tensor with the raw windows of a host function, and the body that reads it.
    fn host_windows(
        &mut self,
        id: TensorId,
        windowed: &Windowed,
        function: &Arc<str>,
        takes: &[Arc<Take>],
    ) -> Result<Resolved, IndexError> {
        let owner = self.tensor(id).clone();
        let rank = owner.domain.rank();
        let mut numbers = Vec::new();
        for (window, dim) in windowed.windows.dims.iter().zip(owner.domain.dims()) {
            numbers.push(Dim::explicit(window.inside(dim.interval)?));
        }
        let sized = |sizes: &[i64]| -> Result<Domain, IndexError> {
            let places = sizes.iter().map(|size| Ok(Dim::explicit(Interval::sized(0, *size)?)));
            let places: Vec<Dim> = places.collect::<Result<_, IndexError>>()?;
            Domain::new(numbers.iter().cloned().chain(places).collect())
        };
        let mut arguments = Vec::new();
        for take in takes {
            let name = format!("{}.{}", owner.name, take.name);
            let kind = TensorKind::Pointwise(Pointwise { body: take_body(take, rank), recurrence: None });
            let domain = sized(&take.sizes)?;
            arguments.push(self.add(&name, take.span, take.source.element, domain, kind));
        }
        let sizes: Vec<i64> = windowed.windows.dims.iter().map(|window| window.size()).collect();
        let kind = TensorKind::Input(InputSource::Host);
        let raw =
            self.add(&format!("{}.windows", owner.name), owner.span, owner.element, sized(&sizes)?, kind);
        let call = HostCall { function: function.clone(), owner: id, numbers: rank, takes: arguments };
        self.hosts.insert(raw, call);
        let mut body = Body::default();
        let coords = (0..rank)
            .map(|dim| Coord::Window(dim as u32))
            .chain((0..rank).map(|dim| Coord::Local(dim as u32)));
        let int = Ty::Strong(Element::I64);
        let coords = coords.map(|coord| body.push(Op::Coord(coord), int, owner.span)).collect();
        let root = body.push(
            Op::Read { tensor: raw, coords, arm: 0 },
            Ty::Strong(owner.element.computed()),
            owner.span,
        );
        Ok(Resolved { body, root })
    }

    /// Windows are folded in a hidden tensor of the type that they compute in; the tensor itself finishes them.
    fn accumulate(&mut self, id: TensorId, mut windowed: Windowed, mean: bool) {
        let owner = self.tensor(id).clone();
        let element = if mean { owner.element.summed_in() } else { owner.element.computed() };
        let init = windowed.blend.init;
        if mean {
            if let WindowBody::Expr(body) = &mut windowed.body
                && body.body.ty(body.root) != Ty::Strong(element)
            {
                body.root = body.body.push(Op::Cast(body.root), Ty::Strong(element), owner.span);
            }
            // Adding to minus zero changes nothing, not even the sign of a zero.
            let zero = if element.is_float() {
                Scalar::f64(-0.0).cast(element)
            } else {
                Scalar::i64(0).cast(element)
            };
            windowed.blend = Blend { kind: BlendKind::Sum, init: zero };
        }
        let windows = windowed.windows.dims.clone();
        let kind = TensorKind::Windowed(Box::new(windowed.clone()));
        let sum = self.add(&format!("{}.sum", owner.name), owner.span, element, owner.domain.clone(), kind);
        self.overlap(sum, &windowed);
        let mut finish = Finish { body: Body::default(), span: owner.span };
        let coords = (0..owner.domain.rank()).map(|dim| finish.coord(dim)).collect();
        let read = Op::Read { tensor: sum, coords, arm: 0 };
        let mut root = finish.body.push(read, Ty::Strong(element), owner.span);
        if mean {
            let intervals: Vec<Interval> = owner.domain.dims().iter().map(|dim| dim.interval).collect();
            root = finish.mean(root, (element, owner.element.computed()), init, &windows, &intervals);
        }
        let body = Resolved { body: finish.body, root };
        self.set_kind(id, TensorKind::Pointwise(Pointwise { body, recurrence: None }));
    }
}

/// Builds the body that finishes a mean.
struct Finish {
    body: Body,
    span: Span,
}

impl Finish {
    fn coord(&mut self, dim: usize) -> NodeId {
        self.body.push(Op::Coord(Coord::Global(dim as u32)), Ty::Strong(Element::I64), self.span)
    }

    fn int(&mut self, value: i64) -> NodeId {
        self.body.strong(Scalar::i64(value), self.span)
    }

    fn op(&mut self, function: BinaryFn, a: NodeId, b: NodeId) -> NodeId {
        self.body.binary(function, a, b, Ty::Strong(Element::I64), self.span)
    }

    /// The sum divided by the number of windows; the initial value where there is none.
    fn mean(
        &mut self,
        sum: NodeId,
        (element, result): (Element, Element),
        init: Scalar,
        windows: &[Window],
        domain: &[Interval],
    ) -> NodeId {
        let mut count = self.int(1);
        for (dim, window) in windows.iter().enumerate() {
            let own = self.covering(dim, *window, domain[dim]);
            count = self.op(BinaryFn::Mul, count, own);
        }
        let ty = Ty::Strong(element);
        let divisor = self.body.push(Op::Cast(count), ty, self.span);
        let divide = if element.is_float() { BinaryFn::Div } else { BinaryFn::FloorDiv };
        let quotient = self.body.push(Op::Binary(divide, sum, divisor), ty, self.span);
        let quotient = match result == element {
            true => quotient,
            false => self.body.push(Op::Cast(quotient), Ty::Strong(result), self.span),
        };
        let zero = self.int(0);
        let none =
            self.body.push(Op::Binary(BinaryFn::Eq, count, zero), Ty::Strong(Element::Bool), self.span);
        let init = self.body.strong(init, self.span);
        self.body.push(Op::Select(none, init, quotient), Ty::Strong(result), self.span)
    }

    /// How many windows cover the coordinate along one dimension.
    fn covering(&mut self, dim: usize, window: Window, domain: Interval) -> NodeId {
        let inside = window.inside(domain).unwrap_or(Interval::all());
        if inside.is_empty() {
            return self.int(0);
        }
        let coord = self.coord(dim);
        let stride = self.int(window.stride());
        // Window w covers x when o + w·s <= x < o + w·s + size.
        let [mut last, mut first] = [-window.offset(), -window.offset() - window.size() + window.stride()]
            .map(|by| {
                let by = self.int(by);
                let moved = self.op(BinaryFn::Add, coord, by);
                self.op(BinaryFn::FloorDiv, moved, stride)
            });
        if let Some(end) = inside.upper() {
            let end = self.int(end - 1);
            last = self.op(BinaryFn::Min, last, end);
        }
        if let Some(start) = inside.lower() {
            let start = self.int(start);
            first = self.op(BinaryFn::Max, first, start);
        }
        let (one, zero) = (self.int(1), self.int(0));
        let length = self.op(BinaryFn::Sub, last, first);
        let count = self.op(BinaryFn::Add, length, one);
        self.op(BinaryFn::Max, count, zero)
    }
}
