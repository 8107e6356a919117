//! Who can read a compiled script, and what comes back: the interface that every engine under test implements.

use crate::host::World;
use crate::rng::Rng;
use itp::compile::{Options, Program, compile};
use itp::diagnostic::{Diagnostic, Diagnostics};
use itp::graph;
use itp::graph::modules::NoFiles;
use itp::graph::scalar::Scalar;
use itp::graph::types::Element;
use itp::graph::view::View;
use itp::interp::Interp;
use itp::source::Sources;
use std::sync::Arc;

/// A compiled script with everything that running it needs.
pub(crate) struct Case {
    pub program: Program,
    pub sources: Sources,
    pub world: World,
    pub text: String,
    seed: u64,
}

/// What a read gave: little-endian elements in row-major order.
#[derive(Clone, PartialEq)]
pub(crate) struct Answer {
    pub element: Element,
    pub shape: Vec<i64>,
    pub bytes: Vec<u8>,
}

/// Something that runs scripts. The first in a list is right by definition; the others have to give the same bits.
pub(crate) trait Runner {
    fn name(&self) -> String;
    fn read(&mut self, case: &mut Case, slice: &str) -> Result<Answer, String>;
}

/// Compiles a script; without a program, what is wrong with it.
pub(crate) fn case(text: &str, seed: u64) -> Result<Case, Vec<Diagnostic>> {
    let mut sources = Sources::default();
    let root = sources.add("generated.itp", text);
    let mut diagnostics = Diagnostics::default();
    let program = compile(&mut sources, root, &NoFiles, &Options::default(), &mut diagnostics);
    let Some(program) = program else { return Err(diagnostics.into_sorted()) };
    let world = World::new(&program.graph, seed);
    Ok(Case { program, sources, world, text: text.to_owned(), seed })
}

/// The view that a slice asks for.
pub(crate) fn view(case: &mut Case, slice: &str) -> Result<Arc<View>, Vec<Diagnostic>> {
    let mut diagnostics = Diagnostics::default();
    let view = graph::slice(&case.program.graph, &mut case.sources, ("<slice>", slice), &mut diagnostics);
    view.ok_or_else(|| diagnostics.into_sorted())
}

fn refused(problems: Vec<Diagnostic>) -> String {
    problems
        .iter()
        .map(|problem| format!("{}: {}", problem.code, problem.message))
        .collect::<Vec<_>>()
        .join("; ")
}

/// Every point of a view, the last coordinate fastest.
pub(crate) fn points(view: &View) -> Vec<Vec<i64>> {
    let mut points = vec![Vec::new()];
    for dim in view.domain().dims() {
        let (lo, len) = (dim.interval.first(), dim.interval.len().unwrap_or(0));
        let longer = points
            .iter()
            .flat_map(|point: &Vec<i64>| (0..len).map(move |at| [&point[..], &[lo + at]].concat()));
        points = longer.collect();
    }
    points
}

fn shape(view: &View) -> Vec<i64> {
    view.domain().dims().iter().map(|dim| dim.interval.len().unwrap_or(0)).collect()
}

/// A value as it is stored.
fn bytes(value: Scalar, element: Element) -> Vec<u8> {
    let wide = match element {
        Element::F16 => u64::from(half(value.to_f64())),
        Element::F32 => u64::from((value.to_f64() as f32).to_bits()),
        Element::F64 => value.to_f64().to_bits(),
        _ => value.as_int().unwrap_or_default() as u64,
    };
    let canonical = match element {
        Element::F32 if value.to_f64().is_nan() => 0x7fc0_0000,
        Element::F64 if value.to_f64().is_nan() => 0x7ff8_0000_0000_0000,
        _ => wide,
    };
    canonical.to_le_bytes()[..element.bytes() as usize].to_vec()
}

/// The bits of a float that is an f16 already.
fn half(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let size = value.abs();
    match size {
        _ if value.is_nan() => 0x7e00,
        _ if size.is_infinite() => sign | 0x7c00,
        _ if size < 2f64.powi(-14) => sign | (size * 2f64.powi(24)) as u16,
        _ => {
            let exponent = (size.to_bits() >> 52) as i32 - 1023;
            let fraction = (size / 2f64.powi(exponent) - 1.0) * 1024.0;
            sign | ((exponent + 15) as u16) << 10 | fraction as u16
        }
    }
}

/// The interpreter, element after element.
pub(crate) struct Reference;

impl Runner for Reference {
    fn name(&self) -> String {
        "interpreter".to_owned()
    }

    fn read(&mut self, case: &mut Case, slice: &str) -> Result<Answer, String> {
        let view = view(case, slice).map_err(refused)?;
        let mut interp = Interp::new(&case.program.graph, &case.world)?;
        let mut all = Vec::new();
        for point in points(&view) {
            all.extend(bytes(interp.view_element(&view, &point)?, view.element));
        }
        Ok(Answer { element: view.element, shape: shape(&view), bytes: all })
    }
}

/// The interpreter in another order and in pieces, each by one that remembers nothing of the others.
pub(crate) struct Shuffled {
    pub rng: Rng,
}

impl Runner for Shuffled {
    fn name(&self) -> String {
        "interpreter, shuffled and split".to_owned()
    }

    fn read(&mut self, case: &mut Case, slice: &str) -> Result<Answer, String> {
        let view = view(case, slice).map_err(refused)?;
        let points = points(&view);
        let width = view.element.bytes() as usize;
        let mut all = vec![0; points.len() * width];
        let mut order: Vec<usize> = (0..points.len()).collect();
        self.rng.shuffle(&mut order);
        let pieces = 1 + self.rng.below(3);
        for piece in order.chunks(points.len().div_ceil(pieces).max(1)) {
            let mut interp = Interp::new(&case.program.graph, &case.world)?;
            for at in piece {
                let value = interp.view_element(&view, &points[*at])?;
                all[at * width..(at + 1) * width].copy_from_slice(&bytes(value, view.element));
            }
        }
        Ok(Answer { element: view.element, shape: shape(&view), bytes: all })
    }
}

/// The interpreter again, but what a slice means is worked out by the compiler: a tensor reads it element by element.
/// Slices by label are for outside of scripts, so those it reads as they are.
pub(crate) struct Probe;

impl Runner for Probe {
    fn name(&self) -> String {
        "interpreter, through a tensor that reads the slice".to_owned()
    }

    fn read(&mut self, asked: &mut Case, slice: &str) -> Result<Answer, String> {
        if slice.contains('=') {
            return Reference.read(asked, slice);
        }
        let view = view(asked, slice).map_err(refused)?;
        let ranges: Vec<_> = view.domain().dims().iter().map(|dim| dim.interval).collect();
        let names: Vec<String> = (0..ranges.len()).map(|at| format!("at{at}")).collect();
        let dims = names.iter().zip(&ranges).map(|(name, range)| {
            let lo = range.first();
            format!("{name}: {lo}..{}", lo + range.len().unwrap_or(0))
        });
        let dims = dims.collect::<Vec<_>>().join(", ");
        let probe = format!(
            "{}view probed = {slice}\ntensor probe: {}[{dims}] = probed[{}]\n",
            asked.text,
            view.element,
            names.join(", ")
        );
        let mut case = case(&probe, asked.seed).map_err(refused)?;
        let whole = format!("probe[{}]", vec![":"; names.len()].join(", "));
        Reference.read(&mut case, &whole)
    }
}
