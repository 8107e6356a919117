//! Cuts rows by residue where they divide their coordinate by a small number, so that reads at the quotient are rows, too.
//!
//! ```text
//! row x in lo..hi                row x in lo..2 * a         as before, a = lo / 2 rounded up
//!   load b0 at x >> 1            row q in a..b              b = hi >> 1
//!   store b1 at x                  load b0 at q
//!                                  store b1 at 2 * q        x = 2 * q
//!                                  store b1 at 2 * q + 1    x = 2 * q + 1: the same load serves both
//!                                row x in 2 * b..hi         as before
//! ```
//!
//! What depends on the quotient alone is computed once for all residues, and a remainder is a number. The stores lie side
//! by side; back ends put what they store together in registers.
//!
//! Coordinates are so small that `x + c` with a small constant does not wrap: `(x + c) // d` is what it says.

use super::simplify::Simplifier;
use crate::graph::scalar::BinaryFn;
use crate::graph::types::Element;
use crate::loops::ir::{Block, For, Kernel, LoopKind, Op, Statement, ValueId};
use crate::loops::vary::growth;
use std::collections::{BTreeMap, BTreeSet};

/// Divisors that rows are cut by, at the most: so many stores are put together.
pub const LARGEST_PERIOD: i64 = 4;
/// Statements of a row that is made, at the most.
const LARGEST: usize = 1_000;
/// Constants that are added to a coordinate, at the most.
const FAR: i64 = 1 << 40;

/// The kernel with such rows cut.
pub fn residues(kernel: Kernel) -> Kernel {
    if !any_row(&kernel.body, &|row| period(&kernel, row).is_some()) {
        return kernel;
    }
    let mut simplifier = Simplifier::new(&kernel);
    outside(&mut simplifier, &kernel.body);
    simplifier.builder.finish()
}

fn any_row(block: &Block, test: &dyn Fn(&For) -> bool) -> bool {
    block.statements.iter().any(|statement| match statement {
        Statement::For(row) if row.kind == LoopKind::Row => test(row),
        Statement::For(looped) => any_row(&looped.body, test),
        Statement::Let(_) | Statement::Store(..) | Statement::If(_) => false,
    })
}

/// Statements outside of rows.
fn outside(simplifier: &mut Simplifier<'_>, block: &Block) {
    for statement in &block.statements {
        match statement {
            Statement::For(row) if row.kind == LoopKind::Row => match period(simplifier.kernel, row) {
                Some(period) => cut(simplifier, row, period),
                None => simplifier.looped(row),
            },
            Statement::For(looped) => {
                let open = simplifier.open(looped);
                outside(simplifier, &looped.body);
                simplifier.close(looped, open);
            }
            Statement::Let(_) | Statement::Store(..) | Statement::If(_) => {
                simplifier.statements(std::slice::from_ref(statement));
            }
        }
    }
}

/// A quotient or a remainder by a constant.
enum Division {
    Quotient(i64),
    Remainder(i64),
}

/// What a value is divided by, and which value that is.
fn division(kernel: &Kernel, id: ValueId) -> Option<(ValueId, Division)> {
    let Op::Binary(function, a, b) = kernel.value(id).op else { return None };
    let number = constant(kernel, b).filter(|_| kernel.value(id).element == Element::I64)?;
    let (division, by) = match function {
        BinaryFn::FloorDiv => (Division::Quotient(number), number),
        BinaryFn::Rem => (Division::Remainder(number), number),
        BinaryFn::Shr if (0..=2).contains(&number) => (Division::Quotient(1 << number), 1 << number),
        BinaryFn::And if matches!(number, 1 | 3) => (Division::Remainder(number + 1), number + 1),
        _ => return None,
    };
    (2..=LARGEST_PERIOD).contains(&by).then_some((a, division))
}

fn constant(kernel: &Kernel, id: ValueId) -> Option<i64> {
    match kernel.value(id).op {
        Op::Const(value) => value.as_int().and_then(|value| i64::try_from(value).ok()),
        _ => None,
    }
}

/// A value plus a small constant.
fn shifted(kernel: &Kernel, id: ValueId) -> Option<(ValueId, i64)> {
    let Op::Binary(BinaryFn::Add, a, b) = kernel.value(id).op else { return None };
    constant(kernel, b).filter(|by| by.unsigned_abs() < FAR as u64).map(|by| (a, by))
}

