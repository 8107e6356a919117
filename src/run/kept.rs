//! An engine that keeps what it computed: a read takes what is in the store, and computes what is missing.
//!
//! ```text
//! smooth[0:300, 100:400] after smooth[0:300, 0:300]   ->   smooth[0:300, 300:400] is computed, the rest is copied
//! a[5, 5] is written                                  ->   tiles of smooth that reach a[5, 5] are forgotten
//! ```
//!
//! It stands before any engine, and gives the same bits. What is read into memory for the first time is computed right
//! there, without a copy in between.

use super::inputs::InputData;
use super::job::{Backend, Control, Job, Memory, Planned, Sink, What, World};
use super::stats::{Plan, Stats, Store, Windows};
use crate::access::footprint::{Region, view_footprint};
use crate::compile::Program;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::graph::body::TensorId;
use crate::graph::definition::{Definition, Outside, definitions};
use crate::graph::upstream::{reads, upstream};
use crate::graph::view::{Step, View};
use crate::graph::{TensorKind, WindowBody};
use crate::index::walk::{copy_box, each};
use crate::index::{Dim, Domain, Interval, OutputMap, Transform};
use crate::plan::grid::{Grid, volume};
use crate::plan::group::{Request, needed_boxes};
use crate::plan::stages::{Stages, stages};
use crate::tiles::boxes::{hull, meet, missing};
use crate::tiles::{About, Tile, TileKey, TileStore};
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
    alone: OnceLock<Vec<Definition>>,
    /// The data of inputs that were met, in 128 bits each.
    digests: Mutex<BTreeMap<TensorId, (InputData, u128)>>,
    /// What tiles are of, by the word for it.
    series: Mutex<BTreeMap<Arc<str>, Arc<View>>>,
    stages: OnceLock<Option<Stages>>,
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
    /// The word for it.
    pub word: Arc<str>,
    /// What it is, if this engine knows it.
    pub view: Option<Arc<View>>,
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
            digests: Mutex::default(),
            series: Mutex::default(),
            stages: OnceLock::new(),
        };
        Kept { shared: Arc::new(shared) }
    }

    /// What is in the store, also what other engines put there.
    pub fn series(&self) -> Vec<Series> {
        let known = self.shared.series.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<Series> = Vec::new();
        for (key, tile) in self.shared.store.tiles() {
            if found.last().is_none_or(|last| last.word != key.series) {
                let (word, view) = (key.series.clone(), known.get(&key.series).cloned());
                found.push(Series { word, view, tiles: 0, bytes: 0, elements: 0 });
            }
            if let Some(last) = found.last_mut() {
                last.tiles += 1;
                last.bytes += tile.bytes();
                last.elements += tile.held().iter().map(|held| volume(held)).sum::<u128>();
            }
        }
        found
    }

    /// Forgets what depends on elements that were written through `target`.
    pub fn written(&self, target: &View) {
        let span = self.shared.program.graph.tensor(target.base).span;
        let Some(written) = view_footprint(target, &target.intervals(), span) else { return };
        for (view, tiles) in self.shared.by_series() {
            self.shared.forget_touched(&view, &tiles, target.base, &written);
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

    /// Forgets those of some tiles that need a box of a variable: all together first, then halves of them.
    fn forget_touched(&self, view: &View, tiles: &[Stored], var: TensorId, written: &[Interval]) {
        let mut queue = vec![tiles];
        while let Some(tiles) = queue.pop() {
            let Some(region) = hull(tiles.iter().map(|(_, tile)| tile.region())) else { continue };
            if !self.touches(view, &region, var, written) {
                continue;
            }
            match tiles {
                [(key, _)] => self.store.remove(key),
                _ => queue.extend([&tiles[..tiles.len() / 2], &tiles[tiles.len() / 2..]]),
            }
        }
    }

    /// Whether a box of a view needs any of a box of a variable; when nobody can tell, it does.
    fn touches(&self, view: &View, region: &Region, var: TensorId, written: &[Interval]) -> bool {
        let graph = &self.program.graph;
        let stages = self.stages.get_or_init(|| stages(graph, &self.program.accesses).ok());
        let Some(stages) = stages else { return true };
        let Some(base) = view_footprint(view, region, graph.tensor(view.base).span) else { return false };
        let request = Request { target: view.base, region: base, threads: 1, tile: None };
        match needed_boxes(stages, &request) {
            Ok(boxes) => boxes.get(&var).is_some_and(|needed| meet(needed, written).is_some()),
            Err(_) => true,
        }
    }

    /// The definition of a tensor. Alone, an engine forgets what depends on data that changed, so the data is left out.
    fn definition(&self, id: TensorId, world: &World) -> Definition {
        let graph = &self.program.graph;
        match self.owner {
            Owner::Alone => self.alone.get_or_init(|| definitions(graph, &|_| 0))[id.index()],
            Owner::Among(number) => {
                let outside = |what: Outside<'_>| match what {
                    Outside::Input(input) => {
                        world.inputs.get(&input).map_or(0, |data| self.digest(input, data))
                    }
                    Outside::Host(_) => (u128::from(number) << 64) | u128::from(world.generation),
                    Outside::Written(_) if world.written > 0 => u128::from(number) + 1,
                    Outside::Written(_) => 0,
                };
                definitions(graph, &outside)[id.index()]
            }
        }
    }

    /// The data of an input in 128 bits.
    fn digest(&self, input: TensorId, data: &InputData) -> u128 {
        let mut known = self.digests.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(&input) {
            Some((same, digest)) if same.is_same(data) => *digest,
            Some(_) | None => {
                let digest = data.digest();
                known.insert(input, (data.clone(), digest));
                digest
            }
        }
    }

    /// Whether elements of a tensor are the same in every process: they depend on no function of the host, on nothing that
    /// it wrote, and on no data that is gone once it was read.
    fn is_lasting(&self, id: TensorId, world: &World) -> bool {
        let graph = &self.program.graph;
        let needed = upstream(graph, graph.sets.iter().flat_map(|set| reads(&set.body)).chain([id]));
        let lasting = |id: &TensorId| match &graph.tensor(*id).kind {
            TensorKind::Input(_) => world.inputs.get(id).is_none_or(InputData::is_lasting),
            TensorKind::Windowed(windowed) => matches!(windowed.body, WindowBody::Expr(_)),
            TensorKind::Pointwise(_) | TensorKind::Var(_) => true,
        };
        world.written == 0 && needed.iter().all(lasting)
    }

    /// What tiles a view is made of; none if it shows data, which is at hand, or cannot be narrowed.
    fn wanted(&self, view: &Arc<View>, world: &World) -> Option<Wanted> {
        let tensor = self.program.graph.tensor(view.base);
        match tensor.kind {
            TensorKind::Input(_) | TensorKind::Var(_) => return None,
            TensorKind::Pointwise(_) | TensorKind::Windowed(_) => {}
        }
        let definition = self.definition(view.base, world);
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
        let whole = self.shared.inner.plan(job.clone())?;
        let Some(wanted) = self.shared.wanted(&job.view, &job.world) else { return Ok(whole) };
        let bytes = volume(&wanted.region).saturating_mul(job.view.element.bytes().into());
        let peak = whole.plan().bytes_peak;
        // What is missing is computed beside the result, and that takes memory, too.
        let Some(more) = u64::try_from(bytes).ok().and_then(|bytes| peak.checked_add(bytes)) else {
            return Ok(whole);
        };
        let kept = bytes > 0
            && bytes <= u128::from(self.shared.store.limit() / PART)
            && job.limits.memory.is_none_or(|limit| more <= limit);
        if !kept {
            return Ok(whole);
        }
        let plan = Plan { bytes_peak: more, ..whole.plan().clone() };
        Ok(Box::new(KeptRead { shared: self.shared.clone(), job, wanted, whole, plan, bytes: more - peak }))
    }
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
    wanted: Wanted,
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

    fn run(&self, sink: &mut dyn Sink, control: &Control<'_>) -> Result<Stats> {
        if let Some(memory) = sink.memory() {
            return self.fill(memory, control);
        }
        let mut data = room(self.bytes)?;
        let stats = self.fill(&mut data, control)?;
        sink.write(&data)?;
        Ok(stats)
    }
}

