//! Options and a script -> an [`Engine`].

#[cfg(feature = "zarr")]
use super::disk::DiskStore;
use super::error::{Error, Result};
use super::files::{Folder, read_script, shown};
use super::inputs::files_of;
use super::{Cancel, Engine, Shared};
use crate::compile::{self, Options, Program};
use crate::diagnostic::Diagnostics;
use crate::graph::modules::{Loader, NoFiles};
use crate::plan::stop::Stop;
use crate::run::job::{Backend, Limits, World};
use crate::run::kept::{Kept, Owner};
use crate::run::{self, Choice, Kind};
use crate::source::{SourceId, Sources};
use crate::tiles::TileStore;
use crate::tiles::memory::MemoryStore;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// What a script is compiled and run with.
///
/// ```
/// use itp::Engine;
///
/// let built = Engine::builder().threads(1).memory(1 << 20).tile([64, 64]).compile("tensor a: u8[x: inf] = 7");
/// assert_eq!(built?.read::<u8>("a[0:2]")?.as_slice(), Some(&[7, 7][..]));
/// # Ok::<(), itp::engine::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Builder {
    settings: Vec<(String, String)>,
    folder: Option<PathBuf>,
    kind: Option<Kind>,
    threads: Option<usize>,
    memory: Option<u64>,
    tile: Option<Vec<i64>>,
    store: Option<u64>,
    #[cfg(feature = "zarr")]
    store_folder: Option<PathBuf>,
    vector_bits: Option<u32>,
    shared: Option<Shared>,
    slices: Option<&'static str>,
    settings_word: Option<&'static str>,
}

/// Bytes of results that are kept between reads, unless the builder says otherwise.
const STORE: u64 = 256 << 20;

impl Builder {
    /// Gives a parameter another value, a literal of its kind.
    pub fn set(mut self, name: &str, value: impl ToString) -> Builder {
        self.settings.push((name.to_owned(), value.to_string()));
        self
    }

    /// Uses that many threads, at least one, instead of all cores.
    pub fn threads(mut self, threads: usize) -> Builder {
        self.threads = Some(threads.max(1));
        self
    }

    /// Refuses reads that need more bytes than this at their peak, before they start.
    pub fn memory(mut self, bytes: u64) -> Builder {
        self.memory = Some(bytes);
        self
    }

    /// Uses tiles of this shape over the last dimensions; no result changes. Sizes below 1 count as 1. Of a recurrence the
    /// size along its steps is how many of them go over the elements at once, in blocks of the other sizes.
    pub fn tile(mut self, sizes: impl IntoIterator<Item = i64>) -> Builder {
        self.tile = Some(sizes.into_iter().map(|size| size.max(1)).collect());
        self
    }

    /// Says where the texts of slices come from, for messages about them: `--read`, instead of `<slice>`.
    pub fn slices_from(mut self, place: &'static str) -> Builder {
        self.slices = Some(place);
        self
    }

    /// Says what values of parameters are given with, for messages about them: `:set`, instead of `--set`.
    pub fn settings_from(mut self, word: &'static str) -> Builder {
        self.settings_word = Some(word);
        self
    }

    /// Keeps up to this many bytes of results between reads, instead of 256 MiB; 0 keeps nothing.
    ///
    /// ```
    /// use itp::Engine;
    ///
    /// let engine = Engine::builder().store(1 << 20).compile("tensor a: u8[x: inf] = x")?;
    /// let mut buffer = [0; 6];
    /// assert_eq!(engine.read_into::<u8>("a[0:6]", &mut buffer)?.store.reused, 0);
    /// assert_eq!(engine.read_into::<u8>("a[2:8]", &mut buffer)?.store.reused, 4);
    /// # Ok::<(), itp::engine::Error>(())
    /// ```
    pub fn store(mut self, bytes: u64) -> Builder {
        self.store = Some(bytes);
        self
    }

