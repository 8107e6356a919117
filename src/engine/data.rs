//! The data that a read needs from outside: which inputs and host functions, and that they are there and fit.
//!
//! ```text
//! blur reads photo, `input photo: u8[480, 640] from "photo.png"`   ->   the pixels, or E1001, E1002
//! ```

use crate::diagnostic::{Code, Diagnostic, Result, quoted};
use crate::formats::{Entries, fill_bytes, freeze};
#[cfg(feature = "zarr")]
use crate::graph::FileKind;
use crate::graph::body::TensorId;
use crate::graph::types::Element;
use crate::graph::uses::uses;
use crate::graph::{Format, Graph, InputSource, Tensor, TensorKind, WindowBody};
use crate::io::{self, Array, Coordinates, Expect, IoError};
use crate::run::data::Data;
use crate::run::inputs::InputData;
use crate::run::job::array_type;
use std::path::Path;
use std::sync::Arc;

/// The host function that a tensor's body names.
pub(super) fn extern_of(tensor: &Tensor) -> Option<&Arc<str>> {
    let TensorKind::Windowed(windowed) = &tensor.kind else { return None };
    match &windowed.body {
        WindowBody::Extern { name, .. } => Some(name),
        WindowBody::Expr(_) => None,
    }
}

/// Whether a read of `base` may call a host function.
pub(super) fn calls(graph: &Graph, base: TensorId, function: &str) -> bool {
    let called = |id: &TensorId| extern_of(graph.tensor(*id)).is_some_and(|name| &**name == function);
    uses(graph, base).tensors.iter().any(called)
}

/// Reads the file of an input, into the format that it has; a zarr array is only opened.
pub(super) fn load(tensor: &Tensor, path: &Path) -> Result<InputData> {
    let shape = shape(tensor)?;
    let expect = Expect { element: tensor.element, shape: &shape };
    #[cfg(feature = "zarr")]
    if FileKind::of(&path.to_string_lossy()) == Some(FileKind::Zarr) && tensor.format.is_none() {
        return super::chunked::open(tensor, path, &expect);
    }
    let stored = tensor.format.as_ref().filter(|_| path.extension().is_some_and(|end| end == "npz"));
    let read = match stored {
        Some(format) => io::read_sparse(path, &expect).map(|found| sparse(tensor, format, found)),
        None => io::read(path, &expect).map(|array| Ok(Data::new(array, tensor.format.as_ref()))),
    };
    read.unwrap_or_else(|error| Err(unread(tensor, error))).map(InputData::Whole)
}

/// The error for an input whose file is wrong.
pub(super) fn unread(tensor: &Tensor, error: IoError) -> Box<Diagnostic> {
    let message = format!("input {}: {}", quoted(&tensor.name), error.message);
    let diagnostic = Diagnostic::new(Code::E1002, message).at(tensor.span, declared(tensor));
    let elsewhere = || format!("check the path, or bind another file: `--bind {}=path`", tensor.name);
    let pattern =
        matches!(&tensor.kind, TensorKind::Input(InputSource::File(path)) if path.contains(['*', '{', '?']));
    let help = match (error.help, error.holds) {
        (Some(help), _) => help,
        (None, Some((element, shape))) => declaration(tensor, element, &shape),
        (None, None) if pattern => {
            "an input is one file, and patterns are not expanded: make one `.npy` or `.zarr` of them"
                .to_owned()
        }
        (None, None) => elsewhere(),
    };
    Box::new(diagnostic.help(help))
}

/// Asks for the declaration of what there is. Its dimensions have the labels of the input and begin where those do, or
/// have the usual labels.
fn declaration(tensor: &Tensor, element: Element, shape: &[i64]) -> String {
    let usual: &[&str] = match shape {
        [_] => &["x"],
        [_, _] => &["y", "x"],
        [_, _, 1..=4] => &["y", "x", "c"],
        [_, _, _] => &["z", "y", "x"],
        _ => &[],
    };
    let own = if shape.len() == tensor.domain.rank() { tensor.domain.dims() } else { &[] };
    let dim = |(at, size): (usize, &i64)| {
        let label = own.get(at).map(|dim| &*dim.label).or(usual.get(at).copied());
        let label = label.filter(|label| !label.is_empty()).unwrap_or("_");
        let begin = own.get(at).and_then(|dim| dim.interval.lower()).unwrap_or(0);
        if begin == 0 { format!("{label}: {size}") } else { format!("{label}: {begin}..{}", begin + size) }
    };
    let dims: Vec<String> = shape.iter().enumerate().map(dim).collect();
    let declared = format!("declare `input {}: {element}[{}]`", tensor.name, dims.join(", "));
    if element == tensor.element {
        return declared;
    }
    format!("{declared}, and cast where it is read: `{}({}[…])`", tensor.element, tensor.name)
}

