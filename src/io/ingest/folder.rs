//! Tiles -> a folder of plain files, for programs that know nothing of zarr.
//!
//! ```text
//! cam.tiles/tiles.json    {"shape": [256, 1024, 1024], "tile": [32, 256, 256], "type": "u16", "order": "row-major, little-endian"}
//! cam.tiles/0.3.1.raw     a whole tile; zeros beyond the edge
//! ```

use super::TileSink;
use crate::graph::types::Element;
use crate::io::disk as fs;
use crate::io::error::{Fault, IoError, fault};
use crate::io::replace::{beside_plain, forget};
use crate::stream::{Complete, Tiling};
use serde_json::json;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A folder of tiles.
pub struct TileFolder {
    path: PathBuf,
    element: Element,
    tiling: Tiling,
}

/// Makes the folder of a stream's tiles; what is there already is not touched.
pub(super) fn new_folder(path: &Path) -> Result<(), Fault> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let empty = path.is_dir() && fs::read_dir(path)?.next().is_none();
            let taken = fault("is there already, and a stream replaces nothing")
                .help("remove it, or choose another name");
            if empty { Ok(()) } else { Err(taken) }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let name = path.parent().unwrap_or(Path::new(".")).display();
            Err(fault(format!("cannot be written: there is no folder `{name}`"))
                .help(format!("create `{name}` first")))
        }
        made => Ok(made?),
    }
}

/// Writes a file beside its place, and gives it its name.
pub(in crate::io) fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (mut file, temporary) = beside_plain(path)?;
    let written = file.write_all(bytes).and_then(|()| fs::rename(&temporary, path));
    forget(&temporary);
    written.inspect_err(|_| _ = fs::remove_file(&temporary))
}

impl TileFolder {
    /// A new folder at `path`.
    pub fn create(path: &Path, element: Element, tiling: &Tiling) -> Result<TileFolder, IoError> {
        new_folder(path).map_err(|fault| fault.writing(path))?;
        Ok(TileFolder { path: path.to_owned(), element, tiling: tiling.clone() })
    }
}

impl TileSink for TileFolder {
    fn put(&self, tile: &Complete) -> io::Result<()> {
        let numbers: Vec<String> = tile.number.iter().map(u64::to_string).collect();
        write_file(&self.path.join(format!("{}.raw", numbers.join("."))), &tile.data)
    }

    fn reached(&self, frames: u64) -> io::Result<()> {
        let shape: Vec<u64> = [frames].into_iter().chain(self.tiling.inner().iter().copied()).collect();
        let about = json!({
            "shape": shape,
            "tile": self.tiling.tile(),
            "type": self.element.to_string(),
            "order": "row-major, little-endian",
        });
        write_file(&self.path.join("tiles.json"), format!("{about:#}\n").as_bytes())
    }

    fn finish(&self, frames: u64) -> io::Result<()> {
        self.reached(frames)
    }

    fn beside(&self) -> u64 {
        0
    }
}
