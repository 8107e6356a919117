//! Loads whose elements lie apart along the row but side by side with each other: a block of memory, turned.
//!
//! ```text
//! rows y to y + 15 of b[y, x] = a[x, y]      16 loads, each across the rows of a
//! r0 … r15 = 16 elements from a[x, y], a[x + 1, y], …, a[x + 15, y]       whole lines
//! turned                                      r0: a[x …, y], r1: a[x …, y + 1], …
//! ```
//!
//! A block has as many rows as a register has lanes; of fewer loads, the rest of each line is left out. Blocks of four elements by four are turned inside their 128 bits,
//! by taking elements of two registers in turn; then the 128 bits change places.

use super::affine::{Motion, Motions, Pace};
use super::evex::Bits;
use super::memory::{FAR, loads};
use super::ops::{self, Encoding};
use super::program::{Address, Class, Home, Reg, Shape, Slot};
use super::select::{Lanes, Refused, Selector, is_wide};
use crate::loops::ir::{Block, BufferId, Kernel, Op, Statement, ValueId};
use crate::loops::vary::terms;
use std::collections::BTreeMap;

type Result<T> = std::result::Result<T, Refused>;

/// Loads of neighbours: at most as many as a register has elements, in the order of their addresses.
#[derive(Clone, Debug)]
pub(super) struct Turned {
    buffer: BufferId,
    loads: Vec<ValueId>,
    /// Where the first of them lies.
    first: ValueId,
    stride: Stride,
}

/// How far it is from one step of the row to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stride {
    Elements(i64),
    Paced(Pace),
}

impl Stride {
    /// Loads that make a block worth while.
    fn fewest(self) -> usize {
        match self {
            Stride::Elements(_) => 6,
            Stride::Paced(_) => 2,
        }
    }
}

/// Loads by what their offsets have in common, with the constant that sets them apart, and their offsets.
type Known = BTreeMap<(BufferId, Stride, Vec<ValueId>), BTreeMap<i64, (ValueId, ValueId)>>;

fn collect(kernel: &Kernel, motions: &Motions<'_>, block: &Block, known: &mut Known) {
    for statement in &block.statements {
        match statement {
            Statement::Let(id) => {
                let Op::Load(buffer, offset) = kernel.value(*id).op else { continue };
                let bytes = kernel.buffers[buffer.index()].element.bytes();
                let stride = stride(motions, offset, bytes);
                let Some((stride, (terms, constant))) = stride.zip(terms(kernel, offset)) else { continue };
                known.entry((buffer, stride, terms)).or_default().entry(constant).or_insert((*id, offset));
            }
            Statement::For(looped) => collect(kernel, motions, &looped.body, known),
            Statement::Store(..) | Statement::If(_) => {}
        }
    }
}

/// The loads of a row that are done in blocks.
pub(super) fn blocks(kernel: &Kernel, motions: &Motions<'_>, body: &Block, bits: Bits) -> Vec<Turned> {
    let mut known = Known::new();
    collect(kernel, motions, body, &mut known);
    let mut blocks = Vec::new();
    for ((buffer, stride, _), loads) in known {
        let size = elements(kernel, buffer, bits);
        let loads: Vec<(i64, (ValueId, ValueId))> = loads.into_iter().collect();
        let mut rest = &loads[..];
        while let Some((from, (_, first))) = rest.first() {
            let next = |(at, (constant, _)): &(usize, &(i64, _))| *constant == from + *at as i64;
            let count = rest.iter().take(size).enumerate().take_while(next).count();
            let of = rest[..count].iter().map(|(_, (load, _))| *load).collect();
            if count >= stride.fewest().min(size) {
                blocks.push(Turned { buffer, loads: of, first: *first, stride });
            }
            rest = &rest[count..];
        }
    }
    blocks
}

/// Elements that a register holds: those of up to 32 bits in lanes of that.
fn elements(kernel: &Kernel, buffer: BufferId, bits: Bits) -> usize {
    let lane = if is_wide(kernel.buffers[buffer.index()].element) { 8 } else { 4 };
    (bits.bytes() / lane) as usize
}

/// The stride of an offset whose elements lie apart.
fn stride(motions: &Motions<'_>, offset: ValueId, bytes: u64) -> Option<Stride> {
    match motions.of(offset) {
        Motion::Moves(step) => {
            let far = step.checked_mul(bytes as i64).is_some_and(|step| step.unsigned_abs() < FAR);
            (far && step.unsigned_abs() > 2).then_some(Stride::Elements(step))
        }
        Motion::Lanes => motions.pace_of(offset).map(Stride::Paced),
        Motion::Still => None,
    }
}

