//! What engines for almost the same script share: results, machine code, and the switch that cancels their reads.
//!
//! ```text
//! tensor a … tensor b …   read both   b is defined anew   ->   another engine: a is there, b is compiled and computed
//! ```
//!
//! Results are known by the whole definition of their tensor ([`crate::graph::definition`]), code by the text of its
//! kernel, so neither is ever taken for something else.

use super::{Cancel, Engine};
use crate::graph::body::TensorId;
use crate::run::Codes;
use crate::run::kept::Series;
use crate::tiles::TileStore;
use crate::tiles::memory::MemoryStore;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Results and code that outlive an engine; clones are one.
#[derive(Clone)]
pub struct Shared {
    pub(super) store: Arc<dyn TileStore>,
    pub(super) codes: Arc<Codes>,
    pub(super) cancel: Cancel,
    /// Engines so far.
    engines: Arc<AtomicU64>,
}

impl Shared {
    /// Nothing yet, and room for that many bytes of results.
    pub fn new(bytes: u64) -> Shared {
        Shared {
            store: Arc::new(MemoryStore::new(bytes)),
            codes: Arc::default(),
            cancel: Cancel::default(),
            engines: Arc::default(),
        }
    }

    /// What cancels the reads of all engines that share this.
    pub fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    /// How many kernels have machine code.
    pub fn kernels(&self) -> usize {
        self.codes.count()
    }

    /// The number of one more engine.
    pub(super) fn next(&self) -> u64 {
        self.engines.fetch_add(1, Ordering::Relaxed)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Shared {{ {} of {} bytes, {} kernels }}",
            self.store.bytes(),
            self.store.limit(),
            self.kernels()
        )
    }
}

impl Engine {
    /// The results that are kept, by tensor or view; those that nobody here knows were left by other engines.
    pub fn kept(&self) -> Vec<Series> {
        self.kept.as_ref().map(|kept| kept.series()).unwrap_or_default()
    }

    /// Forgets the results that are kept of a tensor and of views of it.
    pub fn free(&self, tensor: TensorId) {
        if let Some(kept) = &self.kept {
            kept.forget(&|base| base == tensor);
        }
    }
}
