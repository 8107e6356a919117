//! Gives every vertex its x, so that chains are straight and parents stand in the middle over their children.
//!
//! ```text
//! layers [a], [b, c], [d] of a diamond   ->   x: b = -60, a = d = 0, c = 60
//! ```
//!
//! After Brandes and Köpf (2001): four times, from each corner of the picture, each vertex joins the block of its
//! median neighbour where that crosses nothing, and blocks, which are vertical, are packed as tightly as their
//! order allows. The mean of the two middle results is taken. Packing is done as a longest path through the
//! graph of blocks, which respects every distance by construction; order statistics keep the distances too.

use super::graph::{Extent, Layered, Role, Vertex, VertexMap, places};
use std::collections::BTreeSet;

/// Where a packing starts horizontally.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// Where an alignment starts vertically.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Top,
    Bottom,
}

/// The graph seen from one corner: turned so that the corner is at the upper left.
struct Frame<'a> {
    layers: Vec<Vec<Vertex>>,
    places: VertexMap<usize>,
    /// Neighbours in the layer before.
    before: &'a VertexMap<Vec<Vertex>>,
    extents: &'a VertexMap<Extent>,
    side: Side,
}

/// Segments that must bend because they cross the straight part of a long edge: upper and lower end.
type Yielding = BTreeSet<(Vertex, Vertex)>;

/// The x of every vertex; neighbours in a layer are at least as far apart as their extents ask.
pub(super) fn place(graph: &Layered) -> VertexMap<f64> {
    let yielding = yielding(graph);
    let corners = [
        (Side::Left, End::Top),
        (Side::Left, End::Bottom),
        (Side::Right, End::Top),
        (Side::Right, End::Bottom),
    ];
    let candidates = corners.map(|(side, end)| (side, from_corner(graph, &yielding, side, end)));
    balance(graph, candidates)
}

fn from_corner(graph: &Layered, yielding: &Yielding, side: Side, end: End) -> VertexMap<f64> {
    let frame = frame(graph, side, end);
    let roots = align(&frame, yielding);
    let blocks = pack(&frame, &roots);
    let sign = if side == Side::Left { 1.0 } else { -1.0 };
    VertexMap::new(graph.len(), |vertex| sign * blocks[roots[vertex]])
}

fn frame(graph: &Layered, side: Side, end: End) -> Frame<'_> {
    let mut layers = graph.layers.clone();
    if end == End::Bottom {
        layers.reverse();
    }
    if side == Side::Right {
        layers.iter_mut().for_each(|layer| layer.reverse());
    }
    let before = if end == End::Top { &graph.above } else { &graph.below };
    Frame { places: places(&layers, graph.len()), layers, before, extents: &graph.extents, side }
}

/// Segments that cross a segment between two bends; those stay straight, as they are part of long edges.
fn yielding(graph: &Layered) -> Yielding {
    let places = graph.places();
    graph.layers.iter().skip(1).flat_map(|layer| yielding_above(graph, layer, &places)).collect()
}

fn yielding_above(graph: &Layered, layer: &[Vertex], places: &VertexMap<usize>) -> Vec<(Vertex, Vertex)> {
    let is_bend = |v: Vertex| graph.extents[v].role == Role::Bend;
    // Upper places of the inner segment that ends at each vertex of this layer, if there is one.
    let inner = |lower: &Vertex| {
        let upper = graph.above[*lower].first().copied().filter(|upper| is_bend(*upper) && is_bend(*lower));
        upper.map(|upper| places[upper])
    };
    let inners: Vec<Option<usize>> = layer.iter().map(inner).collect();
    // Left of each vertex: the rightmost upper end; right of it: the leftmost one.
    let most_left = running(inners.iter(), |best: Option<usize>, x| best.max(x));
    let mut least_right = running(inners.iter().rev(), |best, x| best.into_iter().chain(x).min());
    least_right.reverse();
    let mut found = Vec::new();
    for (i, lower) in layer.iter().enumerate() {
        let crosses = |upper: usize| {
            most_left[i].is_some_and(|left| left > upper) || least_right[i].is_some_and(|right| right < upper)
        };
        let mine = graph.above[*lower].iter().filter(|upper| inners[i].is_none() && crosses(places[**upper]));
        found.extend(mine.map(|upper| (*upper, *lower)));
    }
    found
}

