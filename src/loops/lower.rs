//! A tensor's body -> the kernel that computes a box of it.
//!
//! ```text
//! tensor edge: f32[y: inf, x: inf] = a[y, x + 1] - a[y, x]
//!
//! kernel edge(y.lo, y.hi, x.lo, x.hi, edge.y, edge.y.end, edge.y.pitch, …)
//!   for y in y.lo..y.hi
//!     row x in x.lo..x.hi
//!       load a at (y - a.y) * a.pitch + x + 1 - a.x …
//! ```
//!
//! Arguments: the box, the window numbers of a windowed tensor, then for every buffer and dimension where its box
//! starts, where it ends and how many elements lie between neighbours. Coordinates come as linear forms, so that what
//! does not vary along the row is computed once per row.

mod reads;
mod reductions;

use super::builder::Builder;
use super::ir::{Block, Buffer, BufferId, Kernel, LoopKind, ValueId};
use crate::access::TensorAccess;
use crate::graph::body::{self, Body, Coord, NodeId, TensorId};
use crate::graph::resolve_weak::Resolved;
use crate::graph::scalar::{BinaryFn, Scalar};
use crate::graph::types::Element;
use crate::graph::view::row_major;
use crate::graph::{BlendKind, Graph, TensorKind, WindowBody};
use crate::index::Window;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A kernel and what its buffers are.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// What runs.
    pub kernel: Kernel,
    /// The tensors it reads, by buffer; the last buffer is what it writes.
    pub sources: Vec<TensorId>,
    /// Dimensions of the box.
    pub rank: usize,
    /// Whether window numbers follow the box.
    pub windowed: bool,
}

/// The kernel of a tensor that has a body.
pub fn lower(graph: &Graph, tensor: TensorId, access: &TensorAccess) -> Option<Lowered> {
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
        rank: declared.domain.rank(),
        element: declared.element,
        windows,
        blend,
    };
    Some(lower_body(graph, resolved, access, &target))
}

/// What a kernel computes.
pub struct Target<'t> {
    /// For the text form.
    pub name: &'t str,
    /// Dimensions of the box.
    pub rank: usize,
    /// What is stored.
    pub element: Element,
    /// One per dimension, or none.
    pub windows: &'t [Window],
    /// How a window meets what is there already.
    pub blend: Option<&'t BlendKind>,
}

/// The kernel of any resolved body.
pub fn lower_body(graph: &Graph, resolved: &Resolved, access: &TensorAccess, target: &Target<'_>) -> Lowered {
    let sources: BTreeSet<TensorId> = access.reads.iter().map(|read| read.tensor).collect();
    let sources: Vec<TensorId> = sources.into_iter().collect();
    let mut buffers: Vec<Buffer> =
        sources.iter().map(|id| Buffer { element: graph.tensor(*id).element, written: false }).collect();
    buffers.push(Buffer { element: stored_as(target), written: true });
    let layout = Layout::new(graph, &sources, target);
    let builder = Builder::new(target.name, layout.names.clone(), buffers);
    let mut lowerer = Lowerer {
        graph,
        builder,
        layout,
        sources: &sources,
        windows: target.windows,
        scopes: vec![HashMap::new()],
        conditions: Vec::new(),
        vars: Vec::new(),
        arms: 0,
    };
    lowerer.kernel(resolved, access, target);
    let kernel = lowerer.builder.finish();
    Lowered { kernel, rank: target.rank, windowed: !target.windows.is_empty(), sources }
}

/// f16 windows accumulate in f32.
fn stored_as(target: &Target<'_>) -> Element {
    if target.blend.is_some() { target.element.computed() } else { target.element }
}

/// Where each argument stands.
struct Layout {
    names: Vec<String>,
    windows: usize,
    /// First argument of each buffer.
    buffers: Vec<usize>,
    ranks: Vec<usize>,
}

impl Layout {
    fn new(graph: &Graph, sources: &[TensorId], target: &Target<'_>) -> Self {
        let mut names: Vec<String> =
            (0..target.rank).flat_map(|dim| [format!("lo{dim}"), format!("hi{dim}")]).collect();
        let windows = names.len();
        names.extend((0..target.windows.len()).map(|dim| format!("w{dim}")));
        let mut layout = Layout { names, windows, buffers: Vec::new(), ranks: Vec::new() };
        for source in sources {
            layout.buffer(&graph.tensor(*source).name, graph.tensor(*source).domain.rank());
        }
        layout.buffer("out", target.rank);
        layout
    }

    fn buffer(&mut self, name: &str, rank: usize) {
        self.buffers.push(self.names.len());
        self.ranks.push(rank);
        for dim in 0..rank {
            self.names.extend([
                format!("{name}.{dim}"),
                format!("{name}.{dim}.end"),
                format!("{name}.{dim}.pitch"),
            ]);
        }
    }

