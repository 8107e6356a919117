//! Instructions that read the same for one scalar and for a register of lanes.
//!
//! ```text
//! select(mask, a, b)    select for scalars, bitselect for lanes
//! constant(i32x4, 7)    a vector constant; constant(i32, 7) an iconst
//! ```
//!
//! A *part* is one CLIF value: a scalar, or a 128-bit register of four or two lanes. A *mask* is what comparing parts
//! gives: 0 or 1 as i8 for scalars, all bits or none per lane for registers.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::immediates::{Ieee32, Ieee64};
use cranelift_codegen::ir::types::{F32, F32X4, F64, F64X2, I8, I8X16, I32, I32X4, I64, I64X2};
use cranelift_codegen::ir::{
    BlockArg, ConstantData, Endianness, InstBuilder, InstructionData, MemFlagsData, Opcode, Type, Value,
};
use cranelift_frontend::{FuncInstBuilder, FunctionBuilder};

/// The function under construction.
pub(super) struct Code<'f> {
    pub(super) builder: FunctionBuilder<'f>,
}

impl<'f> Code<'f> {
    /// The place where the next instruction goes.
    pub(super) fn ins(&mut self) -> FuncInstBuilder<'_, 'f> {
        self.builder.ins()
    }

    pub(super) fn ty(&self, part: Value) -> Type {
        self.builder.func.dfg.value_type(part)
    }

    /// A part whose every lane has these bits.
    pub(super) fn constant(&mut self, ty: Type, bits: u64) -> Value {
        if ty.is_vector() {
            let lane = &bits.to_le_bytes()[..ty.lane_type().bytes() as usize];
            return self.vector(ty, &lane.repeat(ty.lane_count() as usize));
        }
        match ty {
            F32 => self.ins().f32const(Ieee32::with_bits(bits as u32)),
            F64 => self.ins().f64const(Ieee64::with_bits(bits)),
            int => self.ins().iconst(int, (bits & (u64::MAX >> (64 - int.bits()))) as i64),
        }
    }

    /// A register of these sixteen bytes.
    pub(super) fn vector(&mut self, ty: Type, bytes: &[u8]) -> Value {
        let data = self.builder.func.dfg.constants.insert(ConstantData::from(bytes));
        self.ins().vconst(ty, data)
    }

    /// A part whose every lane is the float `value`.
    pub(super) fn float(&mut self, ty: Type, value: f64) -> Value {
        let bits = if ty.lane_type() == F32 { (value as f32).to_bits().into() } else { value.to_bits() };
        self.constant(ty, bits)
    }

    /// The same bits as another type.
    pub(super) fn bits_as(&mut self, ty: Type, part: Value) -> Value {
        if self.ty(part) == ty {
            return part;
        }
        let flags = MemFlagsData::new();
        let flags = if ty.is_vector() { flags.with_endianness(Endianness::Little) } else { flags };
        self.ins().bitcast(ty, flags, part)
    }

    /// The bits of floats as integers.
    pub(super) fn bits_as_ints(&mut self, part: Value) -> Value {
        let ty = match self.ty(part) {
            F32 => I32,
            F64 => I64,
            F32X4 => I32X4,
            _ => I64X2,
        };
        self.bits_as(ty, part)
    }

    /// The floats with these bits.
    pub(super) fn bits_as_floats(&mut self, part: Value) -> Value {
        let ty = match self.ty(part) {
            I32 => F32,
            I64 => F64,
            I32X4 => F32X4,
            _ => F64X2,
        };
        self.bits_as(ty, part)
    }

    /// `a` where the mask is true, else `b`.
    pub(super) fn select(&mut self, mask: Value, a: Value, b: Value) -> Value {
        let ty = self.ty(a);
        if !ty.is_vector() {
            return self.ins().select(mask, a, b);
        }
        let mask = self.bits_as(ty, mask);
        self.ins().bitselect(mask, a, b)
    }

    /// `a` where the mask is true, else zero bits.
    pub(super) fn keep(&mut self, mask: Value, a: Value) -> Value {
        let zero = self.constant(self.ty(a), 0);
        self.select(mask, a, zero)
    }

    /// The mask of the lanes where `mask` is false.
    pub(super) fn negate(&mut self, mask: Value) -> Value {
        if self.ty(mask) != I8 {
            return self.ins().bnot(mask);
        }
        let one = self.constant(I8, 1);
        self.ins().bxor(mask, one)
    }

    /// A mask as 0 or 1 in 32 bits.
    pub(super) fn mask_to_int(&mut self, mask: Value) -> Value {
        if self.ty(mask) == I8 {
            return self.ins().uextend(I32, mask);
        }
        let one = self.constant(self.ty(mask), 1);
        self.ins().band(mask, one)
    }

    /// The mask of the lanes that are not zero.
    pub(super) fn int_to_mask(&mut self, part: Value) -> Value {
        self.compare_with(IntCC::NotEqual, part, 0)
    }

    pub(super) fn compare(&mut self, condition: IntCC, a: Value, b: Value) -> Value {
        self.ins().icmp(condition, a, b)
    }

    pub(super) fn compare_with(&mut self, condition: IntCC, a: Value, b: u64) -> Value {
        let b = self.constant(self.ty(a), b);
        self.ins().icmp(condition, a, b)
    }

    pub(super) fn compare_floats(&mut self, condition: FloatCC, a: Value, b: Value) -> Value {
        self.ins().fcmp(condition, a, b)
    }

