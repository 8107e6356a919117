//! Files that inputs were read from -> their elements, for the next engine of a session, as long as the files are the same.
//!
//! ```text
//! input a: u8[480, 640] from "a.png"   a[0, 0]      read
//! tensor b: u8[x: 640] = a[0, x]       b[0:8]       another engine, the same file: not read again
//! a.png is saved                       b[0:8]       read
//! ```
//!
//! A file is taken for the same while its length and the time of its last change are. Arrays that are read box by box
//! look at their files themselves.

use crate::graph::Tensor;
use crate::io::disk;
use crate::run::data::Data;
use crate::run::inputs::InputData;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// What was read, by the file and by what it was read as; clones are one.
#[derive(Clone, Default)]
pub(super) struct KnownFiles {
    files: Arc<Mutex<BTreeMap<PathBuf, Known>>>,
}

struct Known {
    version: Version,
    /// Type, domain and format in words.
    declared: String,
    data: Data,
}

/// What a file is told from its earlier versions by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Version {
    bytes: u64,
    changed: SystemTime,
}

/// Who changes a file twice in this time may leave the same time of change behind, since clocks of file systems tick slowly.
const TICK: Duration = Duration::from_millis(50);

impl Version {
    /// The version of a file that is there now; none of what is no file, or was changed just now.
    pub(super) fn of(path: &Path) -> Option<Version> {
        let found = disk::metadata(path).ok().filter(|found| found.is_file())?;
        let changed = found.modified().ok()?;
        let settled = SystemTime::now().duration_since(changed).is_ok_and(|age| age > TICK);
        settled.then_some(Version { bytes: found.len(), changed })
    }
}

impl KnownFiles {
    /// The elements of a file, if it was read as this input before and is the same since.
    pub(super) fn get(&self, input: &Tensor, path: &Path) -> Option<InputData> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let known = files.get(path).filter(|known| known.declared == declared(input))?;
        (Version::of(path)? == known.version).then(|| InputData::Whole(known.data.clone()))
    }

    /// Remembers what a file of that version was read as. The version is that from before the file was read.
    pub(super) fn keep(&self, input: &Tensor, path: &Path, version: Version, data: &InputData) {
        let Some(data) = data.whole().cloned() else { return };
        let known = Known { version, declared: declared(input), data };
        self.files.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), known);
    }

    /// Forgets the files that are not named any more.
    pub(super) fn retain(&self, named: impl Fn(&Path) -> bool) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).retain(|path, _| named(path));
    }
}

fn declared(input: &Tensor) -> String {
    format!("{} {} {:?}", input.element.name(), input.domain, input.format)
}
