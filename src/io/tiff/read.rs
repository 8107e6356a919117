//! A TIFF file -> its first image as an array.
//!
//! The directory becomes a [`Picture`] whose sizes agree with each other and with the file; then chunk after chunk (a
//! strip or a tile of one plane) is unpacked row by row, straight to its place in the array.

use super::directory::{Directory, Endian};
use super::lzw::Lzw;
use super::packbits::PackBits;
use super::tags;
use crate::graph::types::Element;
use crate::io::elements::{size, swap_bytes};
use crate::io::error::{Fault, Result, fault};
use crate::io::shape::{Frame, Order, bytes, zeroed};
use crate::io::source::Source;
use crate::io::{Array, Expect, mismatched_picture};
use std::io::{self, BufRead, Read};

/// What the directory says about the image.
struct Picture {
    frame: Frame,
    element: Element,
    endian: Endian,
    packing: Packing,
    predictor: Predictor,
    /// Whether the file keeps the channels apart.
    order: Order,
    light: Light,
    chunks: Chunks,
}

#[derive(Clone, Copy)]
enum Packing {
    None,
    Lzw,
    Deflate,
    PackBits,
}

/// What the samples of a row are differences of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Predictor {
    None,
    /// The pixel before.
    Horizontal,
    /// The byte before, after the bytes of floats were sorted by significance.
    Float,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Light {
    BlackIsZero,
    WhiteIsZero,
}

/// The strips or tiles of one plane, in pixels; those at the right and lower edge stick out.
struct Chunks {
    width: u64,
    height: u64,
    across: u64,
    down: u64,
    offsets: u16,
    sizes: u16,
}

/// Element type and size of the first image.
pub(in crate::io) fn describe(source: &mut Source) -> Result<(Element, Frame)> {
    let directory = Directory::read(source)?;
    picture(source, &directory).map(|picture| (picture.element, picture.frame))
}

/// Reads the first image when it is what `expect` says.
pub(in crate::io) fn read(source: &mut Source, expect: &Expect<'_>) -> Result<Array> {
    let directory = Directory::read(source)?;
    let picture = picture(source, &directory)?;
    let order = picture.frame.order_in(expect.shape).filter(|_| picture.element == expect.element);
    let Some(order) = order else {
        return Err(mismatched_picture(picture.element, &picture.frame.shape(), expect));
    };
    let parts = parts(source, &directory, &picture)?;
    let data = zeroed(bytes(expect.element, expect.shape)?)?;
    let mut target = Target { data, order, frame: picture.frame, size: size(picture.element) };
    for (number, part) in parts.iter().enumerate() {
        let packed = source.part(part.start, part.size)?;
        let mut rows = unpacked(packed, picture.packing);
        unpack_chunk(&picture, part, &mut *rows, &mut target).map_err(|error| damaged(number, &error))?;
    }
    Ok(Array { element: expect.element, shape: expect.shape.to_vec(), data: target.data })
}

fn damaged(number: usize, error: &io::Error) -> Fault {
    let why = if error.kind() == io::ErrorKind::UnexpectedEof {
        "it ends early".to_owned()
    } else {
        error.to_string()
    };
    fault(format!("has image data that cannot be unpacked, in part {number}: {why}"))
}

fn picture(source: &mut Source, directory: &Directory) -> Result<Picture> {
    let frame = frame(source, directory)?;
    let element = element(source, directory)?;
    let light = match directory.value(source, tags::PHOTOMETRIC, 1)? {
        0 if element.is_int() && !element.is_signed() => Light::WhiteIsZero,
        1 | 2 => Light::BlackIsZero,
        other => {
            let help = "save it as grey or RGB";
            return Err(
                fault(format!("has the colour model {other}, but only grey and RGB are known")).help(help)
            );
        }
    };
    let order = match directory.value(source, tags::PLANAR, 1)? {
        2 if frame.channels > 1 => Order::Planar,
        _ => Order::Chunky,
    };
    Ok(Picture {
        frame,
        element,
        endian: directory.endian,
        packing: packing(source, directory)?,
        predictor: predictor(source, directory, element)?,
        order,
        light,
        chunks: chunks(source, directory, frame)?,
    })
}

