//! Window clauses of tensors and takes: sizes, strides and offsets as integers, checked against what they belong to.
//!
//! ```text
//! take h = height window [3, 3] stride [1, 1] map [y, x]      sizes [3, 3] stride [1, 1] offset [0, 0] map [1, 2]
//! ```

use super::Tensor;
use super::check::Checker;
use super::elaborate::Owner;
use super::modules::{ModuleId, Symbol};
use super::view::{View, dimension_name};
use super::window::Take;
use crate::diagnostic::{Code, Diagnostic, Result, any_of, closest, counted, quoted};
use crate::index::{Interval, Window};
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprId, Ident, ItemKind, List, WindowPart, WindowSpec};
use std::sync::Arc;

/// A window as integers, still without a tensor to belong to.
pub(super) struct Shape {
    pub size: Vec<i64>,
    stride: Option<(Vec<i64>, Span)>,
    offset: Option<(Vec<i64>, Span)>,
    pub map: Option<List>,
    /// The sizes.
    size_span: Span,
    /// The sizes, or the name of the window item that has them.
    pub rank_span: Span,
    /// All parts.
    pub span: Span,
}

impl Shape {
    fn stride(&self) -> Vec<i64> {
        self.stride.as_ref().map_or_else(|| self.size.clone(), |(stride, _)| stride.clone())
    }

    fn offset(&self) -> Vec<i64> {
        self.offset.as_ref().map_or_else(|| vec![0; self.size.len()], |(offset, _)| offset.clone())
    }

    /// One window per dimension.
    pub(super) fn windows(&self) -> Result<Vec<Window>> {
        let (stride, offset) = (self.stride(), self.offset());
        self.at_least_one("size", &self.size, self.size_span)?;
        self.at_least_one("stride", &stride, self.stride.as_ref().map_or(self.size_span, |(_, span)| *span))?;
        let windows = (0..self.size.len()).map(|dim| {
            Window::new(self.size[dim], stride[dim], offset[dim]).map_err(|error| {
                let help = "use sizes, strides and offsets within ±(2^62 - 2)";
                Box::new(
                    Diagnostic::new(Code::E0305, format!("this is no window: {}", error.message))
                        .at(self.span, "too far")
                        .help(help),
                )
            })
        });
        windows.collect()
    }

    fn at_least_one(&self, what: &str, numbers: &[i64], span: Span) -> Result<()> {
        let Some(bad) = numbers.iter().find(|number| **number < 1) else { return Ok(()) };
        Diagnostic::new(Code::E0305, format!("a window cannot have {what} {bad}"))
            .at(span, format!("a {what} of {bad}"))
            .help(format!("write a {what} of 1 or more"))
            .err()
    }
}

/// The sizes, strides and offsets of a window clause, with those of the `window` item it names.
pub(super) fn window_shape(checker: &mut Checker<'_>, module: ModuleId, spec: &WindowSpec) -> Result<Shape> {
    let mut shape = match (&spec.base, &spec.size) {
        (Some(name), _) => named_window(checker, module, name)?,
        (None, size) => {
            let size_span = size.as_ref().map_or(spec.span, |size| size.span);
            let size = size.as_ref().map(|size| ints(checker, module, size, "a window size")).transpose()?;
            Shape {
                size: size.unwrap_or_default(),
                stride: None,
                offset: None,
                map: None,
                size_span,
                rank_span: size_span,
                span: spec.span,
            }
        }
    };
    shape.span = spec.span;
    shape.rank_span = spec.base.as_ref().map_or(shape.size_span, |name| name.span);
    let mut given = [None; 3];
    for part in &spec.parts {
        let (slot, what, list) = match part {
            WindowPart::Stride(list) => (0, "stride", list),
            WindowPart::Offset(list) => (1, "offset", list),
            WindowPart::Map(list) => (2, "map", list),
        };
        if let Some(first) = given[slot].replace(list.span) {
            return Diagnostic::new(Code::E0309, format!("`{what}` is given twice"))
                .at(list.span, "again here")
                .with(first, "first here")
                .help("keep one of them")
                .err();
        }
        match part {
            WindowPart::Stride(list) => {
                shape.stride = Some((ints(checker, module, list, "a stride")?, list.span))
            }
            WindowPart::Offset(list) => {
                shape.offset = Some((ints(checker, module, list, "an offset")?, list.span))
            }
            WindowPart::Map(list) => shape.map = Some(list.clone()),
        }
    }
    same_length(&shape)?;
    Ok(shape)
}

