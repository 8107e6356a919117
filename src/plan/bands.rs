//! A task -> the memory it holds and, band by band, the rows that every member computes.
//!
//! ```text
//! c[y] = b[y - 1] + b[y + 1],  b[y] = a[y - 1] + a[y + 1],  bands of 4 rows of c
//!
//! band 0: a -2..6  b -1..5  c 0..4        band 1: a 6..10  b 5..9  c 4..8        a, b: rings of 8 rows
//! ```

use super::group::{Group, Needed, Role, steps_of, task_ranges, task_regions, work_box};
use super::recurrence::{Steps, recurrence};
use super::rows::most_rows;
use super::stages::Stages;
use crate::access::footprint::Region;
use crate::index::Interval;
use crate::seeded::{self, Bug};

/// What one task does.
#[derive(Clone, Debug)]
pub struct Task {
    /// What it makes of the target.
    pub tile: Region,
    /// Per member of the group; `None` where nothing is needed.
    pub slots: Vec<Option<Slot>>,
    /// The steps of a recurrence, and where they live.
    pub steps: Option<(Steps, Slot)>,
}

/// The memory of a member in a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// What passes through it.
    pub region: Region,
    /// A dimension of which only the last 2^k coordinates are held.
    pub ring: Option<Ring>,
    /// Elements after each row that nobody uses.
    pub spare: i64,
}

/// Part of a dimension that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Which.
    pub dim: usize,
    /// Coordinates held, a power of two.
    pub rows: i64,
}

impl Slot {
    /// Elements per dimension.
    pub fn shape(&self) -> Vec<i64> {
        let mut shape: Vec<i64> = self.region.iter().map(|range| range.len().unwrap_or(1).max(1)).collect();
        if let Some(ring) = self.ring {
            shape[ring.dim] = ring.rows;
        }
        shape
    }

    /// The same with what is left free after each row.
    pub fn room(&self) -> Vec<i64> {
        let mut shape = self.shape();
        shape.last_mut().into_iter().for_each(|row| *row += self.spare);
        shape
    }

    /// Elements that there is room for.
    pub fn elements(&self) -> u128 {
        self.room().iter().map(|len| *len as u128).fold(1, u128::saturating_mul)
    }
}

/// Works out a task.
pub fn task(stages: &Stages, group: &Group, boxes: &Needed, tile: Region) -> Task {
    let work = work_box(stages, group.target, &tile);
    let regions = task_regions(stages, group, boxes, &work);
    task_with(stages, group, tile, work, regions)
}

/// The same with all that it may need, each dimension for itself, so that it holds no less.
pub(super) fn widest_task(stages: &Stages, group: &Group, boxes: &Needed, tile: Region) -> Task {
    let work = work_box(stages, group.target, &tile);
    let ranges = task_ranges(stages, group, boxes, &work).into_iter();
    let regions = ranges.map(|region| Some(region).filter(|own| own.iter().all(|range| !range.is_empty())));
    task_with(stages, group, tile, work, regions.collect())
}

fn task_with(
    stages: &Stages,
    group: &Group,
    tile: Region,
    work: Region,
    regions: Vec<Option<Region>>,
) -> Task {
    let steps = steps_of(stages, group.target, &tile).map(|steps| {
        let reach = recurrence(stages, group.target).map_or(1, |recurrence| recurrence.reach);
        let slot = Slot { region: work.clone(), ring: ring(&work, steps.dim, reach + 1), spare: 0 };
        (steps, slot)
    });
    let slots =
        regions.into_iter().map(|region| Some(Slot { region: region?, ring: None, spare: 0 })).collect();
    let mut task = Task { tile, slots, steps };
    let most = most_rows(stages, group, &task);
    for (at, rows) in most.into_iter().enumerate() {
        let (Some(slot), Some(dim)) = (&mut task.slots[at], group.members[at].stream) else { continue };
        let rows = rows - i64::from(seeded::active(Bug::RingTooShort));
        slot.ring = ring(&slot.region, dim, rows);
        if let Some(row) = slot.ring.and(slot.shape().last().copied()) {
            slot.spare = spare(row, stages.tensor(group.members[at].tensor).element.bytes() as i64);
        }
    }
    task
}

