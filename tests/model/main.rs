//! What threads wait with, in thousands of orders of events: single flight, the books of a schedule, rings and their gate.
//!
//! The files under test are those of `src/`, read once more: where they say `crate::sync` they get shuttle's types here,
//! which try another order of events each time, and find whoever waits for ever. `ITP_LONG=1` tries 50 times as many.

#![allow(clippy::print_stdout, reason = "it tells how much it tried")]
#![allow(unreachable_pub, reason = "the files of src/ are seen from further away there")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

/// What the files below call `crate::…`.
pub use itp::{access, diagnostic, index, plan};

/// The types that try every order.
mod sync {
    pub use shuttle::sync::atomic::{AtomicBool, AtomicU64};
    pub use shuttle::sync::{Condvar, Mutex, MutexGuard};

    /// One look: others come between it and what follows.
    pub fn soon(happened: impl Fn() -> bool) -> bool {
        happened()
    }
}

mod reads;
mod run;
mod tiles;

/// Orders of events that are tried of each model, in each of two ways.
fn tries() -> usize {
    if std::env::var_os("ITP_LONG").is_some() { 50_000 } else { 1_000 }
}

/// Tries a model in random orders, and in orders that change threads rarely, where rare meetings happen.
fn holds(name: &str, model: fn()) {
    shuttle::check_random(model, tries());
    shuttle::check_pct(model, tries(), 3);
    println!("{name}: {} orders of events", 2 * tries());
}

/// A model of something wrong, to see that it would be found.
///
/// On a thread of its own: one that ends in the middle of others leaves its thread counted as panicking, now and then.
fn is_found(name: &str, model: fn()) {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let tried = std::thread::spawn(move || shuttle::check_random(model, 10 * tries())).join();
    std::panic::set_hook(hook);
    assert!(tried.is_err(), "{name} was not found");
    println!("{name}: found, as it should be");
}

fn main() {
    holds("single flight", reads::each_element_is_computed_once);
    holds("single flight, some reads fail", reads::who_fails_takes_nobody_along);
    holds("schedule", run::schedule::all_is_done_and_freed);
    holds("schedule, cancelled", run::schedule::a_cancelled_run_gives_everything_back);
    holds("schedule, a worker fails", run::schedule::a_worker_that_fails_ends_the_run);
    holds("ring", run::rings::steps_are_read_before_they_are_written_over);
    holds("ring, a worker fails", run::rings::nobody_waits_for_one_that_failed);
    is_found("a ring without a gate", run::rings::without_a_gate);
    is_found("claims that are kept while waiting", reads::waiting_with_claims);
}
