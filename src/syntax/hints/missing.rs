//! A sign or a word that is missing, or that another should stand for.
//!
//! ```text
//! b[0 x]                   help: write `,` between them: `0, x`
//! if x > 3 1 else 2        help: add `then`: `if c then a else b`
//! ```

use super::brackets::open_before;
use crate::diagnostic::{Diagnostic, closest, quoted};
use crate::syntax::explain::{Failure, unexpected};
use crate::syntax::token::Kind;

/// `widow [3]`, `if c thn 1`
pub(super) fn misspelt_keyword(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    if failure.kind(failure.at)? != Kind::Ident || failure.at_end() || failure.expects("ID") {
        return None;
    }
    let is_word = |token: &&str| token.starts_with(|c: char| c.is_ascii_lowercase());
    let words: Vec<&str> = failure.expected.iter().map(String::as_str).filter(is_word).collect();
    let word = closest(failure.text(failure.at), words)?;
    let help = format!("write `{word}`");
    Some(unexpected(failure).fix(failure.span(failure.at), word).help(help))
}

/// `tensor t = 1`, `tensor t: f32 = 1`, `input a from "a.npy"`
pub(super) fn missing_type(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let item = failure.kind(failure.all().start)?;
    if !matches!(item, Kind::Tensor | Kind::Input | Kind::Var) || failure.at_end() {
        return None;
    }
    let text = |back| failure.index_before(back).map_or("", |at| failure.text(at));
    let help = match (failure.at - failure.all().start, failure.kind(failure.at)?) {
        (2, Kind::Equals | Kind::From) => {
            format!("add type and dimensions: {}", quoted(&format!("{}: f32[x: 512]", text(1))))
        }
        (4, Kind::Equals | Kind::From) => {
            format!("add the dimensions: {}", quoted(&format!("{}: {}[x: 512]", text(3), text(1))))
        }
        _ => return None,
    };
    Some(unexpected(failure).help(help))
}

/// `sum(i in 0...3)`, `sum(i in 0 to 3)`, `sum(i in range(3))`
pub(super) fn missing_range(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    if !failure.expects("..=") || failure.at_end() {
        return None;
    }
    let help = match failure.kind(failure.at)? {
        Kind::Ellipsis | Kind::Ident => "write `..` between the ends, or `..=` to include the last",
        Kind::RParen | Kind::Comma => "write both ends of the range: `i in 0..3`",
        _ => return None,
    };
    Some(unexpected(failure).help(help))
}

/// `x++`, `set a[:] += 1`, `|x|`, `let f = (a) => a + 1`
pub(super) fn foreign_sign(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    use Kind::{Equals, FatArrow, Minus, Pipe, Plus, Slash, Star};
    let adjacent = failure.index_before(1).is_some_and(|last| failure.adjacent(last));
    let last = failure.before(1)?;
    let text = |back| failure.index_before(back).map_or("", |at| failure.text(at));
    let help = match failure.kind(failure.at)? {
        sign @ (Plus | Minus) if adjacent && sign == last => format!("write `{} 1`", text(1)),
        Equals if adjacent && matches!(last, Plus | Minus | Star | Slash) => {
            format!("write it out: `= a[…] {} …`", text(1))
        }
        Pipe if failure.expects("INT") => "write `abs(…)` for a magnitude".to_owned(),
        FatArrow if failure.kind(failure.all().start)? == Kind::Let => {
            format!(
                "write a function: {}",
                quoted(&format!("fn {}(…) = …", failure.text(failure.all().start + 1)))
            )
        }
        _ => return None,
    };
    Some(unexpected(failure).help(help))
}

/// `if c 1 else 2`, `tensor t: f32[x: 3] x + 1`, `tensor t: f32[x: 3] == x`, `b[0 x]`, `2 x`
pub(super) fn missing_sign(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let found = failure.kind(failure.at).filter(|_| !failure.at_end())?;
    let (last, next) = (failure.text(failure.index_before(1)?), failure.text(failure.at));
    let operand = starts_operand(found);
    let in_brackets = !open_before(failure, failure.at).is_empty();
    let simple = operand && matches!(failure.before(1)?, Kind::Ident | Kind::Int | Kind::Float);
    let help = match found {
        _ if last == "return" && operand => "remove it: a block ends in its value".to_owned(),
        Kind::Then if failure.expects("else") => "write `else`".to_owned(),
        Kind::Comma if failure.expects(";") => "write `;` after each `let` of a block".to_owned(),
        Kind::Semicolon if failure.expects(",") => "write `,`".to_owned(),
        Kind::EqualsEquals | Kind::FatArrow if assigns(failure) => "write `=`".to_owned(),
        _ if !operand => return None,
        _ if failure.expects("then") => "add `then`: `if c then a else b`".to_owned(),
        _ if assigns(failure) => format!("add `=` before {}", quoted(next)),
        _ if in_brackets && failure.expects(",") && simple => {
            format!("write `,` between them: {}", quoted(&format!("{last}, {next}")))
        }
        _ if in_brackets && failure.expects(",") => format!("write `,` before {}", quoted(next)),
        _ if failure.expects(";") && in_let(failure) => "write `;` after each `let` of a block".to_owned(),
        _ if simple && failure.expects("*") && !failure.starts_line(failure.at) => {
            let product = quoted(&format!("{last} * {next}"));
            match failure.before(1)? {
                Kind::Ident => {
                    let call = quoted(&format!("{last}({next})"));
                    format!("write an operator between them: {product}, or brackets for a call: {call}")
                }
                _ => format!("write an operator between them: {product}"),
            }
        }
        _ => return None,
    };
    Some(unexpected(failure).help(help))
}

/// Whether the failure is in the value of a `let` of a block: `{ let a = 3 a * x }`
fn in_let(failure: &Failure<'_, '_>) -> bool {
    let Some(open) = open_before(failure, failure.at).last().copied() else { return false };
    let last = (open..failure.at)
        .rev()
        .find(|at| matches!(failure.kind(*at), Some(Kind::Let | Kind::Semicolon | Kind::LBrace)));
    failure.kind(open) == Some(Kind::LBrace) && last.and_then(|at| failure.kind(at)) == Some(Kind::Let)
}

/// Whether what follows is the body of an item.
fn assigns(failure: &Failure<'_, '_>) -> bool {
    failure.expects("=") && !failure.expects("==") && open_before(failure, failure.at).is_empty()
}

fn starts_operand(kind: Kind) -> bool {
    matches!(kind, Kind::Ident | Kind::Int | Kind::Float | Kind::LBrace)
        || (Kind::True..=Kind::Inf).contains(&kind)
}
