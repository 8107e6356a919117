//! Plans that are known, and reads of other places that they are moved to.
//!
//! ```text
//! out[0:512, 0:512]   then   out[9000:9512, -700:-188]      planned once, computed twice
//! ```
//!
//! [`moved`](crate::plan::moved) says which plans can be moved, and what a moved one is.

use super::job::{Job, Limits};
use super::kept::cut;
use super::reading::{Reading, Whole};
use super::tiled::Asked;
use crate::access::footprint::Region;
use crate::graph::body::TensorId;
use crate::graph::view::View;
use crate::plan::moved::{Steady, steady};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Plans that are kept: those of some layers that somebody looks at, in tiles of a few sizes.
const MOST: usize = 32;

/// Plans that can be moved, the newest last.
#[derive(Default)]
pub(super) struct Plans {
    known: Mutex<VecDeque<Arc<Known>>>,
}

/// A plan and how it moves.
struct Known {
    /// The tensor of the script that was read.
    base: TensorId,
    threads: usize,
    tile: Option<Vec<i64>>,
    asked: Asked,
    whole: Whole,
    steady: Steady,
}

impl Known {
    fn answers(&self, view: &View, limits: &Limits) -> bool {
        self.base == view.base && self.threads == limits.threads && self.tile == limits.tile
    }

    /// The same for another box.
    fn at(&self, region: Region, limits: &Limits) -> Option<(Asked, Whole)> {
        let by = self.steady.distance(&self.asked.region, &region)?;
        let division = self.steady.moved(&self.whole.division, &by, limits.stop.clone())?;
        let asked = Asked { region, ..self.asked.clone() };
        Some((asked, Whole { division: Arc::new(division), ..self.whole.clone() }))
    }
}

impl Plans {
    /// The plan of a read, if one of the same shape is known.
    pub(super) fn get(&self, job: &Job) -> Option<(Asked, Whole)> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let mut own = known.iter().rev().filter(|known| known.answers(&job.view, &job.limits)).peekable();
        own.peek()?;
        let region = cut(&job.view.unshaped())?;
        own.find_map(|known| known.at(region.clone(), &job.limits))
    }

    /// Keeps the plan of a read, if it is the same elsewhere.
    pub(super) fn keep(&self, reading: &Reading) {
        let (job, asked) = (reading.job(), reading.asked());
        // Whoever stops asking gets any answer.
        if job.limits.stop.is_asked() || cut(&job.view.unshaped()).is_none() {
            return;
        }
        let Some(whole) = reading.plain_whole() else { return };
        let Some(steady) = steady(&whole.division) else { return };
        let Limits { threads, ref tile, .. } = job.limits;
        let (base, tile, asked) = (job.view.base, tile.clone(), asked.clone());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() == MOST {
            known.pop_front();
        }
        known.push_back(Arc::new(Known { base, threads, tile, asked, whole, steady }));
    }
}
