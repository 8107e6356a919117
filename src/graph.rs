//! Syntax trees -> a checked, typed DAG of tensors.
//!
//! ```text
//! tensor height: f32[y: inf, x: inf] = rand(y, x)             t0 = height: f32[y: inf, x: inf]
//! tensor smooth: f32[y: inf, x: inf] = height[y, x] / 2       t1 = smooth: f32[y: inf, x: inf] <- t0
//! ```
//!
//! - [`modules`] finds the files and names, [`mod@check`] works out what top-level names mean;
//! - [`elaborate`] turns expressions into nodes of a [`body`], [`mod@resolve_weak`] decides the weak numbers,
//!   [`mod@contract`] fuses products into sums;
//! - [`declare`] checks types and domains, [`define`] bodies and windows, [`order`] cycles and recurrences;
//! - [`definition`] says in 128 bits what a tensor is, for whoever keeps elements of it;
//! - [`scalar`] is the arithmetic, [`mod@evaluate`] the value of constants, [`mod@print`] the text form.

pub mod body;
mod check;
pub mod contract;
mod declare;
mod define;
pub mod definition;
pub mod digest;
mod elaborate;
pub mod evaluate;
mod floats;
pub mod fold;
pub mod follow;
mod formats;
pub(crate) mod ids;
pub mod meanings;
pub mod modules;
mod names;
mod order;
mod outputs;
mod powers;
pub mod print;
pub mod resolve_weak;
pub mod scalar;
mod scope;
mod settings;
mod slices;
pub mod stepwise;
pub mod strided;
pub mod types;
pub mod upstream;
pub mod uses;
pub mod view;
pub mod vocabulary;
pub mod weights;
pub mod window;
mod window_clause;

pub use define::BLENDS;
pub use elaborate::BUILTIN_NAMES;
pub use formats::{Format, Level};
pub use outputs::{COLORMAPS, FileKind, Output, OutputOptions};
pub use slices::{Names, slice, viewed};

use crate::diagnostic::Diagnostics;
use crate::index::{Domain, Interval};
use crate::source::{SourceId, Sources, Span};
use body::{Body, MathFn, NodeId, TensorId};
use modules::{Loader, ModuleId, Modules};
use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};
use resolve_weak::Resolved;
use scalar::Scalar;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use types::Element;
use view::View;
use window::{Take, Windows};

/// A checked program.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Tensors, inputs and variables; [`TensorId`]s index it.
    pub tensors: Vec<Tensor>,
    /// Named views, in the order of the file.
    pub views: Vec<NamedView>,
    /// Parameters of the script.
    pub params: Vec<Param>,
    /// What `itp run` writes.
    pub outputs: Vec<Output>,
    /// Writes into variables, in order.
    pub sets: Vec<Set>,
    /// Who reads whom: from the tensor read to the one that reads it, without a tensor's reads of itself.
    pub dag: DiGraph<TensorId, ()>,
    /// Every tensor after all it reads.
    pub order: Vec<TensorId>,
    /// The math functions that bodies call, as bodies over `Arg(0)`, `Arg(1)`.
    pub math: BTreeMap<(MathFn, Element), Arc<(Body, NodeId)>>,
    /// What names mean, for slices that are asked for later.
    pub names: Names,
}

/// An infinite or bounded array.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// As declared.
    pub name: Arc<str>,
    /// Its `##` lines.
    pub doc: Vec<Arc<str>>,
    /// Where its name was declared.
    pub span: Span,
    /// The file that declares it.
    pub module: ModuleId,
    /// What it stores.
    pub element: Element,
    /// Where it has elements.
    pub domain: Domain,
    /// Tile shape over the unbounded dimensions, if given.
    pub chunk: Option<Vec<i64>>,
    /// How its tiles are stored, if given.
    pub format: Option<Format>,
    /// Where its elements come from.
    pub kind: TensorKind,
}

