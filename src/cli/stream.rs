//! `itp stream`: elements from standard input, a file or a socket -> tiles in files.
//!
//! ```text
//! $ itp stream --shape 0,1024,1024 --type u16 --tile 32,256,256 --out cam.zarr < frames.raw
//! cam.zarr: 16 tiles of 32×256×256 u16 at once, peak 2.6 MB
//! cam.zarr: 256 frames of 1024×1024 u16, 512.0 MB in 0.31 s
//! ```

use super::Outcome;
use super::files;
use super::numbers;
use super::report::Report;
use super::session;
use super::source::{self, Origin, Source};
use super::stream_args::StreamArgs;
use crate::diagnostic::{Code, Diagnostic, quoted};
use crate::io::IoError;
use crate::io::ingest::{Ingest, NpyRows, TileFolder, TileSink, peak_bytes};
use crate::stream::Tiling;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Takes a stream to its end.
pub(super) fn stream(args: &StreamArgs, report: &mut Report) -> Outcome {
    done(args, report).unwrap_or_else(|outcome| outcome)
}

/// What files a stream can become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutKind {
    Zarr,
    Tiles,
    Npy,
}

fn done(args: &StreamArgs, report: &mut Report) -> Result<Outcome, Outcome> {
    let name = files::shown(&args.out);
    let (kind, tiling) = way_of(args).expect("arguments are checked when they are parsed");
    let stopped = Arc::new(AtomicBool::new(false));
    session::stop_on_signals(stopped.clone(), session::Ending::Orderly, &name, report)?;
    let mut way = open(args, kind, &tiling, report)?;
    let peak = way.peak.saturating_add(source::BUFFERED);
    if let Some(limit) = args.memory.filter(|limit| peak > *limit) {
        way.abandon();
        let message = format!("the stream needs {peak} bytes at its peak, but the limit is {limit}");
        let help = "choose smaller tiles, fewer threads, or raise `--memory`";
        return Err(report.fail(&name, Diagnostic::new(Code::E1005, message).help(help)));
    }
    report.say(&format!("{name}: {}, peak {}", way.about, numbers::bytes(peak)));
    let port = args.port.map_or(Origin::Stdin, Origin::Port);
    let source = Source::open(args.input.as_deref().map_or(port, Origin::File), report);
    let mut source = source.inspect_err(|_| way.abandon())?;
    let start = Instant::now();
    let ended = pump(&mut source, &mut way.sink, &stopped).map_err(|error| failed(&name, error, report))?;
    let ended = match ended {
        Ended::Broken(error) if !way.keeps_a_part() => {
            way.abandon();
            return Err(failed(&name, error, report));
        }
        ended => ended,
    };
    let text = close(way.sink, args, &ended).map_err(|error| failed(&name, error, report))?;
    report.say(&format!("{name}: {text} in {:.2} s", start.elapsed().as_secs_f64()));
    match ended {
        Ended::Broken(error) => Err(failed(&name, error, report)),
        Ended::Whole | Ended::Full => Ok(Outcome::Done),
    }
}

fn failed(name: &str, error: IoError, report: &mut Report) -> Outcome {
    let diagnostic = Diagnostic::new(Code::E0003, error.message);
    report.fail(name, error.help.into_iter().fold(diagnostic, Diagnostic::help))
}

/// What no single argument shows to be wrong.
pub(super) fn misuse(args: &StreamArgs) -> Option<String> {
    way_of(args).err()
}

/// What files there will be, and how they are cut.
fn way_of(args: &StreamArgs) -> Result<(OutKind, Tiling), String> {
    Ok((kind_of(args)?, tiling(args)?))
}

fn kind_of(args: &StreamArgs) -> Result<OutKind, String> {
    let ending = args.out.extension().map(|ending| ending.to_ascii_lowercase());
    let kind = match ending.as_deref().and_then(|ending| ending.to_str()) {
        Some("zarr") => OutKind::Zarr,
        Some("tiles") => OutKind::Tiles,
        Some("npy") => OutKind::Npy,
        _ => return Err(format!("{} must end in .zarr, .tiles or .npy", quoted(&files::shown(&args.out)))),
    };
    let zarr = args.shard.is_some() || args.pyramid.is_some() || args.codec.name != "none";
    if zarr && kind != OutKind::Zarr {
        return Err("--codec, --shard and --pyramid are for zarr arrays".to_owned());
    }
    Ok(kind)
}

