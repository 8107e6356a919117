//! String literals: `a\tb` as written -> the characters it stands for.

/// The first escape that the language does not have, and its byte in `inner`.
pub(super) fn bad_escape(inner: &str) -> Option<(usize, char)> {
    let mut chars = inner.char_indices();
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            match chars.next() {
                Some((_, 'n' | 't' | '"' | '\\')) | None => {}
                Some((_, other)) => return Some((at, other)),
            }
        }
    }
    None
}

/// `inner` with its escapes undone; it has no bad ones.
pub(super) fn unescape(inner: &str) -> String {
    let mut chars = inner.chars();
    let mut text = String::with_capacity(inner.len());
    while let Some(c) = chars.next() {
        text.push(if c == '\\' { chars.next().map_or('\\', meaning) } else { c });
    }
    text
}

fn meaning(escaped: char) -> char {
    match escaped {
        'n' => '\n',
        't' => '\t',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_stand_for_characters() {
        assert_eq!(unescape(r#"a\n\t\"\\é"#), "a\n\t\"\\é");
        assert_eq!(bad_escape(r#"a\n\t\"\\é"#), None);
    }

    #[test]
    fn other_escapes_are_found() {
        assert_eq!(bad_escape(r"ab\\\q"), Some((4, 'q')));
        assert_eq!(bad_escape(r"C:\data"), Some((2, 'd')));
    }
}