/// A ring that holds `rows`, unless the whole dimension is hardly more; the last dimension is never one.
fn ring(region: &Region, dim: usize, rows: i64) -> Option<Ring> {
    let rows = (rows.max(1) as u64).next_power_of_two() as i64;
    let worth = region[dim].len().is_none_or(|len| len > rows);
    (worth && dim + 1 < region.len()).then_some(Ring { dim, rows })
}

/// Bytes of a line of the cache.
const LINE: i64 = 64;
/// Lines of a page: those at the same place of their pages share a set of the first-level cache.
const PAGE: i64 = 64;
/// Rows that a kernel works on at once, about.
const TOGETHER: i64 = 8;
/// How many lines they lie apart in their pages, at the least.
const APART: i64 = 3;
/// Bytes of a row that is long enough to be given room; what is longer than any memory is not.
const LONG: std::ops::Range<i64> = 1 << 10..1 << 40;

/// Elements to leave free after each row of a ring: rows then begin at lines of the cache, and those that are used
/// together lie in different sets of it.
fn spare(row: i64, element: i64) -> i64 {
    let Some(bytes) = row.checked_mul(element).filter(|bytes| LONG.contains(bytes)) else { return 0 };
    let place = |lines: i64| (lines % PAGE).min(PAGE - lines % PAGE);
    let apart = |lines: &i64| (1..=TOGETHER).all(|rows| place(rows * lines) >= APART);
    let lines = (bytes - 1) / LINE + 1;
    (lines..).find(apart).map_or(0, |lines| lines * LINE / element - row)
}

/// Goes through the bands of a task; what it has said of one is written over by the next.
pub struct Bands<'p> {
    stages: &'p Stages,
    group: &'p Group,
    task: &'p Task,
    /// Where the next band starts.
    next: i64,
    /// Where bands begin, modulo their rows, if not at the start of the task.
    from: Option<i64>,
    /// Up to where every member has come.
    done: Vec<Option<i64>>,
    /// The rows of every member that this band uses.
    held: Vec<Interval>,
    band: Band,
}

/// What is computed in one band: members first, in order, then the target.
#[derive(Clone, Debug)]
pub struct Band {
    members: Vec<Fresh>,
    /// Of the target: of a recurrence, a box that holds those of the steps of a pass.
    pub target: Region,
}

/// What a band computes of a member.
#[derive(Clone, Debug)]
struct Fresh {
    region: Region,
    /// Whether there is anything new.
    any: bool,
}

impl Band {
    /// What is new of every member; `None` where nothing is.
    pub fn members(&self) -> impl Iterator<Item = Option<&Region>> {
        self.members.iter().map(Fresh::get)
    }
}

impl Fresh {
    fn get(&self) -> Option<&Region> {
        self.any.then_some(&self.region)
    }
}

const NOTHING: Interval = Interval::EMPTY;

impl<'p> Bands<'p> {
    /// Before the first band.
    pub fn new(stages: &'p Stages, group: &'p Group, task: &'p Task) -> Self {
        Bands { from: group.from, ..Bands::from_the_start(stages, group, task) }
    }

    /// The same with whole bands from the first one on: if one is as long as it can be, it holds most rows.
    pub(super) fn from_the_start(stages: &'p Stages, group: &'p Group, task: &'p Task) -> Self {
        let late = task.steps.is_some() && seeded::active(Bug::RecurrenceStart);
        let next = Bands::range(group, task).first() + i64::from(late);
        let whole = |slot: &Option<Slot>| slot.as_ref().map(|slot| slot.region.clone()).unwrap_or_default();
        let members = task.slots.iter().map(|slot| Fresh { region: whole(slot), any: false }).collect();
        let band = Band { members, target: task.tile.clone() };
        let members = group.members.len();
        let (done, held) = (vec![None; members], vec![NOTHING; members]);
        Bands { stages, group, task, next, from: None, done, held, band }
    }

    /// The coordinates of the target along which bands go.
    pub(super) fn range(group: &Group, task: &Task) -> Interval {
        match (&task.steps, group.stream) {
            (Some((steps, _)), _) => steps.range,
            (None, Some(dim)) => task.tile[dim],
            (None, None) => Interval::trusted(0, 0),
        }
    }

