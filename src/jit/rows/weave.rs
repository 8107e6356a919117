//! Stores that lie apart along the row but side by side with each other: their lanes are put in turn in registers.
//!
//! ```text
//! store b1 at 2 * q      a0 a1 … a15          store b1 at 2 * q, 16 lanes: a0 b0 a1 b1 … a7 b7
//! store b1 at 2 * q + 1  b0 b1 … b15          the next 16 lanes:           a8 b8 … a15 b15
//! ```

use super::memory::stores;
use super::ops;
use super::program::{Address, Part, Reg, Shape};
use super::select::{Lanes, Refused, Selector};
use crate::loops::ir::ValueId;
use crate::loops::woven::{Woven, orders};

type Result<T> = std::result::Result<T, Refused>;

impl Selector<'_> {
    /// Remembers one of the stores that are done together, and does them all with the last.
    pub(super) fn weave(&mut self, woven: &mut Woven, offset: ValueId, value: ValueId) -> Result<()> {
        let Some(values) = woven.add(offset, value) else { return Ok(()) };
        let element = self.kernel.buffers[woven.buffer.index()].element;
        let address = self.address(woven.buffer, woven.offsets[0], element.bytes())?;
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
            for reg in self.in_order(&sources, count) {
                let offset = address.offset + from as i32 * element.bytes() as i32;
                let part = Part::Woven { of: sources.len() as u8, from: from as u8 };
                self.program.store(stores(element), Address { offset, ..address }, part, reg);
                from += count;
            }
        }
        Ok(())
    }

    /// The lanes of registers in turn, in as many registers.
    fn in_order(&mut self, sources: &[Reg], count: usize) -> Vec<Reg> {
        let put = |orders: Vec<Vec<usize>>| {
            let next = sources[1..].iter().zip(orders);
            next.fold(sources[0], |reg, (source, order)| self.permuted(reg, order, *source))
        };
        orders(sources.len(), count).into_iter().map(put).collect()
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
