//! A tensor's body -> the kernel that computes a box of it.
//!
//! ```text
//! tensor edge: f32[y: inf, x: inf] = a[y, x + 1] - a[y, x]
//!
//! kernel edge(lo0, hi0, lo1, hi1, a.0, a.0.end, a.0.mask, a.0.pitch, a.1, a.1.end, out.0, …)
//!   for y in lo0..hi0
//!     row x in lo1..hi1
//!       load a at ((y - a.0) & a.0.mask) * a.0.pitch + x + 1 - a.1 …
//! ```
//!
//! Arguments: the box, the window numbers of a windowed tensor, then for every buffer and dimension its origin, its end
//! (one past the last coordinate) and, in all dimensions but the last, a mask and a pitch. An element lies at
//! `((coord - origin) & mask) * pitch`, along the last dimension at `coord - origin`. A mask of -1 makes a box, one of
//! 2^k - 1 a ring of 2^k rows. [`Lowered::args`] puts the arguments in order, so nobody else has to know it.
//!
//! Coordinates come as linear forms, so that what does not vary along the row is computed once per row. A read that is
//! not proven where it is computed, because its condition may be false there, has its coordinates moved into
//! `origin..end` first. The box is never empty, and every buffer has an element: loads that depend on no loop are done
//! before it.
//!
//! A recurrence reads the tensor it computes: then [`Lowered::own`] says which source that is. Both buffers may be the
//! same memory as long as no call reads an element that it writes, which one step of the recurrence per call ensures.

mod draft;
mod hash;
mod layout;
mod lists;
mod reads;
mod reductions;
mod selections;
mod strips;
mod walks;

use super::builder::{Builder, OpenLoop};
use super::ir::{Buffer, BufferId, Kernel, LoopKind, ValueId};
use super::passes::Pass;
use super::passes::jam::{BLOCK, Choice};
use crate::access::skip::Walks;
use crate::access::{TensorAccess, view_access};
use crate::graph::body::{self, Body, Coord, NodeId, TensorId};
use crate::graph::resolve_weak::Resolved;
use crate::graph::scalar::BinaryFn;
use crate::graph::types::Element;
use crate::graph::view::{View, row_major};
use crate::graph::{BlendKind, Graph, TensorKind, WindowBody};
use crate::index::{Interval, Window};
use draft::Draft;
use layout::Layout;
pub use layout::{BufferBox, BufferDim};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use strips::{Piece, Strip};

/// A kernel and what its buffers are.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// What runs.
    pub kernel: Kernel,
    /// The tensors it reads, by buffer; the last buffer is what it writes.
    pub sources: Vec<TensorId>,
    /// Which of the sources is the tensor itself, in a recurrence.
    pub own: Option<usize>,
    /// Dimensions of the box.
    pub rank: usize,
    /// Those dimensions, that of the outermost loop first: what is computed in parts is cut along the first of them.
    pub order: Vec<usize>,
    /// Whether window numbers follow the box.
    pub windowed: bool,
    /// How many rows are computed together, if it came that far.
    pub jam: Option<Choice>,
    /// What goes along stored elements: four buffers per list stand after the output, where the elements of every row
    /// begin, where they or their runs lie, where their runs end, and their values.
    pub walks: Option<Walks>,
    layout: Layout,
}

impl Lowered {
    /// Whether its rows go across a source that the loop around them goes along.
    pub fn goes_across(&self) -> bool {
        self.jam.is_some_and(|jam| jam.rows == BLOCK)
    }

    /// The arguments that compute `region`, which is bounded and not empty, from and into `buffers`: the sources in
    /// order, the output, then the boxes of lists. `windows` are the numbers of the window, none if the tensor has no windows.
    pub fn args(&self, region: &[Interval], windows: &[i64], buffers: &[BufferBox]) -> Vec<i64> {
        self.layout.args(region, windows, buffers)
    }
}

/// The kernel of a tensor that has a body.
pub fn lower(graph: &Graph, tensor: TensorId, access: &TensorAccess) -> Option<Lowered> {
    lower_until(graph, tensor, access, None, Pass::Sweep)
}

