//! What engines for almost the same script share: results, machine code, and the switch that cancels their reads.
//!
//! ```text
//! tensor a … tensor b …   read both   b is defined anew   ->   another engine: a is there, b is compiled and computed
//! ```
//!
//! Results are known by the whole definition of their tensor ([`crate::graph::definition`]), code by the text of its
//! kernel, so neither is ever taken for something else.

use super::inputs::files_of;
use super::known_files::KnownFiles;
use super::{Cancel, Engine};
use crate::graph::body::TensorId;
use crate::run::Codes;
use crate::run::job::World;
use crate::run::kept::Series;
use crate::tiles::TileStore;
use crate::tiles::memory::MemoryStore;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

/// Results and code that outlive an engine; clones are one.
#[derive(Clone)]
pub struct Shared {
    pub(super) store: Arc<dyn TileStore>,
    pub(super) codes: Arc<Codes>,
    pub(super) cancel: Cancel,
    pub(super) known_files: KnownFiles,
    /// Engines so far.
    engines: Arc<AtomicU64>,
}

impl Shared {
    /// Nothing yet, and room for that many bytes of results.
    pub fn new(bytes: u64) -> Shared {
        Shared {
            store: Arc::new(MemoryStore::new(bytes)),
            codes: Arc::default(),
            cancel: Cancel::default(),
            known_files: KnownFiles::default(),
            engines: Arc::default(),
        }
    }

    /// What cancels the reads of all engines that share this.
    pub fn cancel(&self) -> Cancel {
        self.cancel.clone()
    }

    /// How many kernels have machine code.
    pub fn kernels(&self) -> usize {
        self.codes.count()
    }

    /// The same without room for results, for what nobody asks for twice.
    pub fn keeping_nothing(&self) -> Shared {
        Shared { store: Arc::new(MemoryStore::new(0)), ..self.clone() }
    }

    /// The number of one more engine.
    pub(super) fn next(&self) -> u64 {
        self.engines.fetch_add(1, Ordering::Relaxed)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Shared {{ {} of {} bytes, {} kernels }}",
            self.store.bytes(),
            self.store.limit(),
            self.kernels()
        )
    }
}

impl Engine {
    /// The results that are kept, by tensor or view; those that nobody here knows were left by other engines.
    pub fn kept(&self) -> Vec<Series> {
        self.kept.as_ref().map(|kept| kept.series(&self.world_so_far())).unwrap_or_default()
    }

    /// Takes over the results that an engine with the same `share` kept, if its script is this one but for `set` items
    /// that this one has more, the last of all; those that such an item reaches stay behind.
    ///
    /// ```
    /// use itp::Engine;
    /// use itp::engine::Shared;
    ///
    /// let shared = Shared::new(1 << 20);
    /// let script = "var v: u8[x: inf] = 0  tensor a: u8[x: inf] = v[x]";
    /// let mut buffer = [0; 2];
    /// let before = Engine::builder().share(&shared).compile(script)?;
    /// before.read_into::<u8>("a[-2:0]", &mut buffer)?;
    /// let engine = Engine::builder().share(&shared).compile(&format!("{script}  set v[5:7] = 1"))?;
    /// engine.inherit(&before);
    /// assert_eq!(engine.read_into::<u8>("a[-2:0]", &mut buffer)?.store.reused, 2);
    /// # Ok::<(), itp::engine::Error>(())
    /// ```
    pub fn inherit(&self, before: &Engine) {
        let (graph, old) = (&self.program.graph, &before.program.graph);
        let same = graph.tensors.len() == old.tensors.len()
            && graph.tensors.iter().zip(&old.tensors).all(|(new, old)| new.name == old.name);
        if let (true, Some(kept), Some(kept_before)) = (same, &self.kept, &before.kept) {
            kept.inherit(&self.world_so_far(), (kept_before, &before.world_so_far()));
        }
    }

    /// Forgets the results that are kept of a tensor and of views of it.
    pub fn free(&self, tensor: TensorId) {
        if let Some(kept) = &self.kept {
            kept.free(tensor, &self.world_so_far());
        }
    }

    /// The world with the files that were read by now, be it by an earlier engine.
    fn world_so_far(&self) -> World {
        let mut world = self.world.clone();
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.iter().for_each(|(id, data)| _ = world.inputs.entry(*id).or_insert_with(|| data.clone()));
        let graph = &self.program.graph;
        for (id, path) in files_of(graph, &self.folder).filter(|(id, _)| !self.files.contains_key(id)) {
            let known = self.known_files.as_ref().filter(|_| !world.inputs.contains_key(&id));
            if let Some(data) = known.and_then(|known| known.get(graph.tensor(id), &path)) {
                world.inputs.insert(id, data);
            }
        }
        world
    }
}

