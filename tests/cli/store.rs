//! `--store`: tiles that outlive the process, whatever happens to it and to them.

use crate::folder::Folder;
use crate::stream::{begun, wait_until};
use serde_json::Value;
use std::fs;
use std::process::Command;
use std::time::{Duration, SystemTime};

const CHAIN: &str = "param gain = 2
input photo: f32[y: 300, x: 300] from \"photo.npy\"
tensor wide: f32[y: inf, x: inf] = photo.clamp()[y, x] * gain
tensor blur: f32[y: inf, x: inf] = (sum(i in -1..=1, j in -1..=1) wide[y + i, x + j]) / 9
output \"blur.npy\" = blur[-40:300, -40:300]
";

/// A script, its photo, and what its output is without a store.
fn chain() -> (Folder, Vec<u8>) {
    let folder = Folder::with("chain.itp", CHAIN);
    folder.write("photo.itp", "tensor p: f32[y: 300, x: 300] = rand(y, x)\noutput \"photo.npy\" = p\n");
    folder.itp(&["run", "photo.itp", "-q"]).ends(0).silent();
    folder.itp(&["run", "chain.itp", "-q"]).ends(0).silent();
    let expect = fs::read(folder.path("blur.npy")).unwrap();
    (folder, expect)
}

/// Elements that a run computed of `blur`, with more options.
fn computed(folder: &Folder, more: &[&str]) -> u64 {
    let args = [&["run", "chain.itp", "--store", "tiles", "--stats-json", "s.json"][..], more].concat();
    folder.itp(&args).ends(0);
    let stats: Value = serde_json::from_str(&folder.read("s.json")).unwrap();
    stats["tiles"]["computed"].as_u64().unwrap()
}

fn tile_files(folder: &Folder) -> Vec<std::path::PathBuf> {
    let (mut queue, mut files) = (vec![folder.path("tiles")], Vec::new());
    while let Some(path) = queue.pop() {
        for entry in fs::read_dir(path).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                queue.push(path)
            } else if path.extension().is_none_or(|ending| ending != "json" && ending != "tmp") {
                files.push(path)
            }
        }
    }
    files.sort();
    files
}

#[test]
fn tiles_survive_the_process() {
    let (folder, expect) = chain();
    assert!(computed(&folder, &[]) > 0);
    assert_eq!(fs::read(folder.path("blur.npy")).unwrap(), expect);
    fs::remove_file(folder.path("blur.npy")).unwrap();
    assert_eq!(computed(&folder, &[]), 0);
    assert_eq!(fs::read(folder.path("blur.npy")).unwrap(), expect);
    folder.itp(&["store", "ls", "tiles"]).ends(0).prints("blur  float32  16 tiles");
    folder.itp(&["store", "verify", "tiles"]).ends(0).tells("16 tiles read, 0 damaged");
    // Another parameter, other data, another body: nothing of before is taken.
    assert!(computed(&folder, &["--set", "gain=3"]) > 0);
    folder.write("photo.itp", "tensor p: f32[y: 300, x: 300] = rand(x, y)\noutput \"photo.npy\" = p\n");
    folder.itp(&["run", "photo.itp", "-q"]).ends(0);
    assert!(computed(&folder, &[]) > 0);
    assert_ne!(fs::read(folder.path("blur.npy")).unwrap(), expect);
    folder.itp(&["store", "gc", "tiles", "--keep", "0"]).ends(0).tells("0 B left");
    assert!(tile_files(&folder).is_empty());
    let left: Vec<_> =
        fs::read_dir(folder.path("tiles")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["itp-store.json"], "folders without tiles go, too");
    folder.itp(&["store", "ls", "nowhere"]).ends(1).tells("holds no tiles");
    folder.itp(&["run", "chain.itp", "--store", "."]).ends(1).tells("holds other things than tiles");
}

#[test]
fn tiles_that_no_run_uses_any_more_are_known() {
    let (folder, _) = chain();
    computed(&folder, &["--set", "gain=3"]);
    computed(&folder, &[]);
    let month = SystemTime::now() - Duration::from_secs(40 * 24 * 3600);
    for entry in fs::read_dir(folder.path("tiles")).unwrap() {
        let description = entry.unwrap().path().join("zarr.json");
        if description.is_file() {
            fs::File::options().append(true).open(description).unwrap().set_modified(month).unwrap();
        }
    }
    folder.itp(&["store", "ls", "tiles"]).ends(0).prints("unused for 40 days");
    assert_eq!(computed(&folder, &[]), 0);
    folder.itp(&["store", "ls", "tiles"]).ends(0).prints("used today").prints("unused for 40 days");
    // What was used last stays, although its tiles were written first.
    folder.itp(&["store", "gc", "tiles", "--unused", "41"]).ends(0).tells("0 files removed");
    folder.itp(&["store", "gc", "tiles", "--unused", "30"]).ends(0).tells("16 files removed");
    assert_eq!(computed(&folder, &[]), 0);
    assert!(computed(&folder, &["--set", "gain=3"]) > 0);
}

