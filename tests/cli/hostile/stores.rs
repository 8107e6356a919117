//! Tile stores that somebody has edited: `--store tiles` reads what it can believe, and computes the rest again.
//!
//! ```text
//! tiles/5c1f…/zarr.json           a pipe, a link to /dev/zero, ten million brackets
//! tiles/5c1f…/c/0/1.part          boxes beyond the tile, of another rank, in thousands; the checksum is right
//! tiles/5c1f…/c                   a link to somewhere else
//! ```

use super::all;
use super::checksum::right_last_checksum;
use super::machine::run;
use crate::folder::Folder;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const SCRIPT: &str = "tensor a: f32[y: 0..200, x: 0..200] = x + 3 * y";
const READ: [&str; 6] = ["run", "script.itp", "--store", "tiles", "--read", "a[0:130, 0:130]"];

/// What is done to a store, given the folder of its series.
type Edit = (&'static str, fn(&Path));

/// A file of a tile of which some boxes are there.
fn part(series: &Path) -> PathBuf {
    let mut queue = vec![series.join("c")];
    while let Some(folder) = queue.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.extension().is_some_and(|ending| ending == "part") {
                return path;
            }
            queue.extend(path.is_dir().then_some(path));
        }
    }
    panic!("no tile in parts")
}

/// Puts other boxes into a tile, with the right checksum.
fn boxes(series: &Path, boxes: &str) {
    let path = part(series);
    let bytes = fs::read(&path).unwrap();
    let line = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    let mut bytes = [boxes.as_bytes(), &bytes[line..]].concat();
    right_last_checksum(&mut bytes);
    fs::write(path, bytes).unwrap();
}

fn pipe(path: &Path) {
    let _ = fs::remove_file(path);
    assert!(std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo runs").success());
}

fn link(to: &str, path: &Path) {
    let _ = fs::remove_file(path);
    let _ = fs::remove_dir_all(path);
    symlink(to, path).unwrap();
}

const EDITS: [Edit; 18] = [
    ("a description that is a pipe", |series| pipe(&series.join("zarr.json"))),
    ("a description without end", |series| link("/dev/zero", &series.join("zarr.json"))),
    ("a description of brackets", |series| {
        fs::write(series.join("zarr.json"), "[".repeat(10_000_000)).unwrap()
    }),
    ("a description in circles", |series| link("zarr.json", &series.join("zarr.json"))),
    ("a tile that is a pipe", |series| pipe(&part(series))),
    ("a tile without end", |series| link("/dev/zero", &part(series))),
    ("no boxes", |series| boxes(series, "[]")),
    ("a box beyond the tile", |series| boxes(series, "[[[0, 200], [0, 200]]]")),
    ("a box at the end of all", |series| {
        boxes(series, "[[[4611686018427387903, 9223372036854775807], [0, 1]]]")
    }),
    ("a box of rank 1", |series| boxes(series, "[[[0, 1]]]")),
    ("a box of rank 3", |series| boxes(series, "[[[0, 1], [0, 1], [0, 1]]]")),
    ("an empty box", |series| boxes(series, "[[[1, 0], [0, 1]]]")),
    ("no numbers", |series| boxes(series, "[[[null, 1e300], [\"0\", {}]]]")),
    ("deep boxes", |series| boxes(series, &"[".repeat(100_000))),
    ("the same box many times", |series| {
        boxes(series, &format!("[{}[[0, 0], [128, 128]]]", "[[0, 0], [128, 128]],".repeat(20_000)))
    }),
    ("tiles in a link", |series| link("../../elsewhere", &series.join("c"))),
    ("a series that is a link", |series| link("../elsewhere", series)),
    ("tiles in a circle", |series| link("c", &series.join("c"))),
];

#[test]
fn hostile_stores_change_no_value() {
    all(&EDITS, EDITS.len(), |(name, edit)| {
        let folder = Folder::with("script.itp", SCRIPT);
        fs::create_dir_all(folder.path("elsewhere/empty")).unwrap();
        let right = run(&folder, &READ);
        assert_eq!(right.code, Some(0), "{right:?}");
        let series = fs::read_dir(folder.path("tiles")).unwrap().map(|entry| entry.unwrap().path());
        edit(&series.into_iter().find(|path| path.is_dir()).expect("a series"));
        let ended = run(&folder, &READ);
        let mut wrongs = String::new();
        if ended.code != Some(0) || ended.stdout != right.stdout || ended.unbounded().is_some() {
            wrongs += &format!("{name}: {ended:?}\n");
        }
        for words in [["store", "ls", "tiles"], ["store", "verify", "tiles"], ["store", "gc", "tiles"]] {
            let ended = run(&folder, &words);
            if !matches!(ended.code, Some(0 | 1)) || ended.unbounded().is_some() {
                wrongs += &format!("{name}: {words:?}: {ended:?}\n");
            }
        }
        let elsewhere = fs::read_dir(folder.path("elsewhere")).unwrap();
        let names: Vec<_> = elsewhere.map(|entry| entry.unwrap().file_name()).collect();
        if names != ["empty"] {
            wrongs += &format!("{name}: elsewhere there is {names:?}\n");
        }
        wrongs
    });
}
