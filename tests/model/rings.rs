//! Workers that share the steps of a recurrence, whose last two steps lie in a ring, as `run/steps.rs` has them.

use super::gate::{Alarm, Gate};
use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::thread;
use std::sync::Arc;

const WORKERS: usize = 3;
const STEPS: u64 = 4;

/// A ring of two rows with a part for each worker, and the gate between steps.
struct Shared {
    rows: [[AtomicU64; WORKERS]; 2],
    gate: Gate,
    /// Workers that went through all steps.
    ended: AtomicU64,
}

/// What a worker does between steps.
#[derive(Clone, Copy)]
enum Between {
    Waits,
    RunsOn,
}

fn together(between: Between, fails: fn() -> bool) -> u64 {
    let rows = [const { [const { AtomicU64::new(0) }; WORKERS] }; 2];
    let shared = Arc::new(Shared { rows, gate: Gate::new(WORKERS), ended: AtomicU64::new(0) });
    let workers: Vec<_> = (0..shared.gate.workers)
        .map(|worker| {
            let shared = shared.clone();
            thread::spawn(move || work(&shared, worker, between, fails))
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    shared.ended.load(Ordering::SeqCst)
}

fn work(shared: &Shared, worker: usize, between: Between, fails: fn() -> bool) {
    let _alarm = Alarm(&shared.gate);
    for step in 1..=STEPS {
        if fails() {
            return shared.gate.give_up();
        }
        // Every part of the step before is needed for a part of this one.
        for part in &shared.rows[(step - 1) as usize % 2] {
            assert_eq!(part.load(Ordering::SeqCst), step - 1);
        }
        shared.rows[step as usize % 2][worker].store(step, Ordering::SeqCst);
        if matches!(between, Between::Waits) && !shared.gate.wait() {
            return;
        }
    }
    shared.ended.fetch_add(1, Ordering::SeqCst);
}

pub(crate) fn steps_are_read_before_they_are_written_over() {
    assert_eq!(together(Between::Waits, || false), WORKERS as u64);
}

pub(crate) fn nobody_waits_for_one_that_failed() {
    together(Between::Waits, || thread_rng().gen_bool(0.1));
}

pub(crate) fn without_a_gate() {
    together(Between::RunsOn, || false);
}
