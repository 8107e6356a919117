//! A node becomes a card: its rows of text, set and measured.
//!
//! ```text
//! tensor `blur`, ["f32[y: inf, x: inf]"]  ->  129 × 58 px: "tensor" "blur" / "f32[y: inf, x: inf]"
//! ```

use super::text::{self, KIND, NAME, REGULAR};
use super::{NodeKind, PictureNode};

/// What is written in a box, and how large the box must be.
#[derive(Clone, Debug)]
pub(super) struct Card {
    /// The name as it is shown, after the word of the kind.
    pub name: String,
    /// The lines as they are shown.
    pub lines: Vec<String>,
    /// Width of the box in px.
    pub width: f64,
    /// Height of the box in px.
    pub height: f64,
}

/// Room at the left and right of the text.
const SIDE: f64 = 16.0;
/// Room above and below the text.
const END: f64 = 11.0;
/// Height of the row with the name.
pub(super) const NAME_ROW: f64 = 20.0;
/// Height of every other row.
pub(super) const LINE_ROW: f64 = 16.0;
/// Between the kind and the name.
pub(super) const WORD_GAP: f64 = 5.0;
/// No row runs wider; the tooltip holds the whole text.
const WIDEST: f64 = 360.0;
/// Narrower boxes look lost.
const NARROWEST: f64 = 96.0;

/// Sets the text of `node`.
pub(super) fn card(node: &PictureNode) -> Card {
    let word = text::width(node.kind.word(), KIND) + WORD_GAP;
    let name = text::shorten(&text::one_line(&node.name), NAME, WIDEST - word);
    let rows = |line: &String| text::wrap(&text::one_line(line), REGULAR, WIDEST);
    let lines: Vec<String> = node.lines.iter().flat_map(rows).collect();
    let title = word + text::width(&name, NAME);
    let widest = lines.iter().map(|line| text::width(line, REGULAR)).fold(title, f64::max);
    let (side, end) = ornament(node.kind);
    Card {
        width: (widest + 2.0 * (SIDE + side)).max(NARROWEST).ceil(),
        height: 2.0 * (END + end) + NAME_ROW + LINE_ROW * lines.len() as f64,
        name,
        lines,
    }
}

/// Room that the shape of a kind takes at each side and at each end, in px.
fn ornament(kind: NodeKind) -> (f64, f64) {
    match kind {
        NodeKind::Input => (0.0, 5.0),
        NodeKind::Var => (7.0, 0.0),
        NodeKind::Windowed => (3.0, 3.0),
        NodeKind::Recurrence => (3.0, 2.0),
        NodeKind::Output => (5.0, 0.0),
        NodeKind::Tensor | NodeKind::View => (0.0, 0.0),
    }
}
