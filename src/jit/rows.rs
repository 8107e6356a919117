//! Rows in wide vectors: the body of a row loop -> AVX-512 machine code of 256 or 512 bits, made here.
//!
//! ```text
//! row x in lo..hi { load b0 … store b1 … }      fn(frame, count): 16 steps at once, the last ones in a mask
//! ```
//!
//! Cranelift has vectors of 128 bits. What it compiles here is the nest around the row: it puts what is the same for the
//! whole row into a frame (addresses of the first elements, scalars), and calls the row. Rows that this code generator
//! refuses, and machines without AVX-512, keep the 128-bit code; the bits of the results are the same.
//!
//! [`affine`] finds out what moves along the row, [`select`] makes a program for as many registers as it likes (with
//! [`arithmetic`], [`casts`], [`memory`], [`turn`] and [`weave`]), [`allocate`] chooses registers and writes instructions (with
//! [`sequences`]; [`balance`] shares the work out between its pipes before), [`assemble`] puts a
//! loop around them, or one that stores [`past`] the cache; [`evex`] and [`ops`] know the bytes.

mod affine;
mod ahead;
mod allocate;
mod arithmetic;
mod ask;
mod assemble;
mod balance;
mod casts;
mod carry;
mod evex;
mod inner;
mod kinds;
mod memory;
mod nans;
mod ops;
mod past;
mod pool;
mod program;
mod remainder;
mod select;
mod sequences;
mod turn;
mod values;
mod weave;

pub(super) use affine::Motions;
pub(super) use ask::ask;
pub(super) use memory::TABLE_SLACK;
pub(super) use program::Slot;

use super::{Vectors, target};
use crate::loops::ir::{Block, BufferId, For, Kernel, LoopKind, Statement};
use evex::Bits;

/// The code of a row.
pub(super) struct Row {
    /// Runs anywhere; needs nothing else.
    pub(super) bytes: Vec<u8>,
    /// What the frame holds, eight bytes each.
    pub(super) slots: Vec<Slot>,
}

/// Compiles a row, or says why it keeps its narrow code.
fn compile(kernel: &Kernel, row: &For, bits: Bits) -> Result<Row, &'static str> {
    let mut program = select::select(kernel, row, bits)?;
    let past = past::past(&mut program);
    if program.is_too_long() {
        return Err("too long");
    }
    let written = |buffer: BufferId| kernel.buffers[buffer.index()].written;
    let mut ahead = ahead::ahead(&program, bits.bytes() / 4, written);
    if target::is_amd() {
        // Afterwards: a sum and a product are not of one kind.
        balance::balance(&mut program);
        ahead.iter_mut().for_each(|ahead| balance::balance(&mut ahead.pass));
    }
    let bytes = assemble::assemble(&program, bits, past.as_ref(), ahead.as_ref());
    Ok(Row { bytes, slots: program.slots })
}

/// The code of every row of a kernel, in the order in which they stand; `None` for those that are refused.
pub(super) fn compile_all(kernel: &Kernel, vectors: Vectors) -> Vec<Option<Row>> {
    let bits = match vectors {
        Vectors::V128 => return Vec::new(),
        Vectors::V256 => Bits::B256,
        Vectors::V512 => Bits::B512,
    };
    let mut rows = Vec::new();
    each_row(&kernel.body, &mut |row| rows.push(compile(kernel, row, bits).ok()));
    rows
}

fn each_row(block: &Block, visit: &mut impl FnMut(&For)) {
    for statement in &block.statements {
        match statement {
            Statement::Let(_) | Statement::Store(..) => {}
            Statement::For(looped) if looped.kind == LoopKind::Row => visit(looped),
            Statement::For(looped) => each_row(&looped.body, visit),
            Statement::If(choice) => {
                each_row(&choice.then, visit);
                each_row(&choice.otherwise, visit);
            }
        }
    }
}

/// The code of a row as text, up to its constants.
pub(super) fn disassembled(bytes: &[u8]) -> String {
    use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};
    let mut formatter = IntelFormatter::new();
    formatter.options_mut().set_rip_relative_addresses(true);
    let mut text = String::new();
    for instruction in Decoder::new(64, bytes, DecoderOptions::NONE) {
        let mut line = String::new();
        formatter.format(&instruction, &mut line);
        text.push_str(&format!("  {:4x}  {line}\n", instruction.ip()));
        if instruction.mnemonic() == iced_x86::Mnemonic::Ret {
            break;
        }
    }
    text
}

/// Whether this processor has what wide rows need.
pub(super) fn available() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("bmi2")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}
