//! Who reads whom: the DAG and its order, cycles, recurrences, and tensors that nothing needs.

use super::body::{Body, Coord, MAX_NODES, NodeId, Op, TensorId};
use super::check::Checker;
use super::elaborate::too_many_operations;
use super::evaluate::Library;
use super::scalar::BinaryFn;
use super::slices::Names;
use super::weights::{called, operations};
use super::{Graph, Parts, Recurrence, Tensor, TensorKind, WindowBody};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result, quoted};
use crate::index::Dim;
use crate::source::Span;
use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// Puts the graph together; tensors that could not be defined read nothing. There is none when tensors form a cycle.
pub(super) fn graph(mut checker: Checker<'_>, parts: Parts) -> Option<Graph> {
    let reads: Vec<BTreeMap<TensorId, Span>> = checker.tensors.iter().map(reads).collect();
    for id in 0..checker.tensors.len() {
        let id = TensorId(id as u32);
        if let Some(span) = reads[id.index()].get(&id) {
            let found = recurrence(&checker.tensors[id.index()], id, *span);
            if let Some(found) = checker.diagnostics.take(found)
                && let TensorKind::Pointwise(pointwise) = &mut checker.tensors[id.index()].kind
            {
                pointwise.recurrence = Some(found);
            }
        }
    }
    let dag = dag(&reads);
    let order = match topological(&dag) {
        Ok(order) => order,
        Err(cycle) => {
            checker.diagnostics.push(cycle_error(&checker.tensors, &reads, &cycle));
            return None;
        }
    };
    if !checker.diagnostics.has_errors() {
        warn_dead(&checker.tensors, &reads, &checker.mentioned, &parts, checker.diagnostics);
    }
    let tensors = std::mem::take(&mut checker.tensors);
    if !ask_for_math(&mut checker, &tensors, &parts) {
        return None;
    }
    let names = Names::new(&mut checker);
    let Parts { params, views, sets, outputs } = parts;
    Some(Graph { tensors, views, params, outputs, sets, dag, order, math: checker.into_math(), names })
}

/// Works out every math function that a body calls; what they are made of counts as operations of the body. False if one has too
/// many: nobody works out what it reads.
fn ask_for_math(checker: &mut Checker<'_>, tensors: &[Tensor], parts: &Parts) -> bool {
    let bodies = tensors.iter().flat_map(Tensor::bodies).chain(parts.sets.iter().map(|set| &set.body));
    let nodes = bodies.clone().flat_map(|resolved| resolved.body.nodes());
    let calls: BTreeSet<_> = nodes.filter_map(|(_, node)| called(node)).collect();
    let sizes: BTreeMap<_, _> = calls
        .into_iter()
        .map(|call| (call, checker.function(call.0, call.1).map_or(1, |made| made.0.len().max(1))))
        .collect();
    let mut short = true;
    for resolved in bodies {
        // Nodes alone were counted when they were made.
        let operations = operations(&resolved.body, |call| sizes.get(call).copied());
        if operations > resolved.body.len() && operations > MAX_NODES {
            let span = resolved.body.node(resolved.root).span;
            checker.diagnostics.push(too_many_operations(span));
            short = false;
        }
    }
    short
}

/// The tensors that a tensor reads, each with the place where it first does.
fn reads(tensor: &Tensor) -> BTreeMap<TensorId, Span> {
    let mut reads = BTreeMap::new();
    for resolved in tensor.bodies() {
        for (_, node) in resolved.body.nodes() {
            if let Op::Read { tensor, .. } = node.op {
                reads.entry(tensor).or_insert(node.span);
            }
        }
    }
    if let TensorKind::Windowed(windowed) = &tensor.kind
        && let WindowBody::Extern { args, .. } = &windowed.body
    {
        let takes = args.iter().map(|arg| &windowed.takes[*arg]);
        takes.for_each(|take| _ = reads.entry(take.source.base).or_insert(take.span));
    }
    reads
}

/// An edge from every tensor to those that read it, but for reads of itself.
fn dag(reads: &[BTreeMap<TensorId, Span>]) -> DiGraph<TensorId, ()> {
    let mut dag = DiGraph::with_capacity(reads.len(), reads.len());
    let nodes: Vec<NodeIndex> = (0..reads.len()).map(|id| dag.add_node(TensorId(id as u32))).collect();
    for (reader, read) in reads.iter().enumerate() {
        for id in read.keys().filter(|id| id.index() != reader) {
            dag.add_edge(nodes[id.index()], nodes[reader], ());
        }
    }
    dag
}

