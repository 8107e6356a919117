//! A box -> its points, one after the other, the last coordinate fastest.
//!
//! ```text
//! [0..2, 5..7]   ->   (0, 5), (0, 6), (1, 5), (1, 6)
//! ```

use super::Interval;

/// Visits every point of a box.
pub fn each(ranges: &[Interval], mut visit: impl FnMut(&[i64])) {
    let Ok(()) = try_each(ranges, |at| {
        visit(at);
        Ok::<(), std::convert::Infallible>(())
    });
}

/// Visits every point of a box up to the first that fails.
pub fn try_each<E>(ranges: &[Interval], mut visit: impl FnMut(&[i64]) -> Result<(), E>) -> Result<(), E> {
    let Some(mut at) = start(ranges) else { return Ok(()) };
    loop {
        visit(&at)?;
        if !step(&mut at, ranges) {
            return Ok(());
        }
    }
}

/// Visits the first point of every row of a box.
pub fn rows(ranges: &[Interval], visit: impl FnMut(&[i64])) {
    let mut starts = ranges.to_vec();
    if let Some(last) = starts.last_mut().filter(|last| !last.is_empty()) {
        *last = Interval::trusted(last.first(), last.first());
    }
    each(&starts, visit);
}

/// Every point of a box, as a list that is made while it is used.
pub fn points(ranges: &[Interval]) -> impl Iterator<Item = Vec<i64>> + use<> {
    let ranges = ranges.to_vec();
    let mut next = start(&ranges);
    std::iter::from_fn(move || {
        let point = next.clone()?;
        next = next.take().and_then(|mut at| step(&mut at, &ranges).then_some(at));
        Some(point)
    })
}

/// Copies a part of one row-major box into another.
pub fn copy_box(
    (from, from_box): (&[u8], &[Interval]),
    (to, to_box): (&mut [u8], &[Interval]),
    part: &[Interval],
    element: usize,
) {
    let bytes = part.last().map_or(1, |range| range.len().unwrap_or(0)) as usize * element;
    rows(part, |at| {
        let (start, end) = (offset(from_box, at) * element, offset(to_box, at) * element);
        to[end..][..bytes].copy_from_slice(&from[start..][..bytes]);
    });
}

/// The place of an element in a row-major box.
fn offset(region: &[Interval], at: &[i64]) -> usize {
    let dims = region.iter().zip(at);
    dims.fold(0, |place, (range, at)| {
        place * range.len().unwrap_or(1) as usize + (at - range.first()) as usize
    })
}

fn start(ranges: &[Interval]) -> Option<Vec<i64>> {
    let empty = ranges.iter().any(|range| range.is_empty());
    (!empty).then(|| ranges.iter().map(|range| range.first()).collect())
}

/// Goes to the next point, if there is one.
fn step(at: &mut [i64], ranges: &[Interval]) -> bool {
    let Some(dim) = (0..at.len()).rev().find(|dim| at[*dim] < ranges[*dim].last()) else { return false };
    at[dim] += 1;
    at[dim + 1..].iter_mut().zip(&ranges[dim + 1..]).for_each(|(at, range)| *at = range.first());
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ranges: &[(i64, i64)], all: &[&[i64]], firsts: &[&[i64]]) {
        let ranges: Vec<Interval> = ranges.iter().map(|(lo, hi)| Interval::trusted(*lo, hi - 1)).collect();
        let (mut visited, mut starts) = (Vec::new(), Vec::new());
        each(&ranges, |at| visited.push(at.to_vec()));
        rows(&ranges, |at| starts.push(at.to_vec()));
        assert_eq!(visited, all);
        assert_eq!(points(&ranges).collect::<Vec<_>>(), all);
        assert_eq!(starts, firsts);
    }

    #[test]
    fn points_come_in_row_major_order() {
        check(&[], &[&[]], &[&[]]);
        check(&[(3, 3)], &[], &[]);
        check(&[(0, 2), (4, 4)], &[], &[]);
        check(&[(-1, 1)], &[&[-1], &[0]], &[&[-1]]);
        check(&[(0, 2), (5, 7)], &[&[0, 5], &[0, 6], &[1, 5], &[1, 6]], &[&[0, 5], &[1, 5]]);
    }

    #[test]
    fn a_part_of_a_box_is_copied_to_where_it_is_in_another() {
        let region = |ranges: [(i64, i64); 2]| ranges.map(|(lo, hi)| Interval::trusted(lo, hi - 1));
        // Elements of two bytes, each its row and its column.
        let from_box = region([(-1, 3), (2, 6)]);
        let from: Vec<u8> = points(&from_box).flat_map(|at| [at[0] as u8, at[1] as u8]).collect();
        let (to_box, part) = (region([(0, 3), (1, 6)]), region([(1, 3), (3, 5)]));
        let mut to = [99; 30];
        copy_box((&from, &from_box), (&mut to, &to_box), &part, 2);
        for (at, element) in points(&to_box).zip(to.chunks(2)) {
            let copied = at.iter().zip(&part).all(|(at, range)| range.contains(*at));
            let expect = if copied { [at[0] as u8, at[1] as u8] } else { [99; 2] };
            assert_eq!(element, expect, "{at:?}");
        }
        let mut one = [0];
        copy_box((&[7], &[]), (&mut one, &[]), &[], 1);
        assert_eq!(one, [7]);
    }
}
