//! Text of the user as text of a picture: cleaned, measured, shortened.
//!
//! ```text
//! "a\tb\u{7}"  ->  "a b\u{fffd}"      "a very long path.png" in 60 px  ->  "a very …"
//! ```

/// How a row of text is set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Font {
    /// Height of the em square in px.
    pub size: f64,
    /// How much wider than the regular weight it runs.
    pub stretch: f64,
}

/// Body text.
pub(super) const REGULAR: Font = Font { size: 12.0, stretch: 1.0 };
/// The kind, before the name.
pub(super) const KIND: Font = Font { size: 13.0, stretch: 1.0 };
/// The name; bold faces run up to a fifth wider than regular ones.
pub(super) const NAME: Font = Font { size: 14.0, stretch: 1.2 };
/// What stands on an edge.
pub(super) const LABEL: Font = Font { size: 11.5, stretch: 1.0 };

/// Advance widths of U+0020..U+007F in hundredths of an em: the widest of the sans fonts in common use,
/// so that a picture fits whichever of them the reader has.
#[rustfmt::skip]
const ADVANCES: [u8; 95] = [
    32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34,
    64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 56,
    102, 68, 69, 72, 77, 67, 61, 78, 75, 29, 50, 67, 56, 86, 75, 79,
    67, 79, 72, 67, 61, 73, 68, 99, 69, 67, 69, 39, 34, 39, 84, 56,
    50, 61, 63, 55, 63, 62, 35, 63, 63, 28, 28, 58, 28, 97, 63, 61,
    63, 63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84,
];

/// `text` on one line: white space becomes a blank, and what cannot be shown becomes U+FFFD.
pub(super) fn one_line(text: &str) -> String {
    text.chars().map(visible).collect()
}

/// The lines of `text`, each cleaned, without white space at their ends.
pub(super) fn clean_lines(text: &str) -> Vec<String> {
    text.trim().lines().map(|line| one_line(line.trim_end())).collect()
}

/// A character that every format can hold. Marks that change the direction of writing are control characters
/// too: they could make a name look like another.
fn visible(c: char) -> char {
    match c {
        '\t' | '\n' | '\r' | '\u{2028}' | '\u{2029}' => ' ',
        '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => '\u{FFFD}',
        '\u{FFFE}' | '\u{FFFF}' => '\u{FFFD}',
        c if c.is_control() => '\u{FFFD}',
        c => c,
    }
}

/// How wide `text` runs at most, in px.
pub(super) fn width(text: &str, font: Font) -> f64 {
    text.chars().map(advance).sum::<f64>() * font.size * font.stretch
}

/// Width of one character in em; outside ASCII a full em, which holds ideographs, and more for pictographs.
fn advance(c: char) -> f64 {
    let ascii = (c as usize).checked_sub(0x20).and_then(|i| ADVANCES.get(i));
    match ascii {
        Some(hundredths) => f64::from(*hundredths) / 100.0,
        None if c >= '\u{1F000}' => 1.4,
        None => 1.0,
    }
}

/// `text`, or as much of its beginning as fits into `limit` px together with an ellipsis.
pub(super) fn shorten(text: &str, font: Font, limit: f64) -> String {
    let fits = |part: &str| width(part, font) <= limit;
    if fits(text) {
        return text.to_owned();
    }
    let room = limit - width("…", font);
    let mut used = 0.0;
    let keep = |c: &char| {
        used += advance(*c) * font.size * font.stretch;
        used <= room
    };
    let start: String = text.chars().take_while(keep).collect();
    format!("{}…", start.trim_end())
}

/// `text` in rows of at most `limit` px, broken after commas and indented; a part that is too long is shortened.
pub(super) fn wrap(text: &str, font: Font, limit: f64) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    for part in text.split_inclusive(", ") {
        let joined = rows.last().map(|row| format!("{row}{part}"));
        match joined.filter(|row| width(row.trim_end(), font) <= limit) {
            Some(joined) => _ = rows.last_mut().map(|row| *row = joined),
            None if rows.is_empty() => rows.push(part.to_owned()),
            None => rows.push(format!("    {part}")),
        }
    }
    rows.iter().map(|row| shorten(row.trim_end(), font, limit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_line(text: &str, expect: &str) {
        assert_eq!(one_line(text), expect);
    }

    #[test]
    fn control_characters_become_visible() {
        check_line("a\tb\r\nc", "a b  c");
        check_line("\u{0}\u{1b}[31m\u{7f}\u{85}", "\u{FFFD}\u{FFFD}[31m\u{FFFD}\u{FFFD}");
        check_line("\u{202e}gnp.\u{ffff}", "\u{FFFD}gnp.\u{FFFD}");
        check_line("höhe 3×3 高さ", "höhe 3×3 高さ");
    }

    #[test]
    fn lines_lose_white_space_at_their_ends() {
        assert_eq!(clean_lines("\n one \r\n  two\u{7}\n\n"), ["one", "  two\u{FFFD}"]);
    }

    #[test]
    fn wider_text_is_wider() {
        assert!(width("W", REGULAR) > width("i", REGULAR));
        assert!(width("name", NAME) > width("name", REGULAR));
        assert_eq!(width("", NAME), 0.0);
        assert_eq!(width("~", Font { size: 100.0, stretch: 1.0 }), 84.0);
        assert_eq!(width("\u{7f}高", Font { size: 10.0, stretch: 1.0 }), 20.0);
    }

    #[test]
    fn long_lists_are_broken_after_commas() {
        assert_eq!(wrap("f32[y: inf, x: inf]", REGULAR, 360.0), ["f32[y: inf, x: inf]"]);
        assert_eq!(wrap("f32[y: inf, x: 0..1000000]", REGULAR, 100.0), ["f32[y: inf,", "    x: 0..10000…"]);
        assert_eq!(wrap("a very long name of a file.png", REGULAR, 60.0), ["a very l…"]);
        assert_eq!(wrap("", REGULAR, 60.0), [""; 0]);
    }

    #[test]
    fn only_long_text_is_shortened() {
        assert_eq!(shorten("short", REGULAR, 100.0), "short");
        let cut = shorten("a very long name of a file.png", REGULAR, 60.0);
        assert_eq!(cut, "a very l…");
        assert!(width(&cut, REGULAR) <= 60.0);
    }
}
