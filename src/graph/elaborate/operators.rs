//! Operators and `if`: which types meet, and what comes out.

use super::Elaborator;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::graph::body::{MathFn, NodeId, Op};
use crate::graph::scalar::{BinaryFn, UnaryFn};
use crate::graph::types::{Element, Ty};
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, Expr, ExprId};

const BOOL: Ty = Ty::Strong(Element::Bool);

/// An operand and where it was written.
#[derive(Clone, Copy)]
pub(super) struct Operand {
    pub node: NodeId,
    pub expr: ExprId,
}

impl Elaborator<'_, '_> {
    pub(super) fn negate(&mut self, arg: ExprId, span: Span) -> Result<NodeId> {
        let node = self.number(arg)?;
        if !self.body.ty(node).is_number() {
            return self.not_a_number("`-`", arg);
        }
        let ty = self.body.ty(node);
        // A negated literal stays a literal, so that `-0.5` is a constant and `-inf` a bound.
        match self.body.constant(node) {
            Some(value) if ty == Ty::WeakFloat => Ok(self.body.weak_float(-value.to_f64(), span)),
            _ => Ok(self.body.unary(UnaryFn::Neg, node, ty, span)),
        }
    }

    pub(super) fn not(&mut self, arg: ExprId, span: Span) -> Result<NodeId> {
        let node = self.boolean(arg, "`not`")?;
        Ok(self.body.unary(UnaryFn::Not, node, BOOL, span))
    }

    /// A chain `a + b + c` leans to the left and may be long, so it is walked with a loop.
    pub(super) fn binary_spine(&mut self, id: ExprId) -> Result<NodeId> {
        let module = self.frame().module.clone();
        let mut spine = Vec::new();
        let mut first = id;
        while let Expr::Binary(op, left, right) = module.ast.expr(first) {
            spine.push((*op, *left, *right, first));
            first = *left;
        }
        let mut node = self.number(first)?;
        for (op, left, right, whole) in spine.into_iter().rev() {
            self.checked_depth(whole)?;
            let a = Operand { node, expr: left };
            let b = Operand { node: self.number(right)?, expr: right };
            node = self.binary(op, a, b, module.ast.span(whole))?;
        }
        Ok(node)
    }

    fn binary(&mut self, op: BinaryOp, a: Operand, b: Operand, span: Span) -> Result<NodeId> {
        let function = match op {
            BinaryOp::And => return self.logical(BinaryFn::And, op, a, b, span),
            BinaryOp::Or => return self.logical(BinaryFn::Or, op, a, b, span),
            BinaryOp::BitAnd => return self.bitwise(BinaryFn::And, op, a, b, span),
            BinaryOp::BitOr => return self.bitwise(BinaryFn::Or, op, a, b, span),
            BinaryOp::BitXor => return self.bitwise(BinaryFn::Xor, op, a, b, span),
            BinaryOp::Shl => return self.shift(BinaryFn::Shl, op, a, b, span),
            BinaryOp::Shr => return self.shift(BinaryFn::Shr, op, a, b, span),
            BinaryOp::Eq => return self.compare(BinaryFn::Eq, op, a, b, span),
            BinaryOp::Ne => return self.compare(BinaryFn::Ne, op, a, b, span),
            BinaryOp::Lt => return self.compare(BinaryFn::Lt, op, a, b, span),
            BinaryOp::Le => return self.compare(BinaryFn::Le, op, a, b, span),
            BinaryOp::Gt => return self.compare(BinaryFn::Gt, op, a, b, span),
            BinaryOp::Ge => return self.compare(BinaryFn::Ge, op, a, b, span),
            BinaryOp::Pow => return self.power(a, b, span),
            BinaryOp::Div => return self.divide(a, b, span),
            BinaryOp::Mul => BinaryFn::Mul,
            BinaryOp::FloorDiv => BinaryFn::FloorDiv,
            BinaryOp::Rem => BinaryFn::Rem,
            BinaryOp::Add => BinaryFn::Add,
            BinaryOp::Sub => BinaryFn::Sub,
        };
        let ty = self.unify_numbers(&format!("`{}`", op.symbol()), a, b)?;
        Ok(self.body.binary(function, a.node, b.node, ty, span))
    }

