//! A kernel becomes a CLIF function, statement by statement; [`control`](super::control) does its loops and choices.
//!
//! ```text
//! v3: f32 = load b0 v2      load.f32x4 notrap readonly can_move: four lanes, placed where they are used
//! ```

use super::arithmetic::{self, Operand};
use super::casts;
use super::code::Code;
use super::lanes::Val;
use super::memory::Memory;
use super::nest::WideRow;
use super::size;
use crate::graph::types::Element;
use crate::loops::ir::{Block, BufferId, Kernel, LoopKind, Op, Statement, ValueId};
use crate::loops::vary::varying;
use crate::loops::woven::Woven;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{FuncRef, GlobalValue, InstBuilder, MemFlagsData, Value};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::FunctionBuilder;
use std::collections::VecDeque;

/// Instructions of rows in lanes, about, beyond which they are done step by step, in a third of the instructions or less. Each takes
/// some 1.3 µs and 370 bytes to compile (2026-11-19, Zen 5), and the registers of code that long are on the stack anyway.
const LONGEST_LANES: usize = 100_000;

/// Fills the function of `builder` with the code of `kernel`; `tables` are where its tables lie.
pub(super) fn emit(
    builder: FunctionBuilder<'_>,
    kernel: &Kernel,
    tables: Vec<GlobalValue>,
    (rows, ask): (Vec<Option<WideRow>>, Option<FuncRef>),
    config: TargetFrontendConfig,
) {
    let mut code = Code { builder };
    let entry = code.builder.create_block();
    code.builder.append_block_params_for_function_params(entry);
    code.builder.switch_to_block(entry);
    let [args, pointers, stop] = [0, 1, 2].map(|at| code.builder.block_params(entry)[at]);
    let load = |at: usize| code.ins().load(I64, trusted(), pointers, 8 * at as i32);
    let buffers = (0..kernel.buffers.len()).map(load).collect();
    let in_lanes = size::in_lanes(kernel, &rows) <= LONGEST_LANES;
    let mut emitter = Emitter {
        code,
        kernel,
        varying: varying(kernel),
        values: vec![None; kernel.values.len()],
        levels: vec![0; kernel.values.len()],
        args,
        stop,
        buffers,
        tables,
        rows: rows.into(),
        ask,
        in_lanes,
        place: Place { width: Width::Scalar, depth: 0, guarded: false, carries: false },
        woven: Vec::new(),
    };
    emitter.block(&kernel.body);
    emitter.code.ins().return_(&[]);
    emitter.code.builder.seal_all_blocks();
    emitter.code.builder.finalize(config);
}

/// Memory that holds during the whole call.
pub(super) fn trusted() -> MemFlagsData {
    MemFlagsData::trusted().with_readonly().with_can_move()
}

/// How many steps of a row the code under construction does at once.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Width {
    Scalar,
    Lanes,
}

/// Where the code under construction stands.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) width: Width,
    /// Loops around it.
    pub(super) depth: u32,
    /// Whether an `if` stands between it and the innermost loop.
    pub(super) guarded: bool,
    /// Whether the innermost loop carries values from step to step.
    pub(super) carries: bool,
}

pub(super) struct Emitter<'k, 'f> {
    pub(super) code: Code<'f>,
    pub(super) kernel: &'k Kernel,
    /// Which values differ along their row.
    pub(super) varying: Vec<bool>,
    values: Vec<Option<Val>>,
    /// For each value the depth of the innermost loop that it is known to depend on.
    levels: Vec<u32>,
    args: Value,
    /// The address of what tells long loops to end.
    pub(super) stop: Value,
    /// The address of each buffer.
    pub(super) buffers: Vec<Value>,
    pub(super) tables: Vec<GlobalValue>,
    /// For every row that is still to come, its wide code if it has some.
    pub(super) rows: VecDeque<Option<WideRow>>,
    /// What asks for lines, if the kernel goes along lists.
    pub(super) ask: Option<FuncRef>,
    /// Whether rows without wide code are done in lanes.
    pub(super) in_lanes: bool,
    pub(super) place: Place,
    /// Stores of the row under construction that are done together, in lanes.
    pub(super) woven: Vec<Woven>,
}

impl Emitter<'_, '_> {
    pub(super) fn block(&mut self, block: &Block) {
        for statement in &block.statements {
            match statement {
                Statement::Let(id) => self.computed(*id),
                Statement::For(looped) => match looped.kind {
                    LoopKind::Serial => self.serial(looped),
                    LoopKind::Row => self.row(looped),
                },
                Statement::If(choice) => self.choice(choice),
                Statement::Store(buffer, offset, value) => self.store(*buffer, *offset, *value),
            }
        }
    }

    fn store(&mut self, buffer: BufferId, offset: ValueId, value: ValueId) {
        let memory = self.buffer(buffer, offset);
        let Some(woven) = self.woven.iter_mut().find(|woven| woven.to.has(buffer, offset)) else {
            let (offset, value) = (self.get(offset), self.get(value));
            return memory.store(&mut self.code, offset, value);
        };
        let Some(values) = woven.add(offset, value) else { return };
        let offsets: Vec<Val> = woven.to.offsets.clone().into_iter().map(|offset| self.get(offset)).collect();
        let values: Vec<Val> = values.into_iter().map(|value| self.get(value)).collect();
        match offsets[0] {
            Val::Ramp(first, _) => memory.store_in_turn(&mut self.code, first, &values),
            Val::One(_) | Val::Quad(_) | Val::Pairs(..) => {
                let stores = offsets.into_iter().zip(values);
                stores.for_each(|(offset, value)| memory.store(&mut self.code, offset, value));
            }
        }
    }

