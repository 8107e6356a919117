//! Reductions that go along stored elements, instead of along every element.
//!
//! ```text
//! sum(k in K) a[y, k] * v[k]           along a
//! sum(k in K) a[k, x]                  along a, listed by column
//! sum(k in K) a[y, k] * b[y, k]        where both a and b are stored
//! sum(k in K) a[y, k] + b[y, k]        where either is
//! sum(k in K) a[y, k] * s[k]           along a; s is looked up at every k
//! sum(k in 0..300) a[x + k] * w[k]     along what is stored of a from x to x + 300
//! ```
//!
//! Every read of a source in a format whose coordinate along one dimension is the innermost variable, moved by what does
//! not depend on it, is a cursor that can be walked: along the list of what is stored of the source by that dimension.
//! If one of them makes the reduction nothing where it is not stored, all that do are gone along together, and what they
//! all store is visited; otherwise what one of several stores, as few as the fills allow. Others are looked up.

use super::Sight;
use super::needs::Needs;
use crate::access::Access;
use crate::access::linear::{Atom, Linear};
use crate::graph::body::{Coord, NodeId, Op, ReduceFn, TensorId};
use crate::graph::scalar::Scalar;
use crate::graph::{Graph, Level};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The reductions of a body that go along stored elements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Walks {
    /// One per reduction.
    pub walks: Vec<Walk>,
    /// What they go along and look things up in.
    pub lists: Vec<List>,
    /// Sources in formats all of whose elements are looked at, and why.
    pub dense: Vec<(TensorId, String)>,
}

/// What is stored of a source, in rows along one of its dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct List {
    /// Whose elements.
    pub tensor: TensorId,
    /// The dimension along which they follow each other.
    pub dim: usize,
    /// Runs of one value are listed, rather than elements.
    pub runs: bool,
}

/// A reduction whose innermost variable goes along stored elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Walk {
    /// Which.
    pub reduce: NodeId,
    /// Its innermost variable.
    pub var: u32,
    /// What it goes along together.
    pub cursors: Vec<Cursor>,
    /// What of that is visited.
    pub visits: Visits,
    /// Reads that are looked up in lists where they are needed.
    pub looked_up: Vec<Cursor>,
    /// What must be true of the data.
    pub needs: Vec<Needs>,
}

/// Which stored elements of several lists are visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visits {
    /// Those that are in all of them.
    All,
    /// Those that are in one of them.
    Any,
}

/// A read of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Cursor {
    /// The node that reads.
    pub read: NodeId,
    /// Entry of [`Walks::lists`].
    pub list: usize,
    /// What is added to the variable to make the coordinate along the list; nothing of what is looked up.
    pub offset: Linear,
    /// The variable reaches everything that the list holds, and stays the same from row to row.
    pub whole: bool,
}

impl Walks {
    /// The reduction with that node.
    pub fn along(&self, reduce: NodeId) -> Option<&Walk> {
        self.walks.iter().find(|walk| walk.reduce == reduce)
    }

    /// The list that a read is looked up in.
    pub fn looked_up(&self, read: NodeId) -> Option<usize> {
        let cursors = self.walks.iter().flat_map(|walk| &walk.looked_up);
        cursors.into_iter().find(|cursor| cursor.read == read).map(|cursor| cursor.list)
    }

    /// Whether all elements of a source are looked at.
    pub fn is_dense(&self, tensor: TensorId) -> bool {
        self.dense.iter().any(|(dense, _)| *dense == tensor)
    }
}

impl Walk {
    pub(super) fn print(&self, graph: &Graph, lists: &[List]) -> String {
        let called = |cursor: &Cursor| {
            let list = lists[cursor.list];
            let (tensor, what) = (graph.tensor(list.tensor), if list.runs { "runs" } else { "entries" });
            let across = list.dim + 1 < tensor.domain.rank();
            (tensor.name.to_string(), format!("{what}{}", if across { " by column" } else { "" }))
        };
        let named = |cursors: &[Cursor], with: &str| {
            let names: Vec<String> = cursors.iter().map(|cursor| called(cursor).0).collect();
            names.join(with)
        };
        let kinds: BTreeSet<String> = self.cursors.iter().map(|cursor| called(cursor).1).collect();
        let kinds = kinds.into_iter().collect::<Vec<_>>().join(" and ");
        let along = named(&self.cursors, if self.visits == Visits::All { " and " } else { " or " });
        let looked = if self.looked_up.is_empty() {
            String::new()
        } else {
            format!(", and looks up {}", named(&self.looked_up, " and "))
        };
        format!("walks the stored {kinds} of {along}{looked}")
    }
}

/// Windows of so many steps move along their row in lanes, and those around stored elements are computed as a cover.
const WINDOW: i64 = 128;

/// The reads that are gone along, what of them is visited, and what that takes.
type Taken = (BTreeSet<NodeId>, Visits, Vec<Needs>);

