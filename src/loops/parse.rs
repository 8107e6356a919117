//! Reads the text form of a kernel: the inverse of [`print`](super::print).
//!
//! ```text
//! v3: f32 = add v1 v2        becomes value 3, `Binary(Add, v1, v2)` of type f32, and a `Let(v3)`
//! ```
//!
//! Tests and tools write kernels this way. The parser checks the grammar; the laws are [`verify`](super::verify)'s.

use super::ir::{Block, Buffer, BufferId, Carry, For, If, Kernel, LoopKind, Op, Statement, Value, ValueId};
use super::verify::DEEPEST;
use crate::graph::scalar::{BinaryFn, Scalar, UnaryFn};
use crate::graph::types::Element;

/// Every function of one argument.
pub const UNARY: [UnaryFn; 13] = [
    UnaryFn::Neg,
    UnaryFn::Not,
    UnaryFn::Abs,
    UnaryFn::Sign,
    UnaryFn::Floor,
    UnaryFn::Ceil,
    UnaryFn::Round,
    UnaryFn::Trunc,
    UnaryFn::Sqrt,
    UnaryFn::Popcount,
    UnaryFn::Bits,
    UnaryFn::FloatBits,
    UnaryFn::RoundF16,
];

/// Every function of two arguments.
pub const BINARY: [BinaryFn; 20] = [
    BinaryFn::Add,
    BinaryFn::Sub,
    BinaryFn::Mul,
    BinaryFn::Div,
    BinaryFn::FloorDiv,
    BinaryFn::Rem,
    BinaryFn::Pow,
    BinaryFn::Shl,
    BinaryFn::Shr,
    BinaryFn::And,
    BinaryFn::Xor,
    BinaryFn::Or,
    BinaryFn::Eq,
    BinaryFn::Ne,
    BinaryFn::Lt,
    BinaryFn::Le,
    BinaryFn::Gt,
    BinaryFn::Ge,
    BinaryFn::Min,
    BinaryFn::Max,
];

type Result<T> = std::result::Result<T, String>;

/// The kernel that `text` describes; an error begins with the number of its line.
pub fn parse(text: &str) -> Result<Kernel> {
    let mut parser = Parser { lines: lines(text), at: 0, values: Vec::new() };
    parser.kernel().map_err(|message| format!("line {}: {message}", parser.number()))
}

/// A line that is not empty.
struct Line<'t> {
    number: usize,
    /// In steps of two spaces.
    depth: usize,
    text: &'t str,
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let numbered = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let depth = |line: &str| (line.len() - line.trim_start().len()) / 2;
    numbered.map(|(at, line)| Line { number: at + 1, depth: depth(line), text: line.trim() }).collect()
}

struct Parser<'t> {
    lines: Vec<Line<'t>>,
    at: usize,
    values: Vec<Option<Value>>,
}

impl<'t> Parser<'t> {
    /// Of the line that was read last.
    fn number(&self) -> usize {
        let last = self.at.saturating_sub(1).min(self.lines.len().saturating_sub(1));
        self.lines.get(last).map_or(1, |line| line.number)
    }