    /// Keeps results in this folder, where engines of other processes find them; [`Builder::store`] is not looked at then.
    ///
    /// ```no_run
    /// use itp::Engine;
    ///
    /// let engine = Engine::builder().store_folder("tiles").open("hills.itp")?;
    /// engine.read::<f32>("height[0:512, 0:512]")?;      // the next process computes nothing here
    /// # Ok::<(), itp::engine::Error>(())
    /// ```
    #[cfg(feature = "zarr")]
    pub fn store_folder(mut self, path: impl Into<PathBuf>) -> Builder {
        self.store_folder = Some(path.into());
        self
    }

    /// Takes results and machine code that other engines left in `shared`, as far as they are still right, and leaves
    /// its own there. [`Builder::store`] is not looked at then.
    ///
    /// ```
    /// use itp::Engine;
    /// use itp::engine::Shared;
    ///
    /// let shared = Shared::new(1 << 20);
    /// let script = |gain: u8| format!("tensor a: u8[x: inf] = x  tensor b: u8[x: inf] = {gain} * a[x]");
    /// let mut buffer = [0; 6];
    /// let first = Engine::builder().share(&shared).compile(&script(2))?;
    /// first.read_into::<u8>("a[0:6]", &mut buffer)?;
    /// first.read_into::<u8>("b[0:6]", &mut buffer)?;
    /// let second = Engine::builder().share(&shared).compile(&script(3))?;
    /// assert_eq!(second.read_into::<u8>("a[0:6]", &mut buffer)?.store.reused, 6);
    /// assert_eq!(second.read_into::<u8>("b[0:6]", &mut buffer)?.store.reused, 0);
    /// # Ok::<(), itp::engine::Error>(())
    /// ```
    pub fn share(mut self, shared: &Shared) -> Builder {
        self.shared = Some(shared.clone());
        self
    }

    /// Uses vectors of at most this many bits (128, 256, 512), instead of the widest there are; no result changes.
    pub fn vector_bits(mut self, bits: u32) -> Builder {
        self.vector_bits = Some(bits);
        self
    }

    /// Chooses what runs the loops, instead of the fastest there is; no result changes.
    pub fn kind(mut self, kind: Kind) -> Builder {
        self.kind = Some(kind);
        self
    }