    fn origin(&self, buffer: usize, dim: usize) -> usize {
        self.buffers[buffer] + 3 * dim
    }
}

/// A node and the values that the reduction variables it depends on have.
type Key = (NodeId, Vec<ValueId>);

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
    /// The loop variables of the box.
    vars: Vec<ValueId>,
    /// Depth of the innermost `if` block, 0 if none is open.
    arms: usize,
}

/// A body with what is known about it.
struct Source<'s> {
    body: &'s Body,
    access: Option<&'s TensorAccess>,
    /// The reduction variables that each node depends on.
    depends: Vec<BTreeSet<u32>>,
    /// Values of `Arg` nodes.
    args: Vec<ValueId>,
}

impl<'s> Source<'s> {
    fn new(body: &'s Body, access: Option<&'s TensorAccess>, args: Vec<ValueId>) -> Self {
        let mut depends: Vec<BTreeSet<u32>> = Vec::with_capacity(body.len());
        for (_, node) in body.nodes() {
            let mut vars: BTreeSet<u32> =
                node.op.args().iter().flat_map(|arg| depends[arg.index()].iter().copied()).collect();
            match &node.op {
                body::Op::Coord(Coord::Bound(var)) => _ = vars.insert(*var),
                body::Op::Reduce { vars: own, .. } => own.iter().for_each(|var| _ = vars.remove(var)),
                _ => {}
            }
            depends.push(vars);
        }
        Source { body, access, depends, args }
    }
}

/// The values of reduction variables.
type Bound = BTreeMap<u32, ValueId>;

