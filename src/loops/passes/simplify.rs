//! Builds a kernel anew, with identities of integers that lowering does not see while it works.
//!
//! ```text
//! (x + 3) - 3        x                sums of constants meet
//! (a + 1) - (b + 3)  (a - b) + -2     and come last, so that sums that differ by a constant share the rest
//! (x + 3) * 2        x * 2 + 6
//! x // 8, x % 8      x >> 3, x & 7
//! (x + p) + q        x + (p + q)      where p and q do not change in the loop
//! u32(x + 3)         u32(x) + 3       where a conversion drops bits
//! x - x, x ^ x       0
//! i64(i32(u8))       i64(u8)          a conversion that loses nothing is left out
//! select(not c, a, b)                 select(c, b, a)
//! (0.0 + a) + 0.0    0.0 + a          a sum that is never -0.0
//! 0.0 + (h[x - 1] - h[x])             0.0 - (h[x] - h[x - 1]), see `mirror`
//! ```
//!
//! All of them hold bit for bit, since integers wrap. Of floats only zeros go, which sums over places have where nothing is,
//! and differences are taken one way round.

mod mirror;

use crate::graph::scalar::{BinaryFn, Scalar, UnaryFn};
use crate::graph::types::Element;
use crate::loops::builder::{Builder, OpenLoop};
use crate::loops::ir::{Block, For, If, Kernel, LoopKind, Op, Statement, ValueId};

/// The kernel with simpler values in it.
pub fn simplify(kernel: &Kernel) -> Kernel {
    let mut simplifier = Simplifier::new(kernel);
    simplifier.statements(&kernel.body.statements);
    simplifier.builder.finish()
}

/// Terms of a sum that are looked at.
const LONGEST_SUM: usize = 64;

/// The new value of each old one.
pub(super) type Values = Vec<Option<ValueId>>;

/// Builds a kernel anew; other passes do the parts of it that stay as they are with this.
pub(super) struct Simplifier<'k> {
    pub(super) kernel: &'k Kernel,
    pub(super) builder: Builder,
    pub(super) values: Values,
    /// Depth of the row that is open.
    row: Option<usize>,
}

impl<'k> Simplifier<'k> {
    /// With nothing built yet.
    pub(super) fn new(kernel: &'k Kernel) -> Self {
        let mut builder = Builder::new(&kernel.name, kernel.args.clone(), kernel.buffers.clone());
        kernel.tables.iter().for_each(|table| _ = builder.table(table.clone()));
        Simplifier { kernel, builder, values: vec![None; kernel.values.len()], row: None }
    }

    pub(super) fn get(&self, id: ValueId) -> ValueId {
        self.values[id.index()].expect("verified: computed before its use")
    }

    pub(super) fn set(&mut self, old: ValueId, new: ValueId) {
        self.values[old.index()] = Some(new);
    }

