//! The vector program of a row: instructions on as many registers as it likes.
//!
//! ```text
//! r0 = [p0]            a source: comes into a register, or goes into an instruction as memory, when it is needed
//! r1 = 0.25            a source, too: one element in the pool, broadcast
//! r2 = vmulps r0 r1
//! store [p1] r2
//! ```

use super::affine::Pace;
use super::ops::{self, Encoding};
use super::pool::Pool;
use crate::loops::ir::{BufferId, ValueId};

/// Slots of a frame, at the most.
const MOST_SLOTS: usize = 1024;
/// Instructions of a row, at the most.
const MOST_INSTRUCTIONS: usize = 400_000;

/// A register that is not chosen yet; prints as its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Reg(pub(super) u32);

impl Reg {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Vector,
    Mask,
}

/// Something that is the same for a whole row, in eight bytes that the nest fills in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::jit) enum Slot {
    /// The address of an element of a buffer: that at the offset which a value has at the start of the row, or its
    /// first one.
    Buffer(BufferId, Option<ValueId>),
    /// The same for a table.
    Table(u32, Option<ValueId>),
    /// A value, at the start of the row if it moves along it.
    Value(ValueId),
    /// How many bytes a step of a row is long, for elements of so many bytes.
    Pace(Pace, i64),
    /// Not 0 if what is written is to go past the cache.
    Past,
}

/// A place that moves along the row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Address {
    /// Where it starts.
    pub(super) slot: usize,
    /// Bytes from one step of the row to the next.
    pub(super) step: i64,
    pub(super) offset: i32,
}

/// Where a register's value comes from when it is not in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// Computed; saved on the stack when its register is taken.
    Computed,
    /// A whole register's worth behind the code.
    Pool(i32),
    /// One element behind the code, for all lanes; of 8 bytes if the encoding that loads it says so.
    PoolElement(i32, &'static Encoding),
    /// One element of the frame, for all lanes.
    Slot(usize, &'static Encoding),
    /// Memory that moves along the row. Lanes beyond the end of the row are left out.
    Load(Address, &'static Encoding, Part),
    /// What the pass before has handed on, by its number.
    Carried(usize),
    /// A mask in the pool or in the frame.
    PoolMask(i32),
    SlotMask(usize),
}

/// Which lanes of the row a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    /// All, in 32 bits each.
    All,
    /// All, in 32 bits each, from the last to the first.
    Backwards,
    /// Twice as many, every other one of which is wanted: the first of them, or the rest.
    Even,
    EvenRest,
    /// 64 bits each: the first half of the lanes, or the second.
    Low,
    High,
    /// Lanes of several values in turn, `of` of them, from the number `from` on: the row has `of` times as many as steps.
    Woven {
        of: u8,
        from: u8,
    },
}

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Inst {
    pub(super) shape: Shape,
    pub(super) encoding: &'static Encoding,
    pub(super) dst: Option<Reg>,
    pub(super) args: Vec<Reg>,
    pub(super) mask: Option<Reg>,
    pub(super) imm: Option<u8>,
}

/// What the operands of an instruction are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Shape {
    /// dst = op(a, b); b may be memory.
    Two,
    /// dst = op(a); a may be memory. With a mask, the other lanes are 0.
    One,
    /// dst = a shifted by a constant; the number chooses the instruction.
    Shift(u8),
    /// dst = op(a), encoded the other way round: never from memory.
    Reversed,
    /// dst = a * b + c
    Fma,
    /// dst = a / b, where b is a constant of an ordinary size, and c about 1 / b.
    Divide,
    /// dst = a % b, in those lanes of the row.
    Remainder(Part),
    /// dst = the low words of a, floats, converted to i64.
    LowWords,
    /// dst = lanes of a and c that b says; written over a.
    Permute2,
    /// dst = mask ? b : a; b may be memory.
    Blend,
    /// memory = a
    Store(Address, Part),
    /// dst = elements at 64- or 32-bit indices, of that many bytes each, from an address.
    Gather(Address, Part),
    /// dst = what lies at the address in the lane's step of the row: elements that follow each other in memory.
    AtLane {
        address: Address,
        pace: Option<usize>,
        lane: i32,
    },
    /// dst = the value of a slot, moved along with the row, for all lanes; `step` per step of the row.
    Splat {
        slot: usize,
        step: i64,
    },
    /// dst = op(a, b) on masks.
    MaskTwo,
    /// dst = op(a) on masks.
    MaskOne,
    /// The register, which is [`Home::Carried`], holds a from here on.
    HandOn(Reg),
    /// A loop inside the row starts, or ends: the number of it.
    Begin(usize),
    End(usize),
}

/// A loop inside the row. Its arguments are the values that it starts with; those at its end, what a step hands on.
#[derive(Clone, Debug, Default)]
pub(super) struct Loop {
    /// Steps, at least one.
    pub(super) count: i32,
    /// What is carried from step to step, and what it is called after the last.
    pub(super) carried: Vec<Reg>,
    pub(super) results: Vec<Reg>,
    /// Slots that move from step to step, and by how many bytes.
    pub(super) bumps: Vec<(usize, Bump)>,
}

/// How far a slot moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bump {
    Bytes(i32),
    /// As far as another slot says.
    Slot(usize),
}

