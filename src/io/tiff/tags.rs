//! The numbers of the TIFF specification that reader and writer share.

pub(super) const WIDTH: u16 = 256;
pub(super) const HEIGHT: u16 = 257;
pub(super) const BITS: u16 = 258;
pub(super) const COMPRESSION: u16 = 259;
/// 0: white is 0; 1: black is 0; 2: RGB.
pub(super) const PHOTOMETRIC: u16 = 262;
pub(super) const STRIP_OFFSETS: u16 = 273;
pub(super) const SAMPLES: u16 = 277;
pub(super) const ROWS_PER_STRIP: u16 = 278;
pub(super) const STRIP_SIZES: u16 = 279;
/// 1: the samples of a pixel are neighbours; 2: one plane per sample.
pub(super) const PLANAR: u16 = 284;
pub(super) const PREDICTOR: u16 = 317;
pub(super) const TILE_WIDTH: u16 = 322;
pub(super) const TILE_HEIGHT: u16 = 323;
pub(super) const TILE_OFFSETS: u16 = 324;
pub(super) const TILE_SIZES: u16 = 325;
/// 2: alpha that the colours are not multiplied by.
pub(super) const EXTRA_SAMPLES: u16 = 338;
/// 1: unsigned; 2: signed; 3: float; 4: anything.
pub(super) const SAMPLE_FORMAT: u16 = 339;

/// Type of a value: two bytes.
pub(super) const SHORT: u16 = 3;
/// Type of a value: four bytes.
pub(super) const LONG: u16 = 4;
/// Type of a value: eight bytes, BigTIFF only.
pub(super) const LONG8: u16 = 16;
