//! Instructions as bytes: EVEX and VEX prefixes, addresses, and the few scalar instructions around a row.
//!
//! ```text
//! vaddps zmm2, zmm3, [rcx + 4*rax + 64]      62 f1 64 48 58 54 81 01
//! ```
//!
//! Only what [`ops`](super::ops) lists is ever encoded. One table serves every width: a width is two bits of the prefix.

use super::ops::{Encoding, Map, Prefix, Tuple};

/// A general register, by its number: rax 0, rcx 1, rdx 2, rbx 3, rsp 4, rbp 5, rsi 6, rdi 7, r8 8 …
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gpr(pub(super) u8);

pub(super) const RAX: Gpr = Gpr(0);
pub(super) const RBP: Gpr = Gpr(5);
pub(super) const RSP: Gpr = Gpr(4);
pub(super) const RSI: Gpr = Gpr(6);
pub(super) const RDI: Gpr = Gpr(7);
pub(super) const R11: Gpr = Gpr(11);

/// How many bits a vector register has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Bits {
    B256,
    B512,
}

impl Bits {
    pub(super) fn bytes(self) -> i32 {
        match self {
            Bits::B256 => 32,
            Bits::B512 => 64,
        }
    }

    fn field(self) -> u8 {
        match self {
            Bits::B256 => 0b01,
            Bits::B512 => 0b10,
        }
    }
}

/// A place in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) base: Base,
    /// A register and the factor by which it counts.
    pub(super) index: Option<(Index, u8)>,
    pub(super) offset: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Register(Gpr),
    /// The constants behind the code; the offset is that in the pool.
    Pool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    Register(Gpr),
    /// One index per lane.
    Lanes(u8),
}

impl Memory {
    pub(super) fn at(base: Gpr, offset: i32) -> Memory {
        Memory { base: Base::Register(base), index: None, offset }
    }
}

/// What the last operand of a vector instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rm {
    /// A vector or mask register.
    Register(u8),
    General(Gpr),
    Memory(Memory),
    /// One element in memory, for all lanes.
    Broadcast(Memory),
}

/// The registers of a vector instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operands {
    pub(super) reg: u8,
    /// The register between destination and last source, if there is one.
    pub(super) vvvv: u8,
    pub(super) rm: Rm,
    /// 0 for none.
    pub(super) mask: u8,
    /// Lanes that the mask leaves out become 0, rather than stay.
    pub(super) zeroing: bool,
    pub(super) imm: Option<u8>,
}

/// Bytes under construction, with the places that refer to the pool.
#[derive(Debug, Default)]
pub(super) struct Bytes {
    pub(super) code: Vec<u8>,
    /// Where a 32-bit distance to an offset of the pool is missing, and where the distance counts from.
    pool: Vec<(usize, usize, i32)>,
}

/// A jump whose distance is not known yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jump(usize);

/// Conditions of jumps, by their code.
#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    Greater = 0xf,
    LessOrEqual = 0xe,
    Zero = 0x4,
    NotZero = 0x5,
}

/// The cache that a line is brought to, at the least.
#[derive(Clone, Copy, Debug)]
pub(super) enum Nearness {
    First = 1,
    Second = 2,
}

impl Bytes {
    fn push(&mut self, bytes: &[u8]) {
        self.code.extend_from_slice(bytes);
    }

