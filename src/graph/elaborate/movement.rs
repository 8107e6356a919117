//! View operations: `.flip([x])`, `.pad([1..1, 0..0], 0)`, all with constant arguments.

use super::op::Op;
use super::{BUILTIN_NAMES, Elaborator, Value, foreign};
use crate::diagnostic::{Code, Diagnostic, Result, counted, quoted};
use crate::graph::view::{Boundary, View, dimension_name};
use crate::index::array::IndexArray;
use crate::index::domain::DimRef;
use crate::index::{self, Interval, Transform};
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprId, Ident};
use std::sync::Arc;

/// One value per dimension; `None` leaves it alone.
type PerDim<T> = Vec<Option<T>>;

/// Bounds that a coordinate can be folded between without leaving i64 on the way: 2^60.
const FARTHEST_FOLD: i64 = 1 << 60;

impl Elaborator<'_, '_> {
    /// `object.name(args)`
    pub(super) fn method(&mut self, object: ExprId, name: &Ident, args: &[ExprId]) -> Result<Value> {
        if let Some(problem) = self.prefixed_function(object, name, args) {
            return problem.err();
        }
        let view = match self.value(object)? {
            Value::View(view) => view,
            Value::Node(node) => return not_a_view(name, self.span(object), &self.a(node)),
            Value::Take(_) => return not_a_view(name, self.span(object), "a `take`"),
            Value::Table(_) => return not_a_view(name, self.span(object), "a table"),
        };
        let place = args.first().map_or(name.span, |arg| self.span(*arg));
        let op = Op { name, args, place, about: format!("{} is {}", quoted(&view.name), view.describe()) };
        self.operate(&view, &op).map(|view| Value::View(Arc::new(view)))
    }

    /// `math.sin(x)`, `noise.fbm(y, x, 7, 6)`: functions are called without the name of their module.
    fn prefixed_function(&self, object: ExprId, name: &Ident, args: &[ExprId]) -> Option<Diagnostic> {
        let Expr::Name(module) = self.bare(object) else { return None };
        let known = |name: &str| self.checker.modules.lookup(self.frame().id, name).is_some();
        if known(module) || self.local(module).is_some() {
            return None;
        }
        let given = args.iter().map(|arg| self.text(*arg)).collect::<Vec<_>>().join(", ");
        let own = || format!("{}({given})", name.name);
        let help = if known(&name.name) || BUILTIN_NAMES.contains(&&*name.name) {
            format!("write `{}`: functions are called without the name of a module", own())
        } else if let Some(standard) = self.checker.standard_with(&name.name) {
            format!("add `use {standard}` at the top, and write `{}`", own())
        } else {
            format!("write `{}`", foreign::call(&name.name, &given)?)
        };
        let unknown = Diagnostic::new(Code::E0201, format!("unknown name {}", quoted(module)));
        Some(unknown.at(self.span(object), "not found").help(help))
    }

    fn operate(&mut self, view: &View, op: &Op<'_>) -> Result<View> {
        match &*op.name.name {
            "translate_by" => self.per_dim(view, op, |map, dims, by| map.translate_by(dims, by)),
            "translate_to" => self.per_dim(view, op, |map, dims, to| map.translate_to(dims, to)),
            "stride" => self.per_dim(view, op, |map, dims, strides| map.stride(dims, strides)),
            "label" => self.relabel(view, op),
            "permute" => self.permute(view, op),
            "flip" => self.by_dims(view, op, Transform::flip),
            "implicit" => self.by_dims(view, op, Transform::implicit),
            "diagonal" => self.diagonal(view, op),
            "add_dim" => self.add_dim(view, op),
            "at" => self.fix(view, op),
            "oindex" => self.oindex(view, op),
            "vindex" => self.vindex(view, op),
            "reshape" => self.reshape(view, op),
            "flatten" => self.flatten(view, op),
            "squeeze" => self.squeeze(view, op),
            "expand" => self.expand(view, op),
            "shrink" => self.shrink(view, op),
            "pad" => self.pad(view, op),
            "as_strided" => self.as_strided(view, op),
            "clamp" => self.bounded(view, op, Boundary::Clamp),
            "wrap" => self.bounded(view, op, Boundary::Wrap),
            "mirror" => self.bounded(view, op, Boundary::Mirror),
            "reflect" => self.bounded(view, op, Boundary::Reflect),
            "fill" => self.fill(view, op),
            _ => op.unknown().err(),
        }
    }

    // --- one value per dimension ---

