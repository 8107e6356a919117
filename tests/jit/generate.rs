//! Random kernels that keep the laws, from a list of choices: when the list runs out, the simplest choice is made.
//!
//! A kernel has two arguments, the ends of its rows. Input buffers have [`INPUT`] elements, and every load from them is
//! kept inside by its shape: an affine offset that fits, a remainder, or a clamp. Each store has a buffer of its own.

use crate::operators::specials;
use itp::graph::scalar::{BinaryFn, Scalar, UnaryFn};
use itp::graph::types::Element;
use itp::loops::ir::{
    Block, Buffer, BufferId, Carry, For, If, Kernel, LoopKind, Op, Statement, Value, ValueId,
};
use itp::loops::parse::{BINARY, UNARY};
use itp::loops::verify::verify;

/// Elements of an input buffer.
pub(crate) const INPUT: i64 = 64;
/// Rows are at most that long.
pub(crate) const LONGEST: i64 = 13;
/// Rows of an output buffer, and the elements between their starts.
const ROWS: i64 = 3;
const PITCH: i64 = 4 * LONGEST + 8;
/// Elements of an output buffer.
pub(crate) const OUTPUT: i64 = ROWS * PITCH;

/// The kernel that these choices lead to.
pub(crate) fn kernel(choices: &[u32]) -> Kernel {
    let kernel = Kernel {
        name: "random".into(),
        args: vec!["lo".into(), "hi".into()],
        buffers: Vec::new(),
        tables: Vec::new(),
        values: Vec::new(),
        body: Block::default(),
    };
    let mut maker =
        Maker { choices, kernel, block: Block::default(), visible: Vec::new(), row: None, outer: None };
    maker.inputs();
    maker.body();
    maker.kernel.body = std::mem::take(&mut maker.block);
    verify(&maker.kernel).unwrap_or_else(|error| panic!("{error}\n{}", maker.kernel));
    maker.kernel
}

struct Maker<'c> {
    choices: &'c [u32],
    kernel: Kernel,
    /// The block under construction.
    block: Block,
    /// Values that may be used here, and whether they vary along the row.
    visible: Vec<(ValueId, bool)>,
    /// The variable of the row around.
    row: Option<ValueId>,
    /// The variable of the loop around the row.
    outer: Option<ValueId>,
}

