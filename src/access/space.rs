//! Whether everything that a read needs has coordinates: the index space ends at ±(2^62 - 2).
//!
//! ```text
//! tensor b: f32[x: inf] = a[4 * x]      b[0:8] needs a at 0..29      b[2^60:2^60 + 8] needs a at 2^62, which is none
//! ```
//!
//! It follows the script as it is written, whatever a planner makes of it later, so that every engine refuses the same
//! reads. That takes a few additions per read; a body is looked at only where those end outside.

use super::footprint::{Region, coordinates, footprint, include, windows};
use super::prove::leaves_space;
use super::ranges::Ranges;
use super::{Accesses, Reach, TensorAccess};
use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::graph::body::{Coord, TensorId};
use crate::graph::resolve_weak::Resolved;
use crate::graph::view::{View, dimension_name};
use crate::graph::{Graph, Pointwise, Recurrence, Tensor, TensorKind, WindowBody};
use crate::index::{INF, Interval, OutputMap, Window};
use crate::source::Span;
use std::collections::{BTreeMap, BTreeSet};

/// Boxes by tensor.
type Boxes = BTreeMap<TensorId, Region>;

/// The error for a box of a tensor that needs elements outside the index space, however far upstream.
pub fn leaves(graph: &Graph, accesses: &Accesses, target: TensorId, region: Region) -> Option<Diagnostic> {
    let mut boxes = Boxes::from([(target, region)]);
    for id in readers_first(graph, accesses, target) {
        let Some(region) = boxes.remove(&id) else { continue };
        let (tensor, access) = (graph.tensor(id), &accesses.tensors[id.index()]);
        let needed = match needed(tensor, access, id, &region) {
            Ok(needed) => needed,
            Err(diagnostic) => return Some(*diagnostic),
        };
        for (source, found) in needed.into_iter().filter(|(source, _)| *source != id) {
            include(&mut boxes, source, found);
        }
    }
    None
}

/// The error for a view, asked for by itself, whose first step leads outside.
pub fn shown_outside(view: &View, span: Span) -> Option<Diagnostic> {
    let map = view.as_transform()?;
    map.outputs().iter().find_map(|output| {
        let OutputMap::Affine(affine) = output else { return None };
        let [term] = affine.terms() else { return None };
        let dim = &map.domain().dims()[term.dim];
        let range = Interval::into_space(affine.offset().into(), term.stride);
        let ends = [dim.interval.first(), dim.interval.last()];
        let at = ends.into_iter().find(|end| !dim.interval.is_empty() && !range.contains(*end))?;
        let (name, along) = (quoted(&view.name), dimension_name(dim));
        let message =
            format!("a read of {name} along {along} at {at} leads outside the index space of ±(2^62 - 2)");
        let help = format!("keep it from {} to {}", range.first(), range.last());
        Some(Diagnostic::new(Code::E0505, message).at(span, "").help(help))
    })
}

