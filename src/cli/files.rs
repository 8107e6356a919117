//! Files -> texts and back: scripts are read with limits, files that `use` names only below the script's folder,
//! and results are written so that a file is either the old one or the new one.

use super::values::is_stdin;
use crate::diagnostic::{Code, Diagnostic, Result, closest, quoted};
use crate::graph::modules::Loader;
use crate::source::MAX_SOURCE_BYTES;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// The text of a script.
pub(super) fn read_script(path: &Path) -> Result<String> {
    let bytes =
        if is_stdin(path) { read_limited(io::stdin().lock()) } else { open(path).and_then(read_limited) };
    let bytes = bytes.map_err(|error| Box::new(unreadable(path, &error)))?;
    if bytes.len() > MAX_SOURCE_BYTES {
        return Diagnostic::new(
            Code::E0002,
            format!("{} is not a script: it is larger than 16 MiB", named(path)),
        )
        .help("read large tables with an `input` item")
        .err();
    }
    String::from_utf8(bytes).map_err(|error| Box::new(not_text(path, error.utf8_error().valid_up_to())))
}

/// A path as messages and diagnostics show it.
pub(super) fn shown(path: &Path) -> String {
    if is_stdin(path) {
        return "<stdin>".to_owned();
    }
    let escape = |c: char| if c.is_control() { c.escape_unicode().to_string() } else { c.to_string() };
    path.display().to_string().chars().map(escape).collect()
}

fn named(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { quoted(&shown(path)) }
}

/// Opening a folder succeeds on some systems and fails strangely on others.
fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path)?.is_dir() { Err(ErrorKind::IsADirectory.into()) } else { File::open(path) }
}

/// Reads one byte more than allowed at the most, so that endless files end.
fn read_limited(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_SOURCE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(path: &Path, error: &io::Error) -> Diagnostic {
    let diagnostic = Diagnostic::new(Code::E0001, format!("cannot read {}: {}", named(path), why(error)));
    let missing = error.kind() == ErrorKind::NotFound;
    match similar_script(path).filter(|_| missing) {
        Some(close) => diagnostic.help(format!("write {}", quoted(&shown(&close)))),
        None if missing => diagnostic.help("check the path: it is relative to the folder that `itp` runs in"),
        None => diagnostic,
    }
}

fn not_text(path: &Path, byte: usize) -> Diagnostic {
    let message = format!("{} is not a script: byte {byte} is not UTF-8 text", named(path));
    Diagnostic::new(Code::E0002, message).help("save it as UTF-8, or name the script instead of its data")
}

/// The failures that people meet, in words that are the same on every system.
const FAILURES: [(ErrorKind, &str); 6] = [
    (ErrorKind::NotFound, "there is no such file or folder"),
    (ErrorKind::PermissionDenied, "permission denied"),
    (ErrorKind::IsADirectory, "it is a folder"),
    (ErrorKind::NotADirectory, "a part of the path is not a folder"),
    (ErrorKind::AlreadyExists, "it exists already"),
    (ErrorKind::StorageFull, "no space is left"),
];

/// What went wrong; other failures are in the system's words.
pub(super) fn why(error: &io::Error) -> String {
    match FAILURES.iter().find(|(kind, _)| *kind == error.kind()) {
        Some((_, words)) => (*words).to_owned(),
        None => error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase(),
    }
}

/// The script beside a missing one whose name is meant: `hills` or `hlils.itp` for `hills.itp`.
fn similar_script(path: &Path) -> Option<PathBuf> {
    let with_ending = PathBuf::from(format!("{}.itp", path.display()));
    if with_ending.is_file() {
        return Some(with_ending);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries =
        fs::read_dir(folder).ok()?.take(1000).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut scripts: Vec<String> = entries.filter(|name| name.ends_with(".itp")).collect();
    scripts.sort();
    let close = closest(path.file_name()?.to_str()?, scripts.iter().map(String::as_str))?;
    Some(path.with_file_name(close))
}

/// The folder of a script, where the files are that it uses.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The folder of the script at `path`; of a script from standard input, the folder that `itp` runs in.
    pub(super) fn of(path: &Path) -> Folder {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        Folder { path: parent.unwrap_or(Path::new(".")).to_owned() }
    }
}

impl Loader for Folder {
    fn load(&self, path: &str) -> std::result::Result<String, String> {
        let folder = self.path.canonicalize().map_err(|error| why(&error))?;
        let file = folder.join(path).canonicalize().map_err(|error| why(&error))?;
        if !file.starts_with(&folder) {
            return Err("it is a link that leaves the script's folder".to_owned());
        }
        // A pipe or a device could keep the reader waiting for ever.
        if !file.is_file() && !file.is_dir() {
            return Err("it is not a regular file".to_owned());
        }
        let bytes = open(&file).and_then(read_limited).map_err(|error| why(&error))?;
        String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())
    }
}

/// Replaces what `path` holds, or makes it; a link stays a link, and permissions stay.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    replace(path, text).map_err(|error| Box::new(unwritable(path, &error)))
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
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let old = fs::metadata(&target).ok();
    match &old {
        Some(old) if old.is_dir() => return Err(ErrorKind::IsADirectory.into()),
        Some(old) if !old.is_file() => return fs::write(&target, text),
        Some(old) if old.permissions().readonly() => return Err(ErrorKind::PermissionDenied.into()),
        Some(_) | None => {}
    }
    let beside = beside(&target)?;
    let written = write_beside(&beside, text, old.as_ref()).and_then(|()| fs::rename(&beside, &target));
    written.inspect_err(|_| _ = fs::remove_file(&beside))
}

fn beside(target: &Path) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or(ErrorKind::IsADirectory)?;
    Ok(target.with_file_name(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id())))
}

fn write_beside(beside: &Path, text: &str, old: Option<&fs::Metadata>) -> io::Result<()> {
    let mut file = File::create_new(beside)?;
    file.write_all(text.as_bytes())?;
    if let Some(old) = old {
        file.set_permissions(old.permissions())?;
    }
    file.sync_all()
}
