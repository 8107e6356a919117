//! Loops of a vector program as instructions: what they carry has registers of its own, all else is brought in anew.
//!
//! Before the first step every value that is needed later is on the stack or has a home, and the other registers are empty,
//! as they are again after every step. Passes that work ahead hand registers on as well.

use super::allocate::{Allocator, FIRST_PLACE, STEPS_LEFT, in_frame, on_stack, plain};
use super::evex::{R11, Rm, When};
use super::ops;
use super::program::{Bump, Class, Home, Inst, Reg};

impl Allocator<'_> {
    /// Hands a value on to the next pass: in a register that nobody else takes, or on the stack.
    pub(super) fn hand_on(&mut self, at: usize, inst: &Inst, old: Reg) {
        let new = self.ensure(inst.args[0]);
        let (encoding, operands) = match (self.fixed.vectors.get(&old), self.program.homes[old.index()]) {
            (Some(place), _) => (&ops::MOVPS, plain(*place, 0, Rm::Register(new))),
            (None, Home::Carried(place)) => {
                (&ops::STOREPS, plain(new, 0, Rm::Memory(on_stack(FIRST_PLACE + place))))
            }
            (None, _) => unreachable!("only what is carried is handed on"),
        };
        self.bytes.vector(encoding, self.bits, &operands);
        self.release(at, inst);
    }

    /// Starts a loop: what it carries is copied into registers that nobody else takes.
    pub(super) fn begin(&mut self, at: usize, inst: &Inst, number: usize) {
        let program = self.program;
        let carried = &program.loops[number].carried;
        let mut places = Vec::new();
        for (init, reg) in inst.args.iter().zip(carried) {
            let class = program.classes[reg.index()];
            let place = self.free(class);
            self.locked.push((class, place));
            places.push((class, place));
            self.copied(*init, class, place);
        }
        self.locked.clear();
        self.pinned = places;
        self.release(at, inst);
        self.put_away();
        for (reg, (class, place)) in carried.iter().zip(self.pinned.clone()) {
            self.hold(*reg, class, place);
        }
        self.bytes.set(R11, program.loops[number].count);
        self.bytes.store(on_stack(STEPS_LEFT), R11);
        self.start = self.bytes.here();
    }

    /// Ends a step, and after the last one the loop.
    pub(super) fn end(&mut self, at: usize, inst: &Inst, number: usize) {
        let program = self.program;
        let own = &program.loops[number];
        // What is handed on may itself be what another one is carried in.
        let mut ready = Vec::new();
        for (next, home) in inst.args.iter().zip(self.pinned.clone()) {
            let class = program.classes[next.index()];
            let mut place = self.ensure(*next);
            if (class, place) != home && self.pinned.contains(&(class, place)) {
                let copy = self.free(class);
                self.locked.push((class, copy));
                self.moved_register(class, copy, place);
                place = copy;
            }
            ready.push((class, place));
        }
        for ((class, from), (_, to)) in ready.into_iter().zip(self.pinned.clone()) {
            if from != to {
                self.moved_register(class, to, from);
            }
        }
        self.release(at, inst);
        self.drop_all();
        self.bumps(&own.bumps, 1);
        self.bytes.add_to_memory(on_stack(STEPS_LEFT), -1);
        self.bytes.jump_back(When::NotZero, self.start);
        self.bumps(&own.bumps, -own.count);
        let pinned = std::mem::take(&mut self.pinned);
        for ((reg, carried), (class, place)) in own.results.iter().zip(&own.carried).zip(pinned) {
            self.places[carried.index()] = None;
            self.take(*reg, place);
            debug_assert_eq!(program.classes[reg.index()], class, "what comes out is of the same kind");
        }
    }

    /// Whether a value is what the loop under way carries.
    pub(super) fn is_pinned(&self, reg: Reg) -> bool {
        let class = self.program.classes[reg.index()];
        self.places[reg.index()].is_some_and(|place| self.pinned.contains(&(class, place)))
    }

    /// A copy of a value in a register.
    fn copied(&mut self, reg: Reg, class: Class, place: u8) {
        match self.places[reg.index()] {
            Some(from) => self.moved_register(class, place, from),
            None => self.bring(reg, place),
        }
    }

    fn moved_register(&mut self, class: Class, to: u8, from: u8) {
        let operands = plain(to, 0, Rm::Register(from));
        match class {
            Class::Vector => self.bytes.vector(&ops::MOVPS, self.bits, &operands),
            Class::Mask => self.bytes.mask(&ops::KLOAD, &operands),
        }
    }

    /// Saves what is still needed, and empties the registers.
    fn put_away(&mut self) {
        let held = self.vectors.iter().chain(&self.masks).flatten().copied();
        let held: Vec<Reg> = held.filter(|reg| !self.fixed.vectors.contains_key(reg)).collect();
        for reg in held {
            if let Some(place) = self.places[reg.index()] {
                self.save(reg, place);
            }
        }
        self.drop_all();
    }

    /// Empties all registers but those of constants and of what is carried.
    fn drop_all(&mut self) {
        for class in [Class::Vector, Class::Mask] {
            let held = match class {
                Class::Vector => &mut self.vectors[..],
                Class::Mask => &mut self.masks[..],
            };
            for (place, reg) in held.iter_mut().enumerate() {
                let is_pinned = self.pinned.contains(&(class, place as u8));
                if let Some(known) = reg.filter(|reg| !is_pinned && !self.fixed.vectors.contains_key(reg)) {
                    self.places[known.index()] = None;
                    *reg = None;
                }
            }
        }
    }

    fn hold(&mut self, reg: Reg, class: Class, place: u8) {
        self.places[reg.index()] = Some(place);
        match class {
            Class::Vector => self.vectors[usize::from(place)] = Some(reg),
            Class::Mask => self.masks[usize::from(place)] = Some(reg),
        }
    }

    /// Moves slots on, or back.
    fn bumps(&mut self, bumps: &[(usize, Bump)], times: i32) {
        for (slot, bump) in bumps {
            let pointer = self.fixed.pointers.get(slot).copied();
            match (*bump, pointer) {
                (Bump::Bytes(by), Some(pointer)) => self.bytes.add(pointer, by * times),
                (Bump::Bytes(by), None) => self.bytes.add_to_memory(in_frame(*slot), by * times),
                (Bump::Slot(by), pointer) => {
                    self.bytes.load(R11, in_frame(by));
                    self.bytes.multiply(R11, R11, times);
                    match pointer {
                        Some(pointer) => self.bytes.add_register(pointer, R11),
                        None => self.bytes.add_register_to_memory(in_frame(*slot), R11),
                    }
                }
            }
        }
    }
}
