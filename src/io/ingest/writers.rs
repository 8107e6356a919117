//! Complete tiles -> a sink, on threads of their own; the memory of tiles goes round.
//!
//! ```text
//! 1 thread    a tile is written where it is completed, and its memory taken for the next
//! 3 threads   two write; four tiles more than live at once are in memory
//! ```

use super::TileSink;
use crate::io::error::{Result, fault};
use crate::stream::scatter::slot;
use crate::stream::{Complete, Tiling};
use std::collections::BTreeSet;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Tiles beside those alive: one in the hands of every writer, and one that waits for it.
pub(super) fn in_flight(threads: usize) -> u64 {
    2 * threads.saturating_sub(1) as u64
}

pub(super) struct Writers {
    shared: Arc<Shared>,
    behind: Option<Behind>,
}

/// The threads, and the ways to them.
struct Behind {
    tiles: SyncSender<Complete>,
    free: Receiver<Vec<u8>>,
    threads: Vec<JoinHandle<()>>,
}

/// What all writers know.
struct Shared {
    tiling: Tiling,
    sink: Arc<dyn TileSink>,
    written: Mutex<Written>,
    failed: Mutex<Option<io::Error>>,
}

/// Which tiles are written.
#[derive(Default)]
struct Written {
    /// All tiles with lower ranks are.
    next: u64,
    /// Others that are.
    ahead: BTreeSet<u64>,
}

impl Shared {
    fn write(&self, tile: &Complete) -> io::Result<()> {
        self.sink.put(tile)?;
        // One that the end of the stream left incomplete has fewer steps than its place: the end says how many.
        if tile.received < self.tiling.elements_of(&tile.number) {
            return Ok(());
        }
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.ahead.insert(self.tiling.rank_of(&tile.number));
        let before = written.next;
        while let next = written.next
            && written.ahead.remove(&next)
        {
            written.next += 1;
        }
        let epoch = self.tiling.epoch_tiles().max(1);
        if written.next / epoch > before / epoch {
            let frames = self.tiling.range(0, written.next / epoch - 1).end;
            self.sink.reached(frames)?;
        }
        Ok(())
    }

    fn fail(&self, error: io::Error) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    fn has_failed(&self) -> bool {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn check(&self) -> io::Result<()> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}

/// Memory for a tile; large ones are not touched before they are used.
fn memory(tiling: &Tiling, element: usize) -> Result<Vec<u8>> {
    let bytes = tiling.tile_elements().saturating_mul(element as u64);
    let slot = usize::try_from(bytes).ok().and_then(slot);
    slot.ok_or_else(|| fault(format!("needs {bytes} bytes of memory, more than there is")))
}

impl Writers {
    pub(super) fn new(
        tiling: &Tiling,
        element: usize,
        threads: usize,
        sink: Arc<dyn TileSink>,
    ) -> Result<Writers> {
        let shared =
            Shared { tiling: tiling.clone(), sink, written: Mutex::default(), failed: Mutex::default() };
        let shared = Arc::new(shared);
        if threads < 2 {
            return Ok(Writers { shared, behind: None });
        }
        let (tiles, queue) = sync_channel::<Complete>(threads - 1);
        let (give, free) = channel();
        for _ in 0..in_flight(threads) {
            let _ = give.send(memory(tiling, element)?);
        }
        let queue = Arc::new(Mutex::new(queue));
        let mut running = Vec::new();
        for _ in 1..threads {
            let (shared, queue, give) = (shared.clone(), queue.clone(), give.clone());
            let thread = std::thread::Builder::new().name("itp writer".to_owned());
            running.push(thread.spawn(move || {
                while let Ok(tile) = { queue.lock().unwrap_or_else(PoisonError::into_inner).recv() } {
                    if !shared.has_failed() {
                        shared.write(&tile).unwrap_or_else(|error| shared.fail(error));
                    }
                    let _ = give.send(tile.data);
                }
            })?);
        }
        Ok(Writers { shared, behind: Some(Behind { tiles, free, threads: running }) })
    }

    /// Writes a tile sooner or later, and gives back memory for another; waits while there is none.
    pub(super) fn put(&mut self, tile: Complete) -> io::Result<Vec<u8>> {
        self.shared.check()?;
        let Some(behind) = &self.behind else {
            self.shared.write(&tile)?;
            return Ok(tile.data);
        };
        let gone = || io::Error::other("the writing threads have ended");
        behind.tiles.send(tile).map_err(|_| gone())?;
        behind.free.recv().map_err(|_| gone())
    }

    /// Waits until everything is written.
    pub(super) fn join(&mut self) -> io::Result<()> {
        if let Some(Behind { tiles, free, threads }) = self.behind.take() {
            drop(tiles);
            let ended = threads.into_iter().all(|thread| thread.join().is_ok());
            drop(free);
            if !ended {
                return Err(io::Error::other("a writing thread has ended early"));
            }
        }
        self.shared.check()
    }
}

/// A stream that fails waits for its threads, too: what they have not completed is removed when the last has ended.
impl Drop for Writers {
    fn drop(&mut self) {
        let _ = self.join();
    }
}
