//! Expressions -> nodes of a body: names resolved, functions inlined, types checked, numbers still weak.
//!
//! ```text
//! fn twice(a) = a + a          twice(height[y, x])      v2: f32 = read t0[v0, v1]   v3: f32 = add v2 v2
//! ```

mod builtins;
mod calls;
mod dimensions;
mod foreign;
mod movement;
mod op;
mod operators;
mod reads;
mod reductions;
mod slices;

use super::body::{Body, Coord, MAX_NODES, NodeId, Op, Table, TensorId};
use super::check::{Checker, Constant};
use super::evaluate::NoValue;
use super::follow::Arms;
use super::modules::{Module, ModuleId, Symbol, standard};
use super::scalar::Scalar;
use super::scope::Scope;
use super::types::{Element, Ty};
use super::view::View;
use super::window::Take;
use crate::diagnostic::{Call, Code, Diagnostic, Result, closest, quoted};
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, Expr, ExprId, FnItem, Ident, UnaryOp};
use std::sync::Arc;

pub use builtins::BUILTIN_NAMES;
pub(super) use builtins::builtin_call;
pub(super) use foreign::element as foreign_element;
use operators::Operand;
pub(super) use operators::unify;

/// What an expression stands for.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// A number or a bool.
    Node(NodeId),
    /// A tensor or a view of one, to be indexed.
    View(Arc<View>),
    /// A `take` of the tensor that is being defined.
    Take(Arc<Take>),
    /// A table of constants.
    Table(Arc<Table>),
}

/// Names for so many local coordinates.
fn unnamed(rank: usize) -> &'static str {
    match rank {
        0 | 1 => "[i]",
        2 => "[i, j]",
        3 => "[c, i, j]",
        _ => "[…]",
    }
}

/// What one body, or one function call, sees.
struct Frame {
    id: ModuleId,
    module: Arc<Module>,
    locals: Scope<Value>,
}

/// What a body belongs to: its labels, its window, its type.
#[derive(Clone, Debug, Default)]
pub(super) struct Owner {
    /// The tensor that is being defined, if it is one.
    pub tensor: Option<TensorId>,
    /// Labels of its dimensions, `_` where there is none.
    pub labels: Vec<Arc<str>>,
    /// Names of the local coordinates.
    pub locals: Vec<Arc<str>>,
    /// It has a window clause.
    pub windowed: bool,
    /// Brackets always slice: in view expressions outside bodies.
    pub views_only: bool,
    /// `y=0:512` is allowed between brackets: on the command line.
    pub named_slices: bool,
    /// What a weak float becomes when it meets no other float.
    pub float: Option<Element>,
}

/// Builds one body.
pub(super) struct Elaborator<'c, 'a> {
    checker: &'c mut Checker<'a>,
    body: Body,
    owner: Owner,
    frames: Vec<Frame>,
    /// The functions being inlined, outermost first.
    inlined: Vec<Symbol>,
    /// Where each of them is called.
    calls: Vec<Call>,
    /// The error that ends this body has its calls.
    blamed: bool,
    arms: Arms,
    arm: u32,
    reductions: u32,
    depth: u32,
    /// Expressions met so far, those of inlined functions each time.
    work: u64,
}

/// Expressions inside expressions, inlined functions included, beyond which a body is refused.
const MAX_DEPTH: u32 = 2_000;

/// Expressions in all, inlined functions included: more than any body of [`MAX_NODES`] needs.
const MAX_WORK: u64 = 2_000_000;

impl<'c, 'a> Elaborator<'c, 'a> {
    /// A body of `owner` in a file.
    pub(super) fn new(checker: &'c mut Checker<'a>, module: ModuleId, owner: Owner) -> Self {
        let frame =
            Frame { id: module, module: checker.modules.get(module).clone(), locals: Scope::default() };
        Elaborator {
            checker,
            body: Body::default(),
            owner,
            frames: vec![frame],
            inlined: Vec::new(),
            calls: Vec::new(),
            blamed: false,
            arms: Arms::default(),
            arm: 0,
            reductions: 0,
            depth: 0,
            work: 0,
        }
    }

