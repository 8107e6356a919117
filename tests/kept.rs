//! Results are kept between reads: what is there is not computed, what is written is computed again, and no bit differs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![cfg(feature = "jit")]

use itp::Engine;
use itp::engine::{Builder, Shared};
use itp::run::Kind;
use itp::run::stats::Stats;
use ndarray::{Array2, array};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// A variable under three blurs of 5×5.
const CHAIN: &str = "
param gain = 1
var a: f32[y: inf, x: inf] = 0
tensor b: f32[y: inf, x: inf] = sum(dy in -2..=2, dx in -2..=2) a[y + dy, x + dx] + y * gain
tensor c: f32[y: inf, x: inf] = sum(dy in -2..=2, dx in -2..=2) b[y + dy, x + dx]
tensor d: f32[y: inf, x: inf] = sum(dy in -2..=2, dx in -2..=2) c[y + dy, x + dx]
tensor apart: f32[y: inf, x: inf] = y - x
tensor w: f32[y: inf, x: inf] window [8, 8] stride [4, 4] blend sum = c[y, x] * index(y)
view turned = d.permute([x, y])
view back = a.flip([x])
";

fn compiled(builder: Builder, script: &str) -> Engine {
    builder.compile(script).unwrap_or_else(|error| panic!("{error}"))
}

fn read(engine: &Engine, slice: &str) -> (Vec<u8>, Stats) {
    let prepared = engine.prepare(slice).unwrap_or_else(|error| panic!("{slice}: {error}"));
    let (array, stats) = prepared.read_array().unwrap_or_else(|error| panic!("{slice}: {error}"));
    let (tiles, bytes) = (stats.tiles, stats.bytes);
    assert!(tiles.live_end == 0 && tiles.computed == tiles.freed, "{tiles:?}");
    assert!(tiles.live_peak <= tiles.live_peak_planned && bytes.peak <= bytes.peak_planned, "{stats:?}");
    assert_eq!(bytes.output, array.data.len() as u64);
    (array.data, stats)
}

#[track_caller]
fn reused(engine: &Engine, slice: &str, expect: u64) {
    let (data, stats) = read(engine, slice);
    assert_eq!(stats.store.reused, expect, "{slice}: {stats:?}");
    let fresh = compiled(Engine::builder().store(0), CHAIN);
    assert!(data == read(&fresh, slice).0, "{slice}: other bits");
}

fn elements(stats: &Stats, name: &str) -> u64 {
    stats.computed.iter().find(|(known, _)| &**known == name).map_or(0, |(_, count)| *count)
}

#[test]
fn what_was_read_is_not_computed_again() {
    let engine = compiled(Engine::builder(), CHAIN);
    reused(&engine, "d[0:300, 0:300]", 0);
    reused(&engine, "d[0:300, 0:300]", 300 * 300);
    reused(&engine, "d[100:300, 200:400]", 200 * 100);
    reused(&engine, "d[7, 250:400]", 50);
    reused(&engine, "d[7, 250:400]", 150);
    reused(&engine, "d[-10:310, -10:410]", 300 * 400 - 100 * 100 + 100);
    reused(&engine, "apart[0:3, 0:3]", 0);
    // Another way of looking at elements is kept for itself.
    reused(&engine, "d[0:100:2, 0:100:2]", 0);
    reused(&engine, "d[20:120:2, 0:100:2]", 40 * 50);
    reused(&engine, "turned[0:9, 0:9]", 0);
    reused(&engine, "turned[0:9, 3:12]", 9 * 6);
}

#[test]
fn only_what_is_missing_is_computed() {
    let engine = compiled(Engine::builder().kind(Kind::Jit).threads(1), CHAIN);
    let (_, first) = read(&engine, "d[0:200, 0:200]");
    assert!(elements(&first, "d") == 200 * 200 && first.store.bytes > 4 * 200 * 200, "{first:?}");
    let (_, second) = read(&engine, "d[0:200, 0:200]");
    assert_eq!((second.computed.len(), second.tiles.computed), (0, 0), "{second:?}");
    let (_, third) = read(&engine, "d[0:200, 10:210]");
    assert_eq!(elements(&third, "d"), 200 * 10);
    assert_eq!(elements(&third, "c"), 204 * 14);
}

