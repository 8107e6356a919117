//! The machine code of stages, compiled when it is first needed and kept.

use crate::access::skip::{Skip, Walks};
use crate::diagnostic::{Code, Diagnostic, Result, quoted};
use crate::graph::body::{BoundVar, NodeId, Op, Table, TensorId};
use crate::graph::resolve_weak::Resolved;
use crate::graph::types::{Element, Ty};
use crate::graph::{Pointwise, TensorKind};
use crate::index::Domain;
use crate::jit::{self, JitOptions, Module, Vectors};
use crate::loops::lower::{Lowered, lower_until};
use crate::loops::passes::Pass;
use crate::loops::work::steps;
use crate::plan::stages::Stages;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The code of one stage.
pub struct Kernel {
    /// What its arguments mean.
    pub lowered: Lowered,
    /// The code; the kernel is its only one.
    pub module: Arc<Module>,
    /// How much of it a call may do.
    pub pace: Pace,
    /// What it need not look at of sources in formats.
    pub skip: Option<Skip>,
    /// The code that goes along stored elements, if there is some.
    pub walking: Option<Box<Kernel>>,
}

/// How many elements of a stage take some milliseconds, as far as is known.
#[derive(Debug)]
pub struct Pace {
    elements: AtomicU64,
    /// Nanoseconds that a thousand elements take with everything that is made for them; 0 as long as nobody knows.
    task: AtomicU64,
}

/// What one call may take, about.
const CALL: Duration = Duration::from_millis(5);
/// Elements of the first call, before anything is known, at the most.
const FIRST_CALL: u64 = 512;
/// Calls that do this many times less than they may are not worth a look at the clock.
const FAR_LESS: u128 = 16;
/// Steps of loops in the first call, about.
const FIRST_STEPS: u64 = 1 << 20;

impl Pace {
    /// For code in which an element takes that many steps of loops.
    fn new(steps: u64) -> Self {
        let elements = AtomicU64::new((FIRST_STEPS / steps.max(1)).clamp(1, FIRST_CALL));
        Pace { elements, task: AtomicU64::new(0) }
    }

    /// Does a task that makes so many elements, and takes note of how long it took, unless it was not finished. Tasks
    /// with little to do among others count less.
    pub fn task<T, E>(
        &self,
        elements: u128,
        task: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let start = Instant::now();
        let done = task()?;
        let each = start.elapsed().as_nanos().saturating_mul(1000) / elements.max(1);
        let before = self.task.load(Ordering::Relaxed);
        self.task.store((each.clamp(1, u64::MAX.into()) as u64).max(before / 2), Ordering::Relaxed);
        Ok(done)
    }

    /// Nanoseconds that tasks take which make so many elements, if one has been done.
    pub fn expected(&self, elements: u128) -> Option<u128> {
        let each = Some(self.task.load(Ordering::Relaxed)).filter(|each| *each > 0)?;
        Some(elements.saturating_mul(each.into()) / 1000)
    }

    /// Elements that one call may compute.
    pub fn elements(&self) -> u64 {
        self.elements.load(Ordering::Relaxed)
    }

    /// Calls, and takes note of how long it took, unless the call does far less than one may.
    pub fn timed<T>(&self, elements: u128, call: impl FnOnce() -> T) -> T {
        if elements.saturating_mul(FAR_LESS) < self.elements().into() {
            return call();
        }
        let start = Instant::now();
        let called = call();
        self.took(elements, start.elapsed());
        called
    }

    fn took(&self, elements: u128, time: Duration) {
        let allowed = elements.saturating_mul(CALL.as_nanos()) / time.as_nanos().max(1);
        self.elements.store(allowed.clamp(1, 1 << 40) as u64, Ordering::Relaxed);
    }
}

/// Machine code by the text of its kernel. Engines for almost the same script may share it, so that only what changed
/// is compiled again.
#[derive(Default)]
pub struct Codes {
    known: Mutex<BTreeMap<String, Arc<Module>>>,
}

/// Kernels whose code is kept; a session that makes more starts anew.
const MOST_CODES: usize = 1024;

