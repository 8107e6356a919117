//! A recurrence, pass by pass: workers share the steps of each, and wait for each other before the next.
//!
//! ```text
//! step 7: rows 0..50 | rows 50..100      everybody waits      step 8: …
//! steps 7..11: rows 0..50, 1..49, … | rows 50..100, …      everybody waits      the seam      everybody waits      …
//! ```
//!
//! Every worker goes through the same bands and does its part of every box, so nobody has to be told what to do.

use super::gate::{Alarm, Gate};
use super::memory::{Place, copy, meet};
use super::meter::Meter;
use super::stage::Ready;
use super::work::{Desk, Work};
use crate::access::footprint::Region;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::index::Interval;
use crate::plan::bands::{Bands, Task};
use crate::plan::grid::volume;
use crate::plan::passes::Pass;

/// Which of how many workers of a task.
#[derive(Clone, Copy)]
struct Worker<'g> {
    number: usize,
    gate: &'g Gate,
}

/// The kernel of a recurrence.
struct Target<'m> {
    /// From step to step.
    steps: Ready<'m>,
    /// The last one, to where the result is.
    last: Ready<'m>,
}

impl<'r> Work<'r> {
    /// Does a task of a recurrence.
    pub(super) fn steps(&self, desk: &Desk<'_>, out: &Place<'_>) -> Result<()> {
        let workers = desk.group.passes.as_ref().map_or(1, |passes| passes.workers);
        let gate = Gate::new(workers.min(self.threads).max(1));
        let share = |number: usize| {
            let _alarm = Alarm(&gate);
            let done = self.share(desk, out, Worker { number, gate: &gate });
            done.inspect_err(|_| gate.give_up())
        };
        std::thread::scope(|scope| {
            let spawn = |number| {
                let thread = std::thread::Builder::new().name("itp-worker".to_owned());
                thread.spawn_scoped(scope, move || share(number)).inspect_err(|_| gate.give_up())
            };
            let others: std::io::Result<Vec<_>> = (1..gate.workers).map(spawn).collect();
            let others = others.map_err(|error| no_thread(&error))?;
            let own = share(0);
            others.into_iter().fold(own, |done, other| {
                let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                done.and(other)
            })
        })
    }

    /// What one worker does of a task.
    fn share(&self, desk: &Desk<'_>, out: &Place<'_>, worker: Worker<'_>) -> Result<()> {
        let Desk { group, task, held, .. } = *desk;
        let own = held.own.as_ref().expect("a recurrence holds its steps");
        let mut members = self.ready_members(group, held);
        let steps = self.ready(group, group.target, held, own);
        let mut target = Target { steps, last: self.ready(group, group.target, held, out) };
        if group.band > 1 {
            target.steps.read_again_soon();
        }
        let mut bands = Bands::new(&self.division.stages, group, task);
        let step = step_work(task);
        while let Some(band) = bands.advance() {
            self.control.check()?;
            for (at, region) in band.members().enumerate() {
                let Some(region) = region else { continue };
                if let Some(part) = worker.part(region) {
                    self.member(desk, at, &part, members[at].as_mut())?;
                }
                if !worker.gate.wait() {
                    return Ok(());
                }
            }
            if !self.pass(desk, out, &mut target, (&band.target, step), worker)? {
                return Ok(());
            }
            self.told(&band.target, task, worker)?;
        }
        Ok(())
    }

    /// What one worker does of the steps in a box, each of which counts as so much work; false if the run ends.
    fn pass(
        &self,
        desk: &Desk<'_>,
        out: &Place<'_>,
        target: &mut Target<'_>,
        (region, work): (&Region, u64),
        worker: Worker<'_>,
    ) -> Result<bool> {
        let (Some((steps, _)), Some(passes)) = (&desk.task.steps, &desk.group.passes) else {
            unreachable!("a recurrence has steps");
        };
        let range = region[steps.dim];
        let mut left = work.saturating_mul(range.len().unwrap_or(1) as u64);
        if worker.gate.workers == 1 && range.len() == Some(1) {
            self.step(desk, out, target, region)?;
            self.meter.add(left);
            return Ok(true);
        }
        let pass = Pass::new(passes, steps, range);
        let shares = pass.shares(worker.number, worker.gate.workers);
        for share in shares.into_iter().take(if passes.steps > 1 { 2 } else { 1 }) {
            if let Some(share) = share {
                pass.blocks(share, |part| -> Result<()> {
                    self.step(desk, out, target, part)?;
                    let done = left.min(volume(part) as u64 * worker.gate.workers as u64);
                    left -= done;
                    worker.tell(self.meter, done);
                    Ok(())
                })?;
            }
            if !worker.gate.wait() {
                return Ok(false);
            }
        }
        worker.tell(self.meter, left);
        Ok(true)
    }