/// What is missing may be divided otherwise than the whole: here it has tiles of its own, and the whole has none.
#[test]
fn what_is_missing_takes_no_more_than_the_whole() {
    let script = "
        tensor a: i32[x: inf, y: 5, z: inf] = 1
        view b = a.expand([3, _, _, _])
        tensor c: u64[x: 9, y: -11..-7] window [3, 2] stride [5, 5] offset [0, -4] as [i, j] = bits(f64(b[j, x, 1, 1]))";
    for (start, end) in (0..9).flat_map(|start| (start + 1..=9).map(move |end| (start, end))) {
        for column in -11..-7 {
            let engine = compiled(Engine::builder().tile([2, 1]).threads(2), script);
            read(&engine, &format!("c[{start}:{end}, {column}]"));
            read(&engine, "c[:, :]");
        }
    }
}

#[test]
fn windows_are_counted_as_computed_or_reused() {
    let engine = compiled(Engine::builder().kind(Kind::Jit), CHAIN);
    let windows = |slice: &str| read(&engine, slice).1.windows[0].1;
    let first = windows("w[0:40, 0:40]");
    assert_eq!((first.computed, first.reused), (11 * 11, 0));
    let second = windows("w[0:40, 0:40]");
    assert_eq!((second.computed, second.reused), (0, 11 * 11));
    let third = windows("w[0:40, 20:60]");
    assert_eq!((third.computed, third.reused), (11 * 6, 11 * 5));
}

#[test]
fn a_write_forgets_what_depends_on_it_and_nothing_else() {
    for kind in [Kind::Jit, Kind::Interp] {
        let small = kind == Kind::Interp;
        let (slice, whole) =
            if small { ("d[100:140, 100:140]", 1600) } else { ("d[0:512, 0:512]", 512 * 512) };
        let mut engine = compiled(Engine::builder().kind(kind), CHAIN);
        read(&engine, slice);
        read(&engine, "apart[0:8, 0:8]");
        engine.write("a[64, 64]", &ndarray::arr0(5.0f32)).unwrap();
        let (data, stats) = read(&engine, slice);
        if !small {
            // The element reaches 58..71, which lies in the first of 4×4 tiles.
            assert_eq!(stats.store.reused, whole - 128 * 128);
            assert_eq!(elements(&stats, "d"), 128 * 128);
            assert!(elements(&stats, "b") <= 136 * 136, "{:?}", stats.computed);
        }
        assert_eq!(read(&engine, "apart[0:8, 0:8]").1.store.reused, 64);
        let mut fresh = compiled(Engine::builder().kind(kind).store(0), CHAIN);
        fresh.write("a[64, 64]", &ndarray::arr0(5.0f32)).unwrap();
        assert!(data == read(&fresh, slice).0, "other bits");
        // At the corner of tiles, through a view: -128 is 128 of the variable.
        engine.write("back[127:129, -128:-127]", &array![[1.0f32], [2.0]]).unwrap();
        fresh.write("back[127:129, -128:-127]", &array![[1.0f32], [2.0]]).unwrap();
        let (data, stats) = read(&engine, slice);
        if !small {
            assert_eq!(stats.store.reused, whole - 4 * 128 * 128);
        }
        assert!(data == read(&fresh, slice).0, "other bits");
    }
}

#[test]
fn what_the_script_sets_and_the_host_writes_is_seen() {
    let script = "
        input n: i32[x: 4]
        var a: i32[x: inf] = 0
        set a[0:4] = n[x] * 10
        set a[2:6] = a[x] + 1
        tensor b: i32[x: inf] = a[x] + a[x + 1]";
    let mut engine = compiled(Engine::builder(), script);
    let b = |engine: &Engine| engine.read::<i32>("b[0:6]").unwrap().into_raw_vec_and_offset().0;
    engine.bind("n", &array![1, 2, 3, 4]).unwrap();
    assert_eq!(b(&engine), [30, 51, 72, 42, 2, 1]);
    engine.write("a[1:3]", &array![0, 0]).unwrap();
    assert_eq!(b(&engine), [10, 0, 41, 42, 2, 1]);
    engine.write("a[1:3]", &array![7, 8]).unwrap();
    assert_eq!(b(&engine), [17, 15, 49, 42, 2, 1]);
    engine.bind("n", &array![0, 0, 0, 0]).unwrap();
    assert_eq!(b(&engine), [7, 15, 9, 2, 2, 1]);
}

