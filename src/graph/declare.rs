//! Declarations: parameters and constants, element types and domains of tensors, named views.

use super::body::TensorId;
use super::check::{Checker, Constant};
use super::elaborate::{BUILTIN_NAMES, Owner};
use super::modules::{Module, ModuleId, Symbol};
use super::names::{Free, undeclared};
use super::scalar::Scalar;
use super::{InputSource, NamedView, Param, Tensor, TensorKind};
use crate::diagnostic::{Code, Diagnostic, Result, closest, counted, quoted};
use crate::index::domain::MAX_RANK;
use crate::index::{Dim, Domain, INF, Interval};
use crate::source::Span;
use crate::syntax::ast::{
    self, Bound, Clause, Expr, ExprId, Extent, Ident, InputFrom, ItemKind, List, UnaryOp,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Works out every `param` and `let`; the script's parameters come back.
pub(super) fn constants(checker: &mut Checker<'_>) -> Vec<Param> {
    let mut params = Vec::new();
    for (symbol, module) in items(checker) {
        let item = &module.ast.items[symbol.item as usize];
        let (ItemKind::Param { name, .. } | ItemKind::Let { name, .. }) = &item.kind else { continue };
        let value = checker.constant(symbol, name.span);
        if let (Some(Constant::Number(value, _)), ItemKind::Param { .. }) =
            (checker.diagnostics.take(value), &item.kind)
        {
            let (name, doc, span) = (name.name.clone(), item.doc.clone(), name.span);
            params.push(Param { name, doc, value, span });
        }
    }
    params
}

/// Every item of every file but `std/math.itp`, the script's first.
pub(super) fn items(checker: &Checker<'_>) -> Vec<(Symbol, Arc<Module>)> {
    let all = checker.modules.iter().flat_map(|(id, module)| {
        (0..module.ast.items.len())
            .map(move |item| (Symbol { module: id, item: item as u32 }, module.clone()))
    });
    all.collect()
}

/// Tensors, inputs and variables of a program: each is planned and may become code of its own.
const MAX_TENSORS: usize = 5_000;

/// Declares every tensor, input and variable.
pub(super) fn tensors(checker: &mut Checker<'_>) {
    for (symbol, module) in items(checker) {
        let item = &module.ast.items[symbol.item as usize];
        let header = match &item.kind {
            ItemKind::Input { name, ty, format, from } => {
                input(from.as_ref(), format.is_some().then_some(".npz")).map(|kind| (name, ty, None, kind))
            }
            ItemKind::Var { name, ty, chunk, .. } => {
                Ok((name, ty, chunk.as_ref(), TensorKind::Var(Scalar::bool(false))))
            }
            ItemKind::Tensor(tensor) => {
                let chunk = tensor.clauses.iter().find_map(|clause| match clause {
                    Clause::Chunk { sizes, .. } => Some(sizes),
                    _ => None,
                });
                Ok((&tensor.name, &tensor.ty, chunk, TensorKind::Var(Scalar::bool(false))))
            }
            _ => continue,
        };
        if checker.tensors.len() >= MAX_TENSORS {
            checker.diagnostics.push(too_many(item));
            return;
        }
        let declared = header.and_then(|header| declare(checker, symbol, header, item));
        if let Err(diagnostic) = &declared {
            checker.diagnostics.push((**diagnostic).clone());
        }
        checker.tensor_ids.insert(symbol, declared);
    }
}

fn too_many(item: &ast::Item) -> Diagnostic {
    Diagnostic::new(Code::E0902, format!("the program has more than {MAX_TENSORS} tensors"))
        .at(item.span, "the first one too many")
        .help("use a dimension more, or a reduction, instead of a tensor for each part")
}

type Header<'a> = (&'a Ident, &'a ast::TensorType, Option<&'a List>, TensorKind);

