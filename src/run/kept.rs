//! An engine that keeps what it computed: a read takes what is in the store, and computes what is missing.
//!
//! ```text
//! smooth[0:300, 100:400] after smooth[0:300, 0:300]   ->   smooth[0:300, 300:400] is computed, the rest is copied
//! a[5, 5] is written                                  ->   tiles of smooth that reach a[5, 5] are forgotten
//! ```
//!
//! It stands before any engine, and gives the same bits. Of reads that run at the same time only one computes a tile, and
//! the others wait for it. What is read into memory for the first time is computed right
//! there, without a copy in between.

mod heirs;
mod slabs;

use super::blank::Memory;
use super::inputs::InputData;
use super::job::{Backend, Control, Job, Planned, Sink, What, World};
use super::stats::{Plan, Stats, Store, Windows};
use crate::access::footprint::{Region, view_footprint};
use crate::compile::Program;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::faults;
use crate::graph::body::TensorId;
use crate::graph::definition::{Definition, Outside, definitions};
use crate::graph::uses::uses;
use crate::graph::view::{Step, View};
use crate::graph::{TensorKind, WindowBody};
use crate::index::walk::{copy_box, each};
use crate::index::{Dim, Domain, Interval, OutputMap};
use crate::plan::fuse::Rows;
use crate::plan::grid::{Grid, volume};
use crate::plan::group::{Request, needed_boxes};
use crate::plan::stages::{Stages, stages};
use crate::plan::stop::Stop;
use crate::plan::timeline::Timeline;
use crate::tiles::boxes::{few, hull, meet, missing};
use crate::tiles::flights::{Claims, Flights, Part, Sorted};
use crate::tiles::{About, Tile, TileKey, TileStore};
use slabs::in_slabs;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Reads up to this part of the store's limit are kept; a larger one would push out all others.
const PART: u64 = 4;
/// Elements of a tile along its last two long dimensions.
const SIDE: i64 = 128;
/// Bounded dimensions up to this length are whole in every tile.
const SHORT: i64 = 16;

/// An engine with a store before it.
pub struct Kept {
    shared: Arc<Shared>,
}

struct Shared {
    inner: Arc<dyn Backend>,
    program: Arc<Program>,
    store: Arc<dyn TileStore>,
    owner: Owner,
    /// What tensors are, when nobody else uses the store.
    alone: OnceLock<Arc<[Definition]>>,
    /// What tiles are of, by the word for it.
    series: Mutex<BTreeMap<Arc<str>, Arc<View>>>,
    stages: OnceLock<Option<Stages>>,
    flights: Flights,
}

/// Who uses a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// One engine, which forgets what depends on data that changes.
    Alone,
    /// Several engines: data is part of what their tiles are known by, and host functions and writes of the host belong
    /// to the engine with this number.
    Among(u64),
}

/// Tiles in the store that are of one tensor or view.
#[derive(Clone, Debug)]
pub struct Series {
    /// The word for it; it begins with the definition of the tensor.
    pub word: Arc<str>,
    /// The tensor of this program that has the definition; none has one of an earlier script or of other data.
    pub tensor: Option<TensorId>,
    /// How many there are.
    pub tiles: u64,
    /// Bytes that they take.
    pub bytes: u64,
    /// Elements that are there.
    pub elements: u128,
}

impl Kept {
    /// Keeps what `inner` computes in `store`.
    pub fn new(
        inner: Arc<dyn Backend>,
        program: Arc<Program>,
        store: Arc<dyn TileStore>,
        owner: Owner,
    ) -> Kept {
        let shared = Shared {
            inner,
            program,
            store,
            owner,
            alone: OnceLock::new(),
            series: Mutex::default(),
            stages: OnceLock::new(),
            flights: Flights::default(),
        };
        Kept { shared: Arc::new(shared) }
    }

