//! Many connections for some seconds: only answers that are meant, memory that stays, and a page that lives.

use super::client::{Serving, get};
use super::started;
use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

const CONNECTIONS: i64 = 64;
const LASTS: Duration = Duration::from_secs(3);
/// Engines keep 384 MiB of tiles at the most; the rest is the program and what is on its way.
const MOST_BYTES: u64 = 1 << 30;

#[test]
fn many_clients_get_only_answers_that_are_meant() {
    let (_folder, serving) = started();
    let (port, end) = (serving.port, Instant::now() + LASTS);
    let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
    std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..CONNECTIONS).map(|number| scope.spawn(move || ask(port, number, end))).collect();
        for client in clients {
            for (status, count) in client.join().expect("clients do not panic") {
                *counts.entry(status).or_default() += count;
            }
        }
    });
    let meant = |status: &u16| matches!(status, 200 | 304 | 400..=499 | 503);
    assert!(counts.keys().all(meant), "{counts:?}");
    assert!(counts.get(&200).is_some_and(|count| *count >= 64), "{counts:?}");
    assert_eq!(serving.get("/").status, 200);
    let bytes = resident(&serving);
    assert!(bytes.is_none_or(|bytes| bytes < MOST_BYTES), "{bytes:?}");
}

/// Asks for this and that until the time is over.
fn ask(port: u16, number: i64, end: Instant) -> BTreeMap<u16, u64> {
    let mut counts = BTreeMap::new();
    let mut turn = number * 1000;
    while Instant::now() < end {
        turn += 1;
        let path = match turn % 7 {
            0 => format!("/tiles/ramp/0/{turn}/{number}.npy"),
            1 => format!("/tiles/ramp/-4/{number}/-{turn}.png"),
            2 => format!("/slice.npy?read=stack[2:5, 0, 0:{}]&set=scale={}", turn % 12, number % 9),
            3 => format!("/zarr/ramp/c/{turn}/{number}"),
            4 => "/script".to_owned(),
            5 => format!("/tiles/none/0/0/{turn}.png"),
            _ => "/".to_owned(),
        };
        *counts.entry(get(port, &path, "").status).or_default() += 1;
    }
    counts
}

/// Bytes of memory that the server has, where the system tells.
fn resident(serving: &Serving) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{}/status", serving.child.id())).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