    fn divide(&mut self, a: Operand, b: Operand, span: Span) -> Result<NodeId> {
        let ty = match self.unify_numbers("`/`", a, b)? {
            Ty::WeakInt => Ty::WeakFloat,
            Ty::Strong(element) if element.is_int() => return self.divide_integers(element, a, b),
            float => float,
        };
        Ok(self.body.binary(BinaryFn::Div, a.node, b.node, ty, span))
    }

    fn divide_integers(&self, element: Element, a: Operand, b: Operand) -> Result<NodeId> {
        let typed = |operand: &Operand| self.body.ty(operand.node).strong().is_some();
        let own = self.own_element().filter(|own| own.is_float());
        let as_float = |operand: Operand| {
            if typed(&operand) {
                format!("{}({})", own.unwrap_or(Element::F32), self.bare_text(operand.expr))
            } else {
                self.text(operand.expr)
            }
        };
        let down = format!("{} // {}", self.text(a.expr), self.text(b.expr));
        let message = format!("`/` divides floats, but `{element}` is an integer type");
        let diagnostic = [a, b]
            .into_iter()
            .filter(typed)
            .fold(Diagnostic::new(Code::E0402, message), |diagnostic, operand| {
                diagnostic.at(self.span(operand.expr), super::a_type(Ty::Strong(element)))
            });
        let exact = format!("`{} / {}` for a float", as_float(a), as_float(b));
        let down = format!("`{down}` to round down");
        let (first, second) = if own.is_some() { (exact, down) } else { (down, exact) };
        diagnostic.help(format!("write {first}, or {second}")).err()
    }

    /// Integers multiply; a float with a small constant exponent does too; other floats are `pow`.
    fn power(&mut self, a: Operand, b: Operand, span: Span) -> Result<NodeId> {
        let whole = self.body.constant_int(b.node).filter(|n| n.unsigned_abs() <= 64);
        if let (true, Some(exponent), Ty::WeakInt) =
            (self.body.ty(a.node).is_float(), whole, self.body.ty(b.node))
        {
            return Ok(self.repeated_product(a.node, exponent, span));
        }
        let ty = self.unify_numbers("`**`", a, b)?;
        if ty.is_int() {
            return Ok(self.body.binary(BinaryFn::Pow, a.node, b.node, ty, span));
        }
        Ok(self.body.push(Op::Math(MathFn::Pow, vec![a.node, b.node]), ty, span))
    }

    /// `x ** n` by squaring, from the low bit of `n`; `1 / x ** -n` when `n` is negative.
    fn repeated_product(&mut self, x: NodeId, exponent: i64, span: Span) -> NodeId {
        let ty = self.body.ty(x);
        let (mut result, mut square, mut rest) = (None, x, exponent.unsigned_abs());
        while rest > 0 {
            if rest & 1 == 1 {
                let times = |done| self.body.binary(BinaryFn::Mul, done, square, ty, span);
                result = Some(result.map_or(square, times));
            }
            rest >>= 1;
            if rest > 0 {
                square = self.body.binary(BinaryFn::Mul, square, square, ty, span);
            }
        }
        let one = self.body.weak_int(1, span);
        let one = self.body.cast(one, ty, span);
        match result {
            None => one,
            Some(product) if exponent < 0 => self.body.binary(BinaryFn::Div, one, product, ty, span),
            Some(product) => product,
        }
    }

    fn logical(&mut self, f: BinaryFn, op: BinaryOp, a: Operand, b: Operand, span: Span) -> Result<NodeId> {
        let what = format!("`{}`", op.symbol());
        self.check_boolean(a, &what)?;
        self.check_boolean(b, &what)?;
        Ok(self.body.binary(f, a.node, b.node, BOOL, span))
    }

    fn bitwise(&mut self, f: BinaryFn, op: BinaryOp, a: Operand, b: Operand, span: Span) -> Result<NodeId> {
        if self.body.ty(a.node) == BOOL && self.body.ty(b.node) == BOOL {
            return Ok(self.body.binary(f, a.node, b.node, BOOL, span));
        }
        self.shift(f, op, a, b, span)
    }

