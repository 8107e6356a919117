//! The laws of the loop IR. A kernel that keeps them runs on every back end without a trap.
//!
//! 1. Names of kernels and arguments are words: no space, comma or parenthesis.
//! 2. Blocks nest at most [`DEEPEST`] deep.
//! 3. Every value has exactly one place: a `Let`, or the loop or `if` that declares it as variable (`Var`), carried
//!    value (`Carried`) or result (`Result`). Those three are never computed by a `Let`.
//! 4. An operand has a smaller number than its user, and is computed before it in the same or an enclosing block.
//! 5. No value is of type f16; a load from an f16 buffer gives f32, a store to one takes f32.
//! 6. Operands and results have the types that [`scalar`](crate::graph::scalar) defines: both sides of a binary
//!    operation alike, conditions bool, offsets, bounds, variables and arguments i64, what is carried or chosen alike.
//! 7. Buffers, tables and arguments exist; a table has entries, all of one type.
//! 8. A row carries nothing, and no row stands inside another.
//! 9. Inside a row, the condition of an `if` and the bounds of a loop do not vary along it.
//! 10. Stores go to buffers that are marked as written. Such a buffer is loaded only at offset values at which it is
//!     stored, too: a window that blends reads the element that it then writes.
//! 11. What a row stores has an offset that varies along it.
//!
//! Two more are promises of whoever makes a kernel, since no local check could find out: offsets stay inside their
//! buffers and tables, and no two steps of a row, or of a loop around rows that carries nothing, touch the same element
//! of a written buffer.

use super::ir::{Block, Buffer, BufferId, Carry, For, If, Kernel, LoopKind, Op, Statement, ValueId};
use super::print::op_text;
use super::vary::varying;
use crate::graph::scalar::{BinaryFn, Scalar, UnaryFn};
use crate::graph::types::Element;
use std::collections::BTreeSet;

/// How deep blocks may nest; walks over kernels recurse that deep.
pub const DEEPEST: usize = 64;

type Result<T = ()> = std::result::Result<T, String>;

/// Checks every law; the error names the kernel and what breaks it.
pub fn verify(kernel: &Kernel) -> Result {
    check(kernel).map_err(|message| format!("kernel `{}`: {message}", kernel.name))
}

fn check(kernel: &Kernel) -> Result {
    check_names(kernel)?;
    check_tables(kernel)?;
    let mut scopes = Scopes {
        kernel,
        placed: vec![false; kernel.values.len()],
        visible: vec![false; kernel.values.len()],
        depth: 0,
    };
    scopes.block(&kernel.body, |_| Ok(()))?;
    if let Some(at) = scopes.placed.iter().position(|placed| !placed) {
        return Err(format!("`v{at}` has no place"));
    }
    let mut rows = Rows {
        kernel,
        varying: varying(kernel),
        inside: false,
        loads: BTreeSet::new(),
        stores: BTreeSet::new(),
    };
    rows.block(&kernel.body)?;
    match rows.loads.difference(&rows.stores).next() {
        Some((buffer, offset)) => {
            Err(format!("`{buffer}` is written, and loaded at `{offset}`, where it is not stored"))
        }
        None => Ok(()),
    }
}

fn check_names(kernel: &Kernel) -> Result {
    let is_word = |name: &str| !name.contains(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ','));
    let wrong = |name: &&String| name.is_empty() || !is_word(name);
    match kernel.args.iter().chain([&kernel.name]).find(wrong) {
        Some(name) => Err(format!("`{name}` is not a word")),
        None => Ok(()),
    }
}

fn check_tables(kernel: &Kernel) -> Result {
    for (at, table) in kernel.tables.iter().enumerate() {
        let first = table.first().ok_or_else(|| format!("table `t{at}` has no entries"))?;
        if let Some(other) = table.iter().find(|entry| entry.element() != first.element()) {
            return Err(format!(
                "table `t{at}` has entries of `{}` and `{}`",
                first.element(),
                other.element()
            ));
        }
    }
    Ok(())
}

