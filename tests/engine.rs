//! The library as programs use it: compile, bind, read, write, register, cancel; every error says what and where.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use itp::Engine;
use itp::diagnostic::Code;
use itp::engine::{Cancel, Elem, Error, F16, Prepared};
use itp::graph::types::Element;
use itp::io::Array;
use itp::run::Kind;
use itp::run::job::{HostCall, HostFn, Trace};
use ndarray::{Array1, Array2, array};
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Asserts the code of an error, and parts of what it prints.
#[track_caller]
fn fails<T: Debug>(result: Result<T, Error>, code: Code, parts: &[&str]) {
    let error = result.expect_err("this is an error");
    let text = error.to_string();
    assert_eq!(error.code(), Some(code), "{text}");
    parts.iter().for_each(|part| assert!(text.contains(part), "no {part:?} in\n{text}"));
}

fn compiled(script: &str) -> Engine {
    Engine::compile(script).unwrap_or_else(|error| panic!("{error}"))
}

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("itp-engine-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.0.join(name), bytes).unwrap();
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn an_engine_can_be_shared() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Engine>();
    shared::<Error>();
    shared::<Cancel>();
    shared::<Prepared<'static>>();
    let engine = compiled("tensor a: i32[x: inf] = x * x");
    std::thread::scope(|scope| {
        for start in 0..4 {
            let engine = &engine;
            scope.spawn(move || {
                let read = engine.read::<i32>(&format!("a[{start}:{}]", start + 2)).unwrap();
                assert_eq!(read.as_slice(), Some(&[start * start, (start + 1) * (start + 1)][..]));
            });
        }
    });
}

#[test]
fn every_element_type_is_read_and_bound() {
    fn check<T: Elem + PartialEq + Debug>(values: [T; 3]) {
        let name = T::ELEMENT.name();
        let mut engine = compiled(&format!("input a: {name}[x: 3]  tensor b: {name}[x: 3] = a[2 - x]"));
        engine.bind("a", &Array1::from(values.to_vec())).unwrap();
        let turned = engine.read::<T>("b[0:3]").unwrap();
        assert_eq!(turned.as_slice(), Some(&[values[2], values[1], values[0]][..]), "{name}");
        let mut buffer = [T::default(); 2];
        engine.read_into("b[0:2]", &mut buffer).unwrap();
        assert_eq!(buffer, [values[2], values[1]], "{name}");
        assert_eq!(engine.read_array("b[1:2]").unwrap().element, T::ELEMENT);
    }
    check([true, false, false]);
    check([0u8, 7, 255]);
    check([0u16, 7, 65535]);
    check([0u32, 7, u32::MAX]);
    check([0u64, 7, u64::MAX]);
    check([i8::MIN, 7, -1]);
    check([i16::MIN, 7, -1]);
    check([i32::MIN, 7, -1]);
    check([i64::MIN, 7, -1]);
    check([F16::from(0.5), F16::from(-2.0), F16::from(1e9)]);
    check([0.5f32, -0.0, f32::INFINITY]);
    check([0.5f64, -0.0, f64::MIN_POSITIVE]);
}

#[test]
fn an_array_is_read_with_type_shape_and_bytes() {
    let engine = compiled("tensor a: u16[y: inf, x: inf] = 256 * y + x");
    let array = engine.read_array("a[y=1:2, x=2:4]").unwrap();
    assert_eq!(array, Array { element: Element::U16, shape: vec![1, 2], data: vec![2, 1, 3, 1] });
    assert_eq!(engine.read::<u16>("a[1, 2]").unwrap().shape(), &[] as &[usize]);
    assert_eq!(engine.read_array("a[1, 2:2]").unwrap().data, Vec::<u8>::new());
}

