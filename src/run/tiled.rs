//! The compiled engine: plans a read, then runs it tile by tile on all cores.
//!
//! ```text
//! smooth[0:512, 0:512]   ->   groups, tiles, order, peak   ->   kernels on workers   ->   row-major bytes
//! ```
//!
//! [`reading`](super::reading) runs what is planned here.

use super::elsewhere::Plans;
use super::inputs;
use super::job::{Backend, Control, Job, Limits, Planned, World, cancelled};
use super::kept::cut;
use super::kernels::{Codes, Kernel, Kernels};
use super::ledger::Ledger;
use super::memory::{Memory, Place};
use super::meter::{Meter, Told};
use super::reading::{Reading, middle_slab};
use super::schedule;
use super::sets::Written;
use super::spare::Spare;
use super::vars::Vars;
use super::work::{Stepped, Work};
use crate::access::footprint::Region;
use crate::compile::Program;
use crate::diagnostic::{Code, Diagnostic, Result};

use crate::graph::body::TensorId;
use crate::graph::view::View;
use crate::graph::{Tensor, TensorKind};
use crate::index::interval::floor_div;
use crate::index::{Dim, Domain, INF, Interval, OutputMap, Transform};
use crate::jit::Vectors;
use crate::plan::apart::set_apart;
use crate::plan::fuse::Rows;
use crate::plan::grid::volume;
use crate::plan::group::{PlanError, Request, groups, needed_boxes};
use crate::plan::near::{are_near, near};
use crate::plan::readers::{Division, of_all};
use crate::plan::stages::{Stages, stages};
use crate::plan::thin::{cost, reads_sparsely, thinned};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The compiled engine for one program.
pub struct Tiled {
    shared: Arc<Common>,
}

pub(super) struct Common {
    pub(super) program: Arc<Program>,
    pub(super) stages: Arc<Stages>,
    /// The same for requests near the origin, where they need less there.
    near: Option<Arc<Stages>>,
    pub(super) kernels: Kernels,
    /// The same with reads apart that move differently, where that makes a difference, by the tensor that is read.
    apart: Mutex<BTreeMap<TensorId, Option<Arc<Variant>>>>,
    /// What views that step ask for, the newest last.
    stepping: Mutex<Vec<Known>>,
    /// Plans that hold elsewhere, too.
    pub(super) plans: Plans,
    /// What `set` items and the host wrote.
    pub(super) written: Written,
    /// Memory of workers, kept from run to run.
    pub(super) spare: Spare,
}

/// Stages and their code.
pub(super) struct Variant {
    stages: Arc<Stages>,
    /// The same for requests near the origin, where they need less there.
    near: Option<Arc<Stages>>,
    pub(super) kernels: Kernels,
}

impl Tiled {
    /// An engine that compiles `program`, with vectors of at most that width; code that is in `codes` is taken from
    /// there.
    pub fn new(program: Arc<Program>, vectors: Vectors, codes: Option<Arc<Codes>>) -> Result<Tiled> {
        let rows = if vectors > Vectors::V128 { Rows::Ahead } else { Rows::Apart };
        let stages = stages(&program.graph, &program.accesses, rows)
            .map_err(|error| Box::new(Diagnostic::new(Code::E1009, error.message)))?;
        let kernels = Kernels::new(vectors, codes);
        let common = Common {
            program,
            near: near(&stages).map(Arc::new),
            stages: Arc::new(stages),
            kernels,
            apart: Mutex::default(),
            stepping: Mutex::default(),
            plans: Plans::default(),
            written: Written::default(),
            spare: Spare::default(),
        };
        Ok(Tiled { shared: Arc::new(common) })
    }
}

