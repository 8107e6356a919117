//! DAG -> one index map per read, its footprint, and the proof that it stays inside.
//!
//! ```text
//! smooth = sum(dy in -2..3) height[y + dy, 2 * x]     map [y + dy, 2·x]
//!                                                     window [5, 1] stride [1, 2] offset [-2, 0]
//! ```
//!
//! - [`linear`] brings coordinates into linear form, [`bounds`] says how far a form reaches, by [`residues`] and
//!   [`blocks`] where it divides, [`exact`] whether it wraps;
//! - [`guards`] says which conditions hold where a read happens, [`ranges`] what every node can be there;
//! - [`mod@footprint`] says which box of its sources a box of a tensor needs, [`order`] in which order to go through it;
//! - [`skip`] says which elements of a source in a format a body need not look at;
//! - [`space`] says whether everything that a read needs has coordinates at all;
//! - [`prove`] checks that reads stay inside their domains, [`mod@print`] shows it all.

pub mod blocks;
pub mod bounds;
pub mod exact;
pub mod footprint;
pub mod guards;
mod integers;
pub mod linear;
pub mod order;
pub mod print;
mod prove;
pub mod ranges;
pub mod residues;
pub mod skip;
pub mod space;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::graph::body::{Body, Coord, NodeId, Op, TargetKind, TensorId};
use crate::graph::resolve_weak::Resolved;
use crate::graph::view::View;
use crate::graph::{BlendKind, Graph, Tensor, TensorKind, WindowBody, Windowed};
use crate::index::interval::floor_div;
use crate::index::{INF, Interval, Window};
use crate::source::Span;
use exact::Space;
use guards::PathId;
use linear::{Atom, Floor, Linear};
use ranges::Ranges;
use residues::{Case, residues};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// How every tensor reads the others.
#[derive(Debug)]
pub struct Accesses {
    /// By tensor.
    pub tensors: Vec<TensorAccess>,
    /// By `set` item.
    pub sets: Vec<TensorAccess>,
}

/// How one body reads tensors.
#[derive(Clone, Debug, Default)]
pub struct TensorAccess {
    /// In the order of the body, each node once.
    pub reads: Vec<Access>,
    /// The coordinates of those reads as the script writes them: of a view, where there is one in between.
    pub written: Vec<Written>,
    /// Coordinates that views and windows move on, and where they must lie so that they stay coordinates.
    pub steps: Vec<(Reach, Interval)>,
    /// Floor divisions that the maps refer to.
    pub floors: Vec<Floor>,
    /// The linear form of every integer node.
    pub forms: BTreeMap<NodeId, Linear>,
}

/// One read: which tensor, at which coordinates, and how far those reach.
#[derive(Clone, Debug)]
pub struct Access {
    /// The node that reads.
    pub read: NodeId,
    /// Whose element.
    pub tensor: TensorId,
    /// One linear form per dimension of that tensor.
    pub map: Vec<Linear>,
    /// One per dimension of that tensor.
    pub reach: Vec<Reach>,
    /// In a windowed body, the reach by global coordinate where the window number cancels out.
    pub global: Vec<Option<Reach>>,
    /// The conditions under which it happens, innermost first.
    pub conditions: Vec<(NodeId, bool)>,
}

impl TensorAccess {
    /// What is known about the read that is this node.
    pub fn read(&self, id: NodeId) -> Option<&Access> {
        let at = self.reads.binary_search_by_key(&id, |read| read.read).ok()?;
        Some(&self.reads[at])
    }
}

/// One coordinate of a read as the script writes it.
#[derive(Clone, Debug)]
pub struct Written {
    /// The view or tensor that it names.
    pub what: Arc<str>,
    /// The tensor behind it.
    pub base: TensorId,
    /// Along which dimension: a label, or a position.
    pub dim: Arc<str>,
    /// How far it reaches, before a view folds it inside.
    pub reach: Reach,
}

/// Where a coordinate lies relative to one coordinate of the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// What moves it; none if nothing does, or not linearly.
    pub driver: Option<Driver>,
    /// The rest.
    pub range: Interval,
    /// Where the sum of both is clamped into, if it is: `min(max(y - 1, 0), 511)` moves with y, inside `0..512`.
    pub clip: Option<Interval>,
}

impl Reach {
    /// Whether it moves once in several coordinates, `s[x // 2]`; what moves it in between is in its range.
    pub fn resamples(&self) -> bool {
        self.driver.is_some_and(|driver| driver.per != 1)
    }

