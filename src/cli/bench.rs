//! `itp bench`: a script -> how long its reads take, compiled and planned once, run several times.
//!
//! ```text
//! blur[0:512, 0:512]  512×512 f32
//!   run      min 0.0121 s, median 0.0125 s of 5
//!   compile  0.0040 s, plan 0.0001 s
//! ```

use super::Outcome;
use super::args::BenchArgs;
use super::numbers;
use super::report::Report;
use super::session::{self, Session, merged};
use crate::engine::Prepared;
use crate::run::stats::Stats;
use serde_json::{Value, json};

/// Measures runs.
pub(super) fn bench(args: &BenchArgs, report: &mut Report) -> Outcome {
    measured(args, report).unwrap_or_else(|outcome| outcome)
}

fn measured(args: &BenchArgs, report: &mut Report) -> Result<Outcome, Outcome> {
    let session = session::open(&args.file, &args.read, &args.script, &args.options, report)?;
    let prepared = args.read.iter().map(|slice| session.prepare(slice, report));
    let prepared: Vec<Prepared<'_>> = prepared.collect::<Result<_, _>>()?;
    let (stats, times) = repeat(&session, &prepared, args.reps, report)?;
    let more = fields(&times);
    let text = if args.json {
        format!("{}\n", merged(stats.to_json(), more.clone()))
    } else {
        as_text(&args.read, &prepared, &stats, &times)
    };
    let outcome = report.print(&text);
    session.account(stats, more, &args.options, report)?;
    Ok(outcome)
}

/// Runs everything `reps` times: the statistics of the last, and the times of all in rising order.
fn repeat(
    session: &Session,
    prepared: &[Prepared<'_>],
    reps: u32,
    report: &mut Report,
) -> Result<(Stats, Vec<f64>), Outcome> {
    let (mut last, mut times) = (Stats::default(), Vec::new());
    for _ in 0..reps {
        let mut stats = Stats::default();
        for one in prepared {
            let ran = one.read_array();
            let (_, ran) = ran.map_err(|error| session::failed(&session.name, error, report))?;
            stats.add(&ran);
        }
        stats.seconds.total = stats.seconds.compile + stats.seconds.plan + stats.seconds.run;
        times.push(stats.seconds.run);
        last = stats;
    }
    times.sort_by(f64::total_cmp);
    Ok((last, times))
}

fn fields(times: &[f64]) -> Value {
    json!({"seconds": {"run_min": times[0], "run_median": median(times), "reps": times.len()}})
}

/// The middle of sorted times, of which there is at least one; between the two middle ones for an even count.
fn median(times: &[f64]) -> f64 {
    let middle = times.len() / 2;
    if times.len().is_multiple_of(2) { (times[middle - 1] + times[middle]) / 2.0 } else { times[middle] }
}

fn as_text(reads: &[String], prepared: &[Prepared<'_>], stats: &Stats, times: &[f64]) -> String {
    let lines = reads.iter().zip(prepared);
    let heads: String =
        lines.map(|(name, one)| format!("{name}  {}\n", numbers::shaped(one.view()))).collect();
    let (min, median, count) = (times[0], median(times), times.len());
    let seconds = stats.seconds;
    format!(
        "{heads}  run      min {min:.4} s, median {median:.4} s of {count}\n  compile  {:.4} s, plan {:.4} s\n",
        seconds.compile, seconds.plan
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let check = |times: &[f64], expect: f64| assert_eq!(median(times), expect);
        check(&[3.0], 3.0);
        check(&[1.0, 3.0], 2.0);
        check(&[1.0, 2.0, 9.0], 2.0);
    }
}
