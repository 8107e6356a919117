//! How long tiles live, in rows of the result, without going through all tasks.
//!
//! ```text
//! row n of the result reads rows n - 1 to n + 1 of b, and those the same of a      b 5: rows 4 to 6      a 5: rows 3 to 7
//! ```
//!
//! A row of the result is all its tasks with one number along its slowest dimension. A tile is made for the first row
//! that needs it and freed after the last, so that what lives during a row is never more than what is found here.

use super::gathers::Gather;
use super::group::{Group, Role};
use super::needs::Motion;
use super::readers::{Division, Readers};
use crate::index::Interval;

/// Tiles of a group that live at once.
#[derive(Clone, Debug)]
pub(super) enum Lives {
    /// All that there are.
    All,
    /// By the number along one dimension, the rows of the result during which such tiles live.
    Rows { dim: usize, rows: Vec<Interval> },
    /// So many numbers along one dimension, at the most.
    Few { dim: usize, most: u128 },
}

/// Tiles that are gone through for their lives, at the most; beyond that, all live.
const MOST: usize = 1 << 22;

/// The dimension along which rows of a result follow each other.
pub(super) fn slowest(result: &Group) -> Option<usize> {
    result.grid.numbers.iter().position(|numbers| numbers.len().unwrap_or(1) > 1)
}

/// By group, the lives of its tiles while rows are made of which so many are begun before the oldest is done.
pub(super) fn lives(division: &Division, readers: &Readers, rows_at_once: i64) -> Vec<Lives> {
    let last = division.groups.len() - 1;
    let mut lives = vec![Lives::All; division.groups.len()];
    let Some(slowest) = slowest(&division.groups[last]) else { return lives };
    let rows = division.groups[last].grid.numbers[slowest];
    if rows.len().is_some_and(|len| len as usize <= MOST) {
        let own = (rows.first()..=rows.last()).map(|row| Interval::trusted(row, row));
        lives[last] = Lives::Rows { dim: slowest, rows: own.collect() };
    }
    // Readers stand after what they read.
    for group in (0..last).rev() {
        let dims = 0..division.groups[group].grid.numbers.len();
        let known = dims.clone().find_map(|dim| followed(division, readers, &lives, group, dim));
        let few = || dims.clone().find_map(|dim| neighbours(division, readers, (group, dim), rows_at_once));
        lives[group] = known.or_else(few).unwrap_or(Lives::All);
    }
    lives
}

/// The lives of tiles by their number along a dimension, if all that read them follow the result along it.
fn followed(
    division: &Division,
    readers: &Readers,
    known: &[Lives],
    group: usize,
    dim: usize,
) -> Option<Lives> {
    let numbers = division.groups[group].grid.numbers[dim];
    let listed = usize::try_from(numbers.len()?).ok().filter(|listed| *listed <= MOST)?;
    let mut rows = vec![Interval::EMPTY; listed];
    let mut looked = 0;
    for gather in readers.of(group) {
        let Lives::Rows { dim: with, rows: theirs } = &known[gather.reader] else { return None };
        let first = division.groups[gather.reader].grid.numbers[*with].first();
        for (number, span) in gather.spans(division, dim, *with)? {
            let life = theirs[(number - first) as usize];
            looked += span.len().unwrap_or(0).max(0) as usize;
            if life.is_empty() || span.is_empty() {
                continue;
            }
            if looked > MOST {
                return None;
            }
            for tile in span.first()..=span.last() {
                let own = &mut rows[(tile - numbers.first()) as usize];
                *own = if own.is_empty() { life } else { own.hull(life) };
            }
        }
    }
    Some(Lives::Rows { dim, rows })
}

/// How many numbers live at once along a dimension that has too many to list them, if only the result reads them, and
/// evenly.
fn neighbours(
    division: &Division,
    readers: &Readers,
    (group, dim): (usize, usize),
    rows_at_once: i64,
) -> Option<Lives> {
    let last = division.groups.len() - 1;
    let slowest = slowest(&division.groups[last])?;
    let mut most = 0;
    for gather in readers.of(group) {
        let even = gather.reader == last && gather.moves(dim, slowest) && is_even(division, last);
        most = most.max(even.then(|| widest(division, gather, dim, slowest, rows_at_once))?);
    }
    Some(Lives::Few { dim, most })
}

/// Whether what a task needs moves on by as much from task to task, wherever it is.
pub(super) fn is_even(division: &Division, group: usize) -> bool {
    let listed = &division.groups[group];
    let computed = listed.members.iter().filter(|member| member.role == Role::Compute);
    computed.map(|member| member.tensor).chain([listed.target]).all(|id| {
        let needs = &division.stages.needs[id.index()];
        needs.own.is_none()
            && needs.sources.iter().all(|need| {
                let mut dims = need.dims.iter().enumerate();
                dims.all(|(dim, own)| own.motion == Motion::Still || need.is_even(dim))
            })
    })
}

/// Places that are looked at one after the other.
const NEAR: i64 = 64;

/// The most tiles along a dimension that rows at once read, looked for at the ends and between: evenly as they move,
/// that is the most, but for where tiles begin.
fn widest(division: &Division, gather: &Gather, dim: usize, with: usize, rows_at_once: i64) -> u128 {
    let group = &division.groups[gather.reader];
    let numbers = group.grid.numbers[with];
    let mut number: Vec<i64> = group.grid.numbers.iter().map(|numbers| numbers.first()).collect();
    let mut span = |at: i64| {
        number[with] = at;
        let ranges = division.ranges(gather.reader, &number);
        division.groups[gather.source].grid.meeting(dim, ranges[gather.member][dim])
    };
    let middle = numbers.first() + (numbers.last() - numbers.first()) / 2;
    let starts = [numbers.first(), middle, numbers.last() - NEAR];
    let places = starts.into_iter().flat_map(|start| start..start + NEAR);
    let places = places.filter(|at| numbers.contains(*at));
    let lengths = places.map(|at| {
        let end = at.saturating_add(rows_at_once - 1).min(numbers.last());
        span(at).hull(span(end)).len().unwrap_or(0) as u128
    });
    lengths.max().unwrap_or(1) + 2
}
