//! Pipeline graphs as pictures: a neutral graph becomes SVG, DOT or Mermaid text.
//!
//! ```text
//! nodes: input photo, tensor blur      ->   ╭───────────────╮
//! edges: photo -> blur, label "±1"          │  input photo  │
//!                                           ╰───────┬───────╯
//!                                                  ±1
//!                                           ╭───────▼───────╮
//!                                           │  tensor blur  │
//!                                           ╰───────────────╯
//! ```
//!
//! The same picture always gives the same text. Names, lines and tooltips are the user's own words, so every
//! format escapes them; edges that name a node which does not exist are left out. SVG needs no outside tool:
//! [`layout()`] puts nodes into layers from top to bottom and `svg` draws what it found.

mod card;
mod dot;
mod graph;
mod layers;
mod layout;
mod links;
mod mermaid;
mod order;
mod place;
mod ports;
mod straighten;
mod style;
mod svg;
mod text;
mod timeline;

pub use dot::to_dot;
pub use layout::{Layout, Pillar, Rect, Route, Tag, Track, layout};
pub use mermaid::to_mermaid;
pub use svg::to_svg;
pub use timeline::{Chart, ChartLane, to_timeline_svg};

/// A graph to be drawn: what the pipeline's tensors are and who reads whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// The boxes; edges name them by their place in this list.
    pub nodes: Vec<PictureNode>,
    /// The arrows, along the flow of data: from what is read to who reads it.
    pub edges: Vec<PictureEdge>,
}

/// One box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureNode {
    /// Shown in bold: `height`, or the path of an output.
    pub name: String,
    /// Says shape, colour and the word before the name.
    pub kind: NodeKind,
    /// Shown below the name, such as `f32[y: inf, x: inf]`.
    pub lines: Vec<String>,
    /// The doc comment, shown where the pointer rests.
    pub tooltip: Option<String>,
}

/// One arrow; an edge from a node to itself is drawn as a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureEdge {
    /// The node that is read.
    pub from: usize,
    /// The node that reads.
    pub to: usize,
    /// How it reads, such as `±1` or `3×3`; may be empty.
    pub label: String,
}

/// What a box stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeKind {
    /// Data from a file or from the host.
    Input,
    /// A writable tensor.
    Var,
    /// A pointwise tensor.
    Tensor,
    /// A tensor computed window by window.
    Windowed,
    /// A tensor that reads itself.
    Recurrence,
    /// Another way to look at a tensor; moves no data.
    View,
    /// A file that is written.
    Output,
}

impl NodeKind {
    /// Every kind, in the order of the declaration.
    pub const ALL: [NodeKind; 7] = [
        NodeKind::Input,
        NodeKind::Var,
        NodeKind::Tensor,
        NodeKind::Windowed,
        NodeKind::Recurrence,
        NodeKind::View,
        NodeKind::Output,
    ];

    /// The word that tells the kind without colour or shape.
    pub fn word(self) -> &'static str {
        match self {
            NodeKind::Input => "input",
            NodeKind::Var => "var",
            NodeKind::Tensor => "tensor",
            NodeKind::Windowed => "windowed",
            NodeKind::Recurrence => "recurrence",
            NodeKind::View => "view",
            NodeKind::Output => "output",
        }
    }
}

impl PictureNode {
    /// The rows of text of a box: `tensor blur`, then its lines, each fit for one line of a picture.
    fn rows(&self) -> Vec<String> {
        let title = format!("{} {}", self.kind.word(), text::one_line(&self.name));
        std::iter::once(title.trim_end().to_owned())
            .chain(self.lines.iter().map(|line| text::one_line(line)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture of `count` tensors `t0`, `t1`… with these edges.
    pub(super) fn picture(count: usize, edges: &[(usize, usize, &str)]) -> Picture {
        let node = |i| PictureNode {
            name: format!("t{i}"),
            kind: NodeKind::Tensor,
            lines: Vec::new(),
            tooltip: None,
        };
        let edge = |(from, to, label): &(usize, usize, &str)| PictureEdge {
            from: *from,
            to: *to,
            label: (*label).into(),
        };
        Picture { nodes: (0..count).map(node).collect(), edges: edges.iter().map(edge).collect() }
    }

    /// Its layers before they are put into order.
    pub(super) fn layered(picture: &Picture) -> graph::Layered {
        let cards: Vec<card::Card> = picture.nodes.iter().map(card::card).collect();
        layout::layered(&cards, &links::merge_edges(picture))
    }
}