impl Backend for Tiled {
    fn name(&self) -> &'static str {
        "jit"
    }

    fn plan(&self, job: Job) -> Result<Box<dyn Planned>> {
        if let Some((asked, whole)) = self.shared.plans.get(&job) {
            return Ok(Box::new(Reading::known(self.shared.clone(), job, asked, whole)));
        }
        let asked = self.shared.best(&job.view, &job.limits)?;
        let reading = Reading::new(self.shared.clone(), job, asked)?;
        self.shared.plans.keep(&reading);
        Ok(Box::new(reading))
    }
}

/// What a view that steps asks for. Its stages depend on its strides and on how much is asked, hardly on where, and take
/// longer to find than a small box takes to compute: the tiles of a zoomed-out level find them once.
struct Known {
    question: Question,
    asked: Asked,
    /// What that took; the same for much more elsewhere is no answer.
    cost: u128,
}

/// What is the same for all boxes of a size.
#[derive(PartialEq)]
struct Question {
    /// The view, as wide as its strides allow.
    wide: View,
    /// The shape of the box.
    lens: Vec<Option<i64>>,
    threads: usize,
    tile: Option<Vec<i64>>,
}

/// Answers that are kept, for some levels of some layers, and the stages of all of them together: each has its own.
const MOST_KNOWN: usize = 64;
const MOST_STAGES: usize = 4096;

/// What a view asks for: a box of a stage.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) stages: Arc<Stages>,
    pub(super) target: TensorId,
    pub(super) region: Region,
    /// The stages that it is of, if they are not the plain ones.
    pub(super) apart: Option<Arc<Variant>>,
    /// Whether its stages are those for requests near the origin.
    pub(super) near: bool,
}

impl Asked {
    /// Whether its stages say what it needs.
    fn holds(&self, limits: &Limits) -> bool {
        let request = self.request(&self.region, limits);
        !self.near || needed_boxes(&self.stages, &request).is_ok_and(|boxes| are_near(&boxes))
    }

    /// Operations that it takes, of everything.
    fn cost(&self, limits: &Limits) -> Result<u128> {
        let boxes = needed_boxes(&self.stages, &self.request(&self.region, limits)).map_err(failed)?;
        Ok(cost(&self.stages, &boxes))
    }

    /// The other one, if it takes less.
    fn cheaper(self, other: Option<Asked>, limits: &Limits) -> Asked {
        match other {
            Some(other) if other.cost(limits).ok() < self.cost(limits).ok().or(Some(u128::MAX)) => other,
            _ => self,
        }
    }

    /// The same of itself, without what it reads.
    fn own_cost(&self) -> u128 {
        cost(&self.stages, &BTreeMap::from([(self.target, self.region.clone())]))
    }

    /// The code of its stages.
    pub(super) fn kernels<'a>(&'a self, common: &'a Common) -> &'a Kernels {
        self.apart.as_ref().map_or(&common.kernels, |variant| &variant.kernels)
    }

    /// All of it at once.
    fn at_once(&self, limits: &Limits) -> Result<Piece> {
        Ok(Piece { division: self.divide(&self.region, limits)?, elements: 1, all: 1 })
    }

    /// The piece of it that stands for all: slabs may need far more of what they share.
    fn piece(&self, limits: &Limits) -> Result<Piece> {
        let whole = self.at_once(limits)?;
        let element = self.stages.tensor(self.target).element.bytes();
        let Some(slab) = middle_slab(&whole.division, &self.region, element) else { return Ok(whole) };
        let (elements, all) = (volume(&slab), volume(&self.region));
        Ok(Piece { division: self.divide(&slab, limits)?, elements, all })
    }

    /// Elements of the windows that host functions make for it.
    fn hosted(&self, limits: &Limits) -> Option<u128> {
        let boxes = needed_boxes(&self.stages, &self.request(&self.region, limits)).ok()?;
        let made = boxes.iter().filter(|(id, _)| self.stages.hosts.contains_key(id));
        Some(made.map(|(_, region)| volume(region)).fold(0, u128::saturating_add))
    }