    /// Looks for files that a script compiled from text names in this folder.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Builder {
        self.folder = Some(folder.into());
        self
    }

    /// Compiles a script from text.
    pub fn compile(self, text: &str) -> Result<Engine> {
        let mut sources = Sources::default();
        let root = sources.add("script.itp", text);
        let folder = self.folder.clone();
        match folder {
            Some(path) => self.compile_with(sources, root, &Folder { path: path.clone() }, path),
            None => self.compile_with(sources, root, &NoFiles, PathBuf::from(".")),
        }
    }

    /// Compiles the script in a file.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Engine> {
        let path = path.as_ref();
        let mut sources = Sources::default();
        let text = read_script(path).map_err(|diagnostic| Error::new(*diagnostic, &sources))?;
        let root = sources.add(shown(path), text);
        let folder = Folder::of(path);
        self.compile_with(sources, root, &folder, folder.path.clone())
    }

    /// Compiles a script whose text is among `sources`; `loader` finds what it uses, and inputs are in `folder`.
    pub fn compile_with(
        self,
        mut sources: Sources,
        root: SourceId,
        loader: &(dyn Loader + Sync),
        folder: PathBuf,
    ) -> Result<Engine> {
        let start = Instant::now();
        let mut diagnostics = Diagnostics::default();
        let options = Options { settings: &self.settings, set: self.settings_word.unwrap_or("--set") };
        let program = deep(|| compile::compile(&mut sources, root, loader, &options, &mut diagnostics));
        match program {
            Some(program) => self.engine(program, sources, diagnostics, folder, start),
            None => Err(Error::several(diagnostics, sources)),
        }
    }

    fn engine(
        self,
        program: Program,
        sources: Sources,
        warnings: Diagnostics,
        folder: PathBuf,
        start: Instant,
    ) -> Result<Engine> {
        let program = Arc::new(program);
        let codes = self.shared.as_ref().map(|shared| shared.codes.clone());
        let choice = Choice { kind: self.kind, vector_bits: self.vector_bits, codes };
        let backend = run::backend(choice.clone(), program.clone())
            .map_err(|diagnostic| Error::new(*diagnostic, &sources))?;
        let threads = self.threads.unwrap_or_else(cores);
        #[cfg(feature = "zarr")]
        let (kept, disk) = self.stores(&sources)?;
        #[cfg(not(feature = "zarr"))]
        let kept = self.stores(&sources)?;
        let kept =
            kept.map(|(store, owner)| Arc::new(Kept::new(backend.clone(), program.clone(), store, owner)));
        let backend = kept.clone().map_or(backend, |kept| kept as Arc<dyn Backend>);
        let cancel = self.shared.as_ref().map_or_else(Cancel::default, |shared| shared.cancel.clone());
        let known_files = self.shared.as_ref().map(|shared| shared.known_files.clone());
        if let Some(known) = &known_files {
            let named: BTreeSet<PathBuf> = files_of(&program.graph, &folder).map(|(_, path)| path).collect();
            known.retain(|path| named.contains(path));
        }
        Ok(Engine {
            program,
            sources,
            warnings: warnings.into_sorted(),
            slices: self.slices.unwrap_or("<slice>"),
            folder,
            backend,
            choice,
            kept,
            limits: Limits { threads, memory: self.memory, tile: self.tile, stop: Stop::new(cancel.flag()) },
            world: World::default(),
            files: BTreeMap::new(),
            loaded: Mutex::default(),
            known_files,
            streams: BTreeMap::new(),
            #[cfg(feature = "zarr")]
            disk,
            cancel,
            progress: None,
            trace: None,
            compile_seconds: start.elapsed().as_secs_f64(),
        })
    }
}

/// Where results are kept, and who else uses it.
type Keeping = Option<(Arc<dyn TileStore>, Owner)>;

impl Builder {
    /// Where results are kept, and the part of it that is on the disk.
    #[cfg(feature = "zarr")]
    fn stores(&self, sources: &Sources) -> Result<(Keeping, Option<Arc<DiskStore>>)> {
        let Some(path) = &self.store_folder else { return Ok((self.in_memory(), None)) };
        let opened = DiskStore::open(path).map_err(super::output::unwritten);
        let disk = Arc::new(opened.map_err(|diagnostic| Error::new(*diagnostic, sources))?);
        // What depends on the host never reaches the disk, so that a number which tells engines apart is not needed.
        Ok((Some((disk.clone(), Owner::Among(0))), Some(disk)))
    }

    #[cfg(not(feature = "zarr"))]
    fn stores(&self, _: &Sources) -> Result<Keeping> {
        Ok(self.in_memory())
    }

    fn in_memory(&self) -> Keeping {
        if let Some(shared) = &self.shared {
            return Some((shared.store.clone(), Owner::Among(shared.next())));
        }
        let limit = self.store.unwrap_or(STORE);
        (limit > 0).then(|| (Arc::new(MemoryStore::new(limit)) as Arc<dyn TileStore>, Owner::Alone))
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get())
}

/// Address space for the recursion that the limits of the language allow; pages are used when they are touched.
const STACK_BYTES: usize = 256 << 20;

/// Runs `job` on a thread with a big stack, or right here when there are no more threads.
pub(super) fn deep<T: Send>(job: impl FnOnce() -> T + Send) -> T {
    let slot = Mutex::new(Some(job));
    let take = || slot.lock().ok().and_then(|mut slot| slot.take()).expect("the job is taken once");
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("itp".to_owned()).stack_size(STACK_BYTES);
        match builder.spawn_scoped(scope, || take()()) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => take()(),
        }
    })
}
