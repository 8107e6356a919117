//! Computes 64-bit integers in 32 bits where nobody can tell: lanes of 64 bits are half as many, and slow.
//!
//! ```text
//! v3: u8 = load b0 v2                     v3: u8 = load b0 v2
//! v4: i64 = cast v3                       v4: i32 = cast v3
//! v5: i64 = mul v4 v4                     v5: i32 = mul v4 v4         at most 65025
//! v6: i64 = add v2 v5                     v6: i32 = cast v2
//!                                         v7: i32 = add v6 v5         wraps, but only 8 bits of it are used
//! v7: u8 = cast v6                        v8: u8 = cast v7
//! ```
//!
//! Two reasons make a value narrow. Its range fits: then the narrow value is the value. Or everybody who uses it looks at
//! its low bits only, which for sums, products, masks and the like depend on the low bits of what they are made of. A float
//! that becomes an i64 and is clamped is clamped as an i32: what the conversion cuts off, the clamp would.
//!
//! What does not vary along the row stays as it is, and so do offsets that grow along it in equal steps: they are scalars.

use super::ranges::{Range, bits, ranges};
use super::simplify::Simplifier;
use crate::graph::scalar::{BinaryFn, Scalar, UnaryFn};
use crate::graph::types::Element;
use crate::loops::ir::{Block, If, Kernel, Op, Statement, ValueId};
use crate::loops::vary::{ramps, varying};
use std::collections::BTreeMap;

/// The kernel with narrow values where they do.
pub fn narrow(kernel: &Kernel) -> Kernel {
    let facts = Facts::new(kernel);
    let mut narrower = Narrower {
        simplifier: Simplifier::new(kernel),
        narrow: decide(&facts),
        low: vec![None; kernel.values.len()],
        tables: BTreeMap::new(),
        facts: &facts,
    };
    narrower.block(&kernel.body);
    narrower.simplifier.builder.finish()
}

/// What is known about the values of a kernel.
struct Facts<'k> {
    kernel: &'k Kernel,
    ranges: Vec<Range>,
    varying: Vec<bool>,
    /// Those that grow along their row in equal steps.
    ramps: Vec<bool>,
    /// Those that are a float in between, raised or lowered to something that fits 32 bits.
    clamped: Vec<bool>,
    /// What an `if` gives, and the two values it is chosen from.
    given: BTreeMap<ValueId, [ValueId; 2]>,
}

impl<'k> Facts<'k> {
    fn new(kernel: &'k Kernel) -> Self {
        let (count, ranges, varying) = (kernel.values.len(), ranges(kernel), varying(kernel));
        let (ramps, clamped) = (ramps(kernel, &varying), vec![false; count]);
        let mut given = BTreeMap::new();
        find_given(&kernel.body, &mut given);
        let mut facts = Facts { kernel, ranges, varying, ramps, clamped, given };
        for id in (0..count as u32).map(ValueId) {
            facts.clamped[id.index()] = facts.is_clamped(id);
        }
        facts
    }

    fn element(&self, id: ValueId) -> Element {
        self.kernel.value(id).element
    }

    /// Whether 32 bits hold every value it can have.
    fn fits(&self, id: ValueId) -> bool {
        self.ranges[id.index()].fits(Element::I32)
    }

    fn constant(&self, id: ValueId) -> Option<i128> {
        match self.kernel.value(id).op {
            Op::Const(value) => value.as_int(),
            _ => None,
        }
    }

    /// By how much a shift by a constant shifts a 64-bit integer.
    fn count(&self, id: ValueId) -> Option<u32> {
        self.constant(id).map(|count| count as u32 & 63)
    }

    fn is_clamped(&self, id: ValueId) -> bool {
        let clamped = |id: ValueId| self.clamped[id.index()];
        self.element(id) == Element::I64
            && match self.kernel.value(id).op {
                Op::Cast(a) => self.element(a).is_float(),
                Op::Binary(BinaryFn::Min | BinaryFn::Max, a, b) => {
                    clamped(a) && (clamped(b) || self.fits(b)) || clamped(b) && self.fits(a)
                }
                _ => false,
            }
    }