    /// Computes a box of one step; the last one goes where the result is at once, since no step reads it.
    fn step(&self, desk: &Desk<'_>, out: &Place<'_>, target: &mut Target<'_>, part: &Region) -> Result<()> {
        let Desk { task, held, .. } = *desk;
        let (Some((steps, _)), Some(own)) = (&task.steps, &held.own) else {
            unreachable!("a recurrence holds its steps");
        };
        let asked = meet(part, &task.tile);
        if part[steps.dim].last() == steps.range.last() && asked.as_ref() == Some(part) {
            return self.stage(&mut target.last, part);
        }
        self.stage(&mut target.steps, part)?;
        if let Some(asked) = asked {
            copy(own, out, &asked);
        }
        Ok(())
    }

    /// Tells that a step is complete, while everybody waits.
    fn told(&self, step: &Region, task: &Task, worker: Worker<'_>) -> Result<()> {
        let (Some(stepped), Some(part)) = (self.stepped, meet(step, &task.tile)) else { return Ok(()) };
        if worker.number == 0 {
            stepped(&part)?;
        }
        worker.gate.wait();
        Ok(())
    }
}

/// The parts of workers are made for all of them, so one that cannot be started ends the run.
fn no_thread(error: &std::io::Error) -> Box<Diagnostic> {
    let message = format!("no thread can be started: {}", error.to_string().to_lowercase());
    Box::new(Diagnostic::new(Code::E1009, message).help("use fewer workers: `--threads 1`"))
}

/// What one step of a task counts as.
fn step_work(task: &Task) -> u64 {
    let Some((steps, _)) = &task.steps else { return 0 };
    (volume(&steps.hull()) / steps.range.len().unwrap_or(1).max(1) as u128) as u64
}

impl Worker<'_> {
    /// Tells what is done, for all of them.
    fn tell(self, meter: &Meter<'_>, done: u64) {
        if self.number == 0 {
            meter.add(done);
        }
    }

    /// The part of a box that is this worker's: some of its slowest long dimension; none if there is too little.
    fn part(self, region: &Region) -> Option<Region> {
        let workers = self.gate.workers as i64;
        let len = |dim: usize| region[dim].len().unwrap_or(0);
        let dim = (0..region.len()).find(|dim| len(*dim) >= 4 * workers);
        let Some(dim) = dim.filter(|_| workers > 1) else {
            return (self.number == 0).then(|| region.clone());
        };
        let bound = |number: usize| region[dim].first() + len(dim) * number as i64 / workers;
        let mut part = region.clone();
        part[dim] = Interval::trusted(bound(self.number), bound(self.number + 1) - 1);
        Some(part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_a_box_once() {
        for (sizes, workers) in
            [(&[1, 100, 7][..], 3), (&[1, 5, 90], 2), (&[1, 3, 3], 4), (&[64], 1), (&[], 2)]
        {
            let region: Region = sizes.iter().map(|size| Interval::trusted(-5, size - 6)).collect();
            let gate = Gate::new(workers);
            let parts = (0..workers).filter_map(|number| Worker { number, gate: &gate }.part(&region));
            let parts: Vec<Region> = parts.collect();
            assert_eq!(parts.iter().map(|part| volume(part)).sum::<u128>(), volume(&region), "{parts:?}");
            assert!(parts.iter().enumerate().all(|(at, a)| parts[..at].iter().all(|b| meet(a, b).is_none())));
        }
    }
}
