//! A gate between the steps of a recurrence: nobody passes before all workers are there.
//!
//! ```text
//! worker 0: step 7 --- waits ------- step 8        worker 1: step 7 ------ comes, and both go on
//! ```
//!
//! Rings hold few steps, so a worker that ran ahead would write over what another still reads.

use crate::sync::{Condvar, Mutex, MutexGuard};
use std::sync::PoisonError;

/// Where workers wait for each other.
pub(super) struct Gate {
    /// How many there are.
    pub(super) workers: usize,
    state: Mutex<Arrivals>,
    wake: Condvar,
}

#[derive(Default)]
struct Arrivals {
    waiting: usize,
    round: u64,
    /// Somebody will never come.
    given_up: bool,
}

impl Gate {
    /// For that many workers.
    pub(super) fn new(workers: usize) -> Gate {
        Gate { workers, state: Mutex::default(), wake: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Arrivals> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all workers are here; false if one will never come.
    pub(super) fn wait(&self) -> bool {
        let mut state = self.lock();
        state.waiting += 1;
        if state.waiting == self.workers {
            state.waiting = 0;
            state.round += 1;
            self.wake.notify_all();
            return !state.given_up;
        }
        let round = state.round;
        while state.round == round && !state.given_up {
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.given_up
    }

    /// Sends everybody home.
    pub(super) fn give_up(&self) {
        self.lock().given_up = true;
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
}
