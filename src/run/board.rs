//! The books of a schedule: who may begin, who waits for which tiles, and which tiles nobody reads any more.
//!
//! ```text
//! take       step 3, which reads the tile of step 1      running: 2, 3
//! sources    waits until step 1 is done
//! done       step 3 has its tile; that of step 1 has one reader less, and is freed at 0
//! ```
//!
//! No task begins further ahead of the oldest running one than there are workers, so that what is held at once is what
//! the plan says. A task only waits for tasks before it in the order, so some worker always has work. What `freed` and
//! `free` are told happens under the lock: nobody begins a tile before the room for it is counted as free.

use crate::diagnostic::{Diagnostic, Result};
use crate::plan::order::Step;
use crate::plan::readers::TileId;
use crate::sync::{Condvar, Mutex, MutexGuard};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError};

/// Tasks in their order, and the tiles between them.
pub(super) struct Board<O, T> {
    workers: u64,
    state: Mutex<State<O, T>>,
    wake: Condvar,
}

struct State<O, T> {
    order: O,
    next: Option<Step>,
    running: BTreeSet<u64>,
    /// Shared tiles, by the step that makes them.
    tiles: HashMap<u64, Shared<T>>,
    failed: Option<Box<Diagnostic>>,
}

struct Shared<T> {
    id: TileId,
    /// There once it is complete.
    tile: Option<Arc<T>>,
    /// Tasks that have yet to read it.
    readers: u64,
    bytes: u64,
}

impl<O: FnMut() -> Option<Step>, T> Board<O, T> {
    /// For tasks in that order, which so many workers do.
    pub(super) fn new(order: O, workers: usize) -> Self {
        let state =
            State { order, next: None, running: BTreeSet::new(), tiles: HashMap::new(), failed: None };
        Board { workers: workers as u64, state: Mutex::new(state), wake: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<O, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'g>(&self, state: MutexGuard<'g, State<O, T>>) -> MutexGuard<'g, State<O, T>> {
        self.wake.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the run for everybody; the first reason counts.
    pub(super) fn fail(&self, why: Box<Diagnostic>) {
        self.lock().failed.get_or_insert(why);
        self.wake.notify_all();
    }

    /// The next task, when it may begin; none if there are no more, or the run ends.
    pub(super) fn take(&self) -> Option<Step> {
        let mut state = self.lock();
        loop {
            if state.failed.is_some() {
                return None;
            }
            if state.next.is_none() {
                state.next = (state.order)();
            }
            let number = state.next.as_ref()?.number;
            let oldest = state.running.first().copied().unwrap_or(number);
            if number < oldest + self.workers {
                state.running.insert(number);
                return state.next.take();
            }
            state = self.wait(state);
        }
    }

    /// A task is going to make a tile of so many bytes that others read.
    pub(super) fn promise(&self, step: &Step, bytes: u64) {
        let shared = Shared { id: step.tile.clone(), tile: None, readers: step.readers.max(1), bytes };
        self.lock().tiles.insert(step.number, shared);
    }

    /// The tiles that a task reads, once all are complete; none if the run ends first.
    pub(super) fn sources(&self, step: &Step) -> Option<Vec<(TileId, Arc<T>)>> {
        let mut state = self.lock();
        loop {
            if state.failed.is_some() {
                return None;
            }
            let tile = |source: &u64| {
                let shared = state.tiles.get(source)?;
                Some((shared.id.clone(), shared.tile.clone()?))
            };
            let tiles: Option<Vec<_>> = step.sources.iter().map(tile).collect();
            if tiles.is_some() {
                return tiles;
            }
            state = self.wait(state);
        }
    }

    /// Takes note that a task is done: its tile is there, with the bytes that it takes, and those it read have one reader
    /// less; `freed` is told of those that have none left, and given them unless somebody still looks at them.
    pub(super) fn done(
        &self,
        step: &Step,
        tile: Option<(T, u64)>,
        mut freed: impl FnMut(&TileId, u64, Option<T>),
    ) {
        let mut state = self.lock();
        match tile {
            None => freed(&step.tile, 0, None),
            Some((tile, bytes)) => {
                if let Some(shared) = state.tiles.get_mut(&step.number) {
                    (shared.tile, shared.bytes) = (Some(Arc::new(tile)), bytes);
                }
            }
        }
        for source in &step.sources {
            let Some(shared) = state.tiles.get_mut(source) else { continue };
            shared.readers = shared.readers.saturating_sub(1);
            if shared.readers == 0 {
                let (id, bytes) = (shared.id.clone(), shared.bytes);
                let shared = state.tiles.remove(source);
                freed(&id, bytes, shared.and_then(|shared| Arc::into_inner(shared.tile?)));
            }
        }
        state.running.remove(&step.number);
        drop(state);
        self.wake.notify_all();
    }

    /// Gives back what is left after an error, by its bytes, and says what it was.
    pub(super) fn finish(self, mut free: impl FnMut(u64)) -> Result<()> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        debug_assert!(
            state.failed.is_some() || state.tiles.is_empty(),
            "every tile is freed by its last reader"
        );
        state.tiles.values().for_each(|shared| free(shared.bytes));
        state.failed.map_or(Ok(()), Err)
    }
}
