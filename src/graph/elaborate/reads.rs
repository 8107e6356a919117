//! Brackets: element reads of views, takes and tables; slices of views.
//!
//! ```text
//! height[y + 1, x]      an element        height[0:10, :]     a view        b[i, j]     an element of a take
//! ```
//!
//! Every read leaves an obligation per coordinate, which the access stage proves.

use super::operators::Operand;
use super::{Elaborator, Value};
use crate::diagnostic::{Code, Diagnostic, Result, counted, given, quoted};
use crate::graph::body::{Coord, NodeId, Obligation, Op, Place, Table, TargetKind, TensorId};
use crate::graph::follow::{Followed, Limit, Walk};
use crate::graph::scalar::{BinaryFn, Scalar};
use crate::graph::types::Ty;
use crate::graph::view::{View, dimension_label, row_major};
use crate::graph::window::Take;
use crate::index::Interval;
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprId, Index, IndexKind};
use std::sync::Arc;

/// What is read, as the user calls it, and its dimensions.
struct Target<'t> {
    kind: TargetKind,
    name: &'t Arc<str>,
    base: Option<TensorId>,
    /// Label or position, and the range that coordinates must lie in.
    dims: Vec<(Arc<str>, Interval)>,
}

impl Elaborator<'_, '_> {
    /// `a[…]`: an element if there is a plain expression per dimension, else a slice.
    pub(super) fn index(&mut self, object: ExprId, indices: &[Index], span: Span) -> Result<Value> {
        let plain = plain_indices(indices);
        match self.value(object)? {
            Value::View(view) => match plain {
                Some(coords) if coords.len() == view.rank() && !self.owner.views_only => {
                    self.read_view(&view, &coords, span).map(Value::Node)
                }
                Some(coords) if !self.owner.views_only && self.any_varies(&coords)? => {
                    wrong_rank(&view, coords.len(), span)
                }
                _ => Ok(Value::View(Arc::new(self.slice(&view, indices, span)?))),
            },
            Value::Take(take) => {
                let coords = self.element_only(&take.name, &take.sizes, indices, span)?;
                self.read_take(&take, &coords, span).map(Value::Node)
            }
            Value::Table(table) => {
                let coords = self.element_only(&table.name, &table.shape, indices, span)?;
                self.read_table(&table, &coords, span).map(Value::Node)
            }
            Value::Node(node) => self.not_indexed(object, node).err(),
        }
    }

    fn not_indexed(&self, object: ExprId, node: NodeId) -> Diagnostic {
        let name = self.text(object);
        let quoted = quoted(&name);
        let hidden = self.checker.modules.lookup(self.frame().id, &name).and_then(|symbol| {
            let id = self.checker.tensor_ids.get(&symbol)?.as_ref().ok()?;
            Some(self.checker.tensors[id.index()].span)
        });
        match hidden {
            Some(span) => {
                let message = format!("{quoted} is a coordinate here, which hides the tensor {quoted}");
                Diagnostic::new(Code::E0207, message)
                    .at(self.span(object), self.a(node))
                    .with(span, "this tensor is hidden")
                    .help(format!("give the dimension or the tensor another name than {quoted}"))
            }
            None => Diagnostic::new(Code::E0207, format!("{quoted} is a number and cannot be indexed"))
                .at(self.span(object), self.a(node))
                .help("index a tensor, a view, a `take` or a table"),
        }
    }

    /// Whether a coordinate is not constant: then an element was meant, not a slice.
    fn any_varies(&mut self, coords: &[ExprId]) -> Result<bool> {
        let nodes = coords.iter().map(|expr| self.number(*expr)).collect::<Result<Vec<_>>>()?;
        Ok(nodes.iter().any(|node| self.body.constant(*node).is_none()))
    }

    fn element_only(
        &self,
        name: &Arc<str>,
        shape: &[i64],
        indices: &[Index],
        span: Span,
    ) -> Result<Vec<ExprId>> {
        plain_indices(indices).filter(|coords| coords.len() == shape.len()).ok_or_else(|| {
            let coordinates = counted(shape.len(), "coordinate");
            let message = if indices.len() == shape.len() {
                format!("{} takes {coordinates}, but a slice is given", quoted(name))
            } else {
                format!("{} takes {coordinates}, but {}", quoted(name), are_given(indices.len()))
            };
            Box::new(
                Diagnostic::new(Code::E0314, message)
                    .at(span, format!("{} has shape {shape:?}", quoted(name)))
                    .help(format!(
                        "write one coordinate per dimension: `{}`",
                        super::example_entry(name, shape.len())
                    )),
            )
        })
    }

