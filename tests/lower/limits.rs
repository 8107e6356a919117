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

#[test]
fn reductions_inside_reductions() {
    let sums = "sum(a in 0..100) sum(b in 0..100) sum(c in 0..100) p[y + a, x + b - c]";
    assert!(size(&format!("tensor t: f32[y: inf, x: inf] = {sums}")) < 20_000);
}
