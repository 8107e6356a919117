//! `itp serve` as programs meet it: every address, and what is refused.

mod browser;
mod client;
mod load;

use crate::folder::Folder;
use client::{Serving, connect, send};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

/// A plane without end, a stack of bounded ones, a parameter, a colour picture, and something slow.
const SCRIPT: &str = r#"
## A ramp.
tensor ramp: f32[y: inf, x: inf] = scale * y + x
param scale = 1000
tensor stack: i32[t: 2..5, y: -3..4, x: 0..10] = 100 * t + 10 * y + x
tensor sheet: f32[c: 3, y: inf, x: inf] = (f32(c) + 1) / 4
tensor line: u8[x: 0..300] = x
view turned = ramp.permute([x, y])
## Takes for ever.
tensor slow: f32[y: inf, x: inf] = sum(i in 0..1000000000) sin(f32(i + x))
output "ramp.png" = ramp[0:8, 0:8] colormap grey range 0..255
"#;

fn started() -> (Folder, Serving) {
    let folder = Folder::with("a.itp", SCRIPT);
    let serving = Serving::start(&folder, &["a.itp"]);
    (folder, serving)
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let (_folder, serving) = started();
    let page = serving.get("/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(
        page.header("content-security-policy").is_some_and(|policy| policy.contains("default-src 'none'"))
    );
    let text = page.text();
    let parts = text.split(['"', '\'']).filter(|part| part.starts_with('/'));
    let mut files: Vec<String> = parts.map(str::to_owned).collect();
    let script = serving.get("/main.js").text();
    files.extend(
        script.split('"').filter(|part| part.starts_with('/') && part.ends_with(".js")).map(str::to_owned),
    );
    assert!(files.len() > 7, "{files:?}");
    for file in files {
        let reply = serving.get(&file);
        assert_eq!(reply.status, 200, "{file}");
        let elsewhere = reply.text().replace("http://www.w3.org/2000/svg", "").contains("://");
        assert!(!elsewhere, "{file} names another server");
    }
}

#[test]
fn the_script_is_described() {
    let (_folder, serving) = started();
    let value = serving.json("/script");
    assert_eq!(value["name"], "a.itp");
    let layers = value["program"]["layers"].as_array().expect("layers are listed");
    let names: Vec<_> = layers.iter().map(|layer| layer["name"].as_str().unwrap_or_default()).collect();
    assert_eq!(names, ["ramp", "stack", "sheet", "line", "slow", "turned"]);
    assert_eq!(layers[0]["doc"], "A ramp.");
    assert_eq!((&layers[0]["colormap"], &layers[0]["range"][1]), (&"grey".into(), &255.0.into()));
    assert_eq!(layers[1]["dims"][0]["lower"], "2");
    assert_eq!(layers[0]["dims"][0]["lower"], serde_json::Value::Null);
    let params = value["program"]["params"].as_array().expect("parameters are listed");
    assert_eq!((&params[0]["name"], &params[0]["value"]), (&"scale".into(), &"1000".into()));
    assert!(serving.get("/graph.svg").text().contains("<svg"));
    assert_eq!(serving.json("/colormaps")["grey"][255], serde_json::json!([255, 255, 255]));
    assert_eq!(serving.json("/script?set=scale=3")["program"]["params"][0]["value"], "3");
}

