//! Brackets that are not closed, or that close nothing.

use crate::diagnostic::{Code, Diagnostic};
use crate::syntax::explain::Failure;

/// The brackets that are open before token number `end`, innermost last.
pub(super) fn open_before(failure: &Failure<'_, '_>, end: usize) -> Vec<usize> {
    let mut open = Vec::new();
    for at in failure.all().start..end {
        match failure.kind(at) {
            Some(kind) if kind.closer().is_some() => open.push(at),
            Some(kind) if kind.closes() => drop(open.pop()),
            _ => {}
        }
    }
    open
}

/// `(a]`, `a)`
pub(super) fn mismatched(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let found = failure.kind(failure.at).filter(|kind| kind.closes() && !failure.at_end())?;
    let (span, name) = (failure.span(failure.at), failure.name(failure.at));
    match open_before(failure, failure.at).last() {
        None => Some(
            Diagnostic::new(Code::E0108, format!("{name} closes nothing"))
                .at(span, "no bracket is open here")
                .help("remove it, or add the bracket that it closes"),
        ),
        Some(open) if failure.kind(*open)?.closer() != Some(found) => Some(
            Diagnostic::new(Code::E0108, format!("{} is closed by {name}", failure.name(*open)))
                .at(span, "does not match")
                .with(failure.span(*open), "opened here")
                .help("close brackets in the reverse of the order in which they open"),
        ),
        Some(_) => None,
    }
}

/// `f32[y: inf = …`: the chunk ends with brackets open, and the parser stopped in one of them.
pub(super) fn unclosed(failure: &Failure<'_, '_>) -> Option<Diagnostic> {
    let open = open_before(failure, failure.at);
    let innermost = *open.last()?;
    let closer = closing_sign(failure, innermost)?;
    let never_closed = open_before(failure, failure.all().end).contains(&innermost);
    if !never_closed || !(failure.at_end() || failure.expects(closer)) {
        return None;
    }
    let diagnostic = Diagnostic::new(Code::E0107, format!("{} is not closed", failure.name(innermost)))
        .at(failure.span(innermost), "opened here");
    let last = failure.index_before(1).filter(|last| *last > innermost);
    let diagnostic = match last {
        Some(last) if failure.at_end() => diagnostic.with(failure.span(last), "still open here, at the end"),
        _ if failure.at_end() => diagnostic,
        _ => diagnostic.with(failure.span(failure.at), format!("`{closer}` is missing before this")),
    };
    Some(diagnostic.help(format!("add `{closer}`")))
}

fn closing_sign(failure: &Failure<'_, '_>, open: usize) -> Option<&'static str> {
    match failure.text(open) {
        "(" => Some(")"),
        "[" => Some("]"),
        "{" => Some("}"),
        _ => None,
    }
}