fn named_window(checker: &mut Checker<'_>, module: ModuleId, name: &Ident) -> Result<Shape> {
    let symbol = checker.modules.lookup(module, &name.name);
    let found = symbol.map(|symbol| (symbol, checker.modules.get(symbol.module).clone()));
    if let Some((Symbol { module, item }, file)) = &found
        && let ItemKind::Window { window, name: own } = &file.ast.items[*item as usize].kind
    {
        if let Some(base) = &window.base {
            let message = format!("window `{}` is made from window `{}`", own.name, base.name);
            return Diagnostic::new(Code::E0201, message)
                .at(base.span, "a window item")
                .help("write its sizes out")
                .err();
        }
        return window_shape(checker, *module, window);
    }
    let windows = checker.modules.visible(module).filter(|known| {
        let symbol = checker.modules.lookup(module, known);
        symbol.is_some_and(|symbol| matches!(checker.modules.item(symbol).kind, ItemKind::Window { .. }))
    });
    let close = closest(&name.name, windows);
    let help = match close {
        Some(close) => format!("write `window {close}`"),
        None => format!("write the sizes, `window [3, 3]`, or declare `window {} = [3, 3]`", name.name),
    };
    Diagnostic::new(Code::E0201, format!("unknown window {}", quoted(&name.name)))
        .at(name.span, "not a `window` item")
        .fix_if(name.span, close)
        .help(help)
        .err()
}

fn ints(checker: &mut Checker<'_>, module: ModuleId, list: &List, what: &str) -> Result<Vec<i64>> {
    list.items.iter().map(|item| checker.constant_int(module, *item, what)).collect()
}

fn same_length(shape: &Shape) -> Result<()> {
    for (what, part) in [("stride", &shape.stride), ("offset", &shape.offset)] {
        if let Some((list, span)) = part
            && list.len() != shape.size.len()
        {
            let entries = entries(list.len());
            let message = format!(
                "`{what}` has {entries}, but the window has {}",
                counted(shape.size.len(), "dimension")
            );
            return Diagnostic::new(Code::E0304, message)
                .at(*span, entries)
                .with(shape.rank_span, counted(shape.size.len(), "dimension"))
                .help(format!("write one {what} per dimension of the window"))
                .err();
        }
    }
    Ok(())
}

/// Adds what to write instead: ones in front, or fewer sizes.
pub(super) fn rank_help(size: &[i64], rank: usize, diagnostic: Diagnostic) -> Diagnostic {
    let show = |sizes: &[i64]| sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let missing = rank.saturating_sub(size.len());
    match missing {
        0 => diagnostic
            .help(format!("write one size per dimension: `window [{}]`", show(&size[size.len() - rank..]))),
        1 => diagnostic.help(format!("add a size for the leading dimension: `window [1, {}]`", show(size))),
        _ => diagnostic.help(format!(
            "add sizes for the leading dimensions: `window [{}, {}]`",
            show(&vec![1; missing]),
            show(size)
        )),
    }
}

fn entries(n: usize) -> String {
    if n == 1 { "1 entry".into() } else { format!("{n} entries") }
}

pub(super) fn local_names(declared: &Tensor, locals: Option<&[Ident]>) -> Result<Vec<Arc<str>>> {
    let rank = declared.domain.rank();
    let Some(locals) = locals else { return Ok(vec!["_".into(); rank]) };
    if locals.len() != rank {
        let (names, rank) = (counted(locals.len(), "coordinate"), counted(rank, "dimension"));
        let span = locals.iter().map(|local| local.span).reduce(Span::to).unwrap_or(declared.span);
        return Diagnostic::new(
            Code::E0306,
            format!("`as` names {names}, but `{}` has {rank}", declared.name),
        )
        .at(span, counted(locals.len(), "name"))
        .with(declared.span, format!("`{}` is `{}{}`", declared.name, declared.element, declared.domain))
        .help("write one name per dimension, `_` for those not used")
        .err();
    }
    for (at, local) in locals.iter().enumerate() {
        let label = declared.domain.position(&local.name).is_some();
        let again = locals[..at].iter().any(|known| known.name == local.name);
        if &*local.name != "_" && (label || again) {
            let (what, help) = if label {
                (
                    "is a label of the tensor already",
                    "choose another name: labels are global coordinates, `as` names local ones",
                )
            } else {
                ("names two local coordinates", "choose another name for one of them")
            };
            return Diagnostic::new(Code::E0303, format!("{} {what}", quoted(&local.name)))
                .at(local.span, "as a local coordinate")
                .help(help)
                .err();
        }
    }
    Ok(locals.iter().map(|local| local.name.clone()).collect())
}

