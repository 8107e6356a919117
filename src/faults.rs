//! Failures on demand, to see what becomes of a run: there are none in release builds.
//!
//! ```text
//! if faults::strikes(Place::Memory) { return None }              in the code that asks for memory
//! faults::arm(Some("memory:7".parse()?));                        in the test: the seventh time there is none
//! ITP_FAULT=disk:7+ itp run blur.itp                             the seventh call of the disk fails, and all after it
//! ```
//!
//! The fault that is armed is one for the whole process, as engines have threads of their own. In release builds
//! [`strikes`] is the constant `false`, and nothing is counted.

use std::str::FromStr;
#[cfg(debug_assertions)]
use std::sync::{Mutex, PoisonError};

/// Where something can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A call that opens, reads, writes, names or removes a file.
    Disk,
    /// Memory for a tile or for what a task holds.
    Memory,
    /// A worker that is about to do a task: it panics.
    Worker,
}

/// What comes after the call that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// All is well again.
    Well,
    /// Everything fails from then on.
    Worse,
}

/// A failure that is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Of what.
    pub place: Place,
    /// Which call, from 1 on.
    pub at: u64,
    /// And later ones.
    pub then: Then,
}

impl FromStr for Fault {
    type Err = String;

    /// `disk:7`, `disk:7+`, `memory:1`, `worker:2`.
    fn from_str(text: &str) -> Result<Fault, String> {
        let parse = || {
            let (place, number) = text.split_once(':')?;
            let (number, then) = match number.strip_suffix('+') {
                Some(number) => (number, Then::Worse),
                None => (number, Then::Well),
            };
            let place = match place {
                "disk" => Place::Disk,
                "memory" => Place::Memory,
                "worker" => Place::Worker,
                _ => return None,
            };
            Some(Fault { place, at: number.parse().ok()?, then })
        };
        parse().ok_or_else(|| format!("`{text}` is no fault: write `disk:7`, `memory:7+` or `worker:1`"))
    }
}

/// What is armed, and the calls that were counted since.
#[cfg(debug_assertions)]
static ARMED: Mutex<(Option<Fault>, u64)> = Mutex::new((None, 0));

/// Arms a fault, or none, and begins to count anew; says how many calls the one before it saw.
#[cfg(debug_assertions)]
pub fn arm(fault: Option<Fault>) -> u64 {
    let mut armed = ARMED.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::replace(&mut *armed, (fault, 0)).1
}

/// Counts a call, and says whether it fails.
#[cfg(debug_assertions)]
pub fn strikes(place: Place) -> bool {
    let mut armed = ARMED.lock().unwrap_or_else(PoisonError::into_inner);
    let (Some(fault), count) = &mut *armed else { return false };
    if fault.place != place {
        return false;
    }
    *count += 1;
    match fault.then {
        Then::Well => *count == fault.at,
        Then::Worse => *count >= fault.at,
    }
}

/// Never: this is a release build.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub const fn strikes(_: Place) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_written_in_a_word() {
        let check = |text: &str, expect: Option<Fault>| assert_eq!(text.parse().ok(), expect, "{text}");
        check("disk:7", Some(Fault { place: Place::Disk, at: 7, then: Then::Well }));
        check("memory:1+", Some(Fault { place: Place::Memory, at: 1, then: Then::Worse }));
        check("worker:2", Some(Fault { place: Place::Worker, at: 2, then: Then::Well }));
        check("disk", None);
        check("moon:1", None);
        check("disk:-1", None);
    }
}
