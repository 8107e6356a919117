//! Memory that kernels work on, and the calls that do: the only place outside the JIT with `unsafe`.
//!
//! ```text
//! Call::new(module, lowered, [Place of a, Place of b, Place of the result])   ->   run(box), run(box), …
//! ```
//!
//! A [`Place`] is memory and which elements lie in it. A [`Call`] checks that every element of every place lies inside
//! its memory, and that what it is to compute lies inside its place; that a kernel stays inside those boxes is what lowering promises and tests/lower.rs checks on guard pages.
#![allow(unsafe_code)]

use super::blank::Blank;
use crate::access::footprint::Region;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::faults;
use crate::formats::rows::outermost;
use crate::formats::{Frozen, Rows, Span};
use crate::index::Interval;
use crate::index::walk::rows;
use crate::jit::{Lists, Module, Writes, in_order, stores_apart};
use crate::loops::lower::{BufferBox, BufferDim, Lowered};
use crate::pages::prefer_large;
use std::alloc::{Layout, alloc_zeroed};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicBool;

/// What has so many bytes leaves the caches before anybody reads it: it is written past them, unless sources come from a
/// nearer cache and their lines would wait behind those that go to memory ([`stores_apart`]).
pub(super) const LARGE: usize = 16 << 20;

/// Bytes of a line of the cache, and of the widest register.
const LINE: usize = 64;
/// Bytes of lists that caches hold.
const CACHED: usize = 4 << 20;

/// Bytes that one task owns; they begin where a line of the cache does.
#[derive(Debug, Default)]
pub struct Buffer {
    /// Words, so that every element type is aligned; [`SPARE`] more than are used, if there are any.
    words: Vec<u64>,
}

/// Words before or after those that are used.
const SPARE: usize = LINE / 8 - 1;

impl Buffer {
    /// Room for `bytes`, all zero; an error if there is no such room.
    pub fn new(bytes: u128) -> Result<Self> {
        let mut buffer = Buffer::default();
        buffer.resize(bytes)?;
        Ok(buffer)
    }

    /// Makes it hold `bytes` or more; what it held is lost.
    pub fn resize(&mut self, bytes: u128) -> Result<()> {
        let words = bytes.div_ceil(8);
        if words <= (self.len() / 8) as u128 {
            return Ok(());
        }
        // The old memory goes first, so that both need not be there at once.
        self.words = Vec::new();
        let room = usize::try_from(words).ok().and_then(|words| zeroed(words.checked_add(SPARE)?));
        let Some(room) = room else {
            return Diagnostic::new(Code::E1005, format!("{bytes} bytes cannot be allocated"))
                .help("read a smaller part, or choose smaller tiles with `--tile`")
                .err();
        };
        self.words = room;
        Ok(())
    }

    /// Bytes that it can hold.
    pub(super) fn len(&self) -> usize {
        8 * self.words.len().saturating_sub(SPARE)
    }

    /// The words that are used.
    fn used(&self) -> &[u64] {
        &self.words[self.skipped()..][..self.len() / 8]
    }

    /// Words before the first line of the cache.
    fn skipped(&self) -> usize {
        self.words.as_ptr().align_offset(LINE).min(self.words.len())
    }

    /// All of it, to read.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: words are bytes, all of them initialised, and borrowed as long as the slice is.
        unsafe { std::slice::from_raw_parts(self.used().as_ptr().cast(), self.len()) }
    }

    /// All of it as bytes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let (skipped, len) = (self.skipped(), self.len());
        let used = &mut self.words[skipped..skipped + len / 8];
        // SAFETY: words are bytes, all of them initialised, and borrowed as long as the slice is.
        unsafe { std::slice::from_raw_parts_mut(used.as_mut_ptr().cast(), len) }
    }

    /// To read only.
    pub fn memory(&self) -> Memory<'_> {
        Memory { start: self.used().as_ptr().cast_mut().cast(), len: self.len(), kind: PhantomData }
    }

    /// To write.
    pub fn memory_mut(&mut self) -> Memory<'_> {
        Memory::of_mut(self.bytes_mut())
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        let mut copy = Buffer { words: vec![0; self.words.len()] };
        let first = copy.skipped();
        copy.words[first..][..self.used().len()].copy_from_slice(self.used());
        copy
    }
}

