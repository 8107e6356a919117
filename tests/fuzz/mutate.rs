//! An input -> one that is a little wrong: numbers at the edges of their types, parts that are gone, doubled, or of another.

use crate::checksum::right_last_checksum;
use crate::targets::Kind;

/// splitmix64: the same mutants for the same seed on every machine.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x9e37_79b9_7f4a_7c15)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0 up to, not including, `n`; 0 of nothing.
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Words that mean something somewhere.
const WORDS: [&str; 44] = [
    "0",
    "1",
    "-1",
    "inf",
    "4611686018427387902",
    "-4611686018427387902",
    "9223372036854775807",
    "18446744073709551615",
    "1e308",
    "0.0",
    "x",
    "y",
    "t",
    "a",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ":",
    "..",
    "..=",
    ",",
    "+",
    "//",
    "%",
    "**",
    "<<",
    "<",
    "and",
    "if",
    "then",
    "else",
    "sum(i in 0..3)",
    ".flip([x])",
    ".wrap()",
    ".reshape([-1])",
    ".implicit([x])",
    "take b = t window [4]",
    "tensor",
    "view",
    "set",
    "\u{202e}",
];

/// Makes one mutant of a corpus.
pub(crate) fn mutate(corpus: &[Vec<u8>], kind: Kind, rng: &mut Rng) -> Vec<u8> {
    let mut bytes = corpus[rng.below(corpus.len())].clone();
    let other = &corpus[rng.below(corpus.len())];
    for _ in 0..1 + rng.below(4) {
        match kind {
            Kind::Script | Kind::Slice | Kind::Request => change_text(&mut bytes, other, rng),
            Kind::Zarr if rng.below(2) == 0 => change_text(&mut bytes, other, rng),
            Kind::Npy | Kind::Png | Kind::Tiff | Kind::Npz | Kind::Zarr | Kind::Tile => {
                change_bytes(&mut bytes, other, rng)
            }
        }
    }
    match kind {
        Kind::Png if rng.below(2) == 0 => right_checksums(&mut bytes),
        Kind::Tile if rng.below(8) > 0 => right_last_checksum(&mut bytes),
        _ => {}
    }
    bytes
}

/// The ends of the words and signs of a text.
fn words(bytes: &[u8]) -> Vec<usize> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 128;
    let ends = (1..bytes.len()).filter(|at| !plain(bytes[*at]) || !plain(bytes[at - 1]));
    std::iter::once(0).chain(ends).chain([bytes.len()]).collect()
}

/// A stretch of up to so many words.
fn stretch(bytes: &[u8], most: usize, rng: &mut Rng) -> std::ops::Range<usize> {
    let ends = words(bytes);
    let first = rng.below(ends.len());
    let last = (first + 1 + rng.below(most)).min(ends.len() - 1);
    ends[first]..ends[last].max(ends[first])
}

fn change_text(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    match rng.below(6) {
        0 => _ = bytes.drain(stretch(bytes, 3, rng)),
        1 => {
            let again = stretch(bytes, 20, rng);
            let copy = bytes[again.clone()].to_vec();
            bytes.splice(again.end..again.end, copy);
        }
        2 => {
            let (from, to) = (stretch(other, 30, rng), stretch(bytes, 8, rng));
            bytes.splice(to, other[from].iter().copied());
        }
        3 | 4 => {
            let to = stretch(bytes, 1, rng);
            bytes.splice(to, WORDS[rng.below(WORDS.len())].bytes());
        }
        _ => change_bytes(bytes, other, rng),
    }
}

fn change_bytes(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    const EDGES: [u64; 10] = [0, 1, 2, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, u64::MAX, 1 << 63];
    let at = rng.below(bytes.len());
    match rng.below(7) {
        0 => bytes.truncate(at),
        1 if !bytes.is_empty() => bytes[at] ^= 1 << rng.below(8),
        2 if !bytes.is_empty() => bytes[at] = rng.next() as u8,
        3 | 4 => {
            let (edge, size) = (EDGES[rng.below(EDGES.len())], 1 << rng.below(4));
            let number = if rng.below(2) == 0 { edge.to_le_bytes() } else { edge.to_be_bytes() };
            let number = if number[0] == edge as u8 { &number[..size] } else { &number[8 - size..] };
            let end = (at + size).min(bytes.len());
            bytes.splice(at..end, number.iter().copied());
        }
        5 => {
            let end = (at + 1 + rng.below(16)).min(bytes.len());
            bytes.drain(at..end);
        }
        _ => {
            let from = rng.below(other.len());
            let to = (from + rng.below(64)).min(other.len());
            bytes.splice(at..at, other[from..to].iter().copied());
        }
    }
}

/// Gives the chunks of a png their checksums, so that what is inside them is looked at.
fn right_checksums(bytes: &mut [u8]) {
    let mut at = 8;
    while let Some(head) = bytes.get(at..at + 4) {
        let len = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let Some(data) = bytes.get(at + 4..).and_then(|rest| rest.get(..len.checked_add(4)?)) else { return };
        let mut crc = flate2::Crc::new();
        crc.update(data);
        let end = at + 8 + len;
        match bytes.get_mut(end..end + 4) {
            Some(place) => place.copy_from_slice(&crc.sum().to_be_bytes()),
            None => return,
        }
        at = end + 4;
    }
}
