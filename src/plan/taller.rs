//! Tiles with more rows than usual, where that costs nothing.
//!
//! ```text
//! a pyramid of four levels, 4096 × 4096:
//!   tiles of 128 rows        60 more rows of the first level for each, so levels are kept in tiles of their own, and copied
//!   one tile of 4096 rows    every level passes through a ring of rows, each row is computed once
//! ```
//!
//! A task that goes down its rows in bands holds no more for having more of them, and computes nothing again in between.

use super::grid::{Grid, volume};
use super::group::{AGAIN, Group, Needed, PlanError, Request, Role, task_regions, work_box};
use super::stages::Stages;

/// Tiles that every one of several workers has: rather many, so that none waits long for the others.
const EACH: [i64; 3] = [8, 4, 2];

/// The groups in taller tiles than the usual ones, if that is better; `groups_in` makes them.
pub(super) fn in_tall_tiles(
    stages: &Stages,
    request: &Request,
    boxes: &Needed,
    usual: Vec<Group>,
    groups_in: impl Fn(Grid) -> Result<Vec<Group>, PlanError>,
) -> Result<Vec<Group>, PlanError> {
    let mut best: Option<Vec<Group>> = None;
    for grid in taller(stages, request, &usual) {
        let tall = groups_in(grid)?;
        let better = match &best {
            None => is_better(stages, boxes, &tall, &usual),
            Some(best) => saves(stages, boxes, &tall, best),
        };
        if better {
            best = Some(tall);
        }
    }
    Ok(best.unwrap_or(usual))
}

/// Tiles for what is asked for, as tall as workers leave them, the lowest first; none if nothing of `groups` would be
/// computed less often.
fn taller<'s>(
    stages: &'s Stages,
    request: &'s Request,
    groups: &'s [Group],
) -> impl Iterator<Item = Grid> + 's {
    let workers = request.threads as i64;
    let wanted = if workers > 1 { EACH.map(|each| each * workers).to_vec() } else { vec![1] };
    wanted.into_iter().filter_map(|wanted| of_count(stages, request, groups, wanted))
}

/// So many tiles, if they are taller than those there are.
fn of_count(stages: &Stages, request: &Request, groups: &[Group], wanted: i64) -> Option<Grid> {
    let asked = groups.last()?;
    let tensor = stages.tensor(asked.target);
    let fixed = request.tile.is_some() || tensor.chunk.is_some() || tensor.format.is_some();
    let again = goes_down(groups) || groups.iter().any(|group| group.why == AGAIN);
    if fixed || !again {
        return None;
    }
    let (dim, grid) = (asked.stream?, &asked.grid);
    let down = grid.numbers[dim].len()?.max(1);
    let across = i64::try_from(grid.count()).ok()? / down;
    let most = (wanted - 1) / across.max(1) + 1;
    let mut shape = grid.shape.clone();
    shape[dim] = (grid.region[dim].len()? - 1) / most + 1;
    (shape[dim] > grid.shape[dim]).then(|| Grid::new(grid.region.clone(), grid.origin.clone(), shape))
}

/// Whether taller tiles are better: one group does everything, and no more than `usual` groups do. Tiles of scattered reads
/// are small so that nothing is computed between them.
fn is_better(stages: &Stages, boxes: &Needed, tall: &[Group], usual: &[Group]) -> bool {
    goes_down(tall) && work(stages, boxes, tall) <= work(stages, boxes, usual)
}

/// Whether still taller tiles save a twentieth of the work, for which a worker may wait longer for the others.
fn saves(stages: &Stages, boxes: &Needed, taller: &[Group], tall: &[Group]) -> bool {
    let [less, work] = [taller, tall].map(|groups| work(stages, boxes, groups));
    goes_down(taller) && less.saturating_mul(20) <= work.saturating_mul(19)
}

fn work(stages: &Stages, boxes: &Needed, groups: &[Group]) -> u128 {
    groups.iter().map(|group| computed(stages, boxes, group)).fold(0, u128::saturating_add)
}

/// Elements that the tasks of a group compute, if all are like the one in the middle.
fn computed(stages: &Stages, boxes: &Needed, group: &Group) -> u128 {
    let tile = group.grid.tile(&group.grid.middle());
    let work = work_box(stages, group.target, &tile);
    let regions = task_regions(stages, group, boxes, &work);
    let members = group.members.iter().zip(&regions).filter(|(member, _)| member.role == Role::Compute);
    let members = members.filter_map(|(_, region)| region.as_ref()).map(|region| volume(region));
    let one = members.fold(volume(&work), u128::saturating_add);
    one.saturating_mul(group.grid.count())
}

/// Whether one group does everything, and holds rows alone of what it computes.
fn goes_down(groups: &[Group]) -> bool {
    let [only] = groups else { return false };
    let resident = |role: Role| role == Role::Resident;
    only.members.iter().any(|member| !resident(member.role))
        && only.members.iter().all(|member| resident(member.role) || member.stream.is_some())
}
