//! What is fuzzed: one function of bytes per way in, each of which asserts what holds for every input.

use itp::compile::{Options, compile};
use itp::diagnostic::{Diagnostics, Style, render, to_json};
use itp::graph::modules::NoFiles;
use itp::graph::{TensorKind, types::Element};
use itp::index::Interval;
use itp::io::{Expect, describe, read, read_sparse};
use itp::run::Kind as EngineKind;
use itp::source::Sources;
use itp::syntax::{format, parse, same};
use itp::{Engine, engine};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

/// What the inputs of a target are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Script,
    Slice,
    Npy,
    Png,
    Tiff,
    Npz,
    /// `zarr.json`, a zero byte, and the bytes of every chunk.
    Zarr,
    /// The file of a tile in a store.
    Tile,
    Request,
}

/// A way in.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) run: fn(&[u8]),
}

/// All ways in; one for each loader.
pub(crate) const ALL: &[Target] = &[
    Target { name: "parse", kind: Kind::Script, run: parses },
    Target { name: "format", kind: Kind::Script, run: formats },
    Target { name: "compile", kind: Kind::Script, run: compiles },
    Target { name: "engines", kind: Kind::Script, run: engines_agree },
    Target { name: "slice", kind: Kind::Slice, run: slices },
    Target { name: "npy", kind: Kind::Npy, run: |bytes| loads(bytes, "npy") },
    Target { name: "png", kind: Kind::Png, run: |bytes| loads(bytes, "png") },
    Target { name: "tiff", kind: Kind::Tiff, run: |bytes| loads(bytes, "tif") },
    Target { name: "npz", kind: Kind::Npz, run: loads_sparse },
    #[cfg(feature = "zarr")]
    Target { name: "zarr", kind: Kind::Zarr, run: arrays::loads_array },
    #[cfg(feature = "zarr")]
    Target { name: "store", kind: Kind::Tile, run: arrays::loads_tile },
    #[cfg(feature = "serve")]
    Target { name: "request", kind: Kind::Request, run: requests::answered },
];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Every diagnostic can be shown, wherever it points to.
fn shown(diagnostics: Diagnostics, sources: &Sources) {
    for diagnostic in diagnostics.into_sorted().iter().take(20) {
        assert!(!render(diagnostic, sources, Style::Plain).is_empty());
        assert!(to_json(diagnostic, sources).starts_with('{'));
    }
}

fn parses(bytes: &[u8]) {
    let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
    let id = sources.add("fuzz.itp", text(bytes).as_str());
    parse(&sources, id, &mut diagnostics);
    shown(diagnostics, &sources);
}

/// What is formatted is the same tree, and is formatted already.
fn formats(bytes: &[u8]) {
    let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
    let id = sources.add("fuzz.itp", text(bytes).as_str());
    let Some(once) = format(&sources, id, &mut diagnostics) else { return };
    let again = sources.add("once.itp", once.as_str());
    let mut errors = Diagnostics::default();
    assert_eq!(format(&sources, again, &mut errors).as_deref(), Some(once.as_str()));
    let trees = [id, again].map(|id| parse(&sources, id, &mut Diagnostics::default()));
    assert!(same(&trees[0], &trees[1]), "{once}");
}

fn compiles(bytes: &[u8]) {
    let (mut sources, mut diagnostics) = (Sources::default(), Diagnostics::default());
    let id = sources.add("fuzz.itp", text(bytes).as_str());
    let program = compile(&mut sources, id, &NoFiles, &Options::default(), &mut diagnostics);
    assert_eq!(program.is_none(), diagnostics.has_errors());
    shown(diagnostics, &sources);
}

/// What a corner of a tensor holds; none where that is refused, or takes too long.
fn corner(engine: &Engine, slice: &str) -> Option<Vec<u8>> {
    let cancel = engine::Cancel::default();
    let prepared = engine.prepare(slice).ok()?.stopped_by(&cancel);
    let (done, waits) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if waits.recv_timeout(Duration::from_millis(300))
                == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
            {
                cancel.cancel();
            }
        });
        let read = prepared.read_array().ok().map(|(array, _)| array.data);
        drop(done);
        read
    })
}