    /// Makes `name` mean `value`.
    pub(super) fn bind(&mut self, name: &Arc<str>, value: Value) {
        if &**name != "_" {
            self.locals().push(name.clone(), value);
        }
    }

    /// Makes the labels and local names of the owner mean coordinates.
    pub(super) fn bind_coordinates(&mut self, span: Span) {
        let labels = self.owner.labels.clone();
        let locals = self.owner.locals.clone();
        for (names, coord) in [(labels, Coord::Global as fn(u32) -> Coord), (locals, Coord::Local)] {
            for (dim, name) in names.iter().enumerate() {
                let node = self.body.push(Op::Coord(coord(dim as u32)), Ty::WeakInt, span);
                self.bind(name, Value::Node(node));
            }
        }
    }

    /// Gives `name` to a value that comes from outside, of a strong type.
    pub(super) fn bind_argument(&mut self, name: &Ident, number: u32, element: Element) {
        let node = self.body.push(Op::Arg(number), Ty::Strong(element.computed()), name.span);
        self.bind(&name.name, Value::Node(node));
    }

    /// An expression in the declared type, by the rules for a tensor's body.
    pub(super) fn coerced(&mut self, expr: ExprId, element: Element, what: &str) -> Result<NodeId> {
        let node = self.number(expr)?;
        self.coerce(Operand { node, expr }, element, what)
    }

    /// What tensor `name` holds or is written: in its type, or weak and converted to it. `role` is `its body`.
    pub(super) fn body_of(
        &mut self,
        expr: ExprId,
        element: Element,
        name: &str,
        role: &str,
    ) -> Result<NodeId> {
        let node = self.number(expr)?;
        let ty = self.body.ty(node);
        let wanted = Ty::Strong(element.computed());
        if unify(ty, wanted) == Some(wanted) {
            return self.coerce(Operand { node, expr }, element, name);
        }
        Diagnostic::new(Code::E0404, format!("`{name}` holds `{element}`, but {role} is {}", a_type(ty)))
            .at(self.span(expr), a_type(ty))
            .fix_if(self.span(expr), self.cast_to(element, ty, expr))
            .help(self.conversion_to(element, ty, expr))
            .err()
    }

    /// `expr` in a cast, where no other cure is as likely.
    fn cast_to(&self, element: Element, ty: Ty, expr: ExprId) -> Option<String> {
        let numbers = element != Element::Bool && ty != Ty::Strong(Element::Bool);
        let plain = !matches!(self.bare(expr), Expr::Reduce { .. } | Expr::Float(_));
        (numbers && plain).then(|| format!("{element}({})", self.bare_text(expr)))
    }

    /// How to make `expr`, which has type `ty`, fit `element`.
    fn conversion_to(&self, element: Element, ty: Ty, expr: ExprId) -> String {
        let text = self.bare_text(expr);
        let cast = match self.bare(expr) {
            Expr::Reduce { kind, body, .. } if element.is_float() && ty.is_int() && is_fold(&kind.name) => {
                format!("convert each term: `{}(…) {element}({})`", kind.name, self.bare_text(*body))
            }
            _ => format!("convert it: `{element}({text})`"),
        };
        let literal = |expr: &Expr| matches!(expr, Expr::Float(_));
        match self.rounded_division(expr) {
            _ if ty == Ty::Strong(Element::Bool) => {
                format!("choose numbers: `if {text} then 1 else 0`, or {cast}")
            }
            _ if element == Element::Bool && matches!(self.bare(expr), Expr::Int(_)) => {
                format!("write `{}`", text != "0")
            }
            _ if element == Element::Bool => format!("compare it: `{text} != 0`"),
            Some(rounded) if element.is_int() && ty == Ty::WeakFloat => format!("{rounded}, or {cast}"),
            None if element.is_int() && literal(self.bare(expr)) => {
                format!("write a whole number, or {cast}")
            }
            Some(_) | None => cast,
        }
    }

