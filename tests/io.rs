//! Files of other programs read, our own read back, hostile ones refused, and no output lost.

#![allow(clippy::unwrap_used, missing_docs)] // helpers of a test: a panic is its failure

#[cfg(feature = "zarr")]
#[path = "io/zarr.rs"]
mod zarr;

use itp::graph::types::Element;
use itp::graph::{FileKind, OutputOptions};
use itp::io::{Array, Expect, IoError, Writer, describe, read};
use proptest::prelude::*;
use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// An empty folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let name = format!("io-{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> =
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

/// The elements of every fixture: see tests/io/make.py.
fn pattern(element: Element, count: i64) -> Vec<u8> {
    let value = |i: i64| (i * 37 + 11) % 251;
    let float = |i: i64| (value(i) - 125) as f32 / 8.0;
    let scale = match element.bytes() {
        1 => 1,
        2 => 200,
        _ => 1_000_003,
    };
    let one = |i: i64| -> Vec<u8> {
        match element {
            Element::Bool => vec![(value(i) % 2) as u8],
            Element::F16 => small_float(float(i)).to_le_bytes().to_vec(),
            Element::F32 => float(i).to_le_bytes().to_vec(),
            Element::F64 => f64::from(float(i)).to_le_bytes().to_vec(),
            _ => {
                let value = if element.is_signed() { value(i) - 125 } else { value(i) } * scale;
                value.to_le_bytes()[..element.bytes() as usize].to_vec()
            }
        }
    };
    (0..count).flat_map(one).collect()
}

/// An f32 that is a normal f16 exactly, or zero.
fn small_float(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    if value == 0.0 { sign } else { sign | ((bits & 0x7fff_ffff) >> 13).wrapping_sub(112 << 10) as u16 }
}

fn array(element: Element, shape: &[i64]) -> Array {
    Array { element, shape: shape.to_vec(), data: pattern(element, shape.iter().product()) }
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/io").join(name)
}

/// Name, element type and shape of every fixture that holds the pattern as it is.
fn fixtures() -> Vec<(String, Element, Vec<i64>)> {
    let numpy = ["b1", "u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"];
    let mut all = Vec::new();
    for (name, element) in numpy.into_iter().zip(Element::ALL) {
        all.push((format!("{name}.npy"), element, vec![3, 5]));
        if element != Element::Bool {
            all.push((format!("{name}.tif"), element, vec![5, 7]));
        }
    }
    let special: [(&str, Element, &[i64]); 27] = [
        ("scalar.npy", Element::F64, &[]),
        ("empty.npy", Element::F32, &[0, 7]),
        ("big.npy", Element::F32, &[2, 3, 4]),
        ("fortran.npy", Element::I32, &[2, 3, 4]),
        ("big_fortran.npy", Element::U16, &[4, 3]),
        ("version2.npy", Element::I16, &[6]),
        ("version3.npy", Element::I16, &[6]),
        ("grey8.png", Element::U8, &[5, 7]),
        ("grey16.png", Element::U16, &[5, 7]),
        ("grey_alpha.png", Element::U8, &[5, 7, 2]),
        ("rgb.png", Element::U8, &[5, 7, 3]),
        ("rgba.png", Element::U8, &[5, 7, 4]),
        ("rgb16.png", Element::U16, &[5, 7, 3]),
        ("interlaced.png", Element::U16, &[5, 7]),
        ("rgb_lzw.tif", Element::U16, &[9, 7, 3]),
        ("rgba_deflate.tif", Element::U8, &[5, 7, 4]),
        ("planar.tif", Element::U8, &[3, 5, 7]),
        ("float_predictor.tif", Element::F32, &[5, 7]),
        ("double_predictor.tif", Element::F64, &[20, 18]),
        ("tiles_big_endian.tif", Element::I32, &[20, 18]),
        ("bigtiff.tif", Element::F64, &[5, 7]),
        ("bigtiff_big_endian.tif", Element::U16, &[5, 7]),
        ("white_is_zero.tif", Element::U16, &[5, 7]),
        ("many_codes.tif", Element::U16, &[64, 40]),
        ("two_pages.tif", Element::U8, &[5, 7]),
        ("pillow_lzw.tif", Element::U8, &[5, 7, 3]),
        ("pillow_deflate.tif", Element::U8, &[5, 7]),
    ];
    all.extend(special.map(|(name, element, shape)| (name.to_owned(), element, shape.to_vec())));
    all
}

