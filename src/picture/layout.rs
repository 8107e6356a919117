//! Lays a picture out: every node gets a box, every link a way from box to box.
//!
//! ```text
//! nodes a, b, edge a -> b   ->   boxes at (20, 20) and (20, 94), a track down from (68, 62) to (68, 94)
//! ```
//!
//! Laws, which the tests check: boxes do not overlap, labels overlap neither boxes nor each other, and the
//! picture's size holds them all. Unit: px; y grows downwards.

use super::Picture;
use super::card::{Card, card};
use super::graph::{Chain, Extent, Heading, Layered, Role, Vertex, VertexMap};
use super::layers::assign_layers;
use super::links::{Link, merge_edges};
use super::order::reduce_crossings;
use super::place::{place, span};
use super::ports::ports;
use super::straighten::straighten;
use super::text::{self, LABEL};
use std::collections::BTreeMap;

/// A picture with positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Width of the whole picture.
    pub width: f64,
    /// Height of the whole picture.
    pub height: f64,
    /// The box of each node, in the order of the picture.
    pub boxes: Vec<Rect>,
    /// The arrows; edges between the same two nodes share one.
    pub routes: Vec<Route>,
}

/// A rectangle by its upper left corner and its size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    /// Left side.
    pub x: f64,
    /// Upper side.
    pub y: f64,
    /// Size to the right.
    pub width: f64,
    /// Size downwards.
    pub height: f64,
}

/// One arrow.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// The node it comes from.
    pub from: usize,
    /// The node it goes to.
    pub to: usize,
    /// All that its edges say, in full.
    pub label: String,
    /// Its line.
    pub track: Track,
    /// The label as it is drawn; none when there is nothing to say or the graph is too large.
    pub tag: Option<Tag>,
}

/// The line of an arrow.
#[derive(Clone, Debug, PartialEq)]
pub enum Track {
    /// From top to bottom, with the head at the bottom.
    Down(Vec<Pillar>),
    /// From top to bottom, with the head at the top: it closes a cycle.
    Up(Vec<Pillar>),
    /// At the right side of the box, which it leaves and reaches at that height.
    Loop(Rect),
}

/// A vertical part of a line; smooth curves lead from one to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pillar {
    /// Where it stands.
    pub x: f64,
    /// Its upper end.
    pub top: f64,
    /// Its lower end.
    pub bottom: f64,
}

/// A label at its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Tag {
    /// The room it takes; the text is in the middle.
    pub rect: Rect,
    /// The label, shortened when it is long.
    pub text: String,
}

impl Rect {
    /// The x of the middle.
    pub fn centre(&self) -> f64 {
        self.x + self.width / 2.0
    }

    /// The y of the middle.
    pub fn middle(&self) -> f64 {
        self.y + self.height / 2.0
    }

    /// The right side.
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    /// The lower side.
    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }

    /// That they have a point in common that is inside both.
    pub fn overlaps(&self, other: &Rect) -> bool {
        let apart_in_x = self.right() <= other.x || other.right() <= self.x;
        let apart_in_y = self.bottom() <= other.y || other.bottom() <= self.y;
        !apart_in_x && !apart_in_y
    }
}

/// Above and below all.
const END_MARGIN: f64 = 20.0;
/// At the left and right of all; boxes bring margins of their own.
const SIDE_MARGIN: f64 = 5.0;
/// At each side of a box.
const NODE_MARGIN: f64 = 15.0;
/// At each side of a label.
const TAG_MARGIN: f64 = 4.0;
/// Around the text of a label.
const TAG_PADDING: f64 = 6.0;
const TAG_HEIGHT: f64 = 18.0;
const WIDEST_TAG: f64 = 160.0;
/// How long arrow heads are.
pub(super) const HEAD: f64 = 8.0;
/// How far a loop stands out of its box.
const LOOP_WIDTH: f64 = 26.0;
const LOOP_HEIGHT: f64 = 22.0;
/// The least distance of two layers of nodes.
const LEAST_GAP: f64 = 32.0;
/// The least distance of a layer of labels from others.
const LEAST_LABEL_GAP: f64 = 20.0;
const GAP_PER_SIDESTEP: f64 = 0.11;
const MOST_EXTRA_GAP: f64 = 72.0;

