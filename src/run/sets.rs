//! `set` items of the script and writes of the host -> variables, before the first read that uses them.
//!
//! ```text
//! set m[0:4] = a[x]   set n[0:9] = 1   tensor t = m[x]      a read of t runs the first, and holds a tile of m
//! ```
//!
//! What was written is kept for later reads that use the same variables.

use super::inputs::loaded_bytes;
use super::job::{Control, World};
use super::kept::cut;
use super::ledger::Ledger;
use super::memory::Buffer;
use super::meter::{Told, work_of};
use super::summary::{self, Done};
use super::tiled::{Asked, Common, Scene, failed};
use super::vars::{Vars, planned_bytes};
use crate::access::footprint::{Region, view_footprint};
use crate::diagnostic::{Code, Diagnostic, Result, quoted};
use crate::graph::Set;
use crate::graph::body::TensorId;
use crate::graph::uses::uses;
use crate::graph::view::View;
use crate::index::walk::try_each;
use crate::interp::{Target, follow};
use crate::plan::grid::volume;
use crate::plan::peak::peak;
use crate::plan::readers::Division;
use crate::run::job::Limits;
use crate::seeded::{self, Bug};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// What was written so far, by the variables that a read uses.
#[derive(Default)]
pub(super) struct Written {
    known: Mutex<BTreeMap<BTreeSet<TensorId>, Known>>,
}

struct Known {
    /// Of the world.
    generation: u64,
    /// Number of the last write.
    last: u64,
    vars: Arc<Vars>,
}

/// What has to be written before a read, and what that takes.
pub(super) struct Before {
    /// Variables that the read uses.
    variables: BTreeSet<TensorId>,
    sets: Vec<Planned>,
    /// Bytes at the peak while sets run.
    pub(super) peak: u64,
    /// Bytes of variables during the read.
    pub(super) held: u64,
}

impl Before {
    /// Whether the read has to do with no variable.
    pub(super) fn is_nothing(&self) -> bool {
        self.variables.is_empty() && self.sets.is_empty() && self.peak == 0 && self.held == 0
    }
}

/// A `set` that is going to run. It is divided again then: scripts may have thousands, each with stages of its own.
struct Planned {
    /// Its place among the `set` items.
    at: usize,
    bytes: u64,
    /// What it counts as in progress.
    work: u64,
}

/// Variables that are ready.
pub(super) struct Ready {
    pub(super) vars: Arc<Vars>,
    /// Bytes that were held at the most while sets ran.
    pub(super) peak: u64,
    /// What they computed.
    pub(super) done: Done,
}

impl Common {
    /// Plans what comes before a read of `base`.
    pub(super) fn before(&self, base: TensorId, world: &World, limits: &Limits) -> Result<Before> {
        let graph = &self.program.graph;
        let uses = uses(graph, base);
        let variables = uses.variables(graph);
        let mut before = Before { variables, sets: Vec::new(), peak: 0, held: 0 };
        let mut written: Vec<(TensorId, Region)> = Vec::new();
        for at in uses.sets {
            let set = &graph.sets[at];
            let (bytes, divided) = (room_for(set, limits)?, self.divided(set, limits)?);
            let inner = match &divided {
                None => 0,
                Some((_, division)) => {
                    let resident = summary::inputs(division, world, limits.threads);
                    let held = [resident, loaded_bytes(world, division)];
                    let own = peak(division, limits.threads).map_err(failed)?;
                    held.into_iter().fold(own.bytes(), u64::saturating_add)
                }
            };
            before.peak = before.peak.max(before.held.saturating_add(bytes).saturating_add(inner));
            written.extend(touched(&set.target, set.span).map(|region| (set.target.base, region)));
            before.held = planned_bytes(graph, &written);
            before.peak = before.peak.max(before.held.saturating_add(bytes));
            before.sets.push(Planned {
                at,
                bytes,
                work: divided.map_or(0, |(_, division)| work_of(&division)),
            });
        }
        let writes = world.writes.iter().filter(|write| before.variables.contains(&write.target.base));
        written.extend(writes.filter_map(|write| {
            let base = write.target.base;
            Some((base, touched(&write.target, graph.tensor(base).span)?))
        }));
        before.held = planned_bytes(graph, &written);
        Ok(before)
    }

    /// Who computes what of a `set`; none where nothing is written.
    fn divided(&self, set: &Set, limits: &Limits) -> Result<Option<(Asked, Division)>> {
        let (element, domain, region) =
            (set.target.element, set.target.domain().clone(), set.target.intervals());
        if volume(&region) == 0 {
            return Ok(None);
        }
        let (stages, target) =
            self.stages.with_body(&set.target.name, set.span, element, domain, set.body.clone());
        let plain = Asked { stages: Arc::new(stages), target, region, apart: None, near: false };
        let asked = self.nothing_between(plain, limits);
        let division = asked.divide(&asked.region, limits)?;
        Ok(Some((asked, division)))
    }

