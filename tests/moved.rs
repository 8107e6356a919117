//! A plan that is moved is the plan that a fresh look at the other place makes, and what cannot be moved is not.

#![cfg(feature = "jit")]
#![allow(clippy::expect_used, reason = "helpers of tests")]

use itp::Engine;
use itp::access::footprint::Region;
use itp::graph::body::TensorId;
use itp::index::Interval;
use itp::plan::fuse::Rows;
use itp::plan::group::{Request, groups, needed_boxes};
use itp::plan::moved::steady;
use itp::plan::peak::peak;
use itp::plan::readers::Division;
use itp::plan::stages::{Stages, stages};
use itp::plan::stop::Stop;
use proptest::prelude::*;
use std::sync::Arc;

/// The stages of a script whose last tensor is `out`.
fn staged(script: &str) -> Arc<Stages> {
    let engine = Engine::compile(script).expect(script);
    let program = engine.program();
    Arc::new(stages(&program.graph, &program.accesses, Rows::Ahead).expect("a script has stages"))
}

/// A fresh plan of a box of `out`.
fn planned(stages: &Arc<Stages>, region: &Region, tile: Option<Vec<i64>>) -> Division {
    let target =
        stages.graph.tensors.iter().position(|tensor| &*tensor.name == "out").expect("there is `out`");
    let target = TensorId(target as u32);
    let request = Request { target, region: region.clone(), threads: 2, tile, stop: Stop::default() };
    let boxes = needed_boxes(stages, &request).expect("it can be planned");
    let groups = groups(stages, &request, &boxes).expect("it can be planned");
    Division { stages: stages.clone(), boxes, groups, stop: request.stop }
}

fn at(corner: &[i64], shape: &[i64]) -> Region {
    let dims = corner.iter().zip(shape);
    dims.map(|(corner, size)| Interval::sized(*corner, *size).expect("a range")).collect()
}

/// All that a plan is.
fn shown(division: &Division) -> String {
    let held = peak(division, 2).expect("it can be planned");
    format!("{:#?}\n{:#?}\n{held:?}", division.boxes, division.groups)
}

/// Whether the plan of a box can be moved as far; if so, it has to be the fresh one.
fn moves(stages: &Arc<Stages>, corner: &[i64], by: &[i64], shape: &[i64], tile: Option<Vec<i64>>) -> bool {
    let there: Vec<i64> = corner.iter().zip(by).map(|(corner, by)| corner + by).collect();
    let (from, to) = (at(corner, shape), at(&there, shape));
    let known = planned(stages, &from, tile.clone());
    let Some(steady) = steady(&known) else { return false };
    let Some(by) = steady.distance(&from, &to) else { return false };
    let Some(moved) = steady.moved(&known, &by, Stop::default()) else { return false };
    assert_eq!(shown(&moved), shown(&planned(stages, &to, tile)), "from {from:?} to {to:?}");
    true
}

/// Bodies that read `p`, with two distances; whether they read it alike everywhere.
const BODIES: [(&str, bool); 15] = [
    ("p[y + A, x - B] + p[y - A, x]", true),
    ("sum(i in -A..=B) p[y, x + i] * f32(i)", true),
    ("p[x + A, y - B]", true),
    ("p[y, x] * f32(x) + f32(y // 3)", true),
    ("if p[y, x] > 0.5 then p[y + A, x] else p[y, x - B]", true),
    ("p[y, A]", true),
    ("max(j in 0..A, i in 0..3) p[y + j, x - i]", true),
    ("p[y, x] + p[x, y]", false),
    ("if y < A then p[y - B, x] else p[y + B, x]", false),
    ("p[clamp(y, -A, B), x]", false),
    ("p[y // 2, x + A]", false),
    ("p[2 * y, x]", false),
    ("p[y + x, x]", false),
    ("p[y, -x]", false),
    ("p[y, clamp(i64(p[y, x]), -8, 8)]", false),
];

/// Three stages after each other, and whether all read alike everywhere.
fn script(bodies: &[(usize, i64, i64)]) -> (String, bool) {
    let mut script = "tensor s0: f32[y: inf, x: inf] = rand(y, x)\n".to_owned();
    let mut plain = true;
    for (at, (body, a, b)) in bodies.iter().enumerate() {
        let (body, same) = BODIES[*body];
        let name = if at + 1 == bodies.len() { "out".to_owned() } else { format!("s{}", at + 1) };
        let body = body.replace('A', &a.to_string()).replace('B', &b.to_string());
        let body = body.replace("p[", &format!("s{at}["));
        script += &format!("tensor {name}: f32[y: inf, x: inf] = {body}\n");
        plain &= same;
    }
    (script, plain)
}

