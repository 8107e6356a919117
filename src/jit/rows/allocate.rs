//! A vector program -> machine code of one pass over it, with registers chosen on the way.
//!
//! Values live in registers until their last use; when none is free, the one whose next use is furthest away makes
//! room. Sources (rows of memory, constants, what is the same for the whole row) are never saved: they are loaded again,
//! or go into the instruction as memory.

use super::evex::{Base, Bits, Bytes, Gpr, Index, Memory, Operands, R11, RAX, RDI, RSP, Rm};
use super::ops::{self, Encoding, Tuple};
use super::past;
use super::program::{Address, Class, Home, Inst, Part, Program, Reg, Shape};
use std::collections::HashMap;

/// The mask of the lanes that a short last step of a row has.
pub(super) const TAIL: u8 = 7;
/// Places on the stack for masks of the tail.
pub(super) const BACKWARDS: usize = 0;
pub(super) const EVEN: usize = 1;
pub(super) const EVEN_REST: usize = 2;
/// The place for the number of the last step that is left.
pub(super) const LAST_STEP: usize = 3;
/// The place for the steps that a loop inside the row has left.
pub(super) const STEPS_LEFT: usize = 4;
/// The place for the last step from which a whole pass can be done, during a pass in a mask.
pub(super) const LIMIT: usize = 5;
/// The place for the mask of lanes that are woven from two values; those for three and four come after it.
pub(super) const WOVEN: usize = 6;
/// The first place that a pass may use.
pub(super) const FIRST_PLACE: usize = 9;
const VECTORS: u8 = 32;
const NEVER: usize = usize::MAX;

/// Which steps of the row a pass does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// As many as a register has lanes.
    Whole(Stores),
    /// Fewer: those in the mask [`TAIL`].
    Tail,
}

/// Which way stores take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stores {
    /// Through the cache.
    Cached,
    /// Past it, all of them: [`past`](super::past) says when.
    Past,
}

/// What stays where it is during the whole row.
#[derive(Debug, Default)]
pub(super) struct Fixed {
    /// Sources that have a register of their own.
    pub(super) vectors: HashMap<Reg, u8>,
    /// Slots that have one.
    pub(super) pointers: HashMap<usize, Gpr>,
}

pub(super) struct Allocator<'p> {
    pub(super) program: &'p Program,
    pub(super) bits: Bits,
    pub(super) pass: Pass,
    pub(super) fixed: &'p Fixed,
    pub(super) bytes: &'p mut Bytes,
    /// The uses of each register that are still to come, the next one last.
    uses: Vec<Vec<usize>>,
    pub(super) places: Vec<Option<u8>>,
    saved: Vec<Option<usize>>,
    pub(super) vectors: [Option<Reg>; VECTORS as usize],
    pub(super) masks: [Option<Reg>; 8],
    /// Registers that the instruction under construction uses.
    pub(super) locked: Vec<(Class, u8)>,
    /// Registers of what the loop under way carries, and where its code starts.
    pub(super) pinned: Vec<(Class, u8)>,
    pub(super) start: usize,
    stack: usize,
}

/// Emits one pass; gives the places on the stack that it needs.
pub(super) fn emit(program: &Program, bits: Bits, pass: Pass, fixed: &Fixed, bytes: &mut Bytes) -> usize {
    let mut uses = vec![Vec::new(); program.homes.len()];
    for (at, inst) in program.insts.iter().enumerate().rev() {
        inst.args.iter().chain(&inst.mask).for_each(|arg| uses[arg.index()].push(at));
    }
    let count = program.homes.len();
    let mut allocator = Allocator {
        program,
        bits,
        pass,
        fixed,
        bytes,
        uses,
        places: vec![None; count],
        saved: vec![None; count],
        vectors: [None; VECTORS as usize],
        masks: [None; 8],
        locked: Vec::new(),
        pinned: Vec::new(),
        start: 0,
        stack: FIRST_PLACE + program.carried,
    };
    for (reg, place) in &fixed.vectors {
        allocator.places[reg.index()] = Some(*place);
        allocator.vectors[usize::from(*place)] = Some(*reg);
    }
    for (at, inst) in program.insts.iter().enumerate() {
        allocator.inst(at, inst);
    }
    allocator.stack
}

