//! What a task holds besides the tiles that it reads, at the most: one task of every kind is looked at.
//!
//! ```text
//! 1000 tiles of 8 rows that read a row above and below, of 0..8000      the first, the last, and all the others
//! ```
//!
//! Tasks are of one kind if their tiles are as large, and what they may need is, too. Each dimension of that follows one
//! number of the task ([`task_ranges`](super::group::task_ranges)), so that kinds are found dimension by dimension.

use super::bands::{Task, task, widest_task};
use super::group::{Group, Needed, PlanError, task_ranges};
use super::needs::{Motion, Pace};
use super::peak::{Effort, held_bytes};
use super::readers::Division;
use super::recurrence::recurrence;
use super::rows::{period, reader_of};
use super::stages::Stages;
use crate::access::footprint::Region;
use crate::index::Interval;
use crate::index::interval::gcd;
use std::collections::BTreeMap;

/// Kinds of tasks that are looked at, at the most.
const KINDS: usize = 1 << 12;
/// Places that are looked at one after the other, where there are too many.
const NEAR: i64 = 64;

/// The most that one task of a group holds besides tiles.
pub(super) fn most_held(division: &Division, group: usize, effort: Effort) -> Result<u64, PlanError> {
    let listed = &division.groups[group];
    let bytes = |task: &Task| held_bytes(division, listed, task);
    let (stages, boxes) = (&division.stages, &division.boxes);
    let mut most = 0;
    if listed.grid.count() <= effort.looked_at {
        for place in 0..listed.grid.count() {
            division.stop.check()?;
            let tile = listed.grid.tile(&listed.grid.number(place));
            most = most.max(bytes(&task(stages, listed, boxes, tile)));
        }
        return Ok(most);
    }
    let rank = listed.grid.numbers.len();
    let kinds = (0..rank).map(|dim| kinds_along(division, group, dim, effort));
    let kinds: Vec<Vec<i64>> = kinds.collect::<Result<_, PlanError>>()?;
    for number in combined(&kinds) {
        division.stop.check()?;
        most = most.max(bytes(&widest_task(stages, listed, boxes, listed.grid.tile(&number))));
    }
    Ok(most)
}

/// One number of every kind along a dimension.
fn kinds_along(division: &Division, group: usize, dim: usize, effort: Effort) -> Result<Vec<i64>, PlanError> {
    let listed = &division.groups[group];
    let numbers = listed.grid.numbers[dim];
    let mut along = Along::new(division, group, dim);
    // What lies between two tasks for which nothing ends is like what follows either.
    let all = numbers.first()..numbers.last() + 1;
    let seen = match along.repeats() {
        Some(period) => {
            let most = usize::try_from(effort.listed).unwrap_or(usize::MAX);
            along.look_until(all.clone().take(most), period)?
                && along.look_until(all.rev().take(most), period)?
        }
        None => false,
    };
    if !seen {
        for number in looked_at(numbers, effort.listed) {
            along.look_at(number)?;
        }
    }
    Ok(along.kinds.into_values().collect())
}

/// Tasks along one dimension.
struct Along<'d> {
    division: &'d Division,
    group: usize,
    dim: usize,
    align: Align,
    /// The number of a task, of which the one along the dimension changes.
    at: Vec<i64>,
    /// Nothing ends here.
    endless: Needed,
    /// One number of every kind.
    kinds: BTreeMap<Vec<i64>, i64>,
}

impl<'d> Along<'d> {
    fn new(division: &'d Division, group: usize, dim: usize) -> Self {
        let listed = &division.groups[group];
        let boxes = division.boxes.iter();
        Along {
            division,
            group,
            dim,
            align: alignment(division, listed, dim),
            at: listed.grid.numbers.iter().map(|numbers| numbers.first()).collect(),
            endless: boxes.map(|(id, region)| (*id, vec![Interval::all(); region.len()])).collect(),
            kinds: BTreeMap::new(),
        }
    }

