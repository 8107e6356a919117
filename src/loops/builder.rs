//! Builds a kernel: every value goes to the outermost block where its operands are known.
//!
//! ```text
//! for y { row x { … } }     `y * pitch` is asked for inside the row, and lands before it
//! ```
//!
//! Blocks are open from the outside in. A value is added to the deepest block that one of its operands belongs to, and
//! found again as long as that block is open; so hoisting and sharing need no pass of their own.

use super::ir::{Block, Buffer, BufferId, Carry, For, If, Kernel, LoopKind, Op, Statement, Value, ValueId};
use crate::graph::scalar::{self, BinaryFn, Scalar, UnaryFn};
use crate::graph::types::Element;
use std::collections::HashMap;

/// A kernel under construction.
pub struct Builder {
    kernel: Kernel,
    /// The depth of the block that computes each value.
    homes: Vec<usize>,
    open: Vec<Open>,
}

/// A block that is still open.
#[derive(Default)]
struct Open {
    statements: Vec<Statement>,
    interned: HashMap<(Op, Element), ValueId>,
}

/// A loop that is still open.
pub struct OpenLoop {
    kind: LoopKind,
    /// The variable.
    pub var: ValueId,
    lo: ValueId,
    hi: ValueId,
    /// Initial and carried value of each carry.
    carries: Vec<(ValueId, ValueId)>,
}

impl Builder {
    /// A kernel without statements.
    pub fn new(name: &str, args: Vec<String>, buffers: Vec<Buffer>) -> Self {
        let kernel = Kernel {
            name: name.to_owned(),
            args,
            buffers,
            tables: Vec::new(),
            values: Vec::new(),
            body: Block::default(),
        };
        Builder { kernel, homes: Vec::new(), open: vec![Open::default()] }
    }

    /// The finished kernel; all loops are closed.
    pub fn finish(mut self) -> Kernel {
        let outermost = self.open.pop().expect("the outermost block is open");
        debug_assert!(self.open.is_empty(), "a loop is still open");
        self.kernel.body = Block { statements: outermost.statements };
        self.kernel
    }

    /// Values so far.
    pub fn count(&self) -> usize {
        self.kernel.values.len()
    }

    /// How many blocks are open.
    pub fn depth(&self) -> usize {
        self.open.len() - 1
    }

    /// The depth of the block that computes a value.
    pub fn home(&self, id: ValueId) -> usize {
        self.homes[id.index()]
    }

    /// The type of a value.
    pub fn element(&self, id: ValueId) -> Element {
        self.kernel.value(id).element
    }

    /// What computes a value.
    pub fn op(&self, id: ValueId) -> &Op {
        &self.kernel.value(id).op
    }

    /// The value of a constant.
    pub fn constant(&self, id: ValueId) -> Option<Scalar> {
        match self.kernel.value(id).op {
            Op::Const(value) => Some(value),
            _ => None,
        }
    }

    /// Adds a table and gives its number.
    pub fn table(&mut self, values: Vec<Scalar>) -> u32 {
        let found = self.kernel.tables.iter().position(|known| *known == values);
        found.unwrap_or_else(|| {
            self.kernel.tables.push(values);
            self.kernel.tables.len() - 1
        }) as u32
    }

    /// A value in the outermost block where it can be computed, but no further out than `least`.
    pub fn value_inside(&mut self, op: Op, element: Element, least: usize) -> ValueId {
        let deepest = op.args().into_iter().map(|arg| self.home(arg)).max().unwrap_or(0);
        let home = deepest.max(least);
        if let Some(known) = self.open[home].interned.get(&(op.clone(), element)) {
            return *known;
        }
        let id = self.declare(op.clone(), element, home);
        self.open[home].interned.insert((op, element), id);
        self.open[home].statements.push(Statement::Let(id));
        id
    }

    /// A value in the outermost block where it can be computed.
    pub fn value(&mut self, op: Op, element: Element) -> ValueId {
        self.value_inside(op, element, 0)
    }

