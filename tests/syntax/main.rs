//! The parser and the formatter from outside.

mod errors;
mod language;
mod layout;
mod limits;
mod properties;

use itp::diagnostic::{Diagnostic, Diagnostics, Style, render};
use itp::source::Sources;
use itp::syntax::{self, ast::Ast};

/// The tree and the errors of a script.
fn parse(text: &str) -> (Sources, Ast, Vec<Diagnostic>) {
    let mut sources = Sources::default();
    let id = sources.add("test.itp", text);
    let mut diagnostics = Diagnostics::default();
    let ast = syntax::parse(&sources, id, &mut diagnostics);
    (sources, ast, diagnostics.into_sorted())
}

/// The errors of a script as a person reads them.
fn rendered(text: &str) -> String {
    let (sources, _, errors) = parse(text);
    errors.iter().map(|error| render(error, &sources, Style::Plain)).collect::<Vec<_>>().join("\n\n")
}

/// The script in canonical layout; fails the test when it has errors.
fn format(text: &str) -> String {
    let mut sources = Sources::default();
    let id = sources.add("test.itp", text);
    let formatted = syntax::format(&sources, id, &mut Diagnostics::default());
    formatted.unwrap_or_else(|| panic!("{}\n{text}", rendered(text)))
}
