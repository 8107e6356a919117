//! What top-level names mean: constants, element types, tensors and views, each worked out once, when first asked for.
//!
//! Item order does not matter, so a name may be asked for before its item is reached; a name that is asked for while
//! it is being worked out depends on itself.

use super::Tensor;
use super::body::default_float;
use super::body::{Body, MathFn, NodeId, Table, TensorId};
use super::contract::contract;
use super::elaborate::{Elaborator, Owner, Value, a_type, foreign_element, no_value};
use super::evaluate::{self, Library, NoValue};
use super::modules::{self, ModuleId, Modules, Symbol};
use super::names::needed_first;
use super::resolve_weak::{Resolved, resolve_weak};
use super::scalar::Scalar;
use super::types::{Element, Ty};
use super::view::View;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result, closest, quoted};
use crate::source::{SourceId, Sources, Span};
use crate::syntax::ast::{Expr, ExprId, Ident, ItemKind};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// The value of a `param` or `let`.
#[derive(Clone, Debug)]
pub(super) enum Constant {
    /// A number; weak ones are i64 or f64.
    Number(Scalar, Ty),
    /// Several numbers.
    Table(Arc<Table>),
}

/// A math function as a body over `Arg(0)`, `Arg(1)`.
type Function = Arc<(Body, NodeId)>;

/// How far a name is.
#[derive(Clone, Debug)]
enum Progress<T> {
    Busy,
    Done(Result<T>),
}

/// Names and what they turned out to mean.
pub(super) struct Checker<'a> {
    pub sources: &'a Sources,
    pub modules: Modules,
    pub diagnostics: &'a mut Diagnostics,
    /// Values from the command line, by parameter.
    pub settings: BTreeMap<Symbol, Setting>,
    /// Declared tensors, inputs and variables.
    pub tensors: Vec<Tensor>,
    pub tensor_ids: HashMap<Symbol, Result<TensorId>>,
    constants: HashMap<Symbol, Progress<Constant>>,
    views: HashMap<Symbol, Progress<Arc<View>>>,
    math: BTreeMap<(MathFn, Element), Option<Function>>,
    math_module: Option<ModuleId>,
    depth: u32,
    /// The tensors that the body of a tensor reads, also in arms that parameters switch off.
    pub mentioned: BTreeMap<TensorId, BTreeSet<TensorId>>,
}

/// A value given with `--set`, and the expression it parsed to.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub value: Scalar,
    pub source: SourceId,
}

/// Names that need names that need names …
const MAX_DEPTH: u32 = 100;

impl<'a> Checker<'a> {
    pub(super) fn new(sources: &'a Sources, modules: Modules, diagnostics: &'a mut Diagnostics) -> Self {
        Checker {
            sources,
            modules,
            diagnostics,
            settings: BTreeMap::new(),
            tensors: Vec::new(),
            tensor_ids: HashMap::new(),
            constants: HashMap::new(),
            views: HashMap::new(),
            math: BTreeMap::new(),
            math_module: None,
            depth: 0,
            mentioned: BTreeMap::new(),
        }
    }

    /// The element type with that name.
    pub(super) fn element(&self, name: &Ident) -> Result<Element> {
        Element::parse(&name.name).ok_or_else(|| {
            let names = Element::ALL.map(Element::name);
            let alias = foreign_element(&name.name).or_else(|| closest(&name.name, names));
            let help = match alias {
                Some(close) => format!("write `{close}`"),
                None => format!("choose one of {}", names.join(", ")),
            };
            Box::new(
                Diagnostic::new(Code::E0405, format!("unknown element type {}", quoted(&name.name)))
                    .at(name.span, "not an element type")
                    .fix_if(name.span, alias)
                    .help(help),
            )
        })
    }

