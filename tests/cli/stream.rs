//! `itp stream` and scripts with streams: bytes in, tiles out, whatever comes in between.

use crate::folder::Folder;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SHAPE: [&str; 6] = ["--shape", "0,5,7", "--type", "u16", "--tile", "2,2,3"];

/// Frames of 5×7 u16 elements that count up.
fn frames(count: u16) -> Vec<u8> {
    (0..count * 35).flat_map(|value| value.to_le_bytes()).collect()
}

fn stream(folder: &Folder, more: &[&str], bytes: &[u8]) -> crate::folder::Ran {
    let args: Vec<&str> = ["stream"].iter().chain(&SHAPE).chain(more).copied().collect();
    folder.itp_fed(&args, bytes)
}

/// What `itp run --read` says an array in a folder holds, as raw bytes.
fn read_back(folder: &Folder, array: &str, shape: &str) -> Vec<u8> {
    folder.write(
        "back.itp",
        format!("input a: u16[{shape}] from \"{array}\"\noutput \"back.raw\" = a[:, :, :]\n"),
    );
    folder.itp(&["run", "back.itp", "-q"]).ends(0).silent();
    fs::read(folder.path("back.raw")).unwrap()
}

fn metadata(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path.join("zarr.json")).unwrap()).unwrap()
}

#[test]
fn a_stream_becomes_a_zarr_array() {
    for more in [
        &[][..],
        &["--codec", "zstd(3)"],
        &["--codec", "gzip"],
        &["--shard", "4,4,6"],
        &["--threads", "1"],
        &["--shard", "2,6,9", "--codec", "crc32c"],
    ] {
        let folder = Folder::new();
        let args: Vec<&str> = ["--out", "cam.zarr"].iter().chain(more).copied().collect();
        stream(&folder, &args, &frames(5))
            .ends(0)
            .tells("9 tiles of 2×2×3 u16 at once, peak ")
            .tells("5 × 5×7 u16, 350 B");
        assert_eq!(metadata(&folder.path("cam.zarr"))["shape"], serde_json::json!([5, 5, 7]), "{more:?}");
        assert_eq!(read_back(&folder, "cam.zarr", "t: 5, y: 5, x: 7"), frames(5), "{more:?}");
    }
}

#[test]
fn what_is_left_over_is_kept_and_told() {
    let bytes = &frames(3)[..2 * 70 + 11];
    let mut expect = bytes[..150].to_vec();
    expect.resize(210, 0);
    for out in ["cam.zarr", "cam.npy"] {
        let folder = Folder::new();
        stream(&folder, &["--out", out], bytes)
            .ends(0)
            .tells("2 × 5×7 u16, 150 B, and 10 of 70 bytes of one more")
            .tells("without the 1 of 2 bytes of one more element");
        assert_eq!(read_back(&folder, out, "t: 3, y: 5, x: 7"), expect, "{out}");
    }
    let folder = Folder::new();
    stream(&folder, &["--out", "cam.npy"], &bytes[..2 * 70 + 1]).ends(0).tells("2 × 5×7 u16, 140 B, without");
    assert_eq!(read_back(&folder, "cam.npy", "t: 2, y: 5, x: 7"), bytes[..140]);
    let folder = Folder::new();
    let args = ["stream", "--shape", "2,5,7", "--type", "u16", "--tile", "2,2,3", "--out", "cam.zarr"];
    folder.itp_fed(&args, frames(3)).ends(0).tells("more came than `--shape` says");
    assert_eq!(read_back(&folder, "cam.zarr", "t: 2, y: 5, x: 7"), frames(2));
}

#[test]
fn other_files_than_zarr() {
    let folder = Folder::new();
    stream(&folder, &["--out", "cam.npy"], &frames(3)).ends(0).tells("3 × 5×7 u16");
    assert_eq!(read_back(&folder, "cam.npy", "t: 3, y: 5, x: 7"), frames(3));
    stream(&folder, &["--out", "cam.tiles"], &frames(3)).ends(0);
    let about: Value =
        serde_json::from_slice(&fs::read(folder.path("cam.tiles/tiles.json")).unwrap()).unwrap();
    assert_eq!(about["shape"], serde_json::json!([3, 5, 7]));
    let tile = fs::read(folder.path("cam.tiles/0.2.2.raw")).unwrap();
    let expect: Vec<u8> =
        [34u16, 0, 0, 0, 0, 0, 69, 0, 0, 0, 0, 0].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(tile, expect);
}

