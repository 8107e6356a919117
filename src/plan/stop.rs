//! Whether a plan is still wanted: someone may change their mind while it is made.
//!
//! ```text
//! for stage in stages { stop.check()?; … }      Ctrl-C ends the plan at the next stage
//! ```

use super::group::PlanError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A switch that is turned once; clones are one.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    flag: Arc<AtomicBool>,
}

impl Stop {
    /// Stops when that becomes true.
    pub fn new(flag: Arc<AtomicBool>) -> Stop {
        Stop { flag }
    }

    /// Whether nobody wants the plan any more.
    pub fn is_asked(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// An error then.
    pub fn check(&self) -> Result<(), PlanError> {
        if self.is_asked() { Err(PlanError::Stopped) } else { Ok(()) }
    }
}

impl PartialEq for Stop {
    fn eq(&self, other: &Stop) -> bool {
        Arc::ptr_eq(&self.flag, &other.flag)
    }
}

impl Eq for Stop {}
