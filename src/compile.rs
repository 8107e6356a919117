//! THE LIST OF STAGES: read this first.
//!
//! ```text
//! text -> tokens -> ast -> graph -> access -> loops -> clif -> asm   (and, from the same graph, the folded views)
//! a read of the program -> plan -> trace                             (made by the engine, which knows the rest)
//! ```
//!
//! Every stage has a type of its own and a deterministic text form; the command line, the REPL and the tests show
//! them through the same [`Stage`].

use crate::access::skip::{Skip, skip};
use crate::access::{self, Accesses};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::graph::body::TensorId;
use crate::graph::follow::view_body;
use crate::graph::modules::Loader;
use crate::graph::{self, Graph};
use crate::loops::ir::Kernel;
use crate::loops::lower::{lower_until, lower_view_until};
use crate::loops::passes::Pass;
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
    /// One kernel per tensor and view.
    Loops,
    /// The kernels in the language of the code generator.
    Clif,
    /// The kernels as instructions of this machine.
    Asm,
    /// What a read would do: groups, order, last readers, peak.
    Plan,
    /// What a read did: tiles computed, reused and freed.
    Trace,
}

impl Stage {
    /// Every stage, in the order of compilation.
    pub const ALL: [Stage; 10] = [
        Stage::Tokens,
        Stage::Ast,
        Stage::Graph,
        Stage::Access,
        Stage::Views,
        Stage::Loops,
        Stage::Clif,
        Stage::Asm,
        Stage::Plan,
        Stage::Trace,
    ];

    /// As `--stage` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Tokens => "tokens",
            Stage::Ast => "ast",
            Stage::Graph => "graph",
            Stage::Access => "access",
            Stage::Views => "views",
            Stage::Loops => "loops",
            Stage::Clif => "clif",
            Stage::Asm => "asm",
            Stage::Plan => "plan",
            Stage::Trace => "trace",
        }
    }

    /// Whether it is about a read of a program, and not about the program itself.
    pub fn is_of_a_read(self) -> bool {
        matches!(self, Stage::Plan | Stage::Trace)
    }

    /// The stage with that name.
    pub fn parse(name: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|stage| stage.name() == name)
    }
}

/// What a script is compiled with.
pub struct Options<'a> {
    /// Values of parameters as (name, text).
    pub settings: &'a [(String, String)],
    /// The word that gives them, for messages about them.
    pub set: &'a str,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { settings: &[], set: "--set" }
    }
}

/// A compiled script.
#[derive(Debug)]
pub struct Program {
    /// Tensors, views, outputs, all checked.
    pub graph: Graph,
    /// How every tensor reads the others.
    pub accesses: Accesses,
}

impl Program {
    /// The same with recurrences over streams as frames that arrive, each beside the tensor that computes the next of
    /// them ([`graph::stepwise`]); none if there are no such recurrences.
    pub fn stepwise(&self) -> Option<(Program, Vec<(TensorId, TensorId)>)> {
        let found = self.graph.following_streams();
        if found.is_empty() {
            return None;
        }
        let (mut graph, mut tensors) = (self.graph.clone(), self.accesses.tensors.clone());
        let mut made = Vec::new();
        for id in found {
            made.push((id, graph.step_apart(id)));
            let own = std::mem::take(&mut tensors[id.index()]);
            tensors.push(own);
        }
        let accesses = Accesses { tensors, sets: self.accesses.sets.clone() };
        Some((Program { graph, accesses }, made))
    }
}

/// Compiles the script `root`; the program is there when nothing was wrong, everything else is in `diagnostics`.
pub fn compile(
    sources: &mut Sources,
    root: SourceId,
    loader: &dyn Loader,
    options: &Options<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Program> {
    let graph = graph::check(sources, root, loader, (options.set, options.settings), diagnostics)?;
    let accesses = access::infer(&graph, diagnostics);
    (!diagnostics.has_errors()).then_some(Program { graph, accesses })
}

/// What of a stage is printed.
#[derive(Clone, Copy, Default)]
pub struct Show<'a> {
    /// This tensor or view only, where the stage is made of them.
    pub tensor: Option<&'a str>,
    /// Kernels as they are after this pass, not after the last.
    pub after: Option<Pass>,
}

