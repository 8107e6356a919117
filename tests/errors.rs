//! Every error code keeps the word of its page, and every mistake of a beginner is answered by a message that a
//! person has read: the snapshots hold the source and the error.

use itp::compile::{self, Options};
use itp::diagnostic::{Code, Diagnostic, Diagnostics, Style, render};
use itp::graph::modules::Loader;
use itp::source::Sources;
use std::collections::BTreeSet;
use std::path::Path;

/// Files beside the mistakes, for scripts that `use` them.
struct Beside;

impl Loader for Beside {
    fn load(&self, path: &str) -> Result<String, String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes");
        std::fs::read_to_string(folder.join(path)).map_err(|_| "there is no such file".into())
    }
}

/// What compiling a script says.
fn compiled(text: &str, settings: &[(String, String)]) -> (Sources, Vec<Diagnostic>) {
    let mut sources = Sources::default();
    let root = sources.add("script.itp", text);
    let mut diagnostics = Diagnostics::default();
    let program = compile::compile(
        &mut sources,
        root,
        &Beside,
        &Options { settings, ..Options::default() },
        &mut diagnostics,
    );
    assert_eq!(
        program.is_none(),
        diagnostics.has_errors(),
        "a program comes out exactly when there is no error"
    );
    (sources, diagnostics.into_sorted())
}

fn codes(text: &str) -> Vec<Code> {
    compiled(text, &[]).1.iter().map(|diagnostic| diagnostic.code).collect()
}

fn rendered(text: &str, settings: &[(String, String)]) -> String {
    let (sources, diagnostics) = compiled(text, settings);
    let shown: Vec<_> =
        diagnostics.iter().map(|diagnostic| render(diagnostic, &sources, Style::Plain)).collect();
    format!("SOURCE\n{text}\nERROR\n{}", shown.join("\n\n"))
}

fn in_folder(folder: &str, check: impl FnOnce()) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(check);
}

/// Codes of the command line, of the parser and of runs (`tests/run_errors.rs`); those have tests of their own.
fn tested_elsewhere(code: Code) -> bool {
    ["E00", "E01", "E10"].iter().any(|group| code.id().starts_with(group)) || code.id() == "E0903"
}

/// What a page cannot show in a few lines, or without a command line: tested below.
const WITHOUT_EXAMPLES: [Code; 2] = [Code::E0209, Code::E0901];

#[test]
fn pages_keep_their_word() {
    for code in
        Code::ALL.iter().copied().filter(|code| !tested_elsewhere(*code) && !WITHOUT_EXAMPLES.contains(code))
    {
        let example = |which| code.example(which).unwrap_or_else(|| panic!("{code} has no {which} example"));
        assert_eq!(codes(example("wrong")), [code], "the wrong example of {code}");
        assert_eq!(codes(example("right")), [], "the right example of {code}");
    }
}

#[test]
fn pages_have_a_title_and_a_text() {
    let of_runs = |code: &Code| code.id().starts_with("E10");
    for code in Code::ALL.iter().copied().filter(|code| !tested_elsewhere(*code) || of_runs(code)) {
        let title = code.title();
        assert!(code.page().starts_with(&format!("# {code}: {title}\n\n")), "{code} has no title");
        assert!(
            title.starts_with(|c: char| c.is_lowercase() || c == '`') && !title.ends_with('.'),
            "{code}: {title}"
        );
        let text = code.page().lines().nth(2).unwrap_or_default();
        assert!(text.starts_with(|c: char| c.is_uppercase() || c == '`'), "{code} has no text");
    }
}

#[test]
fn pages_show_their_error() {
    in_folder("error_pages/snapshots", || {
        for code in Code::ALL.iter().copied().filter(|code| !tested_elsewhere(*code)) {
            if let Some(script) = code.example("wrong") {
                insta::assert_snapshot!(code.id(), rendered(script, &[]));
            }
        }
    });
}

#[test]
fn mistakes_are_explained() {
    in_folder("mistakes/snapshots", || {
        insta::glob!("mistakes", "*.itp", |path| {
            let text = std::fs::read_to_string(path).expect("the script is readable");
            let shown = rendered(&text, &[]);
            assert!(
                shown.contains("error[") || shown.contains("warning["),
                "{} has no mistake",
                path.display()
            );
            insta::assert_snapshot!(shown);
        });
    });
}