/// Words that are zero; pages are touched by who uses them, so a run that is cancelled need not wait for them.
fn zeroed(words: usize) -> Option<Vec<u64>> {
    let layout = Layout::array::<u64>(words).ok().filter(|layout| layout.size() > 0)?;
    if faults::strikes(faults::Place::Memory) {
        return None;
    }
    // SAFETY: the layout is not empty.
    let start = unsafe { alloc_zeroed(layout) };
    if start.is_null() {
        return None;
    }
    // SAFETY: it was allocated for exactly that many words, and zero is a word.
    let words = unsafe { Vec::from_raw_parts(start.cast(), words, words) };
    prefer_large(&words);
    Some(words)
}

/// Bytes that are read, or of which this worker writes its own part.
#[derive(Clone, Copy, Debug)]
pub struct Memory<'m> {
    start: *mut u8,
    len: usize,
    kind: PhantomData<&'m [u8]>,
}

// SAFETY: the plan gives every element of what is written to one task, and a task runs on one thread, or gives every
// element to one of its workers; whoever reads an element waits until it is written, through the lock of the schedule or
// the gate between the steps of a recurrence.
unsafe impl Send for Memory<'_> {}
// SAFETY: as above.
unsafe impl Sync for Memory<'_> {}

impl<'m> Memory<'m> {
    /// To read only.
    pub fn of(bytes: &'m [u8]) -> Self {
        Memory { start: bytes.as_ptr().cast_mut(), len: bytes.len(), kind: PhantomData }
    }

    /// To write.
    pub fn of_mut(bytes: &'m mut [u8]) -> Self {
        Memory { start: bytes.as_mut_ptr(), len: bytes.len(), kind: PhantomData }
    }

    /// To write, and to read what was written.
    fn of_blank(bytes: &'m mut [MaybeUninit<u8>]) -> Self {
        Memory { start: bytes.as_mut_ptr().cast(), len: bytes.len(), kind: PhantomData }
    }
}

/// Has a request computed into memory that may hold nothing yet.
pub(super) fn fill_blank(blank: Blank<'_>, compute: impl FnOnce(Memory<'_>) -> Result<()>) -> Result<()> {
    // SAFETY: the tasks of a plan make all tiles of its result, and computing it succeeds when all of them are done.
    unsafe { blank.fill(|bytes| compute(Memory::of_blank(bytes))) }
}

/// Memory and the elements that lie in it.
#[derive(Clone, Debug)]
pub struct Place<'m> {
    /// The bytes.
    pub memory: Memory<'m>,
    /// Which elements, and where.
    pub layout: BufferBox,
    /// Bytes per element.
    pub bytes: usize,
}

impl<'m> Place<'m> {
    /// A box without gaps.
    pub fn dense(memory: Memory<'m>, region: &[Interval], bytes: usize) -> Self {
        Place { memory, layout: BufferBox::dense(region), bytes }
    }

    /// The last element that the layout allows, as an offset in elements.
    fn last(&self) -> Option<i64> {
        let count = self.layout.dims.len();
        let mut last: i64 = 0;
        for (at, dim) in self.layout.dims.iter().enumerate() {
            let steps = dim.end.checked_sub(dim.origin)?.checked_sub(1)?;
            let steps = if at + 1 < count && dim.mask >= 0 { steps.min(dim.mask) } else { steps };
            let pitch = if at + 1 < count { dim.pitch } else { 1 };
            if steps < 0 || pitch < 0 {
                return None;
            }
            last = last.checked_add(steps.checked_mul(pitch)?)?;
        }
        Some(last)
    }

