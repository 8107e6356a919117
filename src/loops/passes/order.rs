//! Orders the statements of a row so that few values are held at once.
//!
//! ```text
//! a = load 0    b = load 1    c = load 2          a = load 0    s = f(s, a)
//! s = f(s, a)   s = f(s, b)   s = f(s, c)         b = load 1    s = f(s, b)    t = f(t, b)
//! t = f(t, b)   t = f(t, c)   …                   c = load 2    s = f(s, c)    t = f(t, c)
//! ```
//!
//! What uses up as many values as it makes comes as soon as it can; if there is no such statement, the next one of the order
//! as it was. So jammed rows go on side by side, and a load that they share is done with before the next one.
//!
//! Only data decides what comes first: a row never loads an element after it stored it, by the promises of
//! [`verify`](crate::loops::verify). Offsets are scalars that are part of an address; they come right before their use.

use crate::loops::ir::{Block, Kernel, LoopKind, Statement, ValueId};
use crate::loops::vary::{ramps, varying};
use std::collections::{BTreeMap, BTreeSet};

/// Rows of more statements than this stay as they are.
const LARGEST: usize = 4_000;

/// The kernel with its rows in order.
pub fn order(mut kernel: Kernel) -> Kernel {
    let varying = varying(&kernel);
    let ramps = ramps(&kernel, &varying);
    let mut body = std::mem::take(&mut kernel.body);
    order_block(&kernel, &ramps, &mut body);
    kernel.body = body;
    kernel
}

fn order_block(kernel: &Kernel, ramps: &[bool], block: &mut Block) {
    for statement in &mut block.statements {
        match statement {
            Statement::Let(_) | Statement::Store(..) => {}
            Statement::For(looped) => match looped.kind {
                LoopKind::Serial => order_block(kernel, ramps, &mut looped.body),
                LoopKind::Row => order_row(kernel, ramps, &mut looped.body.statements),
            },
            Statement::If(choice) => {
                order_block(kernel, ramps, &mut choice.then);
                order_block(kernel, ramps, &mut choice.otherwise);
            }
        }
    }
}

/// Rows with loops or choices in them stay as they are.
fn order_row(kernel: &Kernel, ramps: &[bool], statements: &mut Vec<Statement>) {
    let is_plain = |statement: &Statement| matches!(statement, Statement::Let(_) | Statement::Store(..));
    if statements.len() <= LARGEST && statements.iter().all(is_plain) {
        let order = Row::new(kernel, ramps, statements).order();
        *statements = order.into_iter().map(|at| statements[at].clone()).collect();
    }
}

/// A row under way.
struct Row<'r> {
    statements: &'r [Statement],
    /// Which values are offsets: ramps that are made of nothing but ramps.
    offsets: BTreeSet<ValueId>,
    /// The values of the row that each statement uses, each once.
    uses: Vec<Vec<ValueId>>,
    /// Where each value of the row is computed.
    places: BTreeMap<ValueId, usize>,
    /// Which statements use a value, and how many of them are still to come.
    users: BTreeMap<ValueId, (Vec<usize>, usize)>,
    /// How many operands of each statement are still to come.
    missing: Vec<usize>,
    /// Statements whose operands are there, apart from those that have none.
    ready: BTreeSet<usize>,
    starts: BTreeSet<usize>,
    done: Vec<bool>,
    order: Vec<usize>,
}

impl<'r> Row<'r> {
    fn new(kernel: &Kernel, ramps: &[bool], statements: &'r [Statement]) -> Self {
        let places: BTreeMap<ValueId, usize> = statements.iter().enumerate().filter_map(placed).collect();
        let uses: Vec<Vec<ValueId>> =
            statements.iter().map(|statement| used(kernel, statement, &places)).collect();
        let mut users: BTreeMap<ValueId, (Vec<usize>, usize)> = BTreeMap::new();
        for (at, uses) in uses.iter().enumerate() {
            for id in uses {
                let (list, left) = users.entry(*id).or_default();
                list.push(at);
                *left += 1;
            }
        }
        let mut offsets = BTreeSet::new();
        for (statement, uses) in statements.iter().zip(&uses) {
            if let Statement::Let(id) = statement
                && ramps[id.index()]
                && uses.iter().all(|used| offsets.contains(used))
            {
                offsets.insert(*id);
            }
        }
        let count = |uses: &Vec<ValueId>| uses.iter().filter(|id| !offsets.contains(id)).count();
        let missing: Vec<usize> = uses.iter().map(count).collect();
        let is_start = |at: &usize| match statements[*at] {
            Statement::Let(id) => missing[*at] == 0 && !offsets.contains(&id),
            _ => missing[*at] == 0,
        };
        let starts = (0..statements.len()).filter(is_start).collect();
        let done = vec![false; statements.len()];
        let (ready, order) = (BTreeSet::new(), Vec::with_capacity(statements.len()));
        Row { statements, offsets, uses, places, users, missing, ready, starts, done, order }
    }