fn declare(
    checker: &mut Checker<'_>,
    symbol: Symbol,
    header: Header<'_>,
    item: &ast::Item,
) -> Result<TensorId> {
    let (name, ty, chunk, kind) = header;
    let element = checker.element(&ty.element)?;
    let domain = domain(checker, symbol.module, name, ty)?;
    let chunk = chunk.map(|sizes| tile_shape(checker, symbol.module, name, &domain, sizes)).transpose()?;
    checker.tensors.push(Tensor {
        name: name.name.clone(),
        doc: item.doc.clone(),
        span: name.span,
        module: symbol.module,
        element,
        domain,
        chunk,
        format: None,
        kind,
    });
    let id = TensorId(checker.tensors.len() as u32 - 1);
    if let ItemKind::Input { format: Some((levels, span)), .. } = &item.kind {
        let declared = checker.tensors[id.index()].clone();
        let found = super::formats::format(checker, symbol.module, &declared, *levels, *span)?;
        checker.tensors[id.index()].format = Some(found);
    }
    Ok(id)
}

/// The endings of the files that an `input` reads.
const INPUT_ENDINGS: [&str; 6] = [".npy", ".png", ".tif", ".tiff", ".zarr", ".raw"];

fn readable(path: &str, sparse: Option<&str>) -> bool {
    let lower = path.trim_end_matches('/').to_ascii_lowercase();
    let known = INPUT_ENDINGS.iter().copied().chain(sparse).any(|ending| lower.ends_with(ending));
    // `hills.zarr/1` is an array in a group.
    known || lower.contains(".zarr/")
}

/// Where the data of an input is; with a format, a file may be sparse.
fn input(from: Option<&InputFrom>, sparse: Option<&str>) -> Result<TensorKind> {
    Ok(TensorKind::Input(match from {
        None => InputSource::Host,
        Some(InputFrom::File(path)) if !readable(&path.value, sparse) => {
            return Diagnostic::new(
                Code::E0809,
                format!("cannot tell what kind of file {} is", quoted(&path.value)),
            )
            .at(path.span, "unknown ending")
            .help(format!("convert it to one that ends in one of {}", INPUT_ENDINGS.join(" ")))
            .err();
        }
        Some(InputFrom::File(path)) => InputSource::File(path.value.clone()),
        Some(InputFrom::Word(word)) if &*word.name == "stream" => InputSource::Stream,
        Some(InputFrom::Word(word)) => {
            return Diagnostic::new(Code::E0809, format!("an input cannot come from {}", quoted(&word.name)))
                .at(word.span, "neither a path nor `stream`")
                .help("write a path in quotes: `from \"photo.npy\"`, or `from stream`")
                .err();
        }
    }))
}

fn domain(checker: &mut Checker<'_>, module: ModuleId, name: &Ident, ty: &ast::TensorType) -> Result<Domain> {
    let not_a_domain = |why: &str| {
        let message = format!("the dimensions of `{}`: {why}", name.name);
        Diagnostic::new(Code::E0302, message)
            .at(ty.span, counted(ty.dims.len(), "dimension"))
            .help("use at most 32")
    };
    if ty.dims.len() > MAX_RANK {
        let count = ty.dims.len();
        return not_a_domain(&format!("{count} dimensions, but at most {MAX_RANK} are possible")).err();
    }
    let mut dims: Vec<Dim> = Vec::new();
    for dim in &ty.dims {
        let label = if &*dim.label.name == "_" { "" } else { &*dim.label.name };
        if let Some(first) =
            ty.dims.iter().take(dims.len()).find(|first| !label.is_empty() && *first.label.name == *label)
        {
            return Diagnostic::new(
                Code::E0301,
                format!("two dimensions of `{}` are labelled `{label}`", name.name),
            )
            .at(dim.label.span, "again here")
            .with(first.label.span, "first here")
            .help("give each dimension a label of its own, or `_`")
            .err();
        }
        dims.push(extent(checker, module, name, dim)?.labelled(label));
    }
    Domain::new(dims).map_err(|error| Box::new(not_a_domain(&error.message)))
}