/// Every tensor after all it reads, lower ids first; or the tensors of a cycle, each read by the next.
fn topological(dag: &DiGraph<TensorId, ()>) -> std::result::Result<Vec<TensorId>, Vec<TensorId>> {
    let degree = |node| dag.neighbors_directed(node, Direction::Incoming).count();
    let mut waiting: Vec<usize> = dag.node_indices().map(degree).collect();
    let ready = dag.node_indices().filter(|node| waiting[node.index()] == 0);
    let mut ready: BinaryHeap<Reverse<NodeIndex>> = ready.map(Reverse).collect();
    let mut order = Vec::with_capacity(waiting.len());
    while let Some(Reverse(node)) = ready.pop() {
        order.push(dag[node]);
        for reader in dag.neighbors_directed(node, Direction::Outgoing) {
            waiting[reader.index()] -= 1;
            if waiting[reader.index()] == 0 {
                ready.push(Reverse(reader));
            }
        }
    }
    match waiting.iter().position(|count| *count > 0) {
        None => Ok(order),
        Some(first) => Err(cycle(dag, &waiting, NodeIndex::new(first))),
    }
}

/// Walks from a waiting tensor to one that it waits for, until one comes again.
fn cycle(dag: &DiGraph<TensorId, ()>, waiting: &[usize], start: NodeIndex) -> Vec<TensorId> {
    let mut path = vec![start];
    let mut place = BTreeMap::from([(start, 0)]);
    loop {
        let last = path[path.len() - 1];
        let source = dag
            .neighbors_directed(last, Direction::Incoming)
            .filter(|source| waiting[source.index()] > 0)
            .min();
        let source = source.expect("a waiting tensor waits for a waiting tensor");
        if let Some(first) = place.get(&source) {
            return path[*first..].iter().rev().map(|node| dag[*node]).collect();
        }
        place.insert(source, path.len());
        path.push(source);
    }
}

/// `cycle[i]` is read by `cycle[i + 1]`, the last by the first.
fn cycle_error(tensors: &[Tensor], reads: &[BTreeMap<TensorId, Span>], cycle: &[TensorId]) -> Diagnostic {
    let name = |id: TensorId| tensors[id.index()].name.to_string();
    let start = cycle.iter().enumerate().min_by_key(|(_, id)| **id).map_or(0, |(at, _)| at);
    let ring: Vec<TensorId> = cycle[start..].iter().chain(&cycle[..=start]).rev().copied().collect();
    let path: Vec<_> = ring.iter().map(|id| name(*id)).collect();
    let shown = if path.len() > 12 {
        [&path[..6], &["…".to_owned()], &path[path.len() - 5..]].concat()
    } else {
        path
    };
    let mut diagnostic =
        Diagnostic::new(Code::E0701, format!("{} depends on itself", quoted(&name(ring[0]))));
    for pair in ring.windows(2).take(6) {
        let span = reads[pair[0].index()][&pair[1]];
        diagnostic = diagnostic.at(span, format!("`{}` reads `{}` here", name(pair[0]), name(pair[1])));
    }
    diagnostic
        .note(format!("the cycle is {}", shown.join(" -> ")))
        .help("break the circle: let one of them not read the others")
}

/// The dimension along which `tensor` reads itself, always at smaller coordinates.
fn recurrence(tensor: &Tensor, id: TensorId, span: Span) -> Result<Recurrence> {
    let TensorKind::Pointwise(pointwise) = &tensor.kind else {
        return Diagnostic::new(
            Code::E0704,
            format!("`{}` has windows, so it cannot read itself", tensor.name),
        )
        .at(span, format!("`{}` is read here", tensor.name))
        .help("remove the `window`: only a pointwise tensor may read itself")
        .err();
    };
    let body = &pointwise.body.body;
    let own = body.nodes().filter_map(|(_, node)| match &node.op {
        Op::Read { tensor, coords, .. } if *tensor == id => Some((coords, node.span)),
        _ => None,
    });
    let own: Vec<_> = own.collect();
    let bounded = |dim: &usize| tensor.domain.dims()[*dim].interval.lower().is_some();
    let back = |dim: usize, coords: &[NodeId]| distance_back(body, coords[dim], dim as u32);
    for dim in (0..tensor.domain.rank()).filter(bounded) {
        let reach: Option<Vec<i64>> = own.iter().map(|(coords, _)| back(dim, coords)).collect();
        if let Some(reach) = reach {
            return Ok(Recurrence { dim, reach: reach.into_iter().max().unwrap_or(1) });
        }
    }
    let endless =
        (0..tensor.domain.rank()).find(|dim| own.iter().all(|(coords, _)| back(*dim, coords).is_some()));
    let span = own
        .iter()
        .find(|(coords, _)| (0..coords.len()).all(|dim| back(dim, coords).is_none()))
        .map_or(span, |(_, span)| *span);
    let folded = (0..tensor.domain.rank())
        .filter(bounded)
        .find(|dim| own.iter().all(|(coords, _)| back(*dim, &unfolded(body, coords)).is_some()));
    let mut refused = no_recurrence(tensor, span, endless.map(|dim| &tensor.domain.dims()[dim]));
    if let Some(dim) = folded {
        let wraps = |node: NodeId| matches!(body.node(node).op, Op::Binary(BinaryFn::Rem, ..));
        let boundary = if own.iter().any(|(coords, _)| wraps(coords[dim])) { "wrap" } else { "clamp" };
        refused.help = vec![fold_the_others(tensor, dim, boundary)];
    }
    refused.err()
}

