//! Random scripts through every engine: all have to give the bits of the interpreter.
//!
//! ```text
//! cargo test --test differential                              seeds 0..600
//! ITP_DIFF_SEEDS=0..100000 cargo test --test differential     a long campaign
//! ITP_DIFF_SHOW=17 cargo test --test differential show        prints the script of one seed
//! ```
//!
//! [`generate`] makes a script from a seed, [`runner`] says what an engine has to offer, [`compare`] finds the first
//! difference, [`mod@shrink`] makes the script that shows it small, [`coverage`] counts what the scripts used.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a test that cannot go on has failed"
)]

mod campaign;
mod compare;
mod coords;
mod coverage;
mod engine;
mod exprs;
mod far;
mod formats;
mod generate;
mod host;
mod leaves;
mod mutants;
mod operations;
mod planned;
mod reads;
mod rng;
mod runner;
mod scope;
#[cfg(all(feature = "seeded-bugs", feature = "jit"))]
mod seeded;
mod shrink;
mod slices;
mod tree;
mod views;
mod windows;

use campaign::{Campaign, on_large_stack};
use generate::generate;
use rng::Rng;
use runner::{Answer, Case, Probe, Reference, Runner, Shuffled};
use std::ops::Range;
use std::sync::Mutex;

/// Seeds of a plain run.
const SEEDS: Range<u64> = 0..600;

/// Rejected scripts per hundred that are too many.
const MOST_REJECTED: usize = 2;

/// Seeded bugs are switched on for the whole process, so tests that run engines take turns.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The interpreter and what is held against it. A new engine goes here, once per way of running it.
fn runners(seed: u64) -> Vec<Box<dyn Runner>> {
    vec![
        Box::new(Reference),
        Box::new(Shuffled { rng: Rng::new(seed) }),
        Box::new(Probe),
        #[cfg(feature = "jit")]
        Box::new(engine::Compiled::new(seed)),
    ]
}

/// `ITP_DIFF_SEEDS`, or the usual ones.
fn seeds(usual: Range<u64>) -> Range<u64> {
    let Ok(text) = std::env::var("ITP_DIFF_SEEDS") else { return usual };
    let (from, to) = text.split_once("..").expect("ITP_DIFF_SEEDS is start..end");
    from.parse().expect("a number")..to.parse().expect("a number")
}

#[test]
fn engines_agree_on_random_scripts() {
    let _turn = ONE_AT_A_TIME.lock();
    let seeds = seeds(SEEDS);
    let count = (seeds.end - seeds.start) as usize;
    let done = Campaign::run(seeds);
    println!("{}", done.report());
    assert!(done.failures.is_empty(), "{}", done.failures.join("\n\n"));
    assert!(done.rejected() * 100 <= count * MOST_REJECTED, "{} of {count} rejected", done.rejected());
    let unlisted = done.features.unlisted();
    assert!(unlisted.is_empty(), "not in the list of features: {}", unlisted.join(", "));
}

#[test]
fn scripts_use_everything_there_is() {
    let mut used = Campaign::default();
    on_large_stack(|| {
        for seed in 0..1500 {
            let (script, features) = generate(seed);
            if let Ok(case) = runner::case(&script.text(), seed) {
                used.features.add(&features);
                used.operations.add(&operations::Operations::of(&case.program.graph));
            }
        }
        let missing = [used.features.missing(), used.operations.missing()].concat();
        assert!(missing.is_empty(), "never used: {}", missing.join(", "));
    });
}

#[test]
fn a_seed_makes_the_same_script_every_time() {
    let made = |seed| generate(seed).0;
    for seed in 0..50 {
        assert_eq!(made(seed).text(), made(seed).text());
        assert_eq!(made(seed).reads, made(seed).reads);
    }
    assert_ne!(made(1).text(), made(2).text());
}

#[test]
fn show_one_seed() {
    let seed = std::env::var("ITP_DIFF_SHOW").map_or(1, |text| text.parse().expect("a number"));
    let (script, _) = generate(seed);
    println!("{}\n{}", script.text(), script.reads.join("\n"));
    assert!(!script.items.is_empty() && !script.reads.is_empty());
}

/// An interpreter that is wrong about tensors with a `popcount` in their body.
struct Wrong;

impl Runner for Wrong {
    fn name(&self) -> String {
        "one that cannot count".to_owned()
    }

    fn read(&mut self, case: &mut Case, slice: &str) -> Result<Answer, String> {
        let mut answer = Reference.read(case, slice)?;
        let read = |name: &str| slice.strip_prefix(name).is_some_and(|rest| rest.starts_with(['[', '.']));
        let tensors = case.program.graph.tensors.iter().filter(|tensor| read(&tensor.name));
        let tensors = tensors.flat_map(|tensor| tensor.bodies());
        let printed: String = tensors.map(|body| format!("{:?}", body.body)).collect();
        if printed.contains("Popcount") {
            answer.bytes.iter_mut().for_each(|byte| *byte ^= 1);
        }
        Ok(answer)
    }
}

#[test]
fn a_difference_is_found_and_made_small() {
    on_large_stack(|| {
        let runners = || -> Vec<Box<dyn Runner>> { vec![Box::new(Reference), Box::new(Wrong)] };
        let (seed, script, small) = (0..400)
            .find_map(|seed| {
                let (script, _) = generate(seed);
                let small = campaign::smallest(&script, seed, &mut runners())?;
                Some((seed, script, small))
            })
            .expect("some script counts bits");
        println!("seed {seed}\n{}\n{}", small.text(), small.reads.join("\n"));
        assert!(small.text().contains("popcount"), "{}", small.text());
        assert!(small.items.len() <= 2 && small.size() <= script.size(), "{}", small.text());
    });
}
