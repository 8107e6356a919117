//! A script as an outline, as coloured words and as hints between its words.

use super::analysis::{Analysis, ROOT};
use super::hover::{heading, take_type, view_type};
use super::occurrences::{Local, Meaning};
use super::places::Lines;
use crate::graph::modules::{ModuleId, Symbol};
use crate::source::{Sources, Span};
use crate::syntax::ast::{Clause, Item, ItemKind};
use crate::syntax::{WordKind, words};
use lsp_types::{
    DocumentSymbol, InlayHint, InlayHintKind, InlayHintLabel, SemanticToken, SemanticTokenType, SymbolKind,
};
use std::collections::BTreeMap;

/// The items of a script, in order.
pub(super) fn outline(analysis: &Analysis) -> Vec<DocumentSymbol> {
    let lines = Lines::new(analysis.text());
    let items = analysis.ast().items.iter().enumerate();
    items.filter_map(|(at, item)| symbol(analysis, &lines, at, item)).collect()
}

fn symbol(analysis: &Analysis, lines: &Lines<'_>, at: usize, item: &Item) -> Option<DocumentSymbol> {
    let (name, place, kind) = match &item.kind {
        ItemKind::Use(_) | ItemKind::Set { .. } => return None,
        ItemKind::Output { path, .. } => (path.value.to_string(), path.span, SymbolKind::FILE),
        kind => {
            let name = kind.name()?;
            (name.name.to_string(), name.span, symbol_kind(kind))
        }
    };
    let id = Symbol { module: ModuleId(0), item: at as u32 };
    #[allow(deprecated, reason = "the type has the field, and no other way to make one")]
    Some(DocumentSymbol {
        name: if name.is_empty() { "\"\"".to_owned() } else { name },
        detail: Some(heading(analysis, id, analysis.ast(), item)),
        kind,
        tags: None,
        deprecated: None,
        range: lines.range(item.span.range()),
        selection_range: lines.range(place.range()),
        children: None,
    })
}

fn symbol_kind(kind: &ItemKind) -> SymbolKind {
    match kind {
        ItemKind::Param { .. } | ItemKind::Let { .. } => SymbolKind::CONSTANT,
        ItemKind::Fn(_) => SymbolKind::FUNCTION,
        ItemKind::Window { .. } => SymbolKind::STRUCT,
        ItemKind::Var { .. } => SymbolKind::VARIABLE,
        ItemKind::Input { .. } | ItemKind::Tensor(_) => SymbolKind::ARRAY,
        ItemKind::View { .. } => SymbolKind::INTERFACE,
        ItemKind::Use(_) | ItemKind::Output { .. } | ItemKind::Set { .. } => SymbolKind::FILE,
    }
}

/// The kinds of word that editors colour; tokens refer to them by place.
pub(super) const TOKEN_TYPES: [SemanticTokenType; 10] = [
    SemanticTokenType::KEYWORD,
    SemanticTokenType::NUMBER,
    SemanticTokenType::STRING,
    SemanticTokenType::COMMENT,
    SemanticTokenType::VARIABLE,
    SemanticTokenType::FUNCTION,
    SemanticTokenType::PARAMETER,
    SemanticTokenType::TYPE,
    SemanticTokenType::METHOD,
    SemanticTokenType::PROPERTY,
];

/// Every word with its colour, each placed relative to the one before, as the protocol wants it.
pub(super) fn tokens(analysis: &Analysis) -> Vec<SemanticToken> {
    let mut sources = Sources::default();
    let id = sources.add("", analysis.text());
    let lines = Lines::new(analysis.text());
    let names = analysis.names.iter().filter(|name| name.span.source == ROOT);
    let meanings: BTreeMap<usize, Meaning> =
        names.map(|name| (name.span.range().start, name.meaning)).collect();
    let (mut line, mut column) = (0, 0);
    let mut tokens = Vec::new();
    for word in words(&sources, id) {
        let Some(colour) = colour(analysis, word.kind, meanings.get(&word.range.start)) else { continue };
        let start = lines.position(word.range.start);
        let length = analysis.text()[word.range].encode_utf16().count() as u32;
        let delta_start = if start.line == line { start.character - column } else { start.character };
        tokens.push(SemanticToken {
            delta_line: start.line - line,
            delta_start,
            length,
            token_type: colour,
            token_modifiers_bitset: 0,
        });
        (line, column) = (start.line, start.character);
    }
    tokens
}

