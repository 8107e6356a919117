//! What was written into variables, in tiles.
//!
//! ```text
//! var m: f32[y: inf, x: inf] = 0      set m[10:12, 0:3] = 1      one tile, the rest is 0
//! ```

use super::memory::{Buffer, Place, copy, fill, meet};
use crate::access::footprint::Region;
use crate::diagnostic::Result;
use crate::graph::body::TensorId;
use crate::graph::scalar::Scalar;
use crate::graph::types::Element;
use crate::graph::{Graph, TensorKind};
use crate::index::Interval;
use crate::io::store_scalar;
use crate::plan::grid::{Grid, volume};
use crate::plan::readers::each;
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

/// The whole tile with that number, whatever the region.
fn whole(number: &[i64]) -> Region {
    let rank = number.len();
    let side = |dim: usize| if dim + 1 == rank { SIDES.0 } else { SIDES.1 };
    (0..rank)
        .map(|dim| Interval::trusted(number[dim] * side(dim), (number[dim] + 1) * side(dim) - 1))
        .collect()
}

/// The bytes of one element.
pub fn element_bytes(element: Element, value: Scalar) -> Vec<u8> {
    let mut bytes = Vec::new();
    store_scalar(element, value, &mut bytes);
    bytes
}

impl Vars {
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

    /// Writes one element.
    pub fn write(&mut self, graph: &Graph, var: TensorId, coords: &[i64], element: &[u8]) -> Result<()> {
        let point: Region = coords.iter().map(|at| Interval::trusted(*at, *at)).collect();
        let number: Vec<i64> = grid(&point).numbers.iter().map(|range| range.first()).collect();
        let held = whole(&number);
        let tensor = graph.tensor(var);
        if let (TensorKind::Var(value), Entry::Vacant(entry)) = (&tensor.kind, self.tiles.entry((var, number.clone()))) {
            let mut tile = Buffer::new(volume(&held) * element.len() as u128)?;
            fill(
                &Place::dense(tile.memory_mut(), &held, element.len()),
                &held,
                &element_bytes(tensor.element, *value),
            );
            entry.insert(tile);
        }
        if let Some(tile) = self.tiles.get_mut(&(var, number)) {
            fill(&Place::dense(tile.memory_mut(), &held, element.len()), &point, element);
        }
        Ok(())
    }
}