/// The number that a row is cut by: what its coordinate is divided by where it reads. Its stores follow each other, and
/// there is nothing in it but straight-line code.
fn period(kernel: &Kernel, row: &For) -> Option<i64> {
    let growth = growth(kernel, row.var);
    // What the coordinate was divided by to get a value.
    let mut divided: BTreeMap<ValueId, i64> = BTreeMap::from([(row.var, 1)]);
    let (mut uneven, mut reads, mut period) = (BTreeSet::new(), false, 1);
    for statement in &row.body.statements {
        match statement {
            Statement::Let(id) if is_clamped(kernel, *id, &divided) => return None,
            Statement::Let(id) => {
                let by = divisor(kernel, *id, &divided);
                if let Some(by) = by.filter(|by| *by <= LARGEST_PERIOD) {
                    period = lcm(period, by);
                    divided.insert(*id, by);
                }
                let op = &kernel.value(*id).op;
                if by.is_some_and(|by| by > 1) || op.args().iter().any(|arg| uneven.contains(arg)) {
                    uneven.insert(*id);
                    reads |= matches!(op, Op::Load(..) | Op::Table(..));
                }
            }
            Statement::Store(_, offset, _) if growth[offset.index()] == Some(1) => {}
            Statement::Store(..) | Statement::For(_) | Statement::If(_) => return None,
        }
    }
    let size = row.body.statements.len() * period as usize;
    (reads && (2..=LARGEST_PERIOD).contains(&period) && size <= LARGEST).then_some(period)
}

/// What the coordinate is divided by to get a value, if it is made of others of which that is known.
fn divisor(kernel: &Kernel, id: ValueId, divided: &BTreeMap<ValueId, i64>) -> Option<i64> {
    match division(kernel, id) {
        Some((of, Division::Quotient(by) | Division::Remainder(by))) => {
            divided.get(&of).and_then(|known| known.checked_mul(by))
        }
        None => shifted(kernel, id).and_then(|(of, _)| divided.get(&of).copied()),
    }
}

/// Whether a value is the coordinate, clamped: then the row is one of the ends that `split` made, and short.
fn is_clamped(kernel: &Kernel, id: ValueId, divided: &BTreeMap<ValueId, i64>) -> bool {
    let Op::Binary(BinaryFn::Min | BinaryFn::Max, a, b) = kernel.value(id).op else { return false };
    [a, b].iter().any(|arg| divided.get(arg) == Some(&1))
}

/// The least number that both divide; both are small.
fn lcm(a: i64, b: i64) -> i64 {
    (1..=b).map(|times| a * times).find(|multiple| multiple % b == 0).unwrap_or(a * b)
}

/// The row up to the first multiple of the period, the part that is whole multiples, and the rest.
fn cut(simplifier: &mut Simplifier<'_>, row: &For, period: i64) {
    let (lo, hi) = (simplifier.get(row.lo), simplifier.get(row.hi));
    let by = simplifier.builder.int(period);
    let up = simplifier.builder.int(period - 1);
    let raised = simplifier.binary(BinaryFn::Add, lo, up);
    let first = simplifier.binary(BinaryFn::FloorDiv, raised, by);
    let end = simplifier.binary(BinaryFn::FloorDiv, hi, by);
    let end = simplifier.binary(BinaryFn::Max, end, first);
    let [start, rest] = [first, end].map(|number| simplifier.binary(BinaryFn::Mul, number, by));
    let start = simplifier.binary(BinaryFn::Min, start, hi);
    as_before(simplifier, row, (lo, start));
    let (open, _) = simplifier.open_loop(LoopKind::Row, first, end, &[]);
    (0..period).for_each(|residue| at_residue(simplifier, row, open.var, (period, residue)));
    simplifier.close_loop(open, &[]);
    as_before(simplifier, row, (rest, hi));
}

fn as_before(simplifier: &mut Simplifier<'_>, row: &For, (lo, hi): (ValueId, ValueId)) {
    let (open, _) = simplifier.open_loop(LoopKind::Row, lo, hi, &[]);
    simplifier.set(row.var, open.var);
    simplifier.statements(&row.body.statements);
    simplifier.close_loop(open, &[]);
}

