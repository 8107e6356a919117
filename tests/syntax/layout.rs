//! What the layout looks like, rule by rule. Every expected text is also its own layout.

use crate::format;
use std::fs;
use std::path::Path;

fn check(input: &str, expect: &str) {
    assert_eq!(format(input), expect, "{input}");
    assert_eq!(format(expect), expect, "again");
}

/// Sets `expect` off from the code around it: the first line is empty, all others are moved in by eight columns.
fn check_lines(input: &str, expect: &str) {
    let lines = expect.trim_end().lines().skip(1);
    let expect: String =
        lines.map(|line| line.strip_prefix("        ").unwrap_or("").to_owned() + "\n").collect();
    check(input, &expect);
}

#[test]
fn a_block_opens_on_the_line_of_its_head() {
    check_lines(
        "tensor a: f32[x: inf] =\n{ let p = x / 2;\nlet q = p * p; p + q }",
        "
        tensor a: f32[x: inf] = {
            let p = x / 2;
            let q = p * p;
            p + q
        }",
    );
}

#[test]
fn a_short_block_stays_on_one_line_if_it_was_on_one() {
    check("fn f(a) = {let b=a*a;b+1}", "fn f(a) = { let b = a * a; b + 1 }\n");
    check("fn f(a) = { let b = a;\n b }", "fn f(a) = {\n    let b = a;\n    b\n}\n");
    check_lines(
        "fn f(a) = { let b = a; let c = b; let d = c; d }",
        "
        fn f(a) = {
            let b = a;
            let c = b;
            let d = c;
            d
        }",
    );
    check_lines(
        "fn pull(i, j, seed, dy, dx) = { let turn = rand(i, j, seed); wave(turn) * dy + wave(turn + 0.25) * dx }",
        "
        fn pull(i, j, seed, dy, dx) = {
            let turn = rand(i, j, seed);
            wave(turn) * dy + wave(turn + 0.25) * dx
        }",
    );
}

#[test]
fn one_empty_line_between_the_lines_of_a_block_stays() {
    check_lines(
        "fn f(a) = {\n\n let b = a; # why\n\n\n # how\n let c = b;\n let d = c;\n\n d\n\n}",
        "
        fn f(a) = {
            let b = a;  # why

            # how
            let c = b;
            let d = c;

            d
        }",
    );
}

#[test]
fn blocks_in_arms_and_windows() {
    check_lines(
        "tensor a: f32[t: 0..9, x: inf] = if t == 0 then 0 else { let b = a[t - 1, x]; let c = b; let d = c; b + d }",
        "
        tensor a: f32[t: 0..9, x: inf] =
            if t == 0 then 0
            else {
                let b = a[t - 1, x];
                let c = b;
                let d = c;
                b + d
            }",
    );
    check_lines(
        "tensor a: f32[x: inf] window [8] as [i] blend sum = { let w = ramp(i, 8);\n w * w }",
        "
        tensor a: f32[x: inf]
            window [8] as [i]
            blend sum
        = {
            let w = ramp(i, 8);
            w * w
        }",
    );
}

#[test]
fn operators_fill_the_lines_lowest_precedence_first() {
    check_lines(
        "fn error(row, column, i, j) = 0.3 * rand(row, column, 0) + 0.3 * (rand(row, column, 1) - 0.5) * i / 256 + 0.3 * (rand(row, column, 2) - 0.5) * j / 256",
        "
        fn error(row, column, i, j) =
            0.3 * rand(row, column, 0) + 0.3 * (rand(row, column, 1) - 0.5) * i / 256
                + 0.3 * (rand(row, column, 2) - 0.5) * j / 256",
    );
    check_lines(
        "fn f(a) = { let c = s * 4.0710547481862066e-17 + (v * 5.0577616648125907e-17 + (w * 0.9617966939259756 + e * 2.8853900817779268)); let d = c; d * 2 }",
        "
        fn f(a) = {
            let c = s * 4.0710547481862066e-17
                + (v * 5.0577616648125907e-17 + (w * 0.9617966939259756 + e * 2.8853900817779268));
            let d = c;
            d * 2
        }",
    );
}

#[test]
fn parentheses_break_after_they_open() {
    check_lines(
        "fn simplex(y, x, seed) = 99.2 * (splat(i, j, seed, dy, dx) + splat(i + a, j + 1 - a, seed, dy - a + unskew, dx - (1 - a) + unskew) + splat(i + 1, j + 1, seed, dy - 1, dx - 1))",
        "
        fn simplex(y, x, seed) =
            99.2 * (
                splat(i, j, seed, dy, dx)
                + splat(i + a, j + 1 - a, seed, dy - a + unskew, dx - (1 - a) + unskew)
                + splat(i + 1, j + 1, seed, dy - 1, dx - 1))",
    );
    // No line holds only a parenthesis that opens.
    check_lines(
        "fn exp2(f) = { let q = f; let p = q; let r = p; (((((0.0001543167 * r + 0.0013391532) * r + 0.009618248) * r + 0.055503607) * r + 0.24022649) * r + 0.6931472) * f + 1 }",
        "
        fn exp2(f) = {
            let q = f;
            let p = q;
            let r = p;
            (((((0.0001543167 * r + 0.0013391532) * r + 0.009618248) * r + 0.055503607) * r + 0.24022649)
                * r + 0.6931472) * f + 1
        }",
    );
}