/// The house style: see the head of `src/diagnostic.rs`.
#[test]
fn messages_follow_the_house_style() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes");
    let mut seen = BTreeSet::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "itp") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("the script is readable");
        for diagnostic in compiled(&text, &[]).1 {
            seen.insert(diagnostic.code);
            check_style(&diagnostic);
        }
    }
    assert!(seen.len() > 50, "only {} codes are among the mistakes", seen.len());
}

fn check_style(diagnostic: &Diagnostic) {
    let labels = diagnostic.labels.iter().map(|label| &label.text);
    let all = labels.chain(&diagnostic.help).chain(&diagnostic.notes).chain([&diagnostic.message]);
    for text in all {
        assert!(!text.ends_with('.') || text.ends_with("..."), "a full stop: {text}");
        assert!(!text.starts_with(char::is_uppercase), "a capital: {text}");
        for word in ["node", "elaborat", "opaque", "internal", "1 dimensions", "1 coordinates", "1 entries"] {
            assert!(!text.contains(word), "`{word}` in: {text}");
        }
    }
    assert!(!diagnostic.labels.is_empty(), "no place: {diagnostic}");
    for help in &diagnostic.help {
        assert!(help.starts_with(char::is_lowercase), "no verb: {help}");
    }
}

/// Coordinates that the read itself does not need: it starts at 0, or one element is shown many times.
#[test]
fn coordinates_that_drop_out_are_no_trouble() {
    let take = |index: &str| {
        format!(
            "tensor s: f32[x: inf] = x\ntensor t: f32[x: inf]\n  window [8]\n  take h = s window [8]\n= {index}"
        )
    };
    assert_eq!(codes(&take("h[0] + h[7]")), []);
    assert_eq!(codes(&take("h[8 - 8]")), []);
    let row = "input row: f32[y: 1, x: 8]\ntensor t: f32[y: 4, x: 8] = ";
    assert_eq!(codes(&format!("{row}row.expand([4, 8])[y, x]")), []);
    assert_eq!(codes(&format!("{row}row.expand([4, 8])[y + 1, x]")), [Code::E0502]);
    assert_eq!(codes(&format!("{row}row.expand([4, 8])[0, x] + row.flatten()[0] + row.flip([y])[0, x]")), []);
    assert_eq!(codes(&format!("{row}row.add_dim(c)[0, 0, x] + row.reshape([8, 1])[x, 0]")), []);
    assert_eq!(codes(&format!("{row}row.reshape([8, 1])[x, 0] + row.reshape([8, 1])[x, 1]")), [Code::E0502]);
}

#[test]
fn a_setting_that_does_not_fit_is_refused() {
    let script = "param seed = 7\nparam gain: u8 = 1\nparam fancy = true\nparam freq = 0.5\ntensor a: f32[x: inf] = x * seed\n";
    let set = |name: &str, value: &str| {
        let shown = rendered(script, &[(name.to_owned(), value.to_owned())]);
        shown.split_once("ERROR\n").map(|(_, error)| error.to_owned()).unwrap_or_default()
    };
    assert_eq!(set("seed", "8"), "");
    in_folder("mistakes/snapshots", || {
        insta::assert_snapshot!("set_unknown", set("sed", "8"));
        insta::assert_snapshot!("set_float", set("seed", "0.5"));
        insta::assert_snapshot!("set_word", set("seed", "large"));
        insta::assert_snapshot!("set_too_large", set("gain", "256"));
        insta::assert_snapshot!("set_not_a_bool", set("fancy", "no"));
        insta::assert_snapshot!("set_huge_integer", set("seed", "99999999999999999999"));
        insta::assert_snapshot!("set_huge_float", set("freq", "1e400"));
    });
}