/// Both engines give the same bits for the corner of every tensor that needs no data.
fn engines_agree(bytes: &[u8]) {
    let script = text(bytes);
    let built = |kind| Engine::builder().kind(kind).threads(1).memory(32 << 20).compile(&script).ok();
    let (Some(fast), Some(slow)) = (built(EngineKind::Jit), built(EngineKind::Interp)) else { return };
    let tensors = &fast.program().graph.tensors;
    for tensor in tensors.iter().filter(|tensor| !matches!(tensor.kind, TensorKind::Input(_))).take(4) {
        let ranges = tensor.domain.dims().iter().map(|dim| dim.interval);
        let part = |range: Interval| {
            let lo = range.lower().unwrap_or_else(|| range.upper().map_or(-1, |end| end - 2));
            format!("{lo}:{}", range.upper().map_or(lo + 2, |end| end.min(lo + 2)))
        };
        let slice = format!("{}[{}]", tensor.name, ranges.map(part).collect::<Vec<_>>().join(", "));
        if let (Some(fast), Some(slow)) = (corner(&fast, &slice), corner(&slow, &slice)) {
            assert_eq!(fast, slow, "{slice} of\n{script}");
        }
    }
}

fn slices(bytes: &[u8]) {
    static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
        let script = "param n = 4
            tensor a: f32[y: inf, x: inf] = x + y  tensor b: i64[y: 8, x: 8] = x * y
            view v = b.flip([x])  view w = a[3, :].implicit([x])";
        Engine::builder().memory(1 << 20).compile(script).unwrap()
    });
    let Ok(prepared) = ENGINE.prepare(&text(bytes)) else { return };
    let elements: i64 = prepared.shape().iter().product();
    let (array, _) = prepared.read_array().unwrap();
    assert_eq!(array.elements() as i64, elements);
}

/// A file with these bytes, which are overwritten by the next.
fn file(bytes: &[u8], ending: &str) -> PathBuf {
    let thread = format!("{:?}", std::thread::current().id()).replace(['(', ')'], "");
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{thread}.{ending}"));
    std::fs::write(&path, bytes).unwrap();
    path
}

/// What a file says that it is, it is, or an error.
fn loads(bytes: &[u8], ending: &str) {
    loads_path(&file(bytes, ending));
}

fn loads_path(path: &Path) {
    /// What nothing but fill values can be: larger files would only take time.
    const LARGEST: i64 = 1 << 26;
    let Ok((element, shape)) = describe(path) else { return };
    let count = shape.iter().try_fold(element.bytes() as i64, |count, size| count.checked_mul(*size));
    if count.is_some_and(|count| count > LARGEST) {
        return;
    }
    if let Ok(array) = read(path, &Expect { element, shape: &shape }) {
        assert_eq!(Some(array.data.len() as i64), count);
    }
}

fn loads_sparse(bytes: &[u8]) {
    let path = file(bytes, "npz");
    if let Ok(found) = read_sparse(&path, &Expect { element: Element::I64, shape: &[8, 8] }) {
        assert_eq!(found.values.len(), found.at.len() * 8);
        assert!(found.at.iter().all(|at| *at < 64));
    }
}

#[cfg(feature = "zarr")]
pub(crate) mod arrays {
    //! Folders of chunks, and a store with one tile.

    use itp::graph::types::Element;
    use itp::index::Interval;
    use itp::io::store::{SeriesAbout, SeriesFolder, StoreFolder, StoredTile};
    use itp::tiles::Tile;
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::sync::{LazyLock, Mutex, PoisonError};

