//! Reductions: unrolled when short, else a loop that carries the accumulator, as far out as its body allows.

use super::{Bound, Lowerer, Source};
use crate::graph::body::{self, Coord, NodeId, ReduceFn};
use crate::graph::fold::{Step, factors, identity, step};
use crate::graph::scalar::Scalar;
use crate::loops::ir::{LoopKind, ValueId};
use std::collections::{BTreeSet, HashMap};

/// Reductions of at most this many steps and operations in all are unrolled.
const MAX_UNROLLED_STEPS: i64 = 128;
const MAX_UNROLLED_OPERATIONS: i64 = 4_096;
/// In a kernel that has this many values no further ones are.
const MOST_VALUES: usize = 12_000;

/// What is reduced.
#[derive(Clone, Copy)]
pub(super) struct Reduction<'r, 's> {
    pub(super) source: &'r Source<'s>,
    /// The node that reduces.
    pub(super) reduce: NodeId,
    function: ReduceFn,
    /// The first variable, whose value argmin and argmax give.
    var: u32,
    pub(super) inner: NodeId,
}

/// How many steps a reduction over these variables takes.
fn steps(source: &Source<'_>, vars: &[u32]) -> i64 {
    let binders = vars.iter().map(|var| &source.body.binders[*var as usize]);
    binders.map(|binder| (binder.hi - binder.lo).max(0)).fold(1, i64::saturating_mul)
}

