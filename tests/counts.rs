//! Work is counted: what a read computes, holds and gives back is what its plan says, and no more than it needs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![cfg(feature = "jit")]

use itp::Engine;
use itp::diagnostic::{Code, Result};
use itp::engine::Builder;
use itp::index::Interval;
use itp::plan::fuse::Rows;
use itp::plan::group::{Request, groups, needed_boxes};
use itp::plan::order::Order;
use itp::plan::peak::peak;
use itp::plan::readers::Division;
use itp::plan::stages::stages;
use itp::plan::stop::Stop;
use itp::run::Kind;
use itp::run::job::Sink;
use itp::run::stats::{Stats, Windows};
use ndarray::Array2;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

const CHAIN: &str = "
tensor a: f32[y: inf, x: inf] = rand(y, x)
tensor b: f32[y: inf, x: inf] = sum(dy in -2..=2, dx in -2..=2) a[y + dy, x + dx]
tensor c: f32[y: inf, x: inf] = sum(dy in -2..=2, dx in -2..=2) b[y + dy, x + dx]
tensor d: f32[y: inf, x: inf] = sum(dy in -2..=2, dx in -2..=2) c[y + dy, x + dx]
";

/// Windows of a host function, read by two tensors.
const HOST: &str = r#"
tensor a: f32[y: inf, x: inf] = y + 2 * x
tensor h: f32[y: inf, x: inf] window [8, 8] stride [6, 6] take s = a window [8, 8] stride [6, 6] blend sum = extern "host"(s)
tensor up: f32[y: inf, x: inf] = h[y, x] + h[y + 1, x]
tensor both: f32[y: inf, x: inf] = up[y, x] + h[y - 3, x]
"#;

fn jit(threads: usize, tile: &[i64]) -> Builder {
    let builder = Engine::builder().kind(Kind::Jit).threads(threads);
    if tile.is_empty() { builder } else { builder.tile(tile.iter().copied()) }
}

fn compiled(builder: Builder, script: &str) -> Engine {
    builder.compile(script).unwrap_or_else(|error| panic!("{error}"))
}

fn read(engine: &Engine, slice: &str) -> (Vec<u8>, Stats) {
    let prepared = engine.prepare(slice).unwrap_or_else(|error| panic!("{error}"));
    let (array, stats) = prepared.read_array().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(stats.tiles.computed, prepared.plan().tiles, "{slice}");
    (array.data, stats)
}

fn elements(stats: &Stats, name: &str) -> u64 {
    stats.computed.iter().find(|(known, _)| &**known == name).map_or(0, |(_, count)| *count)
}

/// The windows that a host function was called for, and how often.
type Calls = Arc<Mutex<BTreeMap<Vec<i64>, u64>>>;

/// An engine whose host function doubles; it fails for the window `bad`.
fn hosted(builder: Builder, bad: Option<[i64; 2]>) -> (Engine, Calls) {
    let (calls, mut engine) = (Calls::default(), compiled(builder, HOST));
    let seen = calls.clone();
    engine.register("host", move |call| {
        *seen.lock().unwrap().entry(call.window.to_vec()).or_default() += 1;
        let window: Array2<f32> =
            call.take::<f32>(0)?.into_dimensionality().map_err(|why| why.to_string())?;
        if bad.is_some_and(|bad| bad == call.window) { Err("no more".to_owned()) } else { Ok(window * 2.0) }
    });
    (engine, calls)
}

