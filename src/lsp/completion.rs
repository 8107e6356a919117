//! A place in a script -> the words that can stand there.
//!
//! ```text
//! use |              the modules of the standard library
//! height.|           view operations
//! … blend |          how windows combine
//! y + he|            names that are seen here, labels and the like of this item, functions, keywords
//! ```
//!
//! It goes by the words before the place, since the item is mostly not finished; the editor drops what does not fit.

use super::analysis::Analysis;
use super::hover;
use crate::graph::meanings::{FUNCTIONS, LEVELS, OPTIONS, REDUCTIONS, VIEW_OPS, Words};
use crate::graph::modules::{ModuleId, STANDARD};
use crate::graph::types::Element;
use crate::graph::{BLENDS, COLORMAPS};
use crate::source::Sources;
use crate::syntax::ast::ItemKind;
use crate::syntax::{ITEM_KEYWORDS, KEYWORDS, Word, WordKind, words};
use lsp_types::{CompletionItem, CompletionItemKind, Documentation, MarkupContent, MarkupKind};
use std::collections::BTreeSet;

/// What can stand at a byte of the script.
pub(super) fn completions(analysis: &Analysis, byte: usize) -> Vec<CompletionItem> {
    let text = analysis.text();
    let mut sources = Sources::default();
    let id = sources.add("", text);
    let mut before = words(&sources, id);
    before.retain(|word| word.range.start < byte);
    let ends_here = |word: &Word| word.range.end >= byte;
    if before
        .last()
        .is_some_and(|word| matches!(word.kind, WordKind::Comment | WordKind::Text) && ends_here(word))
    {
        return Vec::new();
    }
    // The word that is being written says nothing yet.
    before.pop_if(|word| ends_here(word) && matches!(word.kind, WordKind::Name | WordKind::Keyword));
    let last = before.last().map_or("", |word| &text[word.range.clone()]);
    match last {
        "use" => modules(),
        "." => explained(VIEW_OPS, CompletionItemKind::METHOD),
        "blend" => plain(&BLENDS, CompletionItemKind::ENUM_MEMBER),
        "format" => explained(LEVELS, CompletionItemKind::ENUM_MEMBER),
        "colormap" => plain(&COLORMAPS, CompletionItemKind::COLOR),
        "->" | "type" => types(),
        ":" if declares_a_type(text, &before) => types(),
        _ => everything(analysis, &before),
    }
}

fn entry(label: &str, kind: CompletionItemKind) -> CompletionItem {
    CompletionItem { label: label.to_owned(), kind: Some(kind), ..CompletionItem::default() }
}

fn plain(names: &[&str], kind: CompletionItemKind) -> Vec<CompletionItem> {
    names.iter().map(|name| entry(name, kind)).collect()
}

fn types() -> Vec<CompletionItem> {
    plain(&Element::ALL.map(Element::name), CompletionItemKind::STRUCT)
}

fn modules() -> Vec<CompletionItem> {
    let known = STANDARD.iter().filter(|(name, _)| *name != "math");
    known
        .map(|(name, text)| CompletionItem {
            detail: text.lines().next().map(|line| line.trim_start_matches(['#', ' ']).to_owned()),
            ..entry(name, CompletionItemKind::MODULE)
        })
        .collect()
}

/// Words, each with what is written and what it means.
fn explained(words: &Words, kind: CompletionItemKind) -> Vec<CompletionItem> {
    let word = |(name, usage, meaning): &(&str, &str, &str)| CompletionItem {
        detail: Some((*usage).to_owned()),
        documentation: Some(markdown(meaning)),
        ..entry(name, kind)
    };
    words.iter().map(word).collect()
}

fn markdown(text: &str) -> Documentation {
    Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value: text.to_owned() })
}

/// Whether the words before are of an output, and its view is there.
fn may_be_an_option(text: &str, before: &[Word]) -> bool {
    let word = |word: &Word| &text[word.range.clone()];
    let item = before.iter().rposition(|own| KEYWORDS[..ITEM_KEYWORDS].contains(&word(own)));
    let Some(item) = item.filter(|at| word(&before[*at]) == "output") else { return false };
    let rest = &before[item..];
    rest.iter().any(|own| word(own) == "=") && rest.last().is_some_and(|own| !["=", ","].contains(&word(own)))
}

/// `tensor a:`, `fn f(n:` and their kin, but not `f32[y:`.
fn declares_a_type(text: &str, before: &[Word]) -> bool {
    let word = |back: usize| before.len().checked_sub(back).map_or("", |at| &text[before[at].range.clone()]);
    match word(3) {
        "param" | "input" | "var" | "tensor" => true,
        "(" | "," => {
            let keyword = |word: &&Word| KEYWORDS[..ITEM_KEYWORDS].contains(&&text[word.range.clone()]);
            let open = before
                .iter()
                .rev()
                .map(|word| &text[word.range.clone()])
                .find(|word| ["[", "{", "="].contains(word));
            before.iter().rfind(keyword).is_some_and(|word| &text[word.range.clone()] == "fn")
                && open != Some("[")
        }
        _ => false,
    }
}

