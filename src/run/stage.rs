//! A stage of a task: its kernel with the memory it works on, made ready once, then called box by box.
//!
//! ```text
//! ready(soft: rows of base, the ring of soft)   ->   compute(rows 0..8), compute(rows 8..12), …
//! ```

use super::across::is_worth_a_block;
use super::job::cancelled;
use super::kernels::Kernel;
use super::memory::{Call, Place, fill, meet};
use super::slabs::Cutting;
use super::sparse::stretches;
use super::vars::element_bytes;
use super::work::{Held, Work};
use crate::access::footprint::{Region, windows};
use crate::access::skip::{Cover, Skip};
use crate::diagnostic::Result;
use crate::formats::Rows;
use crate::graph::body::TensorId;
use crate::graph::{BlendKind, TensorKind, Windowed};
use crate::index::walk::{rows, try_each};
use crate::index::{Interval, Window};
use crate::loops::lower::BufferBox;
use crate::plan::grid::volume;
use crate::plan::group::{Group, Role};
use crate::seeded::{self, Bug};
use std::sync::atomic::Ordering;

/// A stage that can compute boxes.
pub(super) struct Ready<'m> {
    id: TensorId,
    pub(super) kernel: &'m Kernel,
    pub(super) call: Call<'m>,
    /// What it reads.
    pub(super) sources: Vec<Place<'m>>,
    /// What is a constant beside stored elements, and the rows of those.
    pub(super) cover: Option<(&'m Cover, Vec<&'m Rows<'m>>)>,
}

impl Ready<'_> {
    /// What it writes is read again while it is in the cache, however large all of it is.
    pub(super) fn read_again_soon(&mut self) {
        self.call.through_the_cache();
    }
}

impl<'r> Work<'r> {
    /// Every member of a task that is computed.
    pub(super) fn ready_members<'m>(&'m self, group: &Group, held: &Held<'m>) -> Vec<Option<Ready<'m>>> {
        let members = group.members.iter().zip(&held.places);
        let ready = members.map(|(member, place)| {
            let place = place.as_ref().filter(|_| member.role == Role::Compute)?;
            Some(self.ready(group, member.tensor, held, place))
        });
        ready.collect()
    }

