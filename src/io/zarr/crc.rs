//! The checksum CRC-32C: bytes -> 32 bits that change whenever a few of the bytes do.
//!
//! ```text
//! "123456789"   ->   0xe3069283
//! ```

/// The Castagnoli polynomial, lowest bit first.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// What a byte does to the checksum, with 0 to 7 bytes after it.
static TABLES: [[u32; 256]; 8] = tables();

const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut crc, mut bit) = (byte as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut at = 256;
    while at < 8 * 256 {
        let before = tables[at / 256 - 1][at % 256];
        tables[at / 256][at % 256] = (before >> 8) ^ tables[0][(before & 255) as usize];
        at += 1;
    }
    tables
}

/// The checksum of all bytes, eight at a time.
pub(in crate::io) fn crc32c(bytes: &[u8]) -> u32 {
    let (eights, rest) = bytes.as_chunks::<8>();
    let mut crc = !0u32;
    for eight in eights {
        let word = u64::from_le_bytes(*eight) ^ u64::from(crc);
        let lookup = |at: usize| TABLES[7 - at][(word >> (8 * at)) as usize & 255];
        crc = (0..8).fold(0, |sum, at| sum ^ lookup(at));
    }
    !rest.iter().fold(crc, |crc, byte| (crc >> 8) ^ TABLES[0][(crc as usize ^ usize::from(*byte)) & 255])
}

#[cfg(test)]
mod tests {
    use super::crc32c;

    #[test]
    fn known_checksums() {
        let check = |bytes: &[u8], expect: u32| assert_eq!(crc32c(bytes), expect, "{bytes:?}");
        check(b"", 0);
        check(b"123456789", 0xe306_9283);
        check(&[0; 32], 0x8a91_36aa);
        check(&[255; 32], 0x62a8_ab43);
        check(&(0..32).collect::<Vec<u8>>(), 0x46dd_794e);
    }
}
