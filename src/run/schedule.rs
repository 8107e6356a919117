//! Tasks on workers: each takes the next one in the order, waits for the tiles it reads, and gives them back.
//!
//! ```text
//! worker 0: a 0 ---- result 0 ------        worker 1:   a 1 ---- (waits for a 0) result 1 …
//! ```
//!
//! [`Board`] keeps the books. A worker that panics ends the run with an error, and nothing else.

use super::board::Board;
use super::job::What;
use super::memory::Place;
use super::spare::Scratch;
use super::tiled::failed;
use super::work::{Content, Sources, Tile, Work};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::plan::grid::volume;
use crate::plan::group::work_box;
use crate::plan::order::{Order, Step};
use crate::plan::peak::{TILE_BESIDE, tile_bytes};
use crate::plan::readers::TileId;
use crate::plan::stop::Stop;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

/// Runs every task of a request; tiles of the result go to `out`.
pub fn run(work: &Work<'_>, out: &Place<'_>, threads: usize) -> Result<()> {
    let mut order = Order::new(work.division, &Stop::new(work.control.cancel.clone())).map_err(failed)?;
    let _held = work.ledger.holding(order.table_bytes());
    let next = || order.next(work.division);
    let schedule = Schedule { work, out, board: Board::new(next, threads) };
    let workers = work.division.tiles().min(workers(work, threads) as u128) as usize;
    thread::scope(|scope| {
        let schedule = &schedule;
        let spawn = |worker: usize| {
            let thread = thread::Builder::new().name("itp-worker".to_owned());
            thread.spawn_scoped(scope, move || schedule.worker(worker)).is_ok()
        };
        // Where there are no more threads, those that are there do it all.
        let _ = (1..workers).all(spawn);
        schedule.worker(0);
    });
    schedule.finish()
}

/// Nanoseconds that a worker has to do, at the least: to start it takes a good part of that.
const WORTH: u128 = 200_000;

/// Workers that a request is worth, by what its tasks took before; all of them as long as nobody knows.
fn workers(work: &Work<'_>, threads: usize) -> usize {
    let stages = &work.division.stages;
    let expected = work.division.groups.iter().map(|group| {
        let elements = volume(&work_box(stages, group.target, &group.grid.region));
        work.kernels.get(&group.target)?.pace.expected(elements)
    });
    let Some(time) = expected.sum::<Option<u128>>() else { return threads };
    usize::try_from(time / WORTH).unwrap_or(threads).clamp(1, threads)
}

struct Schedule<'s, O> {
    work: &'s Work<'s>,
    out: &'s Place<'s>,
    board: Board<O, Tile>,
}

/// Why a worker panicked, as an error of the run.
fn panicked(payload: &(dyn Any + Send)) -> Box<Diagnostic> {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let message = format!("a worker failed: {}", text.unwrap_or("it did not say why"));
    Box::new(Diagnostic::new(Code::E1009, message))
}

impl<O: FnMut() -> Option<Step> + Send> Schedule<'_, O> {
    /// Does tasks until there are no more, or one fails.
    fn worker(&self, worker: usize) {
        let done = catch_unwind(AssertUnwindSafe(|| self.tasks(worker)));
        if let Err(why) = done.unwrap_or_else(|payload| Err(panicked(&*payload))) {
            self.board.fail(why);
        }
    }

    fn tasks(&self, worker: usize) -> Result<()> {
        let mut scratch = self.work.spare.take();
        let mut group = None;
        while let Some(step) = self.board.take() {
            if group.replace(step.tile.0) != Some(step.tile.0) {
                scratch.trim();
            }
            let start = self.work.control.trace.map(|trace| (trace.now(), self.work.ledger.live() + 1));
            let done = self.step(&step, &mut scratch);
            if let (Some(trace), Some((start, live))) = (self.work.control.trace, start) {
                trace.record(self.name(&step.tile), worker, start, live);
            }
            done?;
        }
        self.work.spare.give(scratch);
        Ok(())
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

    fn is_result(&self, step: &Step) -> bool {
        step.tile.0 + 1 == self.work.division.groups.len()
    }

    fn step(&self, step: &Step, scratch: &mut Scratch) -> Result<()> {
        self.work.control.check()?;
        let group = &self.work.division.groups[step.tile.0];
        let region = group.grid.tile(&step.tile.1);
        let element = self.work.division.stages.tensor(group.target).element.bytes();
        if self.is_result(step) {
            self.work.ledger.make_tile(0);
            let Some(tiles) = self.sources(step) else { return Ok(()) };
            self.work.task(step.tile.0, &step.tile.1, &tiles, scratch, self.out)?;
            drop(tiles);
            self.done(step, None);
            return Ok(());
        }
        let bytes = tile_bytes(self.work.division, group, &region);
        self.work.ledger.make_tile(bytes);
        self.board.promise(step, bytes);
        let Some(tiles) = self.sources(step) else { return Ok(()) };
        let mut buffer = self.work.spare.tile(volume(&region) * u128::from(element))?;
        let place = Place::dense(buffer.memory_mut(), &region, element as usize);
        self.work.task(step.tile.0, &step.tile.1, &tiles, scratch, &place)?;
        drop(tiles);
        let tile = self.work.complete(group, region, buffer);
        let kept = tile.frozen_bytes().map_or(bytes, |frozen| frozen + TILE_BESIDE);
        self.work.ledger.release(bytes - kept);
        self.done(step, Some((tile, kept)));
        Ok(())
    }

    /// The tiles that a task reads, by the group that made them; `None` if the run ends before they are there.
    fn sources(&self, step: &Step) -> Option<Sources> {
        let mut tiles = Sources::new();
        for (id, tile) in self.board.sources(step)? {
            self.note(What::Reuse, &id);
            tiles.entry(id.0).or_default().push(tile);
        }
        Some(tiles)
    }

    fn done(&self, step: &Step, tile: Option<(Tile, u64)>) {
        self.board.done(step, tile, |id, bytes, tile| {
            self.work.ledger.free_tile(bytes);
            self.note(What::Free, id);
            if let Some(Tile { content: Content::Dense(buffer), .. }) = tile {
                self.work.spare.keep(buffer);
            }
        });
    }

    /// Gives back what is left after an error, and says what it was.
    fn finish(self) -> Result<()> {
        let ledger = self.work.ledger;
        self.board.finish(|bytes| ledger.free_tile(bytes)).inspect_err(|_| {
            // Results that were begun are not finished, and not held.
            let counts = ledger.counts();
            (counts.freed..counts.made).for_each(|_| ledger.free_tile(0));
        })
    }
}
