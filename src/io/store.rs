//! A folder of tiles that outlive the process: a zarr array per tensor, and beside it the tiles that are incomplete.
//!
//! ```text
//! tiles/itp-store.json               says that the folder is one
//! tiles/5c1f…/zarr.json              the tensor `smooth`: type, tile shape, where its first element is, its definition
//! tiles/5c1f…/c/1099511627776/3      a whole tile, a chunk of that array with a checksum
//! tiles/5c1f…/c/1099511627776/4.part a tile of which some boxes are there: a line that says which, elements, checksum
//! ```
//!
//! Coordinates may be negative and chunk numbers may not, so along a dimension without a lower end the array begins 2^40
//! tiles below 0; its attribute `itp.origin` says where. Files are written beside their place and renamed, so a tile is
//! there whole or not at all whenever a process ends; what was changed by something else is found by its checksum.

use super::disk as fs;
use super::error::{Fault, IoError, fault};
use super::ingest::write_file;
use super::source::Source;
use super::zarr::{Compression, Layout, crc32c, layout_json};
use crate::graph::types::Element;
use crate::index::Interval;
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Tiles below 0 that an array has where there is no lower end.
const BELOW: i64 = 1 << 40;
const MARKER: &str = "itp-store.json";
/// Bytes of a tile, at the most.
const LARGEST: u64 = 1 << 31;
/// Bytes of a description, at the most.
const LONGEST_DESCRIPTION: u64 = 1 << 20;

/// A folder of tiles.
#[derive(Debug)]
pub struct StoreFolder {
    root: PathBuf,
}

/// What a series of tiles is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeriesAbout {
    /// The definition of its elements, in words that mean one thing only.
    pub word: String,
    /// What the script calls it.
    pub name: String,
    /// Type of the elements.
    pub element: Element,
    /// Shape of a tile.
    pub chunk: Vec<i64>,
    /// Where tile 0 begins.
    pub origin: Vec<i64>,
    /// What there is of the tensor.
    pub region: Vec<Interval>,
}

/// The tiles of one tensor.
#[derive(Debug)]
pub struct SeriesFolder {
    path: PathBuf,
    /// The number of the tile that is chunk 0 of the array.
    first: Vec<i64>,
    /// Chunks along each dimension.
    counts: Vec<i64>,
    /// Bytes of a whole tile.
    bytes: u64,
}

/// A tile as it is on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTile {
    /// The boxes that are there; none says all of it.
    pub held: Option<Vec<Vec<Interval>>>,
    /// A whole tile, row-major.
    pub data: Vec<u8>,
}

/// What was found instead of a tile.
#[derive(Debug, PartialEq, Eq)]
pub enum Missing {
    /// Nothing.
    NotThere,
    /// A file that is not what was written.
    Damaged,
}

impl StoreFolder {
    /// Opens the store at `root`, or makes it; a folder that holds other things is refused.
    pub fn open(root: &Path) -> std::result::Result<StoreFolder, IoError> {
        let open = || {
            fs::create_dir_all(root)?;
            let marker = root.join(MARKER);
            if !marker.is_file() {
                if fs::read_dir(root)?.any(|entry| entry.is_ok_and(|entry| !is_temporary(&entry.path()))) {
                    return Err(fault("is a folder that holds other things than tiles")
                        .help("choose an empty or new folder"));
                }
                write_file(
                    &marker,
                    format!("{:#}\n", json!({"format": 1, "about": "tiles kept by itp"})).as_bytes(),
                )?;
            }
            Ok(StoreFolder { root: root.to_owned() })
        };
        open().map_err(|fault: Fault| fault.writing(root))
    }

    /// Opens a store that is there.
    pub fn existing(root: &Path) -> std::result::Result<StoreFolder, IoError> {
        let none = || fault("holds no tiles: it was not made by `--store`").reading(root);
        if root.join(MARKER).is_file() { Ok(StoreFolder { root: root.to_owned() }) } else { Err(none()) }
    }

