//! What stands around `src/tiles/flights.rs`.

pub(crate) use itp::tiles::{Tile, TileKey, TileStore, boxes, memory};

#[allow(dead_code, unused_imports, reason = "its own tests are run where it lives")]
#[path = "../../src/tiles/flights.rs"]
pub(crate) mod flights;
