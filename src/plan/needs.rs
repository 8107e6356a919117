//! Which box of its sources a box of a stage needs, in closed form where coordinates move one by one.
//!
//! ```text
//! blur[y, x] = sum(dy in -1..=1) a[y + dy, 2 * x]      a.0 moves with y: +y + (-1..=1)      a.1 moves with x: 2·x
//! ```
//!
//! The closed form costs a few additions, so that tiles and bands can be asked for by the million. Coordinates that
//! move in no such way are left to [`footprint`], box by box, and so are reads that happen under conditions or go by
//! residues, where the closed form, which takes all of them to happen, is much.

use super::grid::volume;
use super::inline::weight;
use super::stages::Stages;
use crate::access::footprint::{Region, footprint, intersection};
use crate::access::linear::{Atom, Floor, Linear};
use crate::access::{Access, Driver, Reach, TensorAccess};
use crate::graph::TensorKind;
use crate::graph::body::{Body, Coord, NodeId, Op, TensorId};
use crate::index::interval::gcd;
use crate::index::{Interval, Window};
use std::collections::{BTreeMap, BTreeSet};

/// What one stage needs of another.
#[derive(Clone, Debug)]
pub struct Need {
    /// Of which.
    pub source: TensorId,
    /// Per dimension of it.
    pub dims: Vec<NeedDim>,
    /// Whether the closed form may be too much: conditions say which reads happen, they go by residues, or by places in a
    /// window.
    loose: bool,
    /// Reads that an element of it takes.
    weight: u128,
    /// Whether windows with gaps between them read it: the closed form takes gaps to belong to the windows before them.
    gaps: bool,
}

/// What is needed along one dimension of a source.
#[derive(Clone, Debug)]
pub struct NeedDim {
    /// The reads.
    parts: Vec<Part>,
    /// What all of them do.
    pub motion: Motion,
}

/// One read along one dimension.
#[derive(Clone, Copy, Debug)]
struct Part {
    reach: Reach,
    global: Option<Reach>,
}

/// How what is needed follows the box that is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Motion {
    /// Not at all.
    Still,
    /// Both ends move with one dimension of the reader, the same way.
    With {
        /// Of the reader.
        dim: usize,
        /// Whether they move up with it.
        up: bool,
    },
    /// In some other way.
    Free,
}

/// Elements that take about as long to compute as it takes to find out whether they are needed.
const WORTH_ASKING: u128 = 1 << 12;
/// Reads that an element takes for each of its reader's, from which on it is asked whether all of them are needed: those of some
/// 64 elements take about as long as the task of one (5 µs, Zen 5).
const HEAVY: u128 = 1 << 11;

impl Need {
    /// Whether a closer look may make this box much smaller.
    fn may_be_less(&self, found: &[Interval], region: &[Interval]) -> bool {
        let more_than = |elements: u128, times: u128| {
            elements > volume(region).saturating_mul(times).saturating_add(WORTH_ASKING)
        };
        let found = volume(found);
        self.loose && (more_than(found, 2) || more_than(found.saturating_mul(self.weight), HEAVY))
    }

    /// Whether what a box needs is found by looking at it.
    pub fn is_free(&self) -> bool {
        self.gaps || self.dims.iter().any(|dim| dim.motion == Motion::Free)
    }
}

/// A stage with what it needs.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Of other stages, in their order.
    pub sources: Vec<Need>,
    /// Of itself: a recurrence.
    pub own: Option<Need>,
}

impl Needs {
    /// Of one other stage.
    pub fn of(&self, source: TensorId) -> Option<&Need> {
        let at = self.sources.binary_search_by_key(&source, |need| need.source).ok()?;
        Some(&self.sources[at])
    }
}

/// What `id` needs of its sources.
pub fn needs(stages: &Stages, id: TensorId) -> Needs {
    if let Some(call) = stages.hosts.get(&id) {
        let takes = call.takes.iter().map(|take| host_need(stages, *take, call.numbers));
        let mut sources: Vec<Need> = takes.collect();
        sources.sort_by_key(|need| need.source);
        return Needs { sources, own: None };
    }
    needs_by(stages, id, &stages.accesses[id.index()])
}

