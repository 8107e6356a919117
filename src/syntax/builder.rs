//! What the grammar's actions call: puts expressions into the arena and measures how deep they nest.
//!
//! ```text
//! a + b + c + d     depth 2: the left operand of an operator does not count
//! a ** b ** c ** d  depth 4: everything else does
//! ```
//!
//! Code that walks the tree follows left operands in a loop and recurses into the rest, so a depth of at most
//! [`MAX_NESTING`] keeps every walker's stack small, however long a sum is.

use super::ast::*;
use super::lexer::Comment;
use super::number::{Number, parse_number};
use super::strings::unescape;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::{SourceId, Span};
use std::sync::Arc;

/// How deep brackets and expressions may nest.
pub const MAX_NESTING: usize = 256;

/// The tree in the making.
pub(super) struct Builder<'s> {
    /// What is built so far; expressions of items that were given up stay in it, unreachable.
    pub(super) ast: Ast,
    /// What the grammar accepts and the language does not.
    pub(super) problems: Vec<Diagnostic>,
    /// The first expression that nests too deeply.
    pub(super) too_deep: Option<Span>,
    /// The labels of `a[y=3]`, which scripts may not have.
    pub(super) named_indices: Vec<Span>,
    text: &'s str,
    /// Those that no item has taken as documentation yet.
    comments: &'s [Comment],
    /// Per expression of the arena.
    depths: Vec<u32>,
}

impl<'s> Builder<'s> {
    /// A builder for the file `source` with that text and those comments, in order.
    pub(super) fn new(source: SourceId, text: &'s str, comments: &'s [Comment]) -> Self {
        let ast = Ast::new(source);
        let (problems, named_indices, depths) = Default::default();
        Builder { ast, problems, too_deep: None, named_indices, text, comments, depths }
    }

    /// The bytes `l..r` of this file.
    pub(super) fn span(&self, l: u32, r: u32) -> Span {
        Span { source: self.ast.source, start: l, end: r }
    }