    pub(super) fn get(&self, id: ValueId) -> Val {
        self.values[id.index()].expect("verified: computed before its use")
    }

    /// The scalar of a value that is the same for all lanes.
    pub(super) fn scalar(&self, id: ValueId) -> Value {
        let Val::One(scalar) = self.get(id) else { unreachable!("verified: does not vary along the row") };
        scalar
    }

    pub(super) fn set(&mut self, id: ValueId, val: Val, level: u32) {
        self.values[id.index()] = Some(val);
        self.levels[id.index()] = level;
    }

    fn operand(&self, id: ValueId) -> Operand {
        let Op::Const(value) = self.kernel.value(id).op else {
            return Operand { val: self.get(id), known: None };
        };
        Operand { val: self.get(id), known: Some(value) }
    }

    pub(super) fn element(&self, id: ValueId) -> Element {
        self.kernel.value(id).element
    }

    pub(super) fn computed(&mut self, id: ValueId) {
        let value = self.kernel.value(id);
        let level = value.op.args().iter().map(|arg| self.levels[arg.index()]).max().unwrap_or(0);
        let val = self.compute(id);
        self.set(id, val, level);
    }

    fn compute(&mut self, id: ValueId) -> Val {
        let value = self.kernel.value(id);
        match value.op {
            Op::Const(value) => arithmetic::constant(&mut self.code, value),
            Op::Arg(at) => Val::One(self.code.ins().load(I64, trusted(), self.args, 8 * at as i32)),
            Op::Var | Op::Carried | Op::Result => self.get(id),
            Op::Unary(function, a) => {
                let (element, a) = (self.element(a), self.get(a));
                arithmetic::unary(&mut self.code, function, element, a)
            }
            Op::Binary(function, a, b) => {
                let (element, args) = (self.element(a), [a, b].map(|arg| self.operand(arg)));
                arithmetic::binary(&mut self.code, function, element, args)
            }
            Op::Fma(a, b, c) => {
                let args = [a, b, c].map(|arg| self.get(arg));
                arithmetic::fma(&mut self.code, value.element, args)
            }
            Op::Select(condition, a, b) => {
                let [condition, a, b] = [condition, a, b].map(|arg| self.get(arg));
                arithmetic::select(&mut self.code, value.element, condition, a, b)
            }
            Op::Cast(a) => self.widened(id).unwrap_or_else(|| {
                let (from, a) = (self.element(a), self.get(a));
                casts::cast(&mut self.code, from, value.element, a)
            }),
            Op::Load(buffer, offset) => {
                let (memory, offset) = (self.buffer(buffer, offset), self.get(offset));
                memory.load(&mut self.code, offset)
            }
            Op::Table(table, offset) => {
                let (memory, offset) = (self.table(table, offset), self.get(offset));
                memory.load(&mut self.code, offset)
            }
        }
    }

    /// A u32 that is loaded to be an i64, such as an index: the load itself does it.
    fn widened(&mut self, id: ValueId) -> Option<Val> {
        let value = self.kernel.value(id);
        let Op::Cast(a) = value.op else { return None };
        let Op::Load(buffer, offset) = self.kernel.value(a).op else { return None };
        let (Val::One(offset_value), Val::One(_)) = (self.get(offset), self.get(a)) else { return None };
        let memory = self.buffer(buffer, offset);
        let index = memory.element == Element::U32 && value.element == Element::I64;
        (index && !self.kernel.buffers[buffer.index()].written)
            .then(|| Val::One(memory.load_index(&mut self.code, offset_value)))
    }

    fn buffer(&self, id: BufferId, offset: ValueId) -> Memory {
        let buffer = &self.kernel.buffers[id.index()];
        let flags = if buffer.written {
            MemFlagsData::new().with_notrap()
        } else {
            self.constant_memory(offset, buffer.element)
        };
        Memory { base: self.buffers[id.index()], element: buffer.element, flags }
    }

    fn table(&mut self, table: u32, offset: ValueId) -> Memory {
        let base = self.code.ins().symbol_value(I64, self.tables[table as usize]);
        let element = self.kernel.tables[table as usize][0].element();
        Memory { base, element, flags: self.constant_memory(offset, element) }
    }

    /// Memory that nothing writes to during the call.
    ///
    /// Cranelift may move a load that `can_move` out of any loop that it does not depend on, past the conditions that
    /// keep its offset inside the buffer. So only those may that depend on their loop and are sure to run in it. In a loop
    /// that carries its state loads stay where they are, before the next step is counted, so that the counter keeps its
    /// register; but for indices, of which only what [`Emitter::widened`] makes of them is used.
    fn constant_memory(&self, offset: ValueId, element: Element) -> MemFlagsData {
        let flags = MemFlagsData::new().with_notrap().with_readonly();
        let stays = self.levels[offset.index()] == self.place.depth && !self.place.guarded;
        if stays && (!self.place.carries || element == Element::U32) { flags.with_can_move() } else { flags }
    }
}
