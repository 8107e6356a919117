//! Walks along lists that no cache holds: the lines of the next rows are asked for before these are gone along.
//!
//! ```text
//! sum(k) a[y, k] * v[k]     ask for what is stored of a in rows 24..48, compute rows 0..24, ask for 48..72, …
//! ```
//!
//! What is looked up beside a list (`v[k]`) lies anywhere, and processors then no longer read ahead of the list itself: ten
//! million entries took 17 ms, and 11 this way (Zen 5, 2026-11-19).

use super::memory::Call;
use crate::formats::Rows;
use crate::index::Interval;
use crate::pages::ask_for;
use std::sync::atomic::AtomicBool;

/// Bytes of a list that caches hold.
const CACHED: usize = 4 << 20;
/// Entries that are gone along at once: fewer lines than a processor waits for at a time.
const ENTRIES: u32 = 320;
/// So many times as many rows lie between those that are gone along and those whose begins are asked for.
const LATER: usize = 4;

/// The lists of a walk along rows that follow each other in memory as they do in the result, if caches do not hold them.
pub(super) fn long<'r>(lists: &[&'r Rows<'r>], rank: usize) -> Vec<&'r Rows<'r>> {
    let bytes = |rows: &Rows<'_>| rows.values.len() + size_of_val(&*rows.lo) + size_of_val(&*rows.hi);
    let long = |rows: &&Rows<'_>| rank == 1 && rows.region.len() == 2 && bytes(rows) > CACHED;
    lists.iter().copied().filter(long).collect()
}

/// Runs a kernel over a range, a few rows at a time; false if that was cancelled.
pub(super) fn run(call: &mut Call<'_>, lists: &[&Rows<'_>], range: Interval, cancel: &AtomicBool) -> bool {
    let (mut first, end) = (range.first(), range.last() + 1);
    while first < end {
        let next = lists.iter().map(|rows| after(rows, first)).min().unwrap_or(end).min(end);
        lists.iter().for_each(|rows| ask(rows, next, (next - first) as usize));
        if !call.run(&[Interval::trusted(first, next - 1)], &[], cancel) {
            return false;
        }
        first = next;
    }
    true
}

/// The row after as many as have so many entries, one at the least.
fn after(rows: &Rows<'_>, first: i64) -> i64 {
    let Some(row) = rows.row(&[first, 0]) else { return first + i64::from(ENTRIES) };
    let most = rows.ptr[row].saturating_add(ENTRIES);
    let count = rows.ptr[row + 1..].iter().take(ENTRIES as usize).take_while(|end| **end <= most).count();
    first + count.max(1) as i64
}

/// Asks for the entries from a row on, and for where those of some rows later begin.
fn ask(rows: &Rows<'_>, first: i64, count: usize) {
    let Some(row) = rows.row(&[first, 0]) else { return };
    let later = |blocks: usize| (row + blocks * count).min(rows.ptr.len());
    ask_for(&rows.ptr[later(LATER)..later(LATER + 1)]);
    let from = rows.ptr[row] as usize;
    let width = rows.values.len() / rows.lo.len().max(1);
    let part = |count: usize| from.min(count)..(from + ENTRIES as usize).min(count);
    ask_for(&rows.lo[part(rows.lo.len())]);
    ask_for(&rows.hi[part(rows.hi.len())]);
    let values = part(rows.lo.len());
    ask_for(&rows.values[values.start * width..values.end * width]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    #[test]
    fn as_many_rows_as_have_so_many_entries() {
        let ptr: Vec<u32> = (0..101).map(|row| 10 * row).chain([2000, 2000, 2001]).collect();
        let range = |size: i64| Interval::trusted(5, 5 + size - 1);
        let lo = vec![0; 2001];
        let rows = Rows {
            region: vec![range(103), range(4000)],
            ptr: Cow::Owned(ptr),
            lo: Cow::Owned(lo),
            hi: Cow::Borrowed(&[]),
            values: Cow::Owned(vec![0; 8 * 2001]),
        };
        assert_eq!(after(&rows, 5), 5 + 32);
        assert_eq!(after(&rows, 104), 105, "the row after the first hundred is longer than that");
        assert_eq!((after(&rows, 105), after(&rows, 106)), (106, 108), "that one, and what is left");
        assert_eq!(after(&rows, 1000), 1320, "beyond the rows");
        [5, 104, 107, 108].iter().for_each(|row| ask(&rows, *row, 32));
        assert!(long(&[&rows], 1).is_empty(), "caches hold it");
    }
}
