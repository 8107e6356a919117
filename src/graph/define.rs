//! Definitions: bodies, windows, takes and blends of tensors; values of variables; writes.

use super::body::{NodeId, Op, TensorId, default_float};
use super::check::Checker;
use super::contract::contract;
use super::declare::{distinct, items, owner};
use super::elaborate::{Elaborator, Owner, Value};
use super::formats::format;
use super::modules::ModuleId;
use super::resolve_weak::{Resolved, resolve_weak};
use super::scalar::Scalar;
use super::types::Element;
use super::window::{Take, Windows};
use super::window_clause::{covered, local_names, rank_help, take, window_shape};
use super::{Blend, BlendKind, Pointwise, Set, Tensor, TensorKind, WindowBody, Windowed};
use crate::diagnostic::{Code, Diagnostic, Result, any_of, closest, counted, quoted};
use crate::source::Span;
use crate::syntax::ast::{self, Clause, Expr, ExprId, Ident, ItemKind, TensorBody, TensorItem, WindowSpec};
use std::sync::Arc;

/// Checks every `window` item, also those that nothing names.
pub(super) fn windows(checker: &mut Checker<'_>) {
    for (symbol, module) in items(checker) {
        if let ItemKind::Window { window, .. } = &module.ast.items[symbol.item as usize].kind {
            let checked = window_shape(checker, symbol.module, window).and_then(|shape| shape.windows());
            checker.diagnostics.take(checked);
        }
    }
}

/// Defines every declared tensor; one that cannot be keeps its declaration.
pub(super) fn tensors(checker: &mut Checker<'_>) {
    for (symbol, module) in items(checker) {
        let Some(Ok(id)) = checker.tensor_ids.get(&symbol) else { continue };
        let id = *id;
        let defined = match &module.ast.items[symbol.item as usize].kind {
            ItemKind::Var { name, value, .. } => variable(checker, symbol.module, id, name, *value),
            ItemKind::Tensor(item) => tensor(checker, symbol.module, id, item),
            _ => continue,
        };
        checker.diagnostics.take(defined);
    }
}

fn variable(
    checker: &mut Checker<'_>,
    module: ModuleId,
    id: TensorId,
    name: &Ident,
    value: ExprId,
) -> Result<()> {
    let element = checker.tensors[id.index()].element;
    let value = checker.constant_of(module, value, element, &format!("the value of `{}`", name.name));
    let value = value.map_err(|error| starts_constant(checker, id, error))?;
    checker.tensors[id.index()].kind = TensorKind::Var(value);
    Ok(())
}

/// `var a: f32[y: 8] = y`: the labels mean nothing yet.
fn starts_constant(checker: &Checker<'_>, id: TensorId, mut error: Box<Diagnostic>) -> Box<Diagnostic> {
    let tensor = &checker.tensors[id.index()];
    let named = error.primary().map(|label| checker.sources.text(label.span));
    let labels: Vec<_> = tensor.domain.dims().iter().map(|dim| dim.label.as_str()).collect();
    if error.code == Code::E0201 && named.is_some_and(|name| labels.contains(&name)) {
        error.help = vec![format!(
            "start a `var` from a constant, and write `set {}[{}] = …` afterwards",
            tensor.name,
            vec![":"; labels.len()].join(", ")
        )];
    }
    error
}

fn tensor(checker: &mut Checker<'_>, module: ModuleId, id: TensorId, item: &TensorItem) -> Result<()> {
    let clauses = Clauses::sort(item)?;
    if let Some((levels, span)) = clauses.format {
        let declared = checker.tensors[id.index()].clone();
        let found = format(checker, module, &declared, levels, span)?;
        checker.tensors[id.index()].format = Some(found);
    }
    let kind = match clauses.window {
        Some((spec, locals, _)) => windowed(checker, module, id, item, (spec, locals), &clauses)?,
        None => pointwise(checker, module, id, item, &clauses)?,
    };
    checker.tensors[id.index()].kind = kind;
    Ok(())
}

/// The clauses of a tensor by kind, each at most once but `take`.
#[derive(Default)]
struct Clauses<'a> {
    window: Option<(&'a WindowSpec, Option<&'a [Ident]>, Span)>,
    takes: Vec<(&'a Ident, ExprId, &'a WindowSpec, Span)>,
    blend: Option<(&'a ast::BlendKind, Option<ExprId>, Span)>,
    format: Option<(ExprId, Span)>,
    chunk: Option<Span>,
}