    /// What is in the store, also what other engines put there.
    pub fn series(&self, world: &World) -> Vec<Series> {
        let known = self.shared.definitions(world);
        let tensor = |word: &str| {
            let at = known.iter().position(|definition| word.starts_with(&definition.to_string()))?;
            Some(TensorId(at as u32))
        };
        let mut found: Vec<Series> = Vec::new();
        for (key, tile) in self.shared.store.tiles() {
            if found.last().is_none_or(|last| last.word != key.series) {
                let (word, tensor) = (key.series.clone(), tensor(&key.series));
                found.push(Series { word, tensor, tiles: 0, bytes: 0, elements: 0 });
            }
            if let Some(last) = found.last_mut() {
                last.tiles += 1;
                last.bytes += tile.bytes();
                last.elements += tile.held().iter().map(|held| volume(held)).sum::<u128>();
            }
        }
        found
    }

    /// Forgets the tiles of a tensor and of views of it, whoever put them there.
    pub fn free(&self, tensor: TensorId, world: &World) {
        let definition = self.shared.definitions(world)[tensor.index()].to_string();
        let tiles = self.shared.store.tiles().into_iter().map(|(key, _)| key);
        let own = tiles.filter(|key| key.series.starts_with(&definition));
        own.for_each(|key| self.shared.store.remove(&key));
    }

    /// Forgets what depends on elements that were written through `target`.
    pub fn written(&self, target: &View) {
        let span = self.shared.program.graph.tensor(target.base).span;
        let Some(written) = view_footprint(target, &target.intervals(), span) else { return };
        for (view, tiles) in self.shared.by_series() {
            let touched = self.shared.touched(&view, &tiles, target.base, &written);
            touched.into_iter().for_each(|(key, _)| self.shared.store.remove(key));
        }
    }

    /// Forgets what is computed from tensors that `depends` picks out.
    pub fn forget(&self, depends: &dyn Fn(TensorId) -> bool) {
        for (view, tiles) in self.shared.by_series() {
            if depends(view.base) {
                tiles.iter().for_each(|(key, _)| self.shared.store.remove(key));
            }
        }
    }
}

type Stored = (TileKey, Arc<Tile>);

impl Shared {
    /// The tiles that are stored, with what they are of.
    fn by_series(&self) -> Vec<(Arc<View>, Vec<Stored>)> {
        let known = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sorted: BTreeMap<Arc<str>, Vec<Stored>> = BTreeMap::new();
        for (key, tile) in self.store.tiles() {
            sorted.entry(key.series.clone()).or_default().push((key, tile));
        }
        sorted.into_iter().filter_map(|(name, tiles)| Some((known.get(&name)?.clone(), tiles))).collect()
    }

