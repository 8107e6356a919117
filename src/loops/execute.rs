//! Runs a kernel over bytes, one element after the other, slowly and obviously: what kernels mean.
//!
//! ```text
//! v3: f32 = load b0 v2      reads four bytes of buffer 0 at 4 * v2, or fails if they are not there
//! v4: f32 = add v3 v3       is scalar::binary(Add, v3, v3)
//! ```
//!
//! The back ends are tested against it. It trusts [`verify`](super::verify), but not offsets.

use super::ir::{Block, BufferId, For, If, Kernel, Op, Statement, ValueId};
use crate::graph::scalar::{self, Scalar, UnaryFn};
use crate::graph::types::Element;

type Result<T = ()> = std::result::Result<T, String>;

/// Runs `kernel`; the error names the kernel and the offset that is outside of its buffer.
///
/// Floats that are stored have canonical NaNs, bools are stored as 0 or 1 and loaded as true from any other byte than 0.
pub fn execute(kernel: &Kernel, args: &[i64], buffers: &mut [Vec<u8>]) -> Result {
    let values = vec![None; kernel.values.len()];
    let mut machine = Machine { kernel, args, buffers, values };
    machine.block(&kernel.body).map_err(|message| format!("kernel `{}`: {message}", kernel.name))
}

struct Machine<'a> {
    kernel: &'a Kernel,
    args: &'a [i64],
    buffers: &'a mut [Vec<u8>],
    values: Vec<Option<Scalar>>,
}

impl Machine<'_> {
    fn block(&mut self, block: &Block) -> Result {
        for statement in &block.statements {
            match statement {
                Statement::Let(id) => {
                    let value = self.compute(*id)?;
                    self.set(*id, value);
                }
                Statement::For(looped) => self.looped(looped)?,
                Statement::If(choice) => self.choice(choice)?,
                Statement::Store(buffer, offset, value) => self.store(*buffer, *offset, self.get(*value))?,
            }
        }
        Ok(())
    }

    fn get(&self, id: ValueId) -> Scalar {
        self.values[id.index()].expect("verified: computed before its use")
    }

    fn set(&mut self, id: ValueId, value: Scalar) {
        self.values[id.index()] = Some(value);
    }

    /// The value of an i64.
    fn int(&self, id: ValueId) -> i64 {
        let value = self.get(id).as_int().expect("verified: an integer");
        i64::try_from(value).expect("verified: an i64")
    }

    fn looped(&mut self, looped: &For) -> Result {
        let mut carried: Vec<Scalar> = looped.carried.iter().map(|carry| self.get(carry.init)).collect();
        for step in self.int(looped.lo)..self.int(looped.hi) {
            self.set(looped.var, Scalar::i64(step));
            for (carry, value) in looped.carried.iter().zip(&carried) {
                self.set(carry.carried, *value);
            }
            self.block(&looped.body)?;
            carried = looped.carried.iter().map(|carry| self.get(carry.next)).collect();
        }
        for (carry, value) in looped.carried.iter().zip(carried) {
            self.set(carry.result, value);
        }
        Ok(())
    }

    fn choice(&mut self, choice: &If) -> Result {
        let chosen = self.get(choice.condition).is_true();
        self.block(if chosen { &choice.then } else { &choice.otherwise })?;
        for (result, then, otherwise) in &choice.results {
            self.set(*result, self.get(if chosen { *then } else { *otherwise }));
        }
        Ok(())
    }

    fn compute(&self, id: ValueId) -> Result<Scalar> {
        let value = self.kernel.value(id);
        Ok(match &value.op {
            Op::Const(value) => *value,
            Op::Arg(at) => Scalar::i64(self.args[*at as usize]),
            Op::Var | Op::Carried | Op::Result => self.get(id),
            Op::Unary(function, a) => scalar::unary(*function, self.get(*a)),
            Op::Binary(function, a, b) => scalar::binary(*function, self.get(*a), self.get(*b)),
            Op::Fma(a, b, c) => scalar::fma(self.get(*a), self.get(*b), self.get(*c)),
            Op::Select(condition, a, b) => self.get(if self.get(*condition).is_true() { *a } else { *b }),
            Op::Cast(a) => self.get(*a).cast(value.element),
            Op::Load(buffer, offset) => self.load(*buffer, *offset)?,
            Op::Table(table, offset) => self.table(*table, self.int(*offset))?,
        })
    }

    fn table(&self, table: u32, offset: i64) -> Result<Scalar> {
        let entries = &self.kernel.tables[table as usize];
        let entry = usize::try_from(offset).ok().and_then(|offset| entries.get(offset));
        entry
            .copied()
            .ok_or_else(|| format!("entry {offset} of table `t{table}`, which has {}", entries.len()))
    }

    /// Where the bytes of an element are.
    fn range(&self, buffer: BufferId, offset: ValueId) -> Result<std::ops::Range<usize>> {
        let (offset, length) = (self.int(offset), self.buffers[buffer.index()].len());
        let size = self.kernel.buffers[buffer.index()].element.bytes() as usize;
        let count = length / size;
        let at = usize::try_from(offset).ok().filter(|at| *at < count);
        let at = at.ok_or_else(|| format!("offset {offset} of `{buffer}`, which has {count} elements"))?;
        Ok(at * size..(at + 1) * size)
    }

    fn load(&self, buffer: BufferId, offset: ValueId) -> Result<Scalar> {
        let range = self.range(buffer, offset)?;
        Ok(read_element(self.kernel.buffers[buffer.index()].element, &self.buffers[buffer.index()][range]))
    }

    fn store(&mut self, buffer: BufferId, offset: ValueId, value: Scalar) -> Result {
        let range = self.range(buffer, offset)?;
        write_element(
            self.kernel.buffers[buffer.index()].element,
            value,
            &mut self.buffers[buffer.index()][range],
        );
        Ok(())
    }
}

