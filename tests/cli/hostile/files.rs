//! Data files that lie about themselves: in their headers, about their length, or about how much they unpack to.

use super::{all, step, wrongs};
use crate::folder::Folder;
use flate2::write::ZlibEncoder;
use flate2::{Compression, Crc};
use std::io::Write;

/// A file, what the script declares of it, and what has to come of a read of all of it.
struct Lie {
    name: &'static str,
    file: &'static str,
    bytes: Vec<u8>,
    declares: &'static str,
    outcome: &'static str,
}

fn lie(
    name: &'static str,
    file: &'static str,
    bytes: impl Into<Vec<u8>>,
    declares: &'static str,
    outcome: &'static str,
) -> Lie {
    Lie { name, file, bytes: bytes.into(), declares, outcome }
}

/// A npy file with that dictionary.
fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes(), data].concat()
}

fn array(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    npy(&format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}\n"), data)
}

#[test]
fn hostile_npy_files() {
    let ones = "1, ".repeat(20_000);
    let deep = "(".repeat(60_000);
    let cases = [
        lie("nothing", "t.npy", [], "f32[x: 4]", "1 E1002"),
        lie("the magic alone", "t.npy", *b"\x93NUMPY", "f32[x: 4]", "1 E1002"),
        lie(
            "a version to come",
            "t.npy",
            *b"\x93NUMPY\x09\x00\x10\x00xxxxxxxxxxxxxxxx",
            "f32[x: 4]",
            "1 E1002",
        ),
        lie("a header of 4 GiB", "t.npy", *b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}", "f32[x: 4]", "1 E1002"),
        lie("a header beyond the end", "t.npy", *b"\x93NUMPY\x01\x00\xff\xff{}", "f32[x: 4]", "1 E1002"),
        lie(
            "a header that is no text",
            "t.npy",
            *b"\x93NUMPY\x01\x00\x04\x00\xff\xfe\xff\xfe",
            "f32[x: 4]",
            "1 E1002",
        ),
        lie("a header of brackets", "t.npy", npy(&deep, &[]), "f32[x: 4]", "1 E1002"),
        lie(
            "a header that calls",
            "t.npy",
            npy("__import__('os').system('true')", &[]),
            "f32[x: 4]",
            "1 E1002",
        ),
        lie("objects", "t.npy", array("|O", "4,", &[0; 32]), "f32[x: 4]", "1 E1002"),
        lie("text", "t.npy", array("<U9", "4,", &[0; 144]), "f32[x: 4]", "1 E1002"),
        lie(
            "a size of 2^63 - 1",
            "t.npy",
            array("<f4", "9223372036854775807,", &[0; 16]),
            "f32[x: 4]",
            "1 E1002",
        ),
        lie(
            "sizes whose product wraps",
            "t.npy",
            array("<f4", "4294967296, 4294967296", &[]),
            "f32[y: 4294967296, x: 4294967296]",
            "1 E100",
        ),
        lie(
            "exabytes",
            "t.npy",
            array("|u1", "1152921504606846976,", &[0; 16]),
            "u8[x: 1152921504606846976]",
            "1 E100",
        ),
        lie(
            "20000 dimensions",
            "t.npy",
            npy(&format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({ones}), }}"), &[0; 4]),
            "f32[x: 1]",
            "1 E1002",
        ),
        lie("a negative size", "t.npy", array("<f4", "-4,", &[0; 16]), "f32[x: 4]", "1 E1002"),
        lie("too short", "t.npy", array("<f4", "4,", &[0; 15]), "f32[x: 4]", "1 E1002"),
        lie("too long", "t.npy", array("<f4", "4,", &[0; 17]), "f32[x: 4]", "1 E1002"),
        lie("another shape", "t.npy", array("<f4", "2, 2", &[0; 16]), "f32[x: 4]", "1 E1002"),
        lie("another type", "t.npy", array("<i4", "4,", &[0; 16]), "f32[x: 4]", "1 E1002"),
        lie(
            "bools that are neither",
            "t.npy",
            array("|b1", "4,", &[0, 1, 2, 255]),
            "bool[x: 4]",
            "0 [false true true true]",
        ),
        lie("no elements", "t.npy", array("<f4", "0,", &[]), "f32[x: 0]", "0 []"),
        lie(
            "NaN and infinities",
            "t.npy",
            array("<f4", "3,", &[0xff, 0xff, 0xff, 0xff, 0, 0, 0x80, 0x7f, 0, 0, 0x80, 0xff]),
            "f32[x: 3]",
            "0 [ NaN inf -inf]",
        ),
        lie("a png by another name", "t.npy", picture(2, 2, 8, 0, &[0; 6]), "u8[y: 2, x: 2]", "1 E1002"),
    ];
    check(&cases);
}

