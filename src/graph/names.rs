//! The names that an expression takes from outside, found without working it out.
//!
//! ```text
//! sum(i in 0..n) { let a = w[i]; a * scale }      n, w, scale
//! ```
//!
//! They say what has to be worked out first, so that a chain of a thousand constants does not nest a thousand deep, and
//! which names nothing declares.

use super::check::Checker;
use super::elaborate::BUILTIN_NAMES;
use super::modules::{Module, ModuleId, Symbol};
use super::scope::Scope;
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprId, Index, IndexKind, ItemKind};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A name that an expression does not bind itself.
#[derive(Clone, Debug)]
pub(super) struct Free {
    pub name: Arc<str>,
    pub span: Span,
    /// It is called like a function.
    pub called: bool,
}

/// The names in an expression that neither it nor `known` binds, in the order they are written.
pub(super) fn free_names(module: &Module, expr: ExprId, known: &[Arc<str>]) -> Vec<Free> {
    let known = known.iter().map(|name| (name.clone(), ())).collect();
    let mut walk = Walk { module, known, free: Vec::new() };
    walk.expr(expr);
    walk.free
}

/// Those that nothing at all declares, each once.
pub(super) fn undeclared(checker: &Checker<'_>, id: ModuleId, expr: ExprId, known: &[Arc<str>]) -> Vec<Free> {
    let mut seen = BTreeSet::new();
    let declared = |name: &str| checker.modules.lookup(id, name).is_some() || BUILTIN_NAMES.contains(&name);
    let free = free_names(checker.modules.get(id), expr, known).into_iter();
    free.filter(|free| !declared(&free.name) && seen.insert(free.name.clone())).collect()
}

/// The constants and views that `symbol` needs and that are not known yet, each after those that it needs itself.
pub(super) fn needed_first(checker: &Checker<'_>, symbol: Symbol) -> Vec<(Symbol, Span)> {
    let mut order = Vec::new();
    let mut seen = BTreeSet::from([symbol]);
    let mut stack = vec![(symbol, None, mentioned(checker, symbol))];
    while let Some((symbol, span, waiting)) = stack.last_mut() {
        match waiting.pop() {
            Some((next, at)) if seen.insert(next) && !checker.is_known(next) => {
                let needs = mentioned(checker, next);
                stack.push((next, Some(at), needs));
            }
            Some(_) => {}
            None => {
                let is_function = matches!(checker.modules.item(*symbol).kind, ItemKind::Fn(_));
                order.extend(span.filter(|_| !is_function).map(|span| (*symbol, span)));
                stack.pop();
            }
        }
    }
    order
}

/// The constants, views and functions that an item mentions.
fn mentioned(checker: &Checker<'_>, symbol: Symbol) -> Vec<(Symbol, Span)> {
    let module = checker.modules.get(symbol.module);
    let free = match &checker.modules.item(symbol).kind {
        ItemKind::Let { value, .. } | ItemKind::Param { value, .. } | ItemKind::View { value, .. } => {
            free_names(module, *value, &[])
        }
        ItemKind::Fn(function) => {
            let params: Vec<_> = function.params.iter().map(|param| param.name.name.clone()).collect();
            free_names(module, function.body, &params)
        }
        ItemKind::Use(_)
        | ItemKind::Window { .. }
        | ItemKind::Input { .. }
        | ItemKind::Var { .. }
        | ItemKind::Tensor(_)
        | ItemKind::Output { .. }
        | ItemKind::Set { .. } => Vec::new(),
    };
    let found = free.iter().filter_map(|free| {
        let symbol = checker.modules.lookup(symbol.module, &free.name)?;
        let kind = &checker.modules.item(symbol).kind;
        let waits = matches!(
            kind,
            ItemKind::Let { .. } | ItemKind::Param { .. } | ItemKind::View { .. } | ItemKind::Fn(_)
        );
        waits.then_some((symbol, free.span))
    });
    found.collect()
}

struct Walk<'m> {
    module: &'m Module,
    known: Scope<()>,
    free: Vec<Free>,
}

impl Walk<'_> {
    fn expr(&mut self, id: ExprId) {
        let ast = &self.module.ast;
        let outer = self.known.len();
        match ast.expr(id) {
            Expr::Int(_) | Expr::Float(_) | Expr::Bool(_) | Expr::Inf | Expr::Str(_) => {}
            Expr::Name(name) => self.name(name, ast.span(id), false),
            Expr::Paren(a) | Expr::Unary(_, a) => self.expr(*a),
            Expr::Binary(_, a, b) => self.spine(*a, *b),
            Expr::If { condition, then, otherwise } => self.all([*condition, *then, *otherwise]),
            Expr::Reduce { binders, body, .. } => {
                for binder in binders {
                    self.all([binder.lo, binder.hi]);
                    self.known.push(binder.name.name.clone(), ());
                }
                self.expr(*body);
            }
            Expr::Call { function, .. } if &*function.name == "index" => {}
            Expr::Call { function, args } => {
                self.name(&function.name, function.span, true);
                self.all(args.iter().copied());
            }
            // Labels of a view are words of their own in its operations.
            Expr::Method { object, .. } => self.expr(*object),
            Expr::Index { object, indices } => {
                self.expr(*object);
                indices.iter().for_each(|index| self.index(index));
            }
            Expr::Block { lets, result } => {
                for (name, value) in lets {
                    self.expr(*value);
                    self.known.push(name.name.clone(), ());
                }
                self.expr(*result);
            }
            Expr::List(items) => self.all(items.iter().copied()),
            Expr::Map(entries) => self.all(entries.iter().map(|(_, value)| *value)),
            Expr::Range(a, b) => self.all([*a, *b]),
        }
        self.known.truncate(outer);
    }

    fn all(&mut self, exprs: impl IntoIterator<Item = ExprId>) {
        exprs.into_iter().for_each(|expr| self.expr(expr));
    }

    /// A chain of operators, which may be as long as a file, without nesting.
    fn spine(&mut self, a: ExprId, b: ExprId) {
        let (mut left, mut rights) = (a, vec![b]);
        while let Expr::Binary(_, a, b) = self.module.ast.expr(left) {
            left = *a;
            rights.push(*b);
        }
        self.expr(left);
        self.all(rights.into_iter().rev());
    }

    fn index(&mut self, index: &Index) {
        match &index.kind {
            IndexKind::At(expr) => self.expr(*expr),
            IndexKind::Slice { start, stop, step } => {
                self.all([start, stop, step].into_iter().flatten().copied());
            }
            IndexKind::Ellipsis => {}
        }
    }

    fn name(&mut self, name: &Arc<str>, span: Span, called: bool) {
        if self.known.find(name).is_none() {
            self.free.push(Free { name: name.clone(), span, called });
        }
    }
}
