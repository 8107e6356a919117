//! Words and texts -> 128 bits that tell them apart: the same on every machine and in every version of the program.
//!
//! ```text
//! Digest::of("read").word(3)   ->   0x6a09…
//! ```
//!
//! It is not made to withstand someone who looks for two inputs with one digest.

/// Digits of a product that nobody chose: the golden ratio and the square root of 2, made odd.
const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15_6a09_e667_f3bc_c909;

/// What was taken in so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(u128);

impl Digest {
    /// The digest of a text.
    pub fn of(text: &str) -> Digest {
        Digest(FACTOR >> 1).text(text)
    }

    /// Takes in a number. Every step can be undone, so two states that differ stay different.
    #[must_use]
    pub fn word(self, word: u64) -> Digest {
        let mixed = (self.0 ^ u128::from(word)).wrapping_mul(FACTOR);
        Digest((mixed ^ (mixed >> 67)).rotate_left(29))
    }

    /// Takes in a signed number.
    #[must_use]
    pub fn int(self, value: i64) -> Digest {
        self.word(value as u64)
    }

    /// Takes in another digest.
    #[must_use]
    pub fn digest(self, other: Digest) -> Digest {
        self.word(other.0 as u64).word((other.0 >> 64) as u64)
    }

    /// Takes in bytes and how many there are, so that neighbours cannot trade bytes.
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Digest {
        let word = |chunk: &[u8]| chunk.iter().rev().fold(0, |word, byte| (word << 8) | u64::from(*byte));
        let (words, rest) = bytes.as_chunks::<8>();
        let state = words.iter().fold(self, |state, chunk| state.word(u64::from_le_bytes(*chunk)));
        state.word(word(rest)).word(bytes.len() as u64)
    }

    /// Takes in a text.
    #[must_use]
    pub fn text(self, text: &str) -> Digest {
        self.bytes(text.as_bytes())
    }

    /// All of its bits, stirred once more.
    pub fn bits(self) -> u128 {
        self.word(0).word(0).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_differs_has_another_digest() {
        let mut seen = BTreeSet::new();
        for first in 0..64 {
            for second in [0, 1, 255, 256, u64::MAX] {
                assert!(seen.insert(Digest::of("a").word(first).word(second).bits()), "{first} {second}");
            }
        }
        for text in ["", "a", "b", "ab", "a\0", "\0\0", "abcdefgh", "abcdefgh\0"] {
            assert!(seen.insert(Digest::of(text).bits()), "{text:?}");
        }
        assert_ne!(Digest::of("").text("ab").text("c"), Digest::of("").text("a").text("bc"));
    }

    #[test]
    fn it_is_the_same_tomorrow() {
        assert_eq!(
            format!("{:032x}", Digest::of("tensor").word(7).bits()),
            "c1f3e9bb97706054de621a5e78bc8cf4"
        );
    }

    #[test]
    fn every_bit_of_a_word_changes_about_half_of_all_bits() {
        for bit in 0..64 {
            let changed = Digest::of("x").word(1 << bit).bits() ^ Digest::of("x").word(0).bits();
            assert!((32..=96).contains(&changed.count_ones()), "bit {bit}: {}", changed.count_ones());
        }
    }
}