    pub(super) fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::Let(id) => {
                    let value = self.value(*id);
                    self.set(*id, value);
                }
                Statement::Store(buffer, offset, value) => {
                    let (offset, value) = (self.get(*offset), self.get(*value));
                    self.builder.store(*buffer, offset, value);
                }
                Statement::For(looped) => self.looped(looped),
                Statement::If(choice) => self.choice(choice),
            }
        }
    }

    pub(super) fn looped(&mut self, looped: &For) {
        let open = self.open(looped);
        self.statements(&looped.body.statements);
        self.close(looped, open);
    }

    /// Opens a loop as it is.
    pub(super) fn open(&mut self, looped: &For) -> OpenLoop {
        let (lo, hi) = (self.get(looped.lo), self.get(looped.hi));
        let inits: Vec<ValueId> = looped.carried.iter().map(|carry| self.get(carry.init)).collect();
        let (open, carried) = self.open_loop(looped.kind, lo, hi, &inits);
        self.set(looped.var, open.var);
        looped.carried.iter().zip(carried).for_each(|(carry, new)| self.set(carry.carried, new));
        open
    }

    pub(super) fn close(&mut self, looped: &For, open: OpenLoop) {
        let next: Vec<ValueId> = looped.carried.iter().map(|carry| self.get(carry.next)).collect();
        let results = self.close_loop(open, &next);
        looped.carried.iter().zip(results).for_each(|(carry, new)| self.set(carry.result, new));
    }

    /// As that of the builder.
    pub(super) fn open_loop(
        &mut self,
        kind: LoopKind,
        lo: ValueId,
        hi: ValueId,
        inits: &[ValueId],
    ) -> (OpenLoop, Vec<ValueId>) {
        let opened = self.builder.open_loop(kind, lo, hi, inits);
        if kind == LoopKind::Row {
            self.row = Some(self.builder.depth());
        }
        opened
    }

    /// As that of the builder.
    pub(super) fn close_loop(&mut self, open: OpenLoop, next: &[ValueId]) -> Vec<ValueId> {
        self.row = self.row.filter(|depth| *depth != self.builder.depth());
        self.builder.close_loop(open, next)
    }

    pub(super) fn choice(&mut self, choice: &If) {
        let condition = self.get(choice.condition);
        if let Some(value) = self.builder.constant(condition) {
            return self.chosen(choice, value.is_true());
        }
        let then = self.arm(&choice.then, choice.results.iter().map(|(_, a, _)| *a));
        let otherwise = self.arm(&choice.otherwise, choice.results.iter().map(|(_, _, b)| *b));
        let results = self.builder.choose(condition, then, otherwise);
        choice.results.iter().zip(results).for_each(|((result, _, _), new)| self.set(*result, new));
    }

    /// The arm of a choice that is known to be taken, in its place.
    fn chosen(&mut self, choice: &If, outcome: bool) {
        self.statements(if outcome { &choice.then.statements } else { &choice.otherwise.statements });
        for (result, then, otherwise) in &choice.results {
            let value = self.get(if outcome { *then } else { *otherwise });
            self.set(*result, value);
        }
    }

    fn arm(&mut self, block: &Block, results: impl Iterator<Item = ValueId>) -> (Block, Vec<ValueId>) {
        self.builder.open_block();
        self.statements(&block.statements);
        let results = results.map(|id| self.get(id)).collect();
        (self.builder.close_block(), results)
    }

    pub(super) fn value(&mut self, id: ValueId) -> ValueId {
        let element = self.kernel.value(id).element;
        match &self.kernel.value(id).op {
            Op::Const(value) => self.builder.number(*value),
            Op::Arg(at) => self.builder.arg(*at as usize),
            Op::Var | Op::Carried | Op::Result => unreachable!("verified: not computed by a `Let`"),
            Op::Unary(function, a) => self.builder.unary(*function, self.get(*a)),
            Op::Binary(function, a, b) => self.binary(*function, self.get(*a), self.get(*b)),
            Op::Fma(a, b, c) => self.builder.fma(self.get(*a), self.get(*b), self.get(*c)),
            Op::Select(condition, a, b) => self.select(self.get(*condition), self.get(*a), self.get(*b)),
            Op::Cast(a) => self.cast(self.get(*a), element),
            // Where it stands it may be read: further out, a loop without steps or a condition may say otherwise.
            Op::Load(buffer, offset) => self.builder.load(*buffer, self.get(*offset), self.builder.depth()),
            Op::Table(table, offset) => self.builder.entry(*table, self.get(*offset)),
        }
    }

    pub(super) fn binary(&mut self, function: BinaryFn, a: ValueId, b: ValueId) -> ValueId {
        let element = self.builder.element(a);
        if function == BinaryFn::Add && self.is_zero(b) && self.never_minus_zero(a) {
            return a;
        }
        if function == BinaryFn::Add
            && element.is_float()
            && self.never_minus_zero(a)
            && let Some(opposite) = self.taken_off(b)
        {
            return self.builder.binary(BinaryFn::Sub, a, opposite);
        }
        if !element.is_int() {
            return self.builder.binary(function, a, b);
        }
        let is = |id: ValueId, value: i128| self.builder.constant(id).and_then(Scalar::as_int) == Some(value);
        match function {
            BinaryFn::Sub | BinaryFn::Xor if a == b => self.builder.number(Scalar::int(element, 0)),
            BinaryFn::Mul | BinaryFn::And if is(a, 0) || is(b, 0) => {
                self.builder.number(Scalar::int(element, 0))
            }
            BinaryFn::And | BinaryFn::Or | BinaryFn::Min | BinaryFn::Max if a == b => a,
            BinaryFn::And if is(b, -1) => a,
            BinaryFn::Add | BinaryFn::Sub => self.sum(function, a, b),
            BinaryFn::Mul => self.product(a, b),
            BinaryFn::FloorDiv | BinaryFn::Rem => self.division(function, a, b),
            _ => self.builder.binary(function, a, b),
        }
    }

    /// Whether a value is 0.0, and not -0.0.
    fn is_zero(&self, id: ValueId) -> bool {
        let number = self.builder.constant(id).and_then(Scalar::as_float);
        number.is_some_and(|number| number.to_bits() == 0)
    }

    /// Whether a float is a sum that began with some constant other than -0.0: only that and a zero make one.
    fn never_minus_zero(&self, mut id: ValueId) -> bool {
        for _ in 0..LONGEST_SUM {
            match *self.builder.op(id) {
                Op::Binary(BinaryFn::Add | BinaryFn::Sub, a, _) => id = a,
                Op::Const(number) => {
                    return number.as_float().is_some_and(|number| number.to_bits() != (-0.0f64).to_bits());
                }
                _ => return false,
            }
        }
        false
    }

    /// `(x + c) ± (z + d)` with constants `c` and `d` is `(x ± z) + (c ± d)`.
    fn sum(&mut self, function: BinaryFn, a: ValueId, b: ValueId) -> ValueId {
        let element = self.builder.element(a);
        let ((x, c), (z, d)) = (self.apart(a), self.apart(b));
        let constant = Scalar::int(element, if function == BinaryFn::Add { c + d } else { c - d });
        let moving = match (x, z) {
            (Some(x), None) => x,
            (None, Some(z)) if function == BinaryFn::Add => z,
            (Some(x), Some(z)) if function == BinaryFn::Sub && x == z => {
                return self.builder.number(constant);
            }
            (Some(x), Some(z)) if self.gathers((a, c), (b, d)) => self.builder.binary(function, x, z),
            _ => return self.outer_first(function, a, b),
        };
        let constant = self.builder.number(constant);
        self.outer_first(BinaryFn::Add, moving, constant)
    }

    /// `(x + p) + q`, where only `x` changes from step to step, is `x + (p + q)`: one sum in the loop, one before it.
    fn outer_first(&mut self, function: BinaryFn, a: ValueId, b: ValueId) -> ValueId {
        let home = |id: ValueId| self.builder.home(id);
        if let (BinaryFn::Add, Op::Binary(BinaryFn::Add, x, p)) = (function, self.builder.op(a).clone())
            && self.builder.element(a) != Element::I64
            && home(p).max(home(b)) < home(x)
        {
            let outer = self.builder.binary(BinaryFn::Add, p, b);
            return self.builder.binary(BinaryFn::Add, x, outer);
        }
        self.builder.binary(function, a, b)
    }

    /// What a value is without a constant that is added to it, and that constant.
    fn apart(&self, id: ValueId) -> (Option<ValueId>, i128) {
        let known = |id: ValueId| self.builder.constant(id).and_then(Scalar::as_int);
        match *self.builder.op(id) {
            Op::Const(_) => (None, known(id).unwrap_or_default()),
            Op::Binary(BinaryFn::Add, x, c) => known(c).map_or((Some(id), 0), |c| (Some(x), c)),
            _ => (Some(id), 0),
        }
    }

    /// Whether the constants of two terms are taken out of their sum. Of offsets they are, so that those that differ by a
    /// constant share the rest; but not if a row would then add what was added before it.
    fn gathers(&self, (a, c): (ValueId, i128), (b, d): (ValueId, i128)) -> bool {
        let home = |id: ValueId| self.builder.home(id);
        let outside = self.row.is_none_or(|row| home(a).max(home(b)) < row);
        match (c != 0, d != 0) {
            (true, true) => true,
            (false, false) => false,
            (first, _) => {
                let (holder, other) = if first { (a, b) } else { (b, a) };
                self.builder.element(a) == Element::I64 && (outside || home(holder) >= home(other))
            }
        }
    }

    /// `(x + c) * d` with constants `c` and `d` is `x * d + c * d`.
    fn product(&mut self, a: ValueId, b: ValueId) -> ValueId {
        let (a, b) = if self.builder.constant(a).is_some() { (b, a) } else { (a, b) };
        let factor = self.builder.constant(b).and_then(Scalar::as_int);
        let ((x, c), Some(factor)) = (self.apart(a), factor) else {
            return self.builder.binary(BinaryFn::Mul, a, b);
        };
        let Some(x) = x.filter(|_| c != 0) else { return self.builder.binary(BinaryFn::Mul, a, b) };
        let constant = self.builder.number(Scalar::int(self.builder.element(a), c.wrapping_mul(factor)));
        let moving = self.builder.binary(BinaryFn::Mul, x, b);
        self.builder.binary(BinaryFn::Add, moving, constant)
    }

    /// Division by a power of two is a shift, and what is left are the bits that it drops.
    fn division(&mut self, function: BinaryFn, a: ValueId, b: ValueId) -> ValueId {
        let divisor = self.builder.constant(b).and_then(Scalar::as_int);
        let Some(divisor) = divisor.filter(|divisor| *divisor > 0 && divisor.count_ones() == 1) else {
            return self.builder.binary(function, a, b);
        };
        let (function, number) = match function {
            BinaryFn::Rem => (BinaryFn::And, divisor - 1),
            _ => (BinaryFn::Shr, divisor.trailing_zeros().into()),
        };
        let number = self.builder.number(Scalar::int(self.builder.element(a), number));
        self.binary(function, a, number)
    }

    pub(super) fn select(&mut self, condition: ValueId, a: ValueId, b: ValueId) -> ValueId {
        match *self.builder.op(condition) {
            Op::Unary(UnaryFn::Not, opposite) => self.builder.select(opposite, b, a),
            _ => self.builder.select(condition, a, b),
        }
    }

    /// Leaves out an integer type in between that holds every value of the one before it; and `u32(x + 1)` is
    /// `u32(x) + 1`, since both wrap.
    pub(super) fn cast(&mut self, a: ValueId, element: Element) -> ValueId {
        if let (Some(x), c @ 1..) | (Some(x), c @ ..=-1) = self.apart(a)
            && element.is_int()
            && self.builder.element(a).is_int()
            && element.bits() < self.builder.element(a).bits()
        {
            let x = self.cast(x, element);
            let c = self.builder.number(Scalar::int(element, c));
            return self.binary(BinaryFn::Add, x, c);
        }
        let through = match *self.builder.op(a) {
            Op::Cast(x) if self.holds(a, x) => x,
            _ => a,
        };
        self.builder.cast(through, element)
    }

    /// Whether the type of `wide` holds every value of the type of `narrow`; both are integers.
    fn holds(&self, wide: ValueId, narrow: ValueId) -> bool {
        let ranges = [wide, narrow].map(|id| self.builder.element(id).int_range());
        let [Some((lo, hi)), Some((first, last))] = ranges else { return false };
        lo <= first && last <= hi && self.builder.element(narrow) != Element::Bool
    }
}

