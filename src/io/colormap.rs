//! The name of a colour map -> 256 colours, dark or low first.
//!
//! Each map is a few colours at equal distances; between them runs a cubic through all of them (Catmull-Rom), so that
//! no edge shows where two pieces meet. The colours of viridis, magma and turbo are a least-squares fit of such a curve to
//! the maps that have made these names known, within 7 levels of them; the others are our own.

/// Red, green and blue.
pub type Colours = [[u8; 3]; 256];

/// Black to white, evenly.
const GREY: [u32; 2] = [0x000000, 0xffffff];

/// Deep and shallow water, beach, meadow, forest, heath, rock, snow.
const TERRAIN: [u32; 12] = [
    0x16325c, 0x23588a, 0x3f86b0, 0x86bcc4, 0xd9cf9f, 0x94b568, 0x578a45, 0x6b8346, 0x8f7a52, 0x8a7768,
    0xb5aca6, 0xfbfbfb,
];

/// Violet over teal to yellow, even in lightness.
const VIRIDIS: [u32; 13] = [
    0x440154, 0x481f71, 0x443a83, 0x3b528b, 0x31688e, 0x287c8e, 0x21908c, 0x20a486, 0x35b779, 0x5dc962,
    0x8fd745, 0xc7e01e, 0xfde725,
];

/// Black over purple and salmon to cream, even in lightness.
const MAGMA: [u32; 11] = [
    0x000003, 0x130e36, 0x3b1070, 0x641980, 0x8c2a81, 0xb6377a, 0xde4968, 0xf76f5b, 0xfe9f6d, 0xfece91,
    0xfcfdbf,
];

/// The rainbow, without its harsh edges.
const TURBO: [u32; 15] = [
    0x30123b, 0x4147ae, 0x4777ef, 0x3aa4fc, 0x1bcfd4, 0x24eca7, 0x63fc6b, 0xa3fd3c, 0xd1e935, 0xf4c73b,
    0xfe9b2e, 0xf46416, 0xda3907, 0xb31a01, 0x7a0403,
];

/// What glows, from black over red and yellow to white.
const HEAT: [u32; 9] =
    [0x000000, 0x330603, 0x700e05, 0xb01c07, 0xe03e0b, 0xf6741a, 0xfdac37, 0xfedd7a, 0xffffff];

/// The depth of the sea, from its floor to the foam.
const OCEAN: [u32; 9] =
    [0x050a24, 0x0a1f4a, 0x0f3a70, 0x175a90, 0x2480a6, 0x43a5b5, 0x7cc7c3, 0xbbe3d9, 0xf4fbf6];

/// The colours of the map with that name.
pub fn colours(name: &str) -> Option<Colours> {
    let points: &[u32] = match name {
        "grey" | "gray" => &GREY,
        "terrain" => &TERRAIN,
        "viridis" => &VIRIDIS,
        "magma" => &MAGMA,
        "turbo" => &TURBO,
        "heat" => &HEAT,
        "ocean" => &OCEAN,
        _ => return None,
    };
    Some(std::array::from_fn(|index| colour(points, index)))
}

/// The colour at `index` of 0..256.
fn colour(points: &[u32], index: usize) -> [u8; 3] {
    let last = points.len() - 1;
    let place = index as f64 / 255.0 * last as f64;
    let piece = (place as usize).min(last - 1);
    let [start, end] = [points[piece], points[piece + 1]];
    let before = piece.checked_sub(1).map(|at| points[at]);
    let after = points.get(piece + 2).copied();
    std::array::from_fn(|channel| {
        let level = |point: u32| f64::from(point >> (16 - 8 * channel) & 0xff);
        let (start, end) = (level(start), level(end));
        // At the ends the curve goes on as it came.
        let before = before.map_or(2.0 * start - end, level);
        let after = after.map_or(2.0 * end - start, level);
        cubic([before, start, end, after], place - piece as f64).round().clamp(0.0, 255.0) as u8
    })
}

/// The Catmull-Rom curve from the second to the third point.
fn cubic([a, b, c, d]: [f64; 4], t: f64) -> f64 {
    let (rise, fall) = ((c - a) / 2.0, (d - b) / 2.0);
    let (square, cube) = (t * t, t * t * t);
    b * (2.0 * cube - 3.0 * square + 1.0)
        + rise * (cube - 2.0 * square + t)
        + c * (3.0 * square - 2.0 * cube)
        + fall * (cube - square)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 8] = ["grey", "gray", "terrain", "viridis", "magma", "turbo", "heat", "ocean"];

    #[test]
    fn maps_start_and_end_at_their_points() {
        assert_eq!(colours("grey").unwrap(), std::array::from_fn(|level| [level as u8; 3]));
        assert_eq!(colours("gray"), colours("grey"));
        assert_eq!(colours("viridis").unwrap()[255], [0xfd, 0xe7, 0x25]);
        assert_eq!(colours("heat").unwrap()[0], [0, 0, 0]);
        assert_eq!(colours("plaid"), None);
    }

    #[test]
    fn neighbours_are_close() {
        for name in NAMES {
            let colours = colours(name).unwrap();
            for pair in colours.windows(2) {
                let step = pair[0].iter().zip(pair[1]).map(|(a, b)| a.abs_diff(b)).max().unwrap();
                assert!(step <= 8, "{name}: {pair:?}");
            }
        }
    }

    /// Light as the eye weighs it.
    fn lightness([red, green, blue]: [u8; 3]) -> f64 {
        0.2126 * f64::from(red) + 0.7152 * f64::from(green) + 0.0722 * f64::from(blue)
    }

    #[test]
    fn maps_for_measuring_only_get_lighter() {
        for name in ["grey", "viridis", "magma", "heat", "ocean"] {
            let colours = colours(name).unwrap();
            assert!(colours.windows(2).all(|pair| lightness(pair[0]) <= lightness(pair[1]) + 0.8), "{name}");
        }
    }
}
