//! A gate between the steps of a recurrence: nobody passes before all workers are there.
//!
//! ```text
//! worker 0: step 7 --- waits ------- step 8        worker 1: step 7 ------ comes, and both go on
//! ```
//!
//! Rings hold few steps, so a worker that ran ahead would write over what another still reads.

use crate::sync::{AtomicBool, AtomicU64, Condvar, Mutex, MutexGuard, soon};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::{Acquire, Release};

/// Where workers wait for each other.
pub(super) struct Gate {
    /// How many there are.
    pub(super) workers: usize,
    /// How many are waiting.
    waiting: Mutex<usize>,
    /// How often all were there; changes under the lock.
    round: AtomicU64,
    /// Somebody will never come.
    given_up: AtomicBool,
    wake: Condvar,
}

impl Gate {
    /// For that many workers.
    pub(super) fn new(workers: usize) -> Gate {
        let (round, given_up) = (AtomicU64::new(0), AtomicBool::new(false));
        Gate { workers, waiting: Mutex::new(0), round, given_up, wake: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all workers are here; false if one will never come.
    pub(super) fn wait(&self) -> bool {
        let mut waiting = self.lock();
        let round = self.round.load(Acquire);
        *waiting += 1;
        if *waiting == self.workers {
            *waiting = 0;
            self.round.store(round + 1, Release);
            self.wake.notify_all();
            return !self.given_up.load(Acquire);
        }
        drop(waiting);
        let over = || self.round.load(Acquire) != round || self.given_up.load(Acquire);
        if !soon(over) {
            let mut waiting = self.lock();
            while !over() {
                waiting = self.wake.wait(waiting).unwrap_or_else(PoisonError::into_inner);
            }
        }
        !self.given_up.load(Acquire)
    }

    /// Sends everybody home.
    pub(super) fn give_up(&self) {
        let _waiting = self.lock();
        self.given_up.store(true, Release);
        self.wake.notify_all();
    }
}

/// Sends everybody home when a worker panics.
pub(super) struct Alarm<'g>(pub(super) &'g Gate);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.give_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_one_that_never_comes() {
        let gate = Gate::new(3);
        std::thread::scope(|scope| {
            let waiting = [scope.spawn(|| gate.wait()), scope.spawn(|| gate.wait())];
            gate.give_up();
            assert!(waiting.into_iter().all(|thread| !thread.join().expect("it ends")));
        });
    }

    #[test]
    fn nobody_waits_for_one_that_panics() {
        let gate = Gate::new(2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| gate.wait());
            let panics = scope.spawn(|| {
                let _alarm = Alarm(&gate);
                std::panic::resume_unwind(Box::new("a worker"))
            });
            assert!(panics.join().is_err());
            assert!(!waiting.join().expect("it ends"));
        });
    }
}
