//! The integer hash of the language, in the operations it is made of.
//!
//! ```text
//! hash(y, x)     h ^= word(y); h *= 0x7feb352d; h ^= h >> 15; h ^= word(x); …
//! ```

use super::Lowerer;
use crate::graph::scalar::{BinaryFn, Scalar};
use crate::graph::types::Element;
use crate::loops::ir::ValueId;

impl Lowerer<'_> {
    /// The steps of [`scalar::hash`](crate::graph::scalar::hash).
    pub(super) fn hash(&mut self, args: &[ValueId]) -> ValueId {
        let word = |n: u32| Scalar::int(Element::U32, n.into());
        let start = 0x9e37_79b9 ^ args.len() as u32;
        let mut h = self.builder.number(word(start));
        for arg in args {
            let folded = self.hash_word(*arg);
            h = self.builder.binary(BinaryFn::Xor, h, folded);
            h = self.mixed(h, 0x7feb_352d, 15);
        }
        self.mixed(h, 0x846c_a68b, 16)
    }

    /// `h *= factor; h ^ (h >> shift)`
    fn mixed(&mut self, h: ValueId, factor: u32, shift: u32) -> ValueId {
        let word = |n: u32| Scalar::int(Element::U32, n.into());
        let factor = self.builder.number(word(factor));
        let product = self.builder.binary(BinaryFn::Mul, h, factor);
        let shift = self.builder.number(word(shift));
        let high = self.builder.binary(BinaryFn::Shr, product, shift);
        self.builder.binary(BinaryFn::Xor, product, high)
    }

    /// `lo ^ (hi ^ (lo >> 31)) * 0xc2b2ae35` of an i64, as a u32.
    fn hash_word(&mut self, arg: ValueId) -> ValueId {
        let arg = self.builder.cast(arg, Element::I64);
        let lo = self.builder.cast(arg, Element::I32);
        let half = self.builder.int(32);
        let hi = self.builder.binary(BinaryFn::Shr, arg, half);
        let hi = self.builder.cast(hi, Element::I32);
        let top = self.builder.number(Scalar::int(Element::I32, 31));
        let sign = self.builder.binary(BinaryFn::Shr, lo, top);
        let extra = self.builder.binary(BinaryFn::Xor, hi, sign);
        let [lo, extra] = [lo, extra].map(|value| self.builder.cast(value, Element::U32));
        let factor = self.builder.number(Scalar::int(Element::U32, 0xc2b2_ae35));
        let spread = self.builder.binary(BinaryFn::Mul, extra, factor);
        self.builder.binary(BinaryFn::Xor, lo, spread)
    }
}