/// The kernel of a tensor that has a body, as it is after a pass; it may go along the stored elements of a source.
pub fn lower_until(
    graph: &Graph,
    tensor: TensorId,
    access: &TensorAccess,
    walks: Option<&Walks>,
    last: Pass,
) -> Option<Lowered> {
    let declared = graph.tensor(tensor);
    let (resolved, windows) = match &declared.kind {
        TensorKind::Pointwise(pointwise) => (&pointwise.body, &[][..]),
        TensorKind::Windowed(windowed) => match &windowed.body {
            WindowBody::Expr(body) => (body, &windowed.windows.dims[..]),
            WindowBody::Extern { .. } => return None,
        },
        TensorKind::Input(_) | TensorKind::Var(_) => return None,
    };
    let blend = match &declared.kind {
        TensorKind::Windowed(windowed) => Some(&windowed.blend.kind),
        TensorKind::Input(_) | TensorKind::Var(_) | TensorKind::Pointwise(_) => None,
    };
    let target = Target {
        name: &declared.name,
        tensor: Some(tensor),
        dims: declared.domain.intervals(),
        element: declared.element,
        windows,
        blend,
    };
    Some(Draft { graph, resolved, access, target: &target, walks }.lower(last))
}

/// The kernel of a view, which copies a box of it from its base; `body` is what
/// [`view_body`](crate::graph::follow::view_body) made of it.
pub fn lower_view(graph: &Graph, view: &View, body: &Resolved) -> Lowered {
    lower_view_until(graph, view, body, Pass::Sweep)
}

/// The kernel of a view, as it is after a pass.
pub fn lower_view_until(graph: &Graph, view: &View, body: &Resolved, last: Pass) -> Lowered {
    let access = view_access(view, body);
    let dims = view.domain().intervals();
    let target =
        Target { name: &view.name, tensor: None, dims, element: view.element, windows: &[], blend: None };
    Draft { graph, resolved: body, access: &access, target: &target, walks: None }.lower(last)
}

/// What a kernel computes.
pub struct Target<'t> {
    /// For the text form.
    pub name: &'t str,
    /// The tensor, if it is one: a recurrence reads it.
    pub tensor: Option<TensorId>,
    /// Where it has elements.
    pub dims: Vec<Interval>,
    /// What is stored.
    pub element: Element,
    /// One per dimension, or none.
    pub windows: &'t [Window],
    /// How a window meets what is there already.
    pub blend: Option<&'t BlendKind>,
}

/// The kernel of any resolved body.
pub fn lower_body(graph: &Graph, resolved: &Resolved, access: &TensorAccess, target: &Target<'_>) -> Lowered {
    Draft { graph, resolved, access, target, walks: None }.lower(Pass::Sweep)
}

/// f16 windows accumulate in f32.
fn stored_as(target: &Target<'_>) -> Element {
    if target.blend.is_some() { target.element.computed() } else { target.element }
}

/// A node and the values that the reduction variables it depends on have.
type Key = (NodeId, Vec<ValueId>);

fn key(source: &Source<'_>, id: NodeId, bound: &Bound) -> Key {
    (id, source.depends[id.index()].iter().map(|var| bound[var]).collect())
}

