//! Diagnostics as text for people and as JSON lines for tools.

use super::{Diagnostic, Label, Severity};
use crate::source::{Source, Sources};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use serde_json::json;
use std::ops::Range;

/// Whether escape codes colour the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// For files, pipes and tests.
    Plain,
    /// For terminals.
    Coloured,
}

/// The diagnostic as a person reads it, with the source lines it points at.
pub fn render(diagnostic: &Diagnostic, sources: &Sources, style: Style) -> String {
    let level = match diagnostic.code.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group = Group::with_title(level.primary_title(&diagnostic.message).id(diagnostic.code.id()));
    for (source, labels) in by_source(diagnostic, sources) {
        group = group.element(snippet(source, &labels));
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(note));
    }
    for help in &diagnostic.help {
        group = group.element(Level::HELP.message(help));
    }
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Coloured => Renderer::styled(),
    };
    renderer.render(&[group])
}

/// One line of JSON with the fields that CLI.md fixes.
pub fn to_json(diagnostic: &Diagnostic, sources: &Sources) -> String {
    let place = diagnostic.primary().map(|label| {
        let source = sources.get(label.span.source);
        (source, source.line_column(label.span.start), source.line_column(label.span.end))
    });
    let help = (!diagnostic.help.is_empty()).then(|| diagnostic.help.join("\n"));
    json!({
        "code": diagnostic.code.id(),
        "severity": diagnostic.code.severity().to_string(),
        "message": diagnostic.message,
        "file": place.map(|(source, ..)| &source.name),
        "line": place.map(|(_, start, _)| start.0),
        "column": place.map(|(_, start, _)| start.1),
        "end_line": place.map(|(_, _, end)| end.0),
        "end_column": place.map(|(_, _, end)| end.1),
        "help": help,
    })
    .to_string()
}

/// Labels grouped by the source they are in, the primary one's source first.
fn by_source<'a>(diagnostic: &'a Diagnostic, sources: &'a Sources) -> Vec<(&'a Source, Vec<&'a Label>)> {
    let mut ids: Vec<_> = diagnostic.primary().map(|label| label.span.source).into_iter().collect();
    for label in &diagnostic.labels {
        if !ids.contains(&label.span.source) {
            ids.push(label.span.source);
        }
    }
    let labels = |id| diagnostic.labels.iter().filter(|label| label.span.source == id).collect();
    ids.into_iter().map(|id| (sources.get(id), labels(id))).collect()
}

fn snippet<'a>(source: &'a Source, labels: &[&'a Label]) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
    let annotations = labels.iter().map(|label| {
        let kind = if label.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
        let annotation = kind.span(marked(&source.text, label.span.range()));
        if label.text.is_empty() { annotation } else { annotation.label(&label.text) }
    });
    Snippet::source(&*source.text).path(&*source.name).annotations(annotations)
}

/// Bytes of one line that are marked, at the most: drawing takes memory for each, and nobody sees the end of a longer line.
const MOST_MARKED: usize = 2_000;

/// The part of a range that is marked.
fn marked(text: &str, range: Range<usize>) -> Range<usize> {
    let end = text.floor_char_boundary(range.end.min(range.start + MOST_MARKED)).max(range.start);
    if text[range.start..end].contains('\n') { range } else { range.start..end }
}

#[cfg(test)]
mod tests {
    use super::{MOST_MARKED, marked};

    #[test]
    fn a_long_line_is_marked_at_its_beginning() {
        let (long, lines) = ("é".repeat(5_000), "a\n".repeat(5_000));
        assert_eq!(marked(&long, 2..8), 2..8);
        assert_eq!(marked(&long, 4..10_000), 4..4 + MOST_MARKED);
        assert_eq!(marked(&long, 10_000..10_000), 10_000..10_000);
        assert_eq!(marked(&lines, 0..10_000), 0..10_000);
    }
}
