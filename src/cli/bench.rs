//! `itp bench`: a script -> how long its reads take, compiled and planned once, run several times.
//!
//! ```text
//! blur[0:512, 0:512]  512×512 f32
//!   run      min 0.0121 s, median 0.0125 s of 5
//!   compile  0.0040 s, plan 0.0001 s, first run 0.0185 s
//! ```
//!
//! The first run compiles kernels and asks for the memory of its result, which it gives back; it is told apart. The others
//! write into the same memory again and again.

use super::Outcome;
use super::args::BenchArgs;
use super::numbers;
use super::report::Report;
use super::session::{self, Session, merged};
use crate::engine::{Error, Prepared};
use crate::pages::prefer_large;
use crate::run::blank::Memory;
use crate::run::stats::Stats;
use serde_json::{Value, json};
use std::time::Instant;

/// Measures runs.
pub(super) fn bench(args: &BenchArgs, report: &mut Report) -> Outcome {
    measured(args, report).unwrap_or_else(|outcome| outcome)
}

fn measured(args: &BenchArgs, report: &mut Report) -> Result<Outcome, Outcome> {
    let session = session::open(&args.file, &args.read, &args.script, &args.options, report)?;
    let prepared = args.read.iter().map(|slice| session.prepare(slice, report));
    let prepared: Vec<Prepared<'_>> = prepared.collect::<Result<_, _>>()?;
    let (stats, times) = repeat(&session, &prepared, args.reps, report)?;
    let more = fields(&times, &args.read);
    let text = if args.json {
        format!("{}\n", merged(stats.to_json(), more.clone()))
    } else {
        as_text(&args.read, &prepared, &stats, &times)
    };
    let outcome = report.print(&text);
    session.account(stats, more, &args.options, report)?;
    Ok(outcome)
}

/// Seconds of all runs.
struct Times {
    /// Per read: the plan, and the first run with the memory for its result.
    firsts: Vec<(f64, f64)>,
    /// Per repetition, in the order of time.
    runs: Vec<f64>,
    /// The processor time of each repetition; empty where it is not known.
    cpus: Vec<f64>,
}