/// Loads the sources that have a register of their own.
pub(super) fn load_fixed(program: &Program, bits: Bits, fixed: &Fixed, bytes: &mut Bytes) {
    let mut vectors: Vec<(&Reg, &u8)> = fixed.vectors.iter().collect();
    vectors.sort();
    for (reg, place) in vectors {
        let (encoding, memory) = match program.homes[reg.index()] {
            Home::Pool(at) => (&ops::MOVPS, in_pool(at)),
            Home::PoolElement(at, encoding) => (encoding, in_pool(at)),
            Home::Slot(slot, encoding) => (encoding, in_frame(slot)),
            Home::Computed | Home::Load(..) | Home::Carried(_) | Home::PoolMask(_) | Home::SlotMask(_) => {
                continue;
            }
        };
        bytes.vector(encoding, bits, &plain(*place, 0, Rm::Memory(memory)));
    }
}

pub(super) fn plain(reg: u8, vvvv: u8, rm: Rm) -> Operands {
    Operands { reg, vvvv, rm, mask: 0, zeroing: false, imm: None }
}

pub(super) fn in_pool(offset: i32) -> Memory {
    Memory { base: Base::Pool, index: None, offset }
}

pub(super) fn in_frame(slot: usize) -> Memory {
    Memory::at(RDI, 8 * slot as i32)
}

pub(super) fn on_stack(place: usize) -> Memory {
    Memory::at(RSP, 64 * place as i32)
}

/// The place for the mask of lanes that are woven from that many values.
pub(super) fn woven_place(of: u8) -> usize {
    WOVEN + usize::from(of) - 2
}

fn commutes(encoding: &Encoding) -> bool {
    [
        ops::ADDPS,
        ops::ADDPD,
        ops::MULPS,
        ops::MULPD,
        ops::ADDD,
        ops::ADDQ,
        ops::MULD,
        ops::MULQ,
        ops::ANDD,
        ops::ANDQ,
        ops::ORD,
        ops::ORQ,
        ops::XORD,
        ops::XORQ,
    ]
    .contains(encoding)
}

