//! Tasks on workers: each takes the next one in the order, waits for the tiles it reads, and gives them back.
//!
//! ```text
//! worker 0: a 0 ---- result 0 ------        worker 1:   a 1 ---- (waits for a 0) result 1 …
//! ```
//!
//! No worker runs further ahead of the oldest running task than there are workers, so that what is held at once is
//! what the plan says. A task only waits for tasks before it in the order, so some worker always has work.

use super::job::What;
use super::memory::{Buffer, Place};
use super::work::{Content, Scratch, Sources, Tile, Work};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::plan::grid::volume;
use crate::plan::order::{Order, Step};
use crate::plan::peak::tile_bytes;
use crate::plan::readers::TileId;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Runs every task of a request; tiles of the result go to `out`.
pub fn run(work: &Work<'_>, out: &Place<'_>, threads: usize) -> Result<()> {
    let state = Mutex::new(State::new(Order::new(work.division)));
    let schedule = Schedule { work, out, threads, state, wake: Condvar::new() };
    let workers = work.division.tiles().min(threads as u128) as usize;
    if workers <= 1 {
        schedule.worker(0);
    } else {
        std::thread::scope(|scope| {
            let schedule = &schedule;
            (1..workers).for_each(|worker| _ = scope.spawn(move || schedule.worker(worker)));
            schedule.worker(0);
        });
    }
    schedule.finish()
}

struct Schedule<'s> {
    work: &'s Work<'s>,
    out: &'s Place<'s>,
    threads: usize,
    state: Mutex<State>,
    wake: Condvar,
}

struct State {
    order: Order,
    next: Option<Step>,
    running: BTreeSet<u64>,
    /// Shared tiles, by the step that makes them.
    tiles: HashMap<u64, Shared>,
    /// Memory of tiles that were freed, for the next of their size: it need not be cleared by the system once more.
    spare: Vec<Buffer>,
    failed: Option<Box<Diagnostic>>,
}

/// Bytes of freed tiles that are kept, at the most.
const SPARE: usize = 4 << 20;

impl State {
    fn new(order: Order) -> State {
        let (running, tiles, spare) = Default::default();
        State { order, next: None, running, tiles, spare, failed: None }
    }

    /// Memory of a freed tile of that size.
    fn reused(&mut self, bytes: u128) -> Option<Buffer> {
        let at = self.spare.iter().position(|buffer| buffer.len() as u128 == bytes.next_multiple_of(8))?;
        Some(self.spare.swap_remove(at))
    }

    /// Frees a tile, and keeps its memory if nobody else has it and there is little of that.
    fn free(&mut self, number: u64) {
        let tile = self.tiles.remove(&number).and_then(|shared| Arc::into_inner(shared.tile?));
        if let Some(Tile { content: Content::Dense(buffer), .. }) = tile {
            let kept: usize = self.spare.iter().map(Buffer::len).sum();
            if kept + buffer.len() <= SPARE {
                self.spare.push(buffer);
            }
        }
    }
}

struct Shared {
    id: TileId,
    /// There once it is complete.
    tile: Option<Arc<Tile>>,
    /// Tasks that have yet to read it.
    readers: u64,
    bytes: u64,
}

/// Ends the run for everybody when a worker panics.
struct Alarm<'s, 'w>(&'w Schedule<'s>);

impl Drop for Alarm<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(Box::new(Diagnostic::new(Code::E1009, "a worker failed")));
        }
    }
}