/// What `id` needs of its sources if it reads them like this.
pub(super) fn needs_by(stages: &Stages, id: TensorId, reads: &TensorAccess) -> Needs {
    let Some(resolved) = stages.tensor(id).body() else { return Needs::default() };
    let varies = varies(&resolved.body);
    let mut by_source: BTreeMap<TensorId, Vec<Vec<Part>>> = BTreeMap::new();
    let mut free: BTreeSet<(TensorId, usize)> = BTreeSet::new();
    for access in &reads.reads {
        let rank = access.map.len();
        let dims = by_source.entry(access.tensor).or_insert_with(|| vec![Vec::new(); rank]);
        for (dim, parts) in dims.iter_mut().enumerate() {
            let part = Part { reach: access.reach[dim], global: access.global[dim] };
            if part.reach.driver.is_none() && moves(&access.map[dim], &reads.floors, &varies) {
                free.insert((access.tensor, dim));
            }
            parts.push(part);
        }
    }
    let mut needs = Needs::default();
    for (source, dims) in by_source {
        let gaps = dims.iter().flatten().any(|part| leaves_gaps(windows_of(stages, id), part));
        let dims = dims.into_iter().enumerate().map(|(dim, parts)| {
            let motion = if free.contains(&(source, dim)) { Motion::Free } else { motion(&parts) };
            NeedDim { parts: merged(parts), motion }
        });
        let local =
            |form: &Linear| form.terms.iter().any(|(atom, _)| matches!(atom, Atom::Coord(Coord::Local(_))));
        let loose = |read: &Access| {
            !read.conditions.is_empty()
                || read.reach.iter().any(Reach::resamples)
                || read.map.iter().any(local)
        };
        let loose = reads.reads.iter().any(|read| read.tensor == source && loose(read));
        let need = Need { source, dims: dims.collect(), loose, weight: weight(stages, source), gaps };
        if source == id { needs.own = Some(need) } else { needs.sources.push(need) }
    }
    needs
}

/// Reads that one coordinate moves alike become one, which reaches as far as all of them.
fn merged(parts: Vec<Part>) -> Vec<Part> {
    let mut merged: Vec<Part> = Vec::new();
    for part in parts {
        let alike = |known: &&mut Part| {
            known.global.or(part.global).is_none()
                && (known.reach.driver, known.reach.clip) == (part.reach.driver, part.reach.clip)
                && !known.reach.range.is_empty()
                && !part.reach.range.is_empty()
        };
        match merged.iter_mut().find(alike) {
            Some(known) => known.reach.range = known.reach.range.hull(part.reach.range),
            None => merged.push(part),
        }
    }
    merged
}

/// Between windows with gaps nothing is needed.
fn leaves_gaps(windows: &[Window], part: &Part) -> bool {
    match part.reach.driver {
        Some(Driver { coord: Coord::Window(dim), .. }) => {
            windows[dim as usize].stride() > windows[dim as usize].size()
        }
        Some(_) | None => false,
    }
}

/// A host function needs of a take the same window, whole.
fn host_need(stages: &Stages, take: TensorId, numbers: usize) -> Need {
    let dims = stages.tensor(take).domain.dims().iter().enumerate().map(|(dim, declared)| {
        let driver =
            (dim < numbers).then_some(Driver { coord: Coord::Global(dim as u32), stride: 1, per: 1 });
        let range =
            if driver.is_some() { Interval::closed(0, 0).expect("a point") } else { declared.interval };
        let parts = vec![Part { reach: Reach { driver, range, clip: None }, global: None }];
        NeedDim { motion: motion(&parts), parts }
    });
    Need { source: take, dims: dims.collect(), loose: false, weight: 1, gaps: false }
}

/// For every node, whether it follows coordinates, other than through data.
pub(super) fn varies(body: &Body) -> Vec<bool> {
    let mut varies: Vec<bool> = Vec::with_capacity(body.len());
    for (_, node) in body.nodes() {
        let own = match &node.op {
            Op::Coord(coord) => matches!(coord, Coord::Global(_) | Coord::Window(_)),
            Op::Read { .. } => false,
            op => op.args().iter().any(|arg| varies[arg.index()]),
        };
        varies.push(own);
    }
    varies
}

/// Whether a form follows coordinates of the reader.
fn moves(form: &Linear, floors: &[Floor], varies: &[bool]) -> bool {
    let mut queue: Vec<&Linear> = vec![form];
    while let Some(form) = queue.pop() {
        for (atom, _) in &form.terms {
            match atom {
                Atom::Coord(Coord::Bound(_) | Coord::Local(_)) => {}
                Atom::Coord(Coord::Global(_) | Coord::Window(_)) => return true,
                Atom::Floor(floor) => queue.push(&floors[*floor as usize].form),
                Atom::Node(NodeId(node)) if varies[*node as usize] => return true,
                Atom::Node(_) => {}
            }
        }
    }
    false
}

