//! Loops and choices: blocks of CLIF, and the values that cross between them.
//!
//! ```text
//! row v2 in lo..hi      becomes   x = lo;  while hi - x >= 4 { body in four lanes; x += 4 }
//!                                          while x < hi      { body in scalars;    x += 1 }
//! ```
//!
//! The code of a very long row is the second of these loops alone.
//!
//! A value that varies along the row crosses blocks in registers of lanes, any other as a scalar.

use super::emit::{Emitter, Place, Width};
use super::lanes::{LANES, Val, register_types, scalar_type};
use crate::loops::ir::{Block, For, If, ValueId};
use crate::loops::work::poll_period;
use crate::loops::woven::woven;
use crate::seeded::{self, Bug};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self, BlockArg, InstBuilder, MemFlagsData, Type, Value};

impl Emitter<'_, '_> {
    /// The CLIF types in which a value crosses from block to block.
    pub(super) fn types(&self, id: ValueId) -> Vec<Type> {
        let element = self.element(id);
        match self.is_spread(id) {
            true => register_types(element).to_vec(),
            false => vec![scalar_type(element)],
        }
    }

    /// Whether a value crosses blocks as lanes.
    fn is_spread(&self, id: ValueId) -> bool {
        self.place.width == Width::Lanes && self.varying[id.index()]
    }

    /// The parts of `value`, which becomes `target` in another block.
    fn crossing(&mut self, target: ValueId, value: ValueId) -> Vec<BlockArg> {
        let (element, val) = (self.element(value), self.get(value));
        let val = if self.is_spread(target) { self.code.spread(element, val) } else { val };
        val.parts().into_iter().map(BlockArg::Value).collect()
    }

    /// Adds parameters to `block` for `id`, and says that this is where `id` is.
    fn parameters(&mut self, block: ir::Block, id: ValueId, level: u32) {
        let types = self.types(id);
        let parts: Vec<Value> =
            types.into_iter().map(|ty| self.code.builder.append_block_param(block, ty)).collect();
        let val = if self.is_spread(id) { Val::from_registers(&parts) } else { Val::One(parts[0]) };
        self.set(id, val, level);
    }

    pub(super) fn new_block(&mut self) -> ir::Block {
        self.code.builder.create_block()
    }

    /// Ends the block with a jump, and goes on at `target`.
    pub(super) fn fall(&mut self, target: ir::Block, args: &[BlockArg]) {
        self.code.ins().jump(target, args);
        self.code.builder.switch_to_block(target);
    }

    /// Runs one of two blocks.
    pub(super) fn choice(&mut self, choice: &If) {
        let [then, otherwise, done] = [(); 3].map(|()| self.new_block());
        let condition = self.scalar(choice.condition);
        self.code.ins().brif(condition, then, &[], otherwise, &[]);
        let outside = self.place;
        self.place.guarded = true;
        let (a, b): (Vec<_>, Vec<_>) = choice.results.iter().map(|(id, a, b)| ((*id, *a), (*id, *b))).unzip();
        self.arm(then, &choice.then, &a, done);
        self.arm(otherwise, &choice.otherwise, &b, done);
        self.place = outside;
        for (result, _, _) in &choice.results {
            self.parameters(done, *result, 0);
        }
        self.code.builder.switch_to_block(done);
    }

    /// One arm of a choice: runs `body` and hands over pairs of (result, value).
    fn arm(&mut self, start: ir::Block, body: &Block, results: &[(ValueId, ValueId)], done: ir::Block) {
        self.code.builder.switch_to_block(start);
        self.block(body);
        let args: Vec<BlockArg> =
            results.iter().flat_map(|(result, value)| self.crossing(*result, *value)).collect();
        self.code.ins().jump(done, &args);
    }

    /// The parts of what a loop carries into its next step or out of it.
    fn carried(&mut self, looped: &For, value: impl Fn(usize) -> ValueId) -> Vec<BlockArg> {
        let carries = looped.carried.iter().enumerate();
        carries.flat_map(|(at, carry)| self.crossing(carry.carried, value(at))).collect()
    }

