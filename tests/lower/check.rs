//! One script: its kernels on both engines, compared with the interpreter.

use crate::buffers::{Guarded, Side};
use crate::host::Hashes;
use crate::regions::{regions, regions_of};
use crate::shapes::{SHAPES, Shape, shaped};
use crate::{machine, scan};
use itp::access::footprint::{footprint, view_footprint, windows};
use itp::compile::Program;
use itp::graph::body::TensorId;
use itp::graph::follow::view_body;
use itp::graph::scalar::{self, BinaryFn, Scalar, UnaryFn};
use itp::graph::types::Element;
use itp::graph::view::View;
use itp::graph::{Blend, BlendKind, InputSource, Tensor, TensorKind, WindowBody, Windowed};
use itp::index::Interval;
use itp::interp::Interp;
use itp::jit::{JitOptions, Module, Vectors, compile};
use itp::loops::execute::{execute, read_element, write_element};
use itp::loops::ir::Kernel;
use itp::loops::lower::{BufferBox, Lowered, lower, lower_until, lower_view};
use itp::loops::passes::Pass;
use itp::loops::passes::jam::jammed;
use itp::loops::passes::sweep::sweep;
use itp::loops::verify::verify;
use itp::source::Span;
use std::collections::BTreeMap;
use std::sync::Arc;

/// More elements than this are not put into memory.
const LARGEST: i64 = 1 << 22;
const POISON: u8 = 0xff;

type Region = Vec<Interval>;
type Values = Vec<(Vec<i64>, Scalar)>;

/// Memory of a tensor: where its elements lie, and the bytes.
#[derive(Clone)]
struct Memory {
    place: BufferBox,
    element: Element,
    bytes: Vec<u8>,
}

impl Memory {
    fn new(shape: Shape, region: &[Interval], element: Element) -> Self {
        let (place, length) = shaped(shape, region);
        Memory { place, element, bytes: vec![POISON; length as usize * element.bytes() as usize] }
    }

    fn at(&self, coords: &[i64]) -> std::ops::Range<usize> {
        let size = self.element.bytes() as usize;
        let start = self.place.offset(coords) as usize * size;
        start..start + size
    }

    fn set(&mut self, coords: &[i64], value: Scalar) {
        let range = self.at(coords);
        write_element(self.element, value, &mut self.bytes[range]);
    }
}

/// Checks every tensor with a body, every view and every output; gives how many boxes were compared.
///
/// Each is checked on its own: all other tensors count as inputs, so that far boxes cost no more than near ones.
pub(crate) fn check_program(name: &str, program: &mut Program) -> usize {
    let host = Hashes::new(program);
    let input = || TensorKind::Input(InputSource::Host);
    let kinds = program.graph.tensors.iter_mut().map(|tensor| std::mem::replace(&mut tensor.kind, input()));
    let kinds: Vec<TensorKind> = kinds.collect();
    program.graph.sets.clear();
    let (mut compared, mut failures) = (0, Vec::new());
    for (at, kind) in kinds.into_iter().enumerate() {
        program.graph.tensors[at].kind = kind;
        let mut checker = Checker::new(program, &host);
        checker.tensor(TensorId(at as u32));
        compared += checker.compared;
        failures.extend(checker.failures);
        program.graph.tensors[at].kind = input();
    }
    let mut checker = Checker::new(program, &host);
    checker.views();
    failures.extend(checker.failures);
    assert!(failures.is_empty(), "{name}: {}", failures.join("\n"));
    compared + checker.compared
}

struct Checker<'p> {
    program: &'p Program,
    interp: Interp<'p>,
    compared: usize,
    failures: Vec<String>,
}

/// What one kernel is checked for.
struct Job<'j> {
    name: &'j str,
    lowered: &'j Lowered,
    /// The same with its rows jammed.
    jammed: &'j [Kernel],
    /// One for each width of vectors.
    modules: &'j [Module],
    region: &'j Region,
    element: Element,
    /// Boxes of the sources, and what the interpreter knows of them.
    sources: Vec<(Option<Region>, Values)>,
    expected: Values,
    calls: Vec<Call>,
    windowed: Option<(&'j Windowed, &'j Tensor)>,
}

/// One call of a kernel.
struct Call {
    region: Region,
    windows: Vec<i64>,
}

impl<'p> Checker<'p> {
    fn new(program: &'p Program, host: &'p Hashes) -> Self {
        let interp = Interp::new(&program.graph, host).unwrap();
        Checker { program, interp, compared: 0, failures: Vec::new() }
    }

