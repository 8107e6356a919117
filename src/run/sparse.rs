//! What a task leaves out: for every source in a format the stored elements of its rows, if its readers go along them.
//!
//! ```text
//! total = sum(i, j) if mask[i, j] then photo[i, j] else 0      mask: runs by row, from its tiles or as it was bound
//! ```
//!
//! A stage goes along lists if what that takes of the data is true, and there are lists: its sources are inputs in
//! formats, or come from frozen tiles. Otherwise their rows are expanded, and everything is looked at.

use super::data::Measure;
use super::memory::Buffer;
use super::work::{Content, Tile, Work};
use crate::access::footprint::Region;
use crate::access::skip::{Cover, Factor, List, Needs, Skip, Walks, around};
use crate::formats::rows::{Kind, Listing, Part};
use crate::formats::{Entries, Frozen, Rows, fill_bytes, freeze};
use crate::graph::body::TensorId;
use crate::graph::types::Element;
use crate::index::Interval;
use crate::plan::bands::Task;
use crate::plan::grid::volume;
use crate::plan::group::{Group, Role};
use crate::plan::peak::freezing_bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

/// What a task knows of its sources in formats.
#[derive(Default)]
pub(super) struct Listed<'t> {
    /// What is stored of them.
    lists: BTreeMap<List, Listing<'t>>,
    /// Stages that leave out what is not stored.
    skipping: BTreeSet<TensorId>,
    /// Sources of which no stage needs more than lists.
    only: BTreeSet<TensorId>,
}

impl<'t> Listed<'t> {
    /// The lists that a stage goes along, if it does, in order.
    pub(super) fn walked(&self, stage: TensorId, walks: &Walks) -> Option<Vec<&Rows<'t>>> {
        let rows = || walks.lists.iter().map(|list| self.lists.get(list).map(|rows| &**rows)).collect();
        self.skipping.contains(&stage).then(rows).flatten()
    }

    /// The stored elements that a stage is computed around, if it is, in the order of its reads.
    pub(super) fn covered(&self, stage: TensorId, cover: &Cover) -> Option<Vec<&Rows<'t>>> {
        let reads = cover.reads.iter();
        let rows = || {
            reads.map(|(tensor, moved)| self.lists.get(&around(*tensor, moved)).map(|rows| &**rows)).collect()
        };
        self.skipping.contains(&stage).then(rows).flatten()
    }

    /// Whether the elements of a source are needed one by one.
    pub(super) fn is_dense(&self, source: TensorId) -> bool {
        !self.only.contains(&source)
    }
}

/// Tiles that a task reads, by the group that made them.
pub(super) type Tiles = BTreeMap<usize, Vec<Arc<Tile>>>;

/// A task whose sources are looked at.
#[derive(Clone, Copy)]
struct Sight<'t> {
    group: &'t Group,
    task: &'t Task,
    tiles: &'t Tiles,
}

impl Sight<'_> {
    fn member(&self, tensor: TensorId) -> Option<usize> {
        self.group.members.iter().position(|member| member.tensor == tensor)
    }
}

