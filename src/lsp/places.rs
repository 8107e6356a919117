//! Positions of the protocol <-> bytes, and addresses <-> paths.
//!
//! ```text
//! "# 𝒜\nlet a"   byte 7 is line 1, character 1;  𝒜 is one character, 4 bytes and 2 units of UTF-16
//! file:///home/me/my%20map.itp                  /home/me/my map.itp
//! ```
//!
//! The protocol counts in units of UTF-16. Positions beyond the end of a line or a text mean the end.

use lsp_types::{Position, Range, Uri};
use std::path::{Path, PathBuf};

/// A text and where its lines start.
#[derive(Debug)]
pub(super) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    /// Finds the lines of a text.
    pub(super) fn new(text: &'t str) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Lines { text, starts: std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect() }
    }

    /// Where a byte is; in the middle of a character, where that starts.
    pub(super) fn position(&self, byte: usize) -> Position {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        let line = self.starts.partition_point(|start| *start <= byte) - 1;
        let units = self.text[self.starts[line]..byte].encode_utf16().count();
        Position::new(line as u32, units as u32)
    }

    /// Where bytes are.
    pub(super) fn range(&self, bytes: std::ops::Range<usize>) -> Range {
        Range::new(self.position(bytes.start), self.position(bytes.end))
    }

    /// The byte at a position.
    pub(super) fn byte(&self, position: Position) -> usize {
        let Some(start) = self.starts.get(position.line as usize).copied() else { return self.text.len() };
        let line = self.text[start..].split('\n').next().unwrap_or_default().trim_end_matches('\r');
        let mut units = 0;
        for (at, c) in line.char_indices() {
            if units >= position.character as usize {
                return start + at;
            }
            units += c.len_utf16();
        }
        start + line.len()
    }

    /// The bytes of a range, whichever end comes first.
    pub(super) fn bytes(&self, range: Range) -> std::ops::Range<usize> {
        let (a, b) = (self.byte(range.start), self.byte(range.end));
        a.min(b)..a.max(b)
    }
}

/// The path that an address names, if it names a file.
pub(super) fn path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = &rest[rest.find('/')?..];
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.bytes();
    while let Some(byte) = left.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [left.next()?, left.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    let text = String::from_utf8(bytes).ok()?;
    // `/c:/maps/a.itp` is a path of Windows.
    let drive = text.as_bytes().get(2) == Some(&b':');
    Some(PathBuf::from(if drive { &text[1..] } else { &text }))
}

/// The address of a path.
pub(super) fn uri(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    let text = if text.starts_with('/') { text } else { format!("/{text}") };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    let escaped = |byte: u8| if plain(byte) { (byte as char).to_string() } else { format!("%{byte:02X}") };
    let path: String = text.bytes().map(escaped).collect();
    format!("file://{path}")
}

/// An address as the protocol's types want it; those of editors are right.
pub(super) fn parsed(uri: &str) -> Option<Uri> {
    uri.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_in_utf_16() {
        let lines = Lines::new("# 𝒜é\r\nlet a");
        let check = |byte: usize, line: u32, character: u32| {
            assert_eq!(lines.position(byte), Position::new(line, character), "{byte}");
            assert_eq!(lines.byte(Position::new(line, character)), byte);
        };
        check(0, 0, 0);
        check(2, 0, 2);
        check(6, 0, 4);
        check(8, 0, 5);
        check(10, 1, 0);
        check(15, 1, 5);
        assert_eq!(lines.byte(Position::new(0, 99)), 8);
        assert_eq!(lines.byte(Position::new(9, 0)), 15);
        assert_eq!(lines.position(4), Position::new(0, 2));
    }

    #[test]
    fn addresses_and_paths() {
        let check = |address: &str, expect: Option<&str>| {
            assert_eq!(path(address).as_deref(), expect.map(Path::new), "{address}");
        };
        check("file:///home/me/my%20map.itp", Some("/home/me/my map.itp"));
        check("file:///c%3A/maps/a.itp", Some("c:/maps/a.itp"));
        check("untitled:Untitled-1", None);
        check("file:///bad%2", None);
        assert_eq!(uri(Path::new("/home/me/my map.itp")), "file:///home/me/my%20map.itp");
    }
}