    /// Whether it calls a host function for fewer windows; nobody knows what one takes.
    fn calls_fewer(&self, other: &Asked, limits: &Limits) -> bool {
        let fewer = || self.hosted(limits).zip(other.hosted(limits)).is_some_and(|(own, other)| own < other);
        !self.stages.hosts.is_empty() && fewer()
    }

    fn is_far_less(&self, other: &Asked, piece: impl Fn(&Asked) -> Result<Piece>, limits: &Limits) -> bool {
        let (own, all) = match (piece(self), piece(other)) {
            (Ok(own), Ok(all)) => (own, all),
            (own, all) => return own.is_ok() && all.is_err(),
        };
        own.takes_far_less(&all) || self.calls_fewer(other, limits) || own.holds_far_less(&all)
    }

    /// The same, with sources that are read at few of their elements computed there only.
    fn thinned(&self, limits: &Limits) -> Option<Asked> {
        let tensor = self.stages.tensor(self.target);
        let own = match &tensor.kind {
            _ if self.target.index() >= self.stages.kept => None,
            TensorKind::Pointwise(pointwise) if pointwise.recurrence.is_none() => Some(&pointwise.body),
            TensorKind::Pointwise(_)
            | TensorKind::Windowed(_)
            | TensorKind::Input(_)
            | TensorKind::Var(_) => return None,
        };
        if !reads_sparsely(&self.stages, &self.request(&self.region, limits)) {
            return None;
        }
        let (stages, target) = match own {
            None => (self.stages.clone(), self.target),
            Some(body) => {
                let (domain, body) = (tensor.domain.clone(), body.clone());
                let (mut stages, target) =
                    self.stages.with_body(&tensor.name, tensor.span, tensor.element, domain, body);
                stages.inherit(target, self.target);
                (Arc::new(stages), target)
            }
        };
        let asked = Asked { stages, target, region: self.region.clone(), ..self.clone() };
        let stages = thinned(&asked.stages, &asked.request(&asked.region, limits))?;
        Some(Asked { stages: Arc::new(stages), ..asked })
    }

    fn request(&self, region: &Region, limits: &Limits) -> Request {
        Request {
            target: self.target,
            region: region.clone(),
            threads: limits.threads.max(1),
            tile: limits.tile.clone(),
            stop: limits.stop.clone(),
        }
    }

    /// Who computes what of a box of it.
    pub(super) fn divide(&self, region: &Region, limits: &Limits) -> Result<Division> {
        let request = self.request(region, limits);
        let boxes = needed_boxes(&self.stages, &request).map_err(failed)?;
        let groups = groups(&self.stages, &request, &boxes).map_err(failed)?;
        Ok(Division { stages: self.stages.clone(), boxes, groups, stop: request.stop })
    }
}

/// Who computes what of a piece of a request, and how many of its elements that are.
struct Piece {
    division: Division,
    elements: u128,
    all: u128,
}

impl Piece {
    /// Operations that all of the request takes.
    fn work(&self) -> u128 {
        of_all(self.division.cost(), self.elements, self.all)
    }

    /// The same with what tasks take besides.
    fn work_and_tasks(&self) -> u128 {
        let tasks = of_all(self.division.tiles(), self.elements, self.all);
        self.work().saturating_add(tasks.saturating_mul(TASK))
    }

    fn takes_far_less(&self, other: &Piece) -> bool {
        other.work() / FAR_LESS > self.work()
    }

    /// Whether tasks are planned to hold far less, for no more work.
    fn holds_far_less(&self, other: &Piece) -> bool {
        let no_more = self.work_and_tasks() <= other.work_and_tasks().saturating_mul(SAME) / 100;
        let most = if no_more { other.division.widest() } else { 0 };
        most > MUCH && most / FAR_LESS > self.division.widest()
    }
}

/// Why there is no plan, as an error of the read.
pub(super) fn failed(error: PlanError) -> Box<Diagnostic> {
    match error {
        PlanError::Cannot(why) => Box::new(Diagnostic::new(Code::E1009, why)),
        PlanError::Stopped => cancelled(),
    }
}

