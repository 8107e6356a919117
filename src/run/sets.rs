//! `set` items of the script and writes of the host -> variables, before the first read that uses them.
//!
//! ```text
//! set m[0:4] = a[x]   set n[0:9] = 1   tensor t = m[x]      t[2:3] runs the first, for one element, and holds a tile of m
//! ```
//!
//! From the last `set` back to the first, only what a read needs is computed, as long as the `set` writes a box: through
//! other views it runs whole. What was written is kept for later reads that use the same variables; the first that needs
//! more of them runs everything, so that nobody runs a `set` piece by piece.

use super::inputs::loaded_bytes;
use super::job::{Control, World};
use super::kept::cut;
use super::ledger::Ledger;
use super::memory::{Buffer, Memory};
use super::meter::{Told, work_of};
use super::stats::{Windows, add_windows};
use super::summary::{self, Done};
use super::tiled::{Asked, Common, Scene, failed};
use super::vars::{Vars, planned_bytes};
use crate::access::footprint::{Region, include, intersection, view_footprint};
use crate::diagnostic::{Code, Diagnostic, Result, quoted};
use crate::graph::body::TensorId;
use crate::graph::uses::{Uses, uses};
use crate::graph::view::View;
use crate::graph::{Graph, Set, TensorKind};
use crate::index::walk::try_each;
use crate::index::{Interval, OutputMap};
use crate::interp::{Target, follow};
use crate::plan::grid::volume;
use crate::plan::group::Needed;
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
    /// What ran of the `set` items.
    parts: Parts,
    vars: Arc<Vars>,
}

impl Known {
    /// Whether it is what was there when the read was planned, so that the plan knows how large it is.
    fn is_for(&self, before: &Before, world: &World) -> bool {
        self.generation == world.generation && self.parts == before.parts
    }
}

/// What runs of the `set` items, by their place.
type Parts = BTreeMap<usize, Part>;

/// Whether all of `needed` is among `parts`.
fn cover(parts: &Parts, needed: &Parts) -> bool {
    needed.iter().all(|(at, needed)| {
        let dims =
            |part: &Part| part.shown.iter().zip(&needed.shown).all(|(has, own)| has.contains_interval(*own));
        parts.get(at).is_some_and(dims)
    })
}

/// What has to be written before a read, and what that takes.
pub(super) struct Before {
    /// Variables that the read uses.
    variables: BTreeSet<TensorId>,
    sets: Vec<Planned>,
    /// What is there of sets during the read: what they write for it, or what they wrote for others before.
    parts: Parts,
    /// Windows that sets compute.
    pub(super) windows: Vec<(Arc<str>, Windows)>,
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
    part: Part,
    /// Bytes of that part.
    bytes: u64,
    /// What is held besides, of variables apart.
    inner: u64,
    /// What it counts as in progress.
    work: u64,
}

/// What runs of a `set`.
#[derive(Clone, PartialEq)]
struct Part {
    /// Which elements of its view.
    shown: Region,
    /// Of its variable, the box that those are, if they are one.
    boxed: Option<Region>,
    /// Of its variable, the box around them; none if nothing is written.
    around: Option<Region>,
}

impl Part {
    /// What is needed of a `set`, or all of it; none if nothing is. What it writes over is not needed any more.
    fn of(set: &Set, needed: Option<&mut Needed>) -> Option<Part> {
        let (shown, boxed) = (set.target.intervals(), cut(&set.target));
        let whole = Part { shown, boxed, around: touched(&set.target, set.span) };
        let Some(needed) = needed else { return Some(whole) };
        let wanted = needed.get(&set.target.base)?;
        let part = intersection(whole.around.as_ref()?, wanted);
        if volume(&part) == 0 {
            return None;
        }
        let Some(shown) = whole.boxed.as_ref().and_then(|_| showing(&set.target, &part)) else {
            return Some(whole);
        };
        if part == *wanted {
            needed.remove(&set.target.base);
        }
        Some(Part { shown, boxed: Some(part.clone()), around: Some(part) })
    }
}

/// Which elements of a view that only cuts show a box of its base.
fn showing(view: &View, region: &[Interval]) -> Option<Region> {
    let map = view.as_transform()?;
    let mut shown = Region::new();
    for (output, range) in map.outputs().iter().zip(region) {
        let OutputMap::Affine(affine) = output else { return None };
        if !affine.terms().is_empty() {
            shown.push(range.shift(affine.offset().checked_neg()?).ok()?);
        }
    }
    Some(shown)
}