    /// A vector instruction.
    pub(super) fn vector(&mut self, encoding: &Encoding, bits: Bits, operands: &Operands) {
        let Operands { reg, vvvv, rm, mask, zeroing, imm } = *operands;
        let (x, b, v4) = match rm {
            Rm::Register(rm) => (rm >> 4 & 1, rm >> 3 & 1, vvvv >> 4 & 1),
            Rm::General(rm) => (0, rm.0 >> 3 & 1, vvvv >> 4 & 1),
            Rm::Memory(memory) | Rm::Broadcast(memory) => {
                let base = match memory.base {
                    Base::Register(base) => base.0,
                    Base::Pool => 0,
                };
                match memory.index {
                    Some((Index::Lanes(index), _)) => (index >> 3 & 1, base >> 3 & 1, index >> 4 & 1),
                    Some((Index::Register(index), _)) => (index.0 >> 3 & 1, base >> 3 & 1, vvvv >> 4 & 1),
                    None => (0, base >> 3 & 1, vvvv >> 4 & 1),
                }
            }
        };
        let not = |bit: u8| bit ^ 1;
        let first = not(reg >> 3 & 1) << 7 | not(x) << 6 | not(b) << 5 | not(reg >> 4 & 1) << 4;
        let map = match encoding.map {
            Map::M0F => 1,
            Map::M0F38 => 2,
            Map::M0F3A => 3,
        };
        let second = encoding.wide << 7 | (!vvvv & 0xf) << 3 | 0b100 | prefix_bits(encoding.prefix);
        let broadcast = u8::from(matches!(rm, Rm::Broadcast(_)));
        let third = u8::from(zeroing) << 7 | bits.field() << 5 | broadcast << 4 | not(v4) << 3 | mask;
        self.push(&[0x62, first | map, second, third, encoding.opcode]);
        let unit = match (encoding.tuple, broadcast) {
            (_, 1) => 4 << encoding.wide,
            (Tuple::Full, _) => bits.bytes(),
            (Tuple::Half, _) => bits.bytes() / 2,
            (Tuple::Quarter, _) => bits.bytes() / 4,
            (Tuple::Element, _) => 4 << encoding.wide,
        };
        self.operand(reg, rm, unit, usize::from(imm.is_some()));
        imm.into_iter().for_each(|imm| self.code.push(imm));
    }

    /// An instruction on masks.
    pub(super) fn mask(&mut self, encoding: &Encoding, operands: &Operands) {
        let Operands { reg, vvvv, rm, imm, .. } = *operands;
        let (x, b) = match rm {
            Rm::Register(_) => (0, 0),
            Rm::General(rm) => (0, rm.0 >> 3 & 1),
            Rm::Memory(memory) | Rm::Broadcast(memory) => {
                let base = match memory.base {
                    Base::Register(base) => base.0 >> 3 & 1,
                    Base::Pool => 0,
                };
                let index = match memory.index {
                    Some((Index::Register(index), _)) => index.0 >> 3 & 1,
                    _ => 0,
                };
                (index, base)
            }
        };
        let map = match encoding.map {
            Map::M0F => 1,
            Map::M0F38 => 2,
            Map::M0F3A => 3,
        };
        let not = |bit: u8| bit ^ 1;
        let first = not(reg >> 3 & 1) << 7 | not(x) << 6 | not(b) << 5 | map;
        let long = u8::from(encoding.tuple == Tuple::Half);
        let second = encoding.wide << 7 | (!vvvv & 0xf) << 3 | long << 2 | prefix_bits(encoding.prefix);
        self.push(&[0xc4, first, second, encoding.opcode]);
        self.operand(reg, rm, 1, usize::from(imm.is_some()));
        imm.into_iter().for_each(|imm| self.code.push(imm));
    }

    /// The bytes that say which register and which register or place: short offsets count in units.
    fn operand(&mut self, reg: u8, rm: Rm, unit: i32, after: usize) {
        let reg = (reg & 7) << 3;
        let memory = match rm {
            Rm::Register(rm) => return self.code.push(0xc0 | reg | rm & 7),
            Rm::General(rm) => return self.code.push(0xc0 | reg | rm.0 & 7),
            Rm::Memory(memory) | Rm::Broadcast(memory) => memory,
        };
        let Base::Register(base) = memory.base else {
            self.code.push(reg | 0b101);
            let at = self.code.len();
            self.push(&[0; 4]);
            self.pool.push((at, at + 4 + after, memory.offset));
            return;
        };
        let short = (memory.offset % unit == 0).then(|| i8::try_from(memory.offset / unit).ok()).flatten();
        // rbp and r13 always come with an offset, rsp and r12 always with an index byte.
        let none = memory.offset == 0 && base.0 & 7 != 5;
        let mode = if none {
            0
        } else if short.is_some() {
            0x40
        } else {
            0x80
        };
        match memory.index {
            None if base.0 & 7 != 4 => self.code.push(mode | reg | base.0 & 7),
            None => self.push(&[mode | reg | 0b100, 0x20 | base.0 & 7]),
            Some((index, scale)) => {
                let index = match index {
                    Index::Register(index) => index.0,
                    Index::Lanes(index) => index,
                };
                let scale = scale.trailing_zeros() as u8;
                self.push(&[mode | reg | 0b100, scale << 6 | (index & 7) << 3 | base.0 & 7]);
            }
        }
        match (none, short) {
            (true, _) => {}
            (false, Some(short)) => self.code.push(short as u8),
            (false, None) => self.push(&memory.offset.to_le_bytes()),
        }
    }

