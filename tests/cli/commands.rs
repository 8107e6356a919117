//! `check`, `emit`, `graph`, `explain`, `new` on scripts without errors.

use crate::folder::{BLUR, Folder};
use insta::assert_snapshot;

#[test]
fn check_says_ok_on_stderr_unless_quiet() {
    let folder = Folder::with("blur.itp", BLUR);
    let ran = folder.itp(&["check", "blur.itp"]);
    assert_eq!(ran.ends(0).stderr, "blur.itp: ok (3 tensors, 2 outputs)\n");
    assert_eq!(ran.stdout, "");
    folder.itp(&["check", "blur.itp", "--quiet"]).ends(0).silent();
    folder.itp(&["check", "blur.itp", "--json"]).ends(0).silent();
}

#[test]
fn check_reads_standard_input() {
    Folder::new().itp_fed(&["check", "-"], BLUR).ends(0).tells("<stdin>: ok (3 tensors, 2 outputs)");
}

#[test]
fn every_stage_is_printed() {
    let folder = Folder::with("blur.itp", BLUR);
    for stage in ["tokens", "ast", "graph", "access", "views"] {
        let ran = folder.itp(&["emit", "blur.itp", "--stage", stage]);
        assert!(!ran.ends(0).stdout.is_empty(), "{stage}");
        assert_eq!(ran.stderr, "", "{stage}");
    }
}

