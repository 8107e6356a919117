//! An array -> text: one row of the last dimension per line, a blank line between planes.
//!
//! ```text
//! f32[2, 3]:  0.5,1.0,nan        u8[3]:  7
//!             -1.0,inf,1e-7              8
//!                                        9
//! ```
//!
//! Floats are the shortest text that reads back as the same value; an array of one dimension is a column.

use super::elements::{Number, load, size};
use super::encode::{Encode, Out};
use super::half;
use crate::graph::types::Element;
use std::io::{self, Write};

/// Writes the text.
pub(super) struct Csv {
    out: Out,
    element: Element,
    /// Values per line.
    columns: u64,
    /// Lines until a blank one; none before rank 3.
    rows: Option<u64>,
    /// Values written so far.
    done: u64,
}

impl Csv {
    pub(super) fn new(out: Out, element: Element, shape: &[i64]) -> Csv {
        let (columns, rows) = match *shape {
            [] | [_] => (1, None),
            [_, columns] => (columns, None),
            [.., rows, columns] => (columns, Some(rows.unsigned_abs())),
        };
        Csv { out, element, columns: columns.unsigned_abs(), rows, done: 0 }
    }

    /// What stands between the last value and the next one.
    fn separator(&self) -> &'static str {
        let at_row = self.done.is_multiple_of(self.columns);
        let at_plane =
            self.rows.is_some_and(|rows| self.done.is_multiple_of(self.columns.saturating_mul(rows)));
        match (self.done, at_row, at_plane) {
            (0, _, _) => "",
            (_, _, true) => "\n\n",
            (_, true, false) => "\n",
            (_, false, false) => ",",
        }
    }
}

impl Encode for Csv {
    fn write(&mut self, elements: &[u8]) -> io::Result<()> {
        for bytes in elements.chunks_exact(size(self.element)) {
            self.out.write_all(self.separator().as_bytes())?;
            put(&mut self.out, self.element, bytes)?;
            self.done += 1;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<()> {
        if self.done > 0 {
            self.out.write_all(b"\n")?;
        }
        self.out.flush()
    }
}

fn put(out: &mut impl Write, element: Element, bytes: &[u8]) -> io::Result<()> {
    match load(element, bytes) {
        Number::Int(value) => write!(out, "{value}"),
        Number::Float(value) if value.is_nan() => out.write_all(b"nan"),
        Number::Float(value) => match element {
            Element::F16 => write!(out, "{:?}", shortest_f16(value as f32)),
            Element::F32 => write!(out, "{:?}", value as f32),
            _ => write!(out, "{value:?}"),
        },
    }
}

/// Of the f32 values that round to the same f16, the one with the shortest text.
fn shortest_f16(value: f32) -> f32 {
    let bits = half::from_f32(value);
    let texts = (0..5).map(|digits| format!("{value:.digits$e}"));
    let mut values = texts.filter_map(|text| text.parse::<f32>().ok());
    values.find(|short| half::from_f32(*short) == bits).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(element: Element, bytes: &[u8], expect: &str) {
        let mut out = Vec::new();
        put(&mut out, element, bytes).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }

    #[test]
    fn values_are_short_and_exact() {
        check(Element::Bool, &[1], "1");
        check(Element::I8, &[255], "-1");
        check(Element::U64, &[255; 8], "18446744073709551615");
        check(Element::F32, &0.1f32.to_le_bytes(), "0.1");
        check(Element::F32, &1e-7f32.to_le_bytes(), "1e-7");
        check(Element::F64, &f64::NEG_INFINITY.to_le_bytes(), "-inf");
        check(Element::F64, &f64::NAN.to_le_bytes(), "nan");
        check(Element::F16, &half::from_f32(0.1).to_le_bytes(), "0.1");
        check(Element::F16, &0x7bffu16.to_le_bytes(), "65500.0");
        check(Element::F16, &0xfc00u16.to_le_bytes(), "-inf");
    }

    #[test]
    fn every_f16_reads_back_from_its_text() {
        for bits in (0..=u16::MAX).filter(|bits| !half::to_f32(*bits).is_nan()) {
            let text = format!("{:?}", shortest_f16(half::to_f32(bits)));
            assert_eq!(half::from_f32(text.parse().unwrap()), bits, "{text}");
        }
    }
}