/// Runs everything once and then `reps` times: the statistics of the last, and all times.
fn repeat(
    session: &Session,
    prepared: &[Prepared<'_>],
    reps: u32,
    report: &mut Report,
) -> Result<(Stats, Times), Outcome> {
    let mut times = Times { firsts: Vec::new(), runs: Vec::new(), cpus: Vec::new() };
    let mut sizes = Vec::new();
    for one in prepared {
        let start = Instant::now();
        session.progress.begin("first run");
        let read = one.read_array();
        session.progress.end();
        let (array, stats) = read.map_err(|error| failed(session, error, report))?;
        times.firsts.push((stats.seconds.plan, start.elapsed().as_secs_f64()));
        // One result at a time, as a viewer has it: the next one may lie where it was.
        sizes.push(array.data.len());
    }
    let mut results: Vec<Room> = sizes.into_iter().map(Room::new).collect();
    let mut last = Stats::default();
    for rep in 1..=reps {
        session.progress.begin(&format!("run {rep} of {reps}"));
        let cpu = cpu_seconds();
        let ran = all(prepared, &mut results);
        session.progress.end();
        last = ran.map_err(|error| failed(session, error, report))?;
        times.runs.push(last.seconds.run);
        // The time of this thread is all there is only when it works alone.
        let cpus = cpu.zip(cpu_seconds()).filter(|_| last.threads == 1);
        times.cpus.extend(cpus.map(|(before, after)| after - before));
    }
    Ok((last, times))
}

fn failed(session: &Session, error: Error, report: &mut Report) -> Outcome {
    session::failed(&session.name, error, report)
}

/// Memory for a result, as somebody who computes it again and again has it ready.
struct Room {
    bytes: Vec<u8>,
    size: usize,
}

/// Where memory begins that is written fast: at a line of the cache.
const LINE: usize = 64;

impl Room {
    /// Not zero, so that its pages are there.
    fn new(size: usize) -> Room {
        let mut bytes = Vec::with_capacity(size + LINE - 1);
        prefer_large(&bytes);
        bytes.resize(size + LINE - 1, 1);
        Room { bytes, size }
    }

    fn bytes(&mut self) -> &mut [u8] {
        let start = self.bytes.as_ptr().align_offset(LINE).min(LINE - 1);
        &mut self.bytes[start..][..self.size]
    }
}

/// Computes every read into its memory.
fn all(prepared: &[Prepared<'_>], results: &mut [Room]) -> Result<Stats, Error> {
    let mut stats = Stats::default();
    for (one, result) in prepared.iter().zip(results) {
        stats.add(&one.run(&mut Memory::new(result.bytes()))?);
    }
    stats.seconds.total = stats.seconds.compile + stats.seconds.plan + stats.seconds.run;
    Ok(stats)
}

/// Processor time of this thread, where the system tells it.
#[cfg(target_os = "linux")]
fn cpu_seconds() -> Option<f64> {
    use nix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok()?;
    Some(std::time::Duration::from(time).as_secs_f64())
}

#[cfg(not(target_os = "linux"))]
fn cpu_seconds() -> Option<f64> {
    None
}

fn fields(times: &Times, reads: &[String]) -> Value {
    let sorted = sorted(&times.runs);
    let first: f64 = times.firsts.iter().map(|(_, run)| run).sum();
    let reads = reads.iter().zip(&times.firsts);
    let reads = reads.map(|(slice, (plan, first))| json!({"read": slice, "plan": plan, "first": first}));
    json!({
        "seconds": {
            "run_min": sorted[0], "run_median": median(&sorted), "reps": sorted.len(),
            "first": first, "runs": times.runs, "cpus": times.cpus,
        },
        "reads": reads.collect::<Vec<_>>(),
    })
}

fn sorted(times: &[f64]) -> Vec<f64> {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The middle of sorted times, of which there is at least one; between the two middle ones for an even count.
fn median(times: &[f64]) -> f64 {
    let middle = times.len() / 2;
    if times.len().is_multiple_of(2) { (times[middle - 1] + times[middle]) / 2.0 } else { times[middle] }
}

fn as_text(reads: &[String], prepared: &[Prepared<'_>], stats: &Stats, times: &Times) -> String {
    let lines = reads.iter().zip(prepared);
    let heads: String =
        lines.map(|(name, one)| format!("{name}  {}\n", numbers::shaped(one.view()))).collect();
    let sorted = sorted(&times.runs);
    let (min, median, count) = (sorted[0], median(&sorted), sorted.len());
    let first: f64 = times.firsts.iter().map(|(_, run)| run).sum();
    let seconds = stats.seconds;
    let [min, median, compile, plan, first] = [min, median, seconds.compile, seconds.plan, first].map(shown);
    format!(
        "{heads}  run      min {min} s, median {median} s of {count}\n  compile  {compile} s, plan {plan} s, first run {first} s\n"
    )
}

/// Seconds with four places, and with more where those would leave less than three digits.
fn shown(seconds: f64) -> String {
    let places = if seconds > 0.0 { (2.0 - seconds.log10().floor()).clamp(4.0, 9.0) as usize } else { 4 };
    format!("{seconds:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_times_have_digits() {
        let check = |seconds: f64, expect: &str| assert_eq!(shown(seconds), expect);
        check(12.3456789, "12.3457");
        check(0.0123456, "0.0123");
        check(0.00123456, "0.00123");
        check(0.0000123456, "0.0000123");
        check(0.0, "0.0000");
    }

    #[test]
    fn the_median_is_in_the_middle() {
        let check = |times: &[f64], expect: f64| assert_eq!(median(times), expect);
        check(&[3.0], 3.0);
        check(&[1.0, 3.0], 2.0);
        check(&[1.0, 2.0, 9.0], 2.0);
    }
}
