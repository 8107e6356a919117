//! A division -> when each tile is made and when its last reader is done, for tables and pictures.
//!
//! ```text
//! a 0 from 0 to 3, a 1 from 1 to 4, result 0 from 2 to 3, …      alive: 1, 2, 3, 3, …
//! ```
//!
//! Time is counted in tasks that have begun. As in [`super::peak`], a task ends when as many later ones have begun as
//! there are other workers.

use super::order::Order;
use super::print::{shape_of, sizes};
use super::readers::Division;
use super::windows::lanes as lanes_of_windows;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The lives of the tiles of a request, one lane for everything that is computed in tiles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// In the order of the data; the result is the last.
    pub lanes: Vec<Lane>,
    /// Windows that the tasks compute, by the tensor that they are windows of: from the first task to the last.
    pub windows: Vec<Lane>,
    /// Tiles that are alive while each task runs.
    pub alive: Vec<u64>,
    /// Tasks of the whole request; the timeline may end before.
    pub tasks: u128,
}

/// The tiles of one tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lane {
    /// The tensor.
    pub name: Arc<str>,
    /// How many tiles there are.
    pub count: u128,
    /// `8×41`: how large most of them are.
    pub shape: String,
    /// Those whose task is on the timeline.
    pub lives: Vec<Life>,
}

/// The life of one tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    /// Which tile.
    pub tile: Vec<i64>,
    /// The task that makes it.
    pub from: u64,
    /// One past the last task during which it is alive.
    pub to: u64,
}

impl Lane {
    /// Tiles of it that are alive at once, at the most.
    pub fn most_alive(&self) -> usize {
        let alive = |at: u64| self.lives.iter().filter(|life| (life.from..life.to).contains(&at)).count();
        self.lives.iter().map(|life| alive(life.from)).max().unwrap_or(0)
    }
}

/// Tasks on a timeline, at the most.
const MOST: u64 = 512;

/// The first tasks of a request that `threads` workers run.
pub fn timeline(division: &Division, threads: usize) -> Timeline {
    let last = division.groups.len().saturating_sub(1);
    let mut walk = Walk { lanes: lanes(division), ..Walk::default() };
    let (mut alive, mut tasks) = (Vec::new(), Vec::new());
    let mut order = Order::beginning(division);
    while let Some(step) = order.as_mut().ok().and_then(|order| order.next(division)) {
        if step.number >= MOST {
            break;
        }
        if walk.running.len() == threads.max(1) {
            walk.end_oldest(step.number);
        }
        let group = step.tile.0;
        walk.left.insert(step.number, if group == last { 1 } else { step.readers.max(1) });
        walk.places.insert(step.number, (group, walk.lanes[group].lives.len()));
        tasks.push(step.tile.clone());
        walk.lanes[group].lives.push(Life { tile: step.tile.1, from: step.number, to: u64::MAX });
        let own = (group == last).then_some(step.number);
        walk.running.push_back(step.sources.into_iter().chain(own).collect());
        alive.push(walk.left.len() as u64);
    }
    let end = alive.len() as u64;
    walk.lanes.iter_mut().flat_map(|lane| &mut lane.lives).for_each(|life| life.to = life.to.min(end));
    Timeline {
        lanes: walk.lanes,
        windows: lanes_of_windows(division, &tasks),
        alive,
        tasks: division.tiles(),
    }
}

fn lanes(division: &Division) -> Vec<Lane> {
    let lane = |group: &super::group::Group| Lane {
        name: division.stages.tensor(group.target).name.clone(),
        count: group.grid.count(),
        shape: sizes(&shape_of(&group.grid)),
        lives: Vec::new(),
    };
    division.groups.iter().map(lane).collect()
}

/// Where a walk through the tasks is.
#[derive(Default)]
struct Walk {
    lanes: Vec<Lane>,
    /// Readers that are still to come, by the number of the task that made the tile.
    left: HashMap<u64, u64>,
    /// Where its life is noted: in which lane, and which of its lives.
    places: HashMap<u64, (usize, usize)>,
    /// The tiles that each running task gives back when it ends.
    running: VecDeque<Vec<u64>>,
}

impl Walk {
    fn end_oldest(&mut self, now: u64) {
        for source in self.running.pop_front().into_iter().flatten() {
            let Some(left) = self.left.get_mut(&source) else { continue };
            *left -= 1;
            if *left == 0 {
                self.left.remove(&source);
                let (lane, life) = self.places[&source];
                self.lanes[lane].lives[life].to = now;
            }
        }
    }
}