    /// Panics unless every element lies in the memory.
    fn check(&self) {
        let end =
            self.last().and_then(|last| usize::try_from(last).ok()?.checked_add(1)?.checked_mul(self.bytes));
        assert!(
            end.is_some_and(|end| end <= self.memory.len),
            "a box of {:?} in {} bytes",
            self.layout,
            self.memory.len
        );
    }

    fn holds(&self, region: &[Interval]) -> bool {
        let holds =
            |(dim, range): (&BufferDim, &Interval)| dim.origin <= range.first() && range.last() < dim.end;
        self.layout.dims.len() == region.len() && self.layout.dims.iter().zip(region).all(holds)
    }

    /// Bytes of its memory.
    pub(super) fn size(&self) -> usize {
        self.memory.len
    }

    /// The byte offset of an element.
    fn offset(&self, coords: &[i64]) -> usize {
        self.layout.offset(coords) as usize * self.bytes
    }
}

/// A kernel and the memory it works on, checked once; a call only says which box.
pub struct Call<'m> {
    module: &'m Module,
    /// The box, the numbers of a window, and where the elements of every buffer lie.
    args: Vec<i64>,
    pointers: Vec<*mut u8>,
    written: Place<'m>,
    /// Numbers of a window.
    numbers: usize,
    writes: Writes,
    /// Where the lists lie.
    lists: Lists,
}

impl<'m> Call<'m> {
    /// For the sources in order, then what the kernel writes, and the lists that it goes along; `numbers` says how many
    /// dimensions have windows.
    pub fn new(
        module: &'m Module,
        lowered: &Lowered,
        numbers: usize,
        places: &[Place<'m>],
        lists: &[&'m Rows<'_>],
    ) -> Self {
        places.iter().for_each(Place::check);
        let known = lowered.walks.as_ref().map_or(0, |walks| walks.lists.len());
        assert_eq!(lists.len(), known, "a walk has lists to go along");
        let written = places.last().expect("a kernel writes").clone();
        let boxes = places.iter().map(|place| place.layout.clone());
        let boxes: Vec<BufferBox> = boxes.chain(lists.iter().map(|rows| numbered(rows))).collect();
        let anywhere = vec![Interval::trusted(0, 0); written.layout.dims.len()];
        let args = lowered.args(&anywhere, &vec![0; numbers], &boxes);
        let pointers = places.iter().map(|place| place.memory.start);
        let pointers = pointers.chain(lists.iter().flat_map(|rows| arrays(rows))).collect();
        let is_past = if stores_apart() {
            written.size() >= LARGE
        } else {
            places.iter().all(|place| place.size() >= LARGE)
        };
        let writes = if is_past { Writes::Past } else { Writes::Cached };
        // Where several elements in turn go along one row, it is near from the second on.
        let once = written.layout.dims.len() == 1;
        let lists = if once && lists.iter().any(|rows| is_far(rows)) { Lists::Far } else { Lists::Near };
        Call { module, args, pointers, written, numbers, writes, lists }
    }

    /// The same kernel, which walks along nothing, and sources, writing elsewhere.
    pub fn into_place(&self, lowered: &Lowered, sources: &[Place<'m>], to: Place<'m>) -> Call<'m> {
        let places: Vec<Place<'m>> = sources.iter().cloned().chain([to]).collect();
        Call::new(self.module, lowered, self.numbers, &places, &[])
    }

    /// Writes to where it is read from again, not past the cache.
    pub fn through_the_cache(&mut self) {
        self.writes = Writes::Cached;
    }

    /// What it writes.
    pub fn written(&self) -> &Place<'m> {
        &self.written
    }