/// Where the elements of a tensor come from.
#[derive(Clone, Debug)]
pub enum TensorKind {
    /// A file, a stream or the host.
    Input(InputSource),
    /// What `set` wrote, and this elsewhere.
    Var(Scalar),
    /// One expression per element.
    Pointwise(Pointwise),
    /// One expression or host function per window, blended where windows overlap.
    Windowed(Box<Windowed>),
}

/// Where an input's data comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputSource {
    /// The host program, or `--bind`.
    Host,
    /// A file.
    File(Arc<str>),
    /// Data that arrives.
    Stream,
}

/// A tensor whose elements are computed one by one.
#[derive(Clone, Debug)]
pub struct Pointwise {
    /// Over global coordinates.
    pub body: Resolved,
    /// The dimension along which it reads itself.
    pub recurrence: Option<Recurrence>,
}

/// A tensor that reads itself at smaller coordinates of one dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recurrence {
    /// That dimension.
    pub dim: usize,
    /// How many steps back it reads at the most.
    pub reach: i64,
}

/// A tensor whose elements are computed window by window.
#[derive(Clone, Debug)]
pub struct Windowed {
    /// One window per dimension.
    pub windows: Windows,
    /// Slices of other tensors.
    pub takes: Vec<Arc<Take>>,
    /// How windows that cover the same element combine.
    pub blend: Blend,
    /// What makes one window.
    pub body: WindowBody,
}

/// What makes one window.
#[derive(Clone, Debug)]
pub enum WindowBody {
    /// An expression over local and global coordinates and window numbers.
    Expr(Resolved),
    /// A host function over takes (by their place in [`Windowed::takes`]).
    Extern {
        /// The name it is registered under.
        name: Arc<str>,
        /// Which takes it is handed, in order.
        args: Vec<usize>,
    },
}

/// How windows that cover the same element combine, in lexicographic order of window numbers.
#[derive(Clone, Debug)]
pub struct Blend {
    /// The combination.
    pub kind: BlendKind,
    /// What folds start from, and what elements hold that no window covers.
    pub init: Scalar,
}

/// The combinations.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are those of the language")]
pub enum BlendKind {
    Sum,
    Product,
    Min,
    Max,
    First,
    Last,
    Mean,
    /// Over `Arg(0)`, what is there, and `Arg(1)`, what comes.
    Custom(Resolved),
}

impl BlendKind {
    /// As written.
    pub fn name(&self) -> &'static str {
        match self {
            BlendKind::Sum => "sum",
            BlendKind::Product => "product",
            BlendKind::Min => "min",
            BlendKind::Max => "max",
            BlendKind::First => "first",
            BlendKind::Last => "last",
            BlendKind::Mean => "mean",
            BlendKind::Custom(_) => "(old, new) =>",
        }
    }
}

/// A `view` item.
#[derive(Clone, Debug)]
pub struct NamedView {
    /// What it shows.
    pub view: Arc<View>,
    /// Its `##` lines.
    pub doc: Vec<Arc<str>>,
    /// The item.
    pub span: Span,
    /// The expression after `=`.
    pub chain: Span,
    /// The name that it starts with: a tensor or another view.
    pub of: Arc<str>,
}

/// A `param` item.
#[derive(Clone, Debug)]
pub struct Param {
    /// What `--set` calls it.
    pub name: Arc<str>,
    /// Its `##` lines.
    pub doc: Vec<Arc<str>>,
    /// Its value now.
    pub value: Scalar,
    /// Where it was declared.
    pub span: Span,
}

/// A `set` item.
#[derive(Clone, Debug)]
pub struct Set {
    /// The view of a variable that is written.
    pub target: Arc<View>,
    /// Over the coordinates of that view.
    pub body: Resolved,
    /// The item.
    pub span: Span,
}

