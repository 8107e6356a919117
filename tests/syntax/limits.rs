//! Scripts that are too long or too deep: an answer or a diagnostic, soon, on a small stack.

use itp::diagnostic::Diagnostics;
use itp::source::{MAX_SOURCE_BYTES, Sources};
use itp::syntax;
use std::time::{Duration, Instant};

const MILLION: usize = 1_000_000;

/// The codes of the errors of `text`, parsed and formatted on a stack of 2 MiB.
fn codes(text: String) -> Vec<&'static str> {
    let work = move || {
        let start = Instant::now();
        let mut sources = Sources::default();
        let id = sources.add("test.itp", text);
        let mut diagnostics = Diagnostics::default();
        let ast = syntax::parse(&sources, id, &mut diagnostics);
        assert!(syntax::same(&ast, &ast));
        syntax::print_ast(&ast, &sources);
        if let Some(text) = syntax::format(&sources, id, &mut Diagnostics::default()) {
            let again = sources.add("again.itp", text.clone());
            assert_eq!(syntax::format(&sources, again, &mut Diagnostics::default()), Some(text));
        }
        assert!(start.elapsed() < Duration::from_secs(30), "took {:?}", start.elapsed());
        diagnostics.into_sorted().iter().map(|error| error.code.id()).collect()
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(work);
    thread.expect("a thread starts").join().expect("the work does not panic")
}

fn check(text: String, expect: &[&str]) {
    let start: String = text.chars().take(40).collect();
    assert_eq!(codes(text), expect, "{start}…");
}

fn nested(open: &str, inner: &str, close: &str, times: usize) -> String {
    format!("let a = {}{inner}{}", open.repeat(times), close.repeat(times))
}

#[test]
fn nesting_within_the_limit_is_fine() {
    check(nested("(", "1", ")", 255), &[]);
    check(nested("[", "1", "]", 255), &[]);
    check(nested("-", "1", "", 255), &[]);
    check(nested("{y: ", "1", "}", 255), &[]);
    check(nested("{ let a = 1; ", "a", " }", 255), &[]);
    check(nested("if a then 1 else ", "1", "", 255), &[]);
    check(nested("if a then ", "1", " else 1", 255), &[]);
    check(nested("sum(i in 0..3) ", "1", "", 255), &[]);
    check(nested("f(", "1", ")", 255), &[]);
    check(nested("a[", "1", "]", 255), &[]);
    check(nested("a", "", ".f()", 255), &[]);
    check(nested("1 ** ", "1", "", 255), &[]);
}

#[test]
fn one_more_is_too_deep() {
    for (open, inner, close) in [
        ("(", "1", ")"),
        ("[", "1", "]"),
        ("-", "1", ""),
        ("{y: ", "1", "}"),
        ("{ let a = 1; ", "a", " }"),
        ("if a then 1 else ", "1", ""),
        ("if a then ", "1", " else 1"),
        ("sum(i in 0..3) ", "1", ""),
        ("f(", "1", ")"),
        ("a[", "1", "]"),
        ("1 ** ", "1", ""),
        ("-(1 + ", "1", ")"),
    ] {
        check(nested(open, inner, close, 256), &["E0119"]);
    }
    check(format!("let a = b{}", ".f()".repeat(256)), &["E0119"]);
}

#[test]
fn a_million_levels() {
    for (open, close) in [("(", ")"), ("[", "]"), ("{", "}"), ("f(", ")")] {
        check(nested(open, "1", close, MILLION / 4), &["E0119"]);
        check(nested(open, "", "", MILLION / 4), &["E0119"]);
    }
    check(nested("-", "", "", MILLION / 2), &["E0102"]);
    check(nested("-", "1", "", MILLION / 2), &["E0119"]);
    check(nested("(", "1", ")", MILLION), &["E0119"]);
    check(nested("-", "1", "", MILLION), &["E0119"]);
    check(nested("if a then 1 else ", "1", "", 150_000), &["E0119"]);
    check(nested("not ", "a", "", MILLION / 2), &["E0119"]);
    check(nested("2 ** ", "a", "", MILLION / 3), &["E0119"]);
}

#[test]
fn long_is_not_deep() {
    check(format!("let a = 1{}", " + 1".repeat(100_000)), &[]);
    check(format!("let a = 1{}", " and b".repeat(100_000)), &[]);
    check(format!("let a = [{}]", "1, ".repeat(300_000)), &[]);
    check(format!("let a = {{ {}1 }}", "let b = 1; ".repeat(100_000)), &[]);
    check("param a = 1\n".repeat(100_000), &[]);
    check("# a comment\n".repeat(MILLION), &[]);
    check("## a comment\n".repeat(MILLION), &[]);
}

#[test]
fn too_long_is_said_once() {
    check(format!("let a = 1{}", " + 1".repeat(MILLION)), &["E0119"]);
    check(" ".repeat(MAX_SOURCE_BYTES + 1), &["E0119"]);
    check(" ".repeat(MAX_SOURCE_BYTES), &[]);
}

#[test]
fn floods_of_errors_end() {
    assert_eq!(codes("$ ".repeat(MILLION)).len(), syntax::MAX_ERRORS);
    assert_eq!(codes("\u{1}\u{2}".repeat(MILLION / 2)).len(), syntax::MAX_ERRORS);
    assert_eq!(codes("use ".repeat(MILLION)).len(), 0);
    assert_eq!(codes("param ".repeat(MILLION)).len(), 1);
    assert_eq!(codes("param\n".repeat(MILLION)).len(), syntax::MAX_ERRORS);
    assert_eq!(codes("take ".repeat(MILLION)).len(), 1);
    assert_eq!(codes(")".repeat(MILLION)).len(), 1);
    assert_eq!(codes("tensor a: f32[x: inf] stride ".repeat(100_000)).len(), syntax::MAX_ERRORS);
}
