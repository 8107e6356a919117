//! Which box of every source a box of a tensor needs.
//!
//! ```text
//! blur[y, x] = sum(dy in -1..=1) a[y + dy, 2 * x]      box 10..20, 0..5  needs  a 9..21, 0..9
//! ```
//!
//! Reads that cannot happen in the box need nothing, and conditions narrow what the others need.

use super::guards::PathId;
use super::linear::{Atom, Linear};
use super::ranges::Ranges;
use super::unclipped;
use crate::graph::body::{Coord, NodeId, Op, TensorId};
use crate::graph::follow::view_body;
use crate::graph::resolve_weak::Resolved;
use crate::graph::view::View;
use crate::graph::{Tensor, TensorKind, WindowBody, Windowed};
use crate::index::{Interval, Overflow, Window};
use crate::source::Span;
use std::collections::{BTreeMap, HashMap};

/// A box: one interval per dimension.
pub type Region = Vec<Interval>;

/// Makes the box of a tensor large enough for one more.
pub fn include(boxes: &mut BTreeMap<TensorId, Region>, tensor: TensorId, more: Region) {
    match boxes.get_mut(&tensor) {
        Some(known) => known.iter_mut().zip(more).for_each(|(known, range)| *known = known.hull(range)),
        None => _ = boxes.insert(tensor, more),
    }
}

/// What two boxes share.
pub fn intersection(a: &[Interval], b: &[Interval]) -> Region {
    a.iter().zip(b).map(|(a, b)| a.intersect(*b)).collect()
}

/// The boxes that `region` of `tensor` needs of its sources, by tensor.
///
/// The error is a window that leaves the index space.
pub fn footprint(tensor: &Tensor, region: &[Interval]) -> Result<BTreeMap<TensorId, Region>, Overflow> {
    match &tensor.kind {
        TensorKind::Input(_) | TensorKind::Var(_) => Ok(BTreeMap::new()),
        TensorKind::Pointwise(pointwise) => Ok(body_footprint(&pointwise.body, region, &[], &[])),
        TensorKind::Windowed(windowed) => {
            let numbers = windows(tensor, windowed, region)?;
            match &windowed.body {
                _ if numbers.iter().any(|range| range.is_empty()) => Ok(BTreeMap::new()),
                WindowBody::Expr(body) => Ok(body_footprint(body, region, &windowed.windows.dims, &numbers)),
                WindowBody::Extern { args, .. } => take_footprint(windowed, args, &numbers),
            }
        }
    }
}

/// The numbers of the windows that a box touches, per dimension.
pub fn windows(tensor: &Tensor, windowed: &Windowed, region: &[Interval]) -> Result<Vec<Interval>, Overflow> {
    let dims = windowed.windows.dims.iter().zip(tensor.domain.dims()).zip(region);
    dims.map(|((window, dim), range)| Ok(window.touching(*range)?.intersect(window.inside(dim.interval)?)))
        .collect()
}

/// The boxes that a box of what a body computes needs; of windows with these numbers, if it has windows.
pub fn body_footprint(
    resolved: &Resolved,
    region: &[Interval],
    windows: &[Window],
    numbers: &[Interval],
) -> BTreeMap<TensorId, Region> {
    let body = &resolved.body;
    if body.reads().next().is_none() {
        return BTreeMap::new();
    }
    let domains = coordinates(resolved, region, windows, numbers);
    let mut ranges = Ranges::new(body, resolved.root, windows, domains);
    let mut needs: BTreeMap<TensorId, Region> = BTreeMap::new();
    for (id, node) in body.nodes() {
        let Op::Read { tensor, coords, .. } = &node.op else { continue };
        let Some(path) = ranges.guards.of(id).filter(|path| ranges.possible(*path)) else { continue };
        let read: Region = coords.iter().map(|coord| reached(&mut ranges, path, *coord, windows)).collect();
        if read.iter().any(|range| range.is_empty()) {
            continue;
        }
        include(&mut needs, *tensor, read);
    }
    needs
}

