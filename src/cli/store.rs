//! `itp store ls|verify|gc DIR`: what tiles are kept on the disk, whether they are sound, and fewer of them.
//!
//! ```text
//! $ itp store ls tiles
//! smooth  float32  12 tiles  786.5 kB  used today  5c1f09…
//! ```

use super::Outcome;
use super::files::shown;
use super::numbers;
use super::report::{Report, plural};
use crate::diagnostic::{Code, Diagnostic};
use crate::io::IoError;
use crate::io::disk as fs;
use crate::io::store::{SeriesState, StoreFolder, is_sound, remove_empty, series_state};
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds after which nobody is writing a file any more.
const UNFINISHED: u64 = 3600;

const DAY: u64 = 24 * 3600;

/// `itp store`
#[derive(Debug, Args)]
pub struct StoreArgs {
    /// What to do with it.
    #[command(subcommand)]
    pub action: StoreAction,
}

/// What can be done with a store.
#[derive(Debug, Subcommand)]
pub enum StoreAction {
    /// List the tensors that tiles are kept of
    Ls {
        /// The folder that was given to --store
        dir: PathBuf,
    },
    /// Read every tile and compare its checksum; exit with 1 if one is damaged
    Verify {
        /// The folder that was given to --store
        dir: PathBuf,
    },
    /// Remove what is damaged, what a process left behind an hour ago or more, and tiles that are not needed any more
    Gc {
        /// The folder that was given to --store
        dir: PathBuf,
        /// Keep this many bytes of tiles at the most, those of tensors used last; takes K, M and G
        #[arg(long, value_name = "SIZE", value_parser = super::values::size)]
        keep: Option<u64>,
        /// Remove the tiles of tensors that no run has used for so many days
        #[arg(long, value_name = "DAYS")]
        unused: Option<u64>,
    },
}

/// Lists, checks or shrinks a store.
pub(super) fn store(args: &StoreArgs, report: &mut Report) -> Outcome {
    let (StoreAction::Ls { dir } | StoreAction::Verify { dir } | StoreAction::Gc { dir, .. }) = &args.action;
    let states = match states(dir) {
        Ok(states) => states,
        Err(error) => {
            let diagnostic = Diagnostic::new(Code::E0001, error.message);
            return report.fail(&shown(dir), error.help.into_iter().fold(diagnostic, Diagnostic::help));
        }
    };
    match &args.action {
        StoreAction::Ls { .. } => {
            let now = now();
            report.print(&states.iter().map(|state| line(state, now)).collect::<String>())
        }
        StoreAction::Verify { .. } => verify(dir, &states, report),
        StoreAction::Gc { keep, unused, .. } => gc(&states, *keep, *unused, report),
    }
}

fn states(dir: &Path) -> Result<Vec<SeriesState>, IoError> {
    Ok(StoreFolder::existing(dir)?.folders()?.iter().map(|folder| series_state(folder)).collect())
}

fn bytes_of(state: &SeriesState) -> u64 {
    state.tiles.iter().map(|(_, bytes, _)| bytes).sum()
}

fn line(state: &SeriesState, now: u64) -> String {
    let (tiles, bytes) = (plural(state.tiles.len(), "tile"), numbers::bytes(bytes_of(state)));
    let used = match now.saturating_sub(state.used) / DAY {
        0 => "used today".to_owned(),
        days => format!("unused for {}", plural(days as usize, "day")),
    };
    let word: String = state.word.chars().take(32).collect();
    format!("{}  {}  {tiles}  {bytes}  {used}  {word}\n", state.name, state.element)
}

/// The seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn verify(dir: &Path, states: &[SeriesState], report: &mut Report) -> Outcome {
    let files = states.iter().flat_map(|state| &state.tiles);
    let damaged: Vec<&PathBuf> =
        files.clone().map(|(path, ..)| path).filter(|path| !is_sound(path)).collect();
    report.say(&format!("{} read, {} damaged", plural(files.count(), "tile"), damaged.len()));
    let Some(first) = damaged.first() else { return Outcome::Done };
    let message = format!(
        "{} damaged, the first is {}",
        plural(damaged.len(), "tile"),
        crate::diagnostic::quoted(&shown(first))
    );
    let help = format!("remove them with `itp store gc {}`; runs compute them again", shown(dir));
    report.fail(&shown(dir), Diagnostic::new(Code::E0001, message).help(help))
}

fn gc(states: &[SeriesState], keep: Option<u64>, unused: Option<u64>, report: &mut Report) -> Outcome {
    let (mut files, mut bytes) = (0, 0);
    let mut remove = |path: &Path, size: u64| {
        if fs::remove_file(path).is_ok() {
            files += 1;
            bytes += size;
        }
    };
    let now = now();
    let mut sound = Vec::new();
    for state in states {
        let old = state.left.iter().filter(|(_, changed)| changed + UNFINISHED < now);
        old.for_each(|(path, _)| remove(path, 0));
        let is_old = unused.is_some_and(|days| state.used.saturating_add(days.saturating_mul(DAY)) < now);
        for (path, size, changed) in &state.tiles {
            if !is_old && is_sound(path) {
                sound.push(((state.used, *changed), path, *size));
            } else {
                remove(path, *size);
            }
        }
    }
    sound.sort();
    let mut all: u64 = sound.iter().map(|(.., size)| size).sum();
    for (_, path, size) in sound {
        if keep.is_some_and(|keep| all > keep) {
            remove(path, size);
            all -= size;
        }
    }
    states.iter().for_each(|state| remove_empty(&state.folder));
    report.say(&format!(
        "{} removed, {}; {} left",
        plural(files, "file"),
        numbers::bytes(bytes),
        numbers::bytes(all)
    ));
    Outcome::Done
}
