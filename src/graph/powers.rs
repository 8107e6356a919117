//! `-x ** 2` is `(-x) ** 2` here, and the opposite elsewhere: a warning asks for parentheses.

use super::modules::Modules;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, quoted};
use crate::source::Sources;
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

fn powers_of_negations(ast: &Ast) -> impl Iterator<Item = (ExprId, ExprId)> {
    ast.exprs().filter_map(|id| match ast.expr(id) {
        Expr::Binary(BinaryOp::Pow, base, _) => {
            matches!(ast.expr(*base), Expr::Unary(UnaryOp::Neg, _)).then_some((id, *base))
        }
        _ => None,
    })
}