    /// The folder of a series; none if its tiles cannot be chunks of an array.
    pub fn series(&self, about: &SeriesAbout) -> io::Result<Option<SeriesFolder>> {
        let path = self.root.join(folder_name(&about.word));
        let Some((series, shape)) = geometry(path, about) else { return Ok(None) };
        let text = description(about, &series, &shape);
        let known = series.path.join("zarr.json");
        match described(&known) {
            Some(old) if old == text.as_bytes() => mark_used(&known),
            Some(old) if word_of(&old).is_some_and(|word| word != about.word) => return Ok(None),
            Some(_) | None => {
                series.without_links(&known)?;
                fs::create_dir_all(&series.path)?;
                write_file(&known, text.as_bytes())?;
            }
        }
        Ok(Some(series))
    }

    /// Every folder of a series, in order; a link is none.
    pub fn folders(&self) -> std::result::Result<Vec<PathBuf>, IoError> {
        let list = || -> io::Result<Vec<PathBuf>> {
            let mut folders = Vec::new();
            for entry in fs::read_dir(&self.root)? {
                let path = entry?.path();
                if is_folder(&path) {
                    folders.push(path);
                }
            }
            folders.sort();
            Ok(folders)
        };
        list().map_err(|error| Fault::System(error).reading(&self.root))
    }
}

/// Notes on a description that a run uses its tiles: when it was changed last is when that was. A store that nobody may
/// write to is used all the same, and what a link leads to is left alone.
fn mark_used(description: &Path) {
    if fs::symlink_metadata(description).is_ok_and(|kind| kind.is_file()) {
        let _ = fs::touch(description);
    }
}

/// Whether a file was left by a process that ended while it wrote.
pub fn is_temporary(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "tmp")
}

/// A name for a folder: the definition, and a digest of what else the word says.
fn folder_name(word: &str) -> String {
    let (definition, rest) = word.split_once(' ').unwrap_or((word, ""));
    let plain: String = definition.chars().filter(char::is_ascii_alphanumeric).take(64).collect();
    if rest.is_empty() && plain == definition { plain } else { format!("{plain}-{:016x}", digest(word)) }
}

