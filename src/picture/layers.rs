//! Puts nodes into layers from top to bottom and gives long edges a bend in every layer they cross.
//!
//! ```text
//! a -> b -> c, a -> c   ->   layers [a], [b, bend of a -> c], [c]
//! ```
//!
//! A node's rank is the length of the longest path to it; a node with more readers than sources then sinks as
//! deep as its readers allow, which shortens more edges than it lengthens. Between two ranks with a label on an
//! edge lies one more layer, where labels are bends with a size: so no label can meet a box or another label.

use super::graph::{Chain, Extent, Heading, Layered, Role, Vertex, VertexMap};
use super::links::Link;

/// The most bends a picture gets: long edges beyond that are drawn straight, so that time stays bounded.
const MOST_BENDS: usize = 30_000;

/// A link between two different nodes, seen from above.
#[derive(Clone, Copy, Debug)]
struct Arc {
    link: usize,
    upper: usize,
    lower: usize,
    heading: Heading,
}

/// Puts the nodes, whose room is `nodes`, and the `links` between them into layers. A label takes as much room as
/// `label(link)` says.
pub(super) fn assign_layers(
    nodes: Vec<Extent>,
    links: &[Link],
    label: impl Fn(&Link) -> Option<Extent>,
) -> Layered {
    let arcs = arcs(nodes.len(), links);
    let ranks = ranks(nodes.len(), &arcs);
    let labels: Vec<Option<Extent>> = links.iter().map(label).collect();
    let layer_of_rank = layer_of_rank(&ranks, &arcs, &labels);
    let layers: Vec<usize> = ranks.iter().map(|rank| layer_of_rank[*rank]).collect();
    let mut builder = Builder::new(nodes, layers);
    // Short edges first, so that as many as possible get their bends.
    let mut by_length = arcs;
    by_length.sort_by_key(|arc| builder.length(arc));
    for arc in by_length {
        builder.add(arc, labels[arc.link]);
    }
    builder.graph.chains.sort_by_key(|chain| chain.link);
    builder.graph
}

/// The links that are no loops; a link that closes a cycle is turned round.
fn arcs(count: usize, links: &[Link]) -> Vec<Arc> {
    let order = flow_order(count, links);
    let mut position = vec![0; count];
    for (place, node) in order.into_iter().enumerate() {
        position[node] = place;
    }
    let arc = |(link, &Link { from, to, .. }): (usize, &Link)| {
        if position[from] < position[to] {
            Arc { link, upper: from, lower: to, heading: Heading::Down }
        } else {
            Arc { link, upper: to, lower: from, heading: Heading::Up }
        }
    };
    links.iter().enumerate().filter(|(_, link)| link.from != link.to).map(arc).collect()
}

/// All nodes, sources before readers. Where only cycles are left, the first node in the list opens its cycle.
fn flow_order(count: usize, links: &[Link]) -> Vec<usize> {
    let mut waits = vec![0_usize; count];
    let mut readers = vec![Vec::new(); count];
    for link in links.iter().filter(|link| link.from != link.to) {
        waits[link.to] += 1;
        readers[link.from].push(link.to);
    }
    let mut order: Vec<usize> = (0..count).filter(|node| waits[*node] == 0).collect();
    let mut taken: Vec<bool> = waits.iter().map(|n| *n == 0).collect();
    let (mut next, mut first_left) = (0, 0);
    while order.len() < count || next < order.len() {
        if next == order.len() {
            first_left += taken[first_left..].iter().take_while(|taken| **taken).count();
            order.push(first_left);
            taken[first_left] = true;
        }
        for reader in &readers[order[next]] {
            waits[*reader] -= 1;
            if waits[*reader] == 0 && !taken[*reader] {
                taken[*reader] = true;
                order.push(*reader);
            }
        }
        next += 1;
    }
    order
}

/// The rank of every node: all arcs lead to larger ranks, and each rank from 0 up to the last has a node.
fn ranks(count: usize, arcs: &[Arc]) -> Vec<usize> {
    let mut lower = vec![Vec::new(); count];
    let mut sources = vec![0_usize; count];
    for arc in arcs {
        lower[arc.upper].push(arc.lower);
        sources[arc.lower] += 1;
    }
    let mut ranks = vec![0; count];
    let mut waits = sources.clone();
    let mut order: Vec<usize> = (0..count).filter(|node| sources[*node] == 0).collect();
    let mut next = 0;
    while let Some(node) = order.get(next).copied() {
        next += 1;
        for reader in &lower[node] {
            ranks[*reader] = ranks[*reader].max(ranks[node] + 1);
            waits[*reader] -= 1;
            if waits[*reader] == 0 {
                order.push(*reader);
            }
        }
    }
    for node in order.into_iter().rev().filter(|node| lower[*node].len() > sources[*node]) {
        ranks[node] = lower[node].iter().map(|reader| ranks[*reader] - 1).min().unwrap_or(ranks[node]);
    }
    ranks
}

/// The layer of each rank, given that labels need a layer of their own above the rank that their arc leads to.
fn layer_of_rank(ranks: &[usize], arcs: &[Arc], labels: &[Option<Extent>]) -> Vec<usize> {
    let mut steps = vec![1; ranks.iter().max().map_or(0, |last| last + 1)];
    for arc in arcs.iter().filter(|arc| labels[arc.link].is_some()) {
        steps[ranks[arc.lower]] = 2;
    }
    let running_sum = |sum: &mut usize, step: usize| {
        *sum += step;
        Some(*sum - 1)
    };
    steps.into_iter().scan(0, running_sum).collect()
}