#[test]
fn a_folder_has_the_tiles_that_the_last_frame_ended_before() {
    let folder = Folder::new();
    stream(&folder, &["--out", "cam.tiles"], &frames(3)[..2 * 70 + 2]).ends(0);
    let tiles = |at: &str| fs::read(folder.path(&format!("cam.tiles/1.{at}.raw"))).unwrap();
    assert_eq!(tiles("0.0")[..4], [70, 0, 0, 0]);
    for at in ["0.1", "0.2", "1.0", "2.2"] {
        assert_eq!(tiles(at), [0; 24], "{at}");
    }
    assert_eq!(fs::read_dir(folder.path("cam.tiles")).unwrap().count(), 2 * 9 + 1);
}

#[test]
fn fewer_frames_than_were_said_are_told() {
    let folder = Folder::new();
    let args = ["stream", "--shape", "4,5,7", "--type", "u16", "--tile", "2,2,3", "--out", "cam.zarr"];
    folder
        .itp_fed(&args, frames(3))
        .ends(0)
        .tells("3 × 5×7 u16, 210 B, 9 tiles incomplete, fewer than the 4 that");
    assert_eq!(metadata(&folder.path("cam.zarr"))["shape"], serde_json::json!([3, 5, 7]));
    let args = [&args[..8], &["cam.npy"]].concat();
    folder.itp_fed(&args, &frames(4)[..4 * 70 - 2]).ends(0).tells("3 × 5×7 u16, 278 B, and 68 of 70 bytes");
}

#[test]
fn a_file_is_streamed_too_and_wrong_lines_are_refused() {
    let folder = Folder::new();
    fs::write(folder.path("frames.raw"), frames(4)).unwrap();
    stream(&folder, &["--out", "cam.zarr", "--in", "frames.raw"], &[]).ends(0).tells("4 × 5×7");
    stream(&folder, &["--out", "cam.zarr"], &[])
        .ends(1)
        .tells("is there already, and a stream replaces nothing");
    stream(&folder, &["--out", "cam.png"], &[]).ends(2).tells("must end in .zarr, .tiles or .npy");
    stream(&folder, &["--out", "a.npy", "--codec", "zstd"], &[]).ends(2).tells("are for zarr arrays");
    stream(&folder, &["--out", "a.zarr", "--codec", "lz9"], &[]).ends(2).tells("a codec is one of");
    stream(&folder, &["--out", "a.zarr", "--shard", "3,2,3"], &[]).ends(1).tells("do not divide");
    stream(&folder, &["--out", "a.zarr", "--pyramid", "mean"], &[]).ends(1).tells("which cannot be halved");
    stream(&folder, &["--out", "a.zarr", "--memory", "1K"], &[])
        .ends(1)
        .tells("at its peak, but the limit is 1024");
    stream(&folder, &["--out", "a.zarr", "--in", "nowhere.raw"], &[])
        .ends(1)
        .tells("`nowhere.raw` cannot be read");
    assert!(!folder.path("a.zarr").exists());
}

#[test]
fn a_pyramid_is_made_on_the_way() {
    let folder = Folder::new();
    let args = [
        "stream",
        "--shape",
        "0,4,6",
        "--type",
        "u8",
        "--tile",
        "1,2,2",
        "--out",
        "cam.zarr",
        "--pyramid",
        "mean",
    ];
    let bytes: Vec<u8> = (0..48).collect();
    folder.itp_fed(&args, &bytes).ends(0);
    let group = metadata(&folder.path("cam.zarr"));
    assert_eq!(group["attributes"]["ome"]["multiscales"][0]["datasets"].as_array().unwrap().len(), 3);
    assert_eq!(metadata(&folder.path("cam.zarr/1"))["shape"], serde_json::json!([2, 2, 3]));
    assert_eq!(metadata(&folder.path("cam.zarr/2"))["shape"], serde_json::json!([2, 1, 2]));
    let script = "input a: u8[t: 2, y: 2, x: 3] from \"cam.zarr/1\"\ninput b: u8[t: 2, y: 1, x: 2] from \"cam.zarr/2\"\n\
                  output \"a.raw\" = a[:, :, :]\noutput \"b.raw\" = b[:, :, :]\n";
    folder.write("back.itp", script);
    folder.itp(&["run", "back.itp", "-q"]).ends(0).silent();
    let mean = |values: [u8; 4]| (values.iter().map(|value| u32::from(*value)).sum::<u32>() / 4) as u8;
    let first: Vec<u8> = (0..12u8)
        .map(|at| (at / 6 * 24) + (at % 6 / 3) * 12 + (at % 3) * 2)
        .map(|at| mean([at, at + 1, at + 6, at + 7]))
        .collect();
    assert_eq!(fs::read(folder.path("a.raw")).unwrap(), first);
    let second = [
        mean([first[0], first[1], first[3], first[4]]),
        ((u32::from(first[2]) + u32::from(first[5])) / 2) as u8,
    ];
    assert_eq!(fs::read(folder.path("b.raw")).unwrap()[..2], second);
}