    /// Operations on two integers of one type.
    fn shift(&mut self, f: BinaryFn, op: BinaryOp, a: Operand, b: Operand, span: Span) -> Result<NodeId> {
        let ty = self.unify_numbers(&format!("`{}`", op.symbol()), a, b)?;
        if ty.is_float() {
            let float = if self.body.ty(a.node).is_float() { a } else { b };
            let message = format!("`{}` takes integers, but this is {}", op.symbol(), self.a(float.node));
            return Diagnostic::new(Code::E0407, message)
                .at(self.span(float.expr), "a float")
                .help(match op {
                    BinaryOp::BitXor => format!(
                        "write `{} ** {}` for a power: `^` is exclusive or",
                        self.text(a.expr),
                        self.text(b.expr)
                    ),
                    _ => format!(
                        "convert it: `i32({0})`, or take its bits: `bits({0})`",
                        self.bare_text(float.expr)
                    ),
                })
                .err();
        }
        Ok(self.body.binary(f, a.node, b.node, ty, span))
    }

    fn compare(&mut self, f: BinaryFn, op: BinaryOp, a: Operand, b: Operand, span: Span) -> Result<NodeId> {
        let what = format!("`{}`", op.symbol());
        if matches!(f, BinaryFn::Eq | BinaryFn::Ne) {
            self.unify_arms(&what, a, b)?;
        } else {
            self.unify_numbers(&what, a, b)?;
        }
        Ok(self.body.binary(f, a.node, b.node, BOOL, span))
    }

    /// `if`: the reads of an arm happen only where it is selected, so each arm is a place of its own.
    pub(super) fn choose(&mut self, word: &str, parts: [ExprId; 3], span: Span) -> Result<NodeId> {
        let [condition, then, otherwise] = parts;
        let condition = self.boolean(condition, &format!("the condition of `{word}`"))?;
        let a = self.in_arm(condition, true, then)?;
        let b = self.in_arm(condition, false, otherwise)?;
        let ty = self.unify_arms(&format!("`{word}`"), a, b)?;
        Ok(self.body.select(condition, a.node, b.node, ty, span))
    }

    fn in_arm(&mut self, condition: NodeId, which: bool, expr: ExprId) -> Result<Operand> {
        let outer = self.arm;
        self.arm = self.arms.enter(outer, condition, which);
        let node = self.number(expr);
        self.arm = outer;
        Ok(Operand { node: node?, expr })
    }

    /// The common type of two values that are alternatives of each other.
    fn unify_arms(&mut self, what: &str, a: Operand, b: Operand) -> Result<Ty> {
        match (self.body.ty(a.node) == BOOL, self.body.ty(b.node) == BOOL) {
            (true, true) => Ok(BOOL),
            (false, false) => self.unify_numbers(what, a, b),
            (true, false) | (false, true) => self.bool_among_numbers(what, a, b).err(),
        }
    }

    fn bool_among_numbers(&self, what: &str, a: Operand, b: Operand) -> Diagnostic {
        let (x, y) = (self.body.ty(a.node), self.body.ty(b.node));
        Diagnostic::new(Code::E0403, format!("{what} cannot mix {} and {}", described(x), described(y)))
            .at(self.span(a.expr), super::a_type(x))
            .at(self.span(b.expr), super::a_type(y))
            .help("write `true` or `false` for a number, or choose numbers: `if … then 1 else 0`")
    }

    /// The common type of the arguments of `min max clamp select`: alternatives, all of one type.
    pub(super) fn unify_args(&mut self, what: &str, args: &[Operand]) -> Result<Ty> {
        let mut strongest = args[0];
        for next in &args[1..] {
            if self.unify_arms(what, strongest, *next)? != self.body.ty(strongest.node) {
                strongest = *next;
            }
        }
        Ok(self.body.ty(strongest.node))
    }

    fn unify_numbers(&mut self, what: &str, a: Operand, b: Operand) -> Result<Ty> {
        for operand in [a, b] {
            if !self.body.ty(operand.node).is_number() {
                return self.not_a_number(what, operand.expr);
            }
        }
        let (x, y) = (self.body.ty(a.node), self.body.ty(b.node));
        unify(x, y).ok_or_else(|| Box::new(self.do_not_mix(what, a, b)))
    }

