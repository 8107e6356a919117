//! An output file appears whole or not at all: the bytes go to a file beside it, which takes its name at the end.
//!
//! ```text
//! out/hills.png   <-   out/.hills.png.0.tmp      written, flushed to the disk, renamed
//! ```
//!
//! Whatever goes wrong before the rename, the old file is untouched and the new one is removed. A process that is killed
//! leaves it; it is locked only as long as somebody writes it, so that the next one to write the same file removes it.

use super::disk::{self as fs, File};
use super::error::{Fault, Result, fault};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Files that would be left behind if the process ended now.
static TEMPORARY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Held while something complete takes the place of something old.
static COMMITS: Mutex<()> = Mutex::new(());

fn committing() -> MutexGuard<'static, ()> {
    COMMITS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every file that is not complete; only for a process that is about to end without finishing: nothing can be
/// completed any more.
pub fn remove_temporary() {
    std::mem::forget(committing());
    let temporary = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner);
    for path in temporary.iter() {
        let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
    }
}

/// Takes note that a file beside a target is there no more.
pub(super) fn forget(path: &Path) {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).remove(path);
}

/// Replaces what `path` holds, or makes it: all of it, or nothing.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let write = || {
        let mut replace = Replace::create(path)?;
        replace.file.write_all(bytes)?;
        replace.commit()
    };
    write().map_err(Fault::into_io)
}

/// A file that is written piece by piece, and replaces what its place holds at the end: all of it, or nothing.
#[derive(Debug)]
pub struct Pieces {
    file: BufWriter<File>,
    replace: Replace,
}

impl Pieces {
    /// Checks that `path` can be written, and opens a file beside it.
    pub fn create(path: &Path) -> io::Result<Pieces> {
        let begin = || {
            let replace = Replace::create(path)?;
            Ok(Pieces { file: BufWriter::new(replace.handle()?), replace })
        };
        begin().map_err(Fault::into_io)
    }

    /// Gives the file its name.
    pub fn commit(mut self) -> io::Result<()> {
        self.file.flush()?;
        self.replace.commit().map_err(Fault::into_io)
    }
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file beside `target` without a name: nobody else needs one, and it cannot be left behind.
pub fn nameless(target: &Path) -> io::Result<File> {
    let (file, path) = beside_plain(target)?;
    fs::remove_file(&path)?;
    forget(&path);
    Ok(file)
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
            let _commit = committing();
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
    /// Where it is until it has its name.
    temporary: PathBuf,
    /// Whether the folder there is still this one; others may use the name afterwards.
    own: bool,
    /// Says that somebody fills it.
    _lock: File,
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
        let (lock, temporary) = folder_beside(path)?;
        Ok(ReplaceFolder { target: path.to_owned(), temporary, own: true, _lock: lock })
    }

    /// Where it is until it has its name.
    pub(super) fn folder(&self) -> &Path {
        &self.temporary
    }

    /// Gives the folder its name; what had it before goes away.
    pub(super) fn commit(mut self) -> Result<()> {
        let commit = committing();
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
            self.own = false;
            drop(commit);
            fs::remove_dir_all(&old)?;
            forget(&old);
        } else {
            fs::rename(&self.temporary, &self.target)?;
            self.own = false;
        }
        Ok(())
    }
}

#[cfg(feature = "zarr")]
impl Drop for ReplaceFolder {
    fn drop(&mut self) {
        if self.own {
            let _ = fs::remove_dir_all(&self.temporary);
        }
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

/// Names beside a target that are tried after the one that is taken, for files that dead processes left there.
const LEFT: u64 = 8;

/// A new file beside `target`, with a name that no other file has; those that dead processes left are removed.
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
    claimed(target, File::create_new)
}

/// A new folder beside `target`, and what locks it.
fn folder_beside(target: &Path) -> io::Result<(File, PathBuf)> {
    claimed(target, |path| fs::create_dir(path).and_then(|()| File::open(path)))
}

/// Makes something beside `target`, under the first name that nobody has who lives.
fn claimed(target: &Path, make: impl Fn(&Path) -> io::Result<File>) -> io::Result<(File, PathBuf)> {
    let name = target.file_name().and_then(OsStr::to_str).unwrap_or("output");
    // Names have at most 255 bytes almost everywhere.
    let name: String = name.chars().take(40).collect();
    let path = |number: u64| folder(target).join(format!(".{name}.{number}.tmp"));
    let mut number = 0;
    let (file, own) = loop {
        let path = path(number);
        if let Some(file) = claim(&path, &make)? {
            break (file, path);
        }
        number += 1;
    };
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner).insert(own.clone());
    (number + 1..=number + LEFT).for_each(|number| _ = remove_left(&path(number)));
    Ok((file, own))
}

