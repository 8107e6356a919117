//! `format dense(sparse_list(element(0.0)))`: how the tiles of a tensor are stored. Values never depend on it.

use super::Tensor;
use super::check::Checker;
use super::modules::ModuleId;
use super::scalar::Scalar;
use super::types::Element;
use crate::diagnostic::{Code, Diagnostic, Result, closest, counted, given, quoted};
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprId};
use std::fmt;

/// Levels, outermost dimension first, and what the leaves hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// Each stores one dimension, `sparse_coo` several.
    pub levels: Vec<Level>,
    /// The value that is not stored.
    pub fill: Scalar,
    /// The leaf is `pattern`: being stored means true.
    pub pattern: bool,
}

/// How one dimension is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Every coordinate.
    Dense,
    /// Sorted coordinates.
    SparseList,
    /// Sorted tuples of coordinates of several dimensions.
    SparseCoo(usize),
    /// Coordinates in a hash table.
    SparseDict,
    /// A byte per coordinate that says whether it is stored.
    SparseBytemap,
    /// Runs of one value.
    RunList,
    /// One stretch of coordinates.
    SparseBand,
}

const LEVELS: [(&str, Level); 7] = [
    ("dense", Level::Dense),
    ("sparse_list", Level::SparseList),
    ("sparse_coo", Level::SparseCoo(1)),
    ("sparse_dict", Level::SparseDict),
    ("sparse_bytemap", Level::SparseBytemap),
    ("run_list", Level::RunList),
    ("sparse_band", Level::SparseBand),
];

impl Level {
    /// How many dimensions it stores.
    pub fn dims(self) -> usize {
        match self {
            Level::SparseCoo(dims) => dims,
            Level::Dense
            | Level::SparseList
            | Level::SparseDict
            | Level::SparseBytemap
            | Level::RunList
            | Level::SparseBand => 1,
        }
    }

    fn name(self) -> &'static str {
        let same = |level: Level| std::mem::discriminant(&level) == std::mem::discriminant(&self);
        LEVELS.iter().find(|(_, level)| same(*level)).map_or("", |(name, _)| *name)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for level in &self.levels {
            match level {
                Level::SparseCoo(dims) => write!(f, "sparse_coo({dims}, ")?,
                _ => write!(f, "{}(", level.name())?,
            }
        }
        if self.pattern {
            f.write_str("pattern")?
        } else {
            write!(f, "element({})", self.fill)?
        }
        self.levels.iter().try_for_each(|_| f.write_str(")"))
    }
}

/// The format of `declared` as written.
pub(super) fn format(
    checker: &mut Checker<'_>,
    module: ModuleId,
    declared: &Tensor,
    expr: ExprId,
    span: Span,
) -> Result<Format> {
    let ast = checker.modules.get(module).clone();
    let mut levels = Vec::new();
    let mut at = expr;
    let (fill, pattern) = loop {
        let place = ast.ast.span(at);
        match ast.ast.expr(ast.ast.unparen(at)) {
            Expr::Name(name) if &**name == "pattern" => break (pattern(declared, place)?, true),
            Expr::Call { function, args } if &*function.name == "element" => {
                break (element(checker, module, declared, args, place)?, false);
            }
            Expr::Call { function, args } => {
                let Some((_, level)) = LEVELS.iter().find(|(name, _)| *name == &*function.name) else {
                    return unknown(&function.name, function.span);
                };
                let (level, inner) = level_args(checker, module, *level, args, place)?;
                levels.push(level);
                at = inner;
            }
            Expr::Name(name) => return no_inside(name, place),
            _ => return no_inside("", place),
        }
    };
    let stored: usize = levels.iter().map(|level| level.dims()).sum();
    let rank = declared.domain.rank();
    if stored == rank {
        return Ok(Format { levels, fill, pattern });
    }
    let message =
        format!("the format stores {}, but `{}` has {rank}", counted(stored, "dimension"), declared.name);
    Diagnostic::new(Code::E0807, message)
        .at(span, "one level per dimension is needed")
        .with(declared.span, format!("`{}` is `{}{}`", declared.name, declared.element, declared.domain))
        .help(format!(
            "nest one level per dimension, outermost first: `{}element(0){}`",
            example(rank),
            ")".repeat(rank)
        ))
        .err()
}

