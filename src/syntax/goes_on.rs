//! Whether a text goes on: what a line editor asks before it takes a line for whole.
//!
//! ```text
//! param k = 2 *          it goes on: something must follow the `*`
//! tensor a: f32[x: inf]  so does this: an item needs its body
//! ```

use super::lexer::lex;
use super::parser::chunks;
use super::token::{Kind, Token};
use crate::source::SourceId;

/// Whether the first word of a text starts an item; everything else is an expression.
pub fn starts_item(text: &str) -> bool {
    lex(SourceId(0), text).tokens.first().is_some_and(|token| token.kind.starts_item())
}

/// Whether a text is not whole yet: a bracket is open, an operand or the body of an item is to follow.
pub fn goes_on(text: &str) -> bool {
    let lexed = lex(SourceId(0), text);
    if lexed.gave_up || lexed.tokens.iter().any(|token| token.kind == Kind::Bad) {
        return false;
    }
    let Some(last) = chunks(&lexed.tokens, text).pop().map(|range| &lexed.tokens[range]) else {
        // Lines of documentation wait for their item.
        return lexed.comments.last().is_some_and(|comment| comment.documents);
    };
    match outer(last) {
        None => false,
        Some((_, open)) if open > 0 => true,
        Some((outer, _)) => asks_for_more(&outer),
    }
}

/// The tokens outside of brackets, and how many brackets are open; `None` when one closes that is not open.
fn outer(tokens: &[Token]) -> Option<(Vec<Kind>, usize)> {
    let mut open = 0_usize;
    let mut outer = Vec::new();
    for token in tokens {
        if token.kind.closes() {
            open = open.checked_sub(1)?;
        }
        if open == 0 {
            outer.push(token.kind);
        }
        open += usize::from(token.kind.closer().is_some());
    }
    Some((outer, open))
}

/// Whether an operand, an arm or the body of an item is missing at the end.
fn asks_for_more(outer: &[Kind]) -> bool {
    let count = |kind: Kind| outer.iter().filter(|known| **known == kind).count();
    let (Some(first), Some(last)) = (outer.first(), outer.last()) else { return false };
    let hanging = matches!(
        last,
        Kind::Equals | Kind::Comma | Kind::Colon | Kind::Arrow | Kind::FatArrow | Kind::Dot | Kind::DotDot
    ) || matches!(
        last,
        Kind::DotDotEquals | Kind::If | Kind::Then | Kind::Else | Kind::In | Kind::Not
    ) || last.is_infix()
        || last.is_clause_word();
    // Each `take` has a sign `=` of its own.
    let bodiless = first.starts_item()
        && !matches!(first, Kind::Use | Kind::Input)
        && count(Kind::Equals) <= count(Kind::Take);
    hanging || bodiless || count(Kind::If) > count(Kind::Else)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_whole_goes_on() {
        let check = |text: &str, expect: bool| assert_eq!(goes_on(text), expect, "{text:?}");
        check("", false);
        check("# a remark", false);
        check("## about a", true);
        check("1 + 2", false);
        check("1 +", true);
        check("height[0:4,", true);
        check("height[0:4]]", false);
        check("tensor a: f32[x: inf]", true);
        check("tensor a: f32[x: inf] =", true);
        check("tensor a: f32[x: inf] = x", false);
        check("tensor a: f32[x: inf] window [3] take b = c window [3]", true);
        check("tensor a: f32[x: inf] window [3] take b = c window [3] = b[0]", false);
        check("tensor a: f32[x: inf] = { let b = x;", true);
        check("tensor a: f32[x: inf] = if x > 0 then 1", true);
        check("tensor a: f32[x: inf] = if x > 0 then 1 else 2", false);
        check("param a = 1 param b", true);
        check("use noise", false);
        check("use", false);
        check("input p: u8[x: 4]", false);
        check("\"no end", false);
    }
}