impl Maker<'_> {
    /// One of `count` choices; 0 is the simplest.
    fn choose(&mut self, count: usize) -> usize {
        let Some((first, rest)) = self.choices.split_first() else { return 0 };
        self.choices = rest;
        *first as usize % count
    }

    fn element(&mut self) -> Element {
        let all: Vec<Element> = Element::ALL.into_iter().filter(|element| *element != Element::F16).collect();
        all[self.choose(all.len())]
    }

    fn value(&mut self, op: Op, element: Element) -> ValueId {
        self.kernel.values.push(Value { op, element });
        ValueId(self.kernel.values.len() as u32 - 1)
    }

    /// Computes a value here.
    fn push(&mut self, op: Op, element: Element) -> ValueId {
        let varies = op.args().iter().any(|arg| self.varies(*arg));
        let id = self.value(op, element);
        self.block.statements.push(Statement::Let(id));
        self.visible.push((id, varies));
        id
    }

    fn varies(&self, id: ValueId) -> bool {
        self.visible.iter().any(|(visible, varies)| *visible == id && *varies)
    }

    fn int(&mut self, value: i64) -> ValueId {
        self.push(Op::Const(Scalar::i64(value)), Element::I64)
    }

    fn constant(&mut self, element: Element) -> ValueId {
        let values = specials(element);
        let value = values[self.choose(values.len())];
        self.push(Op::Const(value), element)
    }

    /// Some value of this type.
    fn some(&mut self, element: Element) -> ValueId {
        let of_type = |(id, _): &&(ValueId, bool)| self.kernel.value(*id).element == element;
        let known: Vec<ValueId> = self.visible.iter().filter(of_type).map(|(id, _)| *id).collect();
        match (self.choose(5), known.len()) {
            (0, 0) => self.constant(element),
            (0, _) => known[known.len() - 1],
            (1, _) | (_, 0) => self.any(element),
            (2, _) => self.constant(element),
            (_, count) => known[self.choose(count)],
        }
    }

    /// A value of any type, converted.
    fn any(&mut self, element: Element) -> ValueId {
        match self.visible.len() {
            0 => self.constant(element),
            count => {
                let at = self.choose(count);
                self.push(Op::Cast(self.visible[at].0), element)
            }
        }
    }

    fn inputs(&mut self) {
        for _ in 0..=self.choose(4) {
            let element = Element::ALL[self.choose(Element::ALL.len())];
            self.kernel.buffers.push(Buffer { element, written: false });
        }
        for _ in 0..=self.choose(2) {
            let element = self.element();
            let values = specials(element);
            let table = (0..=self.choose(9)).map(|_| values[self.choose(values.len())]).collect();
            self.kernel.tables.push(table);
        }
    }

    fn body(&mut self) {
        let (lo, hi) = (self.push(Op::Arg(0), Element::I64), self.push(Op::Arg(1), Element::I64));
        self.statements(3);
        for _ in 0..=self.choose(2) {
            if self.choose(2) == 0 {
                self.row(lo, hi);
                continue;
            }
            let (from, to) = (self.int(0), self.choose(ROWS as usize + 1) as i64);
            let to = self.int(to);
            let var = self.value(Op::Var, Element::I64);
            let ((), body) = self.inside(|maker| {
                maker.visible.push((var, false));
                maker.outer = Some(var);
                maker.statements(2);
                maker.row(lo, hi);
                maker.outer = None;
            });
            let looped = For { kind: LoopKind::Serial, var, lo: from, hi: to, carried: Vec::new(), body };
            self.block.statements.push(Statement::For(Box::new(looped)));
        }
    }

    /// Builds a block of its own.
    fn inside<T>(&mut self, build: impl FnOnce(&mut Self) -> T) -> (T, Block) {
        let outside = std::mem::take(&mut self.block);
        let visible = self.visible.len();
        let result = build(self);
        self.visible.truncate(visible);
        (result, std::mem::replace(&mut self.block, outside))
    }

    fn row(&mut self, lo: ValueId, hi: ValueId) {
        let var = self.value(Op::Var, Element::I64);
        let ((), body) = self.inside(|maker| {
            maker.visible.push((var, true));
            maker.row = Some(var);
            maker.statements(8);
            for _ in 0..=maker.choose(3) {
                maker.store();
            }
            maker.row = None;
        });
        let row = For { kind: LoopKind::Row, var, lo, hi, carried: Vec::new(), body };
        self.block.statements.push(Statement::For(Box::new(row)));
    }

    fn statements(&mut self, about: usize) {
        for _ in 0..self.choose(2 * about) {
            match self.choose(12) {
                0..=3 => self.arithmetic(),
                4 | 5 => self.load(),
                6 => self.table(),
                7 => self.ternary(),
                8 => drop(self.any_cast()),
                9 => self.unary(),
                10 if about > 1 => self.reduction(about / 2),
                11 if about > 1 => self.choice(about / 2),
                _ => self.arithmetic(),
            }
        }
    }

    fn any_cast(&mut self) -> ValueId {
        let element = self.element();
        self.any(element)
    }

    fn arithmetic(&mut self) {
        let element = self.element();
        let allowed = |function: &BinaryFn| match function {
            BinaryFn::Div => element.is_float(),
            BinaryFn::Pow | BinaryFn::Shl | BinaryFn::Shr => !element.is_float(),
            BinaryFn::And | BinaryFn::Xor | BinaryFn::Or => !element.is_float(),
            _ => true,
        };
        let functions: Vec<BinaryFn> = BINARY.into_iter().filter(allowed).collect();
        let function = functions[self.choose(functions.len())];
        let (a, b) = (self.some(element), self.some(element));
        let result = if function.is_comparison() { Element::Bool } else { element };
        self.push(Op::Binary(function, a, b), result);
    }

    fn unary(&mut self) {
        let element = self.element();
        let allowed = |function: &UnaryFn| match function {
            UnaryFn::Sqrt | UnaryFn::Bits => element.is_float(),
            UnaryFn::RoundF16 => element == Element::F32,
            UnaryFn::Not | UnaryFn::Popcount => !element.is_float(),
            UnaryFn::FloatBits => element.is_int() && element.bits() >= 32,
            _ => true,
        };
        let functions: Vec<UnaryFn> = UNARY.into_iter().filter(allowed).collect();
        let function = functions[self.choose(functions.len())];
        let mut a = self.some(element);
        if function == UnaryFn::Sqrt {
            // Which NaN the root of a negative number is, the definition leaves to its compiler.
            a = self.push(Op::Unary(UnaryFn::Abs, a), element);
        }
        self.push(Op::Unary(function, a), function.result(element));
    }

    fn ternary(&mut self) {
        let element = self.element();
        let (a, b) = (self.some(element), self.some(element));
        if element.is_float() && self.choose(2) == 0 {
            let c = self.some(element);
            self.push(Op::Fma(a, b, c), element);
        } else {
            let condition = self.some(Element::Bool);
            self.push(Op::Select(condition, a, b), element);
        }
    }

    /// An offset inside `0..size`, which is at least `INPUT` if it may move along the row.
    fn offset(&mut self, size: i64) -> ValueId {
        match (self.choose(6), self.row) {
            (0..=2, Some(row)) if size >= INPUT => self.affine(row, 7),
            (3, _) => {
                let at = self.choose(size as usize) as i64;
                self.int(at)
            }
            (4, _) => {
                let (at, zero, last) = (self.some(Element::I64), self.int(0), self.int(size - 1));
                let at = self.push(Op::Binary(BinaryFn::Max, at, zero), Element::I64);
                self.push(Op::Binary(BinaryFn::Min, at, last), Element::I64)
            }
            _ => {
                let (at, size) = (self.some(Element::I64), self.int(size));
                self.push(Op::Binary(BinaryFn::Rem, at, size), Element::I64)
            }
        }
    }

    /// `base + step * row`, not below 0 and below `PITCH`, for a step of -3..=3.
    fn affine(&mut self, row: ValueId, steps: usize) -> ValueId {
        let step = [1, -1, 2, -2, 3, -3, 0][self.choose(steps)];
        let scaled = match step {
            1 => row,
            -1 => self.push(Op::Unary(UnaryFn::Neg, row), Element::I64),
            2 => {
                let one = self.int(1);
                self.push(Op::Binary(BinaryFn::Shl, row, one), Element::I64)
            }
            _ => {
                let by = self.int(step);
                self.push(Op::Binary(BinaryFn::Mul, by, row), Element::I64)
            }
        };
        let base = (-step).max(0) * LONGEST + self.choose(8) as i64;
        let base = self.int(base);
        self.push(Op::Binary(BinaryFn::Add, scaled, base), Element::I64)
    }

    fn load(&mut self) {
        let at = self.choose(self.kernel.buffers.len());
        if self.kernel.buffers[at].written {
            return;
        }
        let offset = self.offset(INPUT);
        self.push(Op::Load(BufferId(at as u32), offset), self.kernel.buffers[at].element.computed());
    }

    fn table(&mut self) {
        let at = self.choose(self.kernel.tables.len());
        let (size, element) = (self.kernel.tables[at].len() as i64, self.kernel.tables[at][0].element());
        let offset = self.offset(size);
        self.push(Op::Table(at as u32, offset), element);
    }

    /// A loop that carries values.
    fn reduction(&mut self, about: usize) {
        let (lo, hi) = (self.int(0), self.choose(4) as i64);
        let hi = self.int(hi);
        let heads: Vec<(ValueId, Element)> = (0..=self.choose(3))
            .map(|_| {
                let element = self.element();
                (self.some(element), element)
            })
            .collect();
        let var = self.value(Op::Var, Element::I64);
        let carried: Vec<ValueId> =
            heads.iter().map(|(_, element)| self.value(Op::Carried, *element)).collect();
        let in_row = self.row.is_some();
        let (next, body) = self.inside(|maker| {
            maker.visible.push((var, false));
            maker.visible.extend(carried.iter().map(|id| (*id, in_row)));
            maker.statements(about);
            let next: Vec<ValueId> = heads.iter().map(|(_, element)| maker.some(*element)).collect();
            next
        });
        let results: Vec<ValueId> =
            heads.iter().map(|(_, element)| self.value(Op::Result, *element)).collect();
        self.visible.extend(results.iter().map(|id| (*id, in_row)));
        let carry = |at: usize| Carry {
            init: heads[at].0,
            carried: carried[at],
            next: next[at],
            result: results[at],
        };
        let carried = (0..heads.len()).map(carry).collect();
        let looped = For { kind: LoopKind::Serial, var, lo, hi, carried, body };
        self.block.statements.push(Statement::For(Box::new(looped)));
    }

    fn choice(&mut self, about: usize) {
        let same =
            |maker: &Self, id: ValueId| !maker.varies(id) && maker.kernel.value(id).element == Element::Bool;
        let known: Vec<ValueId> =
            self.visible.iter().map(|(id, _)| *id).filter(|id| same(self, *id)).collect();
        let condition = match known.len() {
            0 => self.constant(Element::Bool),
            count => known[self.choose(count)],
        };
        let elements: Vec<Element> = (0..self.choose(3)).map(|_| self.element()).collect();
        let arm = |maker: &mut Self| {
            maker.statements(about);
            elements.iter().map(|element| maker.some(*element)).collect::<Vec<ValueId>>()
        };
        let ((a, then), (b, otherwise)) = (self.inside(arm), self.inside(arm));
        let in_row = self.row.is_some();
        let ids: Vec<ValueId> = elements.iter().map(|element| self.value(Op::Result, *element)).collect();
        self.visible.extend(ids.iter().map(|id| (*id, in_row)));
        let results = ids.into_iter().zip(a).zip(b).map(|((id, a), b)| (id, a, b)).collect();
        self.block.statements.push(Statement::If(Box::new(If { condition, then, otherwise, results })));
    }

    /// Stores a value of the row into a new buffer, or adds it to what is there.
    fn store(&mut self) {
        let Some(row) = self.row else { return };
        let element = Element::ALL[self.choose(Element::ALL.len())];
        let buffer = BufferId(self.kernel.buffers.len() as u32);
        self.kernel.buffers.push(Buffer { element, written: true });
        let mut offset = self.affine(row, 6);
        if let Some(outer) = self.outer {
            let pitch = self.int(PITCH);
            let start = self.push(Op::Binary(BinaryFn::Mul, outer, pitch), Element::I64);
            offset = self.push(Op::Binary(BinaryFn::Add, start, offset), Element::I64);
        }
        let mut value = self.some(element.computed());
        if self.choose(4) == 1 {
            let old = self.push(Op::Load(buffer, offset), element.computed());
            value = self.push(Op::Binary(BinaryFn::Max, old, value), element.computed());
        }
        self.block.statements.push(Statement::Store(buffer, offset, value));
    }
}