impl Allocator<'_> {
    fn inst(&mut self, at: usize, inst: &Inst) {
        self.locked.clear();
        match inst.shape {
            Shape::Two | Shape::Blend => self.two(at, inst),
            Shape::One => self.one(at, inst),
            Shape::Shift(digit) => {
                let a = self.ensure(inst.args[0]);
                let dst = self.finish(at, inst);
                let operands = Operands { imm: inst.imm, ..plain(digit, dst, Rm::Register(a)) };
                self.bytes.vector(inst.encoding, self.bits, &operands);
            }
            Shape::Reversed => {
                let a = self.ensure(inst.args[0]);
                let dst = self.finish(at, inst);
                let operands = Operands { imm: inst.imm, ..plain(a, 0, Rm::Register(dst)) };
                self.bytes.vector(inst.encoding, self.bits, &operands);
            }
            Shape::HandOn(old) => self.hand_on(at, inst, old),
            Shape::Begin(number) => self.begin(at, inst, number),
            Shape::End(number) => self.end(at, inst, number),
            Shape::Fma => self.fma(at, inst),
            Shape::Divide => self.divide(at, inst),
            Shape::Remainder(part) => self.remainder(at, inst, part),
            Shape::LowWords => self.low_words(at, inst),
            Shape::Permute2 => self.permute2(at, inst),
            Shape::Store(address, part) => self.store(at, inst, address, part),
            Shape::Gather(address, part) => self.gather(at, inst, address, part),
            Shape::AtLane { address, pace, lane } => self.at_lane(at, inst, address, (pace, lane)),
            Shape::Splat { slot, step } => {
                self.bytes.multiply_wide(R11, RAX, step);
                self.bytes.add_memory(R11, in_frame(slot));
                let dst = self.finish(at, inst);
                self.bytes.vector(inst.encoding, self.bits, &plain(dst, 0, Rm::General(R11)));
            }
            Shape::MaskTwo => {
                let (a, b) = (self.ensure(inst.args[0]), self.ensure(inst.args[1]));
                let dst = self.finish(at, inst);
                self.bytes.mask(inst.encoding, &plain(dst, a, Rm::Register(b)));
            }
            Shape::MaskOne => {
                let a = self.ensure(inst.args[0]);
                let dst = self.finish(at, inst);
                let operands = Operands { imm: inst.imm, ..plain(dst, 0, Rm::Register(a)) };
                self.bytes.mask(inst.encoding, &operands);
            }
        }
    }

    fn two(&mut self, at: usize, inst: &Inst) {
        let (mut a, mut b) = (inst.args[0], inst.args[1]);
        if commutes(inst.encoding)
            && self.places[a.index()].is_none()
            && self.folded(at, a, inst.encoding).is_some()
        {
            std::mem::swap(&mut a, &mut b);
        }
        let mask = inst.mask.map_or(0, |mask| self.ensure(mask));
        let first = self.ensure(a);
        let rm = self.last(at, b, inst.encoding);
        let dst = self.finish(at, inst);
        let operands = Operands { mask, imm: inst.imm, ..plain(dst, first, rm) };
        self.bytes.vector(inst.encoding, self.bits, &operands);
    }

    fn one(&mut self, at: usize, inst: &Inst) {
        let mask = inst.mask.map_or(0, |mask| self.ensure(mask));
        let a = self.ensure(inst.args[0]);
        let dst = self.finish(at, inst);
        let zeroing = inst.mask.is_some();
        let operands = Operands { mask, zeroing, imm: inst.imm, ..plain(dst, 0, Rm::Register(a)) };
        self.bytes.vector(inst.encoding, self.bits, &operands);
    }

    /// One factor or the summand is overwritten: one that nobody needs any more, or a copy.
    fn fma(&mut self, at: usize, inst: &Inst) {
        let args = [inst.args[0], inst.args[1], inst.args[2]];
        let wide = inst.encoding.wide == 1;
        let foldable = |allocator: &Self, arg: usize| {
            allocator.places[args[arg].index()].is_none()
                && (0..3).all(|other| other == arg || args[other] != args[arg])
                && allocator.folded(at, args[arg], inst.encoding).is_some()
        };
        let memory = [2, 1, 0].into_iter().find(|arg| foldable(self, *arg));
        let rest: Vec<usize> = (0..3).filter(|arg| Some(*arg) != memory).collect();
        let places: Vec<u8> = rest.iter().map(|arg| self.ensure(args[*arg])).collect();
        let dies = |allocator: &Self, arg: usize| {
            !allocator.fixed.vectors.contains_key(&args[arg])
                && allocator.next_use(args[arg], at) == NEVER
                && (0..3).all(|other| other == arg || args[other] != args[arg])
        };
        let tied = rest.iter().rposition(|arg| dies(self, *arg));
        let rm_of = |allocator: &mut Self, arg: usize| match memory {
            Some(memory) if memory == arg => allocator.last(at, args[arg], inst.encoding),
            _ => {
                let place = allocator.places[args[arg].index()].expect("ensured");
                Rm::Register(place)
            }
        };
        let chosen = tied.unwrap_or(rest.len() - 1);
        let tied_arg = rest[chosen];
        let others: Vec<usize> = (0..3).filter(|arg| *arg != tied_arg).collect();
        // The operand in memory is the last one; else the second is.
        let (vvvv_arg, rm_arg) = match memory {
            Some(memory) => (others.iter().copied().find(|arg| *arg != memory).expect("two others"), memory),
            None => (others[0], others[1]),
        };
        let vvvv = self.places[args[vvvv_arg].index()].expect("ensured");
        let rm = rm_of(self, rm_arg);
        let dst = match tied {
            Some(_) => {
                let place = places[chosen];
                self.release(at, inst);
                self.take(inst.dst.expect("a result"), place)
            }
            None => {
                let dst = self.free(Class::Vector);
                self.bytes.vector(&ops::MOVPS, self.bits, &plain(dst, 0, Rm::Register(places[chosen])));
                self.release(at, inst);
                self.take(inst.dst.expect("a result"), dst)
            }
        };
        let encoding = match (tied_arg, rm_arg) {
            (2, _) => [&ops::FMA231PS, &ops::FMA231PD],
            (_, 2) => [&ops::FMA213PS, &ops::FMA213PD],
            _ => [&ops::FMA132PS, &ops::FMA132PD],
        };
        self.bytes.vector(encoding[usize::from(wide)], self.bits, &plain(dst, vvvv, rm));
    }

    /// dst = a permuted with c by b; written over a copy of a.
    fn permute2(&mut self, at: usize, inst: &Inst) {
        let [a, b, c] = [0, 1, 2].map(|arg| self.ensure(inst.args[arg]));
        let dst = self.free(Class::Vector);
        self.bytes.vector(&ops::MOVPS, self.bits, &plain(dst, 0, Rm::Register(a)));
        self.release(at, inst);
        let dst = self.take(inst.dst.expect("a result"), dst);
        self.bytes.vector(inst.encoding, self.bits, &plain(dst, b, Rm::Register(c)));
    }

    fn store(&mut self, at: usize, inst: &Inst, address: Address, part: Part) {
        let value = self.ensure(inst.args[0]);
        let mask = self.lanes_mask(part);
        let memory = self.memory(address);
        let operands = Operands { mask, imm: inst.imm, ..plain(value, 0, Rm::Memory(memory)) };
        let encoding = match self.pass {
            Pass::Whole(Stores::Past) => past::instead(inst.encoding).expect("all stores have such a way"),
            Pass::Whole(Stores::Cached) | Pass::Tail => inst.encoding,
        };
        self.bytes.vector(encoding, self.bits, &operands);
        self.release(at, inst);
    }

    /// Half the lanes of a row.
    pub(super) fn half(&self) -> u8 {
        (self.bits.bytes() / 8) as u8
    }

    /// The mask of the lanes that a part has: none for a whole register.
    pub(super) fn lanes_mask(&mut self, part: Part) -> u8 {
        match (self.pass, part) {
            (Pass::Whole(_), _) => 0,
            (Pass::Tail, Part::All | Part::Low) => TAIL,
            (Pass::Tail, Part::High) => {
                let mask = self.free(Class::Mask);
                self.locked.push((Class::Mask, mask));
                let half = Operands { imm: Some(self.half()), ..plain(mask, 0, Rm::Register(TAIL)) };
                self.bytes.mask(&ops::KSHIFTR, &half);
                mask
            }
            (Pass::Tail, Part::Woven { of, from }) => self.woven_mask(of, from),
            (Pass::Tail, Part::Backwards | Part::Even | Part::EvenRest) => {
                let mask = self.free(Class::Mask);
                self.locked.push((Class::Mask, mask));
                let place = match part {
                    Part::Even => EVEN,
                    Part::EvenRest => EVEN_REST,
                    Part::All | Part::Low | Part::High | Part::Backwards | Part::Woven { .. } => BACKWARDS,
                };
                self.bytes.mask(&ops::KLOAD, &plain(mask, 0, Rm::Memory(on_stack(place))));
                mask
            }
        }
    }

    /// The mask of lanes that are woven, from a number on: part of the bits that lie on the stack.
    fn woven_mask(&mut self, of: u8, from: u8) -> u8 {
        let mask = self.free(Class::Mask);
        self.locked.push((Class::Mask, mask));
        let mut bits = on_stack(woven_place(of));
        bits.offset += i32::from(from / 8);
        self.bytes.mask(&ops::KLOAD, &plain(mask, 0, Rm::Memory(bits)));
        if !from.is_multiple_of(8) {
            let shift = Operands { imm: Some(from % 8), ..plain(mask, 0, Rm::Register(mask)) };
            self.bytes.mask(&ops::KSHIFTR, &shift);
        }
        mask
    }

    /// Where an address points in this step of the row.
    pub(super) fn memory(&mut self, address: Address) -> Memory {
        let Address { slot, step, offset } = address;
        if matches!(step, 0 | 1 | 2 | 4 | 8) {
            let base = self.fixed.pointers.get(&slot).copied().unwrap_or_else(|| {
                self.bytes.load(R11, in_frame(slot));
                R11
            });
            let index = (step != 0).then_some((Index::Register(RAX), step as u8));
            return Memory { base: Base::Register(base), index, offset };
        }
        self.moved(address)
    }

    /// The same without an index.
    pub(super) fn moved(&mut self, address: Address) -> Memory {
        self.bytes.multiply(R11, RAX, address.step as i32);
        self.add_slot(address.slot);
        Memory::at(R11, address.offset)
    }

    /// Adds what a slot holds to r11.
    pub(super) fn add_slot(&mut self, slot: usize) {
        match self.fixed.pointers.get(&slot) {
            Some(pointer) => self.bytes.add_register(R11, *pointer),
            None => self.bytes.add_memory(R11, in_frame(slot)),
        }
    }

    // --- operands ---

    /// The memory that an instruction can take instead of a register, if that is as good.
    fn folded(&self, at: usize, reg: Reg, encoding: &Encoding) -> Option<Folded> {
        if encoding.tuple != Tuple::Full {
            return None;
        }
        if let Some(place) = self.saved[reg.index()] {
            return Some(Folded::Whole(on_stack(place)));
        }
        let element = if encoding.wide == 1 { &ops::SPLATQ } else { &ops::SPLATD };
        match self.program.homes[reg.index()] {
            Home::Pool(at) => Some(Folded::Whole(in_pool(at))),
            Home::Carried(place) => Some(Folded::Whole(on_stack(FIRST_PLACE + place))),
            Home::PoolElement(at, splat) if splat == element => Some(Folded::Element(in_pool(at))),
            Home::Slot(slot, splat) if splat == element => Some(Folded::Element(in_frame(slot))),
            Home::Load(address, load, _)
                if self.pass != Pass::Tail
                    && [ops::MOVPS, ops::MOVPD].contains(load)
                    && self.next_use(reg, at) == NEVER =>
            {
                Some(Folded::Row(address))
            }
            _ => None,
        }
    }

    /// The last operand: in its register, or as memory.
    fn last(&mut self, at: usize, reg: Reg, encoding: &Encoding) -> Rm {
        if self.places[reg.index()].is_none() {
            match self.folded(at, reg, encoding) {
                Some(Folded::Whole(memory)) => return Rm::Memory(memory),
                Some(Folded::Element(memory)) => return Rm::Broadcast(memory),
                Some(Folded::Row(address)) => return Rm::Memory(self.memory(address)),
                None => {}
            }
        }
        Rm::Register(self.ensure(reg))
    }

    /// The register that a value is in, which it is brought into if it has none.
    pub(super) fn ensure(&mut self, reg: Reg) -> u8 {
        let class = self.program.classes[reg.index()];
        let place = match self.places[reg.index()] {
            Some(place) => place,
            None => {
                let place = self.free(class);
                self.locked.push((class, place));
                self.bring(reg, place);
                self.take(reg, place)
            }
        };
        self.locked.push((class, place));
        place
    }

    /// Loads a value that is in no register.
    pub(super) fn bring(&mut self, reg: Reg, place: u8) {
        let class = self.program.classes[reg.index()];
        if let Some(saved) = self.saved[reg.index()] {
            let operands = plain(place, 0, Rm::Memory(on_stack(saved)));
            return match class {
                Class::Vector => self.bytes.vector(&ops::MOVPS, self.bits, &operands),
                Class::Mask => self.bytes.mask(&ops::KLOAD, &operands),
            };
        }
        let (encoding, memory, mask) = match self.program.homes[reg.index()] {
            Home::Pool(at) => (&ops::MOVPS, in_pool(at), 0),
            Home::Carried(place) => (&ops::MOVPS, on_stack(FIRST_PLACE + place), 0),
            Home::PoolElement(at, encoding) => (encoding, in_pool(at), 0),
            Home::Slot(slot, encoding) => (encoding, in_frame(slot), 0),
            Home::Load(address, encoding, part) => {
                let mask = self.lanes_mask(part);
                (encoding, self.memory(address), mask)
            }
            Home::PoolMask(at) => {
                return self.bytes.mask(&ops::KLOAD, &plain(place, 0, Rm::Memory(in_pool(at))));
            }
            Home::SlotMask(slot) => {
                return self.bytes.mask(&ops::KLOAD, &plain(place, 0, Rm::Memory(in_frame(slot))));
            }
            Home::Computed => unreachable!("a computed value is in a register or saved until its last use"),
        };
        let operands = Operands { mask, zeroing: mask != 0, ..plain(place, 0, Rm::Memory(memory)) };
        self.bytes.vector(encoding, self.bits, &operands);
    }

    // --- registers ---

    fn next_use(&self, reg: Reg, after: usize) -> usize {
        self.uses[reg.index()].iter().rev().copied().find(|at| *at > after).unwrap_or(NEVER)
    }

    /// Gives back the registers of arguments that were used for the last time.
    pub(super) fn release(&mut self, at: usize, inst: &Inst) {
        for arg in inst.args.iter().chain(&inst.mask) {
            let uses = &mut self.uses[arg.index()];
            while uses.last().is_some_and(|next| *next <= at) {
                uses.pop();
            }
            if uses.is_empty()
                && !self.is_pinned(*arg)
                && !self.fixed.vectors.contains_key(arg)
                && let Some(place) = self.places[arg.index()].take()
            {
                match self.program.classes[arg.index()] {
                    Class::Vector => self.vectors[usize::from(place)] = None,
                    Class::Mask => self.masks[usize::from(place)] = None,
                }
            }
        }
    }

    /// Ends the use of the arguments and finds a register for the result.
    pub(super) fn finish(&mut self, at: usize, inst: &Inst) -> u8 {
        self.release(at, inst);
        self.locked.clear();
        let dst = inst.dst.expect("a result");
        let place = self.free(self.program.classes[dst.index()]);
        self.take(dst, place)
    }

    pub(super) fn take(&mut self, reg: Reg, place: u8) -> u8 {
        self.places[reg.index()] = Some(place);
        match self.program.classes[reg.index()] {
            Class::Vector => {
                self.vectors[usize::from(place)] = Some(reg);
            }
            Class::Mask => self.masks[usize::from(place)] = Some(reg),
        }
        // A result that nobody uses gives its register back at once.
        if self.uses[reg.index()].is_empty() && !self.fixed.vectors.contains_key(&reg) {
            self.places[reg.index()] = None;
            match self.program.classes[reg.index()] {
                Class::Vector => self.vectors[usize::from(place)] = None,
                Class::Mask => self.masks[usize::from(place)] = None,
            }
        }
        place
    }

    /// A register that may be written: a free one, or the one whose value is needed last.
    pub(super) fn free(&mut self, class: Class) -> u8 {
        let (held, numbers): (&[Option<Reg>], std::ops::Range<u8>) = match class {
            Class::Vector => (&self.vectors, 0..VECTORS),
            Class::Mask => (&self.masks, 1..TAIL),
        };
        let is_locked =
            |place: u8| self.locked.contains(&(class, place)) || self.pinned.contains(&(class, place));
        if let Some(place) =
            numbers.clone().find(|place| held[usize::from(*place)].is_none() && !is_locked(*place))
        {
            return place;
        }
        let victim = numbers
            .filter(|place| !is_locked(*place))
            .filter_map(|place| held[usize::from(place)].map(|reg| (place, reg)))
            .filter(|(_, reg)| !self.fixed.vectors.contains_key(reg))
            .max_by_key(|(_, reg)| self.uses[reg.index()].last().copied().unwrap_or(NEVER));
        let (place, reg) = victim.expect("more registers than an instruction uses");
        self.save(reg, place);
        self.places[reg.index()] = None;
        match class {
            Class::Vector => self.vectors[usize::from(place)] = None,
            Class::Mask => self.masks[usize::from(place)] = None,
        }
        place
    }

    /// Puts a computed value on the stack.
    pub(super) fn save(&mut self, reg: Reg, place: u8) {
        if self.program.homes[reg.index()] != Home::Computed || self.saved[reg.index()].is_some() {
            return;
        }
        let operands = plain(place, 0, Rm::Memory(on_stack(self.stack)));
        match self.program.classes[reg.index()] {
            Class::Vector => self.bytes.vector(&ops::STOREPS, self.bits, &operands),
            Class::Mask => self.bytes.mask(&ops::KSTORE, &operands),
        }
        self.saved[reg.index()] = Some(self.stack);
        self.stack += 1;
    }
}

/// Memory in place of a register.
enum Folded {
    Whole(Memory),
    /// One element for all lanes.
    Element(Memory),
    Row(Address),
}
