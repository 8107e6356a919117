//! Errors of the disk at every call, once and from then on: a file is the old one or the new one, and nothing is left.

use crate::{one_by_one, turn};
use itp::Engine;
use itp::faults::{Place, Then};
use itp::graph::{FileKind, OutputOptions};
use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

const SCRIPT: &str = "
    tensor grey: u8[y: inf, x: inf] = x * y
    tensor ramp: f32[y: inf, x: inf] = x + y / 7
    tensor sheet: u8[c: 3, y: inf, x: inf] = 50 * c + x * y
    output \"map.png\" = ramp[0:40, 0:50] colormap viridis
";

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        // In memory where that is to be had: thousands of files are brought to the disk.
        let memory = PathBuf::from("/dev/shm");
        let all = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let path = all.join(format!("itp-faults-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Writes a slice to a file while the disk fails at each call in turn; gives the number of calls.
fn check(engine: &Engine, slice: &str, name: &str, options: &OutputOptions) -> u64 {
    let folder = Folder::new(name);
    let (path, kind) = (folder.0.join(name), FileKind::of(name).unwrap());
    let save = || engine.prepare(slice)?.save(&path, kind, options);
    save().unwrap_or_else(|error| panic!("{name}: {error}"));
    let whole = fs::read(&path).unwrap();
    let calls = [Then::Well, Then::Worse].map(|then| {
        one_by_one(Place::Disk, then, save, |done| {
            let found = fs::read(&path).unwrap();
            match done {
                Ok(_) => assert!(found == whole, "{name}: another file"),
                Err(message) => {
                    assert!(found == b"old" || found == whole, "{name}: half a file\n{message}");
                    assert!(message.contains("error[E0003]"), "{name}: {message}");
                }
            }
            // What could not be removed then is removed by the next one who writes the file.
            save().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(folder.files(), [name], "nothing is left");
            assert!(fs::read(&path).unwrap() == whole, "{name}: another file");
            fs::write(&path, "old").unwrap();
        })
    });
    calls.into_iter().sum()
}

#[test]
fn outputs_are_old_or_new_whatever_call_fails() {
    let _turn = turn();
    let engine = Engine::builder().store(0).threads(1).compile(SCRIPT).unwrap();
    let plain = OutputOptions::default();
    let mapped = &engine.program().graph.outputs[0].options;
    let mut calls = 0;
    for name in ["a.npy", "a.npz", "a.raw", "a.csv", "a.tif"] {
        calls += check(&engine, "ramp[0:40, 0:50]", name, &plain);
    }
    calls += check(&engine, "grey[0:40, 0:50]", "a.png", &plain);
    calls += check(&engine, "sheet[:, 0:40, 0:50]", "planes.png", &plain);
    calls += check(&engine, "ramp[0:40, 0:50]", "map.png", mapped);
    println!("{calls} calls that failed");
    assert!(calls > 150, "{calls}");
}

#[test]
fn inputs_are_read_whole_or_refused_whatever_call_fails() {
    let _turn = turn();
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/io");
    let check = |name: &str, declared: &str, slice: &str| {
        let script = format!("input a: {declared}");
        let engine = Engine::builder().store(0).threads(1).compile(&script).unwrap();
        let engine = RefCell::new(engine);
        let bound = || {
            let mut engine = engine.borrow_mut();
            engine.bind_file("a", files.join(name))?;
            engine.read_array(slice)
        };
        let whole = bound().unwrap_or_else(|error| panic!("{name}: {error}"));
        let calls = [Then::Well, Then::Worse].map(|then| {
            one_by_one(Place::Disk, then, bound, |done| match done {
                Ok(array) => assert!(array == whole, "{name}: other elements"),
                Err(message) => assert!(message.contains("error[E10"), "{name}: {message}"),
            })
        });
        calls.into_iter().sum::<u64>()
    };
    let mut calls = 0;
    for (name, declared, slice) in INPUTS {
        calls += check(name, declared, slice);
    }
    println!("{calls} calls that failed");
    assert!(calls > 40, "{calls}");
}

const INPUTS: [(&str, &str, &str); 5] = [
    ("f4.npy", "f32[y: 3, x: 5]", "a[0:3, 0:5]"),
    ("fortran.npy", "i32[z: 2, y: 3, x: 4]", "a[0:2, 0:3, 0:4]"),
    ("grey8.png", "u8[y: 5, x: 7]", "a[0:5, 0:7]"),
    ("tiles_big_endian.tif", "i32[y: 20, x: 18]", "a[0:20, 0:18]"),
    ("rgba_deflate.tif", "u8[y: 5, x: 7, c: 4]", "a[0:5, 0:7, :]"),
];

#[test]
fn scripts_are_read_whole_or_refused_whatever_call_fails() {
    let _turn = turn();
    let folder = Folder::new("script");
    fs::create_dir_all(folder.0.join("lib")).unwrap();
    fs::write(folder.0.join("lib/mine.itp"), "fn twice(a) = 2 * a\n").unwrap();
    fs::write(folder.0.join("a.itp"), "use \"lib/mine.itp\"\ntensor b: u8[x: inf] = twice(x)\n").unwrap();
    let open = || Engine::builder().open(folder.0.join("a.itp"))?.read_array("b[0:9]");
    for then in [Then::Well, Then::Worse] {
        let calls = one_by_one(Place::Disk, then, open, |done| match done {
            Ok(array) => assert_eq!(array.data, [0, 2, 4, 6, 8, 10, 12, 14, 16]),
            Err(message) => assert!(message.contains("error[E0"), "{message}"),
        });
        assert!(calls >= 6, "{calls}");
    }
}
