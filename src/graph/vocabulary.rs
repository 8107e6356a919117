//! What can be written where a name stands, and what it means in a line: for completion, hints and documentation.
//!
//! ```text
//! fbm     fn fbm(y, x, seed, octaves)     Sums `octaves` layers of noise …
//! sin     sin(x)                          built in
//! ```

use super::elaborate::{BUILTIN_NAMES, builtin_call};
use super::meanings::{self, FUNCTIONS, REDUCTIONS, VIEW_OPS};
use super::modules::{Module, ModuleId, Symbol};
use super::slices::Names;
use crate::source::{Sources, Span};
use crate::syntax::ast::{Item, ItemKind, TensorBody};
use std::sync::Arc;

/// A name and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// The name itself.
    pub name: Arc<str>,
    /// How it is declared, without its body: `fn fbm(y, x, seed, octaves)`.
    pub head: String,
    /// Its `##` lines.
    pub doc: Vec<Arc<str>>,
    /// Whether it is followed by arguments in parentheses.
    pub called: bool,
}

/// Functions, reductions and types of the language, each with a call of it.
pub fn built_in() -> impl Iterator<Item = (&'static str, String)> {
    BUILTIN_NAMES.iter().map(|name| (*name, builtin_call(name)))
}

/// What a built-in function means: a call of it, and its line; two of each where it is a reduction as well.
pub fn built_in_meanings(name: &str) -> Vec<(&'static str, &'static str)> {
    [FUNCTIONS, REDUCTIONS].into_iter().filter_map(|words| meanings::of(words, name)).collect()
}

/// View operations, each with a call of it.
pub fn view_ops() -> impl Iterator<Item = (&'static str, &'static str)> {
    VIEW_OPS.iter().map(|(name, usage, _)| (*name, *usage))
}

impl Names {
    /// What `name` means in the script.
    pub fn meaning(&self, name: &str, sources: &Sources) -> Option<Meaning> {
        Some(self.of_symbol(self.modules().lookup(ModuleId(0), name)?, sources))
    }

    /// Every name that the script sees, its own first.
    pub fn meanings(&self, sources: &Sources) -> Vec<Meaning> {
        let symbols = self.modules().visible(ModuleId(0));
        let symbols = symbols.filter_map(|name| self.modules().lookup(ModuleId(0), name));
        symbols.map(|symbol| self.of_symbol(symbol, sources)).collect()
    }

    fn of_symbol(&self, symbol: Symbol, sources: &Sources) -> Meaning {
        let (module, item) = (self.modules().get(symbol.module), self.modules().item(symbol));
        let name = item.kind.name().map_or_else(|| "".into(), |name| name.name.clone());
        let called = matches!(item.kind, ItemKind::Fn(_));
        Meaning { name, head: head(module, item, sources), doc: item.doc.clone(), called }
    }
}

/// The text of an item up to its body, on one line.
fn head(module: &Module, item: &Item, sources: &Sources) -> String {
    let body = match &item.kind {
        ItemKind::Fn(function) => Some(function.body),
        ItemKind::Tensor(tensor) => match &tensor.body {
            TensorBody::Expr(body) => Some(*body),
            TensorBody::Extern { .. } => None,
        },
        ItemKind::Use(_)
        | ItemKind::Param { .. }
        | ItemKind::Let { .. }
        | ItemKind::Window { .. }
        | ItemKind::Input { .. }
        | ItemKind::Var { .. }
        | ItemKind::View { .. }
        | ItemKind::Output { .. }
        | ItemKind::Set { .. } => None,
    };
    let end = body.map_or(item.span.end, |body| module.ast.span(body).start);
    let text = sources.text(Span { end, ..item.span }).trim_end();
    let text = if body.is_some() { text.strip_suffix('=').unwrap_or(text) } else { text };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
