//! Orders the vertices of each layer so that few edges cross.
//!
//! ```text
//! a  b            a  b
//!  ╲╱      ->     │  │
//!  ╱╲             │  │
//! c  d            d  c
//! ```
//!
//! Sweeps go down and up in turn and sort each layer by the mean place of the neighbours in the layer before
//! (barycentres); small graphs then have neighbours swapped while that helps. The best order seen is kept.

use super::graph::{Layered, Vertex, VertexMap};
use std::cmp::Ordering;

/// About how many visits of segments all sweeps together may take.
const EFFORT: usize = 3_000_000;
/// Sweeps without a better order before it is left at that.
const PATIENCE: usize = 8;
/// Swapping neighbours is for graphs with at most as many vertices.
const LARGEST_TO_SWAP: usize = 3_000;

/// Which way a sweep goes, and which way it leans where places are equal.
#[derive(Clone, Copy)]
enum Sweep {
    Down(Lean),
    Up(Lean),
}

/// Who comes first among vertices with the same barycentre.
#[derive(Clone, Copy)]
enum Lean {
    /// The one that was first.
    Keep,
    /// The one that was last; this gets a sweep out of a dead end.
    Turn,
}

/// Sweeps in the order they are tried, over and over.
const SWEEPS: [Sweep; 4] =
    [Sweep::Down(Lean::Keep), Sweep::Up(Lean::Keep), Sweep::Down(Lean::Turn), Sweep::Up(Lean::Turn)];

/// Reorders the layers of `graph`.
pub(super) fn reduce_crossings(graph: &mut Layered) {
    graph.layers = first_order(graph);
    let mut best = (crossings(graph), graph.layers.clone());
    let mut since_best = 0;
    for sweep in SWEEPS.iter().cycle().take(sweep_count(graph)) {
        if best.0 == 0 || since_best == PATIENCE {
            break;
        }
        sort_layers(graph, *sweep);
        swap_neighbours(graph);
        let now = crossings(graph);
        since_best += 1;
        if now < best.0 {
            best = (now, graph.layers.clone());
            since_best = 0;
        }
    }
    graph.layers = best.1;
}

fn sweep_count(graph: &Layered) -> usize {
    let segments: usize = graph.below.0.iter().map(Vec::len).sum();
    (EFFORT / (segments + graph.len() + 1)).clamp(4, 48)
}

/// The order of a walk in depth along the edges: neighbours come out near each other, and what is not
/// connected does not mix.
fn first_order(graph: &Layered) -> Vec<Vec<Vertex>> {
    let layer_of = graph.layer_of();
    let mut seen = VertexMap::new(graph.len(), |_| false);
    let mut layers = vec![Vec::new(); graph.layers.len()];
    let mut stack: Vec<Vertex> = graph.layers.iter().flatten().rev().copied().collect();
    while let Some(vertex) = stack.pop() {
        if std::mem::replace(&mut seen[vertex], true) {
            continue;
        }
        layers[layer_of[vertex]].push(vertex);
        stack.extend(graph.above[vertex].iter().rev());
        stack.extend(graph.below[vertex].iter().rev());
    }
    layers
}

/// One sweep of sorting over all layers.
fn sort_layers(graph: &mut Layered, sweep: Sweep) {
    let mut places = graph.places();
    let count = graph.layers.len();
    for step in 1..count {
        let (layer, neighbours, lean) = match sweep {
            Sweep::Down(lean) => (step, &graph.above, lean),
            Sweep::Up(lean) => (count - 1 - step, &graph.below, lean),
        };
        sort_layer(&mut graph.layers[layer], neighbours, &places, lean);
        for (place, vertex) in graph.layers[layer].iter().enumerate() {
            places[*vertex] = place;
        }
    }
}

/// Sorts the vertices that have neighbours; the others stay where they are.
fn sort_layer(
    layer: &mut [Vertex],
    neighbours: &VertexMap<Vec<Vertex>>,
    places: &VertexMap<usize>,
    lean: Lean,
) {
    let slots: Vec<usize> = (0..layer.len()).filter(|i| !neighbours[layer[*i]].is_empty()).collect();
    let centre = |slot: &usize| (barycentre(&neighbours[layer[*slot]], places), *slot);
    let mut centres: Vec<(f64, usize)> = slots.iter().map(centre).collect();
    centres.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| tie(a.1, b.1, lean)));
    let sorted: Vec<Vertex> = centres.into_iter().map(|(_, slot)| layer[slot]).collect();
    for (slot, vertex) in slots.into_iter().zip(sorted) {
        layer[slot] = vertex;
    }
}

fn tie(a: usize, b: usize, lean: Lean) -> Ordering {
    match lean {
        Lean::Keep => a.cmp(&b),
        Lean::Turn => b.cmp(&a),
    }
}

fn barycentre(neighbours: &[Vertex], places: &VertexMap<usize>) -> f64 {
    neighbours.iter().map(|vertex| places[*vertex] as f64).sum::<f64>() / neighbours.len() as f64
}