    /// What to write instead of a division `a / b` to stay among integers.
    fn rounded_division(&self, expr: ExprId) -> Option<String> {
        let Expr::Binary(BinaryOp::Div, a, b) = self.bare(expr) else { return None };
        let floats = [a, b].iter().any(|side| matches!(self.bare(**side), Expr::Float(_)));
        (!floats).then(|| format!("write `{} // {}` to round down", self.text(*a), self.text(*b)))
    }

    /// The expression without the parentheses around it.
    fn bare(&self, id: ExprId) -> &Expr {
        let ast = &self.frame().module.ast;
        ast.expr(ast.unparen(id))
    }

    /// The body of a function whose parameters, all of one type, come from outside.
    pub(super) fn function_body(&mut self, item: &FnItem, element: Element) -> Result<NodeId> {
        for (number, param) in item.params.iter().enumerate() {
            self.bind_argument(&param.name, number as u32, element);
        }
        self.coerced(item.body, element, "the result")
    }

    /// The finished body.
    pub(super) fn into_body(self) -> Body {
        self.body
    }

    /// The constant integer that `id` must be.
    pub(super) fn constant_int(&mut self, id: ExprId, what: &str) -> Result<i64> {
        self.constant_int_or(id, what, "use numbers, `param` and `let` names here")
    }

    /// The constant integer that `id` must be; `hint` says what to do when it varies.
    fn constant_int_or(&mut self, id: ExprId, what: &str, hint: &str) -> Result<i64> {
        let span = self.span(id);
        let node = match self.value(id)? {
            Value::Node(node) => node,
            Value::View(view) => return tensor_as_constant(&view.name, span, what),
            Value::Take(take) => return tensor_as_constant(&take.name, span, what),
            table @ Value::Table(_) => self.as_number(table, id)?,
        };
        if !self.body.ty(node).is_int() {
            let text = self.bare_text(id);
            let help = match &*text {
                "inf" => "write a whole number: only dimensions go on for ever".to_owned(),
                _ => format!("write a whole number, or round it: `i64(floor({text}))`"),
            };
            return Diagnostic::new(
                Code::E0204,
                format!("{what} must be an integer, but this is {}", self.a(node)),
            )
            .at(span, "not an integer")
            .help(help)
            .err();
        }
        if let Some(value) = self.body.constant_int(node) {
            return Ok(value);
        }
        // Floats are not folded while a body is built, so `i64(floor(2.5))` is worked out here.
        let varies = || Diagnostic::new(Code::E0204, format!("{what} must be a constant")).at(span, VARIES);
        match self.checker.evaluate(&self.body, node, Element::I64).map(Scalar::as_int) {
            Ok(Some(value)) => Ok(value as i64),
            Ok(None) | Err(NoValue::Varies) => varies().help(hint).err(),
            Err(why) => Err(no_value(why, span, what)),
        }
    }

    /// A number or a bool.
    pub(super) fn number(&mut self, id: ExprId) -> Result<NodeId> {
        let value = self.value(id)?;
        self.as_number(value, id)
    }

    /// The number that the value of `id` must be.
    fn as_number(&self, value: Value, id: ExprId) -> Result<NodeId> {
        let span = self.span(id);
        match value {
            Value::Node(node) => Ok(node),
            Value::View(view) => {
                let (name, index) = (quoted(&view.name), view.example_index());
                let diagnostic = Diagnostic::new(Code::E0207, format!("{name} is used as a number"))
                    .at(span, format!("this is {}", view.describe()));
                // Outside of all bodies somebody means every element of it, as an array of NumPy does.
                let help = match self.in_a_body() {
                    true => format!("read one element of it: `{}{index}`", self.text(id)),
                    false => format!(
                        "say what one element is, as `{}{index}`, and slice that: `tensor t: {} = …`",
                        view.name,
                        view.describe().trim_matches('`')
                    ),
                };
                diagnostic.help(help).err()
            }
            Value::Take(take) => {
                Diagnostic::new(Code::E0207, format!("{} is used as a number", quoted(&take.name)))
                    .at(
                        span,
                        format!(
                            "this is a slice of {} with shape {:?}",
                            quoted(&take.source.name),
                            take.sizes
                        ),
                    )
                    .help(format!(
                        "read one element of it: `{}`",
                        example_entry(&take.name, take.sizes.len())
                    ))
                    .err()
            }
            Value::Table(table) => {
                Diagnostic::new(Code::E0207, format!("{} is used as a number", quoted(&table.name)))
                    .at(span, format!("this is a table of shape {:?}", table.shape))
                    .help(format!(
                        "read one entry of it: `{}`",
                        example_entry(&table.name, table.shape.len())
                    ))
                    .err()
            }
        }
    }

