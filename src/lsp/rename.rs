//! Where a name is declared and used, and how to call it otherwise everywhere at once.
//!
//! A new name is tried out first: if the script would no longer compile, or the name already means something, the
//! answer is a refusal that says so.

use super::analysis::{Analysis, ROOT, analyse};
use super::documents::Documents;
use super::fixes::{address, range};
use super::occurrences::{Meaning, Occurrence};
use super::{Library, places};
use crate::diagnostic::quoted;
use crate::graph::modules::standard;
use crate::source::Span;
use crate::syntax::KEYWORDS;
use lsp_types::{Location, TextEdit};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A place in a file: address and bytes, and the analysis that knows it.
type Place = (String, Span, Arc<Analysis>);

/// What stands at a byte of the script: a name, or a word of an unfinished item that an item has.
pub(super) fn meaning_at(analysis: &Analysis, byte: usize) -> Option<(Span, Meaning)> {
    let known = analysis.name_at(byte).map(|name| (name.span, name.meaning));
    known.or_else(|| {
        let (symbol, bytes) = analysis.word_at(byte).filter(|_| analysis.item_at(byte).is_none())?;
        Some((Span::new(ROOT, bytes.start, bytes.end), Meaning::Item(symbol)))
    })
}

/// Where the thing is declared, if that is in a file.
pub(super) fn definition(
    documents: &Documents,
    analysis: &Analysis,
    uri: &str,
    meaning: Meaning,
) -> Option<Location> {
    let span = declared(analysis, meaning)?;
    let uri = places::parsed(&address(documents, analysis, uri, span.source)?)?;
    Some(Location { uri, range: range(analysis, span) })
}

/// Where a thing of the standard library is declared, in a file that is made for it.
pub(super) fn library_definition(
    analysis: &Analysis,
    meaning: Meaning,
    library: Library,
) -> Option<Location> {
    let span = declared(analysis, meaning)?;
    let own = analysis.sources.get(span.source);
    let module = own.name.strip_prefix("std/")?.strip_suffix(".itp")?;
    standard(module).filter(|text| **text == *own.text)?;
    let uri = places::parsed(&places::uri(&library(module, &own.text)?))?;
    Some(Location { uri, range: range(analysis, span) })
}

fn declared(analysis: &Analysis, meaning: Meaning) -> Option<Span> {
    match meaning {
        Meaning::Item(symbol) => Some(analysis.declared(symbol)),
        Meaning::Local(span, _) => Some(span),
        Meaning::Builtin | Meaning::Type | Meaning::ViewOp(_) | Meaning::Word(..) => None,
    }
}

/// Every place of a thing, in the script and in all open scripts that use the same file.
pub(super) fn places_of(
    documents: &mut Documents,
    analysis: &Arc<Analysis>,
    uri: &str,
    meaning: Meaning,
) -> Vec<Place> {
    let Some(home) = declared(analysis, meaning) else { return Vec::new() };
    let home_uri = address(documents, analysis, uri, home.source);
    let mut found: Vec<Place> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut add = |documents: &Documents, analysis: &Arc<Analysis>, uri: &str, meaning: Meaning| {
        for name in analysis.names.iter().filter(|name| name.meaning == meaning) {
            let Some(place) = address(documents, analysis, uri, name.span.source) else { continue };
            if seen.insert((place.clone(), name.span.start)) {
                found.push((place, name.span, analysis.clone()));
            }
        }
    };
    add(documents, analysis, uri, meaning);
    let Some(home_uri) = home_uri else { return found };
    for other_uri in documents.uris().into_iter().filter(|other| other != uri) {
        let Some(other) = documents.analysis(&other_uri) else { continue };
        let same = other.names.iter().find(|name| {
            declared(&other, name.meaning) == Some(name.span)
                && name.span.range() == home.range()
                && address(documents, &other, &other_uri, name.span.source).as_ref() == Some(&home_uri)
        });
        if let Some(Occurrence { meaning, .. }) = same.cloned() {
            add(documents, &other, &other_uri, meaning);
        }
    }
    found
}

/// Places as the protocol wants them.
pub(super) fn locations(places: &[Place]) -> Vec<Location> {
    let location = |(uri, span, analysis): &Place| {
        Some(Location { uri: places::parsed(uri)?, range: range(analysis, *span) })
    };
    places.iter().filter_map(location).collect()
}

/// Whether the thing can be called otherwise; the standard library and the language cannot.
pub(super) fn can_rename(
    documents: &Documents,
    analysis: &Analysis,
    uri: &str,
    meaning: Meaning,
) -> Result<(), String> {
    let Some(span) = declared(analysis, meaning) else {
        return Err("this is a word of the language".to_owned());
    };
    match address(documents, analysis, uri, span.source) {
        Some(_) => Ok(()),
        None => Err(format!("this is declared in {}", analysis.sources.get(span.source).name)),
    }
}

/// The edits that call the thing `new` everywhere, as a `WorkspaceEdit`, or why not.
pub(super) fn rename(
    documents: &mut Documents,
    analysis: &Arc<Analysis>,
    uri: &str,
    meaning: Meaning,
    new: &str,
) -> Result<Value, String> {
    can_rename(documents, analysis, uri, meaning)?;
    check_name(new)?;
    let places = places_of(documents, analysis, uri, meaning);
    for (_, span, known) in &places {
        let taken = known.names.iter().any(|name| {
            name.span.source == span.source && name.meaning != meaning && known.sources.text(name.span) == new
        });
        if taken {
            return Err(format!(
                "{} is already a name in {}",
                quoted(new),
                known.sources.get(span.source).name
            ));
        }
    }
    try_out(documents, analysis, &places, new)?;
    let mut changes: BTreeMap<String, Vec<TextEdit>> = BTreeMap::new();
    for (place, span, known) in &places {
        let edit = TextEdit { range: range(known, *span), new_text: new.to_owned() };
        changes.entry(place.clone()).or_default().push(edit);
    }
    Ok(json!({ "changes": changes }))
}

fn check_name(new: &str) -> Result<(), String> {
    let mut chars = new.chars();
    let first = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !first || !chars.all(|c| c.is_ascii_alphanumeric() || c == '_') || new == "_" {
        return Err(format!("{} is not a name: write letters, digits and `_`, a letter first", quoted(new)));
    }
    if KEYWORDS.contains(&new) {
        return Err(format!("{} is a keyword", quoted(new)));
    }
    Ok(())
}

/// Compiles the script with the new name, where it compiled with the old one.
fn try_out(documents: &Documents, analysis: &Analysis, places: &[Place], new: &str) -> Result<(), String> {
    let here = |(_, span, known): &Place| span.source == ROOT && std::ptr::eq(&**known, analysis);
    if !places.iter().all(here) {
        // Files that it uses would have to change too; what they say stays as it is.
        return Ok(());
    }
    let mut text = analysis.text().to_owned();
    for (_, span, _) in places.iter().rev() {
        text.replace_range(span.range(), new);
    }
    let path = analysis.path(ROOT);
    let tried = analyse(path.as_deref(), text.into(), &documents.files(path.as_deref()), None);
    if tried.diagnostics.len() <= analysis.diagnostics.len() {
        return Ok(());
    }
    let first = tried.diagnostics.first().map_or(String::new(), |first| first.message.clone());
    Err(format!("{} would break the script: {first}", quoted(new)))
}
