//! `run`, `plan` and `bench`: their options, and that they say so as long as there is no run.

use crate::folder::{BLUR, Folder};
use insta::assert_snapshot;

const SLICE: &str = "blur[0:4, x=-4:4:2]";

#[test]
fn running_is_not_available_yet() {
    let folder = Folder::with("blur.itp", BLUR);
    assert_snapshot!(folder.itp(&["run", "blur.itp", "--read", SLICE]).transcript());
    folder.itp(&["plan", "blur.itp", "--read", SLICE, "--json"]).ends(1).tells("E0903");
    folder.itp(&["bench", "blur.itp", "--read", SLICE, "--reps", "3", "--json"]).ends(1).tells("E0903");
    assert_eq!(folder.files(), ["blur.itp"]);
}

#[test]
fn every_option_is_taken() {
    let folder = Folder::with("blur.itp", BLUR);
    let options = [
        "--set",
        "gain=3",
        "--bind",
        "photo=p.npy",
        "--threads",
        "2",
        "--memory",
        "512M",
        "--engine",
        "interp",
        "--tile",
        "64,32",
        "--store",
        "tiles",
        "--stats",
        "--stats-json",
        "s.json",
        "--trace",
        "t.json",
        "--time",
    ];
    for command in ["run", "plan", "bench"] {
        let args = [&[command, "blur.itp", "--read", SLICE][..], &options].concat();
        folder.itp(&args).ends(1).tells("error[E0903]: running is not available yet");
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
    check(&["--out", "x.npy"], "one --out for each --read, but there are 1 for 0");
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
    folder.itp(&["plan", "blur.itp"]).ends(2).tells("--read <SLICE>");
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
    let folder = Folder::with("wrong.itp", "tensor a: f32[x: inf] = b\n");
    folder.itp(&["run", "wrong.itp"]).ends(1).tells("error[E0201]: unknown name `b`");
}
