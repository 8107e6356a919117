//! Random kernels: equal bytes on both engines, and a text form that reads back.

use crate::generate::{INPUT, LONGEST, OUTPUT, kernel};
use crate::operators::{bytes_of, specials};
use crate::{checked, compare};
use itp::graph::scalar::Scalar;
use itp::graph::types::Element;
use itp::loops::execute::execute;
use itp::loops::ir::{Kernel, Op};
use itp::loops::parse::{BINARY, UNARY, parse};
use itp::loops::passes::narrow::narrow;
use itp::loops::passes::simplify::simplify;
use itp::loops::passes::sweep::sweep;
use itp::loops::verify::verify;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// How often each operation occurred in kernels that were compared.
static SEEN: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

/// Special values, and bits at random.
fn contents(element: Element, count: i64, seed: u64) -> Vec<u8> {
    let special = specials(element.computed());
    let pick = |at: u64| special[(mix(seed ^ at) % special.len() as u64) as usize];
    let values: Vec<Scalar> = (0..count as u64).map(pick).collect();
    let mut bytes = bytes_of(element, &values);
    for (at, chunk) in bytes.chunks_mut(element.bytes() as usize).enumerate() {
        if mix(seed.wrapping_add(at as u64)).is_multiple_of(3) {
            chunk.copy_from_slice(&mix(at as u64 ^ !seed).to_le_bytes()[..chunk.len()]);
        }
    }
    bytes
}

fn mix(value: u64) -> u64 {
    let value = (value ^ value >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (value ^ value >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ value >> 17
}

fn count_operations(kernel: &Kernel) {
    let mut seen = SEEN.lock().unwrap();
    for value in &kernel.values {
        let name = match &value.op {
            Op::Unary(function, _) => function.name().to_owned(),
            Op::Binary(function, ..) => function.name().to_owned(),
            other => format!("{other:?}").split('(').next().unwrap_or_default().to_owned(),
        };
        *seen.entry(name).or_default() += 1;
    }
}

/// What identities and narrow integers make of a kernel writes the same bytes.
fn check_passes(kernel: &Kernel, args: &[i64], buffers: &[Vec<u8>]) {
    let after = sweep(narrow(&simplify(kernel)));
    verify(&after).unwrap_or_else(|error| panic!("{error}\n{after}"));
    let run = |kernel: &Kernel| {
        let mut buffers = buffers.to_vec();
        execute(kernel, args, &mut buffers).unwrap_or_else(|error| panic!("{error}\n{kernel}"));
        buffers
    };
    assert!(run(kernel) == run(&after), "{kernel}{after}");
}

fn check(choices: &[u32], seed: u64, lo: i64, length: i64) {
    let kernel = kernel(choices);
    let modules = checked(std::slice::from_ref(&kernel));
    let sized = |buffer: &itp::loops::ir::Buffer| if buffer.written { OUTPUT } else { INPUT };
    let buffers = kernel.buffers.iter().zip(seed..);
    let buffers: Vec<Vec<u8>> =
        buffers.map(|(buffer, seed)| contents(buffer.element, sized(buffer), mix(seed))).collect();
    for length in [length, LONGEST - lo] {
        compare(&modules, 0, &kernel, &[lo, lo + length], &buffers);
        check_passes(&kernel, &[lo, lo + length], &buffers);
    }
    count_operations(&kernel);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn kernels_agree(choices in prop::collection::vec(any::<u32>(), 0..300), seed in any::<u64>(), lo in 0i64..3, length in -1i64..10) {
        check(&choices, seed, lo, length);
    }

    #[test]
    fn text_reads_back(choices in prop::collection::vec(any::<u32>(), 0..300)) {
        let kernel = kernel(&choices);
        let text = kernel.to_string();
        let back = parse(&text).map_err(TestCaseError::fail)?;
        prop_assert_eq!(&back, &kernel);
        prop_assert_eq!(back.to_string(), text);
    }
}

/// The generator reaches every operation.
#[test]
fn generated_kernels_cover_all() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..100 {
        let choices = prop::collection::vec(any::<u32>(), 200..300);
        let tree = choices.new_tree(&mut runner).unwrap();
        check(&proptest::strategy::ValueTree::current(&tree), 1, 1, 9);
    }
    let seen = SEEN.lock().unwrap();
    println!("{seen:?}");
    assert_eq!(seen.len(), 10 + UNARY.len() + BINARY.len(), "{seen:?}");
}
