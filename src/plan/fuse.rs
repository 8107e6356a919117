//! A source that is cheap to compute -> part of its reader's body.
//!
//! ```text
//! rows[y, x] = a[y, x - 1] + a[y, x] + a[y, x + 1]        out[y, x] = rows[y - 1, x] + rows[y, x] + rows[y + 1, x]
//!
//! out[y, x] = (a[y - 1, x - 1] + a[y - 1, x] + …) + …      rows is kept nowhere
//! ```
//!
//! Rows are computed four at a time (`loops/passes/jam.rs`), so that what four rows of `out` need of `rows` is computed
//! once for all of them: 6 rows for 4. What is read at several places along the row is computed once for all of them where
//! rows work ahead (`jit/rows/ahead.rs`), and shifted. A source that is kept costs a store and loads instead; the cheaper
//! way is taken. Where another reader needs it kept, it costs loads only.
//!
//! Where the planes of a reader are made together, what a source without them computes is the same for all of them:
//!
//! ```text
//! gain[y, x] = soft[y, x] / grey[y, x]        out[c, y, x] = gain[y, x] * a[c, y, x]        c: 3
//! ```

use super::inline::{body_of, inlined};
use super::stages::Stages;
use crate::access::TensorAccess;
use crate::access::linear::{Atom, Linear};
use crate::access::order::{loop_order, planes};
use crate::graph::TensorKind;
use crate::graph::body::{Body, Coord, NodeId, Op, TensorId};
use crate::graph::resolve_weak::Resolved;
use crate::graph::scalar::{BinaryFn, UnaryFn};
use crate::graph::types::Element;
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
/// Operations that rows work ahead for, at the least, and how far apart places along the row may lie.
const AHEAD_WORK: u64 = 2;
const AHEAD_REACH: u64 = 8;

/// What the code of rows can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// Every place along the row is computed for itself.
    Apart,
    /// What is read at several places along the row is computed once.
    Ahead,
}

/// What was computed in its reader rather than on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fused {
    /// The source.
    pub source: TensorId,
    /// Where it is read, relative to the reader's own coordinates, per dimension.
    pub reach: Vec<Interval>,
    /// The dimension of the reader that it lacks, if that is so.
    pub lacks: Option<usize>,
    /// Elements of the reader that are made together.
    pub group: u64,
    /// How many elements of it are computed for them.
    pub times: u64,
    /// How many more of them are neighbours along the row of those, shifted.
    pub shifts: u64,
    /// Operations for an element of it.
    pub work: u64,
    /// What those elements of the reader cost this way, and what they would cost if it were kept.
    pub costs: [u64; 2],
}

/// Puts cheap sources into their readers, sources before readers.
pub fn fuse(stages: &mut Stages, rows: Rows) {
    let mut held = Held::new(stages);
    for id in stages.in_order() {
        held.begin(stages, id);
        while let Some(fused) = cheap_source(stages, id, (rows, &held)) {
            let (Some(reader), Some(inner)) = (body_of(stages, id), body_of(stages, fused.source)) else {
                break;
            };
            let element = stages.tensor(fused.source).element;
            let body = inlined(reader, fused.source, inner, element);
            stages.set_body(id, body);
            stages.fused.entry(id).or_default().push(fused);
        }
        held.end(stages, id);
    }
}

/// How many readers need each source kept: those that cannot compute it themselves, and, once it is their turn, those
/// for which that was not cheaper.
struct Held(Vec<usize>);

impl Held {
    fn new(stages: &Stages) -> Held {
        let mut held = Held(vec![0; stages.graph.tensors.len()]);
        for id in stages.in_order() {
            sources(stages, id)
                .filter(|source| !computes(stages, id, *source))
                .for_each(|source| held.0[source.index()] += 1);
        }
        held
    }

    /// A reader decides: what it could not do no longer counts.
    fn begin(&mut self, stages: &Stages, id: TensorId) {
        sources(stages, id)
            .filter(|source| !computes(stages, id, *source))
            .for_each(|source| self.0[source.index()] -= 1);
    }

    /// It has decided: what it still reads does.
    fn end(&mut self, stages: &Stages, id: TensorId) {
        sources(stages, id).for_each(|source| self.0[source.index()] += 1);
    }

    fn holds(&self, source: TensorId) -> bool {
        self.0[source.index()] > 0
    }
}

