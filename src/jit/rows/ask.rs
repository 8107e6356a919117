//! A function `extern "C" fn(first: *const u8, end: *const u8)` that asks for the lines of memory between two addresses, one
//! at the least, and changes no register: Cranelift has no instruction for that.

use super::evex::{Bytes, Memory, Nearness, RDI, RSI, When};

/// Bytes of a line of the cache.
const LINE: i32 = 64;

/// Its bytes, which run anywhere.
pub(in crate::jit) fn ask() -> Vec<u8> {
    let mut bytes = Bytes::default();
    bytes.push_register(RDI);
    let line = bytes.here();
    bytes.prefetch(Nearness::First, Memory::at(RDI, 0));
    bytes.add(RDI, LINE);
    bytes.compare(RSI, RDI);
    bytes.jump_back(When::Greater, line);
    bytes.pop_register(RDI);
    bytes.return_();
    bytes.finish(&[])
}

#[cfg(test)]
mod tests {
    use crate::jit::rows::disassembled;

    #[test]
    fn a_line_after_the_other() {
        let text = disassembled(&super::ask());
        let lines: Vec<&str> = text.lines().map(|line| line[6..].trim()).collect();
        let line = ["prefetcht0 [rdi]", "add rdi,40h", "cmp rsi,rdi", "jg 2"];
        assert_eq!(lines[..7], [&["push rdi"], &line[..], &["pop rdi", "ret"]].concat());
    }
}
