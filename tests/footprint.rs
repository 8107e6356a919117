//! Footprints against the truth: which elements of a source the interpreter asks for when it computes a box.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use itp::access::footprint::footprint;
use itp::compile::{Options, Program, compile};
use itp::diagnostic::Diagnostics;
use itp::graph::body::TensorId;
use itp::graph::modules::NoFiles;
use itp::graph::scalar::Scalar;
use itp::index::Interval;
use itp::interp::{Host, Interp, WindowCall};
use itp::plan::fuse::Rows;
use itp::plan::needs::{Motion, closed_form, needs};
use itp::plan::stages::stages;
use itp::source::Sources;
use proptest::prelude::*;

struct Zeros;

impl Host for Zeros {
    fn input(&self, _: TensorId, _: &[i64]) -> Result<Scalar, String> {
        Ok(Scalar::f32(0.0))
    }

    fn call(&self, call: &WindowCall<'_>) -> Result<Vec<Scalar>, String> {
        Ok(vec![Scalar::f32(0.0); call.size.iter().product::<i64>() as usize])
    }
}

fn program(script: &str) -> Program {
    let mut sources = Sources::default();
    let root = sources.add("test.itp", script);
    let mut diagnostics = Diagnostics::default();
    let program = compile(&mut sources, root, &NoFiles, &Options::default(), &mut diagnostics);
    program.unwrap_or_else(|| panic!("{script}: {:?}", diagnostics.into_sorted()))
}

fn id(program: &Program, name: &str) -> TensorId {
    program.graph.iter().find(|(_, tensor)| &*tensor.name == name).unwrap().0
}

/// The smallest box around the elements of `a` that computing `region` of `t` asks for.
fn truth(program: &Program, region: &[Interval]) -> Option<Vec<Interval>> {
    let mut interp = Interp::new(&program.graph, &Zeros).unwrap();
    let mut points = vec![Vec::new()];
    for range in region {
        let longer = points.iter().flat_map(|point: &Vec<i64>| {
            (range.first()..=range.last()).map(|at| [point.as_slice(), &[at]].concat())
        });
        points = longer.collect();
    }
    for point in points {
        interp.element(id(program, "t"), &point).unwrap();
    }
    let asked = interp.asked_for(id(program, "a"));
    let rank = asked.first()?.len();
    let dim = |dim: usize| {
        let values = || asked.iter().map(|coords| coords[dim]);
        Interval::new(values().min().unwrap(), values().max().unwrap() + 1).unwrap()
    };
    Some((0..rank).map(dim).collect())
}

fn found(program: &Program, region: &[Interval]) -> Option<Vec<Interval>> {
    let t = program.graph.tensor(id(program, "t"));
    footprint(t, region).unwrap().get(&id(program, "a")).cloned()
}

/// Scripts whose footprints are exact.
const EXACT: [&str; 20] = [
    "tensor t: f32[y: inf, x: inf] = a[y + 1, 2 * x - 3]",
    "tensor t: f32[y: inf, x: inf] = sum(dy in -2..=2, dx in 0..3) a[y + dy, x - dx]",
    "tensor t: f32[y: inf, x: inf] = a[x, -y]",
    "tensor t: f32[y: inf, x: inf] = a[y // 2 - 1 + 2 * (y % 2), x // 3]",
    "tensor t: f32[y: inf, x: inf] = if x > 3 then a[y, x - 4] else 0",
    "tensor t: f32[y: inf, x: inf] = if y == 2 or y == 3 then 0 else a[y, x]",
    "tensor t: f32[y: inf, x: inf] = a[0:5, 0:7].clamp()[y - 1, x + 2]",
    "tensor t: f32[y: inf, x: inf] = a[0:5, -2:7].fill(1)[y, x]",
    "tensor t: f32[y: inf, x: inf] = a.flip([x]).translate_by([3, 0])[y, x]",
    "tensor t: f32[y: inf, x: inf] window [4, 6] as [i, j] take b = a window [6, 8] stride [4, 6] offset [-1, -1] = b[i + 2, j]",
    "tensor t: f32[y: inf, x: inf] window [4, 6] as [i, j] take b = a window [8, 12] = b[2 * i, 2 * j + 1]",
    "tensor t: f32[y: inf, x: inf] window [6, 6] stride [4, 4] as [i, j] take b = a window [6, 6] stride [4, 4] = b[i, j]",
    "tensor t: f32[y: inf, x: inf] = a.stride([2, 3])[y, x]",
    "tensor t: f32[y: inf, x: inf] = a[y, 5]",
    "tensor t: f32[y: inf, x: inf] window [4, 6] as [i, j] take b = a[0:5, -3:4].clamp() window [4, 8] stride [4, 6] offset [0, -1] = b[i, j + 1]",
    "tensor t: f32[y: inf, x: inf] window [4, 6] as [i, j] = a[0:5, -3:4].clamp()[y - 2, x + 1] + i * j",
    "tensor t: f32[y: inf, x: inf] = a[0:5, 0:7].mirror()[y, x]",
    "tensor t: f32[y: inf, x: inf] = sum(k in -2..=2) a[-3:50, 0:70].mirror()[y + k, x - k]",
    "tensor t: f32[y: inf, x: inf] = sum(k in -2..=2) a[0:50, 2:70].reflect()[y + k, 3 - x]",
    "tensor t: f32[y: inf, x: inf] = a[0:50, -5:70].mirror()[2 * y, x // 2]",
];

