//! Every read stays inside its domain, whatever the data: or an error says how far it can get.

use super::footprint::view_footprint;
use super::guards::PathId;
use super::linear::{Atom, Linear};
use super::ranges::Ranges;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, quoted};
use crate::graph::body::{Body, Coord, NodeId, Obligation, Op, TargetKind};
use crate::graph::scalar::BinaryFn;
use crate::graph::view::{View, dimension_name};
use crate::graph::window::Take;
use crate::graph::{Graph, Tensor, TensorKind, Windowed};
use crate::index::{Dim, INF, Interval};
use crate::source::Span;
use std::collections::BTreeSet;

/// A data-dependent coordinate that spans this much or more counts as unbounded: that of 32-bit types.
const UNBOUNDED: i64 = 1 << 31;

/// A coordinate and the values that it can take.
type Reached<'b> = (&'b Obligation, Interval);

/// Checks what the elaborator could not: coordinates of reads, takes and tables.
pub(super) fn obligations(
    graph: &Graph,
    body: &Body,
    ranges: &mut Ranges<'_>,
    reader: &str,
) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    let mut outside: Vec<Vec<Reached<'_>>> = Vec::new();
    for obligation in body.obligations() {
        let Some(path) = ranges.guards.of(obligation.read) else { continue };
        if !ranges.possible(path) || refused_recurrence(graph, obligation, reader) {
            continue;
        }
        let form = ranges.forms.get(obligation.coord).clone();
        let values = ranges.form(path, &form);
        let steps = obligation.kind == TargetKind::Steps;
        let inside = steps || obligation.range.contains_interval(values);
        let far = inside.then(|| leaves_space(ranges, path, obligation, &form, reader)).flatten();
        if steps || far.is_some() {
            problems.extend(far.map(|far| far.through(&obligation.place.calls)));
            continue;
        }
        let element = matches!(obligation.kind, TargetKind::View | TargetKind::TakeSource);
        match unbounded_data(body, ranges, path, obligation.coord) {
            Some(node) if !values.is_bounded() || !inside || element => {
                let problem = cannot_bound(body, ranges, path, obligation, node, reader);
                problems.push(problem.through(&obligation.place.calls));
            }
            _ if inside => {}
            _ => gather(&mut outside, (obligation, values)),
        }
    }
    outside.iter().for_each(|group| problems.push(leaves(graph, (body, ranges), group, reader)));
    problems
}

/// The error for a coordinate that has bounds and is none, or that a view takes to what is none; without bounds it is
/// up to who asks.
pub(super) fn leaves_space(
    ranges: &mut Ranges<'_>,
    path: PathId,
    obligation: &Obligation,
    form: &Linear,
    reader: &str,
) -> Option<Diagnostic> {
    let (lo, hi) = ranges.ends(path, form)?;
    let (least, most) = (i128::from(1 - INF), i128::from(INF - 1));
    let (first, last) = match obligation.kind {
        // Beyond the index space it is the coordinate itself that is told.
        TargetKind::Steps if lo < least || most < hi => return None,
        TargetKind::Steps => (obligation.range.first().into(), obligation.range.last().into()),
        TargetKind::View | TargetKind::TakeSource => (least, most),
        TargetKind::Take | TargetKind::Table => return None,
    };
    let at = if lo < first { lo } else { Some(hi).filter(|hi| *hi > last)? };
    let (name, along) = (quoted(&obligation.what), dimension(obligation));
    let is_number = matches!(form.terms[..], [(Atom::Coord(Coord::Window(_)), 1)]);
    let read = match obligation.kind {
        TargetKind::Steps if is_number => {
            format!("takes window {at} of {name} along {along}, which reaches outside")
        }
        TargetKind::Steps => format!("reads {name} along {along} at {at}, which {name} takes outside"),
        _ => format!("reads {name} along {along} at {at}, outside"),
    };
    let message = format!("`{reader}` {read} the index space of ±(2^62 - 2)");
    let (first, last) = (first.max(least), last.min(most));
    let help = format!("keep it from {first} to {last}");
    let label = if is_number { format!("window {at}") } else { format!("reaches {at}") };
    Some(Diagnostic::new(Code::E0505, message).at(obligation.place.span, label).help(help))
}

