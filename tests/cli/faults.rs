//! The binary while the world around it fails: the disk at every call, a full disk, no memory, signals at any moment.
//! It ends with an exit code and a line that says why, and outputs are the old ones or the new ones.

use crate::folder::{Folder, Ran};
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Two outputs, one of which is spooled, and an input.
const SCRIPT: &str = "
input photo: f32[y: 40, x: 50] from \"photo.raw\"
tensor soft: f32[y: inf, x: inf] = (sum(i in -1..=1, j in -1..=1) photo.clamp()[y + i, x + j]) / 9
output \"soft.npy\" = soft[0:40, 0:50]
output \"soft.png\" = soft[0:40, 0:50] colormap viridis
";

fn folder() -> Folder {
    let folder = Folder::with("a.itp", SCRIPT);
    folder.write("photo.raw", (0..2000u32).flat_map(|at| (at as f32).to_le_bytes()).collect::<Vec<u8>>());
    folder
}

/// The bytes of the outputs.
fn outputs(folder: &Folder) -> [Vec<u8>; 2] {
    ["soft.npy", "soft.png"].map(|name| std::fs::read(folder.path(name)).expect("the output is there"))
}

#[cfg(debug_assertions)]
#[test]
fn every_call_of_the_disk_may_fail() {
    let folder = folder();
    let args = ["run", "a.itp", "--threads", "1", "--stats-json", "s.json"];
    folder.itp(&args).ends(0);
    let whole = outputs(&folder);
    let mut failed = 0;
    for then in ["", "+"] {
        // Every call is tried inside one process (tests/faults); here some of them.
        for at in (1..).step_by(if then.is_empty() { 3 } else { 11 }) {
            ["soft.npy", "soft.png"].iter().for_each(|name| folder.write(name, "old"));
            let run = folder.command(&args).env("ITP_FAULT", format!("disk:{at}{then}")).output();
            let ran = Ran::new(&args, run.expect("the binary runs"));
            let found = outputs(&folder);
            let sound = |(found, whole): (&Vec<u8>, &Vec<u8>)| found == whole || found == b"old";
            assert!(found.iter().zip(&whole).all(sound), "half a file at call {at}{then}");
            if ran.code == Some(0) {
                assert!(found == whole, "call {at}{then}");
                if at > 120 {
                    break;
                }
            } else {
                ran.ends(1).tells("error[E");
                failed += 1;
            }
        }
    }
    println!("{failed} runs that failed");
    assert!(failed > 20, "{failed}");
    folder.itp(&args).ends(0);
    assert_eq!(folder.files(), ["a.itp", "photo.raw", "s.json", "soft.npy", "soft.png"], "nothing is left");
}

/// Files under a folder whose names end so.
fn ending(folder: &std::path::Path, end: &str) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let own = files.into_iter().filter(|path| path.to_string_lossy().ends_with(end));
    own.chain(folders.iter().flat_map(|inner| ending(inner, end))).collect()
}

#[cfg(debug_assertions)]
#[test]
fn every_call_of_the_disk_may_fail_in_a_stream() {
    let folder = Folder::new();
    let all = frames(8);
    folder.write("frames.raw", &all);
    let plain = "stream --shape 0,64,64 --type u16 --tile 3,64,64 --in frames.raw --out cam.zarr --threads";
    for more in ["1", "2", "1 --shard 6,64,64", "2 --shard 6,64,64"] {
        let args: Vec<&str> = plain.split(' ').chain(more.split(' ')).collect();
        let mut failed = 0;
        for at in 1.. {
            std::fs::remove_dir_all(folder.path("cam.zarr")).unwrap_or_default();
            let run = folder.command(&args).env("ITP_FAULT", format!("disk:{at}")).output();
            let ran = Ran::new(&args, run.expect("the binary runs"));
            let left = ending(&folder.path("."), ".tmp");
            assert!(left.is_empty(), "call {at}, {more}: {left:?}");
            if !more.contains("shard") {
                let found = spoken_of(&folder.path("cam.zarr")).unwrap_or_default();
                assert!(all.starts_with(&found), "call {at}, {more}");
            }
            if ran.code == Some(0) && at > 80 {
                break;
            }
            failed += u64::from(ran.code != Some(0));
        }
        assert!(failed > 10, "{failed} of {more}");
    }
}

