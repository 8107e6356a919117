//! What holds for every script: formatting keeps the tree and the comments and is done after once; nothing panics.

use crate::{format, parse, rendered};
use itp::diagnostic::Diagnostics;
use itp::source::Sources;
use itp::syntax;
use proptest::prelude::*;

/// An expression, its tokens separated by single spaces.
fn expr() -> impl Strategy<Value = String> + Clone {
    let leaf = prop::sample::select(vec![
        "y",
        "x",
        "_",
        "height",
        "a_long_name_that_takes_room",
        "0",
        "12",
        "0xff",
        "1_000",
        "1.5",
        "1e-3",
        "true",
        "inf",
        "18446744073709551615",
    ]);
    leaf.prop_map(String::from).prop_recursive(5, 40, 4, |inner| compound(inner.boxed())).boxed()
}

/// An expression made of smaller ones.
fn compound(e: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    let operator = prop::sample::select(vec![
        "+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "^", "|", "and", "or",
    ]);
    let comparison = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let operand = prop_oneof![
        e.clone().prop_map(|e| format!("( {e} )")),
        Just("x".to_owned()),
        Just("- 3".to_owned()),
        Just("not a . at ( { y : 3 } ) [ x ]".to_owned()),
    ];
    let (one, two, three) = (e.clone(), (e.clone(), e.clone()), (e.clone(), e.clone(), e.clone()));
    prop_oneof![
        3 => (operand.clone(), operator, operand.clone()).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
        1 => prop::collection::vec(operand.clone(), 2..12).prop_map(|list| list.join(" + ")),
        1 => (operand.clone(), comparison, operand).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
        1 => one.clone().prop_map(|a| format!("( {a} )")),
        2 => three.prop_map(|(a, b, c)| format!("if {a} then {b} else {c}")),
        1 => two.clone().prop_map(|(a, b)| format!("sum ( i in 0 ..= 3 , j in {a} .. 4 , ) {b}")),
        1 => two.clone().prop_map(|(a, b)| format!("max ( {a} , {b} )")),
        1 => two.clone().prop_map(|(a, b)| format!("t . stride ( [ {a} , _ ] ) . pad ( {{ y : {b} .. 3 , }} , \"s\" )")),
        1 => two.clone().prop_map(|(a, b)| format!("t [ {a} : {b} : 2 , ... , : , 3 ]")),
        1 => two.clone().prop_map(|(a, b)| format!("{{ let p = {a} ; {b} }}")),
        1 => two.prop_map(|(a, b)| format!("[ {a} , {b} .. 3 , [ ] , ]")),
        1 => one.prop_map(|a| format!("[ 1 , - 2 , 1000000 , {a} ]")),
    ]
}

/// An item, its tokens separated by single spaces.
fn item() -> impl Strategy<Value = String> {
    (expr(), expr(), 0..14).prop_map(|(a, b, kind)| match kind {
        0 => "use blend".to_owned(),
        1 => format!("param p : f32 = {a}"),
        2 => format!("let q = {a}"),
        3 => format!("fn f ( a , b : f32 , n : i64 = {a} , ) -> f32 = {b}"),
        4 => format!("window W = [ {a} ] stride [ 3 ] offset [ - 1 ] map [ _ ]"),
        5 => "input i : u8 [ c : 3 , y : 0 .. n * , x : - inf .. 3 * ] from \"a.png\"".to_owned(),
        6 => format!("var v : bool [ ] chunk [ 64 , 64 ] = {a}"),
        7 => format!("tensor t : f32 [ y : inf , x : 0 .. {a} ] = {b}"),
        8 => format!("tensor t : f32 [ y : inf ] window [ 2 , 256 ] as [ i , j ] take b = h [ : ] window W stride [ {a} ] blend ( o , n ) => o + n init 0 = {b}"),
        9 => format!("tensor t : f32 [ y : inf ] window W format dense ( element ( 0.0 ) ) chunk [ 3 ] blend sum = extern \"m\" ( b , {a} )"),
        10 => format!("view v = t . flip ( [ {a} ] ) [ {b} ]"),
        11 => format!("output \"a.png\" = t [ {a} ] colormap terrain range 0 .. {b} chunk [ 64 ]"),
        12 => format!("set v [ {a} : ] = {b}"),
        _ => format!("tensor t : f32 [ y : inf ] format dense ( pattern ) = {a}"),
    })
}