fn frame(source: &mut Source, directory: &Directory) -> Result<Frame> {
    let height = directory.value(source, tags::HEIGHT, 0)?;
    let width = directory.value(source, tags::WIDTH, 0)?;
    let channels = directory.value(source, tags::SAMPLES, 1)?;
    match (u32::try_from(height), u32::try_from(width), u16::try_from(channels)) {
        (Ok(height @ 1..), Ok(width @ 1..), Ok(channels @ 1..)) => Ok(Frame { height, width, channels }),
        _ => Err(fault(format!("says that it is {height} × {width} pixels of {channels} samples"))),
    }
}

fn element(source: &mut Source, directory: &Directory) -> Result<Element> {
    let bits = directory.uniform(source, tags::BITS, 1)?;
    let format = directory.uniform(source, tags::SAMPLE_FORMAT, 1)?;
    Ok(match (format, bits) {
        (1 | 4, 8) => Element::U8,
        (1 | 4, 16) => Element::U16,
        (1 | 4, 32) => Element::U32,
        (1 | 4, 64) => Element::U64,
        (2, 8) => Element::I8,
        (2, 16) => Element::I16,
        (2, 32) => Element::I32,
        (2, 64) => Element::I64,
        (3, 16) => Element::F16,
        (3, 32) => Element::F32,
        (3, 64) => Element::F64,
        (1 | 2 | 4, _) => {
            return Err(fault(format!("has samples of {bits} bits, but only 8, 16, 32 and 64 are known")));
        }
        (3, _) => return Err(fault(format!("has floats of {bits} bits, but only 16, 32 and 64 are known"))),
        (_, _) => return Err(fault(format!("has samples of the format {format}, which has no counterpart"))),
    })
}

fn packing(source: &mut Source, directory: &Directory) -> Result<Packing> {
    match directory.value(source, tags::COMPRESSION, 1)? {
        1 => Ok(Packing::None),
        5 => Ok(Packing::Lzw),
        8 | 32946 => Ok(Packing::Deflate),
        32773 => Ok(Packing::PackBits),
        other => Err(fault(format!("is compressed by method {other}, which is not known"))
            .help("save it uncompressed, or with LZW, deflate or packbits")),
    }
}

fn predictor(source: &mut Source, directory: &Directory, element: Element) -> Result<Predictor> {
    match directory.value(source, tags::PREDICTOR, 1)? {
        1 => Ok(Predictor::None),
        2 => Ok(Predictor::Horizontal),
        3 if element.is_float() => Ok(Predictor::Float),
        other => Err(fault(format!("uses the predictor {other} on {element}, which is not known"))),
    }
}

fn chunks(source: &mut Source, directory: &Directory, frame: Frame) -> Result<Chunks> {
    let (image_width, image_height) = (u64::from(frame.width), u64::from(frame.height));
    let tiled = directory.has(tags::TILE_OFFSETS);
    let (width, height) = if tiled {
        (directory.value(source, tags::TILE_WIDTH, 0)?, directory.value(source, tags::TILE_HEIGHT, 0)?)
    } else {
        (image_width, directory.value(source, tags::ROWS_PER_STRIP, image_height)?.min(image_height))
    };
    if width == 0 || height == 0 {
        return Err(fault(format!("has tiles of {height} × {width} pixels")));
    }
    let (offsets, sizes) =
        if tiled { (tags::TILE_OFFSETS, tags::TILE_SIZES) } else { (tags::STRIP_OFFSETS, tags::STRIP_SIZES) };
    let (across, down) = (image_width.div_ceil(width), image_height.div_ceil(height));
    Ok(Chunks { width, height, across, down, offsets, sizes })
}

/// One chunk: where its packed bytes are, and which pixels of which channels they are.
struct Part {
    start: u64,
    size: u64,
    y: u64,
    x: u64,
    /// The plane, 0 when the samples of a pixel are together.
    channel: u16,
}

