//! Scripts and files of somebody who means harm, through the real binary: each ends as it says, in bounded time and
//! memory, without a signal, an abort or a panic.
//!
//! ```text
//! cargo test --test cli hostile                                             debug
//! ITP_HOSTILE_BIN=target/release/itp cargo test --test cli hostile          the release binary, with its bounds
//! ```
//!
//! A script in tests/hostile says at its head what has to come of it, `#$ run --read a[0:8] => 1 E0501`: exit code, and a
//! part of what it prints (0) or tells (1, 2). [`files`] makes data that lies, [`made`] scripts too large to be kept,
//! [`paths`] folders with traps, [`stores`] tiles that lie; [`machine`] runs the binary with little stack and measures it.

#[path = "../../fuzz/checksum.rs"]
mod checksum;
mod files;
mod machine;
mod made;
mod paths;
mod stores;

use crate::folder::Folder;
use machine::{Ended, run};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A command and what has to come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Its words without `itp` and the script, which follows the first of them.
    pub(super) words: Vec<String>,
    pub(super) code: i32,
    /// Part of what is printed, or of what is told when it fails; white space counts as one space.
    pub(super) says: String,
}

/// `run --read a[0:8] => 1 E0501`; `''` is an empty word.
pub(super) fn step(line: &str) -> Step {
    let (command, outcome) = line.split_once(" => ").unwrap_or_else(|| panic!("no outcome: {line}"));
    let (code, says) = outcome.split_once(' ').unwrap_or((outcome, ""));
    let words = command.split(' ').map(|word| word.replace("''", "")).collect();
    Step { words, code: code.parse().expect("an exit code"), says: says.to_owned() }
}

fn one_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Step {
    /// What is wrong with how it ended.
    fn wrong(&self, ended: &Ended) -> Option<String> {
        let told = if self.code == 0 { &ended.stdout } else { &ended.stderr };
        let says = one_spaced(told).contains(&self.says);
        if ended.code == Some(self.code) && says { ended.unbounded() } else { Some("another outcome".into()) }
    }
}

/// Runs the steps of a case in a folder; what is wrong with them.
pub(super) fn wrongs(name: &str, folder: &Folder, steps: &[Step]) -> String {
    let mut wrongs = String::new();
    for step in steps {
        let mut words: Vec<&str> = step.words.iter().map(String::as_str).collect();
        words.insert(1, "script.itp");
        let ended = run(folder, &words);
        if let Some(wrong) = step.wrong(&ended) {
            let _ = writeln!(wrongs, "{name}: {wrong}\n  {step:?}\n  {ended:?}");
        }
    }
    wrongs
}

/// Runs cases on two threads, and fails with all that went wrong.
pub(super) fn all<T: Sync>(cases: &[T], at_least: usize, run: impl Fn(&T) -> String + Sync) {
    assert!(cases.len() >= at_least, "only {} cases", cases.len());
    let (next, wrongs) = (AtomicUsize::new(0), Mutex::new(String::new()));
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let wrong = run(case);
            wrongs.lock().unwrap().push_str(&wrong);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let wrongs = wrongs.into_inner().unwrap();
    assert!(wrongs.is_empty(), "{wrongs}");
}

/// The steps at the head of a script.
fn head(text: &str) -> Vec<Step> {
    text.lines()
        .filter_map(|line| line.trim_start_matches('\u{feff}').strip_prefix("#$ "))
        .map(step)
        .collect()
}

#[test]
fn hostile_scripts_end_as_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut scripts: Vec<_> = paths.map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect();
    scripts.sort();
    all(&scripts, 300, |(path, text)| {
        let (name, steps) = (path.display().to_string(), head(text));
        assert!(!steps.is_empty(), "{name} does not say what has to come of it");
        wrongs(&name, &Folder::with("script.itp", text), &steps)
    });
}

#[test]
fn an_outcome_can_be_wrong() {
    let ended = |code, stderr: &str| Ended { code, stderr: stderr.to_owned(), ..Ended::default() };
    let fails = step("run => 1 E0501");
    assert_eq!(fails.wrong(&ended(Some(1), "error[E0501]: no")), None);
    for other in [
        ended(Some(0), ""),
        ended(Some(2), "error[E0501]: no"),
        ended(Some(1), "error[E0502]: no"),
        ended(Some(1), "error: internal error, please report: E0501 (src/a.rs:1:1)"),
        ended(None, "error[E0501]: no"),
        Ended { bytes: 1 << 40, ..ended(Some(1), "error[E0501]: no") },
        Ended { seconds: 1e3, ..ended(Some(1), "error[E0501]: no") },
    ] {
        assert!(fails.wrong(&other).is_some(), "{other:?}");
    }
}