    fn per_dim(
        &mut self,
        view: &View,
        op: &Op<'_>,
        apply: impl Fn(&Transform, &[DimRef], &[Option<i64>]) -> index::Result<Transform>,
    ) -> Result<View> {
        op.takes(1, 1)?;
        let values = self.values(view, op, op.args[0], |this, expr| this.constant_int(expr, &op.what()))?;
        op.check(view.mapped(|map| apply(map, &all_dims(view), &values)))
    }

    /// `[a, _, b]` or `{y: a}` as one entry per dimension.
    fn values<T>(
        &mut self,
        view: &View,
        op: &Op<'_>,
        arg: ExprId,
        mut read: impl FnMut(&mut Self, ExprId) -> Result<T>,
    ) -> Result<PerDim<T>> {
        let module = self.frame().module.clone();
        let mut values: PerDim<T> = (0..view.rank()).map(|_| None).collect();
        match module.ast.expr(module.ast.unparen(arg)) {
            Expr::List(items) if items.len() == view.rank() => {
                for (slot, item) in values.iter_mut().zip(items) {
                    if !self.is_blank(*item) {
                        *slot = Some(read(self, *item)?);
                    }
                }
            }
            Expr::List(items) => return self.wrong_rank(view, op, arg, items.len()),
            Expr::Map(entries) => {
                for (dim, (_, item)) in self.keys(view, op, entries)?.into_iter().zip(entries) {
                    values[dim] = Some(read(self, *item)?);
                }
            }
            _ => return self.wrong_argument(op, arg, "a list with an entry per dimension, or a map"),
        }
        Ok(values)
    }

    pub(super) fn is_blank(&self, id: ExprId) -> bool {
        matches!(self.frame().module.ast.expr(id), Expr::Name(name) if &**name == "_")
    }

    fn relabel(&mut self, view: &View, op: &Op<'_>) -> Result<View> {
        op.takes(1, 1)?;
        let labels = self.values(view, op, op.args[0], |this, expr| this.word(op, expr))?;
        let old = view.domain().dims().iter().map(|dim| dim.label.clone());
        let labels: Vec<String> = old.zip(labels).map(|(old, new)| new.unwrap_or(old)).collect();
        op.check(view.mapped(|map| map.label(&all_dims(view), &labels)))
    }

    fn fix(&mut self, view: &View, op: &Op<'_>) -> Result<View> {
        op.takes(1, 1)?;
        let values = self.values(view, op, op.args[0], |this, expr| this.constant_int(expr, &op.what()))?;
        let fixed = values.iter().enumerate().filter_map(|(at, value)| Some((position(at), (*value)?)));
        let (dims, indices): (Vec<_>, Vec<_>) = fixed.unzip();
        op.check(view.mapped(|map| map.index(&dims, &indices)))
    }

    fn shrink(&mut self, view: &View, op: &Op<'_>) -> Result<View> {
        op.takes(1, 1)?;
        let ranges = self.values(view, op, op.args[0], |this, expr| this.range(op, expr))?;
        let intervals =
            ranges.into_iter().map(|range| range.map(|(lo, hi)| Interval::new(lo, hi)).transpose());
        let intervals: Vec<_> = op.check(intervals.collect())?;
        op.check(view.mapped(|map| map.shrink(&all_dims(view), &intervals)))
    }

    fn expand(&mut self, view: &View, op: &Op<'_>) -> Result<View> {
        op.takes(1, 1)?;
        let module = self.frame().module.clone();
        let sizes = match module.ast.expr(module.ast.unparen(op.args[0])) {
            Expr::List(items) => {
                items.iter().map(|item| self.size_or_keep(op, *item)).collect::<Result<_>>()?
            }
            _ => self.values(view, op, op.args[0], |this, expr| this.constant_int(expr, &op.what()))?,
        };
        op.check(view.mapped(|map| map.expand(&sizes)))
    }

    /// `_` and `-1` keep a dimension.
    fn size_or_keep(&mut self, op: &Op<'_>, item: ExprId) -> Result<Option<i64>> {
        if self.is_blank(item) {
            return Ok(None);
        }
        let size = self.constant_int(item, &op.what())?;
        Ok((size != -1).then_some(size))
    }

    fn pad(&mut self, view: &View, op: &Op<'_>) -> Result<View> {
        op.takes(2, 2)?;
        let cells = self.values(view, op, op.args[0], |this, expr| this.range(op, expr))?;
        let value = self.element_value(view, op.args[1], "the value of `.pad`")?;
        let cells: Vec<_> = cells.into_iter().map(|cells| cells.unwrap_or((0, 0))).collect();
        for (dim, (before, after)) in view.domain().dims().iter().zip(&cells) {
            if *before < 0 || *after < 0 {
                let message = format!("`.pad` takes counts of cells, but {} is negative", before.min(after));
                return op.refuse(
                    Code::E0606,
                    message,
                    "write how many cells to add before and after: `1..1`",
                );
            }
            if (*before, *after) != (0, 0) && !dim.interval.is_bounded() {
                let message = format!("`.pad` needs a bounded dimension, but `{dim}` has no end");
                return op.refuse(
                    Code::E0603,
                    message,
                    &format!("remove it, or {}", view.example_slice(dim)),
                );
            }
        }
        op.check(view.padded(&cells, value))
    }