    /// The next line, if it stands at `depth`.
    fn peek(&self, depth: usize) -> Option<&'t str> {
        self.lines.get(self.at).filter(|line| line.depth == depth).map(|line| line.text)
    }

    /// The rest of the next line, if it stands at `depth` and begins with `word`.
    fn take(&mut self, depth: usize, word: &str) -> Option<&'t str> {
        let rest = self.peek(depth)?.strip_prefix(word)?;
        let whole = rest.is_empty() || rest.starts_with(' ');
        whole.then(|| {
            self.at += 1;
            rest.trim_start()
        })
    }

    fn kernel(&mut self) -> Result<Kernel> {
        let head = self.take(0, "kernel").ok_or("expected `kernel name(args)`")?;
        let (name, args) =
            head.strip_suffix(')').and_then(|head| head.split_once('(')).ok_or("expected `name(args)`")?;
        let args = args.split(", ").filter(|arg| !arg.is_empty()).map(str::to_owned).collect();
        let (buffers, tables) = (self.buffers()?, self.tables()?);
        let body = self.block(1)?;
        if self.at < self.lines.len() {
            self.at += 1;
            return Err("unexpected indentation".into());
        }
        let values = std::mem::take(&mut self.values).into_iter().enumerate();
        let values = values.map(|(at, value)| value.ok_or_else(|| format!("`v{at}` is missing")));
        Ok(Kernel {
            name: name.to_owned(),
            args,
            buffers,
            tables,
            values: values.collect::<Result<_>>()?,
            body,
        })
    }

    fn buffers(&mut self) -> Result<Vec<Buffer>> {
        let mut buffers = Vec::new();
        while let Some(rest) = self.take(1, &format!("b{}:", buffers.len())) {
            let (name, direction) = rest.split_once(' ').ok_or("expected `type in` or `type out`")?;
            let written = match direction {
                "in" => false,
                "out" => true,
                other => return Err(format!("expected `in` or `out`, found `{other}`")),
            };
            buffers.push(Buffer { element: element(name)?, written });
        }
        Ok(buffers)
    }

    fn tables(&mut self) -> Result<Vec<Vec<Scalar>>> {
        let mut tables = Vec::new();
        while let Some(rest) = self.take(1, &format!("t{}:", tables.len())) {
            let (name, entries) = rest.split_once(" =").ok_or("expected `type = entries`")?;
            let element = element(name)?;
            let entries = entries.split_whitespace().map(|entry| scalar(element, entry));
            tables.push(entries.collect::<Result<_>>()?);
        }
        Ok(tables)
    }

    fn block(&mut self, depth: usize) -> Result<Block> {
        if depth > DEEPEST {
            return Err(format!("blocks nest deeper than {DEEPEST}"));
        }
        let mut statements = Vec::new();
        while let Some(text) = self.peek(depth) {
            let word = text.split(' ').next().unwrap_or_default();
            if matches!(word, "next" | "else" | "give") {
                break;
            }
            self.at += 1;
            let rest = text[word.len()..].trim_start();
            statements.push(match word {
                "for" => self.looped(LoopKind::Serial, rest, depth)?,
                "row" => self.looped(LoopKind::Row, rest, depth)?,
                "if" => self.choice(rest, depth)?,
                "store" => store(rest)?,
                _ => self.binding(text)?,
            });
        }
        Ok(Block { statements })
    }

    /// `v3: f32 = add v1 v2`
    fn binding(&mut self, text: &str) -> Result<Statement> {
        let (typed, op) = text.split_once(" = ").ok_or("expected `v0: type = operation`")?;
        let (id, element) = split_typed(typed)?;
        self.define(id, parse_op(op, element)?, element)?;
        Ok(Statement::Let(id))
    }

    fn define(&mut self, id: ValueId, op: Op, element: Element) -> Result<()> {
        if id.index() > self.lines.len() * 2 {
            return Err(format!("`{id}` is out of order"));
        }
        if self.values.len() <= id.index() {
            self.values.resize(id.index() + 1, None);
        }
        match self.values[id.index()].replace(Value { op, element }) {
            None => Ok(()),
            Some(_) => Err(format!("`{id}` is defined twice")),
        }
    }

    /// `v2 in v0..v1`, then `carry` lines, statements and `next` lines.
    fn looped(&mut self, kind: LoopKind, head: &str, depth: usize) -> Result<Statement> {
        let (var, range) = head.split_once(" in ").ok_or("expected `v0 in lo..hi`")?;
        let (lo, hi) = range.split_once("..").ok_or("expected `lo..hi`")?;
        let (var, lo, hi) = (value(var)?, value(lo)?, value(hi)?);
        self.define(var, Op::Var, Element::I64)?;
        let mut heads = Vec::new();
        while let Some(rest) = self.take(depth + 1, "carry") {
            let (typed, init) = rest.split_once(" = ").ok_or("expected `carry v0: type = init`")?;
            let (carried, element) = split_typed(typed)?;
            self.define(carried, Op::Carried, element)?;
            heads.push((carried, element, value(init)?));
        }
        let body = self.block(depth + 1)?;
        let mut carried = Vec::new();
        for (id, element, init) in heads {
            let rest = self.take(depth + 1, "next").ok_or_else(|| format!("expected `next` for `{id}`"))?;
            let (next, result) = rest.split_once(" -> ").ok_or("expected `next value -> result`")?;
            let (next, result) = (value(next)?, value(result)?);
            self.define(result, Op::Result, element)?;
            carried.push(Carry { init, carried: id, next, result });
        }
        Ok(Statement::For(Box::new(For { kind, var, lo, hi, carried, body })))
    }

    fn choice(&mut self, condition: &str, depth: usize) -> Result<Statement> {
        let condition = value(condition)?;
        let then = self.block(depth + 1)?;
        let otherwise = match self.take(depth, "else") {
            Some(_) => self.block(depth + 1)?,
            None => Block::default(),
        };
        let mut results = Vec::new();
        while let Some(rest) = self.take(depth, "give") {
            let (typed, arms) = rest.split_once(" = ").ok_or("expected `give v0: type = a else b`")?;
            let (a, b) = arms.split_once(" else ").ok_or("expected `a else b`")?;
            let (result, element) = split_typed(typed)?;
            self.define(result, Op::Result, element)?;
            results.push((result, value(a)?, value(b)?));
        }
        Ok(Statement::If(Box::new(If { condition, then, otherwise, results })))
    }
}

