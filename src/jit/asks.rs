//! Loops along lists that no cache holds: the lines of later entries are asked for, part by part.
//!
//! ```text
//! for e in ptr[y]..ptr[y + 1]      becomes   for every 256 of them: ask for those of lo and values 512 entries ahead
//!   lo[e] … values[e]                        and go along the 256
//! ```
//!
//! What is looked up beside a list (`v[lo[e]]`) lies anywhere, and processors then no longer read ahead of the list itself.
//! Rows follow each other in memory, so what lies ahead of a short one are those after it. Beyond the end of an array there may
//! be nothing: asking for it does nothing.

use super::emit::{Emitter, trusted};
use super::rows;
use crate::loops::ir::{Block, BufferId, For, Kernel, LoopKind, Op, Statement, ValueId};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{self, BlockArg, FuncRef, InstBuilder, Value};
use std::collections::BTreeSet;

/// Entries that are gone along between one look ahead and the next, at the most.
const PART: u64 = 256;
/// How many entries ahead.
const AHEAD: u64 = 512;

/// Part of a loop that goes along lists.
pub(super) struct Part {
    /// Where the next one starts, with the variable and what is carried.
    pub(super) start: ir::Block,
    /// One past its last step.
    pub(super) end: Value,
}

/// The code that asks for lines, if a kernel has loops along lists and the processor an instruction for that.
pub(super) fn code(kernel: &Kernel) -> Option<Vec<u8>> {
    let asks = cfg!(all(target_arch = "x86_64", unix)) && any_list(kernel, &kernel.body);
    asks.then(rows::ask)
}

fn any_list(kernel: &Kernel, block: &Block) -> bool {
    block.statements.iter().any(|statement| match statement {
        Statement::Let(_) | Statement::Store(..) => false,
        Statement::For(looped) => !lists(kernel, looped).is_empty() || any_list(kernel, &looped.body),
        Statement::If(choice) => any_list(kernel, &choice.then) || any_list(kernel, &choice.otherwise),
    })
}

/// The arrays that a loop goes along element by element, if its ends come from memory: those of rows do.
fn lists(kernel: &Kernel, looped: &For) -> BTreeSet<BufferId> {
    let mut lists = BTreeSet::new();
    if looped.kind == LoopKind::Serial && [looped.lo, looped.hi].iter().all(|end| is_loaded(kernel, *end)) {
        along(kernel, &looped.body, looped.var, &mut lists);
    }
    lists
}

fn is_loaded(kernel: &Kernel, id: ValueId) -> bool {
    match kernel.value(id).op {
        Op::Load(..) => true,
        Op::Cast(inner) => is_loaded(kernel, inner),
        _ => false,
    }
}

/// What is loaded at a variable.
fn along(kernel: &Kernel, block: &Block, var: ValueId, lists: &mut BTreeSet<BufferId>) {
    for statement in &block.statements {
        match statement {
            Statement::Let(id) => match kernel.value(*id).op {
                Op::Load(buffer, offset) if offset == var => _ = lists.insert(buffer),
                _ => {}
            },
            Statement::For(inner) => along(kernel, &inner.body, var, lists),
            Statement::If(choice) => {
                along(kernel, &choice.then, var, lists);
                along(kernel, &choice.otherwise, var, lists);
            }
            Statement::Store(..) => {}
        }
    }
}

impl Emitter<'_, '_> {
    /// Begins a part of a loop if that goes along lists: what it starts with comes from the part then.
    pub(super) fn part(&mut self, looped: &For, hi: Value, first: &mut Vec<BlockArg>) -> Option<Part> {
        let ask = self.ask?;
        let lists = lists(self.kernel, looped);
        if lists.is_empty() {
            return None;
        }
        let [start, far, near] = [(); 3].map(|()| self.new_block());
        let carried = looped.carried.iter().flat_map(|carry| self.types(carry.carried));
        let types: Vec<ir::Type> = [I64].into_iter().chain(carried).collect();
        let given = types.into_iter().map(|ty| self.code.builder.append_block_param(start, ty));
        let given: Vec<Value> = given.collect();
        self.fall(start, first);
        *first = given.iter().copied().map(BlockArg::Value).collect();
        let from = given[0];
        let most = self.code.add_with(from, PART);
        let less = self.code.compare(IntCC::SignedLessThan, most, hi);
        let end = self.code.ins().select(less, most, hi);
        let are_far = self.code.ins().load(I64, trusted(), self.stop, 24);
        self.code.ins().brif(are_far, far, &[], near, &[]);

        self.code.builder.switch_to_block(far);
        for buffer in lists {
            self.ask_for(ask, buffer, [from, end]);
        }
        self.fall(near, &[]);
        Some(Part { start, end })
    }

    /// Asks for what lies ahead of part of an array.
    fn ask_for(&mut self, ask: FuncRef, buffer: BufferId, ends: [Value; 2]) {
        let (base, element) = (self.buffers[buffer.index()], self.kernel.buffers[buffer.index()].element);
        let ends = ends.map(|end| {
            let later = self.code.add_with(end, AHEAD);
            let bytes = self.code.shift_left(later, element.bytes().trailing_zeros());
            self.code.ins().iadd(base, bytes)
        });
        let address = self.code.ins().func_addr(I64, ask);
        let signature = self.code.builder.func.dfg.ext_funcs[ask].signature;
        self.code.ins().call_indirect(signature, address, &ends);
    }
}