    fn declare(&mut self, op: Op, element: Element, home: usize) -> ValueId {
        self.kernel.values.push(Value { op, element });
        self.homes.push(home);
        ValueId(self.kernel.values.len() as u32 - 1)
    }

    // --- arithmetic; integers on constants are folded ---

    /// A constant.
    pub fn number(&mut self, value: Scalar) -> ValueId {
        self.value(Op::Const(value), value.element())
    }

    /// An i64 constant.
    pub fn int(&mut self, value: i64) -> ValueId {
        self.number(Scalar::i64(value))
    }

    /// An i64 argument of the kernel.
    pub fn arg(&mut self, number: usize) -> ValueId {
        self.value(Op::Arg(number as u32), Element::I64)
    }

    /// A unary operation.
    pub fn unary(&mut self, function: UnaryFn, a: ValueId) -> ValueId {
        let element = function.result(self.element(a));
        match self.constant(a) {
            Some(value) => self.number(scalar::unary(function, value)),
            None => self.value(Op::Unary(function, a), element),
        }
    }

    /// A binary operation on values of one type.
    pub fn binary(&mut self, function: BinaryFn, a: ValueId, b: ValueId) -> ValueId {
        if let (Some(x), Some(y)) = (self.constant(a), self.constant(b)) {
            return self.number(scalar::binary(function, x, y));
        }
        if let Some(same) = self.neutral(function, a, b) {
            return same;
        }
        let element = if function.is_comparison() { Element::Bool } else { self.element(a) };
        self.value(Op::Binary(function, a, b), element)
    }

    /// What integers are left alone by, `x + 0`, `x - 0`, `x * 1`, `x // 1`; and floats by `x - 0.0`, which keeps -0.0.
    fn neutral(&self, function: BinaryFn, a: ValueId, b: ValueId) -> Option<ValueId> {
        let is = |id: ValueId, value: i128| self.constant(id).and_then(Scalar::as_int) == Some(value);
        if !self.element(a).is_int() {
            let sub = function == BinaryFn::Sub && self.element(b).is_float();
            let zero = sub.then(|| Scalar::float(self.element(b), 0.0));
            return zero.filter(|zero| self.constant(b) == Some(*zero)).map(|_| a);
        }
        match function {
            BinaryFn::Add if is(a, 0) => Some(b),
            BinaryFn::Mul if is(a, 1) => Some(b),
            BinaryFn::Add | BinaryFn::Sub if is(b, 0) => Some(a),
            BinaryFn::Mul | BinaryFn::FloorDiv if is(b, 1) => Some(a),
            _ => None,
        }
    }

    /// `a * b + c`, rounded once.
    pub fn fma(&mut self, a: ValueId, b: ValueId, c: ValueId) -> ValueId {
        match (self.constant(a), self.constant(b), self.constant(c)) {
            (Some(x), Some(y), Some(z)) => self.number(scalar::fma(x, y, z)),
            _ => self.value(Op::Fma(a, b, c), self.element(a)),
        }
    }

    /// A selection.
    pub fn select(&mut self, condition: ValueId, a: ValueId, b: ValueId) -> ValueId {
        match self.constant(condition) {
            Some(value) => {
                if value.is_true() {
                    a
                } else {
                    b
                }
            }
            None if a == b => a,
            None => self.value(Op::Select(condition, a, b), self.element(a)),
        }
    }

    /// A conversion.
    pub fn cast(&mut self, a: ValueId, element: Element) -> ValueId {
        match self.constant(a) {
            _ if self.element(a) == element => a,
            Some(value) => self.number(value.cast(element)),
            None => self.value(Op::Cast(a), element),
        }
    }

    /// The element at an offset, read no further out than block `least`.
    pub fn load(&mut self, buffer: BufferId, offset: ValueId, least: usize) -> ValueId {
        let element = self.kernel.buffers[buffer.index()].element.computed();
        self.value_inside(Op::Load(buffer, offset), element, least)
    }