/// What `fold` makes of all values before each one.
fn running<'a>(
    values: impl Iterator<Item = &'a Option<usize>>,
    fold: impl Fn(Option<usize>, Option<usize>) -> Option<usize>,
) -> Vec<Option<usize>> {
    let mut best = None;
    let step = |value: &Option<usize>| {
        let next = fold(best, *value);
        std::mem::replace(&mut best, next)
    };
    values.map(step).collect()
}

/// Joins vertices into vertical blocks and gives each vertex the first of its block.
fn align(frame: &Frame<'_>, yielding: &Yielding) -> VertexMap<Vertex> {
    let mut roots = VertexMap::new(frame.places.0.len(), |vertex| vertex);
    for layer in &frame.layers {
        let mut free_from = 0;
        for vertex in layer {
            let joins = |v: &Vertex| {
                let segment = [(*v, *vertex), (*vertex, *v)];
                frame.places[*v] >= free_from && !segment.iter().any(|s| yielding.contains(s))
            };
            if let Some(neighbour) = medians(frame, *vertex).into_iter().find(joins) {
                roots[*vertex] = roots[neighbour];
                free_from = frame.places[neighbour] + 1;
            }
        }
    }
    roots
}

/// The one or two middle neighbours in the layer before, the left one first.
fn medians(frame: &Frame<'_>, vertex: Vertex) -> Vec<Vertex> {
    let mut neighbours = frame.before[vertex].clone();
    neighbours.sort_by_key(|v| frame.places[*v]);
    let count = neighbours.len();
    let middle = count.saturating_sub(1) / 2..count / 2 + 1;
    neighbours.get(middle).unwrap_or_default().to_vec()
}

/// One distance between blocks: the second is at least `apart` px right of the first.
struct Spacing {
    left: Vertex,
    right: Vertex,
    apart: f64,
}

/// The x of every block, by its first vertex: as far left as the blocks at its left let it, then pulled towards
/// the blocks at its right, so that no gap is wider than it must be.
fn pack(frame: &Frame<'_>, roots: &VertexMap<Vertex>) -> VertexMap<f64> {
    let spacings = spacings(frame, roots);
    let mut x = VertexMap::new(roots.0.len(), |_| 0.0);
    for Spacing { left, right, apart } in &spacings {
        x[*right] = f64::max(x[*right], x[*left] + apart);
    }
    let mut limits = VertexMap::new(roots.0.len(), |_| f64::INFINITY);
    let pulled = |x: f64, limit: f64| if limit.is_finite() { x.max(limit) } else { x };
    for Spacing { left, right, apart } in spacings.iter().rev() {
        // All distances to the right of a block are done before those to its left, so its limit is known.
        x[*right] = pulled(x[*right], limits[*right]);
        limits[*left] = f64::min(limits[*left], x[*right] - apart);
    }
    VertexMap::new(roots.0.len(), |block| pulled(x[block], limits[block]))
}

/// The distances between blocks, ordered so that those to the left of a block come before those to its right.
fn spacings(frame: &Frame<'_>, roots: &VertexMap<Vertex>) -> Vec<Spacing> {
    let pairs = || frame.layers.iter().flat_map(|layer| layer.windows(2)).map(|pair| (pair[0], pair[1]));
    let mut at_right: VertexMap<Vec<Spacing>> = VertexMap::new(roots.0.len(), |_| Vec::new());
    let mut waits = VertexMap::new(roots.0.len(), |_| 0_usize);
    for (u, v) in pairs() {
        let (left, right) = (roots[u], roots[v]);
        at_right[left].push(Spacing { left, right, apart: apart(frame, u, v) });
        waits[right] += 1;
    }
    let is_ready = |block: &Vertex| roots[*block] == *block && waits[*block] == 0;
    let mut ready: Vec<Vertex> = (0..roots.0.len()).map(Vertex).filter(is_ready).collect();
    let mut ordered = Vec::new();
    while let Some(block) = ready.pop() {
        for spacing in std::mem::take(&mut at_right[block]) {
            waits[spacing.right] -= 1;
            if waits[spacing.right] == 0 {
                ready.push(spacing.right);
            }
            ordered.push(spacing);
        }
    }
    debug_assert!(waits.0.iter().all(|n| *n == 0), "blocks do not cross, so their order has no cycle");
    ordered
}

