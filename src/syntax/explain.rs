//! Where the generated parser stopped -> a message that a person can use.
//!
//! ```text
//! tensor height f32[…] = …     expected `:`, found `f32`
//! ```
//!
//! [`hints`](super::hints) knows the common slips; this file says what was expected when it is none of them.

use super::builder::Builder;
use super::hints;
use super::token::{Kind, Token};
use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::source::{SourceId, Span};
use std::ops::Range;

/// Tokens that are parsed together, and all that stands around them.
pub(super) struct Chunk<'s> {
    source: SourceId,
    text: &'s str,
    tokens: &'s [Token],
    range: Range<usize>,
}

impl<'s> Chunk<'s> {
    /// The `range` of all `tokens` of the file.
    pub(super) fn new(source: SourceId, text: &'s str, tokens: &'s [Token], range: Range<usize>) -> Self {
        Chunk { source, text, tokens, range }
    }

    /// The tokens of the chunk.
    pub(super) fn own(&self) -> &'s [Token] {
        &self.tokens[self.range.clone()]
    }

    /// A builder whose tree nobody looks at.
    pub(super) fn scratch_builder(&self) -> Builder<'s> {
        Builder::new(self.source, self.text, &[])
    }

    /// Where a token stands.
    pub(super) fn token_span(&self, token: Token) -> Span {
        Span { source: self.source, start: token.start, end: token.end }
    }
}

/// Where the parser stopped and what it could have gone on with.
pub(super) struct Failure<'c, 's> {
    chunk: &'c Chunk<'s>,
    /// The token that does not fit; the one after the chunk when more should have come.
    pub(super) at: usize,
    /// Tokens as the grammar writes them, without quotes.
    pub(super) expected: Vec<String>,
}

impl Failure<'_, '_> {
    /// The kind of token number `at`, if the file has that many; brackets and keywords outside the chunk included.
    pub(super) fn kind(&self, at: usize) -> Option<Kind> {
        self.chunk.tokens.get(at).map(|token| token.kind)
    }

    /// The kind of the token `back` before the failure, within the chunk.
    pub(super) fn before(&self, back: usize) -> Option<Kind> {
        self.index_before(back).and_then(|at| self.kind(at))
    }

    /// The number of the token `back` before the failure, within the chunk.
    pub(super) fn index_before(&self, back: usize) -> Option<usize> {
        self.at.checked_sub(back).filter(|at| *at >= self.chunk.range.start)
    }

    /// The numbers of the chunk's tokens before the failure.
    pub(super) fn parsed(&self) -> Range<usize> {
        self.chunk.range.start..self.at
    }

    /// The numbers of all tokens of the chunk.
    pub(super) fn all(&self) -> Range<usize> {
        self.chunk.range.clone()
    }

    /// True when the chunk ended too early.
    pub(super) fn at_end(&self) -> bool {
        self.at >= self.chunk.range.end
    }

    /// Where token number `at` stands; the end of the text when there is none.
    pub(super) fn span(&self, at: usize) -> Span {
        match self.chunk.tokens.get(at) {
            Some(token) => self.chunk.token_span(*token),
            None => Span::new(self.chunk.source, self.chunk.text.len(), self.chunk.text.len()),
        }
    }

    /// Token number `at` as written.
    pub(super) fn text(&self, at: usize) -> &str {
        self.chunk.tokens.get(at).map_or("", |token| &self.chunk.text[token.range()])
    }

    /// Token number `at` for a message.
    pub(super) fn name(&self, at: usize) -> String {
        if at < self.chunk.tokens.len() { quoted(self.text(at)) } else { "the end".into() }
    }

    /// True when no token stands before number `at` on its line.
    pub(super) fn starts_line(&self, at: usize) -> bool {
        let Some(token) = self.chunk.tokens.get(at) else { return true };
        let from = at.checked_sub(1).map_or(0, |before| self.chunk.tokens[before].end as usize);
        at == 0 || self.chunk.text[from..token.start as usize].contains('\n')
    }

    /// True when nothing stands between tokens `at` and `at + 1`.
    pub(super) fn adjacent(&self, at: usize) -> bool {
        matches!(self.chunk.tokens.get(at..at + 2), Some([a, b]) if a.end == b.start)
    }

    /// True when the grammar could go on with that token.
    pub(super) fn expects(&self, token: &str) -> bool {
        self.expected.iter().any(|expected| expected == token)
    }
}

/// The message for a chunk whose token number `at` (counted in the chunk) does not fit.
pub(super) fn explain(chunk: &Chunk<'_>, at: usize, expected: Vec<String>) -> Diagnostic {
    let expected = expected.iter().map(|token| token.trim_matches('"').to_owned()).collect();
    let failure = Failure { chunk, at: chunk.range.start + at, expected };
    hints::common_slip(&failure).unwrap_or_else(|| unexpected(&failure))
}

/// `expected X, found Y`, or `expected X after Z` when Y is only the next item.
pub(super) fn unexpected(failure: &Failure<'_, '_>) -> Diagnostic {
    let found = failure.name(failure.at);
    let expected = match listed(&expected_words(&failure.expected)) {
        none if none.is_empty() => format!("unexpected {found}"),
        words => format!("expected {words}"),
    };
    let new = |message: String| Diagnostic::new(Code::E0102, message);
    match failure.index_before(1) {
        Some(last) if failure.at_end() => new(format!("{expected} after {}", failure.name(last)))
            .at(failure.span(last), "something is missing after this"),
        Some(last) => new(format!("{expected}, found {found}"))
            .at(failure.span(failure.at), format!("cannot follow {}", failure.name(last))),
        None => new(format!("{expected}, found {found}")).at(failure.span(failure.at), "cannot stand here"),
    }
}

/// Tokens that together mean one thing to a person: all of the first list -> the word, and all of the second go.
const GROUPS: &[(&[&str], &str, &[&str])] = &[
    (&["if", "INT", "ID"], "an expression", OPERAND),
    (&["INT", "-", "ID"], "an operand", OPERAND),
    (&["+", "*"], "an operator", OPERATORS),
    (&["tensor", "param"], "an item", super::token::ITEM_WORDS),
    (&["blend", "take"], "a clause", &["blend", "take", "window", "chunk", "format"]),
];

const OPERAND: &[&str] = &["if", "INT", "FLOAT", "ID", "(", "[", "{", "-", "not", "true", "false", "inf"];

const OPERATORS: &[&str] = &[
    "**", "*", "/", "//", "%", "+", "-", "<<", ">>", "&", "^", "|", "==", "!=", "<", "<=", ">", ">=", "and",
    "or", "[", ".", "(",
];

/// The longest list of alternatives that helps.
const MAX_WORDS: usize = 6;

/// What could follow, in words, signs last.
fn expected_words(expected: &[String]) -> Vec<String> {
    let mut rest: Vec<&str> = expected.iter().map(String::as_str).collect();
    let mut words = Vec::new();
    for (signs, word, members) in GROUPS {
        if signs.iter().all(|sign| rest.contains(sign)) {
            rest.retain(|token| !members.contains(token));
            words.push((*word).to_owned());
        }
    }
    if rest.contains(&"]") {
        // A name and `=` before an index is for the command line only.
        rest.retain(|token| *token != "=");
    }
    words.extend(rest.into_iter().map(token_word));
    words.truncate(MAX_WORDS);
    words
}

fn token_word(token: &str) -> String {
    match token {
        "ID" => "a name".into(),
        "INT" | "FLOAT" => "a number".into(),
        "STR" => "a string".into(),
        sign => format!("`{sign}`"),
    }
}

/// `a`, `a or b`, `a, b or c`
fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
