//! Calls: casts, functions of the script (inlined), and builtins.

use super::builtins::wrong_count;
use super::operators::Operand;
use super::reductions::is_reduction;
use super::{Elaborator, Frame, Value, a_type, foreign};
use crate::diagnostic::{Call, Code, Diagnostic, Result, quoted};
use crate::graph::body::NodeId;
use crate::graph::modules::Symbol;
use crate::graph::names::undeclared;
use crate::graph::scalar::{BinaryFn, UnaryFn};
use crate::graph::types::{Element, Ty};
use crate::graph::view::View;
use crate::source::Span;
use crate::syntax::ast::{ExprId, FnItem, FnParam, Ident, ItemKind};
use std::sync::Arc;

/// The name that an error calls unknown.
fn unknown_name(error: &Diagnostic) -> Option<&str> {
    error.message.strip_prefix("unknown name `")?.strip_suffix('`')
}

impl Elaborator<'_, '_> {
    /// `f(a, b)`: the script's own functions shadow imported ones, those shadow casts and builtins.
    pub(super) fn call(&mut self, name: &Ident, args: &[ExprId], span: Span) -> Result<Value> {
        if let Some(symbol) = self.checker.modules.lookup(self.frame().id, &name.name) {
            return self.call_function(symbol, name, args);
        }
        if let Some(element) = Element::parse(&name.name) {
            return match args {
                [arg] => self.cast(element, *arg, span).map(Value::Node),
                _ => wrong_count(name, args.len(), 1, 1, &format!("{}(e)", name.name)).err(),
            };
        }
        match self.builtin(name, args, span) {
            Some(node) => node.map(Value::Node),
            None => match self.local(&name.name) {
                Some(Value::Node(_)) => self.not_a_function(name, Called::Number, args).err(),
                Some(Value::View(_) | Value::Take(_) | Value::Table(_)) => {
                    self.not_a_function(name, Called::Array, args).err()
                }
                None => self.unknown_function(name, args).err(),
            },
        }
    }

    /// Does `work` on `expr`; when that fails, other names in it that nothing declares are told as well.
    pub(in crate::graph) fn telling_names<T>(
        &mut self,
        expr: ExprId,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let known: Vec<_> = self.locals().names().cloned().collect();
        let result = work(self);
        let Err(error) = &result else { return result };
        self.frames.truncate(1);
        self.locals().truncate(known.len());
        self.calls.clear();
        let told = error.primary().map(|label| label.span);
        for free in undeclared(self.checker, self.frame().id, expr, &known) {
            if Some(free.span) != told && Some(&*free.name) != unknown_name(error) {
                let what = if free.called { "function" } else { "name" };
                let unknown = self.unknown(&free.name, free.span, what);
                self.checker.diagnostics.push(unknown);
            }
        }
        result
    }

    fn unknown_function(&mut self, name: &Ident, args: &[ExprId]) -> Diagnostic {
        if is_reduction(&name.name) {
            return self.reduction_without_range(name, args);
        }
        let given: Vec<_> = args.iter().map(|arg| self.text(*arg)).collect();
        match foreign::call(&name.name, &given.join(", ")) {
            Some(own) => Diagnostic::new(Code::E0201, format!("unknown function {}", quoted(&name.name)))
                .at(name.span, "not found")
                .help(format!("write `{own}`")),
            None => self.unknown(&name.name, name.span, "function"),
        }
    }

    /// `sum(h)`: the help reads all of `h`, where that is a tensor.
    fn reduction_without_range(&mut self, name: &Ident, args: &[ExprId]) -> Diagnostic {
        let example = self.with_range(name, args);
        Diagnostic::new(Code::E0207, format!("{} is a reduction, not a function", quoted(&name.name)))
            .at(name.span, "runs over a range")
            .help(format!("write the range first: `{example}`"))
    }

    /// A reduction over all that is given: `sum(y in 0..4, x in 0..20) h[y, x]`.
    pub(super) fn with_range(&mut self, name: &Ident, args: &[ExprId]) -> String {
        let whole = match args {
            [arg] => self.value(*arg).ok(),
            _ => None,
        };
        match (whole, args) {
            (Some(Value::View(view)), [arg]) if view.rank() > 0 => {
                let (ranges, labels) = ranges_of(&view);
                format!("{}({ranges}) {}[{labels}]", name.name, self.text(*arg))
            }
            _ => format!("{}(i in 0..n) …", name.name),
        }
    }

    fn not_a_function(&self, name: &Ident, called: Called, args: &[ExprId]) -> Diagnostic {
        let given: Vec<_> = args.iter().map(|arg| self.text(*arg)).collect();
        let given = given.join(", ");
        let (what, help) = match called {
            Called::Number => ("a number", format!("write `{} * ({given})` to multiply", name.name)),
            Called::Array => ("a tensor", format!("index it with brackets: `{}[{given}]`", name.name)),
        };
        Diagnostic::new(Code::E0207, format!("{} is {what}, not a function", quoted(&name.name)))
            .at(name.span, "called here")
            .help(help)
    }