/// The coordinates before `.clamp()` or `.wrap()` folded them.
fn unfolded(body: &Body, coords: &[NodeId]) -> Vec<NodeId> {
    let bare = |mut node: NodeId| {
        while let Op::Binary(BinaryFn::Min | BinaryFn::Max | BinaryFn::Rem, a, _) = body.node(node).op {
            node = a;
        }
        node
    };
    coords.iter().copied().map(bare).collect()
}

/// `a.clamp()[t - 1, x - 1]` reads step 0 from step 0, and `a.wrap()` from the last, so only `x` may be folded.
fn fold_the_others(tensor: &Tensor, dim: usize, boundary: &str) -> String {
    let dims = tensor.domain.dims();
    let others: Vec<_> =
        dims.iter().enumerate().filter(|(at, _)| *at != dim).map(|(_, dim)| &*dim.label).collect();
    let (label, first) = (&dims[dim].label, dims[dim].interval.first());
    let guard = format!("guard the first step: `if {label} == {first} then … else …`");
    match others.is_empty() {
        true => format!("remove the boundary, and {guard}"),
        false => format!(
            "fold the other dimensions only, `{}.{boundary}([{}])[…]`, and {guard}",
            tensor.name,
            others.join(", ")
        ),
    }
}

/// The error for a tensor that reads itself the wrong way; `endless` is a dimension with no step to start from.
fn no_recurrence(tensor: &Tensor, span: Span, endless: Option<&Dim>) -> Diagnostic {
    let message = match endless {
        Some(dim) => format!("`{}` reads itself back along `{dim}`, which has no first element", tensor.name),
        None => format!(
            "`{}` reads itself, but not always at a constant distance back along one dimension",
            tensor.name
        ),
    };
    let start =
        tensor.domain.dims().iter().find(|dim| dim.interval.lower().is_some() && !dim.label.is_empty());
    let help = match (endless, start) {
        (Some(dim), _) if !dim.label.is_empty() => format!(
            "give it a start, such as `{0}: 0..50`, and guard it: `if {0} == 0 then … else …`",
            dim.label
        ),
        (None, Some(dim)) => {
            let first = dim.interval.first();
            format!(
                "read it at `{0} - 1` (or `{0} - 2`, …) in every place, guarded by `if {0} == {first} then … else …`",
                dim.label
            )
        }
        (Some(_) | None, _) => {
            "give it a dimension with a start, such as `t: 0..50`, and read it at `t - 1`".to_owned()
        }
    };
    Diagnostic::new(Code::E0702, message)
        .at(span, "reads itself here")
        .with(tensor.span, format!("`{}` is `{}{}`", tensor.name, tensor.element, tensor.domain))
        .help(help)
}

/// `k` if the node is the coordinate along `dim` minus a constant `k >= 1`.
fn distance_back(body: &Body, mut node: NodeId, dim: u32) -> Option<i64> {
    let mut back = 0i64;
    loop {
        match body.node(node).op {
            Op::Coord(Coord::Global(found)) => return (found == dim && back >= 1).then_some(back),
            Op::Binary(BinaryFn::Sub, a, b) => {
                back = back.checked_add(body.constant_int(b)?)?;
                node = a;
            }
            Op::Binary(BinaryFn::Add, a, b) => {
                let (rest, constant) = body.constant_int(b).map_or((b, a), |_| (a, b));
                back = back.checked_sub(body.constant_int(constant)?)?;
                node = rest;
            }
            _ => return None,
        }
    }
}

/// Warns about tensors that no output and no write needs, when the script has outputs.
fn warn_dead(
    tensors: &[Tensor],
    reads: &[BTreeMap<TensorId, Span>],
    mentioned: &BTreeMap<TensorId, BTreeSet<TensorId>>,
    parts: &Parts,
    diagnostics: &mut Diagnostics,
) {
    if parts.outputs.is_empty() {
        return;
    }
    let mut alive = vec![false; tensors.len()];
    let written = parts.sets.iter().map(|set| set.target.base);
    let mut queue: Vec<TensorId> =
        parts.outputs.iter().map(|output| output.view.base).chain(written).collect();
    for set in &parts.sets {
        queue.extend(set.body.body.reads());
    }
    while let Some(id) = queue.pop() {
        if !std::mem::replace(&mut alive[id.index()], true) {
            queue.extend(reads[id.index()].keys());
            // Another value of a parameter may need it.
            queue.extend(mentioned.get(&id).into_iter().flatten());
        }
    }
    for (tensor, _) in tensors.iter().zip(alive).filter(|(tensor, alive)| !alive && tensor.module.0 == 0) {
        diagnostics.push(
            Diagnostic::new(Code::W0001, format!("no output needs `{}`", tensor.name))
                .at(tensor.span, "never computed by `itp run`")
                .help(format!(
                    "write it with `output \"{}.npy\" = {}[…]`, or remove it",
                    tensor.name, tensor.name
                )),
        );
    }
}
