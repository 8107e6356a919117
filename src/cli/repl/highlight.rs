//! A line -> the same line in colours, word by word as the lexer cuts it.

use crate::source::Sources;
use crate::syntax::{Word, WordKind, words};

/// The words of a line.
pub(super) fn words_of(line: &str) -> Vec<Word> {
    let mut sources = Sources::default();
    let id = sources.add("<typed>", line);
    words(&sources, id)
}

/// The line with escape sequences; without them it is the same bytes.
pub fn highlight(line: &str) -> String {
    let mut text = String::with_capacity(2 * line.len());
    let skip = if line.starts_with(':') { line.find(char::is_whitespace).unwrap_or(line.len()) } else { 0 };
    if skip > 0 {
        text.push_str(&format!("\x1b[36m{}\x1b[0m", &line[..skip]));
    }
    let mut done = skip;
    for word in words_of(&line[skip..]) {
        let (start, end) = (word.range.start + skip, word.range.end + skip);
        text.push_str(&line[done..start]);
        match colour(word.kind) {
            Some(colour) => text.push_str(&format!("\x1b[{colour}m{}\x1b[0m", &line[start..end])),
            None => text.push_str(&line[start..end]),
        }
        done = end;
    }
    text + &line[done..]
}

fn colour(kind: WordKind) -> Option<&'static str> {
    match kind {
        WordKind::Keyword => Some("35"),
        WordKind::Number => Some("33"),
        WordKind::Text => Some("32"),
        WordKind::Comment => Some("90"),
        WordKind::Name | WordKind::Sign => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_the_colours_of_their_kinds() {
        let check = |line: &str, expect: &str| assert_eq!(highlight(line), expect, "{line}");
        check("", "");
        check("param k = 2 # why", "\x1b[35mparam\x1b[0m k = \x1b[33m2\x1b[0m \x1b[90m# why\x1b[0m");
        check(":show a[0]", "\x1b[36m:show\x1b[0m a[\x1b[33m0\x1b[0m]");
        check(" € é", " € é");
    }
}