fn near() -> impl Strategy<Value = i64> {
    prop_oneof![-40i64..40, -(1i64 << 30)..1 << 30]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn a_moved_plan_is_the_fresh_one(
        bodies in prop::collection::vec((0..BODIES.len(), 1i64..6, 1i64..6), 1..4),
        corner in [near(), near()],
        by in [near(), near()],
        shape in [1i64..300, 1i64..300],
        tile in prop::option::of([1i64..90, 1i64..90]),
    ) {
        let (script, _) = script(&bodies);
        moves(&staged(&script), &corner, &by, &shape, tile.map(Vec::from));
    }
}

#[test]
fn reads_that_move_along_are_moved_and_others_are_not() {
    for (at, (body, same)) in BODIES.iter().enumerate() {
        let (script, _) = script(&[(at, 2, 3)]);
        let moved = moves(&staged(&script), &[5, -9], &[1 << 20, -77], &[64, 80], None);
        assert_eq!(moved, *same, "{body}");
    }
}

#[test]
fn what_ends_is_not_moved_along_where_it_ends() {
    let channels = staged(
        "tensor a: f32[c: 3, y: inf, x: 0..inf] = rand(c, y, x)
         tensor out: f32[c: 3, y: inf, x: 0..inf] = a[c, y - 1, x] + a[c, y + 1, x + 1]",
    );
    let moved = |by: [i64; 3]| moves(&channels, &[0, 7, 20], &by, &[2, 16, 16], None);
    assert!(moved([0, 1000, 0]) && !moved([1, 0, 0]) && !moved([0, 0, 1]) && !moved([0, 0, -20]));
}

#[test]
fn what_is_not_computed_or_has_windows_or_steps_is_not_moved() {
    let scripts = [
        "input a: f32[x: 1000]  tensor out: f32[y: inf, x: 0..900] = a[x]",
        "var a: f32[y: inf, x: inf] = 0  tensor out: f32[y: inf, x: inf] = a[y, x]",
        "tensor out: f32[t: 0..inf, x: inf] = if t == 0 then rand(x) else out[t - 1, x - 1]",
        "tensor out: f32[y: inf, x: inf] window [4, 4] stride [3, 3] as [i, j] blend sum = rand(i, j)",
    ];
    for script in &scripts {
        assert!(!moves(&staged(script), &[3, 5], &[4, 0], &[4, 4], None), "{script}");
    }
}

#[test]
fn far_out_plans_are_made_afresh() {
    let stages = staged("tensor out: f32[y: inf, x: inf] = f32(x)");
    assert!(moves(&stages, &[0, 0], &[1 << 39, 0], &[4, 4], None));
    assert!(!moves(&stages, &[0, 0], &[1 << 41, 0], &[4, 4], None));
    assert!(!moves(&stages, &[0, 1 << 41], &[1, 0], &[4, 4], None));
}

/// Elements and counts of an engine that has planned a box of that shape before, and of one that has not.
#[test]
fn reads_elsewhere_have_the_same_bits_and_counts() {
    let script = "
        tensor a: f32[y: inf, x: inf] = rand(y, x)
        tensor b: f32[y: inf, x: inf] = sum(i in -2..=2) a[y + i, x]
        tensor out: f32[y: inf, x: inf] = sum(i in -2..=2) b[y, x + i] * b[y - 1, x]";
    let engine = || Engine::builder().threads(2).store(0).compile(script).expect("a script");
    let known = engine();
    for (y, x) in [(0, 0), (-70_000, 12_345), (1i64 << 33, -3i64), (5, 5)] {
        let slice = format!("out[{y}:{}, {x}:{}]", y + 130, x + 170);
        let read = |engine: &Engine| {
            let prepared = engine.prepare(&slice).expect("a read");
            let (array, stats) = prepared.read_array().expect("a read");
            (prepared.plan().clone(), array.data, stats.computed, stats.bytes)
        };
        let (again, fresh) = (read(&known), read(&engine()));
        assert_eq!((again.0, again.1, again.2), (fresh.0, fresh.1, fresh.2), "{slice}");
    }
}