    /// Whatever the expression stands for.
    pub(super) fn value(&mut self, id: ExprId) -> Result<Value> {
        self.depth += 1;
        self.work += 1;
        let value = self.checked_depth(id).and_then(|()| self.dispatch(id));
        self.depth -= 1;
        value
    }

    fn checked_depth(&self, id: ExprId) -> Result<()> {
        if self.depth > MAX_DEPTH {
            let what = format!("this expression is nested more than {MAX_DEPTH} deep, functions included");
            return too_much(Code::E0901, what, self.span(id)).err();
        }
        if self.body.len() > MAX_NODES || self.work > MAX_WORK {
            return too_many_operations(self.span(id)).err();
        }
        Ok(())
    }

    fn dispatch(&mut self, id: ExprId) -> Result<Value> {
        let module = self.frame().module.clone();
        let span = module.ast.span(id);
        let node = match module.ast.expr(id) {
            Expr::Int(value) => self.body.weak_int(*value as i64, span),
            Expr::Float(value) => self.body.weak_float(*value, span),
            Expr::Inf => self.body.weak_float(f64::INFINITY, span),
            Expr::Bool(value) => self.body.strong(Scalar::bool(*value), span),
            Expr::Name(name) => return self.name(name, span),
            Expr::Paren(inner) => return self.value(*inner),
            Expr::Unary(UnaryOp::Neg, arg) => self.negate(*arg, span)?,
            Expr::Unary(UnaryOp::Not, arg) => self.not(*arg, span)?,
            Expr::Binary(..) => self.binary_spine(id)?,
            Expr::If { condition, then, otherwise } => {
                self.choose("if", [*condition, *then, *otherwise], span)?
            }
            Expr::Reduce { kind, binders, body } => self.reduce(kind, binders, *body, span)?,
            Expr::Call { function, args } => return self.call(function, args, span),
            Expr::Method { object, name, args } => return self.method(*object, name, args),
            Expr::Index { object, indices } => return self.index(*object, indices, span),
            Expr::Block { lets, result } => return self.block(lets, *result),
            Expr::Str(_) => return misplaced(span, "a string", "strings name files and host functions"),
            Expr::List(_) => {
                return misplaced(span, "a list", "give a table a name: `let k = […]` at the top level");
            }
            Expr::Map(_) => {
                return misplaced(span, "a `{label: value}` map", "maps are arguments of view operations");
            }
            Expr::Range(..) => return misplaced(span, "a range", "ranges stand in lists and after `in`"),
        };
        Ok(Value::Node(node))
    }

    fn block(&mut self, lets: &[(Ident, ExprId)], result: ExprId) -> Result<Value> {
        let outer = self.locals().len();
        for (name, value) in lets {
            let value = self.value(*value)?;
            self.bind(&name.name, value);
        }
        let value = self.value(result);
        self.locals().truncate(outer);
        value
    }

    /// A local name, else a top-level one.
    fn name(&mut self, name: &Arc<str>, span: Span) -> Result<Value> {
        let frame = self.frame();
        if let Some(value) = frame.locals.find(name) {
            return Ok(value.clone());
        }
        match self.checker.modules.lookup(frame.id, name) {
            Some(symbol) => self.global(symbol, span),
            None => Err(Box::new(self.unknown(name, span, "name"))),
        }
    }