#[test]
fn other_data_is_another_result() {
    let script = r#"
        input n: f32[x: 4]
        tensor a: f32[x: inf] = n.wrap()[x]
        tensor b: f32[x: inf] window [4] take s = a window [4] = extern "f"(s)
        tensor own: f32[x: inf] = x"#;
    let mut engine = compiled(Engine::builder(), script);
    engine.bind("n", &array![1.0f32, 2.0, 3.0, 4.0]).unwrap();
    let calls = Arc::new(AtomicU64::new(0));
    let seen = calls.clone();
    engine.register("f", move |call| {
        seen.fetch_add(1, Ordering::Relaxed);
        Ok(call.take::<f32>(0)? * 2.0)
    });
    let first = |engine: &Engine, slice: &str| engine.read::<f32>(slice).unwrap()[0];
    assert_eq!(
        (first(&engine, "b[0:4]"), first(&engine, "b[0:4]"), first(&engine, "own[3:4]")),
        (2.0, 2.0, 3.0)
    );
    assert_eq!(calls.load(Ordering::Relaxed), 1, "the second read is kept");
    engine.bind("n", &array![9.0f32, 2.0, 3.0, 4.0]).unwrap();
    assert_eq!(first(&engine, "b[0:4]"), 18.0);
    engine.register("f", |call| Ok(call.take::<f32>(0)? * 3.0));
    assert_eq!(first(&engine, "b[0:4]"), 27.0);
    assert_eq!(read(&engine, "own[3:4]").1.store.reused, 1, "it depends on neither");
}

#[test]
fn the_store_keeps_to_its_limit_and_large_reads_pass_it_by() {
    let limit = 1 << 20;
    let engine = compiled(Engine::builder().store(limit), CHAIN);
    for at in 0..40 {
        let (_, stats) = read(&engine, &format!("apart[0:128, {}:{}]", 128 * at, 128 * at + 128));
        assert!(stats.store.bytes <= limit, "{stats:?}");
    }
    let (_, old) = read(&engine, "apart[0:128, 0:128]");
    let (_, new) = read(&engine, "apart[0:128, 4992:5120]");
    assert_eq!((old.store.reused, new.store.reused), (0, 128 * 128), "what was read last is there");
    let held = new.store.bytes;
    let (_, large) = read(&engine, "apart[0:400, 0:400]");
    assert_eq!(large.store.reused, 0);
    assert_eq!(read(&engine, "apart[0:128, 4992:5120]").1.store.bytes, held);
    let off = compiled(Engine::builder().store(0), CHAIN);
    read(&off, "apart[0:9, 0:9]");
    assert_eq!(read(&off, "apart[0:9, 0:9]").1.store, Default::default());
}

#[test]
fn a_cancelled_read_keeps_nothing() {
    let engine = compiled(Engine::builder(), CHAIN);
    engine.cancel().cancel();
    assert!(engine.read_array("d[0:9, 0:9]").is_err());
    engine.cancel().reset();
    assert_eq!(read(&engine, "d[0:9, 0:9]").1.store.reused, 0);
}

/// Windows that lie in tiles, each of which takes its time; `f` fails as often as `failures` says.
fn slow_windows(failures: u64) -> (Engine, Arc<AtomicU64>) {
    let script = r#"
        tensor a: f32[y: inf, x: inf] = y + x
        tensor b: f32[y: inf, x: inf] window [64, 64] take s = a window [64, 64] = extern "f"(s)"#;
    let mut engine = compiled(Engine::builder().threads(1), script);
    let calls = Arc::new(AtomicU64::new(0));
    let seen = calls.clone();
    engine.register("f", move |call| {
        let number = seen.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(3));
        if number < failures { Err("not yet".to_owned()) } else { Ok(call.take::<f32>(0)? * 2.0) }
    });
    (engine, calls)
}

#[test]
fn reads_at_the_same_time_compute_nothing_twice() {
    let (engine, calls) = slow_windows(0);
    let slice = |at: i64| format!("b[{}:{}, {}:256]", 64 * (at % 3), 64 * (at % 3) + 192, 64 * (at % 2));
    let whole = engine.read_array("b[1000:1001, 0:64]").map(|_| calls.swap(0, Ordering::SeqCst));
    assert_eq!(whole.unwrap(), 1);
    let (computed, shared): (u64, u64) = std::thread::scope(|scope| {
        let engine = &engine;
        let reads: Vec<_> = (0..12).map(|at| scope.spawn(move || read(engine, &slice(at)))).collect();
        let stats = reads.into_iter().map(|read| read.join().unwrap().1);
        stats.fold((0, 0), |(computed, reused), stats| {
            (computed + elements(&stats, "b"), reused + stats.store.reused)
        })
    });
    assert_eq!(calls.load(Ordering::SeqCst), 5 * 4, "every window once");
    assert_eq!(computed, 5 * 4 * 64 * 64, "every element once");
    assert_eq!(computed + shared, 12 * 192 * 256 - 6 * 192 * 64);
    let fresh = slow_windows(0).0;
    (0..3).for_each(|at| assert!(read(&engine, &slice(at)).0 == read(&fresh, &slice(at)).0, "other bits"));
}

