//! Windows that neither overlap nor leave gaps -> a body like any other.
//!
//! ```text
//! tensor rows: f32[x: inf] window [512] as [i]           take s = base window [516] stride [512] offset [-2]
//!     = s[i] + s[i + 4]                                   s[i] is base[512 * w + i - 2]
//!
//! rows[x] = 0 + (base[x - 2] + base[x + 2])               the number of the window cancels out
//! ```
//!
//! Every element has one window, so its value is what that window makes of the initial value. Where the body asks for a
//! place inside the window by itself, the windows stay: a remainder per element would cost more than they do.

use crate::access::TensorAccess;
use crate::access::footprint::by_global;
use crate::access::linear::{Atom, Linear};
use crate::graph::body::{Body, Coord, NodeId, Op};
use crate::graph::resolve_weak::Resolved;
use crate::graph::scalar::{BinaryFn, Scalar};
use crate::graph::types::{Element, Ty};
use crate::graph::{Blend, BlendKind, Tensor, WindowBody, Windowed};
use crate::index::{Interval, Window};
use crate::source::Span;

/// The body without windows, if every element has one window and nothing else asks for its number.
pub(super) fn without_windows(
    tensor: &Tensor,
    windowed: &Windowed,
    access: &TensorAccess,
) -> Option<Resolved> {
    let WindowBody::Expr(resolved) = &windowed.body else { return None };
    let windows = &windowed.windows.dims;
    let mut dims = windows.iter().zip(tensor.domain.dims());
    if !dims.all(|(window, dim)| covers_once(*window, dim.interval)) {
        return None;
    }
    let mut copy = Copy { body: empty_like(&resolved.body), new: Vec::new() };
    for (id, node) in resolved.body.nodes() {
        let form = access.forms.get(&id).filter(|_| node.ty == INDEX);
        let global = form.and_then(|form| by_global(form, windows));
        let by_form = global.and_then(|form| copy.form(&form, node.span));
        let id = by_form.or_else(|| copy.structure(&node.op, node.ty, node.span));
        copy.new.push(id);
    }
    let value = copy.new[resolved.root.index()]?;
    let root = blended(&mut copy.body, &windowed.blend, value)?;
    Some(Resolved { body: copy.body, root })
}

const INDEX: Ty = Ty::Strong(Element::I64);

/// Whether every coordinate lies in just one window, and that window inside.
fn covers_once(window: Window, domain: Interval) -> bool {
    let hull = || window.hull(window.inside(domain).ok()?).ok();
    window.size() == window.stride() && (domain == Interval::all() || hull() == Some(domain))
}

/// A body without nodes, with the same tables and reduction variables.
pub(super) fn empty_like(body: &Body) -> Body {
    let mut empty = Body::default();
    empty.binders.extend(body.binders.iter().cloned());
    empty.tables.extend(body.tables.iter().cloned());
    empty
}

/// What the only window makes of the initial value; `None` for what a script defines itself.
fn blended(body: &mut Body, blend: &Blend, value: NodeId) -> Option<NodeId> {
    let function = match &blend.kind {
        BlendKind::First | BlendKind::Last | BlendKind::Mean => return Some(value),
        BlendKind::Sum => BinaryFn::Add,
        BlendKind::Product => BinaryFn::Mul,
        BlendKind::Min => BinaryFn::Min,
        BlendKind::Max => BinaryFn::Max,
        BlendKind::Custom(_) => return None,
    };
    let (ty, span) = (body.ty(value), body.node(value).span);
    let init = body.strong(blend.init, span);
    (body.ty(init) == ty).then(|| body.push(Op::Binary(function, init, value), ty, span))
}

/// The new body, and what became of every node of the old one: `None` needs the number of a window.
struct Copy {
    body: Body,
    new: Vec<Option<NodeId>>,
}

impl Copy {
    /// The same operation on what became of its operands.
    fn structure(&mut self, op: &Op, ty: Ty, span: Span) -> Option<NodeId> {
        if let Op::Coord(Coord::Local(_) | Coord::Window(_)) = op {
            return None;
        }
        if op.args().iter().any(|arg| self.new[arg.index()].is_none()) {
            return None;
        }
        let op = op.clone().with_args(|arg| self.new[arg.index()].unwrap_or(arg));
        Some(self.body.push(op, ty, span))
    }

    /// The nodes of a linear form, if it has no place inside a window.
    fn form(&mut self, form: &Linear, span: Span) -> Option<NodeId> {
        let mut sum: Option<NodeId> = None;
        for (atom, factor) in &form.terms {
            let atom = self.atom(atom, span)?;
            let term = match factor {
                1 => atom,
                _ => {
                    let factor = self.int(*factor, span);
                    self.body.binary(BinaryFn::Mul, atom, factor, INDEX, span)
                }
            };
            sum = Some(match sum {
                None => term,
                Some(sum) => self.body.binary(BinaryFn::Add, sum, term, INDEX, span),
            });
        }
        match (sum, form.offset) {
            (Some(sum), 0) => Some(sum),
            (Some(sum), by) => {
                let by = self.int(by, span);
                Some(self.body.binary(BinaryFn::Add, sum, by, INDEX, span))
            }
            (None, value) => Some(self.int(value, span)),
        }
    }

    fn atom(&mut self, atom: &Atom, span: Span) -> Option<NodeId> {
        match atom {
            Atom::Coord(Coord::Local(_) | Coord::Window(_)) | Atom::Floor(_) => None,
            Atom::Coord(coord) => Some(self.body.push(Op::Coord(*coord), INDEX, span)),
            Atom::Node(node) => self.new[node.index()],
        }
    }

    fn int(&mut self, value: i64, span: Span) -> NodeId {
        self.body.strong(Scalar::i64(value), span)
    }
}