/// A process of the binary with a pipe into it.
pub(crate) fn begun(folder: &Folder, args: &[&str]) -> std::process::Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_itp"));
    command
        .args(args)
        .current_dir(folder.path("."))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command.spawn().unwrap()
}

pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what} takes too long");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_signal_ends_the_stream_as_its_end_would() {
    let folder = Folder::new();
    let args: Vec<&str> = ["stream"].iter().chain(&SHAPE).chain(&["--out", "cam.zarr"]).copied().collect();
    let mut child = begun(&folder, &args);
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(&frames(3)).unwrap();
    pipe.flush().unwrap();
    let array = folder.path("cam.zarr");
    wait_until("the first epoch", || array.join("zarr.json").exists() && metadata(&array)["shape"][0] == 2);
    let pid = i32::try_from(child.id()).unwrap();
    #[expect(unsafe_code, reason = "the system call has no safe form")]
    let sent = unsafe { libc::kill(pid, libc::SIGINT) };
    assert_eq!(sent, 0);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(pipe);
    assert_eq!(read_back(&folder, "cam.zarr", "t: 3, y: 5, x: 7"), frames(3));
    let tmp = |path: &Path| path.extension().is_some_and(|ending| ending == "tmp");
    assert!(fs::read_dir(&array).unwrap().all(|entry| !tmp(&entry.unwrap().path())));
}

/// A stream that waits for a connection, what it says besides, and where.
fn listening(folder: &Folder) -> (std::process::Child, std::process::ChildStderr, String) {
    let args: Vec<&str> =
        ["stream"].iter().chain(&SHAPE).chain(&["--out", "cam.zarr", "--port", "0"]).copied().collect();
    let mut child = begun(folder, &args);
    let mut told = String::new();
    let mut errors = child.stderr.take().unwrap();
    let mut byte = [0];
    while !told.contains("127.0.0.1:") || !told.ends_with('\n') {
        assert_eq!(errors.read(&mut byte).unwrap(), 1, "{told}");
        told.push(char::from(byte[0]));
    }
    let address = told.lines().last().and_then(|line| line.rsplit(' ').next()).unwrap().to_owned();
    (child, errors, address)
}

#[test]
fn a_socket_is_a_source() {
    let folder = Folder::new();
    let (mut child, _errors, address) = listening(&folder);
    let mut socket = TcpStream::connect(address).unwrap();
    frames(4).chunks(13).for_each(|part| socket.write_all(part).unwrap());
    drop(socket);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(read_back(&folder, "cam.zarr", "t: 4, y: 5, x: 7"), frames(4));
}

/// Ends a connection as a program that crashes does: the other side is told that it broke.
fn reset(socket: TcpStream) {
    use std::os::fd::AsRawFd;
    let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
    let size = size_of::<libc::linger>() as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_LINGER);
    #[expect(unsafe_code, reason = "the system call has no safe form")]
    let set =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const at_once).cast(), size) };
    assert_eq!(set, 0);
}

