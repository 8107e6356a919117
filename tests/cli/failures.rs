//! Runs that fail: data that is missing or wrong, files that cannot be written, runs that are cancelled. What was there
//! before stays as it was.

use crate::folder::{BLUR, Folder, Ran};
use insta::assert_snapshot;
use std::process::Stdio;
use std::time::{Duration, Instant};

const RAMP: &str = "tensor ramp: f32[y: inf, x: inf] = y + x\noutput \"ramp.npy\" = ramp[0:99, 0:99]\n";

#[test]
fn inputs_that_are_missing_or_wrong_are_told() {
    let folder = Folder::with("blur.itp", BLUR);
    assert_snapshot!("input_missing", folder.itp(&["run", "blur.itp"]).ends(1).transcript());
    folder.write("small.itp", "tensor p: f32[y: 3, x: 4] = 1\noutput \"photo.npy\" = p\n");
    folder.itp(&["run", "small.itp", "-q"]).ends(0);
    assert_snapshot!("input_shape", folder.itp(&["run", "blur.itp"]).ends(1).transcript());
    folder.write("other.itp", "tensor p: f64[y: 64, x: 64] = 1\noutput \"photo.npy\" = p\n");
    folder.itp(&["run", "other.itp", "-q"]).ends(0);
    assert_snapshot!("input_type", folder.itp(&["run", "blur.itp"]).ends(1).transcript());
    let bound = |path: &str| folder.itp(&["run", "blur.itp", "--bind", &format!("photo={path}")]);
    bound("p.zarr").ends(1).tells("input `photo`: `p.zarr` cannot be read: ");
    bound("p.jpg").ends(1).tells("input `photo`: `p.jpg` has an ending that names no kind of file");
    bound("blur.itp/p.npy").ends(1).tells("error[E1002]: input `photo`: `blur.itp/p.npy` cannot be read");
    assert!(!folder.files().contains(&"blur.png".to_owned()));
}

#[test]
fn inputs_without_data_and_functions_without_a_host_are_told() {
    let folder =
        Folder::with("a.itp", "input p: u8[x: 3]\ntensor a: u8[x: 3] = p[x]\noutput \"a.npy\" = a\n");
    assert_snapshot!("unbound", folder.itp(&["run", "a.itp"]).ends(1).transcript());
    let script = "tensor a: f32[x: inf] = x\ntensor b: f32[x: inf] window [4] take s = a window [4] = extern \"f\"(s)\n";
    folder.write("b.itp", format!("{script}output \"b.npy\" = b[0:8]\n"));
    assert_snapshot!("unregistered", folder.itp(&["run", "b.itp"]).ends(1).transcript());
    assert_eq!(folder.files(), ["a.itp", "b.itp"]);
}

#[test]
fn a_plan_above_the_limit_is_refused() {
    let folder = Folder::with("ramp.itp", RAMP);
    let ran = folder.itp(&["run", "ramp.itp", "--engine", "interp", "--memory", "1K"]);
    assert_snapshot!(ran.ends(1).transcript());
    assert_eq!(folder.files(), ["ramp.itp"]);
}

#[test]
fn outputs_that_cannot_be_written_are_told_before_the_run() {
    let folder = Folder::with("ramp.itp", RAMP);
    let out = |path: &str| folder.itp(&["run", "ramp.itp", "--read", "ramp[0:2, 0:2]", "--out", path]);
    out("none/x.npy")
        .ends(1)
        .tells("error[E0003]: `none/x.npy` cannot be written: there is no folder `none`");
    folder.write("folder.npy/a", "");
    out("folder.npy").ends(1).tells("`folder.npy` is a folder");
    folder.write("taken.zarr/a", "");
    out("taken.zarr").ends(1).tells("`taken.zarr` is a folder that is no zarr array");
    let ran = folder.itp(&["run", "ramp.itp", "--read", "ramp[0:2, 0:2]", "--stats-json", "none/s.json"]);
    ran.ends(1).tells("error[E0003]: cannot write `none/s.json`");
}

#[test]
fn outputs_that_cannot_be_written_are_found_before_anything_is_computed() {
    // The first output would take for ever.
    let slow = |second: &str| {
        format!(
            "tensor a: f32[y: inf, x: inf] = sum(k in 0..1000000000000) f32(k) * x
             output \"a.npy\" = a[0:9, 0:9]  output {second}"
        )
    };
    let folder = Folder::with("folder.itp", &slow("\"none/b.npy\" = a[0:4, 0:4]"));
    folder.itp(&["run", "folder.itp"]).ends(1).tells("there is no folder `none`");
    for (option, told) in
        [("chunk [2, 2]", "`chunk` is for zarr arrays"), ("codec gzip", "`codec` is for zarr arrays")]
    {
        folder.write("option.itp", slow(&format!("\"b.tif\" = a[0:4, 0:4] {option}")));
        for command in ["check", "run"] {
            folder.itp(&[command, "option.itp"]).ends(1).tells("error[E0803]").tells(told);
        }
    }
    folder.write("zarr.itp", slow("\"b.zarr\" = a[0:4, 0:4] chunk [2, 2] codec lz4"));
    folder.itp(&["run", "zarr.itp"]).ends(1).tells("has the codec `lz4`, which is not written");
    assert_eq!(folder.files(), ["folder.itp", "option.itp", "zarr.itp"]);
}