    /// Work that is still to be done before a read.
    pub(super) fn pending(&self, before: &Before, world: &World) -> u64 {
        let known = self.written.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(&before.variables) {
            Some(known) if known.generation == world.generation => 0,
            Some(_) | None => before.sets.iter().map(|set| set.work).fold(0, u64::saturating_add),
        }
    }

    /// What was written into the variables of a read, by the script and the host; what is known is only added to.
    pub(super) fn vars(
        &self,
        before: &Before,
        world: &World,
        control: &Control<'_>,
        limits: &Limits,
        told: &Told<'_>,
    ) -> Result<Ready> {
        if before.sets.is_empty() && world.writes.is_empty() || before.variables.is_empty() {
            return Ok(Ready { vars: Arc::default(), peak: 0, done: Done::default() });
        }
        let mut known = self.written.known.lock().unwrap_or_else(PoisonError::into_inner);
        let current = known.remove(&before.variables).filter(|known| known.generation == world.generation);
        let (mut last, mut ready) = match current {
            Some(Known { last, vars, .. }) => (last, Ready { vars, peak: 0, done: Done::default() }),
            None => (0, self.sets(before, world, control, limits, told)?),
        };
        for write in world.writes.iter().filter(|write| write.number > last) {
            if before.variables.contains(&write.target.base) {
                self.write(Arc::make_mut(&mut ready.vars), &write.target, &write.data.data, control)?;
            }
        }
        last = world.writes.last().map_or(last, |write| write.number);
        let state = Known { generation: world.generation, last, vars: ready.vars.clone() };
        known.insert(before.variables.clone(), state);
        Ok(ready)
    }

    /// What the `set` items write.
    fn sets(
        &self,
        before: &Before,
        world: &World,
        control: &Control<'_>,
        limits: &Limits,
        told: &Told<'_>,
    ) -> Result<Ready> {
        let (mut vars, mut most, mut done) = (Vars::default(), 0, Done::default());
        for set in &before.sets {
            let item = &self.program.graph.sets[set.at];
            let mut buffer = Buffer::new(set.bytes.into())?;
            let data = &mut buffer.bytes_mut()[..set.bytes as usize];
            if let Some((asked, division)) = &self.divided(item, limits)? {
                let ledger = Ledger::new(division.stages.graph.tensors.len());
                ledger.hold(vars.bytes() + set.bytes + summary::inputs(division, world, limits.threads));
                let seen = if seeded::active(Bug::StaleSet) { &Vars::default() } else { &vars };
                let (kernels, spare) = (asked.kernels(self), &self.spare);
                let scene = Scene { kernels, spare, world, vars: seen, control, limits, ledger: &ledger };
                scene.compute(division, data, set.work, told)?;
                let counts = ledger.counts();
                most = counts.bytes_peak.max(most);
                done.add(summary::done(division, asked.target, &counts.elements));
            }
            self.write(&mut vars, &item.target, data, control)?;
            most = most.max(vars.bytes() + set.bytes);
        }
        Ok(Ready { vars: Arc::new(vars), peak: most, done })
    }

    /// Writes elements through a view.
    fn write(&self, vars: &mut Vars, target: &View, data: &[u8], control: &Control<'_>) -> Result<()> {
        if let Some(region) = cut(target) {
            return vars.write_box(&self.stages.graph, target.base, &region, data, control);
        }
        let mut elements = data.chunks_exact(target.element.bytes() as usize).enumerate();
        try_each(&target.intervals(), |coords| {
            let Some((count, element)) = elements.next() else { return Ok(()) };
            if count.is_multiple_of(1 << 10) {
                control.check()?;
            }
            match follow(target, coords) {
                Ok(Target::Base(base)) => vars.write(&self.stages.graph, target.base, &base, element),
                Ok(Target::Value(_)) => Ok(()),
                Err(why) => Diagnostic::new(Code::E1009, why).err(),
            }
        })
    }
}

/// The box of its variable that a view shows.
fn touched(target: &View, span: crate::source::Span) -> Option<Region> {
    cut(target).or_else(|| view_footprint(target, &target.intervals(), span))
}

/// Bytes that a `set` writes, which have to be there at once.
fn room_for(set: &Set, limits: &Limits) -> Result<u64> {
    let bytes = volume(&set.target.intervals()).saturating_mul(set.target.element.bytes().into());
    let limit = limits.memory.unwrap_or(u64::MAX);
    match u64::try_from(bytes) {
        Ok(bytes) if bytes <= limit => Ok(bytes),
        Ok(_) | Err(_) => {
            let name = quoted(&set.target.name);
            let message = format!("this `set` of {name} writes {bytes} bytes, but the limit is {limit}");
            Diagnostic::new(Code::E1005, message)
                .at(set.span, "")
                .help("write less, or raise `--memory`")
                .err()
        }
    }
}
