//! Inputs that arrive while the script runs: a reader of bytes -> frames, as long as something needs them.
//!
//! ```text
//! input cam: u16[t: 0..inf, y: 1024, x: 1024] from stream
//! tensor calm: u16[t: 1..inf, y: 1024, x: 1024] = (cam[t - 1, y, x] + cam[t, y, x]) // 2
//! output "calm.zarr" = calm[1:, :, :] chunk [32, 256, 256]        grows until the stream ends
//! ```
//!
//! Outputs advance by some rows at a time, the one first that has come least far along the stream. A box that is asked for
//! waits until its frames have come; frames below the lowest that any output asked for last are forgotten. So no more
//! frames are in memory than the outputs need for their rows, however long the stream is. How they advance is the part of
//! [`super::course`].

use super::Engine;
use super::course::{Course, Recurring};
use super::data::declared;
use super::error::Result;
use super::growing::Growing;
use super::limit::memory_limit;
use crate::diagnostic::{self, Code, Diagnostic, quoted};
use crate::graph::body::TensorId;
use crate::graph::uses::uses;
use crate::graph::view::View;
use crate::graph::{InputSource, Output, Tensor, TensorKind};
use crate::index::walk::copy_box;
use crate::index::{Domain, Interval, Transform};
use crate::plan::grid::volume;
use crate::run::inputs::{BoxSource, InputData};
use crate::run::stats::Stats;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An input whose frames come one after the other.
pub(super) struct StreamInput {
    tensor: Tensor,
    /// Bytes of a frame.
    frame: usize,
    state: Mutex<State>,
}

struct State {
    /// Where frames come from; none if they are made here.
    reader: Option<Box<dyn Read + Send>>,
    /// Frames that are there, the first of them with the coordinate `first`.
    frames: VecDeque<Vec<u8>>,
    first: i64,
    ended: bool,
    /// Bytes of one more frame that came before the end.
    leftover: usize,
    /// Frames from the lowest to the highest that were asked for, and whether the last did not come any more.
    asked: Asked,
}

/// What is told while outputs follow a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streamed<'s> {
    /// Nothing is read yet.
    Begins {
        /// Bytes that all outputs take at their peak, with the frames they need.
        peak: u64,
        /// Rows that are computed at a time, at the most.
        rows: i64,
    },
    /// A stream ended within a frame, which is left out.
    LeftOver {
        /// The input.
        input: &'s str,
        /// Bytes of the frame that came.
        leftover: usize,
        /// Bytes of a whole one.
        frame: usize,
    },
    /// An output is complete.
    Written {
        /// Its file.
        path: &'s str,
        /// Its length along the first dimension.
        rows: i64,
    },
}

/// What was asked of a stream since somebody looked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked {
    /// From the lowest frame to the highest.
    pub(super) frames: Option<Interval>,
    /// Whether the stream ended before the highest.
    pub(super) over: bool,
    /// Whether the highest has to be made first.
    pub(super) awaited: bool,
}

