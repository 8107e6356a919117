//! Files -> texts and back: scripts from files or standard input, and results written so that a file is either the old
//! one or the new one.

use super::values::is_stdin;
use crate::diagnostic::{Code, Diagnostic, Result, quoted};
use crate::engine::files;
pub(super) use crate::engine::files::{Folder, why};
use crate::io::disk::{self as fs, File};
use crate::io::{Pieces, nameless, write_whole};
use std::io::{self, BufWriter, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};

/// The text of a script.
pub(super) fn read_script(path: &Path) -> Result<String> {
    if is_stdin(path) {
        return files::read_text("standard input", Ok(io::stdin().lock()), || None);
    }
    files::read_script(path)
}

/// A folder that a variable of the environment names.
pub(super) fn folder_of(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// A module of the standard library as a file of the user's cache, for editors to show; none where it cannot be written.
#[cfg(feature = "lsp")]
pub(super) fn library_file(module: &str, text: &str) -> Option<PathBuf> {
    let cache = folder_of("XDG_CACHE_HOME").or_else(|| Some(folder_of("HOME")?.join(".cache")))?;
    let folder = cache.join("itp/std");
    fs::create_dir_all(&folder).ok()?;
    let path = folder.join(format!("{module}.itp"));
    if fs::read(&path).is_ok_and(|old| old == text.as_bytes()) {
        return Some(path);
    }
    write_whole(&path, text.as_bytes()).ok().map(|()| path)
}

/// A path as messages and diagnostics show it.
pub(super) fn shown(path: &Path) -> String {
    if is_stdin(path) { "<stdin>".to_owned() } else { files::shown(path) }
}

fn named(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { quoted(&shown(path)) }
}

/// Replaces what `path` holds, or makes it; a link stays a link, and permissions stay.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    replace(path, text).map_err(|error| Box::new(unwritable(path, &error)))
}

/// Something long that is written as it comes, so that nobody holds it, and appears at the end.
pub(super) enum Growing {
    /// Beside the file that it will be.
    Beside(Pieces),
    /// Somewhere else, for standard output and for devices and pipes, which others may be writing to meanwhile.
    Apart(BufWriter<File>),
}

impl Growing {
    pub(super) fn create(path: &Path) -> io::Result<Growing> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let other = fs::metadata(&target).is_ok_and(|old| !old.is_file() && !old.is_dir());
        if is_stdin(path) || other {
            let file = nameless(&std::env::temp_dir().join("itp"))?;
            return Ok(Growing::Apart(BufWriter::new(file)));
        }
        Ok(Growing::Beside(Pieces::create(&target)?))
    }

    /// Where more is written.
    pub(super) fn end(&mut self) -> &mut dyn Write {
        match self {
            Growing::Beside(file) => file,
            Growing::Apart(file) => file,
        }
    }

    /// Shows all of it at `path`, for which it was made.
    pub(super) fn finish(self, path: &Path) -> io::Result<()> {
        let file = match self {
            Growing::Beside(file) => return file.commit(),
            Growing::Apart(file) => file.into_inner().map_err(|error| error.into_error())?,
        };
        (&file).rewind()?;
        let copied = match is_stdin(path) {
            true => io::copy(&mut &file, &mut io::stdout().lock()),
            false => io::copy(&mut &file, &mut File::append(path)?),
        };
        match copied {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            copied => copied.map(|_| ()),
        }
    }
}

/// Whether `path` could be written: its folder is there, and it is none itself.
pub(super) fn can_write(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let wrong = match () {
        () if !folder.is_dir() => ErrorKind::NotFound,
        () if path.is_dir() => ErrorKind::IsADirectory,
        () => return Ok(()),
    };
    Err(Box::new(unwritable(path, &wrong.into())))
}

/// Makes a file that was not there.
pub(super) fn create(path: &Path, text: &str) -> Result<()> {
    let made = File::create_new(path).and_then(|mut file| file.write_all(text.as_bytes()));
    made.map_err(|error| Box::new(unwritable(path, &error)))
}

pub(super) fn unwritable(path: &Path, error: &io::Error) -> Diagnostic {
    let diagnostic = Diagnostic::new(Code::E0003, format!("cannot write {}: {}", named(path), why(error)));
    if error.kind() == ErrorKind::AlreadyExists {
        diagnostic.help("choose another name, or remove the file first")
    } else if error.kind() == ErrorKind::NotFound {
        diagnostic.help("make its folder first")
    } else {
        diagnostic
    }
}

/// Writes beside and renames, so that nobody ever sees half a file; devices and pipes are written to.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    match fs::metadata(&target) {
        Ok(old) if old.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(old) if !old.is_file() => fs::write(&target, text.as_bytes()),
        Ok(old) if old.permissions().readonly() => Err(ErrorKind::PermissionDenied.into()),
        Ok(_) | Err(_) => write_whole(&target, text.as_bytes()),
    }
}
