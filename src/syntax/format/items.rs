//! An item -> its tokens and where its lines may break.
//!
//! ```text
//! tensor parts: f32[x: inf]          a tensor with windows: one clause per line
//!     window [256] as [i]
//! = body
//!
//! tensor height: f32[x: inf] =       any other item: the value on its own line if it was, or if it must
//!     body
//!
//! tensor depth: f32[x: inf] = {      a block or a table opens on the line of the head
//!     let a = b;
//!     body
//! }
//! ```

use super::layout::{Break, Op, Script, When};
use crate::syntax::ast::*;
use crate::syntax::token::Kind;

/// Columns by which a line that goes on is moved in.
pub(super) const STEP: usize = 4;

/// The layout of one item of the script.
pub(super) fn item_layout(ast: &Ast, item: &Item, script: &Script<'_>) -> Vec<Op> {
    let at = script.tokens.partition_point(|token| token.start < item.span.start);
    let mut pen = Pen { ast, script, at, ops: Vec::new() };
    pen.item(&item.kind);
    debug_assert!(
        script.tokens.get(pen.at).is_none_or(|token| token.start >= item.span.end),
        "all tokens are written"
    );
    pen.ops
}

/// Walks the tree and the tokens in step.
pub(super) struct Pen<'a> {
    pub(super) ast: &'a Ast,
    pub(super) script: &'a Script<'a>,
    /// The next token.
    pub(super) at: usize,
    pub(super) ops: Vec<Op>,
}

