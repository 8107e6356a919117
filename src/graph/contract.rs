//! Fuses float products into the sums they are operands of, once, before any engine sees the body.
//!
//! ```text
//! a * b + c        fma a b c              a * b - c      fma a b (-c)
//! c + a * b        fma a b c              c - a * b      fma (-a) b c
//! a * b + c * d    fma a b (c * d)        the left product first
//! ```
//!
//! A `sum` of products accumulates with fma as well; engines see that from its body.

use super::body::{Body, NodeId, Obligation, Op};
use super::resolve_weak::Resolved;
use super::scalar::{BinaryFn, UnaryFn};
use super::types::Ty;
use crate::source::Span;

/// The same value with every such product contracted, and nodes dropped that neither it nor a proof uses.
pub fn contract(resolved: &Resolved) -> Resolved {
    let old = &resolved.body;
    let plan = contracted(old);
    let used = reachable(&plan, old, resolved.root);
    let mut new = Body::default();
    (new.binders, new.tables) = (old.binders.clone(), old.tables.clone());
    let mut renamed = vec![None; old.len()];
    for (id, _) in old.nodes().filter(|(id, _)| used[id.index()]) {
        let op = plan.ops[id.index()].clone();
        renamed[id.index()] = Some(rebuild(&mut new, op, old, id, &renamed));
    }
    for known in old.obligations() {
        if let (Some(read), Some(coord)) = (renamed[known.read.index()], renamed[known.coord.index()]) {
            new.oblige(Obligation { read, coord, ..known.clone() });
        }
    }
    Resolved { body: new, root: renamed[resolved.root.index()].expect("the root is reachable") }
}

/// What becomes of each node.
struct Plan {
    ops: Vec<Contracted>,
}

#[derive(Clone)]
enum Contracted {
    /// As it was.
    Same(Op),
    /// `±a * b ± c`
    Fused { a: NodeId, negate_a: bool, b: NodeId, c: NodeId, negate_c: bool },
}

fn contracted(body: &Body) -> Plan {
    Plan { ops: body.nodes().map(|(id, _)| contract_node(body, id)).collect() }
}

fn contract_node(body: &Body, id: NodeId) -> Contracted {
    let node = body.node(id);
    let product = |id: NodeId| match body.node(id).op {
        Op::Binary(BinaryFn::Mul, a, b) => Some((a, b)),
        _ => None,
    };
    match node.op {
        Op::Binary(function @ (BinaryFn::Add | BinaryFn::Sub), left, right) if node.ty.is_float() => {
            let minus = function == BinaryFn::Sub;
            match (product(left), product(right)) {
                (Some((a, b)), _) => Contracted::Fused { a, negate_a: false, b, c: right, negate_c: minus },
                (None, Some((a, b))) => Contracted::Fused { a, negate_a: minus, b, c: left, negate_c: false },
                (None, None) => Contracted::Same(node.op.clone()),
            }
        }
        _ => Contracted::Same(node.op.clone()),
    }
}

impl Contracted {
    fn args(&self) -> Vec<NodeId> {
        match self {
            Contracted::Same(op) => op.args(),
            Contracted::Fused { a, b, c, .. } => vec![*a, *b, *c],
        }
    }
}

/// Which nodes `root` needs, by walks from parents to children, and the coordinates that must be proven.
fn reachable(plan: &Plan, body: &Body, root: NodeId) -> Vec<bool> {
    let mut used = vec![false; plan.ops.len()];
    used[root.index()] = true;
    loop {
        for id in (0..plan.ops.len()).rev() {
            if used[id] {
                plan.ops[id].args().into_iter().for_each(|arg| used[arg.index()] = true);
            }
        }
        let unproven =
            body.obligations().iter().filter(|known| used[known.read.index()] && !used[known.coord.index()]);
        let unproven: Vec<NodeId> = unproven.map(|known| known.coord).collect();
        if unproven.is_empty() {
            return used;
        }
        unproven.into_iter().for_each(|coord| used[coord.index()] = true);
    }
}

fn rebuild(new: &mut Body, op: Contracted, old: &Body, id: NodeId, renamed: &[Option<NodeId>]) -> NodeId {
    let to = |id: NodeId| renamed[id.index()].expect("arguments come before their users");
    let (ty, span) = (old.ty(id), old.node(id).span);
    match op {
        Contracted::Same(op) => {
            let op = op.with_args(to);
            new.push(op, ty, span)
        }
        Contracted::Fused { a, negate_a, b, c, negate_c } => {
            let a = negated(new, to(a), negate_a, ty, span);
            let c = negated(new, to(c), negate_c, ty, span);
            new.push(Op::Fma(a, to(b), c), ty, span)
        }
    }
}

fn negated(new: &mut Body, node: NodeId, negate: bool, ty: Ty, span: Span) -> NodeId {
    match new.constant(node) {
        _ if !negate => node,
        Some(value) => new.strong(super::scalar::unary(UnaryFn::Neg, value), span),
        None => new.push(Op::Unary(UnaryFn::Neg, node), ty, span),
    }
}
