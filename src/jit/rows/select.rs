//! The body of a row -> a vector program, from its stores backwards, so that what is needed late is loaded late.
//!
//! ```text
//! v5: f32 = load b0 v3             r0: source at [slot 0]
//! v6: f32 = fma v5 v9 v5           r1 = vfmadd r0 r2 r0        r2: slot 1, for all lanes
//! store b1 v3 v6                   store [slot 2] canonical(r1)
//! ```
//!
//! Integers of up to 32 bits and f32 lie in lanes of 32 bits, one register for a row's lanes; i64, u64 and f64 need two,
//! the lower lanes first. A bool is a mask register. What there is no instruction for is refused, and the row stays
//! with the narrow code.

use super::affine::{Motion, Motions};
use super::evex::Bits;
use super::memory::FAR;
use super::ops::{self, Encoding};
use super::program::{Address, Class, Home, Program, Reg, Shape, Slot};
use super::turn::{self, Turned};
use super::values::Values;
use crate::graph::scalar::{BinaryFn, Scalar, UnaryFn};
use crate::graph::types::Element;
use crate::loops::ir::{BufferId, For, Kernel, Op, Statement, ValueId};
use crate::loops::woven::{Neighbours, unwoven, woven};
use crate::seeded::{self, Bug};

/// Why a row keeps its narrow code.
pub(super) type Refused = &'static str;
type Result<T> = std::result::Result<T, Refused>;

/// A value in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    One(Reg),
    Two(Reg, Reg),
    Mask(Reg),
}

impl Lanes {
    /// The vector registers.
    pub(super) fn parts(self) -> Vec<Reg> {
        match self {
            Lanes::One(reg) | Lanes::Mask(reg) => vec![reg],
            Lanes::Two(low, high) => vec![low, high],
        }
    }
}

/// Whether lanes of an element have 64 bits.
pub(super) fn is_wide(element: Element) -> bool {
    matches!(element, Element::I64 | Element::U64 | Element::F64)
}

/// The program of a row whose body is straight-line code, and loops around such.
pub(super) fn select(kernel: &Kernel, row: &For, bits: Bits) -> Result<Program> {
    let motions = Motions::new(kernel, row);
    let blocks = turn::blocks(kernel, &motions, &row.body, bits);
    let (mut woven, unwoven) = (woven(kernel, row), unwoven(kernel, row));
    let (program, values) = (Program::new(), Values::default());
    let mut selector = Selector { kernel, motions, bits, blocks, unwoven, inner: None, program, values };
    for statement in &row.body.statements {
        match statement {
            Statement::Let(_) => {}
            Statement::Store(buffer, offset, value) => {
                match woven.iter_mut().find(|woven| woven.to.has(*buffer, *offset)) {
                    Some(woven) => selector.weave(woven, *offset, *value)?,
                    None => selector.store(*buffer, *offset, *value)?,
                }
            }
            Statement::For(looped) => selector.looped(looped)?,
            Statement::If(_) => return Err("a choice inside the row"),
        }
    }
    selector.program.sweep();
    Ok(selector.program)
}

pub(super) struct Selector<'k> {
    pub(super) kernel: &'k Kernel,
    pub(super) motions: Motions<'k>,
    pub(super) bits: Bits,
    /// Loads that are done together.
    pub(super) blocks: Vec<Turned>,
    /// Loads whose elements lie in turn.
    pub(super) unwoven: Vec<Neighbours>,
    /// The loop that is under way, and what moves along it.
    pub(super) inner: Option<(usize, Motions<'k>)>,
    pub(super) program: Program,
    pub(super) values: Values,
}