    // --- lists of dimensions ---

    fn by_dims(
        &mut self,
        view: &View,
        op: &Op<'_>,
        apply: impl Fn(&Transform, &[DimRef]) -> index::Result<Transform>,
    ) -> Result<View> {
        op.takes(1, 1)?;
        let dims = self.dimensions(view, op, op.args[0])?;
        op.check(view.mapped(|map| apply(map, &dims)))
    }

    fn diagonal(&mut self, view: &View, op: &Op<'_>) -> Result<View> {
        op.takes(2, 2)?;
        let dims = self.dimensions(view, op, op.args[0])?;
        let label = self.word(op, op.args[1])?;
        op.check(view.mapped(|map| map.diagonal_labelled(&dims, &label)))
    }

    fn add_dim(&mut self, view: &View, op: &Op<'_>) -> Result<View> {
        op.takes(1, 1)?;
        let label = self.word(op, op.args[0])?;
        op.check(view.mapped(|map| map.add_dim(&label)))
    }

    // --- index arrays ---

    fn oindex(&mut self, view: &View, op: &Op<'_>) -> Result<View> {
        op.takes(1, 1)?;
        let (dims, arrays) = self.index_arrays(view, op)?;
        op.check(view.mapped(|map| map.oindex(&dims, &arrays)))
    }

    fn vindex(&mut self, view: &View, op: &Op<'_>) -> Result<View> {
        op.takes(2, 2)?;
        let (dims, arrays) = self.index_arrays(view, op)?;
        let label = self.word(op, op.args[1])?;
        op.check(view.mapped(|map| map.vindex_labelled(&dims, &arrays, &label)))
    }

    fn index_arrays(&mut self, view: &View, op: &Op<'_>) -> Result<(Vec<DimRef>, Vec<IndexArray>)> {
        let lists = self.values(view, op, op.args[0], |this, expr| this.int_list(op, expr))?;
        let mut dims = Vec::new();
        let mut arrays = Vec::new();
        for (at, list) in lists.into_iter().enumerate() {
            if let Some(list) = list {
                in_domain(view, op, at, &list)?;
                dims.push(position(at));
                arrays.push(op.check(IndexArray::new(vec![list.len() as i64], list))?);
            }
        }
        Ok((dims, arrays))
    }

    /// A list of constant integers, or a table of them.
    fn int_list(&mut self, op: &Op<'_>, expr: ExprId) -> Result<Vec<i64>> {
        let module = self.frame().module.clone();
        match module.ast.expr(module.ast.unparen(expr)) {
            Expr::List(items) => items.iter().map(|item| self.constant_int(*item, &op.what())).collect(),
            Expr::Name(_) => match self.value(expr)? {
                Value::Table(table) if table.shape.len() == 1 && table.ty.is_int() => {
                    Ok(table.values.iter().map(|value| value.as_int().unwrap_or_default() as i64).collect())
                }
                _ => self.wrong_argument(op, expr, "a list of integers"),
            },
            _ => self.wrong_argument(op, expr, "a list of integers"),
        }
    }

    // --- shapes ---

    /// Sizes or strides: a list of any length, in which `_` stands for what its dimension has `now`, or a map of what
    /// changes. Of what has no strides, `now` is empty.
    fn sizes(&mut self, view: &View, op: &Op<'_>, arg: ExprId, now: &[i64]) -> Result<Vec<i64>> {
        let module = self.frame().module.clone();
        let kept = |this: &Self, at: usize, place: ExprId| match now.get(at) {
            Some(size) => Ok(*size),
            None => this.nothing_to_keep(view, op, at, place),
        };
        match module.ast.expr(module.ast.unparen(arg)) {
            Expr::List(items) => {
                let read = |(at, item): (usize, &ExprId)| match self.is_blank(*item) {
                    true => kept(self, at, *item),
                    false => self.constant_int(*item, &op.what()),
                };
                items.iter().enumerate().map(read).collect()
            }
            Expr::Map(_) => {
                let given = self.values(view, op, arg, |this, expr| this.constant_int(expr, &op.what()))?;
                let sizes = given.into_iter().enumerate();
                sizes.map(|(at, size)| size.map_or_else(|| kept(self, at, arg), Ok)).collect()
            }
            _ => self.int_list(op, arg),
        }
    }

