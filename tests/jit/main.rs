//! One suite over the machine that defines kernels, `execute`, and the Cranelift engine: equal bytes, always.
#![cfg(feature = "jit")]
#![expect(unsafe_code, reason = "running machine code is unsafe, and so is memory with guards around it")]
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "helpers of tests")]

mod ahead;
mod buffers;

mod generate;
mod kernels;
mod machine;
mod mirrored;
mod nans;
mod operators;
mod past;

mod random;
mod remainder;
mod scan;
mod turned;
mod woven;

use buffers::{Guarded, Side};
use itp::jit::{JitOptions, Lists, Module, Vectors, Writes, compile};
use itp::loops::execute::execute;
use itp::loops::ir::Kernel;
use std::sync::atomic::AtomicBool;

/// Compiles with every check on, and scans the code for what may not be in it.
/// One module for each width of vectors that this processor has.
fn checked(kernels: &[Kernel]) -> Vec<Module> {
    let widths = [Vectors::V128, Vectors::V256, Vectors::V512];
    let widths = widths.into_iter().filter(|vectors| *vectors <= Vectors::best());
    let compiled = widths.map(|vectors| {
        let options = JitOptions { verifier: true, regalloc_checker: true, vectors, shows: true };
        let module = compile(kernels, &options).unwrap_or_else(|error| panic!("{error}"));
        for at in 0..kernels.len() {
            scan::scan(module.clif(at));
            // Compiles once more, so only the widest; tests/lower looks through all widths.
            if vectors == Vectors::best() {
                machine::scan(&module, at);
            }
        }
        module
    });
    compiled.collect()
}

/// Runs kernel `at` on both engines and in every width, with buffers that end and that begin at a page which may not be
/// touched, written through the caches and past them.
fn compare(modules: &[Module], at: usize, kernel: &Kernel, args: &[i64], buffers: &[Vec<u8>]) {
    let mut expected = buffers.to_vec();
    execute(kernel, args, &mut expected).unwrap_or_else(|error| panic!("{error}\n{kernel}"));
    let ways = [(Writes::Cached, Lists::Far), (Writes::Past, Lists::Near)];
    let ways = ways.into_iter().flat_map(|way| [(Side::End, way), (Side::Start, way)]);
    let runs = modules.iter().flat_map(|module| ways.clone().map(move |(side, way)| (module, side, way)));
    for (module, side, way) in runs {
        let guarded: Vec<Guarded> = buffers.iter().map(|bytes| Guarded::new(bytes, side)).collect();
        let pointers: Vec<*mut u8> = guarded.iter().map(Guarded::pointer).collect();
        // SAFETY: `execute` found every offset inside its buffer, and each buffer has memory of its own.
        unsafe { module.call_until(at, args, &pointers, way, &AtomicBool::new(false)) };
        for (id, (found, expected)) in guarded.iter().zip(&expected).enumerate() {
            if found.bytes() != &expected[..] {
                let shown = difference(kernel, id, found.bytes(), expected);
                panic!("b{id} with args {args:?}, {} bits, {way:?}:\n{shown}", module.vectors().bits());
            }
        }
    }
}

fn difference(kernel: &Kernel, buffer: usize, found: &[u8], expected: &[u8]) -> String {
    let element = kernel.buffers[buffer].element;
    let size = element.bytes() as usize;
    let pairs = found.chunks(size).zip(expected.chunks(size)).enumerate().filter(|(_, (a, b))| a != b);
    let shown = pairs.take(6).map(|(at, (found, expected))| {
        let value = |bytes| itp::loops::execute::read_element(element, bytes);
        format!("at {at}: {found:x?} {:?}, expected {expected:x?} {:?}\n", value(found), value(expected))
    });
    format!("{}{kernel}", shown.collect::<String>())
}
