//! Bodies that are long, deep or wide: lowering stays on its stack, keeps to the laws and makes no more than it must.

use crate::program;
use itp::loops::lower::lower;
use itp::loops::verify::verify;

/// How many values the kernel of `t` has.
fn size(script: &str) -> usize {
    let program = program("limits.itp", &format!("input p: f32[y: inf, x: inf]\n{script}"));
    let (id, _) = program.graph.iter().find(|(_, tensor)| &*tensor.name == "t").unwrap();
    let lowered = lower(&program.graph, id, &program.accesses.tensors[id.index()]).unwrap();
    verify(&lowered.kernel).unwrap();
    lowered.kernel.values.len()
}

#[test]
fn long_chains() {
    let chain = " + p[y, x] * 2.5".repeat(5_000);
    assert!(size(&format!("tensor t: f32[y: inf, x: inf] = 1{chain}")) > 5_000);
}

#[test]
fn choices_inside_choices() {
    let mut script = String::from("fn f0(v, y) = if y > 0 then v + 1 else v * 2\n");
    for at in 1..40 {
        script +=
            &format!("fn f{at}(v, y) = {{ let w = f{}(v, y); if y > {at} then w + 1 else w * w }}\n", at - 1);
    }
    script += "tensor t: f32[y: inf, x: inf] = f39(p[y, x], y)";
    assert!(size(&script) < 20_000);
}

/// A value that `count` choices pass on, each of which reads in both arms; `condition` says by what they choose.
fn chosen(count: usize, condition: impl Fn(usize) -> String) -> String {
    let lets: String = (0..count)
        .map(|at| {
            let (before, condition) = (at, condition(at));
            let next = at + 1;
            format!("let e{next} = if {condition} then e{before} * 1.5 + p[y, x - {at}] else e{before} + p[y - {at}, x];\n")
        })
        .collect();
    format!("tensor t: f32[y: inf, x: inf] = {{ let e0 = f32(0);\n{lets}e{count} }}")
}

#[test]
fn choices_do_not_multiply() {
    let across = |at: usize| format!("y < {}", 5 * at + 2);
    let along = |at: usize| format!("x < {}", 7 * at + 3);
    let both = |at: usize| if at.is_multiple_of(2) { across(at) } else { along(at) };
    let ways: [&dyn Fn(usize) -> String; 3] = [&across, &along, &both];
    for condition in ways {
        let sizes = [6, 12, 24, 48].map(|count| size(&chosen(count, condition)));
        // What passes may add at the most, and then so much per choice, however many there are.
        assert!(
            sizes.iter().zip([6, 12, 24, 48]).all(|(size, count)| *size < 3_000 + 100 * count),
            "{sizes:?}"
        );
    }
}

#[test]
fn arms_that_choose_again_are_bounded() {
    // Every arm needs the whole inner expression under another condition, so nothing is shared before the branch.
    let mut inner = (0..20).map(|at| format!("p[y - {at}, x + {at}]")).collect::<Vec<_>>().join(" * ");
    for at in 0..8 {
        inner = format!(
            "(if y < {at} then (if y > {} then {inner} else 1) else (if y < {} then {inner} else 2))",
            at - 100,
            at + 100
        );
    }
    assert!(size(&format!("tensor t: f32[y: inf, x: inf] = {inner}")) < 30_000);
}

#[test]
fn reductions_inside_reductions() {
    let sums = "sum(a in 0..100) sum(b in 0..100) sum(c in 0..100) p[y + a, x + b - c]";
    assert!(size(&format!("tensor t: f32[y: inf, x: inf] = {sums}")) < 20_000);
}