    /// Whether a value can be computed in 32 bits, for users that want `wanted` of it.
    fn is_narrow(&self, id: ValueId, wanted: Wanted) -> bool {
        let wide = matches!(self.element(id), Element::I64 | Element::U64);
        if !wide || !self.varying[id.index()] || self.ramps[id.index()] {
            return false;
        }
        let enough = self.fits(id) || wanted.low_bits().is_some();
        match self.kernel.value(id).op {
            Op::Unary(UnaryFn::Neg, _) | Op::Select(..) | Op::Table(..) => enough,
            Op::Unary(UnaryFn::Abs | UnaryFn::Sign, a) => self.fits(a) && self.fits(id),
            Op::Binary(BinaryFn::Shr, a, b) => match (self.count(b), wanted.low_bits()) {
                (None, _) => false,
                (Some(_), _) if self.fits(a) => true,
                (Some(count), Some(low)) => low + count <= 32,
                (Some(_), None) => false,
            },
            Op::Binary(BinaryFn::Shl, _, b) => enough && self.count(b).is_some(),
            Op::Binary(BinaryFn::FloorDiv | BinaryFn::Rem, a, b) => {
                self.fits(a) && self.fits(b) && self.fits(id)
            }
            Op::Binary(BinaryFn::Min | BinaryFn::Max, a, b) => {
                let known = |id: ValueId| self.fits(id) || self.clamped[id.index()];
                known(a) && known(b) && (self.fits(id) || wanted == Wanted::Clamped)
            }
            Op::Binary(function, ..) => is_modular(function) && enough,
            Op::Cast(a) if self.element(a).is_float() => {
                self.element(id) == Element::I64 && wanted == Wanted::Clamped
            }
            Op::Cast(_) => enough,
            Op::Unary(..) | Op::Fma(..) | Op::Load(..) => false,
            Op::Result => enough && self.given.contains_key(&id),
            Op::Const(_) | Op::Arg(_) | Op::Var | Op::Carried => false,
        }
    }

    /// What a value wants of its operands.
    fn wants(&self, id: ValueId, is_narrow: bool, wanted: Wanted) -> Vec<(ValueId, Wanted)> {
        let low = wanted.low_bits().unwrap_or(32);
        if let Some(arms) = self.given.get(&id) {
            return arms.map(|arm| (arm, if is_narrow { Wanted::Low(low) } else { Wanted::All })).into();
        }
        match self.kernel.value(id).op {
            Op::Cast(a) if self.element(id).is_int() && self.element(id).bits() <= 32 => {
                vec![(a, Wanted::Low(self.element(id).bits()))]
            }
            Op::Cast(a) if is_narrow && !self.element(a).is_float() => vec![(a, Wanted::Low(low))],
            Op::Unary(UnaryFn::Neg, a) if is_narrow => vec![(a, Wanted::Low(low))],
            Op::Select(condition, a, b) if is_narrow => {
                vec![(condition, Wanted::All), (a, Wanted::Low(low)), (b, Wanted::Low(low))]
            }
            Op::Binary(BinaryFn::And, a, b) if is_narrow => {
                vec![(a, Wanted::Low(self.kept(b, low))), (b, Wanted::Low(self.kept(a, low)))]
            }
            Op::Binary(BinaryFn::Shl, a, b) if is_narrow => {
                vec![(a, Wanted::Low(low.saturating_sub(self.count(b).unwrap_or(0)))), (b, Wanted::All)]
            }
            Op::Binary(BinaryFn::Shr, a, b) if is_narrow && !self.fits(a) => {
                vec![(a, Wanted::Low(low + self.count(b).unwrap_or(0))), (b, Wanted::All)]
            }
            Op::Binary(BinaryFn::Min | BinaryFn::Max, a, b) if is_narrow => {
                [a, b].map(|arg| (arg, if self.fits(arg) { Wanted::All } else { Wanted::Clamped })).into()
            }
            Op::Binary(function, a, b) if is_narrow && is_modular(function) => {
                vec![(a, Wanted::Low(low)), (b, Wanted::Low(low))]
            }
            ref op => op.args().into_iter().map(|arg| (arg, Wanted::All)).collect(),
        }
    }

    /// How many low bits of the other operand a mask leaves.
    fn kept(&self, mask: ValueId, low: u32) -> u32 {
        self.constant(mask).filter(|mask| *mask >= 0).map_or(low, |mask| bits(mask).min(low))
    }
}

