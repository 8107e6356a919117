//! How many elements and bytes a shape means, and how an image's shape lies in memory.
//!
//! ```text
//! [2, 3]        6 elements            a grey image of 2 rows and 3 columns
//! [3, 2, 5]     30 elements           a colour image of 2 rows, one plane per channel
//! [2, 5, 3]     30 elements           the same, the channels of a pixel side by side
//! ```

use super::error::{Fault, Result, array_type, fault};
use crate::graph::types::Element;
use crate::pages::prefer_large;

/// Number of elements; an error when it does not fit an i64, or a size is negative.
pub(super) fn count(shape: &[i64]) -> Result<u64> {
    let wrong = || fault(format!("cannot have the shape {shape:?}"));
    if shape.iter().any(|size| *size < 0) {
        return Err(wrong());
    }
    if shape.contains(&0) {
        return Ok(0);
    }
    let product = shape.iter().try_fold(1i64, |product, size| product.checked_mul(*size));
    product.map(i64::unsigned_abs).ok_or_else(wrong)
}

/// Number of bytes; an error when it does not fit an i64.
pub(super) fn bytes(element: Element, shape: &[i64]) -> Result<u64> {
    let total = count(shape)?.checked_mul(element.bytes()).filter(|total| i64::try_from(*total).is_ok());
    total.ok_or_else(|| fault(format!("cannot hold {}: it has too many bytes", array_type(element, shape))))
}

/// An empty vector with room for exactly `size` bytes, or an error where there is no such memory.
pub(super) fn room(size: u64) -> Result<Vec<u8>> {
    let mut data = Vec::new();
    let reserved = usize::try_from(size).ok().and_then(|size| data.try_reserve_exact(size).ok());
    reserved.ok_or_else(|| fault(format!("needs {size} bytes of memory, more than there is")))?;
    prefer_large(&data);
    Ok(data)
}

/// `size` zero bytes, or an error where there is no such memory.
pub(super) fn zeroed(size: u64) -> Result<Vec<u8>> {
    let mut data = room(size)?;
    data.resize(size as usize, 0);
    Ok(data)
}

/// An image: what a PNG or TIFF header says, and the two ways to lay it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) height: u32,
    pub(super) width: u32,
    /// Samples of a pixel: 1 grey, 3 colour, 4 with alpha.
    pub(super) channels: u16,
}

/// Where the channels are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Last: the samples of a pixel are neighbours, as in image files.
    Chunky,
    /// First: one plane per channel.
    Planar,
}

impl Frame {
    /// Its shape with the channels last, left out when there is one.
    pub(super) fn shape(self) -> Vec<i64> {
        let (height, width) = (self.height.into(), self.width.into());
        if self.channels == 1 { vec![height, width] } else { vec![height, width, self.channels.into()] }
    }

    /// Pixels of the image.
    pub(super) fn pixels(self) -> u64 {
        u64::from(self.height) * u64::from(self.width)
    }

    /// How an array of shape `shape` holds this image. Channels come first where both would do.
    pub(super) fn order_in(self, shape: &[i64]) -> Option<Order> {
        let (height, width, channels) = (self.height.into(), self.width.into(), self.channels.into());
        match shape {
            [h, w] => (channels == 1 && (*h, *w) == (height, width)).then_some(Order::Chunky),
            [c, h, w] if channels > 1 && (*c, *h, *w) == (channels, height, width) => Some(Order::Planar),
            [h, w, c] if channels > 1 && (*h, *w, *c) == (height, width, channels) => Some(Order::Chunky),
            _ => None,
        }
    }

    /// The image that an output of shape `shape` is: (y, x), (3 or 4, y, x) or (y, x, 3 or 4).
    pub(super) fn of_output(shape: &[i64]) -> Result<(Frame, Order)> {
        let colour = |channels: i64| channels == 3 || channels == 4;
        let (height, width, channels, order) = match *shape {
            [height, width] => (height, width, 1, Order::Chunky),
            [channels, height, width] if colour(channels) => (height, width, channels, Order::Planar),
            [height, width, channels] if colour(channels) => (height, width, channels, Order::Chunky),
            _ => return Err(not_an_image(shape)),
        };
        let side = |size: i64| u32::try_from(size).ok().filter(|size| (1..=LONGEST_SIDE).contains(size));
        let (Some(height), Some(width)) = (side(height), side(width)) else {
            return Err(fault(format!(
                "cannot be {height} × {width} pixels: a side has 1 to {LONGEST_SIDE}"
            )));
        };
        Ok((Frame { height, width, channels: channels as u16 }, order))
    }
}

