//! What is wrong with a script -> marks in the editor, and edits that put it right.
//!
//! ```text
//! heigth[y, x]          replace with `height`
//! photo[y, x - 1]       read `photo.clamp()`, `photo.wrap()`, …
//! ```

use super::analysis::{Analysis, ROOT};
use super::documents::Documents;
use super::places::{self, Lines};
use crate::diagnostic::{Code, Diagnostic, Fix, Severity, quoted};
use crate::source::{SourceId, Span};
use crate::syntax::ast::{Ast, Expr, ExprId};
use lsp_types::{
    DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, Range, TextEdit,
};
use std::collections::BTreeMap;

/// The marks of a script and of the files that it uses, by address; the script itself always has an entry.
pub(super) fn marks(
    documents: &Documents,
    analysis: &Analysis,
    uri: &str,
) -> BTreeMap<String, Vec<lsp_types::Diagnostic>> {
    let mut found = BTreeMap::from([(uri.to_owned(), Vec::new())]);
    for diagnostic in &analysis.diagnostics {
        let span = diagnostic.primary().map(|label| label.span);
        let place = span.map_or(Some(uri.to_owned()), |span| address(documents, analysis, uri, span.source));
        // A mistake inside the standard library can only be shown where it comes from.
        found
            .entry(place.unwrap_or_else(|| uri.to_owned()))
            .or_default()
            .push(mark(documents, analysis, uri, diagnostic));
    }
    found
}

/// The address of a text; those of the standard library have none.
pub(super) fn address(
    documents: &Documents,
    analysis: &Analysis,
    uri: &str,
    source: SourceId,
) -> Option<String> {
    if source == ROOT {
        return Some(uri.to_owned());
    }
    analysis.path(source).map(|path| documents.uri_of(&path))
}

fn mark(
    documents: &Documents,
    analysis: &Analysis,
    uri: &str,
    diagnostic: &Diagnostic,
) -> lsp_types::Diagnostic {
    let severity = match diagnostic.code.severity() {
        Severity::Error => DiagnosticSeverity::ERROR,
        Severity::Warning => DiagnosticSeverity::WARNING,
    };
    let primary = diagnostic.primary();
    let others = diagnostic.labels.iter().filter(|label| Some(*label) != primary);
    let related: Vec<_> = others
        .filter_map(|label| {
            let uri = places::parsed(&address(documents, analysis, uri, label.span.source)?)?;
            let location = Location { uri, range: range(analysis, label.span) };
            Some(DiagnosticRelatedInformation { location, message: label.text.clone() })
        })
        .collect();
    lsp_types::Diagnostic {
        range: primary.map(|label| range(analysis, label.span)).unwrap_or_default(),
        severity: Some(severity),
        code: Some(NumberOrString::String(diagnostic.code.id().to_owned())),
        source: Some("itp".to_owned()),
        message: message(diagnostic),
        related_information: (!related.is_empty()).then_some(related),
        ..lsp_types::Diagnostic::default()
    }
}

/// Title, label, notes and help, each on a line.
fn message(diagnostic: &Diagnostic) -> String {
    let label = diagnostic.primary().map(|label| label.text.as_str()).filter(|text| !text.is_empty());
    let notes = diagnostic.notes.iter().map(|note| format!("note: {note}"));
    let help = diagnostic.help.iter().map(|help| format!("help: {help}"));
    let lines = std::iter::once(diagnostic.message.clone()).chain(label.map(str::to_owned));
    lines.chain(notes).chain(help).collect::<Vec<_>>().join("\n")
}

/// A span as the protocol counts.
pub(super) fn range(analysis: &Analysis, span: Span) -> Range {
    Lines::new(&analysis.sources.get(span.source).text).range(span.range())
}

/// A remedy: what the editor calls it, and what it changes in the script.
pub(super) struct Remedy<'a> {
    /// What is wrong.
    pub(super) diagnostic: &'a Diagnostic,
    /// What the editor offers.
    pub(super) title: String,
    /// The change.
    pub(super) edit: TextEdit,
}

/// The remedies for what is wrong in some bytes of the script.
pub(super) fn remedies(analysis: &Analysis, bytes: std::ops::Range<usize>) -> Vec<Remedy<'_>> {
    let meets = |span: Span| {
        span.source == ROOT && span.range().start <= bytes.end && bytes.start <= span.range().end
    };
    let near = analysis
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.labels.iter().any(|label| label.primary && meets(label.span)));
    let mut found = Vec::new();
    for diagnostic in near {
        let own = diagnostic.fix.iter().map(|fix| Fix::clone(fix));
        let fixes = own.chain(boundaries(analysis, diagnostic)).filter(|fix| fix.span.source == ROOT);
        found.extend(fixes.map(|fix| Remedy {
            diagnostic,
            title: title(analysis, &fix),
            edit: TextEdit { range: range(analysis, fix.span), new_text: fix.text.clone() },
        }));
    }
    found
}

fn title(analysis: &Analysis, fix: &Fix) -> String {
    let old = analysis.sources.text(fix.span);
    let new = fix.text.trim();
    if old.is_empty() {
        format!("add {}", quoted(new))
    } else {
        format!("replace {} with {}", quoted(old), quoted(new))
    }
}

/// What can lie outside a tensor that is read beyond its bounds.
fn boundaries(analysis: &Analysis, diagnostic: &Diagnostic) -> Vec<Fix> {
    let place =
        diagnostic.primary().filter(|label| diagnostic.code == Code::E0502 && label.span.source == ROOT);
    let Some(end) = place.and_then(|label| object_end(analysis.ast(), label.span)) else { return Vec::new() };
    let span = Span { start: end, end, source: ROOT };
    ["clamp()", "wrap()", "mirror()", "reflect()", "fill(0)"]
        .map(|op| Fix { span, text: format!(".{op}") })
        .to_vec()
}

/// Where what is indexed at `coordinate` ends: the smallest index expression around it decides.
fn object_end(ast: &Ast, coordinate: Span) -> Option<u32> {
    let inside = |outer: Span| outer.start <= coordinate.start && coordinate.end <= outer.end;
    let indices = (0..ast.len() as u32).map(ExprId).filter_map(|id| match ast.expr(id) {
        Expr::Index { object, indices } if indices.iter().any(|index| inside(index.span)) => {
            Some((ast.span(id), ast.span(*object).end))
        }
        _ => None,
    });
    indices.min_by_key(|(span, _)| span.end - span.start).map(|(_, end)| end)
}
