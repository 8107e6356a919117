//! Memory that was used before, for those who need some next: the system need not clear it once more.
//!
//! ```text
//! a run: tile of 2 MB freed   ->   the next tile of 2 MB, of this run or of a later one
//! ```
//!
//! What is kept takes the place of new memory, never that of tiles: where nothing fits, as much of it goes as is asked for.

use super::memory::Buffer;
use crate::diagnostic::Result;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Memory that a worker keeps from task to task.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) buffers: Vec<Buffer>,
}

/// Bytes that a worker keeps from group to group and from run to run, at the most.
const KEPT: usize = 2 << 20;
/// Workers whose memory is kept.
const MOST_WORKERS: usize = 16;
/// Bytes of freed tiles that are kept, at the most.
const TILES: usize = 32 << 20;
/// Freed tiles that are kept, at the most: they are looked through.
const MOST_TILES: usize = 1 << 10;

impl Scratch {
    /// Gives back all that is more than a little.
    pub fn trim(&mut self) {
        let mut room = KEPT;
        self.buffers.retain(|buffer| {
            let rest = room.checked_sub(buffer.len());
            room = rest.unwrap_or(room);
            rest.is_some()
        });
    }
}

/// Memory of workers and of tiles, during runs and between them.
#[derive(Debug, Default)]
pub struct Spare {
    scratches: Mutex<Vec<Scratch>>,
    tiles: Mutex<Tiles>,
}

/// Memory of tiles that were freed.
#[derive(Debug, Default)]
struct Tiles {
    /// Those that were freed last come last.
    buffers: VecDeque<Buffer>,
    /// Of all of them.
    bytes: usize,
}

impl Tiles {
    fn remove(&mut self, at: usize) -> Option<Buffer> {
        let buffer = self.buffers.remove(at)?;
        self.bytes -= buffer.len();
        Some(buffer)
    }
}

impl Spare {
    /// Memory for a worker.
    pub fn take(&self) -> Scratch {
        lock(&self.scratches).pop().unwrap_or_default()
    }

    /// Bytes that are kept.
    pub fn bytes(&self) -> u64 {
        let size = |scratch: &Scratch| scratch.buffers.iter().map(Buffer::len).sum::<usize>();
        let scratches: usize = lock(&self.scratches).iter().map(size).sum();
        (scratches + lock(&self.tiles).bytes) as u64
    }

    /// Keeps the memory of a worker that is done.
    pub fn give(&self, mut scratch: Scratch) {
        scratch.trim();
        let mut known = lock(&self.scratches);
        if known.len() < MOST_WORKERS {
            known.push(scratch);
        }
    }

    /// Memory for a tile: that of one that was freed and is not much larger, or new. What it holds is no matter.
    pub fn tile(&self, bytes: u128) -> Result<Buffer> {
        let mut tiles = lock(&self.tiles);
        let fits = |buffer: &Buffer| (bytes..=bytes + bytes / 8 + 8).contains(&(buffer.len() as u128));
        let at = tiles.buffers.iter().rposition(fits);
        if let Some(buffer) = at.and_then(|at| tiles.remove(at)) {
            return Ok(buffer);
        }
        let mut room = 0;
        while room < bytes
            && let Some(oldest) = tiles.remove(0)
        {
            room += oldest.len() as u128;
        }
        drop(tiles);
        Buffer::new(bytes)
    }

    /// Keeps the memory of a tile that nobody has any more.
    pub fn keep(&self, buffer: Buffer) {
        let mut tiles = lock(&self.tiles);
        if tiles.bytes + buffer.len() <= TILES && tiles.buffers.len() < MOST_TILES {
            tiles.bytes += buffer.len();
            tiles.buffers.push_back(buffer);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_freed_is_taken_again_if_it_fits() {
        let spare = Spare::default();
        spare.keep(Buffer::new(1000).unwrap());
        spare.keep(Buffer::new(4000).unwrap());
        assert_eq!(spare.bytes(), 5000);
        assert_eq!(spare.tile(960).unwrap().len(), 1000, "a little more will do");
        assert_eq!(spare.bytes(), 4000);
        assert_eq!(spare.tile(2000).unwrap().len(), 2000, "twice as much will not, and makes room");
        assert_eq!(spare.bytes(), 0);
    }

    #[test]
    fn little_is_kept() {
        let spare = Spare::default();
        (0..9).for_each(|_| spare.keep(Buffer::new(8 << 20).unwrap()));
        assert_eq!(spare.bytes(), 32 << 20);
        let spare = Spare::default();
        (0..3000).for_each(|_| spare.keep(Buffer::new(8).unwrap()));
        assert_eq!(spare.bytes(), 8 << 10, "few are, however small");
    }

    #[test]
    fn as_much_goes_as_is_asked_for() {
        let spare = Spare::default();
        (0..3).for_each(|_| spare.keep(Buffer::new(1000).unwrap()));
        assert_eq!(spare.tile(1500).unwrap().len(), 1504);
        assert_eq!(spare.bytes(), 1000);
        assert_eq!(spare.tile(880).unwrap().len(), 880, "an eighth more and 8 bytes are too little");
        assert_eq!(spare.bytes(), 0);
        [600, 400, 200].into_iter().for_each(|bytes| spare.keep(Buffer::new(bytes).unwrap()));
        assert_eq!(spare.tile(1000).unwrap().len(), 1000);
        assert_eq!(spare.bytes(), 200);
        assert_eq!(spare.tile(176).unwrap().len(), 200, "an eighth and 8 bytes more will do");
    }

    #[test]
    fn workers_keep_a_little() {
        let spare = Spare::default();
        let buffers = |sizes: &[u128]| sizes.iter().map(|bytes| Buffer::new(*bytes).unwrap()).collect();
        spare.give(Scratch { buffers: buffers(&[1 << 20, 2 << 20, 1 << 20, 8]) });
        assert_eq!(spare.bytes(), 2 << 20, "what is too much goes");
        assert_eq!((spare.take().buffers.len(), spare.take().buffers.len()), (2, 0));
        (0..20).for_each(|_| spare.give(Scratch { buffers: buffers(&[8]) }));
        assert_eq!(spare.bytes(), 16 * 8);
    }
}