fn motion(parts: &[Part]) -> Motion {
    let own = |part: &Part| match part.reach.driver {
        None => Motion::Still,
        Some(Driver { coord: Coord::Global(dim) | Coord::Window(dim), stride, .. }) => {
            Motion::With { dim: dim as usize, up: stride > 0 }
        }
        Some(_) => Motion::Free,
    };
    let first = parts.first().map_or(Motion::Still, own);
    if parts.iter().all(|part| own(part) == first) { first } else { Motion::Free }
}

/// The boxes that `region` of a stage needs of its sources; sources of which it needs nothing are left out.
pub fn needed(
    stages: &Stages,
    id: TensorId,
    needs: &Needs,
    region: &[Interval],
) -> BTreeMap<TensorId, Region> {
    if region.iter().any(|range| range.is_empty()) {
        return BTreeMap::new();
    }
    let mut exact = None;
    let mut boxes = BTreeMap::new();
    for need in &needs.sources {
        let closed = closed_form(stages, id, need, region);
        let asks = need.is_free() || need.may_be_less(&closed, region);
        let exact = asks.then(|| exact.get_or_insert_with(|| footprint(stages.tensor(id), region).ok()));
        let found = match exact {
            Some(Some(exact)) => exact.get(&need.source).map(|exact| intersection(exact, &closed)),
            Some(None) | None => Some(closed),
        };
        if let Some(found) = found.filter(|found| found.iter().all(|range| !range.is_empty())) {
            boxes.insert(need.source, found);
        }
    }
    boxes
}

/// The box that a box of the reader needs, coordinate by coordinate.
pub fn closed_form(stages: &Stages, id: TensorId, need: &Need, region: &[Interval]) -> Region {
    let windows = windows_of(stages, id);
    let domain = stages.tensor(need.source).domain.dims();
    let dims = need.dims.iter().zip(domain);
    dims.map(|(dim, declared)| dim.reached(region, windows, stages, id).intersect(declared.enforced()))
        .collect()
}

fn windows_of(stages: &Stages, id: TensorId) -> &[Window] {
    match &stages.tensor(id).kind {
        TensorKind::Windowed(windowed) => &windowed.windows.dims,
        TensorKind::Input(_) | TensorKind::Var(_) | TensorKind::Pointwise(_) => &[],
    }
}

impl Need {
    /// Whether what a box of the reader needs along `dim` is that box, grown by as much wherever it lies.
    pub fn grows(&self, dim: usize, region: &[Interval]) -> bool {
        let own = Some(Driver { coord: Coord::Global(dim as u32), stride: 1, per: 1 });
        // A box outside of where coordinates are clamped to jumps there.
        let clips = |clip: Interval| clip.contains_interval(region[dim]);
        self.dims[dim].parts.iter().all(|Part { reach, .. }| {
            reach.driver == own && reach.range.is_bounded() && reach.clip.is_none_or(clips)
        })
    }

    /// How far what a box of the reader needs along `dim` reaches beyond it on either side, if that is as far wherever
    /// in `region` the box lies.
    pub fn slope(&self, dim: usize, region: &[Interval]) -> Option<i64> {
        let far = |Part { reach, .. }: &Part| reach.range.first().abs().max(reach.range.last().abs());
        self.grows(dim, region).then(|| self.dims[dim].parts.iter().map(far).max().unwrap_or(0))
    }

    /// Whether what is needed along `dim` depends on the reader's coordinates along `with`.
    pub fn follows(&self, dim: usize, with: usize) -> bool {
        let driven = |reach: &Reach| match reach.driver {
            Some(Driver { coord: Coord::Global(dim) | Coord::Window(dim), .. }) => dim as usize == with,
            Some(_) => true,
            None => false,
        };
        self.dims[dim]
            .parts
            .iter()
            .any(|part| driven(&part.reach) || part.global.as_ref().is_some_and(driven))
    }

    /// Whether what is needed along `dim` moves on with coordinates of the reader alone, not window by window.
    pub fn is_even(&self, dim: usize) -> bool {
        self.dims[dim].parts.iter().all(|Part { reach, global }| {
            let by = reach.driver.map(|driver| driver.coord);
            let free = global.is_none() && reach.clip.is_none() && reach.range.is_bounded();
            matches!(by, Some(Coord::Global(_))) && free
        })
    }

    /// After how many coordinates of the reader what it needs along `dim` has moved on by a whole step, wherever that
    /// is; none if it does not always move on.
    pub fn period(&self, dim: usize, stages: &Stages, id: TensorId) -> Option<i64> {
        let parts = self.dims[dim].parts.iter();
        parts.map(|part| part.pace(stages, id)).try_fold(1i64, |period, pace| period.checked_mul(pace?.every))
    }