    fn read_view(&mut self, view: &View, coords: &[ExprId], span: Span) -> Result<NodeId> {
        let dims = view.domain().dims().iter().enumerate();
        let dims = dims.map(|(at, dim)| (dimension_label(at, dim), dim.enforced())).collect();
        let nodes = self.coordinates(coords)?;
        let followed = self.walk(span).read(view, nodes.clone());
        let node = followed.value;
        self.oblige(
            node,
            &Target { kind: TargetKind::View, name: &view.name, base: Some(view.base), dims },
            &nodes,
            coords,
        );
        self.oblige_base(view, &followed, span);
        self.oblige_steps(&view.name, &followed, span);
        Ok(node)
    }

    /// `take b = source window …`: element `b[i]` is the source at `offset + stride * window number + i`.
    fn read_take(&mut self, take: &Take, coords: &[ExprId], span: Span) -> Result<NodeId> {
        let nodes = self.coordinates(coords)?;
        let source: Vec<NodeId> =
            (0..nodes.len()).map(|dim| self.take_coordinate(take, dim, nodes[dim], span)).collect();
        let mut followed = self.walk(span).read(&take.source, source.clone());
        followed.limits.extend((0..nodes.len()).filter_map(|dim| self.take_limit(take, dim, span)));
        let node = followed.value;
        let source_dims = || take.source.domain().dims().iter().enumerate();
        let sizes = take.sizes.iter().zip(source_dims());
        let dims = sizes.map(|(size, (at, dim))| (dimension_label(at, dim), interval(0, *size))).collect();
        self.oblige(
            node,
            &Target { kind: TargetKind::Take, name: &take.name, base: None, dims },
            &nodes,
            coords,
        );
        let dims = source_dims().map(|(at, dim)| (dimension_label(at, dim), dim.enforced())).collect();
        self.oblige(
            node,
            &Target { kind: TargetKind::TakeSource, name: &take.source.name, base: None, dims },
            &source,
            coords,
        );
        self.oblige_base(&take.source, &followed, span);
        self.oblige_steps(&take.source.name, &followed, span);
        Ok(node)
    }

    /// Where bounds on the way to the base are not enforced, the read of the base itself must be proven.
    fn oblige_base(&mut self, view: &View, followed: &Followed, span: Span) {
        if !view.is_loose() {
            return;
        }
        let base = self.checker.tensors[view.base.index()].clone();
        let dims = base.domain.dims().iter().enumerate().zip(base.readable());
        for (((at, dim), range), coord) in dims.zip(&followed.coords) {
            let place = Place { span, text: "…".into(), calls: self.calls.as_slice().into() };
            let (kind, what) = (TargetKind::View, base.name.clone());
            let (read, coord, dim) = (followed.read, *coord, dimension_label(at, dim));
            self.body.oblige(Obligation { kind, read, coord, range, what, base: None, dim, place });
        }
    }

    /// What views and windows work out on the way to the base must be coordinates.
    fn oblige_steps(&mut self, what: &Arc<str>, followed: &Followed, span: Span) {
        for Limit { coord, range, dim } in &followed.limits {
            let place = Place { span, text: "…".into(), calls: self.calls.as_slice().into() };
            self.body.oblige(Obligation {
                kind: TargetKind::Steps,
                read: followed.read,
                coord: *coord,
                range: *range,
                what: what.clone(),
                base: None,
                dim: dim.clone(),
                place,
            });
        }
    }

    /// The numbers of windows whose slice of the source has coordinates only.
    fn take_limit(&mut self, take: &Take, dim: usize, span: Span) -> Option<Limit> {
        let driver = take.map[dim]?;
        let coord = self.body.push(Op::Coord(Coord::Window(driver as u32)), Ty::WeakInt, span);
        let first = i128::from(take.offset[dim]);
        let last = first + i128::from(take.sizes[dim]) - 1;
        let [first, last] = [first, last].map(|offset| Interval::into_space(offset, take.stride[dim]));
        let dim = dimension_label(dim, &take.source.domain().dims()[dim]);
        Some(Limit { coord, range: first.intersect(last), dim })
    }

    fn take_coordinate(&mut self, take: &Take, dim: usize, local: NodeId, span: Span) -> NodeId {
        let start = self.body.weak_int(take.offset[dim], span);
        let start = match take.map[dim] {
            None => start,
            Some(driver) => {
                let window = self.body.push(Op::Coord(Coord::Window(driver as u32)), Ty::WeakInt, span);
                let moved = self.walk(span).scaled(window, take.stride[dim]);
                self.walk(span).int(BinaryFn::Add, moved, start)
            }
        };
        self.walk(span).int(BinaryFn::Add, start, local)
    }

