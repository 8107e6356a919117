//! The data of inputs: dense, or frozen into the format that the script gives it.
//!
//! ```text
//! input mask: bool[y: 4096, x: 4096] format dense(run_list(pattern))      bound as 16 MiB, held as some kB
//! ```

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formats::rows::{Kind, Listing, Part};
use crate::formats::{Entries, Frozen, Rows, fill_bytes, freeze};
use crate::graph::Format;
use crate::graph::digest::Digest;
use crate::graph::types::Element;
use crate::index::Interval;
use crate::io::{Array, scalar_at};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The elements of an input.
#[derive(Clone, Debug)]
pub struct Data {
    held: Arc<Held>,
}

#[derive(Debug, Default)]
struct Held {
    frozen: Option<Frozen>,
    /// Thawed when something needs every element.
    dense: OnceLock<Array>,
    thawing: Mutex<()>,
    measure: OnceLock<Measure>,
    /// What is stored by row, along every dimension, element by element and by runs.
    rows: Vec<[OnceLock<Rows<'static>>; 2]>,
    digest: OnceLock<u128>,
}

/// Rows that are listed once for all even if little is stored in them.
const MANY_ROWS: u64 = 1 << 16;

/// What conditions on data ask.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// No NaN and no infinity.
    pub finite: bool,
    /// The smallest magnitude but 0; infinite without one.
    pub least: f64,
}

impl Data {
    /// Dense elements, frozen if there is a format.
    pub fn new(array: Array, format: Option<&Format>) -> Data {
        match format.and_then(|format| frozen(&array, format)) {
            Some(frozen) => Data::frozen(frozen),
            None => Data { held: Arc::new(Held { dense: OnceLock::from(array), ..Held::default() }) },
        }
    }

    /// Elements that are frozen already.
    pub fn frozen(frozen: Frozen) -> Data {
        let rows = frozen.shape.iter().map(|_| Default::default()).collect();
        Data { held: Arc::new(Held { frozen: Some(frozen), rows, ..Held::default() }) }
    }

    /// What it is frozen into.
    pub fn as_frozen(&self) -> Option<&Frozen> {
        self.held.frozen.as_ref()
    }

    /// All of it in 128 bits, as it is held.
    pub fn digest(&self) -> u128 {
        *self.held.digest.get_or_init(|| match &self.held.frozen {
            Some(frozen) => Digest::of("frozen").text(&format!("{frozen:?}")).bits(),
            None => Digest::of("dense").bytes(&self.whole().data).bits(),
        })
    }

    /// Every element, if it is not frozen, or thawed already.
    pub fn dense(&self) -> Option<&Array> {
        self.held.dense.get()
    }

    /// Every element. If it has to be thawed for that, once for all, `before` is asked with the bytes that this takes.
    pub fn array(&self, before: impl FnOnce(u64) -> Result<()>) -> Result<&Array> {
        if let Some(dense) = self.dense() {
            return Ok(dense);
        }
        let _one = self.held.thawing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(dense) = self.dense() {
            return Ok(dense);
        }
        let frozen = self.as_frozen().expect("data that is not frozen is dense");
        before(frozen.dense_bytes())?;
        let Some(data) = frozen.thaw() else {
            let bytes = frozen.dense_bytes();
            return Diagnostic::new(Code::E1005, format!("{bytes} bytes cannot be allocated"))
                .help("all elements of an input in a format are needed; `itp emit --stage loops` says why")
                .err();
        };
        let shape = frozen.shape.iter().map(|size| i64::from(*size)).collect();
        Ok(self.held.dense.get_or_init(|| Array { element: frozen.element, shape, data }))
    }

    /// What is known of dense elements.
    fn whole(&self) -> &Array {
        self.dense().expect("data that is not frozen is dense")
    }

    /// What is stored of all of it, which lies at `region`, by row along a dimension, listed once for all tasks; `None` if
    /// it is not frozen, or has so many empty rows that each task rather lists its own.
    pub fn rows<'d>(&'d self, region: &'d [Interval], along: usize, kind: Kind) -> Option<Listing<'d>> {
        let frozen = self.as_frozen()?;
        let part = [Part { frozen, region }];
        if kind == Kind::Entries
            && along + 1 == region.len()
            && let Some(rows) = Rows::borrowed(region, part[0])
        {
            return Some(Listing::Own(rows));
        }
        let others = frozen.shape.iter().enumerate().filter(|(dim, _)| *dim != along);
        let count = others.fold(1, |count: u64, (_, size)| count.saturating_mul(u64::from(*size)));
        if count > MANY_ROWS.saturating_add(4 * frozen.stored) {
            return None;
        }
        let list = || Rows::gather(region, along, kind, &part).into_owned();
        let rows = self.held.rows[along][kind as usize].get_or_init(list);
        rows.is_of(region, along).then_some(Listing::Shared(rows))
    }

