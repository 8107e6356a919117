//! PNG, by the `png` crate: a file -> u8 or u16 samples, and samples -> a file, row by row.
//!
//! Palettes, fewer than 8 bits and transparent colours are expanded, so that a grey image is (y, x) and any other
//! (y, x, channels). The file's bytes go through a buffer of our own: no error of the disk can get lost in the crate.

use super::disk::File;
use super::elements::{size, swap_bytes};
use super::encode::{Encode, Out};
use super::error::{Fault, Result, fault};
use super::shape::{Frame, Order, bytes, split_planes, zeroed};
use super::source::Source;
use super::{Array, Expect, mismatched_picture};
use crate::graph::types::Element;
use ::png::{
    BitDepth, ColorType, Decoder, DecodingError, Info, Limits, Reader, StreamWriter, Transformations,
};
use std::io::{self, BufReader, ErrorKind, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Deflate cannot do better than one bit for a length of 258 and one for its distance.
const BEST_RATIO: u64 = 1032;
/// What the decoder may use besides rows of pixels.
const LIMIT: usize = 16 << 20;
/// Size of the file's data chunks.
const CHUNK: usize = 1 << 16;

/// Element type and size of the image.
pub(super) fn describe(source: &mut Source) -> Result<(Element, Frame)> {
    open(source).map(|reader| layout(&reader))
}

/// Reads the image when it is what `expect` says.
pub(super) fn read(source: &mut Source, expect: &Expect<'_>) -> Result<Array> {
    let mut reader = open(source)?;
    let (element, frame) = layout(&reader);
    let order = frame.order_in(expect.shape).filter(|_| element == expect.element);
    let Some(order) = order else { return Err(mismatched_picture(element, &frame.shape(), expect)) };
    let mut data = zeroed(bytes(element, expect.shape)?)?;
    match order {
        Order::Planar if !reader.info().interlaced => read_planes(&mut reader, size(element), &mut data)?,
        Order::Planar | Order::Chunky => reader.next_frame(&mut data).map_err(damaged).map(drop)?,
    }
    let interlaced = reader.info().interlaced;
    // Every whole file ends in a chunk that says so.
    reader.finish().map_err(damaged)?;
    swap_bytes(element, &mut data);
    if order == Order::Planar && interlaced {
        data = split_planes(&data, frame.channels, size(element))?;
    }
    Ok(Array { element, shape: expect.shape.to_vec(), data })
}

/// Reads the image row by row, each sample into the plane of its channel, so that it is not there twice.
fn read_planes(reader: &mut Reader<BufReader<&File>>, size: usize, planes: &mut [u8]) -> Result<()> {
    let (_, frame) = layout(reader);
    let channels = usize::from(frame.channels);
    let row_bytes = frame.width as usize * size;
    let plane_bytes = row_bytes * frame.height as usize;
    for at in 0..frame.height as usize {
        let Some(row) = reader.next_row().map_err(damaged)? else { return Err(fault("ends early")) };
        for (channel, plane) in planes.chunks_exact_mut(plane_bytes).enumerate() {
            let samples = row.data().chunks_exact(size).skip(channel).step_by(channels);
            let to = plane[at * row_bytes..][..row_bytes].chunks_exact_mut(size);
            to.zip(samples).for_each(|(to, sample)| to.copy_from_slice(sample));
        }
    }
    Ok(())
}

/// Reads everything before the pixels.
fn open(source: &mut Source) -> Result<Reader<BufReader<&File>>> {
    let len = source.len;
    let mut decoder = Decoder::new_with_limits(source.whole()?, Limits { bytes: LIMIT });
    decoder.set_transformations(Transformations::EXPAND);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let row = plausible_row(decoder.read_header_info().map_err(damaged)?, len)?;
    decoder.set_limits(Limits { bytes: LIMIT.saturating_add(row) });
    decoder.read_info().map_err(damaged)
}

/// Bytes of an expanded row, when a file of `len` bytes can hold that many of them.
fn plausible_row(info: &Info<'_>, len: u64) -> Result<usize> {
    let (height, width) = (u64::from(info.height), u64::from(info.width));
    let bits = info.color_type.samples() as u64 * info.bit_depth as u64;
    let packed = u128::from(height) * u128::from((width * bits).div_ceil(8) + 1);
    if packed > u128::from(len) * u128::from(BEST_RATIO) {
        return Err(fault(format!(
            "says that it is {height} × {width} pixels, too many for a file of {len} bytes"
        )));
    }
    // Four samples of two bytes are the most that a pixel can become.
    usize::try_from(width * 8).map_err(|_| fault("has rows that are too long"))
}

fn layout(reader: &Reader<BufReader<&File>>) -> (Element, Frame) {
    let (color, depth) = reader.output_color_type();
    let element = if depth == BitDepth::Sixteen { Element::U16 } else { Element::U8 };
    let (width, height) = reader.info().size();
    (element, Frame { height, width, channels: color.samples() as u16 })
}

fn damaged(error: DecodingError) -> Fault {
    match error {
        DecodingError::IoError(error) if error.kind() == ErrorKind::UnexpectedEof => fault("ends early"),
        DecodingError::IoError(error) => error.into(),
        DecodingError::LimitsExceeded => fault("needs more memory than its size justifies"),
        DecodingError::Format(error) => {
            fault(format!("is not a whole png file: {}", error.to_string().to_lowercase()))
        }
        DecodingError::Parameter(error) => fault(format!("is not a whole png file: {error}")),
    }
}

/// Where the crate puts the bytes of the file.
#[derive(Clone, Default)]
struct Pipe(Arc<Mutex<Vec<u8>>>);

impl Pipe {
    /// Writes what has come through to the file.
    fn drain(&self, out: &mut Out) -> io::Result<()> {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        out.write_all(&bytes)?;
        bytes.clear();
        Ok(())
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A whole file in memory: red, green, blue and opacity of every pixel, row by row, compressed quickly.
pub fn rgba_file(width: u32, height: u32, pixels: &[u8]) -> std::result::Result<Vec<u8>, String> {
    let mut file = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut file, width, height);
    encoder.set_color(ColorType::Rgba);
    encoder.set_compression(::png::Compression::Fast);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(pixels)?;
        writer.finish()
    });
    written.map_err(|error| error.to_string())?;
    Ok(file)
}

