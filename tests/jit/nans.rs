//! NaNs are stored alike, whatever they were: quiet or signalling, of either sign, computed or only moved.

use crate::{checked, compare};
use itp::loops::ir::Kernel;
use itp::loops::parse::parse;
use itp::loops::passes::{Pass, run};

/// Bits of floats of all sorts; NaNs that signal, and quiet ones, with other bits and signs.
const NARROW: [u32; 18] = [
    0,
    0x8000_0000,
    1,
    0x8000_0001,
    0x3f80_0000,
    0xbf80_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7f80_0001,
    0xff80_0001,
    0x7fbf_ffff,
    0xffa0_0000,
    0x7fc0_0000,
    0xffc0_0000,
    0x7fff_ffff,
    0xffc1_2345,
];

fn wide(bits: u32) -> u64 {
    let (sign, rest) = (u64::from(bits >> 31) << 63, u64::from(bits & 0x007f_ffff) << 29);
    let exponent = match bits >> 23 & 0xff {
        0 => 0,
        0xff => 0x7ff,
        exponent => u64::from(exponent) + 1023 - 127,
    };
    sign | exponent << 52 | rest | u64::from(bits & 1)
}

/// A row that stores the last of some values, which have the numbers from v7 on: of a load, v5, of another, v6, of the place, v4,
/// of 0.5, v2, and of 3, v3.
fn kernel(element: &str, values: &[&str]) -> Kernel {
    let head = format!("kernel a(n)\n  b0: {element} in\n  b1: {element} in\n  b2: {element} out\n");
    let numbers = "  v0: i64 = arg 0\n  v1: i64 = const 0\n  v2: FLOAT = const 0.5\n  v3: FLOAT = const 3\n";
    let loads = "  row v4 in v1..v0\n    v5: FLOAT = load b0 v4\n    v6: FLOAT = load b1 v4\n";
    let values: String =
        values.iter().enumerate().map(|(at, value)| format!("    v{}: {value}\n", 7 + at)).collect();
    let stored = 6 + values.lines().count();
    let text = format!("{head}{numbers}{loads}{values}    store b2 v4 v{stored}\n");
    run(parse(&text.replace("FLOAT", element)).unwrap(), None, Pass::Sweep).kernel
}

fn expressions() -> Vec<Vec<&'static str>> {
    vec![
        vec![],
        vec!["FLOAT = neg v6"],
        vec!["FLOAT = abs v5"],
        vec!["FLOAT = add v5 v6"],
        vec!["FLOAT = sub v5 v6"],
        vec!["FLOAT = mul v5 v6"],
        vec!["FLOAT = div v5 v6"],
        vec!["FLOAT = div v5 v2"],
        vec!["FLOAT = div v5 v3"],
        vec!["FLOAT = fma v5 v6 v2"],
        vec!["FLOAT = floor v5"],
        vec!["FLOAT = abs v5", "FLOAT = sqrt v7"],
        vec!["FLOAT = min v5 v6"],
        vec!["FLOAT = max v5 v6"],
        vec!["bool = lt v5 v6", "FLOAT = select v7 v5 v6"],
        vec!["FLOAT = add v5 v6", "FLOAT = neg v7"],
        vec!["FLOAT = add v5 v6", "FLOAT = min v7 v5"],
        vec!["FLOAT = mul v5 v6", "FLOAT = sub v7 v7"],
        vec!["i32 = cast v4", "FLOAT = cast v7", "FLOAT = mul v8 v2", "FLOAT = sub v9 v8"],
        vec!["i32 = cast v4", "FLOAT = cast v7", "FLOAT = mul v8 v5"],
    ]
}

#[test]
fn are_alike() {
    let pairs: Vec<(u32, u32)> = NARROW.iter().flat_map(|a| NARROW.iter().map(|b| (*a, *b))).collect();
    for element in ["f32", "f64"] {
        let bytes = |bits: u32| match element {
            "f32" => bits.to_le_bytes().to_vec(),
            _ => wide(bits).to_le_bytes().to_vec(),
        };
        let a: Vec<u8> = pairs.iter().flat_map(|(a, _)| bytes(*a)).collect();
        let b: Vec<u8> = pairs.iter().flat_map(|(_, b)| bytes(*b)).collect();
        let kernels: Vec<Kernel> = expressions().iter().map(|values| kernel(element, values)).collect();
        let modules = checked(&kernels);
        for (at, kernel) in kernels.iter().enumerate() {
            let buffers = [a.clone(), b.clone(), vec![0; a.len()]];
            compare(&modules, at, kernel, &[pairs.len() as i64], &buffers);
        }
    }
}

/// What was computed takes one instruction, a number none, and what was only loaded two.
#[test]
fn take_as_few_instructions_as_they_need() {
    let count = |values: &[&str]| {
        let modules = checked(&[kernel("f32", values)]);
        let last = modules.last().unwrap();
        let asm = last.asm(0);
        let found = ["vrangeps", "vcmpunordps"].map(|name| asm.contains(name));
        (last.vectors().bits() > 128).then_some(found)
    };
    let number = ["i32 = cast v4", "f32 = cast v7", "f32 = mul v8 v2"];
    let cases = [
        (&["f32 = add v5 v6"][..], [true, false]),
        (&number, [false; 2]),
        (&["f32 = neg v5"], [false, true]),
    ];
    for (values, expected) in cases {
        assert!(count(values).is_none_or(|found| found == expected), "{values:?}");
    }
}
