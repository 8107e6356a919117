//! Packbits -> bytes: `2 a b c` is three bytes as they are, `-3 a` (253) is one byte four times, -128 is nothing.

use std::io::{self, Read};

/// Unpacks what it reads.
pub(super) struct PackBits<R> {
    input: R,
    run: Run,
}

/// What the last control byte said, and how much of it is left.
enum Run {
    Literal(usize),
    Repeat(usize, u8),
}

impl<R: Read> PackBits<R> {
    pub(super) fn new(input: R) -> Self {
        PackBits { input, run: Run::Literal(0) }
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let mut byte = [0];
        Ok((self.input.read(&mut byte)? == 1).then_some(byte[0]))
    }

    /// The next run that is not empty; none at the end of the input.
    fn next_run(&mut self) -> io::Result<Option<Run>> {
        while let Some(control) = self.byte()? {
            match control {
                0..=127 => return Ok(Some(Run::Literal(usize::from(control) + 1))),
                128 => {}
                129..=255 => {
                    return Ok(self.byte()?.map(|byte| Run::Repeat(257 - usize::from(control), byte)));
                }
            }
        }
        Ok(None)
    }
}

impl<R: Read> Read for PackBits<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if let Run::Literal(0) | Run::Repeat(0, _) = self.run {
            match self.next_run()? {
                Some(run) => self.run = run,
                None => return Ok(0),
            }
        }
        match &mut self.run {
            Run::Literal(left) => {
                let wanted = out.len().min(*left);
                let got = self.input.read(&mut out[..wanted])?;
                *left -= got;
                Ok(got)
            }
            Run::Repeat(left, byte) => {
                let count = out.len().min(*left);
                out[..count].fill(*byte);
                *left -= count;
                Ok(count)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(packed: &[u8], expect: &[u8]) {
        let mut found = Vec::new();
        PackBits::new(packed).read_to_end(&mut found).unwrap();
        assert_eq!(found, expect);
    }

    #[test]
    fn unpacks_runs_and_literals() {
        check(&[], &[]);
        check(&[2, 7, 8, 9], &[7, 8, 9]);
        check(&[253, 5, 128, 0, 6], &[5, 5, 5, 5, 6]);
        check(&[253], &[]);
        check(&[5, 1, 2], &[1, 2]);
    }
}
