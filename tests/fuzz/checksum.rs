//! The checksum at the end of a stored tile, made right after the tile was changed, so that what is inside is looked at.

/// Makes the last four bytes the CRC-32C of those before.
pub(crate) fn right_last_checksum(bytes: &mut [u8]) {
    let Some(end) = bytes.len().checked_sub(4) else { return };
    let bit = |crc: u32, _| (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
    let sum = bytes[..end].iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), bit));
    bytes[end..].copy_from_slice(&(!sum).to_le_bytes());
}