#[test]
fn a_read_that_fails_takes_nobody_with_it() {
    let (engine, calls) = slow_windows(3);
    let failed = std::thread::scope(|scope| {
        let reads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| engine.read_array("b[0:64, 0:64]").is_err())).collect();
        reads.into_iter().map(|read| read.join().unwrap()).filter(|failed| *failed).count()
    });
    assert_eq!(
        (failed, calls.load(Ordering::SeqCst)),
        (3, 4),
        "three fail alone, one computes for the others"
    );
}

#[test]
fn a_read_that_waits_can_be_cancelled() {
    let (mut engine, _) = slow_windows(0);
    let go = Arc::new(AtomicBool::new(false));
    let seen = go.clone();
    engine.register("f", move |call| {
        while !seen.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        call.take::<f32>(0)
    });
    let cancel = engine.cancel();
    std::thread::scope(|scope| {
        let engine = &engine;
        let reads: Vec<_> = (0..4).map(|_| scope.spawn(move || engine.read_array("b[0:64, 0:64]"))).collect();
        std::thread::sleep(Duration::from_millis(50));
        cancel.cancel();
        // Only the one that computes is still there.
        while reads.iter().filter(|read| !read.is_finished()).count() > 1 {
            std::thread::sleep(Duration::from_millis(1));
        }
        go.store(true, Ordering::SeqCst);
        assert!(reads.into_iter().all(|read| read.join().unwrap().is_err_and(|error| error.is_cancelled())));
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Any reads and writes, in any order, give what an engine gives that keeps nothing.
    #[test]
    fn no_bit_differs(
        steps in prop::collection::vec((0u8..6, -150i64..150, -150i64..150, 1i64..90, 1i64..90), 1..12),
        limit in prop::sample::select(vec![40_000u64, 300_000, 1 << 24]),
    ) {
        let mut kept = compiled(Engine::builder().threads(2).store(limit), CHAIN);
        let mut plain = compiled(Engine::builder().threads(1).store(0), CHAIN);
        for (what, y, x, height, width) in steps {
            let (y1, x1) = (y + height, x + width);
            let slice = match what {
                0 | 1 => format!("d[{y}:{y1}, {x}:{x1}]"),
                2 => format!("w[{y}:{y1}, {x}:{x1}]"),
                3 => format!("turned[{y}:{y1}:2, {x}:{x1}]"),
                _ => {
                    let data = Array2::from_elem((height as usize, width as usize), (y * x) as f32);
                    kept.write(&format!("a[{y}:{y1}, {x}:{x1}]"), &data).unwrap();
                    plain.write(&format!("a[{y}:{y1}, {x}:{x1}]"), &data).unwrap();
                    continue;
                }
            };
            prop_assert!(read(&kept, &slice).0 == read(&plain, &slice).0, "{slice}");
        }
    }
}

#[test]
fn boxes_of_a_stepping_view_share_code_and_have_the_right_bits() {
    let script = "
        tensor a: f32[k: 3, y: inf, x: inf] = rand(y, x) * (k + 1) + f32(y % 1000)
        tensor b: f32[y: inf, x: inf] = a[0, y, x] - a[1, y + 1, x - 1] + a[2, y, x]
        tensor half: f32[y: 0..inf, x: inf] = b[y, x] / 2";
    let engine = compiled(Engine::builder().store(0), script);
    let reference = compiled(Engine::builder().store(0).kind(Kind::Interp), script);
    let corners = [0i64, -64, 640, 1 << 38, 1 << 43, -(1 << 45)];
    for (step, corner) in [1, 8, 1 << 20].into_iter().flat_map(|step| corners.map(|corner| (step, corner))) {
        let range = |first: i64| format!("{first}:{}:{step}", first + 9 * step);
        let slices = [
            format!("b[{}, {}]", range(corner), range(-corner)),
            format!("a[0:2, {}, {}]", range(corner), range(corner)),
            format!("half[{}, {}]", range(corner.abs()), range(corner)),
        ];
        for slice in slices {
            assert!(read(&engine, &slice).0 == read(&reference, &slice).0, "{slice}: other bits");
        }
    }
}

/// Stencils of stencils, colours, choices, borders and data, seen from far away and back to front.
#[test]
fn samples_of_a_stepping_view_have_the_right_bits() {
    let script = "
        tensor h: f32[y: inf, x: inf] = sin(rand(y, x)) + cos(y % 11)
        tensor g: f32[y: inf, x: inf] = sqrt(sum(dy in -1..=1, dx in -1..=1) h[y + dy, x + dx] ** 2)
        tensor l: f32[y: inf, x: inf] = if h[y, x] < 0.9 then 0.25 else sin(g[y, x + 1]) - sin(g[y - 1, x])
        tensor m: f32[k: 3, y: inf, x: inf] = sin((k + 1) * g[y, x]) + l[y, x] - h[y - 7, x + 16]
        tensor b: f32[y: 0..90000, x: -9..90000] = sin(rand(y, x, 1))
        tensor e: f32[y: 0..90000, x: -9..90000] =
            sin(b.clamp()[y - 1, x]) + (if x > -9 then cos(b[y, x - 1]) else 2.0) + b[y, x]
        var v: f32[y: 0..400, x: 0..400] = 1.0
        set v[0:400:3, :] = y + x
        tensor w: f32[k: 2, y: 0..400, x: 0..400] = sin(v[y, x]) + k * cos(v.wrap()[y + 1, x])
        tensor n: f32[k: 2, y: 0..400, x: 0..400] = sin(w[k, y, x]) + sin(w[1 - k, y, x])";
    let engine = compiled(Engine::builder().store(0), script);
    let reference = compiled(Engine::builder().store(0).kind(Kind::Interp), script);
    let same = |slice: String| {
        assert!(read(&engine, &slice).0 == read(&reference, &slice).0, "{slice}: other bits");
    };
    for step in [2i64, 4, 16, 1 << 20] {
        let range = |first: i64, count: i64| format!("{first}:{}:{step}", first + count * step);
        let back = |first: i64| format!("{}:{first}:-{step}", first + 5 * step);
        for corner in [7i64, -(1 << 45)] {
            same(format!("m[:, {}, {}]", range(corner, 7), range(-corner, 5)));
            same(format!("m[1:3, {}, {}]", back(corner), range(corner, 5)));
            same(format!("g[{}, {}]", range(corner, 5), corner));
        }
        if step <= 16 {
            same(format!("e[{}, {}]", range(0, 6), range(-9, 7)));
            same(format!("e[{}, {}]", back(80_000), range(80_000, 7)));
            same(format!("n[:, {}, {}]", range(0, 6), range(0, 7)));
            same(format!("n[1, {}, {}]", range(400 - 6 * step, 6), range(2, 7)));
        }
    }
}

#[test]
fn files_are_read_again_when_they_are_others() {
    let folder = std::env::temp_dir().join(format!("itp-known-files-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("p.raw");
    let time = |seconds| std::time::UNIX_EPOCH + Duration::from_secs(seconds);
    let write = |bytes: [u8; 4], seconds| {
        std::fs::write(&path, bytes).expect("is written");
        let file = std::fs::File::options().write(true).open(&path).expect("is there");
        file.set_modified(time(seconds)).expect("has a time");
    };
    let shared = Shared::new(1 << 20);
    let read = |script: &str| {
        let builder = Engine::builder().share(&shared).folder(&folder);
        let engine = builder.compile(script).expect("compiles");
        engine.read::<u8>("a[0:4]").map(|array| array[[0]]).map_err(|error| error.to_string())
    };
    let script = "input p: u8[x: 4] from \"p.raw\" tensor a: u8[x: 4] = p[x]";
    write([1; 4], 1000);
    assert_eq!(read(script), Ok(1));
    write([2; 4], 1000);
    assert_eq!(read(script), Ok(1), "length and time are the same: it is not read again");
    assert_eq!(
        read(&script.replace("u8[x: 4] from", "u8[x: 2, y: 2] from").replace("p[x]", "p[x // 2, x % 2]")),
        Ok(2)
    );
    assert_eq!(read(script), Ok(2), "read as something else meanwhile");
    write([3; 4], 1001);
    assert_eq!(read(script), Ok(3));
    std::fs::remove_dir_all(&folder).expect("is removed");
    assert!(read(script).is_err());
}
