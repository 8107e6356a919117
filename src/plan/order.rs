//! The order of tasks: tiles of the result one after the other, each after the tiles it reads.
//!
//! ```text
//! result tile 0 needs a 0, a 1      a 0, a 1, result 0, a 2, result 1, …
//! result tile 1 needs a 1, a 2      a 0 is freed after result 0
//! ```
//!
//! The same order serves the plan, which walks through it without computing anything, and the run.

use super::readers::{Division, Readers, TileId};
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
    waiting: HashMap<TileId, (u64, u64)>,
    readers: Readers,
    /// How many tasks read each tile, where there are few enough to go through all of them first.
    counted: Option<HashMap<TileId, u64>>,
}

/// Requests of up to this many tiles are gone through beforehand; of larger ones, readers are found by what moves how.
const FEW: u128 = 1 << 13;

impl Order {
    /// From the first task on.
    pub fn new(division: &Division) -> Self {
        Order {
            next: 0,
            ready: VecDeque::new(),
            count: 0,
            waiting: HashMap::new(),
            readers: Readers::default(),
            counted: (division.tiles() <= FEW).then(|| counted(division)),
        }
    }

    /// The next task.
    pub fn next(&mut self, division: &Division) -> Option<Step> {
        if self.ready.is_empty() {
            let last = division.groups.len() - 1;
            let grid = &division.groups[last].grid;
            if self.next >= grid.count() {
                return None;
            }
            let number = grid.number(self.next);
            self.next += 1;
            self.order((last, number), division);
        }
        self.ready.pop_front()
    }

    /// Orders a tile after those it reads; a stack, because chains of groups may be long.
    fn order(&mut self, tile: TileId, division: &Division) {
        let mut stack = vec![(tile.clone(), division.sources(tile.0, &tile.1), 0)];
        while let Some((tile, sources, next)) = stack.pop() {
            match sources.get(next).cloned() {
                Some(source) => {
                    stack.push((tile, sources, next + 1));
                    if !self.waiting.contains_key(&source) {
                        let own = division.sources(source.0, &source.1);
                        stack.push((source, own, 0));
                    }
                }
                // Where readers are not counted exactly, a tile may be gone again: then it is made once more.
                None => match sources.iter().position(|source| !self.waiting.contains_key(source)) {
                    Some(gone) => stack.push((tile, sources, gone)),
                    None => self.emit(tile, sources, division),
                },
            }
        }
    }

    fn emit(&mut self, tile: TileId, sources: Vec<TileId>, division: &Division) {
        if self.waiting.contains_key(&tile) {
            return;
        }
        let shared = tile.0 + 1 < division.groups.len();
        let counted = match &self.counted {
            Some(counts) => counts.get(&tile).copied().unwrap_or(0),
            None => self.readers.count(division, &tile),
        };
        // Somebody asked for it, or it would not be ordered.
        let (number, readers) = (self.count, counted.max(u64::from(shared)));
        self.count += 1;
        let steps = sources.iter().map(|source| self.waiting[source].0).collect();
        sources.iter().for_each(|source| self.read(source));
        if shared {
            self.waiting.insert(tile.clone(), (number, readers));
        }
        self.ready.push_back(Step { number, tile, sources: steps, readers });
    }

    /// A tile has one reader less to wait for.
    fn read(&mut self, source: &TileId) {
        if let Some((_, left)) = self.waiting.get_mut(source) {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.waiting.remove(source);
            }
        }
    }
}

/// Goes through all tasks, and counts who reads what.
fn counted(division: &Division) -> HashMap<TileId, u64> {
    let mut counts: HashMap<TileId, u64> = HashMap::new();
    let last = division.groups.len() - 1;
    let grid = &division.groups[last].grid;
    let mut stack: Vec<TileId> = Vec::new();
    for at in 0..grid.count() {
        stack.push((last, grid.number(at)));
        while let Some((group, number)) = stack.pop() {
            for source in division.sources(group, &number) {
                let count = counts.entry(source.clone()).or_insert(0);
                *count += 1;
                if *count == 1 {
                    stack.push(source);
                }
            }
        }
    }
    counts
}
