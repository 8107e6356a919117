//! Rows that divide their coordinate by a small number: cut by residue, and put together again in registers.

use crate::turned::{check, filled};
use itp::graph::types::Element;

/// `b[x] = max(a[x // k], a[x // k + x % k])`, and twice that for the row below.
fn resampled(element: Element, period: i64, rows: usize) -> String {
    let computed = element.computed();
    let chosen = if element == Element::Bool { "xor" } else { "max" };
    let mut text = format!(
        "kernel a(lo, hi, below, before)\n  b0: {element} in\n  b1: {element} out\n  v0: i64 = arg 0\n  \
         v1: i64 = arg 1\n  v2: i64 = arg 2\n  v3: i64 = arg 3\n  v4: i64 = const {period}\n  v5: i64 = const 100\n  \
         row v6 in v0..v1\n    v7: i64 = floordiv v6 v4\n    v8: i64 = rem v6 v4\n    v9: i64 = add v7 v2\n    \
         v10: {computed} = load b0 v9\n    v11: i64 = add v9 v8\n    v12: {computed} = load b0 v11\n    \
         v13: {computed} = {chosen} v10 v12\n    v14: i64 = add v6 v3\n    store b1 v14 v13\n"
    );
    if rows == 2 {
        text += &format!(
            "    v15: i64 = add v14 v5\n    v16: {computed} = {chosen} v12 v13\n    store b1 v15 v16\n"
        );
    }
    text
}

/// The bounds of rows, with what makes their offsets start at 0.
fn runs(element: Element, period: i64) -> Vec<(Vec<i64>, Vec<Vec<u8>>)> {
    let bounds =
        [(0, 0), (0, 1), (1, 2), (-1, 1), (-7, 9), (3, 3), (0, 16), (1, 64), (-33, 60), (-97, -4), (5, 105)];
    let run = |(lo, hi): (i64, i64)| {
        let last = (hi - 1).div_euclid(period) - lo.div_euclid(period) + period;
        let buffers = vec![filled(element, last.max(1)), filled(element, 200)];
        (vec![lo, hi, -lo.div_euclid(period), -lo], buffers)
    };
    bounds.into_iter().map(run).collect()
}

#[test]
fn quotients_and_remainders() {
    for element in Element::ALL {
        for (period, rows) in [(2, 1), (3, 1), (4, 1), (2, 2), (3, 2)] {
            let runs = runs(element, period);
            let runs: Vec<(&[i64], &[Vec<u8>])> =
                runs.iter().map(|(args, buffers)| (&args[..], &buffers[..])).collect();
            check(&resampled(element, period, rows), &runs, "vpermt2");
        }
    }
}

/// Quotients of quotients, of sums, and remainders as numbers; what is read lies at one place per residue, too.
#[test]
fn quotients_of_quotients() {
    let text = "kernel a(lo, hi, below, before)
  b0: f32 in
  b1: f32 out
  v0: i64 = arg 0
  v1: i64 = arg 1
  v2: i64 = arg 2
  v3: i64 = arg 3
  v4: i64 = const 2
  v5: i64 = const -1
  v6: i64 = const 3
  row v7 in v0..v1
    v8: i64 = add v7 v5
    v9: i64 = floordiv v8 v4
    v10: i64 = add v9 v6
    v11: i64 = floordiv v10 v4
    v12: i64 = and v7 v6
    v13: f32 = load b0 v12
    v14: i64 = add v11 v2
    v15: f32 = load b0 v14
    v16: f32 = cast v12
    v17: f32 = fma v13 v15 v16
    v18: i64 = add v7 v3
    store b1 v18 v17
";
    let buffers = [filled(Element::F32, 40), filled(Element::F32, 130)];
    let runs = [(0, 1), (0, 4), (-9, 9), (2, 67), (-40, 60), (1, 128)];
    let runs = runs.map(|(lo, hi): (i64, i64)| vec![lo, hi, -lo.div_euclid(4), -lo]);
    let runs: Vec<(&[i64], &[Vec<u8>])> = runs.iter().map(|args| (&args[..], &buffers[..])).collect();
    check(text, &runs, "vpermt2d");
}

/// A row of one element reads only what that needs, although the others of its period would read elsewhere.
#[test]
fn nothing_is_read_for_rows_without_whole_periods() {
    let text = "kernel a(lo, hi)
  b0: f32 in
  b1: f32 out
  v0: i64 = arg 0
  v1: i64 = arg 1
  v2: i64 = const 1
  row v3 in v0..v1
    v4: i64 = and v3 v2
    v5: f32 = load b0 v4
    store b1 v3 v5
";
    let (one, two) = ([filled(Element::F32, 1), vec![0; 4]], [filled(Element::F32, 2), vec![0; 160]]);
    check(text, &[(&[0, 1], &one), (&[0, 0], &one), (&[1, 40], &two)], "vpermt2d");
}

/// Reads at the coordinate itself beside those at its quotient: taken apart, and put together again.
#[test]
fn what_lies_in_turn_is_taken_apart() {
    for element in Element::ALL {
        for period in 2..=4 {
            let computed = element.computed();
            let chosen = if element == Element::Bool { "xor" } else { "max" };
            let text = format!(
                "kernel a(lo, hi, below, before)\n  b0: {element} in\n  b1: {element} out\n  v0: i64 = arg 0\n  \
                 v1: i64 = arg 1\n  v2: i64 = arg 2\n  v3: i64 = arg 3\n  v4: i64 = const {period}\n  \
                 row v5 in v0..v1\n    v6: i64 = floordiv v5 v4\n    v7: i64 = add v6 v2\n    \
                 v8: {computed} = load b0 v7\n    v9: i64 = add v5 v3\n    v10: {computed} = load b0 v9\n    \
                 v11: {computed} = {chosen} v8 v10\n    store b1 v9 v11\n"
            );
            let runs =
                [(0, 1), (0, 16), (-7, 9), (1, 64), (-33, 60), (5, 105)].map(|(lo, hi): (i64, i64)| {
                    let buffers = vec![filled(element, hi - lo), filled(element, hi - lo)];
                    (vec![lo, hi, -lo.div_euclid(period), -lo], buffers)
                });
            let runs: Vec<(&[i64], &[Vec<u8>])> =
                runs.iter().map(|(args, buffers)| (&args[..], &buffers[..])).collect();
            check(&text, &runs, "vpermt2");
        }
    }
}
