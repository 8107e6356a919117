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
use super::limit::{memory_limit, too_large, with_fewer_threads};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, quoted};
use crate::graph::types::Element;
use crate::graph::view::View;
use crate::graph::{self};
use crate::index::Domain;
use crate::plan::timeline::Timeline;
use crate::run::job::{Control, Job, Planned, Sink, World, stays_inside};
use crate::run::stats::{Plan, Stats};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A read that is planned.
pub struct Prepared<'e> {
    pub(super) engine: &'e Engine,
    pub(super) view: Arc<View>,
    planned: Box<dyn Planned>,
    pub(super) cancel: Cancel,
    seconds: f64,
}

/// Stops reads from another thread; clones are one.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    flag: Arc<AtomicBool>,
}

impl Cancel {
    /// Makes running and later reads end with [`Code::E1006`](crate::diagnostic::Code::E1006).
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
        let view =
            deep(|| graph::slice(&self.program.graph, &mut sources, (self.slices, slice), &mut diagnostics));
        view.ok_or_else(|| Error::several(diagnostics, sources))
    }

    /// The view that a slice means, although it may have no end, so that it cannot be read.
    pub fn endless_view(&self, slice: &str) -> Result<Arc<View>> {
        let (mut sources, mut diagnostics) = (self.sources.clone(), Diagnostics::default());
        let view =
            deep(|| graph::viewed(&self.program.graph, &mut sources, (self.slices, slice), &mut diagnostics));
        view.map(|(view, _)| view).ok_or_else(|| Error::several(diagnostics, sources))
    }

    /// Plans the read of a slice; no element is computed.
    pub fn prepare(&self, slice: &str) -> Result<Prepared<'_>> {
        self.prepare_view(self.view(slice)?)
    }

    /// Plans the read of a bounded view, such as that of an output.
    pub fn prepare_view(&self, view: Arc<View>) -> Result<Prepared<'_>> {
        let start = Instant::now();
        self.ends(&view)?;
        let planned = self.planned(&view, self.world_for(view.base)?)?;
        let (cancel, seconds) = (self.cancel.clone(), start.elapsed().as_secs_f64());
        Ok(Prepared { engine: self, view, planned, cancel, seconds })
    }

    /// Plans the read of a slice that is not going to run: inputs need no data, host functions need not be there.
    ///
    /// ```
    /// use itp::Engine;
    ///
    /// let engine = Engine::compile("input a: u8[x: 9]  tensor b: u8[x: 9] = a[x] + 1")?;
    /// assert_eq!(engine.sketch("b[0:4]")?.plan().tiles, 1);
    /// assert!(engine.prepare("b[0:4]").is_err());
    /// # Ok::<(), itp::engine::Error>(())
    /// ```
    pub fn sketch(&self, slice: &str) -> Result<Sketch> {
        self.sketch_view(self.view(slice)?)
    }

    /// Plans the read of a bounded view that is not going to run.
    pub fn sketch_view(&self, view: Arc<View>) -> Result<Sketch> {
        self.ends(&view)?;
        let planned = self.planned(&view, Arc::default())?;
        Ok(Sketch { view, planned })
    }

    /// An error for an output that goes on as long as a stream does: that is not one read.
    fn ends(&self, view: &View) -> Result<()> {
        if view.domain().shape().is_some() {
            return Ok(());
        }
        let message = format!("{} goes on until a stream ends, and is no single read", quoted(&view.name));
        Err(self.error(Diagnostic::new(Code::E0802, message).help("read a slice with both ends: `--read`")))
    }

    /// Plans a read that is not going to run, with the data there is, whatever it takes.
    pub(super) fn plan_view(&self, view: Arc<View>) -> Result<Box<dyn Planned>> {
        let job = Job { world: self.world_for(view.base)?, view, limits: self.limits.clone() };
        self.backend.plan(job).map_err(|diagnostic| self.error(diagnostic))
    }

    fn planned(&self, view: &Arc<View>, world: Arc<World>) -> Result<Box<dyn Planned>> {
        stays_inside(&self.program, view).map_err(|diagnostic| self.error(diagnostic))?;
        let job = Job { view: view.clone(), world, limits: self.limits.clone() };
        let planned = self.backend.plan(job.clone()).map_err(|diagnostic| self.error(diagnostic))?;
        let peak = planned.plan().bytes_peak;
        match memory_limit(&self.limits, peak) {
            Some(limit) if peak > limit => {
                let fewer = with_fewer_threads(&*self.backend, &job, limit);
                fewer.ok_or_else(|| self.error(too_large(&*self.backend, &job, peak, limit)))
            }
            Some(_) | None => Ok(planned),
        }
    }
}

/// A read that is planned, and cannot be run.
pub struct Sketch {
    view: Arc<View>,
    planned: Box<dyn Planned>,
}

impl Sketch {
    /// What is known about the run.
    pub fn plan(&self) -> &Plan {
        self.planned.plan()
    }

    /// The same as text: groups, order, who reads what last, the peak.
    pub fn text(&self) -> String {
        self.planned.text()
    }

    /// When tiles would be made and freed, from the first task on.
    pub fn timeline(&self) -> Option<Timeline> {
        self.planned.timeline()
    }

    /// What would be read.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }
}

impl Prepared<'_> {
    /// The same read, stopped by `cancel` alone and not with all others of its engine.
    ///
    /// ```
    /// use itp::Engine;
    /// use itp::engine::Cancel;
    ///
    /// let engine = Engine::compile("tensor a: i32[x: inf] = x")?;
    /// let (cancel, wanted) = (Cancel::default(), engine.prepare("a[0:8]")?);
    /// cancel.cancel();
    /// assert!(engine.prepare("a[0:8]")?.stopped_by(&cancel).read_array().is_err_and(|error| error.is_cancelled()));
    /// assert!(wanted.read_array().is_ok());
    /// # Ok::<(), itp::engine::Error>(())
    /// ```
    #[must_use]
    pub fn stopped_by(mut self, cancel: &Cancel) -> Self {
        self.cancel = cancel.clone();
        self
    }

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
            cancel: self.cancel.flag(),
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
