//! Who computes which tile right now, so that of reads that run at the same time only one does.
//!
//! ```text
//! read 1 wants tiles 0, 1    claims both, computes, puts them into the store
//! read 2 wants tiles 1, 2    claims 2 and computes it, then waits for 1 to land
//! ```
//!
//! Nobody waits while others wait for them: claims are given back before. A read that fails or is cancelled gives back
//! its claims, too, and whoever waited finds the tiles missing and claims them.

use super::boxes::meet;
use super::{Tile, TileKey, TileStore};
use crate::access::footprint::Region;
use crate::sync::{Condvar, Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

/// How long a read waits before it looks whether it is cancelled.
const LOOK: Duration = Duration::from_millis(10);

/// A part of a tile that a read wants.
#[derive(Clone, Debug)]
pub struct Part {
    /// Of which tile.
    pub key: TileKey,
    /// Which elements.
    pub region: Region,
}

/// Parts of tiles that are being computed.
#[derive(Debug, Default)]
pub struct Flights {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// What is claimed; no two parts share elements.
    claimed: BTreeMap<TileKey, Vec<Region>>,
    /// Claims that were given back so far.
    landed: u64,
}

/// What becomes of the parts that a read wants.
pub struct Sorted<'f> {
    /// Parts that are in the store.
    pub found: Vec<(Part, Arc<Tile>)>,
    /// Parts of which something is missing: to be computed by who holds this.
    pub claims: Claims<'f>,
    /// Parts that others are computing.
    pub busy: Vec<Part>,
    /// Claims that had been given back when this was found out.
    landed: u64,
}

/// Parts that nobody else computes as long as this lives, with what the store has of their tiles.
pub struct Claims<'f> {
    flights: &'f Flights,
    parts: Vec<(Part, Option<Arc<Tile>>)>,
}

impl Flights {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks which parts are in the store, and claims those that nobody has and nobody computes.
    pub fn sort(&self, wanted: Vec<Part>, store: &dyn TileStore) -> Sorted<'_> {
        let mut state = self.lock();
        let claims = Claims { flights: self, parts: Vec::new() };
        let mut sorted = Sorted { found: Vec::new(), claims, busy: Vec::new(), landed: state.landed };
        for part in wanted {
            match store.get(&part.key) {
                Some(tile) if tile.holds(&part.region) => sorted.found.push((part, tile)),
                _ if state.is_claimed(&part) => sorted.busy.push(part),
                tile => {
                    state.claimed.entry(part.key.clone()).or_default().push(part.region.clone());
                    sorted.claims.parts.push((part, tile));
                }
            }
        }
        sorted
    }

    /// Waits a moment, or until a claim was given back since.
    pub fn wait(&self, sorted: &Sorted<'_>) {
        let state = self.lock();
        let still = |state: &mut State| state.landed == sorted.landed;
        drop(self.wake.wait_timeout_while(state, LOOK, still));
    }
}

impl State {
    fn is_claimed(&self, part: &Part) -> bool {
        let claimed = self.claimed.get(&part.key);
        claimed.is_some_and(|claimed| claimed.iter().any(|region| meet(region, &part.region).is_some()))
    }

    fn give_back(&mut self, part: &Part) {
        self.landed += 1;
        if let Some(claimed) = self.claimed.get_mut(&part.key) {
            claimed.retain(|region| *region != part.region);
            if claimed.is_empty() {
                self.claimed.remove(&part.key);
            }
        }
    }
}

impl Claims<'_> {
    /// What is claimed, with what the store had of it.
    pub fn parts(&self) -> &[(Part, Option<Arc<Tile>>)] {
        &self.parts
    }

    /// Puts the tiles that `fill` makes, from what the store has by then, into the store, and gives the claims back.
    pub fn land(mut self, store: &dyn TileStore, fill: impl Fn(&Part, Option<Arc<Tile>>) -> Option<Tile>) {
        while let Some((part, old)) = self.parts.pop() {
            // The older copy goes first, so that a tile which only the store has is filled where it is.
            drop(old);
            let mut state = self.flights.lock();
            if let Some(tile) = fill(&part, store.get(&part.key)) {
                store.put(part.key.clone(), Arc::new(tile));
            }
            state.give_back(&part);
        }
    }
}

impl Drop for Claims<'_> {
    fn drop(&mut self) {
        let mut state = self.flights.lock();
        self.parts.drain(..).for_each(|(part, _)| state.give_back(&part));
        drop(state);
        self.flights.wake.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Interval;
    use crate::tiles::memory::MemoryStore;

    fn part(number: i64, from: i64, to: i64) -> Part {
        let key = TileKey { series: "t0".into(), number: vec![number] };
        Part { key, region: vec![Interval::closed(from, to - 1).expect("small")] }
    }

    fn filled(part: &Part, tile: Option<Arc<Tile>>) -> Option<Tile> {
        let tile = tile.map(Arc::unwrap_or_clone);
        let mut tile = tile.or_else(|| Tile::empty(vec![Interval::closed(0, 9).expect("small")], 1))?;
        tile.fill(&part.region, &[7; 10]);
        Some(tile)
    }

    /// How many of some parts are found, claimed and busy.
    #[track_caller]
    fn check(sorted: &Sorted<'_>, expect: [usize; 3]) {
        assert_eq!([sorted.found.len(), sorted.claims.parts().len(), sorted.busy.len()], expect);
    }

    #[test]
    fn a_part_is_claimed_once_and_found_when_it_has_landed() {
        let (flights, store) = (Flights::default(), MemoryStore::new(1 << 20));
        let first = flights.sort(vec![part(0, 0, 10), part(1, 0, 4)], &store);
        check(&first, [0, 2, 0]);
        // The rest of tile 1 is nobody's.
        let second = flights.sort(vec![part(0, 3, 5), part(1, 4, 10), part(2, 0, 1)], &store);
        check(&second, [0, 2, 1]);
        first.claims.land(&store, filled);
        second.claims.land(&store, filled);
        let third = flights.sort(vec![part(0, 0, 10), part(1, 0, 10), part(2, 0, 2)], &store);
        check(&third, [2, 1, 0]);
    }

    #[test]
    fn claims_that_are_dropped_can_be_claimed_by_who_waits() {
        let (flights, store) = (Flights::default(), MemoryStore::new(1 << 20));
        let first = flights.sort(vec![part(0, 0, 10)], &store);
        let second = flights.sort(vec![part(0, 0, 2)], &store);
        check(&second, [0, 0, 1]);
        flights.wait(&second);
        drop(first);
        flights.wait(&second);
        check(&flights.sort(vec![part(0, 0, 2)], &store), [0, 1, 0]);
        assert!(flights.lock().claimed.is_empty());
    }
}