impl Picture {
    /// Channels that one chunk holds.
    fn together(&self) -> u16 {
        match self.order {
            Order::Chunky => self.frame.channels,
            Order::Planar => 1,
        }
    }

    /// Bytes of one unpacked row of a chunk; too large to count means too large to be true.
    fn row_bytes(&self) -> u64 {
        let pixel = self.element.bytes() * u64::from(self.together());
        self.chunks.width.saturating_mul(pixel)
    }

    /// Rows of the chunk at `y` that are inside the image.
    fn rows_at(&self, y: u64) -> u64 {
        self.chunks.height.min(u64::from(self.frame.height) - y)
    }
}

/// The chunks in the order of the file, after checking that the file can hold what they promise.
fn parts(source: &mut Source, directory: &Directory, picture: &Picture) -> Result<Vec<Part>> {
    let chunks = &picture.chunks;
    let plane = chunks.across.saturating_mul(chunks.down);
    let planes = u64::from(picture.frame.channels / picture.together());
    let total = plane.saturating_mul(planes);
    let offsets = directory.values(source, chunks.offsets, total)?;
    let sizes = directory.values(source, chunks.sizes, total)?;
    if [offsets.len() as u64, sizes.len() as u64] != [total, total] {
        let (offsets, sizes) = (offsets.len(), sizes.len());
        return Err(fault(format!(
            "needs {total} strips or tiles, but has {offsets} offsets and {sizes} sizes"
        )));
    }
    check_padding(picture)?;
    let places = (0..planes).flat_map(|channel| (0..plane).map(move |at| (channel as u16, at)));
    let parts = places.zip(offsets.into_iter().zip(sizes)).map(|((channel, at), (start, size))| Part {
        start,
        size,
        y: at / chunks.across * chunks.height,
        x: at % chunks.across * chunks.width,
        channel,
    });
    let parts: Vec<Part> = parts.collect();
    parts.iter().enumerate().try_for_each(|(number, part)| check_size(source, picture, number, part))?;
    Ok(parts)
}

/// Tiles that are mostly outside the image would cost time for nothing.
fn check_padding(picture: &Picture) -> Result<()> {
    let row = picture.row_bytes().saturating_mul(picture.chunks.across);
    let image = u64::from(picture.frame.width) * u64::from(picture.together()) * picture.element.bytes();
    let rows = u64::from(picture.frame.height);
    if row.saturating_mul(rows) <= image.saturating_mul(rows).saturating_mul(4).saturating_add(1 << 26) {
        return Ok(());
    }
    let (width, tile) = (picture.frame.width, picture.chunks.width);
    Err(fault(format!("has tiles of {tile} columns for an image of {width}")))
}

/// No packing makes data arbitrarily small, so few bytes cannot stand for many.
fn check_size(source: &Source, picture: &Picture, number: usize, part: &Part) -> Result<()> {
    let most = match picture.packing {
        Packing::None => 1,
        Packing::PackBits => 64,
        Packing::Deflate => 1032,
        Packing::Lzw => 2731,
    };
    let needs = picture.row_bytes().saturating_mul(picture.rows_at(part.y));
    let inside = part.start.checked_add(part.size).is_some_and(|end| end <= source.len);
    if inside && part.size.saturating_mul(most) >= needs {
        return Ok(());
    }
    let (start, size, len) = (part.start, part.size, source.len);
    Err(fault(format!(
        "ends early: part {number} is {size} bytes from byte {start} on and must unpack to {needs}, but the file has {len}"
    )))
}

fn unpacked<'a>(packed: impl BufRead + 'a, packing: Packing) -> Box<dyn Read + 'a> {
    match packing {
        Packing::None => Box::new(packed),
        Packing::Lzw => Box::new(Lzw::new(packed)),
        Packing::Deflate => Box::new(flate2::bufread::ZlibDecoder::new(packed)),
        Packing::PackBits => Box::new(PackBits::new(packed)),
    }
}

/// The array that is being filled.
struct Target {
    data: Vec<u8>,
    order: Order,
    frame: Frame,
    /// Bytes of one sample.
    size: usize,
}