/// Scripts whose footprints may be wider than needed, never narrower.
const SAFE: [&str; 7] = [
    "tensor t: f32[y: inf, x: inf] = a[0:5, 0:7].wrap()[y, x]",
    "tensor t: f32[y: inf, x: inf] = a[y + i64(clamp(rand(y, x) * 9, -3, 3)), x]",
    "tensor t: f32[y: inf, x: inf] = a[y * y, x]",
    "tensor t: f32[y: inf, x: inf] window [5, 5] stride [3, 3] as [i, j] take b = a window [2, 2] stride [7, 7] = b[i // 3, j % 2]",
    "tensor t: f32[y: inf, x: inf] = a[0:4, 0:6].reshape([6, 4]).clamp()[y, x]",
    "tensor t: f32[y: inf, x: inf] = a[(4 * y + x % 4) // 24, (4 * y + x % 4) % 24]",
    "tensor t: f32[y: inf, x: inf] = a[(12 * y + x % 12) // 4 // 6, (12 * y + x % 12) % 4]",
];

/// What the planner says in closed form, where every coordinate moves with one of the reader.
fn closed(program: &Program, region: &[Interval]) -> Option<Vec<Interval>> {
    let stages = stages(&program.graph, &program.accesses, Rows::Ahead).unwrap();
    let t = id(program, "t");
    let needs = needs(&stages, t);
    let need = needs.sources.iter().find(|need| need.source == id(program, "a"))?;
    assert!(need.dims.iter().all(|dim| matches!(dim.motion, Motion::With { .. })), "{:?}", need.dims);
    Some(closed_form(&stages, t, need, region))
}

/// A coordinate that moves with `y` or `x`, and is held inside `lo..=hi` in one way or another.
fn held(label: &'static str) -> impl Strategy<Value = String> {
    let moved = (prop::sample::select(vec![1i64, 2, -1, -3]), -6i64..7, 1i64..4)
        .prop_map(move |(stride, by, per)| format!("({stride} * ({label} // {per}) + ({by}))"));
    let around = (moved.clone(), 1i64..4).prop_map(|(moved, size)| format!("{moved} + {size} * k"));
    (prop_oneof![moved, around], -5i64..5, 1i64..6, 0..7usize).prop_map(|(moved, lo, size, way)| {
        let hi = lo + size;
        match way {
            0 => format!("clamp({moved}, {lo}, {hi})"),
            1 => format!("max(min({moved}, {hi}), {lo})"),
            2 => format!("max({lo}, {moved})"),
            3 => format!("min({moved}, {hi}) + 2"),
            4 => format!("3 - 2 * clamp({moved}, {lo}, {hi})"),
            5 => format!("clamp(clamp({moved}, {lo}, {hi}), {}, {})", lo - 2, lo + 1),
            _ => format!("max(clamp({moved}, {lo}, {hi}) - 1, {lo})"),
        }
    })
}

/// A read of a view that clamps, or at coordinates that do.
fn clamped() -> impl Strategy<Value = String> {
    let view = (0..5usize, -4i64..5, 1i64..3).prop_map(|(view, by, stride)| {
        let view = [
            "a[0:5, -2:7].clamp()",
            "a[0:5, -2:7].clamp().flip([y])",
            "a[0:9, -2:7].stride([2, 1]).clamp()",
            "a[0:5, -2:7].clamp()[-3:4, 0:3].clamp()",
            "a[0:5, -2:7].translate_by([3, -1]).clamp()",
        ][view];
        format!("{view}[y + ({by}), {stride} * x + k]")
    });
    let coords = (held("y"), held("x")).prop_map(|(y, x)| format!("a[{y}, {x}]"));
    prop_oneof![view, coords]
}

fn script(body: &str) -> String {
    format!("tensor a: f32[y: inf, x: inf] = 0\n{body}\n")
}

fn region() -> impl Strategy<Value = Vec<Interval>> {
    let range = (-9i64..9, 1i64..7).prop_map(|(lo, len)| Interval::sized(lo, len).unwrap());
    prop::collection::vec(range, 2)
}

proptest! {
    #[test]
    fn regular_footprints_are_exact(region in region(), which in 0..EXACT.len()) {
        let program = program(&script(EXACT[which]));
        prop_assert_eq!(found(&program, &region), truth(&program, &region), "{}", EXACT[which]);
    }

    #[test]
    fn clamped_reads_move_in_closed_form(region in region(), read in clamped()) {
        let script = script(&format!("tensor t: f32[y: -99..99, x: -99..99] = sum(k in 0..3) {read}"));
        let program = program(&script);
        let found = found(&program, &region);
        prop_assert_eq!(&found, &truth(&program, &region), "{}", script);
        prop_assert_eq!(found, closed(&program, &region), "{}", script);
    }

    #[test]
    fn all_footprints_are_wide_enough(region in region(), which in 0..SAFE.len()) {
        let program = program(&script(SAFE[which]));
        let (found, truth) = (found(&program, &region), truth(&program, &region));
        let wide = match (&found, &truth) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(found), Some(truth)) => found.iter().zip(truth).all(|(found, truth)| found.contains_interval(*truth)),
        };
        prop_assert!(wide, "{}: {found:?} {truth:?}", SAFE[which]);
    }
}