/// FNV-1a; the whole word is compared, too.
fn digest(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |state, byte| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// How tiles become chunks, and the shape of the array.
fn geometry(path: PathBuf, about: &SeriesAbout) -> Option<(SeriesFolder, Vec<i64>)> {
    let (mut first, mut counts, mut shape) = (Vec::new(), Vec::new(), Vec::new());
    for ((range, chunk), origin) in about.region.iter().zip(&about.chunk).zip(&about.origin) {
        let lowest = range.lower().map_or(-BELOW, |lower| (lower - origin).div_euclid(*chunk)).max(-BELOW);
        let end = range.upper().map_or(BELOW, |_| (range.last() - origin).div_euclid(*chunk) + 1).min(BELOW);
        let start = origin.checked_add(lowest.checked_mul(*chunk)?)?;
        let whole = (end - lowest).checked_mul(*chunk)?;
        shape.push(range.upper().map_or(whole, |_| (range.last() - start + 1).min(whole)));
        first.push(lowest);
        counts.push(end - lowest);
    }
    let bytes =
        about.chunk.iter().try_fold(about.element.bytes(), |bytes, size| bytes.checked_mul(*size as u64))?;
    let fits = bytes <= LARGEST && shape.iter().all(|size| *size >= 0) && !shape.is_empty();
    fits.then_some((SeriesFolder { path, first, counts, bytes }, shape))
}

fn description(about: &SeriesAbout, series: &SeriesFolder, shape: &[i64]) -> String {
    let origins = about.origin.iter().zip(&series.first).zip(&about.chunk);
    let layout = Layout {
        element: about.element,
        chunk: about.chunk.clone(),
        shard: None,
        compression: Compression::Checksum,
        origin: origins.map(|((origin, first), chunk)| origin + first * chunk).collect(),
        labels: Vec::new(),
    };
    let mut array = layout_json(&layout, shape);
    array["attributes"]["itp"]["tensor"] = json!(about.name);
    array["attributes"]["itp"]["definition"] = json!(about.word);
    format!("{array:#}\n")
}

/// The bytes of a description; none of what is no file, or too long to be one.
fn described(path: &Path) -> Option<Vec<u8>> {
    let mut source = Source::open(path).ok().filter(|source| source.len <= LONGEST_DESCRIPTION)?;
    source.bytes(0, source.len).ok()
}

fn word_of(text: &[u8]) -> Option<String> {
    let json: Value = serde_json::from_slice(text).ok()?;
    json["attributes"]["itp"]["definition"].as_str().map(str::to_owned)
}

impl SeriesFolder {
    /// The file of a tile; none if it lies beyond the array.
    fn file(&self, number: &[i64]) -> Option<PathBuf> {
        let mut path = self.path.join("c");
        for ((number, first), count) in number.iter().zip(&self.first).zip(&self.counts) {
            let chunk = number.checked_sub(*first).filter(|chunk| (0..*count).contains(chunk))?;
            path.push(chunk.to_string());
        }
        Some(path)
    }

    /// Reads a tile, and makes sure that it is what was written.
    pub fn read(&self, number: &[i64]) -> std::result::Result<StoredTile, Missing> {
        let path = self.file(number).ok_or(Missing::NotThere)?;
        match read_checked(&path, self.bytes) {
            Ok(data) if data.len() as u64 == self.bytes => return Ok(StoredTile { held: None, data }),
            Ok(_) => return Err(Missing::Damaged),
            Err(Missing::Damaged) => return Err(Missing::Damaged),
            Err(Missing::NotThere) => {}
        }
        let data = read_checked(&partial(&path), self.bytes.saturating_add(1 << 20))?;
        part(data, self.bytes).ok_or(Missing::Damaged)
    }

    /// Writes a tile; whether it has a place here.
    pub fn write(&self, number: &[i64], tile: &StoredTile) -> io::Result<bool> {
        let Some(path) = self.file(number) else { return Ok(false) };
        self.without_links(&path)?;
        match &tile.held {
            None => {
                write_in_folder(&path, &with_checksum(Vec::new(), &tile.data))?;
                let _ = fs::remove_file(partial(&path));
            }
            Some(held) => {
                let boxes: Vec<Vec<[i64; 2]>> = held
                    .iter()
                    .map(|held| held.iter().map(|range| [range.first(), range.last()]).collect())
                    .collect();
                write_in_folder(
                    &partial(&path),
                    &with_checksum(format!("{}\n", json!(boxes)).into_bytes(), &tile.data),
                )?;
            }
        }
        Ok(true)
    }

    /// Refuses folders that are links: who made the store does not say what is written elsewhere.
    fn without_links(&self, path: &Path) -> io::Result<()> {
        let inside = path.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.path));
        for folder in inside {
            if fs::symlink_metadata(folder).is_ok_and(|kind| kind.is_symlink()) {
                return Err(io::Error::other(format!("{} is a link", folder.display())));
            }
        }
        Ok(())
    }

    /// Removes a tile.
    pub fn remove(&self, number: &[i64]) {
        if let Some(path) = self.file(number).filter(|path| self.without_links(path).is_ok()) {
            let _ = fs::remove_file(&path);
            let _ = fs::remove_file(partial(&path));
        }
    }
}

/// Writes a file, and makes its folder if that is not there, or is removed just now because it was empty.
fn write_in_folder(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let written = write_file(path, bytes);
    match (written, path.parent()) {
        (Err(error), Some(folder)) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(folder)?;
            write_file(path, bytes)
        }
        (written, _) => written,
    }
}

fn partial(path: &Path) -> PathBuf {
    path.with_extension("part")
}

fn with_checksum(mut bytes: Vec<u8>, data: &[u8]) -> Vec<u8> {
    bytes.extend_from_slice(data);
    let sum = crc32c(&bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

/// The bytes of a file before its checksum, when it is right.
fn read_checked(path: &Path, most: u64) -> std::result::Result<Vec<u8>, Missing> {
    let mut source = match Source::open(path) {
        Err(Fault::System(error)) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Missing::NotThere);
        }
        source => source.map_err(|_| Missing::Damaged)?,
    };
    if source.len > most + 4 {
        return Err(Missing::Damaged);
    }
    let mut bytes = source.bytes(0, source.len).map_err(|_| Missing::Damaged)?;
    let at = bytes.len().checked_sub(4).ok_or(Missing::Damaged)?;
    if crc32c(&bytes[..at]).to_le_bytes() != bytes[at..] {
        return Err(Missing::Damaged);
    }
    bytes.truncate(at);
    Ok(bytes)
}

