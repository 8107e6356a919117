//! Scripts that go to the limits, endless files and pipes that close: an exit code, never a crash.

use crate::folder::{BLUR, Folder};
use std::fmt::Write as _;
use std::io::Read;
use std::process::Stdio;

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let folder = Folder::new();
    let check = |depth: usize, code: i32| {
        let (open, close) = ("(".repeat(depth), ")".repeat(depth));
        folder.write(
            "deep.itp",
            format!("tensor a: f32[x: inf] = {open}x{close}\noutput \"a.npy\" = a[0:1]\n"),
        );
        folder.itp(&["check", "deep.itp"]).ends(code);
    };
    check(200, 0);
    check(100_000, 1);
    folder.write("minus.itp", format!("tensor a: f32[x: inf] = {}x\n", "-".repeat(100_000)));
    folder.itp(&["check", "minus.itp"]).ends(1);
    let ifs = "if x < 1 then 0 else ".repeat(100_000);
    folder.write("ifs.itp", format!("tensor a: f32[x: inf] = {ifs} 1\n"));
    folder.itp(&["check", "ifs.itp"]).ends(1);
}

#[test]
fn long_chains_of_functions_do_not_overflow_the_stack() {
    let folder = Folder::new();
    let check = |count: usize, code: i32| {
        let mut script = String::from("fn f0(x) = x + 1\n");
        (1..count).for_each(|i| _ = writeln!(script, "fn f{i}(x) = ((f{}(x)))", i - 1));
        let _ = write!(script, "tensor a: f32[x: inf] = f{}(x)\noutput \"a.npy\" = a[0:1]\n", count - 1);
        folder.write("chain.itp", script);
        folder.itp(&["check", "chain.itp"]).ends(code);
    };
    check(300, 0);
    check(5000, 1);
}

#[test]
fn long_sums_do_not_overflow_the_stack() {
    let folder = Folder::with("sum.itp", &format!("tensor a: f32[x: inf] = x{}\n", " + x".repeat(20_000)));
    for command in [&["check"][..], &["fmt", "--stdout"], &["emit", "--stage", "ast"]] {
        let ran = folder.itp(&[command, &["sum.itp"]].concat());
        assert!(matches!(ran.code, Some(0 | 1)), "{command:?} {:?}", ran.code);
    }
}

#[test]
fn at_most_100_diagnostics_are_shown() {
    let mut script = String::new();
    (0..130).for_each(|i| _ = writeln!(script, "tensor t{i}: f32[x: inf] = unknown{i}"));
    let folder = Folder::with("many.itp", &script);
    let ran = folder.itp(&["check", "many.itp"]);
    ran.ends(1).tells("\n… and 30 more\n\nerror: 130 errors in many.itp\n");
    assert_eq!(ran.stderr.matches("error[E0201]").count(), 100);
    assert_eq!(folder.itp(&["check", "--json", "many.itp"]).stdout.lines().count(), 130);
}

#[test]
fn large_scripts_are_refused() {
    let folder = Folder::new();
    folder.write("large.itp", vec![b'#'; (16 << 20) + 1]);
    folder.itp(&["check", "large.itp"]).ends(1).tells("error[E0002]").tells("larger than 16 MiB");
    folder.write("large.itp", vec![b'#'; 16 << 20]);
    folder.itp(&["check", "large.itp"]).ends(0);
}

#[cfg(target_os = "linux")]
#[test]
fn endless_files_end() {
    Folder::new().itp(&["check", "/dev/zero"]).ends(1).tells("error[E0002]");
    Folder::new().itp(&["check", "/dev/null"]).ends(0);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = Folder::with("blur.itp", BLUR);
    let commands: [&[&str]; 4] =
        [&["explain"], &["completions", "zsh"], &["emit", "blur.itp", "--stage", "tokens"], &["--help"]];
    for args in commands {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = folder.command(args).stdout(writer).output().expect("the binary runs");
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{args:?}");
    }
}

#[test]
fn a_closed_stderr_is_no_failure() {
    let folder = Folder::with("blur.itp", BLUR);
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut child =
        folder.command(&["check", "blur.itp"]).stderr(writer).stdout(Stdio::piped()).spawn().expect("runs");
    let mut text = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut text).expect("readable");
    assert_eq!((child.wait().expect("ends").code(), text.as_str()), (Some(0), ""));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the device is there");
    let output = Folder::new().command(&["explain"]).stdout(full).output().expect("the binary runs");
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("error[E0003]: cannot write to standard output: no space is left"), "{told}");
}
