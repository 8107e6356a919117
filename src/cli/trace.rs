//! Spans of work, as they end -> a file for the trace viewer of Chrome, whole or not at all.
//!
//! ```text
//! {"name": "blur [0, 3]", "ph": "X", "ts": 120, "dur": 35, "pid": 1, "tid": 0}      times in microseconds
//! ```
//!
//! Each is written when it comes: of a run of millions of tiles none is kept.

use super::files::Growing;
use crate::run::job::{Event, What};
use serde_json::json;
use std::io;
use std::path::{Path, PathBuf};

/// The file, once something has happened.
pub(super) struct Spans {
    path: PathBuf,
    file: Option<Growing>,
    /// Why no more is written.
    fault: Option<io::Error>,
}

impl Spans {
    /// Of which nothing is there yet; `-` will print them.
    pub(super) fn of(path: &Path) -> Spans {
        Spans { path: path.to_owned(), file: None, fault: None }
    }

    /// Takes what happened. What goes wrong is told at the end: nobody waits for a trace.
    pub(super) fn add(&mut self, event: &Event) {
        if event.what == What::Compute && self.fault.is_none() {
            self.fault = self.write(event).err();
        }
    }

    fn write(&mut self, event: &Event) -> io::Result<()> {
        let before = if self.file.is_some() { ",\n    " } else { "\n    " };
        let (start, duration) = (event.start, event.duration);
        let span = json!({"name": event.name, "ph": "X", "ts": start, "dur": duration, "pid": 1, "tid": event.worker});
        write!(self.begun()?.end(), "{before}{span}")
    }

    /// The file with what stands before all spans.
    fn begun(&mut self) -> io::Result<&mut Growing> {
        if self.file.is_none() {
            let mut file = Growing::create(&self.path)?;
            write!(file.end(), "{{\n  \"displayTimeUnit\": \"ms\",\n  \"traceEvents\": [")?;
            self.file = Some(file);
        }
        Ok(self.file.as_mut().expect("just made"))
    }

    /// Shows the file.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        write!(self.begun()?.end(), "\n  ]\n}}\n")?;
        self.file.take().map_or(Ok(()), |file| file.finish(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nobody knows how many there will be: what has come is on the disk, under a name that is gone with the run.
    #[test]
    fn spans_are_written_as_they_come() {
        let folder = std::env::temp_dir().join(format!("itp-spans-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("t.json");
        let event = |start| Event {
            what: What::Compute,
            name: format!("blur [{start}, 3]"),
            worker: 1,
            start,
            duration: 5,
            live: 2,
        };
        let sizes = || -> Vec<u64> {
            let files = std::fs::read_dir(&folder).unwrap().flatten();
            files.map(|file| file.metadata().unwrap().len()).collect()
        };
        let mut spans = Spans::of(&path);
        assert!(sizes().is_empty(), "nothing has happened");
        (0..10_000).for_each(|start| spans.add(&event(start)));
        assert!(!path.exists() && sizes()[0] > 600_000, "{:?}", sizes());
        spans.finish().unwrap();
        let read = || serde_json::from_slice::<serde_json::Value>(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(read()["traceEvents"].as_array().unwrap().len(), 10_000);

        let mut other = Spans::of(&path);
        (0..1_000).for_each(|start| other.add(&event(start)));
        drop(other);
        assert_eq!(
            (sizes().len(), read()["traceEvents"][9]["ts"].as_u64()),
            (1, Some(9)),
            "a run that failed"
        );
        Spans::of(&path).finish().unwrap();
        assert_eq!(read()["traceEvents"], json!([]));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
