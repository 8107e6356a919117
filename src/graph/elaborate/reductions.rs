//! Reductions: `sum(dy in -1..=1, dx in -1..=1) a[y + dy, x + dx]`.

use super::operators::Operand;
use super::{Elaborator, Value};
use crate::diagnostic::{Code, Diagnostic, Result, closest, quoted};
use crate::graph::body::{BoundVar, Coord, NodeId, Op, ReduceFn};
use crate::graph::declare::distinct;
use crate::graph::scalar::BinaryFn;
use crate::graph::types::{Element, Ty};
use crate::source::Span;
use crate::syntax::ast::{Binder, ExprId, Ident};

const REDUCTIONS: [(&str, Option<ReduceFn>); 9] = [
    ("sum", Some(ReduceFn::Sum)),
    ("product", Some(ReduceFn::Product)),
    ("min", Some(ReduceFn::Min)),
    ("max", Some(ReduceFn::Max)),
    ("any", Some(ReduceFn::Any)),
    ("all", Some(ReduceFn::All)),
    ("argmin", Some(ReduceFn::ArgMin)),
    ("argmax", Some(ReduceFn::ArgMax)),
    ("mean", None),
];

/// Whether a reduction has that name.
pub(super) fn is_reduction(name: &str) -> bool {
    REDUCTIONS.iter().any(|(known, _)| *known == name)
}

impl Elaborator<'_, '_> {
    pub(super) fn reduce(
        &mut self,
        kind: &Ident,
        binders: &[Binder],
        body: ExprId,
        span: Span,
    ) -> Result<NodeId> {
        let Some((_, function)) = REDUCTIONS.iter().find(|(name, _)| *name == &*kind.name) else {
            return unknown_reduction(kind);
        };
        let outer = (self.locals().len(), self.reductions);
        let result = self.bind_all(binders).and_then(|vars| {
            let node = self.number(body)?;
            self.fold(*function, kind, vars, Operand { node, expr: body }, span)
        });
        self.locals().truncate(outer.0);
        self.reductions = outer.1;
        result
    }

    fn bind_all(&mut self, binders: &[Binder]) -> Result<Vec<u32>> {
        distinct(binders.iter().map(|binder| &binder.name), "variable")?;
        let mut vars = Vec::new();
        for binder in binders {
            let name = binder.name.name.clone();
            let lo = self.constant_bound(binder.lo, &format!("the first value of `{name}`"), &name)?;
            let hi = self.constant_bound(binder.hi, &format!("the end of `{name}`"), &name)?;
            let Some(hi) = hi.checked_add(i64::from(binder.inclusive)) else {
                return Diagnostic::new(
                    Code::E0408,
                    format!("`{name}` ends at {hi}, the largest integer there is"),
                )
                .at(self.span(binder.hi), "nothing comes after it")
                .help("write a smaller end")
                .err();
            };
            let var = self.body.binder(BoundVar { depth: self.reductions, lo, hi, name: name.clone() });
            self.reductions += 1;
            let node = self.body.push(Op::Coord(Coord::Bound(var)), Ty::WeakInt, binder.name.span);
            self.bind(&name, Value::Node(node));
            vars.push(var);
        }
        Ok(vars)
    }

    /// A bound of the variable `name`; what varies belongs into the body.
    fn constant_bound(&mut self, expr: ExprId, what: &str, name: &str) -> Result<i64> {
        let hint =
            format!("use the widest constant range, and choose in the body: `if {name} < … then … else 0`");
        self.constant_int_or(expr, what, &hint)
    }

    /// `function` is absent for `mean`: a sum, divided once by the count.
    fn fold(
        &mut self,
        function: Option<ReduceFn>,
        kind: &Ident,
        vars: Vec<u32>,
        body: Operand,
        span: Span,
    ) -> Result<NodeId> {
        let Some(function) = function else {
            return self.mean(kind, vars, body, span);
        };
        let ty = self.body.ty(body.node);
        let wants_bool = matches!(function, ReduceFn::Any | ReduceFn::All);
        if wants_bool != (ty == Ty::Strong(Element::Bool)) {
            return self.wrong_body(kind, wants_bool, body);
        }
        let ty = match function {
            ReduceFn::ArgMin | ReduceFn::ArgMax if vars.len() != 1 => return one_variable(kind, vars.len()),
            ReduceFn::ArgMin | ReduceFn::ArgMax => Ty::WeakInt,
            ReduceFn::Sum
            | ReduceFn::Product
            | ReduceFn::Min
            | ReduceFn::Max
            | ReduceFn::Any
            | ReduceFn::All => ty,
        };
        Ok(self.body.push(Op::Reduce { function, vars, body: body.node }, ty, span))
    }

    fn mean(&mut self, kind: &Ident, vars: Vec<u32>, body: Operand, span: Span) -> Result<NodeId> {
        let ty = match self.body.ty(body.node) {
            Ty::WeakInt => Ty::WeakFloat,
            ty if ty.is_float() => ty,
            Ty::Strong(Element::Bool) => return self.wrong_body(kind, false, body),
            ty => {
                return Diagnostic::new(
                    Code::E0408,
                    format!("`mean` takes floats, but this is {}", super::a_type(ty)),
                )
                .at(self.span(body.expr), "not a float")
                .help(format!("convert it: `mean(…) f32({})`", self.bare_text(body.expr)))
                .err();
            }
        };
        let lengths = vars.iter().map(|var| &self.body.binders[*var as usize]);
        let count: f64 = lengths.map(|var| var.hi.saturating_sub(var.lo).max(0) as f64).product();
        let sum = self.body.push(Op::Reduce { function: ReduceFn::Sum, vars, body: body.node }, ty, span);
        let count = self.body.weak_float(count, span);
        Ok(self.body.binary(BinaryFn::Div, sum, count, ty, span))
    }

    fn wrong_body<T>(&self, kind: &Ident, wants_bool: bool, body: Operand) -> Result<T> {
        let (takes, help) = if wants_bool {
            ("bools", format!("compare it: `{} != 0`", self.text(body.expr)))
        } else {
            ("numbers", format!("choose numbers: `if {} then 1 else 0`", self.bare_text(body.expr)))
        };
        Diagnostic::new(
            Code::E0403,
            format!("`{}` takes {takes}, but this is {}", kind.name, self.a(body.node)),
        )
        .at(self.span(body.expr), self.a(body.node))
        .help(help)
        .err()
    }
}

fn unknown_reduction<T>(kind: &Ident) -> Result<T> {
    let names = || REDUCTIONS.iter().map(|(name, _)| *name);
    let close = closest(&kind.name, names());
    let help = match close {
        Some(close) => format!("write `{close}(…)`"),
        None => format!("choose one of {}", names().collect::<Vec<_>>().join(", ")),
    };
    Diagnostic::new(Code::E0408, format!("unknown reduction {}", quoted(&kind.name)))
        .at(kind.span, "not a reduction")
        .fix_if(kind.span, close)
        .help(help)
        .err()
}

fn one_variable<T>(kind: &Ident, given: usize) -> Result<T> {
    Diagnostic::new(Code::E0408, format!("`{}` takes 1 variable, but {given} are given", kind.name))
        .at(kind.span, "its result is the value of that variable")
        .help("nest two reductions, or number the places: `i in 0..h * w` with `i // w` and `i % w`")
        .err()
}
