//! A row-major stream of elements -> tiles, each handed on when its last element has come.
//!
//! ```text
//! frames of 4×6, tiles of 2×2×3:   24 elements    four tiles have begun
//!                                  24 more        all four are complete, in the order of their numbers
//! ```
//!
//! Everything is known from the shape alone, ragged edges included ([`tiling`]): the first and last element of every
//! tile, and how many tiles are alive at once. [`runs`] cuts; that many slots is all the memory that [`scatter`] takes, however long
//! the stream is.

pub mod runs;
pub mod scatter;
pub mod tiling;

pub use scatter::{Complete, Scatter};
pub use tiling::{Tiling, TilingError};
