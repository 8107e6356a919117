//! Builds a kernel anew, with identities of integers that lowering does not see while it works.
//!
//! ```text
//! (x + 3) - 3        x                sums of constants meet
//! x - x, x ^ x       0
//! i64(i32(u8))       i64(u8)          a conversion that loses nothing is left out
//! select(not c, a, b)                 select(c, b, a)
//! ```
//!
//! All of them hold bit for bit, since integers wrap. Floats stay as they are.

use crate::graph::scalar::{BinaryFn, Scalar, UnaryFn};
use crate::graph::types::Element;
use crate::loops::builder::Builder;
use crate::loops::ir::{Block, For, If, Kernel, Op, Statement, ValueId};

/// The kernel with simpler values in it.
pub fn simplify(kernel: &Kernel) -> Kernel {
    let mut builder = Builder::new(&kernel.name, kernel.args.clone(), kernel.buffers.clone());
    kernel.tables.iter().for_each(|table| _ = builder.table(table.clone()));
    let mut simplifier = Simplifier { kernel, builder, values: vec![None; kernel.values.len()], arm: 0 };
    simplifier.block(&kernel.body);
    simplifier.builder.finish()
}

struct Simplifier<'k> {
    kernel: &'k Kernel,
    builder: Builder,
    /// The new value of each.
    values: Vec<Option<ValueId>>,
    /// Depth of the innermost `if`: loads do not leave it.
    arm: usize,
}

impl Simplifier<'_> {
    fn get(&self, id: ValueId) -> ValueId {
        self.values[id.index()].expect("verified: computed before its use")
    }

    fn set(&mut self, old: ValueId, new: ValueId) {
        self.values[old.index()] = Some(new);
    }

    fn block(&mut self, block: &Block) {
        for statement in &block.statements {
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

    fn looped(&mut self, looped: &For) {
        let (lo, hi) = (self.get(looped.lo), self.get(looped.hi));
        let inits: Vec<ValueId> = looped.carried.iter().map(|carry| self.get(carry.init)).collect();
        let (open, carried) = self.builder.open_loop(looped.kind, lo, hi, &inits);
        self.set(looped.var, open.var);
        looped.carried.iter().zip(carried).for_each(|(carry, new)| self.set(carry.carried, new));
        self.block(&looped.body);
        let next: Vec<ValueId> = looped.carried.iter().map(|carry| self.get(carry.next)).collect();
        let results = self.builder.close_loop(open, &next);
        looped.carried.iter().zip(results).for_each(|(carry, new)| self.set(carry.result, new));
    }

    fn choice(&mut self, choice: &If) {
        let condition = self.get(choice.condition);
        let firsts: Vec<ValueId> = choice.results.iter().map(|(_, a, _)| *a).collect();
        let seconds: Vec<ValueId> = choice.results.iter().map(|(_, _, b)| *b).collect();
        let then = self.arm(&choice.then, &firsts);
        let otherwise = self.arm(&choice.otherwise, &seconds);
        let results = self.builder.choose(condition, then, otherwise);
        choice.results.iter().zip(results).for_each(|((result, _, _), new)| self.set(*result, new));
    }

    fn arm(&mut self, block: &Block, results: &[ValueId]) -> (Block, Vec<ValueId>) {
        let outer = self.arm;
        self.builder.open_block();
        self.arm = self.builder.depth();
        self.block(block);
        let results = results.iter().map(|id| self.get(*id)).collect();
        self.arm = outer;
        (self.builder.close_block(), results)
    }

    fn value(&mut self, id: ValueId) -> ValueId {
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
            Op::Load(buffer, offset) => self.builder.load(*buffer, self.get(*offset), self.arm),
            Op::Table(table, offset) => self.builder.entry(*table, self.get(*offset)),
        }
    }

    fn binary(&mut self, function: BinaryFn, a: ValueId, b: ValueId) -> ValueId {
        let element = self.builder.element(a);
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
            BinaryFn::Add | BinaryFn::Sub => self.sum(function, a, b),
            _ => self.builder.binary(function, a, b),
        }
    }

    /// `(x + c) ± d` with constants `c` and `d` is `x + (c ± d)`.
    fn sum(&mut self, function: BinaryFn, a: ValueId, b: ValueId) -> ValueId {
        let (a, b) = match self.builder.constant(a) {
            Some(_) if function == BinaryFn::Add => (b, a),
            _ => (a, b),
        };
        let inner = match *self.builder.op(a) {
            Op::Binary(BinaryFn::Add, x, c) if self.builder.constant(c).is_some() => Some((x, c)),
            _ => None,
        };
        match (inner, self.builder.constant(b)) {
            (Some((x, c)), Some(_)) => {
                let constant = self.builder.binary(function, c, b);
                self.builder.binary(BinaryFn::Add, x, constant)
            }
            _ => self.builder.binary(function, a, b),
        }
    }

    fn select(&mut self, condition: ValueId, a: ValueId, b: ValueId) -> ValueId {
        match *self.builder.op(condition) {
            Op::Unary(UnaryFn::Not, opposite) => self.builder.select(opposite, b, a),
            _ => self.builder.select(condition, a, b),
        }
    }

    /// Leaves out an integer type in between that holds every value of the one before it.
    fn cast(&mut self, a: ValueId, element: Element) -> ValueId {
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
    fn conversions_that_lose_nothing_go() {
        let before = "v4: i32 = cast v3\nv5: i64 = cast v4\nv6: i8 = cast v3\nv7: i64 = cast v6\nv8: i64 = add v5 v7\nv9: i64 = neg v8";
        let after = "v2: u8 = load b0 v1\nv3: i64 = cast v2\nv4: i8 = cast v2\nv5: i64 = cast v4\nv6: i64 = add v3 v5\nv7: i64 = neg v6\nstore b1 v1 v7";
        check(before, after);
    }
}