#[test]
fn a_connection_that_breaks_keeps_what_came() {
    let folder = Folder::new();
    let (mut child, mut errors, address) = listening(&folder);
    let mut socket = TcpStream::connect(address).unwrap();
    socket.write_all(&frames(3)).unwrap();
    let array = folder.path("cam.zarr");
    wait_until("the first epoch", || metadata(&array)["shape"][0] == 2);
    reset(socket);
    let mut told = String::new();
    errors.read_to_string(&mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{told}");
    assert!(told.contains("3 × 5×7 u16") && told.contains("cannot be read"), "{told}");
    assert_eq!(read_back(&folder, "cam.zarr", "t: 3, y: 5, x: 7"), frames(3));
}

const CALM: &str = "input cam: u16[t: 0..inf, y: 5, x: 7] from stream
tensor step: u16[t: 1..inf, y: 5, x: 7] = cam[t, y, x] - cam[t - 1, y, x]
output \"step.zarr\" = step[1:, :, :] chunk [4, 5, 7]
output \"cam.npy\" = cam[0:, 0:5, 0:7]
output \"first.npy\" = cam[0:3, :, :]
";

#[test]
fn a_script_runs_on_a_stream() {
    for engine in ["jit", "interp"] {
        let folder = Folder::with("calm.itp", CALM);
        let args = ["run", "calm.itp", "--engine", engine];
        folder
            .itp_fed(&args, frames(11))
            .ends(0)
            .tells("peak ")
            .tells("step.zarr: 10 rows")
            .tells("cam.npy: 11 rows");
        assert_eq!(read_back(&folder, "step.zarr", "t: 10, y: 5, x: 7"), 35u16.to_le_bytes().repeat(350));
        assert_eq!(read_back(&folder, "cam.npy", "t: 11, y: 5, x: 7"), frames(11));
        assert_eq!(read_back(&folder, "first.npy", "t: 3, y: 5, x: 7"), frames(3));
    }
    let folder = Folder::with("calm.itp", CALM);
    folder
        .itp_fed(&["run", "calm.itp"], frames(2))
        .ends(1)
        .tells("error[E1010]: the stream `cam` ended before frame 2");
    folder.itp(&["check", "calm.itp"]).ends(0);
    folder.write("none.itp", "tensor a: u8[x: 0..inf] = x\noutput \"a.npy\" = a[0:]\n");
    folder.itp(&["run", "none.itp"]).ends(1).tells("error[E0802]");
}

/// Blocks of a page in a language, with the text before the first line break of each block's own.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let starts = page.split("\n```").skip(1).step_by(2);
    let of = |block: &str| block.strip_prefix(language)?.strip_prefix('\n').map(str::to_owned);
    starts.filter_map(of).collect()
}

#[test]
fn the_page_about_streams_keeps_its_word() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/stream.md")).unwrap();
    let scripts = blocks(&page, "itp");
    let folder = Folder::with("moved.itp", &scripts[0]);
    folder.write("slow.itp", &scripts[1]);
    folder.write("bright.itp", &scripts[2]);
    let binary = Path::new(env!("CARGO_BIN_EXE_itp")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let commands = blocks(&page, "sh");
    assert_eq!(commands.len(), 6);
    for command in commands {
        let ran = Command::new("sh")
            .args(["-e", "-c", &command])
            .env("PATH", &path)
            .current_dir(folder.path("."))
            .output();
        let ran = ran.unwrap();
        assert!(ran.status.success(), "{command}\n{}", String::from_utf8_lossy(&ran.stderr));
    }
    assert_eq!(metadata(&folder.path("moved.zarr"))["shape"], serde_json::json!([4, 256, 320]));
    assert_eq!(metadata(&folder.path("moving.zarr"))["shape"], serde_json::json!([5, 256, 320]));
    assert_eq!(
        metadata(&folder.path("bright.zarr"))["attributes"]["itp"]["origin"],
        serde_json::json!([0, -128, -160])
    );
    assert_eq!(metadata(&folder.path("levels.zarr/3"))["shape"], serde_json::json!([5, 32, 40]));
}