/// Reads that leave one target along one dimension are one mistake: one boundary puts them all right.
fn gather<'b>(groups: &mut Vec<Vec<Reached<'b>>>, reached: Reached<'b>) {
    let key = |(obligation, values): &Reached<'_>| {
        (
            obligation.kind,
            obligation.what.clone(),
            obligation.dim.clone(),
            obligation.range,
            values.single().is_some(),
        )
    };
    match groups.iter_mut().find(|group| key(&group[0]) == key(&reached)) {
        Some(group) => group.push(reached),
        None => groups.push(vec![reached]),
    }
}

/// A tensor that reads itself in a way that was refused already.
fn refused_recurrence(graph: &Graph, obligation: &Obligation, reader: &str) -> bool {
    let own = obligation.kind == TargetKind::View && *obligation.what == *reader;
    own && graph
        .tensors
        .iter()
        .any(|tensor| *tensor.name == *reader && has_body(tensor) && !is_recurrence(tensor))
}

/// A node in the coordinate's form that comes from data and could be almost anything.
///
/// The smaller or the larger of two integers moves with coordinates, however far, as long as both of them do.
fn unbounded_data(body: &Body, ranges: &mut Ranges<'_>, path: PathId, coord: NodeId) -> Option<NodeId> {
    let is_wide = |range: Interval| range.len().is_none_or(|len| len >= UNBOUNDED);
    let moves = |(atom, _): &(Atom, i64)| matches!(atom, Atom::Coord(_));
    let mut queue = vec![coord];
    let mut seen = BTreeSet::from([coord]);
    while let Some(next) = queue.pop() {
        let form = ranges.forms.get(next).clone();
        let nodes = ranges.node_atoms(&form);
        let still = Linear { offset: 0, terms: form.terms.into_iter().filter(|term| !moves(term)).collect() };
        if nodes.is_empty() || !is_wide(ranges.form(path, &still)) {
            continue;
        }
        for node in nodes {
            match body.node(node).op {
                _ if !is_wide(ranges.int(path, node)) || !depends_on_data(body, node) => {}
                Op::Binary(BinaryFn::Min | BinaryFn::Max, a, b) => {
                    queue.extend([a, b].into_iter().filter(|side| seen.insert(*side)));
                }
                _ => return Some(node),
            }
        }
    }
    None
}

/// Whether a node's value comes from a tensor or a hash rather than from coordinates alone.
fn depends_on_data(body: &Body, node: NodeId) -> bool {
    let mut stack = vec![node];
    let mut seen = BTreeSet::from([node]);
    while let Some(id) = stack.pop() {
        let op = &body.node(id).op;
        let from_floats = matches!(op, Op::Cast(arg) if body.ty(*arg).is_float());
        if from_floats || matches!(op, Op::Read { .. } | Op::Hash(_) | Op::Arg(_)) {
            return true;
        }
        stack.extend(op.args().into_iter().filter(|arg| seen.insert(*arg)));
    }
    false
}

fn cannot_bound(
    body: &Body,
    ranges: &mut Ranges<'_>,
    path: PathId,
    obligation: &Obligation,
    node: NodeId,
    reader: &str,
) -> Diagnostic {
    let values = ranges.int(path, node);
    let anywhere = if values.is_bounded() {
        format!("lies anywhere in {values}")
    } else {
        "could be anything".to_owned()
    };
    let anywhere = format!("comes from data and {anywhere}");
    let what = dimension(obligation);
    let message = format!(
        "`{reader}` reads {} at a coordinate along {what} that cannot be bounded",
        quoted(&obligation.what)
    );
    let (lo, hi, and) = match (obligation.range.lower(), obligation.range.upper()) {
        (Some(lo), Some(hi)) => (lo, hi - 1, ""),
        _ => (-8, 8, ", plus the coordinate that it is a distance from"),
    };
    let (place, part) = (&obligation.place, body.node(node).span);
    let diagnostic = Diagnostic::new(Code::E0501, message);
    if part == place.span {
        return diagnostic
            .at(part, anywhere)
            .help(format!("bound it: `clamp({}, {lo}, {hi})`{and}", place.text));
    }
    let help = format!("bound that part, for example: `clamp(…, {lo}, {hi})`");
    diagnostic.at(place.span, "the coordinate").with(part, anywhere).help(help)
}

