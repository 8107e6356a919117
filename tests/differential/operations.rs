//! Which operation ran in which type, counted in the compiled bodies: a table of operations by types.

use itp::graph::Graph;
use itp::graph::body::{Body, NodeId, Op};
use itp::graph::types::Element;
use std::collections::BTreeMap;
use std::fmt::Write;

/// How often each operation runs in each type.
#[derive(Clone, Default)]
pub(crate) struct Operations(BTreeMap<(String, Element), u64>);

/// What values are computed in.
const TYPES: [Element; 11] = [
    Element::Bool,
    Element::U8,
    Element::U16,
    Element::U32,
    Element::U64,
    Element::I8,
    Element::I16,
    Element::I32,
    Element::I64,
    Element::F32,
    Element::F64,
];

const OF_NUMBERS: [&str; 22] = [
    "add",
    "sub",
    "mul",
    "floordiv",
    "rem",
    "min",
    "max",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "neg",
    "abs",
    "sign",
    "select",
    "reduce sum",
    "reduce product",
    "reduce min",
    "reduce max",
    "read",
];
const OF_INTEGERS: [&str; 7] = ["pow", "shl", "shr", "and", "or", "xor", "popcount"];
const OF_FLOATS: [&str; 22] = [
    "div", "fma", "floor", "ceil", "round", "trunc", "sqrt", "bits", "rsqrt", "exp", "exp2", "log", "log2",
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
];
const OF_BOOLS: [&str; 9] = ["and", "or", "xor", "eq", "ne", "not", "select", "reduce any", "reduce all"];

impl Operations {
    /// What the bodies of a program do.
    pub(crate) fn of(graph: &Graph) -> Self {
        let mut found = Operations::default();
        let sets = graph.sets.iter().map(|set| &set.body);
        for resolved in graph.tensors.iter().flat_map(|tensor| tensor.bodies()).chain(sets) {
            for (id, _) in resolved.body.nodes() {
                if let Some(key) = operation(&resolved.body, id) {
                    *found.0.entry(key).or_default() += 1;
                }
            }
        }
        found
    }

    pub(crate) fn add(&mut self, other: &Operations) {
        for (key, count) in &other.0 {
            *self.0.entry(key.clone()).or_default() += count;
        }
    }

    fn count(&self, name: &str, element: Element) -> u64 {
        self.0.get(&(name.to_owned(), element)).copied().unwrap_or_default()
    }

    /// Operations that are listed for a type and never ran in it.
    pub(crate) fn missing(&self) -> Vec<String> {
        let cells = listed().into_iter().filter(|(name, element)| self.count(name, *element) == 0);
        cells.map(|(name, element)| format!("{name} {element}")).collect()
    }

    pub(crate) fn table(&self) -> String {
        let mut names: Vec<String> = Vec::new();
        for (name, _) in listed() {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut table = format!("{:<16}", "");
        TYPES.iter().for_each(|element| write!(table, "{:>7}", element.name()).expect("a string takes all"));
        for name in names {
            write!(table, "\n{name:<16}").expect("a string takes all");
            for element in TYPES {
                write!(table, "{:>7}", self.count(&name, element)).expect("a string takes all");
            }
        }
        table + "\n"
    }
}

/// The operation of a node and the type it works on.
fn operation(body: &Body, id: NodeId) -> Option<(String, Element)> {
    let node = body.node(id);
    let of = |id: NodeId| body.ty(id).strong();
    Some(match &node.op {
        Op::Unary(function, a) => (function.name().to_owned(), of(*a)?),
        Op::Binary(function, a, _) => (function.name().to_owned(), of(*a)?),
        Op::Fma(..) => ("fma".to_owned(), of(id)?),
        Op::Select(..) => ("select".to_owned(), of(id)?),
        Op::Cast(a) => (format!("cast from {}", of(*a)?), of(id)?),
        Op::Math(function, _) => (function.name().to_owned(), of(id)?),
        Op::Read { .. } => ("read".to_owned(), of(id)?),
        Op::Reduce { function, body, .. } => (format!("reduce {}", function.name()), of(*body)?),
        Op::Const(_) | Op::Coord(_) | Op::Arg(_) | Op::Hash(_) | Op::Table(..) => return None,
    })
}

/// Each name with each type that fits.
fn group(names: &[&str], fits: fn(Element) -> bool) -> Vec<(String, Element)> {
    let types: Vec<Element> = TYPES.into_iter().filter(|element| fits(*element)).collect();
    names.iter().flat_map(|name| types.iter().map(|element| ((*name).to_owned(), *element))).collect()
}

/// Every operation with the types it has to run in; a cast to its own type is none.
fn listed() -> Vec<(String, Element)> {
    let mut all = group(&OF_NUMBERS, |element| element != Element::Bool);
    all.extend(group(&OF_INTEGERS, Element::is_int));
    all.extend(group(&OF_FLOATS, Element::is_float));
    all.extend(group(&OF_BOOLS, |element| element == Element::Bool));
    for from in TYPES {
        let to = TYPES.into_iter().filter(|to| *to != from);
        all.extend(to.map(|to| (format!("cast from {from}"), to)));
    }
    all
}
