//! Splits a row where its reads need no clamping, which is nearly all of it.
//!
//! ```text
//! row x in lo..hi                        row x in lo..a      as before
//!   load b0 at min(max(x - 1, 0), 511)   row x in a..b       load b0 at x - 1
//!                                        row x in b..hi      as before
//! ```
//!
//! In the middle, `max(e, k)` and `min(e, k)` are `e` for every `e` that is the row's variable plus something that does
//! not vary along the row. The bounds `a` and `b` are computed before the row; where sums could wrap, the middle is empty.

use super::copy::{Copier, add, placed};
use crate::graph::scalar::{BinaryFn, Scalar};
use crate::graph::types::Element;
use crate::loops::ir::{Block, For, Kernel, LoopKind, Op, Statement, Value, ValueId};
use std::collections::{BTreeMap, BTreeSet};

/// Rows of more values than this are left alone: they would take three times the code.
const LARGEST: usize = 2_000;
/// Sums of a coordinate and a number no larger than this do not wrap.
const FAR: i64 = 1 << 61;

/// What offsets are made with.
const ADDRESSING: [BinaryFn; 6] =
    [BinaryFn::Add, BinaryFn::Sub, BinaryFn::Mul, BinaryFn::Min, BinaryFn::Max, BinaryFn::And];

/// The kernel with its rows split.
pub fn split(mut kernel: Kernel) -> Kernel {
    let body = std::mem::take(&mut kernel.body);
    kernel.body = split_block(&mut kernel, body);
    kernel
}

fn split_block(kernel: &mut Kernel, block: Block) -> Block {
    let mut statements = Vec::with_capacity(block.statements.len());
    for statement in block.statements {
        match statement {
            Statement::For(row) if row.kind == LoopKind::Row => split_row(kernel, *row, &mut statements),
            Statement::For(mut looped) => {
                looped.body = split_block(kernel, looped.body);
                statements.push(Statement::For(looped));
            }
            Statement::Let(_) | Statement::Store(..) | Statement::If(_) => statements.push(statement),
        }
    }
    Block { statements }
}

/// A minimum or maximum that is one of its operands in the middle of the row.
struct Clamp {
    id: ValueId,
    function: BinaryFn,
    /// The operand that it is.
    moving: ValueId,
    /// The other one.
    bound: ValueId,
    /// What `moving` adds to the variable.
    terms: Terms,
}

/// A sum of values from outside the row, each added or subtracted.
type Terms = Vec<(BinaryFn, ValueId)>;

fn split_row(kernel: &mut Kernel, row: For, statements: &mut Vec<Statement>) {
    let mut inside = BTreeSet::from([row.var]);
    placed(&row.body, &mut inside);
    let clamps = if inside.len() <= LARGEST { clamps(kernel, &row, &inside) } else { Vec::new() };
    if clamps.is_empty() {
        statements.push(Statement::For(Box::new(row)));
        return;
    }
    let mut before = Before { kernel, statements };
    let (first, end) = before.middle(&row, &clamps);
    let replaced: BTreeMap<ValueId, ValueId> = clamps.iter().map(|clamp| (clamp.id, clamp.moving)).collect();
    let middle = copy(kernel, &row, (first, end), &replaced);
    let last = copy(kernel, &row, (end, row.hi), &BTreeMap::new());
    let rows = [For { hi: first, ..row }, middle, last];
    statements.extend(rows.map(|row| Statement::For(Box::new(row))));
}

/// The clamps that say where something is loaded.
fn clamps(kernel: &Kernel, row: &For, inside: &BTreeSet<ValueId>) -> Vec<Clamp> {
    let offsets = offsets(kernel, inside);
    let mut sums: BTreeMap<ValueId, Terms> = BTreeMap::from([(row.var, Vec::new())]);
    let mut clamps = Vec::new();
    for id in inside {
        let Op::Binary(function, a, b) = kernel.value(*id).op else { continue };
        let (moving, other) = if sums.contains_key(&b) { (b, a) } else { (a, b) };
        let Some(terms) = sums.get(&moving).filter(|_| !inside.contains(&other)) else { continue };
        let mut terms = terms.clone();
        match function {
            BinaryFn::Add => terms.push((BinaryFn::Add, other)),
            BinaryFn::Sub if moving == a => terms.push((BinaryFn::Sub, other)),
            BinaryFn::Min | BinaryFn::Max if offsets.contains(id) => {
                clamps.push(Clamp { id: *id, function, moving, bound: other, terms: terms.clone() });
            }
            _ => continue,
        }
        sums.insert(*id, terms);
    }
    clamps
}

