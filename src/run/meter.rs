//! How far a run is: work that is done -> parts of a whole that a listener hears of.
//!
//! ```text
//! late[0:3] = heat[10000000, 0:3]      3 elements, after 30,000,003 of work: each step counts
//! ```

use crate::plan::grid::volume;
use crate::plan::group::work_box;
use crate::plan::readers::Division;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Told how many parts more are done; from any thread.
pub type Told<'t> = dyn Fn(u64) + Sync + 't;

/// Counts the work of a request.
pub struct Meter<'t> {
    /// Work of all tasks.
    all: u64,
    /// Parts that all of it counts as.
    parts: u64,
    done: AtomicU64,
    told: &'t Told<'t>,
}

/// The elements that the tasks of a request make for each other and for the result, every step of a recurrence.
pub fn work_of(division: &Division) -> u64 {
    let work = division
        .groups
        .iter()
        .map(|group| volume(&work_box(&division.stages, group.target, &group.grid.region)));
    work.fold(0, u128::saturating_add).min(u64::MAX.into()) as u64
}

impl<'t> Meter<'t> {
    /// All of a request counts as so many parts.
    pub fn new(division: &Division, parts: u64, told: &'t Told<'t>) -> Meter<'t> {
        Meter { all: work_of(division), parts, done: AtomicU64::new(0), told }
    }

    /// Elements were made.
    pub fn add(&self, elements: u64) {
        let before = self.done.fetch_add(elements, Relaxed);
        let share = |done: u64| {
            (u128::from(done.min(self.all)) * u128::from(self.parts) / u128::from(self.all.max(1))) as u64
        };
        let more = share(before.saturating_add(elements)) - share(before);
        if more > 0 {
            (self.told)(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// What is told while so many elements are made one after the other.
    fn told(all: u64, parts: u64, made: &[u64]) -> Vec<u64> {
        let told = Mutex::new(Vec::new());
        let listener = |parts| told.lock().expect("nobody panics").push(parts);
        let meter = Meter { all, parts, done: AtomicU64::new(0), told: &listener };
        made.iter().for_each(|elements| meter.add(*elements));
        told.into_inner().expect("nobody panics")
    }

    #[test]
    fn parts_are_told_when_they_are_whole_and_never_too_many() {
        assert_eq!(told(30, 10, &[3, 2, 1, 24, 5]), [1, 1, 8]);
        assert_eq!(told(2, 5, &[1, u64::MAX]), [2, 3]);
        assert!(told(0, 10, &[1, 1]).is_empty());
    }
}