/// Lays `picture` out.
pub fn layout(picture: &Picture) -> Layout {
    let links = merge_edges(picture);
    let cards: Vec<Card> = picture.nodes.iter().map(card).collect();
    let mut graph = layered(&cards, &links);
    reduce_crossings(&mut graph);
    let mut x = place(&graph);
    let (left, right) = span(&graph, &x);
    // Whole numbers are crisp, and sums of them exact; the margins hold more than rounding can take.
    x.0.iter_mut().for_each(|x| *x = (*x + SIDE_MARGIN - left).round());
    let ports = ports_of_chains(&graph, &cards, &x);
    straighten(&graph, &ports, &mut x);
    let rows = rows(&graph, &x);
    let boxes = boxes(&graph, &cards, &x, &rows);
    let sketch = Sketch { graph: &graph, links: &links, boxes: &boxes, ports: &ports, rows: &rows, x: &x };
    let routes = routes(&sketch);
    let height = rows.last().map_or(0.0, |row| row.bottom) + END_MARGIN;
    Layout { width: right - left + 2.0 * SIDE_MARGIN, height, boxes, routes }
}

/// The cards and links as a graph in layers, in the order of the picture.
pub(super) fn layered(cards: &[Card], links: &[Link]) -> Layered {
    let mut extents: Vec<Extent> = cards.iter().map(node_extent).collect();
    for link in links.iter().filter(|link| link.from == link.to) {
        extents[link.from].right += LOOP_WIDTH + tag_width(&link.label);
    }
    let label = |link: &Link| (!link.label.is_empty()).then(|| tag_extent(&link.label));
    assign_layers(extents, links, label)
}

fn node_extent(card: &Card) -> Extent {
    let half = card.width / 2.0 + NODE_MARGIN;
    Extent { left: half, right: half, height: card.height, role: Role::Node }
}

fn tag_extent(label: &str) -> Extent {
    let half = tag_width(label) / 2.0 + TAG_MARGIN;
    Extent { left: half, right: half, height: TAG_HEIGHT, role: Role::Bend }
}

/// The label as it is drawn.
fn tag_text(label: &str) -> String {
    text::shorten(label, LABEL, WIDEST_TAG)
}

/// Nothing for no label.
fn tag_width(label: &str) -> f64 {
    if label.is_empty() { 0.0 } else { text::width(&tag_text(label), LABEL).ceil() + 2.0 * TAG_PADDING }
}

/// The x of the upper and the lower end of every chain.
fn ports_of_chains(graph: &Layered, cards: &[Card], x: &VertexMap<f64>) -> Vec<(f64, f64)> {
    let ends = |end: fn(&Chain) -> (Vertex, Vertex)| {
        let mut wishes: BTreeMap<Vertex, Vec<(f64, usize)>> = BTreeMap::new();
        for (i, (node, next)) in graph.chains.iter().map(end).enumerate() {
            wishes.entry(node).or_default().push((x[next], i));
        }
        let mut found = vec![0.0; graph.chains.len()];
        for (node, mut list) in wishes {
            list.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let wished: Vec<f64> = list.iter().map(|(x, _)| *x).collect();
            let ports = ports(x[node], cards[node.0].width, &wished);
            list.iter().zip(ports).for_each(|((_, i), port)| found[*i] = port);
        }
        found
    };
    let upper = ends(|chain| (chain.upper, chain.below_upper()));
    let lower = ends(|chain| (chain.lower, chain.above_lower()));
    upper.into_iter().zip(lower).collect()
}

/// The vertical room of one layer.
#[derive(Clone, Copy, Debug)]
struct Row {
    top: f64,
    bottom: f64,
}

/// Stacks the layers from the top.
fn rows(graph: &Layered, x: &VertexMap<f64>) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut top = END_MARGIN;
    for (i, layer) in graph.layers.iter().enumerate() {
        let bottom = top + layer.iter().map(|v| graph.extents[*v].height).fold(0.0, f64::max);
        rows.push(Row { top, bottom });
        let only_labels =
            [i, i + 1].iter().any(|i| graph.layers.get(*i).is_some_and(|l| has_no_node(graph, l)));
        let least = if only_labels { LEAST_LABEL_GAP } else { LEAST_GAP };
        top = bottom + least + extra_gap(graph, layer, x);
    }
    rows
}

fn has_no_node(graph: &Layered, layer: &[Vertex]) -> bool {
    layer.iter().all(|vertex| graph.extents[*vertex].role == Role::Bend)
}

/// More room below a layer from where an edge goes far to the side, so that it does not lie flat.
fn extra_gap(graph: &Layered, layer: &[Vertex], x: &VertexMap<f64>) -> f64 {
    let sidestep = |v: &Vertex| graph.below[*v].iter().map(|w| (x[*v] - x[*w]).abs()).fold(0.0, f64::max);
    let widest = layer.iter().map(sidestep).fold(0.0, f64::max);
    (widest * GAP_PER_SIDESTEP).min(MOST_EXTRA_GAP).round()
}