#[test]
fn parameters_are_set_and_checked() {
    let script = "param gain: f32 = 1  tensor a: f32[x: inf] = gain * x";
    let engine = Engine::builder().set("gain", 2.5).compile(script).unwrap();
    assert_eq!(engine.read::<f32>("a[2:3]").unwrap().as_slice(), Some(&[5.0][..]));
    fails(Engine::builder().set("gian", 1).compile(script), Code::E0209, &["gain"]);
}

#[test]
fn a_script_that_is_wrong_prints_as_on_the_command_line() {
    let error = Engine::compile("tensor a: f32[x: inf] = heigth[x]\n").expect_err("the name is unknown");
    let text = error.to_string();
    assert!(text.starts_with("error[E0201]: unknown name `heigth`\n --> script.itp:1:25"), "{text}");
    assert_eq!(error.diagnostics().len(), 1);
}

#[test]
fn warnings_are_kept() {
    let engine = compiled("tensor a: f32[x: inf] = x  tensor b: f32[x: inf] = x  output \"a.npy\" = a[0:1]");
    assert_eq!(engine.warnings().len(), 1);
}

#[test]
fn slices_that_are_wrong_say_where() {
    let engine = compiled("tensor a: f32[y: 8, x: inf] = x");
    fails(engine.read::<f32>("b[0]"), Code::E0201, &["unknown name `b`", "--> <slice>:1:1"]);
    fails(engine.read::<f32>("a[0:9, 0:1]"), Code::E0602, &["0..9 is outside 0..8"]);
    fails(engine.read::<f32>("a[0:1]"), Code::E0802, &["`x: inf`"]);
    fails(engine.read::<f32>("a[0:1"), Code::E0107, &["not closed"]);
}

#[test]
fn a_destination_must_fit() {
    let engine = compiled("tensor a: f32[x: inf] = x");
    fails(
        engine.read::<f64>("a[0:4]"),
        Code::E1007,
        &["`a` is f32, but f64 was asked for", "read it as f32"],
    );
    let small = engine.read_into("a[0:4]", &mut [0f32; 3]);
    fails(small, Code::E1007, &["`a` is f32[4], but the buffer has room for 3 elements"]);
    let huge = engine.read::<f32>("a[0:2000000000000000000]");
    fails(huge, Code::E1007, &["f32[2000000000000000000]", "does not fit into memory"]);
}

#[test]
fn inputs_must_be_there_and_fit() {
    let script = "input p: u8[y: 2, x: 3]  tensor a: u8[y: 2, x: 3] = p[y, x]  tensor free: u8[x: inf] = 1";
    let mut engine = compiled(script);
    fails(engine.read::<u8>("a[0:2, 0:3]"), Code::E1001, &["input `p` has no data", "--bind p=path"]);
    assert!(engine.read::<u8>("free[0:2]").is_ok(), "what is not needed may be missing");
    let parts = ["input `p`: u8[3, 2] was bound, but the declaration says u8[2, 3]", "script.itp:1:7"];
    fails(engine.bind("p", &Array2::<u8>::zeros((3, 2))), Code::E1002, &parts);
    fails(engine.bind("p", &Array2::<i8>::zeros((2, 3))), Code::E1002, &["i8[2, 3] was bound"]);
    fails(engine.bind("q", &Array2::<u8>::zeros((2, 3))), Code::E0201, &["no input `q`", "choose `p`"]);
    fails(engine.bind("a", &Array2::<u8>::zeros((2, 3))), Code::E0201, &["no input `a`"]);
    engine.bind("p", &array![[1u8, 2, 3], [4, 5, 6]].t().to_owned().t()).unwrap();
    assert_eq!(engine.read::<u8>("a[1, 0:3]").unwrap().as_slice(), Some(&[4, 5, 6][..]));
    engine.bind("p", &Array2::<u8>::ones((2, 3))).unwrap();
    assert_eq!(engine.read::<u8>("a[1, 0:3]").unwrap().as_slice(), Some(&[1, 1, 1][..]));
}

