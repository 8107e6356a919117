//! Memory that is not there, at every tile and everything a task holds: an error, and an engine that goes on.

use crate::{one_by_one, read, turn};
use itp::Engine;
use itp::engine::Builder;
use itp::faults::{Place, Then};

/// Tiles that others read, windows, a recurrence, a variable that is set, a format.
pub(crate) const SCRIPT: &str = "
    tensor base: f32[y: inf, x: inf] = rand(y, x)
    tensor soft: f32[y: inf, x: inf] = sum(dy in -8..=8, dx in -8..=8) base[y + dy, x + dx]
    tensor softer: f32[y: inf, x: inf] = sum(dy in -8..=8, dx in -8..=8) soft[y + dy, x + dx]
    tensor w: f32[y: inf, x: inf] window [16, 16] stride [8, 8] blend mean = soft[y, x] * index(y)
    tensor heat: f32[t: 0..inf, y: 20, x: 20] =
        if t == 0 then base[y, x] else heat.clamp([y, x])[t - 1, y - 1, x] + heat.clamp([y, x])[t - 1, y, x + 1]
    var m: f32[y: inf, x: inf] = 0
    set m[0:20, 0:20] = base[y, x]
    tensor seen: f32[y: inf, x: inf] = m[y, x] * 2
";

/// Reads a slice with the first piece of memory missing, then the second, and so on; gives how many there are.
fn check(builder: &Builder, slice: &str) -> u64 {
    let fresh = || builder.clone().compile(SCRIPT);
    let engine = fresh().unwrap_or_else(|error| panic!("{error}"));
    let whole = read(&engine, slice).unwrap_or_else(|error| panic!("{slice}: {error}")).0;
    let calls = [Then::Well, Then::Worse].map(|then| {
        // Variables and results that are kept are made by the first read.
        let engine = fresh().unwrap_or_else(|error| panic!("{error}"));
        one_by_one(
            Place::Memory,
            then,
            || read(&engine, slice),
            |done| match done {
                Ok((data, _)) => assert!(data == whole, "{slice}: other bits"),
                Err(message) => assert!(message.contains("error[E1005]"), "{slice}: {message}"),
            },
        )
    });
    calls.into_iter().sum()
}

#[test]
fn a_run_without_memory_ends_and_the_engine_goes_on() {
    let _turn = turn();
    let mut calls = 0;
    let builder = Engine::builder().tile([16, 16]);
    let slices = ["softer[0:20, 0:20]", "w[0:20, 0:20]", "heat[3:5, :, :]", "seen[0:30, 0:30]"];
    for (threads, slice) in [1, 3, 2, 1].into_iter().zip(slices) {
        let builder = builder.clone().threads(threads);
        calls += check(&builder.clone().store(0), slice) + check(&builder, slice);
    }
    println!("{calls} times there was no memory");
    assert!(calls > 100, "{calls}");
}
