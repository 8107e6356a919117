//! Plans of random scripts: what is found with little effort is never less than what is found by going through it all.
#![cfg(feature = "jit")]

use crate::campaign::on_large_stack;
use crate::generate::generate;
use crate::rng::Rng;
use crate::runner;
use itp::graph::TensorKind;
use itp::graph::body::TensorId;
use itp::index::Interval;
use itp::plan::fuse::Rows;
use itp::plan::group::{Request, groups, needed_boxes};
use itp::plan::peak::{Effort, peak_within};
use itp::plan::readers::Division;
use itp::plan::stages::{Stages, stages};
use itp::plan::stop::Stop;
use std::sync::Arc;

/// Goes through every task.
const ALL: Effort = Effort { walked: u128::MAX, listed: 1 << 20, looked_at: u128::MAX };
/// Goes through none, but lists what tasks read along every dimension.
const LISTED: Effort = Effort { walked: 0, listed: 1 << 20, looked_at: 0 };
/// Does not even list them: tiles and tasks find each other by their rules.
const LEAST: Effort = Effort { walked: 0, listed: 0, looked_at: 0 };

/// Who computes what of a box of a tensor around the origin, in tiles of any shape; none if it cannot be planned.
fn divided(stages: &Arc<Stages>, target: TensorId, rng: &mut Rng) -> Option<Division> {
    let near = Interval::new(-9, 25).ok()?;
    let dims = stages.tensor(target).domain.dims();
    let region: Vec<Interval> = dims.iter().map(|dim| dim.interval.intersect(near)).collect();
    let tile = (0..1 + rng.below(3)).map(|_| rng.within(1, 6)).collect();
    let request = Request { target, region, threads: 1, tile: Some(tile), stop: Stop::default() };
    let empty = request.region.iter().any(|range| range.is_empty());
    let boxes = (!empty).then(|| needed_boxes(stages, &request).ok())??;
    let groups = groups(stages, &request, &boxes).ok()?;
    let division = Division { stages: stages.clone(), boxes, groups, stop: Stop::default() };
    (2..4000).contains(&division.tiles()).then_some(division)
}

#[test]
fn less_effort_gives_no_smaller_peak() {
    let (mut plans, mut shared) = (0, 0);
    let seeds = crate::seeds(0..600);
    let scripts = (seeds.end - seeds.start) as usize;
    on_large_stack(|| {
        for seed in seeds {
            let (script, _) = generate(seed);
            let Ok(case) = runner::case(&script.text(), seed) else { continue };
            let program = &case.program;
            let Ok(stages) = stages(&program.graph, &program.accesses, Rows::Ahead) else { continue };
            let (stages, mut rng) = (Arc::new(stages), Rng::new(seed));
            for (target, tensor) in program.graph.iter() {
                let computed = matches!(tensor.kind, TensorKind::Pointwise(_) | TensorKind::Windowed(_));
                let division = computed.then(|| divided(&stages, target, &mut rng)).flatten();
                let Some(division) = division else { continue };
                plans += 1;
                shared += usize::from(division.groups.len() > 1);
                let threads = 1 + rng.below(4);
                let all = peak_within(&division, threads, ALL).unwrap();
                for effort in [LISTED, LEAST] {
                    let little = peak_within(&division, threads, effort).unwrap();
                    assert_eq!(
                        all.hull(little),
                        little,
                        "seed {seed}, `{}`, {threads} workers: {all:?} with {effort:?}\n{}",
                        tensor.name,
                        script.text()
                    );
                }
            }
        }
    });
    println!("{plans} plans, {shared} of them with shared tiles");
    assert!(plans * 3 > scripts * 5 && shared * 6 > scripts, "{plans} plans, {shared} with shared tiles");
}
