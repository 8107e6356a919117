//! A read of a view -> its elements: what every engine is asked, and what it answers with.
//!
//! ```text
//! Job { smooth[0:512, 0:512], World { inputs, hosts, writes } }  --plan-->  Planned  --run-->  bytes, Stats
//! ```
//!
//! - [`job`] are the types that callers and engines share;
//! - [`stats`] is what is known about a run before it (a [`stats::Plan`]) and after it ([`stats::Stats`]).

pub mod job;
pub mod stats;