    /// How far it moves when a coordinate of the reader does by `step`, if nothing else moves it and nothing holds it.
    pub fn moves(&self, dim: usize, step: i64) -> Option<i64> {
        let Driver { coord, stride, per } = self.driver?;
        let free = self.clip.is_none() && self.range.is_bounded();
        let own = coord == Coord::Global(dim as u32) && per == 1 && free;
        if own { stride.checked_mul(step) } else { None }
    }

    /// The values when the reader's coordinates lie in `region` and its windows have `numbers`; none if it is moved by
    /// something else.
    pub fn over(&self, region: &[Interval], numbers: impl FnOnce(usize) -> Interval) -> Option<Interval> {
        let Some(driver) = self.driver else { return Some(self.range) };
        let coords = match driver.coord {
            Coord::Global(dim) => region[dim as usize],
            Coord::Window(dim) => numbers(dim as usize),
            Coord::Local(_) | Coord::Bound(_) => return None,
        };
        if coords.is_empty() {
            return Some(coords);
        }
        let ends = [coords.first(), coords.last()].map(|end| driver.at(end));
        let (lo, hi) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
        let limits = self.clip.unwrap_or(Interval::all());
        let bound = |end: i128| end.clamp(limits.first().into(), limits.last().into()) as i64;
        let (lo, hi) =
            (bound(lo + i128::from(self.range.first())), bound(hi + i128::from(self.range.last())));
        Interval::closed(lo, hi).ok()
    }
}

/// `stride · ⌊coord / per⌋`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Driver {
    /// A coordinate of the reader.
    pub coord: Coord,
    /// How far one step of `per` moves it.
    pub stride: i64,
    /// 1 but for reads that resample, `s[x // 2]`.
    pub per: i64,
}

impl Driver {
    /// How far it moves when its coordinate is `end`.
    fn at(self, end: i64) -> i128 {
        if end.abs() >= INF {
            return i128::from(end) * i128::from(self.stride.signum());
        }
        i128::from(floor_div(end, self.per)) * i128::from(self.stride)
    }
}

/// Works out and proves every read of the graph.
pub fn infer(graph: &Graph, diagnostics: &mut Diagnostics) -> Accesses {
    let tensors = graph.iter().map(|(_, tensor)| tensor_access(graph, tensor, diagnostics)).collect();
    let sets = graph.sets.iter().map(|set| {
        let dims = set.target.domain().dims().iter().enumerate();
        let domains = dims.map(|(at, dim)| (Coord::Global(at as u32), dim.interval)).collect();
        body_access(graph, &set.body, &[], domains, &set.target.name, diagnostics)
    });
    let accesses = Accesses { tensors, sets: sets.collect() };
    let outputs = graph.outputs.iter().map(|output| (&output.view, output.span, "`output`"));
    let targets = graph.sets.iter().map(|set| (&set.target, set.span, "`set`"));
    for (view, span, item) in outputs.chain(targets) {
        diagnostics.extend(leaves_stored(graph, view, span, item));
    }
    accesses
}

/// The error for a view that shows, or a write that fills, more than its base stores; slices that are asked for later
/// need it too. `reader` is who asks, as messages call it.
pub fn leaves_stored(graph: &Graph, view: &View, span: Span, reader: &str) -> Option<Diagnostic> {
    prove::stored(graph, view, &view.intervals(), span, reader)
}

/// Works out and proves the reads of one tensor.
pub fn tensor_access(graph: &Graph, tensor: &Tensor, diagnostics: &mut Diagnostics) -> TensorAccess {
    match &tensor.kind {
        TensorKind::Input(_) | TensorKind::Var(_) => TensorAccess::default(),
        TensorKind::Pointwise(pointwise) => {
            let domains = domains(tensor, &[]);
            body_access(graph, &pointwise.body, &[], domains, &tensor.name, diagnostics)
        }
        TensorKind::Windowed(windowed) => {
            if let BlendKind::Custom(blend) = &windowed.blend.kind {
                body_access(graph, blend, &[], HashMap::new(), &tensor.name, diagnostics);
            }
            windowed_access(graph, tensor, windowed, diagnostics)
        }
    }
}