fn chunk(kind: &[u8], data: &[u8]) -> Vec<u8> {
    let mut crc = Crc::new();
    crc.update(kind);
    crc.update(data);
    [&(data.len() as u32).to_be_bytes(), kind, data, &crc.sum().to_be_bytes()].concat()
}

fn packed(data: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

fn ihdr(width: u32, height: u32, depth: u8, colour: u8) -> Vec<u8> {
    chunk(b"IHDR", &[&width.to_be_bytes()[..], &height.to_be_bytes(), &[depth, colour, 0, 0, 0]].concat())
}

/// A png whose pixels are those bytes, packed.
fn picture(width: u32, height: u32, depth: u8, colour: u8, pixels: &[u8]) -> Vec<u8> {
    [PNG, &ihdr(width, height, depth, colour), &chunk(b"IDAT", &packed(pixels)), &chunk(b"IEND", &[])]
        .concat()
}

#[test]
fn hostile_png_files() {
    let whole = picture(2, 2, 8, 0, &[0, 1, 2, 0, 3, 4]);
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let many = [PNG, &ihdr(2, 2, 8, 0), &chunk(b"tEXt", &[b'a'; 100]).repeat(20_000)].concat();
    let bomb = packed(&vec![0; 64 << 20]);
    let text = [PNG, &ihdr(2, 2, 8, 0), &chunk(b"zTXt", &[&b"k\0\0"[..], &bomb].concat())].concat();
    let profile =
        [PNG, &ihdr(2, 2, 8, 0), &chunk(b"iCCP", &[&b"k\0\0"[..], &bomb].concat()), &whole[33..]].concat();
    let overlong = [PNG, &ihdr(2, 2, 8, 0), &chunk(b"IDAT", &bomb), &chunk(b"IEND", &[])].concat();
    let cases = [
        lie("nothing", "t.png", [], "u8[y: 2, x: 2]", "1 E1002"),
        lie("half a signature", "t.png", PNG[..4].to_vec(), "u8[y: 2, x: 2]", "1 E1002"),
        lie("the header alone", "t.png", whole[..33].to_vec(), "u8[y: 2, x: 2]", "1 E1002"),
        lie("no end", "t.png", whole[..whole.len() - 12].to_vec(), "u8[y: 2, x: 2]", "1 E1002"),
        lie("half of its pixels", "t.png", whole[..45].to_vec(), "u8[y: 2, x: 2]", "1 E1002"),
        lie("a whole one", "t.png", whole.clone(), "u8[y: 2, x: 2]", "0 [[1 2] [3 4]]"),
        lie("another width", "t.png", flipped(19), "u8[y: 2, x: 2]", "1 E1002"),
        lie("another checksum", "t.png", flipped(30), "u8[y: 2, x: 2]", "1 E1002"),
        lie("pixels that do not unpack", "t.png", flipped(43), "u8[y: 2, x: 2]", "1 E1002"),
        lie("no pixels", "t.png", picture(0, 0, 8, 0, &[]), "u8[y: 0, x: 0]", "1 E1002"),
        lie("too few pixels", "t.png", picture(2, 2, 8, 0, &[0, 1, 2]), "u8[y: 2, x: 2]", "1 E1002"),
        lie(
            "2^31 - 1 squared",
            "t.png",
            picture(0x7fff_ffff, 0x7fff_ffff, 8, 0, &[]),
            "u8[y: 2147483647, x: 2147483647]",
            "1 E100",
        ),
        lie(
            "a row of 2^31 - 1",
            "t.png",
            picture(0x7fff_ffff, 1, 16, 6, &[]),
            "u16[y: 1, x: 2147483647, c: 4]",
            "1 E100",
        ),
        lie("a depth of 3", "t.png", picture(2, 2, 3, 0, &[0; 6]), "u8[y: 2, x: 2]", "1 E1002"),
        lie("no such colour", "t.png", picture(2, 2, 8, 5, &[0; 6]), "u8[y: 2, x: 2]", "1 E1002"),
        lie(
            "a palette that is not there",
            "t.png",
            picture(2, 2, 8, 3, &[0; 6]),
            "u8[y: 2, x: 2, c: 3]",
            "1 E1002",
        ),
        lie("no such filter", "t.png", picture(2, 2, 8, 0, &[9, 1, 2, 9, 3, 4]), "u8[y: 2, x: 2]", "1 E1002"),
        lie("20000 texts", "t.png", many, "u8[y: 2, x: 2]", "1 E1002"),
        lie("a text that unpacks to 64 MiB", "t.png", text, "u8[y: 2, x: 2]", "1 E1002"),
        lie("a profile that unpacks to 64 MiB", "t.png", profile, "u8[y: 2, x: 2]", "0 [[1 2] [3 4]]"),
        lie("pixels that unpack to 64 MiB", "t.png", overlong, "u8[y: 2, x: 2]", "0 [[0 0] [0 0]]"),
        lie("a chunk of 4 GiB", "t.png", [PNG, &[0xff; 4], b"IHDR"].concat(), "u8[y: 2, x: 2]", "1 E1002"),
    ];
    check(&cases);
}

/// A little-endian tiff: entries are tag, type, count and value, `data` follows the directory.
fn tiff(entries: &[(u16, u16, u32, u32)], data: &[u8]) -> Vec<u8> {
    let mut bytes = b"II\x2a\0\x08\0\0\0".to_vec();
    bytes.extend((entries.len() as u16).to_le_bytes());
    for (tag, kind, count, value) in entries {
        bytes.extend([tag.to_le_bytes(), kind.to_le_bytes()].concat());
        bytes.extend([count.to_le_bytes(), value.to_le_bytes()].concat());
    }
    bytes.extend([0; 4]);
    bytes.extend(data);
    bytes
}

/// A grey one of 8 bits, uncompressed, in one strip, with some entries instead of its own.
fn grey(width: u32, height: u32, other: &[(u16, u16, u32, u32)], data: &[u8]) -> Vec<u8> {
    let mut entries =
        vec![(256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1)];
    entries.extend([(273, 4, 1, 0), (277, 3, 1, 1), (278, 4, 1, height), (279, 4, 1, data.len() as u32)]);
    for entry in other {
        match entries.iter_mut().find(|known| known.0 == entry.0) {
            Some(known) => *known = *entry,
            None => entries.push(*entry),
        }
    }
    let start = 8 + 2 + 12 * entries.len() as u32 + 4;
    let strip = entries.iter_mut().find(|entry| entry.0 == 273 && entry.3 == 0);
    strip.into_iter().for_each(|strip| strip.3 = start);
    entries.sort_unstable();
    tiff(&entries, data)
}

#[test]
fn hostile_tiff_files() {
    let pixels = [1, 2, 3, 4];
    let zeroes = packed(&vec![0; 64 << 20]);
    let square = "u8[y: 2, x: 2]";
    let with = |other: &[(u16, u16, u32, u32)]| grey(2, 2, other, &pixels);
    let cases = [
        lie("nothing", "t.tif", [], square, "1 E1002"),
        lie("a directory far away", "t.tif", *b"II\x2a\0\xff\xff\xff\xff", square, "1 E1002"),
        lie("a directory in the header", "t.tif", *b"II\x2a\0\x00\0\0\0", square, "1 E1002"),
        lie("65535 entries", "t.tif", *b"II\x2a\0\x08\0\0\0\xff\xff", square, "1 E1002"),
        lie(
            "2^64 - 1 entries",
            "t.tif",
            [&b"II\x2b\0\x08\0\0\0\x10\0\0\0\0\0\0\0"[..], &[0xff; 8]].concat(),
            square,
            "1 E1002",
        ),
        lie(
            "a far BigTIFF directory",
            "t.tif",
            [&b"II\x2b\0\x08\0\0\0"[..], &[0xff; 8], &[0; 16]].concat(),
            square,
            "1 E1002",
        ),
        lie("a whole one", "t.tif", with(&[]), square, "0 [[1 2] [3 4]]"),
        lie("no tags", "t.tif", tiff(&[], &[]), square, "1 E1002"),
        lie(
            "2^32 - 1 squared",
            "t.tif",
            grey(u32::MAX, u32::MAX, &[], &pixels),
            "u8[y: 4294967295, x: 4294967295]",
            "1 E100",
        ),
        lie("no pixels", "t.tif", grey(0, 0, &[], &[]), "u8[y: 0, x: 0]", "1 E1002"),
        lie("a strip beyond the end", "t.tif", with(&[(273, 4, 1, 0xffff_fff0)]), square, "1 E1002"),
        lie("a strip of 4 GiB", "t.tif", with(&[(279, 4, 1, u32::MAX)]), square, "1 E1002"),
        lie("rows per strip 0", "t.tif", with(&[(278, 4, 1, 0)]), square, "1 E1002"),
        lie("rows per strip 2^32 - 1", "t.tif", with(&[(278, 4, 1, u32::MAX)]), square, "0 [[1 2] [3 4]]"),
        lie(
            "2^32 - 1 strips",
            "t.tif",
            with(&[(273, 4, u32::MAX, 8), (279, 4, u32::MAX, 8)]),
            square,
            "1 E1002",
        ),
        lie("65535 samples", "t.tif", with(&[(277, 3, 1, 65535)]), square, "1 E1002"),
        lie("no samples", "t.tif", with(&[(277, 3, 1, 0)]), square, "1 E1002"),
        lie("7 bits", "t.tif", with(&[(258, 3, 1, 7)]), square, "1 E1002"),
        lie("bits in 2^32 - 1 values", "t.tif", with(&[(258, 3, u32::MAX, 8)]), square, "1 E1002"),
        lie("no such packing", "t.tif", with(&[(259, 3, 1, 34892)]), square, "1 E1002"),
        lie("no such predictor", "t.tif", with(&[(317, 3, 1, 77)]), square, "1 E1002"),
        lie("a float predictor of bytes", "t.tif", with(&[(317, 3, 1, 3)]), square, "1 E1002"),
        lie("LZW that is none", "t.tif", with(&[(259, 3, 1, 5)]), square, "1 E1002"),
        lie("deflate that is none", "t.tif", with(&[(259, 3, 1, 8)]), square, "1 E1002"),
        lie(
            "packed bits that end",
            "t.tif",
            grey(9, 9, &[(259, 3, 1, 32773)], &[127, 1, 2]),
            "u8[y: 9, x: 9]",
            "1 E1002",
        ),
        lie(
            "deflate of 64 MiB for 4 bytes",
            "t.tif",
            grey(2, 2, &[(259, 3, 1, 8)], &zeroes),
            square,
            "0 [[0 0] [0 0]]",
        ),
        lie(
            "tiles of 2^32 - 16",
            "t.tif",
            with(&[(322, 4, 1, 0xffff_fff0), (323, 4, 1, 0xffff_fff0), (324, 4, 1, 8), (325, 4, 1, 4)]),
            square,
            "1 E1002",
        ),
        lie(
            "tiles of 0",
            "t.tif",
            with(&[(322, 4, 1, 0), (323, 4, 1, 0), (324, 4, 1, 8), (325, 4, 1, 4)]),
            square,
            "1 E1002",
        ),
        lie("a type of tag that there is not", "t.tif", with(&[(256, 99, 1, 2)]), square, "1 E1002"),
        lie(
            "planes that are not there",
            "t.tif",
            with(&[(284, 3, 1, 2), (277, 3, 1, 3)]),
            "u8[y: 2, x: 2, c: 3]",
            "1 E1002",
        ),
    ];
    check(&cases);
}

/// A zip archive of stored files, as it says; `size` is what its directory says of each.
fn zip(files: &[(&str, Vec<u8>)], size: impl Fn(usize) -> u32, method: u16) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in files {
        let at = bytes.len() as u32;
        let sizes = [size(data.len()).to_le_bytes(), size(data.len()).to_le_bytes()].concat();
        let shared = [
            &[20, 0, 0, 0][..],
            &method.to_le_bytes(),
            &[0; 8],
            &sizes,
            &(name.len() as u16).to_le_bytes(),
            &[0; 2],
        ]
        .concat();
        bytes.extend([&b"PK\x03\x04"[..], &shared, name.as_bytes(), data].concat());
        directory.extend(
            [&b"PK\x01\x02\x14\x00"[..], &shared, &[0; 10], &at.to_le_bytes(), name.as_bytes()].concat(),
        );
    }
    let count = (files.len() as u16).to_le_bytes();
    let ends = [(directory.len() as u32).to_le_bytes(), (bytes.len() as u32).to_le_bytes()].concat();
    [bytes, directory, b"PK\x05\x06\0\0\0\0".to_vec(), count.to_vec(), count.to_vec(), ends, vec![0; 2]]
        .concat()
}

