//! The body of a tensor: a hash-consed DAG of typed operations, children before parents.
//!
//! ```text
//! height[y + 1, x] - 0.5        v0: int = y   v1: int = 1   v2: int = add v0 v1   v3: int = x
//!                               v4: f32 = read t0[v2, v3]   v5: float = 0.5       v6: f32 = sub v4 v5
//! ```
//!
//! While it is built, numbers may be weak ([`Ty::WeakInt`], [`Ty::WeakFloat`]); `resolve_weak` decides them all.
//! Integer operations on constants are folded at once; floats are not, because contraction comes first.

use super::ids::prints_as;
use super::scalar::{self, BinaryFn, Scalar, UnaryFn};
use super::types::{Element, Ty};
use crate::diagnostic::Call;
use crate::index::Interval;
use crate::source::Span;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// One node of a [`Body`]; prints as `v3`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// A tensor, input or variable of the graph; prints as `t3`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorId(pub u32);

/// A table of constants of the body; prints as `c0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u32);

prints_as!(NodeId, "v");
prints_as!(TensorId, "t");
prints_as!(TableId, "c");

/// An integer that differs from element to element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Coord {
    /// The global coordinate along a dimension of the tensor.
    Global(u32),
    /// The coordinate inside the window, 0 up to its size.
    Local(u32),
    /// The number of the window along a dimension.
    Window(u32),
    /// A reduction variable: entry of [`Body::binders`].
    Bound(u32),
}

/// The range of a reduction variable. Reductions of one depth with one range share a variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BoundVar {
    /// How many reductions enclose it.
    pub depth: u32,
    /// First value.
    pub lo: i64,
    /// One past the last value; `lo` or less when empty.
    pub hi: i64,
    /// As written where it was met first.
    pub name: Arc<str>,
}

/// How a reduction combines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are those of the language")]
pub enum ReduceFn {
    Sum,
    Product,
    Min,
    Max,
    Any,
    All,
    ArgMin,
    ArgMax,
}

/// Float functions that are polynomials over the primitive operations (`std/math.itp`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are those of the language")]
pub enum MathFn {
    Rsqrt,
    Exp,
    Exp2,
    Log,
    Log2,
    Pow,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Atan2,
    Sinh,
    Cosh,
    Tanh,
    Hypot,
}

/// What a node computes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A number; weak ones are kept as i64 or f64.
    Const(Scalar),
    /// A coordinate, a weak integer (i64 once resolved).
    Coord(Coord),
    /// A value from outside: the `old` (0) and `new` (1) of a custom blend.
    Arg(u32),
    /// One argument of the node's own type, but for bits and float_bits.
    Unary(UnaryFn, NodeId),
    /// Two arguments of one type.
    Binary(BinaryFn, NodeId, NodeId),
    /// `a * b + c`, rounded once.
    Fma(NodeId, NodeId, NodeId),
    /// Second if the first is true, else third.
    Select(NodeId, NodeId, NodeId),
    /// Conversion to the node's type.
    Cast(NodeId),
    /// A function of `std/math.itp`, arguments of the node's type.
    Math(MathFn, Vec<NodeId>),
    /// The integer hash of i64 arguments, a u32.
    Hash(Vec<NodeId>),
    /// One element of another tensor.
    Read {
        /// Whose element.
        tensor: TensorId,
        /// Its coordinates, i64.
        coords: Vec<NodeId>,
        /// The `if` arm it was written in: reads in different arms stay apart, so that each keeps its own proof.
        arm: u32,
    },
    /// One entry of a table.
    Table(TableId, Vec<NodeId>),
    /// A fold over the ranges of variables, the last one fastest.
    Reduce {
        /// How it combines.
        function: ReduceFn,
        /// Entries of [`Body::binders`], in order.
        vars: Vec<u32>,
        /// What is combined.
        body: NodeId,
    },
}

/// An operation, its type, and where it was written.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it computes.
    pub op: Op,
    /// Of which type.
    pub ty: Ty,
    /// Where it was first written.
    pub span: Span,
}

/// Constants read by index; row-major. Bodies share them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    /// `k` in `let k = …`, or what an index array is called.
    pub name: Arc<str>,
    /// Entries per dimension.
    pub shape: Vec<i64>,
    /// All entries, of one type: i64 when weak integers, f64 when weak floats.
    pub values: Vec<Scalar>,
    /// Their type.
    pub ty: Ty,
}