/// A layered graph under construction.
struct Builder {
    graph: Layered,
    /// The layer of each node.
    layers: Vec<usize>,
    /// How many more bends there may be.
    bends_left: usize,
}

impl Builder {
    fn new(nodes: Vec<Extent>, layers: Vec<usize>) -> Self {
        let count = nodes.len();
        let mut graph = Layered {
            layers: vec![Vec::new(); layers.iter().max().map_or(0, |last| last + 1)],
            above: VertexMap::new(count, |_| Vec::new()),
            below: VertexMap::new(count, |_| Vec::new()),
            extents: VertexMap(nodes),
            chains: Vec::new(),
        };
        for (node, layer) in layers.iter().enumerate() {
            graph.layers[*layer].push(Vertex(node));
        }
        Builder { graph, layers, bends_left: MOST_BENDS }
    }

    /// Over how many layers an arc leads.
    fn length(&self, arc: &Arc) -> usize {
        self.layers[arc.lower] - self.layers[arc.upper]
    }

    /// Adds the chain of `arc`, with bends as long as there may be more.
    fn add(&mut self, arc: Arc, label: Option<Extent>) {
        let between = self.layers[arc.upper] + 1..self.layers[arc.lower];
        let (upper, lower) = (Vertex(arc.upper), Vertex(arc.lower));
        let mut chain =
            Chain { link: arc.link, upper, bends: Vec::new(), lower, label_at: None, heading: arc.heading };
        if between.len() <= self.bends_left {
            self.bends_left -= between.len();
            chain.bends = between.map(|layer| self.add_bend(layer)).collect();
            self.connect(&chain.stops());
        }
        if let (Some(bend), Some(extent)) = (chain.bends.last(), label) {
            self.graph.extents[*bend] = extent;
            chain.label_at = Some(*bend);
        }
        self.graph.chains.push(chain);
    }

    fn add_bend(&mut self, layer: usize) -> Vertex {
        let vertex = Vertex(self.graph.len());
        self.graph.extents.0.push(Extent { left: 9.0, right: 9.0, height: 0.0, role: Role::Bend });
        self.graph.above.0.push(Vec::new());
        self.graph.below.0.push(Vec::new());
        self.graph.layers[layer].push(vertex);
        vertex
    }

    fn connect(&mut self, stops: &[Vertex]) {
        for pair in stops.windows(2) {
            self.graph.below[pair[0]].push(pair[1]);
            self.graph.above[pair[1]].push(pair[0]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::links::merge_edges;
    use crate::picture::tests::{layered, picture};

    fn check_ranks(count: usize, edges: &[(usize, usize)], expect: &[usize]) {
        let edges: Vec<(usize, usize, &str)> = edges.iter().map(|(a, b)| (*a, *b, "")).collect();
        let links = merge_edges(&picture(count, &edges));
        assert_eq!(ranks(count, &arcs(count, &links)), expect);
    }

    #[test]
    fn a_diamond_has_three_ranks() {
        check_ranks(4, &[(0, 1), (0, 2), (1, 3), (2, 3)], &[0, 1, 1, 2]);
    }

    #[test]
    fn the_longest_path_decides() {
        check_ranks(4, &[(0, 3), (0, 1), (1, 2), (2, 3)], &[0, 1, 2, 3]);
    }

    #[test]
    fn a_late_source_sinks_to_its_reader() {
        check_ranks(4, &[(0, 1), (1, 2), (3, 2)], &[0, 1, 2, 1]);
    }

    #[test]
    fn a_cycle_is_opened_at_its_first_node() {
        check_ranks(4, &[(3, 1), (0, 1), (1, 2), (2, 0)], &[0, 1, 2, 0]);
        check_ranks(2, &[(0, 1), (1, 0), (0, 0)], &[0, 1]);
        check_ranks(0, &[], &[]);
    }

    #[test]
    fn long_edges_bend_in_every_layer() {
        let graph = layered(&picture(3, &[(0, 1, ""), (1, 2, ""), (0, 2, "")]));
        assert_eq!(graph.layers, [vec![Vertex(0)], vec![Vertex(1), Vertex(3)], vec![Vertex(2)]]);
        assert_eq!(graph.chains[2].stops(), [Vertex(0), Vertex(3), Vertex(2)]);
        assert_eq!(graph.below[Vertex(0)], [Vertex(1), Vertex(3)]);
    }

    #[test]
    fn labels_get_a_layer_above_their_reader() {
        let graph = layered(&picture(3, &[(0, 1, ""), (1, 2, ""), (0, 2, "±1")]));
        let sizes: Vec<usize> = graph.layers.iter().map(Vec::len).collect();
        assert_eq!(sizes, [1, 2, 2, 1]);
        let chain = &graph.chains[2];
        assert_eq!(chain.label_at, Some(chain.bends[1]));
        assert_eq!(graph.chains[0].label_at, None);
    }

    #[test]
    fn too_long_edges_stay_straight() {
        let count = 400;
        let steps = (1..count).map(|node| (node - 1, node, ""));
        let skips = (2..count).map(|node| (0, node, "far"));
        let graph = layered(&picture(count, &steps.chain(skips).collect::<Vec<_>>()));
        assert!(graph.len() <= count + MOST_BENDS);
        let last = &graph.chains[2 * count - 4];
        assert_eq!((last.lower, last.bends.len(), last.label_at), (Vertex(count - 1), 0, None));
    }
}