fn room(bytes: u64) -> Result<Vec<u8>> {
    let mut data = Vec::new();
    match usize::try_from(bytes).ok().filter(|bytes| data.try_reserve_exact(*bytes).is_ok()) {
        Some(bytes) => data.resize(bytes, 0),
        None => return Diagnostic::new(Code::E1005, format!("{bytes} bytes cannot be allocated")).err(),
    }
    Ok(data)
}

impl KeptRead {
    /// Brings all elements to `memory`, and keeps them.
    fn fill(&self, memory: &mut [u8], control: &Control<'_>) -> Result<Stats> {
        let region = &self.wanted.region;
        let tiles = self.tiles();
        let found = tiles.iter().filter_map(|(_, tile)| tile.as_ref());
        let held = found.clone().flat_map(|tile| tile.held()).filter_map(|held| meet(held, region));
        let missing = missing(region, held.collect());
        if let Some(trace) = control.trace {
            let found = tiles.iter().filter(|(_, tile)| tile.is_some());
            let name = &self.job.view.name;
            found.for_each(|(key, _)| trace.note(What::Reuse, || format!("{name} {:?}", key.number), 0));
        }
        let computed = missing.iter().map(|part| volume(part)).fold(0, u128::saturating_add);
        let mut stats = match &missing[..] {
            [all] if all == region => self.whole.run(&mut Memory::new(memory), control)?,
            parts => {
                let stats = self.compute(parts, memory, control)?;
                found.for_each(|tile| tile.copy_to(region, memory));
                stats
            }
        };
        self.keep(tiles, memory);
        stats.elements = volume(region) as u64;
        stats.bytes.output = self.bytes;
        stats.bytes.peak_planned = self.plan.bytes_peak;
        let store = &self.shared.store;
        stats.store = Store { bytes: store.bytes(), reused: (volume(region) - computed) as u64 };
        Ok(stats)
    }