/// Low bits of the result depend on as many low bits of the operands.
fn is_modular(function: BinaryFn) -> bool {
    match function {
        BinaryFn::Add | BinaryFn::Sub | BinaryFn::Mul => true,
        BinaryFn::And | BinaryFn::Or | BinaryFn::Xor | BinaryFn::Shl => true,
        BinaryFn::Shr | BinaryFn::FloorDiv | BinaryFn::Rem | BinaryFn::Min | BinaryFn::Max => false,
        BinaryFn::Div | BinaryFn::Pow => false,
        BinaryFn::Eq | BinaryFn::Ne | BinaryFn::Lt | BinaryFn::Le | BinaryFn::Gt | BinaryFn::Ge => false,
    }
}

/// What the users of a value look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// That many bits, at most 32.
    Low(u32),
    /// The value, moved into 32 bits where it lies outside.
    Clamped,
    /// The value.
    All,
}

impl Wanted {
    fn low_bits(self) -> Option<u32> {
        match self {
            Wanted::Low(bits) => Some(bits),
            Wanted::Clamped | Wanted::All => None,
        }
    }

    fn and(self, other: Wanted) -> Wanted {
        match (self, other) {
            (Wanted::Low(a), Wanted::Low(b)) => Wanted::Low(a.max(b)),
            (Wanted::Low(0), known) | (known, Wanted::Low(0)) => known,
            (Wanted::Clamped, Wanted::Clamped) => Wanted::Clamped,
            _ => Wanted::All,
        }
    }
}

/// Which values are computed in 32 bits: users come before what they use.
fn decide(facts: &Facts<'_>) -> Vec<bool> {
    let count = facts.kernel.values.len();
    let (mut wanted, mut narrow) = (vec![Wanted::Low(0); count], vec![false; count]);
    want_all(&facts.kernel.body, &mut wanted);
    for id in (0..count as u32).rev().map(ValueId) {
        narrow[id.index()] = facts.is_narrow(id, wanted[id.index()]);
        for (arg, wants) in facts.wants(id, narrow[id.index()], wanted[id.index()]) {
            wanted[arg.index()] = wanted[arg.index()].and(wants);
        }
    }
    narrow
}

fn find_given(block: &Block, given: &mut BTreeMap<ValueId, [ValueId; 2]>) {
    for statement in &block.statements {
        match statement {
            Statement::Let(_) | Statement::Store(..) => {}
            Statement::For(looped) => find_given(&looped.body, given),
            Statement::If(choice) => {
                // Users are decided on before what they use, so only those with larger numbers count.
                let results = choice.results.iter().filter(|(result, a, b)| a < result && b < result);
                given.extend(results.map(|(result, a, b)| (*result, [*a, *b])));
                find_given(&choice.then, given);
                find_given(&choice.otherwise, given);
            }
        }
    }
}

/// Statements look at all of what they use; what an `if` gives, at what is used of it.
fn want_all(block: &Block, wanted: &mut [Wanted]) {
    let mut want = |ids: &[ValueId]| ids.iter().for_each(|id| wanted[id.index()] = Wanted::All);
    for statement in &block.statements {
        match statement {
            Statement::Let(_) => {}
            Statement::Store(_, offset, value) => want(&[*offset, *value]),
            Statement::For(looped) => {
                want(&[looped.lo, looped.hi]);
                looped.carried.iter().for_each(|carry| want(&[carry.init, carry.next]));
            }
            Statement::If(choice) => {
                want(&[choice.condition]);
                let others = choice.results.iter().filter(|(result, a, b)| a >= result || b >= result);
                others.for_each(|(_, a, b)| want(&[*a, *b]));
            }
        }
    }
    for statement in &block.statements {
        match statement {
            Statement::Let(_) | Statement::Store(..) => {}
            Statement::For(looped) => want_all(&looped.body, wanted),
            Statement::If(choice) => {
                want_all(&choice.then, wanted);
                want_all(&choice.otherwise, wanted);
            }
        }
    }
}

struct Narrower<'k, 'f> {
    simplifier: Simplifier<'k>,
    facts: &'f Facts<'k>,
    narrow: Vec<bool>,
    /// The 32 bits of narrow values. Those whose range fits have their value as well, which `sweep` takes out if nobody
    /// uses it.
    low: Vec<Option<ValueId>>,
    /// The tables of narrow entries.
    tables: BTreeMap<u32, u32>,
}

