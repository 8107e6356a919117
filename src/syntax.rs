//! Text -> tokens -> syntax tree, and back to text.

pub mod ast;
