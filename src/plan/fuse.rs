//! A source that is cheap to compute -> part of its reader's body.
//!
//! ```text
//! rows[y, x] = a[y, x - 1] + a[y, x] + a[y, x + 1]        out[y, x] = rows[y - 1, x] + rows[y, x] + rows[y + 1, x]
//!
//! out[y, x] = (a[y - 1, x - 1] + a[y - 1, x] + …) + …      rows is kept nowhere
//! ```
//!
//! Rows are computed four at a time (`loops/passes/jam.rs`), so that what four rows of `out` need of `rows` is computed
//! once for all of them: 6 rows for 4. A source that is kept costs a store and loads instead; the cheaper way is taken.
//! Where another reader needs it kept, it costs loads only.

use super::inline::{body_of, inlined};
use super::stages::Stages;
use crate::access::TensorAccess;
use crate::access::linear::{Atom, Linear};
use crate::graph::body::{Body, Coord, NodeId, Op, TensorId};
use crate::graph::resolve_weak::Resolved;
use crate::graph::scalar::{BinaryFn, UnaryFn};
use crate::index::Interval;
use std::collections::{BTreeMap, BTreeSet};

/// Rows that are computed together.
const JAM: u64 = 4;
/// Operations of a body that is made, at the most.
const MOST_WORK: u64 = 120;
/// What it costs to keep an element: a store, what comes before it, and the way to the second-level cache and back, which
/// takes as long as a few operations (measured on the corners of benches/peers, w5).
const KEEP: u64 = 12;
/// Places at which a reader reads a source, at the most.
const MOST_PLACES: usize = 16;

/// What was computed in its reader rather than on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fused {
    /// The source.
    pub source: TensorId,
    /// Where it is read, relative to the reader's own coordinates, per dimension.
    pub reach: Vec<Interval>,
    /// How many elements of it are computed for four of the reader.
    pub times: u64,
    /// Operations for an element of it.
    pub work: u64,
}

/// Puts cheap sources into their readers, sources before readers.
pub fn fuse(stages: &mut Stages) {
    for id in stages.in_order() {
        while let Some(fused) = cheap_source(stages, id) {
            let (Some(reader), Some(inner)) = (body_of(stages, id), body_of(stages, fused.source)) else {
                break;
            };
            let element = stages.tensor(fused.source).element;
            let body = inlined(reader, fused.source, inner, element);
            stages.set_body(id, body);
            stages.fused.entry(id).or_default().push(fused);
        }
    }
}

fn cheap_source(stages: &Stages, id: TensorId) -> Option<Fused> {
    let reader = body_of(stages, id)?;
    let access = &stages.accesses[id.index()];
    let own = work(stages, reader, access)?;
    let sources: BTreeSet<TensorId> = access.reads.iter().map(|read| read.tensor).collect();
    sources.into_iter().find_map(|source| {
        // What has a format is kept in it.
        let apart = source == id || stages.tensor(source).format.is_some();
        let inner = body_of(stages, source).filter(|_| !apart)?;
        let inner_access = &stages.accesses[source.index()];
        let its = work(stages, inner, inner_access)?;
        let places = places(reader, access, source)?;
        let times = instances(&places);
        let loads = loads((reader, access), &places, (inner, inner_access))
            .unwrap_or(Loads { computed: times * its.reads, kept: JAM * its.reads });
        // Four elements each way: computed as often as they are read, or once, kept, and loaded. What is kept for others
        // is only loaded.
        let once = if is_kept(stages, source, id) { 0 } else { JAM * (its.operations + KEEP) + loads.kept };
        let (computed, kept) = (times * its.operations + loads.computed, once + times);
        let total = own.total() * JAM + computed;
        let reach = reach(&places);
        let fused = Fused { source, reach, times, work: its.total() };
        (computed <= kept && total <= MOST_WORK * JAM).then_some(fused)
    })
}

/// What four elements of a reader load for a source: if they compute it, and if it is kept.
struct Loads {
    computed: u64,
    kept: u64,
}

