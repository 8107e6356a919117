//! A stream -> tiles in files, with as much memory as tiles live at once and no more, however long it is.
//!
//! ```text
//! frames -> scatter -> complete tiles -> [writers] -> cam.zarr/c/0/3/1
//!              ^                             |
//!              +---- memory of tiles --------+        no memory, no new tile: a slow disk slows the source
//! ```
//!
//! - [`TileSink`] is what takes complete tiles: a zarr array with its [`pyramid`], or a folder of plain tiles;
//! - [`writers`] are the threads that compress and write while the stream goes on;
//! - [`straight`] needs neither: chunks of a zarr array that are files as they are get their elements as they come.

mod folder;
#[cfg(feature = "zarr")]
mod halve;
#[cfg(feature = "zarr")]
mod pyramid;
mod rows;
mod straight;
mod writers;
#[cfg(feature = "zarr")]
mod zarr;

pub use folder::TileFolder;
#[cfg(feature = "zarr")]
pub(super) use folder::write_file;
#[cfg(feature = "zarr")]
pub use halve::Shrink;
pub use rows::NpyRows;
pub use straight::TileFile;
#[cfg(feature = "zarr")]
pub use zarr::{ZarrPlan, ZarrSink};

use super::error::{Fault, IoError, fault};
use crate::stream::runs::Closed;
use crate::stream::scatter::SLOT_BESIDE;
use crate::stream::{Complete, Scatter, Tiling};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use straight::Straight;
use writers::Writers;

/// What takes the tiles of a stream, from any thread and in any order.
pub trait TileSink: Send + Sync {
    /// Writes a tile.
    fn put(&self, tile: &Complete) -> io::Result<()>;

    /// Whether tiles may be written in pieces, each from its beginning to its end.
    fn in_pieces(&self) -> bool {
        false
    }

    /// Makes the file of a tile that is written in pieces.
    fn open(&self, _number: &[u64]) -> io::Result<TileFile> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// All tiles are written that begin before this step of axis 0.
    fn reached(&self, frames: u64) -> io::Result<()>;

    /// Nothing more comes: the stream has that many steps.
    fn finish(&self, frames: u64) -> io::Result<()>;

    /// Bytes that it holds beside the tiles it is given, at the most.
    fn beside(&self) -> u64;
}

/// A stream on its way to a sink.
pub struct Ingest {
    path: PathBuf,
    way: Way,
    sink: Arc<dyn TileSink>,
    /// Bytes of an element that has not come as a whole.
    rest: Vec<u8>,
    element: usize,
}

/// How tiles come to their files.
enum Way {
    /// As a whole, from memory.
    Tiles(Scatter, Writers),
    /// In pieces.
    Straight(Straight),
}

impl Way {
    fn cursor(&self) -> u64 {
        match self {
            Way::Tiles(scatter, _) => scatter.cursor(),
            Way::Straight(straight) => straight.cursor(),
        }
    }

    fn remaining(&self) -> u64 {
        match self {
            Way::Tiles(scatter, _) => scatter.remaining(),
            Way::Straight(straight) => straight.remaining(),
        }
    }

    /// Takes whole elements.
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Way::Tiles(scatter, writers) => scatter.append(bytes, &mut |tile| writers.put(tile)),
            Way::Straight(straight) => straight.append(bytes),
        }
    }

    /// Writes the tiles that are incomplete.
    fn close(self) -> io::Result<Closed> {
        match self {
            Way::Tiles(scatter, mut writers) => {
                let closed = scatter.close(&mut |tile| writers.put(tile))?;
                writers.join().map(|()| closed)
            }
            Way::Straight(straight) => straight.close(),
        }
    }
}

/// Whether a stream goes to its files without tiles in memory.
fn is_straight(tiling: &Tiling, element: usize, sink: &dyn TileSink) -> bool {
    sink.in_pieces() && straight::worthwhile(tiling, element)
}

/// Bytes that a stream takes at its peak: tiles alive, tiles on their way to the disk, and what the sink needs.
pub fn peak_bytes(tiling: &Tiling, element: usize, threads: usize, sink: &dyn TileSink) -> u64 {
    if is_straight(tiling, element, sink) {
        return straight::peak_bytes(tiling).saturating_add(sink.beside());
    }
    let tile = tiling.tile_elements().saturating_mul(element as u64).saturating_add(SLOT_BESIDE);
    let tiles = tiling.peak().saturating_add(writers::in_flight(threads));
    // Every writer may hold one compressed tile.
    let writers = sink.beside().saturating_mul(threads.max(1) as u64);
    tile.saturating_mul(tiles).saturating_add(writers)
}

