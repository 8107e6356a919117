//! The runs of a stream -> the files of its tiles, without tiles in memory in between.
//!
//! ```text
//! a block of 256 rows of 4 tiles   ->   4 calls: 256 runs of each, gathered where they lie in the block
//! ```
//!
//! The runs of a tile come in the order in which they lie in it, so its file is written from the beginning to the end. What
//! an edge cuts off is zeros: those between runs are written, those behind the last are what a longer file has by itself.

use super::TileSink;
use crate::io::disk::File;
use crate::stream::Tiling;
use crate::stream::runs::{Closed, Runs, TakeRuns};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Runs of a tile that wait for the end of the block, at the most: systems take no more at a time.
const GATHERED: usize = 1024;
/// Files that are open at once, at the most; many systems allow 1024 for all that a process does.
const MOST_FILES: u64 = 128;
/// Bytes of a run from which on telling the system of it takes less than copying it.
const LEAST_RUN: u64 = 256;
/// Bytes of a tile that come one after the other, or nearly: below that a call for each takes longer than a copy.
const LEAST_PIECE: u64 = 64 << 10;
/// What is written where tiles reach beyond the array.
static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// Whether tiles are worth being written in pieces.
pub(super) fn worthwhile(tiling: &Tiling, element: usize) -> bool {
    let rows = tiling.collapsed();
    let bytes = |sizes: &[u64]| sizes.iter().product::<u64>().saturating_mul(element as u64);
    let last = rows.rank() - 1;
    let (run, piece) = (bytes(&rows.tile()[last..]), bytes(&rows.tile()[last.min(1)..]));
    tiling.peak() <= MOST_FILES && run >= LEAST_RUN && piece >= LEAST_PIECE
}

