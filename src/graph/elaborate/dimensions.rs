//! Which dimensions a view operation is about: `[y, 1]`, `{y: true}`, `.permute({y: x, x: y})`.

use super::movement::position;
use super::op::Op;
use super::{Elaborator, Value};
use crate::diagnostic::{Code, Diagnostic, Result, counted, quoted};
use crate::graph::types::{Element, Ty};
use crate::graph::view::{View, dimension_name};
use crate::index::domain::DimRef;
use crate::syntax::ast::{Expr, ExprId};

impl Elaborator<'_, '_> {
    /// `.permute([x, y])`, or `.permute({y: x, x: y})`: which dimension goes where another was; `_` stays.
    pub(super) fn permute(&mut self, view: &View, op: &Op<'_>) -> Result<View> {
        op.takes(1, 1)?;
        let module = self.frame().module.clone();
        let dims = match module.ast.expr(module.ast.unparen(op.args[0])) {
            Expr::Map(entries) => self.exchanged(view, op, entries)?,
            Expr::List(items) => {
                let read = |(at, item): (usize, &ExprId)| match self.is_blank(*item) {
                    true => Ok(position(at)),
                    false => self.dimension(view, op, *item).map(position),
                };
                items.iter().enumerate().map(read).collect::<Result<_>>()?
            }
            _ => self.dimensions(view, op, op.args[0])?,
        };
        if dims.len() != view.rank() {
            let message = format!(
                "`.permute` names {}, but {} has {}",
                counted(dims.len(), "dimension"),
                quoted(&view.name),
                view.rank()
            );
            return op.refuse(Code::E0607, message, "name every dimension once");
        }
        op.check(view.mapped(|map| map.permute(&dims)))
    }

    fn exchanged(&mut self, view: &View, op: &Op<'_>, entries: &[(ExprId, ExprId)]) -> Result<Vec<DimRef>> {
        let mut dims: Vec<usize> = (0..view.rank()).collect();
        for (place, (_, dim)) in self.keys(view, op, entries)?.into_iter().zip(entries) {
            dims[place] = self.dimension(view, op, *dim)?;
        }
        Ok(dims.into_iter().map(position).collect())
    }

    /// A list of dimensions, in which `_` names none, or a map that says of some whether they are meant.
    pub(super) fn dimensions(&mut self, view: &View, op: &Op<'_>, arg: ExprId) -> Result<Vec<DimRef>> {
        let module = self.frame().module.clone();
        match module.ast.expr(module.ast.unparen(arg)) {
            Expr::List(items) => {
                let named: Vec<_> = items.iter().filter(|item| !self.is_blank(**item)).collect();
                named.into_iter().map(|item| self.dimension(view, op, *item).map(position)).collect()
            }
            Expr::Map(entries) => {
                let mut dims = Vec::new();
                for (dim, (_, meant)) in self.keys(view, op, entries)?.into_iter().zip(entries) {
                    dims.extend(self.flag(op, *meant)?.then_some(position(dim)));
                }
                Ok(dims)
            }
            _ => self.wrong_argument(op, arg, "a list of dimensions, or a map `{label: true}`"),
        }
    }

    /// The dimensions that a map has entries for, one each.
    pub(super) fn keys(
        &mut self,
        view: &View,
        op: &Op<'_>,
        entries: &[(ExprId, ExprId)],
    ) -> Result<Vec<usize>> {
        let mut dims = Vec::new();
        for (key, _) in entries {
            let dim = self.dimension(view, op, *key)?;
            if dims.contains(&dim) {
                let name = dimension_name(&view.domain().dims()[dim]);
                let message = format!("`.{}` has two entries for dimension {name}", op.name.name);
                return Diagnostic::new(Code::E0606, message)
                    .at(self.span(*key), "again here")
                    .help("keep one of them")
                    .err();
            }
            dims.push(dim);
        }
        Ok(dims)
    }

    /// `true` or `false`, constant.
    fn flag(&mut self, op: &Op<'_>, expr: ExprId) -> Result<bool> {
        let node = self.number(expr)?;
        match self.body.constant(node) {
            Some(value) if self.body.ty(node) == Ty::Strong(Element::Bool) => Ok(value.is_true()),
            _ => self.wrong_argument(op, expr, "`true` or `false` for each dimension of a map"),
        }
    }

    /// A label of the view, else a constant position.
    pub(super) fn dimension(&mut self, view: &View, op: &Op<'_>, expr: ExprId) -> Result<usize> {
        let module = self.frame().module.clone();
        let span = module.ast.span(expr);
        let rank = view.rank();
        if let Expr::Name(name) = module.ast.expr(expr) {
            if let Some(at) = view.domain().position(name) {
                return Ok(at);
            }
            if self.checker.modules.lookup(self.frame().id, name).is_none() && self.local(name).is_none() {
                return op.no_dimension(view, name, span).err();
            }
        }
        let given = self.constant_int(expr, "a dimension")?;
        let at = if given < 0 { given + rank as i64 } else { given };
        usize::try_from(at).ok().filter(|at| *at < rank).ok_or_else(|| {
            let has = counted(rank, "dimension");
            let message =
                format!("`.{}` names dimension {given}, but {} has {has}", op.name.name, quoted(&view.name));
            Box::new(
                Diagnostic::new(Code::E0605, message)
                    .at(span, &op.about)
                    .help(format!("choose a position from 0 to {}, or a label", rank.saturating_sub(1))),
            )
        })
    }

    pub(super) fn local(&self, name: &str) -> Option<&Value> {
        self.frame().locals.find(name)
    }
}
