//! Boxes without boxes: what of a box is missing, in few boxes.
//!
//! ```text
//! 0..4, 0..4 without 0..2, 0..3   ->   0..2, 3..4 and 2..4, 0..4
//! ```

use crate::access::footprint::Region;
use crate::index::Interval;

/// Boxes that are computed one by one, at the most; of more, one box that holds all of them.
const MOST: usize = 8;

/// What two boxes share.
pub fn meet(a: &[Interval], b: &[Interval]) -> Option<Region> {
    let both: Region = a.iter().zip(b).map(|(a, b)| a.intersect(*b)).collect();
    both.iter().all(|range| !range.is_empty()).then_some(both)
}

/// A box without another, as boxes that share nothing.
pub fn without(all: &[Interval], part: &[Interval]) -> Vec<Region> {
    let Some(part) = meet(all, part) else { return vec![all.to_vec()] };
    let (mut left, mut found) = (all.to_vec(), Vec::new());
    for (dim, range) in part.iter().enumerate() {
        let before = Interval::trusted(left[dim].first(), range.first() - 1);
        let after = Interval::trusted(range.last() + 1, left[dim].last());
        for side in [before, after].into_iter().filter(|side| !side.is_empty()) {
            let mut side_box = left.clone();
            side_box[dim] = side;
            found.push(side_box);
        }
        left[dim] = *range;
    }
    found
}

/// The same elements in fewer boxes: neighbours become one where that is a box. No two boxes may share elements.
pub fn merged(mut boxes: Vec<Region>) -> Vec<Region> {
    let rank = boxes.first().map_or(0, Vec::len);
    for dim in (0..rank).rev() {
        let others = |region: &Region| -> Vec<(i64, i64)> {
            let kept = region.iter().enumerate().filter(|(at, _)| *at != dim);
            kept.map(|(_, range)| (range.first(), range.last())).collect()
        };
        boxes.sort_by_cached_key(|region| (others(region), region[dim].first()));
        let mut fewer: Vec<Region> = Vec::with_capacity(boxes.len());
        for region in boxes {
            match fewer.last_mut() {
                Some(last)
                    if others(last) == others(&region) && last[dim].last() + 1 == region[dim].first() =>
                {
                    last[dim] = last[dim].hull(region[dim]);
                }
                _ => fewer.push(region),
            }
        }
        boxes = fewer;
    }
    boxes
}

/// What is missing of a box of which some is held; no two boxes of that share elements.
pub fn missing(region: &Region, held: Vec<Region>) -> Vec<Region> {
    let mut left = vec![region.clone()];
    for held in merged(held) {
        left = left.iter().flat_map(|region| without(region, &held)).collect();
    }
    merged(left)
}

/// The same elements, and others between them, in few boxes.
pub fn few(boxes: Vec<Region>) -> Vec<Region> {
    if boxes.len() <= MOST { boxes } else { hull(&boxes).into_iter().collect() }
}

/// The smallest box that holds all of these.
pub fn hull<'r>(boxes: impl IntoIterator<Item = &'r Region>) -> Option<Region> {
    let mut boxes = boxes.into_iter();
    let first = boxes.next()?.clone();
    Some(boxes.fold(first, |hull, next| hull.iter().zip(next).map(|(a, b)| a.hull(*b)).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::walk::points;
    use std::collections::BTreeSet;

    fn region(ranges: &[(i64, i64)]) -> Region {
        ranges.iter().map(|(lo, hi)| Interval::trusted(*lo, hi - 1)).collect()
    }

    #[track_caller]
    fn check(all: &[(i64, i64)], held: &[&[(i64, i64)]], count: usize) {
        let held: Vec<Region> = held.iter().map(|held| region(held)).collect();
        let found = missing(&region(all), held.clone());
        assert_eq!(found.len(), count, "{found:?}");
        let covered: Vec<Vec<i64>> = found.iter().flat_map(|region| points(region)).collect();
        let unique: BTreeSet<Vec<i64>> = covered.iter().cloned().collect();
        assert_eq!(covered.len(), unique.len(), "no element twice: {found:?}");
        for point in points(&region(all)) {
            let inside = |region: &Region| region.iter().zip(&point).all(|(range, at)| range.contains(*at));
            assert!(unique.contains(&point) || held.iter().any(inside), "{point:?}");
        }
    }

    #[test]
    fn what_is_missing_is_few_boxes() {
        check(&[(0, 4), (0, 4)], &[], 1);
        check(&[(0, 4), (0, 4)], &[&[(0, 4), (0, 4)]], 0);
        check(&[(0, 4), (0, 4)], &[&[(0, 4), (-2, 3)]], 1);
        check(&[(0, 4), (0, 4)], &[&[(0, 2), (0, 3)]], 2);
        check(&[(0, 4), (0, 4)], &[&[(1, 2), (1, 2)]], 4);
        check(&[(0, 4), (0, 4)], &[&[(0, 2), (0, 2)], &[(0, 2), (2, 4)], &[(2, 4), (0, 2)]], 1);
        check(&[(0, 9)], &[&[(1, 2)], &[(3, 4)], &[(5, 6)], &[(7, 8)]], 5);
        check(&[], &[], 1);
        check(&[], &[&[]], 0);
    }

    #[test]
    fn many_gaps_are_one_box() {
        let held: Vec<Region> = (0..20).map(|at| region(&[(3 * at, 3 * at + 1)])).collect();
        let gaps = missing(&region(&[(0, 60)]), held);
        assert_eq!(gaps.len(), 20);
        assert_eq!(few(gaps), [region(&[(1, 60)])]);
    }
}
