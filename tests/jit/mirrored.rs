//! Differences of two places that are taken one way round: the same bytes for all pairs of special values, and less work.

use crate::operators::{bytes_of, specials};
use crate::{checked, compare};
use itp::graph::scalar::Scalar;
use itp::graph::types::Element;
use itp::loops::execute::execute;
use itp::loops::parse::parse;
use itp::loops::passes::{Pass, run};

/// What steep places lose to the four neighbours of an element: the rows above and below, left and right.
const KERNEL: &str = "kernel a(rows, n, pitch)
  b0: f32 in
  b1: f32 out
  v0: i64 = const 0
  v1: i64 = arg 0
  v2: i64 = arg 1
  v3: i64 = arg 2
  v4: i64 = const 1
  v5: i64 = const 2
  v6: f32 = const 0.0
  v7: f32 = const -0.5
  v8: f32 = const 0.5
  for v9 in v0..v1
    v10: i64 = mul v9 v3
    v11: i64 = add v9 v4
    v12: i64 = mul v11 v3
    v13: i64 = add v9 v5
    v14: i64 = mul v13 v3
    row v15 in v0..v2
      v16: i64 = add v12 v15
      v17: i64 = add v16 v4
      v18: i64 = add v16 v5
      v19: i64 = add v10 v15
      v20: i64 = add v19 v4
      v21: i64 = add v14 v15
      v22: i64 = add v21 v4
      v23: f32 = load b0 v17
      v24: f32 = load b0 v20
      v25: f32 = load b0 v16
      v26: f32 = load b0 v18
      v27: f32 = load b0 v22
      v28: f32 = sub v24 v23
      v29: f32 = max v28 v7
      v30: f32 = min v29 v8
      v31: f32 = sub v28 v30
      v32: f32 = add v6 v31
      v33: f32 = sub v25 v23
      v34: f32 = max v33 v7
      v35: f32 = min v34 v8
      v36: f32 = sub v33 v35
      v37: f32 = add v32 v36
      v38: f32 = sub v26 v23
      v39: f32 = max v38 v7
      v40: f32 = min v39 v8
      v41: f32 = sub v38 v40
      v42: f32 = add v37 v41
      v43: f32 = sub v27 v23
      v44: f32 = max v43 v7
      v45: f32 = min v44 v8
      v46: f32 = sub v43 v45
      v47: f32 = add v42 v46
      store b1 v16 v47
";

/// Rows in which all pairs of special values follow each other, and stand below each other.
fn pairs() -> (i64, Vec<Scalar>) {
    let special = specials(Element::F32);
    let row: Vec<Scalar> = special.iter().flat_map(|a| special.iter().flat_map(|b| [*a, *b])).collect();
    let turned = row.chunks(2).flat_map(|pair| [pair[1], pair[0]]);
    let rows = [row.clone(), turned.collect(), row[1..].iter().chain(&row[..1]).copied().collect()];
    (row.len() as i64, rows.iter().cycle().take(8).flatten().copied().collect())
}

#[test]
fn all_pairs_keep_their_bits() {
    let before = parse(KERNEL).unwrap();
    let after = run(before.clone(), None, Pass::Sweep).kernel;
    let (pitch, values) = pairs();
    let buffers = [bytes_of(Element::F32, &values), vec![0; 4 * values.len()]];
    let args = [6, pitch - 2, pitch];
    let written = |kernel| {
        let mut buffers = buffers.to_vec();
        execute(kernel, &args, &mut buffers).unwrap();
        buffers
    };
    assert!(written(&before) == written(&after), "{after}");
    compare(&checked(std::slice::from_ref(&after)), 0, &after, &args, &buffers);
}

#[test]
fn neighbours_share() {
    let kernel = run(parse(KERNEL).unwrap(), None, Pass::Sweep).kernel;
    let modules = checked(std::slice::from_ref(&kernel));
    let last = modules.last().unwrap();
    if last.vectors().bits() == 128 {
        return;
    }
    let asm = last.asm(0);
    // Of four rows together, and of the one row that is left over: the row itself is shifted, and what its differences become.
    assert_eq!(asm.matches("valignd").count(), 2 * (4 + 1), "{asm}");
    assert!(asm.contains("vmaxps"), "{asm}");
}
