//! The graph between the steps of the layout: nodes and bends in layers.
//!
//! ```text
//! a -> c over one layer, with b beside   ->   layer 0:  a
//!                                             layer 1:  b  ·      (· is a bend of the edge a -> c)
//!                                             layer 2:  c
//! ```
//!
//! Invariant: every segment runs between neighbouring layers, so later steps look at two layers at a time.

use std::ops::{Index, IndexMut};

/// A node of the picture, or a bend of an edge; the nodes come first, in the order of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Vertex(pub usize);

/// One value for each vertex.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct VertexMap<T>(pub Vec<T>);

impl<T> Index<Vertex> for VertexMap<T> {
    type Output = T;
    fn index(&self, vertex: Vertex) -> &T {
        &self.0[vertex.0]
    }
}

impl<T> IndexMut<Vertex> for VertexMap<T> {
    fn index_mut(&mut self, vertex: Vertex) -> &mut T {
        &mut self.0[vertex.0]
    }
}

impl<T> VertexMap<T> {
    /// `value(v)` for each of `count` vertices.
    pub(super) fn new(count: usize, value: impl Fn(Vertex) -> T) -> Self {
        VertexMap((0..count).map(|v| value(Vertex(v))).collect())
    }
}

/// Room that a vertex takes around its point, margins included, in px.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    /// To the left.
    pub left: f64,
    /// To the right; more than to the left when a loop hangs there.
    pub right: f64,
    /// From top to bottom.
    pub height: f64,
    /// Node or bend.
    pub role: Role,
}

/// What a vertex is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A box of the picture.
    Node,
    /// A point that an edge passes through.
    Bend,
}

/// Which end of a chain bears the arrow head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heading {
    /// The lower end, as data flows.
    Down,
    /// The upper end: the edge closes a cycle.
    Up,
}

/// The way of one link through the layers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chain {
    /// Which link, by its place in the list.
    pub link: usize,
    /// The node at its upper end.
    pub upper: Vertex,
    /// One bend in each layer between, from the top; none when the graph is too large for them.
    pub bends: Vec<Vertex>,
    /// The node at its lower end.
    pub lower: Vertex,
    /// The bend that holds the label.
    pub label_at: Option<Vertex>,
    /// Where the arrow head goes.
    pub heading: Heading,
}

/// Vertices in layers, each from left to right.
#[derive(Clone, Debug)]
pub(super) struct Layered {
    /// The layers from top to bottom.
    pub layers: Vec<Vec<Vertex>>,
    /// Neighbours in the layer above.
    pub above: VertexMap<Vec<Vertex>>,
    /// Neighbours in the layer below.
    pub below: VertexMap<Vec<Vertex>>,
    /// How much room each takes.
    pub extents: VertexMap<Extent>,
    /// The ways of all links that are no loops.
    pub chains: Vec<Chain>,
}

impl Chain {
    /// All vertices from the upper to the lower end.
    pub(super) fn stops(&self) -> Vec<Vertex> {
        let bends = self.bends.iter().copied();
        std::iter::once(self.upper).chain(bends).chain(std::iter::once(self.lower)).collect()
    }

    /// The stop after the upper end.
    pub(super) fn below_upper(&self) -> Vertex {
        self.bends.first().copied().unwrap_or(self.lower)
    }

    /// The stop before the lower end.
    pub(super) fn above_lower(&self) -> Vertex {
        self.bends.last().copied().unwrap_or(self.upper)
    }
}

impl Layered {
    /// How many vertices there are.
    pub(super) fn len(&self) -> usize {
        self.extents.0.len()
    }

    /// The place of every vertex in its layer, counted from the left.
    pub(super) fn places(&self) -> VertexMap<usize> {
        places(&self.layers, self.len())
    }

    /// The layer of every vertex, counted from the top.
    pub(super) fn layer_of(&self) -> VertexMap<usize> {
        let mut layer_of = VertexMap::new(self.len(), |_| 0);
        for (i, layer) in self.layers.iter().enumerate() {
            layer.iter().for_each(|vertex| layer_of[*vertex] = i);
        }
        layer_of
    }
}

/// The place in its layer of each of `count` vertices.
pub(super) fn places(layers: &[Vec<Vertex>], count: usize) -> VertexMap<usize> {
    let mut places = VertexMap::new(count, |_| 0);
    for (place, vertex) in layers.iter().flat_map(|layer| layer.iter().enumerate()) {
        places[*vertex] = place;
    }
    places
}