#[test]
fn files_of_other_programs() {
    for (name, element, shape) in fixtures() {
        let found = read(&fixture(&name), &Expect { element, shape: &shape });
        assert_eq!(found, Ok(array(element, &shape)), "{name}");
        let described = describe(&fixture(&name)).unwrap();
        let last = if name == "planar.tif" { vec![5, 7, 3] } else { shape };
        assert_eq!(described, (element, last), "{name}");
    }
}

#[test]
fn palettes_and_few_bits_are_expanded() {
    let indices = pattern(Element::U8, 35);
    let colour = |k: &u8| [*k, 255 - k, (u32::from(*k) * 3 % 256) as u8];
    let rgb: Vec<u8> = indices.iter().flat_map(colour).collect();
    let rgba: Vec<u8> = indices.iter().flat_map(|k| [colour(k).as_slice(), &[255 - k]].concat()).collect();
    let bits: Vec<u8> = pattern(Element::Bool, 35).iter().map(|bit| bit * 255).collect();
    let pixels =
        |name, shape: &[i64]| read(&fixture(name), &Expect { element: Element::U8, shape }).unwrap().data;
    assert_eq!(pixels("palette.png", &[5, 7, 3]), rgb);
    assert_eq!(pixels("palette_alpha.png", &[5, 7, 4]), rgba);
    assert_eq!(pixels("one_bit.png", &[5, 7]), bits);
}

#[test]
fn channels_may_be_declared_first() {
    for (name, element, shape) in [
        ("rgb.png", Element::U8, [5, 7, 3]),
        ("rgb16.png", Element::U16, [5, 7, 3]),
        ("rgb_lzw.tif", Element::U16, [9, 7, 3]),
    ] {
        let [height, width, channels] = shape;
        let planar = read(&fixture(name), &Expect { element, shape: &[channels, height, width] }).unwrap();
        let size = element.bytes() as usize;
        let chunky = pattern(element, height * width * channels);
        let expect: Vec<u8> = (0..channels as usize)
            .flat_map(|c| chunky.chunks_exact(size).skip(c).step_by(channels as usize).flatten().copied())
            .collect();
        assert_eq!(planar.data, expect, "{name}");
    }
    let chunky = read(&fixture("planar.tif"), &Expect { element: Element::U8, shape: &[5, 7, 3] }).unwrap();
    let planes = pattern(Element::U8, 105);
    assert!((0..105).all(|i| chunky.data[i] == planes[i % 3 * 35 + i / 3]));
}

#[track_caller]
fn check_error<T: std::fmt::Debug>(result: Result<T, IoError>, message: &str, help: Option<&str>) {
    let error = result.unwrap_err();
    let text = error.message.split_once("` ").map_or(error.message.as_str(), |(_, predicate)| predicate);
    assert_eq!((text, error.help.as_deref()), (message, help));
}

#[test]
fn a_file_that_is_not_what_was_declared_shows_both() {
    let check = |name: &str, declared: (Element, &[i64]), held: (Element, &[i64]), message: &str| {
        let error = read(&fixture(name), &Expect { element: declared.0, shape: declared.1 }).unwrap_err();
        assert_eq!(error.holds, Some((held.0, held.1.to_vec())));
        check_error::<()>(Err(error), message, None);
    };
    let held: (Element, &[i64]) = (Element::F32, &[3, 5]);
    let message = "holds f32[3, 5], but the declaration says f64[3, 5]";
    check("f4.npy", (Element::F64, &[3, 5]), held, message);
    let message = "holds f32[3, 5], but the declaration says f32[5, 3]";
    check("f4.npy", (Element::F32, &[5, 3]), held, message);
    for name in ["rgb.png", "pillow_lzw.tif"] {
        let message = "holds u8[5, 7, 3], but the declaration says u8[5, 7]";
        check(name, (Element::U8, &[5, 7]), (Element::U8, &[5, 7, 3]), message);
        let message = "holds u8[5, 7, 3], but the declaration says u8[4, 5, 7]";
        check(name, (Element::U8, &[4, 5, 7]), (Element::U8, &[3, 5, 7]), message);
    }
}

