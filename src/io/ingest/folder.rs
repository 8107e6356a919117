//! Tiles -> a folder of plain files, for programs that know nothing of zarr.
//!
//! ```text
//! cam.tiles/tiles.json    {"shape": [256, 1024, 1024], "tile": [32, 256, 256], "type": "u16", "order": "row-major, little-endian"}
//! cam.tiles/0.3.1.raw     a whole tile; zeros beyond the edge, and where the last frame ended early
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
    write_by(path, |file| file.write_all(bytes))
}

fn write_by(path: &Path, write: impl FnOnce(&mut fs::File) -> io::Result<()>) -> io::Result<()> {
    let (mut file, temporary) = beside_plain(path)?;
    let written = write(&mut file).and_then(|()| fs::rename(&temporary, path));
    forget(&temporary);
    written.inspect_err(|_| _ = fs::remove_file(&temporary))
}

impl TileFolder {
    /// A new folder at `path`.
    pub fn create(path: &Path, element: Element, tiling: &Tiling) -> Result<TileFolder, IoError> {
        new_folder(path).map_err(|fault| fault.writing(path))?;
        Ok(TileFolder { path: path.to_owned(), element, tiling: tiling.clone() })
    }

    fn file(&self, number: &[u64]) -> PathBuf {
        let numbers: Vec<String> = number.iter().map(u64::to_string).collect();
        self.path.join(format!("{}.raw", numbers.join(".")))
    }

    /// Tiles of zeros where the last frame ended before them.
    fn complete(&self, frames: u64) -> io::Result<()> {
        let Some(last) = frames.checked_sub(1) else { return Ok(()) };
        let (epoch, count) = (last / self.tiling.tile()[0], self.tiling.epoch_tiles());
        let bytes = self.tiling.tile_elements().saturating_mul(self.element.bytes());
        for rank in (epoch * count..(epoch + 1) * count).rev() {
            let file = self.file(&self.tiling.tile_at(rank));
            if fs::metadata(&file).is_ok() {
                return Ok(());
            }
            write_by(&file, |file| file.set_len(bytes))?;
        }
        Ok(())
    }
}

impl TileSink for TileFolder {
    fn put(&self, tile: &Complete) -> io::Result<()> {
        write_file(&self.file(&tile.number), &tile.data)
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
        self.complete(frames)?;
        self.reached(frames)
    }

    fn beside(&self) -> u64 {
        0
    }
}