/// Loads of what a source reads, those that its reader makes anyway left out; `None` if places are not known.
fn loads(
    (reader, access): (&Resolved, &TensorAccess),
    at: &BTreeSet<Vec<i64>>,
    (inner, inner_access): (&Resolved, &TensorAccess),
) -> Option<Loads> {
    let mut loads = Loads { computed: 0, kept: 0 };
    let sources: BTreeSet<TensorId> = inner_access.reads.iter().map(|read| read.tensor).collect();
    for source in sources {
        let own = places(inner, inner_access, source)?;
        let known = if access.reads.iter().any(|read| read.tensor == source) {
            places(reader, access, source)?
        } else {
            BTreeSet::new()
        };
        let rank = own.first().map_or(0, Vec::len);
        if at.iter().chain(&known).any(|place| place.len() != rank) {
            return None;
        }
        let sum = |a: &Vec<i64>, b: &Vec<i64>| a.iter().zip(b).map(|(a, b)| a.wrapping_add(*b)).collect();
        let moved = at.iter().flat_map(|place| own.iter().map(move |own| sum(place, own)));
        let all: BTreeSet<Vec<i64>> = known.iter().cloned().chain(moved).collect();
        loads.computed += instances(&all).saturating_sub(instances(&known));
        loads.kept += instances(&own);
    }
    Some(loads)
}

/// Whether a source is kept for another reader, which cannot compute it itself.
fn is_kept(stages: &Stages, source: TensorId, reader: TensorId) -> bool {
    stages.accesses.iter().enumerate().any(|(at, access)| {
        let other = TensorId(at as u32);
        let reads = access.reads.iter().any(|read| read.tensor == source);
        let computes = || body_of(stages, other).and_then(|body| places(body, access, source)).is_some();
        reads && other != reader && other != source && !computes()
    })
}

/// Where a reader reads a source, relative to its own coordinates; `None` if not all of that is known, or too many.
fn places(reader: &Resolved, access: &TensorAccess, source: TensorId) -> Option<BTreeSet<Vec<i64>>> {
    let mut places = BTreeSet::new();
    for read in access.reads.iter().filter(|read| read.tensor == source) {
        if !read.conditions.is_empty() {
            return None;
        }
        let mut own: Vec<Vec<i64>> = vec![Vec::new()];
        for (dim, form) in read.map.iter().enumerate() {
            let offsets = offsets(&reader.body, form, dim as u32)?;
            own =
                own.iter().flat_map(|place| offsets.iter().map(|at| [&place[..], &[*at]].concat())).collect();
            if own.len() > MOST_PLACES {
                return None;
            }
        }
        places.extend(own);
    }
    (places.len() <= MOST_PLACES && !places.is_empty()).then_some(places)
}

/// What is added to the coordinate of a dimension: constants, and short reductions.
fn offsets(body: &Body, form: &Linear, dim: u32) -> Option<Vec<i64>> {
    let mut offsets = vec![form.offset];
    let mut is_own = false;
    for (atom, factor) in &form.terms {
        match atom {
            Atom::Coord(Coord::Global(own)) if *own == dim && *factor == 1 => is_own = true,
            Atom::Coord(Coord::Bound(var)) => {
                let binder = &body.binders[*var as usize];
                if binder.hi.saturating_sub(binder.lo) > MOST_PLACES as i64 {
                    return None;
                }
                let steps = || (binder.lo..binder.hi).map(|step| step.wrapping_mul(*factor));
                offsets = offsets.iter().flat_map(|at| steps().map(|step| at.wrapping_add(step))).collect();
            }
            Atom::Coord(_) | Atom::Node(_) | Atom::Floor(_) => return None,
        }
    }
    is_own.then_some(offsets)
}

/// The box around all places.
fn reach(places: &BTreeSet<Vec<i64>>) -> Vec<Interval> {
    let rank = places.first().map_or(0, Vec::len);
    let along = |dim: usize| {
        let all = places.iter().filter_map(|place| Interval::point(place[dim]).ok());
        all.reduce(Interval::hull).unwrap_or(Interval::all())
    };
    (0..rank).map(along).collect()
}