const GAPS: &[&str] = &[
    " ",
    " ",
    " ",
    " ",
    " ",
    " ",
    " ",
    " ",
    " ",
    " ",
    " ",
    " ",
    "\n",
    "\n\n",
    "\t",
    "\r\n",
    "  # why\n",
    "\n# own line\n",
    "\n\n\n## documents\n",
    " #\n#  two\r\n",
    "\n    # indented\n\n",
];

/// Items with all kinds of space and comments between their tokens; plain spaces only when `gaps` is empty.
fn spread(items: &[String], gaps: &[usize]) -> String {
    let mut text = String::new();
    let words = items.iter().flat_map(|item| item.split(' '));
    for (at, word) in words.enumerate() {
        text.push_str(word);
        text.push_str(gaps.get(at % gaps.len().max(1)).map_or(" ", |gap| GAPS[*gap]));
    }
    text
}

fn script() -> impl Strategy<Value = (String, String)> {
    let gaps = prop::collection::vec(0..GAPS.len(), 1..60);
    (prop::collection::vec(item(), 1..5), gaps)
        .prop_map(|(items, gaps)| (spread(&items, &gaps), spread(&items, &[])))
}

fn comments(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.find('#').map(|at| line[at..].trim_end())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn formatting_keeps_the_tree_and_the_comments((text, _) in script()) {
        prop_assert_eq!(rendered(&text), "");
        let formatted = format(&text);
        prop_assert_eq!(rendered(&formatted), "", "{}", formatted);
        prop_assert!(syntax::same(&parse(&text).1, &parse(&formatted).1), "{}\n{}", text, formatted);
        prop_assert_eq!(comments(&text), comments(&formatted));
        prop_assert!(formatted.lines().all(|line| line.trim_end() == line), "{}", formatted);
    }

    #[test]
    fn formatting_twice_changes_nothing((text, plain) in script()) {
        for text in [text, plain] {
            let once = format(&text);
            prop_assert_eq!(&format(&once), &once);
        }
    }

    #[test]
    fn a_printed_tree_parses_to_itself((_, plain) in script()) {
        let (sources, ast, _) = parse(&plain);
        prop_assert!(syntax::same(&ast, &parse(&syntax::print_ast(&ast, &sources)).1));
    }

    #[test]
    fn any_text_gets_an_answer(text in "\\PC*|[ -~\\n\"#\\\\]*|(.|\\n){0,40}") {
        survives(&text);
    }

    #[test]
    fn any_tokens_get_an_answer(words in prop::collection::vec(0..SOUP.len(), 0..60)) {
        survives(&words.iter().map(|word| SOUP[*word]).collect::<Vec<_>>().join(" "));
    }

    #[test]
    fn one_token_too_few_or_too_many_gets_an_answer((_, plain) in script(), at in 0..200_usize, word in 0..SOUP.len()) {
        let mut words: Vec<&str> = plain.split(' ').collect();
        let at = at % words.len();
        words.remove(at);
        survives(&words.join(" "));
        words.insert(at, SOUP[word]);
        survives(&words.join("\n"));
    }
}

/// Words and signs, to be thrown together.
const SOUP: &[&str] = &[
    "use", "param", "let", "fn", "window", "input", "var", "tensor", "view", "output", "set", "take",
    "stride", "offset", "map", "as", "blend", "init", "chunk", "format", "from", "extern", "if", "then",
    "else", "in", "and", "or", "not", "true", "false", "inf", "a", "b", "f32", "_", "sum", "tensr", "def",
    "1", "2.5", "0x", "12ab", "\"s\"", "\"open", "(", ")", "[", "]", "{", "}", ",", ";", ":", "=", "->",
    "=>", ".", "..", "..=", "...", "**", "*", "/", "//", "%", "+", "-", "<<", ">>", "&", "&&", "^", "|",
    "==", "!=", "<", "<=", ">", ">=", "\n", "\n# c\n", "$", "é", "\u{1}", ":=",
];

/// Everything that takes text takes this one; errors point into it.
fn survives(text: &str) {
    let (_, _, errors) = parse(text);
    rendered(text);
    let places: Vec<_> =
        errors.iter().filter_map(|error| error.primary()).map(|label| label.span.range()).collect();
    assert!(places.iter().all(|place| text.get(place.clone()).is_some()), "{places:?} in {text:?}");
    let mut sources = Sources::default();
    let id = sources.add("test.itp", text);
    let formatted = syntax::format(&sources, id, &mut Diagnostics::default());
    assert_eq!(formatted.is_some(), errors.is_empty());
    syntax::tokens(&sources, id);
    let mut slice_errors = Diagnostics::default();
    let slice = syntax::parse_slice(&sources, id, &mut slice_errors);
    assert_eq!(slice.is_some(), slice_errors.is_empty());
}
