//! The looks of an SVG picture: one style sheet, for light and for dark pages.
//!
//! ```text
//! .itp-graph .input .shape{fill:#e3f0fa;stroke:#0064a0}   @media (prefers-color-scheme: dark){…}
//! ```
//!
//! Hues are those that all common kinds of colour blindness tell apart; shapes and words say the same again.

use super::NodeKind;
use super::text::{Font, KIND, LABEL, NAME, REGULAR};

/// Colours of one kind of node.
pub(super) struct Paint {
    /// Inside.
    pub fill: &'static str,
    /// Outline, and the word of the kind.
    pub line: &'static str,
}

/// Colours of everything else.
pub(super) struct Page {
    /// Behind everything.
    pub paper: &'static str,
    /// Names and labels.
    pub ink: &'static str,
    /// The lines below a name.
    pub faint: &'static str,
    /// Arrows.
    pub edge: &'static str,
}

/// A light page, which DOT and Mermaid assume too.
pub(super) const LIGHT: Page = Page { paper: "#ffffff", ink: "#1b1f24", faint: "#4a535e", edge: "#6a7480" };
const DARK: Page = Page { paper: "#0f1318", ink: "#f0f3f6", faint: "#b4bdc8", edge: "#8b96a3" };

/// The colours of a kind on a light page.
pub(super) fn light(kind: NodeKind) -> Paint {
    let (fill, line) = match kind {
        NodeKind::Input => ("#e3f0fa", "#0064a0"),
        NodeKind::Var => ("#fdf1d3", "#8f5f00"),
        NodeKind::Tensor => ("#f3f5f7", "#57606a"),
        NodeKind::Windowed => ("#dff5ec", "#00704f"),
        NodeKind::Recurrence => ("#fde8dc", "#b04a00"),
        NodeKind::View => ("#ffffff", "#1f6f9f"),
        NodeKind::Output => ("#f8e6f0", "#99407a"),
    };
    Paint { fill, line }
}

fn dark(kind: NodeKind) -> Paint {
    let (fill, line) = match kind {
        NodeKind::Input => ("#0c2a40", "#56b4e9"),
        NodeKind::Var => ("#352906", "#e6a817"),
        NodeKind::Tensor => ("#20262d", "#a3adb8"),
        NodeKind::Windowed => ("#06302a", "#2fc79b"),
        NodeKind::Recurrence => ("#3a1d0a", "#f0874a"),
        NodeKind::View => ("#0f1318", "#7cc4ee"),
        NodeKind::Output => ("#381a2e", "#e39ac4"),
    };
    Paint { fill, line }
}

/// The whole style sheet. All rules are about `.itp-graph`, so that a page may hold the picture inline.
pub(super) fn style_sheet() -> String {
    let light_rules = colours(&LIGHT, light);
    let dark_rules = colours(&DARK, dark);
    format!(
        "{}{light_rules}@media (prefers-color-scheme:dark){{\n{dark_rules}}}\n",
        [
            ".itp-graph text{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,\
             \"DejaVu Sans\",sans-serif;white-space:pre}\n",
            &font(".line", REGULAR),
            &font(".kind", KIND),
            &font(".name", NAME),
            &font(".tag text", LABEL),
            ".itp-graph .name{font-weight:600}\n.itp-graph .tag text,.itp-graph .line{text-anchor:middle}\n",
            ".itp-graph .shape{stroke-width:1.5;stroke-linejoin:round}\n",
            ".itp-graph .trim{fill:none;stroke-width:1.2}\n.itp-graph .view .shape{stroke-dasharray:6 4}\n",
            ".itp-graph .track{fill:none;stroke-width:1.5}\n",
        ]
        .concat()
    )
}

fn font(selector: &str, font: Font) -> String {
    format!(".itp-graph {selector}{{font-size:{}px}}\n", font.size)
}

fn colours(page: &Page, paint: impl Fn(NodeKind) -> Paint) -> String {
    let Page { paper, ink, faint, edge } = page;
    let page_rules = format!(
        ".itp-graph .paper,.itp-graph .tag rect{{fill:{paper}}}\n\
         .itp-graph .name,.itp-graph .tag text{{fill:{ink}}}\n.itp-graph .line{{fill:{faint}}}\n\
         .itp-graph .track{{stroke:{edge}}}\n.itp-graph .head{{fill:{edge}}}\n"
    );
    let kind_rules = NodeKind::ALL.map(|kind| {
        let (word, Paint { fill, line }) = (kind.word(), paint(kind));
        format!(
            ".itp-graph .{word} .shape{{fill:{fill};stroke:{line}}}\n\
             .itp-graph .{word} .trim{{stroke:{line}}}\n.itp-graph .{word} .kind{{fill:{line}}}\n"
        )
    });
    page_rules + &kind_rules.concat()
}
