//! Bytes that nobody meant, thrown at everything that parses: no panic, no crash, and what holds for every input.
//!
//! ```text
//! cargo test --test fuzz                                                     the corpus, and some mutants of it
//! ITP_FUZZ_SECONDS=60 cargo test --release --test fuzz campaign -- --nocapture          a campaign: a minute per target
//! ITP_FUZZ_SECONDS=60 ITP_FUZZ_TARGET=tiff ITP_FUZZ_SEED=7 cargo test …                 of one target, from another seed
//! ```
//!
//! [`targets`] are the functions under test, one per kind of input; [`corpus`] says what mutants are made from: the examples,
//! the hostile scripts and the files of tests/io, and what was found before (tests/fuzz/found); [`mod@mutate`] makes them.
//! A target for a new format is one line in [`targets::ALL`].

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on has failed")]

mod checksum;
mod corpus;
mod mutate;
mod targets;

use corpus::corpus;
use mutate::{Rng, mutate};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};
use targets::{ALL, Target};

/// Mutants of each target in an everyday run.
const EVERYDAY: u64 = 60;

/// Compiling recurses as deeply as the limits of the language allow.
const STACK: usize = 256 << 20;

fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        thread.expect("a thread").join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs a target on one input; a panic is told with the input, which is kept.
fn run(target: &Target, input: &[u8], origin: &str) {
    if catch_unwind(AssertUnwindSafe(|| (target.run)(input))).is_err() {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("found-{}", target.name));
        std::fs::write(&path, input).unwrap();
        panic!("{}: {origin} fails; the input is in {}", target.name, path.display());
    }
}

/// Runs mutants until there were enough, or the time is over; how many there were.
fn campaign(target: &Target, seed: u64, most: u64, until: Option<Instant>) -> u64 {
    let seeds = corpus(target.kind);
    let mut rng = Rng::new(seed);
    for number in 0..most {
        if until.is_some_and(|until| Instant::now() > until) {
            return number;
        }
        let input = mutate(&seeds, target.kind, &mut rng);
        run(target, &input, &format!("mutant {number} of seed {seed}"));
    }
    most
}

#[test]
fn the_corpus_is_replayed() {
    on_large_stack(|| {
        for target in ALL {
            let inputs = corpus(target.kind);
            assert!(inputs.len() >= 5, "{}: only {} inputs", target.name, inputs.len());
            // The binary is run on all hostile scripts elsewhere: some of them are enough here.
            let step = if inputs.len() > 100 { 8 } else { 1 };
            let some = inputs.iter().enumerate().step_by(step);
            some.for_each(|(at, input)| run(target, input, &format!("input {at}")));
        }
    });
}

#[test]
fn some_mutants_do_no_harm() {
    on_large_stack(|| ALL.iter().for_each(|target| _ = campaign(target, 1, EVERYDAY, None)));
}

/// Does nothing unless a time is given.
#[test]
fn campaign_for_a_while() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let Some(seconds) = number("ITP_FUZZ_SECONDS") else { return };
    let wanted = std::env::var("ITP_FUZZ_TARGET").ok();
    let seed = number("ITP_FUZZ_SEED").unwrap_or(2);
    for target in ALL.iter().filter(|target| wanted.as_ref().is_none_or(|name| name == target.name)) {
        let until = Instant::now() + Duration::from_secs(seconds);
        let count = on_large_stack(|| campaign(target, seed, u64::MAX, Some(until)));
        println!("{}: {count} executions in {seconds} s, seed {seed}", target.name);
        assert!(count > 0);
    }
}

#[test]
fn a_panic_is_found() {
    let wrong: Target =
        Target { name: "wrong", kind: targets::Kind::Script, run: |input| assert!(input.len() < 20) };
    assert!(catch_unwind(|| campaign(&wrong, 1, 100, None)).is_err());
}