    fn tensor(&mut self, id: TensorId) {
        let program = self.program;
        let tensor = program.graph.tensor(id);
        let access = &program.accesses.tensors[id.index()];
        let Some(lowered) = lower(&program.graph, id, access) else { return };
        let Some(modules) = self.modules(&lowered) else { return };
        let split = lower_until(&program.graph, id, access, None, Pass::Split).unwrap();
        let jammed = self.jammed(&split.kernel);
        for region in regions_of(tensor) {
            self.tensor_box(id, tensor, (&lowered, &jammed), &modules, &region);
        }
    }

    fn views(&mut self) {
        let graph = &self.program.graph;
        let named = graph.views.iter().map(|view| (view.view.clone(), view.span));
        let outputs = graph.outputs.iter().map(|output| (output.view.clone(), output.span));
        let views: Vec<(Arc<View>, Span)> = named.chain(outputs).collect();
        for (view, span) in views {
            let lowered = lower_view(graph, &view, &view_body(&view, span));
            let Some(modules) = self.modules(&lowered) else { continue };
            for region in regions(view.domain()) {
                self.view(&view, span, &lowered, &modules, &region);
            }
        }
    }

    /// The kernel with its rows jammed whether it pays or not.
    fn jammed(&mut self, kernel: &Kernel) -> Vec<Kernel> {
        let kernels = [2, 4].map(|rows| sweep(jammed(kernel, rows).0));
        kernels.iter().for_each(|kernel| self.failures.extend(verify(kernel).err()));
        kernels.into()
    }

    /// The kernel for each width of vectors that this processor has, with every check on.
    fn modules(&mut self, lowered: &Lowered) -> Option<Vec<Module>> {
        let widths = [Vectors::V128, Vectors::V256, Vectors::V512];
        let widths = widths.into_iter().filter(|vectors| *vectors <= Vectors::best());
        let modules =
            verify(&lowered.kernel).and_then(|()| widths.map(|width| checked(lowered, width)).collect());
        modules.map_err(|error| self.failures.push(format!("{error}\n{}", lowered.kernel))).ok()
    }

    fn tensor_box(
        &mut self,
        id: TensorId,
        tensor: &Tensor,
        (lowered, jammed): (&Lowered, &[Kernel]),
        modules: &[Module],
        region: &Region,
    ) {
        let needs = footprint(tensor, region).unwrap();
        let expected = points(region).into_iter().map(|coords| {
            let value =
                self.interp.element(id, &coords).unwrap_or_else(|error| panic!("{}: {error}", tensor.name));
            (coords, value)
        });
        let expected = expected.collect();
        let windowed = match &tensor.kind {
            TensorKind::Windowed(windowed) => Some((&**windowed, tensor)),
            TensorKind::Input(_) | TensorKind::Var(_) | TensorKind::Pointwise(_) => None,
        };
        let calls = match windowed {
            Some((windowed, _)) if matches!(windowed.body, WindowBody::Expr(_)) => {
                calls(tensor, windowed, region)
            }
            _ => vec![Call { region: region.clone(), windows: Vec::new() }],
        };
        let Some(sources) = self.sources(lowered, &needs) else { return };
        let element = tensor.element;
        self.run(&Job {
            name: &tensor.name,
            lowered,
            jammed,
            modules,
            region,
            element,
            sources,
            expected,
            calls,
            windowed,
        });
    }

    fn view(&mut self, view: &View, span: Span, lowered: &Lowered, modules: &[Module], region: &Region) {
        let needs =
            view_footprint(view, region, span).map(|region| (view.base, region)).into_iter().collect();
        let expected = points(region).into_iter().map(|coords| {
            let value = self.interp.view_element(view, &coords).unwrap();
            (coords, value)
        });
        let expected = expected.collect();
        let Some(sources) = self.sources(lowered, &needs) else { return };
        let calls = vec![Call { region: region.clone(), windows: Vec::new() }];
        let (name, element) = (&*view.name, view.element);
        self.run(&Job {
            name,
            lowered,
            jammed: &[],
            modules,
            region,
            element,
            sources,
            expected,
            calls,
            windowed: None,
        });
    }

    /// What the interpreter knows of the sources inside the boxes that are needed.
    fn sources(
        &mut self,
        lowered: &Lowered,
        needs: &BTreeMap<TensorId, Region>,
    ) -> Option<Vec<(Option<Region>, Values)>> {
        let mut sources = Vec::new();
        for id in &lowered.sources {
            let Some(region) = needs.get(id) else {
                sources.push((None, Vec::new()));
                continue;
            };
            if volume(region).is_none_or(|volume| volume > LARGEST) {
                return None;
            }
            let mut values = Vec::new();
            for coords in self.interp.asked_for(*id) {
                if region.iter().zip(&coords).all(|(range, coord)| range.contains(*coord)) {
                    values.push((coords.clone(), self.interp.element(*id, &coords).unwrap()));
                }
            }
            sources.push((Some(region.clone()), values));
        }
        Some(sources)
    }