/// Where the coordinates of a body lie when a box of its tensor is computed.
pub(super) fn coordinates(
    resolved: &Resolved,
    region: &[Interval],
    windows: &[Window],
    numbers: &[Interval],
) -> HashMap<Coord, Interval> {
    let mut domains = HashMap::new();
    for (at, range) in region.iter().enumerate() {
        domains.insert(Coord::Global(at as u32), *range);
    }
    for (at, (window, numbers)) in windows.iter().zip(numbers).enumerate() {
        domains.insert(Coord::Window(at as u32), *numbers);
        let whole = Interval::sized(0, window.size()).unwrap_or(Interval::all());
        // Of a single window only the places that are asked for are computed.
        let start = numbers.single().and_then(|number| window.range(number).ok()).map(|range| range.first());
        let asked = start.and_then(|start| region[at].shift(start.checked_neg()?).ok());
        domains.insert(Coord::Local(at as u32), asked.map_or(whole, |asked| whole.intersect(asked)));
    }
    for (var, binder) in resolved.body.binders.iter().enumerate() {
        let range = Interval::new(binder.lo, binder.hi.max(binder.lo)).unwrap_or(Interval::all());
        domains.insert(Coord::Bound(var as u32), range);
    }
    domains
}

/// The values of a coordinate: by window and local coordinate, and by global coordinate, whichever is narrower.
fn reached(ranges: &mut Ranges<'_>, path: PathId, coord: NodeId, windows: &[Window]) -> Interval {
    let form = ranges.forms.get(coord).clone();
    let own = ranges.form(path, &form);
    let (inside, clip) = unclipped(ranges, path, &form);
    match by_global(&inside, windows) {
        Some(global) => {
            let values = ranges.form(path, &global);
            own.intersect(clip.map_or(values, |clip| values.clamp_into(clip)))
        }
        None => own,
    }
}

/// The form with `local = global - offset - stride · window`, where that makes the window number cancel out.
pub fn by_global(form: &Linear, windows: &[Window]) -> Option<Linear> {
    let mut global = form.clone();
    for (dim, window) in windows.iter().enumerate() {
        let dim = dim as u32;
        let local = global.terms.iter().find(|(atom, _)| *atom == Atom::Coord(Coord::Local(dim)));
        let Some((_, factor)) = local.copied() else { continue };
        let whole = Linear {
            offset: window.offset().checked_neg()?,
            terms: vec![
                (Atom::Coord(Coord::Global(dim)), 1),
                (Atom::Coord(Coord::Local(dim)), -1),
                (Atom::Coord(Coord::Window(dim)), window.stride().checked_neg()?),
            ],
        };
        let moved = global.plus(factor, &whole)?;
        if !moved.terms.iter().any(|(atom, _)| *atom == Atom::Coord(Coord::Window(dim))) {
            global = moved;
        }
    }
    (global != *form).then_some(global)
}

/// What host functions are handed: whole windows of their takes.
fn take_footprint(
    windowed: &Windowed,
    args: &[usize],
    numbers: &[Interval],
) -> Result<BTreeMap<TensorId, Region>, Overflow> {
    let mut needs: BTreeMap<TensorId, Region> = BTreeMap::new();
    for take in args.iter().map(|arg| &windowed.takes[*arg]) {
        let mut region = Vec::new();
        for dim in 0..take.sizes.len() {
            let numbers = take.map[dim].map_or(Interval::point(0)?, |driver| numbers[driver]);
            let size = Interval::sized(0, take.sizes[dim])
                .map_err(|_| Overflow { value: take.sizes[dim].into() })?;
            region.push(numbers.scale(take.stride[dim])?.shift(take.offset[dim])?.add(size)?);
        }
        let Some(base) = view_footprint(&take.source, &region, take.span) else { continue };
        include(&mut needs, take.source.base, base);
    }
    Ok(needs)
}

/// The box of its base that a box of a view needs; `None` if it needs nothing.
pub fn view_footprint(view: &View, region: &[Interval], span: Span) -> Option<Region> {
    body_footprint(&view_body(view, span), region, &[], &[]).remove(&view.base)
}
