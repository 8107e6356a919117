//! Habits that come from other languages.
//!
//! ```text
//! x if x > 0 else 0        help: write the condition first: `if c then a else b`
//! a.clamp[y, x]            help: call it: `.clamp()[…]`
//! ```

use super::brackets::open_before;
use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::syntax::explain::{Failure, unexpected};
use crate::syntax::token::Kind;

/// `/* text */`
pub(super) fn comment_with_stars(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let opens = |at: &usize| {
        let star = matches!(failure.kind(at + 1), Some(Kind::Star | Kind::StarStar));
        failure.kind(*at) == Some(Kind::Slash) && star && failure.adjacent(*at)
    };
    let slash = (0..=1).filter_map(|back| failure.index_before(back)).find(opens)?;
    Some(
        Diagnostic::new(Code::E0114, "`/*` does not start a comment")
            .at(failure.span(slash).to(failure.span(slash + 1)), "a division and a product")
            .help("write `#` before each line of a comment"),
    )
}

/// `{ b = 3; b }`
pub(super) fn missing_let(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let starts = matches!(failure.before(2)?, Kind::LBrace | Kind::Semicolon);
    let assigns = failure.kind(failure.at)? == Kind::Equals && failure.before(1)? == Kind::Ident;
    let in_block = failure.kind(*open_before(failure, failure.at).last()?)? == Kind::LBrace;
    (starts && assigns && in_block).then(|| {
        let name = failure.text(failure.at - 1);
        unexpected(failure).help(format!("write `let {name} = …;` to name a value, or `==` to compare"))
    })
}

/// `sum(i = 0..3)`
pub(super) fn binder_with_equals(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let named = failure.kind(failure.at)? == Kind::Equals && failure.before(1)? == Kind::Ident;
    let open = *open_before(failure, failure.at).last()?;
    let called = failure.kind(open)? == Kind::LParen && failure.kind(open.checked_sub(1)?)? == Kind::Ident;
    let ranged = (failure.at..failure.all().end)
        .take_while(|at| failure.kind(*at).is_some_and(|kind| !kind.closes() && kind != Kind::Comma))
        .any(|at| matches!(failure.kind(at), Some(Kind::DotDot | Kind::DotDotEquals)));
    (named && called && ranged)
        .then(|| unexpected(failure).help(format!("write `in`: `{} in …`", failure.text(failure.at - 1))))
}

/// `a if c else b`, `elif`, `for i in`, `x as f32`, `x mod 2`
pub(super) fn word_of_another_language(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let after_operand = failure.expects("*") && !failure.at_end();
    let help = match (failure.kind(failure.at)?, failure.text(failure.at)) {
        (Kind::If, _) => "write the condition first: `if c then a else b`".to_owned(),
        (Kind::Ident, "elif" | "elsif" | "elseif") => "write `else if c then …`".to_owned(),
        (Kind::Ident, "for") => "write the range first: `sum(i in 0..n) …`".to_owned(),
        (Kind::Ident, "mod" | "rem") => "write `%` for the remainder".to_owned(),
        (Kind::Ident, "div") => "write `//` to divide and round down".to_owned(),
        (Kind::Ident, "xor") => "write `^`".to_owned(),
        (Kind::Ident, "is") => "write `==` to compare".to_owned(),
        (Kind::As, _) if failure.kind(failure.at + 1) == Some(Kind::Ident) => {
            format!("call the type: `{}(…)`", failure.text(failure.at + 1))
        }
        _ => return None,
    };
    after_operand.then(|| unexpected(failure).help(help))
}

/// `if c { 1 } else { 0 }`, `fn f(x) { … }`
pub(super) fn braces(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let help = match failure.kind(failure.at)? {
        Kind::LBrace if failure.expects("then") => "write `then` and no braces: `if c then a else b`",
        Kind::LBrace if failure.expects("=") && failure.kind(failure.all().start) == Some(Kind::Fn) => {
            "add `=` before the body: `fn f(x) = …`"
        }
        _ => return None,
    };
    Some(unexpected(failure).help(help))
}

/// `sum(i in 0:3)`, `x: 0:20`, `let b: f32 = 3`
pub(super) fn colon(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    if failure.kind(failure.at)? != Kind::Colon || failure.at_end() {
        return None;
    }
    let (last, next) = (failure.index_before(1)?, failure.at + 1);
    let help = if failure.before(2) == Some(Kind::Let) {
        format!("give the value its type: `let {} = {}(…)`", failure.text(last), failure.text(next))
    } else if failure.expects("..") {
        format!("write `..` between the ends: `{}..{}`", failure.text(last), failure.text(next))
    } else {
        return None;
    };
    Some(unexpected(failure).help(help))
}

/// `x: 0..`
pub(super) fn open_range(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let ends = matches!(failure.kind(failure.at)?, Kind::RBracket | Kind::Comma);
    let start = failure.index_before(2)?;
    (ends && failure.before(1)? == Kind::DotDot)
        .then(|| unexpected(failure).help(format!("write `{}..inf` for no end", failure.text(start))))
}

/// `a.clamp[y, x]`, `h.T`
pub(super) fn method_without_call(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let method = failure.index_before(1)?;
    if failure.before(2)? != Kind::Dot || failure.kind(method)? != Kind::Ident || !failure.expects("(") {
        return None;
    }
    let from = failure.index_before(3).map_or("", |at| failure.text(at));
    let help = match (failure.text(method), failure.kind(failure.at)) {
        (name, _) if matches!(from, "np" | "numpy" | "math" | "torch" | "jnp") => {
            format!("write it without `{from}.`: {}", quoted(name))
        }
        ("T", _) => "write the new order of the dimensions: `.permute([x, y])`".to_owned(),
        ("shape" | "size" | "ndim" | "dtype", _) => {
            "write the number itself: sizes are constants, and `let n = 512` can name one".to_owned()
        }
        (name, Some(Kind::LBracket)) => format!("call it: `.{name}()[…]`"),
        (name, _) => format!("call it: `.{name}(…)`"),
    };
    Some(unexpected(failure).help(help))
}

/// `range 0, 1`, `use noise, filter`, `tensor a[y: 3]`, `output a.png`, `from ["a.png"]`, `colormap "magma"`
pub(super) fn lists_without_brackets(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let first = failure.kind(failure.all().start)?;
    let text = |back| failure.index_before(back).map_or("", |at| failure.text(at));
    let help = match failure.kind(failure.at)? {
        Kind::Comma if text(2) == "range" => {
            format!("write `range {}..{}`", text(1), failure.text(failure.at + 1))
        }
        Kind::Comma if first == Kind::Use => {
            format!("write one line for each: `use {}`", failure.text(failure.at + 1))
        }
        Kind::LBracket if matches!(failure.before(2)?, Kind::Tensor | Kind::Input | Kind::Var) => {
            format!("add the element type: `{}: f32[…]`", text(1))
        }
        Kind::LBracket if text(1) == "from" => {
            "write one file: several become one `.npy` or `.zarr` array, which has a dimension for them"
                .to_owned()
        }
        Kind::Str if text(1) == "colormap" => {
            format!("write it without quotes: `colormap {}`", failure.text(failure.at).trim_matches('"'))
        }
        Kind::Equals if first == Kind::Fn && failure.before(2)? == Kind::Fn => {
            format!("write what it takes in brackets: `fn {}(x) = …`", text(1))
        }
        Kind::Ident if failure.before(1)? == Kind::Output => {
            "put the path in quotes: `output \"a.png\" = …`".to_owned()
        }
        _ => return None,
    };
    (!failure.at_end()).then(|| unexpected(failure).help(help))
}