/// Makes a file or folder and locks it for as long as it is open, so that others see that somebody writes it; none if the
/// name is taken by another who lives.
fn claim(path: &Path, make: impl Fn(&Path) -> io::Result<File>) -> io::Result<Option<File>> {
    let made = make(path).or_else(|error| {
        let taken = error.kind() == io::ErrorKind::AlreadyExists;
        if taken && remove_left(path) { make(path) } else { Err(error) }
    });
    match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
        made => {
            let file = made?;
            // Whoever came between took it for one that was left; without locks nobody does.
            let own = file.try_lock().unwrap_or(true) && file.is_at(path);
            Ok(own.then_some(file))
        }
    }
}

/// Removes what nobody writes any more, because the process that did has ended; says whether it did.
fn remove_left(path: &Path) -> bool {
    let removed = || -> io::Result<bool> {
        let kind = fs::symlink_metadata(path)?;
        if !kind.is_file() && !kind.is_dir() {
            return Ok(false);
        }
        let file = File::open(path)?;
        // While it is locked here, nobody else removes it, so that the name still means what was looked at.
        let left = file.try_lock()? && file.is_at(path);
        match left {
            true if kind.is_dir() => fs::remove_dir_all(path)?,
            true => fs::remove_file(path)?,
            false => {}
        }
        Ok(left)
    };
    removed().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A folder that is gone when the test is over.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("itp-replace-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).expect("the temporary folder can be made");
            Folder(path)
        }

        fn files(&self) -> Vec<String> {
            let entries = std::fs::read_dir(&self.0).expect("the folder is there").flatten();
            let mut names: Vec<String> =
                entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn writers_of_one_file_do_not_meet() {
        let folder = Folder::new("two");
        let target = folder.0.join("a.npy");
        let [first, second] = [(); 2].map(|()| Replace::create(&target).expect("it can be made"));
        assert_eq!(folder.files(), [".a.npy.0.tmp", ".a.npy.1.tmp"]);
        first.handle().and_then(|mut file| Ok(file.write_all(b"first")?)).expect("it can be written");
        first.commit().expect("it can be named");
        let third = Replace::create(&target).expect("it can be made");
        assert_eq!(folder.files(), [".a.npy.0.tmp", ".a.npy.1.tmp", "a.npy"], "the second lives");
        drop(second);
        drop(third);
        assert_eq!(folder.files(), ["a.npy"]);
        assert_eq!(std::fs::read(&target).expect("it is there"), b"first");
    }

    #[test]
    fn what_dead_processes_left_is_removed() {
        let folder = Folder::new("left");
        let target = folder.0.join("a.npy");
        let left = [".a.npy.0.tmp", ".a.npy.3.tmp", ".b.npy.0.tmp", ".a.npy.tmp"];
        left.iter().for_each(|name| std::fs::write(folder.0.join(name), "half").expect("it can be written"));
        std::fs::create_dir_all(folder.0.join(".a.npy.2.tmp/c/0")).expect("it can be made");
        write_whole(&target, b"whole").expect("it can be written");
        assert_eq!(folder.files(), [".a.npy.tmp", ".b.npy.0.tmp", "a.npy"]);
        assert_eq!(std::fs::read(&target).expect("it is there"), b"whole");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_way_is_left_alone() {
        let folder = Folder::new("link");
        let (target, mine) = (folder.0.join("a.npy"), folder.0.join("mine"));
        std::fs::write(&mine, "precious").expect("it can be written");
        std::os::unix::fs::symlink(&mine, folder.0.join(".a.npy.0.tmp")).expect("links can be made");
        write_whole(&target, b"whole").expect("it can be written");
        assert_eq!(folder.files(), [".a.npy.0.tmp", "a.npy", "mine"]);
        assert_eq!(std::fs::read(&mine).expect("it is there"), b"precious");
    }
}