    fn nothing_to_keep<T>(&self, view: &View, op: &Op<'_>, at: usize, place: ExprId) -> Result<T> {
        let (op_name, name) = (&op.name.name, quoted(&view.name));
        let message = match at < view.rank() {
            true => format!("`.{op_name}` keeps a stride, but {name} has no strides"),
            false => {
                let rank = counted(view.rank(), "dimension");
                format!("`.{op_name}` keeps dimension {at}, but {name} has {rank}")
            }
        };
        Diagnostic::new(Code::E0606, message)
            .at(self.span(place), &op.about)
            .help("write a number: `_` keeps what the dimension at its place has")
            .err()
    }

    fn reshape(&mut self, view: &View, op: &Op<'_>) -> Result<View> {
        op.takes(1, 1)?;
        let count = op.count(view)?;
        let given = self.sizes(view, op, op.args[0], &lengths(view))?;
        let shape = op.infer(&given, count, view)?;
        op.check(view.reshaped(&shape))
    }

    fn flatten(&mut self, view: &View, op: &Op<'_>) -> Result<View> {
        op.takes(0, 0)?;
        let count = op.count(view)?;
        op.check(view.reshaped(&[count]))
    }

    fn squeeze(&mut self, view: &View, op: &Op<'_>) -> Result<View> {
        op.takes(0, 0)?;
        op.check(view.mapped(Transform::squeeze))
    }

    fn as_strided(&mut self, view: &View, op: &Op<'_>) -> Result<View> {
        op.takes(2, 3)?;
        op.count(view)?;
        let base = self.checker.tensors[view.base.index()].domain.clone();
        let now = view.strided(&base).map(|strided| strided.strides).unwrap_or_default();
        let shape = self.sizes(view, op, op.args[0], &lengths(view))?;
        let strides = self.sizes(view, op, op.args[1], &now)?;
        let offset = op.args.get(2).map_or(Ok(0), |arg| self.constant_int(*arg, &op.what()))?;
        if shape.len() != strides.len() {
            let (sizes, strides) = (counted(shape.len(), "size"), counted(strides.len(), "stride"));
            let message = format!("`.as_strided` has {sizes}, but {strides}");
            return op.refuse(Code::E0606, message, "write as many strides as sizes");
        }
        if let Some(size) = shape.iter().find(|size| **size < 0) {
            return op.refuse(
                Code::E0606,
                format!("`.as_strided` has a size of {size}"),
                "write sizes of 0 or more",
            );
        }
        let strided = op.check(view.as_strided(&base, &shape, &strides, offset))?;
        op.check_positions(&strided, &shape, &strides, offset)?;
        Ok(strided)
    }

    // --- boundaries ---

    fn bounded(&mut self, view: &View, op: &Op<'_>, kind: Boundary) -> Result<View> {
        let chosen = self.boundary_dims(view, op, 0)?;
        for (dim, _) in view.domain().dims().iter().zip(&chosen).filter(|(_, chosen)| **chosen) {
            if kind == Boundary::Wrap && !dim.interval.is_bounded() {
                let missing =
                    if dim.interval.lower().or(dim.interval.upper()).is_some() { "one" } else { "none" };
                let message = format!("`.wrap` needs both bounds, but `{dim}` has {missing}");
                let help = "name the dimensions that have both: `.wrap([x])`, or use `.clamp()`";
                return op.refuse(Code::E0603, message, help);
            }
            let ends = [dim.interval.lower(), dim.interval.upper()].into_iter().flatten();
            if kind != Boundary::Clamp && ends.into_iter().any(|end| end.abs() > FARTHEST_FOLD) {
                let message = format!("`.{}` folds within ±2^60, but `{dim}` goes further", op.name.name);
                return op.refuse(Code::E0312, message, "slice it first, or use `.clamp()`");
            }
        }
        op.check(view.bounded_by(chosen.iter().map(|chosen| chosen.then_some(kind)).collect()))
    }

    fn fill(&mut self, view: &View, op: &Op<'_>) -> Result<View> {
        op.takes(1, 2)?;
        let chosen = self.boundary_dims(view, op, 1)?;
        let value = self.element_value(view, op.args[0], "the value of `.fill`")?;
        op.check(view.filled(&chosen, value))
    }