struct Lowerer<'g> {
    graph: &'g Graph,
    builder: Builder,
    layout: Layout,
    sources: &'g [TensorId],
    windows: &'g [Window],
    /// What was lowered, by the depth of the block it is in.
    scopes: Vec<HashMap<Key, ValueId>>,
    /// Conditions of the `if` blocks that are open.
    conditions: Vec<(NodeId, bool)>,
    /// The loop variables of the box; a tensor without dimensions has a row of one element.
    vars: Vec<ValueId>,
    /// The dimensions of the box, that of the outermost loop first.
    order: Vec<usize>,
    /// The depth of the loop over each dimension.
    depths: Vec<usize>,
    /// The depth of the row.
    row: usize,
    /// How the loop over each dimension is cut.
    strips: Vec<Option<Strip>>,
    /// The pieces of strips that are open.
    pieces: Vec<Piece>,
    /// What is the same for all of those pieces.
    settled: Vec<(NodeId, bool)>,
    /// Depth of the innermost piece, 0 if none is open: what is found out there is not true elsewhere.
    base: usize,
    /// Depth of the innermost `if` block, 0 if none is open.
    arms: usize,
    /// What goes along stored elements.
    walks: Option<&'g Walks>,
    /// Sums of what differs from entry to entry and what does not, which is rather added outside of the loop.
    apart: HashMap<ValueId, (ValueId, ValueId)>,
    /// Tables that have been met, and their numbers.
    tables: Vec<(Arc<body::Table>, u32)>,
}

/// A body with what is known about it.
struct Source<'s> {
    body: &'s Body,
    access: Option<&'s TensorAccess>,
    /// The reduction variables that each node depends on.
    depends: Vec<BTreeSet<u32>>,
    /// Whether each node reads a tensor, itself or through its operands.
    reads: Vec<bool>,
    /// Whether each node may differ from element to element, the variables of reductions apart.
    varies: Vec<bool>,
    /// Values of `Arg` nodes.
    args: Vec<ValueId>,
}

/// What a kernel is made of.
struct Job<'s> {
    source: Source<'s>,
    root: NodeId,
    target: &'s Target<'s>,
}

/// Whether an operation may have another value at another element although its operands are the same.
fn differs(op: &body::Op) -> bool {
    match op {
        body::Op::Coord(coord) => !matches!(coord, Coord::Bound(_)),
        body::Op::Read { .. } | body::Op::Arg(_) => true,
        _ => false,
    }
}

impl<'s> Source<'s> {
    fn new(body: &'s Body, access: Option<&'s TensorAccess>, args: Vec<ValueId>) -> Self {
        let mut depends: Vec<BTreeSet<u32>> = Vec::with_capacity(body.len());
        let mut reads: Vec<bool> = Vec::with_capacity(body.len());
        let mut varies: Vec<bool> = Vec::with_capacity(body.len());
        for (_, node) in body.nodes() {
            let mut vars: BTreeSet<u32> =
                node.op.args().iter().flat_map(|arg| depends[arg.index()].iter().copied()).collect();
            match &node.op {
                body::Op::Coord(Coord::Bound(var)) => _ = vars.insert(*var),
                body::Op::Reduce { vars: own, .. } => own.iter().for_each(|var| _ = vars.remove(var)),
                _ => {}
            }
            depends.push(vars);
            let below = node.op.args().iter().any(|arg| reads[arg.index()]);
            reads.push(below || matches!(node.op, body::Op::Read { .. }));
            let below = node.op.args().iter().any(|arg| varies[arg.index()]);
            varies.push(below || differs(&node.op));
        }
        Source { body, access, depends, reads, varies, args }
    }
}

/// The values of reduction variables.
type Bound = BTreeMap<u32, ValueId>;

impl<'g> Lowerer<'g> {
    fn new(draft: &Draft<'g>, sources: &'g [TensorId], order: Vec<usize>) -> Self {
        let Draft { graph, target, walks, .. } = *draft;
        let rank = target.dims.len();
        let mut buffers: Vec<Buffer> =
            sources.iter().map(|id| Buffer { element: graph.tensor(*id).element, written: false }).collect();
        buffers.push(Buffer { element: stored_as(target), written: true });
        let listed = walks.map_or(&[][..], |walks| &walks.lists);
        buffers.extend(listed.iter().flat_map(|list| lists::arrays(graph, list)));
        let layout = Layout::new(graph, sources, rank, target.windows.len(), listed);
        Lowerer {
            graph,
            builder: Builder::new(target.name, layout.names.clone(), buffers),
            layout,
            sources,
            windows: target.windows,
            scopes: vec![HashMap::new()],
            conditions: Vec::new(),
            vars: Vec::new(),
            depths: vec![0; rank.max(1)],
            order,
            row: rank.max(1),
            strips: draft.strips(),
            pieces: Vec::new(),
            settled: Vec::new(),
            base: 0,
            arms: 0,
            walks,
            apart: HashMap::new(),
            tables: Vec::new(),
        }
    }
}

