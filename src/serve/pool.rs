//! Requests -> work on a few threads, through a queue that ends.
//!
//! ```text
//! 2 threads, room for 64:   the 67th request at a time is told to come again, 503
//! a browser scrolls on      its connection closes, the request is dropped, the read stops or never starts
//! ```
//!
//! Threads of this pool never touch a connection, so that a client who reads slowly holds none of them.

use crate::engine::Cancel;
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;

/// How long a request may wait and compute.
const LONGEST: Duration = Duration::from_secs(60);
/// Address space for reads that plan deeply nested scripts; pages are used when they are touched.
const STACK_BYTES: usize = 256 << 20;

/// Threads and what waits for them.
pub(super) struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    wake: Condvar,
    /// Requests that may wait.
    most: usize,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<(Cancel, Work)>,
    running: Vec<Cancel>,
    closed: bool,
}

type Work = Box<dyn FnOnce(&Cancel) + Send>;

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// As many requests wait as may.
    Full,
    /// It took too long.
    Late,
    /// The work ended without a result: it panicked, or the server ends.
    Lost,
}

impl Pool {
    /// Starts the threads.
    pub(super) fn new(threads: usize, most: usize) -> io::Result<Pool> {
        let shared = Arc::new(Shared { state: Mutex::default(), wake: Condvar::new(), most });
        for _ in 0..threads.max(1) {
            let shared = shared.clone();
            let thread = std::thread::Builder::new().name("itp-read".to_owned()).stack_size(STACK_BYTES);
            thread.spawn(move || shared.work())?;
        }
        Ok(Pool { shared })
    }

    /// Does `work` on one of the threads. It is cancelled when whoever waits here goes away.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Cancel) -> T + Send + 'static,
    ) -> Result<T, Failed> {
        let (sender, receiver) = oneshot::channel();
        let wanted = Wanted { cancel: Cancel::default() };
        let work = move |cancel: &Cancel| _ = sender.send(work(cancel));
        self.shared.push(wanted.cancel.clone(), Box::new(work))?;
        match timeout(LONGEST, receiver).await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(_)) => Err(Failed::Lost),
            Err(_) => Err(Failed::Late),
        }
    }

    /// Stops what runs and forgets what waits.
    pub(super) fn close(&self) {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.closed = true;
        state.waiting.clear();
        state.running.iter().for_each(Cancel::cancel);
        self.shared.wake.notify_all();
    }

    /// Requests that run and that wait.
    pub(super) fn load(&self) -> (usize, usize) {
        let state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.running.len(), state.waiting.len())
    }
}

/// Someone waits; dropped, nobody does any more.
struct Wanted {
    cancel: Cancel,
}

impl Drop for Wanted {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

impl Shared {
    fn push(&self, cancel: Cancel, work: Work) -> Result<(), Failed> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Those whose clients have gone make room first.
        state.waiting.retain(|(cancel, _)| !cancel.is_cancelled());
        if state.closed {
            return Err(Failed::Lost);
        }
        if state.waiting.len() >= self.most {
            return Err(Failed::Full);
        }
        state.waiting.push_back((cancel, work));
        self.wake.notify_one();
        Ok(())
    }

    fn work(&self) {
        while let Some((cancel, work)) = self.next() {
            // A panic is a bug; it has been told, and costs this request only.
            let _ = catch_unwind(AssertUnwindSafe(|| work(&cancel)));
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.running.retain(|running| !Arc::ptr_eq(&running.flag(), &cancel.flag()));
        }
    }

    /// The oldest request that someone still waits for; none when the pool closes.
    fn next(&self) -> Option<(Cancel, Work)> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if state.closed {
                return None;
            }
            match state.waiting.pop_front() {
                Some((cancel, _)) if cancel.is_cancelled() => {}
                Some((cancel, work)) => {
                    state.running.push(cancel.clone());
                    return Some((cancel, work));
                }
                None => state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
    }

    #[test]
    fn work_comes_back_and_panics_cost_one_request() {
        let pool = Pool::new(1, 4).unwrap();
        assert_eq!(block_on(pool.run(|_| 7)), Ok(7));
        let lost: Result<i32, Failed> = block_on(pool.run(|_| std::panic::resume_unwind(Box::new("a bug"))));
        assert_eq!(lost, Err(Failed::Lost));
        assert_eq!(block_on(pool.run(|_| 8)), Ok(8));
    }

    #[test]
    fn the_queue_ends_and_who_goes_away_makes_room() {
        let pool = Pool::new(1, 1).unwrap();
        let until_cancelled = |cancel: &Cancel| {
            while !cancel.is_cancelled() {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        block_on(async {
            let mut first = Box::pin(pool.run(until_cancelled));
            assert!(timeout(Duration::from_millis(200), &mut first).await.is_err());
            let mut second = Box::pin(pool.run(|_| ()));
            assert!(timeout(Duration::from_millis(10), &mut second).await.is_err());
            assert_eq!(pool.load(), (1, 1));
            assert_eq!(pool.run(|_| ()).await, Err(Failed::Full));
            drop(second);
            let third = pool.run(|_| 3);
            let mut third = Box::pin(third);
            assert!(timeout(Duration::from_millis(10), &mut third).await.is_err());
            drop(first);
            assert_eq!(third.await, Ok(3));
        });
    }
}
