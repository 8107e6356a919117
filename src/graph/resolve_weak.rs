//! Decides every weak number of a body.
//!
//! ```text
//! v2: float = div v0 v1         v5: i64 = …   v6: f32 = cast v5   v7: f32 = 256   v8: f32 = div v6 v7
//! v4: f32 = mul v3 v2           v9: f32 = mul v3 v8
//! ```
//!
//! A weak float runs in each float type that is asked of it; a weak integer runs in i64 and is converted as a whole.

use super::body::{Body, NodeId, Obligation, Op, ReduceFn, Table, TableId};
use super::elaborate::unify;
use super::scalar::{Scalar, UnaryFn};
use super::types::{Element, Ty};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// A body without weak types, and its value.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// Strong types only.
    pub body: Body,
    /// Its value.
    pub root: NodeId,
}

/// What is asked of a node: its type, and the float type of lone weak floats below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Demand {
    element: Element,
    float: Element,
}

/// The part of `body` that `root` needs, computed as `target`; `float` is what lone weak floats become.
pub fn resolve_weak(body: &Body, root: NodeId, target: Element, float: Element) -> Resolved {
    let demands = all_demands(body, root, Demand { element: target.computed(), float });
    let mut out = Emitter { old: body, new: Body::default(), done: HashMap::new(), tables: HashMap::new() };
    out.new.binders = body.binders.clone();
    for (id, wanted) in demands.iter().enumerate() {
        wanted.iter().for_each(|demand| out.emit(NodeId(id as u32), *demand));
    }
    let root = out.get(root, Demand { element: target.computed(), float });
    out.carry_obligations(&demands);
    Resolved { body: out.new, root }
}

/// What is asked of every node, in all ways: by what `root` needs, and by the proofs about its reads.
fn all_demands(body: &Body, root: NodeId, start: Demand) -> Vec<BTreeSet<Demand>> {
    let mut demands = vec![BTreeSet::new(); body.len()];
    demands[root.index()].insert(asked(body, root, start));
    loop {
        // Parents come after their children, so one walk from the end sees every demand before it is passed on.
        for id in (0..body.len()).rev() {
            for demand in demands[id].clone() {
                for (arg, demand) in arg_demands(body, NodeId(id as u32), demand) {
                    demands[arg.index()].insert(asked(body, arg, demand));
                }
            }
        }
        // A read may do without a coordinate that must be proven, as `h[0]` does, or have been met before it.
        let before: usize = demands.iter().map(BTreeSet::len).sum();
        for known in body.obligations() {
            for demand in demands[known.read.index()].clone() {
                let coord = asked(body, known.coord, Demand { element: Element::I64, ..demand });
                demands[known.coord.index()].insert(coord);
            }
        }
        if demands.iter().map(BTreeSet::len).sum::<usize>() == before {
            return demands;
        }
    }
}

/// What a node is computed as when `demand` is asked of it. A weak float passes its type on to all below it, so
/// that `floor(y)` under a cast to an integer agrees with `y - floor(y)` beside it.
fn asked(body: &Body, node: NodeId, demand: Demand) -> Demand {
    match body.ty(node) {
        Ty::Strong(own) => Demand { element: own, ..demand },
        Ty::WeakInt => Demand { element: Element::I64, ..demand },
        Ty::WeakFloat => Demand { element: demand.element, float: demand.element },
    }
}

/// What a node asks of each argument.
fn arg_demands(body: &Body, id: NodeId, demand: Demand) -> Vec<(NodeId, Demand)> {
    let as_type = |arg: NodeId, element: Element| (arg, Demand { element, ..demand });
    let same = |arg: NodeId| as_type(arg, demand.element);
    let own = |arg: NodeId| as_type(arg, operand_type(body.ty(arg), demand.float));
    match &body.node(id).op {
        Op::Const(_) | Op::Coord(_) | Op::Arg(_) => Vec::new(),
        Op::Unary(UnaryFn::Bits | UnaryFn::FloatBits, arg) => vec![own(*arg)],
        Op::Unary(_, arg) => vec![same(*arg)],
        Op::Binary(function, a, b) if function.is_comparison() => {
            let common =
                unify(body.ty(*a), body.ty(*b)).map_or(Element::Bool, |ty| operand_type(ty, demand.float));
            vec![as_type(*a, common), as_type(*b, common)]
        }
        Op::Binary(_, a, b) => vec![same(*a), same(*b)],
        Op::Fma(a, b, c) => vec![same(*a), same(*b), same(*c)],
        Op::Select(condition, a, b) => vec![as_type(*condition, Element::Bool), same(*a), same(*b)],
        Op::Cast(arg) => vec![as_type(*arg, cast_operand(body.ty(*arg), demand.element, demand.float))],
        Op::Math(_, args) => args.iter().map(|arg| same(*arg)).collect(),
        Op::Hash(args) | Op::Table(_, args) | Op::Read { coords: args, .. } => {
            args.iter().map(|arg| as_type(*arg, Element::I64)).collect()
        }
        Op::Reduce { body: arg, function: ReduceFn::ArgMin | ReduceFn::ArgMax, .. } => vec![own(*arg)],
        Op::Reduce { body: arg, .. } => vec![same(*arg)],
    }
}