#[test]
fn a_single_argument_is_laid_out_like_parentheses() {
    check_lines(
        "tensor curve: u8[v: 256] = u8(round(255 * (bend_the_curve(v / 255) - bend_the_curve(0)) / (bend_the_curve(1) - bend_the_curve(0))))",
        "
        tensor curve: u8[v: 256] = u8(round(
            255 * (bend_the_curve(v / 255) - bend_the_curve(0)) / (bend_the_curve(1) - bend_the_curve(0))))",
    );
}

#[test]
fn a_reduction_breaks_before_its_body() {
    check_lines(
        "tensor smooth: f32[y: inf, x: inf] = sum(dy in -radius..=radius, dx in -radius..=radius) height[y + dy, x + dx] / f32((2 * radius + 1) * (2 * radius + 1))",
        "
        tensor smooth: f32[y: inf, x: inf] =
            sum(dy in -radius..=radius, dx in -radius..=radius)
                height[y + dy, x + dx] / f32((2 * radius + 1) * (2 * radius + 1))",
    );
    check_lines(
        "fn gradient(y, x, seed, v, u, i, j) = 1.4142 * (sum(a in 0..2, b in 0..2) share(a, v) * share(b, u) * pull(i + a, j + b, seed, v - a, u - b))",
        "
        fn gradient(y, x, seed, v, u, i, j) =
            1.4142 * (sum(a in 0..2, b in 0..2)
                share(a, v) * share(b, u) * pull(i + a, j + b, seed, v - a, u - b))",
    );
}

#[test]
fn choices_break_before_else() {
    check("let a = if b\nthen c else d", "let a = if b then c else d\n");
    check_lines(
        "tensor h: f32[t: 0..50, y: inf, x: inf] = if t == 0 then height[y, x] else h[t-1, y, x] + 0.2 * (h[t-1, y+1, x] + h[t-1, y-1, x] + h[t-1, y, x+1] + h[t-1, y, x-1] - 4 * h[t-1, y, x])",
        "
        tensor h: f32[t: 0..50, y: inf, x: inf] =
            if t == 0 then height[y, x]
            else h[t - 1, y, x] + 0.2 * (
                h[t - 1, y + 1, x] + h[t - 1, y - 1, x] + h[t - 1, y, x + 1] + h[t - 1, y, x - 1]
                - 4 * h[t - 1, y, x])",
    );
    check_lines(
        "fn f(x, p) = g(if x > 0.55 then 2 * p else if x < -0.55 then 3.1415927 - (2 * p + 8.742278e-08) else 1.5707964 - (p + 4.371139e-08))",
        "
        fn f(x, p) = g(
            if x > 0.55 then 2 * p
            else if x < -0.55 then 3.1415927 - (2 * p + 8.742278e-08)
            else 1.5707964 - (p + 4.371139e-08))",
    );
}

#[test]
fn rows_of_a_table_stay_on_their_lines() {
    check("let k = [[1, 2], [3, 4],]", "let k = [[1, 2], [3, 4]]\n");
    check("let k = [\n[1,2],[3,4],\n[5,6]]", "let k = [\n    [1, 2], [3, 4],\n    [5, 6],\n]\n");
}

#[test]
fn clauses_other_than_windows_stay_on_their_lines() {
    check("tensor a: f32[x: inf] chunk [8] = x", "tensor a: f32[x: inf] chunk [8] = x\n");
    check("tensor a: f32[x: inf]\nchunk [8] = x", "tensor a: f32[x: inf]\n    chunk [8]\n= x\n");
}

#[test]
fn long_windows_fill_the_lines() {
    check_lines(
        "tensor a: f32[x: inf] take patch = some_height window [2, 1024, 1024] stride [2, 768, 768] offset [0, -128, -128] map [_, y, x] = 0",
        "
        tensor a: f32[x: inf]
            take patch = some_height window [2, 1024, 1024] stride [2, 768, 768] offset [0, -128, -128]
                map [_, y, x]
        = 0",
    );
}

#[test]
fn comments_at_the_ends_of_neighbouring_lines_are_aligned() {
    check_lines(
        "use \"é\" # one\nparam long_name = 3 # two\nparam b = 1\nparam c = [1, # three\n2]",
        "
        use \"é\"              # one
        param long_name = 3  # two
        param b = 1
        param c = [
            1,  # three
            2,
        ]",
    );
}

#[test]
fn comments_are_not_aligned_beyond_column_110() {
    let name = "n".repeat(60);
    let check_length = |length: usize, gap: &str| {
        let comment = "#".repeat(length);
        check(
            &format!("use a {comment}\nuse {name} # b"),
            &format!("use a{gap}{comment}\nuse {name}  # b\n"),
        );
    };
    check_length(44, &" ".repeat(61));
    check_length(45, "  ");
}

#[test]
fn strings_with_a_hash_are_no_comments() {
    check("use \"a#b\" # c\nuse d # e", "use \"a#b\"  # c\nuse d      # e\n");
}

#[test]
fn signs_are_not_aligned() {
    check("param a   = 1\nparam bcd = 2", "param a = 1\nparam bcd = 2\n");
}

#[test]
fn the_library_and_the_examples_are_in_this_layout() {
    for folder in ["std", "examples"] {
        let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let scripts: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "itp")).collect();
        assert!(!scripts.is_empty(), "{folder} holds no script");
        for path in scripts {
            let text = fs::read_to_string(&path).unwrap();
            assert_eq!(format(&text), text, "run `itp fmt {}`", path.display());
        }
    }
}
