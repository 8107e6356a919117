//! Whole runs on memory whose ends may not be touched: every example and every script of the conformance suite, in every
//! width of vectors that this processor has, with equal bits.
//!
//! Whatever this process allocates from 1 KiB on ends, or begins, at a page without access: tiles, rings, inputs, results.
//! A load or store one element too far ends the test.

#![cfg(all(feature = "jit", unix))]
#![expect(unsafe_code, reason = "an allocator is unsafe")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on has failed")]

use itp::Engine;
use itp::graph::TensorKind;
use itp::index::Domain;
use itp::jit::Vectors;
use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const PAGE: usize = 4096;
const SMALLEST: usize = 1024;

/// Whether memory begins behind a page without access, or ends before one.
static AT_START: AtomicBool = AtomicBool::new(false);
/// Pieces of memory so far.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Pages without access around everything that is not small.
struct Guarded;

#[global_allocator]
static ALLOCATOR: Guarded = Guarded;

fn is_guarded(layout: Layout) -> bool {
    layout.size() >= SMALLEST && layout.align() <= 64
}

// SAFETY: memory is a mapping of its own, or the system's; which one depends on the layout alone.
unsafe impl GlobalAlloc for Guarded {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_guarded(layout) {
            return guarded(layout);
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_guarded(layout) {
            return guarded(layout);
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        if !is_guarded(layout) {
            // SAFETY: the caller's promise.
            return unsafe { System.dealloc(start, layout) };
        }
        // SAFETY: the mapping that `guarded` made: memory begins in its second page.
        unsafe {
            let map = start.sub(start as usize % PAGE).sub(PAGE);
            libc::munmap(map.cast(), layout.size().next_multiple_of(PAGE) + 2 * PAGE);
        }
    }
}

/// Fresh pages of zeros between two that may not be touched.
fn guarded(layout: Layout) -> *mut u8 {
    let inner = layout.size().next_multiple_of(PAGE);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh mapping of the kernel's choice, and places inside it.
    unsafe {
        let map = libc::mmap(ptr::null_mut(), inner + 2 * PAGE, libc::PROT_NONE, flags, -1, 0);
        if map == libc::MAP_FAILED {
            return ptr::null_mut();
        }
        let first = map.cast::<u8>().add(PAGE);
        if libc::mprotect(first.cast(), inner, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            return ptr::null_mut();
        }
        COUNT.fetch_add(1, Ordering::Relaxed);
        let room = if AT_START.load(Ordering::Relaxed) { 0 } else { inner - layout.size() };
        first.add(room - room % layout.align())
    }
}

fn scripts() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in ["examples", "tests/conformance/infinite_tensor"] {
        found.extend(fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path()));
    }
    found.retain(|path| path.extension().is_some_and(|end| end == "itp"));
    found.sort();
    found
}

/// A box of a domain that is no multiple of anything, as a slice.
fn slice(name: &str, domain: &Domain) -> String {
    let rank = domain.rank();
    let ranges = domain.dims().iter().enumerate().map(|(at, dim)| {
        let size = if at + 1 == rank { 45 } else { 11 };
        let start = dim.interval.lower().or(dim.interval.upper().map(|upper| upper - size)).unwrap_or(-7);
        let end = dim.interval.upper().map_or(start + size, |upper| (start + size).min(upper));
        format!("{start}:{end}")
    });
    format!("{name}[{}]", ranges.collect::<Vec<_>>().join(", "))
}

/// Reads of more than this many elements, of all tensors, are left out.
const MOST: u64 = 200_000;

/// Reads everything that a script computes, in every width; gives how many reads were compared.
fn check(script: &Path) -> u64 {
    let widths = [128, 256, 512].into_iter().filter(|bits| *bits <= Vectors::best().bits());
    let open = |bits: u32| {
        let builder = Engine::builder().vector_bits(bits).threads(2).tile([8, 24]).store(0);
        builder.open(script).unwrap_or_else(|error| panic!("{}: {error}", script.display()))
    };
    let engines: Vec<Engine> = widths.map(open).collect();
    let graph = &engines[0].program().graph;
    let computed = |kind: &TensorKind| matches!(kind, TensorKind::Pointwise(_) | TensorKind::Windowed(_));
    let tensors = graph.tensors.iter().filter(|tensor| computed(&tensor.kind));
    let tensors = tensors.map(|tensor| (tensor.name.clone(), tensor.domain.clone()));
    let views = graph.views.iter().map(|view| (view.view.name.clone(), view.view.domain().clone()));
    let mut compared = 0;
    for (name, domain) in tensors.chain(views) {
        let read = slice(&name, &domain);
        if engines[0].plan(&read).is_ok_and(|plan| plan.elements <= MOST) {
            for at_start in [false, true] {
                AT_START.store(at_start, Ordering::Relaxed);
                compared += u64::from(agree(&engines, &read));
            }
        }
    }
    compared
}

/// Whether a slice could be read; all widths then agree on it.
fn agree(engines: &[Engine], read: &str) -> bool {
    let found: Vec<_> = engines.iter().map(|engine| engine.read_array(read)).collect();
    match &found[0] {
        Ok(first) => {
            let same = |other: &itp::engine::Result<_>| other.as_ref().is_ok_and(|other| other == first);
            assert!(found.iter().all(same), "{read}: widths differ");
            true
        }
        // Functions that only a host has, and data that is not in the repository.
        Err(error) => {
            let told = error.to_string();
            assert!(told.contains("error[E1001]") || told.contains("error[E1003]"), "{read}: {told}");
            false
        }
    }
}

#[test]
fn nothing_beside_a_tile_is_touched() {
    let compared = scripts().iter().map(|script| check(script)).sum::<u64>();
    println!("{compared} reads on {} pieces of guarded memory", COUNT.load(Ordering::Relaxed));
    assert!(compared > 100, "{compared}");
}