    fn slice(&self, l: u32, r: u32) -> &'s str {
        &self.text[l as usize..r as usize]
    }

    // ------------------------------------------------------------ items

    pub(super) fn item(&mut self, kind: ItemKind, l: u32, r: u32) {
        let doc = self.take_doc(l);
        let span = self.span(l, r);
        self.ast.items.push(Item { kind, span, doc });
    }

    /// The `##` lines between the previous item and byte `l`.
    fn take_doc(&mut self, l: u32) -> Vec<Arc<str>> {
        let previous = self.ast.items.last().map_or(0, |item| item.span.end);
        let (before, after) = self.comments.split_at(self.comments.partition_point(|c| c.start < l));
        self.comments = after;
        let lines = before.iter().filter(|comment| comment.documents && comment.start >= previous);
        lines.map(|comment| doc_line(self.slice(comment.start, comment.end))).collect()
    }

    pub(super) fn ident(&mut self, l: u32, r: u32) -> Ident {
        Ident { name: self.slice(l, r).into(), span: self.span(l, r) }
    }

    pub(super) fn str_lit(&mut self, l: u32, r: u32) -> StrLit {
        let inner = self.slice(l + 1, r - 1);
        StrLit { value: unescape(inner).into(), span: self.span(l, r) }
    }

    /// Refuses what is not a name followed by slices and methods.
    pub(super) fn view(&mut self, id: ExprId) -> ExprId {
        if !self.ast.is_view(id) {
            let problem = Diagnostic::new(Code::E0117, "this is not a view of a tensor")
                .at(self.ast.span(id), "expected a name, slices and view ops")
                .help("compute the values in a `tensor` item, then view that");
            self.problems.push(problem);
        }
        id
    }

    /// A bound marked `*`, which only signed literals and names may be.
    pub(super) fn implicit(&mut self, value: ExprId, r: u32) -> Bound {
        let inner = if let Expr::Unary(UnaryOp::Neg, inner) = self.ast.expr(value) { *inner } else { value };
        if !matches!(self.ast.expr(inner), Expr::Int(_) | Expr::Name(_) | Expr::Inf) {
            let problem = Diagnostic::new(Code::E0118, "`*` marks only a number or a name as implicit")
                .at(self.span(r - 1, r), "marks the bound before it")
                .with(self.ast.span(value), "neither a signed number nor a name")
                .help("add a `let` for the bound and mark its name: `0..n*`");
            self.problems.push(problem);
        }
        Bound { value, implicit: true }
    }

    // ------------------------------------------------------------ expressions

    fn push(&mut self, expr: Expr, span: Span, depth: u32) -> ExprId {
        if depth as usize > MAX_NESTING {
            self.too_deep.get_or_insert(span);
        }
        self.depths.push(depth);
        self.ast.push(expr, span)
    }

    /// One more than the deepest of `children`.
    fn above(&self, children: impl IntoIterator<Item = ExprId>) -> u32 {
        let deepest = children.into_iter().map(|child| self.depths[child.0 as usize]).max();
        deepest.unwrap_or(0).saturating_add(1)
    }

    pub(super) fn leaf(&mut self, expr: Expr, l: u32, r: u32) -> ExprId {
        let span = self.span(l, r);
        self.push(expr, span, 1)
    }

    pub(super) fn number(&mut self, l: u32, r: u32) -> ExprId {
        let number = parse_number(self.slice(l, r)).expect("the lexer passes good numbers only");
        let expr = match number {
            Number::Int(value) => Expr::Int(value),
            Number::Float(value) => Expr::Float(value),
        };
        self.leaf(expr, l, r)
    }

    pub(super) fn name(&mut self, ident: Ident) -> ExprId {
        self.push(Expr::Name(ident.name), ident.span, 1)
    }

    pub(super) fn string(&mut self, literal: StrLit) -> ExprId {
        self.push(Expr::Str(literal.value), literal.span, 1)
    }

    pub(super) fn paren(&mut self, inner: ExprId, l: u32, r: u32) -> ExprId {
        self.push(Expr::Paren(inner), self.span(l, r), self.above([inner]))
    }

    pub(super) fn unary(&mut self, op: UnaryOp, l: u32, operand: ExprId) -> ExprId {
        let span = self.span(l, self.ast.span(operand).end);
        self.push(Expr::Unary(op, operand), span, self.above([operand]))
    }

    pub(super) fn binary(&mut self, op: BinaryOp, a: ExprId, c: ExprId) -> ExprId {
        let span = self.ast.span(a).to(self.ast.span(c));
        // A left operand that is an operator itself is reached by the same loop.
        let same_loop = matches!(self.ast.expr(a), Expr::Binary(..));
        let left = if same_loop { self.depths[a.0 as usize] } else { self.above([a]) };
        self.push(Expr::Binary(op, a, c), span, left.max(self.above([c])))
    }

    pub(super) fn choice(&mut self, l: u32, condition: ExprId, then: ExprId, otherwise: ExprId) -> ExprId {
        let span = self.span(l, self.ast.span(otherwise).end);
        let depth = self.above([condition, then, otherwise]);
        self.push(Expr::If { condition, then, otherwise }, span, depth)
    }

    pub(super) fn reduce(&mut self, kind: Ident, binders: Vec<Binder>, body: ExprId) -> ExprId {
        let span = kind.span.to(self.ast.span(body));
        let depth = self.above(binders.iter().flat_map(|binder| [binder.lo, binder.hi]).chain([body]));
        self.push(Expr::Reduce { kind, binders, body }, span, depth)
    }

    pub(super) fn call(&mut self, function: Ident, args: Vec<ExprId>, r: u32) -> ExprId {
        let span = self.span(function.span.start, r);
        let depth = self.above(args.iter().copied());
        self.push(Expr::Call { function, args }, span, depth)
    }

    pub(super) fn method(&mut self, object: ExprId, name: Ident, args: Vec<ExprId>, r: u32) -> ExprId {
        let span = self.span(self.ast.span(object).start, r);
        let depth = self.above(args.iter().copied().chain([object]));
        self.push(Expr::Method { object, name, args }, span, depth)
    }

    pub(super) fn index(&mut self, object: ExprId, indices: Vec<Index>, r: u32) -> ExprId {
        let span = self.span(self.ast.span(object).start, r);
        let depth = self.above(indices.iter().flat_map(Index::exprs).chain([object]));
        self.push(Expr::Index { object, indices }, span, depth)
    }

    pub(super) fn index_entry(&mut self, label: Option<Ident>, kind: IndexKind, l: u32, r: u32) -> Index {
        self.named_indices.extend(label.as_ref().map(|label| label.span));
        Index { label, kind, span: self.span(l, r) }
    }

    pub(super) fn block(&mut self, lets: Vec<(Ident, ExprId)>, result: ExprId, l: u32, r: u32) -> ExprId {
        let depth = self.above(lets.iter().map(|(_, value)| *value).chain([result]));
        self.push(Expr::Block { lets, result }, self.span(l, r), depth)
    }

    pub(super) fn map(&mut self, entries: Vec<(ExprId, ExprId)>, l: u32, r: u32) -> ExprId {
        let depth = self.above(entries.iter().map(|(_, value)| *value));
        self.push(Expr::Map(entries), self.span(l, r), depth)
    }

    pub(super) fn list(&mut self, list: List) -> ExprId {
        let depth = self.above(list.items.iter().copied());
        self.push(Expr::List(list.items), list.span, depth)
    }

    pub(super) fn range(&mut self, lo: ExprId, hi: ExprId) -> ExprId {
        let span = self.ast.span(lo).to(self.ast.span(hi));
        self.push(Expr::Range(lo, hi), span, self.above([lo, hi]))
    }
}

/// `## Rolling hills` -> `Rolling hills`
fn doc_line(comment: &str) -> Arc<str> {
    let text = comment.strip_prefix("##").unwrap_or(comment).trim_end();
    text.strip_prefix(' ').unwrap_or(text).into()
}