/// The boxes of variables that a request needs.
fn variables_in(division: &Division) -> Needed {
    let mut needed = Needed::new();
    for (id, region) in &division.boxes {
        if matches!(division.stages.tensor(*id).kind, TensorKind::Var(_)) {
            include(&mut needed, division.stages.original(*id), region.clone());
        }
    }
    needed
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
    /// Plans what comes before a read of `base`, which is divided like this.
    pub(super) fn before(
        &self,
        base: TensorId,
        read: &Division,
        world: &World,
        limits: &Limits,
    ) -> Result<Before> {
        let uses = uses(&self.program.graph, base);
        let variables = uses.variables(&self.program.graph);
        let mut before = self.writes(&uses, &variables, Some(variables_in(read)), world, limits)?;
        let known = self.written.known.lock().unwrap_or_else(PoisonError::into_inner);
        let current = known.get(&variables).filter(|known| known.generation == world.generation);
        let Some(parts) = current.map(|known| known.parts.clone()) else { return Ok(before) };
        drop(known);
        if cover(&parts, &before.parts) {
            before.windows.clear();
            before.held = before.held.max(held_by(&self.program.graph, &parts, world, &variables));
            before.parts = parts;
        } else if !parts.is_empty() {
            before = self.writes(&uses, &variables, None, world, limits)?;
        }
        Ok(before)
    }

    /// What has to be written so that this is there of variables, or all of them.
    fn writes(
        &self,
        uses: &Uses,
        variables: &BTreeSet<TensorId>,
        mut needed: Option<Needed>,
        world: &World,
        limits: &Limits,
    ) -> Result<Before> {
        let graph = &self.program.graph;
        let (mut sets, mut windows) = (Vec::new(), Vec::new());
        for at in uses.sets.iter().rev() {
            let set = &graph.sets[*at];
            let Some(part) = Part::of(set, needed.as_mut()) else { continue };
            let (bytes, divided) = (room_for(set, &part, limits)?, self.divided(set, &part, limits)?);
            let mut planned = Planned { at: *at, part, bytes, inner: 0, work: 0 };
            if let Some((_, division)) = &divided {
                let held = [summary::inputs(division, world, limits.threads), loaded_bytes(world, division)];
                let own = peak(division, limits.threads).map_err(failed)?;
                planned.inner = held.into_iter().fold(own.bytes(), u64::saturating_add);
                planned.work = work_of(division);
                for (name, own) in summary::touched(division) {
                    add_windows(&mut windows, &name, own);
                }
                if let Some(needed) = &mut needed {
                    let more = variables_in(division).into_iter();
                    more.for_each(|(var, region)| include(needed, var, region));
                }
            }
            sets.push(planned);
        }
        sets.reverse();
        let (parts, peak) = (parts_of(&sets), peak_of(graph, &sets));
        let held = held_by(graph, &parts, world, variables);
        Ok(Before { variables: variables.clone(), sets, parts, windows, peak, held })
    }

    /// Who computes what of a part of a `set`; none where nothing is written.
    fn divided(&self, set: &Set, part: &Part, limits: &Limits) -> Result<Option<(Asked, Division)>> {
        let (element, domain, region) = (set.target.element, set.target.domain().clone(), part.shown.clone());
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
            Some(known) if known.is_for(before, world) => 0,
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
        let current = known.remove(&before.variables).filter(|known| known.is_for(before, world));
        let (mut last, parts, mut ready) = match current {
            Some(Known { last, parts, vars, .. }) => {
                (last, parts, Ready { vars, peak: 0, done: Done::default() })
            }
            None => (0, parts_of(&before.sets), self.sets(before, world, control, limits, told)?),
        };
        for write in world.writes.iter().filter(|write| write.number > last) {
            if before.variables.contains(&write.target.base) {
                self.write(Arc::make_mut(&mut ready.vars), &write.target, &write.data.data, control)?;
            }
        }
        last = world.writes.last().map_or(last, |write| write.number);
        let state = Known { generation: world.generation, last, parts, vars: ready.vars.clone() };
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
            if let Some((asked, division)) = &self.divided(item, &set.part, limits)? {
                let ledger = Ledger::new(division.stages.graph.tensors.len());
                ledger.hold(vars.bytes() + set.bytes + summary::inputs(division, world, limits.threads));
                let seen = if seeded::active(Bug::StaleSet) { &Vars::default() } else { &vars };
                let (kernels, spare) = (asked.kernels(self), &self.spare);
                let scene = Scene { kernels, spare, world, vars: seen, control, limits, ledger: &ledger };
                scene.compute(division, Memory::of_mut(data), set.work, told)?;
                let counts = ledger.counts();
                most = counts.bytes_peak.max(most);
                done.add(summary::done(division, asked.target, &counts.elements));
            }
            match &set.part.boxed {
                Some(region) => {
                    vars.write_box(&self.stages.graph, item.target.base, region, data, control)?;
                }
                None => self.write(&mut vars, &item.target, data, control)?,
            }
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

fn parts_of(sets: &[Planned]) -> Parts {
    sets.iter().map(|set| (set.at, set.part.clone())).collect()
}

/// The box of its variable that a part writes.
fn written(graph: &Graph, at: usize, part: &Part) -> Option<(TensorId, Region)> {
    Some((graph.sets[at].target.base, part.around.clone()?))
}

/// Bytes at the peak while sets run.
fn peak_of(graph: &Graph, sets: &[Planned]) -> u64 {
    let (mut all, mut most, mut held) = (Vec::new(), 0u64, 0u64);
    for set in sets {
        most = most.max(held.saturating_add(set.bytes).saturating_add(set.inner));
        all.extend(written(graph, set.at, &set.part));
        held = planned_bytes(graph, &all);
        most = most.max(held.saturating_add(set.bytes));
    }
    most
}

/// Bytes of variables during a read: what sets and the host wrote.
fn held_by(graph: &Graph, parts: &Parts, world: &World, variables: &BTreeSet<TensorId>) -> u64 {
    let sets = parts.iter().filter_map(|(at, part)| written(graph, *at, part));
    let writes = world.writes.iter().filter(|write| variables.contains(&write.target.base));
    let writes = writes.filter_map(|write| {
        let base = write.target.base;
        Some((base, touched(&write.target, graph.tensor(base).span)?))
    });
    planned_bytes(graph, &sets.chain(writes).collect::<Vec<_>>())
}

/// The box of its variable that a view shows.
fn touched(target: &View, span: crate::source::Span) -> Option<Region> {
    cut(target).or_else(|| view_footprint(target, &target.intervals(), span))
}

/// Bytes that a part of a `set` writes, which have to be there at once.
fn room_for(set: &Set, part: &Part, limits: &Limits) -> Result<u64> {
    let bytes = volume(&part.shown).saturating_mul(set.target.element.bytes().into());
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