    /// Those of some tiles that need a box of a variable: all together are looked at first, then halves of them.
    fn touched<'t>(
        &self,
        view: &View,
        tiles: &'t [Stored],
        var: TensorId,
        written: &[Interval],
    ) -> Vec<&'t Stored> {
        let (mut queue, mut found) = (vec![tiles], Vec::new());
        while let Some(tiles) = queue.pop() {
            let Some(region) = hull(tiles.iter().map(|(_, tile)| tile.region())) else { continue };
            if !self.touches(view, &region, var, written) {
                continue;
            }
            match tiles {
                [tile] => found.push(tile),
                _ => queue.extend([&tiles[..tiles.len() / 2], &tiles[tiles.len() / 2..]]),
            }
        }
        found
    }

    /// Whether a box of a view needs any of a box of a variable; when nobody can tell, it does.
    fn touches(&self, view: &View, region: &Region, var: TensorId, written: &[Interval]) -> bool {
        let graph = &self.program.graph;
        let stages = self.stages.get_or_init(|| stages(graph, &self.program.accesses, Rows::Apart).ok());
        let Some(stages) = stages else { return true };
        let Some(base) = view_footprint(view, region, graph.tensor(view.base).span) else { return false };
        let request =
            Request { target: view.base, region: base, threads: 1, tile: None, stop: Stop::default() };
        match needed_boxes(stages, &request) {
            Ok(boxes) => boxes.get(&var).is_some_and(|needed| meet(needed, written).is_some()),
            Err(_) => true,
        }
    }

    /// The definitions of all tensors. Alone, an engine forgets what depends on data that changed, so that the data is
    /// left out.
    fn definitions(&self, world: &World) -> Arc<[Definition]> {
        let graph = &self.program.graph;
        let Owner::Among(number) = self.owner else {
            return self.alone.get_or_init(|| definitions(graph, &|_| 0).into()).clone();
        };
        let outside = |what: Outside<'_>| match what {
            Outside::Input(input) => world.inputs.get(&input).map_or(0, InputData::digest),
            Outside::Host(_) => (u128::from(number) << 64) | u128::from(world.generation),
            Outside::Written(_) if world.written > 0 => u128::from(number) + 1,
            Outside::Written(_) => 0,
        };
        definitions(graph, &outside).into()
    }

    /// Whether elements of a tensor are the same in every process: they depend on no function of the host, on nothing that
    /// it wrote, and on no data that is gone once it was read.
    fn is_lasting(&self, id: TensorId, world: &World) -> bool {
        let graph = &self.program.graph;
        let lasting = |id: &TensorId| match &graph.tensor(*id).kind {
            TensorKind::Input(_) => world.inputs.get(id).is_none_or(InputData::is_lasting),
            TensorKind::Windowed(windowed) => matches!(windowed.body, WindowBody::Expr(_)),
            TensorKind::Pointwise(_) | TensorKind::Var(_) => true,
        };
        world.written == 0 && uses(graph, id).tensors.iter().all(lasting)
    }

    /// What tiles a view is made of; none if it shows data, which is at hand, or cannot be narrowed.
    fn wanted(&self, view: &Arc<View>, world: &World) -> Option<Wanted> {
        let tensor = self.program.graph.tensor(view.base);
        match tensor.kind {
            TensorKind::Input(_) | TensorKind::Var(_) => return None,
            TensorKind::Pointwise(_) | TensorKind::Windowed(_) => {}
        }
        let definition = self.definitions(world)[view.base.index()];
        let (series, template, region, grid) = match cut(view) {
            Some(region) => {
                let domain = tensor.domain.clone();
                let grid = tiles_of(&domain);
                let whole = View::whole(tensor.name.clone(), view.base, view.element, domain);
                (definition.to_string(), Arc::new(whole), region, grid)
            }
            None => {
                let grid = tiles_of(&endless(view.rank())?);
                (format!("{definition} {}", text_of(view)?), view.clone(), view.intervals(), grid)
            }
        };
        let series: Arc<str> = series.into();
        let (name, element) = (template.name.clone(), view.element);
        let about = About { name, element, grid: grid.clone(), lasting: self.is_lasting(view.base, world) };
        self.store.describe(&series, &about);
        let mut known = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        let template = known.entry(series.clone()).or_insert(template).clone();
        Some(Wanted { series, template, region, grid })
    }
}

/// A domain without ends.
fn endless(rank: usize) -> Option<Domain> {
    Domain::new(vec![Dim::explicit(Interval::all()); rank]).ok()
}

/// A view in words, without its bounds; none if its bounds are part of what it means.
fn text_of(view: &View) -> Option<String> {
    let (first, others) = view.steps().split_first()?;
    let Step::Map(map) = first else { return None };
    let mut text = format!("{:?}", map.is_affine().then(|| map.outputs())?);
    others.iter().for_each(|step| _ = write!(text, " {step}"));
    Some(text)
}

/// How the elements of a domain are cut into tiles, whatever is read of them.
fn tiles_of(domain: &Domain) -> Grid {
    let dims = domain.dims();
    let short = |dim: usize| dims[dim].enforced().len().is_some_and(|len| (1..=SHORT).contains(&len));
    let long: Vec<usize> = (0..dims.len()).filter(|dim| !short(*dim)).collect();
    let size = |dim: usize| match long.iter().rev().position(|at| *at == dim) {
        _ if short(dim) => dims[dim].enforced().len().unwrap_or(1),
        Some(0) if long.len() == 1 => SIDE * SIDE,
        Some(0 | 1) => SIDE,
        Some(_) | None => 1,
    };
    let origin = (0..dims.len()).map(|dim| if short(dim) { dims[dim].enforced().first() } else { 0 });
    let region = dims.iter().map(|dim| dim.enforced()).collect();
    Grid::new(region, origin.collect(), (0..dims.len()).map(size).collect())
}

