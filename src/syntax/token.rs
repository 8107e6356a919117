//! The words and signs of the language, and the rules that cut a text into them.
//!
//! ```text
//! y + 0x1f   # up      Ident  Plus  Number  Comment
//! ```
//!
//! The patterns are generous where people slip (`12abc`, `"no end`): one token that the lexer then refuses with a
//! good message is better than two tokens that happen to parse.

use logos::Logos;

/// What kind of token it is; its text is found by its place.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[logos(skip r"[ \t\r\n]+")]
#[allow(missing_docs, reason = "each variant is its pattern")]
pub(super) enum Kind {
    // Keywords that start an item.
    #[token("use")]
    Use,
    #[token("param")]
    Param,
    #[token("let")]
    Let,
    #[token("fn")]
    Fn,
    #[token("window")]
    Window,
    #[token("input")]
    Input,
    #[token("var")]
    Var,
    #[token("tensor")]
    Tensor,
    #[token("view")]
    View,
    #[token("output")]
    Output,
    #[token("set")]
    Set,
    // Keywords of clauses.
    #[token("take")]
    Take,
    #[token("stride")]
    Stride,
    #[token("offset")]
    Offset,
    #[token("map")]
    Map,
    #[token("as")]
    As,
    #[token("blend")]
    Blend,
    #[token("init")]
    Init,
    #[token("chunk")]
    Chunk,
    #[token("format")]
    Format,
    #[token("from")]
    From,
    #[token("extern")]
    Extern,
    // Keywords of expressions.
    #[token("if")]
    If,
    #[token("then")]
    Then,
    #[token("else")]
    Else,
    #[token("in")]
    In,
    #[token("and")]
    And,
    #[token("or")]
    Or,
    #[token("not")]
    Not,
    #[token("true")]
    True,
    #[token("false")]
    False,
    #[token("inf")]
    Inf,
    // Words and literals.
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*")]
    Ident,
    #[regex(r"[0-9][0-9A-Za-z_]*")]
    Int,
    #[regex(r"[0-9][0-9_]*\.[0-9][0-9A-Za-z_]*")]
    #[regex(r"[0-9][0-9_]*(\.[0-9][0-9_]*)?[eE][+-][0-9A-Za-z_]*")]
    Float,
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    Str,
    // Brackets.
    #[token("(")]
    LParen,
    #[token(")")]
    RParen,
    #[token("[")]
    LBracket,
    #[token("]")]
    RBracket,
    #[token("{")]
    LBrace,
    #[token("}")]
    RBrace,
    // Punctuation.
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token("=")]
    Equals,
    #[token("->")]
    Arrow,
    #[token("=>")]
    FatArrow,
    #[token(".")]
    Dot,
    #[token("..")]
    DotDot,
    #[token("..=")]
    DotDotEquals,
    #[token("...")]
    Ellipsis,
    // Operators.
    #[token("**")]
    StarStar,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("//")]
    SlashSlash,
    #[token("%")]
    Percent,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("<<")]
    Shl,
    #[token(">>")]
    Shr,
    #[token("&")]
    Ampersand,
    #[token("^")]
    Caret,
    #[token("|")]
    Pipe,
    #[token("==")]
    EqualsEquals,
    #[token("!=")]
    NotEquals,
    #[token("<")]
    Less,
    #[token("<=")]
    LessEquals,
    #[token(">")]
    Greater,
    #[token(">=")]
    GreaterEquals,
    // What never reaches the parser.
    #[regex(r"#[^\n]*", allow_greedy = true)]
    Comment,
    #[regex(r#""([^"\\\n]|\\[^\n])*"#)]
    OpenStr,
    /// Refused by the lexer.
    Bad,
}

/// A token: its kind and its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    /// What it is.
    pub(super) kind: Kind,
    /// First byte.
    pub(super) start: u32,
    /// One past the last byte.
    pub(super) end: u32,
}

impl Token {
    /// As a range for slicing the text.
    pub(super) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The words that start an item.
pub(super) const ITEM_WORDS: &[&str] =
    &["use", "param", "let", "fn", "window", "input", "var", "tensor", "view", "output", "set"];

impl Kind {
    /// True for every reserved word.
    pub(super) fn is_keyword(self) -> bool {
        self <= Kind::Inf
    }

    /// True for the words that start an item.
    pub(super) fn starts_item(self) -> bool {
        self <= Kind::Set
    }

    /// True for the words of clauses and their parts.
    pub(super) fn is_clause_word(self) -> bool {
        self == Kind::Window || (Kind::Take..=Kind::Extern).contains(&self)
    }

    /// True for the signs and words that stand between two operands.
    pub(super) fn is_infix(self) -> bool {
        matches!(self, Kind::And | Kind::Or) || (Kind::StarStar..=Kind::GreaterEquals).contains(&self)
    }

    /// True for `== != < <= > >=`.
    pub(super) fn is_comparison(self) -> bool {
        (Kind::EqualsEquals..=Kind::GreaterEquals).contains(&self)
    }

    /// The bracket that closes this one, if it opens.
    pub(super) fn closer(self) -> Option<Kind> {
        const PAIRS: [(Kind, Kind); 3] =
            [(Kind::LParen, Kind::RParen), (Kind::LBracket, Kind::RBracket), (Kind::LBrace, Kind::RBrace)];
        PAIRS.iter().find(|(open, _)| *open == self).map(|(_, close)| *close)
    }

    /// True for `)`, `]` and `}`.
    pub(super) fn closes(self) -> bool {
        matches!(self, Kind::RParen | Kind::RBracket | Kind::RBrace)
    }
}
