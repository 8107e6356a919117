//! LZW as TIFF writes it -> bytes: codes of 9 to 12 bits, highest bit first, the width growing one code early.
//!
//! ```text
//! 256 'a' 'b' 258 257   ->   a b a b       256 clears the table, 257 ends; 258 is the first string seen, "ab"
//! ```

use std::io::{self, BufRead, Bytes, Read};

const CLEAR: u16 = 256;
const END: u16 = 257;
const FIRST: u16 = 258;
const FULL: u16 = 4096;

/// Unpacks what it reads.
pub(super) struct Lzw<R> {
    input: Bytes<R>,
    /// Bits read and not yet used, the newest lowest.
    bits: u32,
    have: u32,
    width: u32,
    /// Strings of the table from [`FIRST`] on: the string that is one shorter, and the last byte.
    strings: Vec<(u16, u8)>,
    /// Length of each string.
    lengths: Vec<u16>,
    previous: Option<u16>,
    /// The string that is being handed out, and how much of it is gone.
    out: Vec<u8>,
    gone: usize,
}

impl<R: BufRead> Lzw<R> {
    pub(super) fn new(input: R) -> Self {
        Lzw {
            input: input.bytes(),
            bits: 0,
            have: 0,
            width: 9,
            strings: Vec::new(),
            lengths: Vec::new(),
            previous: None,
            out: Vec::new(),
            gone: 0,
        }
    }

    /// The next code; the end of the input counts as the end of the data.
    fn code(&mut self) -> io::Result<u16> {
        while self.have < self.width {
            let Some(byte) = self.input.next().transpose()? else { return Ok(END) };
            self.bits = self.bits << 8 | u32::from(byte);
            self.have += 8;
        }
        self.have -= self.width;
        Ok((self.bits >> self.have & ((1 << self.width) - 1)) as u16)
    }

    fn next_free(&self) -> u16 {
        FIRST + self.strings.len() as u16
    }

    fn length(&self, code: u16) -> u16 {
        if code < CLEAR { 1 } else { self.lengths[usize::from(code - FIRST)] }
    }

    /// Puts the string of `code`, which is in the table, into `out`.
    fn spell(&mut self, mut code: u16) {
        let length = usize::from(self.length(code));
        self.out.clear();
        self.out.resize(length, 0);
        for place in self.out[1..].iter_mut().rev() {
            (code, *place) = self.strings[usize::from(code - FIRST)];
        }
        self.out[0] = code as u8;
        self.gone = 0;
    }

    /// The table's next string: that of `code` and one more byte.
    fn add(&mut self, code: u16, byte: u8) {
        if self.next_free() == FULL {
            return;
        }
        self.lengths.push(self.length(code).saturating_add(1));
        self.strings.push((code, byte));
        if self.next_free() >= (1 << self.width) - 1 && self.width < 12 {
            self.width += 1;
        }
    }

    fn clear(&mut self) {
        self.strings.clear();
        self.lengths.clear();
        self.width = 9;
        self.previous = None;
    }

    /// Reads codes until there is a string to hand out; false at the end of the data.
    fn refill(&mut self) -> io::Result<bool> {
        loop {
            let code = self.code()?;
            match (code, self.previous) {
                (END, _) => return Ok(false),
                (CLEAR, _) => {
                    self.clear();
                    continue;
                }
                (_, None) if code < CLEAR => self.spell(code),
                (_, Some(previous)) if code < self.next_free() => {
                    self.spell(code);
                    self.add(previous, self.out[0]);
                }
                (_, Some(previous)) if code == self.next_free() && code < FULL => {
                    self.spell(previous);
                    let first = self.out[0];
                    self.out.push(first);
                    self.add(previous, first);
                }
                (_, _) => {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "a code of the LZW data is wrong",
                    ));
                }
            }
            self.previous = Some(code);
            return Ok(true);
        }
    }
}

impl<R: BufRead> Read for Lzw<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() || (self.gone == self.out.len() && !self.refill()?) {
            return Ok(0);
        }
        let count = out.len().min(self.out.len() - self.gone);
        out[..count].copy_from_slice(&self.out[self.gone..][..count]);
        self.gone += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nine-bit codes, highest bit first.
    fn pack(codes: &[u16]) -> Vec<u8> {
        let bits: Vec<bool> =
            codes.iter().flat_map(|code| (0..9).rev().map(move |bit| code >> bit & 1 == 1)).collect();
        bits.chunks(8)
            .map(|byte| byte.iter().enumerate().fold(0, |sum, (at, bit)| sum | u8::from(*bit) << (7 - at)))
            .collect()
    }

    #[track_caller]
    fn check(codes: &[u16], expect: Option<&str>) {
        let mut found = Vec::new();
        let result = Lzw::new(pack(codes).as_slice()).read_to_end(&mut found);
        let found = result.ok().map(|_| String::from_utf8(found).unwrap());
        assert_eq!(found.as_deref(), expect, "{codes:?}");
    }

    #[test]
    fn spells_strings_of_the_table() {
        let (a, b) = (u16::from(b'a'), u16::from(b'b'));
        check(&[256, a, b, 258, 257], Some("abab"));
        check(&[a, b], Some("ab"));
        // The string that is only just being made.
        check(&[256, a, 258, 259, 257], Some("aaaaaa"));
        check(&[256, a, 256, b, 257, a], Some("ab"));
    }

    #[test]
    fn wrong_codes_are_errors() {
        check(&[256, 258], None);
        check(&[256, 97, 300], None);
        check(&[511], None);
    }
}