/// The box of its tensor that a view shows, if it does nothing but cut, move and drop dimensions.
pub fn cut(view: &View) -> Option<Region> {
    let map = view.as_transform()?;
    let domain = map.domain().dims();
    let mut next = 0;
    let mut region = Vec::new();
    for output in map.outputs() {
        let OutputMap::Affine(affine) = output else { return None };
        match affine.terms() {
            [] => region.push(Interval::point(affine.offset()).ok()?),
            [term] if term.stride == 1 && term.dim == next => {
                region.push(domain[next].interval.shift(affine.offset()).ok()?);
                next += 1;
            }
            _ => return None,
        }
    }
    (next == domain.len()).then_some(region)
}

impl Backend for Kept {
    fn name(&self) -> &'static str {
        self.shared.inner.name()
    }

    fn plan(&self, job: Job) -> Result<Box<dyn Planned>> {
        plan_kept(&self.shared, job)
    }
}

fn plan_kept(shared: &Arc<Shared>, job: Job) -> Result<Box<dyn Planned>> {
    let whole = shared.inner.plan(job.clone())?;
    let Some(wanted) = shared.wanted(&job.view, &job.world) else { return Ok(whole) };
    let bytes = volume(&wanted.region).saturating_mul(job.view.element.bytes().into());
    let peak = whole.plan().bytes_peak;
    // What is missing is computed beside the result, and that takes memory, too.
    let more = u64::try_from(bytes).ok().and_then(|bytes| peak.checked_add(bytes));
    let fits = |more: &u64| {
        bytes > 0
            && bytes <= u128::from(shared.store.limit() / PART)
            && job.limits.memory.is_none_or(|limit| *more <= limit)
    };
    let Some(more) = more.filter(fits) else { return in_slabs(shared, &job, &wanted, whole) };
    let plan = Plan { bytes_peak: more, ..whole.plan().clone() };
    let (bytes, wanted) = (more - peak, Arc::new(wanted));
    let read =
        KeptRead { shared: shared.clone(), job: job.clone(), wanted: wanted.clone(), whole, plan, bytes };
    in_slabs(shared, &job, &wanted, Box::new(read))
}

/// What is read: a box of what tiles are of.
struct Wanted {
    series: Arc<str>,
    /// Any box of it can be read through this.
    template: Arc<View>,
    region: Region,
    grid: Grid,
}

struct KeptRead {
    shared: Arc<Shared>,
    job: Job,
    wanted: Arc<Wanted>,
    /// The read as it is when nothing is kept.
    whole: Box<dyn Planned>,
    plan: Plan,
    bytes: u64,
}

impl Planned for KeptRead {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn text(&self) -> String {
        self.whole.text()
    }

    fn timeline(&self) -> Option<Timeline> {
        self.whole.timeline()
    }

    fn run(&self, sink: &mut dyn Sink, control: &Control<'_>) -> Result<Stats> {
        if let Some(blank) = sink.memory() {
            return self.fill(blank.cleared(|| control.check())?, control);
        }
        let mut data = room(self.bytes)?;
        let stats = self.fill(&mut data, control)?;
        sink.write(&data)?;
        Ok(stats)
    }
}

fn room(bytes: u64) -> Result<Vec<u8>> {
    let mut data = Vec::new();
    match usize::try_from(bytes)
        .ok()
        .filter(|bytes| data.try_reserve_exact(*bytes).is_ok() && !faults::strikes(faults::Place::Memory))
    {
        Some(bytes) => data.resize(bytes, 0),
        None => return Diagnostic::new(Code::E1005, format!("{bytes} bytes cannot be allocated")).err(),
    }
    Ok(data)
}

