//! The compiled engine against the reference, bit for bit, on every tensor and view of every example, whatever the
//! tiles and the workers; and what it says about memory against what it did.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use itp::engine::Engine;
use itp::index::Domain;
use itp::run::Kind;
use std::fs;
use std::path::{Path, PathBuf};

/// Elements that the reference computes for one comparison.
const MOST: u64 = 30_000;

fn scripts() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found: Vec<PathBuf> =
        fs::read_dir(root.join("examples")).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.retain(|path| path.extension().is_some_and(|end| end == "itp"));
    found.sort();
    found
}

/// A small box of a domain, as a slice.
fn slice(name: &str, domain: &Domain, sizes: &[i64], shift: i64) -> String {
    let rank = domain.rank();
    let ranges = domain.dims().iter().enumerate().map(|(at, dim)| {
        let size = sizes[(at + sizes.len()).saturating_sub(rank).min(sizes.len() - 1)];
        let (lower, upper) = (dim.interval.lower(), dim.interval.upper());
        let start = match (lower, upper) {
            // Far steps of a recurrence take the reference too long.
            (Some(lower), Some(upper)) => (lower + 2).min(upper - size).max(lower),
            (Some(lower), None) => lower + shift.abs() % 5,
            (None, Some(upper)) => upper - size,
            (None, None) => shift,
        };
        let end = upper.map_or(start + size, |upper| (start + size).min(upper));
        format!("{start}:{end}")
    });
    format!("{name}[{}]", ranges.collect::<Vec<_>>().join(", "))
}

#[test]
fn examples_agree() {
    let (mut asked, mut compared) = (0, 0);
    for script in scripts() {
        let engine = |kind: Kind, threads: usize, tile: Option<Vec<i64>>| {
            let mut builder = Engine::builder().kind(kind).threads(threads);
            if let Some(tile) = tile {
                builder = builder.tile(tile);
            }
            builder.open(&script).unwrap_or_else(|error| panic!("{}: {error}", script.display()))
        };
        let reference = engine(Kind::Interp, 1, None);
        let compiled = [
            engine(Kind::Jit, 1, None),
            engine(Kind::Jit, 1, Some(vec![3, 5])),
            engine(Kind::Jit, 2, Some(vec![4, 4])),
        ];
        let graph = &reference.program().graph;
        let tensors = graph.tensors.iter().map(|tensor| (tensor.name.clone(), tensor.domain.clone()));
        let views = graph.views.iter().map(|view| (view.view.name.clone(), view.view.domain().clone()));
        for (name, domain) in tensors.chain(views) {
            let read = slice(&name, &domain, &[3, 6, 9], -4);
            asked += 1;
            // What takes the reference too long is left to the random scripts.
            if compiled[0].plan(&read).unwrap().elements > MOST {
                continue;
            }
            compared += 1;
            let expected = reference.read_array(&read).unwrap_or_else(|error| panic!("{read}: {error}"));
            for (at, engine) in compiled.iter().enumerate() {
                let (got, stats) = engine
                    .prepare(&read)
                    .unwrap()
                    .read_array()
                    .unwrap_or_else(|error| panic!("{read}: {error}"));
                assert_eq!(got.shape, expected.shape);
                let bytes = got.element.bytes() as usize;
                let differs =
                    got.data.chunks(bytes).zip(expected.data.chunks(bytes)).position(|(a, b)| a != b);
                assert_eq!(differs, None, "{}: {read} in engine {at}", script.display());
                assert_eq!(stats.tiles.live_end, 0, "{read}");
                assert!(stats.tiles.live_peak <= stats.tiles.live_peak_planned, "{read}: {stats:?}");
                assert!(stats.bytes.peak <= stats.bytes.peak_planned, "{read}: {stats:?}");
            }
        }
    }
    assert!(compared * 10 >= asked * 8, "{compared} of {asked}");
}