/// A row body, ready for registers.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub(super) insts: Vec<Inst>,
    pub(super) loops: Vec<Loop>,
    pub(super) homes: Vec<Home>,
    pub(super) classes: Vec<Class>,
    pub(super) slots: Vec<Slot>,
    pub(super) pool: Pool,
    /// How many registers are handed on from pass to pass.
    pub(super) carried: usize,
    /// Where the pool says which exponents are ordinary: twice the bits of the lowest number, and how much further the
    /// highest is; for f32 and for f64.
    pub(super) middles: [[i32; 2]; 2],
    /// Where the pool has what conversions compare with: i32's lowest number, 2^63 as f32, all bits.
    pub(super) limits: [i32; 3],
    /// Where the pool has what remainders need, for f32 and for f64: they are there once a row has one.
    pub(super) remainders: [[i32; 6]; 2],
    /// 1 and -1 for all lanes, of 32 and of 64 bits: all programs of a row have the same registers for them.
    pub(super) factors: [[Reg; 2]; 2],
}

impl Program {
    pub(super) fn new() -> Program {
        let mut program = Program::default();
        let narrow = [2f32.powi(-60), 2f32.powi(60)].map(|end| end.to_bits() << 1);
        let wide = [2f64.powi(-800), 2f64.powi(800)].map(|end| end.to_bits() << 1);
        let narrow = [narrow[0], narrow[1] - narrow[0]].map(|number| program.pooled(&number.to_le_bytes()));
        let wide = [wide[0], wide[1] - wide[0]].map(|number| program.pooled(&number.to_le_bytes()));
        program.middles = [narrow, wide];
        let limits = [1 << 31, 2f32.powi(63).to_bits(), u32::MAX];
        program.limits = limits.map(|limit| program.pooled(&limit.to_le_bytes()));
        program.factors = [1.0, -1.0].map(|factor| {
            let narrow = program.pooled(&(factor as f32).to_le_bytes());
            let wide = program.pooled(&f64::to_le_bytes(factor));
            let homes = [Home::PoolElement(narrow, &ops::SPLATD), Home::PoolElement(wide, &ops::SPLATQ)];
            homes.map(|home| program.reg(Class::Vector, home))
        });
        program
    }

    pub(super) fn reg(&mut self, class: Class, home: Home) -> Reg {
        self.homes.push(home);
        self.classes.push(class);
        Reg(self.homes.len() as u32 - 1)
    }

    /// Adds an instruction that computes a vector.
    pub(super) fn vector(
        &mut self,
        shape: Shape,
        encoding: &'static Encoding,
        args: &[Reg],
        imm: Option<u8>,
    ) -> Reg {
        self.result(Class::Vector, shape, encoding, args, None, imm)
    }

    /// Adds an instruction that computes a mask.
    pub(super) fn mask(
        &mut self,
        shape: Shape,
        encoding: &'static Encoding,
        args: &[Reg],
        imm: Option<u8>,
    ) -> Reg {
        self.result(Class::Mask, shape, encoding, args, None, imm)
    }

    /// The lanes of `b` where the mask is true, else those of `a`.
    pub(super) fn blend(&mut self, encoding: &'static Encoding, mask: Reg, a: Reg, b: Reg) -> Reg {
        self.result(Class::Vector, Shape::Blend, encoding, &[a, b], Some(mask), None)
    }

    /// The lanes of `a` where the mask is true, else 0.
    pub(super) fn keep(&mut self, encoding: &'static Encoding, mask: Reg, a: Reg) -> Reg {
        self.result(Class::Vector, Shape::One, encoding, &[a], Some(mask), None)
    }

    fn result(
        &mut self,
        class: Class,
        shape: Shape,
        encoding: &'static Encoding,
        args: &[Reg],
        mask: Option<Reg>,
        imm: Option<u8>,
    ) -> Reg {
        let dst = self.reg(class, Home::Computed);
        self.insts.push(Inst { shape, encoding, dst: Some(dst), args: args.to_vec(), mask, imm });
        dst
    }

    /// Adds a load at a lane, of the elements that are in the mask.
    pub(super) fn at_lane(&mut self, encoding: &'static Encoding, shape: Shape, mask: Option<Reg>) -> Reg {
        self.result(Class::Vector, shape, encoding, &[], mask, None)
    }

    /// Takes out instructions whose results nobody uses.
    pub(super) fn sweep(&mut self) {
        let mut used = vec![false; self.homes.len()];
        let mut kept = vec![true; self.insts.len()];
        for (at, inst) in self.insts.iter().enumerate().rev() {
            kept[at] = inst.dst.is_none_or(|dst| used[dst.index()]);
            if kept[at] {
                inst.args.iter().chain(&inst.mask).for_each(|arg| used[arg.index()] = true);
            }
        }
        let mut kept = kept.into_iter();
        self.insts.retain(|_| kept.next().unwrap_or(true));
    }

    /// Adds the start or the end of a loop.
    pub(super) fn mark(&mut self, shape: Shape, args: Vec<Reg>) {
        self.insts.push(Inst { shape, encoding: &ops::MOVPS, dst: None, args, mask: None, imm: None });
    }

    pub(super) fn store(&mut self, encoding: &'static Encoding, address: Address, part: Part, value: Reg) {
        let imm = (*encoding == ops::CVTPS2PH).then_some(0);
        let shape = Shape::Store(address, part);
        self.insts.push(Inst { shape, encoding, dst: None, args: vec![value], mask: None, imm });
    }

    /// The place of some bytes in the pool, which may have them already.
    pub(super) fn pooled(&mut self, bytes: &[u8]) -> i32 {
        self.pool.place(bytes)
    }

    /// Whether it has become longer than a row may be.
    pub(super) fn is_too_long(&self) -> bool {
        self.slots.len() > MOST_SLOTS || self.insts.len() > MOST_INSTRUCTIONS
    }

    /// The number of a slot, which may exist already.
    pub(super) fn slot(&mut self, slot: Slot) -> usize {
        self.slots.iter().position(|known| *known == slot).unwrap_or_else(|| {
            self.slots.push(slot);
            self.slots.len() - 1
        })
    }
}