    /// Notes the kind of a task, and gives what it needs.
    fn look_at(&mut self, number: i64) -> Result<Vec<Region>, PlanError> {
        self.division.stop.check()?;
        self.at[self.dim] = number;
        let tile = self.division.groups[self.group].grid.range(self.dim, number);
        let needs = self.division.ranges(self.group, &self.at);
        let lens = needs.iter().flatten().chain([&tile]).map(|range| range.len().unwrap_or(i64::MAX));
        let start = match self.align {
            Align::Any => 0,
            Align::Period(period) => tile.first().rem_euclid(period),
            Align::Each => number,
        };
        self.kinds.entry(lens.chain([start]).collect()).or_insert(number);
        Ok(needs)
    }

    /// Looks at tasks one after the other, until there was one of each kind among those for which nothing ends; says
    /// whether there was.
    fn look_until(&mut self, numbers: impl Iterator<Item = i64>, period: i64) -> Result<bool, PlanError> {
        let mut free = 0;
        for number in numbers {
            let needs = self.look_at(number)?;
            free = if self.is_free(number, &needs) { free + 1 } else { 0 };
            if free == period {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a task is whole, and what it needs ends nowhere along the dimension.
    fn is_free(&self, number: i64, needs: &[Region]) -> bool {
        let group = &self.division.groups[self.group];
        if group.grid.range(self.dim, number).len() != Some(group.grid.shape[self.dim]) {
            return false;
        }
        let all = task_ranges(&self.division.stages, group, &self.endless, &group.grid.tile(&self.at));
        let each = group.members.iter().zip(needs.iter().zip(&all));
        each.flat_map(|(member, (own, all))| member.motion.iter().zip(own.iter().zip(all)))
            .all(|(motion, (own, all))| !follows(motion, self.dim) || own == all)
    }

    /// After how many tasks the next ones are of the same kinds again, wherever nothing ends; none if there is no such
    /// rule.
    fn repeats(&self) -> Option<i64> {
        let (stages, group) = (&self.division.stages, &self.division.groups[self.group]);
        let mut period = match self.align {
            Align::Any => 1,
            Align::Period(period) => period,
            Align::Each => return None,
        };
        // Readers come after what they read, and the target after all.
        let still = Pace { every: 1, moved: 1 };
        let mut paces: Vec<Vec<Option<Pace>>> = vec![Vec::new(); group.members.len()];
        paces.push(vec![Some(still); group.grid.shape.len()]);
        for (at, member) in group.members.iter().enumerate().rev() {
            let domain = stages.tensor(member.tensor).domain.dims();
            for (own, motion) in member.motion.iter().enumerate() {
                let moves = follows(motion, self.dim);
                if moves && domain[own].enforced() != Interval::all() {
                    return None;
                }
                let pace = if moves { Some(pace(stages, group, &paces, (at, own))?) } else { None };
                paces[at].push(pace);
                let every = pace.map_or(1, |pace| pace.every);
                period = (period / gcd(period, every)).checked_mul(every)?;
            }
        }
        Some(period / gcd(period, group.grid.shape[self.dim]))
    }
}

fn follows(motion: &Motion, along: usize) -> bool {
    matches!(motion, Motion::With { dim, .. } if *dim == along)
}

/// How a dimension of a member moves on with the target, if all its readers move it alike.
fn pace(
    stages: &Stages,
    group: &Group,
    paces: &[Vec<Option<Pace>>],
    (at, own): (usize, usize),
) -> Option<Pace> {
    let mut all: Option<Pace> = None;
    for reader in &group.members[at].readers {
        let id = reader_of(group, *reader);
        let need = stages.needs[id.index()].of(group.members[at].tensor)?;
        let Motion::With { dim, .. } = need.dims[own].motion else { return None };
        let pace = paces[*reader][dim]?.then(need.pace(own, stages, id)?)?;
        all = Some(all.map_or(Some(pace), |known| known.and(pace))?);
    }
    all
}

/// All numbers along a dimension, or of very many the first, the last and some between.
fn looked_at(numbers: Interval, most: u128) -> impl Iterator<Item = i64> {
    let (first, last) = (numbers.first(), numbers.last());
    let middle = first + (last - first) / 2;
    let ranges = match numbers.len().unwrap_or(i64::MAX) as u128 <= most {
        true => [first..last + 1, 0..0, 0..0],
        false => [first..first + NEAR, middle..middle + NEAR, last - NEAR..last + 1],
    };
    ranges.into_iter().flatten().filter(move |number| numbers.contains(*number))
}

/// Which part of where a tile begins says how many rows of its members are held at once.
enum Align {
    /// None.
    Any,
    /// Its place in a period.
    Period(i64),
    /// All of it.
    Each,
}

fn alignment(division: &Division, group: &Group, dim: usize) -> Align {
    let steps = recurrence(&division.stages, group.target).is_some();
    let one_band = group.stream != Some(dim) || group.grid.shape[dim] <= group.band;
    let streams = group.members.iter().any(|member| member.stream.is_some());
    match period(&division.stages, group) {
        _ if !steps && (one_band || !streams) => Align::Any,
        Some(period) if !steps => Align::Period(period),
        Some(_) | None => Align::Each,
    }
}

/// Every choice of one number per dimension; of very many, some evenly.
fn combined(kinds: &[Vec<i64>]) -> impl Iterator<Item = Vec<i64>> {
    let count = kinds.iter().map(|kinds| kinds.len() as u128).fold(1, u128::saturating_mul);
    let step = count / KINDS as u128 + 1;
    let places = (0..KINDS as u128).map(move |at| at * step).take_while(move |place| *place < count);
    places.map(|mut place| {
        // The last dimension goes fastest.
        let mut numbers: Vec<i64> = Vec::with_capacity(kinds.len());
        for own in kinds.iter().rev() {
            let len = own.len() as u128;
            numbers.push(own[(place % len) as usize]);
            place /= len;
        }
        numbers.reverse();
        numbers
    })
}

#[cfg(test)]
mod tests {
    use super::super::peak::tests::{ROWS, divided};
    use super::*;

    #[test]
    fn where_everything_moves_evenly_few_tasks_are_looked_at() {
        let division = divided(ROWS, &[(0, 4002), (0, 16)], &[4, 16]);
        let effort = Effort { walked: 0, listed: 20, looked_at: 0 };
        let mut kinds = kinds_along(&division, 1, 0, effort).unwrap();
        kinds.sort_unstable();
        assert_eq!(kinds, [0, 1000], "the last one is shorter");
        let until = |numbers, period| Along::new(&division, 1, 0).look_until(numbers, period).unwrap();
        assert_eq!([until(0..3, 3), until(0..2, 3), until(999..1001, 2)], [true, false, false]);
    }

    #[test]
    fn tasks_repeat_when_what_they_read_does() {
        let third = ROWS.replace("a[y + 3 * k, x]", "a[y // 3 + 3 * k, x]");
        let repeats = |script: &str, rows| {
            let division = divided(script, &[(0, 600), (0, 16)], &[rows, 16]);
            [0, 1].map(|dim| Along::new(&division, division.groups.len() - 1, dim).repeats())
        };
        assert_eq!(repeats(ROWS, 4), [Some(1), Some(1)]);
        assert_eq!(repeats(&third, 4), [Some(3), Some(1)]);
        assert_eq!(repeats(&third, 6), [Some(1), Some(1)]);
    }

    #[test]
    fn of_very_many_tasks_both_ends_and_the_middle_are_looked_at() {
        let numbers = |most| looked_at(Interval::trusted(-5, 994), most).collect::<Vec<_>>();
        assert_eq!(numbers(1000), (-5..995).collect::<Vec<_>>());
        let some: Vec<i64> = (-5..59).chain(494..558).chain(930..995).collect();
        assert_eq!(numbers(999), some);
    }

    #[test]
    fn kinds_are_combined_all_or_evenly() {
        let all = |kinds: &[Vec<i64>]| combined(kinds).collect::<Vec<_>>();
        assert_eq!(all(&[vec![1, 2], vec![3], vec![4, 5]]), [[1, 3, 4], [1, 3, 5], [2, 3, 4], [2, 3, 5]]);
        assert!(all(&[vec![1, 2], vec![]]).is_empty());
        let many = all(&[(0..70).collect(), (0..70).collect()]);
        assert_eq!((many.len(), &many[0][..], &many[35][..]), (2450, &[0, 0][..], &[1, 0][..]));
        let very_many = all(&[(0..1 << 20).collect(), (0..1 << 20).collect(), (0..1 << 20).collect()]);
        assert!((KINDS - 1..=KINDS).contains(&very_many.len()));
    }
}