fn numbers(values: &[i64]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    array("<i8", &format!("{},", values.len()), &data)
}

/// A matrix as scipy saves it: a shape, and places by row and column, each with the value 1.
fn listed(shape: [i64; 2], rows: &[i64], columns: &[i64]) -> Vec<(&'static str, Vec<u8>)> {
    let ones: Vec<u8> = rows.iter().flat_map(|_| 1.0f32.to_le_bytes()).collect();
    let data = array("<f4", &format!("{},", rows.len()), &ones);
    vec![
        ("shape.npy", numbers(&shape)),
        ("data.npy", data),
        ("row.npy", numbers(rows)),
        ("col.npy", numbers(columns)),
    ]
}

fn by_rows(shape: [i64; 2], starts: &[i64], columns: &[i64]) -> Vec<(&'static str, Vec<u8>)> {
    let mut files = listed(shape, columns, columns);
    files.truncate(2);
    files.extend([("indptr.npy", numbers(starts)), ("indices.npy", numbers(columns))]);
    files.push(("format.npy", array("|S3", "", b"csr")));
    files
}

#[test]
fn hostile_npz_files() {
    let small = "f32[y: 2, x: 2]";
    let vast = "f32[y: 1099511627776, x: 1099511627776]";
    let wide = "f32[y: 16, x: 2305843009213693952]";
    let right = |files: &[(&str, Vec<u8>)]| zip(files, |size| size as u32, 0);
    let pair = listed([2, 2], &[0, 1], &[1, 0]);
    let starts = (0..17).map(|row| row.min(1)).collect::<Vec<i64>>();
    let cases = [
        lie("a whole one", "t.npz", right(&pair), small, "0 [[0.0 1.0] [1.0 0.0]]"),
        lie("nothing", "t.npz", [], small, "1 E1002"),
        lie(
            "an end without a start",
            "t.npz",
            *b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0",
            small,
            "1 E1002",
        ),
        lie("half an end", "t.npz", *b"PK\x05\x06\0\0", small, "1 E1002"),
        lie("sizes beyond the end", "t.npz", zip(&pair, |_| 1 << 30, 0), small, "1 E1002"),
        lie("sizes of 4 GiB", "t.npz", zip(&pair, |_| u32::MAX, 0), small, "1 E1002"),
        lie("packed", "t.npz", zip(&pair, |size| size as u32, 8), small, "1 E1002"),
        lie("no arrays", "t.npz", right(&[]), small, "1 E1002"),
        lie("a row outside", "t.npz", right(&listed([2, 2], &[2], &[0])), small, "1 E1002"),
        lie("a row below 0", "t.npz", right(&listed([2, 2], &[-1], &[0])), small, "1 E1002"),
        lie("a place twice", "t.npz", right(&listed([2, 2], &[1, 1], &[1, 1])), small, "1 E1002"),
        lie("more rows than columns", "t.npz", right(&listed([2, 2], &[0, 1], &[1])), small, "1 E1002"),
        lie(
            "places that wrap",
            "t.npz",
            right(&listed([1 << 40, 1 << 40], &[1 << 39], &[5])),
            vast,
            "1 E1002",
        ),
        lie("rows that wrap", "t.npz", right(&by_rows([16, 1 << 61], &starts, &[5])), wide, "1 E1002"),
        lie(
            "rows that begin beyond the end",
            "t.npz",
            right(&by_rows([2, 2], &[0, 9, 9], &[0])),
            small,
            "1 E1002",
        ),
        lie("rows that go back", "t.npz", right(&by_rows([2, 2], &[0, 1, 0], &[0])), small, "1 E1002"),
        lie("a column outside", "t.npz", right(&by_rows([2, 2], &[0, 1, 1], &[7])), small, "1 E1002"),
    ];
    let format = " format sparse_list(sparse_list(element(0.0)))";
    all(&cases, cases.len(), |case| run(case, format));
}