impl Selector<'_> {
    /// The number of the block that a load is part of.
    pub(super) fn block_of(&self, load: ValueId) -> Option<usize> {
        self.blocks.iter().position(|block| block.loads.contains(&load))
    }

    /// The lanes of a load that is part of a block; those of the others are known then, too.
    pub(super) fn turned(&mut self, number: usize, load: ValueId) -> Result<Lanes> {
        let block = self.blocks[number].clone();
        let element = self.kernel.buffers[block.buffer.index()].element;
        let count = elements(self.kernel, block.buffer, self.bits) as i32;
        let low = self.turned_part(&block, 0)?;
        let lanes: Vec<Lanes> = if is_wide(element) {
            let high = self.turned_part(&block, count)?;
            low.into_iter().zip(high).map(|(low, high)| Lanes::Two(low, high)).collect()
        } else {
            low.into_iter().map(Lanes::One).collect()
        };
        let mut own = None;
        for (id, lanes) in block.loads.iter().zip(lanes) {
            let lanes = self.loaded(element, lanes)?;
            self.values.set(*id, lanes);
            own = if *id == load { Some(lanes) } else { own };
        }
        own.ok_or("a load outside of its block")
    }

    /// The mask of that many lanes.
    fn first_lanes(&mut self, count: usize) -> Reg {
        let at = self.program.pooled(&((1u32 << count) as u16).wrapping_sub(1).to_le_bytes());
        self.program.reg(Class::Mask, Home::PoolMask(at))
    }

    /// A block of as many steps as a register has elements, from a lane on; a register for each load comes first.
    fn turned_part(&mut self, block: &Turned, from: i32) -> Result<Vec<Reg>> {
        let element = self.kernel.buffers[block.buffer.index()].element;
        let bytes = element.bytes() as i64;
        let slot = self.program.slot(Slot::Buffer(block.buffer, Some(block.first)));
        self.bump(slot, block.first, bytes as u64)?;
        let (step, pace) = match block.stride {
            Stride::Elements(step) => (step.checked_mul(bytes).ok_or("steps too long")?, None),
            Stride::Paced(pace) if self.changes(pace.by) => {
                return Err("steps that change in a loop inside the row");
            }
            Stride::Paced(pace) => (0, Some(self.program.slot(Slot::Pace(pace, bytes)))),
        };
        let address = Address { slot, step, offset: 0 };
        let count = elements(self.kernel, block.buffer, self.bits);
        let mask = (block.loads.len() < count).then(|| self.first_lanes(block.loads.len()));
        let rows = (from..from + count as i32)
            .map(|lane| self.program.at_lane(loads(element), Shape::AtLane { address, pace, lane }, mask));
        let rows: Vec<Reg> = rows.collect();
        Ok(if is_wide(element) {
            let pairs = self.in_turn([&ops::UNPCKLPD, &ops::UNPCKHPD], &rows, 1);
            self.places_changed(&pairs, 2)
        } else {
            let pairs = self.in_turn([&ops::UNPCKLPS, &ops::UNPCKHPS], &rows, 1);
            let quads = self.in_turn([&ops::UNPCKLPD, &ops::UNPCKHPD], &pairs, 2);
            self.places_changed(&quads, 4)
        })
    }

    /// Elements of registers that lie `apart` from each other in turn: the lower ones, and the upper ones. Of four
    /// registers a b c d that is first ab ab cd cd, then abcd four times, each with another element of every 128 bits.
    fn in_turn(&mut self, [low, high]: [&'static Encoding; 2], rows: &[Reg], apart: usize) -> Vec<Reg> {
        let mut turned = Vec::with_capacity(rows.len());
        for group in rows.chunks(2 * apart) {
            for (a, b) in group[..apart].iter().zip(&group[apart..]) {
                turned.push(self.program.vector(Shape::Two, low, &[*a, *b], None));
                turned.push(self.program.vector(Shape::Two, high, &[*a, *b], None));
            }
        }
        turned
    }

    /// Registers whose 128 bits have changed places with those of the others that are `apart`, 2 apart, …
    fn places_changed(&mut self, rows: &[Reg], apart: usize) -> Vec<Reg> {
        let mut turned = vec![Reg(0); rows.len()];
        for column in 0..apart {
            let own: Vec<Reg> = rows.iter().skip(column).step_by(apart).copied().collect();
            for (place, reg) in self.squared(&own).into_iter().enumerate() {
                turned[apart * place + column] = reg;
            }
        }
        turned
    }

    /// Two or four registers of as many 128 bits, turned.
    fn squared(&mut self, rows: &[Reg]) -> Vec<Reg> {
        let mut lanes =
            |a: Reg, b: Reg, which: u8| self.program.vector(Shape::Two, &ops::SHUF32X4, &[a, b], Some(which));
        let (even, odd) = (0x88, 0xdd);
        match *rows {
            [a, b] => vec![lanes(a, b, 0), lanes(a, b, 3)],
            [a, b, c, d] => {
                let [ab, cd] = [lanes(a, b, even), lanes(c, d, even)];
                let [zeroth, second] = [lanes(ab, cd, even), lanes(ab, cd, odd)];
                let [ab, cd] = [lanes(a, b, odd), lanes(c, d, odd)];
                let [first, third] = [lanes(ab, cd, even), lanes(ab, cd, odd)];
                vec![zeroth, first, second, third]
            }
            _ => rows.to_vec(),
        }
    }
}
