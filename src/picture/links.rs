//! Edges that run between the same two nodes become one link with all their labels.
//!
//! ```text
//! a -> b "±1", a -> b "3×3", a -> b "±1"  ->  a -> b "±1, 3×3"
//! ```

use super::Picture;
use super::text;
use std::collections::{BTreeMap, BTreeSet};

/// One arrow of the drawing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// Where the data comes from, a node of the picture.
    pub from: usize,
    /// Where it goes.
    pub to: usize,
    /// The different labels of its edges, joined by commas.
    pub label: String,
}

/// The links of `picture`, in the order of their first edges; edges to nowhere are left out.
pub(super) fn merge_edges(picture: &Picture) -> Vec<Link> {
    let count = picture.nodes.len();
    let mut links: Vec<Link> = Vec::new();
    let mut places = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for edge in picture.edges.iter().filter(|edge| edge.from < count && edge.to < count) {
        let (from, to) = (edge.from, edge.to);
        let place = *places.entry((from, to)).or_insert(links.len());
        if place == links.len() {
            links.push(Link { from, to, label: String::new() });
        }
        if seen.insert((place, edge.label.as_str())) {
            append(&mut links[place].label, &edge.label);
        }
    }
    links
}

/// Adds `more` to a list in words.
fn append(list: &mut String, more: &str) {
    if !list.is_empty() && !more.is_empty() {
        list.push_str(", ");
    }
    list.push_str(&text::one_line(more));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::tests::picture;

    #[test]
    fn parallel_edges_share_a_link() {
        let links =
            merge_edges(&picture(3, &[(0, 1, "±1"), (1, 2, ""), (0, 1, "3×3"), (0, 1, "±1"), (0, 9, "")]));
        let link = |from, to, label: &str| Link { from, to, label: label.into() };
        assert_eq!(links, [link(0, 1, "±1, 3×3"), link(1, 2, "")]);
    }
}