impl Schedule<'_> {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'g>(&self, state: MutexGuard<'g, State>) -> MutexGuard<'g, State> {
        self.wake.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, why: Box<Diagnostic>) {
        self.lock().failed.get_or_insert(why);
        self.wake.notify_all();
    }

    fn worker(&self, worker: usize) {
        let _alarm = Alarm(self);
        let mut scratch = self.work.spare.take();
        let mut group = None;
        while let Some(step) = self.take() {
            if group.replace(step.tile.0) != Some(step.tile.0) {
                scratch.trim();
            }
            let start = self.work.control.trace.map(|trace| (trace.now(), self.work.ledger.live() + 1));
            let done = self.step(&step, &mut scratch);
            if let (Some(trace), Some((start, live))) = (self.work.control.trace, start) {
                trace.record(self.name(&step.tile), worker, start, live);
            }
            if let Err(why) = done {
                return self.fail(why);
            }
        }
        self.work.spare.give(scratch);
    }

    /// A tile as traces call it.
    fn name(&self, (group, number): &TileId) -> String {
        let target = self.work.division.groups[*group].target;
        format!("{} {number:?}", self.work.division.stages.tensor(target).name)
    }

    /// Tells that something happened to a tile.
    fn note(&self, what: What, tile: &TileId) {
        if let Some(trace) = self.work.control.trace {
            trace.note(what, || self.name(tile), self.work.ledger.live());
        }
    }

    /// The next task, when it may begin.
    fn take(&self) -> Option<Step> {
        let mut state = self.lock();
        loop {
            if state.failed.is_some() {
                return None;
            }
            if state.next.is_none() {
                state.next = state.order.next(self.work.division);
            }
            let number = state.next.as_ref()?.number;
            let oldest = state.running.first().copied().unwrap_or(number);
            if number < oldest + self.threads as u64 {
                state.running.insert(number);
                return state.next.take();
            }
            state = self.wait(state);
        }
    }

    fn is_result(&self, step: &Step) -> bool {
        step.tile.0 + 1 == self.work.division.groups.len()
    }

    fn step(&self, step: &Step, scratch: &mut Scratch) -> Result<()> {
        self.work.control.check()?;
        let group = &self.work.division.groups[step.tile.0];
        let region = group.grid.tile(&step.tile.1);
        let element = self.work.division.stages.tensor(group.target).element.bytes();
        let division = self.work.division;
        let bytes = if self.is_result(step) { 0 } else { tile_bytes(division, group, &region) };
        self.work.ledger.make_tile(bytes);
        if !self.is_result(step) {
            let shared = Shared { id: step.tile.clone(), tile: None, readers: step.readers.max(1), bytes };
            self.lock().tiles.insert(step.number, shared);
        }
        let Some(tiles) = self.sources(step) else { return Ok(()) };
        if self.is_result(step) {
            self.work.task(step.tile.0, &step.tile.1, &tiles, scratch, self.out)?;
            drop(tiles);
            self.done(step, None);
        } else {
            let bytes = volume(&region) * u128::from(element);
            let reused = self.lock().reused(bytes);
            let mut buffer = reused.map_or_else(|| Buffer::new(bytes), Ok)?;
            let place = Place::dense(buffer.memory_mut(), &region, element as usize);
            self.work.task(step.tile.0, &step.tile.1, &tiles, scratch, &place)?;
            drop(tiles);
            let tile = self.work.complete(group, region, buffer);
            self.done(step, Some(Arc::new(tile)));
        }
        Ok(())
    }

    /// The tiles that a task reads, once all are complete; `None` if the run ends first.
    fn sources(&self, step: &Step) -> Option<Sources> {
        let mut state = self.lock();
        loop {
            if state.failed.is_some() {
                return None;
            }
            let ready = |source: &u64| state.tiles.get(source).is_some_and(|shared| shared.tile.is_some());
            if step.sources.iter().all(ready) {
                break;
            }
            state = self.wait(state);
        }
        let mut tiles = Sources::new();
        for source in &step.sources {
            let shared = &state.tiles[source];
            self.note(What::Reuse, &shared.id);
            tiles.entry(shared.id.0).or_default().extend(shared.tile.clone());
        }
        Some(tiles)
    }

    /// Takes note that a task is done: its tile is there, and those it read have one reader less.
    fn done(&self, step: &Step, tile: Option<Arc<Tile>>) {
        let mut state = self.lock();
        match tile {
            None => {
                self.work.ledger.free_tile(0);
                self.note(What::Free, &step.tile);
            }
            Some(tile) => {
                if let Some(shared) = state.tiles.get_mut(&step.number) {
                    let bytes = tile.frozen_bytes().unwrap_or(shared.bytes);
                    self.work.ledger.release(shared.bytes - bytes);
                    shared.bytes = bytes;
                    shared.tile = Some(tile);
                }
            }
        }
        for source in &step.sources {
            let Some(shared) = state.tiles.get_mut(source) else { continue };
            shared.readers = shared.readers.saturating_sub(1);
            if shared.readers == 0 {
                self.work.ledger.free_tile(shared.bytes);
                self.note(What::Free, &shared.id);
                state.free(*source);
            }
        }
        state.running.remove(&step.number);
        drop(state);
        self.wake.notify_all();
    }

    /// Gives back what is left after an error, and says what it was.
    fn finish(self) -> Result<()> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        debug_assert!(
            state.failed.is_some() || state.tiles.is_empty(),
            "every tile is freed by its last reader"
        );
        state.tiles.values().for_each(|shared| self.work.ledger.free_tile(shared.bytes));
        match state.failed {
            Some(why) => {
                // Results that were begun are not finished, and not held.
                let counts = self.work.ledger.counts();
                (counts.freed..counts.made).for_each(|_| self.work.ledger.free_tile(0));
                Err(why)
            }
            None => Ok(()),
        }
    }
}