/// A disk of 256 KiB, where this may be mounted; elsewhere the limit on the size of files (failures.rs) stands in for it.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_is_told_and_nothing_is_left_on_it() {
    let script = "tensor a: f32[y: inf, x: inf] = x\noutput \"small/a.npy\" = a[0:300, 0:300]\noutput \"small/b.npy\" = a[0:9, 0:9]\n";
    let folder = Folder::with("a.itp", script);
    folder.write("small/.keep", "");
    let line = format!(
        "mount -t tmpfs -o size=256k none small || exit 77; '{0}' run a.itp; code=$?; ls -A small; \
         '{0}' run a.itp --read 'a[0:9, 0:9]' --out small/b.npy || exit 78; ls -A small; exit $code",
        env!("CARGO_BIN_EXE_itp")
    );
    let mut shell = Command::new("unshare");
    let output = shell.args(["-rm", "sh", "-c", &line]).current_dir(folder.path(".")).output();
    let Ok(output) = output else { return };
    let ran = Ran::new(&["run", "a.itp"], output);
    if ran.code == Some(77) || ran.stderr.contains("unshare") {
        return;
    }
    ran.ends(1).tells("`small/a.npy` cannot be written: no space left on the disk");
    assert_eq!(ran.stdout, "b.npy\n", "nothing is left, and there is room for what fits");
}

/// A limit on address space, as batch systems set it.
fn with_room(folder: &Folder, megabytes: u64, args: &[&str]) -> (Ran, Option<i32>) {
    let line = format!("ulimit -v {}; exec \"$0\" \"$@\"", megabytes << 10);
    let mut shell = Command::new("sh");
    shell.args(["-c", &line, env!("CARGO_BIN_EXE_itp")]).args(args).current_dir(folder.path("."));
    let output = shell.env_remove("RUST_BACKTRACE").output().expect("the shell runs");
    let signal = output.status.signal();
    (Ran::new(args, output), signal)
}

#[test]
fn without_memory_there_is_a_message_and_no_signal() {
    let script = "tensor a: f32[y: inf, x: inf] = y + x\ntensor b: f32[y: inf, x: inf] = a[x, y] + a[y, x]\n\
                  output \"b.npy\" = b[0:6000, 0:6000]\n";
    let folder = Folder::with("a.itp", script);
    folder.write("b.npy", "old");
    let mut codes = std::collections::BTreeMap::new();
    for megabytes in (32..=480).step_by(64).chain([256, 280, 290, 300, 310, 2048]) {
        let (ran, signal) = with_room(&folder, megabytes, &["run", "a.itp"]);
        // Below some room the system cannot even load the binary.
        if megabytes >= 128 {
            assert_eq!(signal, None, "{megabytes} MB: {}", ran.transcript());
            assert!(matches!(ran.code, Some(0 | 1)), "{megabytes} MB: {}", ran.transcript());
            assert!(!ran.stderr.contains("internal error"), "{megabytes} MB: {}", ran.transcript());
        }
        if ran.code == Some(1) {
            assert!(!ran.stderr.is_empty(), "{megabytes} MB");
            assert_eq!(folder.read("b.npy"), "old", "{megabytes} MB");
        }
        *codes.entry(ran.code).or_insert(0) += 1;
    }
    println!("{codes:?}");
    assert!(codes.contains_key(&Some(0)) && codes.contains_key(&Some(1)), "{codes:?}");
    folder.write("b.npy", "old");
    let (ran, _) = with_room(&folder, 256, &["run", "a.itp"]);
    ran.ends(1).tells("error[E1005]: no thread with a stack of 256 MiB can be started");
}