/// Checks the script `root` with everything it uses; `settings` are the values of parameters as text, after the word that
/// gives them: `--set`.
///
/// All errors and warnings are in `diagnostics`; with errors the graph, if there is one, is only good for finding more.
pub fn check(
    sources: &mut Sources,
    root: SourceId,
    loader: &dyn Loader,
    (word, settings): (&str, &[(String, String)]),
    diagnostics: &mut Diagnostics,
) -> Option<Graph> {
    let mut modules = Modules::load(sources, root, loader, diagnostics);
    let math = modules.add_standard("math", sources, diagnostics);
    let parsed: Vec<_> = settings.iter().map(|setting| settings::parse(word, setting, sources)).collect();
    if diagnostics.has_errors() {
        return None;
    }
    powers::negated(&modules, sources, diagnostics);
    let mut checker = check::Checker::new(sources, modules, diagnostics);
    checker.set_math_module(math);
    settings::apply(&mut checker, parsed);
    let params = declare::constants(&mut checker);
    declare::functions(&mut checker);
    define::windows(&mut checker);
    declare::tensors(&mut checker);
    let views = declare::views(&mut checker);
    define::tensors(&mut checker);
    let sets = define::sets(&mut checker);
    let outputs = outputs::outputs(&mut checker);
    // What is no integer is an error of its own.
    if !checker.diagnostics.has_errors() {
        powers::hats(&checker.modules, checker.sources, checker.diagnostics);
    }
    order::graph(checker, Parts { params, views, sets, outputs })
}

/// What the steps of [`check`] found besides the tensors.
struct Parts {
    params: Vec<Param>,
    views: Vec<NamedView>,
    sets: Vec<Set>,
    outputs: Vec<Output>,
}

impl Graph {
    /// The tensor with that id.
    pub fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.index()]
    }

    /// The tensors that one reads, lower ids first, without itself.
    pub fn reads_of(&self, id: TensorId) -> impl Iterator<Item = TensorId> {
        let sources = self.dag.neighbors_directed(NodeIndex::new(id.index()), Direction::Incoming);
        sources.map(|node| self.dag[node]).collect::<BTreeSet<_>>().into_iter()
    }

    /// All tensors with their ids.
    pub fn iter(&self) -> impl Iterator<Item = (TensorId, &Tensor)> {
        self.tensors.iter().enumerate().map(|(i, tensor)| (TensorId(i as u32), tensor))
    }
}

impl Tensor {
    /// Where it can be read, per dimension: what is stored ends at its bounds, implicit or not.
    pub fn readable(&self) -> Vec<Interval> {
        let stored = matches!(self.kind, TensorKind::Input(_) | TensorKind::Var(_));
        let dims = self.domain.dims().iter();
        dims.map(|dim| if stored { dim.interval } else { dim.enforced() }).collect()
    }

    /// What its elements are computed by, unless a host function does that.
    pub fn body(&self) -> Option<&Resolved> {
        match &self.kind {
            TensorKind::Input(_) | TensorKind::Var(_) => None,
            TensorKind::Pointwise(pointwise) => Some(&pointwise.body),
            TensorKind::Windowed(windowed) => match &windowed.body {
                WindowBody::Expr(body) => Some(body),
                WindowBody::Extern { .. } => None,
            },
        }
    }

    /// The same, to be changed.
    pub fn body_mut(&mut self) -> Option<&mut Resolved> {
        match &mut self.kind {
            TensorKind::Input(_) | TensorKind::Var(_) => None,
            TensorKind::Pointwise(pointwise) => Some(&mut pointwise.body),
            TensorKind::Windowed(windowed) => match &mut windowed.body {
                WindowBody::Expr(body) => Some(body),
                WindowBody::Extern { .. } => None,
            },
        }
    }

    /// The bodies it is computed from: its own, and that of a custom blend.
    pub fn bodies(&self) -> Vec<&Resolved> {
        let blend = match &self.kind {
            TensorKind::Windowed(windowed) => match &windowed.blend.kind {
                BlendKind::Custom(body) => Some(body),
                _ => None,
            },
            TensorKind::Input(_) | TensorKind::Var(_) | TensorKind::Pointwise(_) => None,
        };
        self.body().into_iter().chain(blend).collect()
    }
}