/// What a coordinate is a coordinate of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// A tensor or a view.
    View,
    /// A `take`: its own coordinates start at 0.
    Take,
    /// What a `take` is a slice of.
    TakeSource,
    /// A table of constants.
    Table,
    /// A tensor or a view, whose own steps take coordinates beyond the range out of the index space: of those without
    /// bounds nobody asks there.
    Steps,
}

/// A coordinate that must lie in a range, whatever the data: proven by the access stage.
#[derive(Clone, Debug)]
pub struct Obligation {
    /// What is read.
    pub kind: TargetKind,
    /// The read (or table read) that depends on it.
    pub read: NodeId,
    /// The coordinate.
    pub coord: NodeId,
    /// Where it must lie.
    pub range: Interval,
    /// What is read, as the user calls it.
    pub what: Arc<str>,
    /// The tensor that lies behind it, where the script names it there.
    pub base: Option<TensorId>,
    /// Its dimension: a label, or a position.
    pub dim: Arc<str>,
    /// Where the coordinate was written.
    pub place: Place,
}

/// Where something was written, for messages.
#[derive(Clone, Debug)]
pub struct Place {
    /// The expression.
    pub span: Span,
    /// Its text, `…` if that is long.
    pub text: Arc<str>,
    /// The functions it was inlined from, outermost first.
    pub calls: Arc<[Call]>,
}

/// What tells obligations apart: read, coordinate, range, and what is read along which dimension.
type Promise = (NodeId, NodeId, Interval, Arc<str>, Arc<str>);

/// A DAG of operations and the node that is its value.
#[derive(Clone, Debug, Default)]
pub struct Body {
    nodes: Vec<Node>,
    /// By a hash of its operation and type; of those with the same one, the next goes to the next number that is free.
    interned: HashMap<u64, NodeId>,
    /// Tables that nodes read.
    pub tables: Vec<Arc<Table>>,
    /// Reduction variables.
    pub binders: Vec<BoundVar>,
    obliged: Box<Obliged>,
}

/// What must be proven about the coordinates of a body.
#[derive(Clone, Debug, Default)]
struct Obliged {
    all: Vec<Obligation>,
    /// Each once.
    known: HashSet<Promise>,
    /// Of every read, those that are about steps.
    steps: HashMap<NodeId, Vec<usize>>,
}

fn hash_of(op: &Op, ty: Ty) -> u64 {
    let mut hasher = DefaultHasher::new();
    (op, ty).hash(&mut hasher);
    hasher.finish()
}

/// The most operations a body may have: its nodes, and what calls of math functions and integer divisions become.
pub const MAX_NODES: usize = 100_000;

impl Body {
    /// Adds an operation, or finds the same one.
    pub fn push(&mut self, op: Op, ty: Ty, span: Span) -> NodeId {
        let mut key = hash_of(&op, ty);
        while let Some(id) = self.interned.get(&key).copied() {
            let known = &self.nodes[id.index()];
            if known.op == op && known.ty == ty {
                return id;
            }
            key = key.wrapping_add(1);
        }
        let id = NodeId(self.nodes.len() as u32);
        self.interned.insert(key, id);
        self.nodes.push(Node { op, ty, span });
        id
    }

    /// Makes every read a read of the tensor that `to` says; nothing may be added afterwards.
    pub fn redirect(&mut self, to: &impl Fn(NodeId, TensorId) -> TensorId) {
        for (at, node) in self.nodes.iter_mut().enumerate() {
            if let Op::Read { tensor, .. } = &mut node.op {
                *tensor = to(NodeId(at as u32), *tensor);
            }
        }
        self.interned.clear();
    }

    /// The node with that id.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// All nodes, children first.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(i, node)| (NodeId(i as u32), node))
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The type of a node.
    pub fn ty(&self, id: NodeId) -> Ty {
        self.node(id).ty
    }

    /// The value of a constant node.
    pub fn constant(&self, id: NodeId) -> Option<Scalar> {
        match self.node(id).op {
            Op::Const(value) => Some(value),
            _ => None,
        }
    }

    /// The value of a constant integer node.
    pub fn constant_int(&self, id: NodeId) -> Option<i64> {
        self.constant(id)
            .filter(|value| !value.element().is_float())
            .and_then(Scalar::as_int)
            .map(|v| v as i64)
    }

    /// A weak integer.
    pub fn weak_int(&mut self, value: i64, span: Span) -> NodeId {
        self.push(Op::Const(Scalar::i64(value)), Ty::WeakInt, span)
    }

    /// A weak float.
    pub fn weak_float(&mut self, value: f64, span: Span) -> NodeId {
        self.push(Op::Const(Scalar::f64(value)), Ty::WeakFloat, span)
    }

