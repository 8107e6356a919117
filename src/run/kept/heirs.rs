//! What was kept for a script -> what is kept for the same script with more `set` items at its end.
//!
//! ```text
//! a[0:40000] is kept, in tiles of 16384      a = f(v)
//! set v[20000:20003] = 1                     the first and the third tile are those of the new `a`, too
//! ```
//!
//! A `set` sees the earlier ones only, so that nothing but the elements it writes becomes another.

use super::{Kept, Stored};
use crate::access::footprint::{Region, view_footprint};
use crate::graph::body::TensorId;
use crate::graph::definition::Definition;
use crate::graph::view::View;
use crate::run::job::World;
use crate::tiles::TileKey;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

impl Kept {
    /// Takes over what `before` kept, as far as the `set` items that this script has more do not reach it; all else is the
    /// same in both. Their worlds come with them.
    pub fn inherit(&self, world: &World, (before, world_before): (&Kept, &World)) {
        let graph = &self.shared.program.graph;
        let more = graph.sets.iter().skip(before.shared.program.graph.sets.len());
        let written = more.map(|set| {
            let span = graph.tensor(set.target.base).span;
            Some((set.target.base, view_footprint(&set.target, &set.target.intervals(), span)?))
        });
        // Nobody can tell what is written.
        let Some(written) = written.collect::<Option<Vec<_>>>() else { return };
        let heirs = self.heirs(&before.shared.definitions(world_before), &self.shared.definitions(world));
        for (word, tiles) in self.stored_as(&heirs) {
            let Some((id, heir)) = heirs.get(&word[..DIGITS.min(word.len())]) else { continue };
            let Some(view) = before.view_of(&word, *id) else { continue };
            self.rename(&view, &tiles, &written, &format!("{heir}{}", &word[DIGITS..]));
        }
    }

    /// Tensors with another definition, by the old one in words, and the new one.
    fn heirs(&self, before: &[Definition], now: &[Definition]) -> BTreeMap<String, (TensorId, Definition)> {
        let pairs = before.iter().zip(now).enumerate().filter(|(_, (before, now))| before != now);
        pairs.map(|(id, (before, now))| (before.to_string(), (TensorId(id as u32), *now))).collect()
    }

    /// The tiles of those definitions, by the word for them.
    fn stored_as(&self, heirs: &BTreeMap<String, (TensorId, Definition)>) -> BTreeMap<Arc<str>, Vec<Stored>> {
        let mut sorted: BTreeMap<Arc<str>, Vec<Stored>> = BTreeMap::new();
        for (key, tile) in self.shared.store.tiles() {
            if key.series.get(..DIGITS).is_some_and(|word| heirs.contains_key(word)) {
                sorted.entry(key.series.clone()).or_default().push((key, tile));
            }
        }
        sorted
    }

    /// What tiles with that word are of: all of a tensor, or a view that was read here.
    fn view_of(&self, word: &str, id: TensorId) -> Option<Arc<View>> {
        let known = self.shared.series.lock().unwrap_or_else(PoisonError::into_inner);
        let tensor = self.shared.program.graph.tensor(id);
        let whole = || View::whole(tensor.name.clone(), id, tensor.element, tensor.domain.clone());
        known.get(word).cloned().or_else(|| (word.len() == DIGITS).then(|| Arc::new(whole())))
    }

    /// Gives the tiles that need nothing of what is written another word.
    fn rename(&self, view: &View, tiles: &[Stored], written: &[(TensorId, Region)], word: &str) {
        let touched = written.iter().flat_map(|(var, region)| self.shared.touched(view, tiles, *var, region));
        let touched: BTreeSet<&TileKey> = touched.map(|(key, _)| key).collect();
        let word: Arc<str> = word.into();
        for (key, tile) in tiles.iter().filter(|(key, _)| !touched.contains(key)) {
            self.shared.store.remove(key);
            self.shared.store.put(TileKey { series: word.clone(), ..key.clone() }, tile.clone());
        }
    }
}

/// Letters of a definition.
const DIGITS: usize = 32;