    /// The dimensions a boundary applies to: those listed in argument `at`, else all that have a bound.
    fn boundary_dims(&mut self, view: &View, op: &Op<'_>, at: usize) -> Result<Vec<bool>> {
        op.takes(at, at + 1)?;
        let dims = view.domain().dims();
        let has_bound = |dim: &index::Dim| dim.interval.lower().or(dim.interval.upper()).is_some();
        let mut chosen: Vec<bool> = dims.iter().map(|dim| op.args.len() <= at && has_bound(dim)).collect();
        if let Some(list) = op.args.get(at) {
            for dim in self.dimensions(view, op, *list)? {
                let DimRef::Position(dim) = dim else { unreachable!("dimensions are given by position") };
                chosen[dim as usize] = true;
            }
        }
        for (dim, _) in dims.iter().zip(&chosen).filter(|(_, chosen)| **chosen) {
            if dim.interval.is_empty() {
                let message = format!("`.{}` has nothing to repeat: `{dim}` is empty", op.name.name);
                return op.refuse(Code::E0608, message, "give the dimension at least one element");
            }
        }
        Ok(chosen)
    }

    // --- arguments ---

    fn word(&mut self, op: &Op<'_>, expr: ExprId) -> Result<String> {
        let module = self.frame().module.clone();
        match module.ast.expr(module.ast.unparen(expr)) {
            Expr::Name(name) if &**name == "_" => Ok(String::new()),
            Expr::Name(name) => Ok(name.to_string()),
            _ => self.wrong_argument(op, expr, "a label"),
        }
    }

    fn range(&mut self, op: &Op<'_>, expr: ExprId) -> Result<(i64, i64)> {
        let module = self.frame().module.clone();
        match module.ast.expr(module.ast.unparen(expr)) {
            Expr::Range(lo, hi) => {
                Ok((self.constant_int(*lo, &op.what())?, self.constant_int(*hi, &op.what())?))
            }
            _ if &*op.name.name == "pad" => {
                self.wrong_argument(op, expr, "a range `before..after` per dimension")
            }
            _ => self.wrong_argument(op, expr, "a range `a..b` per dimension"),
        }
    }

    pub(super) fn wrong_argument<T>(&self, op: &Op<'_>, arg: ExprId, expected: &str) -> Result<T> {
        let arg_is = |what: fn(&Expr) -> bool| what(self.bare(arg));
        let found = if arg_is(|expr| matches!(expr, Expr::List(_))) {
            "a list"
        } else if arg_is(|expr| matches!(expr, Expr::Map(_))) {
            "a map"
        } else if arg_is(|expr| matches!(expr, Expr::Range(..))) {
            "a range"
        } else {
            "a single value"
        };
        Diagnostic::new(Code::E0606, format!("`.{}` takes {expected}, but this is {found}", op.name.name))
            .at(self.span(arg), "not what it takes")
            .help(format!("write it like `{}`", op.usage()))
            .err()
    }

    fn wrong_rank<T>(&self, view: &View, op: &Op<'_>, arg: ExprId, given: usize) -> Result<T> {
        let entries = if given == 1 { "1 entry".to_owned() } else { format!("{given} entries") };
        let rank = counted(view.rank(), "dimension");
        let message = format!("`.{}` has {entries}, but {} has {rank}", op.name.name, quoted(&view.name));
        Diagnostic::new(Code::E0606, message)
            .at(self.span(arg), &op.about)
            .help("write one entry per dimension, `_` to leave one alone, or a map `{label: value}`")
            .err()
    }
}

fn lengths(view: &View) -> Vec<i64> {
    view.domain().shape().unwrap_or_default()
}

fn all_dims(view: &View) -> Vec<DimRef> {
    (0..view.rank()).map(position).collect()
}

pub(super) fn position(at: usize) -> DimRef {
    DimRef::Position(at as i64)
}

/// An index array may only pick coordinates that the dimension has: no later stage looks at its entries.
fn in_domain(view: &View, op: &Op<'_>, at: usize, entries: &[i64]) -> Result<()> {
    let dim = &view.domain().dims()[at];
    match entries.iter().find(|entry| !dim.enforced().contains(**entry)) {
        None => Ok(()),
        Some(entry) => {
            let message = format!(
                "`.{}` picks coordinate {entry}, but {} has {}",
                op.name.name,
                dimension_name(dim),
                dim.enforced()
            );
            op.refuse(
                Code::E0607,
                message,
                "use coordinates that the dimension has: they are not counted from the end",
            )
        }
    }
}

fn not_a_view<T>(name: &Ident, span: Span, what: &str) -> Result<T> {
    Diagnostic::new(Code::E0601, format!("`.{}` applies to tensors and views, but this is {what}", name.name))
        .at(span, what)
        .help("apply it to a tensor or a view, before an element is read or taken")
        .err()
}
