//! `--set name=value`: literals given from outside for parameters of the script; in a session, `:set name=value`.

use super::check::{Checker, Setting};
use super::modules::{ModuleId, Symbol};
use super::scalar::Scalar;
use crate::diagnostic::{Code, Diagnostic, Result, closest, quoted};
use crate::source::{SourceId, Sources, Span};
use crate::syntax::ast::{Expr, ItemKind};

/// A setting as it was given: the parameter's name and the literal.
pub(super) struct Parsed {
    name: String,
    value: Option<Scalar>,
    source: SourceId,
}

/// Reads the literal of one setting; its text becomes a source, so that messages can point at it.
pub(super) fn parse(word: &str, (name, text): &(String, String), sources: &mut Sources) -> Parsed {
    let source = sources.add(format!("{word} {name}"), text.as_str());
    Parsed { name: name.clone(), value: literal(text.trim()), source }
}

/// `12`, `-0.5`, `0xff`, `true`, `-inf`
fn literal(text: &str) -> Option<Scalar> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest.trim_start()));
    let digits = digits.replace('_', "");
    let sign = |value: f64| Scalar::f64(if negative { -value } else { value });
    match digits.as_str() {
        "true" | "false" => return (!negative).then(|| Scalar::bool(digits == "true")),
        "inf" => return Some(sign(f64::INFINITY)),
        _ => {}
    }
    let hex = digits.strip_prefix("0x").map(|hex| u64::from_str_radix(hex, 16).ok());
    if let Some(value) = hex.unwrap_or_else(|| digits.parse().ok()) {
        return Some(Scalar::i64(if negative { (value as i64).wrapping_neg() } else { value as i64 }));
    }
    // An integer that is too large is not a float either, as in a script.
    let plain = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.ends_with(|c: char| c.is_ascii_digit())
        && digits.contains(|c: char| !c.is_ascii_digit());
    digits.parse().ok().filter(|value: &f64| plain && value.is_finite()).map(sign)
}

/// Hands the settings to the parameters they name.
pub(super) fn apply(checker: &mut Checker<'_>, settings: Vec<Parsed>) {
    for setting in settings {
        let applied = apply_one(checker, setting);
        checker.diagnostics.take(applied);
    }
}

fn apply_one(checker: &mut Checker<'_>, setting: Parsed) -> Result<()> {
    let Parsed { name, value, source } = setting;
    let symbol = checker.modules.lookup(ModuleId(0), &name);
    let symbol = symbol.filter(|symbol| matches!(checker.modules.item(*symbol).kind, ItemKind::Param { .. }));
    let whole = Span::new(source, 0, checker.sources.get(source).text.len());
    let Some(symbol) = symbol else {
        return unknown(checker, &name, whole);
    };
    let Some(value) = value else {
        let text = checker.sources.text(whole);
        let given = &checker.sources.get(source).name;
        let (label, help) = match kind_of(checker, symbol) {
            Given::Bool => ("not a bool", format!("give `true` or `false`: `{given}=true`")),
            Given::Number if is_number(text) => {
                ("too large", "give a whole number below 2^64, or a float below 1.8e308".to_owned())
            }
            Given::Number => ("not a number", format!("give a number: `{given}=8`")),
        };
        return Diagnostic::new(Code::E0209, format!("parameter `{name}` cannot be {}", quoted(text)))
            .at(whole, label)
            .help(help)
            .err();
    };
    checker.settings.insert(symbol, Setting { value, source });
    Ok(())
}

/// What a parameter takes, as far as its line tells.
#[derive(Clone, Copy)]
enum Given {
    Bool,
    Number,
}

fn kind_of(checker: &Checker<'_>, symbol: Symbol) -> Given {
    let ast = &checker.modules.get(symbol.module).ast;
    let is_bool = match &checker.modules.item(symbol).kind {
        ItemKind::Param { ty: Some(ty), .. } => &*ty.name == "bool",
        ItemKind::Param { ty: None, value, .. } => matches!(ast.expr(ast.unparen(*value)), Expr::Bool(_)),
        _ => false,
    };
    if is_bool { Given::Bool } else { Given::Number }
}

/// Whether the text has the form of a number, of whatever size.
fn is_number(text: &str) -> bool {
    let text = text.trim().replace('_', "");
    text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit()) && text.parse::<f64>().is_ok()
}

fn unknown(checker: &Checker<'_>, name: &str, whole: Span) -> Result<()> {
    let params = checker.modules.root().ast.items.iter().filter_map(|item| match &item.kind {
        ItemKind::Param { name, .. } => Some(&*name.name),
        _ => None,
    });
    let params: Vec<&str> = params.collect();
    let help = match (closest(name, params.iter().copied()), params.is_empty()) {
        (Some(close), _) => {
            let word = checker.sources.get(whole.source).name.split(' ').next().unwrap_or_default();
            format!("write `{word} {close}=…`")
        }
        (None, true) => "remove it: the script declares no `param`".to_owned(),
        (None, false) => format!("choose one of {}", params.join(", ")),
    };
    Diagnostic::new(Code::E0209, format!("the script has no parameter {}", quoted(name)))
        .at(whole, "given for it")
        .help(help)
        .err()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_those_of_the_language() {
        let check = |text: &str, expect: Option<Scalar>| assert_eq!(literal(text), expect, "{text}");
        check("12", Some(Scalar::i64(12)));
        check("-1_000", Some(Scalar::i64(-1000)));
        check("0xff", Some(Scalar::i64(255)));
        check("-0.5", Some(Scalar::f64(-0.5)));
        check("1e-3", Some(Scalar::f64(0.001)));
        check("-inf", Some(Scalar::f64(f64::NEG_INFINITY)));
        check("true", Some(Scalar::bool(true)));
        check("-true", None);
        check("nan", None);
        check("1.", None);
        check("", None);
        check("1+1", None);
        check("1e400", None);
        check("99999999999999999999", None);
    }
}
