//! An expression -> its tokens and where its lines may break.
//!
//! ```text
//! a + b * c            fills lines, breaking before `+`; before `*` only in an operand that takes several lines
//! (a + b)              breaks after `(`; the `)` stays with `b`
//! f(a, b)              breaks after `(` and each `,`; then a comma follows the last argument
//! if a then b else c   breaks before each `else`
//! sum(i in 0..9) e     breaks before `e`
//! { let a = b; c }     breaks after `{` and each `;` and before `}`
//! ```

use super::items::{Pen, STEP};
use super::layout::{Break, Op, When};
use crate::syntax::ast::*;
use crate::syntax::token::Kind;

/// A block with more definitions is never written on one line.
const MAX_LETS_ON_A_LINE: usize = 2;

impl Pen<'_> {
    pub(super) fn expr(&mut self, id: ExprId) {
        match self.ast.expr(id) {
            Expr::Int(_) | Expr::Float(_) | Expr::Bool(_) | Expr::Inf | Expr::Str(_) | Expr::Name(_) => {
                self.token()
            }
            Expr::Paren(inner) => self.enclosed(*inner),
            Expr::Unary(op, operand) => self.unary(*op, *operand),
            Expr::Binary(..) => self.operators(id, None),
            Expr::If { .. } => self.choice(id),
            Expr::Reduce { binders, body, .. } => {
                self.token();
                self.list(binders, Self::binder);
                self.value(*body, When::Broken, Break::IfTooLong);
            }
            Expr::Call { args, .. } => {
                self.token();
                self.args(args);
            }
            Expr::Method { .. } | Expr::Index { .. } => self.chain(id),
            Expr::Block { lets, result } => self.block(lets, *result),
            Expr::List(items) => self.expr_list(items),
            Expr::Map(entries) => self.list(entries, |pen, (key, value)| {
                pen.expr(*key);
                pen.word();
                pen.expr(*value);
            }),
            Expr::Range(lo, hi) => self.range(*lo, *hi),
        }
    }

    /// What follows a `=`, `then`, `else` or the like: on the same line, or moved in below.
    pub(super) fn value(&mut self, value: ExprId, when: When, breaks: Break) {
        let when = match self.ast.expr(value) {
            Expr::Block { .. } | Expr::List(_) | Expr::Map(_) => {
                self.space();
                return self.expr(value);
            }
            Expr::If { .. } => When::Broken,
            _ => when,
        };
        self.ops.push(Op::Open(STEP, breaks));
        self.line(when);
        self.group(value);
        self.close();
    }

    /// An expression that may fit where what is around it does not.
    fn group(&mut self, id: ExprId) {
        self.open_by(0);
        self.expr(id);
        self.close();
    }

    fn unary(&mut self, op: UnaryOp, operand: ExprId) {
        match op {
            UnaryOp::Neg => self.token(),
            UnaryOp::Not => self.word(),
        }
        self.expr(operand);
    }

    // ------------------------------------------------------------ operators and parentheses

    /// `(e)`: what would stand badly after the bracket on several lines starts on a line of its own.
    fn enclosed(&mut self, inner: ExprId) {
        self.token();
        match self.ast.expr(inner) {
            Expr::Binary(..) => self.operators(inner, Some(Op::Soft(When::Fits))),
            Expr::If { .. } => {
                self.open();
                self.ops.push(Op::Soft(When::Broken));
                self.expr(inner);
                self.close();
            }
            _ => self.expr(inner),
        }
        self.token();
    }

    /// `a + b - c`: operands of one precedence, as many on a line as fit, after `start`.
    fn operators(&mut self, id: ExprId, start: Option<Op>) {
        let (first, rest, level) = self.same_precedence(id);
        self.open();
        self.ops.extend(start);
        self.group(first);
        let mut is_coefficient = level <= FACTORS && self.is_short(first);
        for operand in rest {
            // A parenthesis is not parted from a coefficient: it can be broken itself.
            let clings = is_coefficient && matches!(self.ast.expr(operand), Expr::Paren(_));
            self.ops.push(if clings { Op::Space } else { Op::Line(When::Needed) });
            self.open_by(0);
            self.word();
            self.expr(operand);
            self.close();
            is_coefficient &= self.is_short(operand);
        }
        self.close();
    }

    /// The first operand, the others in order, and their precedence. Left operands are followed in a loop: a sum may
    /// be long.
    fn same_precedence(&self, mut id: ExprId) -> (ExprId, Vec<ExprId>, u8) {
        let mut rest = Vec::new();
        let mut level = None;
        while let Expr::Binary(op, left, right) = self.ast.expr(id) {
            if *level.get_or_insert(precedence(*op)) != precedence(*op) {
                break;
            }
            rest.push(*right);
            id = *left;
        }
        rest.reverse();
        (id, rest, level.unwrap_or(0))
    }

    // ------------------------------------------------------------ if, blocks

    fn choice(&mut self, mut id: ExprId) {
        let group = self.open_by(0);
        while let Expr::If { condition, then, otherwise } = self.ast.expr(id) {
            self.word();
            self.expr(*condition);
            self.space();
            self.token();
            self.value(*then, When::Needed, Break::IfTooLong);
            self.keep_break(group);
            self.line(When::Broken);
            self.token();
            id = *otherwise;
            if matches!(self.ast.expr(id), Expr::If { .. }) {
                self.space();
            }
        }
        self.value(id, When::Needed, Break::IfTooLong);
        self.close();
    }

    /// On one line only if it was.
    fn block(&mut self, lets: &[(Ident, ExprId)], result: ExprId) {
        let opening = self.at;
        self.token();
        let group = self.open();
        for (place, (_, value)) in lets.iter().enumerate() {
            self.statement(place);
            self.word();
            self.word();
            self.token();
            self.value(*value, When::Needed, Break::IfTooLong);
            self.token();
        }
        self.statement(lets.len());
        self.expr(result);
        self.line(When::Broken);
        self.close();
        if lets.len() > MAX_LETS_ON_A_LINE || self.script.breaks_between(opening, self.at) {
            self.ops[group] = Op::Open(STEP, Break::Always);
        }
        self.token();
    }

    /// Starts a line in a block; an empty line before it stays, but not at the start of the block.
    fn statement(&mut self, place: usize) {
        self.line(When::Broken);
        if place > 0 && self.script.blank_before(self.at) {
            self.ops.push(Op::Blank);
        }
    }

    // ------------------------------------------------------------ names with slices and methods

    /// `a.b().c()[…]`: breaks before the dots when there are several.
    fn chain(&mut self, id: ExprId) {
        let (root, links) = self.links(id);
        let methods =
            links.iter().filter(|link| matches!(self.ast.expr(**link), Expr::Method { .. })).count();
        if methods < 2 {
            self.expr(root);
            return links.into_iter().for_each(|link| self.link(link));
        }
        self.open();
        self.expr(root);
        for link in links {
            let method = matches!(self.ast.expr(link), Expr::Method { .. });
            self.ops.extend(method.then_some(Op::Soft(When::Broken)));
            self.link(link);
        }
        self.close();
    }

    /// `.name(…)` or `[…]`
    fn link(&mut self, link: ExprId) {
        if let Expr::Index { indices, .. } = self.ast.expr(link) {
            self.list(indices, Self::index);
        } else if let Expr::Method { args, .. } = self.ast.expr(link) {
            self.token();
            self.token();
            self.args(args);
        }
    }

    /// What the methods and indices apply to, and these from the inside out.
    fn links(&self, mut id: ExprId) -> (ExprId, Vec<ExprId>) {
        let mut links = Vec::new();
        while let Expr::Method { object, .. } | Expr::Index { object, .. } = self.ast.expr(id) {
            links.push(id);
            id = *object;
        }
        links.reverse();
        (id, links)
    }

    fn index(&mut self, index: &Index) {
        if index.label.is_some() {
            self.token();
            self.token();
        }
        match &index.kind {
            IndexKind::At(at) => self.expr(*at),
            IndexKind::Slice { start, stop, step } => self.slice([*start, *stop, *step]),
            IndexKind::Ellipsis => self.token(),
        }
    }

    /// `a:b:c`, or `a + 1 : b` when a part is long.
    fn slice(&mut self, parts: [Option<ExprId>; 3]) {
        let wide = parts.iter().flatten().any(|part| self.is_wide(*part));
        for (place, part) in parts.into_iter().enumerate() {
            if place > 0 && self.peek() == Some(Kind::Colon) {
                self.ops.extend((wide && place == 1 && parts[0].is_some()).then_some(Op::Space));
                self.ops.extend((wide && place == 2 && parts[1].is_some()).then_some(Op::Space));
                self.token();
                self.ops.extend((wide && part.is_some()).then_some(Op::Space));
            }
            if let Some(part) = part {
                self.expr(part);
            }
        }
    }

    // ------------------------------------------------------------ ranges

    fn binder(&mut self, binder: &Binder) {
        self.word();
        self.word();
        self.range(binder.lo, binder.hi);
    }

    fn range(&mut self, lo: ExprId, hi: ExprId) {
        self.expr(lo);
        self.range_sign(&[lo, hi]);
        self.expr(hi);
    }

    /// `..`, with spaces when one of the ends has some.
    pub(super) fn range_sign(&mut self, ends: &[ExprId]) {
        let wide = ends.iter().any(|end| self.is_wide(*end));
        self.ops.extend(wide.then_some(Op::Space));
        self.token();
        self.ops.extend(wide.then_some(Op::Space));
    }

    fn is_wide(&self, id: ExprId) -> bool {
        matches!(self.ast.expr(id), Expr::Binary(..) | Expr::If { .. } | Expr::Reduce { .. })
    }

    // ------------------------------------------------------------ lists

    /// `(a, b)`; a single argument is laid out like an expression in parentheses.
    fn args(&mut self, args: &[ExprId]) {
        match args {
            [only] if !self.has_trailing_comma(*only) => self.enclosed(*only),
            _ => self.expr_list(args),
        }
    }

    fn has_trailing_comma(&self, only: ExprId) -> bool {
        let end = self.ast.span(only).end;
        let after = self.script.tokens.partition_point(|token| token.start < end);
        self.script.tokens.get(after).is_some_and(|token| token.kind == Kind::Comma)
    }

    /// `[a, b]`: numbers and names fill the lines, rows of a table stay as they are, anything else has a line each.
    pub(super) fn expr_list(&mut self, items: &[ExprId]) {
        let is_row = |item: &ExprId| matches!(self.ast.expr(*item), Expr::List(_));
        if !items.is_empty() && items.iter().all(is_row) && self.script.breaks_before(self.at + 1) {
            return self.table(items);
        }
        let short = items.iter().all(|item| self.is_short(*item));
        let when = if short { When::Needed } else { When::Broken };
        self.separated(items, |_| Op::Line(when), |pen, item| pen.expr(*item));
    }

    /// Rows that start on a line below the bracket: lines break where they did.
    fn table(&mut self, rows: &[ExprId]) {
        let group = self.ops.len() + 1;
        let separator = |pen: &Self| {
            let kept = pen.script.breaks_before(pen.at);
            Op::Line(if kept { When::Broken } else { When::Needed })
        };
        self.separated(rows, separator, |pen, row| pen.expr(*row));
        self.ops[group] = Op::Open(STEP, Break::Always);
    }

    fn is_short(&self, mut id: ExprId) -> bool {
        if let Expr::Unary(UnaryOp::Neg, operand) = self.ast.expr(id) {
            id = *operand;
        }
        self.is_leaf(id)
    }

    fn is_leaf(&self, id: ExprId) -> bool {
        use Expr::{Bool, Float, Inf, Int, Name};
        matches!(self.ast.expr(id), Int(_) | Float(_) | Bool(_) | Inf | Name(_))
    }

    /// Brackets around `items`, a line each when they do not fit.
    pub(super) fn list<T>(&mut self, items: &[T], each: impl Fn(&mut Self, &T)) {
        self.separated(items, |_| Op::Line(When::Broken), each);
    }

    fn separated<T>(&mut self, items: &[T], separator: impl Fn(&Self) -> Op, each: impl Fn(&mut Self, &T)) {
        self.token();
        self.open();
        self.ops.push(Op::Soft(When::Broken));
        for (place, item) in items.iter().enumerate() {
            if place > 0 {
                self.token();
                let separator = separator(self);
                self.ops.push(separator);
            }
            self.open_by(0);
            each(self, item);
            self.close();
        }
        self.trailing_comma(items.len());
        self.ops.push(Op::Soft(When::Broken));
        self.close();
        self.token();
    }

    /// A list that takes several lines ends in a comma, one that takes one line does not.
    fn trailing_comma(&mut self, items: usize) {
        let written = (self.peek() == Some(Kind::Comma)).then_some(self.at);
        self.at += usize::from(written.is_some());
        if items > 0 {
            self.ops.push(Op::Comma(written));
        }
    }
}

/// The precedence of `*`, above which are only powers.
const FACTORS: u8 = 1;

/// Operators of one level associate with each other.
fn precedence(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Pow => 0,
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Rem => FACTORS,
        BinaryOp::Add | BinaryOp::Sub => 2,
        BinaryOp::Shl | BinaryOp::Shr => 3,
        BinaryOp::BitAnd => 4,
        BinaryOp::BitXor => 5,
        BinaryOp::BitOr => 6,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => 7,
        BinaryOp::And => 8,
        BinaryOp::Or => 9,
    }
}
