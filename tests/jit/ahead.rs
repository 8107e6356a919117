//! Rows that compute what neighbours share one register ahead: of any length, and never beyond the end of what is read.

use crate::operators::{bytes_of, specials};
use crate::{checked, compare};
use itp::graph::scalar::Scalar;
use itp::graph::types::Element;
use itp::loops::ir::Kernel;
use itp::loops::parse::parse;
use itp::loops::passes::{Pass, run};

const HEAD: &str = "kernel a(rows, n, pitch, first)
  b0: f32 in
  b1: f32 in
  b2: f32 out
  v0: i64 = const 0
  v1: i64 = arg 0
  v2: i64 = arg 1
  v3: i64 = arg 2
  v4: i64 = arg 3
  v5: i64 = const 1
  v6: i64 = const 2
  v7: i64 = const 5
  for v8 in v0..v1
    v9: i64 = mul v8 v3
    row v10 in v0..v2
      v11: i64 = add v9 v10
      v12: i64 = add v11 v5
      v13: i64 = add v11 v6
      v14: i64 = add v11 v7
";

/// Sums of squares at four places, `c[x] = a[x] * a[x] + b[x] * b[x]`: v18, v22, v26 and v30.
fn squares() -> String {
    let at = |place: u32, offset: u32| {
        let [a, b, product, sum] = [15, 16, 17, 18].map(|first| first + 4 * place);
        format!(
            "      v{a}: f32 = load b0 v{offset}\n      v{b}: f32 = load b1 v{offset}\n      \
             v{product}: f32 = mul v{a} v{a}\n      v{sum}: f32 = fma v{b} v{b} v{product}\n"
        )
    };
    (0..4).map(|place| at(place, 11 + place)).collect()
}

#[track_caller]
fn check(body: &str, shifts: usize) {
    let text = format!("{HEAD}{}{body}", squares());
    let kernel: Kernel = run(parse(&text).unwrap(), None, Pass::Sweep).kernel;
    let modules = checked(std::slice::from_ref(&kernel));
    let values = |count: i64| {
        let all: Vec<Scalar> = specials(Element::F32).into_iter().cycle().take(count as usize).collect();
        bytes_of(Element::F32, &all)
    };
    for rows in [1, 5] {
        for n in (0..70).chain([95, 96, 128, 130]) {
            for first in [0, 3, 15] {
                // The last row ends with the last element that is read of it.
                let read = (rows - 1) * n + n + 5;
                let buffers = [values(read), values(read), values(rows * n + first)];
                compare(&modules, 0, &kernel, &[rows, n, n, first], &buffers);
            }
        }
    }
    let last = modules.last().unwrap();
    let wide = if last.vectors().bits() > 128 { shifts } else { 0 };
    // Once for passes through the cache, and once for those past it.
    assert_eq!(last.asm(0).matches("valignd").count(), 2 * wide, "{}", last.asm(0));
}

#[test]
fn sums_of_neighbours() {
    let body = "      v31: f32 = add v18 v22\n      v32: f32 = add v31 v26\n      v33: f32 = add v32 v30\n      \
                v34: i64 = add v11 v4\n      store b2 v34 v33\n";
    check(body, 3);
}

#[test]
fn neighbours_of_neighbours() {
    // d[x] = c[x] - c[x + 1], out[x] = d[x] * d[x + 1] + c[x + 5]
    let body = "      v31: f32 = sub v18 v22\n      v32: f32 = sub v22 v26\n      v33: f32 = mul v31 v32\n      \
                v34: f32 = add v33 v30\n      v35: i64 = add v11 v4\n      store b2 v35 v34\n";
    check(body, 3);
}

#[test]
fn elements_that_are_read_at_many_places() {
    // a[x] + a[x + 1] + a[x + 2] + a[x + 5], and a[x + 3]: from five places on they are loaded once
    let four = "      v31: f32 = add v15 v19\n      v32: f32 = add v31 v23\n      v33: f32 = add v32 v27\n      \
                v34: i64 = add v11 v4\n";
    check(&format!("{four}      store b2 v34 v33\n"), 0);
    let five = "      v35: i64 = add v12 v6\n      v36: f32 = load b0 v35\n      v37: f32 = add v33 v36\n";
    check(&format!("{four}{five}      store b2 v34 v37\n"), 4);
}