/// What to do about a window that covers `range`, of a dimension that has less; the stride is the size where none is written.
fn fitting(has: Interval, range: Interval, stride: i64, along: &str) -> String {
    let other = "or choose another size, stride or offset, or leave the dimension unbounded";
    match has.upper() {
        Some(end) if range.last() >= end => {
            let end = range.last().saturating_add(1);
            format!(
                "let {along} end at {} or {end}, where the windows do, {other}",
                end.saturating_sub(stride)
            )
        }
        Some(_) | None => format!("let {along} begin where a window does, {other}"),
    }
}

/// Along a bounded dimension only windows inside are computed, so they must reach every element that windows
/// sticking out would cover.
pub(super) fn covered(declared: &Tensor, windows: &[Window], span: Span) -> Result<()> {
    for (dim, window) in declared.domain.dims().iter().zip(windows) {
        let stuck = window
            .first_sticking_out(dim.interval)
            .and_then(|number| number.map(|number| Ok((number, window.range(number)?))).transpose());
        let along = dimension_name(dim);
        let stuck = stuck.map_err(|overflow| {
            let message = format!("the windows of `{}` along {along}: {overflow}", declared.name);
            Box::new(
                Diagnostic::new(Code::E0312, message)
                    .at(span, "too far")
                    .help("use smaller sizes, strides and offsets"),
            )
        })?;
        if let Some((number, range)) = stuck {
            let message = format!(
                "window {number} of `{}` covers {range} along {along}, which sticks out of {}",
                declared.name, dim.interval
            );
            return Diagnostic::new(Code::E0310, message)
                .at(span, "elements that only this window covers would be missing")
                .with(
                    declared.span,
                    format!("`{}` is `{}{}`", declared.name, declared.element, declared.domain),
                )
                .help(fitting(dim.interval, range, window.stride(), &along))
                .err();
        }
    }
    Ok(())
}

/// A `take` clause of `declared`.
pub(super) fn take(
    checker: &mut Checker<'_>,
    module: ModuleId,
    declared: &Tensor,
    locals: &[Arc<str>],
    (name, source, spec, span): &(&Ident, ExprId, &WindowSpec, Span),
) -> Result<Arc<Take>> {
    let label = declared.domain.position(&name.name).is_some();
    if label || (locals.contains(&name.name) && &*name.name != "_") {
        let taken = if label { "a label of the tensor" } else { "a local coordinate" };
        return Diagnostic::new(Code::E0303, format!("{} is {taken} already", quoted(&name.name)))
            .at(name.span, "as a `take`")
            .help("choose another name")
            .err();
    }
    let view = checker.view_of(module, *source, Owner::default())?;
    let shape = window_shape(checker, module, spec)?;
    if shape.size.len() != view.rank() {
        let has = counted(shape.size.len(), "dimension");
        let source = checker.modules.get(module).ast.span(*source);
        let wrong = Diagnostic::new(
            Code::E0304,
            format!("window of `{}` has {has}, but `{}` has {}", declared.name, view.name, view.rank()),
        )
        .at(shape.rank_span, has)
        .with(source, format!("`{}` is {}", view.name, view.describe()));
        return rank_help(&shape.size, view.rank(), wrong).err();
    }
    shape.windows()?;
    let map = take_map(checker, module, declared, &view, &shape)?;
    let (stride, offset) = (shape.stride(), shape.offset());
    let (name, source, span) = (name.name.clone(), (*view).clone(), *span);
    Ok(Arc::new(Take { name, source, sizes: shape.size, stride, offset, map, span }))
}