    /// The entry of a table at an offset.
    pub fn entry(&mut self, table: u32, offset: ValueId) -> ValueId {
        let entries = &self.kernel.tables[table as usize];
        let at = self.constant(offset).and_then(Scalar::as_int).and_then(|at| usize::try_from(at).ok());
        match at.and_then(|at| entries.get(at)) {
            Some(value) => self.number(*value),
            None => self.value(Op::Table(table, offset), entries[0].element()),
        }
    }

    /// Writes an element in the innermost block.
    pub fn store(&mut self, buffer: BufferId, offset: ValueId, value: ValueId) {
        self.innermost().statements.push(Statement::Store(buffer, offset, value));
    }

    /// What the innermost block does so far.
    pub fn statements(&self) -> &[Statement] {
        &self.open[self.depth()].statements
    }

    fn innermost(&mut self) -> &mut Open {
        self.open.last_mut().expect("a block is always open")
    }

    // --- loops and choices ---

    /// Opens a loop over `lo..hi` that carries values which start as `inits`; their carried values come back.
    pub fn open_loop(
        &mut self,
        kind: LoopKind,
        lo: ValueId,
        hi: ValueId,
        inits: &[ValueId],
    ) -> (OpenLoop, Vec<ValueId>) {
        self.open.push(Open::default());
        let depth = self.depth();
        let var = self.declare(Op::Var, Element::I64, depth);
        let carried = |init: &ValueId| (*init, self.declare(Op::Carried, self.element(*init), depth));
        let carries: Vec<(ValueId, ValueId)> = inits.iter().map(carried).collect();
        let inside = carries.iter().map(|(_, carried)| *carried).collect();
        (OpenLoop { kind, var, lo, hi, carries }, inside)
    }

    /// Closes the innermost loop; `next` are the carried values at the end of a step. The results come back.
    pub fn close_loop(&mut self, open: OpenLoop, next: &[ValueId]) -> Vec<ValueId> {
        let inner = self.open.pop().expect("a loop is open");
        let depth = self.depth();
        let carries = open.carries.iter().zip(next).map(|((init, carried), next)| {
            let result = self.declare(Op::Result, self.element(*init), depth);
            Carry { init: *init, carried: *carried, next: *next, result }
        });
        let carried: Vec<Carry> = carries.collect();
        let results = carried.iter().map(|carry| carry.result).collect();
        let body = Block { statements: inner.statements };
        let (kind, var, lo, hi) = (open.kind, open.var, open.lo, open.hi);
        self.innermost().statements.push(Statement::For(Box::new(For { kind, var, lo, hi, carried, body })));
        results
    }

    /// Opens a block that runs only under a condition.
    pub fn open_block(&mut self) {
        self.open.push(Open::default());
    }

    /// Closes the innermost block.
    pub fn close_block(&mut self) -> Block {
        Block { statements: self.open.pop().expect("a block is open").statements }
    }

    /// Adds a choice between two closed blocks, each with the values it gives; the chosen values come back.
    pub fn choose(
        &mut self,
        condition: ValueId,
        then: (Block, Vec<ValueId>),
        otherwise: (Block, Vec<ValueId>),
    ) -> Vec<ValueId> {
        let depth = self.depth();
        let pairs = then.1.into_iter().zip(otherwise.1);
        let results = pairs.map(|(a, b)| (self.declare(Op::Result, self.element(a), depth), a, b));
        let results: Vec<(ValueId, ValueId, ValueId)> = results.collect();
        let chosen = results.iter().map(|(result, _, _)| *result).collect();
        let choice = If { condition, then: then.0, otherwise: otherwise.0, results };
        self.innermost().statements.push(Statement::If(Box::new(choice)));
        chosen
    }

    /// Closes the blocks inside block `depth` for a while: what is added now goes before them.
    pub fn set_aside(&mut self, depth: usize) -> Aside {
        Aside(self.open.split_off(depth + 1))
    }

    /// Opens them again.
    pub fn put_back(&mut self, aside: Aside) {
        self.open.extend(aside.0);
    }
}

/// Blocks that are closed for a while.
pub struct Aside(Vec<Open>);