/// Writes one image of u8 or u16 samples, those of a pixel side by side.
pub(super) struct Encoder {
    out: Out,
    pipe: Pipe,
    stream: StreamWriter<'static, Pipe>,
    element: Element,
    swapped: Vec<u8>,
}

impl Encoder {
    pub(super) fn new(out: Out, frame: Frame, element: Element) -> io::Result<Encoder> {
        let pipe = Pipe::default();
        let mut encoder = ::png::Encoder::new(pipe.clone(), frame.width, frame.height);
        encoder.set_color(match frame.channels {
            1 => ColorType::Grayscale,
            3 => ColorType::Rgb,
            _ => ColorType::Rgba,
        });
        encoder.set_depth(if element == Element::U16 { BitDepth::Sixteen } else { BitDepth::Eight });
        let stream = encoder.write_header()?.into_stream_writer_with_size(CHUNK)?;
        Ok(Encoder { out, pipe, stream, element, swapped: Vec::new() })
    }
}

impl Encode for Encoder {
    fn write(&mut self, elements: &[u8]) -> io::Result<()> {
        if self.element == Element::U16 {
            self.swapped.clear();
            self.swapped.extend_from_slice(elements);
            swap_bytes(self.element, &mut self.swapped);
            self.stream.write_all(&self.swapped)?;
        } else {
            self.stream.write_all(elements)?;
        }
        self.pipe.drain(&mut self.out)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        let Encoder { mut out, pipe, stream, .. } = *self;
        stream.finish()?;
        pipe.drain(&mut out)?;
        out.flush()
    }
}