/// Elements with their places, in the format of an input; what is left out must be its fill.
fn sparse(tensor: &Tensor, format: &Format, found: Coordinates) -> Result<Data> {
    let (fill, width) = (fill_bytes(format, tensor.element), tensor.element.bytes() as usize);
    let failed = |why: String| {
        Box::new(
            Diagnostic::new(Code::E1002, format!("input {} {why}", quoted(&tensor.name))).at(tensor.span, ""),
        )
    };
    if fill.iter().any(|byte| *byte != 0) {
        let why = format!("has the fill {}, but a sparse file leaves out 0", format.fill);
        return Err(failed(why));
    }
    let shape: Option<Vec<u32>> = found.shape.iter().map(|size| u32::try_from(*size).ok()).collect();
    let shape = shape.ok_or_else(|| failed("is too large for a format".to_owned()))?;
    let mut entries = Entries { shape, width, at: found.at, values: found.values };
    entries.drop_fill(&fill);
    let frozen = freeze(&entries, format, tensor.element);
    frozen.map(Data::frozen).map_err(|_| failed(format!("has more positions than {format} can number")))
}

/// An error unless the host's array is what the input declares.
pub(super) fn fits(tensor: &Tensor, array: &Array) -> Result<()> {
    let shape = shape(tensor)?;
    if (array.element, &array.shape) == (tensor.element, &shape) {
        return Ok(());
    }
    let (given, wanted) = (array_type(array.element, &array.shape), array_type(tensor.element, &shape));
    let name = quoted(&tensor.name);
    Diagnostic::new(
        Code::E1002,
        format!("input {name}: {given} was bound, but the declaration says {wanted}"),
    )
    .at(tensor.span, declared(tensor))
    .help(format!("bind exactly {wanted}, or {}", declaration(tensor, array.element, &array.shape)))
    .err()
}

pub(super) fn declared(tensor: &Tensor) -> String {
    format!("declared as `{}{}`", tensor.element, tensor.domain)
}

/// The shape of an input; a file cannot go on forever.
fn shape(tensor: &Tensor) -> Result<Vec<i64>> {
    tensor.domain.shape().ok_or_else(|| {
        let message = format!("input {} goes on forever, and no file or array does", quoted(&tensor.name));
        let diagnostic = Diagnostic::new(Code::E1002, message).at(tensor.span, declared(tensor));
        Box::new(diagnostic.help("give every dimension both ends"))
    })
}

/// The error for an input that nobody gave data for.
pub(super) fn unbound(tensor: &Tensor) -> Box<Diagnostic> {
    let name = &tensor.name;
    let message = format!("input {} has no data: it is declared without `from`", quoted(name));
    let diagnostic = Diagnostic::new(Code::E1001, message).at(tensor.span, declared(tensor));
    Box::new(diagnostic.help(format!("add `--bind {name}=path`, or bind an array through the library")))
}

/// The error for a host function that nobody registered.
pub(super) fn unregistered(tensor: &Tensor, function: &str) -> Box<Diagnostic> {
    if function.ends_with(".onnx") {
        let message = format!("{} is a model, and models do not run yet", quoted(function));
        return Box::new(Diagnostic::new(Code::E0903, message).at(tensor.span, "needs it"));
    }
    let (name, function_name) = (quoted(&tensor.name), quoted(function));
    let message = format!("{name} needs the host function {function_name}, which is not registered");
    let diagnostic = Diagnostic::new(Code::E1003, message).at(tensor.span, "its windows come from it");
    let help = format!("register it through the library: `engine.register(\"{function}\", …)`");
    Box::new(diagnostic.help(help))
}

/// The error for an input whose elements would arrive while the script runs.
pub(super) fn streamed(tensor: &Tensor) -> Box<Diagnostic> {
    let message = format!("input {} is a stream, and nothing streams into it", quoted(&tensor.name));
    let diagnostic = Diagnostic::new(Code::E1001, message).at(tensor.span, declared(tensor));
    Box::new(
        diagnostic
            .help("use `itp run`, which takes it from standard input, or bind a reader through the library"),
    )
}
