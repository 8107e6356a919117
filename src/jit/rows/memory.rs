//! Elements of buffers and tables in lanes: rows of memory, and gathers where offsets go their own way.

use super::affine::Motion;
use super::ops::{self, Encoding};
use super::program::{Address, Class, Home, Part, Reg, Shape, Slot};
use super::select::{Lanes, Refused, Selector, is_wide};
use crate::graph::types::Element;
use crate::loops::ir::{BufferId, Op, ValueId};

/// Bytes between elements of a row, at the most.
pub(super) const FAR: u64 = 1 << 26;

type Result<T> = std::result::Result<T, Refused>;

/// Elements of tables lie this many bytes before the end of readable memory, at the least.
pub(in crate::jit) const TABLE_SLACK: usize = 8;

/// The instruction that loads a row of an element.
pub(super) fn loads(element: Element) -> &'static Encoding {
    match element {
        Element::Bool | Element::U8 => &ops::MOVZXBD,
        Element::I8 => &ops::MOVSXBD,
        Element::U16 => &ops::MOVZXWD,
        Element::I16 => &ops::MOVSXWD,
        Element::F16 => &ops::CVTPH2PS,
        Element::U32 | Element::I32 | Element::F32 => &ops::MOVPS,
        Element::U64 | Element::I64 | Element::F64 => &ops::MOVPD,
    }
}

/// Bytes from lane to lane of what an instruction loads into lanes of 32 bits.
pub(super) fn step_of(load: &Encoding) -> Option<i32> {
    match *load {
        ops::MOVPS => Some(4),
        ops::MOVZXWD | ops::MOVSXWD | ops::CVTPH2PS => Some(2),
        ops::MOVZXBD | ops::MOVSXBD => Some(1),
        _ => None,
    }
}

/// The instruction that stores a row of an element.
pub(super) fn stores(element: Element) -> &'static Encoding {
    match element {
        Element::Bool | Element::U8 | Element::I8 => &ops::MOVDB,
        Element::U16 | Element::I16 => &ops::MOVDW,
        Element::F16 => &ops::CVTPS2PH,
        Element::U32 | Element::I32 | Element::F32 => &ops::STOREPS,
        Element::U64 | Element::I64 | Element::F64 => &ops::STOREPD,
    }
}

