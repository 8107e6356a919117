//! `output "path" = name[slice] options`: what is written, to which kind of file, and how.

use super::Graph;
use super::check::Checker;
use super::declare::items;
use super::elaborate::Owner;
use super::modules::ModuleId;
use super::types::Element;
use super::view::View;
use crate::diagnostic::{Code, Diagnostic, Result, closest, counted, quoted};
use crate::index::Interval;
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprId, InputFrom, Item, ItemKind, OutputOption, StrLit};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// One file that `itp run` writes.
#[derive(Clone, Debug)]
pub struct Output {
    /// As written, relative to the folder that `itp` runs in.
    pub path: Arc<str>,
    /// From the path's ending.
    pub kind: FileKind,
    /// What is written.
    pub view: Arc<View>,
    /// How.
    pub options: OutputOptions,
    /// The item.
    pub span: Span,
}

impl Graph {
    /// The colour map and range that the first image of a tensor or view is written with.
    pub fn looks(&self, name: &str) -> (Option<Arc<str>>, Option<(f64, f64)>) {
        let shown = |output: &&Output| output.kind.is_image() && *output.view.name == *name;
        let options = self.outputs.iter().find(shown).map(|output| &output.options);
        (options.and_then(|options| options.colormap.clone()), options.and_then(|options| options.range))
    }
}

/// The kinds of file that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the endings")]
pub enum FileKind {
    Npy,
    Npz,
    Png,
    Tiff,
    Zarr,
    Raw,
    Csv,
}

/// What follows the slice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutputOptions {
    /// Name of a colour map.
    pub colormap: Option<Arc<str>>,
    /// The values that become the darkest and the brightest pixel.
    pub range: Option<(f64, f64)>,
    /// Shape of the chunks of a zarr array.
    pub chunk: Option<Vec<i64>>,
    /// Compression, and its level.
    pub codec: Option<(Arc<str>, Option<i64>)>,
    /// Element type of the file.
    pub element: Option<Element>,
}

const KINDS: [(&str, FileKind); 8] = [
    (".npy", FileKind::Npy),
    (".npz", FileKind::Npz),
    (".png", FileKind::Png),
    (".tif", FileKind::Tiff),
    (".tiff", FileKind::Tiff),
    (".zarr", FileKind::Zarr),
    (".raw", FileKind::Raw),
    (".csv", FileKind::Csv),
];

/// Colour maps that outputs may name.
pub const COLORMAPS: [&str; 8] = ["grey", "gray", "terrain", "viridis", "magma", "turbo", "heat", "ocean"];

const CODECS: [&str; 6] = ["none", "crc32c", "gzip", "zstd", "blosc", "lz4"];

const OPTIONS: [&str; 5] = ["colormap", "range", "chunk", "codec", "type"];

impl FileKind {
    /// The kind a path's ending names, or the ending of a folder in it.
    pub fn of(path: &str) -> Option<FileKind> {
        let lower = path.to_ascii_lowercase();
        let found = KINDS.iter().find(|(ending, _)| lower.ends_with(ending) && lower.len() > ending.len());
        // `hills.zarr/1` is an array in a group.
        found.map(|(_, kind)| *kind).or_else(|| lower.contains(".zarr/").then_some(FileKind::Zarr))
    }

    /// Pixels rather than numbers.
    pub fn is_image(self) -> bool {
        matches!(self, FileKind::Png | FileKind::Tiff)
    }
}

/// Every output of the script; those of files it uses are theirs alone.
pub(super) fn outputs(checker: &mut Checker<'_>) -> Vec<Output> {
    let (mut outputs, mut known) = (Vec::new(), BTreeMap::new());
    let items = items(checker);
    let streams = items.iter().any(|(symbol, module)| is_stream(&module.ast.items[symbol.item as usize]));
    for (symbol, module) in items {
        let item = &module.ast.items[symbol.item as usize];
        let ItemKind::Output { path, value, options } = &item.kind else { continue };
        let output = output(checker, symbol.module, path, *value, options, item.span, streams);
        let Some(output) = checker.diagnostics.take(output) else { continue };
        if symbol.module != ModuleId(0) {
            checker.diagnostics.push(not_written(path));
            continue;
        }
        match known.entry(plain(&output.path)) {
            Entry::Occupied(first) => checker.diagnostics.push(written_twice(path, *first.get())),
            Entry::Vacant(fresh) => {
                fresh.insert(output.span);
                outputs.push(output);
            }
        }
    }
    outputs
}