/// The error for reads that leave one target along one dimension.
fn leaves(
    graph: &Graph,
    (body, ranges): (&Body, &Ranges<'_>),
    group: &[Reached<'_>],
    reader: &str,
) -> Diagnostic {
    let obligation = group[0].0;
    let values = group.iter().map(|(_, values)| *values).reduce(Interval::hull).unwrap_or(Interval::all());
    let (code, name) = match obligation.kind {
        TargetKind::View | TargetKind::TakeSource => (Code::E0502, quoted(&obligation.what)),
        TargetKind::Take => (Code::E0503, format!("take {}", quoted(&obligation.what))),
        TargetKind::Table => (Code::E0504, format!("table {}", quoted(&obligation.what))),
        TargetKind::Steps => unreachable!("told by `leaves_space`"),
    };
    let computed = graph.tensors.iter().any(|tensor| *tensor.name == *reader && has_body(tensor));
    let own = computed && obligation.kind == TargetKind::View && *obligation.what == *reader;
    let (code, name) = if own { (Code::E0703, "itself".to_owned()) } else { (code, name) };
    let at = values.single().map_or_else(|| values.to_string(), |at| at.to_string());
    let message = format!(
        "`{reader}` reads {name} along {} at {at}, but it has {}",
        dimension(obligation),
        obligation.range
    );
    let help = if own {
        first_steps(graph, obligation)
    } else {
        shorter_range(body, ranges, obligation).unwrap_or_else(|| advice(obligation, values))
    };
    let diagnostic = places(group, Diagnostic::new(code, message));
    let diagnostic = declared(graph, obligation, diagnostic).through(&obligation.place.calls).help(help);
    let far = !values.is_bounded() && !ranges.node_atoms(ranges.forms.get(obligation.coord)).is_empty();
    if far && !depends_on_data(body, obligation.coord) {
        return diagnostic.note("coordinates go up to 2^62, where 64-bit arithmetic on them can wrap");
    }
    diagnostic
}

/// Points at the first few reads that were reached by the same calls, and counts the others.
fn places(group: &[Reached<'_>], mut diagnostic: Diagnostic) -> Diagnostic {
    const SHOWN: usize = 3;
    let mut spans = Vec::new();
    for (obligation, values) in group {
        let place = &obligation.place;
        if !spans.contains(&place.span) {
            spans.push(place.span);
            if diagnostic.labels.len() < SHOWN && place.calls == group[0].0.place.calls {
                diagnostic = diagnostic.at(place.span, outside(*values, obligation.range));
            }
        }
    }
    match spans.len() - diagnostic.labels.len() {
        0 => diagnostic,
        1 => diagnostic.note("1 more read leaves it too"),
        more => diagnostic.note(format!("{more} more reads leave it too")),
    }
}

/// Shows what is read, where it is a tensor or a view with a name.
fn declared(graph: &Graph, obligation: &Obligation, diagnostic: Diagnostic) -> Diagnostic {
    if !matches!(obligation.kind, TargetKind::View | TargetKind::TakeSource) {
        return diagnostic;
    }
    // A view that is written in place goes by the name of its tensor, whose bounds would only confuse.
    let shows = |dim: &Dim| [dim.enforced(), dim.interval].contains(&obligation.range);
    let tensor = graph.tensors.iter().find(|tensor| tensor.name == obligation.what);
    let tensor = tensor.filter(|tensor| tensor.domain.dims().iter().any(shows));
    let view = graph.views.iter().find(|named| named.view.name == obligation.what);
    match (tensor, view) {
        (Some(tensor), _) => diagnostic
            .with(tensor.span, format!("`{}` is `{}{}`", tensor.name, tensor.element, tensor.domain)),
        (None, Some(named)) => {
            diagnostic.with(named.chain, format!("`{}` is {}", named.view.name, named.view.describe()))
        }
        (None, None) => diagnostic,
    }
}

/// A `set` may read the variable that it writes: what was there before.
fn has_body(tensor: &Tensor) -> bool {
    match tensor.kind {
        TensorKind::Pointwise(_) | TensorKind::Windowed(_) => true,
        TensorKind::Input(_) | TensorKind::Var(_) => false,
    }
}

fn is_recurrence(tensor: &Tensor) -> bool {
    matches!(&tensor.kind, TensorKind::Pointwise(pointwise) if pointwise.recurrence.is_some())
}

/// Which coordinates are outside, below and above.
fn outside(values: Interval, range: Interval) -> String {
    let below = range.lower().filter(|lo| values.lower().is_none_or(|first| first < *lo));
    let above = range.upper().filter(|hi| values.upper().is_none_or(|end| end > *hi));
    let below = below
        .map(|lo| values.lower().map_or_else(|| format!("everything below {lo}"), |first| first.to_string()));
    let above = above.map(|hi| {
        values.upper().map_or_else(|| format!("everything above {}", hi - 1), |end| (end - 1).to_string())
    });
    let ends: Vec<_> = below.into_iter().chain(above).collect();
    format!("reaches {}", ends.join(" and "))
}

/// How to guard the steps that a tensor that reads itself cannot look back from.
fn first_steps(graph: &Graph, obligation: &Obligation) -> String {
    let first = obligation.range.lower().unwrap_or_default();
    let steps = graph.tensors.iter().find(|tensor| tensor.name == obligation.what).and_then(|tensor| {
        match &tensor.kind {
            TensorKind::Pointwise(pointwise) => pointwise
                .recurrence
                .as_ref()
                .map(|recurrence| (recurrence.reach, &tensor.domain.dims()[recurrence.dim].label)),
            TensorKind::Input(_) | TensorKind::Var(_) | TensorKind::Windowed(_) => None,
        }
    });
    if steps.is_some_and(|(_, along)| !along.is_empty() && **along != *obligation.dim) {
        let (what, dim) = (&obligation.what, &obligation.dim);
        let others = ["wrap", "mirror", "reflect"].map(|kind| format!("`.{kind}([{dim}])`")).join(", ");
        return format!(
            "say what lies outside: `{what}.clamp([{dim}])[…]`, or {others}, `.fill(0, [{dim}])`, or guard the read with `if`"
        );
    }
    match steps.map_or(1, |(reach, _)| reach) {
        1 => format!("guard the first step: `if {} == {first} then … else …`", obligation.dim),
        steps => format!(
            "guard the first {steps} steps: `if {} < {} then … else …`",
            obligation.dim,
            first.saturating_add(steps)
        ),
    }
}

/// `sum(i in 0..=3) g[i]` of three entries: the range that the variable should have had.
fn shorter_range(body: &Body, ranges: &Ranges<'_>, obligation: &Obligation) -> Option<String> {
    if obligation.kind == TargetKind::TakeSource || !obligation.range.is_bounded() {
        return None;
    }
    let form = ranges.forms.get(obligation.coord);
    let [(Atom::Coord(Coord::Bound(var)), factor)] = form.terms[..] else { return None };
    let fits = obligation.range.preimage(form.offset, factor).ok().filter(|fits| !fits.is_empty())?;
    Some(format!(
        "let `{}` run over what it has: `{} in {fits}`",
        body.binders[var as usize].name, body.binders[var as usize].name
    ))
}

/// The boundaries besides `.clamp()`.
const OTHERS: &str = "or `.wrap()`, `.mirror()`, `.reflect()`, `.fill(0)`";

fn advice(obligation: &Obligation, values: Interval) -> String {
    let Obligation { range, what, place, .. } = obligation;
    let last = range.upper().map(|hi| hi - 1);
    match (obligation.kind, values.single(), range.lower(), last) {
        (TargetKind::View | TargetKind::Table, Some(at), Some(0), Some(last)) if at < 0 => {
            format!(
                "write {last} for the last one: negative numbers are coordinates, not counts from the end"
            )
        }
        (TargetKind::View | TargetKind::Table, Some(_), Some(lo), Some(last)) if lo <= last => {
            format!("choose a coordinate from {lo} to {last}")
        }
        (TargetKind::View, ..) => match place.calls.first() {
            Some(call) => {
                format!("say what lies outside: pass `{what}.clamp()` to {}, {OTHERS}", quoted(&call.name))
            }
            None => {
                format!("say what lies outside: `{what}.clamp()[…]`, {OTHERS}, or guard the read with `if`")
            }
        },
        (TargetKind::TakeSource, ..) => format!("say what lies outside: `take … = {what}.clamp() window …`"),
        (TargetKind::Take, ..) if !values.is_bounded() => {
            "use the local coordinates that `as` names: those of a take are counted from 0".to_owned()
        }
        (TargetKind::Take, ..) => {
            "make the `window` of the take larger, or the coordinate smaller: it is counted from 0".to_owned()
        }
        (TargetKind::Table | TargetKind::Steps, ..) => {
            format!("bound it: `clamp({}, 0, {})`", place.text, last.unwrap_or_default())
        }
    }
}

fn dimension(obligation: &Obligation) -> String {
    if obligation.dim.starts_with(|c: char| c.is_ascii_digit()) {
        format!("dimension {}", obligation.dim)
    } else {
        format!("`{}`", obligation.dim)
    }
}

/// A box of a view must lie inside what its base stores, also where bounds on the way are not enforced.
pub(super) fn stored(
    graph: &Graph,
    view: &View,
    region: &[Interval],
    span: Span,
    reader: &str,
) -> Option<Diagnostic> {
    if !view.is_loose() || region.iter().any(|range| range.is_empty()) {
        return None;
    }
    let base = graph.tensor(view.base);
    let needed = view_footprint(view, region, span)?;
    let dims = base.domain.dims().iter().zip(base.readable()).zip(needed);
    let (dim, has, values) = dims
        .map(|((dim, has), values)| (dim, has, values))
        .find(|(_, has, values)| !has.contains_interval(*values))?;
    let message = format!(
        "{reader} needs {values} of {} along {}, but it has {has}",
        quoted(&base.name),
        dimension_name(dim)
    );
    let declared = format!("`{}` is `{}{}`", base.name, base.element, base.domain);
    Some(
        Diagnostic::new(Code::E0502, message)
            .at(span, outside(values, has))
            .with(base.span, declared)
            .help("choose a slice inside it: a bound that is not enforced does not make more data"),
    )
}

/// The slices that a host function is handed must lie inside their sources.
pub(super) fn takes(
    graph: &Graph,
    tensor: &Tensor,
    windowed: &Windowed,
    args: &[usize],
    diagnostics: &mut Diagnostics,
) {
    for take in args.iter().map(|arg| &windowed.takes[*arg]) {
        let dims = 0..take.sizes.len();
        diagnostics.extend(dims.clone().filter_map(|dim| slice_leaves(tensor, windowed, take, dim)));
        let region: Option<Vec<_>> = dims.map(|dim| taken(tensor, windowed, take, dim)).collect();
        let reader = format!("`{}`", tensor.name);
        diagnostics
            .extend(region.and_then(|region| stored(graph, &take.source, &region, take.span, &reader)));
    }
}

/// What all windows together take of a source along one dimension; nothing if there is no window.
fn taken(tensor: &Tensor, windowed: &Windowed, take: &Take, dim: usize) -> Option<Interval> {
    let windows = match take.map[dim] {
        None => Interval::new(0, 1).ok()?,
        Some(driver) => windowed.windows.dims[driver].inside(tensor.domain.dims()[driver].enforced()).ok()?,
    };
    let window = crate::index::Window::new(take.sizes[dim], take.stride[dim], take.offset[dim]).ok()?;
    (!windows.is_empty()).then(|| window.hull(windows).unwrap_or(Interval::all()))
}

fn slice_leaves(tensor: &Tensor, windowed: &Windowed, take: &Take, dim: usize) -> Option<Diagnostic> {
    let values = taken(tensor, windowed, take, dim)?;
    let source = &take.source.domain().dims()[dim];
    if source.enforced().contains_interval(values) {
        return None;
    }
    let along = dimension_name(source);
    let message = format!(
        "`{}` takes {values} of {} along {along}, but it has {}",
        tensor.name,
        quoted(&take.source.name),
        source.enforced()
    );
    Some(
        Diagnostic::new(Code::E0502, message).at(take.span, outside(values, source.enforced())).help(
            format!("say what lies outside: `take {} = {}.clamp() window …`", take.name, take.source.name),
        ),
    )
}
