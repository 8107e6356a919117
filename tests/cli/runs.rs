//! `run`, `plan` and `bench`: files and values that come out, every option, and what is told when something is wrong.

use crate::folder::{BLUR, Folder, Ran};
use insta::assert_snapshot;
use serde_json::Value;

const SLICE: &str = "blur[0:4, x=-4:4:2]";

/// Two tensors and outputs of every kind of file.
const KINDS: &str = r#"
param gain = 1
tensor ramp: f32[y: inf, x: inf] = gain * (10 * y + x / 4)
tensor bytes: u8[y: inf, x: inf] = 16 * y + x
output "ramp.png" = ramp[0:8, 0:8] colormap viridis
output "bytes.tif" = bytes[0:4, 0:4]
output "ramp.npy" = ramp[0:2, -1:2]
output "ramp.npz" = ramp[0:2, -1:2]
output "bytes.raw" = bytes[0:2, 0:3]
output "ramp.csv" = ramp[0:2, -1:2]
"#;

/// The script [`BLUR`] beside the photo that it reads.
fn blur() -> Folder {
    let folder = Folder::with("blur.itp", BLUR);
    let photo = "tensor p: f32[y: inf, x: inf] = y + 64 * x\noutput \"photo.npy\" = p[0:64, 0:64]\n";
    folder.write("photo.itp", photo);
    folder.itp(&["run", "photo.itp", "-q"]).ends(0).silent();
    folder
}

/// A transcript without the times in it: what stands before `s`.
fn timeless(ran: &Ran) -> String {
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let is_time = |at: usize| words.get(at + 1).is_some_and(|next| next.trim_end_matches(',') == "s");
        let word = |(at, word): (usize, &&str)| if is_time(at) { "T".to_owned() } else { (*word).to_owned() };
        let words: Vec<String> = words.iter().enumerate().map(word).collect();
        words.join(" ") + "\n"
    };
    ran.transcript().lines().map(line).collect()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn outputs_of_every_kind_are_written() {
    let folder = Folder::with("kinds.itp", KINDS);
    assert_snapshot!(timeless(folder.itp(&["run", "kinds.itp", "--engine", "interp"]).ends(0)));
    let written = ["bytes.raw", "bytes.tif", "kinds.itp", "ramp.csv", "ramp.npy", "ramp.npz", "ramp.png"];
    assert_eq!(folder.files(), written);
    assert_eq!(folder.read("ramp.csv"), "-0.25,0.0,0.25\n9.75,10.0,10.25\n");
    assert_eq!(std::fs::read(folder.path("bytes.raw")).expect("it was written"), [0, 1, 2, 16, 17, 18]);
}

#[test]
fn outputs_go_to_the_folder_that_it_runs_in() {
    let folder = Folder::new();
    folder.write("deep/kinds.itp", KINDS);
    folder.itp(&["run", "deep/kinds.itp", "-q"]).ends(0).silent();
    assert!(folder.files().contains(&"ramp.png".to_owned()));
}

#[test]
fn values_are_printed() {
    let folder = Folder::with("kinds.itp", KINDS);
    let reads = ["--read", "ramp[0:2, x=-1:2]", "--read", "bytes[3, 4]", "--read", "ramp[0:100, 0:100:2]"];
    let args = [&["run", "kinds.itp", "--engine", "interp"][..], &reads].concat();
    assert_snapshot!(timeless(folder.itp(&args).ends(0)));
    assert_eq!(folder.files(), ["kinds.itp"], "reads take the place of outputs");
}

#[test]
fn reads_pair_up_with_files() {
    let folder = Folder::with("kinds.itp", KINDS);
    let args = [
        "run",
        "kinds.itp",
        "--read",
        "bytes[0:1, 0:3]",
        "--out",
        "a.csv",
        "--read",
        "bytes[1, 0:2]",
        "-o",
        "b.raw",
    ];
    folder.itp(&args).ends(0).tells("a.csv  1×3 u8  ").tells("b.raw  2 u8  ");
    assert_eq!(folder.read("a.csv"), "0,1,2\n");
    assert_eq!(folder.files(), ["a.csv", "b.raw", "kinds.itp"]);
}

