//! Kernels written by hand: loops, choices, carried lanes, steps, gathers, tables, blending, and what the engine says.

use crate::operators::{bytes_of, specials};
use crate::{checked, compare};
use itp::graph::scalar::Scalar;
use itp::graph::types::Element;
use itp::jit::{JitOptions, compile};
use itp::loops::parse::parse;

#[track_caller]
fn check(text: &str, args: &[i64], buffers: &[Vec<u8>]) {
    let kernel = parse(text).unwrap_or_else(|error| panic!("{error}"));
    compare(&checked(std::slice::from_ref(&kernel)), 0, &kernel, args, buffers);
}

#[test]
fn steps_along_the_row() {
    let steps = Element::ALL.iter().flat_map(|element| (-3..=3).map(move |step| (*element, step)));
    for ((element, step), place) in steps.flat_map(|read| [(read, "sub v8 v4"), (read, "add v0 v4")]) {
        let (computed, base) = (element.computed(), if step < 0 { -step * 39 } else { 0 });
        let text = format!(
            "kernel a(n)\n  b0: {element} in\n  b1: {element} out\n  v0: i64 = const 0\n  v1: i64 = arg 0\n  \
             v2: i64 = const {step}\n  v3: i64 = const {base}\n  row v4 in v0..v1\n    v5: i64 = mul v4 v2\n    \
             v6: i64 = add v5 v3\n    v7: {computed} = load b0 v6\n    v8: i64 = const 39\n    \
             v9: i64 = {place}\n    store b1 v9 v7\n"
        );
        let values: Vec<Scalar> = specials(computed).into_iter().cycle().take(118).collect();
        let buffers = [bytes_of(element, &values), bytes_of(element, &values[..40])];
        let kernel = parse(&text).unwrap();
        let modules = checked(std::slice::from_ref(&kernel));
        (0..=40).for_each(|length| compare(&modules, 0, &kernel, &[length], &buffers));
    }
}

/// Sums and differences of all special numbers, among comparisons: some processors do some of them as products with 1 and -1.
#[test]
fn sums_among_comparisons() {
    for element in [Element::F32, Element::F64] {
        let values = specials(element);
        let (all, count) = (values.iter(), values.len() as i64);
        let pairs: Vec<(Scalar, Scalar)> = all.flat_map(|a| values.iter().map(move |b| (*a, *b))).collect();
        let [left, right] = [0, 1].map(|side| {
            let side: Vec<Scalar> =
                pairs.iter().map(|pair| if side == 0 { pair.0 } else { pair.1 }).collect();
            bytes_of(element, &side)
        });
        let outs: String = (2..8).map(|buffer| format!("  b{buffer}: {element} out\n")).collect();
        let text = format!(
            "kernel a(n)\n  b0: {element} in\n  b1: {element} in\n{outs}  v0: i64 = const 0\n  v1: i64 = arg 0\n  \
             row v2 in v0..v1\n    v3: {element} = load b0 v2\n    v4: {element} = load b1 v2\n    \
             v5: {element} = add v3 v4\n    store b2 v2 v5\n    v6: {element} = sub v3 v4\n    store b3 v2 v6\n    \
             v7: {element} = max v5 v6\n    store b4 v2 v7\n    v8: {element} = sub v4 v3\n    store b5 v2 v8\n    \
             v9: {element} = add v7 v8\n    store b6 v2 v9\n    v10: {element} = add v9 v3\n    store b7 v2 v10\n"
        );
        let out = vec![0; left.len()];
        let mut buffers = vec![left, right];
        buffers.resize(8, out);
        check(&text, &[count * count], &buffers);
    }
}