    fn global(&mut self, symbol: Symbol, span: Span) -> Result<Value> {
        if let Some(view) = self.checker.tensor_view(symbol, span)? {
            return Ok(Value::View(view));
        }
        Ok(match self.checker.constant(symbol, span)? {
            Constant::Table(table) => Value::Table(table),
            Constant::Number(value, ty) => Value::Node(self.body.push(Op::Const(value), ty, span)),
        })
    }

    /// The error for a name that nothing declares, with what was probably meant.
    fn unknown(&self, name: &str, span: Span, what: &str) -> Diagnostic {
        let frame = self.frame();
        let locals = frame.locals.names().map(|local| &**local);
        let known = locals.chain(self.checker.modules.visible(frame.id)).chain(BUILTIN_NAMES.iter().copied());
        let unknown =
            Diagnostic::new(Code::E0201, format!("unknown {what} {}", quoted(name))).at(span, "not found");
        if self.checker.diagnostics.is_full() {
            return unknown;
        }
        if let Some(module) = self.checker.standard_with(name) {
            let top = Span { start: 0, end: 0, ..span };
            let fixed = unknown.fix(top, format!("use {module}\n"));
            return fixed.help(format!("add `use {module}` at the top: it defines `{name}`"));
        }
        if let Some(own) = foreign::value(name) {
            return unknown.fix(span, own).help(format!("write `{own}`"));
        }
        let in_function = !self.calls.is_empty();
        match closest(name, known) {
            _ if name == "_" => unknown.help("give the dimension a label: `_` names nothing"),
            Some(close) => {
                unknown.fix(span, close).help(format!("write {}, if that was meant", quoted(close)))
            }
            None if in_function && self.frames[0].locals.find(name).is_some() => unknown
                .help(format!("pass `{name}` as an argument: a function does not see the caller's labels")),
            None if self.in_unnamed_window() => unknown.help(format!(
                "add `as {}` after the `window` clause to name the coordinates in it, or declare it",
                unnamed(self.owner.labels.len())
            )),
            None if what == "function" && standard(name).is_some() => unknown.help(format!(
                "call what the module defines: `use {name}` at the top, and one of its functions (docs/std.md)"
            )),
            None if what == "function" => unknown.help(format!(
                "declare it with `fn {name}(…) = …`, or look for it in docs/std.md: `use` brings in a library"
            )),
            None => match self.labels() {
                Some(labels) => unknown.help(format!("declare it, or use {labels}")),
                None if in_function || self.owner.views_only || self.in_a_body() => {
                    unknown.help("declare it, or check its spelling")
                }
                None => unknown.help(
                    "declare it, or check its spelling; labels are known in the body of a tensor only",
                ),
            },
        }
    }

    /// ``a label of `b`: `row`, `col` ``, while its body is being made; labels of functions are their own.
    fn labels(&self) -> Option<String> {
        let tensor = &self.checker.tensors[self.owner.tensor?.index()];
        let labels = tensor.domain.dims().iter().map(|dim| &dim.label).filter(|label| !label.is_empty());
        let labels: Vec<String> = labels.map(|label| quoted(label)).collect();
        let shown = self.calls.is_empty() && !labels.is_empty();
        shown.then(|| format!("a label of {}: {}", quoted(&tensor.name), labels.join(", ")))
    }

    /// Whether this is said of every element of something: it is neither a constant nor a single value.
    fn in_a_body(&self) -> bool {
        !self.owner.labels.is_empty()
    }

    /// Whether a windowed body has no names for its local coordinates, which are then often written all the same.
    fn in_unnamed_window(&self) -> bool {
        let unnamed = self.owner.locals.iter().all(|name| &**name == "_");
        self.owner.windowed && unnamed && self.calls.is_empty()
    }

    fn frame(&self) -> &Frame {
        self.frames.last().expect("a frame is always open")
    }