impl Selector<'_> {
    /// Lanes of 32 bits in a register.
    pub(super) fn lanes(&self) -> i64 {
        i64::from(self.bits.bytes() / 4)
    }

    pub(super) fn element(&self, id: ValueId) -> Element {
        self.kernel.value(id).element
    }

    pub(super) fn constant(&self, id: ValueId) -> Option<Scalar> {
        match self.kernel.value(id).op {
            Op::Const(value) => Some(value),
            _ => None,
        }
    }

    /// The lanes of a value; operands come first, by a stack of our own.
    pub(super) fn value(&mut self, id: ValueId) -> Result<Lanes> {
        let mut stack = vec![id];
        while let Some(top) = stack.pop() {
            if self.values.get(top).is_some() {
                continue;
            }
            let missing: Vec<ValueId> = self.operands(top);
            let missing: Vec<ValueId> =
                missing.into_iter().rev().filter(|id| self.values.get(*id).is_none()).collect();
            if missing.is_empty() {
                if self.program.is_too_long() {
                    return Err("too long");
                }
                let lanes = self.compute(top)?;
                self.values.set(top, lanes);
            } else {
                stack.push(top);
                stack.extend(missing);
            }
        }
        self.values.get(id).ok_or("a value without lanes")
    }

    /// What must be in lanes before a value is.
    fn operands(&self, id: ValueId) -> Vec<ValueId> {
        if self.motions.of(id) != Motion::Lanes {
            return Vec::new();
        }
        match &self.kernel.value(id).op {
            Op::Load(..) if self.block_of(id).is_some() => Vec::new(),
            Op::Load(_, offset) | Op::Table(_, offset) => match self.motions.of(*offset) {
                Motion::Lanes => vec![self.index_of(*offset).0],
                Motion::Still | Motion::Moves(_) => Vec::new(),
            },
            Op::Cast(a) if matches!(self.motions.of(*a), Motion::Moves(_)) && !is_wide(self.element(id)) => {
                let narrow = !self.element(id).is_float() && self.element(id) != Element::Bool;
                if narrow { Vec::new() } else { vec![*a] }
            }
            Op::Cast(a) => vec![self.float_below(id, *a).unwrap_or(*a)],
            op => op.args(),
        }
    }

    fn compute(&mut self, id: ValueId) -> Result<Lanes> {
        let value = self.kernel.value(id);
        match self.motions.of(id) {
            Motion::Still if self.changes(id) => return self.changing(id),
            Motion::Still => return Ok(self.still(id)),
            Motion::Moves(_) if self.changes(id) => {
                return Err("a number that changes in a loop inside the row");
            }
            Motion::Moves(step) => return Ok(self.ramp(id, step)),
            Motion::Lanes => {}
        }
        match value.op {
            Op::Unary(function, a) => {
                let (element, a) = (self.element(a), self.value(a)?);
                self.unary(function, element, a)
            }
            Op::Binary(function, a, b) => self.binary(function, a, b),
            Op::Fma(a, b, c) => {
                let [a, b, c] = [self.value(a)?, self.value(b)?, self.value(c)?];
                self.fma(value.element, [a, b, c])
            }
            Op::Select(condition, a, b) => {
                let [condition, a, b] = [self.value(condition)?, self.value(a)?, self.value(b)?];
                self.choose(condition, a, b)
            }
            Op::Cast(a) => self.cast_value(id, a),
            Op::Load(buffer, offset) => {
                if let Some(block) = self.block_of(id) {
                    return self.turned(block, id);
                }
                if let Some(lanes) = self.unweave(buffer, offset)? {
                    return Ok(lanes);
                }
                let element = self.kernel.buffers[buffer.index()].element;
                match self.motions.of(offset) {
                    Motion::Lanes => self.gather(Slot::Buffer(buffer, None), element, offset),
                    Motion::Still | Motion::Moves(_) => self.load(buffer, offset, element),
                }
            }
            Op::Table(table, offset) => {
                let element = self.kernel.tables[table as usize][0].element();
                match self.motions.of(offset) {
                    Motion::Lanes => self.gather(Slot::Table(table, None), element, offset),
                    Motion::Still | Motion::Moves(_) => self.entries(table, offset, element),
                }
            }
            Op::Const(_) | Op::Arg(_) | Op::Var | Op::Carried | Op::Result => Err("a value from elsewhere"),
        }
    }

    // --- values that are not computed in lanes ---

    /// The lanes of what is the same for all of them.
    fn still(&mut self, id: ValueId) -> Lanes {
        let element = self.element(id);
        if let Some(value) = self.constant(id) {
            if element == Element::Bool {
                let bits = if value.is_true() { u16::MAX } else { 0 };
                let at = self.program.pooled(&bits.to_le_bytes());
                return Lanes::Mask(self.program.reg(Class::Mask, Home::PoolMask(at)));
            }
            let reg = match value.as_float() {
                Some(number) if is_wide(element) => self.wide_constant(number.to_bits()),
                Some(number) => self.narrow_constant((number as f32).to_bits()),
                None if is_wide(element) => self.wide_constant(value.as_int().unwrap_or_default() as u64),
                None => self.narrow_constant(value.as_int().unwrap_or_default() as u32),
            };
            return if is_wide(element) { Lanes::Two(reg, reg) } else { Lanes::One(reg) };
        }
        let slot = self.program.slot(Slot::Value(id));
        match element {
            Element::Bool => Lanes::Mask(self.program.reg(Class::Mask, Home::SlotMask(slot))),
            _ if is_wide(element) => {
                let reg = self.program.reg(Class::Vector, Home::Slot(slot, &ops::SPLATQ));
                Lanes::Two(reg, reg)
            }
            _ => Lanes::One(self.program.reg(Class::Vector, Home::Slot(slot, &ops::SPLATD))),
        }
    }

    pub(super) fn narrow_constant(&mut self, bits: u32) -> Reg {
        if let Some(reg) = self.values.narrow.get(&bits) {
            return *reg;
        }
        let at = self.program.pooled(&bits.to_le_bytes());
        let reg = self.program.reg(Class::Vector, Home::PoolElement(at, &ops::SPLATD));
        self.values.narrow.insert(bits, reg);
        reg
    }

    pub(super) fn wide_constant(&mut self, bits: u64) -> Reg {
        if let Some(reg) = self.values.wide.get(&bits) {
            return *reg;
        }
        let at = self.program.pooled(&bits.to_le_bytes());
        let reg = self.program.reg(Class::Vector, Home::PoolElement(at, &ops::SPLATQ));
        self.values.wide.insert(bits, reg);
        reg
    }

    /// A register of these numbers.
    pub(super) fn pool_vector(&mut self, lanes: impl Iterator<Item = Vec<u8>>) -> Reg {
        let bytes: Vec<u8> = lanes.flatten().collect();
        let at = self.program.pooled(&bytes);
        if let Some(reg) = self.values.pool.get(&at) {
            return *reg;
        }
        let reg = self.program.reg(Class::Vector, Home::Pool(at));
        self.values.pool.insert(at, reg);
        reg
    }

    /// The lanes of a 64-bit integer that grows by `step`.
    fn ramp(&mut self, id: ValueId, step: i64) -> Lanes {
        let slot = self.program.slot(Slot::Value(id));
        let splat = self.program.vector(Shape::Splat { slot, step }, &ops::SPLATRQ, &[], None);
        let half = self.lanes() / 2;
        let part = |selector: &mut Self, lanes: std::ops::Range<i64>| {
            let steps = lanes.map(|lane| lane.wrapping_mul(step).to_le_bytes().to_vec());
            let steps = selector.pool_vector(steps);
            selector.program.vector(Shape::Two, &ops::ADDQ, &[splat, steps], None)
        };
        Lanes::Two(part(self, 0..half), part(self, half..2 * half))
    }

    /// The low words of a ramp.
    pub(super) fn narrow_ramp(&mut self, id: ValueId, step: i64) -> Reg {
        let slot = self.program.slot(Slot::Value(id));
        let splat = self.program.vector(Shape::Splat { slot, step }, &ops::SPLATRD, &[], None);
        let lanes = 0..self.lanes() as i32;
        let steps = lanes.map(|lane| (step as i32).wrapping_mul(lane).to_le_bytes().to_vec());
        let steps = self.pool_vector(steps);
        self.program.vector(Shape::Two, &ops::ADDD, &[splat, steps], None)
    }

    // --- arithmetic ---

    /// Applies an instruction to the parts of values.
    pub(super) fn each(
        &mut self,
        args: &[Lanes],
        mut f: impl FnMut(&mut Program, &[Reg]) -> Reg,
    ) -> Result<Lanes> {
        let parts: Vec<Vec<Reg>> = args.iter().map(|arg| arg.parts()).collect();
        let part = |at: usize| -> Vec<Reg> { parts.iter().map(|parts| parts[at]).collect() };
        match args[0] {
            Lanes::One(_) => Ok(Lanes::One(f(&mut self.program, &part(0)))),
            Lanes::Two(..) => {
                let low = f(&mut self.program, &part(0));
                Ok(Lanes::Two(low, f(&mut self.program, &part(1))))
            }
            Lanes::Mask(_) => Err("arithmetic on masks"),
        }
    }

    /// dst = op(a, b) in every part; the encodings are those of 32-bit and of 64-bit lanes.
    pub(super) fn two(&mut self, encodings: [&'static Encoding; 2], a: Lanes, b: Lanes) -> Result<Lanes> {
        let encoding = encodings[usize::from(matches!(a, Lanes::Two(..)))];
        self.each(&[a, b], |program, args| program.vector(Shape::Two, encoding, args, None))
    }

    pub(super) fn one(
        &mut self,
        encodings: [&'static Encoding; 2],
        a: Lanes,
        imm: Option<u8>,
    ) -> Result<Lanes> {
        let encoding = encodings[usize::from(matches!(a, Lanes::Two(..)))];
        self.each(&[a], |program, args| program.vector(Shape::One, encoding, args, imm))
    }

    /// A constant for the lanes of `like`: bits of 32, or bits of 64.
    pub(super) fn like(&mut self, like: Lanes, narrow: u32, wide: u64) -> Lanes {
        match like {
            Lanes::Two(..) => {
                let reg = self.wide_constant(wide);
                Lanes::Two(reg, reg)
            }
            Lanes::One(_) | Lanes::Mask(_) => Lanes::One(self.narrow_constant(narrow)),
        }
    }

    /// The same float for the lanes of `like`.
    pub(super) fn float(&mut self, like: Lanes, value: f64) -> Lanes {
        self.like(like, (value as f32).to_bits(), value.to_bits())
    }

    /// The same integer for the lanes of `like`.
    pub(super) fn int(&mut self, like: Lanes, value: i64) -> Lanes {
        self.like(like, value as u32, value as u64)
    }

    /// The mask of a comparison.
    pub(super) fn compare(
        &mut self,
        encodings: [&'static Encoding; 2],
        predicate: u8,
        a: Lanes,
        b: Lanes,
    ) -> Result<Reg> {
        let encoding = encodings[usize::from(matches!(a, Lanes::Two(..)))];
        let masks =
            self.each(&[a, b], |program, args| program.mask(Shape::Two, encoding, args, Some(predicate)))?;
        Ok(self.joined_mask(masks))
    }

    /// One mask for all lanes from that of each half.
    pub(super) fn joined_mask(&mut self, masks: Lanes) -> Reg {
        match (masks, self.bits) {
            (Lanes::One(mask) | Lanes::Mask(mask), _) => mask,
            (Lanes::Two(low, high), Bits::B512) => {
                self.program.mask(Shape::MaskTwo, &ops::KUNPCK, &[high, low], None)
            }
            (Lanes::Two(low, high), Bits::B256) => {
                let high = self.program.mask(Shape::MaskOne, &ops::KSHIFTL, &[high], Some(4));
                self.program.mask(Shape::MaskTwo, &ops::KOR, &[low, high], None)
            }
        }
    }

    /// The masks of the parts of `like`.
    pub(super) fn masks_for(&mut self, like: Lanes, mask: Reg) -> Vec<Reg> {
        match like {
            Lanes::One(_) | Lanes::Mask(_) => vec![mask],
            Lanes::Two(..) => {
                let half = (self.lanes() / 2) as u8;
                vec![mask, self.program.mask(Shape::MaskOne, &ops::KSHIFTR, &[mask], Some(half))]
            }
        }
    }

    /// `a` where the mask is true, else `b`.
    pub(super) fn blend(&mut self, mask: Reg, a: Lanes, b: Lanes) -> Result<Lanes> {
        let mut masks = self.masks_for(a, mask).into_iter();
        let encoding = if matches!(a, Lanes::Two(..)) { &ops::BLENDQ } else { &ops::BLENDD };
        self.each(&[b, a], |program, args| {
            let mask = masks.next().expect("one for each part");
            program.blend(encoding, mask, args[0], args[1])
        })
    }

    /// `a` where the mask is true, else 0.
    pub(super) fn keep(&mut self, mask: Reg, a: Lanes) -> Result<Lanes> {
        let mut masks = self.masks_for(a, mask).into_iter();
        let encoding = if matches!(a, Lanes::Two(..)) { &ops::MOVPD } else { &ops::MOVPS };
        self.each(&[a], |program, args| {
            let mask = masks.next().expect("one for each part");
            program.keep(encoding, mask, args[0])
        })
    }

    fn fma(&mut self, element: Element, args: [Lanes; 3]) -> Result<Lanes> {
        if seeded::active(Bug::ProductNotFused) {
            let product = self.two([&ops::MULPS, &ops::MULPD], args[0], args[1])?;
            return self.two([&ops::ADDPS, &ops::ADDPD], product, args[2]);
        }
        let encoding = if is_wide(element) { &ops::FMA231PD } else { &ops::FMA231PS };
        self.each(&args, |program, args| program.vector(Shape::Fma, encoding, args, None))
    }

    fn choose(&mut self, condition: Lanes, a: Lanes, b: Lanes) -> Result<Lanes> {
        let Lanes::Mask(mask) = condition else { return Err("a condition that is no mask") };
        if let (Lanes::Mask(a), Lanes::Mask(b)) = (a, b) {
            // b ^ (mask & (a ^ b))
            let differ = self.program.mask(Shape::MaskTwo, &ops::KXOR, &[a, b], None);
            let taken = self.program.mask(Shape::MaskTwo, &ops::KAND, &[mask, differ], None);
            return Ok(Lanes::Mask(self.program.mask(Shape::MaskTwo, &ops::KXOR, &[b, taken], None)));
        }
        self.blend(mask, a, b)
    }

    fn unary(&mut self, function: UnaryFn, element: Element, a: Lanes) -> Result<Lanes> {
        match element {
            Element::Bool => self.mask_unary(function, a),
            Element::F16 | Element::F32 | Element::F64 => self.float_unary(function, a),
            _ => self.int_unary(function, element, a),
        }
    }

    fn binary(&mut self, function: BinaryFn, a: ValueId, b: ValueId) -> Result<Lanes> {
        let (element, known) = (self.element(a), self.constant(b));
        let (a, b) = (self.value(a)?, self.value(b)?);
        match element {
            Element::Bool => self.mask_binary(function, a, b),
            Element::F16 | Element::F32 | Element::F64 => self.float_binary(function, a, b, known),
            _ => self.int_binary(function, element, a, b, known),
        }
    }

    // --- masks ---

    fn mask_unary(&mut self, function: UnaryFn, a: Lanes) -> Result<Lanes> {
        let Lanes::Mask(mask) = a else { return Err("a bool that is no mask") };
        match function {
            UnaryFn::Not => Ok(Lanes::Mask(self.program.mask(Shape::MaskOne, &ops::KNOT, &[mask], None))),
            _ => Err("arithmetic on bools"),
        }
    }

    fn mask_binary(&mut self, function: BinaryFn, a: Lanes, b: Lanes) -> Result<Lanes> {
        let (Lanes::Mask(a), Lanes::Mask(b)) = (a, b) else { return Err("a bool that is no mask") };
        let encoding = match function {
            BinaryFn::And => &ops::KAND,
            BinaryFn::Or => &ops::KOR,
            BinaryFn::Xor | BinaryFn::Ne => &ops::KXOR,
            BinaryFn::Eq => &ops::KXNOR,
            _ => return Err("arithmetic on bools"),
        };
        Ok(Lanes::Mask(self.program.mask(Shape::MaskTwo, encoding, &[a, b], None)))
    }

    /// The register that a part of a row is in, as an address of memory.
    pub(super) fn address(&mut self, buffer: BufferId, offset: ValueId, bytes: u64) -> Result<Address> {
        let (root, constant) = self.rooted(offset);
        let step = match self.motions.of(offset) {
            Motion::Moves(step) => step,
            Motion::Still => 0,
            Motion::Lanes => return Err("an offset in lanes"),
        };
        let slot = self.program.slot(Slot::Buffer(buffer, Some(root)));
        self.bump(slot, root, bytes)?;
        let step = step.checked_mul(bytes as i64).filter(|step| step.unsigned_abs() < FAR);
        let offset = constant.checked_mul(bytes as i64).and_then(|offset| i32::try_from(offset).ok());
        match (step, offset) {
            (Some(step), Some(offset)) => Ok(Address { slot, step, offset }),
            _ => Err("steps too long"),
        }
    }

    /// An offset as another one plus a constant, so that neighbours share a pointer.
    fn rooted(&self, offset: ValueId) -> (ValueId, i64) {
        let (mut root, mut constant) = (offset, 0i64);
        while let Op::Binary(BinaryFn::Add, a, b) = self.kernel.value(root).op {
            let Some(by) = self.constant(b).and_then(Scalar::as_int) else { break };
            let Some(sum) = constant.checked_add(by as i64).filter(|sum| sum.unsigned_abs() < 1 << 24) else {
                break;
            };
            (root, constant) = (a, sum);
        }
        (root, constant)
    }
}
