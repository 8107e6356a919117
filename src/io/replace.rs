//! An output file appears whole or not at all: the bytes go to a file beside it, which takes its name at the end.
//!
//! ```text
//! out/hills.png   <-   out/.hills.png.4711.0.tmp      written, flushed to the disk, renamed
//! ```
//!
//! Whatever goes wrong before the rename, the old file is untouched and the new one is removed.

use super::error::{Result, fault};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Files that would be left behind if the process ended now.
static TEMPORARY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes every file that is not complete; only for a process that is about to end without finishing.
pub fn remove_temporary() {
    let temporary = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner);
    for path in temporary.iter() {
        let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
    }
}

/// Takes note that a file beside a target is there no more.
pub(super) fn forget(path: &Path) {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
}

/// A file that is being written and not yet visible under its name.
#[derive(Debug)]
pub(super) struct Replace {
    target: PathBuf,
    /// None once it has been renamed.
    temporary: Option<PathBuf>,
    file: File,
}

impl Replace {
    /// Checks that `path` can be written and opens the file beside it.
    pub(super) fn create(path: &Path) -> Result<Replace> {
        let target = resolve(path)?;
        let (file, temporary) = beside(&target)?;
        let replace = Replace { target, temporary: Some(temporary), file };
        if let Ok(old) = fs::metadata(&replace.target) {
            replace.file.set_permissions(old.permissions())?;
        }
        Ok(replace)
    }

    /// A handle to write with.
    pub(super) fn handle(&self) -> Result<File> {
        Ok(self.file.try_clone()?)
    }

    /// Where it will be.
    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// Brings the bytes to the disk and gives the file its name.
    pub(super) fn commit(mut self) -> Result<()> {
        self.file.sync_all()?;
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.target)?;
            forget(temporary);
        }
        self.temporary = None;
        // The rename itself is safe once the folder is on the disk; not every system can say so of a folder.
        let _ = File::open(folder(&self.target)).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

impl Drop for Replace {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = fs::remove_file(temporary);
            forget(temporary);
        }
    }
}

/// A folder that is being filled and not yet visible under its name.
#[cfg(feature = "zarr")]
#[derive(Debug)]
pub(super) struct ReplaceFolder {
    target: PathBuf,
    temporary: PathBuf,
}

#[cfg(feature = "zarr")]
impl ReplaceFolder {
    /// Checks that `path` can be written, and makes the folder beside it; only a zarr array or nothing is replaced.
    pub(super) fn create(path: &Path) -> Result<ReplaceFolder> {
        if path.is_dir() {
            let empty = fs::read_dir(path)?.next().is_none();
            if !empty && !path.join("zarr.json").is_file() {
                return Err(fault("is a folder that is no zarr array, so it is not replaced"));
            }
        } else {
            resolve(path)?;
            if path.exists() {
                return Err(fault("is a file, so no zarr array can be written there").help("remove it first"));
            }
        }
        let (file, temporary) = beside(path)?;
        drop(file);
        fs::remove_file(&temporary)?;
        fs::create_dir(&temporary)?;
        Ok(ReplaceFolder { target: path.to_owned(), temporary })
    }

    /// Where it is until it has its name.
    pub(super) fn folder(&self) -> &Path {
        &self.temporary
    }

    /// Gives the folder its name; what had it before goes away.
    pub(super) fn commit(self) -> Result<()> {
        if self.target.exists() {
            let (file, old) = beside(&self.target)?;
            drop(file);
            fs::remove_file(&old)?;
            fs::rename(&self.target, &old)?;
            if let Err(error) = fs::rename(&self.temporary, &self.target) {
                let _ = fs::rename(&old, &self.target);
                forget(&old);
                return Err(error.into());
            }
            fs::remove_dir_all(&old)?;
            forget(&old);
        } else {
            fs::rename(&self.temporary, &self.target)?;
        }
        Ok(())
    }
}

#[cfg(feature = "zarr")]
impl Drop for ReplaceFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.temporary);
        forget(&self.temporary);
    }
}

/// The file that `path` means, through symbolic links, when it may be replaced.
fn resolve(path: &Path) -> Result<PathBuf> {
    let linked = fs::symlink_metadata(path).is_ok_and(|kind| kind.is_symlink());
    let target = if linked { fs::canonicalize(path)? } else { path.to_owned() };
    match fs::metadata(&target) {
        Ok(kind) if kind.is_dir() => Err(fault("is a folder, so no file can be written there")),
        Ok(kind) if !kind.is_file() => Err(fault("is not a regular file, so it is not replaced")),
        Ok(kind) if kind.permissions().readonly() => Err(fault("is read-only, so it is not replaced")),
        Ok(_) => Ok(target),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = folder(&target);
            if folder.is_dir() {
                return Ok(target);
            }
            let name = folder.display();
            Err(fault(format!("cannot be written: there is no folder `{name}`"))
                .help(format!("create `{name}` first")))
        }
        Err(error) => Err(error.into()),
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new file beside `target`, with a name that no other file has.
pub(super) fn beside(target: &Path) -> Result<(File, PathBuf)> {
    match beside_plain(target) {
        // The folder is there: some, such as /proc, take no files.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let name = folder(target).display();
            let message = format!("cannot be written: no file can be made in `{name}`");
            Err(fault(message).help("choose another folder"))
        }
        made => Ok(made?),
    }
}

/// The same for a folder that may not be there.
pub(super) fn beside_plain(target: &Path) -> io::Result<(File, PathBuf)> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let name = target.file_name().and_then(OsStr::to_str).unwrap_or("output");
    // Names have at most 255 bytes almost everywhere.
    let name: String = name.chars().take(40).collect();
    loop {
        let (process, number) = (std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        let path = folder(target).join(format!(".{name}.{process}.{number}.tmp"));
        match OpenOptions::new().read(true).write(true).create_new(true).open(&path) {
            // A file that a dead process of the same number left: try the next name.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            file => {
                let file = file?;
                TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone());
                return Ok((file, path));
            }
        }
    }
}
