//! Many readers and writers on one engine: every read sees all of the last write, and none of it mixes with others.

use crate::turn;
use itp::Engine;
use ndarray::Array2;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const SCRIPT: &str = "
    var a: f32[y: inf, x: inf] = 0
    tensor b: f32[y: inf, x: inf] = sum(dy in -1..=1, dx in -1..=1) a[y + dy, x + dx]
    tensor c: f32[y: inf, x: inf] = b[y, x] + 100
";

#[test]
fn readers_see_whole_writes() {
    let _turn = turn();
    let (engine, end) = (
        RwLock::new(Engine::builder().threads(2).compile(SCRIPT).unwrap()),
        Instant::now() + Duration::from_secs(2),
    );
    // What was written last, known to whoever holds the lock.
    let (written, reads) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for reader in 0..6 {
            let (engine, written, reads) = (&engine, &written, &reads);
            scope.spawn(move || {
                for turn in 0.. {
                    if Instant::now() > end {
                        break;
                    }
                    let engine = engine.read().unwrap();
                    let value = written.load(Ordering::SeqCst) as f32;
                    let (name, expect) =
                        if turn % 2 == 0 { ("b", 9.0 * value) } else { ("c", 9.0 * value + 100.0) };
                    let at = 7 * reader + turn % 40;
                    let found =
                        engine.read::<f32>(&format!("{name}[{at}:{}, {at}:{}]", at + 30, at + 60)).unwrap();
                    assert!(found.iter().all(|found| *found == expect), "{name} is not {expect} everywhere");
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for writer in 0..2 {
            let (engine, written) = (&engine, &written);
            scope.spawn(move || {
                for turn in 0.. {
                    if Instant::now() > end {
                        break;
                    }
                    let value = turn % 100 + writer * 1000;
                    let data = Array2::from_elem((140, 170), value as f32);
                    let mut engine = engine.write().unwrap();
                    engine.write("a[-5:135, -5:165]", &data).unwrap();
                    written.store(value, Ordering::SeqCst);
                    drop(engine);
                    std::thread::sleep(Duration::from_millis(3));
                }
            });
        }
    });
    println!("{reads:?} reads");
    assert!(reads.into_inner() > 50);
}
