//! The index core: integers only. Everything that says *where* lives here, and nothing else of the crate is used.
//!
//! ```text
//! smooth: [y: inf, x: inf]                 a domain: intervals, explicit or implicit, with labels
//!   .permute([x, y]).flip([y])[0:10]       movement and index ops, each an index transform
//!   => [x: 10, y: inf] -> [-y, x]          composed into one transform
//! ```
//!
//! - [`interval`]: ranges of coordinates and checked arithmetic on them;
//! - [`domain`]: one interval per dimension, with labels and implicit bounds;
//! - [`transform`]: maps from a domain to coordinates, with the ops in [`ops`] and JSON in [`json`];
//! - [`movement`] and [`view`]: movement ops over bounded shapes, folded into shape, strides and offset;
//! - [`chain`]: what is left when one view cannot say it: a stack of views with pads between them, folded again in [`fold`];
//! - [`window`]: which windows touch, cover or fit into a range;
//! - [`walk`]: the points of a box, one after the other;
//! - [`layout`]: from a transform over row-major storage to a view, and back.

pub mod align;
pub mod array;
mod array_ops;
pub mod chain;
mod compose;
pub mod domain;
mod error;
pub mod fold;
pub mod interval;
pub mod json;
pub mod layout;
pub mod movement;
mod movement_ops;
pub mod ops;
mod reshape;
pub mod transform;
pub mod view;
pub mod walk;
pub mod window;

pub use domain::{Dim, Domain};
pub use error::{IndexError, IndexErrorKind, Overflow, Result};
pub use interval::{INF, Interval};
pub use movement::{Movement, MovementError, MovementErrorKind};
pub use transform::{Affine, OutputMap, Term, Transform};
pub use view::View;
pub use window::Window;
