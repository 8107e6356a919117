//! Many connections for some seconds, slow clients and nonsense among them: only answers that are meant, memory that stays,
//! and a page that lives. Everyday: four seconds. `ITP_LONG=1`: three minutes.

use super::client::{Kept, Serving, connect, get, send_and_wait};
use super::started;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

const CONNECTIONS: i64 = 64;
const SLOW: usize = 24;
/// Engines keep 384 MiB of tiles at the most; the rest is the program and what is on its way.
const MOST_BYTES: u64 = 1 << 30;
/// What memory may grow by in the last two thirds of a long run, when stores are full.
const GROWTH: u64 = 64 << 20;

fn is_long() -> bool {
    std::env::var_os("ITP_LONG").is_some()
}

fn lasts() -> Duration {
    Duration::from_secs(if is_long() { 180 } else { 4 })
}

type Counts = BTreeMap<u16, u64>;

fn add(counts: &mut Counts, more: Counts) {
    more.into_iter().for_each(|(status, count)| *counts.entry(status).or_default() += count);
}

#[test]
fn many_clients_get_only_answers_that_are_meant() {
    let (_folder, serving) = started();
    let (port, end) = (serving.port, Instant::now() + lasts());
    let (mut counts, mut nonsense) = (Counts::new(), Counts::new());
    let early = std::thread::scope(|scope| {
        let clients: Vec<_> =
            (0..CONNECTIONS).map(|number| scope.spawn(move || ask(port, number, end))).collect();
        (0..SLOW).for_each(|number| _ = scope.spawn(move || dawdle(port, number, end)));
        let bad: Vec<_> = (0..4).map(|seed| scope.spawn(move || babble(port, seed, end))).collect();
        let page = scope.spawn(move || look_at_the_page(port, end));
        std::thread::sleep(lasts() / 3);
        let early = resident(&serving);
        clients.into_iter().for_each(|client| add(&mut counts, client.join().expect("clients do not panic")));
        bad.into_iter().for_each(|client| add(&mut nonsense, client.join().expect("clients do not panic")));
        assert!(page.join().expect("it does not panic") < Duration::from_secs(10), "the page is slow");
        early
    });
    println!("{counts:?}, nonsense: {nonsense:?}");
    let meant = |status: &u16| matches!(status, 200 | 304 | 400..=499 | 503);
    assert!(counts.keys().all(meant), "{counts:?}");
    // Who does not speak HTTP may be left without an answer.
    assert!(nonsense.keys().all(|status| meant(status) || *status == 0), "{nonsense:?}");
    assert!(!nonsense.contains_key(&200), "{nonsense:?}");
    assert!(counts.get(&200).is_some_and(|count| *count >= 64), "{counts:?}");
    assert_eq!(serving.get("/").status, 200);
    let late = resident(&serving);
    println!("{early:?} bytes, then {late:?}");
    assert!(late.is_none_or(|bytes| bytes < MOST_BYTES), "{late:?}");
    if is_long() {
        assert!(early.zip(late).is_none_or(|(early, late)| late < early + GROWTH), "{early:?} {late:?}");
    }
}

/// Asks for this and that on one connection until the time is over; sends back tags that it was given.
fn ask(port: u16, number: i64, end: Instant) -> Counts {
    let mut counts = Counts::new();
    let (mut turn, mut tag) = (number * 1000, String::new());
    let mut kept = Kept::connect(port);
    while Instant::now() < end {
        turn += 1;
        let path = match turn % 8 {
            0 => format!("/tiles/ramp/0/{turn}/{number}.npy"),
            1 => format!("/tiles/ramp/-4/{number}/-{turn}.png"),
            2 => format!("/slice.npy?read=stack[2:5,0,0:{}]&set=scale={}", turn % 12, number % 9),
            3 => format!("/zarr/ramp/c/{turn}/{number}"),
            4 => "/script".to_owned(),
            5 => format!("/tiles/none/0/0/{turn}.png"),
            6 => "/tiles/ramp/0/0/0.png".to_owned(),
            _ => "/".to_owned(),
        };
        let more = if turn % 8 == 6 && !tag.is_empty() {
            format!("If-None-Match: {tag}\r\n")
        } else {
            String::new()
        };
        let reply = kept.get(&path, &more);
        if let Some(given) = reply.header("etag").filter(|_| turn % 8 == 6) {
            tag = given.to_owned();
        }
        *counts.entry(reply.status).or_default() += 1;
    }
    counts
}