impl<'r> Work<'r> {
    /// The lists of every source in a format, for the stages that go along them.
    pub(super) fn listed<'t>(&self, group: &'t Group, task: &'t Task, tiles: &'t Tiles) -> Listed<'t>
    where
        'r: 't,
    {
        let (sight, mut listed) = (Sight { group, task, tiles }, Listed::default());
        let computed = group.members.iter().filter(|member| member.role == Role::Compute);
        for stage in computed.map(|member| member.tensor).chain([group.target]) {
            let Some(skip) = self.kernels.get(&stage).and_then(|kernel| kernel.skip.as_ref()) else {
                continue;
            };
            let wanted = match skip {
                Skip::Walk(walks) if self.may_walk(sight, walks) => walks.lists.clone(),
                Skip::Cover(cover) if self.may_cover(sight, cover) => cover.lists(),
                Skip::Walk(_) | Skip::Cover(_) | Skip::Dense(_) => continue,
            };
            let lists = wanted.iter().map(|list| Some((*list, self.list(sight, *list)?)));
            if let Some(lists) = lists.collect::<Option<Vec<_>>>() {
                listed.lists.extend(lists);
                listed.skipping.insert(stage);
            }
        }
        let sources = group.members.iter().enumerate().map(|(at, member)| (at, member.tensor));
        let walked = |stage: TensorId, source: TensorId| {
            let walks = self.kernels.get(&stage).and_then(|kernel| kernel.skip.as_ref()?.walks());
            listed.skipping.contains(&stage) && walks.is_some_and(|walks| !walks.is_dense(source))
        };
        let only = sources.filter(|(_, source)| self.division.stages.tensor(*source).format.is_some());
        let only = only.filter(|(at, source)| self.readers(group, *at).all(|stage| walked(stage, *source)));
        listed.only = only.map(|(_, source)| source).collect();
        listed
    }

    /// What is stored of a source, by row.
    fn list<'t>(&self, sight: Sight<'t>, list: List) -> Option<Listing<'t>>
    where
        'r: 't,
    {
        let at = sight.member(list.tensor)?;
        let slot = sight.task.slots[at].as_ref()?;
        let parts = self.parts(sight, at)?;
        let kind = if list.runs { Kind::Runs } else { Kind::Entries };
        let world: &'r super::job::World = self.world;
        let data = world.inputs.get(&list.tensor).and_then(|data| data.whole());
        if let (Some(data), [part]) = (data, &parts[..])
            && let Some(rows) = data.rows(part.region, list.dim, kind)
        {
            return Some(rows);
        }
        Some(Listing::Own(Rows::gather(&slot.region, list.dim, kind, &parts)))
    }

    /// The stages of a group that read a member.
    fn readers<'g>(&self, group: &'g Group, at: usize) -> impl Iterator<Item = TensorId> + use<'g> {
        let readers = group.members[at].readers.iter();
        readers.map(|reader| group.members.get(*reader).map_or(group.target, |member| member.tensor))
    }

    /// The boxes in formats that a member is made of; `None` if one of them is dense.
    fn parts<'t>(&self, sight: Sight<'t>, at: usize) -> Option<Vec<Part<'t>>>
    where
        'r: 't,
    {
        let member = &sight.group.members[at];
        match member.role {
            Role::Gather(other) => {
                let frozen = |tile: &'t Arc<Tile>| match &tile.content {
                    Content::Frozen(frozen) => Some(Part { frozen, region: &tile.region }),
                    Content::Dense(_) => None,
                };
                sight.tiles.get(&other)?.iter().map(frozen).collect()
            }
            Role::Resident => {
                let world: &'r super::job::World = self.world;
                let frozen = world.inputs.get(&member.tensor)?.as_frozen()?;
                let region = self.corners.get(&member.tensor)?;
                Some(vec![Part { frozen, region }])
            }
            Role::Compute | Role::Fill => None,
        }
    }

    fn may_walk(&self, sight: Sight<'_>, walks: &Walks) -> bool {
        let mut needs = walks.walks.iter().flat_map(|walk| &walk.needs);
        needs.all(|needs| hold(needs, |tensor| self.measure(sight, tensor, needs.stored == Some(tensor))))
    }

    fn may_cover(&self, sight: Sight<'_>, cover: &Cover) -> bool {
        cover.finite.iter().all(|tensor| self.measure(sight, *tensor, false).is_some_and(|all| all.finite))
    }

    /// What the elements of a source are like, or those that are stored; unknown of what this task itself computes.
    fn measure(&self, sight: Sight<'_>, tensor: TensorId, stored: bool) -> Option<Measure> {
        if let Some(data) = self.world.inputs.get(&tensor) {
            return if stored { data.stored() } else { data.measure() };
        }
        let Role::Gather(other) = sight.group.members[sight.member(tensor)?].role else { return None };
        let declared = self.division.stages.tensor(tensor);
        let fill = declared.format.as_ref().filter(|_| !stored);
        let fill = fill.map(|format| Measure::of(declared.element, &fill_bytes(format, declared.element)));
        let tiles = sight.tiles.get(&other)?.iter().map(|tile| tile.measure(declared.element));
        Some(tiles.chain(fill).fold(Measure::NOTHING, Measure::and))
    }
}

