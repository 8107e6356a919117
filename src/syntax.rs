//! Text -> tokens -> syntax tree, and back to text.
//!
//! ```text
//! param n=3   ->   Param Ident Equals Int   ->   Param { name: n, value: e0 }   ->   param n = 3
//! ```

pub mod ast;
mod builder;
mod explain;
mod format;
mod goes_on;
mod hints;
mod lexer;
mod number;
mod parser;
mod same;
mod strings;
mod token;
mod words;

pub use builder::MAX_NESTING;
pub use format::{format, print_ast};
pub use goes_on::{goes_on, starts_item};
pub use lexer::{MAX_ERRORS, MAX_TOKENS, tokens};
pub use parser::{parse, parse_expr, parse_slice};
pub use same::same;
pub use words::{ITEM_KEYWORDS, KEYWORDS, Word, WordKind, words};

#[allow(
    clippy::all,
    clippy::wildcard_enum_match_arm,
    clippy::unwrap_used,
    missing_docs,
    unreachable_pub,
    unused
)]
mod grammar {
    //! The parser generated from `grammar/itp.lalrpop`.
    lalrpop_util::lalrpop_mod!(generated, "/itp.rs");
    pub(super) use generated::{ItemsParser, OneExprParser};
}
