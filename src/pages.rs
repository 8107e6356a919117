//! Large pages of memory.
//!
//! ```text
//! let mut elements = Vec::with_capacity(64 << 20);
//! prefer_large(&elements);                           before anything is written
//! ```
//!
//! The system then clears new memory 2 MB at a time, which takes a fraction of what 512 small pages do, and the processor
//! has fewer of them to look up. NumPy asks for them, too.
#![allow(unsafe_code)]

/// Bytes of a large page.
#[cfg(target_os = "linux")]
const LARGE: usize = 2 << 20;
/// Bytes of a page, at the least; larger ones are multiples.
#[cfg(target_os = "linux")]
const SMALL: usize = 4096;

/// Asks for large pages where there is room for several. The system may refuse, and nothing depends on it.
///
/// The small pages at both ends are asked for, too: vectors that lie side by side, such as the slots of a stream, then
/// share the large page across their border.
#[cfg(target_os = "linux")]
pub fn prefer_large<T>(memory: &Vec<T>) {
    let (start, bytes) = (memory.as_ptr().addr(), memory.capacity() * size_of::<T>());
    if bytes >= 2 * LARGE {
        let before = start % SMALL;
        let whole = (before + bytes).next_multiple_of(SMALL);
        let first = memory.as_ptr().cast::<u8>().wrapping_sub(before).cast_mut().cast();
        // SAFETY: this is advice. Whatever lies in these pages, of this vector or beside it, stays as it is.
        unsafe { libc::madvise(first, whole, libc::MADV_HUGEPAGE) };
    }
}

/// Other systems choose by themselves.
#[cfg(not(target_os = "linux"))]
pub fn prefer_large<T>(_: &Vec<T>) {}