impl Codes {
    /// How many kernels have code here.
    pub fn count(&self) -> usize {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The code with that text, or else what `compile` makes.
    fn get(
        &self,
        text: String,
        compile: impl FnOnce() -> std::result::Result<Module, String>,
    ) -> std::result::Result<Arc<Module>, String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = known.get(&text) {
            return Ok(module.clone());
        }
        if known.len() >= MOST_CODES {
            known.clear();
        }
        let module = Arc::new(compile()?);
        known.insert(text, module.clone());
        Ok(module)
    }
}

/// The code of the stages of a script.
pub struct Kernels {
    vectors: Vectors,
    /// Where code is that other engines may have made; none if this one is on its own.
    codes: Option<Arc<Codes>>,
    known: Mutex<BTreeMap<TensorId, Arc<Kernel>>>,
    /// Code of stages that requests added, the one used longest ago first.
    added: Mutex<Vec<(Recipe, Arc<Slot>)>>,
}

/// Code, once somebody has made it; others that want the same wait here, and nobody else does.
type Slot = OnceLock<Result<Arc<Kernel>>>;

/// Kernels of added stages that are kept: the levels of some layers that someone zooms through, a few stages each.
const MOST_ADDED: usize = 128;

/// All that the code of an added stage is made from, besides the stages of the script.
#[derive(PartialEq, Eq)]
struct Recipe {
    domain: Domain,
    element: Element,
    root: NodeId,
    nodes: Vec<(Op, Ty)>,
    tables: Vec<Arc<Table>>,
    binders: Vec<BoundVar>,
    /// What others that were added are, as far as the code of a reader depends on it.
    sources: BTreeMap<TensorId, (Domain, Element)>,
}

/// What an added stage is made from; none if it is no plain body.
fn recipe(stages: &Stages, id: TensorId) -> Option<Recipe> {
    let tensor = stages.tensor(id);
    let TensorKind::Pointwise(Pointwise { body, recurrence: None }) = &tensor.kind else { return None };
    let Resolved { body, root } = body;
    let added = |op: &Op| match op {
        Op::Read { tensor, .. } if tensor.index() >= stages.kept => Some(*tensor),
        _ => None,
    };
    let sources = body.nodes().filter_map(|(_, node)| added(&node.op)).map(|id| {
        let source = stages.tensor(id);
        (id, (source.domain.clone(), source.element))
    });
    Some(Recipe {
        domain: tensor.domain.clone(),
        element: tensor.element,
        root: *root,
        nodes: body.nodes().map(|(_, node)| (node.op.clone(), node.ty)).collect(),
        tables: body.tables.clone(),
        binders: body.binders.clone(),
        sources: sources.collect(),
    })
}

impl Kernels {
    /// None yet; their vectors will be at most that wide.
    pub fn new(vectors: Vectors, codes: Option<Arc<Codes>>) -> Kernels {
        Kernels { vectors, codes, known: Mutex::default(), added: Mutex::default() }
    }

    /// None yet, for other stages of the same script.
    pub fn again(&self) -> Kernels {
        Kernels::new(self.vectors, self.codes.clone())
    }

    /// How wide vectors may be.
    pub fn vectors(&self) -> Vectors {
        self.vectors
    }

