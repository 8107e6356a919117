//! A box that is asked for -> what to compute, in which tiles, in which order, and how much memory that takes.
//!
//! - [`stages`] are the simple kinds of work, [`needs`] what each needs of the others, [`near`] where coordinates are usual;
//! - [`mod@group`] decides what is computed together, [`grid`] and [`shape`] in which tiles;
//! - [`thin`] computes sources only where they are read, [`fuse`] in their readers, [`apart`] far apart ones on their own;
//! - [`recurrence`] says which boxes of earlier steps a step needs, [`blocking`] how many of them go over their
//!   elements at once, [`passes`] how;
//! - [`moved`] makes of the plan for one place that for another.

pub mod apart;
pub mod bands;
pub mod blocking;
mod cells;
pub mod fuse;
mod gathers;
pub mod grid;
pub mod group;
mod held;
pub mod inline;
mod lifted;
mod lives;
pub mod moved;
pub mod near;
pub mod needs;
pub mod order;
mod overlaps;
pub mod passes;
pub mod peak;
pub mod print;
pub mod readers;
pub mod recurrence;
pub mod reuse;
mod rows;
mod samples;
mod scattered;
mod seamless;
mod seams;
mod tables;
mod taller;
pub mod shape;
mod spans;
mod spread;
pub mod stages;
pub mod stop;
pub mod thin;
pub mod timeline;
mod turned;
pub mod windows;
