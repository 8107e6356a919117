//! Steps of a vector program that take several instructions: quotients, low words, gathers, loads at a lane.

use super::allocate::{Allocator, LAST_STEP, Pass, TAIL, in_frame, in_pool, on_stack, plain};
use super::evex::{Bits, Index, Memory, Nearness, Operands, R11, RAX, RSI, Rm, When};
use super::ops::{self, Encoding};
use super::program::{Address, Class, Inst, Part, Shape};

/// Bytes between elements of a block that is turned and those whose lines are asked for meanwhile. Blocks follow each
/// other up through their source, and one takes so many instructions that the processor does not see the next by itself.
/// Loops inside a row, which sum, go on along the lines that they began, which it does see: asking would cost more than
/// it gives.
const AHEAD: i32 = 128;

impl Allocator<'_> {
    /// dst = a / b by way of c, the inverse of b.
    ///
    /// With q = a * c rounded, the rest a - q * b is exact, and q + rest * c rounds to the quotient (Markstein's theorem),
    /// as long as nothing overflows and no bits fall off at the small end. Where a lane's exponent is outside of the
    /// middle, those lanes are divided as they are; zeros and what is not a number are among them.
    pub(super) fn divide(&mut self, at: usize, inst: &Inst) {
        let wide = inst.encoding.wide == 1;
        let [a, b, c] = [0, 1, 2].map(|arg| self.ensure(inst.args[arg]));
        let quotient = self.free(Class::Vector);
        self.locked.push((Class::Vector, quotient));
        let rest = self.free(Class::Vector);
        self.locked.push((Class::Vector, rest));
        let far = self.free(Class::Mask);
        let of = |narrow: &'static Encoding, other: &'static Encoding| if wide { other } else { narrow };
        let (bits, register) = (self.bits, Rm::Register);
        // The exponent is in the middle if bits * 2 - lowest < highest - lowest, without signs.
        let shift = Operands { imm: Some(1), ..plain(6, rest, register(a)) };
        self.bytes.vector(of(&ops::SHIFTD, &ops::SHIFTQ), bits, &shift);
        let [lowest, range] = [0, 1].map(|number| in_pool(self.program.middles[usize::from(wide)][number]));
        self.bytes.vector(of(&ops::SUBD, &ops::SUBQ), bits, &plain(rest, rest, Rm::Broadcast(lowest)));
        let compare = Operands { imm: Some(5), ..plain(far, rest, Rm::Broadcast(range)) };
        self.bytes.vector(of(&ops::CMPUD, &ops::CMPUQ), bits, &compare);
        self.bytes.vector(of(&ops::MULPS, &ops::MULPD), bits, &plain(quotient, a, register(c)));
        self.bytes.vector(&ops::MOVPS, bits, &plain(rest, 0, register(quotient)));
        self.bytes.vector(of(&ops::FNMA213PS, &ops::FNMA213PD), bits, &plain(rest, b, register(a)));
        self.bytes.vector(of(&ops::FMA231PS, &ops::FMA231PD), bits, &plain(quotient, rest, register(c)));
        self.bytes.mask(&ops::KTEST, &plain(far, 0, register(far)));
        let all = self.bytes.jump_forward(When::Zero);
        let divide = Operands { mask: far, ..plain(quotient, a, register(b)) };
        self.bytes.vector(inst.encoding, bits, &divide);
        self.bytes.land(all);
        self.release(at, inst);
        self.take(inst.dst.expect("a result"), quotient);
    }

    /// dst = the low words of what i64 conversions of a are.
    ///
    /// Numbers that an i32 holds are converted to it. Its lowest number tells that one was not: then all go by way of i64,
    /// in which too large ones are 2^63 - 1, and too small ones and what is no number have low words of 0.
    pub(super) fn low_words(&mut self, at: usize, inst: &Inst) {
        let a = self.ensure(inst.args[0]);
        let words = self.free(Class::Vector);
        self.locked.push((Class::Vector, words));
        let half = self.free(Class::Vector);
        let far = self.free(Class::Mask);
        let (bits, register) = (self.bits, Rm::Register);
        let [lowest, end, all] = self.program.limits.map(|limit| Rm::Broadcast(in_pool(limit)));
        let (upper, join) = match bits {
            Bits::B512 => (&ops::UPPER512, &ops::JOIN512),
            Bits::B256 => (&ops::UPPER256, &ops::JOIN256),
        };
        self.bytes.vector(&ops::CVTTPS2DQ, bits, &plain(words, 0, register(a)));
        self.bytes.vector(&ops::CMPD, bits, &Operands { imm: Some(0), ..plain(far, words, lowest) });
        self.bytes.mask(&ops::KTEST, &plain(far, 0, register(far)));
        let near = self.bytes.jump_forward(When::Zero);
        self.bytes.vector(&ops::CVTTPS2QQ, bits, &plain(half, 0, register(a)));
        self.bytes.vector(&ops::MOVQD, bits, &plain(half, 0, register(words)));
        self.bytes.vector(upper, bits, &Operands { imm: Some(1), ..plain(a, 0, register(half)) });
        self.bytes.vector(&ops::CVTTPS2QQ, bits, &plain(half, 0, register(half)));
        self.bytes.vector(&ops::MOVQD, bits, &plain(half, 0, register(half)));
        self.bytes.vector(join, bits, &Operands { imm: Some(1), ..plain(words, words, register(half)) });
        self.bytes.vector(&ops::CMPPS, bits, &Operands { imm: Some(29), ..plain(far, a, end) });
        self.bytes.vector(&ops::BLENDD, bits, &Operands { mask: far, ..plain(words, words, all) });
        self.bytes.land(near);
        self.release(at, inst);
        self.take(inst.dst.expect("a result"), words);
    }

    /// Loads what lies at the lane's step of the row; beyond its end, what lies at its last one.
    pub(super) fn at_lane(
        &mut self,
        at: usize,
        inst: &Inst,
        address: Address,
        (pace, lane): (Option<usize>, i32),
    ) {
        let mask = inst.mask.map_or(0, |mask| self.ensure(mask));
        if self.pass != Pass::Tail && self.follows(at) {
            match pace {
                Some(slot) => self.bytes.add_memory(R11, in_frame(slot)),
                None => self.bytes.add(R11, address.step as i32),
            }
        } else {
            self.step_of_lane(lane);
            match pace {
                Some(slot) => self.bytes.multiply_memory(R11, in_frame(slot)),
                None => self.bytes.multiply(R11, R11, address.step as i32),
            }
            self.add_slot(address.slot);
        }
        let dst = self.finish(at, inst);
        let memory = Rm::Memory(Memory::at(R11, address.offset));
        let operands = Operands { mask, zeroing: mask != 0, ..plain(dst, 0, memory) };
        self.bytes.vector(inst.encoding, self.bits, &operands);
        if !self.pinned.is_empty() {
            return;
        }
        self.bytes.prefetch(Nearness::First, Memory::at(R11, address.offset.wrapping_add(AHEAD)));
        let lanes = self.bits.bytes() / 4;
        if self.pass != Pass::Tail && lane + 1 == lanes {
            self.ask_beside(address, pace, lanes);
        }
    }

    /// At the end of a row, asks for the lines beside those whose last one was loaded. Large results are made in strips
    /// whose rows have one block each (`run/across.rs`), and that is where the next strip begins. The lines go to the
    /// second-level cache: in the first one they would take the place of those that are turned now.
    fn ask_beside(&mut self, address: Address, pace: Option<usize>, lanes: i32) {
        self.bytes.compare(RAX, RSI);
        let goes_on = self.bytes.jump_forward(When::NotZero);
        for _ in 0..lanes {
            match pace {
                Some(slot) => self.bytes.add_memory(R11, in_frame(slot)),
                None => self.bytes.add(R11, address.step as i32),
            }
            self.bytes.prefetch(Nearness::Second, Memory::at(R11, address.offset));
        }
        self.bytes.land(goes_on);
    }

    /// Whether the instruction before loaded at the lane before, so that r11 has its address.
    fn follows(&self, at: usize) -> bool {
        let shape = |at: usize| self.program.insts.get(at).map(|inst| inst.shape);
        match (at.checked_sub(1).and_then(shape), shape(at)) {
            (Some(Shape::AtLane { address, pace, lane }), own) => {
                own == Some(Shape::AtLane { address, pace, lane: lane + 1 })
            }
            _ => false,
        }
    }

    /// The step of a lane in r11; that of the last one for lanes beyond the end of the row.
    fn step_of_lane(&mut self, lane: i32) {
        match self.pass {
            Pass::Whole(_) => {
                self.bytes.copy(R11, RAX);
                self.bytes.add(R11, lane);
            }
            Pass::Tail => {
                self.bytes.set(R11, lane);
                self.bytes.compare_memory(R11, on_stack(LAST_STEP));
                self.bytes.move_memory(When::Greater, R11, on_stack(LAST_STEP));
                self.bytes.add_register(R11, RAX);
            }
        }
    }

    /// A gather uses up its mask and must not write over its indices.
    pub(super) fn gather(&mut self, at: usize, inst: &Inst, address: Address, part: Part) {
        let index = self.ensure(inst.args[0]);
        let mask = self.free(Class::Mask);
        self.locked.push((Class::Mask, mask));
        match (self.pass, part) {
            (Pass::Whole(_), _) => {
                self.bytes.mask(&ops::KXNOR, &plain(mask, mask, Rm::Register(mask)));
            }
            (Pass::Tail, Part::High) => {
                let half = Operands { imm: Some(self.half()), ..plain(mask, 0, Rm::Register(TAIL)) };
                self.bytes.mask(&ops::KSHIFTR, &half);
            }
            (Pass::Tail, _) => {
                self.bytes.mask(&ops::KLOAD, &plain(mask, 0, Rm::Register(TAIL)));
            }
        }
        let dst = self.free(Class::Vector);
        self.bytes.vector(&ops::XORD, self.bits, &plain(dst, dst, Rm::Register(dst)));
        let mut memory = match address.step {
            0 => self.memory(address),
            _ => self.moved(address),
        };
        memory.index = Some((Index::Lanes(index), inst.imm.unwrap_or(1)));
        let operands = Operands { mask, ..plain(dst, 0, Rm::Memory(memory)) };
        self.bytes.vector(inst.encoding, self.bits, &operands);
        self.release(at, inst);
        self.take(inst.dst.expect("a result"), dst);
    }
}