/// What `target` depends on, every tensor before its sources.
fn readers_first(graph: &Graph, accesses: &Accesses, target: TensorId) -> Vec<TensorId> {
    let sources = |id: TensorId| -> Vec<TensorId> {
        let reads = accesses.tensors[id.index()].reads.iter().map(|read| read.tensor);
        let takes = match &graph.tensor(id).kind {
            TensorKind::Windowed(windowed) => &windowed.takes[..],
            TensorKind::Pointwise(_) | TensorKind::Input(_) | TensorKind::Var(_) => &[],
        };
        reads.chain(takes.iter().map(|take| take.source.base)).collect()
    };
    let (mut order, mut seen) = (Vec::new(), BTreeSet::from([target]));
    let mut stack = vec![(target, sources(target))];
    while let Some((id, rest)) = stack.last_mut() {
        match rest.pop() {
            Some(source) if seen.insert(source) => stack.push((source, sources(source))),
            Some(_) => {}
            None => {
                order.push(*id);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}

/// The boxes of its sources that a box of a tensor needs, all inside the index space.
fn needed(
    tensor: &Tensor,
    access: &TensorAccess,
    id: TensorId,
    region: &[Interval],
) -> Result<Boxes, Box<Diagnostic>> {
    let (body, windows) = match &tensor.kind {
        TensorKind::Input(_) | TensorKind::Var(_) => return Ok(Boxes::new()),
        TensorKind::Pointwise(Pointwise { body, .. }) => (body, &[][..]),
        TensorKind::Windowed(windowed) => match &windowed.body {
            WindowBody::Expr(body) => (body, &windowed.windows.dims[..]),
            // Windows that leave the index space are the planner's to refuse.
            WindowBody::Extern { .. } => return Ok(footprint(tensor, region).unwrap_or_default()),
        },
    };
    let region = match &tensor.kind {
        TensorKind::Pointwise(Pointwise { recurrence: Some(recurrence), .. }) => {
            match all_steps(tensor, access, id, recurrence, region) {
                Some(region) => region,
                // Steps that cannot be told by their reach are counted when the read is planned.
                None => return Ok(Boxes::new()),
            }
        }
        _ => region.to_vec(),
    };
    let Some(numbers) = numbers(tensor, &region) else { return Ok(Boxes::new()) };
    if let Some(needed) = by_reach(access, &region, &numbers) {
        return Ok(needed);
    }
    match outside(tensor, body, &region, windows, &numbers) {
        Some(diagnostic) => Err(Box::new(diagnostic)),
        None => Ok(footprint(tensor, &region).unwrap_or_default()),
    }
}

/// The numbers of the windows that a box touches; none if they leave the index space, which the planner refuses.
fn numbers(tensor: &Tensor, region: &[Interval]) -> Option<Vec<Interval>> {
    match &tensor.kind {
        TensorKind::Windowed(windowed) => windows(tensor, windowed, region).ok(),
        TensorKind::Pointwise(_) | TensorKind::Input(_) | TensorKind::Var(_) => Some(Vec::new()),
    }
}

/// The boxes as far as the reach of every coordinate tells; none if one of them could end outside.
fn by_reach(access: &TensorAccess, region: &[Interval], numbers: &[Interval]) -> Option<Boxes> {
    let inside = |reach: &Reach, range: Interval| {
        let values = reach.over(region, |dim| numbers[dim])?;
        range.contains_interval(values).then_some(values)
    };
    for (reach, range) in &access.steps {
        inside(reach, *range)?;
    }
    let space = Interval::closed(1 - INF, INF - 1).ok()?;
    let mut boxes = Boxes::new();
    for read in &access.reads {
        let dims = read.reach.iter().zip(&read.global).map(|(reach, global)| {
            let own = inside(reach, space);
            match global.as_ref().and_then(|global| inside(global, space)) {
                Some(global) => Some(own.map_or(global, |own| own.intersect(global))),
                None => own,
            }
        });
        let found: Region = dims.collect::<Option<_>>()?;
        include(&mut boxes, read.tensor, found);
    }
    Some(boxes)
}

/// The error for a coordinate of a body that is none when a box is computed.
fn outside(
    tensor: &Tensor,
    resolved: &Resolved,
    region: &[Interval],
    windows: &[Window],
    numbers: &[Interval],
) -> Option<Diagnostic> {
    let domains = coordinates(resolved, region, windows, numbers);
    let mut ranges = Ranges::new(&resolved.body, resolved.root, windows, domains);
    resolved.body.obligations().iter().find_map(|obligation| {
        let path = ranges.guards.of(obligation.read)?;
        let form = ranges.forms.get(obligation.coord).clone();
        ranges.possible(path).then(|| leaves_space(&mut ranges, path, obligation, &form, &tensor.name))?
    })
}

/// A box and all steps before it that it needs, if each step needs as much more as the next.
fn all_steps(
    tensor: &Tensor,
    access: &TensorAccess,
    id: TensorId,
    recurrence: &Recurrence,
    region: &[Interval],
) -> Option<Region> {
    let first = tensor.domain.dims()[recurrence.dim].interval.lower()?;
    let steps = region[recurrence.dim].last().checked_sub(first)?.max(0);
    let mut all = region.to_vec();
    all[recurrence.dim] = Interval::closed(first, region[recurrence.dim].last().max(first)).ok()?;
    for read in access.reads.iter().filter(|read| read.tensor == id) {
        for (dim, reach) in read.reach.iter().enumerate().filter(|(dim, _)| *dim != recurrence.dim) {
            let driver = reach.driver?;
            if (driver.coord, driver.stride, driver.per) != (Coord::Global(dim as u32), 1, 1) {
                return None;
            }
            let grown = |end: i64, by: i64| end.checked_add(by.checked_mul(steps)?);
            let (lo, hi) = (reach.range.first().min(0), reach.range.last().max(0));
            let grown =
                Interval::closed(grown(region[dim].first(), lo)?, grown(region[dim].last(), hi)?).ok()?;
            all[dim] = all[dim].hull(grown);
        }
    }
    Some(all)
}