/// Rows of lists, shorter and longer than the parts that they are gone along in, the last ones at the end of their memory.
#[test]
fn walks_along_lists() {
    let text = "kernel a(n)
  b0: u32 in
  b1: u32 in
  b2: f64 in
  b3: f64 in
  b4: f64 out
  v0: i64 = const 0
  v1: i64 = arg 0
  v2: i64 = const 1
  v3: f64 = const 0.0
  for v4 in v0..v1
    v5: u32 = load b0 v4
    v6: i64 = cast v5
    v7: i64 = add v4 v2
    v8: u32 = load b0 v7
    v9: i64 = cast v8
    for v10 in v6..v9
      carry v11: f64 = v3
      v12: u32 = load b1 v10
      v13: i64 = cast v12
      v14: f64 = load b2 v10
      v15: f64 = load b3 v13
      v16: f64 = fma v14 v15 v11
      next v16 -> v17
    store b4 v4 v17
";
    let kernel = parse(text).unwrap();
    let modules = checked(std::slice::from_ref(&kernel));
    if cfg!(all(target_arch = "x86_64", unix)) {
        assert!(modules.iter().all(|module| module.asm(0).contains("call")), "lists are asked for");
    }
    let ends = [0u32, 0, 3, 258, 259, 515, 771, 771, 1284, 1300];
    let numbers =
        |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
    let floats =
        |count: u32| (0..count).flat_map(|at| (f64::from(at) - 0.1).to_le_bytes()).collect::<Vec<u8>>();
    let places: Vec<u32> = (0..1300).map(|at| at * 7 % 50).collect();
    let rows = ends.len() as i64 - 1;
    let buffers = [numbers(&ends), numbers(&places), floats(1300), floats(50), vec![0; 8 * rows as usize]];
    (0..=rows).for_each(|count| compare(&modules, 0, &kernel, &[count], &buffers));
}

#[test]
fn scattered_stores() {
    for element in Element::ALL {
        let computed = element.computed();
        let values: Vec<Scalar> = specials(computed).into_iter().cycle().take(39).collect();
        for step in [-3, -2, 2, 3] {
            let base = if step < 0 { -step * 12 } else { 0 };
            let text = format!(
                "kernel a(n)\n  b0: {element} in\n  b1: {element} out\n  v0: i64 = const 0\n  v1: i64 = arg 0\n  \
                 v2: i64 = const {step}\n  v3: i64 = const {base}\n  row v4 in v0..v1\n    v5: {computed} = load b0 v4\n    \
                 v6: i64 = mul v2 v4\n    v7: i64 = add v3 v6\n    store b1 v7 v5\n"
            );
            check(&text, &[13], &[bytes_of(element, &values[..13]), bytes_of(element, &values)]);
        }
    }
}

/// Coordinates near and far, converted to floats and back: the far ones take another way.
#[test]
fn far_coordinates() {
    let text = "kernel a(n, from)
  b0: f32 out
  b1: f64 out
  b2: i64 out
  b3: u64 out
  b4: f32 out
  v0: i64 = const 0
  v1: i64 = arg 0
  v2: i64 = arg 1
  row v3 in v0..v1
    v4: i64 = add v3 v2
    v5: f32 = cast v4
    store b0 v3 v5
    v6: f64 = cast v4
    store b1 v3 v6
    v7: i64 = cast v6
    store b2 v3 v7
    v8: u64 = cast v5
    store b3 v3 v8
    v9: u64 = cast v4
    v10: f32 = cast v9
    store b4 v3 v10
";
    let kernel = parse(text).unwrap();
    let modules = checked(std::slice::from_ref(&kernel));
    let powers = (0..63).map(|power| 1i64 << power);
    for from in
        powers.flat_map(|power| [power - 7, power - 3, power, -power - 5, -power]).chain([i64::MIN, i64::MAX])
    {
        compare(&modules, 0, &kernel, &[13, from], &[4, 8, 8, 8, 4].map(|size| vec![0; 13 * size]));
    }
}