/// What a read gives, as numbers.
fn numbers(engine: &Engine, read: &str) -> Vec<i64> {
    let bytes = engine.read_array(read).unwrap_or_else(|error| panic!("{read}: {error}")).data;
    bytes.chunks_exact(8).map(|word| i64::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Products and powers of coordinates reach a box that is known once a box is asked for.
#[test]
fn reads_that_are_not_linear() {
    let bodies = [
        "p[x ** 3, y]",
        "p[x * x, x * y]",
        "p[abs(x) * y, -x]",
        "p[min(x, y) * max(x, y), x ** 2 - y ** 2]",
        "p[clamp(x, -3, 3) ** 3, 1 << clamp(y, 0, 9)]",
        "p[select(x > y, x * x, y * y), x]",
        "p[x - x % 5000 // 2, (x // 3) % 4]",
        "p[(x + y) % 7 * 2 + x // 7, x % 12 // 5]",
        "p[(3 * x) // 2, x // 2 - 1 + 2 * (x % 2)]",
    ];
    for body in bodies {
        let script =
            format!("tensor p: i64[y: inf, x: inf] = 1000 * y + x\ntensor t: i64[y: inf, x: inf] = {body}\n");
        let [reference, compiled] = both(&script, 1 << 24);
        for read in ["t[-5:7, -6:9]", "t[100:103, 4990:5010]", "t[3, -9001:-8990]"] {
            assert_eq!(numbers(&compiled, read), numbers(&reference, read), "{body}: {read}");
        }
    }
}

/// A negative number is a large `u64`, and is divided as one.
#[test]
fn coordinates_that_are_u64() {
    let script = "
        tensor a: i64[x: inf] = x
        tensor k: i64[x: inf] = x * i64(hash(x) & 3)
        tensor t: i64[x: 10] = x * x
        tensor b: i64[x: inf] =
            a[clamp(u64(x), 0, 10)] + a[u64(x % 7)] + 100 * a[u64(x) % 5] + 1000 * a[(u64(x) >> 3) % 6]
            + 10000 * a[u64(x) // 7 % 9] + 100000 * a[u64(x) & 3]
            + 7 * a[u64(x)] + 19 * a[u64(x) // 1] + 23 * a[(u64(x - 3) >> 0) // 1 + 5] + 11 * a[-u64(2)] + 13 * a[5 - u64(2 * x)] + 17 * a[3 * (u64(x) - u64(4))]
            + (if u64(x) > 5 then a[u64(x)] else a[-x])
            + (if u64(x) < 10 then t[u64(x)] else 0) + (if u64(9) >= u64(x + 3) then t[x + 3] else 0)
            + (if 8 * u64(x) < 80 then t[x] else 0) + (if u64(k[x]) <= 9 then t[u64(k[x])] else 0)";
    let [reference, compiled] = both(script, 1 << 24);
    assert_eq!(numbers(&compiled, "b[-40:40]"), numbers(&reference, "b[-40:40]"));
}

/// The last coordinate and the first are read like all others, beside others, by tables and by casts.
#[test]
fn reads_as_far_as_the_index_space() {
    let last = (1i64 << 62) - 2;
    let script = format!(
        "tensor a: i64[x: inf] = x
         tensor up: i64[i: 2] = a.oindex({{x: [7, {last}]}})[i]
         tensor down: i64[i: 2] = a.oindex({{x: [{}, 7]}})[i]
         tensor both: i64[i: 2] = a.oindex({{x: [{}, {last}]}})[i]
         tensor held: i64[i: inf] = a[clamp(i * 1000000000000000, 7, {last})]",
        -last, -last
    );
    let [reference, compiled] = both(&script, 1 << 24);
    let reads = [
        ("up[0:2]", vec![7, last]),
        ("down[0:2]", vec![-last, 7]),
        ("both[0:2]", vec![-last, last]),
        ("held[-1:2]", vec![7, 7, 1_000_000_000_000_000]),
        ("held[4611:4613]", vec![4_611_000_000_000_000_000, last]),
    ];
    for (read, expected) in reads {
        assert_eq!(numbers(&reference, read), expected, "{read}");
        assert_eq!(numbers(&compiled, read), expected, "{read}");
    }
}

/// A source that is read at two places, one step along the row and far below: what is between belongs to neither.
#[test]
fn places_apart_along_both_dimensions() {
    let script = "
        tensor s: f32[y: inf, x: inf] = rand(y, x)
        tensor a: f32[y: inf, x: inf] = sqrt(s[y, x]) * s[y, x + 1] + 1.0
        tensor b: f32[y: inf, x: inf] = a[y, x] + a[y + 9, x + 1]";
    let [reference, compiled] = both(script, 1 << 24);
    let read = |engine: &Engine| engine.read_array("b[0:20, 0:70]").unwrap().data;
    assert!(read(&compiled) == read(&reference));
}

/// Arithmetic that wraps is trusted near 0 only: farther out, a read that would leave is refused, by both engines.
#[test]
fn far_reads_are_checked_again() {
    let script = "
        tensor v: i64[x: 0..inf] = x
        tensor u: i64[x: 3..inf] = x
        tensor t: i64[x: 0..inf] = v[(3 * x) // 2] + v[min(3 * x, 19)]
        tensor s: i64[x: inf] = if 4 * x < 10 then 0 else u[x]
        tensor w: i64[y: 0..inf] window [8] stride [6] as [i] = v[(3 * y) // 2]
    ";
    let far = 1i64 << 61;
    for engine in both(script, 1 << 24) {
        assert_eq!(numbers(&engine, "t[0:4]"), [0, 1 + 3, 3 + 6, 4 + 9]);
        assert_eq!(
            numbers(&engine, "t[4000000000000:4000000000002]"),
            [6_000_000_000_019, 6_000_000_000_020]
        );
        assert_eq!(numbers(&engine, "s[1:5]"), [0, 0, 3, 4]);
        assert_eq!(numbers(&engine, &format!("s[{}:{}]", far, far + 2)), [0, 0]);
        assert_eq!(numbers(&engine, "w[8:10]"), [12, 13]);
        for read in [format!("t[{}:{}]", 2 * far - 9, 2 * far - 7), format!("s[{}:{}]", -far - 9, -far - 7)] {
            let error = engine.read_array(&read).unwrap_err();
            assert_eq!(error.code().map(|code| code.id()), Some("E1009"), "{read}: {error}");
        }
    }
}

/// Beyond the last coordinate nothing is read, and nothing wraps: neither in the arithmetic of a script nor in the steps
/// of a view, also where a source is computed in its reader. The error says where.
#[test]
fn reads_end_with_the_index_space() {
    let script = "
        tensor a: i64[x: inf] = x
        view c = a.stride([1 << 40])
        view d = a.translate_by([100])
        tensor far: i64[x: inf] = c[x]
        tensor near: i64[x: inf] = far[x // (1 << 10)]
        tensor moved: i64[x: inf] = a[x + 4] + d[x]
        tensor taken: i64[x: inf] window [4] as [i] take b = a window [8] stride [1 << 30] = b[i]
        tensor steps: i64[t: 0..9, x: inf] = if t == 0 then moved[x] else steps[t - 1, x + 1]
    ";
    let (last, step) = ((1i64 << 62) - 2, 1i64 << 40);
    for engine in both(script, 1 << 24) {
        assert_eq!(numbers(&engine, "far[0:2]"), [0, step]);
        assert_eq!(
            numbers(&engine, &format!("far[{}:{}]", (1 << 22) - 1, 1 << 22)),
            [((1 << 22) - 1) * step]
        );
        assert_eq!(numbers(&engine, &format!("moved[{}:{}]", last - 5, last - 4)), [2 * last - 106]);
        let refused = [
            (format!("far[{}:{}]", 1 << 22, (1 << 22) + 1), "`far` reads `c` along `x` at 4194304,"),
            (format!("near[{}:{}]", -1i64 << 33, 0), "`far` reads `c` along `x` at -8388608,"),
            (
                format!("moved[{}:{}]", last - 3, last - 2),
                "`moved` reads `a` along `x` at 4611686018427387903,",
            ),
            (
                format!("moved[{}:{}]", -last, 1 - last),
                "`moved` reads `d` along `x` at -4611686018427387902,",
            ),
            (format!("taken[{}:{}]", 1i64 << 34, (1i64 << 34) + 1), "`taken` reads `a` along `x` at"),
            (
                format!("taken[{}:{}]", 1i64 << 37, (1i64 << 37) + 1),
                "`taken` takes window 34359738368 of `a` along `x`,",
            ),
            (format!("c[{}:{}]", 1 << 22, (1 << 22) + 1), "a read of `c` along `x` at 4194304 leads outside"),
            (
                format!("steps[8, {}:{}]", last - 11, last - 10),
                "`moved` reads `a` along `x` at 4611686018427387903,",
            ),
        ];
        for (read, expected) in refused {
            let error = engine.read_array(&read).unwrap_err();
            assert_eq!(error.code().map(|code| code.id()), Some("E0505"), "{read}: {error}");
            assert!(error.to_string().contains(expected), "{read}: {error}");
        }
    }
}

fn both(text: &str, memory: u64) -> [Engine; 2] {
    [Kind::Interp, Kind::Jit].map(|kind| Engine::builder().kind(kind).memory(memory).compile(text).unwrap())
}

/// Remainders of floats are exact whatever the quotient is, in rows, by constants, and in reductions.
#[test]
fn remainders_of_floats_of_every_size() {
    let script = "
        tensor a: f32[y: inf, x: inf] = float_bits(hash(y, x, 1)) % float_bits(hash(y, x, 2))
        tensor b: f64[y: inf, x: inf] = {
            let word = (u64(hash(y, x, 1)) << 32) | u64(hash(y, x, 3));
            float_bits(word) % float_bits((word >> 13) ^ (word << 21))
        }
        tensor c: f16[y: inf, x: inf] = f16(float_bits(hash(y, x, 4) & 0x7fffffff)) % f16(float_bits(0x40000000 + (hash(y, x) >> 5)))
        tensor d: f32[x: inf] = f32(x) % 31 + 2147483648.0 % f32(x) + (f32(x) % -0.1) // 0.3
        tensor e: f32[x: inf] = sum(i in 0..9) a[i, x] % 360.0
        tensor f: f32[y: inf, x: inf] = if x % 3 == 0 then a[y, x] % 1.5 else f32(b[y, x] % 1e-3)";
    let reads =
        ["a[0:60, -50:77]", "b[0:60, -50:77]", "c[0:9, 0:100]", "d[-40:100]", "d[2000000000:2000000100]"];
    agree(script, &reads);
    agree(script, &["e[0:77]", "f[0:9, 0:1000]"]);
    let one = "tensor d: f32[x: 1] = 2147483648.0 % (31 + f32(x))\ntensor q: f32[x: 1] = 2147483648.0 // (31 + f32(x))";
    for engine in both(one, 1 << 20) {
        assert_eq!(engine.read_array("d[0:1]").unwrap().data, 2f32.to_le_bytes());
        assert_eq!(engine.read_array("q[0:1]").unwrap().data, 69_273_664f32.to_le_bytes());
    }
}

#[test]
fn a_mean_of_integers_lies_between_them() {
    let script = "tensor a: u8[x: inf] window [2] stride [1] as [i] blend mean = 200\n\
                  tensor b: i8[x: inf] window [2] stride [1] as [i] blend mean = i8(-100 - i)";
    for engine in both(script, 1 << 20) {
        assert_eq!(engine.read_array("a[0:3]").unwrap().data, [200; 3]);
        assert_eq!(engine.read_array("b[0:3]").unwrap().data, [-101i8 as u8; 3]);
    }
}

#[track_caller]
fn agree(script: &str, reads: &[&str]) {
    let [reference, compiled] = both(script, 1 << 24);
    for read in reads {
        let [expected, found] = [&reference, &compiled].map(|engine| engine.read_array(read).unwrap().data);
        assert!(found == expected, "{read}");
    }
}

/// What a window computes from its own place alone is a table in the compiled engine.
#[test]
fn weights_of_windows_agree() {
    let script = "
        fn ramp(i) = 1 - 0.999 * abs(i - 31.5) / 31.5
        fn hann(i) = 0.5 - 0.5 * cos(6.283185307179586 * (i + 0.5) / 64)
        tensor a: f32[y: inf, x: inf] window [64, 64] stride [48, 40] offset [3, -5] as [i, j]
            blend sum = f32(index(y)) * ramp(i) * hann(j) + rand(y, x)
        tensor b: f64[y: inf, x: inf] window [64, 32] stride [20, 30] as [i, j]
            blend mean = if i > 20 then f64(hann(i)) * ramp(j) else sqrt(f64(j) + 2.0) / 3.0
    ";
    agree(script, &["a[-70:60, -50:90]", "a[1000:1003, -2000:-1900]", "b[-9:30, 3:80]"]);
}

/// Windows that overlap are plain bodies in the compiled engine, with code for each way in which they do.
#[test]
fn windows_that_overlap_agree() {
    let blends = ["sum", "sum init 0.25", "product", "min", "max", "first", "last", "mean init 3"];
    let windows = [
        "window [12, 96] stride [8, 64] offset [3, -5]",
        "window [16, 128] stride [8, 64]",
        "window [9, 160] stride [9, 64] offset [0, 7]",
        "window [30, 64] stride [10, 64] offset [-4, 1]",
    ];
    for (blend, window) in blends.iter().flat_map(|blend| windows.iter().map(move |window| (blend, window))) {
        let script = format!(
            "fn ramp(i) = 1 - 0.999 * abs(i - 31.5) / 31.5
             tensor a: f32[y: inf, x: inf] = rand(y, x) - 0.5
             tensor g: f32[l: inf, k: inf] = rand(l, k, 3)
             tensor t: f32[y: inf, x: inf] {window} as [i, j] blend {blend}
                 = a[y, x] * g[index(y), index(x)] * ramp(j) + (if i < 5 then g[i, j] else f32(j))
             tensor h: f16[y: inf, x: inf] {window} as [i, j] blend {blend} = f16(t[y, x] * ramp(i))
             tensor out: f32[x: inf, y: inf] = t[y, x] / (1 + t[y, x] * t[y, x])"
        );
        agree(&script, &["t[-20:41, -100:300]", "t[7:8, 63:66]", "h[-9:9, 0:130]", "out[-70:75, -9:30]"]);
    }
}

/// At the ends of what is bounded there are fewer windows.
#[test]
fn windows_that_overlap_inside_bounds_agree() {
    let script = "
        tensor a: f32[y: 0..44, x: -64..352] = rand(y, x) - 0.5
        tensor g: f32[l: 0..5, k: -1..5] = rand(l, k, 3)
        tensor parts: f32[c: 2, y: 0..44, x: -64..352]
            window [2, 12, 96] stride [2, 8, 64] as [c_, i, j]
            take b = a window [12, 96] stride [8, 64] map [y, x]
            blend sum
        = if c_ == 0 then b[i, j] * g[index(y), index(x)] else 1 + abs(j - 47.5)
        tensor whole: f32[y: 0..44, x: -64..352] = parts[0, y, x] / parts[1, y, x]
        tensor inner: f32[y: 8..40, x: 0..320] = parts[0, y, x] / parts[1, y, x] + parts[0, y, x]
        tensor far: f32[x: 0..320] = parts[1, 43, x]
        tensor first: i32[x: -64..352] window [160] stride [64] as [i] blend first = i32(i + 1000 * index(x))
    ";
    agree(
        script,
        &["parts[...]", "whole[...]", "inner[...]", "far[...]", "first[...]", "whole[3:5, 31:290]"],
    );
}

/// What is left of a division by the period is divided once more: neither part of it may wrap where the whole does not.
#[test]
fn wrapped_reshapes_agree_far_out() {
    let small = "
        tensor a: i32[i: 0..9, j: 0..10] = sum(q in 0..300) i32(j + q)
        tensor v: i32[y: inf, x: inf] = a.reshape([6, 15]).wrap()[y, x]";
    agree(small, &["v[-7:9, -20:20]", "v[1000000000000000001:1000000000000000003, 0:8]"]);
    let large = "
        tensor a: i32[i: 0..4096, j: 0..1000000000000] = i32(j)
        tensor v: i32[y: inf, x: inf] = a.reshape([25, 163840000000000]).wrap()[y, x]
        tensor w: i32[y: inf, x: inf] window [3, 8] stride [4, 8] offset [1, 2] as [k, l]
            take b = a.reshape([25, 163840000000000]).wrap() window [4, 11] stride [4, 8] offset [-6, 7] = b[k, l]
        tensor z: i32[y: inf, x: inf] = w[y, x] + w[y, x] * 2";
    agree(large, &["v[56300:56301, 0:4]", "v[999990:999991, 0:4]", "z[999990:999991, 0:6]"]);
}

/// Rows are cut where a quotient or a condition on a remainder changes.
#[test]
fn rows_in_strips_agree() {
    let script = "
        tensor a: f32[y: 20, x: 300] = rand(y, x)
        tensor g: f32[l: -9..9, k: -9..9] = rand(l, k, 3)
        view wide = a.wrap()
        tensor wrapped: f32[y: -50..50, x: -700..700] = wide[y, x] + wide[y + 3, x - 40]
        tensor cut: f32[y: -90..90, x: -700..700] =
            if y % 64 < 17 then (if (x + 5) % 192 <= 64 then g[y // 64 - 1, (x + 5) // 192 - 1] else 1.5) + g[y // 64, 3]
            else if 100 > (x + 5) % 192 then g[y // 64, (x + 5) // 192] else f32((x + 5) % 192) + f32(y // 64)
        tensor ends: f32[x: -700..700] =
            (if x % 64 >= 63 then f32(x) else 0.5) + (if 0 < x % 64 then f32(x // 64) else 7)
        tensor lines: i64[i: 6000] = i // 300 * 1000 + i % 300
        view flat = a.flatten()
    ";
    agree(
        script,
        &["wrapped[...]", "cut[...]", "cut[-5:6, 59:188]", "ends[...]", "lines[7:5001]", "flat[31:4001]"],
    );
}

/// What is kept the other way round for the sake of its lanes is read as it was written.
#[test]
fn sums_along_rows_agree() {
    let script = "
        tensor a: f32[y: -70..130, x: -192..448] = rand(y, x)
        tensor rows: f32[y: -70..130, k: -1..2] = mean(j in 0..256) a[y, 192 * k + j]
        tensor gain: f32[l: 0..3, k: -1..2] = 0.5 / (sum(i in 0..20) rows[20 * l + i, k])
        tensor sums: f64[c: 2, y: -70..130, k: -1..2] = sum(j in 0..100) f64(a[y, 100 * k + j]) * (c + j)
    ";
    agree(script, &["rows[...]", "gain[...]", "sums[...]", "rows[3:9, 0:2]", "sums[1, 5, 0:1]"]);
}

/// What many elements share is a stage of its own in the compiled engine.
#[test]
fn shared_reductions_agree() {
    let script = "
        tensor a: f32[y: inf, x: inf] = rand(y, x) - 0.5
        tensor b: i16[y: 0..40, x: -8..56] = i16(hash(y, x))
        tensor columns: f32[y: inf, x: inf] = a[y, x] / (sum(j in 0..50) a[j, x])
        tensor blocks: f64[y: inf, x: inf] =
            f64(a[y, x]) * f64(mean(j in 0..8, i in -4..4) a[8 * ((y + 3) // 8) + j, 8 * (x // 8) + i] * y)
        tensor share: f32[y: 0..40, x: -8..56] =
            exp(a[y, x] - (max(i in -8..56) a[y, i])) / (sum(k in -8..56) exp(a[y, k] - (max(i in -8..56) a[y, i])))
        tensor first: i64[y: 0..40, x: -8..56] = i64(b[y, x]) + (argmax(i in -8..56) b[y, i]) + (sum(j in 0..40) i64(b[j, x]))
        tensor any_of: bool[y: 0..40, x: -8..56] = any(j in 0..40, i in -8..56) b[j, i] == b[y, x] + 1 and i < x
        tensor alone: bool[x: 9] = x > 3 and (any(j in 0..40, i in -8..56) b[j, i] == 7)
        tensor even: f32[c: 2, y: inf, x: inf] window [2, 20, 24] stride [2, 10, 16] offset [0, 3, -5] as [k, i, j]
            take t = a window [22, 24] stride [10, 16] offset [2, -5] map [y, x]
            blend sum
        = if k == 0 then t[i + 1, j] / (sum(p in 0..22, q in 0..24) abs(t[p, q])) else mean(q in 0..24) t[i, q]
        fn total(s) = sum(k in 0..6) s * (k + 1)
        tensor nested: f32[y: 0..40, x: -8..56] = {
            let own = total(a[y, 3]);
            (sum(k in 0..6) (sum(j in 0..4, i in -8..56) a[y, i + j + k] * own) * a[y, x]) + total(a[y, x])
        }
        tensor edge: f32[y: inf, x: 0..30] = if y >= 0 and y < 40 then (sum(i in -8..56) f32(b[y, i])) else a[y, x]
    ";
    agree(
        script,
        &[
            "columns[-3:20, 7:90]",
            "blocks[-20:20, -30:41]",
            "share[...]",
            "share[7, 3:5]",
            "first[...]",
            "any_of[0:20, 0:9]",
            "alone[...]",
            "even[:, -20:41, -30:30]",
            "even[0, 5, 6:7]",
            "nested[...]",
            "edge[-3:50, :]",
        ],
    );
}

/// Their loops go along the source, not along the result.
#[test]
fn copies_into_tiles_agree() {
    let script = "
        tensor a: i64[t: 12, y: 64, x: 96] = 10000 * t + 100 * y + x
        view tiles = a.reshape([3, 4, 4, 16, 6, 16]).permute([0, 2, 4, 1, 3, 5])
        view mixed = a.reshape([3, 4, 4, 16, 6, 16]).permute([4, 2, 0, 3, 1, 5]).flip([0, 3])
        tensor back: i64[q: 6, p: 4, y: 16, x: 16] = a[5, 16 * p + 15 - y, 16 * q + x]
    ";
    agree(script, &["tiles[...]", "mixed[...]", "back[...]"]);
}

#[test]
fn windows_that_leave_the_index_space_are_refused() {
    let cases = [
        ("window [64] stride [48] offset [-8]", &["v", "part"][..]),
        ("window [96] stride [64] offset [-8]", &["v", "part"]),
        ("window [64]", &["v"]),
    ];
    for (window, names) in cases {
        let script = format!(
            "tensor v: i64[x: inf] {window} as [i] = x
             tensor part: i64[x: inf] = 2 * v[x]"
        );
        for engine in both(&script, 1 << 20) {
            for name in names {
                let read = |slice: &str| engine.read_array(&format!("{name}[{slice}]"));
                let error = read("4611686018427387898:4611686018427387902").unwrap_err().to_string();
                assert!(error.contains("would reach 46116860184273879"), "{window}: {error}");
                assert!(read("4611686018427387000:4611686018427387004").is_ok());
            }
        }
    }
}

#[test]
fn a_set_larger_than_the_limit_is_refused() {
    let script = "var m: u8[x: inf] = 3\nset m[0:10000000000] = u8(x)\ntensor t: u8[x: inf] = m[x]";
    let [_, compiled] = both(script, 1 << 20);
    assert_eq!(compiled.read_array("t[0:4]").unwrap().data, [0, 1, 2, 3], "it runs for four elements");
    let error = compiled.read_array("t[0:10000000000:9999999999]").unwrap_err().to_string();
    assert!(error.contains("10000000000 bytes, but the limit is 1048576"), "{error}");
}

#[test]
fn stepped_reads_compute_what_they_show() {
    let script = "tensor p: f32[y: inf, x: inf] = rand(y, x)\n\
                  tensor s: f32[y: inf, x: inf] = sum(dy in -1..=1) p[y + dy, x]";
    let read = "s[0:1000000000:100000000, 0:20:2]";
    let [reference, compiled] = both(script, 1 << 20);
    assert_eq!(compiled.read_array(read).unwrap().data, reference.read_array(read).unwrap().data);
}
