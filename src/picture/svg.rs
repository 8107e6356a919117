//! A picture as SVG, without outside tools.
//!
//! ```text
//! node `blur`  ->  <g class="node tensor"><title>tensor blur</title><rect …/><text …>…</text></g>
//! ```
//!
//! Every text passes through [`escape`], which leaves nothing that XML could trip over.

use super::card::{Card, LINE_ROW, NAME_ROW, WORD_GAP, card};
use super::layout::{HEAD, Pillar, Rect, Route, Tag, Track, layout};
use super::style::style_sheet;
use super::text;
use super::{NodeKind, Picture, PictureNode};

/// Draws `picture`: edges below, nodes above. The drawing follows the reader's light or dark theme.
pub fn to_svg(picture: &Picture) -> String {
    if picture.nodes.is_empty() {
        return empty();
    }
    let layout = layout(picture);
    let edges: String = layout.routes.iter().map(|route| edge(picture, route)).collect();
    let nodes: String = picture.nodes.iter().zip(&layout.boxes).map(|(n, rect)| node(n, rect)).collect();
    let summary = format!("pipeline of {} nodes and {} edges", picture.nodes.len(), layout.routes.len());
    document(layout.width, layout.height, &summary, &(edges + &nodes))
}

/// What a pipeline without nodes looks like.
fn empty() -> String {
    let text = "<text class=\"line\" x=\"80\" y=\"34\">empty pipeline</text>\n";
    document(160.0, 60.0, "empty pipeline", text)
}

pub(super) fn document(width: f64, height: f64, summary: &str, body: &str) -> String {
    let (width, height) = (number(width.ceil()), number(height.ceil()));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"itp-graph\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{}\">\n<style>\n{}</style>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{body}</svg>\n",
        escape(summary),
        style_sheet()
    )
}

fn edge(picture: &Picture, route: &Route) -> String {
    let (from, to) = (&picture.nodes[route.from].name, &picture.nodes[route.to].name);
    let label = if route.label.is_empty() { String::new() } else { format!(": {}", route.label) };
    let title = escape(&text::one_line(&format!("{from} → {to}{label}")));
    let (line, head) = line_and_head(&route.track);
    let tag = route.tag.as_ref().map(tag).unwrap_or_default();
    format!(
        "<g class=\"edge\"><title>{title}</title><path class=\"track\" d=\"{line}\"/>\
         <path class=\"head\" d=\"{head}\"/>{tag}</g>\n"
    )
}

/// The paths of the line and of the arrow head.
fn line_and_head(track: &Track) -> (String, String) {
    match track {
        Track::Down(pillars) => {
            let tip = pillars.last().map(|p| format!("M{} {}", number(p.x), number(p.bottom)));
            (line(pillars), tip.unwrap_or_default() + "l-4.5 -9h9z")
        }
        Track::Up(pillars) => {
            let tip = pillars.first().map(|p| format!("M{} {}", number(p.x), number(p.top)));
            (line(pillars), tip.unwrap_or_default() + "l-4.5 9h9z")
        }
        Track::Loop(rect) => loop_line(rect),
    }
}

/// One line through all pillars; curves leave and reach them vertically, so it has no corners.
fn line(pillars: &[Pillar]) -> String {
    let mut path = String::new();
    let mut before: Option<&Pillar> = None;
    for pillar in pillars {
        path += &before.map_or_else(|| start(pillar), |before| curve(before, pillar));
        if pillar.bottom != pillar.top {
            path += &format!("V{}", number(pillar.bottom));
        }
        before = Some(pillar);
    }
    path
}

fn start(pillar: &Pillar) -> String {
    format!("M{} {}", number(pillar.x), number(pillar.top))
}

fn curve(from: &Pillar, to: &Pillar) -> String {
    let half = number((from.bottom + to.top) / 2.0);
    let (from_x, to_x, y) = (number(from.x), number(to.x), number(to.top));
    if from_x == to_x { format!("V{y}") } else { format!("C{from_x} {half} {to_x} {half} {to_x} {y}") }
}

/// A loop that leaves its box low and comes back high.
fn loop_line(rect: &Rect) -> (String, String) {
    let (x, top, bottom) = (number(rect.x), number(rect.y), number(rect.bottom()));
    // A cubic reaches three quarters of the way to its control points.
    let far = number(rect.x + (rect.width - 3.0) * 4.0 / 3.0);
    let neck = number(rect.x + HEAD);
    (format!("M{x} {bottom}C{far} {bottom} {far} {top} {neck} {top}"), format!("M{x} {top}l9 -4.5v9z"))
}

fn tag(tag: &Tag) -> String {
    let Rect { x, y, width, height } = tag.rect;
    format!(
        "<g class=\"tag\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\"/>\
         <text x=\"{}\" y=\"{}\">{}</text></g>",
        number(x),
        number(y),
        number(width),
        number(height),
        number(tag.rect.centre()),
        number(tag.rect.middle() + 4.0),
        escape(&tag.text)
    )
}

fn node(node: &PictureNode, rect: &Rect) -> String {
    format!(
        "<g class=\"node {}\"><title>{}</title>{}{}</g>\n",
        node.kind.word(),
        escape(&title(node)),
        shape(node.kind, rect),
        rows(node, &card(node), rect)
    )
}

/// All that is known of a node, in full.
fn title(node: &PictureNode) -> String {
    let mut lines = node.rows();
    lines.extend(node.tooltip.iter().flat_map(|tooltip| text::clean_lines(tooltip)));
    lines.join("\n")
}

