//! Syntax trees -> every name in them and what it means.
//!
//! ```text
//! tensor smooth: f32[y: inf] = sum(d in -1..=1) height[y + d]
//!        item        label         variable     item   label variable
//! ```
//!
//! What a name means is a matter of scopes alone, so it is found in scripts that do not compile too.

use crate::graph::BUILTIN_NAMES;
use crate::graph::meanings::{self, LEVELS, OPTIONS, VIEW_OPS, Words};
use crate::graph::modules::{Module, ModuleId, Modules, Symbol};
use crate::source::Span;
use crate::syntax::ast::{
    BlendKind, Clause, Dim, Expr, ExprId, Extent, FnItem, Ident, Index, IndexKind, Item, ItemKind, List,
    OutputOption, TensorBody, TensorItem, TensorType, WindowPart, WindowSpec,
};
use std::sync::Arc;

/// A name, where it stands and what it means there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Occurrence {
    /// Where.
    pub(super) span: Span,
    /// What it stands for.
    pub(super) meaning: Meaning,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// An item.
    Item(Symbol),
    /// Something that exists inside one item only, by the place that introduces it.
    Local(Span, Local),
    /// A function or a reduction that needs no `use`.
    Builtin,
    /// An element type.
    Type,
    /// An operation on views, by its place in the list of all.
    ViewOp(usize),
    /// An option of an output, or a level of a format: what is written, and what it means.
    Word(&'static str, &'static str),
}

/// The kinds of name that exist inside one item only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Local {
    /// A dimension, and the global coordinate along it.
    Label,
    /// A coordinate inside a window.
    Coordinate,
    /// A slice of a source.
    Take,
    /// `let` in a block.
    Let,
    /// A variable of a reduction.
    Variable,
    /// An argument of a function.
    Argument,
    /// What a blend calls the two values.
    Blended,
}

/// Every name of all modules, by place.
pub(super) fn occurrences(modules: &Modules) -> Vec<Occurrence> {
    let mut found = Vec::new();
    for (id, module) in modules.iter() {
        let mut walk = Walk { modules, id, module, scope: Vec::new(), found: Vec::new() };
        for (at, item) in module.ast.items.iter().enumerate() {
            if let Some(name) = item.kind.name() {
                walk.add(name.span, Meaning::Item(Symbol { module: id, item: at as u32 }));
            }
            walk.item(item);
            walk.scope.clear();
        }
        found.append(&mut walk.found);
    }
    found.sort_by_key(|name| name.span);
    found.dedup();
    found
}

type Binding = (Arc<str>, Meaning);

struct Walk<'m> {
    modules: &'m Modules,
    id: ModuleId,
    module: &'m Arc<Module>,
    /// Innermost last.
    scope: Vec<Binding>,
    found: Vec<Occurrence>,
}

impl<'m> Walk<'m> {
    fn add(&mut self, span: Span, meaning: Meaning) {
        self.found.push(Occurrence { span, meaning });
    }

    /// A name that is introduced here.
    fn bind(&mut self, name: &Ident, local: Local) {
        if &*name.name != "_" {
            let meaning = Meaning::Local(name.span, local);
            self.add(name.span, meaning);
            self.scope.push((name.name.clone(), meaning));
        }
    }

    fn name(&mut self, name: &str, span: Span) {
        let local = self.scope.iter().rev().find(|(known, _)| **known == *name).map(|(_, meaning)| *meaning);
        let item = || self.modules.lookup(self.id, name).map(Meaning::Item);
        if let Some(meaning) = local.or_else(item).or_else(|| builtin(name)) {
            self.add(span, meaning);
        }
    }

