//! Workers and the books that they keep, as `run/schedule.rs` does: a row of tiles, each read by two tasks of the result.
//!
//! ```text
//! step   0  1  2       3  4       5  …
//!        a0 a1 result0 a2 result1 a3 …        result k reads a k and a k+1
//! ```

use super::board::Board;
use itp::diagnostic::{Code, Diagnostic};
use itp::plan::order::Step;
use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use shuttle::thread;
use std::sync::Arc;

const WORKERS: usize = 3;
const RESULTS: u64 = 4;

fn steps() -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut made = Vec::new();
    let mut push = |group: usize, number: u64, sources: Vec<u64>, readers: u64| {
        let step = Step { number: steps.len() as u64, tile: (group, vec![number as i64]), sources, readers };
        steps.push(step);
        steps.len() as u64 - 1
    };
    made.push(push(0, 0, vec![], 1));
    for result in 0..RESULTS {
        let readers = if result + 1 < RESULTS { 2 } else { 1 };
        made.push(push(0, result + 1, vec![], readers));
        push(1, result, made[result as usize..].to_vec(), 0);
    }
    steps
}

/// Tiles that live at once, at the most: those of every stretch of steps that may run at the same time.
fn most_live() -> u64 {
    let steps = steps();
    let last = |step: &Step| {
        let readers = steps.iter().filter(|reader| reader.sources.contains(&step.number));
        readers.map(|reader| reader.number).max().unwrap_or(step.number)
    };
    let live = |oldest: u64| {
        let lives = |step: &&Step| step.number < oldest + WORKERS as u64 && last(step) >= oldest;
        steps.iter().filter(lives).count() as u64
    };
    (0..steps.len() as u64).map(live).max().unwrap_or(0)
}

struct World<O> {
    board: Board<O, u64>,
    live: AtomicU64,
    made: AtomicU64,
    cancel: AtomicBool,
}

impl<O: FnMut() -> Option<Step>> World<O> {
    fn free(&self) {
        assert!(self.live.fetch_sub(1, SeqCst) > 0, "freed twice");
    }

    fn work(&self, fails: fn() -> bool) {
        while let Some(step) = self.board.take() {
            if self.cancel.load(SeqCst) || fails() {
                return self.board.fail(Box::new(Diagnostic::new(Code::E1006, "cancelled")));
            }
            self.made.fetch_add(1, SeqCst);
            assert!(self.live.fetch_add(1, SeqCst) < most_live(), "more tiles than were planned");
            let shared = step.tile.0 == 0;
            if shared {
                self.board.promise(&step, 1);
            }
            let Some(sources) = self.board.sources(&step) else { return };
            let read: Vec<u64> = sources.iter().map(|(_, tile)| **tile).collect();
            assert_eq!(read, step.sources, "the tiles that it reads");
            thread::yield_now();
            self.board.done(&step, shared.then_some((step.number, 1)), |_, _, _| self.free());
        }
    }
}

/// Whether somebody cancels the run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cancel {
    Never,
    Sometime,
}

/// Runs all steps on some workers; gives the tiles that were made and whether it came to its end.
fn run(cancelled: Cancel, fails: fn() -> bool) -> (u64, bool) {
    let mut steps = steps().into_iter();
    let board = Board::new(move || steps.next(), WORKERS);
    let (live, made, cancel) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let world = Arc::new(World { board, live, made, cancel });
    let workers: Vec<_> = (0..WORKERS)
        .map(|_| {
            let world = world.clone();
            thread::spawn(move || world.work(fails))
        })
        .collect();
    if cancelled == Cancel::Sometime {
        thread::yield_now();
        world.cancel.store(true, SeqCst);
    }
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    let World { board, live, made, .. } = Arc::into_inner(world).expect("all workers are done");
    let shared = AtomicU64::new(live.into_inner());
    let ended = board.finish(|_| _ = shared.fetch_sub(1, SeqCst)).is_ok();
    // Results that were begun hold nothing of their own, and are the only ones left.
    assert!(if ended { shared.into_inner() == 0 } else { shared.into_inner() <= WORKERS as u64 });
    (made.into_inner(), ended)
}

pub(crate) fn all_is_done_and_freed() {
    assert_eq!(run(Cancel::Never, || false), (2 * RESULTS + 1, true));
}

pub(crate) fn a_cancelled_run_gives_everything_back() {
    run(Cancel::Sometime, || false);
}

pub(crate) fn a_worker_that_fails_ends_the_run() {
    run(Cancel::Never, || thread_rng().gen_bool(0.1));
}
