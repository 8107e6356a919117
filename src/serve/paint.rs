//! Elements of a tile -> pixels: one range for all tiles of a layer, so that no edge shows between them.
//!
//! ```text
//! [0.0, 0.5, NaN] in 0..1 with `grey`      black, mid grey, transparent
//! ```
//!
//! Where a layer has no element, a pixel is transparent, too.

use super::answer::{Refusal, busy};
use super::tile::{Patch, Window};
use crate::graph::types::Element;
use crate::io::{floats_of, rgba_file};

/// How values become colours.
pub(super) struct Palette {
    pub(super) colours: [[u8; 3]; 256],
    pub(super) range: (f64, f64),
}

/// The png file of a tile.
pub(super) fn png(patch: &Patch, window: &Window, palette: &Palette) -> Result<Vec<u8>, Refusal> {
    let [height, width] = window.count.map(|count| count as usize * window.zoom as usize);
    let mut values = Vec::new();
    floats_of(patch.element, &patch.data, &mut values);
    let mut pixels = vec![0; height * width * 4];
    for (at, pixel) in pixels.chunks_exact_mut(4).enumerate() {
        if let Some(sample) = sample(patch, window, [at / width, at % width]) {
            pixel.copy_from_slice(&colour(patch, palette, &values, sample));
        }
    }
    rgba_file(width as u32, height as u32, &pixels).map_err(busy)
}

/// The elements of a patch as a byte each: where they lie in the range, as pixels show it.
pub(super) fn levels(patch: &Patch, range: (f64, f64)) -> Vec<u8> {
    let mut values = Vec::new();
    floats_of(patch.element, &patch.data, &mut values);
    values.into_iter().map(|value| level(value, range)).collect()
}

/// Which sample of the patch a pixel shows, if any.
fn sample(patch: &Patch, window: &Window, pixel: [usize; 2]) -> Option<usize> {
    let place = |way: usize| {
        let number = window.first[way] + (pixel[way] as i64 / window.zoom) as i128;
        let place = usize::try_from(number - i128::from(patch.first[way])).ok()?;
        (place < patch.size[way]).then_some(place)
    };
    Some(place(0)? * patch.size[1] + place(1)?)
}

fn colour(patch: &Patch, palette: &Palette, values: &[f64], sample: usize) -> [u8; 4] {
    let plane = patch.size[0] * patch.size[1];
    if patch.channels == 1 {
        let value = values[sample];
        let [red, green, blue] = palette.colours[usize::from(level(value, palette.range))];
        return [red, green, blue, if value.is_nan() { 0 } else { 255 }];
    }
    let channel = |at: usize| level(values[at * plane + sample], palette.range);
    [channel(0), channel(1), channel(2), if patch.channels == 4 { channel(3) } else { 255 }]
}

/// Where a value lies in the range, from 0 to 255; NaN is 0.
fn level(value: f64, (lo, hi): (f64, f64)) -> u8 {
    // A sum above 2^52 is rounded to a whole number, half to even, and ends in it: what processors have for a whole row.
    const WHOLE: f64 = (1u64 << 52) as f64;
    let fraction = (value / 2.0 - lo / 2.0) / (hi / 2.0 - lo / 2.0);
    let within = if fraction > 0.0 { fraction.min(1.0) } else { 0.0 };
    if lo < hi { (within * 255.0 + WHOLE).to_bits() as u8 } else { 0 }
}

/// The range of types that have one; none of those whose values tell.
pub(super) fn natural_range(element: Element) -> Option<(f64, f64)> {
    match element {
        Element::Bool => Some((0.0, 1.0)),
        Element::U8 => Some((0.0, 255.0)),
        Element::U16 => Some((0.0, 65535.0)),
        Element::U32 | Element::U64 | Element::I8 | Element::I16 | Element::I32 | Element::I64 => None,
        Element::F16 | Element::F32 | Element::F64 => None,
    }
}

/// Smallest and largest finite value, 0 and 1 if there is none.
pub(super) fn range_of(patch: &Patch) -> (f64, f64) {
    let mut values = Vec::new();
    floats_of(patch.element, &patch.data, &mut values);
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (lo, hi) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    if lo <= hi { (lo, hi) } else { (0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_levels() {
        let check = |value, range, expect| assert_eq!(level(value, range), expect, "{value}");
        check(0.0, (0.0, 1.0), 0);
        check(0.5, (0.0, 1.0), 128);
        check(7.0, (0.0, 1.0), 255);
        check(2.5, (0.0, 255.0), 2);
        check(3.5, (0.0, 255.0), 4);
        check(254.6, (0.0, 255.0), 255);
        check(f64::NEG_INFINITY, (0.0, 1.0), 0);
        check(f64::NAN, (0.0, 1.0), 0);
        check(3.0, (3.0, 3.0), 0);
        check(0.0, (-f64::MAX, f64::MAX), 128);
    }
}