    /// `f32(e)`: anything to anything.
    fn cast(&mut self, to: Element, arg: ExprId, span: Span) -> Result<NodeId> {
        let node = self.number(arg)?;
        Ok(self.convert(node, to, span))
    }

    fn convert(&mut self, node: NodeId, to: Element, span: Span) -> NodeId {
        let ty = Ty::Strong(to.computed());
        let node = match self.body.ty(node) {
            own if own == ty => node,
            Ty::Strong(Element::F64) if to == Element::F16 => self.rounded_to_odd(node, span),
            _ => self.body.cast(node, ty, span),
        };
        if to == Element::F16 { self.body.unary(UnaryFn::RoundF16, node, ty, span) } else { node }
    }

    /// An f64 as an f32 that rounds to the f16 next to the f64: what lies between two floats goes to the odd one of
    /// them, so that it is never taken for a tie, and the first rounding leaves no trace.
    fn rounded_to_odd(&mut self, wide: NodeId, span: Span) -> NodeId {
        let [float, double, word, truth] =
            [Element::F32, Element::F64, Element::U32, Element::Bool].map(Ty::Strong);
        let body = &mut self.body;
        let near = body.cast(wide, float, span);
        let back = body.cast(near, double, span);
        let sizes = [back, wide].map(|value| body.unary(UnaryFn::Abs, value, double, span));
        let beyond = body.binary(BinaryFn::Gt, sizes[0], sizes[1], truth, span);
        let inexact = body.binary(BinaryFn::Ne, back, wide, truth, span);
        let [beyond, inexact] = [beyond, inexact].map(|value| body.cast(value, word, span));
        let bits = body.unary(UnaryFn::Bits, near, word, span);
        let cut = body.binary(BinaryFn::Sub, bits, beyond, word, span);
        let odd = body.binary(BinaryFn::Or, cut, inexact, word, span);
        body.unary(UnaryFn::FloatBits, odd, float, span)
    }

    fn call_function(&mut self, symbol: Symbol, name: &Ident, args: &[ExprId]) -> Result<Value> {
        let module = self.checker.modules.get(symbol.module).clone();
        let item = &module.ast.items[symbol.item as usize];
        let ItemKind::Fn(function) = &item.kind else {
            let called =
                if matches!(item.kind, ItemKind::Param { .. }) { Called::Number } else { Called::Array };
            let declared = item.kind.name().map_or(item.span, |name| name.span);
            return self.not_a_function(name, called, args).with(declared, "declared here").err();
        };
        if self.inlined.contains(&symbol) {
            return self.recursion(symbol, name);
        }
        let fewest = function.params.iter().filter(|param| param.default.is_none()).count();
        if !(fewest..=function.params.len()).contains(&args.len()) {
            let usage = usage(function);
            let wrong = wrong_count(name, args.len(), fewest, function.params.len(), &usage);
            return wrong.with(function.name.span, "declared here").err();
        }
        let given = args.iter().map(|arg| Ok((*arg, self.value(*arg)?))).collect::<Result<Vec<_>>>()?;
        let converted = given.into_iter().zip(&function.params).map(|((expr, value), param)| {
            self.argument(name, param, expr, value).map(|value| (param.name.name.clone(), value))
        });
        let locals = converted.collect::<Result<_>>()?;
        self.frames.push(Frame { id: symbol.module, module: Arc::clone(&module), locals });
        self.inlined.push(symbol);
        self.calls.push(Call { name: name.name.clone(), span: name.span });
        let result = self.inline(name, function, args.len()).map_err(|error| self.blame(error));
        self.calls.pop();
        self.inlined.pop();
        self.frames.pop();
        result
    }

    /// Adds the calls that lead to an error, once: it ends the body, through all callers.
    fn blame(&mut self, error: Box<Diagnostic>) -> Box<Diagnostic> {
        if std::mem::replace(&mut self.blamed, true) {
            return error;
        }
        let mut error = error.through(&self.calls);
        let place = error.primary().map(|label| &self.checker.sources.get(label.span.source).name);
        if error.code.id().starts_with("E04") && place.is_some_and(|name| name.starts_with("std/")) {
            // The standard library is right, so what it was given is not.
            let converted = "a tensor by another one, `tensor b: f32[…] = f32(a[…])`";
            error.help =
                vec![format!("convert what is passed to {}: {converted}", quoted(&self.calls[0].name))];
        }
        Box::new(error)
    }