fn windowed_access(
    graph: &Graph,
    tensor: &Tensor,
    windowed: &Windowed,
    diagnostics: &mut Diagnostics,
) -> TensorAccess {
    match &windowed.body {
        WindowBody::Expr(body) => {
            let windows = &windowed.windows.dims;
            body_access(graph, body, windows, domains(tensor, windows), &tensor.name, diagnostics)
        }
        WindowBody::Extern { args, .. } => {
            prove::takes(graph, tensor, windowed, args, diagnostics);
            TensorAccess::default()
        }
    }
}

/// Where the coordinates of a body lie.
fn domains(tensor: &Tensor, windows: &[Window]) -> HashMap<Coord, Interval> {
    let mut domains = HashMap::new();
    for (at, dim) in tensor.domain.dims().iter().enumerate() {
        let at = at as u32;
        domains.insert(Coord::Global(at), dim.enforced());
        if let Some(window) = windows.get(at as usize) {
            let size = Interval::sized(0, window.size()).unwrap_or(Interval::all());
            domains.insert(Coord::Local(at), size);
            domains.insert(Coord::Window(at), window.inside(dim.enforced()).unwrap_or(Interval::all()));
        }
    }
    domains
}

fn body_access(
    graph: &Graph,
    resolved: &Resolved,
    windows: &[Window],
    mut domains: HashMap<Coord, Interval>,
    name: &str,
    diagnostics: &mut Diagnostics,
) -> TensorAccess {
    let body = &resolved.body;
    for (var, binder) in body.binders.iter().enumerate() {
        let range = Interval::new(binder.lo, binder.hi.max(binder.lo)).unwrap_or(Interval::all());
        domains.insert(Coord::Bound(var as u32), range);
    }
    let mut ranges = Ranges::new(body, resolved.root, windows, domains.clone());
    let mut problems = prove::obligations(graph, body, &mut ranges, name);
    if !problems.is_empty() {
        let mut near = Ranges::within(body, resolved.root, windows, domains, Space::Near);
        problems = prove::obligations(graph, body, &mut near, name);
    }
    diagnostics.extend(problems);
    accesses(ranges, body, windows)
}

/// How a view reads its base, as `body`, which [`view_body`](crate::graph::follow::view_body) made of it.
pub fn view_access(view: &View, body: &Resolved) -> TensorAccess {
    let dims = view.domain().dims().iter().enumerate();
    let domains = dims.map(|(at, dim)| (Coord::Global(at as u32), dim.interval)).collect();
    accesses(Ranges::new(&body.body, body.root, &[], domains), &body.body, &[])
}

fn accesses(mut ranges: Ranges<'_>, body: &Body, windows: &[Window]) -> TensorAccess {
    let reads = body.nodes().filter_map(|(id, node)| match &node.op {
        Op::Read { tensor, coords, .. } => Some((id, *tensor, coords)),
        _ => None,
    });
    let reads = reads.filter_map(|(read, tensor, coords)| {
        let path = ranges.guards.of(read)?;
        Some(access(&mut ranges, path, read, tensor, coords, windows))
    });
    let reads = reads.collect();
    let (written, steps) = (written(body, &mut ranges), steps(body, &mut ranges));
    let (forms, floors) = ranges.forms.into_parts();
    TensorAccess { reads, written, steps, floors, forms }
}

fn steps(body: &Body, ranges: &mut Ranges<'_>) -> Vec<(Reach, Interval)> {
    let steps = body.obligations().iter().filter(|obligation| obligation.kind == TargetKind::Steps);
    let steps = steps.filter_map(|obligation| {
        let path = ranges.guards.of(obligation.read)?;
        let form = ranges.forms.get(obligation.coord).clone();
        Some((reach(ranges, path, &form), obligation.range))
    });
    steps.collect()
}

fn written(body: &Body, ranges: &mut Ranges<'_>) -> Vec<Written> {
    let mut written = Vec::new();
    for obligation in body.obligations() {
        let (Some(base), Some(path)) = (obligation.base, ranges.guards.of(obligation.read)) else { continue };
        let form = ranges.forms.get(obligation.coord).clone();
        let (what, dim) = (obligation.what.clone(), obligation.dim.clone());
        written.push(Written { what, base, dim, reach: reach(ranges, path, &form) });
    }
    written
}