    /// The standard module that defines `name`.
    pub(super) fn standard_with(&self, name: &str) -> Option<&'static str> {
        let heads = [format!("fn {name}("), format!("let {name} ")];
        let defines = |text: &str| text.lines().any(|line| heads.iter().any(|head| line.starts_with(head)));
        modules::STANDARD
            .iter()
            .find(|(module, text)| *module != "math" && defines(text))
            .map(|(module, _)| *module)
    }

    pub(super) fn symbol_name(&self, symbol: Symbol) -> String {
        self.modules.item(symbol).kind.name().map(|name| name.name.to_string()).unwrap_or_default()
    }

    // --- constants ---

    /// The value of a `param` or `let`, used at `span`.
    pub(super) fn constant(&mut self, symbol: Symbol, span: Span) -> Result<Constant> {
        match self.constants.get(&symbol) {
            Some(Progress::Done(result)) => return result.clone(),
            Some(Progress::Busy) => return self.depends_on_itself(symbol, span),
            None => {}
        }
        self.constants.insert(symbol, Progress::Busy);
        self.work_out_first(symbol);
        let result = self.nested(span, |this| this.work_out_constant(symbol, span));
        self.constants.insert(symbol, Progress::Done(result.clone()));
        result
    }

    fn work_out_constant(&mut self, symbol: Symbol, span: Span) -> Result<Constant> {
        let module = self.modules.get(symbol.module).clone();
        let item = &module.ast.items[symbol.item as usize];
        match &item.kind {
            ItemKind::Param { ty, value, name } => {
                let element = ty.as_ref().map(|ty| self.element(ty)).transpose()?;
                let number = self.number_item(symbol.module, *value, element, name)?;
                self.overridden(symbol, number, name)
            }
            ItemKind::Let { value, name } => match module.ast.expr(module.ast.unparen(*value)) {
                Expr::List(_) => self.table_item(symbol.module, *value, name),
                _ => self.number_item(symbol.module, *value, None, name),
            },
            ItemKind::Fn(function) => {
                Diagnostic::new(Code::E0207, format!("{} is a function", quoted(&function.name.name)))
                    .at(span, "used as a value")
                    .with(function.name.span, "declared here")
                    .help(format!("call it: `{}(…)`", function.name.name))
                    .err()
            }
            ItemKind::Window { name, .. } => {
                Diagnostic::new(Code::E0207, format!("{} is a window", quoted(&name.name)))
                    .at(span, "used as a value")
                    .help("name windows in `window` clauses only")
                    .err()
            }
            ItemKind::Use(_)
            | ItemKind::Input { .. }
            | ItemKind::Var { .. }
            | ItemKind::Tensor(_)
            | ItemKind::View { .. }
            | ItemKind::Output { .. }
            | ItemKind::Set { .. } => unreachable!("tensors and views are looked up first"),
        }
    }

    fn number_item(
        &mut self,
        module: ModuleId,
        value: ExprId,
        element: Option<Element>,
        name: &Ident,
    ) -> Result<Constant> {
        let what = format!("the value of `{}`", name.name);
        match element {
            Some(element) => {
                let value = self.constant_of(module, value, element, &what)?;
                Ok(Constant::Number(value, Ty::Strong(element.computed())))
            }
            None => self.weak_constant(module, value, &what).map(|(value, ty)| Constant::Number(value, ty)),
        }
    }

    /// A constant in the type it has; weak floats are worked out in f64.
    fn weak_constant(&mut self, module: ModuleId, expr: ExprId, what: &str) -> Result<(Scalar, Ty)> {
        let owner = Owner { float: Some(Element::F64), ..Owner::default() };
        let mut elaborator = Elaborator::new(self, module, owner);
        let node = elaborator.telling_names(expr, |this| this.number(expr))?;
        let span = elaborator.span(expr);
        let body = elaborator.into_body();
        let ty = body.ty(node);
        let element = match ty {
            Ty::Strong(element) => element,
            Ty::WeakInt => Element::I64,
            Ty::WeakFloat => Element::F64,
        };
        let value =
            self.evaluate_as(&body, node, element, Element::F64).map_err(|why| no_value(why, span, what))?;
        Ok((value, ty))
    }

    /// A constant converted to `element`, which it must fit by the rules for a tensor's body.
    pub(super) fn constant_of(
        &mut self,
        module: ModuleId,
        expr: ExprId,
        element: Element,
        what: &str,
    ) -> Result<Scalar> {
        let owner = Owner { float: Some(default_float(element)), ..Owner::default() };
        let mut elaborator = Elaborator::new(self, module, owner);
        let node = elaborator.telling_names(expr, |this| this.coerced(expr, element, what))?;
        let span = elaborator.span(expr);
        let body = elaborator.into_body();
        self.evaluate(&body, node, element).map_err(|why| no_value(why, span, what))
    }

    /// A constant integer.
    pub(super) fn constant_int(&mut self, module: ModuleId, expr: ExprId, what: &str) -> Result<i64> {
        Elaborator::new(self, module, Owner::default()).constant_int(expr, what)
    }

    /// The value of a node, if it is constant.
    pub(super) fn evaluate(
        &mut self,
        body: &Body,
        node: NodeId,
        element: Element,
    ) -> std::result::Result<Scalar, NoValue> {
        self.evaluate_as(body, node, element, default_float(element))
    }

    fn evaluate_as(
        &mut self,
        body: &Body,
        node: NodeId,
        element: Element,
        float: Element,
    ) -> std::result::Result<Scalar, NoValue> {
        let Resolved { body, root } = contract(&resolve_weak(body, node, element, float));
        evaluate::evaluate(&body, root, self)
    }

    fn overridden(&self, symbol: Symbol, default: Constant, name: &Ident) -> Result<Constant> {
        let (Some(setting), Constant::Number(_, ty)) = (self.settings.get(&symbol), &default) else {
            return Ok(default);
        };
        let given = setting.value;
        let value = match ty {
            Ty::WeakInt if given.element() == Element::I64 => Some(given),
            Ty::WeakFloat if given.element().is_float() || given.element() == Element::I64 => {
                Some(given.cast(Element::F64))
            }
            Ty::Strong(Element::Bool) if given.element() == Element::Bool => Some(given),
            Ty::Strong(element) if element.is_float() && given.element() != Element::Bool => {
                Some(given.cast(*element))
            }
            Ty::Strong(element) if element.is_int() && given.element() == Element::I64 => {
                let exact = given.cast(*element);
                (exact.as_int() == given.as_int()).then_some(exact)
            }
            Ty::Strong(_) | Ty::WeakInt | Ty::WeakFloat => None,
        };
        value.map(|value| Constant::Number(value, *ty)).ok_or_else(|| {
            let kind = match ty {
                Ty::WeakInt => "an integer".to_owned(),
                Ty::WeakFloat => "a number".to_owned(),
                Ty::Strong(element) => format!("`{element}`"),
            };
            let whole = Span::new(setting.source, 0, self.sources.get(setting.source).text.len());
            Box::new(
                Diagnostic::new(
                    Code::E0209,
                    format!("parameter `{}` is {kind}, but {given} is given", name.name),
                )
                .at(whole, "given here")
                .with(name.span, "declared here")
                .help(match ty.strong().map(|element| (element, element.int_range())) {
                    Some((Element::Bool, _)) => "give `true` or `false`".to_owned(),
                    Some((_, Some((lo, hi)))) => format!("give a whole number from {lo} to {hi}"),
                    Some((_, None)) | None => format!("give {kind}, such as the default"),
                }),
            )
        })
    }

    fn table_item(&mut self, module: ModuleId, value: ExprId, name: &Ident) -> Result<Constant> {
        let mut shape = Vec::new();
        let mut entries = Vec::new();
        self.table_level(module, value, 0, &mut shape, &mut entries)?;
        if entries.is_empty() {
            return Diagnostic::new(Code::E0210, format!("table `{}` has no entries", name.name))
                .at(self.modules.get(module).ast.span(value), "nothing to read")
                .help("write at least one entry")
                .err();
        }
        let float = entries.iter().any(|entry| entry.ty == Ty::WeakFloat);
        let typed = entries.iter().find(|entry| entry.ty.strong().is_some());
        let ty = typed.map_or(if float { Ty::WeakFloat } else { Ty::WeakInt }, |entry| entry.ty);
        let element = ty.strong().unwrap_or(if float { Element::F64 } else { Element::I64 });
        if let Some(odd) = entries.iter().find(|entry| super::elaborate::unify(entry.ty, ty) != Some(ty)) {
            let typed = typed.expect("only a typed entry refuses another");
            return mixed_types(name, typed, odd).err();
        }
        let values = entries.iter().map(|entry| entry.value.cast(element)).collect();
        Ok(Constant::Table(Arc::new(Table { name: name.name.clone(), shape, values, ty })))
    }

    /// Fills `entries` row by row and checks that every row is as long as the first.
    fn table_level(
        &mut self,
        module: ModuleId,
        expr: ExprId,
        level: usize,
        shape: &mut Vec<i64>,
        entries: &mut Vec<Entry>,
    ) -> Result<()> {
        let ast = self.modules.get(module).clone();
        let Expr::List(items) = ast.ast.expr(ast.ast.unparen(expr)) else {
            if level == shape.len() {
                let (value, ty) = self.weak_constant(module, expr, "an entry of a table")?;
                entries.push(Entry { value, ty, span: ast.ast.span(expr) });
                return Ok(());
            }
            return mixed_depth(ast.ast.span(expr), "a number among lists");
        };
        if level == shape.len() && entries.is_empty() {
            shape.push(items.len() as i64);
        }
        match shape.get(level) {
            Some(len) if *len == items.len() as i64 => {}
            Some(len) => return ragged(ast.ast.span(expr), items.len(), *len),
            None => return mixed_depth(ast.ast.span(expr), "a list among numbers"),
        }
        items.iter().try_for_each(|item| self.table_level(module, *item, level + 1, shape, entries))
    }

    // --- tensors and views ---

    /// The tensor or view behind a symbol, if it is one.
    pub(super) fn tensor_view(&mut self, symbol: Symbol, span: Span) -> Result<Option<Arc<View>>> {
        if let Some(id) = self.tensor_ids.get(&symbol) {
            let id = id.clone()?;
            let tensor = &self.tensors[id.index()];
            let view = View::whole(tensor.name.clone(), id, tensor.element, tensor.domain.clone());
            return Ok(Some(Arc::new(view)));
        }
        match &self.modules.item(symbol).kind {
            ItemKind::View { .. } => self.view(symbol, span).map(Some),
            ItemKind::Input { name, .. } | ItemKind::Var { name, .. } => Err(too_early(name, span)),
            ItemKind::Tensor(item) => Err(too_early(&item.name, span)),
            _ => Ok(None),
        }
    }

    /// The view that a `view` item declares.
    pub(super) fn view(&mut self, symbol: Symbol, span: Span) -> Result<Arc<View>> {
        match self.views.get(&symbol) {
            Some(Progress::Done(result)) => return result.clone(),
            Some(Progress::Busy) => return self.depends_on_itself(symbol, span),
            None => {}
        }
        self.views.insert(symbol, Progress::Busy);
        self.work_out_first(symbol);
        let result = self.nested(span, |this| this.work_out_view(symbol));
        self.views.insert(symbol, Progress::Done(result.clone()));
        result
    }

    fn work_out_view(&mut self, symbol: Symbol) -> Result<Arc<View>> {
        let module = self.modules.get(symbol.module).clone();
        let ItemKind::View { name, value } = &module.ast.items[symbol.item as usize].kind else {
            unreachable!("only views are worked out as views")
        };
        let mut view = (*self.view_of(symbol.module, *value, Owner::default())?).clone();
        view.name = name.name.clone();
        Ok(Arc::new(view))
    }

    /// The view that an expression outside a body stands for.
    pub(super) fn view_of(&mut self, module: ModuleId, expr: ExprId, owner: Owner) -> Result<Arc<View>> {
        let mut elaborator = Elaborator::new(self, module, Owner { views_only: true, ..owner });
        let span = elaborator.span(expr);
        match elaborator.value(expr)? {
            Value::View(view) => Ok(view),
            Value::Node(_) => not_a_view(span, "a number"),
            Value::Take(_) => not_a_view(span, "a take"),
            Value::Table(_) => not_a_view(span, "a table"),
        }
    }

    // --- math functions ---

    /// The bodies of the math functions that were asked for.
    pub(super) fn into_math(self) -> BTreeMap<(MathFn, Element), Function> {
        self.math.into_iter().filter_map(|(key, function)| Some((key, function?))).collect()
    }

    fn work_out_math(&mut self, function: MathFn, element: Element) -> Option<Function> {
        let module = self.math_module?;
        let name = format!("{}_{element}", function.name());
        let symbol = *self.modules.get(module).names.get(name.as_str())?;
        let source = self.modules.get(module).clone();
        let ItemKind::Fn(item) = &source.ast.items[symbol.item as usize].kind else { return None };
        let owner = Owner { float: Some(element), ..Owner::default() };
        let mut elaborator = Elaborator::new(self, module, owner);
        let node = elaborator.function_body(item, element).ok()?;
        let body = elaborator.into_body();
        let Resolved { body, root } = contract(&resolve_weak(&body, node, element, element));
        Some(Arc::new((body, root)))
    }

    pub(super) fn set_math_module(&mut self, module: ModuleId) {
        self.math_module = Some(module);
    }

    // --- trouble ---

    fn nested<T>(&mut self, span: Span, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            let message = format!("more than {MAX_DEPTH} definitions wait for each other here");
            return Diagnostic::new(Code::E0901, message)
                .at(span, "too deep")
                .help("declare names before they are used: then each is worked out when it is reached")
                .err();
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        result
    }

    /// Works out what `symbol` needs, so that nothing nests when it is worked out itself; what goes wrong is told there.
    fn work_out_first(&mut self, symbol: Symbol) {
        for (first, span) in needed_first(self, symbol) {
            match &self.modules.item(first).kind {
                ItemKind::View { .. } => _ = self.view(first, span),
                _ => _ = self.constant(first, span),
            }
        }
    }

    /// Whether a constant or a view is worked out, or about to be.
    pub(super) fn is_known(&self, symbol: Symbol) -> bool {
        self.constants.contains_key(&symbol) || self.views.contains_key(&symbol)
    }

    fn depends_on_itself<T>(&self, symbol: Symbol, span: Span) -> Result<T> {
        let name = self.symbol_name(symbol);
        let item = self.modules.item(symbol);
        let declared = item.kind.name().map_or(item.span, |name| name.span);
        Diagnostic::new(Code::E0208, format!("{} depends on itself", quoted(&name)))
            .at(span, format!("{} is needed here, on the way to its own value", quoted(&name)))
            .with(declared, "declared here")
            .help("break the circle: let one of the definitions stand on its own")
            .err()
    }
}