/// Laws 2 to 7: places, scopes and types.
struct Scopes<'k> {
    kernel: &'k Kernel,
    placed: Vec<bool>,
    visible: Vec<bool>,
    depth: usize,
}

impl Scopes<'_> {
    /// Checks a block and then, while its values are visible, `end`.
    fn block(&mut self, block: &Block, end: impl FnOnce(&Self) -> Result) -> Result {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("blocks nest deeper than {DEEPEST}"));
        }
        let outside = self.visible.clone();
        for statement in &block.statements {
            self.statement(statement)?;
        }
        end(self)?;
        self.visible = outside;
        self.depth -= 1;
        Ok(())
    }

    fn statement(&mut self, statement: &Statement) -> Result {
        match statement {
            Statement::Let(id) => self.computed(*id),
            Statement::For(looped) => self.looped(looped),
            Statement::If(choice) => self.choice(choice),
            Statement::Store(buffer, offset, value) => self.store(*buffer, *offset, *value),
        }
    }

    fn computed(&mut self, id: ValueId) -> Result {
        let value = self.kernel.values.get(id.index()).ok_or_else(|| format!("`{id}` does not exist"))?;
        let name = || format!("`{id} = {}`", op_text(&value.op));
        if matches!(value.op, Op::Var | Op::Carried | Op::Result) {
            return Err(format!("{} is not declared by a loop or an `if`", name()));
        }
        for arg in value.op.args() {
            self.element(arg)?;
            if arg >= id {
                return Err(format!("{} uses a later value", name()));
            }
        }
        let expected =
            self.result(&value.op, value.element).map_err(|message| format!("{}: {message}", name()))?;
        expect(expected, value.element).map_err(|message| format!("{}: {message}", name()))?;
        self.place(id)
    }

    /// Makes `id` visible from here to the end of the block.
    fn place(&mut self, id: ValueId) -> Result {
        if self.kernel.value(id).element == Element::F16 {
            return Err(format!("`{id}` is of type `f16`"));
        }
        if std::mem::replace(&mut self.placed[id.index()], true) {
            return Err(format!("`{id}` has two places"));
        }
        self.visible[id.index()] = true;
        Ok(())
    }

    /// Places a value that a loop or an `if` declares.
    fn declare(&mut self, id: ValueId, op: &Op, element: Element) -> Result {
        let value = self.kernel.values.get(id.index()).ok_or_else(|| format!("`{id}` does not exist"))?;
        if value.op != *op {
            return Err(format!("`{id}` is declared as `{}`, but is `{}`", op_text(op), op_text(&value.op)));
        }
        expect(element, value.element).map_err(|message| format!("`{id}`: {message}"))?;
        self.place(id)
    }

    /// The type of a value that is visible.
    fn element(&self, id: ValueId) -> Result<Element> {
        match self.visible.get(id.index()) {
            None => Err(format!("`{id}` does not exist")),
            Some(false) => Err(format!("`{id}` is used where it is not computed")),
            Some(true) => Ok(self.kernel.value(id).element),
        }
    }

    /// Fails unless `id` is visible and of type `element`.
    fn typed(&self, id: ValueId, element: Element) -> Result {
        expect(element, self.element(id)?).map_err(|message| format!("`{id}`: {message}"))
    }

    fn looped(&mut self, looped: &For) -> Result {
        self.typed(looped.lo, Element::I64)?;
        self.typed(looped.hi, Element::I64)?;
        for carry in &looped.carried {
            self.element(carry.init)?;
        }
        let outside = self.visible.clone();
        self.declare(looped.var, &Op::Var, Element::I64)?;
        for carry in &looped.carried {
            self.declare(carry.carried, &Op::Carried, self.kernel.value(carry.init).element)?;
        }
        self.block(&looped.body, |scopes| {
            let next = |carry: &Carry| scopes.typed(carry.next, scopes.kernel.value(carry.carried).element);
            looped.carried.iter().try_for_each(next)
        })?;
        self.visible = outside;
        let mut results = looped.carried.iter();
        results.try_for_each(|carry| {
            self.declare(carry.result, &Op::Result, self.kernel.value(carry.carried).element)
        })
    }

    fn choice(&mut self, choice: &If) -> Result {
        self.typed(choice.condition, Element::Bool)?;
        self.block(&choice.then, |scopes| {
            choice.results.iter().try_for_each(|(_, a, _)| scopes.element(*a).map(drop))
        })?;
        self.block(&choice.otherwise, |scopes| {
            let same =
                |(_, a, b): &(ValueId, ValueId, ValueId)| scopes.typed(*b, scopes.kernel.value(*a).element);
            choice.results.iter().try_for_each(same)
        })?;
        choice
            .results
            .iter()
            .try_for_each(|(id, a, _)| self.declare(*id, &Op::Result, self.kernel.value(*a).element))
    }

    fn buffer(&self, id: BufferId) -> Result<&Buffer> {
        self.kernel.buffers.get(id.index()).ok_or_else(|| format!("buffer `{id}` does not exist"))
    }

    fn store(&self, id: BufferId, offset: ValueId, value: ValueId) -> Result {
        let buffer = self.buffer(id)?;
        if !buffer.written {
            return Err(format!("buffer `{id}` is stored to, but not marked as written"));
        }
        self.typed(offset, Element::I64)?;
        self.typed(value, buffer.element.computed())
    }

    /// The type of what `op` computes, given that its result shall be an `element`.
    fn result(&self, op: &Op, element: Element) -> Result<Element> {
        match op {
            Op::Const(value) => Ok(value.element()),
            Op::Arg(at) if (*at as usize) < self.kernel.args.len() => Ok(Element::I64),
            Op::Arg(at) => Err(format!("argument {at} of {} does not exist", self.kernel.args.len())),
            Op::Var | Op::Carried | Op::Result | Op::Cast(_) => Ok(element),
            Op::Unary(function, a) => unary_result(*function, self.element(*a)?),
            Op::Binary(function, a, b) => {
                self.typed(*b, self.element(*a)?)?;
                binary_result(*function, self.element(*a)?)
            }
            Op::Fma(a, b, c) => {
                let element = self.element(*a)?;
                self.typed(*b, element)?;
                self.typed(*c, element)?;
                if element.is_float() { Ok(element) } else { Err(format!("`fma` of `{element}`")) }
            }
            Op::Select(condition, a, b) => {
                self.typed(*condition, Element::Bool)?;
                self.typed(*b, self.element(*a)?)?;
                self.element(*a)
            }
            Op::Load(buffer, offset) => {
                self.typed(*offset, Element::I64)?;
                Ok(self.buffer(*buffer)?.element.computed())
            }
            Op::Table(table, offset) => {
                self.typed(*offset, Element::I64)?;
                let entries = self.kernel.tables.get(*table as usize);
                let first = entries.and_then(|entries| entries.first().copied());
                first.map(Scalar::element).ok_or_else(|| format!("table `t{table}` does not exist"))
            }
        }
    }
}

