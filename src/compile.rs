//! THE LIST OF STAGES: read this first.
//!
//! ```text
//! text -> tokens -> ast -> graph -> access        (and, from the same graph, the folded views)
//! ```
//!
//! Every stage has a type of its own and a deterministic text form; the command line, the REPL and the tests show
//! them through the same [`Stage`].

use crate::access::{self, Accesses};
use crate::diagnostic::Diagnostics;
use crate::graph::modules::Loader;
use crate::graph::{self, Graph};
use crate::source::{SourceId, Sources};
use crate::syntax;

/// A stage whose result can be printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Text as tokens.
    Tokens,
    /// The syntax tree as canonical source.
    Ast,
    /// The checked DAG.
    Graph,
    /// One index map per read, with windows and halos.
    Access,
    /// Movement chains: shape, strides and offset, or why not.
    Views,
}

impl Stage {
    /// Every stage, in the order of compilation.
    pub const ALL: [Stage; 5] = [Stage::Tokens, Stage::Ast, Stage::Graph, Stage::Access, Stage::Views];

    /// As `--stage` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Tokens => "tokens",
            Stage::Ast => "ast",
            Stage::Graph => "graph",
            Stage::Access => "access",
            Stage::Views => "views",
        }
    }

    /// The stage with that name.
    pub fn parse(name: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|stage| stage.name() == name)
    }
}

/// What a script is compiled with.
#[derive(Default)]
pub struct Options<'a> {
    /// `--set` values as (name, text).
    pub settings: &'a [(String, String)],
}

/// A compiled script.
#[derive(Debug)]
pub struct Program {
    /// Tensors, views, outputs, all checked.
    pub graph: Graph,
    /// How every tensor reads the others.
    pub accesses: Accesses,
}

/// Compiles the script `root`; the program is there when nothing was wrong, everything else is in `diagnostics`.
pub fn compile(
    sources: &mut Sources,
    root: SourceId,
    loader: &dyn Loader,
    options: &Options<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Program> {
    let graph = graph::check(sources, root, loader, options.settings, diagnostics)?;
    let accesses = access::infer(&graph, diagnostics);
    (!diagnostics.has_errors()).then_some(Program { graph, accesses })
}

/// The text form of a stage; `tensor` picks one where the stage is made of tensors.
pub fn emit(
    stage: Stage,
    sources: &mut Sources,
    root: SourceId,
    loader: &dyn Loader,
    options: &Options<'_>,
    tensor: Option<&str>,
    diagnostics: &mut Diagnostics,
) -> Option<String> {
    match stage {
        Stage::Tokens => return Some(syntax::tokens(sources, root)),
        Stage::Ast => {
            let ast = syntax::parse(sources, root, diagnostics);
            return (!diagnostics.has_errors()).then(|| syntax::print_ast(&ast, sources));
        }
        Stage::Graph | Stage::Access | Stage::Views => {}
    }
    let program = compile(sources, root, loader, options, diagnostics)?;
    Some(match stage {
        Stage::Graph => graph::print::print(&program.graph, tensor),
        Stage::Access => access::print::print(&program.graph, &program.accesses, tensor),
        Stage::Views => access::print::print_views(&program.graph, sources, tensor),
        Stage::Tokens | Stage::Ast => unreachable!("handled above"),
    })
}