#[test]
fn a_pyramid_of_a_stream_that_ends_early_has_all_that_came() {
    let folder = Folder::new();
    // 16 columns in tiles of 2: levels of 16, 8, 4 and 2 columns. The stream ends after one of four tiles of level 2.
    let args = ["stream", "--shape", "0,2,16", "--type", "u8", "--tile", "2,2,2", "--out", "cam.zarr"];
    let bytes = [7; 32 + 8];
    folder
        .itp_fed(&[&args[..], &["--pyramid", "max"]].concat(), bytes)
        .ends(0)
        .tells("8 of 32 bytes of one more");
    let script = "input a: u8[t: 2, y: 1, x: 8] from \"cam.zarr/1\"\ninput b: u8[t: 2, y: 1, x: 4] from \"cam.zarr/2\"\n\
                  input c: u8[t: 2, y: 1, x: 2] from \"cam.zarr/3\"\n\
                  output \"a.raw\" = a[:, :, :]\noutput \"b.raw\" = b[:, :, :]\noutput \"c.raw\" = c[:, :, :]\n";
    folder.write("back.itp", script);
    folder.itp(&["run", "back.itp", "-q"]).ends(0).silent();
    assert_eq!(fs::read(folder.path("a.raw")).unwrap(), [[7; 8], [7, 7, 7, 7, 0, 0, 0, 0]].concat());
    assert_eq!(fs::read(folder.path("b.raw")).unwrap(), [[7; 4], [7, 7, 0, 0]].concat());
    assert_eq!(fs::read(folder.path("c.raw")).unwrap(), [7, 7, 7, 0]);
}

#[test]
fn outputs_of_different_rates_go_side_by_side() {
    // `wide` has one row for 64 of `small`: frames between them must not pile up, and none may be forgotten too early.
    let script = "input cam: u8[t: 0..inf, x: 64] from stream
tensor small: u8[t: 0..inf] = cam[2 * t + 1, 0]
tensor wide: u8[t: 1..inf, y: 4000, x: 64] = cam[t - 1, x] + u8(y)
output \"small.npy\" = small[0:]
output \"wide.npy\" = wide[1:, :, :]
";
    let folder = Folder::with("rates.itp", script);
    let bytes: Vec<u8> = (0..100u8).flat_map(|frame| [frame; 64]).collect();
    folder
        .itp_fed(&["run", "rates.itp"], [&bytes[..], &[1; 63]].concat())
        .ends(0)
        .tells("rates.itp: `cam` ended with 63 of 64 bytes of one more frame, which are left out")
        .tells("small.npy: 50 rows")
        .tells("wide.npy: 100 rows");
    let small = fs::read(folder.path("small.npy")).unwrap();
    assert_eq!(small[small.len() - 50..], (0..50).map(|row| 2 * row + 1).collect::<Vec<u8>>());
    let wide = fs::read(folder.path("wide.npy")).unwrap();
    assert_eq!(wide[wide.len() - 64..], [99u8.wrapping_add(3999u16 as u8); 64]);
}

/// A running average, a recurrence that reads it two steps apart and turned, and a map of that.
const SLOW: &str = "input cam: u8[t: 0..inf, x: 5] from stream
tensor slow: f32[t: 0..inf, x: 5] = if t == 0 then f32(cam[t, x]) else 0.9 * slow[t - 1, x] + f32(cam[t, x])
tensor turn: f32[t: 0..inf, x: 5] = if t < 2 then slow[t, x] else slow[t, x] - turn[t - 2, 4 - x]
tensor step: f32[t: 1..inf, x: 5] = turn[t, x] - turn[t - 1, x] + f32(cam[t, x])
output \"slow.npy\" = slow[0:, :]
output \"step.npy\" = step[1:, :]
output \"third.npy\" = slow[2:3, :]
";

