//! Numbers about runs -> lines for people.
//!
//! ```text
//! hills.png  512×512 f32  0.05 s · peak 3.1 MB (planned 3.1 MB) · 12 tiles computed, 12 freed, 0 live
//! ```

use super::report::plural;
pub(super) use crate::diagnostic::bytes;
use crate::graph::view::View;
use crate::graph::{FileKind, OutputOptions};
use crate::io;
use crate::run::stats::{Plan, Ring, Seconds, Stats};
use std::fmt::Write as _;

/// What a run took, in one line.
pub(super) fn account(name: &str, shaped: &str, stats: &Stats) -> String {
    let tiles = stats.tiles;
    let computed = plural(usize::try_from(tiles.computed).unwrap_or(usize::MAX), "tile");
    format!(
        "{name}  {shaped}  {:.2} s · peak {} (planned {}) · {computed} computed, {} freed, {} live",
        stats.seconds.run,
        bytes(stats.bytes.peak),
        bytes(stats.bytes.peak_planned),
        tiles.freed,
        tiles.live_end,
    )
}

/// `512×512 f32`
pub(super) fn shaped(view: &View) -> String {
    format!("{} {}", shape(view), view.element)
}

/// `512×512 u8`: what a file holds.
pub(super) fn stored(view: &View, kind: FileKind, options: &OutputOptions) -> String {
    let element = io::stored_element(kind, view.element, options).unwrap_or(view.element);
    format!("{} {element}", shape(view))
}

fn shape(view: &View) -> String {
    let sizes = view.domain().shape().unwrap_or_default();
    let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    if sizes.is_empty() { "one".to_owned() } else { sizes.join("×") }
}

/// What was computed, as a table.
pub(super) fn stats_table(stats: &Stats) -> String {
    let width = stats.windows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(7);
    let mut text = String::new();
    if !stats.windows.is_empty() {
        let _ = writeln!(text, "{:<width$}  {:>12}  {:>12}", "windows", "computed", "reused");
    }
    for (name, windows) in &stats.windows {
        let _ = writeln!(text, "{name:<width$}  {:>12}  {:>12}", windows.computed, windows.reused);
    }
    if !stats.computed.is_empty() {
        let counts: Vec<String> =
            stats.computed.iter().map(|(name, count)| format!("{count} of {name}")).collect();
        let _ = writeln!(text, "elements computed: {}", counts.join(", "));
    }
    for stored in &stats.formats {
        let (own, dense) = (bytes(stored.bytes), bytes(stored.dense));
        let _ = writeln!(text, "stored  {} in {own} as {}, {dense} if dense", stored.tensor, stored.format);
    }
    let (tiles, memory) = (stats.tiles, stats.bytes);
    let _ = write!(
        text,
        "tiles   {} computed, {} freed, {} live at the peak (planned {}), {} live",
        tiles.computed, tiles.freed, tiles.live_peak, tiles.live_peak_planned, tiles.live_end
    );
    let _ = write!(
        text,
        "\nmemory  {} at the peak (planned {}), {} of output",
        bytes(memory.peak),
        bytes(memory.peak_planned),
        bytes(memory.output)
    );
    let threads = plural(usize::try_from(stats.threads).unwrap_or(usize::MAX), "thread");
    let _ = write!(text, "\nengine  {}, {threads}, {} elements", stats.engine, stats.elements);
    text
}

/// A time per stage.
pub(super) fn times(seconds: &Seconds) -> String {
    let stages = [
        ("compile", seconds.compile),
        ("plan", seconds.plan),
        ("run", seconds.run),
        ("total", seconds.total),
    ];
    let lines: Vec<String> = stages.iter().map(|(stage, time)| format!("{stage:<8}{time:>9.4} s")).collect();
    lines.join("\n")
}

/// Bytes for compiling that are not worth a word.
const MODEST: u64 = 32 << 20;

/// What a run would do, one fact per line.
pub(super) fn plan_lines(plan: &Plan) -> String {
    let compiling = match plan.bytes_compiling {
        ..=MODEST => String::new(),
        more => format!(", and up to {} to compile long bodies", bytes(more)),
    };
    let mut lines = vec![
        format!("tiles      {}, {} live at the peak", plan.tiles, plan.live_peak),
        format!("memory     {} at the peak{compiling}", bytes(plan.bytes_peak)),
        format!("recompute  {:.3} elements computed per element needed", plan.recompute_factor),
        format!("kernels    {}", plan.kernels),
    ];
    for (name, windows) in &plan.windows {
        lines.push(format!("windows    {name}: {} computed, {} reused", windows.computed, windows.reused));
    }
    lines.extend(plan.rings.iter().map(|held| format!("ring       {}", ring(held))));
    lines.extend(plan.notes.iter().cloned());
    lines.iter().map(|line| format!("  {line}\n")).collect()
}

/// `truth: 64 rows, 81.9 kB`
pub(super) fn ring(ring: &Ring) -> String {
    format!("{}: {} {}, {}", ring.tensor, ring.rows, ring.what, bytes(ring.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_rounded_to_three_digits_or_so() {
        let check = |count: u64, expect: &str| assert_eq!(bytes(count), expect);
        check(0, "0 B");
        check(999, "999 B");
        check(1000, "1.0 kB");
        check(3_145_728, "3.1 MB");
        check(999_949, "999.9 kB");
        check(999_950, "1.0 MB");
        check(u64::MAX, "18.4 EB");
    }
}
