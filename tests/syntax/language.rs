//! Right scripts: what they parse to and how they are laid out.

use crate::{format, parse, rendered};
use itp::source::Sources;
use itp::syntax;

#[test]
fn the_whole_language_parses() {
    assert_eq!(rendered(include_str!("../inputs/language.itp")), "");
}

#[test]
fn the_whole_language_in_canonical_layout() {
    insta::assert_snapshot!(format(include_str!("../inputs/language.itp")));
}

#[test]
fn comments_stay_where_they_are() {
    insta::assert_snapshot!(format(include_str!("../inputs/comments.itp")));
}

#[test]
fn long_lines_are_broken() {
    insta::assert_snapshot!(format(include_str!("../inputs/long_lines.itp")));
}

/// Layouts that are canonical already.
#[test]
fn good_layout_is_kept() {
    for text in [
        "tensor height: f32[y: inf, x: inf] =\n    fbm(y / 256, x / 256, seed, 6)\n",
        "tensor a: f32[x: inf]\n    window [8] as [i]\n    blend sum\n= i\n",
        "tensor a: f32[x: inf]\n    window [8] as [i]\n= { let w = ramp(i, 8); w * w }\n",
        "tensor a: f32[x: inf]\n    window [8] as [i]\n= {\n    let w = ramp(i, 8);\n    w * w\n}\n",
        "tensor b: f32[x: inf] =\n    if x == 0 then 1\n    else if x == 1 then 2\n    else 3\n",
        "view a = b[y + 1 : y + 5, 0:3, ::2]\n",
        "let k = [-1, a.b(c), x ** -y]\n",
        "output \"a.png\" = a[0:5]\n    colormap terrain\n    range 0..1\n",
        "# only a comment\n",
        "",
    ] {
        assert_eq!(format(text), text);
    }
}

#[test]
fn blank_lines_between_items_are_kept_but_never_two() {
    assert_eq!(
        format("\n\nuse a\n\n\n\nuse b use c\n# d\n\n\n# e\n\n"),
        "use a\n\nuse b\nuse c\n# d\n\n# e\n"
    );
}

#[test]
fn foreign_line_ends_and_marks_are_taken() {
    assert_eq!(format("\u{feff}## doc\r\nuse a # b\r\n\r\nuse c"), "## doc\nuse a  # b\n\nuse c\n");
}

#[test]
fn doc_comments_belong_to_the_item_that_follows() {
    let (_, ast, _) = parse(
        "## a\n##  b\n# plain\nuse x ## not first on its line\n#\nuse y\n  ##c\nparam p = ## no\n## no\n1\nuse z",
    );
    let docs: Vec<Vec<&str>> =
        ast.items.iter().map(|item| item.doc.iter().map(|line| &**line).collect()).collect();
    assert_eq!(docs, [vec!["a", " b"], vec![], vec!["c"], vec![]]);
}

#[test]
fn tokens_print_one_per_line() {
    let mut sources = Sources::default();
    let id = sources.add("test.itp", "use map # é\nlet a = 0x1f$");
    insta::assert_snapshot!(syntax::tokens(&sources, id), @r"
    0..3 Use use
    4..7 Ident map
    8..12 Comment # é
    13..16 Let let
    17..18 Ident a
    19..20 Equals =
    21..25 Int 0x1f
    25..26 Bad $
    ");
}

#[test]
fn different_trees_differ() {
    let texts = [
        "let a = 1",
        "let a = 1.0",
        "let b = 1",
        "param a = 1",
        "let a = (1)",
        "let a = -1",
        "let a = [1]",
        "let a = [[1]]",
        "let a = f(1)",
        "let a = f(1, 2)",
        "let a = f[1]",
        "let a = f[1:]",
        "let a = f[:1]",
        "let a = f[::1]",
        "let a = a.f(1)",
        "let a = 1 + 2 + 3",
        "let a = 1 + (2 + 3)",
        "let a = 1 - 2 + 3",
        "let a = [1..2]",
        "let a = {y: 1}",
        "let a = {x: 1}",
        "let a = sum(i in 1..2) i",
        "let a = sum(i in 1..=2) i",
        "## doc\nlet a = 1",
        "input a: f32[x: 3]",
        "input a: f32[x: 3*]",
        "input a: f32[x: 0..3]",
        "input a: f32[x: 3] from b",
        "input a: f32[x: 3] from \"b\"",
        "use a",
        "use \"a\"",
    ];
    for (i, a) in texts.iter().enumerate() {
        for (j, b) in texts.iter().enumerate() {
            assert_eq!(rendered(a), "");
            assert_eq!(syntax::same(&parse(a).1, &parse(b).1), i == j, "{a} and {b}");
        }
    }
}

/// Scripts as programs write them: every operator in parentheses.
#[test]
fn generated_scripts_parse() {
    for body in [
        "(((if i0 == 0 then ((((y * 7) + (x * 13)) % 31) + (10 * ((index(y) + index(x)) % 3))) else 1) * (1 - ((0.999 * abs((i1 - 3.5))) / 3.5))))",
        "((sum(u in 0..3, v in 0..3) a0[i0, (i1 + u), (i2 + v)]) / 9)",
        "(a0[0, i0, i1] / a0[1, i0, i1])",
    ] {
        let text = format!(
            "## weighted\n\ntensor num: f32[c: 2, y: inf, x: inf]\n    window [2, 8, 8] stride [2, 4, 4] as [i0, i1, i2]\n    \
             take a0 = base window [3, 10, 10] stride [3, 8, 8] offset [0, -1, -1] map [_, y, x]\n    blend sum\n= {body}\n"
        );
        assert_eq!(rendered(&text), "");
        let (_, ast, _) = parse(&text);
        assert_eq!(ast.items[0].doc.len(), 1);
        assert!(syntax::same(&ast, &parse(&format(&text)).1));
    }
}
