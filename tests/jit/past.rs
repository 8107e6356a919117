//! Rows that are written past the cache: from any start, of any length, jammed or not, every element once.

use crate::operators::{bytes_of, specials};
use crate::{checked, compare};
use itp::graph::scalar::Scalar;
use itp::graph::types::Element;
use itp::loops::parse::parse;
use itp::loops::passes::{Pass, run};

/// `b[y, x] = a[y, x] + a[y + 1, x]`: four rows at a time share what they read.
fn rows(element: Element) -> String {
    format!(
        "kernel a(rows, n, pitch, first)\n  b0: {element} in\n  b1: {element} out\n  v0: i64 = const 0\n  \
         v1: i64 = arg 0\n  v2: i64 = arg 1\n  v3: i64 = arg 2\n  v4: i64 = arg 3\n  v5: i64 = const 1\n  \
         for v6 in v0..v1\n    v7: i64 = mul v6 v3\n    v8: i64 = add v6 v5\n    v9: i64 = mul v8 v3\n    \
         row v10 in v0..v2\n      v11: i64 = add v7 v10\n      v12: {element} = load b0 v11\n      \
         v13: i64 = add v9 v10\n      v14: {element} = load b0 v13\n      v15: {element} = add v12 v14\n      \
         v16: i64 = add v11 v4\n      store b1 v16 v15\n"
    )
}

#[test]
fn rows_of_any_length_from_any_start() {
    for element in [Element::F32, Element::I32, Element::F64, Element::U64, Element::U8] {
        let kernel = run(parse(&rows(element)).unwrap(), None, Pass::Sweep).kernel;
        let modules = checked(std::slice::from_ref(&kernel));
        let values = |count: i64| {
            let all: Vec<Scalar> = specials(element).into_iter().cycle().take(count as usize).collect();
            bytes_of(element, &all)
        };
        for (rows, pitch) in [(1, 96), (5, 96), (4, 97)] {
            for n in [0, 1, 15, 16, 17, 31, 32, 33, 47, 80, 96] {
                for first in [0, 1, 7, 15] {
                    let buffers = [values((rows + 1) * pitch), values(rows * pitch + first)];
                    compare(&modules, 0, &kernel, &[rows, n, pitch, first], &buffers);
                }
            }
        }
        let last = modules.last().unwrap();
        let expect = element.bytes() >= 4 && last.vectors().bits() > 128;
        assert_eq!(last.asm(0).contains("vmovnt"), expect, "{element}: {}", last.asm(0));
    }
}
