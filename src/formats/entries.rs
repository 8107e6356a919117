//! The elements of a box that are not the fill, in row-major order: what freezing begins with.
//!
//! ```text
//! 0 7 0 / 5 0 6   fill 0   ->   at 1 3 5, values 7 5 6
//! ```

use super::Frozen;

/// Elements that are not the fill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entries {
    /// Coordinates along every dimension.
    pub shape: Vec<u32>,
    /// Bytes of an element.
    pub width: usize,
    /// Row-major places, strictly rising.
    pub at: Vec<u64>,
    /// One value per place.
    pub values: Vec<u8>,
}

/// Bytes that are compared with the fill at once, while nothing else is there.
const BLOCK: usize = 256;

impl Entries {
    /// What is not `fill` in a dense box.
    pub fn of_dense(shape: &[u32], fill: &[u8], data: &[u8]) -> Entries {
        let width = fill.len();
        let mut entries = Entries { shape: shape.to_vec(), width, at: Vec::new(), values: Vec::new() };
        let block = BLOCK / width;
        let blank = fill.repeat(block);
        for (number, part) in data.chunks(block * width).enumerate() {
            if *part != blank[..part.len()] {
                entries.add_part((number * block) as u64, fill, part);
            }
        }
        entries
    }

    /// Leaves out what is the fill after all.
    pub fn drop_fill(&mut self, fill: &[u8]) {
        if self.values.chunks_exact(self.width).all(|value| value != fill) {
            return;
        }
        let all = std::mem::take(&mut self.at).into_iter().zip(self.values.chunks_exact(self.width));
        let (mut at, mut values) = (Vec::new(), Vec::new());
        for (place, value) in all.filter(|(_, value)| *value != fill) {
            at.push(place);
            values.extend_from_slice(value);
        }
        (self.at, self.values) = (at, values);
    }

    fn add_part(&mut self, start: u64, fill: &[u8], part: &[u8]) {
        for (step, value) in part.chunks_exact(self.width).enumerate() {
            if value != fill {
                self.at.push(start + step as u64);
                self.values.extend_from_slice(value);
            }
        }
    }

    /// The value of an entry.
    pub fn value(&self, entry: usize) -> &[u8] {
        &self.values[entry * self.width..][..self.width]
    }
}

impl Frozen {
    /// Its elements that are not the fill.
    pub fn entries(&self) -> Entries {
        let width = self.element.bytes() as usize;
        let mut entries = Entries { shape: self.shape.clone(), width, at: Vec::new(), values: Vec::new() };
        let row = u64::from(self.shape.last().copied().unwrap_or(1));
        self.walk(|number, span| {
            for (step, x) in (span.lo..span.hi).enumerate() {
                let value = self.value(span.at + span.step * step as u32);
                if value != self.fill {
                    entries.at.push(number * row + u64::from(x));
                    entries.values.extend_from_slice(value);
                }
            }
        });
        entries
    }
}
