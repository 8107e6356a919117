//! What we write, read by zarr-python and TensorStore, and what they write now, read by us; skipped aloud where there is no
//! Python with them. `ITP_PYTHON` names the interpreter.

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

const READ: &str = "
import numpy as np, sys
y, x = np.mgrid[-5:6, -3:4]
a = (10 * y + x / 4).astype('f4')
t, y, x = np.mgrid[0:3, 0:5, 0:7]
b = (100 * t + 10 * y + x).astype('u2')
cam = np.arange(5 * 35, dtype='u2').reshape(5, 5, 7)
expect = {'a': a, 'gzip': b, 'plain': b, 'scalar': np.float32(10.5), 'cam': cam, 'shard': cam, 'levels.zarr/0': cam}
def check(name, array):
    assert array.dtype == expect[name].dtype and np.array_equal(array, expect[name]), name
";

const BY_ZARR: &str = "
import zarr
for name in expect:
    check(name, np.asarray(zarr.open_array(name if '/' in name else name + '.zarr', mode='r')[...]))
assert zarr.open_array('a.zarr', mode='r').attrs['itp']['origin'] == [-5, -3]
levels = zarr.open_group('levels.zarr', mode='r')
assert levels['1'].shape == (5, 3, 4), levels['1'].shape
";

const BY_TENSORSTORE: &str = "
import tensorstore as ts
for name in expect:
    path = name if '/' in name else name + '.zarr'
    store = ts.open({'driver': 'zarr3', 'kvstore': {'driver': 'file', 'path': path}}).result()
    check(name, store.read().result())
";

fn written() -> Folder {
    let folder = Folder::with("write.itp", WRITE);
    folder.itp(&["run", "write.itp", "-q"]).ends(0).silent();
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
fn what_zarr_python_writes_by_itself_is_read() {
    let Some(python) = python("zarr, numpy") else { return };
    let folder = Folder::new();
    let script = "import zarr, numpy as np\nzarr.create_array('in.zarr', data=np.arange(12, dtype='i4').reshape(3, 4))";
    runs(&folder, &python, script);
    folder.write(
        "read.itp",
        "input a: i32[y: 3, x: 4] from \"in.zarr\"\ntensor b: i32[y: 3, x: 4] = a[y, x] + 1\n",
    );
    folder.itp(&["run", "read.itp", "--read", "b[2, :]"]).ends(0).prints("[ 9  10  11  12]");
}