fn expect(expected: Element, found: Element) -> Result {
    if expected == found { Ok(()) } else { Err(format!("expected `{expected}`, found `{found}`")) }
}

fn unary_result(function: UnaryFn, element: Element) -> Result<Element> {
    let defined = match function {
        UnaryFn::Neg | UnaryFn::Abs | UnaryFn::Sign => true,
        UnaryFn::Floor | UnaryFn::Ceil | UnaryFn::Round | UnaryFn::Trunc => true,
        UnaryFn::Sqrt | UnaryFn::Bits => element.is_float(),
        UnaryFn::RoundF16 => element == Element::F32,
        UnaryFn::Not | UnaryFn::Popcount => !element.is_float(),
        UnaryFn::FloatBits => element.is_int() && element.bits() >= 32,
    };
    if defined { Ok(function.result(element)) } else { Err(format!("`{}` of `{element}`", function.name())) }
}

fn binary_result(function: BinaryFn, element: Element) -> Result<Element> {
    let defined = match function {
        BinaryFn::Add | BinaryFn::Sub | BinaryFn::Mul | BinaryFn::FloorDiv | BinaryFn::Rem => true,
        BinaryFn::Min | BinaryFn::Max => true,
        BinaryFn::Eq | BinaryFn::Ne | BinaryFn::Lt | BinaryFn::Le | BinaryFn::Gt | BinaryFn::Ge => true,
        BinaryFn::Div => element.is_float(),
        BinaryFn::Pow | BinaryFn::Shl | BinaryFn::Shr => !element.is_float(),
        BinaryFn::And | BinaryFn::Xor | BinaryFn::Or => !element.is_float(),
    };
    match defined {
        true if function.is_comparison() => Ok(Element::Bool),
        true => Ok(element),
        false => Err(format!("`{}` of `{element}`", function.name())),
    }
}