#[cfg(unix)]
#[test]
fn a_read_only_output_stays() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::with("ramp.itp", RAMP);
    folder.write("ramp.npy", "old");
    let mode = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(folder.path("ramp.npy"), mode).expect("the mode is set");
    folder.itp(&["run", "ramp.itp"]).ends(1).tells("`ramp.npy` is read-only, so it is not replaced");
    assert_eq!(folder.read("ramp.npy"), "old");
}

/// A limit on the size of files fails a write in the middle, as a full disk does.
#[cfg(unix)]
fn with_small_files(folder: &Folder, args: &str) -> Ran {
    let line = format!("ulimit -f 8; exec '{}' {args}", env!("CARGO_BIN_EXE_itp"));
    let mut shell = std::process::Command::new("sh");
    let output = shell.args(["-c", &line]).current_dir(folder.path(".")).output().expect("the shell runs");
    Ran::new(&args.split(' ').collect::<Vec<_>>(), output)
}

#[cfg(unix)]
#[test]
fn an_output_that_fails_in_the_middle_leaves_the_old_one() {
    let folder = Folder::with("ramp.itp", RAMP);
    folder.write("ramp.npy", "old");
    let ran = with_small_files(&folder, "run ramp.itp");
    ran.ends(1).tells("error[E0003]: `ramp.npy` cannot be written: file too large");
    assert_eq!(folder.read("ramp.npy"), "old");
    assert_eq!(folder.files(), ["ramp.itp", "ramp.npy"]);
}

#[cfg(unix)]
#[test]
fn a_later_failure_keeps_earlier_outputs() {
    let folder = Folder::with("two.itp", &format!("output \"a.npy\" = ramp[0:1, 0:1]\n{RAMP}"));
    let ran = with_small_files(&folder, "run two.itp --stats-json s.json");
    ran.ends(1).tells("`ramp.npy` cannot be written: file too large");
    assert_eq!(folder.files(), ["a.npy", "two.itp"]);
}

/// Starts a run that would take hours, sends a signal twice once it writes, as wrappers do, and gives what came of it
/// and after how long.
#[cfg(unix)]
fn interrupted(folder: &Folder, args: &[&str], signal: &str) -> (Ran, Duration) {
    let child = folder.command(args).stdout(Stdio::piped()).spawn().expect("the binary runs");
    let start = Instant::now();
    while !folder.files().iter().any(|name| name.ends_with(".tmp")) {
        assert!(start.elapsed() < Duration::from_secs(60), "the run did not start");
        std::thread::sleep(Duration::from_millis(10));
    }
    // The file is there before the first element is computed.
    std::thread::sleep(Duration::from_millis(200));
    let sent = Instant::now();
    let process = child.id().to_string();
    let killed = std::process::Command::new("kill").args([signal, &process, &process]).status();
    assert!(killed.expect("kill runs").success());
    let output = child.wait_with_output().expect("the binary ends");
    (Ran::new(args, output), sent.elapsed())
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_run_soon_and_leaves_no_file() {
    let slow =
        "tensor a: f32[y: inf, x: inf] = sin(y) * cos(x)\noutput \"slow.npy\" = a[0:100000, 0:100000]\n";
    let folder = Folder::with("slow.itp", slow);
    folder.write("slow.npy", "old");
    for signal in ["-INT", "-TERM"] {
        let (ran, time) = interrupted(&folder, &["run", "slow.itp", "--engine", "interp"], signal);
        ran.ends(1).tells("error[E1006]: the run was cancelled");
        // 200 ms are promised; starting `kill` and a busy machine take theirs.
        assert!(time < Duration::from_millis(1000), "{time:?}");
        assert_eq!(folder.files(), ["slow.itp", "slow.npy"]);
        assert_eq!(folder.read("slow.npy"), "old");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_what_waits_for_others_too() {
    use std::io::Read;
    let folder = Folder::with("ramp.itp", "tensor ramp: f32[y: inf, x: inf] = y + x");
    let args = [
        "emit",
        "ramp.itp",
        "--stage",
        "trace",
        "--read",
        "ramp[0:100, 0:100]",
        "--tile",
        "1,1",
        "--threads",
        "1",
    ];
    let mut child = folder.command(&args).stdout(Stdio::piped()).spawn().expect("the binary runs");
    // It prints more than a pipe holds, and nobody reads the rest: it waits for ever, cancelled or not.
    let mut out = child.stdout.take().expect("it is piped");
    out.read_exact(&mut [0]).expect("it prints");
    let start = Instant::now();
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.expect("kill runs").success());
    let ended = child.wait().expect("it ends");
    assert!(ended.code() == Some(1) && start.elapsed() < Duration::from_secs(1), "{ended:?}");
    drop(out);
}

/// A sum of so many terms that its code takes longer to make than anybody waits.
#[cfg(unix)]
#[test]
fn ctrl_c_ends_while_a_kernel_is_compiled() {
    let terms = (0..15_000).map(|at| format!("sqrt(a[y + {}, x + {}] + {at})", at % 61, at % 53));
    let script = format!(
        "tensor a: f64[y: inf, x: inf] = y * x\ntensor b: f64[y: inf, x: inf] = {}\noutput \"slow.npy\" = b[0:9, 0:9]\n",
        terms.collect::<Vec<_>>().join(" + ")
    );
    let folder = Folder::with("slow.itp", &script);
    folder.write("slow.npy", "old");
    let (ran, time) = interrupted(&folder, &["run", "slow.itp"], "-INT");
    ran.ends(1).tells("error[E1006]: the run was cancelled");
    assert!(time < Duration::from_millis(1000), "{time:?}");
    assert_eq!(folder.files(), ["slow.itp", "slow.npy"]);
    assert_eq!(folder.read("slow.npy"), "old");
}