    fn run(&mut self, job: &Job<'_>) {
        self.compared += 1;
        let large =
            job.sources.iter().flat_map(|(region, _)| region).any(|region| volume(region).unwrap() > 65536);
        for shape in SHAPES.into_iter().filter(|shape| !large || matches!(shape, Shape::Dense)) {
            if let Err(problem) = self.run_shaped(job, shape) {
                let place = format!("{} {shape:?} {:?}", job.name, job.region);
                self.failures.push(format!("{place}: {problem}\n{}", job.lowered.kernel));
                return;
            }
        }
    }

    fn run_shaped(&self, job: &Job<'_>, shape: Shape) -> Result<(), String> {
        let graph = &self.program.graph;
        let mut memory = Vec::new();
        for (id, (region, values)) in job.lowered.sources.iter().zip(&job.sources) {
            let tensor = graph.tensor(*id);
            let single = vec![Interval::point(0).unwrap(); tensor.domain.rank()];
            let mut buffer = Memory::new(shape, region.as_ref().unwrap_or(&single), tensor.element);
            values.iter().for_each(|(coords, value)| buffer.set(coords, *value));
            memory.push(buffer);
        }
        let element = job.lowered.kernel.buffers.last().unwrap().element;
        let mut out = Memory::new(shape, job.region, element);
        if let Some((windowed, _)) = job.windowed {
            points(job.region).iter().for_each(|coords| out.set(coords, start(&windowed.blend, element)));
        }
        memory.push(out);
        compare(job, "execute", executed(job, &job.lowered.kernel, memory.clone())?)?;
        for kernel in job.jammed {
            let jammed = executed(job, kernel, memory.clone());
            jammed
                .and_then(|out| compare(job, "jammed", out))
                .map_err(|error| format!("{error}\n{kernel}"))?;
        }
        for module in job.modules {
            let width = module.vectors().bits();
            for side in [Side::Start, Side::End] {
                let told = |error| format!("{width} bits: {error}");
                compare(job, "jit", compiled(job, module, &memory, side)).map_err(told)?;
            }
            if let Some(own) = job.lowered.own {
                in_place(job, module, &memory, own, shape)?;
            }
        }
        Ok(())
    }
}

/// Compiles with verifier and register checker, and looks through the CLIF and the machine code.
fn checked(lowered: &Lowered, vectors: Vectors) -> Result<Module, String> {
    let options = JitOptions { verifier: true, regalloc_checker: true, vectors, shows: true };
    let module = compile(std::slice::from_ref(&lowered.kernel), &options)?;
    scan::scan(module.clif(0));
    machine::scan(&module, 0);
    crate::SCANNED.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    Ok(module)
}

fn args(job: &Job<'_>, call: &Call, memory: &[Memory]) -> Vec<i64> {
    let places: Vec<BufferBox> = memory.iter().map(|memory| memory.place.clone()).collect();
    job.lowered.args(&call.region, &call.windows, &places)
}

fn executed(job: &Job<'_>, kernel: &Kernel, mut memory: Vec<Memory>) -> Result<Memory, String> {
    for call in &job.calls {
        let args = args(job, call, &memory);
        let mut bytes: Vec<Vec<u8>> =
            memory.iter_mut().map(|memory| std::mem::take(&mut memory.bytes)).collect();
        execute(kernel, &args, &mut bytes)?;
        memory.iter_mut().zip(bytes).for_each(|(memory, bytes)| memory.bytes = bytes);
    }
    Ok(memory.pop().unwrap())
}

fn compiled(job: &Job<'_>, module: &Module, memory: &[Memory], side: Side) -> Memory {
    let guarded: Vec<Guarded> = memory.iter().map(|memory| Guarded::new(&memory.bytes, side)).collect();
    let pointers: Vec<*mut u8> = guarded.iter().map(Guarded::pointer).collect();
    for call in &job.calls {
        // SAFETY: `execute` found every offset inside its buffer, and each buffer has memory of its own.
        unsafe { module.call(0, &args(job, call, memory), &pointers) };
    }
    let out = memory.last().unwrap();
    Memory { bytes: guarded.last().unwrap().bytes().to_vec(), ..out.clone() }
}