#[cfg(test)]
mod tests {
    use super::simplify;
    use crate::loops::parse::parse;
    use crate::loops::passes::sweep::sweep;

    #[track_caller]
    fn check(before: &str, after: &str) {
        let head = "kernel a(n)\n  b0: u8 in\n  b1: i64 out\n";
        let tail = "  v1: i64 = const 3\n  row v2 in v0..v0\n    v3: u8 = load b0 v2\n";
        let lines: String = before.lines().map(|line| format!("    {line}\n")).collect();
        let kernel = parse(&format!("{head}  v0: i64 = arg 0\n{tail}{lines}    store b1 v2 v9\n"));
        let text = sweep(simplify(&kernel.expect("parses"))).to_string();
        let body: Vec<&str> = text.lines().filter(|line| line.starts_with("    ")).map(str::trim).collect();
        assert_eq!(body.join("\n"), after);
    }

    #[test]
    fn constants_meet() {
        let before = "v4: i64 = add v2 v1\nv5: i64 = sub v4 v1\nv6: i64 = add v1 v5\nv7: i64 = add v6 v1\nv8: i64 = neg v7\nv9: i64 = neg v8";
        check(before, "v3: i64 = add v2 v1\nv4: i64 = neg v3\nv5: i64 = neg v4\nstore b1 v2 v5");
    }

