//! Loops inside a row: what they carry stays in registers, and addresses move from step to step.
//!
//! ```text
//! row x in lo..hi                          r0 = 0
//!   for j in 0..256                        begin 256 steps, r1 from r0
//!     carry v5 = 0                           r2 = vaddps r1 [slot 0 + 4 * x]
//!     v7 = load b0 at x + pitch * j        end, r1 = r2; slot 0 moves by the pitch
//!     next v5 + v7 -> v9                   store r3, which is the last r1
//! ```
//!
//! All lanes of the row go through the loop together, each in the order of its steps: sums are those of one accumulator.

use super::affine::{Motion, Motions};
use super::ops::{self, Encoding};
use super::program::{Address, Bump, Class, Home, Loop, Part, Reg, Shape, Slot};
use super::select::{Lanes, Refused, Selector, is_wide};
use crate::loops::ir::{Block, Carry, For, Op, Statement, ValueId};
use std::collections::BTreeSet;

type Result<T> = std::result::Result<T, Refused>;

/// Registers that a loop carries, at the most.
const MOST_CARRIED: usize = 12;
const MOST_MASKS: usize = 2;

impl<'k> Selector<'k> {
    /// A loop inside the row.
    pub(super) fn looped(&mut self, looped: &For) -> Result<()> {
        let count = self.count(looped)?;
        self.ahead(&looped.body)?;
        let inits: Vec<Lanes> =
            looped.carried.iter().map(|carry| self.value(carry.init)).collect::<Result<_>>()?;
        let number = self.program.loops.len();
        self.program.loops.push(Loop { count, ..Loop::default() });
        let carried: Vec<Lanes> = inits.iter().map(|init| self.like_registers(*init)).collect();
        let results: Vec<Lanes> = inits.iter().map(|init| self.like_registers(*init)).collect();
        self.program.loops[number].carried = registers(&carried);
        self.program.loops[number].results = registers(&results);
        self.few_enough(number)?;
        self.program.mark(Shape::Begin(number), registers(&inits));

        let outside = self.values.lanes();
        let set = |selector: &mut Self, lanes: &[Lanes], id: fn(&Carry) -> ValueId| {
            let pairs = looped.carried.iter().zip(lanes);
            pairs.for_each(|(carry, lanes)| selector.values.set(id(carry), *lanes));
        };
        set(self, &carried, |carry| carry.carried);
        self.inner = Some((number, Motions::new(self.kernel, looped)));
        let next: Vec<Lanes> =
            looped.carried.iter().map(|carry| self.value(carry.next)).collect::<Result<_>>()?;
        self.inner = None;
        // What was computed inside is there in this step only.
        self.values.set_lanes(outside);
        set(self, &results, |carry| carry.result);
        let next = registers(&next);
        if next.len() != self.program.loops[number].carried.len() {
            return Err("a loop that carries something else on");
        }
        self.program.mark(Shape::End(number), next);
        Ok(())
    }

    /// The steps of a loop, which are known and few, or the nest had to look whether it is to end.
    fn count(&self, looped: &For) -> Result<i32> {
        let bound = |id: ValueId| self.constant(id).and_then(|value| value.as_int());
        let (Some(lo), Some(hi)) = (bound(looped.lo), bound(looped.hi)) else {
            return Err("bounds of a loop");
        };
        let is_plain = |statement: &Statement| matches!(statement, Statement::Let(_));
        match i32::try_from(hi - lo) {
            _ if !looped.body.statements.iter().all(is_plain) => Err("loops inside of loops inside the row"),
            Ok(count) if (1..1 << 16).contains(&count) => Ok(count),
            Ok(_) | Err(_) => Err("a loop of many steps"),
        }
    }

    /// Computes what a block uses of what stands before it.
    fn ahead(&mut self, block: &Block) -> Result<()> {
        let placed = block.statements.iter().filter_map(|statement| match statement {
            Statement::Let(id) => Some(*id),
            Statement::Store(..) | Statement::For(_) | Statement::If(_) => None,
        });
        let placed: BTreeSet<ValueId> = placed.collect();
        for arg in placed.iter().flat_map(|id| self.kernel.value(*id).op.args()) {
            let stands_before = !placed.contains(&arg);
            let is_computed = !matches!(self.kernel.value(arg).op, Op::Carried | Op::Var);
            if stands_before
                && is_computed
                && self.motions.of(arg) == Motion::Lanes
                && self.motions.pace_of(arg).is_none()
            {
                self.value(arg)?;
            }
        }
        Ok(())
    }