#[test]
fn hostile_raw_files() {
    let cases = [
        lie("too short", "t.raw", [0; 15], "f32[x: 4]", "1 E1002"),
        lie("too long", "t.raw", [0; 17], "f32[x: 4]", "1 E1002"),
        lie("bools that are neither", "t.raw", [0, 7, 255], "bool[x: 3]", "0 [false true true]"),
        lie("nothing of nothing", "t.raw", [], "f64[x: 0]", "0 []"),
        lie("exabytes", "t.raw", [0; 16], "f64[x: 4611686018427387902]", "1 E100"),
        lie("sizes whose product wraps", "t.raw", [0; 16], "u8[y: 4294967296, x: 4294967296]", "1 E100"),
        lie("a kind that is not read", "t.csv", *b"1,2\n", "f32[x: 2]", "1 E"),
        lie("no kind", "t.exe", [0; 16], "f32[x: 4]", "1 E"),
        lie("bounds that are not enforced", "t.raw", [0; 16], "f32[x: 0..4*]", "1 E0502"),
    ];
    check(&cases);
}

fn check(cases: &[Lie]) {
    all(cases, cases.len(), |case| run(case, ""));
}

fn run(case: &Lie, format: &str) -> String {
    let Lie { name, file, declares, outcome, .. } = case;
    let rank = declares.matches(':').count();
    let labels =
        declares.split(['[', ',']).skip(1).map(|dim| dim.split(':').next().unwrap_or_default().trim());
    let labels: Vec<&str> = labels.collect();
    let script = format!(
        "input t: {declares}{format} from \"{file}\"\ntensor a: {declares} = t[{}]\n",
        labels.join(", ")
    );
    let folder = Folder::with("script.itp", &script);
    folder.write(file, &case.bytes);
    let all = vec![":"; rank].join(",");
    let steps = [format!("run --read a[{all}] => {outcome}"), format!("run --read t[{all}] => {outcome}")];
    wrongs(&format!("{file}, {name}"), &folder, &steps.map(|line| step(&line)))
}