    #[test]
    fn zeros_go_from_sums_that_are_never_minus_zero() {
        let zeros = |first: &str| {
            let head = "kernel a(n)\n  b0: f32 in\n  b1: f32 out\n  v0: i64 = arg 0\n";
            let row = "  row v3 in v0..v0\n    v4: f32 = load b0 v3\n    v5: f32 = add v1 v4\n";
            let rest = "    v6: f32 = add v5 v2\n    v7: f32 = add v6 v4\n    store b1 v3 v7\n";
            let text = format!("{head}  v1: f32 = const {first}\n  v2: f32 = const 0.0\n{row}{rest}");
            let kernel = sweep(simplify(&parse(&text).expect("parses")));
            kernel.to_string().matches(" add ").count()
        };
        assert_eq!((zeros("0.0"), zeros("2.5"), zeros("-0.0")), (2, 2, 3));
    }

    #[test]
    fn conversions_that_lose_nothing_go() {
        let before = "v4: i32 = cast v3\nv5: i64 = cast v4\nv6: i8 = cast v3\nv7: i64 = cast v6\nv8: i64 = add v5 v7\nv9: i64 = neg v8";
        let after = "v2: u8 = load b0 v1\nv3: i64 = cast v2\nv4: i8 = cast v2\nv5: i64 = cast v4\nv6: i64 = add v3 v5\nv7: i64 = neg v6\nstore b1 v1 v7";
        check(before, after);
    }

    /// As hashes of neighbours do.
    #[test]
    fn sums_that_wrap_share_a_conversion() {
        let before = "v4: i64 = cast v3\nv5: i64 = add v4 v1\nv6: u32 = cast v5\nv7: u32 = mul v6 v6\nv8: u32 = cast v4\nv9: u32 = add v7 v8";
        let after = "v3: u8 = load b0 v2\nv4: u32 = cast v3\nv5: u32 = add v4 v1\nv6: u32 = mul v5 v5\nv7: u32 = add v6 v4\nstore b1 v2 v7";
        check(before, after);
    }

    #[test]
    fn sums_that_wrap_share_a_product() {
        let before = "v4: u32 = cast v3\nv5: u32 = const 4000000000\nv6: u32 = add v4 v5\nv7: u32 = mul v6 v5\nv8: u32 = mul v4 v5\nv9: u32 = xor v7 v8";
        let after = "v4: u8 = load b0 v3\nv5: u32 = cast v4\nv6: u32 = mul v5 v1\nv7: u32 = add v6 v2\nv8: u32 = xor v7 v6\nstore b1 v3 v8";
        check(before, after);
    }
}
