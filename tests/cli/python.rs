//! What we write, read by zarr-python, TensorStore and zarrita, and what the first two write now, read by us; skipped aloud
//! where they are not.
//!
//! ```text
//! python3 -m venv v && v/bin/pip install numpy zarr tensorstore && npm install --prefix js zarrita
//! ITP_PYTHON=$PWD/v/bin/python ITP_ZARRITA=$PWD/js cargo test --test cli python -- --nocapture
//! ```
//!
//! `ITP_PYTHON` names the interpreter, `ITP_ZARRITA` the folder in which `node_modules` holds zarrita.

use crate::folder::Folder;
use std::process::Command;

fn python(packages: &str) -> Option<String> {
    let name = std::env::var("ITP_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&name).args(["-c", &format!("import {packages}")]).output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(name);
    }
    #[expect(clippy::print_stderr, reason = "a test that was not made has to say so")]
    {
        eprintln!("SKIPPED: {name} has not all of {packages}; set ITP_PYTHON to an interpreter that has");
    }
    None
}

/// The folder of zarrita, for node.
fn zarrita() -> Option<String> {
    let folder = std::env::var("ITP_ZARRITA").unwrap_or_else(|_| ".".to_owned());
    let import = ["--input-type=module", "-e", "import 'zarrita'; import '@zarrita/storage'"];
    let found = Command::new("node").args(import).current_dir(&folder).output();
    if found.is_ok_and(|output| output.status.success()) {
        return Some(folder);
    }
    #[expect(clippy::print_stderr, reason = "a test that was not made has to say so")]
    {
        eprintln!(
            "SKIPPED: node does not find zarrita from {folder}; set ITP_ZARRITA to a folder where it does"
        );
    }
    None
}

fn runs(folder: &Folder, python: &str, script: &str) {
    let ran = Command::new(python).args(["-c", script]).current_dir(folder.path(".")).output().unwrap();
    assert!(ran.status.success(), "{script}\n{}", String::from_utf8_lossy(&ran.stderr));
}

const WRITE: &str = "tensor a: f32[y: inf, x: inf] = 10 * y + x / 4
tensor b: u16[t: inf, y: inf, x: inf] = 100 * t + 10 * y + x
output \"a.zarr\" = a[-5:6, -3:4] chunk [4, 3]
output \"gzip.zarr\" = b[0:3, 0:5, 0:7] chunk [2, 2, 3] codec gzip(4)
output \"plain.zarr\" = b[0:3, 0:5, 0:7] codec none
output \"scalar.zarr\" = a[1, 2]
";

/// What is written is an input again, with the same coordinates.
const AGAIN: &str = "input a: f32[y: -5..6, x: -3..4] from \"a.zarr\"
tensor wrong: i64[k: 1] = sum(y in -5..6, x in -3..4) i64(a[y, x] != f32(10 * y) + f32(x) / 4)
";

const READ: &str = "
import numpy as np, sys
y, x = np.mgrid[-5:6, -3:4]
a = (10 * y + x / 4).astype('f4')
t, y, x = np.mgrid[0:3, 0:5, 0:7]
b = (100 * t + 10 * y + x).astype('u2')
cam = np.arange(5 * 35, dtype='u2').reshape(5, 5, 7)
expect = {'a': a, 'gzip': b, 'plain': b, 'scalar': np.float32(10.5), 'cam': cam, 'shard': cam, 'levels.zarr/0': cam}
origin = [-5, -3]
def check(name, array):
    assert array.dtype == expect[name].dtype and np.array_equal(array, expect[name]), name
";

const BY_ZARR: &str = "
import zarr
for name in expect:
    check(name, np.asarray(zarr.open_array(name if '/' in name else name + '.zarr', mode='r')[...]))
assert zarr.open_array('a.zarr', mode='r').attrs['itp']['origin'] == origin
levels = zarr.open_group('levels.zarr', mode='r')
assert levels['1'].shape == (5, 3, 4), levels['1'].shape
";

const BY_TENSORSTORE: &str = "
import tensorstore as ts
for name in expect:
    path = name if '/' in name else name + '.zarr'
    store = ts.open({'driver': 'zarr3', 'kvstore': {'driver': 'file', 'path': path}}).result()
    check(name, store.read().result())
    if name == 'a':
        import json
        kept = json.loads(store.kvstore['zarr.json'])['attributes']['itp']['origin']
        assert kept == origin
        assert store[ts.d[:].translate_to[tuple(kept)]][-5, 3].read().result() == np.float32(-49.25)
";

const BY_ZARRITA: &str = r#"
import assert from "node:assert/strict";
import * as zarr from "zarrita";
import { FileSystemStore } from "@zarrita/storage";
const range = (from, to) => Array.from({ length: to - from }, (_, at) => from + at);
const a = range(-5, 6).flatMap((y) => range(-3, 4).map((x) => 10 * y + x / 4));
const b = range(0, 3).flatMap((t) => range(0, 5).flatMap((y) => range(0, 7).map((x) => 100 * t + 10 * y + x)));
const cam = range(0, 5 * 35);
const expect = { a: ["float32", a], gzip: ["uint16", b], plain: ["uint16", b], scalar: ["float32", 10.5],
  cam: ["uint16", cam], shard: ["uint16", cam], "levels.zarr/0": ["uint16", cam] };
