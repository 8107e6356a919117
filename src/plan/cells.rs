//! Where bands begin, so that the rows of a cell of a lattice are made together.
//!
//! ```text
//! out[y] reads height[y - 1] and height[y + 1], height[y] hashes y // 64, bands have 8 rows:
//!
//! from 0:    height -1..9, 9..17, 17..25, …    each band has rows of two cells in a group of four
//! from -1:   height -1..8, 8..16, 16..24, …    cells of 8 rows or more begin where bands do
//! ```
//!
//! Rows of one cell share what is made of its number (`loops/passes/jam/alike.rs`). Nothing but time depends on it.

use super::bands::{Bands, task};
use super::group::{Group, Needed, Role};
use super::rows::period;
use super::stages::Stages;
use crate::graph::body::{Op, TensorId};
use crate::index::Interval;

/// The coordinate of the target, modulo the rows of a band, at which bands begin; none where any will do.
pub(super) fn bands_from(stages: &Stages, group: &Group, boxes: &Needed) -> Option<i64> {
    let dim = group.stream?;
    let on_lattice =
        |at: usize| group.members[at].role == Role::Compute && rounds(stages, group.members[at].tensor);
    let at = (0..group.members.len()).rev().find(|at| on_lattice(*at))?;
    let own = group.members[at].stream?;
    if period(stages, group) != Some(1) {
        return None;
    }
    let mut tile = group.grid.tile(&group.grid.middle());
    let first = tile[dim].first();
    tile[dim] = Interval::trusted(first, first);
    let task = task(stages, group, boxes, tile);
    let mut bands = Bands::from_the_start(stages, group, &task);
    let ahead = bands.advance()?.members().nth(at)??[own].last() - first;
    Some((-ahead).rem_euclid(group.band))
}

/// Whether a stage rounds numbers to integers, as those of cells are.
fn rounds(stages: &Stages, id: TensorId) -> bool {
    let Some(resolved) = stages.tensor(id).body() else { return false };
    let body = &resolved.body;
    body.nodes().any(|(_, node)| match node.op {
        Op::Cast(from) => !node.ty.is_float() && body.node(from).ty.is_float(),
        _ => false,
    })
}