#[test]
fn parameters_and_inputs_come_from_outside() {
    let folder = blur();
    let one = |args: &[&str]| {
        let ran = folder.itp(&[&["run", "blur.itp", "-q", "--read", "bright[1, 2:4]"], args].concat());
        ran.ends(0).stdout.lines().last().map(str::to_owned)
    };
    assert_eq!(one(&[]).as_deref(), Some("[258.0  386.0]"));
    assert_eq!(one(&["--set", "gain=-1"]).as_deref(), Some("[-129.0  -193.0]"));
    folder.write("zero.raw", [0; 4 * 64 * 64]);
    assert_eq!(one(&["--bind", "photo=zero.raw"]).as_deref(), Some("[0.0  0.0]"));
}

#[test]
fn the_script_may_come_from_standard_input() {
    let ran =
        Folder::new().itp_fed(&["run", "-", "-q", "--read", "a[0:2]"], "tensor a: u8[x: inf] = x + 1\n");
    assert_eq!(ran.ends(0).stdout, "a[0:2]: u8[x: 2]\n[1  2]\n");
}

#[test]
fn a_script_without_outputs_says_so() {
    let folder = Folder::with("a.itp", "tensor a: u8[x: inf] = x\n");
    folder
        .itp(&["run", "a.itp"])
        .ends(0)
        .tells("a.itp: the script has no `output`; read a slice with `--read`");
}

#[test]
fn no_option_changes_a_value() {
    let folder = blur();
    let read = |args: &[&str]| {
        let out = [&["run", "blur.itp", "-q", "--read", SLICE, "--out", "x.csv"], args].concat();
        folder.itp(&out).ends(0).silent();
        folder.read("x.csv")
    };
    let plain = read(&[]);
    for args in [&["--engine", "interp"][..], &["--threads", "3"], &["--tile", "3,5"], &["--memory", "1G"]] {
        assert_eq!(read(args), plain, "{args:?}");
    }
}

#[test]
fn statistics_are_told_and_written() {
    let folder = blur();
    let options = ["--engine", "interp", "--stats", "--stats-json", "s.json", "--trace", "t.json", "--time"];
    let args = [&["run", "blur.itp", "--read", SLICE][..], &options].concat();
    assert_snapshot!(timeless(folder.itp(&args).ends(0)));
    let stats = json(&folder.read("s.json"));
    assert_eq!(
        (&stats["elements"], &stats["engine"], &stats["threads"]),
        (&16.into(), &"interp".into(), &1.into())
    );
    assert_eq!(stats["bytes"]["output"], 64);
    for (group, field) in [
        ("seconds", "compile"),
        ("seconds", "plan"),
        ("seconds", "run"),
        ("seconds", "total"),
        ("computed", "blur"),
        ("tiles", "computed"),
        ("tiles", "freed"),
        ("tiles", "live_peak"),
        ("tiles", "live_peak_planned"),
        ("tiles", "live_end"),
        ("bytes", "peak"),
        ("bytes", "peak_planned"),
    ] {
        assert!(!stats[group][field].is_null(), "{group}.{field} is missing in {stats}");
    }
    assert!(stats["vector_bits"].is_u64() && stats["computed"].is_object());
    let trace = json(&folder.read("t.json"));
    assert_eq!(trace["traceEvents"][0]["ph"], "X", "{trace}");
}

#[test]
fn quiet_runs_say_nothing() {
    let folder = Folder::with("kinds.itp", KINDS);
    folder.itp(&["run", "kinds.itp", "--quiet", "--stats", "--time"]).ends(0).silent();
}

#[test]
fn plans_are_told() {
    let folder = blur();
    let plan = |args: &[&str]| folder.itp(&[&["plan", "blur.itp", "--engine", "interp"], args].concat());
    assert_snapshot!(timeless(plan(&["--read", SLICE]).ends(0)));
    plan(&[]).ends(0).prints("blur.png  64×64 f32\n").prints("turned.npy  8×16 f32\n");
    let ran = plan(&["--read", SLICE, "--json"]);
    let plan_json = json(&ran.ends(0).stdout);
    for field in [
        "read",
        "windows",
        "tiles",
        "live_peak",
        "bytes_peak",
        "bytes_compiling",
        "recompute_factor",
        "kernels",
        "rings",
    ] {
        assert!(!plan_json[field].is_null(), "{field} is missing in {plan_json}");
    }
    plan(&["--read", SLICE, "--stats"])
        .ends(0)
        .tells("note: `--stats` tells about a run, and `itp plan` runs nothing: use `itp run`");
    plan(&["--read", SLICE, "--time", "-q"]).ends(0);
    assert_eq!(folder.files(), ["blur.itp", "photo.itp", "photo.npy"], "nothing was computed");
}

