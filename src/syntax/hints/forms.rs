//! What an item, a clause or a bracket is written like.
//!
//! ```text
//! window 32 stride 16      help: write a list with one number per dimension: `window [32, 32]`
//! a[0..5]                  help: write `:` between the ends of a slice: `0:5`
//! ```

use super::brackets::open_before;
use crate::diagnostic::{Diagnostic, quoted};
use crate::syntax::explain::{Failure, unexpected};
use crate::syntax::token::Kind;

fn text<'f>(failure: &'f Failure<'_, '_>, back: usize) -> &'f str {
    failure.index_before(back).map_or("", |at| failure.text(at))
}

/// `window 32 stride 16`, `f32(y: 3)`, `blend old + new init 0`, `fn f(x): f32 = x`
pub(super) fn clause(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let first = failure.kind(failure.all().start)?;
    let typed = matches!(first, Kind::Tensor | Kind::Input | Kind::Var) && failure.expects("[");
    let help = match failure.kind(failure.at).filter(|_| !failure.at_end())? {
        Kind::Int if matches!(failure.before(1)?, Kind::Window | Kind::Stride | Kind::Offset) => {
            let (word, number) = (text(failure, 1), failure.text(failure.at));
            format!("write a list with one number per dimension: `{word} [{number}, {number}]`")
        }
        Kind::LParen if typed && failure.before(2)? == Kind::Colon => {
            format!("write square brackets: `{}[…]`", text(failure, 1))
        }
        Kind::Colon if first == Kind::Fn && failure.expects("->") => {
            format!("write `->` before the type of the result: `-> {}`", failure.text(failure.at + 1))
        }
        sign if sign.is_infix() && failure.before(2)? == Kind::Blend => {
            "write what is there and what comes first: `blend (old, new) => … init 0`".to_owned()
        }
        _ => return None,
    };
    Some(unexpected(failure).help(help))
}

/// `a[0..5]`, `a(0:5)`
pub(super) fn slice(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let open = *open_before(failure, failure.at).last()?;
    let name = open.checked_sub(1).filter(|at| failure.kind(*at) == Some(Kind::Ident))?;
    let (last, next) = (text(failure, 1), failure.text(failure.at + 1));
    let help = match (failure.kind(open)?, failure.kind(failure.at)?) {
        (Kind::LBracket, Kind::DotDot | Kind::DotDotEquals) if failure.expects(":") => {
            format!("write `:` between the ends of a slice: `{last}:{next}`")
        }
        (Kind::LParen, Kind::Colon) if failure.expects(")") => {
            format!("write square brackets to slice: `{}[{last}:{next}]`", failure.text(name))
        }
        _ => return None,
    };
    Some(unexpected(failure).help(help))
}

/// `max(y) b[y, x]`
pub(super) fn reduction_without_range(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let operand = matches!(failure.kind(failure.at)?, Kind::Ident | Kind::Int | Kind::Float);
    let follows = operand && !failure.at_end() && !failure.starts_line(failure.at) && failure.expects("*");
    let kinds = [failure.before(4)?, failure.before(3)?, failure.before(2)?, failure.before(1)?];
    (follows && kinds == [Kind::Ident, Kind::LParen, Kind::Ident, Kind::RParen]).then(|| {
        let (called, variable) = (text(failure, 4), text(failure, 2));
        unexpected(failure).help(format!(
            "write an operator between them, or the range of a reduction: `{called}({variable} in 0..n) …`"
        ))
    })
}

/// `a[0, 0] = 1` after an item
pub(super) fn write_without_set(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let starts = failure.kind(failure.at)? == Kind::Ident && failure.starts_line(failure.at);
    if !starts || !failure.expects("tensor") || failure.kind(failure.at + 1)? != Kind::LBracket {
        return None;
    }
    let ends = |at: &usize| !failure.starts_line(*at) && failure.kind(*at).is_some();
    let mut line = (failure.at + 1..).take_while(ends);
    line.any(|at| failure.kind(at) == Some(Kind::Equals)).then(|| {
        let name = failure.text(failure.at);
        unexpected(failure).help(format!("write `set {name}[…] = …`, if `{name}` is a `var`"))
    })
}

/// `var a: f32[x: 4]` and nothing after it, `param n`, `fn f(x)`
pub(super) fn missing_value(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    if !failure.at_end() || !failure.expects("=") {
        return None;
    }
    let start = failure.all().start;
    let name = failure.text(start + 1);
    let help = match failure.kind(start)? {
        Kind::Var => "add the value that it begins with: `= 0`".to_owned(),
        Kind::Param => format!("add the value that it has unless another is given: `param {name} = 1`"),
        Kind::Let => format!("add its value: `let {name} = 1`"),
        Kind::Tensor => "add what an element is: `= …`".to_owned(),
        Kind::Fn => "add what it returns: `= …`".to_owned(),
        Kind::View => format!("add what it shows: `view {name} = a[0:8, :]`"),
        Kind::Output => format!("add what it holds: `output {name} = a[0:512, 0:512]`"),
        Kind::Set => "add the value: `= …`".to_owned(),
        _ => return None,
    };
    Some(unexpected(failure).help(help))
}

/// `param mode = "fast"`, `a.label(["row", "column"])`
pub(super) fn string_as_value(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    if failure.kind(failure.at)? != Kind::Str || !failure.expects("INT") {
        return None;
    }
    let written = failure.text(failure.at);
    let innermost = open_before(failure, failure.at).last().and_then(|open| failure.kind(*open));
    let help = match innermost {
        Some(Kind::LBracket) => {
            format!("write names without quotes: {}", quoted(written.trim_matches('"')))
        }
        _ => format!(
            "write a number, or `true` or `false`, in place of {}: strings are for paths",
            quoted(written)
        ),
    };
    Some(unexpected(failure).help(help))
}