/// `dense(dense(sparse_list(`
fn example(rank: usize) -> String {
    let level = |at| if at + 1 == rank { "sparse_list(" } else { "dense(" };
    (0..rank).map(level).collect()
}

/// `dense(inner)`, `sparse_coo(2, inner)`
fn level_args(
    checker: &mut Checker<'_>,
    module: ModuleId,
    level: Level,
    args: &[ExprId],
    span: Span,
) -> Result<(Level, ExprId)> {
    match (level, args) {
        (Level::SparseCoo(_), [dims, inner]) => {
            let dims = checker.constant_int(module, *dims, "the dimensions of `sparse_coo`")?;
            match usize::try_from(dims) {
                Ok(dims @ 1..=32) => Ok((Level::SparseCoo(dims), *inner)),
                _ => Diagnostic::new(
                    Code::E0807,
                    format!("`sparse_coo` stores 1 to 32 dimensions, but {dims} is given"),
                )
                .at(span, format!("stores {dims} dimensions"))
                .help("write `sparse_coo(2, element(0))`")
                .err(),
            }
        }
        (_, [inner]) => Ok((level, *inner)),
        (Level::SparseCoo(_), _) => {
            let message = format!(
                "`sparse_coo` takes a count of dimensions and one level or leaf, but {}",
                given(args.len(), "argument")
            );
            Diagnostic::new(Code::E0807, message)
                .at(span, "stores several dimensions")
                .help("write `sparse_coo(2, element(0))`")
                .err()
        }
        _ => Diagnostic::new(
            Code::E0807,
            format!("`{}` wraps one level or leaf, but {}", level.name(), given(args.len(), "argument")),
        )
        .at(span, "stores one dimension")
        .help("end with a leaf: `element(0)` or `pattern`")
        .err(),
    }
}

fn element(
    checker: &mut Checker<'_>,
    module: ModuleId,
    declared: &Tensor,
    args: &[ExprId],
    span: Span,
) -> Result<Scalar> {
    match args {
        [fill] => checker.constant_of(module, *fill, declared.element, "the fill value"),
        _ => Diagnostic::new(Code::E0807, "`element` takes the value that is not stored")
            .at(span, given(args.len(), "value"))
            .help("write `element(0)`")
            .err(),
    }
}

fn pattern(declared: &Tensor, span: Span) -> Result<Scalar> {
    if declared.element == Element::Bool {
        return Ok(Scalar::bool(false));
    }
    Diagnostic::new(
        Code::E0807,
        format!("`pattern` stores bools, but `{}` holds `{}`", declared.name, declared.element),
    )
    .at(span, "a leaf for `bool` tensors")
    .help("write `element(0)`")
    .err()
}

/// The error for a level without parentheses, or for no level at all.
fn no_inside<T>(name: &str, span: Span) -> Result<T> {
    if LEVELS.iter().all(|(known, _)| *known != name) && name != "element" {
        return unknown(name, span);
    }
    let help = if name == "element" {
        "write the value that is not stored: `element(0)`".to_owned()
    } else {
        format!("end with a leaf: `{name}(element(0))`")
    };
    Diagnostic::new(Code::E0807, format!("`{name}` has nothing inside"))
        .at(span, "needs parentheses")
        .help(help)
        .err()
}

fn unknown<T>(name: &str, span: Span) -> Result<T> {
    let names = || LEVELS.iter().map(|(name, _)| *name).chain(["element", "pattern"]);
    let close = closest(name, names());
    // What SciPy calls its formats is a level per dimension here.
    let known = match name {
        "csr" | "csc" | "compressed" => Some("dense(sparse_list(element(0)))"),
        "coo" => Some("sparse_coo(2, element(0))"),
        "rle" => Some("dense(run_list(element(0)))"),
        _ => close,
    };
    let help = match known {
        Some(known) => format!("write `{known}`"),
        None => format!("choose from {}", names().collect::<Vec<_>>().join(", ")),
    };
    Diagnostic::new(Code::E0807, format!("unknown level {}", quoted(name)))
        .at(span, "not a level or leaf")
        .fix_if(span, close)
        .help(help)
        .err()
}
