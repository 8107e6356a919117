//! What was written into variables, in tiles.
//!
//! ```text
//! var m: f32[y: inf, x: inf] = 0      set m[10:12, 0:3] = 1      one tile, the rest is 0
//! ```

use super::job::Control;
use super::memory::{Buffer, Memory, Place, copy, fill, meet};
use crate::access::footprint::Region;
use crate::diagnostic::Result;
use crate::graph::body::TensorId;
use crate::graph::scalar::Scalar;
use crate::graph::types::Element;
use crate::graph::{Graph, TensorKind};
use crate::index::walk::{each, try_each};
use crate::index::{INF, Interval};
use crate::io::store_scalar;
use crate::plan::grid::{Grid, volume};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The written parts of all variables.
#[derive(Clone, Debug, Default)]
pub struct Vars {
    tiles: BTreeMap<(TensorId, Vec<i64>), Buffer>,
}

/// Coordinates of a tile: along the last dimension, and along the others.
const SIDES: (i64, i64) = (256, 16);

fn grid(region: &[Interval]) -> Grid {
    let rank = region.len();
    let side = |dim: usize| if dim + 1 == rank { SIDES.0 } else { SIDES.1 };
    Grid::new(region.to_vec(), vec![0; rank], (0..rank).map(side).collect())
}

/// The whole tile with that number, whatever the region; the first and the last end where coordinates do.
fn whole(number: &[i64]) -> Region {
    let rank = number.len();
    let side = |dim: usize| if dim + 1 == rank { SIDES.0 } else { SIDES.1 };
    let range = |dim: usize| {
        let first = number[dim] * side(dim);
        Interval::trusted(first.max(1 - INF), (first + side(dim) - 1).min(INF - 1))
    };
    (0..rank).map(range).collect()
}

/// The bytes of one element.
pub fn element_bytes(element: Element, value: Scalar) -> Vec<u8> {
    let mut bytes = Vec::new();
    store_scalar(element, value, &mut bytes);
    bytes
}

/// Bytes of the tiles that writes of these boxes make, at the most.
pub fn planned_bytes(graph: &Graph, written: &[(TensorId, Region)]) -> u64 {
    let mut boxes: BTreeMap<TensorId, (u128, Region)> = BTreeMap::new();
    for (var, region) in written {
        let numbers = grid(region).numbers;
        let (count, all) = boxes.entry(*var).or_insert_with(|| (0, numbers.clone()));
        *count = count.saturating_add(volume(&numbers));
        all.iter_mut().zip(&numbers).for_each(|(all, own)| *all = all.hull(*own));
    }
    let bytes = boxes.into_iter().map(|(var, (count, all))| {
        let whole = whole(&vec![0; all.len()]);
        let tile = (volume(&whole) * u128::from(graph.tensor(var).element.bytes())).next_multiple_of(8);
        count.min(volume(&all)).saturating_mul(tile)
    });
    bytes.fold(0, u128::saturating_add).min(u64::MAX.into()) as u64
}

impl Vars {
    /// Bytes of all tiles.
    pub fn bytes(&self) -> u64 {
        self.tiles.values().map(|tile| tile.len() as u64).sum()
    }

    /// Brings a box of a variable to `to`.
    pub fn read(&self, graph: &Graph, var: TensorId, region: &[Interval], to: &Place<'_>) {
        let tensor = graph.tensor(var);
        let TensorKind::Var(value) = &tensor.kind else { return };
        fill(to, region, &element_bytes(tensor.element, *value));
        each(&grid(region).numbers, |number| {
            let Some(tile) = self.tiles.get(&(var, number.to_vec())) else { return };
            let held = whole(number);
            let Some(both) = meet(&held, region) else { return };
            copy(&Place::dense(tile.memory(), &held, to.bytes), to, &both);
        });
    }

    /// The tile with that number, made if it is not there.
    fn tile(&mut self, graph: &Graph, var: TensorId, number: &[i64]) -> Result<&mut Buffer> {
        let tensor = graph.tensor(var);
        let bytes = tensor.element.bytes() as usize;
        match self.tiles.entry((var, number.to_vec())) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let held = whole(number);
                let mut tile = Buffer::new(volume(&held) * bytes as u128)?;
                if let TensorKind::Var(value) = &tensor.kind {
                    let value = element_bytes(tensor.element, *value);
                    fill(&Place::dense(tile.memory_mut(), &held, bytes), &held, &value);
                }
                Ok(entry.insert(tile))
            }
        }
    }

    /// Writes one element.
    pub fn write(&mut self, graph: &Graph, var: TensorId, coords: &[i64], element: &[u8]) -> Result<()> {
        let point: Region = coords.iter().map(|at| Interval::trusted(*at, *at)).collect();
        let number: Vec<i64> = grid(&point).numbers.iter().map(|range| range.first()).collect();
        let tile = self.tile(graph, var, &number)?;
        fill(&Place::dense(tile.memory_mut(), &whole(&number), element.len()), &point, element);
        Ok(())
    }

    /// Writes a box of elements, row-major.
    pub fn write_box(
        &mut self,
        graph: &Graph,
        var: TensorId,
        region: &[Interval],
        data: &[u8],
        control: &Control<'_>,
    ) -> Result<()> {
        let bytes = graph.tensor(var).element.bytes() as usize;
        let from = Place::dense(Memory::of(data), region, bytes);
        try_each(&grid(region).numbers, |number| {
            control.check()?;
            let held = whole(number);
            let Some(both) = meet(&held, region) else { return Ok(()) };
            let tile = self.tile(graph, var, number)?;
            copy(&from, &Place::dense(tile.memory_mut(), &held, bytes), &both);
            Ok(())
        })
    }
}
