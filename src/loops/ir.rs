//! The loop IR: kernels, each a tree of loops over SSA values.
//!
//! ```text
//! kernel blur(y0, y1, x0, x1) b0: f32 in, b1: f32 out
//!   for v2 in v0..v1                 rows, one after the other
//!     v3: i64 = mul v2 b0.pitch
//!     row v5 in x0..x1               one strip of the last dimension; how many lanes is the back end's business
//!       v6: f32 = load b0 v4
//!       store b1 v4 v6
//! ```
//!
//! A kernel is straight-line code inside each loop. Values are numbered in one arena, operands before users, and every
//! value has one place: the block that computes it. Nothing traps: arithmetic is that of [`scalar`](crate::graph::scalar),
//! and loads stay inside their buffers by proof or by clamped offsets.

use crate::graph::ids::prints_as;
use crate::graph::scalar::{BinaryFn, Scalar, UnaryFn};
use crate::graph::types::Element;

/// One value of a [`Kernel`]; prints as `v3`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

/// A block of memory that a kernel reads or writes; prints as `b0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u32);

prints_as!(ValueId, "v");
prints_as!(BufferId, "b");

/// A compiled unit: computes a box of one tensor, or one window of it, from buffers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kernel {
    /// The tensor it computes.
    pub name: String,
    /// Names of the i64 arguments, for reading the text form.
    pub args: Vec<String>,
    /// What it reads and writes.
    pub buffers: Vec<Buffer>,
    /// Constants that are read by index.
    pub tables: Vec<Vec<Scalar>>,
    /// Every value, operands before users.
    pub values: Vec<Value>,
    /// What runs.
    pub body: Block,
}

/// Elements of one type, addressed by offset from the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The type in memory; f16 is converted by loads and stores.
    pub element: Element,
    /// Whether the kernel writes it. No buffer is read and written, but for windows that blend.
    pub written: bool,
}

/// An operation and the type of its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// What it computes.
    pub op: Op,
    /// Never f16.
    pub element: Element,
}

/// What a value computes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A number.
    Const(Scalar),
    /// An i64 argument of the kernel.
    Arg(u32),
    /// The variable of the loop that declares it, an i64.
    Var,
    /// A value that a loop carries from one step to the next.
    Carried,
    /// What a loop carried out, or what an `if` chose.
    Result,
    /// One argument.
    Unary(UnaryFn, ValueId),
    /// Two arguments of one type.
    Binary(BinaryFn, ValueId, ValueId),
    /// `a * b + c`, rounded once.
    Fma(ValueId, ValueId, ValueId),
    /// Second if the first is true, else third; both are computed.
    Select(ValueId, ValueId, ValueId),
    /// Conversion to the value's type.
    Cast(ValueId),
    /// The element of a buffer at an offset (i64, in elements).
    Load(BufferId, ValueId),
    /// The entry of a table at an offset (i64).
    Table(u32, ValueId),
}

/// Statements, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Each once.
    pub statements: Vec<Statement>,
}

/// One step of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// Computes a value.
    Let(ValueId),
    /// Repeats a block.
    For(Box<For>),
    /// Chooses a block by a condition that is the same for a whole row.
    If(Box<If>),
    /// Writes an element: buffer, offset, value.
    Store(BufferId, ValueId, ValueId),
}

/// A loop over `lo..hi`.
#[derive(Clone, Debug, PartialEq)]
pub struct For {
    /// One step after the other, or a row of lanes.
    pub kind: LoopKind,
    /// The variable.
    pub var: ValueId,
    /// First value, an i64 from outside.
    pub lo: ValueId,
    /// One past the last.
    pub hi: ValueId,
    /// Values carried along; a row carries none.
    pub carried: Vec<Carry>,
    /// What is repeated.
    pub body: Block,
}

/// How the steps of a loop relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopKind {
    /// In order.
    Serial,
    /// Independent of each other: lanes.
    Row,
}

/// A value that a loop carries from step to step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carry {
    /// Before the first step, from outside.
    pub init: ValueId,
    /// At the start of a step.
    pub carried: ValueId,
    /// At the end of a step, from inside.
    pub next: ValueId,
    /// After the loop.
    pub result: ValueId,
}

/// A choice between blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    /// A bool from outside.
    pub condition: ValueId,
    /// If it is true.
    pub then: Block,
    /// If it is not.
    pub otherwise: Block,
    /// Values that come out: (result, from `then`, from `otherwise`).
    pub results: Vec<(ValueId, ValueId, ValueId)>,
}

impl Kernel {
    /// The value with that id.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.index()]
    }
}

impl Op {
    /// The values it uses, in order.
    pub fn args(&self) -> Vec<ValueId> {
        match self {
            Op::Const(_) | Op::Arg(_) | Op::Var | Op::Carried | Op::Result => Vec::new(),
            Op::Unary(_, a) | Op::Cast(a) | Op::Load(_, a) | Op::Table(_, a) => vec![*a],
            Op::Binary(_, a, b) => vec![*a, *b],
            Op::Fma(a, b, c) | Op::Select(a, b, c) => vec![*a, *b, *c],
        }
    }
}