/// An answer holds elsewhere if it takes no more than so many percent of what it took.
const SAME: u128 = 125;
/// Reads that move differently are set apart when a request takes this many times less that way.
const FAR_LESS: u128 = 4;
/// They are, too, when it takes no more and a task is planned to hold so many times less, if more than this many bytes
/// otherwise: of conditions plans know that what lies between may be needed, and runs that it is not.
const MUCH: u128 = 1 << 26;
/// Operations that a task takes besides what it computes, roughly.
const TASK: u128 = 1 << 12;

impl Common {
    fn apart(&self, target: TensorId) -> Option<Arc<Variant>> {
        let make = || Some(Arc::new(self.variant(set_apart(&self.stages, target)?)));
        self.apart.lock().unwrap_or_else(PoisonError::into_inner).entry(target).or_insert_with(make).clone()
    }

    fn variant(&self, stages: Stages) -> Variant {
        Variant { near: near(&stages).map(Arc::new), stages: Arc::new(stages), kernels: self.kernels.again() }
    }

    /// What a view asks for, of the stages that need less for it.
    fn best(&self, view: &View, limits: &Limits) -> Result<Asked> {
        let Some(question) = self.question(view, limits) else { return self.cheapest(view, limits) };
        if let Some(known) = self.known(&question, view, limits) {
            return Ok(known);
        }
        let asked = self.cheapest(view, limits)?;
        // Whoever stops asking gets any answer.
        if let Ok(cost) = asked.cost(limits)
            && !limits.stop.is_asked()
        {
            let mut known = self.stepping.lock().unwrap_or_else(PoisonError::into_inner);
            let most = MOST_STAGES / self.stages.graph.tensors.len().max(1);
            if known.len() >= most.clamp(1, MOST_KNOWN) {
                known.remove(0);
            }
            known.push(Known { question, asked: asked.clone(), cost });
        }
        Ok(asked)
    }

    /// The question of a view that steps, if its answer may be one to others.
    fn question(&self, view: &View, limits: &Limits) -> Option<Question> {
        let view = view.unshaped();
        let base = self.stages.tensor(view.base);
        let computed = matches!(base.kind, TensorKind::Pointwise(_) | TensorKind::Windowed(_));
        let wide = if computed && cut(&view).is_none() { widened(&view, base)? } else { return None };
        let lens = view.domain().dims().iter().map(|dim| dim.interval.len()).collect();
        Some(Question { wide, lens, threads: limits.threads, tile: limits.tile.clone() })
    }

    /// The answer to a question that was asked elsewhere, if it takes about as much here.
    fn known(&self, question: &Question, view: &View, limits: &Limits) -> Option<Asked> {
        let region: Region = view.unshaped().domain().dims().iter().map(|dim| dim.interval).collect();
        let known = self.stepping.lock().unwrap_or_else(PoisonError::into_inner);
        let same = known.iter().filter(|known| known.question == *question);
        let mut same: Vec<(u128, Asked)> =
            same.map(|known| (known.cost, Asked { region: region.clone(), ..known.asked.clone() })).collect();
        drop(known);
        same.sort_by_key(|(cost, _)| *cost);
        let fits = |(cost, asked): &(u128, Asked)| {
            asked.holds(limits) && asked.cost(limits).is_ok_and(|own| own <= cost.saturating_mul(SAME) / 100)
        };
        same.into_iter().find(fits).map(|(_, asked)| asked)
    }

    /// What it asks for of all stages that are tried.
    fn cheapest(&self, view: &View, limits: &Limits) -> Result<Asked> {
        let plain = Common::asked_of(&self.stages, self.near.as_ref(), view, limits);
        let thinned = plain.thinned(limits);
        let plain = plain.cheaper(thinned, limits);
        let Some(apart) = self.apart(view.base) else { return Ok(plain) };
        let asked = Common::asked_of(&apart.stages, apart.near.as_ref(), view, limits);
        let split = Asked { apart: Some(apart), ..asked };
        let thinned = split.thinned(limits);
        let split = split.cheaper(thinned, limits);
        let piece = |asked: &Asked| asked.piece(limits);
        Ok(if split.is_far_less(&plain, piece, limits) { split } else { plain })
    }

