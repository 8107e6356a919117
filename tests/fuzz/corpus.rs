//! What mutants are made from: files that the project has anyway, and what was found before.

use crate::targets::Kind;
use std::fs;
use std::path::{Path, PathBuf};

/// Longer files make slow mutants.
const LONGEST: u64 = 4_000;

/// The files of a folder with that ending, in order of their names.
fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(ending));
    paths.retain(|path| fs::metadata(path).is_ok_and(|file| file.is_dir() || file.len() <= LONGEST));
    paths.sort();
    paths
}

/// Where the inputs of a kind lie, each with their ending.
fn places(kind: Kind) -> &'static [(&'static str, &'static str)] {
    match kind {
        Kind::Script => &[
            ("examples", ".itp"),
            ("tests/hostile", ".itp"),
            ("tests/inputs", ".itp"),
            ("tests/fuzz/found", ".itp"),
        ],
        Kind::Npy => &[("tests/io", ".npy"), ("tests/fuzz/found", ".npy")],
        Kind::Png => &[("tests/io", ".png"), ("tests/fuzz/found", ".png")],
        Kind::Tiff => &[("tests/io", ".tif"), ("tests/fuzz/found", ".tif")],
        Kind::Npz => &[("tests/fuzz/found", ".npz")],
        Kind::Zarr | Kind::Tile | Kind::Slice | Kind::Request => &[],
    }
}

/// Inputs that are no files.
fn written(kind: Kind) -> Vec<Vec<u8>> {
    let texts: &[&str] = match kind {
        Kind::Slice => &[
            "a[0:4, 0:4]",
            "a[y=0:4, x=-3:9:2]",
            "v[...]",
            "b[3, :]",
            "w[0:8].flip([x])",
            "a[0:1, 4611686018427387901]",
        ],
        Kind::Request => &[
            "GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
            "GET /tiles/a/-3/5/-2.png HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
            "GET /slice.npy?read=a[0:12,%20-9:9]&set=n=8 HTTP/1.1\r\nHost: localhost:PORT\r\nOrigin: http://localhost:PORT\r\n\r\n",
            "GET /zarr/a/c/4/7 HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nRange: bytes=0-9\r\nIf-None-Match: \"x\"\r\n\r\n",
            "GET /script?set=n=9 HTTP/1.0\r\nHost: 127.0.0.1:PORT\r\nConnection: close\r\n\r\n",
            "POST /script HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "GET /colormaps HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        ],
        Kind::Script | Kind::Npy | Kind::Png | Kind::Tiff => &[],
        Kind::Npz => return (1..6).map(archive).collect(),
        Kind::Zarr => return arrays(),
        #[cfg(feature = "zarr")]
        Kind::Tile => return crate::targets::arrays::tiles(),
        #[cfg(not(feature = "zarr"))]
        Kind::Tile => &[],
    };
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

/// A npy file of whole numbers.
fn numbers(values: &[i64]) -> Vec<u8> {
    let header = format!("{{'descr': '<i8', 'fortran_order': False, 'shape': ({},), }}\n", values.len());
    let data = values.iter().flat_map(|value| value.to_le_bytes());
    [
        &b"\x93NUMPY\x01\0"[..],
        &(header.len() as u16).to_le_bytes(),
        header.as_bytes(),
        &data.collect::<Vec<u8>>(),
    ]
    .concat()
}

/// A sparse matrix of `count` elements, as scipy saves it.
fn archive(count: i64) -> Vec<u8> {
    let places: Vec<i64> = (0..count).collect();
    let files = [
        ("shape", numbers(&[8, 8])),
        ("data", numbers(&places)),
        ("row", numbers(&places)),
        ("col", numbers(&places)),
    ];
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in &files {
        let (name, size, at) = (format!("{name}.npy"), (data.len() as u32).to_le_bytes(), bytes.len() as u32);
        let shared =
            [&[20, 0, 0, 0, 0, 0][..], &[0; 8], &size, &size, &(name.len() as u16).to_le_bytes(), &[0; 2]]
                .concat();
        bytes.extend([&b"PK\x03\x04"[..], &shared, name.as_bytes(), data].concat());
        directory.extend(
            [&b"PK\x01\x02\x14\0"[..], &shared, &[0; 10], &at.to_le_bytes(), name.as_bytes()].concat(),
        );
    }
    let ends = [(directory.len() as u32).to_le_bytes(), (bytes.len() as u32).to_le_bytes()].concat();
    [bytes, directory, b"PK\x05\x06\0\0\0\0\x04\0\x04\0".to_vec(), ends, vec![0; 2]].concat()
}

/// The arrays of tests/io, each with one of its chunks.
fn arrays() -> Vec<Vec<u8>> {
    let one = |path: PathBuf| {
        let chunks = ["c/0/0", "0.0", "c"].map(|name| fs::read(path.join(name)).ok());
        let chunk = chunks.into_iter().flatten().next().unwrap_or_default();
        Some([fs::read(path.join("zarr.json")).ok()?, vec![0], chunk].concat())
    };
    files("tests/io/zarr", ".zarr").into_iter().filter_map(one).collect()
}

/// All inputs of a kind.
pub(crate) fn corpus(kind: Kind) -> Vec<Vec<u8>> {
    let paths = places(kind).iter().flat_map(|(folder, ending)| files(folder, ending));
    paths.map(|path| fs::read(path).unwrap()).chain(written(kind)).collect()
}