/// A reduction that may walk.
struct Reduction<'s> {
    reduce: NodeId,
    function: ReduceFn,
    inner: NodeId,
    var: u32,
    /// Whether it is worth looking for the part of a row that a window covers.
    long: bool,
    /// Its reads of sources in formats, but for those in reductions inside.
    reads: Vec<&'s Access>,
}

impl<'s> Sight<'s> {
    /// Every reduction that can go along stored elements, and why other reads cannot.
    pub(super) fn walks(&self) -> Walks {
        let mut walks = Walks::default();
        let mut reasons: BTreeMap<NodeId, String> = BTreeMap::new();
        let mut reached: BTreeMap<NodeId, usize> = BTreeMap::new();
        for reduction in self.reductions() {
            reasons.extend(reduction.reads.iter().map(|read| (read.read, apart(read, reduction.var))));
            match self.walk(&reduction, &mut walks.lists) {
                Ok(walk) => {
                    let cursors = walk.cursors.iter().chain(&walk.looked_up);
                    cursors.for_each(|cursor| *reached.entry(cursor.read).or_default() += 1);
                    walks.walks.push(walk);
                }
                Err(Some(why)) => reasons.extend(reduction.reads.iter().map(|read| (read.read, why.clone()))),
                Err(None) => {}
            }
        }
        // A read that other nodes use than the reductions that walk is one of every element.
        for read in self.access.reads.iter().filter(|read| self.formats.contains_key(&read.tensor)) {
            if reached.get(&read.read).copied().unwrap_or(0) < self.users(read.read) {
                let why = reasons.get(&read.read).cloned().unwrap_or_else(|| OUTSIDE.to_owned());
                walks.dense.push((read.tensor, why));
            }
        }
        walks.dense.sort();
        walks.dense.dedup_by_key(|(tensor, _)| *tensor);
        walks
    }

    /// How many reductions use a node, or the root outside of them.
    fn users(&self, read: NodeId) -> usize {
        let own = |op: &Op| !matches!(op, Op::Reduce { .. });
        let reduced = self.body().nodes().filter_map(|(_, node)| match &node.op {
            Op::Reduce { body, .. } => Some(*body),
            _ => None,
        });
        let roots = reduced.chain([self.resolved.root]);
        roots.filter(|root| self.below(*root, own).contains(&read)).count()
    }