    /// Runs a block step by step.
    pub(super) fn serial(&mut self, looped: &For) {
        let [ready, start, done] = [(); 3].map(|()| self.new_block());
        let (lo, hi) = (self.scalar(looped.lo), self.scalar(looped.hi));
        let init = self.carried(looped, |at| looped.carried[at].init);
        let any = self.code.compare(IntCC::SignedLessThan, lo, hi);
        self.code.ins().brif(any, ready, &[], done, &init);

        // Code that moves out of the loop stops in `ready`, where it is known to have a first step.
        self.code.builder.switch_to_block(ready);
        let outside = self.enter();
        self.place.carries = !looped.carried.is_empty() && self.place.width == Width::Scalar;
        self.parameters(start, looped.var, self.place.depth);
        for carry in &looped.carried {
            self.parameters(start, carry.carried, self.place.depth);
        }
        let mut first = vec![BlockArg::Value(lo)];
        first.extend(&init);
        let part = self.part(looped, hi, &mut first);
        self.fall(start, &first);
        let var = self.scalar(looped.var);
        self.block(&looped.body);
        let next = self.code.add_with(var, 1);
        let args = self.carried(looped, |at| looped.carried[at].next);
        let end = part.as_ref().map_or(hi, |part| part.end);
        let more = self.code.compare(IntCC::SignedLessThan, next, end);
        let mut again = vec![BlockArg::Value(next)];
        again.extend(&args);
        self.poll(looped, next, done, &args);
        if let Some(part) = part {
            let over = self.new_block();
            self.code.ins().brif(more, start, &again, over, &[]);
            self.code.builder.switch_to_block(over);
            let left = self.code.compare(IntCC::SignedLessThan, next, hi);
            self.code.ins().brif(left, part.start, &again, done, &args);
        } else {
            self.code.ins().brif(more, start, &again, done, &args);
        }

        self.place = outside;
        for carry in &looped.carried {
            self.parameters(done, carry.result, 0);
        }
        self.code.builder.switch_to_block(done);
    }

    /// Lets a long loop end before its step `next` when it is told to; short ones, and thereby hot ones, do not look.
    fn poll(&mut self, looped: &For, next: Value, done: ir::Block, args: &[BlockArg]) {
        let Some(period) = poll_period(self.kernel, looped) else { return };
        let [look, stop, go] = [(); 3].map(|()| self.new_block());
        let place = self.code.and_with(next, period - 1);
        let due = self.code.compare_with(IntCC::Equal, place, 0);
        self.code.ins().brif(due, look, &[], go, &[]);

        self.code.builder.switch_to_block(look);
        let flags = MemFlagsData::new().with_notrap();
        let flag = self.code.ins().load(I64, flags, self.stop, 0);
        let flag = self.code.ins().uload8(I64, flags, flag, 0);
        self.code.ins().brif(flag, stop, &[], go, &[]);

        self.code.builder.switch_to_block(stop);
        let one = self.code.ins().iconst(I64, 1);
        self.code.ins().store(flags, one, self.stop, 8);
        self.code.ins().jump(done, args);
        self.code.builder.switch_to_block(go);
    }

    /// Steps into a loop; what it gives back leads out again.
    pub(super) fn enter(&mut self) -> Place {
        let inside = Place { depth: self.place.depth + 1, guarded: false, carries: false, ..self.place };
        std::mem::replace(&mut self.place, inside)
    }

    /// Runs a block for all steps of a row.
    pub(super) fn row(&mut self, looped: &For) {
        if let Some(Some(wide)) = self.rows.pop_front() {
            return self.wide_row(looped, &wide);
        }
        let (lo, hi) = (self.scalar(looped.lo), self.scalar(looped.hi));
        let rest = if self.in_lanes { self.strip(looped, lo, hi, Width::Lanes) } else { lo };
        if !seeded::active(Bug::RowTail) {
            self.strip(looped, rest, hi, Width::Scalar);
        }
    }

    /// Does steps of a row while enough are left for one pass; gives the first that is not done.
    fn strip(&mut self, looped: &For, lo: Value, hi: Value, width: Width) -> Value {
        let stride = if width == Width::Lanes { LANES as u64 } else { 1 };
        let [ready, start, done] = [(); 3].map(|()| self.new_block());
        let rest = self.code.builder.append_block_param(done, I64);
        let x = self.code.builder.append_block_param(start, I64);
        let any = self.has_steps(lo, hi, stride);
        self.code.ins().brif(any, ready, &[], done, &[BlockArg::Value(lo)]);

        self.code.builder.switch_to_block(ready);
        let last = self.code.add_with(hi, stride.wrapping_neg());
        self.fall(start, &[BlockArg::Value(lo)]);
        let outside = self.enter();
        self.place.width = width;
        let var = if width == Width::Lanes { Val::Ramp(x, 1) } else { Val::One(x) };
        self.set(looped.var, var, self.place.depth);
        self.woven = if width == Width::Lanes { woven(self.kernel, looped) } else { Vec::new() };
        self.block(&looped.body);
        self.woven.clear();
        let next = self.code.add_with(x, stride);
        let more = self.code.compare(IntCC::SignedLessThanOrEqual, next, last);
        self.code.ins().brif(more, start, &[BlockArg::Value(next)], done, &[BlockArg::Value(next)]);
        self.place = outside;
        self.code.builder.switch_to_block(done);
        rest
    }

    /// Whether `lo..hi` has at least `count` steps.
    fn has_steps(&mut self, lo: Value, hi: Value, count: u64) -> Value {
        let some = self.code.compare(IntCC::SignedLessThan, lo, hi);
        if count == 1 {
            return some;
        }
        let length = self.code.ins().isub(hi, lo);
        let enough = self.code.compare_with(IntCC::UnsignedGreaterThanOrEqual, length, count);
        self.code.ins().band(some, enough)
    }
}
