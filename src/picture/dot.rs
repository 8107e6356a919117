//! A picture as DOT, the language of Graphviz.
//!
//! ```text
//! node `blur`, edge 0 -> 1 "±1"  ->  n1 [label="tensor blur", …];  n0 -> n1 [label="±1"];
//! ```

use super::style::{Paint, light};
use super::text;
use super::{NodeKind, Picture, PictureEdge, PictureNode};

/// Writes `picture` for `dot`.
pub fn to_dot(picture: &Picture) -> String {
    let count = picture.nodes.len();
    let nodes: String = picture.nodes.iter().enumerate().map(|(i, n)| node(i, n)).collect();
    let edges: String = picture.edges.iter().filter(|e| e.from < count && e.to < count).map(edge).collect();
    format!(
        "digraph pipeline {{\n    rankdir=TB;\n    node [fontname=\"Helvetica\", fontsize=12];\n    \
         edge [fontname=\"Helvetica\", fontsize=11];\n{nodes}{edges}}}\n"
    )
}

fn node(index: usize, node: &PictureNode) -> String {
    let label = lines(&node.rows());
    let (looks, Paint { fill, line }) = (looks(node.kind), light(node.kind));
    let tooltip = node.tooltip.as_ref().map(|tooltip| text::clean_lines(tooltip));
    let tooltip = tooltip.map(|tooltip| format!(", tooltip=\"{}\"", lines(&tooltip))).unwrap_or_default();
    format!("    n{index} [label=\"{label}\", {looks}, fillcolor=\"{fill}\", color=\"{line}\"{tooltip}];\n")
}

fn edge(edge: &PictureEdge) -> String {
    let label = escape(&text::one_line(&edge.label));
    let label = if label.is_empty() { label } else { format!(" [label=\"{label}\"]") };
    format!("    n{} -> n{}{label};\n", edge.from, edge.to)
}

/// Shapes as near to those of the SVG as Graphviz has them.
fn looks(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Input => "shape=cylinder, style=filled",
        NodeKind::Var => "shape=component, style=filled",
        NodeKind::Tensor => "shape=box, style=\"rounded,filled\"",
        NodeKind::Windowed => "shape=box3d, style=filled",
        NodeKind::Recurrence => "shape=box, peripheries=2, style=\"rounded,filled\"",
        NodeKind::View => "shape=box, style=\"rounded,filled,dashed\"",
        NodeKind::Output => "shape=note, style=filled",
    }
}

/// Lines of one quoted string.
fn lines(lines: &[String]) -> String {
    lines.iter().map(|line| escape(line)).collect::<Vec<_>>().join("\\n")
}

/// Text inside a quoted string. Graphviz reads entities even there, so `&` is one.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('&', "&amp;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_backslashes_and_entities_are_escaped() {
        assert_eq!(escape(r#"a"b\N&lt;"#), r#"a\"b\\N&amp;lt;"#);
        assert_eq!(lines(&["a".into(), "b\\".into()]), r"a\nb\\");
    }
}