impl Lowerer<'_> {
    fn kernel(&mut self, resolved: &Resolved, access: &TensorAccess, target: &Target<'_>) {
        let mut loops = Vec::new();
        for dim in 0..target.rank {
            let (lo, hi) = (self.builder.arg(2 * dim), self.builder.arg(2 * dim + 1));
            let kind = if dim + 1 == target.rank { LoopKind::Row } else { LoopKind::Serial };
            let (open, _) = self.builder.open_loop(kind, lo, hi, &[]);
            self.scopes.push(HashMap::new());
            self.vars.push(open.var);
            loops.push(open);
        }
        let source = Source::new(&resolved.body, Some(access), Vec::new());
        let value = self.node(&source, resolved.root, &Bound::new());
        let out = BufferId(self.sources.len() as u32);
        let offset = self.offset_of_box(target.rank);
        let value = self.blended(target, out, offset, value);
        self.builder.store(out, offset, value);
        for open in loops.into_iter().rev() {
            self.builder.close_loop(open, &[]);
            self.scopes.pop();
        }
    }

    /// The offset of the loop variables in the output.
    fn offset_of_box(&mut self, rank: usize) -> ValueId {
        let out = self.sources.len();
        let vars = self.vars.clone();
        let mut sum = self.builder.int(0);
        for (dim, var) in vars.into_iter().enumerate().take(rank) {
            let part = self.scaled_place(out, dim, var);
            sum = self.builder.binary(BinaryFn::Add, sum, part);
        }
        sum
    }

    /// `(coord - origin) * pitch` along one dimension of a buffer; the last dimension has pitch 1.
    fn scaled_place(&mut self, buffer: usize, dim: usize, coord: ValueId) -> ValueId {
        let origin = self.builder.arg(self.layout.origin(buffer, dim));
        let place = self.builder.binary(BinaryFn::Sub, coord, origin);
        let pitch = self.pitch(buffer, dim);
        self.builder.binary(BinaryFn::Mul, place, pitch)
    }

    fn pitch(&mut self, buffer: usize, dim: usize) -> ValueId {
        if dim + 1 == self.layout.ranks[buffer] {
            return self.builder.int(1);
        }
        self.builder.arg(self.layout.origin(buffer, dim) + 2)
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

    fn node(&mut self, source: &Source<'_>, id: NodeId, bound: &Bound) -> ValueId {
        let key = (id, source.depends[id.index()].iter().map(|var| bound[var]).collect());
        if let Some(known) = self.scopes.iter().rev().find_map(|scope| scope.get(&key)) {
            return *known;
        }
        let value = self.operation(source, id, bound);
        let home = self.builder.home(value).min(self.scopes.len() - 1);
        self.scopes[home].insert(key, value);
        value
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
                    let stride = self.builder.int(stride);
                    let part = self.builder.binary(BinaryFn::Mul, coord, stride);
                    offset = self.builder.binary(BinaryFn::Add, offset, part);
                }
                let offset = self.clamped_entry(offset, table.values.len());
                let number = self.builder.table(table.values.clone());
                self.builder.entry(number, offset)
            }
            body::Op::Read { tensor, .. } => self.read(source, id, *tensor, bound),
            body::Op::Reduce { function, vars, body: inner } => {
                self.reduce(source, *function, vars, *inner, bound)
            }
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
            Coord::Window(dim) => self.builder.arg(self.layout.windows + dim as usize),
            Coord::Bound(var) => bound[&var],
            Coord::Local(dim) => {
                let window = self.windows[dim as usize];
                let number = self.builder.arg(self.layout.windows + dim as usize);
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

    /// The steps of [`scalar::hash`](crate::graph::scalar::hash).
    fn hash(&mut self, args: &[ValueId]) -> ValueId {
        let word = |n: u32| Scalar::int(Element::U32, n.into());
        let start = 0x9e37_79b9 ^ args.len() as u32;
        let mut h = self.builder.number(word(start));
        for arg in args {
            let folded = self.hash_word(*arg);
            h = self.builder.binary(BinaryFn::Xor, h, folded);
            h = self.mixed(h, 0x7feb_352d, 15);
        }
        self.mixed(h, 0x846c_a68b, 16)
    }

    /// `h *= factor; h ^ (h >> shift)`
    fn mixed(&mut self, h: ValueId, factor: u32, shift: u32) -> ValueId {
        let word = |n: u32| Scalar::int(Element::U32, n.into());
        let factor = self.builder.number(word(factor));
        let product = self.builder.binary(BinaryFn::Mul, h, factor);
        let shift = self.builder.number(word(shift));
        let high = self.builder.binary(BinaryFn::Shr, product, shift);
        self.builder.binary(BinaryFn::Xor, product, high)
    }

    /// `lo ^ (hi ^ (lo >> 31)) * 0xc2b2ae35` of an i64, as a u32.
    fn hash_word(&mut self, arg: ValueId) -> ValueId {
        let lo = self.builder.cast(arg, Element::I32);
        let half = self.builder.int(32);
        let hi = self.builder.binary(BinaryFn::Shr, arg, half);
        let hi = self.builder.cast(hi, Element::I32);
        let top = self.builder.number(Scalar::int(Element::I32, 31));
        let sign = self.builder.binary(BinaryFn::Shr, lo, top);
        let extra = self.builder.binary(BinaryFn::Xor, hi, sign);
        let [lo, extra] = [lo, extra].map(|value| self.builder.cast(value, Element::U32));
        let factor = self.builder.number(Scalar::int(Element::U32, 0xc2b2_ae35));
        let spread = self.builder.binary(BinaryFn::Mul, extra, factor);
        self.builder.binary(BinaryFn::Xor, lo, spread)
    }

    // --- selections ---

    /// A condition that is the same for a whole row becomes a branch; others compute both arms.
    fn select(
        &mut self,
        source: &Source<'_>,
        (condition, a, b): (NodeId, NodeId, NodeId),
        bound: &Bound,
    ) -> ValueId {
        let chosen = self.node(source, condition, bound);
        if let Some(value) = self.builder.constant(chosen) {
            return self.node(source, if value.is_true() { a } else { b }, bound);
        }
        let row = self.vars.len();
        let uniform = self.builder.home(chosen) < row.max(1);
        if !uniform || !self.reads_below(source, a) && !self.reads_below(source, b) {
            let (a, b) = (self.node(source, a, bound), self.node(source, b, bound));
            return self.builder.select(chosen, a, b);
        }
        let then = self.arm(source, (condition, true), a, bound);
        let otherwise = self.arm(source, (condition, false), b, bound);
        self.builder.choose(chosen, then, otherwise)
    }

    fn arm(
        &mut self,
        source: &Source<'_>,
        condition: (NodeId, bool),
        id: NodeId,
        bound: &Bound,
    ) -> (Block, ValueId) {
        let outer = self.arms;
        self.builder.open_block();
        self.scopes.push(HashMap::new());
        self.conditions.push(condition);
        self.arms = self.builder.depth();
        let value = self.node(source, id, bound);
        self.arms = outer;
        self.conditions.pop();
        self.scopes.pop();
        (self.builder.close_block(), value)
    }

    fn reads_below(&self, source: &Source<'_>, id: NodeId) -> bool {
        let mut stack = vec![id];
        let mut seen = BTreeSet::from([id]);
        while let Some(id) = stack.pop() {
            let op = &source.body.node(id).op;
            if matches!(op, body::Op::Read { .. }) {
                return true;
            }
            stack.extend(op.args().into_iter().filter(|arg| seen.insert(*arg)));
        }
        false
    }
}
