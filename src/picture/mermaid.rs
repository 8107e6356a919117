//! A picture as Mermaid text, which many Markdown viewers draw.
//!
//! ```text
//! node `blur`, edge 0 -> 1 "±1"  ->  n1("tensor blur"):::tensor   n0 -->|"±1"| n1
//! ```

use super::style::{LIGHT, Paint, light};
use super::text;
use super::{NodeKind, Picture, PictureEdge, PictureNode};

/// Writes `picture` as a flow chart. Viewers refuse large ones unless told otherwise (by default 500 edges).
pub fn to_mermaid(picture: &Picture) -> String {
    let count = picture.nodes.len();
    let nodes: String = picture.nodes.iter().enumerate().map(|(i, n)| node(i, n)).collect();
    let edges: String = picture.edges.iter().filter(|e| e.from < count && e.to < count).map(edge).collect();
    let tooltips: String = picture.nodes.iter().enumerate().filter_map(|(i, n)| tooltip(i, n)).collect();
    let classes: String = NodeKind::ALL.into_iter().filter_map(|kind| class(picture, kind)).collect();
    format!("flowchart TD\n{nodes}{edges}{tooltips}{classes}")
}

fn node(index: usize, node: &PictureNode) -> String {
    let (open, close) = brackets(node.kind);
    format!("    n{index}{open}\"{}\"{close}:::{}\n", lines(&node.rows()), node.kind.word())
}

fn edge(edge: &PictureEdge) -> String {
    let label = escape(&text::one_line(&edge.label));
    let label = if label.is_empty() { label } else { format!("|\"{label}\"|") };
    format!("    n{} -->{label} n{}\n", edge.from, edge.to)
}

/// Mermaid shows a tooltip only together with something to call; there is no such function, so a click is void.
fn tooltip(index: usize, node: &PictureNode) -> Option<String> {
    let text = lines(&text::clean_lines(node.tooltip.as_ref()?));
    (!text.is_empty()).then(|| format!("    click n{index} itp_tooltip \"{text}\"\n"))
}

/// The looks of a kind, if a node has them.
fn class(picture: &Picture, kind: NodeKind) -> Option<String> {
    let used = picture.nodes.iter().any(|node| node.kind == kind);
    let (word, Paint { fill, line }, ink) = (kind.word(), light(kind), LIGHT.ink);
    let stroke = match kind {
        NodeKind::Recurrence => ",stroke-width:3px",
        NodeKind::View => ",stroke-dasharray:6 4",
        NodeKind::Input | NodeKind::Var | NodeKind::Tensor | NodeKind::Windowed | NodeKind::Output => "",
    };
    used.then(|| format!("    classDef {word} fill:{fill},stroke:{line},color:{ink}{stroke}\n"))
}

/// Shapes as near to those of the SVG as Mermaid has them in every version.
fn brackets(kind: NodeKind) -> (&'static str, &'static str) {
    match kind {
        NodeKind::Input => ("[(", ")]"),
        NodeKind::Var => ("[[", "]]"),
        NodeKind::Tensor | NodeKind::View => ("(", ")"),
        NodeKind::Windowed => ("{{", "}}"),
        NodeKind::Recurrence => ("([", "])"),
        NodeKind::Output => ("[/", "/]"),
    }
}

/// Lines of one quoted string.
fn lines(lines: &[String]) -> String {
    lines.iter().map(|line| escape(line)).collect::<Vec<_>>().join("<br/>")
}

/// Text inside a quoted string. Mermaid knows no backslash but entities that begin with `#`; besides the marks of
/// HTML and Markdown, `%%{` would start a directive even within quotes, and `1.` or `-` at the start of a line a
/// list. A line with the words `style` or `classDef` can lose the semicolon of its last entity, so they become
/// other words until entities are read.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, c) in text.char_indices() {
        if is_special(c) || starts_list(&text[..i], c) {
            out.push_str(&format!("#{};", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out.replace("style", "#115;tyle").replace("classDef", "#99;lassDef")
}

fn is_special(c: char) -> bool {
    matches!(c, '"' | '#' | '&' | '<' | '>' | '`' | '\\' | '%' | '*' | '$')
}

/// That Markdown takes `c` after `before` for the sign of a list.
fn starts_list(before: &str, c: char) -> bool {
    let before = before.trim_start();
    match c {
        '-' | '+' => before.is_empty(),
        '.' | ')' => before.bytes().all(|b| b.is_ascii_digit()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        assert_eq!(escape(text), expect);
    }

    #[test]
    fn marks_become_entities() {
        check("f32[y: inf, x: 0..4]", "f32[y: inf, x: 0..4]");
        check("\"a\" #1 <b> & `c` \\n 5%", "#34;a#34; #35;1 #60;b#62; #38; #96;c#96; #92;n 5#37;");
        check("style: classDef", "#115;tyle: #99;lassDef");
    }

    #[test]
    fn nothing_starts_a_list() {
        check("- a - b", "#45; a - b");
        check(" 12. a 3. b", " 12#46; a 3. b");
        check("x1. a", "x1. a");
    }
}