    /// Computes a box. False if that was cancelled, and then what it wrote means nothing.
    pub fn run(&mut self, region: &[Interval], window: &[i64], cancel: &AtomicBool) -> bool {
        let (written, rank) = (&self.written, region.len());
        assert!(written.holds(region), "{region:?} of {:?}", written.layout);
        assert_eq!(window.len(), self.numbers, "the numbers of a window");
        for (ends, range) in self.args.chunks_exact_mut(2).zip(region) {
            ends.copy_from_slice(&[range.first(), range.last() + 1]);
        }
        self.args[2 * rank..][..self.numbers].copy_from_slice(window);
        // SAFETY: a kernel reads and writes inside the boxes of its buffers, which lie inside their memory, as checked
        // when this was made, and that memory is borrowed as long as this lives; the task that calls owns the elements
        // that are written, and those that are read are complete.
        unsafe { self.module.call_until(0, &self.args, &self.pointers, (self.writes, self.lists), cancel) }
    }
}

/// Whether what is stored lies beyond the caches.
fn is_far(rows: &Rows<'_>) -> bool {
    rows.values.len() + size_of_val(&*rows.lo) + size_of_val(&*rows.hi) > CACHED
}

/// The arrays of a list, in the order of a kernel's buffers.
fn arrays(rows: &Rows<'_>) -> [*mut u8; 4] {
    let [ptr, lo, hi] = [&rows.ptr, &rows.lo, &rows.hi].map(|array| array.as_ptr().cast_mut().cast());
    [ptr, lo, hi, rows.values.as_ptr().cast_mut()]
}

/// The box of a list, whose pitches count rows.
fn numbered(rows: &Rows<'_>) -> BufferBox {
    let mut dims: Vec<BufferDim> = Vec::with_capacity(rows.region.len());
    let mut pitch = 1;
    for (at, range) in rows.region.iter().rev().enumerate() {
        dims.push(BufferDim { origin: range.first(), end: range.last() + 1, mask: -1, pitch });
        pitch *= if at == 0 { 1 } else { range.len().unwrap_or(1) };
    }
    dims.reverse();
    BufferBox { dims }
}

/// Writes a box of frozen elements that lie at `held`.
pub fn expand(frozen: &Frozen, held: &[Interval], to: &Place<'_>, region: &[Interval]) {
    fill(to, region, &frozen.fill);
    let Some(last) = region.last() else {
        return frozen.walk(|_, span| write(to, &[], |row| frozen.expand(span, row), 1));
    };
    let mut coords = vec![0; region.len()];
    frozen.walk_within(outermost(region, held), |mut number, span| {
        for (dim, own) in held.iter().enumerate().rev().skip(1) {
            let size = own.len().unwrap_or(1).max(1) as u64;
            coords[dim] = own.first() + (number % size) as i64;
            number /= size;
        }
        let first = held[held.len() - 1].first();
        let (lo, hi) = (first + i64::from(span.lo), first + i64::from(span.hi));
        let (start, end) = (lo.max(last.first()), hi.min(last.last() + 1));
        let inside = coords.iter().zip(&region[..region.len() - 1]).all(|(at, range)| range.contains(*at));
        if inside && start < end {
            coords[region.len() - 1] = start;
            let at = span.at + span.step * (start - lo) as u32;
            write(to, &coords, |row| frozen.expand(Span { at, ..span }, row), (end - start) as usize);
        }
    });
}

/// Hands out part of a row of a place, to be written.
fn write(to: &Place<'_>, coords: &[i64], write: impl FnOnce(&mut [u8]), count: usize) {
    let start = to.offset(coords);
    assert!(start + count * to.bytes <= to.memory.len, "a stretch inside its memory");
    // SAFETY: the stretch lies inside the memory, as just checked, and belongs to this task.
    write(unsafe { std::slice::from_raw_parts_mut(to.memory.start.add(start), count * to.bytes) });
}

/// Copies a box from one place to another.
pub fn copy(from: &Place<'_>, to: &Place<'_>, region: &[Interval]) {
    from.check();
    to.check();
    assert!(from.holds(region) && to.holds(region) && from.bytes == to.bytes, "a box in both places");
    let len = region.last().map_or(1, |range| range.len().unwrap_or(0)) as usize * from.bytes;
    rows(region, |at| {
        // SAFETY: the row lies inside both boxes, which lie inside their memory; the two do not overlap, because what
        // is written belongs to this task and what is read was complete before.
        unsafe {
            let source = from.memory.start.add(from.offset(at));
            std::ptr::copy_nonoverlapping(source, to.memory.start.add(to.offset(at)), len);
        }
    });
}