fn everything(analysis: &Analysis, before: &[Word]) -> Vec<CompletionItem> {
    let mut found = locals(analysis.text(), before);
    found.extend(items(analysis));
    if may_be_an_option(analysis.text(), before) {
        found.extend(explained(OPTIONS, CompletionItemKind::PROPERTY));
    }
    found.extend(explained(FUNCTIONS, CompletionItemKind::FUNCTION));
    found.extend(explained(REDUCTIONS, CompletionItemKind::FUNCTION));
    found.extend(types());
    found.extend(plain(&KEYWORDS, CompletionItemKind::KEYWORD));
    let mut seen = BTreeSet::new();
    found.retain(|entry| seen.insert(entry.label.clone()));
    found
}

fn items(analysis: &Analysis) -> Vec<CompletionItem> {
    let names: BTreeSet<&str> = analysis.modules.visible(ModuleId(0)).collect();
    let symbols =
        names.into_iter().filter_map(|name| Some((name, analysis.modules.lookup(ModuleId(0), name)?)));
    let item = |(name, symbol)| {
        let item = analysis.modules.item(symbol);
        let kind = match &item.kind {
            ItemKind::Fn(_) => CompletionItemKind::FUNCTION,
            ItemKind::Param { .. } | ItemKind::Let { .. } => CompletionItemKind::CONSTANT,
            ItemKind::Window { .. } => CompletionItemKind::STRUCT,
            _ => CompletionItemKind::VARIABLE,
        };
        let ast = &analysis.modules.get(symbol.module).ast;
        CompletionItem {
            detail: Some(hover::heading(analysis, symbol, ast, item)),
            documentation: (!item.doc.is_empty()).then(|| markdown(&item.doc.join("\n"))),
            ..entry(name, kind)
        }
    };
    symbols.map(item).collect()
}

/// What the words of the unfinished item introduce: `y:` in brackets, `let a`, `i in`, `take b`, `as [i, j]`, arguments.
fn locals(text: &str, before: &[Word]) -> Vec<CompletionItem> {
    let word = |at: usize| before.get(at).map_or("", |word| &text[word.range.clone()]);
    let starts = |at: &usize| {
        let item = KEYWORDS[..ITEM_KEYWORDS].contains(&word(*at));
        item && !matches!(word(*at), "let" | "window")
    };
    let start = (0..before.len()).rev().find(starts).unwrap_or(0);
    let mut found = Vec::new();
    let mut listing = false;
    for (at, own) in before.iter().enumerate().skip(start + 1) {
        listing = match word(at) {
            "as" => true,
            "(" if word(start) == "fn" && at == start + 2 => true,
            "]" | ")" => false,
            _ => listing,
        };
        let introduced = listing
            || ["let", "take"].contains(&word(at - 1))
            || word(at + 1) == "in"
            || (word(at + 1) == ":" && ["[", ","].contains(&word(at - 1)));
        if own.kind == WordKind::Name && introduced && Element::parse(word(at)).is_none() {
            found.push(entry(word(at), CompletionItemKind::PROPERTY));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::analysis::analyse;
    use super::*;
    use crate::graph::modules::NoFiles;

    /// The words that can stand at the `|`: all of `expect` are among them, none of `not` is.
    fn check(text: &str, expect: &[&str], not: &[&str]) {
        let byte = text.find('|').unwrap();
        let analysis = analyse(None, text.replace('|', "").into(), &NoFiles, None);
        let found: Vec<String> = completions(&analysis, byte).into_iter().map(|entry| entry.label).collect();
        for word in expect {
            assert!(found.iter().any(|known| known == word), "{text}: no `{word}` in {found:?}");
        }
        for word in not {
            assert!(!found.iter().any(|known| known == word), "{text}: `{word}`");
        }
    }

    #[test]
    fn the_words_before_say_what_can_follow() {
        check("use |", &["noise", "blend"], &["math", "sum"]);
        check("use noise\ntensor a: f32[y: inf, x: inf] = fb|", &["fbm", "y", "x", "a", "sqrt", "if"], &[]);
        check("tensor a: f32[y: inf] = y\nview b = a.|", &["flip", "clamp"], &["sum", "a"]);
        check("tensor a: |", &["f32", "bool"], &["sum"]);
        check("tensor a: f32[y: |", &["inf"], &[]);
        check("tensor a: f32[y: inf] window [4] blend |", &["sum", "last"], &["y"]);
        check("fn f(left, right: f32) = le|", &["left", "right"], &[]);
        check("fn f(n: |", &["i64"], &["sum"]);
        check(
            "tensor a: f32[y: inf] window [4] as [row] take part = b window [4] = { let q = 1; |",
            &["row", "part", "q"],
            &[],
        );
        check("output \"a.png\" = a[:] colormap |", &["terrain"], &["sum"]);
        check("output \"a.png\" = a[:] |", &["colormap", "range", "type"], &[]);
        check("output \"a.png\" = a|", &["sum"], &["codec"]);
        check("tensor a: u8[x: 9] format |", &["dense", "run_list", "pattern"], &["sum"]);
        check("# he|", &[], &["sum"]);
        check("output \"a|\"", &[], &["sum"]);
    }
}
