//! Rows that go across their source, and rows with loops inside: blocks that are turned in registers, sums in lanes.

use crate::operators::{bytes_of, specials};
use crate::{checked, compare};
use itp::graph::scalar::Scalar;
use itp::graph::types::Element;
use itp::loops::execute::execute;
use itp::loops::ir::Kernel;
use itp::loops::parse::parse;
use itp::loops::passes::{Pass, run};

/// That many elements, of all kinds.
pub(crate) fn filled(element: Element, count: i64) -> Vec<u8> {
    let values: Vec<Scalar> = specials(element.computed()).into_iter().cycle().take(count as usize).collect();
    bytes_of(element, &values)
}

/// The kernel after all passes agrees with itself as it was, on every engine and in every width.
#[track_caller]
pub(crate) fn check(text: &str, runs: &[(&[i64], &[Vec<u8>])], expect: &str) {
    let kernel = parse(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let after = run(kernel.clone(), None, Pass::Sweep).kernel;
    let modules = checked(std::slice::from_ref(&after));
    for (args, buffers) in runs {
        compare(&modules, 0, &after, args, buffers);
        let results = |kernel: &Kernel| {
            let mut buffers = buffers.to_vec();
            execute(kernel, args, &mut buffers).unwrap_or_else(|error| panic!("{error}\n{kernel}"));
            buffers
        };
        assert!(results(&kernel) == results(&after), "{args:?}\n{kernel}{after}");
    }
    let last = modules.last().unwrap();
    assert!(last.vectors().bits() == 128 || last.asm(0).contains(expect), "{}", last.asm(0));
}

/// `b[y, x] = a[x, y]`, up or down along y; the mask makes a ring of the rows of `a`.
fn across(element: Element, towards: &str) -> String {
    let computed = element.computed();
    format!(
        "kernel a(rows, n, pitch, mask, first)\n  b0: {element} in\n  b1: {element} out\n  v0: i64 = const 0\n  \
         v1: i64 = arg 0\n  v2: i64 = arg 1\n  v3: i64 = arg 2\n  v4: i64 = arg 3\n  v5: i64 = arg 4\n  \
         for v6 in v0..v1\n    v7: i64 = mul v6 v2\n    v8: i64 = {towards} v5 v6\n    row v9 in v0..v2\n      \
         v10: i64 = and v9 v4\n      v11: i64 = mul v10 v3\n      v12: i64 = add v8 v11\n      \
         v13: {computed} = load b0 v12\n      v14: i64 = add v7 v9\n      store b1 v14 v13\n"
    )
}

#[test]
fn permuted_copies() {
    for element in Element::ALL {
        for (towards, down) in [("add", false), ("sub", true)] {
            let sizes = [(0, 4), (1, 37), (15, 16), (16, 1), (16, 16), (17, 19), (37, 5), (50, 33)];
            let runs =
                sizes.into_iter().flat_map(|(rows, n)| [(rows, n, 0, -1), (rows, n, 3, -1), (rows, n, 0, 7)]);
            let runs = runs.map(|(rows, n, gap, mask): (i64, i64, i64, i64)| {
                let first = if down { (rows - 1).max(0) } else { 0 };
                let held = if mask < 0 { n } else { n.min(mask + 1) };
                let read = ((held - 1) * (rows + gap) + rows).max(1);
                let buffers = vec![filled(element, read), filled(element, (rows * n).max(1))];
                (vec![rows, n, rows + gap, mask, first], buffers)
            });
            let runs: Vec<(Vec<i64>, Vec<Vec<u8>>)> = runs.collect();
            let runs: Vec<(&[i64], &[Vec<u8>])> =
                runs.iter().map(|(args, buffers)| (&args[..], &buffers[..])).collect();
            let expect = if element.bytes() == 8 { "vunpckhpd" } else { "vunpckhps" };
            check(&across(element, towards), &runs, expect);
        }
    }
}

/// A loop inside the row: every step loads as `offset` says, of v7 the row and v8 the loop, and v9 is what is carried.
fn reduction(element: Element, steps: i64, offset: &str, step: &str) -> String {
    let computed = element.computed();
    format!(
        "kernel a(n, pitch)\n  b0: {element} in\n  b1: {element} out\n  v0: i64 = const 0\n  v1: i64 = arg 0\n  \
         v2: i64 = arg 1\n  v3: i64 = const {steps}\n  v4: {computed} = const 0\n  v5: i64 = const 21\n  row v6 in v0..v1\n    \
         v7: {computed} = load b0 v6\n    for v8 in v0..v3\n      carry v9: {computed} = v4\n{offset}      \
         v12: {computed} = load b0 v11\n      v13: {computed} = {step}\n      next v13 -> v14\n    \
         v15: {computed} = max v14 v7\n    store b1 v6 v15\n"
    )
}

#[test]
fn loops_inside_rows() {
    let offsets = [
        ("      v10: i64 = mul v6 v5\n      v11: i64 = add v10 v8\n", "vunpckh"),
        ("      v10: i64 = mul v6 v2\n      v11: i64 = add v8 v10\n", "vunpckh"),
        ("      v10: i64 = mul v8 v2\n      v11: i64 = add v10 v6\n", "add qword ptr"),
        ("      v10: i64 = mul v8 v5\n      v11: i64 = sub v10 v0\n", "vbroadcasts"),
        ("      v10: i64 = sub v3 v8\n      v11: i64 = add v10 v6\n", "jne"),
    ];
    for element in [Element::F32, Element::F64, Element::I64, Element::U32, Element::U8, Element::F16] {
        for ((offset, expect), steps) in
            offsets.into_iter().flat_map(|offset| [(offset, 130), (offset, 21), (offset, 16)])
        {
            let expect = if element.bytes() < 4 { "ret" } else { expect };
            let text = reduction(element, steps, offset, "add v9 v12");
            let buffers = [filled(element, 50 * 140 + 140), filled(element, 40)];
            let runs = [0, 1, 7, 8, 16, 19, 33, 40].map(|n| vec![n, 50]);
            let runs: Vec<(&[i64], &[Vec<u8>])> = runs.iter().map(|args| (&args[..], &buffers[..])).collect();
            check(&text, &runs, expect);
        }
    }
}

/// Two accumulators that change places, a mask, and values that are needed before, in and after the loop.
#[test]
fn loops_carry_several() {
    let text = "kernel a(n)
  b0: f32 in
  b1: f32 out
  b2: bool out
  v0: i64 = const 0
  v1: i64 = arg 0
  v2: i64 = const 30
  v3: f32 = const 0.5
  v4: bool = const false
  v5: f32 = const 3
  row v6 in v0..v1
    v7: f32 = load b0 v6
    v8: f32 = mul v7 v3
    v9: f32 = div v7 v5
    for v10 in v0..v2
      carry v11: f32 = v7
      carry v12: f32 = v8
      carry v13: bool = v4
      v14: i64 = add v6 v10
      v15: f32 = load b0 v14
      v16: f32 = fma v15 v9 v11
      v17: bool = lt v15 v8
      v18: bool = or v13 v17
      next v12 -> v19
      next v16 -> v20
      next v18 -> v21
    v22: f32 = sub v19 v20
    v23: f32 = mul v22 v9
    store b1 v6 v23
    store b2 v6 v21
";
    let buffers = [filled(Element::F32, 80), vec![0; 160], vec![0; 40]];
    let runs = [0, 1, 8, 13, 16, 31, 40].map(|n| vec![n]);
    let runs: Vec<(&[i64], &[Vec<u8>])> = runs.iter().map(|args| (&args[..], &buffers[..])).collect();
    check(text, &runs, "jne");
}
