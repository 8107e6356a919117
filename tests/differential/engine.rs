//! The compiled engine under test: tiles, workers and the split of the read come from the seed.
#![cfg(feature = "jit")]

use crate::host::{FUNCTIONS, Functions};
use crate::rng::Rng;
use crate::runner::{Answer, Case, Runner};
use itp::engine::Engine;
use itp::run::Kind;
use std::sync::Arc;

/// One way of running.
pub(crate) struct Compiled {
    threads: usize,
    tile: Option<Vec<i64>>,
    /// Of the script that was run last.
    engine: Option<(String, Engine)>,
}

impl Compiled {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x7117);
        let threads = 1 + rng.below(3);
        let tile = rng.chance(75).then(|| (0..1 + rng.below(3)).map(|_| rng.within(1, 9)).collect());
        Compiled { threads, tile, engine: None }
    }

    fn engine(&self, case: &Case) -> Result<Engine, String> {
        // Some keep results, so that a read in parts, or after another, is put together from what is there.
        let store = if self.threads > 1 && self.tile.is_some() { 1 << 20 } else { 0 };
        let mut builder =
            Engine::builder().kind(Kind::Jit).threads(self.threads).memory(1 << 30).store(store);
        if let Some(tile) = &self.tile {
            builder = builder.tile(tile.iter().copied());
        }
        let mut engine = builder.compile(&case.text).map_err(|error| error.to_string())?;
        for (name, array) in case.world.arrays(&case.program.graph) {
            engine.bind_array(&name, array).map_err(|error| error.to_string())?;
        }
        FUNCTIONS.iter().for_each(|name| engine.register_untyped(name, Arc::new(Functions)));
        Ok(engine)
    }
}

impl Runner for Compiled {
    fn name(&self) -> String {
        let tile = self.tile.as_ref().map_or("own tiles".to_owned(), |tile| format!("tiles of {tile:?}"));
        format!("compiled, {} workers, {tile}", self.threads)
    }

    fn read(&mut self, case: &mut Case, slice: &str) -> Result<Answer, String> {
        if self.engine.as_ref().is_none_or(|(text, _)| *text != case.text) {
            self.engine = Some((case.text.clone(), self.engine(case)?));
        }
        let (_, engine) = self.engine.as_ref().expect("just made");
        let prepared = engine.prepare(slice).map_err(|error| error.to_string())?;
        let (array, stats) = prepared.read_array().map_err(|error| error.to_string())?;
        let (tiles, bytes) = (stats.tiles, stats.bytes);
        if tiles.live_end != 0 || tiles.live_peak > tiles.live_peak_planned || bytes.peak > bytes.peak_planned
        {
            return Err(format!("the accounts are wrong: {tiles:?} {bytes:?}"));
        }
        Ok(Answer { element: array.element, shape: array.shape, bytes: array.data })
    }
}