/// What a tensor reads besides itself.
fn sources(stages: &Stages, id: TensorId) -> impl Iterator<Item = TensorId> {
    let all: BTreeSet<TensorId> = stages.accesses[id.index()].reads.iter().map(|read| read.tensor).collect();
    all.into_iter().filter(move |source| *source != id)
}

/// Whether a reader could compute a source itself.
fn computes(stages: &Stages, reader: TensorId, source: TensorId) -> bool {
    let access = &stages.accesses[reader.index()];
    let group = Together::of(stages, reader, source);
    body_of(stages, reader).and_then(|body| places(body, access, source, group.lacks)).is_some()
}

/// Elements of a reader that are made together.
struct Together {
    elements: u64,
    /// In how many rows of a source they lie.
    rows: u64,
    /// The dimension along which they lie, if the source lacks it.
    lacks: Option<usize>,
}

impl Together {
    /// Rows below each other, or planes of which a source knows nothing; others have nothing to share.
    fn of(stages: &Stages, reader: TensorId, source: TensorId) -> Together {
        let (domain, access) = (&stages.tensor(reader).domain, &stages.accesses[reader.index()]);
        let lacks = stages.tensor(source).domain.rank() + 1 == domain.rank();
        let dims = domain.intervals();
        let beside = loop_order(access, &dims).beside;
        match beside.or_else(|| planes(access, &dims)).filter(|_| lacks) {
            Some(planes) => Together { elements: planes.count as u64, rows: 1, lacks: Some(planes.dim) },
            None if beside.is_some() => Together { elements: 1, rows: 1, lacks: None },
            None => Together { elements: JAM, rows: JAM, lacks: None },
        }
    }
}

fn cheap_source(stages: &Stages, id: TensorId, (rows, held): (Rows, &Held)) -> Option<Fused> {
    let reader = body_of(stages, id)?;
    let access = &stages.accesses[id.index()];
    let own = work(stages, reader, access)?;
    sources(stages, id).find_map(|source| {
        // What has a format is kept in it.
        let inner = body_of(stages, source).filter(|_| stages.tensor(source).format.is_none())?;
        let inner_access = &stages.accesses[source.index()];
        let its = work(stages, inner, inner_access)?;
        let group = Together::of(stages, id, source);
        let all = places(reader, access, source, group.lacks)?;
        let is_ahead = rows == Rows::Ahead && its.operations >= AHEAD_WORK && its.is_plain;
        let places = if is_ahead { one_column(&all) } else { all.clone() };
        let times = instances(&places, group.rows);
        // Places in one column may have rows between them that none of the others has.
        let shifts = instances(&all, group.rows).saturating_sub(times);
        let known = group.lacks.is_none().then(|| loads((reader, access), &places, (inner, inner_access)));
        let loads =
            known.flatten().unwrap_or(Loads { computed: times * its.reads, kept: group.rows * its.reads });
        // All elements each way: computed as often as they are read, or once, kept, and loaded. What is kept for others
        // is only loaded.
        let once = if held.holds(source) { 0 } else { group.rows * (its.operations + KEEP) + loads.kept };
        let computed = times * its.operations + loads.computed + shifts;
        let kept = once + instances(&all, group.rows);
        let total = own.total() * group.elements + computed;
        let (reach, costs) = (reach(&all), [computed, kept]);
        let Together { elements, lacks, .. } = group;
        let fused = Fused { source, reach, lacks, group: elements, times, shifts, work: its.total(), costs };
        (computed <= kept && total <= MOST_WORK * elements).then_some(fused)
    })
}

/// The places of the first column, if all lie near each other along the row: what is there is shifted to the others.
fn one_column(places: &BTreeSet<Vec<i64>>) -> BTreeSet<Vec<i64>> {
    let columns = || places.iter().filter_map(|place| place.last().copied());
    match columns().min().zip(columns().max()) {
        Some((first, last)) if last.abs_diff(first) <= AHEAD_REACH => {
            let row = |place: &Vec<i64>| [&place[..place.len() - 1], &[first]].concat();
            places.iter().map(row).collect()
        }
        Some(_) | None => places.clone(),
    }
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
        let own = places(inner, inner_access, source, None)?;
        let known = if access.reads.iter().any(|read| read.tensor == source) {
            places(reader, access, source, None)?
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
        loads.computed += instances(&all, JAM).saturating_sub(instances(&known, JAM));
        loads.kept += instances(&own, JAM);
    }
    Some(loads)
}