#[test]
fn inputs_start_at_the_lowest_corner_of_their_domain() {
    let mut engine = compiled("input p: i16[y: -1..1, x: 5..7]");
    engine.bind("p", &array![[1i16, 2], [3, 4]]).unwrap();
    assert_eq!(engine.read::<i16>("p[0:1, 5:7]").unwrap().as_slice(), Some(&[3, 4][..]));
}

#[test]
fn files_are_found_beside_the_script() {
    let folder = Folder::new();
    folder.write("data.raw", [1, 2, 3]);
    folder.write("other.raw", [7, 8, 9]);
    folder.write("lib.itp", "fn twice(x) = 2 * x\n");
    let script = "use \"lib.itp\"\ninput p: u8[x: 3] from \"data.raw\"\ntensor a: u8[x: 3] = twice(p[x])\n";
    let path = folder.write("main.itp", script);
    let mut engine = Engine::open(&path).unwrap();
    assert_eq!(engine.read::<u8>("a[0:3]").unwrap().as_slice(), Some(&[2, 4, 6][..]));
    engine.bind_file("p", folder.0.join("other.raw")).unwrap();
    assert_eq!(engine.read::<u8>("a[0:3]").unwrap().as_slice(), Some(&[14, 16, 18][..]));
    engine.bind_file("p", folder.0.join("none.raw")).unwrap();
    fails(engine.read::<u8>("a[0:3]"), Code::E1002, &["input `p`: ", "none.raw", "there is no such file"]);
    let text = Engine::builder().folder(&folder.0).compile(script).unwrap();
    assert_eq!(text.read::<u8>("a[0:3]").unwrap().as_slice(), Some(&[2, 4, 6][..]));
    fails(Engine::open(folder.0.join("mian.itp")), Code::E0001, &["main.itp"]);
    fails(Engine::compile(script), Code::E0203, &["cannot use `lib.itp`"]);
}

const TAKES: &str = r#"
tensor a: f32[y: inf, x: inf] = 10 * y + x
tensor b: i32[y: inf, x: inf]
    window [2, 2]
    take s = a window [2, 3] stride [2, 2]
= extern "made"(s)
"#;

#[test]
fn host_functions_make_windows() {
    let mut engine = compiled(TAKES);
    fails(
        engine.read::<i32>("b[0:2, 0:2]"),
        Code::E1003,
        &["`b` needs the host function `made`, which is not registered"],
    );
    let calls = Arc::new(Mutex::new(Vec::new()));
    let log = calls.clone();
    engine.register("made", move |call: &HostCall<'_>| {
        let take = call.take::<f32>(0)?;
        log.lock().unwrap().push((call.tensor.to_owned(), call.window.to_vec(), take[[0, 2]]));
        Ok(Array2::from_shape_fn((2, 2), |(y, x)| take[[y, x + 1]] as i32))
    });
    let read = engine.read::<i32>("b[1:3, 2:4]").unwrap();
    assert_eq!(read.as_slice(), Some(&[13, 14, 23, 24][..]));
    let mut calls = calls.lock().unwrap().clone();
    calls.sort_by(|a, b| a.1.cmp(&b.1));
    assert_eq!(calls, [("b".to_owned(), vec![0, 1], 4.0), ("b".to_owned(), vec![1, 1], 24.0)]);
}

