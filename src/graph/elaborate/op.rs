//! A call of a view operation and what is said when it cannot apply.
//!
//! ```text
//! a.permute([x])      `.permute` names 1 dimension, but `a` has 2 · write it like `.permute([x, y])`
//! ```

use super::builtins::{BUILTIN_NAMES, wrong_count};
use super::reductions::is_reduction;
use crate::diagnostic::{Code, Diagnostic, Result, any_of, closest, counted, quoted};
use crate::graph::meanings::{self, VIEW_OPS};
use crate::graph::view::{Step, View};
use crate::index;
use crate::source::Span;
use crate::syntax::ast::{ExprId, Ident};

/// What other array libraries call them.
const ALIASES: [(&str, &str); 14] = [
    ("T", "permute"),
    ("broadcast", "expand"),
    ("broadcast_to", "expand"),
    ("crop", "shrink"),
    ("edge", "clamp"),
    ("expand_dims", "add_dim"),
    ("movedim", "permute"),
    ("ravel", "flatten"),
    ("roll", "translate_by"),
    ("shift", "translate_by"),
    ("swapaxes", "permute"),
    ("translate", "translate_by"),
    ("transpose", "permute"),
    ("unsqueeze", "add_dim"),
];

/// A call of a view operation, for messages.
pub(super) struct Op<'o> {
    pub name: &'o Ident,
    pub args: &'o [ExprId],
    /// The first argument, else the name.
    pub place: Span,
    /// What it applies to, `` `a` is `f32[y: 4]` ``.
    pub about: String,
}