for (const [name, [dtype, values]] of Object.entries(expect)) {
  const path = name.includes("/") ? name : name + ".zarr";
  const store = new FileSystemStore(`${process.argv.at(-1)}/${path}`);
  const array = await zarr.open.v3(zarr.root(store), { kind: "array" });
  const read = await zarr.get(array);
  assert.equal(array.dtype, dtype, name);
  assert.deepEqual(read.data === undefined ? read : [...read.data], values, name);
  if (name === "a") assert.deepEqual(array.attrs.itp.origin, [-5, -3]);
}
"#;

fn written() -> Folder {
    let folder = Folder::with("write.itp", WRITE);
    folder.itp(&["run", "write.itp", "-q"]).ends(0).silent();
    folder.write("again.itp", AGAIN);
    folder.itp(&["run", "again.itp", "--read", "wrong[:]"]).ends(0).prints("\n[0]\n");
    let frames: Vec<u8> = (0..5 * 35u16).flat_map(|value| value.to_le_bytes()).collect();
    for (out, more) in [
        ("cam.zarr", &[][..]),
        ("shard.zarr", &["--shard", "4,4,8", "--codec", "zstd"][..]),
        ("levels.zarr", &["--pyramid", "max"][..]),
    ] {
        let args = [
            &["stream", "--shape", "0,5,7", "--type", "u16", "--tile", "2,2,4", "--out", out, "-q"][..],
            more,
        ]
        .concat();
        folder.itp_fed(&args, &frames).ends(0).silent();
    }
    folder
}

#[test]
fn zarr_python_reads_what_is_written() {
    if let Some(python) = python("zarr, numpy") {
        runs(&written(), &python, &format!("{READ}{BY_ZARR}"));
    }
}

#[test]
fn tensorstore_reads_what_is_written() {
    if let Some(python) = python("tensorstore, numpy") {
        runs(&written(), &python, &format!("{READ}{BY_TENSORSTORE}"));
    }
}

#[test]
fn zarrita_reads_what_is_written() {
    let Some(zarrita) = zarrita() else { return };
    let folder = written();
    let args = ["--input-type=module", "-e", BY_ZARRITA];
    let ran = Command::new("node").args(args).arg(folder.path(".")).current_dir(zarrita).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn what_zarr_python_writes_by_itself_is_read() {
    let Some(python) = python("zarr, numpy") else { return };
    let script = "import zarr, numpy as np\nzarr.create_array('in.zarr', data=np.arange(12, dtype='i4').reshape(3, 4))";
    is_read_after(&python, script);
}

#[test]
fn what_zarr_python_compresses_with_blosc_is_read() {
    let Some(python) = python("zarr, numpy") else { return };
    for (codec, shuffle) in
        [("lz4", "shuffle"), ("lz4hc", "bitshuffle"), ("zstd", "bitshuffle"), ("zlib", "noshuffle")]
    {
        let script = format!(
            "
import zarr, numpy as np
blosc = zarr.codecs.BloscCodec(cname='{codec}', shuffle='{shuffle}')
large = zarr.create_array('large.zarr', shape=(100, 3000), chunks=(70, 2000), dtype='f4', compressors=blosc)
large[...] = np.arange(300000, dtype='f4').reshape(100, 3000) // 7
zarr.create_array('in.zarr', data=np.arange(12, dtype='i4').reshape(3, 4), compressors=blosc)"
        );
        let folder = is_read_after(&python, &script);
        folder.write(
            "large.itp",
            "input a: f32[y: 100, x: 3000] from \"large.zarr\"
            tensor wrong: i64[k: 1] = sum(y in 0..100, x in 0..3000) i64(a[y, x] != f32((3000 * y + x) // 7))",
        );
        folder.itp(&["run", "large.itp", "--read", "wrong[:]"]).ends(0).prints("\n[0]\n");
    }
}

#[test]
fn what_tensorstore_writes_by_itself_is_read() {
    let Some(python) = python("tensorstore, numpy") else { return };
    let script = "
import numpy as np, tensorstore as ts
spec = {'driver': 'zarr3', 'kvstore': {'driver': 'file', 'path': 'in.zarr'}}
store = ts.open(spec, create=True, dtype=ts.int32, shape=[3, 4], chunk_layout=ts.ChunkLayout(chunk_shape=[2, 3])).result()
store.write(np.arange(12, dtype='i4').reshape(3, 4)).result()
";
    is_read_after(&python, script);
}

/// An array of 3 by 4 numbers, counted from 0, that a script of Python writes is an input.
fn is_read_after(python: &str, script: &str) -> Folder {
    let folder = Folder::new();
    runs(&folder, python, script);
    folder.write(
        "read.itp",
        "input a: i32[y: 3, x: 4] from \"in.zarr\"\ntensor b: i32[y: 3, x: 4] = a[y, x] + 1\n",
    );
    folder.itp(&["run", "read.itp", "--read", "b[2, :]"]).ends(0).prints("[ 9  10  11  12]");
    folder
}
