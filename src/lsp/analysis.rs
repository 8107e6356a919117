//! A script and what it uses -> everything that answers are made from.
//!
//! The names come from the syntax trees of this very text, types and shapes from the last text that compiled: while a
//! line is half written the rest of the script keeps its hovers and hints.

use super::occurrences::{Occurrence, occurrences};
use crate::compile::{Options, Program, compile};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::graph::modules::{Loader, ModuleId, Modules, Symbol, standard};
use crate::source::{SourceId, Sources, Span};
use crate::syntax::ast::{Ast, Item};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is known about a script.
#[derive(Debug)]
pub(super) struct Analysis {
    /// The texts that spans refer to; the script is the first.
    pub(super) sources: Sources,
    /// The syntax trees.
    pub(super) modules: Modules,
    /// Every name in all of them, by place.
    pub(super) names: Vec<Occurrence>,
    /// What is wrong.
    pub(super) diagnostics: Vec<Diagnostic>,
    /// The script as it last compiled.
    pub(super) program: Option<Arc<Compiled>>,
    path: Option<PathBuf>,
}

/// A program with the texts that its spans refer to.
#[derive(Debug)]
pub(super) struct Compiled {
    /// The checked program.
    pub(super) program: Program,
    /// Its texts.
    pub(super) sources: Sources,
}

/// The script itself.
pub(super) const ROOT: SourceId = SourceId(0);

/// Parses and compiles a script; `previous` is what was known before.
pub(super) fn analyse(
    path: Option<&Path>,
    text: Arc<str>,
    files: &dyn Loader,
    previous: Option<&Analysis>,
) -> Analysis {
    let name = path.and_then(Path::file_name).map_or("untitled.itp".into(), |name| name.to_string_lossy());
    let mut sources = Sources::default();
    let root = sources.add(name, text);
    let modules = Modules::load(&mut sources, root, files, &mut Diagnostics::default());
    let names = occurrences(&modules);
    let mut diagnostics = Diagnostics::default();
    let program = compile(&mut sources, root, files, &Options::default(), &mut diagnostics);
    let compiled = program.map(|program| Arc::new(Compiled { program, sources: sources.clone() }));
    Analysis {
        modules,
        names,
        diagnostics: diagnostics.into_sorted(),
        program: compiled.or_else(|| previous.and_then(|previous| previous.program.clone())),
        path: path.map(Path::to_owned),
        sources,
    }
}

impl Analysis {
    /// The file of a text; those of the standard library have none.
    pub(super) fn path(&self, source: SourceId) -> Option<PathBuf> {
        let path = self.path.as_ref()?;
        if source == ROOT {
            return Some(path.clone());
        }
        let own = self.sources.get(source);
        let module = own.name.strip_prefix("std/").and_then(|name| standard(name.strip_suffix(".itp")?));
        if module.is_some_and(|text| *own.text == *text) {
            return None;
        }
        let file = path.parent()?.join(&own.name);
        Some(file.canonicalize().unwrap_or(file))
    }

    /// The text of the script.
    pub(super) fn text(&self) -> &str {
        &self.sources.get(ROOT).text
    }

    /// The tree of the script.
    pub(super) fn ast(&self) -> &Ast {
        &self.modules.root().ast
    }

    /// The name at a byte of the script, or right before it.
    pub(super) fn name_at(&self, byte: usize) -> Option<&Occurrence> {
        let own = || self.names.iter().filter(|name| name.span.source == ROOT);
        let inside = own().find(|name| name.span.range().contains(&byte));
        inside.or_else(|| own().find(|name| name.span.range().end == byte))
    }

    /// What a word of the script means where nothing more is known about the place: an item of that name.
    pub(super) fn word_at(&self, byte: usize) -> Option<(Symbol, std::ops::Range<usize>)> {
        let text = self.text();
        let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let before = text.get(..byte)?;
        let start = before.len() - before.chars().rev().take_while(|c| part(*c)).count();
        let end = byte + text.get(byte..)?.chars().take_while(|c| part(*c)).count();
        let symbol = self.modules.lookup(ModuleId(0), &text[start..end])?;
        Some((symbol, start..end))
    }

    /// The item of the script that a byte is in.
    pub(super) fn item_at(&self, byte: usize) -> Option<&Item> {
        self.ast().items.iter().find(|item| item.span.range().contains(&byte))
    }

    /// Where an item is declared.
    pub(super) fn declared(&self, symbol: Symbol) -> Span {
        let item = self.modules.item(symbol);
        item.kind.name().map_or(item.span, |name| name.span)
    }
}
