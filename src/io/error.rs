//! What went wrong with a file -> one line that names it.
//!
//! ```text
//! `hills.npy` holds f64[3, 4], but the declaration says f32[3, 4]
//! `map.png` cannot be written: no space left on device
//! ```

use crate::graph::types::Element;
use std::fmt;
use std::io;
use std::path::Path;

/// Why a file could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IoError {
    /// One line that names the file, in the style of all messages.
    pub message: String,
    /// What to do about it, beginning with a verb.
    pub help: Option<String>,
    /// What the file holds, where that is not what was declared.
    pub holds: Option<(Element, Vec<i64>)>,
}

impl IoError {
    /// An error of which nobody knows what to do about it.
    pub(crate) fn new(message: impl Into<String>) -> IoError {
        IoError { message: message.into(), help: None, holds: None }
    }

    /// Adds what to do about it.
    pub(crate) fn help(self, text: impl Into<String>) -> IoError {
        IoError { help: Some(text.into()), ..self }
    }
}

/// The same before the file's name is known: a predicate such as "ends early".
#[derive(Debug)]
pub(super) enum Fault {
    /// The system says no.
    System(io::Error),
    /// The file, or what is asked of it, is wrong.
    Wrong {
        /// Follows the name of the file.
        predicate: String,
        /// As in [`IoError`].
        help: Option<String>,
        /// As in [`IoError`].
        holds: Option<(Element, Vec<i64>)>,
    },
}

/// What the parts of this module return.
pub(super) type Result<T> = std::result::Result<T, Fault>;

/// A fault without a help line.
pub(super) fn fault(predicate: impl Into<String>) -> Fault {
    Fault::Wrong { predicate: predicate.into(), help: None, holds: None }
}

impl Fault {
    /// Adds what to do about it.
    pub(super) fn help(self, text: impl Into<String>) -> Fault {
        match self {
            Fault::Wrong { predicate, holds, .. } => {
                Fault::Wrong { predicate, help: Some(text.into()), holds }
            }
            Fault::System(_) => self,
        }
    }

    /// The fault while reading `path`.
    pub(super) fn reading(self, path: &Path) -> IoError {
        self.named(path, "read")
    }

    /// The fault while writing `path`.
    pub(super) fn writing(self, path: &Path) -> IoError {
        self.named(path, "written")
    }

    /// As an error of the system, for those who know no other.
    pub(super) fn into_io(self) -> io::Error {
        match self {
            Fault::System(error) => error,
            Fault::Wrong { predicate, .. } => io::Error::other(predicate),
        }
    }

    fn named(self, path: &Path, done: &str) -> IoError {
        let name = shown(path);
        match self {
            Fault::Wrong { predicate, help, holds } => {
                IoError { message: format!("{name} {predicate}"), help, holds }
            }
            Fault::System(error) => IoError::new(format!("{name} cannot be {done}: {}", why(&error))),
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Fault::System(error)
    }
}

/// The path in backticks; what would not print is escaped.
fn shown(path: &Path) -> String {
    let text: String = path.to_string_lossy().chars().flat_map(visible).collect();
    format!("`{text}`")
}

fn visible(c: char) -> Box<dyn Iterator<Item = char>> {
    if c.is_control() { Box::new(c.escape_default()) } else { Box::new(std::iter::once(c)) }
}

/// The reason in our words where they are clearer, else the system's without its number.
fn why(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::UnexpectedEof => "it ends early".to_owned(),
        io::ErrorKind::StorageFull => "no space left on the disk".to_owned(),
        _ => error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase(),
    }
}

/// `f32[3, 4]`: an array's type as messages show it.
pub(super) fn array_type(element: Element, shape: &[i64]) -> String {
    format!("{element}{shape:?}")
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for IoError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(fault: Fault, message: &str, help: Option<&str>) {
        let error = fault.reading(Path::new("a\nb.npy"));
        assert_eq!((error.to_string().as_str(), error.help.as_deref()), (message, help));
    }

    #[test]
    fn messages_name_the_file_in_one_line() {
        check(fault("ends early"), "`a\\nb.npy` ends early", None);
        check(fault("ends early").help("write it again"), "`a\\nb.npy` ends early", Some("write it again"));
        let system = io::Error::from(io::ErrorKind::NotFound);
        check(system.into(), "`a\\nb.npy` cannot be read: there is no such file", None);
        let system = io::Error::from_raw_os_error(21);
        check(system.into(), "`a\\nb.npy` cannot be read: is a directory", None);
    }
}