#[test]
fn a_recurrence_goes_on_with_its_stream() {
    let count = 150;
    let cam = |t: usize, x: usize| (7 * t + 13 * x) % 251;
    let mut slow: Vec<[f32; 5]> = Vec::new();
    let mut turn: Vec<[f32; 5]> = Vec::new();
    for t in 0..count {
        let own = |x: usize| cam(t, x) as f32;
        slow.push(std::array::from_fn(|x| match t {
            0 => own(x),
            _ => 0.9f32.mul_add(slow[t - 1][x], own(x)),
        }));
        turn.push(std::array::from_fn(|x| if t < 2 { slow[t][x] } else { slow[t][x] - turn[t - 2][4 - x] }));
    }
    let step: Vec<[f32; 5]> =
        (1..count).map(|t| std::array::from_fn(|x| turn[t][x] - turn[t - 1][x] + cam(t, x) as f32)).collect();
    let bytes: Vec<u8> = (0..count).flat_map(|t| (0..5).map(move |x| cam(t, x) as u8)).collect();
    for engine in ["jit", "interp"] {
        let folder = Folder::with("slow.itp", SLOW);
        let ran = folder.itp_fed(&["run", "slow.itp", "--engine", engine], [&bytes[..], &[1, 2]].concat());
        ran.ends(0).tells("slow.npy: 150 rows").tells("step.npy: 149 rows").tells("2 of 5 bytes of one more");
        let holds = |file: &str, rows: &[[f32; 5]]| {
            let rows: Vec<u8> = rows.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
            let found = fs::read(folder.path(file)).unwrap();
            assert_eq!(found[found.len() - rows.len()..], rows, "{file} by {engine}");
        };
        holds("slow.npy", &slow);
        holds("step.npy", &step);
        holds("third.npy", &slow[2..3]);
    }
    let folder = Folder::with("slow.itp", &SLOW.replace("output \"third.npy\" = slow[2:3, :]\n", ""));
    folder.itp_fed(&["run", "slow.itp"], [1, 2, 3]).ends(0).tells("slow.npy: 0 rows");
}

#[test]
fn what_needs_more_and_more_frames_is_refused_before_the_first() {
    // A step of it has no end along x, so it is computed from the first step on.
    let script = "input cam: u8[t: 0..inf, x: 64] from stream
tensor slow: f32[t: 0..inf, x: inf] = if t == 0 then 0 else slow[t - 1, x + 1] + f32(cam.clamp([x])[t, x])
output \"slow.npy\" = slow[0:, 0:64]
";
    let folder = Folder::with("slow.itp", script);
    folder
        .itp_fed(&["run", "slow.itp"], [0; 4096])
        .ends(1)
        .tells("error[E1010]: `slow` needs more and more of its streams");
    let two = "input a: u8[t: 0..inf] from stream\ninput b: u8[t: 0..inf] from stream
tensor c: u8[t: 0..inf] = a[t] + b[t]\noutput \"c.npy\" = c[0:]\n";
    folder.write("two.itp", two);
    folder
        .itp_fed(&["run", "two.itp"], [1, 2, 3])
        .ends(1)
        .tells("error[E1001]: `b` and `a` cannot both come from standard input");
    fs::write(folder.path("b.raw"), [10, 20, 30, 40]).unwrap();
    folder.itp_fed(&["run", "two.itp", "--bind", "b=b.raw"], [1, 2, 3]).ends(0).tells("c.npy: 3 rows");
    let sum = fs::read(folder.path("c.npy")).unwrap();
    assert_eq!(sum[sum.len() - 3..], [11, 22, 33]);
}

#[test]
fn waiting_for_a_connection_ends_at_a_signal() {
    let folder =
        Folder::with("calm.itp", "input cam: u8[t: 0..inf] from stream\noutput \"a.npy\" = cam[0:]\n");
    let mut child = begun(&folder, &["run", "calm.itp", "--bind", "cam=tcp:0"]);
    let (mut told, mut byte) = (String::new(), [0]);
    let mut errors = child.stderr.take().unwrap();
    while !told.contains("peak ") {
        assert_eq!(errors.read(&mut byte).unwrap(), 1, "{told}");
        told.push(char::from(byte[0]));
    }
    assert!(told.contains("waiting for a connection to 127.0.0.1:"), "{told}");
    let pid = i32::try_from(child.id()).unwrap();
    #[expect(unsafe_code, reason = "the system call has no safe form")]
    let sent = unsafe { libc::kill(pid, libc::SIGTERM) };
    assert_eq!(sent, 0);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(folder.path("a.npy").exists());
}

#[test]
fn standard_input_may_be_a_file_from_anywhere_on() {
    let folder = Folder::new();
    folder.write("frames.raw", frames(5));
    let mut file = fs::File::open(folder.path("frames.raw")).unwrap();
    file.read_exact(&mut [0; 70]).unwrap();
    let args: Vec<&str> = ["stream"].iter().chain(&SHAPE).chain(&["--out", "cam.zarr"]).copied().collect();
    assert!(folder.command(&args).stdin(file).stderr(Stdio::null()).status().unwrap().success());
    assert_eq!(read_back(&folder, "cam.zarr", "t: 4, y: 5, x: 7"), frames(5)[70..]);
}