/// The boxes of the nodes, each in the middle of its row.
fn boxes(graph: &Layered, cards: &[Card], x: &VertexMap<f64>, rows: &[Row]) -> Vec<Rect> {
    let mut boxes = vec![Rect::default(); cards.len()];
    for (row, layer) in rows.iter().zip(&graph.layers) {
        for vertex in layer.iter().filter(|v| graph.extents[**v].role == Role::Node) {
            let Card { width, height, .. } = cards[vertex.0];
            let y = (row.top + row.bottom - height) / 2.0;
            boxes[vertex.0] = Rect { x: x[*vertex] - width / 2.0, y, width, height };
        }
    }
    boxes
}

/// All that routes are made of.
struct Sketch<'a> {
    graph: &'a Layered,
    links: &'a [Link],
    boxes: &'a [Rect],
    ports: &'a [(f64, f64)],
    rows: &'a [Row],
    x: &'a VertexMap<f64>,
}

/// The routes of all links, in their order.
fn routes(sketch: &Sketch<'_>) -> Vec<Route> {
    let row_of = row_of(sketch);
    let chains = sketch.graph.chains.iter().zip(sketch.ports);
    let mut routes: Vec<(usize, Route)> =
        chains.map(|(chain, ends)| (chain.link, chain_route(sketch, &row_of, chain, *ends))).collect();
    let loops = sketch.links.iter().enumerate().filter(|(_, link)| link.from == link.to);
    routes.extend(loops.map(|(i, link)| (i, loop_route(sketch, link))));
    routes.sort_by_key(|(link, _)| *link);
    routes.into_iter().map(|(_, route)| route).collect()
}

fn row_of(sketch: &Sketch<'_>) -> VertexMap<Row> {
    let mut row_of = VertexMap::new(sketch.graph.len(), |_| Row { top: 0.0, bottom: 0.0 });
    for (row, layer) in sketch.rows.iter().zip(&sketch.graph.layers) {
        layer.iter().for_each(|vertex| row_of[*vertex] = *row);
    }
    row_of
}

/// The route of a chain whose upper and lower end are at these x.
fn chain_route(sketch: &Sketch<'_>, row_of: &VertexMap<Row>, chain: &Chain, ends: (f64, f64)) -> Route {
    let (upper, lower) = (row_of[chain.upper], row_of[chain.lower]);
    let mut first = Pillar { x: ends.0, top: sketch.boxes[chain.upper.0].bottom(), bottom: upper.bottom };
    let mut last = Pillar { x: ends.1, top: lower.top, bottom: sketch.boxes[chain.lower.0].y };
    match chain.heading {
        Heading::Down => last.top -= HEAD,
        Heading::Up => first.bottom += HEAD,
    }
    let bend = |v: &Vertex| Pillar { x: sketch.x[*v], top: row_of[*v].top, bottom: row_of[*v].bottom };
    let pillars =
        std::iter::once(first).chain(chain.bends.iter().map(bend)).chain(std::iter::once(last)).collect();
    let link = &sketch.links[chain.link];
    let tag = chain.label_at.map(|bend| tag(&link.label, sketch.x[bend], row_of[bend]));
    let track = match chain.heading {
        Heading::Down => Track::Down(pillars),
        Heading::Up => Track::Up(pillars),
    };
    Route { from: link.from, to: link.to, label: link.label.clone(), track, tag }
}

/// The label around `x`, in the middle of its row.
fn tag(label: &str, x: f64, row: Row) -> Tag {
    let width = tag_width(label);
    let y = (row.top + row.bottom - TAG_HEIGHT) / 2.0;
    Tag { rect: Rect { x: x - width / 2.0, y, width, height: TAG_HEIGHT }, text: tag_text(label) }
}

/// A loop at the right of its box, with the label further right.
fn loop_route(sketch: &Sketch<'_>, link: &Link) -> Route {
    let node = sketch.boxes[link.from];
    let y = node.middle() - LOOP_HEIGHT / 2.0;
    let rect = Rect { x: node.right(), y, width: LOOP_WIDTH, height: LOOP_HEIGHT };
    let centre = rect.right() + tag_width(&link.label) / 2.0;
    let row = Row { top: node.y, bottom: node.bottom() };
    let tag = (!link.label.is_empty()).then(|| tag(&link.label, centre, row));
    Route { from: link.from, to: link.to, label: link.label.clone(), track: Track::Loop(rect), tag }
}
