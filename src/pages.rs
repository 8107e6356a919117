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
const PAGE: usize = 2 << 20;

/// Asks for large pages where there is room for several. The system may refuse, and nothing depends on it.
#[cfg(target_os = "linux")]
pub fn prefer_large<T>(memory: &Vec<T>) {
    let start = memory.as_ptr().cast::<u8>();
    let head = start.align_offset(PAGE);
    let whole = (memory.capacity() * size_of::<T>()).saturating_sub(head) / PAGE * PAGE;
    if whole >= 2 * PAGE {
        let first = start.wrapping_add(head).cast_mut().cast();
        // SAFETY: the pages lie inside what the vector has allocated, and what they hold stays as it is.
        unsafe { libc::madvise(first, whole, libc::MADV_HUGEPAGE) };
    }
}

/// Other systems choose by themselves.
#[cfg(not(target_os = "linux"))]
pub fn prefer_large<T>(_: &Vec<T>) {}
