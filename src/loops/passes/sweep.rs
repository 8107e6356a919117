//! Takes out values, loops and choices that nothing stored depends on, and numbers the rest in the order of the text.
//!
//! ```text
//! v0: i64 = const 7          gone, if nobody uses v0
//! v1: i64 = arg 0            v0: i64 = arg 0
//! ```

use crate::loops::ir::{Block, Carry, For, If, Kernel, Op, Statement, Value, ValueId};

/// The kernel without what is not used.
pub fn sweep(mut kernel: Kernel) -> Kernel {
    let mut live = vec![false; kernel.values.len()];
    mark(&kernel, &kernel.body, &mut live);
    let body = std::mem::take(&mut kernel.body);
    let mut numbers = Numbers { old: &kernel, live: &live, new: Vec::new(), values: vec![None; live.len()] };
    let body = numbers.block(body);
    let values = numbers.new;
    Kernel { values, body, ..kernel }
}

/// Marks what is used, from the last statement to the first.
fn mark(kernel: &Kernel, block: &Block, live: &mut [bool]) {
    for statement in block.statements.iter().rev() {
        match statement {
            Statement::Let(id) if !live[id.index()] => {}
            Statement::Let(id) => use_all(&kernel.value(*id).op.args(), live),
            Statement::Store(_, offset, value) => use_all(&[*offset, *value], live),
            Statement::For(looped) if !is_live(statement, live) => debug_assert!(!stores(&looped.body)),
            Statement::For(looped) => {
                use_all(&[looped.lo, looped.hi], live);
                looped.carried.iter().for_each(|carry| use_all(&[carry.init, carry.next], live));
                mark(kernel, &looped.body, live);
            }
            Statement::If(choice) if !is_live(statement, live) => debug_assert!(!stores(&choice.then)),
            Statement::If(choice) => {
                use_all(&[choice.condition], live);
                choice.results.iter().for_each(|(_, a, b)| use_all(&[*a, *b], live));
                mark(kernel, &choice.then, live);
                mark(kernel, &choice.otherwise, live);
            }
        }
    }
}

fn use_all(ids: &[ValueId], live: &mut [bool]) {
    ids.iter().for_each(|id| live[id.index()] = true);
}

fn is_live(statement: &Statement, live: &[bool]) -> bool {
    match statement {
        Statement::Let(id) => live[id.index()],
        Statement::Store(..) => true,
        Statement::For(looped) => {
            stores(&looped.body) || looped.carried.iter().any(|carry| live[carry.result.index()])
        }
        Statement::If(choice) => {
            let used = choice.results.iter().any(|(result, _, _)| live[result.index()]);
            used || stores(&choice.then) || stores(&choice.otherwise)
        }
    }
}

fn stores(block: &Block) -> bool {
    block.statements.iter().any(|statement| match statement {
        Statement::Let(_) => false,
        Statement::Store(..) => true,
        Statement::For(looped) => stores(&looped.body),
        Statement::If(choice) => stores(&choice.then) || stores(&choice.otherwise),
    })
}

/// Copies what is live, and numbers it anew.
struct Numbers<'k> {
    old: &'k Kernel,
    live: &'k [bool],
    new: Vec<Value>,
    /// The new number of each value.
    values: Vec<Option<ValueId>>,
}

impl Numbers<'_> {
    fn block(&mut self, block: Block) -> Block {
        let live = self.live;
        let kept = block.statements.into_iter().filter(|statement| is_live(statement, live));
        Block { statements: kept.map(|statement| self.statement(statement)).collect() }
    }

    fn statement(&mut self, statement: Statement) -> Statement {
        match statement {
            Statement::Let(id) => Statement::Let(self.place(id)),
            Statement::Store(buffer, offset, value) => {
                Statement::Store(buffer, self.get(offset), self.get(value))
            }
            Statement::For(looped) => Statement::For(Box::new(self.looped(*looped))),
            Statement::If(choice) => Statement::If(Box::new(self.choice(*choice))),
        }
    }

    fn looped(&mut self, looped: For) -> For {
        let (lo, hi, var) = (self.get(looped.lo), self.get(looped.hi), self.place(looped.var));
        let starts = looped.carried.iter().map(|carry| (self.get(carry.init), self.place(carry.carried)));
        let starts: Vec<(ValueId, ValueId)> = starts.collect();
        let body = self.block(looped.body);
        let ends = looped.carried.iter().map(|carry| (self.get(carry.next), self.place(carry.result)));
        let ends: Vec<(ValueId, ValueId)> = ends.collect();
        let carried = starts.into_iter().zip(ends);
        let carried = carried.map(|((init, carried), (next, result))| Carry { init, carried, next, result });
        For { kind: looped.kind, var, lo, hi, carried: carried.collect(), body }
    }

    fn choice(&mut self, choice: If) -> If {
        let condition = self.get(choice.condition);
        let (then, otherwise) = (self.block(choice.then), self.block(choice.otherwise));
        let results =
            choice.results.iter().map(|(result, a, b)| (self.place(*result), self.get(*a), self.get(*b)));
        let results = results.collect();
        If { condition, then, otherwise, results }
    }

    fn get(&self, id: ValueId) -> ValueId {
        self.values[id.index()].expect("verified: computed before its use")
    }

    fn place(&mut self, id: ValueId) -> ValueId {
        let value = self.old.value(id);
        let op = renamed(&value.op, |id| self.get(id));
        let new = ValueId(self.new.len() as u32);
        self.new.push(Value { op, element: value.element });
        self.values[id.index()] = Some(new);
        new
    }
}

/// The operation with other operands.
pub(super) fn renamed(op: &Op, name: impl Fn(ValueId) -> ValueId) -> Op {
    match op {
        Op::Const(_) | Op::Arg(_) | Op::Var | Op::Carried | Op::Result => op.clone(),
        Op::Unary(function, a) => Op::Unary(*function, name(*a)),
        Op::Binary(function, a, b) => Op::Binary(*function, name(*a), name(*b)),
        Op::Fma(a, b, c) => Op::Fma(name(*a), name(*b), name(*c)),
        Op::Select(a, b, c) => Op::Select(name(*a), name(*b), name(*c)),
        Op::Cast(a) => Op::Cast(name(*a)),
        Op::Load(buffer, a) => Op::Load(*buffer, name(*a)),
        Op::Table(table, a) => Op::Table(*table, name(*a)),
    }
}

#[cfg(test)]
mod tests {
    use super::sweep;
    use crate::loops::parse::parse;

    #[test]
    fn what_nobody_uses_goes() {
        let text = "kernel a(n)
  b0: f32 out
  v0: i64 = const 7
  v1: i64 = arg 0
  v2: f32 = const 1.0
  for v3 in v0..v1
    carry v4: f32 = v2
    v5: f32 = add v4 v2
    next v5 -> v6
  row v7 in v1..v1
    v8: i64 = add v7 v0
    store b0 v7 v2
";
        let expect = "kernel a(n)
  b0: f32 out
  v0: i64 = arg 0
  v1: f32 = const 1.0
  row v2 in v0..v0
    store b0 v2 v1
";
        assert_eq!(sweep(parse(text).expect("parses")).to_string(), expect);
    }
}