/// Numbers that are the same every time.
fn random(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    (*state >> 33) % below
}

/// Files that a process left half written.
fn left(folder: &Folder) -> Vec<String> {
    folder.files().into_iter().filter(|name| name.ends_with(".tmp")).collect()
}

/// Starts a run, kills it at some moment of the time that it takes, and says whether it was still alive.
fn killed(mut command: Command, lasts: Duration, state: &mut u64) -> bool {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    std::thread::sleep(lasts * random(state, 1000) as u32 / 900);
    let _ = child.kill();
    child.wait().expect("it ends").signal().is_some()
}

const ROUNDS: usize = 100;

#[test]
fn killed_at_any_moment_outputs_are_old_or_new() {
    let script = |gain: u32| {
        format!(
            "tensor a: f32[y: inf, x: inf] = {gain} * x + y\noutput \"a.npy\" = a[0:500, 0:500]\noutput \"b.raw\" = a[0:400, 0:600]\n"
        )
    };
    let folder = Folder::new();
    let names = ["a.npy", "b.raw"];
    let bytes = |name: &str| std::fs::read(folder.path(name)).expect("the output is there");
    let start = Instant::now();
    let versions = [1, 2].map(|gain| {
        folder.write("a.itp", script(gain));
        folder.itp(&["run", "a.itp", "--threads", "1"]).ends(0);
        names.map(bytes)
    });
    let mut lasts = start.elapsed() / 2;
    let (mut state, mut ended, mut leftovers) = (7, 0, 0);
    for round in 0..ROUNDS {
        folder.write("a.itp", script(1 + round as u32 % 2));
        let command = folder.command(&["run", "a.itp", "--threads", "1"]);
        let alive = killed(command, lasts, &mut state);
        ended += usize::from(alive);
        // How long a run lasts changes with what else the machine does.
        lasts = if alive { lasts * 21 / 20 } else { lasts * 18 / 20 };
        leftovers += left(&folder).len();
        for (at, name) in names.into_iter().enumerate() {
            let found = bytes(name);
            assert!(versions.iter().any(|version| version[at] == found), "round {round}: {name} is torn");
        }
    }
    folder.itp(&["run", "a.itp"]).ends(0);
    println!("{ended} of {ROUNDS} were killed, {leftovers} files were left meanwhile");
    assert_eq!(left(&folder), [""; 0], "the next run removes what was left");
    assert!(ended > ROUNDS / 4, "{ended}");
}

/// Frames of 64×64 u16 elements, each another.
fn frames(count: usize) -> Vec<u8> {
    (0..count * 64 * 64).flat_map(|at| (at as u16 ^ (at >> 12) as u16).to_le_bytes()).collect()
}

/// The frames that an array of 64×64 chunks of three steps each speaks of, read chunk by chunk.
fn spoken_of(array: &std::path::Path) -> Option<Vec<u8>> {
    let about: serde_json::Value =
        serde_json::from_slice(&std::fs::read(array.join("zarr.json")).ok()?).ok()?;
    let count = about["shape"][0].as_u64()?;
    let chunk = |at: u64| std::fs::read(array.join(format!("c/{at}/0/0"))).expect("the chunk is there");
    let mut bytes: Vec<u8> = (0..count.div_ceil(3)).flat_map(chunk).collect();
    bytes.truncate(count as usize * 64 * 64 * 2);
    Some(bytes)
}

