//! The value of a constant expression: parameters, `let`s, sizes, fill values.
//!
//! Works on a resolved and contracted body, with the arithmetic of [`scalar`](super::scalar).

use super::body::{Body, BoundVar, Coord, MathFn, NodeId, Op, ReduceFn, Table};
use super::fold::{Fold, factors};
use super::scalar::{self, Scalar};
use super::types::Element;
use super::view::row_major;
use std::sync::Arc;

/// Where math functions come from: a body over `Arg(0)`, `Arg(1)`.
pub trait Library {
    /// The function as a resolved and contracted body.
    fn function(&mut self, function: MathFn, element: Element) -> Option<Arc<(Body, NodeId)>>;
}

/// More steps than any sensible constant takes.
const MAX_STEPS: u64 = 1_000_000;

/// Why an expression has no value before the program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoValue {
    /// It depends on coordinates or elements.
    Varies,
    /// It takes more steps than a constant may.
    TooMuchWork,
    /// It reads a table outside.
    Outside {
        /// Its name.
        table: Arc<str>,
        /// Where it is read.
        at: Vec<i64>,
        /// How large it is.
        shape: Vec<i64>,
    },
}

/// The value of `root`, if it depends on nothing but constants and is not absurdly expensive.
pub fn evaluate(body: &Body, root: NodeId, library: &mut dyn Library) -> Result<Scalar, NoValue> {
    let mut evaluator = Evaluator { library, steps: 0, outside: None };
    let value = evaluator.value(body, root, &[], &mut vec![None; body.binders.len()]);
    let tired = evaluator.steps > MAX_STEPS;
    let why = || if tired { NoValue::TooMuchWork } else { NoValue::Varies };
    value.ok_or_else(|| evaluator.outside.unwrap_or_else(why))
}

struct Evaluator<'l> {
    library: &'l mut dyn Library,
    steps: u64,
    /// The read of a table that ended it.
    outside: Option<NoValue>,
}

