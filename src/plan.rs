//! A box that is asked for -> what to compute, in which tiles, in which order, and how much memory that takes.

pub mod grid;
pub mod needs;
pub mod recurrence;
pub mod stages;
