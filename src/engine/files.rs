//! Files -> the texts of scripts: read with limits, and those that `use` names only below the script's folder.

use crate::diagnostic::{Code, Diagnostic, Result, closest, quoted};
use crate::graph::modules::Loader;
use crate::io::disk::{self as fs, File};
use crate::source::MAX_SOURCE_BYTES;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The text of the script at `path`.
pub(crate) fn read_script(path: &Path) -> Result<String> {
    read_text(&named(path), open(path), || similar_script(path))
}

/// The text that `from` holds; messages call it `name`, and `similar` finds a file that was meant.
pub(crate) fn read_text(
    name: &str,
    from: io::Result<impl Read>,
    similar: impl FnOnce() -> Option<PathBuf>,
) -> Result<String> {
    let bytes = from.and_then(read_limited).map_err(|error| Box::new(unreadable(name, &error, similar)))?;
    if bytes.len() > MAX_SOURCE_BYTES {
        return Diagnostic::new(Code::E0002, format!("{name} is not a script: it is larger than 16 MiB"))
            .help("read large tables with an `input` item")
            .err();
    }
    String::from_utf8(bytes).map_err(|error| Box::new(not_text(name, error.utf8_error().valid_up_to())))
}

/// A path as messages and diagnostics show it.
pub(crate) fn shown(path: &Path) -> String {
    let escape = |c: char| if c.is_control() { c.escape_unicode().to_string() } else { c.to_string() };
    path.display().to_string().chars().map(escape).collect()
}

fn named(path: &Path) -> String {
    quoted(&shown(path))
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

fn unreadable(name: &str, error: &io::Error, similar: impl FnOnce() -> Option<PathBuf>) -> Diagnostic {
    let diagnostic = Diagnostic::new(Code::E0001, format!("cannot read {name}: {}", why(error)));
    if error.kind() != ErrorKind::NotFound {
        return diagnostic;
    }
    match similar() {
        Some(close) => diagnostic.help(format!("write {}", quoted(&shown(&close)))),
        None => diagnostic.help("check the path: it is relative to the folder that `itp` runs in"),
    }
}

fn not_text(name: &str, byte: usize) -> Diagnostic {
    let message = format!("{name} is not a script: byte {byte} is not UTF-8 text");
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
pub(crate) fn why(error: &io::Error) -> String {
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
    let stems = scripts.iter().filter_map(|name| name.strip_suffix(".itp"));
    let close = closest(path.file_stem()?.to_str()?, stems)?;
    Some(path.with_file_name(format!("{close}.itp")))
}

/// The folder of a script, where the files are that it uses.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    /// The folder itself.
    pub(crate) path: PathBuf,
}

impl Folder {
    /// The folder of the script at `path`; of a bare name, the folder that the process runs in.
    pub(crate) fn of(path: &Path) -> Folder {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        Folder { path: parent.unwrap_or(Path::new(".")).to_owned() }
    }
}

impl Loader for Folder {
    fn load(&self, path: &str) -> std::result::Result<String, String> {
        let folder = fs::canonicalize(&self.path).map_err(|error| why(&error))?;
        let file = fs::canonicalize(folder.join(path)).map_err(|error| why(&error))?;
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
