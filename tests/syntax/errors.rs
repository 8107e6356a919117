//! Every wrong script of `tests/syntax_errors` and what is said about it.

use crate::{parse, rendered};
use itp::diagnostic::{Code, Diagnostics, Style, render};
use itp::source::Sources;
use itp::syntax;

#[test]
fn errors_read_well() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../syntax_errors/snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        insta::glob!("../syntax_errors", "*.itp", |path| {
            let source = std::fs::read_to_string(path).expect("the input is readable");
            let visible = source.replace('\u{1b}', "␛");
            insta::assert_snapshot!(format!("SOURCE\n{visible}\nERROR\n{}", rendered(&source)));
        });
    });
}

#[test]
fn pages_of_syntax_errors_keep_their_word() {
    for code in Code::ALL.iter().filter(|code| code.id().starts_with("E01")) {
        let codes = |which| {
            let script = code.example(which).unwrap_or_else(|| panic!("{code} has no {which} example"));
            parse(script).2.iter().map(|error| error.code).collect::<Vec<_>>()
        };
        assert_eq!(codes("wrong"), [*code], "the wrong example of {code}");
        assert_eq!(codes("right"), [], "the right example of {code}");
    }
}

#[test]
fn errors_come_in_the_order_of_the_text_and_good_items_survive() {
    let (_, ast, errors) =
        parse("param a = $\nparam b = (\nparam ok = 1\nview c = 3\nparam d 3\nparam e = 12x\nuse fine");
    let lines: Vec<_> = errors.iter().map(|error| error.code.id()).collect();
    assert_eq!(lines, ["E0101", "E0107", "E0117", "E0102", "E0103"]);
    let names: Vec<_> =
        ast.items.iter().filter_map(|item| item.kind.name()).map(|name| &*name.name).collect();
    assert_eq!(names, ["ok", "c"]);
}

#[test]
fn items_before_an_error_in_one_chunk_survive() {
    // `window` is a clause as well, so it does not start a chunk of its own.
    let (_, ast, errors) = parse("view a = b\nwindow W = [3]\nwindow V = 3");
    assert_eq!((ast.items.len(), errors.len()), (2, 1));
}

#[test]
fn a_flood_of_errors_is_cut_off() {
    let (_, _, errors) = parse(&"param\n".repeat(10_000));
    assert_eq!(errors.len(), syntax::MAX_ERRORS);
    assert_eq!(errors.last().map(|error| error.notes.len()), Some(1));
}

/// What a slice on the command line gives: its expression, or its errors.
fn slice(text: &str) -> String {
    let mut sources = Sources::default();
    let id = sources.add("--read", text);
    let mut diagnostics = Diagnostics::default();
    match syntax::parse_slice(&sources, id, &mut diagnostics) {
        Some((ast, expr)) => format!("{} of {:?}", sources.text(ast.span(expr)), ast.expr(expr)),
        None => diagnostics.into_sorted().iter().map(|error| render(error, &sources, Style::Plain)).collect(),
    }
}

#[test]
fn slices_of_the_command_line() {
    for good in ["smooth[y=0:512, 3, ::2]", "a.flip([x])[0:5]", "a[...]", "a[0:5][3]", " a[-5:x=3:2] "] {
        let result = slice(good);
        assert_eq!(result.contains("Index {"), good != " a[-5:x=3:2] ", "{good}: {result}");
    }
    insta::assert_snapshot!(slice("smooth"));
    insta::assert_snapshot!(slice("smooth[0:512, "));
    insta::assert_snapshot!(slice("smooth[0:5] + 1"));
    insta::assert_snapshot!(slice(""));
}