impl Narrower<'_, '_> {
    fn block(&mut self, block: &Block) {
        for statement in &block.statements {
            match statement {
                Statement::Let(id) => self.computed(*id),
                Statement::Store(..) => self.simplifier.statements(std::slice::from_ref(statement)),
                Statement::For(looped) => {
                    let open = self.simplifier.open(looped);
                    self.block(&looped.body);
                    self.simplifier.close(looped, open);
                }
                Statement::If(choice) => self.choice(choice),
            }
        }
    }

    fn choice(&mut self, choice: &If) {
        let then = self.arm(&choice.then, choice.results.iter().map(|(result, a, _)| (*result, *a)));
        let otherwise =
            self.arm(&choice.otherwise, choice.results.iter().map(|(result, _, b)| (*result, *b)));
        let condition = self.simplifier.get(choice.condition);
        let results = self.simplifier.builder.choose(condition, then, otherwise);
        for ((result, _, _), new) in choice.results.iter().zip(results) {
            match self.narrow[result.index()] {
                true => self.set_low(*result, new),
                false => self.simplifier.set(*result, new),
            }
        }
    }

    /// One arm of a choice, with the values it gives: pairs of the result and what it is here.
    fn arm(
        &mut self,
        block: &Block,
        results: impl Iterator<Item = (ValueId, ValueId)>,
    ) -> (Block, Vec<ValueId>) {
        self.simplifier.builder.open_block();
        self.block(block);
        let results = results.map(|(result, id)| match self.narrow[result.index()] {
            true => self.low(id),
            false => self.simplifier.get(id),
        });
        let results = results.collect();
        (self.simplifier.builder.close_block(), results)
    }

    /// The 32 bits of a narrow value, and the value if they say it.
    fn set_low(&mut self, id: ValueId, low: ValueId) {
        self.low[id.index()] = Some(low);
        if self.facts.fits(id) {
            let value = self.simplifier.cast(low, self.facts.element(id));
            self.simplifier.set(id, value);
        }
    }

    fn computed(&mut self, id: ValueId) {
        let element = self.facts.element(id);
        if self.narrow[id.index()] {
            let low = self.narrowed(id);
            return self.set_low(id, low);
        }
        let value = match self.facts.kernel.value(id).op {
            Op::Cast(a) if self.narrow[a.index()] => {
                let a = self.low(a);
                self.simplifier.cast(a, element)
            }
            Op::Binary(function, a, b) if function.is_comparison() && self.both_low(a, b) => {
                let (a, b) = (self.low(a), self.low(b));
                self.simplifier.binary(function, a, b)
            }
            Op::Binary(BinaryFn::Rem, a, b) if element.is_int() && element.bits() >= 32 => {
                let (a, b) = (self.simplifier.get(a), self.simplifier.get(b));
                self.remainder(a, b)
            }
            _ => self.simplifier.value(id),
        };
        self.simplifier.set(id, value);
    }

    fn both_low(&self, a: ValueId, b: ValueId) -> bool {
        let narrow = self.narrow[a.index()] || self.narrow[b.index()];
        narrow && self.facts.fits(a) && self.facts.fits(b)
    }

    /// The low 32 bits of a value.
    fn low(&mut self, id: ValueId) -> ValueId {
        match self.low[id.index()] {
            Some(low) => low,
            None => self.simplifier.cast(self.simplifier.get(id), Element::I32),
        }
    }

    /// A value moved into 32 bits. Others may use what it is before, so it can be wide.
    fn moved(&mut self, id: ValueId) -> ValueId {
        if self.narrow[id.index()] || self.facts.fits(id) {
            return self.low(id);
        }
        let [first, last] = [i32::MIN, i32::MAX].map(|end| self.simplifier.builder.int(end.into()));
        let raised = self.simplifier.binary(BinaryFn::Max, self.simplifier.get(id), first);
        let inside = self.simplifier.binary(BinaryFn::Min, raised, last);
        self.simplifier.builder.cast(inside, Element::I32)
    }

    fn int(&mut self, value: u32) -> ValueId {
        self.simplifier.builder.number(Scalar::int(Element::I32, value.into()))
    }

