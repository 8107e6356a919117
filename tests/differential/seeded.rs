//! Bugs that are built into the engine and switched on one at a time: the comparison has to find every one.

use crate::ONE_AT_A_TIME;
use crate::campaign::{differs, on_large_stack};
use crate::engine::Compiled;
use crate::generate::generate;
use crate::runner::{Reference, Runner};
use itp::seeded::{self, Bug};

/// Seeds until a bug must be found.
const MOST_SEEDS: u64 = 2000;

/// Whether the compiled engine differs from the interpreter.
fn shows(seed: u64) -> bool {
    let mut runners: [Box<dyn Runner>; 2] = [Box::new(Reference), Box::new(Compiled::new(seed))];
    differs(&generate(seed).0, seed, &mut runners).is_some()
}

/// The first seed whose script shows the bug, and nothing without it.
fn found_by(bug: Bug) -> Option<u64> {
    let shows_with = |bug: Option<Bug>, seed: u64| {
        seeded::activate(bug);
        let shows = shows(seed);
        seeded::activate(None);
        shows
    };
    (0..MOST_SEEDS).find(|seed| shows_with(Some(bug), *seed) && !shows_with(None, *seed))
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
