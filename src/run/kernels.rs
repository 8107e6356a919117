//! The machine code of stages, compiled when it is first needed and kept.

use crate::diagnostic::{Code, Diagnostic, Result, quoted};
use crate::graph::body::TensorId;
use crate::jit::{self, JitOptions, Module, Vectors};
use crate::loops::lower::{Lowered, lower};
use crate::loops::work::steps;
use crate::plan::stages::Stages;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The code of one stage.
pub struct Kernel {
    /// What its arguments mean.
    pub lowered: Lowered,
    /// The code; the kernel is its only one.
    pub module: Arc<Module>,
    /// How much of it a call may do.
    pub pace: Pace,
}

/// How many elements of a stage take some milliseconds, as far as is known.
#[derive(Debug)]
pub struct Pace {
    elements: AtomicU64,
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
        Pace { elements: AtomicU64::new((FIRST_STEPS / steps.max(1)).clamp(1, FIRST_CALL)) }
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
}

impl Kernels {
    /// None yet; their vectors will be at most that wide.
    pub fn new(vectors: Vectors, codes: Option<Arc<Codes>>) -> Kernels {
        Kernels { vectors, codes, known: Mutex::default() }
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
        // Stages that a request adds are numbered anew for each.
        if id.index() >= stages.kept {
            return self.compile(stages, id).map(Arc::new);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = known.get(&id) {
            return Ok(kernel.clone());
        }
        let kernel = Arc::new(self.compile(stages, id)?);
        known.insert(id, kernel.clone());
        Ok(kernel)
    }

    fn compile(&self, stages: &Stages, id: TensorId) -> Result<Kernel> {
        let lowered = lower(&stages.graph, id, &stages.accesses[id.index()]);
        let lowered = lowered.expect("only stages with a body are compiled");
        let options = JitOptions { vectors: self.vectors, ..JitOptions::default() };
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
        Ok(Kernel { lowered, module, pace })
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
    }
}