/// Copies a box to memory that is not read again soon, past the caches.
pub fn stream(from: &Place<'_>, to: &Place<'_>, region: &[Interval]) {
    from.check();
    to.check();
    assert!(from.holds(region) && to.holds(region) && from.bytes == to.bytes, "a box in both places");
    let len = region.last().map_or(1, |range| range.len().unwrap_or(0)) as usize * from.bytes;
    rows(region, |at| {
        // SAFETY: as in `copy`.
        unsafe { stream_row(from.memory.start.add(from.offset(at)), to.memory.start.add(to.offset(at)), len) }
    });
    in_order();
}

/// # Safety
///
/// Both hold `len` bytes, and do not overlap.
#[cfg(target_arch = "x86_64")]
unsafe fn stream_row(from: *const u8, to: *mut u8, len: usize) {
    let head = to.align_offset(LINE).min(len);
    let lines = (len - head) / LINE;
    let rest = head + LINE * lines;
    // SAFETY: the three parts make up `len` bytes; the middle one starts at a line and is made of such. Parts of lines go
    // through the cache, which puts them together with what the next row has of them.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, head);
        if is_x86_feature_detected!("avx512f") {
            stream_lines(from.add(head), to.add(head), lines);
        } else {
            stream_quarters(from.add(head), to.add(head), lines);
        }
        std::ptr::copy_nonoverlapping(from.add(rest), to.add(rest), len - rest);
    }
}

/// Whole lines in one store each: a line that comes in four waits for its other parts.
///
/// # Safety
///
/// Both hold so many lines, and do not overlap; `to` starts at one. The processor has AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn stream_lines(from: *const u8, to: *mut u8, lines: usize) {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_stream_si512};
    for at in (0..LINE * lines).step_by(LINE) {
        // SAFETY: inside the lines of both, and at a line of `to`.
        unsafe { _mm512_stream_si512(to.add(at).cast(), _mm512_loadu_si512(from.add(at).cast())) }
    }
}

/// The same in stores that every processor has.
///
/// # Safety
///
/// As for [`stream_lines`], with any processor.
#[cfg(target_arch = "x86_64")]
unsafe fn stream_quarters(from: *const u8, to: *mut u8, lines: usize) {
    use std::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};
    for at in (0..LINE * lines).step_by(LINE / 4) {
        // SAFETY: inside the lines of both, and at a quarter of a line of `to`.
        unsafe { _mm_stream_si128(to.add(at).cast(), _mm_loadu_si128(from.add(at).cast())) }
    }
}

/// # Safety
///
/// Both hold `len` bytes, and do not overlap.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn stream_row(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from, to, len) }
}

/// Sets every element of a box.
pub fn fill(to: &Place<'_>, region: &[Interval], element: &[u8]) {
    to.check();
    assert!(to.holds(region) && to.bytes == element.len(), "a box in its place");
    let count = region.last().map_or(1, |range| range.len().unwrap_or(0)) as usize;
    let same = element.iter().all(|byte| *byte == element[0]);
    rows(region, |at| {
        // SAFETY: the row lies inside the box, which lies inside the memory, and belongs to this task.
        let row = unsafe {
            std::slice::from_raw_parts_mut(to.memory.start.add(to.offset(at)), count * element.len())
        };
        if same {
            row.fill(element[0]);
        } else {
            row.chunks_exact_mut(element.len()).for_each(|each| each.copy_from_slice(element));
        }
    });
}

/// The part of a box's dimensions that a region covers.
pub fn meet(a: &[Interval], b: &[Interval]) -> Option<Region> {
    let both: Region = a.iter().zip(b).map(|(a, b)| a.intersect(*b)).collect();
    both.iter().all(|range| !range.is_empty()).then_some(both)
}
