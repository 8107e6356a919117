//! Memory with pages before and after it that may not be touched, so that a load one element too far ends the test.

use std::ptr;

/// Where the bytes touch a page that is out of bounds.
#[derive(Clone, Copy)]
pub(crate) enum Side {
    Start,
    End,
}

/// Bytes between two pages without access.
pub(crate) struct Guarded {
    map: *mut libc::c_void,
    length: usize,
    first: *mut u8,
    size: usize,
}

const PAGE: usize = 4096;

impl Guarded {
    pub(crate) fn new(bytes: &[u8], side: Side) -> Guarded {
        let inner = bytes.len().next_multiple_of(PAGE).max(PAGE);
        let length = inner + 2 * PAGE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh mapping of the kernel's choice.
        let map = unsafe { libc::mmap(ptr::null_mut(), length, libc::PROT_NONE, flags, -1, 0) };
        assert_ne!(map, libc::MAP_FAILED);
        let from = match side {
            Side::Start => PAGE,
            Side::End => PAGE + inner - bytes.len(),
        };
        // SAFETY: all inside the mapping; the bytes are copied into the pages that were just made writable.
        let first = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            assert_eq!(libc::mprotect(map.byte_add(PAGE), inner, access), 0);
            let first = map.cast::<u8>().add(from);
            ptr::copy_nonoverlapping(bytes.as_ptr(), first, bytes.len());
            first
        };
        Guarded { map, length, first, size: bytes.len() }
    }

    pub(crate) fn pointer(&self) -> *mut u8 {
        self.first
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the bytes were initialised by `new` and live as long as the mapping.
        unsafe { std::slice::from_raw_parts(self.first, self.size) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping made by `new`, which nobody else knows.
        unsafe { libc::munmap(self.map, self.length) };
    }
}