    fn order(mut self) -> Vec<usize> {
        while let Some(next) = self.next() {
            self.ready.remove(&next);
            self.starts.remove(&next);
            self.put(next);
        }
        // Offsets that nobody uses.
        self.order.extend((0..self.done.len()).filter(|at| !self.done[*at]));
        self.order
    }

    /// The first that makes room, else the first.
    fn next(&self) -> Option<usize> {
        let relief = self.ready.iter().find(|at| self.relieves(**at));
        let first = || self.ready.first().into_iter().chain(self.starts.first()).min();
        relief.or_else(first).copied()
    }

    /// Whether a statement uses up at least as many values as it makes.
    fn relieves(&self, at: usize) -> bool {
        let makes = usize::from(matches!(self.statements[at], Statement::Let(_)));
        let is_last = |id: &&ValueId| !self.offsets.contains(id) && self.users[*id].1 == 1;
        self.uses[at].iter().filter(is_last).count() >= makes
    }

    /// Adds a statement to the order, after the offsets it needs.
    fn put(&mut self, at: usize) {
        let mut stack = vec![at];
        while let Some(top) = stack.pop() {
            let offsets = self.uses[top].iter().map(|id| self.places[id]).filter(|place| !self.done[*place]);
            let offsets: Vec<usize> = offsets.collect();
            if self.done[top] {
                continue;
            }
            if offsets.is_empty() {
                self.done[top] = true;
                self.order.push(top);
            } else {
                stack.push(top);
                stack.extend(offsets);
            }
        }
        self.finish(at);
    }

    fn finish(&mut self, at: usize) {
        for id in &self.uses[at] {
            self.users.entry(*id).and_modify(|(_, left)| *left -= 1);
        }
        let Statement::Let(id) = self.statements[at] else { return };
        let Some((users, _)) = self.users.get(&id) else { return };
        for user in users {
            self.missing[*user] -= 1;
            if self.missing[*user] == 0 {
                self.ready.insert(*user);
            }
        }
    }
}

fn placed((at, statement): (usize, &Statement)) -> Option<(ValueId, usize)> {
    match statement {
        Statement::Let(id) => Some((*id, at)),
        Statement::Store(..) | Statement::For(_) | Statement::If(_) => None,
    }
}

fn used(kernel: &Kernel, statement: &Statement, places: &BTreeMap<ValueId, usize>) -> Vec<ValueId> {
    let args = match statement {
        Statement::Let(id) => kernel.value(*id).op.args(),
        Statement::Store(_, offset, value) => vec![*offset, *value],
        Statement::For(_) | Statement::If(_) => Vec::new(),
    };
    let inside: BTreeSet<ValueId> = args.into_iter().filter(|arg| places.contains_key(arg)).collect();
    inside.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::order;
    use crate::loops::parse::parse;
    use crate::loops::verify::verify;

    #[track_caller]
    fn check(row: &str, expect: &str) {
        let head = "kernel a(n)\n  b0: f32 in\n  b1: f32 out\n  b2: f32 out\n  v0: i64 = arg 0\n  v1: i64 = const 1\n  v2: f32 = const 0\n  row v3 in v0..v0\n";
        let lines: String = row.lines().map(|line| format!("    {line}\n")).collect();
        let kernel = order(parse(&format!("{head}{lines}")).expect("parses"));
        verify(&kernel).expect("keeps the laws");
        let text = kernel.to_string();
        let names = text.lines().filter_map(|line| line.strip_prefix("    "));
        let names = names.map(|line| line.split([':', ' ']).next().unwrap_or_default());
        assert_eq!(names.collect::<Vec<_>>().join(" "), expect, "{kernel}");
    }

    #[test]
    fn chains_that_share_loads_go_on_side_by_side() {
        let row = "v4: f32 = load b0 v3
v5: f32 = fma v4 v4 v2
v6: i64 = add v3 v1
v7: f32 = load b0 v6
v8: f32 = fma v7 v7 v5
v9: i64 = add v6 v1
v10: f32 = load b0 v9
v11: f32 = fma v10 v10 v8
store b1 v3 v11
v12: f32 = fma v7 v7 v2
v13: f32 = fma v10 v10 v12
store b2 v3 v13";
        check(row, "v4 v5 v6 v7 v8 v12 v9 v10 v11 store v13 store");
    }

    #[test]
    fn a_value_for_many_keeps_the_order() {
        let row = "v4: f32 = load b0 v3
v5: f32 = neg v4
v6: f32 = abs v4
v7: f32 = add v5 v6
v8: f32 = mul v7 v4
store b1 v3 v8";
        check(row, "v4 v5 v6 v7 v8 store");
    }
}