#[test]
fn host_functions_that_are_wrong_are_told_with_both_shapes() {
    let mut engine = compiled(TAKES);
    engine.register("made", |_| Ok(Array2::<i32>::zeros((2, 3))));
    let parts = ["host function `made` gave i32[2, 3] for window [0, 1] of `b`, which is i32[2, 2]"];
    fails(engine.read::<i32>("b[0:2, 2:4]"), Code::E1004, &parts);
    engine.register("made", |_| Ok(Array2::<f32>::zeros((2, 2))));
    fails(engine.read::<i32>("b[0:1, 0:1]"), Code::E1004, &["gave f32[2, 2]", "return exactly i32[2, 2]"]);
    engine.register::<i32, ndarray::IxDyn>("made", |call| call.take::<i32>(0));
    fails(engine.read::<i32>("b[0:1, 0:1]"), Code::E1004, &["argument 0 is f32[2, 3], not i32"]);
    engine.register::<f32, ndarray::IxDyn>("made", |call| call.take::<f32>(1));
    fails(engine.read::<i32>("b[0:1, 0:1]"), Code::E1004, &["argument 1 was asked for", "gives 1"]);
    engine.register::<i32, ndarray::Ix2>("made", |_| Err("out of luck".to_owned()));
    let parts = ["host function `made` failed for window [0, 0] of `b`: out of luck"];
    fails(engine.read::<i32>("b[0:1, 0:1]"), Code::E1004, &parts);
}

#[test]
fn a_host_function_may_work_on_bytes() {
    struct Lies;
    impl HostFn for Lies {
        fn call(&self, call: &HostCall<'_>) -> Result<Array, String> {
            Ok(Array { element: call.element, shape: call.size.to_vec(), data: vec![0; 3] })
        }
    }
    let mut engine = compiled(TAKES);
    engine.register_untyped("made", Arc::new(Lies));
    fails(engine.read::<i32>("b[0:1, 0:1]"), Code::E1004, &["host function `made`"]);
}

#[test]
fn models_are_not_there_yet() {
    let engine = compiled(&TAKES.replace("made", "model.onnx"));
    fails(engine.read::<i32>("b[0:1, 0:1]"), Code::E0903, &["`model.onnx`"]);
}

const PAINT: &str = "
var paint: i32[y: inf, x: inf] = 0
view turned = paint.permute([x, y])
view every = paint[0:8, 0:8].stride([2, 2])
view spread = paint[0:1, 0:4].expand([3, 4])
tensor twice: i32[y: inf, x: inf] = 2 * paint[y, x]
set paint[0, 0:2] = 5
";

#[test]
fn writes_go_through_views_and_are_seen() {
    let mut engine = compiled(PAINT);
    let row = |engine: &Engine, y: i64| {
        engine.read::<i32>(&format!("twice[{y}, 0:4]")).unwrap().into_raw_vec_and_offset().0
    };
    assert_eq!(row(&engine, 0), [10, 10, 0, 0], "the script's own writes come first");
    engine.write("paint[0, 1:3]", &array![7, 8]).unwrap();
    assert_eq!(row(&engine, 0), [10, 14, 16, 0]);
    engine.write("turned[1:3, 0:1]", &array![[1], [2]]).unwrap();
    assert_eq!(row(&engine, 0), [10, 2, 4, 0]);
    engine.write("every[0:2, 0:2]", &array![[20, 21], [22, 23]]).unwrap();
    assert_eq!((row(&engine, 0), row(&engine, 2)), (vec![40, 2, 42, 0], vec![44, 0, 46, 0]));
    engine.write("paint[0, 1:3]", &array![7, 8]).unwrap();
    assert_eq!(row(&engine, 0), [40, 14, 16, 0], "what is written again is the last again");
}

#[test]
fn writes_that_are_wrong_change_nothing() {
    let mut engine = compiled(PAINT);
    fails(
        engine.write("twice[0, 0:2]", &array![1, 2]),
        Code::E0805,
        &["`twice` cannot be written", "not a `var`"],
    );
    let expanded = engine.write("spread[0:3, 0:4]", &Array2::<i32>::zeros((3, 4)));
    fails(expanded, Code::E0806, &["`paint` cannot be written through this view"]);
    let parts = ["i32[3] cannot be written to `paint`, which is i32[2]", "write exactly i32[2]"];
    fails(engine.write("paint[0, 0:2]", &array![1, 2, 3]), Code::E1008, &parts);
    fails(engine.write("paint[0, 0:2]", &array![1u8, 2]), Code::E1008, &["u8[2]"]);
    fails(engine.write("paint[0:1]", &array![1]), Code::E0802, &["`x: inf`"]);
    assert_eq!(engine.read::<i32>("paint[0, 0:3]").unwrap().as_slice(), Some(&[5, 5, 0][..]));
}

