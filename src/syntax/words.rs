//! Text -> words with a colour: what editors and line editors show while somebody types.
//!
//! ```text
//! use blend  # ramps       Keyword `use`   Name `blend`   Comment `# ramps`
//! ```
//!
//! It works on any text, right or wrong: what the lexer refuses is left out.

use super::lexer::lex;
use super::token::Kind;
use crate::source::{SourceId, Sources};
use std::ops::Range;

/// What a word is, as far as the text alone says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordKind {
    /// A reserved word.
    Keyword,
    /// Anything else that starts with a letter; after `use` and `.` also a reserved word.
    Name,
    /// `12`, `1.5`
    Number,
    /// `"text"`
    Text,
    /// `# …`
    Comment,
    /// Brackets, punctuation, operators.
    Sign,
}

/// A word and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// What it is.
    pub kind: WordKind,
    /// Where it stands.
    pub range: Range<usize>,
}

/// The reserved words, those that start an item first.
pub const KEYWORDS: [&str; 32] = [
    "use", "param", "let", "fn", "window", "input", "var", "tensor", "view", "output", "set", "take",
    "stride", "offset", "map", "as", "blend", "init", "chunk", "format", "from", "extern", "if", "then",
    "else", "in", "and", "or", "not", "true", "false", "inf",
];

/// How many of [`KEYWORDS`] start an item.
pub const ITEM_KEYWORDS: usize = 11;

/// The words of a text, in order.
pub fn words(sources: &Sources, id: SourceId) -> Vec<Word> {
    let lexed = lex(id, &sources.get(id).text);
    let comments = lexed
        .comments
        .iter()
        .map(|comment| Word { kind: WordKind::Comment, range: comment.start as usize..comment.end as usize });
    let tokens =
        lexed.tokens.iter().filter_map(|token| Some(Word { kind: kind(token.kind)?, range: token.range() }));
    let mut words: Vec<Word> = comments.chain(tokens).collect();
    words.sort_by_key(|word| word.range.start);
    words
}

fn kind(kind: Kind) -> Option<WordKind> {
    Some(match kind {
        kind if kind.is_keyword() => WordKind::Keyword,
        Kind::Ident => WordKind::Name,
        Kind::Int | Kind::Float => WordKind::Number,
        Kind::Str => WordKind::Text,
        Kind::Comment => WordKind::Comment,
        Kind::OpenStr | Kind::Bad => return None,
        _ => WordKind::Sign,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::token::ITEM_WORDS;

    fn kinds(text: &str) -> Vec<(WordKind, String)> {
        let mut sources = Sources::default();
        let id = sources.add("a.itp", text);
        words(&sources, id).into_iter().map(|word| (word.kind, text[word.range].to_owned())).collect()
    }

    #[test]
    fn words_are_what_the_lexer_says() {
        let expect = [
            (WordKind::Keyword, "use"),
            (WordKind::Name, "blend"),
            (WordKind::Comment, "# ramps"),
            (WordKind::Keyword, "let"),
            (WordKind::Name, "a"),
            (WordKind::Sign, "="),
            (WordKind::Number, "1.5"),
        ];
        assert_eq!(
            kinds("use blend # ramps\nlet a = 1.5 12abc"),
            expect.map(|(kind, text)| (kind, text.to_owned()))
        );
    }

    #[test]
    fn every_keyword_is_listed_and_nothing_else() {
        for keyword in KEYWORDS {
            assert_eq!(kinds(keyword), [(WordKind::Keyword, keyword.to_owned())]);
        }
        assert_eq!(KEYWORDS.len(), Kind::Inf as usize + 1);
        assert_eq!(&KEYWORDS[..ITEM_KEYWORDS], ITEM_WORDS);
    }
}