fn extent(checker: &mut Checker<'_>, module: ModuleId, name: &Ident, dim: &ast::Dim) -> Result<Dim> {
    let mut bound = |end: &Bound| bound(checker, module, name, dim, end);
    let (lower, upper, marks) = match &dim.extent {
        Extent::Count(count) => match bound(count)? {
            INF => (-INF, INF, (count.implicit, count.implicit)),
            n => (0, n, (false, count.implicit)),
        },
        Extent::Range(lo, hi) => (bound(lo)?, bound(hi)?, (lo.implicit, hi.implicit)),
    };
    let finite = |bound: i64| (bound.abs() != INF).then_some(bound);
    let upside_down = lower > upper || lower == INF || upper == -INF;
    let interval = Interval::bounds(finite(lower), finite(upper));
    match interval {
        Ok(interval) if !upside_down => {
            let mut dim = Dim::explicit(interval);
            (dim.implicit_lower, dim.implicit_upper) = marks;
            Ok(dim)
        }
        _ => {
            let show = |bound: i64| {
                if bound == INF {
                    "inf".into()
                } else if bound == -INF {
                    "-inf".into()
                } else {
                    bound.to_string()
                }
            };
            let message = format!(
                "dimension `{}` ends at {}, before it starts at {}",
                dim.label.name,
                show(upper),
                show(lower)
            );
            let help = match dim.extent {
                Extent::Count(_) => format!("write a size of 0 or more, or both bounds: `{upper}..0`"),
                Extent::Range(..) if lower == INF => {
                    format!("write `-inf` for a dimension without a first element: `-inf..{}`", show(upper))
                }
                Extent::Range(..) if upper == -INF => {
                    format!("write `inf` for a dimension without an end: `{}..inf`", show(lower))
                }
                Extent::Range(..) => format!("write the lower bound first: `{upper}..{lower}`"),
            };
            Diagnostic::new(Code::E0302, message).at(dim.span, "ends before it starts").help(help).err()
        }
    }
}

/// A bound of dimension `dim` of tensor `name`; ±INF for `inf` and `-inf`.
fn bound(
    checker: &mut Checker<'_>,
    module: ModuleId,
    name: &Ident,
    dim: &ast::Dim,
    bound: &Bound,
) -> Result<i64> {
    let ast = checker.modules.get(module).clone();
    match ast.ast.expr(bound.value) {
        Expr::Inf => return Ok(INF),
        Expr::Unary(UnaryOp::Neg, arg) if matches!(ast.ast.expr(*arg), Expr::Inf) => return Ok(-INF),
        _ => {}
    }
    let value = checker.constant_int(module, bound.value, "a bound of a dimension")?;
    if value.unsigned_abs() < INF.unsigned_abs() {
        return Ok(value);
    }
    let (dim, tensor) = (quoted(&dim.label.name), quoted(&name.name));
    let message =
        format!("dimension {dim} of {tensor} reaches {value}, outside the index space of ±(2^62 - 2)");
    Diagnostic::new(Code::E0312, message)
        .at(ast.ast.span(bound.value), "too far")
        .help("write `inf` or `-inf` for a dimension without end")
        .err()
}

/// `chunk [h, w]`: one positive size per unbounded dimension.
fn tile_shape(
    checker: &mut Checker<'_>,
    module: ModuleId,
    name: &Ident,
    domain: &Domain,
    sizes: &List,
) -> Result<Vec<i64>> {
    let unbounded = domain.dims().iter().filter(|dim| !dim.interval.is_bounded()).count();
    if sizes.items.len() != unbounded {
        let (given, wanted) = (counted(sizes.items.len(), "size"), counted(unbounded, "unbounded dimension"));
        let message = format!("`chunk` has {given}, but `{}` has {wanted}", name.name);
        return Diagnostic::new(Code::E0311, message)
            .at(sizes.span, format!("`{}` is `{domain}`", name.name))
            .help("write one size per unbounded dimension: bounded ones are whole in every tile")
            .err();
    }
    sizes.items.iter().map(|item| tile_size(checker, module, *item)).collect()
}

fn tile_size(checker: &mut Checker<'_>, module: ModuleId, item: ExprId) -> Result<i64> {
    let size = checker.constant_int(module, item, "a tile size")?;
    if (1..INF).contains(&size) {
        return Ok(size);
    }
    let span = checker.modules.get(module).ast.span(item);
    let message = format!("a tile cannot have size {size}");
    Diagnostic::new(Code::E0311, message).at(span, "not positive").help("write a size of 1 or more").err()
}