    fn narrowed(&mut self, id: ValueId) -> ValueId {
        match self.facts.kernel.value(id).op {
            Op::Unary(function, a) => {
                let a = self.low(a);
                self.simplifier.builder.unary(function, a)
            }
            Op::Binary(BinaryFn::Shl, a, b) => match self.facts.count(b) {
                Some(count) if count < 32 => self.shifted(BinaryFn::Shl, a, count),
                _ => self.int(0),
            },
            Op::Binary(BinaryFn::Shr, a, b) => {
                self.shifted(BinaryFn::Shr, a, self.facts.count(b).map_or(31, |count| count.min(31)))
            }
            Op::Binary(BinaryFn::Rem, a, b) => {
                let (a, b) = (self.low(a), self.low(b));
                self.remainder(a, b)
            }
            Op::Binary(function @ (BinaryFn::Min | BinaryFn::Max), a, b) => {
                let (a, b) = (self.moved(a), self.moved(b));
                self.simplifier.binary(function, a, b)
            }
            Op::Binary(function, a, b) => {
                let (a, b) = (self.low(a), self.low(b));
                self.simplifier.binary(function, a, b)
            }
            Op::Select(condition, a, b) => {
                let (a, b) = (self.low(a), self.low(b));
                self.simplifier.select(self.simplifier.get(condition), a, b)
            }
            Op::Cast(a) if self.facts.element(a).is_float() => {
                self.simplifier.builder.cast(self.simplifier.get(a), Element::I32)
            }
            Op::Cast(a) => self.low(a),
            Op::Table(table, offset) => {
                let (entries, builder) =
                    (&self.facts.kernel.tables[table as usize], &mut self.simplifier.builder);
                let table = *self.tables.entry(table).or_insert_with(|| {
                    builder.table(entries.iter().map(|entry| entry.cast(Element::I32)).collect())
                });
                self.simplifier.builder.entry(table, self.simplifier.get(offset))
            }
            _ => unreachable!("decided: not narrow"),
        }
    }

    fn shifted(&mut self, function: BinaryFn, a: ValueId, count: u32) -> ValueId {
        let (a, count) = (self.low(a), self.int(count));
        self.simplifier.binary(function, a, count)
    }

    /// `a % b` as what `b * (a // b)` leaves, so that a quotient that is there already is used.
    fn remainder(&mut self, a: ValueId, b: ValueId) -> ValueId {
        let known = self.simplifier.builder.constant(b).and_then(Scalar::as_int);
        if known.is_none_or(|divisor| divisor == 0 || divisor > 0 && divisor.count_ones() == 1) {
            return self.simplifier.binary(BinaryFn::Rem, a, b);
        }
        let quotient = self.simplifier.binary(BinaryFn::FloorDiv, a, b);
        let whole = self.simplifier.binary(BinaryFn::Mul, quotient, b);
        self.simplifier.binary(BinaryFn::Sub, a, whole)
    }
}

#[cfg(test)]
mod tests {
    use super::narrow;
    use crate::loops::parse::parse;
    use crate::loops::passes::sweep::sweep;
    use crate::loops::verify::verify;

    const HEAD: &str = "kernel a(n)
  b0: u8 in
  b1: f32 in
  b2: f32 out
  t0: i64 = 5 -6 7
  v0: i64 = arg 0
  v1: i64 = const 255
  v2: i64 = const 8
  v3: i64 = const 0
  v4: i64 = const 10
  row v5 in v0..v0
    v6: u8 = load b0 v5
    v7: f32 = load b1 v5
    v8: i64 = cast v6
    v9: i64 = cast v7
";

    /// The types of the operations of the row after `body`, whose last value is stored.
    #[track_caller]
    fn check(body: &str, stored: &str, expect: &str) {
        let lines: String = body.lines().map(|line| format!("    {line}\n")).collect();
        let text = format!("{HEAD}{lines}    store b2 v5 {stored}\n");
        let kernel = parse(&text).expect("parses");
        verify(&kernel).expect("keeps the laws");
        let after = sweep(narrow(&kernel));
        verify(&after).expect("keeps the laws");
        let text = after.to_string();
        let row = text.lines().filter_map(|line| line.strip_prefix("    v")?.split_once(": "));
        let row = row.map(|(_, rest)| {
            rest.split(' ').filter(|word| *word != "=").take(2).collect::<Vec<_>>().join(" ")
        });
        let row: Vec<String> = row.filter(|line| !line.ends_with("load")).collect();
        assert_eq!(row.join(", "), expect, "{after}");
    }

