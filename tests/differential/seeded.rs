//! Bugs that are built into the engine and switched on one at a time: the comparison has to find every one.

use crate::campaign::{differs, on_large_stack};
use crate::generate::generate;
use crate::{ONE_AT_A_TIME, runners};
use itp::seeded::{self, Bug};

/// Seeds until a bug must be found.
const MOST_SEEDS: u64 = 2000;

/// The first seed whose script shows the bug.
fn found_by(bug: Bug) -> Option<u64> {
    seeded::activate(Some(bug));
    let found =
        (0..MOST_SEEDS).find(|seed| differs(&generate(*seed).0, *seed, &mut runners(*seed)).is_some());
    seeded::activate(None);
    found
}

#[test]
fn every_seeded_bug_is_found() {
    let _turn = ONE_AT_A_TIME.lock();
    let mut missed = Vec::new();
    for bug in seeded::ALL {
        let found = on_large_stack(|| found_by(*bug));
        println!("{:<24} {found:?}", bug.name());
        missed.extend(found.is_none().then(|| bug.name()));
    }
    assert!(missed.is_empty(), "not found within {MOST_SEEDS} seeds: {}", missed.join(", "));
}
