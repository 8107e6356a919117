//! Every kernel of a script, held against the interpreter element by element.
//!
//! ```text
//! t4 reads t2: for the elements of t4 that a read needs, the kernel of t4 runs over a buffer with what the
//! interpreter knows of t2, and has to store what the interpreter says about t4
//! ```
//!
//! A difference is told as a failure, with the tensor and the place.

use crate::runner::{Answer, Case, Reference, Runner, points, view};
use itp::graph::body::TensorId;
use itp::graph::scalar::{Scalar, UnaryFn, unary};
use itp::graph::types::Element;
use itp::graph::{BlendKind, TensorKind, Windowed};
use itp::index::Interval;
use itp::interp::Interp;
use itp::loops::execute::{execute, read_element, write_element};
use itp::loops::ir::Kernel;
use itp::loops::lower::lower;
use itp::loops::verify::verify;

/// Pieces of a tensor that are looked at, and elements of a buffer, at the most.
const MOST_CHECKED: usize = 40;
const MOST_BUFFERED: i64 = 20_000;

/// What runs kernels.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Back {
    Execute,
    #[cfg(feature = "jit")]
    Jit,
}

/// The lowering of bodies and a back end for the kernels.
pub(crate) struct Kernels {
    pub back: Back,
    /// Elements that were compared so far.
    pub checked: usize,
}

/// What the interpreter knows of a tensor, as a buffer.
struct Buffer {
    corner: Vec<i64>,
    sizes: Vec<i64>,
    bytes: Vec<u8>,
}

/// A kernel that is ready to run.
struct Machine {
    kernel: Kernel,
    /// Corner and sizes of each source.
    places: Vec<(Vec<i64>, Vec<i64>)>,
    /// The sources, and last what is written.
    buffers: Vec<Vec<u8>>,
    #[cfg(feature = "jit")]
    code: Option<itp::jit::Module>,
}

impl Runner for Kernels {
    fn name(&self) -> String {
        format!("kernels one by one, {:?}", self.back)
    }

    fn read(&mut self, case: &mut Case, slice: &str) -> Result<Answer, String> {
        let asked = view(case, slice).map_err(|_| "refused")?;
        let graph = &case.program.graph;
        let mut interp = Interp::new(graph, &case.world)?;
        for point in points(&asked) {
            interp.view_element(&asked, &point)?;
        }
        let known: Vec<_> = graph.iter().map(|(id, _)| interp.asked_for(id)).collect();
        for (id, _) in graph.iter() {
            self.check(case, &mut interp, id, &known)?;
        }
        Reference.read(case, slice)
    }
}