#[test]
fn memory_is_refused_before_the_run() {
    let script = "tensor a: f64[x: inf] = x";
    let engine = Engine::builder().kind(Kind::Interp).memory(1000).compile(script).unwrap();
    assert!(engine.read::<f64>("a[0:125]").is_ok());
    let parts = ["`a` needs 1008 bytes at its peak, but the limit is 1000"];
    fails(engine.read::<f64>("a[0:126]"), Code::E1005, &parts);
}

#[test]
fn tiles_and_threads_change_nothing() {
    let script = "tensor a: f32[y: inf, x: inf] = sin(y / 3) * x";
    let read = |engine: Engine| engine.read::<f32>("a[-9:9, 3:30]").unwrap();
    let plain = read(compiled(script));
    for tile in [[1, 1], [4, 64], [-3, 0]] {
        for threads in [0, 1, 3] {
            let built = Engine::builder().tile(tile).threads(threads).compile(script);
            assert_eq!(read(built.unwrap()), plain, "{tile:?} {threads}");
        }
    }
}

/// Large enough to be made in blocks, and in parts of which a reshape cuts rows up.
#[test]
fn permuted_copies_show_every_element_where_it_belongs() {
    let value = |p: usize, q: usize, r: usize| (p * 131_071 + q * 359 + r) as u32;
    let mut engine = compiled(
        "input a: u32[p: 42, q: 330, r: 350]
         view turned = a.permute([2, 0, 1]).flip([0, 2]).shrink([3..340, 1..41, 5..329])
         view out = turned.reshape([337 * 40, 324])",
    );
    engine.bind("a", &ndarray::Array3::from_shape_fn((42, 330, 350), |(p, q, r)| value(p, q, r))).unwrap();
    for (slice, rows) in
        [("out[...]", 0..13_480), ("out[33:90, 0:324]", 33..90), ("out[0:13480, 7:9]", 0..13_480)]
    {
        let read = engine.read::<u32>(slice).unwrap();
        let columns = if slice.ends_with("7:9]") { 7..9 } else { 0..324 };
        let expected = rows.flat_map(|row: usize| {
            columns.clone().map(move |column: usize| value(1 + row % 40, 324 - column, 346 - row / 40))
        });
        assert!(read.iter().copied().eq(expected), "{slice}");
    }
}

/// Rows that are cut, merged or both, from left to right, from below, and in the middle of a chain.
#[test]
fn reshaped_rows_are_where_they_were() {
    let shapes =
        ["36, 40, 64", "48, 40, 48", "12, 80, 96", "24, 10, 384", "30, 32, 96", "1, 960, 96", "2, 320, 144"];
    let value = |at: usize| (at as u32).wrapping_mul(2_654_435_761);
    let a = ndarray::Array3::from_shape_fn((24, 40, 96), |(z, y, x)| value((z * 40 + y) * 96 + x));
    for shape in shapes {
        let sizes: Vec<usize> = shape.split(", ").map(|size| size.parse().unwrap()).collect();
        let [planes, rows, row] = sizes[..] else { panic!("three sizes") };
        let mut engine = compiled(&format!(
            "input a: u32[z: 24, y: 40, x: 96]
             tensor b: u32[z: 24, y: 40, x: 96] = a[z, y, x] + 1
             tensor cut: u32[z: {planes}, y: {rows}, x: {row}] = a.reshape([{shape}])[z, y, x]
             tensor up: u32[z: {planes}, y: {rows}, x: {row}] = b.reshape([{shape}]).flip([1])[z, y, x] - 1
             tensor back: u32[z: 24, y: 40, x: 96] = a.reshape([{shape}]).flip([1]).reshape([24, 40, 96])[z, y, x]
             tensor part: u32[y: {rows}, x: {row}] = a.reshape([{shape}]).reshape([{}, {row}])[y, x]",
            planes * rows
        ));
        engine.bind("a", &a).unwrap();
        let turned = (0..planes * rows).map(|at| at / rows * rows + (rows - 1 - at % rows));
        let turned: Vec<u32> = turned.flat_map(|at| (0..row).map(move |x| value(at * row + x))).collect();
        let plain: Vec<u32> = a.iter().copied().collect();
        let expected =
            [("cut", &plain[..]), ("up", &turned), ("back", &turned), ("part", &plain[..rows * row])];
        for (name, expected) in expected {
            let read = engine.read::<u32>(&format!("{name}[...]")).unwrap();
            assert!(read.iter().eq(expected), "{name} of {shape}");
        }
    }
}