fn store(rest: &str) -> Result<Statement> {
    let words: Vec<&str> = rest.split(' ').collect();
    let [at, offset, what] = words[..] else {
        return Err("expected `store buffer offset value`".into());
    };
    Ok(Statement::Store(buffer(at)?, value(offset)?, value(what)?))
}

fn parse_op(text: &str, element: Element) -> Result<Op> {
    let words: Vec<&str> = text.split(' ').collect();
    let unary = |name: &str| UNARY.into_iter().find(|function| function.name() == name);
    let binary = |name: &str| BINARY.into_iter().find(|function| function.name() == name);
    Ok(match words[..] {
        ["const", number] => Op::Const(scalar(element, number)?),
        ["arg", at] => Op::Arg(at.parse().map_err(|_| format!("`{at}` is not the number of an argument"))?),
        ["cast", a] => Op::Cast(value(a)?),
        ["load", at, offset] => Op::Load(buffer(at)?, value(offset)?),
        ["table", table, offset] => Op::Table(number('t', table)?, value(offset)?),
        ["fma", a, b, c] => Op::Fma(value(a)?, value(b)?, value(c)?),
        ["select", a, b, c] => Op::Select(value(a)?, value(b)?, value(c)?),
        [name, a] => Op::Unary(unary(name).ok_or_else(|| format!("unknown operation `{name}`"))?, value(a)?),
        [name, a, b] => Op::Binary(
            binary(name).ok_or_else(|| format!("unknown operation `{name}`"))?,
            value(a)?,
            value(b)?,
        ),
        _ => return Err(format!("unknown operation `{text}`")),
    })
}

/// `v3: f32`
fn split_typed(text: &str) -> Result<(ValueId, Element)> {
    let (id, name) = text.split_once(": ").ok_or_else(|| format!("expected `v0: type`, found `{text}`"))?;
    Ok((value(id)?, element(name)?))
}

fn element(name: &str) -> Result<Element> {
    Element::parse(name).ok_or_else(|| format!("`{name}` is not an element type"))
}

fn scalar(element: Element, text: &str) -> Result<Scalar> {
    let wrong = || format!("`{text}` is not a number of type `{element}`");
    Ok(match element {
        Element::Bool => Scalar::bool(text.parse().map_err(|_| wrong())?),
        Element::F64 => Scalar::f64(text.parse().map_err(|_| wrong())?),
        Element::F32 | Element::F16 => Scalar::f32(text.parse().map_err(|_| wrong())?),
        Element::U8 | Element::U16 | Element::U32 | Element::U64 => int(element, text).ok_or_else(wrong)?,
        Element::I8 | Element::I16 | Element::I32 | Element::I64 => int(element, text).ok_or_else(wrong)?,
    })
}

fn int(element: Element, text: &str) -> Option<Scalar> {
    let value: i128 = text.parse().ok()?;
    let (lo, hi) = element.int_range()?;
    (lo..=hi).contains(&value).then(|| Scalar::int(element, value))
}

fn value(text: &str) -> Result<ValueId> {
    number('v', text).map(ValueId)
}

fn buffer(text: &str) -> Result<BufferId> {
    number('b', text).map(BufferId)
}

/// `v3` is number 3 of kind `v`.
fn number(letter: char, text: &str) -> Result<u32> {
    let digits = text.strip_prefix(letter).and_then(|digits| digits.parse().ok());
    digits.ok_or_else(|| format!("expected `{letter}0` and the like, found `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[track_caller]
    fn check(text: &str, expect: &str) {
        assert_eq!(parse(text).expect_err("does not parse"), expect);
    }

    #[test]
    fn errors_name_their_line() {
        check("", "line 1: expected `kernel name(args)`");
        check("kernel a()\n  b0: f12 in", "line 2: `f12` is not an element type");
        check("kernel a()\n  v0: u8 = const 256", "line 2: `256` is not a number of type `u8`");
        check("kernel a()\n  v0: u8 = const 1\n  v0: u8 = const 2", "line 3: `v0` is defined twice");
        check("kernel a()\n  v1: u8 = const 1", "line 2: `v0` is missing");
        check("kernel a()\n  v0: f32 = foo v1", "line 2: unknown operation `foo`");
        check("kernel a()\n  v0: f32 = const 1\n      store b0 v0 v0", "line 3: unexpected indentation");
        check("kernel a()\n  v9999: f32 = const 1", "line 2: `v9999` is out of order");
    }
}