/// How far `v`, next to `u` in its layer, must be from it.
fn apart(frame: &Frame<'_>, u: Vertex, v: Vertex) -> f64 {
    let (u, v) = (frame.extents[u], frame.extents[v]);
    match frame.side {
        Side::Left => u.right + v.left,
        Side::Right => u.left + v.right,
    }
}

/// Moves all candidates over the narrowest one, each with the side it was packed against, and takes the mean of
/// the two middle values of each vertex.
fn balance(graph: &Layered, candidates: [(Side, VertexMap<f64>); 4]) -> VertexMap<f64> {
    let spans = candidates.each_ref().map(|(_, x)| span(graph, x));
    let narrowest = spans.iter().copied().min_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
    let (left, right) = narrowest.expect("there are four candidates");
    let shift = |i: usize| match candidates[i].0 {
        Side::Left => left - spans[i].0,
        Side::Right => right - spans[i].1,
    };
    let shifts = [shift(0), shift(1), shift(2), shift(3)];
    VertexMap::new(graph.len(), |vertex| {
        let mut values = [0, 1, 2, 3].map(|i| candidates[i].1[vertex] + shifts[i]);
        values.sort_by(f64::total_cmp);
        (values[1] + values[2]) / 2.0
    })
}

/// The leftmost and the rightmost edge of all vertices.
pub(super) fn span(graph: &Layered, x: &VertexMap<f64>) -> (f64, f64) {
    let edges = x.0.iter().zip(&graph.extents.0).map(|(x, extent)| (x - extent.left, x + extent.right));
    edges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((0.0, 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::tests::{layered, picture};

    fn placed(count: usize, edges: &[(usize, usize, &str)]) -> (Layered, VertexMap<f64>) {
        let graph = layered(&picture(count, edges));
        let x = place(&graph);
        (graph, x)
    }

    fn check_apart(graph: &Layered, x: &VertexMap<f64>) {
        for pair in graph.layers.iter().flat_map(|layer| layer.windows(2)) {
            let (u, v) = (pair[0], pair[1]);
            assert!(x[v] - x[u] >= graph.extents[u].right + graph.extents[v].left - 1e-6);
        }
    }

    #[test]
    fn a_chain_is_straight() {
        let (_, x) = placed(4, &[(0, 1, "a"), (1, 2, ""), (2, 3, "b")]);
        assert!(x.0.iter().all(|value| *value == x.0[0]));
    }

    #[test]
    fn a_diamond_is_symmetric() {
        let (graph, x) = placed(4, &[(0, 1, ""), (0, 2, ""), (1, 3, ""), (2, 3, "")]);
        check_apart(&graph, &x);
        assert_eq!(x.0[0], x.0[3]);
        assert_eq!(x.0[0] - x.0[1], x.0[2] - x.0[0]);
    }

    #[test]
    fn a_long_edge_is_straight_between_its_ends() {
        let (graph, x) = placed(5, &[(0, 1, ""), (1, 2, ""), (2, 3, ""), (3, 4, ""), (0, 4, "")]);
        check_apart(&graph, &x);
        let bends = &graph.chains[4].bends;
        assert_eq!(bends.len(), 3);
        assert!(bends.iter().all(|bend| x[*bend] == x[bends[0]]));
    }

    #[test]
    fn what_crosses_a_long_edge_yields() {
        let (mut graph, _) = placed(4, &[(0, 1, ""), (1, 2, ""), (2, 3, ""), (0, 3, "")]);
        assert!(yielding(&graph).is_empty());
        graph.layers[2].reverse();
        assert_eq!(yielding(&graph), BTreeSet::from([(Vertex(1), Vertex(2))]));
        let x = place(&graph);
        check_apart(&graph, &x);
        let bends = &graph.chains[3].bends;
        assert_eq!(x[bends[0]], x[bends[1]]);
    }
}
