//! The calls of `std::fs` that this crate makes, all through here, so that each can be made to fail.
//!
//! ```text
//! use crate::io::disk::{self as fs, File};     instead of std::fs; in release builds it is the same
//! ITP_FAULT=disk:7 itp run blur.itp            in debug builds: the seventh of these calls fails
//! ```

use crate::faults::{Place, strikes};
use std::fs::{self, OpenOptions, TryLockError};
pub use std::fs::{Metadata, Permissions, ReadDir};
use std::io::{self, IoSlice, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Fails when it is this call's turn.
fn call() -> io::Result<()> {
    if strikes(Place::Disk) { Err(io::Error::other("the disk failed on demand")) } else { Ok(()) }
}

/// What a path means, through symbolic links.
pub fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    call().and_then(|()| fs::metadata(path))
}

/// What a path is itself, a link or not.
pub fn symlink_metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    call().and_then(|()| fs::symlink_metadata(path))
}

/// The path without links in it.
pub fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    call().and_then(|()| fs::canonicalize(path))
}

/// All bytes of a file that is known to be small.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    call().and_then(|()| fs::read(path))
}

/// Removes the name of a file.
pub fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    call().and_then(|()| fs::remove_file(path))
}

/// What is in a folder.
pub fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    call().and_then(|()| fs::read_dir(path))
}

/// Makes a folder that was not there.
pub fn create_dir(path: impl AsRef<Path>) -> io::Result<()> {
    call().and_then(|()| fs::create_dir(path))
}

/// Makes a folder and those that it is in.
pub fn create_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    call().and_then(|()| fs::create_dir_all(path))
}

/// Removes a folder with nothing in it.
pub fn remove_dir(path: impl AsRef<Path>) -> io::Result<()> {
    call().and_then(|()| fs::remove_dir(path))
}

/// Removes a folder with all that is in it.
pub fn remove_dir_all(path: impl AsRef<Path>) -> io::Result<()> {
    call().and_then(|()| fs::remove_dir_all(path))
}

/// Gives a file another name, in the place of what had it before.
pub fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    call().and_then(|()| fs::rename(from, to))
}

/// Makes now the time of a file's last change, and changes nothing else.
pub fn touch(path: impl AsRef<Path>) -> io::Result<()> {
    call().and_then(|()| OpenOptions::new().append(true).open(path)?.set_modified(SystemTime::now()))
}

/// Writes to what is there, which may be a device or a pipe.
pub fn write(path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
    call().and_then(|()| fs::write(path, bytes))
}

/// An open file.
#[derive(Debug)]
pub struct File {
    inner: fs::File,
}

impl File {
    /// Opens a file for reading.
    pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
        call()?;
        Ok(File { inner: fs::File::open(path)? })
    }

    /// Makes a file that was not there, for writing and reading.
    pub fn create_new(path: &Path) -> io::Result<File> {
        call()?;
        Ok(File { inner: OpenOptions::new().read(true).write(true).create_new(true).open(path)? })
    }

    /// Opens a file for writing behind what it holds.
    pub fn append(path: impl AsRef<Path>) -> io::Result<File> {
        call()?;
        Ok(File { inner: OpenOptions::new().append(true).open(path)? })
    }

    /// Standard input, where it is a regular file: reading that needs no thread, since nobody waits for it without end.
    #[cfg(unix)]
    pub fn standard_input() -> io::Result<Option<File>> {
        use std::os::fd::AsFd;
        call()?;
        let inner = fs::File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let regular = inner.metadata()?.is_file();
        Ok(regular.then_some(File { inner }))
    }

    /// Standard input is read by a thread where nobody can tell what it is.
    #[cfg(not(unix))]
    pub fn standard_input() -> io::Result<Option<File>> {
        Ok(None)
    }

    /// Takes room on the disk for that many bytes that will be written; its length stays. The system may refuse, and
    /// nothing depends on it: it finds a place for every page by itself otherwise, which takes half as long again.
    #[cfg(target_os = "linux")]
    pub fn reserve(&self, bytes: u64) {
        use nix::fcntl::{FallocateFlags, fallocate};
        let flags = FallocateFlags::FALLOC_FL_KEEP_SIZE;
        let _ = i64::try_from(bytes).map(|bytes| fallocate(&self.inner, flags, 0, bytes));
    }

    /// Other systems find a place as bytes come.
    #[cfg(not(target_os = "linux"))]
    pub fn reserve(&self, _: u64) {}

    /// What kind of file it is, and how long.
    pub fn metadata(&self) -> io::Result<Metadata> {
        call().and_then(|()| self.inner.metadata())
    }

    /// Who may do what with it.
    pub fn set_permissions(&self, permissions: Permissions) -> io::Result<()> {
        call().and_then(|()| self.inner.set_permissions(permissions))
    }

    /// Makes it longer, with zeros, or shorter.
    pub fn set_len(&self, bytes: u64) -> io::Result<()> {
        call().and_then(|()| self.inner.set_len(bytes))
    }

    /// Brings all of it to the disk.
    pub fn sync_all(&self) -> io::Result<()> {
        call().and_then(|()| self.inner.sync_all())
    }

    /// A second handle to the same open file.
    pub fn try_clone(&self) -> io::Result<File> {
        call()?;
        Ok(File { inner: self.inner.try_clone()? })
    }

    /// Makes it this handle's own until all its clones are closed, also by the end of the process; false if it is
    /// another's. Not every system can.
    pub fn try_lock(&self) -> io::Result<bool> {
        match self.inner.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Whether `path` names this very file.
    #[cfg(unix)]
    pub fn is_at(&self, path: &Path) -> bool {
        use std::os::unix::fs::MetadataExt;
        let number = |file: Metadata| (file.dev(), file.ino());
        let own = self.inner.metadata().map(number).ok();
        own.is_some() && own == fs::symlink_metadata(path).map(number).ok()
    }

    /// Whether `path` names this very file; where that cannot be told, files that are open keep their names.
    #[cfg(not(unix))]
    pub fn is_at(&self, path: &Path) -> bool {
        path.exists()
    }
}

impl Read for &File {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        call().and_then(|()| (&self.inner).read(bytes))
    }
}

impl Seek for &File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        call().and_then(|()| (&self.inner).seek(to))
    }
}

impl Read for File {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        (&*self).read(bytes)
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&*self).seek(to)
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        call().and_then(|()| self.inner.write(bytes))
    }

    fn write_vectored(&mut self, runs: &[IoSlice<'_>]) -> io::Result<usize> {
        call().and_then(|()| self.inner.write_vectored(runs))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