/// The values that offsets of loads are made of.
fn offsets(kernel: &Kernel, inside: &BTreeSet<ValueId>) -> BTreeSet<ValueId> {
    let mut found = BTreeSet::new();
    for id in inside.iter().rev() {
        if let Op::Load(_, offset) | Op::Table(_, offset) = kernel.value(*id).op {
            found.insert(offset);
        }
        if let Op::Binary(function, a, b) = kernel.value(*id).op
            && found.contains(id)
            && ADDRESSING.contains(&function)
        {
            found.extend([a, b]);
        }
    }
    found
}

/// Adds values before the row.
struct Before<'b> {
    kernel: &'b mut Kernel,
    statements: &'b mut Vec<Statement>,
}

impl Before<'_> {
    /// Where the middle of the row starts and ends.
    fn middle(&mut self, row: &For, clamps: &[Clamp]) -> (ValueId, ValueId) {
        let (mut first, mut end) = (row.lo, row.hi);
        for clamp in clamps {
            let place = self.place(clamp);
            match clamp.function {
                BinaryFn::Max => first = self.binary(BinaryFn::Max, first, place),
                _ => end = self.binary(BinaryFn::Min, end, place),
            }
        }
        let first = self.binary(BinaryFn::Min, first, row.hi);
        (first, self.binary(BinaryFn::Max, end, first))
    }

    /// The first coordinate of the row where a maximum does nothing, or the first where a minimum does something.
    fn place(&mut self, clamp: &Clamp) -> ValueId {
        let zero = self.int(0);
        let shift = clamp.terms.iter().fold(zero, |sum, (function, term)| self.binary(*function, sum, *term));
        let (near, bound_near) = (self.is_near(shift), self.is_near(clamp.bound));
        let near = self.value(Op::Binary(BinaryFn::And, near, bound_near), Element::Bool);
        let place = self.binary(BinaryFn::Sub, clamp.bound, shift);
        let (place, nowhere) = match clamp.function {
            BinaryFn::Max => (place, self.int(2 * FAR)),
            _ => {
                let one = self.int(1);
                (self.binary(BinaryFn::Add, place, one), self.int(-2 * FAR))
            }
        };
        self.value(Op::Select(near, place, nowhere), Element::I64)
    }

    fn is_near(&mut self, id: ValueId) -> ValueId {
        let (lo, hi) = (self.int(-FAR), self.int(FAR));
        let raised = self.binary(BinaryFn::Max, id, lo);
        let inside = self.binary(BinaryFn::Min, raised, hi);
        self.value(Op::Binary(BinaryFn::Eq, inside, id), Element::Bool)
    }

    fn int(&mut self, value: i64) -> ValueId {
        self.value(Op::Const(Scalar::i64(value)), Element::I64)
    }

    fn binary(&mut self, function: BinaryFn, a: ValueId, b: ValueId) -> ValueId {
        self.value(Op::Binary(function, a, b), Element::I64)
    }

    fn value(&mut self, op: Op, element: Element) -> ValueId {
        let id = add(self.kernel, Value { op, element });
        self.statements.push(Statement::Let(id));
        id
    }
}

/// The row over other bounds, with values of its own; those in `replaced` are the values they map to.
fn copy(
    kernel: &mut Kernel,
    row: &For,
    (lo, hi): (ValueId, ValueId),
    replaced: &BTreeMap<ValueId, ValueId>,
) -> For {
    let mut copier = Copier::new(kernel);
    copier.replaced = replaced.clone();
    let var = copier.place(row.var);
    let body = copier.block(&row.body);
    For { kind: row.kind, var, lo, hi, carried: Vec::new(), body }
}

#[cfg(test)]
mod tests {
    use super::split;
    use crate::loops::parse::parse;
    use crate::loops::passes::sweep::sweep;
    use crate::loops::verify::verify;

    #[track_caller]
    fn rows(body: &str, stored: &str) -> Vec<String> {
        let text = format!(
            "kernel a(lo, hi)
  b0: f32 in
  b1: f32 out
  v0: i64 = arg 0
  v1: i64 = arg 1
  v2: i64 = const 5
  row v3 in v0..v1
{body}    store b1 v3 {stored}
"
        );
        let kernel = sweep(split(parse(&text).expect("parses")));
        verify(&kernel).expect("keeps the laws");
        let text = kernel.to_string();
        text.split("  row ").skip(1).map(str::to_owned).collect()
    }

    #[test]
    fn the_middle_has_no_clamps() {
        let body = "    v4: i64 = sub v3 v2\n    v5: i64 = max v4 v2\n    v6: i64 = min v1 v5\n    v7: f32 = load b0 v6\n";
        let clamps: Vec<bool> = rows(body, "v7").iter().map(|row| row.contains("max")).collect();
        assert_eq!(clamps, [true, false, true]);
    }

    #[test]
    fn clamps_of_values_stay() {
        let body = "    v4: i64 = max v3 v2\n    v5: f32 = cast v4\n";
        assert_eq!(rows(body, "v5").len(), 1);
    }
}
