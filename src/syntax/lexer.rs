//! Text -> tokens, comments and what is wrong with the text.
//!
//! ```text
//! use blend  # ramps       tokens: Use, Ident (a word after `use` is a name)   comments: `# ramps`
//! param a = 12abc          tokens: Param, Ident, Equals, Bad                   problems: E0103
//! ```

use super::number::{Number, NumberError, parse_number};
use super::strings::bad_escape;
use super::token::{Kind, Token};
use crate::diagnostic::{Code, Diagnostic, Result, quoted};
use crate::source::{MAX_SOURCE_BYTES, SourceId, Sources, Span};
use logos::Logos;

/// The most tokens of one script, comments not counted.
pub const MAX_TOKENS: usize = 1_000_000;

/// The most errors that are reported of one script; one more is kept to know that there are more.
pub const MAX_ERRORS: usize = 100;

/// `# …` and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Comment {
    /// First byte.
    pub(super) start: u32,
    /// One past the last byte that is not white space.
    pub(super) end: u32,
    /// The first token of its line.
    pub(super) own_line: bool,
    /// `##` as the first token of its line: documents the item that follows.
    pub(super) documents: bool,
}

/// A text cut into tokens.
#[derive(Debug, Default)]
pub(super) struct Lexed {
    /// All but the comments; those of kind [`Kind::Bad`] have a problem each.
    pub(super) tokens: Vec<Token>,
    /// In order.
    pub(super) comments: Vec<Comment>,
    /// In order.
    pub(super) problems: Vec<Diagnostic>,
    /// Over a limit: the tokens are not all there.
    pub(super) gave_up: bool,
}

/// Cuts `text`, the text of `source`.
pub(super) fn lex(source: SourceId, text: &str) -> Lexed {
    let mut lexed = Lexed::default();
    if text.len() > MAX_SOURCE_BYTES {
        lexed.give_up(too_large(text.len()));
        return lexed;
    }
    let skipped = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let mut lexer = Kind::lexer(text);
    lexer.bump(skipped);
    while let Some(kind) = lexer.next() {
        let at = lexer.span();
        let mut token = Token { kind: kind.unwrap_or(Kind::Bad), start: at.start as u32, end: at.end as u32 };
        if token.kind == Kind::Bad {
            lexed.widen(&mut token, text);
            lexer.bump(token.end as usize - at.end);
        }
        lexed.take(token, source, text);
        if lexed.tokens.len() > MAX_TOKENS {
            lexed.give_up(too_many(Span::new(source, at.start, at.end)));
            break;
        }
    }
    lexed
}

/// The tokens of a text, comments included, one `start..end Kind text` per line.
pub fn tokens(sources: &Sources, id: SourceId) -> String {
    let text = &*sources.get(id).text;
    let lexed = lex(id, text);
    let comment = |comment: &Comment| Token { kind: Kind::Comment, start: comment.start, end: comment.end };
    let mut all: Vec<Token> = lexed.comments.iter().map(comment).chain(lexed.tokens).collect();
    all.sort_by_key(|token| token.start);
    all.iter().map(|token| token_line(*token, text)).collect()
}

fn token_line(token: Token, text: &str) -> String {
    let Token { kind, start, end } = token;
    let visible = |c: char| if c.is_control() { c.escape_unicode().to_string() } else { c.to_string() };
    let written: String = text[token.range()].chars().map(visible).collect();
    format!("{start}..{end} {kind:?} {written}\n")
}

impl Lexed {
    fn give_up(&mut self, why: Diagnostic) {
        self.tokens.clear();
        self.problems.push(why);
        self.gave_up = true;
    }

    /// Stretches a bad token over all of a foreign word or a run of bad characters.
    fn widen(&mut self, token: &mut Token, text: &str) {
        let first = text[token.range()].chars().next().unwrap_or(' ');
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let joins = |last: &mut Token| last.kind == Kind::Ident && last.end == token.start;
        if first.is_alphanumeric()
            && let Some(word) = self.tokens.pop_if(joins)
        {
            token.start = word.start;
        }
        let rest = &text[token.end as usize..];
        let more =
            if first.is_alphanumeric() { rest.find(|c| !is_word(c)) } else { rest.find(|c| c != first) };
        token.end += more.unwrap_or(rest.len()) as u32;
    }

    fn take(&mut self, mut token: Token, source: SourceId, text: &str) {
        if token.kind == Kind::Comment {
            return self.comments.push(comment(token, text));
        }
        if token.kind.is_keyword() && self.takes_any_word() {
            token.kind = Kind::Ident;
        }
        match check(token, source, text) {
            Ok(kind) => token.kind = kind,
            Err(problem) => {
                token.kind = Kind::Bad;
                if self.problems.len() <= MAX_ERRORS {
                    self.problems.push(*problem);
                }
            }
        }
        self.tokens.push(token);
    }