    fn item(&mut self, item: &'m Item) {
        match &item.kind {
            ItemKind::Use(_) => {}
            ItemKind::Param { ty, value, .. } => {
                ty.iter().for_each(|ty| self.element(ty));
                self.expr(*value);
            }
            ItemKind::Let { value, .. } | ItemKind::View { value, .. } => self.expr(*value),
            ItemKind::Fn(item) => self.function(item),
            ItemKind::Window { window, .. } => self.window(window),
            ItemKind::Input { ty, format, .. } => {
                self.tensor_type(ty);
                format.iter().for_each(|(levels, _)| self.levels(*levels));
            }
            ItemKind::Var { ty, chunk, value, .. } => {
                self.tensor_type(ty);
                chunk.iter().for_each(|list| self.list(list));
                self.expr(*value);
            }
            ItemKind::Tensor(item) => self.tensor(item),
            ItemKind::Output { value, options, .. } => {
                self.expr(*value);
                options.iter().for_each(|option| self.option(option));
            }
            ItemKind::Set { target, value } => {
                self.expr(*target);
                self.scope = labels(self.modules, self.id, *target);
                self.expr(*value);
            }
        }
    }

    fn element(&mut self, ty: &Ident) {
        self.add(ty.span, Meaning::Type);
    }

    fn function(&mut self, item: &'m FnItem) {
        for param in &item.params {
            param.ty.iter().for_each(|ty| self.element(ty));
            param.default.iter().for_each(|default| self.expr(*default));
        }
        item.params.iter().for_each(|param| self.bind(&param.name, Local::Argument));
        item.result.iter().for_each(|ty| self.element(ty));
        self.expr(item.body);
    }

    fn tensor_type(&mut self, ty: &'m TensorType) {
        self.element(&ty.element);
        ty.dims.iter().for_each(|dim| self.extent(dim));
        ty.dims.iter().for_each(|dim| self.bind(&dim.label, Local::Label));
    }

    fn extent(&mut self, dim: &Dim) {
        match &dim.extent {
            Extent::Count(bound) => self.expr(bound.value),
            Extent::Range(lo, hi) => self.all([lo.value, hi.value]),
        }
    }

    fn tensor(&mut self, item: &'m TensorItem) {
        self.tensor_type(&item.ty);
        item.clauses.iter().for_each(|clause| self.clause(clause));
        match &item.body {
            TensorBody::Expr(body) => self.expr(*body),
            TensorBody::Extern { args, .. } => self.all(args.iter().copied()),
        }
    }

    fn clause(&mut self, clause: &'m Clause) {
        match clause {
            Clause::Window { window, locals, .. } => {
                self.window(window);
                locals.iter().flatten().for_each(|local| self.bind(local, Local::Coordinate));
            }
            Clause::Take { name, source, window, .. } => {
                self.expr(*source);
                self.window(window);
                self.bind(name, Local::Take);
            }
            Clause::Blend { kind, init, .. } => {
                init.iter().for_each(|init| self.expr(*init));
                if let BlendKind::Custom { old, new, body } = kind {
                    let outer = self.scope.len();
                    self.bind(old, Local::Blended);
                    self.bind(new, Local::Blended);
                    self.expr(*body);
                    self.scope.truncate(outer);
                }
            }
            Clause::Chunk { sizes, .. } => self.list(sizes),
            Clause::Format { levels, .. } => self.levels(*levels),
        }
    }

    fn window(&mut self, window: &WindowSpec) {
        window.base.iter().for_each(|base| self.name(&base.name, base.span));
        window.size.iter().for_each(|list| self.list(list));
        for part in &window.parts {
            let (WindowPart::Stride(list) | WindowPart::Offset(list) | WindowPart::Map(list)) = part;
            self.list(list);
        }
    }

    /// The levels of a format are words of their own; what they hold may be any constant.
    fn levels(&mut self, id: ExprId) {
        let module: &'m Module = self.module;
        match module.ast.expr(id) {
            Expr::Name(name) => self.word(LEVELS, name, module.ast.span(id)),
            Expr::Call { function, args } => {
                self.word(LEVELS, &function.name, function.span);
                let leaf = &*function.name == "element";
                args.iter().for_each(|arg| if leaf { self.expr(*arg) } else { self.levels(*arg) });
            }
            _ => {}
        }
    }