impl Kernels {
    /// Runs the kernel of one tensor where its elements are known.
    fn check<'g>(
        &mut self,
        case: &'g Case,
        interp: &mut Interp<'g>,
        id: TensorId,
        known: &[Vec<Vec<i64>>],
    ) -> Result<(), String> {
        let tensor = case.program.graph.tensor(id);
        let Some(mut machine) = machine(case, interp, id, known, self.back)? else { return Ok(()) };
        let windowed = match &tensor.kind {
            TensorKind::Windowed(windowed) => Some(windowed),
            TensorKind::Input(_) | TensorKind::Var(_) | TensorKind::Pointwise(_) => None,
        };
        let pieces = pieces(&known[id.index()], if windowed.is_some() { 1 } else { 64 });
        for (start, len) in pieces.iter().step_by(pieces.len().div_ceil(MOST_CHECKED).max(1)) {
            let found = match windowed {
                None => machine.row(tensor.element, start, *len)?,
                Some(windowed) => {
                    let numbers = numbers(windowed, tensor.domain.dims(), start)?;
                    let Some(numbers) = numbers else { return Ok(()) };
                    vec![machine.blended(tensor.element, windowed, start, &numbers)?]
                }
            };
            for (at, found) in found.into_iter().enumerate() {
                let mut coords = start.clone();
                coords.iter_mut().last().into_iter().for_each(|last| *last += at as i64);
                let right = interp.element(id, &coords)?;
                self.checked += 1;
                if found != right {
                    let name = &tensor.name;
                    return Err(format!(
                        "the kernel of `{name}` at {coords:?} gives {found:?}, not {right:?}"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Elements that follow each other along the last dimension: the first one and how many.
fn pieces(known: &[Vec<i64>], most: i64) -> Vec<(Vec<i64>, i64)> {
    let mut pieces: Vec<(Vec<i64>, i64)> = Vec::new();
    for coords in known {
        if let (Some((start, len)), Some(at)) = (pieces.last_mut(), coords.last())
            && start[..start.len() - 1] == coords[..coords.len() - 1]
            && start.last().map(|first| first + *len) == Some(*at)
            && *len < most
        {
            *len += 1;
        } else {
            pieces.push((coords.clone(), 1));
        }
    }
    pieces
}

/// The kernel of a tensor with its sources filled; `None` if it has none, or they are too large.
fn machine<'g>(
    case: &'g Case,
    interp: &mut Interp<'g>,
    id: TensorId,
    known: &[Vec<Vec<i64>>],
    back: Back,
) -> Result<Option<Machine>, String> {
    #[cfg(not(feature = "jit"))]
    let Back::Execute = back;
    let graph = &case.program.graph;
    if known[id.index()].is_empty() {
        return Ok(None);
    }
    let Some(lowered) = lower(graph, id, &case.program.accesses.tensors[id.index()]) else { return Ok(None) };
    verify(&lowered.kernel)?;
    let sources = lowered.sources.iter().map(|source| buffer(case, interp, *source, &known[source.index()]));
    let Some(sources) = sources.collect::<Result<Option<Vec<Buffer>>, String>>()? else { return Ok(None) };
    let (places, mut buffers): (Vec<_>, Vec<_>) =
        sources.into_iter().map(|source| ((source.corner, source.sizes), source.bytes)).unzip();
    buffers.push(Vec::new());
    Ok(Some(Machine {
        #[cfg(feature = "jit")]
        code: match back {
            Back::Execute => None,
            Back::Jit => Some(itp::jit::compile(
                std::slice::from_ref(&lowered.kernel),
                &itp::jit::JitOptions::default(),
            )?),
        },
        kernel: lowered.kernel,
        places,
        buffers,
    }))
}

/// The box around the known elements; what else lies in it is 0. `None` if that is too much.
fn buffer<'g>(
    case: &'g Case,
    interp: &mut Interp<'g>,
    id: TensorId,
    known: &[Vec<i64>],
) -> Result<Option<Buffer>, String> {
    let tensor = case.program.graph.tensor(id);
    let rank = tensor.domain.rank();
    let least = |dim: usize| known.iter().map(|coords| coords[dim]).min().unwrap_or(0);
    let most = |dim: usize| known.iter().map(|coords| coords[dim]).max().unwrap_or(0);
    let corner: Vec<i64> = (0..rank).map(least).collect();
    let sizes: Vec<i64> = (0..rank).map(|dim| most(dim) - least(dim) + 1).collect();
    let count = sizes.iter().fold(1i64, |all, size| all.saturating_mul(*size));
    if count > MOST_BUFFERED {
        return Ok(None);
    }
    let width = tensor.element.bytes() as usize;
    let mut bytes = vec![0; count as usize * width];
    for coords in known {
        let places = coords.iter().zip(&corner).zip(&sizes);
        let at = places.fold(0, |at, ((coord, corner), size)| at * size + coord - corner) as usize;
        write_element(tensor.element, interp.element(id, coords)?, &mut bytes[at * width..(at + 1) * width]);
    }
    Ok(Some(Buffer { corner, sizes, bytes }))
}

/// The windows that count for one element; `None` for a mean, which kernels only sum up.
fn numbers(
    windowed: &Windowed,
    dims: &[itp::index::Dim],
    coords: &[i64],
) -> Result<Option<Vec<Vec<i64>>>, String> {
    let dims = windowed.windows.dims.iter().zip(dims).zip(coords);
    let covering = dims.map(|((window, dim), coord)| {
        let inside = window.inside(dim.interval).map_err(|error| error.to_string())?;
        Ok(window.covering(*coord).map_err(|error| error.to_string())?.intersect(inside))
    });
    let mut numbers = product(&covering.collect::<Result<Vec<Interval>, String>>()?);
    match windowed.blend.kind {
        BlendKind::Mean => return Ok(None),
        BlendKind::First => numbers.truncate(1),
        BlendKind::Last => _ = numbers.drain(..numbers.len().saturating_sub(1)),
        BlendKind::Sum | BlendKind::Product | BlendKind::Min | BlendKind::Max | BlendKind::Custom(_) => {}
    }
    Ok(Some(numbers))
}

impl Machine {
    /// Elements of a pointwise tensor that lie in a row.
    fn row(&mut self, element: Element, start: &[i64], len: i64) -> Result<Vec<Scalar>, String> {
        let width = element.bytes() as usize;
        *self.out() = vec![0; width * len as usize];
        self.call(start, len, &[])?;
        Ok(self.out().chunks(width).map(|bytes| read_element(element, bytes)).collect())
    }

    /// One element of a windowed tensor, from all its windows.
    fn blended(
        &mut self,
        element: Element,
        windowed: &Windowed,
        coords: &[i64],
        numbers: &[Vec<i64>],
    ) -> Result<Scalar, String> {
        let stored = element.computed();
        *self.out() = vec![0; stored.bytes() as usize];
        write_element(stored, windowed.blend.init, self.out());
        for number in numbers {
            self.call(coords, 1, number)?;
        }
        let value = read_element(stored, self.out());
        Ok(if element == Element::F16 { unary(UnaryFn::RoundF16, value) } else { value })
    }

    fn out(&mut self) -> &mut Vec<u8> {
        self.buffers.last_mut().expect("there is an output")
    }

    fn call(&mut self, start: &[i64], len: i64, window: &[i64]) -> Result<(), String> {
        let args = self.arguments(start, len, window);
        #[cfg(feature = "jit")]
        if let Some(code) = &self.code {
            execute(&self.kernel, &args, &mut self.buffers.clone())?;
            let pointers: Vec<*mut u8> = self.buffers.iter_mut().map(|buffer| buffer.as_mut_ptr()).collect();
            #[allow(unsafe_code, reason = "running machine code is")]
            // SAFETY: `execute` found every offset inside its buffer, and each buffer has memory of its own.
            unsafe {
                code.call(0, &args, &pointers)
            };
            return Ok(());
        }
        execute(&self.kernel, &args, &mut self.buffers)
    }

    /// The box, the window, and where every buffer lies.
    fn arguments(&self, start: &[i64], len: i64, window: &[i64]) -> Vec<i64> {
        let rank = start.len();
        let end = |dim: usize| start[dim] + if dim + 1 == rank { len } else { 1 };
        let mut args: Vec<i64> = (0..rank).flat_map(|dim| [start[dim], end(dim)]).collect();
        args.extend(window);
        for (corner, sizes) in &self.places {
            for (dim, first) in corner.iter().enumerate() {
                args.extend([*first, first + sizes[dim], sizes[dim + 1..].iter().product()]);
            }
        }
        args.extend((0..rank).flat_map(|dim| [start[dim], end(dim), len]));
        args
    }
}

fn product(ranges: &[Interval]) -> Vec<Vec<i64>> {
    let mut points = vec![Vec::new()];
    for range in ranges {
        let len = range.len().unwrap_or(0);
        let longer = points.iter().flat_map(|point: &Vec<i64>| {
            (0..len).map(move |at| [&point[..], &[range.first() + at]].concat())
        });
        points = longer.collect();
    }
    points
}

#[test]
fn kernels_are_compared_at_many_elements() {
    let mut kernels = Kernels { back: Back::Execute, checked: 0 };
    for seed in 0..40 {
        let (script, _) = crate::generate::generate(seed);
        let Ok(mut case) = crate::runner::case(&script.text(), seed) else { continue };
        for slice in &script.reads {
            kernels.read(&mut case, slice).unwrap();
        }
    }
    assert!(kernels.checked > 2000, "{}", kernels.checked);
}
