//! Inputs: arrays of the host or files -> the data that a read needs.

use super::Engine;
use super::data::{extern_of, fits, load, streamed, unbound, unregistered};
use super::element::{Elem, to_array};
use super::error::Result;
use super::known_files::Version;
use super::limit::has_room;
use crate::diagnostic::{Code, Diagnostic, any_of, closest, quoted};
use crate::graph::body::TensorId;
use crate::graph::uses::uses;
use crate::graph::{Graph, InputSource, Tensor, TensorKind};
use crate::io::Array;
use crate::run::data;
use crate::run::inputs::InputData;
use crate::run::job::World;
use ndarray::{ArrayBase, Data, Dimension};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

impl Engine {
    /// Gives an input its data; type and shape must be those of its declaration.
    ///
    /// ```
    /// use itp::Engine;
    /// use ndarray::array;
    ///
    /// let mut engine = Engine::compile("input a: i32[x: 3]  tensor b: i32[x: 3] = 2 * a[x]")?;
    /// engine.bind("a", &array![1, 2, 3])?;
    /// assert_eq!(engine.read::<i32>("b[0:3]")?.as_slice(), Some(&[2, 4, 6][..]));
    /// # Ok::<(), itp::engine::Error>(())
    /// ```
    pub fn bind<T: Elem, S: Data<Elem = T>, D: Dimension>(
        &mut self,
        input: &str,
        array: &ArrayBase<S, D>,
    ) -> Result<()> {
        self.bind_array(input, to_array(array))
    }

    /// Gives an input its data as bytes.
    pub fn bind_array(&mut self, input: &str, array: Array) -> Result<()> {
        let id = self.input(input)?;
        let tensor = self.program.graph.tensor(id);
        fits(tensor, &array).map_err(|diagnostic| self.error(diagnostic))?;
        let data = data::Data::new(array, tensor.format.as_ref());
        self.files.remove(&id);
        self.world.inputs.insert(id, InputData::Whole(data));
        self.changed(|graph, base| uses(graph, base).tensors.contains(&id));
        Ok(())
    }

    /// Reads an input from this file instead of the one that the script names, when it is first needed.
    pub fn bind_file(&mut self, input: &str, path: impl Into<PathBuf>) -> Result<()> {
        let id = self.input(input)?;
        self.world.inputs.remove(&id);
        self.loaded.get_mut().unwrap_or_else(PoisonError::into_inner).remove(&id);
        self.files.insert(id, path.into());
        self.changed(|graph, base| uses(graph, base).tensors.contains(&id));
        Ok(())
    }

    pub(super) fn input(&self, name: &str) -> Result<TensorId> {
        let is_input = |tensor: &Tensor| matches!(tensor.kind, TensorKind::Input(_));
        let graph = &self.program.graph;
        let found = graph.iter().find(|(_, tensor)| is_input(tensor) && &*tensor.name == name);
        if let Some((id, _)) = found {
            return Ok(id);
        }
        let inputs = graph.tensors.iter().filter(|tensor| is_input(tensor));
        let inputs: Vec<&str> = inputs.map(|tensor| &*tensor.name).collect();
        let diagnostic = Diagnostic::new(Code::E0201, format!("the script has no input {}", quoted(name)));
        Err(self.error(match closest(name, inputs.iter().copied()) {
            Some(close) => diagnostic.help(format!("write {}", quoted(close))),
            None if inputs.is_empty() => diagnostic,
            None => diagnostic.help(format!("choose {}", any_of(inputs))),
        }))
    }

    /// The world with everything in it that a read of `base` may ask for.
    pub(super) fn world_for(&self, base: TensorId) -> Result<Arc<World>> {
        let mut world = self.world.clone();
        for id in uses(&self.program.graph, base).tensors {
            let tensor = self.program.graph.tensor(id);
            let missing = extern_of(tensor).filter(|name| !world.hosts.contains_key(*name));
            if let Some(name) = missing {
                return Err(self.error(unregistered(tensor, name)));
            }
            if let (TensorKind::Input(source), false) = (&tensor.kind, world.inputs.contains_key(&id)) {
                world.inputs.insert(id, self.loaded(id, tensor, source)?);
            }
        }
        Ok(Arc::new(world))
    }

    fn loaded(&self, id: TensorId, tensor: &Tensor, source: &InputSource) -> Result<InputData> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(array) = loaded.get(&id) {
            return Ok(array.clone());
        }
        let path = match (self.files.get(&id), source) {
            (Some(path), _) => path.clone(),
            (None, InputSource::File(path)) => beside(&self.folder, path),
            (None, InputSource::Host) => return Err(self.error(unbound(tensor))),
            (None, InputSource::Stream) => return Err(self.error(streamed(tensor))),
        };
        has_room(tensor, &path, &self.limits).map_err(|diagnostic| self.error(diagnostic))?;
        let known = self.known_files.as_ref().and_then(|known| known.get(tensor, &path));
        let data = known.map_or_else(|| self.read_file(tensor, &path), Ok)?;
        loaded.insert(id, data.clone());
        Ok(data)
    }

    fn read_file(&self, tensor: &Tensor, path: &Path) -> Result<InputData> {
        let known = self.known_files.as_ref().and_then(|known| Some((known, Version::of(path)?)));
        let data = load(tensor, path).map_err(|diagnostic| self.error(diagnostic))?;
        if let Some((known, version)) = known {
            known.keep(tensor, path, version, &data);
        }
        Ok(data)
    }
}

/// The inputs that the script itself takes from files.
pub(super) fn files_of<'a>(
    graph: &'a Graph,
    folder: &'a Path,
) -> impl Iterator<Item = (TensorId, PathBuf)> + 'a {
    graph.iter().filter_map(|(id, tensor)| match &tensor.kind {
        TensorKind::Input(InputSource::File(path)) => Some((id, beside(folder, path))),
        TensorKind::Input(InputSource::Host | InputSource::Stream)
        | TensorKind::Var(_)
        | TensorKind::Pointwise(_)
        | TensorKind::Windowed(_) => None,
    })
}

/// A path as the script writes it, from the script's folder; `./` is not shown.
fn beside(folder: &Path, path: &str) -> PathBuf {
    if folder == Path::new(".") { PathBuf::from(path) } else { folder.join(path) }
}