#[test]
fn inputs_that_cannot_be_read() {
    let folder = Folder::new();
    let expect = Expect { element: Element::U8, shape: &[4] };
    let attempt = |name: &str, content: &[u8]| {
        fs::write(folder.path(name), content).unwrap();
        read(&folder.path(name), &expect)
    };
    check_error(read(&folder.path("none.npy"), &expect), "cannot be read: there is no such file", None);
    check_error(attempt("a.npy", b"hello"), "is not a npy file", None);
    check_error(attempt("a.tif", b"hello"), "is not a tiff file", None);
    check_error(attempt("a.png", b""), "ends early", None);
    check_error(attempt("a.raw", b"hello"), "has 5 bytes, but the declaration says u8[4], which is 4", None);
    check_error(attempt("a.csv", b"1"), "is a csv file, and those are not read", Some("save it as `.npy`"));
    let endings = "give it an ending that says what it is: .npy, .png, .tif, .zarr or .raw";
    check_error(attempt("a.doc", b"1"), "has an ending that names no kind of file", Some(endings));
    fs::create_dir(folder.path("folder.npy")).unwrap();
    check_error(read(&folder.path("folder.npy"), &expect), "is a folder, not a file", None);
    check_error(read(Path::new("/dev/zero/x.npy"), &expect), "cannot be read: not a directory", None);
    check_error(
        describe(&folder.path("a.raw")),
        "has no header that says what it holds",
        Some("declare its type and shape"),
    );
}

fn write(path: &Path, array: &Array, options: &OutputOptions) -> Result<(), IoError> {
    let kind = FileKind::of(path.to_str().unwrap()).unwrap();
    let mut writer = Writer::create(path, kind, array.element, &array.shape, options)?;
    writer.write(&array.data)?;
    writer.finish()
}

#[test]
fn every_kind_and_element_comes_back() {
    let folder = Folder::new();
    let numbers: [&[i64]; 5] = [&[], &[7], &[0, 3], &[3, 5], &[2, 3, 4, 5]];
    let images: [&[i64]; 5] = [&[1, 1], &[5, 7], &[3, 5, 7], &[5, 7, 4], &[3, 3, 3]];
    for element in Element::ALL {
        let image = element != Element::Bool;
        let png = matches!(element, Element::U8 | Element::U16);
        for (name, shapes) in [("a.npy", numbers), ("a.raw", numbers), ("a.tif", images), ("a.png", images)] {
            if (name == "a.tif" && !image) || (name == "a.png" && !png) {
                continue;
            }
            for shape in shapes {
                let array = array(element, shape);
                write(&folder.path(name), &array, &OutputOptions::default()).unwrap();
                let found = read(&folder.path(name), &Expect { element, shape });
                assert_eq!(found.as_ref(), Ok(&array), "{name} {element}{shape:?}");
            }
        }
    }
    assert_eq!(folder.files(), ["a.npy", "a.png", "a.raw", "a.tif"]);
}

#[test]
fn npz_is_a_zip_of_the_npy_file() {
    let folder = Folder::new();
    let array = array(Element::I16, &[300, 400]);
    write(&folder.path("a.npz"), &array, &OutputOptions::default()).unwrap();
    write(&folder.path("a.npy"), &array, &OutputOptions::default()).unwrap();
    let (zip, npy) = (fs::read(folder.path("a.npz")).unwrap(), fs::read(folder.path("a.npy")).unwrap());
    let start = 30 + "arr_0.npy".len();
    assert_eq!(&zip[..4], b"PK\x03\x04");
    assert_eq!(&zip[start..][..npy.len()], npy);
    let mut crc = flate2::Crc::new();
    crc.update(&npy);
    assert_eq!(zip[14..18], crc.sum().to_le_bytes());
    let directory = start + npy.len();
    assert_eq!(&zip[directory..][..4], b"PK\x01\x02");
    assert_eq!(zip[directory + 16..][..4], crc.sum().to_le_bytes());
    assert_eq!(zip[zip.len() - 6..][..4], (directory as u32).to_le_bytes());
}

