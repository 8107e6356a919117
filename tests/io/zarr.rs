//! Zarr arrays: those of zarr-python and TensorStore are read, ours are read back, lying ones are refused.

use crate::Folder;
use itp::graph::types::Element;
use itp::graph::{FileKind, OutputOptions};
use itp::io::zarr::ZarrArray;
use itp::io::{Array, Expect, Place, Writer, read};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/io/zarr").join(format!("{name}.zarr"))
}

/// What the fixtures hold: see tests/io/make_zarr.py.
fn values() -> Vec<u16> {
    (0..35).map(|at| (at * 37 + 11) % 251 * 200).collect()
}

#[test]
fn arrays_of_other_programs_are_read() {
    let expect = Expect { element: Element::U16, shape: &[5, 7] };
    let bytes: Vec<u8> = values().iter().flat_map(|value| value.to_le_bytes()).collect();
    for name in [
        "default",
        "gzip",
        "plain",
        "checked",
        "big_endian",
        "transposed",
        "sharded",
        "dotted",
        "tensorstore",
    ] {
        let array = read(&fixture(name), &expect).unwrap_or_else(|error| panic!("{name}: {}", error.message));
        assert_eq!(array.data, bytes, "{name}");
    }
    let bools = read(&fixture("bools"), &Expect { element: Element::Bool, shape: &[5, 7] }).unwrap();
    assert_eq!(bools.data, values().iter().map(|value| u8::from(value % 3 == 0)).collect::<Vec<_>>());
    let floats = read(&fixture("floats"), &Expect { element: Element::F32, shape: &[5, 7] }).unwrap();
    assert_eq!(floats.data[4..8], (values()[1] as f32 / 7.0).to_le_bytes());
    let unwritten = read(&fixture("unwritten"), &Expect { element: Element::I32, shape: &[5, 7] }).unwrap();
    assert_eq!(unwritten.data, (-7i32).to_le_bytes().repeat(35));
    let scalar = read(&fixture("scalar"), &Expect { element: Element::F64, shape: &[] }).unwrap();
    assert_eq!(scalar.data, 2.5f64.to_le_bytes());
}

/// A chunk as it is and decoded, and of a shard the index: four places and a checksum.
#[test]
fn what_is_read_at_once_is_told() {
    for (name, bytes) in [("default", 24), ("sharded", 24 + 4 * 16 + 4), ("tensorstore", 24 + 4 * 16 + 4)] {
        assert_eq!(ZarrArray::open(&fixture(name)).unwrap().chunk_bytes(), bytes, "{name}");
    }
}

#[test]
fn any_box_is_read() {
    for name in ["default", "transposed", "sharded", "tensorstore"] {
        let array = ZarrArray::open(&fixture(name)).unwrap();
        let whole = values();
        for (y, x) in [(0..5, 0..7), (1..4, 2..6), (4..5, 6..7), (3..3, 0..7), (0..1, 0..7)] {
            let interval =
                |range: &std::ops::Range<i64>| itp::index::Interval::new(range.start, range.end).unwrap();
            let data = array.read_box(&[interval(&y), interval(&x)]).unwrap();
            let expect: Vec<u8> = y
                .clone()
                .flat_map(|y| x.clone().map(move |x| (y * 7 + x) as usize))
                .flat_map(|at| whole[at].to_le_bytes())
                .collect();
            assert_eq!(data, expect, "{name} {y:?} {x:?}");
        }
    }
}

#[test]
fn what_is_no_array_says_so() {
    let check = |name: &str, expect: &str| {
        let error = read(&fixture(name), &Expect { element: Element::U16, shape: &[5, 7] }).unwrap_err();
        assert!(error.message.contains(expect), "{name}: {}", error.message);
    };
    check("group", "is a zarr group, not an array");
    check("version2", "is a zarr array of version 2");
    check("nowhere", "cannot be read: ");
    check("floats", "holds f32[5, 7], but the declaration says u16[5, 7]");
}