#[test]
fn outputs_are_saved_whole_or_not_at_all() {
    let folder = Folder::new();
    let (good, bad) = (folder.0.join("a.raw"), folder.0.join("none/b.raw"));
    let script = |path: &PathBuf| {
        format!("tensor a: u8[x: inf] = x\noutput {:?} = a[1:4]\n", path.display().to_string())
    };
    let stats = compiled(&script(&good)).save_outputs().unwrap();
    assert_eq!((stats.elements, std::fs::read(&good).unwrap()), (3, vec![1, 2, 3]));
    fails(compiled(&script(&bad)).save_outputs(), Code::E0003, &["there is no folder"]);
    let engine = compiled(&script(&good).replace("= x", "= x + 1"));
    engine.cancel().cancel();
    fails(engine.save_outputs(), Code::E1006, &["the run was cancelled"]);
    assert_eq!(std::fs::read(&good).unwrap(), [1, 2, 3], "the old file is still there");
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 1);
}

#[test]
fn progress_reaches_the_end() {
    let mut engine = compiled("tensor a: u8[x: inf] = x");
    let (most, calls) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (seen, count) = (most.clone(), calls.clone());
    engine.on_progress(move |done, total| {
        assert!(done <= total, "{done} of {total}");
        seen.fetch_max(1000 * done / total, Ordering::Relaxed);
        count.fetch_add(1, Ordering::Relaxed);
    });
    engine.read::<u8>("a[0:9000]").unwrap();
    assert_eq!(most.load(Ordering::Relaxed), 1000);
    assert!(calls.load(Ordering::Relaxed) > 1);
}

#[test]
fn a_run_is_cancelled_from_another_thread() {
    let mut engine = Engine::builder().kind(Kind::Interp).compile("tensor a: u8[x: inf] = x").unwrap();
    let cancel = engine.cancel();
    engine.on_progress(move |_, _| cancel.cancel());
    let error = engine.read::<u8>("a[0:1000000000]").expect_err("it is cancelled long before it is done");
    assert!(error.is_cancelled(), "{error}");
    assert!(engine.cancel().is_cancelled());
}

#[test]
fn a_cancelled_read_does_not_clear_the_memory_of_its_result() {
    let peak = || {
        let text = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    };
    let engine = Engine::compile("tensor a: u8[x: inf] = x").unwrap();
    let prepared = engine.prepare("a[0:1073741824]").unwrap();
    engine.cancel().cancel();
    let before = peak();
    let error = prepared.read_array().expect_err("it is cancelled before it begins");
    assert!(error.is_cancelled(), "{error}");
    let grown = peak().zip(before).map_or(0, |(after, before)| after - before);
    assert!(grown < 512 << 10, "{grown} kB");
}

