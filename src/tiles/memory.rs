//! The store in memory: up to a number of bytes, what was used longest ago goes first.

use super::{Tile, TileKey, TileStore};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tiles in memory.
#[derive(Debug)]
pub struct MemoryStore {
    limit: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    tiles: BTreeMap<TileKey, (Arc<Tile>, u64)>,
    /// Keys by when they were used last.
    used: BTreeMap<u64, TileKey>,
    /// Uses so far.
    now: u64,
    bytes: u64,
}

impl MemoryStore {
    /// A store that holds at most `limit` bytes.
    pub fn new(limit: u64) -> MemoryStore {
        MemoryStore { limit, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take_out(&mut self, key: &TileKey) {
        if let Some((tile, used)) = self.tiles.remove(key) {
            self.used.remove(&used);
            self.bytes -= tile.bytes();
        }
    }
}

impl TileStore for MemoryStore {
    fn get(&self, key: &TileKey) -> Option<Arc<Tile>> {
        let state = &mut *self.lock();
        let (tile, used) = state.tiles.get_mut(key)?;
        state.used.remove(used);
        state.now += 1;
        *used = state.now;
        state.used.insert(state.now, key.clone());
        Some(tile.clone())
    }

    fn put(&self, key: TileKey, tile: Arc<Tile>) {
        let state = &mut *self.lock();
        state.take_out(&key);
        if tile.bytes() > self.limit {
            return;
        }
        while state.bytes + tile.bytes() > self.limit
            && let Some((_, oldest)) = state.used.first_key_value()
        {
            let oldest = oldest.clone();
            state.take_out(&oldest);
        }
        state.now += 1;
        state.bytes += tile.bytes();
        state.used.insert(state.now, key.clone());
        state.tiles.insert(key, (tile, state.now));
    }

    fn remove(&self, key: &TileKey) {
        self.lock().take_out(key);
    }

    fn tiles(&self) -> Vec<(TileKey, Arc<Tile>)> {
        self.lock().tiles.iter().map(|(key, (tile, _))| (key.clone(), tile.clone())).collect()
    }

    fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    fn limit(&self) -> u64 {
        self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Interval;

    fn key(number: i64) -> TileKey {
        TileKey { series: "t0".into(), number: vec![number] }
    }

    fn tile() -> Arc<Tile> {
        Arc::new(Tile::empty(vec![Interval::trusted(0, 9)], 4).expect("there is room"))
    }

    fn numbers(store: &MemoryStore) -> Vec<i64> {
        store.tiles().iter().map(|(key, _)| key.number[0]).collect()
    }

    #[test]
    fn what_was_used_longest_ago_goes_first() {
        let store = MemoryStore::new(3 * tile().bytes());
        (0..3).for_each(|number| store.put(key(number), tile()));
        assert!(store.get(&key(0)).is_some());
        store.put(key(3), tile());
        assert_eq!(numbers(&store), [0, 2, 3]);
        assert_eq!(store.bytes(), 3 * tile().bytes());
        store.put(key(2), tile());
        store.put(key(4), tile());
        assert_eq!(numbers(&store), [2, 3, 4]);
        store.remove(&key(3));
        store.remove(&key(7));
        assert_eq!((numbers(&store), store.bytes()), (vec![2, 4], 2 * tile().bytes()));
    }

    #[test]
    fn a_tile_above_the_limit_is_not_kept() {
        let store = MemoryStore::new(tile().bytes() - 1);
        store.put(key(0), tile());
        assert_eq!((numbers(&store), store.bytes()), (vec![], 0));
        let store = MemoryStore::new(tile().bytes());
        store.put(key(0), tile());
        assert_eq!(numbers(&store), [0], "one that just fits is");
        assert!(!store.keeps_all() && store.limit() == tile().bytes());
    }
}
