//! The grammars for editors know all the words of the language.

use super::read;
use itp::graph::BUILTIN_NAMES;
use itp::graph::meanings::VIEW_OPS;
use itp::graph::types::Element;
use itp::syntax::KEYWORDS;
use serde_json::Value;

/// Every string of a JSON value.
fn strings(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(fields) => fields.values().flat_map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

/// The alternatives of the pattern under `name`: `\b(and|or|not)\b` has three.
fn alternatives(grammar: &Value, name: &str) -> Vec<String> {
    let patterns = strings(&grammar["repository"][name]);
    let groups = patterns
        .iter()
        .flat_map(|pattern| pattern.split('(').skip(1))
        .filter_map(|part| part.split(')').next());
    groups.flat_map(|group| group.split('|')).map(str::to_owned).collect()
}

fn all_in(names: impl Iterator<Item = String>, known: &[String], place: &str) {
    let missing: Vec<String> = names.filter(|name| !known.contains(name)).collect();
    assert!(missing.is_empty(), "{place} does not know {}", missing.join(", "));
}

fn text_mate() -> Value {
    serde_json::from_str(&read("editors/textmate/itp.tmLanguage.json")).unwrap()
}

#[test]
fn the_textmate_grammar_knows_every_word_and_no_other() {
    let grammar = text_mate();
    let place = "editors/textmate/itp.tmLanguage.json";
    let keywords = alternatives(&grammar, "keywords");
    all_in(KEYWORDS.iter().map(|word| (*word).to_owned()), &keywords, place);
    assert_eq!(keywords.len(), KEYWORDS.len(), "{place}: keywords that are none");
    let types = alternatives(&grammar, "types");
    all_in(Element::ALL.iter().map(|ty| ty.name().to_owned()), &types, place);
    assert_eq!(types.len(), Element::ALL.len(), "{place}: types that are none");
    let ops = alternatives(&grammar, "methods");
    all_in(VIEW_OPS.iter().map(|(op, ..)| (*op).to_owned()), &ops, place);
    let functions: Vec<String> =
        ["functions", "reductions"].iter().flat_map(|name| alternatives(&grammar, name)).collect();
    let builtins = BUILTIN_NAMES.iter().filter(|name| Element::parse(name).is_none());
    all_in(builtins.map(|name| (*name).to_owned()), &functions, place);
}

#[test]
fn the_tree_sitter_grammar_knows_every_keyword() {
    let grammar = read("editors/tree-sitter/grammar.js");
    let quoted: Vec<String> = grammar.split('\'').skip(1).step_by(2).map(str::to_owned).collect();
    all_in(KEYWORDS.iter().map(|word| (*word).to_owned()), &quoted, "editors/tree-sitter/grammar.js");
}

#[test]
fn the_extension_has_the_same_grammar() {
    assert_eq!(
        read("editors/vscode/syntaxes/itp.tmLanguage.json"),
        read("editors/textmate/itp.tmLanguage.json")
    );
    let extension: Value = serde_json::from_str(&read("editors/vscode/package.json")).unwrap();
    assert_eq!(extension["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(extension["contributes"]["grammars"][0]["scopeName"], text_mate()["scopeName"]);
}