#[track_caller]
fn check_csv(array: &Array, expect: &str) {
    let folder = Folder::new();
    write(&folder.path("a.csv"), array, &OutputOptions::default()).unwrap();
    assert_eq!(fs::read_to_string(folder.path("a.csv")).unwrap(), expect);
}

#[test]
fn csv_has_a_line_per_row() {
    check_csv(&array(Element::U8, &[2, 3]), "11,48,85\n122,159,196\n");
    check_csv(&array(Element::I8, &[3]), "-114\n-77\n-40\n");
    check_csv(&array(Element::F32, &[]), "-14.25\n");
    check_csv(&array(Element::U8, &[2, 2, 2]), "11,48\n85,122\n\n159,196\n233,19\n");
    check_csv(&array(Element::U8, &[0, 4]), "");
    let data = [f32::NAN, f32::INFINITY, -0.0, 1e10, 0.1, 16_777_216.0].map(f32::to_le_bytes).concat();
    let odd = Array { element: Element::F32, shape: vec![1, 6], data };
    check_csv(&odd, "nan,inf,-0.0,10000000000.0,0.1,16777216.0\n");
}

fn floats(shape: &[i64], values: &[f32]) -> Array {
    Array {
        element: Element::F32,
        shape: shape.to_vec(),
        data: values.iter().flat_map(|v| v.to_le_bytes()).collect(),
    }
}

/// Writes an image and reads its pixels.
fn pixels(array: &Array, options: &OutputOptions, element: Element, shape: &[i64]) -> Vec<u8> {
    let folder = Folder::new();
    let mut data = Vec::new();
    for name in ["a.png", "a.tif"] {
        // Both kinds follow the same rules once the type of the pixels is said.
        let wanted = if options.colormap.is_some() { None } else { Some(element) };
        let options = OutputOptions { element: wanted, ..options.clone() };
        write(&folder.path(name), array, &options).unwrap();
        let found = read(&folder.path(name), &Expect { element, shape }).unwrap().data;
        assert!(data.is_empty() || data == found, "png and tiff differ");
        data = found;
    }
    data
}

#[test]
fn float_images_use_the_range_of_all_data() {
    let none = OutputOptions::default();
    let grey = floats(&[2, 3], &[-1.0, 0.0, 3.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY]);
    assert_eq!(pixels(&grey, &none, Element::U8, &[2, 3]), [0, 64, 255, 0, 255, 0]);
    let wide: Vec<u16> = vec![0, 16384, 65535, 0, 65535, 0];
    let wide: Vec<u8> = wide.into_iter().flat_map(u16::to_le_bytes).collect();
    assert_eq!(pixels(&grey, &none, Element::U16, &[2, 3]), wide);
    let range = OutputOptions { range: Some((0.0, 2.0)), ..OutputOptions::default() };
    assert_eq!(pixels(&grey, &range, Element::U8, &[2, 3]), [0, 0, 255, 0, 255, 0]);
    let flat = floats(&[1, 2], &[4.0, 4.0]);
    assert_eq!(pixels(&flat, &none, Element::U8, &[1, 2]), [0, 0]);
    let nothing = floats(&[1, 2], &[f32::NAN, f32::INFINITY]);
    assert_eq!(pixels(&nothing, &none, Element::U8, &[1, 2]), [0, 0]);
}