#[cfg(all(test, feature = "jit"))]
mod tests {
    use super::*;

    fn read(shared: &Shared, script: &str, slice: &str) -> u64 {
        let engine = Engine::builder().share(shared).compile(script).expect("compiles");
        engine.read_into::<f32>(slice, &mut [0.0; 8]).expect("is read").store.reused
    }

    #[test]
    fn only_what_changed_is_compiled_and_computed_again() {
        let shared = Shared::new(1 << 20);
        let script = "tensor a: f32[x: inf] = sin(x / 3) tensor b: f32[x: inf] = cos(x / 5)";
        assert_eq!([read(&shared, script, "a[0:8]"), read(&shared, script, "b[0:8]")], [0, 0]);
        assert_eq!(shared.kernels(), 2);
        let other = script.replace("x / 5", "x / 7");
        assert_eq!([read(&shared, &other, "a[0:8]"), read(&shared, &other, "b[0:8]")], [8, 0]);
        assert_eq!(shared.kernels(), 3);
        assert_eq!(
            read(&shared, &other.replace("tensor a", "tensor c"), "c[0:8]"),
            8,
            "names are no part of it"
        );
        assert_eq!(read(&shared, script, "b[0:8]"), 8, "the old definition is back");
    }

    #[test]
    fn data_is_part_of_what_results_are_known_by() {
        let shared = Shared::new(1 << 20);
        let bound = |data: [f32; 8]| {
            let script = "input p: f32[x: 8] tensor a: f32[x: 8] = 2 * p[x]";
            let mut engine = Engine::builder().share(&shared).compile(script).expect("compiles");
            engine.bind("p", &ndarray::arr1(&data)).expect("fits");
            let mut elements = [0.0; 8];
            let stats = engine.read_into::<f32>("a[0:8]", &mut elements).expect("is read");
            (elements[0], stats.store.reused)
        };
        assert_eq!(bound([1.0; 8]), (2.0, 0));
        assert_eq!(bound([3.0; 8]), (6.0, 0));
        assert_eq!(bound([1.0; 8]), (2.0, 8));
    }

    #[test]
    fn a_set_at_the_end_leaves_what_it_does_not_reach() {
        let script = |sets: &str| {
            format!(
                "var v: f32[x: inf] = 1 tensor a: f32[x: inf] = v[x - 1] tensor b: f32[x: inf] = a[x] {sets}"
            )
        };
        let shared = Shared::new(1 << 24);
        let mut found = vec![0.0f32; 4 * 16384];
        let mut read = |engine: &Engine, slice: &str| {
            let stats = engine.read_into::<f32>(slice, &mut found).expect("is read");
            (stats.store.reused, found.iter().position(|element| *element != 1.0))
        };
        let compiled =
            |sets: &str| Engine::builder().share(&shared).compile(&script(sets)).expect("compiles");
        let one = compiled("");
        assert_eq!([read(&one, "a[0:65536]"), read(&one, "b.stride([2])[0:65536]")], [(0, None), (0, None)]);
        // The last element of the second tile, and the first of the third.
        let two = compiled("set v[32766:32768] = 5");
        two.inherit(&one);
        assert_eq!(read(&two, "a[0:65536]"), (32768, Some(32767)));
        assert_eq!(read(&two, "b.stride([2])[0:65536]"), (3 * 16384, Some(16384)));
        let three = compiled("set v[32766:32768] = 5 set v[0:1] = 7");
        three.inherit(&two);
        assert_eq!(read(&three, "a[0:65536]"), (3 * 16384, Some(1)));
        // The other definition is still there, where it differs.
        assert_eq!(read(&one, "a[0:65536]"), (32768, None));
    }

    #[test]
    fn what_the_host_writes_is_its_own() {
        let shared = Shared::new(1 << 20);
        let script = "var v: f32[x: inf] = 1 tensor a: f32[x: inf] = v[x]";
        let mut one = Engine::builder().share(&shared).compile(script).expect("compiles");
        let other = Engine::builder().share(&shared).compile(script).expect("compiles");
        let first = |engine: &Engine| engine.read::<f32>("a[0:4]").expect("is read")[[0]];
        assert_eq!([first(&one), first(&other)], [1.0, 1.0]);
        one.write("v[0:1]", &ndarray::arr1(&[5.0f32])).expect("is written");
        assert_eq!([first(&one), first(&other)], [5.0, 1.0]);
    }
}