    /// How many bands there are, but for one where they do not begin at the start.
    pub fn count(group: &Group, task: &Task) -> i64 {
        let len = Bands::range(group, task).len().unwrap_or(i64::MAX);
        len.div_euclid(group.band) + i64::from(len.rem_euclid(group.band) > 0)
    }

    /// The rows of every member that the band uses.
    pub(super) fn held(&self) -> &[Interval] {
        &self.held
    }

    /// The next band.
    pub fn advance(&mut self) -> Option<&Band> {
        self.target()?;
        for at in (0..self.group.members.len()).rev() {
            let any = self.group.members[at].role != Role::Resident && self.member(at);
            self.band.members[at].any = any;
        }
        Some(&self.band)
    }

    /// Finds what the next band computes of the target.
    fn target(&mut self) -> Option<()> {
        if let Some((steps, _)) = &self.task.steps {
            let range = steps.pass(self.next, self.group.band, self.task.tile[steps.dim]);
            self.next = range.map_or(steps.range.last(), Interval::last) + 1;
            self.band.target = steps.hull_of(range?);
            return Some(());
        }
        let range = Bands::range(self.group, self.task);
        if self.next > range.last() {
            return None;
        }
        let gone = self.from.map_or(0, |from| (self.next - from).rem_euclid(self.group.band));
        let last = self.next.saturating_add(self.group.band - 1 - gone).min(range.last());
        if let Some(dim) = self.group.stream {
            self.band.target[dim] = Interval::trusted(self.next, last);
        }
        self.next = last + 1;
        Some(())
    }

    /// The rows of a member that its readers' new rows need.
    fn rows(&self, at: usize, dim: usize) -> Interval {
        let member = &self.group.members[at];
        let mut rows = NOTHING;
        for reader in &member.readers {
            let (id, region) = match self.group.members.get(*reader) {
                Some(member) => (member.tensor, self.band.members[*reader].get()),
                None => (self.group.target, Some(&self.band.target)),
            };
            let Some(region) = region else { continue };
            let Some(need) = self.stages.needs[id.index()].of(member.tensor) else { continue };
            let own = need.reach_of(dim, region, self.stages, id);
            rows = if rows.is_empty() { own } else { rows.hull(own) };
        }
        rows
    }

    /// Finds what a member computes in this band; false if there is nothing.
    fn member(&mut self, at: usize) -> bool {
        let Some(slot) = &self.task.slots[at] else { return false };
        let Some(dim) = self.group.members[at].stream else {
            return self.done[at].replace(0).is_none();
        };
        let rows = self.rows(at, dim).intersect(slot.region[dim]);
        if rows.is_empty() {
            self.held[at] = NOTHING;
            return false;
        }
        let first = self.done[at].map_or(rows.first(), |done| rows.first().max(done + 1));
        let last = self.done[at].map_or(rows.last(), |done| rows.last().max(done));
        self.held[at] = Interval::trusted(rows.first(), last);
        self.done[at] = Some(last);
        let short = i64::from(seeded::active(Bug::HaloOffByOne) && first < rows.last());
        if first <= rows.last() {
            self.band.members[at].region[dim] = Interval::trusted(first, rows.last() - short);
        }
        first <= rows.last()
    }
}

#[cfg(test)]
mod tests {
    use super::spare;

    #[test]
    fn rows_of_rings_lie_apart_in_their_pages() {
        for (row, element) in (1024..6000).flat_map(|row| [1, 2, 4, 8].map(|element| (row, element))) {
            let pitch = (row + spare(row, element)) * element;
            assert!((row * element..row * element + 1024).contains(&pitch), "{row}: {pitch}");
            assert_eq!(pitch % 64, 0, "{row}: rows begin at lines");
            for rows in 1..=8 {
                assert!((192..=4096 - 192).contains(&(rows * pitch % 4096)), "{row}: {rows} rows of {pitch}");
            }
        }
    }

    #[test]
    fn short_and_endless_rows_stay_as_they_are() {
        assert_eq!([spare(255, 4), spare(1 << 60, 8), spare(1 << 61, 1)], [0; 3]);
    }
}
