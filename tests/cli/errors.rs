//! What is wrong, and how it is told: transcripts, JSON, colours, counts.

use crate::folder::{BLUR, Folder};
use insta::assert_snapshot;

const WRONG: &str = "\
tensor height: f32[y: inf, x: inf] = y / 256
tensor smooth: f32[y: inf, x: inf] = heigth[y, x] + 1
tensor steep: f32[y: inf] = height[y]
";

/// A tensor that no output needs.
const DEAD: &str = "\
tensor height: f32[y: inf, x: inf] = y / 256
tensor extra: f32[y: inf, x: inf] = height[y, x]
output \"h.npy\" = height[0:4, 0:4]
";

#[test]
fn errors_are_told_with_a_summary() {
    assert_snapshot!(Folder::with("terrain.itp", WRONG).itp(&["check", "terrain.itp"]).transcript());
}

#[test]
fn warnings_do_not_fail_and_quiet_hides_them() {
    let folder = Folder::with("dead.itp", DEAD);
    assert_snapshot!(folder.itp(&["check", "dead.itp"]).transcript());
    folder.itp(&["check", "dead.itp", "-q"]).ends(0).silent();
    let folder = Folder::with("terrain.itp", WRONG);
    folder
        .itp(&["check", "-q", "terrain.itp"])
        .ends(1)
        .tells("error[E0201]")
        .tells("error: 2 errors in terrain.itp");
}

#[test]
fn several_files_are_counted_together() {
    let folder = Folder::with("terrain.itp", WRONG);
    folder.write("dead.itp", DEAD);
    folder.write("blur.itp", BLUR);
    let ran = folder.itp(&["check", "terrain.itp", "blur.itp", "dead.itp"]);
    ran.ends(1).tells("blur.itp: ok (3 tensors, 2 outputs)").tells("error: 2 errors, 1 warning in 2 files");
}

#[test]
fn json_is_one_object_per_line() {
    let folder = Folder::with("terrain.itp", WRONG);
    folder.write("dead.itp", DEAD);
    assert_snapshot!(folder.itp(&["check", "--json", "terrain.itp", "missing.itp", "dead.itp"]).transcript());
}

#[test]
fn files_that_are_no_scripts_are_refused() {
    let folder = Folder::with("hills.itp", BLUR);
    folder.write("folder.itp/a.itp", "");
    folder.write("photo.itp", b"\x89PNG\r\n");
    folder.write("latin.itp", b"# caf\xe9\n");
    let check = |path: &str, code: &str, part: &str| {
        for command in [&["check"][..], &["fmt"], &["emit", "--stage", "ast"], &["graph"], &["run"]] {
            let ran = folder.itp(&[command, &[path]].concat());
            ran.ends(1)
                .tells(&format!("error[{code}]: "))
                .tells(part)
                .tells(&format!("error: 1 error in {path}\n"));
            assert_eq!(ran.stdout, "");
        }
    };
    check("none.itp", "E0001", "cannot read `none.itp`: there is no such file or folder");
    check("hlils.itp", "E0001", "help: write `hills.itp`");
    check("hills", "E0001", "help: write `hills.itp`");
    check("folder.itp", "E0001", "cannot read `folder.itp`: it is a folder");
    check("photo.itp", "E0002", "`photo.itp` is not a script: byte 0 is not UTF-8 text");
    check("latin.itp", "E0002", "byte 5 is not UTF-8 text");
}

#[test]
fn colours_are_for_terminals_or_on_demand() {
    let folder = Folder::with("terrain.itp", WRONG);
    let escapes = |ran: crate::folder::Ran| ran.ends(1).stderr.contains('\u{1b}');
    assert!(!escapes(folder.itp(&["check", "terrain.itp"])));
    assert!(escapes(folder.itp(&["--color", "always", "check", "terrain.itp"])));
    assert!(!escapes(folder.itp(&["check", "--color=never", "terrain.itp"])));
    let ran = folder.command(&["check", "terrain.itp", "--color=always"]).env("NO_COLOR", "1").output();
    assert!(ran.expect("the binary runs").stderr.contains(&0x1b), "what the command line says wins");
    assert!(folder.itp(&["--color=always", "--help"]).stdout.contains('\u{1b}'));
    folder
        .itp(&["check", "--color", "blue", "terrain.itp"])
        .ends(2)
        .tells("possible values: auto, always, never");
}

#[test]
fn a_script_cannot_write_to_the_terminal() {
    let folder = Folder::with("evil.itp", "tensor a: f32[y: inf] = \u{1b}[2J + \u{202e}x\n");
    let ran = folder.itp(&["check", "evil.itp"]);
    assert!(!ran.ends(1).stderr.contains(['\u{1b}', '\u{202e}']), "{}", ran.stderr);
}