#[test]
fn benches_run_several_times() {
    let folder = blur();
    let bench = ["bench", "blur.itp", "--engine", "interp", "--read", SLICE, "--reps", "3"];
    assert_snapshot!(timeless(folder.itp(&bench).ends(0)));
    let ran = folder.itp(&[&bench[..], &["--json", "--stats-json", "s.json"]].concat());
    for stats in [json(&ran.ends(0).stdout), json(&folder.read("s.json"))] {
        let seconds = &stats["seconds"];
        let number = |field: &str| seconds[field].as_f64().unwrap_or_else(|| panic!("no {field} in {stats}"));
        assert!(0.0 < number("run_min") && number("run_min") <= number("run_median"), "{stats}");
        assert_eq!((&seconds["reps"], &stats["elements"]), (&3.into(), &16.into()));
        assert_eq!(seconds["runs"].as_array().map(Vec::len), Some(3), "{stats}");
        let reads = stats["reads"].as_array().expect("one entry per read");
        let [read] = &reads[..] else { panic!("one read, not {reads:?}") };
        assert_eq!(read["read"], SLICE);
        assert!(
            0.0 < number("first") && read["first"] == seconds["first"] && read["plan"].is_f64(),
            "{stats}"
        );
    }
}

#[test]
fn wrong_command_lines_end_with_2() {
    let folder = Folder::with("blur.itp", BLUR);
    let check = |args: &[&str], part: &str| {
        let ran = folder.itp(&[&["run", "blur.itp"], args].concat());
        ran.ends(2).tells(part);
        assert_eq!(ran.stdout, "");
    };
    check(&["--out", "x.npy"], "--out is for a --read");
    check(&["--read", SLICE, "--read", SLICE, "--out", "x.npy"], "but there are 1 for 2");
    check(&["--read", SLICE, "--out", "x.jpg"], "must end in one of .npy");
    check(&["--set", "gain"], "write it as name=value");
    check(&["--bind", "=a.npy"], "write it as name=path");
    check(&["--threads", "0"], "invalid value '0' for '--threads <N>'");
    check(&["--memory", "12Q"], "invalid value '12Q' for '--memory <SIZE>'");
    check(&["--tile", "64,x"], "invalid value '64,x' for '--tile <H,W>'");
    check(&["--engine", "gpu"], "possible values: jit, interp");
    check(&["--read", "blur[0:4"], "error[E0107]: `[` is not closed");
    check(&["--read", "3"], "this is not a slice of a tensor");
    check(&["--fast"], "unexpected argument '--fast'");
    folder.itp(&["run"]).ends(2).tells("<FILE>");
    folder.itp(&["bench", "blur.itp"]).ends(2).tells("--read <SLICE>");
    folder.itp(&["bench", "blur.itp", "--read", SLICE, "--reps", "0"]).ends(2).tells("invalid value '0'");
}

#[test]
fn names_that_the_script_does_not_have_end_with_1() {
    let folder = Folder::with("blur.itp", BLUR);
    let check = |args: &[&str], part: &str| {
        _ = folder.itp(&[&["run", "blur.itp"], args].concat()).ends(1).tells(part)
    };
    check(&["--set", "gian=3"], "help: write `--set gain=…`");
    check(&["--set", "gain=much"], "parameter `gain` cannot be `much`");
    check(&["--bind", "foto=p.npy"], "the script has no input `foto`");
    check(&["--bind", "phoot=p.npy"], "help: write `--bind photo=…`");
    check(&["--read", "blurr[0:1, 0:1]"], "unknown name `blurr`");
    check(&["--read", "bright[0:65, 0:1]"], "0..65 is outside 0..64");
    check(&["--store", "blur.itp"], "error[E0003]: `blur.itp` cannot be written");
    let folder = Folder::with("wrong.itp", "tensor a: f32[x: inf] = b\n");
    folder.itp(&["run", "wrong.itp"]).ends(1).tells("error[E0201]: unknown name `b`");
}