impl KeptRead {
    /// Brings all elements to `memory`, and keeps them; what another read is computing is waited for.
    fn fill(&self, memory: &mut [u8], control: &Control<'_>) -> Result<Stats> {
        let Shared { store, flights, .. } = &*self.shared;
        let mut filling = Filling { memory, control, done: Vec::new(), computed: 0, stats: self.nothing() };
        let mut wanted = self.parts();
        while !wanted.is_empty() {
            control.check()?;
            let mut sorted = flights.sort(std::mem::take(&mut wanted), &**store);
            self.reuse(&sorted, &mut filling);
            if sorted.claims.parts().is_empty() && sorted.found.is_empty() {
                flights.wait(&sorted);
            }
            wanted = std::mem::take(&mut sorted.busy);
            self.compute(sorted.claims, &wanted, &mut filling)?;
        }
        let region = &self.wanted.region;
        let there = volume(region).saturating_sub(filling.computed) as u64;
        let mut stats = filling.stats;
        stats.elements = volume(region) as u64;
        stats.bytes.output = self.bytes;
        stats.bytes.peak_planned = self.plan.bytes_peak;
        stats.windows = reused(&self.plan, &stats);
        stats.store = Store { bytes: store.bytes(), reused: there };
        (control.progress)(stats.elements, stats.elements);
        Ok(stats)
    }

    /// The numbers of a read that finds everything.
    fn nothing(&self) -> Stats {
        let mut stats = Stats {
            threads: self.job.limits.threads as u64,
            engine: self.shared.inner.name(),
            ..Stats::default()
        };
        stats.bytes.peak = self.bytes;
        stats
    }

    /// The parts of tiles that the read is made of.
    fn parts(&self) -> Vec<Part> {
        let Wanted { series, region, grid, .. } = &*self.wanted;
        let numbers: Region =
            region.iter().enumerate().map(|(dim, range)| grid.meeting(dim, *range)).collect();
        let mut parts = Vec::new();
        each(&numbers, |number| {
            let Some(region) = meet(&grid.tile(number), region) else { return };
            parts.push(Part { key: TileKey { series: series.clone(), number: number.to_vec() }, region });
        });
        parts
    }

    /// Copies what the store has.
    fn reuse(&self, sorted: &Sorted<'_>, filling: &mut Filling<'_>) {
        let found = sorted.found.iter().map(|(part, tile)| (part, Some(tile)));
        let begun = sorted.claims.parts().iter().map(|(part, tile)| (part, tile.as_ref()));
        for (part, tile) in found.chain(begun) {
            let Some(tile) = tile else { continue };
            tile.copy_to(&self.wanted.region, filling.memory);
            let held = tile.held().iter().filter_map(|held| meet(held, &part.region));
            filling.done.extend(held);
            if let Some(trace) = filling.control.trace {
                let name = &self.job.view.name;
                trace.note(What::Reuse, || format!("{name} {:?}", part.key.number), 0);
            }
        }
    }

    /// Computes what was claimed, and keeps it; `busy` is left to others.
    fn compute(&self, claims: Claims<'_>, busy: &[Part], filling: &mut Filling<'_>) -> Result<()> {
        if claims.parts().is_empty() {
            return Ok(());
        }
        let region = &self.wanted.region;
        let others = busy.iter().map(|part| part.region.clone());
        let gaps = missing(region, filling.done.iter().cloned().chain(others).collect());
        // Elements between gaps are computed with them, unless another read computes or has computed them meanwhile.
        let alone = busy.is_empty() && filling.computed == 0;
        let gaps = if alone { few(gaps) } else { gaps };
        match self.planned(&gaps)? {
            Some(planned) => {
                gaps.iter().zip(planned).try_for_each(|(gap, planned)| self.gap(gap, &*planned, filling))?;
                filling.computed += gaps.iter().map(|gap| volume(gap)).fold(0, u128::saturating_add);
                filling.done.extend(gaps);
            }
            None => {
                filling.stats.add(&self.whole.run(&mut Memory::new(filling.memory), filling.control)?);
                filling.computed = volume(region);
                filling.done = vec![region.clone()];
            }
        }
        if self.is_current() {
            claims.land(&*self.shared.store, |part, tile| self.tile(part, tile, filling.memory));
        }
        Ok(())
    }

