//! `cargo bench --bench scatter`: how fast a stream is cut into tiles, beside a plain copy of the same bytes.
//!
//! ```text
//! u16 [256, 1024, 1024] in [32, 256, 256]   scatter 5.1 GB/s   copy 9.8 GB/s   0.52
//! ```
//!
//! One thread, the fastest of several rounds of each in turns; the stream goes on from round to round, and a complete tile is
//! given back at once.

#![allow(clippy::print_stdout, clippy::expect_used, reason = "a program for people at a terminal")]

use itp::stream::{Complete, Scatter, Tiling};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 9;
const CASES: [(&[u64], &[u64]); 4] = [
    (&[256, 1024, 1024], &[32, 256, 256]),
    (&[256, 1024, 1024], &[1, 256, 256]),
    (&[256, 1024, 1024], &[32, 128, 1024]),
    (&[250, 1000, 1000], &[32, 256, 256]),
];

fn round(scatter: &mut Scatter, bytes: &[u8]) -> f64 {
    let mut keep = |tile: Complete| Ok::<_, ()>(black_box(tile.data));
    let step = scatter.tiling().frame_elements() as usize * 2;
    let start = Instant::now();
    for frame in bytes.chunks(step) {
        scatter.append(frame, &mut keep).expect("nothing fails");
    }
    start.elapsed().as_secs_f64()
}

fn copy(bytes: &[u8], to: &mut [u8]) -> f64 {
    let start = Instant::now();
    to.copy_from_slice(black_box(bytes));
    black_box(to);
    start.elapsed().as_secs_f64()
}

fn main() {
    for (shape, tile) in CASES {
        let tiling = Tiling::new(None, &shape[1..], tile).expect("shape and tile fit");
        let mut scatter = Scatter::new(tiling, 2).expect("there is room");
        let size = 2 * shape.iter().product::<u64>() as usize;
        let bytes: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
        let mut to = vec![1; size];
        let mut best = [f64::MAX; 2];
        for _ in 0..ROUNDS {
            best[0] = best[0].min(round(&mut scatter, &bytes));
            best[1] = best[1].min(copy(&bytes, &mut to));
        }
        let [ours, plain] = best.map(|seconds| size as f64 / seconds / 1e9);
        println!(
            "u16 {shape:?} in {tile:?}   scatter {ours:.2} GB/s   copy {plain:.2} GB/s   {:.2}",
            ours / plain
        );
    }
}