/// A histogram of what a table says, summed along a window: gathers, tables, and a carried sum in lanes.
#[test]
fn reductions_carry_lanes() {
    let text = "kernel a(n, taps)
  b0: u8 in
  b1: f64 out
  b2: i64 out
  t0: f64 = 0.5 -1.5 2.25 1e300
  v0: i64 = const 0
  v1: i64 = arg 0
  v2: i64 = arg 1
  v3: f64 = const 0
  v4: i64 = const 4
  v5: i64 = const 1
  row v6 in v0..v1
    for v7 in v0..v2
      carry v8: f64 = v3
      carry v9: i64 = v6
      carry v10: i64 = v5
      v11: i64 = add v6 v7
      v12: u8 = load b0 v11
      v13: i64 = cast v12
      v14: i64 = rem v13 v4
      v15: f64 = table t0 v14
      v16: f64 = add v8 v15
      v17: i64 = mul v9 v13
      v18: i64 = add v10 v10
      next v16 -> v19
      next v17 -> v20
      next v18 -> v21
    store b1 v6 v19
    v22: i64 = xor v20 v21
    store b2 v6 v22
";
    let bytes: Vec<u8> = (0..20u8).map(|at| at.wrapping_mul(37)).collect();
    for (n, taps) in [(0, 3), (1, 0), (4, 3), (7, 5), (13, 7)] {
        check(text, &[n, taps], &[bytes.clone(), vec![1; 13 * 8], vec![2; 13 * 8]]);
    }
}

/// The condition keeps the load inside its buffer: no code may move past it.
#[test]
fn loads_stay_behind_their_conditions() {
    let text = "kernel a(rows, n, far)
  b0: f32 in
  b1: f32 out
  v0: i64 = const 0
  v1: i64 = arg 0
  v2: i64 = arg 1
  v3: i64 = arg 2
  v4: i64 = const 4
  v5: bool = lt v3 v4
  for v6 in v0..v1
    row v7 in v0..v2
      if v5
        v8: f32 = load b0 v3
      else
        v9: f32 = const 7
      give v10: f32 = v8 else v9
      store b1 v7 v10
";
    let input = bytes_of(Element::F32, &specials(Element::F32)[..4]);
    for (rows, n, far) in [(2, 9, 3), (2, 9, 1 << 40), (0, 9, 1 << 40), (3, 0, 2)] {
        check(text, &[rows, n, far], &[input.clone(), vec![0; 36]]);
    }
    let empty = "kernel a(rows, n, far)
  b0: f32 in
  b1: f32 out
  v0: i64 = const 0
  v1: i64 = arg 0
  v2: i64 = arg 1
  v3: i64 = arg 2
  for v4 in v0..v1
    row v5 in v0..v2
      v6: f32 = load b0 v3
      store b1 v5 v6
";
    check(empty, &[5, 0, 1 << 40], &[input.clone(), vec![0; 36]]);
    check(empty, &[0, 5, 1 << 40], &[input, vec![0; 36]]);
}

#[test]
fn windows_blend_into_what_is_there() {
    let text = "kernel a(n)
  b0: f16 in
  b1: f16 out
  v0: i64 = const 0
  v1: i64 = arg 0
  row v2 in v0..v1
    v3: f32 = load b0 v2
    v4: f32 = load b1 v2
    v5: f32 = add v3 v4
    store b1 v2 v5
";
    let values = specials(Element::F32);
    let bytes = bytes_of(Element::F16, &values);
    let mut other = bytes.clone();
    other.rotate_left(22);
    check(text, &[values.len() as i64], &[bytes, other]);
}

#[test]
fn broken_kernels_and_their_names_are_refused() {
    let kernel = parse("kernel nope()\n  v0: f32 = const 1\n  v1: f32 = shl v0 v0\n").unwrap();
    let error = compile(&[kernel], &JitOptions::default()).err();
    assert_eq!(error.as_deref(), Some("kernel `nope`: `v1 = shl v0 v0`: `shl` of `f32`"));
}

#[test]
fn code_can_be_read() {
    let kernel =
        parse("kernel printf(n)\n  b0: f32 out\n  v0: i64 = arg 0\n  v1: f32 = const 1\n  store b0 v0 v1\n")
            .unwrap();
    let modules = checked(&[kernel]);
    assert!(modules[0].clif(0).contains("store notrap"), "{}", modules[0].clif(0));
    assert!(!modules[0].clif(0).contains("printf"));
    assert!(modules[0].asm(0).contains("ret"), "{}", modules[0].asm(0));
}