    /// Whether data that is read while it is needed is still what it was when the read was planned.
    fn is_current(&self) -> bool {
        let world = &self.job.world;
        let on_demand = world.inputs.values().any(|data| data.whole().is_none());
        let definition = || self.shared.definitions(world)[self.job.view.base.index()].to_string();
        !on_demand || self.wanted.series.starts_with(&definition())
    }

    /// How boxes that are missing are computed; none if that is the whole read, or takes more than that does: a small box
    /// may be divided otherwise.
    fn planned(&self, gaps: &[Region]) -> Result<Option<Vec<Box<dyn Planned>>>> {
        if gaps == std::slice::from_ref(&self.wanted.region) {
            return Ok(None);
        }
        let mut all = Vec::new();
        for gap in gaps {
            let view = Arc::new(narrow(&self.wanted.template, gap)?);
            let planned = self.shared.inner.plan(Job { view, ..self.job.clone() })?;
            let (own, whole) = (planned.plan(), self.whole.plan());
            if own.bytes_peak > whole.bytes_peak || own.live_peak > whole.live_peak {
                return Ok(None);
            }
            all.push(planned);
        }
        Ok(Some(all))
    }

    /// Computes a box, and brings it to where it belongs.
    fn gap(&self, gap: &Region, planned: &dyn Planned, filling: &mut Filling<'_>) -> Result<()> {
        let Filling { memory, control, done, stats, .. } = filling;
        let element = self.job.view.element.bytes() as usize;
        let mut data = room(volume(gap) as u64 * element as u64)?;
        let total = volume(&self.wanted.region) as u64;
        let before = done.iter().map(|done| volume(done) as u64).sum::<u64>();
        let share = |now: u64, all: u64| u128::from(now) * volume(gap) / u128::from(all.max(1));
        let progress = |now: u64, all: u64| {
            (control.progress)(before.saturating_add(share(now, all) as u64).min(total), total);
        };
        let mut own =
            planned.run(&mut Memory::new(&mut data), &Control { progress: &progress, ..control.clone() })?;
        copy_box((&data, gap), (memory, &self.wanted.region), gap, element);
        own.bytes.peak = own.bytes.peak.saturating_add(self.bytes);
        stats.add(&own);
        Ok(())
    }

    /// A tile with the elements that a read made of it.
    fn tile(&self, part: &Part, tile: Option<Arc<Tile>>, memory: &[u8]) -> Option<Tile> {
        let element = self.job.view.element.bytes() as usize;
        let tile = tile.map(Arc::unwrap_or_clone);
        let mut tile = tile.or_else(|| Tile::empty(self.wanted.grid.tile(&part.key.number), element))?;
        tile.fill(&self.wanted.region, memory);
        Some(tile)
    }
}

/// A read on its way.
struct Filling<'f> {
    memory: &'f mut [u8],
    control: &'f Control<'f>,
    /// Boxes whose elements are in memory; no two share one.
    done: Vec<Region>,
    /// Elements that this read computed.
    computed: u128,
    stats: Stats,
}

/// A box of a view.
fn narrow(view: &View, region: &[Interval]) -> Result<View> {
    view.narrowed(region).map_err(|error| Box::new(Diagnostic::new(Code::E1009, error.to_string())))
}

/// Windows that the whole read takes and that were not computed are there already.
fn reused(plan: &Plan, stats: &Stats) -> Vec<(Arc<str>, Windows)> {
    let known = |name: &Arc<str>| stats.windows.iter().find(|(known, _)| known == name);
    let all = plan.windows.iter().map(|(name, windows)| {
        let computed = known(name).map_or(0, |(_, windows)| windows.computed);
        (name.clone(), Windows { computed, reused: windows.computed.saturating_sub(computed) })
    });
    let more = stats.windows.iter().filter(|(name, _)| !plan.windows.iter().any(|(known, _)| known == name));
    all.chain(more.cloned()).collect()
}