#[test]
fn emit_picks_one_tensor() {
    let folder = Folder::with("blur.itp", BLUR);
    let ran = folder.itp(&["emit", "blur.itp", "--stage", "graph", "--tensor", "bright"]);
    assert!(ran.ends(0).stdout.starts_with("t1 = bright: f32[y: 64, x: 64] <- t0\n"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("blur"), "{}", ran.stdout);
    let ran = folder.itp_fed(&["emit", "-", "--stage", "access", "--tensor", "blur"], BLUR);
    ran.ends(0).prints("t2 blur\n");
    assert_snapshot!(
        folder.itp(&["emit", "blur.itp", "--stage", "graph", "--tensor", "brigth"]).transcript()
    );
}

#[test]
fn emit_honours_settings_and_says_what_needs_a_run() {
    let folder = Folder::with("blur.itp", BLUR);
    folder.itp(&["emit", "blur.itp", "--stage", "graph", "--set", "gain=7"]).ends(0).prints("param gain = 7");
    let trace = ["emit", "blur.itp", "--stage", "graph", "--trace", "t.json"];
    folder.itp(&trace).ends(0).tells("note: `--trace` tells about a run, and `itp emit` runs nothing");
    folder.itp(&["emit", "blur.itp", "--stage", "loop"]).ends(2).tells("invalid value 'loop'");
}

#[test]
fn plans_and_traces_are_stages_of_a_read() {
    let folder = Folder::with("blur.itp", BLUR);
    let plan = folder.itp(&["emit", "blur.itp", "--stage", "plan", "--read", "blur[0:8, 0:8]"]);
    assert!(plan.ends(0).stdout.starts_with("# blur[0:8, 0:8]\ng0 blur: 0..8, 0..8\n"), "{}", plan.stdout);
    assert!(plan.stdout.ends_with(" bytes of one worker\n"), "{}", plan.stdout);
    // The file of the input is not there, and no plan needs it.
    folder.itp(&["plan", "blur.itp", "--read", "blur[0:8, 0:8]"]).ends(0).prints("8×8 f32");
    folder.itp(&["emit", "blur.itp", "--stage", "plan"]).ends(0).prints("# blur.png\n");
    let trace = ["emit", "blur.itp", "--stage", "trace", "--read", "blur[0:8, 0:8]"];
    folder.itp(&trace).ends(1).tells("error[E1002]");
    folder.write("ramp.itp", "tensor ramp: f32[y: inf, x: inf] = y + x");
    let trace = folder.itp(&["emit", "ramp.itp", "--stage", "trace", "--read", "ramp[0:2, 0:2]"]);
    assert_eq!(
        trace.ends(0).stdout,
        "# ramp[0:2, 0:2]\ncompute ramp [0, 0], 1 live\nfree    ramp [0, 0], 0 live\n"
    );
    let huge = ["emit", "ramp.itp", "--stage", "trace", "--read", "ramp[0:900000, 0:900000]"];
    folder.itp(&huge).ends(1).tells("is too long");
}

#[test]
fn graph_prints_dot_and_writes_pictures() {
    let folder = Folder::with("blur.itp", BLUR);
    assert_snapshot!(folder.itp(&["graph", "blur.itp"]).transcript());
    for (name, start) in [("g.svg", "<svg"), ("g.dot", "digraph"), ("g.mmd", "flowchart")] {
        folder.itp(&["graph", "blur.itp", "--out", name]).ends(0).silent();
        assert!(folder.read(name).starts_with(start), "{}", folder.read(name));
    }
    folder.itp(&["graph", "blur.itp", "--out", "g.jpg"]).ends(2).tells("must end in .svg, .dot or .mmd");
    folder
        .itp(&["graph", "blur.itp", "--out", "none/g.svg"])
        .ends(1)
        .tells("error[E0003]: cannot write `none/g.svg`");
    assert_eq!(folder.files(), ["blur.itp", "g.dot", "g.mmd", "g.svg"]);
}

#[test]
#[cfg(feature = "jit")]
fn plans_are_drawn_with_the_peak_that_is_planned() {
    let script = "tensor a: f32[y: inf, x: inf] = sin(y / 9) + cos(x / 7)\n\
                  tensor d: f32[y: inf, x: inf] = a[y, x + 1] - a[y, x - 1]\n\
                  tensor b: f32[y: inf, x: inf] = a[y, x] + d[y + 3, x] + d[y - 90, x]\n";
    let folder = Folder::with("a.itp", script);
    let plan = ["plan", "a.itp", "--read", "b[0:1024, 0:1024]", "--threads", "2"];
    let told = folder.itp(&[&plan[..], &["--out", "plan.svg"]].concat());
    let json: serde_json::Value =
        serde_json::from_str(&folder.itp(&[&plan[..], &["--json"]].concat()).ends(0).stdout)
            .expect("an object");
    told.ends(0).prints("tensor  tiles").prints(&format!("{} live at the peak", json["live_peak"]));
    assert!(json["tiles"].as_u64() > Some(8), "{json}");
    let drawn = folder.read("plan.svg");
    assert!(drawn.contains(&format!(">{} tiles at the most<", json["live_peak"])), "{drawn}");
    assert_eq!(drawn.matches("made by task").count() as u64, json["tiles"].as_u64().unwrap_or(0));
    folder.itp(&[&plan[..], &["--out", "plan.png"]].concat()).ends(2).tells("must end in .svg");
}

/// Windows have bars of their own, also those of a stage that another one computes inside of itself.
#[test]
fn a_plan_draws_windows() {
    let folder = Folder::with(
        "parts.itp",
        "tensor parts: f32[y: inf, x: inf] window [24, 24] stride [16, 16] as [i, j] blend sum = f32(i + j)\n\
         tensor half: f32[y: inf, x: inf] = parts[y, x] / 2\n",
    );
    let plan = ["plan", "parts.itp", "--read", "half[0:64, 0:64]", "--threads", "2", "--tile", "16,64"];
    let told = folder.itp(&[&plan[..], &["--out", "plan.svg"]].concat());
    told.ends(0);
    let line = told.stdout.lines().find(|line| line.contains("windows    parts")).unwrap().trim();
    assert_eq!(line, "windows    parts: 25 computed, 0 reused", "{}", told.stdout);
    let drawn = folder.read("plan.svg");
    assert!(drawn.contains("25 windows of 24×24"), "{drawn}");
    assert_eq!(drawn.matches("<title>parts [").count(), 25, "{drawn}");
    // Windows 0 begin in the first row of tiles and end in the second.
    assert!(drawn.contains("parts [0, 0]: a window of tasks 0 to 1"), "{drawn}");
    assert!(drawn.contains("parts [3, 0]: a window of task 3"), "{drawn}");
}

#[test]
fn explain_prints_a_page_or_the_list() {
    let folder = Folder::new();
    assert_snapshot!(folder.itp(&["explain", "E0001"]).transcript());
    assert_eq!(folder.itp(&["explain", "e0001"]).stdout, folder.itp(&["explain", "E0001"]).stdout);
    assert_eq!(folder.itp(&["explain", "502"]).stdout, folder.itp(&["explain", "E0502"]).stdout);
    let list = folder.itp(&["explain"]).ends(0).stdout.clone();
    assert!(list.starts_with("E0001  a file cannot be read\nE0002  a file is not a script\n"), "{list}");
    assert_eq!(list.lines().count(), itp::diagnostic::Code::ALL.len());
    folder.itp(&["explain", "E9999"]).ends(2).tells("there is no such code");
}

#[test]
fn new_writes_a_script_that_checks_and_is_formatted() {
    let folder = Folder::new();
    let ran = folder.itp(&["new", "dunes"]);
    assert_eq!(ran.ends(0).stderr, "dunes.itp: written; try `itp run dunes.itp`\n");
    let ran = folder.itp(&["check", "dunes.itp"]);
    assert_eq!(ran.ends(0).stderr, "dunes.itp: ok (2 tensors, 1 output)\n");
    folder.itp(&["fmt", "--check", "dunes.itp"]).ends(0).silent();
    assert!(folder.read("dunes.itp").contains("output \"dunes.png\""));
}

#[test]
fn new_never_overwrites() {
    let folder = Folder::with("dunes.itp", "mine");
    for name in ["dunes", "dunes.itp"] {
        folder.itp(&["new", name]).ends(1).tells("error[E0003]: cannot write `dunes.itp`: it exists already");
    }
    assert_eq!(folder.read("dunes.itp"), "mine");
    folder.itp(&["new", "no/dunes"]).ends(1).tells("make its folder first");
    folder.itp(&["new", "a\"b"]).ends(2).tells("a name is made of letters");
}

#[test]
fn kernels_are_shown_after_each_pass() {
    let folder = Folder::new();
    folder.write("a.itp", "tensor a: f32[y: inf, x: inf] = x / 2 + y\n");
    for pass in [
        "lower", "simplify", "split", "jam", "residues", "unroll", "dense", "unswitch", "narrow", "order",
        "sweep",
    ] {
        folder.itp(&["emit", "a.itp", "--stage", "loops", "--after", pass]).ends(0).prints("kernel a(");
    }
    let unknown = folder.itp(&["emit", "a.itp", "--stage", "loops", "--after", "inline"]);
    unknown
        .ends(2)
        .tells("possible values: lower, simplify, split, jam, residues, unroll, dense, unswitch, narrow, order, sweep");
    let other = folder.itp(&["emit", "a.itp", "--stage", "graph", "--after", "lower"]);
    other.ends(2).tells("--after cannot be used with '--stage graph', which has no passes");
}