#[test]
fn a_read_can_be_run_again_and_tells_what_it_did() {
    let script = "tensor a: u8[x: inf] = x  tensor b: u8[x: inf] = a[x] + 1";
    let engine = Engine::builder().store(0).compile(script).unwrap();
    let prepared = engine.prepare("b[0:4]").unwrap();
    let mut buffer = [0u8; 4];
    let first = prepared.fill(&mut buffer).unwrap();
    let second = prepared.fill(&mut buffer).unwrap();
    assert_eq!(buffer, [1, 2, 3, 4]);
    assert_eq!((first.elements, first.bytes.output), (4, 4));
    assert_eq!(
        (&first.windows, first.tiles),
        (&second.windows, second.tiles),
        "each run starts with nothing"
    );
    assert_eq!(first.tiles.computed, first.tiles.freed);
    assert_eq!((first.tiles.live_end, first.tiles.live_peak), (0, first.tiles.live_peak_planned));
    assert_eq!(prepared.plan().bytes_peak, first.bytes.peak_planned);
    assert!(first.seconds.total >= first.seconds.run);
}

#[test]
fn a_trace_has_spans() {
    let mut engine = compiled("tensor a: u8[x: inf] = x");
    let clock = AtomicU64::new(0);
    let trace = Arc::new(Trace::new(move || clock.fetch_add(10, Ordering::Relaxed)));
    engine.record(trace.clone());
    engine.read::<u8>("a[0:4]").unwrap();
    let events = trace.events();
    assert!(!events.is_empty() && events.iter().all(|event| event.duration > 0), "{events:?}");
}

#[test]
fn chains_that_are_too_deep_are_an_error() {
    let script = "tensor h: f32[t: 0..1000000] = if t == 0 then 0 else h[t - 1] + 1";
    let engine = Engine::builder().kind(Kind::Interp).compile(script).unwrap();
    assert_eq!(engine.read::<f32>("h[9000]").unwrap().first(), Some(&9000.0));
    fails(
        engine.read::<f32>("h[999999]"),
        Code::E1009,
        &["`h` at [999999]", "operations that wait for each other"],
    );
}

#[test]
fn an_f64_rounds_once_to_an_f16() {
    let script = "
        input w: f64[x: 14]
        tensor a: f32[x: 14] = f32(f16(w[x]))";
    let (tie, tiny) = (1.0 + 2f64.powi(-11), 2f64.powi(-40));
    let least = 2f64.powi(-24);
    let pairs: [(f64, f32); 14] = [
        (tie, 1.0),
        (tie + tiny, 1.0 + 2f32.powi(-10)),
        (tie - tiny, 1.0),
        (-tie - tiny, -1.0 - 2f32.powi(-10)),
        (1.0 + 3.0 * 2f64.powi(-11) - tiny, 1.0 + 2f32.powi(-10)),
        (1.0 + 3.0 * 2f64.powi(-11), 1.0 + 2f32.powi(-9)),
        (65520.0 - 2f64.powi(-30), 65504.0),
        (65520.0, f32::INFINITY),
        (-1e300, f32::NEG_INFINITY),
        (least / 2.0, 0.0),
        (least / 2.0 + 2f64.powi(-60), 2f32.powi(-24)),
        (-least / 2.0 + 2f64.powi(-60), -0.0),
        (1e-320, 0.0),
        (0.1, 0.099975586),
    ];
    for kind in [Kind::Jit, Kind::Interp] {
        let mut engine = Engine::builder().kind(kind).compile(script).unwrap();
        engine.bind("w", &ndarray::Array1::from_iter(pairs.map(|(from, _)| from))).unwrap();
        let rounded = engine.read::<f32>("a[0:14]").unwrap();
        for ((from, expect), found) in pairs.iter().zip(&rounded) {
            assert_eq!(expect.to_bits(), found.to_bits(), "{kind:?}: {from:e} gives {found}");
        }
    }
}

#[test]
fn a_coordinate_that_hides_a_tensor_is_told() {
    let script = "tensor x: f32[y: inf] = y  tensor b: f32[x: inf] = x[3]";
    fails(Engine::compile(script), Code::E0207, &["`x` is a coordinate here, which hides the tensor `x`"]);
}