fn unpack_chunk(picture: &Picture, part: &Part, rows: &mut dyn Read, target: &mut Target) -> io::Result<()> {
    let mut row = vec![0; picture.row_bytes() as usize];
    let mut spare = Vec::new();
    let inside = picture.chunks.width.min(u64::from(picture.frame.width) - part.x) as usize;
    let together = usize::from(picture.together());
    for y in part.y..part.y + picture.rows_at(part.y) {
        rows.read_exact(&mut row)?;
        undo_predictor(picture, &mut row, &mut spare);
        if picture.light == Light::WhiteIsZero {
            row.iter_mut().for_each(|byte| *byte = !*byte);
        }
        target.place(&row[..inside * together * target.size], (y, part.x), part.channel, together);
    }
    Ok(())
}

impl Target {
    /// Copies samples, `together` channels of neighbouring pixels from (y, x) on, to where they belong.
    fn place(&mut self, samples: &[u8], (y, x): (u64, u64), channel: u16, together: usize) {
        let (height, width) = (self.frame.height as usize, self.frame.width as usize);
        let (channels, size) = (usize::from(self.frame.channels), self.size);
        let pixel = y as usize * width + x as usize;
        let channel = usize::from(channel);
        // In samples: where the first one goes, the way to the next pixel and to the next channel.
        let (start, next_pixel, next_channel) = match self.order {
            Order::Chunky => (pixel * channels + channel, channels, 1),
            Order::Planar => (channel * height * width + pixel, 1, height * width),
        };
        if next_pixel == together {
            self.data[start * size..][..samples.len()].copy_from_slice(samples);
            return;
        }
        for (number, sample) in samples.chunks_exact(size).enumerate() {
            let at = start + number / together * next_pixel + number % together * next_channel;
            self.data[at * size..][..size].copy_from_slice(sample);
        }
    }
}

/// Makes a row of the file little-endian samples.
fn undo_predictor(picture: &Picture, row: &mut Vec<u8>, spare: &mut Vec<u8>) {
    let together = usize::from(picture.together());
    if picture.predictor == Predictor::Float {
        add_up(row, together, 1);
        spare.clear();
        spare.resize(row.len(), 0);
        gather_floats(row, spare, size(picture.element));
        std::mem::swap(row, spare);
        return;
    }
    if picture.endian == Endian::Big {
        swap_bytes(picture.element, row);
    }
    if picture.predictor == Predictor::Horizontal {
        add_up(row, together, size(picture.element));
    }
}

/// Adds to each little-endian number of `size` bytes the one `back` numbers before it.
fn add_up(row: &mut [u8], back: usize, size: usize) {
    for at in (back * size..row.len()).step_by(size) {
        let (done, rest) = row.split_at_mut(at);
        let mut carry = 0;
        for (byte, before) in rest[..size].iter_mut().zip(&done[at - back * size..]) {
            let sum = u16::from(*byte) + u16::from(*before) + carry;
            *byte = sum as u8;
            carry = sum >> 8;
        }
    }
}

/// All first bytes, then all second bytes ..., the most significant first -> little-endian floats.
fn gather_floats(planes: &[u8], floats: &mut [u8], size: usize) {
    let count = planes.len() / size;
    for (number, float) in floats.chunks_exact_mut(size).enumerate() {
        for (significance, byte) in float.iter_mut().rev().enumerate() {
            *byte = planes[significance * count + number];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_add_up_with_carry() {
        let mut row = [1, 0, 255, 0, 2, 1];
        add_up(&mut row, 1, 2);
        assert_eq!(row, [1, 0, 0, 1, 2, 2]);
        let mut row = [1, 10, 1, 10, 1, 250];
        add_up(&mut row, 2, 1);
        assert_eq!(row, [1, 10, 2, 20, 3, 14]);
    }

    #[test]
    fn floats_gather_from_their_planes() {
        let mut floats = [0; 4];
        gather_floats(&[1, 2, 3, 4], &mut floats, 2);
        assert_eq!(floats, [3, 1, 4, 2]);
    }
}