impl<'a> Clauses<'a> {
    fn sort(item: &'a TensorItem) -> Result<Self> {
        let mut sorted = Clauses::default();
        for clause in &item.clauses {
            let (what, again, span) = match clause {
                Clause::Window { window, locals, span } => {
                    let first =
                        sorted.window.replace((window, locals.as_deref(), *span)).map(|(.., first)| first);
                    ("`window` clauses".to_owned(), first, span)
                }
                Clause::Take { name, source, window, span } => {
                    let first = sorted
                        .takes
                        .iter()
                        .find(|(known, ..)| known.name == name.name)
                        .map(|(.., first)| *first);
                    sorted.takes.push((name, *source, window, *span));
                    (format!("takes called `{}`", name.name), first, span)
                }
                Clause::Blend { kind, init, span } => {
                    let first = sorted.blend.replace((kind, *init, *span)).map(|(.., first)| first);
                    ("`blend` clauses".to_owned(), first, span)
                }
                Clause::Chunk { span, .. } => {
                    ("`chunk` clauses".to_owned(), sorted.chunk.replace(*span), span)
                }
                Clause::Format { levels, span } => {
                    let first = sorted.format.replace((*levels, *span)).map(|(_, first)| first);
                    ("`format` clauses".to_owned(), first, span)
                }
            };
            if let Some(first) = again {
                return Diagnostic::new(Code::E0309, format!("`{}` has two {what}", item.name.name))
                    .at(*span, "again here")
                    .with(first, "first here")
                    .help("keep one of them")
                    .err();
            }
        }
        Ok(sorted)
    }
}

fn pointwise(
    checker: &mut Checker<'_>,
    module: ModuleId,
    id: TensorId,
    item: &TensorItem,
    clauses: &Clauses<'_>,
) -> Result<TensorKind> {
    let needs_window = clauses.takes.first().map(|take| ("take", take.3));
    let needs_window = needs_window.or(clauses.blend.map(|blend| ("blend", blend.2)));
    let needs_window = needs_window.or(match &item.body {
        TensorBody::Extern { name, .. } => Some(("extern", name.span)),
        TensorBody::Expr(_) => None,
    });
    if let Some((what, span)) = needs_window {
        let rank = checker.tensors[id.index()].domain.rank();
        return Diagnostic::new(
            Code::E0308,
            format!("`{what}` works on windows, but `{}` has no `window`", item.name.name),
        )
        .at(span, "needs a `window` clause")
        .help(format!("add a clause such as `window [{}]`", vec!["8"; rank].join(", ")))
        .err();
    }
    let TensorBody::Expr(expr) = item.body else { unreachable!("an extern body needs a window") };
    let owner = owner(id, &checker.tensors[id.index()]);
    let body = body(checker, module, owner, Vec::new(), expr, &item.name)?;
    Ok(TensorKind::Pointwise(Pointwise { body, recurrence: None }))
}

/// An expression as the resolved body of a tensor.
fn body(
    checker: &mut Checker<'_>,
    module: ModuleId,
    owner: Owner,
    takes: Vec<Arc<Take>>,
    expr: ExprId,
    name: &Ident,
) -> Result<Resolved> {
    let id = owner.tensor.expect("bodies belong to tensors");
    let element = checker.tensors[id.index()].element;
    let mut elaborator = Elaborator::new(checker, module, owner);
    elaborator.bind_coordinates(name.span);
    for take in takes {
        elaborator.bind(&take.name.clone(), Value::Take(take));
    }
    let node = elaborator.telling_names(expr, |this| this.body_of(expr, element, &name.name, "its body"))?;
    let written = elaborator.into_body();
    checker.mentioned.insert(id, written.reads().collect());
    Ok(finish(written, node, element))
}

fn finish(body: super::body::Body, node: NodeId, element: Element) -> Resolved {
    contract(&resolve_weak(&body, node, element, default_float(element)))
}

