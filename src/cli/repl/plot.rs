//! Numbers in a row -> a curve of dots, eight in a character.
//!
//! ```text
//!     1 ┤⠀⡠⠊⠉⠢⡀
//!       │⡰⠁    ⠱⡀
//!    -1 ┤        ⠑
//!        0        99
//! ```

use super::screen::Screen;
use super::table::float_text;

/// Rows of characters of a curve.
const ROWS: usize = 12;

/// The dots of a character, by row and column, as bits of a Braille letter.
const DOTS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// The curve of `values`, the first of which is at the coordinate `first`.
pub fn plot(values: &[f64], first: i64, screen: &Screen) -> String {
    let finite = values.iter().filter(|value| value.is_finite());
    let (lo, hi) =
        finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), value| (lo.min(*value), hi.max(*value)));
    if lo > hi {
        return "no finite elements".to_owned();
    }
    let (top, bottom) = (float_text(hi), float_text(lo));
    let label = top.len().max(bottom.len());
    let columns = screen.columns.saturating_sub(label + 4).max(8).min(values.len().div_ceil(2).max(1));
    let rows = ROWS.min(screen.rows.saturating_sub(3).max(2));
    let canvas = dots(values, (lo, hi), columns, rows);
    let mut lines = Vec::new();
    for (row, line) in canvas.chunks(columns).enumerate() {
        let (name, axis) = match row {
            0 => (top.as_str(), '┤'),
            row if row + 1 == rows => (bottom.as_str(), '┤'),
            _ => ("", '│'),
        };
        let line: String = line.iter().map(|bits| braille(*bits)).collect();
        lines.push(format!("{name:>label$} {axis}{}", line.trim_end()));
    }
    let last = first + values.len() as i64 - 1;
    let (start, end) = (first.to_string(), last.to_string());
    let gap = columns.saturating_sub(start.len() + end.len()).max(1);
    let end = if values.len() > 1 { format!("{}{end}", " ".repeat(gap)) } else { String::new() };
    lines.push(format!("{:label$}  {start}{end}", ""));
    lines.join("\n")
}

fn braille(bits: u8) -> char {
    if bits == 0 { ' ' } else { char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' ') }
}

/// One byte of dots per character. Every column of dots goes from the lowest to the highest of the values that it
/// stands for, and on to where the next one begins.
fn dots(values: &[f64], (lo, hi): (f64, f64), columns: usize, rows: usize) -> Vec<u8> {
    let (wide, high) = (2 * columns, 4 * rows);
    let level = |value: f64| {
        let part = if hi > lo { (value - lo) / (hi - lo) } else { 0.5 };
        high - 1 - (part * (high - 1) as f64).round() as usize
    };
    let mut canvas = vec![0; columns * rows];
    let mut before: Option<usize> = None;
    for x in 0..wide.min(values.len().max(1)) {
        let count = wide.min(values.len());
        let span =
            x * values.len() / count..((x + 1) * values.len() / count).max(x * values.len() / count + 1);
        let levels = values[span].iter().filter(|value| value.is_finite()).map(|value| level(*value));
        let levels: Vec<usize> = levels.collect();
        let (Some(last), Some(mut top), Some(mut bottom)) =
            (levels.last().copied(), levels.iter().min().copied(), levels.iter().max().copied())
        else {
            before = None;
            continue;
        };
        // A steep curve stays in one piece.
        match before {
            Some(before) if before + 1 < top => top = before + 1,
            Some(before) if before > bottom + 1 => bottom = before - 1,
            Some(_) | None => {}
        }
        for y in top..=bottom {
            canvas[y / 4 * columns + x / 2] |= DOTS[y % 4][x % 2];
        }
        before = Some(last);
    }
    canvas
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_drawn_in_dots() {
        let screen = Screen { columns: 20, rows: 5, ..Screen::plain() };
        let line: Vec<f64> = (0..8).map(f64::from).collect();
        assert_eq!(plot(&line, -3, &screen), "7 ┤  ⡠⠊\n0 ┤⡠⠊\n   -3 4");
        assert_eq!(plot(&[f64::NAN], 0, &screen), "no finite elements");
        assert_eq!(plot(&[2.0], 5, &screen), "2 ┤⡀\n2 ┤\n   5");
        let step: Vec<f64> = (0..4).map(|x| f64::from(x / 2)).collect();
        assert_eq!(plot(&step, 0, &screen), "1 ┤ ⡏\n0 ┤⣀⠇\n   0 3");
    }
}