/// The text of a node, in the middle of its box.
fn rows(node: &PictureNode, card: &Card, rect: &Rect) -> String {
    let (x, middle) = text_centre(node.kind, rect);
    let top = middle - (NAME_ROW + LINE_ROW * card.lines.len() as f64) / 2.0;
    let name = title_row(node, card, x, top + 14.5);
    let line = |(i, line): (usize, &String)| {
        let y = number(top + NAME_ROW + LINE_ROW * i as f64 + 12.0);
        format!("<text class=\"line\" x=\"{}\" y=\"{y}\">{}</text>", number(x), escape(line))
    };
    name + &card.lines.iter().enumerate().map(line).collect::<String>()
}

/// The middle of what a shape leaves for text.
fn text_centre(kind: NodeKind, rect: &Rect) -> (f64, f64) {
    let (dx, dy) = match kind {
        NodeKind::Input => (0.0, 3.0),
        NodeKind::Windowed => (-3.0, -3.0),
        NodeKind::Var | NodeKind::Tensor | NodeKind::Recurrence | NodeKind::View | NodeKind::Output => {
            (0.0, 0.0)
        }
    };
    (rect.centre() + dx, rect.middle() + dy)
}

/// Kind and name as one centred row, whatever the widths of the reader's font.
fn title_row(node: &PictureNode, card: &Card, x: f64, y: f64) -> String {
    format!(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\"><tspan class=\"kind\">{}</tspan>\
         <tspan class=\"name\" dx=\"{WORD_GAP}\">{}</tspan></text>",
        number(x),
        number(y),
        node.kind.word(),
        escape(&card.name)
    )
}

/// The outline of a kind, within `rect`.
fn shape(kind: NodeKind, rect: &Rect) -> String {
    match kind {
        NodeKind::Input => cylinder(rect),
        NodeKind::Var => rounded(rect, 3.0, "shape") + &side_bars(rect),
        NodeKind::Tensor | NodeKind::View => rounded(rect, 8.0, "shape"),
        NodeKind::Windowed => stack(rect),
        NodeKind::Recurrence => rounded(rect, 10.0, "shape") + &rounded(&inset(rect, 3.5), 7.0, "trim"),
        NodeKind::Output => page(rect),
    }
}

fn rounded(rect: &Rect, radius: f64, class: &str) -> String {
    let [x, y, width, height] = [rect.x, rect.y, rect.width, rect.height].map(number);
    format!(
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{radius}\"/>"
    )
}

fn inset(rect: &Rect, by: f64) -> Rect {
    Rect { x: rect.x + by, y: rect.y + by, width: rect.width - 2.0 * by, height: rect.height - 2.0 * by }
}

/// The sign for stored data.
fn cylinder(rect: &Rect) -> String {
    let [x, right, top, bottom] = [rect.x, rect.right(), rect.y + 7.0, rect.bottom() - 7.0].map(number);
    let radius = number(rect.width / 2.0);
    format!(
        "<path class=\"shape\" d=\"M{x} {top}A{radius} 7 0 0 1 {right} {top}V{bottom}A{radius} 7 0 0 1 {x} {bottom}z\"/>\
         <path class=\"trim\" d=\"M{x} {top}A{radius} 7 0 0 0 {right} {top}\"/>"
    )
}

/// Bars at both sides.
fn side_bars(rect: &Rect) -> String {
    let [left, right, y, bottom] = [rect.x + 7.0, rect.right() - 7.0, rect.y, rect.bottom()].map(number);
    format!("<path class=\"trim\" d=\"M{left} {y}V{bottom}M{right} {y}V{bottom}\"/>")
}

/// Three sheets, one over the other, as windows overlap.
fn stack(rect: &Rect) -> String {
    let sheet = |shift: f64| {
        let (x, y) = (rect.x + shift, rect.y + shift);
        rounded(&Rect { x, y, width: rect.width - 6.0, height: rect.height - 6.0 }, 5.0, "shape")
    };
    [6.0, 3.0, 0.0].map(sheet).concat()
}

/// A sheet of paper with a corner folded down.
fn page(rect: &Rect) -> String {
    let [x, y, right, bottom] = [rect.x, rect.y, rect.right(), rect.bottom()].map(number);
    let [fold_x, fold_y] = [rect.right() - 13.0, rect.y + 13.0].map(number);
    format!(
        "<path class=\"shape\" d=\"M{x} {y}H{fold_x}L{right} {fold_y}V{bottom}H{x}z\"/>\
         <path class=\"trim\" d=\"M{fold_x} {y}V{fold_y}H{right}\"/>"
    )
}

/// A coordinate with at most one digit after the point.
pub(super) fn number(value: f64) -> String {
    // Adding zero turns -0 into 0.
    format!("{}", (value * 10.0).round() / 10.0 + 0.0)
}

/// Text as XML, in content and in attributes. Control characters were made visible before.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_xml_are_escaped() {
        assert_eq!(escape("a<b> & \"c\" 'd' ]]>"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39; ]]&gt;");
    }

    #[test]
    fn numbers_are_short() {
        let shown = [12.0, 0.25, -0.04, 3.06, 1e6].map(number);
        assert_eq!(shown, ["12", "0.3", "0", "3.1", "1000000"]);
    }

    #[test]
    fn lines_are_straight_or_smooth() {
        let stop = |x, top, bottom| Pillar { x, top, bottom };
        assert_eq!(line(&[stop(5.0, 0.0, 4.0), stop(5.0, 20.0, 30.0)]), "M5 0V4V20V30");
        assert_eq!(line(&[stop(5.0, 0.0, 0.0), stop(9.0, 20.0, 30.0)]), "M5 0C5 10 9 10 9 20V30");
    }
}