    /// A folder of that name for this thread, which is there.
    fn folder(name: &str) -> PathBuf {
        let thread = format!("{:?}", std::thread::current().id()).replace(['(', ')'], "");
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{thread}-{name}"));
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// Every chunk of the array has the same bytes, under both ways to name chunks.
    pub(crate) fn loads_array(bytes: &[u8]) {
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        let (path, chunk) = (folder("array.zarr"), bytes.get(end + 1..).unwrap_or_default());
        fs::write(path.join("zarr.json"), &bytes[..end]).unwrap();
        for row in 0..2 {
            fs::create_dir_all(path.join(format!("c/{row}"))).unwrap();
            for column in 0..2 {
                fs::write(path.join(format!("c/{row}/{column}")), chunk).unwrap();
                fs::write(path.join(format!("{row}.{column}")), chunk).unwrap();
            }
        }
        super::loads_path(&path);
    }

    /// A box of whole rows of a tile.
    fn rows(first: i64, last: i64) -> Vec<Interval> {
        [(first, last), (0, 3)].map(|(first, last)| Interval::closed(first, last).unwrap()).to_vec()
    }

    /// Files of tiles of 4 by 4 elements of two bytes, whole and in parts.
    pub(crate) fn tiles() -> Vec<Vec<u8>> {
        let parts = [vec![], vec![rows(1, 2)], vec![rows(0, 0), rows(2, 3)], vec![rows(0, 3)]];
        let kinds = [None].into_iter().chain(parts.map(Some));
        let file = |held: Option<_>| {
            let (series, path) = series("corpus");
            let ending = if held.is_none() { "c/0/0" } else { "c/0/0.part" };
            assert!(series.write(&[0, 0], &StoredTile { held, data: (0..32).collect() }).unwrap());
            fs::read(path.join(ending)).unwrap()
        };
        kinds.map(file).collect()
    }

    /// A series of tiles of its own, and its folder.
    fn series(name: &str) -> (SeriesFolder, PathBuf) {
        let root = folder(name);
        let _ = fs::remove_dir_all(&root);
        let eight = || Interval::new(0, 8).unwrap();
        let about = SeriesAbout {
            word: "fuzz".into(),
            name: "a".into(),
            element: Element::U16,
            chunk: vec![4, 4],
            origin: vec![0, 0],
            region: vec![eight(), eight()],
        };
        let store = StoreFolder::open(&root).unwrap();
        let series = store.series(&about).unwrap().expect("its tiles are chunks");
        (series, store.folders().unwrap().remove(0))
    }

    /// A tile is as large as it should be and what it says of itself is so, or there is none.
    pub(crate) fn loads_tile(bytes: &[u8]) {
        // Tests that run at the same time take turns: what one writes is not for the other to read.
        static SERIES: LazyLock<Mutex<(SeriesFolder, PathBuf)>> =
            LazyLock::new(|| Mutex::new(series("store")));
        let (series, path) = &*SERIES.lock().unwrap_or_else(PoisonError::into_inner);
        fs::create_dir_all(path.join("c/0")).unwrap();
        for ending in ["c/0/0", "c/0/0.part"] {
            let _ = fs::remove_file(path.join("c/0/0"));
            fs::write(path.join(ending), bytes).unwrap();
            if let Ok(tile) = series.read(&[0, 0]) {
                assert_eq!((tile.data.len(), tile.held.is_some()), (32, ending.ends_with("part")));
                let tile = Tile::with(rows(0, 3), tile.held, 2, tile.data);
                assert!(tile.is_none_or(|tile| tile.is_whole() == tile.holds(&rows(0, 3))));
            }
        }
    }
}

#[cfg(feature = "serve")]
mod requests {
    //! A server of our own on this machine, and what it answers to bytes that are almost a request.

    use itp::serve::{Options, serve};
    use std::io::{Read, Write};
    use std::net::{Shutdown, SocketAddr, TcpStream};
    use std::path::PathBuf;
    use std::sync::{Arc, LazyLock, mpsc};
    use std::time::Duration;

    static ADDRESS: LazyLock<SocketAddr> = LazyLock::new(|| {
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fuzz-served.itp");
        std::fs::write(&file, "param n = 4\ntensor a: f32[y: inf, x: inf] = n * x + y\n").unwrap();
        let (ready, told) = mpsc::channel();
        let options = Options {
            file,
            port: 0,
            settings: Vec::new(),
            bindings: Vec::new(),
            threads: 1,
            memory: 16 << 20,
            queue: 64,
            draw: |_| String::new(),
        };
        std::thread::spawn(move || serve(options, Arc::default(), |address| ready.send(address).unwrap()));
        told.recv().unwrap()
    });

    /// The answer is 200, 304, 4xx or 503, or there is none to what is no request.
    pub(crate) fn answered(bytes: &[u8]) {
        let port = ADDRESS.port().to_string();
        let request = String::from_utf8_lossy(bytes).replace("PORT", &port);
        // `/news` waits for something to happen.
        if request.contains("/news") {
            return;
        }
        let mut stream = TcpStream::connect(*ADDRESS).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let _ = stream.write_all(request.as_bytes());
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let status = answer.get(9..12).map(|digits| String::from_utf8_lossy(digits).into_owned());
        let fine = |status: &str| ["200", "304", "503"].contains(&status) || status.starts_with('4');
        assert!(status.as_deref().is_none_or(fine), "{status:?} for {request:?}");
    }
}