    // --- scalar instructions, all on 64 bits ---

    /// `opcode` with a register and a register or place.
    fn general(&mut self, opcode: &[u8], reg: Gpr, rm: Rm, after: usize) {
        let (x, b) = match rm {
            Rm::General(rm) => (0, rm.0 >> 3),
            Rm::Memory(Memory { base: Base::Register(base), index, .. }) => match index {
                Some((Index::Register(index), _)) => (index.0 >> 3, base.0 >> 3),
                _ => (0, base.0 >> 3),
            },
            _ => (0, 0),
        };
        self.code.push(0x48 | reg.0 >> 3 << 2 | x << 1 | b);
        self.push(opcode);
        self.operand(reg.0, rm, 1, after);
    }

    pub(super) fn load(&mut self, to: Gpr, from: Memory) {
        self.general(&[0x8b], to, Rm::Memory(from), 0);
    }

    /// Brings a line nearer; any address will do.
    pub(super) fn prefetch(&mut self, to: Nearness, line: Memory) {
        self.general(&[0x0f, 0x18], Gpr(to as u8), Rm::Memory(line), 0);
    }

    pub(super) fn copy(&mut self, to: Gpr, from: Gpr) {
        self.general(&[0x8b], to, Rm::General(from), 0);
    }

    pub(super) fn add_memory(&mut self, to: Gpr, from: Memory) {
        self.general(&[0x03], to, Rm::Memory(from), 0);
    }

    pub(super) fn add_register(&mut self, to: Gpr, from: Gpr) {
        self.general(&[0x03], to, Rm::General(from), 0);
    }

    /// Fills with zeros.
    pub(super) fn shift_right(&mut self, to: Gpr, count: u8) {
        self.general(&[0xc1], Gpr(5), Rm::General(to), 1);
        self.push(&[count]);
    }

    pub(super) fn add(&mut self, to: Gpr, by: i32) {
        self.general(&[0x81], Gpr(0), Rm::General(to), 4);
        self.push(&by.to_le_bytes());
    }

    pub(super) fn add_to_memory(&mut self, to: Memory, by: i32) {
        self.general(&[0x81], Gpr(0), Rm::Memory(to), 4);
        self.push(&by.to_le_bytes());
    }

    pub(super) fn add_register_to_memory(&mut self, to: Memory, by: Gpr) {
        self.general(&[0x01], by, Rm::Memory(to), 0);
    }

    pub(super) fn and(&mut self, to: Gpr, bits: i32) {
        self.general(&[0x81], Gpr(4), Rm::General(to), 4);
        self.push(&bits.to_le_bytes());
    }

    pub(super) fn subtract(&mut self, to: Gpr, from: Gpr) {
        self.general(&[0x2b], to, Rm::General(from), 0);
    }

    /// `to = from * by`
    pub(super) fn multiply(&mut self, to: Gpr, from: Gpr, by: i32) {
        self.general(&[0x69], to, Rm::General(from), 4);
        self.push(&by.to_le_bytes());
    }

    /// `to = from * by` with any number; they are two registers.
    pub(super) fn multiply_wide(&mut self, to: Gpr, from: Gpr, by: i64) {
        if let Ok(by) = i32::try_from(by) {
            return self.multiply(to, from, by);
        }
        self.push(&[0x48 | to.0 >> 3, 0xb8 | to.0 & 7]);
        self.push(&by.to_le_bytes());
        self.general(&[0x0f, 0xaf], to, Rm::General(from), 0);
    }

    pub(super) fn multiply_memory(&mut self, to: Gpr, by: Memory) {
        self.general(&[0x0f, 0xaf], to, Rm::Memory(by), 0);
    }

    pub(super) fn compare_memory(&mut self, a: Gpr, b: Memory) {
        self.general(&[0x3b], a, Rm::Memory(b), 0);
    }

    /// `to = from`, if the last comparison went so.
    pub(super) fn move_memory(&mut self, when: When, to: Gpr, from: Memory) {
        self.general(&[0x0f, 0x40 | when as u8], to, Rm::Memory(from), 0);
    }

