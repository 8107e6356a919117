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
use itp::graph::{BlendKind, TensorKind};
use itp::index::Interval;
use itp::interp::Interp;
use itp::loops::execute::{execute, read_element, write_element};
use itp::loops::lower::{Lowered, lower};
use itp::loops::verify::verify;

/// Elements per tensor that are looked at, and elements of a buffer, at the most.
const MOST_CHECKED: usize = 40;
const MOST_BUFFERED: i64 = 100_000;

/// The lowering of bodies and the meaning of kernels.
pub(crate) struct Kernels;

/// What the interpreter knows of a tensor, as a buffer.
struct Buffer {
    /// Lowest corner and sizes.
    corner: Vec<i64>,
    sizes: Vec<i64>,
    bytes: Vec<u8>,
}

impl Runner for Kernels {
    fn name(&self) -> String {
        "kernels, one by one".to_owned()
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
            check(case, &mut interp, id, &known)?;
        }
        Reference.read(case, slice)
    }
}

/// Runs the kernel of one tensor where its elements are known.
fn check<'g>(
    case: &'g Case,
    interp: &mut Interp<'g>,
    id: TensorId,
    known: &[Vec<Vec<i64>>],
) -> Result<(), String> {
    let graph = &case.program.graph;
    let Some(lowered) = lower(graph, id, &case.program.accesses.tensors[id.index()]) else { return Ok(()) };
    verify(&lowered.kernel)?;
    let sources = lowered.sources.iter().map(|source| buffer(case, interp, *source, &known[source.index()]));
    let Some(sources) = sources.collect::<Result<Option<Vec<Buffer>>, String>>()? else { return Ok(()) };
    let step = known[id.index()].len().div_ceil(MOST_CHECKED).max(1);
    for coords in known[id.index()].iter().step_by(step) {
        let right = interp.element(id, coords)?;
        let Some(found) = run(case, id, &lowered, &sources, coords)? else { return Ok(()) };
        if found != right {
            let name = &graph.tensor(id).name;
            return Err(format!("the kernel of `{name}` at {coords:?} gives {found:?}, not {right:?}"));
        }
    }
    Ok(())
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

/// One element by its kernel, with all its windows; `None` for a mean, which kernels only sum up.
fn run(
    case: &Case,
    id: TensorId,
    lowered: &Lowered,
    sources: &[Buffer],
    coords: &[i64],
) -> Result<Option<Scalar>, String> {
    let tensor = case.program.graph.tensor(id);
    let mut buffers: Vec<Vec<u8>> = sources.iter().map(|source| source.bytes.clone()).collect();
    let TensorKind::Windowed(windowed) = &tensor.kind else {
        buffers.push(vec![0; tensor.element.bytes() as usize]);
        execute(&lowered.kernel, &arguments(sources, coords, &[]), &mut buffers)?;
        return Ok(buffers.last().map(|out| read_element(tensor.element, out)));
    };
    let dims = windowed.windows.dims.iter().zip(tensor.domain.dims()).zip(coords);
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
    let stored = tensor.element.computed();
    buffers.push(vec![0; stored.bytes() as usize]);
    let out = buffers.len() - 1;
    write_element(stored, windowed.blend.init, &mut buffers[out]);
    for number in numbers {
        execute(&lowered.kernel, &arguments(sources, coords, &number), &mut buffers)?;
    }
    let value = read_element(stored, &buffers[out]);
    Ok(Some(if tensor.element == Element::F16 { unary(UnaryFn::RoundF16, value) } else { value }))
}

/// The box of one element, the window, and where every buffer lies.
fn arguments(sources: &[Buffer], coords: &[i64], window: &[i64]) -> Vec<i64> {
    let mut args: Vec<i64> = coords.iter().flat_map(|at| [*at, at + 1]).collect();
    args.extend(window);
    for source in sources {
        for (dim, corner) in source.corner.iter().enumerate() {
            let pitch = source.sizes[dim + 1..].iter().product();
            args.extend([*corner, corner + source.sizes[dim], pitch]);
        }
    }
    args.extend(coords.iter().flat_map(|at| [*at, at + 1, 1]));
    args
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
