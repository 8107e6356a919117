//! Which elements of a source in a format a body need not look at.
//!
//! ```text
//! sum(k in 0..9) a[y, k] * b[k]          a holds 0 mostly: walk along the stored k, if every b[k] is finite
//! sum(k in 0..9) max(a[y, k], c[y, k])   both do: walk along what either stores
//! if m[y, x] then a[y, x] else 0         m holds false mostly: compute where m is stored, 0 is everywhere else
//! sum(k in 0..9) a[y, k] + 1             1 is added for every k: nothing can be left out
//! ```
//!
//! No value may depend on a format. What is left out must leave every bit of the result as it is, and [`known`] says
//! whether it does: `0 * b` is nothing only beside finite numbers, `min` forgets a NaN at the next element, and a fused
//! product that is too small to be seen can leave a -0.0 behind, which the next +0.0 would turn. What hangs on the data
//! becomes a condition ([`Needs`]) that the engine looks at before it skips.
//!
//! - [`walks`]: reductions that go along stored elements;
//! - [`needs`]: what must be true of the data so that they may;
//! - [`covers`]: maps that are constant beside stored elements.

mod covers;
mod known;
mod needs;
mod walks;

pub use covers::{Cover, around};
pub use needs::{Factor, Needs};
use walks::OUTSIDE;
pub use walks::{Cursor, List, Visits, Walk, Walks};

use super::TensorAccess;
use crate::graph::body::{Body, NodeId, Op, TensorId};
use crate::graph::resolve_weak::Resolved;
use crate::graph::{Format, Graph, Pointwise, Tensor, TensorKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// How a body reads its sources that have a format.
#[derive(Clone, Debug, PartialEq)]
pub enum Skip {
    /// Reductions go along stored elements.
    Walk(Walks),
    /// Only elements near stored ones are computed.
    Cover(Cover),
    /// Everything is looked at; why, for each of them.
    Dense(Vec<(TensorId, String)>),
}

impl Skip {
    /// Tensors whose elements decide whether reductions go along stored elements.
    pub fn asks(&self) -> BTreeSet<TensorId> {
        let walks = self.walks().into_iter().flat_map(|walks| &walks.walks);
        walks.flat_map(|walk| &walk.needs).flat_map(Needs::asks).collect()
    }

    /// The lists of stored elements that it goes by.
    pub fn lists(&self) -> Vec<List> {
        match self {
            Skip::Walk(walks) => walks.lists.clone(),
            Skip::Cover(cover) => cover.lists(),
            Skip::Dense(_) => Vec::new(),
        }
    }

    /// The reductions that go along stored elements.
    pub fn walks(&self) -> Option<&Walks> {
        match self {
            Skip::Walk(walks) => Some(walks),
            Skip::Cover(_) | Skip::Dense(_) => None,
        }
    }
}

/// How a tensor reads its sources in formats; `None` if it has none.
pub fn skip(graph: &Graph, tensor: &Tensor, access: &TensorAccess) -> Option<Skip> {
    let formats: BTreeMap<TensorId, &Format> = access
        .reads
        .iter()
        .filter_map(|read| Some((read.tensor, graph.tensor(read.tensor).format.as_ref()?)))
        .collect();
    if formats.is_empty() {
        return None;
    }
    let dense = |why: &str| Some(Skip::Dense(formats.keys().map(|id| (*id, why.to_owned())).collect()));
    match &tensor.kind {
        TensorKind::Pointwise(Pointwise { body, recurrence: None }) => {
            let sight = Sight { graph, resolved: body, access, formats };
            Some(sight.skip(tensor.domain.rank()))
        }
        TensorKind::Pointwise(_) => dense("a recurrence computes every element of a step"),
        TensorKind::Windowed(_) => dense("windows are computed whole"),
        TensorKind::Input(_) | TensorKind::Var(_) => None,
    }
}

/// A body, its reads, and the formats of what it reads.
struct Sight<'s> {
    graph: &'s Graph,
    resolved: &'s Resolved,
    access: &'s TensorAccess,
    formats: BTreeMap<TensorId, &'s Format>,
}

impl Sight<'_> {
    fn skip(&self, rank: usize) -> Skip {
        let walks = self.walks();
        if !walks.walks.is_empty() {
            return Skip::Walk(walks);
        }
        // What is read outside of reductions is left to a cover, which knows better why there is none.
        let told = |why: String, cover: &str| if why == OUTSIDE { cover.to_owned() } else { why };
        self.cover(rank).map_or_else(
            |cover| Skip::Dense(walks.dense.into_iter().map(|(id, why)| (id, told(why, cover))).collect()),
            Skip::Cover,
        )
    }

    fn body(&self) -> &Body {
        &self.resolved.body
    }

    fn reaches(&self, from: NodeId, to: NodeId) -> bool {
        self.below(from, |_| true).contains(&to)
    }

    /// A node and what it depends on, not looking into nodes that are not to be entered.
    fn below(&self, from: NodeId, enters: impl Fn(&Op) -> bool) -> BTreeSet<NodeId> {
        let (mut stack, mut seen) = (vec![from], BTreeSet::from([from]));
        while let Some(id) = stack.pop() {
            let op = &self.body().node(id).op;
            if enters(op) {
                stack.extend(op.args().into_iter().filter(|arg| seen.insert(*arg)));
            }
        }
        seen
    }
}

/// What each source in a format is read as, for the text form of kernels.
pub fn print(graph: &Graph, name: &str, skip: &Skip) -> String {
    let called = |tensor: &TensorId| graph.tensor(*tensor).name.clone();
    let mut out = String::new();
    let (mut dense, mut finite) = (&Vec::new(), BTreeSet::new());
    match skip {
        Skip::Walk(walks) => {
            for walk in &walks.walks {
                let _ = write!(out, "; {name} {}", walk.print(graph, &walks.lists));
                finite = walk.needs.iter().flat_map(|needs| &needs.finite).map(called).collect();
                out += &condition(&finite);
            }
            dense = &walks.dense;
        }
        Skip::Cover(cover) => {
            let sources: BTreeSet<_> = cover.reads.iter().map(|(tensor, _)| called(tensor)).collect();
            let near = sources.iter().map(|name| &**name).collect::<Vec<_>>().join(" or ");
            let _ =
                write!(out, "; {name} is computed where {near} is stored, {} elsewhere", cover.background);
            finite.extend(cover.finite.iter().map(called));
            out += &condition(&finite);
        }
        Skip::Dense(reasons) => dense = reasons,
    }
    for (tensor, why) in dense {
        let _ = writeln!(out, "; {name} looks at every element of {}: {why}", called(tensor));
    }
    out
}

/// That tensors hold numbers, and the end of the line.
fn condition<S: AsRef<str>>(finite: &BTreeSet<S>) -> String {
    if finite.is_empty() {
        return "\n".to_owned();
    }
    let names: Vec<&str> = finite.iter().map(AsRef::as_ref).collect();
    format!(", if nothing in {} is infinite or NaN\n", names.join(" and "))
}