#[test]
fn a_stream_of_single_elements_is_told_as_such() {
    let folder = Folder::new();
    let args = ["stream", "--shape", "0", "--type", "u8", "--tile", "3", "--out", "cam.zarr"];
    folder.itp_fed(&args, [7; 8]).ends(0).tells("cam.zarr: 8 u8, 8 B, 1 tiles incomplete");
}

#[test]
fn a_stream_that_cannot_begin_leaves_nothing() {
    let folder = Folder::new();
    fs::create_dir(folder.path("frames")).unwrap();
    stream(&folder, &["--out", "cam.zarr", "--in", "frames"], &[]).ends(1).tells("it is a folder");
    let large =
        ["stream", "--shape", "0,4611686018427387904", "--type", "u8", "--tile", "1,4611686018427387904"];
    let args: Vec<&str> = large.iter().chain(&["--out", "cam.zarr"]).copied().collect();
    folder.itp_fed(&args, []).ends(1).tells("bytes of memory, more than there is");
    assert!(!folder.path("cam.zarr").exists());
    stream(&folder, &["--out", "nowhere/cam.zarr"], &[])
        .ends(1)
        .tells("there is no folder `nowhere`")
        .tells("create `nowhere` first");
}

#[test]
fn a_chunk_that_is_there_is_not_written_over() {
    let folder = Folder::new();
    fs::create_dir(folder.path("cam.zarr")).unwrap();
    let args: Vec<&str> = ["stream"].iter().chain(&SHAPE).chain(&["--out", "cam.zarr"]).copied().collect();
    let mut child = begun(&folder, &args);
    wait_until("the array is there", || folder.path("cam.zarr/zarr.json").exists());
    folder.write("cam.zarr/c/0/0/0", "precious");
    child.stdin.take().unwrap().write_all(&frames(2)).unwrap();
    assert!(!child.wait().unwrap().success());
    assert_eq!(fs::read(folder.path("cam.zarr/c/0/0/0")).unwrap(), b"precious");
}

#[test]
fn zarr_arrays_may_be_larger_than_memory() {
    let script = "tensor a: u8[t: inf, y: inf, x: inf] = u8(3 * t + y + x)
output \"a.zarr\" = a[-64:64, 0:256, 0:256] chunk [1, 256, 256] codec crc32c
";
    let folder = Folder::with("write.itp", script);
    // 8 MiB of elements.
    folder.itp(&["run", "write.itp", "--memory", "10M"]).ends(0).tells("a.zarr  128×256×256 u8");
    folder.write(
        "read.itp",
        "input a: u8[t: -64..64, y: 256, x: 256] from \"a.zarr\"
tensor wrong: i64[t: -64..64] = sum(y in 0..256, x in 0..256) i64(a[t, y, x] != u8(3 * t + y + x))
",
    );
    for at in [-64, -1, 63] {
        let slice = format!("wrong[{at}:{}]", at + 1);
        folder.itp(&["run", "read.itp", "--read", &slice, "--memory", "1M"]).ends(0).prints("\n[0]\n");
    }
}

#[test]
fn chunks_of_an_output_that_are_incomplete_at_once_are_in_the_accounts() {
    let script = "tensor a: u8[t: inf, y: inf, x: inf] = u8(t + y + x)
output \"a.zarr\" = a[0:64, 0:256, 0:256] chunk [64, 64, 64]
";
    let folder = Folder::with("write.itp", script);
    folder
        .itp(&["run", "write.itp", "--memory", "7M"])
        .ends(1)
        .tells("error[E1005]: `a.zarr` needs ")
        .tells("4462336 of them for chunks that are incomplete at once, but the limit is 7340032")
        .tells("choose chunks that are shorter along the first dimension");
    assert!(!folder.path("a.zarr").exists());
    folder.itp(&["run", "write.itp", "--stats-json", "stats.json"]).ends(0);
    let stats: Value = serde_json::from_slice(&fs::read(folder.path("stats.json")).unwrap()).unwrap();
    let bytes = |key: &str| stats["bytes"][key].as_u64().unwrap();
    assert!(bytes("peak") >= 2 * (64 << 16) && bytes("peak") <= bytes("peak_planned"), "{stats}");
}
