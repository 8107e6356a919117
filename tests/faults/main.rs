//! What becomes of a run when something fails: every call of the disk, every piece of memory, every worker, one by one.
//!
//! Faults are armed for the whole process (`itp::faults`), so the tests that arm them take turns. `ITP_LONG=1` makes the
//! soak ten minutes long.

#![cfg(all(feature = "jit", debug_assertions))]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on has failed")]

mod disk;
mod many;
mod memory;
mod soak;
mod workers;

use itp::Engine;
use itp::faults::{Fault, Place, Then, arm};
use itp::run::stats::Stats;
use std::sync::{Mutex, MutexGuard, PoisonError};

static TURN: Mutex<()> = Mutex::new(());

/// Waits until nobody else arms faults; those who want none take their turn, too.
fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does a job with the first call failing, then the second, and so on until there is no such call; tells `after` whether
/// each attempt was done. Gives the number of calls.
fn one_by_one<T, E: std::fmt::Display>(
    place: Place,
    then: Then,
    job: impl Fn() -> Result<T, E>,
    after: impl Fn(Result<T, String>),
) -> u64 {
    for at in 1.. {
        arm(Some(Fault { place, at, then }));
        let done = job().map_err(|error| error.to_string());
        let calls = arm(None);
        let over = calls < at;
        assert!(!over || done.is_ok(), "nothing failed, but: {}", done.err().unwrap_or_default());
        after(done);
        if over {
            return at - 1;
        }
    }
    unreachable!("some call is the last")
}

/// Reads a slice as bytes; everything is given back.
fn read(engine: &Engine, slice: &str) -> itp::engine::Result<(Vec<u8>, Stats)> {
    let (array, stats) = engine.prepare(slice)?.read_array()?;
    assert!(stats.tiles.live_end == 0 && stats.tiles.computed == stats.tiles.freed, "{stats:?}");
    assert!(stats.bytes.peak <= stats.bytes.peak_planned, "{stats:?}");
    Ok((array.data, stats))
}
