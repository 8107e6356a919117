//! Loads and stores that lie apart along the row but side by side with each other: their lanes are put in turn, or taken
//! apart, in registers.
//!
//! ```text
//! store b1 at 2 * q      a0 a1 … a15          store b1 at 2 * q, 16 lanes: a0 b0 a1 b1 … a7 b7
//! store b1 at 2 * q + 1  b0 b1 … b15          the next 16 lanes:           a8 b8 … a15 b15
//! load b0 at 2 * q, load b0 at 2 * q + 1      the way back
//! ```

use super::memory::{loads, stores};
use super::ops;
use super::program::{Address, Class, Home, Part, Reg, Shape};
use super::select::{Lanes, Refused, Selector, is_wide};
use crate::graph::types::Element;
use crate::loops::ir::{BufferId, ValueId};
use crate::loops::woven::{Neighbours, Woven, orders, orders_back};

type Result<T> = std::result::Result<T, Refused>;

impl Selector<'_> {
    /// Remembers one of the stores that are done together, and does them all with the last.
    pub(super) fn weave(&mut self, woven: &mut Woven, offset: ValueId, value: ValueId) -> Result<()> {
        let Some(values) = woven.add(offset, value) else { return Ok(()) };
        let element = self.kernel.buffers[woven.to.buffer.index()].element;
        let address = self.address(woven.to.buffer, woven.to.offsets[0], element.bytes())?;
        if address.step != (values.len() as u64 * element.bytes()) as i64 {
            return Err("stores that lie apart");
        }
        let lanes =
            values.into_iter().map(|value| self.stored(element, value)).collect::<Result<Vec<_>>>()?;
        let parts: Vec<Vec<Reg>> = lanes.into_iter().map(Lanes::parts).collect();
        let count = self.lanes() as usize / parts[0].len();
        let mut from = 0;
        for part in 0..parts[0].len() {
            let sources: Vec<Reg> = parts.iter().map(|parts| parts[part]).collect();
            for reg in self.ordered(orders(sources.len(), count), &sources) {
                let offset = address.offset + from as i32 * element.bytes() as i32;
                let part = Part::Woven { of: sources.len() as u8, from: from as u8 };
                self.program.store(stores(element), Address { offset, ..address }, part, reg);
                from += count;
            }
        }
        Ok(())
    }

    /// The lanes of a load that is one of neighbours; those of the others are known then, too. In a loop inside the row
    /// each load is on its own.
    pub(super) fn unweave(&mut self, buffer: BufferId, offset: ValueId) -> Result<Option<Lanes>> {
        let found = self.unwoven.iter().find(|own| own.has(buffer, offset) && self.inner.is_none());
        let Some(neighbours) = found.cloned() else { return Ok(None) };
        if !self.values.unwoven.contains_key(&(buffer, offset)) {
            self.taken_apart(&neighbours)?;
        }
        Ok(self.values.unwoven.get(&(buffer, offset)).copied())
    }

    /// Loads neighbours, and takes them apart.
    fn taken_apart(&mut self, neighbours: &Neighbours) -> Result<()> {
        let (buffer, of) = (neighbours.buffer, neighbours.offsets.len());
        let element = self.kernel.buffers[buffer.index()].element;
        let address = self.address(buffer, neighbours.offsets[0], element.bytes())?;
        let parts = if is_wide(element) { 2 } else { 1 };
        let count = self.lanes() as usize / parts;
        let mut halves = Vec::with_capacity(parts);
        for part in 0..parts {
            let numbers = part * of..(part + 1) * of;
            let sources: Vec<Reg> =
                numbers.map(|number| self.woven_row(address, element, (of, number * count))).collect();
            halves.push(self.ordered(orders_back(of, count), &sources));
        }
        for (at, offset) in neighbours.offsets.iter().enumerate() {
            let lanes = match &halves[..] {
                [low, high] => Lanes::Two(low[at], high[at]),
                _ => Lanes::One(halves[0][at]),
            };
            let lanes = self.loaded(element, lanes)?;
            self.values.unwoven.insert((buffer, *offset), lanes);
        }
        Ok(())
    }

    /// A register of elements that lie in turn, from a number on.
    fn woven_row(&mut self, address: Address, element: Element, (of, from): (usize, usize)) -> Reg {
        let offset = address.offset + from as i32 * element.bytes() as i32;
        let part = Part::Woven { of: of as u8, from: from as u8 };
        self.program.reg(Class::Vector, Home::Load(Address { offset, ..address }, loads(element), part))
    }

    /// Registers of the lanes of others, as orders say.
    fn ordered(&mut self, orders: Vec<Vec<Vec<usize>>>, sources: &[Reg]) -> Vec<Reg> {
        let put = |orders: Vec<Vec<usize>>| {
            let next = sources[1..].iter().zip(orders);
            next.fold(sources[0], |reg, (source, order)| self.permuted(reg, order, *source))
        };
        orders.into_iter().map(put).collect()
    }

    /// Lanes of two registers: those of the second are numbered after those of the first.
    fn permuted(&mut self, a: Reg, order: Vec<usize>, b: Reg) -> Reg {
        let narrow = order.len() as i64 == self.lanes();
        let (encoding, bytes) = if narrow { (&ops::PERM2D, 4) } else { (&ops::PERM2Q, 8) };
        let order =
            self.pool_vector(order.into_iter().map(|lane| (lane as u64).to_le_bytes()[..bytes].to_vec()));
        self.program.vector(Shape::Permute2, encoding, &[a, order, b], None)
    }
}
