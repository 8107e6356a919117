//! Samples -> a TIFF file of uncompressed strips.
//!
//! ```text
//! header | directory | values that do not fit it | strip 0 | strip 1 | ...
//! ```
//!
//! Every size is known before the first sample, so the directory comes first and the samples stream behind it.
//! Files that reach 4 GiB are BigTIFF: the same with offsets of 8 bytes.

use super::tags;
use crate::graph::types::Element;
use crate::io::shape::Frame;

/// Strips are about this long, or one row, or enough that there are at most [`MOST_STRIPS`].
const STRIP_BYTES: u64 = 1 << 20;
const MOST_STRIPS: u64 = 1 << 16;

/// Width of offsets in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Offsets {
    Four,
    Eight,
}

/// One entry of the directory, its values little-endian.
struct Entry {
    tag: u16,
    kind: u16,
    count: u64,
    values: Vec<u8>,
}

/// Everything that comes before the samples, which follow as they are, those of a pixel side by side.
pub(in crate::io) fn head(frame: Frame, element: Element) -> Vec<u8> {
    let small = layout(frame, element, Offsets::Four);
    let end = small.len() as u64 + image_bytes(frame, element);
    if end <= u64::from(u32::MAX) { small } else { layout(frame, element, Offsets::Eight) }
}

fn image_bytes(frame: Frame, element: Element) -> u64 {
    frame.pixels().saturating_mul(u64::from(frame.channels) * element.bytes())
}

fn layout(frame: Frame, element: Element, offsets: Offsets) -> Vec<u8> {
    // The sizes of the values do not depend on where they point: a first pass finds where the strips start.
    let start = place(&entries(frame, element, offsets, 0), offsets).len() as u64;
    place(&entries(frame, element, offsets, start), offsets)
}

/// In rising order of tags.
fn entries(frame: Frame, element: Element, offsets: Offsets, start: u64) -> Vec<Entry> {
    let row = image_bytes(frame, element) / u64::from(frame.height);
    let height = u64::from(frame.height);
    let rows = (STRIP_BYTES / row).max(height.div_ceil(MOST_STRIPS)).clamp(1, height);
    let strips = height.div_ceil(rows);
    let wide = if offsets == Offsets::Four { tags::LONG } else { tags::LONG8 };
    let format = if element.is_float() {
        3
    } else if element.is_signed() {
        2
    } else {
        1
    };
    let each = usize::from(frame.channels);
    let mut entries = vec![
        entry(tags::WIDTH, tags::LONG, [frame.width.into()]),
        entry(tags::HEIGHT, tags::LONG, [height]),
        entry(tags::BITS, tags::SHORT, std::iter::repeat_n(element.bytes() * 8, each)),
        entry(tags::COMPRESSION, tags::SHORT, [1]),
        entry(tags::PHOTOMETRIC, tags::SHORT, [if frame.channels == 1 { 1 } else { 2 }]),
        entry(tags::STRIP_OFFSETS, wide, (0..strips).map(|strip| start + strip * rows * row)),
        entry(tags::SAMPLES, tags::SHORT, [frame.channels.into()]),
        entry(tags::ROWS_PER_STRIP, tags::LONG, [rows]),
        entry(tags::STRIP_SIZES, wide, (0..strips).map(|strip| rows.min(height - strip * rows) * row)),
        entry(tags::PLANAR, tags::SHORT, [1]),
    ];
    if frame.channels == 4 {
        entries.push(entry(tags::EXTRA_SAMPLES, tags::SHORT, [2]));
    }
    entries.push(entry(tags::SAMPLE_FORMAT, tags::SHORT, std::iter::repeat_n(format, each)));
    entries
}

fn entry(tag: u16, kind: u16, numbers: impl IntoIterator<Item = u64>) -> Entry {
    let size = match kind {
        tags::SHORT => 2,
        tags::LONG => 4,
        _ => 8,
    };
    let values: Vec<u8> =
        numbers.into_iter().flat_map(|number| number.to_le_bytes().into_iter().take(size)).collect();
    Entry { tag, kind, count: (values.len() / size) as u64, values }
}

/// Header, directory, and the values that are too long for it.
fn place(entries: &[Entry], offsets: Offsets) -> Vec<u8> {
    let (size, count_size, start) = match offsets {
        Offsets::Four => (4, 2, 8),
        Offsets::Eight => (8, 8, 16),
    };
    let mut head = b"II".to_vec();
    match offsets {
        Offsets::Four => head.extend([42, 0, 8, 0, 0, 0]),
        Offsets::Eight => head.extend([43, 0, 8, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0]),
    }
    let put = |bytes: &mut Vec<u8>, number: u64, size: usize| bytes.extend(&number.to_le_bytes()[..size]);
    put(&mut head, entries.len() as u64, count_size);
    let after = start + count_size + entries.len() * (4 + 2 * size) + size;
    let mut far = Vec::new();
    for entry in entries {
        put(&mut head, entry.tag.into(), 2);
        put(&mut head, entry.kind.into(), 2);
        put(&mut head, entry.count, size);
        let mut field = entry.values.clone();
        if field.len() > size {
            field = ((after + far.len()) as u64).to_le_bytes()[..size].to_vec();
            far.extend(&entry.values);
            far.resize(far.len().next_multiple_of(8), 0);
        }
        field.resize(size, 0);
        head.extend(field);
    }
    put(&mut head, 0, size);
    head.extend(far);
    // Samples start where any of them may: at a multiple of 8.
    head.resize(head.len().next_multiple_of(8), 0);
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_images_have_large_offsets() {
        let small = head(Frame { height: 1000, width: 1000, channels: 3 }, Element::F32);
        assert_eq!(&small[..4], b"II\x2a\0");
        let large = head(Frame { height: 40_000, width: 40_000, channels: 3 }, Element::U8);
        assert_eq!(&large[..4], b"II\x2b\0");
        assert!(large.len() < 4 << 20);
    }
}
