//! Slips inside expressions.

use super::brackets::open_before;
use crate::diagnostic::{Code, Diagnostic};
use crate::syntax::explain::Failure;
use crate::syntax::token::Kind;

/// `a && b`, `a || b`
pub(super) fn foreign_operator(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let first = failure.index_before(1).filter(|first| failure.adjacent(*first))?;
    let (sign, word) = match (failure.kind(first)?, failure.kind(failure.at)?) {
        (Kind::Ampersand, Kind::Ampersand) => ("&&", "and"),
        (Kind::Pipe, Kind::Pipe) => ("||", "or"),
        _ => return None,
    };
    let span = failure.span(first).to(failure.span(failure.at));
    let message = format!("`{sign}` is not an operator");
    Some(
        Diagnostic::new(Code::E0114, message)
            .at(span, "not part of the language")
            .help(format!("write `{word}`")),
    )
}

/// `1.` and `.5`
pub(super) fn bare_point(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let point = match failure.before(1) {
        Some(Kind::Dot) => failure.at - 1,
        _ if failure.kind(failure.at) == Some(Kind::Dot) => failure.at,
        _ => return None,
    };
    let before =
        point.checked_sub(1).filter(|at| failure.kind(*at) == Some(Kind::Int) && failure.adjacent(*at));
    let after = (failure.kind(point + 1) == Some(Kind::Int) && failure.adjacent(point)).then_some(point + 1);
    let (span, right) = match (before, after) {
        (Some(number), _) => {
            (failure.span(number).to(failure.span(point)), format!("{}.0", failure.text(number)))
        }
        (None, Some(number)) => {
            (failure.span(point).to(failure.span(number)), format!("0.{}", failure.text(number)))
        }
        (None, None) => return None,
    };
    let diagnostic = Diagnostic::new(Code::E0103, "a float needs a digit on both sides of its point");
    Some(diagnostic.at(span, "a digit is missing").help(format!("write `{right}`")))
}

/// `0 < x < 10`
pub(super) fn chained_comparison(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    failure.kind(failure.at).filter(|kind| kind.is_comparison())?;
    // Where `and` may stand a comparison may too, unless one stands there already.
    if failure.expects("<") || !failure.expects("and") {
        return None;
    }
    let first = failure.parsed().rev().find(|at| failure.kind(*at).is_some_and(Kind::is_comparison))?;
    Some(
        Diagnostic::new(Code::E0111, "comparisons do not chain")
            .at(failure.span(failure.at), "second comparison")
            .with(failure.span(first), "first comparison")
            .help("write both and join them: `a < b and b < c`"),
    )
}

/// `1 + if …`
pub(super) fn choice_as_operand(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let operand = failure.kind(failure.at)? == Kind::If && failure.expects("INT") && !failure.expects("if");
    operand.then(|| as_operand(failure, failure.at, "`if`", "`(if c then a else b)`"))
}

/// `1 + sum(i in …`
pub(super) fn reduction_as_operand(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    if failure.kind(failure.at)? != Kind::In || failure.before(1) != Some(Kind::Ident) {
        return None;
    }
    let open = *open_before(failure, failure.at).last()?;
    let word = open.checked_sub(1).filter(|at| failure.kind(*at) == Some(Kind::Ident))?;
    let before = word.checked_sub(1).and_then(|at| failure.kind(at))?;
    let operand = before.is_infix() || before == Kind::Not;
    operand.then(|| as_operand(failure, word, "a reduction", &format!("`({}(…) …)`", failure.text(word))))
}

fn as_operand(failure: &Failure<'_, '_>, at: usize, what: &str, right: &str) -> Diagnostic {
    Diagnostic::new(Code::E0116, format!("{what} cannot be an operand as it stands"))
        .at(failure.span(at), "reaches as far right as it can")
        .help(format!("put parentheses around it: {right}"))
}

/// `if c then a` and nothing after it
pub(super) fn missing_else(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let ends = failure.at_end()
        || failure.kind(failure.at).is_some_and(|kind| {
            kind.closes() || matches!(kind, Kind::Comma | Kind::Semicolon | Kind::Window | Kind::Equals)
        });
    let word = failure.parsed().rev().find(|at| failure.kind(*at) == Some(Kind::If))?;
    (ends && failure.expects("else")).then(|| {
        Diagnostic::new(Code::E0112, "`if` needs an `else`")
            .at(failure.span(word), "has a value for one case only")
            .help("add `else` and the value for the other case: `if c then a else b`")
    })
}

/// `if x = 0 then`, `fbm(y, x, seed = 1)`, or `x = 3` alone, which names a value
pub(super) fn single_equals(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let slip = failure.kind(failure.at)? == Kind::Equals && failure.expects("==");
    let names = failure.at == 1 && failure.before(1)? == Kind::Ident;
    slip.then(|| {
        let help = match names_argument(failure) {
            Some(true) => "leave the name out: arguments are told apart by their order".to_owned(),
            _ if names => format!("write `let {} = …` to name a value, or `==` to compare", failure.text(0)),
            Some(false) | None => "write `==` to compare".to_owned(),
        };
        Diagnostic::new(Code::E0113, "`=` is not an operator")
            .at(failure.span(failure.at), "in an expression")
            .help(help)
    })
}

/// Whether what is before the failure is the name of an argument: `seed` in `fbm(y, x, seed = 1)`.
fn names_argument(failure: &Failure<'_, '_>) -> Option<bool> {
    let open = *open_before(failure, failure.at).last()?;
    let called = failure.kind(open)? == Kind::LParen && failure.kind(open.checked_sub(1)?)? == Kind::Ident;
    let first = matches!(failure.before(2)?, Kind::LParen | Kind::Comma);
    Some(called && first && failure.before(1)? == Kind::Ident)
}

/// `a[x](0)`, `3(x)`
pub(super) fn call_of_value(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let open = failure.kind(failure.at)? == Kind::LParen && !failure.starts_line(failure.at);
    let last = failure.index_before(1)?;
    let value =
        failure.kind(last)?.closes() || matches!(failure.kind(last)?, Kind::Int | Kind::Float | Kind::Inf);
    (open && value && failure.expects("*")).then(|| {
        Diagnostic::new(Code::E0121, "only names and methods are called")
            .at(failure.span(failure.at), format!("cannot follow {}", failure.name(last)))
            .help("write `*` for a product, or `[…]` to read an element")
    })
}
