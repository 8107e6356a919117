//! Looks through machine code for instructions that may not be there: those that trap, that call out, that never end.
//!
//! Every path from the entry is followed, so that constants behind the code are not taken for instructions.

use crate::scan::divisions;
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind};
use itp::jit::Module;
use std::collections::BTreeMap;

/// Panics at an instruction of a kernel or its rows that may not be there; only knows the code of one kind of processor.
pub(crate) fn scan(module: &Module, kernel: usize) {
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let codes = module.machine_code(kernel);
    assert!(!codes.is_empty(), "it was compiled before");
    let found: Vec<Instruction> = codes.iter().flat_map(|code| reached(code).into_values()).collect();
    let wrong = found.iter().find(|instruction| is_wrong(instruction));
    assert!(wrong.is_none(), "{wrong:?} in\n{}", module.asm(kernel));
    // A division of integers traps for the divisor 0; `scan.rs` sees in the CLIF that there is none.
    let divides = found.iter().filter(|found| found.mnemonic() == Mnemonic::Div).count();
    let divisions = divisions(module.clif(kernel));
    assert!(divides <= divisions, "{divides} of {divisions} in\n{}", module.asm(kernel));
}

/// Whether an instruction traps whatever it is given, leaves the kernel other than by its return, or talks to the system.
/// Stores past the cache trap where they are not aligned: `past.rs` tries every start.
fn is_wrong(instruction: &Instruction) -> bool {
    let wrong = [
        Mnemonic::INVALID,
        Mnemonic::Ud0,
        Mnemonic::Ud1,
        Mnemonic::Ud2,
        Mnemonic::Idiv,
        Mnemonic::Int,
        Mnemonic::Int1,
        Mnemonic::Int3,
        Mnemonic::Into,
        Mnemonic::Hlt,
        Mnemonic::Syscall,
        Mnemonic::Sysenter,
        Mnemonic::In,
        Mnemonic::Out,
        Mnemonic::Cli,
        Mnemonic::Sti,
        Mnemonic::Rdtsc,
        Mnemonic::Cpuid,
    ];
    // Rows are called through a register; any other call would be one of a library.
    let calls_out = instruction.mnemonic() == Mnemonic::Call && instruction.op0_kind() != OpKind::Register;
    let jumps_out = instruction.mnemonic() == Mnemonic::Jmp && instruction.op0_kind() != OpKind::NearBranch64;
    wrong.contains(&instruction.mnemonic()) || calls_out || jumps_out
}

/// The instructions of a function that can be reached, by where they are.
fn reached(code: &[u8]) -> BTreeMap<u64, Instruction> {
    let mut found = BTreeMap::new();
    let mut queue = vec![0];
    while let Some(start) = queue.pop() {
        let mut decoder = Decoder::with_ip(64, code, 0, DecoderOptions::NONE);
        decoder.set_position(usize::try_from(start).unwrap()).expect("a jump stays inside its function");
        decoder.set_ip(start);
        while !found.contains_key(&decoder.ip()) {
            assert!(decoder.can_decode(), "a path leaves the function at its end");
            let instruction = decoder.decode();
            found.insert(instruction.ip(), instruction);
            if instruction.op_count() > 0 && instruction.op0_kind() == OpKind::NearBranch64 {
                queue.push(instruction.near_branch_target());
            }
            if matches!(instruction.mnemonic(), Mnemonic::Ret | Mnemonic::Jmp) || is_wrong(&instruction) {
                break;
            }
        }
    }
    found
}

/// What must be found is found: a trap after a jump, and none in the constants behind a return.
#[test]
fn traps_are_found_and_constants_are_none() {
    // jmp +1; nop; ud2
    assert!(reached(&[0xeb, 0x01, 0x90, 0x0f, 0x0b]).values().any(is_wrong));
    // int3
    assert!(reached(&[0x90, 0xcc]).values().any(is_wrong));
    // ret, then 0f 0b as data
    assert!(!reached(&[0x90, 0xc3, 0x0f, 0x0b]).values().any(is_wrong));
    // je over a ud2 that falls through
    assert!(reached(&[0x74, 0x02, 0x0f, 0x0b, 0xc3]).values().any(is_wrong));
}