    /// The code of a stage.
    pub fn get(&self, stages: &Stages, id: TensorId) -> Result<Arc<Kernel>> {
        if id.index() >= stages.kept {
            return self.get_added(stages, id);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = known.get(&id) {
            return Ok(kernel.clone());
        }
        let kernel = Arc::new(self.compile(stages, id)?);
        known.insert(id, kernel.clone());
        Ok(kernel)
    }

    /// The code of a stage that a request added. They are numbered anew for each request, so what they do is compared.
    fn get_added(&self, stages: &Stages, id: TensorId) -> Result<Arc<Kernel>> {
        let Some(recipe) = recipe(stages, id) else {
            return self.compile(stages, id).map(Arc::new);
        };
        self.slot(recipe).get_or_init(|| self.compile(stages, id).map(Arc::new)).clone()
    }

    /// Where the code of an added stage is or will be; it is now the one that was used last.
    fn slot(&self, recipe: Recipe) -> Arc<Slot> {
        let mut added = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        let known = added.iter().position(|(known, _)| *known == recipe);
        let entry = known.map_or_else(|| (recipe, Arc::default()), |at| added.remove(at));
        let slot = entry.1.clone();
        added.push(entry);
        if added.len() > MOST_ADDED {
            added.remove(0);
        }
        slot
    }

    fn compile(&self, stages: &Stages, id: TensorId) -> Result<Kernel> {
        let skip = stages.skip(id);
        let walks = skip.as_ref().and_then(Skip::walks);
        let walking = walks.map(|walks| self.compile_one(stages, id, Some(walks))).transpose()?;
        let dense = self.compile_one(stages, id, None)?;
        Ok(Kernel { walking: walking.map(Box::new), skip, ..dense })
    }

    fn compile_one(&self, stages: &Stages, id: TensorId, walks: Option<&Walks>) -> Result<Kernel> {
        let lowered = lower_until(&stages.graph, id, &stages.accesses[id.index()], walks, Pass::Sweep);
        let lowered = lowered.expect("only stages with a body are compiled");
        let options = JitOptions { vectors: self.vectors, shows: false, ..JitOptions::default() };
        let compile = || jit::compile(std::slice::from_ref(&lowered.kernel), &options);
        let module = match &self.codes {
            Some(codes) => codes.get(format!("{:?} {}", self.vectors, lowered.kernel), compile),
            None => compile().map(Arc::new),
        };
        let module = module.map_err(|why| {
            let name = quoted(&stages.tensor(id).name);
            Box::new(Diagnostic::new(Code::E1009, format!("{name} cannot be compiled: {why}")))
        })?;
        let pace = Pace::new(steps(&lowered.kernel));
        Ok(Kernel { lowered, module, pace, skip: None, walking: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_may_compute_what_takes_five_milliseconds() {
        let pace = Pace::new(1);
        assert_eq!((pace.elements(), Pace::new(1 << 30).elements()), (512, 1));
        for (elements, micros, expect) in [(1000, 1000, 5000), (1, 1_000_000, 1), (1 << 50, 0, 1 << 40)] {
            pace.took(elements, Duration::from_micros(micros));
            assert_eq!(pace.elements(), expect);
        }
        pace.took(1000, Duration::from_micros(1000));
        pace.timed(1, || {});
        assert_eq!(pace.elements(), 5000, "a call of one element says nothing");
        assert_eq!(pace.expected(1), None, "no task has been done");
        assert_eq!(pace.task(1000, || Err::<(), i32>(7)), Err(7));
        assert_eq!(pace.expected(1), None, "one that fails says nothing");
        let sleep = || {
            std::thread::sleep(Duration::from_millis(1));
            Ok::<(), i32>(())
        };
        assert_eq!(pace.task(1000, sleep), Ok(()));
        assert!(pace.expected(2000).is_some_and(|nanoseconds| nanoseconds >= 2_000_000));
        assert_eq!(pace.task(1000, || Ok::<(), i32>(())), Ok(()));
        assert!(pace.expected(2000).is_some_and(|nanoseconds| nanoseconds >= 1_000_000));
    }

    #[test]
    fn nobody_waits_for_the_code_of_other_stages() {
        let kernels = Kernels::new(Vectors::V128, None);
        let slot = |element| {
            kernels.slot(Recipe {
                domain: Domain::new(Vec::new()).unwrap(),
                element,
                root: NodeId(0),
                nodes: Vec::new(),
                tables: Vec::new(),
                binders: Vec::new(),
                sources: BTreeMap::new(),
            })
        };
        let fails = |why: &str| Err(Box::new(Diagnostic::new(Code::E1009, why)));
        let why = |slot: &Slot| slot.get().and_then(|made| Some(made.as_ref().err()?.message.clone()));
        let first = slot(Element::F32);
        // Someone else finds code while this is being made, and makes some.
        _ = first.get_or_init(|| {
            _ = slot(Element::F64).get_or_init(|| fails("second"));
            assert!(Arc::ptr_eq(&first, &slot(Element::F32)), "who wants the same waits for it");
            fails("first")
        });
        assert_eq!(why(&slot(Element::F32)).as_deref(), Some("first"));
        assert_eq!(why(&slot(Element::F64)).as_deref(), Some("second"));
    }
}