#[test]
fn statistics_can_be_printed() {
    let folder = Folder::with("kinds.itp", KINDS);
    let run = ["run", "kinds.itp", "-q", "--read", "bytes[0, 0:3]", "--out", "x.csv", "--stats-json", "-"];
    assert_eq!(json(&folder.itp(&run).ends(0).stdout)["elements"], 3);
    assert_eq!(folder.files(), ["kinds.itp", "x.csv"]);
}

#[test]
fn files_that_cannot_be_written_are_told_before_the_run() {
    let folder = Folder::with("kinds.itp", KINDS);
    for option in ["--stats-json", "--trace"] {
        let ran = folder.itp(&["run", "kinds.itp", option, "no/s.json"]);
        ran.ends(1).tells("cannot write `no/s.json`").tells("make its folder first");
    }
    assert_eq!(folder.files(), ["kinds.itp"], "nothing ran");
}

#[test]
fn options_that_cannot_be_meant_are_refused() {
    let folder = Folder::with("kinds.itp", KINDS);
    let run = |args: &[&str]| folder.itp(&[&["run", "kinds.itp"], args].concat());
    run(&["--set", "gain=1", "--set", "gain=2"]).ends(2).tells("--set gives 'gain' a value twice");
    run(&["--bind", "a=x.npy", "--bind", "a=y.npy"]).ends(2).tells("--bind gives 'a' a value twice");
    run(&["--tile", "99999999999,1"]).ends(2).tells("a size of a tile is 4294967295 at the most");
    run(&["--memory", "99999999999999999999"]).ends(2).tells("more than 18446744073709551615 bytes");
    assert_eq!(folder.files(), ["kinds.itp"], "nothing ran");
}

#[test]
fn tensors_that_a_parameter_switches_off_are_not_dead() {
    let script = "
param on = true
tensor b: u8[x: inf] = 1
tensor c: u8[x: inf] = 2
tensor dead: u8[x: inf] = c[x]
tensor a: u8[x: inf] = if on then b[x] else c[x]
output \"a.csv\" = a[0:2]
";
    let folder = Folder::with("a.itp", script);
    let read = folder.itp(&["run", "a.itp", "--read", "dead[0:2]"]);
    read.ends(0);
    assert!(!read.stderr.contains("no output needs"), "who reads `dead` needs it:\n{}", read.stderr);
    for args in [&["run", "a.itp"][..], &["run", "a.itp", "--set", "on=false"]] {
        let ran = folder.itp(args);
        ran.ends(0).tells("no output needs `dead`");
        assert!(
            !ran.stderr.contains("no output needs `b`") && !ran.stderr.contains("needs `c`"),
            "{}",
            ran.stderr
        );
    }
    assert_eq!(folder.read("a.csv"), "2\n2\n");
}

#[test]
fn trees_show_the_levels_of_a_slice() {
    let script = "tensor a: i32[y: 4, x: 9] format dense(sparse_list(element(0))) = if (x + y) % 4 == 1 then x - y else 0
        tensor m: bool[y: 4, x: 9] format dense(run_list(pattern)) = x > y
        tensor r: i32[y: 4] = sum(k in 0..9) if m[y, k] then a[y, k] else 0";
    let folder = Folder::with("a.itp", script);
    let tree =
        folder.itp(&["tree", "a.itp", "--read", "a[1:3, :]", "--read", "m[0:2, 0:5]", "--read", "r[:]"]);
    assert_snapshot!(tree.ends(0).transcript());
    let ran = folder.itp(&["run", "a.itp", "--read", "r[:]", "--stats"]);
    ran.ends(0).tells("stored  m in ").tells(" as dense(run_list(pattern)), 36 B if dense");
    let ran = folder.itp(&["run", "a.itp", "--read", "r[:]", "--stats-json", "s.json", "-q"]);
    ran.ends(0);
    let stats = json(&folder.read("s.json"));
    assert_eq!(stats["formats"]["a"]["dense"], 144, "{stats}");
}
