//! The nest around a wide row: fills the frame with what is the same for the whole row, and calls the row's code.
//!
//! ```text
//! row v2 in v0..v1      becomes   if v0 < v1 { frame = [address of b0 at v0, …]; call row(frame, v1 - v0) }
//! ```

use super::emit::Emitter;
use super::lanes::Val;
use super::rows::{Motions, Row, Slot};
use crate::graph::types::Element;
use crate::loops::ir::{Block, For, Statement, ValueId};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{FuncRef, InstBuilder, MemFlagsData, StackSlotData, StackSlotKind, Value};

/// A row with code of its own.
pub(super) struct WideRow {
    pub(super) row: Row,
    pub(super) function: FuncRef,
}

impl Emitter<'_, '_> {
    pub(super) fn wide_row(&mut self, looped: &For, wide: &WideRow) {
        let (lo, hi) = (self.scalar(looped.lo), self.scalar(looped.hi));
        let [run, done] = [(); 2].map(|()| self.new_block());
        let any = self.code.compare(IntCC::SignedLessThan, lo, hi);
        self.code.ins().brif(any, run, &[], done, &[]);

        self.code.builder.switch_to_block(run);
        let outside = self.enter();
        self.place.guarded = true;
        self.at_start(looped, lo);
        let frame = self.frame(&wide.row.slots);
        let count = self.code.ins().isub(hi, lo);
        let address = self.code.ins().func_addr(I64, wide.function);
        let signature = self.code.builder.func.dfg.ext_funcs[wide.function].signature;
        self.code.ins().call_indirect(signature, address, &[frame, count]);
        self.code.ins().jump(done, &[]);
        self.place = outside;
        self.code.builder.switch_to_block(done);
    }

    /// Computes what is the same for the whole row or moves along it, as it is at its start.
    fn at_start(&mut self, looped: &For, lo: Value) {
        let motions = Motions::new(self.kernel, looped);
        self.set(looped.var, Val::One(lo), self.place.depth);
        self.at_first(&looped.body, &motions);
    }

    /// The same for a block of the row; loops inside are at their first step, which they have.
    fn at_first(&mut self, block: &Block, motions: &Motions<'_>) {
        for statement in &block.statements {
            match statement {
                Statement::Let(id) if motions.is_even(*id) => self.computed(*id),
                Statement::For(inner) => {
                    let first = self.scalar(inner.lo);
                    self.set(inner.var, Val::One(first), self.place.depth);
                    self.at_first(&inner.body, motions);
                }
                Statement::Let(_) | Statement::If(_) | Statement::Store(..) => {}
            }
        }
    }

    /// The address of the frame, filled in.
    fn frame(&mut self, slots: &[Slot]) -> Value {
        let size = 8 * slots.len().max(1) as u32;
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, size, 3);
        let frame = self.code.builder.create_sized_stack_slot(data);
        for (at, slot) in slots.iter().enumerate() {
            let value = self.slot_value(*slot);
            self.code.ins().stack_store(I64, value, frame, 8 * at as i32);
        }
        self.code.ins().stack_addr(I64, frame, 0)
    }

    fn slot_value(&mut self, slot: Slot) -> Value {
        match slot {
            Slot::Buffer(buffer, offset) => {
                let base = self.buffers[buffer.index()];
                self.address_of(base, self.kernel.buffers[buffer.index()].element, offset)
            }
            Slot::Table(table, offset) => {
                let base = self.code.ins().symbol_value(I64, self.tables[table as usize]);
                self.address_of(base, self.kernel.tables[table as usize][0].element(), offset)
            }
            Slot::Pace(pace, bytes) => {
                let by = self.scalar(pace.by);
                self.code.ins().imul_imm_s(by, pace.times.wrapping_mul(bytes))
            }
            Slot::Past => self.code.ins().load(I64, MemFlagsData::trusted(), self.stop, 16),
            Slot::Value(id) => {
                let value = self.scalar(id);
                if self.element(id) != Element::Bool {
                    return value;
                }
                // True is a mask of all lanes.
                let wide = self.code.ins().uextend(I64, value);
                self.code.ins().ineg(wide)
            }
        }
    }

    fn address_of(&mut self, base: Value, element: Element, offset: Option<ValueId>) -> Value {
        let Some(offset) = offset else { return base };
        let offset = self.scalar(offset);
        let bytes = self.code.shift_left(offset, element.bytes().trailing_zeros());
        self.code.ins().iadd(base, bytes)
    }
}
