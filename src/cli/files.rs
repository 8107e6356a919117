//! Files -> texts and back: scripts from files or standard input, and results written so that a file is either the old
//! one or the new one.

use super::values::is_stdin;
use crate::diagnostic::{Code, Diagnostic, Result, quoted};
use crate::engine::files;
pub(super) use crate::engine::files::{Folder, why};
use crate::io::disk::{self as fs, File};
use crate::io::write_whole;
use std::io::{self, ErrorKind, Write};
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

fn unwritable(path: &Path, error: &io::Error) -> Diagnostic {
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