#[test]
fn killed_at_any_moment_a_stream_is_right_and_shorter() {
    let folder = Folder::new();
    let all = frames(300);
    folder.write("frames.raw", &all);
    let stream =
        "stream --shape 0,64,64 --type u16 --tile 3,64,64 --in frames.raw --out cam.zarr --threads 1 -q";
    let args: Vec<&str> = stream.split(' ').collect();
    let start = Instant::now();
    folder.itp(&args).ends(0);
    let mut lasts = start.elapsed();
    assert_eq!(spoken_of(&folder.path("cam.zarr")), Some(all.clone()));
    let (mut state, mut between) = (7, 0);
    for round in 0..ROUNDS {
        std::fs::remove_dir_all(folder.path("cam.zarr")).unwrap_or_default();
        let alive = killed(folder.command(&args), lasts, &mut state);
        lasts = if alive { lasts * 21 / 20 } else { lasts * 18 / 20 };
        let Some(found) = spoken_of(&folder.path("cam.zarr")) else { continue };
        assert!(all.starts_with(&found), "round {round}: {} bytes are torn", found.len());
        between += usize::from(!found.is_empty() && found.len() < all.len());
    }
    println!("{between} of {ROUNDS} were killed between the first and the last frame");
    assert!(between > 0);
}

/// To see that the loop above would notice: a program that writes in place is torn.
#[test]
fn killed_at_any_moment_a_file_written_in_place_is_torn() {
    let folder = Folder::new();
    let versions = [vec![1u8; 4 << 20], vec![2u8; 4 << 20]];
    versions.iter().enumerate().for_each(|(at, bytes)| folder.write(&format!("{at}"), bytes));
    folder.write("a", &versions[0]);
    let (mut state, mut torn) = (7, 0);
    for round in 0..ROUNDS {
        let line = format!("while :; do cat {} > a; cat {} > a; done", round % 2, (round + 1) % 2);
        let mut shell = Command::new("sh");
        // The signal is for the shell and what it runs.
        shell.args(["-c", &line]).current_dir(folder.path(".")).process_group(0);
        let mut child = shell.stderr(Stdio::null()).spawn().expect("it runs");
        std::thread::sleep(Duration::from_millis(random(&mut state, 30)));
        let group = format!("-{}", child.id());
        Command::new("kill").args(["-KILL", "--", &group]).status().expect("kill runs");
        child.wait().expect("it ends");
        let found = std::fs::read(folder.path("a")).expect("it is there");
        torn += usize::from(!versions.contains(&found));
    }
    println!("{torn} of {ROUNDS} were torn");
    assert!(torn > 0, "the control is not torn");
}

#[test]
fn interrupted_at_any_moment_it_says_so_and_leaves_nothing() {
    let script = "tensor a: f32[y: inf, x: inf] = sum(k in 0..300) sin(x * k + y)\n\
                  tensor b: f32[y: inf, x: inf] = sum(dy in -20..=20) a[y + dy, x]\noutput \"b.npy\" = b[0:1000, 0:1000]\n";
    let folder = Folder::with("b.itp", script);
    folder.write("b.npy", "old");
    let (mut state, mut cancelled) = (3, 0);
    for round in 0..20 {
        let args = ["run", "b.itp", "--threads", "2", "--tile", "64,64"];
        let mut child = folder.command(&args).spawn().expect("the binary runs");
        // Half of them when it computes, however long it takes to come to that.
        let start = Instant::now();
        while round % 4 < 2 && left(&folder).is_empty() && start.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(Duration::from_millis(random(&mut state, 200)));
        let signal = if round % 2 == 0 { "-INT" } else { "-TERM" };
        Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
        let (mut told, ended) = (String::new(), child.wait().expect("it ends"));
        child.stderr.take().expect("it is piped").read_to_string(&mut told).expect("it is text");
        // Before it listens to signals it has done nothing yet, and the system ends it.
        let early = matches!(ended.signal(), Some(2 | 15)) && told.is_empty();
        assert!(early || ended.code() == Some(1), "round {round}: {ended:?}\n{told}");
        if !early {
            assert!(told.contains("error[E1006]: the run was cancelled"), "{told}");
            cancelled += 1;
        }
        assert_eq!(folder.files(), ["b.itp", "b.npy"], "round {round}");
        assert_eq!(folder.read("b.npy"), "old");
    }
    println!("{cancelled} of 20 were cancelled");
    assert!(cancelled > 3, "{cancelled}");
}
