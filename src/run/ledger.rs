//! What is held and what was done: counted as it happens.

use crate::graph::body::TensorId;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts of one run.
#[derive(Debug)]
pub struct Ledger {
    bytes: AtomicU64,
    bytes_peak: AtomicU64,
    /// Of these bytes, those of inputs that were thawed although the plan had hoped not.
    thawed: AtomicU64,
    tiles: AtomicU64,
    tiles_peak: AtomicU64,
    made: AtomicU64,
    freed: AtomicU64,
    elements: Vec<AtomicU64>,
    /// Bytes of the tiles of every tensor that has a format: dense, and as they are stored.
    stored: Vec<[AtomicU64; 2]>,
    vector_bits: AtomicU64,
}

/// The counts at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes held at once, at the most.
    pub bytes_peak: u64,
    /// Tiles held at once, at the most.
    pub tiles_peak: u64,
    /// Tiles that were made.
    pub made: u64,
    /// Tiles that were given back.
    pub freed: u64,
    /// Elements computed, by tensor.
    pub elements: Vec<u64>,
    /// Bytes of tiles in formats, by tensor: dense, and as they are stored.
    pub stored: Vec<(u64, u64)>,
    /// The widest vectors that kernels had.
    pub vector_bits: u64,
}

impl Ledger {
    /// For a graph of that many tensors.
    pub fn new(tensors: usize) -> Self {
        Ledger {
            bytes: AtomicU64::new(0),
            bytes_peak: AtomicU64::new(0),
            thawed: AtomicU64::new(0),
            tiles: AtomicU64::new(0),
            tiles_peak: AtomicU64::new(0),
            made: AtomicU64::new(0),
            freed: AtomicU64::new(0),
            elements: (0..tensors).map(|_| AtomicU64::new(0)).collect(),
            stored: (0..tensors).map(|_| [AtomicU64::new(0), AtomicU64::new(0)]).collect(),
            vector_bits: AtomicU64::new(128),
        }
    }

    /// A kernel has vectors of that many bits.
    pub fn vectors(&self, bits: u32) {
        self.vector_bits.fetch_max(bits.into(), Relaxed);
    }

    /// Takes note of memory that is held from now on.
    pub fn hold(&self, bytes: u64) {
        let now = self.bytes.fetch_add(bytes, Relaxed) + bytes;
        self.bytes_peak.fetch_max(now, Relaxed);
    }

    /// Takes note of memory that is held as long as the result lives.
    pub fn holding(&self, bytes: u64) -> Holding<'_> {
        self.hold(bytes);
        Holding { ledger: self, bytes }
    }

    /// Takes note of memory that is given back.
    pub fn release(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Relaxed);
    }

    /// An input is thawed that the plan has counted as frozen.
    pub fn thaw(&self, bytes: u64) {
        self.thawed.fetch_add(bytes, Relaxed);
        self.hold(bytes);
    }

    /// Bytes of such inputs.
    pub fn thawed(&self) -> u64 {
        self.thawed.load(Relaxed)
    }

    /// Bytes that are held now.
    pub fn held(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// A tile is begun, with memory of its own or none.
    pub fn make_tile(&self, bytes: u64) {
        self.made.fetch_add(1, Relaxed);
        let now = self.tiles.fetch_add(1, Relaxed) + 1;
        self.tiles_peak.fetch_max(now, Relaxed);
        self.hold(bytes);
    }

    /// A tile is given back.
    pub fn free_tile(&self, bytes: u64) {
        self.freed.fetch_add(1, Relaxed);
        self.tiles.fetch_sub(1, Relaxed);
        self.release(bytes);
    }

    /// Elements of a stage were computed.
    pub fn computed(&self, id: TensorId, elements: u128) {
        self.elements[id.index()].fetch_add(elements as u64, Relaxed);
    }

    /// A tile is stored in a format: so many bytes if it were dense, so many as it is.
    pub fn stored(&self, id: TensorId, dense: u64, bytes: u64) {
        let [all, own] = &self.stored[id.index()];
        all.fetch_add(dense, Relaxed);
        own.fetch_add(bytes, Relaxed);
    }

    /// Tiles that live now.
    pub fn live(&self) -> u64 {
        self.tiles.load(Relaxed)
    }

    /// Whether nothing is held.
    pub fn is_empty(&self) -> bool {
        self.bytes.load(Relaxed) == 0 && self.tiles.load(Relaxed) == 0
    }

    /// What was counted so far.
    pub fn counts(&self) -> Counts {
        Counts {
            bytes_peak: self.bytes_peak.load(Relaxed),
            tiles_peak: self.tiles_peak.load(Relaxed),
            made: self.made.load(Relaxed),
            freed: self.freed.load(Relaxed),
            elements: self.elements.iter().map(|count| count.load(Relaxed)).collect(),
            stored: self.stored.iter().map(|[all, own]| (all.load(Relaxed), own.load(Relaxed))).collect(),
            vector_bits: self.vector_bits.load(Relaxed),
        }
    }
}

/// Memory that is held, and given back however its owner ends.
#[derive(Debug)]
pub struct Holding<'l> {
    ledger: &'l Ledger,
    bytes: u64,
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        self.ledger.release(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_are_the_most_that_was_held_at_once() {
        let ledger = Ledger::new(2);
        ledger.make_tile(100);
        {
            let _held = ledger.holding(50);
            ledger.make_tile(7);
        }
        ledger.free_tile(100);
        ledger.make_tile(60);
        assert_eq!(ledger.live(), 2);
        ledger.free_tile(7);
        assert!(!ledger.is_empty());
        ledger.free_tile(60);
        assert!(ledger.is_empty());
        ledger.hold(1);
        assert!(!ledger.is_empty());
        ledger.computed(TensorId(1), 5);
        ledger.computed(TensorId(1), 6);
        ledger.stored(TensorId(0), 80, 20);
        [256, 512, 128].into_iter().for_each(|bits| ledger.vectors(bits));
        let counts = Counts {
            bytes_peak: 157,
            tiles_peak: 2,
            made: 3,
            freed: 3,
            elements: vec![0, 11],
            stored: vec![(80, 20), (0, 0)],
            vector_bits: 512,
        };
        assert_eq!(ledger.counts(), counts);
    }
}
