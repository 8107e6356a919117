//! Slices that are asked for from outside: `smooth[y=0:512, -100:412:2]` on the command line or through the engine.

use super::body::TensorId;
use super::check::{Checker, Setting};
use super::elaborate::Owner;
use super::modules::{Modules, Symbol};
use super::outputs::bounded;
use super::view::View;
use super::{Graph, Tensor, TensorKind};
use crate::diagnostic::Diagnostics;
use crate::source::{Sources, Span};
use crate::syntax;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// What is kept of the checker: enough to work out what a name in a slice means.
#[derive(Clone, Debug)]
pub struct Names {
    modules: Modules,
    settings: BTreeMap<Symbol, Setting>,
    tensors: HashMap<Symbol, TensorId>,
}

impl Names {
    /// The files of the program.
    pub(super) fn modules(&self) -> &Modules {
        &self.modules
    }

    pub(super) fn new(checker: &mut Checker<'_>) -> Self {
        let tensors = checker.tensor_ids.iter().filter_map(|(symbol, id)| Some((*symbol, id.clone().ok()?)));
        Names {
            tensors: tensors.collect(),
            modules: std::mem::take(&mut checker.modules),
            settings: std::mem::take(&mut checker.settings),
        }
    }
}

/// The bounded view that `text` asks for; `None` when something is wrong with it. `place` is what messages call the text.
pub fn slice(
    graph: &Graph,
    sources: &mut Sources,
    (place, text): (&str, &str),
    diagnostics: &mut Diagnostics,
) -> Option<Arc<View>> {
    let (view, whole) = viewed(graph, sources, (place, text), diagnostics)?;
    let view = bounded(&view, whole).map(|()| view);
    diagnostics.take(view)
}

/// The view that `text` means, whether or not it has an end, and the place of the text.
pub fn viewed(
    graph: &Graph,
    sources: &mut Sources,
    (place, text): (&str, &str),
    diagnostics: &mut Diagnostics,
) -> Option<(Arc<View>, Span)> {
    let source = sources.add(place, text);
    let (ast, expr) = syntax::parse_slice(sources, source, diagnostics)?;
    let mut modules = graph.names.modules.clone();
    let module = modules.add_reader(ast);
    let mut checker = Checker::new(sources, modules, diagnostics);
    checker.settings = graph.names.settings.clone();
    checker.tensors = graph.tensors.iter().map(header).collect();
    checker.tensor_ids = graph.names.tensors.iter().map(|(symbol, id)| (*symbol, Ok(*id))).collect();
    let view = checker.view_of(module, expr, Owner { named_slices: true, ..Owner::default() });
    let view = checker.diagnostics.take(view)?;
    Some((view, Span::new(source, 0, text.len())))
}

/// A tensor without its body.
fn header(tensor: &Tensor) -> Tensor {
    let kind = TensorKind::Input(super::InputSource::Host);
    Tensor {
        kind,
        name: tensor.name.clone(),
        doc: Vec::new(),
        domain: tensor.domain.clone(),
        chunk: None,
        format: None,
        ..*tensor
    }
}