/// Swaps neighbours in a layer while that takes crossings away.
fn swap_neighbours(graph: &mut Layered) {
    if graph.len() > LARGEST_TO_SWAP {
        return;
    }
    let mut places = graph.places();
    for _ in 0..PATIENCE {
        let swaps: usize =
            (0..graph.layers.len()).map(|layer| swap_in_layer(graph, layer, &mut places)).sum();
        if swaps == 0 {
            break;
        }
    }
}

/// Goes once over a layer and says how often it swapped.
fn swap_in_layer(graph: &mut Layered, layer: usize, places: &mut VertexMap<usize>) -> usize {
    let mut swaps = 0;
    for right in 1..graph.layers[layer].len() {
        let (a, b) = (graph.layers[layer][right - 1], graph.layers[layer][right]);
        if gain(graph, a, b, places) > 0 {
            graph.layers[layer].swap(right - 1, right);
            places[a] = right;
            places[b] = right - 1;
            swaps += 1;
        }
    }
    swaps
}

/// How many crossings go away when `a` and the `b` at its right change places.
fn gain(graph: &Layered, a: Vertex, b: Vertex, places: &VertexMap<usize>) -> i64 {
    let side = |neighbours: &VertexMap<Vec<Vertex>>| {
        let sorted = |v: Vertex| {
            let mut list: Vec<usize> = neighbours[v].iter().map(|n| places[*n]).collect();
            list.sort_unstable();
            list
        };
        let (of_a, of_b) = (sorted(a), sorted(b));
        pairs_out_of_order(&of_a, &of_b) - pairs_out_of_order(&of_b, &of_a)
    };
    side(&graph.above) + side(&graph.below)
}

/// How many pairs have their left member further right than their right member; both lists are sorted.
fn pairs_out_of_order(left: &[usize], right: &[usize]) -> i64 {
    let mut smaller = 0;
    let mut pairs = 0;
    for place in left {
        smaller += right[smaller..].iter().take_while(|r| *r < place).count();
        pairs += smaller as i64;
    }
    pairs
}

/// How many pairs of segments cross.
pub(super) fn crossings(graph: &Layered) -> usize {
    let places = graph.places();
    let between = |pair: &[Vec<Vertex>]| crossings_between(graph, &pair[0], pair[1].len(), &places);
    graph.layers.windows(2).map(between).sum()
}

/// Crossings between a layer and the next, which has `width` vertices: inversions among the lower ends, counted
/// with a tree of partial sums.
fn crossings_between(graph: &Layered, layer: &[Vertex], width: usize, places: &VertexMap<usize>) -> usize {
    let mut sums = vec![0_usize; width + 1];
    let mut total = 0;
    let mut so_far = 0;
    for vertex in layer {
        let lower = || graph.below[*vertex].iter().map(|v| places[*v]);
        total += lower().map(|place| so_far - prefix(&sums, place + 1)).sum::<usize>();
        lower().for_each(|place| count_one(&mut sums, place + 1));
        so_far += graph.below[*vertex].len();
    }
    total
}

/// The sum of the first `index` counts.
fn prefix(sums: &[usize], mut index: usize) -> usize {
    let mut sum = 0;
    while index > 0 {
        sum += sums[index];
        index &= index - 1;
    }
    sum
}

fn count_one(sums: &mut [usize], mut index: usize) {
    while index < sums.len() {
        sums[index] += 1;
        index += index & index.wrapping_neg();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::tests::{layered, picture};

    fn check(count: usize, edges: &[(usize, usize)], before: usize, after: usize) {
        let edges: Vec<(usize, usize, &str)> = edges.iter().map(|(a, b)| (*a, *b, "")).collect();
        let mut graph = layered(&picture(count, &edges));
        assert_eq!(crossings(&graph), before);
        reduce_crossings(&mut graph);
        assert_eq!(crossings(&graph), after);
    }

    #[test]
    fn crossed_pairs_are_untangled() {
        check(4, &[(0, 3), (1, 2)], 1, 0);
        check(6, &[(0, 5), (1, 4), (2, 3)], 3, 0);
    }

    #[test]
    fn crossings_that_must_be_stay() {
        check(6, &[(0, 3), (0, 4), (0, 5), (1, 3), (1, 4), (1, 5), (2, 3), (2, 4), (2, 5)], 9, 9);
    }

    #[test]
    fn a_tangle_over_three_layers_is_untangled() {
        let tangle = [
            (0, 5),
            (0, 6),
            (1, 4),
            (1, 7),
            (2, 5),
            (3, 4),
            (4, 10),
            (5, 8),
            (6, 9),
            (6, 8),
            (7, 11),
            (7, 10),
        ];
        check(12, &tangle, 11, 0);
    }

    #[test]
    fn every_vertex_keeps_its_layer() {
        let mut graph = layered(&picture(5, &[(0, 3, ""), (1, 2, ""), (2, 3, ""), (0, 4, "a"), (1, 4, "b")]));
        let sorted = |graph: &Layered| {
            let mut layers = graph.layers.clone();
            layers.iter_mut().for_each(|layer| layer.sort());
            layers
        };
        let before = sorted(&graph);
        reduce_crossings(&mut graph);
        assert_eq!(sorted(&graph), before);
    }
}