/// A recurrence whose own past lies in the memory that it writes.
fn in_place(
    job: &Job<'_>,
    module: &Module,
    memory: &[Memory],
    own: usize,
    shape: Shape,
) -> Result<(), String> {
    let Some(past) = &job.sources[own].0 else { return Ok(()) };
    let hull: Region = past.iter().zip(job.region).map(|(a, b)| a.hull(*b)).collect();
    let mut joined = Memory::new(shape, &hull, job.element);
    job.sources[own].1.iter().for_each(|(coords, value)| joined.set(coords, *value));
    points(job.region).iter().for_each(|coords| {
        let range = joined.at(coords);
        joined.bytes[range].fill(POISON);
    });
    let mut memory = memory.to_vec();
    let last = memory.len() - 1;
    memory[own] = joined.clone();
    memory[last] = joined;
    let guarded: Vec<Guarded> = memory.iter().map(|memory| Guarded::new(&memory.bytes, Side::End)).collect();
    let mut pointers: Vec<*mut u8> = guarded.iter().map(Guarded::pointer).collect();
    pointers[own] = pointers[last];
    for call in &job.calls {
        // SAFETY: both boxes hold all that is read and written, and no element is both.
        unsafe { module.call(0, &args(job, call, &memory), &pointers) };
    }
    compare(job, "in place", Memory { bytes: guarded[last].bytes().to_vec(), ..memory[last].clone() })
}

fn compare(job: &Job<'_>, engine: &str, mut out: Memory) -> Result<(), String> {
    let size = out.element.bytes() as usize;
    let mut wrong = Vec::new();
    for (coords, expected) in &job.expected {
        let mut wanted = vec![0; size];
        write_element(out.element, *expected, &mut wanted);
        let range = out.at(coords);
        let found = finished(job, coords, read_element(out.element, &out.bytes[range.clone()]));
        out.set(coords, found);
        if out.bytes[range] != wanted[..] {
            wrong.push(format!("{coords:?} is {found}, expected {expected}"));
        }
    }
    let count = wrong.len();
    wrong.truncate(4);
    if count == 0 { Ok(()) } else { Err(format!("{engine}: {count} elements: {}", wrong.join("; "))) }
}

/// What is left to do when all windows are blended.
fn finished(job: &Job<'_>, coords: &[i64], value: Scalar) -> Scalar {
    let Some((windowed, _)) = job.windowed else { return value };
    let covers = |call: &&Call| call.region.iter().zip(coords).all(|(range, coord)| range.contains(*coord));
    let count = job.calls.iter().filter(covers).count() as i64;
    let value = match windowed.blend.kind {
        BlendKind::Mean if count == 0 => windowed.blend.init,
        BlendKind::Mean => {
            let divide = if job.element.is_float() { BinaryFn::Div } else { BinaryFn::FloorDiv };
            scalar::binary(divide, value, Scalar::i64(count).cast(job.element))
        }
        _ => value,
    };
    if job.element == Element::F16 { scalar::unary(UnaryFn::RoundF16, value) } else { value }
}

/// What a window buffer holds before the first window: what leaves the sum of a mean alone is -0.
fn start(blend: &Blend, element: Element) -> Scalar {
    match blend.kind {
        BlendKind::Mean if element.is_float() => Scalar::f64(-0.0).cast(element),
        BlendKind::Mean => Scalar::i64(0).cast(element),
        _ => blend.init,
    }
}

/// The windows that touch a region, in order; in reverse for `first`.
fn calls(tensor: &Tensor, windowed: &Windowed, region: &Region) -> Vec<Call> {
    let numbers = windows(tensor, windowed, region).unwrap();
    let call = |windows: Vec<i64>| {
        let dims = windowed.windows.dims.iter().zip(&windows).zip(region);
        let region = dims.map(|((window, number), range)| window.range(*number).unwrap().intersect(*range));
        Call { region: region.collect(), windows }
    };
    let mut calls: Vec<Call> = points(&numbers).into_iter().map(call).collect();
    calls.retain(|call| call.region.iter().all(|range| !range.is_empty()));
    if matches!(windowed.blend.kind, BlendKind::First) {
        calls.reverse();
    }
    calls
}

fn volume(region: &[Interval]) -> Option<i64> {
    region.iter().try_fold(1i64, |product, range| product.checked_mul(range.len()?))
}

fn points(region: &[Interval]) -> Vec<Vec<i64>> {
    let mut points = vec![Vec::new()];
    for range in region {
        let longer = points.iter().flat_map(|point: &Vec<i64>| {
            (range.first()..=range.last()).map(|at| [point.as_slice(), &[at]].concat())
        });
        points = longer.collect();
    }
    points
}
