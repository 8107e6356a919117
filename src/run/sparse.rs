//! What a task leaves out: for every source in a format the stored elements of its rows, if its readers go along them.
//!
//! ```text
//! total = sum(i, j) if mask[i, j] then photo[i, j] else 0      mask: runs by row, from its tiles or as it was bound
//! ```
//!
//! A source is walked if all that reads it in the group walks it, and what that takes of the data is true; otherwise
//! its rows are expanded, and everything is looked at.

use super::data::Measure;
use super::memory::Buffer;
use super::work::{Content, Tile, Work};
use crate::access::footprint::Region;
use crate::access::skip::{Cover, Factor, Needs, Skip, Walk};
use crate::formats::rows::{Kind, Part};
use crate::formats::{Entries, Frozen, Rows, fill_bytes, freeze};
use crate::graph::body::TensorId;
use crate::index::Interval;
use crate::plan::bands::Task;
use crate::plan::grid::volume;
use crate::plan::group::{Group, Role};
use crate::plan::peak::freezing_bytes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The rows of a member, and whether readers go along them and need nothing else.
pub(super) struct Listed<'t> {
    pub(super) rows: Rows<'t>,
    pub(super) walked: bool,
}

/// Tiles that a task reads, by the group that made them.
pub(super) type Tiles = BTreeMap<usize, Vec<Arc<Tile>>>;

impl<'r> Work<'r> {
    /// The rows of every member that is not just read.
    pub(super) fn listed<'t>(&self, group: &Group, task: &Task, tiles: &'t Tiles) -> Vec<Option<Listed<'t>>>
    where
        'r: 't,
    {
        (0..group.members.len()).map(|at| self.listed_member(group, task, tiles, at)).collect()
    }

    fn listed_member<'t>(&self, group: &Group, task: &Task, tiles: &'t Tiles, at: usize) -> Option<Listed<'t>>
    where
        'r: 't,
    {
        let slot = task.slots[at].as_ref()?;
        let tensor = group.members[at].tensor;
        let declared = self.division.stages.tensor(tensor);
        declared.format.as_ref()?;
        let parts = self.parts(group, tiles, at)?;
        let walk = self.walk(group, at, &parts);
        let covers = || self.readers(group, at).any(|reader| self.covering(reader, tensor).is_some());
        let mut region = slot.region.clone();
        let kind = match walk {
            Some(walk) => {
                // Beyond what is needed nothing is read, whatever the variable says.
                let last = region.last_mut()?;
                *last = last.intersect(walk.range);
                if last.is_empty() {
                    return None;
                }
                if walk.runs { Kind::Runs } else { Kind::Entries }
            }
            None if covers() => Kind::Runs,
            None => return None,
        };
        let rows = Rows::gather(&region, kind, &parts);
        Some(Listed { rows, walked: walk.is_some() })
    }

    /// The stages of a group that read a member.
    fn readers<'g>(&self, group: &'g Group, at: usize) -> impl Iterator<Item = TensorId> + use<'g> {
        let readers = group.members[at].readers.iter();
        readers.map(|reader| group.members.get(*reader).map_or(group.target, |member| member.tensor))
    }

    /// The boxes in formats that a member is made of; `None` if one of them is dense.
    fn parts<'t>(&self, group: &Group, tiles: &'t Tiles, at: usize) -> Option<Vec<Part<'t>>>
    where
        'r: 't,
    {
        let member = &group.members[at];
        match member.role {
            Role::Gather(other) => {
                let frozen = |tile: &'t Arc<Tile>| match &tile.content {
                    Content::Frozen(frozen) => Some(Part { frozen, region: &tile.region }),
                    Content::Dense(_) => None,
                };
                tiles.get(&other)?.iter().map(frozen).collect()
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

    /// How all readers of a member go along it, if they do, and alike.
    fn walk(&self, group: &Group, at: usize, parts: &[Part<'_>]) -> Option<&'r Walk> {
        let tensor = group.members[at].tensor;
        let mut found: Option<&'r Walk> = None;
        for reader in self.readers(group, at) {
            let walk = self.kernels.get(&reader)?.skip.as_ref().and_then(Skip::walk)?;
            let alike = found.is_none_or(|known| (known.range, known.runs) == (walk.range, walk.runs));
            if walk.tensor != tensor || !alike || !self.is_true(&walk.needs, tensor, parts) {
                return None;
            }
            found = Some(walk);
        }
        found
    }

    /// Whether the data is as a walk needs it.
    fn is_true(&self, needs: &Needs, walked: TensorId, parts: &[Part<'_>]) -> bool {
        let measure = |tensor: TensorId| {
            if tensor != walked {
                return self.world.inputs.get(&tensor)?.measure();
            }
            let nothing = Measure { finite: true, least: f64::INFINITY };
            let each = parts.iter().map(|part| Measure::of(part.frozen.element, &part.frozen.values));
            match self.world.inputs.get(&tensor) {
                Some(data) => data.stored(),
                None => Some(each.fold(nothing, Measure::and)),
            }
        };
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

    /// What a stage covers, if a source takes part in it.
    fn covering(&self, reader: TensorId, source: TensorId) -> Option<&'r Cover> {
        match self.kernels.get(&reader)?.skip.as_ref()? {
            Skip::Cover(cover) if cover.reads.iter().any(|(tensor, _)| *tensor == source) => Some(cover),
            Skip::Cover(_) | Skip::Walk(_) | Skip::Dense(_) => None,
        }
    }
}

impl Work<'_> {
    /// A tile whose elements are all there, frozen if it has a format.
    pub(super) fn complete(&self, group: &Group, region: Region, mut buffer: Buffer) -> Tile {
        let tensor = self.division.stages.tensor(group.target);
        let Some(format) = &tensor.format else { return Tile { region, content: Content::Dense(buffer) } };
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
            Some(frozen) => Tile { region, content: Content::Frozen(frozen) },
            None => Tile { region, content: Content::Dense(buffer) },
        }
    }
}

impl Tile {
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