/// The text form of a stage of the program; those of a read are the engine's.
pub fn emit(
    stage: Stage,
    sources: &mut Sources,
    root: SourceId,
    loader: &dyn Loader,
    options: &Options<'_>,
    show: Show<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<String> {
    match stage {
        Stage::Tokens => return Some(syntax::tokens(sources, root)),
        Stage::Ast => {
            let ast = syntax::parse(sources, root, diagnostics);
            return (!diagnostics.has_errors()).then(|| syntax::print_ast(&ast, sources));
        }
        Stage::Plan | Stage::Trace => {
            let message = format!("stage `{}` is about a read, which an engine plans and runs", stage.name());
            diagnostics.push(Diagnostic::new(Code::E0903, message));
            return None;
        }
        Stage::Graph | Stage::Access | Stage::Views | Stage::Loops | Stage::Clif | Stage::Asm => {}
    }
    let program = compile(sources, root, loader, options, diagnostics)?;
    Some(match stage {
        Stage::Graph => graph::print::print(&program.graph, show.tensor),
        Stage::Access => access::print::print(&program.graph, &program.accesses, show.tensor),
        Stage::Views => access::print::print_views(&program.graph, sources, show.tensor),
        Stage::Loops => loops(&program, show),
        Stage::Clif | Stage::Asm => match machine_text(stage, &kernels(&program, show)) {
            Ok(text) => text,
            Err(message) => {
                diagnostics.push(Diagnostic::new(Code::E0903, message));
                return None;
            }
        },
        Stage::Tokens | Stage::Ast | Stage::Plan | Stage::Trace => unreachable!("handled above"),
    })
}

/// The kernels as text, with what is left out of sources in formats.
fn loops(program: &Program, show: Show<'_>) -> String {
    let text = |(kernel, note): (Kernel, String)| format!("{note}{kernel}");
    join(noted_kernels(program, show).into_iter().map(text))
}

fn kernels(program: &Program, show: Show<'_>) -> Vec<Kernel> {
    noted_kernels(program, show).into_iter().map(|(kernel, _)| kernel).collect()
}

/// The kernels of all tensors that have a body, then those of views, each with a note.
fn noted_kernels(program: &Program, show: Show<'_>) -> Vec<(Kernel, String)> {
    let (graph, last) = (&program.graph, show.after.unwrap_or(Pass::Sweep));
    let shown = |name: &str| show.tensor.is_none_or(|only| only == name);
    let tensors = graph.iter().filter(|(_, tensor)| shown(&tensor.name));
    let tensors = tensors.filter_map(|(id, tensor)| {
        let access = &program.accesses.tensors[id.index()];
        let skip = skip(graph, tensor, access);
        let walks = skip.as_ref().and_then(Skip::walks);
        let lowered = lower_until(graph, id, access, walks, last)?;
        let note = skip.map(|skip| access::skip::print(graph, &tensor.name, &skip)).unwrap_or_default();
        Some((lowered.kernel, note))
    });
    let views = graph.views.iter().filter(|named| shown(&named.view.name));
    let views =
        views.map(|named| lower_view_until(graph, &named.view, &view_body(&named.view, named.span), last));
    tensors.chain(views.map(|lowered| (lowered.kernel, String::new()))).collect()
}

/// One after the other, with a line between them.
fn join(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(feature = "jit")]
fn machine_text(stage: Stage, kernels: &[Kernel]) -> Result<String, String> {
    use crate::jit::{JitOptions, Vectors};
    // The CLIF is that of any processor, the machine code that of this one.
    let vectors = if stage == Stage::Clif { Vectors::V128 } else { Vectors::best() };
    let module = crate::jit::compile(kernels, &JitOptions { vectors, ..JitOptions::default() })?;
    Ok(join(kernels.iter().enumerate().map(|(at, kernel)| {
        let text = if stage == Stage::Clif { module.clif(at).to_owned() } else { module.asm(at) };
        format!("; kernel {}\n{}\n", kernel.name, text.trim_end())
    })))
}

#[cfg(not(feature = "jit"))]
fn machine_text(stage: Stage, _: &[Kernel]) -> Result<String, String> {
    Err(format!("stage `{}` needs the engine that makes machine code, which is not built in", stage.name()))
}