/// How many elements of a source four elements of a reader need that lie below each other.
fn instances(places: &BTreeSet<Vec<i64>>) -> u64 {
    let mut columns: BTreeMap<Vec<i64>, (i64, i64)> = BTreeMap::new();
    for place in places {
        let row_dim = place.len().checked_sub(2);
        let row = row_dim.map_or(0, |dim| place[dim]);
        let column: Vec<i64> =
            place.iter().enumerate().filter(|(dim, _)| Some(*dim) != row_dim).map(|(_, at)| *at).collect();
        let range = columns.entry(column).or_insert((row, row));
        *range = (range.0.min(row), range.1.max(row));
        if row_dim.is_none() {
            range.1 = range.0;
        }
    }
    columns
        .values()
        .map(|(first, last)| last.abs_diff(*first).saturating_add(JAM))
        .fold(0, u64::saturating_add)
}

/// What an element of a body takes, roughly.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    operations: u64,
    reads: u64,
}

impl Work {
    fn total(self) -> u64 {
        self.operations.saturating_add(self.reads)
    }
}

/// Operations that an element of a stage takes, roughly; at least 1.
pub(super) fn operations(stages: &Stages, id: TensorId) -> u128 {
    let work = body_of(stages, id).and_then(|body| work(stages, body, &stages.accesses[id.index()]));
    work.map_or(1, |work| work.total().max(1).into())
}

/// What an element of a body takes; `None` if it is no plain arithmetic.
fn work(stages: &Stages, resolved: &Resolved, access: &TensorAccess) -> Option<Work> {
    let body = &resolved.body;
    let mut times: BTreeMap<NodeId, u64> = BTreeMap::from([(resolved.root, 1)]);
    let mut total = Work::default();
    for (id, node) in body.nodes().rev() {
        let Some(own) = times.get(&id).copied() else { continue };
        let (cost, inner) = match &node.op {
            Op::Const(_) | Op::Coord(_) | Op::Arg(_) => (0, own),
            Op::Read { .. } => {
                total.reads = total.reads.saturating_add(own);
                (0, own)
            }
            Op::Unary(UnaryFn::Sqrt, _) => (8, own),
            Op::Binary(BinaryFn::Div, _, by) if matches!(body.node(*by).op, Op::Const(_)) => (6, own),
            Op::Binary(BinaryFn::Div | BinaryFn::FloorDiv | BinaryFn::Rem | BinaryFn::Pow, ..) => (12, own),
            Op::Unary(..) | Op::Binary(..) | Op::Fma(..) | Op::Select(..) | Op::Cast(_) => (1, own),
            Op::Math(function, _) => {
                let element = node.ty.strong()?;
                (stages.graph.math.get(&(*function, element))?.0.len() as u64, own)
            }
            Op::Hash(args) => (12 * args.len() as u64, own),
            Op::Table(..) => (4, own),
            Op::Reduce { vars, .. } => {
                let steps = vars.iter().map(|var| &body.binders[*var as usize]);
                let steps = steps
                    .map(|var| var.hi.saturating_sub(var.lo).max(0) as u64)
                    .fold(own, u64::saturating_mul);
                (steps - own.min(steps), steps)
            }
        };
        total.operations = total.operations.saturating_add(cost.saturating_mul(own));
        for arg in operands(&node.op, id, access) {
            let known = times.entry(arg).or_insert(0);
            *known = (*known).max(inner);
        }
    }
    Some(total)
}

/// The operands of a node that are computed in lanes: coordinates that move along with the row are not.
fn operands(op: &Op, id: NodeId, access: &TensorAccess) -> Vec<NodeId> {
    let Op::Read { .. } = op else { return op.args() };
    let read = access.reads.iter().find(|read| read.read == id);
    let plain = |form: &Linear| form.terms.iter().all(|(atom, _)| matches!(atom, Atom::Coord(_)));
    if read.is_some_and(|read| read.map.iter().all(plain)) { Vec::new() } else { op.args() }
}