    fn word(&mut self, words: &Words, name: &str, span: Span) {
        if let Some((usage, meaning)) = meanings::of(words, name) {
            self.add(span, Meaning::Word(usage, meaning));
        }
    }

    fn option(&mut self, option: &OutputOption) {
        self.word(OPTIONS, &option.name.name, option.name.span);
        if matches!(&*option.name.name, "range" | "chunk") {
            self.expr(option.value);
        }
    }

    fn list(&mut self, list: &List) {
        self.all(list.items.iter().copied());
    }

    fn all(&mut self, exprs: impl IntoIterator<Item = ExprId>) {
        exprs.into_iter().for_each(|expr| self.expr(expr));
    }

    fn expr(&mut self, id: ExprId) {
        let module: &'m Module = self.module;
        let outer = self.scope.len();
        match module.ast.expr(id) {
            Expr::Int(_) | Expr::Float(_) | Expr::Bool(_) | Expr::Inf | Expr::Str(_) => {}
            Expr::Name(name) => self.name(name, module.ast.span(id)),
            Expr::Paren(inner) | Expr::Unary(_, inner) => self.expr(*inner),
            Expr::Binary(_, a, b) => self.spine(*a, *b),
            Expr::If { condition, then, otherwise } => self.all([*condition, *then, *otherwise]),
            Expr::Reduce { kind, binders, body } => {
                self.add(kind.span, Meaning::Builtin);
                for binder in binders {
                    self.all([binder.lo, binder.hi]);
                    self.bind(&binder.name, Local::Variable);
                }
                self.expr(*body);
            }
            Expr::Call { function, args } => {
                self.name(&function.name, function.span);
                self.all(args.iter().copied());
            }
            Expr::Method { object, name, args } => self.method(*object, name, args),
            Expr::Index { object, indices } => {
                self.expr(*object);
                indices.iter().for_each(|index| self.index(index));
            }
            Expr::Block { lets, result } => {
                for (name, value) in lets {
                    self.expr(*value);
                    self.bind(name, Local::Let);
                }
                self.expr(*result);
            }
            Expr::List(items) => self.all(items.iter().copied()),
            Expr::Map(entries) => self.all(entries.iter().flat_map(|(key, value)| [*key, *value])),
            Expr::Range(a, b) => self.all([*a, *b]),
        }
        self.scope.truncate(outer);
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
            IndexKind::At(_) | IndexKind::Slice { .. } => self.all(index.exprs()),
            IndexKind::Ellipsis => {}
        }
    }

    /// In the arguments of a view operation the labels of the view come first.
    fn method(&mut self, object: ExprId, name: &Ident, args: &[ExprId]) {
        self.expr(object);
        let known = VIEW_OPS.iter().position(|(op, ..)| *op == &*name.name);
        known.iter().for_each(|at| self.add(name.span, Meaning::ViewOp(*at)));
        let introduced = introduced(self.module, name, args);
        for (_, meaning) in &introduced {
            if let Meaning::Local(span, _) = meaning {
                self.add(*span, *meaning);
            }
        }
        let outer = self.scope.len();
        self.scope.extend(labels(self.modules, self.id, object));
        self.scope.extend(introduced);
        self.all(args.iter().copied());
        self.scope.truncate(outer);
    }
}

fn builtin(name: &str) -> Option<Meaning> {
    let is_type = crate::graph::types::Element::parse(name).is_some();
    BUILTIN_NAMES.contains(&name).then_some(if is_type { Meaning::Type } else { Meaning::Builtin })
}

/// The labels that a view operation makes: `.label([row, column])`, `.add_dim(c)`, `.diagonal([y, x], d)`.
fn introduced(module: &Module, op: &Ident, args: &[ExprId]) -> Vec<Binding> {
    let exprs: Vec<ExprId> = match (&*op.name, args) {
        ("label" | "add_dim", [only]) => match module.ast.expr(*only) {
            Expr::List(items) => items.clone(),
            _ => vec![*only],
        },
        ("diagonal" | "vindex", [_, label]) => vec![*label],
        _ => Vec::new(),
    };
    let names = exprs.into_iter().filter_map(|expr| match module.ast.expr(expr) {
        Expr::Name(name) if &**name != "_" => Some((name.clone(), module.ast.span(expr))),
        _ => None,
    });
    names.map(|(name, span)| (name, Meaning::Local(span, Local::Label))).collect()
}