#[test]
fn the_page_opens_with_the_first_output() {
    let check = |outputs: &str, expect: serde_json::Value| {
        let script = "tensor before: f32[y: inf, x: inf] = y\n\
            tensor s: f32[t: 0..10, c: 3, y: inf, x: 0..64] = y + x + t + c\n\
            view turned = s[:, 1, :, :].permute([t, x, y])\n";
        let folder = Folder::with("a.itp", &format!("{script}{outputs}"));
        let serving = Serving::start(&folder, &["a.itp"]);
        assert_eq!(serving.json("/script")["program"]["opening"], expect, "{outputs}");
    };
    let json = |text: &str| serde_json::from_str(text).expect("it is json");
    check("", serde_json::Value::Null);
    check(
        "output \"a.png\" = s[9, 1, -8:512, :]\noutput \"b.png\" = before[0:8, 0:8]\n",
        json(
            r#"{"layer": "s", "dims": [2, 3], "at": {"0": "9", "1": "1"}, "region": {"2": ["-8", "512"], "3": ["0", "64"]}}"#,
        ),
    );
    // Every second element, and colours.
    check(
        "output \"a.png\" = s[9, :, 10:20:2, :]\n",
        json(
            r#"{"layer": "s", "dims": [1, 2, 3], "at": {"0": "9"}, "region": {"1": ["0", "3"], "2": ["10", "19"], "3": ["0", "64"]}}"#,
        ),
    );
    // A view has coordinates of its own.
    check(
        "output \"a.npy\" = turned[4, 8:16, 0:32]\n",
        json(
            r#"{"layer": "turned", "dims": [1, 2], "at": {"0": "4"}, "region": {"1": ["8", "16"], "2": ["0", "32"]}}"#,
        ),
    );
    // More than a slice.
    check(
        "output \"a.npy\" = before[0:4, 0:4].reshape([2, 8])\n",
        json(r#"{"layer": "before", "dims": [], "at": {}, "region": {}}"#),
    );
}

#[test]
fn tiles_hold_every_so_many_elements() {
    let (_folder, serving) = started();
    let check = |path: &str, shape: &str, origin: &str, first: f32, last: f32| {
        let reply = serving.get(path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        let elements = reply.elements(f32::from_le_bytes);
        let found = (reply.shape(), reply.header("itp-origin"), elements.first(), elements.last());
        assert_eq!(found, (shape.to_owned(), Some(origin), Some(&first), Some(&last)), "{path}");
    };
    check("/tiles/ramp/0/0/0.npy", "(256, 256)", "0,0", 0.0, 255_255.0);
    check("/tiles/ramp/0/-1/-2.npy", "(256, 256)", "-512,-256", -512_256.0, -257_001.0);
    check("/tiles/ramp/-3/1/0.npy", "(256, 256)", "0,256", 2048.0, 2_040_000.0 + 4088.0);
    check("/tiles/ramp/-1/-1/2.npy?size=64", "(64, 64)", "128,-64", 255_872.0, 381_998.0);
    check("/tiles/ramp/0/0/0.npy?set=scale=2", "(256, 256)", "0,0", 0.0, 765.0);
    check("/tiles/ramp/0/0/0.npy?dims=x,y", "(256, 256)", "0,0", 0.0, 255_255.0);
    check("/tiles/turned/0/0/0.npy", "(256, 256)", "0,0", 0.0, 255_255.0);
    check("/tiles/sheet/0/0/0.npy?dims=c,y,x", "(3, 256, 256)", "0,0", 0.25, 0.75);
    let levels = serving.get("/tiles/sheet/0/0/0.npy?dims=c,y,x&range=0..1");
    assert_eq!(levels.shape(), "(3, 256, 256)");
    assert!(String::from_utf8_lossy(&levels.body).contains("'|u1'"));
    assert_eq!([levels.body[levels.body.len() - 3 * 65536], levels.body[levels.body.len() - 1]], [64, 191]);
    // Far from home an f32 is coarse, and still there.
    check("/tiles/ramp/0/3906250000000/0.npy", "(256, 256)", "0,1000000000000000", 1e15, 1e15 + 255_255.0);
}

#[test]
fn neighbours_read_together_are_the_same_bits() {
    let folder = Folder::with(
        "a.itp",
        "tensor start: f32[y: inf, x: inf] = rand(y, x)\n\
         tensor h: f32[t: 0..31, y: inf, x: inf] = if t == 0 then start[y, x]\n\
           else (sum(i in -1..=1, j in -1..=1) h[t - 1, y + i, x + j]) * 0.111\n\
         tensor end: i32[c: 3, y: -5..40, x: 0..90] = 1000 * c + 100 * y + x\n",
    );
    let serving = Serving::start(&folder, &["a.itp"]);
    let tile = |layer: &str, row: i64, column: i64, more: &str| {
        let reply = serving.get(&format!("/tiles/{layer}/-1/{column}/{row}.npy?size=32&{more}"));
        assert_eq!(reply.status, 200, "{}", reply.text());
        (reply.shape(), reply.header("itp-origin").map(str::to_owned), reply.elements(u32::from_le_bytes))
    };
    let (shape, origin, block) = tile("h", -1, 2, "at=t:30&tiles=2,3");
    assert_eq!((shape.as_str(), origin.as_deref()), ("(64, 96)", Some("-32,64")));
    for (row, column) in (0..2).flat_map(|row| (0..3).map(move |column| (row, column))) {
        let (_, _, alone) = tile("h", row - 1, column + 2, "at=t:30");
        let line = |at: usize| (row as usize * 32 + at) * 96 + column as usize * 32;
        let part: Vec<u32> = (0..32).flat_map(|at| block[line(at)..line(at) + 32].to_vec()).collect();
        assert_eq!(part, alone, "tile {row}, {column} of the block");
    }
    // What has an end ends in a block, too.
    let (shape, origin, _) = tile("end", -1, 0, "dims=c,y,x&tiles=3,2");
    assert_eq!((shape.as_str(), origin.as_deref()), ("(3, 22, 45)", Some("-2,0")));
    // A tile says how much more it computes by itself than with its neighbours.
    let alone = |path: &str| {
        let reply = serving.get(path);
        reply.header("itp-alone").and_then(|text| text.parse::<f64>().ok()).expect("a number")
    };
    let wide = alone("/tiles/h/0/0/0.npy?size=32&at=t:30");
    assert_eq!(wide, 3.83, "92 × 92 elements for 32 × 32, 188 × 188 for 128 × 128");
    assert_eq!(alone("/tiles/start/0/0/0.npy?size=32"), 1.0);
    let picture = serving.get("/tiles/start/0/0/0.png?size=32&tiles=2,3");
    assert_eq!((picture.status, &picture.body[16..24]), (200, &[0, 0, 0, 96, 0, 0, 0, 64][..]));
}

#[test]
fn tiles_end_where_the_layer_does() {
    let (_folder, serving) = started();
    let check = |path: &str, shape: &str, origin: &str, ends: Option<(i32, i32)>| {
        let reply = serving.get(path);
        let elements = reply.elements(i32::from_le_bytes);
        let found = elements.first().copied().zip(elements.last().copied());
        assert_eq!(
            (reply.status, reply.shape(), reply.header("itp-origin"), found),
            (200, shape.to_owned(), Some(origin), ends),
            "{path}"
        );
    };
    check("/tiles/stack/0/0/0.npy", "(4, 10)", "0,0", Some((200, 239)));
    check("/tiles/stack/0/0/-1.npy?at=t:4", "(3, 10)", "-3,0", Some((370, 399)));
    check("/tiles/stack/-1/0/-1.npy?at=t:4", "(1, 5)", "-1,0", Some((380, 388)));
    check("/tiles/stack/0/0/0.npy?dims=t,x&at=y:-3", "(3, 10)", "2,0", Some((170, 379)));
    check("/tiles/stack/0/5/0.npy", "(4, 0)", "0,0", None);
    let line = serving.get("/tiles/line/0/1/0.npy");
    assert_eq!((line.shape(), line.header("itp-origin")), ("(1, 44)".to_owned(), Some("0,256")));
}

#[test]
fn pixels_have_one_range_and_nothing_where_nothing_is() {
    let (_folder, serving) = started();
    for path in [
        "/tiles/ramp/0/0/0.png",
        "/tiles/ramp/-8/-1/-1.png",
        "/tiles/ramp/5/-7/3.png?colormap=turbo&range=-9..9",
        "/tiles/stack/0/9/9.png",
        "/tiles/sheet/0/0/0.png?dims=c,y,x",
        "/tiles/turned/0/0/0.png",
        "/tiles/line/0/0/0.png",
    ] {
        let reply = serving.get(path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        assert!(reply.body.starts_with(b"\x89PNG"), "{path}");
    }
}

#[test]
fn any_slice_can_be_had() {
    let (_folder, serving) = started();
    let reply = serving.get("/slice.npy?read=ramp[-1:1, 3:9:3]");
    assert_eq!((reply.status, reply.shape()), (200, "(2, 2)".to_owned()));
    assert_eq!(reply.elements(f32::from_le_bytes), [-997.0, -994.0, 3.0, 6.0]);
    let reply = serving.get("/slice.npy?read=stack[t=3, y=0, x=:]&set=scale=7");
    assert_eq!((reply.status, reply.shape()), (200, "(10,)".to_owned()));
}

#[test]
fn layers_are_zarr_arrays() {
    let (_folder, serving) = started();
    assert_eq!(serving.json("/zarr/zarr.json")["node_type"], "group");
    let ramp = serving.json("/zarr/ramp/zarr.json");
    assert_eq!(ramp["shape"], serde_json::json!([1u64 << 48, 1u64 << 48]));
    assert_eq!(ramp["attributes"]["origin"], serde_json::json!([-(1i64 << 47), -(1i64 << 47)]));
    // Chunk 2^40 begins at coordinate 0.
    let chunk = serving.get("/zarr/ramp/c/1099511627776/1099511627776");
    assert_eq!((chunk.status, chunk.body.len()), (200, 128 * 128 * 4));
    assert_eq!(chunk.body[4..8], 1f32.to_le_bytes());
    let stack = serving.json("/zarr/stack/zarr.json");
    assert_eq!(stack["chunk_grid"]["configuration"]["chunk_shape"], serde_json::json!([3, 7, 10]));
    assert_eq!(serving.get("/zarr/stack/c/0/0/0").body[..4], 170i32.to_le_bytes());
    assert_eq!(serving.get("/zarr/line/c/0").body.len(), 128 * 128, "chunks are whole");
    for path in [
        "/zarr/ramp/c/0",
        "/zarr/stack/c/1/0/0",
        "/zarr/none/zarr.json",
        "/zarr/ramp/.zarray",
        "/zarr/ramp/c/-1/0",
    ] {
        assert_eq!(serving.get(path).status, 404, "{path}");
    }
}

#[test]
fn what_a_client_has_is_not_sent_again() {
    let (folder, serving) = started();
    let path = "/tiles/ramp/0/0/0.png";
    let first = serving.get(path);
    let tag = first.header("etag").expect("tiles have tags").to_owned();
    let again = serving.get_with(path, &format!("If-None-Match: {tag}\r\n"));
    assert_eq!((again.status, again.body.len()), (304, 0));
    let other = serving.get_with("/tiles/ramp/0/0/1.png", &format!("If-None-Match: {tag}\r\n"));
    assert_eq!(other.status, 200);
    let port = serving.port;
    let head =
        send(port, &format!("HEAD {path} HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n"));
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), Some(first.body.len().to_string().as_str()));
    folder.write("a.itp", SCRIPT.replace("+ x\n", "- x\n"));
    assert_eq!(serving.json("/news?after=1")["number"], 2);
    assert_eq!(
        serving.get_with(path, &format!("If-None-Match: {tag}\r\n")).status,
        200,
        "it is another script"
    );
}

#[test]
fn only_this_machine_is_answered() {
    let (_folder, serving) = started();
    let port = serving.port;
    let check = |request: &str, expect: u16| {
        let reply = send(port, &request.replace('\n', "\r\n").replace("PORT", &port.to_string()));
        assert_eq!(reply.status, expect, "{request}\n{}", reply.head);
    };
    check("GET / HTTP/1.1\nHost: localhost:PORT\nConnection: close\n\n", 200);
    check("GET / HTTP/1.1\nHost: evil.example\nConnection: close\n\n", 403);
    check("GET / HTTP/1.1\nHost: evil.example:PORT\nConnection: close\n\n", 403);
    check("GET / HTTP/1.0\n\n", 403);
    check(
        "GET /script HTTP/1.1\nHost: 127.0.0.1:PORT\nOrigin: http://evil.example\nConnection: close\n\n",
        403,
    );
    check(
        "GET /script HTTP/1.1\nHost: 127.0.0.1:PORT\nSec-Fetch-Site: cross-site\nConnection: close\n\n",
        403,
    );
    check("POST /script HTTP/1.1\nHost: 127.0.0.1:PORT\nContent-Length: 2\nConnection: close\n\nhi", 405);
    check("DELETE /nothing HTTP/1.1\nHost: 127.0.0.1:PORT\nConnection: close\n\n", 405);
    check("nonsense\n\n", 400);
    let long = format!("GET /{} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n", "a".repeat(1 << 20));
    assert!(matches!(send(port, &long).status, 0 | 414 | 431), "it is too long to be read");
}

#[test]
fn refusals_say_what_to_write() {
    let (_folder, serving) = started();
    for (path, told) in [
        ("/tiles/ramps/0/0/0.png", "there is `ramp`"),
        ("/tiles/nowhere/0/0/0.png", "there is `ramp`, `stack`, `sheet`, `line`, `slow` or `turned`"),
        (
            "/tiles/ramp/far/0/0.png",
            "`far` is not the number of a level: write it like /tiles/height/-4/0/0.png",
        ),
        (
            "/tiles/ramp/0/left/0.png",
            "`left` is not the number of a tile: write it like /tiles/height/0/-3/7.png",
        ),
        ("/tiles/ramp/0/0/0.png?size=100", "only 16, 32, 64, 128, 256, 512"),
        ("/tiles/ramp/0/0/0.png?colormap=jet", "only grey, gray, terrain, viridis"),
    ] {
        let text = serving.get(path).text();
        assert!(text.contains(told), "{path}: {text}");
    }
}

#[test]
fn nonsense_is_refused_and_never_worse() {
    let (_folder, serving) = started();
    let check = |path: &str, expect: u16| {
        let reply = serving.get(path);
        assert_eq!(reply.status, expect, "{path}: {}", reply.text());
    };
    check("/nothing", 404);
    check("/../a.itp", 404);
    check("/%2e%2e/a.itp", 404);
    check("/tiles/none/0/0/0.png", 404);
    check("/tiles/ramp/0/0/0.gif", 400);
    check("/tiles/ramp/0/0/0", 400);
    check("/tiles/ramp/x/0/0.png", 400);
    check("/tiles/ramp/99/0/0.png", 400);
    check("/tiles/ramp/-99/0/0.npy", 400);
    check("/tiles/ramp/1/0/0.npy", 400);
    check("/tiles/ramp/0/99999999999999999999/0.png", 400);
    check("/tiles/ramp/0/9223372036854775807/-9223372036854775808.npy", 200);
    // `1000 * y` leaves 64 bits there, and the language says what it is then.
    check("/tiles/ramp/-60/0/0.npy", 200);
    check("/tiles/ramp/0/0/0.png?size=100", 400);
    check("/tiles/ramp/0/0/0.png?tiles=2", 400);
    check("/tiles/ramp/0/0/0.npy?tiles=0,1", 400);
    check("/tiles/ramp/0/0/0.npy?tiles=1,17", 400);
    check("/tiles/ramp/0/0/0.npy?tiles=-9223372036854775808,9223372036854775807", 400);
    check("/tiles/ramp/0/9223372036854775807/-9223372036854775808.npy?tiles=16,16&size=16", 200);
    check("/tiles/ramp/0/0/0.png?range=1", 400);
    check("/tiles/ramp/0/0/0.png?colormap=plaid", 400);
    check("/tiles/ramp/0/0/0.npy?dims=q", 400);
    check("/tiles/stack/0/0/0.npy?at=t:99", 400);
    check("/tiles/ramp/0/0/0.npy?set=scale", 400);
    check("/tiles/ramp/0/0/0.npy?set=nothing=1", 422);
    check("/tiles/ramp/0/0/0.npy?set=scale=red", 422);
    check("/slice.npy", 400);
    check("/slice.npy?read=ramp[", 422);
    check("/slice.npy?read=ramp", 422);
    check("/slice.npy?read=ramp[0:100000, 0:100000]", 413);
    check("/slice.npy?read=ramp[0:4000000000000000000, 0:4000000000000000000]", 413);
    check("/news?after=x", 200);
}

#[test]
fn who_goes_away_stops_the_computation() {
    let (_folder, serving) = started();
    let wait_for = |running: u64| {
        let end = Instant::now() + Duration::from_secs(20);
        while serving.json("/load")["running"] != running {
            assert!(Instant::now() < end, "{} still run", serving.json("/load"));
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let port = serving.port;
    let mut stream = connect(port);
    let request = format!("GET /tiles/slow/0/0/0.npy HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("the request can be sent");
    wait_for(1);
    drop(stream);
    wait_for(0);
    assert_eq!(serving.get("/tiles/ramp/0/0/0.npy").status, 200);
}

#[test]
fn a_full_queue_says_so_and_quick_addresses_go_on() {
    let folder = Folder::with("a.itp", SCRIPT);
    let serving = Serving::start(&folder, &["a.itp", "--threads", "1"]);
    let port = serving.port;
    let ask = |number: usize| {
        let mut stream = connect(port);
        let request = format!("GET /tiles/slow/0/{number}/0.npy HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("the request can be sent");
        stream
    };
    let mut streams: Vec<_> = (0..60).map(ask).collect();
    let end = Instant::now() + Duration::from_secs(20);
    while serving.json("/load")["waiting"] != 64 {
        assert!(Instant::now() < end, "{}", serving.json("/load"));
        // One by one, since those that come while it is full are refused.
        let missing = 64 - serving.json("/load")["waiting"].as_u64().unwrap_or(0);
        streams.extend((0..missing.min(1)).map(|_| ask(99)));
        std::thread::sleep(Duration::from_millis(20));
    }
    let reply = serving.get("/tiles/ramp/0/0/0.npy");
    assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")));
    assert_eq!(serving.get("/").status, 200);
    drop(streams);
    let end = Instant::now() + Duration::from_secs(20);
    while serving.get("/tiles/ramp/0/0/0.npy").status != 200 {
        assert!(Instant::now() < end, "the queue empties");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn too_many_connections_are_turned_away() {
    let (_folder, serving) = started();
    let streams: Vec<_> = (0..128).map(|_| connect(serving.port)).collect();
    let end = Instant::now() + Duration::from_secs(10);
    while serving.get("/load").status != 503 {
        assert!(Instant::now() < end, "the 129th is turned away");
    }
    drop(streams);
    let end = Instant::now() + Duration::from_secs(10);
    while serving.get("/load").status != 200 {
        assert!(Instant::now() < end, "the next one is let in");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_saved_script_is_read_again_with_its_mistakes() {
    let (folder, serving) = started();
    assert_eq!(serving.json("/news")["number"], 1);
    folder.write("a.itp", "tensor ramp: f32[y: inf, x: inf] = heigth[y, x]\n");
    assert_eq!(serving.json("/news?after=1")["number"], 2);
    let value = serving.json("/script");
    let diagnostic = &value["diagnostics"][0];
    assert_eq!((&diagnostic["code"], &diagnostic["line"]), (&"E0201".into(), &1.into()));
    assert!(diagnostic["text"].as_str().is_some_and(|text| text.contains("heigth") && text.contains("-->")));
    // What ran last is there until the mistake is mended.
    assert_eq!(serving.get("/tiles/stack/0/0/0.npy").status, 200);
    folder.write("a.itp", "tensor other: f32[y: inf, x: inf] = 7\n");
    assert_eq!(serving.json("/news?after=2")["number"], 3);
    assert_eq!(serving.json("/script")["diagnostics"].as_array().map(Vec::len), Some(0));
    assert_eq!(serving.get("/tiles/stack/0/0/0.npy").status, 404);
    assert_eq!(serving.get("/tiles/other/0/0/0.npy").elements(f32::from_le_bytes)[9], 7.0);
}

#[test]
fn a_script_that_never_compiled_is_served_with_its_mistakes() {
    let folder = Folder::with("a.itp", "tensor a: f32[y: inf] = b\n");
    let serving = Serving::start(&folder, &["a.itp"]);
    assert_eq!(serving.get("/").status, 200);
    assert_eq!(serving.json("/script")["diagnostics"][0]["severity"], "error");
    assert_eq!(serving.get("/tiles/a/0/0/0.npy").status, 503);
    folder.itp(&["serve", "missing.itp"]).ends(1).tells("cannot read `missing.itp`");
    folder.itp(&["serve", "-"]).ends(1).tells("standard input cannot be served");
    let port = serving.port.to_string();
    folder.write("b.itp", "tensor b: u8[x: inf] = 1\n");
    folder.itp(&["serve", "b.itp", "--port", &port]).ends(1).tells("cannot be listened on");
}

#[test]
fn inputs_and_files_it_uses_are_watched_too() {
    let folder = Folder::with("lib/mine.itp", "fn twice(a) = 2 * a\n");
    folder.write("in.raw", [1u8, 2, 3]);
    folder.write(
        "a.itp",
        "use \"lib/mine.itp\"\ninput a: u8[x: 3] from \"in.raw\"\ntensor b: u8[x: 3] = twice(a[x])\n",
    );
    let serving = Serving::start(&folder, &["a.itp"]);
    let last = |expect: u8| assert_eq!(serving.get("/slice.npy?read=b[0:3]").body.last(), Some(&expect));
    last(6);
    folder.write("in.raw", [1u8, 2, 9]);
    assert_eq!(serving.json("/news?after=1")["number"], 2);
    last(18);
    folder.write("lib/mine.itp", "fn twice(a) = 2 * a + 1\n");
    assert_eq!(serving.json("/news?after=2")["number"], 3);
    last(19);
}

#[test]
#[cfg(unix)]
fn ctrl_c_ends_it_while_it_computes() {
    let (_folder, mut serving) = started();
    let port = serving.port;
    let mut stream = connect(port);
    let request = format!("GET /tiles/slow/0/0/0.npy HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("the request can be sent");
    std::thread::sleep(Duration::from_millis(300));
    let signalled =
        std::process::Command::new("kill").args(["-INT", &serving.child.id().to_string()]).status();
    assert!(signalled.is_ok_and(|status| status.success()));
    let end = Instant::now() + Duration::from_secs(10);
    let status = loop {
        if let Some(status) = serving.child.try_wait().expect("the server can be waited for") {
            break status;
        }
        assert!(Instant::now() < end, "it ends soon");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(0));
    let _ = stream.read(&mut [0; 1]);
}