impl Selector<'_> {
    /// The elements of a buffer at an offset that moves along the row.
    pub(super) fn load(&mut self, buffer: BufferId, offset: ValueId, element: Element) -> Result<Lanes> {
        let address = self.address(buffer, offset, element.bytes())?;
        self.row(address, element)
    }

    /// The entries of a table at an offset that moves along the row.
    pub(super) fn entries(&mut self, table: u32, offset: ValueId, element: Element) -> Result<Lanes> {
        let Motion::Moves(step) = self.motions.of(offset) else {
            return Err("a table's entry outside the row");
        };
        let slot = self.program.slot(Slot::Table(table, Some(offset)));
        self.bump(slot, offset, element.bytes())?;
        let step = step.checked_mul(element.bytes() as i64).filter(|step| step.unsigned_abs() < FAR);
        self.row(Address { slot, step: step.ok_or("steps too long")?, offset: 0 }, element)
    }

    fn row(&mut self, address: Address, element: Element) -> Result<Lanes> {
        let size = element.bytes() as i64;
        let lanes = if address.step == size {
            self.contiguous(address, element)
        } else if address.step == -size && !is_wide(element) {
            self.backwards(address, element)
        } else if address.step == 2 * size && size == 4 {
            self.every_other(address, element)
        } else if size >= 4 {
            self.strided(address, element)
        } else {
            return Err("steps of narrow elements");
        };
        self.loaded(element, lanes)
    }

    /// What a load of bools gives is no mask yet.
    pub(super) fn loaded(&mut self, element: Element, lanes: Lanes) -> Result<Lanes> {
        let (Element::Bool, Lanes::One(bytes)) = (element, lanes) else { return Ok(lanes) };
        Ok(Lanes::Mask(self.program.mask(Shape::Two, &ops::TESTD, &[bytes, bytes], None)))
    }

    fn contiguous(&mut self, address: Address, element: Element) -> Lanes {
        let mut source = |address: Address, part: Part| {
            self.program.reg(Class::Vector, Home::Load(address, loads(element), part))
        };
        if !is_wide(element) {
            return Lanes::One(source(address, Part::All));
        }
        let low = source(address, Part::Low);
        let upper = Address { offset: address.offset + self.bits.bytes(), ..address };
        Lanes::Two(low, self.program.reg(Class::Vector, Home::Load(upper, loads(element), Part::High)))
    }

    /// A row that is read from its end: loaded from below, and turned round.
    fn backwards(&mut self, address: Address, element: Element) -> Lanes {
        let lanes = self.lanes();
        let below = (lanes - 1) * element.bytes() as i64;
        let address = Address { offset: address.offset - below as i32, ..address };
        let turned = self.program.reg(Class::Vector, Home::Load(address, loads(element), Part::Backwards));
        let order = (0..lanes as u32).rev().map(|lane| lane.to_le_bytes().to_vec());
        let order = self.pool_vector(order);
        Lanes::One(self.program.vector(Shape::Two, &ops::PERMD, &[order, turned], None))
    }

    /// A row of every other element: two rows, the second of which ends with the last element that is wanted.
    fn every_other(&mut self, address: Address, element: Element) -> Lanes {
        let lanes = self.lanes();
        let upper = Address { offset: address.offset + 4 * (lanes as i32 - 1), ..address };
        let mut source = |address: Address, part: Part| {
            self.program.reg(Class::Vector, Home::Load(address, loads(element), part))
        };
        let (low, high) = (source(address, Part::Even), source(upper, Part::EvenRest));
        let order =
            (0..lanes as u32).map(|lane| if 2 * lane < lanes as u32 { 2 * lane } else { 2 * lane + 1 });
        let order = self.pool_vector(order.map(|lane| lane.to_le_bytes().to_vec()));
        Lanes::One(self.program.vector(Shape::Permute2, &ops::PERM2D, &[low, order, high], None))
    }

    /// A row whose elements lie apart.
    fn strided(&mut self, address: Address, element: Element) -> Lanes {
        let step = address.step as i32;
        let lanes = self.lanes() as i32;
        let apart = |lanes: std::ops::Range<i32>| {
            lanes.map(move |lane| lane.wrapping_mul(step).to_le_bytes().to_vec()).collect::<Vec<_>>()
        };
        if !is_wide(element) {
            let index = self.pool_vector(apart(0..lanes).into_iter());
            let shape = Shape::Gather(address, Part::All);
            return Lanes::One(self.program.vector(shape, &ops::GATHERDD, &[index], Some(1)));
        }
        let mut half = |lanes: std::ops::Range<i32>, part: Part| {
            let mut offsets = apart(lanes);
            offsets.extend(offsets.clone());
            let index = self.pool_vector(offsets.into_iter());
            self.program.vector(Shape::Gather(address, part), &ops::GATHERDQ, &[index], Some(1))
        };
        let low = half(0..lanes / 2, Part::Low);
        Lanes::Two(low, half(lanes / 2..lanes, Part::High))
    }

    /// The value to gather at, and whether it lies in 32-bit lanes: a narrow integer that was widened need not be.
    pub(super) fn index_of(&self, offset: ValueId) -> (ValueId, bool) {
        if let Op::Cast(narrow) = self.kernel.value(offset).op {
            let element = self.element(narrow);
            let signed = element.is_int() && !is_wide(element) && element != Element::U32;
            if signed && self.motions.of(narrow) == Motion::Lanes {
                return (narrow, true);
            }
        }
        (offset, false)
    }

    /// Elements at offsets of their own; `of` says of what.
    pub(super) fn gather(&mut self, of: Slot, element: Element, offset: ValueId) -> Result<Lanes> {
        let is_table = matches!(of, Slot::Table(..));
        if element.bytes() < 4 && !is_table || element == Element::F16 {
            return Err("gathers of narrow elements");
        }
        let (index, narrow) = self.index_of(offset);
        let index = self.value(index)?;
        let address = Address { slot: self.program.slot(of), step: 0, offset: 0 };
        let scale = element.bytes() as u8;
        let gathered = match (index, narrow, is_wide(element)) {
            (Lanes::One(index), true, false) => {
                self.gathered(&ops::GATHERDD, address, Part::All, index, scale)
            }
            (Lanes::One(index), true, true) => {
                // The instruction takes the lower half of its indices.
                let Lanes::Two(low, high) = self.widened(index, &ops::MOVSXDQ) else { return Err("halves") };
                let low = self.gathered(&ops::GATHERQQ, address, Part::Low, low, scale);
                Lanes::Two(
                    low.parts()[0],
                    self.gathered(&ops::GATHERQQ, address, Part::High, high, scale).parts()[0],
                )
            }
            (Lanes::Two(low, high), false, wide) => {
                let encoding = if wide { &ops::GATHERQQ } else { &ops::GATHERQD };
                let low = self.gathered(encoding, address, Part::Low, low, scale).parts()[0];
                let high = self.gathered(encoding, address, Part::High, high, scale).parts()[0];
                if wide { Lanes::Two(low, high) } else { Lanes::One(self.joined(low, high)) }
            }
            _ => return Err("indices of another width"),
        };
        let entry = if element.bytes() < 4 { self.wrapped(element, gathered)? } else { gathered };
        if element == Element::Bool {
            let one = self.int(entry, 0xff);
            let bytes = self.two([&ops::ANDD, &ops::ANDQ], gathered, one)?;
            return self.loaded(element, bytes);
        }
        Ok(entry)
    }

    fn gathered(
        &mut self,
        encoding: &'static Encoding,
        address: Address,
        part: Part,
        index: Reg,
        scale: u8,
    ) -> Lanes {
        let shape = Shape::Gather(address, part);
        Lanes::One(self.program.vector(shape, encoding, &[index], Some(scale)))
    }

    /// Writes a value along the row.
    pub(super) fn store(&mut self, buffer: BufferId, offset: ValueId, value: ValueId) -> Result<()> {
        let element = self.kernel.buffers[buffer.index()].element;
        let address = self.address(buffer, offset, element.bytes())?;
        if address.step != element.bytes() as i64 {
            return Err("stores that lie apart");
        }
        let encoding = stores(element);
        match self.stored(element, value)? {
            Lanes::One(lanes) => self.program.store(encoding, address, Part::All, lanes),
            Lanes::Two(low, high) => {
                self.program.store(encoding, address, Part::Low, low);
                let upper = Address { offset: address.offset + self.bits.bytes(), ..address };
                self.program.store(encoding, upper, Part::High, high);
            }
            Lanes::Mask(_) => return Err("a mask that is not stored as bytes"),
        }
        Ok(())
    }

    /// The lanes of a value as memory shows them.
    pub(super) fn stored(&mut self, element: Element, value: ValueId) -> Result<Lanes> {
        if element.is_float() {
            return self.shown(value);
        }
        let lanes = self.value(value)?;
        match (element, lanes) {
            (Element::Bool, Lanes::Mask(mask)) => {
                let one = Lanes::One(self.narrow_constant(1));
                self.keep(mask, one)
            }
            _ => Ok(lanes),
        }
    }
}