    fn do_not_mix(&self, what: &str, a: Operand, b: Operand) -> Diagnostic {
        let (x, y) = (self.body.ty(a.node), self.body.ty(b.node));
        let code = if x.strong().is_some() && y.strong().is_some() { Code::E0401 } else { Code::E0402 };
        let message = format!("{what} cannot mix {} and {}", described(x), described(y));
        let diagnostic = Diagnostic::new(code, message)
            .at(self.span(a.expr), super::a_type(x))
            .at(self.span(b.expr), super::a_type(y));
        let (low, to) = self.conversion(a, b);
        let cast = format!("{to}({})", self.bare_text(low.expr));
        let (one_side, is_float) = (format!("convert one side: `{cast}`"), to.is_float());
        let sums = matches!(what, "`+`" | "`-`" | "`*`" | "`/`" | "`**`");
        match self.own_element() {
            Some(own) if sums && is_float && own.is_int() => {
                diagnostic.help(format!("{one_side}, and the result: `{own}(…)`"))
            }
            Some(_) | None => diagnostic.fix(self.span(low.expr), cast).help(one_side),
        }
    }

    /// The element type of the tensor that is being defined.
    fn own_element(&self) -> Option<Element> {
        self.owner.tensor.map(|id| self.checker.tensors[id.index()].element)
    }

    /// Which of the two to convert: an integer to the other's float type, else towards the tensor that is being
    /// defined, else the narrower one; and the type that it gets.
    fn conversion(&self, a: Operand, b: Operand) -> (Operand, Element) {
        let rank = |operand: Operand| match self.body.ty(operand.node) {
            Ty::Strong(element) => (element.is_float(), element.bits()),
            Ty::WeakInt => (false, 0),
            Ty::WeakFloat => (true, 0),
        };
        let own = self.own_element().map(|own| Ty::Strong(own.computed()));
        let fits = |operand: Operand| own == Some(self.body.ty(operand.node));
        let (low, high) = match (fits(a), fits(b)) {
            (true, false) if rank(a).0 == rank(b).0 => (b, a),
            (false, true) if rank(a).0 == rank(b).0 => (a, b),
            _ if rank(a) < rank(b) => (a, b),
            _ => (b, a),
        };
        (low, self.body.ty(high.node).strong().unwrap_or(Element::F32))
    }

    pub(super) fn not_a_number<T>(&self, what: &str, expr: ExprId) -> Result<T> {
        Diagnostic::new(Code::E0403, format!("{what} takes numbers, but this is a `bool`"))
            .at(self.span(expr), "a `bool`")
            .help(format!("choose numbers: `(if {} then 1 else 0)`", self.bare_text(expr)))
            .err()
    }

    /// An expression that must be a bool.
    pub(super) fn boolean(&mut self, expr: ExprId, what: &str) -> Result<NodeId> {
        let node = self.number(expr)?;
        self.check_boolean(Operand { node, expr }, what)?;
        Ok(node)
    }

    fn check_boolean(&self, operand: Operand, what: &str) -> Result<()> {
        if self.body.ty(operand.node) == BOOL {
            return Ok(());
        }
        Diagnostic::new(Code::E0403, format!("{what} takes a bool, but this is {}", self.a(operand.node)))
            .at(self.span(operand.expr), "not a bool")
            .help(match (what, self.text(operand.expr)) {
                ("`not`", text) => {
                    format!(
                        "compare it, in parentheses: `not ({text} == 0)`, since `not` binds tighter than `==`"
                    )
                }
                (_, text) => format!("compare it: `{text} != 0`"),
            })
            .err()
    }
}

/// A type without an article where it has a name, for messages.
fn described(ty: Ty) -> String {
    match ty {
        Ty::Strong(element) => format!("`{element}`"),
        Ty::WeakInt => "an integer".to_owned(),
        Ty::WeakFloat => "a float".to_owned(),
    }
}

/// The type of two numbers together: equal types stay, weak ones give way.
pub(in crate::graph) fn unify(a: Ty, b: Ty) -> Option<Ty> {
    match (a, b) {
        _ if a == b => Some(a),
        (Ty::Strong(element), Ty::WeakInt) | (Ty::WeakInt, Ty::Strong(element)) => {
            (element != Element::Bool).then_some(Ty::Strong(element))
        }
        (Ty::Strong(element), Ty::WeakFloat) | (Ty::WeakFloat, Ty::Strong(element)) => {
            element.is_float().then_some(Ty::Strong(element))
        }
        (Ty::WeakInt, Ty::WeakFloat) | (Ty::WeakFloat, Ty::WeakInt) => Some(Ty::WeakFloat),
        _ => None,
    }
}