/// A path by its shortest name: `./a//b/../c.npy` is `a/c.npy`.
fn plain(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => _ = parts.pop(),
            _ => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

fn output(
    checker: &mut Checker<'_>,
    module: ModuleId,
    path: &StrLit,
    value: ExprId,
    options: &[OutputOption],
    span: Span,
    streams: bool,
) -> Result<Output> {
    let Some(kind) = FileKind::of(&path.value) else {
        let endings: Vec<_> = KINDS.iter().map(|(ending, _)| *ending).collect();
        return Diagnostic::new(
            Code::E0801,
            format!("cannot tell what kind of file {} is", quoted(&path.value)),
        )
        .at(path.span, "unknown ending")
        .help(format!("end it in one of {}", endings.join(" ")))
        .err();
    };
    let view = checker.view_of(module, value, Owner::default())?;
    let place = checker.modules.get(module).ast.span(value);
    if !(streams && grows(&view)) {
        bounded(&view, place)?;
    }
    given_once(options)?;
    let given = options;
    let options = options.iter().try_fold(OutputOptions::default(), |mut done, option| {
        set_option(checker, module, option, &mut done).map(|()| done)
    })?;
    for option in given {
        fits_kind(option, kind, &options, &view)?;
    }
    if kind.is_image() {
        image_shape(&view, &options, place)?;
    }
    Ok(Output { path: path.value.clone(), kind, view, options, span })
}

/// Data that arrives while the script runs.
fn is_stream(item: &Item) -> bool {
    match &item.kind {
        ItemKind::Input { from: Some(InputFrom::Word(word)), .. } => &*word.name == "stream",
        _ => false,
    }
}

/// Whether a view may go on along its first dimension until a stream ends: everything else has ends.
fn grows(view: &View) -> bool {
    let mut dims = view.domain().dims().iter().map(|dim| dim.interval);
    dims.next().is_some_and(|first| first.lower().is_some()) && dims.all(Interval::is_bounded)
}

/// An unbounded dimension needs both ends.
pub(super) fn bounded(view: &View, span: Span) -> Result<()> {
    let Some(dim) = view.domain().dims().iter().find(|dim| !dim.interval.is_bounded()) else { return Ok(()) };
    Diagnostic::new(
        Code::E0802,
        format!("an output needs an end, but `{dim}` of {} has none", quoted(&view.name)),
    )
    .at(span, "goes on forever")
    .help(view.example_slice(dim))
    .err()
}

fn image_shape(view: &View, options: &OutputOptions, span: Span) -> Result<()> {
    let shape = view.domain().shape().unwrap_or_default();
    let colour = |n: i64| n == 3 || n == 4;
    let fits = match shape.as_slice() {
        [_, _] => true,
        [first, _, last] => options.colormap.is_none() && (colour(*first) || colour(*last)),
        _ => false,
    };
    if fits {
        return Ok(());
    }
    let has = format!("{} has shape {shape:?}", quoted(&view.name));
    let rest = |rank: usize| vec![":"; rank].join(", ");
    let (message, help) = match shape.len() {
        3 if options.colormap.is_some() => {
            let help = format!("remove `colormap`, or write one channel: `{}[0, :, :]`", view.name);
            (format!("`colormap` colours an image of (y, x), but {has}"), help)
        }
        0 | 1 => (
            format!("an image has 2 or 3 dimensions, but {has}"),
            "write it to a `.npy` or `.csv` file".to_owned(),
        ),
        rank => (
            format!("an image is (y, x), (3 or 4, y, x) or (y, x, 3 or 4), but {has}"),
            format!("drop a dimension with an integer index: `{}[0, {}]`", view.name, rest(rank - 1)),
        ),
    };
    Diagnostic::new(Code::E0804, message).at(span, counted(shape.len(), "dimension")).help(help).err()
}

fn given_once(options: &[OutputOption]) -> Result<()> {
    for (at, option) in options.iter().enumerate() {
        if let Some(first) = options[..at].iter().find(|first| first.name.name == option.name.name) {
            return Diagnostic::new(Code::E0803, format!("`{}` is given twice", option.name.name))
                .at(option.name.span, "again here")
                .with(first.name.span, "first here")
                .help("remove one of them")
                .err();
        }
    }
    Ok(())
}

/// Refuses an option that the kind of file would ignore, or cannot follow.
fn fits_kind(option: &OutputOption, kind: FileKind, options: &OutputOptions, view: &View) -> Result<()> {
    let name = &*option.name.name;
    let (message, help) = match (name, options) {
        ("colormap" | "range", _) if !kind.is_image() => (
            format!("`{name}` is for images, but this file holds the numbers themselves"),
            format!("remove `{name}`, or write a `.png` or `.tif` file"),
        ),
        ("type", OutputOptions { element: Some(element), .. })
            if kind == FileKind::Png && !matches!(element, Element::U8 | Element::U16) =>
        {
            let message = format!("a png holds `u8` or `u16`, not `{element}`");
            (message, "write `type u8` or `type u16`, or a `.tif` file".to_owned())
        }
        ("chunk" | "codec", _) if kind != FileKind::Zarr => {
            (format!("`{name}` is for zarr arrays, and this file has none"), format!("remove `{name}`"))
        }
        ("chunk", OutputOptions { chunk: Some(sizes), .. }) if sizes.len() != view.rank() => (
            format!(
                "{} has {}, but `chunk` has {}",
                quoted(&view.name),
                counted(view.rank(), "dimension"),
                counted(sizes.len(), "size")
            ),
            format!("write one size per dimension: `chunk [{}]`", vec!["64"; view.rank()].join(", ")),
        ),
        _ => return Ok(()),
    };
    Diagnostic::new(Code::E0803, message).at(option.name.span, "does not fit").help(help).err()
}

fn set_option(
    checker: &mut Checker<'_>,
    module: ModuleId,
    option: &OutputOption,
    done: &mut OutputOptions,
) -> Result<()> {
    let ast = checker.modules.get(module).clone();
    let value = ast.ast.unparen(option.value);
    match (&*option.name.name, ast.ast.expr(value)) {
        ("colormap", Expr::Name(name)) => {
            done.colormap = Some(known(name, &COLORMAPS, ast.ast.span(value), "colour map")?)
        }
        ("range", Expr::Range(lo, hi)) => {
            let lo = checker.constant_of(module, *lo, Element::F64, "a bound of `range`")?.to_f64();
            let hi = checker.constant_of(module, *hi, Element::F64, "a bound of `range`")?.to_f64();
            done.range = Some(ascending(lo, hi, ast.ast.span(value))?);
        }
        ("chunk", Expr::List(items)) => {
            let sizes = items.iter().map(|item| checker.constant_int(module, *item, "a chunk size"));
            done.chunk = Some(sizes.collect::<Result<_>>()?);
        }
        ("codec", Expr::Name(name)) => {
            done.codec = Some((known(name, &CODECS, ast.ast.span(value), "codec")?, None))
        }
        ("codec", Expr::Call { function, args }) if args.len() == 1 => {
            let level = checker.constant_int(module, args[0], "the level of a codec")?;
            done.codec = Some((known(&function.name, &CODECS, function.span, "codec")?, Some(level)));
        }
        ("type", Expr::Name(name)) => {
            let ident = crate::syntax::ast::Ident { name: name.clone(), span: ast.ast.span(value) };
            done.element = Some(checker.element(&ident)?);
        }
        (name, _) => return wrong_option(name, option, ast.ast.span(value)),
    }
    Ok(())
}

/// The bounds of `range`; what is empty is drawn as 0, but what goes down or has no end was hardly meant.
fn ascending(lo: f64, hi: f64, span: Span) -> Result<(f64, f64)> {
    let (message, help) = if !lo.is_finite() || !hi.is_finite() {
        let help = "give two numbers, or leave `range` out: then it is that of the data";
        ("`range` needs a start and an end".to_owned(), help.to_owned())
    } else if lo > hi {
        (format!("`range` starts at {lo}, after its end at {hi}"), format!("write `range {hi}..{lo}`"))
    } else {
        return Ok((lo, hi));
    };
    Diagnostic::new(Code::E0803, message).at(span, "cannot be scaled").help(help).err()
}

fn known(name: &Arc<str>, names: &[&'static str], span: Span, what: &str) -> Result<Arc<str>> {
    if names.contains(&&**name) {
        return Ok(name.clone());
    }
    let close = closest(name, names.iter().copied());
    let help = match close {
        Some(close) => format!("write `{close}`"),
        None => format!("choose one of {}", names.join(", ")),
    };
    Diagnostic::new(Code::E0803, format!("unknown {what} {}", quoted(name)))
        .at(span, "not known")
        .fix_if(span, close)
        .help(help)
        .err()
}

fn wrong_option(name: &str, option: &OutputOption, value: Span) -> Result<()> {
    let form = match name {
        "colormap" => "colormap terrain",
        "range" => "range 0..1",
        "chunk" => "chunk [256, 256]",
        "codec" => "codec zstd",
        "type" => "type u8",
        _ => {
            known(&option.name.name, &OPTIONS, option.name.span, "option")?;
            unreachable!("known options have a form")
        }
    };
    Diagnostic::new(Code::E0803, format!("the value of `{name}` has the wrong form"))
        .at(value, "not what it takes")
        .help(format!("write it like `{form}`"))
        .err()
}

fn not_written(path: &StrLit) -> Diagnostic {
    Diagnostic::new(
        Code::W0002,
        format!("{} is not written: another file uses this one", quoted(&path.value)),
    )
    .at(path.span, "only the script's own outputs are written")
    .help("move the output to the script that runs, or run this file")
}

fn written_twice(path: &StrLit, first: Span) -> Diagnostic {
    Diagnostic::new(Code::E0801, format!("{} is written twice", quoted(&path.value)))
        .at(path.span, "again here")
        .with(first, "first here")
        .help("give each output a file of its own")
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_path_has_one_shortest_name() {
        for path in ["a/c.npy", "./a/c.npy", "a//c.npy", "a/b/../c.npy", "./b/.././a/./c.npy"] {
            assert_eq!(plain(path), "a/c.npy");
        }
        assert_eq!(plain("../c.npy"), "../c.npy");
        assert_eq!(plain("../../b/../c.npy"), "../../c.npy");
        assert_eq!(plain("/a/../c.npy"), "/c.npy");
        assert_ne!(plain("/c.npy"), plain("c.npy"));
    }
}
