//! Each code that only a run can give: a script, what a program does with it, and the error as a person reads it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use itp::Engine;
use itp::diagnostic::Code;
use itp::engine::Error;
use ndarray::Array2;
use std::collections::BTreeSet;

/// What a program does, as the snapshot shows it, and what comes of it.
struct Run {
    code: Code,
    action: &'static str,
    error: fn(&str) -> Error,
}

fn compiled(script: &str) -> Engine {
    Engine::compile(script).unwrap_or_else(|error| panic!("{error}"))
}

const RUNS: [Run; 10] = [
    Run {
        code: Code::E1001,
        action: "engine.read::<f32>(\"bright[0:2, 0:2]\")",
        error: |script| compiled(script).read::<f32>("bright[0:2, 0:2]").unwrap_err(),
    },
    Run {
        code: Code::E1002,
        action: "engine.bind(\"photo\", &Array2::<f64>::zeros((3, 4)))",
        error: |script| compiled(script).bind("photo", &Array2::<f64>::zeros((3, 4))).unwrap_err(),
    },
    Run {
        code: Code::E1003,
        action: "engine.read::<f32>(\"sharp[0:2, 0:2]\")",
        error: |script| compiled(script).read::<f32>("sharp[0:2, 0:2]").unwrap_err(),
    },
    Run {
        code: Code::E1004,
        action: "engine.register(\"sharpen\", |_| Ok(Array2::<f32>::zeros((62, 62))))",
        error: |script| {
            let mut engine = compiled(script);
            engine.register("sharpen", |_| Ok(Array2::<f32>::zeros((62, 62))));
            engine.read::<f32>("sharp[0:2, 0:2]").unwrap_err()
        },
    },
    Run {
        code: Code::E1005,
        action: "Engine::builder().memory(4096).compile(…)?.read::<f64>(\"turned[0:1000, 0:1000]\")",
        error: |script| {
            let engine = Engine::builder().memory(4096).compile(script).unwrap();
            engine.read::<f64>("turned[0:1000, 0:1000]").unwrap_err()
        },
    },
    Run {
        code: Code::E1006,
        action: "engine.cancel().cancel()",
        error: |script| {
            let engine = compiled(script);
            engine.cancel().cancel();
            engine.read::<f32>("height[0:512, 0:512]").unwrap_err()
        },
    },
    Run {
        code: Code::E1007,
        action: "engine.read::<f64>(\"smooth[0:4, 0:4]\")",
        error: |script| compiled(script).read::<f64>("smooth[0:4, 0:4]").unwrap_err(),
    },
    Run {
        code: Code::E1008,
        action: "engine.write(\"paint[0:4, 0:4]\", &Array2::<f64>::zeros((4, 4)))",
        error: |script| compiled(script).write("paint[0:4, 0:4]", &Array2::<f64>::zeros((4, 4))).unwrap_err(),
    },
    Run {
        code: Code::E1009,
        action: "engine.read::<i64>(\"wide[4611686018427387000:4611686018427387002]\")",
        error: |script| {
            compiled(script).read::<i64>("wide[4611686018427387000:4611686018427387002]").unwrap_err()
        },
    },
    Run {
        code: Code::E1010,
        action: "engine.bind_stream(\"cam\", &[0; 32][..])  engine.read::<u8>(\"pair[0:8, :]\")",
        error: |script| {
            let mut engine = compiled(script);
            engine.bind_stream("cam", &[0; 32][..]).unwrap();
            engine.read::<u8>("pair[0:8, :]").unwrap_err()
        },
    },
];

/// How many bytes a plan needs is the planner's business: here it is a word.
fn without_count(text: &str) -> String {
    match text.split_once("needs ").zip(text.find(" bytes")) {
        Some(((before, _), end)) => format!("{before}needs so many{}", &text[end..]),
        None => text.to_owned(),
    }
}

#[test]
fn runs_show_their_error() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/run_errors");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("run_errors/snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for Run { code, action, error } in RUNS {
            let script = std::fs::read_to_string(folder.join(format!("{code}.itp"))).unwrap();
            let error = error(&script);
            assert_eq!(error.code(), Some(code), "{error}");
            let error = without_count(&error.to_string());
            insta::assert_snapshot!(code.id(), format!("SOURCE\n{script}\nRUN\n{action}\n\nERROR\n{error}"));
        }
    });
}

#[test]
fn no_code_of_runs_is_left_out() {
    let tested: BTreeSet<&str> = RUNS.iter().map(|run| run.code.id()).collect();
    let all: BTreeSet<&str> =
        Code::ALL.iter().map(|code| code.id()).filter(|id| id.starts_with("E10")).collect();
    assert_eq!(tested, all);
}