impl Ingest {
    /// A stream into the sink at `path`, with that many threads: one does everything by itself.
    pub fn new(
        path: &Path,
        tiling: Tiling,
        element: usize,
        threads: usize,
        sink: Arc<dyn TileSink>,
    ) -> Result<Ingest, IoError> {
        let made = || {
            let way = if is_straight(&tiling, element, &*sink) {
                Way::Straight(Straight::new(tiling, element, sink.clone()))
            } else {
                let writers = Writers::new(&tiling, element, threads, sink.clone())?;
                let scatter = Scatter::new(tiling, element);
                Way::Tiles(scatter.map_err(|error| fault(format!("cannot be written: {error}")))?, writers)
            };
            Ok(Ingest { path: path.to_owned(), way, sink, rest: Vec::new(), element })
        };
        made().map_err(|fault: Fault| fault.writing(path))
    }

    /// Elements that have come.
    pub fn elements(&self) -> u64 {
        self.way.cursor()
    }

    /// Bytes of an element that has not come as a whole.
    pub fn torn(&self) -> usize {
        self.rest.len()
    }

    /// Whether the stream has an end, and is there.
    pub fn is_full(&self) -> bool {
        self.way.remaining() == 0
    }

    /// Takes the next bytes, any number of them; how many it took, fewer only at the end of the stream.
    pub fn append(&mut self, bytes: &[u8]) -> Result<usize, IoError> {
        let appended = self.append_plain(bytes);
        appended.map_err(|error| Fault::System(error).writing(&self.path))
    }

    fn append_plain(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Ingest { way, rest, element, .. } = self;
        let mut taken = 0;
        if !rest.is_empty() {
            taken = bytes.len().min(*element - rest.len());
            rest.extend_from_slice(&bytes[..taken]);
            if rest.len() < *element {
                return Ok(taken);
            }
            way.append(rest)?;
            rest.clear();
        }
        taken += way.append(&bytes[taken..])?;
        let left = &bytes[taken..];
        if left.len() < *element && way.remaining() > 0 {
            rest.extend_from_slice(left);
            taken += left.len();
        }
        Ok(taken)
    }

    /// Writes the tiles that are incomplete, and ends. A step that has not all of its elements counts, with zeros.
    pub fn close(self) -> Result<Closed, IoError> {
        let Ingest { path, way, sink, .. } = self;
        let close = || {
            let closed = way.close()?;
            sink.finish(closed.frames + u64::from(closed.leftover > 0))?;
            Ok(closed)
        };
        close().map_err(|error: io::Error| Fault::System(error).writing(&path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    /// A disk that takes its time.
    #[derive(Default)]
    struct Slow {
        written: AtomicU64,
        frames: AtomicU64,
    }

    impl TileSink for Slow {
        fn put(&self, _: &Complete) -> io::Result<()> {
            std::thread::sleep(Duration::from_millis(2));
            self.written.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }

        fn reached(&self, _: u64) -> io::Result<()> {
            Ok(())
        }

        fn finish(&self, frames: u64) -> io::Result<()> {
            self.frames.store(frames, Ordering::SeqCst);
            Ok(())
        }

        fn beside(&self) -> u64 {
            0
        }
    }

    #[test]
    fn a_slow_sink_slows_the_source() {
        for threads in [1, 2, 4] {
            let (sink, tiling) = (Arc::new(Slow::default()), Tiling::new(None, &[8], &[2, 4]).unwrap());
            let mut ingest = Ingest::new(Path::new("a"), tiling.clone(), 1, threads, sink.clone()).unwrap();
            let room = writers::in_flight(threads);
            assert_eq!(peak_bytes(&tiling, 1, threads, &*sink), (8 + SLOT_BESIDE) * (2 + room));
            for frame in 1..=100 {
                ingest.append(&[7; 8]).unwrap();
                let (complete, written) = (frame / 2 * 2, sink.written.load(Ordering::SeqCst));
                assert!(
                    complete <= written + room,
                    "{complete} tiles are complete, and {written} are written"
                );
            }
            assert_eq!(ingest.close().unwrap().frames, 100);
            assert_eq!((sink.written.load(Ordering::SeqCst), sink.frames.load(Ordering::SeqCst)), (100, 100));
        }
    }

    #[test]
    fn a_sink_that_fails_ends_the_stream() {
        struct Broken;
        impl TileSink for Broken {
            fn put(&self, _: &Complete) -> io::Result<()> {
                Err(io::Error::other("no more room"))
            }
            fn reached(&self, _: u64) -> io::Result<()> {
                Ok(())
            }
            fn finish(&self, _: u64) -> io::Result<()> {
                Ok(())
            }
            fn beside(&self) -> u64 {
                0
            }
        }
        for threads in [1, 3] {
            let tiling = Tiling::new(None, &[4], &[1, 4]).unwrap();
            let mut ingest = Ingest::new(Path::new("a"), tiling, 1, threads, Arc::new(Broken)).unwrap();
            let appended = (0..100).try_for_each(|_| ingest.append(&[7; 4]).map(drop));
            assert!(appended.unwrap_err().message.contains("no more room"));
        }
    }
}