    #[test]
    fn values_of_small_range_are_narrow() {
        check("v10: i64 = mul v8 v8\nv11: f32 = cast v10", "v11", "i32 cast, i32 mul, f32 cast");
        check(
            "v10: i64 = sub v8 v1\nv11: i64 = abs v10\nv12: f32 = cast v11",
            "v12",
            "i32 cast, i32 add, i32 abs, f32 cast",
        );
        check("v10: i64 = and v5 v1\nv11: f32 = cast v10", "v11", "i32 cast, i32 and, f32 cast");
        check("v10: bool = lt v8 v2\nv11: f32 = cast v10", "v11", "i32 cast, bool lt, f32 cast");
    }

    #[test]
    fn low_bits_come_from_low_bits() {
        check(
            "v10: i64 = mul v5 v5\nv11: u8 = cast v10\nv12: f32 = cast v11",
            "v12",
            "i32 cast, i32 mul, u8 cast, f32 cast",
        );
        check(
            "v10: i64 = shr v5 v2\nv11: i64 = and v10 v1\nv12: f32 = cast v11",
            "v12",
            "i32 cast, i32 shr, i32 and, f32 cast",
        );
        check(
            "v10: i64 = shr v5 v1\nv11: i64 = and v10 v1\nv12: f32 = cast v11",
            "v12",
            "i64 shr, i32 cast, i32 and, f32 cast",
        );
    }

    #[test]
    fn what_is_used_as_a_whole_stays() {
        check("v10: i64 = mul v5 v5\nv11: u8 = cast v10\nv12: f32 = cast v10", "v12", "i64 mul, f32 cast");
        check("v10: bool = lt v5 v8\nv11: f32 = cast v10", "v11", "i64 cast, bool lt, f32 cast");
        check("v10: f32 = cast v9", "v10", "i64 cast, f32 cast");
    }

    #[test]
    fn floats_are_clamped_in_32_bits() {
        let clamp = "v10: i64 = max v9 v3\nv11: i64 = min v10 v1\n";
        check(&format!("{clamp}v12: f32 = cast v11"), "v12", "i32 cast, i32 max, i32 min, f32 cast");
        let both = format!("{clamp}v12: f32 = cast v11\nv13: f32 = cast v10\nv14: f32 = add v12 v13");
        check(
            &both,
            "v14",
            "i64 cast, i64 max, i64 max, i64 min, i32 cast, i32 min, f32 cast, f32 cast, f32 add",
        );
    }

    #[test]
    fn choices_give_narrow_values() {
        let body = "v10: bool = lt v0 v2\nif v10\n  v11: i64 = mul v8 v8\nelse\n  v12: i64 = neg v8\ngive v13: i64 = v11 else v12\nv14: f32 = cast v13";
        check(body, "v14", "i32 cast, i32 mul, i32 neg, f32 cast");
        let low = body
            .replace("neg v8", "mul v5 v5")
            .replace("f32 = cast v13", "u8 = cast v13\nv15: f32 = cast v14");
        check(&low, "v15", "i32 cast, i32 mul, i32 cast, i32 mul, u8 cast, f32 cast");
    }

    #[test]
    fn offsets_are_wide_in_the_end() {
        let body = "v10: i64 = rem v8 v4\nv11: f32 = load b1 v10";
        check(body, "v11", "i32 cast, i32 floordiv, i32 mul, i32 sub, i64 cast");
        check("v10: i64 = add v5 v4\nv11: f32 = load b1 v10", "v11", "i64 add");
        check("v10: i64 = table t0 v8\nv11: f32 = cast v10", "v11", "i64 cast, i32 table, f32 cast");
    }

    #[test]
    fn quotients_serve_remainders() {
        let body =
            "v10: i64 = rem v5 v4\nv11: i64 = floordiv v5 v4\nv12: i64 = add v10 v11\nv13: f32 = cast v12";
        check(body, "v13", "i64 floordiv, i64 mul, i64 sub, i64 add, f32 cast");
    }
}
