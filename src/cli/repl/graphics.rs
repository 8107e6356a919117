//! Pixels -> the escape sequences of terminals that can draw them: kitty, iTerm2, and sixels.

use super::draw::{Image, Rgb};
use crate::io::rgba_file;
use std::fmt::Write as _;

/// Bytes of text in one sequence of kitty, at the most.
const CHUNK: usize = 4096;

/// The protocol of kitty: plain pixels in base 64, in chunks.
pub(super) fn kitty(image: &Image) -> String {
    let data = base64(image.pixels.as_flattened());
    let chunks: Vec<&[u8]> = data.as_bytes().chunks(CHUNK).collect();
    let mut text = String::new();
    for (at, chunk) in chunks.iter().enumerate() {
        let more = u8::from(at + 1 < chunks.len());
        let head = match at {
            // `q=2`: an answer would be taken for what is typed next.
            0 => format!("a=T,q=2,f=24,s={},v={},m={more}", image.width, image.height),
            _ => format!("q=2,m={more}"),
        };
        let _ = write!(text, "\x1b_G{head};{}\x1b\\", String::from_utf8_lossy(chunk));
    }
    text + "\n"
}

/// The protocol of iTerm2: a file in base 64.
pub(super) fn iterm(image: &Image) -> String {
    let pixels: Vec<u8> =
        image.pixels.iter().flat_map(|[red, green, blue]| [*red, *green, *blue, 255]).collect();
    let side = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
    // Only sizes that do not fit the pixels can go wrong here.
    let file = rgba_file(side(image.width), side(image.height), &pixels).unwrap_or_default();
    let size = file.len();
    format!(
        "\x1b]1337;File=inline=1;size={size};width={}px;height={}px:{}\x07\n",
        image.width,
        image.height,
        base64(&file)
    )
}

/// Sixels: for every six rows and every colour in them, which pixels have it.
pub(super) fn sixel(image: &Image) -> String {
    let mut text = format!("\x1bPq\"1;1;{};{}", image.width, image.height);
    for colour in 0..216_usize {
        let percent = |part: usize| part * 20;
        let (red, green, blue) = (colour / 36, colour / 6 % 6, colour % 6);
        let _ = write!(text, "#{colour};2;{};{};{}", percent(red), percent(green), percent(blue));
    }
    let indices: Vec<usize> = image.pixels.iter().map(|pixel| cube(*pixel)).collect();
    for band in indices.chunks(6 * image.width.max(1)) {
        let mut used = band.to_vec();
        used.sort_unstable();
        used.dedup();
        for colour in used {
            let _ = write!(text, "#{colour}");
            for x in 0..image.width {
                let rows = band.iter().skip(x).step_by(image.width).enumerate();
                let bits =
                    rows.filter(|(_, index)| **index == colour).fold(0, |bits, (row, _)| bits | 1 << row);
                text.push(char::from(63_u8 + bits));
            }
            text.push('$');
        }
        text.push('-');
    }
    text + "\x1b\\\n"
}

/// The nearest of 6 × 6 × 6 colours.
fn cube(pixel: Rgb) -> usize {
    let [red, green, blue] = pixel.map(|part| (usize::from(part) * 5 + 127) / 255);
    36 * red + 6 * green + blue
}

/// Bytes as letters, six bits each.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0_usize, |bits, at| (bits << 8) | usize::from(*chunk.get(at).unwrap_or(&0)));
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at)) & 63];
            text.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Image {
        Image { width: 2, height: 1, pixels: vec![[255, 0, 0], [0, 0, 0]] }
    }

    #[test]
    fn base64_is_that_of_everyone() {
        let check = |text: &str, expect: &str| assert_eq!(base64(text.as_bytes()), expect);
        check("", "");
        check("M", "TQ==");
        check("Ma", "TWE=");
        check("Man", "TWFu");
        check("Many", "TWFueQ==");
    }

    #[test]
    fn pixels_are_sent_as_each_terminal_wants_them() {
        assert_eq!(kitty(&image()), "\x1b_Ga=T,q=2,f=24,s=2,v=1,m=0;/wAAAAAA\x1b\\\n");
        let large = Image { width: 100, height: 100, pixels: vec![[1, 2, 3]; 10_000] };
        assert_eq!(kitty(&large).matches("\x1b_G").count(), 10);
        assert!(iterm(&image()).starts_with("\x1b]1337;File=inline=1;size="));
        assert!(iterm(&image()).contains("width=2px;height=1px:iVBORw0KGgo"));
        let text = sixel(&image());
        assert!(text.starts_with("\x1bPq\"1;1;2;1#0;2;0;0;0"), "{text:?}");
        assert!(text.ends_with("#0?@$#180@?$-\x1b\\\n"), "{text:?}");
    }
}