#[test]
fn damaged_tiles_are_found_and_computed_again() {
    let (folder, expect) = chain();
    computed(&folder, &[]);
    let files = tile_files(&folder);
    assert_eq!(files.len(), 16);
    let run = || folder.itp(&["run", "chain.itp", "--store", "tiles"]);
    for (at, file) in files.iter().enumerate().step_by(4) {
        let bytes = fs::read(file).unwrap();
        let mut wrong = bytes.clone();
        match at {
            0 => wrong.truncate(bytes.len() / 2),
            4 => wrong.clear(),
            _ => wrong[bytes.len() / 3] ^= 1,
        }
        fs::write(file, wrong).unwrap();
    }
    folder.itp(&["store", "verify", "tiles"]).ends(1).tells("4 tiles damaged");
    run().ends(0).tells("warning: 4 tiles in `tiles` damaged, computed again");
    assert_eq!(fs::read(folder.path("blur.npy")).unwrap(), expect);
    folder.itp(&["store", "verify", "tiles"]).ends(0);
    assert_eq!(computed(&folder, &[]), 0);
}

#[test]
fn a_process_that_is_killed_leaves_a_store_that_is_right() {
    let (folder, expect) = chain();
    for millis in [5, 20, 40, 80, 160] {
        let mut child = begun(&folder, &["run", "chain.itp", "--store", "tiles", "-q"]);
        std::thread::sleep(Duration::from_millis(millis));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let mut pair = [0; 2].map(|_| begun(&folder, &["run", "chain.itp", "--store", "tiles", "-q"]));
    for child in &mut pair {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(fs::read(folder.path("blur.npy")).unwrap(), expect);
    folder.itp(&["store", "gc", "tiles"]).ends(0);
    folder.itp(&["store", "verify", "tiles"]).ends(0).tells("0 damaged");
    assert_eq!(computed(&folder, &[]), 0);
}

#[test]
fn what_is_larger_than_a_slab_is_kept_as_it_is_made() {
    // 20 MB in slabs of 16: a process that is killed in the second leaves the first.
    let script = "tensor a: u8[y: inf, x: inf] = u8(y * 3 + x)\noutput \"a.raw\" = a[0:5000, 0:4096]\n";
    let folder = Folder::with("a.itp", script);
    let args = ["run", "a.itp", "--store", "tiles", "--stats-json", "s.json"];
    let mut child = begun(&folder, &args);
    wait_until("the first slab", || folder.path("tiles").exists() && tile_files(&folder).len() > 32);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!folder.path("a.raw").exists());
    folder.itp(&args).ends(0);
    let stats: Value = serde_json::from_str(&folder.read("s.json")).unwrap();
    let (peak, planned) = (&stats["bytes"]["peak"], &stats["bytes"]["peak_planned"]);
    assert!(peak.as_u64() <= planned.as_u64() && planned.as_u64() < Some(60 << 20), "{stats}");
    let bytes = fs::read(folder.path("a.raw")).unwrap();
    let right = |(at, byte): (usize, &u8)| *byte == (at / 4096 * 3 + at % 4096) as u8;
    assert!(bytes.len() == 20_480_000 && bytes.iter().enumerate().step_by(7).all(right));
    assert_eq!(tile_files(&folder).len(), 40 * 32);
    folder.itp(&args).ends(0);
    let stats: Value = serde_json::from_str(&folder.read("s.json")).unwrap();
    assert_eq!(stats["tiles"]["computed"], 0, "{stats}");
}

#[test]
fn a_full_disk_is_told_and_the_run_goes_on() {
    let (folder, _) = chain();
    // No file may have more than some kilobytes: tiles have 64, and what is printed has none.
    let run = format!(
        "ulimit -f 16; exec '{}' run chain.itp --store tiles --read 'blur[0:2, 0:2]' --read 'blur[0:1, 200:201]'",
        env!("CARGO_BIN_EXE_itp")
    );
    let ran = Command::new("sh").args(["-c", &run]).current_dir(folder.path(".")).output().unwrap();
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{told}");
    assert_eq!(told.matches("warning: not all tiles could be kept in `tiles`").count(), 1, "{told}");
    assert!(tile_files(&folder).is_empty());
}

#[test]
fn an_array_with_other_elements_is_another_array() {
    let script = "input a: u8[y: 4, x: 4] from \"a.zarr\"\ntensor b: u8[y: 4, x: 4] = a[y, x] + 1\n";
    let folder = Folder::with("b.itp", script);
    let fill = |value: u8| {
        folder.write("a.itp", format!("tensor a: u8[y: 4, x: 4] = {value}\noutput \"a.zarr\" = a[:, :]\n"));
        folder.itp(&["run", "a.itp", "-q"]).ends(0);
    };
    for value in [1, 2, 1] {
        fill(value);
        let ran = folder.itp(&["run", "b.itp", "--store", "tiles", "--read", "b[0, 0]"]);
        assert_eq!(ran.ends(0).stdout, format!("b[0, 0]: u8[]\n{}\n", value + 1));
    }
}