impl Pen<'_> {
    /// The kind of the next token.
    pub(super) fn peek(&self) -> Option<Kind> {
        self.script.tokens.get(self.at).map(|token| token.kind)
    }

    /// The next token.
    pub(super) fn token(&mut self) {
        self.ops.push(Op::Token(self.at));
        self.at += 1;
    }

    /// The next token, then a space.
    pub(super) fn word(&mut self) {
        self.token();
        self.space();
    }

    pub(super) fn space(&mut self) {
        self.ops.push(Op::Space);
    }

    pub(super) fn line(&mut self, when: When) {
        self.ops.push(Op::Line(when));
    }

    /// Starts a group whose lines are moved in; [`Pen::keep_break`] takes what it gives.
    pub(super) fn open(&mut self) -> usize {
        self.open_by(STEP)
    }

    /// Starts a group whose lines are moved in by that many columns.
    pub(super) fn open_by(&mut self, columns: usize) -> usize {
        self.ops.push(Op::Open(columns, Break::IfTooLong));
        self.ops.len() - 1
    }

    pub(super) fn close(&mut self) {
        self.ops.push(Op::Close);
    }

    /// Breaks `group` if the user broke the line before the next token.
    pub(super) fn keep_break(&mut self, group: usize) {
        if let (true, Op::Open(_, breaks)) = (self.script.breaks_before(self.at), &mut self.ops[group]) {
            *breaks = Break::Always;
        }
    }

    fn item(&mut self, kind: &ItemKind) {
        self.word();
        match kind {
            ItemKind::Use(_) => self.token(),
            ItemKind::Param { ty, value, .. } => self.param(ty.as_ref(), *value),
            ItemKind::Let { value, .. } | ItemKind::View { value, .. } => self.named_value(*value),
            ItemKind::Fn(item) => self.function(item),
            ItemKind::Window { window, .. } => {
                self.word();
                self.word();
                self.window(window, None);
            }
            ItemKind::Input { ty, format, from, .. } => {
                self.input(ty, format.map(|(levels, _)| levels), from.as_ref());
            }
            ItemKind::Var { ty, chunk, value, .. } => self.var(ty, chunk.as_ref(), *value),
            ItemKind::Tensor(item) => self.tensor(item),
            ItemKind::Output { value, options, .. } => self.output(*value, options),
            ItemKind::Set { target, value } => {
                self.expr(*target);
                self.space();
                self.definition(*value);
            }
        }
    }

    /// `name = value`
    fn named_value(&mut self, value: ExprId) {
        self.word();
        self.definition(value);
    }

    fn param(&mut self, ty: Option<&Ident>, value: ExprId) {
        self.token();
        if ty.is_some() {
            self.word();
            self.token();
        }
        self.space();
        self.definition(value);
    }

    /// `= value` of an item: the value on a line of its own if it was, or if it takes several lines anyway.
    fn definition(&mut self, value: ExprId) {
        self.token();
        let kept = self.script.breaks_before(self.at);
        let when = match self.ast.expr(value) {
            Expr::Reduce { .. } => When::Broken,
            Expr::Binary(..) => When::Fits,
            _ if kept => When::Fits,
            _ => When::Needed,
        };
        self.value(value, when, if kept { Break::Always } else { Break::IfTooLong });
    }

    fn function(&mut self, item: &FnItem) {
        self.token();
        self.list(&item.params, Self::fn_param);
        self.space();
        if item.result.is_some() {
            self.word();
            self.word();
        }
        self.definition(item.body);
    }

    fn fn_param(&mut self, param: &FnParam) {
        self.token();
        if param.ty.is_some() {
            self.word();
            self.token();
        }
        if let Some(default) = param.default {
            self.space();
            self.word();
            self.expr(default);
        }
    }

    fn input(&mut self, ty: &TensorType, format: Option<ExprId>, from: Option<&InputFrom>) {
        self.tensor_type(ty);
        if let Some(levels) = format {
            self.space();
            self.word();
            self.expr(levels);
        }
        if from.is_some() {
            self.space();
            self.word();
            self.token();
        }
    }

    fn var(&mut self, ty: &TensorType, chunk: Option<&List>, value: ExprId) {
        self.tensor_type(ty);
        self.space();
        if let Some(sizes) = chunk {
            self.word();
            self.expr_list(&sizes.items);
            self.space();
        }
        self.definition(value);
    }

    fn output(&mut self, value: ExprId, options: &[OutputOption]) {
        self.word();
        self.word();
        self.expr(value);
        let group = self.open();
        for option in options {
            self.keep_break(group);
            self.line(When::Broken);
            self.word();
            self.expr(option.value);
        }
        self.close();
    }

    // ------------------------------------------------------------ tensors

    fn tensor(&mut self, item: &TensorItem) {
        self.tensor_type(&item.ty);
        let windowed =
            item.clauses.iter().any(|clause| matches!(clause, Clause::Window { .. } | Clause::Take { .. }));
        self.clauses(&item.clauses, if windowed { Break::Always } else { Break::IfTooLong });
        match item.body {
            TensorBody::Expr(body) => self.definition(body),
            TensorBody::Extern { ref args, .. } => {
                self.word();
                self.word();
                self.token();
                self.expr_list(args);
            }
        }
    }

    /// The clauses and what comes before the `=`, which stands on its own line if they do.
    fn clauses(&mut self, clauses: &[Clause], breaks: Break) {
        if clauses.is_empty() {
            return self.space();
        }
        self.ops.push(Op::Open(STEP, breaks));
        self.keep_break(self.ops.len() - 1);
        for clause in clauses {
            self.line(When::Broken);
            self.clause(clause);
        }
        self.line(When::Broken);
        self.close();
    }

    /// `name: f32[y: inf]`
    fn tensor_type(&mut self, ty: &TensorType) {
        self.token();
        self.word();
        self.token();
        self.list(&ty.dims, Self::dim);
    }

    fn dim(&mut self, dim: &Dim) {
        self.token();
        self.word();
        match &dim.extent {
            Extent::Count(bound) => self.bound(bound),
            Extent::Range(lo, hi) => {
                self.bound(lo);
                self.range_sign(&[lo.value, hi.value]);
                self.bound(hi);
            }
        }
    }

    fn bound(&mut self, bound: &Bound) {
        self.expr(bound.value);
        if bound.implicit {
            self.token();
        }
    }

    fn clause(&mut self, clause: &Clause) {
        self.word();
        match clause {
            Clause::Window { window, locals, .. } => self.window(window, locals.as_deref()),
            Clause::Take { source, window, .. } => {
                self.word();
                self.word();
                self.expr(*source);
                self.space();
                self.word();
                self.window(window, None);
            }
            Clause::Blend { kind, init, .. } => self.blend(kind, *init),
            Clause::Chunk { sizes, .. } => self.expr_list(&sizes.items),
            Clause::Format { levels, .. } => self.expr(*levels),
        }
    }

    fn blend(&mut self, kind: &BlendKind, init: Option<ExprId>) {
        match kind {
            BlendKind::Named(_) => self.token(),
            BlendKind::Custom { old, new, body } => {
                self.list(&[old, new], |pen, _| pen.token());
                self.space();
                self.token();
                self.value(*body, When::Needed, Break::IfTooLong);
            }
        }
        if let Some(init) = init {
            self.space();
            self.word();
            self.expr(init);
        }
    }

    /// `[8, 8] stride [4, 4] as [i, j]`: as many parts on a line as fit.
    fn window(&mut self, window: &WindowSpec, locals: Option<&[Ident]>) {
        self.open();
        match &window.size {
            Some(size) => self.expr_list(&size.items),
            None => self.token(),
        }
        for part in &window.parts {
            let (WindowPart::Stride(list) | WindowPart::Offset(list) | WindowPart::Map(list)) = part;
            self.window_part(|pen| pen.expr_list(&list.items));
        }
        if let Some(locals) = locals {
            self.window_part(|pen| pen.list(locals, |pen, _| pen.token()));
        }
        self.close();
    }

    /// A word and its list.
    fn window_part(&mut self, list: impl FnOnce(&mut Self)) {
        self.line(When::Needed);
        self.open_by(0);
        self.word();
        list(self);
        self.close();
    }
}
