//! The library: scripts compiled once, data bound, slices read as arrays.
//!
//! ```
//! use itp::Engine;
//!
//! let engine = Engine::compile("tensor ramp: f32[y: inf, x: inf] = 10 * y + x")?;
//! let ramp = engine.read::<f32>("ramp[0:2, -1:2]")?;
//! assert_eq!(ramp.shape(), [2, 3]);
//! assert_eq!(ramp.as_slice(), Some(&[-1.0, 0.0, 1.0, 9.0, 10.0, 11.0][..]));
//! # Ok::<(), itp::engine::Error>(())
//! ```
//!
//! - [`Builder`] compiles with parameters and limits; [`Engine::open`] and [`Engine::compile`] are short for it;
//! - [`Engine::bind`], [`Engine::bind_file`], [`Engine::write`] and [`Engine::register`] supply what the script lacks;
//! - [`Engine::read`] and its kin give elements, [`Engine::prepare`] a read that is planned and can be run again,
//!   [`Engine::sketch`] one that is only planned;
//! - [`Shared`] keeps results and machine code from one engine to the next, for scripts that change bit by bit;
//! - an [`Error`] prints as the command line would print it.

mod builder;
#[cfg(feature = "zarr")]
mod chunked;
mod course;
mod data;
#[cfg(feature = "zarr")]
mod disk;
mod element;
mod error;
pub(crate) mod files;
mod growing;
mod host;
mod inputs;
mod known_files;
mod limit;
mod output;
mod prepared;
mod read;
mod shared;
mod streams;
mod tree;
mod write;

pub use builder::Builder;
#[cfg(feature = "zarr")]
pub use disk::{DiskStore, Trouble};
pub use element::{Elem, F16};
pub use error::{Error, Result};
pub use prepared::{Cancel, Prepared, Sketch};
pub use shared::Shared;
pub use streams::Streamed;

use crate::compile::Program;
use crate::diagnostic::{Code, Diagnostic};
use crate::graph::Graph;
use crate::graph::body::TensorId;
use crate::run::Choice;
use crate::run::inputs::InputData;
use crate::run::job::{Backend, Limits, Trace, World};
use crate::run::kept::Kept;
use crate::source::Sources;
use known_files::KnownFiles;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use streams::StreamInput;

/// A compiled script with its data. It can be shared between threads: reading takes `&self`.
pub struct Engine {
    program: Arc<Program>,
    sources: Sources,
    warnings: Vec<Diagnostic>,
    /// What messages call the text of a slice.
    slices: &'static str,
    /// Where relative paths after `from` start.
    folder: PathBuf,
    backend: Arc<dyn Backend>,
    /// What the backend was made with.
    choice: Choice,
    /// The same, if it keeps results.
    kept: Option<Arc<Kept>>,
    /// The folder that results are kept in.
    #[cfg(feature = "zarr")]
    disk: Option<Arc<DiskStore>>,
    limits: Limits,
    /// Data of the host; the files of inputs are read when they are first needed.
    world: World,
    /// Files that take the place of what the script names.
    files: BTreeMap<TensorId, PathBuf>,
    loaded: Mutex<BTreeMap<TensorId, InputData>>,
    /// What earlier engines of a session read.
    known_files: Option<KnownFiles>,
    /// Inputs that arrive while outputs are written.
    streams: BTreeMap<TensorId, Arc<StreamInput>>,
    cancel: Cancel,
    progress: Option<Arc<Progress>>,
    trace: Option<Arc<Trace>>,
    compile_seconds: f64,
}

/// Told how much is done of how much; from any thread.
type Progress = dyn Fn(u64, u64) + Send + Sync;

impl Engine {
    /// Options first: parameters, threads, memory, tiles.
    ///
    /// ```
    /// use itp::Engine;
    ///
    /// let engine = Engine::builder().set("gain", 3).threads(2).compile("param gain = 1  tensor a: i32[x: inf] = gain * x")?;
    /// assert_eq!(engine.read::<i32>("a[1:3]")?.as_slice(), Some(&[3, 6][..]));
    /// # Ok::<(), itp::engine::Error>(())
    /// ```
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Compiles a script from text; it can use the standard library, and no files.
    pub fn compile(text: &str) -> Result<Engine> {
        Engine::builder().compile(text)
    }

    /// Compiles the script in a file; what it names with `use` and `from` is relative to its folder.
    pub fn open(path: impl AsRef<Path>) -> Result<Engine> {
        Engine::builder().open(path)
    }

    /// The checked program: tensors, views, parameters, outputs.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What the compiler remarked about the script, without any error.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// Those that matter to who reads slices: that no output needs a tensor is nothing to someone who asks for it.
    pub fn warnings_for_reads(&self) -> impl Iterator<Item = &Diagnostic> {
        self.warnings.iter().filter(|warning| warning.code != Code::W0001)
    }

    /// The texts that places in diagnostics refer to.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The engine that runs it: `jit` or `interp`.
    pub fn backend_name(&self) -> &'static str {
        self.backend.name()
    }

    /// Calls `progress` with how much is done of how much while a read runs, from any thread.
    pub fn on_progress(&mut self, progress: impl Fn(u64, u64) + Send + Sync + 'static) {
        self.progress = Some(Arc::new(progress));
    }

    /// Records spans of work of all reads from here on.
    pub fn record(&mut self, trace: Arc<Trace>) {
        self.trace = Some(trace);
    }

    /// What cancels the reads of this engine.
    ///
    /// ```
    /// use itp::Engine;
    ///
    /// let engine = Engine::compile("tensor a: i32[x: inf] = x")?;
    /// let cancel = engine.cancel();
    /// cancel.cancel();
    /// assert!(engine.read::<i32>("a[0:8]").is_err_and(|error| error.is_cancelled()));
    /// cancel.reset();
    /// assert!(engine.read::<i32>("a[0:8]").is_ok());
    /// # Ok::<(), itp::engine::Error>(())
    /// ```
    pub fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    /// What went wrong with the folder that results are kept in; no result is wrong for it.
    #[cfg(feature = "zarr")]
    pub fn store_trouble(&self) -> Trouble {
        self.disk.as_ref().map(|disk| disk.trouble()).unwrap_or_default()
    }

    /// Takes note that data of the host is another: results that depend on it are forgotten.
    fn changed(&mut self, depends: impl Fn(&Graph, TensorId) -> bool) {
        self.world.generation += 1;
        if let Some(kept) = &self.kept {
            kept.forget(&|base| depends(&self.program.graph, base));
        }
    }

    fn error(&self, diagnostic: impl Into<Box<Diagnostic>>) -> Error {
        Error::new(*diagnostic.into(), &self.sources)
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tensors: Vec<&str> = self.program.graph.tensors.iter().map(|tensor| &*tensor.name).collect();
        write!(f, "Engine {{ backend: {}, tensors: {tensors:?}, {:?} }}", self.backend.name(), self.world)
    }
}
