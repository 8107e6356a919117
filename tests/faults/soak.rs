//! Random scripts, reads, writes and cancels for a while, on threads that know nothing of each other: memory stays flat.
//!
//! Everyday: four seconds. `ITP_LONG=1`: ten minutes. Viewer requests have a soak of their own (tests/cli/serve/load.rs).

use crate::turn;
use itp::Engine;
use itp::engine::Cancel;
use ndarray::Array2;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What memory may grow by between the first third and the end: stores and spare memory of workers fill up early.
const GROWTH: i64 = 24 << 20;

fn lasts() -> Duration {
    Duration::from_secs(if std::env::var_os("ITP_LONG").is_some() { 600 } else { 4 })
}

/// The same numbers for the same seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> i64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % end) as i64
    }
}

/// A script that nobody wrote before: a chain of a few tensors of different kinds.
fn script(random: &mut Random) -> String {
    let mut script = "tensor t0: f32[y: inf, x: inf] = rand(y, x)\n".to_owned();
    for at in 1..=1 + random.below(4) {
        let (before, n) = (at - 1, random.below(50) + 1);
        let head = format!("tensor t{at}: f32[y: inf, x: inf]");
        script += &match random.below(5) {
            0 => format!("{head} = t{before}[y, x] * {n}\n"),
            1 => format!("{head} = sum(d in -3..=3) t{before}[y + d, x - {n}]\n"),
            2 => format!("{head} window [16, 16] stride [8, 8] blend sum = t{before}[y, x] + {n}\n"),
            3 => format!("{head} = if x % {n} < 3 then t{before}[x, y] else t{before}[y, x]\n"),
            _ => format!("{head} = t{before}[y // 2, x] - t{before}[y, x + {n}]\n"),
        };
    }
    script + "view last = t1[:, :]\n"
}

/// Bytes of this process that are in memory.
fn resident() -> i64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|pages| pages.parse::<i64>().ok()).unwrap_or(0) * 4096
}

/// Compiles scripts, reads a little of them and forgets them.
fn scripts(seed: u64, end: Instant, done: &AtomicU64) {
    let mut random = Random(seed);
    while Instant::now() < end {
        let script = script(&mut random);
        let engine = Engine::builder().threads(2).store(1 << 20).compile(&script);
        let engine = engine.unwrap_or_else(|error| panic!("{error}\n{script}"));
        for _ in 0..3 {
            let (y, x) = (random.below(1000) - 500, random.below(1000) - 500);
            let slice = format!("last[{y}:{}, {x}:{}]", y + random.below(90), x + random.below(90));
            engine.read::<f32>(&slice).unwrap_or_else(|error| panic!("{slice}: {error}\n{script}"));
            done.fetch_add(1, Ordering::Relaxed);
        }
    }
}

const SHARED: &str = "
    var a: f32[y: inf, x: inf] = 0
    tensor b: f32[y: inf, x: inf] = sum(dy in -9..=9, dx in -9..=9) a[y + dy, x + dx] + rand(y, x)
";

/// Reads of an engine that others use, too; some are cancelled from another thread, some write.
fn reads(seed: u64, engine: &RwLock<Engine>, end: Instant, done: &AtomicU64) {
    let mut random = Random(seed);
    while Instant::now() < end {
        let (y, x) = (random.below(400), random.below(400));
        if random.below(10) == 0 {
            let data = Array2::from_elem((8, 8), y as f32);
            engine.write().unwrap().write(&format!("a[{y}:{}, {x}:{}]", y + 8, x + 8), &data).unwrap();
            continue;
        }
        let (engine, cancel) = (engine.read().unwrap(), Cancel::default());
        let slice = format!("b[{y}:{}, {x}:{}]", y + 120, x + 120);
        let prepared = engine.prepare(&slice).unwrap().stopped_by(&cancel);
        let wait = Duration::from_micros(random.below(40_000) as u64);
        std::thread::scope(|scope| {
            let stopped = random.below(2) == 0;
            let read = scope.spawn(|| prepared.read_array());
            if stopped {
                std::thread::sleep(wait);
                cancel.cancel();
            }
            let read = read.join().unwrap();
            if let Err(error) = read {
                assert!(stopped && error.is_cancelled(), "{slice}: {error}");
            }
        });
        done.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn memory_stays_flat() {
    let _turn = turn();
    let start = Instant::now();
    let end = start + lasts();
    let engine = RwLock::new(Engine::builder().threads(2).store(8 << 20).compile(SHARED).unwrap());
    let done = AtomicU64::new(0);
    let (early, late) = std::thread::scope(|scope| {
        for seed in 0..2 {
            let (engine, done) = (&engine, &done);
            scope.spawn(move || scripts(seed, end, done));
            scope.spawn(move || reads(100 + seed, engine, end, done));
        }
        std::thread::sleep(lasts() / 3);
        let early = resident();
        std::thread::sleep(end.saturating_duration_since(Instant::now()));
        (early, resident())
    });
    let done = done.into_inner();
    println!("{done} reads in {:?}: {} MiB, then {} MiB", lasts(), early >> 20, late >> 20);
    assert!(done > 50, "{done}");
    assert!(late - early < GROWTH, "{early} bytes, then {late}");
}