impl Lowerer<'_> {
    fn kernel(&mut self, resolved: &Resolved, access: &TensorAccess, target: &Target<'_>) {
        let source = Source::new(&resolved.body, Some(access), Vec::new());
        // Each has its own as soon as its loop is open.
        self.vars = vec![ValueId(0); self.order.len()];
        self.inside(&Job { source, root: resolved.root, target }, 0);
    }

    /// The loops from a place in their order on, and what is inside.
    fn inside(&mut self, job: &Job<'_>, place: usize) {
        let Some(dim) = self.order.get(place).copied() else { return self.element(job) };
        if let Some(strip) = self.strips.get(dim).cloned().flatten()
            && strip.begins_inside(&self.order[..place])
        {
            return self.in_strips(job, place, &strip);
        }
        let bounds = self.bounds(job.target.dims.len(), dim);
        let open = self.open_box(place, bounds);
        self.inside(job, place + 1);
        self.close_box(open);
    }

    fn open_box(&mut self, place: usize, (lo, hi): (ValueId, ValueId)) -> OpenLoop {
        let dim = self.order[place];
        let is_row = place + 1 == self.order.len();
        // How many elements are stored differs from row to row, and so do the loops along them.
        let kind = if is_row && self.walks.is_none() { LoopKind::Row } else { LoopKind::Serial };
        let (open, _) = self.builder.open_loop(kind, lo, hi, &[]);
        self.scopes.push(HashMap::new());
        self.vars[dim] = open.var;
        self.depths[dim] = self.builder.depth();
        if is_row {
            self.row = self.builder.depth();
        }
        open
    }

    fn close_box(&mut self, open: OpenLoop) {
        self.builder.close_loop(open, &[]);
        self.scopes.pop();
    }

    /// Computes and stores the element at the loop variables.
    fn element(&mut self, job: &Job<'_>) {
        let value = self.node(&job.source, job.root, &Bound::new());
        let out = BufferId(self.sources.len() as u32);
        let offset = self.offset_of_box(job.target.dims.len());
        let value = self.blended(job.target, out, offset, value);
        self.builder.store(out, offset, value);
    }

    /// The bounds of the loop over a dimension of the box.
    fn bounds(&mut self, rank: usize, dim: usize) -> (ValueId, ValueId) {
        match rank {
            0 => (self.builder.int(0), self.builder.int(1)),
            _ => (self.builder.arg(2 * dim), self.builder.arg(2 * dim + 1)),
        }
    }

    /// The offset of the loop variables in the output.
    fn offset_of_box(&mut self, rank: usize) -> ValueId {
        if rank == 0 {
            return self.vars[0];
        }
        let out = self.sources.len();
        let mut parts = Vec::new();
        for (dim, var) in self.vars.clone().into_iter().enumerate() {
            self.parts(out, dim, vec![var], &mut parts);
        }
        self.offset(parts)
    }

    /// The part of an offset that a dimension other than the last adds, for a coordinate given as terms.
    fn place(&mut self, buffer: usize, dim: usize, mut terms: Vec<ValueId>) -> ValueId {
        let origin = self.layout.origin(buffer, dim);
        terms.push(self.before_origin(buffer, dim));
        let place = self.sum(terms);
        let (mask, pitch) = (self.builder.arg(origin + 2), self.builder.arg(origin + 3));
        let row = self.builder.binary(BinaryFn::And, place, mask);
        self.builder.binary(BinaryFn::Mul, row, pitch)
    }

    /// What a coordinate is moved by: minus the origin.
    fn before_origin(&mut self, buffer: usize, dim: usize) -> ValueId {
        let zero = self.builder.int(0);
        let first = self.builder.arg(self.layout.origin(buffer, dim));
        self.builder.binary(BinaryFn::Sub, zero, first)
    }

    /// What a window's value makes of the element that is there.
    fn blended(&mut self, target: &Target<'_>, out: BufferId, offset: ValueId, new: ValueId) -> ValueId {
        let Some(blend) = target.blend else { return new };
        let function = match blend {
            BlendKind::First | BlendKind::Last => return new,
            BlendKind::Sum | BlendKind::Mean => BinaryFn::Add,
            BlendKind::Product => BinaryFn::Mul,
            BlendKind::Min => BinaryFn::Min,
            BlendKind::Max => BinaryFn::Max,
            BlendKind::Custom(resolved) => {
                let old = self.builder.load(out, offset, 0);
                let source = Source::new(&resolved.body, None, vec![old, new]);
                self.scopes.iter_mut().for_each(HashMap::clear);
                return self.node(&source, resolved.root, &Bound::new());
            }
        };
        let old = self.builder.load(out, offset, 0);
        self.builder.binary(function, old, new)
    }

    // --- nodes ---

    /// The value of a node. Operands come first, by a stack of our own: chains of operators may be long.
    fn node(&mut self, source: &Source<'_>, id: NodeId, bound: &Bound) -> ValueId {
        let mut stack = vec![id];
        while let Some(top) = stack.pop() {
            if self.known(source, top, bound).is_some() {
                continue;
            }
            let needs = self.operands(source, top, bound);
            let unknown = needs.into_iter().rev().filter(|id| self.known(source, *id, bound).is_none());
            let unknown: Vec<NodeId> = unknown.collect();
            if unknown.is_empty() {
                let value = self.operation(source, top, bound);
                let home = self.builder.home(value).max(self.base).min(self.scopes.len() - 1);
                self.scopes[home].insert(key(source, top, bound), value);
            } else {
                stack.push(top);
                stack.extend(unknown);
            }
        }
        self.known(source, id, bound).expect("just computed")
    }

    fn known(&self, source: &Source<'_>, id: NodeId, bound: &Bound) -> Option<ValueId> {
        let key = key(source, id, bound);
        self.scopes.iter().rev().find_map(|scope| scope.get(&key)).copied()
    }

    /// What is computed before a node, in the same block.
    fn operands(&self, source: &Source<'_>, id: NodeId, bound: &Bound) -> Vec<NodeId> {
        match &source.body.node(id).op {
            body::Op::Select(condition, a, b) => match self.known(source, *condition, bound) {
                None => vec![*condition],
                Some(chosen) if self.builder.constant(chosen).is_some() => Vec::new(),
                Some(chosen) if self.branches(source, chosen, (*a, *b)) => {
                    self.shared(source, (*a, *b), bound)
                }
                Some(_) => vec![*a, *b],
            },
            body::Op::Read { .. } | body::Op::Reduce { .. } => Vec::new(),
            op => op.args(),
        }
    }

    fn operation(&mut self, source: &Source<'_>, id: NodeId, bound: &Bound) -> ValueId {
        let node = source.body.node(id);
        let element = node.ty.strong().expect("bodies are resolved");
        match &node.op {
            body::Op::Const(value) => self.builder.number(*value),
            body::Op::Coord(coord) => self.coord(*coord, bound),
            body::Op::Arg(number) => source.args[*number as usize],
            body::Op::Unary(function, a) => {
                let a = self.node(source, *a, bound);
                self.builder.unary(*function, a)
            }
            body::Op::Binary(BinaryFn::FloorDiv | BinaryFn::Rem | BinaryFn::Shr | BinaryFn::And, ..)
                if let Some(value) = self.divided(source, id, bound) =>
            {
                value
            }
            body::Op::Binary(function, a, b) => {
                let (a, b) = (self.node(source, *a, bound), self.node(source, *b, bound));
                self.builder.binary(*function, a, b)
            }
            body::Op::Fma(a, b, c) => {
                let [a, b, c] = [a, b, c].map(|id| self.node(source, *id, bound));
                self.builder.fma(a, b, c)
            }
            body::Op::Cast(a) => {
                let a = self.node(source, *a, bound);
                self.builder.cast(a, element)
            }
            body::Op::Select(condition, a, b) => self.select(source, (*condition, *a, *b), bound),
            body::Op::Math(function, args) => {
                let args = args.iter().map(|arg| self.node(source, *arg, bound)).collect();
                self.math(&self.graph.math[&(*function, element)].clone(), args)
            }
            body::Op::Hash(args) => {
                let args: Vec<ValueId> = args.iter().map(|arg| self.node(source, *arg, bound)).collect();
                self.hash(&args)
            }
            body::Op::Table(table, coords) => {
                let table = &source.body.tables[table.index()];
                let mut offset = self.builder.int(0);
                for (coord, stride) in coords.iter().zip(row_major(&table.shape)) {
                    let coord = self.node(source, *coord, bound);
                    let coord = self.builder.cast(coord, Element::I64);
                    let stride = self.builder.int(stride);
                    let part = self.builder.binary(BinaryFn::Mul, coord, stride);
                    offset = self.builder.binary(BinaryFn::Add, offset, part);
                }
                let offset = match coords[..] {
                    [coord] if self.is_place(source, coord, table.values.len()) => offset,
                    [coord] if self.stays_in(source, coord, table.values.len()) => offset,
                    _ => self.clamped_entry(offset, table.values.len()),
                };
                let number = self.table(table);
                self.builder.entry(number, offset)
            }
            body::Op::Read { tensor, .. } => self.read(source, id, *tensor, bound),
            body::Op::Reduce { .. } => self.reduce(source, id, bound),
        }
    }

    /// The number of a table: one that has been met is not compared with all others again.
    fn table(&mut self, table: &Arc<body::Table>) -> u32 {
        if let Some((_, known)) = self.tables.iter().find(|(known, _)| Arc::ptr_eq(known, table)) {
            return *known;
        }
        let number = self.builder.table(table.values.clone());
        self.tables.push((table.clone(), number));
        number
    }

    /// Whether a coordinate is the place inside a window of that size: no box that is computed leaves it.
    fn is_place(&self, source: &Source<'_>, coord: NodeId, size: usize) -> bool {
        match source.body.node(coord).op {
            body::Op::Coord(Coord::Local(dim)) => self.windows[dim as usize].size() == size as i64,
            _ => false,
        }
    }

    /// Both arms of a selection are computed, so an entry is kept inside its table whatever the condition.
    fn clamped_entry(&mut self, offset: ValueId, len: usize) -> ValueId {
        let (first, last) = (self.builder.int(0), self.builder.int(len as i64 - 1));
        let raised = self.builder.binary(BinaryFn::Max, offset, first);
        self.builder.binary(BinaryFn::Min, raised, last)
    }

    fn coord(&mut self, coord: Coord, bound: &Bound) -> ValueId {
        match coord {
            Coord::Global(dim) => self.vars[dim as usize],
            Coord::Window(dim) => self.builder.arg(self.layout.window(dim as usize)),
            Coord::Bound(var) => bound[&var],
            Coord::Local(dim) => {
                let window = self.windows[dim as usize];
                let number = self.builder.arg(self.layout.window(dim as usize));
                let (stride, offset) = (self.builder.int(window.stride()), self.builder.int(window.offset()));
                let moved = self.builder.binary(BinaryFn::Mul, number, stride);
                let start = self.builder.binary(BinaryFn::Add, moved, offset);
                self.builder.binary(BinaryFn::Sub, self.vars[dim as usize], start)
            }
        }
    }

    fn math(&mut self, function: &(Body, NodeId), args: Vec<ValueId>) -> ValueId {
        let source = Source::new(&function.0, None, args);
        // Its nodes are numbered on their own, so what is known about the caller's does not hold inside.
        let fresh = vec![HashMap::new(); self.scopes.len()];
        let outer = std::mem::replace(&mut self.scopes, fresh);
        let value = self.node(&source, function.1, &Bound::new());
        self.scopes = outer;
        value
    }
}
