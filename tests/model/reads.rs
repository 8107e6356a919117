//! Reads at the same time that want some of the same tiles, as `run/kept.rs` does them.

use crate::tiles::flights::{Claims, Flights, Part};
use crate::tiles::{Tile, TileKey};
use itp::index::Interval;
use itp::tiles::memory::MemoryStore;
use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::atomic::{AtomicU64, Ordering};
use shuttle::thread;
use std::sync::Arc;

const ELEMENTS: i64 = 4;

/// What reads share, and how often each tile was computed.
struct World {
    flights: Flights,
    store: MemoryStore,
    computed: [AtomicU64; 3],
}

fn world() -> Arc<World> {
    let computed = [const { AtomicU64::new(0) }; 3];
    Arc::new(World { flights: Flights::default(), store: MemoryStore::new(1 << 20), computed })
}

fn part(number: i64) -> Part {
    let key = TileKey { series: "t0".into(), number: vec![number] };
    Part { key, region: vec![Interval::closed(0, ELEMENTS - 1).unwrap()] }
}

fn filled(part: &Part, tile: Option<Arc<Tile>>) -> Option<Tile> {
    let tile = tile.map(Arc::unwrap_or_clone);
    let mut tile = tile.or_else(|| Tile::empty(part.region.clone(), 1))?;
    tile.fill(&part.region, &[7; ELEMENTS as usize]);
    Some(tile)
}

/// Reads tiles; gives up when `fails` says so before it computes.
fn read(world: &World, tiles: &[i64], fails: impl Fn() -> bool) {
    let mut wanted: Vec<Part> = tiles.iter().map(|number| part(*number)).collect();
    while !wanted.is_empty() {
        let mut sorted = world.flights.sort(std::mem::take(&mut wanted), &world.store);
        if sorted.claims.parts().is_empty() && sorted.found.is_empty() {
            world.flights.wait(&sorted);
        }
        wanted = std::mem::take(&mut sorted.busy);
        if !compute(world, sorted.claims, &fails) {
            return;
        }
    }
}

/// Computes what was claimed; false if that failed.
fn compute(world: &World, claims: Claims<'_>, fails: &impl Fn() -> bool) -> bool {
    if claims.parts().is_empty() {
        return true;
    }
    thread::yield_now();
    if fails() {
        return false;
    }
    for (part, _) in claims.parts() {
        world.computed[part.key.number[0] as usize].fetch_add(1, Ordering::SeqCst);
    }
    claims.land(&world.store, filled);
    true
}

fn together(world: &Arc<World>, wants: [&'static [i64]; 3], fails: fn() -> bool) {
    let readers = wants.map(|tiles| {
        let world = world.clone();
        thread::spawn(move || read(&world, tiles, fails))
    });
    readers.into_iter().for_each(|reader| reader.join().unwrap());
}

pub(crate) fn each_element_is_computed_once() {
    let world = world();
    together(&world, [&[0, 1], &[1, 2], &[2, 0, 1]], || false);
    let counts = world.computed.each_ref().map(|count| count.load(Ordering::SeqCst));
    assert_eq!(counts, [1, 1, 1]);
    let after = world.flights.sort((0..3).map(part).collect(), &world.store);
    assert_eq!((after.found.len(), after.claims.parts().len(), after.busy.len()), (3, 0, 0));
}

pub(crate) fn who_fails_takes_nobody_along() {
    let world = world();
    together(&world, [&[0, 1], &[1, 2], &[2, 0, 1]], || thread_rng().gen_bool(0.3));
    // Whatever was left is nobody's, and can be had.
    let after = world.flights.sort((0..3).map(part).collect(), &world.store);
    assert_eq!((after.found.len() + after.claims.parts().len(), after.busy.len()), (3, 0));
    assert!(world.computed.iter().all(|count| count.load(Ordering::SeqCst) <= 1));
}

/// Two reads that hold what the other waits for.
pub(crate) fn waiting_with_claims() {
    let world = world();
    let readers = [[0, 1], [1, 0]].map(|tiles| {
        let world = world.clone();
        thread::spawn(move || {
            let first = world.flights.sort(vec![part(tiles[0])], &world.store);
            let mut second = world.flights.sort(vec![part(tiles[1])], &world.store);
            while !second.busy.is_empty() {
                world.flights.wait(&second);
                second = world.flights.sort(vec![part(tiles[1])], &world.store);
            }
            first.claims.land(&world.store, filled);
        })
    });
    readers.into_iter().for_each(|reader| reader.join().unwrap());
}