    /// What a `set` asks for, with reads apart if it takes far less that way.
    pub(super) fn nothing_between(&self, plain: Asked, limits: &Limits) -> Asked {
        // Its own elements are computed either way.
        let own = plain.own_cost().saturating_mul(FAR_LESS);
        if plain.at_once(limits).is_ok_and(|piece| piece.work() <= own) {
            return plain;
        }
        let Some(stages) = set_apart(&plain.stages, plain.target) else { return plain };
        let variant = self.variant(stages);
        let (stages, region) = (variant.stages.clone(), plain.region.clone());
        let split =
            Asked { stages, target: plain.target, region, apart: Some(Arc::new(variant)), near: false };
        let at_once = |asked: &Asked| asked.at_once(limits);
        if split.is_far_less(&plain, at_once, limits) { split } else { plain }
    }

    /// What a view asks for, of the stages for requests near the origin if it is one.
    fn asked_of(stages: &Arc<Stages>, near: Option<&Arc<Stages>>, view: &View, limits: &Limits) -> Asked {
        let near = near.map(|stages| Asked { near: true, ..Common::asked(stages, view) });
        near.filter(|asked| asked.holds(limits)).unwrap_or_else(|| Common::asked(stages, view))
    }

    /// A view that only cuts is a box of its tensor; any other becomes a stage of its own. What is handed on is
    /// row-major, so a last reshape changes nothing.
    fn asked(stages: &Arc<Stages>, view: &View) -> Asked {
        let view = &view.unshaped();
        let data = match stages.tensor(view.base).kind {
            TensorKind::Input(_) | TensorKind::Var(_) => true,
            TensorKind::Pointwise(_) | TensorKind::Windowed(_) => false,
        };
        if !data && let Some(region) = cut(view) {
            return Asked { stages: stages.clone(), target: view.base, region, apart: None, near: false };
        }
        let region = view.domain().dims().iter().map(|dim| dim.interval).collect();
        let base = stages.tensor(view.base);
        let wide = if data { None } else { widened(view, base) };
        let (stages, target) = stages.with_view(wide.as_ref().unwrap_or(view), base.span);
        Asked { stages: Arc::new(stages), target, region, apart: None, near: false }
    }
}

/// Coordinates that everything is proven for, where it cannot be proven for all.
const EVERYDAY: i64 = 1 << 40;
/// Boxes farther out share their code with those of the same block, this many coordinates of the view each way.
const BLOCK: i64 = 1 << 16;

/// The same view over a domain that depends on its strides alone, where its tensor goes on for ever, so that all boxes
/// of it share their code, farther out all boxes of a block; none of a view that does more than step.
fn widened(view: &View, base: &Tensor) -> Option<View> {
    let map = view.as_transform()?;
    // How far a dimension may reach, every day and at all; those that move along bounds stay as they are.
    let limits = [EVERYDAY, INF / 2];
    let mut wide = vec![limits; map.rank()];
    for (output, dim) in map.outputs().iter().zip(base.domain.dims()) {
        let OutputMap::Affine(affine) = output else { return None };
        let endless = dim.enforced() == Interval::all() && affine.offset().abs() <= EVERYDAY;
        for term in affine.terms() {
            let steps = term.stride.checked_abs()?.checked_mul(affine.terms().len() as i64)?;
            for (reach, limit) in wide[term.dim].iter_mut().zip(limits) {
                *reach = (*reach).min(if endless { limit / steps } else { 0 });
            }
        }
    }
    let widen = |(dim, [near, far]): (&Dim, &[i64; 2])| {
        let near = Interval::closed(-*near, *near).ok()?;
        let first = floor_div(dim.interval.first(), BLOCK).checked_mul(BLOCK)?;
        let block = Interval::closed(first.max(-*far), (first + BLOCK - 1).min(*far));
        let all = match block {
            _ if *far == 0 => dim.interval,
            _ if near.contains_interval(dim.interval) => near,
            block => block.ok()?,
        };
        all.contains_interval(dim.interval).then(|| dim.with_interval(all))
    };
    let dims: Vec<Dim> = map.domain().dims().iter().zip(&wide).map(widen).collect::<Option<_>>()?;
    let wider = |map: &Transform| Transform::new(Domain::new(dims)?, map.outputs().to_vec());
    view.mapped(wider).ok()
}