/// The dimensions of `declared` that those of the source could go with: by label, else the first ones.
fn example_map(declared: &Tensor, view: &View) -> String {
    let own = declared.domain.dims();
    let label = |label: &str| own.iter().any(|dim| dim.label == label && !label.is_empty());
    let same = view.domain().dims().iter().any(|dim| label(&dim.label));
    let entries = view.domain().dims().iter().enumerate().map(|(at, dim)| match own.get(at) {
        _ if label(&dim.label) => &*dim.label,
        Some(first) if !same && !first.label.is_empty() => &*first.label,
        Some(_) | None => "_",
    });
    entries.collect::<Vec<_>>().join(", ")
}

/// Which dimension drives each dimension of the source: as written, by position when ranks agree, else by label.
fn take_map(
    checker: &mut Checker<'_>,
    module: ModuleId,
    declared: &Tensor,
    view: &View,
    shape: &Shape,
) -> Result<Vec<Option<usize>>> {
    let rank = declared.domain.rank();
    let Some(map) = &shape.map else {
        if view.rank() == rank {
            return Ok((0..rank).map(Some).collect());
        }
        let by_label = view.domain().dims().iter().map(|dim| {
            declared.domain.position(&dim.label).filter(|_| !dim.label.is_empty()).map(Some).ok_or_else(
                || {
                    let message = format!(
                        "`{}` has no dimension {} to move `{}` along",
                        declared.name,
                        dimension_name(dim),
                        view.name
                    );
                    Box::new(
                        Diagnostic::new(Code::E0307, message)
                            .at(shape.span, format!("`{}` is {}", view.name, view.describe()))
                            .with(
                                declared.span,
                                format!("`{}` is `{}{}`", declared.name, declared.element, declared.domain),
                            )
                            .help(format!(
                                "say which dimension moves each, `_` for none: `map [{}]`",
                                example_map(declared, view)
                            )),
                    )
                },
            )
        });
        return by_label.collect();
    };
    if map.items.len() != view.rank() {
        let (given, rank) = (entries(map.items.len()), counted(view.rank(), "dimension"));
        let message = format!("`map` has {given}, but `{}` has {rank}", view.name);
        return Diagnostic::new(Code::E0307, message)
            .at(map.span, format!("`{}` is {}", view.name, view.describe()))
            .help("write one entry per dimension of the source, `_` for one that stays at window 0")
            .err();
    }
    map.items.iter().map(|item| map_entry(checker, module, declared, *item)).collect()
}

fn map_entry(
    checker: &mut Checker<'_>,
    module: ModuleId,
    declared: &Tensor,
    item: ExprId,
) -> Result<Option<usize>> {
    let file = checker.modules.get(module).clone();
    let span = file.ast.span(item);
    if let Expr::Name(name) = file.ast.expr(item) {
        if &**name == "_" {
            return Ok(None);
        }
        if let Some(dim) = declared.domain.position(name) {
            return Ok(Some(dim));
        }
        if checker.modules.lookup(module, name).is_none() {
            let labels = || {
                declared.domain.dims().iter().map(|dim| dim.label.as_str()).filter(|label| !label.is_empty())
            };
            let close = closest(name, labels());
            let help = match close {
                Some(close) => format!("write `{close}`"),
                None => format!("write {}, or `_` to stay at window 0", any_of(labels())),
            };
            let message = format!("`{}` has no dimension {}", declared.name, quoted(name));
            let unknown = Diagnostic::new(Code::E0307, message).at(span, "unknown label");
            return unknown.fix_if(span, close).help(help).err();
        }
    }
    let at = checker.constant_int(module, item, "an entry of `map`")?;
    let dim = usize::try_from(at).ok().filter(|dim| *dim < declared.domain.rank());
    dim.map(Some).ok_or_else(|| {
        let rank = declared.domain.rank();
        let message =
            format!("`map` names dimension {at}, but `{}` has {}", declared.name, counted(rank, "dimension"));
        let help = format!(
            "write a label of `{}`, a position from 0 to {}, or `_`",
            declared.name,
            rank.saturating_sub(1)
        );
        Box::new(Diagnostic::new(Code::E0307, message).at(span, "no such dimension").help(help))
    })
}
