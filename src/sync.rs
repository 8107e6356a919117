//! What threads wait with, under one name: tests/model reads the same files with types that try every order of events.
//!
//! ```text
//! use crate::sync::{Condvar, Mutex};      in src/tiles/flights.rs: std's in this crate, shuttle's in tests/model
//! ```

pub use std::sync::atomic::{AtomicBool, AtomicU64};
pub use std::sync::{Condvar, Mutex, MutexGuard};

/// Looks for some microseconds whether something has happened that will happen soon: to sleep, and to be woken, takes as
/// long.
pub fn soon(happened: impl Fn() -> bool) -> bool {
    (0..1000).any(|_| {
        std::hint::spin_loop();
        happened()
    })
}
