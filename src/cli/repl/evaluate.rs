//! An expression -> its value: a table of a slice, or one number.
//!
//! ```text
//! height[0:2, 0:3]       f32[y: 0..2, x: 0..3] and a table
//! height                 its type, and how to slice it
//! height[3, 4] * 2       one number: the script is compiled with one tensor more
//! ```

use super::state::{Session, Told};
use super::table::{scalar_text, table};
use crate::diagnostic::{Diagnostics, Severity};
use crate::engine::{Engine, Error};
use crate::graph::Graph;
use crate::graph::types::Element;
use crate::graph::view::View;
use crate::index::Domain;
use crate::io::Array;
use crate::run::stats::Stats;
use crate::source::Sources;
use crate::syntax::ast::Expr;
use crate::syntax::parse_expr;
use std::sync::Arc;

/// The types that a lone value is tried as: numbers without a type are the first two.
const TYPES: [Element; 11] = [
    Element::I64,
    Element::F64,
    Element::F32,
    Element::Bool,
    Element::U8,
    Element::I32,
    Element::U32,
    Element::U16,
    Element::I16,
    Element::I8,
    Element::U64,
];

/// What the tensor is called that holds a lone value.
const IT: &str = "_it_";

/// What an expression is about.
pub(super) enum Subject {
    /// A bounded part of a tensor, or of a view.
    Part(Arc<View>),
    /// The same without an end.
    Endless(Arc<View>),
    /// One value, which this engine holds in [`IT`].
    Value(Box<Engine>, Element),
}

impl Session {
    /// The value of an expression, as text.
    pub(super) fn evaluate(&mut self, text: &str) -> Told {
        match self.subject(text)? {
            Subject::Part(view) => self.part(text, &view),
            Subject::Endless(view) => {
                let dims = view.domain().dims().iter();
                let ends = dims.map(|dim| if dim.interval.is_bounded() { ":" } else { "0:8" });
                let slice = format!("{}[{}]", text.trim(), ends.collect::<Vec<_>>().join(", "));
                Ok(format!("{}{}\nslice it to see elements: {slice}", view.element, view.domain()))
            }
            Subject::Value(engine, element) => {
                self.warned += &self.new_warnings(&engine);
                let array = self.watched(text, || engine.read_array(&format!("{IT}[]")))?;
                Ok(scalar_text(element, &array.data))
            }
        }
    }

    fn part(&self, text: &str, view: &Arc<View>) -> Told {
        let head = format!("{}{}", view.element, view.domain());
        let columns = self.screen.columns;
        let cells = self.watched(text, || table(&self.engine, view, columns))?;
        if view.rank() == 0 { Ok(cells) } else { Ok(format!("{head}\n{cells}")) }
    }

    /// Runs with a progress bar, where there is one to see it.
    pub(super) fn watched<T>(&self, name: &str, run: impl FnOnce() -> Result<T, Error>) -> Result<T, String> {
        if let Some(progress) = &self.progress {
            progress.begin(name.trim());
        }
        let done = run();
        if let Some(progress) = &self.progress {
            progress.end();
        }
        done.map_err(|error| self.error(error))
    }

    /// Works out what an expression is about.
    pub(super) fn subject(&self, text: &str) -> Result<Subject, String> {
        let graph = &self.engine.program().graph;
        let Some((name, _)) = self.parsed(text)? else { return self.value(text) };
        if domain_of(graph, &name).is_none() {
            return self.value(text);
        }
        let whole = self.bracketed(text)?;
        let view = self.engine.endless_view(&whole).map_err(|error| self.error(error))?;
        Ok(if view.domain().shape().is_some() { Subject::Part(view) } else { Subject::Endless(view) })
    }

    /// The bounded view that a text means, which may leave out the brackets at its end.
    pub(super) fn slice(&self, text: &str) -> Result<Arc<View>, String> {
        let whole = self.bracketed(text)?;
        self.engine.view(&whole).map_err(|error| self.error(error))
    }

    /// A view expression with brackets at its end.
    fn bracketed(&self, text: &str) -> Result<String, String> {
        let text = text.trim();
        Ok(match self.parsed(text)? {
            Some((_, Shape::Slice)) | None => text.to_owned(),
            Some((_, Shape::Other)) => format!("{text}[...]"),
        })
    }

    /// The elements of a bounded view, and what they took.
    pub(super) fn elements(&self, text: &str, view: &Arc<View>) -> Result<(Array, Stats), String> {
        self.watched(text, || self.engine.prepare_view(view.clone())?.read_array())
    }

    /// The name that a view expression starts with, and how it ends; none for other expressions.
    fn parsed(&self, text: &str) -> Result<Option<(Arc<str>, Shape)>, String> {
        let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
        let source = sources.add("<typed>", text);
        let Some((ast, expr)) = parse_expr(&sources, source, &mut diagnostics) else {
            let errors = diagnostics.into_sorted().into_iter();
            let texts: Vec<String> =
                errors.map(|one| crate::diagnostic::render(&one, &sources, self.style)).collect();
            return Err(texts.join("\n\n"));
        };
        let shape = match ast.expr(expr) {
            Expr::Index { .. } => Shape::Slice,
            _ => Shape::Other,
        };
        Ok(ast.viewed(expr).map(|name| (name.clone(), shape)))
    }

    /// Compiles an expression as a tensor of one element, of the first type that it can have.
    fn value(&self, text: &str) -> Result<Subject, String> {
        let mut best: Option<(usize, Error)> = None;
        for element in TYPES {
            match self.build(&self.pieces, &format!("tensor {IT}: {element}[] =\n{text}\n")) {
                Ok(engine) => return Ok(Subject::Value(Box::new(engine), element)),
                Err(error) => {
                    let count = errors(&error);
                    if best.as_ref().is_none_or(|(fewest, _)| count < *fewest) {
                        best = Some((count, error));
                    }
                }
            }
        }
        Err(best.map(|(_, error)| self.error(error)).unwrap_or_default())
    }
}

/// How a view expression ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// In brackets.
    Slice,
    /// In a name or a method.
    Other,
}

fn errors(error: &Error) -> usize {
    error.diagnostics().iter().filter(|one| one.code.severity() == Severity::Error).count()
}

/// Type and domain of the tensor or view with that name.
pub(super) fn domain_of<'g>(graph: &'g Graph, name: &str) -> Option<(Element, &'g Domain)> {
    let tensor = graph.tensors.iter().find(|tensor| &*tensor.name == name && tensor.module.0 == 0);
    let tensor = tensor.or_else(|| graph.tensors.iter().find(|tensor| &*tensor.name == name));
    let view = graph.views.iter().find(|named| &*named.view.name == name);
    let of_view = view.map(|named| (named.view.element, named.view.domain()));
    tensor.map(|tensor| (tensor.element, &tensor.domain)).or(of_view)
}
