//! The arguments of `itp stream`.

use super::values::{self, Codec, Sizes};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  camera | itp stream --shape 0,1024,1024 --type u16 --tile 32,256,256 --out cam.zarr
  itp stream --shape 0,1024,1024 --type u16 --tile 32,256,256 --in frames.raw --out cam.zarr --codec zstd
  itp stream --shape 0,512,512 --type u8 --tile 16,128,128 --port 9000 --out cam.zarr --pyramid mean

Ctrl-C ends the stream as its end would: what has come is written";

/// `itp stream`
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct StreamArgs {
    /// Sizes of the stream, slowest first; a first size of 0 goes on until the stream ends
    #[arg(long, value_name = "N,N,…", value_parser = values::sizes)]
    pub shape: Sizes,

    /// Type of the elements, little-endian
    #[arg(long = "type", value_name = "TYPE", value_parser = values::element)]
    pub element: crate::graph::types::Element,

    /// Sizes of a tile
    #[arg(long, value_name = "N,N,…", value_parser = values::sizes)]
    pub tile: Sizes,

    /// Where tiles go: .zarr, .tiles for a folder of plain files, or .npy, which has no tiles
    #[arg(short, long, value_name = "PATH")]
    pub out: PathBuf,

    /// Read this file instead of standard input
    #[arg(long = "in", value_name = "PATH", conflicts_with = "port")]
    pub input: Option<PathBuf>,

    /// Wait for one connection to this port of 127.0.0.1, and read that; 0 chooses a port and says which
    #[arg(long, value_name = "N")]
    pub port: Option<u16>,

    /// Compress chunks of a zarr array: none, crc32c, gzip, zstd, or with a level, zstd(3)
    #[arg(long, value_name = "CODEC", default_value = "none", value_parser = values::codec)]
    pub codec: Codec,

    /// Gather chunks of a zarr array in files of this shape
    #[arg(long, value_name = "N,N,…", value_parser = values::sizes)]
    pub shard: Option<Sizes>,

    /// Make smaller copies on the way; the zarr array becomes a group of arrays 0, 1, 2, …
    #[arg(long, value_name = "mean|min|max|mode", hide_possible_values = true)]
    pub pyramid: Option<PyramidKind>,

    /// Use that many threads, of which one takes the stream; 1 does everything in turn
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Refuse a stream that needs more bytes than this; takes K, M and G
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    pub memory: Option<u64>,
}

/// How elements become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PyramidKind {
    /// Their mean
    Mean,
    /// The smallest
    Min,
    /// The largest
    Max,
    /// The most frequent
    Mode,
}