    fn locals(&mut self) -> &mut Scope<Value> {
        &mut self.frames.last_mut().expect("a frame is always open").locals
    }

    pub(super) fn span(&self, id: ExprId) -> Span {
        self.frame().module.ast.span(id)
    }

    /// The source text of an expression, cut if long: for suggestions.
    fn text(&self, id: ExprId) -> String {
        let text = self.checker.sources.text(self.span(id));
        if text.chars().count() <= 40 && !text.contains('\n') { text.to_owned() } else { "…".to_owned() }
    }

    /// The same without the parentheses around it: for suggestions that bring their own.
    fn bare_text(&self, id: ExprId) -> String {
        self.text(self.frame().module.ast.unparen(id))
    }

    /// The type of a node with its article, for messages.
    fn a(&self, node: NodeId) -> String {
        a_type(self.body.ty(node))
    }
}

/// The reductions whose result has the type of their terms, and may leave its range.
fn is_fold(name: &str) -> bool {
    matches!(name, "sum" | "product")
}

/// What a place shows where a constant is needed.
const VARIES: &str = "known only when it runs";

/// A type with its article, for messages.
pub(super) fn a_type(ty: Ty) -> String {
    match ty {
        Ty::Strong(element @ (Element::I8 | Element::I16 | Element::I32 | Element::I64)) => {
            format!("an `{element}`")
        }
        Ty::Strong(element @ (Element::F16 | Element::F32 | Element::F64)) => format!("an `{element}`"),
        Ty::Strong(element) => format!("a `{element}`"),
        Ty::WeakInt => "an integer".into(),
        Ty::WeakFloat => "a float".into(),
    }
}

/// The error for what should be a constant and has no value yet.
pub(super) fn no_value(why: NoValue, span: Span, what: &str) -> Box<Diagnostic> {
    Box::new(match why {
        NoValue::TooMuchWork => too_much_work(span, what),
        NoValue::Varies => Diagnostic::new(Code::E0204, format!("{what} must be a constant"))
            .at(span, VARIES)
            .help("use numbers, `param` and `let` names here"),
        NoValue::Outside { table, at, shape } => {
            let message =
                format!("{what} reads table {} at {at:?}, but its shape is {shape:?}", quoted(&table));
            Diagnostic::new(Code::E0504, message)
                .at(span, "leaves the table")
                .help("stay below the size of the table: its entries are counted from 0")
        }
    })
}

fn too_much_work(span: Span, what: &str) -> Diagnostic {
    Diagnostic::new(Code::E0204, format!("{what} is too much work for a constant"))
        .at(span, "worked out before the program runs")
        .help("write it in closed form, or as a tensor: `tensor n: f64[_: 1] = …`")
}

fn too_much(code: Code, what: String, span: Span) -> Diagnostic {
    Diagnostic::new(code, what).at(span, "too much here").help("split it: give a part a tensor of its own")
}

/// A body with more than [`MAX_NODES`].
pub(super) fn too_many_operations(span: Span) -> Diagnostic {
    let what = format!("this body needs more than {MAX_NODES} operations, functions included");
    too_much(Code::E0902, what, span)
}

fn tensor_as_constant<T>(name: &str, span: Span, what: &str) -> Result<T> {
    Diagnostic::new(Code::E0204, format!("{what} must be a constant, but {} is a tensor", quoted(name)))
        .at(span, VARIES)
        .help("use numbers, `param` and `let` names here")
        .err()
}

/// `k[i, j]`, for suggestions.
fn example_entry(name: &str, rank: usize) -> String {
    let names: Vec<_> = (0..rank).map(|at| ["i", "j", "k"].get(at).copied().unwrap_or("0")).collect();
    format!("{name}[{}]", names.join(", "))
}

fn misplaced<T>(span: Span, what: &str, help: &str) -> Result<T> {
    Diagnostic::new(Code::E0207, format!("{what} cannot stand here"))
        .at(span, "a number is expected")
        .help(help)
        .err()
}
