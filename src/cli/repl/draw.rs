//! An array -> a picture on the screen: half blocks in colours, letters without, or pixels where the terminal has them.
//!
//! ```text
//! 256×256 numbers on 80×24 characters   ->   80×46 pixels, two in each `▀`: the upper in front, the lower behind
//! ```

use super::graphics::{iterm, kitty, sixel};
use super::screen::{Colours, Pixels, Screen};
use super::table::float_text;
use crate::diagnostic::counted;
use crate::graph::types::Element;
use crate::io::{Array, colours, scalar_at};

/// Red, green and blue.
pub type Rgb = [u8; 3];

/// Pixels, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// All of them.
    pub pixels: Vec<Rgb>,
}

/// What is to be drawn: one or three values for every place.
#[derive(Clone, Debug)]
pub struct Picture {
    width: usize,
    height: usize,
    /// One layer, or red, green and blue.
    layers: Vec<Vec<f64>>,
    map: [Rgb; 256],
    range: (f64, f64),
}

impl Picture {
    /// An array of (y, x), (3 or 4, y, x) or (y, x, 3 or 4); numbers are mapped from `range`, else from what they span.
    pub fn of(array: &Array, map: Option<&str>, range: Option<(f64, f64)>) -> Result<Picture, String> {
        let bytes = array.element.bytes() as usize;
        let values = array.data.chunks_exact(bytes).map(|bytes| scalar_at(array.element, bytes).to_f64());
        let values: Vec<f64> = values.collect();
        let size = |at: usize| usize::try_from(array.shape[at]).unwrap_or(0);
        let (height, width, layers) = match array.shape[..] {
            [_] => (1, size(0), vec![values]),
            [_, _] => (size(0), size(1), vec![values]),
            [3 | 4, _, _] => {
                let plane = size(1) * size(2);
                (size(1), size(2), values.chunks(plane.max(1)).take(3).map(<[f64]>::to_vec).collect())
            }
            [_, _, channels @ (3 | 4)] => {
                let channels = channels as usize;
                let layer = |at: usize| values.iter().skip(at).step_by(channels).copied().collect();
                (size(0), size(1), (0..3).map(layer).collect())
            }
            _ => {
                let dims = counted(array.shape.len(), "dimension");
                return Err(format!("a picture has 2 dimensions, or 3 with colours, but this has {dims}"));
            }
        };
        let range = range.unwrap_or_else(|| natural(array.element, &layers));
        let map = map.and_then(colours).unwrap_or_else(|| std::array::from_fn(|at| [at as u8; 3]));
        Ok(Picture { width, height, layers, map, range })
    }

    /// `0 to 255`: what is drawn darkest and brightest.
    pub fn range_text(&self) -> String {
        format!("{} to {}", float_text(self.range.0), float_text(self.range.1))
    }

    /// The picture in at most that many pixels; each is the mean of what it stands for.
    fn scaled(&self, most_width: usize, most_height: usize) -> Image {
        if self.width == 0 || self.height == 0 {
            return Image { width: 0, height: 0, pixels: Vec::new() };
        }
        let by = |size: usize, most: usize| size as f64 / most.max(1) as f64;
        let scale = by(self.width, most_width).max(by(self.height, most_height)).max(1.0);
        let fit = |size: usize| ((size as f64 / scale).round() as usize).max(1);
        let (width, height) = (fit(self.width), fit(self.height));
        let span = |at: usize, count: usize, size: usize| {
            let first = at * size / count;
            first..((at + 1) * size / count).max(first + 1)
        };
        let pixel = |y: usize, x: usize| {
            let (rows, columns) = (span(y, height, self.height), span(x, width, self.width));
            self.colour(|layer| {
                let row =
                    |row: usize| &layer[row * self.width + columns.start..row * self.width + columns.end];
                let (sum, count) = rows
                    .clone()
                    .flat_map(row)
                    .filter(|value| !value.is_nan())
                    .fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
                if count == 0 { f64::NAN } else { sum / f64::from(count) }
            })
        };
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (y, x))).map(|(y, x)| pixel(y, x));
        Image { width, height, pixels: pixels.collect() }
    }

    /// The colour of a place whose values `of` gives.
    fn colour(&self, of: impl Fn(&[f64]) -> f64) -> Rgb {
        let (lo, hi) = self.range;
        let level = |value: f64| {
            let part = (value - lo) / (hi - lo);
            if part.is_nan() { 0 } else { (part.clamp(0.0, 1.0) * 255.0).round() as u8 }
        };
        match &self.layers[..] {
            [one] => self.map[usize::from(level(of(one)))],
            several => {
                let mut rgb = [0; 3];
                rgb.iter_mut().zip(several).for_each(|(to, layer)| *to = level(of(layer)));
                rgb
            }
        }
    }
}

/// What numbers are drawn from and to when nobody says: bytes and bools as they are, others as far as they span.
fn natural(element: Element, layers: &[Vec<f64>]) -> (f64, f64) {
    match element {
        Element::U8 => (0.0, 255.0),
        Element::Bool => (0.0, 1.0),
        _ => {
            let finite = layers.iter().flatten().filter(|value| value.is_finite());
            finite
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), value| (lo.min(*value), hi.max(*value)))
        }
    }
}

/// Pixels of a terminal's character, about.
const CELL: (usize, usize) = (8, 16);