    /// A strong constant.
    pub fn strong(&mut self, value: Scalar, span: Span) -> NodeId {
        self.push(Op::Const(value), Ty::Strong(value.element()), span)
    }

    /// A unary operation, folded if its argument is a constant integer or bool.
    pub fn unary(&mut self, function: UnaryFn, arg: NodeId, ty: Ty, span: Span) -> NodeId {
        match self.foldable(arg, ty) {
            Some(value) => self.push(Op::Const(scalar::unary(function, value)), ty, span),
            None => self.push(Op::Unary(function, arg), ty, span),
        }
    }

    /// A binary operation, folded if its arguments are constant integers or bools of one type.
    pub fn binary(&mut self, function: BinaryFn, a: NodeId, b: NodeId, ty: Ty, span: Span) -> NodeId {
        match (self.foldable(a, ty), self.foldable(b, ty)) {
            (Some(x), Some(y)) if x.element() == y.element() => {
                self.push(Op::Const(scalar::binary(function, x, y)), ty, span)
            }
            _ => self.push(Op::Binary(function, a, b), ty, span),
        }
    }

    /// A selection; a constant condition selects at once.
    pub fn select(
        &mut self,
        condition: NodeId,
        then: NodeId,
        otherwise: NodeId,
        ty: Ty,
        span: Span,
    ) -> NodeId {
        match self.constant(condition) {
            Some(value) if self.ty(then) == ty && self.ty(otherwise) == ty => {
                if value.is_true() {
                    then
                } else {
                    otherwise
                }
            }
            _ if then == otherwise => then,
            _ => self.push(Op::Select(condition, then, otherwise), ty, span),
        }
    }

    /// A conversion to `ty`, folded for constants between integers.
    pub fn cast(&mut self, arg: NodeId, ty: Ty, span: Span) -> NodeId {
        match (self.foldable(arg, ty), ty) {
            (Some(value), Ty::Strong(element)) => self.push(Op::Const(value.cast(element)), ty, span),
            _ => self.push(Op::Cast(arg), ty, span),
        }
    }

    /// The tensors that nodes read, each as often as they do.
    pub fn reads(&self) -> impl Iterator<Item = TensorId> + '_ {
        self.nodes().filter_map(|(_, node)| match node.op {
            Op::Read { tensor, .. } => Some(tensor),
            _ => None,
        })
    }

    /// The constant under `arg` when neither it nor the result is a float.
    fn foldable(&self, arg: NodeId, result: Ty) -> Option<Scalar> {
        self.constant(arg).filter(|value| !value.element().is_float() && !result.is_float())
    }

    /// Adds what must be proven about a coordinate; the same again is kept once.
    pub fn oblige(&mut self, obligation: Obligation) {
        let Obligation { read, coord, range, what, dim, .. } = &obligation;
        let Obliged { all, known, steps } = &mut *self.obliged;
        if known.insert((*read, *coord, *range, what.clone(), dim.clone())) {
            if obligation.kind == TargetKind::Steps {
                steps.entry(*read).or_default().push(all.len());
            }
            all.push(obligation);
        }
    }

    /// Coordinates that views and windows move on to one read, and where they must lie.
    pub fn steps_to(&self, read: NodeId) -> impl Iterator<Item = &Obligation> {
        self.obliged.steps.get(&read).into_iter().flatten().map(|at| &self.obliged.all[*at])
    }

    /// What must be proven about coordinates.
    pub fn obligations(&self) -> &[Obligation] {
        &self.obliged.all
    }

    /// For every node the first one that has its value: reads in different arms of an `if` are told apart as nodes,
    /// but not as values.
    pub fn same_values(&self) -> Vec<NodeId> {
        let mut first: Vec<NodeId> = Vec::with_capacity(self.len());
        let mut known: HashMap<(Op, Ty), NodeId> = HashMap::new();
        for (id, node) in self.nodes() {
            let op = match node.op.clone().with_args(|arg| first[arg.index()]) {
                Op::Read { tensor, coords, .. } => Op::Read { tensor, coords, arm: 0 },
                op => op,
            };
            first.push(*known.entry((op, node.ty)).or_insert(id));
        }
        first
    }

    /// The number of the table, added if it is new.
    pub fn table(&mut self, table: Arc<Table>) -> TableId {
        let found = self.tables.iter().position(|known| Arc::ptr_eq(known, &table) || *known == table);
        let index = found.unwrap_or_else(|| {
            self.tables.push(table);
            self.tables.len() - 1
        });
        TableId(index as u32)
    }

    /// The number of the reduction variable, shared by reductions of one depth and range.
    pub fn binder(&mut self, var: BoundVar) -> u32 {
        let same = |known: &BoundVar| (known.depth, known.lo, known.hi) == (var.depth, var.lo, var.hi);
        let found = self.binders.iter().position(same);
        let index = found.unwrap_or_else(|| {
            self.binders.push(var);
            self.binders.len() - 1
        });
        index as u32
    }
}