impl Evaluator<'_> {
    /// Evaluates what `root` needs, children first; bodies of reductions once per step of theirs, and of the arms of a
    /// selection the one that is selected.
    fn value(
        &mut self,
        body: &Body,
        root: NodeId,
        args: &[Scalar],
        bound: &mut Vec<Option<i64>>,
    ) -> Option<Scalar> {
        let mut values: Vec<Option<Scalar>> = vec![None; root.index() + 1];
        let mut stack = vec![root];
        while let Some(id) = stack.last().copied() {
            let missing = missing(body, id, &values);
            if !missing.is_empty() {
                stack.extend(missing);
                continue;
            }
            stack.pop();
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return None;
            }
            if values[id.index()].is_none() {
                values[id.index()] = Some(self.node(body, id, &values, args, bound)?);
            }
        }
        values[root.index()]
    }

    fn node(
        &mut self,
        body: &Body,
        id: NodeId,
        values: &[Option<Scalar>],
        args: &[Scalar],
        bound: &mut Vec<Option<i64>>,
    ) -> Option<Scalar> {
        let node = body.node(id);
        let get = |id: NodeId| values[id.index()];
        let element = node.ty.strong()?;
        Some(match &node.op {
            Op::Const(value) => *value,
            // A variable of a reduction that is not under way is not a constant.
            Op::Coord(Coord::Bound(var)) => Scalar::i64(bound[*var as usize]?),
            Op::Coord(_) | Op::Read { .. } => return None,
            Op::Arg(number) => *args.get(*number as usize)?,
            Op::Unary(function, a) => scalar::unary(*function, get(*a)?),
            Op::Binary(function, a, b) => scalar::binary(*function, get(*a)?, get(*b)?),
            Op::Fma(a, b, c) => scalar::fma(get(*a)?, get(*b)?, get(*c)?),
            Op::Select(c, a, b) => get(if get(*c)?.is_true() { *a } else { *b })?,
            Op::Cast(a) => get(*a)?.cast(element),
            Op::Math(function, args) => {
                let args = args.iter().map(|arg| get(*arg)).collect::<Option<Vec<_>>>()?;
                let function = self.library.function(*function, element)?;
                let (body, root) = &*function;
                self.value(body, *root, &args, &mut vec![None; body.binders.len()])?
            }
            Op::Hash(args) => {
                let args =
                    args.iter().map(|arg| Some(get(*arg)?.as_int()? as i64)).collect::<Option<Vec<_>>>()?;
                Scalar::int(Element::U32, scalar::hash(&args).into())
            }
            Op::Table(table, coords) => {
                let coords = coords
                    .iter()
                    .map(|coord| Some(get(*coord)?.as_int()? as i64))
                    .collect::<Option<Vec<_>>>()?;
                let table = &body.tables[table.index()];
                let value = entry(table, &coords);
                if value.is_none() {
                    let (table, shape) = (table.name.clone(), table.shape.clone());
                    self.outside = Some(NoValue::Outside { table, at: coords, shape });
                }
                value?
            }
            Op::Reduce { function, vars, body: inner } => {
                let var = *vars.first()?;
                let fold = Fold::new(*function, body.ty(*inner).strong()?, body.binders[var as usize].lo);
                let mut reduction = Reduction { fold, function: *function, var };
                self.reduce(body, vars, *inner, args, bound, &mut reduction)?;
                reduction.fold.value()
            }
        })
    }

    fn reduce(
        &mut self,
        body: &Body,
        vars: &[u32],
        inner: NodeId,
        args: &[Scalar],
        bound: &mut Vec<Option<i64>>,
        reduction: &mut Reduction,
    ) -> Option<()> {
        let Some((var, rest)) = vars.split_first() else {
            return self.accumulate(body, inner, args, bound, reduction);
        };
        let BoundVar { lo, hi, .. } = body.binders[*var as usize];
        let outer = bound[*var as usize];
        for value in lo..hi {
            self.steps += 1;
            if self.steps > MAX_STEPS {
                return None;
            }
            bound[*var as usize] = Some(value);
            self.reduce(body, rest, inner, args, bound, reduction)?;
        }
        bound[*var as usize] = outer;
        Some(())
    }

    fn accumulate(
        &mut self,
        body: &Body,
        inner: NodeId,
        args: &[Scalar],
        bound: &mut Vec<Option<i64>>,
        reduction: &mut Reduction,
    ) -> Option<()> {
        let Reduction { fold, function, var } = reduction;
        match factors(body, *function, inner) {
            Some((a, b)) => {
                fold.add_product(self.value(body, a, args, bound)?, self.value(body, b, args, bound)?);
            }
            None => {
                let at = bound[*var as usize].unwrap_or_default();
                fold.add(self.value(body, inner, args, bound)?, at);
            }
        }
        Some(())
    }
}

/// A reduction on its way.
struct Reduction {
    fold: Fold,
    function: ReduceFn,
    /// The variable whose value argmin and argmax give.
    var: u32,
}

fn entry(table: &Table, coords: &[i64]) -> Option<Scalar> {
    let inside = coords.iter().zip(&table.shape).all(|(at, size)| (0..*size).contains(at));
    let position: i64 = coords.iter().zip(row_major(&table.shape)).map(|(at, stride)| at * stride).sum();
    inside.then(|| table.values[position as usize])
}

/// The nodes that must have values before `id` can get one.
fn missing(body: &Body, id: NodeId, values: &[Option<Scalar>]) -> Vec<NodeId> {
    let known = |id: NodeId| values[id.index()];
    let needed = match &body.node(id).op {
        _ if known(id).is_some() => Vec::new(),
        Op::Reduce { .. } => Vec::new(),
        Op::Select(c, a, b) => match known(*c) {
            None => vec![*c],
            Some(condition) => vec![if condition.is_true() { *a } else { *b }],
        },
        op => op.args(),
    };
    needed.into_iter().filter(|id| known(*id).is_none()).collect()
}