/// What a value is, by the number of the period: so many times that, plus so much.
type Form = (i64, i64);

/// The body of a row at `x = period * quotient + residue`.
fn at_residue(simplifier: &mut Simplifier<'_>, row: &For, quotient: ValueId, own: Form) {
    let mut forms: BTreeMap<ValueId, Form> = BTreeMap::from([(row.var, own)]);
    let place = placed(simplifier, quotient, own);
    simplifier.set(row.var, place);
    for statement in &row.body.statements {
        if let Statement::Let(id) = statement
            && let Some(form) = form(simplifier.kernel, *id, &forms)
        {
            let value = placed(simplifier, quotient, form);
            simplifier.set(*id, value);
            forms.insert(*id, form);
        } else {
            simplifier.statements(std::slice::from_ref(statement));
        }
    }
}

/// What a value is, if what it is made of is known.
fn form(kernel: &Kernel, id: ValueId, forms: &BTreeMap<ValueId, Form>) -> Option<Form> {
    if let Some((of, by)) = shifted(kernel, id) {
        return forms.get(&of).map(|(times, plus)| (*times, plus + by));
    }
    let (of, division) = division(kernel, id)?;
    let (times, plus) = *forms.get(&of)?;
    match division {
        Division::Quotient(by) if times % by == 0 => Some((times / by, plus.div_euclid(by))),
        Division::Remainder(by) if times % by == 0 => Some((0, plus.rem_euclid(by))),
        Division::Quotient(_) | Division::Remainder(_) => None,
    }
}

fn placed(simplifier: &mut Simplifier<'_>, quotient: ValueId, (times, plus): Form) -> ValueId {
    let plus = simplifier.builder.int(plus);
    if times == 0 {
        return plus;
    }
    let times = simplifier.builder.int(times);
    let moving = simplifier.binary(BinaryFn::Mul, quotient, times);
    simplifier.binary(BinaryFn::Add, moving, plus)
}

#[cfg(test)]
mod tests {
    use super::residues;
    use crate::loops::parse::parse;
    use crate::loops::passes::sweep::sweep;
    use crate::loops::verify::verify;

    /// The row in the middle, without the parts before and after it; or the only one.
    #[track_caller]
    fn check(body: &str, expect: &str) {
        let text = format!(
            "kernel a(lo, hi)
  b0: f32 in
  b1: f32 out
  v0: i64 = arg 0
  v1: i64 = arg 1
  v2: i64 = const 1
  v3: i64 = const 3
  row v4 in v0..v1
{body}"
        );
        let kernel = sweep(residues(parse(&text).expect("parses")));
        verify(&kernel).expect("keeps the laws");
        let text = kernel.to_string();
        let rows: Vec<&str> = text.split("  row ").skip(1).collect();
        let found = rows.get(rows.len() / 2).copied().unwrap_or_default();
        let found: Vec<&str> = found.lines().skip(1).map(str::trim).collect();
        assert_eq!(found.join("\n"), expect, "{text}");
    }

    #[test]
    fn halves() {
        let body = "    v5: i64 = shr v4 v2\n    v6: f32 = load b0 v5\n    store b1 v4 v6\n";
        let once = "v15: i64 = mul v14 v3\nv16: f32 = load b0 v14\nstore b1 v15 v16";
        check(body, &format!("{once}\nv17: i64 = add v15 v2\nstore b1 v17 v16"));
    }

    #[test]
    fn clamped_rows_stay() {
        let body = "    v5: i64 = max v4 v3\n    v6: i64 = shr v4 v2\n    v7: i64 = add v5 v6\n    \
                    v8: f32 = load b0 v7\n    store b1 v4 v8\n";
        let same = "v5: i64 = max v4 v3\nv6: i64 = shr v4 v2\nv7: i64 = add v5 v6";
        check(body, &format!("{same}\nv8: f32 = load b0 v7\nstore b1 v4 v8"));
    }

    #[test]
    fn larger_divisors_stay() {
        let body = "    v5: i64 = shr v4 v3\n    v6: f32 = load b0 v5\n    store b1 v4 v6\n";
        check(body, "v4: i64 = shr v3 v2\nv5: f32 = load b0 v4\nstore b1 v3 v5");
    }
}