impl Lowerer<'_> {
    pub(super) fn reduce(&mut self, source: &Source<'_>, reduce: NodeId, bound: &Bound) -> ValueId {
        let body::Op::Reduce { function, vars, body: inner } = &source.body.node(reduce).op else {
            unreachable!("only reductions are reduced");
        };
        let (function, inner) = (*function, *inner);
        let element = source.body.ty(inner).strong().expect("bodies are resolved");
        let first = source.body.binders[vars[0] as usize].lo;
        let start = match step(function) {
            Step::Combine(_) => vec![identity(function, element)],
            Step::Keep(_) => vec![Scalar::i64(first), identity(function, element)],
        };
        let state: Vec<ValueId> = start.into_iter().map(|value| self.builder.number(value)).collect();
        let steps = steps(source, vars);
        if steps == 0 {
            return state[0];
        }
        let reduction = Reduction { source, reduce, function, var: vars[0], inner };
        let walked = self.walked_by(&reduction).is_some();
        if !walked
            && steps <= MAX_UNROLLED_STEPS
            && self.weight(source, vars, inner, bound) <= MAX_UNROLLED_OPERATIONS
            && self.builder.count() < MOST_VALUES
        {
            return self.unrolled(&reduction, vars, bound, state)[0];
        }
        let depth = self.depth_of(source, inner, vars, bound).max(self.arms);
        let inner_scopes = self.scopes.split_off(depth + 1);
        let inner_blocks = self.builder.set_aside(depth);
        let result = self.looped(&reduction, vars, bound, state)[0];
        self.builder.put_back(inner_blocks);
        self.scopes.extend(inner_scopes);
        result
    }

    /// How many operations a reduction becomes when it is unrolled, roughly. What does not depend on its variables is there
    /// anyway; what depends on nothing else is computed before all loops.
    fn weight(&self, source: &Source<'_>, vars: &[u32], inner: NodeId, bound: &Bound) -> i64 {
        let number = |var: &u32| {
            let outer = bound.get(var).filter(|_| !vars.contains(var));
            outer.is_none_or(|value| self.builder.constant(*value).is_some())
        };
        let steps = |var: &u32| match bound.contains_key(var) && !vars.contains(var) {
            true => 1,
            false => steps(source, &[*var]).clamp(1, MAX_UNROLLED_STEPS),
        };
        let (mut stack, mut seen) = (vec![inner], BTreeSet::from([inner]));
        let mut operations = 0i64;
        while let Some(id) = stack.pop() {
            let (node, depends) = (source.body.node(id), &source.depends[id.index()]);
            let constant = !source.varies[id.index()] && depends.iter().all(number);
            if constant || !vars.iter().any(|var| depends.contains(var)) {
                continue;
            }
            let cost = match &node.op {
                body::Op::Math(function, _) => {
                    let element = node.ty.strong().expect("bodies are resolved");
                    self.graph.math[&(*function, element)].0.len() as i64
                }
                _ => 1,
            };
            operations = operations.saturating_add(depends.iter().map(steps).fold(cost, i64::saturating_mul));
            stack.extend(node.op.args().into_iter().filter(|arg| seen.insert(*arg)));
        }
        operations
    }

    /// The deepest block of the box whose variable a node depends on, other than the variables of its own reduction:
    /// one that encloses it may have the same.
    fn depth_of(&self, source: &Source<'_>, id: NodeId, own: &[u32], bound: &Bound) -> usize {
        let mut stack = vec![id];
        let mut seen = BTreeSet::from([id]);
        let others = source.depends[id.index()].iter().filter(|var| !own.contains(var));
        let mut depth = others.map(|var| self.builder.home(bound[var])).max().unwrap_or(0);
        while let Some(id) = stack.pop() {
            let op = &source.body.node(id).op;
            match op {
                body::Op::Coord(Coord::Global(dim) | Coord::Local(dim)) => {
                    depth = depth.max(self.depths[*dim as usize])
                }
                body::Op::Arg(number) => depth = depth.max(self.builder.home(source.args[*number as usize])),
                _ => {}
            }
            stack.extend(op.args().into_iter().filter(|arg| seen.insert(*arg)));
        }
        depth
    }

    fn unrolled(
        &mut self,
        reduction: &Reduction<'_, '_>,
        vars: &[u32],
        bound: &Bound,
        mut state: Vec<ValueId>,
    ) -> Vec<ValueId> {
        let Some((var, rest)) = vars.split_first() else { return self.step(reduction, bound, state) };
        let binder = &reduction.source.body.binders[*var as usize];
        for value in binder.lo..binder.hi {
            let mut bound = bound.clone();
            bound.insert(*var, self.builder.int(value));
            state = self.unrolled(reduction, rest, &bound, state);
        }
        state
    }

    fn looped(
        &mut self,
        reduction: &Reduction<'_, '_>,
        vars: &[u32],
        bound: &Bound,
        state: Vec<ValueId>,
    ) -> Vec<ValueId> {
        let Some((var, rest)) = vars.split_first() else { return self.step(reduction, bound, state) };
        if let Some(walk) = self.walked_by(reduction).filter(|_| rest.is_empty()) {
            return self.walk_along(reduction, walk, bound, state);
        }
        let binder = &reduction.source.body.binders[*var as usize];
        let (lo, hi) = (self.builder.int(binder.lo), self.builder.int(binder.hi));
        let (open, carried) = self.builder.open_loop(LoopKind::Serial, lo, hi, &state);
        self.scopes.push(HashMap::new());
        let mut bound = bound.clone();
        bound.insert(*var, open.var);
        let next = self.looped(reduction, rest, &bound, carried);
        self.scopes.pop();
        self.builder.close_loop(open, &next)
    }

    /// One step: the state after the next value.
    pub(super) fn step(
        &mut self,
        reduction: &Reduction<'_, '_>,
        bound: &Bound,
        state: Vec<ValueId>,
    ) -> Vec<ValueId> {
        let Reduction { source, function, inner, var, .. } = *reduction;
        if let Some((a, b)) = factors(source.body, function, inner) {
            let (a, b) = (self.node(source, a, bound), self.node(source, b, bound));
            return vec![self.builder.fma(a, b, state[0])];
        }
        let next = self.node(source, inner, bound);
        match step(function) {
            Step::Combine(combine) => vec![self.builder.binary(combine, state[0], next)],
            Step::Keep(beats) => {
                let better = self.builder.binary(beats, next, state[1]);
                vec![
                    self.builder.select(better, bound[&var], state[0]),
                    self.builder.select(better, next, state[1]),
                ]
            }
        }
    }
}