/// A tile of which some boxes are there.
fn part(mut bytes: Vec<u8>, size: u64) -> Option<StoredTile> {
    let line = bytes.iter().position(|byte| *byte == b'\n')?;
    let boxes: Vec<Vec<[i64; 2]>> = serde_json::from_slice::<Value>(&bytes[..line]).ok().and_then(boxes)?;
    let interval = |[first, last]: &[i64; 2]| Interval::closed(*first, *last).ok();
    let held = boxes.iter().map(|held| held.iter().map(interval).collect::<Option<Vec<Interval>>>());
    let held = held.collect::<Option<Vec<_>>>()?;
    let data = bytes.split_off(line + 1);
    (data.len() as u64 == size).then_some(StoredTile { held: Some(held), data })
}

fn boxes(value: Value) -> Option<Vec<Vec<[i64; 2]>>> {
    let pair = |pair: &Value| Some([pair.get(0)?.as_i64()?, pair.get(1)?.as_i64()?]);
    let held = |held: &Value| held.as_array()?.iter().map(pair).collect::<Option<Vec<_>>>();
    value.as_array()?.iter().map(held).collect()
}

/// What a folder of a series holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesState {
    /// What the script called it.
    pub name: String,
    /// Type of the elements, as zarr calls it.
    pub element: String,
    /// The definition of its elements.
    pub word: String,
    /// Files of tiles, with their bytes and the seconds since 1970 of their last change.
    pub tiles: Vec<(PathBuf, u64, u64)>,
    /// Files that a process left when it ended, or is writing, and the seconds since 1970 of their last change.
    pub left: Vec<(PathBuf, u64)>,
    /// Where all that is.
    pub folder: PathBuf,
    /// The seconds since 1970 when a run used it last.
    pub used: u64,
}

/// Looks through the folder of a series; its description may be anything.
pub fn series_state(folder: &Path) -> SeriesState {
    let json: Value = described(&folder.join("zarr.json"))
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let about = &json["attributes"]["itp"];
    let mut state = SeriesState {
        name: text(&about["tensor"]),
        element: text(&json["data_type"]),
        word: text(&about["definition"]),
        folder: folder.to_owned(),
        ..SeriesState::default()
    };
    let mut queue = vec![folder.to_owned()];
    while let Some(folder) = queue.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, Ok(about)) = (entry.path(), entry.metadata()) else { continue };
            let changed = about.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let changed = changed.map_or(0, |since| since.as_secs());
            if about.is_dir() {
                queue.push(path);
            } else if is_temporary(&path) {
                state.left.push((path, changed));
            } else if path.file_name().is_some_and(|name| name != "zarr.json") {
                state.tiles.push((path, about.len(), changed));
            } else {
                state.used = changed;
            }
        }
    }
    state.tiles.sort();
    state
}

/// Whether the file of a tile is what was written.
pub fn is_sound(path: &Path) -> bool {
    read_checked(path, LARGEST).is_ok()
}

/// Whether something is a folder itself, and no link to one: what links lead to is left alone.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|kind| kind.is_dir())
}

/// Removes the folders of a series that hold nothing, and its description when no tile is left.
pub fn remove_empty(series: &Path) {
    let (mut queue, mut folders) = (vec![series.join("c")], Vec::new());
    while let Some(folder) = queue.pop().filter(|folder| is_folder(folder)) {
        let inner = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
        queue.extend(inner.filter(|path| is_folder(path)));
        folders.push(folder);
    }
    // A folder that is not empty stays: the system sees to that, whoever writes into it meanwhile.
    folders.iter().rev().for_each(|folder| _ = fs::remove_dir(folder));
    if !series.join("c").exists() {
        let _ = fs::remove_file(series.join("zarr.json"));
        let _ = fs::remove_dir(series);
    }
}
