//! A read that is handed on piece by piece -> slabs that are kept one after the other, so that no result has to fit into
//! memory, and those that are done outlive the process.
//!
//! ```text
//! hills[0:100000, 0:100000] with `--store`   ->   128 rows are computed, kept and handed on, then the next 128, …
//! ```

use super::{Shared, Wanted, narrow, plan_kept};
use crate::access::footprint::Region;
use crate::diagnostic::Result;
use crate::graph::view::View;
use crate::plan::grid::volume;
use crate::plan::timeline::Timeline;
use crate::run::job::{Control, Job, Planned, Sink};
use crate::run::slabs::Cutting;
use crate::run::stats::{Plan, Stats};
use std::sync::Arc;

/// Bytes of a slab: few, so that little is lost when a process ends before its read is complete.
const SLAB: u64 = 16 << 20;

/// A read in slabs.
pub(super) struct Slabs {
    shared: Arc<Shared>,
    job: Job,
    template: Arc<View>,
    cutting: Cutting,
    elements: u64,
    /// The same read in one piece, for a sink that has memory for it.
    one: Box<dyn Planned>,
    plan: Plan,
}

/// Plans a read in slabs, if its store keeps everything and it is large; else it stays in one piece.
pub(super) fn in_slabs(
    shared: &Arc<Shared>,
    job: &Job,
    wanted: &Wanted,
    one: Box<dyn Planned>,
) -> Result<Box<dyn Planned>> {
    let element = job.view.element.bytes();
    let elements = volume(&wanted.region);
    let steps = shared.program.graph.reads_of(job.view.base).any(|read| read == job.view.base);
    // Every slab of a recurrence would begin at its first step.
    if steps || !shared.store.keeps_all() || elements.saturating_mul(element.into()) <= SLAB.into() {
        return Ok(one);
    }
    let cutting = Cutting::new(&wanted.region, element, SLAB).along(&wanted.grid.shape);
    let template = wanted.template.clone();
    let peak = |slab: &Region| -> Result<u64> {
        Ok(plan_kept(shared, slab_job(job, &template, slab)?)?.plan().bytes_peak)
    };
    let bytes_peak = std::cmp::max(peak(&cutting.first())?, peak(&cutting.last())?);
    let plan = Plan { bytes_peak, ..one.plan().clone() };
    let elements = u64::try_from(elements).unwrap_or(u64::MAX);
    Ok(Box::new(Slabs { shared: shared.clone(), job: job.clone(), template, cutting, elements, one, plan }))
}

fn slab_job(job: &Job, template: &View, slab: &Region) -> Result<Job> {
    Ok(Job { view: Arc::new(narrow(template, slab)?), ..job.clone() })
}

impl Planned for Slabs {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn text(&self) -> String {
        self.one.text()
    }

    fn timeline(&self) -> Option<Timeline> {
        self.one.timeline()
    }

    fn run(&self, sink: &mut dyn Sink, control: &Control<'_>) -> Result<Stats> {
        if sink.memory().is_some() {
            return self.one.run(sink, control);
        }
        let (mut all, mut done) = (Stats::default(), 0);
        for slab in self.cutting.slabs() {
            let part = volume(&slab) as u64;
            let progress = |now: u64, of: u64| {
                let share = u128::from(now) * u128::from(part) / u128::from(of.max(1));
                (control.progress)(done + share.min(part.into()) as u64, self.elements);
            };
            let planned = plan_kept(&self.shared, slab_job(&self.job, &self.template, &slab)?)?;
            all.add(&planned.run(sink, &Control { progress: &progress, ..control.clone() })?);
            done += part;
        }
        all.bytes.peak_planned = self.plan.bytes_peak;
        Ok(all)
    }
}
