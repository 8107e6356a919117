//! Copies statements, with values of their own.

use super::sweep::renamed;
use crate::graph::scalar::{BinaryFn, Scalar};
use crate::graph::types::Element;
use crate::loops::ir::{Block, Carry, For, If, Kernel, Op, Statement, Value, ValueId};
use std::collections::{BTreeMap, BTreeSet};

/// Adds a value; who calls gives it a place.
pub(super) fn add(kernel: &mut Kernel, value: Value) -> ValueId {
    kernel.values.push(value);
    ValueId(kernel.values.len() as u32 - 1)
}

/// A constant, placed there.
pub(super) fn int(kernel: &mut Kernel, number: i64, to: &mut Vec<Statement>) -> ValueId {
    place(kernel, Op::Const(Scalar::i64(number)), to)
}

/// What a function gives for two integers, placed there.
pub(super) fn binary(
    kernel: &mut Kernel,
    function: BinaryFn,
    a: ValueId,
    b: ValueId,
    to: &mut Vec<Statement>,
) -> ValueId {
    place(kernel, Op::Binary(function, a, b), to)
}

fn place(kernel: &mut Kernel, op: Op, to: &mut Vec<Statement>) -> ValueId {
    let id = add(kernel, Value { op, element: Element::I64 });
    to.push(Statement::Let(id));
    id
}

/// Makes copies of statements; what they use from elsewhere stays.
pub(super) struct Copier<'c> {
    pub(super) kernel: &'c mut Kernel,
    /// Values that are not copied but are others.
    pub(super) replaced: BTreeMap<ValueId, ValueId>,
    /// Conditions whose outcome is known: only one arm is copied.
    pub(super) known: BTreeMap<ValueId, bool>,
    /// The copy of each value inside.
    values: BTreeMap<ValueId, ValueId>,
}

impl<'c> Copier<'c> {
    pub(super) fn new(kernel: &'c mut Kernel) -> Self {
        let (replaced, known, values) = Default::default();
        Copier { kernel, replaced, known, values }
    }

    /// Lets copies use `other` in place of a value from elsewhere.
    pub(super) fn set(&mut self, id: ValueId, other: ValueId) {
        self.values.insert(id, other);
    }

    pub(super) fn get(&self, id: ValueId) -> ValueId {
        self.values.get(&id).copied().unwrap_or(id)
    }

    pub(super) fn place(&mut self, id: ValueId) -> ValueId {
        let value = self.kernel.value(id);
        let (op, element) = (renamed(&value.op, |id| self.get(id)), value.element);
        let new = add(self.kernel, Value { op, element });
        self.values.insert(id, new);
        new
    }

    pub(super) fn block(&mut self, block: &Block) -> Block {
        let mut statements = Vec::with_capacity(block.statements.len());
        block.statements.iter().for_each(|statement| self.statement(statement, &mut statements));
        Block { statements }
    }

    fn statement(&mut self, statement: &Statement, to: &mut Vec<Statement>) {
        match statement {
            Statement::Let(id) => match self.replaced.get(id) {
                Some(other) => _ = self.values.insert(*id, self.get(*other)),
                None => to.push(Statement::Let(self.place(*id))),
            },
            Statement::Store(buffer, offset, value) => {
                to.push(Statement::Store(*buffer, self.get(*offset), self.get(*value)));
            }
            Statement::For(looped) => to.push(Statement::For(Box::new(self.looped(looped)))),
            Statement::If(choice) => match self.known.get(&choice.condition).copied() {
                Some(outcome) => self.arm(choice, outcome, to),
                None => to.push(Statement::If(Box::new(self.choice(choice)))),
            },
        }
    }

    /// The arm of a choice that is taken, in its place.
    fn arm(&mut self, choice: &If, outcome: bool, to: &mut Vec<Statement>) {
        let arm = if outcome { &choice.then } else { &choice.otherwise };
        arm.statements.iter().for_each(|statement| self.statement(statement, to));
        for (result, then, otherwise) in &choice.results {
            let value = self.get(if outcome { *then } else { *otherwise });
            self.values.insert(*result, value);
        }
    }

    pub(super) fn looped(&mut self, looped: &For) -> For {
        let (lo, hi, var) = (self.get(looped.lo), self.get(looped.hi), self.place(looped.var));
        let starts = looped.carried.iter().map(|carry| (self.get(carry.init), self.place(carry.carried)));
        let starts: Vec<(ValueId, ValueId)> = starts.collect();
        let body = self.block(&looped.body);
        let carried = looped.carried.iter().zip(starts).map(|(carry, (init, carried))| {
            let next = self.get(carry.next);
            Carry { init, carried, next, result: self.place(carry.result) }
        });
        let carried = carried.collect();
        For { kind: looped.kind, var, lo, hi, carried, body }
    }

    fn choice(&mut self, choice: &If) -> If {
        let condition = self.get(choice.condition);
        let (then, otherwise) = (self.block(&choice.then), self.block(&choice.otherwise));
        let results =
            choice.results.iter().map(|(result, a, b)| (self.place(*result), self.get(*a), self.get(*b)));
        let results = results.collect();
        If { condition, then, otherwise, results }
    }
}

/// The values that a block places.
pub(super) fn placed(block: &Block, values: &mut BTreeSet<ValueId>) {
    for statement in &block.statements {
        match statement {
            Statement::Let(id) => _ = values.insert(*id),
            Statement::Store(..) => {}
            Statement::For(looped) => {
                values.insert(looped.var);
                values.extend(looped.carried.iter().flat_map(|carry| [carry.carried, carry.result]));
                placed(&looped.body, values);
            }
            Statement::If(choice) => {
                values.extend(choice.results.iter().map(|(result, _, _)| *result));
                placed(&choice.then, values);
                placed(&choice.otherwise, values);
            }
        }
    }
}
