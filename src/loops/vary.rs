//! Which values differ from one step of their row to the next.
//!
//! ```text
//! row v2 in v0..v1
//!   v3: i64 = mul v2 v0      varies: it depends on the variable of the row
//!   v4: i64 = add v0 v1      does not: one scalar serves all lanes
//! ```

use super::ir::{Block, For, Kernel, LoopKind, Op, Statement, ValueId};
use crate::graph::scalar::{BinaryFn, Scalar};

/// For each value, whether it varies along the row that it stands in; outside of rows nothing does.
pub fn varying(kernel: &Kernel) -> Vec<bool> {
    let mut varies = Varies { kernel, values: vec![false; kernel.values.len()], changed: true };
    while varies.changed {
        // What a loop carries may depend on what comes later in its body.
        varies.changed = false;
        varies.block(&kernel.body);
    }
    varies.values
}

/// For each value, whether it grows along its row in equal steps, which a constant says: one scalar serves all lanes.
pub fn ramps(kernel: &Kernel, varying: &[bool]) -> Vec<bool> {
    let mut ramps = vec![false; kernel.values.len()];
    mark_rows(&kernel.body, &mut ramps);
    for (at, value) in kernel.values.iter().enumerate() {
        ramps[at] |= is_ramp(kernel, &value.op, varying, &ramps);
    }
    ramps
}

/// For each value, by how much it grows when a variable grows by one and nothing else changes, if that is a constant.
pub fn growth(kernel: &Kernel, var: ValueId) -> Vec<Option<i64>> {
    let mut growth: Vec<Option<i64>> = Vec::with_capacity(kernel.values.len());
    for (at, value) in kernel.values.iter().enumerate() {
        let of = |id: ValueId| growth[id.index()];
        let known = |id: ValueId| match kernel.value(id).op {
            Op::Const(value) => value.as_int().and_then(|value| i64::try_from(value).ok()),
            _ => None,
        };
        let own = match &value.op {
            Op::Var => Some(i64::from(at == var.index())),
            Op::Carried | Op::Result => None,
            op if op.args().iter().all(|arg| of(*arg) == Some(0)) => Some(0),
            Op::Binary(BinaryFn::Add, a, b) => of(*a).zip(of(*b)).and_then(|(a, b)| a.checked_add(b)),
            Op::Binary(BinaryFn::Sub, a, b) => of(*a).zip(of(*b)).and_then(|(a, b)| a.checked_sub(b)),
            Op::Binary(BinaryFn::Mul, a, b) => match (known(*a), known(*b)) {
                (_, Some(by)) => of(*a).and_then(|a| a.checked_mul(by)),
                (Some(by), _) => of(*b).and_then(|b| b.checked_mul(by)),
                (None, None) => None,
            },
            _ => None,
        };
        growth.push(own);
    }
    growth
}

/// Terms of an offset, at the most, that are looked at.
const MOST_TERMS: usize = 32;

/// An offset as a sum: its terms in order, and what is constant.
pub fn terms(kernel: &Kernel, offset: ValueId) -> Option<(Vec<ValueId>, i64)> {
    let (mut stack, mut terms, mut constant) = (vec![offset], Vec::new(), 0i64);
    while let Some(id) = stack.pop() {
        match kernel.value(id).op {
            Op::Binary(BinaryFn::Add, a, b) => stack.extend([a, b]),
            Op::Const(value) => constant = constant.wrapping_add(Scalar::as_int(value)? as i64),
            _ => terms.push(id),
        }
        if terms.len() + stack.len() > MOST_TERMS {
            return None;
        }
    }
    terms.sort();
    (constant.unsigned_abs() < 1 << 40).then_some((terms, constant))
}

fn is_ramp(kernel: &Kernel, op: &Op, varying: &[bool], ramps: &[bool]) -> bool {
    let ramp = |id: ValueId| ramps[id.index()];
    let steady = |id: ValueId| ramp(id) || !varying[id.index()];
    let known = |id: ValueId| matches!(kernel.value(id).op, Op::Const(_));
    match *op {
        Op::Binary(BinaryFn::Add | BinaryFn::Sub, a, b) => (ramp(a) || ramp(b)) && steady(a) && steady(b),
        Op::Binary(BinaryFn::Mul, a, b) => ramp(a) && known(b) || ramp(b) && known(a),
        Op::Binary(BinaryFn::Shl, a, b) => ramp(a) && known(b),
        _ => false,
    }
}

/// The variables of rows.
fn mark_rows(block: &Block, ramps: &mut [bool]) {
    for statement in &block.statements {
        match statement {
            Statement::Let(_) | Statement::Store(..) => {}
            Statement::For(looped) => {
                ramps[looped.var.index()] = looped.kind == LoopKind::Row;
                mark_rows(&looped.body, ramps);
            }
            Statement::If(choice) => {
                mark_rows(&choice.then, ramps);
                mark_rows(&choice.otherwise, ramps);
            }
        }
    }
}

struct Varies<'k> {
    kernel: &'k Kernel,
    values: Vec<bool>,
    changed: bool,
}

impl Varies<'_> {
    fn block(&mut self, block: &Block) {
        for statement in &block.statements {
            match statement {
                Statement::Let(id) => self.computed(*id),
                Statement::For(looped) => self.looped(looped),
                Statement::If(choice) => {
                    self.block(&choice.then);
                    self.block(&choice.otherwise);
                    for (result, then, otherwise) in &choice.results {
                        self.follow(*result, &[*then, *otherwise]);
                    }
                }
                Statement::Store(..) => {}
            }
        }
    }

    fn computed(&mut self, id: ValueId) {
        match &self.kernel.value(id).op {
            Op::Const(_) | Op::Arg(_) | Op::Var | Op::Carried | Op::Result => {}
            op @ (Op::Unary(..)
            | Op::Binary(..)
            | Op::Fma(..)
            | Op::Select(..)
            | Op::Cast(_)
            | Op::Load(..)
            | Op::Table(..)) => self.follow(id, &op.args()),
        }
    }

    fn looped(&mut self, looped: &For) {
        if looped.kind == LoopKind::Row {
            self.set(looped.var);
        }
        for carry in &looped.carried {
            self.follow(carry.carried, &[carry.init, carry.next]);
        }
        self.block(&looped.body);
        for carry in &looped.carried {
            self.follow(carry.result, &[carry.init, carry.next]);
        }
    }

    /// `id` varies if one of `sources` does.
    fn follow(&mut self, id: ValueId, sources: &[ValueId]) {
        if sources.iter().any(|source| self.values[source.index()]) {
            self.set(id);
        }
    }

    fn set(&mut self, id: ValueId) {
        self.changed |= !self.values[id.index()];
        self.values[id.index()] = true;
    }
}

#[cfg(test)]
mod tests {
    use super::varying;
    use crate::loops::parse::parse;

    #[test]
    fn carried_values_follow_what_comes_later() {
        let text = "kernel a()
  v0: i64 = const 0
  v1: i64 = const 4
  row v2 in v0..v1
    for v3 in v0..v1
      carry v4: i64 = v0
      carry v5: i64 = v0
      v6: i64 = add v4 v5
      v7: i64 = add v5 v1
      v8: i64 = add v6 v2
      next v8 -> v9
      next v7 -> v10
";
        let varying = varying(&parse(text).expect("parses"));
        let ids: Vec<usize> = (0..varying.len()).filter(|at| varying[*at]).collect();
        assert_eq!(ids, [2, 4, 6, 8, 9]);
    }
}