/// The picture as text and escape sequences for a screen.
pub fn draw(picture: &Picture, screen: &Screen) -> String {
    let (columns, rows) = (screen.columns.max(8), screen.rows.saturating_sub(3).max(4));
    let pixels = || picture.scaled(columns * CELL.0, rows * CELL.1);
    match (screen.pixels, screen.colours) {
        (Pixels::Kitty, _) => kitty(&pixels()),
        (Pixels::Iterm, _) => iterm(&pixels()),
        (Pixels::Sixel, _) => sixel(&pixels()),
        (Pixels::Blocks, Colours::None) => letters(&picture.scaled(columns, 2 * rows)),
        (Pixels::Blocks, Colours::Palette) => blocks(&picture.scaled(columns, 2 * rows), palette),
        (Pixels::Blocks, Colours::True) => blocks(&picture.scaled(columns, 2 * rows), rgb),
    }
}

/// `2;255;0;0`: a colour of 24 bits in an escape sequence.
fn rgb([red, green, blue]: Rgb) -> String {
    format!("2;{red};{green};{blue}")
}

/// `5;196`: the nearest of the 216 colours and 24 greys.
fn palette(colour: Rgb) -> String {
    let level = |value: u8| {
        if value < 48 {
            0
        } else if value < 115 {
            1
        } else {
            (value - 35) / 40
        }
    };
    let cube = colour.map(level);
    let of_cube = cube.map(|level| if level == 0 { 0 } else { 55 + 40 * level });
    let mean = colour.iter().map(|value| u32::from(*value)).sum::<u32>() / 3;
    let grey = (mean.saturating_sub(3) / 10).min(23) as u8;
    let of_grey = [8 + 10 * grey; 3];
    let far =
        |other: Rgb| -> u32 { colour.iter().zip(other).map(|(a, b)| u32::from(a.abs_diff(b)).pow(2)).sum() };
    if far(of_grey) < far(of_cube) {
        format!("5;{}", 232 + u32::from(grey))
    } else {
        format!("5;{}", 16 + 36 * u32::from(cube[0]) + 6 * u32::from(cube[1]) + u32::from(cube[2]))
    }
}

/// Two pixels in each character.
fn blocks(image: &Image, colour: fn(Rgb) -> String) -> String {
    let mut text = String::new();
    for rows in image.pixels.chunks(2 * image.width.max(1)) {
        let (upper, lower) = rows.split_at(image.width);
        let mut last = None;
        for (x, above) in upper.iter().enumerate() {
            let below = lower.get(x).copied();
            if last != Some((*above, below)) {
                last = Some((*above, below));
                let behind = below.map_or("49".to_owned(), |below| format!("48;{}", colour(below)));
                text.push_str(&format!("\x1b[38;{};{behind}m", colour(*above)));
            }
            text.push('▀');
        }
        text.push_str("\x1b[0m\n");
    }
    text
}

/// Letters from light to dark paper: the more ink, the brighter.
const INK: &[u8] = b" .:-=+*#%@";

/// Darkness as letters, for where there are no colours.
fn letters(image: &Image) -> String {
    let mut text = String::new();
    for rows in image.pixels.chunks(2 * image.width.max(1)) {
        let (upper, lower) = rows.split_at(image.width);
        for (x, above) in upper.iter().enumerate() {
            let below = lower.get(x).unwrap_or(above);
            let light =
                |[red, green, blue]: Rgb| 3 * usize::from(red) + 6 * usize::from(green) + usize::from(blue);
            let mean = (light(*above) + light(*below)) / 2;
            text.push(char::from(INK[mean * (INK.len() - 1) / 2550]));
        }
        let kept = text.trim_end_matches(' ').len();
        text.truncate(kept);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(shape: &[i64]) -> Array {
        let count = shape.iter().product::<i64>() as usize;
        let data = (0..count).map(|at| (at * 255 / (count - 1).max(1)) as u8).collect();
        Array { element: Element::U8, shape: shape.to_vec(), data }
    }

    fn screen(colours: Colours) -> Screen {
        Screen { columns: 10, rows: 7, colours, ..Screen::plain() }
    }

    #[test]
    fn without_colours_darkness_is_ink() {
        let check = |shape: &[i64], expect: &str| {
            let picture = Picture::of(&ramp(shape), None, None).expect("a picture");
            assert_eq!(draw(&picture, &screen(Colours::None)), expect, "{shape:?}");
        };
        check(&[2, 10], "::--==++**\n");
        check(&[0, 4], "");
    }

    #[test]
    fn colours_are_those_of_the_screen() {
        let picture = Picture::of(&ramp(&[2, 1]), None, None).expect("a picture");
        assert_eq!(draw(&picture, &screen(Colours::True)), "\x1b[38;2;0;0;0;48;2;255;255;255m▀\x1b[0m\n");
        assert_eq!(draw(&picture, &screen(Colours::Palette)), "\x1b[38;5;16;48;5;231m▀\x1b[0m\n");
        let red = Array { element: Element::U8, shape: vec![3, 1, 1], data: vec![255, 0, 0] };
        let picture = Picture::of(&red, None, None).expect("a picture");
        assert_eq!(draw(&picture, &screen(Colours::True)), "\x1b[38;2;255;0;0;49m▀\x1b[0m\n");
        assert_eq!(palette([128, 128, 128]), "5;244");
    }

    #[test]
    fn large_pictures_are_averaged_and_nan_is_dark() {
        let nan = [f32::NAN, 1.0, 3.0, f32::NAN].iter().flat_map(|value| value.to_le_bytes()).collect();
        let array = Array { element: Element::F32, shape: vec![1, 4], data: nan };
        let picture = Picture::of(&array, None, Some((0.0, 2.0))).expect("a picture");
        assert_eq!(picture.range_text(), "0 to 2");
        let small = picture.scaled(2, 2);
        assert_eq!((small.width, small.height), (2, 1));
        assert_eq!(small.pixels, [[128; 3], [255; 3]]);
        assert_eq!(picture.scaled(4, 1).pixels[0], [0; 3]);
        assert!(Picture::of(&ramp(&[2, 2, 2]), None, None).is_err());
    }
}
