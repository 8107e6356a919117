//! What threads wait with, under one name: tests/model reads the same files with types that try every order of events.
//!
//! ```text
//! use crate::sync::{Condvar, Mutex};      in src/tiles/flights.rs: std's in this crate, shuttle's in tests/model
//! ```

pub use std::sync::{Condvar, Mutex, MutexGuard};