/// What runs see besides what they compute.
pub(super) struct Scene<'r> {
    pub(super) kernels: &'r Kernels,
    pub(super) spare: &'r Spare,
    pub(super) world: &'r World,
    pub(super) vars: &'r Vars,
    pub(super) control: &'r Control<'r>,
    pub(super) limits: &'r Limits,
    pub(super) ledger: &'r Ledger,
}

impl Scene<'_> {
    /// Computes a request into memory that has room for exactly it; all of it counts as so many parts.
    pub(super) fn compute(
        &self,
        division: &Division,
        memory: Memory<'_>,
        parts: u64,
        told: &Told<'_>,
    ) -> Result<()> {
        let last = division.groups.last().expect("a request has a group");
        let element = division.stages.tensor(last.target).element.bytes() as usize;
        let out = Place::dense(memory, &last.grid.region, element);
        self.compute_into(division, &out, None, &Meter::new(division, parts, told))
    }

    /// Computes a request into a place, and tells of steps that are there.
    pub(super) fn compute_into(
        &self,
        division: &Division,
        out: &Place<'_>,
        stepped: Option<&Stepped<'_>>,
        meter: &Meter<'_>,
    ) -> Result<()> {
        let Scene { spare, world, vars, control, ledger, .. } = self;
        let kernels = compiled(self.kernels, division, control)?;
        let bytes = inputs::loaded_bytes(world, division);
        let loaded = &inputs::load(world, division)?;
        ledger.hold(bytes);
        kernels.values().for_each(|kernel| ledger.vectors(kernel.module.used(0).bits()));
        let threads = self.limits.threads.max(1);
        let (corners, kernels) = (&corners(division), &kernels);
        let work = Work {
            division,
            kernels,
            spare,
            loaded,
            world,
            vars,
            control,
            ledger,
            threads,
            memory: self.limits.memory,
            corners,
            meter,
            stepped,
        };
        let done = schedule::run(&work, out, threads);
        ledger.release(bytes);
        done
    }
}

/// The boxes of inputs that have a format.
fn corners(division: &Division) -> BTreeMap<TensorId, Region> {
    let tensors = division.boxes.keys().map(|id| (*id, division.stages.tensor(*id)));
    let inputs =
        tensors.filter(|(_, tensor)| tensor.format.is_some() && matches!(tensor.kind, TensorKind::Input(_)));
    let region = |domain: &Domain| domain.dims().iter().map(|dim| dim.interval).collect();
    inputs.map(|(id, tensor)| (id, region(&tensor.domain))).collect()
}

/// The code of every stage that a request computes; nothing more is compiled for one that was cancelled.
fn compiled(
    known: &Kernels,
    division: &Division,
    control: &Control<'_>,
) -> Result<BTreeMap<TensorId, Arc<Kernel>>> {
    let mut kernels = BTreeMap::new();
    for group in &division.groups {
        let members = group.members.iter().map(|member| member.tensor);
        for id in members.chain([group.target]) {
            let code =
                matches!(division.stages.tensor(id).kind, TensorKind::Pointwise(_) | TensorKind::Windowed(_));
            if code && !kernels.contains_key(&id) {
                control.check()?;
                kernels.insert(id, known.get(&division.stages, id)?);
            }
        }
    }
    Ok(kernels)
}
