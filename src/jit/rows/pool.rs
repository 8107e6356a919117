//! Constants behind the code of a row, each once.
//!
//! ```text
//! 7 as i32, 9 as i32, 7 as i32      07 00 00 00 09 00 00 00      at 0, at 4, at 0
//! ```

use std::collections::{BTreeMap, HashMap};

/// The bytes, and where they have been found.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    bytes: Vec<u8>,
    /// For each length of constants, those that are there. Rows of tens of thousands of constants look for every one of them.
    known: BTreeMap<usize, Known>,
}

#[derive(Clone, Debug, Default)]
struct Known {
    places: HashMap<Vec<u8>, usize>,
    /// How many pieces of this length have been looked at.
    looked: usize,
}

impl Pool {
    /// All of them.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The place of some bytes, at a multiple of their length.
    pub(super) fn place(&mut self, bytes: &[u8]) -> i32 {
        let size = bytes.len();
        let known = self.known.entry(size).or_default();
        for (number, piece) in self.bytes.chunks_exact(size).enumerate().skip(known.looked) {
            known.places.entry(piece.to_vec()).or_insert(number * size);
            known.looked = number + 1;
        }
        let found = known.places.get(bytes).copied();
        let at = found.unwrap_or_else(|| {
            let at = self.bytes.len().next_multiple_of(size);
            self.bytes.resize(at, 0);
            self.bytes.extend_from_slice(bytes);
            at
        });
        at as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_found_again_also_inside_of_longer_ones() {
        let mut pool = Pool::default();
        let places = [&[7, 0, 0, 0][..], &[9], &[7, 0, 0, 0], &[1, 2, 3, 4, 5, 6, 7, 8], &[5, 6, 7, 8], &[0]];
        assert_eq!(places.map(|bytes| pool.place(bytes)), [0, 4, 0, 8, 12, 1]);
        assert_eq!(pool.bytes(), [7, 0, 0, 0, 9, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