#[test]
fn definitions_may_wait_for_each_other_in_any_number() {
    let chain = |link: &dyn Fn(usize) -> String, last: &str| {
        let links: String = (0..20_000).map(link).collect();
        format!("{links}{last}\ntensor t: f32[x: 3] = a0\n")
    };
    assert_eq!(codes(&chain(&|i| format!("let a{i} = a{} + 1\n", i + 1), "let a20000 = 1")), []);
    let functions =
        chain(&|i| format!("fn f{i}(x) = a{} + x\nlet a{i} = f{i}(1)\n", i + 1), "param a20000 = 1");
    assert_eq!(codes(&functions), []);
    let round = chain(&|i| format!("let a{i} = a{} + 1\n", i + 1), "let a20000 = a10000");
    assert_eq!(codes(&round).first(), Some(&Code::E0208));
    let views: String = (0..2000).map(|i| format!("view a{i} = a{}.translate_by([1])\n", i + 1)).collect();
    let views = format!("{views}input a2000: f32[x: 3]\ntensor t: f32[x: 2000..2003] = a0[x]\n");
    assert_eq!(codes(&views), []);
}

/// Every unknown name of an expression is told, once, in order, and nothing that only follows from it.
#[test]
fn unknown_names_are_told_together() {
    let told = |text: &str| -> Vec<String> {
        compiled(text, &[]).1.into_iter().map(|diagnostic| diagnostic.message).collect()
    };
    assert_eq!(
        told("tensor t: f32[x: 3] = foo + bar * baz[x] + qux(x) - foo"),
        ["unknown name `foo`", "unknown name `bar`", "unknown name `baz`", "unknown function `qux`"]
    );
    assert_eq!(
        told(
            "tensor t: i32[x: 3] = if foo > 3 then bar[x] else sum(i in 0..n) quux.clamp()[i] / { let w = u; w + v }"
        ),
        [
            "unknown name `foo`",
            "unknown name `bar`",
            "unknown name `n`",
            "unknown name `quux`",
            "unknown name `u`",
            "unknown name `v`"
        ]
    );
    assert_eq!(
        told(
            "tensor s: f32[x: inf] = x\ntensor t: f32[x: inf] window [4] as [i] take b = s window [4] = b[i] + c[i] + index(x) + d"
        ),
        ["unknown name `c`", "unknown name `d`"]
    );
    assert_eq!(told("let a = b + c"), ["unknown name `b`", "unknown name `c`"]);
    assert_eq!(
        told("var v: f32[x: 3] = 0\nset v[0:2] = x + p + q"),
        ["unknown name `p`", "unknown name `q`"]
    );
    assert_eq!(
        told("fn f(a) = a + z\ntensor t: f32[x: 3] = f(x) + w + f(u)"),
        ["unknown name `z`", "unknown name `w`", "unknown name `u`"]
    );
}

#[test]
fn functions_that_nest_too_deep_are_refused() {
    let mut script = String::from("fn f0(a) = a\n");
    for i in 0..1100 {
        script.push_str(&format!("fn f{}(a) = (f{i}(a + {i}))\n", i + 1));
    }
    script.push_str("tensor t: f32[x: inf] = f1100(x)\n");
    assert_eq!(codes(&script), [Code::E0901]);
}

#[test]
fn bodies_that_are_too_large_are_refused() {
    let mut script = String::from("fn f0(a) = rand(a)\n");
    for i in 0..17 {
        script.push_str(&format!("fn f{}(a) = f{i}(2 * a) + f{i}(2 * a + 1)\n", i + 1));
    }
    script.push_str("tensor t: f32[x: inf] = f17(x)\n");
    assert_eq!(codes(&script), [Code::E0902]);
}

/// Every mistake is told, but what was meant is looked for a hundred times at the most.
#[test]
fn thousands_of_mistakes_are_told() {
    let names: String =
        (0..3000).map(|i| format!("tensor known{i}: f32[x: inf] = unknown{i} + x\n")).collect();
    let (_, diagnostics) = compiled(&names, &[]);
    assert_eq!(diagnostics.len(), 3000);
    assert!(diagnostics[..100].iter().all(|diagnostic| !diagnostic.help.is_empty()));
    assert!(diagnostics[100..].iter().all(|diagnostic| diagnostic.help.is_empty()));
}
