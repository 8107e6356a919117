//! What stands around `src/run/board.rs` and `src/run/gate.rs`.

#[path = "../../src/run/board.rs"]
mod board;
#[allow(unused_imports, reason = "its own tests are run where it lives")]
#[path = "../../src/run/gate.rs"]
mod gate;
#[path = "rings.rs"]
pub(crate) mod rings;
#[path = "schedule.rs"]
pub(crate) mod schedule;