fn windowed(
    checker: &mut Checker<'_>,
    module: ModuleId,
    id: TensorId,
    item: &TensorItem,
    (spec, locals): (&WindowSpec, Option<&[Ident]>),
    clauses: &Clauses<'_>,
) -> Result<TensorKind> {
    let declared = checker.tensors[id.index()].clone();
    let rank = declared.domain.rank();
    let shape = window_shape(checker, module, spec)?;
    if let Some(map) = shape.map {
        return Diagnostic::new(Code::E0307, "`map` belongs to `take`")
            .at(map.span, "not in the tensor's own window")
            .help("remove it, or move it to a `take`")
            .err();
    }
    if shape.size.len() != rank {
        let has = counted(shape.size.len(), "dimension");
        let wrong = Diagnostic::new(
            Code::E0304,
            format!("window of `{}` has {has}, but the tensor has {rank}", declared.name),
        )
        .at(shape.rank_span, has)
        .with(declared.span, format!("`{}` is `{}{}`", declared.name, declared.element, declared.domain));
        return rank_help(&shape.size, rank, wrong).err();
    }
    let dims = shape.windows()?;
    let locals = local_names(&declared, locals)?;
    covered(&declared, &dims, shape.span)?;
    let mut owner = owner(id, &declared);
    owner.windowed = true;
    owner.locals = locals.clone();
    let takes = clauses.takes.iter().map(|clause| take(checker, module, &declared, &locals, clause));
    let takes: Vec<Arc<Take>> = takes.collect::<Result<_>>()?;
    let blend = blend(checker, module, &declared, clauses.blend)?;
    let body = match &item.body {
        TensorBody::Expr(expr) => {
            WindowBody::Expr(body(checker, module, owner, takes.clone(), *expr, &item.name)?)
        }
        TensorBody::Extern { name, args } => {
            let args =
                args.iter().map(|arg| extern_arg(checker, module, &takes, *arg)).collect::<Result<_>>()?;
            WindowBody::Extern { name: name.value.clone(), args }
        }
    };
    Ok(TensorKind::Windowed(Box::new(Windowed { windows: Windows { dims, locals }, takes, blend, body })))
}

fn extern_arg(checker: &Checker<'_>, module: ModuleId, takes: &[Arc<Take>], arg: ExprId) -> Result<usize> {
    let ast = &checker.modules.get(module).ast;
    let found = match ast.expr(ast.unparen(arg)) {
        Expr::Name(name) => takes.iter().position(|take| take.name == *name),
        _ => None,
    };
    found.ok_or_else(|| {
        let text = checker.sources.text(ast.span(arg));
        let help = match takes {
            [] => format!("add a clause such as `take b = {text} window [8]`, and pass `b`"),
            _ => format!("pass {}", any_of(takes.iter().map(|take| &*take.name))),
        };
        let message = format!("a host function is passed takes, but {} is not one", quoted(text));
        Box::new(Diagnostic::new(Code::E0808, message).at(ast.span(arg), "not a take").help(help))
    })
}

/// How windows combine, by name.
pub const BLENDS: [&str; 7] = ["sum", "product", "min", "max", "first", "last", "mean"];

fn blend(
    checker: &mut Checker<'_>,
    module: ModuleId,
    declared: &Tensor,
    clause: Option<(&ast::BlendKind, Option<ExprId>, Span)>,
) -> Result<Blend> {
    let element = declared.element;
    let Some((kind, init, span)) = clause else {
        return named_blend(element, "sum", declared.span).map(|(kind, init)| Blend { kind, init });
    };
    let (kind, default) = match kind {
        ast::BlendKind::Named(name) if !BLENDS.contains(&&*name.name) => return unknown_blend(name),
        ast::BlendKind::Named(name) => named_blend(element, &name.name, name.span)?,
        ast::BlendKind::Custom { .. } if init.is_none() => {
            return Diagnostic::new(Code::E0313, "a custom blend needs a value to start from")
                .at(span, "`init` is missing")
                .help("add `init 0` after the expression")
                .err();
        }
        ast::BlendKind::Custom { old, new, body } => {
            (BlendKind::Custom(custom_blend(checker, module, element, old, new, *body)?), Scalar::bool(false))
        }
    };
    let init = init.map_or(Ok(default), |init| checker.constant_of(module, init, element, "`init`"))?;
    Ok(Blend { kind, init })
}

fn named_blend(element: Element, name: &str, span: Span) -> Result<(BlendKind, Scalar)> {
    let identity = |function| super::fold::identity(function, element.computed());
    let zero = if element == Element::Bool { Scalar::bool(false) } else { Scalar::i64(0).cast(element) };
    let (kind, init) = match name {
        "first" => return Ok((BlendKind::First, zero)),
        "last" => return Ok((BlendKind::Last, zero)),
        _ if element == Element::Bool => {
            return Diagnostic::new(
                Code::E0313,
                format!("`blend {name}` is arithmetic, and the elements are `bool`"),
            )
            .at(span, "not for `bool`")
            .help("use `blend last`, or `blend (old, new) => old or new init false`")
            .err();
        }
        "mean" => (BlendKind::Mean, zero),
        "product" => (BlendKind::Product, identity(super::body::ReduceFn::Product)),
        "min" => (BlendKind::Min, identity(super::body::ReduceFn::Min)),
        "max" => (BlendKind::Max, identity(super::body::ReduceFn::Max)),
        _ => (BlendKind::Sum, zero),
    };
    Ok((kind, init))
}

