//! Powers that other languages write otherwise, and that are something else here.
//!
//! ```text
//! -x ** 2       is (-x) ** 2: a warning asks for parentheses
//! x ^ 2         flips a bit: a warning asks for `**`, or for `0x2`
//! ```

use super::modules::Modules;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, quoted};
use crate::source::{Sources, Span};
use crate::syntax::ast::{Ast, BinaryOp, Expr, ExprId, UnaryOp};

/// Warns of every power of a negation that has no parentheses, in the script and the files that it uses.
pub(super) fn negated(modules: &Modules, sources: &Sources, diagnostics: &mut Diagnostics) {
    for (_, module) in modules.iter() {
        for (power, negation) in powers_of_negations(&module.ast) {
            let text = |id: ExprId| sources.text(module.ast.span(id));
            let (base, rest) = (text(negation), text(power));
            let exponent = rest.strip_prefix(base).unwrap_or_default();
            let positive = base.trim_start_matches('-').trim_start();
            let message = format!("{} is {}", quoted(rest), quoted(&format!("({base}){exponent}")));
            let help = format!("write `({base}){exponent}` for this, or `-({positive}{exponent})`");
            diagnostics.push(
                Diagnostic::new(Code::W0003, message)
                    .at(module.ast.span(negation), "negated before the power")
                    .help(help),
            );
        }
    }
}

/// Warns of every `^` with a number behind it that looks like an exponent.
pub(super) fn hats(modules: &Modules, sources: &Sources, diagnostics: &mut Diagnostics) {
    for (_, module) in modules.iter() {
        for (base, number) in flipped_exponents(&module.ast) {
            let (base, number) = (module.ast.span(base), module.ast.span(number));
            let Some(digits) = sources.text(number).parse::<u64>().ok().filter(|n| (2..10).contains(n))
            else {
                continue;
            };
            let between = sources.text(Span { start: base.end, end: number.start, ..base });
            let Some(at) = between.rfind('^') else { continue };
            let start = base.end + at as u32;
            let hat = Span { start, end: start + 1, ..base };
            let diagnostic = Diagnostic::new(Code::W0004, "`^` flips bits, it is no power")
                .at(base.to(number), format!("exclusive or with {digits}"))
                .help(format!("write `** {digits}` for a power, or `^ {digits:#x}` to flip bits"));
            diagnostics.push(diagnostic.fix(hat, "**"));
        }
    }
}

/// Operands of `^`, and the number that follows it: `x` and `2` in `x ^ 2 + 1`. Not where bits are handled anyway.
fn flipped_exponents(ast: &Ast) -> impl Iterator<Item = (ExprId, ExprId)> {
    use BinaryOp::{BitAnd, BitOr, BitXor, Shl, Shr};
    ast.exprs().filter_map(|id| {
        let Expr::Binary(BitXor, base, right) = ast.expr(id) else { return None };
        if matches!(ast.expr(ast.unparen(*base)), Expr::Binary(BitAnd | BitOr | BitXor | Shl | Shr, ..)) {
            return None;
        }
        let mut first = *right;
        while let Expr::Binary(_, left, _) = ast.expr(first) {
            first = *left;
        }
        matches!(ast.expr(first), Expr::Int(_)).then_some((*base, first))
    })
}

fn powers_of_negations(ast: &Ast) -> impl Iterator<Item = (ExprId, ExprId)> {
    ast.exprs().filter_map(|id| match ast.expr(id) {
        Expr::Binary(BinaryOp::Pow, base, _) => {
            matches!(ast.expr(*base), Expr::Unary(UnaryOp::Neg, _)).then_some((id, *base))
        }
        _ => None,
    })
}