fn tiling(args: &StreamArgs) -> Result<Tiling, String> {
    let (frames, inner) = args.shape.0.split_first().ok_or("--shape has no sizes")?;
    if inner.contains(&0) {
        return Err("only the first size of --shape may be 0".to_owned());
    }
    Tiling::new((*frames > 0).then_some(*frames), inner, &args.tile.0).map_err(|error| error.to_string())
}

/// A sink that is ready, and what it takes.
struct Way {
    sink: Out,
    peak: u64,
    about: String,
    path: PathBuf,
}

enum Out {
    Tiles(Box<Ingest>),
    Rows(Box<NpyRows>, Option<u64>),
}

/// How a source came to its end.
enum Ended {
    /// It had no more, or was to stop.
    Whole,
    /// It had more than there is place for.
    Full,
    /// It cannot be read any further; what had come before is kept.
    Broken(IoError),
}

impl Way {
    /// Whether what has come is kept when the rest does not: not where it would take the place of an old file.
    fn keeps_a_part(&self) -> bool {
        match &self.sink {
            Out::Tiles(ingest) => ingest.elements() > 0,
            Out::Rows(..) => false,
        }
    }

    /// Leaves nothing behind of a stream that has not begun.
    fn abandon(&self) {
        if let Out::Tiles(_) = self.sink {
            remove(&self.path);
        }
    }
}

/// Removes a folder that has no frames.
fn remove(path: &Path) {
    let _ = crate::io::disk::remove_dir_all(path);
}

fn open(args: &StreamArgs, kind: OutKind, tiling: &Tiling, report: &mut Report) -> Result<Way, Outcome> {
    let (name, element) = (files::shown(&args.out), args.element);
    let opened = || -> Result<Way, IoError> {
        let path = args.out.clone();
        let sink: Arc<dyn TileSink> = match kind {
            OutKind::Zarr => zarr_sink(args, tiling)?,
            OutKind::Tiles => Arc::new(TileFolder::create(&args.out, element, tiling)?),
            OutKind::Npy => {
                let inner: Vec<i64> = tiling.inner().iter().map(|size| *size as i64).collect();
                let left = tiling.elements().map(|elements| elements * element.bytes());
                let sink = Out::Rows(Box::new(NpyRows::create(&args.out, element, &inner)?), left);
                return Ok(Way { sink, peak: 0, about: format!("rows of {element}, no tiles"), path });
            }
        };
        let threads = args.threads.map_or_else(cores, usize::from);
        let peak = peak_bytes(tiling, element.bytes() as usize, threads, &*sink);
        let sizes: Vec<String> = tiling.tile().iter().map(u64::to_string).collect();
        let about = format!("{} tiles of {} {element} at once", tiling.peak(), sizes.join("×"));
        let ingest = Ingest::new(&args.out, tiling.clone(), element.bytes() as usize, threads, sink);
        let ingest = ingest.inspect_err(|_| remove(&path));
        Ok(Way { sink: Out::Tiles(Box::new(ingest?)), peak, about, path })
    };
    opened().map_err(|error| failed(&name, error, report))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get())
}

#[cfg(feature = "zarr")]
fn zarr_sink(args: &StreamArgs, tiling: &Tiling) -> Result<Arc<dyn TileSink>, IoError> {
    use super::stream_args::PyramidKind;
    use crate::io::ingest::{Shrink, ZarrPlan, ZarrSink};
    use crate::io::zarr::Compression;
    let shrink = args.pyramid.map(|kind| match kind {
        PyramidKind::Mean => Shrink::Mean,
        PyramidKind::Min => Shrink::Min,
        PyramidKind::Max => Shrink::Max,
        PyramidKind::Mode => Shrink::Mode,
    });
    let compression = Compression::named(&args.codec.name, args.codec.level);
    let wrong = |why: String| IoError::new(format!("{} {why}", quoted(&files::shown(&args.out))));
    let plan = ZarrPlan {
        element: args.element,
        compression: compression.map_err(wrong)?,
        shard: args.shard.as_ref().map(|shard| shard.0.iter().map(|size| *size as i64).collect()),
        shrink,
        labels: Vec::new(),
    };
    Ok(Arc::new(ZarrSink::create(&args.out, tiling, plan)?))
}