fn custom_blend(
    checker: &mut Checker<'_>,
    module: ModuleId,
    element: Element,
    old: &Ident,
    new: &Ident,
    body: ExprId,
) -> Result<Resolved> {
    distinct([old, new], "value")?;
    let owner = Owner { float: Some(default_float(element)), ..Owner::default() };
    let mut elaborator = Elaborator::new(checker, module, owner);
    elaborator.bind_argument(old, 0, element);
    elaborator.bind_argument(new, 1, element);
    let node = elaborator.telling_names(body, |this| this.coerced(body, element, "the blend"))?;
    let resolved = finish(elaborator.into_body(), node, element);
    let read = resolved.body.nodes().find(|(_, node)| matches!(node.op, Op::Read { .. }));
    let Some(span) = read.map(|(_, node)| node.span) else { return Ok(resolved) };
    Diagnostic::new(Code::E0313, "a blend combines two values, but this one reads a tensor")
        .at(span, "read here")
        .help("read it in the body, and blend what the body makes of it")
        .err()
}

fn unknown_blend<T>(name: &Ident) -> Result<T> {
    let close = closest(&name.name, BLENDS);
    let help = match close {
        Some(close) => format!("write `blend {close}`"),
        None => format!("choose one of {}, or write `(old, new) => … init …`", BLENDS.join(", ")),
    };
    Diagnostic::new(Code::E0313, format!("unknown blend {}", quoted(&name.name)))
        .at(name.span, "not a blend")
        .fix_if(name.span, close)
        .help(help)
        .err()
}

/// Checks every `set`, in the order of the file.
pub(super) fn sets(checker: &mut Checker<'_>) -> Vec<Set> {
    let mut sets = Vec::new();
    for (symbol, module) in items(checker) {
        let item = &module.ast.items[symbol.item as usize];
        let ItemKind::Set { target, value } = &item.kind else { continue };
        let set = set(checker, symbol.module, *target, *value, item.span);
        sets.extend(checker.diagnostics.take(set));
    }
    sets
}

fn set(
    checker: &mut Checker<'_>,
    module: ModuleId,
    target: ExprId,
    value: ExprId,
    span: Span,
) -> Result<Set> {
    let view = checker.view_of(module, target, Owner::default())?;
    let target_span = checker.modules.get(module).ast.span(target);
    let base = checker.tensors[view.base.index()].clone();
    if !matches!(base.kind, TensorKind::Var(_)) {
        let zero = if base.element == Element::Bool { "false" } else { "0" };
        return Diagnostic::new(Code::E0805, format!("{} cannot be written", quoted(&base.name)))
            .at(target_span, "not a `var`")
            .with(base.span, "declared here")
            .help(format!(
                "declare it as a variable: `var {}: {}{} = {zero}`",
                base.name, base.element, base.domain
            ))
            .err();
    }
    if let Some(dim) = view.domain().dims().iter().find(|dim| !dim.interval.is_bounded()) {
        return Diagnostic::new(
            Code::E0805,
            format!("a write needs an end, but `{dim}` of {} has none", quoted(&view.name)),
        )
        .at(target_span, "goes on forever")
        .help(view.example_slice(dim))
        .err();
    }
    if let Err(why) = super::strided::writable(&view, &base.domain) {
        return Diagnostic::new(
            Code::E0806,
            format!("{} cannot be written through this view: {why}", quoted(&base.name)),
        )
        .at(target_span, "several elements of the view would be one of the variable")
        .help("write through a view in which every element stands once")
        .err();
    }
    let label =
        |dim: &crate::index::Dim| Arc::from(if dim.label.is_empty() { "_" } else { dim.label.as_str() });
    let labels = view.domain().dims().iter().map(label).collect();
    let owner = Owner { labels, float: Some(default_float(base.element)), ..Owner::default() };
    let mut elaborator = Elaborator::new(checker, module, owner);
    elaborator.bind_coordinates(target_span);
    let node = elaborator
        .telling_names(value, |this| this.body_of(value, base.element, &base.name, "what is written"))?;
    let body = finish(elaborator.into_body(), node, base.element);
    Ok(Set { target: view, body, span })
}