    /// After `use` and `.` a keyword is a name; the point of `1.` is no such `.`, but half a float.
    fn takes_any_word(&self) -> bool {
        match self.tokens.as_slice() {
            [.., number, dot] if dot.kind == Kind::Dot => number.kind != Kind::Int || number.end != dot.start,
            [.., last] => matches!(last.kind, Kind::Use | Kind::Dot),
            [] => false,
        }
    }
}

fn comment(token: Token, text: &str) -> Comment {
    let before = &text[..token.start as usize];
    let line = before[before.rfind('\n').map_or(0, |at| at + 1)..].trim_start_matches('\u{feff}');
    let own_line = line.trim_end_matches([' ', '\t', '\r']).is_empty();
    let written = text[token.range()].trim_end();
    let end = token.start + written.len() as u32;
    Comment { start: token.start, end, own_line, documents: own_line && written.starts_with("##") }
}

/// The kind of a token that looks right so far, or what is wrong with it.
fn check(token: Token, source: SourceId, text: &str) -> Result<Kind> {
    let written = &text[token.range()];
    let span = Span { source, start: token.start, end: token.end };
    if matches!(token.kind, Kind::Int | Kind::Float) {
        let number = parse_number(written).map_err(|error| Box::new(bad_number(error, written, span)))?;
        return Ok(if matches!(number, Number::Int(_)) { Kind::Int } else { Kind::Float });
    }
    if token.kind == Kind::Str
        && let Some((at, c)) = bad_escape(&written[1..written.len() - 1])
    {
        return unknown_escape(span, at, c).err();
    }
    if token.kind == Kind::OpenStr {
        return open_string(span, written).err();
    }
    if token.kind == Kind::Bad {
        return bad_character(span, written).err();
    }
    Ok(token.kind)
}

fn bad_number(error: NumberError, written: &str, span: Span) -> Diagnostic {
    let name = quoted(written);
    let malformed =
        |what: &str| Diagnostic::new(Code::E0103, format!("{name} is not a number")).at(span, what);
    match error {
        NumberError::Letters(at) => {
            let (digits, letters) = written.split_at(at);
            malformed(&format!("{} follows {}", quoted(letters), quoted(digits)))
                .help(letters_help(digits, letters))
        }
        NumberError::NoHexDigits => malformed("no digit after `0x`").help("write at least one digit: `0x0`"),
        NumberError::NoExponent => malformed("no digit after `e`").help("write the exponent: `1e-3`"),
        NumberError::Separator => {
            malformed("`_` is not between two digits").help("write single `_` between digits: `1_000`")
        }
        NumberError::IntTooLarge => {
            Diagnostic::new(Code::E0104, format!("{name} is larger than the largest integer, 2^64 - 1"))
                .at(span, "does not fit in 64 bits")
                .help("write a float if it is meant as one: `1e20`")
        }
        NumberError::FloatTooLarge => {
            Diagnostic::new(Code::E0104, format!("{name} is larger than the largest float, about 1.8e308"))
                .at(span, "does not fit in an f64")
                .help("write `inf` for infinity")
        }
    }
}

fn letters_help(digits: &str, letters: &str) -> String {
    match (digits, letters.as_bytes()) {
        ("0", [b'X', ..]) => "write hexadecimal numbers with a small x: `0xff`".into(),
        (hex, _) if hex.starts_with("0x") => {
            "write digits and the letters `a` to `f` after `0x`: `0xff`".into()
        }
        ("0", [b'b' | b'o' | b'B' | b'O', ..]) => "write the number in decimal or hexadecimal: `0xff`".into(),
        (_, [b'f' | b'i' | b'u', ..]) => format!("write a cast to choose a type: `f32({digits})`"),
        _ => format!("write `{digits} * {letters}` for a product, or start the name with a letter"),
    }
}

fn unknown_escape(string: Span, at: usize, c: char) -> Diagnostic {
    let start = string.range().start + 1 + at;
    let escape = Span::new(string.source, start, start + 1 + c.len_utf8());
    Diagnostic::new(Code::E0106, format!("unknown escape {}", quoted(&format!("\\{c}"))))
        .at(escape, "not an escape")
        .help("write `\\\\` for a backslash; the escapes are `\\n`, `\\t`, `\\\"` and `\\\\`")
}

fn open_string(span: Span, written: &str) -> Diagnostic {
    let shown = Span { end: span.start + written.trim_end().len() as u32, ..span };
    Diagnostic::new(Code::E0105, "the string has no end on this line")
        .at(shown, "starts here")
        .help("add the closing `\"`; write `\\n` for a new line")
}

