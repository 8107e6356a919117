//! Folders with traps: paths that leave, links that turn in circles, devices and pipes that never end.

use super::{all, step, wrongs};
use crate::folder::Folder;
use std::fs;
use std::os::unix::fs::symlink;

/// A script, what lies beside it, and the commands with what has to come of them.
struct Trap {
    script: &'static str,
    set: fn(&Folder),
    steps: &'static [&'static str],
}

fn trap(script: &'static str, set: fn(&Folder), steps: &'static [&'static str]) -> Trap {
    Trap { script, set, steps }
}

fn check(cases: &[Trap]) {
    all(cases, cases.len(), |case| {
        let folder = Folder::with("script.itp", case.script);
        (case.set)(&folder);
        wrongs(case.script, &folder, &case.steps.iter().map(|line| step(line)).collect::<Vec<_>>())
    });
}

fn nothing(_: &Folder) {}

fn link(folder: &Folder, to: &str, name: &str) {
    symlink(to, folder.path(name)).unwrap();
}

fn pipe(folder: &Folder, name: &str) {
    let made = std::process::Command::new("mkfifo").arg(folder.path(name)).status();
    assert!(made.expect("mkfifo runs").success());
}

#[test]
fn hostile_uses() {
    check(&[
        trap("use \"../up.itp\"", nothing, &["check => 1 E02"]),
        trap("use \"/etc/passwd.itp\"", nothing, &["check => 1 E02"]),
        trap("use \"a/../../up.itp\"", nothing, &["check => 1 E02"]),
        trap("use \"\"", nothing, &["check => 1 E02"]),
        trap("use \".\"", nothing, &["check => 1 E02"]),
        trap("use \"script.itp\"\ntensor a: u8[] = 1", nothing, &["check => 0", "run --read a[] => 0 1"]),
        trap(
            "use \"./b.itp\"\ntensor a: u8[] = b[]",
            |folder| folder.write("b.itp", "use \"script.itp\"\ntensor b: u8[] = a[]"),
            &["check => 1 E0"],
        ),
        trap(
            "use \"b.itp\"\nlet n = m",
            |folder| folder.write("b.itp", "use \"script.itp\"\nlet m = n"),
            &["check => 1 E0"],
        ),
        trap("use \"out.itp\"", |folder| link(folder, "/etc/passwd", "out.itp"), &["check => 1 E02"]),
        trap("use \"loop.itp\"", |folder| link(folder, "loop.itp", "loop.itp"), &["check => 1 E02"]),
        trap("use \"zero.itp\"", |folder| link(folder, "/dev/zero", "zero.itp"), &["check => 1 E02"]),
        trap("use \"pipe.itp\"", |folder| pipe(folder, "pipe.itp"), &["check => 1 E02"]),
        trap(
            "use \"folder.itp\"",
            |folder| fs::create_dir(folder.path("folder.itp")).unwrap(),
            &["check => 1 E02"],
        ),
        trap("use \"bytes.itp\"", |folder| folder.write("bytes.itp", [0xff, 0xfe, 0]), &["check => 1 E02"]),
        trap(
            "use \"large.itp\"",
            |folder| folder.write("large.itp", vec![b' '; (16 << 20) + 1]),
            &["check => 1 E0"],
        ),
        trap(
            "use \"0.itp\"",
            |folder| {
                (0..3000).for_each(|i| {
                    folder.write(&format!("{i}.itp"), format!("use \"{}.itp\"\nlet a{i} = 1", i + 1))
                })
            },
            &["check => 1 E02"],
        ),
        trap(
            "use \"0.itp\"",
            |folder| {
                (0..40).for_each(|i| {
                    folder
                        .write(&format!("{i}.itp"), format!("use \"{}.itp\"{}", i + 1, " ".repeat(12 << 20)))
                })
            },
            &["check => 1 E0"],
        ),
        trap(
            "use \"b.itp\"\ntensor a: u8[] = b[]",
            |folder| folder.write("b.itp", "input b: u8[] from \"../../../../../etc/hostname.raw\""),
            &["run --read a[] => 1 E1002"],
        ),
        trap(
            "use \"b.itp\"",
            |folder| folder.write("b.itp", "output \"stolen.npy\" = a\ntensor a: u8[] = 1"),
            &["run => 0"],
        ),
    ]);
}

const READ: &str = "input t: u8[x: 4] from \"t.raw\"\ntensor a: u8[x: 4] = t[x] + 1";

#[test]
fn hostile_inputs() {
    check(&[
        trap(READ, nothing, &["run --read a[:] => 1 E1002"]),
        trap(READ, |folder| link(folder, "t.raw", "t.raw"), &["run --read a[:] => 1 E1002"]),
        trap(READ, |folder| link(folder, "/dev/zero", "t.raw"), &["run --read a[:] => 1 E1002"]),
        trap(READ, |folder| link(folder, "/proc/self/mem", "t.raw"), &["run --read a[:] => 1 E1002"]),
        trap(READ, |folder| pipe(folder, "t.raw"), &["run --read a[:] => 1 E1002"]),
        trap(READ, |folder| fs::create_dir(folder.path("t.raw")).unwrap(), &["run --read a[:] => 1 E1002"]),
        trap("input t: u8[x: 4] from \"\"\ntensor a: u8[x: 4] = t[x]", nothing, &["run --read a[:] => 1 E"]),
        trap(
            "input t: u8[x: 4] from \"/dev/zero\"\ntensor a: u8[x: 4] = t[x]",
            nothing,
            &["run --read a[:] => 1 E"],
        ),
        trap(
            "input t: u8[x: 4] from \"a\\nb\\t.raw\"\ntensor a: u8[x: 4] = t[x]",
            nothing,
            &["run --read a[:] => 1 E1002"],
        ),
        trap(
            "input t: u8[x: 4] from \"t.zarr\"\ntensor a: u8[x: 4] = t[x]",
            nothing,
            &["run --read a[:] => 1 E"],
        ),
        trap(
            "input t: u8[x: 1000000000] from \"t.raw\"\ntensor a: u8[x: 4] = t[x]",
            |folder| fs::File::create(folder.path("t.raw")).unwrap().set_len(1_000_000_000).unwrap(),
            &["run --memory 64M --read a[:] => 1 E1005"],
        ),
    ]);
}

#[test]
fn hostile_outputs() {
    let over = "input t: u8[x: 4] from \"t.raw\"\ntensor a: u8[x: 4] = t[x] + 1\noutput \"t.raw\" = a\n";
    check(&[
        trap("tensor a: u8[x: 4] = x\noutput \"none/a.npy\" = a", nothing, &["run => 1 E0003"]),
        trap("tensor a: u8[x: 4] = x\noutput \"/proc/a.npy\" = a", nothing, &["run => 1 E0003"]),
        trap("tensor a: u8[x: 4] = x\noutput \"/dev/null\" = a", nothing, &["run => 1 E"]),
        trap("tensor a: u8[x: 4] = x\noutput \"script.itp\" = a", nothing, &["run => 1 E"]),
        trap("tensor a: u8[x: 4] = x\noutput \"\" = a", nothing, &["run => 1 E"]),
        trap("tensor a: u8[x: 4] = x\noutput \".npy\" = a", nothing, &["run => 1 E0801"]),
        trap("tensor a: u8[x: 4] = x\noutput \"a\\nb.npy\" = a", nothing, &["run => 0"]),
        trap(
            "tensor a: u8[x: 4] = x\noutput \"a.npy\" = a\noutput \"./a.npy\" = a",
            nothing,
            &["run => 1 E0801"],
        ),
        trap("tensor a: u8[x: 4] = x\noutput \"a.npy/\" = a", nothing, &["run => 1 E"]),
        trap(
            "tensor a: u8[x: 4] = x\noutput \"null.npy\" = a",
            |folder| link(folder, "/dev/null", "null.npy"),
            &["run => 1 E0003"],
        ),
        trap(
            "tensor a: u8[x: 4] = x\noutput \"loop.npy\" = a",
            |folder| link(folder, "loop.npy", "loop.npy"),
            &["run => 1 E0003"],
        ),
        trap(
            "tensor a: u8[x: 4] = x\noutput \"pipe.npy\" = a",
            |folder| pipe(folder, "pipe.npy"),
            &["run => 1 E0003"],
        ),
        trap(
            "tensor a: u8[x: 4] = x\noutput \"folder.npy\" = a",
            |folder| fs::create_dir(folder.path("folder.npy")).unwrap(),
            &["run => 1 E0003"],
        ),
        trap(
            over,
            |folder| folder.write("t.raw", [1, 2, 3, 4]),
            &["run => 0", "run --read t[:] => 0 [2 3 4 5]", "run => 0", "run --read t[:] => 0 [3 4 5 6]"],
        ),
    ]);
}
