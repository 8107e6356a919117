//! The text form of a plan: what is computed together, in which order, who reads each tile last, and the peak.
//!
//! ```text
//! g0 up: 0..40, 0..41 in 10 tiles of 8×41, shared: several groups read it
//! g1 both: 0..40, 0..40 in 5 tiles of 8×40
//!    up: tiles of g0
//! order
//!   0  g0 [0, 0], read by 2
//!   1  g1 [0, 0] reads 0
//! …
//! peak 3 tiles, 2624 bytes of tiles, 0 bytes of one worker
//! ```

use super::bands::{Slot, task};
use super::grid::Grid;
use super::group::{Group, Role};
use super::order::{Order, Step};
use super::peak::peak;
use super::readers::Division;
use crate::index::Interval;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Tasks that are listed, at the most.
const LISTED: usize = 24;

/// A request as `threads` workers would run it.
pub fn print(division: &Division, threads: usize) -> String {
    let mut text = String::new();
    for at in 0..division.groups.len() {
        group(division, at, &mut text);
    }
    text.push_str("order\n");
    order(division, &mut text);
    let Ok(held) = peak(division, threads) else { return text };
    let workers = if threads == 1 { "one worker".to_owned() } else { format!("{threads} workers") };
    let _ = writeln!(
        text,
        "peak {} tiles, {} bytes of tiles, {} bytes of {workers}",
        held.tiles, held.tile_bytes, held.scratch_bytes
    );
    text
}

fn ranges(region: &[Interval]) -> String {
    let ranges: Vec<String> = region.iter().map(ToString::to_string).collect();
    if ranges.is_empty() { "one element".to_owned() } else { ranges.join(", ") }
}

pub(super) fn sizes(shape: &[i64]) -> String {
    shape.iter().map(i64::to_string).collect::<Vec<_>>().join("×")
}

/// How large tiles are that are not at the edge.
pub(super) fn shape_of(grid: &Grid) -> Vec<i64> {
    let sizes = grid.shape.iter().zip(&grid.region);
    sizes.map(|(size, range)| (*size).min(range.len().unwrap_or(1))).collect()
}

fn group(division: &Division, at: usize, text: &mut String) {
    let group = &division.groups[at];
    let (name, grid) = (&division.stages.tensor(group.target).name, &group.grid);
    let shape = shape_of(grid);
    let tiles = match grid.count() {
        1 => String::new(),
        count => format!(" in {count} tiles of {}", sizes(&shape)),
    };
    let why = if group.why.is_empty() { String::new() } else { format!(", shared: {}", group.why) };
    let _ = writeln!(text, "g{at} {name}: {}{tiles}{why}", ranges(&grid.region));
    let task = task(&division.stages, group, &division.boxes, grid.tile(&grid.middle()));
    if let Some((steps, slot)) = &task.steps {
        let held = held(slot, "steps");
        let _ = writeln!(text, "   {name}: steps {}, {held}", steps.range);
        if let Some(passes) = &group.passes {
            let _ = writeln!(text, "   {name}: {passes}");
        }
    }
    for (member, slot) in group.members.iter().zip(&task.slots) {
        let Some(slot) = slot else { continue };
        let name = &division.stages.tensor(member.tensor).name;
        let _ = writeln!(text, "   {name}: {}", source(group, member.role, slot));
    }
}

/// Where a task finds the elements of a member.
fn source(group: &Group, role: Role, slot: &Slot) -> String {
    match role {
        Role::Resident => "in memory".to_owned(),
        Role::Gather(other) => format!("tiles of g{other}"),
        Role::Fill => format!("variable, {}", held(slot, "rows")),
        Role::Compute if group.band == i64::MAX => held(slot, "rows"),
        Role::Compute => format!("{} by bands of {}", held(slot, "rows"), group.band),
    }
}

fn held(slot: &Slot, what: &str) -> String {
    match slot.ring {
        Some(ring) => {
            let elements = slot.shape().iter().fold(1u128, |all, len| all.saturating_mul(*len as u128));
            format!("ring of {} {what}, {elements} elements", ring.rows)
        }
        None if slot.region.is_empty() => "one element".to_owned(),
        None => format!("box of {}", sizes(&slot.shape())),
    }
}

fn order(division: &Division, text: &mut String) {
    let Ok(mut order) = Order::beginning(division) else { return };
    let mut left: BTreeMap<u64, u64> = BTreeMap::new();
    for _ in 0..LISTED {
        let Some(step) = order.next(division) else { return };
        left.insert(step.number, step.readers);
        let _ = writeln!(text, "  {}", line(&step, &mut left));
    }
    let rest = division.tiles().saturating_sub(LISTED as u128);
    if rest > 0 {
        let _ = writeln!(text, "  … and {rest} more");
    }
}

/// One task: what it makes and reads, and which tiles nobody reads after it.
fn line(step: &Step, left: &mut BTreeMap<u64, u64>) -> String {
    let mut text = format!("{}  g{} {:?}", step.number, step.tile.0, step.tile.1);
    let mut frees = Vec::new();
    for source in &step.sources {
        if let Some(count) = left.get_mut(source) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                frees.push(source.to_string());
            }
        }
    }
    if !step.sources.is_empty() {
        let sources: Vec<String> = step.sources.iter().map(u64::to_string).collect();
        let _ = write!(text, " reads {}", sources.join(" "));
    }
    if step.readers > 0 {
        let _ = write!(text, ", read by {}", step.readers);
    }
    if !frees.is_empty() {
        let _ = write!(text, ", frees {}", frees.join(" "));
    }
    text
}