    pub(super) fn store(&mut self, to: Memory, from: Gpr) {
        self.general(&[0x89], from, Rm::Memory(to), 0);
    }

    pub(super) fn compare(&mut self, a: Gpr, b: Gpr) {
        self.general(&[0x3b], a, Rm::General(b), 0);
    }

    pub(super) fn zero(&mut self, to: Gpr) {
        self.general(&[0x33], to, Rm::General(to), 0);
    }

    pub(super) fn set(&mut self, to: Gpr, value: i32) {
        self.general(&[0xc7], Gpr(0), Rm::General(to), 4);
        self.push(&value.to_le_bytes());
    }

    /// `to` without the bits from number `count` on; `count` is a register.
    pub(super) fn low_bits(&mut self, to: Gpr, count: Gpr) {
        // bzhi to, to, count: VEX.LZ.0F38.W1 F5
        let first = (to.0 >> 3 ^ 1) << 7 | 1 << 6 | (to.0 >> 3 ^ 1) << 5 | 2;
        let second = 1 << 7 | (!count.0 & 0xf) << 3;
        self.push(&[0xc4, first, second, 0xf5, 0xc0 | (to.0 & 7) << 3 | to.0 & 7]);
    }

    pub(super) fn push_register(&mut self, from: Gpr) {
        self.push(&[0x40 | from.0 >> 3, 0x50 | from.0 & 7]);
    }

    pub(super) fn pop_register(&mut self, to: Gpr) {
        self.push(&[0x40 | to.0 >> 3, 0x58 | to.0 & 7]);
    }

    pub(super) fn zero_upper(&mut self) {
        self.push(&[0xc5, 0xf8, 0x77]);
    }

    pub(super) fn return_(&mut self) {
        self.push(&[0xc3]);
    }

    pub(super) fn jump_forward(&mut self, when: When) -> Jump {
        self.push(&[0x0f, 0x80 | when as u8]);
        self.push(&[0; 4]);
        Jump(self.code.len())
    }

    /// The jump leads here.
    pub(super) fn land(&mut self, jump: Jump) {
        let distance = (self.code.len() - jump.0) as i32;
        self.code[jump.0 - 4..jump.0].copy_from_slice(&distance.to_le_bytes());
    }

    pub(super) fn here(&self) -> usize {
        self.code.len()
    }

    pub(super) fn jump_back(&mut self, when: When, to: usize) {
        self.push(&[0x0f, 0x80 | when as u8]);
        let distance = to as i64 - (self.code.len() as i64 + 4);
        self.push(&(distance as i32).to_le_bytes());
    }

    /// Adds the pool behind the code; the whole can be put anywhere.
    pub(super) fn finish(mut self, pool: &[u8]) -> Vec<u8> {
        let start = self.code.len().next_multiple_of(64);
        self.code.resize(start, 0xcc);
        self.push(pool);
        for (at, from, offset) in self.pool {
            let distance = start as i64 + i64::from(offset) - from as i64;
            self.code[at..at + 4].copy_from_slice(&(distance as i32).to_le_bytes());
        }
        self.code
    }
}

