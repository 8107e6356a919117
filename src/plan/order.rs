//! The order of tasks: tiles of the result one after the other, each after the tiles it reads.
//!
//! ```text
//! result tile 0 needs a 0, a 1      a 0, a 1, result 0, a 2, result 1, …
//! result tile 1 needs a 1, a 2      a 0 is freed after result 0
//! ```
//!
//! The same order serves the plan, which walks through it without computing anything, and the run.

use super::group::PlanError;
use super::readers::{Depth, Division, Place, Readers, TileId};
use super::stop::Stop;
use std::collections::{HashMap, VecDeque};

/// One task.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its place in the order.
    pub number: u64,
    /// What it makes.
    pub tile: TileId,
    /// The steps whose tiles it reads, each once per member that reads it.
    pub sources: Vec<u64>,
    /// How many tasks read what it makes; 0 for tiles of the result.
    pub readers: u64,
}

/// Goes through the tasks of a request.
#[derive(Debug)]
pub struct Order {
    /// Place of the next tile of the result.
    next: u128,
    ready: VecDeque<Step>,
    /// Steps so far.
    count: u64,
    /// Tiles that were ordered and still have readers to come: by which step, and how many.
    waiting: HashMap<Place, (u64, u64)>,
    readers: Readers,
}

impl Order {
    /// From the first task on, to the last.
    pub fn new(division: &Division, stop: &Stop) -> Result<Self, PlanError> {
        Ok(Order::with(Readers::new(division, Depth::RUN, stop)?))
    }

    /// For a look at the first tasks, however many there are: who reads what far away from them is not gone through.
    pub fn beginning(division: &Division) -> Result<Self, PlanError> {
        Ok(Order::with(Readers::new(division, Depth::LOOK, &division.stop)?))
    }

    fn with(readers: Readers) -> Self {
        Order { next: 0, ready: VecDeque::new(), count: 0, waiting: HashMap::new(), readers }
    }

    /// Bytes of the tables of who reads what, but for small ones.
    pub fn table_bytes(&self) -> u64 {
        self.readers.bytes()
    }

    /// Looks at who may read a tile, so far: a measure of the work that went into the order.
    pub fn looks(&self) -> u64 {
        self.readers.looks()
    }

    /// The next task.
    pub fn next(&mut self, division: &Division) -> Option<Step> {
        if self.ready.is_empty() {
            let last = division.groups.len() - 1;
            if self.next >= division.groups[last].grid.count() {
                return None;
            }
            self.next += 1;
            self.order((last, self.next - 1), division);
        }
        self.ready.pop_front()
    }

    /// Orders a tile after those it reads; a stack, because chains of groups may be long.
    fn order(&mut self, tile: Place, division: &Division) {
        let mut stack = vec![(tile, self.readers.sources(division, tile), 0)];
        while let Some((tile, sources, next)) = stack.pop() {
            match sources.get(next).copied() {
                Some(source) => {
                    stack.push((tile, sources, next + 1));
                    if !self.waiting.contains_key(&source) {
                        stack.push((source, self.readers.sources(division, source), 0));
                    }
                }
                // Where there are too many to list, a tile may be gone again: then it is made once more.
                None => match sources.iter().position(|source| !self.waiting.contains_key(source)) {
                    Some(gone) => stack.push((tile, sources, gone)),
                    None => self.emit(tile, &sources, division),
                },
            }
        }
    }

    fn emit(&mut self, tile: Place, sources: &[Place], division: &Division) {
        if self.waiting.contains_key(&tile) {
            return;
        }
        let shared = tile.0 + 1 < division.groups.len();
        // Somebody asked for it, or it would not be ordered.
        let readers = if shared { self.readers.count(division, tile).max(1) } else { 0 };
        self.readers.forget(tile);
        let number = self.count;
        self.count += 1;
        let steps = sources.iter().map(|source| self.waiting[source].0).collect();
        sources.iter().for_each(|source| self.read(source));
        if shared {
            self.waiting.insert(tile, (number, readers));
        }
        self.ready.push_back(Step { number, tile: division.tile(tile), sources: steps, readers });
    }

    /// A tile has one reader less to wait for.
    fn read(&mut self, source: &Place) {
        if let Some((_, left)) = self.waiting.get_mut(source) {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.waiting.remove(source);
            }
        }
    }
}