#[cfg(not(feature = "zarr"))]
fn zarr_sink(args: &StreamArgs, _: &Tiling) -> Result<Arc<dyn TileSink>, IoError> {
    let message =
        format!("{} is a zarr array, which this build knows nothing of", quoted(&files::shown(&args.out)));
    Err(IoError::new(message).help("write `.tiles` or `.npy`"))
}

/// Moves bytes until the stream ends, is full, is stopped, or breaks; an error if they cannot be written.
fn pump(source: &mut Source, out: &mut Out, stopped: &AtomicBool) -> Result<Ended, IoError> {
    while !stopped.load(Ordering::Relaxed) {
        let bytes = match source.next(stopped) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => break,
            Err(error) => return Ok(Ended::Broken(error)),
        };
        let taken = match out {
            Out::Tiles(ingest) => ingest.append(bytes)?,
            Out::Rows(rows, left) => {
                let taken = left
                    .map_or(bytes.len(), |left| bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX)));
                rows.append(&bytes[..taken])?;
                *left = left.map(|left| left - taken as u64);
                taken
            }
        };
        if taken < bytes.len() {
            return Ok(Ended::Full);
        }
    }
    Ok(Ended::Whole)
}

/// Ends the files; what is told about it.
fn close(out: Out, args: &StreamArgs, ended: &Ended) -> Result<String, IoError> {
    let step = args.shape.0[1..].iter().product::<u64>() * args.element.bytes();
    let (frames, leftover, partial, torn) = match out {
        Out::Tiles(ingest) => {
            let torn = ingest.torn();
            let closed = ingest.close()?;
            (closed.frames, closed.leftover * args.element.bytes(), closed.partial, torn)
        }
        Out::Rows(rows, _) => {
            let torn = rows.torn();
            rows.close().map(|(frames, leftover)| (frames, leftover, 0, torn))?
        }
    };
    let all = frames.saturating_mul(step).saturating_add(leftover);
    let mut text = format!("{}, {}", shape_text(frames, args), numbers::bytes(all));
    if leftover > 0 {
        text += &format!(", and {leftover} of {step} bytes of one more, completed with zeros");
    }
    if partial > 0 {
        text += &format!(", {partial} tiles incomplete");
    }
    if torn > 0 {
        text += &format!(", without the {torn} of {} bytes of one more element", args.element.bytes());
    }
    let expected = args.shape.0[0];
    if frames + u64::from(leftover > 0) < expected {
        text += &format!(", fewer than the {expected} that `--shape` says");
    }
    if let Ended::Full = ended {
        text += ", more came than `--shape` says and was not taken";
    }
    Ok(text)
}

/// `5 × 256×320 u16`, or `5 u16` where a frame is one element.
fn shape_text(frames: u64, args: &StreamArgs) -> String {
    let inner: Vec<String> = args.shape.0[1..].iter().map(u64::to_string).collect();
    let by = if inner.is_empty() { String::new() } else { format!(" × {}", inner.join("×")) };
    format!("{frames}{by} {}", args.element)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_size_may_be_open() {
        let parsed = |shape: &str, tile: &str| {
            let line = format!("itp stream --shape {shape} --type u8 --tile {tile} --out a.zarr");
            let cli = super::super::args::parse(line.split(' ').map(Into::into).collect());
            let super::super::args::Command::Stream(args) = cli.map_err(|error| error.to_string())?.command
            else {
                panic!("a stream")
            };
            tiling(&args).map(|tiling| tiling.peak())
        };
        assert_eq!(parsed("0,4,6", "2,2,3"), Ok(4));
        assert_eq!(parsed("5,7", "2,3"), Ok(3));
        assert!(parsed("4,0", "1,1").unwrap_err().contains("only the first size"));
        assert!(parsed("4,4", "1").unwrap_err().contains("1 dimensions, but the stream has 2"));
    }
}