impl StreamInput {
    pub(super) fn new(
        tensor: &Tensor,
        reader: Option<Box<dyn Read + Send>>,
    ) -> diagnostic::Result<StreamInput> {
        let dims = tensor.domain.dims();
        let inner: Option<Vec<i64>> = dims.iter().skip(1).map(|dim| dim.interval.len()).collect();
        let frame = inner.and_then(|lens| {
            lens.iter().try_fold(tensor.element.bytes(), |n, len| n.checked_mul(*len as u64))
        });
        if frame == Some(0) {
            let message =
                format!("frames of stream {} hold nothing, so they never end", quoted(&tensor.name));
            let empty = Diagnostic::new(Code::E1002, message).at(tensor.span, declared(tensor));
            return empty.help("give every dimension but the first at least one element").err();
        }
        let first = dims.first().and_then(|dim| dim.interval.lower());
        let (Some(frame), Some(first)) = (frame.and_then(|bytes| usize::try_from(bytes).ok()), first) else {
            let message = format!(
                "stream {} may go on forever along its first dimension alone, upwards",
                quoted(&tensor.name)
            );
            let diagnostic = Diagnostic::new(Code::E1002, message).at(tensor.span, declared(tensor));
            return diagnostic
                .help("write the first dimension as `0..inf`, and give the others both ends")
                .err();
        };
        let state = State {
            reader,
            frames: VecDeque::new(),
            first,
            ended: false,
            leftover: 0,
            asked: Asked::default(),
        };
        Ok(StreamInput { tensor: tensor.clone(), frame, state: Mutex::new(state) })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of a frame.
    pub(super) fn frame_bytes(&self) -> u64 {
        self.frame as u64
    }

    /// The frame that comes next; none once the stream has ended.
    pub(super) fn next_frame(&self) -> Option<i64> {
        let state = self.lock();
        (!state.ended).then(|| state.first + state.frames.len() as i64)
    }

    /// Takes a frame that was made, or, if there is none, the end.
    pub(super) fn made(&self, frame: Option<Vec<u8>>) {
        let mut state = self.lock();
        match frame {
            Some(frame) => state.frames.push_back(frame),
            None => state.ended = true,
        }
    }

    /// What was asked for since this was called last.
    pub(super) fn asked(&self) -> Asked {
        std::mem::take(&mut self.lock().asked)
    }

    /// Forgets the frames before one.
    pub(super) fn forget_before(&self, frame: i64) {
        let mut state = self.lock();
        while state.first < frame && state.frames.pop_front().is_some() {
            state.first += 1;
        }
    }

    fn passed(&self, asked: i64, first: i64) -> Box<Diagnostic> {
        let name = quoted(&self.tensor.name);
        let message =
            format!("frame {asked} of the stream {name} is needed, but those before {first} have passed");
        let diagnostic = Diagnostic::new(Code::E1010, message).at(self.tensor.span, declared(&self.tensor));
        Box::new(diagnostic.help("write the stream to a file with `itp stream`, and bind that"))
    }

    fn over(&self, state: &State, asked: i64) -> Box<Diagnostic> {
        let (name, has) = (quoted(&self.tensor.name), state.first + state.frames.len() as i64);
        let needed =
            if asked == has { "which is needed".to_owned() } else { format!("but frame {asked} is needed") };
        let message = format!("the stream {name} ended before frame {has}, {needed}");
        Box::new(Diagnostic::new(Code::E1010, message).at(self.tensor.span, declared(&self.tensor)))
    }

    fn broken(&self, error: &std::io::Error) -> Box<Diagnostic> {
        let message = format!("the stream {} cannot be read: {error}", quoted(&self.tensor.name));
        Box::new(Diagnostic::new(Code::E1010, message).at(self.tensor.span, declared(&self.tensor)))
    }

    /// Reads on until a frame is there.
    fn until(&self, state: &mut State, last: i64) -> diagnostic::Result<()> {
        while !state.ended && state.first + (state.frames.len() as i64) <= last {
            let Some(reader) = &mut state.reader else {
                state.asked.awaited = true;
                return Err(self.over(state, last));
            };
            let mut frame = Vec::new();
            if frame.try_reserve_exact(self.frame).is_err() {
                return Diagnostic::new(Code::E1005, format!("{} bytes cannot be allocated", self.frame))
                    .err();
            }
            frame.resize(self.frame, 0);
            match read_whole(&mut **reader, &mut frame) {
                Ok(size) if size == self.frame => state.frames.push_back(frame),
                Ok(size) => (state.ended, state.leftover) = (true, size),
                Err(error) => return Err(self.broken(&error)),
            }
        }
        if state.ended && state.first + (state.frames.len() as i64) <= last {
            state.asked.over = true;
            return Err(self.over(state, last));
        }
        Ok(())
    }
}

/// Fills a frame as far as bytes come; how far that was.
fn read_whole(reader: &mut dyn Read, frame: &mut [u8]) -> std::io::Result<usize> {
    let mut done = 0;
    while done < frame.len() {
        match reader.read(&mut frame[done..]) {
            Ok(0) => break,
            Ok(size) => done += size,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}

impl BoxSource for StreamInput {
    fn read_box(&self, region: &[Interval]) -> diagnostic::Result<Vec<u8>> {
        let element = self.tensor.element.bytes() as usize;
        let mut data = vec![0; volume(region) as usize * element];
        let (Some((times, inner)), false) = (region.split_first(), data.is_empty()) else { return Ok(data) };
        let mut state = self.lock();
        if times.first() < state.first {
            return Err(self.passed(times.first(), state.first));
        }
        state.asked.frames = Some(state.asked.frames.map_or(*times, |asked| asked.hull(*times)));
        self.until(&mut state, times.last())?;
        let frame: Vec<Interval> = self.tensor.domain.dims()[1..].iter().map(|dim| dim.interval).collect();
        let step = volume(inner) as usize * element;
        for (time, out) in (times.first()..=times.last()).zip(data.chunks_exact_mut(step)) {
            let held = &state.frames[(time - state.first) as usize];
            copy_box((held, &frame), (out, inner), inner, element);
        }
        Ok(data)
    }

    fn identity(&self) -> Option<Vec<u8>> {
        None
    }

    fn beside(&self, region: &[Interval]) -> u64 {
        // All of the frames of the box, and the one that is being read.
        let frames = region.first().map_or(0, |times| times.len().unwrap_or(0).max(0) as u64);
        (frames + 1).saturating_mul(self.frame as u64)
    }
}

impl Engine {
    /// Gives an input that is declared `from stream` the bytes of its frames, to be read while outputs are written.
    /// Other reads keep the frames that they asked for.
    ///
    /// ```
    /// use itp::Engine;
    ///
    /// let mut engine = Engine::compile("input cam: u8[t: 0..inf, x: 2] from stream")?;
    /// engine.bind_stream("cam", std::io::Cursor::new([1, 2, 3, 4]))?;
    /// assert_eq!(engine.read::<u8>("cam[0:2, :]")?.as_slice(), Some(&[1, 2, 3, 4][..]));
    /// # Ok::<(), itp::engine::Error>(())
    /// ```
    pub fn bind_stream(&mut self, input: &str, reader: impl Read + Send + 'static) -> Result<()> {
        let id = self.input(input)?;
        let stream = StreamInput::new(self.program.graph.tensor(id), Some(Box::new(reader)));
        let stream = Arc::new(stream.map_err(|diagnostic| self.error(diagnostic))?);
        self.streams.insert(id, stream.clone());
        self.world.inputs.insert(id, InputData::OnDemand(stream));
        self.changed(|graph, base| uses(graph, base).tensors.contains(&id));
        Ok(())
    }

    /// The inputs that are declared `from stream`.
    pub fn stream_inputs(&self) -> Vec<Arc<str>> {
        let streams = self.program.graph.tensors.iter().filter(|tensor| is_stream(tensor));
        streams.map(|tensor| tensor.name.clone()).collect()
    }

    /// Writes every output of a script with streams, until they end; `told` hears what that takes before the first byte is
    /// read, and what became of it.
    pub fn save_streamed(&self, told: &mut dyn FnMut(Streamed<'_>)) -> Result<Stats> {
        match self.stepwise()? {
            Some((engine, recurring)) => engine.save_along(recurring, told),
            None => self.save_along(Vec::new(), told),
        }
    }

    /// The same, where no tensor has to be computed from the beginning of a stream.
    fn save_along(&self, recurring: Vec<Recurring>, told: &mut dyn FnMut(Streamed<'_>)) -> Result<Stats> {
        let mut growing = Vec::new();
        for output in &self.program.graph.outputs {
            self.follows_a_stream(output)?;
            growing.push(Growing::create(self, output)?);
        }
        let rows = growing.iter().map(Growing::block).max().unwrap_or(0);
        let mut peak: u64 = growing.iter().map(Growing::peak).fold(0, u64::saturating_add);
        for recurring in &recurring {
            peak = peak.saturating_add(recurring.peak(self, rows)?);
        }
        self.fits(peak)?;
        told(Streamed::Begins { peak, rows });
        let stats = Stats { engine: self.backend.name(), ..Stats::default() };
        let mut course = Course { engine: self, recurring, stats };
        while let Some(output) =
            growing.iter_mut().filter(|output| !output.has_ended()).min_by_key(|output| output.reached())
        {
            course.advance(output)?;
            course.forget_frames(&growing);
        }
        for stream in self.streams.values() {
            let (leftover, frame) = (stream.lock().leftover, stream.frame);
            if leftover > 0 {
                told(Streamed::LeftOver { input: &stream.tensor.name, leftover, frame });
            }
        }
        for output in growing {
            let path = output.path();
            let rows = output.finish(self)?;
            told(Streamed::Written { path, rows });
        }
        Ok(course.stats)
    }

    /// An error if all outputs together take more memory than they may.
    fn fits(&self, peak: u64) -> Result<()> {
        match memory_limit(&self.limits, peak) {
            Some(limit) if peak > limit => {
                let message =
                    format!("the outputs need {peak} bytes at their peak, but the limit is {limit}");
                Err(self.error(
                    Diagnostic::new(Code::E1005, message).help("write fewer outputs, or raise `--memory`"),
                ))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// An output without an end has to depend on a stream, which has one.
    fn follows_a_stream(&self, output: &Output) -> Result<()> {
        let graph = &self.program.graph;
        let streams = uses(graph, output.view.base).tensors;
        let follows = streams.iter().any(|id: &TensorId| is_stream(graph.tensor(*id)));
        if follows || output.view.domain().shape().is_some() {
            return Ok(());
        }
        let message = format!(
            "an output needs an end, but {} has none and depends on no stream",
            quoted(&output.view.name)
        );
        Err(self.error(Diagnostic::new(Code::E0802, message).at(output.span, "goes on forever")))
    }
}

pub(super) fn is_stream(tensor: &Tensor) -> bool {
    matches!(tensor.kind, TensorKind::Input(InputSource::Stream))
}

/// Rows of a view along its first dimension.
pub(super) fn rows_of(view: &View, rows: Interval) -> std::result::Result<View, Box<Diagnostic>> {
    let cut = view.mapped(|map| {
        let mut dims = map.domain().dims().to_vec();
        if let Some(first) = dims.first_mut() {
            *first = first.with_interval(rows);
        }
        Transform::new(Domain::new(dims)?, map.outputs().to_vec())
    });
    cut.map_err(|error| Box::new(Diagnostic::new(Code::E1009, error.to_string())))
}