    /// How everything that it needs along `dim` moves on, if all of it does so alike.
    pub fn pace(&self, dim: usize, stages: &Stages, id: TensorId) -> Option<Pace> {
        let mut paces = self.dims[dim].parts.iter().map(|part| part.pace(stages, id));
        let first = paces.next()??;
        paces.try_fold(first, |pace, next| pace.and(next?))
    }

    /// What a box of the reader needs along one dimension, whatever the domain of the source.
    pub fn reach_of(&self, dim: usize, region: &[Interval], stages: &Stages, id: TensorId) -> Interval {
        self.dims[dim].reached(region, windows_of(stages, id), stages, id)
    }
}

/// How far something moves on, every so many coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Coordinates, at least 1.
    pub every: i64,
    /// How far.
    pub moved: i64,
}

impl Pace {
    /// The pace of what keeps both, if they are equally fast.
    pub fn and(self, other: Pace) -> Option<Pace> {
        let even = i128::from(self.moved) * i128::from(other.every)
            == i128::from(other.moved) * i128::from(self.every);
        let times = other.every / gcd(self.every, other.every);
        even.then_some(self)?.times(times)
    }

    /// The pace of what follows this one at a pace of its own.
    pub fn then(self, next: Pace) -> Option<Pace> {
        let whole = self.times(next.every / gcd(self.moved, next.every))?;
        Some(Pace { every: whole.every, moved: (whole.moved / next.every).checked_mul(next.moved)? })
    }

    fn times(self, times: i64) -> Option<Pace> {
        Some(Pace { every: self.every.checked_mul(times)?, moved: self.moved.checked_mul(times)? })
    }
}

impl Part {
    /// How it moves on with its one coordinate of the reader, if it always does.
    fn pace(&self, stages: &Stages, id: TensorId) -> Option<Pace> {
        let Part { reach, global } = self;
        match reach.driver? {
            _ if reach.clip.is_some() || !reach.range.is_bounded() => None,
            Driver { coord: Coord::Global(_), stride, per } if global.is_none() => {
                Some(Pace { every: per, moved: stride })
            }
            Driver { coord: Coord::Window(at), stride, per: 1 } => {
                let (at, step) = (at as usize, windows_of(stages, id)[at as usize].stride());
                let endless = stages.tensor(id).domain.dims()[at].interval == Interval::all();
                let along = global.is_none_or(|global| global.moves(at, step) == Some(stride));
                (endless && along).then_some(Pace { every: step, moved: stride })
            }
            Driver { .. } => None,
        }
    }
}

impl NeedDim {
    fn reached(&self, region: &[Interval], windows: &[Window], stages: &Stages, id: TensorId) -> Interval {
        let mut hull: Option<Interval> = None;
        for part in &self.parts {
            let mut own = reached(part.reach, region, windows, stages, id);
            if let Some(global) = part.global.filter(|_| !leaves_gaps(windows, part)) {
                own = own.intersect(reached(global, region, windows, stages, id));
            }
            hull = Some(hull.map_or(own, |hull| hull.hull(own)));
        }
        hull.unwrap_or(Interval::all())
    }
}

fn reached(reach: Reach, region: &[Interval], windows: &[Window], stages: &Stages, id: TensorId) -> Interval {
    let numbers = |dim: usize| {
        let (window, domain) = (windows[dim], stages.tensor(id).domain.dims()[dim].interval);
        let inside = window.inside(domain).unwrap_or(Interval::all());
        if window.stride() > window.size() {
            return begun(window, region[dim], inside);
        }
        window.touching(region[dim]).unwrap_or(Interval::all()).intersect(inside)
    };
    reach.over(region, numbers).unwrap_or(Interval::all())
}

/// The windows that begin last before the coordinates of a range, of those inside or next to it: one at the least, so that
/// both ends move on with the range.
fn begun(window: Window, range: Interval, inside: Interval) -> Interval {
    if inside.is_empty() || range.is_empty() {
        return Interval::EMPTY;
    }
    let number = |at: i64| {
        let from_first = i128::from(at) - i128::from(window.offset());
        let number = from_first.div_euclid(window.stride().into()) as i64;
        number.clamp(inside.first(), inside.last())
    };
    let [first, last] = [range.first(), range.last()];
    let first = if range.lower().is_some() { number(first) } else { inside.first() };
    let last = if range.upper().is_some() { number(last) } else { inside.last() };
    Interval::trusted(first, last)
}