impl Op {
    /// The nodes it uses, in order.
    pub fn args(&self) -> Vec<NodeId> {
        match self {
            Op::Const(_) | Op::Coord(_) | Op::Arg(_) => Vec::new(),
            Op::Unary(_, a) | Op::Cast(a) => vec![*a],
            Op::Binary(_, a, b) => vec![*a, *b],
            Op::Fma(a, b, c) | Op::Select(a, b, c) => vec![*a, *b, *c],
            Op::Math(_, args) | Op::Hash(args) | Op::Table(_, args) => args.clone(),
            Op::Read { coords, .. } => coords.clone(),
            Op::Reduce { body, .. } => vec![*body],
        }
    }
}

impl Op {
    /// The same operation on other nodes.
    pub fn with_args(self, to: impl Fn(NodeId) -> NodeId) -> Op {
        let all = |ids: Vec<NodeId>| ids.into_iter().map(&to).collect();
        match self {
            Op::Const(_) | Op::Coord(_) | Op::Arg(_) => self,
            Op::Unary(function, a) => Op::Unary(function, to(a)),
            Op::Binary(function, a, b) => Op::Binary(function, to(a), to(b)),
            Op::Fma(a, b, c) => Op::Fma(to(a), to(b), to(c)),
            Op::Select(c, a, b) => Op::Select(to(c), to(a), to(b)),
            Op::Cast(a) => Op::Cast(to(a)),
            Op::Math(function, args) => Op::Math(function, all(args)),
            Op::Hash(args) => Op::Hash(all(args)),
            Op::Read { tensor, coords, arm } => Op::Read { tensor, coords: all(coords), arm },
            Op::Table(table, args) => Op::Table(table, all(args)),
            Op::Reduce { function, vars, body } => Op::Reduce { function, vars, body: to(body) },
        }
    }
}

impl ReduceFn {
    /// As written.
    pub fn name(self) -> &'static str {
        match self {
            ReduceFn::Sum => "sum",
            ReduceFn::Product => "product",
            ReduceFn::Min => "min",
            ReduceFn::Max => "max",
            ReduceFn::Any => "any",
            ReduceFn::All => "all",
            ReduceFn::ArgMin => "argmin",
            ReduceFn::ArgMax => "argmax",
        }
    }
}

impl MathFn {
    /// Every function of `std/math.itp`.
    pub const ALL: [MathFn; 17] = [
        MathFn::Rsqrt,
        MathFn::Exp,
        MathFn::Exp2,
        MathFn::Log,
        MathFn::Log2,
        MathFn::Pow,
        MathFn::Sin,
        MathFn::Cos,
        MathFn::Tan,
        MathFn::Asin,
        MathFn::Acos,
        MathFn::Atan,
        MathFn::Atan2,
        MathFn::Sinh,
        MathFn::Cosh,
        MathFn::Tanh,
        MathFn::Hypot,
    ];

    /// As written.
    pub fn name(self) -> &'static str {
        match self {
            MathFn::Rsqrt => "rsqrt",
            MathFn::Exp => "exp",
            MathFn::Exp2 => "exp2",
            MathFn::Log => "log",
            MathFn::Log2 => "log2",
            MathFn::Pow => "pow",
            MathFn::Sin => "sin",
            MathFn::Cos => "cos",
            MathFn::Tan => "tan",
            MathFn::Asin => "asin",
            MathFn::Acos => "acos",
            MathFn::Atan => "atan",
            MathFn::Atan2 => "atan2",
            MathFn::Sinh => "sinh",
            MathFn::Cosh => "cosh",
            MathFn::Tanh => "tanh",
            MathFn::Hypot => "hypot",
        }
    }

    /// How many arguments it takes.
    pub fn arity(self) -> usize {
        if matches!(self, MathFn::Pow | MathFn::Atan2 | MathFn::Hypot) { 2 } else { 1 }
    }
}

/// The float type of a weak float that meets no other: the tensor's own, else f32.
pub fn default_float(tensor: Element) -> Element {
    if tensor.is_float() { tensor.computed() } else { Element::F32 }
}