    /// The tiles that the read meets, as far as they are there.
    fn tiles(&self) -> Vec<(TileKey, Option<Arc<Tile>>)> {
        let Wanted { series, region, grid, .. } = &self.wanted;
        let numbers: Region =
            region.iter().enumerate().map(|(dim, range)| grid.meeting(dim, *range)).collect();
        let mut tiles = Vec::new();
        each(&numbers, |number| {
            let key = TileKey { series: series.clone(), number: number.to_vec() };
            let tile = self.shared.store.get(&key);
            tiles.push((key, tile));
        });
        tiles
    }

    /// Computes some boxes, one after the other.
    fn compute(&self, parts: &[Region], memory: &mut [u8], control: &Control<'_>) -> Result<Stats> {
        let total = volume(&self.wanted.region) as u64;
        let element = self.job.view.element.bytes() as usize;
        let mut stats = Stats {
            threads: self.job.limits.threads as u64,
            engine: self.shared.inner.name(),
            ..Stats::default()
        };
        let mut done = total - parts.iter().map(|part| volume(part) as u64).sum::<u64>().min(total);
        for part in parts {
            let view = Arc::new(narrow(&self.wanted.template, part)?);
            let planned = self.shared.inner.plan(Job { view, ..self.job.clone() })?;
            let mut data = room(volume(part) as u64 * element as u64)?;
            let progress = |now: u64, _: u64| (control.progress)((done + now).min(total), total);
            let control = Control { progress: &progress, ..control.clone() };
            stats.add(&planned.run(&mut Memory::new(&mut data), &control)?);
            copy_box((&data, part), (memory, &self.wanted.region), part, element);
            done += volume(part) as u64;
        }
        (control.progress)(total, total);
        stats.bytes.peak = stats.bytes.peak.saturating_add(self.bytes);
        stats.windows = reused(&self.plan, &stats);
        Ok(stats)
    }

    /// Puts the elements that a read found or made into the store.
    fn keep(&self, tiles: Vec<(TileKey, Option<Arc<Tile>>)>, memory: &[u8]) {
        let Wanted { region, grid, .. } = &self.wanted;
        for (key, tile) in tiles {
            let whole = grid.tile(&key.number);
            let Some(part) = meet(&whole, region) else { continue };
            let old = tile.as_ref().map_or(&[][..], |tile| tile.held());
            if missing(&part, old.iter().filter_map(|held| meet(held, &part)).collect()).is_empty() {
                continue;
            }
            let tile = tile.map(Arc::unwrap_or_clone);
            let tile = tile.or_else(|| Tile::empty(whole, self.job.view.element.bytes() as usize));
            let Some(mut tile) = tile else { return };
            tile.fill(region, memory);
            self.shared.store.put(key, Arc::new(tile));
        }
    }
}

/// A box of a view.
fn narrow(view: &View, region: &[Interval]) -> Result<View> {
    let narrowed = view.mapped(|map| {
        let dims = map.domain().dims().iter().zip(region);
        let domain = Domain::new(dims.map(|(dim, range)| dim.with_interval(*range)).collect())?;
        Transform::new(domain, map.outputs().to_vec())
    });
    narrowed.map_err(|error| Box::new(Diagnostic::new(Code::E1009, error.to_string())))
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