    fn reductions(&self) -> Vec<Reduction<'s>> {
        let mut found = Vec::new();
        for (reduce, node) in self.body().nodes() {
            let Op::Reduce { function, vars, body: inner } = &node.op else { continue };
            let below = self.below(*inner, |op| !matches!(op, Op::Reduce { .. }));
            let formatted = |read: &&Access| self.formats.contains_key(&read.tensor);
            let reads = self.access.reads.iter().filter(|read| below.contains(&read.read));
            let reads: Vec<&'s Access> = reads.filter(formatted).collect();
            let Some(var) = vars.last().copied().filter(|_| !reads.is_empty()) else { continue };
            let long = self.steps(vars) > WINDOW;
            found.push(Reduction { reduce, function: *function, inner: *inner, var, long, reads });
        }
        found
    }

    /// How it goes along stored elements, or why not, if that is not because of how it reads.
    fn walk(&self, reduction: &Reduction<'s>, lists: &mut Vec<List>) -> Result<Walk, Option<String>> {
        let along = reduction.reads.iter().filter_map(|read| Some((*read, along(read, reduction.var)?)));
        let along = along.filter(|(_, (_, offset))| reduction.long || offset.terms.is_empty());
        let mut along: Vec<(&'s Access, (usize, Linear))> = along.collect();
        // A matrix is rather gone along than a vector, whose elements are there for all its rows.
        along.sort_by_key(|(read, (dim, _))| Reverse(moving(read, *dim).len()));
        let reads: Vec<&'s Access> = along.iter().map(|(read, _)| *read).collect();
        let (taken, visits, needs) = self.visited(reduction, &along).map_or_else(
            || self.fewest(reduction, reads),
            |(taken, needs)| Ok((taken, Visits::All, needs)),
        )?;
        let (mut cursors, mut looked_up) = (Vec::new(), Vec::new());
        for (read, (dim, offset)) in along {
            let cursor = self.cursor(read, dim, offset, reduction.var, lists);
            if taken.contains(&read.read) { cursors.push(cursor) } else { looked_up.push(cursor) }
        }
        Ok(Walk { reduce: reduction.reduce, var: reduction.var, cursors, visits, looked_up, needs })
    }

    /// How many steps a reduction takes.
    fn steps(&self, vars: &[u32]) -> i64 {
        let binders = vars.iter().map(|var| &self.body().binders[*var as usize]);
        binders.map(|binder| binder.hi.saturating_sub(binder.lo).max(0)).fold(1, i64::saturating_mul)
    }

    /// The reads each of which makes the reduction nothing where it gives its fill, if there are any; of rows that move
    /// otherwise than those of the first there may be many more elements, so they are left to be looked up.
    fn visited(
        &self,
        reduction: &Reduction<'s>,
        along: &[(&'s Access, (usize, Linear))],
    ) -> Option<(BTreeSet<NodeId>, Vec<Needs>)> {
        let each = along.iter().filter_map(|(read, (dim, _))| {
            Some((read.read, moving(read, *dim), self.needs_of(reduction, &[read]).ok()?))
        });
        let each: Vec<_> = each.collect();
        let rows = &each.first()?.1;
        Some(each.iter().filter(|(_, own, _)| own == rows).map(|(id, _, needs)| (*id, needs.clone())).unzip())
    }

    /// As few of the reads as make the reduction nothing when they all give their fills.
    fn fewest(&self, reduction: &Reduction<'s>, mut kept: Vec<&'s Access>) -> Result<Taken, Option<String>> {
        if kept.is_empty() {
            return Err(None);
        }
        let mut needs = self.needs_of(reduction, &kept)?;
        for at in (0..kept.len()).rev() {
            let mut fewer = kept.clone();
            fewer.remove(at);
            if let Ok(found) = self.needs_of(reduction, &fewer) {
                (kept, needs) = (fewer, found);
            }
        }
        Ok((kept.iter().map(|read| read.read).collect(), Visits::Any, vec![needs]))
    }

    fn needs_of(&self, reduction: &Reduction<'s>, reads: &[&Access]) -> Result<Needs, String> {
        let fills: Vec<(NodeId, Scalar)> =
            reads.iter().map(|read| (read.read, self.formats[&read.tensor].fill)).collect();
        let needs = self.needs((reduction.function, reduction.inner), &fills)?;
        let once =
            |tensor: &TensorId| reduction.reads.iter().filter(|read| read.tensor == *tensor).count() == 1;
        let stored = (reads.len() == 1).then(|| reads[0].tensor).filter(once);
        Ok(Needs { stored, ..needs })
    }

    fn cursor(&self, read: &Access, dim: usize, offset: Linear, var: u32, lists: &mut Vec<List>) -> Cursor {
        let last = dim + 1 == read.map.len();
        let runs = last && self.formats[&read.tensor].levels.last() == Some(&Level::RunList);
        let list = List { tensor: read.tensor, dim, runs };
        let at = lists.iter().position(|known| *known == list).unwrap_or(lists.len());
        if at == lists.len() {
            lists.push(list);
        }
        let binder = &self.body().binders[var as usize];
        let domain = self.graph.tensor(read.tensor).domain.dims()[dim].interval;
        let moved = |end: i64| end.checked_add(offset.offset);
        let reaches = domain.is_bounded()
            && moved(binder.lo).is_some_and(|lo| lo <= domain.first())
            && moved(binder.hi).is_some_and(|hi| hi > domain.last());
        let whole = offset.terms.is_empty() && reaches;
        Cursor { read: read.read, list: at, offset, whole }
    }
}

/// Why a read that is in no reduction does not go along anything.
pub(super) const OUTSIDE: &str = "it is not read in a reduction";

/// Why a read does not go along stored elements with a variable.
fn apart(read: &Access, var: u32) -> String {
    let atom = Atom::Coord(Coord::Bound(var));
    let steps = |form: &Linear| form.terms.iter().find(|(own, _)| *own == atom).map(|(_, factor)| *factor);
    let found: Vec<i64> = read.map.iter().filter_map(steps).collect();
    let plain = |form: &Linear| form.terms.iter().all(|(own, _)| matches!(own, Atom::Coord(_)));
    match found[..] {
        _ if !read.map.iter().all(plain) => {
            "one of its coordinates is divided, or depends on data".to_owned()
        }
        [] => "no coordinate of it is the innermost variable".to_owned(),
        [1] => format!("its window moves, and has no more than {WINDOW} steps"),
        [step] => format!("it is read in steps of {step}"),
        _ => "more than one of its coordinates is the innermost variable".to_owned(),
    }
}

/// The dimension along which a read goes with a variable, one by one and alone, and what is added to it there.
fn along(read: &Access, var: u32) -> Option<(usize, Linear)> {
    let atom = Atom::Coord(Coord::Bound(var));
    let follows = |form: &Linear| form.terms.iter().any(|(own, _)| *own == atom);
    // A quotient or a value of its own may hide the variable.
    let plain = |form: &Linear| form.terms.iter().all(|(own, _)| matches!(own, Atom::Coord(_)));
    let dim = read.map.iter().position(follows)?;
    let alone = read.map.iter().filter(|form| follows(form)).count() == 1;
    let mut offset = read.map[dim].clone();
    let one = offset.terms.contains(&(atom, 1));
    offset.terms.retain(|(own, _)| *own != atom);
    (alone && one && read.map.iter().all(plain)).then_some((dim, offset))
}

/// The coordinates that the row of a read along a dimension moves with.
fn moving(read: &Access, dim: usize) -> BTreeSet<Atom> {
    let others = read.map.iter().enumerate().filter(|(at, _)| *at != dim);
    others.flat_map(|(_, form)| form.terms.iter().map(|(atom, _)| *atom)).collect()
}