#[test]
fn planes_and_pixels_make_the_same_colours() {
    let none = OutputOptions::default();
    let chunky = floats(&[1, 2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let planar = floats(&[3, 1, 2], &[0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
    let expect = [0, 51, 102, 153, 204, 255];
    assert_eq!(pixels(&chunky, &none, Element::U8, &[1, 2, 3]), expect);
    assert_eq!(pixels(&planar, &none, Element::U8, &[1, 2, 3]), expect);
}

#[test]
fn colour_maps_paint_from_low_to_high() {
    let map = |name: &str| OutputOptions { colormap: Some(name.into()), ..OutputOptions::default() };
    let ramp = floats(&[1, 3], &[10.0, 15.0, 20.0]);
    assert_eq!(pixels(&ramp, &map("gray"), Element::U8, &[1, 3, 3]), [0, 0, 0, 128, 128, 128, 255, 255, 255]);
    assert_eq!(pixels(&ramp, &map("viridis"), Element::U8, &[1, 3, 3])[6..], [0xfd, 0xe7, 0x25]);
    // u8 is unscaled: the value is the number of the colour.
    let bytes = Array { element: Element::U8, shape: vec![1, 2], data: vec![100, 101] };
    assert_eq!(pixels(&bytes, &map("grey"), Element::U8, &[1, 2, 3]), [100, 100, 100, 101, 101, 101]);
    let folder = Folder::new();
    let colour = array(Element::F32, &[3, 4, 5]);
    assert!(write(&folder.path("a.png"), &colour, &map("heat")).is_err());
    assert!(write(&folder.path("a.png"), &array(Element::F32, &[4, 5]), &map("plaid")).is_err());
    assert!(folder.files().is_empty());
}

#[test]
fn type_casts_numbers() {
    let folder = Folder::new();
    let options = OutputOptions { element: Some(Element::U8), ..OutputOptions::default() };
    let source = floats(&[4], &[-3.0, 2.9, 300.0, f32::NAN]);
    for name in ["a.npy", "a.raw"] {
        write(&folder.path(name), &source, &options).unwrap();
        let found = read(&folder.path(name), &Expect { element: Element::U8, shape: &[4] }).unwrap();
        assert_eq!(found.data, [0, 2, 255, 0], "{name}");
    }
    write(&folder.path("a.csv"), &source, &options).unwrap();
    assert_eq!(fs::read_to_string(folder.path("a.csv")).unwrap(), "0\n2\n255\n0\n");
}

// Hostile files.

/// Reads and describes, whatever comes of it, in no time.
fn survive(path: &Path, element: Element, shape: &[i64]) -> Option<Array> {
    let start = Instant::now();
    let _ = describe(path);
    let found = read(path, &Expect { element, shape });
    assert!(start.elapsed() < Duration::from_secs(1), "{} took {:?}", path.display(), start.elapsed());
    if let Err(error) = &found {
        assert!(!error.message.contains('\n') && error.message.starts_with('`'), "{error:?}");
    }
    found.ok()
}

#[test]
fn truncated_files_are_refused_at_every_length() {
    let folder = Folder::new();
    for (name, element, shape) in fixtures() {
        let path = folder.path(&name);
        let whole = fs::copy(fixture(&name), &path).unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        for length in (0..whole).rev() {
            file.set_len(length).unwrap();
            // A TIFF may end in bytes that the first image does not need.
            let found = survive(&path, element, &shape);
            let whole = found.is_none_or(|found| name.ends_with(".tif") && found == array(element, &shape));
            assert!(whole, "{name} cut to {length} bytes");
        }
    }
}

#[test]
fn a_wrong_byte_anywhere_is_survived() {
    let folder = Folder::new();
    for (name, element, shape) in fixtures() {
        let bytes = fs::read(fixture(&name)).unwrap();
        let path = folder.path(&name);
        fs::write(&path, &bytes).unwrap();
        let mut file = OpenOptions::new().write(true).open(&path).unwrap();
        let mut put = |at: usize, byte: u8| {
            file.seek(SeekFrom::Start(at as u64)).unwrap();
            file.write_all(&[byte]).unwrap();
        };
        for (at, byte) in bytes.iter().enumerate() {
            for change in [0x01, 0xff] {
                put(at, byte ^ change);
                let found = survive(&path, element, &shape);
                // Checksums make a PNG whole or wrong.
                let right =
                    found.is_none_or(|found| !name.ends_with(".png") || found == array(element, &shape));
                assert!(right, "{name} with a wrong byte {at}");
            }
            put(at, *byte);
        }
    }
}

fn png_chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut crc = flate2::Crc::new();
    crc.update(kind);
    crc.update(data);
    [&(data.len() as u32).to_be_bytes()[..], kind, data, &crc.sum().to_be_bytes()].concat()
}

fn png_file(width: u32, height: u32, packed: &[u8]) -> Vec<u8> {
    let head = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 0, 0, 0, 0]].concat();
    let chunks = [png_chunk(b"IHDR", &head), png_chunk(b"IDAT", packed), png_chunk(b"IEND", &[])].concat();
    [b"\x89PNG\r\n\x1a\n", chunks.as_slice()].concat()
}

#[test]
fn bombs_are_refused_before_they_cost_anything() {
    let folder = Folder::new();
    let attempt = |name: &str, content: &[u8], element, shape: &[i64]| {
        fs::write(folder.path(name), content).unwrap();
        let start = Instant::now();
        let error = read(&folder.path(name), &Expect { element, shape }).unwrap_err();
        assert!(start.elapsed() < Duration::from_secs(1));
        error.message.split_once("` ").unwrap().1.to_owned()
    };
    let side = i64::from(i32::MAX);
    let png = png_file(i32::MAX as u32, i32::MAX as u32, &[]);
    let message = attempt("a.png", &png, Element::U8, &[side, side]);
    assert_eq!(message, "says that it is 2147483647 × 2147483647 pixels, too many for a file of 57 bytes");

    let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}\n", 1u64 << 60);
    let head = [&b"\x93NUMPY\x01\x00"[..], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat();
    let message = attempt("a.npy", &head, Element::F32, &[1 << 60]);
    assert_eq!(message, "has a header that promises 4611686018427387904 bytes of elements, but 0 follow it");
    let message = attempt("a.npy", &head, Element::F32, &[1 << 62]);
    assert_eq!(message, format!("holds f32[{}], but the declaration says f32[{}]", 1u64 << 60, 1u64 << 62));
    let long = [&b"\x93NUMPY\x02\x00"[..], &u32::MAX.to_le_bytes(), b"{}"].concat();
    let message = attempt("a.npy", &long, Element::F32, &[1]);
    assert_eq!(message, "has a header of 4294967295 bytes, at most 65536 are allowed");

    write(&folder.path("a.tif"), &array(Element::U8, &[5, 7]), &OutputOptions::default()).unwrap();
    let mut tiff = fs::read(folder.path("a.tif")).unwrap();
    for (tag, value) in [(256u16, 60_000u32), (257, 60_000), (278, 60_000)] {
        let entry = tiff.chunks_exact(2).position(|pair| pair == tag.to_le_bytes()).unwrap() * 2;
        tiff[entry + 8..][..4].copy_from_slice(&value.to_le_bytes());
    }
    let message = attempt("a.tif", &tiff, Element::U8, &[60_000, 60_000]);
    assert!(message.starts_with("ends early: part 0 is 35 bytes"), "{message}");
    assert!(message.contains("must unpack to 3600000000"), "{message}");
}

#[test]
fn packed_data_that_is_too_short_is_an_error() {
    let folder = Folder::new();
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(&vec![0; 100_000]).unwrap();
    // A million pixels are plausible for this many bytes, but they are not there.
    let packed = [packer.finish().unwrap(), vec![0; 1000]].concat();
    fs::write(folder.path("a.png"), png_file(1000, 1000, &packed)).unwrap();
    assert!(survive(&folder.path("a.png"), Element::U8, &[1000, 1000]).is_none());
}

// Outputs.

#[test]
fn an_output_appears_whole_or_not_at_all() {
    let folder = Folder::new();
    for name in ["a.npy", "a.npz", "a.png", "a.tif", "a.raw", "a.csv"] {
        let path = folder.path(name);
        fs::write(&path, "old").unwrap();
        let source = array(Element::F32, &[4, 5]);
        let kind = FileKind::of(name).unwrap();
        let mut writer =
            Writer::create(&path, kind, source.element, &source.shape, &OutputOptions::default()).unwrap();
        writer.write(&source.data[..40]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old", "{name}");
        drop(writer);
        let mut writer =
            Writer::create(&path, kind, source.element, &source.shape, &OutputOptions::default()).unwrap();
        writer.write(&source.data[..40]).unwrap();
        let error = writer.finish().unwrap_err().message;
        assert!(error.ends_with("was given 40 bytes, but f32[4, 5] has 80"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"old", "{name}");
        assert_eq!(folder.files(), [name]);
        write(&path, &source, &OutputOptions::default()).unwrap();
        assert_ne!(fs::read(&path).unwrap(), b"old", "{name}");
        assert_eq!(folder.files(), [name]);
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn too_many_elements_are_refused() {
    let folder = Folder::new();
    let options = OutputOptions::default();
    let mut writer =
        Writer::create(&folder.path("a.npy"), FileKind::Npy, Element::F32, &[2], &options).unwrap();
    check_error(writer.write(&[0; 12]), "was given 12 bytes, but f32[2] has 8", None);
    check_error(writer.write(&[0; 3]), "was given 3 bytes, but f32[2] has 8", None);
    writer.write(&[0; 8]).unwrap();
    writer.finish().unwrap();
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = Folder::new();
    let source = array(Element::U8, &[2, 2]);
    let attempt = |name: &str| write(&folder.path(name), &source, &OutputOptions::default());
    fs::create_dir(folder.path("folder.npy")).unwrap();
    check_error(attempt("folder.npy"), "is a folder, so no file can be written there", None);
    let missing = folder.path("missing").display().to_string();
    check_error(
        attempt("missing/a.npy")
            .map_err(|error| IoError { message: error.message.replace(&missing, "missing"), ..error }),
        "cannot be written: there is no folder `missing`",
        Some(&format!("create `{missing}` first")),
    );
    fs::write(folder.path("locked.npy"), "old").unwrap();
    let mut permissions = fs::metadata(folder.path("locked.npy")).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(folder.path("locked.npy"), permissions).unwrap();
    check_error(attempt("locked.npy"), "is read-only, so it is not replaced", None);
    check_error(
        write(&folder.path("a.png"), &array(Element::U8, &[0, 2]), &OutputOptions::default()),
        "cannot be 0 × 2 pixels: a side has 1 to 2147483647",
        None,
    );
    assert_eq!(folder.files(), ["folder.npy", "locked.npy"]);
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_devices_left_alone() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new();
    let source = array(Element::U8, &[2, 2]);
    fs::write(folder.path("real.npy"), "old").unwrap();
    fs::set_permissions(folder.path("real.npy"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real.npy", folder.path("link.npy")).unwrap();
    write(&folder.path("link.npy"), &source, &OutputOptions::default()).unwrap();
    let expect = Expect { element: Element::U8, shape: &[2, 2] };
    assert_eq!(read(&folder.path("real.npy"), &expect), Ok(source.clone()));
    assert!(fs::symlink_metadata(folder.path("link.npy")).unwrap().is_symlink());
    assert_eq!(fs::metadata(folder.path("real.npy")).unwrap().permissions().mode() & 0o777, 0o640);
    let null =
        Writer::create(Path::new("/dev/null"), FileKind::Raw, Element::U8, &[1], &OutputOptions::default());
    check_error(null.map(|_| ()), "is not a regular file, so it is not replaced", None);
    symlink("/dev/zero", folder.path("zero.raw")).unwrap();
    check_error(read(&folder.path("zero.raw"), &expect), "is not a regular file", None);
}

// Properties.

fn any_element() -> impl Strategy<Value = Element> {
    prop::sample::select(Element::ALL.to_vec())
}

/// An array of any type and shape with any bits; bools are 0 or 1.
fn any_array() -> impl Strategy<Value = Array> {
    (any_element(), prop::collection::vec(0..5i64, 0..4)).prop_flat_map(|(element, shape)| {
        let size = shape.iter().product::<i64>() as usize * element.bytes() as usize;
        let byte = if element == Element::Bool { (0..2u8).boxed() } else { any::<u8>().boxed() };
        let data = prop::collection::vec(byte, size);
        data.prop_map(move |data| Array { element, shape: shape.clone(), data })
    })
}

fn any_image() -> impl Strategy<Value = Array> {
    let shape = prop_oneof![
        (1..6i64, 1..9i64).prop_map(|(y, x)| vec![y, x]),
        (3..5i64, 1..6i64, 1..9i64).prop_map(|(c, y, x)| vec![c, y, x]),
        (1..6i64, 1..9i64, 3..5i64).prop_map(|(y, x, c)| vec![y, x, c]),
    ];
    (any_element(), shape).prop_flat_map(|(element, shape)| {
        let size = shape.iter().product::<i64>() as usize * element.bytes() as usize;
        let byte = if element == Element::Bool { (0..2u8).boxed() } else { any::<u8>().boxed() };
        let data = prop::collection::vec(byte, size);
        data.prop_map(move |data| Array { element, shape: shape.clone(), data })
    })
}

/// Writes in portions that end after each of `cuts`, given as fractions.
fn write_in_portions(path: &Path, array: &Array, cuts: &[f64]) {
    let kind = FileKind::of(path.to_str().unwrap()).unwrap();
    let size = array.element.bytes() as usize;
    let mut ends: Vec<_> =
        cuts.iter().map(|cut| (cut * (array.data.len() / size) as f64) as usize * size).collect();
    ends.push(array.data.len());
    ends.sort_unstable();
    let mut writer =
        Writer::create(path, kind, array.element, &array.shape, &OutputOptions::default()).unwrap();
    let mut start = 0;
    for end in ends {
        writer.write(&array.data[start..end]).unwrap();
        start = end;
    }
    writer.finish().unwrap();
}

/// The pixel that the language defines for a value, in so many words.
fn expected_pixel(value: f64, lo: f64, hi: f64) -> u8 {
    if value.is_nan() || lo >= hi {
        return 0;
    }
    (((value.clamp(lo, hi) - lo) / (hi - lo)) * 255.0).round_ties_even() as u8
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn numbers_survive(array in any_array(), cuts in prop::collection::vec(0.0..1.0, 0..4)) {
        let folder = Folder::new();
        for name in ["a.npy", "a.raw"] {
            write_in_portions(&folder.path(name), &array, &cuts);
            let found = read(&folder.path(name), &Expect { element: array.element, shape: &array.shape });
            prop_assert_eq!(found.as_ref(), Ok(&array));
        }
    }

    #[test]
    fn images_survive(image in any_image(), cuts in prop::collection::vec(0.0..1.0, 0..4)) {
        let folder = Folder::new();
        let names: &[&str] = match image.element {
            Element::Bool => &[],
            Element::U8 | Element::U16 => &["a.tif", "a.png"],
            _ => &["a.tif"],
        };
        for name in names {
            write_in_portions(&folder.path(name), &image, &cuts);
            let expect = Expect { element: image.element, shape: &image.shape };
            // Where channels could be first or last, both directions take them as first.
            prop_assert_eq!(read(&folder.path(name), &expect), Ok(image.clone()));
        }
    }

    #[test]
    fn portions_do_not_matter(image in any_image(), cuts in prop::collection::vec(0.0..1.0, 0..4)) {
        let folder = Folder::new();
        for name in ["a.png", "a.tif", "a.npz", "a.csv"] {
            write_in_portions(&folder.path(name), &image, &cuts);
            let portions = fs::read(folder.path(name)).unwrap();
            write_in_portions(&folder.path(name), &image, &[]);
            prop_assert_eq!(portions, fs::read(folder.path(name)).unwrap());
        }
    }

    #[test]
    fn floats_scale_as_defined(
        values in prop::collection::vec(prop_oneof![any::<f32>(), -2.0..2.0f32], 1..40),
        range in prop::option::of((-3.0..3.0, -3.0..3.0)),
    ) {
        let image = floats(&[1, values.len() as i64], &values);
        let options = OutputOptions { range, ..OutputOptions::default() };
        let finite = || values.iter().copied().map(f64::from).filter(|value| value.is_finite());
        let (lo, hi) = range.unwrap_or((finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max)));
        let expect: Vec<u8> = values.iter().map(|value| expected_pixel((*value).into(), lo, hi)).collect();
        prop_assert_eq!(pixels(&image, &options, Element::U8, &image.shape), expect);
    }

    #[test]
    fn random_bytes_are_survived(
        kind in prop::sample::select(vec![("a.npy", &b"\x93NUMPY\x01\x00"[..]), ("a.png", b"\x89PNG\r\n\x1a\n"), ("a.tif", b"II\x2a\x00\x08\x00\x00\x00")]),
        rest in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let folder = Folder::new();
        let (name, start) = kind;
        fs::write(folder.path(name), [start, &rest].concat()).unwrap();
        survive(&folder.path(name), Element::U8, &[3, 3]);
    }
}
