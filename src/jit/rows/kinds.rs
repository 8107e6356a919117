//! Which values of a row are the same but for their place along it.
//!
//! ```text
//! r3 = [slot 0 - 4] * r0      kind 1 at -1
//! r4 = [slot 0 + 4] * r0      kind 1 at 1: what r3 is two steps later
//! r5 = r3 * r4                kind 2 at -1, of kind 1 at +0 and at +2
//! ```
//!
//! Only loads that move along the row, and what is computed from them lane by lane, are of a kind.

use super::memory::step_of;
use super::ops::{self, Encoding};
use super::program::{Address, Class, Home, Inst, Part, Program, Reg, Shape, Slot};
use crate::loops::ir::BufferId;
use std::collections::HashMap;

/// A value, as its kind and how many steps of the row it lies after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Moved {
    pub(super) kind: usize,
    pub(super) by: i32,
}

/// How a kind is computed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Make {
    /// Memory that moves along the row; the address is that at 0.
    Load(Address, &'static Encoding),
    Op(Shape, &'static Encoding, Option<u8>, Vec<Arg>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Arg {
    /// The same for the whole row.
    Still(Reg),
    Moving(Moved),
}

/// The values of a program by kind.
#[derive(Default)]
pub(super) struct Kinds {
    /// How each kind is computed: what it is made of comes before it.
    pub(super) makes: Vec<Make>,
    /// Operations that it takes.
    pub(super) work: Vec<usize>,
    known: HashMap<Make, usize>,
    of: HashMap<Reg, Moved>,
}

impl Kinds {
    /// Those of a straight-line program; `written` says which buffers it writes.
    pub(super) fn new(program: &Program, written: impl Fn(BufferId) -> bool) -> Self {
        let mut kinds = Kinds::default();
        for inst in &program.insts {
            for arg in &inst.args {
                if !kinds.of.contains_key(arg)
                    && let Some(moved) = kinds.loaded(program, *arg, &written)
                {
                    kinds.of.insert(*arg, moved);
                }
            }
            if let Some(dst) = inst.dst
                && let Some(moved) = kinds.computed(program, inst)
            {
                kinds.of.insert(dst, moved);
            }
        }
        kinds
    }

    /// What a register is, if it is of a kind.
    pub(super) fn of(&self, reg: Reg) -> Option<Moved> {
        self.of.get(&reg).copied()
    }

    fn kind(&mut self, make: Make) -> usize {
        if let Some(kind) = self.known.get(&make) {
            return *kind;
        }
        let work = match &make {
            Make::Load(..) => 0,
            Make::Op(_, _, _, args) => args.iter().fold(1usize, |work, arg| match arg {
                Arg::Still(_) => work,
                Arg::Moving(moved) => work.saturating_add(self.work[moved.kind]),
            }),
        };
        self.makes.push(make.clone());
        self.work.push(work);
        self.known.insert(make, self.makes.len() - 1);
        self.makes.len() - 1
    }

    fn loaded(&mut self, program: &Program, reg: Reg, written: &impl Fn(BufferId) -> bool) -> Option<Moved> {
        let Home::Load(address, encoding, Part::All) = program.homes[reg.index()] else { return None };
        let step = step_of(encoding)?;
        let Slot::Buffer(buffer, Some(_)) = program.slots[address.slot] else { return None };
        if i64::from(step) != address.step || address.offset % step != 0 || written(buffer) {
            return None;
        }
        let kind = self.kind(Make::Load(Address { offset: 0, ..address }, encoding));
        Some(Moved { kind, by: address.offset / step })
    }

    fn computed(&mut self, program: &Program, inst: &Inst) -> Option<Moved> {
        let dst = inst.dst?;
        let plain = inst.mask.is_none() && program.classes[dst.index()] == Class::Vector;
        if !plain || !is_lane_by_lane(inst) {
            return None;
        }
        let first = inst.args.iter().find_map(|arg| self.of(*arg))?.by;
        let args = inst.args.iter().map(|arg| match self.of(*arg) {
            Some(Moved { kind, by }) => Some(Arg::Moving(Moved { kind, by: by - first })),
            None => match program.homes[arg.index()] {
                Home::PoolElement(..) | Home::Slot(..) => Some(Arg::Still(*arg)),
                _ => None,
            },
        });
        let args: Vec<Arg> = args.collect::<Option<_>>()?;
        let kind = self.kind(Make::Op(inst.shape, inst.encoding, inst.imm, args));
        Some(Moved { kind, by: first })
    }
}

/// Whether every lane of a result comes from the same lane of the operands, all of 32 bits.
fn is_lane_by_lane(inst: &Inst) -> bool {
    const CROSSING: [Encoding; 6] =
        [ops::PERMD, ops::UNPCKLPS, ops::UNPCKHPS, ops::UNPCKLPD, ops::UNPCKHPD, ops::SHUF32X4];
    let shape = matches!(
        inst.shape,
        Shape::Two | Shape::One | Shape::Shift(_) | Shape::Fma | Shape::Divide | Shape::Remainder(Part::All)
    );
    shape && inst.encoding.tuple == ops::Tuple::Full && !CROSSING.contains(inst.encoding)
}
