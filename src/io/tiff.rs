//! TIFF: a directory of tagged values, and strips or tiles of samples that it points to.
//!
//! ```text
//! II 42 <offset> ... <directory: 256 width, 257 height, 258 bits, 273 where the strips are, ...>
//! ```
//!
//! Our own reader and writer, because both are small for what they have to do, and because every size in a file must be
//! checked against the file before it is believed. Read are strips and tiles, chunky and planar, uncompressed, LZW,
//! deflate and packbits, with both predictors, integers and floats of 8 to 64 bits, the first image of a file.
//! Written are uncompressed strips, which can be streamed because all offsets are known beforehand.

mod directory;
mod lzw;
mod packbits;
mod read;
mod tags;
mod write;

pub(super) use read::{describe, read};
pub(super) use write::head;