/// The value of an element in memory: `bytes` is as long as the type says.
pub fn read_element(element: Element, bytes: &[u8]) -> Scalar {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(word);
    match element {
        Element::Bool => Scalar::bool(bits != 0),
        Element::F16 => Scalar::f32(f16_value(bits as u16)),
        Element::F32 => Scalar::f32(f32::from_bits(bits as u32)),
        Element::F64 => Scalar::f64(f64::from_bits(bits)),
        Element::U8 | Element::U16 | Element::U32 | Element::U64 => Scalar::int(element, bits.into()),
        Element::I8 | Element::I16 | Element::I32 | Element::I64 => Scalar::int(element, bits.into()),
    }
}

/// Puts `value` into memory, little endian; a float is rounded if the element is f16.
pub fn write_element(element: Element, value: Scalar, bytes: &mut [u8]) {
    let bits = match element {
        Element::F16 => f16_bits(value).into(),
        Element::F32 if value.to_f64().is_nan() => 0x7fc0_0000,
        Element::F32 => (value.to_f64() as f32).to_bits().into(),
        Element::F64 if value.to_f64().is_nan() => 0x7ff8_0000_0000_0000,
        Element::F64 => value.to_f64().to_bits(),
        Element::Bool => value.is_true().into(),
        Element::U8 | Element::U16 | Element::U32 | Element::U64 => value.as_int().unwrap_or_default() as u64,
        Element::I8 | Element::I16 | Element::I32 | Element::I64 => value.as_int().unwrap_or_default() as u64,
    };
    bytes.copy_from_slice(&bits.to_le_bytes()[..bytes.len()]);
}

/// The value of the f16 with those bits: sign, 5 bits of exponent, 10 of mantissa.
fn f16_value(bits: u16) -> f32 {
    let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    let magnitude = match exponent {
        0 => mantissa * 2f32.powi(-24),
        31 if mantissa == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + mantissa) * 2f32.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// The bits of the f16 nearest to a float.
fn f16_bits(value: Scalar) -> u16 {
    let rounded = scalar::unary(UnaryFn::RoundF16, value.cast(Element::F32)).to_f64();
    let magnitude = rounded.abs();
    let bits = if rounded.is_nan() {
        return 0x7e00;
    } else if magnitude.is_infinite() {
        0x7c00
    } else if magnitude < 2f64.powi(-14) {
        (magnitude * 2f64.powi(24)) as u16
    } else {
        let exponent = (magnitude.to_bits() >> 52) as i32 - 1023;
        let mantissa = (magnitude * 2f64.powi(10 - exponent)) as u16 - 1024;
        ((exponent + 15) as u16) << 10 | mantissa
    };
    bits | u16::from(rounded.is_sign_negative()) << 15
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::parse::parse;

    const SUMS: &str = "kernel sums(n)
  b0: u8 in
  b1: f32 out
  t0: f32 = 1 10
  v0: i64 = const 0
  v1: i64 = const 2
  v2: i64 = arg 0
  v3: f32 = const 0
  row v4 in v0..v2
    for v5 in v0..v1
      carry v6: f32 = v3
      v7: i64 = add v4 v5
      v8: u8 = load b0 v7
      v9: f32 = cast v8
      v10: f32 = table t0 v5
      v11: f32 = fma v9 v10 v6
      next v11 -> v12
    store b1 v4 v12
";

    fn run(n: i64) -> Result<Vec<f32>> {
        let mut buffers = vec![vec![1, 2, 3, 4], vec![0; 16]];
        execute(&parse(SUMS)?, &[n], &mut buffers)?;
        Ok(buffers[1]
            .chunks(4)
            .map(|bytes| f32::from_le_bytes(bytes.try_into().expect("four bytes")))
            .collect())
    }

    #[test]
    fn rows_run_over_bytes() {
        assert_eq!(run(3), Ok(vec![21.0, 32.0, 43.0, 0.0]));
        assert_eq!(run(0), Ok(vec![0.0; 4]));
    }

    #[test]
    fn offsets_are_checked() {
        assert_eq!(run(4), Err("kernel `sums`: offset 4 of `b0`, which has 4 elements".into()));
    }

    #[test]
    fn every_f16_survives_a_round_trip() {
        for bits in 0..=u16::MAX {
            let value = read_element(Element::F16, &bits.to_le_bytes());
            let mut bytes = [0; 2];
            write_element(Element::F16, value, &mut bytes);
            let expect = if bits & 0x7fff > 0x7c00 { 0x7e00 } else { bits };
            assert_eq!(u16::from_le_bytes(bytes), expect);
        }
    }
}