/// Laws 8 to 11: what stands inside rows, and what is both loaded and stored.
struct Rows<'k> {
    kernel: &'k Kernel,
    varying: Vec<bool>,
    inside: bool,
    /// Loads from written buffers.
    loads: BTreeSet<(BufferId, ValueId)>,
    stores: BTreeSet<(BufferId, ValueId)>,
}

impl Rows<'_> {
    fn block(&mut self, block: &Block) -> Result {
        for statement in &block.statements {
            match statement {
                Statement::Let(id) => self.load(*id),
                Statement::For(looped) => self.looped(looped)?,
                Statement::If(choice) => {
                    self.same("the condition of an `if`", choice.condition)?;
                    self.block(&choice.then)?;
                    self.block(&choice.otherwise)?;
                }
                Statement::Store(buffer, offset, _) => {
                    self.stores.insert((*buffer, *offset));
                    if self.inside && !self.varying[offset.index()] {
                        return Err(format!("every step of a row stores to `{buffer}` at `{offset}`"));
                    }
                }
            }
        }
        Ok(())
    }

    fn load(&mut self, id: ValueId) {
        if let Op::Load(buffer, offset) = self.kernel.value(id).op
            && self.kernel.buffers[buffer.index()].written
        {
            self.loads.insert((buffer, offset));
        }
    }

    fn same(&self, what: &str, id: ValueId) -> Result {
        if self.varying[id.index()] { Err(format!("{what}, `{id}`, varies along the row")) } else { Ok(()) }
    }

    fn looped(&mut self, looped: &For) -> Result {
        self.same("the bound of a loop", looped.lo)?;
        self.same("the bound of a loop", looped.hi)?;
        if looped.kind == LoopKind::Serial {
            return self.block(&looped.body);
        }
        if std::mem::replace(&mut self.inside, true) {
            return Err(format!("row `{}` stands inside a row", looped.var));
        }
        if let Some(carry) = looped.carried.first() {
            return Err(format!("row `{}` carries `{}`", looped.var, carry.carried));
        }
        self.block(&looped.body)?;
        self.inside = false;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::verify;
    use crate::loops::ir::{Statement, ValueId};
    use crate::loops::parse::parse;

    const HEAD: &str = "kernel a(n)
  b0: f32 in
  b1: f16 out
  t0: u8 = 1 2 3
  v0: i64 = arg 0
  v1: bool = const true
  v2: f32 = const 1.0
";

    #[track_caller]
    fn check(body: &str, expect: &str) {
        let lines: String = body.lines().map(|line| format!("  {line}\n")).collect();
        let kernel = parse(&format!("{HEAD}{lines}")).expect("parses");
        let found = verify(&kernel).err().unwrap_or_default();
        assert_eq!(found.strip_prefix("kernel `a`: ").unwrap_or(&found), expect);
    }

    #[test]
    fn sound_kernels_pass() {
        check("row v3 in v0..v0\n  v4: f32 = load b1 v3\n  v5: f32 = add v4 v2\n  store b1 v3 v5", "");
        check(
            "for v3 in v0..v0\n  carry v4: f32 = v2\n  v5: f32 = fma v4 v4 v2\n  next v5 -> v6\nstore b1 v0 v6",
            "",
        );
    }

    #[test]
    fn values_are_computed_before_their_use() {
        check("v3: f32 = add v2 v4\nv4: f32 = const 1", "`v4` is used where it is not computed");
        check("if v1\n  v3: f32 = const 1\nv4: f32 = neg v3", "`v3` is used where it is not computed");
        check(
            "for v3 in v0..v0\n  v4: f32 = const 1\nv5: i64 = neg v3",
            "`v3` is used where it is not computed",
        );
        check("v4: f32 = const 1\nv3: f32 = neg v4", "`v3 = neg v4` uses a later value");
        check("v3: f32 = neg v70", "`v70` does not exist");
    }

    #[test]
    fn types_agree() {
        check("v3: f32 = add v2 v0", "`v3 = add v2 v0`: `v0`: expected `f32`, found `i64`");
        check("v3: i64 = bits v0", "`v3 = bits v0`: `bits` of `i64`");
        check("v3: i64 = div v0 v0", "`v3 = div v0 v0`: `div` of `i64`");
        check("v3: i64 = lt v0 v0", "`v3 = lt v0 v0`: expected `bool`, found `i64`");
        check("v3: f16 = cast v2", "`v3` is of type `f16`");
        check("v3: f32 = load b0 v2", "`v3 = load b0 v2`: `v2`: expected `i64`, found `f32`");
        check("v3: u16 = table t0 v0", "`v3 = table t0 v0`: expected `u8`, found `u16`");
        check("v3: u8 = table t1 v0", "`v3 = table t1 v0`: table `t1` does not exist");
        check("v3: i64 = arg 1", "`v3 = arg 1`: argument 1 of 1 does not exist");
        check("store b1 v0 v0", "`v0`: expected `f32`, found `i64`");
        check("store b0 v0 v2", "buffer `b0` is stored to, but not marked as written");
        check("store b2 v0 v2", "buffer `b2` does not exist");
        check("for v3 in v0..v2", "`v2`: expected `i64`, found `f32`");
        check("if v0", "`v0`: expected `bool`, found `i64`");
    }

    #[test]
    fn rows_are_flat_and_uniform() {
        check("row v3 in v0..v0\n  row v4 in v0..v0", "row `v4` stands inside a row");
        check("row v3 in v0..v0\n  for v4 in v0..v3", "the bound of a loop, `v3`, varies along the row");
        check(
            "row v3 in v0..v0\n  v4: bool = lt v3 v0\n  if v4",
            "the condition of an `if`, `v4`, varies along the row",
        );
        check("row v3 in v0..v0\n  carry v4: f32 = v2\n  next v4 -> v5", "row `v3` carries `v4`");
        check("row v3 in v0..v0\n  store b1 v0 v2", "every step of a row stores to `b1` at `v0`");
        check(
            "v3: f32 = load b1 v0\nv4: i64 = neg v0\nstore b1 v4 v3",
            "`b1` is written, and loaded at `v0`, where it is not stored",
        );
    }

    #[test]
    fn every_value_has_one_place() {
        let mut kernel = parse(HEAD).expect("parses");
        kernel.body.statements.push(Statement::Let(ValueId(2)));
        assert_eq!(verify(&kernel).unwrap_err(), "kernel `a`: `v2` has two places");
        kernel.body.statements.truncate(2);
        assert_eq!(verify(&kernel).unwrap_err(), "kernel `a`: `v2` has no place");
    }
}