/// What a value of type `ty` is computed in when nothing else says so.
fn operand_type(ty: Ty, float: Element) -> Element {
    match ty {
        Ty::Strong(element) => element,
        Ty::WeakInt => Element::I64,
        Ty::WeakFloat => float,
    }
}

/// A cast resolves a weak float in its own type where that is a float.
fn cast_operand(ty: Ty, to: Element, float: Element) -> Element {
    if ty == Ty::WeakFloat && to.is_float() { to } else { operand_type(ty, float) }
}

struct Emitter<'b> {
    old: &'b Body,
    new: Body,
    done: HashMap<(NodeId, Demand), NodeId>,
    /// Tables that have been rounded: a body may read one at thousands of places.
    tables: HashMap<(TableId, Element), TableId>,
}

fn rounded(table: &Arc<Table>, element: Element) -> Arc<Table> {
    if table.ty == Ty::Strong(element) {
        return table.clone();
    }
    let values: Vec<Scalar> = table.values.iter().map(|value| value.cast(element)).collect();
    let (name, shape) = (table.name.clone(), table.shape.clone());
    Arc::new(Table { values, ty: Ty::Strong(element), name, shape })
}

impl Emitter<'_> {
    /// The new node for `id` as asked; weak integers are converted as a whole.
    fn get(&mut self, id: NodeId, demand: Demand) -> NodeId {
        let node = self.done[&(id, asked(self.old, id, demand))];
        if self.old.ty(id) != Ty::WeakInt || demand.element == Element::I64 {
            return node;
        }
        let span = self.old.node(id).span;
        match self.new.constant(node) {
            Some(value) => self.new.strong(value.cast(demand.element), span),
            None => self.new.cast(node, Ty::Strong(demand.element), span),
        }
    }

    fn emit(&mut self, id: NodeId, demand: Demand) {
        let node = self.old.node(id).clone();
        let (ty, span) = (Ty::Strong(demand.element), node.span);
        let args = arg_demands(self.old, id, demand);
        let args: Vec<NodeId> = args.into_iter().map(|(arg, demand)| self.get(arg, demand)).collect();
        let new = match node.op {
            Op::Const(value) => self.new.strong(value.cast(demand.element), span),
            op @ (Op::Coord(_) | Op::Arg(_)) => self.new.push(op, ty, span),
            Op::Unary(function, _) => self.new.unary(function, args[0], ty, span),
            Op::Binary(function, ..) => self.new.binary(function, args[0], args[1], ty, span),
            Op::Fma(..) => self.new.push(Op::Fma(args[0], args[1], args[2]), ty, span),
            Op::Select(..) => self.new.select(args[0], args[1], args[2], ty, span),
            Op::Cast(_) if self.new.ty(args[0]) == ty => args[0],
            Op::Cast(_) => self.new.cast(args[0], ty, span),
            Op::Math(function, _) => self.new.push(Op::Math(function, args), ty, span),
            Op::Hash(_) => self.new.push(Op::Hash(args), ty, span),
            Op::Read { tensor, arm, .. } => self.new.push(Op::Read { tensor, coords: args, arm }, ty, span),
            Op::Table(table, _) => {
                let table = self.table(table, demand.element);
                self.new.push(Op::Table(table, args), ty, span)
            }
            Op::Reduce { function, vars, .. } => {
                self.new.push(Op::Reduce { function, vars, body: args[0] }, ty, span)
            }
        };
        self.done.insert((id, demand), new);
    }

    /// The table with its entries rounded to `element`.
    fn table(&mut self, id: TableId, element: Element) -> TableId {
        if let Some(known) = self.tables.get(&(id, element)) {
            return *known;
        }
        let table = self.new.table(rounded(&self.old.tables[id.index()], element));
        self.tables.insert((id, element), table);
        table
    }

    /// Obligations of reads that are still there, for each way they are computed.
    fn carry_obligations(&mut self, demands: &[BTreeSet<Demand>]) {
        for known in self.old.obligations() {
            for demand in &demands[known.read.index()] {
                let read = self.done[&(known.read, *demand)];
                let coord = self.get(known.coord, Demand { element: Element::I64, ..*demand });
                self.new.oblige(Obligation { read, coord, ..known.clone() });
            }
        }
    }
}