/// Whether the data is as a walk needs it.
pub(super) fn hold(needs: &Needs, measure: impl Fn(TensorId) -> Option<Measure>) -> bool {
    let finite = |tensor: &TensorId| measure(*tensor).is_some_and(|measure| measure.finite);
    let least = |factors: &Vec<Factor>| {
        factors.iter().try_fold(f64::INFINITY, |least, factor| match factor {
            Factor::Number(value) if *value == 0.0 => Some(least),
            Factor::Number(value) => Some(least.min(value.abs())),
            Factor::Of(tensor) => measure(*tensor).map(|measure| least.min(measure.least)),
        })
    };
    let seen = needs
        .factors
        .as_ref()
        .is_none_or(|[a, b]| least(a).zip(least(b)).is_some_and(|(a, b)| a * b >= needs.visible));
    needs.finite.iter().all(finite) && seen
}

impl Work<'_> {
    /// A tile whose elements are all there, frozen if it has a format.
    pub(super) fn complete(&self, group: &Group, region: Region, mut buffer: Buffer) -> Tile {
        let tensor = self.division.stages.tensor(group.target);
        let Some(format) = &tensor.format else { return Tile::new(region, Content::Dense(buffer)) };
        let bytes = volume(&region) as usize * tensor.element.bytes() as usize;
        let beside = freezing_bytes(self.division, group, &region);
        let held = self.ledger.holding(beside);
        let shape: Option<Vec<u32>> =
            region.iter().map(|range| u32::try_from(range.len().unwrap_or(0)).ok()).collect();
        let frozen = shape.and_then(|shape| {
            let data = &buffer.bytes_mut()[..bytes];
            let entries = Entries::of_dense(&shape, &fill_bytes(format, tensor.element), data);
            freeze(&entries, format, tensor.element).ok()
        });
        drop(held);
        self.ledger.stored(group.target, bytes as u64, frozen.as_ref().map_or(bytes as u64, Frozen::bytes));
        match frozen {
            Some(frozen) => Tile::new(region, Content::Frozen(frozen)),
            None => Tile::new(region, Content::Dense(buffer)),
        }
    }
}

impl Tile {
    pub(super) fn new(region: Region, content: Content) -> Tile {
        Tile { region, content, measure: OnceLock::new() }
    }

    /// What its elements are like; of frozen ones, those that are stored.
    fn measure(&self, element: Element) -> Measure {
        *self.measure.get_or_init(|| match &self.content {
            Content::Frozen(frozen) => Measure::of(element, &frozen.values),
            Content::Dense(buffer) => {
                let bytes = volume(&self.region) as usize * element.bytes() as usize;
                Measure::of(element, &buffer.bytes()[..bytes])
            }
        })
    }

    /// Bytes of what it is frozen into.
    pub(super) fn frozen_bytes(&self) -> Option<u64> {
        match &self.content {
            Content::Frozen(frozen) => Some(frozen.bytes()),
            Content::Dense(_) => None,
        }
    }
}

/// Stretches that lie closer than this are computed as one.
const GAP: i64 = 16;

/// The stretches of a row of the result that are to be computed, apart from each other and in order.
pub(super) fn stretches(
    cover: &Cover,
    rows: &[&Rows<'_>],
    at: &[i64],
    range: Interval,
    found: &mut Vec<(i64, i64)>,
) {
    found.clear();
    for ((_, moved), rows) in cover.reads.iter().zip(rows) {
        let (last, outer) = moved.split_last().expect("what is covered has dimensions");
        let around: Vec<Interval> = outer
            .iter()
            .zip(at)
            .map(|(moved, at)| Interval::trusted(at + moved.first(), at + moved.last()))
            .collect();
        crate::index::walk::each(&around, |coords| {
            let Some(row) = rows.row(coords) else { return };
            let near = rows.stretches(row).map(|(lo, hi)| (lo - last.last(), hi - last.first()));
            let near = near.map(|(lo, hi)| (lo.max(range.first()), hi.min(range.last() + 1)));
            found.extend(near.filter(|(lo, hi)| lo < hi));
        });
    }
    found.sort_unstable();
    found.dedup_by(|next, last| {
        let close = next.0 <= last.1 + GAP;
        if close {
            last.1 = last.1.max(next.1);
        }
        close
    });
}