fn prefix_bits(prefix: Prefix) -> u8 {
    match prefix {
        Prefix::None => 0,
        Prefix::P66 => 1,
        Prefix::F3 => 2,
        Prefix::F2 => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::super::ops::{ALL, Encoding, Tuple};
    use super::*;
    use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

    fn read_back(bytes: &[u8]) -> String {
        let mut formatter = IntelFormatter::new();
        formatter.options_mut().set_use_pseudo_ops(false);
        let mut decoder = Decoder::new(64, bytes, DecoderOptions::NONE);
        let mut text = String::new();
        formatter.format(&decoder.decode(), &mut text);
        assert!(!decoder.can_decode(), "{bytes:x?}: {text} and more");
        text
    }

    fn memory(index: Option<(Index, u8)>, offset: i32) -> Memory {
        Memory { base: Base::Register(Gpr(12)), index, offset }
    }

    fn has_number(name: &str) -> bool {
        [
            "vrndscale",
            "vrange",
            "vcmp",
            "vpcmp",
            "vextract",
            "vinsert",
            "vcvtps2ph",
            "kshift",
            "vshuf",
            "valign",
            "vpternlog",
        ]
        .iter()
        .any(|prefix| name.starts_with(prefix))
    }

    fn written(encoding: &Encoding, bits: Bits) -> Vec<u8> {
        let name = encoding.name;
        let is_mask = name.starts_with('k');
        let mask = if name.starts_with("vpgather") || name.starts_with("vpblend") { 3 } else { 0 };
        let rm = match name {
            _ if name.starts_with("vpgather") => Rm::Memory(memory(Some((Index::Lanes(20), 4)), 64)),
            _ if name.starts_with("vpbroadcast") => Rm::General(R11),
            _ if encoding.tuple == Tuple::Element => Rm::Memory(memory(None, 64)),
            "vmovntps" | "vmovntpd" => Rm::Memory(memory(None, 64)),
            "kmovw" if encoding.opcode == 0x92 => Rm::General(R11),
            "kmovw" if encoding.opcode == 0x91 => Rm::Memory(memory(None, 64)),
            _ if is_mask => Rm::Register(5),
            _ => Rm::Register(27),
        };
        let to_mask = name.contains("cmp") || name.starts_with("vptest");
        let reg = if is_mask || to_mask { 2 } else { 9 };
        let three = ["vadd", "vsub", "vmul", "vdiv", "vmin", "vmax", "vfm", "vfnm", "vpand", "vpor", "vpxor"]
            .into_iter()
            .chain(["vpadd", "vpsub", "vpmul", "vpmin", "vpmax", "vps", "vpcmp", "vcmp", "vptest", "vptern"])
            .chain(["vpblend", "vinsert", "vperm", "vunpck", "vshuf", "valign", "vrange"])
            .any(|prefix| name.starts_with(prefix));
        let vvvv = if is_mask && encoding.tuple == Tuple::Half {
            4
        } else if three {
            18
        } else {
            0
        };
        let imm = has_number(name).then_some(1);
        let operands = Operands { reg, vvvv, rm, mask, zeroing: false, imm };
        let mut bytes = Bytes::default();
        if is_mask {
            bytes.mask(encoding, &operands)
        } else {
            bytes.vector(encoding, bits, &operands)
        }
        bytes.code
    }

    #[test]
    fn every_instruction_reads_back() {
        let named = ALL.iter().filter(|encoding| !encoding.name.starts_with("shift"));
        let both = named.flat_map(|encoding| [(encoding, Bits::B256), (encoding, Bits::B512)]);
        for (encoding, bits) in
            both.filter(|(encoding, bits)| *bits == Bits::B512 || !encoding.name.ends_with("64x4"))
        {
            let text = read_back(&written(encoding, bits));
            assert_eq!(text.split(' ').next(), Some(encoding.name), "{text}");
        }
    }

    #[test]
    fn operands_read_back() {
        let plain = |rm: Rm| Operands { reg: 9, vvvv: 18, rm, mask: 0, zeroing: false, imm: None };
        let row = |offset: i32| memory(Some((Index::Register(RAX), 4)), offset);
        let cases = [
            (Rm::Register(27), "vaddps zmm9,zmm18,zmm27"),
            (Rm::Memory(row(0)), "vaddps zmm9,zmm18,[r12+rax*4]"),
            (Rm::Memory(row(-64)), "vaddps zmm9,zmm18,[r12+rax*4-40h]"),
            (Rm::Memory(row(4)), "vaddps zmm9,zmm18,[r12+rax*4+4]"),
            (Rm::Memory(Memory::at(Gpr(13), 0)), "vaddps zmm9,zmm18,[r13]"),
            (Rm::Memory(Memory::at(RSP, 128)), "vaddps zmm9,zmm18,[rsp+80h]"),
            (Rm::Broadcast(Memory::at(RDI, 16)), "vaddps zmm9,zmm18,[rdi+10h]{1to16}"),
        ];
        for (rm, expect) in cases {
            let mut bytes = Bytes::default();
            bytes.vector(&super::super::ops::ADDPS, Bits::B512, &plain(rm));
            assert_eq!(read_back(&bytes.code), expect);
        }
    }

    #[test]
    fn prefetches_read_back() {
        for (to, name) in [(Nearness::First, "prefetcht0 "), (Nearness::Second, "prefetcht1 ")] {
            let mut bytes = Bytes::default();
            bytes.prefetch(to, Memory::at(R11, 128));
            let text = read_back(&bytes.code);
            assert!(text.starts_with(name) && text.ends_with("[r11+80h]"), "{text}");
        }
    }
}