impl Library for Checker<'_> {
    fn function(&mut self, function: MathFn, element: Element) -> Option<Function> {
        if let Some(known) = self.math.get(&(function, element)) {
            return known.clone();
        }
        let body = self.work_out_math(function, element);
        self.math.insert((function, element), body.clone());
        body
    }
}

/// One entry of a table and where it was written.
struct Entry {
    value: Scalar,
    ty: Ty,
    span: Span,
}

fn ragged<T>(span: Span, len: usize, first: i64) -> Result<T> {
    Diagnostic::new(
        Code::E0210,
        format!("this row of the table has length {len}, but the first row has length {first}"),
    )
    .at(span, format!("length {len}"))
    .help("make every row as long as the first")
    .err()
}

fn mixed_depth<T>(span: Span, what: &str) -> Result<T> {
    Diagnostic::new(Code::E0210, "the entries of a list in a table must be all numbers, or all lists")
        .at(span, what)
        .help("nest every entry equally deep: `[[1, 2], [3, 4]]`")
        .err()
}

fn mixed_types(name: &Ident, typed: &Entry, odd: &Entry) -> Diagnostic {
    let shown = |entry: &Entry| a_type(entry.ty);
    Diagnostic::new(Code::E0210, format!("the entries of table `{}` have different types", name.name))
        .at(odd.span, shown(odd))
        .with(typed.span, shown(typed))
        .help("convert one of them, or write plain numbers: they fit any type")
}

fn not_a_view<T>(span: Span, what: &str) -> Result<T> {
    Diagnostic::new(Code::E0207, format!("a tensor or a view of one is needed here, but this is {what}"))
        .at(span, what)
        .help("write the name of a tensor")
        .err()
}

fn too_early(name: &Ident, span: Span) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::new(
            Code::E0204,
            format!("{} is a tensor, and a constant is needed here", quoted(&name.name)),
        )
        .at(span, "known only when it runs")
        .help("use numbers, `param` and `let` names here"),
    )
}
