//! Many seeds at a time, and what they told.

use crate::compare::{Difference, Outcome, compare};
use crate::coverage::Features;
use crate::generate::generate;
use crate::operations::Operations;
use crate::runner::Runner;
use crate::runners;
use crate::shrink::shrink;
use crate::tree::Script;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Differences that are made small; the rest is only counted.
const MOST_SHOWN: usize = 3;

/// The interpreter recurses along the reads of a script.
const STACK: usize = 256 << 20;

/// What a run found.
#[derive(Default)]
pub(crate) struct Campaign {
    pub features: Features,
    pub operations: Operations,
    pub failures: Vec<String>,
    same: usize,
    /// Codes of rejected scripts with their seeds.
    rejections: BTreeMap<String, Vec<u64>>,
    /// Reads that all runners refuse.
    refused: Vec<String>,
    slowest: Vec<(Duration, u64)>,
}

/// Runs `work` where deep recursion is fine.
pub(crate) fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK);
        builder.spawn_scoped(scope, work).expect("a thread").join().unwrap_or_else(|panic| {
            std::panic::resume_unwind(panic);
        })
    })
}

impl Campaign {
    pub(crate) fn run(seeds: Range<u64>) -> Campaign {
        let (next, done) = (AtomicU64::new(seeds.start), Mutex::new(Campaign::default()));
        let work = || {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= seeds.end {
                    return;
                }
                let (script, features) = generate(seed);
                let start = Instant::now();
                let outcome = compare(&script, seed, &mut runners(seed));
                let shown = done.lock().expect("no holder panics").shown();
                let failure = shown.then(|| told(&script, seed, &outcome)).flatten();
                let mut done = done.lock().expect("no holder panics");
                done.add(seed, &features, outcome, failure, start.elapsed());
            }
        };
        let workers = std::thread::available_parallelism().map_or(2, usize::from).min(8);
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| on_large_stack(work));
            }
        });
        done.into_inner().expect("no holder panics")
    }

    /// Whether the next failure is to be made small.
    fn shown(&self) -> bool {
        self.failures.len() < MOST_SHOWN
    }

    fn add(
        &mut self,
        seed: u64,
        features: &Features,
        outcome: Outcome,
        failure: Option<String>,
        took: Duration,
    ) {
        self.slowest.push((took, seed));
        self.slowest.sort_by(|a, b| b.cmp(a));
        self.slowest.truncate(5);
        match outcome {
            Outcome::Same { operations, refused } => {
                self.same += 1;
                self.operations.add(&operations);
                self.features.add(features);
                self.refused.extend(refused.into_iter().map(|why| format!("seed {seed}: {why}")));
            }
            Outcome::Rejected(problems) => {
                let code = problems.first().map_or("none".to_owned(), |problem| problem.code.to_string());
                self.rejections.entry(code).or_default().push(seed);
            }
            Outcome::Different(_) | Outcome::Panicked(_) => {
                self.failures.push(failure.unwrap_or_else(|| format!("seed {seed}: another one")));
            }
        }
    }

    pub(crate) fn rejected(&self) -> usize {
        self.rejections.values().map(Vec::len).sum()
    }

    pub(crate) fn report(&self) -> String {
        let mut report = format!("{}\n{}\n", self.features.table(), self.operations.table());
        let mut line = |text: String| writeln!(report, "{text}").expect("a string takes everything");
        line(format!("{} scripts agree, {} are rejected", self.same, self.rejected()));
        for (code, seeds) in &self.rejections {
            line(format!("  {code}: {} {:?}", seeds.len(), &seeds[..seeds.len().min(6)]));
        }
        line(format!("{} reads are refused by all", self.refused.len()));
        self.refused.iter().take(5).for_each(|why| line(format!("  {why}")));
        for (took, seed) in &self.slowest {
            line(format!("seed {seed} took {} ms", took.as_millis()));
        }
        report
    }
}

/// A failure with the smallest script that shows it.
fn told(script: &Script, seed: u64, outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Same { .. } | Outcome::Rejected(_) => None,
        Outcome::Different(_) => {
            let small = smallest(script, seed, &mut runners(seed)).unwrap_or_else(|| script.clone());
            let difference = differs(&small, seed, &mut runners(seed));
            let what = difference.map(|difference| difference.to_string()).unwrap_or_default();
            Some(format!("seed {seed}: a difference\n{}{what}", small.text()))
        }
        Outcome::Panicked(said) => {
            let mut panics =
                |script: &Script| matches!(compare(script, seed, &mut runners(seed)), Outcome::Panicked(_));
            let small = shrink(script, &mut panics);
            Some(format!("seed {seed}: a panic, {said}\n{}{}", small.text(), small.reads.join("\n")))
        }
    }
}

pub(crate) fn differs(script: &Script, seed: u64, runners: &mut [Box<dyn Runner>]) -> Option<Difference> {
    match compare(script, seed, runners) {
        Outcome::Different(difference) => Some(difference),
        Outcome::Same { .. } | Outcome::Rejected(_) | Outcome::Panicked(_) => None,
    }
}

/// The smallest script that still shows a difference, if this one does.
pub(crate) fn smallest(script: &Script, seed: u64, runners: &mut [Box<dyn Runner>]) -> Option<Script> {
    differs(script, seed, runners)?;
    Some(shrink(script, &mut |script| differs(script, seed, runners).is_some()))
}
