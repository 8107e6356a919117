//! Tiles on the disk behind those in memory: what one process computed, another need not.
//!
//! ```text
//! get   memory, else the folder, if the file is what was written
//! put   both; where the disk is full, memory alone
//! ```

use crate::index::walk::copy_box;
use crate::io::IoError;
use crate::io::store::{Missing, SeriesAbout, SeriesFolder, StoreFolder, StoredTile};
use crate::tiles::memory::MemoryStore;
use crate::tiles::{About, MOST_BOXES, Tile, TileKey, TileStore};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// A store that outlives the process.
pub struct DiskStore {
    folder: StoreFolder,
    memory: MemoryStore,
    series: Mutex<BTreeMap<Arc<str>, Option<Arc<Series>>>>,
    trouble: Mutex<Trouble>,
}

struct Series {
    folder: SeriesFolder,
    about: About,
}

/// What went wrong, to be told once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trouble {
    /// Tiles whose files were not what was written; they are computed again.
    pub damaged: u64,
    /// Why tiles could not be written, from the first time on.
    pub unwritten: Option<String>,
}

/// Bytes of tiles that stay in memory.
const IN_MEMORY: u64 = 256 << 20;
/// As if a read of a gigabyte were a small part of it.
const LIMIT: u64 = 4 << 30;

impl DiskStore {
    /// The store in a folder, which is made if it is not there.
    pub fn open(path: &Path) -> Result<DiskStore, IoError> {
        Ok(DiskStore {
            folder: StoreFolder::open(path)?,
            memory: MemoryStore::new(IN_MEMORY),
            series: Mutex::default(),
            trouble: Mutex::default(),
        })
    }

    /// What went wrong so far.
    pub fn trouble(&self) -> Trouble {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn series(&self, word: &Arc<str>) -> Option<Arc<Series>> {
        self.series.lock().unwrap_or_else(PoisonError::into_inner).get(word).cloned().flatten()
    }

    fn unwritten(&self, error: &io::Error) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        trouble.unwritten.get_or_insert_with(|| error.to_string());
    }

    fn read_disk(&self, key: &TileKey) -> Option<Tile> {
        let series = self.series(&key.series)?;
        let tile = match series.folder.read(&key.number) {
            Ok(stored) => series.tile(&key.number, stored),
            Err(Missing::NotThere) => return None,
            Err(Missing::Damaged) => None,
        };
        if tile.is_none() {
            series.folder.remove(&key.number);
            self.trouble.lock().unwrap_or_else(PoisonError::into_inner).damaged += 1;
        }
        tile
    }
}

impl Series {
    /// The whole box of a tile; at an edge it is larger than the tile.
    fn chunk(&self, number: &[i64]) -> Vec<crate::index::Interval> {
        let grid = &self.about.grid;
        let dims = number.iter().zip(&grid.origin).zip(&grid.shape);
        dims.map(|((number, origin), size)| {
            let first = origin + number * size;
            crate::index::Interval::trusted(first, first + size - 1)
        })
        .collect()
    }

    fn tile(&self, number: &[i64], stored: StoredTile) -> Option<Tile> {
        let (region, chunk) = (self.about.grid.tile(number), self.chunk(number));
        let element = self.about.element.bytes() as usize;
        if region == chunk {
            return Tile::with(region, stored.held, element, stored.data);
        }
        let mut data = vec![0; crate::plan::grid::volume(&region) as usize * element];
        copy_box((&stored.data, &chunk), (&mut data, &region), &region, element);
        Tile::with(region, stored.held, element, data)
    }

    fn stored(&self, number: &[i64], tile: &Tile) -> StoredTile {
        let (region, chunk) = (tile.region(), self.chunk(number));
        let held = (!tile.is_whole()).then(|| tile.held().to_vec());
        if *region == chunk {
            return StoredTile { held, data: tile.data().to_vec() };
        }
        let element = self.about.element.bytes() as usize;
        let mut data = vec![0; crate::plan::grid::volume(&chunk) as usize * element];
        copy_box((tile.data(), region), (&mut data, &chunk), region, element);
        StoredTile { held, data }
    }
}

impl TileStore for DiskStore {
    fn describe(&self, word: &Arc<str>, about: &About) {
        let mut known = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains_key(word) {
            return;
        }
        let described = SeriesAbout {
            // Another version may have other ideas of the same definition.
            word: format!("{word} itp {}", env!("CARGO_PKG_VERSION")),
            name: about.name.to_string(),
            element: about.element,
            chunk: about.grid.shape.clone(),
            origin: about.grid.origin.clone(),
            region: about.grid.region.clone(),
        };
        let folder = if about.lasting { self.folder.series(&described) } else { Ok(None) };
        let folder = folder.inspect_err(|error| self.unwritten(error)).ok().flatten();
        let series = folder.map(|folder| Arc::new(Series { folder, about: about.clone() }));
        known.insert(word.clone(), series);
    }

    fn get(&self, key: &TileKey) -> Option<Arc<Tile>> {
        if let Some(tile) = self.memory.get(key) {
            return Some(tile);
        }
        let tile = Arc::new(self.read_disk(key)?);
        self.memory.put(key.clone(), tile.clone());
        Some(tile)
    }

    fn put(&self, key: TileKey, tile: Arc<Tile>) {
        let lasts = self.trouble().unwritten.is_none() && tile.held().len() <= MOST_BOXES;
        if let Some(series) = self.series(&key.series).filter(|_| lasts) {
            let written = series.folder.write(&key.number, &series.stored(&key.number, &tile));
            let _ = written.inspect_err(|error| self.unwritten(error));
        }
        self.memory.put(key, tile);
    }

    fn remove(&self, key: &TileKey) {
        if let Some(series) = self.series(&key.series) {
            series.folder.remove(&key.number);
        }
        self.memory.remove(key);
    }

    fn tiles(&self) -> Vec<(TileKey, Arc<Tile>)> {
        self.memory.tiles()
    }

    fn bytes(&self) -> u64 {
        self.memory.bytes()
    }

    fn limit(&self) -> u64 {
        LIMIT
    }

    fn keeps_all(&self) -> bool {
        true
    }
}