/// Asks or reads byte by byte.
fn dawdle(port: u16, number: usize, end: Instant) {
    let request =
        format!("GET /slice.npy?read=ramp[0:1500,0:1500] HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    let mut stream = connect(port);
    let mut written = if number.is_multiple_of(2) { request.len() } else { 0 };
    let _ = stream.write_all(&request.as_bytes()[..written]);
    while Instant::now() < end {
        if let Some(byte) = request.as_bytes().get(written) {
            let _ = stream.write_all(&[*byte]);
            written += 1;
        } else if stream.read(&mut [0]).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Says what no client would say, and asks as pages of others would.
fn babble(port: u16, seed: u64, end: Instant) -> Counts {
    let mut counts = Counts::new();
    let mut state = seed;
    while Instant::now() < end {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let (request, refused) = nonsense(port, state >> 33);
        let reply = send_and_wait(port, &request, Duration::from_secs(2));
        assert!(!refused || matches!(reply.status, 403 | 503), "{request:?}: {}", reply.head);
        *counts.entry(reply.status).or_default() += 1;
    }
    counts
}

/// Something to say, and whether it is to be refused for who says it.
fn nonsense(port: u16, number: u64) -> (String, bool) {
    let here = format!("127.0.0.1:{port}");
    let other = |more: String| (format!("GET /script HTTP/1.1\r\n{more}Connection: close\r\n\r\n"), true);
    match number % 10 {
        0 => other("Host: evil.example\r\n".to_owned()),
        1 => other(format!("Host: rebound.example:{port}\r\n")),
        2 => other(format!("Host: {here}\r\nOrigin: http://evil.example\r\n")),
        3 => other(format!("Host: {here}.evil.example\r\n")),
        4 => other(format!("Host: {here}\r\nSec-Fetch-Site: cross-site\r\n")),
        5 => (format!("GET {} HTTP/1.1\r\n\r\n", "/".repeat(number as usize % 5000)), false),
        6 => (format!("POST / HTTP/1.1\r\nHost: {here}\r\nContent-Length: 99999999999\r\n\r\nx"), false),
        7 => (
            format!(
                "GET / HTTP/1.1\r\nHost: {here}\r\n{}\r\n",
                "a: b\r\n".repeat(100 + number as usize % 300)
            ),
            false,
        ),
        8 => (format!("GET /%{number:x} HTTP/9.9\r\n\r\n"), false),
        _ => (number.to_string().repeat(number as usize % 99), false),
    }
}

/// Loads the page again and again; gives how long it took at the most.
fn look_at_the_page(port: u16, end: Instant) -> Duration {
    let mut longest = Duration::ZERO;
    while Instant::now() < end {
        let start = Instant::now();
        assert_eq!(get(port, "/", "").status, 200, "the page is there");
        longest = longest.max(start.elapsed());
        std::thread::sleep(Duration::from_millis(50));
    }
    longest
}

/// A client who takes a byte now and then is sent away, so that its place is free; takes a minute and a half.
#[test]
fn who_reads_byte_by_byte_is_not_waited_for() {
    if !is_long() {
        return;
    }
    let (_folder, serving) = started();
    let mut stream = connect(serving.port);
    let path = "/slice.npy?read=ramp[0:4000,0:4000]";
    let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", serving.port);
    stream.write_all(request.as_bytes()).expect("the request can be sent");
    let (start, mut taken) = (Instant::now(), 0);
    while start.elapsed() < Duration::from_secs(90) {
        taken += stream.read(&mut [0]).expect("what was sent can be read");
        std::thread::sleep(Duration::from_millis(200));
    }
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(taken > 100 && rest.len() < 60_000_000, "{} bytes came although nobody took them", rest.len());
}

/// Bytes of memory that the server has, where the system tells.
fn resident(serving: &Serving) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{}/status", serving.child.id())).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