    /// The body of `function` in its own frame, which holds the first `given` arguments.
    fn inline(&mut self, name: &Ident, function: &FnItem, given: usize) -> Result<Value> {
        for param in &function.params[given..] {
            let default = param.default.expect("parameters that are left out have defaults");
            let value = self.value(default)?;
            let value = self.argument(name, param, default, value)?;
            self.bind(&param.name.name, value);
        }
        let value = self.value(function.body)?;
        match (&function.result, value) {
            (None, value) => Ok(value),
            (Some(result), Value::Node(node)) => {
                let to = self.checker.element(result)?;
                let operand = Operand { node, expr: function.body };
                let coerced = self.coerce(operand, to, &format!("the result of `{}`", function.name.name));
                coerced.map(Value::Node).map_err(|error| Box::new(error.with(result.span, "declared here")))
            }
            (Some(result), _) => Diagnostic::new(
                Code::E0207,
                format!("`{}` promises a number, but gives a tensor", function.name.name),
            )
            .at(result.span, "promised here")
            .help("read an element of the tensor in the body")
            .err(),
        }
    }

    fn argument(&mut self, name: &Ident, param: &FnParam, expr: ExprId, value: Value) -> Result<Value> {
        match (&param.ty, value) {
            (None, value) => Ok(value),
            (Some(ty), Value::Node(node)) => {
                let to = self.checker.element(ty)?;
                let what = format!("argument `{}` of `{}`", param.name.name, name.name);
                let coerced = self.coerce(Operand { node, expr }, to, &what);
                coerced.map(Value::Node).map_err(|error| Box::new(error.with(ty.span, "declared here")))
            }
            (Some(ty), Value::View(_) | Value::Take(_) | Value::Table(_)) => {
                let message = format!(
                    "argument `{}` of `{}` is `{}`, but a tensor is given",
                    param.name.name, name.name, ty.name
                );
                Diagnostic::new(Code::E0407, message)
                    .at(self.span(expr), "a tensor")
                    .with(ty.span, "declared here")
                    .help(format!("read an element of it: `{}[…]`", self.text(expr)))
                    .err()
            }
        }
    }

    /// A weak value in the declared type; a strong one must have it already.
    pub(super) fn coerce(&mut self, value: Operand, to: Element, what: &str) -> Result<NodeId> {
        let ty = self.body.ty(value.node);
        let wanted = Ty::Strong(to.computed());
        if super::operators::unify(ty, wanted) == Some(wanted) {
            let span = self.body.node(value.node).span;
            return Ok(self.convert(value.node, to, span));
        }
        // The value may be that of a default or a function body, written in the innermost file.
        Diagnostic::new(Code::E0407, format!("{what} is `{to}`, but this is {}", a_type(ty)))
            .at(self.body.node(value.node).span, format!("not `{to}`"))
            .help(self.conversion_to(to, ty, value.expr))
            .err()
    }

    fn recursion<T>(&mut self, symbol: Symbol, name: &Ident) -> Result<T> {
        let from = self.inlined.iter().position(|call| *call == symbol).unwrap_or(0);
        let mut diagnostic = Diagnostic::new(Code::E0206, format!("{} calls itself", quoted(&name.name)))
            .at(name.span, "called again here")
            .with(self.calls[0].span, format!("{} is called here", quoted(&self.calls[0].name)))
            .help("write a reduction such as `sum(i in 0..n) …` instead: functions are inlined");
        if self.inlined.len() - from > 1 {
            let path = self.calls[from..].iter().map(|call| &*call.name).chain([&*name.name]);
            diagnostic = diagnostic.note(format!("the calls are {}", path.collect::<Vec<_>>().join(" -> ")));
        }
        self.blamed = true;
        diagnostic.err()
    }
}

/// `y in 0..4, x in 0..20` and `y, x`: how all of a view is read, with short ranges where it has no end.
fn ranges_of(view: &View) -> (String, String) {
    let dims = view.domain().dims().iter().enumerate();
    let (ranges, labels): (Vec<_>, Vec<_>) = dims
        .map(|(at, dim)| {
            let label = if dim.label.is_empty() { format!("i{at}") } else { dim.label.clone() };
            let lo = dim.interval.lower().unwrap_or(0);
            let hi = dim.interval.upper().unwrap_or(lo.saturating_add(8));
            (format!("{label} in {lo}..{hi}"), label)
        })
        .unzip();
    (ranges.join(", "), labels.join(", "))
}

/// What a name that is no function stands for.
#[derive(Clone, Copy)]
enum Called {
    Number,
    Array,
}

/// `step(x, lo)` or `step(x, lo, hi)`: how a function is called, for suggestions.
fn usage(function: &FnItem) -> String {
    let call = |params: &[FnParam]| {
        let names: Vec<&str> = params.iter().map(|param| &*param.name.name).collect();
        format!("{}({})", function.name.name, names.join(", "))
    };
    let fewest = function.params.iter().take_while(|param| param.default.is_none()).count();
    match fewest < function.params.len() {
        true => format!("{}` or `{}", call(&function.params[..fewest]), call(&function.params)),
        false => call(&function.params),
    }
}
