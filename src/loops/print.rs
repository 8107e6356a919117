//! The text form of a kernel: one line per statement, blocks by indentation.
//!
//! ```text
//! kernel sum(x0, x1)
//!   b0: f32 in
//!   b1: f32 out
//!   t0: f32 = 0.25 0.5 0.25
//!   v0: i64 = arg 0
//!   v1: i64 = arg 1
//!   row v2 in v0..v1
//!     v3: i64 = const 0
//!     v4: i64 = const 3
//!     v5: f32 = const 0.0
//!     for v6 in v3..v4
//!       carry v7: f32 = v5
//!       v8: f32 = table t0 v6
//!       v9: f32 = add v7 v8
//!       next v9 -> v10
//!     store b1 v2 v10
//! ```
//!
//! An `if` ends in one `give` line per value that comes out: `give v7: f32 = v5 else v6`. The text of a kernel that
//! [`verify`](super::verify) accepts parses back to an equal kernel.

use super::ir::{Block, For, If, Kernel, LoopKind, Op, Statement, ValueId};
use crate::graph::scalar::Scalar;
use std::fmt::{self, Write};

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&print(self))
    }
}

/// The text of `kernel`, with a newline at the end.
pub fn print(kernel: &Kernel) -> String {
    let mut printer = Printer { kernel, depth: 1, out: String::new() };
    let _ = writeln!(printer.out, "kernel {}({})", kernel.name, kernel.args.join(", "));
    for (at, buffer) in kernel.buffers.iter().enumerate() {
        let direction = if buffer.written { "out" } else { "in" };
        printer.line(format_args!("b{at}: {} {direction}", buffer.element));
    }
    for (at, table) in kernel.tables.iter().enumerate() {
        printer.table(at, table);
    }
    printer.block(&kernel.body);
    printer.out
}

/// What `op` computes, as it stands after the equals sign.
pub fn op_text(op: &Op) -> String {
    match op {
        Op::Const(value) => format!("const {value}"),
        Op::Arg(at) => format!("arg {at}"),
        Op::Var => "var".into(),
        Op::Carried => "carried".into(),
        Op::Result => "result".into(),
        Op::Unary(function, a) => format!("{} {a}", function.name()),
        Op::Binary(function, a, b) => format!("{} {a} {b}", function.name()),
        Op::Fma(a, b, c) => format!("fma {a} {b} {c}"),
        Op::Select(a, b, c) => format!("select {a} {b} {c}"),
        Op::Cast(a) => format!("cast {a}"),
        Op::Load(buffer, offset) => format!("load {buffer} {offset}"),
        Op::Table(table, offset) => format!("table t{table} {offset}"),
    }
}

struct Printer<'k> {
    kernel: &'k Kernel,
    depth: usize,
    out: String,
}

impl Printer<'_> {
    fn line(&mut self, text: fmt::Arguments<'_>) {
        let _ = writeln!(self.out, "{:indent$}{text}", "", indent = 2 * self.depth);
    }

    fn table(&mut self, at: usize, entries: &[Scalar]) {
        let element = entries.first().map_or("bool", |first| first.element().name());
        let entries: Vec<String> = entries.iter().map(ToString::to_string).collect();
        self.line(format_args!("t{at}: {element} = {}", entries.join(" ")));
    }

    /// `v3: f32`, where a value is introduced.
    fn typed(&self, id: ValueId) -> String {
        format!("{id}: {}", self.kernel.value(id).element)
    }

    fn block(&mut self, block: &Block) {
        for statement in &block.statements {
            match statement {
                Statement::Let(id) => {
                    let op = op_text(&self.kernel.value(*id).op);
                    self.line(format_args!("{} = {op}", self.typed(*id)));
                }
                Statement::For(looped) => self.looped(looped),
                Statement::If(choice) => self.choice(choice),
                Statement::Store(buffer, offset, value) => {
                    self.line(format_args!("store {buffer} {offset} {value}"))
                }
            }
        }
    }

    fn looped(&mut self, looped: &For) {
        let kind = match looped.kind {
            LoopKind::Serial => "for",
            LoopKind::Row => "row",
        };
        self.line(format_args!("{kind} {} in {}..{}", looped.var, looped.lo, looped.hi));
        self.depth += 1;
        for carry in &looped.carried {
            self.line(format_args!("carry {} = {}", self.typed(carry.carried), carry.init));
        }
        self.block(&looped.body);
        for carry in &looped.carried {
            self.line(format_args!("next {} -> {}", carry.next, carry.result));
        }
        self.depth -= 1;
    }

    fn choice(&mut self, choice: &If) {
        self.line(format_args!("if {}", choice.condition));
        self.indented(&choice.then);
        if !choice.otherwise.statements.is_empty() {
            self.line(format_args!("else"));
            self.indented(&choice.otherwise);
        }
        for (result, then, otherwise) in &choice.results {
            self.line(format_args!("give {} = {then} else {otherwise}", self.typed(*result)));
        }
    }

    fn indented(&mut self, block: &Block) {
        self.depth += 1;
        self.block(block);
        self.depth -= 1;
    }
}

#[cfg(test)]
mod tests {
    use crate::loops::parse::parse;

    #[track_caller]
    fn check(text: &str) {
        let kernel = parse(text).expect("parses");
        assert_eq!(kernel.to_string(), text);
    }

    #[test]
    fn loops_carry_and_choices_give() {
        check(
            "kernel sum(x0, x1)
  b0: f16 in
  b1: f32 out
  t0: f32 = 0.25 -inf NaN
  v0: i64 = arg 0
  v1: i64 = arg 1
  v2: i64 = const -3
  v3: bool = lt v0 v2
  if v3
    v4: f32 = const -0.0
  else
    v5: f32 = load b0 v0
  give v6: f32 = v4 else v5
  row v7 in v0..v1
    for v8 in v0..v2
      carry v9: f32 = v6
      v10: f32 = table t0 v8
      v11: f32 = fma v9 v10 v9
      next v11 -> v12
    v13: f32 = f16 v12
    store b1 v7 v13
",
        );
    }
}