    /// Registers of the same kind.
    fn like_registers(&mut self, like: Lanes) -> Lanes {
        let mut vector = |class: Class| self.program.reg(class, Home::Computed);
        match like {
            Lanes::One(_) => Lanes::One(vector(Class::Vector)),
            Lanes::Two(..) => Lanes::Two(vector(Class::Vector), vector(Class::Vector)),
            Lanes::Mask(_) => Lanes::Mask(vector(Class::Mask)),
        }
    }

    fn few_enough(&self, number: usize) -> Result<()> {
        let carried = &self.program.loops[number].carried;
        let masks = carried.iter().filter(|reg| self.program.classes[reg.index()] == Class::Mask).count();
        let enough = carried.len() <= MOST_CARRIED && masks <= MOST_MASKS;
        if enough { Ok(()) } else { Err("a loop that carries too much") }
    }

    /// Whether a value is not the same in all steps of the loop that is under way.
    pub(super) fn changes(&self, id: ValueId) -> bool {
        self.inner.as_ref().is_some_and(|(_, motions)| motions.of(id) != Motion::Still)
    }

    /// One element of memory for all lanes, another one in every step of the loop.
    pub(super) fn changing(&mut self, id: ValueId) -> Result<Lanes> {
        let (slot, element, offset) = match self.kernel.value(id).op {
            Op::Load(buffer, offset) => {
                (Slot::Buffer(buffer, Some(offset)), self.kernel.buffers[buffer.index()].element, offset)
            }
            Op::Table(table, offset) => {
                (Slot::Table(table, Some(offset)), self.kernel.tables[table as usize][0].element(), offset)
            }
            _ => return Err("a number that changes in a loop inside the row"),
        };
        if element.bytes() < 4 {
            return Err("a narrow element that changes in a loop inside the row");
        }
        let slot = self.program.slot(slot);
        self.bump(slot, offset, element.bytes())?;
        let address = Address { slot, step: 0, offset: 0 };
        let mut splat = |encoding: &'static Encoding, part: Part| {
            self.program.reg(Class::Vector, Home::Load(address, encoding, part))
        };
        Ok(match is_wide(element) {
            true => Lanes::Two(splat(&ops::SPLATQ, Part::Low), splat(&ops::SPLATQ, Part::High)),
            false => Lanes::One(splat(&ops::SPLATD, Part::All)),
        })
    }

    /// Lets a slot follow its offset from step to step of the loop that is under way.
    pub(super) fn bump(&mut self, slot: usize, offset: ValueId, bytes: u64) -> Result<()> {
        let Some((number, motions)) = &self.inner else { return Ok(()) };
        let number = *number;
        let bump = match (motions.of(offset), motions.pace_of(offset)) {
            (Motion::Still, _) => return Ok(()),
            (Motion::Moves(step), _) => {
                let all = step.checked_mul(bytes as i64);
                let count = i64::from(self.program.loops[number].count);
                let far = all.and_then(|all| all.checked_mul(count)).and_then(|far| i32::try_from(far).ok());
                match (all.and_then(|all| i32::try_from(all).ok()), far) {
                    (Some(all), Some(_)) => Bump::Bytes(all),
                    _ => return Err("steps too long"),
                }
            }
            (Motion::Lanes, Some(pace)) if self.motions.of(pace.by) == Motion::Still => {
                Bump::Slot(self.program.slot(Slot::Pace(pace, bytes as i64)))
            }
            (Motion::Lanes, _) => return Err("an offset that goes its own way in a loop inside the row"),
        };
        let bumps = &mut self.program.loops[number].bumps;
        if !bumps.iter().any(|(known, _)| *known == slot) {
            bumps.push((slot, bump));
        }
        Ok(())
    }
}

fn registers(lanes: &[Lanes]) -> Vec<Reg> {
    lanes.iter().flat_map(|lanes| lanes.parts()).collect()
}
