//! Slices of views: `a[5:10, 3, ...]`. Coordinates stay as they are, integers drop their dimension.

use super::Elaborator;
use super::op::label_advice;
use crate::diagnostic::{Code, Diagnostic, Result, counted, given, quoted};
use crate::graph::view::{View, dimension_name};
use crate::index::domain::DimRef;
use crate::index::ops::Slice;
use crate::index::{Dim, IndexError};
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprId, Ident, Index, IndexKind, UnaryOp};

const SLICES_ARE_FIXED: &str =
    "slice by constants, and read an element with all its coordinates in one pair of brackets";

/// What one entry between brackets does to its dimension.
enum Entry {
    At(i64),
    Slice(Slice),
}

/// One of the two ends of a dimension.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Lower,
    Upper,
}

impl Elaborator<'_, '_> {
    /// The view that the entries between brackets pick.
    pub(super) fn slice(&mut self, view: &View, indices: &[Index], span: Span) -> Result<View> {
        let mut slices = vec![Slice::default(); view.rank()];
        let mut dropped = Vec::new();
        for (dim, index) in self.spread(view, indices, span)? {
            let Some(entry) = self.entry(view, dim, index)? else { continue };
            check_entry(view, dim, (&entry, index.span), is_shifted(view, indices, &entry))?;
            match entry {
                Entry::At(at) => dropped.push((position(dim), at)),
                Entry::Slice(slice) => slices[dim] = slice,
            }
        }
        let all: Vec<_> = (0..view.rank()).map(position).collect();
        let (dims, at): (Vec<_>, Vec<_>) = dropped.into_iter().unzip();
        let sliced = view.mapped(|map| map.slice(&all, &slices)?.index(&dims, &at));
        sliced.map_err(|error| Box::new(refused(view, &error.message, span)))
    }

    fn entry(&mut self, view: &View, dim: usize, index: &Index) -> Result<Option<Entry>> {
        let named = format!("dimension `{}` of {}", view.domain().dims()[dim], quoted(&view.name));
        Ok(match &index.kind {
            IndexKind::At(expr) => Some(Entry::At(self.constant_int_or(
                *expr,
                &format!("the coordinate in {named}"),
                SLICES_ARE_FIXED,
            )?)),
            IndexKind::Slice { start, stop, step } => {
                let start = start.filter(|start| !self.is_end(view, dim, *start, End::Lower));
                let stop = stop.filter(|stop| !self.is_end(view, dim, *stop, End::Upper));
                let mut bound = |expr: Option<ExprId>| {
                    let what = format!("a bound of {named}");
                    expr.map(|expr| self.slice_bound(view, dim, expr, &what)).transpose()
                };
                Some(Entry::Slice(Slice { start: bound(start)?, stop: bound(stop)?, step: bound(*step)? }))
            }
            IndexKind::Ellipsis => None,
        })
    }

    /// Whether a bound is `-inf` or `inf` where the dimension has no end either: it may as well be left out.
    fn is_end(&self, view: &View, dim: usize, bound: ExprId, end: End) -> bool {
        let interval = view.domain().dims()[dim].interval;
        match end {
            End::Lower => self.infinity(bound) == Some(End::Lower) && interval.lower().is_none(),
            End::Upper => self.infinity(bound) == Some(End::Upper) && interval.upper().is_none(),
        }
    }

    /// `-inf` is a lower end, `inf` an upper one.
    fn infinity(&self, bound: ExprId) -> Option<End> {
        match self.bare(bound) {
            Expr::Inf => Some(End::Upper),
            Expr::Unary(UnaryOp::Neg, inner) if matches!(self.bare(*inner), Expr::Inf) => Some(End::Lower),
            _ => None,
        }
    }

    fn slice_bound(&mut self, view: &View, dim: usize, bound: ExprId, what: &str) -> Result<i64> {
        if self.infinity(bound).is_some() {
            let dim = &view.domain().dims()[dim];
            let message = format!(
                "cannot slice {} along {}: it has {}, which ends",
                quoted(&view.name),
                dimension_name(dim),
                dim.interval
            );
            return Diagnostic::new(Code::E0602, message)
                .at(self.span(bound), format!("{} is {}", quoted(&view.name), view.describe()))
                .help("leave the bound out to go as far as there is something: `0:`, `:10`")
                .err();
        }
        self.constant_int_or(bound, what, SLICES_ARE_FIXED)
    }