    /// Bytes that a task may need to list what is stored by row, at the most.
    pub fn listing(&self) -> u64 {
        self.as_frozen().map_or(0, |frozen| {
            let outer = frozen.shape.split_last().map_or(&[][..], |(_, outer)| outer);
            let rows = outer.iter().map(|size| u64::from(*size)).fold(1, u64::saturating_mul);
            let listed = frozen.stored.saturating_mul(8 + frozen.element.bytes());
            rows.saturating_add(1).saturating_mul(4).saturating_add(listed)
        })
    }

    /// What all its elements are like.
    pub fn measure(&self) -> Measure {
        match &self.held.frozen {
            Some(frozen) => self.stored().and(Measure::of(frozen.element, &frozen.fill)),
            None => self.stored(),
        }
    }

    /// What its elements are like; of frozen ones, those that are stored.
    pub fn stored(&self) -> Measure {
        *self.held.measure.get_or_init(|| match &self.held.frozen {
            Some(frozen) => Measure::of(frozen.element, &frozen.values),
            None => Measure::of(self.whole().element, &self.whole().data),
        })
    }
}

/// An array in a format, if its positions can be numbered.
pub fn frozen(array: &Array, format: &Format) -> Option<Frozen> {
    let shape: Option<Vec<u32>> = array.shape.iter().map(|size| u32::try_from(*size).ok()).collect();
    let entries = Entries::of_dense(&shape?, &fill_bytes(format, array.element), &array.data);
    freeze(&entries, format, array.element).ok()
}

impl Measure {
    /// Of no elements.
    pub const NOTHING: Measure = Measure { finite: true, least: f64::INFINITY };

    /// Of both.
    pub fn and(self, other: Measure) -> Measure {
        Measure { finite: self.finite && other.finite, least: self.least.min(other.least) }
    }

    /// Of elements that lie one after the other.
    pub fn of(element: Element, bytes: &[u8]) -> Measure {
        let (most, least) = match element {
            Element::F32 => {
                let (most, least) =
                    extremes(bytes, |bytes: [u8; 4]| u64::from(u32::from_le_bytes(bytes) & !(1 << 31)));
                (
                    f64::from(f32::from_bits(most as u32)),
                    least.map(|bits| f64::from(f32::from_bits(bits as u32))),
                )
            }
            Element::F64 => {
                let (most, least) = extremes(bytes, |bytes: [u8; 8]| u64::from_le_bytes(bytes) & !(1 << 63));
                (f64::from_bits(most), least.map(f64::from_bits))
            }
            Element::F16 => {
                let (most, least) =
                    extremes(bytes, |bytes: [u8; 2]| u64::from(u16::from_le_bytes(bytes) & !(1 << 15)));
                let value = |bits: u64| scalar_at(Element::F16, &(bits as u16).to_le_bytes()).to_f64();
                (value(most), least.map(value))
            }
            _ => (1.0, Some(1.0)),
        };
        Measure { finite: most.is_finite(), least: least.unwrap_or(f64::INFINITY) }
    }
}

/// The largest magnitude, and the smallest but 0, both as bits, which are ordered as magnitudes are.
fn extremes<const N: usize>(bytes: &[u8], magnitude: impl Fn([u8; N]) -> u64) -> (u64, Option<u64>) {
    let elements = bytes.as_chunks::<N>().0;
    let (mut most, mut least) = (0u64, u64::MAX);
    for bytes in elements {
        let bits = magnitude(*bytes);
        most = most.max(bits);
        // 0 becomes the largest of all.
        least = least.min(bits.wrapping_sub(1));
    }
    (most, (least != u64::MAX).then(|| least + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_find_what_is_not_finite_and_what_is_small() {
        let check = |values: &[f32], finite: bool, least: f64| {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            assert_eq!(Measure::of(Element::F32, &bytes), Measure { finite, least }, "{values:?}");
        };
        check(&[], true, f64::INFINITY);
        check(&[0.0, -0.0], true, f64::INFINITY);
        check(&[0.0, -0.5, 2.0], true, 0.5);
        check(&[1.0, f32::INFINITY], false, 1.0);
        check(&[-4.0, f32::NAN], false, 4.0);
    }
}
