//! Memory for results, which may hold nothing yet: clearing it first takes a fifth of the time of a small read.
//!
//! ```text
//! filled(room for 4 MB, 4 MB, |memory| read(memory))   ->   all of it, or the error of the read
//! ```
//!
//! Nobody sees a byte that was not written: what a read fills says so, and what does not has no result. In debug builds blank
//! memory holds a pattern, so that an element which nobody computes is a wrong value in every test.
#![allow(unsafe_code)]

use super::job::Sink;
use crate::diagnostic::{Code, Diagnostic, Result};
use bytemuck::AnyBitPattern;
use std::mem::MaybeUninit;

/// Bytes that are cleared before somebody is asked again whether they are still wanted.
const CLEARED: usize = 32 << 20;
/// What blank memory holds in debug builds, and how much of it.
const PATTERN: u8 = 0xa5;
const PATTERNED: usize = 64 << 20;

/// Memory as a destination.
#[derive(Debug)]
pub struct Memory<'a> {
    bytes: &'a mut [MaybeUninit<u8>],
    /// So many of them hold something.
    known: usize,
    /// So many were handed on in order.
    done: usize,
}

impl<'a> Memory<'a> {
    /// Room for exactly the bytes of a read, which hold something already.
    pub fn new(bytes: &'a mut [u8]) -> Memory<'a> {
        let known = bytes.len();
        // SAFETY: the same bytes, borrowed as long; nothing but bytes is written to them.
        let bytes = unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), known) };
        Memory { bytes, known, done: 0 }
    }
}

impl Sink for Memory<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let (end, room) = (self.done.saturating_add(bytes.len()), self.bytes.len());
        let Some(to) = self.bytes.get_mut(self.done..end) else {
            let message = format!("the engine gave {end} bytes for a buffer of {room}");
            return Diagnostic::new(Code::E1009, message).err();
        };
        to.write_copy_of_slice(bytes);
        self.done = end;
        // What was known before stays known; what was not is written from the start on.
        self.known = self.known.max(end);
        Ok(())
    }

    fn memory(&mut self) -> Option<Blank<'_>> {
        Some(Blank { bytes: self.bytes, known: &mut self.known })
    }
}

/// The whole memory of a result, to be filled in any order.
#[derive(Debug)]
pub struct Blank<'a> {
    bytes: &'a mut [MaybeUninit<u8>],
    known: &'a mut usize,
}

impl<'a> Blank<'a> {
    /// Has all of it written by `fill`.
    ///
    /// # Safety
    ///
    /// `fill` succeeds only when it has written every byte.
    pub unsafe fn fill<E>(
        self,
        fill: impl FnOnce(&mut [MaybeUninit<u8>]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        fill(self.bytes)?;
        *self.known = self.bytes.len();
        Ok(())
    }

    /// Its bytes, those that held nothing being 0; `wanted` is asked now and then while they are cleared.
    pub fn cleared(self, wanted: impl Fn() -> Result<()>) -> Result<&'a mut [u8]> {
        for part in self.bytes[*self.known..].chunks_mut(CLEARED) {
            wanted()?;
            part.fill(MaybeUninit::new(0));
        }
        *self.known = self.bytes.len();
        // SAFETY: all of them were known, or have just been written.
        Ok(unsafe { self.bytes.assume_init_mut() })
    }
}

/// So many elements in an empty vector that has room for them, written by `fill`: all of them, if it succeeds.
pub fn filled<T: AnyBitPattern, S, E>(
    mut room: Vec<T>,
    count: usize,
    fill: impl FnOnce(&mut Memory<'_>) -> std::result::Result<S, E>,
) -> std::result::Result<(Vec<T>, S), E> {
    debug_assert!(room.is_empty());
    let spare = &mut room.spare_capacity_mut()[..count];
    // SAFETY: the same memory in bytes, borrowed as long.
    let bytes = unsafe { std::slice::from_raw_parts_mut(spare.as_mut_ptr().cast(), size_of_val(spare)) };
    if cfg!(debug_assertions) {
        let shown = bytes.len().min(PATTERNED);
        bytes[..shown].fill(MaybeUninit::new(PATTERN));
    }
    let mut memory = Memory { bytes, known: 0, done: 0 };
    let result = fill(&mut memory)?;
    assert_eq!(memory.known, memory.bytes.len(), "a read writes all of its elements");
    // SAFETY: there is room for them, as the slice above shows, and every byte of them was written; any bytes are values.
    unsafe { room.set_len(count) };
    Ok((room, result))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_in_order_is_a_result() {
        let write = |memory: &mut Memory<'_>| memory.write(&[1, 2]).and_then(|()| memory.write(&[3, 4]));
        let (data, ()) = filled(Vec::<u8>::with_capacity(9), 4, write).unwrap();
        assert_eq!(data, [1, 2, 3, 4]);
        let (data, ()) = filled(Vec::<u16>::with_capacity(2), 2, write).unwrap();
        assert_eq!(data, [u16::from_ne_bytes([1, 2]), u16::from_ne_bytes([3, 4])]);
        assert!(filled(Vec::<u8>::with_capacity(4), 3, write).is_err(), "more than there is room for");
    }

    #[test]
    #[should_panic(expected = "writes all of its elements")]
    fn what_was_not_written_is_no_result() {
        let _ = filled(Vec::<u8>::with_capacity(4), 4, |memory| memory.write(&[1, 2, 3]));
    }

    #[test]
    fn memory_is_cleared_where_it_holds_nothing() {
        let clear = |memory: &mut Memory<'_>| {
            memory.write(&[7])?;
            let bytes = memory.memory().unwrap().cleared(|| Ok(()))?;
            bytes[2] = 9;
            Ok::<(), Box<Diagnostic>>(())
        };
        assert_eq!(filled(Vec::<u8>::with_capacity(3), 3, clear).unwrap().0, [7, 0, 9]);
        let mut known = [1, 2, 3];
        assert_eq!(
            Memory::new(&mut known).memory().unwrap().cleared(|| panic!("nothing to clear")).unwrap(),
            [1, 2, 3]
        );
    }

    #[test]
    fn who_fails_leaves_no_result() {
        let fail = |memory: &mut Memory<'_>| {
            // SAFETY: it fails.
            unsafe { memory.memory().unwrap().fill(|_| Err("no")) }
        };
        assert_eq!(filled(Vec::<u8>::with_capacity(4), 4, fail), Err("no"));
    }
}