    /// Which dimension each entry is for: by position, by label, or after `...`.
    fn spread<'i>(
        &mut self,
        view: &View,
        indices: &'i [Index],
        span: Span,
    ) -> Result<Vec<(usize, &'i Index)>> {
        let named = indices.iter().find(|index| index.label.is_some());
        if let Some(index) = named.filter(|_| !self.owner.named_slices) {
            return Diagnostic::new(Code::E0602, "named dimensions are for the command line")
                .at(index.span, "not in a script")
                .help("write one entry per dimension, in order")
                .err();
        }
        let is_dots = |index: &&Index| matches!(index.kind, IndexKind::Ellipsis);
        if let Some(second) = indices.iter().filter(is_dots).nth(1) {
            return Diagnostic::new(Code::E0602, "`...` stands twice in one slice")
                .at(second.span, "which dimensions it stands for cannot be told")
                .help("keep one `...`, and write `:` for each whole dimension at the other place")
                .err();
        }
        let dots = indices.iter().position(|index| is_dots(&index));
        let entries = indices.len() - usize::from(dots.is_some());
        if entries > view.rank() {
            return too_many(view, entries, span);
        }
        let mut spread = Vec::new();
        for (at, index) in indices.iter().enumerate() {
            let after_dots = dots.is_some_and(|dots| at > dots);
            let position = if after_dots { view.rank() - (indices.len() - at) } else { at };
            match &index.label {
                Some(label) => spread.push((labelled(view, label)?, index)),
                None if Some(at) == dots => {}
                None => spread.push((position, index)),
            }
        }
        Ok(spread)
    }
}

fn position(at: usize) -> DimRef {
    DimRef::Position(at as i64)
}

fn too_many<T>(view: &View, entries: usize, span: Span) -> Result<T> {
    let rank = counted(view.rank(), "dimension");
    let message = format!(
        "{} has {rank}, but {}",
        quoted(&view.name),
        given(entries, "index").replace("indexs", "indices")
    );
    Diagnostic::new(Code::E0314, message)
        .at(span, format!("{} is {}", quoted(&view.name), view.describe()))
        .help(format!("write at most {}", view.rank()))
        .err()
}

fn labelled(view: &View, label: &Ident) -> Result<usize> {
    view.domain().position(&label.name).ok_or_else(|| {
        let message = format!("{} has no dimension {}", quoted(&view.name), quoted(&label.name));
        let unknown = Diagnostic::new(Code::E0605, message).at(label.span, "unknown label");
        Box::new(unknown.help(label_advice(view, &label.name)))
    })
}

const WHOLE_FIRST: &str = "write `:` for every dimension that is taken whole: entries begin at the first one";

/// Whether a slice reaches beyond both ends of its dimension while others have none: it is probably meant for those.
fn is_shifted(view: &View, indices: &[Index], entry: &Entry) -> bool {
    let plain = |index: &Index| index.label.is_none() && !matches!(index.kind, IndexKind::Ellipsis);
    let wide = match entry {
        Entry::Slice(Slice { start: Some(start), stop: Some(stop), .. }) => *start < 0 && *stop > 0,
        Entry::Slice(_) | Entry::At(_) => false,
    };
    indices.len() < view.rank() && indices.iter().all(plain) && wide
}