fn access(
    ranges: &mut Ranges<'_>,
    path: PathId,
    read: NodeId,
    tensor: TensorId,
    coords: &[NodeId],
    windows: &[Window],
) -> Access {
    let map: Vec<Linear> = coords.iter().map(|coord| ranges.forms.get(*coord).clone()).collect();
    let global = map.iter().map(|form| reach_by_global(ranges, path, form, windows)).collect();
    let reach = map.iter().map(|form| reach(ranges, path, form)).collect();
    Access { read, tensor, map, reach, global, conditions: ranges.guards.conditions(path) }
}

/// Splits a form into the coordinate of the reader that moves it and the range of everything else.
fn reach(ranges: &mut Ranges<'_>, path: PathId, form: &Linear) -> Reach {
    let (inside, clip) = unclipped(ranges, path, form);
    let driven = driven(ranges, path, &inside).map(|reach| Reach { clip, ..reach });
    driven.unwrap_or_else(|| Reach { driver: None, range: ranges.form(path, form), clip: None })
}

/// The same by global coordinate, where the window number cancels out.
fn reach_by_global(
    ranges: &mut Ranges<'_>,
    path: PathId,
    form: &Linear,
    windows: &[Window],
) -> Option<Reach> {
    let (inside, clip) = unclipped(ranges, path, form);
    let global = footprint::by_global(&inside, windows)?;
    match clip {
        None => Some(reach(ranges, path, &global)),
        Some(_) => driven(ranges, path, &global).map(|reach| Reach { clip, ..reach }),
    }
}

/// What is inside `max(…, lo)` and `min(…, hi)`, and where those clamp it into.
fn unclipped(ranges: &mut Ranges<'_>, path: PathId, form: &Linear) -> (Linear, Option<Interval>) {
    let (mut inside, mut clip) = (form.clone(), Interval::all());
    while let Some((next, limit)) = limited(ranges, path, &inside) {
        let both = clip.intersect(limit);
        if both.is_empty() {
            return (form.clone(), None);
        }
        (inside, clip) = (next, both);
    }
    (inside, (clip != Interval::all()).then_some(clip))
}

/// `offset + factor · max(e, lo)` as `offset + factor · e` and where that is clamped into.
fn limited(ranges: &mut Ranges<'_>, path: PathId, form: &Linear) -> Option<(Linear, Interval)> {
    let [(Atom::Node(node), factor)] = form.terms[..] else { return None };
    let (inside, limit) = ranges.limited(path, node)?;
    let limit = limit.scale(factor).ok()?.shift(form.offset).ok()?;
    Some((Linear::constant(form.offset).plus(factor, &inside)?, limit))
}

fn driven(ranges: &mut Ranges<'_>, path: PathId, form: &Linear) -> Option<Reach> {
    let whole = vec![Case { places: Vec::new(), form: form.clone() }];
    let has_floor = form.terms.iter().any(|(atom, _)| matches!(atom, Atom::Floor(_)));
    let cases = if has_floor { residues(form, &ranges.forms.floors) } else { Some(whole) };
    let moved = cases.and_then(|cases| moved(ranges, path, &cases));
    moved.or_else(|| ranges.moved_by_block(path, form))
}

/// The reach of a form given by residue, if one coordinate moves every case alike.
fn moved(ranges: &mut Ranges<'_>, path: PathId, cases: &[Case]) -> Option<Reach> {
    let mut reach: Option<Reach> = None;
    for case in cases {
        let drivers = case.form.terms.iter().filter_map(|(atom, stride)| match atom {
            Atom::Coord(coord @ (Coord::Global(_) | Coord::Window(_))) => Some((*coord, *stride)),
            Atom::Coord(Coord::Local(_) | Coord::Bound(_)) | Atom::Floor(_) | Atom::Node(_) => None,
        });
        let drivers: Vec<_> = drivers.collect();
        let [(coord, stride)] = drivers[..] else { return None };
        let per = match case.places[..] {
            [] => 1,
            [(own, modulus, _)] if own == coord => modulus,
            _ => return None,
        };
        let rest = case.form.terms.iter().filter(|(atom, _)| *atom != Atom::Coord(coord)).copied().collect();
        let range = ranges.form(path, &Linear { offset: case.form.offset, terms: rest });
        let own = Reach { driver: Some(Driver { coord, stride, per }), range, clip: None };
        reach = match reach {
            None => Some(own),
            Some(known) if known.driver == own.driver => {
                Some(Reach { range: known.range.hull(range), ..own })
            }
            Some(_) => return None,
        };
    }
    reach
}