    pub(super) fn and_with(&mut self, a: Value, b: u64) -> Value {
        let b = self.constant(self.ty(a), b);
        self.ins().band(a, b)
    }

    pub(super) fn or_with(&mut self, a: Value, b: u64) -> Value {
        let b = self.constant(self.ty(a), b);
        self.ins().bor(a, b)
    }

    pub(super) fn add_with(&mut self, a: Value, b: u64) -> Value {
        let b = self.constant(self.ty(a), b);
        self.ins().iadd(a, b)
    }

    pub(super) fn shift_left(&mut self, a: Value, count: u32) -> Value {
        let count = self.constant(I32, count.into());
        self.ins().ishl(a, count)
    }

    /// Fills with zeros.
    pub(super) fn shift_right(&mut self, a: Value, count: u32) -> Value {
        let count = self.constant(I32, count.into());
        self.ins().ushr(a, count)
    }

    /// Fills with the sign.
    pub(super) fn shift_right_signed(&mut self, a: Value, count: u32) -> Value {
        let count = self.constant(I32, count.into());
        self.ins().sshr(a, count)
    }

    /// Whether a mask is true in some lane, as a condition of a branch.
    pub(super) fn any(&mut self, mask: Value) -> Value {
        if self.ty(mask).is_vector() { self.ins().vany_true(mask) } else { mask }
    }

    /// The parts that `near` gives, unless the scalar `far` is not 0; then those of `otherwise`, which is rare.
    pub(super) fn branch(
        &mut self,
        far: Value,
        near: impl FnOnce(&mut Self) -> Vec<Value>,
        otherwise: impl FnOnce(&mut Self) -> Vec<Value>,
    ) -> Vec<Value> {
        let args = |parts: &[Value]| parts.iter().copied().map(BlockArg::Value).collect::<Vec<_>>();
        let [first, second, done] = [(); 3].map(|()| self.builder.create_block());
        self.ins().brif(far, second, &[], first, &[]);

        self.builder.set_cold_block(second);
        self.builder.switch_to_block(second);
        let parts = args(&otherwise(self));
        self.ins().jump(done, &parts);

        self.builder.switch_to_block(first);
        let parts = near(self);
        let params = parts.iter().map(|part| self.builder.append_block_param(done, self.ty(*part))).collect();
        self.ins().jump(done, &args(&parts));
        self.builder.switch_to_block(done);
        params
    }

    /// The two terms of a sum of which one is constant.
    pub(super) fn constant_term(&self, sum: Value) -> Option<(Value, i64)> {
        match self.definition(sum)? {
            InstructionData::Binary { opcode: Opcode::Iadd, args: [a, b] } => {
                match (self.known(*a), self.known(*b)) {
                    (_, Some(constant)) => Some((*a, constant)),
                    (Some(constant), None) => Some((*b, constant)),
                    (None, None) => None,
                }
            }
            InstructionData::Binary { opcode: Opcode::Isub, args: [a, b] } => {
                Some((*a, self.known(*b)?.checked_neg()?))
            }
            _ => None,
        }
    }

    /// The value of an integer constant.
    fn known(&self, scalar: Value) -> Option<i64> {
        match self.definition(scalar)? {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => Some(imm.bits()),
            _ => None,
        }
    }

    fn definition(&self, value: Value) -> Option<&InstructionData> {
        let dfg = &self.builder.func.dfg;
        dfg.value_def(value).inst().map(|inst| &dfg.insts[inst])
    }

    /// Picks sixteen bytes out of the 32 of `a` and `b`.
    pub(super) fn shuffle(&mut self, ty: Type, a: Value, b: Value, bytes: &[u8; 16]) -> Value {
        let (a, b) = (self.bits_as(I8X16, a), self.bits_as(I8X16, b));
        let mask = self.builder.func.dfg.immediates.push(ConstantData::from(&bytes[..]));
        let picked = self.ins().shuffle(a, b, mask);
        self.bits_as(ty, picked)
    }

    /// One lane of a part; a scalar is its own only lane.
    pub(super) fn lane(&mut self, part: Value, at: u8) -> Value {
        if self.ty(part).is_vector() { self.ins().extractlane(part, at) } else { part }
    }

    /// A register of these scalars.
    pub(super) fn gather_lanes(&mut self, scalars: &[Value]) -> Value {
        let ty = self.ty(scalars[0]).by(scalars.len() as u32).expect("a register has four or two lanes");
        let first = self.ins().scalar_to_vector(ty, scalars[0]);
        let rest = (1u8..).zip(&scalars[1..]);
        rest.fold(first, |lanes, (at, scalar)| self.ins().insertlane(lanes, *scalar, at))
    }

    /// Applies scalar code to each lane of a part, or of two parts of one type.
    pub(super) fn each_lane(
        &mut self,
        a: Value,
        b: Value,
        mut f: impl FnMut(&mut Self, Value, Value) -> Value,
    ) -> Value {
        let ty = self.ty(a);
        if !ty.is_vector() {
            return f(self, a, b);
        }
        let lanes = 0..ty.lane_count() as u8;
        let results: Vec<Value> = lanes
            .map(|at| {
                let (a, b) = (self.lane(a, at), self.lane(b, at));
                f(self, a, b)
            })
            .collect();
        self.gather_lanes(&results)
    }
}