impl Op<'_> {
    /// The role of an argument, for messages.
    pub(super) fn what(&self) -> String {
        format!("an argument of `.{}`", self.name.name)
    }

    /// What a call looks like: `.flip([x])`.
    pub(super) fn usage(&self) -> String {
        let found = meanings::of(VIEW_OPS, &self.name.name);
        format!(".{}", found.map_or(&*self.name.name, |(usage, _)| usage))
    }

    /// Checks the number of arguments.
    pub(super) fn takes(&self, fewest: usize, most: usize) -> Result<()> {
        if (fewest..=most).contains(&self.args.len()) {
            return Ok(());
        }
        let name = Ident { name: format!(".{}", self.name.name).into(), span: self.name.span };
        wrong_count(&name, self.args.len(), fewest, most, &self.usage()).err()
    }

    /// The result of index arithmetic, or why it cannot be.
    pub(super) fn check<T>(&self, result: index::Result<T>) -> Result<T> {
        result.or_else(|error| {
            let message = format!("`.{}` cannot apply: {}", self.name.name, error.message);
            self.refuse(Code::E0607, message, self.advice())
        })
    }

    fn advice(&self) -> &'static str {
        match &*self.name.name {
            "at" | "shrink" | "oindex" => {
                "use coordinates that the dimension has: they are not counted from the end"
            }
            "expand" => "expand dimensions of size 1 only, and write `_` for those that stay",
            "label" | "add_dim" => "give each dimension a label of its own, or `_`",
            "permute" => "name every dimension once",
            "stride" => "use a stride of 1 or more, or a negative one to count down",
            "vindex" => "give all lists one length, and coordinates that the dimensions have",
            "translate_by" => "use smaller numbers",
            "translate_to" => "write `_` for a dimension that has no beginning, and coordinates within ±2^62",
            "diagonal" => "name two or more dimensions that overlap",
            _ => "fit the argument to the tensor",
        }
    }

    /// The error that `message` describes.
    pub(super) fn refuse<T>(&self, code: Code, message: String, help: &str) -> Result<T> {
        Diagnostic::new(code, message).at(self.place, &self.about).help(help).err()
    }

    /// How many elements a bounded view has.
    pub(super) fn count(&self, view: &View) -> Result<i64> {
        let mut count = 1i64;
        for dim in view.domain().dims() {
            let Some(len) = dim.interval.len() else {
                let message =
                    format!("`.{}` needs bounded dimensions, but `{dim}` has no end", self.name.name);
                return self.refuse(Code::E0603, message, &view.example_slice(dim));
            };
            let Some(product) = count.checked_mul(len).filter(|n| *n < index::INF) else {
                let message =
                    format!("`.{}` of {} has more than 2^62 elements", self.name.name, view.describe());
                return self.refuse(Code::E0603, message, "slice it first");
            };
            count = product;
        }
        Ok(count)
    }

    /// The shape with its one `-1` worked out.
    pub(super) fn infer(&self, given: &[i64], count: i64, view: &View) -> Result<Vec<i64>> {
        if let Some(bad) = given.iter().find(|size| **size < -1) {
            let help = "write sizes of 0 or more; one of them may be -1, which is worked out";
            return self.refuse(Code::E0604, format!("`.reshape` has a size of {bad}"), help);
        }
        let open = given.iter().filter(|size| **size == -1).count();
        let known = given.iter().filter(|size| **size != -1).try_fold(1i64, |n, size| n.checked_mul(*size));
        match (open, known) {
            (0, Some(known)) if known == count => Ok(given.to_vec()),
            (1, Some(known)) if known != 0 && count % known == 0 => {
                Ok(given.iter().map(|size| if *size == -1 { count / known } else { *size }).collect())
            }
            _ => self.does_not_fit(given, open, known, count, view),
        }
    }

    fn does_not_fit<T>(
        &self,
        given: &[i64],
        open: usize,
        known: Option<i64>,
        count: i64,
        view: &View,
    ) -> Result<T> {
        let has = format!("{} has {}", quoted(&view.name), counted(count as usize, "element"));
        let product = known.map_or("too many".to_owned(), |n| n.to_string());
        let (message, help) = match open {
            0 => (
                format!("`.reshape` to {given:?} needs {product} elements, but {has}"),
                "make the product of the sizes equal to that; one size may be -1, which is worked out",
            ),
            1 => (
                format!("`.reshape` to {given:?} needs a multiple of {product} elements, but {has}"),
                "make the product of the other sizes divide that",
            ),
            _ => (
                format!("`.reshape` can work out one size, but {open} are -1"),
                "write out all sizes but one",
            ),
        };
        self.refuse(Code::E0604, message, help)
    }

    /// Every position must lie inside the storage.
    pub(super) fn check_positions(
        &self,
        view: &View,
        shape: &[i64],
        strides: &[i64],
        offset: i64,
    ) -> Result<()> {
        let Some(Step::Flat { storage, .. }) = view.steps().get(1) else { return Ok(()) };
        let size: i128 = storage.iter().map(|range| i128::from(range.len().unwrap_or(0))).product();
        if shape.contains(&0) {
            return Ok(());
        }
        let (mut lowest, mut highest) = (i128::from(offset), i128::from(offset));
        for (len, stride) in shape.iter().zip(strides) {
            let reach = i128::from(len - 1) * i128::from(*stride);
            lowest += reach.min(0);
            highest += reach.max(0);
        }
        if lowest >= 0 && highest < size {
            return Ok(());
        }
        let message = format!(
            "`.as_strided` reaches positions {lowest}..{}, but the storage has 0..{size}",
            highest + 1
        );
        self.refuse(Code::E0606, message, "make sizes, strides and offset stay inside it")
    }

    /// The error for a label that the view does not have.
    pub(super) fn no_dimension(&self, view: &View, name: &str, span: Span) -> Diagnostic {
        let message =
            format!("`.{}`: {} has no dimension {}", self.name.name, quoted(&view.name), quoted(name));
        let close = closest(name, labels(view));
        let unknown = Diagnostic::new(Code::E0605, message).at(span, &self.about).fix_if(span, close);
        unknown.help(label_advice(view, name))
    }

    /// The error for an operation that does not exist.
    pub(super) fn unknown(&self) -> Diagnostic {
        let name = &*self.name.name;
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, own)| *own);
        let names = || VIEW_OPS.iter().map(|(name, ..)| *name);
        let usage = |name: &str| meanings::of(VIEW_OPS, name).map(|(usage, _)| format!("write `.{usage}`"));
        let function = BUILTIN_NAMES.contains(&name).then(|| match is_reduction(name) {
            true => format!("write the range that it runs over: `{name}(i in 0..n) a[i]`"),
            false => format!("call it with an element: `{name}(a[…])`"),
        });
        let close = alias.or_else(|| closest(name, names()).filter(|_| function.is_none()));
        let help = alias.and_then(usage).or(function).or_else(|| close.and_then(usage));
        Diagnostic::new(Code::E0601, format!("unknown view operation {}", quoted(&format!(".{name}"))))
            .at(self.name.span, "not a view operation")
            .fix_if(self.name.span, close)
            .help(help.unwrap_or_else(|| format!("choose one of {}", names().collect::<Vec<_>>().join(", "))))
    }
}

/// What to write instead of a label that the view does not have.
pub(super) fn label_advice(view: &View, name: &str) -> String {
    match closest(name, labels(view)) {
        Some(close) => format!("write `{close}`"),
        None if labels(view).next().is_none() => {
            format!("write a position from 0 to {}", view.rank().saturating_sub(1))
        }
        None => format!("write {}, or a position", any_of(labels(view))),
    }
}

fn labels(view: &View) -> impl Iterator<Item = &str> {
    view.domain().dims().iter().map(|dim| dim.label.as_str()).filter(|label| !label.is_empty())
}