/// Views of views of views that are followed.
const MOST_VIEWS: usize = 100;

/// The labels that a view expression has or may have, those of its base first.
fn labels(modules: &Modules, id: ModuleId, expr: ExprId) -> Vec<Binding> {
    let mut found = Vec::new();
    let (mut id, mut expr) = (id, expr);
    for _ in 0..MOST_VIEWS {
        let module = modules.get(id);
        match module.ast.expr(expr) {
            Expr::Paren(object) | Expr::Index { object, .. } => expr = *object,
            Expr::Method { object, name, args } => {
                found.extend(introduced(module, name, args));
                expr = *object;
            }
            Expr::Name(name) => {
                let Some(symbol) = modules.lookup(id, name) else { break };
                let ty = match &modules.item(symbol).kind {
                    ItemKind::Tensor(item) => &item.ty,
                    ItemKind::Input { ty, .. } | ItemKind::Var { ty, .. } => ty,
                    ItemKind::View { value, .. } => {
                        (id, expr) = (symbol.module, *value);
                        continue;
                    }
                    _ => break,
                };
                let own = ty.dims.iter().filter(|dim| &*dim.label.name != "_");
                let own =
                    own.map(|dim| (dim.label.name.clone(), Meaning::Local(dim.label.span, Local::Label)));
                found.extend(own);
                break;
            }
            _ => break,
        }
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostics;
    use crate::graph::modules::NoFiles;
    use crate::source::{SourceId, Sources};

    /// `text` with a `$` before the place that is asked about: the other places of the same name, by line and column.
    fn check(text: &str, expect: &[(usize, usize)]) {
        let at = text.find('$').unwrap();
        let mut sources = Sources::default();
        let root = sources.add("a.itp", text.replace('$', ""));
        let modules = Modules::load(&mut sources, root, &NoFiles, &mut Diagnostics::default());
        let names = occurrences(&modules);
        let own = |name: &&Occurrence| name.span.source == SourceId(0);
        let meaning = names.iter().filter(own).find(|name| name.span.range().start == at).unwrap().meaning;
        let same = names.iter().filter(own).filter(|name| name.meaning == meaning);
        let places: Vec<_> = same.map(|name| sources.get(root).line_column(name.span.start)).collect();
        assert_eq!(places, expect, "{text}");
    }

    #[test]
    fn names_mean_the_innermost_thing() {
        check("param $n = 3\ntensor a: f32[y: n] = n + (sum(n in 0..3) n)", &[(1, 7), (2, 18), (2, 23)]);
        check("param n = 3\ntensor a: f32[y: n] = n + (sum($n in 0..3) n)", &[(2, 32), (2, 43)]);
        check("tensor a: f32[$y: 4] = y\ntensor b: f32[y: 4] = a.flip([y])[y]", &[(1, 15), (1, 23), (2, 31)]);
        check(
            "var a: f32[y: 4, x: 4] = 0\nview p = a.diagonal([y, x], $d)\nset p[0:2] = d",
            &[(2, 29), (3, 14)],
        );
        check("fn f($a, b = 2) = { let c = a; c + a }\nlet a = 1", &[(1, 6), (1, 28), (1, 35)]);
        check(
            "let o = 1\ntensor t: f32[x: 8] window [4] as [i] blend ($o, n) => o + n init o = i",
            &[(2, 46), (2, 55)],
        );
    }

    #[test]
    fn library_names_and_builtins_have_meanings() {
        check("use noise\ntensor a: f32[x: inf] = $value(x, 0, 1) + value(0, x, 1)", &[(2, 25), (2, 42)]);
        check("use \"none.itp\"\ntensor a: $f32[x: inf] = f32(x)", &[(2, 11), (2, 25)]);
    }
}