#[test]
fn modules_are_shared_between_threads() {
    let text = "kernel a(n)\n  b0: i32 out\n  v0: i64 = const 0\n  v1: i64 = arg 0\n  row v2 in v0..v1\n    \
                v3: i32 = cast v2\n    store b0 v2 v3\n";
    let module = std::sync::Arc::new(checked(&[parse(text).unwrap()]).remove(0));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let module = module.clone();
            std::thread::spawn(move || {
                let mut out = vec![0i32; 1000];
                // SAFETY: the buffer has room for the 1000 elements that are asked for.
                unsafe { module.call(0, &[1000], &[out.as_mut_ptr().cast()]) };
                assert!(out.iter().enumerate().all(|(at, value)| at as i32 == *value));
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Such bodies are made by programs; their code would be as long as it would be slow to make.
#[test]
fn rows_that_are_too_long_for_lanes_are_done_step_by_step() {
    let values = specials(Element::I64);
    let bytes = bytes_of(Element::I64, &values);
    for (terms, in_lanes) in [(100, true), (800, false)] {
        let term = |at: usize| {
            let (by, quotient, sum) = (3 * at + 4, 3 * at + 5, 3 * at + 6);
            format!(
                "    v{by}: i64 = const {}\n    v{quotient}: i64 = floordiv v3 v{by}\n    v{sum}: i64 = add v{} v{quotient}\n",
                at + 2,
                by - 1
            )
        };
        let terms: String =
            (0..terms).map(term).chain([format!("    store b1 v2 v{}\n", 3 * terms + 3)]).collect();
        let text = format!(
            "kernel a(n)\n  b0: i64 in\n  b1: i64 out\n  v0: i64 = const 0\n  v1: i64 = arg 0\n  row v2 in v0..v1\n    \
             v3: i64 = load b0 v2\n{terms}"
        );
        let kernel = parse(&text).unwrap_or_else(|error| panic!("{error}"));
        let modules = checked(std::slice::from_ref(&kernel));
        assert_eq!(modules[0].clif(0).contains("i64x2"), in_lanes);
        compare(&modules, 0, &kernel, &[values.len() as i64], &[bytes.clone(), bytes.clone()]);
    }
}

/// A constant divides by way of its inverse: the same bits, for numbers of every size.
#[test]
fn division_by_constants() {
    let mut random = 88172645463325252u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    for element in [Element::F32, Element::F64] {
        let mut values = specials(element);
        values.extend((0..6000).map(|_| match element {
            Element::F32 => Scalar::f32(f32::from_bits(next() as u32)),
            _ => Scalar::f64(f64::from_bits(next())),
        }));
        values.extend((0..6000).map(|_| Scalar::float(element, (next() % 100_000) as f64 / 128.0)));
        let n = values.len();
        for divisor in ["3", "-7", "0.1", "255", "9", "16", "12", "1.0000001", "1e-9", "1e30", "0"] {
            let text = format!(
                "kernel a(n)\n  b0: {element} in\n  b1: {element} out\n  v0: i64 = const 0\n  v1: i64 = arg 0\n  \
                 v2: {element} = const {divisor}\n  row v3 in v0..v1\n    v4: {element} = load b0 v3\n    \
                 v5: {element} = div v4 v2\n    store b1 v3 v5\n"
            );
            let kernel = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let buffers = [bytes_of(element, &values), vec![0; n * element.bytes() as usize]];
            compare(&checked(std::slice::from_ref(&kernel)), 0, &kernel, &[n as i64], &buffers);
        }
    }
}

/// Only the low bits of an i64 are wanted: the way there does not matter, also for numbers that no i32 holds.
#[test]
fn floats_through_i64() {
    let mut values = specials(Element::F32);
    values.extend((0..2000).map(|at| Scalar::f32((at - 1000) as f32 * 12_345_679.0)));
    let n = values.len();
    for to in [Element::U8, Element::I16, Element::I32, Element::U32] {
        let text = format!(
            "kernel a(n)\n  b0: f32 in\n  b1: {to} out\n  v0: i64 = const 0\n  v1: i64 = arg 0\n  \
             row v2 in v0..v1\n    v3: f32 = load b0 v2\n    v4: i64 = cast v3\n    v5: {to} = cast v4\n    \
             store b1 v2 v5\n"
        );
        let kernel = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let buffers = [bytes_of(Element::F32, &values), vec![0; n * to.bytes() as usize]];
        compare(&checked(std::slice::from_ref(&kernel)), 0, &kernel, &[n as i64], &buffers);
    }
}