/// A source whose elements take 256 reads each, which every tile of `out` needs much of.
const MEANS: &str = "
tensor a: f32[y: inf, x: inf] = rand(y, x)
tensor rows: f32[y: inf, k: inf] = mean(j in 0..256) a[y, 192 * k + j]
tensor gain: f32[l: inf, k: inf] = mean(i in 0..256) rows[192 * l + i, k]
tensor out: f32[y: inf, x: inf] = a[y, x] * gain[y // 192, x // 192]
";

/// Products that three neighbours read: cheaper to compute three times than to keep.
const PRODUCTS: &str = "
tensor a: f32[y: inf, x: inf] = sin(y) + cos(x)
tensor square: f32[y: inf, x: inf] = sum(i in -1..=1) a[y + i, x] * a[y + i, x]
tensor out: f32[y: inf, x: inf] = square[y, x - 1] + square[y, x] + square[y, x + 1]
";

/// A map in three colours, as it is seen from far away: every pixel needs 9 heights, whatever its colour.
const MAP: &str = "
tensor height: f32[y: inf, x: inf] = sin(y / 7) * cos(x / 9) + sin(rand(y, x))
tensor light: f32[y: inf, x: inf] =
    if height[y, x] < 0 then 0.5
    else sin(height[y + 1, x] - height[y - 1, x]) + cos(height[y - 1, x + 1] - height[y + 1, x - 1])
tensor sheet: f32[c: 3, y: inf, x: inf] = sin(height[y, x] * c) + light[y, x]
";

#[test]
fn a_view_that_steps_computes_what_it_reads_once() {
    let counts = |slice: &str| {
        let (_, stats) = read(&compiled(jit(1, &[]), MAP), slice);
        ["light", "height"].map(|name| elements(&stats, name))
    };
    assert_eq!(counts("sheet[:, 0:16, 0:16]"), [256, 18 * 18]);
    // At every second element all heights are read.
    assert_eq!(counts("sheet[:, 0:32:2, 0:32:2]"), [256, 33 * 33]);
    for step in [4i64, 100, 1 << 30] {
        let range = format!("0:{}:{step}", 16 * step);
        assert_eq!(counts(&format!("sheet[:, {range}, {range}]")), [256, 9 * 256], "{step}");
    }
}

/// The octaves of noise are unrolled, also in f64, where sines and powers of their numbers are long: they are computed once.
#[test]
fn noise_in_doubles_has_vectors_as_wide_as_any() {
    let bits = |body: &str| {
        let script = format!("use noise\ntensor h: f32[y: inf, x: inf] = {body}");
        read(&compiled(jit(1, &[]), &script), "h[0:8, 0:64]").1.vector_bits
    };
    assert_eq!(bits("f32(warp(f64(y) / 30, f64(x) / 30, 4, 6, 0.6))"), bits("y + 2 * x"));
}

/// What a view that steps asks for is found out once; far away, where that would take more, it is found out again.
#[test]
fn a_stepping_view_is_planned_for_its_place() {
    let script = "
        tensor p: f32[x: inf] = sin(rand(x))
        tensor q: f32[x: inf] = sin(p[x - 1]) + sin(p[x + 1])
        tensor far: f32[x: inf] = sin(q[x]) - sin(q[0])";
    let engine = compiled(jit(1, &[]), script);
    let interp = compiled(Engine::builder().kind(Kind::Interp), script);
    for first in [0i64, 64, 1 << 33, -(1 << 35), 128, (1 << 33) + 64] {
        let slice = format!("far[{first}:{}:4]", first + 64);
        let (data, stats) = read(&engine, &slice);
        assert!(elements(&stats, "q") + elements(&stats, "p") < 150, "{slice}: {:?}", stats.computed);
        assert!(data == read(&interp, &slice).0, "{slice}: other bits");
    }
}

/// A viewer far out steps further than 2^31 elements: its rows are as wide as any, and hold the right bits.
#[test]
fn long_steps_have_vectors_as_wide_as_any() {
    let script = "tensor h: f32[y: inf, x: inf] = f32(f64(x) / 3.0) + rand(y, x) + f32(x // 1024)";
    for step in [1i64, 1 << 31, -(1 << 31), 1 << 40, (1 << 50) + 1] {
        let range = format!("{}:{}:{step}", 7 - 20 * step, 7 + 20 * step);
        let slice = format!("h[0:3, {range}]");
        let (data, stats) = read(&compiled(jit(1, &[]), script), &slice);
        let near = read(&compiled(jit(1, &[]), script), "h[0:3, 0:40]").1;
        assert_eq!(stats.vector_bits, near.vector_bits, "{slice}");
        let interp = compiled(Engine::builder().kind(Kind::Interp), script);
        assert!(data == read(&interp, &slice).0, "{slice}: other bits");
    }
}

#[test]
fn what_takes_many_reads_is_computed_once() {
    let (_, stats) = read(&compiled(jit(1, &[64, 768]), MEANS), "out[0:768, 0:768]");
    assert_eq!(elements(&stats, "rows.turned"), (768 + 64) * 4, "{:?}", stats.computed);
}

/// What does not differ from element to element is computed once: per column, per block, per window, or for all.
#[test]
fn what_many_elements_share_is_computed_once() {
    let script = "
        var a: f32[y: 64, x: 96] = 1
        tensor column: f32[y: 64, x: 96] = a[y, x] / (sum(j in 0..64) abs(a[j, x] + 1))
        tensor block: f32[y: 64, x: 96] =
            a[y, x] - (max(j in 0..8, i in 0..16) a[8 * (y // 8) + j, 16 * (x // 16) + i])
        tensor all: f32[y: 64, x: 96] = a[y, x] / (sum(j in 0..64, i in 0..96) a[j, i])
        tensor soft: f32[y: 64, x: 96] = {
            let top = max(i in 0..96) a[y, i];
            exp(a[y, x] - top) / (sum(k in 0..96) exp(a[y, k] - top))
        }
        tensor parts: f32[y: 64, x: 96] window [32, 32] stride [16, 32] as [i, j]
            take b = a window [32, 32] stride [16, 32]
            = b[i, j] / (sum(p in 0..32, q in 0..32) b[p, q])
        tensor bands: f32[c: 4, y: 64, x: 96] = c + (sum(i in 0..96) a[y, i])";
    let engine = compiled(jit(1, &[]).store(0), script);
    for (slice, name, expect) in [
        ("column[:, 10:20]", "column.sum", 10),
        ("block[0:20, :]", "block.max", 3 * 6),
        ("all[:, :]", "all.sum", 1),
        ("soft[3:7, :]", "soft.sum", 4),
        ("soft[3:7, :]", "soft.max", 4),
        ("parts[:, :]", "parts.sum", 3 * 3),
        ("parts[0:16, 0:32]", "parts.sum", 1),
        ("bands[:, 2:5, :]", "bands.sum", 3),
    ] {
        let (_, stats) = read(&engine, slice);
        assert_eq!(elements(&stats, name), expect, "{slice}: {:?}", stats.computed);
    }
}

/// A reduction stays where it is if it is short, if all elements have their own, or if only a condition keeps its reads
/// inside.
#[test]
fn what_few_elements_share_stays_where_it_is() {
    let script = "
        var a: f32[y: 64, x: 96] = 1
        tensor few: f32[c: 2, x: 96] = c + (sum(i in -1..=1) a.clamp()[0, x + i])
        tensor own: f32[y: 64, x: 96] = sum(i in 0..64) a[i, x] * y
        tensor guarded: f32[y: inf, x: 96] = if y >= 0 and y < 64 then a[y, x] + (sum(i in 0..96) a[y, i]) else 0";
    let engine = compiled(jit(1, &[]).store(0), script);
    for slice in ["few[:, :]", "own[:, :]", "guarded[-3:70, :]"] {
        let (_, stats) = read(&engine, slice);
        assert!(stats.computed.iter().all(|(name, _)| !name.contains('.')), "{slice}: {:?}", stats.computed);
    }
}

#[test]
fn windows_that_overlap_are_part_of_their_reader() {
    let script = "tensor a: f32[y: inf, x: inf] = sin(y) + cos(x)
        tensor parts: f32[c: 2, y: inf, x: inf] window [2, 96, 96] stride [2, 64, 64] as [k, i, j]
            = if k == 0 then a[y, x] * (1 + i) * (1 + j) else f32((1 + i) * (1 + j))
        tensor out: f32[y: inf, x: inf] = parts[0, y, x] / parts[1, y, x]";
    let (_, stats) = read(&compiled(jit(1, &[]), script), "out[0:128, 0:128]");
    assert_eq!(elements(&stats, "parts"), 0, "{:?}", stats.computed);
    assert_eq!(elements(&stats, "a"), 128 * 128, "{:?}", stats.computed);
}

#[test]
fn what_costs_less_than_its_keeping_is_part_of_its_reader() {
    let (_, stats) = read(&compiled(jit(1, &[]), PRODUCTS), "out[0:64, 0:64]");
    assert_eq!(elements(&stats, "square"), 0, "{:?}", stats.computed);
    assert_eq!(elements(&stats, "a"), 66 * 66, "sines are not cheap: {:?}", stats.computed);
}

#[test]
fn one_element_computes_only_its_cone() {
    let (_, stats) = read(&compiled(jit(1, &[]), CHAIN), "d[7, -3]");
    for (name, side) in [("a", 13), ("b", 9), ("c", 5), ("d", 1)] {
        assert!(elements(&stats, name) <= side * side, "{name}: {:?}", stats.computed);
    }
    assert_eq!(elements(&stats, "d"), 1);
    let shown = stats.to_json();
    assert_eq!(shown["computed"]["d"], 1, "{shown}");
}

#[test]
fn rows_of_a_chain_are_computed_once() {
    let (_, stats) = read(&compiled(jit(1, &[]), CHAIN), "d[0:100, 0:50]");
    for (name, halo) in [("a", 12), ("b", 8), ("c", 4), ("d", 0)] {
        assert!(elements(&stats, name) <= (100 + halo) * (50 + halo), "{name}: {:?}", stats.computed);
    }
}

/// Four levels down and up again.
const PYRAMID: &str = "
fn down_y(t, y, x) = sum(i in 0..4) 0.25 * t[2 * y - 1 + i, x]
fn down_x(t, y, x) = sum(i in 0..4) 0.25 * t[y, 2 * x - 1 + i]
fn up(t, y, x) = 0.5 * t[y // 2, x // 2] + 0.5 * t[(y + 1) // 2, (x + 1) // 2]
tensor a: f32[y: inf, x: inf] = rand(y, x)
tensor r1: f32[y: inf, x: inf] = down_y(a, y, x)
tensor d1: f32[y: inf, x: inf] = down_x(r1, y, x)
tensor r2: f32[y: inf, x: inf] = down_y(d1, y, x)
tensor d2: f32[y: inf, x: inf] = down_x(r2, y, x)
tensor r3: f32[y: inf, x: inf] = down_y(d2, y, x)
tensor d3: f32[y: inf, x: inf] = down_x(r3, y, x)
tensor r4: f32[y: inf, x: inf] = down_y(d3, y, x)
tensor d4: f32[y: inf, x: inf] = down_x(r4, y, x)
tensor u3: f32[y: inf, x: inf] = d3[y, x] + up(d4, y, x)
tensor u2: f32[y: inf, x: inf] = d2[y, x] + up(u3, y, x)
tensor u1: f32[y: inf, x: inf] = d1[y, x] + up(u2, y, x)
tensor out: f32[y: inf, x: inf] = a[y, x] + up(u1, y, x)
";

/// In tiles of 128 rows, as they would be, levels would be tiles of their own, or computed much more than once.
#[test]
fn levels_of_a_pyramid_pass_through_rings() {
    let one = compiled(jit(1, &[]), PYRAMID);
    let prepared = one.prepare("out[0:512, 0:4096]").unwrap();
    let plan = prepared.plan();
    assert_eq!((plan.tiles, plan.recompute_factor), (1, 1.0), "{plan:?}");
    let (whole, stats) = read(&one, "out[0:512, 0:4096]");
    assert!(elements(&stats, "d1") <= (256 + 64) * (2048 + 64), "{:?}", stats.computed);
    let two = compiled(jit(2, &[]), PYRAMID);
    assert_eq!(read(&two, "out[0:512, 0:4096]").0, whole, "two workers");
    // As many tiles as cost nothing: with eight for each worker, levels would be computed again between them.
    let prepared = two.prepare("out[0:4096, 0:4096]").unwrap();
    let plan = prepared.plan();
    assert!(plan.tiles <= 8 && plan.recompute_factor < 1.1, "{plan:?}");
    let small = compiled(jit(1, &[100, 500]), PYRAMID);
    assert_eq!(read(&small, "out[0:512, 0:4096]").0, whole, "small tiles");
}

#[test]
fn only_windows_that_are_touched_are_called_and_each_once() {
    for (threads, tile) in [(1, &[][..]), (1, &[3, 5]), (2, &[4, 4]), (4, &[1, 7])] {
        let (engine, calls) = hosted(jit(threads, tile), None);
        let (_, stats) = read(&engine, "both[10:31, -4:9]");
        // Rows 7..32 and columns -4..9 of `h`; window w covers 6 * w .. 6 * w + 8.
        let touching: BTreeMap<Vec<i64>, u64> =
            (0..=5).flat_map(|y| (-1..=1).map(move |x| (vec![y, x], 1))).collect();
        assert_eq!(*calls.lock().unwrap(), touching, "{threads} threads, tiles of {tile:?}");
        let windows = stats.windows.iter().find(|(name, _)| &**name == "h").unwrap().1;
        assert_eq!(windows.computed, touching.len() as u64);
    }
}

/// Two reads of what a host function makes, which the third lies between.
const HOST_APART: &str = r#"
tensor a: f32[x: inf] = f32(x)
tensor h: f32[x: inf] window [64] take s = a window [64] = extern "host"(s)
tensor pair: f32[x: inf] = h[x] + h[x + 600]
tensor close: f32[x: inf] = h[x] + h[x + 100]
"#;

#[test]
fn host_functions_are_not_called_for_windows_between_reads() {
    let touched = |slice: &str| {
        let (calls, mut engine) = (Calls::default(), compiled(jit(2, &[]), HOST_APART));
        let seen = calls.clone();
        engine.register("host", move |call| {
            *seen.lock().unwrap().entry(call.window.to_vec()).or_default() += 1;
            Ok(call.take::<f32>(0)?.into_owned() * 2.0)
        });
        let (data, stats) = read(&engine, slice);
        accounts(slice, &stats);
        let calls = calls.lock().unwrap();
        assert!(calls.values().all(|times| *times == 1), "{slice}: {calls:?}");
        (calls.keys().map(|window| window[0]).collect::<Vec<_>>(), data)
    };
    // 0..512 and 600..1112: window 8, which is 512..576, is between.
    let (windows, data) = touched("pair[0:512]");
    assert_eq!(windows, (0..=17).filter(|window| *window != 8).collect::<Vec<_>>());
    assert_eq!(data[..4], 1200f32.to_le_bytes());
    assert_eq!(touched("pair[10:11]").0, [0, 9]);
    assert_eq!(touched("close[0:1]").0, [0, 1]);
    assert_eq!(touched("close[60:64]").0, [0, 2]);
    assert_eq!(touched("close[0:512]").0, (0..=9).collect::<Vec<_>>());
}

/// Scripts with a read each in which tiles are shared in a regular way.
const REGULAR: [(&str, &str); 5] = [
    (CHAIN, "d[0:40, 0:40]"),
    (
        "tensor a: f32[y: inf, x: inf] = rand(y, x)
      tensor w: f32[y: inf, x: inf] window [8, 8] stride [4, 4] blend sum = a[y, x] * index(y)
      tensor r: f32[y: inf, x: inf] = w[y, x] + w[y - 9, x + 5]",
        "r[0:40, 0:40]",
    ),
    (
        "tensor a: f32[y: inf, x: inf] = rand(y, x)
      tensor p: f32[y: inf, x: inf] = a[x, y] + a[y, x]",
        "p[0:40, 0:40]",
    ),
    (
        "tensor a: f32[y: 0..24, x: 0..24] = rand(y, x)
      tensor b: f32[y: 0..24, x: 0..24] = rand(x, y)
      tensor m: f32[y: 0..24, x: 0..24] = sum(k in 0..24) a[y, k] * b[k, x]",
        "m[0:24, 0:24]",
    ),
    (
        "tensor heat: f32[t: 0..50, x: inf] =
        if t == 0 then rand(x) else heat[t - 1, x] + 0.2 * (heat[t - 1, x - 1] + heat[t - 1, x + 1])
      tensor late: f32[x: inf] = heat[40, x] + heat[30, x]",
        "late[0:64]",
    ),
];

fn accounts(told: &str, stats: &Stats) {
    let (tiles, bytes) = (stats.tiles, stats.bytes);
    assert!(tiles.computed == tiles.freed && tiles.live_end == 0, "{told}: {tiles:?}");
    assert!(tiles.live_peak <= tiles.live_peak_planned, "{told}: {tiles:?}");
    assert!(bytes.peak <= bytes.peak_planned, "{told}: {bytes:?}");
}

#[test]
fn tiles_and_bytes_are_as_planned() {
    for (script, slice) in REGULAR {
        for tile in [&[][..], &[8, 8], &[5, 7], &[1, 16]] {
            for threads in [1, 2, 4] {
                let (_, stats) = read(&compiled(jit(threads, tile), script), slice);
                let told = format!("{slice}, tiles of {tile:?}, {threads} threads");
                accounts(&told, &stats);
                let tiles = stats.tiles;
                assert!(threads > 1 || tiles.live_peak == tiles.live_peak_planned, "{told}: {tiles:?}");
            }
        }
    }
}

#[test]
fn tiles_of_host_windows_are_as_planned() {
    for threads in [1, 2, 4] {
        let (engine, _) = hosted(jit(threads, &[6, 6]), None);
        let (_, stats) = read(&engine, "both[0:40, 0:40]");
        accounts("host windows", &stats);
        let tiles = stats.tiles;
        assert!(threads > 1 || tiles.live_peak == tiles.live_peak_planned, "{tiles:?}");
    }
}

#[test]
fn workers_run_at_the_same_time() {
    let mut engine = compiled(jit(2, &[6, 6]), HOST);
    let (calls, wake) = (Mutex::new(0), Condvar::new());
    engine.register("host", move |call| {
        let mut begun = calls.lock().unwrap();
        *begun += 1;
        wake.notify_all();
        // The first call does not end before there is a second.
        let waited = wake.wait_timeout_while(begun, Duration::from_secs(60), |begun| *begun < 2).unwrap();
        assert!(!waited.1.timed_out(), "one worker is alone");
        Ok(call.take::<f32>(0)? * 2.0)
    });
    read(&engine, "both[0:40, 0:40]");
}

/// A name, a box of it, the tiles, and the script.
type Irregular = (&'static str, &'static [(i64, i64)], &'static [i64], &'static str);

/// Requests of many tiles whose readers come and go.
const IRREGULAR: [Irregular; 5] = [
    // Windows along two diagonals of a plane, under windows that others read.
    (
        "e",
        &[(118, 400)],
        &[3],
        r#"tensor a: f32[y: inf, x: inf] = y + x
        tensor h: f32[y: inf, x: inf] window [4, 4] stride [5, 2] take s = a window [4, 4] stride [5, 2] blend last init 0 = extern "host"(s)
        tensor d: f32[y: inf] window [3] stride [5] blend first init 0 format run_list(element(f32(0))) = h[y, y // (-2) + 2] + h[y + 1, y - 1]
        tensor f: f32[x: inf] window [2] take s = d window [4] stride [2] blend sum = extern "host"(s)
        tensor e: f32[x: inf] window [2] take s = f window [4] stride [2] blend sum = extern "host"(s)"#,
    ),
    // Windows that are read far above in some rows, and far below in others.
    (
        "out",
        &[(0, 200), (0, 300)],
        &[1, 4],
        r#"tensor a: f32[y: inf, x: inf] = y + x
        tensor h: f32[y: inf, x: inf] window [2, 2] take s = a window [2, 2] blend sum = extern "host"(s)
        tensor p: f32[y: 0..10, x: inf] = sum(i in 0..50) sin(h[y + 60, x] * i)
        tensor q: f32[y: 20..30, x: inf] = sum(i in 0..50) sin(h[y - 70, x] * i)
        tensor out: f32[y: inf, x: inf] = h[y, x]
            + (if y < 0 then 0 else if y < 10 then p[y, x] else 0)
            + (if y < 20 then 0 else if y < 30 then q[y, x] else 0)"#,
    ),
    // Steps, and two places far apart.
    (
        "out",
        &[(0, 100), (0, 300)],
        &[1, 3],
        r#"tensor a: f32[y: inf, x: inf] format dense(sparse_list(element(f32(0)))) = sin(y) + x
        tensor b: f32[y: inf, x: inf] format dense(sparse_list(element(f32(0)))) = a[2 * y, 3 * x]
        tensor out: f32[y: inf, x: inf] = b[y, x] + b[y + 7, x - 2]"#,
    ),
    // Backwards, several tasks to a tile.
    (
        "out",
        &[(0, 100), (0, 300)],
        &[1, 3],
        r#"tensor a: f32[y: inf, x: inf] format dense(sparse_list(element(f32(0)))) = sin(y) + x
        tensor b: f32[y: inf, x: inf] format dense(sparse_list(element(f32(0)))) = a[-y, x // 2] + a[3 - y, x // 2]
        tensor out: f32[y: inf, x: inf] = b[y // 3, -x]"#,
    ),
    // Steps that are too large to be one task.
    (
        "out",
        &[(3, 4), (0, 200_000_000)],
        &[1, 20_000],
        r#"tensor a: f32[x: inf] format sparse_list(element(f32(0))) = sin(x)
        tensor out: f32[t: 0..inf, x: inf] = if t == 0 then a[x] else out[t - 1, x - 1] + a[x]"#,
    ),
];

/// Who computes what of a box.
fn divided(engine: &Engine, name: &str, region: &[(i64, i64)], tile: &[i64]) -> Division {
    let program = engine.program();
    let stages = Arc::new(stages(&program.graph, &program.accesses, Rows::Ahead).unwrap());
    let target = program.graph.iter().find(|(_, tensor)| &*tensor.name == name).unwrap().0;
    let region = region.iter().map(|(from, to)| Interval::new(*from, *to).unwrap()).collect();
    let request = Request { target, region, threads: 1, tile: Some(tile.to_vec()), stop: Stop::default() };
    let boxes = needed_boxes(&stages, &request).unwrap();
    let groups = groups(&stages, &request, &boxes).unwrap();
    Division { stages, boxes, groups, stop: Stop::default() }
}

#[test]
fn every_tile_is_made_once_and_freed_by_its_last_reader_however_many_there_are() {
    for (name, region, tile, script) in IRREGULAR {
        let engine = compiled(jit(1, &[]), script);
        let division = divided(&engine, name, region, tile);
        assert!(division.tiles() > 8192, "{script}\nhas {} tiles", division.tiles());
        let mut order = Order::new(&division, &Stop::default()).unwrap();
        let (mut made, mut left) = (BTreeSet::new(), BTreeMap::new());
        let mut most = 0;
        while let Some(step) = order.next(&division) {
            assert!(made.insert(step.tile.clone()), "{:?} is made twice: {script}", step.tile);
            let result = step.tile.0 + 1 == division.groups.len();
            most = most.max(left.len() + 1);
            for source in step.sources {
                let count: &mut u64 = left.get_mut(&source).expect("a tile that is there");
                *count -= 1;
                if *count == 0 {
                    left.remove(&source);
                }
            }
            if !result {
                left.insert(step.number, step.readers);
            }
        }
        assert!(left.is_empty(), "{} tiles are never freed: {script}", left.len());
        assert!(most as u64 <= peak(&division, 1).unwrap().tiles, "{most} tiles at once: {script}");
        // Each tile is looked at once for itself, and once more when its readers are known.
        let looks = u128::from(order.looks());
        assert!(looks <= 4 * division.tiles(), "{looks} looks for {} tiles: {script}", division.tiles());
    }
}

#[test]
fn planning_can_be_cancelled() {
    let chain: String = (1..300)
        .map(|at| {
            format!(
                "tensor a{at}: f32[y: inf, x: inf] = sin(a{}[y, x + 1]) + a{}[y + 1, x]\n",
                at - 1,
                at - 1
            )
        })
        .collect();
    let script = format!("tensor a0: f32[y: inf, x: inf] = y + x\n{chain}");
    let engine = compiled(jit(1, &[]).store(0), &script);
    let cancel = engine.cancel();
    cancel.cancel();
    let error = engine.plan("a299[0:64, 0:64]").expect_err("it was cancelled");
    assert!(error.is_cancelled(), "{error}");
    cancel.reset();
    engine.plan("a299[0:64, 0:64]").unwrap();
}

/// That everything is given back is asserted where a run ends, in builds with debug assertions such as this one.
#[test]
fn a_host_function_that_fails_leaves_nothing_behind() {
    for threads in [1, 2, 4] {
        let (engine, calls) = hosted(jit(threads, &[6, 6]), Some([3, 2]));
        let error = engine.read_array("both[0:40, 0:40]").expect_err("the function fails");
        assert_eq!(error.code(), Some(Code::E1004), "{error}");
        assert!(calls.lock().unwrap().len() > 8, "it fails in the middle");
        // The window that fails is not touched: the engine is as good as new.
        accounts("after an error", &read(&engine, "both[0:5, 0:5]").1);
    }
}

/// Elements that take long, so that a read of them does.
const SLOW: &str = "
tensor slow: f32[y: inf, x: inf] = sum(i in 0..400) sin(0.001 * i * x + y)
tensor shared: f32[y: inf, x: inf] = slow[x, y] + slow[y, x]
tensor long: f32[y: inf, x: inf] = sum(k in 0..1000000000000) f32(k) * x
tensor deep: f32[y: inf, x: inf] = sum(i in 0..70000, j in 0..70000, k in 0..3) f32(i + j * k) * x
tensor few: f32[y: inf, x: inf] = max(i in 0..100000000000) (if i % 2 == 0 then f32(i) * x else f32(y))
";

#[test]
fn cancelling_takes_effect_soon_and_leaves_nothing_behind() {
    for (threads, slice) in [
        (1, "slow[0:20000, 0:20000]"),
        (2, "slow[0:9, 0:90000000]"),
        (2, "shared[0:9999, 0:9999]"),
        (1, "long[0, 0]"),
        (2, "long[0:99, 0:9999]"),
        (1, "deep[0:3, 0:30]"),
        (1, "few[0, 0:40]"),
    ] {
        let engine = compiled(jit(threads, &[]), SLOW);
        let prepared = engine.prepare(slice).unwrap();
        let cancel = engine.cancel();
        let (ended, cancelled) = std::thread::scope(|scope| {
            let read = scope.spawn(|| (prepared.run(&mut Kept::default()), Instant::now()));
            std::thread::sleep(Duration::from_millis(300));
            let cancelled = Instant::now();
            cancel.cancel();
            (read.join().unwrap(), cancelled)
        });
        let error = ended.0.expect_err("it was cancelled");
        assert!(error.is_cancelled(), "{error}");
        let took = ended.1.saturating_duration_since(cancelled);
        assert!(took < Duration::from_secs(1), "{slice}: {took:?}");
        cancel.reset();
        accounts("after cancelling", &read(&engine, "shared[0:4, 0:4]").1);
    }
}

/// Processor seconds of a thread, by its folder below /proc; how busy the machine is does not matter.
fn cpu_of(thread: &Path) -> f64 {
    let line = std::fs::read_to_string(Path::new("/proc").join(thread).join("schedstat")).unwrap();
    line.split(' ').next().unwrap().parse::<u64>().unwrap() as f64 * 1e-9
}

fn this_thread() -> PathBuf {
    std::fs::read_link("/proc/thread-self").unwrap()
}

/// Cancels a read that one worker runs, some time after it began: what it computes then takes no longer than promised.
#[track_caller]
fn ends_soon(engine: &Engine, slice: &str) {
    let (started, thread) = std::sync::mpsc::channel();
    let (cancel, read) = (engine.cancel(), || {
        started.send(this_thread()).unwrap();
        let ended = engine.prepare(slice).and_then(|prepared| prepared.run(&mut Kept::default()));
        (ended, cpu_of(&this_thread()))
    });
    std::thread::scope(|scope| {
        let read = scope.spawn(read);
        let thread = thread.recv().unwrap();
        while cpu_of(&thread) < 0.1 {
            assert!(!read.is_finished(), "{slice} takes no time");
            std::thread::sleep(Duration::from_millis(10));
        }
        let before = cpu_of(&thread);
        cancel.cancel();
        let (ended, after) = read.join().unwrap();
        assert!(ended.expect_err("it was cancelled").is_cancelled());
        assert!(after - before < 0.2, "{slice}: {} s", after - before);
    });
    cancel.reset();
}

const RECURRENCES: &str = "
tensor a: f32[t: inf, x: inf] = rand(t, x)
tensor r: f32[t: 0..inf, x: inf] = if t == 0 then f32(x) else r[t - 1, x] * 0.5 + 1
tensor s: f32[t: 0..inf, x: inf] = if t == 0 then 0 else s[t - 1, x] + a[t - 1, x] * a[t // 2, x + 1]
tensor u: f32[t: 0..inf, x: 0..50] = if t == 0 then f32(x) else u[t - 1, (x * 7) % 50] + 1
tensor late: f32[x: inf] = r[900, x] + 1
";

#[test]
fn long_recurrences_are_planned_at_once_and_can_be_cancelled() {
    let engine = compiled(jit(1, &[]).store(0), RECURRENCES);
    for slice in ["r[10000000, 0:3]", "s[10000000, 0:3]", "r[0:10000000, 0:3]", "u[60000, 0:3]"] {
        let before = cpu_of(&this_thread());
        engine.plan(slice).unwrap();
        let took = cpu_of(&this_thread()) - before;
        assert!(took < 0.05, "{slice}: {took} s");
    }
    for slice in ["r[100000000, 0:3]", "s[100000000, 0:3]"] {
        ends_soon(&engine, slice);
    }
}

#[test]
fn rings_of_long_recurrences_are_as_large_as_those_of_short_ones() {
    let engine = compiled(jit(1, &[]).store(0), RECURRENCES);
    for (short, long) in [("s[700, 0:3]", "s[7000, 0:3]"), ("r[700, 0:3]", "r[7000, 0:3]")] {
        let (short, long) = (engine.plan(short).unwrap(), engine.plan(long).unwrap());
        let rows = |plan: &itp::run::stats::Plan| plan.rings.iter().map(|ring| ring.rows).collect::<Vec<_>>();
        // `a` is read at t - 1 and at t // 2, which are ever further apart.
        assert!(rows(&long).iter().zip(rows(&short)).all(|(long, short)| *long >= short), "{:?}", long.rings);
    }
    let bits = |slice: &str| read(&engine, slice).0;
    assert!(bits("s[1500, 0:3]") == bits("s[1500:1501, 0:3]"), "steps beyond those that are gone through");
}

/// How often progress was told, after all of it was.
fn told(engine: &mut Engine, slice: &str) -> usize {
    let told = Arc::new(Mutex::new(Vec::new()));
    let seen = told.clone();
    engine.on_progress(move |done, total| seen.lock().unwrap().push((done, total)));
    read(engine, slice);
    let told = told.lock().unwrap();
    assert!(told.iter().all(|(done, total)| done <= total), "{slice}: {told:?}");
    assert!(told.last().is_some_and(|(done, total)| done == total), "{slice}: {told:?}");
    told.len()
}

#[test]
fn progress_follows_steps_and_sets() {
    let mut engine = compiled(jit(1, &[]).store(0), RECURRENCES);
    assert!(told(&mut engine, "r[900, 0:3]") > 900);
    assert!(told(&mut engine, "late[0:3]") > 900, "although the steps are not the result");
    let script = "var m: f32[y: inf, x: inf] = 0
        set m[0:512, 0:512] = rand(y, x)
        tensor t: f32[y: inf, x: inf] = m[y, x] + 1";
    let mut engine = compiled(jit(1, &[64, 64]).store(0), script);
    assert!(told(&mut engine, "t[0:512:73, 0:512:73]") > 64, "tiles of the `set` are told");
    assert!(told(&mut engine, "t[0:8, 0:8]") < 4, "it has run");
}

#[test]
fn sets_are_part_of_the_accounts() {
    let script = "var m: f32[y: inf, x: inf] = 0
        var n: f32[x: inf] = 0
        set m[0:512, 0:512] = rand(y, x)
        set m.flip([x])[0:16, -255:1] = m.flip([x])[y, x] + n[0]
        set n[0:4] = 7
        tensor t: f32[y: inf, x: inf] = m[y, x] + 1
        tensor apart: f32[x: inf] = x";
    let engine = compiled(jit(1, &[]).store(0), script);
    let bytes = |slice: &str| {
        let (_, stats) = read(&engine, slice);
        accounts(slice, &stats);
        stats.bytes
    };
    let whole = 4 * 512 * 512;
    let all = "t[0:512:73, 0:512:73]";
    let first = bytes(all);
    assert_eq!(first.peak, first.peak_planned, "{first:?}");
    assert!(first.peak >= 2 * whole, "the elements and where they go: {first:?}");
    let second = bytes("t[0:8, 0:8]");
    assert!(
        (whole..2 * whole).contains(&second.peak),
        "the variable, and not `n`, which is written too late: {second:?}"
    );
    assert!(bytes("apart[0:8]").peak_planned < 1000, "it uses no variable");
    let small = compiled(jit(1, &[]).memory(1 << 20), script);
    let error = small.plan(all).expect_err("the `set` takes more");
    assert_eq!(error.code(), Some(Code::E1005), "{error}");
    assert!(small.plan("t[0:8, 0:8]").is_ok(), "it runs for a few elements");
    assert!(small.plan("apart[0:8]").is_ok());
}

#[test]
fn what_workers_keep_is_told() {
    let (_, stats) = read(&compiled(jit(2, &[]), CHAIN), "d[0:300, 0:300]");
    assert!((1..=2 * (2 << 20)).contains(&stats.bytes.kept), "{:?}", stats.bytes);
    assert_eq!(stats.to_json()["bytes"]["kept"], stats.bytes.kept);
}

#[test]
fn sets_that_a_read_does_not_use_are_not_run() {
    let script = r#"
        var m: f32[x: inf] = 0
        var n: f32[x: inf] = 0
        tensor a: f32[x: inf] = x
        tensor h: f32[x: inf] window [4] take s = a window [4] = extern "host"(s)
        set m[0:4] = h[x]
        set n[0:4] = 2
        tensor t: f32[x: inf] = m[x] + n[x]
        tensor u: f32[x: inf] = n[x] + 1"#;
    for kind in [Kind::Jit, Kind::Interp] {
        let engine = compiled(Engine::builder().kind(kind), script);
        assert_eq!(engine.read::<f32>("u[3:6]").unwrap().as_slice(), Some(&[3.0, 1.0, 1.0][..]));
        assert_eq!(engine.read::<f32>("n[3:6]").unwrap().as_slice(), Some(&[2.0, 0.0, 0.0][..]));
        assert!(engine.read::<f32>("t[3:6]").is_err(), "it needs the host function");
        assert!(engine.read::<f32>("m[3:6]").is_err(), "it needs the host function");
    }
}

#[test]
fn sets_see_those_before_them_and_not_those_after_whoever_reads_first() {
    let script = "
        var m: i32[x: inf] = 0
        var n: i32[x: inf] = 0
        set n[0:4] = 1
        set m[0:4] = n[x] + 10
        set n[0:4] = 2
        tensor t: i32[x: inf] = m[x]
        tensor u: i32[x: inf] = n[x]";
    for slices in [["t[0:1]", "u[0:1]"], ["u[0:1]", "t[0:1]"]] {
        let mut engine = compiled(jit(1, &[]), script);
        let mut values = slices.map(|slice| engine.read::<i32>(slice).unwrap()[0]);
        values.sort_unstable();
        assert_eq!(values, [2, 11], "{slices:?}");
        engine.write("n[0:1]", &ndarray::array![5]).unwrap();
        let mut values = slices.map(|slice| engine.read::<i32>(slice).unwrap()[0]);
        values.sort_unstable();
        assert_eq!(values, [5, 11], "{slices:?}");
    }
}

#[test]
fn a_set_can_be_cancelled() {
    let script = "var m: f32[y: inf, x: inf] = 0
        tensor slow: f32[y: inf, x: inf] = sum(i in 0..1000) rand(y, x, i)
        SET
        tensor t: f32[y: inf, x: inf] = m[y, x] + 1";
    for set in ["set m[0:9000, 0:9000] = slow[y, x]", "set m.flip([x])[0:4000, -4000:0] = 1"] {
        ends_soon(
            &compiled(jit(1, &[]).store(0), &script.replace("SET", set)),
            "t[0:9000:4000, 0:9000:4000]",
        );
    }
}

#[test]
fn enormous_reads_are_planned_at_once() {
    let script = "
        tensor a: f32[y: inf, x: inf] = rand(y, x)
        tensor w: f32[y: inf, x: inf] window [40, 40] stride [32, 32] blend sum = a[y, x] * index(y)
        tensor s: f32[y: inf, x: inf] = w[y, x] + w[y - 70, x]";
    let engine = compiled(jit(2, &[1000, 1000]), script);
    let start = Instant::now();
    let plan = engine.plan("w[0:1000000, 0:1000000]").unwrap();
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
    // A slab of 64 MB holds 16 rows, which are cut into tiles of 1000 columns.
    assert_eq!(plan.tiles, 62_500 * 1000);
    // Windows -1 .. 31250 touch 0 .. 10^6, along both dimensions.
    assert_eq!(plan.windows[0].1.computed, 31_251 * 31_251);

    let start = Instant::now();
    let plan = engine.plan("s[0:1000000, 0:1000000]").unwrap();
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
    assert!(plan.tiles >= 62_500 * 1000, "{}", plan.tiles);
}

/// A destination that is written piece by piece.
#[derive(Default)]
struct Kept(Vec<u8>);

impl Sink for Kept {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.extend(bytes);
        Ok(())
    }
}

const BYTES: &str = "
tensor a: u8[y: inf, x: inf] = 31 * y + 7 * x
tensor b: u8[y: inf, x: inf] = a[y - 1, x] + 3 * a[y + 1, x + 2]
";

#[test]
fn slabs_hold_what_one_piece_holds() {
    for (threads, slice) in [(2, "b[-5:9000, 3:10000]"), (1, "b[0:3, 0:30000000]")] {
        let engine = compiled(jit(threads, &[]), BYTES);
        let prepared = engine.prepare(slice).unwrap();
        let (array, whole) = prepared.read_array().unwrap();
        let mut sink = Kept::default();
        let streamed = prepared.run(&mut sink).unwrap();
        assert!(sink.0.len() > 64 << 20, "more than a slab");
        assert!(sink.0 == array.data, "{slice}: other bytes in slabs");
        accounts("in one piece", &whole);
        accounts("in slabs", &streamed);
        assert!(streamed.bytes.peak < sink.0.len() as u64, "{:?}", streamed.bytes);
    }
}

#[test]
fn the_peak_of_a_streamed_read_does_not_grow_with_its_height() {
    let engine = compiled(jit(2, &[]), BYTES);
    let peak = |rows: u64| engine.plan(&format!("b[0:{rows}, 0:100000]")).unwrap().bytes_peak;
    assert_eq!(peak(100_000), peak(200_000));
    assert!(peak(100_000) < 256 << 20, "{}", peak(100_000));
}

const STEPS: &str = "
tensor h: f32[t: 0..400, y: inf, x: inf] =
    if t == 0 then rand(y, x) else 0.25 * (h[t-1, y-1, x] + h[t-1, y+1, x] + h[t-1, y, x-1] + h[t-1, y, x+1])
tensor late: f32[y: inf, x: inf] = h[200, y, x] + h[200, y + 1, x]
";

/// Elements of all steps up to the last, each one wider on every side than the next.
fn cone(steps: u64, height: u64, width: u64) -> u64 {
    (0..=steps).map(|back| (height + 2 * back) * (width + 2 * back)).sum()
}

#[test]
fn small_tiles_repeat_no_step_of_a_recurrence() {
    let (expect, whole) = read(&compiled(jit(1, &[]), STEPS), "late[0:50, 0:50]");
    assert_eq!(elements(&whole, "h"), cone(200, 51, 50));
    for (threads, tile) in [(1, [7, 13]), (2, [7, 13]), (3, [1, 64])] {
        let (data, stats) = read(&compiled(jit(threads, &tile), STEPS), "late[0:50, 0:50]");
        let told = format!("{threads} threads, tiles of {tile:?}");
        accounts(&told, &stats);
        assert_eq!(elements(&stats, "h"), cone(200, 51, 50), "{told}");
        assert!(data == expect, "{told}");
    }
}

#[test]
fn workers_share_the_steps_of_a_recurrence() {
    let (expect, _) = read(&compiled(jit(1, &[]), STEPS), "h[30, -9:300, 0:290]");
    for threads in [2, 3, 4] {
        let (data, stats) = read(&compiled(jit(threads, &[]), STEPS), "h[30, -9:300, 0:290]");
        accounts("shared steps", &stats);
        assert_eq!(elements(&stats, "h"), cone(30, 309, 290));
        assert!(data == expect, "{threads} threads");
    }
}

/// Recurrences that read far and near, several steps back, on one side only, into walls, round the edge, and from a
/// source that changes with every step.
const KINDS: &str = "
tensor force: f32[t: inf, y: inf, x: inf] = rand(t, y, x)
tensor far: f32[t: 0..50, y: inf, x: inf] =
    if t == 0 then rand(y, x) else 0.5 * (far[t-1, y-3, x+1] + far[t-1, y+2, x-2])
tensor wave: f32[t: 0..50, y: inf, x: inf] =
    if t < 2 then rand(y, x) else 0.5 * (wave[t-1, y-1, x] + wave[t-1, y+1, x]) - 0.25 * wave[t-2, y, x-1]
tensor aside: f32[t: 0..50, y: inf, x: inf] =
    if t == 0 then rand(y, x) else 0.5 * aside[t-1, y-1, x] + 0.25 * aside[t-1, y-2, x-1]
tensor walls: f32[t: 0..50, y: 0..300, x: 0..260] =
    if t == 0 then rand(y, x)
    else 0.25 * (walls[t-1, max(y-1, 0), x] + walls[t-1, min(y+1, 299), x] + walls[t-1, y, max(x-1, 0)])
tensor torus: f32[t: 0..50, y: 0..300, x: 0..260] =
    if t == 0 then rand(y, x)
    else 0.25 * (torus[t-1, (y + 299) % 300, x] + torus[t-1, (y + 1) % 300, x] + torus[t-1, y, max(x-1, 0)])
tensor forced: f32[t: 0..50, y: inf, x: inf] =
    if t == 0 then 0 else 0.5 * (forced[t-1, y-1, x] + forced[t-1, y, x+1]) + force[t, y, x]
";

#[test]
fn any_number_of_steps_per_pass_gives_the_same_bits_and_no_more_work() {
    let reference = compiled(jit(1, &[1, 1000, 1000]), KINDS);
    for name in ["far", "wave", "aside", "walls", "torus", "forced"] {
        let slice = format!("{name}[20, 0:300, 0:260]");
        let (expect, once) = read(&reference, &slice);
        for (threads, tile) in [
            (1, vec![]),
            (1, vec![2, 7, 999]),
            (1, vec![8, 16, 64]),
            (2, vec![5, 3, 999]),
            (3, vec![21, 64, 999]),
        ] {
            let (data, stats) = read(&compiled(jit(threads, &tile), KINDS), &slice);
            let told = format!("{slice}, {threads} threads, tiles of {tile:?}");
            accounts(&told, &stats);
            assert_eq!(elements(&stats, name), elements(&once, name), "{told}");
            assert!(data == expect, "{told}");
        }
    }
}

#[test]
fn steps_that_leave_the_cache_go_several_per_pass() {
    let engine = compiled(jit(1, &[]), STEPS);
    let notes = |slice: &str| engine.plan(slice).unwrap().notes.join("\n");
    let small = notes("h[30, 0:64, 0:64]");
    assert!(small.contains("one step per pass, since 123.0 kB of them stay in a cache of 1.0 MB"), "{small}");
    let large = notes("h[30, 0:4096, 0:4096]");
    assert!(large.contains("8 steps per pass in blocks of 8×"), "{large}");
    assert!(large.contains("since 138.2 MB of them do not stay in a cache of 1.0 MB, blocks do"), "{large}");
    // What is computed, and what is held, is the same as without.
    let (one, many) = (compiled(jit(1, &[1, 9999, 9999]), STEPS), engine);
    let slice = "h[30, 0:700, 0:700]";
    let ((expect, once), (data, stats)) = (read(&one, slice), read(&many, slice));
    assert_eq!(elements(&stats, "h"), cone(30, 700, 700));
    assert_eq!(stats.bytes.peak_planned, once.bytes.peak_planned);
    assert!(data == expect);
}

#[test]
fn a_large_recurrence_is_handed_on_step_by_step() {
    for threads in [1, 2] {
        let engine = compiled(jit(threads, &[]), STEPS);
        let prepared = engine.prepare("h[10:40, 0:800, 0:800]").unwrap();
        let (array, whole) = prepared.read_array().unwrap();
        let mut sink = Kept::default();
        let stats = prepared.run(&mut sink).unwrap();
        assert!(sink.0.len() > 64 << 20 && sink.0 == array.data, "other bytes step by step");
        accounts("step by step", &stats);
        accounts("in one piece", &whole);
        // Steps 10 to 39 are computed once, each as wide as the last one makes it.
        assert_eq!(elements(&stats, "h"), cone(39, 800, 800));
        assert!(stats.bytes.peak < 16 << 20, "{:?}", stats.bytes);
    }
}

#[test]
fn reads_far_apart_compute_nothing_between() {
    let script = "
        tensor p: f32[x: inf] = rand(x)
        tensor q: f32[x: inf] = p[x - 1] + p[x + 1]
        tensor far: f32[x: inf] = q[x] - q[x - 100000000]";
    let (data, stats) = read(&compiled(jit(2, &[]), script), "far[0:10]");
    assert!(elements(&stats, "q") <= 20 && elements(&stats, "p") <= 24, "{:?}", stats.computed);
    let reference = compiled(Engine::builder().kind(Kind::Interp), script);
    assert!(data == reference.read_array("far[0:10]").unwrap().data);
}

#[test]
fn boxes_are_given_on_when_their_last_reader_is_done() {
    // Every stage is turned, so none can go along in bands.
    let script = |count: usize| {
        let stage =
            |at: usize| format!("tensor t{}: f32[y: inf, x: inf] = t{at}[x, y] + t{at}[x + 1, y]\n", at + 1);
        "tensor t0: f32[y: inf, x: inf] = rand(y, x)\n".to_owned()
            + &(0..count).map(stage).collect::<String>()
    };
    let engine = |count: usize| compiled(jit(1, &[]), &script(count));
    let peak = |count: usize| engine(count).plan(&format!("t{count}[0:100, 0:100]")).unwrap().bytes_peak;
    assert!(peak(40) < 2 * peak(5), "{} and {}", peak(40), peak(5));
    let (data, stats) = read(&engine(7), "t7[0:30, 0:20]");
    accounts("boxes given on", &stats);
    let reference = compiled(Engine::builder().kind(Kind::Interp), &script(7));
    assert!(data == reference.read_array("t7[0:30, 0:20]").unwrap().data);
}

/// Tiles that some tasks read only under a condition: each is read by whom it is planned for, and freed after.
#[test]
fn readers_under_conditions_are_counted() {
    let coupled = "
tensor a: i16[y: inf, x: inf] = 1
tensor b: u8[y: inf, x: inf] = if y == 2 then (max(k in 0..3) u8(a[y + k, x])) else u8(a[y + 3, x - 1])
tensor c: f32[y: inf, x: inf] = f32(b[x, x + 2])
tensor d: i32[y: inf, x: inf] =
    if y % 3 == 0 then i32(b[y, x - 5]) else if y % 2 == 1 or x > 4 then 1 else i32(c[y - 5, 2 * x + 1])
";
    let single = |at: i64| {
        format!(
            "tensor a: i32[x: inf] = x + 200\ntensor b: i32[x: inf] = a[2 * x]\n\
             tensor c: i32[x: inf] = b[x % 4] * 0 + (if x == {at} then a[x] else 1)\n"
        )
    };
    let cases = [
        (coupled.to_owned(), vec![3, 5], "d[5:9, 1:33]"),
        (single(0), vec![1], "c[0:34]"),
        (single(17), vec![1], "c[0:34]"),
        (single(33), vec![1], "c[0:9000]"),
    ];
    for (script, tile, slice) in cases {
        let expected = compiled(Engine::builder().kind(Kind::Interp), &script);
        let expected = expected.prepare(slice).and_then(|read| read.read_array()).unwrap().0.data;
        for threads in [1, 2] {
            let engine = compiled(jit(threads, &tile).store(0), &script);
            let (array, stats) = engine.prepare(slice).and_then(|read| read.read_array()).unwrap();
            assert!(array.data == expected, "{slice} of\n{script}");
            assert_eq!(stats.tiles.live_end, 0, "{slice} of\n{script}");
        }
    }
}

#[test]
fn nothing_needs_nothing() {
    let script = "
        tensor b: i32[x: 3..9] = x
        view before = b[4:4].add_dim(n).flatten()
        view after = b.add_dim(n)[:, 4:4].reshape([0])";
    for kind in [Kind::Jit, Kind::Interp] {
        let engine = compiled(Engine::builder().kind(kind), script);
        for slice in ["before[:]", "after[:]", "b[4:4]"] {
            assert_eq!(engine.read_array(slice).unwrap().shape, [0], "{slice}");
        }
    }
}

/// What is read of windows far apart is computed there, and not between.
#[test]
fn windows_between_scattered_reads_are_not_computed() {
    let script = "
        tensor s: f32[x: inf] = f32(x)
        tensor w: f32[x: inf] window [4] stride [3] as [i] take b = s window [4] stride [3] = b[i]
        tensor p: f32[y: inf, x: inf] window [6, 6] stride [4, 4] as [i, j] = f32(i) + 7 * f32(j)
        view listed = w.oindex({x: [0, 5, 300000000]})
        tensor odd: f32[x: inf] = w[x + 100000000 * (x % 2)]
        tensor grid: f32[y: inf, x: inf] = p[1000 * y, 1000 * x]
        tensor slant: f32[x: inf] = p[x, x]";
    let cases = [
        ("listed[0:3]", "w", 9),
        ("w[0:100000000:1000000]", "w", 100),
        ("odd[0:10]", "w", 10),
        ("grid[0:20, 0:20]", "p", 400),
        ("slant[0:2000]", "p", 2000 * 64),
    ];
    let reference = compiled(Engine::builder().kind(Kind::Interp), script);
    for (slice, name, most) in cases {
        let (data, stats) = read(&compiled(jit(2, &[]), script), slice);
        let computed = elements(&stats, name);
        assert!(computed <= most, "{slice}: {computed} of {name}");
        let windows = stats.windows.iter().map(|(_, windows)| windows.computed).sum::<u64>();
        assert!((1..=4 * most).contains(&windows), "{slice}: {windows} windows");
        assert!(data == reference.read_array(slice).unwrap().data, "{slice}");
        accounts(slice, &stats);
    }
}

/// Nor between the steps of a reduction, wherever they lie.
#[test]
fn windows_between_steps_of_a_reduction_are_not_computed() {
    let script = "
        let places = [0, 70000000, -500000000, 3]
        tensor s: f32[x: inf] = rand(x)
        tensor w: f32[x: inf] window [4] stride [3] as [i] take b = s window [4] stride [3] = b[i]
        tensor p: f32[y: inf, x: inf] window [6, 6] stride [4, 4] as [i, j] = rand(i, j)
        tensor even: f32[x: inf] = sum(i in 0..4) w[x + 100000000 * i]
        tensor listed: f32[x: inf] = max(i in 0..4) w[x + places[i]] * (i + 1)
        tensor where: i64[x: inf] = argmax(i in 0..5) w[2 * x - 1000000 * i] - w[x]
        tensor weighed: f32[y: inf, x: inf] =
            sum(i in 0..3, j in 0..2) (0.1 + i) * p[y + 1000000 * i, x - 1000000 * j + (sum(k in 0..2) j)]
        view moved = w.translate_by({x: -20})
        tensor through: f32[x: inf] = mean(i in 0..3) moved[x + 5000 * i] + moved[x + 5000 * i + 1]
        tensor pair: f32[x: inf] = w[x] + w[x + 1000]
        tensor squares: f32[x: inf] = sum(i in 0..4) w[x + 100000 * i * i]
        tensor shifts: f32[x: inf] = max(i in 0..4) w[x + (100000 << i)]
        tensor chosen: f32[x: inf] = sum(i in 0..3) w[x + (if i == 1 then 100000 else 0)]
        tensor thirds: f32[x: inf] = sum(i in 0..4) w[(x + places[i]) // 3]
        tensor narrow: f32[x: inf] = sum(i in 0..4) w[i32(x) + 100000 * i32(i)]
        tensor small: f32[x: inf] = w[i8(x)] + w[u32(x)]
        tensor own: f32[x: inf] window [100000] as [p] = w[p] + w[99999 - p]
        var v: f32[y: inf, x: inf] = 1
        set v[0:4, 0:5] = x + y
        tensor far: f32[x: inf] = sum(i in 0..2) v[x + 70000 * i, x + 70000 * i]
        view listed_v = v.oindex({y: [0, 100000], x: [1, 100000]})";
    let cases = [
        ("even[0:10]", "w", 40),
        ("listed[0:10]", "w", 40),
        ("where[0:10]", "w", 105),
        ("weighed[0:10, 0:10]", "p", 600),
        ("through[0:10]", "w", 33),
        ("pair[7:8]", "w", 2),
        ("squares[0:3]", "w", 12),
        ("shifts[0:3]", "w", 12),
        ("chosen[0:3]", "w", 9),
        ("thirds[0:3]", "w", 8),
        ("narrow[0:3]", "w", 12),
        ("small[-3:-1]", "w", 4),
        ("small[130:131]", "w", 2),
        ("own[100005:100007]", "w", 4),
        ("far[0:3]", "v", 20),
        ("listed_v[0:2, 0:2]", "v", 20),
    ];
    let reference = compiled(Engine::builder().kind(Kind::Interp), script);
    for (slice, name, most) in cases {
        let (data, stats) = read(&compiled(jit(2, &[]), script), slice);
        let computed = elements(&stats, name);
        assert!(computed <= most, "{slice}: {computed} of {name}");
        assert!(data == reference.read_array(slice).unwrap().data, "{slice}");
        accounts(slice, &stats);
    }
}

/// Nor between reads that are near, but further apart than windows are.
#[test]
fn windows_between_near_reads_are_not_computed() {
    let script = "
        tensor s: f32[x: inf] = rand(x)
        tensor w: f32[x: inf] window [4] stride [3] as [i] take b = s window [4] stride [3] = b[i]
        tensor p: f32[y: inf, x: inf] window [6, 6] stride [4, 4] as [i, j] = rand(i, j)
        tensor twice: f32[x: inf] = 2 * w[x]
        tensor pair: f32[x: inf] = w[x] + w[x + 100]
        tensor through: f32[x: inf] = twice[x] + twice[x + 100]
        tensor cross: f32[y: inf, x: inf] = p[y - 20, x] + p[y + 20, x] + p[y, x - 20] + p[y, x + 20]
        tensor even: f32[x: inf] = sum(i in 0..4) w[x + 50 * i]
        tensor close: f32[x: inf] = sum(i in 0..40) w[x + i]";
    let cases = [
        ("pair[7:8]", "w", 2),
        ("pair[-4:0]", "w", 8),
        ("through[7:8]", "w", 2),
        ("cross[3:4, 5:6]", "p", 4),
        ("even[0:3]", "w", 12),
        ("close[0:3]", "w", 42),
    ];
    let reference = compiled(Engine::builder().kind(Kind::Interp), script);
    for (slice, name, most) in cases {
        let (data, stats) = read(&compiled(jit(2, &[]), script), slice);
        let computed = elements(&stats, name);
        assert!(computed <= most, "{slice}: {computed} of {name}");
        assert!(data == reference.read_array(slice).unwrap().data, "{slice}");
        accounts(slice, &stats);
    }
}

/// Nor between the takes of windows that overlap, or of elements that tasks need together.
#[test]
fn windows_between_takes_that_move_far_are_not_computed() {
    let script = "
        tensor s: f32[x: inf] = rand(x)
        tensor w: f32[x: inf] window [4] stride [3] as [i] take b = s window [4] stride [3] = b[i]
        tensor both: f32[x: inf] window [4] stride [2] as [i] take b = w window [4] stride [100000] = b[i] * 2
        tensor even: f32[x: inf] window [4] stride [2] as [i]
            take b = w window [4] stride [100000] blend mean = b[i]
        tensor half: f16[x: inf] window [4] stride [2] as [i]
            take b = w window [4] stride [100000] blend max = f16(b[i])
        tensor first: f32[x: 1..1002] window [5] stride [3] offset [1] as [i]
            take b = w window [5] stride [100000] blend first = b[i]
        tensor own: f32[x: 1..1002] window [5] stride [3] offset [1] as [i]
            take b = w window [5] stride [100000] blend (old, new) => old * 0.5 + new init 1 = b[i] * 2
        tensor gaps: f32[x: 0..1005] window [3] stride [7] offset [1] as [i]
            take b = w window [3] stride [100000] blend last init 4 = b[i]
        tensor flat: f32[y: inf, x: inf] window [4, 4] stride [2, 2] as [i, j]
            take b = w window [4] stride [100000] map [y] = b[i] + (sum(k in 0..2) b[k]) * j
        tensor pair: f32[x: inf] = w[1000000 * x - 1000000] + w[1000000 * x + 1000000]
        tensor once: f32[x: inf] = w[1000000 * x] * 2
        tensor chain: f32[x: inf] = once[x - 1] + once[x + 1]";
    let cases = [
        ("both[0:1]", "w", 2),
        ("both[2:10]", "both", 8),
        ("even[3:4]", "w", 2),
        ("even[2:20]", "w", 72),
        ("half[2:20]", "w", 72),
        ("first[8:9]", "w", 2),
        ("own[997:1000]", "w", 6),
        ("own[997:1000]", "own", 3),
        ("gaps[0:10]", "w", 6),
        ("flat[3:4, 3:9]", "w", 6),
        ("pair[0:10]", "w", 20),
        ("chain[0:10]", "w", 20),
    ];
    let reference = compiled(Engine::builder().kind(Kind::Interp), script);
    for (slice, name, most) in cases {
        let (data, stats) = read(&compiled(jit(2, &[]), script), slice);
        let computed = elements(&stats, name);
        assert!((1..=most).contains(&computed), "{slice}: {computed} of {name}");
        assert!(data == reference.read_array(slice).unwrap().data, "{slice}");
        accounts(slice, &stats);
    }
}

/// Reads across an end of a mirrored source need what lies on both sides of it, not all of it.
#[test]
fn mirrors_reach_only_as_far_as_they_are_read() {
    for view in ["mirror", "reflect", "clamp"] {
        let stencil = |name: &str| {
            format!("f32[y: 300, x: 200] = sum(j in -2..=2, i in -2..=2) {name}.{view}()[y + j, x + i]")
        };
        let script = format!(
            "tensor s: f32[y: 300, x: 200] = y * 7 + x
             tensor a: {}
             tensor b: {}
             tensor d: {}",
            stencil("s"),
            stencil("a"),
            stencil("b")
        );
        let reference = compiled(Engine::builder().kind(Kind::Interp), &script);
        for (y, x) in [(0, 0), (1, 3), (3, 199), (299, 2), (150, 100)] {
            let slice = format!("d[{y}:{}, {x}:{}]", y + 1, x + 1);
            let (data, stats) = read(&compiled(jit(1, &[]), &script), &slice);
            let most = [("s", 169), ("a", 81), ("b", 25), ("d", 1)];
            for (name, most) in most {
                assert!((1..=most).contains(&elements(&stats, name)), "{view} {slice}: {name} {stats:?}");
            }
            assert!(data == reference.read_array(&slice).unwrap().data, "{view} {slice}");
            accounts(&slice, &stats);
        }
    }
}

/// Reads across a seam of a wrapped source need what lies on both sides of it, not all of it.
#[test]
fn seams_reach_only_as_far_as_they_are_read() {
    let script = "
        tensor n: f32[x: inf] = rand(x)
        tensor a: f32[x: 1000000] window [4] stride [3] as [i] take b = n window [4] stride [3] = b[i] + i
        tensor ring: f32[x: 1000000] = sum(i in -2..=2) a.wrap()[x + i]
        tensor twice: f32[x: 1000000] = sum(i in -2..=2) ring.wrap()[x + i]
        tensor apart: f32[x: inf] = a.wrap()[x - 1] + a.wrap()[x] + a.wrap()[x + 1]
        tensor both: f32[x: inf] = sum(i in -2..=2) a[0:700000].wrap()[0:900000].wrap()[x + i]
        tensor back: f32[x: inf] = sum(i in -2..=2) a.flip([x]).wrap()[2 * x + i]
        tensor rows: f32[x: 1..999999] = sum(i in -1..=1) a.reshape([1000, 1000])[(x + i) // 1000, (x + i) % 1000]
        tensor blended: f32[x: 0..9002] window [6] stride [4] as [i]
            take b = a.wrap() window [6] stride [4] offset [-3] = b[i] * 2
        tensor s: f32[y: 3..3001, x: -50..1948] window [6, 6] stride [4, 4] offset [3, -50] as [i, j] =
            sum(k in 0..40) rand(index(y), index(x), i, j + k)
        tensor t: f32[y: inf, x: inf] = sum(j in -1..=1, i in -1..=1) s.wrap()[y + j, x + i]
        tensor u: f32[y: 2998, x: 1998] = t[y, x] + t[y, x + 1] + t[y + 1, x]
        tensor v: f32[x: 1998, y: 2998] = max(j in -1..=1, i in -1..=1) u.wrap()[y + j, x + i]
        tensor line: f32[x: inf] = sum(i in -1..=1) s.wrap()[10, x + i]";
    let cases = [
        ("ring[0]", "a", 5),
        ("ring[999990:1000000]", "a", 14),
        ("ring[500000:500010]", "a", 14),
        ("twice[0:10]", "a", 18),
        ("twice[0:10]", "ring", 14),
        ("apart[-5:7]", "a", 14),
        ("apart[3999995:4000003]", "a", 10),
        ("both[0]", "a", 5),
        ("both[699999:700001]", "a", 6),
        ("both[899999]", "a", 5),
        ("back[0:2]", "a", 7),
        ("blended[0:9]", "a", 14),
        ("t[2:4, -51:-49]", "s", 16),
        ("t[2999:3003, 1000:1004]", "s", 36),
        ("t[1000:1004, 5943:5945]", "s", 24),
        ("v[0:2, 0:3]", "s", 56),
        ("v[1997, 2997]", "s", 36),
        ("v[0, 1500]", "s", 36),
        ("line[-51:-49]", "s", 4),
        ("rows[999:1002]", "a", 5),
    ];
    let reference = compiled(Engine::builder().kind(Kind::Interp), script);
    for (at, (slice, name, most)) in cases.into_iter().enumerate() {
        let (data, stats) = read(&compiled(jit(1 + at % 2, &[]), script), slice);
        let computed = elements(&stats, name);
        assert!((1..=most).contains(&computed), "{slice}: {computed} of {name}");
        assert!(data == reference.read_array(slice).unwrap().data, "{slice}");
        accounts(slice, &stats);
    }
}

/// Of what conditions choose between neither a plan nor a run holds what lies between.
#[test]
fn places_that_conditions_choose_between_may_be_far_apart() {
    let script = "
        tensor w: f32[y: inf, x: inf] window [3, 3] stride [5, 5] as [i, j] = rand(index(y), index(x), i, j)
        tensor c: f32[x: inf] = if x % 4 < 1 then w[x, 3] else w[x, x]";
    let reference = compiled(Engine::builder().kind(Kind::Interp), script);
    let far = 1_000_000_000_000i64;
    for (tile, count, most) in [(&[][..], 3000, 17 * 3000), (&[1], 1100, 2 * 1100), (&[3], 4000, 4 * 4000)] {
        let slice = format!("c[{far}:{}]", far + count);
        let (data, stats) = read(&compiled(jit(2, tile), script), &slice);
        let computed = elements(&stats, "w");
        assert!((1..=most).contains(&computed), "{slice}: {computed}");
        assert!(stats.bytes.peak_planned < 1 << 20, "{:?}", stats.bytes);
        assert!(data == reference.read_array(&slice).unwrap().data, "{slice}");
        accounts(&slice, &stats);
    }
}

/// Nor between those that a condition on a remainder asks for, where they take long.
#[test]
fn windows_between_those_with_a_remainder_are_not_computed() {
    let script = "
        tensor n: f32[x: inf] = rand(x)
        tensor w: f32[x: inf] window [4] stride [3] as [i]
            take b = n window [2204] stride [3] = sum(k in 0..2200) b[i + k]
        tensor one: f32[x: inf] = if x % 100 == 7 then w[x] else 0
        tensor few: f32[x: inf] = if (x + 5) % 1000 < 3 then w[x] else w[0]
        tensor near: f32[x: inf] = sum(i in -1..=1) if (x + i) % 100 == 7 then w[x + i] else 0";
    let cases = [
        ("one[0:1000]", 10),
        ("one[-50000:50000]", 1000),
        ("one[8:107]", 0),
        ("few[100:20000]", 100),
        ("near[0:10000]", 120),
    ];
    let reference = compiled(Engine::builder().kind(Kind::Interp), script);
    for (slice, most) in cases {
        for threads in [1, 2] {
            let (data, stats) = read(&compiled(jit(threads, &[]), script), slice);
            let computed = elements(&stats, "w");
            assert!((most.min(1)..=most).contains(&computed), "{slice}: {computed} of w");
            assert!(data == reference.read_array(slice).unwrap().data, "{slice}");
            accounts(slice, &stats);
        }
    }
}

/// Tiles that nobody reads are neither made nor planned; `read` compares the two.
#[test]
fn tiles_that_nobody_reads_are_not_planned() {
    // Of every 32 rows four are read, which lie in one of four tiles.
    let script = "
        tensor s: u8[y: inf, x: 0..64] format dense(run_list(element(u8(0)))) = u8(y + 1)
        tensor gaps: u8[y: inf, x: 0..64] window [4, 64] stride [32, 64] as [i, j]
            take b = s window [4, 64] stride [32, 64] = b[i, j]";
    for (rows, of_s) in [(64, 2), (256, 8), (512, 16)] {
        let slice = format!("gaps[0:{rows}, :]");
        let (data, stats) = read(&compiled(jit(2, &[8, 64]).store(0), script), &slice);
        assert_eq!(stats.tiles.computed, of_s + rows / 8, "{slice}");
        assert_eq!((data[32 * 64], data[36 * 64]), (33, 0));
        accounts(&slice, &stats);
    }
}

/// What resamples by a fraction moves on like anything else, near the origin; far from it, it is held longer.
#[test]
fn tiles_that_are_resampled_are_freed_when_they_are_passed() {
    let script = "
        tensor s: f32[x: inf] = rand(x)
        tensor smooth: f32[x: inf] = (sum(k in 0..40) s[x + k]) / 40
        tensor near: f32[x: inf] = smooth[5 * x // 3] + smooth[5 * x // 3 + 30]
        tensor steps: f32[x: inf] = s[5 * x // 3]";
    let engine = compiled(jit(1, &[7]).store(0), script);
    let reference = compiled(Engine::builder().kind(Kind::Interp), script);
    for start in [-7_000, 1_000_003, 1 << 50] {
        let slice = |name: &str, len: i64| format!("{name}[{start}:{}]", start + len);
        for name in ["near", "steps"] {
            let (data, stats) = read(&engine, &slice(name, 14_000));
            accounts(name, &stats);
            assert_eq!(data[..400], reference.read_array(&slice(name, 100)).unwrap().data);
            let few = stats.tiles.live_peak <= 20 && stats.bytes.peak_planned <= stats.bytes.peak + 64;
            assert!(few || start == 1 << 50, "{name} at {start}: {:?} {:?}", stats.tiles, stats.bytes);
        }
    }
    // What was found out near the origin is no answer where arithmetic wraps.
    let stepped = |start: i64| format!("near[{start}:{}:20]", start + 60);
    for start in [0, 1_000_000_000_000, 1_800_000_000_000_000_000] {
        let expect = reference.read_array(&stepped(start)).unwrap().data;
        assert!(engine.read_array(&stepped(start)).unwrap().data == expect, "{start}");
    }
    let error = engine.read_array(&stepped(2_000_000_000_000_000_000)).unwrap_err();
    assert_eq!(error.code(), Some(Code::E1009), "{error}");
}

/// What every task would compute again is set apart, too, although all of it is little.
#[test]
fn tasks_that_read_at_two_rates_compute_nothing_again() {
    let script = "
        tensor w: f32[x: inf] window [3] stride [2] as [p] = rand(x // 7, p)
        tensor rates: f32[x: inf] = w[5 * x // 3] + w[x // 7]
        tensor under: f32[x: inf] window [7] stride [10] offset [5] as [p] = rates[2 * x]";
    let (data, stats) = read(&compiled(jit(2, &[101]), script), "under[-20000:20000]");
    assert!((20_000..200_000).contains(&elements(&stats, "w")), "{:?}", stats.computed);
    accounts("two rates", &stats);
    let reference = compiled(Engine::builder().kind(Kind::Interp), script);
    assert_eq!(data[..400], reference.read_array("under[-20000:-19900]").unwrap().data);
}

/// Nor for what a `set` writes; its windows count.
#[test]
fn windows_between_reads_of_a_set_are_not_computed() {
    let script = "
        tensor w: f32[y: inf, x: inf] window [4, 4] stride [3, 3] as [i, j] = rand(y, x) + i
        var v: f32[x: inf] = 0
        set v[0:8] = w[x, x] + w[-x - 200000, 0]
        set v[10:12] = w[0, 100000000 * x] + v[x - 3] + v[x - 100000] + (sum(i in 0..3) w[0, x + 500000 * i])
        tensor t: f32[x: inf] = v[x] + 1";
    let (engine, reference) =
        (compiled(jit(2, &[]), script), compiled(Engine::builder().kind(Kind::Interp), script));
    let (data, stats) = read(&engine, "t[0:12]");
    assert!(data == reference.read_array("t[0:12]").unwrap().data);
    assert!((24..=80).contains(&elements(&stats, "w")), "{:?}", stats.computed);
    let windows = stats.windows.iter().map(|(_, windows)| windows.computed).sum::<u64>();
    assert!((10..=80).contains(&windows), "{:?}", stats.windows);
    accounts("sets", &stats);
    let (_, again) = read(&engine, "t[100:112]");
    assert!(again.windows.is_empty(), "{:?}", again.windows);
}

/// What the schedule knows of a tile takes memory, too.
#[test]
fn tiles_of_one_element_are_not_for_nothing() {
    let script = "
        tensor s: f32[x: inf] chunk [1] = sin(x * 0.1)
        tensor a: f32[x: inf] chunk [1] = sum(k in 0..20000) s[x + k]";
    let engine = compiled(jit(1, &[]), script);
    let (_, stats) = read(&engine, "a[0:2]");
    accounts("tiles of one element", &stats);
    assert!(stats.bytes.peak > 850 * 20_001, "{:?}", stats.bytes);
}

/// Who reads which tile is a few numbers where reads move evenly, and is counted where it is not.
#[test]
fn tables_of_readers_are_small_or_counted() {
    let peak = |read_at: &str| {
        let script = format!(
            "tensor s: f32[x: inf] chunk [1] = sum(k in 0..3) sin(x * 0.1 + k)
             tensor a: f32[x: inf] chunk [1] = sum(k in 0..3) s[{read_at} + k]"
        );
        let engine = compiled(jit(1, &[]), &script);
        let (_, stats) = read(&engine, "a[0:40000]");
        accounts(read_at, &stats);
        stats.bytes.peak - 4 * 40_000
    };
    assert!(peak("x") < 10_000 && peak("2 * x") < 10_000);
    // Parts of two numbers or more, 40 bytes each.
    let uneven = peak("x * 5 // 7");
    assert!((40_000 * 4..40_000 * 20 + 10_000).contains(&uneven), "{uneven}");
}

/// A `set` runs for what is read of it, through sets after it, too; the first read of more runs all.
#[test]
fn sets_run_where_they_are_read() {
    let script = "
        tensor w: f32[x: inf] window [64] as [i] = rand(x) + i
        var v: f32[x: inf] = 0
        var u: f32[x: inf] = 0
        set v[0:100000] = w[x]
        set u[-10:50000] = v[x + 1000] + v[x + 1001]
        set v[500:600] = u[x]
        set v.stride([2])[0:10] = w[x + 64000]
        tensor t: f32[x: inf] = v[x] + 1
        tensor p: f32[x: inf] = u[x] + v[x]";
    let reference = compiled(Engine::builder().kind(Kind::Interp), script);
    let windows = |engine: &Engine, slice: &str| {
        let planned = engine.plan(slice).unwrap();
        let (data, stats) = read(engine, slice);
        accounts(slice, &stats);
        assert!(data == reference.read_array(slice).unwrap().data, "{slice}");
        let count = |all: &[(Arc<str>, Windows)]| all.iter().map(|(_, own)| own.computed).sum::<u64>();
        assert_eq!(count(&planned.windows), count(&stats.windows), "{slice}");
        count(&stats.windows)
    };
    let fresh = |slice: &str| windows(&compiled(jit(2, &[]).store(0), script), slice);
    assert_eq!(fresh("t[5000:5001]"), 1);
    assert_eq!(fresh("t[510:511]"), 1, "1510 and 1511 of what was written first");
    assert_eq!(fresh("t[-20:-15]"), 0);
    assert_eq!(fresh("t[3:4]"), 2, "a `set` through a view that steps runs whole");
    assert_eq!(fresh("p[40000:40064]"), 17, "the box around 40000..40064 and 41000..41065");
    let engine = compiled(jit(2, &[]).store(0), script);
    assert_eq!(windows(&engine, "t[5000:5001]"), 1);
    assert_eq!(windows(&engine, "t[200000:200100]"), 0);
    assert_eq!(windows(&engine, "t[5000:5001]"), 0, "it has run");
    assert!(windows(&engine, "t[7000:7001]") >= 1563, "everything runs");
    assert_eq!(windows(&engine, "t[9000:9100]"), 0, "everything has run");
}

/// A read that happens in one row costs the others nothing.
#[test]
fn reads_under_conditions_that_do_not_hold_compute_nothing() {
    let script = "
        tensor a: u8[y: inf, x: inf] = u8(hash(y, x) & 255)
        tensor b: u8[y: inf, x: inf] = a[y, x - 1] // 2 + a[y, x + 1] // 2
        tensor c: u8[y: inf, x: inf] = if y == 300 then u8(sum(k in 0..400) u32(b[y + k, x])) else b[y, x]";
    let engine = compiled(jit(2, &[64, 512]), script);
    let (data, stats) = read(&engine, "c[0:1024, 0:1024]");
    let rows = elements(&stats, "a") / 1028;
    assert!(rows <= 1024 + 8 * 64 + 8, "{rows} rows of a: {:?}", stats.computed);
    accounts("one row needs more", &stats);
    let reference = compiled(Engine::builder().kind(Kind::Interp), script);
    let part = reference.read_array("c[298:302, 0:1024]").unwrap().data;
    assert!(data[298 * 1024..302 * 1024] == part[..]);
}

/// Takes everything and keeps nothing.
struct Lost;

impl Sink for Lost {
    fn write(&mut self, _: &[u8]) -> Result<()> {
        Ok(())
    }
}

/// Slabs whose plan was not looked at ahead of time are cut when they need more than was said.
#[test]
fn slabs_between_those_that_were_planned_hold_no_more() {
    let script = "
        tensor a: u8[y: inf, x: inf] = u8(y ^ x)
        tensor b: u8[y: inf, x: inf] = a[x % 7 + y, x] + 1
        tensor c: u8[y: inf, x: inf] = if y == 40 then max(k in 0..60) b[y + k, x] else b[y, x]";
    let engine = compiled(jit(2, &[]).store(0), script);
    // Slabs of 16 rows; the third has row 40, which needs 60 rows of 4 MiB.
    let read = engine.prepare("c[0:128, 0:4194304]").unwrap();
    let stats = read.run(&mut Lost).unwrap();
    assert!(stats.bytes.peak <= stats.bytes.peak_planned, "{:?}", stats.bytes);
    let planned = |slice: &str| engine.plan(slice).unwrap().bytes_peak;
    assert_eq!(stats.bytes.peak_planned, planned("c[0:128, 0:4194304]"));
    assert!(planned("c[32:48, 0:4194304]") > stats.bytes.peak_planned, "the third slab needs more");
    assert_eq!(stats.tiles.live_end, 0);
}

#[test]
fn tasks_that_read_two_ways_do_not_read_everything_between() {
    let script = "tensor a: f32[y: inf, x: inf] format dense(sparse_list(element(f32(0)))) = sin(y) + x
        tensor b: f32[y: inf, x: inf] format dense(sparse_list(element(f32(0)))) = a[y, x] + a[0, 0]
        tensor c: f32[y: inf, x: inf] = b[y, x] + 1";
    let engine = compiled(jit(1, &[1, 3]), script);
    let start = Instant::now();
    let (bytes, stats) = read(&engine, "c[0:100, 0:300]");
    // Every task of b held all tiles of a before: 10,000 times 10,000.
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    accounts("both ways", &stats);
    assert!(stats.tiles.live_peak < 1000, "{:?}", stats.tiles);
    let interp = compiled(Engine::builder().kind(Kind::Interp), script);
    let expect = interp.prepare("c[0:100, 0:300]").unwrap().read_array().unwrap().0;
    assert!(bytes == expect.data);
}

/// A matrix in rows, times data, and times what is computed of it.
const MATRIX: &str = "input m: f64[y: 300, x: 300] format dense(sparse_list(element(0.0)))
    input v: f64[x: 300]
    tensor p: f64[y: 300] = sum(k in 0..300) m[y, k] * v[k]
    tensor c: f64[x: 300] = v[x] * 2.0
    tensor q: f64[y: 300] = sum(k in 0..300) m[y, k] * c[k]";

/// Bytes of all its elements.
const DENSE: u64 = 300 * 300 * 8;

fn with_matrix(builder: Builder, v: f64) -> Engine {
    let mut engine = compiled(builder.store(0), MATRIX);
    let mut matrix = Array2::zeros((300, 300));
    (0..300).for_each(|y| matrix[(y, 7 * y % 300)] = y as f64);
    engine.bind("m", &matrix).unwrap();
    engine.bind("v", &ndarray::Array1::from_elem(300, v)).unwrap();
    engine
}

#[test]
fn an_input_that_has_to_be_thawed_is_in_the_accounts() {
    // Times something finite, nobody needs every element.
    let engine = with_matrix(jit(1, &[64]), 0.5);
    let (bytes, stats) = read(&engine, "p[:]");
    accounts("finite", &stats);
    assert!(stats.bytes.peak_planned < DENSE / 4, "{:?}", stats.bytes);
    assert_eq!(bytes[8 * 299..], 149.5f64.to_le_bytes());
    // What data says is known before the run.
    let engine = with_matrix(jit(1, &[64]), f64::INFINITY);
    let (bytes, stats) = read(&engine, "p[:]");
    accounts("infinite", &stats);
    assert!(stats.bytes.peak > DENSE, "{:?}", stats.bytes);
    assert!(f64::from_le_bytes(bytes[8 * 299..].try_into().unwrap()).is_nan());
    // What is computed is not: the run says what it took, and the next one is planned with it.
    let engine = with_matrix(jit(1, &[64]), f64::INFINITY);
    let (_, stats) = read(&engine, "q[:]");
    assert!(stats.bytes.peak > DENSE && stats.bytes.peak_planned < DENSE, "{:?}", stats.bytes);
    let (_, stats) = read(&engine, "q[:]");
    accounts("thawed", &stats);
    assert!(stats.bytes.peak > DENSE, "{:?}", stats.bytes);
    let limited = with_matrix(jit(1, &[64]).memory(DENSE / 2), f64::INFINITY);
    for slice in ["p[:]", "q[:]"] {
        let done = limited.prepare(slice).and_then(|prepared| prepared.read_array());
        assert_eq!(done.unwrap_err().code(), Some(Code::E1005), "{slice}");
    }
}

#[test]
fn what_decides_whether_stored_elements_are_gone_along_is_there_before() {
    let engine = with_matrix(jit(2, &[64]), 0.5);
    let (bytes, stats) = read(&engine, "q[:]");
    accounts("computed", &stats);
    assert!(stats.bytes.peak_planned < DENSE / 4, "{:?}", stats.bytes);
    assert_eq!(bytes[8 * 299..], 299f64.to_le_bytes());
    let interp = with_matrix(Engine::builder().kind(Kind::Interp), 0.5);
    assert!(bytes == interp.prepare("q[:]").unwrap().read_array().unwrap().0.data);
}

#[test]
fn lists_along_two_dimensions_are_both_planned() {
    let script = "tensor a: f32[y: 200, x: 200] format sparse_coo(2, element(0.0)) = if (3 * y + x) % 7 == 0 then 1 else 0
        tensor rows: f32[y: 200] = sum(k in 0..200) a[y, k]
        tensor both: f32[y: 200] = rows[y] + (sum(k in 0..200) a[k, y])";
    let engine = compiled(jit(1, &[200]), script);
    let (_, stats) = read(&engine, "both[:]");
    accounts("both", &stats);
    let one = compiled(jit(1, &[200]), &script.replace("a[k, y]", "a[y, k]"));
    let more = stats.bytes.peak_planned - read(&one, "both[:]").1.bytes.peak_planned;
    // A list of what may be stored of 50 rows: a task of `a` makes as many.
    assert!(more >= 50 * 200 * 16, "{more}");
}

/// Windows with gaps, read at half the way and where the reader is: nothing between the two is planned, whatever the tiles
/// begin and end with, and whoever makes them.
#[test]
fn halves_and_wholes_of_windows_with_gaps() {
    let script = "
        tensor s: f32[y: inf, x: inf] = sum(i in 0..50) sin(y * i + x)
        tensor w: f32[y: inf, x: inf] window [64, 2] stride [100, 3] as [i, j]
            take s = s window [66, 2] stride [100, 3] blend last = s[i, j] + f32(i * j)
        tensor out: f32[y: inf, x: inf] = w[(y - 1) // 2, (x - 1) // 2] + w[y, x]";
    let reference = compiled(Engine::builder().kind(Kind::Interp), script);
    for far in [1_000_000i64, 1_000_000_000_000] {
        let slice = |columns: i64| format!("out[{far}:{}, 0:{columns}]", far + 100);
        let expected = reference.read_array(&slice(9)).unwrap().data;
        for (workers, tile) in [(1, &[37, 640][..]), (2, &[37, 640]), (3, &[16, 16]), (2, &[])] {
            let engine = compiled(jit(workers, tile), script);
            let held = engine.prepare(&slice(640)).unwrap().plan().bytes_peak;
            assert!(held < 2_000_000, "{} {tile:?} {workers}: {held} bytes", slice(640));
            let (data, stats) = read(&engine, &slice(9));
            assert!(data == expected, "{far} {tile:?}");
            accounts(&slice(9), &stats);
        }
    }
}

/// Where each worker holds much, and all of them too much, fewer do it.
#[test]
fn fewer_workers_do_what_all_have_no_room_for() {
    let script = "
        tensor a: f32[y: inf, x: inf] = sum(i in 0..30) sin(y * x + i)
        tensor b: f32[y: inf, x: inf] = sum(i in 0..200) a[y + i, x] + a[y + i, x + i]";
    let slice = "b[0:20, 0:20]";
    let planned =
        |workers: usize| compiled(jit(workers, &[5, 20]), script).prepare(slice).unwrap().plan().bytes_peak;
    let [one, two, four] = [1, 2, 4].map(planned);
    assert!(one < two && two < four, "{one} {two} {four}");
    let expected = compiled(jit(4, &[5, 20]), script).read_array(slice).unwrap().data;
    for (limit, workers) in [(four, 4), (four - 4096, 2), (two, 2), (two - 4096, 1), (one, 1)] {
        let engine = compiled(jit(4, &[5, 20]).memory(limit), script);
        let (data, stats) = read(&engine, slice);
        assert!(data == expected, "{limit}");
        assert_eq!(stats.threads, workers, "{limit} of {one} {two} {four}");
        assert!(
            stats.bytes.peak <= stats.bytes.peak_planned && stats.bytes.peak_planned <= limit,
            "{stats:?}"
        );
    }
    let error = compiled(jit(4, &[5, 20]).memory(one - 4096), script).prepare(slice).map(|_| ()).unwrap_err();
    assert_eq!(error.code(), Some(Code::E1005), "{error}");
}

/// What is handed on in slabs is planned for its slabs: all of `e` needs each element of `d` for itself and for the one across,
/// a slab of it only those of its rows and of its columns.
#[test]
fn slabs_that_read_across() {
    let script = "
        tensor d: f32[y: inf, x: inf] = sum(i in 0..40) sin(y * i + x)
        tensor e: f32[y: inf, x: inf] = d[x, y] + d[y, x]";
    for size in [30_000u64, 100_000, 1_000_000] {
        let engine = compiled(jit(2, &[]), script);
        let prepared = engine.prepare(&format!("e[0:{size}, 0:{size}]")).unwrap();
        assert!(prepared.plan().bytes_peak < 70_000_000, "{size}: {:?}", prepared.plan());
    }
}