    /// A stage that reads what is held, and writes to a place.
    pub(super) fn ready<'m>(
        &'m self,
        group: &Group,
        id: TensorId,
        held: &Held<'m>,
        out: &Place<'m>,
    ) -> Ready<'m> {
        let plain = &*self.kernels[&id];
        let walks = plain.skip.as_ref().and_then(Skip::walks);
        let walked = walks.and_then(|walks| held.listed.walked(id, walks));
        let kernel = plain.walking.as_deref().filter(|_| walked.is_some()).unwrap_or(plain);
        let cover = match &plain.skip {
            Some(Skip::Cover(cover)) => held.listed.covered(id, cover).map(|rows| (cover, rows)),
            Some(Skip::Walk(_) | Skip::Dense(_)) | None => None,
        };
        let sources = kernel.lowered.sources.iter().map(|source| self.source(group, id, *source, held));
        let mut places: Vec<Place<'m>> = sources.chain([out.clone()]).collect();
        let numbers = match &self.division.stages.tensor(id).kind {
            TensorKind::Windowed(windowed) => windowed.windows.dims.len(),
            TensorKind::Input(_) | TensorKind::Var(_) | TensorKind::Pointwise(_) => 0,
        };
        let lists = walked.unwrap_or_default();
        let call = Call::new(&kernel.module, &kernel.lowered, numbers, &places, &lists);
        places.pop();
        Ready { id, kernel, call, sources: places, cover }
    }

    fn source<'m>(&self, group: &Group, reader: TensorId, source: TensorId, held: &Held<'m>) -> Place<'m> {
        let tensor = self.division.stages.tensor(source);
        if source == reader
            && let Some(own) = &held.own
        {
            return own.clone();
        }
        let at = group.places.get(&source).copied();
        at.and_then(|at| held.places[at].clone()).unwrap_or_else(|| {
            let bytes = tensor.element.bytes() as usize;
            Place { memory: held.nothing, layout: BufferBox::single(tensor.domain.rank()), bytes }
        })
    }

    /// Computes a box of a stage, in parts that take so little time that a run can be stopped soon.
    pub(super) fn stage(&self, ready: &mut Ready<'_>, region: &Region) -> Result<()> {
        let (elements, most) = (volume(region), ready.kernel.pace.elements());
        self.ledger.computed(ready.id, elements);
        if is_worth_a_block(ready, region) {
            return self.across(ready, region);
        }
        if elements <= most.into() {
            return self.part(ready, region);
        }
        // Along the outermost loops, so that the inner ones stay long.
        let order = ready.kernel.lowered.order.clone();
        let cutting = Cutting::new(&order.iter().map(|dim| region[*dim]).collect(), 1, most);
        cutting.slabs().try_for_each(|cut| {
            let mut part = region.clone();
            order.iter().zip(cut).for_each(|(dim, range)| part[*dim] = range);
            self.part(ready, &part)
        })
    }

    fn part(&self, ready: &mut Ready<'_>, part: &Region) -> Result<()> {
        self.control.check()?;
        let Ready { id, kernel, call, cover, .. } = ready;
        let whole = kernel.pace.timed(volume(part), || match &self.division.stages.tensor(*id).kind {
            TensorKind::Windowed(windowed) => self.windows(*id, windowed, part, call),
            TensorKind::Input(_) | TensorKind::Var(_) | TensorKind::Pointwise(_) => match cover {
                Some((cover, rows)) => self.covered(*id, (cover, rows), part, call),
                None => call.run(part, &[], &self.control.cancel),
            },
        });
        if whole { Ok(()) } else { Err(cancelled()) }
    }

    /// Computes what lies near stored elements, and sets the rest; false if that was cancelled.
    fn covered(
        &self,
        id: TensorId,
        (cover, stored): (&Cover, &[&Rows<'_>]),
        region: &Region,
        call: &mut Call<'_>,
    ) -> bool {
        let element = self.division.stages.tensor(id).element;
        fill(call.written(), region, &element_bytes(element, cover.background));
        let Some(range) = region.last().copied() else { return true };
        let (mut whole, mut found) = (true, Vec::new());
        rows(region, |at| {
            stretches(cover, stored, at, range, &mut found);
            let mut part: Region = at.iter().map(|at| Interval::trusted(*at, *at)).collect();
            for (lo, hi) in &found {
                part[region.len() - 1] = Interval::trusted(*lo, hi - 1);
                whole = whole && call.run(&part, &[], &self.control.cancel);
            }
        });
        whole
    }

    /// Blends every window that meets a box, in the order of their numbers; false if that was cancelled.
    fn windows(&self, id: TensorId, windowed: &Windowed, region: &Region, call: &mut Call<'_>) -> bool {
        let tensor = self.division.stages.tensor(id);
        let mut init = element_bytes(tensor.element, windowed.blend.init);
        if seeded::active(Bug::GapWithoutInit) {
            init.fill(0);
        }
        let Ok(numbers) = windows(tensor, windowed, region) else {
            fill(call.written(), region, &init);
            return true;
        };
        if !overwritten(windowed, &numbers, region) {
            fill(call.written(), region, &init);
        }
        // Those that come after the run was stopped are not even looked at: there may be more than anybody can count.
        let mut blend = |number: &[i64]| {
            let ranges =
                windowed.windows.dims.iter().zip(number).map(|(window, number)| window.range(*number));
            let Ok(covered) = ranges.collect::<std::result::Result<Region, _>>() else { return Ok(()) };
            let cancel = &self.control.cancel;
            let part = meet(&covered, region);
            let goes_on = !cancel.load(Ordering::Relaxed);
            let done = goes_on && part.is_none_or(|part| call.run(&part, number, cancel));
            if done { Ok(()) } else { Err(()) }
        };
        let backwards = match windowed.blend.kind {
            // Each overwrites those before, so the first comes last.
            BlendKind::First => !seeded::active(Bug::FirstLastSwapped),
            BlendKind::Last => seeded::active(Bug::FirstLastSwapped),
            BlendKind::Sum => seeded::active(Bug::SumInArrivalOrder),
            BlendKind::Product | BlendKind::Min | BlendKind::Max | BlendKind::Mean | BlendKind::Custom(_) => {
                false
            }
        };
        let all = if backwards {
            let back: Region = numbers.iter().map(|range| range.neg()).collect();
            try_each(&back, |number| blend(&number.iter().map(|number| -number).collect::<Vec<_>>()))
        } else {
            try_each(&numbers, blend)
        };
        all.is_ok()
    }
}

/// Whether windows of these numbers write every element of a box, whatever was there before.
fn overwritten(windowed: &Windowed, numbers: &Region, region: &Region) -> bool {
    let covers = |(window, (numbers, range)): (&Window, (&Interval, &Interval))| {
        let ends = window.range(numbers.first()).ok().zip(window.range(numbers.last()).ok());
        window.size() >= window.stride()
            && ends.is_some_and(|(first, last)| first.first() <= range.first() && range.last() <= last.last())
    };
    matches!(windowed.blend.kind, BlendKind::First | BlendKind::Last)
        && numbers.iter().all(|numbers| !numbers.is_empty())
        && windowed.windows.dims.iter().zip(numbers.iter().zip(region)).all(covers)
}