    fn read_table(&mut self, table: &Arc<Table>, coords: &[ExprId], span: Span) -> Result<NodeId> {
        let nodes = self.coordinates(coords)?;
        if let Some(value) = self.constant_entry(table, &nodes) {
            return Ok(self.body.push(Op::Const(value), table.ty, span));
        }
        let id = self.body.table(table.clone());
        let node = self.body.push(Op::Table(id, nodes.clone()), table.ty, span);
        let sizes = table.shape.iter().enumerate();
        let dims = sizes.map(|(at, size)| (at.to_string().into(), interval(0, *size))).collect();
        self.oblige(
            node,
            &Target { kind: TargetKind::Table, name: &table.name, base: None, dims },
            &nodes,
            coords,
        );
        Ok(node)
    }

    /// The entry that constant coordinates pick, when they are in range.
    fn constant_entry(&self, table: &Table, coords: &[NodeId]) -> Option<Scalar> {
        let mut position = 0;
        for ((coord, size), stride) in coords.iter().zip(&table.shape).zip(row_major(&table.shape)) {
            let at = self.body.constant_int(*coord).filter(|at| (0..*size).contains(at))?;
            position += at * stride;
        }
        table.values.get(position as usize).copied()
    }

    /// Coordinates: integers of any type, as i64.
    fn coordinates(&mut self, coords: &[ExprId]) -> Result<Vec<NodeId>> {
        coords.iter().map(|expr| self.coordinate(*expr)).collect()
    }

    fn coordinate(&mut self, expr: ExprId) -> Result<NodeId> {
        let node = self.number(expr)?;
        let span = self.span(expr);
        if self.body.ty(node).is_int() {
            return Ok(self.as_i64(node, span));
        }
        Diagnostic::new(Code::E0406, format!("a coordinate must be an integer, but this is {}", self.a(node)))
            .at(span, "not an integer")
            .help(self.rounding(expr))
            .err()
    }

    /// How to make a float a coordinate.
    fn rounding(&self, expr: ExprId) -> String {
        let text = self.bare_text(expr);
        if let Some(rounded) = self.rounded_division(expr) {
            return format!("{rounded}, or `i64({text})` to cut off");
        }
        let whole = ["floor", "ceil", "round", "trunc"];
        if matches!(self.bare(expr), Expr::Call { function, .. } if whole.contains(&&*function.name)) {
            return format!("convert it: `i64({text})`");
        }
        format!("round it: `i64(floor({text}))`")
    }

    /// Records what the access stage has to prove about the coordinates of `read`.
    fn oblige(&mut self, read: NodeId, target: &Target<'_>, nodes: &[NodeId], exprs: &[ExprId]) {
        for ((node, expr), (dim, range)) in nodes.iter().zip(exprs).zip(&target.dims) {
            let place = self.place(*expr);
            let (what, dim) = (target.name.clone(), dim.clone());
            self.body.oblige(Obligation {
                kind: target.kind,
                read,
                coord: *node,
                range: *range,
                what,
                base: target.base,
                dim,
                place,
            });
        }
    }

    fn place(&self, expr: ExprId) -> Place {
        Place {
            span: self.span(expr),
            text: self.bare_text(expr).into(),
            calls: self.calls.as_slice().into(),
        }
    }

    fn walk(&mut self, span: Span) -> Walk<'_> {
        Walk { body: &mut self.body, arms: &mut self.arms, arm: self.arm, span, limits: Vec::new() }
    }

    /// A number given to an op that takes an element of the view: `.pad(…, value)`, `.fill(value)`.
    pub(super) fn element_value(&mut self, view: &View, expr: ExprId, what: &str) -> Result<Scalar> {
        let node = self.number(expr)?;
        let node = self.coerce(Operand { node, expr }, view.element, what)?;
        let span = self.span(expr);
        let value = self.checker.evaluate(&self.body, node, view.element);
        value.map_err(|why| super::no_value(why, span, what))
    }
}

fn are_given(coordinates: usize) -> String {
    format!("{coordinates} {} given", if coordinates == 1 { "is" } else { "are" })
}

fn wrong_rank<T>(view: &View, coordinates: usize, span: Span) -> Result<T> {
    let rank = counted(view.rank(), "dimension");
    let message = format!("{} has {rank}, but {}", quoted(&view.name), given(coordinates, "coordinate"));
    Diagnostic::new(Code::E0314, message)
        .at(span, format!("{} is {}", quoted(&view.name), view.describe()))
        .help(format!("write one coordinate per dimension: `{}{}`", view.name, view.example_index()))
        .err()
}

/// The expressions between brackets when none is a slice, named or `...`.
fn plain_indices(indices: &[Index]) -> Option<Vec<ExprId>> {
    let plain = |index: &Index| match index {
        Index { label: None, kind: IndexKind::At(expr), .. } => Some(*expr),
        Index { .. } => None,
    };
    indices.iter().map(plain).collect()
}

fn interval(lo: i64, hi: i64) -> Interval {
    Interval::new(lo, hi.max(lo)).unwrap_or(Interval::all())
}
