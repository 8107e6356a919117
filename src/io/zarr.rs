//! Zarr arrays, version 3: folders of chunks -> boxes of elements, and tiles -> folders of chunks.
//!
//! ```text
//! cam.zarr/zarr.json      shape, element type, chunk shape, codecs, and attributes: {"itp": {"origin": [-256, 0]}}
//! cam.zarr/c/0/3/1        the chunk with that number; one that is not there holds the fill value
//! ```
//!
//! Any array is read that has regular chunks of one of our element types, through the codecs `bytes`, `transpose`, `gzip`,
//! `zstd`, `blosc`, `crc32c` and `sharding_indexed`: what zarr-python and TensorStore write unless they are told otherwise.
//! Only the chunks that a box meets are read, one at a time. What is written can be read by both.
//!
//! - [`metadata`] is `zarr.json` in both directions, and believes none of it;
//! - [`chain`] turns the bytes of a chunk into elements and back, [`blosc`] is a codec of others, [`shard`] finds chunks
//!   inside of a chunk;
//! - [`read`] and [`write`] go through folders, [`output`] is an output of a script.

mod blosc;
mod chain;
mod crc;
mod metadata;
mod output;
mod read;
mod shard;
mod write;

pub(super) use crc::crc32c;
pub use metadata::{Compression, Layout};
pub(super) use metadata::{LARGEST_CHUNK, layout_json};
pub use read::ZarrArray;
pub use write::ChunkWriter;

pub(super) use output::Output;