/// A copy of a fixture whose `zarr.json` was changed.
fn changed(folder: &Folder, name: &str, change: impl Fn(&mut Value)) -> PathBuf {
    let path = folder.path("changed.zarr");
    let _ = fs::remove_dir_all(&path);
    copy(&fixture(name), &path);
    let text = fs::read_to_string(path.join("zarr.json")).unwrap();
    let mut json: Value = serde_json::from_str(&text).unwrap();
    change(&mut json);
    fs::write(path.join("zarr.json"), json.to_string()).unwrap();
    path
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target)
        } else {
            _ = fs::copy(entry.path(), target).unwrap()
        }
    }
}

#[test]
fn metadata_that_lies_is_refused() {
    let folder = Folder::new();
    let check = |name: &str, expect: &str, change: &dyn Fn(&mut Value)| {
        let path = changed(&folder, name, change);
        let error = ZarrArray::open(&path).and_then(|array| array.read()).unwrap_err();
        assert!(error.message.contains(expect), "{expect}: {}", error.message);
    };
    let chunk = |json: &mut Value, shape: Value| json["chunk_grid"]["configuration"]["chunk_shape"] = shape;
    check("default", "has the shape [-1,7]", &|json| json["shape"] = json!([-1, 7]));
    check("default", "cannot have the shape", &|json| json["shape"] = json!([1i64 << 61, 1i64 << 61]));
    check("default", "has the shape \"big\"", &|json| json["shape"] = json!("big"));
    check("default", "more than there is", &|json| json["shape"] = json!([1i64 << 40, 1 << 20]));
    check("default", "has the chunk_shape [0,3]", &|json| chunk(json, json!([0, 3])));
    check("default", "but chunks of the shape", &|json| chunk(json, json!([2])));
    check("default", "which is read at once", &|json| chunk(json, json!([1 << 20, 1 << 20])));
    check("default", "instead of", &|json| chunk(json, json!([2, 4])));
    check("plain", "instead of", &|json| chunk(json, json!([2, 2])));
    check("default", "more than the", &|json| chunk(json, json!([2, 2])));
    check("default", "elements of the type \"complex64\"", &|json| json["data_type"] = json!("complex64"));
    check("default", "fill value 70000", &|json| json["fill_value"] = json!(70000));
    check("default", "without `codecs`", &|json| _ = json.as_object_mut().unwrap().remove("codecs"));
    check("default", "with `surprise`", &|json| json["surprise"] = json!({"must_understand": true}));
    check("default", "the codec `\"lz4\"`", &|json| json["codecs"][1]["name"] = json!("lz4"));
    check("default", "has a chunk", &|json| json["codecs"][1]["name"] = json!("blosc"));
    check("default", "make no bytes", &|json| json["codecs"] = json!([]));
    check("default", "chunk grid `rectilinear`", &|json| json["chunk_grid"]["name"] = json!("rectilinear"));
    check("transposed", "the transposition [1, 1]", &|json| {
        json["codecs"][0]["configuration"]["order"] = json!([1, 1])
    });
    check("sharded", "do not divide", &|json| {
        json["codecs"][0]["configuration"]["chunk_shape"] = json!([3, 3])
    });
    check("sharded", "fewer than its index", &|json| chunk(json, json!([400, 600])));
    check("sharded", "too many to list", &|json| {
        chunk(json, json!([1i64 << 30, 3 << 10]));
        json["codecs"][0]["configuration"]["chunk_shape"] = json!([1, 3]);
    });
    let mut deep = json!([{"name": "bytes"}]);
    for _ in 0..8 {
        let index = json!([{"name": "bytes"}]);
        deep = json!([{"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 3], "codecs": deep, "index_codecs": index}}]);
    }
    check("default", "the codec `\"sharding_indexed\"`", &|json| json["codecs"] = deep.clone());
    let path = changed(&folder, "default", |_| {});
    fs::write(path.join("zarr.json"), "[".repeat(100_000)).unwrap();
    assert!(ZarrArray::open(&path).unwrap_err().message.contains("is no JSON"));
}

#[test]
fn chunks_that_are_cut_or_changed_are_told() {
    let folder = Folder::new();
    for (name, chunk) in [
        ("default", "c/1/1"),
        ("plain", "c/1/1"),
        ("checked", "c/0/0"),
        ("sharded", "c/0/0"),
        ("tensorstore", "c/0/0"),
    ] {
        let path = changed(&folder, name, |_| {});
        let file = path.join(chunk);
        let bytes = fs::read(&file).unwrap();
        for len in [0, 1, bytes.len() / 2, bytes.len() - 1] {
            fs::write(&file, &bytes[..len]).unwrap();
            let error = ZarrArray::open(&path).unwrap().read().unwrap_err();
            assert!(error.message.contains("changed.zarr"), "{name} {len}: {}", error.message);
        }
        // Anything but a crash: without a checksum a changed chunk may be taken for another.
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x40;
            fs::write(&file, flipped).unwrap();
            let read = ZarrArray::open(&path).unwrap().read();
            assert!(name != "checked" || read.is_err(), "{name} {at}");
        }
    }
}

#[test]
fn outputs_are_read_back() {
    let folder = Folder::new();
    let check = |element: Element, shape: &[i64], options: &OutputOptions| {
        let path = folder.path("out.zarr");
        let count: i64 = shape.iter().product();
        let data: Vec<u8> = (0..count * element.bytes() as i64)
            .map(|at| if element == Element::Bool { (at % 2) as u8 } else { (at % 251) as u8 })
            .collect();
        let place = Place { origin: vec![-3; shape.len()], labels: vec![String::new(); shape.len()] };
        let mut writer = Writer::create_at(&path, FileKind::Zarr, element, shape, options, &place).unwrap();
        data.chunks(7 * element.bytes() as usize).for_each(|part| writer.write(part).unwrap());
        writer.finish().unwrap();
        let json: Value = serde_json::from_slice(&fs::read(path.join("zarr.json")).unwrap()).unwrap();
        assert_eq!(json["attributes"]["itp"]["origin"], json!(place.origin));
        let array = read(&path, &Expect { element, shape }).unwrap();
        assert_eq!(array, Array { element, shape: shape.to_vec(), data });
        assert_eq!(folder.files(), ["out.zarr"]);
    };
    for element in Element::ALL {
        check(element, &[5, 7], &OutputOptions { chunk: Some(vec![2, 3]), ..OutputOptions::default() });
    }
    for codec in ["none", "gzip", "zstd"] {
        let options = OutputOptions { codec: Some((codec.into(), Some(2))), ..OutputOptions::default() };
        check(Element::U16, &[4, 600, 5], &options);
    }
    check(Element::F32, &[], &OutputOptions::default());
    check(Element::F32, &[0, 4], &OutputOptions::default());
    check(Element::U8, &[300_000], &OutputOptions::default());
}

#[test]
fn only_arrays_are_replaced() {
    let folder = Folder::new();
    let attempt = |name: &str| {
        let options = OutputOptions::default();
        let writer = Writer::create(&folder.path(name), FileKind::Zarr, Element::U8, &[2], &options);
        writer.map(drop).map_err(|error| error.message)
    };
    fs::create_dir(folder.path("mine.zarr")).unwrap();
    fs::write(folder.path("mine.zarr").join("thesis.txt"), "years").unwrap();
    assert!(attempt("mine.zarr").unwrap_err().contains("is a folder that is no zarr array"));
    fs::write(folder.path("file.zarr"), "a file").unwrap();
    assert!(attempt("file.zarr").unwrap_err().contains("is a file, so no zarr array"));
    assert!(attempt("no/where.zarr").unwrap_err().contains("there is no folder"));
    assert!(attempt("new.zarr").is_ok());
    assert_eq!(folder.files(), ["file.zarr", "mine.zarr"]);
}