fn colour(analysis: &Analysis, kind: WordKind, meaning: Option<&Meaning>) -> Option<u32> {
    let ty = match kind {
        WordKind::Keyword => SemanticTokenType::KEYWORD,
        WordKind::Number => SemanticTokenType::NUMBER,
        WordKind::Text => SemanticTokenType::STRING,
        WordKind::Comment => SemanticTokenType::COMMENT,
        WordKind::Sign => return None,
        WordKind::Name => match meaning? {
            Meaning::Item(symbol) => match &analysis.modules.item(*symbol).kind {
                ItemKind::Fn(_) => SemanticTokenType::FUNCTION,
                _ => SemanticTokenType::VARIABLE,
            },
            Meaning::Local(_, Local::Label) => SemanticTokenType::PROPERTY,
            Meaning::Local(..) => SemanticTokenType::PARAMETER,
            Meaning::Builtin => SemanticTokenType::FUNCTION,
            Meaning::Type => SemanticTokenType::TYPE,
            Meaning::ViewOp(_) => SemanticTokenType::METHOD,
            Meaning::Word(..) => SemanticTokenType::KEYWORD,
        },
    };
    TOKEN_TYPES.iter().position(|known| *known == ty).map(|at| at as u32)
}

/// What was inferred: types of views and takes, shapes of outputs.
pub(super) fn hints(analysis: &Analysis, bytes: std::ops::Range<usize>) -> Vec<InlayHint> {
    let lines = Lines::new(analysis.text());
    let mut found: Vec<(usize, String)> = Vec::new();
    for item in &analysis.ast().items {
        match &item.kind {
            ItemKind::View { name, .. } => {
                let ty = view_type(analysis, ModuleId(0), &name.name);
                found.extend(ty.map(|ty| (name.span.range().end, format!(": {ty}"))));
            }
            ItemKind::Tensor(tensor) => {
                let takes = tensor.clauses.iter().filter_map(|clause| match clause {
                    Clause::Take { name, .. } => Some(name.span),
                    Clause::Window { .. }
                    | Clause::Blend { .. }
                    | Clause::Chunk { .. }
                    | Clause::Format { .. } => None,
                });
                let typed =
                    |span: Span| Some((span.range().end, format!(": {}", take_type(analysis, span)?)));
                found.extend(takes.filter_map(typed));
            }
            ItemKind::Output { path, .. } => {
                found.extend(output_shape(analysis, &path.value).map(|shape| (path.span.range().end, shape)));
            }
            _ => {}
        }
    }
    let shown = found.into_iter().filter(|(at, _)| bytes.start <= *at && *at <= bytes.end);
    shown.map(|(at, text)| hint(&lines, at, text)).collect()
}

/// `: 512×512 f32`
fn output_shape(analysis: &Analysis, path: &str) -> Option<String> {
    let outputs = &analysis.program.as_ref()?.program.graph.outputs;
    let view = &outputs.iter().find(|output| *output.path == *path)?.view;
    let sizes: Vec<String> = view.domain().shape()?.iter().map(ToString::to_string).collect();
    Some(format!(": {} {}", sizes.join("×"), view.element))
}

fn hint(lines: &Lines<'_>, at: usize, text: String) -> InlayHint {
    InlayHint {
        position: lines.position(at),
        label: InlayHintLabel::String(text),
        kind: Some(InlayHintKind::TYPE),
        text_edits: None,
        tooltip: None,
        padding_left: None,
        padding_right: None,
        data: None,
    }
}