/// Where a reader reads a source, relative to its own coordinates but for one that the source lacks; `None` if not all of
/// that is known, or too many.
fn places(
    reader: &Resolved,
    access: &TensorAccess,
    source: TensorId,
    lacks: Option<usize>,
) -> Option<BTreeSet<Vec<i64>>> {
    let mut places = BTreeSet::new();
    for read in access.reads.iter().filter(|read| read.tensor == source) {
        if !read.conditions.is_empty() {
            return None;
        }
        let mut own: Vec<Vec<i64>> = vec![Vec::new()];
        for (dim, form) in read.map.iter().enumerate() {
            let own_dim = dim + usize::from(lacks.is_some_and(|lacks| lacks <= dim));
            let offsets = offsets(&reader.body, form, own_dim as u32)?;
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

/// How many elements of a source so many elements of a reader need that lie below each other.
fn instances(places: &BTreeSet<Vec<i64>>, rows: u64) -> u64 {
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
        .map(|(first, last)| last.abs_diff(*first).saturating_add(rows))
        .fold(0, u64::saturating_add)
}

/// What an element of a body takes, roughly.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    operations: u64,
    reads: u64,
    /// Whether all of it is arithmetic on f32, lane by lane, of elements that move along the row.
    is_plain: bool,
}

impl Work {
    fn total(self) -> u64 {
        self.operations.saturating_add(self.reads)
    }
}

/// Operations that an element of a stage takes, roughly, in all windows that it is in; at least 1.
pub(super) fn operations(stages: &Stages, id: TensorId) -> u128 {
    let (body, windows) = match &stages.tensor(id).kind {
        TensorKind::Windowed(windowed) => {
            let each = windowed
                .windows
                .dims
                .iter()
                .map(|dim| dim.size().unsigned_abs().div_ceil(dim.stride().unsigned_abs()));
            (stages.tensor(id).body(), each.fold(1, u64::saturating_mul))
        }
        TensorKind::Pointwise(_) | TensorKind::Input(_) | TensorKind::Var(_) => (body_of(stages, id), 1),
    };
    let work = body.and_then(|body| work(stages, body, &stages.accesses[id.index()]));
    work.map_or(1, |work| u128::from(work.total().max(1)) * u128::from(windows.max(1)))
}

/// What an element of a body takes; `None` if it is no plain arithmetic.
fn work(stages: &Stages, resolved: &Resolved, access: &TensorAccess) -> Option<Work> {
    let body = &resolved.body;
    let mut times: BTreeMap<NodeId, u64> = BTreeMap::from([(resolved.root, 1)]);
    let mut total = Work { is_plain: true, ..Work::default() };
    for (id, node) in body.nodes().rev() {
        let Some(own) = times.get(&id).copied() else { continue };
        total.is_plain &= is_plain(resolved, id, access);
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

/// Whether a node is what rows can compute ahead (`jit/rows/kinds.rs`), if all that it is made of is.
fn is_plain(resolved: &Resolved, id: NodeId, access: &TensorAccess) -> bool {
    let node = resolved.body.node(id);
    let is_float = node.ty.strong() == Some(Element::F32);
    match &node.op {
        Op::Const(_) | Op::Coord(Coord::Bound(_)) => true,
        // Of integers, those that say which entry of a table it is.
        Op::Binary(BinaryFn::Add | BinaryFn::Sub | BinaryFn::Mul, ..) => true,
        Op::Fma(..) | Op::Reduce { .. } | Op::Table(..) => is_float,
        Op::Read { .. } => is_float && operands(&node.op, id, access).is_empty(),
        Op::Unary(function, _) => is_float && matches!(function, UnaryFn::Neg | UnaryFn::Abs | UnaryFn::Sqrt),
        Op::Binary(function, ..) => {
            is_float && matches!(function, BinaryFn::Div | BinaryFn::Min | BinaryFn::Max)
        }
        Op::Coord(_) | Op::Arg(_) | Op::Select(..) | Op::Cast(_) | Op::Math(..) | Op::Hash(_) => false,
    }
}

/// The operands of a node that are computed in lanes: coordinates that move along with the row are not.
fn operands(op: &Op, id: NodeId, access: &TensorAccess) -> Vec<NodeId> {
    let Op::Read { .. } = op else { return op.args() };
    let plain = |form: &Linear| form.terms.iter().all(|(atom, _)| matches!(atom, Atom::Coord(_)));
    if access.read(id).is_some_and(|read| read.map.iter().all(plain)) { Vec::new() } else { op.args() }
}