/// Bytes that it takes at its peak.
pub(super) fn peak_bytes(tiling: &Tiling) -> u64 {
    let beside = 512; // The name of a file, and what is known of it.
    tiling.peak() * ((2 * GATHERED * size_of::<IoSlice<'_>>()) as u64 + beside)
}

/// The file of a tile that is not complete.
#[derive(Debug)]
pub struct TileFile {
    /// Open, and empty at first.
    pub file: File,
    /// Where it is, should it have to be removed.
    pub path: PathBuf,
}

/// A stream on its way into files.
pub(super) struct Straight {
    runs: Runs,
    files: Files,
}

struct Files {
    tiling: Tiling,
    sink: Arc<dyn TileSink>,
    tile_bytes: u64,
    /// Those of the tiles that have begun and not ended, and the bytes that have come for each, zeros between them included.
    open: VecDeque<(TileFile, usize)>,
    /// Rank of the first of them.
    first: u64,
}

impl Straight {
    pub(super) fn new(tiling: Tiling, element: usize, sink: Arc<dyn TileSink>) -> Straight {
        let tile_bytes = tiling.tile_elements() * element as u64;
        let runs = Runs::new(&tiling, element);
        Straight { runs, files: Files { tiling, sink, tile_bytes, open: VecDeque::new(), first: 0 } }
    }

    pub(super) fn cursor(&self) -> u64 {
        self.runs.cursor()
    }

    pub(super) fn remaining(&self) -> u64 {
        self.runs.remaining()
    }

    /// Writes whole elements; how many bytes it took, which is fewer than there are only at the end of the stream.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let gathered = self.files.open.iter().map(|_| Vec::new()).collect();
        let mut gathering = Gathering { files: &mut self.files, gathered };
        let taken = self.runs.append(bytes, &mut gathering)?;
        gathering.flush()?;
        Ok(taken)
    }

    /// Ends the files of tiles that are incomplete.
    pub(super) fn close(mut self) -> io::Result<Closed> {
        while let Some((tile, len)) = self.files.open.pop_front() {
            lengthen(&tile, len, self.files.tile_bytes)?;
        }
        Ok(self.runs.closed())
    }
}

/// Files that are incomplete are worth nothing when the stream fails.
impl Drop for Files {
    fn drop(&mut self) {
        for (tile, _) in &self.open {
            let _ = crate::io::disk::remove_file(&tile.path);
        }
    }
}

/// Runs of a block, for each of the files.
struct Gathering<'f, 'b> {
    files: &'f mut Files,
    gathered: VecDeque<Vec<IoSlice<'b>>>,
}

impl<'b> Gathering<'_, 'b> {
    /// Writes what waits for one file.
    fn write(&mut self, at: usize) -> io::Result<()> {
        let mut runs = &mut self.gathered[at][..];
        let file = &mut self.files.open[at].0.file;
        while !runs.is_empty() {
            match file.write_vectored(runs) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(size) => IoSlice::advance_slices(&mut runs, size),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.gathered[at].clear();
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        (0..self.gathered.len()).try_for_each(|at| self.write(at))
    }

    fn push(&mut self, at: usize, bytes: &'b [u8]) -> io::Result<()> {
        if self.gathered[at].len() == GATHERED {
            self.write(at)?;
        }
        self.gathered[at].push(IoSlice::new(bytes));
        self.files.open[at].1 += bytes.len();
        Ok(())
    }
}

impl<'b> TakeRuns<'b> for Gathering<'_, 'b> {
    type Error = io::Error;

    fn begin(&mut self, rank: u64) -> io::Result<()> {
        let tile = self.files.sink.open(&self.files.tiling.tile_at(rank))?;
        self.files.open.push_back((tile, 0));
        self.gathered.push_back(Vec::new());
        Ok(())
    }

    fn run(&mut self, rank: u64, offset: usize, bytes: &'b [u8]) -> io::Result<()> {
        let at = (rank - self.files.first) as usize;
        while let gap = offset - self.files.open[at].1
            && gap > 0
        {
            self.push(at, &ZEROS[..gap.min(ZEROS.len())])?;
        }
        self.push(at, bytes)
    }

    fn end(&mut self, rank: u64) -> io::Result<()> {
        self.write(0)?;
        let tile_bytes = self.files.tile_bytes;
        if let Some((tile, len)) = self.files.open.front() {
            lengthen(tile, *len, tile_bytes)?;
        }
        self.files.open.pop_front();
        self.gathered.pop_front();
        self.files.first = rank + 1;
        let (tiling, epoch) = (&self.files.tiling, self.files.tiling.epoch_tiles().max(1));
        if (rank + 1).is_multiple_of(epoch) {
            self.files.sink.reached(tiling.range(0, rank / epoch).end)?;
        }
        Ok(())
    }
}

/// Makes a file as long as a tile is.
fn lengthen(tile: &TileFile, len: usize, bytes: u64) -> io::Result<()> {
    if (len as u64) < bytes { tile.file.set_len(bytes) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{Complete, Scatter};
    use proptest::prelude::*;
    use std::fs;
    use std::sync::Mutex;

    /// Files of tiles in a folder that is gone when the test is over, and what it was told.
    struct Folder(PathBuf, Mutex<Vec<u64>>);

    impl Folder {
        fn new(name: &str) -> Arc<Folder> {
            let path = std::env::temp_dir().join(format!("itp-straight-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir(&path).unwrap();
            Arc::new(Folder(path, Mutex::default()))
        }

        fn at(&self, number: &[u64]) -> PathBuf {
            self.0.join(format!("{number:?}"))
        }

        fn count(&self) -> usize {
            fs::read_dir(&self.0).unwrap().count()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    impl TileSink for Folder {
        fn put(&self, _: &Complete) -> io::Result<()> {
            Err(ErrorKind::Unsupported.into())
        }

        fn open(&self, number: &[u64]) -> io::Result<TileFile> {
            let path = self.at(number);
            Ok(TileFile { file: File::create_new(&path)?, path })
        }

        fn reached(&self, frames: u64) -> io::Result<()> {
            self.1.lock().unwrap().push(frames);
            Ok(())
        }

        fn finish(&self, _: u64) -> io::Result<()> {
            Ok(())
        }

        fn beside(&self) -> u64 {
            0
        }
    }

    proptest! {
        #[test]
        fn files_are_the_tiles_that_a_scatter_makes(
            axes in proptest::collection::vec((1u64..7, 1u64..8), 1..4),
            endless in any::<bool>(),
            element in 1usize..4,
            appends in proptest::collection::vec(1usize..40, 1..12),
        ) {
            let (shape, tile): (Vec<u64>, Vec<u64>) = axes.into_iter().unzip();
            let tiling = Tiling::new((!endless).then_some(shape[0]), &shape[1..], &tile).unwrap();
            let folder = Folder::new("tiles");
            let mut straight = Straight::new(tiling.clone(), element, folder.clone());
            let mut scatter = Scatter::new(tiling.clone(), element).unwrap();
            let mut tiles = Vec::new();
            let mut keep = |tile: Complete| { tiles.push(tile.clone()); Ok::<_, ()>(tile.data) };
            let mut next = 0u8;
            for append in appends {
                let bytes: Vec<u8> = (0..append * element).map(|_| { next = next % 250 + 1; next }).collect();
                let taken = straight.append(&bytes).unwrap();
                prop_assert_eq!(taken, scatter.append(&bytes, &mut keep).unwrap());
                prop_assert!(straight.files.open.len() as u64 <= tiling.peak());
            }
            prop_assert_eq!((straight.cursor(), straight.remaining()), (scatter.cursor(), scatter.remaining()));
            let frames = straight.cursor() / tiling.frame_elements();
            prop_assert_eq!(straight.close().unwrap(), scatter.close(&mut keep).unwrap());
            prop_assert_eq!(folder.count(), tiles.len());
            for tile in tiles {
                prop_assert_eq!(fs::read(folder.at(&tile.number)).unwrap(), tile.data);
            }
            // Frames are told of when all tiles are there that have one of them.
            let whole = (0..).map(|number| tiling.range(0, number).end);
            let whole: Vec<u64> = whole.take_while(|end| *end <= frames).take(tiling.count(0) as usize).collect();
            prop_assert_eq!(&*folder.1.lock().unwrap(), &whole);
        }
    }

    #[test]
    fn a_stream_that_fails_leaves_no_part_of_a_tile() {
        let folder = Folder::new("fails");
        let tiling = Tiling::new(None, &[4], &[2, 2]).unwrap();
        let mut straight = Straight::new(tiling, 1, folder.clone());
        straight.append(&[1; 8]).unwrap();
        fs::write(folder.at(&[1, 1]), "in the way").unwrap();
        assert_eq!(straight.append(&[1; 4]).unwrap_err().kind(), ErrorKind::AlreadyExists);
        drop(straight);
        assert_eq!(folder.count(), 3, "two tiles that are whole, and what was in the way");
    }

    #[test]
    fn many_runs_are_more_than_one_call() {
        let folder = Folder::new("many");
        let rows = 2 * GATHERED as u64 + 3;
        let tiling = Tiling::new(Some(1), &[rows, 3], &[1, rows, 2]).unwrap();
        let bytes: Vec<u8> = (0..rows * 3).map(|at| (at % 251) as u8).collect();
        let mut straight = Straight::new(tiling, 1, folder.clone());
        straight.append(&bytes).unwrap();
        straight.close().unwrap();
        let left: Vec<u8> = bytes.chunks(3).flat_map(|row| [row[0], row[1]]).collect();
        let right: Vec<u8> = bytes.chunks(3).flat_map(|row| [row[2], 0]).collect();
        assert_eq!(fs::read(folder.at(&[0, 0, 0])).unwrap(), left);
        assert_eq!(fs::read(folder.at(&[0, 0, 1])).unwrap(), right);
    }

    #[test]
    fn small_pieces_are_gathered_in_memory() {
        let worth = |inner: &[u64], tile: &[u64]| worthwhile(&Tiling::new(None, inner, tile).unwrap(), 2);
        assert!(worth(&[1024, 1024], &[32, 256, 256]));
        assert!(worth(&[1000, 1000], &[1, 256, 256]));
        assert!(worth(&[], &[1 << 20]));
        assert!(!worth(&[1024, 1024], &[32, 256, 64]), "runs of 128 bytes");
        assert!(!worth(&[1024, 1024], &[32, 16, 256]), "8 kB at a time");
        assert!(!worth(&[1 << 14, 1 << 14], &[2, 256, 256]), "4096 files");
    }
}