/// Works out every named view.
pub(super) fn views(checker: &mut Checker<'_>) -> Vec<NamedView> {
    let mut views = Vec::new();
    for (symbol, module) in items(checker) {
        let item = &module.ast.items[symbol.item as usize];
        let ItemKind::View { name, value } = &item.kind else { continue };
        let view = checker.view(symbol, name.span);
        if let Some(view) = checker.diagnostics.take(view) {
            views.push(NamedView {
                view,
                doc: item.doc.clone(),
                span: item.span,
                chain: module.ast.span(*value),
                of: module.ast.viewed(*value).cloned().unwrap_or_default(),
            });
        }
    }
    views
}

/// Reports unknown names and types in functions, which are otherwise checked only where they are called.
pub(super) fn functions(checker: &mut Checker<'_>) {
    for (symbol, module) in items(checker) {
        let item = &module.ast.items[symbol.item as usize];
        let ItemKind::Fn(function) = &item.kind else { continue };
        let types = function.params.iter().filter_map(|param| param.ty.as_ref()).chain(&function.result);
        for ty in types {
            let element = checker.element(ty);
            checker.diagnostics.take(element);
        }
        let params = function.params.iter().map(|param| &param.name);
        checker.diagnostics.take(distinct(params, "argument"));
        let known: Vec<_> = function.params.iter().map(|param| param.name.name.clone()).collect();
        let unknown = undeclared(checker, symbol.module, function.body, &known);
        let unknown: Vec<_> =
            unknown.iter().map(|free| unknown_in_function(checker, symbol.module, &known, free)).collect();
        unknown.into_iter().for_each(|diagnostic| checker.diagnostics.push(diagnostic));
    }
}

/// Refuses a list of names that has one twice.
pub(super) fn distinct<'a>(names: impl IntoIterator<Item = &'a Ident>, what: &str) -> Result<()> {
    let mut seen: BTreeMap<&str, &Ident> = BTreeMap::new();
    for name in names.into_iter().filter(|name| &*name.name != "_") {
        if let Some(first) = seen.insert(&name.name, name) {
            return Diagnostic::new(Code::E0202, format!("two {what}s are called {}", quoted(&name.name)))
                .at(name.span, "again here")
                .with(first.span, "first here")
                .help("rename one of them")
                .err();
        }
    }
    Ok(())
}

/// The error for a name in a function that nothing declares.
fn unknown_in_function(checker: &Checker<'_>, id: ModuleId, known: &[Arc<str>], free: &Free) -> Diagnostic {
    let (name, what) = (&free.name, if free.called { "function" } else { "name" });
    let outside = checker.modules.visible(id).chain(BUILTIN_NAMES.iter().copied());
    let all = known.iter().map(|name| &**name).chain(outside);
    let unknown =
        Diagnostic::new(Code::E0201, format!("unknown {what} {}", quoted(name))).at(free.span, "not found");
    match (checker.standard_with(name), closest(name, all)) {
        (Some(module), _) => unknown
            .fix(Span { start: 0, end: 0, ..free.span }, format!("use {module}\n"))
            .help(format!("add `use {module}` at the top: it defines `{name}`")),
        (None, Some(close)) => {
            unknown.fix(free.span, close).help(format!("write {}, if that was meant", quoted(close)))
        }
        (None, None) => {
            unknown.help("pass it as an argument: a function sees its arguments and top-level names")
        }
    }
}

/// What a body of a tensor may call its coordinates.
pub(super) fn owner(tensor: TensorId, declared: &Tensor) -> Owner {
    let label = |dim: &Dim| Arc::from(if dim.label.is_empty() { "_" } else { dim.label.as_str() });
    Owner {
        tensor: Some(tensor),
        labels: declared.domain.dims().iter().map(label).collect(),
        float: Some(super::body::default_float(declared.element)),
        ..Owner::default()
    }
}