/// What a PNG can say; a TIFF could say one bit more.
const LONGEST_SIDE: u32 = i32::MAX as u32;

fn not_an_image(shape: &[i64]) -> Fault {
    fault(format!(
        "is an image, (y, x), (3 or 4, y, x) or (y, x, 3 or 4), but the output has the shape {shape:?}"
    ))
    .help("drop a dimension with an integer index, `name[0, :, :]`")
}

/// (y, x, channel) -> (channel, y, x).
pub(super) fn split_planes(chunky: &[u8], channels: u16, size: usize) -> Result<Vec<u8>> {
    let channels = usize::from(channels);
    let mut planar = room(chunky.len() as u64)?;
    for channel in 0..channels {
        let samples = chunky.chunks_exact(size).skip(channel).step_by(channels);
        samples.for_each(|sample| planar.extend_from_slice(sample));
    }
    Ok(planar)
}

/// Equal blocks of each plane -> the same pixels with their samples side by side.
pub(super) fn join_planes(planes: &[Vec<u8>], size: usize, out: &mut Vec<u8>) {
    out.clear();
    let pixels = planes.first().map_or(0, Vec::len) / size;
    for pixel in 0..pixels {
        planes.iter().for_each(|plane| out.extend_from_slice(&plane[pixel * size..][..size]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_checked() {
        assert_eq!(count(&[]).unwrap(), 1);
        assert_eq!(count(&[2, 3]).unwrap(), 6);
        assert_eq!(count(&[i64::MAX, i64::MAX, 0]).unwrap(), 0);
        assert!(count(&[-1]).is_err());
        assert!(count(&[1 << 32, 1 << 31]).is_err());
        assert_eq!(bytes(Element::F64, &[5]).unwrap(), 40);
        assert!(bytes(Element::F64, &[1 << 60]).is_err());
        assert!(zeroed(1 << 62).is_err());
    }

    #[track_caller]
    fn check_output(shape: &[i64], expect: Option<(u32, u32, u16, Order)>) {
        let found = Frame::of_output(shape)
            .ok()
            .map(|(frame, order)| (frame.height, frame.width, frame.channels, order));
        assert_eq!(found, expect, "{shape:?}");
    }

    #[test]
    fn outputs_are_images_when_their_shape_says_so() {
        check_output(&[5, 7], Some((5, 7, 1, Order::Chunky)));
        check_output(&[3, 5, 7], Some((5, 7, 3, Order::Planar)));
        check_output(&[5, 7, 4], Some((5, 7, 4, Order::Chunky)));
        check_output(&[3, 5, 4], Some((5, 4, 3, Order::Planar)));
        check_output(&[5, 7, 2], None);
        check_output(&[5], None);
        check_output(&[0, 5], None);
        check_output(&[1 << 31, 5], None);
    }

    #[test]
    fn planes_split_and_join() {
        let chunky = [1, 2, 3, 4, 5, 6];
        assert_eq!(split_planes(&chunky, 3, 1).unwrap(), [1, 4, 2, 5, 3, 6]);
        assert_eq!(split_planes(&chunky, 3, 2).unwrap(), chunky);
        let mut out = Vec::new();
        join_planes(&[vec![1, 4], vec![2, 5], vec![3, 6]], 1, &mut out);
        assert_eq!(out, chunky);
    }

    #[test]
    fn a_declaration_may_put_the_channels_first() {
        let frame = Frame { height: 2, width: 5, channels: 3 };
        assert_eq!(frame.order_in(&[2, 5, 3]), Some(Order::Chunky));
        assert_eq!(frame.order_in(&[3, 2, 5]), Some(Order::Planar));
        assert_eq!(frame.order_in(&[2, 5]), None);
        let square = Frame { height: 3, width: 3, channels: 3 };
        assert_eq!(square.order_in(&[3, 3, 3]), Some(Order::Planar));
    }
}