fn bad_character(span: Span, written: &str) -> Diagnostic {
    let first = written.chars().next().unwrap_or(' ');
    if first.is_alphanumeric() || first == '_' {
        return Diagnostic::new(Code::E0101, format!("{} is not a name", quoted(written)))
            .at(span, "has other letters than `a` to `z`")
            .help("write names with the letters `a` to `z` and `A` to `Z`, digits and `_`");
    }
    let many = if written.chars().nth(1).is_some() { "characters" } else { "character" };
    let diagnostic = Diagnostic::new(Code::E0101, format!("unexpected {many} {}", quoted(written)))
        .at(span, "not part of the language");
    match instead(first) {
        Some(sign) => diagnostic.help(format!("write {sign}")),
        None if first.is_control() => diagnostic.help("remove the control character"),
        None => diagnostic,
    }
}

/// What to write for a character that looks like one of ours, or means something elsewhere.
fn instead(c: char) -> Option<&'static str> {
    Some(match c {
        '“' | '”' | '„' | '«' | '»' | '‘' | '’' | '\'' => "`\"` around a string",
        '−' | '–' | '—' | '‐' | '‑' => "`-`",
        '×' | '·' | '∙' => "`*`",
        '÷' | '∕' => "`/`",
        '→' => "`->`",
        '⇒' => "`=>`",
        '≤' => "`<=`",
        '≥' => "`>=`",
        '≠' => "`!=`",
        '…' => "`...`",
        '@' => "`sum(k in 0..n) a[y, k] * b[k, x]` for a product of matrices",
        '\\' => "nothing: a line may end anywhere",
        '∞' => "`inf`",
        '∑' => "`sum(i in a..b)`",
        '！' | '!' => "`not`",
        '（' => "`(`",
        '）' => "`)`",
        '，' => "`,`",
        '：' => "`:`",
        '；' => "`;`",
        '\u{a0}' | '\u{2000}'..='\u{200b}' | '\u{202f}' | '\u{3000}' | '\u{feff}' => "an ordinary space",
        '?' => "`if c then a else b`, or `inf` for a dimension without end",
        _ => return None,
    })
}

fn too_large(bytes: usize) -> Diagnostic {
    let text = format!("the script has {bytes} bytes, more than the limit of {MAX_SOURCE_BYTES}");
    Diagnostic::new(Code::E0119, text).help("read large tables with an `input` item")
}

fn too_many(span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0119, format!("the script has more than {MAX_TOKENS} words and signs"))
        .at(span, "the first one too many")
        .help("read large tables with an `input` item, and move parts into files of their own")
}

#[cfg(test)]
mod tests {
    use super::super::token::ITEM_WORDS;
    use super::*;

    fn check(text: &str, expect: &[Kind]) {
        let kinds: Vec<Kind> = lex(SourceId(0), text).tokens.iter().map(|token| token.kind).collect();
        assert_eq!(kinds, expect, "{text}");
    }

    #[test]
    fn keywords_are_the_words_of_the_language() {
        let words = "use_ param let fn window input var tensor view output set take stride offset map as blend init chunk \
                     format from extern if then else in and or not true false inf";
        let tokens = lex(SourceId(0), words).tokens;
        assert_eq!(tokens.iter().filter(|token| token.kind.is_keyword()).count(), 31);
        assert_eq!(tokens.iter().filter(|token| token.kind.starts_item()).count(), ITEM_WORDS.len() - 1);
        check("use _ inf2 Sum", &[Kind::Use, Kind::Ident, Kind::Ident, Kind::Ident]);
    }

    #[test]
    fn any_word_follows_use_and_a_point() {
        check("use map", &[Kind::Use, Kind::Ident]);
        check("a.stride", &[Kind::Ident, Kind::Dot, Kind::Ident]);
        check("1. set", &[Kind::Int, Kind::Dot, Kind::Set]);
    }

    #[test]
    fn the_longest_sign_wins() {
        check("a**-b", &[Kind::Ident, Kind::StarStar, Kind::Minus, Kind::Ident]);
        check("0..=3", &[Kind::Int, Kind::DotDotEquals, Kind::Int]);
        check("-5*..n*", &[Kind::Minus, Kind::Int, Kind::Star, Kind::DotDot, Kind::Ident, Kind::Star]);
        check("1.5..2e-3", &[Kind::Float, Kind::DotDot, Kind::Float]);
        check(
            "[...,::2]",
            &[
                Kind::LBracket,
                Kind::Ellipsis,
                Kind::Comma,
                Kind::Colon,
                Kind::Colon,
                Kind::Int,
                Kind::RBracket,
            ],
        );
        check("0x1e-3", &[Kind::Int, Kind::Minus, Kind::Int]);
    }

    #[test]
    fn what_is_wrong_is_one_token() {
        check("12abc 1.5f größe2 @@@ \"open", &[Kind::Bad; 5]);
    }

    #[test]
    fn comments_know_their_line() {
        let comments = lex(SourceId(0), "## a \r\nb ## c\n  # d\n").comments;
        let facts: Vec<_> = comments.iter().map(|c| (c.start, c.end, c.own_line, c.documents)).collect();
        assert_eq!(facts, [(0, 4, true, true), (9, 13, false, false), (16, 19, true, false)]);
    }
}
