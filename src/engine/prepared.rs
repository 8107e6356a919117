//! A slice -> a read that is planned; it can be run any number of times.
//!
//! ```
//! use itp::Engine;
//!
//! let engine = Engine::compile("tensor a: u8[x: inf] = x")?;
//! let prepared = engine.prepare("a[0:4]")?;
//! assert_eq!(prepared.shape(), [4]);
//! assert_eq!(prepared.plan().recompute_factor, 1.0);
//! # Ok::<(), itp::engine::Error>(())
//! ```

use super::Engine;
use super::builder::deep;
use super::error::{Error, Result};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, quoted};
use crate::graph::types::Element;
use crate::graph::view::View;
use crate::graph::{self};
use crate::index::Domain;
use crate::run::job::{Control, Job, Planned, Sink};
use crate::run::stats::{Plan, Stats};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A read that is planned.
pub struct Prepared<'e> {
    pub(super) engine: &'e Engine,
    pub(super) view: Arc<View>,
    planned: Box<dyn Planned>,
    seconds: f64,
}

/// Stops reads from another thread; clones are one.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
}

impl Cancel {
    /// Makes running and later reads end with [`Code::E1006`].
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Lets later reads run again.
    pub fn reset(&self) {
        self.flag.store(false, Ordering::Relaxed);
    }

    /// Whether reads end at once.
    pub fn is_cancelled(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// The flag itself, for signal handlers.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.flag.clone()
    }
}

impl Engine {
    /// The view that a slice such as `smooth[y=0:512, -100:412:2]` means; it is bounded.
    pub fn view(&self, slice: &str) -> Result<Arc<View>> {
        let (mut sources, mut diagnostics) = (self.sources.clone(), Diagnostics::default());
        let view = deep(|| graph::slice(&self.program.graph, &mut sources, slice, &mut diagnostics));
        view.ok_or_else(|| Error::several(diagnostics, sources))
    }

    /// Plans the read of a slice; no element is computed.
    pub fn prepare(&self, slice: &str) -> Result<Prepared<'_>> {
        self.prepare_view(self.view(slice)?)
    }

    /// Plans the read of a bounded view, such as that of an output.
    pub fn prepare_view(&self, view: Arc<View>) -> Result<Prepared<'_>> {
        let start = Instant::now();
        let world = self.world_for(view.base)?;
        let job = Job { view: view.clone(), world, limits: self.limits.clone() };
        let planned = self.backend.plan(job).map_err(|diagnostic| self.error(diagnostic))?;
        self.within_memory(&view, planned.plan())?;
        Ok(Prepared { engine: self, view, planned, seconds: start.elapsed().as_secs_f64() })
    }

    fn within_memory(&self, view: &View, plan: &Plan) -> Result<()> {
        let (peak, Some(limit)) = (plan.bytes_peak, self.limits.memory) else { return Ok(()) };
        if peak <= limit {
            return Ok(());
        }
        let name = quoted(&view.name);
        let message = format!("{name} needs {peak} bytes at its peak, but the limit is {limit}");
        let diagnostic = Diagnostic::new(Code::E1005, message);
        Err(self.error(diagnostic.help("use smaller tiles or fewer threads, read less, or raise `--memory`")))
    }
}

impl Prepared<'_> {
    /// What is known about the run.
    pub fn plan(&self) -> &Plan {
        self.planned.plan()
    }

    /// What is read.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// Type of the elements.
    pub fn element(&self) -> Element {
        self.view.element
    }

    /// Where the elements are.
    pub fn domain(&self) -> &Domain {
        self.view.domain()
    }

    /// Size of each dimension.
    pub fn shape(&self) -> Vec<i64> {
        self.domain().shape().expect("views that are read are bounded")
    }

    /// Computes the elements and hands them to `sink`, row-major.
    pub fn run(&self, sink: &mut dyn Sink) -> Result<Stats> {
        let start = Instant::now();
        let silent = |_: u64, _: u64| {};
        let engine = self.engine;
        let control = Control {
            cancel: engine.cancel.flag(),
            progress: engine.progress.as_deref().map_or(&silent, |progress| progress),
            trace: engine.trace.as_deref(),
        };
        let stats = control.check().and_then(|()| self.planned.run(sink, &control));
        let mut stats = stats.map_err(|diagnostic| engine.error(diagnostic))?;
        stats.seconds.compile = engine.compile_seconds;
        stats.seconds.plan = self.seconds;
        stats.seconds.run = start.elapsed().as_secs_f64();
        stats.seconds.total = stats.seconds.compile + stats.seconds.plan + stats.seconds.run;
        Ok(stats)
    }
}
