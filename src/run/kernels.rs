//! The machine code of stages, compiled when it is first needed and kept.

use crate::diagnostic::{Code, Diagnostic, Result, quoted};
use crate::graph::body::TensorId;
use crate::jit::{self, JitOptions, Module};
use crate::loops::lower::{Lowered, lower};
use crate::plan::stages::Stages;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The code of one stage.
pub struct Kernel {
    /// What its arguments mean.
    pub lowered: Lowered,
    /// The code; the kernel is its only one.
    pub module: Module,
}

/// The code of the stages of a script.
#[derive(Default)]
pub struct Kernels {
    known: Mutex<BTreeMap<TensorId, Arc<Kernel>>>,
}

impl Kernels {
    /// The code of a stage.
    pub fn get(&self, stages: &Stages, id: TensorId) -> Result<Arc<Kernel>> {
        // Stages that a request adds are numbered anew for each.
        if id.index() >= stages.kept {
            return compile(stages, id).map(Arc::new);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = known.get(&id) {
            return Ok(kernel.clone());
        }
        let kernel = Arc::new(compile(stages, id)?);
        known.insert(id, kernel.clone());
        Ok(kernel)
    }
}

fn compile(stages: &Stages, id: TensorId) -> Result<Kernel> {
    let lowered = lower(&stages.graph, id, &stages.accesses[id.index()]);
    let lowered = lowered.expect("only stages with a body are compiled");
    let options = JitOptions::default();
    let module = jit::compile(std::slice::from_ref(&lowered.kernel), &options).map_err(|why| {
        let name = quoted(&stages.tensor(id).name);
        Box::new(Diagnostic::new(Code::E1009, format!("{name} cannot be compiled: {why}")))
    })?;
    Ok(Kernel { lowered, module })
}