/// Tries one entry alone, so that the message can point at it.
fn check_entry(view: &View, dim: usize, (entry, span): (&Entry, Span), shifted: bool) -> Result<()> {
    let tried = view.mapped(|map| match entry {
        Entry::At(at) => map.index(&[position(dim)], &[*at]),
        Entry::Slice(slice) => map.slice(&[position(dim)], std::slice::from_ref(slice)),
    });
    let Err(error) = tried else { return Ok(()) };
    let dim = &view.domain().dims()[dim];
    let (message, help) = match entry {
        Entry::At(at) => (format!("coordinate {at} is outside {}", dim.interval), at_advice(dim, *at)),
        Entry::Slice(slice) => slice_advice(dim, slice, &error),
    };
    let message = format!("cannot slice {} along {}: {message}", quoted(&view.name), dimension_name(dim));
    Diagnostic::new(Code::E0602, message)
        .at(span, format!("{} is {}", quoted(&view.name), view.describe()))
        .help(if shifted { WHOLE_FIRST.to_owned() } else { help })
        .err()
}

fn at_advice(dim: &Dim, at: i64) -> String {
    match (dim.interval.lower(), dim.interval.upper()) {
        (Some(lo), Some(hi)) if at < 0 && lo >= 0 && hi > lo => {
            format!(
                "write {} for the last one: negative numbers are coordinates, not counts from the end",
                hi - 1
            )
        }
        (Some(lo), Some(hi)) if hi > lo => format!("choose a coordinate from {lo} to {}", hi - 1),
        _ => "choose a coordinate that the dimension has".to_owned(),
    }
}

/// What is wrong with a slice, and what to write.
fn slice_advice(dim: &Dim, slice: &Slice, error: &IndexError) -> (String, String) {
    let step = slice.step.unwrap_or(1);
    let show = |bound: Option<i64>| bound.map_or_else(String::new, |bound| bound.to_string());
    match (slice.start, slice.stop) {
        _ if step == 0 => {
            ("its step is 0".into(), "write a step of 1 or more, or a negative one to count down".into())
        }
        (Some(start), Some(stop)) if step > 0 && start > stop => (
            format!("it starts at {start}, after its end at {stop}"),
            format!("write the lower coordinate first: `{stop}:{start}`"),
        ),
        (Some(start), Some(stop)) if step < 0 && start < stop => (
            format!("it counts down from {start}, which is below its end at {stop}"),
            format!(
                "write the highest coordinate first, and stop before the lowest: `{}:{}:{step}`",
                stop.saturating_sub(1),
                start.saturating_sub(1)
            ),
        ),
        (start, stop) if step != 1 && dim.interval.len().is_none() && (start.is_none() || stop.is_none()) => {
            (
                bare_message(dim, error),
                format!(
                    "write where it starts and ends: `0:512:{step}`, or stride the whole dimension: `.stride([{step}])`"
                ),
            )
        }
        (start, Some(stop))
            if stop < 0 && start.is_none_or(|start| start >= 0) && dim.interval.lower() == Some(0) =>
        {
            let end = dim.interval.upper().map_or(0, |hi| hi.saturating_add(stop).max(0));
            let help = "negative numbers are coordinates, not counts from the end";
            (
                format!("it ends at {stop}, but begins at {}", start.unwrap_or(0)),
                format!("write `{}:{end}`: {help}", show(start)),
            )
        }
        (Some(start), stop) if start < 0 && dim.interval.lower() == Some(0) => {
            let from_end = |at: i64| dim.interval.upper().map_or(0, |hi| hi.saturating_add(at).max(0));
            let stop = stop.map(|stop| if stop < 0 { from_end(stop) } else { stop });
            let help = "negative numbers are coordinates, not counts from the end";
            (bare_message(dim, error), format!("write `{}:{}`: {help}", from_end(start), show(stop)))
        }
        _ => (
            bare_message(dim, error),
            "use coordinates that the dimension has: slices are never cut to fit".into(),
        ),
    }
}

/// The message without the dimension that it starts with.
fn bare_message(dim: &Dim, error: &IndexError) -> String {
    error.message.strip_prefix(&format!("slicing `{dim}`: ")).unwrap_or(&error.message).to_owned()
}

fn refused(view: &View, why: &str, span: Span) -> Diagnostic {
    Diagnostic::new(Code::E0602, format!("cannot slice {}: {why}", quoted(&view.name)))
        .at(span, format!("{} is {}", quoted(&view.name), view.describe()))
        .help("use coordinates that the dimensions have: slices are never cut to fit")
}
