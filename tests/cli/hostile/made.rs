//! Scripts that are too large to be kept: as deep, long or wide as a text can be.

use super::{all, step, wrongs};
use crate::folder::Folder;

/// Text, and the commands with what has to come of them.
struct Made {
    name: &'static str,
    text: String,
    steps: &'static [&'static str],
}

fn made(name: &'static str, text: String, steps: &'static [&'static str]) -> Made {
    Made { name, text, steps }
}

/// `head`, then `line` for every number, then `tail`.
fn lines(head: &str, count: usize, line: impl Fn(usize) -> String, tail: &str) -> String {
    let lines: String = (1..=count).map(line).collect();
    format!("{head}{lines}{tail}")
}

fn body(expression: &str) -> String {
    format!("tensor a: f32[x: inf] = {expression}\n")
}

fn check(cases: &[Made]) {
    all(cases, cases.len(), |case| {
        let steps: Vec<_> = case.steps.iter().map(|line| step(line)).collect();
        wrongs(case.name, &Folder::with("script.itp", &case.text), &steps)
    });
}

const MILLION: usize = 1_000_000;

#[test]
fn hostile_nesting() {
    let nested = |open: &str, inside: &str, close: &str, count: usize| {
        body(&format!("{}{inside}{}", open.repeat(count), close.repeat(count)))
    };
    let too_deep = &["check => 1 E0119", "fmt --check => 1 E0119", "emit --stage ast => 1 E0119"];
    let too_long = &["check => 1 E0119", "fmt --stdout => 1 E0119"];
    check(&[
        made(
            "256 brackets",
            nested("(", "x", ")", 250),
            &["run --read a[0:3] => 0 [0.0 1.0 2.0]", "fmt --stdout => 0"],
        ),
        made("300000 brackets", nested("(", "x", ")", 300_000), too_deep),
        made("a million brackets", nested("(", "x", ")", MILLION), too_long),
        made("a million open brackets", body(&"(".repeat(MILLION)), too_long),
        made("400000 lists", format!("let a = {}1{}", "[".repeat(400_000), "]".repeat(400_000)), too_deep),
        made("300000 minus signs", nested("-", "x", "", 300_000), too_deep),
        made("300000 negations", nested("not ", "x", "", 300_000), too_deep),
        made("150000 choices", nested("if x > 0 then 1 else ", "x", "", 150_000), too_deep),
        made("200000 conditions", nested("if ", "x", " then 1 else 2", 150_000), too_deep),
        made("150000 blocks", nested("{ let a = 1; ", "x", " }", 120_000), too_deep),
        made("80000 sums", nested("sum(i in 0..1) ", "x", "", 80_000), too_deep),
        made("300000 powers", nested("x ** ", "x", "", 300_000), too_deep),
        made("200000 calls", nested("sin(", "x", ")", 200_000), too_deep),
        made("100000 methods", body(&format!("a{}[x]", ".flip([x])".repeat(100_000))), too_deep),
        made("100000 indices", body(&format!("a{}", "[x]".repeat(100_000))), too_deep),
        made("300000 terms", body(&format!("x{}", " + x".repeat(300_000))), &["check => 1 E0902"]),
        made("20000 terms", body(&format!("x{}", " + x".repeat(20_000))), &["check => 0"]),
        made(
            "formats",
            format!(
                "tensor a: f32[x: 4] format {}element(0){} = x",
                "dense(".repeat(100_000),
                ")".repeat(100_000)
            ),
            too_deep,
        ),
    ]);
}

#[test]
fn hostile_lengths() {
    let too_long = &["check => 1 E0119"];
    check(&[
        made("16 MiB of line ends", "\n".repeat(16 << 20), &["check => 0"]),
        made(
            "16 MiB of one comment",
            format!("#{}", " ".repeat((16 << 20) - 1)),
            &["check => 0", "fmt --stdout => 0"],
        ),
        made("16 MiB of one name", "a".repeat(16 << 20), &["check => 1 E01"]),
        made("16 MiB of one number", "1".repeat(16 << 20), &["check => 1 E01"]),
        made(
            "16 MiB of one string",
            format!("output \"{}", "a".repeat((16 << 20) - 8)),
            &["check => 1 E0105"],
        ),
        made("16 MiB of quotes", "\"".repeat(16 << 20), &["check => 1 E01"]),
        made("16 MiB of control characters", "\u{1}".repeat(16 << 20), &["check => 1 E0101"]),
        made("16 MiB of brackets", "(".repeat(16 << 20), too_long),
        made("16 MiB of points", ".".repeat(16 << 20), too_long),
        made("12 MiB of combining marks", "\u{301}".repeat(6 << 20), &["check => 1 E0101"]),
        made("5 million items", "tensor ".repeat(2 << 20), too_long),
        made("documents", "## a\n".repeat(3 << 20), &["check => 0"]),
        made("16 MiB and one more", " ".repeat((16 << 20) + 1), &["check => 1 E0002"]),
    ]);
}

#[test]
fn hostile_counts() {
    let chain =
        |line: fn(usize) -> String, head: &str, count: usize, tail: &str| lines(head, count, line, tail);
    let one = "tensor t0: u8[] = 1\n";
    let after: fn(usize) -> String = |i| format!("tensor t{i}: u8[] = t{}[]\n", i - 1);
    let before: fn(usize) -> String = |i| format!("tensor t{}: u8[] = t{}[]\n", 3_000 - i, 3_001 - i);
    let two: fn(usize) -> String =
        |i| format!("tensor t{i}: f32[x: inf] = t{}[x] + t{}[x + 1] * 0.5\n", i - 1, i.saturating_sub(7));
    let circle: fn(usize) -> String = |i| format!("tensor t{i}: u8[] = t{}[]\n", i % 4_000 + 1);
    let many = lines("", 500, |i| format!("tensor t{i}: f32[x: inf] = x\n"), "");
    let sum: String = (1..500).map(|i| format!(" + t{i}[x]")).collect();
    let near = |count: usize| (1..count).map(|i| format!(" + b[x + {i}]")).collect::<String>();
    let dims: String = (0..100_000).map(|i| format!("d{i}: 1, ")).collect();
    let sets: fn(usize) -> String = |i| format!("set v[{}:{}] = v[x] + 1\n", i % 7, i % 7 + 1);
    check(&[
        made("3000 tensors", chain(after, one, 3_000, ""), &["check => 0", "run --read t3000[] => 0 1"]),
        made(
            "500 that read two each",
            chain(two, "tensor t0: f32[x: inf] = x\n", 500, ""),
            &["plan --read t500[0:64] => 0", "run --read t500[0:2] => 0"],
        ),
        made("60000 tensors", chain(after, one, 60_000, ""), &["check => 1 E0902"]),
        made("100000 tensors", chain(after, one, 100_000, ""), &["check => 1 E0119"]),
        made(
            "3000 backwards",
            chain(before, "", 3_000, "tensor t3000: u8[] = 1"),
            &["run --read t0[] => 0 1"],
        ),
        made("4000 in a circle", chain(circle, "", 4_000, ""), &["check => 1 E0701"]),
        made(
            "500 that one reads",
            many + &body(&format!("0{sum}")),
            &["check => 0", "plan --read a[0:4] => 0"],
        ),
        made(
            "300 reads",
            body(&format!("b[x]{}\ntensor b: f32[x: inf] = sin(x)", near(300))),
            &["run --read a[0:2] => 0"],
        ),
        made(
            "5000 reads",
            body(&format!("b[x]{}\ntensor b: f32[x: inf] = sin(x)", near(5_000))),
            &["check => 0"],
        ),
        made("100000 dimensions", format!("tensor a: f32[{dims}] = 1"), &["check => 1 E0302"]),
        made(
            "700 writes",
            chain(sets, "var v: i64[x: 8] = 0\n", 700, ""),
            &["run --read v[0:2] => 0 [100 100]"],
        ),
    ]);
}

#[test]
fn hostile_repetitions() {
    let chain =
        |line: fn(usize) -> String, head: &str, count: usize, tail: &str| lines(head, count, line, tail);
    let one = "tensor t: u8[] = 1\n";
    let view: fn(usize) -> String = |i| format!("view v{i} = v{}\n", i - 1);
    let constant: fn(usize) -> String = |i| format!("let a{i} = a{} + 1\n", i - 1);
    let function: fn(usize) -> String = |i| format!("fn f{i}(x) = f{}(x)\n", i - 1);
    let output: fn(usize) -> String = |i| format!("output \"{i}.npy\" = t\n");
    check(&[
        made("100000 views", chain(view, "tensor v0: u8[] = 1\n", 100_000, ""), &["check => 0"]),
        made(
            "100000 constants",
            chain(constant, "let a0 = 1\n", 100_000, "tensor t: f32[] = a100000"),
            &["run --read t[] => 0 100001.0"],
        ),
        made(
            "60000 functions",
            chain(function, "fn f0(x) = x\n", 60_000, "tensor t: f32[x: 4] = f60000(x)"),
            &["check => 1 E0"],
        ),
        made(
            "100000 unknown names",
            chain(|i| format!("let a{i} = b{i}\n"), "", 100_000, ""),
            &["check => 1 E0201"],
        ),
        made(
            "100000 names twice",
            chain(|_| "let a = 1\n".to_owned(), "", 100_000, ""),
            &["check => 1 E0202"],
        ),
        made("30000 outputs", chain(output, one, 30_000, ""), &["check => 0"]),
        made(
            "100000 of one output",
            chain(|_| "output \"a.npy\" = t\n".to_owned(), one, 100_000, ""),
            &["check => 1 E0801"],
        ),
        made("100000 uses", chain(|_| "use noise\n".to_owned(), "", 100_000, ""), &["check => 0"]),
        made(
            "100000 uses of nothing",
            chain(|i| format!("use m{i}\n"), "", 100_000, ""),
            &["check => 1 E0203"],
        ),
        made(
            "100000 arguments",
            format!("tensor a: f32[x: 4] = max({}1)", "x, ".repeat(100_000)),
            &["check => 0"],
        ),
        made(
            "a table of 400000",
            format!("let g = [{}]\ntensor a: i64[] = g[399999]\n", "7, ".repeat(400_000)),
            &["run --read a[] => 0 7"],
        ),
        made(
            "3000 reads of a table of 300000",
            {
                let reads: Vec<_> = (0..3_000).map(|i| format!("g[clamp(x * {i}, 0, 299999)]")).collect();
                let (entries, reads) = ("7, ".repeat(300_000), reads.join(" + "));
                format!("let g = [{entries}]\ntensor a: i64[x: inf] = {reads}\n")
            },
            &["check => 1 E0902"],
        ),
        made(
            "a table of tables",
            format!("let g = [{}]\ntensor a: i64[x: 30000] = g[x, 1]\n", "[1, 2, 3], ".repeat(30_000)),
            &["run --read a[29999] => 0 2"],
        ),
        made(
            "100000 picked",
            format!("tensor t: f32[x: inf] = x\nview v = t.oindex({{x: [{}]}})", "3, ".repeat(100_000)),
            &["run --read v[99999] => 0 3.0"],
        ),
    ]);
}

/// Names, conditions and divisions that one body has by the thousand, each of which was once compared with all others, or
/// compiled in a time that grew with their square.
#[test]
fn hostile_bodies() {
    let all = |count: usize, part: fn(usize) -> String, between: &str| {
        (0..count).map(part).collect::<Vec<_>>().join(between)
    };
    let names = all(30_000, |i| format!("a{i}"), ", ");
    check(&[
        made(
            "90000 lets",
            body(&format!("{{ {} v0 }}", all(90_000, |i| format!("let v{i} = x;"), " "))),
            &["check => 0", "run --read a[0:3] => 0 [0.0 1.0 2.0]"],
        ),
        made(
            "30000 arguments",
            body(&format!("f({})", all(30_000, |_| "x".into(), ", "))) + &format!("fn f({names}) = a7"),
            &["run --read a[0:3] => 0 [0.0 1.0 2.0]"],
        ),
        made(
            "3000 variables of one sum",
            body(&format!("sum({}) x", all(3_000, |i| format!("i{i} in 0..1"), ", "))),
            &["run --read a[0:3] => 0 [0.0 1.0 2.0]"],
        ),
        made(
            "5000 choices in a sum",
            body(&all(5_000, |i| format!("(if x > {i} then 1 else 0)"), " + ")),
            &["check => 0", "run --read a[0:3] => 0 [0.0 1.0 2.0]"],
        ),
        made(
            "250 choices, each in another",
            body(&format!("{} 7", all(250, |i| format!("if x == {i} then {i} else"), " "))),
            &["run --read a[248:251] => 0 [248.0 249.0 7.0]"],
        ),
        made(
            "5000 divisions",
            body(&all(5_000, |i| format!("x // {}", i + 2), " + ")),
            &["check => 0", "run --read a[0:4] => 0 [0.0 0.0 1.0 2.0]"],
        ),
    ]);
}

/// Bodies whose code is long: its registers, its steps and its reads were once worked out in a time that grew with their square.
#[test]
fn hostile_code() {
    let sum = |element: &str, count: usize, term: fn(usize) -> String| {
        let terms: Vec<_> = (0..count).map(term).collect();
        format!("tensor d: f32[x: inf] = x\ntensor a: {element}[x: inf] = {}\n", terms.join(" + "))
    };
    check(&[
        made(
            "1000 divisions of sums",
            sum("i64", 1_000, |i| format!("(x + {}) // 7", 7 * i)),
            &["run --read a[0:2] => 0 [499500 499500]"],
        ),
        made("15000 sines", sum("f32", 15_000, |i| format!("sin(x + {i})")), &["check => 1 E0902"]),
        made("9000 powers", sum("i64", 9_000, |i| format!("(x + {i}) ** x")), &["check => 1 E0902"]),
        made(
            "33000 of bits",
            sum("i64", 33_000, |i| format!("(x ^ {i})")),
            &["run --read a[0] => 0 544483500"],
        ),
        made(
            "24000 wide numbers as floats",
            sum("f32", 24_000, |i| format!("f32(x * {})", i + 3)),
            &["run --read a[0] => 0 0.0"],
        ),
        made(
            "24000 floats as wide numbers",
            sum("i64", 24_000, |i| format!("i64(d[x] * {i}.5)")),
            &["run --read a[0] => 0 0"],
        ),
        made(
            "5500 remainders",
            sum("i64", 5_500, |i| format!("x % {}", i + 2)),
            &["run --read a[1] => 0 5500"],
        ),
        made(
            "600 remainders of floats",
            sum("f32", 600, |i| format!("d[x] % {i}.5")),
            &["run --read a[1] => 0 599.0"],
        ),
        made(
            "2000 remainders of floats",
            sum("f32", 2_000, |i| format!("d[x] % {i}.5")),
            &["check => 1 E0902"],
        ),
        made(
            "15000 choices",
            sum("f32", 15_000, |i| format!("(if x > {i} then {i} else 1)")),
            &["run --read a[0] => 0 15000.0"],
        ),
        made("15000 reads", sum("f32", 15_000, |i| format!("d[x + {i}]")), &["run --read a[0] => 0"]),
        made("30000 hashes", sum("u32", 30_000, |i| format!("hash(x, {i})")), &["check => 1 E0902"]),
        made("12000 halves", sum("f16", 12_000, |i| format!("f16(d[x] * {i}.5)")), &["check => 1 E0902"]),
        made(
            "2000 clamped reads",
            sum("f32", 2_000, |i| format!("d[clamp(x * {i}, 0, 9)]")),
            &["run --read a[0] => 0 0.0"],
        ),
        made(
            "1500 reads at quotients",
            sum("f32", 1_500, |i| format!("d[x // {}]", i + 2)),
            &["run --read a[0] => 0 0.0"],
        ),
    ]);
}
