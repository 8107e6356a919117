//! What was selected so far: the lanes of values, and constants that are shared.

use super::program::Reg;
use super::select::Lanes;
use crate::loops::ir::{BufferId, ValueId};
use std::collections::HashMap;

#[derive(Debug, Default)]
pub(super) struct Values {
    lanes: HashMap<ValueId, Lanes>,
    /// Constants by their bits.
    pub(super) narrow: HashMap<u32, Reg>,
    pub(super) wide: HashMap<u64, Reg>,
    /// Whole registers by their place in the pool.
    pub(super) pool: HashMap<i32, Reg>,
    /// Elements of buffers that were loaded together with others.
    pub(super) unwoven: HashMap<(BufferId, ValueId), Lanes>,
}

impl Values {
    pub(super) fn get(&self, id: ValueId) -> Option<Lanes> {
        self.lanes.get(&id).copied()
    }

    /// All lanes that are known.
    pub(super) fn lanes(&self) -> HashMap<ValueId, Lanes> {
        self.lanes.clone()
    }

    /// Forgets all other lanes.
    pub(super) fn set_lanes(&mut self, lanes: HashMap<ValueId, Lanes>) {
        self.lanes = lanes;
    }

    pub(super) fn set(&mut self, id: ValueId, lanes: Lanes) {
        self.lanes.insert(id, lanes);
    }
}
